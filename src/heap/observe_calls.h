/* observe_calls.h -- the calls from the collector to its client
 * [heap/observe.h] */
#ifndef ALQI_HEAP_OBSERVE_CALLS_H
#define ALQI_HEAP_OBSERVE_CALLS_H

#include "heap/alloc_limit.h"
#include "heap/state.h"

#define ALQI_HEAP_NOTIFY(d, hook, ...)                                         \
    do {                                                                       \
        const struct alqi_heap_observer *to = &(d)->heap->observer;            \
                                                                               \
        if (ALQI_UNLIKELY(to->hooks != NULL) && to->hooks->hook != NULL)       \
            to->hooks->hook(to->client, __VA_ARGS__);                          \
    } while (0)

static inline void
alqi_heap_observed_scan(struct alqi_domain *d, bool young_only,
                        alqi_heap_observe_visit_fn *visit, void *arg)
{
    ALQI_HEAP_NOTIFY(d, scan, d, young_only, visit, arg);
}

static inline void
alqi_heap_observed_weak(struct alqi_domain *d,
                        alqi_heap_observe_visit_fn *visit, void *arg)
{
    ALQI_HEAP_NOTIFY(d, weak, d, visit, arg);
}

static inline void
alqi_heap_observed_after_minor(struct alqi_domain *d)
{
    ALQI_HEAP_NOTIFY(d, after_minor, d);
}

static inline void
alqi_heap_observed_after_major_stw(struct alqi_domain *d)
{
    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    ALQI_HEAP_NOTIFY(d, after_major, d);
}

static inline void
alqi_heap_observed_direct(struct alqi_domain *d, alq_value block,
                          uintptr_t header)
{
    ALQI_HEAP_NOTIFY(d, direct, d, block, header);
}

static inline void
alqi_heap_observed_unmarshal(struct alqi_domain *d, alq_value block,
                             uintptr_t header)
{
    ALQI_HEAP_NOTIFY(d, unmarshal, d, block, header);
}

static inline void
alqi_heap_observed_custom(struct alqi_domain *d, alq_value block, size_t bytes)
{
    ALQI_HEAP_NOTIFY(d, custom, d, block, bytes);
}

/* False: the domain cannot start. */
static inline bool
alqi_heap_observed_domain_start(struct alqi_domain *d, struct alqi_domain *by)
{
    const struct alqi_heap_observer *to = &d->heap->observer;

    return ALQI_LIKELY(to->hooks == NULL) || to->hooks->domain_start == NULL ||
           to->hooks->domain_start(to->client, d, by);
}

static inline void
alqi_heap_observed_domain_end(struct alqi_domain *d)
{
    ALQI_HEAP_NOTIFY(d, domain_end, d);
}

static inline void
alqi_heap_observed_thread_end(struct alqi_domain *d, struct alq_thread *thread)
{
    ALQI_HEAP_NOTIFY(d, thread_end, d, thread);
    if (d->observed.drawn_for == thread)
        d->observed.drawn_for = NULL; /* another may get its address */
}

static inline void
alqi_heap_observed_heap_end(struct alqi_heap *heap)
{
    const struct alqi_heap_observer *to = &heap->observer;

    if (to->hooks != NULL && to->hooks->heap_end != NULL)
        to->hooks->heap_end(to->client);
}

/* A thread begins to run the domain: what was drawn for another is void. */
static inline void
alqi_heap_observed_switch(struct alqi_domain *d)
{
    if (ALQI_UNLIKELY(d->heap->observer.hooks != NULL) &&
        d->observed.drawn_for != d->threads.running)
        alqi_heap_observe_redraw_sigsafe(d);
}

/* Whether an allocation of so many words runs over the trigger. */
static inline bool
alqi_heap_observed_is_sampled(const struct alqi_domain *d, size_t words)
{
    return ALQI_UNLIKELY((uintptr_t)d->pub.young_ptr - words * ALQ_WORD_BYTES <
                         d->observed.trigger);
}

