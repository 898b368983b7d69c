/* rows.h -- blocks that hold the most, and who holds those
 *                                               [doc/design/heap-snapshot] */
#ifndef ALQI_CLI_HEAP_ROWS_H
#define ALQI_CLI_HEAP_ROWS_H

#include "cli/heap/snapshot.h"

/* A block or a holder. */
struct alqi_cli_heap_row {
    uint32_t number;     /* as snapshot.h says */
    uint64_t address;    /* of a block */
    uint64_t own_words;  /* header included; of a holder 0 */
    uint64_t words;      /* retained, itself included */
    uint64_t n_retained; /* blocks */
    uint32_t kind;       /* of a block */
};

struct alqi_cli_heap_rows {
    struct alqi_cli_heap_row *rows; /* the most words first; owned */
    uint32_t n, most;               /* at most so many are kept */
    uint64_t n_left_out;
};

/* Takes a row, if it is among those of the most words. */
void alqi_cli_heap_rows_offer(struct alqi_cli_heap_rows *rows,
                              const struct alqi_cli_heap_row *row);
void alqi_cli_heap_rows_free(struct alqi_cli_heap_rows *rows);

/* The roots by what each holds alone; most 0: all. */
void alqi_cli_heap_rows_holders(struct alqi_cli_heap_rows *rows,
                                struct alqi_cli_heap_snapshot *snapshot,
                                uint64_t most);
/* The blocks that hold the most.  One that only goes on with its holder's data
 * is left out: it is of the kind of one of its three nearest holders, and that
 * one has less than twice as much: the cells of a list, the nodes of a tree. */
void alqi_cli_heap_rows_blocks(struct alqi_cli_heap_rows *rows,
                               struct alqi_cli_heap_snapshot *snapshot,
                               uint64_t most);

/* The blocks and holders whose nearest dominators are `parents` (orders,
 * ascending): for each the rows[i] of the most words.  is_blocks: those below
 * the root that are no holders, which several hold. */
void alqi_cli_heap_rows_below(struct alqi_cli_heap_rows *rows,
                              struct alqi_cli_heap_snapshot *snapshot,
                              const uint32_t *parents, uint32_t n_parents);

/* The next step from a block up to its root: a number; NOTHING: the root, so
 * several holders share it. */
uint32_t alqi_cli_heap_row_above(const struct alqi_cli_heap_snapshot *snapshot,
                                 uint32_t number);

#endif
