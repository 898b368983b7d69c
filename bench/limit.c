/* limit.c -- what limits cost while none is reached, and how late deadlines are
 *
 *   limit [--tsv]
 *
 * The peer of each row is the same program without limits, in the same run:
 * rounds of the two in turn, medians of the ratios.  Instructions are those of
 * the processor's counter, or - where the system has none. */
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <aliquot/aliquot.h>

enum {
    ROUNDS = 15,
    PAIRS = 4000000,
    CALLS = 1000000,
    DEADLINES = 1000,
    SPREAD_NS = 400000000
};

static struct alq_domain *d;
static int counter = -1;
static bool is_tsv;

/* ---- clocks ------------------------------------------------------------- */

static uint64_t
read_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t
now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

/* Costs are processor time: others may run meanwhile. */
static uint64_t
used_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void
open_counter(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_HW_INSTRUCTIONS,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};

    counter = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static double
instructions(void)
{
    uint64_t n;

    return counter >= 0 && read(counter, &n, sizeof n) == sizeof n ? (double)n
                                                                   : -1;
}

static int
by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double
median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return values[n / 2];
}

static void
row(const char *program, const char *metric, double ours, const char *peer,
    double value)
{
    if (is_tsv)
        printf("%s\t%s\t%.4g\t%s\t%.4g\t%.4f\n", program, metric, ours, peer,
               value, value != 0 ? ours / value : 0);
    else if (value != 0)
        printf("%-24s %-14s %10.4g   %-12s %10.4g   ratio %.4f\n", program,
               metric, ours, peer, value, ours / value);
    else
        printf("%-24s %-14s %10.4g   must be %s\n", program, metric, ours,
               peer);
}

/* ---- allocation --------------------------------------------------------- */

static enum alq_status
make_pairs(struct alq_domain *on, void *arg)
{
    (void)arg;
    for (int i = 0; i < PAIRS; i++) {
        alq_value v = alq_alloc_small(on, 2, 0);

        if (v == ALQ_NULL)
            return alq_status_of(on);
        alq_init_small(v, 0, ALQ_UNIT);
        alq_init_small(v, 1, ALQ_UNIT);
    }
    return ALQ_OK;
}

struct cost {
    double ns, instructions;
};

static struct cost
cost_of(const struct alq_limits *limits)
{
    double i = instructions();
    uint64_t t = used_ns();
    struct cost c;

    if (limits == NULL
            ? make_pairs(d, NULL) != ALQ_OK
            : alq_limit_run(d, limits, make_pairs, NULL, NULL) != ALQ_OK)
        abort();
    c.ns = (double)(used_ns() - t) / PAIRS;
    c.instructions = i < 0 ? -1 : (instructions() - i) / PAIRS;
    return c;
}

static void
allocation(const char *name, const struct alq_limits *limits)
{
    double bare[ROUNDS], ours[ROUNDS], bare_i[ROUNDS], ours_i[ROUNDS];

    for (int r = 0; r < ROUNDS; r++) {
        struct cost a = cost_of(NULL), b = cost_of(limits);

        bare[r] = a.ns;
        ours[r] = b.ns;
        bare_i[r] = a.instructions;
        ours_i[r] = b.instructions;
    }
    row(name, "ns/pair", median(ours, ROUNDS), "unlimited",
        median(bare, ROUNDS));
    if (bare_i[0] > 0)
        row(name, "instr/pair", median(ours_i, ROUNDS), "unlimited",
            median(bare_i, ROUNDS));
}

/* ---- calls -------------------------------------------------------------- */

static enum alq_status
nothing(struct alq_domain *on, void *arg)
{
    (void)on;
    (void)arg;
    return ALQ_OK;
}

static enum alq_status
enter_many(struct alq_domain *on, void *arg)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    uint64_t t = used_ns();

    l.words = 1000;
    for (int i = 0; i < CALLS; i++)
        if (alq_limit_run(on, &l, nothing, NULL, NULL) != ALQ_OK)
            abort();
    *(double *)arg = (double)(used_ns() - t) / CALLS;
    return ALQ_OK;
}

static enum alq_status
ask_many(struct alq_domain *on, void *arg)
{
    uint64_t t = used_ns();
    int n = 0;

    for (int i = 0; i < CALLS; i++)
        n += alq_is_interrupted(on);
    *(double *)arg = (double)(used_ns() - t) / CALLS + n;
    return ALQ_OK;
}

static double
within_a_task(alq_task_fn *task)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    double rounds[ROUNDS];

    l.words = UINT64_MAX / 2;
    for (int r = 0; r < ROUNDS; r++)
        if (alq_limit_run(d, &l, task, &rounds[r], NULL) != ALQ_OK)
            abort();
    return median(rounds, ROUNDS);
}

static void
calls(void)
{
    double first;

    (void)enter_many(d, &first);
    row("enter and leave", "ns", first, "<= 100", 0);
    row("... within a task", "ns", within_a_task(enter_many), "<= 100", 0);
    row("alq_is_interrupted", "ns", within_a_task(ask_many), "<= 2", 0);
}

/* ---- deadlines ---------------------------------------------------------- */

struct late {
    double ns[DEADLINES];
    int n;
};

static enum alq_status
poll_for_ever(struct alq_domain *on, void *arg)
{
    (void)arg;
    while (alq_status_of(on) == ALQ_OK)
        alq_poll(on);
    return ALQ_ELIMIT;
}

struct nest {
    struct late late;
    uint64_t began_ns;
    int depth; /* deadlines to be opened inside */
};

static enum alq_status level(struct alq_domain *on, void *arg);

/* One deadline around the earlier ones. */
static void
open_deadline(struct alq_domain *on, struct nest *n)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    uint64_t due = n->began_ns + (uint64_t)n->depth * (SPREAD_NS / DEADLINES);

    n->depth--;
    l.time_ns = due - now_ns();
    if (alq_limit_run(on, &l, level, n, NULL) != ALQ_ELIMIT)
        abort();
    n->late.ns[n->late.n++] = (double)now_ns() - (double)due;
}

static enum alq_status
level(struct alq_domain *on, void *arg)
{
    struct nest *n = arg;

    if (n->depth > 0)
        open_deadline(on, n);
    return poll_for_ever(on, NULL);
}

static void
deadlines(void)
{
    static struct nest n = {.depth = DEADLINES};
    struct late *late = &n.late;

    n.began_ns = now_ns() + SPREAD_NS / 10;
    open_deadline(d, &n);
    row("1,000 deadlines, median", "ms late", median(late->ns, late->n) / 1e6,
        "<= 2", 0);
    row("1,000 deadlines, 99 %", "ms late", late->ns[late->n * 99 / 100] / 1e6,
        "<= 2", 0);
    row("1,000 deadlines, latest", "ms late", late->ns[late->n - 1] / 1e6,
        "<= 2", 0);
}

int
main(int argc, char **argv)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    is_tsv = argc > 1 && strcmp(argv[1], "--tsv") == 0;
    open_counter();
    if (alq_domain_new(NULL, &d) != ALQ_OK)
        return 1;
    l.words = UINT64_MAX / 2;
    allocation("words armed", &l);
    l.time_ns = (uint64_t)3600 * 1000000000;
    l.heap_bytes = (uint64_t)1 << 40;
    l.token = alq_token_new();
    allocation("all but samples armed", &l);
    l.sampled_words = UINT64_MAX / 2;
    allocation("samples as well", &l);
    calls();
    deadlines();
    alq_token_drop(l.token);
    return alq_domain_drop(d) != ALQ_OK;
}
