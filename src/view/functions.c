/* functions.c -- the answer `functions`: each function, as a site and with all
 * that it calls
 *
 * Rows are in the order of what each function has with all it calls. Those
 * sums overlap, so the rest is given by what its functions have as sites,
 * which adds up. */
#include <stdlib.h>
#include <string.h>

#include "view/function_sums.h"
#include "view/order.h"
#include "view/search.h"
#include "view/sort.h"

enum { LIMIT_DEFAULT = 500, LIMIT_MAX = 100000, ROW_BYTES = 580 };

/* How the rows of an answer are sorted. */
struct sorting {
    struct alqi_view_order order;
    /* what functions have as sites */
    const struct alqi_view_sum *self;
};

/* Order by what the query asks for, then by number. */
static int
by_order(const void *left, const void *right, void *arg)
{
    const struct alqi_view_named *a = left, *b = right;
    const struct sorting *s = arg;
    const struct alqi_view_order *o = &s->order;
    const struct alqi_view_function *f = &o->x->functions[a->function];
    const struct alqi_view_function *g = &o->x->functions[b->function];
    double x = alqi_view_sum_value(&s->self[a->function], o->by);
    double y = alqi_view_sum_value(&s->self[b->function], o->by);
    int c = alqi_view_order_compare(o, alqi_view_order_figure(o, &a->sum, x),
                                    alqi_view_order_figure(o, &b->sum, y),
                                    alqi_view_text(o->x, f->name),
                                    alqi_view_text(o->x, g->name));

    if (c != 0)
        return c;
    return a->function < b->function ? -1 : a->function > b->function;
}

/* Writes one function. */
static void
put_row(struct alqi_view_json *out, const struct alqi_view_named *row,
        const struct alqi_view_sum *self, struct alqi_view_used *used)
{
    alqi_view_json_open(out, '{');
    alqi_view_json_key_int(out, "function",
                           alqi_view_used_position(used, row->function));
    alqi_view_json_key_int(out, "id", row->function);
    alqi_view_put_sum(out, "self", &self[row->function]);
    alqi_view_put_sum(out, "all", &row->sum);
    alqi_view_json_close(out, '}');
}

/* Writes the rows that fit and are found; the rest as one. */
static void
put_rows(struct alqi_view_ask *ask, const struct alqi_view_named *list,
         uint32_t n, const struct alqi_view_sum *self, uint64_t limit,
         struct alqi_view_search *search)
{
    struct alqi_view_used used;
    struct alqi_view_sum rest = {0};
    uint64_t n_put = 0, n_rest = 0;

    if (!alqi_view_used_new(&used, ask->x)) {
        alqi_view_give_up(ask);
        alqi_view_used_free(&used);
        return;
    }
    alqi_view_json_key(ask->out, "rows");
    alqi_view_json_open(ask->out, '[');
    for (uint32_t i = 0; i < n; i++) {
        if (n_put < limit &&
            n_put * ROW_BYTES + used.bytes < ALQI_VIEW_ROWS_BYTES &&
            alqi_view_search_takes(search, ask->x, list[i].function)) {
            put_row(ask->out, &list[i], self, &used);
            n_put++;
        } else {
            alqi_view_sum_join(&rest, &self[list[i].function]);
            n_rest++;
        }
    }
    alqi_view_json_close(ask->out, ']');
    alqi_view_put_rest(ask->out, n_rest, &rest);
    alqi_view_used_put(&used, ask->out);
    alqi_view_used_free(&used);
}

/* The list is made for all functions; what is searched for is decided when a
 * row is written, so that the rest is right. */
bool
alqi_view_functions(struct alqi_view_ask *ask)
{
    uint64_t limit = alqi_view_query_number(&ask->query, "limit", 1, LIMIT_MAX,
                                            LIMIT_DEFAULT);
    const struct alqi_view_scan *scan;
    const struct alqi_view_shape *shape;
    struct alqi_view_sum *self, *folds, *all = NULL;
    struct alqi_view_search search;
    struct alqi_view_named *list;
    struct sorting sorting;

    alqi_view_order_take(&sorting.order, ask, "sort",
                         ALQI_VIEW_SUM_COLUMNS " self");
    if (!alqi_view_search_take(&search, ask) || !alqi_view_ready(ask) ||
        !alqi_view_look(ask, &scan, &shape)) {
        alqi_view_search_free(&search);
        return false;
    }
    self = alqi_view_sums_self(ask->x, shape, scan);
    folds = alqi_view_sums_of_folds(ask->x, shape, scan);
    if (folds != NULL)
        all = alqi_view_sums_all(ask->x, shape, folds);
    list = malloc(ask->x->n_functions * sizeof *list);
    if (self == NULL || all == NULL || list == NULL) {
        alqi_view_give_up(ask);
    } else {
        uint32_t n = alqi_view_sums_list(ask->x, all, ask->filter.by, list);

        sorting.self = self;
        sorting.order.x = ask->x;
        sorting.order.by = ask->filter.by;
        alqi_view_sort(list, n, sizeof *list, by_order, &sorting);
        alqi_view_put_sum(ask->out, "total", &scan->total);
        put_rows(ask, list, n, self, limit, &search);
        alqi_view_search_done(&search, ask);
    }
    free(self);
    free(folds);
    free(all);
    free(list);
    alqi_view_search_free(&search);
    return ask->status == 200;
}
