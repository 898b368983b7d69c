/* entry.h -- one tracked block of one profile: a node of seven words
 *
 * Nodes come from slabs that are never unmapped (pool.c) and never move, so a
 * callback may be running for an entry while its block moves, dies, or is found
 * again.  The states of .state.entry (doc/design/memprof.md) are these flags:
 *
 *     OFF  ALLOC_DUE, offset    DEF  ALLOC_DUE        RUN(x)  RUNNING
 *     YNG  YOUNG                OLD  (none)           PRO     YOUNG MOVED
 *     PDI  YOUNG MOVED DEAD     DIE  DEAD             GON     GONE, or freed
 *
 * YOUNG means that the datum is the minor one: the flag goes when promote has
 * run. ALLOC_DUE goes before the alloc callback, PROMOTE_RAN comes with
 * promote, DATUM goes before the last callback (.inv.once, .inv.datum).
 *
 * Keeps .inv.owner, .inv.shard: flags of an entry in the index are its shard's;
 * `next` is the FIFO's thread's while ALLOC_DUE (doc/design/memprof.md). */
#ifndef ALQI_MEMPROF_ENTRY_H
#define ALQI_MEMPROF_ENTRY_H

#include <stdint.h>

#include <aliquot/memprof.h>

enum {
    ALQI_ENTRY_YOUNG = 1 << 1,      /* promote is due once MOVED */
    ALQI_ENTRY_ALLOC_DUE = 1 << 3,  /* its alloc callback has not begun   */
    ALQI_ENTRY_RUNNING = 1 << 4,    /* a callback runs; its thread ends it */
    ALQI_ENTRY_MOVED = 1 << 5,      /* promoted, promote not yet run      */
    ALQI_ENTRY_DEAD = 1 << 6,       /* the block is gone                  */
    ALQI_ENTRY_GONE = 1 << 7,       /* deleted; the node's holder frees it */
    ALQI_ENTRY_IN_REALLOC = 1 << 8, /* held by a realloc                  */
    ALQI_ENTRY_INDEXED = 1 << 9,    /* in the index by address            */
    ALQI_ENTRY_PROMOTE_RAN = 1 << 10,
    ALQI_ENTRY_DATUM = 1 << 11 /* `data` holds a datum someone must see */
};

/* In `birth`, which no lock guards: fixed before another thread sees the
 * entry. */
enum {
    ALQI_BIRTH_MINOR = 1 << 0,   /* alloc_minor, not alloc_major        */
    ALQI_BIRTH_SCANNED = 1 << 1, /* of a scanned heap                  */
    ALQI_BIRTH_OFFSET =
        1 << 2, /* scanned: no memory yet; `block` is an offset */
    ALQI_BIRTH_STASH =
        1 << 3, /* `stash` is valid: its stack waits for the callback */
    ALQI_BIRTH_SOURCE_SHIFT = 4 /* enum alq_source, above              */
};

enum { ALQI_STASH_FRAMES = 6 };

/* The saved stack of a deferred alloc callback: nodes of the entries' pool. */
struct alqi_memprof_stash {
    struct alqi_memprof_stash *next;
    uintptr_t frames[ALQI_STASH_FRAMES];
};

struct alqi_memprof_entry {
    const void *block;
    union {
        uintptr_t data;  /* DATUM                                    */
        uintptr_t stash; /* STASH: its first + how many frames in its last */
    };
    struct alq_profile *profile;
    struct alqi_memprof_entry *next; /* of a FIFO or a list              */
    union {
        struct alqi_memprof_entry *chain; /* of a bucket, or of those made */
        struct alqi_memprof_entry *ahead; /* scanned, old: old.c           */
    };
    union {
        struct {
            uint32_t size_low;
            uint16_t size_high;
            uint16_t flags;
        };
        uint64_t size_and_flags;
    };
    union {
        struct {
            uint32_t n_samples; /* words; no more than fit */
            union {
                struct {
                    uint8_t filter_lo; /* INDEXED: counted in the filter   */
                    uint8_t filter_hi; /* at each level from lo to hi      */
                };
                uint16_t born_low; /* scanned: in which major cycle    */
            };
            uint8_t born_high;
            uint8_t birth; /* ALQI_BIRTH_*, and the source */
        };
        uint64_t samples_and_birth;
    };
};

enum {
    ALQI_ENTRY_FLAGS_AT = 48, /* in size_and_flags    */
    ALQI_ENTRY_BORN_AT = 32,  /* in samples_and_birth */
    ALQI_ENTRY_BIRTH_AT = 56
};

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the halves of an entry's words are the other way round"
#endif

_Static_assert(sizeof(struct alqi_memprof_entry) == 56, "of one pool");
_Static_assert(sizeof(struct alqi_memprof_stash) == 56, "the same");

/* Bytes of a block are below 2^48, as addresses are. */
static inline uint64_t
alqi_entry_size_bytes(const struct alqi_memprof_entry *e)
{
    return e->size_low | (uint64_t)e->size_high << 32;
}

static inline enum alq_source
alqi_entry_source(const struct alqi_memprof_entry *e)
{
    return (enum alq_source)(e->birth >> ALQI_BIRTH_SOURCE_SHIFT);
}

/* Major cycles are counted in as many bits as an entry has for them. */
enum { ALQI_CYCLE_MASK = (1 << 24) - 1 };

/* The major cycle in which the block was born; scanned heaps only. */
static inline uint32_t
alqi_entry_born(const struct alqi_memprof_entry *e)
{
    return e->born_low | (uint32_t)e->born_high << 16;
}

#endif
