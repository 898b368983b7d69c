/* custom.c -- young custom blocks, and what memory outside of the heap costs
 *
 *   young, in the table -> promoted (charged), dead (finalised), or
 *   pinned (goes to the table of pin.h), at the end of a minor collection
 *
 * A block stands in the table if it has a finaliser or a cost.  A charge is
 * counted in words of the major heap, and the pace takes it for allocation: so
 * a program with small blocks that hold much memory gets collections in time.
 * Old blocks are finalised by sweeping, which needs no table.
 *
 * .inv.customs  A young custom block with a finaliser or a cost is in the table
 *               of the domain that made it, once, until its minor heap is
 *               emptied. */
#include <stdlib.h>

#include "heap/custom.h"
#include "heap/event.h"
#include "heap/alloc_limit.h"
#include "heap/minor_size.h"
#include "heap/major_pace.h"
#include "heap/pin.h"
#include "heap/minor_promote.h"
#include "heap/log.h"

enum { TABLE_FIRST = ALQI_HEAP_IS_HARD ? 1 : 64 };

/* ---- what is held ------------------------------------------------------- */

/* The largest cost of one block, in words: more than there are addresses.  A
 * sum of costs does not wrap around. */
#define COST_MOST ((double)((uint64_t)1 << 44))

/* The cost of `bytes` of memory outside.
 *
 * Dead blocks may hold custom_major_ratio percent of the heap's target, which
 * is live words and overhead.  The cost is the garbage of the major heap that
 * is the same share of its overhead.  Of young blocks custom_minor_ratio
 * percent of the minor heap's size may be held together. */
struct alqi_heap_held
alqi_heap_custom_mem(const struct alqi_domain *d, size_t bytes)
{
    const struct alq_gc_control *c = &d->heap->tuning.control;
    double overhead = (double)c->space_overhead / 100;
    double words = (double)bytes / ALQ_WORD_BYTES;
    struct alqi_heap_held held;

    held.bytes = bytes;
    held.cost_words =
        words * overhead / (1 + overhead) * 100 / (double)c->custom_major_ratio;
    if (held.cost_words > COST_MOST)
        held.cost_words = COST_MOST;
    held.young_share = (double)bytes * 100 /
                       (double)alqi_heap_minor_size_bytes(d) /
                       (double)c->custom_minor_ratio;
    held.is_old = bytes > (size_t)c->custom_minor_max_size;
    return held;
}

/* The cost of `held` of `most` units, for a program that knows no bytes: when
 * `most` units are dead, a cycle is due. */
struct alqi_heap_held
alqi_heap_custom_ratio(const struct alqi_domain *d, size_t held, size_t most)
{
    double share = held < most ? (double)held / (double)most : 1;

    return (struct alqi_heap_held){
        0, share * alqi_heap_pace_allowed_words(d->heap), share, false};
}

/* Charges words for a block that is old. */
void
alqi_heap_custom_charge(struct alqi_domain *d, uint64_t cost_words)
{
    d->sums.cost_words += cost_words;
    alqi_heap_pace_direct(d, cost_words);
}

/* ---- young ones --------------------------------------------------------- */

/* Makes room for one more block in the table; false: no memory. */
bool
alqi_heap_custom_ready(struct alqi_domain *d)
{
    struct alqi_heap_customs *c = &d->customs;
    size_t size = c->size == 0 ? TABLE_FIRST : c->size * 2;
    struct alqi_heap_young_custom *young;

    if (c->n < c->size)
        return true;
    young = realloc(c->young, size * sizeof *young);
    if (young == NULL)
        return false;
    ALQI_HEAP_LOG(d->heap, ALQ_GC_LOG_TABLES,
                  "table of young custom blocks: %zu", size);
    c->young = young;
    c->size = size;
    return true;
}

/* Enters a new young block, and requests a minor collection if young blocks
 * hold too much together.  Requires alqi_heap_custom_ready since the last
 * entry. */
void
alqi_heap_custom_young(struct alqi_domain *d, alq_value block,
                       bool is_finalised, struct alqi_heap_held held)
{
    struct alqi_heap_customs *c = &d->customs;

    /* .inv.customs: it is d's own, and alqi_heap_custom_ready has made room. */
    ALQI_ASSERT(block >= (uintptr_t)d->pub.young_ptr && block < d->young.end);
    ALQI_ASSERT(c->n < c->size);
    if (is_finalised || held.cost_words >= 1)
        c->young[c->n++] =
            (struct alqi_heap_young_custom){block, (uint64_t)held.cost_words};
    c->young_share += held.young_share;
    if (c->young_share > 1)
        alqi_heap_alloc_limit_request(d, &d->requests.want_minor);
}

/* ---- the end of young ones ---------------------------------------------- */

/* Ends the young custom blocks of `of`, after promotion, while the old places
 * can still be read: the header of a dead block is there.
 *
 * Charges are added up and made once, by the domain whose program allocated.  A
 * block that stays in place looks as if it had moved to where it is (pin.h). */
void
alqi_heap_custom_after_minor(struct alqi_domain *self, struct alqi_domain *of)
{
    struct alqi_heap_customs *c = &of->customs;
    size_t i, n_dead = 0;
    uint64_t cost_words = 0;
    alq_value moved;

    c->young_share = 0;
    if (c->n == 0)
        return;
    alqi_heap_event_begin(self, ALQ_EVENT_FINALISE, 0, 0);
    for (i = 0; i < c->n; i++) {
        alq_value block = c->young[i].block;

        moved = alqi_heap_promoted(block);
        ALQI_ASSERT(moved == ALQ_NULL || moved == block ||
                    !alqi_heap_is_young(of, moved)); /* .inv.customs */
        if (moved == block) {                        /* retained by a pin */
            alqi_heap_pin_custom(of->heap, block, c->young[i].cost_words);
            continue;
        }
        if (moved != ALQ_NULL) { /* promoted: charged below */
            cost_words += c->young[i].cost_words;
            continue;
        }
        alqi_heap_finalise(block, alqi_heap_header(block));
        n_dead++;
    }
    alqi_heap_event_end(self, ALQ_EVENT_FINALISE, n_dead, 0);
    if (n_dead > 0)
        ALQI_HEAP_LOG(of->heap, ALQ_GC_LOG_FINALISE,
                      "young custom blocks: %zu died, %zu live on", n_dead,
                      c->n - n_dead);
    c->n = 0;
    if (cost_words > 0)
        alqi_heap_custom_charge(of, cost_words);
}

/* Finalises what is young, since the domain or the heap ends, and frees the
 * table. */
void
alqi_heap_custom_drop(struct alqi_domain *d)
{
    struct alqi_heap_customs *c = &d->customs;
    size_t i;

    for (i = 0; i < c->n; i++)
        alqi_heap_finalise(c->young[i].block,
                           alqi_heap_header(c->young[i].block));
    free(c->young);
    *c = (struct alqi_heap_customs){0};
}
