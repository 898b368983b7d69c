/* samples.c -- the answer `samples`: single blocks, in order of a column
 *
 * One pass over the rows that pass keeps the first offset + limit of them in a
 * heap with the last in front. Then the heap is sorted, and the page from
 * offset on is written. So any page costs one pass and bounded room. */
#include <stdlib.h>
#include <string.h>

#include "view/order.h"
#include "view/sort.h"

enum {
    LIMIT_DEFAULT = 200,
    LIMIT_MAX = 1000,
    REACH_MAX = 100000, /* offset and limit together */
    ROW_BYTES = 380,
    FRAME_BYTES = 24,
    FRAMES_MAX = 1000 /* of a stack, its innermost */
};

/* Columns of the key `order`, in the order of their names. */
enum order {
    BY_TIME,
    BY_NAME,
    BY_SIZE,
    BY_LIFE,
    BY_PROMOTION,
    BY_SAMPLES,
    BY_SOURCE,
    BY_THREAD
};

#define COLUMNS "time name size life promoted samples source thread"

/* A row and what it is sorted by: small keys come first. */
struct kept {
    /* what rows are ordered by */
    uint64_t key;
    uint32_t row;
};

/* The list of the first rows while it is made. */
struct picker {
    const struct alqi_view_index *x;
    /* names stacks */
    const struct alqi_view_shape *shape;
    enum order order;
    bool is_reversed;
    /* by function: its place among all names; owned; NULL unless BY_NAME */
    uint32_t *ranks;
    /* a heap, the last of all in front; owned */
    struct kept *kept;
    /* rows kept; offset and limit together */
    uint32_t n, most;
    /* rows that pass */
    uint64_t n_seen;
    /* scratch: one block of rows */
    struct alqi_view_rows rows;
};

