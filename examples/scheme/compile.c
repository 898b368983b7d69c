/* compile.c -- a form to instructions, in one pass that may be repeated
 *
 * A procedure's places are used as a stack: `next` is the first free one.  What
 * compiles a form returns where its value is, as an operand: an immediate, a
 * variable's own place, or the next one; or NOWHERE, if it was to be returned
 * (is_tail), and is.
 * .inv.places  Each place below `next` was written since it was taken, on every
 *              way to here, so the collector may read it.  Each instruction has
 *              `next` in it: the machine gets the top from there.
 *
 * A variable that is captured by a closure, and changes, needs a cell.  That is
 * known at the end of its scope and wanted at the start.  So a form is compiled
 * as if all were well; what is not is noted in `fates`, by the variable's
 * number, and the form is compiled again until there is nothing new.
 *
 * Constants stand on the machine's stack meanwhile, where they are roots. */
#include <stdlib.h>
#include <string.h>

#include "scheme.h"

enum { CODE_MAX = 1 << 18, FATES_MAX = 1 << 14, VARIABLES_MAX = 1 << 13 };
enum { PLACES_MAX = 4000, CAPTURED_MAX = 200 };
enum fate { IS_CAPTURED = 1, IS_ASSIGNED = 2, IS_CELL = 3 };

struct variable {
    alq_value name;
    unsigned number;
    struct procedure *owner;
    int place;
    bool is_ready; /* has a value, as far as code is made */
};

struct procedure {
    struct procedure *outer;
    int start, last; /* instructions; -1: the last must not be changed */
    int next, n_places, n_params;
    int captured[CAPTURED_MAX]; /* variables */
    int n_captured;
};

struct compiler {
    struct scheme *s;
    struct procedure *p; /* the innermost */
    struct code *codes;  /* that were made, ... */
    size_t bytes;        /* ... and are so large */
    alq_value *constants;
    alq_value name; /* of procedures that have none */
    bool is_stale;  /* there is a new fate */
    int depth, n_code, n_variables;
    unsigned n_numbers;
    struct instruction code[CODE_MAX];
    uint32_t lines[CODE_MAX];
    struct variable variables[VARIABLES_MAX]; /* in scope */
    unsigned char fates[FATES_MAX + 1];
};

/* A place as an operand; whether a value can be one. */
#define AT(place) ((place) * (int)sizeof(alq_value))
#define IN_OPERAND(v) ((int)alq_bits(v))
#define IS_OPERAND(v) (alq_is_int(v) && (int64_t)alq_bits(v) == IN_OPERAND(v))
#define NOWHERE 2

#define IS_CELL_OF(c, v) ((c)->fates[(v)->number] == IS_CELL)
#define second(form) car(cdr(form))
#define third(form) car(cdr(cdr(form)))

static int expression(struct compiler *c, alq_value form, bool is_tail);

static void
need_room(struct compiler *c, bool is_there)
{
    if (!is_there)
        fail(c->s, ALQ_NULL, "a form that is too large");
}

/* ---- instructions ------------------------------------------------------- */

static int
emit(struct compiler *c, enum op op, int x, int y, int z)
{
    struct procedure *p = c->p;

    need_room(c, c->n_code < CODE_MAX && p->next < PLACES_MAX);
    p->n_places = p->next < p->n_places ? p->n_places : p->next + 1;
    c->code[c->n_code] =
        (struct instruction){(uint16_t)op, (uint16_t)p->next, x, y, z};
    c->lines[c->n_code] = c->s->line;
    return p->last = c->n_code++;
}

/* One that makes a value in the next place. */
static int
emit_next(struct compiler *c, enum op op, int y, int z)
{
    emit(c, op, c->p->next, y, z);
    return AT(c->p->next);
}

/* A jump goes here. */
static void
label(struct compiler *c, int jump)
{
    c->code[jump].c = c->n_code - jump;
    c->p->last = -1;
}

/* A value goes to a place.  The instruction that has just made it in a free
 * place may as well make it in the other. */
static int
put(struct compiler *c, int place, int from)
{
    struct instruction *last = c->p->last >= 0 ? &c->code[c->p->last] : NULL;

    if (from == AT(place) || from == NOWHERE)
        return from;
    if (last != NULL && last->op <= OP_VECTOR_REF && from == AT(last->a) &&
        last->a >= c->p->next)
        last->a = place;
    else
        emit(c, OP_MOVE, place, from, 0);
    return AT(place);
}

