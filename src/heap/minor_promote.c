/* minor_promote.c -- copies young blocks to the major heap
 *
 * Header of a young block:  live -> (IN_PROGRESS ->) 0, then field 0 is the new
 * address.  Copies go to local allocation buffers, one for each class and kind,
 * and are scanned there (Cheney).  Full buffers that are not scanned wait on
 * the grey stack, half of which goes to the work queue when another worker is
 * idle or the stack is full.  Loops are compiled for one and for several
 * workers, draining also with and without pins.
 *
 * Keeps .inv.claim: A header goes live -> IN_PROGRESS -> 0 once.
 * Keeps .inv.owned: Without claims only the owner's blocks are copied.
 * Keeps .inv.lab: Draining leaves each buffer scanned.
 * Keeps .inv.queue: A full grey stack overflows into the queue, which has
 * room. */
#include <string.h>

#include "heap/pool_area.h"
#include "heap/pool_class.h"
#include "heap/minor_own.h"
#include "heap/pin.h"
#include "heap/minor_promote.h"
#include "heap/major_sweep.h"

_Static_assert(ALQI_HEAP_WORKERS_PLACES >=
                   ALQI_HEAP_WORKERS_OFFERS_MAX +
                       ALQI_HEAP_DOMAINS_MAX * (1 + ALQI_HEAP_WORKERS_GET_MAX),
               ".inv.queue");

enum {
    GIVE_LEAST = ALQI_HEAP_IS_HARD ? 1 : 8, /* an owner's grey ranges: feed */
    WORDS_INLINE = 7,                       /* classes up to that are sizes */
    BATCH = ALQI_HEAP_IS_HARD ? 3 : 16      /* slots whose blocks are claimed
                                               together */
};

/* ---- ranges that are not scanned yet ------------------------------------- */

/* Moves the older half of the grey stack to the work queue.
 *
 * The older ranges lead to more blocks, and have left the cache.  The queue
 * cannot be full: .inv.queue. */
static ALQI_COLD void
give_away(struct alqi_domain *d)
{
    size_t n = (d->copy.n_grey + 1) / 2;

    ALQI_ASSERT(
        !d->young.is_local); /* .inv.private: the queue is others', too */
    if (alqi_heap_queue_put(&d->heap->young.workers.queue, d->copy.grey, n) !=
        n)
        alqi_base_fail(__FILE__, __LINE__, ".inv.queue");
    d->copy.n_grey -= n;
    memmove(d->copy.grey, d->copy.grey + n,
            d->copy.n_grey * sizeof *d->copy.grey);
}

/* Gives work away if another worker is idle.
 *
 * An owner waits until it has GIVE_LEAST ranges: what a taker scans leads to
 * blocks of the owner's minor heap, which becomes SHARED by that, and from then
 * on each block costs a claim. */
static inline void
feed(struct alqi_domain *d)
{
    if (ALQI_UNLIKELY(d->copy.n_grey >= (d->own.owns ? GIVE_LEAST : 1) &&
                      alqi_heap_workers_want_work(&d->heap->young.workers)))
        give_away(d);
}

/* Puts what is not yet scanned of a full buffer on the grey stack. */
static inline void
wait_for_scan(struct alqi_domain *d, struct alqi_heap_lab *lab)
{
    ALQI_ASSERT(d->copy.n_grey < d->copy.grey_size); /* .inv.queue */
    ALQI_ASSERT(lab->scan < lab->end);               /* .inv.lab */
    d->copy.grey[d->copy.n_grey++] =
        (struct alqi_heap_range){lab->scan, lab->end};
    if (d->copy.n_grey == d->copy.grey_size)
        give_away(d);
    feed(d);
}

/* Replaces a full buffer, after its words are counted and its grey part is put
 * on the grey stack.  Returns the first free address.  Memory was promised
 * (.inv.room), so failure is a defect of the heap. */
