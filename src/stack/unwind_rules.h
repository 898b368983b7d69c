/* unwind_rules.h -- the process-wide cache of decoded unwind rules
 *
 * A word is looked for by the pc that is reported, which is the key + 1.  Of
 * its 48 bits, the lowest 12 choose a set, folded with those above them; the
 * other 36 are kept in the cache word, and 28 bits are left for the payload
 * (.inv.word).
 *
 *      63           28  27       15  14        2    1      0
 *      |  tag (36)    |  -fp / 8    |  CFA / 8   |  sp  |  0   |
 *      |  tag (36)    |             |    index   |   0  | table|
 *
 * Four words make a set, which lies in one cache line.  Reading takes no
 * lock. */
#ifndef ALQI_STACK_UNWIND_RULES_H
#define ALQI_STACK_UNWIND_RULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "stack/arch.h"
#include "stack/dwarf_ehframe.h"

enum {
    ALQI_STACK_KEY_BITS = 48, /* keys beyond are never cached */
    ALQI_STACK_WORDS_LOG = 14,
    ALQI_STACK_N_WORDS = 1 << ALQI_STACK_WORDS_LOG,
    ALQI_STACK_WAYS_LOG = 2,
    ALQI_STACK_WAYS = 1 << ALQI_STACK_WAYS_LOG,
    ALQI_STACK_SETS_LOG = ALQI_STACK_WORDS_LOG - ALQI_STACK_WAYS_LOG,
    ALQI_STACK_INDEX_BITS = 16,
    ALQI_STACK_N_RULES = 1 << ALQI_STACK_INDEX_BITS,
    ALQI_STACK_N_COMPLEX = 1024,
    ALQI_STACK_EXPR_BYTES = 64
};

/* The payload of a word; never 0. */
enum {
    ALQI_STACK_PAYLOAD_BITS = 28,
    ALQI_STACK_PAYLOAD_MAX = 0x1FFF, /* of an offset, in words */
    ALQI_STACK_PAYLOAD_FP_SHIFT = 15,
    ALQI_STACK_PAYLOAD_CFA_SHIFT = 2,
    ALQI_STACK_PAYLOAD_SP = 2,   /* CFA is sp + offset, not fp + offset */
    ALQI_STACK_PAYLOAD_TABLE = 1 /* the rest is an index */
};

#define ALQI_STACK_TAG_MASK (~(uint64_t)0 << ALQI_STACK_PAYLOAD_BITS)

enum alqi_stack_kind {
    ALQI_STACK_KIND_NONE,
    ALQI_STACK_KIND_REGISTER,
    ALQI_STACK_KIND_SIGNAL,
    ALQI_STACK_KIND_COMPLEX,
    ALQI_STACK_KIND_END
};

/* What CFI says at one key (.def.rule); complete and never changed once it is
 * in the table.  Offsets are bytes from the CFA. */
struct alqi_stack_rule {
    int32_t cfa_offset; /* CFA - register; of COMPLEX its index in `complex` */
    int32_t fp_offset;  /* where the caller's fp is saved; 0: it is not */
    int32_t ra_offset;  /* where the return address is */
    uint8_t kind;       /* enum alqi_stack_kind */
    uint8_t cfa_reg;    /* DWARF number: sp or fp */
    uint16_t next;      /* in its hash chain; 0: none */
};

/* A COMPLEX rule: the register rules of the FDE with their expressions copied,
 * so that nothing of a module is kept beyond its decoding. */
struct alqi_stack_complex {
    struct alqi_stack_reg_rule cfa;
    struct alqi_stack_reg_rule fp;
    struct alqi_stack_reg_rule ra;
    uint8_t cfa_reg;
    bool is_signal; /* the caller was interrupted */
    uint8_t expr[ALQI_STACK_EXPR_BYTES];
};

/* Where a rule is decoded to; it stays there if it could not be cached. */
struct alqi_stack_scratch {
    struct alqi_stack_rule rule;
    struct alqi_stack_complex complex;
};

/* The rules of the process.  Words and rules are added under the lock of
 * unwind_rules.c; rules below an index that a word names are complete. */
struct alqi_stack_rules {
    _Alignas(64) _Atomic(uint64_t) words[ALQI_STACK_N_WORDS];
    struct alqi_stack_rule rules[ALQI_STACK_N_RULES];
    struct alqi_stack_complex complex[ALQI_STACK_N_COMPLEX];
};

extern struct alqi_stack_rules alqi_stack_rules;
/* Raised by forget: what was decoded before is not to be used (.inv.gen). */
extern _Atomic(uint64_t) alqi_stack_generation;

/* The home of a pc; the rest of its set differs in the lowest two bits.  No
 * multiplication: the walk waits for this at each frame. */