/* The next place is taken, for a value. */
static int
take(struct compiler *c, int from)
{
    put(c, c->p->next, from);
    return c->p->next++;
}

/* The value of a form, in a place that is taken if it is not a variable's. */
static int
operand(struct compiler *c, alq_value form)
{
    int from = expression(c, form, false);

    return from == AT(c->p->next) ? AT(take(c, from)) : from;
}

/* The number of a value among the constants. */
static int
constant(struct compiler *c, alq_value v)
{
    need_room(c, c->s->run.top < STACK_LIMIT(c->s));
    *c->s->run.top++ = v;
    return (int)(c->s->run.top - c->constants);
}

static int
quoted(struct compiler *c, alq_value v)
{
    return IS_OPERAND(v) ? IN_OPERAND(v)
                         : emit_next(c, OP_CONSTANT, constant(c, v), 0);
}

/* ---- variables ---------------------------------------------------------- */

static void
note(struct compiler *c, const struct variable *v, enum fate fate)
{
    c->is_stale |= (c->fates[v->number] | fate) != c->fates[v->number];
    c->fates[v->number] |= (unsigned char)fate;
}

/* Its place holds its value, or if it is not ready UNDEFINED. */
static void
bind(struct compiler *c, alq_value name, int place, bool is_ready)
{
    struct variable *v = &c->variables[c->n_variables];

    need_room(c, c->n_variables++ < VARIABLES_MAX && c->n_numbers < FATES_MAX);
    if (!is_immediate(name, IMM_SYMBOL))
        fail(c->s, name, "not a name");
    *v = (struct variable){name, c->n_numbers++, c->p, place, is_ready};
    if (IS_CELL_OF(c, v))
        emit(c, OP_CELL_NEW, place, 0, 0);
}

/* -1: a global one, or no name. */
static int
lookup(const struct compiler *c, alq_value name)
{
    int i = c->n_variables - 1;

    while (i >= 0 && !alq_is_same(c->variables[i].name, name))
        i--;
    return i;
}

/* What the variable's place has, or the field of the closure that has it. */
static int
raw(struct compiler *c, int variable)
{
    const struct variable *v = &c->variables[variable];
    struct procedure *p = c->p;
    int i = 0;

    if (v->owner == p)
        return AT(v->place);
    while (i < p->n_captured && p->captured[i] != variable)
        i++;
    need_room(c, i < CAPTURED_MAX);
    if (i == p->n_captured) {
        p->captured[p->n_captured++] = variable;
        note(c, v, v->is_ready ? IS_CAPTURED : IS_CELL);
    }
    return emit_next(c, OP_CAPTURED, i + CLOSURE_CAPTURED, 0);
}

static int
reference(struct compiler *c, alq_value name)
{
    int i = lookup(c, name);
    const struct variable *v = c->variables + (i < 0 ? 0 : i);

    if (i < 0)
        return emit_next(c, OP_GLOBAL, (int)immediate_of(name), 0);
    if (IS_CELL_OF(c, v))
        return emit_next(c, OP_CELL_GET, raw(c, i), 0);
    if (!v->is_ready && v->owner == c->p)
        fail(c->s, name, "a variable is used before it has a value");
    return raw(c, i);
}

static void
assign(struct compiler *c, int variable, int from)
{
    const struct variable *v = &c->variables[variable];
    int next = c->p->next;

    if (IS_CELL_OF(c, v)) {
        if (from == AT(next))
            take(c, from);
        emit(c, OP_CELL_SET, raw(c, variable), from, 0);
        c->p->next = next;
    } else if (v->owner == c->p) {
        put(c, v->place, from);
    } /* else it will be a cell, next time */
}

/* ---- procedures --------------------------------------------------------- */

static int
sequence(struct compiler *c, alq_value forms, bool is_tail)
{
    int value = IN_OPERAND(UNSPECIFIED);
    ALQ_FRAME(c->s->d, f, forms);

    for (f.forms = forms; !is_nil(f.forms); f.forms = cdr(f.forms))
        value = expression(c, car(f.forms), is_tail && is_nil(cdr(f.forms)));
    return value;
}

/* What a (define ...) defines. */
static alq_value
defined(alq_value form)
{
    alq_value head = is_pair(cdr(form)) ? second(form) : NIL;

    return is_pair(head) ? car(head) : head;
}

/* The end of a scope that began with so many variables: a sequence whose
 * definitions are variables, not ready yet, from the start.  Its value moves to
 * the place that is next then, from one that is free. */
