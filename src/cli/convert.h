/* convert.h -- a raw recording into a memtrace trace   [doc/design/preload.md]
 *
 * Streams are merged by time; addresses get location codes by module and
 * moment, so that a reused address is a new code; names come from the modules'
 * symbols.  Reads a recording that is still growing up to what is there. */
#ifndef ALQI_CLI_CONVERT_H
#define ALQI_CLI_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/symbol.h"
#include "wire/ctf.h"
#include "wire/raw.h"

struct alqi_cli_recording; /* an open raw file */

/* NULL when path is not a readable recording; then error says why. */
struct alqi_cli_recording *
alqi_cli_recording_open(const char *path, char *error, size_t error_bytes);
void alqi_cli_recording_drop(struct alqi_cli_recording *recording);
const struct alqi_raw_header *
alqi_cli_recording_header(const struct alqi_cli_recording *recording);
/* Whether the process that writes it is there still. */
bool alqi_cli_recording_is_live(const struct alqi_cli_recording *recording);

struct alqi_cli_convert_result {
    uint64_t n_allocs;
    uint64_t n_frees;
    double allocated_bytes;    /* estimate */
    uint64_t n_damaged_chunks; /* passed over from the damage on */
    uint64_t n_orphan_frees;   /* of allocations that are not there */
};

/* `ended` is the word for the end record: exit, killed or running.
 * Errors   ALQ_EIO      packet() refused
 *          ALQ_ENOMEM */
enum alq_status alqi_cli_convert(const struct alqi_cli_recording *recording,
                                 const char *ended,
                                 struct alqi_symbol_table *symbols,
                                 alqi_ctf_packet_fn *packet, void *packet_arg,
                                 struct alqi_cli_convert_result *result);

#endif
