/* ctf_stacks.c -- stacks to code words and back
 *
 * Reading appends frames to the last stack until the words end, a ceiling is
 * reached or the input is bad; the words change the cache even when no frame
 * is kept (.inv.cut).  Writing chooses slots as the real writer does: the
 * code's slot, or the older of its two, then predictions as long as they are
 * right.
 *
 * Keeps .inv.slot, .inv.equal, .inv.prefix and .inv.cut. */
#include <stdlib.h>

#include "base/base.h"
#include "wire/ctf_stacks.h"

/* A code word: slot << 2 | tag. */
enum { TAG_HIT = 0, TAG_HIT_1 = 1, TAG_HIT_N = 2, TAG_MISS = 3 };
enum { STACK_FRAMES_MIN = 256 };
enum { PREDICTED_MAX = 255, SLOT_MASK = ALQI_CTF_CACHE_SLOTS - 1 };

/* ---- reading --------------------------------------------------------- */

bool
alqi_ctf_stack_init(struct alqi_ctf_stack *stack)
{
    *stack = (struct alqi_ctf_stack){0};
    stack->codes = malloc(STACK_FRAMES_MIN * sizeof *stack->codes);
    if (stack->codes == NULL)
        return false;
    stack->capacity = STACK_FRAMES_MIN;
    return true;
}

/* Room for n frames more, or for as many as the limits leave; returns how
 * many there are now. */
static ALQI_NOINLINE uint32_t
stack_grow(struct alqi_ctf_stack *stack, uint32_t n, uint32_t *budget)
{
    uint64_t wanted = (uint64_t)stack->n_codes + n;
    uint64_t capacity = stack->capacity;
    uint64_t *codes;

    while (capacity < wanted)
        capacity *= 2;
    if (capacity > ALQI_CTF_CACHE_FRAMES_MAX)
        capacity = ALQI_CTF_CACHE_FRAMES_MAX;
    if (capacity > stack->capacity && capacity - stack->capacity <= *budget) {
        codes = realloc(stack->codes, capacity * sizeof *codes);
        if (codes != NULL) {
            *budget -= (uint32_t)capacity - stack->capacity;
            stack->codes = codes;
            stack->capacity = (uint32_t)capacity;
        }
    }
    wanted = stack->capacity - stack->n_codes;
    return wanted < n ? (uint32_t)wanted : n;
}

/* Appends slot p and its k followers, as far as there is room; returns the
 * last slot either way. */
static inline uint32_t
frames_put(const struct alqi_ctf_code_cache *cache, uint32_t p, uint32_t k,
           uint64_t *codes, uint32_t room)
{
    uint32_t i;

    if (room > 0)
        codes[0] = cache->slot[p];
    for (i = 1; i < room; i++) {
        p = cache->next[p];
        codes[i] = cache->slot[p];
    }
    for (; i <= k; i++)
        p = cache->next[p];
    return p;
}

/* What a code word says: fills the slot at a miss; returns how many followers
 * are to be appended. */
static inline uint32_t
word_decode(struct alqi_ctf_code_cache *cache, struct alqi_wire_in *in,
            uint32_t tag, uint32_t p, const struct alqi_wire_locations *known,
            struct alqi_ctf_stack_oddities *seen)
{
    if (tag == TAG_MISS) {
        cache->slot[p] = alqi_wire_in_u64(in);
        if (alqi_wire_locations_find(known, cache->slot[p]) == NULL)
            seen->is_unannounced = true;
        return 0;
    }
    if (ALQI_UNLIKELY(cache->slot[p] == 0) &&
        alqi_wire_locations_find(known, 0) == NULL)
        seen->is_unannounced = true; /* never filled */
    return tag == TAG_HIT_N ? alqi_wire_in_u8(in) : tag;
}

void
alqi_ctf_stack_decode(struct alqi_ctf_code_cache *cache,
                      struct alqi_wire_in *in, uint64_t shared,
                      uint32_t n_words, const struct alqi_wire_locations *known,
                      struct alqi_ctf_stack *stack, uint32_t *budget,
                      struct alqi_ctf_stack_oddities *seen)
{
    bool is_lost = shared > stack->n_codes; /* .inv.cut */
    uint32_t p = 0;

