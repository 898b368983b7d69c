/* alloc_direct.h -- blocks that are born in the major heap
 *
 * .pair.header  header_set(), alqi_heap_direct_publish(), publish() (release)
 *               -> recover_pool() (acquire): the fields of a slot that has a
 *               header (tests/models/mark_weak.pml).
 *
 * Keeps .inv.room: what promotion may need, and the reserve, stay. */
#ifndef ALQI_HEAP_ALLOC_DIRECT_H
#define ALQI_HEAP_ALLOC_DIRECT_H

#include "heap/pool_class.h"
#include "heap/state.h"

/* A block with the header, of colour 0 and at least one field, its fields not
 * set; ALQ_NULL: no memory.  May finalise what it sweeps. */
alq_value alqi_heap_direct_try_nogc(struct alqi_domain *d, uintptr_t header);

/* The fast way for many small blocks: a place for `words` in the local
 * allocation buffer, with nothing in it yet; NULL: the caller uses
 * alqi_heap_direct_try_nogc, which is needed now and then and does the counting
 * that is left out here.
 *
 * The caller sets the fields, by atomic stores if they are scanned, then calls
 * alqi_heap_direct_publish. */
static inline alqi_heap_word *
alqi_heap_direct_place(struct alqi_domain *d, size_t words, bool no_scan)
{
    struct alqi_heap_lab *lab;
    alqi_heap_word *place;
    unsigned c;

    if (ALQI_UNLIKELY(words > ALQI_HEAP_CLASS_WORDS_MAX))
        return NULL;
    c = alqi_heap_class_of(words);
    lab = &d->copy.labs[no_scan][c];
    if (ALQI_UNLIKELY(lab->next == lab->end))
        return NULL;
    place = (alqi_heap_word *)lab->next;
    ALQI_DEBUG(*place == 0 && lab->scan == lab->next); /* .inv.free, .inv.lab */
    lab->next += (uintptr_t)alqi_heap_class_words[c] * ALQ_WORD_BYTES;
    lab->scan = lab->counted = lab->next;
    d->sums.counts.direct_words += words;
    d->pace.direct_since_slice += words;
    return place;
}

/* Makes the place a block (.pair.header).  The release store puts the fields
 * before the header: another domain may mark or recover the pool and read both.
 */
static inline alq_value
alqi_heap_direct_publish(struct alqi_domain *d, alqi_heap_word *place,
                         uintptr_t header)
{
    __atomic_store_n(place, header | d->alloc_colour, __ATOMIC_RELEASE);
    return (alq_value)(place + 1);
}

#endif
