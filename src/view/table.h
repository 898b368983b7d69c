/* table.h -- an array of records that grows */
#ifndef ALQI_VIEW_TABLE_H
#define ALQI_VIEW_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* All zeros but each_bytes is an empty one; rows is the owner's to free. */
struct alqi_view_table {
    /* the owner's to free; moves when it grows */
    unsigned char *rows;
    /* records */
    size_t n, capacity;
    /* of one record; set by the owner, not 0 */
    size_t each_bytes;
};

/* False when there is no memory: the table is as it was. */
bool alqi_view_table_add(struct alqi_view_table *table, const void *row);
bool alqi_view_table_append(struct alqi_view_table *table, const void *rows,
                            size_t n);

#endif
