#include "heap/barrier.h"
#include "heap/mark.h"
#include "heap/remember.h"

/* A field that holds a young value is remembered already, and that value needs
 * no darkening: what is promoted while marking is marked.  The inline part has
 * seen to that, but for alq_init, whose fields hold integers. */
void
alqi_heap_store(struct alqi_domain *d, alqi_heap_word *field, alq_value v)
{
    alq_value old = __atomic_load_n(field, ALQI_HEAP_DEPENDS);

    if (d->heap->phase == ALQI_HEAP_MARK && alqi_heap_mark_is_white(d, old))
        alqi_heap_mark_darken(d, old);
    if (alqi_heap_is_young(d, v))
        alqi_heap_remember(d, field);
    __atomic_store_n(field, v, __ATOMIC_RELEASE);
}

void
alqi_heap_barrier_phase(struct alqi_domain *d)
{
    d->alloc_colour =
        d->heap->phase == ALQI_HEAP_MARK ? d->heap->marked : d->heap->unmarked;
    d->pub.store_max = d->heap->phase == ALQI_HEAP_MARK
                           ? UINTPTR_MAX
                           : d->pub.young_bytes / 2 - 1;
}
