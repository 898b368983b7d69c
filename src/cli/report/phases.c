/* phases.c -- the table of phases, in order of time
 *
 * A row has the figures of one phase, each followed by its error where blocks
 * are sampled and the terminal is wide enough; the name ends the row. The
 * first --top phases have rows. */
#include <stdlib.h>

#include "base/base.h"
#include "cli/analysis/errors.h"
#include "cli/report/draw.h"
#include "cli/report/report.h"
#include "cli/tool/text.h"
#include "wire/side.h"

/* Of a terminal, for all errors; of an error's column. */
enum { WIDE = 110, ERROR = 10 };

/* In which tables a column's error stands; the peak may be unknown. */
static const struct column {
    const char *title;
    size_t sum; /* offset in struct alqi_cli_phase */
    int width;
    bool needs_wide;
    bool is_peak;
} columns[] = {
    {"allocated", offsetof(struct alqi_cli_phase, allocated), 11, false, false},
    {"kept", offsetof(struct alqi_cli_phase, kept), 9, true, false},
    {"at its end", offsetof(struct alqi_cli_phase, live), 12, true, false},
    {"peak", offsetof(struct alqi_cli_phase, peak), 9, false, true},
};

static bool
has_error(const struct alqi_cli_report *r, const struct column *c)
{
    return alqi_cli_is_sampled(&r->analysis.estimator) &&
           (!c->needs_wide || r->term.width >= WIDE);
}

static void
head(const struct alqi_cli_report *r)
{
    const struct alqi_cli_term *term = &r->term;

    fprintf(term->out, "%sPHASES%s, from mark to mark\n%s",
            alqi_cli_style(term, ALQI_CLI_BOLD),
            alqi_cli_style(term, ALQI_CLI_PLAIN),
            alqi_cli_style(term, ALQI_CLI_DIM));
    alqi_cli_draw_right(term, "from", 8);
    for (size_t i = 0; i < ALQI_COUNT_OF(columns); i++) {
        alqi_cli_draw_right(term, columns[i].title, columns[i].width);
        if (has_error(r, &columns[i]))
            alqi_cli_draw_right(term, "±", ERROR);
        if (i == 0)
            alqi_cli_draw_right(term, "blocks", 8);
    }
    fprintf(term->out, "  phase%s\n", alqi_cli_style(term, ALQI_CLI_PLAIN));
}

static void
figures(const struct alqi_cli_report *r, const struct alqi_cli_phase *p,
        const struct column *c)
{
    const struct alqi_cli_sum *sum = (const void *)((const char *)p + c->sum);
    bool is_known = !c->is_peak || r->phases.has_peak;

    alqi_cli_draw_right(&r->term,
                        is_known ? alqi_cli_text_bytes(sum->bytes).text : "-",
                        c->width);
    if (has_error(r, c))
        alqi_cli_draw_right(
            &r->term,
            is_known ? alqi_cli_error_percent(&r->analysis.estimator, sum).text
                     : "",
            ERROR);
}

static void
row(const struct alqi_cli_report *r, const struct alqi_cli_phase *p)
{
    char name[ALQI_SIDE_MARK_BYTES + 16];
    const struct alqi_cli_term *term = &r->term;

    alqi_cli_draw_right(term, alqi_cli_text_duration((double)p->begin_us).text,
                        8);
    for (size_t i = 0; i < ALQI_COUNT_OF(columns); i++) {
        figures(r, p, &columns[i]);
        if (i == 0)
            alqi_cli_draw_right(
                term, alqi_cli_text_count(p->allocated.objects).text, 8);
    }
    alqi_cli_phase_name(p, name, sizeof name);
    fprintf(term->out, "  %s\n", alqi_cli_shown(name).text);
}

void
alqi_cli_report_phases(struct alqi_cli_report *r)
{
    uint32_t n = r->phases.n;

    if (r->top != 0 && r->top < n)
        n = (uint32_t)r->top;
    head(r);
    for (uint32_t i = 0; i < n; i++)
        row(r, &r->phases.phases[i]);
    if (n < r->phases.n)
        fprintf(r->term.out, "   %u more (--top=0 shows all)\n",
                r->phases.n - n);
    if (r->phases.n == 1)
        fprintf(r->term.out, "   the program set no marks: alq_mark(), or "
                             "'aliquot mark -p PID NAME'\n");
    fputc('\n', r->term.out);
}
