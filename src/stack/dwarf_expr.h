/* dwarf_expr.h -- DWARF expressions as CFI uses them
 *
 * A stack machine over 64-bit words; registers and memory come from the
 * caller. */
#ifndef ALQI_STACK_DWARF_EXPR_H
#define ALQI_STACK_DWARF_EXPR_H

#include <stdbool.h>
#include <stdint.h>

/* Where an expression gets registers and memory from; either may refuse. */
struct alqi_stack_expr_env {
    void *arg;
    bool (*reg)(void *arg, unsigned reg, uint64_t *out);
    bool (*read)(void *arg, uintptr_t address, unsigned n_bytes, uint64_t *out);
};

/* Evaluates n_bytes of expression, with *initial on the stack if not NULL;
 * the top of the stack at the end is the value.  False for what is refused,
 * unknown, or takes too many steps or too much stack. */
bool alqi_stack_expr_eval(const struct alqi_stack_expr_env *env,
                          const uint8_t *expr, uint32_t n_bytes,
                          const uint64_t *initial, uint64_t *out);

#endif
