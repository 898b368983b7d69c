/* groups.c -- sites that share a function, line, file or module
 *
 * [groups.h] Each site's stack is expanded, and the frame that names the site
 * is chosen. The part of the frame that the grouping looks at is the key.
 * Groups are numbered by first appearance, then sorted by the measure. */
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "cli/tool/cli.h"
#include "cli/analysis/groups.h"

/* One run of the grouping. */
struct maker {
    struct alqi_cli_analysis *analysis;
    enum alqi_cli_grouping grouping;
    enum alqi_cli_measure measure;
    /* what is being made */
    struct alqi_cli_groups *out;
    /* the masked frames; a row a group */
    struct alqi_base_intern keys;
};

/* The innermost frame that is no wrapper. Frames without symbols count as
 * wrappers when the next frame outward that has a name is one: in a stripped
 * library a wrapper's inner half has no names. If every frame is a wrapper,
 * the innermost one names the site. */
uint32_t
alqi_cli_naming_frame(const struct alqi_cli_frame *frames, uint32_t n_frames)
{
    uint32_t naming = n_frames; /* the first frame inside of the site */
    uint32_t i = n_frames;

    while (i > 0 && (frames[i - 1].is_wrapper || frames[i - 1].is_nameless))
        if (frames[--i].is_wrapper)
            naming = i;
    return naming > 0 ? naming - 1 : n_frames - 1;
}

/* By file, a frame without a file counts for its module. */
struct alqi_cli_frame
alqi_cli_frame_masked(const struct alqi_cli_frame *f,
                      enum alqi_cli_grouping grouping)
{
    struct alqi_cli_frame masked = *f;

    if (grouping != ALQI_CLI_BY_LINE)
        masked.line = 0;
    if (grouping >= ALQI_CLI_BY_FILE)
        masked.function = ALQI_CLI_NO_NAME;
    if (grouping == ALQI_CLI_BY_FILE && f->file != ALQI_CLI_NO_NAME)
        masked.module = ALQI_CLI_NO_NAME;
    if (grouping == ALQI_CLI_BY_MODULE)
        masked.file = ALQI_CLI_NO_NAME;
    return masked;
}

/* The group of a frame; a new one is empty. */
static uint32_t
group_of(struct maker *m, const struct alqi_cli_frame *frame, bool is_mapping)
{
    struct alqi_cli_frame f = alqi_cli_frame_masked(frame, m->grouping);
    uint32_t key[] = {f.function, f.file, f.module, (uint32_t)f.line,
                      is_mapping};
    uint32_t number = alqi_cli_intern(&m->keys, key);

    if (number == m->out->n_groups)
        m->out->groups[m->out->n_groups++] =
            (struct alqi_cli_group){.is_mapping = is_mapping};
    return number;
}

/* Adds a site to its group. */
static void
site_enter(struct maker *m, uint32_t index, const struct alqi_cli_frame *frame)
{
    const struct alqi_cli_site *site = &m->analysis->sites[index];
    uint32_t number = group_of(m, frame, site->is_mapping);
    struct alqi_cli_group *g = &m->out->groups[number];

    m->out->group_of_site[index] = number;
    if (g->n_sites == 0 ||
        site->sums[m->measure].bytes >
            m->analysis->sites[g->heaviest].sums[m->measure].bytes) {
        g->heaviest = index;
        g->frame = *frame;
    }
    g->n_sites++;
    for (int i = 0; i < ALQI_CLI_N_MEASURES; i++)
        alqi_cli_sum_join(&g->sums[i], &site->sums[i]);
    alqi_cli_moves_join(&g->moves, &site->moves);
}

/* Enters all sites. Those without a stack share the group "[no stack]". */
static void
sites_enter(struct maker *m)
{
    struct alqi_cli_frame none = {0};
    struct alqi_cli_frame *frames = NULL;
    uint32_t capacity = 0;

    none.function = alqi_cli_names_intern(m->analysis->names, "[no stack]");
    none.module = none.function;
    for (uint32_t i = 0; i < m->analysis->n_sites; i++) {
        uint32_t n = alqi_cli_stack_frames(
            m->analysis, m->analysis->sites[i].node, &frames, &capacity);

        site_enter(m, i,
                   n == 0 ? &none : &frames[alqi_cli_naming_frame(frames, n)]);
    }
    free(frames);
}

/* Order by the measure, then by first appearance. */
static int
compare(const void *left, const void *right, void *arg)
{
    const struct maker *m = arg;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    double x = m->out->groups[a].sums[m->measure].bytes;
    double y = m->out->groups[b].sums[m->measure].bytes;

    if (x != y)
        return x > y ? -1 : 1;
    return a < b ? -1 : a > b; /* by first appearance */
}

/* Sorts the groups, and renumbers group_of_site. */
static void
sort(struct maker *m)
{
    uint32_t n = m->out->n_groups;
    uint32_t *order = alqi_cli_realloc(NULL, n, sizeof *order);
    uint32_t *rank = alqi_cli_realloc(NULL, n, sizeof *rank);
    struct alqi_cli_group *sorted = alqi_cli_realloc(NULL, n, sizeof *sorted);

    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof *order, compare, m);
    for (uint32_t i = 0; i < n; i++) {
        sorted[i] = m->out->groups[order[i]];
        rank[order[i]] = i;
    }
    for (uint32_t i = 0; i < m->analysis->n_sites; i++)
        m->out->group_of_site[i] = rank[m->out->group_of_site[i]];
    free(m->out->groups);
    free(order);
    free(rank);
    m->out->groups = sorted;
}

void
alqi_cli_groups_make(struct alqi_cli_groups *groups,
                     struct alqi_cli_analysis *analysis,
                     enum alqi_cli_grouping grouping,
                     enum alqi_cli_measure measure)
{
    uint32_t n = analysis->n_sites;
    struct maker m = {analysis, grouping, measure, groups, {.n_words = 5}};

    groups->groups = alqi_cli_realloc(NULL, n, sizeof *groups->groups);
    groups->group_of_site =
        alqi_cli_realloc(NULL, n, sizeof *groups->group_of_site);
    groups->n_groups = 0;
    sites_enter(&m);
    sort(&m);
    alqi_base_intern_clear(&m.keys);
}

void
alqi_cli_groups_free(struct alqi_cli_groups *groups)
{
    free(groups->groups);
    free(groups->group_of_site);
}
