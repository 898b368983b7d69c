/* rows.h -- blocks that hold the most, and who holds those
 *                                               [doc/design/heap-snapshot] */
#ifndef ALQI_CLI_HEAP_ROWS_H
#define ALQI_CLI_HEAP_ROWS_H

#include "cli/heap/facts.h"

/* A block or a holder. */
struct alqi_cli_heap_row {
    uint32_t order;    /* NOTHING: a leaf */
    uint32_t above;    /* order of what holds it alone */
    uint64_t words;    /* retained, itself included */
    uint64_t n_blocks; /* retained */
    /* of a leaf at once, else with _know */
    struct alqi_cli_heap_fact is;
};

struct alqi_cli_heap_rows {
    struct alqi_cli_heap_row *rows; /* the most words first; owned */
    uint32_t n, most;               /* at most so many are kept */
    uint64_t least_words;           /* none with less is */
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

/* What the n parents' orders, ascending, hold alone: for each of them rows[i],
 * which are begun with _begin. */
void alqi_cli_heap_rows_below(struct alqi_cli_heap_rows *rows,
                              struct alqi_cli_heap_snapshot *snapshot,
                              const uint32_t *parents, uint32_t n);

/* A row of a tree. */
struct alqi_cli_heap_deep {
    struct alqi_cli_heap_row row;
    uint32_t number, parent; /* the first row is 0; a parent's is smaller */
    uint32_t depth;          /* below the first row */
    uint64_t n_left_out;     /* rows below it with too few words */
};

/* All that lies below root, which is the first row, down to a depth, and has
 * least_words: in one look over all nodes.  Sorted by parent, then the most
 * words first; owned by the caller.  Returns the number of rows. */
uint32_t alqi_cli_heap_rows_deep(struct alqi_cli_heap_snapshot *snapshot,
                                 const struct alqi_cli_heap_row *root,
                                 uint64_t depth, uint64_t least_words,
                                 struct alqi_cli_heap_deep **rows);

/* No rows, and so many at most; 0: all. */
void alqi_cli_heap_rows_begin(struct alqi_cli_heap_rows *rows, uint64_t most);
/* The rows are wanted of the facts; then, when these are found, are known. */
void alqi_cli_heap_rows_want(const struct alqi_cli_heap_rows *rows,
                             struct alqi_cli_heap_facts *facts);
void alqi_cli_heap_rows_know(struct alqi_cli_heap_rows *rows,
                             const struct alqi_cli_heap_facts *facts,
                             const struct alqi_cli_heap_snapshot *snapshot);

#endif
