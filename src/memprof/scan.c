/* scan.c -- entries of a scanned heap: what a collection does; roots, polls
 *
 * An entry of a scanned heap is in one place:
 *
 *     young        its block or its datum may lie in a minor heap
 *     old          neither does
 *     pending      the domain's FIFO, or a thread's: a callback is due
 *     new_entries  an allocation under way: there is no memory yet
 *     running      its callback runs on a thread
 *
 * A collection visits all five and only notes what happened (MOVED, DEAD, the
 * new address); entries that then have a callback due go to the domain's FIFO.
 *
 * .inv.young  After a minor collection no entry's block is young, but for
 *             pinned blocks and allocations made since.
 * .inv.noted  An entry whose alloc callback is due notes moves and death like
 *             any other: the callback still runs, promote and dealloc follow at
 *             once.
 *
 * Keeps .inv.note, .inv.once (doc/design/memprof.md). */
#include "memprof/callback.h"
#include "memprof/describe.h"
#include "memprof/fifo.h"
#include "memprof/old.h"
#include "memprof/orphan.h"
#include "memprof/pending.h"
#include "memprof/state.h"
#include "memprof/scan.h"
#include "memprof/thread.h"
#include "memprof/verify.h"

static bool
is_young(const struct alqi_memprof_domain *d,
         const struct alqi_memprof_entry *e)
{
    return d->subject->is_young(d->heap, e->block);
}

/* ---- a collection, entry by entry --------------------------------------- */

static bool
has_block(const struct alqi_memprof_entry *e)
{
    return !(e->birth & ALQI_BIRTH_OFFSET) &&
           !(e->flags & (ALQI_ENTRY_DEAD | ALQI_ENTRY_GONE));
}

/* Notes what the minor collection did with the entry's block: only flags and
 * the address, as no callback runs within a collection (.inv.note). */
static inline void
note_minor(struct alqi_memprof_domain *d, struct alqi_memprof_entry *e)
{
    const void *now;

    if (!has_block(e))
        return;
    now = d->subject->minor_forward(d->heap, e->block);
    if (ALQI_LIKELY(now == NULL)) {
        e->flags |= ALQI_ENTRY_DEAD;
    } else if (now != e->block) { /* else it is old, or pinned */
        e->block = now;
        e->flags |= ALQI_ENTRY_MOVED;
    }
}

static void
note_major(struct alqi_memprof_domain *d, struct alqi_memprof_entry *e)
{
    if (has_block(e) && !is_young(d, e) &&
        !d->subject->is_marked(d->heap, e->block))
        e->flags |= ALQI_ENTRY_DEAD;
}

static bool
is_of_discarded(const struct alqi_memprof_entry *e)
{
    return alqi_profile_status(e->profile) == ALQI_PROFILE_DISCARDED;
}

typedef void note_fn(struct alqi_memprof_domain *, struct alqi_memprof_entry *);

static void
note_fifo(struct alqi_memprof_domain *d, const struct alqi_entry_fifo *f,
          note_fn *note)
{
    for (struct alqi_memprof_entry *e = f->head; e != NULL; e = e->next)
        note(d, e);
}

/* Entries that are neither young nor old. */
static void
note_elsewhere(struct alqi_memprof_domain *d, note_fn *note)
{
    note_fifo(d, &d->pending, note);
    note_fifo(d, &d->deferred, note);
    for (struct alqi_memprof_thread *t = d->threads; t != NULL;
         t = t->next_in_domain) {
        note_fifo(d, &t->pending, note);
        note_fifo(d, &t->deferred, note);
        note_fifo(d, &t->due, note);
        if (t->running != NULL && t->running_kind != ALQI_CALLBACK_LAST &&
            t->running_kind != ALQI_CALLBACK_ALLOC_NEW)
            note(d, t->running);
        for (struct alqi_memprof_entry *e = t->new_entries; e; e = e->chain)
            note(d, e);
    }
}

/* A FIFO that only grows until it is closed: `before` stands for its head, so
 * adding needs no test; its end is not marked until then. */
struct queue {
    struct alqi_memprof_entry before;
    struct alqi_memprof_entry *last;
};

/* The entries whose callbacks a collection finds due. */
struct found {
    const struct alqi_memprof_domain *domain;
    struct queue prompt;
    struct queue deferred;
};

static void
found_begin(struct found *found, const struct alqi_memprof_domain *d)
{
    found->domain = d;
    found->prompt.last = &found->prompt.before;
    found->deferred.last = &found->deferred.before;
}

/* Appends an entry with a callback due to the queue that it waits on; `arg` is
 * a struct found, for the removals of old.c. */
