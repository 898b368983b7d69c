/* pin_retain.c -- retained blocks, while minor heaps are emptied
 *
 * begin: each block that stays gets header 0 and field 0 its own address, so it
 * looks moved to where it is. end: header and field come back, and the table of
 * what stays takes the place of the old one.  Without memory to promote them
 * blocks stay that are not pinned any more.
 *
 * Keeps .inv.retained: At the end `fields` loses what is not young any more,
 *   and gets what the workers found.
 * Keeps .inv.room: Nothing is promoted for which there is no memory.
 * Keeps .inv.hidden, .inv.sorted: `next` is sorted, then hidden, and shown
 *   again when nothing more is promoted. */
#include <stdlib.h>

#include "heap/root_ambiguous.h"
#include "heap/pool_area.h"
#include "heap/limit_heap.h"
#include "heap/log.h"
#include "heap/pool_class.h"
#include "heap/custom.h"
#include "heap/pin_retain.h"
#include "heap/large.h"
#include "heap/minor.h"
#include "heap/pin.h"
#include "heap/root_stack.h"
#include "heap/pool.h"
#include "heap/minor_promote.h"
#include "heap/minor_remember.h"

/* ---- a collection begins ------------------------------------------------ */

static int
by_block(const void *a, const void *b)
{
    const struct alqi_heap_retained *x = a, *y = b;

    return (x->block > y->block) - (x->block < y->block);
}

/* Adds a block to those that stay.  Places were made in advance (.inv.stay),
 * but for stacks of more than a million words; if they cannot be made now, the
 * process ends, since the block may neither move nor stay. */
static void
next_add(struct alqi_heap *heap, alq_value block)
{
    struct alqi_heap_pins *p = &heap->pins;

    if (ALQI_UNLIKELY(p->n_next == p->retained_size) &&
        !alqi_heap_pin_grow_stw(heap))
        alqi_base_fail(__FILE__, __LINE__, "no memory for blocks that stay");
    p->next[p->n_next++] = (struct alqi_heap_retained){.block = block};
}

/* Adds a block in the domain's slice that a word of some stack leads to. */
static void
ambiguous_stay(struct alqi_domain *of, alq_value block)
{
    of->sums.counts.held_blocks++;
    next_add(of->heap, block);
}

/* Likewise all of them. */
static void
ambiguous_all_stay(struct alqi_domain *leader)
{
    struct alqi_heap *heap = leader->heap;

    alqi_heap_ambiguous_young_stw(leader, ambiguous_stay);
    if (alqi_heap_stack_is_any(heap))
        ALQI_HEAP_LOG(
            heap, ALQ_GC_LOG_MINOR,
            "stacks: %ju words lead to young blocks, %zu of which stay",
            (uintmax_t)heap->stacks.n_ambiguous, heap->pins.n_next);
}

/* Bytes of all retained blocks, which is what promotion may need for them. */
static uintptr_t
retained_bytes(const struct alqi_heap_pins *p)
{
    uintptr_t bytes = 0;
    size_t i;

    for (i = 0; i < p->n_retained; i++)
        bytes += alqi_heap_words(alqi_heap_header(p->retained[i].block)) *
                 ALQ_WORD_BYTES;
    return bytes;
}

/* Whether there is memory, within the heap's limit, to promote all retained
 * blocks.  Keeps .inv.room, with all_stay(). */
static bool
is_room(struct alqi_domain *leader)
{
    struct alqi_heap *heap = leader->heap;
    size_t pools;

    if (heap->pins.n_retained == 0)
        return true;
    pools = alqi_heap_minor_need(retained_bytes(&heap->pins));
    return alqi_heap_is_within(leader, pools * ALQI_HEAP_POOL_BYTES) &&
           alqi_heap_area_ready(&heap->area, heap->area.n_promised + pools);
}

/* Adds the pinned blocks that are young. */
static void
pinned_stay(struct alqi_domain *leader)
{
    struct alqi_heap_pins *p = &leader->heap->pins;
    size_t i;

    for (i = 0; i < p->n; i++)
        if (alqi_heap_is_young(leader, p->entries[i].value))
            next_add(leader->heap, p->entries[i].value);
}

/* Adds the retained blocks that are not pinned any more; pinned ones are there
 * already. */
static void
all_stay(struct alqi_heap *heap)
{
    const struct alqi_heap_pins *p = &heap->pins;
    uint64_t unused;
    size_t i;

    for (i = 0; i < p->n_retained; i++)
        if (!alqi_base_map_get(&p->index, p->retained[i].block, &unused))
            next_add(heap, p->retained[i].block);
}

/* Sorts the blocks that stay by address, each once.  Pins are mostly made in
 * that order, so it looks first whether they are sorted. */
