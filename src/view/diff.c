/* diff.c -- the answer `diff`: what two filters have, site by site
 *
 * Stacks of both sides are entered into rows by site, in common numbers of
 * functions (both.h). Each row's difference is judged, then the chances of all
 * rows are corrected together (significance.h .def.holm).
 *
 * Of two traces the samples were drawn apart. Of one trace the same samples
 * may be on both sides: only those that are on one of them make the
 * difference, and its variance is theirs (sides.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "view/order.h"
#include "view/search.h"
#include "view/sides.h"
#include "view/significance.h"
#include "view/sites.h"
#include "view/sort.h"

enum { LIMIT_DEFAULT = 500, LIMIT_MAX = 100000, ROW_BYTES = 640 };

/* z as it is written: JSON has no infinity. */
static const double Z_MOST = 99;

/* A site with what both sides have of it. */
struct row {
    uint32_t function; /* a common number */
    /* 0 unless sites are lines */
    int32_t line;
    bool is_mapping;
    /* all zeros where the side has nothing */
    struct alqi_view_sum a, b;
    /* by how much chance may part the sides */
    struct alqi_view_apart apart;
    /* of the difference; chance is corrected for the number of rows */
    double z, chance;
};

struct table {
    struct alqi_view_sides *sides;
    enum alqi_view_grouping grouping;
    struct alqi_view_order order;
    /* owned; moves when it grows */
    struct row *rows;
    uint32_t n, capacity;
    /* function, line, is_mapping -> index in rows */
    struct alqi_base_map row_of;
};

/* ---- rows ---------------------------------------------------------------- */

/* Room for one more row, made before the map has an entry for it. */
static bool
rows_reserve(struct table *t)
{
    uint32_t capacity = t->capacity == 0 ? 256 : 2 * t->capacity;
    struct row *rows;

    if (t->n < t->capacity)
        return true;
    rows = realloc(t->rows, capacity * sizeof *rows);
    if (rows == NULL)
        return false;
    t->rows = rows;
    t->capacity = capacity;
    return true;
}

/* The row of a site, made if it is new. NULL: no memory. */
static struct row *
row_at(struct table *t, uint32_t function, int32_t line, bool is_mapping)
{
    uint64_t key = (uint64_t)function << 32 | (uint32_t)line << 1 | is_mapping;
    uint64_t *number;
    bool is_new;

    if (!rows_reserve(t))
        return NULL;
    number = alqi_base_map_at(&t->row_of, key, &is_new);
    if (number == NULL)
        return NULL;
    if (!is_new)
        return &t->rows[*number];
    *number = t->n;
    t->rows[t->n] = (struct row){function, line, is_mapping};
    return &t->rows[t->n++];
}

/* Enters the stacks of one side, each in its row. False: no memory. */
static bool
side_enter(struct table *t, const struct alqi_view_side *side, bool is_b)
{
    for (uint32_t i = 0; i < side->x->n_stacks; i++) {
        const struct alqi_view_node *node =
            &side->x->nodes[side->shape->site_of_stack[i]];
        struct row *row;

        if (side->scan->stacks[i].objects == 0)
            continue;
        row = row_at(
            t, is_b ? t->sides->both.of_b[node->function] : node->function,
            t->grouping == ALQI_VIEW_BY_LINE ? node->line : 0,
            side->x->stacks[i].is_mapping != 0);
        if (row == NULL)
            return false;
        alqi_view_sum_join(is_b ? &row->b : &row->a, &side->scan->stacks[i]);
        alqi_view_apart_join(&row->apart, &side->apart[i]);
    }
    return true;
}

/* B minus A, in bytes. */
static double
delta(const struct row *row)
{
    return row->b.bytes - row->a.bytes;
}

/* Columns of the key `sort`, in the order of their names. */
enum column { CHANGE, NAME, SIDE_A, SIDE_B, DELTA, ERROR, SIGMAS, SAMPLED };

#define COLUMNS "change name a b delta error z sampled"

