/* major_pace.h -- when a cycle marks, and how much a slice does
 *
 * Words that were promoted or allocated directly since the last marking began
 * are at worst all dead, and wait for the next one.  So marking begins when
 * they are MARK_AT of what space_overhead allows (percent of the live words),
 * and is to end within MARK_IN more; sweeping is to end before.  Work that
 * promotion does in passing, by sweeping for room, counts.
 *
 * A minor collection's promotion is paid for by the slices of the minor heap
 * that it opens: as many, evenly spread, as keep each at SLICE_WORDS, no less
 * than STEP_BYTES_LEAST apart.
 *
 * .inv.pace  A slice is cut by slice_us.  What it leaves goes to the next one,
 *            so the debt only grows while every slice is cut; once the phase
 *            is late the cut grows with the lateness (a slice more for each
 *            percent of what is allowed), so some slice pays, and the heap is
 *            bounded. */
#ifndef ALQI_HEAP_MAJOR_PACE_H
#define ALQI_HEAP_MAJOR_PACE_H

#include "heap/state.h"

struct alqi_heap_share { /* of the work in debt */
    size_t words;
    uint64_t until_ns; /* UINT64_MAX: without regard to the time */
};

/* Words of work of this slice: `asked`, or, if that is 0, what is due. */
struct alqi_heap_share alqi_heap_pace_slice(struct alqi_domain *d,
                                            size_t asked);

/* Whether its time is over; then it ends, and what is left stays in debt. */
bool alqi_heap_pace_is_over(struct alqi_domain *d,
                            const struct alqi_heap_share *share);

/* Nothing is left to do here, but elsewhere: what is in debt is paid by those
 * that have work. */
void alqi_heap_pace_pass_on(struct alqi_domain *d);

/* The minor heap was opened: slices are spread over it by what is in debt. */
void alqi_heap_pace_open(struct alqi_domain *d);

/* Words for a slice in advance, which frees n_words on average; 0: all that is
 * due until the next minor collection. */
size_t alqi_heap_pace_advance(struct alqi_domain *d, size_t n_words);

/* Takes over the number of minor heaps that control asks for; what waits is
 * spread over them anew. */
void alqi_heap_pace_window(struct alqi_domain *d);

/* Shares of a cycle's work: what is due now (0) or some minor heaps later, and
 * what was done in advance. */
double alqi_heap_pace_bucket(const struct alqi_domain *d, unsigned i);
double alqi_heap_pace_credit(const struct alqi_domain *d);

/* Dead and free words that space_overhead allows. */
double alqi_heap_pace_allowed_words(const struct alqi_heap *heap);

/* So many words were allocated in the major heap, or are as good as that: a
 * slice is asked for now and then. */
void alqi_heap_pace_direct(struct alqi_domain *d, uint64_t words);

/* Whether it is time to mark, once all is swept. */
bool alqi_heap_pace_is_due(const struct alqi_domain *d);

/* Whether the phase should be over. */
bool alqi_heap_pace_is_late(const struct alqi_domain *d);

/* Counts what all domains have allocated. */
void alqi_heap_pace_count_stw(struct alqi_heap *heap);
/* Counts what the domain has allocated; at any time. */
void alqi_heap_pace_count_local(struct alqi_domain *d);

/* Gives back pools of the surplus that the end of sweeping found. */
void alqi_heap_pace_give_some(struct alqi_domain *d);

/* Gives back the whole surplus of pools at once. */
void alqi_heap_pace_give_all_stw(struct alqi_domain *d);
/* Gives back the whole surplus of pools by the slices to come. */
void alqi_heap_pace_give_later(struct alqi_heap *heap);
/* Gives back all free pools at once, but those promised to minor heaps. */
void alqi_heap_pace_give_unpromised_stw(struct alqi_domain *d);

/* After each change of the heap's phase. */
void alqi_heap_pace_phase_stw(struct alqi_heap *heap);

#endif