static int
body(struct compiler *c, alq_value forms, bool is_tail, int n_variables,
     int next)
{
    alq_value list, define = symbol(c->s, "define");
    int value;

    for (list = forms; !is_nil(list); list = cdr(list))
        if (is_pair(car(list)) && alq_is_same(car(car(list)), define))
            bind(c, defined(car(list)), take(c, IN_OPERAND(UNDEFINED)), false);
    value = sequence(c, forms, is_tail);
    c->n_variables = n_variables;
    c->p->next = next;
    return (value & 1) == 0 && value >= AT(next) ? put(c, next, value) : value;
}

/* The code of the innermost procedure, whose instructions are complete. */
static struct code *
code_new(struct compiler *c, alq_value name, int arity)
{
    struct procedure *p = c->p;
    size_t n = (size_t)(c->n_code - p->start);
    struct code *code =
        malloc(sizeof *code + n * (sizeof c->code[0] + sizeof c->lines[0]));

    need_room(c, code != NULL);
    *code = (struct code){c->codes,    FRAME(immediate_of(name), c->s->file),
                          arity,       p->n_params,
                          p->n_places, (uint32_t *)(code->instructions + n)};
    memcpy(code->instructions, c->code + p->start, n * sizeof c->code[0]);
    c->bytes += sizeof *code + n * (sizeof c->code[0] + sizeof c->lines[0]);
    memcpy(code->lines, c->lines + p->start, n * sizeof c->lines[0]);
    return c->codes = code;
}

/* Of a loop, `self` is the name (else FALSE), and params are (name value).
 * What it captures stands in p. */
static struct code *
procedure(struct compiler *c, struct procedure *p, alq_value title,
          alq_value self, alq_value params, alq_value forms)
{
    int n_variables = c->n_variables, i = 0;
    bool is_loop = !is_false(self);
    struct code *code;
    alq_value list;

    *p = (struct procedure){.outer = c->p, .start = c->n_code, .last = -1};
    c->p = p;
    for (list = params; is_pair(list); list = cdr(list))
        need_room(c, ++p->n_params < PLACES_MAX);
    p->n_params += !is_nil(list);
    p->next = p->n_params + 1; /* one is where it returns to */
    if (is_loop) /* itself is where the machine has it, if that will do */
        bind(c, self, c->fates[c->n_numbers] != 0 ? take(c, AT(-1)) : -1, true);
    for (list = params; is_pair(list); list = cdr(list))
        bind(c, is_loop ? car(car(list)) : car(list), i++, true);
    if (!is_nil(list))
        bind(c, list, i, true);
    if (p->outer == NULL)
        emit(c, OP_RETURN, sequence(c, forms, false), 0, 0);
    else
        body(c, forms, true, n_variables, 0);
    code = code_new(c, title, !is_nil(list) ? -1 : p->n_params);
    c->n_variables = n_variables;
    c->n_code = p->start;
    c->p = p->outer;
    return code;
}

static int
lambda(struct compiler *c, alq_value title, alq_value self, alq_value params,
       alq_value forms)
{
    struct procedure p;
    struct code *code = procedure(c, &p, title, self, params, forms);
    int next = c->p->next, i;

    for (i = 0; i < p.n_captured; i++)
        take(c, raw(c, p.captured[i]));
    emit(c, OP_CLOSURE, next, constant(c, alq_from_address(code)),
         p.n_captured);
    c->p->next = next;
    return AT(next);
}

/* ---- calls -------------------------------------------------------------- */

/* Values of forms, in places from the next on; how many. */
static int
values(struct compiler *c, alq_value forms)
{
    int first = c->p->next;
    ALQ_FRAME(c->s->d, f, forms);

    for (f.forms = forms; !is_nil(f.forms); f.forms = cdr(f.forms))
        take(c, expression(c, car(f.forms), false));
    return c->p->next - first;
}

/* Of the procedure in a place, with n values behind it. */
static int
call(struct compiler *c, int place, int n, bool is_tail)
{
    emit(c, is_tail ? OP_TAIL : OP_CALL, place, n, c->p->n_params);
    c->p->next = place;
    return is_tail ? NOWHERE : AT(place);
}

/* A loop calls itself last: back to its start, with new parameters. */
static int
again(struct compiler *c, alq_value args)
{
    int first = c->p->next, i;

    for (i = values(c, args) - 1; i >= 0; i--) {
        c->p->next = first + i;
        put(c, i, AT(first + i));
    }
    emit(c, OP_LOOP, 0, 0, c->p->start - c->n_code);
    return NOWHERE;
}

