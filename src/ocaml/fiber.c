/* fiber.c -- continuations: blocks that lead to the stack of a fiber
 *
 * Field 0 of a block with the tag Cont is the stack's address + 1, an integer
 * to the collector, or 1 when the continuation has been resumed.  Whoever scans
 * the block scans the stack with it.
 *
 * .inv.fiber  A stack that a continuation holds does not change.  So its young
 *             values are promoted with the block, and an old continuation's
 *             stack holds none.  Before it runs again while marking goes on,
 *             caml_darken_cont marks what it holds (.inv.snapshot). */
#include "heap/major_mark.h"
#include "ocaml/head.h"
#include "ocaml/roots.h"

void caml_scan_stack(caml_scanning_action *action, int flags, void *data,
                     void *stack, value *gc_regs);

void
alqi_heap_host_fiber_visit(alq_value cont,
                           void (*visit)(void *arg, alq_value *slot), void *arg)
{
    uintptr_t stack = ((alqi_heap_word *)cont)[0] & ~(uintptr_t)1;
    struct alqi_ocaml_visitor to = {visit, arg};

    if (stack != 0)
        caml_scan_stack(alqi_ocaml_show, 0, &to, (void *)stack, NULL);
}

/* The continuation is about to be resumed. */
ALQI_OCAML_API void
caml_darken_cont(value cont)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);

    if (d->heap->cycle.phase == ALQI_HEAP_MARK && !alqi_heap_is_young(d, cont))
        alqi_heap_mark_continuation(d, cont);
}