static inline void
found_add(void *arg, struct alqi_memprof_entry *e)
{
    struct found *found = arg;
    struct queue *q =
        alqi_profile_defers(e->profile) ? &found->deferred : &found->prompt;

    q->last->next = e;
    q->last = e;
}

/* Marks the end of the queue and returns it as a FIFO; nothing may be added
 * afterwards. */
static struct alqi_entry_fifo
queue_close(struct queue *q)
{
    struct alqi_entry_fifo f = {NULL, NULL};

    q->last->next = NULL;
    if (q->before.next != NULL)
        f = (struct alqi_entry_fifo){q->before.next, q->last};
    return f;
}

static void
found_dead(void *arg, struct alqi_memprof_entry *e)
{
    ALQI_DEBUG(has_block(e)); /* .inv.old */
    e->flags |= ALQI_ENTRY_DEAD;
    found_add(arg, e);
}

/* The entry's block is dead, or its profile is discarded. */
static void
found_ended(void *arg, struct alqi_memprof_entry *e)
{
    const struct alqi_memprof_domain *d = ((struct found *)arg)->domain;

    if (!d->subject->is_marked(d->heap, e->block))
        e->flags |= ALQI_ENTRY_DEAD;
    found_add(arg, e);
}

/* Whether the block or the datum is still young: pinned. */
static bool
stays_young(const struct alqi_memprof_domain *d,
            const struct alqi_memprof_entry *e)
{
    return (has_block(e) && is_young(d, e)) ||
           ((e->profile->tracker.flags & ALQ_TRACKER_VALUES) &&
            d->subject->is_young(d->heap, (const void *)e->data));
}

/* Moves each young entry to where it belongs; `note` records what the
 * collection did. */
static inline __attribute__((always_inline)) void
note_young(struct alqi_memprof_domain *d, note_fn *note, bool is_minor,
           struct found *found)
{
    struct alqi_memprof_entry *e = d->young.head, *next;

    d->young = (struct alqi_entry_fifo){NULL, NULL};
    for (; e != NULL; e = next) {
        next = e->next;
        if (ALQI_LIKELY(next != NULL))
            __builtin_prefetch(next->next);
        note(d, e);
        if (ALQI_LIKELY((e->flags & (ALQI_ENTRY_MOVED | ALQI_ENTRY_DEAD)) ||
                        is_of_discarded(e)))
            found_add(found, e);
        else if (!is_minor || stays_young(d, e))
            alqi_fifo_push(&d->young, e);
        else
            alqi_old_add(&d->old, e);
    }
}

/* Removes the dead from `old`.  Only after a discard are the entries' profiles
 * looked at, too: that reads one more line of memory each. */
static void
note_old(struct alqi_memprof_domain *d, struct found *found)
{
    uint64_t n_discards = alqi_profiles_discards();

    if (n_discards == d->n_discards) {
        alqi_old_remove_dead(d, found_dead, found);
        return;
    }
    d->n_discards = n_discards;
    alqi_old_remove_ended(d, found_ended, found);
}

/* Gives what the collection found due to the domain; polls and flushes run it
 * (.inv.note). */
static void
give_found(struct alqi_memprof_domain *d, struct found *found)
{
    struct alqi_entry_fifo prompt = queue_close(&found->prompt);
    struct alqi_entry_fifo deferred = queue_close(&found->deferred);

    if (prompt.head == NULL && deferred.head == NULL)
        return;
    alqi_domain_lock(d);
    alqi_domain_give_locked(d, &prompt, &deferred);
    alqi_domain_unlock(d);
}

void
alqi_memprof_after_minor(struct alqi_memprof_domain *domain)
{
    struct found found;

    found_begin(&found, domain);
    alqi_orphans_adopt(domain);
    note_elsewhere(domain, note_minor);
    note_young(domain, note_minor, true, &found);
    give_found(domain, &found);
    alqi_scan_verify(domain);
}

void
alqi_memprof_cycle_set(struct alqi_memprof_domain *domain, uint64_t cycle)
{
    domain->cycle = (uint32_t)cycle & ALQI_CYCLE_MASK;
}

void
alqi_memprof_after_major(struct alqi_memprof_domain *domain)
{
    struct found found;

    found_begin(&found, domain);
    alqi_memprof_cycle_set(domain, (uint64_t)domain->cycle + 1);
    alqi_orphans_adopt(domain);
    note_elsewhere(domain, note_major);
    note_young(domain, note_major, false, &found);
    note_old(domain, &found);
    give_found(domain, &found);
    alqi_scan_verify(domain);
}

/* ---- roots and addresses ------------------------------------------------ */

struct visit {
    void (*slot)(void *arg, uintptr_t *slot);
    void (*block)(void *arg, const void **block);
    void (*seen)(void *arg, const struct alqi_memprof_seen *seen);
    void *arg;
};