/* What the compiler knows of a name that nobody has given another meaning: a
 * syntax, or an instruction that does the same.  PATH: car, cadr, ... */
enum { NOT = OP_HALT + 1, PATH, QUOTE, IF, LAMBDA, LET, BEGIN, SET, DEFINE };
static const struct known {
    const char *names;
    int op, min, max; /* items of a form */
} table[] = {{"", OP_PRIM, 1, MANY},
             {"quote", QUOTE, 2, 2},
             {"if", IF, 3, 4},
             {"lambda", LAMBDA, 3, MANY},
             {"let", LET, 3, MANY},
             {"begin", BEGIN, 1, MANY},
             {"set!", SET, 3, 3},
             {"define", DEFINE, 3, MANY},
             {"not", NOT, 2, 2},
             {"car cdr caar cadr cdar cddr caddr", PATH, 2, 2},
             {"null?", OP_IF_NULL, 2, 2},
             {"pair?", OP_IF_PAIR, 2, 2},
             {"eq? char=?", OP_IF_EQ, 3, 3},
             {"<", OP_IF_LESS, 3, 3},
             {">", OP_IF_MORE, 3, 3},
             {"<=", OP_IF_AT_MOST, 3, 3},
             {">=", OP_IF_AT_LEAST, 3, 3},
             {"=", OP_IF_EQUAL, 3, 3},
             {"+", OP_ADD, 3, MANY},
             {"-", OP_SUB, 2, MANY},
             {"*", OP_MUL, 3, MANY},
             {"cons", OP_CONS, 3, 3},
             {"vector-ref", OP_VECTOR_REF, 3, 3},
             {"vector-set!", OP_VECTOR_SET, 4, 4}};

/* NULL: nothing, or it does not take so many. */
static const struct known *
known(const struct compiler *c, alq_value form)
{
    alq_value head = is_pair(form) ? car(form) : FALSE;
    int64_t n = list_length(form);
    const struct known *k = table;

    if (!is_immediate(head, IMM_SYMBOL) || lookup(c, head) >= 0 ||
        c->s->known[immediate_of(head)] == 0)
        return NULL;
    k += c->s->known[immediate_of(head)] - 1;
    if ((n < k->min || n > k->max) && k->op >= QUOTE)
        fail(c->s, form, "a form with too little or too much in it");
    return n < k->min || n > k->max ? NULL : k;
}

static int
conditional(struct compiler *c, alq_value condition, alq_value yes,
            alq_value no, bool is_tail)
{
    const struct known *k = known(c, condition);
    bool is_test = k != NULL && k->op >= OP_IF_NULL && k->op <= OP_IF_EQUAL;
    int next = c->p->next, x, y = 0, jump, end;
    ALQ_FRAME(c->s->d, f, condition, yes, no);

    if (k != NULL && k->op == NOT)
        return conditional(c, second(condition), no, yes, is_tail);
    f.condition = condition;
    f.yes = yes;
    f.no = no;
    x = operand(c, is_test ? second(condition) : condition);
    if (is_test && k->op > OP_IF_PAIR)
        y = operand(c, third(f.condition));
    jump = emit(c, is_test ? (enum op)k->op : OP_IF, x, y, 0);
    c->p->next = next;
    put(c, next, expression(c, f.yes, is_tail));
    end = is_tail ? jump : emit(c, OP_JUMP, 0, 0, 0);
    label(c, jump);
    put(c, next, expression(c, f.no, is_tail));
    if (!is_tail)
        label(c, end);
    return is_tail ? NOWHERE : AT(next);
}

/* Of two operands, or in turn of more; vector-set! has three. */
static int
instruction(struct compiler *c, enum op op, alq_value args)
{
    int next = c->p->next, a = next, x, y;
    ALQ_FRAME(c->s->d, f, args);

    f.args = args;
    if (op == OP_VECTOR_SET) {
        a = operand(c, car(f.args));
        f.args = cdr(f.args);
    }
    for (x = operand(c, car(f.args)); f.args = cdr(f.args), !is_nil(f.args);) {
        y = operand(c, car(f.args));
        emit(c, op, a, x, y);
        c->p->next = next;
        x = op == OP_VECTOR_SET ? IN_OPERAND(UNSPECIFIED)
                                : AT(take(c, AT(next)));
    }
    c->p->next = next;
    return x;
}

/* ---- forms -------------------------------------------------------------- */

