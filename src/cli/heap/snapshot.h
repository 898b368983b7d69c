/* snapshot.h -- a heap at a moment, and who holds what in it
 *                                               [doc/design/heap-snapshot] */
#ifndef ALQI_CLI_HEAP_SNAPSHOT_H
#define ALQI_CLI_HEAP_SNAPSHOT_H

#include "cli/heap/records.h"
#include "cli/heap/state.h"

/* Reads all records.  is_flat: every block counts as an inner one.  -1: go on,
 * and damage was said; else the exit status. */
int alqi_cli_heap_open(struct alqi_cli_heap_snapshot *snapshot,
                       const char *path, bool is_flat);
/* The graph's edges alone; _solve does it, too.  Both end the command without
 * memory. */
void alqi_cli_heap_edges(struct alqi_cli_heap_snapshot *snapshot);
void alqi_cli_heap_solve(struct alqi_cli_heap_snapshot *snapshot);
void alqi_cli_heap_close(struct alqi_cli_heap_snapshot *snapshot);

#endif
