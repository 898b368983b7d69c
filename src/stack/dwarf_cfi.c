/* dwarf_cfi.c -- the interpreter of call frame instructions
 *
 * Numbers are those of DWARF 5, section 6.4.2, and of the GNU and AArch64
 * extensions.  The interpreter runs until the location passes the address
 * asked for, or the instructions end; whatever is malformed marks the cursor
 * bad, and the run fails as a whole.
 *
 * Registers that the walk does not follow are read and dropped.  States are
 * small (32 bytes), so that remembered ones fit a small stack. */
#include <limits.h>

#include "stack/arch.h"
#include "stack/dwarf_cfi.h"
#include "stack/dwarf_encoded.h"

enum { REMEMBERED_MAX = 4, PLACE_MAX = INT32_MAX };

enum {
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE_LOC1 = 0x02,
    CFA_ADVANCE_LOC2 = 0x03,
    CFA_ADVANCE_LOC4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0A,
    CFA_RESTORE_STATE = 0x0B,
    CFA_DEF_CFA = 0x0C,
    CFA_DEF_CFA_REGISTER = 0x0D,
    CFA_DEF_CFA_OFFSET = 0x0E,
    CFA_DEF_CFA_EXPRESSION = 0x0F,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_NEGATE_RA_STATE_WITH_PC = 0x2C,
    CFA_NEGATE_RA_STATE = 0x2D, /* GNU_window_save elsewhere */
    CFA_GNU_ARGS_SIZE = 0x2E,
    CFA_GNU_NEGATIVE_OFFSET = 0x2F,
    CFA_ADVANCE_LOC = 1, /* these three: upper two bits */
    CFA_OFFSET = 2,
    CFA_RESTORE = 3
};

/* One run of instructions. */
struct run {
    const struct alqi_stack_cfi *cfi;
    struct alqi_stack_bytes code;
    struct alqi_stack_cfi_state *state;         /* the row so far */
    const struct alqi_stack_cfi_state *initial; /* what restore goes back to;
                                                   NULL in a CIE */
    unsigned n_remembered;
    struct alqi_stack_cfi_state remembered[REMEMBERED_MAX];
};

/* A register rule with that value; bad when the value leaves 32 bits. */
static struct alqi_stack_reg_rule
reg_rule_of(struct run *r, unsigned how, int64_t value)
{
    struct alqi_stack_reg_rule c = {(int32_t)value, 0, (uint8_t)how};

    if (value < INT32_MIN || value > INT32_MAX)
        r->code.is_bad = true;
    return c;
}

/* factor * data_align, bad when it leaves 32 bits */
static int64_t
factored(struct run *r, int64_t factor)
{
    int64_t v;

    if (__builtin_mul_overflow(factor, r->cfi->data_align, &v)) {
        r->code.is_bad = true;
        v = 0;
    }
    return v;
}

/* The column of a register that is followed; -1: it is not. */
static int
column_of(const struct alqi_stack_cfi *cfi, uint64_t reg)
{
    if (reg == ALQI_ARCH_FP)
        return ALQI_STACK_COL_FP;
    if (reg == cfi->ra_reg)
        return ALQI_STACK_COL_RA;
    if (reg == cfi->extra_reg && reg != ALQI_STACK_NO_REG)
        return ALQI_STACK_COL_EXTRA;
    return -1;
}

static void
column_set(struct run *r, uint64_t reg, struct alqi_stack_reg_rule cell)
{
    int i = column_of(r->cfi, reg);

    if (i >= 0)
        r->state->col[i] = cell;
}

/* DW_CFA_restore: the rule that the CIE left. */
static void
column_restore(struct run *r, uint64_t reg)
{
    int i = column_of(r->cfi, reg);

    if (r->initial == NULL)
        r->code.is_bad = true;
    else if (i >= 0)
        r->state->col[i] = r->initial->col[i];
}

