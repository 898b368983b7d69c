/* capture_cached.h -- cached stacks: whole captures that come again
 *
 * A program allocates along a few dozen paths, over and over.  A cached stack
 * is one capture: its pcs, and where the words are that made it what it is.
 * If they all hold what they held, so does the capture, and nothing is unwound
 * (.inv.cached, .prop.cached).
 *
 *      value[0 .. n_frames)   pcs, innermost first: what the result shows
 *      offset i               the word there was return address value[i + 1]
 *      the last n_checks      saved frame pointers that a CFA depends on
 *
 * Only a capture of plain rows out to the thread's first frame is kept, and
 * only when it seems to come a second time.
 *
 * A cached stack is found in two look-ups.  `by_start` has the youngest with
 * the capture's pc, sp and fp; that one names a few return addresses, the
 * first and those that told such stacks apart so far, and by their values
 * `by_words` has the only cached stack that the capture may be.
 *
 * Keeps .inv.cached and .inv.ring. */
#ifndef ALQI_STACK_CAPTURE_CACHED_H
#define ALQI_STACK_CAPTURE_CACHED_H

#include "stack/capture_rows.h"

enum {
    ALQI_STACK_CACHED_SLOTS = 2048,
    ALQI_STACK_RING_WORDS = 6144,
    ALQI_STACK_CACHED_FRAMES_MAX =
        96,                      /* of a longer capture no cached is kept */
    ALQI_STACK_CACHED_LOOK = 8,  /* frames that may be looked at unverified */
    ALQI_STACK_CACHED_LOOKS = 4, /* so many of them are */
    ALQI_STACK_CACHED_BLOCK = 4, /* words are compared by so many */
    ALQI_STACK_CACHED_BEFORES = 8
};

/* One cached stack, in the ring.  All but note, n_same and before is written
 * when it is made. */
struct alqi_stack_cached {
    uintptr_t sp;        /* where the capture began                           */
    uintptr_t top;       /* where the outermost frame begins                  */
    uintptr_t fp_wanted; /* fp that the capture began with; 0: any will do    */
    uint32_t id;         /* unique among those made since the set was cleared */
    uint16_t n_frames;
    uint16_t n_returns; /* return addresses, filled up to whole blocks with
                           the first again */
    uint16_t n_checks;  /* saved frame pointers behind them */
    /* Return addresses that tell the stacks of this start apart, in words from
     * sp; the first one comes first, and again where no other is wanted. */
    uint16_t look[ALQI_STACK_CACHED_LOOKS];
    uint16_t start;   /* slot of by_start */
    uint16_t slot;    /* slot of by_words */
    uint16_t younger; /* place in the ring of the next one made */
    /* Stacks that came right before this one, by id, and how many outermost
     * frames each shares with it. */
    uint16_t n_same[ALQI_STACK_CACHED_BEFORES];
    uint32_t before[ALQI_STACK_CACHED_BEFORES];
    uint64_t note;     /* the user's, see alqi_stack_result; 0 at first */
    uintptr_t value[]; /* then the offsets, uint16_t, in words from sp */
};

/* A capture cache's stacks and the tables that find them; places are indexes
 * of `ring`. */
struct alqi_stack_cached_set {
    const struct alqi_stack_cached *last; /* the cache's last capture; NULL: the
                                             last one was no cached stack */
    bool rows_are_last; /* the rows are the cache's last capture */
    uint16_t n_live;
    uint16_t oldest; /* place; valid if n_live > 0 */
    uint16_t newest; /* place; valid if n_live > 0 */
    uint16_t end;    /* where the next one is made */
    uint32_t n_made; /* ids given out */
    /* Places, by hash of the start and by hash of the words looked at; 0: the
     * sentinel, which no capture matches. */
    uint16_t by_start[ALQI_STACK_CACHED_SLOTS];
    uint16_t by_words[ALQI_STACK_CACHED_SLOTS];
    uint16_t once[ALQI_STACK_CACHED_SLOTS]; /* hashes of captures seen once */
    uint64_t ring[ALQI_STACK_RING_WORDS];
};

static inline struct alqi_stack_cached *
alqi_stack_cached_at(struct alqi_stack_cached_set *t, uint32_t at)
{
    return (struct alqi_stack_cached *)&t->ring[at];
}

/* Where the words of the stack are, in words from sp: n_returns return
 * addresses, then n_checks saved frame pointers. */
static inline uint16_t *
alqi_stack_cached_offsets(const struct alqi_stack_cached *cached)
{
    return (uint16_t *)&cached
        ->value[1u + cached->n_returns + cached->n_checks];
}

static inline uint64_t
alqi_stack_cached_hash(uintptr_t pc, uintptr_t sp)
{
    return (pc ^ (uint64_t)sp << 20) * 0x9E3779B97F4A7C15u;
}

/* The first of the pair of slots of by_start. */
static inline uint32_t
alqi_stack_cached_start(uint64_t hash)
{
    return (uint32_t)(hash >> 32) % ALQI_STACK_CACHED_SLOTS;
}

/* Whether the capture begins as this one began. */
static inline bool
alqi_stack_cached_starts(const struct alqi_stack_cached *cached, uintptr_t pc,
                         uintptr_t sp, uintptr_t fp)
{
    return ALQI_LIKELY(((cached->value[0] ^ pc) | (cached->sp ^ sp)) == 0) &&
           (cached->fp_wanted == 0 || cached->fp_wanted == fp);
}

