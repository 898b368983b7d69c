/* subject.h -- what the engine needs to know of the heap it watches
 *
 * The engine never knows which heap that is.  Two kinds of heap exist:
 *
 *   scanned   The heap has domains, each run by one thread at a time, and
 *             collections.  The engine keeps each domain's entries and the
 *             heap calls alqi_memprof_after_minor / _after_major / _scan /
 *             _moved at the points of spec statmemprof 1.13.
 *   notified  The heap tells of each death by address, from any thread, at any
 *             moment: malloc.  The engine keeps an index by address.
 *             Blocks are born major and never move. */
#ifndef ALQI_MEMPROF_SUBJECT_H
#define ALQI_MEMPROF_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>

struct alqi_memprof_subject {
    /* ---- scanned heaps; NULL in a notified one ---- */

    /* Whether the block lies in any domain's minor heap. */
    bool (*is_young)(void *heap, const void *block);
    /* After a minor collection, for a block that was young: its new place, or
     * NULL when it died. */
    const void *(*minor_forward)(void *heap, const void *block);
    /* At the end of a major cycle, after all marking and before colours
     * rotate: whether the block survives. */
    bool (*is_marked)(void *heap, const void *block);

    /* ---- notified heaps; NULL in a scanned one ---- */

    /* Frees a block whose free() came while the engine could not take it. */
    void (*free_late)(void *heap, void *block);

    /* ---- both ---- */

    /* A profile of the domain began or ended: make every thread of the domain
     * redraw its trigger soon (alqi_memprof_gap_words).  May be NULL. */
    void (*triggers_stale)(void *heap);

    /* The heap's own text, whose frames are left out of call stacks. */
    uintptr_t skip_lo;
    uintptr_t skip_hi;
};

#endif
