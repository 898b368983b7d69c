/* alloc.c -- the slow path of allocation
 *
 *   lost heap -> finalisers, alarms, permit -> stop, slice, poll ->
 *   more of the quota, or a minor collection -> sample -> the room
 *
 * The inline path comes here if it would move young_ptr below young_limit, and
 * leaves young_ptr as it was.  Blocks that are large, or meet a minor heap that
 * is fragmented by pins, are born old.
 *
 * Keeps .inv.limit: Requests are taken before they are served.
 * Keeps .inv.open: young_ptr moves down only as far as there is room.
 * Keeps .inv.trigger: The client is asked before a sampled word is allocated.
 * Keeps .inv.limit_trigger: No block passes the trigger without a permit. */
#include <string.h>

#include "heap/alloc.h"
#include "heap/final_run.h"
#include "heap/custom.h"
#include "heap/major_cycle.h"
#include "heap/alloc_direct.h"
#include "heap/domain_lost.h"
#include "heap/event.h"
#include "heap/limit_trigger_check.h"
#include "heap/alloc_limit.h"
#include "heap/minor_size.h"
#include "heap/observe_calls.h"
#include "heap/minor_local.h"
#include "heap/minor_quota.h"
#include "heap/minor_remember.h"
#include "heap/root_stale.h"
#include "heap/stop.h"

/* Notes why an allocation failed.  The first reason stands until the program
 * clears the status: later ones follow from it. */
alq_value
alqi_heap_fail(struct alqi_domain *d, enum alq_status why)
{
    if (d != NULL && d->pub.status == ALQ_OK)
        d->pub.status = why;
    return ALQ_NULL;
}

/* The schedule of forced collections: is_forced. */
enum { POINTS_ALL = 2048, POINTS_RARE = 64 };

/* Whether this point of a hard build collects though nobody has requested it.
 *
 * Each of the first POINTS_ALL points does, then ever fewer, at last one of
 * POINTS_RARE.  alqi_base_mix chooses by the point's number, so each run makes
 * the same choice, and a million points cost 30,000 collections. */
static bool
is_forced(struct alqi_domain *d)
{
    uint64_t n, every;

    if (!ALQI_HEAP_IS_HARD)
        return false;
    n = d->n_points++;
    every = n / POINTS_ALL + 1;
    return alqi_base_mix(n) % (every < POINTS_RARE ? every : POINTS_RARE) == 0;
}

/* Empties the domain's minor heap: by the domain alone if that is allowed, else
 * in a stop.  Hard builds take the stop after each odd number of slices, so
 * that both ways are tested. */
static void
collect_minor(struct alqi_domain *d)
{
    if ((ALQI_HEAP_IS_HARD && d->sums.counts.slices % 2 != 0) ||
        !alqi_heap_minor_local_try(d))
        alqi_heap_minor(d);
}

/* Serves what was requested of the domain: a stop, a minor collection, a slice.
 *
 * Requires entry_begin.  Leaves young_limit reset, and local variables stale in
 * hard builds.  The second poll is there because a stop may have been requested
 * during the slice. */
static void
collect_if_asked(struct alqi_domain *d)
{
    bool forced = is_forced(d);

    ALQI_ASSERT(d->events.entries > 0); /* .inv.nest: entry_begin */
    alqi_heap_stop_poll(d);
    if (alqi_heap_alloc_limit_take(&d->requests.want_minor) || forced)
        collect_minor(d);
    if (alqi_heap_alloc_limit_take(&d->requests.want_slice) || forced)
        alqi_heap_slice(d, 0);
    alqi_heap_stop_poll(d);
    alqi_heap_stale(d, forced);
}

/* Serves requests of the collector, as one entry: several collections make one
 * pause. */
void
alqi_heap_collect_asked(struct alqi_domain *d)
{
    if (d->heap->life.is_lost)
        return;
    alqi_heap_entry_begin(d);
    collect_if_asked(d);
    alqi_heap_entry_end(d);
}

/* Runs finalisers and alarms that are due, then asks the limit trigger for a
 * permit of `words`; 0: a poll.
 *
 * The calls come first: they may allocate, and the permit has to count that.
 * Both may collect, so room that was there before may be gone. */
static enum alq_status
calls_and_pass(struct alqi_domain *d, uint64_t words)
{
    enum alq_status st = alqi_heap_final_run(d);

    return st == ALQ_OK ? alqi_heap_limit_trigger_check(d, words) : st;
}

