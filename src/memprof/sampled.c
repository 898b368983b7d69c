/* sampled.c -- a notified heap's blocks: sampled, freed, reallocated
 *
 * One sampled word gives k samples of its block; the clients thin them, one
 * capture serves all clients.  The new block's entries are private to the
 * thread, on `new_entries`, until their alloc callbacks have run or are queued;
 * then all entries enter the index in one step, before malloc returns the
 * block.
 *
 *     sampled:  samples -> new_entries -> alloc callbacks -> index
 *     freeing:  index -> dealloc callback, or a FIFO
 *     realloc:  begin: index -> chain; done: chain -> dead;
 *               failed: chain -> index
 *
 * Keeps .inv.before, .inv.nest, .inv.once; .prop.short
 * (doc/design/memprof.md). */
#include "memprof/callback.h"
#include "memprof/fifo.h"
#include "memprof/filter.h"
#include "memprof/index.h"
#include "memprof/make.h"
#include "memprof/pending.h"
#include "memprof/state.h"
#include "memprof/thread.h"

/* Runs the alloc callback, or queues it.  False: the entry is to be freed. */
static bool
run_alloc(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e,
          const struct alqi_stack_frames *stack)
{
    struct alq_profile *p = e->profile;
    uintptr_t data;

    if (p->flags & ALQ_MEMPROF_DEFER) {
        if (!alqi_make_deferred(t, e, stack))
            return false;
        alqi_fifo_push(&t->pending, e);
        return true;
    }
    /* The callback of an earlier client may have stopped this profile. */
    if (alqi_profile_status(p) != ALQI_PROFILE_SAMPLING)
        return false;
    if (!alqi_callback_alloc(t, e, ALQI_CALLBACK_ALLOC_NEW, stack->pcs,
                             alqi_make_n_frames(p, stack), &data))
        return false;
    e->data = data;
    e->flags |= ALQI_ENTRY_DATUM;
    return true;
}

/* Runs the alloc callbacks in the order of the clients, and leaves on
 * `new_entries` what goes into the index.  The chain is whole at each callback,
 * which may end the thread. */
static void
run_allocs(struct alqi_memprof_thread *t, const struct alqi_stack_frames *stack)
{
    struct alqi_memprof_entry **at = &t->new_entries, *e;

    while ((e = *at) != NULL) {
        if (run_alloc(t, e, stack)) {
            at = &e->chain;
        } else {
            *at = e->chain;
            alqi_entry_free(t, e);
        }
    }
}

/* Puts a batch into the index, and ends the entries that the index gives
 * back. */
static void
index_batch(struct alqi_memprof_thread *t, struct alqi_memprof_entry *batch)
{
    struct alqi_memprof_entry *refused, *stale;

    stale = alqi_index_put(batch, &refused);
    alqi_pending_dead_chain(t, stale);
    while (refused != NULL) {
        struct alqi_memprof_entry *next = refused->chain;

        if (refused->flags & ALQI_ENTRY_DATUM)
            alqi_fifo_push(&t->due, refused); /* discarded: released there */
        else
            alqi_entry_free(t, refused);
        refused = next;
    }
}

/* An entry that is still tracked at the new block's address is stale: the
 * earlier block was freed by a signal handler whose free could not be recorded.
 * Its dealloc callback runs before the new block's alloc callback. */
static void
end_stale(struct alqi_memprof_thread *t, const void *block)
{
    struct alqi_memprof_entry *dead = alqi_index_remove_dead(block);

    alqi_entries_notify_freeing(dead);
    alqi_pending_dead_chain(t, dead);
}

uint64_t
alqi_memprof_sampled(struct alqi_memprof_thread *thread, void *block,
                     uint64_t size_bytes, uint64_t words_after,
                     const struct alqi_stack_regs *regs)
{
    const struct alqi_memprof_birth birth = {
        block, size_bytes, ALQ_SOURCE_MALLOC << ALQI_BIRTH_SOURCE_SHIFT};
    uint64_t k, skip;

    if (ALQI_UNLIKELY(thread->mode != ALQI_MEMPROF_IDLE)) {
        thread->dropped_nested++;
        return ALQI_SAMPLE_NEVER_WORDS;
    }
    alqi_memprof_enter(thread);
    k = alqi_thread_samples(thread, words_after, &skip);
    if (alqi_make(thread, &birth, k)) {
        struct alqi_stack_frames stack;

        if (ALQI_UNLIKELY(alqi_memprof_filter_may_hold(block)))
            end_stale(thread, block);
        stack = alqi_make_capture(thread, regs);
        alqi_make_notify_heap(thread, &stack);
        run_allocs(thread, &stack);
        if (thread->new_entries != NULL) {
            struct alqi_memprof_entry *batch = thread->new_entries;

            thread->new_entries = NULL;
            if (ALQI_UNLIKELY(!alqi_index_put_simple(batch)))
                index_batch(thread, batch);
        }
    }
    if (skip == 0 || ALQI_UNLIKELY(thread->armed.serial !=
                                   atomic_load_explicit(&thread->domain->serial,
                                                        memory_order_acquire)))
        skip = alqi_thread_draw_skip(thread);
    alqi_thread_leave(thread, ALQI_MEMPROF_IDLE);
    return skip;
}

