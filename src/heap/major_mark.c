/* major_mark.c -- marks what is reachable, on a mark stack a domain
 *
 * A white block is darkened (marked, its fields pushed as a range) or put into
 * the prefetch queue, still white, and marked when it leaves the queue.
 * Scanning a range puts the blocks it leads to into the queue.  If the stack is
 * full, the block is marked all the same, and its pool, or the large block, is
 * noted for mark stack overflow recovery, which reads all marked blocks there
 * again.
 *
 * Keeps .inv.snapshot: All that was reachable when marking began gets marked.
 * Keeps .inv.todo: The domain is not `done` before a push
 *   (tests/models/mark.pml).
 * Keeps .inv.counted: Each block that is marked is counted, where its heap has
 *   one domain.
 * Keeps .inv.stack, .inv.overflow: What does not fit on the stack is noted. */
#include <stdlib.h>

#include "heap/pool_area.h"
#include "heap/pool_class.h"
#include "heap/large.h"
#include "heap/major_mark.h"
#include "heap/pool.h"
#include "heap/log.h"
#include "heap/major_balance.h"
#include "heap/weak_ephe_wait.h"

enum {
    STACK_FIRST = ALQI_HEAP_IS_HARD ? 8 : 4096,
    STACK_SHARE = 64,             /* of the heap's words, a range is 2 */
    RING_LOW = ALQI_HEAP_RING / 2 /* fetched that long ago, a header is here */
};

/* The pools that blocks are being born in: some before marking begins, some
 * after (.inv.counted). */
static void
buffers_note(struct alqi_domain *d)
{
    unsigned kind, c;

    for (kind = 0; kind < 2; kind++)
        for (c = 0; c < ALQI_HEAP_CLASSES; c++)
            if (d->copy.labs[kind][c].pool != NULL)
                d->copy.labs[kind][c].pool->has_born = true;
}

/* Sets the bound of the mark stack for this cycle: a share of the heap's words.
 * Requires that nothing is left to mark. */
void
alqi_heap_mark_begin_stw(struct alqi_domain *d)
{
    size_t heap_words =
        alqi_heap_area_used(&d->heap->area) * ALQI_HEAP_POOL_WORDS +
        alqi_heap_large_bytes(d->heap) / ALQ_WORD_BYTES;

    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    ALQI_ASSERT(alqi_heap_mark_is_done(d)); /* .inv.todo: of the last cycle */
    buffers_note(d);
    d->marker.size_max = STACK_FIRST;
    if (!ALQI_HEAP_IS_HARD && heap_words / STACK_SHARE > STACK_FIRST)
        d->marker.size_max = heap_words / STACK_SHARE;
}

/* Goes on with a mark stack that an ended domain left.  Requires that the own
 * stack is empty: it is freed, and the other takes its place without a copy. */
static void
inherit(struct alqi_heap_marker *m)
{
    struct alqi_heap_orphan *o = m->inherited;

    free(m->stack);
    m->inherited = o->next;
    m->stack = o->stack;
    m->n = o->n_stack;
    m->size = o->stack_size;
    free(o);
}

/* Frees the mark stacks, when the heap ends. */
void
alqi_heap_mark_drop(struct alqi_domain *d)
{
    while (d->marker.inherited != NULL)
        inherit(&d->marker);
    free(d->marker.stack);
    d->marker.stack = NULL;
}

/* ---- stack -------------------------------------------------------------- */

/* Doubles the mark stack; false: it has reached its bound, or there is no
 * memory, and the caller notes an overflow instead. */
static bool
grow(struct alqi_domain *d)
{
    struct alqi_heap_marker *m = &d->marker;
    size_t size = m->size == 0 ? STACK_FIRST : m->size * 2;
    struct alqi_heap_range *stack;

    if (size > m->size_max)
        return false;
    stack = realloc(m->stack, size * sizeof *stack);
    if (stack == NULL)
        return false;
    ALQI_HEAP_LOG(d->heap, ALQ_GC_LOG_TABLES, "mark stack: %zu ranges", size);
    m->stack = stack;
    m->size = size;
    return true;
}

