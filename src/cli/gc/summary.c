/* summary.c -- a recording of the collector in some lines
 *
 * The lengths of all spans are kept, 8 bytes each, so percentiles are exact. A
 * span that was cut has no length. Printed are: head, each domain's paused
 * share, the collector's work, a table of lengths by kind. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/gc/gc_trace.h"
#include "cli/tool/text.h"

enum { KINDS = 256 };

/* The spans of one kind. */
struct lengths {
    /* their lengths; sorted when they are printed; owned */
    uint64_t *ns;
    uint32_t n;
    /* of all lengths */
    uint64_t sum_ns;
    /* by value: sum over the ends */
    uint64_t sums[ALQ_EVENT_VALUES];
};

struct summary {
    FILE *out;
    /* by kind of event */
    struct lengths kinds[KINDS];
    /* by kind: events without length */
    uint64_t n_moments[KINDS];
    /* by track: time in pauses */
    uint64_t paused_ns[ALQI_GCTRACE_TRACKS_MAX];
    /* by track: its first event; 0: no such domain */
    uint64_t first_ns[ALQI_GCTRACE_TRACKS_MAX];
    /* most bytes in use at the end of a pause */
    uint64_t peak_bytes;
    /* most bytes that the heap had ready */
    uint64_t ready_bytes;
};

/* ---- reading ------------------------------------------------------------ */

/* Notes when a track begins. */
static void
see_track(struct summary *s, uint32_t track, uint64_t ns)
{
    if (s->first_ns[track] == 0)
        s->first_ns[track] = ns;
}

static void
begin(void *arg, uint32_t track, const struct alqi_gctrace_event *e)
{
    see_track(arg, track, e->time_ns);
}

static void
moment(void *arg, uint32_t track, const struct alqi_gctrace_event *e)
{
    struct summary *s = arg;

    see_track(s, track, e->time_ns);
    s->n_moments[e->kind]++;
}

/* A span ended: notes its length and its values. */
static void
end(void *arg, uint32_t track, const struct alqi_cli_gc_span *span)
{
    struct summary *s = arg;
    struct lengths *l = &s->kinds[span->begin.kind];
    uint64_t ns = span->end.time_ns - span->begin.time_ns;
    unsigned i;

    if (span->is_cut)
        return;
    l->ns = alqi_cli_grow(l->ns, l->n, sizeof *l->ns);
    l->ns[l->n++] = ns;
    l->sum_ns += ns;
    for (i = 0; i < ALQ_EVENT_VALUES; i++)
        l->sums[i] += span->end.values[i];
    if (span->begin.kind != ALQ_EVENT_PAUSE)
        return;
    s->paused_ns[track] += ns;
    if (span->end.values[0] > s->peak_bytes)
        s->peak_bytes = span->end.values[0];
    if (span->end.values[1] > s->ready_bytes)
        s->ready_bytes = span->end.values[1];
}

/* ---- printing ----------------------------------------------------------- */

/* A length with three digits, also below a microsecond. */
static struct alqi_cli_text
duration(uint64_t ns)
{
    struct alqi_cli_text t;

    if (ns < 1000)
        snprintf(t.text, sizeof t.text, "%" PRIu64 " ns", ns);
    else if (ns < 99950)
        snprintf(t.text, sizeof t.text, "%.*f µs", ns < 9995 ? 2 : 1,
                 (double)ns / 1e3);
    else
        t = alqi_cli_text_duration((double)ns / 1e3);
    return t;
}

/* Right-aligned in eleven columns. */
static void
cell(FILE *out, const char *text)
{
    fprintf(out, "  %*s%s", (int)(9 - alqi_cli_columns(text)), "", text);
}

