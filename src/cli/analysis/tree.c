/* tree.c -- see tree.h */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/analysis/groups.h"
#include "cli/analysis/tree.h"

enum { NODES_FIRST = 256 };

static bool
is_same(const struct alqi_cli_frame *a, const struct alqi_cli_frame *b)
{
    return a->function == b->function && a->module == b->module &&
           a->file == b->file;
}

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

static uint32_t *
slot_find(const struct alqi_cli_tree *t, uint32_t parent,
          const struct alqi_cli_frame *f)
{
    uint32_t mask = t->n_slots - 1;
    uint64_t hash =
        alqi_base_mix(((uint64_t)parent << 32 | f->function) ^
                      alqi_base_mix((uint64_t)f->file << 32 | f->module));
    uint32_t i = (uint32_t)hash & mask;

    for (;; i = (i + 1) & mask) {
        uint32_t node = t->slots[i];

        if (node == 0 || (t->nodes[node].parent == parent &&
                          is_same(&t->nodes[node].frame, f)))
            return &t->slots[i];
    }
}

static void
grow(struct alqi_cli_tree *t)
{
    t->capacity = t->capacity == 0 ? NODES_FIRST : 2 * t->capacity;
    t->nodes = alqi_cli_realloc(t->nodes, t->capacity, sizeof *t->nodes);
    free(t->slots);
    t->n_slots = 2 * t->capacity;
    t->slots = alqi_cli_realloc(NULL, t->n_slots, sizeof *t->slots);
    memset(t->slots, 0, t->n_slots * sizeof *t->slots);
    for (uint32_t i = 1; i < t->n_nodes; i++)
        *slot_find(t, t->nodes[i].parent, &t->nodes[i].frame) = i;
}

static uint32_t
child(struct alqi_cli_tree *t, uint32_t parent, const struct alqi_cli_frame *f)
{
    uint32_t *slot;

    if (t->n_nodes == t->capacity)
        grow(t);
    slot = slot_find(t, parent, f);
    if (*slot == 0) {
        struct alqi_cli_tree_node *node = &t->nodes[t->n_nodes];

        memset(node, 0, sizeof *node);
        node->frame = *f;
        node->parent = parent;
        node->next = t->nodes[parent].first_child;
        t->nodes[parent].first_child = t->n_nodes;
        *slot = t->n_nodes++;
    }
    return *slot;
}

static void
site_enter(struct alqi_cli_tree *t, const struct alqi_cli_frame *frames,
           uint32_t n, double bytes)
{
    uint32_t node = 0;

    t->nodes[0].bytes += bytes;
    for (uint32_t i = 0; i < n; i++) {
        node = child(t, node, &frames[i]);
        t->nodes[node].bytes += bytes;
    }
}

static int
compare(const void *left, const void *right, void *arg)
{
    const struct alqi_cli_tree *t = arg;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;

    if (t->nodes[a].bytes != t->nodes[b].bytes)
        return t->nodes[a].bytes > t->nodes[b].bytes ? -1 : 1;
    return a < b ? -1 : a > b;
}

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

static void
turn_around(struct alqi_cli_frame *frames, uint32_t n)
{
    for (uint32_t i = 0; i < n / 2; i++) {
        struct alqi_cli_frame swap = frames[i];

        frames[i] = frames[n - 1 - i];
        frames[n - 1 - i] = swap;
    }
}

void
alqi_cli_tree_make(struct alqi_cli_tree *t, struct alqi_cli_analysis *analysis,
                   enum alqi_cli_tree_kind kind, enum alqi_cli_measure measure)
{
    struct alqi_cli_frame *frames = NULL;
    uint32_t capacity = 0;
    uint32_t *room;

    memset(t, 0, sizeof *t);
    grow(t);
    memset(&t->nodes[0], 0, sizeof t->nodes[0]);
    t->n_nodes = 1;
    for (uint32_t i = 0; i < analysis->n_sites; i++) {
        const struct alqi_cli_site *site = &analysis->sites[i];
        uint32_t n;

        if (site->sums[measure].bytes <= 0)
            continue;
        n = alqi_cli_stack_frames(analysis, site->node, &frames, &capacity);
        if (n > 0) /* the wrappers inside of the site tell nothing */
            n = alqi_cli_naming_frame(frames, n) + 1;
        if (kind == ALQI_CLI_BOTTOM_UP)
            turn_around(frames, n);
        n = alqi_cli_fold_recursion(frames, n);
        site_enter(t, frames, n, site->sums[measure].bytes);
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
    free(t->slots);
}
