/* probes.h -- sampled blocks as USDT probes otel_memory:alloc and :free
 *
 *   otel_memory:alloc(ptr, size, weighted_bytes)   a sampled allocation
 *   otel_memory:free(ptr)                          the end of one that fired
 *
 * A client of the engine whose callbacks fire the probes.  The semaphore of
 * `alloc`, which a tracer raises, is the client's gate: while no tracer listens
 * the client makes no entries.
 *
 * weighted_bytes is size / p, where p is the chance that a block of that size
 * has a sample, header word counted: its sums estimate the bytes asked for.
 *
 * .inv.fire  At most one alloc for each allocation, whatever else samples it.
 * .inv.pair  A free follows an alloc of the same process, before the address
 *            can be another block's.  A realloc is a free and a new trial; a
 *            realloc that fails fires the alloc of the old block again.
 * .inv.args  The arguments stand in the registers of a call's first three. */
#ifndef ALQI_MEMPROF_PROBES_H
#define ALQI_MEMPROF_PROBES_H

#include "memprof/engine.h"

/* Starts firing for the domain's blocks, until the process ends; one domain of
 * a notified heap.  rate: samples per word; at 1 every block fires, and its
 * weight is its size.  Errors as of alq_memprof_start. */
ALQ_MUSTUSE enum alq_status
alqi_probes_start(struct alqi_memprof_domain *domain, double rate,
                  uint64_t seed);

/* In a forked child, after alqi_memprof_fork_child: the parent fires the ends
 * of its own blocks. */
void alqi_probes_fork_child(void);

#endif
