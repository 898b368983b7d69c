/* run.c -- the machine: calls, continuations, errors
 *
 *   stack   bottom ... | fp[-1] procedure | fp[0] ... slots | top
 *   calls   one for each frame but the lowest: where its caller goes on
 *
 * Below the bottom is `cont`, a chain of pieces of stack in the heap.  A piece
 * is cut off by call/cc, and when the stack is full, which is why recursion is
 * as deep as the heap is large, and why the collector, which reads the whole
 * stack each time, never reads much.  When the lowest frame returns, the last
 * RESUME_FRAMES frames of the next piece come back to the stack; the piece
 * itself stays as it is, for a continuation may be used again.
 *
 * .inv.top  At each call that may collect, `top` is above the last slot in use
 *           and all slots below were written: generate.c's .inv.slots. */
#include <stdlib.h>
#include <string.h>

#include "scheme.h"

enum { RESUME_FRAMES = 32, ARGS_MAX = 8000, LEVELS_MAX = 50 };

/* ---- pieces of the stack ------------------------------------------------ */

static alq_value
cont_new(struct scheme *s, alq_value slots, alq_value calls, int64_t n_slots,
         int64_t n_calls, alq_value below)
{
    return scheme_block_of(
        s, TAG_CONT, slots,
        (alq_value[]){calls, from_fixnum(n_slots), from_fixnum(n_calls), below,
                      s->handlers.value, from_fixnum(s->level)},
        CONT_FIELDS - 1);
}

/* Moves all frames below the one at fp to the heap; that one, with n slots, is
 * the lowest then.  alq_alloc's block may be old, so alq_init writes it. */
static bool
cut(struct scheme *s, unsigned n)
{
    size_t n_slots = (size_t)(s->fp - s->bottom);
    size_t n_calls = (size_t)(s->call_top - s->call_bottom), i;
    ALQ_FRAME(s->d, f, slots, calls);

    if (n_calls == 0)
        return true;
    f.slots = alq_alloc(s->d, n_slots, TAG_VECTOR);
    f.calls = alq_alloc(s->d, n_calls * sizeof(struct call) / ALQ_WORD_BYTES,
                        ALQ_TAG_ABSTRACT);
    if (f.slots == ALQ_NULL || f.calls == ALQ_NULL) {
        scheme_fail_memory(s);
        return false;
    }
    for (i = 0; i < n_slots; i++)
        alq_init(s->d, f.slots, i, s->bottom[i]);
    memcpy((void *)f.calls, s->call_bottom, n_calls * sizeof(struct call));
    f.slots = cont_new(s, f.slots, f.calls, (int64_t)n_slots, (int64_t)n_calls,
                       s->cont.value);
    if (f.slots == ALQ_NULL)
        return false;
    s->cont.value = f.slots;
    memmove(s->bottom, s->fp - 1, (n + 1) * sizeof *s->bottom);
    s->fp = s->bottom + 1;
    s->top = s->fp + n;
    s->call_top = s->call_bottom;
    return true;
}

/* How many of the n calls at the piece's end are taken, and their slots. */
static size_t
frames_taken(const struct call *calls, size_t n, size_t *slots)
{
    size_t taken = 0;

    *slots = 0;
    while (taken < n && taken < RESUME_FRAMES && *slots < ARGS_MAX) {
        taken++;
        *slots += (size_t)calls[n - taken].delta;
    }
    return taken;
}

/* The lowest frame has returned v.  2: its caller is back, and goes on at
 * s->pc; 1: there is none; 0: no memory. */