/* ---- the block goes ---------------------------------------------------------
 */

/* The usual free: one client, nothing queued, no deferral. */
static inline bool
runs_now(const struct alqi_memprof_thread *t,
         const struct alqi_memprof_entry *dead, uint32_t was)
{
    return dead != NULL && dead->chain == NULL && was == ALQI_MEMPROF_IDLE &&
           t->due.head == NULL && !alqi_profile_defers(dead->profile);
}

bool
alqi_memprof_freeing(struct alqi_memprof_thread *thread, void *block)
{
    struct alqi_memprof_entry *dead;
    uint32_t was = thread->mode;

    if (ALQI_UNLIKELY(was == ALQI_MEMPROF_INSIDE))
        return alqi_thread_delay_free(thread, block);
    alqi_memprof_enter(thread);
    dead = alqi_index_remove_dead(block);
    alqi_entries_notify_freeing(dead);
    if (ALQI_LIKELY(runs_now(thread, dead, was)))
        alqi_callback_dealloc(thread, dead);
    else
        alqi_pending_dead_chain(thread, dead);
    alqi_thread_leave(thread, was);
    return true;
}

struct alqi_memprof_entry *
alqi_memprof_realloc_begin(struct alqi_memprof_thread *thread, void *block,
                           bool *ok)
{
    struct alqi_memprof_entry *taken;
    uint32_t was = thread->mode;

    *ok = was != ALQI_MEMPROF_INSIDE;
    if (!*ok)
        return NULL;
    alqi_memprof_enter(thread);
    taken = alqi_index_remove_for_realloc(block);
    alqi_entries_notify_freeing(taken);
    alqi_thread_leave(thread, was);
    return taken;
}

void
alqi_memprof_realloc_done(struct alqi_memprof_thread *thread,
                          struct alqi_memprof_entry *taken)
{
    uint32_t was;

    if (taken == NULL)
        return;
    was = alqi_memprof_enter(thread);
    while (taken != NULL) {
        struct alqi_memprof_entry *next = taken->chain;

        switch (alqi_index_realloc_done(taken)) {
        case ALQI_NEXT_DEAD:
            alqi_pending_dead(thread, taken);
            break;
        case ALQI_NEXT_FREE:
            alqi_entry_free(thread, taken);
            break;
        case ALQI_NEXT_RUN:
        case ALQI_NEXT_KEEP:
        case ALQI_NEXT_LEFT:
            break;
        }
        taken = next;
    }
    alqi_thread_leave(thread, was);
}

/* Calls the hook `free_undone` of a block whose realloc has failed: the pair of
 * alqi_entries_notify_freeing. */
static void
entries_notify_undone(const struct alqi_memprof_entry *chain)
{
    for (; chain != NULL; chain = chain->chain) {
        const struct alq_profile *p = chain->profile;

        if (p->hooks != NULL)
            p->hooks->free_undone(p->tracker.arg, chain->block,
                                  alqi_entry_size_bytes(chain));
    }
}

void
alqi_memprof_realloc_failed(struct alqi_memprof_thread *thread,
                            struct alqi_memprof_entry *taken)
{
    uint32_t was;

    if (taken == NULL)
        return;
    was = alqi_memprof_enter(thread);
    entries_notify_undone(taken);
    index_batch(thread, taken);
    alqi_thread_leave(thread, was);
}

bool
alqi_memprof_realloc_data(const struct alqi_memprof_entry *taken,
                          int (*dealloc_major)(void *arg, uintptr_t data),
                          uintptr_t *data)
{
    for (; taken != NULL; taken = taken->chain)
        if (taken->profile->tracker.dealloc_major == dealloc_major &&
            (taken->flags & ALQI_ENTRY_DATUM)) {
            *data = taken->data;
            return true;
        }
    return false;
}
