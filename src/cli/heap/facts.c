/* facts.c -- one walk for what is to be printed                       [facts.h]
 */
#include "cli/heap/facts.h"

#include "cli/tool/cli.h"

enum { KIND_BITS = 16 }; /* as snapshot.h's ALQI_CLI_HEAP_KINDS */

void
alqi_cli_heap_facts_want(struct alqi_cli_heap_facts *facts, uint32_t number)
{
    alqi_cli_map_put(&facts->map, number, 0);
}

void
alqi_cli_heap_facts_fill(struct alqi_cli_heap_facts *facts,
                         const struct alqi_cli_heap_snapshot *s)
{
    struct alqi_cli_heap_walk walk;
    struct alqi_dump_block_read block;
    uint64_t known;

    if (facts->map.n_used == 0)
        return;
    alqi_cli_heap_walk_begin(&walk, &s->file);
    while (alqi_cli_heap_walk_block(&walk, &block)) {
        uint32_t number = alqi_cli_heap_find(&s->addresses, block.address);

        if (alqi_base_map_get(&facts->map, number, &known))
            alqi_cli_map_put(&facts->map, number,
                             (block.wosize + 1) << KIND_BITS |
                                 alqi_cli_heap_kind_number(&block));
    }
}

struct alqi_cli_heap_fact
alqi_cli_heap_facts_of(const struct alqi_cli_heap_facts *facts, uint32_t number)
{
    uint64_t known = 0;

    alqi_base_map_get(&facts->map, number, &known);
    return (struct alqi_cli_heap_fact){known >> KIND_BITS,
                                       known & (ALQI_CLI_HEAP_KINDS - 1)};
}

void
alqi_cli_heap_facts_free(struct alqi_cli_heap_facts *facts)
{
    alqi_base_map_clear(&facts->map);
}