/* Runs finalisers and alarms, then asks for a permit of so many words; a status
 * other than ALQ_OK stands in the domain, too.  The caller has no room yet:
 * both may collect. */
enum alq_status
alqi_heap_alloc_may(struct alqi_domain *d, uint64_t words)
{
    enum alq_status st = d->heap->life.is_lost ? alqi_heap_lost_status(d->heap)
                                               : calls_and_pass(d, words);

    if (st != ALQ_OK)
        (void)alqi_heap_fail(d, st);
    return st;
}

/* Serves all requests: those of the collector, of the sampler, and the calls.
 * On a lost heap there are none. */
enum alq_status
alqi_heap_poll(struct alqi_domain *d)
{
    if (d->heap->life.is_lost)
        return ALQ_OK;
    alqi_heap_collect_asked(d);
    if (alqi_heap_observe_wants(&d->observed))
        alqi_heap_observed_redraw(d);
    return calls_and_pass(d, 0);
}

/* Whether the minor heap has `words` left.  The difference cannot wrap:
 * young_ptr is never below young.start. */
static bool
has_room(const struct alqi_domain *d, size_t words)
{
    return (uintptr_t)d->pub.young_ptr - d->young.start >=
           words * ALQ_WORD_BYTES;
}

/* Serves requests and makes room for `words` in the minor heap; false: there is
 * none, since memory is short or the minor heap is fragmented.
 *
 * The cheap ways come first: a further piece of the quota, then a minor
 * collection.  The second collection is always a stop, which empties all minor
 * heaps, and is followed by full collections if this one still cannot be
 * opened.  A fragmented minor heap is collected only on request
 * (is_tried_again): each collection would find the same pins. */
static bool
make_room(struct alqi_domain *d, size_t words)
{
    if (alqi_heap_observe_wants(&d->observed))
        alqi_heap_observed_redraw(d);
    alqi_heap_entry_begin(d);
    collect_if_asked(d);
    /* The slice that pacing has placed at this address is due. */
    if ((uintptr_t)d->pub.young_ptr - words * ALQ_WORD_BYTES <
        d->young.slice_trigger) {
        d->young.slice_trigger = 0;
        alqi_heap_slice(d, 0);
    }
    while (!has_room(d, words) && alqi_heap_quota_take(d))
        continue;
    if (!has_room(d, words) && !d->young.is_fragmented)
        collect_minor(d);
    if (!has_room(d, words) && !d->young.is_fragmented)
        alqi_heap_minor(d); /* memory is short: all of them, and more */
    alqi_heap_entry_end(d);
    return has_room(d, words);
}

/* The answer when make_room was false: the mark of a fragmented minor heap, or
 * 0 with a status. */
static uintptr_t
no_room(struct alqi_domain *d)
{
    return d->young.is_fragmented ? ALQI_HEAP_ROOM_FRAGMENTED
                                  : (uintptr_t)alqi_heap_fail(d, ALQ_ENOMEM);
}

/* Moves young_ptr down; requires has_room.  Returns the lowest address. */
static uintptr_t
take_room(struct alqi_domain *d, size_t words)
{
    ALQI_ASSERT(has_room(d, words)); /* .inv.open */
    /* .inv.limit: the inline path never allocates below the minor heap. */
    ALQI_ASSERT((uintptr_t)__atomic_load_n(&d->pub.young_limit,
                                           __ATOMIC_RELAXED) >= d->young.start);
    d->pub.young_ptr -= words * ALQ_WORD_BYTES;
    return (uintptr_t)d->pub.young_ptr;
}

/* Ends a sampling request that leads to no block: the client refused, or there
 * is no room any more.  The client is called in the second case alone; the
 * first is its own answer. */
static ALQI_COLD uintptr_t
sampled_none(struct alqi_domain *d, enum alq_status status)
{
    if (status != ALQ_OK) {
        alqi_heap_observed_request_refused(d);
        return (uintptr_t)alqi_heap_fail(d, status);
    }
    alqi_heap_observed_request_cancel(d);
    return no_room(d);
}

/* Takes the room of a sampled block after the client's request returned
 * `status`.
 *
 * The client's callback may have allocated or collected.  Unless the domain is
 * undisturbed the room is made anew; that serves requests, but does not sample
 * once more.  request_done moves the sampling trigger below the block. */