/* A register rule that is an expression, whose bytes are skipped. */
static struct alqi_stack_reg_rule
expression(struct run *r, unsigned how)
{
    uint64_t n = alqi_stack_bytes_uleb(&r->code);
    const uint8_t *p = alqi_stack_bytes_take(&r->code, n);
    struct alqi_stack_reg_rule c = {0, 0, ALQI_STACK_UNDEFINED};

    if (p == NULL || n > UINT16_MAX || p - r->cfi->origin > PLACE_MAX) {
        r->code.is_bad = true;
        return c;
    }
    c = reg_rule_of(r, how, p - r->cfi->origin);
    c.n_bytes = (uint16_t)n;
    return c;
}

static void
cfa_register(struct run *r, uint64_t reg)
{
    if (reg >= ALQI_STACK_NO_REG)
        r->code.is_bad = true;
    r->state->cfa_reg = (uint8_t)reg;
}

static void
cfa_offset(struct run *r, int64_t offset)
{
    r->state->cfa = reg_rule_of(r, ALQI_STACK_OFFSET, offset);
}

/* A new register or a new offset alone needs a CFA that has both. */
static void
cfa_must_be_offset(struct run *r)
{
    if (r->state->cfa.how != ALQI_STACK_OFFSET)
        r->code.is_bad = true;
}

/* Instructions that change the CFA. */
static void
run_cfa(struct run *r, uint8_t op)
{
    struct alqi_stack_bytes *b = &r->code;

    switch (op) {
    case CFA_DEF_CFA:
        cfa_register(r, alqi_stack_bytes_uleb(b));
        cfa_offset(r, (int64_t)alqi_stack_bytes_uleb(b));
        break;
    case CFA_DEF_CFA_SF:
        cfa_register(r, alqi_stack_bytes_uleb(b));
        cfa_offset(r, factored(r, alqi_stack_bytes_sleb(b)));
        break;
    case CFA_DEF_CFA_REGISTER:
        cfa_must_be_offset(r);
        cfa_register(r, alqi_stack_bytes_uleb(b));
        break;
    case CFA_DEF_CFA_OFFSET:
        cfa_must_be_offset(r);
        cfa_offset(r, (int64_t)alqi_stack_bytes_uleb(b));
        break;
    case CFA_DEF_CFA_OFFSET_SF:
        cfa_must_be_offset(r);
        cfa_offset(r, factored(r, alqi_stack_bytes_sleb(b)));
        break;
    default: /* CFA_DEF_CFA_EXPRESSION */
        r->state->cfa = expression(r, ALQI_STACK_VAL_EXPR);
        break;
    }
}

/* Instructions that change a register's rule. */
static void
run_column(struct run *r, uint8_t op)
{
    struct alqi_stack_bytes *b = &r->code;
    uint64_t reg = alqi_stack_bytes_uleb(b);
    struct alqi_stack_reg_rule c = {0, 0, ALQI_STACK_SAME};

    switch (op) {
    case CFA_RESTORE_EXTENDED:
        column_restore(r, reg);
        return;
    case CFA_SAME_VALUE:
        break;
    case CFA_UNDEFINED:
        c.how = ALQI_STACK_UNDEFINED;
        break;
    case CFA_REGISTER:
        c = reg_rule_of(r, ALQI_STACK_REGISTER,
                        (int64_t)alqi_stack_bytes_uleb(b));
        break;
    case CFA_OFFSET_EXTENDED:
    case CFA_VAL_OFFSET:
        c = reg_rule_of(
            r, op == CFA_VAL_OFFSET ? ALQI_STACK_VAL_OFFSET : ALQI_STACK_OFFSET,
            factored(r, (int64_t)alqi_stack_bytes_uleb(b)));
        break;
    case CFA_OFFSET_EXTENDED_SF:
    case CFA_VAL_OFFSET_SF:
        c = reg_rule_of(r,
                        op == CFA_VAL_OFFSET_SF ? ALQI_STACK_VAL_OFFSET
                                                : ALQI_STACK_OFFSET,
                        factored(r, alqi_stack_bytes_sleb(b)));
        break;
    case CFA_GNU_NEGATIVE_OFFSET:
        c = reg_rule_of(r, ALQI_STACK_OFFSET,
                        -factored(r, (int64_t)alqi_stack_bytes_uleb(b)));
        break;
    default: /* CFA_EXPRESSION, CFA_VAL_EXPRESSION */
        c = expression(r, op == CFA_EXPRESSION ? ALQI_STACK_EXPR
                                               : ALQI_STACK_VAL_EXPR);
        break;
    }
    column_set(r, reg, c);
}

