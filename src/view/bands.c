/* bands.c -- a line divided by function, thread or module
 *
 * [bands.h] The line is made with its parts by all keys. Their areas say which
 * are bands; the steps of the others are summed. Where the steps of all keys
 * would take too much room the first run makes the areas alone, and a second
 * one the steps, by the keys of the bands.
 *
 * .inv.bands  In each step the bands, as they are written, add up to the line
 *             as it is written, and none is below 0. */
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "view/bands.h"
#include "view/sort.h"

enum { STEPS_MOST = 1 << 22 /* of all keys together: 32 MiB */ };

/* A line while it is divided. */
struct division {
    const struct alqi_view_index *x;
    const struct alqi_view_scan *scan;
    enum alqi_view_draw draw;
    /* the result */
    struct alqi_view_levels *levels;
    struct alqi_view_bands *bands;
    struct alqi_view_keys keys;
    /* by key */
    struct alqi_base_intern ids;
    /* of all keys; what it has is owned */
    struct alqi_view_parts parts;
};

/* ---- keys ---------------------------------------------------------------- */

/* What a number of the keys' column is divided by. */
static uint32_t
id_of(const struct alqi_view_index *x, const struct alqi_view_shape *shape,
      enum alqi_view_divide divide, uint32_t number)
{
    uint32_t function;

    if (divide == ALQI_VIEW_DIVIDE_THREAD)
        return x->origins[number].thread;
    function = x->nodes[shape->site_of_stack[number]].function;
    return divide == ALQI_VIEW_DIVIDE_FUNCTION ? function
                                               : x->functions[function].module;
}

/* Gives each id a key, in the order in which ids are first met. False: no
 * memory. */
static bool
keys_make(struct division *d, const struct alqi_view_shape *shape)
{
    bool is_thread = d->bands->divide == ALQI_VIEW_DIVIDE_THREAD;
    struct alqi_view_keys *keys = &d->keys;

    keys->column = is_thread ? ALQI_VIEW_ORIGIN : ALQI_VIEW_STACK;
    keys->n_numbers = is_thread ? d->x->n_origins : d->x->n_stacks;
    keys->of = calloc((size_t)keys->n_numbers + 1, sizeof *keys->of);
    if (keys->of == NULL)
        return false;
    for (uint32_t i = 0; i < keys->n_numbers; i++) {
        uint32_t id = id_of(d->x, shape, d->bands->divide, i);

        keys->of[i] = alqi_base_intern(&d->ids, &id);
        if (keys->of[i] == ALQI_BASE_INTERN_NONE)
            return false;
    }
    keys->n = d->ids.n > 0 ? d->ids.n : 1;
    return true;
}

/* Makes the line and the parts of all keys: their areas, and their steps if
 * there is room. False: no memory. */
static bool
parts_make(struct division *d)
{
    struct alqi_view_parts *parts = &d->parts;
    uint32_t n = d->keys.n;

    parts->keys = &d->keys;
    parts->area = calloc(n, sizeof *parts->area);
    if (n <= STEPS_MOST / d->levels->n)
        parts->values = calloc(d->levels->n, n * sizeof *parts->values);
    if (parts->area == NULL ||
        !alqi_view_levels_make(d->levels, d->x, d->scan, d->draw, parts))
        return false;
    for (uint32_t i = 0; parts->values != NULL && i < d->levels->n; i++)
        for (uint32_t k = 0; k < n; k++)
            parts->area[k] += parts->values[(size_t)i * n + k];
    return true;
}

/* ---- bands --------------------------------------------------------------- */

/* A key and its area. */
struct ranked {
    uint32_t key;
    double area;
};

