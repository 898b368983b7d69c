/* sites.c -- the sites of a trace, from the first block to measures
 *
 * [sites.h] States of all sites of a trace: exact -> sampled, at the first rate
 * that leaves blocks out, or sampled from the start; then they become measures
 * (alqi_cli_sites_measure). In a tally nothing is rounded that a sum would
 * round otherwise: both add the same numbers in the same order, so where the
 * sites change their kind no figure of a report does.
 *
 * .inv.one_kind  Of `exact` and `sampled` the one that is in use has a row for
 *                each open site; the other is NULL. */
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/sites.h"
#include "cli/tool/cli.h"

struct alqi_cli_sum
alqi_cli_tally_sum(const struct alqi_cli_tally *t)
{
    return (struct alqi_cli_sum){
        .bytes = t->bytes,
        .objects = (double)t->n_blocks,
        .seen_bytes = t->bytes,
        .seen_objects = (double)t->n_blocks,
        .life_us = t->life_us,
        .n_blocks = t->n_blocks,
        .n_samples = t->n_samples,
    };
}

uint32_t
alqi_cli_sites_add(struct alqi_cli_open_sites *s,
                   const struct alqi_cli_open_site *site, bool is_exact)
{
    s->sites = alqi_cli_grow(s->sites, s->n, sizeof *s->sites);
    s->sites[s->n] = *site;
    if (is_exact) {
        s->exact = alqi_cli_grow(s->exact, s->n, sizeof *s->exact);
        memset(&s->exact[s->n], 0, sizeof *s->exact);
    } else {
        s->sampled = alqi_cli_grow(s->sampled, s->n, sizeof *s->sampled);
        memset(&s->sampled[s->n], 0, sizeof *s->sampled);
    }
    return s->n++;
}

struct alqi_cli_moves *
alqi_cli_sites_moves(struct alqi_cli_open_sites *s, uint32_t site)
{
    struct alqi_cli_moves **moves = &s->sites[site].moves;

    if (*moves == NULL)
        *moves = alqi_cli_zeros(1, sizeof **moves);
    return *moves;
}

/* The same figures as sums. A block counts as one in its first colour alone. */
static struct alqi_cli_sampled_site
sampled_of(const struct alqi_cli_exact_site *exact)
{
    struct alqi_cli_sampled_site s;

    for (int p = 0; p < ALQI_CLI_N_PARTS; p++)
        s.parts[p] = alqi_cli_tally_sum(&exact->parts[p]);
    for (int k = 0; k < ALQI_VIEW_COLOURS; k++) {
        s.at_peak.epochs[k] = exact->epoch;
        s.at_peak.sums[k] = alqi_cli_tally_sum(&exact->at_peak);
        if (k > 0)
            s.at_peak.sums[k].n_blocks = s.at_peak.sums[k].n_samples = 0;
    }
    return s;
}

/* Room is made for as many as alqi_cli_grow has made room for. */
void
alqi_cli_sites_sample(struct alqi_cli_open_sites *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        s->sampled = alqi_cli_grow(s->sampled, i, sizeof *s->sampled);
        s->sampled[i] = sampled_of(&s->exact[i]);
    }
    free(s->exact);
    s->exact = NULL;
}

void
alqi_cli_sites_renumber(struct alqi_cli_open_sites *s, const uint32_t *fresh)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->sampled != NULL) {
            alqi_cli_at_peak_renumber(&s->sampled[i].at_peak, s->epochs, fresh);
            continue;
        }
        alqi_cli_exact_at_peak(&s->exact[i], s->epochs[0]);
        s->exact[i].epoch = fresh[0];
    }
    memcpy(s->epochs, fresh, sizeof s->epochs);
}

struct alqi_cli_site *
alqi_cli_sites_new(const struct alqi_cli_open_sites *s)
{
    struct alqi_cli_site *sites = alqi_cli_zeros(s->n, sizeof *sites);

    for (uint32_t i = 0; i < s->n; i++) {
        const struct alqi_cli_open_site *from = &s->sites[i];

        sites[i].node = from->node;
        sites[i].thread = from->thread;
        sites[i].size_class = from->size_class;
        sites[i].is_mapping = from->is_mapping;
        if (from->moves != NULL)
            sites[i].moves = *from->moves;
    }
    return sites;
}

void
alqi_cli_sites_measure(const struct alqi_cli_open_sites *s, uint32_t number,
                       struct alqi_cli_site *site)
{
    struct alqi_cli_sampled_site from =
        s->sampled != NULL ? s->sampled[number] : sampled_of(&s->exact[number]);
    struct alqi_cli_sum *sums = site->sums;

    for (int part = 0; part < ALQI_CLI_N_PARTS; part++)
        alqi_cli_sum_join(&sums[ALQI_CLI_ALLOCATED], &from.parts[part]);
    alqi_cli_sum_join(&sums[ALQI_CLI_ALLOCATED], &sums[ALQI_CLI_LIVE]);
    sums[ALQI_CLI_TEMPORARY] = from.parts[ALQI_CLI_BRIEF];
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        alqi_cli_sum_join(&sums[ALQI_CLI_PEAK],
                          alqi_cli_at_peak_of(&from.at_peak, k, s->epochs[k]));
    alqi_cli_sum_of_colours(&sums[ALQI_CLI_PEAK]);
}

static void
site_join(struct alqi_cli_site *to, const struct alqi_cli_site *from)
{
    for (int m = 0; m < ALQI_CLI_N_MEASURES; m++)
        alqi_cli_sum_join(&to->sums[m], &from->sums[m]);
    alqi_cli_moves_join(&to->moves, &from->moves);
}

uint32_t
alqi_cli_sites_merge(struct alqi_cli_site *sites, uint32_t n,
                     uint32_t *site_of_node)
{
    uint32_t n_merged = 0;

    for (uint32_t i = 0; i < n; i++)
        site_of_node[sites[i].node] = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *number = &site_of_node[sites[i].node];

        if (*number != 0) {
            site_join(&sites[*number - 1], &sites[i]);
            continue;
        }
        sites[n_merged] = sites[i];
        *number = ++n_merged;
    }
    return n_merged;
}

struct alqi_cli_open_sites
alqi_cli_sites_copy(const struct alqi_cli_open_sites *s)
{
    struct alqi_cli_open_sites copy = *s;

    if (s->exact != NULL)
        copy.exact = alqi_cli_duplicate(s->exact, s->n, sizeof *s->exact);
    if (s->sampled != NULL)
        copy.sampled = alqi_cli_duplicate(s->sampled, s->n, sizeof *s->sampled);
    return copy;
}

void
alqi_cli_sites_close(struct alqi_cli_open_sites *s)
{
    free(s->exact);
    free(s->sampled);
    s->exact = NULL;
    s->sampled = NULL;
}

void
alqi_cli_sites_free(struct alqi_cli_open_sites *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        free(s->sites[i].moves);
    free(s->sites);
    alqi_cli_sites_close(s);
}
