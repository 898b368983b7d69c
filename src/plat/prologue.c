/* prologue.c -- the first instructions of a function, copied to another place
 *
 *   decode: prefixes, opcode, ModRM and what follows it --> a length
 *   copy:   as it is, but for what is relative to the instruction's place
 *
 * It knows what compilers begin functions with: moves, arithmetic, pushes,
 * tests, branches.
 *
 * .inv.refuse  An instruction that the table of operands lacks is refused, and
 *              so are calls (their return address would be in the copy, which
 *              no unwinder knows), and branches into what is copied. */
#include "plat/prologue.h"

#include <string.h>

#if defined(__x86_64__)

/* An instruction. */
struct instruction {
    size_t n_bytes;
    size_t opcode_at;   /* from its start; of the last opcode byte */
    size_t relative_at; /* of 4 bytes relative to its end; 0: none */
    int64_t short_far;  /* a short branch's distance               */
    bool is_short;      /* a conditional branch of 8 bits          */
    bool is_branch;     /* relative_at is where it goes            */
    bool is_end;        /* nothing behind it is run                */
};

/* What follows the opcode. */
enum operands {
    UNKNOWN = 0,
    NONE,
    IMM8,
    IMM32,
    IMM64, /* 32 bits without REX.W */
    MODRM,
    MODRM_IMM8,
    MODRM_IMM32,
    SHORT, /* a branch of 8 bits  */
    LONG   /* a branch of 32 bits */
};

static enum operands
operands_of_arithmetic(uint8_t opcode)
{
    switch (opcode & 7) {
    case 4:
        return IMM8;
    case 5:
        return IMM32;
    case 6:
    case 7:
        return UNKNOWN;
    default:
        return MODRM;
    }
}

/* FF: increments, pushes, jumps; no calls, nothing far. */
static enum operands
operands_of_group5(uint8_t modrm, bool *is_end)
{
    unsigned sub = (modrm >> 3) & 7;

    *is_end = sub == 4;
    return sub == 0 || sub == 1 || sub == 4 || sub == 6 ? MODRM : UNKNOWN;
}

static enum operands
operands_of(uint8_t opcode, uint8_t next, bool *is_end)
{
    if (opcode < 0x40)
        return operands_of_arithmetic(opcode);
    if (opcode >= 0x50 && opcode <= 0x5F)
        return NONE; /* push, pop */
    if (opcode >= 0x70 && opcode <= 0x7F)
        return SHORT;
    if (opcode >= 0x84 && opcode <= 0x8D && opcode != 0x8C)
        return MODRM; /* test, xchg, mov, lea */
    if (opcode >= 0xB0 && opcode <= 0xB7)
        return IMM8;
    if (opcode >= 0xB8 && opcode <= 0xBF)
        return IMM64;
    switch (opcode) {
    case 0x63: /* movslq */
    case 0xD1: /* shifts */
    case 0xD3:
    case 0xFE:
        return MODRM;
    case 0x69: /* imul */
    case 0x81:
    case 0xC7:
        return MODRM_IMM32;
    case 0x6B:
    case 0x80:
    case 0x83:
    case 0xC0:
    case 0xC1:
    case 0xC6:
        return MODRM_IMM8;
    case 0x68:
    case 0xA9:
        return IMM32;
    case 0x6A:
    case 0xA8:
        return IMM8;
    case 0x90:
        return NONE;
    case 0xE9:
        *is_end = true;
        return LONG;
    case 0xF6: /* test has an operand more */
        return (next & 0x30) == 0 ? MODRM_IMM8 : MODRM;
    case 0xF7:
        return (next & 0x30) == 0 ? MODRM_IMM32 : MODRM;
    case 0xFF:
        return operands_of_group5(next, is_end);
    default:
        return UNKNOWN;
    }
}