static double
figure(const struct row *row, unsigned column)
{
    switch (column) {
    case SIDE_A:
        return row->a.bytes;
    case SIDE_B:
        return row->b.bytes;
    case DELTA:
        return delta(row);
    case ERROR:
        return alqi_view_apart_variance(&row->apart);
    case SIGMAS:
        return row->z;
    case SAMPLED:
        return (double)(row->a.n + row->b.n);
    default:
        return fabs(delta(row));
    }
}

static const char *
name_of(const struct table *t, const struct row *row)
{
    uint32_t function = row->function;
    const struct alqi_view_index *x =
        alqi_view_both_names(&t->sides->both, &function);

    return alqi_view_text(x, x->functions[function].name);
}

/* Order by what the query asks for, at first by the size of the change; then by
 * function and line. */
static int
by_order(const void *left, const void *right, void *arg)
{
    const struct row *a = left, *b = right;
    const struct table *t = arg;
    int c = alqi_view_order_compare(&t->order, figure(a, t->order.column),
                                    figure(b, t->order.column), name_of(t, a),
                                    name_of(t, b));

    if (c != 0)
        return c;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Fills in z and chance of all rows. False: no memory. */
static bool
rows_judge(struct table *t)
{
    double *chances = malloc(((size_t)t->n + 1) * sizeof *chances);
    bool is_judged;

    if (chances == NULL)
        return false;
    for (uint32_t i = 0; i < t->n; i++) {
        struct row *row = &t->rows[i];

        row->z = alqi_view_apart_sigmas(&row->apart, delta(row));
        chances[i] = alqi_view_chance(row->z);
    }
    is_judged = alqi_view_holm(chances, t->n);
    for (uint32_t i = 0; is_judged && i < t->n; i++)
        t->rows[i].chance = chances[i];
    free(chances);
    return is_judged;
}

/* ---- the answer ---------------------------------------------------------- */

/* Writes the difference with its error and z. Sides of two traces may both have
 * blocks that were not seen; of one trace, only a side with blocks that the
 * other has not. */
static void
put_difference(struct alqi_view_json *out, const struct alqi_view_sides *s,
               const struct alqi_view_apart *apart, double bytes, double z)
{
    struct alqi_view_apart all = *apart;
    struct alqi_view_interval x;

    if (s->a.trace != s->b.trace) {
        all.a.most_bytes = s->a.x->most_bytes;
        all.b.most_bytes = s->b.x->most_bytes;
    }
    x = alqi_view_apart_interval(&all);
    alqi_view_json_key(out, "delta_bytes");
    alqi_view_json_whole(out, bytes);
    alqi_view_json_key(out, "delta_se");
    alqi_view_json_whole(out, sqrt(alqi_view_apart_variance(apart)));
    alqi_view_put_interval(out, "delta", &x);
    alqi_view_json_key(out, "z");
    alqi_view_json_real(out, fabs(z) < Z_MOST ? z : copysign(Z_MOST, z));
}

/* Writes one site: both sides, the difference, and its chance. */
static void
put_row(struct alqi_view_json *out, const struct alqi_view_sides *sides,
        const struct row *row, struct alqi_view_used *used)
{
    alqi_view_json_open(out, '{');
    alqi_view_json_key_int(out, "function",
                           alqi_view_used_position(used, row->function));
    alqi_view_json_key_int(out, "line", row->line);
    alqi_view_put_sum(out, "a", &row->a);
    alqi_view_put_sum(out, "b", &row->b);
    put_difference(out, sides, &row->apart, delta(row), row->z);
    alqi_view_json_key(out, "chance");
    alqi_view_json_real(out, row->chance);
    if (row->is_mapping) {
        alqi_view_json_key(out, "is_mapping");
        alqi_view_json_bool(out, true);
    }
    alqi_view_json_close(out, '}');
}

/* Writes the rows that were cut, as one. */
static void
put_rest(struct alqi_view_json *out, uint64_t n, const struct alqi_view_sum *a,
         const struct alqi_view_sum *b)
{
    alqi_view_json_key(out, "rest");
    alqi_view_json_open(out, '{');
    alqi_view_json_key_int(out, "rows", (int64_t)n);
    alqi_view_put_sum(out, "a", a);
    alqi_view_put_sum(out, "b", b);
    alqi_view_json_close(out, '}');
}

/* The search means the row. */
static bool
is_found(const struct table *t, const struct row *row,
         struct alqi_view_search *search)
{
    uint32_t function = row->function;
    const struct alqi_view_index *x =
        alqi_view_both_names(&t->sides->both, &function);

    return alqi_view_search_takes(search, x, function);
}

/* Writes the rows that fit and are found, in order; the rest as one. */
static void
put_rows(struct alqi_view_ask *ask, const struct table *t,
         struct alqi_view_used *used, uint64_t limit,
         struct alqi_view_search *search)
{
    struct alqi_view_sum a = {0}, b = {0};
    uint64_t n_put = 0, n_rest = 0;

    alqi_view_json_key(ask->out, "rows");
    alqi_view_json_open(ask->out, '[');
    for (uint32_t i = 0; i < t->n; i++) {
        const struct row *row = &t->rows[i];

        if (n_put < limit &&
            n_put * ROW_BYTES + used->bytes < ALQI_VIEW_ROWS_BYTES &&
            is_found(t, row, search)) {
            put_row(ask->out, t->sides, row, used);
            n_put++;
        } else {
            alqi_view_sum_join(&a, &row->a);
            alqi_view_sum_join(&b, &row->b);
            n_rest++;
        }
    }
    alqi_view_json_close(ask->out, ']');
    put_rest(ask->out, n_rest, &a, &b);
}

/* Writes both totals and their difference. */
static void
put_totals(struct alqi_view_json *out, const struct table *t)
{
    const struct alqi_view_sum *a = &t->sides->a.scan->total;
    const struct alqi_view_sum *b = &t->sides->b.scan->total;
    struct alqi_view_apart apart = {0};

    for (uint32_t i = 0; i < t->n; i++)
        alqi_view_apart_join(&apart, &t->rows[i].apart);
    alqi_view_put_sum(out, "a", a);
    alqi_view_put_sum(out, "b", b);
    put_difference(out, t->sides, &apart, b->bytes - a->bytes,
                   alqi_view_apart_sigmas(&apart, b->bytes - a->bytes));
}

/* Makes, judges and sorts the rows. False: no memory. */
static bool
table_fill(struct table *t)
{
    if (!alqi_view_sides_apart(t->sides) ||
        !side_enter(t, &t->sides->a, false) ||
        !side_enter(t, &t->sides->b, true) || !rows_judge(t))
        return false;
    alqi_view_sort(t->rows, t->n, sizeof *t->rows, by_order, t);
    return true;
}

/* Everything is freed whether or not it was made; all of it begins as zeros. */
bool
alqi_view_diff(struct alqi_view_ask *ask)
{
    struct alqi_view_sides sides;
    struct table t = {.sides = &sides};
    uint64_t limit = alqi_view_query_number(&ask->query, "limit", 1, LIMIT_MAX,
                                            LIMIT_DEFAULT);
    struct alqi_view_search search = {0};
    struct alqi_view_used used = {0};
    bool is_put;

    t.grouping = (enum alqi_view_grouping)alqi_view_query_choice(
        &ask->query, "group", "function line");
    alqi_view_order_take(&t.order, ask, "sort", COLUMNS);
    is_put = alqi_view_sides_take(ask, &sides) &&
             alqi_view_search_take(&search, ask) && alqi_view_ready(ask) &&
             alqi_view_sides_look(ask, &sides);
    if (is_put) {
        is_put =
            (table_fill(&t) && alqi_view_used_new_both(&used, &sides.both)) ||
            alqi_view_give_up(ask);
    }
    if (is_put) {
        put_totals(ask->out, &t);
        put_rows(ask, &t, &used, limit, &search);
        alqi_view_used_put(&used, ask->out);
        is_put = alqi_view_search_done(&search, ask);
    }
    alqi_view_search_free(&search);
    alqi_view_used_free(&used);
    alqi_base_map_clear(&t.row_of);
    free(t.rows);
    alqi_view_sides_free(&sides);
    return is_put;
}
