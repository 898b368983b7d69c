/* memprof.h -- what OCaml's threads have of the profiler  [doc/design/ocaml.md]
 */
#ifndef ALQI_OCAML_MEMPROF_H
#define ALQI_OCAML_MEMPROF_H

#include "ocaml/thread.h"

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

/* NULL: no memory. */
struct alqi_ocaml_thread *alqi_ocaml_thread_new(void);

/* The thread has ended: systhreads calls this, and the end of a domain. */
void caml_memprof_delete_thread(void *thread);

/* Takes and raises the exception that a callback left; if there is none,
 * Out_of_memory. */
void alqi_ocaml_failed_raise(void) __attribute__((noreturn));

/* A small block that C code has room for at `low`: word `sample_at` of it was
 * sampled.  Its callbacks wait. */
void alqi_ocaml_sampled(struct alqi_domain *d, uintptr_t low, size_t words,
                        uint64_t sample_at);

#endif
