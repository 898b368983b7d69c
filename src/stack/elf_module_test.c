/* elf_module_test.c -- modules as they are reported, unloaded, replaced, and
 * forgotten while other threads capture */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/skip.h"

#include "stack/capture.h"
#include "stack/capture_test.h"

enum {
    CAPACITY = 64,
    SEEN_MAX = 256,
    N_THREADS = 3,
    N_FORGETS = 200,
    FORK_EVERY = 10
};

static struct alqi_stack_cache *cache;
static struct alqi_stack_module seen[SEEN_MAX];
static uint32_t n_seen;
static void *theirs[CAPACITY];

static void
on_module(void *arg, const struct alqi_stack_module *m)
{
    assert_ptr_equal(arg, &n_seen);
    assert_true(n_seen < SEEN_MAX);
    seen[n_seen++] = *m;
}

static const struct alqi_stack_module *
seen_at(uintptr_t address)
{
    const struct alqi_stack_module *found = NULL;

    for (uint32_t i = 0; i < n_seen; i++)
        if (address >= seen[i].start && address < seen[i].end)
            found = &seen[i];
    return found;
}

static int
count_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)info;
    (void)size;
    ++*(uint32_t *)arg;
    return 0;
}

static int
setup(void **state)
{
    (void)state;
    cache = malloc(alqi_stack_cache_bytes(CAPACITY));
    alqi_stack_cache_init(cache, CAPACITY);
    alqi_stack_on_module(on_module, &n_seen);
    return 0;
}

/* Restarts the linker's list and the table. */
static void
forget(void)
{
    alqi_stack_forget();
    n_seen = 0;
}

static void
test_all_modules_once(void **state)
{
    uint32_t n_objects = 0;

    (void)state;
    forget();
    dl_iterate_phdr(count_object, &n_objects);
    alqi_stack_report_all_modules();
    assert_int_equal(n_seen, n_objects);
    alqi_stack_report_all_modules();
    assert_int_equal(n_seen, n_objects);
    forget();
    alqi_stack_report_all_modules();
    assert_int_equal(n_seen, n_objects);
}

