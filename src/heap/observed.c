#include "heap/limit.h"
#include "heap/mark.h"
#include "heap/observe.h"
#include "heap/observed.h"
#include "heap/promote.h"

/* ---- trigger ------------------------------------------------------------ */

void
alqi_heap_observed_draw(struct alqi_domain *d)
{
    const struct alqi_heap_observer *to = &d->heap->observer;
    uintptr_t free_words =
        ((uintptr_t)d->pub.young_ptr - d->run_start) / ALQ_WORD_BYTES;
    uint64_t gap;

    d->observed.trigger = 0;
    if (ALQI_LIKELY(to->hooks == NULL) || to->hooks->gap_words == NULL)
        return;
    gap = to->hooks->gap_words(to->client, d);
    ALQI_ASSERT(gap >= 1);
    if (gap <= free_words)
        d->observed.trigger =
            (uintptr_t)d->pub.young_ptr - (gap - 1) * ALQ_WORD_BYTES;
}

enum alq_status
alqi_heap_observed_request(struct alqi_domain *d, const uintptr_t *headers,
                           unsigned n_blocks)
{
    const struct alqi_heap_observer *to = &d->heap->observer;
    uint64_t hit_at =
        ((uintptr_t)d->pub.young_ptr - d->observed.trigger) / ALQ_WORD_BYTES +
        1;
    enum alq_status status;

    d->observed.trigger = 0;
    if (to->hooks == NULL)
        return ALQ_OK; /* it has just stopped */
    status = to->hooks->request(to->client, d, headers, n_blocks, hit_at);
    if (status != ALQ_OK) {
        alqi_heap_observed_draw(d);
        alqi_heap_limit_reset(d);
    }
    return status;
}

void
alqi_heap_observed_request_end(struct alqi_domain *d, uintptr_t low)
{
    if (low != 0)
        ALQI_HEAP_TELL(d, request_done, d, low);
    else
        ALQI_HEAP_TELL(d, request_cancel, d);
    alqi_heap_observed_draw(d);
    alqi_heap_limit_reset(d);
}

/* ---- what the client asks for ------------------------------------------- */

void
alqi_heap_observed_poll(struct alqi_domain *d)
{
    if (__atomic_exchange_n(&d->observed.wants_draw, 0, __ATOMIC_SEQ_CST)) {
        alqi_heap_observed_draw(d);
        alqi_heap_limit_reset(d);
    }
    if (__atomic_exchange_n(&d->observed.wants_poll, 0, __ATOMIC_SEQ_CST)) {
        ALQI_HEAP_TELL(d, poll, d);
        alqi_heap_observed_draw(d);
        alqi_heap_limit_reset(d);
    }
}

void
alqi_heap_observe_redraw_sigsafe(struct alqi_domain *d)
{
    __atomic_store_n(&d->observed.wants_draw, 1, __ATOMIC_SEQ_CST);
    alqi_heap_limit_raise(d);
}

void
alqi_heap_observe_wake_sigsafe(struct alqi_domain *d)
{
    __atomic_store_n(&d->observed.wants_poll, 1, __ATOMIC_SEQ_CST);
    alqi_heap_limit_raise(d);
}

/* ---- start and stop ----------------------------------------------------- */

bool
alqi_heap_observe_start(struct alqi_domain *d,
                        const struct alqi_heap_hooks *hooks, void *client)
{
    if (d->heap->observer.hooks != NULL)
        return false;
    d->heap->observer = (struct alqi_heap_observer){hooks, client};
    alqi_heap_observed_draw(d);
    alqi_heap_limit_reset(d);
    return true;
}

void
alqi_heap_observe_stop(struct alqi_domain *d)
{
    d->heap->observer = (struct alqi_heap_observer){NULL, NULL};
    d->observed.trigger = 0;
    alqi_heap_limit_reset(d);
}

/* ---- questions ---------------------------------------------------------- */

alq_value
alqi_heap_observe_forward(const struct alqi_domain *d, alq_value young)
{
    ALQI_ASSERT(alqi_heap_is_young(d, young));
    return alqi_heap_promoted(young);
}

bool
alqi_heap_observe_is_marked(const struct alqi_domain *d, alq_value old)
{
    ALQI_ASSERT(!alqi_heap_is_young(d, old));
    return !alqi_heap_mark_is_white(d, old);
}