/* Order by key, then by row. */
static int
compare(const struct kept *a, const struct kept *b)
{
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static int
by_key(const void *left, const void *right, void *arg)
{
    (void)arg;
    return compare(left, right);
}

/* The front of the heap has changed: moves it to its place. */
static void
sink(struct picker *p)
{
    uint32_t i = 0, child;
    struct kept k = p->kept[0];

    while ((child = 2 * i + 1) < p->n) {
        if (child + 1 < p->n &&
            compare(&p->kept[child], &p->kept[child + 1]) < 0)
            child++;
        if (compare(&k, &p->kept[child]) >= 0)
            break;
        p->kept[i] = p->kept[child];
        i = child;
    }
    p->kept[i] = k;
}

/* Row i of the heap is new: moves it to its place. */
static void
rise(struct picker *p, uint32_t i)
{
    struct kept k = p->kept[i];

    while (i > 0 && compare(&p->kept[(i - 1) / 2], &k) < 0) {
        p->kept[i] = p->kept[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    p->kept[i] = k;
}

/* Keeps a row if it is among the first. */
static void
row_take(struct picker *p, struct kept k)
{
    p->n_seen++;
    if (p->n < p->most) {
        p->kept[p->n++] = k;
        rise(p, p->n - 1);
    } else if (compare(&k, &p->kept[0]) < 0) {
        p->kept[0] = k;
        sink(p);
    }
}

/* A number of a table, 0 when it is none. */
static uint32_t
number_at(const struct alqi_view_index *x, uint32_t row,
          enum alqi_view_column column, uint32_t n)
{
    uint64_t number = alqi_view_cell(x, row, column);

    return number < n ? (uint32_t)number : 0;
}

/* The node that names a row's stack. */
static const struct alqi_view_node *
site_at(const struct picker *p, uint32_t row)
{
    uint32_t stack = number_at(p->x, row, ALQI_VIEW_STACK, p->x->n_stacks);

    return &p->x->nodes[p->shape->site_of_stack[stack]];
}

/* The key of row i of p->rows. Figures but times are turned around: the largest
 * come first. */
static uint64_t
key_of(const struct picker *p, uint32_t i, uint32_t row)
{
    const struct alqi_view_rows *r = &p->rows;
    const struct alqi_view_index *x = p->x;
    const struct alqi_view_origin *o =
        &x->origins[number_at(x, row, ALQI_VIEW_ORIGIN, x->n_origins)];
    const struct alqi_view_stack *stack =
        &x->stacks[number_at(x, row, ALQI_VIEW_STACK, x->n_stacks)];

    switch (p->order) {
    case BY_NAME:
        return p->ranks[site_at(p, row)->function];
    case BY_SIZE:
        return UINT64_MAX - x->classes[r->class_[i]].size_bytes;
    case BY_LIFE:
        return UINT64_MAX - r->life[i];
    case BY_PROMOTION:
        return UINT64_MAX - alqi_view_cell(x, row, ALQI_VIEW_PROMOTED);
    case BY_SAMPLES:
        return UINT64_MAX - alqi_view_cell(x, row, ALQI_VIEW_SAMPLES);
    case BY_SOURCE:
        return stack->is_mapping ? ALQI_VIEW_MALLOC + 1 : o->source;
    case BY_THREAD:
        return o->thread;
    default:
        return r->born[i];
    }
}

/* Takes the rows of p->rows that pass. */
static void
block_take(struct picker *p, uint32_t block)
{
    const struct alqi_view_rows *r = &p->rows;

    for (uint32_t i = 0; i < r->n; i++) {
        struct kept k = {0, block * ALQI_VIEW_BLOCK_ROWS + i};

        if (r->passes[i] == 0)
            continue;
        k.key = key_of(p, i, k.row);
        if (p->is_reversed)
            k.key = UINT64_MAX - k.key;
        row_take(p, k);
    }
}

/* Writes a frame. */
static void
put_frame(struct alqi_view_json *out, const struct alqi_view_node *frame,
          struct alqi_view_used *used)
{
    alqi_view_json_open(out, '[');
    alqi_view_json_int(out, alqi_view_used_position(used, frame->function));
    alqi_view_json_int(out, frame->line);
    alqi_view_json_close(out, ']');
}

/* Writes the innermost frames of a stack, outermost first. */
static void
put_stack(struct alqi_view_json *out, const struct alqi_view_index *x,
          uint32_t node, struct alqi_view_used *used)
{
    uint32_t frames[FRAMES_MAX];
    uint32_t n = 0;

    for (; node != 0 && n < FRAMES_MAX; node = x->nodes[node].parent)
        frames[n++] = node;
    alqi_view_json_key(out, "stack");
    alqi_view_json_open(out, '[');
    while (n-- > 0)
        put_frame(out, &x->nodes[frames[n]], used);
    alqi_view_json_close(out, ']');
}

/* Writes birth, end and promotion; null for what never came. */
static void
put_times(struct alqi_view_json *out, const struct alqi_view_index *x,
          uint32_t row)
{
    uint64_t born = alqi_view_cell(x, row, ALQI_VIEW_BORN);
    uint64_t promoted = alqi_view_cell(x, row, ALQI_VIEW_PROMOTED);
    uint64_t flags = alqi_view_cell(x, row, ALQI_VIEW_FLAGS);
    uint64_t life = alqi_view_cell(x, row, ALQI_VIEW_LIFE);

    alqi_view_json_key_int(out, "at_us", (int64_t)born);
    alqi_view_json_key(out, "end_us");
    if ((flags & ALQI_VIEW_STAYS) != 0)
        alqi_view_json_null(out);
    else
        alqi_view_json_int(out, (int64_t)(born + life));
    alqi_view_json_key(out, "promoted_us");
    if (promoted == 0)
        alqi_view_json_null(out);
    else
        alqi_view_json_int(out, (int64_t)(born + promoted - 1));
}

/* Writes the place in a chain of realloc and the chain's life, if the block is
 * in one. */
static void
put_chain(struct alqi_view_json *out, const struct alqi_view_index *x,
          uint32_t row)
{
    const struct alqi_view_chain *chain = alqi_view_chain_of(x, row);

    if (chain == NULL)
        return;
    alqi_view_json_key_int(out, "generation", chain->generation);
    alqi_view_json_key_int(out, "chain_us", (int64_t)chain->life_us);
}

/* Writes one block. */
static void
put_row(struct alqi_view_json *out, const struct picker *p, uint32_t row,
        struct alqi_view_used *used)
{
    static const char *const sources[] = {"minor", "major", "malloc"};
    const struct alqi_view_index *x = p->x;
    const struct alqi_view_origin *o =
        &x->origins[number_at(x, row, ALQI_VIEW_ORIGIN, x->n_origins)];
    uint32_t stack = number_at(x, row, ALQI_VIEW_STACK, x->n_stacks);
    uint32_t c = number_at(x, row, ALQI_VIEW_CLASS, x->n_classes);

    alqi_view_json_open(out, '{');
    put_times(out, x, row);
    alqi_view_json_key(out, "bytes");
    alqi_view_json_whole(out, (double)x->classes[c].size_bytes);
    alqi_view_json_key_int(out, "samples",
                           (int64_t)alqi_view_cell(x, row, ALQI_VIEW_SAMPLES));
    alqi_view_json_key_int(out, "thread", o->thread);
    alqi_view_json_key_int(out, "domain", o->domain);
    alqi_view_json_key_text(out, "source",
                            x->stacks[stack].is_mapping ? "mmap"
                            : o->source < 3             ? sources[o->source]
                                                        : "");
    put_chain(out, x, row);
    alqi_view_json_key(out, "site");
    put_frame(out, site_at(p, row), used);
    alqi_view_json_key_int(out, "node", x->stacks[stack].node);
    put_stack(out, x, x->stacks[stack].node, used);
    alqi_view_json_close(out, '}');
}

/* An upper bound of the bytes that the row's stack takes. */
static size_t
stack_bytes(const struct alqi_view_index *x, uint32_t row)
{
    uint32_t node =
        x->stacks[number_at(x, row, ALQI_VIEW_STACK, x->n_stacks)].node;
    size_t n = 0;

    for (; node != 0 && n < FRAMES_MAX; node = x->nodes[node].parent)
        n++;
    return n * FRAME_BYTES;
}

/* Writes the page, as far as there is room. */
static void
put_rows(struct alqi_view_ask *ask, const struct picker *p, uint32_t offset,
         struct alqi_view_used *used)
{
    alqi_view_json_key(ask->out, "rows");
    alqi_view_json_open(ask->out, '[');
    for (uint32_t i = offset; i < p->n; i++) {
        if (ask->out->n + used->bytes + ROW_BYTES +
                stack_bytes(ask->x, p->kept[i].row) >
            ALQI_VIEW_ROWS_BYTES)
            break;
        put_row(ask->out, p, p->kept[i].row, used);
    }
    alqi_view_json_close(ask->out, ']');
}

/* Order by name. */
static int
by_name(const void *left, const void *right, void *arg)
{
    const struct picker *p = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return strcmp(alqi_view_text(p->x, p->x->functions[a].name),
                  alqi_view_text(p->x, p->x->functions[b].name));
}

/* Numbers functions by their names, those of one name alike. False: no memory.
 */
static bool
ranks_make(struct picker *p)
{
    uint32_t n = p->x->n_functions, *list;

    if (p->order != BY_NAME)
        return true;
    list = malloc(((size_t)n + 1) * sizeof *list);
    p->ranks = malloc(((size_t)n + 1) * sizeof *p->ranks);
    if (list == NULL || p->ranks == NULL) {
        free(list);
        return false;
    }
    for (uint32_t i = 0; i < n; i++)
        list[i] = i;
    alqi_view_sort(list, n, sizeof *list, by_name, p);
    for (uint32_t i = 0; i < n; i++)
        p->ranks[list[i]] = i > 0 && by_name(&list[i - 1], &list[i], p) == 0
                                ? p->ranks[list[i - 1]]
                                : i;
    free(list);
    return true;
}

/* Makes and writes the page. False after a refusal. */
static bool
put(struct alqi_view_ask *ask, struct picker *p,
    const struct alqi_view_scan *scan, uint32_t offset)
{
    struct alqi_view_used used;
    bool is_put = alqi_view_used_new(&used, ask->x);

    p->x = ask->x;
    p->kept = malloc(p->most * sizeof *p->kept);
    is_put = is_put && p->kept != NULL && ranks_make(p);
    if (is_put) {
        for (uint32_t b = 0; b < p->x->n_blocks; b++)
            if (alqi_view_rows_read(&p->rows, p->x, scan, b))
                block_take(p, b);
        alqi_view_sort(p->kept, p->n, sizeof *p->kept, by_key, NULL);
        alqi_view_json_key_int(ask->out, "n", (int64_t)p->n_seen);
        alqi_view_put_sum(ask->out, "total", &scan->total);
        put_rows(ask, p, offset, &used);
        alqi_view_used_put(&used, ask->out);
    }
    alqi_view_used_free(&used);
    free(p->kept);
    free(p->ranks);
    return is_put || alqi_view_give_up(ask);
}

/* offset is bounded, because all rows before it are kept as well. */
bool
alqi_view_samples(struct alqi_view_ask *ask)
{
    uint64_t limit = alqi_view_query_number(&ask->query, "limit", 1, LIMIT_MAX,
                                            LIMIT_DEFAULT);
    uint64_t offset = alqi_view_query_number(&ask->query, "offset", 0,
                                             REACH_MAX - LIMIT_MAX, 0);
    struct alqi_view_order order;
    const struct alqi_view_scan *scan;
    const struct alqi_view_shape *shape;
    struct picker *p;
    bool is_put;

    alqi_view_order_take(&order, ask, "order", COLUMNS);
    if (!alqi_view_ready(ask) || !alqi_view_look(ask, &scan, &shape))
        return false;
    p = calloc(1, sizeof *p);
    if (p == NULL)
        return alqi_view_give_up(ask);
    p->shape = shape;
    p->order = (enum order)order.column;
    p->is_reversed = order.is_reversed;
    p->most = (uint32_t)(offset + limit);
    is_put = put(ask, p, scan, (uint32_t)offset);
    free(p);
    return is_put;
}
