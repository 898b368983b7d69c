/* compare.c -- see compare.h */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/analysis/compare.h"
#include "view/significance.h"

enum { KEY_BYTES = 3 * 2048 + 64, KEY_TEXT_BYTES = KEY_BYTES - 1 };

/* Sums of equal numbers in another order. */
static const double ROUNDING = 1e-9;
/* 95 % of a normal law lie within so many standard deviations. */
static const double NORMAL_95 = 1.96;

/* ---- changes ------------------------------------------------------------- */

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
    out.low -= hypot(change->b.bytes - b.low, a.high - change->a.bytes);
    out.high += hypot(b.high - change->b.bytes, change->a.bytes - a.low);
    out.effective = fmin(a.effective, b.effective);
    return out;
}

/* ---- names to match by --------------------------------------------------- */

struct named {
    char *key;
    const struct alqi_cli_group *group;
};

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* A module's name without what a new build changes. */
static void
module_loose(const struct alqi_cli_side *side, const char *module, char *out,
             size_t capacity)
{
    const char *program =
        base_name(alqi_ctf_reader_info(side->analysis.reader)->executable);
    const char *so = strstr(module, ".so");

    if (program[0] != '\0' && strcmp(module, program) == 0)
        snprintf(out, capacity, "[program]");
    else
        snprintf(out, capacity, "%.*s",
                 so != NULL ? (int)(so - module) + 3 : (int)strlen(module),
                 module);
}

static void
key_write(const struct alqi_cli_side *side, const struct alqi_cli_group *g,
          enum alqi_cli_grouping grouping, bool is_loose, char out[KEY_BYTES])
{
    const struct alqi_cli_names *names = side->analysis.names;
    const struct alqi_cli_frame *f = &g->frame;
    const char *function = alqi_cli_names_text(names, f->function);
    const char *file = alqi_cli_names_text(names, f->file);
    const char *module = alqi_cli_names_text(names, f->module);
    char loose[2048];

    if (is_loose) {
        module_loose(side, module, loose, sizeof loose);
        module = loose;
        file = base_name(file);
    }
    *out++ = g->is_mapping ? 'm' : 'b';
    switch (grouping) {
    case ALQI_CLI_BY_LINE:
        snprintf(out, KEY_TEXT_BYTES, "%s\x1f%s\x1f%s\x1f%d", function, file,
                 module, f->line);
        break;
    case ALQI_CLI_BY_FUNCTION:
        snprintf(out, KEY_TEXT_BYTES, "%s\x1f%s\x1f%s", function, file, module);
        break;
    case ALQI_CLI_BY_FILE:
        snprintf(out, KEY_TEXT_BYTES, "%s\x1f%s", file,
                 file[0] == '\0' ? module : "");
        break;
    case ALQI_CLI_BY_MODULE:
        snprintf(out, KEY_TEXT_BYTES, "%s", module);
        break;
    }
}

static int
compare_named(const void *left, const void *right)
{
    return strcmp(((const struct named *)left)->key,
                  ((const struct named *)right)->key);
}

/* Fills and sorts the names of the groups that are not matched yet. */
static uint32_t
names_make(const struct alqi_cli_side *side, enum alqi_cli_grouping grouping,
           bool is_loose, const bool *is_matched, struct named **out)
{
    char key[KEY_BYTES];
    uint32_t n = 0;

    *out = alqi_cli_realloc(NULL, side->groups.n_groups, sizeof **out);
    for (uint32_t i = 0; i < side->groups.n_groups; i++) {
        const struct alqi_cli_group *g = &side->groups.groups[i];

        if (is_matched[i])
            continue;
        key_write(side, g, grouping, is_loose, key);
        (*out)[n].key = alqi_cli_realloc(NULL, strlen(key) + 1, 1);
        strcpy((*out)[n].key, key);
        (*out)[n++].group = g;
    }
    qsort(*out, n, sizeof **out, compare_named);
    return n;
}

static void
names_free(struct named *names, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        free(names[i].key);
    free(names);
}

/* ---- matching ------------------------------------------------------------ */

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

