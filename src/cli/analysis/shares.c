/* shares.c -- sums and peak of each process of a merged trace
 *
 * [shares.h] A process's live bytes are a running sum of doubles, zero
 * whenever nothing of it is alive. Times of births and deaths are since 1970,
 * that of a process's end is since the trace's start.
 *
 * States of a share: running -> gone (alqi_cli_shares_gone). Blocks of a
 * process that is gone stay in process_of until they are freed or the trace
 * ends. */
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/analysis/shares.h"

void
alqi_cli_shares_free(struct alqi_cli_shares *s)
{
    free(s->shares);
    alqi_base_map_clear(&s->process_of);
    memset(s, 0, sizeof *s);
}

/* The share of a process; makes room with zeros. */
static struct alqi_cli_share *
share_at(struct alqi_cli_shares *s, uint32_t process)
{
    s->shares =
        alqi_cli_widen(s->shares, &s->n_shares, process, sizeof *s->shares);
    return &s->shares[process];
}

/* Keeps what is live of the colours whose best moment this is. */
static void
share_moment(struct alqi_cli_share *share, uint64_t us)
{
    unsigned better = alqi_view_peak_moment(&share->peak, us);

    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        if ((better >> k & 1) != 0)
            share->at_peak[k] = share->now[k];
}

void
alqi_cli_shares_born(struct alqi_cli_shares *s, uint32_t process, uint64_t id,
                     const struct alqi_cli_shared *b)
{
    struct alqi_cli_share *share = share_at(s, process);

    alqi_cli_map_put(&s->process_of, id, process);
    if (share->allocated.n_blocks == 0)
        share->first_us = b->time_us;
    share->last_us = b->time_us;
    alqi_cli_sum_add(&share->allocated, &b->weight, 0, b->n_samples);
    share->n_now++;
    share->now_bytes += b->weight.bytes;
    share_moment(share, b->time_us);
    alqi_view_peak_born(&share->peak, b->time_us, b->colours,
                        b->colour_weight.bytes, b->sample_bytes);
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        if ((b->colours >> k & 1) != 0)
            alqi_cli_sum_add(&share->now[k], &b->colour_weight, 0, 0);
}

void
alqi_cli_shares_died(struct alqi_cli_shares *s, uint64_t id, double bytes,
                     const struct alqi_cli_weight *colour_weight,
                     unsigned colours, uint64_t time_us)
{
    struct alqi_cli_share *share;
    struct alqi_cli_sum gone = {0};
    uint64_t process;

    alqi_cli_sum_add(&gone, colour_weight, 0, 0);
    if (!alqi_base_map_take(&s->process_of, id, &process))
        return;
    share = &s->shares[process];
    share->last_us = time_us;
    share->n_now--;
    share->now_bytes = share->n_now == 0 ? 0 : share->now_bytes - bytes;
    share_moment(share, time_us);
    alqi_view_peak_died(&share->peak, time_us, colours, colour_weight->bytes);
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        if ((colours >> k & 1) != 0)
            alqi_cli_sum_since(&share->now[k], &gone);
}

const struct alqi_cli_share *
alqi_cli_shares_gone(struct alqi_cli_shares *s, uint32_t process,
                     const uint64_t *moments, uint64_t us)
{
    struct alqi_cli_share *share = share_at(s, process);

    if (share->is_gone)
        return NULL;
    share->is_gone = true;
    share->gone_us = us;
    memcpy(share->gone_moments, moments, sizeof share->gone_moments);
    return share;
}

/* A colour's peak counts the process if no later one was found since it
 * ended. */
unsigned
alqi_cli_share_at_peak(const struct alqi_cli_share *share,
                       const uint64_t *moments)
{
    unsigned colours = 0;

    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        if (!share->is_gone || share->gone_moments[k] == moments[k])
            colours |= 1u << k;
    return colours;
}

/* Its last state lasts until the process has ended, so it may be the peak.
 * Works on a copy. */
struct alqi_cli_sum
alqi_cli_share_peak(const struct alqi_cli_share *share)
{
    struct alqi_cli_share last = *share;
    struct alqi_cli_sum sum = {0};

    share_moment(&last, UINT64_MAX);
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        alqi_cli_sum_join(&sum, &last.at_peak[k]);
    alqi_cli_sum_of_colours(&sum);
    return sum;
}

const struct alqi_cli_share *
alqi_cli_shares_gone_of(const struct alqi_cli_shares *s, uint64_t id)
{
    uint64_t process;

    if (!alqi_base_map_get(&s->process_of, id, &process))
        return NULL;
    return s->shares[process].is_gone ? &s->shares[process] : NULL;
}

void
alqi_cli_shares_left(struct alqi_cli_shares *s, uint64_t id,
                     const struct alqi_cli_weight *w, uint64_t n_samples)
{
    uint64_t process;

    if (alqi_base_map_get(&s->process_of, id, &process))
        alqi_cli_sum_add(&s->shares[process].live, w, 0, n_samples);
}
