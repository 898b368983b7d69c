/* rank.h -- the one table of locks and the order in which they nest
 *
 * A row is a lock or a group of equal locks: the rank's name and the lock.
 * Rows stand in the order of nesting.
 *
 * .inv.rank  A thread that holds a lock takes locks of later rows only.  Two
 *            locks of one row are never held together, but by a thread that
 *            takes the whole group, as fork does.
 *
 * A lock gets its rank where the lock is made (ALQI_PLAT_LOCK, plat/plat.h).
 * From chk on each thread records the ranks that it holds, and a lock taken out
 * of order ends the program with the names of both rows.  The check comes
 * before the wait, so a wrong order is found without the deadlock. */
#ifndef ALQI_BASE_RANK_H
#define ALQI_BASE_RANK_H

#include "base/base.h"

#define ALQI_RANKS(X)                                                          \
    X(NONE, "a lock without a rank, which is not checked")                     \
    /* glue: profiler and gc_trace call the heap and memprof */                \
    X(GLUE_RECORDER, "gc_trace.c recorder_lock: the recorder under way")       \
    X(GLUE_PROFILER, "profiler_heap.c profiler: the heap that is observed")    \
    /* preload */                                                              \
    X(PRELOAD_SERVER, "serve.c server: the control server's state")            \
    X(PRELOAD_SPAWNS, "spawn.c spawns: threads that are about to begin")       \
    X(PRELOAD_ORPHAN, "thread.c orphan: the state of threads without one")     \
    X(PRELOAD_THREADS, "thread.c threads: the list and the pool of states")    \
    /* memprof */                                                              \
    X(MEMPROF_DOMAINS, "domain.c domains: the list")                           \
    X(MEMPROF_DOMAIN, "state.h alqi_memprof_domain: slots, threads, queues")   \
    X(MEMPROF_PROFILES, "profile.c profiles: the pool")                        \
    X(MEMPROF_ORPHANS, "orphan.c orphans: entries of ended domains")           \
    X(MEMPROF_FILTER, "filter.c grow_lock: the filter's size")                 \
    X(MEMPROF_SHARD, "index.c shards: one shard of the index")                 \
    X(MEMPROF_POOL, "pool.c pool: nodes")                                      \
    /* preload: under these nothing but each other is taken; a handler that    \
     * interrupts the holder of any lock above may record */                   \
    X(PRELOAD_NODES, "nodes.c nodes: the table of call stacks, exact mode")    \
    X(PRELOAD_STREAMS, "stream.c streams: the pool; making the file")          \
    X(PRELOAD_FILE, "file.c file: growth of the recording")                    \
    /* glue: alq_fork takes these within fork(), under all of memprof's */     \
    X(GLUE_SERVER, "control.c server: the control server's state")             \
    X(GLUE_JOB, "control.c control: the job that waits for a domain")          \
    X(GLUE_TURN, "trace.c turn: the state of the trace under way")             \
    X(GLUE_TRACING, "tracing.h lock: a trace")                                 \
    X(GLUE_PPROF, "pprof.h lock: rows and names of a profile")                 \
    X(GLUE_TRACK, "gc_trace.c track: a domain's events")                       \
    X(GLUE_TRACK_FILE, "gc_trace.c file_lock: the recorder's file")            \
    X(GLUE_TRACE_FILE, "trace_file.c lock: the mark of a forked child")        \
    X(GLUE_NATIVE, "native.c lock: modules and their names")

#define ALQI_RANK_ROW(name, text) ALQI_RANK_##name,
enum alqi_rank { ALQI_RANKS(ALQI_RANK_ROW) ALQI_RANK_LIMIT };
#undef ALQI_RANK_ROW

#if ALQI_CHECKS >= 1

/* The calling thread is about to take a lock of this rank.  Checks .inv.rank.
 */
void alqi_base_rank_push_sigsafe(enum alqi_rank rank);
/* The same of a thread that takes each lock of a group. */
void alqi_base_rank_push_group_sigsafe(enum alqi_rank rank);
/* The calling thread has given the lock back.  A rank that the thread does not
 * hold is no error: a forked child frees what its parent's threads held. */
void alqi_base_rank_pop_sigsafe(enum alqi_rank rank);
/* In a child that forked inside of our locks: the thread holds none. */
void alqi_base_rank_forget_sigsafe(void);
/* Whether the calling thread holds a lock of this rank; for assertions, true
 * where nothing is recorded. */
bool alqi_base_rank_is_held_sigsafe(enum alqi_rank rank);

#else

static inline void
alqi_base_rank_push_sigsafe(enum alqi_rank rank)
{
    (void)rank;
}

static inline void
alqi_base_rank_push_group_sigsafe(enum alqi_rank rank)
{
    (void)rank;
}

static inline void
alqi_base_rank_pop_sigsafe(enum alqi_rank rank)
{
    (void)rank;
}

static inline void
alqi_base_rank_forget_sigsafe(void)
{
}

static inline bool
alqi_base_rank_is_held_sigsafe(enum alqi_rank rank)
{
    (void)rank;
    return true;
}

#endif

#endif
