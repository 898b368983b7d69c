/* state.h -- what the collector knows                      [doc/design/heap.md]
 *
 * A domain's data are touched by the thread that holds it alone (.inv.own). */
#ifndef ALQI_HEAP_STATE_H
#define ALQI_HEAP_STATE_H

#include <aliquot/gc.h>
#include <aliquot/heap.h>
#include <aliquot/root.h>

#include "base/base.h"
#include "base/map.h"
#include "heap/weak_state.h"
#include "heap/work_queue.h"
#include "heap/minor_workers.h"
#include "heap/limit_trigger.h"
#include "heap/observe.h"
#include "heap/major_smooth.h"
#include "heap/event_state.h"
#include "plat/plat.h"

/* The heap's own reads and writes of blocks, whatever the program keeps in
 * them. */
typedef alq_value __attribute__((may_alias)) alqi_heap_word;

enum {
    ALQI_HEAP_CHUNK_BYTES = 32768, /* of minor heaps; also a pool */
    ALQI_HEAP_POOL_BYTES = 32768,
    ALQI_HEAP_POOL_SHIFT = 15,
    ALQI_HEAP_POOL_WORDS = 4096,
    ALQI_HEAP_POOL_HEAD_WORDS = 4,
    ALQI_HEAP_DOMAINS_MAX = 128,
    ALQI_HEAP_CLASSES = 36,
    ALQI_HEAP_CLASS_WORDS_MAX = ALQ_SMALL_WOSIZE_MAX + 1,
    ALQI_HEAP_WORKER_POOLS = /* of who empties minor heaps: one of each kind */
    2 * ALQI_HEAP_CLASSES,
    ALQI_HEAP_RING = 128 /* blocks whose headers are on their way */
};

/* What is written over blocks that are gone. */
#define ALQI_HEAP_POISON ((alqi_heap_word)0xD7D7D7D7D7D7D7D6)

#define ALQI_HEAP_MINOR_BYTES_MAX ((uintptr_t)32 << 20)

/* Forces rare events: hard builds. */
#define ALQI_HEAP_IS_HARD (ALQI_CHECKS >= 3)

#define ALQI_HEAP_COLOUR_MASK ((uintptr_t)3 << ALQ_COLOUR_SHIFT)
#define ALQI_HEAP_COLOUR_STATIC ALQI_HEAP_COLOUR_MASK

/* A pool: slots of one size, those in use with their header first.  A free slot
 * has header 0.  Free neighbours make a range; its second word says where the
 * next range begins and how many slots this one has. */
struct alqi_heap_pool {
    struct alqi_heap_pool *next; /* in one list, or none */
    uint32_t first_range;        /* in words from the pool's start; 0: none */
    uint32_t n_free;             /* slots, when last swept                  */
    uintptr_t cleared;           /* of a free pool: class + 1 whose slots have
                                  * header 0                                */
    uint64_t held_in;            /* compaction in which nothing in it moves */
};

enum { ALQI_HEAP_LARGE_LINK_WORDS = 3 };

struct alqi_heap_large {
    struct alqi_heap_large *next;
    struct alqi_heap_large *overflow_next;
    uintptr_t rescan; /* marked, but not its fields: it is in a list */
    uintptr_t header;
    alqi_heap_word fields[];
};

/* Where promotion puts the next blocks of a class: a range of its pool. */
struct alqi_heap_lab {
    uintptr_t next;
    uintptr_t end;
    uintptr_t scan;    /* behind it, fields may point to young blocks */
    uintptr_t counted; /* words up to here are in the counts */
    struct alqi_heap_pool *pool;
};

/* Pools of a class; a run's is in no list. */
struct alqi_heap_lists {
    struct alqi_heap_pool *avail; /* with free slots */
    struct alqi_heap_pool *full;
    struct alqi_heap_pool *unswept; /* were avail or open */
    struct alqi_heap_pool *unswept_full;
    bool disordered; /* avail has pools that pool_policy.h has not seen */
};

struct alqi_heap_orphan;

struct alqi_heap_marker {
    struct alqi_heap_range *stack;
    size_t n;
    size_t size;
    size_t size_max;
    uintptr_t ring[ALQI_HEAP_RING];
    unsigned ring_first;
    unsigned ring_n;
    struct alqi_heap_orphan *inherited; /* stacks of domains that ended */
    bool overflowed;    /* some pool or large block has its rescan bit */
    bool is_recovering; /* these are being read */
    bool is_free;       /* its own thread did its share; that alone looks */
};

