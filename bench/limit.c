/* limit.c -- what limits cost while none is reached, and how late deadlines are
 *
 *   limit [--tsv]
 *   limit --count WHAT N    N times, for who counts instructions
 *
 * The peer of each row is the same program without limits, in the same run:
 * many short rounds of the two, either one first in turn; the median of their
 * ratios.  Instructions are what valgrind counts of this program with --count;
 * without it those rows are left out.  The program fails when a row is more
 * than it must be, a deadline delivered late above all. */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <aliquot/aliquot.h>

enum {
    ROUNDS = 15,
    SHORT_ROUNDS = 601,
    PAIRS = 1000000,
    CALLS = 1000000,
    COUNTED = 2000000,
    DEADLINES = 1000,
    SPREAD_NS = 400000000,
    LATE_MS = 2 /* two ticks of the timer */
};

static struct alq_domain *d;
static bool is_tsv;
static int n_missed; /* rows that are not what they must be */

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

/* ---- rows --------------------------------------------------------------- */

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
row_with(const char *program, const char *metric, double ours, const char *peer,
         double value, double ratio)
{
    printf(is_tsv ? "%s\t%s\t%.4g\t%s\t%.4g\t%.4f\n"
                  : "%-24s %-14s %10.4g   %-12s %10.4g   ratio %.4f\n",
           program, metric, ours, peer, value, ratio);
}

/* at_most: 0 where nothing is asked for. */
static void
row(const char *program, const char *metric, double ours, double at_most)
{
    char must[32] = "";

    if (at_most > 0)
        snprintf(must, sizeof must, "<= %g", at_most);
    if (is_tsv)
        row_with(program, metric, ours, at_most > 0 ? must : "-", 0, 0);
    else
        printf("%-24s %-14s %10.4g%s%s\n", program, metric, ours,
               at_most > 0 ? "   must be " : "", must);
    if (at_most > 0 && ours > at_most) {
        fprintf(stderr, "limit: missed: %s, %.4g %s, must be %s\n", program,
                ours, metric, must);
        n_missed++;
    }
}

/* ---- what is armed ------------------------------------------------------ */

enum arm { BARE, WORDS, ALL, SAMPLES, ARMS };

static const char *const names[ARMS] = {
    "unlimited", "words armed", "all but samples armed", "samples as well"};

static struct alq_limits
limits_of(enum arm arm)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    l.words = UINT64_MAX / 2;
    if (arm == WORDS)
        return l;
    l.time_ns = (uint64_t)3600 * 1000000000;
    l.heap_bytes = (uint64_t)1 << 40;
    l.token = alq_token_new();
    if (arm == SAMPLES)
        l.sampled_words = UINT64_MAX / 2;
    return l;
}

/* ---- allocation --------------------------------------------------------- */

/* The same machine code for both. */
static __attribute__((noinline)) enum alq_status
make_pairs(struct alq_domain *on, void *arg)
{
    for (long n = *(long *)arg; n > 0; n--) {
        alq_value v = alq_alloc_small(on, 2, 0);

        if (v == ALQ_NULL)
            return alq_status_of(on);
        alq_init_small(v, 0, ALQ_UNIT);
        alq_init_small(v, 1, ALQ_UNIT);
    }
    return ALQ_OK;
}

/* Of one pair, the limits armed and the minor heap empty at the start. */
static enum alq_status
time_pairs(struct alq_domain *on, void *arg)
{
    long n = PAIRS;
    enum alq_status status = alq_gc_minor(on);
    uint64_t t = used_ns();

    if (status == ALQ_OK)
        status = make_pairs(on, &n);
    *(double *)arg = (double)(used_ns() - t) / PAIRS;
    return status;
}

static double
ns_of(enum arm arm, const struct alq_limits *limits)
{
    double ns;

    if ((arm == BARE
             ? time_pairs(d, &ns)
             : alq_limit_run(d, limits, time_pairs, &ns, NULL)) != ALQ_OK)
        abort();
    return ns;
}

static void
allocation(enum arm arm)
{
    double bare[SHORT_ROUNDS], ours[SHORT_ROUNDS], ratios[SHORT_ROUNDS];
    struct alq_limits limits = limits_of(arm);

    for (int r = 0; r < SHORT_ROUNDS; r++) {
        if (r % 2 == 0)
            bare[r] = ns_of(BARE, NULL);
        ours[r] = ns_of(arm, &limits);
        if (r % 2 == 1)
            bare[r] = ns_of(BARE, NULL);
        ratios[r] = ours[r] / bare[r];
    }
    alq_token_drop(limits.token);
    row_with(names[arm], "ns/pair", median(ours, SHORT_ROUNDS), names[BARE],
             median(bare, SHORT_ROUNDS), median(ratios, SHORT_ROUNDS));
}