static int
resume(struct scheme *s, alq_value v)
{
    size_t n_slots, n_calls, taken, slots, i;
    const struct call *calls;
    ALQ_FRAME(s->d, f, v, piece, rest);

    f.v = v;
    s->bottom[0] = NIL;
    s->top = s->fp = s->bottom + 1;
    for (;;) {
        f.piece = s->cont.value;
        if (f.piece == NIL)
            return 1;
        n_calls = (size_t)to_fixnum(alq_field(f.piece, CONT_N_CALLS));
        if (n_calls > 0)
            break;
        s->cont.value = alq_field(f.piece, CONT_BELOW);
    }
    n_slots = (size_t)to_fixnum(alq_field(f.piece, CONT_N_SLOTS));
    calls = (const struct call *)alq_field(f.piece, CONT_CALLS);
    taken = frames_taken(calls, n_calls, &slots);
    f.rest = alq_field(f.piece, CONT_BELOW);
    if (taken < n_calls)
        f.rest = cont_new(
            s, alq_field(f.piece, CONT_SLOTS), alq_field(f.piece, CONT_CALLS),
            (int64_t)(n_slots - slots), (int64_t)(n_calls - taken), f.rest);
    if (f.rest == ALQ_NULL)
        return 0;
    s->cont.value = f.rest;
    calls = (const struct call *)alq_field(f.piece, CONT_CALLS);
    for (i = 0; i <= slots; i++)
        s->bottom[i] =
            alq_field(alq_field(f.piece, CONT_SLOTS), n_slots - slots - 1 + i);
    for (i = 1; i < taken; i++)
        *s->call_top++ = calls[n_calls - taken + i - 1];
    s->fp = s->bottom + slots + 1 - calls[n_calls - 1].delta;
    s->pc = calls[n_calls - 1].pc;
    s->bottom[slots] = f.v;
    s->top = s->bottom + slots + 1;
    return 2;
}

/* ---- entering procedures ------------------------------------------------ */

/* Arguments beyond the parameters become a list; what is lacking, an error. */
static bool
args_fit(struct scheme *s, const struct code *code, unsigned n)
{
    ALQ_FRAME(s->d, f, list);

    if (n < code->n_params || (n > code->n_params && !code->has_rest)) {
        scheme_fail(s, ALQ_NULL, "%s: needs %s%u argument%s, got %u",
                    code->name, code->has_rest ? "at least " : "",
                    code->n_params, code->n_params == 1 ? "" : "s", n);
        return false;
    }
    if (!code->has_rest)
        return true;
    for (f.list = NIL; n > code->n_params; n--) {
        f.list = scheme_cons(s, s->fp[n - 1], f.list);
        if (f.list == ALQ_NULL)
            return false;
    }
    s->fp[n] = f.list;
    s->top = s->fp + n + 1;
    return true;
}

/* (apply f a b '(c d)) becomes (f a b c d); the new n, or ANY * ANY. */
static bool
spread(struct scheme *s, unsigned *n)
{
    alq_value list = s->fp[*n - 1];
    unsigned i;

    for (i = 0; i + 1 < *n; i++)
        s->fp[(int)i - 1] = s->fp[i];
    *n -= 2;
    for (; is_pair(list); list = cdr(list)) {
        if (*n == ARGS_MAX) {
            scheme_fail(s, ALQ_NULL, "apply: more than %d arguments", ARGS_MAX);
            return false;
        }
        s->fp[(*n)++] = car(list);
    }
    s->top = s->fp + *n;
    if (list == NIL)
        return true;
    scheme_fail(s, list, "apply: not a list");
    return false;
}

/* The continuation of the frame at fp. */
static alq_value
continuation(struct scheme *s, unsigned n)
{
    bool has_frames = s->call_top != s->call_bottom;
    alq_value k;

    if (!cut(s, n))
        return ALQ_NULL;
    k = s->cont.value;
    if (has_frames)
        return k;
    if (k == NIL)
        return cont_new(s, NIL, NIL, 0, 0, NIL);
    return cont_new(s, alq_field(k, CONT_SLOTS), alq_field(k, CONT_CALLS),
                    to_fixnum(alq_field(k, CONT_N_SLOTS)),
                    to_fixnum(alq_field(k, CONT_N_CALLS)),
                    alq_field(k, CONT_BELOW));
}

