/* scan.h -- all pointers to blocks in a core         [doc/design/leaks.md] */
#ifndef ALQI_CLI_LEAKS_SCAN_H
#define ALQI_CLI_LEAKS_SCAN_H

#include "cli/leaks/graph.h"
#include "cli/leaks/heap.h"
#include "cli/leaks/memory.h"
#include "cli/leaks/table.h"
#include "cli/leaks/whole.h"

/* A root that is a register: its thread and number. */
#define ALQI_CLI_LEAK_REGISTER (UINT64_C(1) << 63)

struct alqi_cli_leak_scan {
    struct alqi_cli_leak_memory memory;
    struct alqi_cli_leak_table table;
    struct alqi_cli_leak_heap heap;
    struct alqi_cli_leak_graph graph;
    /* the graph's; owned */
    size_t *first;
    uint32_t *edges;
    struct alqi_cli_leak_root *roots;
    struct alqi_cli_leak_whole whole;
    size_t edges_capacity, roots_capacity;
    size_t n_edges;
    /* block whose edges come next, while they are found */
    uint32_t at;
    /* of the range that is read: outside blocks its words are roots, weak ones
     * or none */
    bool has_roots, is_weak;
    bool is_libc;       /* the range is of the C library's variables */
    bool is_stack;      /* the range is of a stack, or of registers */
    uint64_t tls_bytes; /* of the modules' thread-local variables: the caller's;
                         * what is in these stays, on a stack, too */
    /* bytes of devices' memory, which is not read */
    uint64_t device_bytes;
    /* bytes that were read of extents whose blocks are not all known */
    uint64_t weak_bytes;
    uint32_t n_weak; /* the first roots: those of such extents */
    /* by block: its class if none of these was old; NULL: there is none; owned
     */
    uint8_t *current;
};

/* Finds heap, pointers and classes for the table, which the caller has filled.
 * recording: its path as the process maps it.  is_whole: it has every block. */
void alqi_cli_leak_scan_run(struct alqi_cli_leak_scan *scan,
                            const struct alqi_cli_core *core,
                            const char *recording, bool is_whole);
void alqi_cli_leak_scan_free(struct alqi_cli_leak_scan *scan);

/* Whether the block is possible only because an allocator's memory may be old.
 */
static inline bool
alqi_cli_leak_is_old(const struct alqi_cli_leak_scan *scan, uint32_t block)
{
    return scan->graph.classes[block] == ALQI_CLI_LEAK_POSSIBLE &&
           scan->current != NULL && scan->current[block] == ALQI_CLI_LEAK_HELD;
}

#endif
