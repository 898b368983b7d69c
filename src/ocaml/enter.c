/* enter.c -- what OCaml's code and the heap show each other when one calls the
 * other
 *
 * Keeps .inv.enter of enter.h. */
#include "heap/hosted.h"
#include "ocaml/enter.h"
#include "ocaml/interrupt.h"
#include "ocaml/tables.h"

struct alqi_domain *
alqi_ocaml_enter(void)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);

    alqi_ocaml_tables_empty(d);
    return d;
}

void
alqi_ocaml_leave(struct alqi_domain *d)
{
    struct caml_domain_state *state = alqi_ocaml_state(d);
    const struct alq_gc_counts *counts = &d->sums.counts;

    state->young_start = (value *)d->young.start;
    state->young_end = (value *)d->young.end;
    state->minor_heap_wsz = d->young.plan_bytes / ALQ_WORD_BYTES;
    state->stat_minor_words = counts->minor_words;
    state->stat_promoted_words = counts->promoted_words;
    state->stat_major_words = counts->promoted_words + counts->direct_words;
    state->allocated_words = state->allocated_words_direct = 0;
    __atomic_store_n(&caml_major_cycles_completed, d->heap->cycle.n,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&caml_minor_collections_count, d->heap->young.n_minors,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&caml_compactions_count, d->heap->compact.n,
                     __ATOMIC_RELAXED);
}

void
alqi_heap_host_enter(struct alqi_domain *d)
{
    alqi_ocaml_tables_empty(d);
}

void
alqi_heap_host_leave(struct alqi_domain *d)
{
    alqi_ocaml_leave(d);
}
