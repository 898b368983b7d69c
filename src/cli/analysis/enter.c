/* enter.c -- the rare parts of what enters sums: blocks of sampled recordings
 * that lived at the peak, and blocks of chains
 *
 * [enter.h] Peak sums of an epoch that is not the last are forgotten
 * (analysis.c .inv.epoch). */
#include "cli/analysis/enter.h"

void
alqi_cli_enter_colours(struct alqi_cli_estimator *e, const uint32_t *epochs,
                       struct alqi_cli_at_peak *at, uint64_t id,
                       const struct alqi_cli_life *b, double life_us,
                       unsigned colours)
{
    struct alqi_cli_weight w = alqi_cli_weigh_colour(e, b->rate, b->length);
    unsigned first =
        alqi_view_first_colour(alqi_cli_colours(e, b->rate, b->length, id));

    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++) {
        struct alqi_cli_sum *sum;

        if ((colours >> k & 1) == 0)
            continue;
        sum = alqi_cli_at_peak_of(at, k, epochs[k]);
        alqi_cli_sum_add(sum, &w, life_us, b->n_samples);
        if (first != 1u << k) { /* it counts as one */
            sum->n_blocks--;
            sum->n_samples -= b->n_samples;
        }
    }
}

/* The sum, with lives of that length. */
static struct alqi_cli_sum
sum_lived(struct alqi_cli_sum sum, double life_us)
{
    sum.life_us = sum.objects * life_us;
    return sum;
}

/* Enters blocks that a chain has left behind, into sites that are sampled. Peak
 * sums of an epoch that is not the last are forgotten. */
static void
link_enter_sampled(struct alqi_cli_open_sites *s, const struct alqi_cli_link *l,
                   double life_us, enum alqi_cli_part part)
{
    struct alqi_cli_sampled_site *site = &s->sampled[l->site];
    struct alqi_cli_sum sum = sum_lived(l->all, life_us);

    alqi_cli_sum_join(&site->parts[part], &sum);
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++) {
        if (l->at_peak.epochs[k] != s->epochs[k])
            continue;
        sum = sum_lived(l->at_peak.sums[k], life_us);
        alqi_cli_sum_join(alqi_cli_at_peak_of(&site->at_peak, k, s->epochs[k]),
                          &sum);
    }
}

/* The same where all is exact: the first colour has all. */
static void
link_enter_exact(struct alqi_cli_open_sites *s, const struct alqi_cli_link *l,
                 double life_us, enum alqi_cli_part part)
{
    struct alqi_cli_exact_site *site = &s->exact[l->site];
    struct alqi_cli_sum sum = sum_lived(l->all, life_us);

    alqi_cli_tally_join(&site->parts[part], &sum);
    if (l->at_peak.epochs[0] != s->epochs[0])
        return;
    sum = sum_lived(l->at_peak.sums[0], life_us);
    alqi_cli_tally_join(alqi_cli_exact_at_peak(site, s->epochs[0]), &sum);
}

/* Enters the blocks that a chain has left behind: they had the life of the
 * whole. */
void
alqi_cli_enter_links(struct alqi_cli_open_sites *s,
                     const struct alqi_cli_chain *chain, double life_us,
                     enum alqi_cli_part part)
{
    for (struct alqi_cli_link *l = chain->links; l != NULL; l = l->next) {
        if (s->sampled == NULL)
            link_enter_exact(s, l, life_us, part);
        else
            link_enter_sampled(s, l, life_us, part);
    }
}
