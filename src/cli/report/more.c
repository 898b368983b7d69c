/* more.c -- tables that are asked for: threads, sizes, sites of realloc,
 * suppressions
 *
 * Each table sorts indexes (order_new), prints a heading and its rows, and says
 * what it left out. A row's site is printed by alqi_cli_report_site(), the same
 * as in the table of top sites. Nothing outlives a call. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/analysis/errors.h"
#include "cli/report/draw.h"
#include "cli/report/report.h"
#include "cli/tool/text.h"

/* Columns of an error, and room for a name. */
enum { ERROR = 10, NAME_BYTES = 512 };

/* A section's title: bold, then the rest as it is. */
static void
heading(const struct alqi_cli_report *r, const char *bold, const char *rest)
{
    fprintf(r->term.out, "%s%s%s%s\n", alqi_cli_style(&r->term, ALQI_CLI_BOLD),
            bold, alqi_cli_style(&r->term, ALQI_CLI_PLAIN), rest);
}

/* A line of titles. */
static void
dim(const struct alqi_cli_report *r, const char *text)
{
    fprintf(r->term.out, "%s%s%s\n", alqi_cli_style(&r->term, ALQI_CLI_DIM),
            text, alqi_cli_style(&r->term, ALQI_CLI_PLAIN));
}

/* Indexes 0..n in the order of compare(). */
static uint32_t *
order_new(uint32_t n, int (*compare)(const void *, const void *, void *),
          struct alqi_cli_report *r)
{
    uint32_t *order = alqi_cli_realloc(NULL, n, sizeof *order);

    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof *order, compare, r);
    return order;
}

/* The larger value first; the smaller index breaks a tie, so that the order is
 * the same on every machine. */
