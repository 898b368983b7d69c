/* probes.h -- a heap's blocks told to tracers: USDT otel_memory:alloc, :free
 *
 *   otel_memory:alloc(ptr, size, weighted_bytes)   a sampled allocation
 *   otel_memory:free(ptr)                          the end of one that fired
 *
 * A client of the engine without callbacks into anyone's code.  It samples
 * only while a tracer has raised the semaphore of `alloc`, which is its gate:
 * while nobody listens no table grows.
 *
 * weighted_bytes is size / p, p the chance that a block of that size is
 * sampled, its header word counted: its sums estimate the bytes asked for.
 *
 * .inv.once   One alloc at most for each allocation, whatever else samples it.
 * .inv.pair   A free follows an alloc of the same process, before the address
 *             can be another block's.  A realloc is a free and a new trial; one
 *             that fails fires the alloc of the old block again.
 * .inv.place  The arguments stand where a call's first three do. */
#ifndef ALQI_MEMPROF_PROBES_H
#define ALQI_MEMPROF_PROBES_H

#include "memprof/engine.h"

/* The domain's blocks fire from now on, until the process ends; one domain of
 * a notified heap.  rate: samples per word; at 1 every block fires, and weighs
 * its size.  Errors as of alq_memprof_start. */
ALQ_MUSTUSE enum alq_status
alqi_probes_start(struct alqi_memprof_domain *domain, double rate,
                  uint64_t seed);

/* In a forked child, after alqi_memprof_fork_child: the ends of the parent's
 * blocks are the parent's to run_alloc. */
void alqi_probes_fork_child(void);

#endif
