/* internal.h -- what the files of limits share with each other */
#ifndef ALQI_LIMIT_INTERNAL_H
#define ALQI_LIMIT_INTERNAL_H

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

static inline struct alqi_limit_budget
alqi_limit_budget(uint64_t start, uint64_t own, uint64_t outer_end)
{
    return (struct alqi_limit_budget){
        start, alqi_limit_end_of(start, own, outer_end), own != NONE};
}

static inline uint64_t
alqi_limit_most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- check.c ------------------------------------------------------------ */

void alqi_limit_frame_reach(struct alqi_limit_frame *f,
                            enum alq_limit_cause cause);

/* As alqi_limit_check; the caller updates the trigger. */
void alqi_limit_check_frames(struct alqi_limit_thread *t);

/* ---- samples.c ---------------------------------------------------------- */

/* Whether samples of the thread's words count from here on. */
void alqi_limit_samples_count(struct alqi_limit_thread *t, bool counts);

/* Counts the sampled words up to `end`; the next one is then beyond it. */
uint64_t alqi_limit_samples_until(struct alqi_limit_thread *t, uint64_t end);

/* Charges the samples of a request; ALQ_ELIMIT: they reach a limit, it must not
 * allocate. */
enum alq_status alqi_limit_samples_charge(struct alqi_limit_thread *t,
                                          uint64_t words);

/* ---- deliver.c ---------------------------------------------------------- */

/* Derives trigger_words and its companions from frames, mask and quiet_until;
 * notifies the heap if they changed. */
void alqi_limit_update_trigger(struct alqi_limit_thread *t);

/* Returns ALQ_ELIMIT if a call that allocates `words` is to fail; may leave by
 * longjmp. */
enum alq_status alqi_limit_deliver(struct alqi_limit_thread *t, uint64_t words);

/* Seeds the thread's draws. */
void alqi_limit_seed(struct alqi_limit_thread *t, uint64_t with);
/* Returns the generator, seeded by the system if it is not seeded yet. */
struct alqi_sample_rng *alqi_limit_rng(struct alqi_limit_thread *t);

#endif