static int
by_length(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* The least length that `percent` of the sorted lengths do not exceed. */
static uint64_t
percentile(const struct lengths *l, double percent)
{
    /* A rank, but for what rounding adds to a whole number. */
    uint32_t i = (uint32_t)((double)l->n * percent / 100 * (1 - 1e-12));

    return l->ns[i < l->n ? i : l->n - 1];
}

/* One line of the table. Sorts the lengths. */
static void
print_lengths(FILE *out, struct lengths *l, const char *name)
{
    static const double percents[] = {50, 90, 99, 99.9, 100};
    size_t i;

    qsort(l->ns, l->n, sizeof *l->ns, by_length);
    fprintf(out, "%-12s", name);
    cell(out, alqi_cli_text_count(l->n).text);
    cell(out, duration(l->sum_ns).text);
    for (i = 0; i < ALQI_COUNT_OF(percents); i++)
        cell(out, duration(percentile(l, percents[i])).text);
    fputc('\n', out);
}

/* The table of lengths: a line for each kind that was met. */
static void
print_table(struct summary *s)
{
    static const char *const heads[] = {"count", "total", "p50", "p90",
                                        "p99",   "p99.9", "max"};
    char name[32];
    unsigned kind;
    size_t i;

    fprintf(s->out, "\n%-12s", "");
    for (i = 0; i < ALQI_COUNT_OF(heads); i++)
        cell(s->out, heads[i]);
    fputc('\n', s->out);
    for (kind = 0; kind < KINDS; kind++)
        if (s->kinds[kind].n > 0)
            print_lengths(s->out, &s->kinds[kind],
                          alqi_cli_gc_kind_text(name, sizeof name, kind));
}

/* How much of its time each domain ran. */
static void
print_domains(struct summary *s, const struct alqi_cli_gc_totals *totals)
{
    char name[32];
    uint32_t t;

    for (t = 1; t < ALQI_GCTRACE_TRACKS_MAX; t++) {
        uint64_t ns = totals->last_ns - s->first_ns[t];

        if (s->first_ns[t] == 0 || ns == 0)
            continue;
        fprintf(s->out, "%-12s paused %s of %s, ran %s of the time\n",
                alqi_cli_gc_track_text(name, sizeof name, t),
                duration(s->paused_ns[t]).text, duration(ns).text,
                alqi_cli_text_percent(1 - (double)s->paused_ns[t] / (double)ns)
                    .text);
    }
}

/* What the minor collections promoted, and how large the heap was. */
static void
print_work(struct summary *s)
{
    const struct lengths *minor = &s->kinds[ALQ_EVENT_MINOR];

    if (minor->n > 0)
        fprintf(s->out, "promoted     %s words, %s a minor collection\n",
                alqi_cli_text_count((double)minor->sums[0]).text,
                alqi_cli_text_count((double)minor->sums[0] / minor->n).text);
    if (s->kinds[ALQ_EVENT_PAUSE].n > 0)
        fprintf(s->out,
                "heap         %s in use at most, of %s; grew %" PRIu64
                " times, shrank %" PRIu64 "\n",
                alqi_cli_text_bytes((double)s->peak_bytes).text,
                alqi_cli_text_bytes((double)s->ready_bytes).text,
                s->n_moments[ALQ_EVENT_GROW], s->n_moments[ALQ_EVENT_SHRINK]);
}

/* What was recorded, for how long, and what is missing. */
static void
print_head(struct summary *s, struct alqi_cli_gc_events *events,
           const struct alqi_cli_gc_totals *totals)
{
    const struct alqi_gctrace_header *h = alqi_cli_gc_header(events);
    uint64_t end_ns =
        totals->last_ns > h->mono_ns ? totals->last_ns : h->mono_ns;

    fprintf(s->out, "recording    %s: process %" PRIu32 ", %s from %s on\n",
            alqi_cli_shown(alqi_cli_gc_name(events)).text, h->pid,
            duration(end_ns - h->mono_ns).text,
            alqi_cli_text_time(h->wall_ns / 1000).text);
    fprintf(s->out, "events       %s",
            alqi_cli_text_count((double)totals->n_events).text);
    if (totals->n_lost > 0)
        fprintf(s->out, "; %" PRIu64 " were lost, as buffers were full",
                totals->n_lost);
    if (totals->n_unbegun > 0)
        fprintf(s->out, "; %" PRIu64 " ends have no beginning",
                totals->n_unbegun);
    if (totals->n_cut > 0)
        fprintf(s->out, "; %" PRIu64 " spans have no end", totals->n_cut);
    fputc('\n', s->out);
}

int
alqi_cli_gc_summary(struct alqi_cli_gc_events *events, FILE *out)
{
    struct summary *s = alqi_cli_zeros(1, sizeof *s);
    struct alqi_cli_gc_hear hear = {begin, end, moment, s};
    struct alqi_cli_gc_totals totals;
    unsigned kind;
    int status;

    s->out = out;
    status = alqi_cli_gc_read(events, &hear, &totals);
    print_head(s, events, &totals);
    print_domains(s, &totals);
    print_work(s);
    print_table(s);
    for (kind = 0; kind < KINDS; kind++)
        free(s->kinds[kind].ns);
    free(s);
    return status;
}
