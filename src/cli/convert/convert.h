/* convert.h -- a raw recording into a memtrace trace   [doc/design/preload.md]
 *
 * Streams are merged by time; addresses get location codes by module and
 * moment, so that a reused address is a new code; names come from the modules'
 * symbols.  Reads a recording that is still growing up to what is there. */
#ifndef ALQI_CLI_CONVERT_CONVERT_H
#define ALQI_CLI_CONVERT_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/convert/recording.h"
#include "stack/symbol.h"
#include "wire/ctf.h"

struct alqi_cli_reaches; /* reach.h */

/* Counts of a conversion; they grow with each step. */
struct alqi_cli_convert_result {
    /* allocations written */
    uint64_t n_allocs;
    /* ends of blocks written */
    uint64_t n_frees;
    /* estimate of all bytes allocated; exact for an exact recording */
    double allocated_bytes;
    /* chunks passed over from the damage on */
    uint64_t n_damaged_chunks;
    /* frees of sampled allocations that are not there */
    uint64_t n_orphan_frees;
    /* exact: blocks whose end shows only by the next block at the address */
    uint64_t n_unseen_frees;
    /* exact: frees of blocks from before the recording, or not recorded */
    uint64_t n_unknown_frees;
};

/* Converts the recording at once.
 * ended is the word for the end record: exit, exec, killed or running. Times
 * are rounded down to multiples of time_step_us since the start; 0 and 1 leave
 * them as they are. reaches: what is known of blocks that were never freed;
 * NULL: nothing.
 *
 * Errors   ALQ_EIO     packet() refused
 *          ALQ_ENOMEM */
enum alq_status alqi_cli_convert(const struct alqi_cli_recording *recording,
                                 const char *ended, uint64_t time_step_us,
                                 const struct alqi_cli_reaches *reaches,
                                 struct alqi_symbol_table *symbols,
                                 alqi_ctf_packet_fn *packet, void *packet_arg,
                                 struct alqi_cli_convert_result *result);

/* The same in steps, of a recording that may go on:
 *
 *   open --> step until there is no more --> end --> close
 *             ^          | the recording has grown: more
 *             +----------+
 *
 * Each may fail as alqi_cli_convert does; then only close is left. */
struct alqi_cli_conversion;

enum alq_status alqi_cli_conversion_open(
    const struct alqi_cli_recording *recording, uint64_t time_step_us,
    struct alqi_symbol_table *symbols, alqi_ctf_packet_fn *packet,
    void *packet_arg, struct alqi_cli_convert_result *result,
    struct alqi_cli_conversion **out);
/* Writes at most n_most events of the recording. *is_more: the step stopped at
 * n_most, so another may find more. */
enum alq_status alqi_cli_conversion_step(struct alqi_cli_conversion *conversion,
                                         uint64_t n_most, bool *is_more);
/* Hands out a packet with all that has been taken so far. */
enum alq_status
alqi_cli_conversion_flush(struct alqi_cli_conversion *conversion);
/* The recording has grown (alqi_cli_recording_grow). Requires that the last
 * step left no more. */
enum alq_status
alqi_cli_conversion_more(struct alqi_cli_conversion *conversion);
/* Whether the next step may write: times can be told. */
bool
alqi_cli_conversion_has_times(const struct alqi_cli_conversion *conversion);
/* Whether the trace comes to be what a conversion of the whole recording at
 * once would make: not where its rate rose since, or where the process makes
 * code, whose names come late. */
bool alqi_cli_conversion_is_alike(const struct alqi_cli_conversion *conversion);
/* Reads the symbols of what has been taken so far, before a packet is ended. */
void alqi_cli_conversion_read_symbols(struct alqi_cli_conversion *conversion);
/* The part of the known recording that has been taken: 0 to 1, by chunks of
 * sampled streams. */
double
alqi_cli_conversion_progress(const struct alqi_cli_conversion *conversion);
/* Where the blocks lie that live (lying.c). Asked for before the first step;
 * visited when a step left no more. The places of sampled blocks are the
 * caller's, since a recording has none: each by stream and ordinal. */
struct alqi_cli_lying {
    /* in the process */
    uint64_t address;
    uint64_t bytes;
    /* object id of the trace */
    uint64_t id;
};

void alqi_cli_conversion_keep_sizes(struct alqi_cli_conversion *conversion);
/* False: no such block lives in the trace. */
bool alqi_cli_conversion_lies(const struct alqi_cli_conversion *conversion,
                              uint64_t address, uint32_t stream,
                              uint64_t ordinal, struct alqi_cli_lying *out);
/* The next block of an exact recording, in no order; *at begins with 0. False:
 * there is none left. */
bool alqi_cli_conversion_lies_next(const struct alqi_cli_conversion *conversion,
                                   size_t *at, struct alqi_cli_lying *out);
/* Writes the last records. Only close may follow. */
enum alq_status alqi_cli_conversion_end(struct alqi_cli_conversion *conversion,
                                        const char *ended);
/* Closes the trace and frees the conversion; NULL is allowed. */
enum alq_status
alqi_cli_conversion_close(struct alqi_cli_conversion *conversion);

#endif
