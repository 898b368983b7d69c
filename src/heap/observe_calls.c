/* observe_calls.c -- the collector's side of a client (observe.h)
 *
 * The trigger of a domain is drawn at the client's demand, and is off (0) while
 * the client handles a request.  A client is installed in a stop, in which it
 * is notified of each domain; it ends with a plain store, while no other domain
 * runs.
 *
 * Keeps .inv.trigger: 0, or the sampled word lies right below it, and is free.
 * Keeps .inv.once: The client may ask once a collection where a block is. */
#include "heap/alloc_limit.h"
#include "heap/hosted.h"
#include "heap/major_mark.h"
#include "heap/observe.h"
#include "heap/observe_calls.h"
#include "heap/minor_promote.h"
#include "heap/stop.h"

/* ---- trigger ------------------------------------------------------------ */

/* Draws the sampling interval for the running thread and sets the trigger so
 * far below `at`.  Requires that the trigger is 0; it stays so if the client
 * does not sample. */
static void
draw_from(struct alqi_domain *d, uintptr_t at)
{
    const struct alqi_heap_observer *to = &d->heap->observer;

    ALQI_ASSERT(d->observed.trigger == 0); /* .inv.trigger: none is dropped */
    if (ALQI_LIKELY(to->hooks == NULL) || to->hooks->skip_words == NULL)
        return;
    d->observed.drawn_for = d->threads.running;
    alqi_heap_observed_trigger_set(d, at, to->hooks->skip_words(to->client, d));
}

/* Draws a trigger anew from young_ptr on.  The interval is memoryless, so
 * dropping the old one changes no distribution. */
void
alqi_heap_observed_draw(struct alqi_domain *d)
{
    d->observed.trigger = 0;
    draw_from(d, (uintptr_t)d->pub.young_ptr);
}

/* Draws a trigger for the piece that the minor heap has got below `start`, if
 * the one drawn before reached beyond its old end. */
void
alqi_heap_observed_draw_below(struct alqi_domain *d, uintptr_t start)
{
    if (d->observed.trigger == 0)
        draw_from(d, start);
}

/* Draws a trigger after the client has refused the allocation. */
void
alqi_heap_observed_request_refused(struct alqi_domain *d)
{
    alqi_heap_observed_draw(d);
    alqi_heap_alloc_limit_reset(d);
}

void
alqi_heap_observed_request_cancel(struct alqi_domain *d)
{
    ALQI_HEAP_NOTIFY(d, request_cancel, d);
    alqi_heap_observed_draw(d);
    alqi_heap_alloc_limit_reset(d);
}

/* ---- what the client asks for ------------------------------------------- */

/* Draws a trigger anew if that was asked for.  The request is taken first: one
 * that comes meanwhile is served at the next poll. */
void
alqi_heap_observed_redraw(struct alqi_domain *d)
{
    if (!__atomic_exchange_n(&d->observed.wants_draw, 0, __ATOMIC_SEQ_CST))
        return;
    alqi_heap_observed_draw(d);
    alqi_heap_alloc_limit_reset(d);
}

/* Lets the client do what waits for the domain's thread; its status is that of
 * the poll.  The trigger is drawn anew: the client may have allocated, with its
 * own words not sampled. */
enum alq_status
alqi_heap_observed_poll(struct alqi_domain *d)
{
    const struct alqi_heap_observer *to = &d->heap->observer;
    enum alq_status status = ALQ_OK;

    if (!__atomic_exchange_n(&d->observed.wants_poll, 0, __ATOMIC_SEQ_CST))
        return ALQ_OK;
    if (!ALQI_HOSTS_OCAML && to->hooks != NULL && to->hooks->poll != NULL)
        status = to->hooks->poll(to->client, d);
    alqi_heap_observed_draw(d);
    if (ALQI_HOSTS_OCAML) { /* drawing may have asked for a poll again */
        __atomic_store_n(&d->observed.wants_poll, 0, __ATOMIC_SEQ_CST);
        alqi_heap_host_owes(d);
    }
    alqi_heap_alloc_limit_reset(d);
    return status;
}

