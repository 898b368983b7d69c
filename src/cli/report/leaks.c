/* leaks.c -- tables of leaks alone: what leads to them, groups of call stacks,
 * and steady growth
 *
 * What is behind figures and choices is told in doc/design/analysis.md. */
#include <stdlib.h>

#include "cli/analysis/errors.h"
#include "cli/report/draw.h"
#include "cli/report/report.h"
#include "cli/tool/cli.h"
#include "cli/tool/text.h"

/* Columns: of a growth with its error, and of one without; of bytes, errors,
 * shares and stacks. */
enum {
    SAMPLED = 22,
    EXACT = 14,
    AT_END = 10,
    BYTES = 8,
    ERROR = 10,
    SHARE = 7,
    STACKS = 7,
    NAME_BYTES = 512,
    PARTS = 3 /* sites that are named with a holder */
};

/* Between steps of a way. */
#define ARROW " → "

/* ---- what leads to them -------------------------------------------------- */

static const char *const meanings[ALQI_VIEW_REACHES] = {
    [ALQI_VIEW_LOST] = "no pointer leads to them",
    [ALQI_VIEW_INDIRECT] = "only lost blocks lead to them",
    [ALQI_VIEW_POSSIBLE] = "pointers into a block, or from old memory",
    [ALQI_VIEW_HELD] = "variables, stacks or registers lead to them",
    [ALQI_VIEW_UNTOLD] = "they were not looked at",
};

/* The same of a managed heap, which knows its pointers. */
static const char *const heap_meanings[ALQI_VIEW_REACHES] = {
    [ALQI_VIEW_LOST] = "no root leads to them: garbage",
    [ALQI_VIEW_HELD] = "roots lead to them",
    [ALQI_VIEW_UNTOLD] = "they were not looked at",
};

static const char *const titles[ALQI_VIEW_REACHES] = {
    [ALQI_VIEW_LOST] = "LOST",
    [ALQI_VIEW_INDIRECT] = "INDIRECT",
    [ALQI_VIEW_POSSIBLE] = "POSSIBLE",
    [ALQI_VIEW_HELD] = "HELD",
};

/* In which the classes are shown. */
static const enum alqi_view_reach shown[ALQI_VIEW_REACHES] = {
    ALQI_VIEW_LOST, ALQI_VIEW_INDIRECT, ALQI_VIEW_POSSIBLE, ALQI_VIEW_HELD,
    ALQI_VIEW_UNTOLD};

/* Bytes, their error, and blocks; returns the columns. */
static int
reach_figures(const struct alqi_cli_report *r, const struct alqi_cli_sum *sum)
{
    const struct alqi_cli_term *term = &r->term;
    bool is_sampled = alqi_cli_is_sampled(&r->analysis.estimator);

    alqi_cli_draw_right(term, alqi_cli_text_bytes(sum->bytes).text, AT_END);
    if (is_sampled)
        alqi_cli_draw_right(
            term, alqi_cli_error_percent(&r->analysis.estimator, sum).text,
            ERROR);
    alqi_cli_draw_right(term, alqi_cli_text_count(sum->objects).text, AT_END);
    fputs("  ", term->out);
    return 2 * AT_END + (is_sampled ? ERROR : 0) + 2;
}

/* Heads of what reach_figures() fills. */
static void
reach_head(const struct alqi_cli_report *r, const char *last)
{
    const struct alqi_cli_term *term = &r->term;

    fputs(alqi_cli_style(term, ALQI_CLI_DIM), term->out);
    alqi_cli_draw_right(term, "bytes", AT_END);
    if (alqi_cli_is_sampled(&r->analysis.estimator))
        alqi_cli_draw_right(term, "±", ERROR);
    alqi_cli_draw_right(term, "blocks", AT_END);
    fprintf(term->out, "  %s%s\n", last, alqi_cli_style(term, ALQI_CLI_PLAIN));
}

/* What is compared when groups of one class are sorted. */
struct of_class {
    const struct alqi_cli_leaks *leaks;
    enum alqi_view_reach reach;
};

