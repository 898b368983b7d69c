/* set.c -- the traces of a viewer, with their latest scans and shapes
 *
 * [set.h] Each trace keeps a few scans, found by filter, and a few shapes,
 * found by how they look. When one is missing it is made in place of the one
 * that was not asked for the longest time. A pointer that was handed out is
 * valid until its place is used again. */
#include <stdlib.h>
#include <string.h>

#include "view/set.h"
#include "view/whole.h"

struct alqi_view_set *
alqi_view_set_new(void)
{
    struct alqi_view_set *set = calloc(1, sizeof *set);

    if (set == NULL)
        return NULL;
    set->traces = calloc(ALQI_VIEW_TRACES_MAX, sizeof *set->traces);
    if (set->traces != NULL)
        return set;
    free(set);
    return NULL;
}

/* Frees the index and what answers have kept of it. */
static void
trace_close(struct alqi_view_trace *t)
{
    for (int k = 0; k < ALQI_VIEW_SCANS_KEPT; k++) {
        alqi_view_scan_free(&t->scans[k]);
        alqi_view_cells_free(&t->cells[k]);
    }
    for (int k = 0; k < ALQI_VIEW_SHAPES_KEPT; k++)
        alqi_view_shape_free(&t->shapes[k]);
    for (int k = 0; k < ALQI_VIEW_N_DRAWS; k++)
        free(t->levels[k].values);
    alqi_view_wholes_free(&t->index);
    alqi_view_index_close(&t->index);
}

/* Opens an index with its wholes. NULL, or what is wrong; then nothing is open.
 */
static const char *
index_open(struct alqi_view_index *x, const void *bytes, size_t n_bytes)
{
    const char *error = alqi_view_index_open(x, bytes, n_bytes);

    if (error == NULL && !alqi_view_wholes_make(x))
        error = "there is no memory for it";
    if (error != NULL) {
        alqi_view_wholes_free(x);
        alqi_view_index_close(x);
    }
    return error;
}

void
alqi_view_set_drop(struct alqi_view_set *set)
{
    if (set == NULL)
        return;
    for (uint32_t i = 0; i < set->n_traces; i++)
        trace_close(&set->traces[i]);
    free(set->traces);
    free(set);
}

/* A trace that cannot be opened leaves the set as it was. */
const char *
alqi_view_set_add(struct alqi_view_set *set, const void *bytes, size_t n_bytes)
{
    struct alqi_view_trace *t = &set->traces[set->n_traces];
    const char *error;

    if (set->n_traces == ALQI_VIEW_TRACES_MAX)
        return "there are too many traces";
    error = index_open(&t->index, bytes, n_bytes);
    if (error == NULL)
        set->n_traces++;
    return error;
}

const char *
alqi_view_set_renew(struct alqi_view_set *set, uint32_t trace,
                    const void *bytes, size_t n_bytes)
{
    struct alqi_view_trace fresh = {.n_asked = 0};
    const char *error = index_open(&fresh.index, bytes, n_bytes);

    if (error != NULL)
        return error;
    trace_close(&set->traces[trace]);
    set->traces[trace] = fresh;
    return NULL;
}

void
alqi_view_set_lines(struct alqi_view_set *set, alqi_view_lines_fn *lines,
                    void *arg)
{
    set->lines = lines;
    set->lines_arg = arg;
}

/* The place that was not asked for the longest time. */
static uint32_t
oldest(const uint64_t *used, uint32_t n)
{
    uint32_t least = 0;

    for (uint32_t i = 1; i < n; i++)
        if (used[i] < used[least])
            least = i;
    return least;
}

/* The place of the scan of a filter, made if it is not there;
 * ALQI_VIEW_SCANS_KEPT: no memory. A failed run leaves its place empty. The key
 * `by` and what is hidden play no part in what passes. */
static uint32_t
scan_place(struct alqi_view_trace *t, const struct alqi_view_filter *f)
{
    uint32_t at = 0;

    while (at < ALQI_VIEW_SCANS_KEPT &&
           (t->scans[at].bits == NULL ||
            !alqi_view_filter_is_same(&t->scans[at].filter, f)))
        at++;
    if (at == ALQI_VIEW_SCANS_KEPT) {
        at = oldest(t->scan_used, ALQI_VIEW_SCANS_KEPT);
        alqi_view_cells_free(&t->cells[at]);
        alqi_view_scan_free(&t->scans[at]);
        if (!alqi_view_scan_run(&t->scans[at], &t->index, f)) {
            alqi_view_scan_free(&t->scans[at]);
            return ALQI_VIEW_SCANS_KEPT;
        }
    }
    t->scan_used[at] = ++t->n_asked;
    return at;
}

const struct alqi_view_scan *
alqi_view_scan_of(struct alqi_view_trace *t, const struct alqi_view_filter *f)
{
    uint32_t at = scan_place(t, f);

    return at < ALQI_VIEW_SCANS_KEPT ? &t->scans[at] : NULL;
}

const struct alqi_view_cells *
alqi_view_cells_of(struct alqi_view_trace *t, const struct alqi_view_filter *f)
{
    uint32_t at = scan_place(t, f);

    if (at == ALQI_VIEW_SCANS_KEPT)
        return NULL;
    if (t->cells[at].cells == NULL &&
        !alqi_view_cells_make(&t->cells[at], &t->index, &t->scans[at])) {
        alqi_view_cells_free(&t->cells[at]);
        return NULL;
    }
    return &t->cells[at];
}

/* The shape of a look, made if it is not there. NULL: no memory. */
static const struct alqi_view_shape *
look_shape(struct alqi_view_trace *t, const struct alqi_view_look *look)
{
    uint32_t at = 0;

    while (at < ALQI_VIEW_SHAPES_KEPT &&
           (t->shapes[at].folds == NULL ||
            !alqi_view_looks_are_same(&t->shapes[at].look, look)))
        at++;
    if (at == ALQI_VIEW_SHAPES_KEPT) {
        at = oldest(t->shape_used, ALQI_VIEW_SHAPES_KEPT);
        alqi_view_shape_free(&t->shapes[at]);
        if (!alqi_view_shape_make(&t->shapes[at], &t->index, look)) {
            alqi_view_shape_free(&t->shapes[at]);
            return NULL;
        }
    }
    t->shape_used[at] = ++t->n_asked;
    return &t->shapes[at];
}

const struct alqi_view_shape *
alqi_view_shape_of(struct alqi_view_trace *t, const struct alqi_view_filter *f)
{
    struct alqi_view_look look = {.hide = f->hide};

    return look_shape(t, &look);
}

const struct alqi_view_shape *
alqi_view_drawn_of(struct alqi_view_trace *t, const struct alqi_view_filter *f)
{
    struct alqi_view_look look = {f->hide, f->fold, f->keeps_recursion};

    return look_shape(t, &look);
}
