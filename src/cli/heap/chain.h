/* chain.h -- what holds a block alone, up to the root
 * [doc/design/heap-snapshot]
 *
 * Dominators from the block up; those of one kind that follow each other are
 * one step: a list of a million pairs is "1000000 pair". */
#ifndef ALQI_CLI_HEAP_CHAIN_H
#define ALQI_CLI_HEAP_CHAIN_H

#include "cli/heap/facts.h"

enum { ALQI_CLI_HEAP_STEPS = 8 };

struct alqi_cli_heap_step {
    uint32_t kind;
    uint64_t n_blocks;
    uint32_t first; /* order of the one nearest to the root */
};

struct alqi_cli_heap_chain {
    struct alqi_cli_heap_step steps[ALQI_CLI_HEAP_STEPS]; /* nearest to the
                                                           * block first */
    uint32_t n_steps;
    uint64_t n_left_out; /* blocks between the root and the last step */
    uint32_t root;       /* holder's number; NOTHING: several share it */
};

/* Of what lies below this order, which is the first step. */
struct alqi_cli_heap_chain
alqi_cli_heap_chain_of(const struct alqi_cli_heap_snapshot *snapshot,
                       uint32_t order);

/* What its text tells is wanted of the facts. */
void alqi_cli_heap_chain_want(const struct alqi_cli_heap_chain *chain,
                              struct alqi_cli_heap_facts *facts);

/* "global table (prog) → vector 0x7f.. → 3 × pair"; "several roots". */
void alqi_cli_heap_chain_text(struct alqi_cli_heap_snapshot *snapshot,
                              const struct alqi_cli_heap_facts *facts,
                              const struct alqi_cli_heap_chain *chain,
                              char *out, size_t capacity);

/* "pair 0x7f..", with a site: "pair 0x7f.. of make_list (list.c:12)"; a
 * holder's name. */
void alqi_cli_heap_fact_text(struct alqi_cli_heap_snapshot *snapshot,
                             const struct alqi_cli_heap_fact *fact, char *out,
                             size_t capacity);

#endif
