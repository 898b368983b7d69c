/* limit_time_test.c -- deadlines and processor time, in tasks and in children
 * of theirs; scenario 33 of spec memprof-limits 5 */
#include <sys/wait.h>
#include <unistd.h>

#include "limit_kit.h"
#include "base/skip.h"

enum { MS = 1000000 };

static struct alq_limits
limit_time(uint64_t time_ns, uint64_t cpu_ns)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    l.time_ns = time_ns;
    l.cpu_ns = cpu_ns;
    return l;
}

static void
deadline_stops_a_loop_that_polls_33(void **state)
{
    struct alq_limits l = limit_time(5 * MS, ALQ_LIMIT_NONE);
    struct alq_outcome out;
    uint64_t n;

    (void)state;
    assert_int_equal(alq_limit_run(d, &l, poll_for_ever, &n, &out), ALQ_ELIMIT);
    assert_int_equal(out.cause, ALQ_LIMIT_TIME);
    assert_true(out.time_ns >= 5 * MS);
}

static void
cpu_time_stops_a_loop_that_polls(void **state)
{
    struct alq_limits l = limit_time(ALQ_LIMIT_NONE, 5 * MS);
    struct alq_outcome out;
    uint64_t n;

    (void)state;
    assert_int_equal(alq_limit_run(d, &l, poll_for_ever, &n, &out), ALQ_ELIMIT);
    assert_int_equal(out.cause, ALQ_LIMIT_CPU);
    assert_true(out.cpu_ns >= 5 * MS && out.time_ns >= 5 * MS);
}

/* ---- forks -------------------------------------------------------------- */

static enum alq_status
use_cpu(struct alq_domain *on, uint64_t times_polled)
{
    for (uint64_t i = 0; i < times_polled; i++)
        alq_poll(on);
    return alq_status_of(on);
}

struct forking {
    pid_t pid;
    int exit_status;
};

/* In both processes the limit stops a loop that makes no block, so that no
 * collection looks at the time.  pid is -1 if it came before the fork. */
static enum alq_status
fork_and_poll(struct alq_domain *on, void *arg)
{
    struct forking *f = arg;
    uint64_t n;

    f->pid = -1;
    if (use_cpu(on, 1000) != ALQ_OK)
        return alq_status_of(on);
    f->pid = fork();
    CHECK(f->pid >= 0);
    if (f->pid == 0)
        alarm(900); /* a hang is a failure */
    return poll_for_ever(on, &n);
}

static void
goes_on_in_a_child(struct alq_limits l, enum alq_limit_cause cause)
{
    struct alq_outcome out;
    struct forking f;

    for (;;) {
        assert_int_equal(alq_limit_run(d, &l, fork_and_poll, &f, &out),
                         ALQ_ELIMIT);
        if (f.pid >= 0)
            break;
        if (l.time_ns != ALQ_LIMIT_NONE)
            l.time_ns *= 2;
        if (l.cpu_ns != ALQ_LIMIT_NONE)
            l.cpu_ns *= 2;
    }
    if (f.pid == 0)
        _exit(out.cause != cause || alq_status_of(d) != ALQ_OK ||
              (l.time_ns != ALQ_LIMIT_NONE && out.time_ns < l.time_ns) ||
              (l.cpu_ns != ALQ_LIMIT_NONE &&
               (out.cpu_ns < l.cpu_ns || out.cpu_ns > 1000 * l.cpu_ns)));
    assert_int_equal(out.cause, cause);
    assert_int_equal(waitpid(f.pid, &f.exit_status, 0), f.pid);
    assert_int_equal(f.exit_status, 0);
}

static void
open_deadline_is_a_child_s_as_well(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    ALQI_SKIP("ThreadSanitizer starts no threads after such a fork");
#endif
    goes_on_in_a_child(limit_time(100 * MS, ALQ_LIMIT_NONE), ALQ_LIMIT_TIME);
}

static void
processor_time_goes_on_in_a_child(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    ALQI_SKIP("ThreadSanitizer starts no threads after such a fork");
#endif
    goes_on_in_a_child(limit_time(ALQ_LIMIT_NONE, 100 * MS), ALQ_LIMIT_CPU);
}

int
main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, domains_setup, domains_teardown)
    const struct CMUnitTest tests[] = {
        TEST(deadline_stops_a_loop_that_polls_33),
        TEST(cpu_time_stops_a_loop_that_polls),
        TEST(open_deadline_is_a_child_s_as_well),
        TEST(processor_time_goes_on_in_a_child),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
