/* head.h -- Caml_state is a domain of the heap
 *
 * .inv.head  The first words of Caml_state are the heap's public head, so that
 *            compiled code and the collector read and write the same young_ptr
 *            and young_limit. */
#ifndef ALQI_OCAML_HEAD_H
#define ALQI_OCAML_HEAD_H

#include "heap/state.h"
#include "ocaml/contract.h"

_Static_assert(offsetof(struct alq_domain, young_base) ==
                   sizeof(struct caml_domain_state),
               ".inv.head");

/* The Caml_state of the calling thread; NULL: the thread runs no domain.  The
 * TLS model keeps a read from being a call, in programs and in a library that
 * is loaded. */
extern __thread struct caml_domain_state *caml_state ALQI_OCAML_API
    __attribute__((tls_model("initial-exec")));

/* Whether the program is native code, not the interpreter with bytecode. */
static inline bool
alqi_ocaml_is_native(void)
{
    return caml_init_frame_descriptors != NULL;
}

static inline struct alqi_domain *
alqi_ocaml_domain(struct caml_domain_state *state)
{
    return (struct alqi_domain *)state;
}

static inline struct caml_domain_state *
alqi_ocaml_state(struct alqi_domain *d)
{
    return (struct caml_domain_state *)d;
}

#endif
