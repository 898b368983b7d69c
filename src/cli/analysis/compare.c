/* compare.c -- two analyses, matched site by site
 *
 * [compare.h] Each side groups its sites. Groups match by name (view/match.h).
 * A pair's change gets its variance from both sides, and the chances of all
 * pairs are corrected together, because many sites are looked at. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/analysis/compare.h"
#include "view/match.h"
#include "view/significance.h"

/* Differences this small, relative to the sums, come from adding equal numbers
 * in another order. */
static const double ROUNDING = 1e-9;
/* 95 % of a normal distribution lie within so many standard deviations. */
static const double NORMAL_95 = 1.96;

/* ---- changes ------------------------------------------------------------- */

/* The larger of two variances is taken: that of the two estimates, and that of
 * the pooled one under the assumption that nothing changed. */
void
alqi_cli_change_make(struct alqi_cli_change *c, const struct alqi_cli_sum *a,
                     const struct alqi_cli_sum *b, bool is_one_run)
{
    static const struct alqi_cli_sum none;
    double own, pooled, largest;

    c->a = a != NULL ? *a : none;
    c->b = b != NULL ? *b : none;
    c->bytes = c->b.bytes - c->a.bytes;
    if (fabs(c->bytes) <= ROUNDING * (c->a.bytes + c->b.bytes))
        c->bytes = 0;
    own = is_one_run ? 0 : c->a.bytes_var + c->b.bytes_var;
    pooled = c->a.null_var + c->b.null_var;
    largest = c->a.largest_bytes > c->b.largest_bytes ? c->a.largest_bytes
                                                      : c->b.largest_bytes;
    c->variance = own > pooled ? own : pooled;
    c->sigmas = alqi_view_sigmas(c->bytes, c->variance, largest);
    c->chance = alqi_view_chance(c->sigmas);
}

/* Of one run the two sides share blocks, so their errors do not add; the
 * normal interval of the difference stands in. */
struct alqi_view_interval
alqi_cli_change_interval(const struct alqi_cli_comparison *c,
                         const struct alqi_cli_change *change)
{
    struct alqi_view_interval a, b,
        out = {change->bytes, change->bytes, HUGE_VAL};
    double error = NORMAL_95 * sqrt(fmax(change->variance, 0));

    if (c->is_one_run) {
        out.low -= error;
        out.high += error;
        return out;
    }
    a = alqi_cli_bytes_interval(&c->a->analysis.estimator, &change->a);
    b = alqi_cli_bytes_interval(&c->b->analysis.estimator, &change->b);
    return alqi_view_interval_between(change->a.bytes, &a, change->b.bytes, &b);
}

/* ---- names to match by --------------------------------------------------- */

/* Path of the program that was recorded. */
static const char *
program_of(const struct alqi_cli_side *side)
{
    return alqi_ctf_reader_info(side->analysis.reader)->executable;
}

/* The name by which a group is matched; parts that the grouping does not tell
 * apart are empty. */
static struct alqi_view_name
name_of(const struct alqi_cli_side *side, const struct alqi_cli_group *g,
        enum alqi_cli_grouping grouping)
{
    const struct alqi_cli_names *names = side->analysis.names;
    struct alqi_cli_frame f = alqi_cli_frame_masked(&g->frame, grouping);

    return (struct alqi_view_name){
        .function = alqi_cli_names_text(names, f.function),
        .file = alqi_cli_names_text(names, f.file),
        .module = alqi_cli_names_text(names, f.module),
        .line = f.line,
        .is_mapping = g->is_mapping,
    };
}

/* ---- matching ------------------------------------------------------------ */

/* Adds a pair, unless both sides have nothing of the measure. */
static void
pair_add(struct alqi_cli_comparison *c, const struct alqi_cli_group *a,
         const struct alqi_cli_group *b)
{
    const struct alqi_cli_sum *x = a != NULL ? &a->sums[c->measure] : NULL;
    const struct alqi_cli_sum *y = b != NULL ? &b->sums[c->measure] : NULL;
    struct alqi_cli_pair *pair = &c->pairs[c->n_pairs];

    if ((x == NULL || x->objects == 0) && (y == NULL || y->objects == 0))
        return;
    pair->a = a;
    pair->b = b;
    alqi_cli_change_make(&pair->change, x, y, c->is_one_run);
    c->n_pairs++;
}

static _Noreturn void
no_memory(uint32_t n_sites)
{
    alqi_cli_die("out of memory for %u sites", n_sites);
}

/* The names of all groups of a side, to be freed by the caller. */
static struct alqi_view_names
names_make(const struct alqi_cli_side *side, enum alqi_cli_grouping grouping)
{
    uint32_t n = side->groups.n_groups;
    struct alqi_view_name *names = alqi_cli_realloc(NULL, n, sizeof *names);

    for (uint32_t i = 0; i < n; i++)
        names[i] = name_of(side, &side->groups.groups[i], grouping);
    return (struct alqi_view_names){program_of(side), names, n};
}