struct alqi_heap_remembered {
    alqi_heap_word **fields;
    size_t n;
    size_t size;
    size_t enough; /* fields: rather collect the minor heap */
    bool lost;     /* it could not grow: the whole heap is read instead */
};

/* pin.h */
struct alqi_heap_pin {
    alq_value value;
    uintptr_t count;
};

/* A young block that stays where it is. */
struct alqi_heap_retained {
    alq_value block;
    uintptr_t header;     /* what stood there, during a collection  */
    alqi_heap_word first; /* likewise                              */
    uint64_t cost_words;  /* custom.h                               */
    bool is_custom;       /* to be charged for, finalised           */
};

struct alqi_heap_pins {
    struct alqi_plat_lock lock; /* of all, outside of stops */
    struct alqi_base_map index; /* of blocks in `entries`   */
    struct alqi_heap_pin *entries;
    size_t n;
    size_t size;
    struct alqi_heap_retained *retained; /* in the order of addresses */
    size_t n_retained;
    struct alqi_heap_retained *next; /* as this collection leaves them */
    size_t n_next;
    size_t retained_size; /* of both */
    size_t n_stack_words; /* room for what so many lead to: root_stack.h */
    struct alqi_heap_remembered fields;
    bool is_collecting;
};

/* root_stack.h: of threads that are scanned conservatively. */
struct alqi_heap_stacks {
    uint32_t n; /* threads; atomic, changes under the pins' lock    */
    uint64_t
        *ambiguous_bits; /* a bit for each young word; NULL: there was none  */
    uint64_t
        n_ambiguous; /* words that led to a minor heap, in this collection */
};

enum alqi_heap_phase {
    ALQI_HEAP_SWEEP, /* new blocks are UNMARKED                   */
    ALQI_HEAP_SWEPT, /* marking begins at the next empty minor heap */
    ALQI_HEAP_MARK   /* new blocks are MARKED                     */
};

/* Of a domain: who may touch its collector's data (.inv.own). */
enum alqi_heap_domain_state {
    ALQI_HEAP_VACANT,      /* there is no domain                          */
    ALQI_HEAP_STARTING,    /* who holds the lock of stops sets it up      */
    ALQI_HEAP_RUNNING,     /* the thread that runs it, no other           */
    ALQI_HEAP_PARKED,      /* in a stop: who claimed its share            */
    ALQI_HEAP_BLOCKING,    /* nobody                                      */
    ALQI_HEAP_HELD,        /* who took it, or in a stop, as PARKED          */
    ALQI_HEAP_HELD_WANTED, /* as HELD; its thread sleeps until it is RUNNING */
    ALQI_HEAP_ENDING       /* its thread, which hands everything over     */
};

struct alqi_heap_stop_work;

/* Stopping the world: stop.h.  Words that are slept on are futexes. */
struct alqi_heap_stop {
    uint32_t lock;      /* of the leader, or of who starts a domain: 0 free, 1
                           held, 2 and somebody may sleep */
    uint32_t request;   /* a stop is asked for                              */
    uint32_t seq;       /* number of the stop asked for last                */
    uint32_t go;        /* of the one that began last                       */
    uint32_t over;      /* of the one that ended last                       */
    uint32_t arrived;   /* the leader sleeps on it, and alone clears it     */
    uint32_t n_inside;  /* participants                                    */
    uint32_t n_workers; /* of them, those that take shares of limited steps */
    uint32_t workers;   /* who asked, besides the leader                    */
    uint32_t inside;    /* of them, those that have not finished           */
    uint32_t next;      /* share that is handed out next                   */
    uint32_t claimed;   /* the share that is the heap's own                */
    uint32_t waiting;   /* at the end of a step                            */
    uint32_t turn;      /* steps that have ended                           */
    struct alqi_domain *leader;
    const struct alqi_heap_stop_work *step; /* NULL: the last has ended */
};

struct alqi_heap_area {
    struct alqi_plat_lock lock;
    uintptr_t young_base; /* the whole reservation begins here */
    uintptr_t young_bytes;
    uintptr_t major_base;
    uintptr_t major_bytes;
    uint8_t *kinds;              /* a byte a pool: pool_area.h */
    size_t n_frontier;           /* pools that were ever used        */
    size_t n_committed;          /* pools that may be accessed       */
    struct alqi_heap_pool *free; /* of those below the frontier */
    size_t n_free;               /* the returned ones too */
    uint32_t *returned;          /* free, their memory the system's: indices */
    size_t n_returned;
    size_t n_surplus; /* still to be returned */
    size_t n_least;   /* free pools with memory, the fewest: pool_area.h */
    size_t n_used;
    size_t n_promised;  /* to minor heaps and who empties them: major_cycle.c */
    intptr_t increment; /* struct alq_gc_control */
    bool force_huge;    /* H=1 */
    uint64_t n_huge_fallbacks;
};

