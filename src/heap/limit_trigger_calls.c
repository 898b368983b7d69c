/* limit_trigger_calls.c -- the slow side of the limit trigger
 *
 *   down (no hooks) -> up at a position -> asking each time -> down ...
 *
 * The trigger is up only while the thread that set it runs the domain: a thread
 * that leaves takes it down, and `enter` of its hooks puts it up again.  While
 * a thread's limit_trigger_held is not 0 its calls ask for nothing.
 *
 * Keeps .inv.limit_trigger: No block passes the position unless permit returned
 *   ALQ_OK.
 * Keeps .inv.limit: A wake-up sets want_notice, then raises the limit. */
#include "heap/limit_trigger_check.h"
#include "heap/alloc_limit.h"

uint64_t
alqi_heap_limit_trigger_position(const struct alqi_domain *d)
{
    return alqi_heap_limit_trigger_reached(d);
}

/* Whether young_limit already is where the trigger needs it.
 *
 * A limit that is not all ones says that nothing is requested (.inv.limit).  A
 * notice is looked at all the same: one may have come while the trigger was
 * down, when no reset looks for it (.pair.limit). */
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

/* Puts the trigger up or takes it down, for the calling thread and its domain.
 * The limit is reset only if it has to move: tasks switch often. */
void
alqi_heap_limit_trigger_set(struct alqi_domain *d,
                            const struct alqi_heap_limit_trigger_hooks *hooks,
                            void *arg, uint64_t at_words, bool asks)
{
    /* .inv.limit_trigger: a thread puts up its own. */
    ALQI_ASSERT(alqi_heap_thread_current == d);
    d->threads.running->limit_trigger = hooks;
    d->threads.running->limit_trigger_arg = arg;
    d->limit_trigger.hooks = hooks;
    d->limit_trigger.arg = arg;
    d->limit_trigger.at_words = at_words;
    d->limit_trigger.asks = asks;
    if (!is_placed(d))
        alqi_heap_alloc_limit_reset(d);
}

/* Requests a call of `notice`, from any thread or handler. */
void
alqi_heap_limit_trigger_wake_sigsafe(struct alqi_domain *d)
{
    alqi_heap_alloc_limit_request(d, &d->requests.want_notice);
}

/* After an allocation in the major heap: a notice is due, and the trigger's
 * address, which is relative to young_ptr, is as much nearer. */
void
alqi_heap_limit_trigger_advance_slow(struct alqi_domain *d)
{
    alqi_heap_limit_trigger_note_growth(d);
    alqi_heap_alloc_limit_reset(d);
}

/* Asks for memory outside, in words, rounded up without wrapping. */
enum alq_status
alqi_heap_limit_trigger_external_slow(struct alqi_domain *d, size_t bytes,
                                      uint64_t *samples)
{
    /* .inv.limit_trigger */
    ALQI_ASSERT(d->limit_trigger.hooks == d->threads.running->limit_trigger);
    if (d->threads.running->limit_trigger_held > 0)
        return ALQ_OK;
    return d->limit_trigger.hooks->outside(
        d->limit_trigger.arg,
        bytes / ALQ_WORD_BYTES + (bytes % ALQ_WORD_BYTES != 0), samples);
}

/* Gives the notice that is due, then asks for a permit if the trigger asks each
 * time or `words` pass the position.  The hooks are read again behind notice,
 * which may have taken the trigger down. */
enum alq_status
alqi_heap_limit_trigger_check_slow(struct alqi_domain *d, uint64_t words)
{
    const struct alqi_heap_limit_trigger_hooks *hooks = d->limit_trigger.hooks;

    /* .inv.limit_trigger: it is that of the thread that runs the domain. */
    ALQI_ASSERT(hooks == d->threads.running->limit_trigger);
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
