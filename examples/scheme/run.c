/* run.c -- the machine
 *
 * A frame on the stack:  fp[-1]   the procedure
 *                        fp[0]    parameters
 *                        fp[n]    the caller's CALL, whose address is even:
 *                                 with 1 added an integer to the heap
 *                        fp[n+1]  other variables, and values on their way
 *
 * The callee's frame stands above what the caller uses, at the place that its
 * CALL names, which is also where the result goes.
 *
 * .inv.top  At each call that may collect, `top` is above the last place in use
 *           and all below were written: compile.c's .inv.places. */
#include <string.h>

#include "scheme.h"

enum { LEVELS_MAX = 2000, ARGS_MAX = 8000 };

/* Where a run begins: the procedure in place 0 is called. */
static const struct instruction start[] = {{.n_used = 1, .op = OP_CALL},
                                           {.op = OP_HALT}};

unsigned
frames(const struct scheme *s, uintptr_t *out, unsigned max)
{
    const struct run *run;
    unsigned n = 0;

    for (run = &s->run; run != NULL && run->level > s->session;
         run = run->outer) {
        const struct instruction *pc = run->pc;
        const alq_value *fp = run->fp;

        for (; n < max && pc != start; fp -= pc->a + 1) {
            const struct code *code = closure_code(fp[-1]);

            out[n++] = code->frame | code->lines[pc - code->instructions];
            pc = alq_to_address(fp[code->n_params]);
        }
    }
    return n;
}

/* ---- calls that are not simple ------------------------------------------ */

static void
check_number(struct scheme *s, const char *name, unsigned n, unsigned min,
             unsigned max)
{
    if (n < min || n > max)
        fail(s, ALQ_NULL, "%s: needs %u argument%s%s, got %u", name, min,
             min == 1 ? "" : "s", max > min ? " at least" : "", n);
}

/* (apply f x ... list) becomes (f x ... item ...). */
static unsigned
spread(struct scheme *s, alq_value *args, unsigned n)
{
    alq_value list = args[n - 1];
    int64_t length = list_length(list);

    if (length < 0)
        fail(s, list, "apply: not a list");
    if (args + n + length > STACK_LIMIT(s))
        fail(s, ALQ_NULL, "apply: too many arguments for the stack");
    memmove(args - 1, args, (n - 1) * sizeof *args);
    for (n -= 2; !is_nil(list); list = cdr(list))
        args[n++] = car(list);
    return n;
}

/* Calls args[-1] with n arguments as far as it is no closure that takes just
 * these.  False: the result is in args[-1]. */
static _Noreturn void exit_to(struct scheme *s, alq_value exit, alq_value v);

static __attribute__((noinline)) bool
prepare(struct scheme *s, alq_value *args, unsigned *n)
{
    const struct prim *prim;
    unsigned min, max;

    for (;;) {
        s->run.top = args + *n;
        if (is_tag(args[-1], TAG_CLOSURE)) {
            const struct code *code = closure_code(args[-1]);
            unsigned n_params = (unsigned)code->n_params, k = n_params;

            if (code->arity < 0)
                k--;
            check_number(s, name_of(FRAME_NAME(code->frame)), *n, k,
                         code->arity < 0 ? MANY : k);
            if (code->arity < 0) { /* the rest becomes a list */
                args[*n] = NIL;
                for (s->run.top++; *n > k; --*n)
                    args[*n - 1] = PAIR(s, args[*n - 1], args[*n]);
            }
            *n = n_params;
            return true;
        }
        if (is_tag(args[-1], TAG_EXIT)) {
            check_number(s, "call/cc", *n, 1, 1);
            exit_to(s, args[-1], args[0]);
        }
        if (!is_immediate(args[-1], IMM_PRIM))
            fail(s, args[-1], "not a procedure");
        prim = &s->prims[immediate_of(args[-1])];
        arity(prim, &min, &max);
        check_number(s, prim->name, *n, min, max);
        check(s, prim, args, *n);
        if (prim->fn != NULL) {
            args[-1] = prim->fn(s, prim, args, *n);
            return false;
        }
        if (prim->name[0] == 'a') {
            *n = spread(s, args, *n);
        } else { /* eval */
            args[-1] = compile(s, args[0]);
            *n = 0;
        }
    }
}

