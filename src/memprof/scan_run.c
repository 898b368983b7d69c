/* scan_run.c -- what a scanned heap's entry owes, in order, and where it goes
 *
 *     alloc due --kept--> MOVED: promote --kept--> DEAD: dealloc --> freed
 *                  |                        '--> else: young or old
 *                  '--dropped, or the profile discarded--> released, freed
 *
 * A collection only notes what happened (scan.c); polls, flushes and the ends
 * of requests run it here, on the thread that holds the entry.
 *
 * Keeps .inv.once, .inv.datum (doc/design/memprof.md). */
#include "memprof/callback.h"
#include "memprof/old.h"
#include "memprof/state.h"
#include "memprof/scan_run.h"
#include "memprof/stash.h"

void
alqi_scan_place(struct alqi_memprof_domain *d, struct alqi_memprof_entry *e)
{
    if ((e->profile->tracker.flags & ALQ_TRACKER_VALUES) ||
        d->subject->is_young(d->heap, e->block))
        alqi_fifo_push(&d->young, e);
    else
        alqi_old_add(&d->old, e);
}

/* Runs the alloc callback; false: the entry is freed. */
static bool
run_alloc(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    const uintptr_t *frames;
    size_t n_frames;
    bool keep;

    e->flags &= (uint16_t)~ALQI_ENTRY_ALLOC_DUE;
    if (alqi_profile_status(e->profile) != ALQI_PROFILE_SAMPLING) {
        alqi_entry_free(t, e);
        return false;
    }
    frames = alqi_stash_take(t, e, &n_frames);
    e->data = 0;
    keep = alqi_callback_alloc(t, e, ALQI_CALLBACK_ALLOC_DEFERRED, frames,
                               n_frames, &e->data);
    alqi_stash_release(t, frames, n_frames);
    if (!keep) {
        alqi_entry_free(t, e);
        return false;
    }
    e->flags |= ALQI_ENTRY_DATUM;
    return true;
}

/* Runs the promote callback, from which on the datum is the major one; false:
 * the entry is freed. */
static bool
run_promote(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
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
alqi_scan_run(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    if ((e->flags & ALQI_ENTRY_ALLOC_DUE) && !run_alloc(t, e))
        return;
    if (is_discarded(e)) {
        alqi_entry_release(t, e);
        return;
    }
    if ((e->flags & ALQI_ENTRY_MOVED) && !run_promote(t, e))
        return;
    if (is_discarded(e))
        alqi_entry_release(t, e);
    else if (e->flags & ALQI_ENTRY_DEAD)
        alqi_callback_dealloc(t, e);
    else
        alqi_scan_place(t->domain, e);
}
