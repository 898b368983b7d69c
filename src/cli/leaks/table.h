/* table.h -- the blocks of a process, by address     [doc/design/leaks.md] */
#ifndef ALQI_CLI_LEAKS_TABLE_H
#define ALQI_CLI_LEAKS_TABLE_H

#include "base/map.h"
#include "cli/leaks/graph.h"

/* No object of the trace: a block that is not in the recording. */
#define ALQI_CLI_LEAK_NO_ID UINT64_MAX

struct alqi_cli_leak_block {
    uint64_t start;
    uint64_t bytes; /* as asked for; if it is not in the recording, all of it */
    uint64_t id;    /* object of the trace, or NO_ID */
};

/* All zeros is an empty table. */
struct alqi_cli_leak_table {
    struct alqi_cli_leak_block *blocks; /* by address, once sorted */
    size_t n, capacity;
    uint64_t from, to;          /* all blocks lie there     */
    struct alqi_base_map pages; /* page -> first small block in it */
    uint32_t *large;            /* numbers of large blocks, in order; owned */
    size_t n_large;
};

/* Ends the command without memory, or beyond ALQI_CLI_LEAK_BLOCKS_MOST. */
void alqi_cli_leak_table_add(struct alqi_cli_leak_table *table, uint64_t start,
                             uint64_t bytes, uint64_t id);
/* Sorts the blocks; _find may be asked from then on.  Of blocks that overlap
 * the one that is in the recording stays. */
void alqi_cli_leak_table_sort(struct alqi_cli_leak_table *table);
void alqi_cli_leak_table_free(struct alqi_cli_leak_table *table);

/* The block that holds the address, out of line. */
bool alqi_cli_leak_table_find_slow(const struct alqi_cli_leak_table *table,
                                   uint64_t address, uint32_t *block);

/* Most words of a memory lead nowhere. */
static inline bool
alqi_cli_leak_table_find(const struct alqi_cli_leak_table *table,
                         uint64_t address, uint32_t *block)
{
    return address - table->from < table->to - table->from &&
           alqi_cli_leak_table_find_slow(table, address, block);
}

/* Where in its block an address is. */
static inline enum alqi_cli_leak_into
alqi_cli_leak_into(const struct alqi_cli_leak_block *block, uint64_t address)
{
    uint64_t offset = address - block->start;

    if (offset > 32)
        return ALQI_CLI_LEAK_INSIDE;
    return offset % 8 == 0   ? (enum alqi_cli_leak_into)(offset / 8)
           : offset % 8 == 7 ? ALQI_CLI_LEAK_BEFORE
                             : ALQI_CLI_LEAK_INSIDE;
}

#endif