static uint32_t
run_length(const struct named *names, uint32_t from, uint32_t n)
{
    uint32_t i = from + 1;

    while (i < n && strcmp(names[i].key, names[from].key) == 0)
        i++;
    return i - from;
}

/* Pairs equal names that stand once on each side. */
static void
match(struct alqi_cli_comparison *c, bool is_loose, bool *a_matched,
      bool *b_matched)
{
    struct named *x, *y;
    uint32_t n_x = names_make(c->a, c->grouping, is_loose, a_matched, &x);
    uint32_t n_y = names_make(c->b, c->grouping, is_loose, b_matched, &y);

    for (uint32_t i = 0, k = 0; i < n_x && k < n_y;) {
        int order = strcmp(x[i].key, y[k].key);
        uint32_t run_x = run_length(x, i, n_x);
        uint32_t run_y = run_length(y, k, n_y);

        if (order == 0 && run_x == 1 && run_y == 1) {
            a_matched[x[i].group - c->a->groups.groups] = true;
            b_matched[y[k].group - c->b->groups.groups] = true;
            pair_add(c, x[i].group, y[k].group);
        }
        i += order <= 0 ? run_x : 0;
        k += order >= 0 ? run_y : 0;
    }
    names_free(x, n_x);
    names_free(y, n_y);
}

static int
compare_pairs(const void *left, const void *right, void *arg)
{
    const struct alqi_cli_pair *p = left, *q = right;
    double x = fabs(p->change.bytes), y = fabs(q->change.bytes);
    char a[KEY_BYTES], b[KEY_BYTES];
    const struct alqi_cli_comparison *c = arg;

    if (x != y)
        return x > y ? -1 : 1;
    key_write(p->a != NULL ? c->a : c->b, p->a != NULL ? p->a : p->b,
              c->grouping, true, a);
    key_write(q->a != NULL ? c->a : c->b, q->a != NULL ? q->a : q->b,
              c->grouping, true, b);
    return strcmp(a, b);
}

static void
chances_correct(struct alqi_cli_comparison *c)
{
    double *p = alqi_cli_realloc(NULL, c->n_pairs, sizeof *p);

    for (uint32_t i = 0; i < c->n_pairs; i++)
        p[i] = c->pairs[i].change.chance;
    if (!alqi_view_holm(p, c->n_pairs)) {
        alqi_cli_say("out of memory for %u sites", c->n_pairs);
        exit(ALQI_CLI_UNREADABLE);
    }
    for (uint32_t i = 0; i < c->n_pairs; i++)
        c->pairs[i].change.chance = p[i];
    free(p);
}

static void
pairs_make(struct alqi_cli_comparison *c)
{
    uint32_t n_a = c->a->groups.n_groups, n_b = c->b->groups.n_groups;
    bool *a_matched = alqi_cli_realloc(NULL, n_a, sizeof *a_matched);
    bool *b_matched = alqi_cli_realloc(NULL, n_b, sizeof *b_matched);

    memset(a_matched, 0, n_a * sizeof *a_matched);
    memset(b_matched, 0, n_b * sizeof *b_matched);
    c->pairs = alqi_cli_realloc(NULL, (size_t)n_a + n_b, sizeof *c->pairs);
    match(c, false, a_matched, b_matched);
    match(c, true, a_matched, b_matched);
    for (uint32_t i = 0; i < n_a; i++)
        if (!a_matched[i])
            pair_add(c, &c->a->groups.groups[i], NULL);
    for (uint32_t i = 0; i < n_b; i++)
        if (!b_matched[i])
            pair_add(c, NULL, &c->b->groups.groups[i]);
    qsort_r(c->pairs, c->n_pairs, sizeof *c->pairs, compare_pairs, c);
    chances_correct(c);
    free(a_matched);
    free(b_matched);
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
    pairs_make(c);
}

void
alqi_cli_comparison_free(struct alqi_cli_comparison *c)
{
    alqi_cli_groups_free(&c->a->groups);
    alqi_cli_groups_free(&c->b->groups);
    free(c->pairs);
}

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
