/* analyse.c -- data to a tree: syntax, scopes, macros, loops
 *
 * A macro runs Scheme, which collects: each form that is used behind such a
 * call stands in a frame.  All functions here keep their forms so.
 *
 * After an error they go on with nodes that mean nothing; only the first error
 * counts, and scheme_compile looks whether there was one. */
#include <stdlib.h>
#include <string.h>

#include "compile.h"

struct scope {
    struct var *vars;
    const struct scope *outer;
};

/* ---- memory ------------------------------------------------------------- */

struct piece {
    struct piece *next;
    char bytes[];
};

void *
compile_memory(struct compiler *c, size_t bytes)
{
    struct piece *piece = calloc(1, sizeof *piece + bytes);

    if (piece == NULL) {
        scheme_fail_memory(c->s);
        c->has_failed = true;
        return memset(c->spare, 0, sizeof c->spare); /* nobody reads it */
    }
    piece->next = c->pieces;
    c->pieces = piece;
    return piece->bytes;
}

static void
compiler_close(struct compiler *c)
{
    struct constant *constant;

    for (constant = c->constants; constant != NULL; constant = constant->next)
        alq_root_drop(c->s->d, constant->root);
    while (c->pieces != NULL) {
        struct piece *piece = c->pieces;

        c->pieces = piece->next;
        free(piece);
    }
}

/* A node outlives this call and is no block: a boxed root holds the constant.
 */
struct constant *
constant_new(struct compiler *c, alq_value v)
{
    struct constant *constant = compile_memory(c, sizeof *constant);

    if (c->has_failed)
        return constant;
    constant->root = alq_root_new(c->s->d, v);
    if (constant->root == NULL) {
        scheme_fail_memory(c->s);
        c->has_failed = true;
    }
    constant->next = c->constants;
    return c->constants = constant;
}

/* ---- nodes -------------------------------------------------------------- */

static struct node *
node_new(struct compiler *c, enum kind kind, alq_value form)
{
    struct node *node = compile_memory(c, sizeof *node);
    uint64_t place = place_of_form(form);

    node->kind = kind;
    node->place = place != 0 ? place : c->place;
    return node;
}

static struct node *
kid_add(struct node *node, struct node *kid)
{
    if (node->kid == NULL)
        node->kid = kid;
    else
        node->last->next = kid;
    node->last = kid;
    return node;
}

static struct node *
constant(struct compiler *c, alq_value v)
{
    struct node *node = node_new(c, NODE_CONSTANT, NIL);

    if (alq_is_int(v))
        node->immediate = v;
    else
        node->constant = constant_new(c, v);
    return node;
}

static struct node *
bad(struct compiler *c, alq_value form, const char *what)
{
    uint64_t place = place_of_form(form);

    if (!c->has_failed)
        scheme_fail_at(c->s, place != 0 ? place : c->place,
                       form == NIL ? ALQ_NULL : form, "%s", what);
    c->has_failed = true;
    return node_new(c, NODE_CONSTANT, NIL);
}

static struct node *analyse(struct compiler *c, alq_value form,
                            const struct scope *scope);

/* The forms of a list become kids. */
static struct node *
kids_add(struct compiler *c, struct node *node, alq_value forms,
         const struct scope *scope)
{
    ALQ_FRAME(c->s->d, f, forms);

    for (f.forms = forms; is_pair(f.forms) && !c->has_failed;
         f.forms = cdr(f.forms))
        kid_add(node, analyse(c, car(f.forms), scope));
    return node;
}

/* ---- shapes and names --------------------------------------------------- */

/* A proper list of min to max items. */
static bool
has_items(alq_value list, unsigned min, unsigned max)
{
    unsigned n = 0;

    for (; is_pair(list) && n <= max; list = cdr(list))
        n++;
    return list == NIL && n >= min && n <= max;
}

/* ((name value) ...) */
static bool
are_bindings(alq_value list)
{
    for (; is_pair(list); list = cdr(list))
        if (!has_items(car(list), 2, 2) || !is_tag(car(car(list)), TAG_SYMBOL))
            return false;
    return list == NIL;
}

