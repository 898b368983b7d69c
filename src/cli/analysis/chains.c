/* chains.c -- chains of realloc, found by the block that ends them now
 *
 * [chains.h] States of a chain: in the table, under the id of its living block
 * -> taken out when that block is freed -> put back under the id of the next
 * block, or freed. A chain costs nothing in a trace without realloc: take
 * looks at the table's count first.
 *
 * The other half adds up what realloc brought to a site (struct
 * alqi_cli_moves). */
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/chains.h"
#include "cli/tool/cli.h"

/* Takes the chain out of the table; NULL: the block ends none. */
struct alqi_cli_chain *
alqi_cli_chains_take_slow(struct alqi_cli_chains *chains, uint64_t block)
{
    uint64_t chain;

    if (!alqi_base_map_take(&chains->by_block, block, &chain))
        return NULL;
    return (struct alqi_cli_chain *)(uintptr_t)chain;
}

struct alqi_cli_chain *
alqi_cli_chains_find(const struct alqi_cli_chains *chains, uint64_t block)
{
    uint64_t chain;

    if (!alqi_base_map_get(&chains->by_block, block, &chain))
        return NULL;
    return (struct alqi_cli_chain *)(uintptr_t)chain;
}

void
alqi_cli_chains_put(struct alqi_cli_chains *chains, uint64_t block,
                    struct alqi_cli_chain *chain)
{
    alqi_cli_map_put(&chains->by_block, block, (uint64_t)(uintptr_t)chain);
}

/* Sums of earlier peaks are cleared first, so every sum has the last epoch. */
void
alqi_cli_at_peak_renumber(struct alqi_cli_at_peak *at, const uint32_t *epochs,
                          const uint32_t *fresh)
{
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++) {
        alqi_cli_at_peak_of(at, k, epochs[k]);
        at->epochs[k] = fresh[k];
    }
}

/* Gives the sums of all chains' links the new epochs. */
void
alqi_cli_chains_renumber(struct alqi_cli_chains *chains, const uint32_t *epochs,
                         const uint32_t *fresh)
{
    uint64_t block, value;
    size_t at = 0;

    while (alqi_base_map_next(&chains->by_block, &at, &block, &value)) {
        struct alqi_cli_chain *chain = (void *)(uintptr_t)value;

        for (struct alqi_cli_link *l = chain->links; l != NULL; l = l->next)
            alqi_cli_at_peak_renumber(&l->at_peak, epochs, fresh);
    }
}

void
alqi_cli_chains_free(struct alqi_cli_chains *chains)
{
    uint64_t block, value;
    size_t at = 0;

    while (alqi_base_map_next(&chains->by_block, &at, &block, &value))
        alqi_cli_chain_free((void *)(uintptr_t)value);
    alqi_base_map_clear(&chains->by_block);
}

struct alqi_cli_chain *
alqi_cli_chain_new(uint64_t born_us)
{
    struct alqi_cli_chain *chain = alqi_cli_realloc(NULL, 1, sizeof *chain);

    *chain = (struct alqi_cli_chain){.born_us = born_us};
    return chain;
}

void
alqi_cli_chain_free(struct alqi_cli_chain *chain)
{
    struct alqi_cli_link *link, *next;

    if (chain == NULL)
        return;
    for (link = chain->links; link != NULL; link = next) {
        next = link->next;
        free(link);
    }
    free(chain->blocks);
    free(chain);
}

/* The chain's link of a site; a new one is empty. */
static struct alqi_cli_link *
link_of(struct alqi_cli_chain *chain, uint32_t site)
{
    struct alqi_cli_link *link;

    for (link = chain->links; link != NULL; link = link->next)
        if (link->site == site)
            return link;
    link = alqi_cli_realloc(NULL, 1, sizeof *link);
    memset(link, 0, sizeof *link);
    link->site = site;
    link->next = chain->links;
    chain->links = link;
    return link;
}

/* The block's life is not known before the chain ends, so the sum gets none. */
struct alqi_cli_link *
alqi_cli_chain_leave(struct alqi_cli_chain *chain, uint32_t site,
                     const struct alqi_cli_weight *weight, uint64_t n_samples)
{
    struct alqi_cli_link *link = link_of(chain, site);

    chain->n_moves++;
    alqi_cli_sum_add(&link->all, weight, 0, n_samples);
    return link;
}

/* Copies the block; its time of death is that of the move. */
void
alqi_cli_chain_keep(struct alqi_cli_chain *chain,
                    const struct alqi_cli_block *block)
{
    chain->blocks =
        alqi_cli_grow(chain->blocks, chain->n_blocks, sizeof *chain->blocks);
    chain->blocks[chain->n_blocks++] = *block;
}

/* A block that realloc made is a chain of one move at least. */
void
alqi_cli_moves_add(struct alqi_cli_moves *m, double bytes, double p)
{
    struct alqi_cli_weight w = alqi_cli_weight(bytes, p);

    alqi_cli_sum_add(&m->made, &w, 0, 0);
    if (m->longest == 0)
        m->longest = 1;
}

/* A link stands for 1/p links; its two blocks show how much realloc grew. */
void
alqi_cli_moves_link(struct alqi_cli_moves *m, double old_bytes,
                    double new_bytes, double p, uint64_t n_moves)
{
    m->old_bytes += old_bytes / p;
    m->new_bytes += new_bytes / p;
    m->n_links++;
    if (n_moves > m->longest)
        m->longest = n_moves;
}

void
alqi_cli_moves_join(struct alqi_cli_moves *m,
                    const struct alqi_cli_moves *other)
{
    alqi_cli_sum_join(&m->made, &other->made);
    m->old_bytes += other->old_bytes;
    m->new_bytes += other->new_bytes;
    m->n_links += other->n_links;
    if (other->longest > m->longest)
        m->longest = other->longest;
}

double
alqi_cli_moves_growth(const struct alqi_cli_moves *m)
{
    return m->old_bytes > 0 ? m->new_bytes / m->old_bytes : 0;
}
