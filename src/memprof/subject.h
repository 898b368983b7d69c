/* subject.h -- what the engine needs to know of the heap that it profiles
 *
 * Two kinds of heap exist:
 *
 *     scanned   The heap has domains, each run by one thread at a time, and
 *               collections.  The engine keeps each domain's entries, and the
 *               heap calls alqi_memprof_after_minor, _after_major, _scan and
 *               _blocks at the points of scan.h.
 *     notified  The heap (malloc) calls the engine for each death of a tracked
 *               block, by address, from any thread at any moment.  The engine
 *               keeps an index by address.  Blocks are born major and never
 *               move.
 *
 * A subject's functions are constant; `walk` and `limits` may be set later
 * on. */
#ifndef ALQI_MEMPROF_SUBJECT_H
#define ALQI_MEMPROF_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The calling thread's stack in the terms of the program that the heap runs, in
 * place of the machine's: writes up to max_frames, innermost first, to *frames
 * and their number to *n_frames (max_frames if there are more).  False: no
 * answer, the machine's stack is captured.  Called INSIDE, where the block is
 * allocated; once for each sampled block of a request, which has `words_below`
 * words below the block. */
typedef bool alqi_memprof_walk_fn(void *heap, uint64_t words_below,
                                  uintptr_t *frames, size_t max_frames,
                                  size_t *n_frames);

/* The calls that limits on tasks want. */
struct alqi_memprof_limits {
    /* A block was sampled for the profile with the highest rate that does not
     * belong to limits (engine.h): n_samples words, each of which stands for
     * interval_words.  Called INSIDE, where the block is allocated; for a
     * scanned heap's requests after the alloc callbacks. */
    void (*sampled)(void *heap, uint64_t n_samples, double interval_words,
                    const uintptr_t *frames, size_t n_frames);

    /* A callback of a profile is about to run on the calling thread, and has
     * run; `ends` gets what `begins` returned.  Both may be NULL. */
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

    /* Asks for a poll: callbacks have become due on the calling thread or its
     * domain, and none were due when a poll was last asked for. */
    void (*request_poll)(void *heap);

    /* ---- notified heaps; NULL in a scanned one ---- */

    /* Frees a block whose free() came while the thread was INSIDE. */
    void (*free_delayed)(void *heap, void *block);

    /* ---- both ---- */

    /* A profile of the domain has started or stopped: every thread of the
     * domain is to draw its trigger anew soon (alqi_memprof_skip_words).  May
     * be NULL. */
    void (*triggers_stale)(void *heap);

    /* Atomic; NULL: stacks are the machine's. */
    alqi_memprof_walk_fn *walk;

    /* Atomic; NULL: no limits. */
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
