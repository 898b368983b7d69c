/* root_ambiguous.c -- words that may be references, of conservative threads
 *
 * Minor collection: the young words that such words point to are noted as
 * bits, in address order; each block with a bit is retained.  Marking: the
 * block is darkened.  Compaction: its pool is held.
 *
 * Keeps .inv.frozen: The words are those of when the thread last ran its
 *   domain.
 * Keeps .inv.clean: Each domain's bits are cleared when its blocks are found.
 */
#include <string.h>

#include "heap/root_ambiguous.h"
#include "heap/pool_area.h"
#include "heap/pool_class.h"
#include "heap/large.h"
#include "heap/major_mark.h"
#include "heap/pin.h"
#include "heap/pool.h"
#include "heap/log.h"
#include "heap/root_stack.h"
#include "heap/weak.h"

/* ---- young blocks ------------------------------------------------------- */

/* Sets the bit of a young word that a thread's word points to, or right behind
 * which it points.
 *
 * The word may lie in a slice that has no domain yet, and is dropped then.
 * Each domain has the range of its bits, so that clearing and searching do not
 * go through the whole map. */
static void
note_word(void *arg, uintptr_t word)
{
    struct alqi_heap *heap = arg;
    uintptr_t i = (word - 1 - heap->area.young_base) / ALQ_WORD_BYTES;
    uintptr_t slot = i / (ALQI_HEAP_MINOR_BYTES_MAX / ALQ_WORD_BYTES);
    struct alqi_domain *of;

    heap->stacks.n_ambiguous++;
    if (slot >= heap->n_slots)
        return;
    of = heap->domains[slot];
    heap->stacks.ambiguous_bits[i / 64] |= (uint64_t)1 << i % 64;
    if (i < of->ambiguous.from || of->ambiguous.to == 0)
        of->ambiguous.from = i;
    if (i >= of->ambiguous.to)
        of->ambiguous.to = i + 1;
}

/* The first bit that is set from `from` on; `to`: none is. */
static uintptr_t
ambiguous_next(const uint64_t *ambiguous_bits, uintptr_t from, uintptr_t to)
{
    uintptr_t at = from / 64;
    uint64_t bits = ambiguous_bits[at] & ~(uint64_t)0 << from % 64;

    while (bits == 0) {
        if (++at * 64 >= to)
            return to;
        bits = ambiguous_bits[at];
    }
    at = at * 64 + (unsigned)__builtin_ctzll(bits);
    return at < to ? at : to;
}

/* The address of the first ambiguous reference in [from, end); 0: there is
 * none. */
static uintptr_t
ambiguous_find(const struct alqi_domain *of, uintptr_t from, uintptr_t end)
{
    const struct alqi_heap *heap = of->heap;
    uintptr_t base = heap->area.young_base;
    uintptr_t i = (from - base) / ALQ_WORD_BYTES;
    uintptr_t to = (end - base) / ALQ_WORD_BYTES;

    if (i < of->ambiguous.from)
        i = of->ambiguous.from;
    if (to > of->ambiguous.to)
        to = of->ambiguous.to;
    if (i >= to)
        return 0;
    i = ambiguous_next(heap->stacks.ambiguous_bits, i, to);
    return i < to ? base + i * ALQ_WORD_BYTES : 0;
}

static bool
is_weak(alq_value block)
{
    return alqi_heap_weak_is(block, ALQI_HEAP_WEAK) ||
           alqi_heap_weak_is(block, ALQI_HEAP_EPHE);
}

typedef void stay_fn(struct alqi_domain *of, alq_value block);

/* Makes the block stay, unless it need not or cannot.  Weak blocks that are
 * young are older than the first thread that is scanned; and one word by itself
 * is what a message left (decode.c). */
static void
show(struct alqi_domain *of, alq_value block, stay_fn *stay)
{
    if (alqi_heap_words(alqi_heap_header(block)) == 1 || is_weak(block))
        return;
    stay(of, block);
}

/* Makes blocks of the open minor heap stay that an ambiguous reference leads
 * to.
 *
 * A reference may lead anywhere into a block, so its start is found by walking:
 * blocks lie close from young_ptr on.  The walk goes on from one reference to
 * the next, over each block once. */
