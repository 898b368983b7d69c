/* sum.h -- what sampled blocks stand for, together */
#ifndef ALQI_VIEW_SUM_H
#define ALQI_VIEW_SUM_H

#include <math.h>
#include <stdint.h>

#include "view/filter.h"
#include "view/interval.h"

/* Estimates with the variance of each, and the raw counts behind them. */
struct alqi_view_sum {
    /* estimate, variance, third cumulant (interval.h) */
    double bytes, bytes_var, bytes_third;
    /* the same, of blocks */
    double objects, objects_var, objects_third;
    /* the part of both that is certain */
    double seen_bytes, seen_objects;
    /* the largest weight of an unseen sample (interval.h); not summed */
    double most_bytes, most_objects;
    /* what was live at the peak: 1 and the share by which that may be more
     * (interval.h .def.peak), else 0, and the bytes of all; not summed */
    double peak, peak_bytes;
    /* lifetimes, each weighted as objects are */
    double life_us;
    /* sampled blocks */
    uint64_t n;
    /* samples in those blocks */
    uint64_t n_samples;
};

static inline void
alqi_view_sum_join(struct alqi_view_sum *to, const struct alqi_view_sum *from)
{
    to->bytes += from->bytes;
    to->bytes_var += from->bytes_var;
    to->bytes_third += from->bytes_third;
    to->objects += from->objects;
    to->objects_var += from->objects_var;
    to->objects_third += from->objects_third;
    to->seen_bytes += from->seen_bytes;
    to->seen_objects += from->seen_objects;
    if (from->most_bytes > to->most_bytes)
        to->most_bytes = from->most_bytes;
    if (from->most_objects > to->most_objects)
        to->most_objects = from->most_objects;
    if (from->peak > to->peak)
        to->peak = from->peak, to->peak_bytes = from->peak_bytes;
    to->life_us += from->life_us;
    to->n += from->n;
    to->n_samples += from->n_samples;
}

/* Adds what one row stands for; not its life, nor its samples. */
static inline void
alqi_view_sum_add(struct alqi_view_sum *to, const struct alqi_view_weight *row)
{
    to->bytes += row->bytes;
    to->bytes_var += row->bytes_var;
    to->bytes_third += row->bytes_third;
    to->objects += row->objects;
    to->objects_var += row->objects_var;
    to->objects_third += row->objects_third;
    to->seen_bytes += row->seen_bytes;
    to->seen_objects += row->seen_objects;
}

/* What answers sort and cut by. */
static inline double
alqi_view_sum_value(const struct alqi_view_sum *sum, enum alqi_view_by by)
{
    if (by == ALQI_VIEW_BY_BYTES)
        return sum->bytes;
    return by == ALQI_VIEW_BY_BLOCKS ? sum->objects : (double)sum->n_samples;
}

/* Where the truth is; counts of samples are no estimate. */
static inline struct alqi_view_interval
alqi_view_sum_interval(const struct alqi_view_sum *s, enum alqi_view_by by)
{
    struct alqi_view_moments m = {.estimate = (double)s->n_samples};
    double part = s->peak_bytes > 0 ? s->bytes / s->peak_bytes : 0;

    if (by == ALQI_VIEW_BY_BYTES)
        m = (struct alqi_view_moments){
            s->bytes,      s->bytes_var,  s->bytes_third,
            s->seen_bytes, s->most_bytes, s->peak,
            part};
    else if (by == ALQI_VIEW_BY_BLOCKS)
        m = (struct alqi_view_moments){s->objects,
                                       s->objects_var,
                                       s->objects_third,
                                       s->seen_objects,
                                       s->most_objects,
                                       s->peak,
                                       part};
    return alqi_view_interval(&m);
}

/* Its standard error; 0 for counts of samples, which are no estimate. */
static inline double
alqi_view_sum_stderr(const struct alqi_view_sum *sum, enum alqi_view_by by)
{
    double variance = by == ALQI_VIEW_BY_BYTES    ? sum->bytes_var
                      : by == ALQI_VIEW_BY_BLOCKS ? sum->objects_var
                                                  : 0;

    return variance > 0 ? sqrt(variance) : 0;
}

#endif
