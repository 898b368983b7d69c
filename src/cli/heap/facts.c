/* facts.c -- numbers, sizes and kinds of the blocks that are to be printed
 *                                                                    [facts.h]
 * One pass over the orders finds the numbers of all of them, one over the file
 * their sizes and kinds.  A size in words and a kind share a value of the map:
 * words << KIND_BITS | kind. */
#include "cli/heap/facts.h"

#include "cli/tool/cli.h"

enum { KIND_BITS = 16, KIND_MASK = (1 << KIND_BITS) - 1 };

void
alqi_cli_heap_facts_want(struct alqi_cli_heap_facts *f, uint32_t order)
{
    alqi_cli_map_put(&f->numbers, order, ALQI_CLI_HEAP_NOTHING);
}

void
alqi_cli_heap_facts_want_number(struct alqi_cli_heap_facts *f, uint32_t number)
{
    alqi_cli_map_put(&f->blocks, number, 0);
}

static void
numbers_fill(struct alqi_cli_heap_facts *f,
             const struct alqi_cli_heap_graph *graph)
{
    uint64_t before;

    for (uint32_t i = 0; f->numbers.n_used > 0 && i < graph->n_nodes; i++)
        if (graph->order[i] != ALQI_CLI_HEAP_NOTHING &&
            alqi_base_map_get(&f->numbers, graph->order[i], &before)) {
            alqi_cli_map_put(&f->numbers, graph->order[i], i);
            alqi_cli_heap_facts_want_number(f, i);
        }
}

void
alqi_cli_heap_facts_fill(struct alqi_cli_heap_facts *f,
                         const struct alqi_cli_heap_snapshot *s)
{
    struct alqi_cli_heap_walk walk;
    struct alqi_dump_block_read block;
    uint64_t before;

    numbers_fill(f, &s->graph);
    if (f->blocks.n_used == 0)
        return;
    alqi_cli_heap_walk_begin(&walk, &s->file);
    while (alqi_cli_heap_walk_block(&walk, &block)) {
        uint32_t number = alqi_cli_heap_find(&s->addresses, block.address);

        if (alqi_base_map_get(&f->blocks, number, &before))
            alqi_cli_map_put(&f->blocks, number,
                             (block.wosize + 1) << KIND_BITS |
                                 alqi_cli_heap_kind_number(&block));
    }
}

struct alqi_cli_heap_fact
alqi_cli_heap_fact_of_number(const struct alqi_cli_heap_facts *f,
                             const struct alqi_cli_heap_snapshot *s,
                             uint32_t number)
{
    struct alqi_cli_heap_fact fact = {.number = number};
    uint64_t known = 0;

    alqi_base_map_get(&f->blocks, number, &known);
    fact.words = known >> KIND_BITS;
    fact.kind = (uint32_t)(known & KIND_MASK);
    if (alqi_cli_heap_is_leaf(number) || number < s->graph.n_blocks)
        fact.address = alqi_cli_heap_address(&s->addresses, number);
    return fact;
}

struct alqi_cli_heap_fact
alqi_cli_heap_fact_of(const struct alqi_cli_heap_facts *f,
                      const struct alqi_cli_heap_snapshot *s, uint32_t order)
{
    uint64_t number = 0;

    alqi_base_map_get(&f->numbers, order, &number);
    return alqi_cli_heap_fact_of_number(f, s, (uint32_t)number);
}

void
alqi_cli_heap_facts_free(struct alqi_cli_heap_facts *f)
{
    alqi_base_map_clear(&f->numbers);
    alqi_base_map_clear(&f->blocks);
}
