/* minor_own.c -- which worker copies out of a minor heap
 *
 *   FREE -> OWNED -> SHARED, or FREE -> SHARED, by compare and swap of `copier`
 *   FREE again when the collection ends (tests/models/minor_own.pml)
 *
 * `copier` is a word of the minor heap's domain; `own` of the worker has what
 * the worker itself owns.  A worker that needs a block of an OWNED heap calls
 * its owner (is_called) and waits; the owner polls between two blocks.
 *
 * Keeps .inv.owned: Of an OWNED minor heap only its owner looks at headers. */
#include "heap/minor_own.h"

enum { FREE = 0 };
#define SHARED ALQI_HEAP_OWN_SHARED

/* FREE -> `to`; false: another worker was faster. */
static bool
holder_change(struct alqi_domain *of, uint32_t to)
{
    uint32_t from = FREE;

    return __atomic_compare_exchange_n(&of->own.copier, &from, to, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* The worker `self`, which has claimed the share of `of`, becomes the owner of
 * its minor heap.  If another worker has met a block of it before, it is SHARED
 * and stays so. */
void
alqi_heap_own_claim(struct alqi_domain *self, struct alqi_domain *of)
{
    /* .inv.owned: a worker alone owns all, and claims nothing. */
    ALQI_ASSERT(alqi_heap_workers_is_shared(&self->heap->young.workers));
    if (!holder_change(of, self->slot + 1))
        return;
    self->own.owns = true;
    alqi_heap_own_next(self, of);
}

/* The worker shares all that it owns, between two blocks: it was called, or has
 * nothing left.
 *
 * The release store publishes its plain stores to the headers: a worker that
 * reads SHARED with acquire sees each block as moved or not. */
void
alqi_heap_own_share(struct alqi_domain *self)
{
    struct alqi_heap *heap = self->heap;
    unsigned i;

    __atomic_store_n(&self->own.is_called, false, __ATOMIC_RELAXED);
    if (!self->own.owns)
        return;
    self->own.owns = false;
    self->own.bytes = 0; /* no value is in the slice at hand any more */
    for (i = 0; i < heap->n_slots; i++)
        if (__atomic_load_n(&heap->domains[i]->own.copier, __ATOMIC_RELAXED) ==
            self->slot + 1)
            __atomic_store_n(&heap->domains[i]->own.copier, SHARED,
                             __ATOMIC_RELEASE);
}

/* Whether the minor heap of `of` is the caller's; if it is not, it is SHARED
 * when this returns.
 *
 * The caller is between two blocks.  While it waits for the owner it serves
 * calls itself: two owners that wait for each other would wait for ever. */
bool
alqi_heap_own_is_mine(struct alqi_domain *self, struct alqi_domain *of)
{
    unsigned spins = 0;

    for (;;) {
        uint32_t copier = __atomic_load_n(&of->own.copier, __ATOMIC_ACQUIRE);

        if (copier == SHARED)
            return false;
        if (copier == self->slot + 1)
            return true;
        if (copier == FREE) {
            holder_change(of, SHARED);
            continue;
        }
        ALQI_ASSERT(copier <= self->heap->n_slots); /* .inv.owned */
        __atomic_store_n(&self->heap->domains[copier - 1]->own.is_called, true,
                         __ATOMIC_RELAXED);
        alqi_heap_own_poll(self);
        alqi_plat_spin(&spins);
    }
}

/* The collection is over, for the minor heap of `of` and for `of` as a worker.
 * A barrier lies between this and the next collection, so relaxed stores do. */
void
alqi_heap_own_end(struct alqi_domain *of)
{
    ALQI_ASSERT(!of->own.owns); /* .inv.owned: all has been shared */
    __atomic_store_n(&of->own.copier, FREE, __ATOMIC_RELAXED);
    __atomic_store_n(&of->own.is_called, false, __ATOMIC_RELAXED);
    of->own.owns = false;
    of->own.bytes = 0;
}