/* ---- calls -------------------------------------------------------------- */

static enum alq_status
nothing(struct alq_domain *on, void *arg)
{
    (void)on;
    (void)arg;
    return ALQ_OK;
}

static void
enter(struct alq_domain *on, long n)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    l.words = 1000;
    while (n-- > 0)
        if (alq_limit_run(on, &l, nothing, NULL, NULL) != ALQ_OK)
            abort();
}

static enum alq_status
enter_many(struct alq_domain *on, void *arg)
{
    uint64_t t = used_ns();

    enter(on, CALLS);
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
without_task(alq_task_fn *task)
{
    double rounds[ROUNDS];

    for (int r = 0; r < ROUNDS; r++)
        if (task(d, &rounds[r]) != ALQ_OK)
            abort();
    return median(rounds, ROUNDS);
}

static double
within_task(alq_task_fn *task)
{
    struct alq_limits l = limits_of(WORDS);
    double rounds[ROUNDS];

    for (int r = 0; r < ROUNDS; r++)
        if (alq_limit_run(d, &l, task, &rounds[r], NULL) != ALQ_OK)
            abort();
    return median(rounds, ROUNDS);
}

static void
calls(void)
{
    row("enter and leave", "ns", without_task(enter_many), 100);
    row("... within a task", "ns", within_task(enter_many), 100);
    row("alq_is_interrupted", "ns", within_task(ask_many), 2);
}

/* ---- instructions ------------------------------------------------------- */

/* n pairs under a kind of limits, or, ARMS, n tasks that do nothing. */
static enum alq_status
count_this(int what, long n)
{
    struct alq_limits limits = limits_of((enum arm)what);
    enum alq_status status = ALQ_OK;

    if (what >= ARMS)
        enter(d, n);
    else if (what == BARE)
        status = make_pairs(d, &n);
    else
        status = alq_limit_run(d, &limits, make_pairs, &n, NULL);
    alq_token_drop(limits.token);
    return status;
}

/* "...refs: 1,234,567" */
static double
number_in(const char *text)
{
    double n = 0;

    for (; *text != '\0'; text++)
        if (*text >= '0' && *text <= '9')
            n = 10 * n + (*text - '0');
    return n;
}

/* Of all of such a run; -1: they cannot be counted. */
static double
instructions(int what, long n)
{
    char self[PATH_MAX], command[PATH_MAX + 200], line[256];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    double found = -1;
    FILE *from;

    self[length > 0 ? length : 0] = '\0';
    snprintf(command, sizeof command,
             "valgrind --tool=cachegrind --cache-sim=no"
             " --cachegrind-out-file=/dev/null '%s' --count %d %ld 2>&1",
             self, what, n);
    from = popen(command, "r");
    if (from == NULL)
        return -1;
    while (fgets(line, sizeof line, from) != NULL) {
        const char *at = strstr(line, "refs:");

        if (at != NULL)
            found = number_in(at);
    }
    return pclose(from) == 0 ? found : -1;
}

/* The start and end of the program cancel. */
static double
instructions_each(int what, long n)
{
    return (instructions(what, n) - instructions(what, 1)) / (double)(n - 1);
}

static void
count_instructions(void)
{
    double bare;

    if (instructions(BARE, 1) < 0) {
        fprintf(stderr, "limit: instructions are left out, no valgrind\n");
        return;
    }
    bare = instructions_each(BARE, COUNTED);
    for (int arm = WORDS; arm < ARMS; arm++) {
        double ours = instructions_each(arm, COUNTED);

        row_with(names[arm], "instr/pair", ours, names[BARE], bare,
                 ours / bare);
    }
    row("enter and leave", "instr", instructions_each(ARMS, COUNTED / 100), 0);
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
        LATE_MS);
    row("1,000 deadlines, 99 %", "ms late", late->ns[late->n * 99 / 100] / 1e6,
        LATE_MS);
    row("1,000 deadlines, latest", "ms late", late->ns[late->n - 1] / 1e6,
        LATE_MS);
}

int
main(int argc, char **argv)
{
    if (alq_domain_new(NULL, &d) != ALQ_OK)
        return 1;
    if (argc == 4 && strcmp(argv[1], "--count") == 0) {
        if (count_this(atoi(argv[2]), atol(argv[3])) != ALQ_OK)
            return 1;
        return alq_domain_drop(d) != ALQ_OK;
    }
    is_tsv = argc > 1 && strcmp(argv[1], "--tsv") == 0;
    for (int arm = WORDS; arm < ARMS; arm++)
        allocation((enum arm)arm);
    calls();
    count_instructions();
    deadlines();
    return alq_domain_drop(d) != ALQ_OK || n_missed > 0;
}
