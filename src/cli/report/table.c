/* table.c -- the table of top sites
 *
 * A row has figures, then the site: name, place, callers, as far as the width
 * allows. Groups come sorted by the report's measure, and the first that is
 * empty ends the table. The last line sums up what has no row. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/errors.h"
#include "cli/convert/codes.h"
#include "cli/report/draw.h"
#include "cli/report/report.h"
#include "cli/tool/text.h"

/* Room for a name, and the shares from which a row is coloured. */
enum { NAME_BYTES = 512, HOT_PERCENT = 20, WARM_PERCENT = 5 };

/* What the table is of, in the words of the option that chose it. */
static const char *
heading(const struct alqi_cli_report *r)
{
    if (r->is_leaks)
        return "NEVER FREED";
    switch (r->measure) {
    case ALQI_CLI_ALLOCATED:
        return "ALLOCATED";
    case ALQI_CLI_LIVE:
        return "LIVE AT THE END";
    case ALQI_CLI_PEAK:
        return "LIVE AT THE PEAK";
    default:
        return "TEMPORARY";
    }
}

/* ---- columns ------------------------------------------------------------- */

/* What a row has figures of. */
struct row {
    const struct alqi_cli_report *report;
    const struct alqi_cli_sum *sum;
    double share; /* of the measure's bytes, 0 to 1 */
    double kept;  /* of the bytes that the site allocated, 0 to 1 */
};

static struct alqi_cli_text
bytes_text(const struct row *row)
{
    return alqi_cli_text_bytes(row->sum->bytes);
}

static struct alqi_cli_text
error_text(const struct row *row)
{
    return alqi_cli_error_percent(&row->report->analysis.estimator, row->sum);
}

static struct alqi_cli_text
share_text(const struct row *row)
{
    return alqi_cli_text_percent(row->share);
}

static struct alqi_cli_text
blocks_text(const struct row *row)
{
    return alqi_cli_text_count(row->sum->objects);
}

static struct alqi_cli_text
life_text(const struct row *row)
{
    return alqi_cli_text_duration(alqi_cli_mean_life_us(row->sum));
}

static struct alqi_cli_text
kept_text(const struct row *row)
{
    return alqi_cli_text_percent(row->kept);
}

/* Colours a share of 20 % or more, and one of 5 % or more. */
static enum alqi_cli_style
share_style(const struct row *row)
{
    if (row->share * 100 >= HOT_PERCENT)
        return ALQI_CLI_HOT;
    return row->share * 100 >= WARM_PERCENT ? ALQI_CLI_WARM : ALQI_CLI_PLAIN;
}

/* In which reports a column stands. */
enum where { ALWAYS, IF_SAMPLED, IF_LEAKS, UNLESS_LEAKS };

static const struct column {
    const char *title;
    int width;
    enum where where;
    struct alqi_cli_text (*text)(const struct row *row);
    enum alqi_cli_style (*style)(const struct row *row); /* NULL: plain */
    bool is_in_rest; /* the last line, which sums up, has it */
} columns[] = {
    {"bytes", 8, ALWAYS, bytes_text, NULL, true},
    {"±", 10, IF_SAMPLED, error_text, NULL, false},
    {"share", 7, ALWAYS, share_text, share_style, true},
    {"blocks", 7, ALWAYS, blocks_text, NULL, false},
    {"avg life", 9, UNLESS_LEAKS, life_text, NULL, false},
    {"avg age", 9, IF_LEAKS, life_text, NULL, false},
    {"kept", 7, IF_LEAKS, kept_text, NULL, false},
};

static bool
is_shown(const struct alqi_cli_report *r, const struct column *c)
{
    switch (c->where) {
    case IF_SAMPLED:
        return alqi_cli_is_sampled(&r->analysis.estimator);
    case IF_LEAKS:
        return r->is_leaks;
    case UNLESS_LEAKS:
        return !r->is_leaks;
    default:
        return true;
    }
}

/* Two lines: the heading, and the titles of the columns. */
static void
head(const struct alqi_cli_report *r)
{
    const struct alqi_cli_term *term = &r->term;

    fprintf(term->out, "%s%s%s by %s\n%s", alqi_cli_style(term, ALQI_CLI_BOLD),
            heading(r), alqi_cli_style(term, ALQI_CLI_PLAIN),
            alqi_cli_grouping_name(r->grouping),
            alqi_cli_style(term, ALQI_CLI_DIM));
    for (size_t i = 0; i < ALQI_COUNT_OF(columns); i++)
        if (is_shown(r, &columns[i]))
            alqi_cli_draw_right(term, columns[i].title, columns[i].width);
    fprintf(term->out, "  site%s\n", alqi_cli_style(term, ALQI_CLI_PLAIN));
}

static struct row
row_of(const struct alqi_cli_report *r, const struct alqi_cli_sum *sum,
       double allocated_bytes)
{
    double total = r->analysis.totals[r->measure].bytes;

    return (struct row){r, sum, total > 0 ? sum->bytes / total : 0,
                        allocated_bytes > 0 ? sum->bytes / allocated_bytes : 0};
}