/* Order by the size of the change, then by name, so that output is stable. */
static int
compare_pairs(const void *left, const void *right, void *arg)
{
    const struct alqi_cli_pair *p = left, *q = right;
    double x = fabs(p->change.bytes), y = fabs(q->change.bytes);
    const struct alqi_cli_comparison *c = arg;
    const struct alqi_cli_side *a = p->a != NULL ? c->a : c->b;
    const struct alqi_cli_side *b = q->a != NULL ? c->a : c->b;
    struct alqi_view_name a_name, b_name;

    if (x != y)
        return x > y ? -1 : 1;
    a_name = name_of(a, p->a != NULL ? p->a : p->b, c->grouping);
    b_name = name_of(b, q->a != NULL ? q->a : q->b, c->grouping);
    return alqi_view_name_order(&a_name, program_of(a), &b_name, program_of(b));
}

/* Corrects the chances for the number of pairs (Holm). */
static void
chances_correct(struct alqi_cli_comparison *c)
{
    double *p = alqi_cli_realloc(NULL, c->n_pairs, sizeof *p);

    for (uint32_t i = 0; i < c->n_pairs; i++)
        p[i] = c->pairs[i].change.chance;
    if (!alqi_view_holm(p, c->n_pairs))
        no_memory(c->n_pairs);
    for (uint32_t i = 0; i < c->n_pairs; i++)
        c->pairs[i].change.chance = p[i];
    free(p);
}

/* Matches the groups. A group without a partner is a pair of its own. */
static void
pairs_make(struct alqi_cli_comparison *c)
{
    const struct alqi_cli_groups *x = &c->a->groups, *y = &c->b->groups;
    struct alqi_view_names a = names_make(c->a, c->grouping);
    struct alqi_view_names b = names_make(c->b, c->grouping);
    uint32_t *b_of = alqi_cli_realloc(NULL, a.n, sizeof *b_of);
    uint32_t *a_of = alqi_cli_realloc(NULL, b.n, sizeof *a_of);

    c->pairs = alqi_cli_realloc(NULL, (size_t)a.n + b.n, sizeof *c->pairs);
    if (!alqi_view_match(&a, &b, b_of, a_of))
        no_memory(a.n + b.n);
    for (uint32_t i = 0; i < a.n; i++)
        pair_add(c, &x->groups[i],
                 b_of[i] != ALQI_VIEW_NO_MATCH ? &y->groups[b_of[i]] : NULL);
    for (uint32_t i = 0; i < b.n; i++)
        if (a_of[i] == ALQI_VIEW_NO_MATCH)
            pair_add(c, NULL, &y->groups[i]);
    qsort_r(c->pairs, c->n_pairs, sizeof *c->pairs, compare_pairs, c);
    chances_correct(c);
    free((void *)a.names);
    free((void *)b.names);
    free(b_of);
    free(a_of);
}

void
alqi_cli_compare(struct alqi_cli_comparison *c, struct alqi_cli_side *a,
                 struct alqi_cli_side *b, enum alqi_cli_grouping grouping,
                 enum alqi_cli_measure measure, bool is_one_run)
{
    memset(c, 0, sizeof *c);
    c->is_one_run = is_one_run;
    c->a = a;
    c->b = b;
    c->grouping = grouping;
    c->measure = measure;
    alqi_cli_groups_make(&a->groups, &a->analysis, grouping, measure);
    alqi_cli_groups_make(&b->groups, &b->analysis, grouping, measure);
    for (int m = 0; m < ALQI_CLI_N_MEASURES; m++)
        alqi_cli_change_make(&c->totals[m], &a->analysis.totals[m],
                             &b->analysis.totals[m], is_one_run);
    c->has_lost = !is_one_run && a->analysis.has_reach && b->analysis.has_reach;
    alqi_cli_change_make(&c->lost, &a->analysis.by_reach[ALQI_VIEW_LOST],
                         &b->analysis.by_reach[ALQI_VIEW_LOST], is_one_run);
    pairs_make(c);
}

void
alqi_cli_comparison_free(struct alqi_cli_comparison *c)
{
    alqi_cli_groups_free(&c->a->groups);
    alqi_cli_groups_free(&c->b->groups);
    free(c->pairs);
}

/* Where both sides have the site, B's names stand. */
const struct alqi_cli_frame *
alqi_cli_pair_frame(const struct alqi_cli_comparison *c,
                    const struct alqi_cli_pair *pair,
                    const struct alqi_cli_names **names)
{
    const struct alqi_cli_side *side = pair->b != NULL ? c->b : c->a;

    *names = side->analysis.names;
    return pair->b != NULL ? &pair->b->frame : &pair->a->frame;
}

bool
alqi_cli_pair_is_mapping(const struct alqi_cli_pair *pair)
{
    return pair->b != NULL ? pair->b->is_mapping : pair->a->is_mapping;
}