static int
compare_reach(const void *left, const void *right, void *arg)
{
    const struct of_class *of = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    double x = of->leaks->reach[a][of->reach].bytes,
           y = of->leaks->reach[b][of->reach].bytes;

    if (x != y)
        return x > y ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* The sites of one class, the largest first. */
static void
reach_sites(struct alqi_cli_report *r, enum alqi_view_reach reach)
{
    const struct alqi_cli_term *term = &r->term;
    struct of_class of = {&r->leaks, reach};
    uint32_t *groups = alqi_cli_zeros(r->groups.n_groups, sizeof *groups);
    uint32_t n = 0, i;

    for (i = 0; i < r->groups.n_groups; i++)
        if (r->leaks.reach[i][reach].n_blocks > 0)
            groups[n++] = i;
    qsort_r(groups, n, sizeof *groups, compare_reach, &of);
    fprintf(term->out, "%sNEVER FREED, %s%s by %s\n",
            alqi_cli_style(term, ALQI_CLI_BOLD), titles[reach],
            alqi_cli_style(term, ALQI_CLI_PLAIN),
            alqi_cli_grouping_name(r->grouping));
    reach_head(r, "site");
    for (i = 0; i < n && (r->top == 0 || i < r->top); i++) {
        int used = reach_figures(r, &r->leaks.reach[groups[i]][reach]);

        alqi_cli_report_site(r, &r->groups.groups[groups[i]],
                             term->width - used);
    }
    if (i < n)
        fprintf(term->out, "   %u more (--top=0 shows all)\n", n - i);
    fputc('\n', term->out);
    free(groups);
}

/* " ×3" of steps that follow each other; else "". */
static struct alqi_cli_text
most_text(const struct alqi_cli_holder_step *step)
{
    struct alqi_cli_text t = {""};

    if (step->most > 1)
        snprintf(t.text, sizeof t.text, " ×%u", step->most);
    return t;
}

static const struct alqi_cli_holder_step *
step_of(const struct alqi_cli_report *r, uint32_t step)
{
    return &r->analysis.holders.steps[step];
}

/* Columns of a step, with the arrow before it. */
static int
step_columns(const struct alqi_cli_report *r, uint32_t step)
{
    const struct alqi_cli_holder_step *s = step_of(r, step);

    return (
        int)(alqi_cli_columns(alqi_cli_names_text(r->analysis.names, s->name)) +
             alqi_cli_columns(most_text(s).text) + alqi_cli_columns(ARROW));
}

static void
step_draw(const struct alqi_cli_report *r, uint32_t step, int *left)
{
    const struct alqi_cli_holder_step *s = step_of(r, step);

    alqi_cli_draw_fit_name(&r->term, ALQI_CLI_BOLD,
                           alqi_cli_names_text(r->analysis.names, s->name),
                           left);
    alqi_cli_draw_text(&r->term, ALQI_CLI_DIM, left, "%s", most_text(s).text);
}

/* The first of the last steps that have room behind the root and what stands
 * for those between; of a way that has room as a whole 1. The last step, of
 * which ways differ most, is always among them. */
static uint32_t
first_shown(const struct alqi_cli_report *r, const uint32_t *way, uint32_t n,
            int left)
{
    int used = -(int)alqi_cli_columns(ARROW); /* the root has none */
    uint32_t first = n;

    for (uint32_t i = 0; i < n; i++)
        used += step_columns(r, way[i]);
    if (n < 3 || used <= left)
        return 1;
    used = step_columns(r, way[0]) + (int)alqi_cli_columns("…");
    do
        used += step_columns(r, way[--first]);
    while (first > 2 && used + step_columns(r, way[first - 1]) <= left);
    return first;
}

/* The root, which leaves half of the columns to what follows where that does
 * not fit otherwise. */
static void
root_draw(const struct alqi_cli_report *r, const uint32_t *way, uint32_t n,
          int *left)
{
    bool is_long =
        n > 1 && step_columns(r, way[0]) + step_columns(r, way[n - 1]) > *left;
    int room = is_long ? *left / 2 : *left, rest = room;

    step_draw(r, way[0], &rest);
    *left -= room - rest;
}

/* "cache (server) → table_new ×3": what stands before the step, and it; of a
 * long way the middle is left out. */
static void
way_draw(const struct alqi_cli_report *r, uint32_t step, int *left)
{
    uint32_t n = 0, first, *way;

    for (uint32_t s = step; s != ALQI_CLI_NO_STEP; s = step_of(r, s)->in)
        n++;
    way = alqi_cli_zeros(n, sizeof *way);
    for (uint32_t i = n; i > 0; step = step_of(r, step)->in)
        way[--i] = step;
    first = first_shown(r, way, n, *left);
    root_draw(r, way, n, left);
    if (first > 1)
        alqi_cli_draw_text(&r->term, ALQI_CLI_DIM, left, ARROW "…");
    for (uint32_t i = first; i < n; i++) {
        alqi_cli_draw_text(&r->term, ALQI_CLI_DIM, left, ARROW);
        step_draw(r, way[i], left);
    }
    free(way);
}

/* "92 % insert, 8 % lookup, 3 more": sites of what one step holds. */
static void
sites_draw(const struct alqi_cli_report *r, const struct alqi_view_holding *sum,
           int used)
{
    const struct alqi_cli_term *term = &r->term;
    int left = term->width - used;
    char name[NAME_BYTES];
    uint32_t i;

    fprintf(term->out, "%*s", used, "");
    for (i = 0; i < sum->n && i < PARTS; i++) {
        const struct alqi_view_holding *part = &sum[1 + i];

        alqi_cli_draw_text(
            term, ALQI_CLI_DIM, &left, "%s%s ", i > 0 ? ", " : "",
            alqi_cli_text_percent(part->sum.bytes / sum->sum.bytes).text);
        alqi_cli_draw_group(name, sizeof name, r->analysis.names,
                            &r->groups.groups[part->group].frame, r->grouping);
        alqi_cli_draw_fit_name(term, ALQI_CLI_PLAIN, name, &left);
    }
    if (i < sum->n)
        alqi_cli_draw_text(term, ALQI_CLI_DIM, &left, ", %u more", sum->n - i);
    fputc('\n', term->out);
}

/* What holds the blocks of one class, the most bytes first. */
static void
holders_draw(const struct alqi_cli_report *r, enum alqi_view_reach reach)
{
    const struct alqi_cli_term *term = &r->term;
    const struct alqi_view_holding *sum = NULL;
    uint64_t n = 0;

    while ((sum = alqi_view_holdings_next(&r->leaks.holdings, sum)) != NULL) {
        struct alqi_cli_sum figures;
        int used;

        if (sum->reach != reach || sum->step == ALQI_CLI_NO_STEP ||
            (n++ >= r->top && r->top != 0))
            continue;
        if (n == 1) {
            fprintf(term->out, "%sNEVER FREED, %s%s by holder\n",
                    alqi_cli_style(term, ALQI_CLI_BOLD), titles[reach],
                    alqi_cli_style(term, ALQI_CLI_PLAIN));
            reach_head(r, "what holds them, and their sites");
        }
        figures = alqi_cli_leaks_sum(&sum->sum);
        used = reach_figures(r, &figures);
        way_draw(r, sum->step, &(int){term->width - used});
        fputc('\n', term->out);
        sites_draw(r, sum, used + 2);
    }
    if (n > r->top && r->top != 0)
        fprintf(term->out, "   %llu more (--top=0 shows all)\n",
                (unsigned long long)(n - r->top));
    if (n > 0)
        fputc('\n', term->out);
}

/* What is possible because of an allocator alone; an exact recording has what
 * there is to know. */
static void
old_say(const struct alqi_cli_report *r)
{
    const struct alqi_cli_estimator *e = &r->analysis.estimator;
    const struct alqi_cli_sum *sum = &r->leaks.may_be_old;

    if (sum->n_blocks == 0)
        return;
    fprintf(r->term.out,
            "%s%s%s of possible is not held because what leads there may be "
            "old: memory of an allocator whose free blocks are not known%s\n\n",
            alqi_cli_text_bytes(sum->bytes).text,
            alqi_cli_is_sampled(e) ? " " : "",
            alqi_cli_error_of_bytes(e, sum).text,
            alqi_cli_is_sampled(e) ? "; 'aliquot record --exact' knows the C "
                                     "library's"
                                   : "");
}

/* Sites of what is held are those of the table above, mostly. */
void
alqi_cli_report_reach(struct alqi_cli_report *r)
{
    const struct alqi_cli_estimator *e = &r->analysis.estimator;
    const struct alqi_cli_term *term = &r->term;
    bool is_malloc = alqi_cli_is_of_malloc(r->analysis.info->context);
    const char *const *means = is_malloc ? meanings : heap_meanings;

    if (r->leaks.reach == NULL)
        return;
    fprintf(term->out, "%sNEVER FREED%s by what led to it %s\n",
            alqi_cli_style(term, ALQI_CLI_BOLD),
            alqi_cli_style(term, ALQI_CLI_PLAIN),
            !is_malloc ? "when the trace ended"
            : r->analysis.is_reach_early
                ? "when exit handlers had run; libraries may free more"
                : "at the end");
    reach_head(r, "");
    for (int i = 0; i < ALQI_VIEW_REACHES; i++) {
        const struct alqi_cli_sum *sum = &r->leaks.by_reach[shown[i]];

        if (sum->n_blocks == 0 &&
            (shown[i] == ALQI_VIEW_UNTOLD || means[shown[i]] == NULL))
            continue;
        reach_figures(r, sum);
        fprintf(term->out, "%s%-8s%s  %s", alqi_cli_style(term, ALQI_CLI_BOLD),
                alqi_view_reach_name(shown[i]),
                alqi_cli_style(term, ALQI_CLI_PLAIN),
                means[shown[i]] != NULL ? means[shown[i]] : meanings[shown[i]]);
        if (sum->n_blocks == 0 && alqi_cli_is_sampled(e))
            fprintf(
                term->out, "; at most %s",
                alqi_cli_text_bytes(alqi_cli_bytes_interval(e, sum).high).text);
        fputc('\n', term->out);
    }
    fputc('\n', term->out);
    old_say(r);
    for (int i = 0; shown[i] != ALQI_VIEW_HELD; i++)
        if (r->leaks.by_reach[shown[i]].n_blocks > 0)
            reach_sites(r, shown[i]);
    for (int i = ALQI_VIEW_HELD; i > ALQI_VIEW_LOST; i--)
        holders_draw(r, (enum alqi_view_reach)i);
}

/* ---- groups -------------------------------------------------------------- */

/* Whether groups tell more than the table of sites. */
static bool
has_parts(const struct alqi_view_groups *groups)
{
    for (uint32_t i = 0; i < groups->n; i++)
        if (groups->rows[i].fold != 0 && groups->rows[i].n_parts > 1)
            return true;
    return false;
}

/* Draws a function of the index. */
static void
name_draw(const struct alqi_cli_report *r, uint32_t function,
          enum alqi_cli_style style, int *left)
{
    const struct alqi_view_index *x = r->leaks.x;
    char name[NAME_BYTES];

    alqi_cli_draw_name(name, sizeof name,
                       alqi_view_text(x, x->functions[function].name));
    alqi_cli_draw_fit_name(&r->term, style, name, left);
}

/* The head and its callers, as far as there is room. */
static void
path_draw(const struct alqi_cli_report *r, uint32_t fold, int left)
{
    const struct alqi_view_fold *folds = r->leaks.shape.folds;

    if (fold == 0)
        alqi_cli_draw_fit(&r->term, ALQI_CLI_DIM, "others, less in common",
                          &left);
    for (bool is_first = true; fold != 0 && left > 6;
         fold = folds[fold].parent, is_first = false) {
        if (!is_first)
            alqi_cli_draw_fit(&r->term, ALQI_CLI_DIM, " ← ", &left);
        name_draw(r, folds[fold].function,
                  is_first ? ALQI_CLI_BOLD : ALQI_CLI_DIM, &left);
    }
    fputc('\n', r->term.out);
}

/* A line below the head: where its stacks part. */
static void
parts_draw(const struct alqi_cli_report *r, const struct alqi_view_group *g,
           int indent)
{
    int left = r->term.width - indent;

    fprintf(r->term.out, "%*s", indent, "");
    for (uint32_t i = 0; i < g->n_parts && i < ALQI_VIEW_GROUP_PARTS; i++) {
        alqi_cli_draw_text(&r->term, ALQI_CLI_DIM, &left, "%s%s ",
                           i == 0 ? "→ " : ", ",
                           alqi_cli_text_bytes(g->parts[i].value).text);
        name_draw(r, g->parts[i].function, ALQI_CLI_PLAIN, &left);
    }
    if (g->n_parts > ALQI_VIEW_GROUP_PARTS)
        alqi_cli_draw_text(&r->term, ALQI_CLI_DIM, &left, ", %u more",
                           g->n_parts - ALQI_VIEW_GROUP_PARTS);
    fputc('\n', r->term.out);
}

static void
group_draw(const struct alqi_cli_report *r, const struct alqi_view_group *g)
{
    const struct alqi_cli_term *term = &r->term;
    struct alqi_cli_sum sum = alqi_cli_leaks_sum(&g->sum);
    double all = r->analysis.totals[ALQI_CLI_LIVE].bytes;
    int used = BYTES + SHARE + STACKS;

    alqi_cli_draw_right(term, alqi_cli_text_bytes(sum.bytes).text, BYTES);
    if (alqi_cli_is_sampled(&r->analysis.estimator)) {
        alqi_cli_draw_right(
            term, alqi_cli_error_percent(&r->analysis.estimator, &sum).text,
            ERROR);
        used += ERROR;
    }
    alqi_cli_draw_right(
        term, alqi_cli_text_percent(all > 0 ? sum.bytes / all : 0).text, SHARE);
    alqi_cli_draw_right(term, alqi_cli_text_count(g->n_stacks).text, STACKS);
    fputs("  ", term->out);
    path_draw(r, g->fold, term->width - used - 2);
    if (g->fold != 0 && g->n_parts > 0)
        parts_draw(r, g, used + 4);
}

/* Nothing where each group is one call stack: the sites say that. */
void
alqi_cli_report_leak_groups(struct alqi_cli_report *r)
{
    const struct alqi_cli_term *term = &r->term;
    const struct alqi_view_groups *groups = &r->leaks.groups;

    if (!has_parts(groups))
        return;
    fprintf(term->out,
            "%sNEVER FREED%s by the longest call stack in common\n%s",
            alqi_cli_style(term, ALQI_CLI_BOLD),
            alqi_cli_style(term, ALQI_CLI_PLAIN),
            alqi_cli_style(term, ALQI_CLI_DIM));
    alqi_cli_draw_right(term, "bytes", BYTES);
    if (alqi_cli_is_sampled(&r->analysis.estimator))
        alqi_cli_draw_right(term, "±", ERROR);
    alqi_cli_draw_right(term, "share", SHARE);
    alqi_cli_draw_right(term, "stacks", STACKS);
    fprintf(term->out, "  in common, then where they part%s\n",
            alqi_cli_style(term, ALQI_CLI_PLAIN));
    for (uint32_t i = 0; i < groups->n; i++)
        group_draw(r, &groups->rows[i]);
    fputc('\n', term->out);
}

/* ---- growth -------------------------------------------------------------- */

/* A group's figures and its site. */
static void
row(struct alqi_cli_report *r, uint32_t group, int width)
{
    const struct alqi_cli_group *g = &r->groups.groups[group];
    const struct alqi_view_growth *growth = &r->leaks.growth[group];
    bool is_sampled = alqi_cli_is_sampled(&r->analysis.estimator);
    double error = is_sampled ? alqi_view_growth_stderr(growth) : -1;

    alqi_cli_draw_right(
        &r->term,
        alqi_cli_text_growth(alqi_view_growth_rate(growth), error).text, width);
    alqi_cli_draw_right(&r->term,
                        alqi_cli_text_bytes(g->sums[ALQI_CLI_LIVE].bytes).text,
                        AT_END);
    fputs("  ", r->term.out);
    alqi_cli_report_site(r, g, r->term.width - width - AT_END - 2);
}

void
alqi_cli_report_growth(struct alqi_cli_report *r)
{
    const struct alqi_cli_term *term = &r->term;
    int width = alqi_cli_is_sampled(&r->analysis.estimator) ? SAMPLED : EXACT;
    uint32_t *order;
    uint32_t n = alqi_cli_leaks_steady(&r->leaks, &r->groups, &order), i;

    fprintf(term->out, "%sGROWS STEADILY%s by %s, from %s on\n%s",
            alqi_cli_style(term, ALQI_CLI_BOLD),
            alqi_cli_style(term, ALQI_CLI_PLAIN),
            alqi_cli_grouping_name(r->grouping),
            alqi_cli_text_duration((double)r->leaks.from_us).text,
            alqi_cli_style(term, ALQI_CLI_DIM));
    alqi_cli_draw_right(term, "grows", width);
    alqi_cli_draw_right(term, "at end", AT_END);
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