/* Whether all return addresses are what they were.  Block by block: behind a
 * word that differs the stack may end, and reading on would leave it. */
static inline __attribute__((always_inline)) bool
alqi_stack_cached_returns(const struct alqi_stack_cached *cached, uintptr_t sp)
{
    const uint16_t *at = alqi_stack_cached_offsets(cached);
    const uintptr_t *value = &cached->value[1];
    const uintptr_t *end = value + cached->n_returns;

    do {
        uintptr_t difference = 0;

#pragma GCC unroll 4
        for (unsigned k = 0; k < ALQI_STACK_CACHED_BLOCK; k++)
            difference |=
                alqi_arch_code_address(alqi_stack_word_at(sp, at[k])) ^
                value[k];
        if (ALQI_UNLIKELY(difference != 0))
            return false;
        at += ALQI_STACK_CACHED_BLOCK;
        value += ALQI_STACK_CACHED_BLOCK;
    } while (value != end);
    return true;
}

/* Whether the saved frame pointers are what they were. */
bool alqi_stack_cached_checks_hold(const struct alqi_stack_cached *cached);

/* Whether the stack is the capture that begins at pc, sp and fp (.inv.cached).
 */
static inline __attribute__((always_inline)) bool
alqi_stack_cached_holds(const struct alqi_stack_cache *cache,
                        const struct alqi_stack_cached *cached, uintptr_t pc,
                        uintptr_t sp, uintptr_t fp)
{
    return alqi_stack_cached_starts(cached, pc, sp, fp) &&
           ALQI_LIKELY(cached->top <= cache->readable_hi) &&
           alqi_stack_cached_returns(cached, sp) &&
           (cached->n_checks == 0 || alqi_stack_cached_checks_hold(cached));
}

/* The youngest stack with this start, or NULL. */
static inline const struct alqi_stack_cached *
alqi_stack_cached_by_start(struct alqi_stack_cached_set *t, uint64_t hash,
                           uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    uint32_t start = alqi_stack_cached_start(hash);
    const struct alqi_stack_cached *cached =
        alqi_stack_cached_at(t, t->by_start[start]);

    if (ALQI_LIKELY(alqi_stack_cached_starts(cached, pc, sp, fp)))
        return cached;
    cached = alqi_stack_cached_at(t, t->by_start[start ^ 1]);
    return alqi_stack_cached_starts(cached, pc, sp, fp) ? cached : NULL;
}

/* The first of the pair of slots of by_words for the capture from sp, hashed
 * over the return addresses that `cached` names. */
static inline uint32_t
alqi_stack_cached_look(const struct alqi_stack_cached *cached, uint64_t hash,
                       uintptr_t sp)
{
#pragma GCC unroll 4
    for (unsigned i = 0; i < ALQI_STACK_CACHED_LOOKS; i++)
        hash ^= (uint64_t)alqi_stack_word_at(sp, cached->look[i]) << 9 * i;
    hash *= 0xC2B2AE3D27D4EB4Fu;
    return (uint32_t)(hash >> 40) % ALQI_STACK_CACHED_SLOTS;
}

/* The cached stack that the capture from pc, sp and fp is, or NULL.  Requires
 * that sp lies in the readable range and that the generation is the cache's. */
static inline __attribute__((always_inline)) struct alqi_stack_cached *
alqi_stack_cached_find(struct alqi_stack_cache *cache, uintptr_t pc,
                       uintptr_t sp, uintptr_t fp)
{
    struct alqi_stack_cached_set *t = cache->stacks;
    uint64_t hash = alqi_stack_cached_hash(pc, sp);
    const struct alqi_stack_cached *youngest =
        alqi_stack_cached_by_start(t, hash, pc, sp, fp);
    struct alqi_stack_cached *cached;
    uint32_t slot;

    if (ALQI_UNLIKELY(youngest == NULL || youngest->top > cache->readable_hi))
        return NULL;
    slot = alqi_stack_cached_look(youngest, hash, sp);
    cached = alqi_stack_cached_at(t, t->by_words[slot]);
    if (ALQI_UNLIKELY(!alqi_stack_cached_starts(cached, pc, sp, fp)))
        cached = alqi_stack_cached_at(t, t->by_words[slot ^ 1]);
    return alqi_stack_cached_holds(cache, cached, pc, sp, fp) ? cached : NULL;
}

/* How many outermost frames the stack shares with the cache's last capture.
 * Remembers the answer if that was a cached stack. */
uint32_t alqi_stack_cached_same(struct alqi_stack_cache *cache,
                                struct alqi_stack_cached *cached);

/* How many outermost frames the stack shares with the rows. */
uint32_t alqi_stack_cached_same_rows(const struct alqi_stack_cache *cache,
                                     const struct alqi_stack_cached *cached);

/* Makes a cached stack of the rows, which are the last capture, begun at sp
 * and fp with no frame left out, if they are plain throughout and seem to come
 * a second time.  That stack is the last capture then. */
void alqi_stack_cached_keep(struct alqi_stack_cache *cache, uintptr_t sp,
                            uintptr_t fp);

void alqi_stack_cached_clear(struct alqi_stack_cached_set *stacks);

void alqi_stack_cached_init(struct alqi_stack_cached_set *stacks);

#endif
