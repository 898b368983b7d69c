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

/* Columns of an error, room for a name, and the shares from which a row is
 * coloured. */
enum { ERROR = 10, NAME_BYTES = 512, HOT_PERCENT = 20, WARM_PERCENT = 5 };

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

/* Two lines: the heading and the names of the columns. Columns of errors are
 * there only if figures are estimates. */
static void
head(const struct alqi_cli_report *r)
{
    const struct alqi_cli_term *term = &r->term;
    const char *bold = alqi_cli_style(term, ALQI_CLI_BOLD);
    const char *plain = alqi_cli_style(term, ALQI_CLI_PLAIN);
    const char *dim = alqi_cli_style(term, ALQI_CLI_DIM);

    fprintf(term->out, "%s%s%s by %s\n%s%8s", bold, heading(r), plain,
            alqi_cli_grouping_name(r->grouping), dim, "bytes");
    if (alqi_cli_is_sampled(&r->analysis.estimator))
        alqi_cli_draw_right(term, "±", ERROR);
    fprintf(term->out, "%7s%7s%9s", "share", "blocks",
            r->is_leaks ? "avg age" : "avg life");
    if (r->is_leaks)
        fprintf(term->out, "%7s", "kept");
    fprintf(term->out, "  site%s\n", plain);
}

/* Colours a share of 20 % or more, and one of 5 % or more. */
static enum alqi_cli_style
share_style(double share)
{
    if (share * 100 >= HOT_PERCENT)
        return ALQI_CLI_HOT;
    return share * 100 >= WARM_PERCENT ? ALQI_CLI_WARM : ALQI_CLI_PLAIN;
}

/* Figures of a row; returns the columns they took. */
static int
figures(const struct alqi_cli_report *r, const struct alqi_cli_group *g)
{
    const struct alqi_cli_term *term = &r->term;
    const struct alqi_cli_sum *s = &g->sums[r->measure];
    double total = r->analysis.totals[r->measure].bytes;
    double share = total > 0 ? s->bytes / total : 0;
    int used = 8 + 7 + 7 + 9;

    alqi_cli_draw_right(term, alqi_cli_text_bytes(s->bytes).text, 8);
    if (alqi_cli_is_sampled(&r->analysis.estimator)) {
        alqi_cli_draw_right(
            term, alqi_cli_error_percent(&r->analysis.estimator, s).text,
            ERROR);
        used += ERROR;
    }
    fputs(alqi_cli_style(term, share_style(share)), term->out);
    alqi_cli_draw_right(term, alqi_cli_text_percent(share).text, 7);
    fputs(alqi_cli_style(term, ALQI_CLI_PLAIN), term->out);
    alqi_cli_draw_right(term, alqi_cli_text_count(s->objects).text, 7);
    alqi_cli_draw_right(
        term, alqi_cli_text_duration(alqi_cli_mean_life_us(s)).text, 9);
    if (r->is_leaks) {
        double all = g->sums[ALQI_CLI_ALLOCATED].bytes;

        alqi_cli_draw_right(
            term, alqi_cli_text_percent(all > 0 ? s->bytes / all : 0).text, 7);
        used += 7;
    }
    return used;
}

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
        alqi_cli_draw_fit(&r->term, ALQI_CLI_DIM, name, left);
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
    alqi_cli_draw_fit(&r->term, ALQI_CLI_BOLD, text, &left);
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

/* One line for the groups from `from` on; none if they are empty. */
static void
rest(const struct alqi_cli_report *r, uint32_t from)
{
    struct alqi_cli_sum sum = {0};
    double total = r->analysis.totals[r->measure].bytes;
    uint32_t n = 0;

    for (uint32_t i = from; i < r->groups.n_groups; i++)
        if (r->groups.groups[i].sums[r->measure].objects > 0) {
            alqi_cli_sum_join(&sum, &r->groups.groups[i].sums[r->measure]);
            n++;
        }
    if (n == 0)
        return;
    fprintf(r->term.out, "%s", alqi_cli_style(&r->term, ALQI_CLI_DIM));
    alqi_cli_draw_right(&r->term, alqi_cli_text_bytes(sum.bytes).text, 8);
    fprintf(r->term.out, "%*s%7s  in %u more %s%s (--top=0 shows all)%s\n",
            alqi_cli_is_sampled(&r->analysis.estimator) ? ERROR : 0, "",
            alqi_cli_text_percent(total > 0 ? sum.bytes / total : 0).text, n,
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
