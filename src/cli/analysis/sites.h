/* sites.h -- what is kept of each site while a trace is read
 *
 * A site is a call stack; while the trace is read, one of a thread and a class
 * of sizes. Where every block is recorded four numbers say all of a sum of
 * blocks: such a trace has tallies, a ninth of the room and of the additions of
 * full sums. */
#ifndef ALQI_CLI_ANALYSIS_SITES_H
#define ALQI_CLI_ANALYSIS_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/analysis/chains.h"
#include "cli/analysis/estimate.h"
#include "view/peak.h"

/* The sums of each site; values of the option that chooses one. */
enum alqi_cli_measure {
    /* all blocks */
    ALQI_CLI_ALLOCATED,
    /* never freed: live when the trace ends */
    ALQI_CLI_LIVE,
    /* alive when the most bytes were, as the colours' mean */
    ALQI_CLI_PEAK,
    /* freed within options.temporary_us */
    ALQI_CLI_TEMPORARY,
    ALQI_CLI_N_MEASURES
};

/* Blocks of one call stack, once the trace was read; of one thread, stack and
 * class of sizes until the sites are merged. */
struct alqi_cli_site {
    /* of stacks; 0 is the empty stack */
    uint32_t node;
    /* that allocates; meaningless once the sites are merged */
    uint16_t thread;
    /* of its blocks' sizes; 0 unless options.is_by_size, and meaningless once
     * the sites are merged */
    uint8_t size_class;
    /* of options.suppress, as suppressed.c has it; 0: not looked for */
    uint32_t rule;
    /* of mmap, not of malloc (wire/side.h) */
    bool is_mapping;
    /* what realloc brought here */
    struct alqi_cli_moves moves;
    /* by measure */
    struct alqi_cli_sum sums[ALQI_CLI_N_MEASURES];
};

/* What tells sites apart while the trace is read, and what realloc brought. */
struct alqi_cli_open_site {
    /* as struct alqi_cli_site has them */
    uint32_t node;
    uint16_t thread;
    uint8_t size_class;
    bool is_mapping;
    /* NULL: nothing; owned */
    struct alqi_cli_moves *moves;
};

/* A sum of blocks that all are seen for certain: struct alqi_cli_sum without
 * what is zero then, or equal to something else. */
struct alqi_cli_tally {
    double bytes, life_us;
    uint64_t n_blocks, n_samples;
};

/* Blocks that have died: late, or early. */
enum alqi_cli_part { ALQI_CLI_LONG, ALQI_CLI_BRIEF, ALQI_CLI_N_PARTS };

/* A site's dead blocks while every block is recorded. */
struct alqi_cli_exact_site {
    struct alqi_cli_tally parts[ALQI_CLI_N_PARTS];
    /* those that lived at the last peak; valid if epoch is its epoch, which is
     * the same for all colours (analysis.c .inv.epoch) */
    struct alqi_cli_tally at_peak;
    uint32_t epoch;
};

/* The same once blocks are left out. */
struct alqi_cli_sampled_site {
    struct alqi_cli_sum parts[ALQI_CLI_N_PARTS];
    struct alqi_cli_at_peak at_peak;
};

/* The sites of a trace that is read; all zeros: none yet. */
struct alqi_cli_open_sites {
    /* by number, in order of first use; owned, and move when they grow */
    struct alqi_cli_open_site *sites;
    /* by number; owned; one of them is NULL: sampled until blocks are left out,
     * exact from then on (sites.c .inv.one_kind) */
    struct alqi_cli_exact_site *exact;
    struct alqi_cli_sampled_site *sampled;
    uint32_t n;
    /* by colour: number of the epoch of its last peak (analysis.c) */
    uint32_t epochs[ALQI_VIEW_COLOURS];
};

static inline void
alqi_cli_tally_add(struct alqi_cli_tally *tally, double bytes, double life_us,
                   uint64_t n_samples)
{
    tally->bytes += bytes;
    tally->life_us += life_us;
    tally->n_blocks++;
    tally->n_samples += n_samples;
}

/* Joins a sum of blocks that are seen for certain. */
static inline void
alqi_cli_tally_join(struct alqi_cli_tally *tally,
                    const struct alqi_cli_sum *sum)
{
    tally->bytes += sum->bytes;
    tally->life_us += sum->life_us;
    tally->n_blocks += sum->n_blocks;
    tally->n_samples += sum->n_samples;
}

/* The tally of the last peak, which has that epoch; that of an earlier one is
 * forgotten. */
static inline struct alqi_cli_tally *
alqi_cli_exact_at_peak(struct alqi_cli_exact_site *site, uint32_t epoch)
{
    if (site->epoch != epoch) {
        site->at_peak = (struct alqi_cli_tally){0};
        site->epoch = epoch;
    }
    return &site->at_peak;
}

/* The sum that the tally stands for. */
struct alqi_cli_sum alqi_cli_tally_sum(const struct alqi_cli_tally *tally);

/* Adds a site like that one, with empty sums; its number. */
uint32_t alqi_cli_sites_add(struct alqi_cli_open_sites *sites,
                            const struct alqi_cli_open_site *site,
                            bool is_exact);
/* What realloc brought to a site; made if nothing was. */
struct alqi_cli_moves *alqi_cli_sites_moves(struct alqi_cli_open_sites *sites,
                                            uint32_t site);
/* Blocks are left out from here on. */
void alqi_cli_sites_sample(struct alqi_cli_open_sites *sites);
/* analysis.c .inv.last: of each colour, the last epoch becomes `fresh`. */
void alqi_cli_sites_renumber(struct alqi_cli_open_sites *sites,
                             const uint32_t *fresh);
/* A site for each open one, with moves and empty sums; the caller's. */
struct alqi_cli_site *
alqi_cli_sites_new(const struct alqi_cli_open_sites *sites);
/* Fills the measures of a site whose blocks that never died are in them. */
void alqi_cli_sites_measure(const struct alqi_cli_open_sites *sites,
                            uint32_t number, struct alqi_cli_site *site);
/* Makes one site for each stack, in order of first appearance; their number. By
 * node, site_of_node becomes number + 1 of its site. */
uint32_t alqi_cli_sites_merge(struct alqi_cli_site *sites, uint32_t n,
                              uint32_t *site_of_node);
/* A copy whose sums can change; the open sites are shared. */
struct alqi_cli_open_sites
alqi_cli_sites_copy(const struct alqi_cli_open_sites *sites);
/* Frees the sums alone, as of a copy. */
void alqi_cli_sites_close(struct alqi_cli_open_sites *sites);
void alqi_cli_sites_free(struct alqi_cli_open_sites *sites);

#endif
