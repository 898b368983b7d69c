/* dwarf_cfi.h -- what call frame instructions say at one address
 *
 * Only what a walk needs is kept: the CFA, the frame pointer, the return
 * address, and one more register on request.  A register rule that is an
 * expression names its bytes by their offset from `origin`. */
#ifndef ALQI_STACK_DWARF_CFI_H
#define ALQI_STACK_DWARF_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "stack/dwarf_bytes.h"

enum alqi_stack_how {
    ALQI_STACK_SAME,       /* no rule, or "same value" */
    ALQI_STACK_UNDEFINED,  /* the value is gone */
    ALQI_STACK_OFFSET,     /* saved at CFA + value */
    ALQI_STACK_VAL_OFFSET, /* is CFA + value */
    ALQI_STACK_REGISTER,   /* is in register `value` */
    ALQI_STACK_EXPR,       /* saved where the expression says */
    ALQI_STACK_VAL_EXPR    /* is what the expression says */
};

/* Where a register of the caller is: DWARF's register rule. */
struct alqi_stack_reg_rule {
    int32_t value;    /* offset, register, or where the expression begins */
    uint16_t n_bytes; /* of the expression */
    uint8_t how;      /* enum alqi_stack_how */
};

enum { ALQI_STACK_COL_FP, ALQI_STACK_COL_RA, ALQI_STACK_COL_EXTRA };
enum { ALQI_STACK_N_COLS = 3, ALQI_STACK_NO_REG = 0xFF };

/* A row of the call frame table. */
struct alqi_stack_cfi_state {
    struct alqi_stack_reg_rule cfa; /* UNDEFINED, OFFSET of cfa_reg, VAL_EXPR */
    struct alqi_stack_reg_rule col[ALQI_STACK_N_COLS];
    uint8_t cfa_reg;
};

/* What the instructions of one CIE and its FDEs go by. */
struct alqi_stack_cfi {
    const uint8_t *origin; /* expressions are named by their offset from here */
    uint64_t code_align;   /* factors of the CIE */
    int64_t data_align;
    uintptr_t data_base; /* for pointers encoded relative to data */
    uint8_t pointer_encoding;
    uint8_t ra_reg;    /* the column of the return address */
    uint8_t extra_reg; /* or ALQI_STACK_NO_REG */
};

/* Runs instructions from location *loc until one would lie beyond `key`.
 * `initial` is the state after the CIE's instructions, NULL while they run.
 * False when they are malformed, unknown, or nest too deeply. */
bool alqi_stack_cfi_run(const struct alqi_stack_cfi *cfi,
                        const struct alqi_stack_bytes *code, uintptr_t *loc,
                        uintptr_t key,
                        const struct alqi_stack_cfi_state *initial,
                        struct alqi_stack_cfi_state *state);

#endif
