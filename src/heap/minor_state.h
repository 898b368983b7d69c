/* minor_state.h -- minor heaps: their sizes, the one that is open, copying out
 * of them, remembered fields; then what the heap has of these */
#ifndef ALQI_HEAP_MINOR_STATE_H
#define ALQI_HEAP_MINOR_STATE_H

#include "heap/layout.h"
#include "heap/minor_workers.h"
#include "heap/work_queue.h"
#include "plat/plat.h"

struct alqi_heap_pool;

/* The policy that chooses sizes of minor heaps: minor_size.h.  Of a domain its
 * holder writes, the heap's changes in stops. */
struct alqi_heap_minor_size {
    uintptr_t bytes; /* minor heaps are opened with so many */
    uintptr_t
        stable_bytes; /* bytes before the trial of another size; 0: no trial */

    /* Sums of this window of collections. */
    unsigned n_collections;  /* since the window began */
    uint64_t minor_words;    /* allocated in them */
    uint64_t promoted_words; /* by them */
    double pauses_words;     /* promoted, over the number of workers */

    /* Figures of the stable size, as last measured; 0: not yet. */
    double survival;    /* promoted words for an allocated word */
    double pause_words; /* promoted words for a collection and worker */

    unsigned wait;     /* windows until the next trial */
    unsigned wait_max; /* windows; doubles with each trial without success */
    bool tried_half;   /* the last trial was a smaller size */
    unsigned up;       /* doublings of the next trial upwards */
};

/* A domain's sizes, in bytes.  The holder writes; other threads read none. */
struct alqi_heap_minor_sizes {
    uintptr_t base;        /* address of the domain's slice of the minor part */
    uintptr_t max_bytes;   /* of the slice that memory is ready for */
    uintptr_t fixed_bytes; /* chosen by the program; 0: `policy` chooses */
    uintptr_t requested_bytes; /* fixed_bytes from the next stop on */
    bool is_requested;         /* requested_bytes is valid */
    uintptr_t reported_bytes;  /* what alq_gc_get returned; 0: not called */
    uintptr_t touched_bytes;   /* of the slice; may have memory */
    uintptr_t widest_bytes;    /* of them, in use since the last trim */
    struct alqi_heap_minor_size policy; /* valid while collected alone */
    uint64_t noted_words;               /* counts.minor_words when last noted */
    uint64_t noted_promoted_words;      /* likewise counts.promoted_words */
};

/* A domain's minor heap while it is open.  The holder writes. */
struct alqi_heap_young {
    uintptr_t start;       /* addresses: allocation moves from `end` down to */
    uintptr_t end;         /* `start` */
    uintptr_t plan_bytes;  /* it was opened for; pacing is by them */
    uintptr_t reach_bytes; /* it may grow to so many: minor_quota.h */
    bool has_quota;        /* it began smaller than plan_bytes */
    uintptr_t slice_trigger; /* address; a slice of major work is due below
                              * it; 0: none */
    size_t promised_pools;   /* counted in area.n_promised for it; 0: closed */
    bool is_helper;          /* they include those of one more worker */
    bool is_local;           /* a collection by the domain alone is under way */
    bool is_fragmented;      /* closed: pinned blocks leave too little room */
    uintptr_t fragmented_words; /* allocated old since it is fragmented */
};

/* A local allocation buffer: where promotion puts the next blocks of a class.
 * A free range of its pool. */
struct alqi_heap_lab {
    uintptr_t next;    /* address of the next block */
    uintptr_t end;     /* address behind the range */
    uintptr_t scan;    /* address; blocks from here to `next` are grey */
    uintptr_t counted; /* address; words below are in the counters */
    struct alqi_heap_pool *pool; /* NULL: the buffer is empty */
};

/* What a worker of a minor collection copies into: minor_promote.h.  The
 * domain's holder writes.  Buffers stay from one collection to the next. */
struct alqi_heap_copy {
    uint64_t dirty; /* a bit for each class with scan < next in labs[0] */
    struct alqi_heap_lab labs[2][ALQI_HEAP_CLASSES]; /* [1]: no_scan */
    struct alqi_heap_range *grey; /* stack of full buffers, not yet scanned */
    size_t n_grey;
    size_t grey_size; /* entries that there is memory for */
};

/* Which worker may copy out of the domain's minor heap: minor_own.h. */
struct alqi_heap_own {
    uint32_t copier; /* atomic: FREE, slot + 1 of the owner, or SHARED:
                      * .pair.copier */
    bool is_called;  /* atomic: others wait until this domain's thread shares
                      * what it owns */
    /* The domain's thread, as a worker; it alone reads and writes these. */
    bool owns;       /* a minor heap that is not shared */
    uintptr_t base;  /* address of the owned slice at hand */
    uintptr_t bytes; /* of it; 0: none */
};

/* Addresses of major fields that hold young values: .inv.remember.  The holder
 * of the domain writes; the pins' set is under their lock. */
struct alqi_heap_remembered {
    alqi_heap_word **fields;
    size_t n;
    size_t size;   /* fields that there is memory for */
    size_t enough; /* fields; with so many a minor collection is requested */
    bool lost;     /* it could not grow: the whole major heap is read */
};

struct alqi_heap_young_custom {
    alq_value block;     /* young; its old place during a collection */
    uint64_t cost_words; /* charged if the block is promoted */
};

/* Young custom blocks with a finaliser or a cost: custom.h.  Holder. */
struct alqi_heap_customs {
    struct alqi_heap_young_custom *young; /* in the order of allocation */
    size_t n;
    size_t size;        /* entries that there is memory for */
    double young_share; /* of the memory outside that is allowed before a
                         * minor collection; 1: it is due */
};

/* The heap's part.  Changes in stops, but for what is atomic. */
struct alqi_heap_young_common {
    uintptr_t left;          /* atomic; bytes that minor heaps may still take:
                              * .inv.quota */
    size_t promised_left;    /* atomic; pools promised to domains that ended */
    bool is_any;             /* some minor heap is not empty */
    uint64_t n_minors;       /* collections of all domains together */
    uint64_t n_local_minors; /* atomic; by a domain alone */
    bool has_escaped;        /* atomic: .inv.private */
    bool is_shared;          /* collections in stops are expected: the last
                              * stop found escaped blocks, or work of its own */
    bool is_remember_lost;   /* atomic: some remembered set is lost */
    struct alqi_plat_lock room_lock; /* of opening a minor heap: two domains
                                      * must not be promised the same memory */
    struct alqi_heap_workers workers;
    struct alqi_heap_minor_size policy; /* of heaps collected together */
};

#endif
