/* peak.h -- the most bytes that were live, from samples, without bias
 *
 * The highest point of a sampled path lies above the highest of the true one:
 * samples that happen to be many choose the moment, and are counted there.  So
 * each sampled block gets colours, and what one colour says of a moment is not
 * what chose it (doc/design/sampling.md, .def.cycle).
 *
 * .def.colours  A block seen with chance p is seen in each of three colours
 *               with chance 1 - (1 - p)^(1/3), one independent of the other, as
 *               if each were a sampling of its own at a third of the rate.  The
 *               coins are a hash of the block's number in the trace and of when
 *               and by whom the trace was begun: with the number alone the n-th
 *               block of all traces would have one colour, and in one trace the
 *               colours would not be independent.  A block
 *               that is surely seen has all three.
 * .def.cycle    Path k follows the live bytes of colour k + 1 and chooses the
 *               moment at which colour k is counted; the estimate is the mean
 *               of the three.  No two colours choose for each other: with two
 *               the terms would hang together, and the variance would be up to
 *               1.36 times the sum of the squares, as where rounds of equal
 *               height follow each other.
 * .def.near     A path is near its height from a birth that brings it to within
 *               half a sample of the most it ever had until it falls below
 *               that.  The moment is the longest span of time without an event
 *               since the last such birth.  Without sampling: from a birth that
 *               brings more than ever before.
 * .def.borrow   A colour that has had no block yet tells nothing: its path
 *               follows all three.
 * .inv.alike    Until a block comes that not every colour surely sees, the
 *               colours have had the same: only number 0 is kept, and stands
 * for all. From then on (is_split) each has its own. */
#ifndef ALQI_VIEW_PEAK_H
#define ALQI_VIEW_PEAK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

enum { ALQI_VIEW_COLOURS = 3, ALQI_VIEW_ALL_COLOURS = 7 };

/* The chance of each colour of a block that is seen with chance p. */
double alqi_view_colour_chance(double p);
/* Of a trace that begins so. */
static inline uint64_t
alqi_view_colour_seed(uint64_t start_us, uint64_t pid)
{
    return alqi_base_mix(alqi_base_mix(start_us) ^ pid);
}

/* The coins that colours are thrown with, of a block that is seen. */
struct alqi_view_coins {
    /* by colour: of it, while no colour before it sees the block; the last is
     * 1, but for rounding */
    double first[ALQI_VIEW_COLOURS];
    /* of each colour after that: its chance */
    double next;
};

/* Of a block that is seen with chance p; of 1: each colour sees it. */
struct alqi_view_coins alqi_view_coins(double p);
/* Bits: the colours in which the block is seen. */
unsigned alqi_view_colours_by(uint64_t seed, uint64_t id,
                              const struct alqi_view_coins *coins);

static inline unsigned
alqi_view_colours(uint64_t seed, uint64_t id, double p)
{
    struct alqi_view_coins coins;

    if (p >= 1)
        return ALQI_VIEW_ALL_COLOURS;
    coins = alqi_view_coins(p);
    return alqi_view_colours_by(seed, id, &coins);
}

/* The colour by which a block counts as one: its first. */
static inline unsigned
alqi_view_first_colour(unsigned colours)
{
    return colours & (0u - colours);
}

/* The live bytes that choose the moment of one colour (.def.cycle). */
struct alqi_view_peak_path {
    /* the most bytes it ever had */
    double most;
    /* it is near its height from here on */
    double near_bytes;
    /* the longest time without an event since it came near; valid if
     * has_span */
    uint64_t span_us;
    /* the moment: when that span began */
    uint64_t us;
    /* that colour k had then */
    double bytes;
    /* false while it borrows (.def.borrow) */
    bool is_own;
    /* is_near: it is within half a sample of its most; has_span: a span has
     * ended since */
    bool is_near, has_span;
};

/* All zeros before the first event. */
struct alqi_view_peak {
    /* false: what follows by colour is kept for number 0 alone (.inv.alike) */
    bool is_split;
    /* live bytes, by colour */
    double now[ALQI_VIEW_COLOURS];
    /* live blocks, by colour */
    uint64_t n_now[ALQI_VIEW_COLOURS];
    /* the colour has had a block */
    bool has_block[ALQI_VIEW_COLOURS];
    /* path k chooses the moment of colour k */
    struct alqi_view_peak_path paths[ALQI_VIEW_COLOURS];
    /* time of the last event */
    uint64_t last_us;
};

