/* memprof.h -- what OCaml's threads have of the profiler  [doc/design/ocaml.md]
 *
 * To the heap the threads of systhreads are one; to the profiler each is its
 * own: it may be in a callback while another one runs. */
#ifndef ALQI_OCAML_MEMPROF_H
#define ALQI_OCAML_MEMPROF_H

#include "ocaml/head.h"

/* The small blocks that OCaml's code allocates at once. */
struct alqi_ocaml_request {
    unsigned n_blocks;
    /* Encoded words of each, the last one at the highest address; NULL: there
     * is one block. */
    const unsigned char *sizes;
};

/* Words with header of a block whose encoded size is `size`. */
static inline unsigned
alqi_ocaml_block_words(unsigned char size)
{
    return size + 2u;
}

/* A thread of OCaml's; its domain's thread alone reads and writes it.
 * Caml_state's memprof is the one of the thread that runs. */
struct alqi_ocaml_thread {
    /* The engine's state of it; NULL: it has none.  Of the thread that runs it
     * is in the heap's struct (alq_thread.observer), and this is NULL. */
    void *engine;
    /* What it allocates; NULL: not from OCaml's code, or nothing. */
    const struct alqi_ocaml_request *request;
    /* The first exception of a callback that was not raised yet, a root;
     * ALQI_OCAML_UNIT: none. */
    value failed;
    /* Of alqi_memprof_suspend, while OCaml's code has it suspended. */
    uint32_t was;
    bool is_suspended;
    /* Room for a call stack, of caml_stat_alloc. */
    void **slots;
    size_t slots_bytes;
};

/* NULL: no memory. */
struct alqi_ocaml_thread *alqi_ocaml_thread_new(void);

/* Those of the domain's thread that runs. */
static inline struct alqi_ocaml_thread *
alqi_ocaml_thread_of(const struct caml_domain_state *state)
{
    return state->memprof;
}

/* Of systhreads, and of a domain's end: the thread has ended. */
void caml_memprof_delete_thread(void *thread);

/* Takes and raises the exception that a callback left; if there is none,
 * Out_of_memory. */
void alqi_ocaml_failed_raise(void) __attribute__((noreturn));

/* A small block that C code has room for at `low`: word `sample_at` of it was
 * sampled.  Its callbacks wait. */
void alqi_ocaml_sampled(struct alqi_domain *d, uintptr_t low, size_t words,
                        uint64_t sample_at);

#endif
