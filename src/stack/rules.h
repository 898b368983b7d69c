/* rules.h -- the process-wide cache of decoded rules
 *
 * A cache word is key << 16 | index of an interned rule; four words make a
 * set, which lies in one cache line.  Reading takes no lock (.inv.word). */
#ifndef ALQI_STACK_RULES_H
#define ALQI_STACK_RULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "stack/arch.h"
#include "stack/ehframe.h"

enum {
    ALQI_STACK_WORDS_LOG = 14,
    ALQI_STACK_N_WORDS = 1 << ALQI_STACK_WORDS_LOG,
    ALQI_STACK_WAYS = 4,
    ALQI_STACK_INDEX_BITS = 16,
    ALQI_STACK_N_RULES = 1 << ALQI_STACK_INDEX_BITS,
    ALQI_STACK_N_COMPLEX = 1024,
    ALQI_STACK_EXPR_BYTES = 64
};

enum alqi_stack_kind {
    ALQI_STACK_KIND_NONE,
    ALQI_STACK_KIND_REGISTER,
    ALQI_STACK_KIND_SIGNAL,
    ALQI_STACK_KIND_COMPLEX,
    ALQI_STACK_KIND_END
};

struct alqi_stack_rule {
    int32_t cfa_offset; /* of COMPLEX: place in the complex table */
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

/* The home of a key; the rest of its set differs in the lowest bits. */
static inline uint32_t
alqi_stack_rules_home(uintptr_t key)
{
    return (uint32_t)((key * 0x9E3779B97F4A7C15u) >>
                      (64 - ALQI_STACK_WORDS_LOG));
}

/* The cached rule at `key`, or NULL. */
static inline const struct alqi_stack_rule *
alqi_stack_rules_hit(uintptr_t key)
{
    uint32_t home = alqi_stack_rules_home(key);

    for (uint32_t way = 0; way < ALQI_STACK_WAYS; way++) {
        uint64_t w = atomic_load_explicit(&alqi_stack_rules.words[home ^ way],
                                          memory_order_acquire);

        /* pairs with the release store of word_insert_locked */
        if (ALQI_LIKELY(w >> ALQI_STACK_INDEX_BITS == key))
            return &alqi_stack_rules.rules[w & (ALQI_STACK_N_RULES - 1)];
    }
    return NULL;
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
