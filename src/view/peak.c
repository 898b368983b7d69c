/* peak.c -- the search for the peak, by three colours
 *
 * [peak.h] Callers tell the events in order: moment before each one, then
 * born, died or gone. The colours are alike, and the header's inline functions
 * do all, until one of them calls split (.inv.alike); what is here works on
 * colours that are split, or on both. Each path has two states: far, and near
 * its height. A birth brings it near and begins a new span; a fall below
 * near_bytes makes it far. In moment, a path that is near compares the time
 * since the last event with its longest span. */
#include <math.h>

#include "base/base.h"
#include "view/peak.h"

/* Between the coins of one block. */
static const uint64_t STEP = 0x636F6C6F75727321;

double
alqi_view_colour_chance(double p)
{
    return p >= 1 ? 1 : -expm1(log1p(-p) / ALQI_VIEW_COLOURS);
}

/* The coins are thrown in turn. Given that the block is seen in some colour
 * from here on, the chance of this one is c over that of any; after the first
 * success it is c. */
struct alqi_view_coins
alqi_view_coins(double p)
{
    struct alqi_view_coins coins = {.next = alqi_view_colour_chance(p)};

    for (int k = 0; k < ALQI_VIEW_COLOURS; k++) {
        double left = p >= 1 ? 1
                             : -expm1(log1p(-p) * (ALQI_VIEW_COLOURS - k) /
                                      ALQI_VIEW_COLOURS);

        coins.first[k] = coins.next / left;
    }
    return coins;
}

unsigned
alqi_view_colours_by(uint64_t seed, uint64_t id,
                     const struct alqi_view_coins *coins)
{
    uint64_t hash = alqi_base_mix(id ^ seed);
    unsigned colours = 0;

    for (int k = 0; k < ALQI_VIEW_COLOURS; k++) {
        double chance = colours != 0 ? coins->next : coins->first[k];

        if ((double)(hash >> 11) * 0x1p-53 < chance)
            colours |= 1u << k;
        hash = alqi_base_mix(hash + STEP);
    }
    /* The last coin's chance is 1, but for rounding. */
    return colours != 0 ? colours : 1u << (ALQI_VIEW_COLOURS - 1);
}

/* The colour whose path chooses for colour k. */
static unsigned
chooser(unsigned k)
{
    return (k + 1) % ALQI_VIEW_COLOURS;
}

/* What path k follows: its chooser's bytes, or all of them (.def.borrow).
 * Before the first block that is nothing, so alike colours need no other rule.
 */
static double
level(const struct alqi_view_peak *peak, unsigned k)
{
    if (!peak->is_split)
        return peak->now[0];
    return peak->paths[k].is_own ? peak->now[chooser(k)]
                                 : peak->now[0] + peak->now[1] + peak->now[2];
}

/* The colours part: each gets what all had (.inv.alike). */
static ALQI_COLD void
split(struct alqi_view_peak *peak)
{
    for (unsigned k = 1; k < ALQI_VIEW_COLOURS && !peak->is_split; k++) {
        peak->now[k] = peak->now[0];
        peak->n_now[k] = peak->n_now[0];
        peak->has_block[k] = peak->has_block[0];
        peak->paths[k] = peak->paths[0];
    }
    peak->is_split = true;
}

/* Colours that are kept. */
static unsigned
n_kept(const struct alqi_view_peak *peak)
{
    return peak->is_split ? ALQI_VIEW_COLOURS : 1;
}

unsigned
alqi_view_peak_moment_split(struct alqi_view_peak *peak, uint64_t us)
{
    unsigned better = 0;

    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        if (alqi_view_path_moment(peak, k, us))
            better |= 1u << k;
    return better;
}

/* A birth has changed path k: it may come near, or nearer. */
static void
path_rise(struct alqi_view_peak *peak, unsigned k, double sample_bytes)
{
    struct alqi_view_peak_path *path = &peak->paths[k];
    double now;

    if (!path->is_own && peak->has_block[chooser(k)]) {
        path->is_own = true;
        path->most = path->near_bytes = 0;
    }
    now = level(peak, k);
    if (now > path->most)
        path->most = now;
    else if (sample_bytes == 0 || now < path->most - sample_bytes / 2)
        return;
    path->near_bytes = path->most - sample_bytes / 2;
    path->is_near = true;
    path->has_span = false;
}

void
alqi_view_peak_born_split(struct alqi_view_peak *peak, uint64_t us,
                          unsigned colours, double bytes, double sample_bytes)
{
    split(peak);
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++) {
        if ((colours >> k & 1) == 0)
            continue;
        peak->now[k] += bytes;
        peak->n_now[k]++;
        peak->has_block[k] = true;
    }
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        if (!peak->paths[k].is_own || (colours >> chooser(k) & 1) != 0)
            path_rise(peak, k, sample_bytes);
    peak->last_us = us;
}

/* Deaths have changed the paths. Sums are set to zero with the last block, so
 * that rounding does not last. */
static void
paths_fall(struct alqi_view_peak *peak, uint64_t us)
{
    for (unsigned k = 0; k < n_kept(peak); k++)
        if (peak->n_now[k] == 0 || peak->now[k] < 0) /* no rounding lasts */
            peak->now[k] = 0;
    for (unsigned k = 0; k < n_kept(peak); k++)
        if (level(peak, k) < peak->paths[k].near_bytes)
            peak->paths[k].is_near = false;
    peak->last_us = us;
}

void
alqi_view_peak_died_split(struct alqi_view_peak *peak, uint64_t us,
                          unsigned colours, double bytes)
{
    split(peak);
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++) {
        if ((colours >> k & 1) == 0)
            continue;
        peak->now[k] -= bytes;
        peak->n_now[k]--;
    }
    paths_fall(peak, us);
}

void
alqi_view_peak_restart(struct alqi_view_peak *peak, uint64_t us,
                       double sample_bytes)
{
    if (sample_bytes != 0)
        split(peak);
    for (unsigned k = 0; k < n_kept(peak); k++) {
        struct alqi_view_peak_path *path = &peak->paths[k];

        path->most = level(peak, k);
        path->near_bytes = path->most - sample_bytes / 2;
        path->is_near = true;
        path->has_span = false;
    }
    peak->last_us = us;
}

void
alqi_view_peak_gone(struct alqi_view_peak *peak, uint64_t us,
                    const struct alqi_view_peak *part)
{
    if (part->is_split)
        split(peak);
    for (unsigned k = 0; k < n_kept(peak); k++) {
        unsigned of = part->is_split ? k : 0;

        peak->now[k] -= part->now[of];
        peak->n_now[k] -= part->n_now[of];
    }
    paths_fall(peak, us);
}

double
alqi_view_peak_bytes(const struct alqi_view_peak *peak)
{
    double bytes = 0;

    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        bytes += alqi_view_peak_path(peak, k)->bytes;
    return bytes / ALQI_VIEW_COLOURS;
}

uint64_t
alqi_view_peak_us(const struct alqi_view_peak *peak, bool is_last)
{
    uint64_t us = peak->paths[0].us;

    for (unsigned k = 1; k < n_kept(peak); k++)
        if (is_last == (peak->paths[k].us > us))
            us = peak->paths[k].us;
    return us;
}
