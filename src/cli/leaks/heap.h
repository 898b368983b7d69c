/* heap.h -- where a process's allocator keeps its blocks
 *                                                    [doc/design/leaks.md]
 *
 * Memory that an allocator has given to nobody holds old pointers: what is
 * there is no root.  glibc's blocks are bounded by words of its own, which tell
 * where its memory begins and ends, and which blocks there are that no
 * recording has.  Any other allocator's memory is the mappings that have
 * blocks. */
#ifndef ALQI_CLI_LEAKS_HEAP_H
#define ALQI_CLI_LEAKS_HEAP_H

#include "cli/leaks/memory.h"
#include "cli/leaks/table.h"

struct alqi_cli_leak_extent {
    uint64_t from, to;
    /* all its blocks are known: the rest of it is free, or the allocator's */
    bool is_known;
};

struct alqi_cli_leak_heap {
    struct alqi_cli_leak_extent *extents; /* by address; owned */
    size_t n_extents;
    /* blocks that were found by glibc's words alone */
    uint64_t n_found;
};

/* Finds the extents of the table's blocks, which are sorted.  is_whole: the
 * recording has every block.  If not, blocks of glibc that it does not have are
 * added, and the table is sorted anew. */
void alqi_cli_leak_heap_find(struct alqi_cli_leak_heap *heap,
                             struct alqi_cli_leak_memory *memory,
                             struct alqi_cli_leak_table *table, bool is_whole);
void alqi_cli_leak_heap_free(struct alqi_cli_leak_heap *heap);

#endif
