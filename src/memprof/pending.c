/* pending.c -- callbacks that wait, and when they run
 *
 *     due       until the callback that is running has ended
 *     pending   notified: until a flush (ALQ_MEMPROF_DEFER)
 *               scanned: until a poll
 *     deferred  scanned: until a flush (ALQ_MEMPROF_DEFER)
 *
 * These FIFOs belong to a thread.  An entry on `due` is dead and has no other
 * holder.  An entry on `pending` is dead, too, or its alloc callback is due;
 * then the index may have it as well, and what is next is decided under the
 * shard's lock.  The domain's FIFOs hold dead entries of ended threads, and
 * what a collection found.
 *
 *     thread's end --give--> domain's FIFOs --next flush or poll--> a thread's
 *
 * Keeps .inv.once, .inv.nest, .inv.two, .inv.owner; .prop.short
 * (doc/design/memprof.md). */
#include "memprof/callback.h"
#include "memprof/fifo.h"
#include "memprof/index.h"
#include "memprof/orphan.h"
#include "memprof/pending.h"
#include "memprof/pool.h"
#include "memprof/state.h"
#include "memprof/scan_run.h"
#include "memprof/stash.h"

void
alqi_pending_dead(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    alqi_fifo_push(alqi_profile_defers(e->profile) ? &t->pending : &t->due, e);
}

void
alqi_pending_push(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    alqi_fifo_push(alqi_profile_defers(e->profile) ? &t->deferred : &t->pending,
                   e);
}

void
alqi_pending_dead_chain(struct alqi_memprof_thread *t,
                        struct alqi_memprof_entry *chain)
{
    while (chain != NULL) {
        struct alqi_memprof_entry *next = chain->chain;

        alqi_pending_dead(t, chain);
        chain = next;
    }
}

void
alqi_pending_release_chain(struct alqi_memprof_thread *t,
                           struct alqi_memprof_entry *chain)
{
    while (chain != NULL) {
        struct alqi_memprof_entry *next = chain->chain;

        /* The profile is discarded: the last callback is `release`. */
        alqi_fifo_push(&t->due, chain);
        chain = next;
    }
}

void
alqi_pending_run_due(struct alqi_memprof_thread *t)
{
    struct alqi_memprof_entry *e;

    while ((e = alqi_fifo_pop(&t->due)) != NULL)
        alqi_callback_dealloc(t, e);
}

/* ---- deferred ones ------------------------------------------------------ */

/* Ends an entry that the index left to this thread (DEAD, FREE). */
static void
finish(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e,
       enum alqi_index_next next)
{
    switch (next) {
    case ALQI_NEXT_DEAD:
        alqi_callback_dealloc(t, e);
        return;
    case ALQI_NEXT_FREE:
        alqi_entry_release(t, e);
        return;
    case ALQI_NEXT_RUN:
    case ALQI_NEXT_KEEP:
    case ALQI_NEXT_LEFT:
        return;
    }
}

/* Runs what one entry owes.  In a notified heap the shard's lock decides
 * whether its alloc callback may still run (.inv.two). */
static void
run_one(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    enum alqi_index_next next;
    const uintptr_t *frames;
    uintptr_t data = 0;
    size_t n_frames;
    bool keep;

    if (e->birth & ALQI_BIRTH_SCANNED) {
        alqi_scan_run(t, e);
        return;
    }
    next = alqi_index_begin_deferred(e);
    if (next != ALQI_NEXT_RUN) {
        finish(t, e, next);
        return;
    }
    frames = alqi_stash_take(t, e, &n_frames);
    keep = alqi_callback_alloc(t, e, ALQI_CALLBACK_ALLOC_DEFERRED, frames,
                               n_frames, &data);
    alqi_stash_release(t, frames, n_frames);
    finish(t, e, alqi_index_alloc_ran(e, keep, data));
}

