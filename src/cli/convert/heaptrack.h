/* heaptrack.h -- a data file of heaptrack into a trace
 *                                                  [doc/design/heaptrack.md]
 *
 * Every block is in such a file, so the trace is an exact one: its context has
 * ALQI_CLI_HEAPTRACK_CONTEXT.  In it a block lives no time at all if it was
 * freed before anything else was allocated or freed, what heaptrack calls
 * temporary, and a microsecond at least if not. */
#ifndef ALQI_CLI_CONVERT_HEAPTRACK_H
#define ALQI_CLI_CONVERT_HEAPTRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire/ctf.h"

#define ALQI_CLI_HEAPTRACK_CONTEXT "from=heaptrack"

/* Whether a trace with that context was made so. */
static inline bool
alqi_cli_heaptrack_made(const char *context)
{
    return strstr(context, ALQI_CLI_HEAPTRACK_CONTEXT) != NULL;
}

/* How a conversion ended. */
struct alqi_cli_heaptrack_result {
    uint64_t n_allocs;
    /* "" or what is wrong with the file: the trace has what stands before it */
    char damage[200];
};

/* True for the first bytes of such a file, unpacked; a raw one, too. */
bool alqi_cli_heaptrack_is(const void *bytes, size_t n);

/* Errors   ALQ_EIO     packet() refused
 *          ALQ_ENOMEM */
enum alq_status
alqi_cli_heaptrack_convert(alqi_ctf_read_fn *read, void *read_arg,
                           alqi_ctf_packet_fn *packet, void *packet_arg,
                           struct alqi_cli_heaptrack_result *result);

#endif
