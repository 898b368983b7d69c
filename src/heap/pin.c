/* pin.c -- pins, and the young blocks that they retain
 *
 * A block is pinned while it has an entry, whose count is that of its pins.  If
 * it is young when its minor heap is emptied, it is retained: in place, in the
 * table `retained`.  Outside of stops the tables are under the lock of pins.
 *
 * Keeps .inv.retained: Major fields that hold retained blocks are in `fields`.
 * Keeps .inv.pinned: The index follows each entry that moves.
 * Keeps .inv.stay: There is memory for each block that may have to stay, before
 *   it has to: a place for each pin and each ambiguous word. */
#include <stdlib.h>

#include "heap/pin.h"
#include "heap/minor_remember.h"
#include "heap/minor_escape.h"

enum { SIZE_FIRST = ALQI_HEAP_IS_HARD ? 1 : 64 };

/* ---- the table ---------------------------------------------------------- */

static bool
retained_grow(struct alqi_heap_retained **retained, size_t size)
{
    struct alqi_heap_retained *grown = realloc(*retained, size * sizeof *grown);

    if (grown == NULL)
        return false;
    *retained = grown;
    return true;
}

/* Makes room in both tables of retained blocks for one pin more; false: no
 * memory.
 *
 * Keeps .inv.stay: There is a place for each block that is pinned, for each
 *   word of conservative threads' stacks (untouched places cost address space
 *   alone), and for each block that is retained because there is no memory to
 *   promote it. */
static bool
places_ready(struct alqi_heap_pins *p)
{
    size_t n = p->n + 1 + p->n_retained;
    size_t size = SIZE_FIRST;

    while (size < n)
        size *= 2;
    size += p->n_stack_words;
    if (size <= p->retained_size)
        return true;
    if (!retained_grow(&p->retained, size) || !retained_grow(&p->next, size))
        return false;
    p->retained_size = size;
    return true;
}

/* Doubles the tables of retained blocks, where .inv.stay does not cover a
 * block; false: no memory.  A table may have grown alone then: retained_size is
 * what both have. */
bool
alqi_heap_pin_grow_stw(struct alqi_heap *heap)
{
    struct alqi_heap_pins *p = &heap->pins;
    size_t size = p->retained_size == 0 ? SIZE_FIRST : p->retained_size * 2;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    if (!retained_grow(&p->retained, size) || !retained_grow(&p->next, size))
        return false;
    p->retained_size = size;
    return true;
}

/* Makes room for what the words of a conservative thread may lead to. */
bool
alqi_heap_pin_stack_add(struct alqi_heap *heap, size_t words)
{
    struct alqi_heap_pins *p = &heap->pins;
    bool ok;

    alqi_plat_lock(&p->lock);
    p->n_stack_words += words;
    ok = places_ready(p);
    if (!ok)
        p->n_stack_words -= words;
    alqi_plat_unlock(&p->lock);
    return ok;
}

void
alqi_heap_pin_stack_remove(struct alqi_heap *heap, size_t words)
{
    alqi_plat_lock(&heap->pins.lock);
    ALQI_ASSERT(heap->pins.n_stack_words >= words); /* .inv.stay */
    heap->pins.n_stack_words -= words;
    alqi_plat_unlock(&heap->pins.lock);
}

/* Makes room for one entry more; false: no memory. */
static bool
entries_ready(struct alqi_heap_pins *p)
{
    size_t size = p->size == 0 ? SIZE_FIRST : p->size * 2;
    struct alqi_heap_pin *entries;

    if (p->n < p->size)
        return true;
    entries = realloc(p->entries, size * sizeof *entries);
    if (entries == NULL)
        return false;
    p->entries = entries;
    p->size = size;
    return true;
}

/* Adds a pin to the block; false: no memory, and nothing has changed but for
 * larger tables.  All memory is there before the block counts as pinned. */
static bool
pin_locked(struct alqi_heap_pins *p, alq_value block)
{
    uint64_t at;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_PINS));
    if (alqi_base_map_get(&p->index, block, &at)) {
        ALQI_ASSERT(p->entries[at].value == block); /* .inv.pinned */
        p->entries[at].count++;
        return true;
    }
    if (!entries_ready(p) || !places_ready(p) ||
        !alqi_base_map_put(&p->index, block, p->n))
        return false;
    p->entries[p->n++] = (struct alqi_heap_pin){block, 1};
    ALQI_ASSERT(p->n + p->n_retained + p->n_stack_words <=
                p->retained_size); /* .inv.stay */
    return true;
}

/* Takes a pin off the block; false: it has none.  With the last one the entry
 * goes, and the last entry of the table takes its place.  The block itself
 * stays retained until the next minor collection. */
static bool
unpin_locked(struct alqi_heap_pins *p, alq_value block)
{
    struct alqi_heap_pin last;
    uint64_t at;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_PINS));
    if (!alqi_base_map_get(&p->index, block, &at))
        return false;
    ALQI_ASSERT(at < p->n && p->entries[at].value == block &&
                p->entries[at].count > 0); /* .inv.pinned */
    if (--p->entries[at].count > 0)
        return true;
    alqi_base_map_take(&p->index, block, &at);
    last = p->entries[--p->n];
    if (last.value == block)
        return true;
    p->entries[at] = last;
    alqi_base_map_put(&p->index, last.value, at); /* it is there: no memory */
    return true;
}

