/* enter.h -- a block that is gone enters the sums of its site
 *
 * What is done for each event is inline and takes is_exact, a constant where it
 * is called for each event: so it is compiled for exact recordings, which have
 * tens of millions of blocks, and for all others (analysis.c .inv.exact). */
#ifndef ALQI_CLI_ANALYSIS_ENTER_H
#define ALQI_CLI_ANALYSIS_ENTER_H

#include "cli/analysis/estimate.h"
#include "cli/analysis/sites.h"
#include "cli/read/objects.h"

#define ALQI_CLI_EVERY_EVENT static inline __attribute__((always_inline))

/* What a block stands for; in an exact recording itself. */
ALQI_CLI_EVERY_EVENT struct alqi_cli_weight
alqi_cli_weigh_as(struct alqi_cli_estimator *e, uint16_t rate, uint64_t length,
                  bool is_exact)
{
    return is_exact ? alqi_cli_weigh_certain(e, length)
                    : alqi_cli_weigh(e, rate, length);
}

/* The same in a colour that sees it. */
ALQI_CLI_EVERY_EVENT struct alqi_cli_weight
alqi_cli_weigh_colour_as(struct alqi_cli_estimator *e, uint16_t rate,
                         uint64_t length, bool is_exact)
{
    return is_exact ? alqi_cli_weigh_certain(e, length)
                    : alqi_cli_weigh_colour(e, rate, length);
}

/* The colours that see the block of that number. */
ALQI_CLI_EVERY_EVENT unsigned
alqi_cli_colours_as(struct alqi_cli_estimator *e, uint64_t id, uint16_t rate,
                    uint64_t length, bool is_exact)
{
    return is_exact ? ALQI_VIEW_ALL_COLOURS
                    : alqi_cli_colours(e, rate, length, id);
}

/* The colours at whose last peak a live block was live, whether or not they see
 * it. */
ALQI_CLI_EVERY_EVENT unsigned
alqi_cli_moments_of(const uint32_t *epochs, const struct alqi_cli_life *b,
                    bool is_exact)
{
    unsigned colours = 0;

    if (is_exact)
        return b->epoch < epochs[0] ? ALQI_VIEW_ALL_COLOURS : 0;
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        if (b->epoch < epochs[k])
            colours |= 1u << k;
    return colours;
}

/* The colours that count a live block at their last peak. */
ALQI_CLI_EVERY_EVENT unsigned
alqi_cli_peaks_of(struct alqi_cli_estimator *e, const uint32_t *epochs,
                  uint64_t id, const struct alqi_cli_life *b, bool is_exact)
{
    unsigned colours = alqi_cli_moments_of(epochs, b, is_exact);

    if (colours != 0)
        colours &= alqi_cli_colours_as(e, id, b->rate, b->length, is_exact);
    return colours;
}

/* How long the block lived until then, with those that its chain has left
 * behind. */
static inline double
alqi_cli_enter_life(const struct alqi_cli_life *b,
                    const struct alqi_cli_chain *chain, uint64_t us)
{
    uint64_t born_us = chain != NULL ? chain->born_us : b->time_us;

    return us > born_us ? (double)(us - born_us) : 0;
}

/* Counts a block that is gone at the last peak of these colours. In each
 * colour it has that colour's weight, but only the first of the block's
 * colours counts it as one block. */
void alqi_cli_enter_colours(struct alqi_cli_estimator *estimator,
                            const uint32_t *epochs, struct alqi_cli_at_peak *at,
                            uint64_t id, const struct alqi_cli_life *b,
                            double life_us, unsigned colours);
/* Enters the blocks that a chain has left behind: they had the life of the
 * whole. */
void alqi_cli_enter_links(struct alqi_cli_open_sites *sites,
                          const struct alqi_cli_chain *chain, double life_us,
                          enum alqi_cli_part part);
/* Counts a block that is gone in its site, for the peak of these colours. */
ALQI_CLI_EVERY_EVENT void
alqi_cli_enter_peak(struct alqi_cli_estimator *e, struct alqi_cli_open_sites *s,
                    uint64_t id, const struct alqi_cli_life *b, double life_us,
                    unsigned colours, bool is_exact)
{
    if (colours == 0)
        return;
    if (is_exact)
        alqi_cli_tally_add(
            alqi_cli_exact_at_peak(&s->exact[b->site], s->epochs[0]),
            alqi_cli_block_bytes(e, b->length), life_us, b->n_samples);
    else
        alqi_cli_enter_colours(e, s->epochs, &s->sampled[b->site].at_peak, id,
                               b, life_us, colours);
}

/* Counts a block that died, of that weight, in its part of its site. */
ALQI_CLI_EVERY_EVENT void
alqi_cli_enter_part(struct alqi_cli_open_sites *s,
                    const struct alqi_cli_life *b,
                    const struct alqi_cli_weight *w, double life_us,
                    enum alqi_cli_part part, bool is_exact)
{
    if (is_exact)
        alqi_cli_tally_add(&s->exact[b->site].parts[part], w->bytes, life_us,
                           b->n_samples);
    else
        alqi_cli_sum_add(&s->sampled[b->site].parts[part], w, life_us,
                         b->n_samples);
}

#endif
