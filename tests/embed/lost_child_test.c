/* lost_child_test.c -- children of a plain fork() whose heap is lost
 *
 * A thread of the program forks while another domain lives, so the child lacks
 * that domain's thread.  Whatever the child does, it neither waits for that
 * thread nor spins: it ends with the status of its way out.  An alarm ends a
 * child that hangs. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "domains_kit.h"
#include "base/rank.h"
#include "plat/plat.h"

enum { ALARM_S = 100, TEXT_BYTES = 4096 };

static int
await(pid_t child)
{
    int status;

    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

/* ---- ways out of a spawned domain ---------------------------------------- */

/* What the child of a spawned domain's thread does behind its fork. */
struct way {
    const char *name;
    void (*go)(struct alq_domain *on);
    int exits_with;
};

static void
returns(struct alq_domain *on)
{
    (void)on;
}

static void
returns_from_a_section(struct alq_domain *on)
{
    CHECK(alq_blocking_begin(on) == NULL);
}

static void
calls_pthread_exit(struct alq_domain *on)
{
    (void)on;
    pthread_exit(NULL);
}

static void
calls_exit(struct alq_domain *on)
{
    (void)on;
    exit(7);
}

static void
calls_exit_at_once(struct alq_domain *on)
{
    (void)on;
    _exit(8);
}

/* The heap refuses, and says why once. */
static void
uses_the_heap(struct alq_domain *on)
{
    char said[TEXT_BYTES] = "";
    const char *line;
    int ends[2];

    CHECK(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    CHECK(alq_is_null(alq_alloc(on, 3, 0)));
    CHECK(alq_status_of(on) == ALQ_ESTATE);
    CHECK(alq_is_null(alq_alloc(on, 3000, 0)));
    CHECK(alq_gc_full_major(on) == ALQ_ESTATE);
    close(ends[1]);
    close(STDERR_FILENO);
    CHECK(read(ends[0], said, sizeof said - 1) > 0);
    line = strstr(said, "was forked");
    if (line == NULL || strstr(line + 1, "was forked") != NULL)
        _exit(1);
}

static const struct way ways[] = {
    {"returns", returns, 0},
    {"returns from a section", returns_from_a_section, 0},
    {"pthread_exit", calls_pthread_exit, 0},
    {"exit", calls_exit, 7},
    {"_exit", calls_exit_at_once, 8},
    {"uses the heap", uses_the_heap, 0},
};

struct forker {
    const struct way *way;
    bool blocks; /* forks in a blocking section, which stays open */
    pid_t pid;   /* in the parent */
};

/* Leaves garbage behind, so that its end has a minor heap to empty. */
static alq_value
fork_and_go(struct alq_domain *on, alq_value arg, void *data)
{
    struct forker *f = data;
    struct alq_thread *section = NULL;

    (void)tree(on, 6);
    if (f->blocks)
        section = alq_blocking_begin(on);
    f->pid = fork();
    if (f->pid == 0) {
        alarm(ALARM_S);
        f->way->go(on);
        return arg;
    }
    if (section != NULL)
        CHECK(alq_blocking_end(section) == ALQ_OK);
    return arg;
}

static void
goes(const struct way *way, bool blocks)
{
    struct forker f = {way, blocks, -1};
    int status;

    finish(d, spawn(d, fork_and_go, ALQ_UNIT, &f));
    status = await(f.pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != way->exits_with)
        fail_msg("%s, %s: wait status %#x", way->name,
                 blocks ? "blocking" : "running", (unsigned)status);
}

static void
a_spawned_domains_child_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(ways); i++)
        goes(&ways[i], false);
}

/* The thread runs no domain when it forks: only ways that do not use it. */
static void
a_child_of_a_section_ends(void **state)
{
    static const struct way section_ways[] = {
        {"returns", returns, 0},
        {"pthread_exit", calls_pthread_exit, 0},
        {"exit", calls_exit, 7},
        {"_exit", calls_exit_at_once, 8},
    };

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(section_ways); i++)
        goes(&section_ways[i], true);
}

/* ---- other threads of the domain ----------------------------------------- */

static struct gate attached = GATE;