/* ALIQUOTPARAM; each value within its range.  Changes in stops. */
struct alqi_heap_tuning {
    struct alq_gc_control control; /* minor_heap_size: of new domains */
    intptr_t initial_words;
    intptr_t domains_max;
    intptr_t force_huge;
    intptr_t verify;      /* at the end of each cycle */
    intptr_t cleans_up;   /* when the process exits   */
    intptr_t warns;       /* leak_report.h               */
    intptr_t record_log2; /* words of a recording's buffer:
                             glue/tracing/gc_trace.c */
    bool has_minor_words; /* ALIQUOTPARAM says them */
};

/* Of all domains, and those that ended: stat.h. */
struct alqi_heap_sums {
    struct alq_gc_counts counts;
    uint64_t slack_words;
    uint64_t cost_words;
    uint64_t live_words;
};

/* major_pace.h; all in words, of work or of allocation. */
struct alqi_heap_pace {     /* a domain's */
    uint64_t counted_words; /* its allocation, as counted last      */
    uint64_t paid_words;    /* words allocated whose work is in debt */
    uint64_t seen_work;     /* work that is taken off the debt      */
    double debt_words;      /* negative: done ahead                 */
    double overdue_words;   /* of it: when the minor heap was opened */
    uintptr_t step_bytes;   /* of young allocation between slices   */
    double used_share;      /* of the minor heap that was closed last */
    struct alqi_heap_smooth smooth;
};

struct alqi_heap_pace_common {
    uint64_t counted_words; /* allocated by all, as counted last; atomic */
    uint64_t heap_words;    /* likewise, but for what customs hold  */
    uint64_t heap_before;   /* heap_words when marking began        */
    uint64_t live_words;    /* as the last marking found, about     */
    uint64_t marking_began; /* words allocated until then           */
    uint64_t marked_before; /* words marked until then              */
    uint64_t weak_words;    /* of work, in the last marking: weak_phase.h */
    uint64_t weak_before;   /* likewise, until it began             */
    uint64_t late_at;       /* words allocated: the phase is late   */
    double rate;            /* work for each allocated word         */
    uint64_t passed_words;  /* debts of those without work; atomic */
};

/* minor_size.h: the size of minor heaps. */
struct alqi_heap_minor_size {
    uintptr_t bytes;   /* what minor heaps are opened with */
    uintptr_t settled; /* while another size is tried: the one before; or 0 */

    /* This window. */
    unsigned n_collections;
    uint64_t minor_words;
    uint64_t promoted_words;
    double pauses_words; /* likewise, by those who shared the work: each's */

    /* Of the settled size. */
    double survival;    /* promoted words of an allocated one */
    double pause_words; /* promoted in a collection           */

    unsigned wait;     /* windows until the next try              */
    unsigned wait_max; /* doubles with each try that changes nothing */
    bool tried_half;
    unsigned up; /* how far up the next try is: one doubling, or several */
};

/* major_compact.h */
struct alqi_heap_compact {
    bool is_asked;           /* by who leads this stop                   */
    bool is_due;             /* sweeping has left more than max_overhead */
    uint64_t allocated_then; /* when sweeping began                      */
    bool was_asked;          /* the compaction that runs                 */
    size_t used_before;      /* pools                                    */
    const struct alqi_heap_stop_work *(*after)(struct alqi_domain *self);
};

/* Large blocks by where they begin: large.c. */
struct alqi_heap_large_index {
    struct alqi_base_map starts;
    uint32_t n[64];  /* of each order of size */
    uint64_t orders; /* that there are: a bit for each */
    uintptr_t least; /* no block is out of this range; it only grows */
    uintptr_t most;
};