static struct var *
find_var(const struct scope *scope, uint32_t name)
{
    struct var *var;

    for (; scope != NULL; scope = scope->outer)
        for (var = scope->vars; var != NULL; var = var->next)
            if (var->name == name)
                return var;
    return NULL;
}

static struct var *
var_new(struct compiler *c, alq_value symbol)
{
    struct var *var = compile_memory(c, sizeof *var);

    var->name = symbol_number(symbol);
    return var;
}

static struct node *
reference(struct compiler *c, alq_value symbol, const struct scope *scope)
{
    struct var *var = find_var(scope, symbol_number(symbol));
    struct node *node =
        node_new(c, var != NULL ? NODE_LOCAL : NODE_GLOBAL, NIL);

    node->var = var;
    node->number = symbol_number(symbol);
    return node;
}

/* The value of the name at a form's head; UNDEFINED when that is a variable of
 * the scope, or no name. */
static alq_value
meaning(struct compiler *c, alq_value form, const struct scope *scope)
{
    alq_value head = is_pair(form) ? car(form) : NIL;

    if (!is_tag(head, TAG_SYMBOL) || find_var(scope, symbol_number(head)))
        return UNDEFINED;
    return c->s->names[2 * (size_t)symbol_number(head) + 1];
}

/* What a macro makes of a form, until its head is no macro any more.  An error
 * in the macro is told where it is used. */
static alq_value
expand(struct compiler *c, alq_value form, const struct scope *scope)
{
    unsigned n = 0;
    alq_value macro;

    while (is_tag(macro = meaning(c, form, scope), TAG_MACRO)) {
        if (++n > DEPTH_MAX) {
            bad(c, NIL, "a macro that never ends");
            return NIL;
        }
        form = scheme_apply(c->s, alq_field(macro, 0), 1, &form);
        if (form != ALQ_NULL)
            continue;
        if (!c->has_failed && is_tag(c->s->error.value, TAG_CONDITION))
            alq_store(c->s->d, c->s->error.value, 2,
                      from_fixnum((int64_t)c->place));
        c->has_failed = true;
        return NIL;
    }
    return form;
}

/* ---- procedures and definitions ----------------------------------------- */

static struct node *body_add(struct compiler *c, struct node *node,
                             alq_value forms, const struct scope *scope);

static void
params_add(struct compiler *c, struct lambda *lambda, alq_value params)
{
    struct var **end = &lambda->params;
    alq_value form = params;

    for (; params != NIL && !lambda->has_rest && !c->has_failed;
         params = lambda->has_rest ? NIL : cdr(params)) {
        alq_value name = is_pair(params) ? car(params) : params;

        if (!is_tag(name, TAG_SYMBOL) || lambda->n_params == PARAMS_MAX) {
            bad(c, form, "parameters that are no names, or too many");
            return;
        }
        *end = var_new(c, name);
        end = &(*end)->next;
        lambda->has_rest = !is_pair(params);
        lambda->n_params += !lambda->has_rest;
    }
}

static struct node *
lambda_node(struct compiler *c, uint32_t name, alq_value params,
            alq_value forms, const struct scope *scope, alq_value form)
{
    struct node *node = node_new(c, NODE_LAMBDA, form);
    struct scope inner = {.outer = scope};

    node->lambda = compile_memory(c, sizeof *node->lambda);
    node->lambda->name = name;
    node->lambda->place = node->place;
    params_add(c, node->lambda, params);
    if (c->has_failed)
        return node; /* making the error may have moved the forms */
    inner.vars = node->lambda->params;
    return body_add(c, node, forms, &inner);
}

static struct node *
syntax_lambda(struct compiler *c, alq_value form, const struct scope *scope)
{
    if (!has_items(form, 3, ANY))
        return bad(c, form, "lambda: needs parameters and a body");
    return lambda_node(c, 0, car(cdr(form)), cdr(cdr(form)), scope, form);
}

/* The name that a define defines; FALSE when the form is no good. */
static alq_value
defined_name(alq_value form)
{
    alq_value name = has_items(form, 2, ANY) ? car(cdr(form)) : NIL;

    if (is_pair(name))
        name = cdr(cdr(form)) != NIL ? car(name) : NIL;
    else if (!has_items(form, 2, 3))
        name = NIL;
    return is_tag(name, TAG_SYMBOL) ? name : FALSE;
}

