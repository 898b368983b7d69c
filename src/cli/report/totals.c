/* totals.c -- the head of the report: what ran, how much in all */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/draw.h"
#include "cli/report/processes.h"
#include "cli/analysis/remarks.h"
#include "cli/report/report.h"
#include "cli/tool/text.h"

enum {
    TITLE_MAX = 4096,
    SAMPLING_MAX = 256,
    SPARK_MOST = 64,
    LABEL = 12,
    COLUMNS = 80
};

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

static void
circumstances(const struct alqi_cli_report *r)
{
    const struct alqi_cli_analysis *a = &r->analysis;
    FILE *out = r->term.out;
    char text[SAMPLING_MAX];

    fprintf(out, "%s, ran %s", alqi_cli_text_time(a->info->start_us).text,
            alqi_cli_text_duration((double)a->end_us).text);
    if (a->notes.n_processes == 0)
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

/* Of no sample at all the range's end is all there is to say. */
static void
bytes_error(const struct alqi_cli_estimator *e, const struct alqi_cli_sum *s,
            char *text, size_t room)
{
    struct alqi_view_interval x = alqi_cli_bytes_interval(e, s);

    if (s->objects == 0)
        snprintf(text, room, "at most %s", alqi_cli_text_bytes(x.high).text);
    else if (s->n_blocks < ALQI_VIEW_FEW)
        snprintf(text, room, "[%s, %s]", alqi_cli_text_bytes(x.low).text,
                 alqi_cli_text_bytes(x.high).text);
    else
        snprintf(text, room, "± %s",
                 alqi_cli_text_bytes(alqi_cli_stderr(s->bytes_var)).text);
}

static void
objects_error(const struct alqi_cli_estimator *e, const struct alqi_cli_sum *s,
              char *text, size_t room)
{
    struct alqi_view_interval x = alqi_cli_objects_interval(e, s);

    if (s->objects == 0)
        text[0] = '\0';
    else if (s->n_blocks < ALQI_VIEW_FEW)
        snprintf(text, room, " [%s, %s]", alqi_cli_text_count(x.low).text,
                 alqi_cli_text_count(x.high).text);
    else
        snprintf(
            text, room, " ±%s",
            alqi_cli_text_percent(alqi_cli_stderr(s->objects_var) / s->objects)
                .text);
}

static int
pad(const char *text, int columns)
{
    int used = (int)alqi_cli_columns(text);

    return text[0] != '\0' && used < columns ? columns - used : 0;
}

/* Columns of the text when padded. */
static int
reach(const char *text, int columns)
{
    return (int)alqi_cli_columns(text) + pad(text, columns);
}

/* Ends a line of which so many columns are used; below, where it is too long.
 */
static void
remark_put(const struct alqi_cli_term *term, int used, const char *between,
           const char *remark)
{
    int columns = used + 2 + (int)alqi_cli_columns(remark);

    if (columns > COLUMNS || columns > term->width)
        fprintf(term->out, "\n  %*s%s\n", LABEL, "", remark);
    else
        fprintf(term->out, "%s%s\n", between, remark);
}

static void
total_line(const struct alqi_cli_report *r, const char *label,
           const struct alqi_cli_sum *s, const char *remark)
{
    const struct alqi_cli_term *term = &r->term;
    char bytes[128] = "", objects[128] = "";
    int used;
    bool is_too_few =
        alqi_cli_is_sampled(&r->analysis.estimator) && s->objects == 0;

    if (alqi_cli_is_sampled(&r->analysis.estimator)) {
        bytes_error(&r->analysis.estimator, s, bytes, sizeof bytes);
        objects_error(&r->analysis.estimator, s, objects, sizeof objects);
    }
    fprintf(term->out, "  %-*s%s", LABEL, label,
            alqi_cli_style(term, ALQI_CLI_BOLD));
    alqi_cli_draw_right(term, alqi_cli_text_bytes(s->bytes).text, 9);
    fprintf(term->out, "%s %s%*s", alqi_cli_style(term, ALQI_CLI_PLAIN), bytes,
            pad(bytes, 10), "");
    alqi_cli_draw_right(term, alqi_cli_text_count(s->objects).text, 7);
    fprintf(term->out, "%s%*s blocks", objects, pad(objects, 6), "");
    if (is_too_few)
        remark = "too few samples";
    used = 2 + LABEL + 9 + 1 + reach(bytes, 10) + 7 + reach(objects, 6) + 7;
    remark_put(term, used, "  ", remark);
}

/* Its moments, where they read differently. */
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

static void
totals(const struct alqi_cli_report *r)
{
    const struct alqi_cli_analysis *a = &r->analysis;
    const struct alqi_cli_sum *all = &a->totals[ALQI_CLI_ALLOCATED];
    const struct alqi_cli_sum *temporary = &a->totals[ALQI_CLI_TEMPORARY];
    const char *ended = alqi_cli_names_text(a->names, a->notes.ended);
    char remark[128] = "";

    if (a->end_us > 0)
        snprintf(
            remark, sizeof remark, "%s/s",
            alqi_cli_text_bytes(all->bytes * 1e6 / (double)a->end_us).text);
    total_line(r, "allocated", all, remark);
    peak_when(a, remark, sizeof remark);
    total_line(r, "peak", &a->totals[ALQI_CLI_PEAK], remark);
    total_line(r, "live at end", &a->totals[ALQI_CLI_LIVE],
               strcmp(ended, "running") == 0 ? "still in use" : "never freed");
    snprintf(remark, sizeof remark, "%s freed within %s",
             alqi_cli_text_percent(
                 all->bytes > 0 ? temporary->bytes / all->bytes : 0)
                 .text,
             alqi_cli_text_duration(a->options.temporary_us).text);
    total_line(r, "temporary", temporary, remark);
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

/* What realloc brought is counted of all blocks, long-lived or not. */
static void
reallocated(const struct alqi_cli_report *r)
{
    const struct alqi_cli_moves *m = &r->analysis.moves;
    char text[256], chain[64], error[64] = "";

    if (m->n_blocks == 0 || r->analysis.options.min_life_us > 0)
        return;
    if (alqi_cli_is_sampled(&r->analysis.estimator))
        snprintf(error, sizeof error, " ± %s",
                 alqi_cli_text_bytes(alqi_cli_stderr(m->bytes_var)).text);
    snprintf(text, sizeof text,
             "%9s%s of the above came by realloc, in %s blocks",
             alqi_cli_text_bytes(m->bytes).text, error,
             alqi_cli_text_count(m->objects).text);
    snprintf(chain, sizeof chain, "longest chain %" PRIu64, m->longest);
    two_part_line(r, "reallocs", text, chain);
}

/* Beside live bytes it tells what the allocator keeps or cannot use. */
static void
resident(const struct alqi_cli_report *r)
{
    const struct alqi_cli_analysis *a = &r->analysis;
    char text[256], peak[128], times[64] = "";

    if (a->rss.n_told == 0)
        return;
    if (a->totals[ALQI_CLI_PEAK].bytes > 0)
        snprintf(times, sizeof times, ", %.3g times its bytes",
                 alqi_cli_rss_at_peak(&a->rss) /
                     a->totals[ALQI_CLI_PEAK].bytes);
    snprintf(text, sizeof text, "%9s at most, at %s",
             alqi_cli_text_bytes(a->rss.peak_bytes).text,
             alqi_cli_text_duration((double)a->rss.peak_us).text);
    snprintf(peak, sizeof peak, "%s at the heap's peak%s",
             alqi_cli_text_bytes(alqi_cli_rss_at_peak(&a->rss)).text, times);
    two_part_line(r, "resident", text, peak);
}

/* In each of n parts of the time the most of the steps; 0 is not told, and
 * what was told before holds on. */
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

static void
warn(void *arg, const char *text)
{
    const struct alqi_cli_term *term = arg;

    fprintf(term->out, "%s! %s%s\n", alqi_cli_style(term, ALQI_CLI_WARN), text,
            alqi_cli_style(term, ALQI_CLI_PLAIN));
}

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
    spark(r);
    alqi_cli_remarks(&r->analysis, alqi_cli_input_damage(r->input), warn,
                     &r->term);
    fputc('\n', r->term.out);
    if (r->analysis.notes.n_processes > 0)
        alqi_cli_processes_table(&r->term, &r->analysis, true, r->top);
}
