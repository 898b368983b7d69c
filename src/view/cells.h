/* cells.h -- what each thread has of each stack, under one filter
 *
 * Sums of a scan are by stack.  Who asks for threads apart asks for cells; they
 * cost one more pass over the rows that passed. */
#ifndef ALQI_VIEW_CELLS_H
#define ALQI_VIEW_CELLS_H

#include "view/scan.h"

/* A thread's part of a stack. */
struct alqi_view_cell {
    /* the whole of the thread (whole.h) */
    uint32_t thread;
    /* the stack's number */
    uint32_t stack;
    struct alqi_view_sum sum;
};

/* Those that have anything, by thread. */
struct alqi_view_cells {
    /* owned; NULL: not made */
    struct alqi_view_cell *cells;
    uint32_t n;
};

/* False: no memory.  To be freed in any case. */
bool alqi_view_cells_make(struct alqi_view_cells *cells,
                          const struct alqi_view_index *index,
                          const struct alqi_view_scan *scan);
void alqi_view_cells_free(struct alqi_view_cells *cells);

#endif
