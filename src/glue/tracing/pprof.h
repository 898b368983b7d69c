/* pprof.h -- what alq_pprof_start counts: sums of each call stack
 *                                                        [doc/design/fleet.md]
 *
 *   callbacks of a profile --> rows, one a call stack --> alq_pprof_write
 *
 * Keeps .inv.lock (doc/design/fleet.md): Rows, names and their maps are under
 *   the lock.  The writer takes it for a chunk of rows or one name at a time.
 * Keeps .inv.child: The process's number is looked at before the lock.
 * Keeps .inv.over: The struct stays until the process ends, without its tables.
 * Keeps .inv.same: Sums are whole numbers, and a block's datum has its row and
 *   its size. */
#ifndef ALQI_GLUE_TRACING_PPROF_H
#define ALQI_GLUE_TRACING_PPROF_H

#include <stdbool.h>
#include <sys/types.h>

#include <aliquot/pprof.h>

#include "base/map.h"
#include "glue/tracing/trace_names.h"
#include "plat/plat.h"
#include "stack/intern.h"

enum {
    ALQI_PPROF_NO_STACK = 0, /* rows: allocated without one, ... */
    ALQI_PPROF_OTHER = 1,    /* ... by stacks that are not told apart */
    ALQI_PPROF_FIRST = 2,
    ALQI_PPROF_OBJECT_BITS = 16, /* objects are counted in 2^-16, ... */
    ALQI_PPROF_BYTE_BITS = 8,    /* ... bytes in 2^-8 */
    ALQI_PPROF_CHUNK = 1024      /* rows */
};

struct alqi_pprof_sums {
    /* fixed point, as the enum says; the differences are alive */
    uint64_t alloc_objects;
    uint64_t alloc_bytes;
    uint64_t freed_objects;
    uint64_t freed_bytes;
};

struct alqi_pprof_row {
    struct alqi_pprof_sums sums;
    uint32_t stack; /* of stacks[is_native] */
    bool is_native; /* its frames are return addresses */
};

/* A profile that counts. pid, rate, log_miss, is_malloc and max_rows are set
 * before the first callback and stay; the rest is under the lock. */
struct alq_pprof {
    struct alqi_plat_lock lock;
    /* .inv.over */
    bool is_over;
    bool is_malloc;
    pid_t pid;
    /* samples a word */
    double rate;
    /* log of the chance that a word is not sampled */
    double log_miss;
    uint64_t start_mono_ns;
    struct alq_profile *profile;
    /* used, of max_rows */
    uint32_t n_rows;
    /* a stack beyond them counts as ALQI_PPROF_OTHER */
    uint32_t max_rows;
    /* by row / ALQI_PPROF_CHUNK; NULL: not made yet */
    struct alqi_pprof_row **chunks;
    struct alqi_base_map row_of_stack;  /* stack * 2 + is_native -> row */
    struct alqi_stack_table *stacks[2]; /* by is_native */
    struct alqi_glue_trace_names names; /* of frames that are no addresses */
    /* the next of all that were ever started */
    struct alq_pprof *older;
};

static inline struct alqi_pprof_row *
alqi_pprof_row_locked(const struct alq_pprof *p, uint32_t row)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_PPROF));
    return &p->chunks[row / ALQI_PPROF_CHUNK][row % ALQI_PPROF_CHUNK];
}

/* The call stack of a block that some pprof counts. */
struct alqi_pprof_stack {
    const struct alq_pprof *pprof;
    uint32_t row, stack; /* of stacks[is_native] */
    bool is_native;
};

/* By its tracker and its datum; false: of another tracker, or it has none. */
bool alqi_pprof_stack_of(const struct alq_tracker *tracker, uintptr_t datum,
                         struct alqi_pprof_stack *out);

/* Whether this process is the one that has started it. */
bool alqi_pprof_is_here(const struct alq_pprof *p);

#endif
