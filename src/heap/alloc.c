/* alloc.c -- allocation when the minor heap has no room at once
 *
 * The limit of the minor heap is its end, or a request of the collector,
 * the sampler, a limit trigger or a signal.  The slow way undoes, serves
 * what was requested, collects if room is still wanting, and tries again.
 * Sampled blocks, and blocks that are born old, have ways of their own.
 * Each returns the block, or ALQ_NULL with the reason in the domain's
 * status.
 *
 * Keeps .inv.limit: Requests are taken before they are served.
 * Keeps .inv.trigger: A sampled word is not allocated without the client's
 *   request.
 * Keeps .inv.limit_trigger: No block passes the trigger without a permit. */
#include <string.h>

#include "heap/alloc.h"
#include "heap/final_run.h"
#include "heap/custom.h"
#include "heap/major_cycle.h"
#include "heap/alloc_direct.h"
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

alq_value
alqi_heap_fail(struct alqi_domain *d, enum alq_status why)
{
    if (d != NULL && d->pub.status == ALQ_OK)
        d->pub.status = why;
    return ALQ_NULL;
}

enum { POINTS_ALL = 2048, POINTS_RARE = 64 };

/* Hard: a collection that nobody has asked for.  At each of the first points,
 * then ever more seldom, at last at one in POINTS_RARE, by chance that is the
 * same in each run: so a million points take as long as 30,000 collections.
 * Where there is none, local variables are stale all the same. */
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

/* By itself, if that will do.  Each by turns where rare things are forced. */
static void
collect_minor(struct alqi_domain *d)
{
    if ((ALQI_HEAP_IS_HARD && d->sums.counts.slices % 2 != 0) ||
        !alqi_heap_minor_local_try(d))
        alqi_heap_minor(d);
}

static void
collect_if_asked(struct alqi_domain *d)
{
    bool forced = is_forced(d);

    alqi_heap_stop_poll(d);
    if (alqi_heap_alloc_limit_take(&d->requests.want_minor) || forced)
        collect_minor(d);
    if (alqi_heap_alloc_limit_take(&d->requests.want_slice) || forced)
        alqi_heap_slice(d, 0);
    alqi_heap_stop_poll(d);
    alqi_heap_stale(d, forced);
}

void
alqi_heap_collect_asked(struct alqi_domain *d)
{
    if (d->heap->life.is_lost)
        return;
    alqi_heap_entry_begin(d);
    collect_if_asked(d);
    alqi_heap_entry_end(d);
}

/* Calls first: they may allocate, and find what the fence is to know. */
static enum alq_status
calls_and_pass(struct alqi_domain *d, uint64_t words)
{
    enum alq_status st = alqi_heap_final_run(d);

    return st == ALQ_OK ? alqi_heap_limit_trigger_check(d, words) : st;
}

enum alq_status
alqi_heap_alloc_may(struct alqi_domain *d, uint64_t words)
{
    enum alq_status st =
        d->heap->life.is_lost ? ALQ_ESTATE : calls_and_pass(d, words);

    if (st != ALQ_OK)
        (void)alqi_heap_fail(d, st);
    return st;
}

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

static bool
has_room(const struct alqi_domain *d, size_t words)
{
    return (uintptr_t)d->pub.young_ptr - d->young.start >=
           words * ALQ_WORD_BYTES;
}

static bool
make_room(struct alqi_domain *d, size_t words)
{
    if (alqi_heap_observe_wants(&d->observed))
        alqi_heap_observed_redraw(d);
    alqi_heap_entry_begin(d);
    collect_if_asked(d);
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

/* After make_room: why there is none. */
static uintptr_t
no_room(struct alqi_domain *d)
{
    return d->young.is_fragmented ? ALQI_HEAP_ROOM_FRAGMENTED
                                  : (uintptr_t)alqi_heap_fail(d, ALQ_ENOMEM);
}

static uintptr_t
take_room(struct alqi_domain *d, size_t words)
{
    d->pub.young_ptr -= words * ALQ_WORD_BYTES;
    return (uintptr_t)d->pub.young_ptr;
}

/* There is none after all, or the client says no. */
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

/* The client has been asked, and may have collected: room may have to be made
 * anew. */
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

static uintptr_t
sampled_room(struct alqi_domain *d, const uintptr_t *headers, unsigned n_blocks,
             size_t words, const struct alqi_stack_regs *caller)
{
    return asked_room(d, words,
                      alqi_heap_observed_request(d, headers, n_blocks, caller));
}

uintptr_t
alqi_heap_room(struct alqi_domain *d, const uintptr_t *headers,
               unsigned n_blocks, size_t words,
               const struct alqi_stack_regs *caller)
{
    enum alq_status st;

    ALQI_ASSERT(words >= 1 && words <= ALQI_HEAP_CLASS_WORDS_MAX);
    if (alqi_heap_observed_is_sampled(d, words) &&
        alqi_heap_observed_is_undisturbed(d, words))
        return sampled_room(d, headers, n_blocks, words, caller);
    if (d->heap->life.is_lost)
        return (uintptr_t)alqi_heap_fail(d, ALQ_ESTATE);
    st = calls_and_pass(d, words); /* they may leave no room */
    if (st != ALQ_OK)
        return (uintptr_t)alqi_heap_fail(d, st);
    if (!make_room(d, words))
        return no_room(d);
    if (alqi_heap_observed_is_sampled(d, words))
        return sampled_room(d, headers, n_blocks, words, caller);
    return take_room(d, words);
}

uintptr_t
alqi_heap_room_unseen(struct alqi_domain *d, size_t words)
{
    bool is_sampled;

    ALQI_ASSERT(words >= 1 && words <= ALQI_HEAP_CLASS_WORDS_MAX);
    if (d->heap->life.is_lost)
        return (uintptr_t)alqi_heap_fail(d, ALQ_ESTATE);
    if (!make_room(d, words))
        return no_room(d);
    is_sampled = alqi_heap_observed_is_sampled(d, words);
    take_room(d, words);
    if (is_sampled) {
        alqi_heap_observed_draw(d);
        alqi_heap_alloc_limit_reset(d);
    }
    return (uintptr_t)d->pub.young_ptr;
}

/* ---- blocks ------------------------------------------------------------- */

/* Minor heaps are opened no wider than leaves room for it. */
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
    __atomic_sub_fetch(wanted, bytes, __ATOMIC_RELAXED);
}

