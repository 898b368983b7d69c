/* snapshot_blocks.c -- all blocks of the heap and their edges, into the file
 *
 * Keeps .inv.walked: Blocks are found as a census finds them.
 * Keeps .inv.copy_bare: Pages for the table of kinds are taken by the
 *   instruction. */
#include "heap/major_sweep.h"
#include "heap/pin.h"
#include "heap/snapshot_state.h"
#include "heap/weak.h"
#include "plat/bare.h"

enum { PLACES_FIRST = ALQI_HEAP_IS_HARD ? 2 : 256, CUSTOM_FIRST = 256 };

/* ---- kinds of custom blocks --------------------------------------------- */

/* The place of the operations, or the free one where they belong. */
static struct alqi_heap_snapshot_kind *
place_of(const struct alqi_heap_snapshot_kinds *kinds,
         const struct alq_custom_ops *ops)
{
    size_t i = (size_t)alqi_base_mix((uintptr_t)ops);

    while (kinds->places[i & (kinds->n_places - 1)].ops != NULL &&
           kinds->places[i & (kinds->n_places - 1)].ops != ops)
        i++;
    return &kinds->places[i & (kinds->n_places - 1)];
}

/* Doubles the table; false: no memory. */
static bool
places_grow(struct alqi_heap_snapshot_kinds *kinds)
{
    struct alqi_heap_snapshot_kinds more = *kinds;
    size_t i;

    more.n_places = kinds->n_places == 0 ? PLACES_FIRST : kinds->n_places * 2;
    more.places = alqi_plat_bare_map(more.n_places * sizeof *more.places);
    if (more.places == NULL)
        return false;
    for (i = 0; i < kinds->n_places; i++)
        if (kinds->places[i].ops != NULL)
            *place_of(&more, kinds->places[i].ops) = kinds->places[i];
    if (kinds->n_places > 0)
        alqi_plat_bare_unmap(kinds->places,
                             kinds->n_places * sizeof *kinds->places);
    *kinds = more;
    return true;
}

/* The number of new operations, whose name is told. */
static uint64_t
kind_tell(struct alqi_heap_snapshot *s, const struct alq_custom_ops *ops)
{
    uint64_t number = CUSTOM_FIRST + s->kinds.next++;

    alqi_dump_kind_name(&s->encoder, number,
                        ops->name != NULL ? ops->name : "custom");
    return number;
}

/* Where the table finds no memory the same operations get another number, and
 * the same name. */
static uint64_t
kind_find(struct alqi_heap_snapshot *s, const struct alq_custom_ops *ops)
{
    struct alqi_heap_snapshot_kinds *kinds = &s->kinds;
    struct alqi_heap_snapshot_kind *place;

    if (kinds->n_used * 2 >= kinds->n_places && !places_grow(kinds))
        return kind_tell(s, ops);
    place = place_of(kinds, ops);
    if (place->ops == NULL) {
        place->ops = ops;
        place->number = kind_tell(s, ops);
        kinds->n_used++;
    }
    return place->number;
}

static uint64_t
kind_of(struct alqi_heap_snapshot *s, const struct alq_custom_ops *ops)
{
    if (ops != s->kinds.last) {
        s->kinds.last_number = kind_find(s, ops);
        s->kinds.last = ops;
    }
    return s->kinds.last_number;
}

/* ---- blocks ------------------------------------------------------------- */

static inline void
edge(struct alqi_heap_snapshot *s, alq_value v)
{
    v = alqi_heap_snapshot_target(s->leader, v);
    if (v != ALQ_NULL)
        alqi_dump_edge(&s->encoder, v);
}

static void
edge_visit(void *arg, alq_value *slot)
{
    edge(arg, *slot);
}

/* Of custom blocks an ephemeron's data alone are an edge. */
static void
custom_write(struct alqi_heap_snapshot *s, alq_value block, uintptr_t header)
{
    const struct alq_custom_ops *ops = alq_custom_ops_of(block);
    uint64_t kind = kind_of(s, ops);

    alqi_dump_block(&s->encoder, block, header >> ALQ_WOSIZE_SHIFT,
                    ALQ_TAG_CUSTOM, kind + 1);
    if (ops == &alqi_heap_weak_ops[ALQI_HEAP_EPHE])
        edge(s, alqi_heap_weak_read(block, ALQI_HEAP_EPHE_DATA));
}

static void
fields_write(struct alqi_heap_snapshot *s, alq_value block, uintptr_t header)
{
    const alqi_heap_word *fields = (const alqi_heap_word *)block;
    uintptr_t i = alqi_heap_raw_fields(fields, header);

    for (; i < header >> ALQ_WOSIZE_SHIFT; i++)
        edge(s, fields[i]);
    if (alqi_heap_is_continuation(header))
        alqi_heap_host_fiber_visit(block, edge_visit, s);
}

/* A header without fields is what a message has left of its room. */
static void
block_write(struct alqi_heap_snapshot *s, alq_value block, uintptr_t header)
{
    uintptr_t wosize = header >> ALQ_WOSIZE_SHIFT;
    unsigned tag = header & 0xFF;

    if (wosize == 0)
        return;
    if (tag == ALQ_TAG_CUSTOM) {
        custom_write(s, block, header);
        return;
    }
    alqi_dump_block(&s->encoder, block, wosize, tag, 0);
    if (alqi_heap_is_scannable(header))
        fields_write(s, block, header);
}

static void
major_write(struct alqi_domain *leader, alq_value block, uintptr_t header)
{
    if (alqi_heap_colour(header) != leader->heap->cycle.colours.garbage)
        block_write(leader->stop_arg, block, header);
}

/* Blocks of an open minor heap lie close. */
static void
young_write(struct alqi_heap_snapshot *s, const struct alqi_domain *of)
{
    uintptr_t at = (uintptr_t)of->pub.young_ptr, header;

    for (; at < of->young.end; at += alqi_heap_words(header) * ALQ_WORD_BYTES) {
        header = *(alqi_heap_word *)at;
        block_write(s, at + ALQ_WORD_BYTES, header);
    }
}

static void
retained_write(struct alqi_heap_snapshot *s, const struct alqi_heap *heap)
{
    uintptr_t at = heap->area.young_base, end = at + heap->area.young_bytes;
    struct alqi_heap_range retained;

    for (; alqi_heap_pin_find(heap, at, end, &retained); at = retained.end)
        block_write(s, retained.start + ALQ_WORD_BYTES,
                    *(alqi_heap_word *)retained.start);
}

void
alqi_heap_snapshot_blocks_write_stw(struct alqi_heap_snapshot *s)
{
    struct alqi_heap *heap = s->leader->heap;
    unsigned i;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    for (i = 0; i < heap->n_slots; i++)
        if (alqi_heap_is_there(heap->domains[i]))
            young_write(s, heap->domains[i]);
    retained_write(s, heap);
    alqi_heap_sweep_blocks_stw(s->leader, major_write);
    if (s->kinds.n_places > 0)
        alqi_plat_bare_unmap(s->kinds.places,
                             s->kinds.n_places * sizeof *s->kinds.places);
}
