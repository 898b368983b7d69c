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
step_add(struct alqi_cli_heap_chain *chain, uint32_t kind, uint32_t number)
{
    struct alqi_cli_heap_step *last = &chain->steps[chain->n_steps - 1];

    if (chain->n_left_out > 0) {
        chain->n_left_out++;
    } else if (chain->n_steps > 0 && last->kind == kind) {
        last->n_blocks++;
        last->first = number;
    } else if (chain->n_steps < ALQI_CLI_HEAP_STEPS) {
        chain->steps[chain->n_steps++] =
            (struct alqi_cli_heap_step){kind, 1, number};
    } else {
        chain->n_left_out++;
    }
}

struct alqi_cli_heap_chain
alqi_cli_heap_chain_of(const struct alqi_cli_heap_snapshot *s, uint32_t number)
{
    struct alqi_cli_heap_chain chain = {.root = NOTHING};

    for (uint32_t order = alqi_cli_heap_dominator(s, number); order > 0;
         order = s->graph.idom[order]) {
        if (alqi_cli_heap_is_holder(s, s->node_of[order]))
            chain.root = s->node_of[order];
        else
            step_add(&chain, s->kind_of[order], s->node_of[order]);
    }
    return chain;
}

const char *
alqi_cli_heap_chain_root(const struct alqi_cli_heap_snapshot *s,
                         const struct alqi_cli_heap_chain *chain)
{
    return chain->root == NOTHING
               ? "several roots"
               : alqi_cli_heap_holder_name(s, chain->root - s->graph.n_blocks);
}

void
alqi_cli_heap_chain_text(struct alqi_cli_heap_snapshot *s,
                         const struct alqi_cli_heap_chain *chain, char *out,
                         size_t capacity)
{
    FILE *to = fmemopen(out, capacity, "w");

    out[0] = '\0';
    if (to == NULL)
        return;
    setbuf(to, NULL);
    fprintf(to, "%s", alqi_cli_heap_chain_root(s, chain));
    if (chain->n_left_out > 0)
        fprintf(to, " → %" PRIu64 " blocks", chain->n_left_out);
    for (uint32_t i = chain->n_steps; i-- > 0;) {
        const struct alqi_cli_heap_step *step = &chain->steps[i];
        const char *kind = alqi_cli_heap_kind_name(s, step->kind);

        if (step->n_blocks == 1)
            fprintf(to, " → %s 0x%" PRIx64, kind,
                    alqi_cli_heap_address(&s->addresses, step->first));
        else
            fprintf(to, " → %" PRIu64 " × %s", step->n_blocks, kind);
    }
    fclose(to);
    out[capacity - 1] = '\0';
}

void
alqi_cli_heap_block_text(struct alqi_cli_heap_snapshot *s, uint32_t kind,
                         uint64_t address, char *out, size_t capacity)
{
    const struct alqi_cli_heap_sample *sample =
        alqi_cli_heap_sample_at(s, address);
    char site[SITE_BYTES];

    if (sample == NULL || sample->site == NOTHING) {
        snprintf(out, capacity, "%s 0x%" PRIx64,
                 alqi_cli_heap_kind_name(s, kind), address);
        return;
    }
    alqi_cli_heap_site_name(s, sample->site, site, sizeof site);
    snprintf(out, capacity, "%s 0x%" PRIx64 " of %s",
             alqi_cli_heap_kind_name(s, kind), address, site);
}