/* Draws a trigger, when there is a client; before the limit is computed. */
void alqi_heap_observed_draw(struct alqi_domain *d);
/* The minor heap has got larger, below `start`, until where it was drawn. */
void alqi_heap_observed_draw_below(struct alqi_domain *d, uintptr_t start);

/* Draws anew, if the client has asked for that. */
void alqi_heap_observed_redraw(struct alqi_domain *d);

/* Does what the client has asked for; not ALQ_OK: the poll fails with that. */
enum alq_status alqi_heap_observed_poll(struct alqi_domain *d);

/* So many words from `at` on, if so many are free. */
static inline void
alqi_heap_observed_trigger_set(struct alqi_domain *d, uintptr_t at,
                               uint64_t gap)
{
    ALQI_ASSERT(gap >= 1); /* .inv.trigger */
    d->observed.trigger = gap <= (at - d->young.start) / ALQ_WORD_BYTES
                              ? at - (gap - 1) * ALQ_WORD_BYTES
                              : 0;
}

/* Nothing is asked for, and the words are there, a slice not being due. */
static inline bool
alqi_heap_observed_is_undisturbed(const struct alqi_domain *d, size_t words)
{
    uintptr_t low = (uintptr_t)d->pub.young_ptr - words * ALQ_WORD_BYTES;

    return (uintptr_t)__atomic_load_n(&d->pub.young_limit, __ATOMIC_RELAXED) !=
               UINTPTR_MAX &&
           low >= d->young.start && low >= d->young.slice_trigger &&
           (d->limit_trigger.hooks == NULL ||
            low >= alqi_heap_limit_trigger_address(d));
}

/* The trigger, as a request's sample_at; it is off afterwards. */
static inline uint64_t
alqi_heap_observed_sample_take(struct alqi_domain *d)
{
    uint64_t words =
        ((uintptr_t)d->pub.young_ptr - d->observed.trigger) / ALQ_WORD_BYTES;

    ALQI_ASSERT(d->observed.trigger > d->young.start &&
                d->observed.trigger <=
                    (uintptr_t)d->pub.young_ptr); /* .inv.trigger */
    d->observed.trigger = 0;
    return words + 1;
}

/* A request is over, and this is the next interval. */
static inline void
alqi_heap_observed_sample_end(struct alqi_domain *d, uint64_t gap)
{
    d->observed.drawn_for = d->threads.running;
    alqi_heap_observed_trigger_set(d, (uintptr_t)d->pub.young_ptr, gap);
    alqi_heap_alloc_limit_move(d);
}

/* Asks the client, whose callbacks may allocate: the limit leaves the trigger,
 * which is off afterwards, so that they do it inline.  Then one of the three
 * below. */
static inline enum alq_status
alqi_heap_observed_request(struct alqi_domain *d, const uintptr_t *headers,
                           unsigned n_blocks,
                           const struct alqi_stack_regs *caller)
{
    const struct alqi_heap_observer *to = &d->heap->observer;
    uint64_t sample_at = alqi_heap_observed_sample_take(d);

    if (ALQI_UNLIKELY(to->hooks == NULL))
        return ALQ_OK; /* it has just stopped */
    alqi_heap_alloc_limit_move(d);
    return to->hooks->request(to->client, d, headers, n_blocks, sample_at,
                              caller);
}

/* The client refused the request. */
void alqi_heap_observed_request_refused(struct alqi_domain *d);
/* The heap has no memory for the blocks of a request that the client granted.
 */
void alqi_heap_observed_request_cancel(struct alqi_domain *d);

/* `low` is where the last block's header will be. */
static inline void
alqi_heap_observed_request_done(struct alqi_domain *d, uintptr_t low)
{
    const struct alqi_heap_observer *to = &d->heap->observer;

    if (ALQI_UNLIKELY(to->hooks == NULL)) {
        alqi_heap_observed_request_cancel(d);
        return;
    }
    alqi_heap_observed_sample_end(d,
                                  to->hooks->request_done(to->client, d, low));
}

#endif
