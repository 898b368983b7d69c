/* minor_promote.h -- moves young blocks to the major heap: copy, then scan the
 * copies
 *
 * Copies go to runs, one a class: free neighbours of a pool, so that making
 * room is an addition and "not scanned yet" is a pointer (Cheney).  A filled
 * run that is not scanned waits in `grey`; when another participant is idle
 * (minor_workers.h), or there is no room for more, half of those are given
 * away.
 *
 * `self` is the participant: the domain whose thread this is, and whose runs
 * and pools are used, whoever's young blocks these are.  One participant looks
 * at headers alone: plain stores.  Several claim a block before they copy it:
 *
 *   young header   live -> IN_PROGRESS -> 0, once               (.inv.claim)
 *   winner   copy; field 0 := the new address; header := 0 (release)
 *   loser    waits for header 0 (acquire), reads field 0
 *
 * While copies are scanned claims are made BATCH at a time, then the copies;
 * who waits holds no claim (tests/models/minor_promote_batch.pml).
 *
 * Which of the two it is stands in the heap's workers. */
#ifndef ALQI_HEAP_PROMOTE_H
#define ALQI_HEAP_PROMOTE_H

#include "heap/state.h"

/* Replaces a young value by its new place.  A moved block has header 0 and its
 * new place in field 0.  There must be memory: alqi_heap_minor_need. */
void alqi_heap_promote(struct alqi_domain *self, alq_value *slot);
/* Each of n slots, now, or some of them by whom they reach before all have
 * drained. */
void alqi_heap_promote_each(struct alqi_domain *self, alqi_heap_word **slots,
                            size_t n);

/* Promotes what promoted blocks lead to, until no participant has anything
 * left: each has to call it. */
void alqi_heap_promote_drain(struct alqi_domain *self);

/* After draining: the block's new place, ALQ_NULL when it is dead. */
static inline alq_value
alqi_heap_promoted(alq_value young)
{
    return alqi_heap_header(young) == 0 ? *(alqi_heap_word *)young : ALQ_NULL;
}

#endif