static inline uintptr_t
asked_room(struct alqi_domain *d, size_t words, enum alq_status status)
{
    uintptr_t low;

    if (ALQI_UNLIKELY(status != ALQ_OK ||
                      (!alqi_heap_observed_is_undisturbed(d, words) &&
                       !make_room(d, words))))
        return sampled_none(d, status);
    low = take_room(d, words);
    alqi_heap_observed_request_done(d, low);
    return low;
}

/* Asks the client for the blocks of a sampled piece of room, then takes it. */
static uintptr_t
sampled_room(struct alqi_domain *d, const uintptr_t *headers, unsigned n_blocks,
             size_t words, const struct alqi_stack_regs *caller)
{
    return asked_room(d, words,
                      alqi_heap_observed_request(d, headers, n_blocks, caller));
}

/* The slow path for small blocks: all `n_blocks` of them, side by side.
 *
 * A sampled allocation with room at hand goes to the client at once, which is
 * the common reason to come here.  Any other reason takes the whole way.  The
 * sampling test is repeated after make_room: a collection places the trigger
 * anew. */
uintptr_t
alqi_heap_room(struct alqi_domain *d, const uintptr_t *headers,
               unsigned n_blocks, size_t words,
               const struct alqi_stack_regs *caller)
{
    enum alq_status st;

    ALQI_ASSERT(words >= 1 &&
                words <= ALQI_HEAP_CLASS_WORDS_MAX); /* .inv.class */
    if (alqi_heap_observed_is_sampled(d, words) &&
        alqi_heap_observed_is_undisturbed(d, words))
        return sampled_room(d, headers, n_blocks, words, caller);
    if (d->heap->life.is_lost)
        return (uintptr_t)alqi_heap_fail(d, alqi_heap_lost_status(d->heap));
    st = calls_and_pass(d, words); /* they may leave no room */
    if (st != ALQ_OK)
        return (uintptr_t)alqi_heap_fail(d, st);
    if (!make_room(d, words))
        return no_room(d);
    if (alqi_heap_observed_is_sampled(d, words))
        return sampled_room(d, headers, n_blocks, words, caller);
    return take_room(d, words);
}

/* As alqi_heap_room, but the client is not asked.  If the room covers the
 * sampled word, the next sampling interval is drawn: the trigger has to lie
 * below young_ptr (.inv.trigger). */
uintptr_t
alqi_heap_room_unseen(struct alqi_domain *d, size_t words, uint64_t *sample_at)
{
    bool is_sampled;

    *sample_at = 0;
    ALQI_ASSERT(words >= 1 &&
                words <= ALQI_HEAP_CLASS_WORDS_MAX); /* .inv.class */
    if (d->heap->life.is_lost)
        return (uintptr_t)alqi_heap_fail(d, alqi_heap_lost_status(d->heap));
    if (!make_room(d, words))
        return no_room(d);
    is_sampled = alqi_heap_observed_is_sampled(d, words);
    if (is_sampled)
        *sample_at = alqi_heap_observed_sample_take(d);
    take_room(d, words);
    if (is_sampled) {
        alqi_heap_observed_draw(d);
        alqi_heap_alloc_limit_reset(d);
    }
    return (uintptr_t)d->pub.young_ptr;
}

/* ---- blocks ------------------------------------------------------------- */

/* Runs full collections for a block that found no memory.
 *
 * `wanted_bytes` holds the block's size meanwhile, and safe_bytes of
 * minor_open.c leaves that much: otherwise the minor heaps that open at the end
 * would be promised the memory that the collections have freed.  One pool a
 * domain is added because has_pool of alloc_direct.c leaves that many to
 * others. */
static void
collect_for(struct alqi_domain *d, uintptr_t header)
{
    size_t *wanted = &d->heap->bound.wanted_bytes;
    size_t bytes = (alqi_heap_words(header) + ALQI_HEAP_LARGE_LINK_WORDS) *
                       ALQ_WORD_BYTES +
                   __atomic_load_n(&d->heap->n_slots, __ATOMIC_RELAXED) *
                       ALQI_HEAP_POOL_BYTES; /* alloc_direct.c */

    __atomic_add_fetch(wanted, bytes, __ATOMIC_RELAXED);
    alqi_heap_collect_all(d);
    ALQI_ASSERT(__atomic_load_n(wanted, __ATOMIC_RELAXED) >=
                bytes); /* .inv.bound: others have added theirs */
    __atomic_sub_fetch(wanted, bytes, __ATOMIC_RELAXED);
}

