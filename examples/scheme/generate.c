/* generate.c -- the tree to instructions of a machine with slots
 *
 * A frame's slots are used as a stack: `next` is the first free one.
 * .inv.slots  Each slot below `next` was written since it was taken, on every
 *             way to here; so the collector may read it, and slots from `next`
 *             on are not looked at.  Each instruction has `next` in its first
 *             word, which is where the machine gets the top of the stack from.
 *
 * First captures(): which variables live on in closures.  Then node(). */
#include <stdlib.h>
#include <string.h>

#include "compile.h"

enum { SLOTS_MAX = 8000 };

/* ---- what closures capture ---------------------------------------------- */

static void
capture(struct compiler *c, struct lambda *lambda, struct var *var)
{
    var->is_captured = true;
    for (; lambda != var->owner; lambda = lambda->outer) {
        unsigned i;

        for (i = 0; i < lambda->n_captured; i++)
            if (lambda->captured[i] == var)
                return;
        if (i == CAPTURED_MAX) {
            scheme_fail_at(c->s, lambda->place, ALQ_NULL,
                           "a procedure with more than %d variables from "
                           "outside",
                           CAPTURED_MAX);
            c->has_failed = true;
            return;
        }
        lambda->captured[lambda->n_captured++] = var;
    }
}

static void
captures(struct compiler *c, struct node *node, struct lambda *lambda)
{
    struct node *kid;
    struct var *var;

    switch (node->kind) {
    case NODE_LOCAL:
    case NODE_SET_LOCAL:
        if (node->var->loop == NULL && node->var->owner != lambda)
            capture(c, lambda, node->var);
        break;
    case NODE_LAMBDA:
        node->lambda->outer = lambda;
        lambda = node->lambda;
        for (var = lambda->params; var != NULL; var = var->next)
            var->owner = lambda;
        break;
    case NODE_LOOP:
        node->loop_var->loop = node;
        /* fall through */
    case NODE_LET:
    case NODE_LETREC:
        for (var = node->var; var != NULL; var = var->next)
            var->owner = lambda;
        break;
    default:
        break;
    }
    for (kid = node->kid; kid != NULL; kid = kid->next)
        captures(c, kid, lambda);
}

static void node(struct generator *g, struct node *n, int to, bool is_tail);

/* ---- constants and variables -------------------------------------------- */

/* Constants stand in boxed roots: the code's block is not made yet. */
static void
constant(struct generator *g, struct constant *constant, enum op op, int to)
{
    constant->before = g->constants;
    g->constants = constant;
    emit(g, op, to, (int64_t)++g->n_constants, 0, 2);
}

static void
constant_node(struct generator *g, struct node *n, int to)
{
    int64_t immediate = (int64_t)n->immediate;

    if (n->constant != NULL)
        constant(g, n->constant, OP_CONSTANT, to);
    else if (immediate >= INT32_MIN && immediate <= INT32_MAX)
        emit(g, OP_IMMEDIATE, to, immediate, 0, 2);
    else
        constant(g, constant_new(g->c, n->immediate), OP_CONSTANT, to);
}

static unsigned
captured_index(const struct lambda *lambda, const struct var *var)
{
    unsigned i = 0;

    while (lambda->captured[i] != var)
        i++;
    return i + CLOSURE_CAPTURED;
}

/* The slot, or the field of the closure, as they stand in OP_CLOSURE. */
static int
var_word(const struct generator *g, const struct var *var)
{
    return var->owner == g->lambda ? var->slot
                                   : ~(int)captured_index(g->lambda, var);
}

static void
local(struct generator *g, struct var *var, int to)
{
    int from = var->slot;

    if (var->is_late && !var->is_set && !is_cell(var)) {
        scheme_fail_at(g->c->s, g->c->place,
                       g->c->s->names[2 * (size_t)var->name],
                       "a variable is used before it has a value");
        g->c->has_failed = true;
    }
    if (var->owner != g->lambda) {
        emit(g, OP_CAPTURED, to, captured_index(g->lambda, var), 0, 2);
        from = to;
    }
    if (is_cell(var))
        emit(g, OP_CELL_GET, to, from, 0, 2);
    else if (from != to)
        emit(g, OP_MOVE, to, from, 0, 2);
}