/* ---- the machine -------------------------------------------------------- */

/* OP_CLOSURE. */
static __attribute__((noinline)) alq_value
closure_new(struct scheme *s, const struct instruction *pc)
{
    uintptr_t n = (uintptr_t)pc->c, i;
    alq_value v = alq_alloc_small(s->d, CLOSURE_CAPTURED + n, TAG_CLOSURE);
    alq_value *fp = s->run.fp, code;

    made(s, v);
    code = alq_field(fp[-1], CLOSURE_CODE);
    alq_init_small(v, CLOSURE_CODE, code);
    alq_init_small(v, CLOSURE_ENTRY, alq_field(code, (uintptr_t)pc->b));
    for (i = 0; i < n; i++)
        alq_init_small(v, CLOSURE_CAPTURED + i, fp[pc->a + (int)i]);
    return v;
}

static __attribute__((noinline)) alq_value
global(struct scheme *s, int32_t symbol)
{
    if (alq_is_same(s->globals[symbol], UNDEFINED))
        fail(s, IMMEDIATE(IMM_SYMBOL, symbol), "no such variable");
    return s->globals[symbol];
}

/* Before anything that may collect or fail. */
#define SAVE() (s->run.fp = fp, s->run.pc = pc, s->run.top = fp + pc->n_used)
#define NEXT(n)                                                                \
    do {                                                                       \
        pc += (n);                                                             \
        goto *operations[pc->op];                                              \
    } while (0)
#define OPERAND(w)                                                             \
    (((w)&1) != 0 ? ALQ_VALUE((int64_t)(w)) : *(alq_value *)((char *)fp + (w)))
#define X OPERAND(pc->a)
#define Y OPERAND(pc->b)
#define Z OPERAND(pc->c)
#define SET(value)                                                             \
    do {                                                                       \
        fp[pc->a] = (value);                                                   \
        NEXT(1);                                                               \
    } while (0)
#define RESULT(expression)                                                     \
    do {                                                                       \
        SAVE();                                                                \
        SET(expression);                                                       \
    } while (0)
#define FIELD(i, name)                                                         \
    do {                                                                       \
        v = Y;                                                                 \
        if (is_pair(v))                                                        \
            SET(alq_field(v, i));                                              \
        SAVE();                                                                \
        fail(s, v, name ": not a pair");                                       \
    } while (0)
#define IF(holds) NEXT((holds) ? 1 : pc->c)
#define IF_NUMBERS(op)                                                         \
    do {                                                                       \
        v = X;                                                                 \
        w = Y;                                                                 \
        if (ARE_FIXNUMS(v, w))                                                 \
            IF((int64_t)alq_bits(v) op(int64_t) alq_bits(w));                  \
        SAVE();                                                                \
        IF(compare(s, v, w) op 0);                                             \
    } while (0)