/* Of the opcodes that begin with 0F. */
static enum operands
operands_of_0f(uint8_t opcode)
{
    if (opcode >= 0x80 && opcode <= 0x8F)
        return LONG;
    if ((opcode >= 0x40 && opcode <= 0x4F) || /* cmov */
        (opcode >= 0x90 && opcode <= 0x9F))   /* set  */
        return MODRM;
    switch (opcode) {
    case 0x0D: /* prefetch, nop */
    case 0x10: /* moves of vectors */
    case 0x11:
    case 0x18:
    case 0x1F:
    case 0x28:
    case 0x29:
    case 0x57:
    case 0x6E:
    case 0x6F:
    case 0x7E:
    case 0x7F:
    case 0xAF: /* imul */
    case 0xB6: /* movzx, movsx */
    case 0xB7:
    case 0xBC: /* bit scans */
    case 0xBD:
    case 0xBE:
    case 0xBF:
    case 0xD6:
    case 0xEF:
        return MODRM;
    default:
        return UNKNOWN;
    }
}

/* Bytes of ModRM and what it asks for; *has_rip: its 4 bytes, behind the first,
 * are relative. */
static size_t
modrm_bytes(const uint8_t *at, bool *has_rip)
{
    uint8_t mod = at[0] >> 6, rm = at[0] & 7;
    size_t n = 1;

    *has_rip = mod == 0 && rm == 5;
    if (mod == 3)
        return n;
    if (rm == 4) {
        n++;
        if (mod == 0 && (at[1] & 7) == 5)
            n += 4;
    }
    if (mod == 1)
        n++;
    else if (mod == 2 || *has_rip)
        n += 4;
    return n;
}

static bool
is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0xF2 || byte == 0xF3 || byte == 0x64;
}

/* Reads the operands; false: unknown.  `at` is behind the opcode. */
static bool
operands_read(struct instruction *i, const uint8_t *code, size_t at,
              enum operands operands, bool is_wide, bool is_narrow)
{
    size_t n_imm = operands == IMM8 || operands == MODRM_IMM8 ? 1 : 0;
    bool has_rip;

    if (operands == UNKNOWN)
        return false;
    if (operands == IMM32 || operands == IMM64 || operands == MODRM_IMM32)
        n_imm = is_narrow ? 2 : operands == IMM64 && is_wide ? 8 : 4;
    if (operands >= MODRM && operands <= MODRM_IMM32) {
        size_t n = modrm_bytes(code + at, &has_rip);

        if (has_rip)
            i->relative_at = at + 1;
        at += n;
    }
    if (operands == SHORT) {
        i->is_short = true;
        i->short_far = (int8_t)code[at++];
    }
    if (operands == LONG) {
        i->relative_at = at;
        i->is_branch = true;
        at += 4;
    }
    i->n_bytes = at + n_imm;
    return true;
}

/* False: it is not known (.inv.refuse).  15 bytes are there. */
static bool
decode(const uint8_t *code, struct instruction *i)
{
    bool is_wide = false, is_narrow = false;
    enum operands operands;
    size_t at = 0;

    *i = (struct instruction){0};
    while (at < 4 && is_prefix(code[at]))
        is_narrow = is_narrow || code[at++] == 0x66;
    if ((code[at] & 0xF0) == 0x40)
        is_wide = (code[at++] & 8) != 0;
    i->opcode_at = at;
    if (code[at] == 0x0F) {
        i->opcode_at = ++at;
        operands = operands_of_0f(code[at]);
    } else {
        operands = operands_of(code[at], code[at + 1], &i->is_end);
    }
    return operands_read(i, code, at + 1, operands, is_wide, is_narrow);
}

static bool
fits(int64_t far)
{
    return far >= INT32_MIN && far <= INT32_MAX;
}

static void
far_put(uint8_t *at, int64_t far)
{
    int32_t value = (int32_t)far;

    memcpy(at, &value, sizeof value);
}

/* One of 8 bits becomes one of 32. */
static size_t
short_copy(const uint8_t *from, const struct instruction *i, uint8_t *to,
           int64_t moved)
{
    to[0] = 0x0F;
    to[1] = (uint8_t)(from[i->opcode_at] + 0x10);
    far_put(to + 2, i->short_far + (int64_t)i->n_bytes - 6 - moved);
    return 6;
}

/* Copies an instruction that moves by so many bytes; 0: it would reach too far.
 */
