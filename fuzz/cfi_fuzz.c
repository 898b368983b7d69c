/* cfi_fuzz.c -- the reader of .eh_frame on any bytes
 *
 * Input: a 32-bit offset, then .eh_frame_hdr and all that follows in its
 * segment.  Keys are tried from header + offset on, so that code, which lies
 * before or behind the segment, can be hit.  What is found is reduced to a
 * rule, and its expressions are evaluated with registers and memory made up. */
#include <stdlib.h>
#include <string.h>

#include "stack/dwarf_expr.h"
#include "stack/unwind_rules.h"

enum { N_KEYS = 24, STRIDE = 5, REGISTERS_MAX = 17 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool is_true)
{
    if (!is_true)
        abort();
}

static bool
some_register(void *arg, unsigned reg, uint64_t *out)
{
    (void)arg;
    *out = 0x7FFF0000u + 8 * reg;
    return reg < REGISTERS_MAX;
}

static bool
some_memory(void *arg, uintptr_t address, unsigned n_bytes, uint64_t *out)
{
    (void)arg;
    check(n_bytes >= 1 && n_bytes <= 8);
    *out = address * 3;
    return address % 16 != 0;
}

static void
check_cell(const struct alqi_stack_complex *c,
           const struct alqi_stack_reg_rule *k)
{
    struct alqi_stack_expr_env env = {NULL, some_register, some_memory};
    uint64_t initial = 16, out = 0;

    if (k->how != ALQI_STACK_EXPR && k->how != ALQI_STACK_VAL_EXPR)
        return;
    check(k->value >= 0 && k->value + k->n_bytes <= ALQI_STACK_EXPR_BYTES);
    alqi_stack_expr_eval(&env, c->expr + k->value, k->n_bytes, &initial, &out);
    alqi_stack_expr_eval(&env, c->expr + k->value, k->n_bytes, NULL, &out);
}

static void
check_unwind(const struct alqi_stack_unwind *u)
{
    struct alqi_stack_scratch scratch;

    memset(&scratch, 0, sizeof scratch);
    alqi_stack_rule_of(u, &scratch);
    switch (scratch.rule.kind) {
    case ALQI_STACK_KIND_COMPLEX:
        check_cell(&scratch.complex, &scratch.complex.cfa);
        check_cell(&scratch.complex, &scratch.complex.fp);
        check_cell(&scratch.complex, &scratch.complex.ra);
        break;
    case ALQI_STACK_KIND_REGISTER:
        check(scratch.rule.cfa_reg == ALQI_ARCH_SP ||
              scratch.rule.cfa_reg == ALQI_ARCH_FP);
        break;
    case ALQI_STACK_KIND_NONE:
    case ALQI_STACK_KIND_END:
        break;
    default:
        check(false);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct alqi_stack_extent segment;
    struct alqi_stack_sections s;
    struct alqi_stack_unwind u;
    int32_t offset;

    if (size < sizeof offset)
        return 0;
    memcpy(&offset, data, sizeof offset);
    segment.lo = data + sizeof offset;
    segment.hi = data + size;
    if (!alqi_stack_sections_read(segment.lo, &segment, 1, &s))
        return 0;
    for (unsigned i = 0; i < N_KEYS; i++) {
        uintptr_t key = (uintptr_t)segment.lo + (uintptr_t)(intptr_t)offset +
                        i * (i + STRIDE);

        if (alqi_stack_ehframe_find(&s, key, i % 4 == 0 ? 3 : ALQI_STACK_NO_REG,
                                    &u))
            check_unwind(&u);
    }
    s.table = NULL; /* once more, entry by entry */
    if (alqi_stack_ehframe_find(
            &s, (uintptr_t)segment.lo + (uintptr_t)(intptr_t)offset,
            ALQI_STACK_NO_REG, &u))
        check_unwind(&u);
    return 0;
}