static void
set_local(struct generator *g, struct var *var, int from)
{
    int cell = var->slot;
    int next = g->next;

    if (!is_cell(var)) {
        move(g, var->slot, from);
        return;
    }
    if (var->owner != g->lambda) {
        cell = take_slot(g);
        emit(g, OP_CAPTURED, cell, captured_index(g->lambda, var), 0, 2);
    }
    emit(g, OP_CELL_SET, cell, from, 0, 2);
    g->next = next;
}

/* Where a value is, once the code before has run: a variable's own slot, or a
 * new one. */
static int
operand(struct generator *g, struct node *n)
{
    int slot;

    if (n->kind == NODE_LOCAL && n->var->owner == g->lambda &&
        !is_cell(n->var) && (n->var->is_set || !n->var->is_late))
        return n->var->slot;
    slot = g->next;
    node(g, n, slot, false);
    return take_slot(g);
}

static bool
is_small_int(const struct node *n)
{
    return n->kind == NODE_CONSTANT && n->constant == NULL &&
           is_fixnum(n->immediate) && to_fixnum(n->immediate) < 1 << 28 &&
           to_fixnum(n->immediate) > -(1 << 28);
}

/* ---- procedures --------------------------------------------------------- */

/* Parameters that are cells become so; then the body, in tail position. */
static void
procedure_words(struct generator *g, struct node *body)
{
    struct var *var;

    for (var = g->lambda->params; var != NULL; var = var->next)
        var->slot = take_slot(g);
    for (var = g->lambda->params; var != NULL; var = var->next)
        if (is_cell(var))
            emit(g, OP_CELL_NEW, var->slot, 0, 0, 1);
    node(g, body, g->next, true);
}

/* The TAG_CODE block of a NODE_LAMBDA. */
static alq_value
procedure(struct compiler *c, struct node *n)
{
    struct generator g = {.c = c, .lambda = n->lambda, .last = NO_LABEL};
    alq_value block = ALQ_NULL;

    procedure_words(&g, n->kid);
    if (!c->has_failed && g.n_slots > SLOTS_MAX)
        scheme_fail_at(c->s, n->place, ALQ_NULL,
                       "a procedure with more than %d values at once",
                       SLOTS_MAX);
    else if (!c->has_failed)
        block = code_block(&g);
    c->has_failed |= block == ALQ_NULL;
    free(g.sources);
    free(g.words);
    return block;
}

static void
lambda(struct generator *g, struct node *n, int to)
{
    struct lambda *l = n->lambda;
    alq_value block = procedure(g->c, n);
    unsigned i;

    if (g->c->has_failed)
        return;
    constant(g, constant_new(g->c, block), OP_CLOSURE, to);
    word(g, l->n_captured);
    for (i = 0; i < l->n_captured; i++)
        word(g, var_word(g, l->captured[i]));
}

/* ---- calls of what is built in ------------------------------------------ */

/* The prim that a call's procedure surely is, or NULL. */
static const struct prim *
known_prim(const struct generator *g, const struct node *call, uint32_t *index)
{
    const struct scheme *s = g->c->s;
    const struct node *kid = call->kid;
    alq_value v = UNDEFINED;
    const struct prim *prim;
    unsigned n = 0;

    if (kid->kind == NODE_CONSTANT && kid->constant == NULL)
        v = kid->immediate;
    else if (kid->kind == NODE_GLOBAL && s->is_fixed[kid->number])
        v = s->names[2 * (size_t)kid->number + 1];
    if (!is_immediate(v, IMM_PRIM))
        return NULL;
    for (kid = kid->next; kid != NULL; kid = kid->next)
        n++;
    *index = immediate_of(v);
    prim = s->prims[*index];
    return prim->fn != NULL && n >= prim->min &&
                   (n <= prim->max || prim->max == ANY) && n < ANY
               ? prim
               : NULL;
}

