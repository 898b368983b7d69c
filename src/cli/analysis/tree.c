/* tree.c -- the tree of functions that a report prints
 *
 * [tree.h] Each site's stack is cut at the frame that names the site, turned
 * around if the tree goes from the site up, freed of recursion, and walked
 * down from the root. Children are sorted when all sites are in. */
#include <stdlib.h>

#include "cli/tool/cli.h"
#include "cli/analysis/groups.h"
#include "cli/analysis/tree.h"

/* The same function, at whatever line. */
static bool
is_same(const struct alqi_cli_frame *a, const struct alqi_cli_frame *b)
{
    return a->function == b->function && a->module == b->module &&
           a->file == b->file;
}

/* A frame is compared with all that were kept; stacks are short enough for
 * that. */
uint32_t
alqi_cli_fold_recursion(struct alqi_cli_frame *frames, uint32_t n)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = kept;

        while (k > 0 && !is_same(&frames[k - 1], &frames[i]))
            k--;
        if (k == 0)
            frames[kept++] = frames[i];
    }
    return kept;
}

/* The child of a node by its function; a new one becomes the first child. */
static uint32_t
child(struct alqi_cli_tree *t, uint32_t parent, const struct alqi_cli_frame *f)
{
    uint32_t key[] = {parent, f->function, f->file, f->module};
    uint32_t node = alqi_cli_intern(&t->keys, key) + 1;

    if (node < t->n_nodes)
        return node;
    t->nodes = alqi_cli_grow(t->nodes, t->n_nodes, sizeof *t->nodes);
    t->nodes[node] = (struct alqi_cli_tree_node){
        .frame = *f,
        .parent = parent,
        .next = t->nodes[parent].first_child,
    };
    t->nodes[parent].first_child = node;
    return t->n_nodes++;
}

/* Adds a site's sum to each node on its path. */
static void
site_enter(struct alqi_cli_tree *t, const struct alqi_cli_frame *frames,
           uint32_t n, const struct alqi_cli_sum *sum)
{
    uint32_t node = 0;

    alqi_cli_sum_join(&t->nodes[0].sum, sum);
    for (uint32_t i = 0; i < n; i++) {
        node = child(t, node, &frames[i]);
        alqi_cli_sum_join(&t->nodes[node].sum, sum);
    }
}

/* Order by size, then by first appearance. */
static int
compare(const void *left, const void *right, void *arg)
{
    const struct alqi_cli_tree *t = arg;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    double x = t->nodes[a].sum.bytes, y = t->nodes[b].sum.bytes;

    if (x != y)
        return x > y ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Relinks the children of a node in order. room has space for all nodes. */
static void
children_sort(struct alqi_cli_tree *t, uint32_t parent, uint32_t *room)
{
    uint32_t n = 0;
    uint32_t *link = &t->nodes[parent].first_child;

    for (uint32_t i = *link; i != 0; i = t->nodes[i].next)
        room[n++] = i;
    qsort_r(room, n, sizeof *room, compare, t);
    for (uint32_t i = 0; i < n; i++) {
        *link = room[i];
        link = &t->nodes[room[i]].next;
    }
    *link = 0;
}

/* Sites without bytes of the measure are left out. Wrappers inside the site
 * say nothing, so each stack ends at the frame that names the site. */
void
alqi_cli_tree_make(struct alqi_cli_tree *t, struct alqi_cli_analysis *analysis,
                   enum alqi_cli_tree_kind kind, enum alqi_cli_measure measure)
{
    struct alqi_cli_frame *frames = NULL;
    uint32_t capacity = 0;
    uint32_t *room;

    *t = (struct alqi_cli_tree){.n_nodes = 1, .keys = {.n_words = 4}};
    t->nodes = alqi_cli_grow(NULL, 0, sizeof *t->nodes);
    t->nodes[0] = (struct alqi_cli_tree_node){.parent = 0};
    for (uint32_t i = 0; i < analysis->n_sites; i++) {
        const struct alqi_cli_site *site = &analysis->sites[i];
        uint32_t n;

        if (site->sums[measure].bytes <= 0)
            continue;
        n = alqi_cli_stack_frames(analysis, site->node, &frames, &capacity);
        if (n > 0) /* the wrappers inside of the site tell nothing */
            n = alqi_cli_naming_frame(frames, n) + 1;
        if (kind == ALQI_CLI_BOTTOM_UP)
            alqi_cli_frames_turn(frames, n);
        n = alqi_cli_fold_recursion(frames, n);
        site_enter(t, frames, n, &site->sums[measure]);
    }
    free(frames);
    room = alqi_cli_realloc(NULL, t->n_nodes, sizeof *room);
    for (uint32_t i = 0; i < t->n_nodes; i++)
        children_sort(t, i, room);
    free(room);
}

void
alqi_cli_tree_free(struct alqi_cli_tree *t)
{
    free(t->nodes);
    alqi_base_intern_clear(&t->keys);
}
