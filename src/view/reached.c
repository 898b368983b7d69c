/* reached.c -- the answer `reach`: what was never freed, by site and by what
 * leads to it                                          [doc/design/leaks.md]
 *
 * Of what passes the filter the rows that were never freed and no rule takes
 * are added up once more, by site and class. */
#include <stdlib.h>

#include "view/order.h"
#include "view/sites.h"
#include "view/sort.h"

enum { LIMIT_DEFAULT = 500, ROW_BYTES = 410, CLASS_BYTES = 260 };

/* The second is the name, as in all tables (order.h). */
#define COLUMNS "lost name indirect possible held unknown"

/* By column; the name has none. */
static const enum alqi_view_reach columns[] = {
    ALQI_VIEW_LOST,     ALQI_VIEW_LOST, ALQI_VIEW_INDIRECT,
    ALQI_VIEW_POSSIBLE, ALQI_VIEW_HELD, ALQI_VIEW_UNTOLD};

/* A site, and what of it has each class. */
struct row {
    struct alqi_view_site site;
    struct alqi_view_sum by[ALQI_VIEW_REACHES];
};

struct reached {
    /* by site, sorted in the end; owned */
    struct row *rows;
    uint32_t n;
    struct alqi_view_sum by[ALQI_VIEW_REACHES], total;
    struct alqi_view_order order;
};

/* ---- sums ---------------------------------------------------------------- */

/* Adds the rows of a block. */
static void
block_sum(struct reached *r, const struct alqi_view_index *x,
          const struct alqi_view_scan *scan, const struct alqi_view_rows *block,
          const uint32_t *row_of_stack)
{
    for (uint32_t i = 0; i < block->n; i++) {
        uint32_t stack = block->stack[i];

        if (block->passes[i] != 0 && (block->flags[i] & ALQI_VIEW_LEFT) != 0 &&
            x->stacks[stack].is_suppressed == 0)
            alqi_view_row_sum(&r->rows[row_of_stack[stack]]
                                   .by[alqi_view_reach_of(block->flags[i])],
                              x, scan, block, i);
    }
}

/* The sums of sites, and of all, from those of classes; sites with nothing
 * go. */
static void
sums_join(struct reached *r, const struct alqi_view_index *x)
{
    uint32_t n = 0;

    /* What a class without a block may have, too. */
    for (int c = 0; c < ALQI_VIEW_REACHES; c++) {
        r->by[c].most_bytes = x->most_bytes;
        r->by[c].most_objects = x->most_objects;
    }
    for (uint32_t i = 0; i < r->n; i++) {
        struct row *row = &r->rows[i];

        row->site.sum = (struct alqi_view_sum){0};
        for (int c = 0; c < ALQI_VIEW_REACHES; c++) {
            alqi_view_sum_join(&row->site.sum, &row->by[c]);
            alqi_view_sum_join(&r->by[c], &row->by[c]);
        }
        alqi_view_sum_join(&r->total, &row->site.sum);
        if (row->site.sum.objects > 0)
            r->rows[n++] = *row;
    }
    r->n = n;
}

/* False: no memory. */
static bool
rows_make(struct reached *r, const struct alqi_view_index *x,
          const struct alqi_view_sites *sites,
          const struct alqi_view_scan *scan)
{
    struct alqi_view_rows *block = malloc(sizeof *block);
    bool is_made;

    r->n = sites->n;
    r->rows = calloc((size_t)r->n + 1, sizeof *r->rows);
    is_made = block != NULL && r->rows != NULL;
    for (uint32_t i = 0; is_made && i < r->n; i++)
        r->rows[i].site = sites->rows[i];
    for (uint32_t b = 0; is_made && b < x->n_blocks; b++)
        if (alqi_view_rows_read(block, x, scan, b))
            block_sum(r, x, scan, block, sites->row_of_stack);
    free(block);
    if (is_made)
        sums_join(r, x);
    return is_made;
}

/* ---- order --------------------------------------------------------------- */

/* What the column tells of a row. */
static double
figure_of(const struct alqi_view_order *o, const struct row *row)
{
    return alqi_view_sum_value(&row->by[columns[o->column]], o->by);
}

static const char *
name_of(const struct alqi_view_order *o, const struct row *row)
{
    return alqi_view_text(o->x, o->x->functions[row->site.function].name);
}

/* By what the query asks for, then the largest first, then by function and
 * line. */