static void
seen_tell(const struct visit *v, const struct alqi_memprof_entry *e)
{
    const struct alqi_memprof_seen seen = {
        .tracker = &e->profile->tracker,
        .rate = e->profile->dist.rate,
        .block = e->block,
        .n_samples = e->n_samples,
        .data = e->data,
    };

    v->seen(v->arg, &seen);
}

/* Visits the datum, if it is a value and not 0, and the block, if it has an
 * address.  `running`: a callback may have stored the datum already, without
 * ALQI_ENTRY_DATUM. */
static void
visit_one(const struct visit *v, struct alqi_memprof_entry *e, bool running)
{
    bool values = e->profile->tracker.flags & ALQ_TRACKER_VALUES;
    bool holds = running || (e->flags & ALQI_ENTRY_DATUM);

    if (v->slot != NULL && values && holds && e->data != 0)
        v->slot(v->arg, &e->data);
    if (v->block != NULL && has_block(e))
        v->block(v->arg, &e->block);
    if (v->seen != NULL && has_block(e) && (e->flags & ALQI_ENTRY_DATUM) &&
        !is_of_discarded(e))
        seen_tell(v, e);
}

static void
visit_list(const struct visit *v, struct alqi_memprof_entry *head)
{
    for (struct alqi_memprof_entry *e = head; e != NULL; e = e->next) {
        if (ALQI_LIKELY(e->next != NULL))
            __builtin_prefetch(e->next->next);
        visit_one(v, e, false);
    }
}

/* Visits the entries in the hands of a stopped thread.  The one that runs its
 * last callback has given its datum away, one that runs its first is on
 * `new_entries`. */
static void
visit_thread(const struct visit *v, struct alqi_memprof_thread *t)
{
    visit_list(v, t->pending.head);
    visit_list(v, t->deferred.head);
    visit_list(v, t->due.head);
    for (struct alqi_memprof_entry *e = t->new_entries; e != NULL; e = e->chain)
        visit_one(v, e, e == t->running);
    if (t->running != NULL && t->running_kind != ALQI_CALLBACK_LAST &&
        t->running_kind != ALQI_CALLBACK_ALLOC_NEW)
        visit_one(v, t->running, true);
}

/* Visits the domain's entries, after orphans have become its own: their data
 * need a domain that scans them.  young_only leaves `old` out. */
static void
visit_all(const struct visit *v, struct alqi_memprof_domain *d, bool young_only)
{
    alqi_orphans_adopt(d);
    visit_list(v, d->young.head);
    if (!young_only)
        visit_list(v, d->old.head);
    visit_list(v, d->pending.head);
    visit_list(v, d->deferred.head);
    for (struct alqi_memprof_thread *t = d->threads; t; t = t->next_in_domain)
        visit_thread(v, t);
}

void
alqi_memprof_scan(struct alqi_memprof_domain *domain, bool young_only,
                  void (*visit)(void *arg, uintptr_t *slot), void *arg)
{
    const struct visit v = {.slot = visit, .arg = arg};

    if (alqi_profiles_have_values())
        visit_all(&v, domain, young_only);
    else
        alqi_orphans_adopt(domain);
}

void
alqi_memprof_blocks(struct alqi_memprof_domain *domain,
                    void (*visit)(void *arg, const void **block), void *arg)
{
    const struct visit v = {.block = visit, .arg = arg};

    visit_all(&v, domain, false);
}

void
alqi_memprof_each_seen(struct alqi_memprof_domain *domain,
                       void (*visit)(void *arg,
                                     const struct alqi_memprof_seen *seen),
                       void *arg)
{
    const struct visit v = {.seen = visit, .arg = arg};

    visit_all(&v, domain, false);
}

static void
chain_add(void *arg, struct alqi_memprof_entry *e)
{
    struct alqi_memprof_entry **chain = arg;

    e->chain = *chain;
    *chain = e;
}

struct alqi_memprof_entry *
alqi_scan_sweep(struct alqi_memprof_domain *d, const struct alq_profile *p)
{
    struct alqi_memprof_entry *out = NULL, *e = d->young.head, *next;

    if (d->subject->is_young == NULL)
        return NULL; /* a notified heap, whose threads may all be here */
    alqi_old_remove_of(&d->old, p, chain_add, &out);
    d->young = (struct alqi_entry_fifo){NULL, NULL};
    for (; e != NULL; e = next) {
        next = e->next;
        if (e->profile == p)
            chain_add(&out, e);
        else
            alqi_fifo_push(&d->young, e);
    }
    return out;
}

/* ---- a look at what is tracked ------------------------------------------ */

