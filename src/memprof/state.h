/* state.h -- the engine's state: where each part of it is described
 *                                                     [doc/design/memprof.md]
 *     a thread       engine.h        its heap allocates it: whole for the heap
 *     a domain       domain_state.h  slots, threads, lists of entries
 *     old entries    old_state.h     the list in a domain that is longest
 *     a profile      profile.h       parameters, status, counters, cells
 *     an entry       entry.h         a sampled block of one profile
 *     its stack      entry.h         nodes, while the alloc callback waits
 *     a free node    pool.h          of entries and saved stacks
 *
 * There each field has its meaning, its unit, who writes it and when it is
 * valid.  The tables of the process (index, filter, pool, orphans, profiles,
 * domains) are static in the .c file of that name.  No heap includes this. */
#ifndef ALQI_MEMPROF_STATE_H
#define ALQI_MEMPROF_STATE_H

#include "memprof/domain_state.h"
#include "memprof/engine.h"
#include "memprof/entry.h"
#include "memprof/profile.h"

#endif
