/* subject.h -- what the engine needs to know of the heap it watches
 *
 * The engine never before which heap that is.  Two kinds of heap exist:
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
#include <stddef.h>
#include <stdint.h>

/* The calling thread's stack as the heap's program wants it told, instead of
 * the machine's: writes up to max_frames, innermost first, to *frames and their
 * number to *n_frames (max_frames if there are more).  False: it does not say,
 * the machine's is taken.  Called INSIDE, where the block is allocated. */
typedef bool alqi_memprof_walk_fn(void *heap, uintptr_t *frames,
                                  size_t max_frames, size_t *n_frames);

/* What a subject whose tasks have limits is told besides. */
struct alqi_memprof_limits {
    /* A block was sampled for the highest_rate profile that is not of limits
     * (engine.h): so many of its words, each of which stands for
     * interval_words.  Called INSIDE, where the block is allocated; of a
     * scanned heap's requests when the alloc callbacks have run. */
    void (*sampled)(void *heap, uint64_t n_samples, double interval_words,
                    const uintptr_t *frames, size_t n_frames);

    /* A callback of a profile is about to run on the calling thread, and has
     * run; `ends` gets what `begins` returned.  May be NULL, both. */
    bool (*begins)(void *heap);
    void (*ends)(void *heap, bool was);
};

struct alqi_memprof_subject {
    /* ---- scanned heaps; NULL in a notified one ---- */

    /* Whether the block lies in any domain's minor heap. */
    bool (*is_young)(void *heap, const void *block);
    /* After a minor collection: where a block is now; NULL when it died. */
    const void *(*minor_forward)(void *heap, const void *block);
    /* At the end of a major cycle, after all marking and before colours
     * rotate: whether the block survives. */
    bool (*is_marked)(void *heap, const void *block);

    /* The calling thread owes callbacks, or its domain does, and did not when a
     * poll was last asked for: see to one. */
    void (*request_poll)(void *heap);

    /* ---- notified heaps; NULL in a scanned one ---- */

    /* Frees a block whose free() came while the engine could not take it. */
    void (*free_delayed)(void *heap, void *block);

    /* ---- both ---- */

    /* A profile of the domain began or ended: make every thread of the domain
     * redraw its trigger soon (alqi_memprof_skip_words).  May be NULL. */
    void (*triggers_stale)(void *heap);

    /* May be NULL, and be set later on (atomic). */
    alqi_memprof_walk_fn *walk;

    /* The same. */
    const struct alqi_memprof_limits *limits;

    /* The heap's own text, whose frames are left out of call stacks. */
    uintptr_t skip_lo;
    uintptr_t skip_hi;
};

static inline alqi_memprof_walk_fn *
alqi_memprof_subject_walk(const struct alqi_memprof_subject *subject)
{
    return __atomic_load_n(&subject->walk, __ATOMIC_ACQUIRE);
}

static inline const struct alqi_memprof_limits *
alqi_memprof_subject_limits(const struct alqi_memprof_subject *subject)
{
    return __atomic_load_n(&subject->limits, __ATOMIC_ACQUIRE);
}

#endif
