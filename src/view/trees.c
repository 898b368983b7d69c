/* trees.c -- the answer `tree`: a flame graph, from the program or a focus
 *
 * The question's keys are taken here for difftree, too
 * (alqi_view_tree_wish_take). The tree is made by tree.c and written by
 * tree_put.c. */
#include <stdlib.h>

#include "view/tree.h"

enum { DEPTH_MAX = 10000 };

static const double MIN_SHARE_DEFAULT = 0.002;

double
alqi_view_take_share(struct alqi_view_ask *ask, const char *key,
                     double otherwise)
{
    const char *text = alqi_view_query_get(&ask->query, key);
    char *end;
    double share;

    if (text == NULL)
        return otherwise;
    share = strtod(text, &end);
    if (end != text && *end == '\0' && share >= 0 && share <= 1)
        return share;
    alqi_view_query_fail(&ask->query, "%s=%.60s: a number from 0 to 1", key,
                         text);
    return otherwise;
}

bool
alqi_view_tree_wish_take(struct alqi_view_ask *ask,
                         struct alqi_view_tree_wish *wish)
{
    wish->is_up = alqi_view_query_choice(&ask->query, "dir", "down up") == 1;
    wish->min_share = alqi_view_take_share(ask, "min", MIN_SHARE_DEFAULT);
    wish->most_depth = (uint32_t)alqi_view_query_number(&ask->query, "depth", 1,
                                                        DEPTH_MAX, DEPTH_MAX);
    return alqi_view_focus_take(ask, &wish->focus) && alqi_view_ready(ask);
}

/* Writes totals and the tree. False after a refusal. */
static bool
put(struct alqi_view_ask *ask, const struct alqi_view_tree_wish *wish,
    const struct alqi_view_sum *total, const struct alqi_view_tree *tree)
{
    struct alqi_view_used used;
    bool is_put = alqi_view_used_new(&used, ask->x) || alqi_view_give_up(ask);

    if (is_put) {
        alqi_view_put_sum(ask->out, "total", total);
        alqi_view_put_sum(ask->out, "focus", &tree->all[0]);
        is_put = alqi_view_tree_put(ask, tree, wish, &used);
    }
    alqi_view_used_free(&used);
    return is_put;
}

bool
alqi_view_tree(struct alqi_view_ask *ask)
{
    struct alqi_view_tree_wish wish;
    struct alqi_view_paths paths;
    struct alqi_view_tree_input in = {
        .x = ask->x, .paths = &paths, .focus = &wish.focus};
    struct alqi_view_tree tree = {0};
    bool is_put;

    if (!alqi_view_tree_wish_take(ask, &wish))
        return false;
    in.is_up = wish.is_up;
    in.by = ask->filter.by;
    in.min_share = wish.min_share;
    is_put = alqi_view_paths_draw(&paths, ask->trace, &ask->filter) &&
                     alqi_view_tree_make(&tree, &in)
                 ? put(ask, &wish, paths.total, &tree)
                 : alqi_view_give_up(ask);
    alqi_view_tree_free(&tree);
    alqi_view_paths_free(&paths);
    return is_put;
}
