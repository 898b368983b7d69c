/* totals.c -- the head of the report: what ran, how much in all
 *
 * Lines in order: title, circumstances, filters; the four totals; mmap,
 * realloc, resident memory where there is any; a curve over time; warnings;
 * processes. A line that would pass the terminal's width continues
 * on the next one (remark_put). Errors of the totals stand below each other, so
 * totals_put() measures all lines before it prints one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/errors.h"
#include "cli/report/draw.h"
#include "cli/report/processes.h"
#include "cli/analysis/remarks.h"
#include "cli/report/report.h"
#include "cli/report/resident.h"
#include "cli/tool/text.h"

/* TITLE_MAX and SAMPLING_MAX are bytes; SPARK_MOST and LABEL columns. */
enum { TITLE_MAX = 4096, SAMPLING_MAX = 256, SPARK_MOST = 64, LABEL = 12 };

/* The command line, or the program, or the first of several processes. */
static void
title(const struct alqi_cli_report *r)
{
    const struct alqi_cli_analysis *a = &r->analysis;
    char text[TITLE_MAX];
    int left = r->term.width;

    if (a->notes.n_processes > 0) {
        uint32_t *order;
        uint32_t n = alqi_cli_processes_order(a, false, &order);

        snprintf(text, sizeof text, "%u process%s: %s", n, n == 1 ? "" : "es",
                 n == 0 ? ""
                        : alqi_cli_names_text(
                              a->names, alqi_cli_process_command(a, order[0])));
        free(order);
    } else if (a->notes.cmdline != ALQI_CLI_NO_NAME)
        snprintf(text, sizeof text, "%s",
                 alqi_cli_names_text(a->names, a->notes.cmdline));
    else
        alqi_cli_clean(text, sizeof text, a->info->executable);
    alqi_cli_draw_fit(&r->term, ALQI_CLI_BOLD,
                      text[0] != '\0' ? text : "[unnamed program]", &left);
    fputc('\n', r->term.out);
}

/* When it ran, for how long, and how it was sampled; what the signs of errors
 * mean, if there are any. */
static void
circumstances(const struct alqi_cli_report *r)
{
    const struct alqi_cli_analysis *a = &r->analysis;
    FILE *out = r->term.out;
    char text[SAMPLING_MAX];

    fprintf(out, "%s, ran %s", alqi_cli_text_time(a->info->start_us).text,
            alqi_cli_text_duration((double)a->end_us).text);
    if (a->notes.n_processes == 0 && a->info->pid != 0)
        fprintf(out, ", pid %" PRIu64, a->info->pid);
    if (a->notes.n_threads > 1)
        fprintf(out, ", %u threads", a->notes.n_threads);
    if (a->max_domain > 0)
        fprintf(out, ", domains up to %u", a->max_domain);
    alqi_cli_remark_sampling(a, text, sizeof text);
    fprintf(out, "\n%s\n", text);
    if (a->estimator.has_rate && alqi_cli_is_sampled(&a->estimator))
        fprintf(out, "± is one standard error; [a, b] and -a+b%% are 95%% "
                     "intervals\n");
}

/* Blanks that fill text up to so many columns. */
static int
pad(const char *text, int columns)
{
    int used = (int)alqi_cli_columns(text);

    return used < columns ? columns - used : 0;
}

/* Ends a line of which so many columns are used; below, where it is too long.
 */
static void
remark_put(const struct alqi_cli_term *term, int used, const char *between,
           const char *remark)
{
    int columns = used + 2 + (int)alqi_cli_columns(remark);

    if (columns > term->width)
        fprintf(term->out, "\n  %*s%s\n", LABEL, "", remark);
    else
        fprintf(term->out, "%s%s\n", between, remark);
}

/* One line of the totals. */
struct total {
    const char *label;
    const struct alqi_cli_sum *sum;
    char remark[128];                          /* stands at the line's end */
    struct alqi_cli_error_text bytes, objects; /* errors */
};

/* What is resident is accounted for if blocks are more than that share of it,
 * or less than so many bytes remain. */
#define EXPLAINED_SHARE 0.5
#define UNEXPLAINED_BYTES 0x1p25

enum { TOTALS = 4 };

/* Prints one line of the totals. An error of bytes that is too wide takes its
 * columns from those behind it. */
