/* thread.h -- how a thread leaves the engine, its skips, frees in handlers:
 * thread.c
 *
 * The caller is the thread, INSIDE, but where a comment says otherwise. */
#ifndef ALQI_MEMPROF_THREAD_H
#define ALQI_MEMPROF_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "memprof/domain_state.h"
#include "memprof/engine.h"

/* Leaves the engine: finishes delayed frees, runs what is due, restores the
 * mode. */
void alqi_thread_leave(struct alqi_memprof_thread *t, uint32_t was);
/* Whether the clients have changed since the thread armed. */
static inline bool
alqi_thread_is_stale(const struct alqi_memprof_thread *t)
{
    return atomic_load_explicit(&t->domain->serial, memory_order_acquire) !=
           t->armed.serial;
}

/* Takes the skip that was drawn and not used; 0: there is none, or it is from
 * another distribution (.inv.drawn). */
static inline uint64_t
alqi_thread_take_skip(struct alqi_memprof_thread *t)
{
    uint64_t skip = t->next_skip;

    t->next_skip = 0;
    return ALQI_LIKELY(!alqi_thread_is_stale(t)) ? skip : 0;
}

/* Draws the next skip; arms first if the clients have changed. */
uint64_t alqi_thread_draw_skip(struct alqi_memprof_thread *t);

/* Draws the samples of a block in which a skip has ended: `words_after` of its
 * words come after the sampled one.  *skip: from the block's end to the next
 * sample; 0: it is yet to be drawn. */
uint64_t alqi_thread_samples(struct alqi_memprof_thread *t,
                             uint64_t words_after, uint64_t *skip);
/* In a handler that interrupted the engine; false: the block must not be freed
 * now. */
bool alqi_thread_delay_free(struct alqi_memprof_thread *t, void *block);

#endif