static inline uint32_t
alqi_stack_rules_home(uintptr_t pc)
{
    return (uint32_t)(pc << ALQI_STACK_WAYS_LOG ^ pc >> ALQI_STACK_SETS_LOG) %
           ALQI_STACK_N_WORDS;
}

/* What the set does not say of a pc, where a word has it; the bits below are
 * noise. */
static inline uint64_t
alqi_stack_rules_tag(uintptr_t pc)
{
    _Static_assert(64 - ALQI_STACK_KEY_BITS + ALQI_STACK_SETS_LOG ==
                       ALQI_STACK_PAYLOAD_BITS,
                   "tag and payload fill the word");
    return (uint64_t)pc << (64 - ALQI_STACK_KEY_BITS);
}

/* Whether a word is that of a pc, given the tag. */
static inline bool
alqi_stack_rules_is_of(uint64_t word, uint64_t tag)
{
    return (word ^ tag) >> ALQI_STACK_PAYLOAD_BITS == 0;
}

/* The payload of a cache word. */
static inline uint32_t
alqi_stack_rules_payload_in(uint64_t word)
{
    return (uint32_t)(word & ~ALQI_STACK_TAG_MASK);
}

/* Where the caller's fp is saved, from the CFA; 0: it is not. */
static inline int32_t
alqi_stack_payload_fp(uint32_t payload)
{
    return -8 * (int32_t)(payload >> ALQI_STACK_PAYLOAD_FP_SHIFT);
}

/* CFA - sp, or CFA - fp. */
static inline uintptr_t
alqi_stack_payload_cfa(uint32_t payload)
{
    enum { MASK = ALQI_STACK_PAYLOAD_MAX << ALQI_STACK_PAYLOAD_CFA_SHIFT };

    return (uintptr_t)(payload & MASK) * (8 >> ALQI_STACK_PAYLOAD_CFA_SHIFT);
}

/* The payload that another way of the set holds for pc; 0: none does. */
uint32_t alqi_stack_rules_find_slow(uintptr_t pc);

/* The payload cached for the frame reported as pc, of 48 bits at most; 0: none
 * is. */
static inline uint32_t
alqi_stack_rules_find(uintptr_t pc)
{
    /* pairs with the release store of word_insert_locked */
    uint64_t word =
        atomic_load_explicit(&alqi_stack_rules.words[alqi_stack_rules_home(pc)],
                             memory_order_acquire);

    if (ALQI_LIKELY(alqi_stack_rules_is_of(word, alqi_stack_rules_tag(pc))))
        return alqi_stack_rules_payload_in(word);
    return alqi_stack_rules_find_slow(pc);
}

/* The rule that a payload stands for; one that is in no table is written to
 * `scratch`. */
static inline const struct alqi_stack_rule *
alqi_stack_rules_of_payload(uint32_t payload,
                            struct alqi_stack_scratch *scratch)
{
    struct alqi_stack_rule *r = &scratch->rule;

    if ((payload & ALQI_STACK_PAYLOAD_TABLE) != 0)
        return &alqi_stack_rules.rules[payload >> ALQI_STACK_PAYLOAD_CFA_SHIFT];
    r->kind = ALQI_STACK_KIND_REGISTER;
    r->cfa_reg =
        (payload & ALQI_STACK_PAYLOAD_SP) != 0 ? ALQI_ARCH_SP : ALQI_ARCH_FP;
    r->cfa_offset = (int32_t)alqi_stack_payload_cfa(payload);
    r->fp_offset = alqi_stack_payload_fp(payload);
    r->ra_offset = alqi_arch_usual_ra(r->fp_offset);
    r->next = 0;
    return r;
}

/* Decodes the rule at `key`, caches it if it may (.inv.gen, .inv.try), and
 * returns it; in `scratch` when it could not be cached. */
const struct alqi_stack_rule *
alqi_stack_rules_decode(uintptr_t key, uint64_t generation,
                        struct alqi_stack_scratch *scratch);

/* The payload of a rule that fits into a word and whose words lie below its
 * CFA; else 0. */
uint32_t alqi_stack_rules_payload(const struct alqi_stack_rule *rule);

/* The rest of a COMPLEX rule. */
static inline const struct alqi_stack_complex *
alqi_stack_rules_complex(const struct alqi_stack_rule *rule,
                         const struct alqi_stack_scratch *scratch)
{
    if (rule == &scratch->rule)
        return &scratch->complex;
    return &alqi_stack_rules.complex[rule->cfa_offset];
}

/* Reduces an unwind state to a rule. */
void alqi_stack_rule_of(const struct alqi_stack_unwind *unwind,
                        struct alqi_stack_scratch *out);

/* Rules decoded so far, by all threads. */
uint64_t alqi_stack_rules_decoded(void);

#endif
