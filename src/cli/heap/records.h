/* records.h -- what a snapshot's file says beside its blocks     [state.h]
 */
#ifndef ALQI_CLI_HEAP_RECORDS_H
#define ALQI_CLI_HEAP_RECORDS_H

#include "cli/heap/state.h"

/* Takes a record that is no RUN. */
void alqi_cli_heap_record_take(struct alqi_cli_heap_snapshot *snapshot,
                               const struct alqi_dump_record *record);
/* All were taken: roots come by holder, samples by block. */
void alqi_cli_heap_records_end(struct alqi_cli_heap_snapshot *snapshot);
void alqi_cli_heap_records_free(struct alqi_cli_heap_snapshot *snapshot);

/* ---- words -------------------------------------------------------------- */

/* "pair", "string", "block of tag 7"; valid until the snapshot is closed. */
const char *alqi_cli_heap_kind_name(struct alqi_cli_heap_snapshot *snapshot,
                                    uint32_t kind);
const char *
alqi_cli_heap_holder_name(const struct alqi_cli_heap_snapshot *snapshot,
                          uint32_t holder);
/* "make_list (list.c:12)" */
void alqi_cli_heap_site_name(struct alqi_cli_heap_snapshot *snapshot,
                             uint32_t site, char *out, size_t capacity);
/* The sample of the block at the address; NULL: it has none. */
const struct alqi_cli_heap_sample *
alqi_cli_heap_sample_at(const struct alqi_cli_heap_snapshot *snapshot,
                        uint64_t address);

#endif