/* Makes the time since the last event the moment of path k, if it is. */
static inline bool
alqi_view_path_moment(struct alqi_view_peak *peak, unsigned k, uint64_t us)
{
    struct alqi_view_peak_path *path = &peak->paths[k];
    uint64_t span_us = us > peak->last_us ? us - peak->last_us : 0;

    if (!path->is_near || (path->has_span && span_us <= path->span_us))
        return false;
    path->has_span = true;
    path->span_us = span_us;
    path->us = peak->last_us;
    path->bytes = peak->now[k];
    return true;
}

unsigned alqi_view_peak_moment_split(struct alqi_view_peak *peak, uint64_t us);

/* To be called before each event, and at the end.  Bits: the colours for which
 * what was live until now is the best moment so far.  Costs a comparison a path
 * while none of them is near. */
static inline unsigned
alqi_view_peak_moment(struct alqi_view_peak *peak, uint64_t us)
{
    if (ALQI_UNLIKELY(peak->is_split))
        return alqi_view_peak_moment_split(peak, us);
    return alqi_view_path_moment(peak, 0, us) ? ALQI_VIEW_ALL_COLOURS : 0;
}

void alqi_view_peak_born_split(struct alqi_view_peak *peak, uint64_t us,
                               unsigned colours, double bytes,
                               double sample_bytes);
void alqi_view_peak_died_split(struct alqi_view_peak *peak, uint64_t us,
                               unsigned colours, double bytes);

/* bytes: what the block stands for in one colour; sample_bytes: what a small
 * one stands for, 0 without sampling. */
static inline void
alqi_view_peak_born(struct alqi_view_peak *peak, uint64_t us, unsigned colours,
                    double bytes, double sample_bytes)
{
    struct alqi_view_peak_path *path = &peak->paths[0];

    if (ALQI_UNLIKELY(peak->is_split || colours != ALQI_VIEW_ALL_COLOURS ||
                      sample_bytes != 0)) {
        alqi_view_peak_born_split(peak, us, colours, bytes, sample_bytes);
        return;
    }
    peak->now[0] += bytes;
    peak->n_now[0]++;
    if (ALQI_UNLIKELY(!path->is_own)) {
        peak->has_block[0] = path->is_own = true;
        path->most = path->near_bytes = 0;
    }
    if (peak->now[0] > path->most) {
        path->most = path->near_bytes = peak->now[0];
        path->is_near = true;
        path->has_span = false;
    }
    peak->last_us = us;
}

/* As the birth had it. */
static inline void
alqi_view_peak_died(struct alqi_view_peak *peak, uint64_t us, unsigned colours,
                    double bytes)
{
    if (ALQI_UNLIKELY(peak->is_split || colours != ALQI_VIEW_ALL_COLOURS)) {
        alqi_view_peak_died_split(peak, us, colours, bytes);
        return;
    }
    peak->now[0] -= bytes;
    peak->n_now[0]--;
    if (peak->n_now[0] == 0 || peak->now[0] < 0) /* no rounding lasts */
        peak->now[0] = 0;
    if (peak->now[0] < peak->paths[0].near_bytes)
        peak->paths[0].is_near = false;
    peak->last_us = us;
}

/* The path of colour k, wherever it is kept. */
static inline const struct alqi_view_peak_path *
alqi_view_peak_path(const struct alqi_view_peak *peak, unsigned k)
{
    return &peak->paths[peak->is_split ? k : 0];
}

/* The search begins anew at that time, at a height of what is live. */
void alqi_view_peak_restart(struct alqi_view_peak *peak, uint64_t us,
                            double sample_bytes);
/* All of `part` went at once. */
void alqi_view_peak_gone(struct alqi_view_peak *peak, uint64_t us,
                         const struct alqi_view_peak *part);
/* The first of the moments, or the last. */
uint64_t alqi_view_peak_us(const struct alqi_view_peak *peak, bool is_last);
/* The estimate of the most bytes. */
double alqi_view_peak_bytes(const struct alqi_view_peak *peak);

#endif