static bool
throw_to(struct scheme *s, alq_value k)
{
    if (to_fixnum(alq_field(k, CONT_LEVEL)) != (int64_t)s->level) {
        scheme_fail(s, ALQ_NULL,
                    "a continuation of what a macro runs in, or the reverse");
        return false;
    }
    s->cont.value = k;
    s->handlers.value = alq_field(k, CONT_HANDLERS);
    s->call_top = s->call_bottom;
    return true;
}

/* A procedure that is no closure: s->fp[-1] with *n arguments.  What to do
 * next: */
enum next { NEXT_ENTER, NEXT_RETURN, NEXT_RESUME, NEXT_FAIL };

static enum next
enter_control(struct scheme *s, unsigned control, unsigned *n)
{
    alq_value v;

    switch (control) {
    case CONTROL_APPLY:
        return spread(s, n) ? NEXT_ENTER : NEXT_FAIL;
    case CONTROL_CALLCC:
        v = continuation(s, *n);
        if (v == ALQ_NULL)
            return NEXT_FAIL;
        s->fp[-1] = s->fp[0];
        s->fp[0] = v;
        return NEXT_ENTER;
    default:
        v = scheme_compile(s, s->fp[0]);
        if (v == ALQ_NULL)
            return NEXT_FAIL;
        s->fp[-1] = v;
        *n = 0;
        s->top = s->fp;
        return NEXT_ENTER;
    }
}

static enum next
enter_other(struct scheme *s, unsigned *n, alq_value *v)
{
    alq_value callee = s->fp[-1];
    const struct prim *prim;

    if (is_tag(callee, TAG_CONT) && *n == 1) {
        *v = s->fp[0];
        return throw_to(s, callee) ? NEXT_RESUME : NEXT_FAIL;
    }
    if (!is_immediate(callee, IMM_PRIM)) {
        scheme_fail(s, callee,
                    is_tag(callee, TAG_CONT) ? "a continuation takes one value"
                                             : "not a procedure");
        return NEXT_FAIL;
    }
    prim = s->prims[immediate_of(callee)];
    if (*n < prim->min || (*n > prim->max && prim->max != ANY)) {
        scheme_fail(s, ALQ_NULL,
                    prim->max == ANY ? "%s: needs %u arguments or more, got %u"
                    : *n < prim->min ? "%s: needs %u arguments at least, got %u"
                                     : "%s: needs %u arguments at most, got %u",
                    prim->name, *n < prim->min ? prim->min : prim->max, *n);
        return NEXT_FAIL;
    }
    if (prim->fn == NULL)
        return enter_control(s, prim->special, n);
    *v = prim->fn(s, s->fp, *n);
    return *v == ALQ_NULL ? NEXT_FAIL : NEXT_RETURN;
}

/* ---- single instructions, the long way ---------------------------------- */

static alq_value
closure_new(struct scheme *s, const int32_t *pc)
{
    alq_value *fp = s->fp, closure, code;
    int32_t n = pc[3], i;

    closure =
        alq_alloc_small(s->d, (uintptr_t)n + CLOSURE_CAPTURED, TAG_CLOSURE);
    if (closure == ALQ_NULL)
        return scheme_fail_memory(s);
    code = alq_field(alq_field(fp[-1], CLOSURE_CODE), (uintptr_t)pc[2]);
    alq_init_small(closure, CLOSURE_CODE, code);
    alq_init_small(
        closure, CLOSURE_ENTRY,
        alq_from_int(*(intptr_t *)alq_custom_data(alq_field(code, 0))));
    for (i = 0; i < n; i++)
        alq_init_small(closure, (uintptr_t)i + CLOSURE_CAPTURED,
                       pc[4 + i] >= 0
                           ? fp[pc[4 + i]]
                           : alq_field(fp[-1], (uintptr_t)~pc[4 + i]));
    return closure;
}

static alq_value
undefined(struct scheme *s, int32_t name)
{
    return scheme_fail(s, s->names[2 * (size_t)name], "no such variable");
}

