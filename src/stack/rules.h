/* rules.h -- the process-wide cache of decoded rules
 *
 * A word is looked for by the pc that is reported, which is the key + 1.  Of
 * its 48 bits, 12 choose a set, folded with those above them; the other 36 are
 * kept in the cache word, and 28 bits are left for the payload.  Nearly every
 * rule fits there; the others are interned in a table and named by index.
 *
 *      63           28  27     26    25       13  12        0
 *      |  tag (36)    | table | sp | -fp / 8     | CFA / 8   |
 *
 * Four words make a set, which lies in one cache line.  Reading takes no lock
 * (.inv.word). */
#ifndef ALQI_STACK_RULES_H
#define ALQI_STACK_RULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "stack/arch.h"
#include "stack/ehframe.h"

enum {
    ALQI_STACK_KEY_BITS = 48, /* keys beyond are never cached */
    ALQI_STACK_WORDS_LOG = 14,
    ALQI_STACK_N_WORDS = 1 << ALQI_STACK_WORDS_LOG,
    ALQI_STACK_WAYS_LOG = 2,
    ALQI_STACK_WAYS = 1 << ALQI_STACK_WAYS_LOG,
    ALQI_STACK_INDEX_BITS = 16,
    ALQI_STACK_N_RULES = 1 << ALQI_STACK_INDEX_BITS,
    ALQI_STACK_N_COMPLEX = 1024,
    ALQI_STACK_EXPR_BYTES = 64
};

/* The payload of a word; never 0. */
enum {
    ALQI_STACK_PAYLOAD_BITS = 28,
    ALQI_STACK_PAYLOAD_OFFSET = 0x1FFF, /* in words */
    ALQI_STACK_PAYLOAD_FP_SHIFT = 13,
    ALQI_STACK_PAYLOAD_SP = 1 << 26,   /* CFA is sp + offset, not fp + offset */
    ALQI_STACK_PAYLOAD_TABLE = 1 << 27 /* the rest is an index */
};

enum alqi_stack_kind {
    ALQI_STACK_KIND_NONE,
    ALQI_STACK_KIND_REGISTER,
    ALQI_STACK_KIND_SIGNAL,
    ALQI_STACK_KIND_COMPLEX,
    ALQI_STACK_KIND_END
};

struct alqi_stack_rule {
    int32_t cfa_offset; /* of COMPLEX in a table: its place there */
    int32_t fp_offset;  /* where the caller's fp is saved; 0: it is not */
    int32_t ra_offset;
    uint8_t kind;
    uint8_t cfa_reg;
    uint16_t next; /* in its hash chain */
};

/* A COMPLEX rule: the cells of the FDE with their expressions copied, so
 * that nothing of a module is kept beyond its decoding. */
struct alqi_stack_complex {
    struct alqi_stack_cell cfa;
    struct alqi_stack_cell fp;
    struct alqi_stack_cell ra;
    uint8_t cfa_reg;
    bool is_signal; /* the caller was interrupted */
    uint8_t expr[ALQI_STACK_EXPR_BYTES];
};

/* Room for a rule that could not be cached. */
struct alqi_stack_room {
    struct alqi_stack_rule rule;
    struct alqi_stack_complex complex;
};

struct alqi_stack_rules {
    _Alignas(64) _Atomic(uint64_t) words[ALQI_STACK_N_WORDS];
    struct alqi_stack_rule rules[ALQI_STACK_N_RULES];
    struct alqi_stack_complex complex[ALQI_STACK_N_COMPLEX];
};

extern struct alqi_stack_rules alqi_stack_rules;
extern _Atomic(uint64_t) alqi_stack_generation;

/* The home of a pc; the rest of its set differs in the lowest two bits.  No
 * multiplication: the walk waits for this at each frame. */
static inline uint32_t
alqi_stack_rules_home(uintptr_t pc)
{
    return (uint32_t)(pc ^ pc >> ALQI_STACK_WORDS_LOG) % ALQI_STACK_N_WORDS;
}

/* What the set does not say of a pc, where a word has it. */
static inline uint64_t
alqi_stack_rules_tag(uintptr_t pc)
{
    uint64_t above = pc >> ALQI_STACK_WORDS_LOG;

    return above << (ALQI_STACK_PAYLOAD_BITS + ALQI_STACK_WAYS_LOG) |
           (pc % ALQI_STACK_WAYS) << ALQI_STACK_PAYLOAD_BITS;
}

/* What the other ways of its set hold for a pc; 0: nothing. */
uint32_t alqi_stack_rules_hit_away(uintptr_t pc);

/* The payload cached for the frame reported as pc, of 48 bits at most; 0:
 * none. */
static inline uint32_t
alqi_stack_rules_hit(uintptr_t pc)
{
    /* pairs with the release store of word_insert_locked */
    uint64_t x =
        alqi_stack_rules_tag(pc) ^
        atomic_load_explicit(&alqi_stack_rules.words[alqi_stack_rules_home(pc)],
                             memory_order_acquire);

    if (ALQI_LIKELY(x >> ALQI_STACK_PAYLOAD_BITS == 0))
        return (uint32_t)x;
    return alqi_stack_rules_hit_away(pc);
}

/* The rule a payload stands for; `room` is for one that is in no table. */
static inline const struct alqi_stack_rule *
alqi_stack_rules_of_payload(uint32_t payload, struct alqi_stack_room *room)
{
    uint32_t fp = payload >> ALQI_STACK_PAYLOAD_FP_SHIFT;
    struct alqi_stack_rule *r = &room->rule;

    if ((payload & ALQI_STACK_PAYLOAD_TABLE) != 0)
        return &alqi_stack_rules.rules[payload & (ALQI_STACK_N_RULES - 1)];
    r->kind = ALQI_STACK_KIND_REGISTER;
    r->cfa_reg =
        (payload & ALQI_STACK_PAYLOAD_SP) != 0 ? ALQI_ARCH_SP : ALQI_ARCH_FP;
    r->cfa_offset = 8 * (int32_t)(payload & ALQI_STACK_PAYLOAD_OFFSET);
    r->fp_offset = -8 * (int32_t)(fp & ALQI_STACK_PAYLOAD_OFFSET);
    r->ra_offset = alqi_arch_usual_ra(r->fp_offset);
    r->next = 0;
    return r;
}

/* Decodes the rule at `key`, caches it if it may (.inv.gen, .inv.try), and
 * returns it; in `room` when it could not be cached. */
const struct alqi_stack_rule *
alqi_stack_rules_decode(uintptr_t key, uint64_t generation,
                        struct alqi_stack_room *room);

/* The rest of a COMPLEX rule. */
static inline const struct alqi_stack_complex *
alqi_stack_rules_complex(const struct alqi_stack_rule *rule,
                         const struct alqi_stack_room *room)
{
    if (rule == &room->rule)
        return &room->complex;
    return &alqi_stack_rules.complex[rule->cfa_offset];
}

/* Reduces an unwind state to a rule. */
void alqi_stack_rule_of(const struct alqi_stack_unwind *unwind,
                        struct alqi_stack_room *out);

uint64_t alqi_stack_rules_decoded(void);

#endif