static ALQI_NOINLINE uintptr_t
refill(struct alqi_domain *d, struct alqi_heap_lab *lab, unsigned c,
       bool no_scan)
{
    ALQI_ASSERT(lab->counted <= lab->end); /* .inv.lab */
    d->sums.counts.promoted_words += (lab->end - lab->counted) / ALQ_WORD_BYTES;
    if (!no_scan && lab->scan != lab->end)
        wait_for_scan(d, lab);
    if (!alqi_heap_sweep_refill(d, c, no_scan))
        alqi_base_fail(__FILE__, __LINE__, "memory for promotion was ready");
    return lab->next;
}

/* ---- copying ------------------------------------------------------------ */

/* Slots that lead to SHARED blocks, whose headers are being prefetched:
 * batch_do. */
struct batch {
    unsigned n;
    struct later {
        alqi_heap_word *slot;
        alqi_heap_word *from;
        uintptr_t header; /* of a claimed one */
    } slots[BATCH];
};

/* The domain's words that the copying loops read for each value.  A view is
 * passed by value and stays in registers: for all that the compiler knows, each
 * store to a block could change the domain. */
struct view {
    struct alqi_domain *d;
    uintptr_t young_base; /* address of what is collected */
    uintptr_t young_half; /* bytes of it, over 2: is_young */
    uintptr_t colour;     /* of the copies, in place */
    bool workers; /* a constant: there are others, so blocks are claimed */
    bool pins;    /* a constant: some blocks do not move */
    struct batch *batch; /* a constant; NULL: each slot at once */
};

/* The view of a domain.  A collection by one domain alone looks at its own
 * slice: blocks of other domains are young, too, but do not move. */
static inline __attribute__((always_inline)) struct view
view_of(struct alqi_domain *d, bool workers)
{
    return (struct view){
        d,
        d->young.is_local ? d->sizes.base : d->pub.young_base,
        (d->young.is_local ? ALQI_HEAP_MINOR_BYTES_MAX : d->pub.young_bytes) >>
            1,
        d->alloc_colour,
        workers,
        false,
        NULL};
}

/* Whether other workers copy, too.  A collection by one domain alone has none,
 * though a stop that ran before has left its number in `workers`. */
static inline bool
has_workers(const struct alqi_domain *d)
{
    return !d->young.is_local &&
           alqi_heap_workers_is_shared(&d->heap->young.workers);
}

/* A place for a slot of the class.  A buffer that will be scanned is marked
 * dirty. */
static inline alqi_heap_word *
lab_take(struct alqi_domain *d, unsigned c, size_t words, bool no_scan)
{
    struct alqi_heap_lab *lab = &d->copy.labs[no_scan][c];
    uintptr_t at = lab->next;

    if (ALQI_UNLIKELY(at == lab->end))
        at = refill(d, lab, c, no_scan);
    ALQI_DEBUG(*(alqi_heap_word *)at == 0); /* .inv.free */
    lab->next = at + words * ALQ_WORD_BYTES;
    if (!no_scan)
        d->copy.dirty |= (uint64_t)1 << c;
    return (alqi_heap_word *)at;
}

/* Marks the old block as moved, for a single worker or the owner: stores
 * without order.  The first is atomic since another worker may look whether the
 * word is an infix header (hosted.h): no move writes one. */
static inline alq_value
moved(alqi_heap_word *from, alqi_heap_word *to)
{
    ALQI_DEBUG(from[-1] > ALQI_HEAP_IN_PROGRESS); /* .inv.claim: it was live */
    __atomic_store_n(&from[-1], 0, __ATOMIC_RELAXED);
    from[0] = (alq_value)(to + 1);
    return (alq_value)(to + 1);
}

/* Writes the copy's header behind its fields (.pair.header).
 *
 * In a collection by one domain alone other domains may recover from mark-stack
 * overflow meanwhile (major_mark.c), and read each slot that has a header. */