static int
by_bytes(double x, double y, uint32_t a, uint32_t b)
{
    if (x != y)
        return x > y ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* ---- threads --------------------------------------------------------- */

/* Threads by the report's measure. */
static int
threads_compare(const void *left, const void *right, void *arg)
{
    const struct alqi_cli_report *r = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct alqi_cli_analysis *s = &r->analysis;

    return by_bytes(s->by_thread[a][r->measure].bytes,
                    s->by_thread[b][r->measure].bytes, a, b);
}

/* A thread's figures; its share is of all that is live at the peak. */
static void
thread_row(const struct alqi_cli_report *r, uint32_t index, double all_at_peak)
{
    const struct alqi_cli_analysis *a = &r->analysis;
    const struct alqi_cli_sum *s = a->by_thread[index];
    const struct alqi_cli_thread *t = &a->notes.threads[index];
    const struct alqi_cli_term *term = &r->term;
    double peak = s[ALQI_CLI_PEAK].bytes;

    alqi_cli_draw_right(
        term, alqi_cli_text_bytes(s[ALQI_CLI_ALLOCATED].bytes).text, 9);
    alqi_cli_draw_right(
        term, alqi_cli_text_count(s[ALQI_CLI_ALLOCATED].objects).text, 8);
    alqi_cli_draw_right(term, alqi_cli_text_bytes(peak).text, 10);
    alqi_cli_draw_right(
        term,
        alqi_cli_text_percent(all_at_peak > 0 ? peak / all_at_peak : 0).text,
        7);
    alqi_cli_draw_right(term, alqi_cli_text_bytes(s[ALQI_CLI_LIVE].bytes).text,
                        10);
    fprintf(term->out, "%7u%9" PRIu64 "  %s\n", index, t->tid,
            alqi_cli_names_text(a->names, t->name));
}

/* The order has all places of the table of threads, of which some were never
 * seen: those are skipped and not counted as left out. */
void
alqi_cli_report_threads(struct alqi_cli_report *r)
{
    const struct alqi_cli_analysis *a = &r->analysis;
    uint32_t n = a->notes.threads_capacity, shown = 0, left = 0;
    uint32_t *order = order_new(n, threads_compare, r);
    double all_at_peak = 0;

    for (uint32_t i = 0; i < n; i++)
        all_at_peak += a->by_thread[i][ALQI_CLI_PEAK].bytes;
    heading(r, "THREADS", ", by the blocks they allocated");
    dim(r,
        "allocated  blocks   at peak  share    at end  index      tid  name");
    for (uint32_t i = 0; i < n; i++) {
        if (!a->notes.threads[order[i]].is_seen)
            continue;
        if (r->top != 0 && shown == r->top) {
            left++;
            continue;
        }
        thread_row(r, order[i], all_at_peak);
        shown++;
    }
    if (shown == 0)
        fprintf(r->term.out, "   the trace tells no threads\n");
    if (left > 0)
        fprintf(r->term.out, "   %u more (--top=0 shows all)\n", left);
    fputc('\n', r->term.out);
    free(order);
}

/* ---- sizes ----------------------------------------------------------- */

/* What one measure has in a class of sizes. */
static void
size_figures(const struct alqi_cli_report *r, unsigned size_class,
             enum alqi_cli_measure measure)
{
    const struct alqi_cli_analysis *a = &r->analysis;
    const struct alqi_cli_sum *s = &a->by_size[size_class][measure];
    double total = a->totals[measure].bytes;

    alqi_cli_draw_right(&r->term, alqi_cli_text_bytes(s->bytes).text, 11);
    if (alqi_cli_is_sampled(&a->estimator))
        alqi_cli_draw_right(
            &r->term, alqi_cli_error_percent(&a->estimator, s).text, ERROR);
    alqi_cli_draw_right(
        &r->term, alqi_cli_text_percent(total > 0 ? s->bytes / total : 0).text,
        7);
    alqi_cli_draw_right(&r->term, alqi_cli_text_count(s->objects).text, 8);
}

/* A row for each class with a block. */
void
alqi_cli_report_histogram(struct alqi_cli_report *r)
{
    uint32_t n = 0;

    heading(r, "SIZES", ", each row above half of its size and up to it");
    dim(r,
        alqi_cli_is_sampled(&r->analysis.estimator)
            ? "   up to  allocated         ±  share  blocks    at peak     "
              "    ±  share  blocks"
            : "   up to  allocated  share  blocks    at peak  share  blocks");
    for (unsigned i = 0; i < ALQI_CLI_SIZE_CLASSES; i++) {
        if (r->analysis.by_size[i][ALQI_CLI_ALLOCATED].n_blocks == 0)
            continue;
        alqi_cli_draw_right(
            &r->term, alqi_cli_text_bytes(alqi_cli_size_class_bytes(i)).text,
            8);
        size_figures(r, i, ALQI_CLI_ALLOCATED);
        size_figures(r, i, ALQI_CLI_PEAK);
        fputc('\n', r->term.out);
        n++;
    }
    if (n == 0)
        fprintf(r->term.out, "   nothing\n");
    fputc('\n', r->term.out);
}

/* ---- sites of realloc ------------------------------------------------ */

/* Groups by the bytes that realloc made in them. */
static int
reallocs_compare(const void *left, const void *right, void *arg)
{
    const struct alqi_cli_report *r = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return by_bytes(r->groups.groups[a].moves.made.bytes,
                    r->groups.groups[b].moves.made.bytes, a, b);
}

/* A group's figures and its site. Growth is the mean factor between the block
 * before and the one after; "-": no link between two blocks was sampled. */
static void
realloc_row(struct alqi_cli_report *r, const struct alqi_cli_group *g)
{
    const struct alqi_cli_term *term = &r->term;
    const struct alqi_cli_moves *m = &g->moves;
    char text[32];
    int used = 9 + 8 + 8 + 8;

    alqi_cli_draw_right(term, alqi_cli_text_bytes(m->made.bytes).text, 9);
    if (alqi_cli_is_sampled(&r->analysis.estimator)) {
        alqi_cli_draw_right(
            term, alqi_cli_error_percent(&r->analysis.estimator, &m->made).text,
            ERROR);
        used += ERROR;
    }
    alqi_cli_draw_right(term, alqi_cli_text_count(m->made.objects).text, 8);
    snprintf(text, sizeof text, "%.3g", alqi_cli_moves_growth(m));
    alqi_cli_draw_right(term, m->old_bytes > 0 ? text : "-", 8);
    snprintf(text, sizeof text, "%" PRIu64, m->longest);
    alqi_cli_draw_right(term, text, 8);
    fputs("  ", term->out);
    alqi_cli_report_site(r, g, term->width - used - 2);
}

/* Groups without any realloc sort last, so the first of them ends the table. */
void
alqi_cli_report_reallocs(struct alqi_cli_report *r)
{
    uint32_t n = r->groups.n_groups, i;
    uint32_t *order = order_new(n, reallocs_compare, r);
    bool is_estimate = alqi_cli_is_sampled(&r->analysis.estimator);

    heading(r, "GROWN BY REALLOC", "");
    dim(r, is_estimate ? "    bytes         ±  blocks  growth longest  site"
                       : "    bytes  blocks  growth longest  site");
    for (i = 0; i < n && (r->top == 0 || i < r->top); i++) {
        if (r->groups.groups[order[i]].moves.made.n_blocks == 0)
            break;
        realloc_row(r, &r->groups.groups[order[i]]);
    }
    if (i == 0)
        fprintf(r->term.out, "   nothing\n");
    fputc('\n', r->term.out);
    free(order);
}

/* ---- suppressions ---------------------------------------------------- */

/* What a rule took. The column of errors is empty where nothing is sampled. */
static void
suppressed_row(const struct alqi_cli_report *r,
               const struct alqi_cli_suppress_rule *rule)
{
    const struct alqi_cli_term *term = &r->term;
    bool is_estimate = alqi_cli_is_sampled(&r->analysis.estimator);
    int left = term->width - 9 - 8 - 2 - (is_estimate ? ERROR : 0);

    alqi_cli_draw_right(term, alqi_cli_text_bytes(rule->sum.bytes).text, 9);
    if (is_estimate)
        alqi_cli_draw_right(
            term,
            alqi_cli_error_percent(&r->analysis.estimator, &rule->sum).text,
            ERROR);
    alqi_cli_draw_right(term, alqi_cli_text_count(rule->sum.objects).text, 8);
    fputs("  ", term->out);
    alqi_cli_draw_fit(term, ALQI_CLI_BOLD, alqi_cli_shown(rule->name).text,
                      &left);
    alqi_cli_draw_text(term, ALQI_CLI_PLAIN, &left, "  %s:%u",
                       alqi_cli_shown(rule->file).text, rule->line);
    fputc('\n', term->out);
}

void
alqi_cli_report_suppressed(struct alqi_cli_report *r)
{
    const struct alqi_cli_suppress *s = &r->suppress;
    uint32_t n_used = 0;

    fputc('\n', r->term.out);
    heading(r, "SUPPRESSIONS USED", ", leaks that are not in the above");
    dim(r, alqi_cli_is_sampled(&r->analysis.estimator)
               ? "    bytes         ±  blocks  suppression"
               : "    bytes  blocks  suppression");
    for (uint32_t i = 0; i < s->n_rules; i++) {
        if (s->rules[i].sum.n_blocks == 0)
            continue;
        suppressed_row(r, &s->rules[i]);
        n_used++;
    }
    if (n_used == 0)
        fprintf(r->term.out, "   nothing\n");
    fprintf(r->term.out, "   %u used, %u not", n_used, s->n_rules - n_used);
    if (s->n_skipped > 0)
        fprintf(r->term.out, "; %u of something else than leaks", s->n_skipped);
    fputc('\n', r->term.out);
}