static void
total_line(const struct alqi_cli_report *r, const struct total *t,
           int bytes_columns, int objects_columns)
{
    const struct alqi_cli_term *term = &r->term;
    int between = objects_columns > 0; /* columns */
    int over = (int)alqi_cli_columns(t->bytes.text) - bytes_columns;
    int over_count = over < 0 ? 0 : over < 5 ? over : 5;
    int columns = objects_columns - (over > over_count ? over - over_count : 0);

    fprintf(term->out, "  %-*s%s", LABEL, t->label,
            alqi_cli_style(term, ALQI_CLI_BOLD));
    alqi_cli_draw_right(term, alqi_cli_text_bytes(t->sum->bytes).text, 9);
    fprintf(term->out, "%s %s%*s", alqi_cli_style(term, ALQI_CLI_PLAIN),
            t->bytes.text, pad(t->bytes.text, bytes_columns), "");
    alqi_cli_draw_right(term, alqi_cli_text_count(t->sum->objects).text,
                        7 - over_count);
    fprintf(term->out, "%*s%s%*s blocks", between, "", t->objects.text,
            pad(t->objects.text, columns), "");
    remark_put(term,
               2 + LABEL + 9 + 1 + bytes_columns + 7 + between +
                   objects_columns + 7,
               "  ", t->remark);
}

/* Raises *columns to what text takes. */
static void
widen(int *columns, const char *text)
{
    int used = (int)alqi_cli_columns(text);

    if (used > *columns)
        *columns = used;
}

/* The errors stand below each other, however long the longest is.  The end of
 * an interval of nothing reaches into the next column. */
static void
totals_put(const struct alqi_cli_report *r, struct total *totals)
{
    const struct alqi_cli_estimator *e = &r->analysis.estimator;
    int bytes_columns = 0, objects_columns = 0;

    for (int i = 0; i < TOTALS; i++) {
        struct total *t = &totals[i];

        t->bytes = alqi_cli_error_of_bytes(e, t->sum);
        t->objects = alqi_cli_error_of_objects(e, t->sum);
        if (alqi_cli_is_sampled(e) && t->sum->objects == 0) {
            snprintf(t->remark, sizeof t->remark, "too few samples");
            continue;
        }
        widen(&bytes_columns, t->bytes.text);
        widen(&objects_columns, t->objects.text);
    }
    for (int i = 0; i < TOTALS; i++)
        total_line(r, &totals[i], bytes_columns, objects_columns);
}

/* The time of the peak: one moment, or the first and the last if they read
 * differently. */
static void
peak_when(const struct alqi_cli_analysis *a, char *text, size_t room)
{
    struct alqi_cli_text first =
        alqi_cli_text_duration((double)alqi_cli_peak_us(a));
    struct alqi_cli_text last =
        alqi_cli_text_duration((double)alqi_cli_peak_last_us(a));

    if (strcmp(first.text, last.text) == 0)
        snprintf(text, room, "at %s", first.text);
    else
        snprintf(text, room, "at %s to %s", first.text, last.text);
}

/* Of one process the peak is no less than what is live at the end.  Their
 * estimates rest on different colours of sample and may say otherwise
 * (view/peak.h).  Of several, what is live is that of each at its own end, and
 * the peak is of one moment. */
static void
live_remark(const struct alqi_cli_analysis *a, char *text, size_t room)
{
    const char *ended = alqi_cli_names_text(a->names, a->notes.ended);
    const char *above = "";

    if (a->totals[ALQI_CLI_LIVE].bytes > a->totals[ALQI_CLI_PEAK].bytes) {
        if (a->notes.n_processes > 0)
            above = "; the peak is of one moment";
        else if (alqi_cli_is_sampled(&a->estimator))
            above = "; the peak was no less";
    }
    snprintf(text, room, "%s%s%s",
             strcmp(ended, "running") == 0 ? "still in use" : "never freed",
             a->notes.n_processes > 0 ? ", each process at its own end" : "",
             above);
}

