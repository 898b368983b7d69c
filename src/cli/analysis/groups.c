/* groups.c -- see groups.h */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/analysis/groups.h"

/* The part of a frame by which a grouping tells sites apart. */
struct key {
    uint32_t function, file, module;
    int32_t line;
    uint32_t is_mapping;
};

struct maker {
    struct alqi_cli_analysis *analysis;
    enum alqi_cli_grouping grouping;
    enum alqi_cli_measure measure;
    struct alqi_cli_groups *out;
    struct key *keys;
    uint32_t *slots; /* group + 1; 0 is free; at most half in use */
    uint32_t n_slots;
};

/* Frames without symbols count as wrappers when the next frame outward that
 * has a name is one: in a stripped library a wrapper's inner half has none. */
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

static uint32_t
group_of(struct maker *m, const struct key *key)
{
    uint32_t mask = m->n_slots - 1;
    uint64_t hash = alqi_base_mix(
        ((uint64_t)key->function << 32 | key->file) ^
        alqi_base_mix((uint64_t)key->module << 32 | (uint32_t)key->line) ^
        key->is_mapping);
    uint32_t i = (uint32_t)hash & mask;

    for (; m->slots[i] != 0; i = (i + 1) & mask)
        if (memcmp(&m->keys[m->slots[i] - 1], key, sizeof *key) == 0)
            return m->slots[i] - 1;
    memset(&m->out->groups[m->out->n_groups], 0, sizeof *m->out->groups);
    m->keys[m->out->n_groups] = *key;
    m->slots[i] = ++m->out->n_groups;
    return m->slots[i] - 1;
}

static void
site_enter(struct maker *m, uint32_t index, const struct alqi_cli_frame *frame)
{
    const struct alqi_cli_site *site = &m->analysis->sites[index];
    struct alqi_cli_frame f = alqi_cli_frame_masked(frame, m->grouping);
    struct key key = {f.function, f.file, f.module, f.line, site->is_mapping};
    uint32_t number;
    struct alqi_cli_group *g;

    number = group_of(m, &key);
    g = &m->out->groups[number];
    g->is_mapping = site->is_mapping;

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
    struct maker m = {analysis, grouping, measure, groups, NULL, NULL, 16};

    while (m.n_slots < 2 * n)
        m.n_slots *= 2;
    m.keys = alqi_cli_realloc(NULL, n, sizeof *m.keys);
    m.slots = alqi_cli_realloc(NULL, m.n_slots, sizeof *m.slots);
    memset(m.slots, 0, m.n_slots * sizeof *m.slots);
    groups->groups = alqi_cli_realloc(NULL, n, sizeof *groups->groups);
    groups->group_of_site =
        alqi_cli_realloc(NULL, n, sizeof *groups->group_of_site);
    groups->n_groups = 0;
    sites_enter(&m);
    sort(&m);
    free(m.keys);
    free(m.slots);
}

void
alqi_cli_groups_free(struct alqi_cli_groups *groups)
{
    free(groups->groups);
    free(groups->group_of_site);
}