/* Whether the scanned block died and nothing else is due: the usual entry. */
static inline bool
is_death(const struct alqi_memprof_entry *e)
{
    enum {
        LOOKED_AT = ALQI_ENTRY_ALLOC_DUE | ALQI_ENTRY_MOVED | ALQI_ENTRY_GONE |
                    ALQI_ENTRY_DEAD | ALQI_ENTRY_DATUM
    };

    return (e->birth & ALQI_BIRTH_SCANNED) &&
           (e->flags & LOOKED_AT) == (ALQI_ENTRY_DEAD | ALQI_ENTRY_DATUM);
}

/* Runs what is due for the entry, and what becomes due by that. */
static inline void
run_next(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    if (ALQI_LIKELY(is_death(e)))
        alqi_callback_dealloc(t, e);
    else
        run_one(t, e);
    if (ALQI_UNLIKELY(t->due.head != NULL))
        alqi_pending_run_due(t);
}

/* ---- deaths, the fast path - -----------------------------------------------
 *
 * Most of what a collection leaves: what run_next does with each, where nothing
 * is to be told to limits.
 */

static inline bool
is_only_death(const struct alqi_memprof_entry *e)
{
    return is_death(e) &&
           alqi_profile_status(e->profile) != ALQI_PROFILE_DISCARDED;
}

/* Runs the dealloc callback; false: it failed, or `due` has entries to run
 * first. */
static inline bool
run_death(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    const struct alq_tracker *tracker = &e->profile->tracker;
    int (*fn)(void *, uintptr_t) = (e->flags & ALQI_ENTRY_YOUNG)
                                       ? tracker->dealloc_minor
                                       : tracker->dealloc_major;
    int code;

    e->flags &= (uint16_t)~ALQI_ENTRY_DATUM;
    if (fn == NULL)
        return true;
    alqi_callback_enter(t, e, ALQI_CALLBACK_LAST);
    code = fn(tracker->arg, e->data);
    alqi_callback_leave(t);
    if (ALQI_UNLIKELY(code < 0))
        alqi_callback_failed(t, e->profile, code);
    return ALQI_LIKELY(code >= 0 && t->due.head == NULL);
}

/* Runs the deaths at the FIFO's head. */
static void
run_deaths(struct alqi_memprof_thread *t, struct alqi_entry_fifo *f)
{
    /* Nothing arms the thread meanwhile. */
    const struct alqi_memprof_client *c =
        t->armed.is_immediate ? &t->armed.client[0] : NULL;
    struct alqi_memprof_entry *e;
    bool goes_on = true;

    while (goes_on && (e = f->head) != NULL && is_only_death(e)) {
        struct alq_profile *p = e->profile;

        alqi_fifo_pop(f);
        goes_on = run_death(t, e);
        ALQI_ASSERT(
            !(e->birth & ALQI_BIRTH_STASH)); /* its alloc callback has run */
        alqi_pool_put(t, e);
        if (ALQI_LIKELY(c != NULL && c->profile == p))
            alqi_cell_leave(p, c->cell);
        else
            alqi_client_leave(t, p);
    }
}

/* Runs one entry at least; false: there is none. */
static bool
run_some(struct alqi_memprof_thread *t, struct alqi_entry_fifo *f)
{
    struct alqi_memprof_entry *e = f->head;

    if (e == NULL)
        return false;
    if (alqi_memprof_subject_limits(t->domain->subject) == NULL &&
        is_only_death(e)) {
        run_deaths(t, f);
        alqi_pending_run_due(t);
    } else {
        run_next(t, alqi_fifo_pop(f));
    }
    return true;
}

static bool
alloc_is_due(struct alqi_memprof_entry *e)
{
    if (e->birth & ALQI_BIRTH_SCANNED)
        return e->flags & ALQI_ENTRY_ALLOC_DUE;
    return alqi_index_alloc_is_due(e);
}

/* Goes round once: the FIFO is whole whenever a callback ends the thread. */
static void
run_allocs(struct alqi_memprof_thread *t, struct alqi_entry_fifo *f)
{
    struct alqi_memprof_entry *last = f->tail, *e;
    bool at_end = last == NULL;

    while (!at_end) {
        e = alqi_fifo_pop(f);
        at_end = e == last;
        if (alloc_is_due(e))
            run_one(t, e);
        else
            alqi_fifo_push(f, e);
        alqi_pending_run_due(t);
    }
}

