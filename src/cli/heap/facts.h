/* facts.h -- size and kind of some blocks, read again from the file
 *                                                      [.inv.walks, snapshot.h]
 *
 * Wanted first (_want), then all in one walk (_fill), then asked (_of). */
#ifndef ALQI_CLI_HEAP_FACTS_H
#define ALQI_CLI_HEAP_FACTS_H

#include "cli/heap/snapshot.h"

struct alqi_cli_heap_fact {
    uint64_t words; /* header included; 0: a holder */
    uint32_t kind;
};

/* All zeros: none is wanted. */
struct alqi_cli_heap_facts {
    struct alqi_base_map map; /* number -> words << 16 | kind */
};

void alqi_cli_heap_facts_want(struct alqi_cli_heap_facts *facts,
                              uint32_t number);
void alqi_cli_heap_facts_fill(struct alqi_cli_heap_facts *facts,
                              const struct alqi_cli_heap_snapshot *snapshot);
struct alqi_cli_heap_fact
alqi_cli_heap_facts_of(const struct alqi_cli_heap_facts *facts,
                       uint32_t number);
void alqi_cli_heap_facts_free(struct alqi_cli_heap_facts *facts);

#endif
