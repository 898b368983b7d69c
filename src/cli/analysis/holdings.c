/* holdings.c -- parts are summed, and sorted with their sums  [holdings.h] */
#include "cli/analysis/holdings.h"

#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "view/sort.h"

enum { KEY_WORDS = 3 };

void
alqi_cli_holdings_add(struct alqi_cli_holdings *h, enum alqi_view_reach reach,
                      uint32_t step, uint32_t group,
                      const struct alqi_cli_sum *sum)
{
    uint32_t number;

    h->parts.n_words = KEY_WORDS;
    number = alqi_cli_intern(&h->parts, (const uint32_t[]){reach, step, group});
    if (number == h->n_rows) {
        h->rows = alqi_cli_grow(h->rows, number, sizeof *h->rows);
        h->rows[h->n_rows++] = (struct alqi_cli_holding){
            .reach = reach, .step = step, .group = group};
    }
    alqi_cli_sum_join(&h->rows[number].sum, sum);
}

/* More bytes first; 0: as many. */
static int
compare_bytes(const struct alqi_cli_holding *a,
              const struct alqi_cli_holding *b)
{
    if (a->sum.bytes == b->sum.bytes)
        return 0;
    return a->sum.bytes > b->sum.bytes ? -1 : 1;
}

/* Parts of one sum together. */
static int
compare_parts(const void *left, const void *right, void *arg)
{
    const struct alqi_cli_holding *a = left, *b = right;
    int by_bytes = compare_bytes(a, b);

    (void)arg;
    if (a->reach != b->reach)
        return a->reach < b->reach ? -1 : 1;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return by_bytes != 0 ? by_bytes : a->group < b->group ? -1 : 1;
}

static int
compare_sums(const void *left, const void *right, void *arg)
{
    const struct alqi_cli_holding *sums = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int by_bytes = compare_bytes(&sums[a], &sums[b]);

    return by_bytes != 0 ? by_bytes : a < b ? -1 : 1;
}

/* The sum of the parts from `at` on that are of one class and step. */
static struct alqi_cli_holding
sum_of(const struct alqi_cli_holding *at, const struct alqi_cli_holding *end)
{
    struct alqi_cli_holding sum = *at;

    for (sum.n = 1; &at[sum.n] < end && at[sum.n].reach == at->reach &&
                    at[sum.n].step == at->step;
         sum.n++)
        alqi_cli_sum_join(&sum.sum, &at[sum.n].sum);
    return sum;
}

void
alqi_cli_holdings_make(struct alqi_cli_holdings *h)
{
    struct alqi_cli_holding *parts = h->rows;
    uint32_t n = h->n_rows, n_sums = 0;
    struct alqi_cli_holding *sums = alqi_cli_zeros(n + 1, sizeof *sums);
    uint32_t *order = alqi_cli_zeros(n + 1, sizeof *order);
    uint32_t *first = alqi_cli_zeros(n + 1, sizeof *first);

    alqi_view_sort(parts, n, sizeof *parts, compare_parts, NULL);
    for (uint32_t i = 0; i < n; i += sums[n_sums++].n) {
        first[n_sums] = i;
        order[n_sums] = n_sums;
        sums[n_sums] = sum_of(&parts[i], &parts[n]);
    }
    alqi_view_sort(order, n_sums, sizeof *order, compare_sums, sums);
    h->rows = alqi_cli_zeros((size_t)n + n_sums + 1, sizeof *h->rows);
    h->n_rows = 0;
    for (uint32_t i = 0; i < n_sums; i++) {
        const struct alqi_cli_holding *sum = &sums[order[i]];

        h->rows[h->n_rows++] = *sum;
        memcpy(&h->rows[h->n_rows], &parts[first[order[i]]],
               sum->n * sizeof *parts);
        h->n_rows += sum->n;
    }
    free(parts);
    free(sums);
    free(order);
    free(first);
}

const struct alqi_cli_holding *
alqi_cli_holdings_next(const struct alqi_cli_holdings *h,
                       const struct alqi_cli_holding *sum)
{
    const struct alqi_cli_holding *next =
        sum == NULL ? h->rows : sum + 1 + sum->n;

    return next == NULL || next == &h->rows[h->n_rows] ? NULL : next;
}

void
alqi_cli_holdings_free(struct alqi_cli_holdings *h)
{
    alqi_base_intern_clear(&h->parts);
    free(h->rows);
    *h = (struct alqi_cli_holdings){0};
}