static void
next_sort(struct alqi_heap_pins *p)
{
    size_t i, to;

    for (i = 1; i < p->n_next && p->next[i - 1].block < p->next[i].block; i++)
        continue;
    if (i >= p->n_next)
        return;
    qsort(p->next, p->n_next, sizeof *p->next, by_block);
    for (to = i = 1; i < p->n_next; i++)
        if (p->next[i].block != p->next[to - 1].block)
            p->next[to++] = p->next[i];
    p->n_next = to;
}

/* Makes the block look moved to where it is.  The entry has its header and
 * field 0 until the end. */
static void
hide(struct alqi_heap_retained *to)
{
    alqi_heap_word *block = (alqi_heap_word *)to->block;

    ALQI_ASSERT(block[-1] != 0); /* .inv.hidden: it is no block that moved */
    to->header = block[-1];
    to->first = block[0];
    block[-1] = 0;
    block[0] = to->block;
}

/* Hides all blocks that stay.  One that was retained before hands its note of a
 * custom block on: what is left in the old table is charged for or finalised at
 * the end.  Both tables are in the order of addresses. */
static void
hide_all(struct alqi_heap_pins *p)
{
    size_t i, before = 0;

    for (i = 0; i < p->n_next; i++) {
        while (before < p->n_retained &&
               p->retained[before].block < p->next[i].block)
            before++;
        if (before < p->n_retained &&
            p->retained[before].block == p->next[i].block) {
            p->next[i] = p->retained[before];
            p->retained[before].is_custom = false;
        }
        ALQI_ASSERT(i == 0 ||
                    p->next[i - 1].block < p->next[i].block); /* .inv.sorted */
        hide(&p->next[i]);
    }
}

/* Chooses the blocks that stay in this collection, and hides them.  By the
 * leader, before the shares; without such blocks nothing is done. */
void
alqi_heap_pin_retain_begin_stw(struct alqi_domain *leader)
{
    struct alqi_heap *heap = leader->heap;
    struct alqi_heap_pins *p = &heap->pins;

    ALQI_ASSERT(alqi_heap_is_stopped(leader->heap));
    ALQI_ASSERT(!p->is_collecting && p->n_next == 0); /* .inv.hidden */
    if (heap->young.is_any)
        ambiguous_all_stay(leader);
    pinned_stay(leader);
    if (p->n_next == 0 && p->n_retained == 0)
        return;
    if (!is_room(leader))
        all_stay(heap);
    next_sort(p);
    hide_all(p);
    p->fields.lost = false; /* served, with other lost sets */
    p->is_collecting = true;
}

/* ---- a collection ends -------------------------------------------------- */

static int
by_field(const void *a, const void *b)
{
    alqi_heap_word *const *x = a, *const *y = b;

    return (*x > *y) - (*x < *y);
}

/* Drops fields whose value is not young any more. */
static void
fields_filter(struct alqi_domain *self, struct alqi_heap_remembered *r)
{
    size_t i, to = 0;

    for (i = 0; i < r->n; i++)
        if (alqi_heap_is_young(self, *r->fields[i]))
            r->fields[to++] = r->fields[i];
    r->n = to;
}

/* Adds the set of one domain, and empties it.  If a set was lost for lack of
 * memory, so is the whole. */
static void
fields_take(struct alqi_domain *self, struct alqi_heap_remembered *from)
{
    struct alqi_heap_remembered *r = &self->heap->pins.fields;
    size_t i;

    for (i = 0; i < from->n; i++)
        alqi_heap_remember_in(self, r, from->fields[i]);
    if (from->lost)
        alqi_heap_remember_lose(self, r);
    from->n = 0;
    from->lost = false;
}

/* Leaves each field once: two workers may have found the same one, and a field
 * that was in the set may have been found again. */
static void
fields_unique(struct alqi_heap_remembered *r)
{
    size_t i, to = 0;

    if (r->n < 2)
        return;
    qsort(r->fields, r->n, sizeof *r->fields, by_field);
    for (i = 0; i < r->n; i++)
        if (i == 0 || r->fields[i] != r->fields[i - 1])
            r->fields[to++] = r->fields[i];
    r->n = to;
}

/* Makes `fields` the set of all major fields that hold retained blocks
 * (.inv.retained).  It is sorted only if a worker has added to it. */
static void
fields_end(struct alqi_domain *self)
{
    struct alqi_heap *heap = self->heap;
    struct alqi_heap_remembered *r = &heap->pins.fields;
    size_t n;
    unsigned i;

    fields_filter(self, r);
    n = r->n;
    for (i = 0; i < heap->n_slots; i++)
        fields_take(self, &heap->domains[i]->stays);
    if (r->n != n)
        fields_unique(r);
}

