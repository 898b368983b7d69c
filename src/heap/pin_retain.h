/* pin_retain.h -- retained blocks while minor heaps are emptied [pin.h]
 *
 * A retained block looks moved to where it is, so copying loops have no test
 * for it. */
#ifndef ALQI_HEAP_PIN_RETAIN_H
#define ALQI_HEAP_PIN_RETAIN_H

#include "heap/state.h"

/* By the leader, before the shares. */
void alqi_heap_pin_retain_begin_stw(struct alqi_domain *leader);
/* By one, when all domains have finished. */
void alqi_heap_pin_retain_end_stw(struct alqi_domain *self);

/* Marking has ended: fields of dead blocks leave .inv.retained's set. */
void alqi_heap_pin_retain_after_marking_stw(struct alqi_heap *heap);

#endif
