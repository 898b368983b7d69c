/* alloc.c -- allocation for OCaml's code: the slow paths, the major heap, and
 * what resources outside of the heap cost
 *
 * Compiled code and C macros have moved young_ptr down before they call
 * caml_alloc_small_dispatch, and fill the words from young_ptr on when it
 * returns.  From OCaml's code the call may run actions (signals, finalisers);
 * from C it may not, and leaves them pending.
 *
 * Keeps .inv.enter: Each function enters the heap and leaves it. */
#include "heap/alloc.h"
#include "heap/alloc_direct.h"
#include "heap/custom.h"
#include "heap/major_cycle.h"
#include "heap/major_pace.h"
#include "ocaml/domain.h"
#include "ocaml/interrupt.h"
#include "ocaml/roots.h"

enum { FROM_OCAML = 2 }; /* in dispatch's flags */

static void
raise_of(struct caml_result result)
{
    if (result.is_exception)
        caml_raise(result.data);
}

ALQI_OCAML_API void
caml_alloc_small_dispatch(struct caml_domain_state *state, intptr_t wosize,
                          int flags, int n_blocks, unsigned char *sizes)
{
    uintptr_t words = (uintptr_t)wosize + 1;
    uintptr_t header = ALQ_HEADER((uintptr_t)wosize, 0);
    struct alqi_domain *d;
    uintptr_t low;

    (void)n_blocks;
    (void)sizes;
    state->young_ptr += words * ALQ_WORD_BYTES;
    if (flags & FROM_OCAML)
        raise_of(caml_do_pending_actions_res());
    else
        caml_handle_gc_interrupt();
    d = alqi_ocaml_enter();
    low = alqi_heap_room(d, &header, 1, words, NULL);
    alqi_ocaml_leave(d);
    if (low <= ALQI_HEAP_ROOM_FRAGMENTED) {
        d->pub.status = ALQ_OK;
        caml_raise_out_of_memory();
    }
}

/* ---- the major heap ----------------------------------------------------- */

/* Does not collect: the caller may hold values that are in no root. */
ALQI_OCAML_API value
caml_alloc_shr_noexc(uintptr_t wosize, unsigned tag)
{
    struct alqi_domain *d;
    value block;

    if (wosize > ALQ_WOSIZE_MAX)
        return 0;
    d = alqi_ocaml_enter();
    block = alqi_heap_direct_try_nogc(d, ALQ_HEADER(wosize, tag));
    alqi_ocaml_leave(d);
    return block == ALQ_NULL ? 0 : block;
}

ALQI_OCAML_API value
caml_alloc_shr(uintptr_t wosize, unsigned tag)
{
    value block = caml_alloc_shr_noexc(wosize, tag);

    if (block == 0)
        caml_raise_out_of_memory();
    return block;
}

ALQI_OCAML_API value
caml_alloc_shr_reserved(uintptr_t wosize, unsigned tag, uintptr_t reserved)
{
    (void)reserved; /* headers have no such bits, as configured by default */
    return caml_alloc_shr(wosize, tag);
}

/* Colours, as OCaml names them; intern.c reads the first. */
ALQI_OCAML_API struct {
    uintptr_t marked;
    uintptr_t unmarked;
    uintptr_t garbage;
} caml_global_heap_state;

/* For intern.c, which writes the header itself, with the colour that
 * caml_global_heap_state has for new blocks.  No collection: the values that it
 * is making are in no root. */
ALQI_OCAML_API value *
caml_shared_try_alloc(void *heap, uintptr_t wosize, unsigned tag,
                      uintptr_t reserved)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);
    value block = alqi_heap_direct_try_nogc(d, ALQ_HEADER(wosize, tag));

    (void)heap;
    (void)reserved;
    if (block == ALQ_NULL)
        return NULL;
    caml_global_heap_state.marked = d->alloc_colour;
    return (value *)block - 1;
}

/* The block without fields, of each tag. */
ALQI_OCAML_API value
caml_atom(unsigned tag)
{
    static uintptr_t atoms[256][2];

    __atomic_store_n(&atoms[tag][0], ALQI_HEAP_COLOUR_STATIC | tag,
                     __ATOMIC_RELAXED);
    return (value)&atoms[tag][1];
}

/* ---- resources ---------------------------------------------------------- */

ALQI_OCAML_API value
caml_check_urgent_gc(value root)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);

    if (alq_is_below_limit(&d->pub, (uintptr_t)d->pub.young_ptr)) {
        alqi_ocaml_global_add(&root);
        caml_handle_gc_interrupt();
        alqi_ocaml_global_remove(&root);
    }
    return root;
}

/* `held` of `most` is the share of a major cycle that a block demands. */
ALQI_OCAML_API void
caml_adjust_gc_speed(uintptr_t held, uintptr_t most)
{
    struct alqi_domain *d = alqi_ocaml_enter();
    struct alqi_heap_held cost = most == 0
                                     ? alqi_heap_custom_mem(d, held)
                                     : alqi_heap_custom_ratio(d, held, most);

    if (cost.cost_words >= 1)
        alqi_heap_custom_charge(d, (uint64_t)cost.cost_words);
    alqi_ocaml_leave(d);
}

/* Of a young block: what the minor tables list is counted there. */
ALQI_OCAML_API void
caml_adjust_minor_gc_speed(uintptr_t held, uintptr_t most)
{
    (void)held;
    (void)most;
}

ALQI_OCAML_API void
caml_alloc_dependent_memory(uintptr_t bytes)
{
    caml_adjust_gc_speed(bytes, 0);
}

ALQI_OCAML_API void
caml_free_dependent_memory(uintptr_t bytes)
{
    (void)bytes;
}
