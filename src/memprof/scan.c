/* scan.c -- what a collection does to entries, and their turns afterwards
 *
 * An entry of a scanned heap is in one place:
 *
 *   young    its block or its datum may lie in a minor heap
 *   old      neither does
 *   pending  the domain's FIFO, or a thread's: a callback is due
 *   making   an allocation under way: no memory yet
 *   running  in the hands of the thread whose callback runs
 *
 * A collection visits all five and only notes what happened (MOVED, DEAD, the
 * new address); entries that then owe a callback go to the domain's FIFO.
 *
 * .inv.note    No callback and no release runs within a collection.
 * .inv.young   After a minor collection no entry's block is young, but of
 *              allocations made since.
 * .inv.late    An entry whose alloc callback is due notes moves and death like
 *              any other; the callback still runs, promote and dealloc follow
 *              in the same turn (E6). */
#include "memprof/scan.h"
#include "memprof/state.h"

/* ---- lists -------------------------------------------------------------- */

static struct alqi_memprof_list *
list_of(struct alqi_memprof_domain *d, const struct alqi_memprof_entry *e)
{
    return (e->flags & ALQI_ENTRY_IN_OLD) ? &d->old : &d->young;
}

static void
list_add(struct alqi_memprof_list *l, struct alqi_memprof_entry *e)
{
    e->next = NULL;
    e->prev = l->tail;
    if (l->tail != NULL)
        l->tail->next = e;
    else
        l->head = e;
    l->tail = e;
}

static void
list_remove(struct alqi_memprof_list *l, struct alqi_memprof_entry *e)
{
    if (e->next != NULL)
        e->next->prev = e->prev;
    else
        l->tail = e->prev;
    if (e->prev != NULL)
        e->prev->next = e->next;
    else
        l->head = e->next;
    e->next = e->prev = NULL;
}

void
alqi_list_append(struct alqi_memprof_list *to, struct alqi_memprof_list *from)
{
    if (from->head == NULL)
        return;
    from->head->prev = to->tail;
    if (to->tail != NULL)
        to->tail->next = from->head;
    else
        to->head = from->head;
    to->tail = from->tail;
    *from = (struct alqi_memprof_list){NULL, NULL};
}

static bool
is_young(const struct alqi_memprof_domain *d,
         const struct alqi_memprof_entry *e)
{
    return d->subject->is_young(d->heap, e->block);
}

void
alqi_scan_place(struct alqi_memprof_domain *d, struct alqi_memprof_entry *e)
{
    bool values = e->profile->tracker.flags & ALQ_TRACKER_VALUES;

    e->flags &= (uint16_t)~ALQI_ENTRY_IN_OLD;
    if (!values && !is_young(d, e))
        e->flags |= ALQI_ENTRY_IN_OLD;
    list_add(list_of(d, e), e);
}

static void
owe_locked(struct alqi_memprof_domain *d, struct alqi_memprof_entry *e)
{
    alqi_fifo_push(&d->pending, e);
    atomic_store_explicit(&d->has_pending, true, memory_order_relaxed);
}

static void
owe(struct alqi_memprof_domain *d, struct alqi_memprof_entry *e)
{
    list_remove(list_of(d, e), e);
    alqi_domain_lock(d);
    owe_locked(d, e);
    alqi_domain_unlock(d);
}

/* ---- a collection, entry by entry --------------------------------------- */

static bool
has_block(const struct alqi_memprof_entry *e)
{
    return !(e->birth & ALQI_BIRTH_OFFSET) &&
           !(e->flags & (ALQI_ENTRY_DEAD | ALQI_ENTRY_GONE));
}

static void
note_minor(struct alqi_memprof_domain *d, struct alqi_memprof_entry *e)
{
    const void *now;

    if (!has_block(e) || !is_young(d, e))
        return;
    now = d->subject->minor_forward(d->heap, e->block);
    if (now == NULL) {
        e->flags |= ALQI_ENTRY_DEAD;
        return;
    }
    e->block = now;
    e->flags |= ALQI_ENTRY_MOVED;
}

static void
note_major(struct alqi_memprof_domain *d, struct alqi_memprof_entry *e)
{
    if (has_block(e) && !is_young(d, e) &&
        !d->subject->is_marked(d->heap, e->block))
        e->flags |= ALQI_ENTRY_DEAD;
}