/* Draws a row's figures; returns the columns of the terminal they took. */
static int
figures(const struct alqi_cli_report *r, const struct alqi_cli_group *g)
{
    const struct alqi_cli_term *term = &r->term;
    struct row row =
        row_of(r, &g->sums[r->measure], g->sums[ALQI_CLI_ALLOCATED].bytes);
    int used = 0;

    for (size_t i = 0; i < ALQI_COUNT_OF(columns); i++) {
        const struct column *c = &columns[i];

        if (!is_shown(r, c))
            continue;
        if (c->style != NULL)
            fputs(alqi_cli_style(term, c->style(&row)), term->out);
        alqi_cli_draw_right(term, c->text(&row).text, c->width);
        if (c->style != NULL)
            fputs(alqi_cli_style(term, ALQI_CLI_PLAIN), term->out);
        used += c->width;
    }
    return used;
}

/* ---- sites --------------------------------------------------------------- */

/* " <- caller <- caller" from the frames outside of frames[at]; a function that
 * calls itself is named once. */
static void
callers(const struct alqi_cli_report *r, const struct alqi_cli_frame *frames,
        uint32_t at, int *left)
{
    const struct alqi_cli_names *names = r->analysis.names;
    uint32_t last = frames[at].function;
    char name[NAME_BYTES];

    while (at-- > 0 && *left > 6) {
        if (frames[at].function == last)
            continue;
        last = frames[at].function;
        alqi_cli_draw_name(name, sizeof name, alqi_cli_names_text(names, last));
        alqi_cli_draw_fit(&r->term, ALQI_CLI_DIM, " ← ", left);
        alqi_cli_draw_fit_name(&r->term, ALQI_CLI_DIM, name, left);
    }
}

/* The callers are those of the group's heaviest stack: a group may have many.
 * By file and by module the function stands where the place would. */
void
alqi_cli_report_site(struct alqi_cli_report *r, const struct alqi_cli_group *g,
                     int left)
{
    struct alqi_cli_analysis *a = &r->analysis;
    struct alqi_cli_frame *frames = NULL;
    uint32_t capacity = 0;
    uint32_t n = alqi_cli_stack_frames(a, a->sites[g->heaviest].node, &frames,
                                       &capacity);
    char text[NAME_BYTES];

    if (g->is_mapping)
        alqi_cli_draw_fit(&r->term, ALQI_CLI_PLAIN, ALQI_CLI_MAPPING_NAME " ",
                          &left);
    alqi_cli_draw_group(text, sizeof text, a->names, &g->frame, r->grouping);
    alqi_cli_draw_fit_name(&r->term, ALQI_CLI_BOLD, text, &left);
    if (r->grouping <= ALQI_CLI_BY_LINE) {
        alqi_cli_draw_place(text, sizeof text, a->names, &g->frame);
    } else {
        alqi_cli_draw_name(text, sizeof text,
                           alqi_cli_names_text(a->names, g->frame.function));
    }
    if (text[0] != '\0' && left > 4) {
        alqi_cli_draw_fit(&r->term, ALQI_CLI_PLAIN, "  ", &left);
        alqi_cli_draw_fit(&r->term, ALQI_CLI_PLAIN, text, &left);
    }
    if (n > 0)
        callers(r, frames, alqi_cli_naming_frame(frames, n), &left);
    free(frames);
    fputc('\n', r->term.out);
}

/* ---- the table ----------------------------------------------------------- */

/* The figures of `sum`, in those columns that the last line has; the others up
 * to the last one of these are empty. */
static void
rest_figures(const struct alqi_cli_report *r, const struct alqi_cli_sum *sum)
{
    struct row row = row_of(r, sum, 0);
    int skipped = 0;

    for (size_t i = 0; i < ALQI_COUNT_OF(columns); i++) {
        const struct column *c = &columns[i];

        if (!is_shown(r, c))
            continue;
        if (!c->is_in_rest) {
            skipped += c->width;
            continue;
        }
        fprintf(r->term.out, "%*s", skipped, "");
        alqi_cli_draw_right(&r->term, c->text(&row).text, c->width);
        skipped = 0;
    }
}

/* One line for the groups from `from` on; none if they are empty. */
static void
rest(const struct alqi_cli_report *r, uint32_t from)
{
    struct alqi_cli_sum sum = {0};
    uint32_t n = 0;

    for (uint32_t i = from; i < r->groups.n_groups; i++)
        if (r->groups.groups[i].sums[r->measure].objects > 0) {
            alqi_cli_sum_join(&sum, &r->groups.groups[i].sums[r->measure]);
            n++;
        }
    if (n == 0)
        return;
    fputs(alqi_cli_style(&r->term, ALQI_CLI_DIM), r->term.out);
    rest_figures(r, &sum);
    fprintf(r->term.out, "  in %u more %s%s (--top=0 shows all)%s\n", n,
            alqi_cli_grouping_name(r->grouping), n == 1 ? "" : "s",
            alqi_cli_style(&r->term, ALQI_CLI_PLAIN));
}

/* Groups beyond --top, and no others, go to the last line. */
void
alqi_cli_report_table(struct alqi_cli_report *r)
{
    uint32_t i = 0;

    head(r);
    for (; i < r->groups.n_groups && (r->top == 0 || i < r->top); i++) {
        const struct alqi_cli_group *g = &r->groups.groups[i];

        if (g->sums[r->measure].objects == 0)
            break;
        int used = figures(r, g);
        fputs("  ", r->term.out);
        alqi_cli_report_site(r, g, r->term.width - used - 2);
    }
    if (i == 0)
        fprintf(r->term.out, "   nothing\n");
    rest(r, i);
    fputc('\n', r->term.out);
}
