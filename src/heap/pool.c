/* pool.c -- one pool: its free ranges, and sweeping it
 *
 *   slot:  block -> garbage -> free, in a range ->
 *          in a local allocation buffer, which was that range -> block
 *
 * The sweep joins free neighbours to ranges and links them in the order of
 * their addresses, so a local allocation buffer is one range.  The domain that
 * has the pool calls; nothing here is locked.
 *
 * Keeps .inv.free: Sweeping clears the header of a dead block, and links the
 *   ranges upwards.  In dbg and hard builds the other words of a free slot are
 *   poisoned, but for the range's second word, which is its link. */
#include "heap/pool.h"
#include "heap/pool_class.h"

enum { RANGE_AHEAD_BYTES = 256 }; /* most of a swept pool's lines are written */

/* The second word of a range: where the next is, in words from the pool's
 * start, and how many slots this one has.  Both are below 2^16. */
static uintptr_t
range_word(uintptr_t next_range, uintptr_t n_slots)
{
    return next_range << 16 | n_slots;
}

/* Makes all slots one free range.  Requires that each slot has header 0. */
void
alqi_heap_pool_fresh(struct alqi_heap_pool *pool, unsigned size_class)
{
    pool->n_free = alqi_heap_class_slots(size_class);
    pool->first_range = ALQI_HEAP_POOL_HEAD_WORDS;
    alqi_heap_pool_slots(pool)[1] = range_word(0, pool->n_free);
}

/* Takes the first range.  The next one and the range's second lines are
 * fetched: promotion will write them. */
bool
alqi_heap_pool_range_take(struct alqi_heap_pool *pool, unsigned size_class,
                          struct alqi_heap_range *out)
{
    alqi_heap_word *range = (alqi_heap_word *)pool + pool->first_range;
    uintptr_t word;

    if (pool->first_range == 0)
        return false;
    ALQI_ASSERT(range[0] == 0); /* .inv.free */
    word = range[1];
    /* .inv.free: the next range lies behind this one. */
    ALQI_ASSERT(word >> 16 == 0 || word >> 16 > pool->first_range);
    pool->first_range = (uint32_t)(word >> 16);
    __builtin_prefetch((alqi_heap_word *)pool + pool->first_range, 1);
    __builtin_prefetch((char *)range + RANGE_AHEAD_BYTES, 1);
    out->start = (uintptr_t)range;
    out->end = (uintptr_t)(range +
                           (word & 0xFFFF) * alqi_heap_class_words[size_class]);
    ALQI_ASSERT(out->start < out->end &&
                out->end <=
                    (uintptr_t)pool + ALQI_HEAP_POOL_BYTES); /* .inv.free */
    return true;
}

/* Puts a range back in front of the others.  The range was taken there, so the
 * order of addresses stays.  The next sweep joins it to its neighbours. */
void
alqi_heap_pool_range_return(struct alqi_heap_pool *pool, unsigned size_class,
                            struct alqi_heap_range range)
{
    alqi_heap_word *first = (alqi_heap_word *)range.start;
    uintptr_t words = (range.end - range.start) / ALQ_WORD_BYTES;

    ALQI_ASSERT(range.start < range.end && first[0] == 0); /* .inv.free */
    /* .inv.free: it goes in front of the others. */
    ALQI_ASSERT(pool->first_range == 0 ||
                first < (alqi_heap_word *)pool + pool->first_range);
    first[1] = range_word(pool->first_range,
                          words / alqi_heap_class_words[size_class]);
    pool->first_range = (uint32_t)(first - (alqi_heap_word *)pool);
}

/* Counts the slots of the ranges; n_free is as the last sweep left it. */
unsigned
alqi_heap_pool_count_free(const struct alqi_heap_pool *pool)
{
    const alqi_heap_word *start = (const alqi_heap_word *)pool;
    uintptr_t at = pool->first_range;
    unsigned n = 0;

    for (; at != 0; at = start[at + 1] >> 16)
        n += start[at + 1] & 0xFFFF;
    return n;
}

/* ---- sweeping ------------------------------------------------------------ */

/* Poisons all slots of a free pool, in dbg and hard builds. */
void
alqi_heap_pool_poison_all(struct alqi_heap_pool *pool, unsigned size_class)
{
    alqi_heap_word *slot = alqi_heap_pool_slots(pool);
    size_t words = alqi_heap_class_words[size_class];
    unsigned i;

    for (i = 0; i < alqi_heap_class_slots(size_class); i++)
        alqi_heap_pool_poison(slot + i * words, words);
}

/* Whether the slot has a block that is no garbage.  The program may change a
 * living block's tag meanwhile (a host's: OCaml's lazy values). */
static inline bool
is_live(const alqi_heap_word *slot, uintptr_t garbage)
{
    uintptr_t header = __atomic_load_n(slot, __ATOMIC_RELAXED);

    return header != 0 && alqi_heap_colour(header) != garbage;
}

/* Counts the garbage by reading all slots, for builds that check. */
unsigned
alqi_heap_pool_count_dead(struct alqi_heap_pool *pool, unsigned size_class,
                          uintptr_t garbage)
{
    const alqi_heap_word *slot = alqi_heap_pool_slots(pool);
    unsigned i, n = 0;

    for (i = 0; i < alqi_heap_class_slots(size_class); i++) {
        n += *slot != 0 && !is_live(slot, garbage);
        slot += alqi_heap_class_words[size_class];
    }
    return n;
}

/* Frees slots from `slot` on until one lives or the pool ends; returns how
 * many.  A custom block is finalised before its header goes. */
static inline uintptr_t
free_some(alqi_heap_word *slot, const alqi_heap_word *end, size_t words,
          uintptr_t garbage)
{
    uintptr_t n = 0;

    do {
        if (*slot != 0) {
            alqi_heap_finalise((alq_value)(slot + 1), *slot);
            *slot = 0;
            alqi_heap_pool_poison(slot, words);
        }
        slot += words;
        n++;
    } while (slot < end && !is_live(slot, garbage));
    return n;
}

/* Frees the garbage and builds the list of ranges anew, in one pass upwards.
 * Each range's second word is written when the range ends, and the link to the
 * next when that is found. */
unsigned
alqi_heap_pool_sweep(struct alqi_heap_pool *pool, unsigned size_class,
                     uintptr_t garbage)
{
    alqi_heap_word *slot = alqi_heap_pool_slots(pool);
    size_t words = alqi_heap_class_words[size_class];
    alqi_heap_word *end = slot + alqi_heap_class_slots(size_class) * words;
    alqi_heap_word *last = NULL; /* range, which the next is linked to */
    uintptr_t n, at, n_free = 0;

    pool->first_range = 0;
    for (; slot < end; slot += words) {
        if (is_live(slot, garbage))
            continue;
        n = free_some(slot, end, words, garbage);
        slot[1] = range_word(0, n);
        at = (uintptr_t)(slot - (alqi_heap_word *)pool);
        if (last == NULL)
            pool->first_range = (uint32_t)at;
        else
            last[1] |= at << 16;
        last = slot;
        slot += (n - 1) * words;
        n_free += n;
    }
    pool->n_free = (uint32_t)n_free;
    ALQI_ASSERT((pool->first_range == 0) == (n_free == 0)); /* .inv.free */
    return pool->n_free;
}
