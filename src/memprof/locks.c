/* locks.c -- dbg and hard builds: each thread's held ranks, as one bit each
 *
 * Ranks up to SHARD have a bit of their own; all shards share one, since only
 * fork holds several and takes them in order. */
#include "memprof/locks.h"

#if ALQI_CHECKS >= 2

static _Thread_local uint64_t held __attribute__((tls_model("initial-exec")));
static _Thread_local unsigned top_shard
    __attribute__((tls_model("initial-exec")));

enum { BIT_SHARD = ALQI_RANK_SHARD, BIT_POOL = ALQI_RANK_SHARD + 1 };

static unsigned
bit_of(unsigned rank)
{
    if (rank >= ALQI_RANK_POOL)
        return BIT_POOL;
    return rank >= ALQI_RANK_SHARD ? BIT_SHARD : rank;
}

void
alqi_memprof_rank_push(unsigned rank)
{
    unsigned bit = bit_of(rank);

    if (bit == BIT_SHARD) {
        ALQI_ASSERT(held >> bit == 0 ||
                    (held >> bit == 1 && rank > top_shard)); /* .inv.rank */
        top_shard = rank;
    } else {
        ALQI_ASSERT(held >> bit == 0); /* .inv.rank */
    }
    held |= (uint64_t)1 << bit;
}

void
alqi_memprof_rank_pop(unsigned rank)
{
    held &= ~((uint64_t)1 << bit_of(rank));
}

void
alqi_memprof_rank_forget(void)
{
    held = 0;
}

#endif