alq_value
alqi_heap_alloc_direct(struct alqi_domain *d, uintptr_t header)
{
    alq_value block;

    if (d->heap->life.is_lost)
        return alqi_heap_fail(d, ALQ_ESTATE);
    alqi_heap_collect_asked(d);
    block = alqi_heap_direct_try(d, header);
    if (block == ALQ_NULL) {
        collect_for(d, header);
        block = alqi_heap_direct_try(d, header);
    }
    return block == ALQ_NULL ? alqi_heap_fail(d, ALQ_ENOMEM) : block;
}

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

static alq_value
alloc_old(struct alqi_domain *d, uintptr_t header)
{
    if (alqi_heap_alloc_may(d, alqi_heap_words(header)) != ALQ_OK)
        return ALQ_NULL;
    return alloc_notified(d, header);
}

/* Words for which the minor heap that has no room would have been emptied. */
static bool
is_tried_again(struct alqi_domain *d, uintptr_t header)
{
    d->young.fragmented_words += alqi_heap_words(header);
    return d->young.fragmented_words >
           alqi_heap_minor_size_bytes(d) / ALQ_WORD_BYTES;
}

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

/* Where it will be, or what says that there is no room there. */
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

static alq_value
alloc_small(struct alqi_domain *d, uintptr_t header,
            const struct alqi_stack_regs *caller)
{
    size_t words = alqi_heap_words(header);

    return block_at(d, alqi_heap_room(d, &header, 1, words, caller), header);
}

/* Apart: its registers are not for the usual sample to save. */
static ALQI_NOINLINE alq_value
alloc_sample_disturbed(struct alqi_domain *d, uintptr_t header,
                       const struct alqi_stack_regs *caller)
{
    return alloc_small(d, header, caller);
}

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

alq_value
alqi_heap_alloc(struct alqi_domain *d, uintptr_t header)
{
    if (alqi_heap_words(header) > ALQI_HEAP_CLASS_WORDS_MAX)
        return alloc_old(d, header);
    return alloc_small(d, header, NULL);
}

alq_value
alqi_heap_alloc_custom(struct alqi_domain *d, const struct alq_custom_ops *ops,
                       size_t wosize, struct alqi_heap_held held)
{
    uintptr_t header = ALQ_HEADER(wosize, ALQ_TAG_CUSTOM);
    enum alq_status st = alqi_heap_limit_trigger_external(d, held.bytes);
    alq_value block;

    if (st != ALQ_OK)
        return alqi_heap_fail(d, st);
    block = held.is_old ? alloc_old(d, header) : alqi_heap_alloc(d, header);
    if (block == ALQ_NULL)
        return block;
    ((alqi_heap_word *)block)[0] = (uintptr_t)ops;
    memset((void *)(block + ALQ_WORD_BYTES), 0, (wosize - 1) * ALQ_WORD_BYTES);
    /* Not before: what collects may call the program, which takes the room. */
    if (alqi_heap_is_young(d, block) && !alqi_heap_custom_ready(d))
        return alqi_heap_fail(d, ALQ_ENOMEM);
    d->sums.counts.outside_bytes += held.bytes;
    if (held.bytes > 0)
        alqi_heap_observed_custom(d, block, held.bytes);
    if (alqi_heap_is_young(d, block))
        alqi_heap_custom_young(d, block, ops->finalise != NULL, held);
    else if (held.cost_words >= 1)
        alqi_heap_custom_charge(d, (uint64_t)held.cost_words);
    return block;
}

alq_value
alqi_heap_atom(void)
{
    static const uintptr_t atom[2] = {ALQI_HEAP_COLOUR_STATIC, 0};

    return (alq_value)&atom[1];
}