/* Pins the block.  A young one escapes before: retained blocks are the heap's,
 * and a collection of the domain alone does not know them. */
enum alq_status
alqi_heap_pin(struct alqi_domain *d, alq_value block)
{
    struct alqi_heap_pins *p = &d->heap->pins;
    bool is_pinned;

    if (alqi_heap_is_young(d, block))
        alqi_heap_escape(
            d->heap); /* from the next collection on it is retained */
    alqi_plat_lock(&p->lock);
    is_pinned = pin_locked(p, block);
    alqi_plat_unlock(&p->lock);
    return is_pinned ? ALQ_OK : ALQ_ENOMEM;
}

/* Takes a pin off the block; ALQ_EINVAL: it has none. */
enum alq_status
alqi_heap_unpin(struct alqi_domain *d, alq_value block)
{
    struct alqi_heap_pins *p = &d->heap->pins;
    bool was_pinned;

    alqi_plat_lock(&p->lock);
    was_pinned = unpin_locked(p, block);
    alqi_plat_unlock(&p->lock);
    return was_pinned ? ALQ_OK : ALQ_EINVAL;
}

bool
alqi_heap_pin_is_any(struct alqi_heap *heap)
{
    bool is;

    alqi_plat_lock(&heap->pins.lock);
    is = heap->pins.n > 0;
    alqi_plat_unlock(&heap->pins.lock);
    return is;
}

/* Whether the block has a pin.  Out of stops: it takes the lock. */
bool
alqi_heap_pin_is_pinned(struct alqi_heap *heap, alq_value block)
{
    uint64_t unused;
    bool is;

    alqi_plat_lock(&heap->pins.lock);
    is = alqi_base_map_get(&heap->pins.index, block, &unused);
    alqi_plat_unlock(&heap->pins.lock);
    return is;
}

/* ---- retained blocks, by address --------------------------------------------
 */

/* The index of the first retained block from the address on; n: there is
 * none. */
