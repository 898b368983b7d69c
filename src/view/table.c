/* table.c -- an array of records of one size that grows by half
 *
 * [table.h] A failed growth leaves the table as it was. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "view/table.h"

enum { FIRST = 64 };

/* Makes room for n more records. False: no memory, or too many. */
static bool
room(struct alqi_view_table *t, size_t n)
{
    size_t capacity = t->capacity == 0 ? FIRST : t->capacity;
    unsigned char *rows;

    if (n <= t->capacity - t->n)
        return true;
    while (capacity - t->n < n) {
        if (capacity > SIZE_MAX / 2 / t->each_bytes)
            return false;
        capacity += capacity / 2;
    }
    rows = realloc(t->rows, capacity * t->each_bytes);
    if (rows == NULL)
        return false;
    t->rows = rows;
    t->capacity = capacity;
    return true;
}

bool
alqi_view_table_append(struct alqi_view_table *t, const void *rows, size_t n)
{
    if (!room(t, n))
        return false;
    memcpy(t->rows + t->n * t->each_bytes, rows, n * t->each_bytes);
    t->n += n;
    return true;
}

bool
alqi_view_table_add(struct alqi_view_table *t, const void *row)
{
    return alqi_view_table_append(t, row, 1);
}