static inline void
publish(alqi_heap_word *to, uintptr_t header)
{
    __atomic_store_n(to, header, __ATOMIC_RELEASE);
}

/* Stops the program if the header is none that a small block may have.
 *
 * An inline allocation that is compiled without checks does not look at sizes
 * and tags that are no constants; promotion is the first code that reads
 * them. */
static inline void
check_header(uintptr_t header)
{
    if (ALQI_CHECKS == 0)
        return;
    if (ALQI_UNLIKELY((header >> ALQ_WOSIZE_SHIFT) - 1 >= ALQ_SMALL_WOSIZE_MAX))
        alqi_base_misuse("alq_alloc_small", "a small block has 1 to 256 fields",
                         "use alq_alloc for other sizes");
    if (ALQI_UNLIKELY(alqi_heap_colour(header) != ALQI_HEAP_COLOUR_NONE))
        alqi_base_misuse("alq_alloc_small", "a tag is at most 255",
                         "keep what is more in a field");
}

/* Copies a block of any size to a slot of its class.  The words by which the
 * slot is larger are counted, as they are promoted but no program's. */
static inline alqi_heap_word *
copy_words(struct alqi_domain *d, const alqi_heap_word *from, uintptr_t header)
{
    size_t n = header >> ALQ_WOSIZE_SHIFT;
    unsigned c;
    alqi_heap_word *to;

    check_header(header);
    c = alqi_heap_class_of(n + 1);
    to = lab_take(d, c, alqi_heap_class_words[c],
                  !alqi_heap_is_scannable(header));
    d->sums.slack_words += alqi_heap_class_words[c] - (n + 1);
    memcpy(to + 1, from, n * sizeof *from);
    publish(to, header | d->alloc_colour);
    return to;
}

/* Copies a block of at most WORDS_INLINE words: its class is its number of
 * fields, and a loop is faster than memcpy. */
static inline alqi_heap_word *
copy_few(struct alqi_domain *d, const alqi_heap_word *from, uintptr_t header)
{
    size_t i, n = header >> ALQ_WOSIZE_SHIFT;
    alqi_heap_word *to =
        lab_take(d, (unsigned)n, n + 1, !alqi_heap_is_scannable(header));

    ALQI_DEBUG(alqi_heap_class_words[n] == n + 1); /* .inv.class */

    for (i = 0; i < n; i++)
        to[i + 1] = from[i];
    publish(to, header | d->alloc_colour);
    return to;
}

/* The way out of the inlined copies, for a single worker or the owner. */
static ALQI_NOINLINE alq_value
copy_any(struct alqi_domain *d, alqi_heap_word *from, uintptr_t header)
{
    return moved(from, copy_words(d, from, header));
}

/* Copies a block of a constant number of words: class, loop and slot size are
 * constants, too. */
static inline __attribute__((always_inline)) alq_value
copy_fixed(struct view w, alqi_heap_word *from, uintptr_t header, size_t words,
           bool no_scan)
{
    alqi_heap_word *to = lab_take(w.d, (unsigned)words - 1, words, no_scan);
    size_t i;

    check_header(header);
    for (i = 1; i < words; i++)
        to[i] = from[i - 1];
    publish(to, header | w.colour);
    return moved(from, to);
}

/* Copies a block without values: short strings, numbers, pairs of raw words.  A
 * function of its own, to keep `copy` small. */
static ALQI_NOINLINE alq_value
copy_leaf(struct alqi_domain *d, alqi_heap_word *from, uintptr_t header)
{
    struct view w = {.d = d, .colour = d->alloc_colour};

    switch (alqi_heap_words(header)) {
    case 2:
        return copy_fixed(w, from, header, 2, true);
    case 3:
        return copy_fixed(w, from, header, 3, true);
    case 4:
        return copy_fixed(w, from, header, 4, true);
    default:
        return copy_any(d, from, header);
    }
}

