/* unwind_rules.c -- decoding, interning and caching unwind rules
 *
 * A rule that the cache lacks is decoded from the module's CFI:
 *   lock free    decode_locked: the module is added if it is new, the rule
 *                interned if it does not fit into a word, the word inserted
 *   lock taken   decode_alone: the same reading, and nothing is kept (.inv.try)
 *
 * Keeps .inv.word, .inv.gen and .inv.try.  Index 0 of the rule table is the
 * rule NONE, so that an unused chain ends in 0; the table only grows. */
#include <string.h>

#include "plat/plat.h"
#include "stack/elf_module.h"
#include "stack/unwind_rules.h"

/* RA_OFFSET_*: a return address of a REGISTER rule lies within 24 bits of the
 * CFA. */
enum {
    CHAINS = 4096,
    TRIES = 64,
    TRAMPOLINE_ALIGN = 16,
    RA_OFFSET_MIN = -(1 << 23),
    RA_OFFSET_MAX = (1 << 23) - 1
};

struct alqi_stack_rules alqi_stack_rules;
_Atomic(uint64_t) alqi_stack_generation = 1;

/* What the lock guards: insertion, the table's hash chains, and the module
 * table of elf_module.c. */
static struct {
    struct alqi_plat_lock lock;
    uint32_t n_rules;            /* complete ones, besides index 0         */
    uint32_t n_complex;          /* complete ones                          */
    uint32_t victim;             /* the way that the next full set gives up */
    _Atomic(uint64_t) n_decoded; /* without the lock                       */
    uint16_t chains[CHAINS];     /* first rule of each hash; 0: none       */
} table = {.lock = ALQI_PLAT_LOCK(STACK_RULES)};

ALQI_NOINLINE uint32_t
alqi_stack_rules_find_slow(uintptr_t pc)
{
    uint64_t tag = alqi_stack_rules_tag(pc);
    uint32_t home = alqi_stack_rules_home(pc);

    for (uint32_t way = 1; way < ALQI_STACK_WAYS; way++) {
        uint64_t word = atomic_load_explicit(
            &alqi_stack_rules.words[home ^ way], memory_order_acquire);

        if (alqi_stack_rules_is_of(word, tag))
            return alqi_stack_rules_payload_in(word);
    }
    return 0;
}

/* Copies the expression of a register rule, if it has one, and makes the rule
 * point there; false: no room. */
static bool
expr_copy(const struct alqi_stack_unwind *u, struct alqi_stack_reg_rule *cell,
          struct alqi_stack_complex *c, unsigned *used)
{
    if (cell->how != ALQI_STACK_EXPR && cell->how != ALQI_STACK_VAL_EXPR)
        return true;
    if (cell->n_bytes > ALQI_STACK_EXPR_BYTES - *used)
        return false;
    memcpy(c->expr + *used, u->origin + cell->value, cell->n_bytes);
    cell->value = (int32_t)*used;
    *used += cell->n_bytes;
    return true;
}

/* A rule that no offsets express; NONE if its expressions are too long. */
static void
complex_of(const struct alqi_stack_unwind *u, struct alqi_stack_scratch *out)
{
    struct alqi_stack_complex *c = &out->complex;
    unsigned used = 0;

    memset(c, 0, sizeof *c);
    c->cfa = u->state.cfa;
    c->fp = u->state.col[ALQI_STACK_COL_FP];
    c->ra = u->state.col[ALQI_STACK_COL_RA];
    c->cfa_reg = u->state.cfa_reg;
    c->is_signal = u->is_signal;
    if (expr_copy(u, &c->cfa, c, &used) && expr_copy(u, &c->fp, c, &used) &&
        expr_copy(u, &c->ra, c, &used))
        out->rule.kind = ALQI_STACK_KIND_COMPLEX;
}

void
alqi_stack_rule_of(const struct alqi_stack_unwind *u,
                   struct alqi_stack_scratch *out)
{
    const struct alqi_stack_reg_rule *cfa = &u->state.cfa;
    const struct alqi_stack_reg_rule *fp = &u->state.col[ALQI_STACK_COL_FP];
    const struct alqi_stack_reg_rule *ra = &u->state.col[ALQI_STACK_COL_RA];
    struct alqi_stack_rule *r = &out->rule;

