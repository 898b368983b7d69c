/* domain.h -- the domain behind Caml_state, and the way into the heap
 *
 * .inv.head   Caml_state is the domain: its first words are the heap's public
 *             head, so that compiled code and the collector read and write the
 *             same young_ptr and young_limit.
 * .inv.enter  OCaml's code calls the heap between alqi_ocaml_enter and
 *             alqi_ocaml_leave.  The first hands over what C code has put into
 *             the minor tables, the second shows where the minor heap is. */
#ifndef ALQI_OCAML_DOMAIN_H
#define ALQI_OCAML_DOMAIN_H

#include "heap/state.h"
#include "ocaml/contract.h"

_Static_assert(offsetof(struct alq_domain, young_base) ==
                   sizeof(struct caml_domain_state),
               ".inv.head");

/* Of the calling thread; NULL: it runs no domain. */
extern __thread struct caml_domain_state *caml_state ALQI_OCAML_API;

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

/* The domain that the calling thread runs. */
struct alqi_domain *alqi_ocaml_enter(void);
void alqi_ocaml_leave(struct alqi_domain *d);

/* The first domain and the heap, with what OCAMLRUNPARAM says. */
void alqi_ocaml_start(void);

/* Whether OCaml wants to be called at the next poll: alloc_limit.h. */
bool alqi_heap_host_wants(const struct alqi_domain *d);

#endif
