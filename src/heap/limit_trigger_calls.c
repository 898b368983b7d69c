/* limit_trigger_calls.c -- the slow side of the limit trigger
 *
 * States: down (no hooks), up at a position, asking each time.  It is up
 * only while the thread that set it runs the domain.
 *
 * Keeps .inv.limit_trigger: No block passes the position unless permit
 *   returned ALQ_OK.
 * Keeps .inv.limit: A wake-up sets want_notice, then raises the limit. */
#include "heap/limit_trigger_check.h"
#include "heap/alloc_limit.h"

uint64_t
alqi_heap_limit_trigger_position(const struct alqi_domain *d)
{
    return alqi_heap_limit_trigger_reached(d);
}

/* Whether the limit is what the fence wants it to be.  One that is not all ones
 * says that nobody asked for anything else (.inv.limit); for a notice somebody
 * may have while the fence was down. */
static bool
is_placed(const struct alqi_domain *d)
{
    uintptr_t limit =
        (uintptr_t)__atomic_load_n(&d->pub.young_limit, __ATOMIC_SEQ_CST);
    bool is_up = d->limit_trigger.hooks != NULL;

    if (is_up && (d->limit_trigger.asks ||
                  __atomic_load_n(&d->requests.want_notice, __ATOMIC_SEQ_CST)))
        return limit == UINTPTR_MAX;
    return limit == alqi_heap_alloc_limit_of(d);
}

void
alqi_heap_limit_trigger_set(struct alqi_domain *d,
                            const struct alqi_heap_limit_trigger_hooks *hooks,
                            void *arg, uint64_t at_words, bool asks)
{
    d->threads.running->limit_trigger = hooks;
    d->threads.running->limit_trigger_arg = arg;
    d->limit_trigger.hooks = hooks;
    d->limit_trigger.arg = arg;
    d->limit_trigger.at_words = at_words;
    d->limit_trigger.asks = asks;
    if (!is_placed(d))
        alqi_heap_alloc_limit_reset(d);
}

void
alqi_heap_limit_trigger_wake_sigsafe(struct alqi_domain *d)
{
    alqi_heap_alloc_limit_request(d, &d->requests.want_notice);
}

void
alqi_heap_limit_trigger_advance_slow(struct alqi_domain *d)
{
    alqi_heap_limit_trigger_note_growth(d);
    alqi_heap_alloc_limit_reset(d);
}

enum alq_status
alqi_heap_limit_trigger_external_slow(struct alqi_domain *d, size_t bytes)
{
    if (d->threads.running->limit_trigger_held > 0)
        return ALQ_OK;
    return d->limit_trigger.hooks->outside(d->limit_trigger.arg,
                                           bytes / ALQ_WORD_BYTES +
                                               (bytes % ALQ_WORD_BYTES != 0));
}

enum alq_status
alqi_heap_limit_trigger_check_slow(struct alqi_domain *d, uint64_t words)
{
    const struct alqi_heap_limit_trigger_hooks *hooks = d->limit_trigger.hooks;

    if (d->threads.running->limit_trigger_held > 0)
        return ALQ_OK;
    if (alqi_heap_alloc_limit_take(&d->requests.want_notice)) {
        hooks->notice(d->limit_trigger.arg);
        hooks = d->limit_trigger.hooks;
    }
    if (hooks != NULL &&
        (d->limit_trigger.asks ||
         (words > 0 && alqi_heap_limit_trigger_reached(d) + words >
                           d->limit_trigger.at_words)))
        return hooks->permit(d->limit_trigger.arg, words);
    return ALQ_OK;
}
