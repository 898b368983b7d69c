/* verify.c -- walks the heap and stops the program at what cannot be
 *
 * In a stop, by one thread, over all domains: first the roots and the tables of
 * each domain, which fill the maps, then each block, which is looked up in
 * them.  The heap is not changed.  Without memory for a map the checks that
 * need it are left out, once.
 *
 * Checks .inv.remember: Each major field with a young value is in a set.
 * Checks .inv.listed: Each weak block is in a list.
 * Checks .inv.phase: When MARK ends, marked blocks lead to marked ones only.
 * Checks .inv.open, .inv.claim, .inv.pools, .inv.kind, .inv.class, .inv.free,
 *   .inv.order, .inv.colour, .inv.weak, .inv.lab, .inv.swept of each value,
 * pool and buffer. */
#include "heap/pool_area.h"
#include "heap/pool_class.h"
#include "heap/final.h"
#include "heap/hosted.h"
#include "heap/large.h"
#include "heap/weak_phase.h"
#include "heap/pin.h"
#include "heap/pool.h"
#include "heap/root.h"
#include "heap/stat.h"
#include "heap/major_sweep.h"
#include "heap/verify.h"
#include "heap/weak.h"

/* The name of what does not hold, for whoever reads the message. */
#define HOLDS(e)                                                               \
    (ALQI_LIKELY(e) ? (void)0 : alqi_base_fail(__FILE__, __LINE__, #e))

/* Words of the heap that a collection of a hard build pays for: verify_slow. */
enum { CREDIT_WORDS = 512 };

static struct alqi_base_map remembered; /* in a stop: used by one at a time */
static struct alqi_base_map listed;     /* weak blocks */
static bool check_remembered;           /* asked for, and the map is complete */
static bool check_listed;               /* `listed` is complete so far */
static bool check_marked;               /* marking has just ended */

/* ---- values ------------------------------------------------------------- */

/* A young block: in the open part of a minor heap, or retained; it has not
 * moved, and has no colour. */
static void
young_value(struct alqi_domain *d, alq_value v)
{
    size_t slot = (v - d->pub.young_base) / ALQI_HEAP_MINOR_BYTES_MAX;
    struct alqi_domain *of;

    HOLDS(slot < d->heap->n_slots); /* .inv.open */
    of = d->heap->domains[slot];
    if (!alqi_heap_pin_is_retained(d->heap, v)) {
        HOLDS(alqi_heap_is_there(of)); /* .inv.open */
        HOLDS(v > (uintptr_t)of->pub.young_ptr &&
              v < of->young.end); /* .inv.open */
    }
    HOLDS(alqi_heap_header(v) != 0); /* .inv.claim */
    HOLDS(alqi_heap_colour(alqi_heap_header(v)) ==
          ALQI_HEAP_COLOUR_NONE);                    /* .inv.claim */
    HOLDS(alqi_heap_words(alqi_heap_header(v)) > 1); /* .inv.claim */
}

/* A block in a pool: of a pool in use, at the place of a slot, and not free. */
static void
pool_value(struct alqi_domain *d, alq_value v)
{
    const struct alqi_heap_area *area = &d->heap->area;
    uintptr_t pool = v & ~(uintptr_t)(ALQI_HEAP_POOL_BYTES - 1);
    uintptr_t at = (v - pool) / ALQ_WORD_BYTES - 1;

    HOLDS(alqi_heap_area_index(area, v) < area->n_frontier); /* .inv.pools */
    HOLDS(alqi_heap_area_kind(area, v) != 0); /* .inv.kind: not a free pool */
    HOLDS(at >= ALQI_HEAP_POOL_HEAD_WORDS);   /* .inv.kind */
    HOLDS((at - ALQI_HEAP_POOL_HEAD_WORDS) %
              alqi_heap_class_words[alqi_heap_area_class(area, v)] ==
          0);                        /* .inv.kind: at a slot's place */
    HOLDS(alqi_heap_header(v) != 0); /* .inv.free: not a free slot */
}

/* A value that a root or a live block holds: an integer, or a block that is
 * where it says, and no garbage.  A block that is in no heap is static. */
static void
value(struct alqi_domain *d, alq_value v)
{
    if (!alq_is_block(v))
        return;
    HOLDS(v % ALQ_WORD_BYTES == 0); /* .inv.free: no link, no poison */
    v = alqi_heap_infix_block(v);
    if (alqi_heap_is_young(d, v)) {
        young_value(d, v);
        return;
    }
    if (alqi_heap_area_has(&d->heap->area, v))
        pool_value(d, v);
    else if (alqi_heap_large_around_stw(d->heap, v) != v) {
        HOLDS(alqi_heap_colour(alqi_heap_header(v)) ==
              ALQI_HEAP_COLOUR_STATIC); /* .inv.order */
        return;
    }
    HOLDS(alqi_heap_colour(alqi_heap_header(v)) !=
          d->heap->cycle.colours.garbage); /* .inv.colour */
}

/* A visitor of roots. */
static void
root(void *arg, alq_value *slot)
{
    value(arg, *slot);
}

/* ---- weak blocks -------------------------------------------------------- */

/* A field of a weak block, checked as any other field, but by the remembered
 * set of weak fields (.inv.weak).  After marking the field holds no white
 * value. */
static void
weak_field(struct alqi_domain *d, alq_value b, alqi_heap_word *at)
{
    uint64_t unused;

    value(d, *at);
    if (check_remembered && alqi_heap_is_young(d, *at) &&
        !alqi_heap_is_young(d, b)) /* .inv.weak */
        HOLDS(alqi_base_map_get(&remembered, (uintptr_t)at, &unused));
    if (check_marked)
        HOLDS(!alqi_heap_mark_is_white(d, *at)); /* .inv.phase */
}

/* A weak block of a list: listed once, of the list's kind, and marked after
 * marking.  The block is noted in `listed`. */
static void
weak_block(struct alqi_domain *d, alq_value b, enum alqi_heap_weak_kind kind)
{
    uint64_t unused;
    uintptr_t i;

    value(d, b);
    HOLDS(alqi_heap_weak_is(b, kind));                      /* .inv.listed */
    HOLDS(!check_marked || !alqi_heap_mark_is_white(d, b)); /* .inv.phase */
    HOLDS(!check_listed ||
          !alqi_base_map_get(&listed, b, &unused)); /* .inv.listed */
    if (!alqi_base_map_put(&listed, b, 0))
        check_listed = false; /* no memory: not this time */
    for (i = 1; i < alq_wosize(b); i++)
        weak_field(d, b, (alqi_heap_word *)b + i);
}

/* A block of a pool that looks weak: in a list (.inv.listed).  While cleaning
 * runs, dead ones have left it. */
static void
weak_is_listed(struct alqi_domain *d, alq_value b)
{
    uint64_t unused;

    if (!alqi_heap_weak_is(b, ALQI_HEAP_WEAK) &&
        !alqi_heap_weak_is(b, ALQI_HEAP_EPHE))
        return;
    HOLDS((alqi_heap_weak_phase_is_cleaning(d) &&
           alqi_heap_mark_is_white(d, b)) ||
          alqi_base_map_get(&listed, b, &unused)); /* .inv.listed */
}

/* ---- blocks ------------------------------------------------------------- */

/* A field of a block that is no garbage. */
static void
field(struct alqi_domain *d, alqi_heap_word *at, bool marked)
{
    alq_value v = *at;
    uint64_t unused;

    value(d, v);
    if (!alq_is_block(v))
        return;
    if (alqi_heap_is_young(d, v)) {
        if (check_remembered) /* .inv.remember */
            HOLDS(alqi_base_map_get(&remembered, (uintptr_t)at, &unused));
    } else if (check_marked && marked) /* .inv.phase */
        HOLDS(!alqi_heap_mark_is_white(d, v));
}

/* A block of the major heap: its header, its place in its pool, and its fields.
 *
 * Its colour is one of the phase (.inv.colour).  A garbage block may lead to
 * free memory, so its fields are not read. */
static void
block(struct alqi_domain *d, alq_value b, uintptr_t header)
{
    const struct alqi_heap_area *area = &d->heap->area;
    uintptr_t colour = alqi_heap_colour(header);
    size_t i, n = header >> ALQ_WOSIZE_SHIFT;

    HOLDS(n > 0); /* .inv.free */
    HOLDS(alqi_heap_colour_fits(
        &d->heap->cycle.colours, colour, d->heap->cycle.phase == ALQI_HEAP_MARK,
        d->heap->cycle.phase == ALQI_HEAP_SWEEP)); /* .inv.colour */
    if (alqi_heap_area_has(area, b)) {
        HOLDS(n + 1 <= ALQI_HEAP_CLASS_WORDS_MAX); /* .inv.class */
        HOLDS(alqi_heap_class_of(n + 1) ==
              alqi_heap_area_class(area, b)); /* .inv.kind */
        HOLDS(alqi_heap_area_is_no_scan(area, b) !=
              alqi_heap_is_scannable(header)); /* .inv.kind */
    }
    if (colour == d->heap->cycle.colours.garbage)
        return; /* what a dead block leads to may be free */
    if (check_listed)
        weak_is_listed(d, b);
    if (!alqi_heap_is_scannable(header))
        return;
    i = alqi_heap_raw_fields((const alqi_heap_word *)b, header);
    for (; i < n; i++)
        field(d, (alqi_heap_word *)b + i,
              colour == d->heap->cycle.colours.marked);
}

/* ---- free slots --------------------------------------------------------- */

/* The free ranges of a swept pool: within the pool, of free slots, in the order
 * of addresses, and as many slots as n_free says. */
static void
ranges(struct alqi_heap_pool *pool, unsigned c)
{
    alqi_heap_word *start = (alqi_heap_word *)pool;
    uintptr_t at = pool->first_range, n_free = 0, i, n;

    while (at != 0) {
        alqi_heap_word *range = start + at;

        n = range[1] & 0xFFFF;
        HOLDS(n > 0); /* .inv.free */
        HOLDS(at + n * alqi_heap_class_words[c] <=
              ALQI_HEAP_POOL_WORDS); /* .inv.free */
        for (i = 0; i < n; i++)
            HOLDS(range[i * alqi_heap_class_words[c]] == 0); /* .inv.free */
        HOLDS(range[1] >> 16 == 0 || range[1] >> 16 > at);   /* .inv.free */
        n_free += n;
        at = range[1] >> 16;
    }
    HOLDS(n_free == pool->n_free); /* .inv.free */
}

/* A domain's pools and local allocation buffers: nothing grey, the free slots
 * have header 0, and no pool is unswept but in SWEEP. */
static void
lists(struct alqi_domain *d)
{
    unsigned kind, c;

    for (kind = 0; kind < 2; kind++)
        for (c = 0; c < ALQI_HEAP_CLASSES; c++) {
            struct alqi_heap_lab *lab = &d->copy.labs[kind][c];
            struct alqi_heap_pool *pool = d->sweep.lists[kind][c].avail;
            uintptr_t at = lab->next;

            for (; pool != NULL; pool = pool->next)
                ranges(pool, c);
            HOLDS(lab->scan == lab->next); /* .inv.lab */
            for (; at < lab->end; at += alqi_heap_class_words[c] * 8u)
                HOLDS(*(alqi_heap_word *)at == 0); /* .inv.free */
            HOLDS(d->heap->cycle.phase == ALQI_HEAP_SWEEP ||
                  (d->sweep.lists[kind][c].unswept == NULL &&
                   d->sweep.lists[kind][c].unswept_full ==
                       NULL)); /* .inv.swept */
        }
}

/* Enters the domain's remembered fields, weak ones too, in the map; false: the
 * map or the set is not complete, and .inv.remember is not checked this
 * time. */
static bool
remembered_read(struct alqi_domain *d)
{
    size_t i;

    if (!alqi_heap_is_there(d))
        return true;
    for (i = 0; i < d->remembered.n; i++)
        if (!alqi_base_map_put(&remembered, (uintptr_t)d->remembered.fields[i],
                               0))
            return false; /* no memory: this time it is not checked */
    for (i = 0; i < d->weak_phase.weak.n_fields; i++)
        if (!alqi_base_map_put(&remembered,
                               d->weak_phase.weak.fields[i].block +
                                   d->weak_phase.weak.fields[i].field *
                                       ALQ_WORD_BYTES,
                               0))
            return false;
    return !d->remembered.lost && !d->weak_phase.weak.fields_lost;
}

/* Notes the fields that hold retained blocks; false: no memory, or fields were
 * lost. */
static bool
retained_read(const struct alqi_heap_remembered *r)
{
    size_t i;

    for (i = 0; i < r->n; i++)
        if (!alqi_base_map_put(&remembered, (uintptr_t)r->fields[i], 0))
            return false;
    return !r->lost;
}

/* Verifies the heap, as far as `what` says. */
void
alqi_heap_verify_slow_stw(struct alqi_domain *d,
                          enum alqi_heap_verify_what what)
{
    static uint64_t credit_words;
    struct alqi_heap *heap = d->heap;
    unsigned i;

    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    /* Hard builds collect all the time: so much of a heap for each collection,
     * unless each was asked for (V=1).  By what it has, small ones each time,
     * large ones after many. */
    credit_words += CREDIT_WORDS;
    if (ALQI_HEAP_IS_HARD && heap->tuning.verify == 0 &&
        credit_words < alqi_heap_stat_words(heap))
        return;
    credit_words = 0;
    check_remembered = what == ALQI_HEAP_VERIFY_REMEMBERED &&
                       retained_read(&heap->pins.fields);
    /* A field may stand in any domain's set. */
    for (i = 0; i < heap->n_slots; i++)
        check_remembered =
            check_remembered && remembered_read(heap->domains[i]);
    check_marked = what == ALQI_HEAP_VERIFY_MARKED;
    check_listed = true;
    alqi_heap_roots_visit_common_stw(heap, root, d);
    for (i = 0; i < heap->n_slots; i++)
        if (alqi_heap_is_there(heap->domains[i])) {
            alqi_heap_roots_visit(heap->domains[i], false, root, d);
            alqi_heap_final_visit_stw(heap->domains[i], root, d);
            alqi_heap_weak_each_stw(heap->domains[i], weak_block);
            lists(heap->domains[i]);
        }
    alqi_heap_sweep_blocks_stw(d, block);
    alqi_base_map_clear(&remembered);
    alqi_base_map_clear(&listed);
}