static int
by_order(const void *left, const void *right, void *arg)
{
    const struct row *a = left, *b = right;
    const struct alqi_view_order *o = arg;
    double x = alqi_view_sum_value(&a->site.sum, o->by);
    double y = alqi_view_sum_value(&b->site.sum, o->by);
    int c = alqi_view_order_compare(o, figure_of(o, a), figure_of(o, b),
                                    name_of(o, a), name_of(o, b));

    if (c != 0)
        return c;
    if (x != y)
        return x > y ? -1 : 1;
    if (a->site.function != b->site.function)
        return a->site.function < b->site.function ? -1 : 1;
    return (a->site.line > b->site.line) - (a->site.line < b->site.line);
}

/* ---- the answer ---------------------------------------------------------- */

/* Writes a member for each class, or for each that has a block. */
static void
put_classes(struct alqi_view_json *out, const struct alqi_view_sum *by,
            bool is_all)
{
    alqi_view_json_key(out, "reach");
    alqi_view_json_open(out, '{');
    for (int c = 0; c < ALQI_VIEW_REACHES; c++)
        if (is_all || by[c].objects > 0)
            alqi_view_put_sum(
                out, alqi_view_reach_name((enum alqi_view_reach)c), &by[c]);
    alqi_view_json_close(out, '}');
}

/* Writes the rows that fit and are found; the rest as one. */
static void
put_rows(struct alqi_view_ask *ask, const struct reached *r,
         struct alqi_view_used *used, struct alqi_view_sites_question *q)
{
    struct alqi_view_sum rest = {0};
    uint64_t n_put = 0, n_rest = 0;
    size_t row_bytes = ROW_BYTES + ALQI_VIEW_REACHES * CLASS_BYTES;

    alqi_view_json_key(ask->out, "rows");
    alqi_view_json_open(ask->out, '[');
    for (uint32_t i = 0; i < r->n; i++) {
        const struct row *row = &r->rows[i];

        if (n_put < q->limit &&
            n_put * row_bytes + used->bytes < ALQI_VIEW_ROWS_BYTES &&
            alqi_view_search_takes(&q->search, ask->x, row->site.function)) {
            alqi_view_json_open(ask->out, '{');
            alqi_view_put_site(ask->out, &row->site, q->shape, used);
            put_classes(ask->out, row->by, false);
            alqi_view_json_close(ask->out, '}');
            n_put++;
        } else {
            alqi_view_sum_join(&rest, &row->site.sum);
            n_rest++;
        }
    }
    alqi_view_json_close(ask->out, ']');
    alqi_view_put_rest(ask->out, n_rest, &rest);
}

/* Writes all of it. */
static void
put_all(struct alqi_view_ask *ask, struct reached *r,
        struct alqi_view_used *used, struct alqi_view_sites_question *q)
{
    r->order.x = ask->x;
    r->order.by = ask->filter.by;
    alqi_view_sort(r->rows, r->n, sizeof *r->rows, by_order, &r->order);
    alqi_view_put_sum(ask->out, "total", &r->total);
    put_classes(ask->out, r->by, true);
    put_rows(ask, r, used, q);
    alqi_view_used_put(used, ask->out);
}

/* used is made even if the rows are not, so that it can be freed. */
bool
alqi_view_reached(struct alqi_view_ask *ask)
{
    struct alqi_view_sites_question q;
    struct alqi_view_sites sites = {0};
    struct alqi_view_used used;
    struct reached r = {0};
    bool is_put;

    alqi_view_order_take(&r.order, ask, "sort", COLUMNS);
    if (!alqi_view_sites_take(&q, ask, LIMIT_DEFAULT))
        return false;
    sites.row_of_stack =
        calloc((size_t)ask->x->n_stacks + 1, sizeof *sites.row_of_stack);
    is_put = sites.row_of_stack != NULL &&
             alqi_view_sites_make(&sites, ask->x, q.shape, q.scan, NULL,
                                  q.grouping) &&
             rows_make(&r, ask->x, &sites, q.scan);
    is_put = alqi_view_used_new(&used, ask->x) && is_put;
    if (is_put)
        put_all(ask, &r, &used, &q);
    alqi_view_used_free(&used);
    free(sites.row_of_stack);
    free(sites.rows);
    free(r.rows);
    return alqi_view_sites_done(&q, ask, is_put);
}