#define ARITHMETIC(how, a, b, bits)                                            \
    do {                                                                       \
        v = Y;                                                                 \
        w = Z;                                                                 \
        if (ARE_FIXNUMS(v, w) &&                                               \
            !__builtin_##how##_overflow((int64_t)(a), (int64_t)(b), &number))  \
            SET(ALQ_VALUE(number + (bits)));                                   \
        RESULT(arith(s, pc->op, v, w));                                        \
    } while (0)

#define OP_LABEL(name) &&op_##name

/* Calls the procedure at s->run.fp[0] with n arguments, to its return. */
static alq_value
machine(struct scheme *s, unsigned n)
{
    static const void *const operations[] = {OPERATIONS(OP_LABEL)};
    struct alq_domain *d = s->d;
    alq_value *fp = s->run.fp, *args, v, w;
    const struct instruction *pc = start;
    const struct prim *prim;
    const struct code *code;
    int64_t number;
    unsigned i;

    goto call_n;

op_MOVE:
    SET(Y);
op_CONSTANT:
    SET(alq_field(alq_field(fp[-1], CLOSURE_CODE), (uintptr_t)pc->b));
op_GLOBAL:
    v = s->globals[pc->b];
    if (alq_is_same(v, UNDEFINED))
        RESULT(global(s, pc->b));
    SET(v);
op_CAPTURED:
    SET(alq_field(fp[-1], (uintptr_t)pc->b));
op_CELL_GET:
    v = alq_field(Y, 0);
    if (!alq_is_same(v, UNDEFINED))
        SET(v);
    SAVE();
    fail(s, ALQ_NULL, "a variable is used before it has a value");
op_CLOSURE:
    RESULT(closure_new(s, pc));
op_CONS: /* allocates here: its fields are read behind the allocation */
    SAVE();
    v = alq_alloc_small(d, 2, TAG_PAIR);
    made(s, v);
    alq_init_small(v, 0, Y);
    alq_init_small(v, 1, Z);
    SET(v);
op_CAR:
    FIELD(0, "car");
op_CDR:
    FIELD(1, "cdr");
op_ADD:
    ARITHMETIC(add, alq_bits(v), alq_bits(w) - 1, 0);
op_SUB:
    ARITHMETIC(sub, alq_bits(v), alq_bits(w) - 1, 0);
op_MUL:
    ARITHMETIC(mul, alq_bits(v) - 1, to_fixnum(w), 1);
op_VECTOR_REF:
    v = Y;
    w = Z;
    SAVE();
    SET(alq_field(v, vector_index(s, v, w)));
op_VECTOR_SET:
    v = X;
    w = Y;
    SAVE();
    alq_store(d, v, vector_index(s, v, w), Z);
    NEXT(1);
op_SET:
    SAVE();
    global(s, pc->a);
op_DEFINE:
    s->globals[pc->a] = Y;
    NEXT(1);
op_CELL_NEW:
    RESULT(cons(s, TAG_CELL, fp[pc->a], NIL, ALQ_NULL));
op_CELL_SET:
    alq_store(d, X, 0, Y);
    NEXT(1);
op_PRIM:
    prim = &s->prims[pc->c];
    args = fp + pc->a;
    SAVE();
    n = (unsigned)pc->b;
    for (i = 0; i < prim->n_checked && i < n; i++)
        if (prim->takes[i] != kind_of(args[i]))
            check(s, prim, args, n);
    args[0] = prim->fn(s, prim, args, n);
    NEXT(1);
op_JUMP:
    NEXT(pc->c);
op_LOOP: /* a loop that does not allocate polls */
    SAVE();
    poll_here(s);
    NEXT(pc->c);
op_IF:
    IF(!is_false(X));
op_IF_NULL:
    IF(is_nil(X));
op_IF_PAIR:
    v = X;
    IF(is_pair(v));
op_IF_EQ:
    IF(alq_is_same(X, Y));
op_IF_LESS:
    IF_NUMBERS(<);
op_IF_MORE:
    IF_NUMBERS(>);
op_IF_AT_MOST:
    IF_NUMBERS(<=);
op_IF_AT_LEAST:
    IF_NUMBERS(>=);
op_IF_EQUAL:
    IF_NUMBERS(==);
op_HALT:
    return fp[0];

op_CALL:
    args = fp + pc->a + 1;
    if (!is_tag(args[-1], TAG_CLOSURE) ||
        closure_code(args[-1])->arity != pc->b)
        goto call_other;
call:
    fp = args;
enter: /* the procedure in fp[-1], from the CALL at pc */
    code = closure_code(fp[-1]);
    fp[code->n_params] = alq_from_address(pc);
    pc = code->instructions;
    SAVE(); /* a procedure that does not allocate polls */
    poll_here(s);
    if (fp + code->n_places > STACK_LIMIT(s))
        fail(s, ALQ_NULL, "recursion too deep: the stack is full");
    NEXT(0);
op_TAIL:
    args = fp + pc->a + 1;
    n = (unsigned)pc->b;
    if (!is_tag(args[-1], TAG_CLOSURE) ||
        closure_code(args[-1])->arity != pc->b)
        goto call_other;
tail: /* the procedure and its arguments take this frame's place */
    pc = alq_to_address(fp[pc->c]);
    for (i = 0; i <= n; i++)
        fp[(int)i - 1] = args[(int)i - 1];
    goto enter;
call_other:
    SAVE();
    n = (unsigned)pc->b;
call_n:
    args = fp + pc->a + 1;
    if (prepare(s, args, &n)) {
        if (pc->op == OP_TAIL)
            goto tail;
        goto call;
    }
    v = args[-1];
    if (pc->op == OP_CALL)
        SET(v);
    pc = alq_to_address(fp[pc->c]); /* TAIL */
    goto give_back;
op_RETURN:
    v = X;
    pc = alq_to_address(fp[pc->b]);
give_back:
    fp -= pc->a + 1;
    SET(v);
}

/* ---- runs, and what leaves them ----------------------------------------- */

bool
run_above(struct scheme *s, alq_value procedure, alq_value list, int64_t exit,
          alq_value *out)
{
    struct alq_frame *frame = alq_frames_get(s->d);
    const struct run was = s->run;
    alq_value *base = was.top;
    volatile bool is_back = false;
    jmp_buf error;
    unsigned n = 0;

    if (was.level == LEVELS_MAX || base + ARGS_MAX > STACK_LIMIT(s))
        fail(s, ALQ_NULL, "guard, call/cc, limits or macros nested too deep");
    base[0] = procedure;
    for (; is_pair(list) && n < ARGS_MAX - 1; list = cdr(list))
        base[1 + n++] = car(list);
    s->run = (struct run){&was, base,          base + 1 + n, start,      &error,
                          exit, was.level + 1, false,        was.is_busy};
    if (setjmp(error) == 0) {
        *out = machine(s, n);
        is_back = true;
    } else {
        alq_frames_set(s->d, frame);
        alq_status_clear(s->d);
    }
    s->run = was;
    return is_back;
}

alq_value
apply(struct scheme *s, alq_value procedure, alq_value list)
{
    alq_value v;

    if (!run_above(s, procedure, list, 0, &v))
        throw_on(s);
    return v;
}

/* (call/cc f): f gets a way to leave this call. */
PRIM(call_cc, "call/cc call-with-current-continuation", "a")
{
    int64_t number = ++s->n_exits;
    alq_value v = made(s, alq_alloc_small(s->d, 1, TAG_EXIT));

    alq_init_small(v, 0, from_fixnum(number));
    v = PAIR(s, v, NIL);
    if (run_above(s, args[0], v, number, &v))
        return v;
    v = s->stack[ROOT_TARGET];
    if (!is_tag(v, TAG_EXIT) ||
        !alq_is_same(alq_field(v, 0), from_fixnum(number)))
        throw_on(s);
    return s->stack[ROOT_THROWN];
}

static void
exit_to(struct scheme *s, alq_value exit, alq_value v)
{
    const struct run *run = &s->run;

    while (run != NULL &&
           !alq_is_same(from_fixnum(run->exit), alq_field(exit, 0)))
        run = run->is_busy ? NULL : run->outer;
    if (run == NULL)
        fail(s, ALQ_NULL, "call/cc: the call has ended already");
    throw_to(s, exit, v);
}

/* (%protect thunk): its value, or if there is an error FAILED. */
PRIM(protect, "%protect", "a")
{
    alq_value v;

    if (run_above(s, args[0], NIL, 0, &v))
        return v;
    if (!is_nil(s->stack[ROOT_TARGET]))
        throw_on(s);
    return FAILED;
}

BUILT_IN(apply, NULL, "apply", "aa*")
BUILT_IN(eval, NULL, "eval", "a")
