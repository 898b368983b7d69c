/* fence_calls.c -- see fence.h */
#include "heap/fenced.h"
#include "heap/limit.h"

uint64_t
alqi_heap_fence_position(const struct alqi_domain *d)
{
    return alqi_heap_fenced_position(d);
}

/* Whether the limit is what the fence wants it to be.  One that is not all ones
 * says that nobody asked for anything else (.inv.limit); for a notice somebody
 * may have while the fence was down. */
static bool
is_placed(const struct alqi_domain *d)
{
    uintptr_t limit =
        (uintptr_t)__atomic_load_n(&d->pub.young_limit, __ATOMIC_SEQ_CST);
    bool is_up = d->fence.hooks != NULL;

    if (is_up &&
        (d->fence.asks || __atomic_load_n(&d->want_notice, __ATOMIC_SEQ_CST)))
        return limit == UINTPTR_MAX;
    return limit == alqi_heap_limit_of(d);
}

void
alqi_heap_fence_set(struct alqi_domain *d,
                    const struct alqi_heap_fence_hooks *hooks, void *arg,
                    uint64_t at_words, bool asks)
{
    d->threads.running->fence = hooks;
    d->threads.running->fence_arg = arg;
    d->fence.hooks = hooks;
    d->fence.arg = arg;
    d->fence.at_words = at_words;
    d->fence.asks = asks;
    if (!is_placed(d))
        alqi_heap_limit_reset(d);
}

void
alqi_heap_fence_wake_sigsafe(struct alqi_domain *d)
{
    alqi_heap_limit_want(d, &d->want_notice);
}

void
alqi_heap_fenced_nears_slow(struct alqi_domain *d)
{
    alqi_heap_fenced_grows(d);
    alqi_heap_limit_reset(d);
}

enum alq_status
alqi_heap_fenced_outside_slow(struct alqi_domain *d, size_t bytes)
{
    if (d->threads.running->fence_held > 0)
        return ALQ_OK;
    return d->fence.hooks->outside(
        d->fence.arg, bytes / ALQ_WORD_BYTES + (bytes % ALQ_WORD_BYTES != 0));
}

enum alq_status
alqi_heap_fenced_pass_slow(struct alqi_domain *d, uint64_t words)
{
    const struct alqi_heap_fence_hooks *hooks = d->fence.hooks;

    if (d->threads.running->fence_held > 0)
        return ALQ_OK;
    if (alqi_heap_limit_take(&d->want_notice)) {
        hooks->notice(d->fence.arg);
        hooks = d->fence.hooks;
    }
    if (hooks != NULL &&
        (d->fence.asks || (words > 0 && alqi_heap_fenced_position(d) + words >
                                            d->fence.at_words)))
        return hooks->permit(d->fence.arg, words);
    return ALQ_OK;
}