/* (let ((name value) ...) ...) and (let name ((name value) ...) ...). */
static int
let(struct compiler *c, alq_value form, bool is_tail)
{
    bool is_loop = is_immediate(second(form), IMM_SYMBOL);
    int next = c->p->next, n_variables = c->n_variables, n = 0;
    alq_value list, name = second(form);
    ALQ_FRAME(c->s->d, f, form, list);

    f.form = is_loop ? cdr(form) : form;
    f.list = second(f.form);
    for (list = f.list; is_pair(list) && list_length(car(list)) == 2; n++)
        list = cdr(list);
    if (!is_nil(list) || is_nil(cdr(cdr(f.form))))
        fail(c->s, form, "let: no list of (name value)");
    if (is_loop)
        take(c, lambda(c, name, name, f.list, cdr(cdr(f.form))));
    for (; !is_nil(f.list); f.list = cdr(f.list))
        take(c, expression(c, second(car(f.list)), false));
    if (is_loop)
        return call(c, next, n, is_tail);
    for (n = next, list = second(f.form); !is_nil(list); list = cdr(list))
        bind(c, car(car(list)), n++, true);
    return body(c, cdr(cdr(f.form)), is_tail, n_variables, next);
}

/* (set! name value), (define name value), (define (name ...) ...): a program
 * may give the name another meaning from now on. */
static int
assignment(struct compiler *c, alq_value form, bool is_set)
{
    alq_value name = is_set ? second(form) : defined(form);
    bool is_top = c->p->outer == NULL && c->n_variables == 0;
    int i = lookup(c, name), from;
    struct variable *v = c->variables + (i < 0 ? 0 : i);

    if (!is_immediate(name, IMM_SYMBOL))
        fail(c->s, name, "%s: not a name", is_set ? "set!" : "define");
    if (!is_set && !is_top && (i < 0 || v->owner != c->p || v->is_ready))
        fail(c->s, name, "define: not at the top, and not in a body");
    if (is_set && i >= 0)
        note(c, v, IS_ASSIGNED);
    else if (i < 0 && c->s->file != c->s->prelude)
        c->s->known[immediate_of(name)] = 0;
    c->name = is_set ? c->name : name;
    from = !is_set && is_pair(second(form))
               ? lambda(c, name, FALSE, cdr(second(form)), cdr(cdr(form)))
               : expression(c, third(form), false);
    if (i < 0)
        emit(c, is_set ? OP_SET : OP_DEFINE, (int)immediate_of(name), from, 0);
    else
        assign(c, i, from);
    if (!is_set && i >= 0)
        v->is_ready = true;
    return IN_OPERAND(UNSPECIFIED);
}

static int
known_form(struct compiler *c, const struct known *k, alq_value form,
           bool is_tail)
{
    const char *name = name_of(immediate_of(car(form))), *letter;
    int next = c->p->next, x;

    switch (k->op) {
    case QUOTE:
        return quoted(c, second(form));
    case IF:
        form = cdr(form);
        return conditional(c, car(form), second(form),
                           is_nil(cdr(cdr(form))) ? UNSPECIFIED : third(form),
                           is_tail);
    case LAMBDA:
        return lambda(c, c->name, FALSE, second(form), cdr(cdr(form)));
    case LET:
        return let(c, form, is_tail);
    case BEGIN:
        return sequence(c, cdr(form), is_tail);
    case SET:
    case DEFINE:
        return assignment(c, form, k->op == SET);
    case OP_SUB: /* (- x) is (- 0 x) */
        if (is_nil(cdr(cdr(form))))
            form = PAIR(c->s, NIL, PAIR(c->s, from_fixnum(0), cdr(form)));
        return instruction(c, OP_SUB, cdr(form));
    case PATH:
        x = operand(c, second(form));
        c->p->next = next;
        for (letter = strchr(name, 'r'); --letter > name;)
            x = emit_next(c, *letter == 'a' ? OP_CAR : OP_CDR, x, 0);
        return x;
    default:
        return k->op < OP_IF ? instruction(c, (enum op)k->op, cdr(form))
                             : conditional(c, form, TRUE, FALSE, is_tail);
    }
}

