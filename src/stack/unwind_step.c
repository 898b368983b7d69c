/* unwind_step.c -- one frame to its caller, for every kind of rule
 *
 * REGISTER, SIGNAL, COMPLEX and END do what CFI says.  NONE follows the frame
 * pointer, or the instructions of code that has only to return, or knows a call
 * through a null pointer and the linker's entry.
 *
 * Keeps .inv.grow, .inv.chain, .inv.returns and .inv.entry; reads the stack by
 * .inv.read only, through alqi_stack_peek and alqi_stack_make_readable. */
#include "stack/dwarf_expr.h"
#include "stack/elf_module.h"
#include "stack/unwind_walk.h"

enum {
    FAR_BYTES = 1 << 20,  /* no frame is so long */
    MADE_BYTES = 1 << 28, /* code made at run time lies within so many */
    FP_ALIGN = sizeof(uintptr_t)
};

/* The walk ends here; the frame has no CFA but where the walk stands. */
static enum alqi_stack_outcome
lost(const struct alqi_stack_walk *w, struct alqi_stack_frame *frame)
{
    frame->ra_at = w->sp;
    return ALQI_STACK_LOST;
}

/* The value of a register in the frame that the walk stands at, as far as it
 * is known. */
static bool
register_known(void *arg, unsigned reg, uint64_t *out)
{
    struct alqi_stack_walk *w = arg;
    int at;

    if (reg == ALQI_ARCH_SP) {
        *out = w->sp;
        return true;
    }
    if (reg == ALQI_ARCH_FP) {
        *out = w->fp;
        return true;
    }
    if (reg == ALQI_ARCH_RA && ALQI_ARCH_RA_IS_PUSHED) {
        *out = w->key + !w->is_exact; /* the column stands for the pc */
        return true;
    }
    at = alqi_arch_saved_at(reg);
    if (w->saved_at != 0)
        return at >= 0 &&
               alqi_stack_peek(w->cache, w->saved_at + (uintptr_t)at, 8, out);
    if (w->tracked_reg == ALQI_STACK_NO_REG)
        return alqi_stack_recover(w, reg, out);
    *out = w->tracked; /* this is the walk that recovers */
    return w->has_tracked && w->tracked_reg == reg;
}

static bool
memory_known(void *arg, uintptr_t address, unsigned n_bytes, uint64_t *out)
{
    const struct alqi_stack_walk *w = arg;

    return alqi_stack_peek(w->cache, address, n_bytes, out);
}

/* What a DWARF expression of the rule yields; *initial is on its stack at
 * first. */
static bool
expression_value(struct alqi_stack_walk *w, const struct alqi_stack_complex *c,
                 const struct alqi_stack_reg_rule *cell,
                 const uint64_t *initial, uint64_t *out)
{
    struct alqi_stack_expr_env env = {w, register_known, memory_known};

    return alqi_stack_expr_eval(&env, c->expr + cell->value, cell->n_bytes,
                                initial, out);
}

/* The value that a register rule gives the register `reg` in the caller. */
static bool
cell_value(struct alqi_stack_walk *w, const struct alqi_stack_complex *c,
           const struct alqi_stack_reg_rule *cell, unsigned reg, uint64_t cfa,
           uint64_t *out)
{
    uint64_t at = cfa + (uint64_t)(int64_t)cell->value;

    switch (cell->how) {
    case ALQI_STACK_OFFSET:
        return alqi_stack_peek(w->cache, at, 8, out);
    case ALQI_STACK_VAL_OFFSET:
        *out = at;
        return true;
    case ALQI_STACK_REGISTER:
        return register_known(w, (unsigned)cell->value, out);
    case ALQI_STACK_EXPR:
        return expression_value(w, c, cell, &cfa, &at) &&
               alqi_stack_peek(w->cache, at, 8, out);
    case ALQI_STACK_VAL_EXPR:
        return expression_value(w, c, cell, &cfa, out);
    default: /* the same, or gone and so of no use to anyone */
        return register_known(w, reg, out);
    }
}

/* The CFA, then return address and frame pointer, each by its register rule.
 * A smaller CFA is a switch to another stack, which only an expression may
 * make. */
enum alqi_stack_outcome
alqi_stack_step_complex(struct alqi_stack_walk *w,
                        const struct alqi_stack_complex *c,
                        struct alqi_stack_frame *frame)
{
    uint64_t cfa, ra, fp;

    if (c->cfa.how == ALQI_STACK_VAL_EXPR) {
        if (!expression_value(w, c, &c->cfa, NULL, &cfa))
            return lost(w, frame);
    } else {
        if (!register_known(w, c->cfa_reg, &cfa))
            return lost(w, frame);
        cfa += (uint64_t)(int64_t)c->cfa.value;
    }
    if (cfa < w->sp + 8 * ALQI_ARCH_RA_IS_PUSHED &&
        (c->cfa.how != ALQI_STACK_VAL_EXPR ||
         ++w->n_switches > ALQI_STACK_SWITCHES_MAX))
        return lost(w, frame);
    if ((c->ra.how == ALQI_STACK_SAME && ALQI_ARCH_RA_IS_PUSHED) ||
        !cell_value(w, c, &c->ra, ALQI_ARCH_RA, cfa, &ra) ||
        !cell_value(w, c, &c->fp, ALQI_ARCH_FP, cfa, &fp))
        return lost(w, frame);
    frame->ra_at = cfa;
    if (!c->is_signal)
        return alqi_stack_walk_return(w, cfa, fp, alqi_arch_code_address(ra));
    w->sp = cfa;
    w->fp = fp;
    w->key = ra;
    w->saved_at = 0;
    w->is_exact = true;
    return ALQI_STACK_GO;
}

