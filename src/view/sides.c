/* sides.c -- the two sides of a comparison
 *
 * [sides.h] Phases: take (both filters from the query, common numbers) -> look
 * (scans and shapes) -> apart (what each stack adds to the variance of the
 * difference) -> free.
 *
 * If both sides are of one trace, a row that passes both filters adds nothing:
 * it is the same sample on both sides. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/sides.h"
#include "view/significance.h"

double
alqi_view_apart_variance(const struct alqi_view_apart *a)
{
    double own = a->a.bytes_var + a->b.bytes_var;

    return own > a->null_var ? own : a->null_var;
}

struct alqi_view_interval
alqi_view_apart_interval(const struct alqi_view_apart *apart)
{
    struct alqi_view_interval a =
        alqi_view_sum_interval(&apart->a, ALQI_VIEW_BY_BYTES);
    struct alqi_view_interval b =
        alqi_view_sum_interval(&apart->b, ALQI_VIEW_BY_BYTES);

    return alqi_view_interval_between(apart->a.bytes, &a, apart->b.bytes, &b);
}

double
alqi_view_apart_sigmas(const struct alqi_view_apart *a, double bytes)
{
    return alqi_view_sigmas(bytes, alqi_view_apart_variance(a),
                            a->largest_bytes);
}

bool
alqi_view_sides_take(struct alqi_view_ask *ask, struct alqi_view_sides *s)
{
    memset(s, 0, sizeof *s);
    s->a.filter = ask->filter;
    s->b.is_b = true;
    if (!alqi_view_filter_take(&s->b.filter, &ask->query, "b.",
                               ask->set->n_traces))
        return false;
    s->a.trace = ask->trace;
    s->b.trace = &ask->set->traces[s->b.filter.trace];
    s->a.x = &s->a.trace->index;
    s->b.x = &s->b.trace->index;
    if (alqi_view_both_make(&s->both, s->a.x, s->b.x))
        return true;
    return alqi_view_give_up(ask);
}

bool
alqi_view_sides_look(struct alqi_view_ask *ask, struct alqi_view_sides *s)
{
    s->a.scan = alqi_view_scan_of(s->a.trace, &s->a.filter);
    s->a.shape = alqi_view_shape_of(s->a.trace, &s->a.filter);
    s->b.scan = alqi_view_scan_of(s->b.trace, &s->b.filter);
    s->b.shape = alqi_view_shape_of(s->b.trace, &s->b.filter);
    return (s->a.scan != NULL && s->a.shape != NULL && s->b.scan != NULL &&
            s->b.shape != NULL) ||
           alqi_view_give_up(ask);
}

void
alqi_view_sides_free(struct alqi_view_sides *s)
{
    alqi_view_both_free(&s->both);
    free(s->a.apart);
    free(s->b.apart);
}

/* ---- chance -------------------------------------------------------------- */

/* What one sampled block of a class adds when the other side was sampled at
 * other_lambda; 0 means that it is the same recording. */
static struct alqi_view_apart
class_apart(const struct alqi_view_side *s, uint32_t c, double other_lambda,
            bool is_colour)
{
    const struct alqi_view_index *x = s->x;
    const struct alqi_view_class *k = &x->classes[c];
    const struct alqi_view_weight *w =
        &(is_colour ? x->colour_weights : x->weights)[c];
    struct alqi_view_sum own = {
        .bytes = w->bytes,
        .bytes_var = w->bytes_var,
        .bytes_third = w->bytes_third,
        .seen_bytes = w->seen_bytes,
        .most_bytes = x->most_bytes,
        .peak = s->scan->total.peak,
        .peak_bytes = s->scan->total.peak_bytes,
    };
    double p = is_colour ? k->colour_p : k->p, q = p;
    double bytes = (double)k->size_bytes;
    struct alqi_view_apart a = {.largest_bytes = bytes};

    *(s->is_b ? &a.b : &a.a) = own;
    if (other_lambda == 0) {
        a.null_var = w->bytes_var;
        a.largest_bytes = p < 1 ? bytes : 0;
        return a;
    }
    q = other_lambda < 1 ? -expm1((double)k->words * log1p(-other_lambda)) : 1;
    if (is_colour) {
        q = alqi_view_colour_chance(q);
        bytes /= ALQI_VIEW_COLOURS;
    }
    a.null_var = bytes * bytes * ((1 - p) / p + (1 - q) / q) / (p + q);
    return a;
}

/* Adds a row to its stack. At the peak it counts once for each colour that
 * counts it. */
static void
row_apart(struct alqi_view_side *s, const struct alqi_view_rows *r, uint32_t i,
          bool is_colour, const struct alqi_view_apart *of_class)
{
    int n = is_colour ? __builtin_popcountll(r->flags[i] & ALQI_VIEW_PEAK) : 1;

    while (n-- > 0)
        alqi_view_apart_join(&s->apart[r->stack[i]], &of_class[r->class_[i]]);
}

/* Fills in s->apart. other: the scan of the other side if it is of the same
 * trace, or NULL. False: no memory. */
static bool
side_apart(struct alqi_view_side *s, const struct alqi_view_scan *other,
           double other_lambda)
{
    const struct alqi_view_index *x = s->x;
    struct alqi_view_apart *of_class =
        malloc(((size_t)x->n_classes + 1) * sizeof *of_class);
    struct alqi_view_rows *r = malloc(sizeof *r);
    bool is_colour = s->scan->filter.live_kind == ALQI_VIEW_LIVE_PEAK;

    s->apart = calloc((size_t)x->n_stacks + 1, sizeof *s->apart);
    for (uint32_t c = 0; of_class != NULL && c < x->n_classes; c++)
        of_class[c] = class_apart(s, c, other_lambda, is_colour);
    for (uint32_t b = 0;
         of_class != NULL && r != NULL && s->apart != NULL && b < x->n_blocks;
         b++) {
        if (!alqi_view_rows_read(r, x, s->scan, b))
            continue;
        for (uint32_t i = 0; i < r->n; i++)
            if (r->passes[i] &&
                (other == NULL ||
                 !alqi_view_scan_passes(other, b * ALQI_VIEW_BLOCK_ROWS + i)))
                row_apart(s, r, i, is_colour, of_class);
    }
    free(of_class);
    free(r);
    return of_class != NULL && r != NULL && s->apart != NULL;
}

bool
alqi_view_sides_apart(struct alqi_view_sides *s)
{
    bool is_one = s->a.trace == s->b.trace;

    return side_apart(&s->a, is_one ? s->b.scan : NULL,
                      is_one ? 0 : s->b.x->meta->lambda) &&
           side_apart(&s->b, is_one ? s->a.scan : NULL,
                      is_one ? 0 : s->a.x->meta->lambda);
}
