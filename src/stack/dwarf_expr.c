/* dwarf_expr.c -- the evaluator of DWARF expressions
 *
 * Numbers are those of DWARF 5, section 2.5.  CFI may not use operations that
 * need a compilation unit, an object or a call; they are refused.  Bounded in
 * stack (16 words) and in steps: a loop in a damaged file ends. */
#include "stack/dwarf_bytes.h"
#include "stack/dwarf_expr.h"

enum { STACK_MAX = 16, STEPS_MAX = 512 };

enum {
    OP_ADDR = 0x03,
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST1S = 0x09,
    OP_CONST2U = 0x0A,
    OP_CONST2S = 0x0B,
    OP_CONST4U = 0x0C,
    OP_CONST4S = 0x0D,
    OP_CONST8U = 0x0E,
    OP_CONST8S = 0x0F,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_DUP = 0x12,
    OP_DROP = 0x13,
    OP_OVER = 0x14,
    OP_PICK = 0x15,
    OP_SWAP = 0x16,
    OP_ROT = 0x17,
    OP_ABS = 0x19,
    OP_AND = 0x1A,
    OP_DIV = 0x1B,
    OP_MINUS = 0x1C,
    OP_MOD = 0x1D,
    OP_MUL = 0x1E,
    OP_NEG = 0x1F,
    OP_NOT = 0x20,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_SHR = 0x25,
    OP_SHRA = 0x26,
    OP_XOR = 0x27,
    OP_BRA = 0x28,
    OP_EQ = 0x29,
    OP_GE = 0x2A,
    OP_GT = 0x2B,
    OP_LE = 0x2C,
    OP_LT = 0x2D,
    OP_NE = 0x2E,
    OP_SKIP = 0x2F,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4F,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8F,
    OP_BREGX = 0x92,
    OP_DEREF_SIZE = 0x94,
    OP_NOP = 0x96
};

/* One evaluation.  code.is_bad: what was asked for is not there. */
struct machine {
    const struct alqi_stack_expr_env *env;
    const uint8_t *start;         /* jumps stay behind it */
    struct alqi_stack_bytes code; /* from the next operation on */
    unsigned n;                   /* words on the stack */
    uint64_t stack[STACK_MAX];
};

static void
push(struct machine *m, uint64_t v)
{
    if (m->n == STACK_MAX)
        m->code.is_bad = true;
    else
        m->stack[m->n++] = v;
}

static uint64_t
pop(struct machine *m)
{
    if (m->n == 0) {
        m->code.is_bad = true;
        return 0;
    }
    return m->stack[--m->n];
}

/* Pushes a copy of the word `depth` below the top. */
static void
push_nth(struct machine *m, unsigned depth)
{
    if (depth >= m->n)
        m->code.is_bad = true;
    else
        push(m, m->stack[m->n - 1 - depth]);
}

/* Pushes n_bytes of memory at the address on top. */
static void
push_read(struct machine *m, unsigned n_bytes)
{
    uint64_t address = pop(m), v = 0;

    if (n_bytes == 0 || n_bytes > 8 || m->code.is_bad ||
        !m->env->read(m->env->arg, address, n_bytes, &v))
        m->code.is_bad = true;
    push(m, v);
}

/* Pushes a register plus the offset that follows. */
static void
push_register(struct machine *m, uint64_t reg)
{
    int64_t offset = alqi_stack_bytes_sleb(&m->code);
    uint64_t v = 0;

    if (reg > UINT8_MAX || !m->env->reg(m->env->arg, (unsigned)reg, &v))
        m->code.is_bad = true;
    push(m, v + (uint64_t)offset);
}

/* A relative jump inside the expression. */
static void
jump(struct machine *m, bool is_taken)
{
    int64_t by = alqi_stack_bytes_int(&m->code, 2);
    int64_t back = m->code.at - m->start;

    if (!is_taken)
        return;
    if (by < -back || by > (int64_t)alqi_stack_bytes_left(&m->code))
        m->code.is_bad = true;
    else
        m->code.at += by;
}

/* Operations that push a constant behind them. */
static void
run_constant(struct machine *m, uint8_t op)
{
    struct alqi_stack_bytes *b = &m->code;

    if (op == OP_CONSTU)
        push(m, alqi_stack_bytes_uleb(b));
    else if (op == OP_CONSTS)
        push(m, (uint64_t)alqi_stack_bytes_sleb(b));
    else if ((op - OP_CONST1U) % 2 == 0)
        push(m, alqi_stack_bytes_uint(b, 1u << ((op - OP_CONST1U) / 2)));
    else
        push(m,
             (uint64_t)alqi_stack_bytes_int(b, 1u << ((op - OP_CONST1U) / 2)));
}

/* Operations that move words of the stack. */
static void
run_shuffle(struct machine *m, uint8_t op)
{
    uint64_t a, b, c;

    switch (op) {
    case OP_DUP:
        push_nth(m, 0);
        break;
    case OP_DROP:
        pop(m);
        break;
    case OP_OVER:
        push_nth(m, 1);
        break;
    case OP_PICK:
        push_nth(m, alqi_stack_bytes_u8(&m->code));
        break;
    case OP_SWAP:
        a = pop(m);
        b = pop(m);
        push(m, a);
        push(m, b);
        break;
    default: /* OP_ROT: the top becomes the third */
        a = pop(m);
        b = pop(m);
        c = pop(m);
        push(m, a);
        push(m, c);
        push(m, b);
        break;
    }
}

