/* facts.h -- number, address, size and kind of some blocks, found again
 *                                                      [.inv.walks, state.h]
 *
 * Wanted first, then all found at once (_fill: a look over all orders and a
 * walk over the file), then asked. */
#ifndef ALQI_CLI_HEAP_FACTS_H
#define ALQI_CLI_HEAP_FACTS_H

#include "cli/heap/snapshot.h"

struct alqi_cli_heap_fact {
    uint32_t number;         /* of a holder, too */
    uint64_t address, words; /* of a block; words with its header */
    uint32_t kind;
};

/* All zeros: none is wanted. */
struct alqi_cli_heap_facts {
    struct alqi_base_map numbers; /* order -> number */
    struct alqi_base_map blocks;  /* number -> words << 16 | kind */
};

void alqi_cli_heap_facts_want(struct alqi_cli_heap_facts *facts,
                              uint32_t order);
void alqi_cli_heap_facts_want_number(struct alqi_cli_heap_facts *facts,
                                     uint32_t number);
void alqi_cli_heap_facts_fill(struct alqi_cli_heap_facts *facts,
                              const struct alqi_cli_heap_snapshot *snapshot);
/* Of one that was wanted. */
struct alqi_cli_heap_fact
alqi_cli_heap_fact_of(const struct alqi_cli_heap_facts *facts,
                      const struct alqi_cli_heap_snapshot *snapshot,
                      uint32_t order);
struct alqi_cli_heap_fact
alqi_cli_heap_fact_of_number(const struct alqi_cli_heap_facts *facts,
                             const struct alqi_cli_heap_snapshot *snapshot,
                             uint32_t number);
void alqi_cli_heap_facts_free(struct alqi_cli_heap_facts *facts);

#endif
