/* chain.c -- dominators of a block as words                          [chain.h]
 */
#include "cli/heap/chain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NOTHING ALQI_CLI_HEAP_NOTHING

enum { SITE_BYTES = 512 };

/* A dominator of the kind of the step before belongs to that step. */
static void
step_add(struct alqi_cli_heap_chain *chain, uint32_t kind, uint32_t order)
{
    struct alqi_cli_heap_step *last =
        chain->n_steps > 0 ? &chain->steps[chain->n_steps - 1] : NULL;

    if (chain->n_left_out > 0) {
        chain->n_left_out++;
    } else if (last != NULL && last->kind == kind) {
        last->n_blocks++;
        last->first = order;
    } else if (chain->n_steps < ALQI_CLI_HEAP_STEPS) {
        chain->steps[chain->n_steps++] =
            (struct alqi_cli_heap_step){kind, 1, order};
    } else {
        chain->n_left_out++;
    }
}

struct alqi_cli_heap_chain
alqi_cli_heap_chain_of(const struct alqi_cli_heap_snapshot *s, uint32_t order)
{
    struct alqi_cli_heap_chain chain = {.root = NOTHING};

    for (; order > 0; order = s->graph.idom[order]) {
        if (alqi_cli_heap_is_holder(s, order))
            chain.root = order;
        else
            step_add(&chain, s->sizes[order].kind, order);
    }
    return chain;
}

void
alqi_cli_heap_chain_want(const struct alqi_cli_heap_chain *chain,
                         struct alqi_cli_heap_facts *facts)
{
    if (chain->root != NOTHING)
        alqi_cli_heap_facts_want(facts, chain->root);
    for (uint32_t i = 0; i < chain->n_steps; i++)
        if (chain->steps[i].n_blocks == 1)
            alqi_cli_heap_facts_want(facts, chain->steps[i].first);
}

static void
step_print(struct alqi_cli_heap_snapshot *s,
           const struct alqi_cli_heap_facts *facts,
           const struct alqi_cli_heap_step *step, FILE *to)
{
    const char *kind = alqi_cli_heap_kind_name(s, step->kind);

    if (step->n_blocks > 1)
        fprintf(to, " → %" PRIu64 " × %s", step->n_blocks, kind);
    else
        fprintf(to, " → %s 0x%" PRIx64, kind,
                alqi_cli_heap_fact_of(facts, s, step->first).address);
}

void
alqi_cli_heap_chain_text(struct alqi_cli_heap_snapshot *s,
                         const struct alqi_cli_heap_facts *facts,
                         const struct alqi_cli_heap_chain *chain, char *out,
                         size_t capacity)
{
    FILE *to = fmemopen(out, capacity, "w");
    struct alqi_cli_heap_fact root;

    out[0] = '\0';
    if (to == NULL)
        return;
    if (chain->root == NOTHING) {
        fputs("several roots", to);
    } else {
        root = alqi_cli_heap_fact_of(facts, s, chain->root);
        fputs(alqi_cli_heap_holder_name(s, root.number - s->graph.n_blocks),
              to);
    }
    if (chain->n_left_out > 0)
        fprintf(to, " → %" PRIu64 " blocks", chain->n_left_out);
    for (uint32_t i = chain->n_steps; i-- > 0;)
        step_print(s, facts, &chain->steps[i], to);
    fclose(to);
    out[capacity - 1] = '\0';
}

void
alqi_cli_heap_fact_text(struct alqi_cli_heap_snapshot *s,
                        const struct alqi_cli_heap_fact *fact, char *out,
                        size_t capacity)
{
    const struct alqi_cli_heap_sample *sample =
        alqi_cli_heap_sample_at(s, fact->address);
    char site[SITE_BYTES] = "";

    if (fact->address == 0) {
        snprintf(
            out, capacity, "%s",
            alqi_cli_heap_holder_name(s, fact->number - s->graph.n_blocks));
        return;
    }
    if (sample != NULL && sample->site != NOTHING)
        alqi_cli_heap_site_name(s, sample->site, site, sizeof site);
    snprintf(out, capacity, "%s 0x%" PRIx64 "%s%s",
             alqi_cli_heap_kind_name(s, fact->kind), fact->address,
             site[0] != '\0' ? " of " : "", site);
}
