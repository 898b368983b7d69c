/* thread.c -- a thread's modes, its skips, and frees that must wait
 *
 *              enter                     callback begins
 *       IDLE ---------> INSIDE -----------------------------> CALLBACK
 *            <---------        <-----------------------------
 *              leave             callback ends
 *
 * A signal handler may interrupt each mode and call malloc or free:
 *
 *     IDLE, CALLBACK  No lock is held and nothing is half done: it is served.
 *     INSIDE          Its malloc is not sampled.  Its free of a tracked block
 *                     waits in delayed[], unfreed, until `leave`.
 *
 * .inv.delayed  Only the thread and its own handlers use delayed[] and
 *               n_delayed, and a handler runs to its end before the thread goes
 *               on: adding is a plain store, emptying ends by compare-and-swap.
 *
 * Keeps .inv.drawn, .inv.nest; .prop.signal (doc/design/memprof.md). */
#include <string.h>

#include "memprof/callback.h"
#include "memprof/domain.h"
#include "memprof/index.h"
#include "memprof/make.h"
#include "memprof/pending.h"
#include "memprof/pool.h"
#include "memprof/thread.h"
#include "memprof/tree.h"

enum { SKIPS_MAX = 16 }; /* expected samples; more are one binomial draw */

static struct alqi_memprof_entry *
delayed_free(struct alqi_memprof_thread *t, void *block)
{
    struct alqi_memprof_entry *dead = alqi_index_remove_dead(block);

    alqi_entries_notify_freeing(dead);
    t->domain->subject->free_delayed(t->domain->heap, block);
    return dead;
}

/* Frees the blocks whose frees handlers have delayed, those included that a
 * handler adds meanwhile (.inv.delayed).  The thread is INSIDE. */
