/* timeline.c -- the answer `timeline`: one figure over time, of all rows and of
 * those that pass, whole or divided; and resident memory
 *
 * The line of all rows is kept with the trace, one of each figure. If every
 * row passes and no heap is left out, it is the line of those that pass, too.
 * Of what is temporary the answer has the bytes, and the lines of the bytes
 * that they are part of: who reads it divides. */
#include <stdlib.h>

#include "view/bands.h"

enum { POINTS_DEFAULT = 450 };

/* By number (levels.h, bands.h), and the same as a query may have them. */
static const char *const draws[] = {"bytes", "blocks", "allocated",
                                    "allocations", "temporary"};
static const char draw_words[] = "bytes blocks allocated allocations temporary";
static const char *const divides[] = {"none", "function", "thread", "module"};
static const char divide_words[] = "none function thread module";

/* A question while it is answered. */
struct course {
    enum alqi_view_draw draw;
    /* the steps, without values */
    struct alqi_view_levels steps;
    const struct alqi_view_scan *scan;
    /* divided, or not */
    struct alqi_view_bands bands;
};

/* Takes `step`, or else n points from the start to the end. */
static void
steps_take(struct alqi_view_ask *ask, struct alqi_view_levels *steps)
{
    uint64_t end_us = ask->x->meta->end_us;
    uint64_t n;

    steps->step_us = alqi_view_query_number(
        &ask->query, "step", end_us / ALQI_VIEW_POINTS_MAX + 1, INT64_MAX, 0);
    if (steps->step_us == 0) {
        n = alqi_view_query_number(&ask->query, "n", 1, ALQI_VIEW_POINTS_MAX,
                                   POINTS_DEFAULT);
        steps->step_us = end_us / n + 1;
    }
    steps->n = (uint32_t)(end_us / steps->step_us) + 1;
}

/* The line of all rows, made or kept from before. NULL: no memory. */
static const struct alqi_view_levels *
all_of(struct alqi_view_ask *ask, const struct course *c,
       enum alqi_view_draw draw)
{
    const struct alqi_view_filter everything = {.trace = ask->filter.trace,
                                                .heap = ALQI_VIEW_HEAP_ALL};
    struct alqi_view_levels *kept = &ask->trace->levels[draw];
    const struct alqi_view_scan *scan = NULL;

    if (kept->values != NULL && kept->step_us == c->steps.step_us)
        return kept;
    if (draw > ALQI_VIEW_DRAW_BLOCKS) {
        scan = alqi_view_scan_of(ask->trace, &everything);
        if (scan == NULL)
            return NULL;
    }
    free(kept->values);
    *kept = c->steps;
    return alqi_view_levels_make(kept, ask->x, scan, draw, NULL) ? kept : NULL;
}

/* Every row passes, and is what it is without the filter. */
static bool
is_everything(const struct alqi_view_ask *ask, const struct course *c)
{
    const struct alqi_view_filter *f = &c->scan->filter;

    return c->scan->total.n == ask->x->n_rows && /* passes, and is counted */
           f->heap == ALQI_VIEW_HEAP_ALL && f->live_kind != ALQI_VIEW_LIVE_PEAK;
}

static void
put_levels(struct alqi_view_json *out, const char *key,
           const struct alqi_view_levels *levels)
{
    alqi_view_json_key(out, key);
    alqi_view_json_open(out, '[');
    for (uint32_t i = 0; i < levels->n; i++)
        alqi_view_json_whole(out, levels->values[i]);
    alqi_view_json_close(out, ']');
}

/* Writes the most resident bytes of each step; null where there is no
 * record. */
