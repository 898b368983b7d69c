/* sort.c -- heapsort with an order that has an argument
 *
 * [sort.h] n log n comparisons for any rows, hostile ones too; no memory. The
 * order is not stable: rows that compare as equal may change places. */
#include <string.h>

#include "view/sort.h"

/* Bytes that swap moves at once. */
enum { CHUNK = 64 };

/* The arguments of one sort. */
struct sorter {
    char *rows;
    size_t each_bytes;
    alqi_view_order_fn *order;
    void *arg;
};

/* Exchanges rows i and k. */
static void
swap(const struct sorter *s, size_t i, size_t k)
{
    char *a = s->rows + i * s->each_bytes, *b = s->rows + k * s->each_bytes;
    char chunk[CHUNK];

    for (size_t at = 0; at < s->each_bytes; at += CHUNK) {
        size_t n = s->each_bytes - at < CHUNK ? s->each_bytes - at : CHUNK;

        memcpy(chunk, a + at, n);
        memcpy(a + at, b + at, n);
        memcpy(b + at, chunk, n);
    }
}

/* The order of rows i and k. */
static int
compare(const struct sorter *s, size_t i, size_t k)
{
    return s->order(s->rows + i * s->each_bytes, s->rows + k * s->each_bytes,
                    s->arg);
}

/* Lets row i sink among the first n to where no child comes after it. */
static void
sink(const struct sorter *s, size_t i, size_t n)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && compare(s, child, child + 1) < 0)
            child++;
        if (compare(s, i, child) >= 0)
            return;
        swap(s, i, child);
    }
}

void
alqi_view_sort(void *rows, size_t n, size_t each_bytes,
               alqi_view_order_fn *order, void *arg)
{
    struct sorter s = {rows, each_bytes, order, arg};

    for (size_t i = n / 2; i-- > 0;)
        sink(&s, i, n);
    for (size_t i = n; i-- > 1;) {
        swap(&s, 0, i);
        sink(&s, 0, i);
    }
}
