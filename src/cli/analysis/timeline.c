/* timeline.c -- the course of live and resident bytes in a fixed number of
 * steps
 *
 * [timeline.h] Each step holds a maximum. When the steps are used up, two
 * become one and the step doubles, so any length of time fits. Resident memory
 * at the heap's peak is interpolated between the records before and after
 * it. */
#include <string.h>

#include "cli/analysis/timeline.h"

/* Microseconds of a step at the beginning. */
enum { FIRST_STEP_US = 16 };

void
alqi_cli_timeline_init(struct alqi_cli_timeline *t)
{
    memset(t, 0, sizeof *t);
    t->step_us = FIRST_STEP_US;
}

static double
most(double a, double b)
{
    return a > b ? a : b;
}

/* Two steps become one, with the larger of both values. */
static void
halve(struct alqi_cli_timeline *t)
{
    for (uint32_t i = 0; i < ALQI_CLI_TIMELINE / 2; i++) {
        uint32_t k = 2 * i + 1 < t->n ? 2 * i + 1 : 2 * i;

        t->live[i] = most(t->live[2 * i], t->live[k]);
        t->rss[i] = most(t->rss[2 * i], t->rss[k]);
    }
    memset(&t->rss[ALQI_CLI_TIMELINE / 2], 0, sizeof t->rss / 2);
    t->n = (t->n + 1) / 2;
    t->step_us *= 2;
}

/* Steps that nothing happened in had the level before this event. */
void
alqi_cli_timeline_seek(struct alqi_cli_timeline *t, uint64_t us, double before)
{
    uint32_t i;

    while (us / t->step_us >= ALQI_CLI_TIMELINE)
        halve(t);
    i = (uint32_t)(us / t->step_us);
    while (t->n <= i)
        t->live[t->n++] = before;
    t->last = &t->live[i];
    t->first_us = i * t->step_us;
    t->end_us = t->first_us + t->step_us;
}

/* Resident bytes at the heap's peak, between the last record and this one, as
 * if they had grown evenly. */
static double
between(const struct alqi_cli_rss *r, uint64_t us, double bytes,
        uint64_t heap_peak_us)
{
    if (r->n_told == 0 || us <= r->last_us)
        return bytes;
    return r->last_bytes + (bytes - r->last_bytes) *
                               (double)(heap_peak_us - r->last_us) /
                               (double)(us - r->last_us);
}

bool
alqi_cli_rss_at_peak(const struct alqi_cli_rss *r, double *bytes)
{
    double sum = 0;
    int n = 0;

    for (int k = 0; k < ALQI_VIEW_COLOURS; k++)
        if (r->moments[k].is_near) {
            sum += r->moments[k].bytes;
            n++;
        }
    *bytes = n > 0 ? sum / n : 0;
    return n > 0;
}

/* A moment since the last record gets its value now: between both records if
 * both are near to it, else that of the one that is. */
static void
moment_settle(const struct alqi_cli_rss *r, struct alqi_cli_rss_moment *m,
              uint64_t us, double bytes, double live_bytes)
{
    bool is_near = live_bytes >= ALQI_CLI_RSS_NEAR * m->live_bytes;

    if (is_near)
        m->bytes = m->is_near ? between(r, us, bytes, m->us) : bytes;
    m->is_near |= is_near;
    m->is_since = false;
}

/* A peak since the last record gets its value now. */
void
alqi_cli_rss_take(struct alqi_cli_rss *r, struct alqi_cli_timeline *t,
                  uint64_t us, double rss_bytes, double live_bytes)
{
    double *step;

    for (int k = 0; k < ALQI_VIEW_COLOURS; k++)
        if (r->moments[k].is_since)
            moment_settle(r, &r->moments[k], us, rss_bytes, live_bytes);
    r->n_told++;
    r->last_bytes = rss_bytes;
    r->last_live_bytes = live_bytes;
    r->last_us = us;
    if (rss_bytes > r->peak_bytes) {
        r->peak_bytes = rss_bytes;
        r->peak_us = us;
        r->live_at_peak_bytes = live_bytes;
    }
    alqi_cli_timeline_note(t, us, live_bytes, live_bytes);
    step = &t->rss[us / t->step_us];
    *step = most(*step, rss_bytes);
}
