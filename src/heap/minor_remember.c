/* minor_remember.c -- the remembered set: a growing array of fields
 *
 *   empty -> has fields -> emptied by a minor collection
 *   has fields -> lost, when the array cannot grow -> emptied likewise
 *
 * From `enough` fields on a minor collection is requested.
 *
 * Keeps .inv.remember: Each major field that holds a young value is in a set,
 *   or that set is lost.
 * Keeps .inv.private: A remembered value has escaped. */
#include <stdlib.h>

#include "heap/alloc_limit.h"
#include "heap/minor_remember.h"
#include "heap/log.h"

enum { SIZE_FIRST = ALQI_HEAP_IS_HARD ? 1 : 1024 };

/* Doubles the array; false: no memory, and the set is as it was. */
static bool
grow(struct alqi_domain *d, struct alqi_heap_remembered *r)
{
    size_t size = r->size == 0 ? SIZE_FIRST : r->size * 2;
    alqi_heap_word **fields = realloc(r->fields, size * sizeof *fields);

    if (fields == NULL)
        return false;
    ALQI_HEAP_LOG(d->heap, ALQ_GC_LOG_TABLES, "remembered set: %zu fields",
                  size);
    r->fields = fields;
    r->size = size;
    return true;
}

/* Gives the set up: the next minor collection reads the whole major heap.  The
 * heap's flag sends that collection to a stop. */
void
alqi_heap_remember_lose(struct alqi_domain *d, struct alqi_heap_remembered *r)
{
    r->lost = true;
    __atomic_store_n(&d->heap->young.is_remember_lost, true, __ATOMIC_RELAXED);
}

/* A lost set is not grown again: what it has lost stays lost until it is
 * emptied. */
ALQI_COLD void
alqi_heap_remember_slow(struct alqi_domain *d, struct alqi_heap_remembered *r,
                        alqi_heap_word *field)
{
    if (r->lost || !grow(d, r))
        alqi_heap_remember_lose(d, r);
    else
        r->fields[r->n++] = field;
}

/* The set has as many words as the minor heap: collecting is cheaper. */
ALQI_COLD void
alqi_heap_remember_enough(struct alqi_domain *d)
{
    alqi_heap_alloc_limit_request(d, &d->requests.want_minor);
}

/* Empties the set; its memory stays. */
void
alqi_heap_remember_clear(struct alqi_domain *d)
{
    d->remembered.n = 0;
    d->remembered.lost = false;
}

/* Frees the sets of a domain that ends with nothing young. */
void
alqi_heap_remember_drop(struct alqi_domain *d)
{
    ALQI_ASSERT(d->remembered.n == 0 && d->stays.n == 0); /* .inv.remember */
    free(d->remembered.fields);
    free(d->stays.fields);
    d->stays = (struct alqi_heap_remembered){0};
}