static void *
attach_and_wait(void *arg)
{
    struct alq_thread *self;
    struct alq_domain *on = arg;

    CHECK(alq_thread_attach(on, &self) == ALQ_OK);
    through_gate(on, ALQ_UNIT, &attached);
    CHECK(alq_thread_detach(self) == ALQ_OK);
    return NULL;
}

/* The domain's other thread is attached, and missing in the child: the end of
 * the function does not wait for it. */
static alq_value
fork_beside_a_thread(struct alq_domain *on, alq_value arg, void *data)
{
    struct alq_thread *section = alq_blocking_begin(on);
    pthread_t other;
    pid_t *pid = data;

    CHECK(pthread_create(&other, NULL, attach_and_wait, on) == 0);
    gate_await(&attached, 1);
    CHECK(alq_blocking_end(section) == ALQ_OK);
    *pid = fork();
    if (*pid == 0) {
        alarm(ALARM_S);
        return arg;
    }
    section = alq_blocking_begin(on);
    gate_open(&attached);
    pthread_join(other, NULL);
    CHECK(alq_blocking_end(section) == ALQ_OK);
    return arg;
}

static void
a_missing_thread_is_not_waited_for(void **state)
{
    pid_t pid = -1;

    (void)state;
    finish(d, spawn(d, fork_beside_a_thread, ALQ_UNIT, &pid));
    assert_int_equal(await(pid), 0);
}

/* An attached thread that forked ends without its domain, which it cannot
 * leave. */
struct attacher {
    struct alq_domain *on;
    pid_t pid;
};

static void *
fork_attached(void *arg)
{
    struct attacher *a = arg;
    struct alq_thread *self;

    CHECK(alq_thread_attach(a->on, &self) == ALQ_OK);
    a->pid = fork();
    if (a->pid == 0) {
        alarm(ALARM_S);
        CHECK(alq_thread_detach(self) == ALQ_ESTATE);
        return NULL;
    }
    CHECK(alq_thread_detach(self) == ALQ_OK);
    return NULL;
}

static void
an_attached_threads_child_ends(void **state)
{
    struct attacher a = {d, -1};
    struct alq_thread *self = alq_blocking_begin(d);
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, fork_attached, &a), 0);
    pthread_join(thread, NULL);
    assert_int_equal(alq_blocking_end(self), ALQ_OK);
    assert_int_equal(await(a.pid), 0);
}

/* ---- within a collection ------------------------------------------------- */

static pid_t pid_inside;

static void
fork_custom(alq_value block)
{
    (void)block;
    if (pid_inside == -2) {
        pid_inside = fork();
        if (pid_inside == 0)
            alarm(ALARM_S);
    }
}

static const struct alq_custom_ops forking = {"forking", fork_custom};

/* The finaliser forks in the collection that the domain's end makes. */
static alq_value
leave_a_custom_block(struct alq_domain *on, alq_value arg, void *data)
{
    (void)data;
    CHECK(!alq_is_null(alq_alloc_custom(on, &forking, 8)));
    return arg;
}

static void
a_fork_at_a_domains_end_ends(void **state)
{
    (void)state;
    pid_inside = -2;
    finish(d, spawn(d, leave_a_custom_block, ALQ_UNIT, NULL));
    assert_int_equal(await(pid_inside), 0);
}

static int stops_polling;

static alq_value
poll_on(struct alq_domain *on, alq_value arg, void *data)
{
    gate_open(data);
    while (!__atomic_load_n(&stops_polling, __ATOMIC_ACQUIRE))
        alq_poll(on);
    return arg;
}

/* Two domains take part in the collection, and the child has one of them: it
 * cannot go on with half a collection, and says so. */