static void
test_what_a_module_says(void **state)
{
    const struct alqi_stack_module *self, *libc;
    Dl_info info;

    (void)state;
    forget();
    alqi_stack_report_all_modules();
    self = seen_at((uintptr_t)on_module);
    libc = seen_at((uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
    assert_non_null(self);
    assert_non_null(libc);
    assert_string_equal(self->path, "");
    assert_non_null(strstr(libc->path, "libc.so"));
    /* Between code and data there may be a hole (.inv.headers). */
    assert_true(self->start <= (uintptr_t)on_module &&
                (uintptr_t)on_module < self->end);
    assert_true(dladdr((void *)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"),
                       &info) != 0);
    assert_int_equal(libc->bias, (uintptr_t)info.dli_fbase);
    assert_true(libc->build_id_bytes >= 8);
    assert_true((uintptr_t)libc->build_id > libc->start &&
                (uintptr_t)libc->build_id < libc->end);
}

static __attribute__((noinline)) void
capture_and_compare(void)
{
    struct alqi_stack_regs here = alqi_stack_regs_here();
    struct alqi_stack_result r =
        alqi_stack_capture(cache, &here, 0, 0, CAPACITY);
    int n = capture_test_referee(theirs, CAPACITY);

    assert_int_equal(r.n_frames, n);
    assert_memory_equal(&r.frames[1], &theirs[1],
                        (r.n_frames - 1) * sizeof r.frames[0]);
}

/* Modules are met by captures, too, and each is met once. */
static void
test_met_by_capture(void **state)
{
    uint32_t n;

    (void)state;
    forget();
    capture_and_compare();
    n = n_seen;
    assert_non_null(seen_at((uintptr_t)capture_and_compare));
    assert_true(n >= 2);
    capture_and_compare();
    assert_int_equal(n_seen, n);
}

/* The same addresses, other frames: forget keeps the two apart. */
static void
test_replaced(void **state)
{
    static const char *const paths[2] = {PLUGIN_A, PLUGIN_B};
    uintptr_t place[2] = {0, 0};
    unsigned n_same_place = 0;

    (void)state;
    forget();
    for (int i = 0; i < 20; i++) {
        void *h = dlopen(paths[i % 2], RTLD_NOW | RTLD_LOCAL);
        int (*call)(void (*)(void));
        uint32_t n = n_seen;

        assert_non_null(h);
        call = (int (*)(void (*)(void)))dlsym(h, "plugin_call");
        assert_non_null(call);
        place[i % 2] = (uintptr_t)call;
        n_same_place += i > 0 && place[0] == place[1];
        call(capture_and_compare);
        if (i > 0)
            assert_true(n_seen > n); /* forgotten, so met again */
        assert_non_null(strstr(seen_at((uintptr_t)call)->path, "plugin"));
        dlclose(h);
        alqi_stack_forget();
        n_seen = 0;
    }
    if (n_same_place == 0) /* a sanitizer or an emulator maps elsewhere */
        ALQI_SKIP("no module came where another one had been");
}

static _Atomic(bool) is_over;
static _Atomic(uint64_t) n_captures;

static __thread uintptr_t first[CAPACITY];
static __thread struct alqi_stack_result first_result;
static __thread struct alqi_stack_cache *own;
static __thread unsigned n_own;

static __attribute__((noinline)) void
capture_again(uint32_t max)
{
    struct alqi_stack_regs here = alqi_stack_regs_here();
    struct alqi_stack_result r;

    (void)max;
    r = alqi_stack_capture(own, &here, 0, 0, CAPACITY);
    if (n_own++ == 0) {
        first_result = r;
        memcpy(first, r.frames, r.n_frames * sizeof first[0]);
    }
    if (r.n_frames != first_result.n_frames || r.incomplete ||
        memcmp(first, r.frames, r.n_frames * sizeof first[0]) != 0)
        abort();
    atomic_fetch_add(&n_captures, 1);
}

static void *
capturing_thread(void *arg)
{
    uint64_t path = (uintptr_t)arg;

    own = malloc(alqi_stack_cache_bytes(CAPACITY));
    alqi_stack_cache_init(own, CAPACITY);
    for (volatile bool over = false; !over; over = atomic_load(&is_over))
        /* no path that calls its leaf twice: all captures are equal */
        capture_test_tree_o2(9, 0x1111111111111111u * (2 * path + 1) | 0xFF00,
                             capture_again, CAPACITY);
    free(own);
    return NULL;
}

static _Atomic(int) fork_stage; /* 1: the lock is held; 2: the child is made */

static void
hold_the_lock(void *arg, const struct alqi_stack_module *m)
{
    (void)arg;
    (void)m;
    if (atomic_load(&fork_stage) == 0)
        atomic_store(&fork_stage, 1);
    while (atomic_load(&fork_stage) == 1)
        sched_yield();
}

static void *
thread_at_the_fork(void *arg)
{
    (void)arg;
    alqi_stack_report_all_modules();
    return NULL;
}

/* In the child the thread that holds the lock is gone. */
static void
test_fork_under_the_lock(void **state)
{
    pthread_t id;
    pid_t pid;
    int status;

    (void)state;
    alqi_stack_forget();
    alqi_stack_on_module(hold_the_lock, NULL);
    assert_int_equal(pthread_create(&id, NULL, thread_at_the_fork, NULL), 0);
    while (atomic_load(&fork_stage) == 0)
        sched_yield();
    pid = fork();
    if (pid == 0) {
        alarm(900); /* a lock that is waited for */
        atomic_store(&fork_stage, 2);
        alqi_stack_after_fork_child();
        own = cache;
        for (volatile int i = 0; i < 2; i++) {
            capture_test_tree_o2(3, 0xFF00, capture_again, CAPACITY);
            alqi_stack_forget();
        }
        _exit(n_own == 2 && first_result.n_frames > 4 ? 0 : 1);
    }
    atomic_store(&fork_stage, 2);
    pthread_join(id, NULL);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void
test_forgotten_while_captured(void **state)
{
    pthread_t ids[N_THREADS];

    (void)state;
    alqi_stack_on_module(NULL, NULL);
    for (uintptr_t i = 0; i < N_THREADS; i++)
        assert_int_equal(
            pthread_create(&ids[i], NULL, capturing_thread, (void *)i), 0);
    for (unsigned i = 0; i < N_FORGETS; i++) {
        uint64_t n = atomic_load(&n_captures);

        alqi_stack_forget();
        while (atomic_load(&n_captures) < n + 5)
            sched_yield();
    }
    atomic_store(&is_over, true);
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_join(ids[i], NULL);
    assert_true(atomic_load(&n_captures) > N_FORGETS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_modules_once),
        cmocka_unit_test(test_what_a_module_says),
        cmocka_unit_test(test_met_by_capture),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_fork_under_the_lock),
        cmocka_unit_test(test_forgotten_while_captured),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