    memset(r, 0, sizeof *r); /* NONE */
    if (ra->how == ALQI_STACK_UNDEFINED) {
        r->kind = ALQI_STACK_KIND_END;
        return;
    }
    if (u->is_signal || cfa->how != ALQI_STACK_OFFSET ||
        (u->state.cfa_reg != ALQI_ARCH_SP &&
         u->state.cfa_reg != ALQI_ARCH_FP) ||
        (fp->how != ALQI_STACK_SAME && fp->how != ALQI_STACK_UNDEFINED &&
         (fp->how != ALQI_STACK_OFFSET || fp->value == 0)) ||
        ra->how != ALQI_STACK_OFFSET || ra->value < RA_OFFSET_MIN ||
        ra->value > RA_OFFSET_MAX) {
        complex_of(u, out);
        return;
    }
    r->kind = ALQI_STACK_KIND_REGISTER;
    r->cfa_reg = u->state.cfa_reg;
    r->cfa_offset = cfa->value;
    r->fp_offset = fp->how == ALQI_STACK_OFFSET ? fp->value : 0;
    r->ra_offset = ra->value;
}

/* Whether rule r of the table is the one in x. */
static bool
is_same_rule(const struct alqi_stack_rule *r,
             const struct alqi_stack_scratch *x)
{
    const struct alqi_stack_rule *y = &x->rule;

    if (r->kind != y->kind || r->fp_offset != y->fp_offset ||
        r->ra_offset != y->ra_offset || r->cfa_reg != y->cfa_reg)
        return false;
    if (r->kind != ALQI_STACK_KIND_COMPLEX)
        return r->cfa_offset == y->cfa_offset;
    return memcmp(&alqi_stack_rules.complex[r->cfa_offset], &x->complex,
                  sizeof x->complex) == 0;
}

/* The hash chain that a rule is in. */
static uint32_t
chain_of(const struct alqi_stack_scratch *x)
{
    const struct alqi_stack_rule *r = &x->rule;
    uint64_t h =
        (uint64_t)(uint32_t)r->fp_offset << 32 | (uint32_t)r->ra_offset;

    h = alqi_base_mix(h ^ (uint64_t)r->kind << 24 ^ (uint64_t)r->cfa_reg << 56);
    if (r->kind != ALQI_STACK_KIND_COMPLEX)
        h = alqi_base_mix(h ^ (uint32_t)r->cfa_offset);
    return (uint32_t)h % CHAINS;
}

/* The index of the rule in x; 0 when the table is full (or it is NONE). */
static uint16_t
intern_locked(const struct alqi_stack_scratch *x)
{
    uint16_t *chain = &table.chains[chain_of(x)];
    struct alqi_stack_rule *r;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_STACK_RULES));
    if (x->rule.kind == ALQI_STACK_KIND_NONE)
        return 0;
    for (uint16_t i = *chain; i != 0; i = alqi_stack_rules.rules[i].next)
        if (is_same_rule(&alqi_stack_rules.rules[i], x))
            return i;
    if (table.n_rules == ALQI_STACK_N_RULES - 1)
        return 0;
    r = &alqi_stack_rules.rules[table.n_rules + 1];
    *r = x->rule;
    if (x->rule.kind == ALQI_STACK_KIND_COMPLEX) {
        if (table.n_complex == ALQI_STACK_N_COMPLEX)
            return 0;
        r->cfa_offset = (int32_t)table.n_complex;
        alqi_stack_rules.complex[table.n_complex++] = x->complex;
    }
    r->next = *chain;
    *chain = (uint16_t)++table.n_rules;
    return *chain;
}

uint32_t
alqi_stack_rules_payload(const struct alqi_stack_rule *r)
{
    uint32_t cfa = (uint32_t)r->cfa_offset / 8;
    uint32_t fp = (uint32_t)-r->fp_offset / 8;

    if (r->kind != ALQI_STACK_KIND_REGISTER || r->cfa_offset <= 0 ||
        r->fp_offset > 0 || r->cfa_offset % 8 != 0 || r->fp_offset % 8 != 0 ||
        cfa > ALQI_STACK_PAYLOAD_MAX || fp > ALQI_STACK_PAYLOAD_MAX ||
        r->ra_offset != alqi_arch_usual_ra(r->fp_offset) ||
        r->ra_offset > -(int32_t)sizeof(uintptr_t))
        return 0;
    return cfa << ALQI_STACK_PAYLOAD_CFA_SHIFT |
           fp << ALQI_STACK_PAYLOAD_FP_SHIFT |
           (r->cfa_reg == ALQI_ARCH_SP ? ALQI_STACK_PAYLOAD_SP : 0);
}