/* Stops the program unless each field of the set holds a retained block. */
static void
fields_check(const struct alqi_heap *heap)
{
    const struct alqi_heap_remembered *r = &heap->pins.fields;
    size_t i;

    for (i = 0; i < r->n; i++)
        ALQI_ASSERT(
            alqi_heap_pin_is_retained(heap, *r->fields[i])); /* .inv.retained */
}

/* Charges for a custom block that has been promoted, or finalises one that has
 * died.  Of a block that is not retained any more. */
static void
custom_end(struct alqi_domain *self, const struct alqi_heap_retained *retained)
{
    if (!retained->is_custom)
        return;
    if (alqi_heap_promoted(retained->block) != ALQ_NULL)
        alqi_heap_custom_charge(self, retained->cost_words);
    else
        alqi_heap_finalise(retained->block, alqi_heap_header(retained->block));
}

/* Makes retained blocks look like others again, and swaps the tables.  By one
 * participant, when all domains have finished: the old places are read here, so
 * minor heaps must not be open yet. */
void
alqi_heap_pin_retain_end_stw(struct alqi_domain *self)
{
    struct alqi_heap_pins *p = &self->heap->pins;
    struct alqi_heap_retained *before = p->retained;
    size_t i;

    ALQI_ASSERT(alqi_heap_is_stopped(self->heap));
    if (!p->is_collecting)
        return;
    for (i = 0; i < p->n_retained; i++)
        custom_end(self, &before[i]);
    for (i = 0; i < p->n_next; i++) {
        alqi_heap_word *block = (alqi_heap_word *)p->next[i].block;

        ALQI_ASSERT(block[-1] == 0 &&
                    block[0] == p->next[i].block); /* .inv.hidden */
        block[-1] = p->next[i].header;
        block[0] = p->next[i].first;
    }
    fields_end(self);
    p->retained = p->next;
    p->n_retained = p->n_next;
    p->next = before;
    p->n_next = 0;
    p->is_collecting = false;
    if (ALQI_CHECKS >= 2)
        fields_check(self->heap);
}

/* ---- the cycle ---------------------------------------------------------- */

static bool
is_dead(const struct alqi_heap *heap, uintptr_t header)
{
    return alqi_heap_colour(header) == heap->cycle.colours.unmarked;
}

/* The header of the block that the field is in; 0: a free slot. */
static uintptr_t
header_in_pool(const struct alqi_heap *heap, const alqi_heap_word *field)
{
    uintptr_t pool = (uintptr_t)field & ~(uintptr_t)(ALQI_HEAP_POOL_BYTES - 1);
    alqi_heap_word *slots = alqi_heap_pool_slots((struct alqi_heap_pool *)pool);
    size_t words = alqi_heap_class_words[alqi_heap_area_class(
        &heap->area, (uintptr_t)field)];

    return slots[(size_t)(field - slots) / words * words];
}

/* Drops the fields of dead blocks in pools.  Each gets an integer: otherwise
 * the verifier, and others that read all the heap, would follow it to a place
 * that is reused. */
static void
leave_pools(struct alqi_heap *heap, struct alqi_heap_remembered *r)
{
    size_t i, to = 0;

    for (i = 0; i < r->n; i++) {
        alqi_heap_word *field = r->fields[i];

        if (alqi_heap_area_has(&heap->area, (uintptr_t)field) &&
            is_dead(heap, header_in_pool(heap, field)))
            *field = ALQ_UNIT; /* for visits of the whole heap */
        else
            r->fields[to++] = field;
    }
    r->n = to;
}

/* Drops the fields of one dead large block. */
static void
leave_large(struct alqi_heap_remembered *r, struct alqi_heap_large *large)
{
    alqi_heap_word *end = large->fields + (large->header >> ALQ_WOSIZE_SHIFT);
    size_t i, to = 0;

    for (i = 0; i < r->n; i++) {
        if (r->fields[i] >= large->fields && r->fields[i] < end)
            *r->fields[i] = ALQ_UNIT;
        else
            r->fields[to++] = r->fields[i];
    }
    r->n = to;
}

/* Drops the fields of dead blocks from the set, before their memory is reused.
 * When marking has ended. */
void
alqi_heap_pin_retain_after_marking_stw(struct alqi_heap *heap)
{
    struct alqi_heap_remembered *r = &heap->pins.fields;
    struct alqi_heap_large *large;
    unsigned i;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    ALQI_ASSERT(heap->cycle.phase == ALQI_HEAP_MARK); /* .inv.colour */
    if (r->n == 0)
        return;
    leave_pools(heap, r);
    for (i = 0; i < heap->n_slots && r->n > 0; i++)
        for (large = heap->domains[i]->large.all; large != NULL;
             large = large->next)
            if (is_dead(heap, large->header))
                leave_large(r, large);
}