static size_t
place_of(const struct alqi_heap_retained *retained, size_t n, uintptr_t address)
{
    size_t low = 0;

    while (low < n) {
        size_t middle = low + (n - low) / 2;

        if (retained[middle].block < address)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

/* One of n in the order of addresses; NULL: it is not there. */
static struct alqi_heap_retained *
pin_among(struct alqi_heap_retained *retained, size_t n, alq_value block)
{
    size_t i = place_of(retained, n, block);

    return i < n && retained[i].block == block ? &retained[i] : NULL;
}

bool
alqi_heap_pin_is_retained(const struct alqi_heap *heap, alq_value v)
{
    return pin_among(heap->pins.retained, heap->pins.n_retained, v) != NULL;
}

/* The index of the first retained block whose header is at the address or
 * behind it.  During a collection it counts those that stay, whose table is
 * `next`. */
size_t
alqi_heap_pin_from(const struct alqi_heap *heap, uintptr_t from)
{
    const struct alqi_heap_pins *p = &heap->pins;

    return p->is_collecting
               ? place_of(p->next, p->n_next, from + ALQ_WORD_BYTES)
               : place_of(p->retained, p->n_retained, from + ALQ_WORD_BYTES);
}

/* Sets *out to the place of retained block i, with its header; false: none is
 * left below `to`.  During a collection the header in the block is 0, and the
 * entry has it. */
bool
alqi_heap_pin_at(const struct alqi_heap *heap, size_t i, uintptr_t to,
                 struct alqi_heap_range *out)
{
    const struct alqi_heap_pins *p = &heap->pins;
    const struct alqi_heap_retained *retained =
        p->is_collecting ? p->next : p->retained;
    size_t n = p->is_collecting ? p->n_next : p->n_retained;
    uintptr_t header;

    if (i == n || retained[i].block - ALQ_WORD_BYTES >= to)
        return false;
    header = p->is_collecting ? retained[i].header
                              : alqi_heap_header(retained[i].block);
    out->start = retained[i].block - ALQ_WORD_BYTES;
    out->end = out->start + alqi_heap_words(header) * ALQ_WORD_BYTES;
    return true;
}

/* Whether no retained block begins in [from, to).  Also out of stops, hence the
 * lock. */
bool
alqi_heap_pin_is_free(struct alqi_heap *heap, uintptr_t from, uintptr_t to)
{
    struct alqi_heap_range retained;
    bool is_free;

    alqi_plat_lock(&heap->pins.lock);
    is_free = !alqi_heap_pin_find(heap, from, to, &retained);
    alqi_plat_unlock(&heap->pins.lock);
    return is_free;
}

/* Finds room for a minor heap in the domain's slice: the first piece of `bytes`
 * without a retained block, else the largest piece.  Returns its bytes, whole
 * chunks, and sets *start.
 *
 * It goes from one retained block to the next; the end of the slice closes the
 * last piece.  The lock is needed out of stops: another domain may pin a block
 * while this one collects alone. */
uintptr_t
alqi_heap_pin_room(const struct alqi_domain *d, uintptr_t bytes,
                   uintptr_t *start)
{
    const uintptr_t mask = ALQI_HEAP_CHUNK_BYTES - 1;
    uintptr_t at = d->sizes.base, end = d->sizes.base + d->sizes.max_bytes,
              best = 0;
    struct alqi_heap_pins *p = &d->heap->pins;
    struct alqi_heap_range retained;
    size_t i;
    bool more;

    *start = at;
    alqi_plat_lock(&p->lock);
    i = alqi_heap_pin_from(d->heap, at);
    do {
        more = alqi_heap_pin_at(d->heap, i++, end, &retained);
        if (!more)
            retained = (struct alqi_heap_range){end, end};
        if ((retained.start & ~mask) > at &&
            (retained.start & ~mask) - at > best) {
            best = (retained.start & ~mask) - at;
            *start = at;
        }
        at = (retained.end + mask) & ~mask;
    } while (more && best < bytes && at < end);
    alqi_plat_unlock(&p->lock);
    return best < bytes ? best : bytes;
}

/* ---- in a collection ---------------------------------------------------- */

/* Notes a promoted field whose value stays young, in a set of the worker: no
 * lock is needed, and the end of the collection puts the sets together. */
void
alqi_heap_pin_field(struct alqi_domain *self, alqi_heap_word *field)
{
    if (alqi_heap_is_young(self, *field))
        alqi_heap_remember_in(self, &self->stays, field);
}

/* Notes that a custom block stays, with what it costs.  Requires that the block
 * is one of those that stay. */
void
alqi_heap_pin_custom(struct alqi_heap *heap, alq_value block,
                     uint64_t cost_words)
{
    struct alqi_heap_retained *retained =
        pin_among(heap->pins.next, heap->pins.n_next, block);

    ALQI_ASSERT(retained != NULL); /* .inv.stay: it was chosen to stay */
    retained->is_custom = true;
    retained->cost_words = cost_words;
}

/* ---- roots -------------------------------------------------------------- */

/* Visits the fields of a block from field `from` on, if it has any to scan. */
static void
fields_visit(alq_value block, uintptr_t header, size_t from,
             void (*visit)(void *arg, alq_value *slot), void *arg)
{
    size_t i, n = header >> ALQ_WOSIZE_SHIFT;

    if (alqi_heap_is_scannable(header))
        for (i = from; i < n; i++)
            visit(arg, (alq_value *)block + i);
}

/* Visits the fields of a block that stays, during a collection: field 0 is in
 * the entry, since its place in the block has the block's address. */
static void
hidden_visit(struct alqi_heap_retained *retained,
             void (*visit)(void *arg, alq_value *slot), void *arg)
{
    if (alqi_heap_is_scannable(retained->header))
        visit(arg, &retained->first);
    fields_visit(retained->block, retained->header, 1, visit, arg);
}

/* Visits pinned blocks, and the fields of retained ones, which may hold the
 * last reference to a young block or, for marking, to an old one. */
void
alqi_heap_pin_visit_stw(struct alqi_heap *heap,
                        void (*visit)(void *arg, alq_value *slot), void *arg)
{
    struct alqi_heap_pins *p = &heap->pins;
    size_t i;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    for (i = 0; i < p->n; i++)
        visit(arg, &p->entries[i].value);
    for (i = 0; i < p->n_next; i++)
        hidden_visit(&p->next[i], visit, arg);
    for (i = 0; !p->is_collecting && i < p->n_retained; i++)
        fields_visit(p->retained[i].block,
                     alqi_heap_header(p->retained[i].block), 0, visit, arg);
}

/* Calls `visit` for each word that compaction cannot correct: pinned addresses,
 * which programs outside the heap know, and the addresses of fields in the
 * set. */
void
alqi_heap_pin_words_stw(struct alqi_heap *heap,
                        void (*visit)(struct alqi_heap *heap, uintptr_t word))
{
    const struct alqi_heap_pins *p = &heap->pins;
    size_t i;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    ALQI_ASSERT(!p->is_collecting && p->n_next == 0); /* .inv.hidden */
    for (i = 0; i < p->n; i++)
        visit(heap, p->entries[i].value);
    for (i = 0; i < p->fields.n; i++)
        visit(heap, (uintptr_t)p->fields.fields[i]);
}

/* ---- the heap ends ------------------------------------------------------ */

/* Frees the tables, when the heap ends.  Custom blocks that were retained are
 * finalised: no sweep comes to them. */
void
alqi_heap_pin_drop(struct alqi_heap *heap)
{
    struct alqi_heap_pins *p = &heap->pins;
    size_t i;

    for (i = 0; i < p->n_retained; i++)
        if (p->retained[i].is_custom)
            alqi_heap_finalise(p->retained[i].block,
                               alqi_heap_header(p->retained[i].block));
    free(p->retained);
    free(p->next);
    free(p->entries);
    free(p->fields.fields);
    alqi_base_map_clear(&p->index);
    *p = (struct alqi_heap_pins){0};
}
