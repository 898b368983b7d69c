/* verify.c -- the invariants of a scanned domain's entries between two steps
 *
 * In dbg builds each collection ends with alqi_scan_verify.  Below the number
 * of a property stands at the assertion:
 *
 *     1  an entry on `old` has no young block
 *     2  what was promoted was born young
 *     3  an entry of a list owes no callback; one that owes is on a FIFO
 *     4  a running entry is that of one thread, which is in a callback
 *     5  an offset has had at most its alloc callback
 *     6  a block of a list is in the heap
 *     7  an old block that is tracked was born old or has had its promote
 *        callback
 *
 * What sampling and requests promise is asserted where it arises: sample/,
 * make.h, managed.c, domain.c, heap/alloc_limit.h and
 * glue/join/profiler_heap.c.  Also asserts .inv.ahead, .inv.old,
 * .inv.datum. */
#include "memprof/state.h"
#include "memprof/verify.h"

#if ALQI_CHECKS >= 2

enum {
    AT_WORK = ALQI_ENTRY_ALLOC_DUE | ALQI_ENTRY_RUNNING | ALQI_ENTRY_DEAD |
              ALQI_ENTRY_GONE | ALQI_ENTRY_IN_REALLOC | ALQI_ENTRY_INDEXED |
              ALQI_ENTRY_MOVED
};

/* Checks what holds of an entry in any place. */
static void
verify_flags(const struct alqi_memprof_entry *e)
{
    bool minor = e->birth & ALQI_BIRTH_MINOR;
    bool promoted = e->flags & ALQI_ENTRY_PROMOTE_RAN;

    ALQI_ASSERT(e->birth & ALQI_BIRTH_SCANNED);
    ALQI_ASSERT(e->n_samples >= 1);
    ALQI_ASSERT(alqi_profile_entries(e->profile) > 0);
    if (e->flags & (ALQI_ENTRY_MOVED | ALQI_ENTRY_PROMOTE_RAN))
        ALQI_ASSERT(minor); /* 2 */
    if (e->flags & ALQI_ENTRY_ALLOC_DUE)
        ALQI_ASSERT(!promoted && !(e->flags & ALQI_ENTRY_DATUM));
    if (e->birth & ALQI_BIRTH_OFFSET) /* 5 */
        ALQI_ASSERT(!promoted && !(e->flags & ALQI_ENTRY_MOVED));
}

static bool
runs(const struct alqi_memprof_domain *d, const struct alqi_memprof_entry *e)
{
    for (const struct alqi_memprof_thread *t = d->threads; t != NULL;
         t = t->next_in_domain)
        if (t->running == e)
            return true;
    return false;
}

/* Checks an entry of `young` or `old`: it has a datum and an address, and owes
 * no callback. */
static void
verify_listed(const struct alqi_memprof_domain *d,
              const struct alqi_memprof_entry *e, bool is_old)
{
    bool young_block = d->subject->is_young(d->heap, e->block);
    bool promoted = e->flags & ALQI_ENTRY_PROMOTE_RAN;

    verify_flags(e);
    ALQI_ASSERT(!(e->flags & AT_WORK));           /* 3 */
    ALQI_ASSERT(!(e->birth & ALQI_BIRTH_OFFSET)); /* 6 */
    ALQI_ASSERT(e->flags & ALQI_ENTRY_DATUM);     /* .inv.datum */
    ALQI_ASSERT(!(is_old && young_block));        /* 1 */
    if (!young_block)
        ALQI_ASSERT(!(e->birth & ALQI_BIRTH_MINOR) || promoted); /* 7 */
    ALQI_ASSERT(!!(e->flags & ALQI_ENTRY_YOUNG) ==
                ((e->birth & ALQI_BIRTH_MINOR) && !promoted));
    ALQI_ASSERT(!runs(d, e)); /* 4 */
}

/* Checks `young`, entry by entry, and that its tail is the last one. */
static void
verify_young(const struct alqi_memprof_domain *d)
{
    const struct alqi_memprof_entry *last = NULL, *e;

    for (e = d->young.head; e != NULL; e = e->next) {
        verify_listed(d, e, false);
        last = e;
    }
    ALQI_ASSERT(d->young.tail == last);
}

/* .inv.ahead */
static void
verify_old(const struct alqi_memprof_domain *d)
{
    const struct alqi_memprof_entry *last = NULL, *e, *ahead = d->old.head;
    unsigned n = 0;

    for (e = d->old.head; e != NULL; e = e->next) {
        verify_listed(d, e, true);
        for (; n < ALQI_OLD_AHEAD && ahead != NULL; n++)
            ahead = ahead->next;
        ALQI_ASSERT(e->ahead == NULL || e->ahead == ahead);
        ahead = ahead != NULL ? ahead->next : NULL;
        last = e;
    }
    ALQI_ASSERT(d->old.tail == last);
}

/* `is_threads`: alloc callbacks may be due, which are nobody else's. */
static void
verify_fifo(const struct alqi_memprof_domain *d,
            const struct alqi_entry_fifo *f, bool is_threads)
{
    const struct alqi_memprof_entry *last = NULL, *e;

    for (e = f->head; e != NULL; e = e->next) {
        bool is_due = e->flags & (ALQI_ENTRY_ALLOC_DUE | ALQI_ENTRY_MOVED |
                                  ALQI_ENTRY_DEAD | ALQI_ENTRY_GONE);

        verify_flags(e);
        ALQI_ASSERT(is_due ||
                    alqi_profile_status(e->profile) == ALQI_PROFILE_DISCARDED);
        ALQI_ASSERT(is_threads || !(e->flags & ALQI_ENTRY_ALLOC_DUE));
        ALQI_ASSERT(!runs(d, e));
        last = e;
    }
    ALQI_ASSERT(f->head == NULL || f->tail == last);
}

/* Checks the entries in the hands of a thread that is stopped. */
static void
verify_thread(const struct alqi_memprof_domain *d,
              const struct alqi_memprof_thread *t)
{
    verify_fifo(d, &t->pending, true);
    verify_fifo(d, &t->deferred, true);
    verify_fifo(d, &t->due, false);
    if (t->running != NULL)
        ALQI_ASSERT(t->mode == ALQI_MEMPROF_CALLBACK);
    for (const struct alqi_memprof_entry *e = t->new_entries; e; e = e->chain)
        verify_flags(e);
}

void
alqi_scan_verify(const struct alqi_memprof_domain *d)
{
    verify_young(d);
    verify_old(d);
    verify_fifo(d, &d->pending, false);
    verify_fifo(d, &d->deferred, false);
    if (d->pending.head != NULL)
        ALQI_ASSERT(
            atomic_load_explicit(&d->has_pending, memory_order_relaxed));
    for (const struct alqi_memprof_thread *t = d->threads; t != NULL;
         t = t->next_in_domain)
        verify_thread(d, t);
}

#else

void
alqi_scan_verify(const struct alqi_memprof_domain *d)
{
    (void)d;
}

#endif
