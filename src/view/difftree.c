/* difftree.c -- the answer `difftree`: two filters in one tree
 *
 * Each side makes its own tree (tree.h). Then B's tree is merged into A's:
 * each node of B gets a place in A, found or added, and its sums go into the
 * tree's second pair of columns. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "view/sides.h"
#include "view/tree.h"

enum { NO_NODE = UINT32_MAX };

/* The focus in B's numbers. False: B has not all of its functions, so nothing
 * of B is below it. */
static bool
focus_of_b(const struct alqi_view_both *both,
           const struct alqi_view_focus *focus, struct alqi_view_focus *b)
{
    b->n = focus->n;
    for (uint32_t i = 0; i < focus->n; i++) {
        b->functions[i] = both->b_of[focus->functions[i]];
        if (b->functions[i] == ALQI_VIEW_NO_FUNCTION)
            return false;
    }
    return true;
}

/* Makes the tree of one side. False: no memory. */
static bool
side_tree(struct alqi_view_tree *tree, const struct alqi_view_side *side,
          const struct alqi_view_focus *focus,
          const struct alqi_view_tree_wish *wish, enum alqi_view_by by)
{
    struct alqi_view_paths paths;
    struct alqi_view_tree_input in = {
        .x = side->x,
        .paths = &paths,
        .focus = focus,
        .is_up = wish->is_up,
        .by = by,
    };
    bool is_made = alqi_view_paths_draw(&paths, side->trace, &side->filter) &&
                   alqi_view_tree_make(tree, &in);

    alqi_view_paths_free(&paths);
    return is_made;
}

/* Maps parent and function to the node of tree a. False: no memory. */
static bool
children_map(const struct alqi_view_tree *a, struct alqi_base_map *map)
{
    for (uint32_t i = 1; i < a->n; i++)
        if (!alqi_base_map_put(
                map, (uint64_t)a->nodes[i].parent << 32 | a->nodes[i].function,
                i))
            return false;
    return true;
}

/* A place in a for each node of b, to be freed by the caller; nodes that a has
 * not are added. Parents come before children, so a parent's place is known.
 * NULL: no memory. */
static uint32_t *
places_make(struct alqi_view_tree *a, const struct alqi_view_tree *b,
            const struct alqi_view_both *both)
{
    struct alqi_base_map map = {0};
    uint32_t *places = calloc(b->n, sizeof *places);
    bool is_made = places != NULL && children_map(a, &map);

    for (uint32_t i = 1; is_made && i < b->n; i++) {
        uint32_t parent = places[b->nodes[i].parent];
        uint32_t function = both->of_b[b->nodes[i].function];
        bool is_new;
        uint64_t *place =
            alqi_base_map_at(&map, (uint64_t)parent << 32 | function, &is_new);

        if (place != NULL && is_new)
            *place = alqi_view_tree_add(a, parent, function);
        is_made = place != NULL && *place != NO_NODE;
        if (is_made)
            places[i] = (uint32_t)*place;
    }
    alqi_base_map_clear(&map);
    if (!is_made) {
        free(places);
        return NULL;
    }
    return places;
}

/* Puts tree b into tree a as its other side. False: no memory. */
static bool
merge(struct alqi_view_tree *a, const struct alqi_view_tree *b,
      const struct alqi_view_both *both)
{
    uint32_t *places = places_make(a, b, both);

    if (places == NULL)
        return false;
    a->b_self = calloc(a->n, sizeof *a->b_self);
    a->b_all = calloc(a->n, sizeof *a->b_all);
    for (uint32_t i = 0; a->b_self != NULL && a->b_all != NULL && i < b->n;
         i++) {
        a->b_self[places[i]] = b->self[i];
        a->b_all[places[i]] = b->all[i];
    }
    free(places);
    alqi_view_tree_most(a->all, a->n, &a->all[0]);
    if (a->b_all != NULL)
        alqi_view_tree_most(a->b_all, a->n, &b->all[0]);
    return a->b_self != NULL && a->b_all != NULL;
}

/* Writes totals and the tree; false after a refusal. */
static bool
put(struct alqi_view_ask *ask, const struct alqi_view_tree_wish *wish,
    const struct alqi_view_sides *sides, const struct alqi_view_tree *tree)
{
    const struct alqi_view_sum *a = &sides->a.scan->total;
    const struct alqi_view_sum *b = &sides->b.scan->total;
    struct alqi_view_used used;
    bool is_put =
        alqi_view_used_new_both(&used, &sides->both) || alqi_view_give_up(ask);

    if (is_put) {
        alqi_view_put_sum(ask->out, "total", a);
        alqi_view_put_sum(ask->out, "b", b);
        alqi_view_put_sum(ask->out, "focus", &tree->all[0]);
        alqi_view_put_sum(ask->out, "b_focus", &tree->b_all[0]);
        is_put = alqi_view_tree_put(ask, tree, wish, &used);
    }
    alqi_view_used_free(&used);
    return is_put;
}

/* Makes both trees and writes them; false after a refusal. */
static bool
trees_put(struct alqi_view_ask *ask, const struct alqi_view_tree_wish *wish,
          const struct alqi_view_sides *sides)
{
    struct alqi_view_focus focus;
    struct alqi_view_tree a = {0}, b = {0};
    bool has_b = focus_of_b(&sides->both, &wish->focus, &focus);
    bool is_made = side_tree(&a, &sides->a, &wish->focus, wish, ask->filter.by);

    if (is_made && has_b)
        is_made = side_tree(&b, &sides->b, &focus, wish, ask->filter.by);
    else if (is_made) /* nothing of B is there */
        is_made = alqi_view_tree_add(&b, 0, 0) == 0;
    is_made = is_made && merge(&a, &b, &sides->both);
    is_made = is_made ? put(ask, wish, sides, &a) : alqi_view_give_up(ask);
    alqi_view_tree_free(&a);
    alqi_view_tree_free(&b);
    return is_made;
}

/* Both trees are of stacks that look the same: as side A is drawn. */
static void
look_share(struct alqi_view_sides *sides)
{
    const struct alqi_view_filter *a = &sides->a.filter;
    struct alqi_view_filter *b = &sides->b.filter;

    b->fold = a->fold;
    b->keeps_recursion = a->keeps_recursion;
    b->splits_threads = a->splits_threads;
}

/* The keys of both sides are taken before the tree's own, which end with the
 * check for unknown keys. */
bool
alqi_view_difftree(struct alqi_view_ask *ask)
{
    struct alqi_view_tree_wish wish;
    struct alqi_view_sides sides;
    bool is_put = alqi_view_sides_take(ask, &sides);

    if (is_put) {
        look_share(&sides);
        is_put = alqi_view_tree_wish_take(ask, &wish) &&
                 alqi_view_sides_look(ask, &sides) &&
                 trees_put(ask, &wish, &sides);
    }
    alqi_view_sides_free(&sides);
    return is_put;
}
