/* callback.c -- calls the user's callbacks and `release`
 *
 * Every call of a tracker's function passes through begin() and end() below.
 * In between the thread's mode is CALLBACK, the thread holds no lock, and
 * `running` names the entry; a callback may therefore end its thread, and
 * alqi_callback_abandon ends what was in hand.
 *
 *     INSIDE --begin--> CALLBACK (the user's code) --end--> INSIDE
 *
 * Keeps .inv.once (ALLOC_DUE, PROMOTE_RAN and DATUM are taken before the call),
 * .inv.datum, .inv.nest and .inv.nolock (doc/design/memprof.md). */
#include "memprof/callback.h"
#include "memprof/describe.h"
#include "memprof/fifo.h"
#include "memprof/index.h"
#include "memprof/pool.h"
#include "memprof/state.h"
#include "memprof/stash.h"

uint64_t
alqi_memprof_running_samples(const struct alqi_memprof_thread *t)
{
    return t->running != NULL ? t->running->n_samples : 0;
}

ALQI_COLD void
alqi_callback_failed(struct alqi_memprof_thread *t, struct alq_profile *p,
                     int code)
{
    alqi_profile_count(&p->callback_failures, 1);
    if (t->failure == 0)
        t->failure = code;
}

static inline __attribute__((always_inline)) void
begin(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e,
      enum alqi_callback_kind kind)
{
    alqi_callback_begins(t);
    alqi_callback_enter(t, e, kind);
}

static inline __attribute__((always_inline)) void
end(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e, int code)
{
    alqi_callback_leave(t);
    alqi_callback_ends(t);
    if (ALQI_UNLIKELY(code < 0))
        alqi_callback_failed(t, e->profile, code);
}

/* Frees the node of an entry that owes no callback any more, and its saved
 * stack.  Inline, as each death ends with it. */
static inline void
entry_free(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    struct alq_profile *p = e->profile;

    ALQI_ASSERT(!(e->flags & (ALQI_ENTRY_DATUM | ALQI_ENTRY_INDEXED)));
    if (ALQI_UNLIKELY(e->birth & ALQI_BIRTH_STASH))
        alqi_stash_free(t, e);
    alqi_pool_put(t, e);
    alqi_client_leave(t, p);
}

void
alqi_entry_free(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    entry_free(t, e);
}

void
alqi_entry_release(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    const struct alq_tracker *tracker = &e->profile->tracker;

    if (e->flags & ALQI_ENTRY_DATUM) {
        e->flags &= (uint16_t)~ALQI_ENTRY_DATUM;
        if (tracker->release != NULL) {
            begin(t, e, ALQI_CALLBACK_LAST);
            tracker->release(tracker->arg, e->data);
            end(t, e, 0);
        }
    }
    alqi_entry_free(t, e);
}

bool
alqi_callback_alloc(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e,
                    enum alqi_callback_kind kind, const uintptr_t *frames,
                    size_t n_frames, uintptr_t *data)
{
    const struct alq_tracker *tracker = &e->profile->tracker;
    bool minor = e->birth & ALQI_BIRTH_MINOR;
    int (*fn)(void *, const struct alq_allocation *, uintptr_t *) =
        minor ? tracker->alloc_minor : tracker->alloc_major;
    struct alq_allocation a;
    int code;

    if (fn == NULL)
        return false;
    alqi_entry_describe(e, t->domain->cycle, &a);
    a.callstack.frames = frames;
    a.callstack.n_frames = n_frames;
    *data = 0;
    begin(t, e, kind);
    code = fn(tracker->arg, &a, data);
    end(t, e, code);
    return code > 0;
}

void
alqi_callback_dealloc(struct alqi_memprof_thread *t,
                      struct alqi_memprof_entry *e)
{
    const struct alq_tracker *tracker = &e->profile->tracker;
    int (*fn)(void *, uintptr_t) = (e->flags & ALQI_ENTRY_YOUNG)
                                       ? tracker->dealloc_minor
                                       : tracker->dealloc_major;

    if ((e->flags & ALQI_ENTRY_GONE) ||
        alqi_profile_status(e->profile) == ALQI_PROFILE_DISCARDED) {
        alqi_entry_release(t, e);
        return;
    }
    ALQI_ASSERT(e->flags & ALQI_ENTRY_DATUM); /* .inv.datum */
    e->flags &= (uint16_t)~ALQI_ENTRY_DATUM;
    if (fn != NULL) {
        int code;

        begin(t, e, ALQI_CALLBACK_LAST);
        code = fn(tracker->arg, e->data);
        end(t, e, code);
    }
    entry_free(t, e);
}

bool
alqi_callback_promote(struct alqi_memprof_thread *t,
                      struct alqi_memprof_entry *e)
{
    const struct alq_tracker *tracker = &e->profile->tracker;
    int code;

    ALQI_ASSERT((e->flags & ALQI_ENTRY_DATUM) &&
                !(e->flags & ALQI_ENTRY_PROMOTE_RAN)); /* .inv.once */
    e->flags |= ALQI_ENTRY_PROMOTE_RAN;
    if (tracker->promote == NULL)
        return false;
    begin(t, e, ALQI_CALLBACK_PROMOTE);
    /* In place: a collection during the callback updates a datum that is a
     * value. */
    code = tracker->promote(tracker->arg, &e->data);
    end(t, e, code);
    return code > 0;
}

/* Ends the running entry as if its callback had returned DROP. */
static void
abandon_running(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e,
                enum alqi_callback_kind kind)
{
    switch (kind) {
    case ALQI_CALLBACK_ALLOC_NEW: /* the caller ends all of new_entries */
        return;
    case ALQI_CALLBACK_ALLOC_DEFERRED:
        if ((e->birth & ALQI_BIRTH_SCANNED) ||
            alqi_index_alloc_ran(e, false, 0) == ALQI_NEXT_FREE)
            alqi_entry_free(t, e);
        return;
    case ALQI_CALLBACK_PROMOTE:
        alqi_entry_release(t, e);
        return;
    case ALQI_CALLBACK_LAST:
        alqi_entry_free(t, e);
        return;
    }
}

void
alqi_callback_abandon(struct alqi_memprof_thread *t)
{
    struct alqi_memprof_entry *e = t->running;

    t->running = NULL;
    if (e != NULL)
        abandon_running(t, e, t->running_kind);
    while ((e = t->new_entries) != NULL) {
        t->new_entries = e->chain;
        if (e->flags & ALQI_ENTRY_ALLOC_DUE)
            continue; /* it is on `pending` as well */
        /* The program never got the block: an entry with a datum is dead. */
        if (!(e->flags & ALQI_ENTRY_DATUM))
            e->flags |= ALQI_ENTRY_GONE;
        alqi_fifo_push(&t->due, e);
    }
}