static int
list_form(struct compiler *c, alq_value form, bool is_tail)
{
    alq_value head = car(form), v = FALSE;
    const struct known *k = known(c, form);
    int next = c->p->next, n = (int)list_length(form) - 1, i = lookup(c, head);
    unsigned min, max = 0;

    if (is_immediate(head, IMM_SYMBOL) && i < 0)
        v = c->s->globals[immediate_of(head)];
    if (i >= 0 && is_tail && n == c->p->n_params && c->variables[i].place < 0 &&
        c->variables[i].owner == c->p)
        return again(c, cdr(form));
    if (is_tag(v, TAG_MACRO))
        return expression(c, apply(c->s, car(v), cdr(form)), is_tail);
    if (k != NULL && k->op != OP_PRIM)
        return known_form(c, k, form, is_tail);
    if (k != NULL)
        arity(&c->s->prims[immediate_of(v)], &min, &max);
    if (k == NULL || (unsigned)n < min || (unsigned)n > max)
        return call(c, next, values(c, form) - 1, is_tail);
    values(c, cdr(form));
    emit(c, OP_PRIM, next, n, (int)immediate_of(v));
    c->p->next = next;
    return AT(next);
}

static int
expression(struct compiler *c, alq_value form, bool is_tail)
{
    unsigned line = c->s->line;
    int value;

    if (++c->depth > DEPTH_MAX)
        fail(c->s, ALQ_NULL, "forms nested too deep");
    if (is_nil(form) || (is_pair(form) && list_length(form) < 0))
        fail(c->s, form, "a form that is no list");
    if (is_pair(form) && alq_wosize(form) == 3)
        c->s->line = (unsigned)to_fixnum(alq_field(form, 2));
    value = is_pair(form)                    ? list_form(c, form, is_tail)
            : is_immediate(form, IMM_SYMBOL) ? reference(c, form)
                                             : quoted(c, form);
    if (is_tail && value != NOWHERE)
        emit(c, OP_RETURN, value, c->p->n_params, 0);
    c->depth--;
    c->s->line = line;
    return is_tail ? NOWHERE : value;
}

/* ---- a form ------------------------------------------------------------- */

static void
codes_free(struct code *code)
{
    struct code *next;

    for (; code != NULL; code = next) {
        next = code->next;
        free(code);
    }
}

static void
codes_finalise(alq_value block)
{
    codes_free(*(struct code **)alq_custom_data(block));
}

/* What a form's code blocks own: a list, outside of the heap. */
static const struct alq_custom_ops codes_ops = {.name = "scheme code",
                                                .finalise = codes_finalise};

alq_value
compile(struct scheme *s, alq_value form)
{
    struct compiler *c = s->compiler;
    alq_value *base = s->run.top, v;
    struct procedure p;
    struct code *code;
    size_t i, n;
    ALQ_FRAME(s->d, f, forms, owner, block);

    if (s->run.is_busy)
        fail(s, ALQ_NULL, "eval: not while a form is compiled");
    f.forms = PAIR(s, form, NIL);
    s->run.is_busy = s->run.is_compiling = true;
    memset(c->fates, 0, sizeof c->fates);
    c->constants = base;
    do {
        codes_free(c->codes);
        c->codes = NULL;
        c->bytes = 0;
        c->p = NULL;
        c->is_stale = false;
        c->n_code = c->n_variables = c->depth = 0;
        c->n_numbers = 0;
        c->name = symbol(s, "lambda");
        s->run.top = base;
        code = procedure(c, &p, symbol(s, "top level"), FALSE, NIL, f.forms);
    } while (c->is_stale);
    f.owner =
        made(s, alq_alloc_custom_mem(s->d, &codes_ops, sizeof code, c->bytes));
    *(struct code **)alq_custom_data(f.owner) = c->codes;
    c->codes = NULL;
    n = (size_t)(s->run.top - base);
    f.block = made(s, alq_alloc(s->d, n + 1, TAG_CODE));
    alq_init(s->d, f.block, 0, f.owner);
    for (i = 0; i < n; i++)
        alq_init(s->d, f.block, i + 1, base[i]);
    s->run.top = base;
    v = made(s, alq_alloc_small(s->d, 2, TAG_CLOSURE));
    alq_init_small(v, CLOSURE_CODE, f.block);
    alq_init_small(v, CLOSURE_ENTRY, alq_from_address(code));
    s->run.is_busy = s->run.is_compiling = false;
    return v;
}

bool
compile_start(struct scheme *s)
{
    const char *names;
    uint32_t symbol;
    uint8_t i;

    s->compiler = calloc(1, sizeof *s->compiler);
    if (s->compiler == NULL)
        return false;
    s->compiler->s = s;
    for (i = 1; i < sizeof table / sizeof table[0]; i++)
        for (names = table[i].names; (symbol = next_name(s, &names)) != 0;) {
            s->globals[symbol] = IMMEDIATE(IMM_SYNTAX, i);
            s->known[symbol] = i + 1;
        }
    return true;
}
