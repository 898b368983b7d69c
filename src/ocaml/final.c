/* final.c -- Gc.finalise, finalise_last, and their calls
 *
 *   registered (heap/final.h) -> due: in `todo` -> called
 *
 * The heap finds what is due and calls final_due, which only queues the call:
 * the heap may do so within an allocation of C code, where OCaml's code must
 * not run.  caml_final_do_calls_res runs the queue, when the runtime processes
 * pending actions.
 *
 * .inv.due  The queue's values are roots (caml_final_do_roots). */
#include <stdlib.h>

#include <aliquot/limit.h>

#include "heap/final.h"
#include "ocaml/head.h"

struct call {
    value function;
    value argument;
};

/* The calls that are due, by the domain's slot; the domain's thread writes. */
static struct todo {
    struct call *calls;
    size_t first; /* the next one to be called */
    size_t n;     /* the end of the queue */
    size_t size;
    bool is_running; /* a call is on the stack: no other begins */
} todos[ALQI_HEAP_DOMAINS_MAX];

/* ---- registering -------------------------------------------------------- */

/* Called by the heap, at times within a C function's allocation: only queues
 * the call.  Without memory the program ends, as the finaliser would be
 * lost. */
static enum alq_status
final_due(struct alq_domain *d, alq_value v, alq_value with)
{
    struct todo *t = &todos[alqi_heap_domain(d)->slot];

    if (t->n == t->size) {
        size_t size = t->size == 0 ? 64 : t->size * 2;
        struct call *more = realloc(t->calls, size * sizeof *more);

        if (more == NULL)
            caml_fatal_error("no memory for finalisers that are due");
        t->calls = more;
        t->size = size;
    }
    t->calls[t->n++] = (struct call){with, v};
    caml_set_action_pending(caml_state);
    return ALQ_OK;
}

/* Blocks that a finaliser may not have: they are copied, or replaced, without
 * the program's doing. */
static bool
is_refused(value v)
{
    enum { FORCING = 244, LAZY = 246, FORWARD = 250 };
    unsigned tag;

    if (!alq_is_block(v))
        return true;
    tag = alq_tag(v);
    return tag == FORCING || tag == LAZY || tag == FORWARD ||
           tag == ALQ_TAG_DOUBLE || alq_wosize(v) == 0 ||
           alqi_heap_colour(alqi_heap_header(v)) == ALQI_HEAP_COLOUR_STATIC;
}

/* Registers a finaliser.  Static data are no error, as they never die; any
 * other value that is refused raises Invalid_argument of `name`. */
static value
add(enum alqi_heap_final_kind kind, value function, value v, const char *name)
{
    struct alqi_heap_final_entry entry = {
        .value = v, .with = function, .fn = final_due};
    bool is_block = alq_is_block(v);

    if (is_refused(v)) {
        if (is_block &&
            alqi_heap_colour(alqi_heap_header(v)) == ALQI_HEAP_COLOUR_STATIC)
            return ALQI_OCAML_UNIT; /* it never dies */
        caml_invalid_argument(name);
    }
    if (!alqi_heap_final_add(alqi_ocaml_domain(caml_state), kind, &entry))
        caml_raise_out_of_memory();
    return ALQI_OCAML_UNIT;
}

ALQI_OCAML_API value
caml_final_register(value function, value v)
{
    return add(ALQI_HEAP_FINAL_FIRST, function, v, "Gc.finalise");
}

ALQI_OCAML_API value
caml_final_register_called_without_value(value function, value v)
{
    return add(ALQI_HEAP_FINAL_LAST, function, v, "Gc.finalise_last");
}

/* ---- calling ------------------------------------------------------------ */

ALQI_OCAML_API struct caml_result
caml_final_do_calls_res(void)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);
    struct todo *t = &todos[d->slot];

    while (!t->is_running && t->first < t->n) {
        struct call call = t->calls[t->first++];
        struct caml_result result;
        int was; /* no limit stops a finaliser */

        if (t->first == t->n)
            t->first = t->n = 0;
        t->is_running = true;
        was = alq_mask_begin(&d->pub);
        result = caml_callback_res(call.function, call.argument);
        alq_mask_end(&d->pub, was);
        t->is_running = false;
        if (result.is_exception)
            return result;
    }
    return ALQI_OCAML_RESULT_UNIT;
}

ALQI_OCAML_API value
caml_final_release(value unit)
{
    todos[caml_state->id].is_running = false;
    return unit;
}

ALQI_OCAML_API void
caml_final_do_roots(caml_scanning_action *action, int flags, void *data,
                    struct caml_domain_state *state, int do_value)
{
    const struct todo *t = &todos[state->id];

    (void)flags;
    (void)do_value;
    for (size_t i = t->first; i < t->n; i++) {
        action(data, t->calls[i].function, &t->calls[i].function);
        action(data, t->calls[i].argument, &t->calls[i].argument);
    }
}
