/* heap_held.h -- who holds the blocks of a heap's trace
 *                                               [doc/design/heap-snapshot]
 *
 * Of a snapshot that a trace has beside it (include/aliquot/trace.h); what it
 * tells goes into the trace.  cli/heap reads it. */
#ifndef ALQI_CLI_CONVERT_HEAP_HELD_H
#define ALQI_CLI_CONVERT_HEAP_HELD_H

#include "cli/convert/reach.h"

/* Behind the name of the trace. */
#define ALQI_CLI_HEAP_HELD_SUFFIX ".heap"

/* Each block of the trace: its class, and who holds it; `number` is the
 * object's.  False: the file is none, or not whole, and that was said. */
bool alqi_cli_heap_held(const char *path, struct alqi_cli_reaches *out);

#endif