/* Into the first free way of its set, its home tried first; else a victim. */
static void
word_insert_locked(uintptr_t pc, uint32_t payload)
{
    uint64_t tag = alqi_stack_rules_tag(pc);
    uint32_t home = alqi_stack_rules_home(pc);
    uint32_t way;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_STACK_RULES));
    for (way = 0; way < ALQI_STACK_WAYS; way++) {
        uint64_t w = atomic_load_explicit(&alqi_stack_rules.words[home ^ way],
                                          memory_order_relaxed);

        if (w == 0 || alqi_stack_rules_is_of(w, tag))
            break;
    }
    if (way == ALQI_STACK_WAYS)
        way = table.victim++ % ALQI_STACK_WAYS;
    atomic_store_explicit(&alqi_stack_rules.words[home ^ way],
                          (tag & ALQI_STACK_TAG_MASK) | payload,
                          memory_order_release);
}

/* .inv.try: the lock, if it comes free within TRIES looks. */
static bool
lock_try_a_while(void)
{
    for (unsigned i = 0; i < TRIES; i++)
        if (atomic_load_explicit(&table.lock.state, memory_order_relaxed) ==
                0 &&
            alqi_plat_lock_try(&table.lock))
            return true;
    return false;
}

/* Whether the code at `at` is rt_sigreturn; asks before it reads. */
static bool
is_sigreturn_at(uintptr_t at)
{
    uintptr_t last = at + ALQI_ARCH_SIGRETURN_BYTES - 1;

    return alqi_plat_is_readable_sigsafe(at & ~(uintptr_t)7) &&
           alqi_plat_is_readable_sigsafe(last & ~(uintptr_t)7) &&
           alqi_arch_is_sigreturn((const uint8_t *)at);
}

/* For a frame with no CFI, or with CFI that calls itself a signal frame:
 * returned to, or interrupted at either instruction. */
static bool
is_signal_frame(uintptr_t key)
{
    return is_sigreturn_at(key + 1) || is_sigreturn_at(key) ||
           is_sigreturn_at(key - ALQI_ARCH_SIGRETURN_CALL);
}

/* A return address that begins a function was not left by a call: it was put
 * there for the first frame of a coroutine to return to. */
static bool
is_planted(const struct alqi_stack_sections *s, uintptr_t key,
           struct alqi_stack_unwind *u)
{
    return s != NULL &&
           alqi_stack_ehframe_find(s, key + 1, ALQI_STACK_NO_REG, u) &&
           u->start == key + 1;
}

/* Reads the rule at `key` from a module's sections; s NULL: it has none. */
static void
rule_read(const struct alqi_stack_sections *s, uintptr_t key,
          struct alqi_stack_scratch *scratch)
{
    struct alqi_stack_unwind u;
    bool is_found =
        s != NULL && alqi_stack_ehframe_find(s, key, ALQI_STACK_NO_REG, &u);

    memset(&scratch->rule, 0, sizeof scratch->rule);
    if ((!is_found || u.is_signal) && is_signal_frame(key))
        scratch->rule.kind = ALQI_STACK_KIND_SIGNAL;
    else if (is_found)
        alqi_stack_rule_of(&u, scratch);
    else if (is_planted(s, key, &u))
        scratch->rule.kind = ALQI_STACK_KIND_END;
}

/* Outside of all modules lies code made at run time, and where the kernel has
 * no module for it (or an emulator stands in for it) the signal trampoline.
 * Nothing of this is kept, so only what is likely is looked at. */
static void
rule_read_outside(uintptr_t key, struct alqi_stack_scratch *scratch)
{
    memset(&scratch->rule, 0, sizeof scratch->rule);
    if ((key + 1) % TRAMPOLINE_ALIGN == 0 && is_sigreturn_at(key + 1))
        scratch->rule.kind = ALQI_STACK_KIND_SIGNAL;
}

