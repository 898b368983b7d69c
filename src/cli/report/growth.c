/* growth.c -- the table of sites whose live bytes grow steadily
 *
 * What is behind a figure and a choice is told in doc/design/analysis.md. */
#include <stdlib.h>

#include "cli/report/draw.h"
#include "cli/report/report.h"
#include "cli/tool/text.h"

/* Columns: of a growth with its error, of one without, and of bytes. */
enum { SAMPLED = 22, EXACT = 14, BYTES = 10 };

/* A group's figures and its site. */
static void
row(struct alqi_cli_report *r, uint32_t group, int width)
{
    const struct alqi_cli_group *g = &r->groups.groups[group];
    const struct alqi_view_growth *growth = &r->growth.groups[group];
    bool is_sampled = alqi_cli_is_sampled(&r->analysis.estimator);
    double error = is_sampled ? alqi_view_growth_stderr(growth) : -1;

    alqi_cli_draw_right(
        &r->term,
        alqi_cli_text_growth(alqi_view_growth_rate(growth), error).text, width);
    alqi_cli_draw_right(&r->term,
                        alqi_cli_text_bytes(g->sums[ALQI_CLI_LIVE].bytes).text,
                        BYTES);
    fputs("  ", r->term.out);
    alqi_cli_report_site(r, g, r->term.width - width - BYTES - 2);
}

void
alqi_cli_report_growth(struct alqi_cli_report *r)
{
    const struct alqi_cli_term *term = &r->term;
    int width = alqi_cli_is_sampled(&r->analysis.estimator) ? SAMPLED : EXACT;
    uint32_t *order;
    uint32_t n = alqi_cli_growth_order(&r->growth, &r->groups, &order), i;

    fprintf(term->out, "%sGROWS STEADILY%s by %s, from %s on\n%s",
            alqi_cli_style(term, ALQI_CLI_BOLD),
            alqi_cli_style(term, ALQI_CLI_PLAIN),
            alqi_cli_grouping_name(r->grouping),
            alqi_cli_text_duration((double)r->growth.from_us).text,
            alqi_cli_style(term, ALQI_CLI_DIM));
    alqi_cli_draw_right(term, "grows", width);
    alqi_cli_draw_right(term, "at end", BYTES);
    fprintf(term->out, "  site%s\n", alqi_cli_style(term, ALQI_CLI_PLAIN));
    for (i = 0; i < n && (r->top == 0 || i < r->top); i++)
        row(r, order[i], width);
    if (n == 0)
        fprintf(term->out, "   nothing\n");
    if (i < n)
        fprintf(term->out, "   %u more (--top=0 shows all)\n", n - i);
    fputc('\n', term->out);
    free(order);
}