/* Notes a marked block whose fields did not fit on the stack.  Its pool or the
 * large block is read again by recover().  The flag is set atomically: other
 * domains mark blocks of the same pool. */
static ALQI_COLD void
overflow(struct alqi_domain *d, alq_value block)
{
    struct alqi_heap_area *area = &d->heap->area;

    /* .inv.overflow: recovery reads marked blocks alone. */
    ALQI_ASSERT((alqi_heap_header(block) & ALQI_HEAP_COLOUR_MASK) ==
                d->heap->cycle.colours.marked);
    if (alqi_heap_area_has(area, block))
        __atomic_fetch_or(&area->kinds[alqi_heap_area_index(area, block)],
                          ALQI_HEAP_KIND_OVERFLOWED, __ATOMIC_SEQ_CST);
    else
        alqi_heap_large_overflow_add(d->heap, alqi_heap_large_of(block));
    d->marker.overflowed = true;
    d->sums.counts.mark_overflows++;
}

static inline void
push(struct alqi_heap_marker *m, uintptr_t start, uintptr_t end)
{
    ALQI_DEBUG(m->n < m->size); /* .inv.stack */
    ALQI_DEBUG(start <= end);   /* .inv.stack */
    m->stack[m->n++] = (struct alqi_heap_range){start, end};
}

/* Whether a range can be pushed, after growing if need be. */
static inline bool
has_room(struct alqi_domain *d)
{
    return ALQI_LIKELY(d->marker.n < d->marker.size) || grow(d);
}

/* ---- blocks ------------------------------------------------------------- */

/* The address of the first field that holds a value. */
static inline uintptr_t
first_value(alq_value v, uintptr_t header)
{
    return v + alqi_heap_raw_fields((const alqi_heap_word *)v, header) *
                   ALQ_WORD_BYTES;
}

/* Counts a block that was marked, and looks at what waits for it soon, if
 * anything does. */
static inline void
note_marked(struct alqi_domain *d, alq_value v)
{
    struct alqi_heap_ephe_waits *waits = &d->weak_phase.weak.waits;

    if (alqi_heap_has_one_domain(d->heap))
        alqi_heap_area_marked_add(&d->heap->area, v); /* .inv.counted */
    if (ALQI_UNLIKELY(alqi_heap_ephe_wait_is_open(waits)))
        alqi_heap_ephe_wait_marked(waits, v);
}

#if ALQI_HOSTS_OCAML
static void
darken_slot(void *arg, alq_value *slot)
{
    alqi_heap_mark_darken(arg, *slot);
}

