/* major_smooth.c -- spreads work that falls due over the next minor heaps
 *
 * A ring of buckets, each a minor heap.  What falls due is put into all buckets
 * of the window in equal parts; what exceeds DUE_MOST of a cycle waits in
 * `backlog` and falls due with the next minor heap.  The first bucket is paid,
 * and the ring moves on when whole minor heaps were used.  Pure: no heap, no
 * clock.
 *
 * Keeps .inv.spread: What is scooped out of the buckets is spread anew, or
 *   returned. */
#include "base/base.h"
#include "heap/major_smooth.h"

/* A share of a cycle's work: at most so much is spread in one opening. */
#define DUE_MOST 0.3

/* Buckets in use; before the first resize there is one. */
static unsigned
window(const struct alqi_heap_smooth *s)
{
    return s->window == 0 ? 1 : s->window;
}

/* Empties the buckets; what was in them. */
static double
scoop(struct alqi_heap_smooth *s)
{
    double all = 0;
    unsigned i;

    for (i = 0; i < ALQI_HEAP_WINDOW_MAX; i++) {
        all += s->buckets[i];
        s->buckets[i] = 0;
    }
    return all;
}

static void
spread(struct alqi_heap_smooth *s, double share)
{
    unsigned i, n = window(s);

    for (i = 0; i < n; i++)
        s->buckets[i] += share / n;
}

void
alqi_heap_smooth_clear(struct alqi_heap_smooth *s)
{
    scoop(s);
    s->backlog = 0;
}

/* Changes the number of buckets, and spreads anew what was in them.  Nothing
 * that is due gets lost. */
void
alqi_heap_smooth_resize(struct alqi_heap_smooth *s, unsigned n)
{
    double all = scoop(s);

    ALQI_ASSERT(n >= 1 && n <= ALQI_HEAP_WINDOW_MAX); /* .inv.spread */
    s->window = n;
    s->first = 0;
    spread(s, all);
}

/* Adds what is due when a minor heap opens; returns the share that is to be
 * paid in it.
 *
 * `used` is the part of the last minor heap that was allocated: small minor
 * heaps move the ring on only together.  When the phase is late, all that waits
 * is due now.  With one bucket there is no later, so nothing goes to the
 * backlog. */
double
alqi_heap_smooth_open(struct alqi_heap_smooth *s, double due, double used,
                      bool is_late)
{
    double now;

    ALQI_ASSERT(due >= 0 && s->backlog >= 0); /* .inv.spread */
    ALQI_ASSERT(s->first < window(s));        /* .inv.spread */
    ALQI_ASSERT(used >= 0 && used <= 1);      /* .inv.spread */
    due += s->backlog;
    s->backlog = 0;
    if (is_late)
        return due + scoop(s);
    if (due > DUE_MOST && window(s) > 1) {
        s->backlog = due - DUE_MOST;
        due = DUE_MOST;
    }
    spread(s, due);
    s->clock += used;
    if (s->clock >= 1) {
        s->clock -= 1;
        s->first = (s->first + 1) % window(s);
    }
    now = s->buckets[s->first];
    s->buckets[s->first] = 0;
    ALQI_ASSERT(now >= 0); /* .inv.spread */
    return now;
}

double
alqi_heap_smooth_later(const struct alqi_heap_smooth *s, unsigned i)
{
    return i >= window(s) ? 0 : s->buckets[(s->first + i) % window(s)];
}
