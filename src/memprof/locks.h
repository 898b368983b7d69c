/* locks.h -- the engine's locks and the one order in which they nest
 *
 * A thread that takes a lock is INSIDE (engine.h), so its own signal handlers
 * never want one.  No callback, no system call but the mapping of a first
 * page, and no second lock of a lower or equal rank is met under a lock
 * (.inv.rank, checked in dbg and hard builds).  Fork takes them all. */
#ifndef ALQI_MEMPROF_LOCKS_H
#define ALQI_MEMPROF_LOCKS_H

#include "base/base.h"
#include "plat/plat.h"

enum alqi_memprof_rank {
    ALQI_RANK_NONE,
    ALQI_RANK_DOMAINS,     /* the list of domains                         */
    ALQI_RANK_DOMAIN,      /* one domain: slots, threads, handed-over FIFO */
    ALQI_RANK_PROFILES,    /* the pool of profiles                        */
    ALQI_RANK_ORPHANS,     /* lists of ended domains                      */
    ALQI_RANK_FILTER_GROW, /* who grows the filter                        */
    ALQI_RANK_SHARD,       /* + its number: one shard of the index        */
    ALQI_RANK_POOL = 1024  /* the pool of nodes                           */
};

struct alqi_memprof_lock {
    struct alqi_plat_lock plat;
};

#if ALQI_CHECKS >= 2
void alqi_memprof_rank_push(unsigned rank);
void alqi_memprof_rank_pop(unsigned rank);
void alqi_memprof_rank_forget(void);
#else
static inline void
alqi_memprof_rank_push(unsigned rank)
{
    (void)rank;
}
static inline void
alqi_memprof_rank_pop(unsigned rank)
{
    (void)rank;
}
static inline void
alqi_memprof_rank_forget(void)
{
}
#endif

static inline void
alqi_memprof_lock(struct alqi_memprof_lock *lock, unsigned rank)
{
    alqi_memprof_rank_push(rank);
    alqi_plat_lock(&lock->plat);
}

static inline bool
alqi_memprof_lock_try(struct alqi_memprof_lock *lock, unsigned rank)
{
    if (!alqi_plat_lock_try(&lock->plat))
        return false;
    alqi_memprof_rank_push(rank);
    return true;
}

static inline void
alqi_memprof_unlock(struct alqi_memprof_lock *lock, unsigned rank)
{
    alqi_plat_unlock(&lock->plat);
    alqi_memprof_rank_pop(rank);
}

#endif
