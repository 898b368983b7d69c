/* set.c -- the traces of a viewer, with their latest scans and shapes
 *
 * [set.h] Each trace keeps a few scans, found by filter, and a few shapes,
 * found by what is hidden. When one is missing it is made in place of the one
 * that was not asked for the longest time. A pointer that was handed out is
 * valid until its place is used again. */
#include <stdlib.h>
#include <string.h>

#include "view/set.h"

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
    for (int k = 0; k < ALQI_VIEW_SCANS_KEPT; k++)
        alqi_view_scan_free(&t->scans[k]);
    for (int k = 0; k < ALQI_VIEW_SHAPES_KEPT; k++)
        alqi_view_shape_free(&t->shapes[k]);
    for (int k = 0; k < ALQI_VIEW_N_DRAWS; k++)
        free(t->levels[k].values);
    alqi_view_index_close(&t->index);
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
    error = alqi_view_index_open(&t->index, bytes, n_bytes);
    if (error == NULL)
        set->n_traces++;
    else
        alqi_view_index_close(&t->index);
    return error;
}

const char *
alqi_view_set_renew(struct alqi_view_set *set, uint32_t trace,
                    const void *bytes, size_t n_bytes)
{
    struct alqi_view_trace fresh = {.n_asked = 0};
    const char *error = alqi_view_index_open(&fresh.index, bytes, n_bytes);

    if (error != NULL) {
        alqi_view_index_close(&fresh.index);
        return error;
    }
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

/* A failed run leaves its place empty. The key `by` and what is hidden play no
 * part in what passes. */
const struct alqi_view_scan *
alqi_view_scan_of(struct alqi_view_trace *t, const struct alqi_view_filter *f)
{
    uint32_t at = 0;

    while (at < ALQI_VIEW_SCANS_KEPT &&
           (t->scans[at].bits == NULL ||
            !alqi_view_filter_is_same(&t->scans[at].filter, f)))
        at++;
    if (at == ALQI_VIEW_SCANS_KEPT) {
        at = oldest(t->scan_used, ALQI_VIEW_SCANS_KEPT);
        alqi_view_scan_free(&t->scans[at]);
        if (!alqi_view_scan_run(&t->scans[at], &t->index, f)) {
            alqi_view_scan_free(&t->scans[at]);
            return NULL;
        }
    }
    t->scan_used[at] = ++t->n_asked;
    return &t->scans[at];
}

/* Only what is hidden plays a part in a shape. */
const struct alqi_view_shape *
alqi_view_shape_of(struct alqi_view_trace *t, const struct alqi_view_filter *f)
{
    uint32_t at = 0;

    while (at < ALQI_VIEW_SHAPES_KEPT &&
           (t->shapes[at].folds == NULL ||
            !alqi_view_words_are_same(&t->shapes[at].hide, &f->hide)))
        at++;
    if (at == ALQI_VIEW_SHAPES_KEPT) {
        at = oldest(t->shape_used, ALQI_VIEW_SHAPES_KEPT);
        alqi_view_shape_free(&t->shapes[at]);
        if (!alqi_view_shape_make(&t->shapes[at], &t->index, &f->hide)) {
            alqi_view_shape_free(&t->shapes[at]);
            return NULL;
        }
    }
    t->shape_used[at] = ++t->n_asked;
    return &t->shapes[at];
}
