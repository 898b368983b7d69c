/* ctf_stacks.h -- the stack codec: shared prefix, slots, prediction [spec
 * memtrace 8]
 *
 * A stack is sent as the number of frames it shares with the previous one and
 * code words for the rest.  Words name slots of a cache of 16384 codes; each
 * slot remembers which slot followed it last, so that one word can stand for
 * up to 256 frames.  Reader and writer hold the same cache.
 *
 * .inv.slot    Slot numbers have 14 bits: no index of the cache is checked.
 * .inv.equal   After the same words, slot[] and next[] agree on both sides.
 *
 * Keeps .inv.prefix and .inv.cut. */
#ifndef ALQI_WIRE_CTF_STACKS_H
#define ALQI_WIRE_CTF_STACKS_H

#include "wire/bytes.h"
#include "wire/ctf_locations.h"

enum { ALQI_CTF_CACHE_SLOTS = 16384, ALQI_CTF_CACHE_CUT_BYTES = 4086 };

/* One side's cache, of one stream. */
struct alqi_ctf_code_cache {
    uint64_t slot[ALQI_CTF_CACHE_SLOTS]; /* codes; 0: never filled        */
    uint16_t next[ALQI_CTF_CACHE_SLOTS]; /* slot that followed last       */
};

/* ---- reading --------------------------------------------------------- */

/* The last stack decoded, of one stream. */
struct alqi_ctf_stack {
    uint64_t *codes; /* outermost first */
    uint32_t n_codes;
    uint32_t capacity;
};

enum { ALQI_CTF_CACHE_FRAMES_MAX = 1 << 20 };

/* What the reader warns of. */
struct alqi_ctf_stack_oddities {
    bool is_clipped;     /* frames were left out at a ceiling */
    bool is_unannounced; /* a code that *known does not hold */
};

/* Room for a few frames; false without memory. */
bool alqi_ctf_stack_init(struct alqi_ctf_stack *stack);

/* Decodes n_words words of a stack that shares `shared` frames with the last
 * one.  *budget is what all stacks of a reader may still grow by, in frames;
 * each has the ceiling above besides.  *known serves the report of unannounced
 * codes only. */
void alqi_ctf_stack_decode(struct alqi_ctf_code_cache *cache,
                           struct alqi_wire_in *in, uint64_t shared,
                           uint32_t n_words,
                           const struct alqi_wire_locations *known,
                           struct alqi_ctf_stack *stack, uint32_t *budget,
                           struct alqi_ctf_stack_oddities *seen);

/* ---- writing --------------------------------------------------------- */

struct alqi_ctf_stack_writer {
    struct alqi_ctf_code_cache cache;
    uint64_t date[ALQI_CTF_CACHE_SLOTS]; /* id of the last explicit use */
};

/* Called before the words that introduce a code; false stops. */
typedef bool alqi_ctf_announce_fn(void *arg, uint64_t code);

/* Encodes frames codes[0, n_codes) of allocation id; returns the number of
 * words, or -1 when announce failed.  At most 4096 bytes. */
int32_t alqi_ctf_stack_encode(struct alqi_ctf_stack_writer *writer,
                              struct alqi_wire_out *out, const uint64_t *codes,
                              uint32_t n_codes, uint64_t id,
                              alqi_ctf_announce_fn *announce,
                              void *announce_arg);

#endif