/* A block in the major heap: tries, collects everything, tries once more. */
alq_value
alqi_heap_alloc_direct(struct alqi_domain *d, uintptr_t header)
{
    alq_value block;

    if (d->heap->life.is_lost)
        return alqi_heap_fail(d, alqi_heap_lost_status(d->heap));
    alqi_heap_collect_asked(d);
    block = alqi_heap_direct_try_nogc(d, header);
    if (block == ALQ_NULL) {
        collect_for(d, header);
        block = alqi_heap_direct_try_nogc(d, header);
    }
    return block == ALQ_NULL ? alqi_heap_fail(d, ALQ_ENOMEM) : block;
}

/* As alqi_heap_alloc_direct, for the library's own blocks.  The words are moved
 * from the program's counter to that of the collector's costs, so the limits
 * and statistics of the program do not count them and the pace does. */
alq_value
alqi_heap_alloc_own(struct alqi_domain *d, uintptr_t header)
{
    alq_value block = alqi_heap_alloc_direct(d, header);

    if (block == ALQ_NULL)
        return block;
    d->sums.counts.direct_words -= alqi_heap_words(header);
    d->sums.cost_words +=
        alqi_heap_words(header); /* it is the collector's work */
    return block;
}

/* A block in the major heap that the limit trigger and the client learn of.
 *
 * The trigger's position counts all words, but its address is relative to
 * young_ptr, which this block has not moved: so the address is computed
 * anew. */
static alq_value
alloc_notified(struct alqi_domain *d, uintptr_t header)
{
    alq_value block = alqi_heap_alloc_direct(d, header);

    if (block == ALQ_NULL)
        return block;
    alqi_heap_limit_trigger_advance(d);
    alqi_heap_observed_direct(d, block, header);
    return block;
}

/* A block that is born old, with the permit for its words. */
static alq_value
alloc_old(struct alqi_domain *d, uintptr_t header)
{
    if (alqi_heap_alloc_may(d, alqi_heap_words(header)) != ALQ_OK)
        return ALQ_NULL;
    return alloc_notified(d, header);
}

/* Whether the fragmented minor heap is worth another collection: blocks born
 * old since then have taken as many words as a minor heap would have. */
static bool
is_tried_again(struct alqi_domain *d, uintptr_t header)
{
    d->young.fragmented_words += alqi_heap_words(header);
    return d->young.fragmented_words >
           alqi_heap_minor_size_bytes(d) / ALQ_WORD_BYTES;
}

/* A small block that is born old because pins leave no room in the minor heap.
 *
 * The program sets its fields by alq_init_small, without the write barrier.  So
 * each field that is scanned gets ALQ_UNIT and enters the remembered set first:
 * .inv.remember holds whatever the program stores. */
alq_value
alqi_heap_alloc_fragmented(struct alqi_domain *d, uintptr_t header)
{
    size_t i, n = header >> ALQ_WOSIZE_SHIFT;
    alq_value block = alloc_notified(d, header);

    if (block == ALQ_NULL)
        return block;
    for (i = 0; i < n && alqi_heap_is_scannable(header); i++) {
        alq_init_small(block, i, ALQ_UNIT);
        alqi_heap_remember(d, (alqi_heap_word *)block + i);
    }
    if (is_tried_again(d, header))
        alqi_heap_alloc_limit_request(d, &d->requests.want_minor);
    return block;
}

/* The block at the address `low` that a call for room returned, with its header
 * written; or what the other two answers ask for: a block born old, or
 * ALQ_NULL. */
static inline alq_value
block_at(struct alqi_domain *d, uintptr_t low, uintptr_t header)
{
    if (low == ALQI_HEAP_ROOM_FRAGMENTED)
        return alqi_heap_alloc_fragmented(d, header);
    if (low == 0)
        return ALQ_NULL;
    *(alqi_heap_word *)low = header;
    return (alq_value)(low + ALQ_WORD_BYTES);
}

/* A small block by the slow path. */
static alq_value
alloc_small(struct alqi_domain *d, uintptr_t header,
            const struct alqi_stack_regs *caller)
{
    size_t words = alqi_heap_words(header);

    return block_at(d, alqi_heap_room(d, &header, 1, words, caller), header);
}

