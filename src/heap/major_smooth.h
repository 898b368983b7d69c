/* major_smooth.h -- spreads work that falls due over several minor heaps; pure
 *
 * All numbers are shares of a whole cycle's work.
 *
 *   due -> backlog (what is more than 0.3) -> buckets, all alike
 *   bucket 0 -> the slices of the minor heap that is opened
 *
 * When a minor heap was used up, the next bucket is 0.
 *
 * .inv.spread  What falls due is in the backlog, in a bucket of the window, or
 *              was returned: nothing is lost, and no share is negative.
 *              first < window. */
#ifndef ALQI_HEAP_MAJOR_SMOOTH_H
#define ALQI_HEAP_MAJOR_SMOOTH_H

#include <stdbool.h>

enum { ALQI_HEAP_WINDOW_MAX = 50 };

struct alqi_heap_smooth {
    double buckets[ALQI_HEAP_WINDOW_MAX];
    unsigned window; /* buckets in use; 0 is 1 */
    unsigned first;
    double backlog;
    double clock; /* minor heaps used since a bucket became the first */
};

/* Nothing is due; the window stays. */
void alqi_heap_smooth_clear(struct alqi_heap_smooth *s);

/* What is due is spread anew, over 1 to ALQI_HEAP_WINDOW_MAX buckets. */
void alqi_heap_smooth_resize(struct alqi_heap_smooth *s, unsigned window);

/* A minor heap is opened, the last one was used to a share of `used`, and work
 * falls due: returns what is to be done until the next call.  A window of 1
 * returns what it is given; so does any when the cycle is late, and all that
 * was scheduled. */
double alqi_heap_smooth_open(struct alqi_heap_smooth *s, double due,
                             double used, bool is_late);

/* What is due i minor heaps later, i > 0; 0 from the window on. */
double alqi_heap_smooth_later(const struct alqi_heap_smooth *s, unsigned i);

#endif