/* Of (define name value) or (define (name . params) . body). */
static struct node *
defined_value(struct compiler *c, alq_value form, const struct scope *scope)
{
    alq_value target = car(cdr(form)), rest = cdr(cdr(form));
    uint32_t name = symbol_number(defined_name(form));
    struct node *node;

    if (is_pair(target))
        return lambda_node(c, name, cdr(target), rest, scope, form);
    if (rest == NIL)
        return constant(c, UNSPECIFIED);
    node = analyse(c, car(rest), scope);
    if (node->kind == NODE_LAMBDA && node->lambda->name == 0)
        node->lambda->name = name;
    return node;
}

static struct node *
syntax_define(struct compiler *c, alq_value form, const struct scope *scope)
{
    struct node *node = node_new(c, NODE_DEFINE, form);

    if (defined_name(form) == FALSE)
        return bad(c, form, "define: needs a name and a value");
    if (scope != NULL)
        return bad(c, form, "define: not where definitions stand");
    node->number = symbol_number(defined_name(form));
    c->s->is_fixed[node->number] = false;
    return kid_add(node, defined_value(c, form, scope));
}

/* ---- bodies ------------------------------------------------------------- */

static bool
is_define(struct compiler *c, alq_value form, const struct scope *scope)
{
    return meaning(c, form, scope) == IMMEDIATE(IMM_SYNTAX, SYNTAX_DEFINE);
}

/* The forms backwards, macros at their heads expanded, begins opened. */
static alq_value
body_forms(struct compiler *c, alq_value forms, const struct scope *scope,
           alq_value done)
{
    ALQ_FRAME(c->s->d, f, forms, form, done);

    f.done = done;
    for (f.forms = forms; is_pair(f.forms); f.forms = cdr(f.forms)) {
        f.form = expand(c, car(f.forms), scope);
        if (meaning(c, f.form, scope) == IMMEDIATE(IMM_SYNTAX, SYNTAX_BEGIN) &&
            c->depth < DEPTH_MAX) {
            c->depth++;
            f.done = body_forms(c, cdr(f.form), scope, f.done);
            c->depth--;
        } else {
            f.done = scheme_cons(c->s, f.form, f.done);
        }
        if (f.done == ALQ_NULL) {
            c->has_failed = true;
            return NIL;
        }
    }
    return f.done;
}

static struct node *
init_node(struct compiler *c, struct var *var, struct node *value)
{
    struct node *node = kid_add(node_new(c, NODE_INIT, NIL), value);

    node->var = var;
    var->is_late = value->kind != NODE_LAMBDA;
    return node;
}

/* A body that begins with definitions, or has them further on, is a letrec*. */
static struct node *
body_add(struct compiler *c, struct node *node, alq_value forms,
         const struct scope *scope)
{
    struct scope inner = {.outer = scope};
    struct node *body = node_new(c, NODE_SEQUENCE, NIL);
    ALQ_FRAME(c->s->d, f, forms, list);

    f.list = body_forms(c, forms, scope, NIL);
    for (f.forms = NIL; is_pair(f.list) && !c->has_failed;
         f.list = cdr(f.list)) {
        if (is_define(c, car(f.list), scope)) {
            alq_value name = defined_name(car(f.list));
            struct var *var;

            if (name == FALSE)
                return bad(c, car(f.list), "define: needs a name and a value");
            var = var_new(c, name);
            var->next = inner.vars;
            inner.vars = var;
        }
        f.forms = scheme_cons(c->s, car(f.list), f.forms);
        c->has_failed |= f.forms == ALQ_NULL;
    }
    body->var = inner.vars;
    body->kind = inner.vars != NULL ? NODE_LETREC : NODE_SEQUENCE;
    for (; !c->has_failed && is_pair(f.forms); f.forms = cdr(f.forms)) {
        if (is_define(c, car(f.forms), scope)) {
            struct var *var =
                find_var(&inner, symbol_number(defined_name(car(f.forms))));

            kid_add(body,
                    init_node(c, var, defined_value(c, car(f.forms), &inner)));
        } else {
            kid_add(body, analyse(c, car(f.forms),
                                  inner.vars != NULL ? &inner : scope));
        }
    }
    if (body->last == NULL || body->last->kind == NODE_INIT)
        kid_add(body, constant(c, UNSPECIFIED));
    return kid_add(node, body->kid == body->last ? body->kid : body);
}