/* Fills the four lines and prints them. */
static void
totals(const struct alqi_cli_report *r)
{
    const struct alqi_cli_analysis *a = &r->analysis;
    const struct alqi_cli_sum *all = &a->totals[ALQI_CLI_ALLOCATED];
    const struct alqi_cli_sum *temporary = &a->totals[ALQI_CLI_TEMPORARY];
    struct total lines[TOTALS] = {
        {.label = "allocated", .sum = all},
        {.label = "peak", .sum = &a->totals[ALQI_CLI_PEAK]},
        {.label = "live at end", .sum = &a->totals[ALQI_CLI_LIVE]},
        {.label = "temporary", .sum = temporary},
    };

    if (a->end_us > 0)
        snprintf(
            lines[0].remark, sizeof lines[0].remark, "%s/s",
            alqi_cli_text_bytes(all->bytes * 1e6 / (double)a->end_us).text);
    peak_when(a, lines[1].remark, sizeof lines[1].remark);
    live_remark(a, lines[2].remark, sizeof lines[2].remark);
    snprintf(lines[3].remark, sizeof lines[3].remark, "%s %s",
             alqi_cli_text_percent(
                 all->bytes > 0 ? temporary->bytes / all->bytes : 0)
                 .text,
             alqi_cli_remark_temporary(a).text);
    totals_put(r, lines);
}

/* A line that only some traces have. */
static void
more_line(const struct alqi_cli_report *r, const char *label, const char *text)
{
    fprintf(r->term.out, "  %-*s%s\n", LABEL, label, text);
}

/* The second part is below where the line would be too long. */
static void
two_part_line(const struct alqi_cli_report *r, const char *label,
              const char *first, const char *second)
{
    fprintf(r->term.out, "  %-*s%s", LABEL, label, first);
    remark_put(&r->term, 2 + LABEL + (int)alqi_cli_columns(first), "; ",
               second);
}

/* What came by mmap is part of the totals above and would else be missed by
 * readers who look for malloc alone. */
static void
mapped(const struct alqi_cli_report *r)
{
    const struct alqi_cli_sum *s = r->analysis.mapped;
    char text[256];

    if (s[ALQI_CLI_ALLOCATED].n_blocks == 0)
        return;
    snprintf(text, sizeof text,
             "%9s by mmap, of the above; %s at the peak, %s at the end",
             alqi_cli_text_bytes(s[ALQI_CLI_ALLOCATED].bytes).text,
             alqi_cli_text_bytes(s[ALQI_CLI_PEAK].bytes).text,
             alqi_cli_text_bytes(s[ALQI_CLI_LIVE].bytes).text);
    more_line(r, "mapped", text);
}

/* The line on realloc. Its figures are of all blocks, so there is none if short
 * lives are left out. */
static void
reallocated(const struct alqi_cli_report *r)
{
    const struct alqi_cli_moves *m = &r->analysis.moves;
    struct alqi_cli_error_text error =
        alqi_cli_error_of_bytes(&r->analysis.estimator, &m->made);
    char text[256], chain[64];

    if (m->made.n_blocks == 0 || r->analysis.options.min_life_us > 0)
        return;
    snprintf(text, sizeof text,
             "%9s%s%s of the above came by realloc, in %s blocks",
             alqi_cli_text_bytes(m->made.bytes).text,
             error.text[0] != '\0' ? " " : "", error.text,
             alqi_cli_text_count(m->made.objects).text);
    snprintf(chain, sizeof chain, "longest chain %" PRIu64, m->longest);
    two_part_line(r, "reallocs", text, chain);
}

/* Resident memory beside live bytes tells what the allocator keeps or cannot
 * use. */
static void
resident(const struct alqi_cli_report *r)
{
    struct alqi_cli_resident_text text;
    char first[sizeof text.most + 4];

    if (!alqi_cli_resident_text(&r->analysis, &text))
        return;
    snprintf(first, sizeof first, "%*s%s",
             strcspn(text.most, " ") < 5 ? (int)(5 - strcspn(text.most, " "))
                                         : 0,
             "", text.most);
    two_part_line(r, "resident", first, text.at_peak);
    if (r->analysis.notes.n_processes > 0)
        more_line(r, "", ALQI_CLI_RESIDENT_SHARED);
}

/* Where blocks are less than half of what is resident, and much remains, the
 * largest consumer is not in this report: a line says so. It is of all blocks,
 * so there is none if some are left out, and of one moment, so there is none if
 * no look met it; pages that processes share are none's alone. */
static void
explained(const struct alqi_cli_report *r)
{
    const struct alqi_cli_analysis *a = &r->analysis;
    double live = a->rss.live_at_peak_bytes, resident = a->rss.peak_bytes;
    char text[256];

    if (!alqi_cli_is_of_malloc(a->info->context) || r->filter.text != NULL ||
        a->notes.n_processes > 0 || !alqi_cli_resident_is_met(a) ||
        a->options.min_life_us > 0 || a->options.thread != NULL ||
        live > resident * EXPLAINED_SHARE ||
        resident - live < UNEXPLAINED_BYTES)
        return;
    snprintf(text, sizeof text,
             "of the %s these blocks explain %s, %s; the rest is code,",
             alqi_cli_text_bytes(resident).text, alqi_cli_text_bytes(live).text,
             alqi_cli_text_percent(live / resident).text);
    more_line(r, "", text);
    more_line(r, "", "stacks, files, and heaps of runtimes (node, Java, Go)");
    if (a->mapped[ALQI_CLI_ALLOCATED].bytes == 0)
        more_line(r, "", "record --mmap shows what the program maps itself");
}