struct look {
    const struct alq_profile *profile;
    uint64_t cycle;
    int (*visit)(void *arg, const struct alq_allocation *a, uintptr_t data);
    void *arg;
};

/* Visits those of a FIFO or list that are the profile's and alive, until
 * `visit` returns other than 0; returns that. */
static int
look_at(const struct look *l, const struct alqi_memprof_entry *e)
{
    int stop = 0;

    for (; e != NULL && !stop; e = e->next)
        if (e->profile == l->profile && has_block(e) &&
            (e->flags & ALQI_ENTRY_DATUM))
            stop = alqi_entry_visit(e, l->cycle, l->visit, l->arg);
    return stop;
}

static int
look_at_thread(const struct look *l, const struct alqi_memprof_thread *t)
{
    int stop = look_at(l, t->pending.head);

    return stop != 0 ? stop : look_at(l, t->deferred.head);
}

int
alqi_scan_each(struct alqi_memprof_domain *d, const struct alq_profile *p,
               int (*visit)(void *arg, const struct alq_allocation *a,
                            uintptr_t data),
               void *arg)
{
    const struct alqi_memprof_entry *lists[] = {
        d->young.head, d->old.head, d->pending.head, d->deferred.head};
    const struct look l = {p, d->cycle, visit, arg};
    int stop = 0;

    for (unsigned i = 0; i < ALQI_COUNT_OF(lists) && stop == 0; i++)
        stop = look_at(&l, lists[i]);
    for (const struct alqi_memprof_thread *t = d->threads; t && stop == 0;
         t = t->next_in_domain)
        stop = look_at_thread(&l, t);
    return stop;
}

/* ---- polls -------------------------------------------------------------- */

bool
alqi_memprof_has_pending(const struct alqi_memprof_thread *thread)
{
    return thread->pending.head != NULL ||
           alqi_memprof_domain_has_pending(thread->domain);
}

bool
alqi_memprof_domain_has_pending(const struct alqi_memprof_domain *domain)
{
    return atomic_load_explicit(&domain->has_pending, memory_order_relaxed);
}

enum alq_status
alqi_memprof_poll(struct alqi_memprof_thread *thread, int *code)
{
    int failure, before = thread->failure;

    if (thread->mode != ALQI_MEMPROF_IDLE)
        return ALQ_OK;
    alqi_memprof_enter(thread);
    thread->failure = 0;
    alqi_pending_run_polled(thread);
    alqi_thread_leave(thread, ALQI_MEMPROF_IDLE);
    failure = thread->failure;
    thread->failure = before; /* a flush reports that one */
    if (failure == 0)
        return ALQ_OK;
    if (code != NULL)
        *code = failure;
    return ALQ_ECALLBACK;
}

void
alqi_memprof_limits_run(struct alqi_memprof_thread *thread)
{
    if (thread->mode != ALQI_MEMPROF_IDLE)
        return;
    alqi_memprof_enter(thread);
    alqi_pending_run_limits(thread);
    alqi_thread_leave(thread, ALQI_MEMPROF_IDLE);
}

int
alqi_memprof_each_of(struct alqi_memprof_domain *domain,
                     const struct alq_profile *profile,
                     int (*visit)(void *arg, const struct alq_allocation *a,
                                  uintptr_t data),
                     void *arg)
{
    return alqi_scan_each(domain, profile, visit, arg);
}

/* ---- the heap's end ----------------------------------------------------- */

void
alqi_memprof_heap_end(struct alqi_memprof_thread *thread)
{
    struct alqi_memprof_domain *d = thread->domain;
    struct alqi_memprof_entry *e;

    alqi_memprof_enter(thread);
    d->heap_ended = true; /* adopts no orphans of other heaps */
    alqi_pending_run_all(thread);
    while ((e = alqi_fifo_pop(&d->young)) != NULL ||
           (e = alqi_old_pop(&d->old)) != NULL)
        alqi_entry_release(thread, e);
    alqi_thread_leave(thread, ALQI_MEMPROF_IDLE);
}

void
alqi_memprof_adopt(struct alqi_memprof_domain *domain)
{
    alqi_orphans_adopt(domain);
}

uint32_t
alqi_memprof_suspend(struct alqi_memprof_thread *thread)
{
    uint32_t was = thread->mode;

    ALQI_ASSERT(was != ALQI_MEMPROF_INSIDE);
    thread->mode = ALQI_MEMPROF_CALLBACK;
    return was;
}

void
alqi_memprof_resume(struct alqi_memprof_thread *thread, uint32_t was)
{
    ALQI_ASSERT(thread->mode == ALQI_MEMPROF_CALLBACK);
    thread->mode = was;
}
