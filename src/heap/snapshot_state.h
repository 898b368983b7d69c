/* snapshot_state.h -- a snapshot under way: what the stop gathers, what the
 * copy has at hand [snapshot.h] */
#ifndef ALQI_HEAP_SNAPSHOT_STATE_H
#define ALQI_HEAP_SNAPSHOT_STATE_H

#include "heap/large.h"
#include "heap/pool_area.h"
#include "wire/dump.h"

struct alqi_heap_snapshot_more;

struct alqi_heap_snapshot_root {
    alq_value block;
    uintptr_t slot;              /* its address; 0: not known */
    const struct alq_site *site; /* of a frame; else NULL */
    const char *what;            /* of a range that has one; else NULL */
    const char *name;            /* beside it; NULL: none */
    uint64_t domain;             /* its id; 0: the heap's */
    enum alqi_dump_root kind;
};

enum { ALQI_HEAP_SNAPSHOT_ROOTS = 26000 };

/* 1 MiB of pages. */
struct alqi_heap_snapshot_chunk {
    struct alqi_heap_snapshot_chunk *next;
    size_t n;
    struct alqi_heap_snapshot_root roots[ALQI_HEAP_SNAPSHOT_ROOTS];
};

/* Custom operations that have a number, by address: open addressing. */
struct alqi_heap_snapshot_kinds {
    struct alqi_heap_snapshot_kind {
        const struct alq_custom_ops *ops; /* NULL: free */
        uint64_t number;
    } * places;
    size_t n_places; /* 0, or a power of two */
    size_t n_used;
    uint64_t next; /* number */
    const struct alq_custom_ops *last;
    uint64_t last_number; /* of the last one asked for; NULL: none yet */
};

/* Pages of its own.  The caller's; in the stop the leader's, which is the same
 * thread; in the copy the copy's. */
struct alqi_heap_snapshot {
    struct alqi_domain *leader;
    const struct alqi_heap_snapshot_more *more;
    int fd;
    bool in_stop;  /* no copy is wanted, or none could be made */
    bool is_copy;  /* this is the copy's */
    bool is_short; /* of memory */
    int error;     /* errno of the first write that failed; 0 */
    long copy_pid; /* 0: none */
    /* writes, by the copy; in a page that it shares (.inv.copy_moves) */
    _Atomic(uint32_t) *n_written;
    uint64_t began_ns;                      /* when the stop was asked for */
    struct alqi_heap_snapshot_chunk *roots; /* the latest first */
    struct alqi_heap_snapshot_kinds kinds;
    struct alqi_dump_encoder encoder;
};

/* Gathers the roots of all domains and of the heap. */
void alqi_heap_snapshot_roots_gather_stw(struct alqi_heap_snapshot *s);
/* In the copy, or in the stop. */
void alqi_heap_snapshot_roots_write(struct alqi_heap_snapshot *s);
void alqi_heap_snapshot_blocks_write_stw(struct alqi_heap_snapshot *s);

/* The block of the heap that the value leads to, or into; ALQ_NULL: none.  A
 * block that is dead and not yet found may hold what is no block any more: then
 * the answer may be none, too. */
static inline alq_value
alqi_heap_snapshot_target(const struct alqi_domain *d, alq_value v)
{
    const struct alqi_heap_area *area = &d->heap->area;

    if (!alq_is_block(v))
        return ALQ_NULL;
    if (alqi_heap_is_young(d, v))
        return alqi_heap_infix_block(v);
    if (alqi_heap_area_has(area, v))
        return alqi_heap_area_kind(area, v) != 0 ? alqi_heap_infix_block(v)
                                                 : ALQ_NULL;
    return alqi_heap_large_around_stw(d->heap, v);
}

#endif