/* .pair.busy */
void
alqi_heap_mark_continuation(struct alqi_domain *d, alq_value v)
{
    alqi_heap_word *header = (alqi_heap_word *)v - 1;
    uintptr_t was = __atomic_load_n(header, __ATOMIC_RELAXED), colour;
    unsigned spins = 0;

    for (;;) {
        colour = alqi_heap_colour(was);
        if (colour == d->heap->cycle.colours.unmarked) {
            if (__atomic_compare_exchange_n(
                    header, &was,
                    alqi_heap_with_colour(was, ALQI_HEAP_COLOUR_BUSY), false,
                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                break;
            continue;
        }
        if (colour != ALQI_HEAP_COLOUR_BUSY)
            return;
        alqi_plat_spin(&spins);
        was = __atomic_load_n(header, __ATOMIC_ACQUIRE);
    }
    alqi_heap_host_fiber_visit(v, darken_slot, d);
    __atomic_store_n(header,
                     alqi_heap_with_colour(was, d->heap->cycle.colours.marked),
                     __ATOMIC_RELEASE);
    note_marked(d, v);
}
#endif

/* Marks a white block, and pushes its fields.
 *
 * The domain becomes busy before the block is marked: after it the block would
 * look done to all others, while its fields are on no stack yet (.inv.todo).
 * Another domain may darken the block at the same time.  Then both push it,
 * which costs time but loses nothing. */
void
alqi_heap_mark_darken(struct alqi_domain *d, alq_value v)
{
    uintptr_t header;

    if (!alqi_heap_mark_is_white(d, v))
        return;
    ALQI_DEBUG(d->heap->cycle.phase == ALQI_HEAP_MARK); /* .inv.colour */
    alqi_heap_mark_undone(d);
    v = alqi_heap_infix_block(v);
    header = alqi_heap_header(v);
    if (ALQI_UNLIKELY(alqi_heap_is_continuation(header))) {
        alqi_heap_mark_continuation(d, v);
        return;
    }
    alqi_heap_mark_block(v, header, d->heap->cycle.colours.marked);
    note_marked(d, v);
    if (!alqi_heap_is_scannable(header))
        return;
    if (has_room(d))
        push(&d->marker, first_value(v, header),
             v + (header >> ALQ_WOSIZE_SHIFT) * ALQ_WORD_BYTES);
    else
        overflow(d, v);
}

/* What marking looks at for each word, in local variables that the compiler can
 * keep in registers: to the compiler each store of a header might change the
 * domain.  The ring holds what lies from `first` to `end`, which only grow;
 * their remainder is the place in the ring. waits: blocks that are marked may
 * be waited for; counts: they are counted.  Both are constants to the compiler
 * in the copies of the loop that most programs run. */
struct view {
    struct alqi_domain *d;
    uintptr_t *ring;
    unsigned first;
    unsigned end;
    uintptr_t young_base;
    uintptr_t young_bytes;
    uintptr_t unmarked;
    uintptr_t marked;
    struct alqi_heap_ephe_waits *waits; /* NULL: nobody asks */
    bool counts;          /* .inv.counted holds: there is one domain */
    uint16_t *n_marked;   /* of each pool */
    uintptr_t major_base; /* address of pool 0 */
    uintptr_t major_bytes;
};

static inline struct view
view_of(struct alqi_domain *d, struct alqi_heap_ephe_waits *waits, bool counts)
{
    return (struct view){d,
                         d->marker.ring,
                         d->marker.ring_first,
                         d->marker.ring_first + d->marker.ring_n,
                         d->pub.young_base,
                         d->pub.young_bytes,
                         d->heap->cycle.colours.unmarked,
                         d->heap->cycle.colours.marked,
                         waits,
                         counts,
                         d->heap->area.n_marked,
                         d->heap->area.major_base,
                         d->heap->area.major_bytes};
}

/* Writes the ring's place back, for the next call and for
 * alqi_heap_mark_leave(). */
static inline void
view_end(const struct view *w)
{
    ALQI_ASSERT(w->end - w->first <= ALQI_HEAP_RING); /* .inv.stack */
    w->d->marker.ring_first = w->first % ALQI_HEAP_RING;
    w->d->marker.ring_n = w->end - w->first;
}

/* Puts the blocks that the words lead to on the ring; returns where it stopped,
 * since the ring might be full.
 *
 * The room is computed once, as if each word led to a block.  Young blocks are
 * left out: they were born after marking began, and get the marked colour when
 * they are promoted.  The header is fetched now, so it has arrived when the
 * block leaves the ring (.pair.field). */
static inline __attribute__((always_inline)) uintptr_t
scan_words(struct view *w, uintptr_t start, uintptr_t end)
{
    uintptr_t room = ALQI_HEAP_RING - (w->end - w->first);

    if (ALQI_UNLIKELY((end - start) / ALQ_WORD_BYTES > room))
        end = start + room * ALQ_WORD_BYTES;
    for (; start < end; start += ALQ_WORD_BYTES) {
        alq_value v =
            __atomic_load_n((alqi_heap_word *)start, ALQI_HEAP_DEPENDS);

        if (!alq_is_block(v) || v - w->young_base < w->young_bytes)
            continue;
        __builtin_prefetch((void *)(v - ALQ_WORD_BYTES), 1);
        if (w->waits != NULL)
            alqi_heap_ephe_wait_fetch(w->waits, v);
        w->ring[w->end++ % ALQI_HEAP_RING] = v;
    }
    return start;
}

static inline alq_value
ring_pop(struct alqi_heap_marker *m)
{
    alq_value v = m->ring[m->ring_first];

    m->ring_first = (m->ring_first + 1) % ALQI_HEAP_RING;
    m->ring_n--;
    return v;
}

/* ---- what did not fit --------------------------------------------------- */

/* Darkens what a marked block leads to.  The fields are darkened one by one,
 * since there may be no room on the stack for the range (.pair.field). */
static void
marked_scan_again(struct alqi_domain *d, alq_value block, uintptr_t header)
{
    size_t i, n = header >> ALQ_WOSIZE_SHIFT;

    if (alqi_heap_colour(header) != d->heap->cycle.colours.marked ||
        !alqi_heap_is_scannable(header))
        return;
    i = alqi_heap_raw_fields((const alqi_heap_word *)block, header);
    for (; i < n; i++)
        alqi_heap_mark_darken(
            d, __atomic_load_n((alqi_heap_word *)block + i, ALQI_HEAP_DEPENDS));
}

/* Reads all marked blocks of a pool again.  A free slot has header 0. */
static void
recover_pool(struct alqi_domain *d, struct alqi_heap_pool *pool)
{
    unsigned c = alqi_heap_area_class(&d->heap->area, (uintptr_t)pool);
    alqi_heap_word *slot = alqi_heap_pool_slots(pool);
    unsigned i;

    for (i = 0; i < alqi_heap_class_slots(c); i++) {
        /* The pool's domain may be allocating there (.pair.header). */
        uintptr_t header = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

        if (header != 0)
            marked_scan_again(d, (alq_value)(slot + 1), header);
        slot += alqi_heap_class_words[c];
    }
}

/* Reads all large blocks again that overflowed. */
static void
recover_large(struct alqi_domain *d)
{
    struct alqi_heap_large *large;

    while ((large = alqi_heap_large_overflow_take(d->heap)) != NULL)
        marked_scan_again(d, alqi_heap_large_block(large),
                          alqi_heap_header(alqi_heap_large_block(large)));
}

/* Does a part of the recovery: all large blocks, or one pool; false: nothing
 * has overflowed.
 *
 * A pass goes through the pools once.  `overflowed` is cleared when the pass
 * begins, so what overflows during it makes another pass.  Passes end: each
 * overflow is of a block newly marked, and a cycle marks a block once. */
static bool
recover(struct alqi_domain *d)
{
    struct alqi_heap_area *area = &d->heap->area;

    if (!d->marker.is_recovering) {
        if (!d->marker.overflowed)
            return false;
        d->marker.overflowed = false;
        d->marker.is_recovering = true;
        d->marker.recovery_pool = 0;
        recover_large(d);
        return true;
    }
    while (d->marker.recovery_pool <
           __atomic_load_n(&area->n_frontier, __ATOMIC_RELAXED)) {
        size_t i = d->marker.recovery_pool++;

        if (!alqi_heap_area_overflow_take(area, i))
            continue;
        recover_pool(d, alqi_heap_area_pool(area, i));
        return true;
    }
    d->marker.is_recovering = false;
    return true;
}

/* ---- domains that end --------------------------------------------------- */

/* Hands what is left to mark over to *o, when the domain ends.
 *
 * The ring's blocks are still white, so they are darkened first; what does not
 * fit then is noted as an overflow.  If nothing is left, the domain is done;
 * else it stays counted in n_busy, on behalf of *o, until a domain adopts
 * that. */
void
alqi_heap_mark_leave(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    struct alqi_heap_marker *m = &d->marker;

    while (m->ring_n > 0)
        alqi_heap_mark_darken(d, ring_pop(m));
    if (m->n > 0) {
        o->stack = m->stack;
        o->n_stack = m->n;
        o->stack_size = m->size;
        m->stack = NULL;
        m->n = m->size = 0;
    }
    o->inherited = m->inherited;
    o->overflowed = m->overflowed || m->is_recovering;
    m->inherited = NULL;
    m->overflowed = m->is_recovering = false;
    if (o->stack == NULL && o->inherited == NULL && !o->overflowed &&
        d->heap->cycle.phase == ALQI_HEAP_MARK)
        alqi_heap_mark_note_done(d);
    ALQI_ASSERT(alqi_heap_mark_is_done(d)); /* .inv.handed: *o has it all */
}

/* Takes over what *o has left to mark, and *o itself.  The stacks are linked,
 * not copied: no memory is needed.  A recovery pass that was under way starts
 * again here. */
void
alqi_heap_mark_adopt(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    struct alqi_heap_marker *m = &d->marker;
    struct alqi_heap_orphan **end = &m->inherited;

    /* .inv.todo: what is left to mark keeps the phase. */
    ALQI_ASSERT(d->heap->cycle.phase == ALQI_HEAP_MARK ||
                (o->n_stack == 0 && o->inherited == NULL && !o->overflowed));
    m->overflowed |= o->overflowed;
    while (*end != NULL)
        end = &(*end)->next;
    *end = o->inherited;
    o->inherited = NULL;
    if (o->n_stack == 0) {
        free(o);
        return;
    }
    o->next = m->inherited;
    m->inherited = o;
}

/* ---- marking ------------------------------------------------------------ */

/* Takes one block off the ring, marks it and scans its fields; returns the
 * words that were done.
 *
 * The block may have been marked since it was put there, then nothing is to do.
 * If the ring fills up, the rest of the fields goes on the stack.  If that is
 * full, the whole block is noted as an overflow. */
static inline __attribute__((always_inline)) size_t
mark_from_ring(struct view *w)
{
    alq_value v = alqi_heap_infix_block(w->ring[w->first++ % ALQI_HEAP_RING]);
    uintptr_t header = alqi_heap_header(v);
    uintptr_t end = v + (header >> ALQ_WOSIZE_SHIFT) * ALQ_WORD_BYTES;
    uintptr_t stopped;

    /* .inv.colour: what is reachable is no garbage. */
    ALQI_DEBUG((header & ALQI_HEAP_COLOUR_MASK) !=
               w->d->heap->cycle.colours.garbage);
    if (alqi_heap_colour(header) != w->unmarked)
        return 1;
    if (ALQI_UNLIKELY(alqi_heap_is_continuation(header))) {
        alqi_heap_mark_continuation(w->d, v);
        return alqi_heap_words(header);
    }
    alqi_heap_mark_block(v, header, w->marked);
    if (w->counts && ALQI_LIKELY(v - w->major_base < w->major_bytes))
        alqi_heap_area_count(w->n_marked, v - w->major_base);
    if (w->waits != NULL)
        alqi_heap_ephe_wait_marked(w->waits, v);
    if (!alqi_heap_is_scannable(header))
        return alqi_heap_words(header);
    stopped = scan_words(w, first_value(v, header), end);
    if (ALQI_UNLIKELY(stopped < end)) {
        if (has_room(w->d))
            push(&w->d->marker, stopped, end);
        else
            overflow(w->d, v);
    }
    return 1 + (stopped - v) / ALQ_WORD_BYTES;
}

/* Scans the range on top of the stack, as far as the ring has room. */
static inline __attribute__((always_inline)) size_t
mark_from_stack(struct view *w)
{
    struct alqi_heap_marker *m = &w->d->marker;
    struct alqi_heap_range range = m->stack[--m->n];
    uintptr_t stopped = scan_words(w, range.start, range.end);

    if (stopped < range.end)
        push(m, stopped, range.end); /* where it has just been */
    return 1 + (stopped - range.start) / ALQ_WORD_BYTES;
}

/* Takes a range off the shared queue and darkens it word by word.  For a domain
 * that has no stack and no memory for one: what does not fit is read again by
 * recover() (.pair.field). */
static bool
mark_shared(struct alqi_domain *d)
{
    struct alqi_heap_range range;

    if (alqi_heap_queue_take(&d->heap->balance.queue, &range, 1) == 0)
        return false;
    for (; range.start < range.end; range.start += ALQ_WORD_BYTES)
        alqi_heap_mark_darken(d, __atomic_load_n((alqi_heap_word *)range.start,
                                                 ALQI_HEAP_DEPENDS));
    return true;
}

/* Gets work that other domains gave away, when there is none here; false: there
 * is none.  The domain becomes busy before it takes any, so n_busy is never 0
 * while a range is in no queue and on no stack. */
static bool
find_work(struct alqi_domain *d)
{
    if (!alqi_heap_balance_is_there(d->heap))
        return false;
    alqi_heap_mark_undone(d);
    return has_room(d) ? alqi_heap_balance_take(d) : mark_shared(d);
}

/* Marks until about budget_words are done or nothing is left; returns the words
 * done.
 *
 * The ring is emptied down to RING_LOW only, as long as the stack has ranges: a
 * header has time to arrive between its fetch and its use.  Then come stacks of
 * ended domains, recovery, and the shared queue. */
static inline __attribute__((always_inline)) size_t
mark(struct alqi_domain *d, size_t budget_words,
     struct alqi_heap_ephe_waits *waits, bool counts)
{
    struct alqi_heap_marker *m = &d->marker;
    struct view w = view_of(d, waits, counts);
    size_t done = 0;

    while (done < budget_words) {
        if (w.end - w.first > RING_LOW)
            done += mark_from_ring(&w);
        else if (m->n > 0)
            done += mark_from_stack(&w);
        else if (w.end != w.first)
            done += mark_from_ring(&w);
        else if (m->inherited != NULL)
            inherit(m);
        else if (recover(d))
            done += ALQI_HEAP_POOL_WORDS;
        else if (!find_work(d))
            break;
    }
    view_end(&w);
    return done;
}

/* The copy of the loop that tells the table of what waits (weak_ephe_wait.h)
 * which blocks were marked. */
static ALQI_NOINLINE size_t
mark_awaited(struct alqi_domain *d, size_t budget_words)
{
    return mark(d, budget_words, &d->weak_phase.weak.waits,
                alqi_heap_has_one_domain(d->heap));
}

/* The copy that counts the marked blocks of each pool (.inv.counted). */
static ALQI_NOINLINE size_t
mark_counted(struct alqi_domain *d, size_t budget_words)
{
    return mark(d, budget_words, NULL, true);
}

size_t
alqi_heap_mark(struct alqi_domain *d, size_t budget_words)
{
    size_t done;

    ALQI_ASSERT(d->heap->cycle.phase == ALQI_HEAP_MARK); /* .inv.cycle */
    ALQI_ASSERT(d->marker.n <= d->marker.size);          /* .inv.stack */
    alqi_heap_balance_give(d);
    if (ALQI_UNLIKELY(alqi_heap_ephe_wait_is_open(&d->weak_phase.weak.waits)))
        done = mark_awaited(d, budget_words);
    else if (alqi_heap_has_one_domain(d->heap))
        done = mark_counted(d, budget_words);
    else
        done = mark(d, budget_words, NULL, false);
    /* .inv.todo: it stops early only when nothing is left. */
    ALQI_ASSERT(done >= budget_words || alqi_heap_mark_is_done(d));
    d->sums.counts.marked_words += done;
    return done;
}
