/* minor_own.c -- who copies out of a minor heap
 *
 * FREE -> OWNED -> SHARED, or FREE -> SHARED, by compare and swap of `copier`;
 * FREE again when the collection ends (tests/models/minor_own.pml).
 *
 * Keeps .inv.owned: Of an OWNED minor heap only its owner looks at headers. */
#include "heap/minor_own.h"

enum { FREE = 0 };
#define SHARED ALQI_HEAP_OWN_SHARED

static bool
holder_change(struct alqi_domain *of, uint32_t to)
{
    uint32_t from = FREE;

    return __atomic_compare_exchange_n(&of->own.copier, &from, to, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void
alqi_heap_own_claim(struct alqi_domain *self, struct alqi_domain *of)
{
    if (!holder_change(of, self->slot + 1))
        return;
    self->own.owns = true;
    alqi_heap_own_next(self, of);
}

void
alqi_heap_own_share(struct alqi_domain *self)
{
    struct alqi_heap *heap = self->heap;
    unsigned i;

    __atomic_store_n(&self->own.is_called, false, __ATOMIC_RELAXED);
    if (!self->own.owns)
        return;
    self->own.owns = false;
    self->own.bytes = 0;
    for (i = 0; i < heap->n_slots; i++)
        if (__atomic_load_n(&heap->domains[i]->own.copier, __ATOMIC_RELAXED) ==
            self->slot + 1)
            __atomic_store_n(&heap->domains[i]->own.copier, SHARED,
                             __ATOMIC_RELEASE);
}

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
        __atomic_store_n(&self->heap->domains[copier - 1]->own.is_called, true,
                         __ATOMIC_RELAXED);
        alqi_heap_own_poll(self);
        alqi_plat_spin(&spins);
    }
}

void
alqi_heap_own_end(struct alqi_domain *of)
{
    __atomic_store_n(&of->own.copier, FREE, __ATOMIC_RELAXED);
    __atomic_store_n(&of->own.is_called, false, __ATOMIC_RELAXED);
    of->own.owns = false;
    of->own.bytes = 0;
}