static struct node *
syntax_begin(struct compiler *c, alq_value form, const struct scope *scope)
{
    struct node *node =
        kids_add(c, node_new(c, NODE_SEQUENCE, form), cdr(form), scope);

    return node->kid != NULL ? node : constant(c, UNSPECIFIED);
}

/* ---- simple forms ------------------------------------------------------- */

static struct node *
syntax_quote(struct compiler *c, alq_value form, const struct scope *scope)
{
    if (!has_items(form, 2, 2))
        return bad(c, form, "quote: needs one datum");
    return constant(c, car(cdr(form)));
}

static struct node *
syntax_if(struct compiler *c, alq_value form, const struct scope *scope)
{
    bool has_else = has_items(form, 4, 4);
    struct node *node = node_new(c, NODE_IF, form);

    if (!has_items(form, 3, 4))
        return bad(c, form, "if: needs a test and one or two branches");
    kids_add(c, node, cdr(form), scope);
    return has_else ? node : kid_add(node, constant(c, UNSPECIFIED));
}

static struct node *
syntax_set(struct compiler *c, alq_value form, const struct scope *scope)
{
    struct node *node = node_new(c, NODE_SET_GLOBAL, form);

    if (!has_items(form, 3, 3) || !is_tag(car(cdr(form)), TAG_SYMBOL))
        return bad(c, form, "set!: needs a name and a value");
    node->number = symbol_number(car(cdr(form)));
    node->var = find_var(scope, node->number);
    if (node->var != NULL) {
        node->kind = NODE_SET_LOCAL;
        node->var->is_assigned = true;
    } else {
        c->s->is_fixed[node->number] = false;
    }
    return kid_add(node, analyse(c, car(cdr(cdr(form))), scope));
}

/* (and a b c) is (if a (if b c #f) #f). */
static struct node *
syntax_and(struct compiler *c, alq_value form, const struct scope *scope)
{
    struct node *all = node_new(c, NODE_SEQUENCE, form), *at = all;
    ALQ_FRAME(c->s->d, f, forms);

    if (!has_items(form, 1, DEPTH_MAX))
        return bad(c, form, "and: too many parts");
    if (cdr(form) == NIL)
        return constant(c, TRUE);
    for (f.forms = cdr(form); cdr(f.forms) != NIL; f.forms = cdr(f.forms)) {
        struct node *node = node_new(c, NODE_IF, NIL);

        kid_add(node, analyse(c, car(f.forms), scope));
        kid_add(at, node);
        if (at != all)
            kid_add(at, constant(c, FALSE));
        at = node;
    }
    kid_add(at, analyse(c, car(f.forms), scope));
    if (at != all)
        kid_add(at, constant(c, FALSE));
    return all;
}

static struct node *
syntax_or(struct compiler *c, alq_value form, const struct scope *scope)
{
    struct node *node =
        kids_add(c, node_new(c, NODE_OR, form), cdr(form), scope);

    return node->kid != NULL ? node : constant(c, FALSE);
}

/* (define-syntax name maker): the maker's value is given each use as a form. */
static struct node *
syntax_define_syntax(struct compiler *c, alq_value form,
                     const struct scope *scope)
{
    struct node *node = node_new(c, NODE_DEFINE, form);
    struct node *call = node_new(c, NODE_CALL, form);

    if (scope != NULL || !has_items(form, 3, 3) ||
        !is_tag(car(cdr(form)), TAG_SYMBOL))
        return bad(c, form,
                   "define-syntax: needs a name and a maker, at the top level");
    node->number = symbol_number(car(cdr(form)));
    kid_add(call, constant(c, IMMEDIATE(IMM_PRIM, c->s->macro_prim)));
    return kid_add(node, kid_add(call, analyse(c, car(cdr(cdr(form))), scope)));
}

/* ---- let ---------------------------------------------------------------- */