/* All registers are in the kernel's signal frame, at the CFA of the frame
 * inside. */
enum alqi_stack_outcome
alqi_stack_step_signal(struct alqi_stack_walk *w,
                       struct alqi_stack_frame *frame)
{
    uintptr_t at = w->sp;
    uint64_t pc, sp, fp;

    if (!alqi_stack_peek(w->cache, at + (uintptr_t)alqi_arch_saved_pc_at(), 8,
                         &pc) ||
        !alqi_stack_peek(w->cache,
                         at + (uintptr_t)alqi_arch_saved_at(ALQI_ARCH_SP), 8,
                         &sp) ||
        !alqi_stack_peek(
            w->cache, at + (uintptr_t)alqi_arch_saved_at(ALQI_ARCH_FP), 8, &fp))
        return lost(w, frame);
    if (sp <= at && ++w->n_switches > ALQI_STACK_SWITCHES_MAX)
        return lost(w, frame);
    frame->ra_at = sp;
    w->sp = sp;
    w->fp = fp;
    w->key = pc;
    w->saved_at = at;
    w->is_exact = true;
    return ALQI_STACK_GO;
}

/* A call through a null pointer, stopped by a signal: the return address is
 * where the call has put it. */
static bool
null_call(struct alqi_stack_walk *w, uint64_t *cfa, uint64_t *ra)
{
    if (!w->is_exact || w->key >= ALQI_STACK_NULL_PAGE)
        return false;
    *cfa = w->sp + 8 * ALQI_ARCH_RA_IS_PUSHED;
    if (ALQI_ARCH_RA_IS_PUSHED)
        return alqi_stack_peek(w->cache, w->sp, 8, ra);
    return register_known(w, ALQI_ARCH_RA, ra);
}

/* Whether a call has left this return address: what lies before it is one. */
static bool
is_after_call(const struct alqi_stack_walk *w, uintptr_t ra)
{
    uintptr_t *known =
        &w->cache
             ->behind_call[alqi_base_mix(ra) >> (64 - ALQI_STACK_CALLS_LOG)];
    uint64_t code;

    if (*known == ra)
        return ra != 0;
    if (ra < ALQI_STACK_NULL_PAGE ||
        !alqi_stack_peek(w->cache, ra - ALQI_ARCH_CALL_BYTES,
                         ALQI_ARCH_CALL_BYTES, &code) ||
        !alqi_arch_is_call((const uint8_t *)&code + ALQI_ARCH_CALL_BYTES))
        return false;
    *known = ra;
    return true;
}

/* Whether the address lies in a module. */
static bool
is_of_module(uintptr_t at)
{
    struct alqi_stack_mapping mapping;

    return alqi_stack_module_find(at, &mapping);
}

/* The frame pointer may lie inside of sp in code that has gone to another
 * stack: the code of a module (Go's, for C), and far from here. */
static bool
is_on_a_stack(struct alqi_stack_walk *w)
{
    if (w->fp % FP_ALIGN != 0)
        return false;
    if (w->fp >= w->sp)
        return true;
    return w->fp + FAR_BYTES < w->cache->readable_lo &&
           ++w->n_switches <= ALQI_STACK_SWITCHES_MAX && is_of_module(w->key);
}

/* Code made at run time puts return addresses by jumps, too (the interpreter
 * of HotSpot does): into itself, and the chain grows. */
static bool
is_made_nearby(const struct alqi_stack_walk *w, uintptr_t ra, uintptr_t fp)
{
    uint64_t code;

    return fp > w->fp && fp - w->fp < FAR_BYTES &&
           ra - w->key + MADE_BYTES < 2 * MADE_BYTES && !is_of_module(w->key) &&
           !is_of_module(ra) && alqi_stack_peek(w->cache, ra, 1, &code);
}

/* Whether the code at this return address has unwind information. */
static bool
has_rule(struct alqi_stack_walk *w, uintptr_t ra)
{
    return ra >= ALQI_STACK_NULL_PAGE &&
           alqi_stack_walk_rule(w, ra - 1)->kind != ALQI_STACK_KIND_NONE;
}

/* CFA = register + offset: by far the most frames.  The frame is plain if its
 * rule fits into a cache word and it reads between the CFAs only
 * (.inv.within). */
static enum alqi_stack_outcome
step_register(struct alqi_stack_walk *w, const struct alqi_stack_rule *r,
              struct alqi_stack_frame *frame)
{
    uintptr_t cfa = (r->cfa_reg == ALQI_ARCH_SP ? w->sp : w->fp) +
                    (uintptr_t)(intptr_t)r->cfa_offset;
    uintptr_t ra_at = cfa + (uintptr_t)(intptr_t)r->ra_offset;
    uintptr_t fp_at = cfa + (uintptr_t)(intptr_t)r->fp_offset;
    uintptr_t fp = w->fp;
    uint32_t payload;