static void
escape_new(struct alqi_domain *of, stay_fn *stay)
{
    uintptr_t at = (uintptr_t)of->pub.young_ptr, word;

    while ((word = ambiguous_find(of, at, of->young.end)) != 0) {
        uintptr_t end = at;

        while (end <= word) {
            at = end;
            end = at + alqi_heap_words(*(alqi_heap_word *)at) * ALQ_WORD_BYTES;
        }
        ALQI_ASSERT(end <= of->young.end); /* .inv.open: blocks lie close */
        show(of, at + ALQ_WORD_BYTES, stay);
        at = end;
    }
}

/* Makes blocks stay once more that were retained and that an ambiguous
 * reference leads to.  They lie outside of the open minor heap, in the table's
 * order. */
static void
escape_retained(struct alqi_domain *of, uintptr_t from, uintptr_t end,
                stay_fn *stay)
{
    size_t i = alqi_heap_pin_from(of->heap, from);
    struct alqi_heap_range retained;

    for (; alqi_heap_pin_at(of->heap, i, end, &retained); i++)
        if (ambiguous_find(of, retained.start, retained.end) != 0)
            show(of, retained.start + ALQ_WORD_BYTES, stay);
}

/* Clears the domain's bits, from the first to the last one: the map is clean
 * between collections. */
static void
ambiguous_bits_clear(struct alqi_domain *of)
{
    uint64_t *ambiguous_bits = of->heap->stacks.ambiguous_bits;

    memset(&ambiguous_bits[of->ambiguous.from / 64], 0,
           ((of->ambiguous.to - 1) / 64 - of->ambiguous.from / 64 + 1) *
               sizeof *ambiguous_bits);
    of->ambiguous.from = of->ambiguous.to = 0;
}

/* Calls `stay` for each young block that a conservative thread may refer to.
 * By the leader, before anything moves.
 *
 * All words are noted before the first block is found, since a thread may refer
 * to blocks of any domain.  No retained block lies where the minor heap is
 * open: so below, inside and above it are three searches. */
void
alqi_heap_ambiguous_young_stw(struct alqi_domain *leader, stay_fn *stay)
{
    struct alqi_heap *heap = leader->heap;
    struct alqi_domain *of;
    unsigned i;

    ALQI_ASSERT(alqi_heap_is_stopped(leader->heap));
    heap->stacks.n_ambiguous = 0;
    if (!alqi_heap_stack_is_any(heap))
        return;
    for (i = 0; i < heap->n_slots; i++)
        ALQI_ASSERT(heap->domains[i]->ambiguous.to == 0); /* .inv.clean */
    for (i = 0; i < heap->n_slots; i++)
        alqi_heap_stack_words_stw(heap->domains[i], heap->area.young_base,
                                  heap->area.young_bytes, note_word, heap);
    for (i = 0; i < heap->n_slots; i++) {
        of = heap->domains[i];
        if (of->ambiguous.to == 0)
            continue;
        escape_retained(of, of->sizes.base, of->young.start, stay);
        escape_new(of, stay);
        escape_retained(of, of->young.end,
                        of->sizes.base + ALQI_HEAP_MINOR_BYTES_MAX, stay);
        ambiguous_bits_clear(of);
    }
}

/* ---- old blocks --------------------------------------------------------- */

/* The block in a pool in use that the word leads to; ALQ_NULL: there is none.
 *
 * Where all is swept nothing is dead but free slots, whose header is 0; else
 * the block's colour says whether it is.  The word may point right behind the
 * block's end, hence the decrement. */
static alq_value
in_pool(const struct alqi_heap_area *area, uintptr_t word)
{
    size_t i = alqi_heap_area_index(area, --word), words, at;
    struct alqi_heap_pool *pool;
    alqi_heap_word *slot;
    uintptr_t header;
    unsigned c;

    if (i >= area->n_frontier || alqi_heap_area_kind(area, word) == 0)
        return ALQ_NULL;
    pool = alqi_heap_area_pool(area, i);
    at = (word - (uintptr_t)pool) / ALQ_WORD_BYTES;
    c = alqi_heap_area_class(area, word);
    words = alqi_heap_class_words[c];
    if (at < ALQI_HEAP_POOL_HEAD_WORDS)
        return ALQ_NULL;
    at -= ALQI_HEAP_POOL_HEAD_WORDS;
    slot = alqi_heap_pool_slots(pool) + at / words * words;
    if (at / words >= alqi_heap_class_slots(c))
        return ALQ_NULL;
    header = __atomic_load_n(slot, __ATOMIC_RELAXED); /* others mark */
    if (header == 0 || at % words >= alqi_heap_words(header))
        return ALQ_NULL;
    return (alq_value)(slot + 1);
}