/* 1 or 0: comparisons are signed. */
static uint64_t
compared(uint8_t op, int64_t x, int64_t y)
{
    switch (op) {
    case OP_EQ:
        return x == y;
    case OP_GE:
        return x >= y;
    case OP_GT:
        return x > y;
    case OP_LE:
        return x <= y;
    case OP_LT:
        return x < y;
    default: /* OP_NE */
        return x != y;
    }
}

/* A shift by 64 bits or more leaves no bit of the value. */
static uint64_t
shifted(uint8_t op, uint64_t x, uint64_t by)
{
    switch (op) {
    case OP_SHL:
        return by < 64 ? x << by : 0;
    case OP_SHR:
        return by < 64 ? x >> by : 0;
    default: /* OP_SHRA */
        return (uint64_t)((int64_t)x >> (by < 64 ? by : 63));
    }
}

/* DW_OP_div, which is signed, or DW_OP_mod, which is not.  A quotient that does
 * not exist makes the expression bad. */
static uint64_t
divided(struct machine *m, uint8_t op, uint64_t x, uint64_t y)
{
    if (y == 0 ||
        (op == OP_DIV && x == (uint64_t)INT64_MIN && y == UINT64_MAX)) {
        m->code.is_bad = true;
        return 0;
    }
    return op == OP_MOD ? x % y : (uint64_t)((int64_t)x / (int64_t)y);
}

/* Operations on the two words on top. */
static void
run_binary(struct machine *m, uint8_t op)
{
    uint64_t y = pop(m), x = pop(m), v;

    switch (op) {
    case OP_AND:
        v = x & y;
        break;
    case OP_DIV:
    case OP_MOD:
        v = divided(m, op, x, y);
        break;
    case OP_MINUS:
        v = x - y;
        break;
    case OP_MUL:
        v = x * y;
        break;
    case OP_OR:
        v = x | y;
        break;
    case OP_PLUS:
        v = x + y;
        break;
    case OP_SHL:
    case OP_SHR:
    case OP_SHRA:
        v = shifted(op, x, y);
        break;
    case OP_XOR:
        v = x ^ y;
        break;
    default: /* a comparison */
        v = compared(op, (int64_t)x, (int64_t)y);
        break;
    }
    push(m, v);
}

/* Operations on the word on top. */
static void
run_unary(struct machine *m, uint8_t op)
{
    uint64_t x = pop(m);

    switch (op) {
    case OP_ABS:
        push(m, (int64_t)x < 0 ? -x : x);
        break;
    case OP_NEG:
        push(m, -x);
        break;
    case OP_NOT:
        push(m, ~x);
        break;
    default: /* OP_PLUS_UCONST */
        push(m, x + alqi_stack_bytes_uleb(&m->code));
        break;
    }
}

/* Operations that read memory or registers, or jump. */
static void
run_other(struct machine *m, uint8_t op)
{
    switch (op) {
    case OP_ADDR:
        push(m, alqi_stack_bytes_uint(&m->code, 8));
        break;
    case OP_DEREF:
        push_read(m, 8);
        break;
    case OP_DEREF_SIZE:
        push_read(m, alqi_stack_bytes_u8(&m->code));
        break;
    case OP_BREGX:
        push_register(m, alqi_stack_bytes_uleb(&m->code));
        break;
    case OP_SKIP:
        jump(m, true);
        break;
    case OP_BRA:
        jump(m, pop(m) != 0);
        break;
    case OP_NOP:
        break;
    default:
        m->code.is_bad = true;
    }
}

/* One operation, by its class. */
static void
run_one(struct machine *m)
{
    uint8_t op = alqi_stack_bytes_u8(&m->code);

    if (op >= OP_LIT0 && op <= OP_LIT31)
        push(m, op - OP_LIT0);
    else if (op >= OP_BREG0 && op <= OP_BREG31)
        push_register(m, op - OP_BREG0);
    else if (op >= OP_CONST1U && op <= OP_CONSTS)
        run_constant(m, op);
    else if (op >= OP_DUP && op <= OP_ROT)
        run_shuffle(m, op);
    else if (op == OP_ABS || op == OP_NEG || op == OP_NOT ||
             op == OP_PLUS_UCONST)
        run_unary(m, op);
    else if (op >= OP_AND && op <= OP_NE && op != OP_BRA)
        run_binary(m, op);
    else
        run_other(m, op);
}

bool
alqi_stack_expr_eval(const struct alqi_stack_expr_env *env, const uint8_t *expr,
                     uint32_t n_bytes, const uint64_t *initial, uint64_t *out)
{
    struct machine m;
    unsigned steps = 0;

    m.env = env;
    m.start = expr;
    m.code.at = expr;
    m.code.end = expr + n_bytes;
    m.code.is_bad = false;
    m.n = 0;
    if (initial != NULL)
        push(&m, *initial);
    while (m.code.at < m.code.end && !m.code.is_bad) {
        if (++steps > STEPS_MAX)
            return false;
        run_one(&m);
    }
    if (m.code.is_bad || m.n == 0)
        return false;
    *out = m.stack[m.n - 1];
    return true;
}
