/* sites.c -- the answer `sites`: what was allocated where, by function, line,
 * file or module
 *
 * Each stack has a site by the node that names it (shape.h). The part of that
 * node which the grouping looks at is the key; stacks of one key are one row.
 * Mappings stand apart from what malloc gave. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/intern.h"
#include "view/order.h"
#include "view/sites.h"
#include "view/sort.h"

enum { LIMIT_DEFAULT = 500, LIMIT_MAX = 100000, ROW_BYTES = 410 };

/* The part of a frame by which a grouping tells sites apart; the rest is 0. */
struct key {
    uint32_t function, file, module, line, is_mapping;
};

enum { KEY_WORDS = sizeof(struct key) / sizeof(uint32_t) };

/* The key of a node. By file, a function without one counts for its module. */
static struct key
key_of(const struct alqi_view_index *x, const struct alqi_view_node *node,
       enum alqi_view_grouping grouping)
{
    const struct alqi_view_function *f = &x->functions[node->function];
    bool has_file = alqi_view_text(x, f->file)[0] != '\0';
    struct key key = {0};

    switch (grouping) {
    case ALQI_VIEW_BY_LINE:
        key.line = (uint32_t)node->line;
        __attribute__((fallthrough));
    case ALQI_VIEW_BY_FUNCTION:
        key.function = node->function;
        break;
    case ALQI_VIEW_BY_FILE:
        key.file = f->file;
        if (!has_file)
            key.module = f->module;
        break;
    case ALQI_VIEW_BY_MODULE:
        key.module = f->module;
        break;
    }
    return key;
}

/* Adds a stack that the node names to its row, which takes the name of its
 * heaviest stack. */
static void
stack_enter(struct alqi_view_site *site, const struct key *key,
            const struct alqi_view_index *x,
            const struct alqi_view_shape *shape, uint32_t node,
            const struct alqi_view_sum *sum)
{
    if (site->sum.objects == 0 || sum->bytes > site->heaviest_bytes) {
        site->heaviest_bytes = sum->bytes;
        site->function = x->nodes[node].function;
        site->line = (int32_t)key->line;
        site->fold = shape->fold_of_node[node];
    }
    site->is_mapping = key->is_mapping != 0;
    alqi_view_sum_join(&site->sum, sum);
}

/* A stack that no node names counts for node 0, the empty stack. Rows are
 * numbered like the interned keys. */
bool
alqi_view_sites_make(struct alqi_view_sites *s, const struct alqi_view_index *x,
                     const struct alqi_view_shape *shape,
                     const struct alqi_view_scan *scan,
                     const struct alqi_view_growth *growth,
                     enum alqi_view_grouping grouping)
{
    struct alqi_base_intern keys = {.n_words = KEY_WORDS}; /* a row a site */
    bool is_made;

    s->n = 0;
    s->rows = calloc((size_t)x->n_stacks + 1, sizeof *s->rows);
    is_made = s->rows != NULL;
    for (uint32_t i = 0; is_made && i < x->n_stacks; i++) {
        uint32_t node = shape->site_of_stack[i];
        struct key key = key_of(x, &x->nodes[node], grouping);
        uint32_t row;

        if (growth == NULL && scan->stacks[i].objects == 0)
            continue;
        key.is_mapping = x->stacks[i].is_mapping != 0;
        row = alqi_base_intern(&keys, (const uint32_t *)&key);
        is_made = row != ALQI_BASE_INTERN_NONE;
        if (!is_made)
            break;
        if (s->row_of_stack != NULL)
            s->row_of_stack[i] = row;
        stack_enter(&s->rows[row], &key, x, shape, node, &scan->stacks[i]);
        if (growth != NULL)
            alqi_view_growth_join(&s->rows[row].growth, &growth[i]);
    }
    s->n = keys.n;
    alqi_base_intern_clear(&keys);
    return is_made;
}

/* The name of a site, of its file or of its module, as it is grouped. */
static const char *
name_of(const struct alqi_view_order *o, enum alqi_view_grouping grouping,
        const struct alqi_view_site *site)
{
    const struct alqi_view_function *f = &o->x->functions[site->function];

    return alqi_view_text(o->x, grouping == ALQI_VIEW_BY_FILE     ? f->file
                                : grouping == ALQI_VIEW_BY_MODULE ? f->module
                                                                  : f->name);
}

static double
mean_life_us(const struct alqi_view_site *site)
{
    return site->sum.objects > 0 ? site->sum.life_us / site->sum.objects : 0;
}

/* How the rows of an answer are sorted. */
struct sorting {
    struct alqi_view_order order;
    enum alqi_view_grouping grouping;
};

