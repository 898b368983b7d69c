/* paths.c -- the call stacks that pass a filter, as pictures show them
 *
 * [paths.h] Threads apart: a thread's cells are together, so one table says
 * which folds have a path of the present thread. A cell goes up from where its
 * stack ends to the first fold that has one, and comes back down making the
 * rest: the work is that of the paths that are made. */
#include <stdlib.h>
#include <string.h>

#include "view/paths.h"

/* Paths of threads while they are made. */
struct splitter {
    const struct alqi_view_index *x;
    const struct alqi_view_shape *shape;
    struct alqi_view_paths *out;
    uint32_t capacity;
    /* the present thread, and its path */
    uint32_t thread, root;
    /* by fold: its path, and the root of the thread that it is of; owned */
    uint32_t *path_of, *root_of;
    /* folds on the way down; owned */
    uint32_t *way;
};

/* Adds a path without sums. False: no memory. */
static bool
path_add(struct splitter *s, uint32_t parent, uint32_t function)
{
    struct alqi_view_paths *p = s->out;

    if (p->n == s->capacity) {
        uint32_t capacity = 2 * s->capacity + 256;
        void *folds = realloc(p->own_folds, capacity * sizeof *p->own_folds);
        void *self;

        if (folds != NULL)
            p->own_folds = folds;
        self = realloc(p->self, capacity * sizeof *p->self);
        if (self != NULL)
            p->self = self;
        if (folds == NULL || self == NULL)
            return false;
        s->capacity = capacity;
    }
    p->own_folds[p->n] = (struct alqi_view_fold){parent, function};
    memset(&p->self[p->n], 0, sizeof *p->self);
    p->n++;
    return true;
}

/* The present thread's path of a fold, made with those above it. UINT32_MAX: no
 * memory. */
static uint32_t
path_at(struct splitter *s, uint32_t fold)
{
    uint32_t n = 0;

    while (s->root_of[fold] != s->root) {
        s->way[n++] = fold;
        fold = s->shape->folds[fold].parent;
    }
    while (n > 0) {
        uint32_t below = s->way[--n];

        if (!path_add(s, s->path_of[fold], s->shape->folds[below].function))
            return UINT32_MAX;
        fold = below;
        s->root_of[fold] = s->root;
        s->path_of[fold] = s->out->n - 1;
    }
    return s->path_of[fold];
}

/* Adds a cell to the paths. False: no memory. */
static bool
cell_place(struct splitter *s, const struct alqi_view_cell *cell)
{
    uint32_t node = s->x->stacks[cell->stack].node, path;

    if (s->root == 0 || cell->thread != s->thread) {
        if (!path_add(s, 0, cell->thread))
            return false;
        s->thread = cell->thread;
        s->root = s->out->n - 1;
        s->root_of[0] = s->path_of[0] = s->root;
    }
    path = path_at(s, s->shape->fold_of_node[node]);
    if (path == UINT32_MAX)
        return false;
    alqi_view_sum_join(&s->out->self[path], &cell->sum);
    return true;
}

/* False: no memory. */
static bool
split(struct alqi_view_paths *p, const struct alqi_view_index *x,
      const struct alqi_view_shape *shape, const struct alqi_view_cells *cells)
{
    struct splitter s = {.x = x, .shape = shape, .out = p};
    bool is_made;

    s.path_of = calloc(shape->n_folds, sizeof *s.path_of);
    s.root_of = calloc(shape->n_folds, sizeof *s.root_of);
    s.way = malloc(shape->n_folds * sizeof *s.way);
    is_made = s.path_of != NULL && s.root_of != NULL && s.way != NULL &&
              path_add(&s, 0, shape->folds[0].function);
    for (uint32_t i = 0; is_made && i < cells->n; i++)
        is_made = cells->cells[i].sum.objects <= 0 ||
                  cell_place(&s, &cells->cells[i]);
    free(s.path_of);
    free(s.root_of);
    free(s.way);
    p->folds = p->own_folds;
    p->all = is_made ? malloc(p->n * sizeof *p->all) : NULL;
    if (p->all != NULL)
        alqi_view_paths_sum(p);
    return p->all != NULL;
}

bool
alqi_view_paths_make(struct alqi_view_paths *p, const struct alqi_view_index *x,
                     const struct alqi_view_shape *shape,
                     const struct alqi_view_scan *scan)
{
    *p = (struct alqi_view_paths){
        .folds = shape->folds, .n = shape->n_folds, .total = &scan->total};
    p->self = malloc(p->n * sizeof *p->self);
    p->all = malloc(p->n * sizeof *p->all);
    if (p->self == NULL || p->all == NULL)
        return false;
    alqi_view_shape_sum(shape, x, scan, p->self, p->all);
    return true;
}

bool
alqi_view_paths_draw(struct alqi_view_paths *p, struct alqi_view_trace *t,
                     const struct alqi_view_filter *f)
{
    const struct alqi_view_scan *scan = alqi_view_scan_of(t, f);
    const struct alqi_view_shape *shape = alqi_view_drawn_of(t, f);
    const struct alqi_view_cells *cells = NULL;

    *p = (struct alqi_view_paths){.n = 0};
    if (f->splits_threads)
        cells = alqi_view_cells_of(t, f);
    if (scan == NULL || shape == NULL || (f->splits_threads && cells == NULL))
        return false;
    if (!f->splits_threads)
        return alqi_view_paths_make(p, &t->index, shape, scan);
    p->total = &scan->total;
    return split(p, &t->index, shape, cells);
}

void
alqi_view_paths_free(struct alqi_view_paths *p)
{
    free(p->own_folds);
    free(p->self);
    free(p->all);
    *p = (struct alqi_view_paths){.n = 0};
}

void
alqi_view_paths_sum(struct alqi_view_paths *p)
{
    memcpy(p->all, p->self, p->n * sizeof *p->all);
    for (uint32_t i = p->n; i-- > 1;)
        alqi_view_sum_join(&p->all[p->folds[i].parent], &p->all[i]);
}
