/* entry.h -- one tracked block of one profile: a node of one cache line
 *
 * Nodes come from slabs that are never unmapped (pool.c) and never move, so a
 * callback may be running for one while its block moves, dies, or is found
 * again.  The states of spec statmemprof 2.1 are these flags:
 *
 *   OFF  ALLOC_DUE, offset    DEF  ALLOC_DUE        RUN(x)  RUNNING
 *   YNG  YOUNG                OLD  (none)           PRO     YOUNG MOVED
 *   PDI  YOUNG MOVED DEAD     DIE  DEAD             GON     GONE, or freed
 *
 * YOUNG is "the datum is the minor one": it goes when promote has run.
 *
 * .inv.owner   An entry in no index belongs to one thread or one domain's
 *              lists.  One in the index belongs to its shard's lock; but its
 *              `next` to the thread on whose FIFO it is, while ALLOC_DUE.
 * .inv.once    alloc, promote and dealloc are each called at most once, in
 *              that order: ALLOC_DUE goes before the first, the second leaves
 *              PROMOTE_RAN, the third takes DATUM. */
#ifndef ALQI_MEMPROF_ENTRY_H
#define ALQI_MEMPROF_ENTRY_H

#include <stdint.h>

#include <aliquot/memprof.h>

enum {
    ALQI_ENTRY_YOUNG = 1 << 1,     /* owes promote if MOVED              */
    ALQI_ENTRY_ALLOC_DUE = 1 << 3, /* its alloc callback has not begun   */
    ALQI_ENTRY_RUNNING = 1 << 4,   /* a callback runs; its thread ends it */
    ALQI_ENTRY_MOVED = 1 << 5,     /* promoted, promote not yet run      */
    ALQI_ENTRY_DEAD = 1 << 6,      /* the block is gone                  */
    ALQI_ENTRY_GONE = 1 << 7,      /* deleted; the node's holder frees it */
    ALQI_ENTRY_TAKEN = 1 << 8,     /* held by a realloc                  */
    ALQI_ENTRY_INDEXED = 1 << 9,   /* in the index by address            */
    ALQI_ENTRY_PROMOTE_RAN = 1 << 10,
    ALQI_ENTRY_DATUM = 1 << 11, /* `data` holds a datum someone must see */
    ALQI_ENTRY_IN_OLD = 1 << 12 /* scanned: on the old list, not young   */
};

/* In `birth`, which no lock guards: fixed before anyone else can see it. */
enum {
    ALQI_BIRTH_MINOR = 1 << 0,   /* alloc_minor, not alloc_major        */
    ALQI_BIRTH_SCANNED = 1 << 1, /* of a scanned heap                  */
    ALQI_BIRTH_OFFSET = 1 << 2   /* scanned: no memory yet, an offset   */
};

enum { ALQI_STASH_FRAMES = 7 };

/* A deferred callback's stack: nodes of the entries' own pool. */
struct alqi_memprof_stash {
    struct alqi_memprof_stash *next;
    uintptr_t frames[ALQI_STASH_FRAMES];
};

struct alqi_memprof_entry {
    const void *block;
    union {
        uintptr_t data;                   /* DATUM                   */
        struct alqi_memprof_stash *stash; /* ALLOC_DUE; may be NULL  */
    };
    struct alq_profile *profile;
    struct alqi_memprof_entry *next; /* of a FIFO or a list              */
    union {
        struct alqi_memprof_entry *chain; /* notified: of a bucket   */
        struct alqi_memprof_entry *prev;  /* scanned: of its list    */
    };
    uint64_t size_bytes;
    uint64_t n_samples;
    uint16_t flags;
    uint16_t n_frames; /* in the stash                                  */
    uint8_t filter_lo; /* INDEXED: counted in the filter at each level  */
    uint8_t filter_hi; /* from lo to hi                                 */
    uint8_t source;
    uint8_t birth; /* ALQI_BIRTH_* */
};

_Static_assert(sizeof(struct alqi_memprof_entry) == 64, "one cache line");
_Static_assert(sizeof(struct alqi_memprof_stash) == 64, "the same pool");

#endif
