/* chains.h -- blocks that realloc made of one another
 *
 * The blocks of a chain are one piece of memory with one life: from the first
 * one's allocation to the last one's free.  How long that is, is known at its
 * end; until then the blocks that went are kept as sums, one for each site of
 * the chain, so that a block that grows a million times needs no more room
 * than one that grows once. */
#ifndef ALQI_CLI_ANALYSIS_CHAINS_H
#define ALQI_CLI_ANALYSIS_CHAINS_H

#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "base/map.h"
#include "cli/analysis/blocks.h"
#include "cli/analysis/estimate.h"
#include "view/peak.h"

/* What has died and was there at the last peak, by colour, in the colour's
 * weights (analysis.c .inv.epoch). */
struct alqi_cli_at_peak {
    /* of the peak that the sum belongs to */
    uint32_t epochs[ALQI_VIEW_COLOURS];
    /* by colour; valid if epochs has the colour's last epoch */
    struct alqi_cli_sum sums[ALQI_VIEW_COLOURS];
};

/* Blocks of one site that a chain has left behind. */
struct alqi_cli_link {
    struct alqi_cli_link *next;
    /* number of the site */
    uint32_t site;
    /* the blocks; their lives are filled in at the end */
    struct alqi_cli_sum all;
    /* those that were there at the last peak */
    struct alqi_cli_at_peak at_peak;
};

/* Blocks that realloc made of one another; the last one lives. */
struct alqi_cli_chain {
    /* birth of the first block */
    uint64_t born_us;
    /* blocks that went before the one that lives */
    uint64_t n_moves;
    /* one a site; owned */
    struct alqi_cli_link *links;
    /* those that went, if options.blocks asks for them; owned */
    struct alqi_cli_block *blocks;
    uint32_t n_blocks;
};

/* Chains by the number of the block that ends them now. */
struct alqi_cli_chains {
    /* id of the block that ends it now -> address of the chain */
    struct alqi_base_map by_block;
};

struct alqi_cli_chain *alqi_cli_chains_take_slow(struct alqi_cli_chains *chains,
                                                 uint64_t block);

/* The chain that the block ends, now the caller's; NULL if it ends none. */
static inline struct alqi_cli_chain *
alqi_cli_chains_take(struct alqi_cli_chains *chains, uint64_t block)
{
    return ALQI_LIKELY(chains->by_block.n_used == 0)
               ? NULL
               : alqi_cli_chains_take_slow(chains, block);
}

/* The same, left where it is. */
struct alqi_cli_chain *
alqi_cli_chains_find(const struct alqi_cli_chains *chains, uint64_t block);

/* The block ends the chain from now on; the chain is the table's. */
void alqi_cli_chains_put(struct alqi_cli_chains *chains, uint64_t block,
                         struct alqi_cli_chain *chain);
/* analysis.c .inv.last */
void alqi_cli_chains_renumber(struct alqi_cli_chains *chains,
                              const uint32_t *epochs, const uint32_t *fresh);
void alqi_cli_chains_free(struct alqi_cli_chains *chains);

struct alqi_cli_chain *alqi_cli_chain_new(uint64_t born_us);
void alqi_cli_chain_free(struct alqi_cli_chain *chain);

/* A block of the chain has gone, which had that site; its link. */
struct alqi_cli_link *alqi_cli_chain_leave(struct alqi_cli_chain *chain,
                                           uint32_t site,
                                           const struct alqi_cli_weight *weight,
                                           uint64_t n_samples);

/* The colour's sum of the last moment, which has that epoch; those of earlier
 * moments are forgotten. */
static inline struct alqi_cli_sum *
alqi_cli_at_peak_of(struct alqi_cli_at_peak *at, unsigned colour,
                    uint32_t epoch)
{
    if (at->epochs[colour] != epoch) {
        memset(&at->sums[colour], 0, sizeof at->sums[colour]);
        at->epochs[colour] = epoch;
    }
    return &at->sums[colour];
}

/* analysis.c .inv.last: of each colour, `epochs` become `fresh`. */
void alqi_cli_at_peak_renumber(struct alqi_cli_at_peak *at,
                               const uint32_t *epochs, const uint32_t *fresh);

/* Keeps a block that went until the chain's life is known. */
void alqi_cli_chain_keep(struct alqi_cli_chain *chain,
                         const struct alqi_cli_block *block);

/* What realloc brought to a site.  A block that says so itself (wire.md
 * .inv.reborn) is seen when it is in the sample, and stands for 1 / p of its
 * kind.  A link is seen when both its blocks are, and stands for 1 / (p * q):
 * so does the new block of one that does not say so, in traces that know links
 * alone. */
struct alqi_cli_moves {
    /* the new blocks; their lives are left out */
    struct alqi_cli_sum made;
    /* of the blocks they were made of, by the links */
    double old_bytes;
    /* as made.bytes, by the links: the growth is between these two */
    double new_bytes;
    /* sampled ones */
    uint64_t n_links;
    /* links that one piece of memory had gone through */
    uint64_t longest;
};

/* A block that realloc made, seen with probability p. */
void alqi_cli_moves_add(struct alqi_cli_moves *moves, double bytes, double p);
/* And what it was made of, seen with it with probability p. */
void alqi_cli_moves_link(struct alqi_cli_moves *moves, double old_bytes,
                         double new_bytes, double p, uint64_t n_moves);
void alqi_cli_moves_join(struct alqi_cli_moves *moves,
                         const struct alqi_cli_moves *other);
/* New bytes for each old one; 0 when there was nothing to grow. */
double alqi_cli_moves_growth(const struct alqi_cli_moves *moves);

#endif
