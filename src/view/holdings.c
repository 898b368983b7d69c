/* holdings.c -- parts are summed, and sorted with their sums  [holdings.h]
 *
 * Rows of the index are added to parts by class, step and group; the parts of
 * one class and step then are one sum. */
#include "view/holdings.h"

#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "view/sort.h"
#include "view/table.h"

enum { KEY_WORDS = 3 };

/* ---- parts --------------------------------------------------------------- */

/* What is read of the index, and what becomes of it. */
struct adding {
    const struct alqi_view_index *x;
    const struct alqi_view_scan *scan;
    const uint32_t *group_of_stack;
    struct alqi_view_rows block; /* of the index */
    uint32_t holders[ALQI_VIEW_BLOCK_ROWS];
    struct alqi_base_intern keys; /* class, step and group, by part */
    struct alqi_view_table parts; /* struct alqi_view_holding; owned */
};

/* The part of that key, made if it is new. NULL: no memory. */
static struct alqi_view_holding *
part_at(struct adding *a, const uint32_t key[KEY_WORDS])
{
    struct alqi_view_holding part = {
        .reach = (enum alqi_view_reach)key[0], .step = key[1], .group = key[2]};
    uint32_t number = alqi_base_intern(&a->keys, key);

    if (number == ALQI_BASE_INTERN_NONE ||
        (number == a->parts.n && !alqi_view_table_add(&a->parts, &part)))
        return NULL;
    return &((struct alqi_view_holding *)(void *)a->parts.rows)[number];
}

/* Adds the rows of the block that was read. False: no memory. */
static bool
block_add(struct adding *a)
{
    const struct alqi_view_rows *r = &a->block;

    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t group = a->group_of_stack[r->stack[i]];
        uint32_t key[KEY_WORDS] = {alqi_view_reach_of(r->flags[i]),
                                   a->holders[i] - 1, group};
        struct alqi_view_holding *part;

        if (r->passes[i] == 0 || (r->flags[i] & ALQI_VIEW_LEFT) == 0 ||
            group == ALQI_VIEW_NO_GROUP)
            continue;
        part = part_at(a, key);
        if (part == NULL)
            return false;
        alqi_view_row_sum(&part->sum, a->x, a->scan, r, i);
    }
    return true;
}

/* False: no memory. */
static bool
blocks_add(struct adding *a)
{
    const struct alqi_view_index *x = a->x;

    for (uint32_t b = 0; b < x->n_blocks; b++) {
        if (!alqi_view_rows_read(&a->block, x, a->scan, b))
            continue;
        alqi_view_read_numbers(x, b, ALQI_VIEW_HOLDER, x->n_steps + 1,
                               a->holders);
        if (!block_add(a))
            return false;
    }
    return true;
}

/* ---- order --------------------------------------------------------------- */

/* By what sums are compared, and which. */
struct comparing {
    enum alqi_view_by by;
    const struct alqi_view_holding *sums;
};

/* More first; 0: as much. */
static int
compare_values(const struct comparing *c, const struct alqi_view_holding *a,
               const struct alqi_view_holding *b)
{
    double x = alqi_view_sum_value(&a->sum, c->by);
    double y = alqi_view_sum_value(&b->sum, c->by);

    return x == y ? 0 : x > y ? -1 : 1;
}

/* Parts of one sum together. */
static int
compare_parts(const void *left, const void *right, void *arg)
{
    const struct alqi_view_holding *a = left, *b = right;
    int by_value = compare_values(arg, a, b);

    if (a->reach != b->reach)
        return a->reach < b->reach ? -1 : 1;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return by_value != 0 ? by_value : a->group < b->group ? -1 : 1;
}

static int
compare_sums(const void *left, const void *right, void *arg)
{
    const struct comparing *c = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int by_value = compare_values(c, &c->sums[a], &c->sums[b]);

    return by_value != 0 ? by_value : a < b ? -1 : 1;
}

/* ---- sums ---------------------------------------------------------------- */

/* The sum of the parts from `at` on that are of one class and step. */
static struct alqi_view_holding
sum_of(const struct alqi_view_holding *at, const struct alqi_view_holding *end)
{
    struct alqi_view_holding sum = *at;

    for (sum.n = 1; &at[sum.n] < end && at[sum.n].reach == at->reach &&
                    at[sum.n].step == at->step;
         sum.n++)
        alqi_view_sum_join(&sum.sum, &at[sum.n].sum);
    return sum;
}

/* Sums, where the parts of each begin, and their order. */
struct summing {
    struct alqi_view_holding *sums;
    uint32_t *first, *order;
    uint32_t n;
};

static void
sums_make(struct summing *s, const struct alqi_view_holding *parts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += s->sums[s->n++].n) {
        s->first[s->n] = i;
        s->order[s->n] = s->n;
        s->sums[s->n] = sum_of(&parts[i], &parts[n]);
    }
}

/* Each sum in its order, with its parts behind it. */
static void
rows_put(struct alqi_view_holding *to, const struct summing *s,
         const struct alqi_view_holding *parts)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const struct alqi_view_holding *sum = &s->sums[s->order[i]];

        *to++ = *sum;
        memcpy(to, &parts[s->first[s->order[i]]], sum->n * sizeof *parts);
        to += sum->n;
    }
}

/* From parts to rows. False: no memory. */
static bool
rows_make(struct alqi_view_holdings *h, struct alqi_view_holding *parts,
          uint32_t n, enum alqi_view_by by)
{
    struct summing s = {
        .sums = calloc((size_t)n + 1, sizeof *s.sums),
        .first = calloc((size_t)n + 1, sizeof *s.first),
        .order = calloc((size_t)n + 1, sizeof *s.order),
    };
    struct comparing c = {by, s.sums};
    bool is_made;

    h->rows = calloc(2 * (size_t)n + 1, sizeof *h->rows);
    is_made =
        s.sums != NULL && s.first != NULL && s.order != NULL && h->rows != NULL;
    if (is_made) {
        alqi_view_sort(parts, n, sizeof *parts, compare_parts, &c);
        sums_make(&s, parts, n);
        alqi_view_sort(s.order, s.n, sizeof *s.order, compare_sums, &c);
        rows_put(h->rows, &s, parts);
        h->n_rows = n + s.n;
    }
    free(s.sums);
    free(s.first);
    free(s.order);
    return is_made;
}

bool
alqi_view_holdings_make(struct alqi_view_holdings *h,
                        const struct alqi_view_index *x,
                        const struct alqi_view_scan *scan,
                        const uint32_t *group_of_stack, enum alqi_view_by by)
{
    struct adding *a = calloc(1, sizeof *a);
    bool is_made;

    if (a == NULL)
        return false;
    a->x = x;
    a->scan = scan;
    a->group_of_stack = group_of_stack;
    a->keys.n_words = KEY_WORDS;
    a->parts.each_bytes = sizeof(struct alqi_view_holding);
    is_made = blocks_add(a) &&
              rows_make(h, (void *)a->parts.rows, (uint32_t)a->parts.n, by);
    alqi_base_intern_clear(&a->keys);
    free(a->parts.rows);
    free(a);
    return is_made;
}

void
alqi_view_holdings_free(struct alqi_view_holdings *h)
{
    free(h->rows);
    *h = (struct alqi_view_holdings){0};
}

const struct alqi_view_holding *
alqi_view_holdings_next(const struct alqi_view_holdings *h,
                        const struct alqi_view_holding *sum)
{
    const struct alqi_view_holding *next =
        sum == NULL ? h->rows : sum + 1 + sum->n;

    return next == NULL || next == &h->rows[h->n_rows] ? NULL : next;
}