/* Jumps away when a < b and the like do not hold. */
static ptrdiff_t
test_pair(struct generator *g, enum op op, struct node *a, struct node *b,
          int *n)
{
    static const enum op swapped[][3] = {
        /* as is, with an integer at the right, and at the left */
        {OP_IF_LESS, OP_IF_LESS_INT, OP_IF_MORE_INT},
        {OP_IF_AT_MOST, OP_IF_AT_MOST_INT, OP_IF_AT_LEAST_INT},
        {OP_IF_EQUAL, OP_IF_EQUAL_INT, OP_IF_EQUAL_INT},
        {OP_IF_EQ, OP_IF_EQ_INT, OP_IF_EQ_INT},
    };
    unsigned i = 0;
    int x, y;

    if (op == OP_IF_MORE_INT || op == OP_IF_AT_LEAST_INT) { /* > and >= */
        struct node *other = a;

        op = op == OP_IF_MORE_INT ? OP_IF_LESS : OP_IF_AT_MOST;
        a = b;
        b = other;
    }
    while (swapped[i][0] != op)
        i++;
    *n = 2;
    if (is_small_int(b))
        return jump(g, swapped[i][1], operand(g, a), (int64_t)b->immediate, 2);
    if (is_small_int(a))
        return jump(g, swapped[i][2], operand(g, b), (int64_t)a->immediate, 2);
    x = operand(g, a);
    y = operand(g, b);
    return jump(g, op, x, y, 2);
}

static bool
is_test(const struct prim *prim, const struct node *call)
{
    unsigned n = 0;
    const struct node *kid;

    for (kid = call->kid->next; kid != NULL; kid = kid->next)
        n++;
    if (prim->special == OP_IF_NULL || prim->special == OP_IF_PAIR)
        return true;
    return prim->special > OP_IF_PAIR && prim->special < OP_NONE && n == 2;
}

/* A jump that is taken when the test is false; n of its words stand before the
 * offset. */
static ptrdiff_t
test(struct generator *g, struct node *t, int *n)
{
    int next = g->next;
    const struct prim *prim;
    uint32_t index;
    ptrdiff_t at;

    prim = t->kind == NODE_CALL ? known_prim(g, t, &index) : NULL;
    source(g, t->place);
    *n = 1;
    if (prim == NULL || !is_test(prim, t)) {
        int slot = operand(g, t);

        at = jump(g, OP_IF, slot, 0, 1);
    } else if (prim->special == OP_IF_NULL || prim->special == OP_IF_PAIR) {
        int slot = operand(g, t->kid->next);

        at = jump(g, prim->special, slot, 0, 1);
    } else {
        at = test_pair(g, prim->special, t->kid->next, t->kid->next->next, n);
    }
    g->next = next;
    return at;
}

static void
arithmetic(struct generator *g, enum op op, struct node *a, struct node *b,
           int to)
{
    int x, y;

    if (is_small_int(b) && op != OP_MUL) {
        int64_t n = to_fixnum(b->immediate);

        x = operand(g, a);
        emit(g, OP_ADD_INT, to, x, op == OP_ADD ? n : -n, 3);
        return;
    }
    x = operand(g, a);
    y = operand(g, b);
    emit(g, op, to, x, y, 3);
}

/* An instruction for the prim itself; false when there is none. */
static bool
prim_special(struct generator *g, const struct prim *prim, struct node *n,
             int to)
{
    struct node *a = n->kid->next, *b = a == NULL ? NULL : a->next;
    int x, y, z;

    switch (prim->special) {
    case OP_CAR:
    case OP_CDR:
        x = operand(g, a);
        emit(g, prim->special, to, x, 0, 2);
        return true;
    case OP_CONS:
    case OP_VECTOR_REF:
        x = operand(g, a);
        y = operand(g, b);
        emit(g, prim->special, to, x, y, 3);
        return true;
    case OP_VECTOR_SET:
        x = operand(g, a);
        y = operand(g, b);
        z = operand(g, b->next);
        emit(g, OP_VECTOR_SET, x, y, z, 3);
        emit(g, OP_IMMEDIATE, to, (int64_t)UNSPECIFIED, 0, 2);
        return true;
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
        if (b == NULL || b->next != NULL)
            return false;
        arithmetic(g, prim->special, a, b, to);
        return true;
    default:
        return false;
    }
}

