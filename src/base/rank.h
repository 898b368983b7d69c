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
 * A guard of a program (glue/api/guard.c) has none: the program holds it over
 * calls of its own.  Nor has the turn of a domain's thread, held as long as the
 * thread runs the domain: a thread that waits for it polls, which has the
 * rank of a stop.  Waits for words that another thread is about to store, as
 * in a promotion, are no locks.
 * From chk on each thread records the ranks that it holds, and a lock taken out
 * of order ends the program with the names of both rows.  The check comes
 * before the wait, so a wrong order is found without the deadlock. */
#ifndef ALQI_BASE_RANK_H
#define ALQI_BASE_RANK_H

#include "base/base.h"

#define ALQI_RANKS(X)                                                          \
    X(NONE, "a lock without a rank, which is not checked")                     \
    X(HEAP_STARTS, "domain.c starts: no user of the heap comes")               \
    /* glue: gc_trace calls the heap */                                        \
    X(GLUE_RECORDER, "gc_trace.c recorder_lock: the recorder under way")       \
    /* heap: a stop is a row, too: a thread that waits for one, or parks in    \
     * one, holds no lock of a later row: the stop's work takes those */       \
    X(HEAP_STOP, "stop.c lock: a stop of the world; a domain that starts")     \
    X(HEAP_NOGC, "stop.h nogc: a section in which nothing is collected")       \
    X(HEAP_OPENING, "minor_state.h room_lock: memory for a minor heap")        \
    X(HEAP_STALE, "root_stale.c look_lock: the look at a stack, hard")         \
    /* glue: a program may fork in a stop, and fork takes it; it calls memprof \
     */                                                                        \
    X(GLUE_PROFILER, "profiler_heap.c profiler: the heap that is observed")    \
    /* preload */                                                              \
    X(PRELOAD_GOT,                                                             \
      "got.c got: a walk over the modules; only tried in samples")             \
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
    /* stack: callbacks of new modules write to the recording under it */      \
    X(STACK_RULES, "unwind_rules.c table: rules and modules")                  \
    /* preload: under these nothing but each other is taken; a handler that    \
     * interrupts the holder of any lock above may record */                   \
    X(PRELOAD_NODES, "nodes.c nodes: the table of call stacks, exact mode")    \
    X(PRELOAD_PYTHON, "python.c table: names of Python code")                  \
    X(PRELOAD_POOLS, "pool.c pools: sets of blocks of pools")                  \
    X(PRELOAD_POOL_NAMES, "pool_name.c names: names of pools")                 \
    X(PRELOAD_STREAMS, "stream.c streams: the pool; making the file")          \
    X(PRELOAD_FILE, "file.c file: growth of the recording")                    \
    /* heap: fork takes the first two, under all of memprof's; roots are       \
     * visited under that of globals, and promotion takes the later ones */    \
    X(HEAP_USERS, "domain.c lock: the heap and its users")                     \
    X(HEAP_EVENTS, "event_state.h listeners: slots, pauses of ended domains")  \
    X(HEAP_GLOBALS, "root.c common_lock: globals and transfer roots")          \
    X(OCAML_GLOBALS, "ocaml/roots.c globals_lock: OCaml's global roots")       \
    X(HEAP_PINS, "pin_state.h pins: pins and retained blocks")                 \
    X(HEAP_LARGE, "large_state.h large: index and overflowed large blocks")    \
    X(HEAP_QUEUE, "work_queue.h queue: ranges of work, and idle workers")      \
    X(HEAP_POOLS, "pool_state.h area: free pools")                             \
    /* limit: fork takes it under the heap's */                                \
    X(LIMIT_TIMER, "timer.c timer: frames that have a deadline")               \
    /* glue: fork takes the first two, under all others that it takes */       \
    X(GLUE_SERVER, "control.c server: the control server's state")             \
    X(GLUE_JOB, "control.c control: the job that waits for a domain")          \
    X(GLUE_TURN, "trace.c turn: the state of the trace under way")             \
    X(GLUE_TRACING, "tracing.h lock: a trace")                                 \
    X(GLUE_PPROF, "pprof.h lock: rows and names of a profile")                 \
    X(GLUE_TRACK, "gc_trace.c track: a domain's events")                       \
    X(GLUE_TRACK_FILE, "gc_trace.c file_lock: the recorder's file")            \
    X(GLUE_NATIVE, "native.c lock: modules and their names")                   \
    X(STACK_INTERN, "intern.c table: a table of call stacks")                  \
    X(OCAML_POOL, "ocaml/memory.c pool: C blocks that OCaml's exit frees")

/* Priorities of constructors that register handlers of fork: those that are
 * registered last take their locks first, so this is the order of rows
 * backwards. */
enum {
    ALQI_FORK_SERVER = 101,
    ALQI_FORK_TIMER,
    ALQI_FORK_HEAP,
    ALQI_FORK_PROFILER
};

#define ALQI_RANK_ROW(name, text) ALQI_RANK_##name,
enum alqi_rank { ALQI_RANKS(ALQI_RANK_ROW) ALQI_RANK_LIMIT };
#undef ALQI_RANK_ROW

#if ALQI_CHECKS >= 1

/* The calling thread is about to take a lock of this rank.  Checks .inv.rank.
 */
void alqi_base_rank_push_sigsafe(enum alqi_rank rank);
/* The calling thread, which takes every lock of a group, is about to take one
 * of this rank.  Checks .inv.rank. */
void alqi_base_rank_push_group_sigsafe(enum alqi_rank rank);
/* The calling thread has taken a lock of this rank by a try, in any order: a
 * try that fails is given up after a while. */
void alqi_base_rank_note_sigsafe(enum alqi_rank rank);
/* The calling thread has given the lock back.  A rank that the thread does not
 * hold is no error: a forked child frees what its parent's threads held. */
void alqi_base_rank_pop_sigsafe(enum alqi_rank rank);
/* In a child that forked inside of our locks: the thread holds none.  The fork
 * may have come in a handler, and what it interrupted goes on as if it held
 * its lock: from here on is_held says yes. */
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
alqi_base_rank_note_sigsafe(enum alqi_rank rank)
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