/* Darkens the block of a pool that the word leads to, if any. */
static void
darken_in_pool(void *arg, uintptr_t word)
{
    struct alqi_domain *of = arg;

    alqi_heap_mark_darken(of, in_pool(&of->heap->area, word));
}

/* Darkens the large block that the word leads to, if any. */
static void
darken_large(void *arg, uintptr_t word)
{
    struct alqi_domain *of = arg;

    alqi_heap_mark_darken(of, alqi_heap_large_around_stw(of->heap, word));
}

/* Darkens what the domain's conservative threads may refer to, when marking
 * begins.  Large blocks are looked for only between the least and the greatest
 * of their addresses. */
void
alqi_heap_ambiguous_darken_stw(struct alqi_domain *of)
{
    const struct alqi_heap_large_index *x = &of->heap->large.index;

    ALQI_ASSERT(alqi_heap_is_stopped(of->heap));
    ALQI_ASSERT(of->heap->cycle.phase == ALQI_HEAP_MARK); /* .inv.snapshot */
    if (!alqi_heap_stack_is_any(of->heap))
        return;
    alqi_heap_stack_words_stw(of, of->heap->area.major_base,
                              of->heap->area.major_bytes, darken_in_pool, of);
    if (x->orders != 0)
        alqi_heap_stack_words_stw(of, x->least - 1, x->most - x->least + 1,
                                  darken_large, of);
}

/* What alqi_heap_ambiguous_old_stw() passes through
 * alqi_heap_stack_words_stw(). */
struct shown {
    struct alqi_heap *heap;
    void (*each)(void *arg, alq_value block);
    void *arg;
};

static void
old_show(const struct shown *s, alq_value block)
{
    if (block != ALQ_NULL && alqi_heap_colour(alqi_heap_header(block)) !=
                                 s->heap->cycle.colours.garbage)
        s->each(s->arg, block);
}

static void
show_in_pool(void *arg, uintptr_t word)
{
    const struct shown *s = arg;

    old_show(s, in_pool(&s->heap->area, word));
}

static void
show_large(void *arg, uintptr_t word)
{
    const struct shown *s = arg;

    old_show(s, alqi_heap_large_around_stw(s->heap, word));
}

/* Shows old blocks at any time: one that is not swept has a colour that says
 * so. */
void
alqi_heap_ambiguous_old_stw(struct alqi_domain *of,
                            void (*each)(void *arg, alq_value block), void *arg)
{
    const struct alqi_heap_large_index *x = &of->heap->large.index;
    struct shown s = {of->heap, each, arg};

    ALQI_ASSERT(alqi_heap_is_stopped(of->heap));
    alqi_heap_stack_words_stw(of, of->heap->area.major_base,
                              of->heap->area.major_bytes, show_in_pool, &s);
    if (x->orders != 0)
        alqi_heap_stack_words_stw(of, x->least - 1, x->most - x->least + 1,
                                  show_large, &s);
}

/* What alqi_heap_ambiguous_words_stw() passes through
 * alqi_heap_stack_words_stw(). */
struct seen {
    struct alqi_heap *heap;
    void (*visit)(struct alqi_heap *heap, uintptr_t word);
};

/* Calls the visitor for a word that leads to a block.  The word less one is
 * inside of it, even if it points right behind the end. */
static void
escape_in_pool(void *arg, uintptr_t word)
{
    struct seen *s = arg;

    if (in_pool(&s->heap->area, word) != ALQ_NULL)
        s->visit(s->heap, word - 1);
}

/* Calls `visit` with an address inside each block of a pool that a conservative
 * thread may refer to: for compaction, which may not move these blocks. */
void
alqi_heap_ambiguous_words_stw(struct alqi_heap *heap,
                              void (*visit)(struct alqi_heap *heap,
                                            uintptr_t word))
{
    struct seen s = {heap, visit};
    unsigned i;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    ALQI_ASSERT(heap->cycle.phase == ALQI_HEAP_SWEPT); /* .inv.swept: in_pool */
    for (i = 0; i < heap->n_slots && alqi_heap_stack_is_any(heap); i++)
        alqi_heap_stack_words_stw(heap->domains[i], heap->area.major_base,
                                  heap->area.major_bytes, escape_in_pool, &s);
}
