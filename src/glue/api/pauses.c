/* pauses.c -- <aliquot/observe.h>: what a histogram of pauses says
 *
 * Buckets are logarithmic with STEPS linear ones in each power of two: bucket i
 * below STEPS is i ns, and any other begins at (STEPS + i % STEPS) * 2^(i /
 * STEPS - 1). A percentile is the end of the bucket that the rank lies in,
 * within the least and the longest pause. Functions are pure. */
#include <inttypes.h>

#include <aliquot/observe.h>

#include "heap/stat_pause.h"

enum { STEPS = ALQI_HEAP_PAUSE_STEPS };

uint64_t
alq_pauses_bucket_ns(unsigned index)
{
    if (index > ALQ_PAUSE_BUCKETS)
        index = ALQ_PAUSE_BUCKETS;
    if (index < STEPS)
        return index;
    return (uint64_t)(STEPS + index % STEPS) << (index / STEPS - 1);
}

/* ---- what they say ------------------------------------------------------ */

/* A bucket may begin before the least pause and end after the longest. */
static uint64_t
clamp(const struct alq_pauses *p, uint64_t ns)
{
    return ns < p->min_ns ? p->min_ns : ns > p->max_ns ? p->max_ns : ns;
}

/* The first bucket by whose end so many pauses are over; the last one has no
 * end, so the longest pause stands for it. */
uint64_t
alq_pauses_percentile_ns(const struct alq_pauses *p, double percent)
{
    /* A rank, but for what rounding adds to a whole number. */
    double wanted;
    uint64_t seen = 0;
    unsigned i;

    if (p == NULL || p->count == 0)
        return 0;
    wanted = percent >= 100 ? (double)p->count
             : percent > 0  ? (double)p->count * percent / 100 * (1 - 1e-12)
                            : 0;
    for (i = 0; i < ALQ_PAUSE_BUCKETS - 1; i++) {
        seen += p->buckets[i];
        if (seen > 0 && (double)seen >= wanted)
            return clamp(p, alq_pauses_bucket_ns(i + 1) - 1);
    }
    return p->max_ns;
}

/* Writes ns in the unit that fits into text and returns it. */
static const char *
duration(char *text, size_t bytes, uint64_t ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double n = (double)ns;
    unsigned u = 0;

    for (; n >= 1000 && u < ALQI_COUNT_OF(units) - 1; u++)
        n /= 1000;
    if (u == 0)
        snprintf(text, bytes, "%" PRIu64 " ns", ns);
    else
        snprintf(text, bytes, "%.*f %s", n < 10 ? 2 : n < 100, n, units[u]);
    return text;
}

/* One line: number, sum, percentiles. */
static void
print_head(const struct alq_pauses *p, FILE *out)
{
    static const double percents[] = {50, 90, 99, 99.9, 99.99};
    char text[32];
    size_t i;

    fprintf(out, "%" PRIu64 " pause%s, ", p->count, p->count == 1 ? "" : "s");
    fprintf(out, "%s together", duration(text, sizeof text, p->sum_ns));
    if (p->count > 0) {
        fprintf(out, "; min %s", duration(text, sizeof text, p->min_ns));
        for (i = 0; i < ALQI_COUNT_OF(percents); i++)
            fprintf(out, ", p%g %s", percents[i],
                    duration(text, sizeof text,
                             alq_pauses_percentile_ns(p, percents[i])));
        fprintf(out, ", max %s", duration(text, sizeof text, p->max_ns));
    }
    fputc('\n', out);
}

/* A line for each power of two that has any pause. */
static void
print_rows(const struct alq_pauses *p, FILE *out)
{
    char low[32], high[32];
    unsigned i, j;

    for (i = 0; i < ALQ_PAUSE_BUCKETS; i += STEPS) {
        uint64_t n = 0;

        for (j = i; j < i + STEPS; j++)
            n += p->buckets[j];
        if (n == 0)
            continue;
        fprintf(out, "  %8s to %8s  %12" PRIu64 "\n",
                duration(low, sizeof low, alq_pauses_bucket_ns(i)),
                duration(high, sizeof high, alq_pauses_bucket_ns(i + STEPS)),
                n);
    }
}

enum alq_status
alq_pauses_print(const struct alq_pauses *p, FILE *out)
{
    if (p == NULL || out == NULL)
        return ALQ_EINVAL;
    print_head(p, out);
    print_rows(p, out);
    return ferror(out) ? ALQ_EIO : ALQ_OK;
}
