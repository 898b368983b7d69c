/* minor_own.h -- who copies out of a minor heap that several workers empty
 *
 *     FREE -> OWNED    a worker has claimed its share
 *     FREE -> SHARED   another worker met a block of it before that
 *     OWNED -> SHARED  by the owner, between two blocks: another worker met a
 *                      block of it, or the owner has nothing left
 *
 * .inv.owned  Of an OWNED minor heap the owner alone looks at headers: its
 *             stores are plain.  Of a SHARED one each block is claimed
 *             (.inv.claim).
 *
 * Most values lead to blocks of the same domain, so most blocks are copied
 * without a locked instruction.  A worker that waits for an owner serves the
 * requests of others meanwhile, so none waits for ever
 * (tests/models/minor_own.pml).
 *
 * .pair.copier  alqi_heap_own_share() (release) -> alqi_heap_own_is_shared(),
 *               alqi_heap_own_is_mine() (acquire): which blocks have
 *               moved, and where to (tests/models/minor_own_weak.pml). */
#ifndef ALQI_HEAP_MINOR_OWN_H
#define ALQI_HEAP_MINOR_OWN_H

#include "heap/state.h"

/* own.copier is FREE (0), the owner's slot + 1, or this value. */
#define ALQI_HEAP_OWN_SHARED UINT32_MAX

/* Makes `self` the owner of the minor heap of `of`, whose share it has claimed,
 * unless that is SHARED already. */
void alqi_heap_own_claim(struct alqi_domain *self, struct alqi_domain *of);

/* Makes `of`, which the caller owns, the minor heap at hand: values that lead
 * into it are looked up no further. */
static inline void
alqi_heap_own_next(struct alqi_domain *self, const struct alqi_domain *of)
{
    self->own.base = of->sizes.base;
    self->own.bytes = of->sizes.max_bytes;
}

/* Shares all that the caller owns.  Between two blocks: the caller was called,
 * or has nothing left. */
void alqi_heap_own_share(struct alqi_domain *self);

/* Serves a call, between two blocks: another worker may wait. */
static inline void
alqi_heap_own_poll(struct alqi_domain *self)
{
    if (ALQI_UNLIKELY(__atomic_load_n(&self->own.is_called, __ATOMIC_RELAXED)))
        alqi_heap_own_share(self);
}

/* Whether the minor heap of `of`, of which the caller has met a block, is the
 * caller's.  Otherwise it is SHARED when this returns.  Between two blocks. */
bool alqi_heap_own_is_mine(struct alqi_domain *self, struct alqi_domain *of);

/* Whether the minor heap is SHARED, which it stays until the collection ends.
 * Acquire: the last owner's stores are seen. */
static inline bool
alqi_heap_own_is_shared(const struct alqi_domain *of)
{
    return __atomic_load_n(&of->own.copier, __ATOMIC_ACQUIRE) ==
           ALQI_HEAP_OWN_SHARED;
}

/* The collection is over: the minor heap of `of` is FREE, and `of` owns
 * none. */
void alqi_heap_own_end(struct alqi_domain *of);

#endif