/* Order by what the query asks for, then by function and line. */
static int
by_order(const void *left, const void *right, void *arg)
{
    const struct alqi_view_site *a = left, *b = right;
    const struct sorting *s = arg;
    const struct alqi_view_order *o = &s->order;
    int c = alqi_view_order_compare(
        o, alqi_view_order_figure(o, &a->sum, mean_life_us(a)),
        alqi_view_order_figure(o, &b->sum, mean_life_us(b)),
        name_of(o, s->grouping, a), name_of(o, s->grouping, b));

    if (c != 0)
        return c;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* The file of a script, whose functions its reader knows. */
static bool
is_script(const char *file)
{
    size_t n = strlen(file);

    return n > 3 && strcmp(file + n - 3, ".py") == 0;
}

/* From a fold on outward, the first that is a caller of the site and has a
 * name, of a script if that is wished; 0: none. */
static uint32_t
caller_from(const struct alqi_view_index *x, const struct alqi_view_site *site,
            const struct alqi_view_shape *shape, uint32_t fold,
            bool is_of_script)
{
    for (; fold != 0; fold = shape->folds[fold].parent) {
        uint32_t function = shape->folds[fold].function;
        const struct alqi_view_function *f = &x->functions[function];

        if (function != site->function &&
            (f->flags & ALQI_VIEW_NAMELESS) == 0 &&
            (!is_of_script || is_script(alqi_view_text(x, f->file))))
            break;
    }
    return fold;
}

/* Writes who calls the site: the innermost, then that of a script, under an
 * interpreter, or else the next. */
static void
put_callers(struct alqi_view_json *out, const struct alqi_view_site *site,
            const struct alqi_view_shape *shape, struct alqi_view_used *used)
{
    const struct alqi_view_index *x = used->x;
    uint32_t first = caller_from(x, site, shape, site->fold, false);
    uint32_t after = shape->folds[first].parent;
    uint32_t second = caller_from(x, site, shape, after, true);
    uint32_t callers[] = {
        first,
        second != 0 ? second : caller_from(x, site, shape, after, false),
    };

    alqi_view_json_key(out, "callers");
    alqi_view_json_open(out, '[');
    for (size_t i = 0; i < ALQI_COUNT_OF(callers); i++)
        if (callers[i] != 0)
            alqi_view_json_int(out,
                               alqi_view_used_position(
                                   used, shape->folds[callers[i]].function));
    alqi_view_json_close(out, ']');
}

void
alqi_view_put_site(struct alqi_view_json *out,
                   const struct alqi_view_site *site,
                   const struct alqi_view_shape *shape,
                   struct alqi_view_used *used)
{
    alqi_view_json_key_int(out, "function",
                           alqi_view_used_position(used, site->function));
    alqi_view_json_key_int(out, "line", site->line);
    alqi_view_json_key_int(out, "id", site->function);
    put_callers(out, site, shape, used);
    alqi_view_put_sum(out, "sum", &site->sum);
    if (site->is_mapping) {
        alqi_view_json_key(out, "is_mapping");
        alqi_view_json_bool(out, true);
    }
}

/* Writes one site. */
static void
put_row(struct alqi_view_json *out, const struct alqi_view_site *site,
        const struct alqi_view_shape *shape, struct alqi_view_used *used)
{
    alqi_view_json_open(out, '{');
    alqi_view_put_site(out, site, shape, used);
    alqi_view_json_key(out, "life_us");
    alqi_view_json_whole(out, mean_life_us(site));
    alqi_view_json_close(out, '}');
}

/* Writes the rows that fit and are found; the rest as one. */
static void
put_rows(struct alqi_view_ask *ask, const struct alqi_view_sites *s,
         struct alqi_view_used *used, struct alqi_view_sites_question *q)
{
    struct alqi_view_sum rest = {0};
    uint64_t n_put = 0, n_rest = 0;

    alqi_view_json_key(ask->out, "rows");
    alqi_view_json_open(ask->out, '[');
    for (uint32_t i = 0; i < s->n; i++) {
        if (n_put < q->limit &&
            n_put * ROW_BYTES + used->bytes < ALQI_VIEW_ROWS_BYTES &&
            alqi_view_search_takes(&q->search, ask->x, s->rows[i].function)) {
            put_row(ask->out, &s->rows[i], q->shape, used);
            n_put++;
        } else {
            alqi_view_sum_join(&rest, &s->rows[i].sum);
            n_rest++;
        }
    }
    alqi_view_json_close(ask->out, ']');
    alqi_view_put_rest(ask->out, n_rest, &rest);
}

bool
alqi_view_sites_take(struct alqi_view_sites_question *q,
                     struct alqi_view_ask *ask, uint64_t limit_default)
{
    q->grouping = (enum alqi_view_grouping)alqi_view_query_choice(
        &ask->query, "group", "function line file module");
    q->limit = alqi_view_query_number(&ask->query, "limit", 1, LIMIT_MAX,
                                      limit_default);
    if (alqi_view_search_take(&q->search, ask) && alqi_view_ready(ask) &&
        alqi_view_look(ask, &q->scan, &q->shape))
        return true;
    alqi_view_search_free(&q->search);
    return false;
}

bool
alqi_view_sites_done(struct alqi_view_sites_question *q,
                     struct alqi_view_ask *ask, bool is_put)
{
    bool is_done = (is_put || alqi_view_give_up(ask)) &&
                   alqi_view_search_done(&q->search, ask);

    alqi_view_search_free(&q->search);
    return is_done;
}

/* used is made even if the sites are not, so that it can be freed. */
bool
alqi_view_sites(struct alqi_view_ask *ask)
{
    struct alqi_view_sites_question q;
    struct alqi_view_sites sites = {0};
    struct alqi_view_used used;
    struct sorting sorting;
    bool is_put;

    alqi_view_order_take(&sorting.order, ask, "sort",
                         ALQI_VIEW_SUM_COLUMNS " life");
    if (!alqi_view_sites_take(&q, ask, LIMIT_DEFAULT))
        return false;
    is_put =
        alqi_view_sites_make(&sites, ask->x, q.shape, q.scan, NULL, q.grouping);
    is_put = alqi_view_used_new(&used, ask->x) && is_put;
    if (is_put) {
        sorting.grouping = q.grouping;
        sorting.order.x = ask->x;
        sorting.order.by = ask->filter.by;
        alqi_view_sort(sites.rows, sites.n, sizeof *sites.rows, by_order,
                       &sorting);
        alqi_view_put_sum(ask->out, "total", &q.scan->total);
        put_rows(ask, &sites, &used, &q);
        alqi_view_used_put(&used, ask->out);
    }
    alqi_view_used_free(&used);
    free(sites.rows);
    return alqi_view_sites_done(&q, ask, is_put);
}
