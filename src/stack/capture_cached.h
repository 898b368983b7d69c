/* capture_cached.h -- whole captures that come again
 *
 * A program allocates along a few dozen paths, over and over.  A cached is one
 * capture: its pcs, and where the words are that made it what it is.  If they
 * all hold what they held, so does the capture, and nothing is unwound.
 *
 *      value[0 .. n_frames)   pcs, innermost first: what the result shows
 *      at[i]                  the word there was the return address value[i +
 * 1] the last n_checks      saved frame pointers that a CFA depends on
 *
 * Only a capture of plain rows out to the thread's first frame is kept, and
 * only when it seems to come a second time.
 *
 * A cached is found in two looks.  `by_start` has the youngest with the stack's
 * pc, sp and fp; that one names a few return addresses, the first and those
 * that told such stacks apart so far, and by their values `by_words` has the
 * only cached that may be the stack.
 *
 * .inv.cached   Every word a cached reads lies in [sp, top); a cached holds if
 *              pc, sp, fp where it is wanted, and all its words are what they
 *              were, in one generation (.prop.stretch).
 * .inv.ring    Trails lie in `ring` in the order they were made, from `oldest`
 *              to `newest`; the oldest make way.  The tables name no other. */
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

struct alqi_stack_cached {
    uintptr_t sp;
    uintptr_t top;       /* where the outermost frame begins */
    uintptr_t fp_wanted; /* 0: whatever fp is                */
    uint32_t id;
    uint16_t n_frames;
    uint16_t n_returns; /* filled up to whole blocks with the first again */
    uint16_t n_checks;
    /* Where looks are taken, in words from sp; the first return address comes
     * first, and again where no other is wanted. */
    uint16_t look[ALQI_STACK_CACHED_LOOKS];
    uint16_t start;   /* slot of by_start */
    uint16_t slot;    /* slot of by_words */
    uint16_t younger; /* the next one, in `ring` */
    /* A cached that came before this one, and how many outermost frames they
     * share; by its id. */
    uint16_t n_same[ALQI_STACK_CACHED_BEFORES];
    uint32_t before[ALQI_STACK_CACHED_BEFORES];
    uint64_t note;     /* of who captures; 0 at first */
    uintptr_t value[]; /* then the offsets, uint16_t, in words from sp */
};

struct alqi_stack_cached_set {
    const struct alqi_stack_cached *last; /* as the cache's last capture, or
                                            NULL: there is none as that */
    bool rows_are_last; /* the rows are the cache's last capture */
    uint16_t n_live;
    uint16_t oldest;
    uint16_t newest;
    uint16_t end; /* where the next is made */
    uint32_t n_made;
    uint16_t by_start[ALQI_STACK_CACHED_SLOTS]; /* 0: the one that sentinel */
    uint16_t by_words[ALQI_STACK_CACHED_SLOTS]; /* matches                */
    uint16_t once[ALQI_STACK_CACHED_SLOTS]; /* hashes of captures seen once */
    uint64_t ring[ALQI_STACK_RING_WORDS];
};

static inline struct alqi_stack_cached *
alqi_stack_cached_at(struct alqi_stack_cached_set *t, uint32_t at)
{
    return (struct alqi_stack_cached *)&t->ring[at];
}

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

static inline uint32_t
alqi_stack_cached_start(uint64_t hash)
{
    return (uint32_t)(hash >> 32) % ALQI_STACK_CACHED_SLOTS;
}

static inline bool
alqi_stack_cached_starts(const struct alqi_stack_cached *cached, uintptr_t pc,
                         uintptr_t sp, uintptr_t fp)
{
    return ALQI_LIKELY(((cached->value[0] ^ pc) | (cached->sp ^ sp)) == 0) &&
           (cached->fp_wanted == 0 || cached->fp_wanted == fp);
}

/* Block by block: behind one that differs the stack may end. */
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

/* .inv.cached */
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

/* The youngest with this start, or NULL. */
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

/* The first of the pair of slots of by_words where the stack's cached is,
 * looked for where `cached` says. */
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

/* The cached that the stack is from pc, sp and fp out, or NULL.  sp lies in the
 * readable range; the generation is the cache's. */
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

/* How many outermost frames of the cached the cache's last capture has, too. */
uint32_t alqi_stack_cached_same(struct alqi_stack_cache *cache,
                                struct alqi_stack_cached *cached);

/* How many outermost rows the cached has, too. */
uint32_t alqi_stack_cached_same_rows(const struct alqi_stack_cache *cache,
                                     const struct alqi_stack_cached *cached);

/* Makes a cached of the rows, the last capture, begun at sp and fp with no
 * frame left out, if it can be one and may come again; it is the last then. */
void alqi_stack_cached_keep(struct alqi_stack_cache *cache, uintptr_t sp,
                            uintptr_t fp);

void alqi_stack_cached_clear(struct alqi_stack_cached_set *stacks);

void alqi_stack_cached_init(struct alqi_stack_cached_set *stacks);

#endif