static void
prim_call(struct generator *g, const struct prim *prim, uint32_t index,
          struct node *n, int to)
{
    struct node *kid;
    int first = g->next, i;

    source(g, n->place);
    if (prim_special(g, prim, n, to))
        return;
    for (kid = n->kid->next; kid != NULL; kid = kid->next) {
        node(g, kid, g->next, false);
        take_slot(g);
    }
    i = g->next - first;
    if (i == 0)
        take_slot(g), g->next--; /* the result's */
    source(g, n->place);
    emit(g, OP_PRIM, first, i, index, 3);
    g->next = first;
    move(g, to, first);
}

/* ---- calls -------------------------------------------------------------- */

/* The loop's variables get new values, all at once, and new cells. */
static void
loop_call(struct generator *g, struct node *n)
{
    struct node *loop = n->kid->var->loop, *kid;
    struct var *var = loop->var;
    int first = g->next, slot;

    for (kid = n->kid->next; kid != NULL; kid = kid->next, var = var->next) {
        bool is_same =
            kid->kind == NODE_LOCAL && kid->var == var && !is_cell(var);

        if (!is_same) {
            node(g, kid, g->next, false);
            take_slot(g);
        }
    }
    /* Backwards: the last value may go straight to its place. */
    slot = g->next;
    g->next = first;
    while (slot > first) {
        struct var *v = NULL;
        int at = first;

        for (var = loop->var, kid = n->kid->next; kid != NULL;
             kid = kid->next, var = var->next) {
            if (kid->kind == NODE_LOCAL && kid->var == var && !is_cell(var))
                continue;
            if (at++ == slot - 1)
                v = var;
        }
        move(g, v->slot, --slot);
    }
    for (var = loop->var; var != NULL; var = var->next)
        if (is_cell(var))
            emit(g, OP_CELL_NEW, var->slot, 0, 0, 1);
    loop_back(g, loop->loop_var->slot);
}

static void
call(struct generator *g, struct node *n, int to, bool is_tail)
{
    uint32_t index;
    const struct prim *prim = known_prim(g, n, &index);
    struct node *kid = n->kid;
    int first = g->next, count = -1;

    if (kid->kind == NODE_LOCAL && kid->var->loop != NULL) {
        loop_call(g, n);
        return;
    }
    if (prim != NULL) {
        prim_call(g, prim, index, n, to);
        g->next = first;
        if (is_tail)
            emit(g, OP_RETURN, to, 0, 0, 1);
        return;
    }
    source(g, n->place);
    if (kid->kind == NODE_GLOBAL) /* the call gets it, last of all */
        emit(g, OP_IMMEDIATE, g->next, (int64_t)FALSE, 0, 2);
    for (; kid != NULL; kid = kid->next, count++) {
        if (kid->kind != NODE_GLOBAL || kid != n->kid)
            node(g, kid, g->next, false);
        take_slot(g);
    }
    source(g, n->place);
    if (n->kid->kind == NODE_GLOBAL)
        emit(g, is_tail ? OP_TAIL_CALL_GLOBAL : OP_CALL_GLOBAL, first, count,
             n->kid->number, 3);
    else
        emit(g, is_tail ? OP_TAIL_CALL : OP_CALL, first, count, 0, 2);
    g->next = first;
    if (!is_tail)
        move(g, to, first);
}

/* ---- the rest ----------------------------------------------------------- */

static void
if_node(struct generator *g, struct node *n, int to, bool is_tail)
{
    const struct prim *prim;
    struct node *t = n->kid, *then = t->next, *other = then->next;
    ptrdiff_t away, end;
    uint32_t index;
    int n_words;

    prim = t->kind == NODE_CALL ? known_prim(g, t, &index) : NULL;
    if (prim != NULL && prim->special == OP_IF) { /* not */
        struct node *swap = then;

        t = t->kid->next;
        then = other;
        other = swap;
    }
    away = test(g, t, &n_words);
    node(g, then, to, is_tail);
    if (is_tail) {
        label(g, away, n_words);
        node(g, other, to, true);
        return;
    }
    end = jump(g, OP_JUMP, 0, 0, 0);
    label(g, away, n_words);
    node(g, other, to, false);
    label(g, end, 0);
}

