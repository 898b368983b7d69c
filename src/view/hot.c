/* hot.c -- the answer `hot`: the heaviest pieces of call stacks, none of them
 * an extension of another
 *
 * Two trees are followed from their roots for as long as the next step keeps
 * most of the weight: from the program to what is called, and from what
 * allocates to its callers. A node is left for the heavy ones below it if they
 * have most of it; if they have not, the way to the node is a piece. The first
 * tree finds where a path is heavy to its end. The second finds what is heavy
 * although many call it.
 *
 * Then the heaviest pieces are taken, one after the other. A piece that
 * extends a taken one, or is extended by one, is left out. */
#include <stdlib.h>
#include <string.h>

#include "view/sort.h"
#include "view/tree.h"

enum { LIMIT_DEFAULT = 20, LIMIT_MAX = 100, PIECES_MAX = 2000 };

/* Shares: of the total, from which a node is heavy; of a node, that the heavy
 * ones below it must have to be followed. */
static const double HEAVY = 0.005, MOST = 0.5;

/* A run of functions that call each other. */
struct piece {
    /* functions, outermost first; owned */
    uint32_t *path;
    uint32_t n;
    /* of all stacks that have it, wherever it is on them */
    struct alqi_view_sum sum;
};

struct finder {
    /* of the tree that goes down */
    struct alqi_view_tree_input in;
    /* the value from which a node is heavy */
    double heavy;
    /* both trees of the whole; owned */
    struct alqi_view_tree down, up;
    /* at most PIECES_MAX; owned */
    struct piece *pieces;
    uint32_t n;
};

/* ---- pieces -------------------------------------------------------------- */

/* What the query sorts by. */
static double
value(const struct finder *f, const struct alqi_view_sum *sum)
{
    return alqi_view_sum_value(sum, f->in.by);
}

/* Adds the way from the root to a node as a piece. False: no memory. */
static bool
piece_add(struct finder *f, const struct alqi_view_tree *t, uint32_t node,
          bool is_up)
{
    struct piece *piece = &f->pieces[f->n];
    uint32_t n = 0;

    for (uint32_t i = node; i != 0; i = t->nodes[i].parent)
        n++;
    piece->path = malloc((n + 1) * sizeof *piece->path);
    if (piece->path == NULL)
        return false;
    piece->n = n;
    for (uint32_t i = node, k = 0; i != 0; i = t->nodes[i].parent, k++)
        piece->path[is_up ? k : n - 1 - k] = t->nodes[i].function;
    f->n++;
    return true;
}

/* Adds a piece for each node at which the heavy way ends. Parents have smaller
 * numbers, so one pass finds what heavy children have, and a second one walks
 * the ways. False: no memory. */
static bool
ends_find(struct finder *f, const struct alqi_view_tree *t, bool is_up)
{
    double *below = calloc(t->n, sizeof *below); /* that heavy nodes have */
    uint8_t *is_on_way = calloc(t->n, 1);
    bool is_found = below != NULL && is_on_way != NULL;

    for (uint32_t i = 1; is_found && i < t->n; i++)
        if (value(f, &t->all[i]) >= f->heavy)
            below[t->nodes[i].parent] += value(f, &t->all[i]);
    if (is_found)
        is_on_way[0] = 1;
    for (uint32_t i = 0; is_found && i < t->n; i++) {
        double all = value(f, &t->all[i]);

        if (i > 0)
            is_on_way[i] = is_on_way[t->nodes[i].parent] && all >= f->heavy;
        if (!is_on_way[i] || i == 0 || (below[i] >= MOST * all && below[i] > 0))
            continue;
        if (f->n < PIECES_MAX)
            is_found = piece_add(f, t, i, is_up);
        is_on_way[i] = 0;
    }
    free(below);
    free(is_on_way);
    return is_found;
}

/* The piece ends at the fold. */
static bool
has_piece(const struct alqi_view_fold *folds, uint32_t fold,
          const struct piece *piece)
{
    for (uint32_t k = piece->n; k-- > 0; fold = folds[fold].parent)
        if (fold == 0 || folds[fold].function != piece->path[k])
            return false;
    return true;
}

/* Sums the stacks that have the piece. A function is on a fold's path once, so
 * a stack is not counted twice. */
static void
piece_sum(const struct finder *f, struct piece *piece)
{
    const struct alqi_view_fold *folds = f->down.nodes;
    uint32_t last = piece->path[piece->n - 1];

    memset(&piece->sum, 0, sizeof piece->sum);
    for (uint32_t i = 1; i < f->down.n; i++)
        if (folds[i].function == last && f->down.all[i].objects > 0 &&
            has_piece(folds, i, piece))
            alqi_view_sum_join(&piece->sum, &f->down.all[i]);
}