/* Folds the timeline into n values, each the highest of its steps. 0 means that
 * nothing was told. */
static void
steps_fold(const struct alqi_cli_timeline *t, const double *steps,
           double *values, unsigned n)
{
    memset(values, 0, n * sizeof *values);
    for (uint32_t i = 0; i < t->n; i++) {
        double *v = &values[(uint64_t)i * n / t->n];

        if (steps[i] > *v)
            *v = steps[i];
    }
}

/* The curve of resident memory below that of live bytes; a part of the time
 * without a look has the value before it. */
static void
resident_spark(const struct alqi_cli_report *r, double *values, unsigned n)
{
    const struct alqi_cli_analysis *a = &r->analysis;

    if (a->rss.n_told < 2)
        return;
    steps_fold(&a->timeline, a->timeline.rss, values, n);
    for (unsigned i = 1; i < n; i++)
        if (values[i] == 0)
            values[i] = values[i - 1];
    fprintf(r->term.out, "  %-*s", LABEL, "resident");
    alqi_cli_draw_spark(&r->term, values, n, a->rss.peak_bytes);
    fprintf(r->term.out, "  up to %s\n",
            alqi_cli_text_bytes(a->rss.peak_bytes).text);
}

/* The curve of live bytes over time, as wide as the terminal allows. The curve
 * of resident memory has a scale of its own. */
static void
spark(const struct alqi_cli_report *r)
{
    const struct alqi_cli_timeline *t = &r->analysis.timeline;
    double values[SPARK_MOST];
    unsigned n = SPARK_MOST;

    if (t->n < 2 || r->analysis.most_bytes <= 0)
        return;
    while ((int)n > r->term.width - 40 && n > 16)
        n--;
    if (t->n < n)
        n = t->n;
    steps_fold(t, t->live, values, n);
    fprintf(r->term.out, "  %-*s", LABEL, "over time");
    alqi_cli_draw_spark(&r->term, values, n, r->analysis.most_bytes);
    fprintf(r->term.out, "  0 to %s\n",
            alqi_cli_text_duration((double)r->analysis.end_us).text);
    resident_spark(r, values, n);
}

/* Prints one warning; alqi_cli_remarks() calls it. */
static void
warn(void *arg, const char *text)
{
    const struct alqi_cli_term *term = arg;

    fprintf(term->out, "%s! %s%s\n", alqi_cli_style(term, ALQI_CLI_WARN), text,
            alqi_cli_style(term, ALQI_CLI_PLAIN));
}

/* Filters are named before the figures, as they change what these mean. */
void
alqi_cli_report_totals(struct alqi_cli_report *r)
{
    title(r);
    circumstances(r);
    if (r->analysis.options.min_life_us > 0)
        fprintf(r->term.out, "only blocks that lived at least %s\n",
                alqi_cli_text_duration(r->analysis.options.min_life_us).text);
    if (r->filter.text != NULL) {
        char text[256];

        alqi_cli_clean(text, sizeof text, r->filter.text);
        fprintf(r->term.out,
                "only blocks that pass %s; the peak is that of all blocks\n",
                text);
    }
    if (r->suppress.is_given)
        fprintf(r->term.out, "without suppressed leaks; those are at the "
                             "report's end\n");
    if (r->analysis.options.thread != NULL) {
        char name[64];

        alqi_cli_clean(name, sizeof name, r->analysis.options.thread);
        fprintf(r->term.out,
                "only blocks of thread %s; the peak is that of all threads\n",
                name);
    }
    fputc('\n', r->term.out);
    totals(r);
    mapped(r);
    reallocated(r);
    resident(r);
    explained(r);
    spark(r);
    alqi_cli_remarks(&r->analysis, alqi_cli_input_damage(r->input), warn,
                     &r->term);
    fputc('\n', r->term.out);
    if (r->analysis.notes.n_processes > 0)
        alqi_cli_processes_table(&r->term, &r->analysis, true, r->top);
}
