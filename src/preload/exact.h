/* exact.h -- recording every block, not a sample of them
 *
 * Off, nothing of this costs anything.  On, each thread's countdown stands at
 * 0 (preload.h .inv.count), so that every allocation trips, and the pointer
 * filter says yes to every free. */
#ifndef ALQI_PRELOAD_EXACT_H
#define ALQI_PRELOAD_EXACT_H

#include <stdbool.h>
#include <stddef.h>

#include "preload/preload.h"
#include "stack/capture.h"

#pragma GCC visibility push(hidden)

enum alqi_preload_exact_mode {
    ALQI_PRELOAD_EXACT_OFF,
    ALQI_PRELOAD_EXACT_ALL,  /* allocations and frees                         */
    ALQI_PRELOAD_EXACT_FREES /* memory is up: allocations are sampled instead */
};

extern _Atomic(uint32_t) alqi_preload_exact_mode;

static inline bool
alqi_preload_exact_is(enum alqi_preload_exact_mode mode)
{
    return atomic_load_explicit(&alqi_preload_exact_mode,
                                memory_order_relaxed) == mode;
}

void alqi_preload_exact_start(void);

/* The block is new; the thread is IDLE. */
void alqi_preload_exact_alloc(struct alqi_preload_thread *thread,
                              const void *block, size_t size_bytes,
                              const struct alqi_stack_regs *regs);

/* The block is about to be freed. */
void alqi_preload_exact_free(const void *block);

/* The block is about to be freed, by a free that waited until the thread left
 * the engine: the thread is INSIDE still. */
void alqi_preload_exact_free_late(const void *block);

/* The block is about to be reallocated; the second call tells how it went.
 * In between the thread is INSIDE: what its signal handlers do is lost, and
 * counted. */
struct alqi_preload_exact_moving {
    struct alqi_preload_thread *thread; /* NULL: not recorded */
    uint32_t was;
};

/* thread: the caller's, or NULL. */
struct alqi_preload_exact_moving
alqi_preload_exact_moves(struct alqi_preload_thread *thread, const void *block);
/* realloc(block, size) has returned `moved`; if that is a block, its allocation
 * is the thread's next event. */
void alqi_preload_exact_moved(struct alqi_preload_exact_moving moving,
                              const void *moved, size_t size_bytes);

/* Whether the thread, which calls, can say where a mark is; if so, the second
 * call says it.  Nothing of the thread comes in between. */
bool alqi_preload_exact_mark_may(struct alqi_preload_thread *thread);
void alqi_preload_exact_mark(struct alqi_preload_thread *thread,
                             uint32_t number);

void alqi_preload_exact_thread_end(struct alqi_preload_thread *thread);

void alqi_preload_exact_fork_child(void);

#pragma GCC visibility pop

/* Streams write ticks from now on, as with several threads: a thread that is
 * born when no barrier can be had finds that done. */
void alqi_preload_exact_confine(void);

#endif
