/* pace.h -- when a cycle marks, and how much a slice does
 *
 * Words that were promoted or allocated directly since the last marking began
 * are at worst all dead, and wait for the next one.  So marking begins when
 * they are MARK_AT of what space_overhead allows (percent of the live words),
 * and is to end within MARK_IN more; sweeping is to end before.  Work that
 * promotion does in passing, by sweeping for room, counts. */
#ifndef ALQI_HEAP_PACE_H
#define ALQI_HEAP_PACE_H

#include "heap/state.h"

/* Words for this slice: `asked`, or with 0 what is due. */
size_t alqi_heap_pace_slice(struct alqi_domain *d, size_t asked);

/* Whether it is time to mark, once all is swept. */
bool alqi_heap_pace_is_due(const struct alqi_domain *d);

/* In a stop: counts what all have allocated. */
void alqi_heap_pace_count(struct alqi_heap *heap);

/* After each change of the heap's phase; in a stop. */
void alqi_heap_pace_phase(struct alqi_heap *heap);

#endif