/* The way of alqi_heap_alloc_sample when more than the sample is due.  A
 * function of its own: the usual path then saves none of the registers that
 * this one needs. */
static ALQI_NOINLINE alq_value
alloc_sample_disturbed(struct alqi_domain *d, uintptr_t header,
                       const struct alqi_stack_regs *caller)
{
    return alloc_small(d, header, caller);
}

/* A small block whose words cover the sampled word, from the inline path of a
 * caller that is known.
 *
 * If nothing but the sample is due, the client's `sample` makes the block.
 * Otherwise the general slow path decides, which may find no sample any
 * more. */
alq_value
alqi_heap_alloc_sample(struct alqi_domain *d, uintptr_t header,
                       const struct alqi_stack_regs *caller)
{
    const struct alqi_heap_observer *to = &d->heap->observer;

    if (ALQI_UNLIKELY(
            !alqi_heap_observed_is_undisturbed(d, alqi_heap_words(header)) ||
            to->hooks == NULL || to->hooks->sample == NULL))
        return alloc_sample_disturbed(d, header, caller);
    return to->hooks->sample(to->client, d, header, caller);
}

alq_value
alqi_heap_alloc_sample_any(struct alqi_domain *d, uintptr_t header,
                           const struct alqi_stack_regs *caller)
{
    size_t words = alqi_heap_words(header);

    return block_at(d, sampled_room(d, &header, 1, words, caller), header);
}

alq_value
alqi_heap_alloc_sample_asked(struct alqi_domain *d, uintptr_t header,
                             enum alq_status status)
{
    return block_at(d, asked_room(d, alqi_heap_words(header), status), header);
}

/* A block of any size: large ones are born old. */
alq_value
alqi_heap_alloc(struct alqi_domain *d, uintptr_t header)
{
    if (alqi_heap_words(header) > ALQI_HEAP_CLASS_WORDS_MAX)
        return alloc_old(d, header);
    return alloc_small(d, header, NULL);
}

/* A custom block with its data zeroed, counted with what it holds outside.
 *
 * The limit trigger is asked for what the block will hold before the
 * allocation, and is charged after it: a task does not pay for a block that it
 * does not get.
 *
 * The room in the table of young custom blocks is made after the allocation: a
 * collection may call the program, which may take room that was made before.
 * If there is none the new block is abandoned with its header set, and dies in
 * the next minor collection; no finaliser knows it. */
alq_value
alqi_heap_alloc_custom(struct alqi_domain *d, const struct alq_custom_ops *ops,
                       size_t wosize, struct alqi_heap_held held)
{
    uintptr_t header = ALQ_HEADER(wosize, ALQ_TAG_CUSTOM);
    uint64_t samples;
    enum alq_status st =
        alqi_heap_limit_trigger_external(d, held.bytes, &samples);
    alq_value block;

    if (st != ALQ_OK)
        return alqi_heap_fail(d, st);
    block = held.is_old ? alloc_old(d, header) : alqi_heap_alloc(d, header);
    if (block == ALQ_NULL)
        return block;
    ((alqi_heap_word *)block)[0] = (uintptr_t)ops;
    /* A finaliser may read the data before the program has set them. */
    memset((void *)(block + ALQ_WORD_BYTES), 0, (wosize - 1) * ALQ_WORD_BYTES);
    /* Not before the block: a collection may call the program. */
    if (alqi_heap_is_young(d, block) && !alqi_heap_custom_ready(d))
        return alqi_heap_fail(d, ALQ_ENOMEM);
    alqi_heap_limit_trigger_external_made(d, samples);
    d->sums.counts.outside_bytes += held.bytes;
    if (held.bytes > 0)
        alqi_heap_observed_custom(d, block, held.bytes);
    if (alqi_heap_is_young(d, block))
        alqi_heap_custom_young(d, block, ops->finalise != NULL, held);
    else if (held.cost_words >= 1)
        alqi_heap_custom_charge(d, (uint64_t)held.cost_words);
    return block;
}

/* The block without fields: one for all heaps, static, so that no collector
 * marks, moves or frees it.  The second word keeps the address of its fields
 * inside of the array. */
alq_value
alqi_heap_atom(void)
{
    static const uintptr_t atom[2] = {ALQI_HEAP_COLOUR_STATIC, 0};

    return (alq_value)&atom[1];
}
