/* records.h -- what a snapshot's file says beside its blocks     [snapshot.h]
 */
#ifndef ALQI_CLI_HEAP_RECORDS_H
#define ALQI_CLI_HEAP_RECORDS_H

#include "cli/heap/snapshot.h"

/* Takes a record that is no RUN. */
void alqi_cli_heap_record_take(struct alqi_cli_heap_snapshot *snapshot,
                               const struct alqi_dump_record *record);
/* All were taken: roots come by holder, samples by block. */
void alqi_cli_heap_records_end(struct alqi_cli_heap_snapshot *snapshot);
void alqi_cli_heap_records_free(struct alqi_cli_heap_snapshot *snapshot);

#endif
