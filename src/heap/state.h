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
#include "heap/bag.h"
#include "heap/crew.h"

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
    ALQI_HEAP_RING = 128 /* blocks whose headers are on their way */
};

#define ALQI_HEAP_MINOR_BYTES_MAX ((uintptr_t)32 << 20)

/* Forces rare events: hard builds. */
#define ALQI_HEAP_IS_HARD (ALQI_CHECKS >= 3)

#define ALQI_HEAP_COLOUR_MASK ((uintptr_t)3 << ALQ_COLOUR_SHIFT)
#define ALQI_HEAP_COLOUR_STATIC ALQI_HEAP_COLOUR_MASK

/* A pool: slots of one size, those in use with their header first.  A free slot
 * has header 0.  Free neighbours make a span; its second word says where the
 * next span begins and how many slots this one has. */
struct alqi_heap_pool {
    struct alqi_heap_pool *next; /* in one list, or none */
    uint32_t first_span;         /* in words from the pool's start; 0: none */
    uint32_t n_free;             /* slots, when last swept                  */
    uintptr_t spare[2];
};

struct alqi_heap_large {
    struct alqi_heap_large *next;
    uintptr_t rescan; /* marked, but not its fields */
    uintptr_t header;
    alqi_heap_word fields[];
};

/* Where promotion puts the next blocks of a class: a span of its pool. */
struct alqi_heap_run {
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
    struct alqi_heap_pool *unswept;
};

struct alqi_heap_marker {
    struct alqi_heap_span *stack;
    size_t n;
    size_t size;
    size_t size_max;
    uintptr_t ring[ALQI_HEAP_RING];
    unsigned ring_first;
    unsigned ring_n;
    bool overflowed; /* some pool or large block has its rescan bit */
    bool rescanning; /* these are being read */
};

struct alqi_heap_remembered {
    alqi_heap_word **fields;
    size_t n;
    size_t size;
    bool lost; /* it could not grow: the whole heap is read instead */
};

enum alqi_heap_phase {
    ALQI_HEAP_SWEEP, /* new blocks are UNMARKED                   */
    ALQI_HEAP_SWEPT, /* marking begins at the next empty minor heap */
    ALQI_HEAP_MARK   /* new blocks are MARKED                     */
};

struct alqi_heap_area {
    struct alqi_plat_lock lock;
    uintptr_t young_base; /* the whole reservation begins here */
    uintptr_t young_bytes;
    uintptr_t major_base;
    uintptr_t major_bytes;
    uint8_t *kinds;              /* a byte a pool: area.h */
    size_t n_frontier;           /* pools that were ever used        */
    size_t n_committed;          /* pools that may be accessed       */
    struct alqi_heap_pool *free; /* of those below the frontier */
    size_t n_free;
    size_t n_used;
};

struct alqi_heap {
    struct alqi_heap_area area;
    struct alqi_heap_crew crew;
    size_t n_young_blocks_max;      /* in all minor heaps together */
    bool is_remember_lost;          /* somebody's set; atomic      */
    struct alqi_base_map large_set; /* addresses of large blocks */
    uintptr_t large_bytes;
    uintptr_t marked; /* colours, in place */
    uintptr_t unmarked;
    uintptr_t garbage;
    enum alqi_heap_phase phase;
    unsigned space_overhead;
    size_t limit_bytes; /* SIZE_MAX: none */
    size_t reserve_bytes;
};

/* pace.h; all in words, of work or of allocation. */
struct alqi_heap_pace {
    uint64_t live_words;    /* as the last marking found, about     */
    uint64_t marking_began; /* words allocated until then           */
    uint64_t marked_before; /* counts.marked_words then             */
    uint64_t paid_words;    /* words allocated whose work is in debt */
    uint64_t seen_work;     /* work that is taken off the debt      */
    double rate;            /* work for each allocated word         */
    double debt_words;      /* negative: done ahead                 */
};

enum { ALQI_HEAP_BOXES = 510 };

/* A page of boxed roots; a free one holds the next free one's address + 1. */
struct alqi_heap_boxes {
    struct alqi_heap_boxes *next;
    uintptr_t may_be_young;
    struct alq_root roots[ALQI_HEAP_BOXES];
};

struct alqi_heap_roots {
    struct alq_range *ranges;
    struct alq_global *globals;
    struct alq_scanner *scanners;
    struct alqi_heap_boxes *boxes;
    uintptr_t free_box; /* 0, or the address + 1 */
};

struct alqi_domain {
    struct alq_domain pub; /* first: the program's pointer is ours */
    struct alqi_heap *heap;

    /* minor */
    uintptr_t slice; /* of the minor part */
    uintptr_t minor_bytes;
    uintptr_t run_start; /* allocation moves from run_end to run_start */
    uintptr_t run_end;
    uintptr_t middle; /* a slice is due below it; 0 when it was done */
    uintptr_t alloc_colour;
    uint64_t dirty; /* classes of scannable runs with scan < next */
    struct alqi_heap_run runs[2][ALQI_HEAP_CLASSES]; /* [1]: no_scan */
    struct alqi_heap_span *pending; /* filled spans not scanned yet */
    size_t n_pending;
    size_t pending_size;
    struct alqi_heap_remembered remembered;
    alq_value *customs; /* young, with a finaliser */
    size_t n_customs;
    size_t customs_size;
    bool want_minor;
    bool want_slice;

    /* major */
    struct alqi_heap_lists lists[2][ALQI_HEAP_CLASSES];
    unsigned sweep_kind; /* where the sweeper goes on */
    unsigned sweep_class;
    struct alqi_heap_large *large;
    struct alqi_heap_large *large_unswept;
    struct alqi_heap_marker marker;
    size_t rescan_pool; /* where looking for rescan bits goes on */

    struct alqi_heap_roots roots;

    struct alqi_heap_pace pace;
    uint64_t direct_since_slice;

    struct alq_gc_counts counts;
};

static inline struct alqi_domain *
alqi_heap_domain(struct alq_domain *d)
{
    return (struct alqi_domain *)d;
}

static inline uintptr_t
alqi_heap_header(alq_value block)
{
    return ((const alqi_heap_word *)block)[-1];
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