struct alqi_heap {
    struct alqi_heap_area area;
    struct alqi_heap_stop stop;
    struct alqi_domain *domains[ALQI_HEAP_DOMAINS_MAX]; /* until it ends */
    unsigned n_slots;       /* of them, those that were ever used */
    unsigned domains_max;   /* refused beyond that                */
    unsigned goal;          /* of the stop that runs: major_cycle.c           */
    unsigned cycles_wanted; /* before it ends                           */
    bool is_mark_forced;
    uintptr_t young_left;    /* minor_quota.h; atomic    */
    size_t promised_left;    /* pools, to minor heaps of domains that ended   */
    bool has_young;          /* some minor heap is not empty               */
    uint64_t n_minors;       /* collections of all domains together        */
    uint64_t n_local_minors; /* by a domain alone; atomic: minor_local.h */
    bool has_escaped;        /* atomic: .inv.private                       */
    bool is_shared; /* young memory, as it looks: minor_escape.h, minor_quota.h
                     */
    struct alqi_plat_lock room_lock; /* who opens a minor heap          */
    unsigned n_users; /* domains, and those about to start: domain.c */
    bool has_begun;   /* its first domain is there; atomic             */
    bool is_lost;     /* a forked process without the threads: all calls fail */
    uint32_t todo;    /* domains that are not `done` with the phase's work */
    struct alqi_heap_orphan *orphans;
    struct alqi_heap_sums ended;        /* counts of those adopted */
    struct alqi_heap_sums sums_at_stop; /* of all, in the last stop */
    uint64_t n_cycles;
    uint64_t n_compactions;
    struct alqi_heap_compact compact;
    uint64_t top_words;                 /* the most that it had: stat.h */
    struct alqi_heap_workers workers;   /* of the minor collection */
    struct alqi_heap_queue shared_work; /* work of the phase: major_balance.h */
    unsigned n_working;    /* domains, when it began; 0: it has none */
    bool is_remember_lost; /* somebody's set; atomic  */

    struct alqi_plat_lock large_lock;
    struct alqi_heap_large_index large_index;
    uintptr_t large_bytes;
    uintptr_t n_large;
    struct alqi_heap_large *large_overflowed; /* to be read again */

    struct alq_global *globals; /* root.c has the lock of these */
    struct alqi_heap_transfer_root *transfer_roots;
    uintptr_t marked; /* colours, in place */
    uintptr_t unmarked;
    uintptr_t garbage;
    enum alqi_heap_phase phase;
    struct alqi_heap_weak_phase_common weak_phase;
    struct alqi_heap_pace_common pace;
    struct alqi_heap_minor_size minor_size; /* of those collected together */
    struct alqi_heap_pins pins;
    struct alqi_heap_stacks stacks;
    struct alqi_heap_tuning tuning;
    unsigned slice_us;  /* a slice is cut then, unless it is late */
    size_t limit_bytes; /* SIZE_MAX: none */
    size_t reserve_bytes;
    size_t wanted_bytes; /* atomic: minor heaps leave room for them; alloc.c */

    struct alqi_heap_listeners listeners;
    struct alqi_heap_observer observer;
};

/* What a domain that ended has left.  The list is a stack: one is pushed by
 * compare and swap, all are taken, in stops alone. */
struct alqi_heap_orphan {
    struct alqi_heap_orphan *next;
    struct alqi_heap_lists lists[2][ALQI_HEAP_CLASSES];
    struct alqi_heap_large *large;
    struct alqi_heap_large *large_unswept;
    struct alqi_heap_range *stack; /* of its marker */
    size_t n_stack;
    size_t stack_size;
    struct alqi_heap_orphan *inherited; /* by that domain */
    bool overflowed;
    bool done; /* else it counts in `todo` */
    struct alqi_heap_sums sums;
    struct alqi_heap_weak_list weak[ALQI_HEAP_WEAK_KINDS];
    bool weak_fields_lost; /* some hold retained blocks */
    struct alqi_heap_final *finals;
};

enum { ALQI_HEAP_BOXES = ALQI_CHECKS >= 1 ? 501 : 510 };

/* A page of boxed roots; a free one holds the next free one's address + 1. */
struct alqi_heap_boxes {
    struct alqi_heap_boxes *next;
    uintptr_t may_be_young;
#if ALQI_CHECKS >= 1
    const struct alqi_heap_roots *owner;
    uint64_t used[8]; /* a bit for each root that is not free */
#endif
    struct alq_root roots[ALQI_HEAP_BOXES];
};

struct alqi_heap_roots {
    struct alq_range *ranges;
    struct alq_scanner *scanners;
    struct alqi_heap_boxes *boxes;
    uintptr_t free_box; /* 0, or the address + 1 */
};

