/* pending.c -- callbacks that wait: until the one that runs has ended (due),
 * or until the thread flushes (pending, ALQ_MEMPROF_DEFER)
 *
 * Both FIFOs belong to the thread.  An entry on `due` is dead and nobody
 * else's.  One on `pending` is that too, or its alloc callback is due: then it
 * may be in the index as well, and its turn is decided under the shard's lock.
 * The domain's FIFO holds dead ones that ended threads have left. */
#include "memprof/state.h"

void
alqi_fifo_push(struct alqi_memprof_pending *f, struct alqi_memprof_entry *e)
{
    e->next = NULL;
    if (f->tail != NULL)
        f->tail->next = e;
    else
        f->head = e;
    f->tail = e;
}

struct alqi_memprof_entry *
alqi_fifo_pop(struct alqi_memprof_pending *f)
{
    struct alqi_memprof_entry *e = f->head;

    if (e == NULL)
        return NULL;
    f->head = e->next;
    if (f->head == NULL)
        f->tail = NULL;
    return e;
}

void
alqi_fifo_append(struct alqi_memprof_pending *to,
                 struct alqi_memprof_pending *from)
{
    if (from->head == NULL)
        return;
    if (to->tail != NULL)
        to->tail->next = from->head;
    else
        to->head = from->head;
    to->tail = from->tail;
    *from = (struct alqi_memprof_pending){NULL, NULL};
}

void
alqi_pending_dead(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    bool wait = e->profile->flags & ALQ_MEMPROF_DEFER;

    alqi_fifo_push(wait ? &t->pending : &t->due, e);
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

        /* Its profile is discarded: the last callback is `release`. */
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

/* ---- stacks that wait --------------------------------------------------- */

bool
alqi_stash_make(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e,
                const uintptr_t *frames, size_t n_frames)
{
    struct alqi_memprof_stash *s = NULL;

    e->stash = NULL;
    e->n_frames = 0;
    for (size_t i = 0; i < n_frames; i++) {
        if (i % ALQI_STASH_FRAMES == 0) {
            struct alqi_memprof_stash *fresh = alqi_pool_get(t);

            if (fresh == NULL) {
                alqi_stash_free(t, e);
                return false;
            }
            fresh->next = NULL;
            if (s != NULL)
                s->next = fresh;
            else
                e->stash = fresh;
            s = fresh;
        }
        s->frames[i % ALQI_STASH_FRAMES] = frames[i];
        e->n_frames = (uint16_t)(i + 1);
    }
    return true;
}

size_t
alqi_stash_copy(const struct alqi_memprof_entry *e, uintptr_t *frames)
{
    const struct alqi_memprof_stash *s = e->stash;

    for (size_t i = 0; i < e->n_frames; i++) {
        frames[i] = s->frames[i % ALQI_STASH_FRAMES];
        if (i % ALQI_STASH_FRAMES == ALQI_STASH_FRAMES - 1)
            s = s->next;
    }
    return e->n_frames;
}

void
alqi_stash_free(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    struct alqi_memprof_stash *s = e->stash, *next;

    if (e->n_frames == 0)
        return;
    for (; s != NULL; s = next) {
        next = s->next;
        alqi_pool_put(t, s);
    }
    e->stash = NULL;
    e->n_frames = 0;
}

/* ---- deferred ones ------------------------------------------------------ */

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

static void
run_one(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    enum alqi_index_next next;
    uintptr_t data = 0;
    size_t n_frames;
    bool keep;

    if (e->birth & ALQI_BIRTH_SCANNED) {
        alqi_scan_turn(t, e);
        return;
    }
    next = alqi_index_turn(e);
    if (next != ALQI_NEXT_RUN) {
        finish(t, e, next);
        return;
    }
    n_frames = alqi_stash_copy(e, t->frames);
    alqi_stash_free(t, e);
    keep = alqi_callback_alloc(t, e, ALQI_CALLBACK_ALLOC_OWED, t->frames,
                               n_frames, &data);
    finish(t, e, alqi_index_alloc_ran(e, keep, data));
}

static bool
owes_alloc(struct alqi_memprof_entry *e)
{
    if (e->birth & ALQI_BIRTH_SCANNED)
        return e->flags & ALQI_ENTRY_ALLOC_DUE;
    return alqi_index_owes_alloc(e);
}

void
alqi_pending_run_allocs(struct alqi_memprof_thread *t)
{
    struct alqi_memprof_entry *last = t->pending.tail, *e;
    bool at_end = last == NULL;

    /* Once round: the FIFO stays whole, should a callback end the thread. */
    while (!at_end) {
        e = alqi_fifo_pop(&t->pending);
        at_end = e == last;
        if (owes_alloc(e))
            run_one(t, e);
        else
            alqi_fifo_push(&t->pending, e);
        alqi_pending_run_due(t);
    }
}

/* What ended threads and domains left goes first. */
static void
steal_left(struct alqi_memprof_thread *t)
{
    struct alqi_memprof_domain *d = t->domain;
    struct alqi_memprof_pending left;

    alqi_orphans_adopt(d);
    if (!atomic_load_explicit(&d->has_pending, memory_order_relaxed))
        return;
    alqi_domain_lock(d);
    left = d->pending;
    d->pending = (struct alqi_memprof_pending){NULL, NULL};
    atomic_store_explicit(&d->has_pending, false, memory_order_relaxed);
    alqi_domain_unlock(d);
    alqi_fifo_append(&left, &t->pending);
    t->pending = left;
}

void
alqi_pending_run_all(struct alqi_memprof_thread *t)
{
    struct alqi_memprof_entry *e;

    do {
        steal_left(t);
        while ((e = alqi_fifo_pop(&t->pending)) != NULL) {
            run_one(t, e);
            alqi_pending_run_due(t);
        }
        /* Callbacks may have collected: their deaths are owed, too. */
    } while (
        atomic_load_explicit(&t->domain->has_pending, memory_order_relaxed));
}

void
alqi_pending_hand_over(struct alqi_memprof_thread *t)
{
    struct alqi_memprof_pending dead = {NULL, NULL};
    struct alqi_memprof_domain *d = t->domain;
    struct alqi_memprof_entry *e;

    while ((e = alqi_fifo_pop(&t->pending)) != NULL) {
        enum alqi_index_next next;

        if (e->birth & ALQI_BIRTH_SCANNED)
            next = (e->flags & ALQI_ENTRY_ALLOC_DUE) ? ALQI_NEXT_FREE
                                                     : ALQI_NEXT_DEAD;
        else
            next = alqi_index_give_up(e);
        if (next == ALQI_NEXT_DEAD)
            alqi_fifo_push(&dead, e);
        else
            finish(t, e, next);
    }
    if (dead.head == NULL)
        return;
    alqi_domain_lock(d);
    alqi_fifo_append(&d->pending, &dead);
    atomic_store_explicit(&d->has_pending, true, memory_order_relaxed);
    alqi_domain_unlock(d);
}