/* Finds the pieces of both trees. False: no memory. */
static bool
pieces_find(struct finder *f)
{
    struct alqi_view_tree_input up = f->in;
    bool is_found;

    up.is_up = true;
    up.min_share = HEAVY;
    f->pieces = calloc(PIECES_MAX, sizeof *f->pieces);
    f->heavy = HEAVY * value(f, f->in.paths->total);
    is_found = f->pieces != NULL && alqi_view_tree_make(&f->up, &up) &&
               alqi_view_tree_make(&f->down, &f->in);
    if (is_found && f->in.paths->total->objects > 0)
        is_found = ends_find(f, &f->down, false) && ends_find(f, &f->up, true);
    for (uint32_t i = 0; is_found && i < f->n; i++)
        piece_sum(f, &f->pieces[i]);
    return is_found;
}

/* ---- choosing ------------------------------------------------------------ */

/* Order by weight, longer ones first among equals. */
static int
by_weight(const void *left, const void *right, void *arg)
{
    const struct piece *a = left, *b = right;
    const struct finder *f = arg;
    double x = value(f, &a->sum), y = value(f, &b->sum);

    if (x != y)
        return x > y ? -1 : 1;
    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    return memcmp(a->path, b->path, a->n * sizeof *a->path);
}

/* The small piece is a part of the large one. */
static bool
is_inside(const struct piece *small, const struct piece *large)
{
    for (uint32_t at = 0; at + small->n <= large->n; at++)
        if (memcmp(large->path + at, small->path,
                   small->n * sizeof *small->path) == 0)
            return true;
    return false;
}

/* Moves the chosen pieces to the front, heaviest first; returns their
 * number. */
static uint32_t
choose(struct finder *f, uint32_t limit)
{
    uint32_t n_chosen = 0;

    alqi_view_sort(f->pieces, f->n, sizeof *f->pieces, by_weight, f);
    for (uint32_t i = 0; i < f->n && n_chosen < limit; i++) {
        struct piece piece = f->pieces[i];
        bool is_new = true;

        for (uint32_t k = 0; k < n_chosen; k++)
            is_new = is_new && !is_inside(&f->pieces[k], &piece) &&
                     !is_inside(&piece, &f->pieces[k]);
        if (!is_new)
            continue;
        f->pieces[i] = f->pieces[n_chosen];
        f->pieces[n_chosen++] = piece;
    }
    return n_chosen;
}

/* ---- the answer ---------------------------------------------------------- */

/* Writes as many of them as fit. */
static void
put_pieces(struct alqi_view_json *out, const struct piece *pieces, uint32_t n,
           struct alqi_view_used *used)
{
    alqi_view_json_key(out, "rows");
    alqi_view_json_open(out, '[');
    for (uint32_t i = 0;
         i < n && out->n + used->bytes < ALQI_VIEW_ROWS_BYTES / 2; i++) {
        alqi_view_json_open(out, '{');
        alqi_view_json_key(out, "path");
        alqi_view_json_open(out, '[');
        for (uint32_t k = 0; k < pieces[i].n; k++)
            alqi_view_json_int(
                out, alqi_view_used_position(used, pieces[i].path[k]));
        alqi_view_json_close(out, ']');
        alqi_view_put_sum(out, "sum", &pieces[i].sum);
        alqi_view_json_close(out, '}');
    }
    alqi_view_json_close(out, ']');
}

static void
finder_free(struct finder *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        free(f->pieces[i].path);
    free(f->pieces);
    alqi_view_tree_free(&f->down);
    alqi_view_tree_free(&f->up);
}

bool
alqi_view_hot(struct alqi_view_ask *ask)
{
    static const struct alqi_view_focus everything;
    const struct alqi_view_scan *scan;
    const struct alqi_view_shape *shape;
    struct alqi_view_paths paths = {.n = 0};
    struct finder f = {
        .in = {.x = ask->x, .paths = &paths, .focus = &everything}};
    uint32_t limit = (uint32_t)alqi_view_query_number(&ask->query, "limit", 1,
                                                      LIMIT_MAX, LIMIT_DEFAULT);
    struct alqi_view_used used = {0};
    bool is_put;

    if (!alqi_view_ready(ask) || !alqi_view_look(ask, &scan, &shape))
        return false;
    f.in.by = ask->filter.by;
    is_put = (alqi_view_used_new(&used, ask->x) &&
              alqi_view_paths_make(&paths, ask->x, shape, scan) &&
              pieces_find(&f)) ||
             alqi_view_give_up(ask);
    if (is_put) {
        alqi_view_put_sum(ask->out, "total", &scan->total);
        put_pieces(ask->out, f.pieces, choose(&f, limit), &used);
        alqi_view_used_put(&used, ask->out);
    }
    alqi_view_used_free(&used);
    alqi_view_paths_free(&paths);
    finder_free(&f);
    return is_put;
}