/* A thread of a domain, which runs it now or waits. */
struct alq_thread {
    struct alqi_domain *domain;
    struct alq_frame *frames; /* while it does not run the domain */
    enum alq_status status;   /* likewise                         */
    const struct alqi_heap_limit_trigger_hooks
        *limit_trigger; /* NULL: it has none   */
    void *limit_trigger_arg;
    struct alqi_heap_stack *stack; /* NULL: it has precise roots alone */
    uint32_t limit_trigger_held;   /* within so many of the heap's calls */
    struct alq_thread *next;       /* the domain's                     */
    struct alq_thread **link;
    void *observer;      /* observe.h: the client's own state of it */
    uint32_t blocks;     /* atomic: it has begun a section, and not ended it */
    uintptr_t stack_end; /* root_stale.h: where the thread that it is may look
                            up to when it has come back */
    bool has_left;
};

/* domain_thread.h: one at a time runs the domain. */
struct alqi_heap_threads {
    uint32_t held;    /* the domain has a thread that runs it; a futex */
    uint32_t waiting; /* threads that want it                          */
    uint32_t turns;   /* times that one got it; a futex                */
    uint32_t yielding;
    struct alq_thread *running; /* NULL: none */
    struct alq_thread *all;
    struct alq_thread first; /* the one that began it */
    bool is_spawned;         /* it ends when a function of its returns */
};

/* custom.h */
struct alqi_heap_young_custom {
    alq_value block;
    uint64_t cost_words;
};

struct alqi_heap_customs {
    struct alqi_heap_young_custom *young;
    size_t n;
    size_t size;
    double young_share; /* of what they may hold before a minor collection */
};

struct alqi_domain {
    struct alq_domain pub; /* first: the program's pointer is ours */
    struct alqi_heap *heap;
    unsigned slot;
    uint64_t id;

    /* what others write, too */
    uint32_t state;   /* enum alqi_heap_domain_state; a futex   */
    uint32_t claimed; /* its share, in a step of a stop   */
    bool want_minor;  /* posted, then the limit is raised */
    bool want_slice;
    bool want_notice;    /* likewise: limit_trigger.h */
    bool want_handshake; /* likewise: stop_handshake.h */
    bool is_used;        /* by a heap, or free for the next one: domain.c */
    struct alqi_domain *next_ever;
    bool done; /* with its work of this phase; the holder's; others look */
    struct alqi_heap_event_state events;

    struct alqi_heap_threads threads;
    struct alqi_heap_orphan *orphan; /* for its end: made at its start */

    /* minor */
    uintptr_t slice;         /* of the minor part */
    uintptr_t minor_bytes;   /* the most that it may be opened with */
    uintptr_t fixed_bytes;   /* 0: minor_size.h chooses               */
    uintptr_t touched_bytes; /* it was as large as that            */
    uintptr_t widest_bytes;  /* since it was last trimmed          */
    struct alqi_heap_minor_size minor_size; /* while it is collected alone */
    uint64_t noted_words; /* allocated, as minor_size.h has heard */
    uint64_t noted_promoted_words;
    uintptr_t young_start; /* allocation moves from young_end to young_start */
    uintptr_t young_end;
    uintptr_t
        plan_bytes; /* what it was opened for; young_start may be higher */
    uintptr_t reach_bytes; /* or lower: minor_quota.h */
    bool has_quota;        /* it began as a piece                             */
    uintptr_t middle;      /* a slice is due below it; 0 when it was done */
    uintptr_t alloc_colour;
    size_t promised_pools; /* for what is young; 0: closed */
    bool is_helper;        /* so many that one more may take part */
    bool is_local;         /* collects alone, now: minor_local.h      */
    bool is_fragmented; /* closed for lack of room between retained blocks  */
    uintptr_t fragmented_words; /* small blocks made old since             */
    uintptr_t
        ambiguous_from;     /* bits of this slice's young words that are set: */
    uintptr_t ambiguous_to; /* indices, root_stack.h; 0: none */
    uint64_t n_points;      /* hard: calls that may collect, so far */
    bool forces_mark;       /* its slice begins to mark, due or not */
    uint64_t dirty;         /* classes of scannable runs with scan < next */
    struct alqi_heap_lab labs[2][ALQI_HEAP_CLASSES]; /* [1]: no_scan */
    struct alqi_heap_range *grey; /* filled ranges not scanned yet */
    size_t n_grey;
    size_t grey_size;
    uint32_t
        copier; /* minor_own.h: who may copy out of this minor heap; atomic */
    bool is_called;     /* somebody waits until it shares; atomic             */
    bool owns;          /* a minor heap that is not shared                    */
    uintptr_t own_base; /* of those, the one at hand                          */
    uintptr_t own_bytes; /* 0: none */
    struct alqi_heap_remembered remembered;
    struct alqi_heap_remembered stays; /* pin.h: in a collection */
    struct alqi_heap_customs customs;
    uintptr_t reported_bytes; /* of the minor heap, by alq_gc_get         */
    uintptr_t asked_bytes;    /* another fixed_bytes, at the next stop,   */
    bool is_size_asked;       /* if this is set                           */

