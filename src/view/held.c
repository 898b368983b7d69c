/* held.c -- the answer `held`: what was never freed, by what holds it
 *                                                      [doc/design/leaks.md]
 *
 * Of what passes the filter, as in `reach`; a row is a class, a way from a
 * root, and the sites of what it leads to (holdings.h). What no step is told of
 * is in `untold`. */
#include <stdlib.h>

#include "view/holdings.h"
#include "view/sites.h"

enum {
    LIMIT_DEFAULT = 100,
    ROW_BYTES = 400,
    SITE_BYTES = 410,
    STEP_BYTES = 30, /* beside its name */
    SITES_MOST = 3   /* of a row */
};

struct held {
    struct alqi_view_ask *ask;
    struct alqi_view_sites_question q;
    struct alqi_view_sites sites; /* row_of_stack: none of what rules take */
    struct alqi_view_holdings holdings;
    struct alqi_view_used used;
    size_t n_bytes; /* estimate of those of the rows */
};

/* ---- rows ---------------------------------------------------------------- */

/* False: no memory. */
static bool
rows_make(struct held *h)
{
    const struct alqi_view_index *x = h->ask->x;
    uint32_t *row_of_stack =
        calloc((size_t)x->n_stacks + 1, sizeof *h->sites.row_of_stack);

    h->sites.row_of_stack = row_of_stack;
    if (row_of_stack == NULL ||
        !alqi_view_sites_make(&h->sites, x, h->q.shape, h->q.scan, NULL,
                              h->q.grouping))
        return false;
    for (uint32_t i = 0; i < x->n_stacks; i++)
        if (x->stacks[i].is_suppressed != 0)
            row_of_stack[i] = ALQI_VIEW_NO_GROUP;
    return x->n_steps == 0 ||
           alqi_view_holdings_make(&h->holdings, x, h->q.scan, row_of_stack,
                                   h->ask->filter.by);
}

static const char *
step_name(const struct held *h, uint32_t step)
{
    return alqi_view_text(h->ask->x, h->ask->x->steps[step].name);
}

/* Whether a site or a step of it is searched for. */
static bool
is_found(struct held *h, const struct alqi_view_holding *sum)
{
    const struct alqi_view_index *x = h->ask->x;

    for (uint32_t i = 1; i <= sum->n; i++)
        if (alqi_view_search_takes(&h->q.search, x,
                                   h->sites.rows[sum[i].group].function))
            return true;
    for (uint32_t s = sum->step; s != ALQI_VIEW_NO_STEP; s = x->steps[s].in)
        if (alqi_view_search_takes_name(&h->q.search, step_name(h, s)))
            return true;
    return false;
}

/* ---- the answer ---------------------------------------------------------- */

/* Writes the steps, the holder first: what is before it stands behind it. */
static void
put_way(struct held *h, uint32_t step)
{
    const struct alqi_view_index *x = h->ask->x;
    struct alqi_view_json *out = h->ask->out;

    alqi_view_json_key(out, "way");
    alqi_view_json_open(out, '[');
    for (; step != ALQI_VIEW_NO_STEP; step = x->steps[step].in) {
        alqi_view_json_open(out, '{');
        alqi_view_json_key_text(out, "name", step_name(h, step));
        alqi_view_json_key_int(out, "most", x->steps[step].most);
        alqi_view_json_close(out, '}');
        h->n_bytes += STEP_BYTES + alqi_view_json_bytes(step_name(h, step));
    }
    alqi_view_json_close(out, ']');
}

/* Writes the largest of its sites, each with what of it is held there. */
static void
put_sites(struct held *h, const struct alqi_view_holding *sum)
{
    struct alqi_view_json *out = h->ask->out;

    alqi_view_json_key(out, "sites");
    alqi_view_json_open(out, '[');
    for (uint32_t i = 1; i <= sum->n && i <= SITES_MOST; i++) {
        struct alqi_view_site site = h->sites.rows[sum[i].group];

        site.sum = sum[i].sum;
        alqi_view_json_open(out, '{');
        alqi_view_put_site(out, &site, h->q.shape, &h->used);
        alqi_view_json_close(out, '}');
        h->n_bytes += SITE_BYTES;
    }
    alqi_view_json_close(out, ']');
    alqi_view_json_key_int(out, "n_sites", sum->n);
}

static void
put_row(struct held *h, const struct alqi_view_holding *sum)
{
    struct alqi_view_json *out = h->ask->out;

    alqi_view_json_open(out, '{');
    alqi_view_json_key_text(out, "class", alqi_view_reach_name(sum->reach));
    put_way(h, sum->step);
    alqi_view_put_sum(out, "sum", &sum->sum);
    put_sites(h, sum);
    alqi_view_json_close(out, '}');
    h->n_bytes += ROW_BYTES;
}

/* Writes the rows that fit and are found; the rest as one, and what has no
 * holder as another. */
static void
put_all(struct held *h)
{
    struct alqi_view_json *out = h->ask->out;
    const struct alqi_view_holding *sum = NULL;
    struct alqi_view_sum total = {0}, untold = {0}, rest = {0};
    uint64_t n_put = 0, n_rest = 0;

    alqi_view_json_key(out, "rows");
    alqi_view_json_open(out, '[');
    while ((sum = alqi_view_holdings_next(&h->holdings, sum)) != NULL) {
        alqi_view_sum_join(&total, &sum->sum);
        if (sum->step == ALQI_VIEW_NO_STEP) {
            alqi_view_sum_join(&untold, &sum->sum);
        } else if (n_put < h->q.limit &&
                   h->n_bytes + h->used.bytes < ALQI_VIEW_ROWS_BYTES &&
                   is_found(h, sum)) {
            put_row(h, sum);
            n_put++;
        } else {
            alqi_view_sum_join(&rest, &sum->sum);
            n_rest++;
        }
    }
    alqi_view_json_close(out, ']');
    alqi_view_put_sum(out, "total", &total);
    alqi_view_put_sum(out, "untold", &untold);
    alqi_view_put_rest(out, n_rest, &rest);
    alqi_view_used_put(&h->used, out);
}

/* used is made even if the rows are not, so that it can be freed. */
bool
alqi_view_held(struct alqi_view_ask *ask)
{
    struct held h = {.ask = ask};
    bool is_put;

    if (!alqi_view_sites_take(&h.q, ask, LIMIT_DEFAULT))
        return false;
    is_put = rows_make(&h);
    is_put = alqi_view_used_new(&h.used, ask->x) && is_put;
    if (is_put)
        put_all(&h);
    alqi_view_used_free(&h.used);
    alqi_view_holdings_free(&h.holdings);
    free(h.sites.row_of_stack);
    free(h.sites.rows);
    return alqi_view_sites_done(&h.q, ask, is_put);
}
