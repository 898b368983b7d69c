/* weak_state.h -- weak references, finalisers, alarms: the part of a domain,
 * the part of the heap
 * [doc/design/heap.md] */
#ifndef ALQI_HEAP_WEAK_STATE_H
#define ALQI_HEAP_WEAK_STATE_H

#include <aliquot/final.h>
#include <aliquot/weak.h>

#include "base/base.h"
#include "base/map.h"

enum alqi_heap_weak_kind { ALQI_HEAP_WEAK, ALQI_HEAP_EPHE };
enum { ALQI_HEAP_WEAK_KINDS = 2 };

enum { ALQI_HEAP_WEAK_CHUNK = ALQI_CHECKS >= 3 ? 3 : 1018 };

/* Some weak blocks of one kind. */
struct alqi_heap_weak_chunk {
    struct alqi_heap_weak_chunk *next;
    struct alqi_heap_weak_chunk *prev;
    uint32_t n;  /* blocks */
    uint32_t lo; /* ephemerons from here up to hi may need their data marked */
    uint32_t hi;
    alq_value blocks[ALQI_HEAP_WEAK_CHUNK];
};

struct alqi_heap_weak_list {
    struct alqi_heap_weak_chunk *first;
    struct alqi_heap_weak_chunk *last;
};

/* A field of an old block that got a young value. */
struct alqi_heap_weak_field {
    alq_value block;
    uintptr_t field; /* index */
};

/* Where cleaning stands: what it keeps of the chunk moves from `from` down to
 * `to`; between them is nothing.  Of young arrays all are retained. */
struct alqi_heap_weak_cleaner {
    unsigned stage; /* the kind of old ones; then: young arrays */
    struct alqi_heap_weak_chunk *chunk; /* NULL: all is clean */
    uint32_t to;
    uint32_t from;
    uintptr_t field; /* of the block at `from` */
};

/* A waiter of a block is an ephemeron, or data with bit 1 set (an edge,
 * weak_ephe_wait.h), or the index of a link; ALQ_NULL: none. */
struct alqi_heap_ephe_place {
    alq_value block; /* ALQ_NULL: it is free */
    alq_value waiter;
};

struct alqi_heap_ephe_link {
    alq_value waiter; /* no index */
    alq_value next;   /* a waiter */
};

/* Which ephemerons wait for which keys to be marked: weak_ephe_wait.h.  Sizes
 * are entries that there is memory for. */
struct alqi_heap_ephe_waits {
    struct alqi_heap_ephe_place *places; /* hash table by block */
    size_t size; /* 0, or a power of two; anything once it shrinks */
    size_t places_bytes;
    size_t room;   /* for blocks, still */
    size_t n_left; /* ephemerons that were noted and still wait */
    bool is_open;  /* it may be asked (.inv.table) */
    bool is_short; /* of memory: it may not know of all that wait */
    struct alqi_heap_ephe_link *links; /* lists of waiters of one block */
    size_t n_links;
    size_t links_size;
    alq_value *data;
    size_t n_data; /* that waiters are to be looked for */
    size_t data_size;
};

/* Where a pass over the ephemerons stands (weak_ephe.c). */
struct alqi_heap_ephe_pass {
    struct alqi_heap_weak_chunk *chunk;
    uint32_t at;       /* the next one to look at; going backwards, behind it */
    uint32_t retained; /* the border of those that were seen and still wait */
    bool backwards;
    bool notes;          /* it notes what each waits for (weak_ephe_wait.h) */
    bool is_probing;     /* it turns round if the first ones all wait */
    bool is_held_up;     /* the one at hand may not wait, once all is marked */
    unsigned n_begun;    /* in this round */
    unsigned n_probed;   /* looked at while probing */
    unsigned n_ready;    /* of those looked at; valid while probing */
    bool is_done;        /* a pass has left nothing to do */
    uint64_t n_darkened; /* when the pass began */
};