static ALQI_COLD void
delayed_drain(struct alqi_memprof_thread *t)
{
    uint32_t done = 0, n = __atomic_load_n(&t->n_delayed, __ATOMIC_RELAXED);

    do {
        while (done < n)
            alqi_pending_dead_chain(t, delayed_free(t, t->delayed[done++]));
        /* fails if a handler has added more */
    } while (!__atomic_compare_exchange_n(&t->n_delayed, &n, 0, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

bool
alqi_thread_delay_free(struct alqi_memprof_thread *t, void *block)
{
    uint32_t n = t->n_delayed;

    if (n == ALQI_MEMPROF_DELAYED_FREES) {
        /* Not recorded: its entry is stale until the address is reused. */
        t->dropped_nested++;
        return true;
    }
    t->delayed[n] = block;
    atomic_signal_fence(memory_order_seq_cst);
    t->n_delayed = n + 1;
    return false;
}

void
alqi_thread_leave(struct alqi_memprof_thread *t, uint32_t was)
{
    for (;;) {
        if (ALQI_UNLIKELY(t->n_delayed != 0))
            delayed_drain(t);
        if (was == ALQI_MEMPROF_IDLE && ALQI_UNLIKELY(t->due.head != NULL)) {
            alqi_pending_run_due(t);
            continue;
        }
        atomic_signal_fence(memory_order_seq_cst);
        t->mode = was;
        atomic_signal_fence(memory_order_seq_cst);
        if (ALQI_LIKELY(t->n_delayed == 0))
            return;
        t->mode = ALQI_MEMPROF_INSIDE;
        atomic_signal_fence(memory_order_seq_cst);
    }
}

uint64_t
alqi_thread_draw_skip(struct alqi_memprof_thread *t)
{
    if (ALQI_UNLIKELY(alqi_thread_is_stale(t)))
        alqi_domain_arm(t->domain, t);
    return alqi_sample_skip_words(&t->rng, &t->armed.dist);
}

uint64_t
alqi_thread_samples(struct alqi_memprof_thread *t, uint64_t words_after,
                    uint64_t *skip)
{
    const struct alqi_sample_dist *dist = &t->armed.dist;
    uint64_t k = 1, g;

    *skip = 1;
    if (dist->rate == 1.0)
        return 1 + words_after;
    *skip = 0;
    if ((double)words_after * dist->rate > SKIPS_MAX)
        return 1 + alqi_sample_binomial(&t->rng, dist, words_after);
    /* The skip that ends beyond the block is the next one (.inv.drawn). */
    while ((g = alqi_sample_skip_words(&t->rng, dist)) <= words_after) {
        words_after -= g;
        k++;
    }
    *skip = g - words_after;
    return k;
}

uint64_t
alqi_memprof_skip_words(struct alqi_memprof_thread *thread)
{
    uint64_t skip;

    if (thread->mode != ALQI_MEMPROF_IDLE)
        return ALQI_SAMPLE_NEVER_WORDS;
    skip = alqi_thread_take_skip(thread);
    if (ALQI_LIKELY(skip != 0))
        return skip;
    alqi_memprof_enter(thread);
    skip = alqi_thread_draw_skip(thread);
    alqi_thread_leave(thread, ALQI_MEMPROF_IDLE);
    return skip;
}

/* ---- beginning and end -------------------------------------------------- */

void
alqi_memprof_thread_init(struct alqi_memprof_thread *thread,
                         struct alqi_memprof_domain *domain,
                         struct alqi_stack_cache *cache, uintptr_t *frames,
                         uint64_t seed)
{
    memset(thread, 0, sizeof *thread);
    thread->mode = ALQI_MEMPROF_INSIDE;
    thread->domain = domain;
    thread->cache = cache;
    thread->frames = frames;
    alqi_sample_seed(&thread->rng, seed != 0 ? seed : alqi_plat_entropy());
    alqi_domain_lock(domain);
    thread->ordinal = domain->n_threads_ever++;
    thread->next_in_domain = domain->threads;
    if (thread->next_in_domain != NULL)
        thread->next_in_domain->prev_in_domain = thread;
    domain->threads = thread;
    thread->is_listed = true;
    alqi_domain_unlock(domain);
    alqi_thread_leave(thread, ALQI_MEMPROF_IDLE);
}

/* Takes an ending thread off the list that collections and forks go through. */
static void
unlist(struct alqi_memprof_domain *d, struct alqi_memprof_thread *t)
{
    if (!t->is_listed)
        return; /* an unprepared fork has reset it */
    alqi_domain_lock(d);
    t->is_listed = false;
    if (t->next_in_domain != NULL)
        t->next_in_domain->prev_in_domain = t->prev_in_domain;
    if (t->prev_in_domain != NULL)
        t->prev_in_domain->next_in_domain = t->next_in_domain;
    else
        d->threads = t->next_in_domain;
    alqi_domain_unlock(d);
}

void
alqi_memprof_thread_end(struct alqi_memprof_thread *thread)
{
    /* CALLBACK: the callback ended the thread, which is legal and no failure.
     * INSIDE: a forked child ends a thread whose lists were half changed; they
     * are abandoned, with the few nodes on them. */
    bool whole = thread->mode != ALQI_MEMPROF_INSIDE;

    thread->mode = ALQI_MEMPROF_INSIDE;
    atomic_signal_fence(memory_order_seq_cst);
    if (whole) {
        alqi_callback_abandon(thread);
        if (thread->n_delayed != 0)
            delayed_drain(thread);
        alqi_pending_run_due(thread);
        alqi_pending_hand_over(thread);
        alqi_pool_drain(thread);
    }
    alqi_make_walked_free(thread);
    alqi_clients_leave(thread);
    alqi_tree_leave_all(thread);
    unlist(thread->domain, thread);
    /* The mode stays INSIDE: what the thread still frees is ignored. */
}

void
alqi_memprof_leave_slow(struct alqi_memprof_thread *thread, uint32_t was)
{
    alqi_thread_leave(thread, was);
}
