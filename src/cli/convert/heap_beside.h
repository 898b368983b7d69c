/* heap_beside.h -- the snapshot that a heap's trace names [doc/design/trace.md]
 *
 *   the trace's record --find--> a file: the trace's, or why it is not
 *                                  --read (heap_held.h)--> who holds its blocks
 */
#ifndef ALQI_CLI_CONVERT_HEAP_BESIDE_H
#define ALQI_CLI_CONVERT_HEAP_BESIDE_H

#include <limits.h>

#include "cli/convert/reach.h"

struct alqi_cli_heap_beside {
    char path[PATH_MAX + 300];
    /* why who holds the blocks is not known; "": the file is the trace's */
    char why[PATH_MAX + 600];
};

/* Of the trace at that path, of a process with that number; `line` is its
 * record `snapshot` (wire/side.h).  The file's head alone is read. */
void alqi_cli_heap_beside_find(struct alqi_cli_heap_beside *beside,
                               const char *trace, uint64_t pid,
                               const char *line);
/* What a file that was found tells.  False: nothing, and why is set. */
bool alqi_cli_heap_beside_read(struct alqi_cli_heap_beside *beside,
                               struct alqi_cli_reaches *out);

#endif
