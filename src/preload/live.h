/* live.h -- how much was allocated and not freed, by samples, and when that is
 * too much */
#ifndef ALQI_PRELOAD_LIVE_H
#define ALQI_PRELOAD_LIVE_H

#include "preload/preload.h"

#pragma GCC visibility push(hidden)

/* Counts from now on, at that rate at least.  `thread` is the caller's, parked,
 * or the orphan's that it holds. */
enum alq_status alqi_preload_live_start(struct alqi_preload_thread *thread,
                                        double rate);

uint64_t alqi_preload_live_bytes(void);
/* Bytes allocated since live_start. */
uint64_t alqi_preload_live_alloc_bytes(void);

/* Sets a limit: beyond so many bytes it is due, once.  Before live_start. */
void alqi_preload_live_limit(enum alqi_raw_limit_kind kind, uint64_t bytes);
/* Bits, by kind, of limits that are due; the thread that exchanges them with 0
 * calls alqi_preload_limit_reached. */
extern _Atomic(uint32_t) alqi_preload_live_due;

static inline bool
alqi_preload_live_is_due(void)
{
    return ALQI_UNLIKELY(atomic_load_explicit(&alqi_preload_live_due,
                                              memory_order_relaxed) != 0);
}

void alqi_preload_live_fork_child(bool is_prepared);

#pragma GCC visibility pop

#endif
