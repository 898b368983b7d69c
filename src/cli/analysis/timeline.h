/* timeline.h -- live and resident bytes over time, in bounded room */
#ifndef ALQI_CLI_ANALYSIS_TIMELINE_H
#define ALQI_CLI_ANALYSIS_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "view/peak.h"

enum { ALQI_CLI_TIMELINE = 512 };

/* The most bytes in each of n equal steps of time from the start. */
struct alqi_cli_timeline {
    /* the most live bytes in each step */
    double live[ALQI_CLI_TIMELINE];
    /* the most resident bytes; 0: no record in this step */
    double rss[ALQI_CLI_TIMELINE];
    /* steps used */
    uint32_t n;
    /* length of a step */
    uint64_t step_us;
    /* of the step noted last: [first_us, end_us) */
    uint64_t first_us, end_us;
    /* that step's entry of live */
    double *last;
};

void alqi_cli_timeline_init(struct alqi_cli_timeline *timeline);
/* Makes the step of that time the one noted last; steps passed over get
 * `before`. */
void alqi_cli_timeline_seek(struct alqi_cli_timeline *timeline, uint64_t us,
                            double before);

/* Live bytes changed from before to after at that time. */
static inline void
alqi_cli_timeline_note(struct alqi_cli_timeline *t, uint64_t us, double before,
                       double after)
{
    if (ALQI_UNLIKELY(us < t->first_us || us >= t->end_us))
        alqi_cli_timeline_seek(t, us, before);
    if (after > *t->last)
        *t->last = after;
}

/* Resident memory as the trace records it: a value now and then. */
struct alqi_cli_rss {
    /* records so far */
    uint64_t n_told;
    /* of the last record, and the largest of all */
    double last_bytes, peak_bytes;
    /* in blocks at last_us */
    double last_live_bytes;
    /* times of those two */
    uint64_t last_us, peak_us;
    /* in blocks at peak_us */
    double live_at_peak_bytes;
    /* At the moments of the heap's peak. */
    struct alqi_cli_rss_moment {
        /* resident at the heap's peak; valid if is_near */
        double bytes;
        /* in blocks then */
        double live_bytes;
        /* time of the heap's peak */
        uint64_t us;
        /* the peak came after the last record: bytes is corrected by the
         * next */
        bool is_since;
        /* a record is of a time when blocks had nearly as much */
        bool is_near;
    } moments[ALQI_VIEW_COLOURS];
};

/* What a record must have in blocks, of those at the heap's peak, to tell of
 * it: the recorder looks anew when they have grown by an eighth. */
#define ALQI_CLI_RSS_NEAR 0.8

/* The heap's peak has a new moment for that colour, with so much alive. */
static inline void
alqi_cli_rss_peak(struct alqi_cli_rss *r, unsigned colour, uint64_t us,
                  double live_bytes)
{
    r->moments[colour] = (struct alqi_cli_rss_moment){
        .bytes = r->last_bytes,
        .live_bytes = live_bytes,
        .us = us,
        .is_since = r->n_told == 0 || us > r->last_us,
        .is_near = r->n_told > 0 &&
                   r->last_live_bytes >= ALQI_CLI_RSS_NEAR * live_bytes};
}

/* The mean of what was resident at the moments of the heap's peak, of those
 * that a record is near to.  False: there is none. */
bool alqi_cli_rss_at_peak(const struct alqi_cli_rss *rss, double *bytes);

/* Takes a record of resident memory. */
void alqi_cli_rss_take(struct alqi_cli_rss *rss,
                       struct alqi_cli_timeline *timeline, uint64_t us,
                       double rss_bytes, double live_bytes);

#endif