/* Copies a block that the caller alone may copy; returns its new place.  The
 * sizes up to seven words, which most blocks have, are inlined. */
static inline __attribute__((always_inline)) alq_value
copy(struct view w, alqi_heap_word *from, uintptr_t header)
{
    if (ALQI_UNLIKELY(!alqi_heap_is_scannable(header)))
        return copy_leaf(w.d, from, header);
    switch (alqi_heap_words(header)) {
    case 2:
        return copy_fixed(w, from, header, 2, false);
    case 3:
        return copy_fixed(w, from, header, 3, false);
    case 4:
        return copy_fixed(w, from, header, 4, false);
    case 5:
        return copy_fixed(w, from, header, 5, false);
    case 6:
        return copy_fixed(w, from, header, 6, false);
    case 7:
        return copy_fixed(w, from, header, 7, false);
    default:
        return copy_any(w.d, from, header);
    }
}

/* ---- blocks that others may copy, too ----------------------------------- */

/* Claims a young block; false: another worker was faster (.inv.claim).
 * Relaxed: the block's words were written before the stop. */
static inline bool
claim(alqi_heap_word *from, uintptr_t header)
{
    return __atomic_compare_exchange_n(&from[-1], &header,
                                       ALQI_HEAP_IN_PROGRESS, false,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Waits until the worker with the claim has copied the block; its new place
 * (.pair.moved). */
static ALQI_NOINLINE alq_value
await_move(alqi_heap_word *from)
{
    unsigned spins = 0;

    while (__atomic_load_n(&from[-1], __ATOMIC_ACQUIRE) != 0)
        alqi_plat_spin(&spins);
    return from[0];
}

/* Marks the old block as moved, behind its new place: await_move reads the
 * header with acquire, then field 0 (.pair.moved). */
static inline alq_value
moved_claimed(alqi_heap_word *from, alqi_heap_word *to)
{
    ALQI_DEBUG(alqi_heap_header((alq_value)from) ==
               ALQI_HEAP_IN_PROGRESS); /* .inv.claim */
    from[0] = (alq_value)(to + 1);
    __atomic_store_n(&from[-1], 0, __ATOMIC_RELEASE);
    return (alq_value)(to + 1);
}

/* Copies a block that the worker has claimed. */
static inline alq_value
copy_claimed(struct alqi_domain *d, alqi_heap_word *from, uintptr_t header)
{
    if (alqi_heap_words(header) <= WORDS_INLINE)
        return moved_claimed(from, copy_few(d, from, header));
    return moved_claimed(from, copy_words(d, from, header));
}

/* The new place of a block of a SHARED minor heap: moved already, claimed and
 * copied here, or awaited (.pair.moved). */
static alq_value
new_place_shared(struct alqi_domain *self, alqi_heap_word *from)
{
    uintptr_t header = __atomic_load_n(&from[-1], __ATOMIC_ACQUIRE);

    if (header == 0)
        return from[0];
    if (header == ALQI_HEAP_IN_PROGRESS || !claim(from, header))
        return await_move(from);
    return copy_claimed(self, from, header);
}

/* The domain in whose slice of the minor part the block lies. */
static inline struct alqi_domain *
domain_at(const struct alqi_domain *self, const alqi_heap_word *from)
{
    uintptr_t offset = (uintptr_t)from - self->pub.young_base;

    return self->heap->domains[offset / ALQI_HEAP_MINOR_BYTES_MAX];
}

/* The new place of a young block that is not in the minor heap at hand.
 *
 * If it is in another one that the worker owns, that becomes the one at hand:
 * the next blocks most likely are there, too.  Otherwise it is SHARED from here
 * on. */
static ALQI_NOINLINE alq_value
new_place_elsewhere(struct alqi_domain *self, alqi_heap_word *from)
{
    struct alqi_domain *of = domain_at(self, from);

    if (!alqi_heap_own_is_mine(self, of))
        return new_place_shared(self, from);
    ALQI_DEBUG(from[-1] != ALQI_HEAP_IN_PROGRESS); /* .inv.owned */
    alqi_heap_own_next(self, of);
    return from[-1] == 0 ? from[0] : copy_any(self, from, from[-1]);
}

/* ---- many of them ------------------------------------------------------- */

/* Claims all blocks of the batch that it can, copies these, then waits for
 * those of others.
 *
 * A claim is a locked instruction, which waits for the stores before it; a copy
 * before each claim would cost more than the claims do.  The worker waits when
 * it holds no claim any more, so no two workers wait for each other
 * (tests/models/minor_promote_batch.pml, .pair.moved). */
static ALQI_NOINLINE void
batch_do(struct alqi_domain *d, struct batch *b)
{
    struct later mine[BATCH], others[BATCH];
    unsigned i, n_mine = 0, n_others = 0;

    for (i = 0; i < b->n; i++) {
        struct later l = b->slots[i];

        l.header = __atomic_load_n(&l.from[-1], __ATOMIC_ACQUIRE);
        if (l.header == 0)
            __atomic_store_n(l.slot, l.from[0], __ATOMIC_RELAXED);
        else if (l.header != ALQI_HEAP_IN_PROGRESS && claim(l.from, l.header))
            mine[n_mine++] = l;
        else
            others[n_others++] = l;
    }
    b->n = 0;
    for (i = 0; i < n_mine; i++)
        __atomic_store_n(mine[i].slot,
                         copy_claimed(d, mine[i].from, mine[i].header),
                         __ATOMIC_RELAXED);
    for (i = 0; i < n_others; i++)
        __atomic_store_n(others[i].slot, await_move(others[i].from),
                         __ATOMIC_RELAXED);
}

/* Adds a slot; a full batch is done.  The header's line is on the way
 * meanwhile. */
static inline void
batch_add(struct alqi_domain *d, struct batch *b, alqi_heap_word *slot,
          alqi_heap_word *from)
{
    __builtin_prefetch(from - 1, 1);
    b->slots[b->n].slot = slot;
    b->slots[b->n++].from = from;
    if (b->n == BATCH)
        batch_do(d, b);
}

/* ---- slots -------------------------------------------------------------- */

/* Whether v is a block in what is collected: one comparison.  The lowest bit,
 * which integers have, turns to the highest, so an integer is never below the
 * bound. */
static inline __attribute__((always_inline)) bool
is_young(struct view w, alq_value v)
{
    uintptr_t offset = v - w.young_base;

    return ((offset >> 1) | (offset << 63)) < w.young_half;
}

/* The new place of a block whose header the caller alone looks at. */
static inline __attribute__((always_inline)) alq_value
new_place(struct view w, alqi_heap_word *from)
{
    uintptr_t header = from[-1];

    ALQI_DEBUG(header != ALQI_HEAP_IN_PROGRESS); /* .inv.owned */
    return header == 0 ? from[0] : copy(w, from, header);
}

/* The new place of a value that points into a closure (.inv.infix). */
static ALQI_NOINLINE alq_value
new_place_infix(struct view w, alq_value v, uintptr_t bytes)
{
    alqi_heap_word *from = (alqi_heap_word *)(v - bytes);

    if (!w.workers)
        return new_place(w, from) + bytes;
    if (v - bytes - w.d->own.base < w.d->own.bytes)
        return new_place(w, from) + bytes;
    return new_place_elsewhere(w.d, from) + bytes;
}

/* Promotes the value of a slot, among several workers.
 *
 * The slot's loads and stores are atomic: one field may stand in the remembered
 * sets of two domains.  Both then store the same new place. */
static inline __attribute__((always_inline)) void
promote_with_workers(struct view w, alqi_heap_word *slot)
{
    alq_value v = __atomic_load_n(slot, __ATOMIC_RELAXED);

    uintptr_t infix;

    if (!is_young(w, v))
        return;
    infix = alqi_heap_infix_bytes(v);
    if (ALQI_UNLIKELY(infix != 0))
        v = new_place_infix(w, v, infix);
    else if (ALQI_LIKELY(v - w.d->own.base < w.d->own.bytes))
        v = new_place(w, (alqi_heap_word *)v);
    else if (w.batch != NULL &&
             alqi_heap_own_is_shared(domain_at(w.d, (alqi_heap_word *)v))) {
        batch_add(w.d, w.batch, slot, (alqi_heap_word *)v);
        return;
    } else
        v = new_place_elsewhere(w.d, (alqi_heap_word *)v);
    __atomic_store_n(slot, v, __ATOMIC_RELAXED);
}

/* Promotes the value of a slot, with no other worker.
 *
 * The slot may be a field of a copy that has its header already, which another
 * domain's recovery reads (publish): the release puts the new place's header in
 * front of its address (.pair.field). */
static inline __attribute__((always_inline)) void
promote_alone(struct view w, alqi_heap_word *slot)
{
    alq_value v = *slot;
    uintptr_t infix;

    if (is_young(w, v)) {
        infix = alqi_heap_infix_bytes(v);
        v = ALQI_UNLIKELY(infix != 0) ? new_place_infix(w, v, infix)
                                      : new_place(w, (alqi_heap_word *)v);
        __atomic_store_n(slot, v, __ATOMIC_RELEASE);
    } else
        ALQI_ASSERT(!w.d->young.is_local || !alq_is_block(v) ||
                    !alqi_heap_is_young(w.d, v)); /* .inv.private */
}

static inline __attribute__((always_inline)) void
promote_slot(struct view w, alqi_heap_word *slot)
{
    if (w.workers)
        promote_with_workers(w, slot);
    else
        promote_alone(w, slot);
}

/* Promotes a root.  The worker is between two blocks, so it polls for calls of
 * others.  The slot is not put in a batch: the caller may read it next. */
void
alqi_heap_promote(struct alqi_domain *self, alq_value *slot)
{
    if (has_workers(self)) {
        alqi_heap_own_poll(self);
        promote_with_workers(view_of(self, true), (alqi_heap_word *)slot);
    } else {
        promote_alone(view_of(self, false), (alqi_heap_word *)slot);
    }
}

/* A visitor of slots: `arg` is the worker. */
static void
promote_slot_of(void *arg, alq_value *slot)
{
    alqi_heap_promote(arg, slot);
}

/* ---- fields ------------------------------------------------------------- */

enum {
    FIELDS = 1, /* in a range's start: of addresses of fields, not of blocks */
    FIELDS_AHEAD = 16,                           /* fields being prefetched */
    FIELDS_RANGE = ALQI_HEAP_IS_HARD ? 16 : 2048 /* fields that are offered */
};

/* Promotes the values of remembered fields. */
static inline __attribute__((always_inline)) void
promote_each(struct view w, alqi_heap_word **slots, alqi_heap_word **end)
{
    for (; slots < end; slots++) {
        if (end - slots > FIELDS_AHEAD)
            __builtin_prefetch(slots[FIELDS_AHEAD], 1);
        if (w.workers)
            alqi_heap_own_poll(w.d);
        promote_slot(w, *slots);
    }
}

/* Offers the end of a remembered set to all workers, in ranges; returns how
 * many fields are left to the caller.
 *
 * The ranges are marked by the lowest bit of their start.  The bound on the
 * queue's length leaves its other places to ranges of blocks (.inv.queue). */
static size_t
offer(struct alqi_heap_workers *workers, alqi_heap_word **slots, size_t n)
{
    struct alqi_heap_range range;

    while (n > FIELDS_RANGE &&
           alqi_heap_queue_n(&workers->queue) < ALQI_HEAP_WORKERS_OFFERS_MAX) {
        range.start = (uintptr_t)(slots + n - FIELDS_RANGE) | FIELDS;
        range.end = (uintptr_t)(slots + n);
        if (alqi_heap_queue_put(&workers->queue, &range, 1) == 0)
            break;
        n -= FIELDS_RANGE;
    }
    return n;
}

/* Promotes the values of n fields.  With several workers the end of the set is
 * offered to them, and the caller does the rest. */
void
alqi_heap_promote_each(struct alqi_domain *self, alqi_heap_word **slots,
                       size_t n)
{
    if (n == 0)
        return; /* slots may be NULL */
    if (has_workers(self)) {
        n = offer(&self->heap->young.workers, slots, n);
        promote_each(view_of(self, true), slots, slots + n);
    } else {
        promote_each(view_of(self, false), slots, slots + n);
    }
}

/* ---- scanning ----------------------------------------------------------- */

/* Promotes what the fields of a copied block hold.
 *
 * With pins a field may still hold a young value afterwards: pin_field
 * remembers it (.inv.retained). */
static inline __attribute__((always_inline)) void
scan_block(struct view w, alqi_heap_word *block)
{
    alqi_heap_word *end = block + alqi_heap_words(block[0]);

    if (w.workers)
        alqi_heap_own_poll(w.d);
    if (ALQI_UNLIKELY(alqi_heap_is_continuation(block[0])))
        alqi_heap_host_fiber_visit((alq_value)(block + 1), promote_slot_of,
                                   w.d);
    block += alqi_heap_raw_fields(block + 1, block[0]);
    while (++block < end) {
        promote_slot(w, block);
        if (w.pins)
            alqi_heap_pin_field(w.d, block);
    }
}

/* Scans the copies in the open buffer of a class.
 *
 * The buffer grows meanwhile, and refill may replace it: its rest is then on
 * the grey stack, and `scan` is of the new one.  So `scan` moves before the
 * block is scanned. */
static inline __attribute__((always_inline)) void
scan_lab(struct view w, unsigned c)
{
    struct alqi_heap_lab *lab = &w.d->copy.labs[0][c];
    uintptr_t bytes = (uintptr_t)alqi_heap_class_words[c] * ALQ_WORD_BYTES;

    while (lab->scan != lab->next) {
        uintptr_t at = lab->scan;

        lab->scan += bytes;
        scan_block(w, (alqi_heap_word *)at);
    }
}

/* Scans a grey range, or remembered fields that were offered.  The class is
 * that of the pool: the range may be of another worker's. */
static inline __attribute__((always_inline)) void
scan_range(struct view w, struct alqi_heap_range range)
{
    unsigned c;
    uintptr_t bytes;

    if (range.start & FIELDS) {
        promote_each(w, (alqi_heap_word **)(range.start - FIELDS),
                     (alqi_heap_word **)range.end);
        return;
    }
    ALQI_ASSERT(!alqi_heap_area_is_no_scan(&w.d->heap->area,
                                           range.start)); /* .inv.kind */
    c = alqi_heap_area_class(&w.d->heap->area, range.start);
    bytes = (uintptr_t)alqi_heap_class_words[c] * ALQ_WORD_BYTES;
    for (; range.start < range.end; range.start += bytes)
        scan_block(w, (alqi_heap_word *)range.start);
}

/* Whether slots wait in the batch. */
static inline __attribute__((always_inline)) bool
has_slots(struct view w)
{
    return w.batch != NULL && w.batch->n > 0;
}

/* Scans until the worker has nothing left: open buffers first, whose lines are
 * in the cache, then the grey stack.  The batch is done last, unless it is full
 * before: a small batch saves little. */
static inline __attribute__((always_inline)) void
drain(struct view w)
{
    struct alqi_domain *d = w.d;
    unsigned c;

    while (d->copy.dirty != 0 || d->copy.n_grey > 0 || has_slots(w)) {
        if (d->copy.dirty == 0 && d->copy.n_grey == 0) {
            batch_do(d, w.batch);
            continue;
        }
        if (d->copy.dirty == 0) {
            struct alqi_heap_range range = d->copy.grey[--d->copy.n_grey];

            feed(d);
            scan_range(w, range);
            continue;
        }
        c = (unsigned)__builtin_ctzll(d->copy.dirty);
        scan_lab(w, c);
        d->copy.dirty &= ~((uint64_t)1 << c);
    }
}

static ALQI_NOINLINE void
drain_alone(struct alqi_domain *self)
{
    drain(view_of(self, false));
}

/* The worker ends with nothing left, and shares what it owns: other workers
 * need not wait for it any more. */
static ALQI_NOINLINE void
drain_with_workers(struct alqi_domain *self)
{
    struct batch batch;
    struct view w = view_of(self, true);

    batch.n = 0;
    w.batch = &batch;
    drain(w);
    alqi_heap_own_share(self); /* there is nothing left to do here */
}

/* The drains with pins scan each slot at once: pin_field reads its new
 * value. */
static ALQI_NOINLINE void
drain_alone_with_pins(struct alqi_domain *self)
{
    struct view w = view_of(self, false);

    w.pins = true;
    drain(w);
}

static ALQI_NOINLINE void
drain_with_workers_and_pins(struct alqi_domain *self)
{
    struct view w = view_of(self, true);

    w.pins = true;
    drain(w);
    alqi_heap_own_share(self);
}

/* Chooses the loop.  All four are functions of their own: each is compiled with
 * its view's constants. */
static void
drain_all(struct alqi_domain *self)
{
    bool pins = alqi_heap_pin_is_active(self->heap);

    if (has_workers(self))
        (pins ? drain_with_workers_and_pins : drain_with_workers)(self);
    else
        (pins ? drain_alone_with_pins : drain_alone)(self);
}

/* Counts the words that were promoted into the buffer since it was last
 * counted. */
static void
lab_count(struct alqi_domain *d, struct alqi_heap_lab *lab)
{
    ALQI_ASSERT(lab->counted <= lab->next &&
                lab->next <= lab->end); /* .inv.lab */
    d->sums.counts.promoted_words +=
        (lab->next - lab->counted) / ALQ_WORD_BYTES;
    lab->counted = lab->next;
}

/* Drains until no worker has anything left, then brings the buffers up to date.
 *
 * The buffers stay open for the next collection.  Those without values are
 * never scanned; their scan pointers move along all the same, since sweeping
 * and the verifier rely on scan = next outside of collections. */
void
alqi_heap_promote_drain(struct alqi_domain *self)
{
    struct alqi_heap_workers *workers = &self->heap->young.workers;
    size_t n_max = self->copy.grey_size;
    unsigned c;

    /* .inv.snapshot: copies made while marking are marked. */
    ALQI_ASSERT(self->alloc_colour ==
                (self->heap->cycle.phase == ALQI_HEAP_MARK
                     ? self->heap->cycle.colours.marked
                     : self->heap->cycle.colours.unmarked));
    if (n_max > ALQI_HEAP_WORKERS_GET_MAX)
        n_max = ALQI_HEAP_WORKERS_GET_MAX;
    do {
        drain_all(self);
        if (self->young.is_local)
            break;
        self->copy.n_grey =
            alqi_heap_workers_get(workers, self->copy.grey, n_max);
    } while (self->copy.n_grey > 0);
    for (c = 0; c < ALQI_HEAP_CLASSES; c++) {
        self->copy.labs[1][c].scan = self->copy.labs[1][c].next;
        lab_count(self, &self->copy.labs[0][c]);
        lab_count(self, &self->copy.labs[1][c]);
        ALQI_ASSERT(self->copy.labs[0][c].scan ==
                    self->copy.labs[0][c].next); /* .inv.lab */
    }
    ALQI_ASSERT(self->copy.n_grey == 0 && self->copy.dirty == 0); /* .inv.lab */
}