static void
put_resident(struct alqi_view_json *out, const struct alqi_view_index *x,
             const struct alqi_view_levels *steps)
{
    uint32_t k = 0;

    alqi_view_json_key(out, "rss");
    alqi_view_json_open(out, '[');
    for (uint32_t i = 0; x->n_resident > 0 && i < steps->n; i++) {
        uint64_t end_us = (i + 1) * steps->step_us, most = 0;

        for (; k < x->n_resident &&
               (x->resident[k].us < end_us || i + 1 == steps->n);
             k++)
            if (x->resident[k].bytes > most)
                most = x->resident[k].bytes;
        if (most > 0)
            alqi_view_json_int(out, (int64_t)(most & INT64_MAX));
        else
            alqi_view_json_null(out);
    }
    alqi_view_json_close(out, ']');
}

/* Writes the line of the rows that pass. False: no memory. */
static bool
put_part(struct alqi_view_ask *ask, const struct course *c, const char *key,
         const struct alqi_view_levels *all, enum alqi_view_draw draw)
{
    struct alqi_view_levels part = c->steps;

    if (is_everything(ask, c)) {
        put_levels(ask->out, key, all);
        return true;
    }
    if (!alqi_view_levels_make(&part, ask->x, c->scan, draw, NULL))
        return false;
    put_levels(ask->out, key, &part);
    free(part.values);
    return true;
}

/* Writes the line of the rows that pass, and its bands. False: no memory. */
static bool
put_bands(struct alqi_view_ask *ask, struct course *c)
{
    const struct alqi_view_shape *shape =
        alqi_view_shape_of(ask->trace, &ask->filter);
    struct alqi_view_levels part = c->steps;
    bool is_put =
        shape != NULL &&
        alqi_view_bands_make(&c->bands, &part, ask->x, c->scan, shape, c->draw);

    if (is_put) {
        put_levels(ask->out, "part", &part);
        is_put = alqi_view_bands_put(&c->bands, &part, ask->x, ask->out);
        free(part.values);
    }
    alqi_view_bands_free(&c->bands);
    return is_put;
}

/* Writes the lines of a figure, with "_of" behind the keys if that is what
 * others are part of. False: no memory. */
static bool
put_lines(struct alqi_view_ask *ask, struct course *c, enum alqi_view_draw draw,
          bool is_of)
{
    const struct alqi_view_levels *all = all_of(ask, c, draw);

    if (all == NULL)
        return false;
    put_levels(ask->out, is_of ? "all_of" : "all", all);
    if (!is_of && c->bands.divide != ALQI_VIEW_UNDIVIDED)
        return put_bands(ask, c);
    return put_part(ask, c, is_of ? "part_of" : "part", all, draw);
}

bool
alqi_view_timeline(struct alqi_view_ask *ask)
{
    struct course c = {.draw = ALQI_VIEW_DRAW_BYTES};

    steps_take(ask, &c.steps);
    c.draw = (enum alqi_view_draw)alqi_view_query_choice(&ask->query, "draw",
                                                         draw_words);
    c.bands.divide = (enum alqi_view_divide)alqi_view_query_choice(
        &ask->query, "stack", divide_words);
    if (!alqi_view_ready(ask))
        return false;
    c.scan = alqi_view_scan_of(ask->trace, &ask->filter);
    if (c.scan == NULL)
        return alqi_view_give_up(ask);
    alqi_view_json_key_text(ask->out, "draw", draws[c.draw]);
    alqi_view_json_key_text(ask->out, "stack", divides[c.bands.divide]);
    alqi_view_json_key_int(ask->out, "step_us", (int64_t)c.steps.step_us);
    alqi_view_json_key_int(ask->out, "end_us", (int64_t)ask->x->meta->end_us);
    if (!put_lines(ask, &c, c.draw, false) ||
        (c.draw == ALQI_VIEW_DRAW_TEMPORARY &&
         !put_lines(ask, &c, ALQI_VIEW_DRAW_ALLOCATED, true)))
        return alqi_view_give_up(ask);
    put_resident(ask->out, ask->x, &c.steps);
    alqi_view_put_peak_us(ask->out, ask->x);
    alqi_view_put_sum(ask->out, "total", &c.scan->total);
    return true;
}