    /* major */
    struct alqi_heap_lists lists[2][ALQI_HEAP_CLASSES];
    unsigned sweep_kind; /* where the sweeper goes on */
    unsigned sweep_class;
    struct alqi_heap_large *large;
    struct alqi_heap_large *large_unswept;
    struct alqi_heap_marker marker;
    size_t recovery_pool; /* where looking for rescan bits goes on */
    uint64_t found_words; /* free in pools that this cycle has swept    */
    struct alqi_heap_pool *emptied; /* these two in a compaction alone */
    uint64_t compact_moved_words;

    struct alqi_heap_roots roots;
    struct alqi_heap_weak_phase weak_phase;

    struct alqi_heap_pace pace;
    uint64_t direct_since_slice;
    uint64_t trimmed_in; /* the cycle */

    struct alq_gc_counts counts;
    struct alqi_heap_observed observed;
    struct alqi_heap_limit_trigger limit_trigger;
    uint64_t slack_words; /* by which slots exceed their promoted blocks */
    uint64_t cost_words;  /* of memory that custom blocks hold: custom.h */
    uint64_t live_words;  /* of work, beside marking: weak_phase.h */
    struct alqi_heap_sums
        sums_at_stop; /* counts as they were in the last stop */
    void *stop_arg;   /* of a stop that it leads */
};

/* The one that the calling thread runs; domain_thread.h reads it. */
extern __thread struct alqi_domain *alqi_heap_thread_current
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline struct alqi_domain *
alqi_heap_domain(struct alq_domain *d)
{
    return (struct alqi_domain *)d;
}

/* Whether the slot has a domain.  In a stop, too, a state may change: from
 * HELD to HELD_WANTED, by a thread that comes back. */
static inline bool
alqi_heap_is_there(const struct alqi_domain *d)
{
    return __atomic_load_n(&d->state, __ATOMIC_RELAXED) != ALQI_HEAP_VACANT;
}

/* No thread runs the domain, and the program is to be told if one uses it:
 * .inv.quiet (glue/api/rule.h). */
static inline bool
alqi_heap_is_quiet(const struct alqi_domain *d)
{
    return ALQI_CHECKS >= 1 && d->threads.running == NULL;
}

/* One more, in a stop; who has no domain may read the number at any time. */
static inline void
alqi_heap_tick(uint64_t *n)
{
    __atomic_store_n(n, *n + 1, __ATOMIC_RELAXED);
}

/* Marking looks at headers and fields while others mark or store.  That a
 * block's words are read after the pointer to it follows from the address;
 * acquire costs nothing on x86, and says so to the thread sanitizer. */
#if defined(__x86_64__) || defined(__SANITIZE_THREAD__)
#define ALQI_HEAP_DEPENDS __ATOMIC_ACQUIRE
#else
#define ALQI_HEAP_DEPENDS __ATOMIC_RELAXED
#endif

static inline uintptr_t
alqi_heap_header(alq_value block)
{
    return __atomic_load_n((const alqi_heap_word *)block - 1, __ATOMIC_RELAXED);
}

static inline bool
alqi_heap_is_young(const struct alqi_domain *d, alq_value v)
{
    return alq_is_young(&d->pub, v);
}

static inline bool
alqi_heap_is_scannable(uintptr_t header)
{
    return (header & 0xFF) < ALQ_TAG_NO_SCAN;
}

/* With its header. */
static inline size_t
alqi_heap_words(uintptr_t header)
{
    return (header >> ALQ_WOSIZE_SHIFT) + 1;
}

/* A block that the collector may find dead: its memory is given back. */
static inline void
alqi_heap_finalise(alq_value block, uintptr_t header)
{
    const struct alq_custom_ops *ops;

    if ((header & 0xFF) != ALQ_TAG_CUSTOM)
        return;
    ops = (const struct alq_custom_ops *)((const alqi_heap_word *)block)[0];
    if (ops->finalise != NULL)
        ops->finalise(block);
}

#endif
