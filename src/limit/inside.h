/* inside.h -- what the files of limits share with each other */
#ifndef ALQI_LIMIT_INSIDE_H
#define ALQI_LIMIT_INSIDE_H

#include "limit/limit.h"

#define NONE ALQ_LIMIT_NONE

static inline uint64_t
alqi_limit_words_now(const struct alqi_limit_thread *t)
{
    return t->subject->words(t->heap);
}

/* .inv.nest: never beyond the frame around it, and without overflow. */
static inline uint64_t
alqi_limit_end_of(uint64_t start, uint64_t own, uint64_t outer_end)
{
    uint64_t end = own < NONE - start ? start + own : NONE;

    return end < outer_end ? end : outer_end;
}

/* ---- notice.c ----------------------------------------------------------- */

void alqi_limit_reach(struct alqi_limit_frame *f, enum alq_limit_cause cause);

/* ---- deliver.c ---------------------------------------------------------- */

/* Follows from frames, mask and quiet_until; tells the heap if it changed. */
void alqi_limit_settle(struct alqi_limit_thread *t);

/* Of gaps between failures. */
void alqi_limit_seed(struct alqi_limit_thread *t, uint64_t with);

#endif