void
alqi_pending_run_allocs(struct alqi_memprof_thread *t)
{
    run_allocs(t, &t->pending);
    run_allocs(t, &t->deferred);
}

static void
put_first(struct alqi_entry_fifo *f, struct alqi_entry_fifo *first)
{
    alqi_fifo_append(first, f);
    *f = *first;
}

/* Puts what ended threads and domains have left in front of `pending`. */
static void
steal_left(struct alqi_memprof_thread *t)
{
    struct alqi_memprof_domain *d = t->domain;
    struct alqi_entry_fifo left;

    alqi_orphans_adopt(d);
    if (!atomic_load_explicit(&d->has_pending, memory_order_relaxed))
        return;
    alqi_domain_lock(d);
    left = d->pending;
    d->pending = (struct alqi_entry_fifo){NULL, NULL};
    atomic_store_explicit(&d->has_pending, false, memory_order_relaxed);
    alqi_domain_unlock(d);
    put_first(&t->pending, &left);
}

/* Takes no lock: a scanned domain's own threads and collections alone use
 * it. */
static void
steal_deferred(struct alqi_memprof_thread *t)
{
    struct alqi_entry_fifo left = t->domain->deferred;

    if (left.head == NULL)
        return;
    t->domain->deferred = (struct alqi_entry_fifo){NULL, NULL};
    put_first(&t->deferred, &left);
}

static bool
has_more(const struct alqi_memprof_thread *t)
{
    return t->deferred.head != NULL || t->domain->deferred.head != NULL ||
           atomic_load_explicit(&t->domain->has_pending, memory_order_relaxed);
}

void
alqi_pending_run_all(struct alqi_memprof_thread *t)
{
    do {
        steal_left(t);
        steal_deferred(t);
        while (run_some(t, &t->pending) || run_some(t, &t->deferred))
            continue;
        /* callbacks may have collected, and found deaths */
    } while (has_more(t));
}

void
alqi_pending_run_limits(struct alqi_memprof_thread *t)
{
    struct alqi_entry_fifo left = {NULL, NULL};
    struct alqi_memprof_entry *e;

    steal_left(t);
    while ((e = alqi_fifo_pop(&t->pending)) != NULL) {
        if (alqi_profile_is_of_limits(e->profile))
            alqi_scan_run(t, e);
        else
            alqi_fifo_push(&left, e);
    }
    t->pending = left;
}

void
alqi_pending_run_polled(struct alqi_memprof_thread *t)
{
    do {
        steal_left(t);
        while (t->failure == 0 && run_some(t, &t->pending))
            continue;
    } while (t->failure == 0 && atomic_load_explicit(&t->domain->has_pending,
                                                     memory_order_relaxed));
}

void
alqi_pending_hand_over(struct alqi_memprof_thread *t)
{
    struct alqi_entry_fifo dead = {NULL, NULL}, deferred = {NULL, NULL};
    struct alqi_memprof_domain *d = t->domain;
    struct alqi_memprof_entry *e;

    while ((e = alqi_fifo_pop(&t->pending)) != NULL ||
           (e = alqi_fifo_pop(&t->deferred)) != NULL) {
        enum alqi_index_next next;

        if (e->birth & ALQI_BIRTH_SCANNED)
            next = (e->flags & ALQI_ENTRY_ALLOC_DUE) ? ALQI_NEXT_FREE
                                                     : ALQI_NEXT_DEAD;
        else
            next = alqi_index_cancel_deferred(e);
        if (next != ALQI_NEXT_DEAD)
            finish(t, e, next);
        else if ((e->birth & ALQI_BIRTH_SCANNED) &&
                 alqi_profile_defers(e->profile))
            alqi_fifo_push(&deferred, e);
        else
            alqi_fifo_push(&dead, e);
    }
    if (dead.head == NULL && deferred.head == NULL)
        return;
    alqi_domain_lock(d);
    alqi_domain_give_locked(d, &dead, &deferred);
    alqi_domain_unlock(d);
}
