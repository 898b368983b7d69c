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
    /* times of those two */
    uint64_t last_us, peak_us;
    /* in blocks at peak_us */
    double live_at_peak_bytes;
    /* At the moments of the heap's peak. */
    struct alqi_cli_rss_moment {
        /* resident at the heap's peak */
        double bytes;
        /* time of the heap's peak */
        uint64_t us;
        /* the peak came after the last record: bytes is corrected by the
         * next */
        bool is_since;
    } moments[ALQI_VIEW_COLOURS];
};

/* The heap's peak has a new moment for that colour. */
static inline void
alqi_cli_rss_peak(struct alqi_cli_rss *r, unsigned colour, uint64_t us)
{
    r->moments[colour] = (struct alqi_cli_rss_moment){
        r->last_bytes, us, r->n_told == 0 || us > r->last_us};
}

/* The mean of what was resident at the moments of the heap's peak. */
double alqi_cli_rss_at_peak(const struct alqi_cli_rss *rss);

/* Takes a record of resident memory. */
void alqi_cli_rss_take(struct alqi_cli_rss *rss,
                       struct alqi_cli_timeline *timeline, uint64_t us,
                       double rss_bytes, double live_bytes);

#endif