/* Order by area, the greatest first, then by key. */
static int
by_area(const void *left, const void *right, void *arg)
{
    const struct ranked *a = left, *b = right;

    (void)arg;
    if (a->area != b->area)
        return a->area > b->area ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

/* Chooses the bands; band[] is that of each key. list[] is scratch. */
static void
bands_choose(struct division *d, struct ranked *list, uint32_t *band)
{
    struct alqi_view_bands *bands = d->bands;
    uint32_t n = 0;

    for (uint32_t i = 0; i < d->ids.n; i++)
        if (d->parts.area[i] > 0)
            list[n++] = (struct ranked){i, d->parts.area[i]};
    alqi_view_sort(list, n, sizeof *list, by_area, NULL);
    bands->n = n < ALQI_VIEW_BANDS_MOST ? n : ALQI_VIEW_BANDS_MOST;
    bands->n_others = n - bands->n;
    bands->n_values = bands->n + 1;
    for (uint32_t i = 0; i < d->keys.n; i++)
        band[i] = bands->n;
    for (uint32_t i = 0; i < bands->n; i++) {
        bands->ids[i] = d->ids.words[list[i].key];
        band[list[i].key] = i;
    }
}

/* Sums the steps of all keys by band. */
static void
bands_sum(struct division *d, const uint32_t *band)
{
    const double *values = d->parts.values;
    uint32_t n = d->keys.n;

    for (uint32_t i = 0; i < d->levels->n; i++)
        for (uint32_t k = 0; k < n; k++)
            d->bands->values[(size_t)i * d->bands->n_values + band[k]] +=
                values[(size_t)i * n + k];
}

/* Makes the line again, by the keys of the bands. False: no memory. */
static bool
bands_remake(struct division *d, const uint32_t *band)
{
    struct alqi_view_parts parts = {.keys = &d->keys,
                                    .values = d->bands->values};

    for (uint32_t i = 0; i < d->keys.n_numbers; i++)
        d->keys.of[i] = band[d->keys.of[i]];
    d->keys.n = d->bands->n_values;
    free(d->levels->values);
    return alqi_view_levels_make(d->levels, d->x, d->scan, d->draw, &parts);
}

/* Fills the bands from the parts of all keys. False: no memory. */
static bool
bands_fill(struct division *d)
{
    struct ranked *list = malloc(d->keys.n * sizeof *list);
    uint32_t *band = malloc(d->keys.n * sizeof *band);
    bool is_filled = list != NULL && band != NULL;

    if (is_filled) {
        bands_choose(d, list, band);
        d->bands->values =
            calloc(d->levels->n, d->bands->n_values * sizeof *d->bands->values);
        is_filled = d->bands->values != NULL;
    }
    if (is_filled && d->parts.values != NULL)
        bands_sum(d, band);
    else if (is_filled)
        is_filled = bands_remake(d, band);
    free(list);
    free(band);
    return is_filled;
}

bool
alqi_view_bands_make(struct alqi_view_bands *bands,
                     struct alqi_view_levels *levels,
                     const struct alqi_view_index *x,
                     const struct alqi_view_scan *scan,
                     const struct alqi_view_shape *shape,
                     enum alqi_view_draw draw)
{
    struct division d = {.x = x,
                         .scan = scan,
                         .draw = draw,
                         .levels = levels,
                         .bands = bands,
                         .ids = {.n_words = 1}};
    bool is_made = keys_make(&d, shape) && parts_make(&d);

    if (is_made && !bands_fill(&d)) {
        free(levels->values);
        levels->values = NULL;
        is_made = false;
    }
    alqi_base_intern_clear(&d.ids);
    free(d.keys.of);
    free(d.parts.area);
    free(d.parts.values);
    return is_made;
}

void
alqi_view_bands_free(struct alqi_view_bands *bands)
{
    free(bands->values);
    bands->values = NULL;
}

/* ---- written ------------------------------------------------------------- */

/* The sum of a step's bands before one of them, as a whole number; that before
 * the one behind the last is the line's (.inv.bands). */
static int64_t
sum_before(const struct alqi_view_bands *bands, uint32_t n_put, uint32_t band,
           uint32_t step, int64_t whole)
{
    const double *values = bands->values + (size_t)step * bands->n_values;
    double sum = 0;
    int64_t rounded;

    if (band == n_put)
        return whole;
    for (uint32_t i = 0; i < band; i++)
        sum += values[i] > 0 ? values[i] : 0;
    rounded = alqi_view_json_rounded(sum);
    return rounded < whole ? rounded : whole;
}

/* Writes what a band is. */
static void
put_id(const struct alqi_view_bands *bands, uint32_t band,
       const struct alqi_view_index *x, struct alqi_view_used *used,
       struct alqi_view_json *out)
{
    if (band == bands->n)
        alqi_view_json_key_int(out, "others", bands->n_others);
    else if (bands->divide == ALQI_VIEW_DIVIDE_FUNCTION)
        alqi_view_json_key_int(out, "function",
                               alqi_view_used_position(used, bands->ids[band]));
    else if (bands->divide == ALQI_VIEW_DIVIDE_THREAD)
        alqi_view_json_key_int(out, "thread", bands->ids[band]);
    else
        alqi_view_json_key_text(out, "module",
                                alqi_view_text(x, bands->ids[band]));
}

/* Writes the values of a band, of n_put that are written. */
static void
put_values(const struct alqi_view_bands *bands, uint32_t n_put, uint32_t band,
           const struct alqi_view_levels *levels, struct alqi_view_json *out)
{
    alqi_view_json_key(out, "values");
    alqi_view_json_open(out, '[');
    for (uint32_t i = 0; i < levels->n; i++) {
        int64_t whole = alqi_view_json_rounded(levels->values[i]);

        alqi_view_json_int(out, sum_before(bands, n_put, band + 1, i, whole) -
                                    sum_before(bands, n_put, band, i, whole));
    }
    alqi_view_json_close(out, ']');
}

bool
alqi_view_bands_put(const struct alqi_view_bands *bands,
                    const struct alqi_view_levels *levels,
                    const struct alqi_view_index *x, struct alqi_view_json *out)
{
    uint32_t n_put = bands->n + (bands->n_others > 0);
    struct alqi_view_used used;
    bool is_made = alqi_view_used_new(&used, x);

    if (is_made) {
        alqi_view_json_key(out, "bands");
        alqi_view_json_open(out, '[');
        for (uint32_t i = 0; i < n_put; i++) {
            alqi_view_json_open(out, '{');
            put_id(bands, i, x, &used, out);
            put_values(bands, n_put, i, levels, out);
            alqi_view_json_close(out, '}');
        }
        alqi_view_json_close(out, ']');
        alqi_view_used_put(&used, out);
    }
    alqi_view_used_free(&used);
    return is_made;
}