/* Without the lock: everything is read anew and thrown away. */
static ALQI_NOINLINE void
decode_alone(uintptr_t key, struct alqi_stack_scratch *scratch)
{
    struct alqi_stack_mapping mapping;
    struct alqi_stack_sections s;

    if (!alqi_stack_module_find(key, &mapping))
        rule_read_outside(key, scratch);
    else
        rule_read(alqi_stack_module_sections(&mapping, &s) ? &s : NULL, key,
                  scratch);
}

/* Decodes the rule under the lock and caches it, if its generation and its
 * module let it (.inv.gen). */
static ALQI_NOINLINE const struct alqi_stack_rule *
decode_locked(uintptr_t key, uint64_t generation,
              struct alqi_stack_scratch *scratch)
{
    const struct alqi_stack_module_entry *k;
    struct alqi_stack_mapping mapping;
    uint32_t payload;
    uint16_t index;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_STACK_RULES));
    if (!alqi_stack_module_find(key, &mapping)) {
        rule_read_outside(key, scratch);
        return &scratch->rule;
    }
    k = alqi_stack_module_add_locked(&mapping);
    rule_read(k != NULL && k->has_sections ? &k->sections : NULL, key, scratch);
    if (k == NULL || (key + 1) >> ALQI_STACK_KEY_BITS != 0 ||
        atomic_load_explicit(&alqi_stack_generation, memory_order_relaxed) !=
            generation)
        return &scratch->rule;
    payload = alqi_stack_rules_payload(&scratch->rule);
    if (payload == 0) {
        index = intern_locked(scratch);
        if (index == 0 && scratch->rule.kind != ALQI_STACK_KIND_NONE)
            return &scratch->rule;
        payload = ALQI_STACK_PAYLOAD_TABLE |
                  (uint32_t)index << ALQI_STACK_PAYLOAD_CFA_SHIFT;
    }
    word_insert_locked(key + 1, payload);
    return alqi_stack_rules_of_payload(payload, scratch);
}

ALQI_COLD const struct alqi_stack_rule *
alqi_stack_rules_decode(uintptr_t key, uint64_t generation,
                        struct alqi_stack_scratch *scratch)
{
    const struct alqi_stack_rule *r;

    atomic_fetch_add_explicit(&table.n_decoded, 1, memory_order_relaxed);
    if (!lock_try_a_while()) {
        decode_alone(key, scratch);
        return &scratch->rule;
    }
    r = decode_locked(key, generation, scratch);
    alqi_plat_unlock(&table.lock);
    return r;
}

uint64_t
alqi_stack_rules_decoded(void)
{
    return atomic_load_explicit(&table.n_decoded, memory_order_relaxed);
}

/* Every rule and every module; words cleared after the generation is raised
 * (.inv.gen). */
static void
forget_locked(void)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_STACK_RULES));
    atomic_fetch_add_explicit(&alqi_stack_generation, 1, memory_order_release);
    for (uint32_t i = 0; i < ALQI_STACK_N_WORDS; i++)
        if (atomic_load_explicit(&alqi_stack_rules.words[i],
                                 memory_order_relaxed) != 0)
            atomic_store_explicit(&alqi_stack_rules.words[i], 0,
                                  memory_order_relaxed);
    alqi_stack_modules_forget_locked();
}

void
alqi_stack_forget(void)
{
    alqi_plat_lock(&table.lock);
    forget_locked();
    alqi_plat_unlock(&table.lock);
}

void
alqi_stack_after_fork_child(void)
{
    /* A lock that was held was held by a thread that is not here; what it
     * guarded may be half changed.  Rules are complete up to n_rules. */
    if (atomic_load_explicit(&table.lock.state, memory_order_relaxed) == 0)
        return;
    alqi_plat_lock_break(&table.lock);
    alqi_stack_forget();
}

void
alqi_stack_on_module(alqi_stack_module_fn *fn, void *arg)
{
    alqi_plat_lock(&table.lock);
    alqi_stack_module_callback_locked(fn, arg);
    alqi_plat_unlock(&table.lock);
}

/* Adds one module. */
static void
module_add(const struct alqi_stack_mapping *mapping)
{
    alqi_plat_lock(&table.lock);
    alqi_stack_module_add_locked(mapping);
    alqi_plat_unlock(&table.lock);
}

void
alqi_stack_report_all_modules(void)
{
    alqi_stack_modules_each(module_add);
}