/* A comparison of the operation of a jump. */
static int
compare(struct scheme *s, int op, alq_value a, alq_value b)
{
    switch (op) {
    case OP_IF_LESS:
    case OP_IF_LESS_INT:
        return scheme_compare(s, '<', a, b);
    case OP_IF_MORE_INT:
        return scheme_compare(s, '<', b, a);
    case OP_IF_AT_MOST:
    case OP_IF_AT_MOST_INT:
        return scheme_compare(s, 'l', a, b);
    case OP_IF_AT_LEAST_INT:
        return scheme_compare(s, 'l', b, a);
    default:
        return scheme_compare(s, '=', a, b);
    }
}

static bool
vector_has(alq_value vector, alq_value i)
{
    return is_tag(vector, TAG_VECTOR) && is_fixnum(i) &&
           (uint64_t)to_fixnum(i) < alq_wosize(vector);
}

/* What vector-ref says about the same arguments. */
static alq_value
vector_fail(struct scheme *s, alq_value vector, alq_value i)
{
    if (!is_tag(vector, TAG_VECTOR))
        return scheme_fail(s, vector, "not a vector");
    return scheme_fail(s, i, "no index of a vector of %zu",
                       (size_t)alq_wosize(vector));
}

/* ---- the machine -------------------------------------------------------- */

/* Before anything that may collect or fail. */
#define SAVE() (s->fp = fp, s->pc = pc, s->top = fp + (pc[0] >> 8))
#define NEXT(n)                                                                \
    do {                                                                       \
        pc += (n);                                                             \
        goto *operations[pc[0] & 0xFF];                                        \
    } while (0)
#define BOTH_FIXNUMS(a, b) (((((a) ^ 1) | ((b) ^ 1)) & 3) == 0)
#define IF(holds, n)                                                           \
    do {                                                                       \
        if (holds)                                                             \
            NEXT((n) + 2);                                                     \
        NEXT(pc[(n) + 1]);                                                     \
    } while (0)
#define IF_NUMBERS(b, op)                                                      \
    do {                                                                       \
        alq_value x = fp[pc[1]], y = (b);                                      \
                                                                               \
        if (BOTH_FIXNUMS(x, y))                                                \
            IF((int64_t)x op(int64_t) y, 2);                                   \
        SAVE();                                                                \
        is = compare(s, pc[0] & 0xFF, x, y);                                   \
        if (is < 0)                                                            \
            goto fail;                                                         \
        IF(is, 2);                                                             \
    } while (0)
#define RESULT(expression, n)                                                  \
    do {                                                                       \
        SAVE();                                                                \
        v = (expression);                                                      \
        if (v == ALQ_NULL)                                                     \
            goto fail;                                                         \
        fp[pc[1]] = v;                                                         \
        NEXT(n);                                                               \
    } while (0)