/* Variables of bindings, in order. */
static struct var *
bindings_vars(struct compiler *c, alq_value list)
{
    struct var *first = NULL, **end = &first;

    for (; is_pair(list) && !c->has_failed; list = cdr(list)) {
        *end = var_new(c, car(car(list)));
        end = &(*end)->next;
    }
    return first;
}

static void
bindings_values(struct compiler *c, struct node *node, alq_value list,
                const struct scope *scope)
{
    ALQ_FRAME(c->s->d, f, list);

    for (f.list = list; is_pair(f.list); f.list = cdr(f.list))
        kid_add(node, analyse(c, car(cdr(car(f.list))), scope));
}

/* Whether each use of var is a call of it with n arguments in tail position. */
static bool
is_loop(const struct node *node, const struct var *var, unsigned n,
        bool is_tail)
{
    bool may = node->kind != NODE_LAMBDA && node->kind != NODE_CALL &&
               node->kind != NODE_INIT && node->kind != NODE_SET_LOCAL &&
               node->kind != NODE_SET_GLOBAL;
    const struct node *kid = node->kid;

    if (node->kind == NODE_LOCAL || node->kind == NODE_SET_LOCAL)
        if (node->var == var)
            return false;
    if (node->kind == NODE_CALL && kid->kind == NODE_LOCAL && kid->var == var) {
        for (kid = kid->next; kid != NULL; kid = kid->next, n--)
            if (n == 0 || !is_loop(kid, var, n, false))
                return false;
        return is_tail && n == 0;
    }
    for (; kid != NULL; kid = kid->next) {
        bool is_kid_tail =
            node->kind == NODE_IF ? kid != node->kid : kid == node->last;

        if (!is_loop(kid, var, n, is_tail && may && is_kid_tail))
            return false;
    }
    return true;
}

/* (let name ((var value) ...) . body), with `form` at the name: a NODE_LOOP
 * without any procedure, if it is a loop. */
static struct node *
named_let(struct compiler *c, alq_value form, const struct scope *scope)
{
    struct scope inner = {.outer = scope};
    struct scope body = {.outer = &inner};
    struct node *all = node_new(c, NODE_LETREC, form);
    struct node *call = node_new(c, NODE_CALL, form);
    struct node *lambda = node_new(c, NODE_LAMBDA, form);
    struct var *v;
    ALQ_FRAME(c->s->d, f, form);

    f.form = form;
    all->var = inner.vars = var_new(c, car(form));
    body.vars = bindings_vars(c, car(cdr(form)));
    kid_add(call, reference(c, car(form), &inner));
    bindings_values(c, call, car(cdr(form)), scope);
    lambda->lambda = compile_memory(c, sizeof *lambda->lambda);
    lambda->lambda->params = body.vars;
    lambda->lambda->name = inner.vars->name;
    lambda->lambda->place = all->place;
    for (v = body.vars; v != NULL; v = v->next)
        lambda->lambda->n_params++;
    body_add(c, lambda, cdr(cdr(f.form)), &body);
    if (c->has_failed || inner.vars->is_assigned ||
        !is_loop(lambda->kid, inner.vars, lambda->lambda->n_params, true))
        return kid_add(kid_add(all, init_node(c, inner.vars, lambda)), call);
    all->kind = NODE_LOOP;
    all->var = body.vars;
    all->loop_var = inner.vars;
    all->kid = call->kid->next; /* the values, then the body */
    all->last = call->last;
    return kid_add(all, lambda->kid);
}

static struct node *
syntax_let(struct compiler *c, alq_value form, const struct scope *scope)
{
    bool is_named = is_pair(cdr(form)) && is_tag(car(cdr(form)), TAG_SYMBOL);
    alq_value rest = is_named ? cdr(cdr(form)) : cdr(form);
    struct scope inner = {.outer = scope};
    struct node *node = node_new(c, NODE_LET, form);
    ALQ_FRAME(c->s->d, f, body);

    if (!has_items(rest, 2, ANY_LENGTH) || !are_bindings(car(rest)) ||
        !has_items(car(rest), 0, PARAMS_MAX))
        return bad(c, form, "let: needs ((name value) ...) and a body");
    if (is_named)
        return named_let(c, cdr(form), scope);
    f.body = cdr(rest);
    node->var = inner.vars = bindings_vars(c, car(rest));
    bindings_values(c, node, car(rest), scope);
    return body_add(c, node, f.body, &inner);
}