static void
or_node(struct generator *g, struct node *n, int to, bool is_tail)
{
    struct node *kid;
    ptrdiff_t away;
    ptrdiff_t ends = -1; /* a chain of jumps, through their offsets */

    for (kid = n->kid; kid->next != NULL; kid = kid->next) {
        node(g, kid, to, false);
        away = jump(g, OP_IF, to, 0, 1);
        if (is_tail) {
            emit(g, OP_RETURN, to, 0, 0, 1);
        } else {
            ptrdiff_t end = jump(g, OP_JUMP, 0, 0, 0);

            if (!g->c->has_failed)
                g->words[end + 1] = (int32_t)ends;
            ends = end;
        }
        label(g, away, 1);
    }
    node(g, kid, to, is_tail);
    while (ends != -1 && !g->c->has_failed) {
        ptrdiff_t before = g->words[ends + 1];

        label(g, ends, 0);
        ends = before;
    }
}

/* The body of a node that binds variables from slot `first` on. */
static void
scope_body(struct generator *g, struct node *body, int first, int to,
           bool is_tail)
{
    int result = g->next;

    node(g, body, result, is_tail);
    if (!is_tail) {
        if (result + 1 > g->n_slots)
            g->n_slots = result + 1;
        g->next = first;
        move(g, to, result);
    }
    g->next = first;
}

static void
let_node(struct generator *g, struct node *n, int to, bool is_tail)
{
    struct node *kid = n->kid;
    struct var *var;
    int first = g->next;

    for (var = n->var; var != NULL; var = var->next, kid = kid->next) {
        node(g, kid, g->next, false);
        var->slot = take_slot(g);
    }
    for (var = n->var; var != NULL; var = var->next)
        if (is_cell(var))
            emit(g, OP_CELL_NEW, var->slot, 0, 0, 1);
    if (n->kind == NODE_LOOP) {
        n->loop_var->slot = (int)g->n_words;
        g->last = NO_LABEL;
    }
    scope_body(g, kid, first, to, is_tail);
}

/* A closure whose variable is never set, so that others may capture it as it
 * is.  These are made first: a value that calls one finds all of them. */
static bool
is_fixed_closure(const struct node *n)
{
    return n->kind == NODE_INIT && n->kid->kind == NODE_LAMBDA &&
           !is_cell(n->var);
}

/* Closures made before this one, and itself, that capture it, get it now. */
static void
patch_closures(struct generator *g, struct node *from, struct node *made)
{
    for (; from != made->next; from = from->next) {
        struct lambda *l = from->kid == NULL ? NULL : from->kid->lambda;
        unsigned i;

        for (i = 0; is_fixed_closure(from) && i < l->n_captured; i++)
            if (l->captured[i] == made->var)
                emit(g, OP_PATCH, from->var->slot, i + CLOSURE_CAPTURED,
                     made->var->slot, 3);
    }
}

static void
letrec_node(struct generator *g, struct node *n, int to, bool is_tail)
{
    struct node *kid;
    struct var *var;
    int first = g->next;

    for (var = n->var; var != NULL; var = var->next) {
        emit(g, OP_IMMEDIATE, g->next, (int64_t)UNDEFINED, 0, 2);
        var->slot = take_slot(g);
        if (is_cell(var))
            emit(g, OP_CELL_NEW, var->slot, 0, 0, 1);
    }
    for (kid = n->kid; kid->next != NULL; kid = kid->next)
        if (is_fixed_closure(kid)) {
            node(g, kid->kid, g->next, false);
            move(g, kid->var->slot, g->next);
            patch_closures(g, n->kid, kid);
        }
    for (kid = n->kid; kid->next != NULL; kid = kid->next) {
        int slot = g->next;

        if (is_fixed_closure(kid))
            continue;
        node(g, kid->kind == NODE_INIT ? kid->kid : kid, slot, false);
        if (kid->kind == NODE_INIT) {
            set_local(g, kid->var, slot);
            kid->var->is_set = true;
        }
    }
    scope_body(g, kid, first, to, is_tail);
}