static size_t
instruction_copy(const uint8_t *from, const struct instruction *i, uint8_t *to,
                 int64_t moved)
{
    int32_t far;

    if (i->is_short)
        return fits(moved + INT16_MAX) && fits(moved - INT16_MAX)
                   ? short_copy(from, i, to, moved)
                   : 0;
    memcpy(to, from, i->n_bytes);
    if (i->relative_at == 0)
        return i->n_bytes;
    memcpy(&far, from + i->relative_at, sizeof far);
    if (!fits(far - moved))
        return 0;
    far_put(to + i->relative_at, far - moved);
    return i->n_bytes;
}

/* Where the branch at that offset of the function goes, as an offset;
 * INT64_MAX: it is none. */
static int64_t
branch_target(const uint8_t *from, const struct instruction *i, size_t at)
{
    int32_t far;

    if (i->is_short)
        return (int64_t)(at + i->n_bytes) + i->short_far;
    if (!i->is_branch)
        return INT64_MAX;
    memcpy(&far, from + at + i->relative_at, sizeof far);
    return (int64_t)(at + i->n_bytes) + far;
}

static bool
fail(struct alqi_plat_copied *copied, const char *why)
{
    copied->why = why;
    return false;
}

bool
alqi_plat_prologue_copy(const uint8_t *from, size_t n_bytes,
                        uintptr_t from_address,
                        uint8_t to[ALQI_PLAT_COPY_BYTES], uintptr_t to_address,
                        struct alqi_plat_copied *copied)
{
    enum { INSTRUCTION_BYTES_MAX = 15 };
    uint8_t window[ALQI_PLAT_JUMP_BYTES + 2 * INSTRUCTION_BYTES_MAX] = {0};
    int64_t target[ALQI_PLAT_JUMP_BYTES];
    unsigned n_targets = 0;
    size_t at = 0, n;

    *copied = (struct alqi_plat_copied){0};
    if (n_bytes > sizeof window)
        n_bytes = sizeof window;
    memcpy(window, from, n_bytes);
    while (at < ALQI_PLAT_JUMP_BYTES) {
        struct instruction i;

        if (!decode(window + at, &i))
            return fail(copied, "it begins with an instruction that cannot be "
                                "moved");
        if (at + i.n_bytes > n_bytes ||
            (i.is_end && at + i.n_bytes < ALQI_PLAT_JUMP_BYTES))
            return fail(copied, "it is shorter than a jump");
        target[n_targets++] = branch_target(window, &i, at);
        n = instruction_copy(
            window + at, &i, to + copied->n_to,
            (int64_t)(to_address + copied->n_to - from_address - at));
        if (n == 0)
            return fail(copied, "its copy is too far from what it refers to");
        copied->n_to += n;
        at += i.n_bytes;
    }
    for (unsigned k = 0; k < n_targets; k++)
        if (target[k] >= 0 && target[k] < (int64_t)at)
            return fail(copied, "it branches into its first instructions");
    copied->n_from = at;
    return true;
}

/* endbr64 */
size_t
alqi_plat_prologue_marker(const uint8_t *from)
{
    static const uint8_t endbr64[] = {0xF3, 0x0F, 0x1E, 0xFA};

    return memcmp(from, endbr64, sizeof endbr64) == 0 ? sizeof endbr64 : 0;
}

bool
alqi_plat_jump_put(uint8_t at[ALQI_PLAT_JUMP_BYTES], uintptr_t at_address,
                   uintptr_t target)
{
    int64_t far = (int64_t)(target - at_address - ALQI_PLAT_JUMP_BYTES);

    if (!fits(far))
        return false;
    at[0] = 0xE9;
    far_put(at + 1, far);
    return true;
}

#else

bool
alqi_plat_prologue_copy(const uint8_t *from, size_t n_bytes,
                        uintptr_t from_address,
                        uint8_t to[ALQI_PLAT_COPY_BYTES], uintptr_t to_address,
                        struct alqi_plat_copied *copied)
{
    (void)from, (void)n_bytes, (void)from_address, (void)to, (void)to_address;
    *copied = (struct alqi_plat_copied){.why = "this is not an x86-64 machine"};
    return false;
}

size_t
alqi_plat_prologue_marker(const uint8_t *from)
{
    (void)from;
    return 0;
}

bool
alqi_plat_jump_put(uint8_t at[ALQI_PLAT_JUMP_BYTES], uintptr_t at_address,
                   uintptr_t target)
{
    (void)at, (void)at_address, (void)target;
    return false;
}

#endif