    if (cfa <= w->sp || !alqi_stack_make_readable(w->cache, ra_at) ||
        (r->fp_offset != 0 && !alqi_stack_make_readable(w->cache, fp_at)))
        return lost(w, frame);
    frame->ra_at = cfa;
    payload = alqi_stack_rules_payload(r);
    if (payload != 0 && ra_at >= w->sp &&
        (r->fp_offset == 0 || fp_at >= w->sp)) {
        frame->rule = payload;
        frame->ra_at = ra_at;
    }
    if (r->fp_offset != 0)
        fp = alqi_stack_word(fp_at);
    return alqi_stack_walk_return(
        w, cfa, fp, alqi_arch_code_address(alqi_stack_word(ra_at)));
}

/* Code made at run time that was called, if it has nothing left to do but to
 * return: its instructions are as good as tables (.inv.returns). */
static bool
is_returning(struct alqi_stack_walk *w, struct alqi_stack_rule *rule)
{
    uint64_t code, ra;
    int at;

    if (w->is_exact ||
        !alqi_stack_peek(w->cache, w->key + 1, ALQI_ARCH_RETURN_BYTES, &code))
        return false;
    at = alqi_arch_returns_at((const uint8_t *)&code);
    if (at < 0 || !alqi_stack_peek(w->cache, w->sp + (unsigned)at, 8, &ra))
        return false;
    ra = alqi_arch_code_address(ra);
    *rule = (struct alqi_stack_rule){
        .kind = ALQI_STACK_KIND_REGISTER,
        .cfa_reg = ALQI_ARCH_SP,
        .cfa_offset = at + 8,
        .ra_offset = -8,
    };
    return is_after_call(w, ra) || has_rule(w, ra);
}

/* Code without information, generated at run time perhaps: one step along
 * the frame pointer.  It must lead to code that has information, or to the
 * instruction behind a call (.inv.chain). */
enum alqi_stack_outcome
alqi_stack_step_unknown(struct alqi_stack_walk *w,
                        struct alqi_stack_frame *frame)
{
    static const struct alqi_stack_rule along_fp = {
        .kind = ALQI_STACK_KIND_REGISTER,
        .cfa_reg = ALQI_ARCH_FP,
        .cfa_offset = 16,
        .ra_offset = -8,
        .fp_offset = -16,
    };
    uint64_t cfa, ra, fp = w->fp;
    struct alqi_stack_rule rule;
    bool is_made;

    if (null_call(w, &cfa, &ra)) {
        ra = alqi_arch_code_address(ra);
        if (!has_rule(w, ra))
            return lost(w, frame);
        frame->ra_at = cfa;
        return alqi_stack_walk_return(w, cfa, fp, ra);
    }
    is_made = !is_of_module(w->key);
    if (is_made && is_returning(w, &rule))
        return step_register(w, &rule, frame);
    if (fp == 0 && alqi_stack_module_is_entry(w->key)) {
        frame->ra_at = w->sp;
        return ALQI_STACK_DONE;
    }
    if (!is_on_a_stack(w) || !alqi_stack_peek(w->cache, w->fp + 8, 8, &ra) ||
        !alqi_stack_peek(w->cache, w->fp, 8, &fp))
        return lost(w, frame);
    cfa = w->fp + 16;
    ra = alqi_arch_code_address(ra);
    if (!is_after_call(w, ra) && !has_rule(w, ra) &&
        !is_made_nearby(w, ra, fp)) {
        if (fp != 0)
            return lost(w, frame);
        frame->ra_at = w->sp;
        return ALQI_STACK_DONE; /* the chain's end, as the ABI marks it */
    }
    if (is_made && w->fp >= w->sp) /* a plain row (.inv.made_row) */
        return step_register(w, &along_fp, frame);
    frame->ra_at = cfa;
    return alqi_stack_walk_return(w, cfa, fp, ra);
}

enum alqi_stack_outcome
alqi_stack_step(struct alqi_stack_walk *w, struct alqi_stack_frame *frame)
{
    const struct alqi_stack_rule *r = alqi_stack_walk_rule(w, w->key);

    frame->pc = w->key + 1;
    frame->rule = ALQI_STACK_RULE_OTHER;
    switch (r->kind) {
    case ALQI_STACK_KIND_REGISTER:
        return step_register(w, r, frame);
    case ALQI_STACK_KIND_SIGNAL:
        return alqi_stack_step_signal(w, frame);
    case ALQI_STACK_KIND_COMPLEX:
        return alqi_stack_step_complex(
            w, alqi_stack_rules_complex(r, w->scratch), frame);
    case ALQI_STACK_KIND_END:
        frame->ra_at = w->sp;
        frame->rule = ALQI_STACK_RULE_END;
        return ALQI_STACK_DONE;
    default:
        return alqi_stack_step_unknown(w, frame);
    }
}
