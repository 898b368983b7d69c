/* write_barrier.c -- the slow parts of stores into old blocks
 *
 * Deletion: while marking, the value that a field loses is darkened.
 * Creation: a field that gets a young value is remembered, and the value
 * has escaped.
 *
 * Keeps .inv.snapshot: A white value that a field loses is darkened first.
 * Keeps .inv.remember: The field is in the set before it holds the young
 *   value.
 * Keeps .inv.private: The value has escaped before the store. */
#include "heap/write_barrier.h"
#include "heap/major_mark.h"
#include "heap/minor_remember.h"
#include "heap/minor_escape.h"

/* A field that holds a young value is remembered already, and that value needs
 * no darkening: what is promoted while marking is marked.  The inline part has
 * seen to that, but for alq_init, whose fields hold integers. */
void
alqi_heap_store(struct alqi_domain *d, alqi_heap_word *field, alq_value v)
{
    alq_value old = __atomic_load_n(field, ALQI_HEAP_DEPENDS);

    if (d->heap->cycle.phase == ALQI_HEAP_MARK &&
        alqi_heap_mark_is_white(d, old))
        alqi_heap_mark_darken(d, old);
    if (alqi_heap_is_young(d, v))
        alqi_heap_remember(d, field);
    __atomic_store_n(field, v, __ATOMIC_RELEASE);
}

/* What is lost is darkened afterwards: no phase ends before the next safe
 * point.  But v must not be seen before it is escaped. */
bool
alqi_heap_compare_exchange(struct alqi_domain *d, alq_value block, uintptr_t i,
                           alq_value *expected, alq_value v)
{
    alqi_heap_word *field = (alqi_heap_word *)block + i;
    alqi_heap_word old = *expected;

    if (!alqi_heap_is_young(d, block) && alqi_heap_is_young(d, v))
        alqi_heap_escape(d->heap);
    if (!__atomic_compare_exchange_n(field, &old, v, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST)) {
        *expected = old;
        return false;
    }
    if (alqi_heap_is_young(d, block) || alqi_heap_is_young(d, old))
        return true;
    if (d->heap->cycle.phase == ALQI_HEAP_MARK &&
        alqi_heap_mark_is_white(d, old))
        alqi_heap_mark_darken(d, old);
    if (alqi_heap_is_young(d, v))
        alqi_heap_remember(d, field);
    return true;
}

void
alqi_heap_barrier_phase(struct alqi_domain *d)
{
    d->alloc_colour = d->heap->cycle.phase == ALQI_HEAP_MARK
                          ? d->heap->cycle.marked
                          : d->heap->cycle.unmarked;
    d->pub.store_max =
        d->heap->cycle.phase == ALQI_HEAP_MARK || alqi_heap_is_quiet(d)
            ? UINTPTR_MAX
            : d->pub.young_bytes / 2 - 1;
}
