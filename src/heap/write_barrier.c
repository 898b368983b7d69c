/* write_barrier.c -- the slow parts of stores into old blocks
 *
 * Deletion barrier: while marking, the value that a field loses is darkened.
 * Remembering: a field that gets a young value enters the remembered set, and
 * the value has escaped.  alq_store comes here only if one of the two may be
 * needed; store_max is the bound of its test, and follows the phase.
 *
 * .pair.field  alqi_heap_store(), alq_store, promote_alone() (release) -> a
 *              marker, by the address that it has loaded: the header of the
 *              block that a field leads to, and its words
 *              (tests/models/mark_weak.pml).
 *
 * Keeps .inv.snapshot: A white value that a field loses is darkened before the
 *   next safepoint.
 * Keeps .inv.remember: The field is in the set before the next safepoint; by
 *   alqi_heap_store even before it holds the value.
 * Keeps .inv.private: The value has escaped before the store. */
#include "heap/write_barrier.h"
#include "heap/major_mark.h"
#include "heap/minor_remember.h"
#include "heap/minor_escape.h"

/* Stores v into a field of an old block.
 *
 * The inline part has sorted out fields that hold a young value: these are
 * remembered already, and need no darkening, as a value that is promoted while
 * marking gets marked.  alq_init comes here without that test; its fields hold
 * integers.  Another domain may store a young value between that test and this
 * load: then both remember the field.  Release: a domain that reads v finds its
 * block initialised (.pair.field). */
void
alqi_heap_store(struct alqi_domain *d, alqi_heap_word *field, alq_value v)
{
    alq_value old = __atomic_load_n(field, ALQI_HEAP_DEPENDS);

    /* .inv.remember: the field is of an old block. */
    ALQI_DEBUG((uintptr_t)field - d->pub.young_base >= d->pub.young_bytes);
    if (d->heap->cycle.phase == ALQI_HEAP_MARK &&
        alqi_heap_mark_is_white(d, old))
        alqi_heap_mark_darken(d, old);
    if (alqi_heap_is_young(d, v))
        alqi_heap_remember(d, field);
    __atomic_store_n(field, v, __ATOMIC_RELEASE);
}

/* The barrier behind an exchange of an old block's field, whose lost value was
 * not young: else the field is remembered, and the value needs no darkening. */
void
alqi_heap_exchanged(struct alqi_domain *d, alqi_heap_word *field, alq_value old,
                    alq_value v)
{
    if (d->heap->cycle.phase == ALQI_HEAP_MARK &&
        alqi_heap_mark_is_white(d, old))
        alqi_heap_mark_darken(d, old);
    if (alqi_heap_is_young(d, v))
        alqi_heap_remember(d, field);
}

/* Exchanges a field of any block, if it holds *expected.
 *
 * The escape comes before the exchange, as v may be seen at once.  Darkening
 * and remembering come after: only then it is known what was lost, and no phase
 * or minor collection comes before the next safepoint.  The order is the
 * program's, and more than .pair.field. */
bool
alqi_heap_compare_exchange(struct alqi_domain *d, alq_value block, uintptr_t i,
                           alq_value *expected, alq_value v)
{
    alqi_heap_word *field = (alqi_heap_word *)block + i;
    alqi_heap_word old = *expected;

    if (!alqi_heap_is_young(d, block) && alqi_heap_is_young(d, v))
        alqi_heap_escape(d->heap);
    if (!__atomic_compare_exchange_n(field, &old, v, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST)) {
        *expected = old;
        return false;
    }
    if (!alqi_heap_is_young(d, block) && !alqi_heap_is_young(d, old))
        alqi_heap_exchanged(d, field, old, v);
    return true;
}

/* Sets the colour of new old blocks and the inline barrier's bound, after a
 * change of phase or of the thread that runs the domain.
 *
 * While marking, and, in builds that check, while no thread runs the domain,
 * each store takes the slow part; otherwise those of young values do. */
void
alqi_heap_barrier_phase(struct alqi_domain *d)
{
    d->alloc_colour = alqi_heap_colour_born(
        &d->heap->cycle.colours, d->heap->cycle.phase == ALQI_HEAP_MARK);
    d->pub.store_max =
        d->heap->cycle.phase == ALQI_HEAP_MARK || alqi_heap_is_quiet(d)
            ? UINTPTR_MAX
            : d->pub.young_bytes / 2 - 1;
}
