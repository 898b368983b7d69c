/* join.h -- several traces into one                       [doc/design/merge.md]
 *
 * Events in order of time, ids and codes given out anew, threads kept apart;
 * each old trace is a process of the new one.  Memory grows with the blocks
 * alive, with what is distinct, and with the traces that overlap in time. */
#ifndef ALQI_CLI_MERGE_JOIN_H
#define ALQI_CLI_MERGE_JOIN_H

#include <stdint.h>

#include "cli/read/joined.h"
#include "cli/tool/output.h"
#include "cli/read/paths.h"

/* version: 2 for one stream, 3 for a stream for each old trace.  The order of
 * the paths does not matter.  Returns -1 to go on, or the exit status; the
 * reason has been said. */
int alqi_cli_join(const struct alqi_cli_paths *paths, uint16_t version,
                  struct alqi_cli_trace_out *out,
                  struct alqi_cli_join_result *result);

#endif