struct alqi_heap_weak {
    struct alqi_heap_weak_list
        old[ALQI_HEAP_WEAK_KINDS]; /* blocks: .inv.listed */
    struct alqi_heap_weak_list young[ALQI_HEAP_WEAK_KINDS];
    struct alqi_heap_weak_field *fields; /* remembered: .inv.weak */
    size_t n_fields;
    size_t fields_size; /* fields that there is memory for */
    bool fields_lost; /* they could not grow: all old blocks are read instead */
    struct alqi_heap_ephe_pass pass;
    struct alqi_heap_ephe_waits waits;
    struct alqi_heap_weak_cleaner cleaner;
    uint64_t n_darkened;        /* blocks that only weak references led to */
    uint64_t n_darkened_before; /* this round of passes */
    uint64_t n_emptied;         /* references to blocks that died */
};

struct alqi_heap_final_entry {
    alq_value value; /* in `todo`: the argument of the call */
    alq_value with;
    alq_finalise_fn *fn;
};

enum alqi_heap_final_kind { ALQI_HEAP_FINAL_FIRST, ALQI_HEAP_FINAL_LAST };

/* In the order of registration, from `first` on, but for what has waited for a
 * pinned block; from n_old on `value` or `with` may be young.  A pass (final.h)
 * goes down from n_old: it has not come to what is before `from`, and what it
 * leaves is from `to` on; between them is nothing. When none is under way all
 * three are the same.
 *
 * .inv.pass  first <= from <= to <= n_old <= n <= size.  Each value that FIND
 *            has noted is taken by the pass of RESURRECT. */
struct alqi_heap_final_table {
    struct alqi_heap_final_entry *entries;
    size_t first;
    size_t from;
    size_t to;
    size_t n;
    size_t n_old;
    size_t size;
};

/* A domain's own, or those it took over from one that ended.
 * .inv.place  `todo` has room for all that the tables hold. */
struct alqi_heap_final {
    struct alqi_heap_final *next;
    struct alqi_heap_final_table tables[2];
    size_t n_found;                     /* of the first kind: to be retained */
    struct alqi_heap_final_entry *todo; /* calls that are due, in order */
    size_t todo_first;
    size_t todo_end;
    size_t todo_size;
};

struct alqi_heap_weak_phase {
    struct alqi_heap_weak weak;
    struct alqi_heap_final *finals; /* the first one is the domain's own */
    struct alq_alarm *alarms;       /* in the order of creation */
    struct alq_alarm **alarms_end;
    struct alq_alarm **alarm_next;   /* is looked at next; NULL: none is due */
    unsigned n_calls;                /* on the stack: finalisers and alarms */
    unsigned n_in_alarms;            /* of them: of alarms */
    const struct alq_thread *caller; /* runs the call that has not released;
                                      * NULL: a call may begin (.inv.calls) */
    bool want_calls;                 /* some are due, and one may begin */
};

/* How far marking has come (weak_phase.h). */
enum alqi_heap_weak_phase_step {
    ALQI_HEAP_WEAK_PHASE_MARK,
    ALQI_HEAP_WEAK_PHASE_EPHE,
    ALQI_HEAP_WEAK_PHASE_FIND,
    ALQI_HEAP_WEAK_PHASE_RESURRECT,
    ALQI_HEAP_WEAK_PHASE_AGAIN,
    ALQI_HEAP_WEAK_PHASE_CLEAN,
    ALQI_HEAP_WEAK_PHASE_DONE
};

/* The heap's; the step changes in stops. */
struct alqi_heap_weak_phase_common {
    enum alqi_heap_weak_phase_step step;
    uint32_t n_found;          /* values to keep for their finalisers */
    uint64_t n_darkened_ended; /* in this round, by domains that ended */
    uint64_t n_emptied_ended;
    uint64_t n_emptied_before; /* EPHE, by all */
};

#endif