static bool
owes_now(const struct alqi_memprof_entry *e)
{
    return (e->flags & (ALQI_ENTRY_MOVED | ALQI_ENTRY_DEAD)) ||
           alqi_profile_status(e->profile) == ALQI_PROFILE_DISCARDED;
}

typedef void note_fn(struct alqi_memprof_domain *, struct alqi_memprof_entry *);

static void
note_fifo(struct alqi_memprof_domain *d, const struct alqi_memprof_pending *f,
          note_fn *note)
{
    for (struct alqi_memprof_entry *e = f->head; e != NULL; e = e->next)
        note(d, e);
}

/* Entries that are on no list of the domain's. */
static void
note_elsewhere(struct alqi_memprof_domain *d, note_fn *note)
{
    note_fifo(d, &d->pending, note);
    for (struct alqi_memprof_thread *t = d->threads; t != NULL;
         t = t->next_in_domain) {
        note_fifo(d, &t->pending, note);
        note_fifo(d, &t->due, note);
        if (t->running != NULL && t->running_kind != ALQI_CALLBACK_LAST &&
            t->running_kind != ALQI_CALLBACK_ALLOC_NEW)
            note(d, t->running);
        for (struct alqi_memprof_entry *e = t->making; e; e = e->chain)
            note(d, e);
    }
}

static void
note_list(struct alqi_memprof_domain *d, struct alqi_memprof_list *l,
          note_fn *note)
{
    struct alqi_memprof_entry *e, *next;

    for (e = l->head; e != NULL; e = next) {
        next = e->next;
        note(d, e);
        if (owes_now(e))
            owe(d, e);
    }
}

void
alqi_memprof_after_minor(struct alqi_memprof_domain *domain)
{
    struct alqi_memprof_entry *e;

    alqi_orphans_adopt(domain);
    note_elsewhere(domain, note_minor);
    note_list(domain, &domain->young, note_minor);
    for (e = domain->young.head; e != NULL; e = e->next) {
        ALQI_DEBUG(!is_young(domain, e)); /* .inv.young */
        e->flags |= ALQI_ENTRY_IN_OLD;
    }
    alqi_list_append(&domain->old, &domain->young);
}

void
alqi_memprof_after_major(struct alqi_memprof_domain *domain)
{
    alqi_orphans_adopt(domain);
    note_elsewhere(domain, note_major);
    note_list(domain, &domain->young, note_major);
    note_list(domain, &domain->old, note_major);
}

/* ---- roots and addresses ------------------------------------------------ */

struct visit {
    void (*slot)(void *arg, uintptr_t *slot);
    void (*block)(void *arg, const void **block);
    void *arg;
};

static void
visit_one(const struct visit *v, struct alqi_memprof_entry *e, bool running)
{
    bool values = e->profile->tracker.flags & ALQ_TRACKER_VALUES;
    bool holds = running || (e->flags & ALQI_ENTRY_DATUM);

    if (v->slot != NULL && values && holds && e->data != 0)
        v->slot(v->arg, &e->data);
    if (v->block != NULL && has_block(e))
        v->block(v->arg, &e->block);
}

static void
visit_list(const struct visit *v, struct alqi_memprof_entry *head)
{
    for (struct alqi_memprof_entry *e = head; e != NULL; e = e->next)
        visit_one(v, e, false);
}

static void
visit_thread(const struct visit *v, struct alqi_memprof_thread *t)
{
    visit_list(v, t->pending.head);
    visit_list(v, t->due.head);
    for (struct alqi_memprof_entry *e = t->making; e != NULL; e = e->chain)
        visit_one(v, e, e == t->running);
    if (t->running != NULL && t->running_kind != ALQI_CALLBACK_LAST &&
        t->running_kind != ALQI_CALLBACK_ALLOC_NEW)
        visit_one(v, t->running, true);
}

static void
visit_all(const struct visit *v, struct alqi_memprof_domain *d, bool young_only)
{
    alqi_orphans_adopt(d);
    visit_list(v, d->young.head);
    if (!young_only)
        visit_list(v, d->old.head);
    visit_list(v, d->pending.head);
    for (struct alqi_memprof_thread *t = d->threads; t; t = t->next_in_domain)
        visit_thread(v, t);
}