/* DW_CFA_remember_state and restore_state. */
static void
run_state(struct run *r, uint8_t op)
{
    if (op == CFA_REMEMBER_STATE) {
        if (r->n_remembered == REMEMBERED_MAX)
            r->code.is_bad = true;
        else
            r->remembered[r->n_remembered++] = *r->state;
    } else if (r->n_remembered == 0) {
        r->code.is_bad = true;
    } else {
        *r->state = r->remembered[--r->n_remembered];
    }
}

/* The location after an advance; other instructions leave it. */
static uintptr_t
run_location(struct run *r, uint8_t op, uintptr_t loc)
{
    struct alqi_stack_bytes *b = &r->code;
    uint64_t caf = r->cfi->code_align;

    switch (op) {
    case CFA_SET_LOC:
        return alqi_stack_encoded(b, r->cfi->pointer_encoding,
                                  r->cfi->data_base);
    case CFA_ADVANCE_LOC1:
        return loc + alqi_stack_bytes_u8(b) * caf;
    case CFA_ADVANCE_LOC2:
        return loc + alqi_stack_bytes_uint(b, 2) * caf;
    default: /* CFA_ADVANCE_LOC4 */
        return loc + alqi_stack_bytes_uint(b, 4) * caf;
    }
}

/* An instruction whose code takes the whole byte; returns the location after
 * it. */
static uintptr_t
run_extended(struct run *r, uint8_t op, uintptr_t loc)
{
    switch (op) {
    case CFA_NOP:
    case CFA_NEGATE_RA_STATE:
        break;
    case CFA_NEGATE_RA_STATE_WITH_PC:
        break;
    case CFA_GNU_ARGS_SIZE:
        alqi_stack_bytes_uleb(&r->code);
        break;
    case CFA_SET_LOC:
    case CFA_ADVANCE_LOC1:
    case CFA_ADVANCE_LOC2:
    case CFA_ADVANCE_LOC4:
        return run_location(r, op, loc);
    case CFA_REMEMBER_STATE:
    case CFA_RESTORE_STATE:
        run_state(r, op);
        break;
    case CFA_DEF_CFA:
    case CFA_DEF_CFA_REGISTER:
    case CFA_DEF_CFA_OFFSET:
    case CFA_DEF_CFA_EXPRESSION:
    case CFA_DEF_CFA_SF:
    case CFA_DEF_CFA_OFFSET_SF:
        run_cfa(r, op);
        break;
    default:
        if ((op >= CFA_OFFSET_EXTENDED && op <= CFA_VAL_EXPRESSION) ||
            op == CFA_GNU_NEGATIVE_OFFSET)
            run_column(r, op);
        else
            r->code.is_bad = true;
    }
    return loc;
}

bool
alqi_stack_cfi_run(const struct alqi_stack_cfi *cfi,
                   const struct alqi_stack_bytes *code, uintptr_t *loc,
                   uintptr_t key, const struct alqi_stack_cfi_state *initial,
                   struct alqi_stack_cfi_state *state)
{
    struct run r;

    r.cfi = cfi;
    r.code = *code;
    r.state = state;
    r.initial = initial;
    r.n_remembered = 0;
    while (r.code.at < r.code.end && *loc <= key) {
        uint8_t byte = alqi_stack_bytes_u8(&r.code);
        uint8_t low = byte & 0x3F;

        switch (byte >> 6) {
        case CFA_ADVANCE_LOC:
            *loc += low * cfi->code_align;
            break;
        case CFA_OFFSET:
            column_set(&r, low,
                       reg_rule_of(&r, ALQI_STACK_OFFSET,
                                   factored(&r, (int64_t)alqi_stack_bytes_uleb(
                                                    &r.code))));
            break;
        case CFA_RESTORE:
            column_restore(&r, low);
            break;
        default:
            *loc = run_extended(&r, byte, *loc);
        }
    }
    return !r.code.is_bad;
}
