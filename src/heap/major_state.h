/* major_state.h -- the major cycle: its phase, marking, sweeping, compaction
 * and pacing; of a domain, then of the heap */
#ifndef ALQI_HEAP_MAJOR_STATE_H
#define ALQI_HEAP_MAJOR_STATE_H

#include "heap/colour.h"
#include "heap/major_smooth.h"
#include "heap/pool_state.h"
#include "heap/work_queue.h"

struct alqi_heap_orphan;
struct alqi_domain;
struct alqi_heap_stop_work;

enum alqi_heap_phase {
    ALQI_HEAP_SWEEP, /* the dead are garbage: colour.h */
    ALQI_HEAP_SWEPT, /* marking begins once nothing is young */
    ALQI_HEAP_MARK   /* what is reached gets the marked colour */
};

/* ---- a domain's; its holder writes --------------------------------------- */

struct alqi_heap_marker {
    struct alqi_heap_range *stack; /* the mark stack: grey ranges of fields */
    size_t n;
    size_t size;                    /* ranges that there is memory for */
    size_t size_max;                /* beyond it the stack overflows */
    uintptr_t ring[ALQI_HEAP_RING]; /* prefetch queue: blocks to be marked */
    unsigned ring_first;
    unsigned ring_n;
    struct alqi_heap_orphan *inherited; /* mark stacks of ended domains */
    bool overflowed;      /* a pool or large block is marked to be recovered */
    bool is_recovering;   /* these are being read again */
    bool is_free;         /* the domain's own thread works: it alone reads */
    size_t recovery_pool; /* index at which recovery goes on */
};

struct alqi_heap_sweeper {
    struct alqi_heap_lists lists[2][ALQI_HEAP_CLASSES]; /* [1]: no_scan */
    unsigned kind; /* sweeping goes on with lists[kind][size_class] */
    unsigned size_class;
    uint64_t found_words; /* free in pools that this cycle has swept */
};

struct alqi_heap_moves {            /* of a compaction, and valid in it alone */
    struct alqi_heap_pool *emptied; /* pools whose blocks have moved */
    uint64_t moved_words;
};

/* In words, of work or of allocation. */
struct alqi_heap_pace {
    uint64_t counted_words; /* allocated, as last added to the heap's */
    uint64_t paid_words;    /* allocated; the work for them is in debt_words */
    uint64_t seen_work;     /* of all work done, what is taken off the debt */
    double debt_words;      /* of work that is due; negative: done ahead */
    double overdue_words;   /* of it, due when the minor heap was opened */
    uintptr_t step_bytes;   /* young allocation between two slices */
    double used_share;      /* of the minor heap that was closed last; 0 to 1 */
    struct alqi_heap_smooth smooth;
    uint64_t direct_since_slice; /* words allocated old */
    uint64_t trimmed_in;         /* number of the cycle that trimmed last */
    bool forces_mark;            /* this slice may begin to mark early */
};

/* ---- the heap's ---------------------------------------------------------- */

/* Changes in stops, but for what is atomic. */
struct alqi_heap_cycle {
    unsigned goal;       /* of the stop that runs: GOAL_... of major_cycle.c */
    unsigned n_wanted;   /* cycles that it has to complete */
    bool is_mark_forced; /* it begins to mark, due or not */
    uint32_t n_busy;     /* atomic; domains and orphans that are not `done`
                          * with the phase's work: .inv.todo.  Where no work is
                          * left a stop looks again: .pair.alone */
    struct alqi_heap_colours colours; /* rotate */
    enum alqi_heap_phase phase;
    uint64_t n;        /* cycles that have ended; read at any time */
    unsigned slice_us; /* a slice ends then, unless the cycle is late; 0: no
                        * bound */
};

struct alqi_heap_pace_common {
    uint64_t counted_words; /* atomic; allocated by all domains */
    uint64_t heap_words;    /* atomic; likewise without cost of custom blocks */
    uint64_t heap_before;   /* heap_words when marking began */
    uint64_t live_words;    /* estimate of the last marking */
    uint64_t marking_began; /* counted_words then */
    uint64_t marked_before; /* words marked before this marking */
    uint64_t weak_words;    /* work of the last weak phase */
    uint64_t weak_before;   /* work of weak phases before this one */
    uint64_t late_at;       /* counted_words from which the phase is late */
    double rate;            /* words of work for each allocated word */
    uint64_t passed_words;  /* atomic; debts that idle domains have given up */
};

/* Load balancing in marking and sweeping: major_balance.h. */
struct alqi_heap_balance {
    struct alqi_heap_queue queue; /* work that domains have given away */
    unsigned n_working; /* domains with work when the phase began; 0: the phase
                         * has no balancing */
};

struct alqi_heap_compact {
    bool is_asked;           /* by the leader of this stop */
    bool is_due;             /* sweeping has left more than max_overhead */
    uint64_t allocated_then; /* words, when sweeping began */
    bool was_asked;          /* the compaction that runs was asked for */
    size_t used_before;      /* pools in use when it began */
    uint64_t n;              /* compactions that have ended */
    /* Called when the compaction has ended; returns the stop's next step. */
    const struct alqi_heap_stop_work *(*after)(struct alqi_domain *self);
};

#endif