/* Runs the procedure at s->fp[-1] with n arguments, to its return. */
static alq_value
run(struct scheme *s, unsigned n)
{
    static const void *const operations[] = {&&move,
                                             &&immediate,
                                             &&constant,
                                             &&global,
                                             &&captured,
                                             &&cell_get,
                                             &&closure,
                                             &&cons,
                                             &&first,
                                             &&rest,
                                             &&add,
                                             &&sub,
                                             &&mul,
                                             &&add_int,
                                             &&vector_ref,
                                             &&vector_set,
                                             &&set,
                                             &&define,
                                             &&cell_new,
                                             &&cell_set,
                                             &&patch,
                                             &&call,
                                             &&call_global,
                                             &&tail,
                                             &&tail_global,
                                             &&prim,
                                             &&ret,
                                             &&jump,
                                             &&loop,
                                             &&if_true,
                                             &&if_null,
                                             &&if_pair,
                                             &&if_eq,
                                             &&if_less,
                                             &&if_at_most,
                                             &&if_equal,
                                             &&if_eq_int,
                                             &&if_less_int,
                                             &&if_at_most_int,
                                             &&if_more_int,
                                             &&if_at_least_int,
                                             &&if_equal_int};
    struct alq_domain *d = s->d;
    alq_value *fp = s->fp;
    const int32_t *pc = s->pc;
    const struct code *code;
    alq_value v;
    int64_t number;
    int is;

    goto enter;

move:
    fp[pc[1]] = fp[pc[2]];
    NEXT(3);
immediate:
    fp[pc[1]] = (alq_value)(int64_t)pc[2];
    NEXT(3);
constant:
    fp[pc[1]] = alq_field(alq_field(fp[-1], CLOSURE_CODE), (uintptr_t)pc[2]);
    NEXT(3);
global:
    v = s->names[2 * (size_t)pc[2] + 1];
    if (v == UNDEFINED)
        RESULT(undefined(s, pc[2]), 3);
    fp[pc[1]] = v;
    NEXT(3);
captured:
    fp[pc[1]] = alq_field(fp[-1], (uintptr_t)pc[2]);
    NEXT(3);
cell_get:
    v = alq_field(fp[pc[2]], 0);
    if (v == UNDEFINED)
        RESULT(scheme_fail(s, ALQ_NULL, "a variable is used too early"), 3);
    fp[pc[1]] = v;
    NEXT(3);
closure:
    RESULT(closure_new(s, pc), 4 + pc[3]);
cons: /* allocates here: its fields are read behind the allocation */
    SAVE();
    v = alq_alloc_small(d, 2, TAG_PAIR);
    if (v == ALQ_NULL)
        RESULT(scheme_fail_memory(s), 4);
    alq_init_small(v, 0, fp[pc[2]]);
    alq_init_small(v, 1, fp[pc[3]]);
    fp[pc[1]] = v;
    NEXT(4);
first:
    v = fp[pc[2]];
    if (!is_pair(v))
        RESULT(scheme_fail(s, v, "car: not a pair"), 3);
    fp[pc[1]] = car(v);
    NEXT(3);
rest:
    v = fp[pc[2]];
    if (!is_pair(v))
        RESULT(scheme_fail(s, v, "cdr: not a pair"), 3);
    fp[pc[1]] = cdr(v);
    NEXT(3);
add:
    if (BOTH_FIXNUMS(fp[pc[2]], fp[pc[3]]) &&
        !__builtin_add_overflow((int64_t)fp[pc[2]], (int64_t)fp[pc[3]] - 1,
                                &number)) {
        fp[pc[1]] = (alq_value)number;
        NEXT(4);
    }
    RESULT(scheme_arith(s, '+', fp[pc[2]], fp[pc[3]]), 4);
sub:
    if (BOTH_FIXNUMS(fp[pc[2]], fp[pc[3]]) &&
        !__builtin_sub_overflow((int64_t)fp[pc[2]], (int64_t)fp[pc[3]] - 1,
                                &number)) {
        fp[pc[1]] = (alq_value)number;
        NEXT(4);
    }
    RESULT(scheme_arith(s, '-', fp[pc[2]], fp[pc[3]]), 4);
mul:
    RESULT(scheme_arith(s, '*', fp[pc[2]], fp[pc[3]]), 4);
add_int:
    if (is_fixnum(fp[pc[2]]) &&
        !__builtin_add_overflow((int64_t)fp[pc[2]], (int64_t)pc[3] * 4,
                                &number)) {
        fp[pc[1]] = (alq_value)number;
        NEXT(4);
    }
    RESULT(scheme_arith(s, '+', fp[pc[2]], from_fixnum(pc[3])), 4);
vector_ref:
    v = fp[pc[2]];
    if (!vector_has(v, fp[pc[3]]))
        RESULT(vector_fail(s, v, fp[pc[3]]), 4);
    fp[pc[1]] = alq_field(v, (uintptr_t)to_fixnum(fp[pc[3]]));
    NEXT(4);
vector_set:
    v = fp[pc[1]];
    if (!vector_has(v, fp[pc[2]]))
        RESULT(vector_fail(s, v, fp[pc[2]]), 4);
    alq_store(d, v, (uintptr_t)to_fixnum(fp[pc[2]]), fp[pc[3]]);
    NEXT(4);
set:
    if (s->names[2 * (size_t)pc[1] + 1] == UNDEFINED)
        RESULT(undefined(s, pc[1]), 3);
define:
    s->names[2 * (size_t)pc[1] + 1] = fp[pc[2]];
    NEXT(3);
cell_new:
    RESULT(scheme_block(s, 1, TAG_CELL, fp[pc[1]]), 2);
cell_set:
    alq_store(d, fp[pc[1]], 0, fp[pc[2]]);
    NEXT(3);
patch:
    alq_store(d, fp[pc[1]], (uintptr_t)pc[2], fp[pc[3]]);
    NEXT(4);
call_global:
    v = s->names[2 * (size_t)pc[3] + 1];
    if (v == UNDEFINED)
        RESULT(undefined(s, pc[3]), 4);
    fp[pc[1]] = v;
call:
    *s->call_top++ = (struct call){pc, pc[1] + 1};
    s->pc = pc;
    n = (unsigned)pc[2];
    fp += pc[1] + 1;
    goto enter;
tail_global:
    v = s->names[2 * (size_t)pc[3] + 1];
    if (v == UNDEFINED)
        RESULT(undefined(s, pc[3]), 4);
    fp[pc[1]] = v;
tail:
    s->pc = pc;
    s->tail.value = fp[-1];
    n = (unsigned)pc[2];
    memmove(fp - 1, fp + pc[1], (n + 1) * sizeof *fp);
    goto enter;
prim:
    SAVE();
    v = s->prims[pc[3]]->fn(s, fp + pc[1], (unsigned)pc[2]);
    if (v == ALQ_NULL)
        goto fail;
    fp[pc[1]] = v;
    NEXT(4);
ret:
    v = fp[pc[1]];
do_return: /* v, from the frame at fp */
    if (s->call_top == s->call_bottom)
        goto do_resume;
    s->call_top--;
    pc = s->call_top->pc;
    fp[-1] = v;
    fp -= s->call_top->delta;
    NEXT((pc[0] & 0xFF) == OP_CALL ? 3 : 4);
jump:
    NEXT(pc[1]);
loop: /* a loop that does not allocate polls */
    SAVE();
    alq_poll(d);
    NEXT(pc[1]);
if_true:
    IF(fp[pc[1]] != FALSE, 1);
if_null:
    IF(fp[pc[1]] == NIL, 1);
if_pair:
    IF(is_pair(fp[pc[1]]), 1);
if_eq:
    IF(fp[pc[1]] == fp[pc[2]], 2);
if_eq_int:
    IF(fp[pc[1]] == (alq_value)(int64_t)pc[2], 2);
if_less:
    IF_NUMBERS(fp[pc[2]], <);
if_at_most:
    IF_NUMBERS(fp[pc[2]], <=);
if_equal:
    IF_NUMBERS(fp[pc[2]], ==);
if_less_int:
    IF_NUMBERS((alq_value)(int64_t)pc[2], <);
if_at_most_int:
    IF_NUMBERS((alq_value)(int64_t)pc[2], <=);
if_more_int:
    IF_NUMBERS((alq_value)(int64_t)pc[2], >);
if_at_least_int:
    IF_NUMBERS((alq_value)(int64_t)pc[2], >=);
if_equal_int:
    IF_NUMBERS((alq_value)(int64_t)pc[2], ==);

enter: /* fp[-1] with n arguments; its return is in the calls */
    v = fp[-1];
    s->fp = fp;
    s->top = fp + n;
    if (!is_tag(v, TAG_CLOSURE))
        goto enter_other;
    code = closure_code(v);
    if (fp + code->n_slots >= s->stack_limit) {
        if (!cut(s, n))
            goto fail_enter;
        fp = s->fp;
    }
    if (n != code->n_params || code->has_rest) {
        if (!args_fit(s, code, n))
            goto fail_enter;
    }
    pc = s->pc = code->words;
    alq_poll(d);
    NEXT(0);
enter_other:
    switch (enter_other(s, &n, &v)) {
    case NEXT_ENTER:
        fp = s->fp;
        goto enter;
    case NEXT_RETURN:
        goto do_return;
    case NEXT_RESUME:
        goto do_resume;
    case NEXT_FAIL:
        goto fail_enter;
    }
do_resume: /* v, from the lowest frame */
    is = resume(s, v);
    if (is == 1)
        return v;
    fp = s->fp;
    pc = s->pc;
    if (is == 2)
        NEXT((pc[0] & 0xFF) == OP_CALL ? 3 : 4);
fail_enter: /* the frame at fp has not begun, or is at its end */
    fp = s->fp;
    if (s->handlers.value == NIL)
        return ALQ_NULL;
    goto signal;
fail: /* s->error, in the instruction at pc */
    if (s->handlers.value == NIL)
        return ALQ_NULL;
    *s->call_top++ = (struct call){pc, (pc[0] >> 8) + 1};
    fp += (pc[0] >> 8) + 1;
signal:
    fp[-1] = s->names[2 * (size_t)s->signal_name + 1];
    fp[0] = s->error.value;
    s->error.value = FALSE;
    alq_status_clear(d);
    n = 1;
    goto enter;
}