void
alqi_heap_observe_redraw_sigsafe(struct alqi_domain *d)
{
    __atomic_store_n(&d->observed.wants_draw, 1, __ATOMIC_SEQ_CST);
    alqi_heap_alloc_limit_raise(d);
}

void
alqi_heap_observe_wake_sigsafe(struct alqi_domain *d)
{
    __atomic_store_n(&d->observed.wants_poll, 1, __ATOMIC_SEQ_CST);
    alqi_heap_alloc_limit_raise(d);
}

/* ---- start and stop ----------------------------------------------------- */

/* What alqi_heap_observe_start() passes to its stop, and the stop's result. */
struct start {
    const struct alqi_heap_hooks *hooks;
    void *client;
    enum alq_status status;
};

/* Notifies the client of each domain; false: it has no memory for one of them,
 * and *n is that one's slot. */
static bool
tell_of_domains(struct alqi_heap *heap, unsigned *n)
{
    for (*n = 0; *n < heap->n_slots; ++*n)
        if (alqi_heap_is_there(heap->domains[*n]) &&
            !alqi_heap_observed_domain_start(heap->domains[*n], NULL))
            return false;
    return true;
}

/* Installs the client, in a stop.  If one of the domains cannot be observed,
 * those before it are ended again, and the heap has no client. */
static void
start_begin(struct alqi_domain *leader)
{
    struct alqi_heap *heap = leader->heap;
    struct start *s = leader->stop_arg;
    unsigned n;

    s->status = ALQ_EBUSY;
    if (heap->observer.hooks != NULL)
        return;
    heap->observer = (struct alqi_heap_observer){s->hooks, s->client};
    s->status = ALQ_OK;
    if (tell_of_domains(heap, &n))
        return;
    s->status = ALQ_ENOMEM;
    while (n-- > 0)
        if (alqi_heap_is_there(heap->domains[n]))
            alqi_heap_observed_domain_end(heap->domains[n]);
    heap->observer = (struct alqi_heap_observer){NULL, NULL};
}

static const struct alqi_heap_stop_work *
start_last(struct alqi_domain *self)
{
    (void)self;
    return NULL;
}

/* Installs a client.  ALQ_EBUSY: the heap has one; ALQ_ENOMEM.  Other domains
 * draw their triggers when the client asks them to. */
enum alq_status
alqi_heap_observe_start(struct alqi_domain *d,
                        const struct alqi_heap_hooks *hooks, void *client)
{
    static const struct alqi_heap_stop_work work = {.begin = start_begin,
                                                    .last = start_last};
    struct start s = {hooks, client, ALQ_OK};

    d->stop_arg = &s;
    while (!alqi_heap_stop_try(d, &work))
        continue;
    if (s.status == ALQ_OK) {
        alqi_heap_observed_draw(d);
        alqi_heap_alloc_limit_reset(d);
    }
    return s.status;
}

void
alqi_heap_observe_stop(struct alqi_domain *d)
{
    d->heap->observer = (struct alqi_heap_observer){NULL, NULL};
    d->observed.trigger = 0;
    alqi_heap_alloc_limit_reset(d);
}

/* ---- questions ---------------------------------------------------------- */

/* Where a young block is now; ALQ_NULL: it is dead.  Valid in after_minor,
 * while old places can be read. */
alq_value
alqi_heap_observe_forward(const struct alqi_domain *d, alq_value young)
{
    ALQI_ASSERT(alqi_heap_is_young(d, young)); /* .inv.once: then after_major */
    /* .inv.private: alone, a domain asks for blocks of its own. */
    ALQI_ASSERT(!d->young.is_local ||
                young - d->sizes.base < ALQI_HEAP_MINOR_BYTES_MAX);
    return alqi_heap_promoted(young);
}

/* Whether an old block lives.  Valid in after_major, before the colours
 * rotate. */
bool
alqi_heap_observe_is_marked(const struct alqi_domain *d, alq_value old)
{
    ALQI_ASSERT(!alqi_heap_is_young(d, old)); /* .inv.once: then after_minor */
    ALQI_ASSERT(d->heap->weak_phase.step ==
                ALQI_HEAP_WEAK_PHASE_DONE); /* .inv.phase: all is marked */
    return !alqi_heap_mark_is_white(d, old);
}
