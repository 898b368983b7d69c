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
    double live[ALQI_CLI_TIMELINE];
    double rss[ALQI_CLI_TIMELINE]; /* 0: not told in this step */
    uint32_t n;
    uint64_t step_us;
    uint64_t first_us, end_us; /* of the step noted last */
    double *last;              /* that step's live bytes */
};

void alqi_cli_timeline_init(struct alqi_cli_timeline *timeline);
void alqi_cli_timeline_seek(struct alqi_cli_timeline *timeline, uint64_t us,
                            double before);

/* before, after: live bytes at the two sides of the moment. */
static inline void
alqi_cli_timeline_note(struct alqi_cli_timeline *t, uint64_t us, double before,
                       double after)
{
    if (ALQI_UNLIKELY(us < t->first_us || us >= t->end_us))
        alqi_cli_timeline_seek(t, us, before);
    if (after > *t->last)
        *t->last = after;
}

/* Resident memory as the trace tells it. */
struct alqi_cli_rss {
    uint64_t n_told;
    double last_bytes, peak_bytes;
    uint64_t last_us, peak_us;
    /* At the moments of the heap's peak. */
    struct alqi_cli_rss_moment {
        double bytes;
        uint64_t us;
        bool is_since; /* it came after the last look */
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

/* It was looked at. */
void alqi_cli_rss_take(struct alqi_cli_rss *rss,
                       struct alqi_cli_timeline *timeline, uint64_t us,
                       double rss_bytes, double live_bytes);

#endif
