/* tree.c -- profiles of thread trees: a thread's own, and its creator's
 *
 *     A starts p           A: p             B is created by A: it takes p over.
 *      |                   |                C is created by B before B starts
 *      +--creates--> B     B: p q           q beside p, D after: C has p, D has
 *                    |                      p and q.  E existed before A
 *           C: p  <--+--> D: p q   E: -     started p: it has nothing.
 *
 * A thread's *set* holds at most one profile that was started without
 * ALQ_MEMPROF_BESIDE: the one that start replaces and stop ends.  Each thread,
 * and each creation under way, that has a profile is attached to it; the last
 * one that detaches stops it.
 *
 * Keeps .inv.trees, .inv.own, .inv.attached (doc/design/memprof.md). */
#include "memprof/state.h"
#include "memprof/tree.h"

static bool
is_sampling(const struct alq_profile *p)
{
    return alqi_profile_status(p) == ALQI_PROFILE_SAMPLING;
}

/* ---- a thread's set ----------------------------------------------------- */

/* The next draw arms first: the distribution has changed. */
static void
stale_locked(struct alqi_memprof_thread *t)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_DOMAIN));
    t->armed.serial = 0;
}

static void
add_locked(struct alqi_memprof_thread *t, struct alq_profile *p)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_DOMAIN));
    ALQI_ASSERT(t->trees.n < ALQI_MEMPROF_TREES_MAX);
    t->trees.profile[t->trees.n++] = p;
    stale_locked(t);
}

/* Takes the i-th profile out of the set and detaches from it.  The others keep
 * their order, which is that of their callbacks. */
static void
leave_locked(struct alqi_memprof_thread *t, unsigned i)
{
    struct alqi_memprof_trees *s = &t->trees;
    struct alq_profile *p = s->profile[i];

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_DOMAIN));
    s->n--;
    for (; i < s->n; i++)
        s->profile[i] = s->profile[i + 1];
    alqi_profile_detach(p);
}

void
alqi_tree_prune_locked(struct alqi_memprof_thread *t)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_DOMAIN));
    for (unsigned i = t->trees.n; i-- > 0;)
        if (!is_sampling(t->trees.profile[i]))
            leave_locked(t, i);
}

/* Returns the index of p; with p NULL that of the sampling profile which was
 * started without ALQ_MEMPROF_BESIDE; n: there is none. */
static unsigned
find(const struct alqi_memprof_thread *t, const struct alq_profile *p)
{
    const struct alqi_memprof_trees *s = &t->trees;

    for (unsigned i = 0; i < s->n; i++) {
        const struct alq_profile *q = s->profile[i];

        if (p != NULL ? q == p
                      : !(q->flags & ALQ_MEMPROF_BESIDE) && is_sampling(q))
            return i;
    }
    return s->n;
}

bool
alqi_tree_has(const struct alqi_memprof_thread *t, const struct alq_profile *p)
{
    return find(t, p) != t->trees.n;
}

bool
alqi_memprof_tree_is_sampling(const struct alqi_memprof_thread *thread)
{
    return alqi_tree_has(thread, NULL);
}

/* ---- start, stop, end --------------------------------------------------- */

/* Puts p into the set; false: busy.  A profile without ALQ_MEMPROF_BESIDE
 * replaces the thread's own (.inv.own), unless it is STRICT. */
static bool
claim_locked(struct alqi_memprof_thread *t, struct alq_profile *p)
{
    bool has_own;
    unsigned own;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_DOMAIN));
    alqi_tree_prune_locked(t);
    own = find(t, NULL);
    has_own = own != t->trees.n;
    if (p->flags & ALQ_MEMPROF_BESIDE) {
        if (t->trees.n - has_own == ALQ_MEMPROF_BESIDE_MAX)
            return false;
    } else if (has_own) {
        if (p->flags & ALQ_MEMPROF_STRICT)
            return false;
        leave_locked(t, own);
    }
    alqi_profile_attach(p);
    add_locked(t, p);
    return true;
}

bool
alqi_tree_claim(struct alqi_memprof_thread *t, struct alq_profile *p)
{
    bool claimed;

    alqi_domain_lock(t->domain);
    claimed = claim_locked(t, p);
    alqi_domain_unlock(t->domain);
    return claimed;
}

/* Whether only this thread has the profile.  Threads come to a profile only by
 * being created by one that has it, so no other thread needs to arm anew. */
static bool
is_alone_in(const struct alqi_memprof_thread *t, const struct alq_profile *p)
{
    return alqi_tree_has(t, p) &&
           atomic_load_explicit(&p->n_attached, memory_order_acquire) == 1;
}

enum alq_status
alqi_tree_stop(struct alqi_memprof_thread *t, struct alq_profile *p)
{
    struct alqi_memprof_domain *d = t->domain;
    enum alq_status st = ALQ_ENOTRUN;
    unsigned i;

    alqi_domain_lock(d);
    i = find(t, p);
    if (p == NULL && i != t->trees.n)
        p = t->trees.profile[i];
    if (p != NULL && alqi_profile_stop(p)) {
        st = ALQ_OK;
        if (!is_alone_in(t, p))
            atomic_fetch_add_explicit(&d->serial, 1, memory_order_release);
        if (i != t->trees.n)
            leave_locked(t, i);
        stale_locked(t);
    }
    alqi_domain_unlock(d);
    return st;
}

void
alqi_tree_leave_all(struct alqi_memprof_thread *t)
{
    if (t->trees.n == 0)
        return;
    alqi_domain_lock(t->domain);
    while (t->trees.n > 0)
        leave_locked(t, t->trees.n - 1);
    alqi_domain_unlock(t->domain);
}

void
alqi_tree_fork_reset(struct alqi_memprof_thread *t)
{
    while (t->trees.n > 0) {
        struct alq_profile *p = t->trees.profile[--t->trees.n];

        if (p != NULL)
            alqi_profile_detach_lost(p);
    }
}

/* ---- from thread to thread ---------------------------------------------- */

bool
alqi_memprof_trees_copy(const struct alqi_memprof_thread *creator,
                        struct alqi_memprof_trees *out)
{
    const struct alqi_memprof_trees *s = &creator->trees;

    out->n = 0;
    for (unsigned i = 0; i < s->n; i++) {
        if (!is_sampling(s->profile[i]))
            continue;
        alqi_profile_attach(s->profile[i]);
        out->profile[out->n++] = s->profile[i];
    }
    return out->n != 0;
}

void
alqi_memprof_trees_adopt(struct alqi_memprof_thread *thread,
                         struct alqi_memprof_trees *trees)
{
    uint32_t was = alqi_memprof_enter(thread);

    ALQI_ASSERT(thread->trees.n == 0);
    alqi_domain_lock(thread->domain);
    while (trees->n > 0)
        add_locked(thread, trees->profile[--trees->n]);
    alqi_domain_unlock(thread->domain);
    alqi_memprof_leave(thread, was);
}

void
alqi_memprof_trees_drop(struct alqi_memprof_thread *thread,
                        struct alqi_memprof_trees *trees, bool is_lost)
{
    bool is_out = thread != NULL && thread->mode != ALQI_MEMPROF_INSIDE;
    uint32_t was = is_out ? alqi_memprof_enter(thread) : ALQI_MEMPROF_INSIDE;

    while (trees->n > 0) {
        struct alq_profile *p = trees->profile[--trees->n];

        if (is_lost)
            alqi_profile_count(&p->dropped_nomem, 1);
        alqi_profile_detach(p);
    }
    if (is_out)
        alqi_memprof_leave(thread, was);
}