static struct node *
syntax_letrec(struct compiler *c, alq_value form, const struct scope *scope)
{
    struct scope inner = {.outer = scope};
    struct node *node = node_new(c, NODE_LETREC, form);
    ALQ_FRAME(c->s->d, f, form, list);

    f.form = form;
    if (!has_items(form, 3, ANY_LENGTH) || !are_bindings(car(cdr(form))))
        return bad(c, form, "letrec: needs ((name value) ...) and a body");
    node->var = inner.vars = bindings_vars(c, car(cdr(form)));
    for (f.list = car(cdr(form)); is_pair(f.list); f.list = cdr(f.list)) {
        struct var *var = find_var(&inner, symbol_number(car(car(f.list))));

        kid_add(node,
                init_node(c, var, analyse(c, car(cdr(car(f.list))), &inner)));
    }
    return body_add(c, node, cdr(cdr(f.form)), &inner);
}

/* ---- any form ----------------------------------------------------------- */

/* The others are macros of the prelude.  In the order of enum syntax. */
static const struct {
    const char *name;
    struct node *(*fn)(struct compiler *c, alq_value form,
                       const struct scope *scope);
} syntaxes[] = {
    {"define", syntax_define}, {"begin", syntax_begin},
    {"quote", syntax_quote},   {"if", syntax_if},
    {"set!", syntax_set},      {"lambda", syntax_lambda},
    {"let", syntax_let},       {"letrec", syntax_letrec},
    {"and", syntax_and},       {"letrec*", syntax_letrec},
    {"or", syntax_or},         {"define-syntax", syntax_define_syntax},
};

static struct node *
analyse_pair(struct compiler *c, alq_value form, const struct scope *scope)
{
    alq_value what;
    ALQ_FRAME(c->s->d, f, form);

    f.form = expand(c, form, scope);
    if (!is_pair(f.form))
        return c->has_failed ? constant(c, NIL) : analyse(c, f.form, scope);
    if (!has_items(f.form, 1, ANY_LENGTH))
        return bad(c, f.form, "a form that is no list");
    what = meaning(c, f.form, scope);
    if (is_immediate(what, IMM_SYNTAX))
        return syntaxes[immediate_of(what)].fn(c, f.form, scope);
    return kids_add(c, node_new(c, NODE_CALL, f.form), f.form, scope);
}

static struct node *
analyse(struct compiler *c, alq_value form, const struct scope *scope)
{
    struct node *node;

    if (c->has_failed)
        return node_new(c, NODE_CONSTANT, NIL);
    if (is_tag(form, TAG_SYMBOL))
        return reference(c, form, scope);
    if (!is_pair(form))
        return form == NIL ? bad(c, form, "an empty form: ()")
                           : constant(c, form);
    if (place_of_form(form) != 0)
        c->place = place_of_form(form);
    if (c->depth >= DEPTH_MAX)
        return bad(c, NIL, "forms nested too deep");
    c->depth++;
    node = analyse_pair(c, form, scope);
    c->depth--;
    return node;
}

void
analyse_start(struct scheme *s)
{
    unsigned i;

    for (i = 0; i < sizeof syntaxes / sizeof syntaxes[0]; i++) {
        alq_value name =
            scheme_intern(s, syntaxes[i].name, strlen(syntaxes[i].name));

        if (name != ALQ_NULL)
            s->names[2 * (size_t)symbol_number(name) + 1] =
                IMMEDIATE(IMM_SYNTAX, i);
    }
    while (strcmp(s->prims[s->macro_prim]->name, "%macro") != 0)
        s->macro_prim++;
}

/* The form stands in a root while it is analysed and code is made of it. */
alq_value
scheme_compile(struct scheme *s, alq_value form)
{
    struct compiler c = {.s = s, .place = s->read_place};
    struct node *node = analyse(&c, form, NULL);
    alq_value closure = c.has_failed ? ALQ_NULL : generate(&c, node);

    compiler_close(&c);
    return closure;
}