static void
sequence(struct generator *g, struct node *n, int to, bool is_tail)
{
    struct node *kid;

    for (kid = n->kid; kid->next != NULL; kid = kid->next) {
        node(g, kid, g->next, false);
        if (g->next + 1 > g->n_slots)
            g->n_slots = g->next + 1;
    }
    node(g, kid, to, is_tail);
}

static void
set_node(struct generator *g, struct node *n, int to)
{
    int next = g->next;
    int slot = operand(g, n->kid);

    source(g, n->place);
    if (n->kind == NODE_SET_LOCAL && !is_cell(n->var))
        g->next = next;
    if (n->kind == NODE_SET_LOCAL)
        set_local(g, n->var, slot);
    else
        emit(g, n->kind == NODE_DEFINE ? OP_GLOBAL_DEFINE : OP_GLOBAL_SET,
             (int64_t)n->number, slot, 0, 2);
    g->next = next;
    emit(g, OP_IMMEDIATE, to, (int64_t)UNSPECIFIED, 0, 2);
}

/* #t or #f of a test. */
static void
truth(struct generator *g, struct node *n, int to)
{
    int words;
    ptrdiff_t away = test(g, n, &words), end;

    emit(g, OP_IMMEDIATE, to, (int64_t)TRUE, 0, 2);
    end = jump(g, OP_JUMP, 0, 0, 0);
    label(g, away, words);
    emit(g, OP_IMMEDIATE, to, (int64_t)FALSE, 0, 2);
    label(g, end, 0);
}

static void
node_plain(struct generator *g, struct node *n, int to)
{
    switch (n->kind) {
    case NODE_CONSTANT:
        constant_node(g, n, to);
        break;
    case NODE_LOCAL:
        local(g, n->var, to);
        break;
    case NODE_GLOBAL:
        source(g, n->place);
        emit(g, OP_GLOBAL, to, (int64_t)n->number, 0, 2);
        break;
    case NODE_LAMBDA:
        lambda(g, n, to);
        break;
    default:
        set_node(g, n, to);
    }
}

/* Code that puts the value of n into slot `to`, which is g->next or a slot that
 * n does not read; in tail position code that returns it. */
static void
node(struct generator *g, struct node *n, int to, bool is_tail)
{
    const struct prim *prim;
    uint32_t index;

    if (to + 1 > g->n_slots)
        g->n_slots = to + 1;
    switch (n->kind) {
    case NODE_IF:
        if_node(g, n, to, is_tail);
        return;
    case NODE_OR:
        or_node(g, n, to, is_tail);
        return;
    case NODE_SEQUENCE:
        sequence(g, n, to, is_tail);
        return;
    case NODE_LET:
    case NODE_LOOP:
        let_node(g, n, to, is_tail);
        return;
    case NODE_LETREC:
        letrec_node(g, n, to, is_tail);
        return;
    case NODE_CALL:
        prim = known_prim(g, n, &index);
        if (prim == NULL || !is_test(prim, n)) {
            call(g, n, to, is_tail);
            return;
        }
        truth(g, n, to);
        break;
    default:
        node_plain(g, n, to);
    }
    if (is_tail)
        emit(g, OP_RETURN, to, 0, 0, 1);
}

/* As a procedure without parameters, called at once. */
alq_value
generate(struct compiler *c, struct node *n)
{
    struct lambda whole = {.place = n->place};
    struct node procedure_node = {
        .kind = NODE_LAMBDA, .lambda = &whole, .kid = n, .place = n->place};
    const struct code *code;
    alq_value block;

    captures(c, n, &whole);
    if (c->has_failed)
        return ALQ_NULL;
    block = procedure(c, &procedure_node);
    if (block == ALQ_NULL)
        return ALQ_NULL;
    code = *(struct code **)alq_custom_data(alq_field(block, 0));
    return scheme_block_of(c->s, TAG_CLOSURE, block,
                           (alq_value[]){alq_from_int((intptr_t)code)}, 1);
}