    if (!is_lost)
        stack->n_codes = (uint32_t)shared;
    for (; n_words > 0 && !in->bad; n_words--) {
        uint32_t word = alqi_wire_in_u16(in);
        uint32_t k, room;

        cache->next[p] = (uint16_t)(word >> 2);
        p = word >> 2;
        k = word_decode(cache, in, word & 3, p, known, seen);
        room = is_lost ? 0 : k + 1;
        if (ALQI_UNLIKELY(room > stack->capacity - stack->n_codes) &&
            (room = stack_grow(stack, room, budget)) <= k) {
            seen->is_clipped = true;
            is_lost = true; /* no frame may follow a hole */
        }
        p = frames_put(cache, p, k, stack->codes + stack->n_codes, room);
        stack->n_codes += room;
    }
}

/* ---- writing --------------------------------------------------------- */

static inline uint32_t
hash1(uint64_t code)
{
    return (uint32_t)(code * 0x4983723 >> 11) & SLOT_MASK;
}

static inline uint32_t
hash2(uint64_t code)
{
    return (uint32_t)(code * 0xFDEA731 >> 21) & SLOT_MASK;
}

/* The slot that holds code, or the older of its two. */
static inline uint32_t
slot_choose(const struct alqi_ctf_stack_writer *w, uint64_t code)
{
    uint32_t a = hash1(code);
    uint32_t b = hash2(code);

    if (w->cache.slot[a] == code)
        return a;
    if (w->cache.slot[b] == code)
        return b;
    return w->date[a] < w->date[b] ? a : b;
}

/* Follows predictions from *p while they are right; returns how many. */
static inline uint32_t
predicted_count(const struct alqi_ctf_code_cache *cache, uint32_t *p,
                const uint64_t *codes, uint32_t n_codes, uint32_t max)
{
    uint32_t k = 0;

    while (k < max && k < n_codes && cache->slot[cache->next[*p]] == codes[k]) {
        *p = cache->next[*p];
        k++;
    }
    return k;
}

static void
hit_put(struct alqi_wire_out *out, uint32_t slot, uint32_t k)
{
    uint32_t tag = k < TAG_HIT_N ? k : TAG_HIT_N;

    alqi_wire_out_u16(out, (uint16_t)(slot << 2 | tag));
    if (tag == TAG_HIT_N)
        alqi_wire_out_u8(out, (uint8_t)k);
}

int32_t
alqi_ctf_stack_encode(struct alqi_ctf_stack_writer *writer,
                      struct alqi_wire_out *out, const uint64_t *codes,
                      uint32_t n_codes, uint64_t id,
                      alqi_ctf_announce_fn *announce, void *announce_arg)
{
    struct alqi_ctf_code_cache *cache = &writer->cache;
    const uint8_t *start = out->at;
    int32_t n_words = 0;
    uint32_t p = 0;
    uint32_t i = 0;

    while (i < n_codes && out->at - start <= ALQI_CTF_CACHE_CUT_BYTES) {
        uint64_t code = codes[i++];
        uint32_t slot = slot_choose(writer, code);

        cache->next[p] = (uint16_t)slot;
        p = slot;
        writer->date[slot] = id;
        n_words++;
        if (cache->slot[slot] != code) {
            if (!announce(announce_arg, code))
                return -1;
            cache->slot[slot] = code;
            alqi_wire_out_u16(out, (uint16_t)(slot << 2 | TAG_MISS));
            alqi_wire_out_u64(out, code);
        } else {
            /* A word not yet put counts for the cut, hence + 2. */
            uint32_t max = out->at + 2 - start <= ALQI_CTF_CACHE_CUT_BYTES
                               ? PREDICTED_MAX
                               : 0;
            uint32_t k =
                predicted_count(cache, &p, codes + i, n_codes - i, max);

            hit_put(out, slot, k);
            i += k;
        }
    }
    ALQI_ASSERT(out->bad || out->at - start <= 4096);
    return n_words;
}
