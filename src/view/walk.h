/* walk.h -- goes through a forest depth first, however deep it is
 *
 * .inv.walk  Between the step that enters a row and the one that leaves it,
 *            only rows below it are entered and left. Row 0 is neither. */
#ifndef ALQI_VIEW_WALK_H
#define ALQI_VIEW_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A walk; it keeps no stack, and goes up by the parents. */
struct alqi_view_walk {
    /* n rows, each of which begins with the number of its parent; the caller's
     */
    const unsigned char *rows;
    size_t row_bytes;
    /* rows, by parent; owned */
    uint32_t *children;
    /* [n + 1]: the next child of each row, and where its children end; owned */
    uint32_t *next, *end;
    /* the row that was entered or left */
    uint32_t row;
    /* the last step left it */
    bool has_left;
};

enum alqi_view_step { ALQI_VIEW_ENTER, ALQI_VIEW_LEAVE, ALQI_VIEW_END };

/* Parents have smaller numbers than their children; row 0 is the root. False:
 * no memory; to be freed in any case. */
bool alqi_view_walk_make(struct alqi_view_walk *walk, const void *rows,
                         size_t row_bytes, uint32_t n);
void alqi_view_walk_free(struct alqi_view_walk *walk);
enum alqi_view_step alqi_view_walk_step(struct alqi_view_walk *walk);

#endif
