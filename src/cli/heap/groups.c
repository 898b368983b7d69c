/* groups.c -- one look over dominators, one walk over blocks        [groups.h]
 */
#include "cli/heap/groups.h"

#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"

#define NOTHING ALQI_CLI_HEAP_NOTHING

/* The group of that name below another one, or, where it would be too deep, or
 * one too many, that one. */
static uint32_t
below(struct alqi_cli_heap_groups *g, uint32_t parent, uint32_t name)
{
    uint64_t key = (uint64_t)parent << 32 | name, known, *at;
    bool is_new;

    if (alqi_base_map_get(&g->map, key, &known))
        return (uint32_t)known;
    if (g->groups[parent].depth > g->depth)
        return parent;
    if (g->n == ALQI_CLI_HEAP_GROUPS_MOST) {
        g->is_full = true;
        return parent;
    }
    at = alqi_cli_map_at(&g->map, key, &is_new);
    *at = g->n;
    g->groups = alqi_cli_grow(g->groups, g->n, sizeof *g->groups);
    g->groups[g->n] = (struct alqi_cli_heap_group){
        .name = name, .parent = parent, .depth = g->groups[parent].depth + 1};
    return g->n++;
}

/* The same of a kind: the group that the way has already. */
static uint32_t
kind_below(struct alqi_cli_heap_groups *g, uint32_t parent, uint32_t name)
{
    for (uint32_t at = parent; g->groups[at].depth > 1;
         at = g->groups[at].parent)
        if (g->groups[at].name == name)
            return at;
    return below(g, parent, name);
}

/* A kind's name as a number of `names`, which is looked up once. */
static uint32_t
kind_name(struct alqi_cli_heap_snapshot *s, struct alqi_cli_names *names,
          uint32_t *known, uint32_t kind)
{
    if (known[kind] == ALQI_CLI_NO_NAME)
        known[kind] =
            alqi_cli_names_intern(names, alqi_cli_heap_kind_name(s, kind));
    return known[kind];
}

/* What is below the root of all, but no holder, is held by several. */
static uint32_t
parent_group(struct alqi_cli_heap_groups *g, struct alqi_cli_names *names,
             uint32_t order)
{
    if (order > 0)
        return g->of[order];
    return below(g, 0, alqi_cli_names_intern(names, "several roots"));
}

static void
holders_name(struct alqi_cli_heap_groups *g, struct alqi_cli_heap_snapshot *s,
             struct alqi_cli_names *names)
{
    for (uint32_t i = 0; i < s->n_holders; i++)
        g->of[s->graph.order[s->graph.n_blocks + i]] = below(
            g, 0,
            alqi_cli_names_intern(names, alqi_cli_heap_holder_name(s, i)));
}

static void
nodes_group(struct alqi_cli_heap_groups *g, struct alqi_cli_heap_snapshot *s,
            struct alqi_cli_names *names, uint32_t *known)
{
    for (uint32_t v = 1; v < s->graph.n_reached; v++)
        if (!alqi_cli_heap_is_holder(s, v))
            g->of[v] = kind_below(g, parent_group(g, names, s->graph.idom[v]),
                                  kind_name(s, names, known, s->sizes[v].kind));
}

static void
blocks_sum(struct alqi_cli_heap_groups *g, struct alqi_cli_heap_snapshot *s,
           struct alqi_cli_names *names, uint32_t *known)
{
    struct alqi_cli_heap_walk walk;
    struct alqi_dump_block_read block;

    alqi_cli_heap_walk_begin(&walk, &s->file);
    while (alqi_cli_heap_walk_block(&walk, &block)) {
        uint32_t number = alqi_cli_heap_find(&s->addresses, block.address);
        uint32_t above = alqi_cli_heap_dominator(s, number), group;

        if (above == NOTHING)
            continue;
        if (alqi_cli_heap_is_leaf(number))
            group = kind_below(
                g, parent_group(g, names, above),
                kind_name(s, names, known, alqi_cli_heap_kind_number(&block)));
        else
            group = g->of[s->graph.order[number]];
        g->groups[group].own.n_blocks++;
        g->groups[group].own.words += block.wosize + 1;
    }
}

static void
groups_sum(struct alqi_cli_heap_groups *g)
{
    for (uint32_t i = g->n; i-- > 0;) {
        struct alqi_cli_heap_group *group = &g->groups[i];

        group->all.n_blocks += group->own.n_blocks;
        group->all.words += group->own.words;
        if (i == 0)
            break;
        g->groups[group->parent].all.n_blocks += group->all.n_blocks;
        g->groups[group->parent].all.words += group->all.words;
    }
}

void
alqi_cli_heap_groups_make(struct alqi_cli_heap_groups *g,
                          struct alqi_cli_heap_snapshot *s,
                          struct alqi_cli_names *names, uint64_t depth)
{
    uint32_t *known = alqi_cli_zeros(ALQI_CLI_HEAP_KINDS, sizeof *known);

    memset(g, 0, sizeof *g);
    g->depth = depth;
    g->groups = alqi_cli_grow(NULL, 0, sizeof *g->groups);
    g->groups[0] = (struct alqi_cli_heap_group){0};
    g->n = 1;
    g->of = alqi_cli_zeros(s->graph.n_reached, sizeof *g->of);
    holders_name(g, s, names);
    nodes_group(g, s, names, known);
    blocks_sum(g, s, names, known);
    groups_sum(g);
    free(known);
}

void
alqi_cli_heap_groups_free(struct alqi_cli_heap_groups *g)
{
    alqi_base_map_clear(&g->map);
    free(g->groups);
    free(g->of);
    memset(g, 0, sizeof *g);
}

uint32_t
alqi_cli_heap_group_of(struct alqi_cli_heap_groups *g,
                       struct alqi_cli_heap_snapshot *s,
                       struct alqi_cli_names *names, uint32_t number,
                       uint32_t kind)
{
    uint32_t name;

    if (!alqi_cli_heap_is_leaf(number))
        return g->of[s->graph.order[number]];
    name = alqi_cli_names_intern(names, alqi_cli_heap_kind_name(s, kind));
    return kind_below(
        g, parent_group(g, names, alqi_cli_heap_dominator(s, number)), name);
}
