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
#include "heap/alloc_limit.h"
#include "heap/custom.h"
#include "heap/major_cycle.h"
#include "heap/major_pace.h"
#include "heap/observe_calls.h"
#include "ocaml/enter.h"
#include "ocaml/interrupt.h"
#include "ocaml/limits.h"
#include "ocaml/memprof.h"
#include "ocaml/roots.h"

enum { IS_TRACKED = 1, FROM_OCAML = 2 }; /* in dispatch's flags */
enum { CONTINUATION_WORDS = 2 };         /* fields */

static void
raise_of(struct caml_result result)
{
    if (result.is_exception)
        caml_raise(result.data);
}

/* Room for what OCaml's code allocates; callbacks of the profiler may run. */
static uintptr_t
room_for_ocaml(struct alqi_domain *d, size_t words,
               const struct alqi_ocaml_request *request)
{
    struct alqi_ocaml_thread *th = alqi_ocaml_thread_of(alqi_ocaml_state(d));
    const struct alqi_ocaml_request *before = th->request;
    uintptr_t headers[ALQI_HEAP_CLASS_WORDS_MAX / 2];
    unsigned n = request->n_blocks;
    uintptr_t low;

    headers[0] = ALQ_HEADER(words - 1, 0);
    for (unsigned i = 0; n > 1 && i < n; i++)
        headers[i] = ALQ_HEADER(
            alqi_ocaml_block_words(request->sizes[n - 1 - i]) - 1u, 0);
    th->request = request;
    alqi_ocaml_limits_ready(d);
    low = alqi_heap_room(d, headers, n, words, NULL);
    th->request = before;
    return low;
}

/* Room for what C code allocates: no code of OCaml may run. */
static uintptr_t
room_for_c(struct alqi_domain *d, size_t words, bool is_tracked)
{
    uint64_t sample_at;
    uintptr_t low = alqi_heap_room_unseen(d, words, &sample_at);

    if (low > ALQI_HEAP_ROOM_FRAGMENTED && sample_at != 0 && is_tracked)
        alqi_ocaml_sampled(d, low, words, sample_at);
    alqi_ocaml_limits_small(d);
    return low;
}

/* Native code saves its registers in a place that Caml_state lists, and does
 * not give it back when it is left by an exception.  A call of OCaml's code
 * makes sure that one is there, so that only exceptions without such a call
 * could use the last one up. */
void
alqi_ocaml_raise_ready(void)
{
    if (caml_maybe_expand_stack != NULL)
        caml_maybe_expand_stack();
}

static void refused_raise(struct alqi_domain *d) __attribute__((noreturn));

/* Raises what an allocation was refused for: a callback's exception, a limit,
 * or Out_of_memory.  The heap has been left. */
static void
refused_raise(struct alqi_domain *d)
{
    enum alq_status status = d->pub.status;

    d->pub.status = ALQ_OK;
    alqi_ocaml_raise_ready();
    if (status == ALQ_ECALLBACK)
        alqi_ocaml_failed_raise();
    if (status == ALQ_ELIMIT)
        alqi_ocaml_limits_raise();
    caml_raise_out_of_memory();
}

/* Whether C code asks for a collection, though it may not have raised the limit
 * as far as the runtime does. */
static inline bool
is_collection_asked(const struct caml_domain_state *state)
{
    return (state->requested_minor_gc | state->requested_major_slice |
            state->requested_global_major_slice) != 0;
}

/* Serves what interrupts the domain, if anything does: more often the minor
 * heap is full, or a word is sampled. */
static void
interrupts_serve(struct caml_domain_state *state, bool is_from_ocaml)
{
    uintptr_t limit =
        (uintptr_t)__atomic_load_n(&state->young_limit, __ATOMIC_RELAXED);

    if (limit != UINTPTR_MAX && !is_collection_asked(state)) {
        /* Not here, where a sampled word may be why: a trigger that is drawn
         * anew would lose it. */
        if (state->action_pending)
            alqi_heap_alloc_limit_raise(alqi_ocaml_domain(state));
        return;
    }
    if (is_from_ocaml)
        raise_of(caml_do_pending_actions_res());
    else
        alqi_ocaml_interrupts_serve();
}

/* Whether the interpreter allocates for `perform`. */
static bool
is_perform(const struct caml_domain_state *state)
{
    const value *sp = *(value *const *)state->current_stack;
    const int32_t *code = (const int32_t *)sp[ALQI_OCAML_SAVED_CODE];

    return caml_is_instruction(code[-1], ALQI_OCAML_PERFORM);
}

/* Whether code of OCaml's may run within the allocation.
 *
 * Not if the interpreter makes a continuation: it holds the address of the
 * fiber's stack meanwhile, and code that runs may move that stack. */
static bool
may_act(const struct caml_domain_state *state, intptr_t wosize, int flags)
{
    if ((flags & FROM_OCAML) == 0)
        return false;
    return alqi_ocaml_is_native() || wosize != CONTINUATION_WORDS ||
           !is_perform(state);
}

ALQI_OCAML_API void
caml_alloc_small_dispatch(struct caml_domain_state *state, intptr_t wosize,
                          int flags, int n_blocks, unsigned char *sizes)
{
    const struct alqi_ocaml_request request = {(unsigned)n_blocks, sizes};
    uintptr_t words = (uintptr_t)wosize + 1;
    bool acts = may_act(state, wosize, flags);
    struct alqi_domain *d;
    uintptr_t low;

    state->young_ptr += words * ALQ_WORD_BYTES;
    interrupts_serve(state, acts);
    d = alqi_ocaml_enter();
    low = acts ? room_for_ocaml(d, words, &request)
               : room_for_c(d, words, (flags & IS_TRACKED) != 0);
    alqi_ocaml_leave(d);
    if (low <= ALQI_HEAP_ROOM_FRAGMENTED)
        refused_raise(d);
    if ((flags & FROM_OCAML) != 0 && !acts)
        caml_update_young_limit_after_c_call(state);
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
    if (block != ALQ_NULL) {
        alqi_heap_limit_trigger_advance(d);
        alqi_heap_observed_direct(d, block, ALQ_HEADER(wosize, tag));
    }
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
    alqi_heap_limit_trigger_advance(d);
    /* One colour for all domains, which changes in stops. */
    if (__atomic_load_n(&caml_global_heap_state.marked, __ATOMIC_RELAXED) !=
        d->alloc_colour)
        __atomic_store_n(&caml_global_heap_state.marked, d->alloc_colour,
                         __ATOMIC_RELAXED);
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
    struct alqi_ocaml_local l;

    if (alq_is_below_limit(&d->pub, (uintptr_t)d->pub.young_ptr)) {
        alqi_ocaml_local_push(&l, root);
        alqi_ocaml_interrupts_serve();
        root = alqi_ocaml_local_pop(&l);
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

/* Counts nothing: the minor tables list young custom blocks with what these
 * hold (tables.c). */
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
