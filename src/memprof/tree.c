/* tree.c -- profiles of thread trees: a thread's own, and its creator's
 *
 *     A starts p          A: p            B is created by A: it takes p over.
 *      |                  |               C is created by B before B starts q
 *      +--creates--> B    B: p q          beside p, D after: C has p, D p and
 * q. |                    E was there before A started p: it C: p  <---+---> D:
 * p q   E: -  has nothing.
 *
 * At most one of a thread's was started without ALQ_MEMPROF_BESIDE: its own in
 * the sense of start and stop.
 * Each thread, and each creation under way, that has a profile is attached to
 * it; the last that goes stops it.
 *
 * .inv.trees  A thread's set is changed by that thread alone, under its
 *             domain's lock: reading its own it needs no lock, and a fork finds
 *             each set whole.  Who stops a profile does not touch the sets of
 *             others: they let go when they next arm (prune), and until then
 *             its status keeps it from getting samples. */
#include "memprof/state.h"

static bool
is_sampling(const struct alq_profile *p)
{
    return alqi_profile_status(p) == ALQI_PROFILE_SAMPLING;
}

/* ---- a thread's set ----------------------------------------------------- */

/* What is next_skip from now on is next_skip by another dist. */
static void
stale_locked(struct alqi_memprof_thread *t)
{
    t->armed.serial = 0;
}

static void
add_locked(struct alqi_memprof_thread *t, struct alq_profile *p)
{
    ALQI_ASSERT(t->trees.n < ALQI_MEMPROF_TREES_MAX);
    t->trees.profile[t->trees.n++] = p;
    stale_locked(t);
}

static void
leave_locked(struct alqi_memprof_thread *t, unsigned i)
{
    struct alqi_memprof_trees *s = &t->trees;
    struct alq_profile *p = s->profile[i];

    s->n--;
    for (; i < s->n; i++)
        s->profile[i] = s->profile[i + 1];
    alqi_profile_detach(p);
}

void
alqi_tree_prune_locked(struct alqi_memprof_thread *t)
{
    for (unsigned i = t->trees.n; i-- > 0;)
        if (!is_sampling(t->trees.profile[i]))
            leave_locked(t, i);
}

/* The place of p, or, when it is NULL, of the one that is not beside others
 * and sampling; n when there is none. */
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

static bool
claim_locked(struct alqi_memprof_thread *t, struct alq_profile *p)
{
    bool has_own;
    unsigned own;

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

/* A profile that this thread alone has is nobody else's to arm: threads come
 * to it only by being created by one that has it. */
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

/* In a child whose fork ran no handlers, of a thread that is not there. */
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
    alqi_thread_leave(thread, was);
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
        alqi_thread_leave(thread, was);
}
