#include "heap/pin.h"
#include "heap/shown.h"
#include "heap/stack.h"

bool
alqi_heap_shown_has_stop_work(const struct alqi_heap *heap)
{
    return alqi_heap_pin_has_kept(heap) || alqi_heap_stack_is_any(heap) ||
           heap->observer.hooks != NULL;
}

/* A global may be written by anybody at any time, as long as it is there. */
void
alqi_heap_shown_reset_stw(struct alqi_heap *heap)
{
    heap->is_shared = heap->shown || alqi_heap_shown_has_stop_work(heap);
    __atomic_store_n(&heap->shown, heap->globals != NULL, __ATOMIC_RELAXED);
}