/* ---- from C ------------------------------------------------------------- */

struct level {
    alq_value *top;
    alq_value *fp;
    alq_value *bottom;
    const int32_t *pc;
    struct call *call_bottom;
    struct call *call_top;
};

alq_value
scheme_apply(struct scheme *s, alq_value procedure, unsigned n,
             const alq_value *args)
{
    const struct level was = {s->top, s->fp,          s->bottom,
                              s->pc,  s->call_bottom, s->call_top};
    alq_value v;
    unsigned i;
    ALQ_FRAME(s->d, f, cont, handlers);

    if (s->level == LEVELS_MAX || s->top + n + 1 >= s->stack_limit)
        return scheme_fail(s, ALQ_NULL, "macros run in macros, too deep");
    f.cont = s->cont.value;
    f.handlers = s->handlers.value;
    s->level++;
    s->bottom = s->top;
    s->call_bottom = s->call_top;
    s->cont.value = s->handlers.value = NIL;
    s->bottom[0] = procedure;
    for (i = 0; i < n; i++)
        s->bottom[i + 1] = args[i];
    s->fp = s->bottom + 1;
    v = run(s, n);
    if (v == ALQ_NULL && s->level == 1)
        return v; /* at the top: what was running is for the message */
    s->level--;
    s->top = was.top;
    s->fp = was.fp;
    s->pc = was.pc;
    s->bottom = was.bottom;
    s->call_bottom = was.call_bottom;
    s->call_top = was.call_top;
    s->cont.value = f.cont;
    s->handlers.value = f.handlers;
    return v;
}

alq_value
scheme_eval(struct scheme *s, alq_value form)
{
    alq_value closure = scheme_compile(s, form);

    return closure == ALQ_NULL ? ALQ_NULL : scheme_apply(s, closure, 0, NULL);
}

static const struct prim prims[] = {
    {"apply", NULL, 2, ANY, CONTROL_APPLY},
    {"call-with-current-continuation", NULL, 1, 1, CONTROL_CALLCC},
    {"call/cc", NULL, 1, 1, CONTROL_CALLCC},
    {"eval", NULL, 1, 2, CONTROL_EVAL},
};

void
run_start(struct scheme *s)
{
    alq_value name = scheme_intern(s, "%signal", 7);

    if (name != ALQ_NULL)
        s->signal_name = symbol_number(name);
    scheme_prims_add(s, prims, sizeof prims / sizeof prims[0]);
}
