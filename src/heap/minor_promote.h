/* minor_promote.h -- promotion: copies young blocks, then scans the copies
 *
 * Copies go to local allocation buffers, one a class: a free range of a pool.
 * Allocation in it is an addition, and "not scanned yet" is a pointer
 * (Cheney).  A full buffer that is not scanned waits on the grey stack.  When
 * another worker is idle (minor_workers.h), or the stack is full, half of it
 * is given away.
 *
 * `self` is the worker: the domain of the calling thread, whose buffers and
 * pools are used, whichever domain the young blocks are of.  A single worker
 * looks at headers with plain loads and stores.  Several claim a block before
 * they copy it:
 *
 *     young header   live -> IN_PROGRESS -> 0, once
 *     winner   copy; field 0 := the new address; header := 0 (release)
 *     loser    waits for header 0 (acquire), then reads field 0
 *
 * .inv.claim  A young header goes live -> IN_PROGRESS -> 0 once; the winner of
 *             its compare and swap makes the only copy.
 *
 * .pair.moved  moved_claimed() (release) -> new_place_shared(), await_move(),
 *              batch_do() (acquire): field 0, and the copy
 *              (tests/models/minor_promote_weak.pml).
 *
 * .inv.lab    Outside of promotion each local allocation buffer is scanned:
 *             scan = next, and nothing waits on a grey stack.  Always scan <=
 *             next <= end, and the buffer's pool is in no list.
 *
 * While copies are scanned, BATCH claims are made, then the copies.  A worker
 * that waits holds no claim (tests/models/minor_promote_batch.pml). */
#ifndef ALQI_HEAP_MINOR_PROMOTE_H
#define ALQI_HEAP_MINOR_PROMOTE_H

#include "heap/hosted.h"
#include "heap/state.h"

/* Replaces a young value by its new place, at which it is copied first if
 * nobody has.  A moved block has header 0 and its new place in field 0.  There
 * must be memory: alqi_heap_minor_need. */
void alqi_heap_promote(struct alqi_domain *self, alq_value *slot);
/* Promotes the values of n fields: now, or, of those that are offered to other
 * workers, before all have drained. */
void alqi_heap_promote_each(struct alqi_domain *self, alqi_heap_word **slots,
                            size_t n);

/* Promotes what promoted blocks lead to, until no participant has anything
 * left: each has to call it. */
void alqi_heap_promote_drain(struct alqi_domain *self);

/* After draining: the value's new place, ALQ_NULL when it is dead.  Of a
 * closure that has moved the first field alone is overwritten: infix headers
 * stay. */
static inline alq_value
alqi_heap_promoted(alq_value young)
{
    uintptr_t infix = alqi_heap_infix_bytes(young);
    const alqi_heap_word *block = (const alqi_heap_word *)(young - infix);

    return block[-1] == 0 ? block[0] + infix : ALQ_NULL;
}

#endif
