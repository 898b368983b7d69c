/* oom_test.c -- each mapping of pages fails once, and all after it
 *
 * A child process a try, so that each begins with empty pools.  Whatever
 * fails, the program runs on, each datum is handed in, what was not tracked is
 * counted, and what could not start has left nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/test_effort.h"
#include "kits/memprof/fake_heap.h"
#include "memprof/filter.h"

enum { BLOCKS = ALQI_TEST_ROUNDS(6000, 1500, 1500), TRIES_MAX = 400 };

enum {
    REACHED_NOTHING = 40, /* the sweep is over: no mapping was refused */
    SURVIVED = 41
};

static long maps_left = -1; /* below 0: no limit */
static bool once;
static unsigned refused;
static uint64_t allocs, deallocs, releases;

void *__real_alqi_plat_pages_map(size_t bytes);
void *__wrap_alqi_plat_pages_map(size_t bytes);

void *
__wrap_alqi_plat_pages_map(size_t bytes)
{
    if (maps_left == 0) {
        refused++;
        if (once)
            maps_left = -1;
        return NULL;
    }
    if (maps_left > 0)
        maps_left--;
    return __real_alqi_plat_pages_map(bytes);
}

static int
on_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    (void)arg;
    (void)data;
    allocs += a->n_samples != 0;
    return ALQ_TRACK_KEEP;
}

static int
on_dealloc(void *arg, uintptr_t data)
{
    (void)arg;
    (void)data;
    deallocs++;
    return 0;
}

static void
on_release(void *arg, uintptr_t data)
{
    (void)arg;
    (void)data;
    releases++;
}

static void
check(bool ok, int code)
{
    if (!ok)
        _exit(code);
}

static void
churn(struct fake_thread *f)
{
    static void *block[BLOCKS];

    for (unsigned i = 0; i < BLOCKS; i++)
        block[i] = fake_malloc(f, i % 100);
    for (unsigned i = 0; i < BLOCKS; i += 3)
        block[i] = fake_realloc(f, block[i], 200, false);
    for (unsigned i = 0; i < BLOCKS; i++)
        if (i % 2 == 0)
            fake_free(f, block[i]);
    check(alqi_memprof_flush(&f->t, NULL) == ALQ_OK, 1);
    for (unsigned i = 1; i < BLOCKS; i += 2)
        fake_free(f, block[i]);
    check(alqi_memprof_flush(&f->t, NULL) == ALQ_OK, 2);
}

static void
run_profile(struct fake_heap *h, struct fake_thread *f, unsigned flags)
{
    const struct alq_tracker t = {.alloc_major = on_alloc,
                                  .dealloc_major = on_dealloc,
                                  .release = on_release};
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_profile *p = NULL;
    struct alq_memprof_counts n;
    enum alq_status st;

    c.rate = 1.0;
    c.flags |= flags;
    allocs = deallocs = releases = 0;
    st = fake_start(f, &c, &t, &p);
    if (st != ALQ_OK) {
        check(st == ALQ_ENOMEM && p == NULL && refused > 0, 3);
        check(!alqi_memprof_is_sampling(h->domain, ALQI_MEMPROF_SLOT_USER), 4);
        return;
    }
    churn(f);
    alqi_memprof_counts(p, &n);
    check(n.sampled_blocks == BLOCKS + BLOCKS / 3, 5);
    check(n.dropped_nomem == n.sampled_blocks - allocs, 6);
    check(n.dropped_nomem == 0 || refused > 0, 7);
    check(n.live_entries == 0 && deallocs == allocs && releases == 0, 8);
    check(fake_stop(f) == ALQ_OK, 9);
    check(alqi_memprof_discard(&f->t, p) == ALQ_OK, 10);
    alqi_memprof_profile_drop(p);
}

static void
child(long n, bool only_one)
{
    static struct fake_heap h;
    static struct fake_thread f;

    maps_left = n;
    once = only_one;
    if (!fake_heap_try_open(&h))
        _exit(refused > 0 ? SURVIVED : 11);
    fake_thread_open(&f, &h, 1);
    run_profile(&h, &f, 0);
    run_profile(&h, &f, ALQ_MEMPROF_DEFER);
    fake_thread_close(&f);
    fake_heap_close(&h);
    _exit(refused > 0 ? SURVIVED : REACHED_NOTHING);
}

static void
sweep(bool only_one)
{
    long n;
    int code = SURVIVED;

    for (n = 0; n < TRIES_MAX && code == SURVIVED; n++) {
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0)
            child(n, only_one);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        code = WEXITSTATUS(status);
        assert_true(code == SURVIVED || code == REACHED_NOTHING);
    }
    assert_int_equal(code, REACHED_NOTHING);
    assert_true(n > 10); /* domain, profile, slabs, tables */
}

static void
one_refused_mapping_is_survived(void **state)
{
    (void)state;
    sweep(true);
}

static void
no_more_memory_is_survived(void **state)
{
    (void)state;
    sweep(false);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_refused_mapping_is_survived),
        cmocka_unit_test(no_more_memory_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