static void
a_child_does_not_go_on_with_a_collection_of_two(void **state)
{
    struct gate gate = GATE;
    struct alq_child *child;
    char said[TEXT_BYTES] = "";
    int ends[2], was, status;

    (void)state;
    pid_inside = -2;
    stops_polling = 0;
    child = spawn(d, poll_on, ALQ_UNIT, &gate);
    {
        ALQ_BLOCKING(d, section);

        pthread_mutex_lock(&gate.lock);
        while (!gate.open)
            pthread_cond_wait(&gate.changed, &gate.lock);
        pthread_mutex_unlock(&gate.lock);
    }
    assert_int_equal(pipe(ends), 0);
    was = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    CHECK(!alq_is_null(alq_alloc_custom(d, &forking, 8)));
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    status = await(pid_inside);
    dup2(was, STDERR_FILENO);
    close(was);
    close(ends[1]);
    __atomic_store_n(&stops_polling, 1, __ATOMIC_RELEASE);
    finish(d, child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_true(read(ends[0], said, sizeof said - 1) > 0);
    close(ends[0]);
    assert_non_null(strstr(said, "forked within a collection"));
}

/* ---- locks that a thread without a domain takes -------------------------- */

static struct {
    struct alq_child *child;
    bool is_on; /* the next fork is the test's */
    /* atomic: the thread is to drop the child; it waits for a lock, or is
     * done */
    int go, waits, done;
    bool was_done; /* when the fork had taken all locks */
} dropper;

static __thread bool is_dropper;

/* Called where a lock is taken already. */
void __real_alqi_plat_lock_wait(struct alqi_plat_lock *lock);
void __wrap_alqi_plat_lock_wait(struct alqi_plat_lock *lock);

void
__wrap_alqi_plat_lock_wait(struct alqi_plat_lock *lock)
{
    if (is_dropper)
        __atomic_store_n(&dropper.waits, 1, __ATOMIC_RELEASE);
    __real_alqi_plat_lock_wait(lock);
}

static void *
drop_when_told(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&dropper.go, __ATOMIC_ACQUIRE))
        usleep(100);
    is_dropper = true;
    alq_child_drop(dropper.child);
    __atomic_store_n(&dropper.done, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Runs behind the heap's handler, as it is registered before that: the heap's
 * locks are taken. */
static void
before_fork(void)
{
    if (!dropper.is_on)
        return;
    __atomic_store_n(&dropper.go, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&dropper.done, __ATOMIC_ACQUIRE) &&
           !__atomic_load_n(&dropper.waits, __ATOMIC_ACQUIRE))
        usleep(100);
    dropper.was_done = __atomic_load_n(&dropper.done, __ATOMIC_ACQUIRE) != 0;
}

__attribute__((constructor(ALQI_FORK_TIMER))) static void
watch_forks(void)
{
    pthread_atfork(before_fork, NULL, NULL);
}

static alq_value
give_back(struct alq_domain *on, alq_value arg, void *data)
{
    (void)on;
    (void)data;
    return arg;
}

/* A thread without a domain drops a child while the only domain forks: it has
 * the lock before the fork or behind it, so the forked child finds it free. */
static void
a_fork_waits_for_the_drop_of_a_child(void **state)
{
    struct alq_global global = {ALQ_UNIT, NULL, NULL};
    pthread_t thread;
    int pid;

    (void)state;
    dropper.child = spawn(d, give_back, ALQ_UNIT, NULL);
    join(d, dropper.child);
    assert_int_equal(pthread_create(&thread, NULL, drop_when_told, NULL), 0);
    dropper.is_on = true;
    assert_int_equal(alq_fork(d, &pid), ALQ_OK);
    dropper.is_on = false;
    if (pid == 0) {
        alarm(ALARM_S);
        CHECK(alq_global_add(d, &global) == ALQ_OK); /* takes the lock */
        _exit(0);
    }
    pthread_join(thread, NULL);
    assert_false(dropper.was_done);
    assert_int_equal(await(pid), 0);
}

#ifdef __SANITIZE_ADDRESS__
/* A child lacks the threads whose stacks hold what the test has allocated. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

int
main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, domains_setup, domains_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_spawned_domains_child_ends),
        TEST(a_child_of_a_section_ends),
        TEST(a_missing_thread_is_not_waited_for),
        TEST(an_attached_threads_child_ends),
        TEST(a_fork_at_a_domains_end_ends),
        TEST(a_child_does_not_go_on_with_a_collection_of_two),
        TEST(a_fork_waits_for_the_drop_of_a_child),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
