/* alloc_limit.h -- young_limit, the word that allocation compares with
 *                                                         [doc/design/heap.md]
 *
 * .inv.limit  Any thread may store all ones at any time.  The domain's holder
 *             alone stores other values, here, and then looks for requests, so
 *             no request is lost (tests/models/limit.pml).
 * .pair.limit  alqi_heap_alloc_limit_request() sets a flag, then raises the
 *              limit -> alqi_heap_alloc_limit_reset() stores the limit, then
 *              looks at the flags.  All four are sequentially consistent, so
 *              one of the two sees the other; and the flag is a release, whose
 *              taker sees what it is about (tests/models/limit_weak.pml). */
#ifndef ALQI_HEAP_ALLOC_LIMIT_H
#define ALQI_HEAP_ALLOC_LIMIT_H

#include "heap/limit_trigger_check.h"

/* The host supplies this: whether its code wants to be called at the next poll.
 */
bool alqi_heap_host_wants(const struct alqi_domain *d);

/* Makes the owner's next allocation or poll take the slow path
 * (.pair.limit). */
static inline void
alqi_heap_alloc_limit_raise(struct alqi_domain *d)
{
    __atomic_store_n(&d->pub.young_limit, (char *)UINTPTR_MAX,
                     __ATOMIC_SEQ_CST);
}

/* Requests something of the domain, from any thread or a signal handler.  The
 * flag is set before the limit: an owner that sees the limit finds the flag,
 * and one that overwrites the limit does, too (.pair.limit). */
static inline void
alqi_heap_alloc_limit_request(struct alqi_domain *d, bool *flag)
{
    __atomic_store_n(flag, true, __ATOMIC_SEQ_CST);
    alqi_heap_alloc_limit_raise(d);
}

/* Takes a request: true if there was one.  The flag is cleared before the
 * request is served, so one that comes meanwhile is served, too.  The relaxed
 * load spares the exchange where nothing was requested (.pair.limit). */
static inline bool
alqi_heap_alloc_limit_take(bool *flag)
{
    return __atomic_load_n(flag, __ATOMIC_RELAXED) &&
           __atomic_exchange_n(flag, false, __ATOMIC_SEQ_CST);
}

/* Whether a stop of the world is requested. */
static inline bool
alqi_heap_alloc_limit_is_stop_asked(const struct alqi_domain *d)
{
    return __atomic_load_n(&d->heap->stop.request, __ATOMIC_SEQ_CST) != 0;
}

/* The limit while nothing is requested: the highest of the lower end of the
 * open minor heap, the slice trigger, the sampling trigger and the limit
 * trigger. */
static inline uintptr_t
alqi_heap_alloc_limit_of(const struct alqi_domain *d)
{
    uintptr_t limit = d->young.slice_trigger > d->young.start
                          ? d->young.slice_trigger
                          : d->young.start;
    uintptr_t trigger = ALQI_UNLIKELY(d->limit_trigger.hooks != NULL)
                            ? alqi_heap_limit_trigger_address(d)
                            : 0;

    ALQI_ASSERT(d->observed.trigger == 0 || /* .inv.trigger */
                (d->observed.trigger > d->young.start - ALQ_WORD_BYTES &&
                 d->observed.trigger <= (uintptr_t)d->pub.young_ptr));
    if (limit < d->observed.trigger)
        limit = d->observed.trigger;
    return limit < trigger ? trigger : limit;
}

/* Whether the collector or the sampler wants the next allocation to take the
 * slow path.  The caller has stored the limit before, and overwrites no
 * request (.pair.limit). */
static inline bool
alqi_heap_alloc_limit_is_heap_asked(const struct alqi_domain *d)
{
    return alqi_heap_observe_wants(&d->observed) ||
           __atomic_load_n(&d->requests.want_minor, __ATOMIC_SEQ_CST) ||
           __atomic_load_n(&d->requests.want_slice, __ATOMIC_SEQ_CST) ||
           alqi_heap_alloc_limit_is_stop_asked(d) || d->heap->life.is_lost ||
           __atomic_load_n(&d->requests.want_handshake, __ATOMIC_SEQ_CST) ||
           d->weak_phase.want_calls || ALQI_HEAP_IS_HARD ||
           alqi_heap_is_quiet(d);
}

/* Whether the limit trigger wants it (.pair.limit). */
static inline bool
alqi_heap_alloc_limit_is_permit_asked(const struct alqi_domain *d)
{
    return d->limit_trigger.hooks != NULL &&
           (d->limit_trigger.asks ||
            __atomic_load_n(&d->requests.want_notice, __ATOMIC_SEQ_CST));
}

/* Whether anything of the heap's wants it. */
static inline bool
alqi_heap_alloc_limit_is_asked(const struct alqi_domain *d)
{
    return alqi_heap_alloc_limit_is_heap_asked(d) ||
           alqi_heap_alloc_limit_is_permit_asked(d);
}

/* Computes the limit anew, then raises it again if anything is requested.
 *
 * The owner calls it after everything that may have lowered the limit
 * (.pair.limit). */
static inline void
alqi_heap_alloc_limit_reset(struct alqi_domain *d)
{
    uintptr_t limit = alqi_heap_alloc_limit_of(d);

    __atomic_store_n(&d->pub.young_limit, (char *)limit, __ATOMIC_SEQ_CST);
    if (alqi_heap_alloc_limit_is_asked(d) ||
        (ALQI_HOSTS_OCAML && alqi_heap_host_wants(d)))
        alqi_heap_alloc_limit_raise(d);
}

/* As alqi_heap_alloc_limit_reset, but for a trigger that has moved since the
 * last reset, and nothing else.
 *
 * A limit that is not all ones says that nothing is requested, so the flags
 * need no look.  A request that comes meanwhile makes the compare and swap
 * fail, and then the whole reset runs (.inv.limit, .pair.limit). */
static inline void
alqi_heap_alloc_limit_move(struct alqi_domain *d)
{
    char *was = __atomic_load_n(&d->pub.young_limit, __ATOMIC_RELAXED);

    if (ALQI_UNLIKELY(was == (char *)UINTPTR_MAX) || ALQI_HEAP_IS_HARD ||
        !__atomic_compare_exchange_n(&d->pub.young_limit, &was,
                                     (char *)alqi_heap_alloc_limit_of(d), false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        alqi_heap_alloc_limit_reset(d);
}

#endif
