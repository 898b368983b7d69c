/* instruction.c -- see instruction.h
 *
 *   prefixes, opcode, ModRM and what follows it --> a length
 *
 * It knows what compilers make.  Of that, moves, arithmetic, pushes, tests and
 * branches, with which functions begin, may be copied. */
#include "plat/instruction.h"

#if defined(__x86_64__)

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
    IMM16,
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

/* Of what functions do not begin with, or what cannot be moved: calls, returns,
 * and the rest of what compilers make. */
static enum operands
operands_of_others(uint8_t opcode)
{
    if ((opcode >= 0x91 && opcode <= 0x99) || /* xchg, cltq, cqto */
        (opcode >= 0xA4 && opcode <= 0xA7) || /* of strings       */
        (opcode >= 0xAA && opcode <= 0xAF) ||
        (opcode >= 0xF8 && opcode <= 0xFD)) /* flags            */
        return NONE;
    if (opcode >= 0xD8 && opcode <= 0xDF)
        return MODRM; /* x87 */
    if (opcode >= 0xE0 && opcode <= 0xE3)
        return SHORT; /* loops */
    switch (opcode) {
    case 0x8C: /* segments */
    case 0x8E:
    case 0x8F: /* pop */
    case 0xD0: /* shifts */
    case 0xD2:
    case 0xFF: /* calls */
        return MODRM;
    case 0x9B:
    case 0x9C:
    case 0x9D:
    case 0x9E:
    case 0x9F:
    case 0xC3: /* ret */
    case 0xC9: /* leave */
    case 0xCC:
    case 0xF4:
    case 0xF5:
        return NONE;
    case 0xC2:
        return IMM16;
    case 0xCD:
        return IMM8;
    case 0xE8: /* call */
        return LONG;
    case 0xEB:
        return SHORT;
    default:
        return UNKNOWN;
    }
}

/* The same of those that begin with 0F, or a prefix of vectors for that map. */
static enum operands
operands_of_0f_others(uint8_t opcode)
{
    if ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xA4 ||
        opcode == 0xAC || opcode == 0xBA || opcode == 0xC2 ||
        (opcode >= 0xC4 && opcode <= 0xC6))
        return MODRM_IMM8;
    if ((opcode >= 0x30 && opcode <= 0x37) || /* rdtsc and others */
        (opcode >= 0xC8 && opcode <= 0xCF))   /* bswap            */
        return NONE;
    switch (opcode) {
    case 0x05:
    case 0x06:
    case 0x08:
    case 0x09:
    case 0x0B:
    case 0x77:
    case 0xA0:
    case 0xA1:
    case 0xA2:
    case 0xA8:
    case 0xA9:
    case 0xAA:
        return NONE;
    case 0x04:
    case 0x07:
    case 0x0A:
    case 0x0C:
    case 0x0E:
    case 0x0F:
        return UNKNOWN;
    default:
        return MODRM;
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

/* A lock, a segment, 32-bit addresses. */
static bool
is_prefix_other(uint8_t byte)
{
    return byte == 0xF0 || byte == 0x65 || byte == 0x67 || byte == 0x2E ||
           byte == 0x3E || byte == 0x26 || byte == 0x36;
}

/* Reads the operands; false: unknown.  `at` is behind the opcode. */
static bool
operands_read(struct alqi_plat_instruction *i, const uint8_t *code, size_t at,
              enum operands operands, bool is_wide, bool is_narrow)
{
    size_t n_imm = operands == IMM8 || operands == MODRM_IMM8 ? 1 : 0;
    bool has_rip;

    if (operands == UNKNOWN)
        return false;
    if (operands == IMM32 || operands == IMM64 || operands == MODRM_IMM32)
        n_imm = is_narrow ? 2 : operands == IMM64 && is_wide ? 8 : 4;
    if (operands == IMM16)
        n_imm = 2;
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
        i->is_branch = code[i->opcode_at] != 0xE8; /* calls come back */
        at += 4;
    }
    i->n_bytes = at + n_imm;
    return true;
}

/* Behind a prefix of vectors: of two bytes with one of what it says (C5), of
 * three (C4), of four (62).  *at becomes the opcode's place. */
static enum operands
operands_of_vector(const uint8_t *code, size_t *at)
{
    unsigned map = 1;

    if (code[*at] != 0xC5)
        map = code[*at + 1] & (code[*at] == 0x62 ? 7 : 31);
    *at += code[*at] == 0xC5 ? 2 : code[*at] == 0xC4 ? 3 : 4;
    return map == 1   ? operands_of_0f_others(code[*at])
           : map == 3 ? MODRM_IMM8
                      : MODRM;
}

/* Of those behind 0F; *at becomes the last opcode byte's place. */
static enum operands
operands_of_second(const uint8_t *code, size_t *at, bool *is_copied)
{
    enum operands operands = operands_of_0f(code[*at]);

    if (operands != UNKNOWN)
        return operands;
    *is_copied = false;
    if (code[*at] == 0x38 || code[*at] == 0x3A) {
        operands = code[*at] == 0x38 ? MODRM : MODRM_IMM8;
        ++*at;
        return operands;
    }
    return operands_of_0f_others(code[*at]);
}

/* Of those of one byte. */
static enum operands
operands_of_first(const uint8_t *code, struct alqi_plat_instruction *i)
{
    enum operands operands = operands_of(code[0], code[1], &i->is_end);

    if (operands != UNKNOWN)
        return operands;
    i->is_copied = false;
    return operands_of_others(code[0]);
}

bool
alqi_plat_instruction_read(const uint8_t *code, struct alqi_plat_instruction *i)
{
    bool is_wide = false, is_narrow = false;
    enum operands operands;
    size_t at = 0;

    *i = (struct alqi_plat_instruction){.is_copied = true};
    while (at < 5 && (is_prefix(code[at]) || is_prefix_other(code[at]))) {
        i->is_copied = i->is_copied && !is_prefix_other(code[at]);
        is_narrow = is_narrow || code[at] == 0x66;
        at++;
    }
    if ((code[at] & 0xF0) == 0x40)
        is_wide = (code[at++] & 8) != 0;
    if (code[at] == 0xC5 || code[at] == 0xC4 || code[at] == 0x62) {
        i->is_copied = false;
        operands = operands_of_vector(code, &at);
    } else if (code[at] == 0x0F) {
        at++;
        operands = operands_of_second(code, &at, &i->is_copied);
    } else {
        operands = operands_of_first(code + at, i);
    }
    i->opcode_at = at;
    return operands_read(i, code, at + 1, operands, is_wide, is_narrow);
}

#endif