void
alqi_memprof_scan(struct alqi_memprof_domain *domain, bool young_only,
                  void (*visit)(void *arg, uintptr_t *slot), void *arg)
{
    const struct visit v = {.slot = visit, .arg = arg};

    visit_all(&v, domain, young_only);
}

void
alqi_memprof_blocks(struct alqi_memprof_domain *domain,
                    void (*visit)(void *arg, const void **block), void *arg)
{
    const struct visit v = {.block = visit, .arg = arg};

    visit_all(&v, domain, false);
}

struct alqi_memprof_entry *
alqi_scan_sweep(struct alqi_memprof_domain *d, const struct alq_profile *p)
{
    struct alqi_memprof_list *lists[] = {&d->young, &d->old};
    struct alqi_memprof_entry *out = NULL;

    for (unsigned i = 0; i < ALQI_COUNT_OF(lists); i++) {
        struct alqi_memprof_entry *e, *next;

        for (e = lists[i]->head; e != NULL; e = next) {
            next = e->next;
            if (e->profile != p)
                continue;
            list_remove(lists[i], e);
            e->chain = out;
            out = e;
        }
    }
    return out;
}

void
alqi_scan_each(struct alqi_memprof_domain *d, const struct alq_profile *p,
               int (*visit)(void *arg, const struct alq_allocation *a,
                            uintptr_t data),
               void *arg)
{
    const struct alqi_memprof_list *lists[] = {&d->young, &d->old};
    int stop = 0;

    alqi_orphans_adopt(d);
    for (unsigned i = 0; i < ALQI_COUNT_OF(lists); i++)
        for (const struct alqi_memprof_entry *e = lists[i]->head;
             e != NULL && !stop; e = e->next)
            if (e->profile == p)
                stop = alqi_entry_visit(e, visit, arg);
}

/* ---- turns -------------------------------------------------------------- */

/* False: it is over. */
static bool
turn_alloc(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    size_t n_frames;
    bool keep;

    e->flags &= (uint16_t)~ALQI_ENTRY_ALLOC_DUE;
    if (alqi_profile_status(e->profile) != ALQI_PROFILE_SAMPLING) {
        alqi_entry_free(t, e);
        return false;
    }
    n_frames = alqi_stash_copy(e, t->frames);
    alqi_stash_free(t, e);
    e->data = 0;
    keep = alqi_callback_alloc(t, e, ALQI_CALLBACK_ALLOC_OWED, t->frames,
                               n_frames, &e->data);
    if (!keep) {
        alqi_entry_free(t, e);
        return false;
    }
    e->flags |= ALQI_ENTRY_DATUM;
    return true;
}

static bool
turn_promote(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    bool keep = alqi_callback_promote(t, e);

    e->flags &= (uint16_t) ~(ALQI_ENTRY_YOUNG | ALQI_ENTRY_MOVED);
    if (!keep)
        alqi_entry_release(t, e);
    return keep;
}

static bool
is_discarded(const struct alqi_memprof_entry *e)
{
    return (e->flags & ALQI_ENTRY_GONE) ||
           alqi_profile_status(e->profile) == ALQI_PROFILE_DISCARDED;
}

void
alqi_scan_turn(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    if ((e->flags & ALQI_ENTRY_ALLOC_DUE) && !turn_alloc(t, e))
        return;
    if (is_discarded(e)) {
        alqi_entry_release(t, e);
        return;
    }
    if ((e->flags & ALQI_ENTRY_MOVED) && !turn_promote(t, e))
        return;
    if (is_discarded(e))
        alqi_entry_release(t, e);
    else if (e->flags & ALQI_ENTRY_DEAD)
        alqi_callback_dealloc(t, e);
    else
        alqi_scan_place(t->domain, e);
}

/* ---- polls -------------------------------------------------------------- */

bool
alqi_memprof_has_pending(const struct alqi_memprof_thread *thread)
{
    return thread->pending.head != NULL ||
           atomic_load_explicit(&thread->domain->has_pending,
                                memory_order_relaxed);
}

enum alq_status
alqi_memprof_poll(struct alqi_memprof_thread *thread, int *code)
{
    return alqi_memprof_flush(thread, code);
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
