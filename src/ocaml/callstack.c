/* callstack.c -- the call stack of OCaml's code, as its backtraces have it
 *
 * A frame is the address of its description, or of where a block of it is
 * allocated, as an integer of OCaml.
 *
 * OCaml's caml_get_callstack walks any stack.  In native code that is no
 * fiber's the frames are walked here, at a third of the instructions: a plain
 * frame's size leads to the next one, and past frames of C OCaml's function
 * finds the next plain one.
 *
 * .inv.plain  A word on the stack is taken for a return address only if the
 *             frame inside of it is described. */
#include "heap/hosted.h"
#include "ocaml/contract.h"
#include "ocaml/memprof.h"

#ifdef __x86_64__
enum { PLAIN_WALKS = 1 };
#else
enum { PLAIN_WALKS = 0 }; /* return addresses lie elsewhere */
#endif

/* Which of the request's blocks has so many words below it. */
static intptr_t
index_of(const struct alqi_ocaml_request *r, uint64_t words_below)
{
    unsigned i = 0;

    for (uint64_t below = 0; i + 1 < r->n_blocks && below < words_below; i++)
        below += alqi_ocaml_block_words(r->sizes[i]);
    return i;
}

/* The stack of the code that runs, if it is no fiber's; else NULL. */
static struct caml_stack *
plain_stack(const struct caml_domain_state *state)
{
    struct caml_stack *stack = state->current_stack;

    return PLAIN_WALKS && alqi_ocaml_is_native() &&
                   stack->handler->parent == NULL
               ? stack
               : NULL;
}

/* Walks up to max_frames; returns how many there are. */
static size_t
plain_walk(struct caml_stack *stack, uintptr_t *frames, size_t max_frames)
{
    void *table = caml_get_frame_descrs();
    char *sp = (char *)stack->sp + sizeof(uintptr_t); /* past the address */
    size_t n;

    for (n = 0; n < max_frames; n++) {
        uintptr_t address = ((uintptr_t *)(void *)sp)[-1];
        const struct caml_frame_descr *frame =
            caml_find_frame_descr(table, address);

        if (frame != NULL && frame->data != ALQI_OCAML_FRAME_OF_C)
            sp += frame->data & ~ALQI_OCAML_FRAME_FLAGS; /* .inv.plain */
        else
            frame = caml_next_frame_descriptor(table, &address, &sp, stack);
        if (frame == NULL)
            break;
        frames[n] = (uintptr_t)frame | 1;
    }
    return n;
}

/* Walks any stack, by OCaml's function; returns the number of frames.  With an
 * `index` that is not -1 the innermost frame says where that block of the
 * request is allocated. */
static size_t
any_walk(struct alqi_ocaml_thread *th, intptr_t index, uintptr_t *frames,
         size_t max_frames)
{
    size_t n =
        caml_get_callstack(max_frames, &th->slots, &th->slots_bytes, index);

    for (size_t i = 0; i < n; i++)
        frames[i] = (uintptr_t)th->slots[i] | 1;
    return n;
}

/* The walk of hosted.h.  The first frame of a request's block says which block
 * of the request it is, the others do not depend on that. */
bool
alqi_heap_host_walk(struct alqi_domain *d, uint64_t words_below,
                    uintptr_t *frames, size_t max_frames, size_t *n_frames)
{
    struct caml_domain_state *state = alqi_ocaml_state(d);
    struct alqi_ocaml_thread *th = alqi_ocaml_thread_of(state);
    struct caml_stack *stack;
    intptr_t index;

    *n_frames = 0;
    if (th == NULL || (alqi_ocaml_is_native() && state->c_stack == NULL))
        return true; /* no code of OCaml has run */
    index = th->request == NULL ? -1 : index_of(th->request, words_below);
    stack = plain_stack(state);
    if (stack == NULL) {
        *n_frames = any_walk(th, index, frames, max_frames);
        return true;
    }
    *n_frames = plain_walk(stack, frames, max_frames);
    if (index >= 0 && *n_frames > 0)
        (void)any_walk(th, index, frames, 1);
    return true;
}
