/* major_compact.h -- compaction: blocks of half empty pools move together
 *
 * In a stop, with nothing young, all garbage swept, nothing marked.  A share
 * is one domain's pools:
 *
 *    MOVE    of each class the pools with the most free slots are emptied into
 *            free slots of the others.  A block that moved leaves header 0, and
 *            its new address in field 0
 *    UPDATE  each pointer into an emptied pool: fields, roots, tables
 *    GIVE    emptied pools become free; their memory goes back to the system,
 *            at once if a program waits for that, else a slice at a time
 *
 * .inv.places  The pools that stay have a free slot for each block that moves:
 *              compaction takes no memory.
 *
 * Large blocks do not move. */
#ifndef ALQI_HEAP_MAJOR_COMPACT_H
#define ALQI_HEAP_MAJOR_COMPACT_H

#include "heap/state.h"
#include "heap/stop.h"

enum { ALQI_HEAP_COMPACT_NEVER = 1000000 }; /* max_overhead, from there on */

/* The first step; `after`, by one, when all is over, says what comes next. */
const struct alqi_heap_stop_work *alqi_heap_compact_begin_stw(
    struct alqi_domain *self,
    const struct alqi_heap_stop_work *(*after)(struct alqi_domain *self));

/* A cycle has just been swept: whether that left more free than max_overhead
 * allows.  `asked`: a program waits for the end of this collection, so also a
 * small or a young heap is compacted. */
void alqi_heap_compact_note_swept_stw(struct alqi_heap *heap, bool asked);
/* Colours have just rotated: sweeping begins. */
void alqi_heap_compact_note_cycle_stw(struct alqi_heap *heap);

/* Keeps all blocks of a pool where they are in the next compaction, also if
 * that has just begun: for what may point into it and cannot be changed.
 * `word`: any word. */
void alqi_heap_compact_hold(struct alqi_heap *heap, uintptr_t word);

#endif
