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
 * (tests/models/minor_own.pml). */
#ifndef ALQI_HEAP_OWN_H
#define ALQI_HEAP_OWN_H

#include "heap/state.h"

/* A copier: FREE is 0, an owner its slot + 1, or: */
#define ALQI_HEAP_OWN_SHARED UINT32_MAX

/* The share of `of` is the caller's. */
void alqi_heap_own_claim(struct alqi_domain *self, struct alqi_domain *of);

/* The blocks to come are of that one, which the caller owns. */
static inline void
alqi_heap_own_next(struct alqi_domain *self, const struct alqi_domain *of)
{
    self->own.base = of->sizes.base;
    self->own.bytes = of->sizes.max_bytes;
}

/* The caller, between two blocks, has nothing left, or is asked. */
void alqi_heap_own_share(struct alqi_domain *self);

/* Between two blocks: somebody may wait. */
static inline void
alqi_heap_own_poll(struct alqi_domain *self)
{
    if (ALQI_UNLIKELY(__atomic_load_n(&self->own.is_called, __ATOMIC_RELAXED)))
        alqi_heap_own_share(self);
}

/* Met a block of `of`, between two blocks: whether that is owned by the caller.
 * Otherwise it is SHARED when this returns. */
bool alqi_heap_own_is_mine(struct alqi_domain *self, struct alqi_domain *of);

static inline bool
alqi_heap_own_is_shared(const struct alqi_domain *of)
{
    return __atomic_load_n(&of->own.copier, __ATOMIC_ACQUIRE) ==
           ALQI_HEAP_OWN_SHARED;
}

/* The collection is over. */
void alqi_heap_own_end(struct alqi_domain *of);

#endif
