/* control.c -- start, join, stop, discard, flush and each
 *
 * A start makes a profile and claims a place for it: a slot of the domain, or
 * the calling thread's own set (tree.c).  A stop changes the status, by one
 * compare-and-swap, and empties the place; a discard then takes the profile's
 * entries out of the index and the lists.  Each call fails with ALQ_EINVAL in a
 * signal handler that interrupted the engine (mode INSIDE).
 *
 * Keeps .inv.own, .inv.attached; .prop.stop, .prop.discard
 * (doc/design/memprof.md). */
#include "memprof/domain.h"
#include "memprof/index.h"
#include "memprof/orphan.h"
#include "memprof/pending.h"
#include "memprof/state.h"
#include "memprof/scan.h"
#include "memprof/thread.h"
#include "memprof/tree.h"

static void
triggers_stale(struct alqi_memprof_domain *d)
{
    if (d->subject->triggers_stale != NULL)
        d->subject->triggers_stale(d->heap);
}

static bool
is_slot_sampling_locked(const struct alqi_memprof_domain *d, unsigned slot)
{
    const struct alq_profile *p =
        atomic_load_explicit(&d->slot[slot], memory_order_relaxed);

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_DOMAIN));
    return p != NULL && alqi_profile_status(p) == ALQI_PROFILE_SAMPLING;
}

/* Returns a free slot for ALQ_MEMPROF_BESIDE; ALQI_MEMPROF_SLOTS: all are
 * sampling. */
static unsigned
slot_beside_locked(const struct alqi_memprof_domain *d)
{
    unsigned slot = ALQI_MEMPROF_SLOT_BESIDE;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_DOMAIN));
    while (slot < ALQI_MEMPROF_SLOTS && is_slot_sampling_locked(d, slot))
        slot++;
    return slot;
}

/* Puts p into its slot, or into a free one beside it.  False: the slot is
 * sampling, and p has ALQ_MEMPROF_STRICT or all slots beside are taken. */
static bool
slot_claim(struct alqi_memprof_domain *d, struct alq_profile *p)
{
    bool busy;

    alqi_domain_lock(d);
    if (p->slot == ALQI_MEMPROF_SLOT_USER && (p->flags & ALQ_MEMPROF_BESIDE)) {
        p->slot = slot_beside_locked(d);
        busy = p->slot == ALQI_MEMPROF_SLOTS;
    } else {
        busy = (p->flags & ALQ_MEMPROF_STRICT) &&
               is_slot_sampling_locked(d, p->slot);
    }
    if (!busy)
        alqi_domain_slot_set_locked(d, p->slot, p);
    alqi_domain_unlock(d);
    return !busy;
}

static bool
claim(struct alqi_memprof_domain *d, struct alqi_memprof_thread *t,
      struct alq_profile *p)
{
    return p->slot == ALQI_MEMPROF_SLOT_TREE ? alqi_tree_claim(t, p)
                                             : slot_claim(d, p);
}

enum alq_status
alqi_memprof_start(struct alqi_memprof_domain *domain,
                   struct alqi_memprof_thread *thread,
                   enum alqi_memprof_slot slot,
                   const struct alq_memprof_config *config,
                   const struct alq_tracker *tracker, struct alq_profile **out)
{
    return alqi_memprof_start_hooked(domain, thread, slot, config, tracker,
                                     NULL, out);
}

enum alq_status
alqi_memprof_start_hooked(struct alqi_memprof_domain *domain,
                          struct alqi_memprof_thread *thread,
                          enum alqi_memprof_slot slot,
                          const struct alq_memprof_config *config,
                          const struct alq_tracker *tracker,
                          const struct alqi_memprof_hooks *hooks,
                          struct alq_profile **out)
{
    const struct alq_memprof_config standard = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alqi_sample_dist dist;
    struct alq_profile *p;
    enum alq_status st = ALQ_OK;
    uint32_t was = ALQI_MEMPROF_IDLE;

    if (config == NULL)
        config = &standard;
    if (tracker == NULL || out == NULL ||
        !alqi_sample_dist_set(&dist, config->rate))
        return ALQ_EINVAL;
    if (thread != NULL && thread->mode == ALQI_MEMPROF_INSIDE)
        return ALQ_EINVAL; /* from a signal handler */
    if (thread != NULL)
        was = alqi_memprof_enter(thread);
    p = alqi_profile_new(config, tracker, &dist, hooks, slot);
    if (p == NULL) {
        st = ALQ_ENOMEM;
    } else if (!claim(domain, thread, p)) {
        alqi_memprof_profile_drop(p);
        st = ALQ_EBUSY;
    } else {
        *out = p;
    }
    if (thread != NULL)
        alqi_thread_leave(thread, was);
    if (st == ALQ_OK && slot != ALQI_MEMPROF_SLOT_TREE)
        triggers_stale(domain);
    return st;
}

enum alq_status
alqi_memprof_join(struct alqi_memprof_domain *domain,
                  struct alq_profile *profile)
{
    enum alq_status st = ALQ_OK;

    if (profile->slot >= ALQI_MEMPROF_SLOTS)
        return ALQ_EINVAL; /* a thread tree's */
    alqi_domain_lock(domain);
    if (is_slot_sampling_locked(domain, profile->slot)) {
        st = ALQ_EBUSY;
    } else if (!alqi_profile_attach_try(profile)) {
        st = ALQ_ENOTRUN;
    } else {
        alqi_domain_slot_set_locked(domain, profile->slot, profile);
        alqi_profile_detach(profile); /* the slot's own is there */
        domain->path = alqi_base_mix(
            domain->path + ~(uint64_t)atomic_fetch_add_explicit(
                               &profile->n_joined, 1, memory_order_relaxed));
    }
    alqi_domain_unlock(domain);
    if (st == ALQ_OK)
        triggers_stale(domain);
    return st;
}

/* Stops the profile in the slot for every domain and thread that has it, and
 * empties the slot. */
static enum alq_status
slot_stop(struct alqi_memprof_domain *d, unsigned slot)
{
    struct alq_profile *now;
    enum alq_status st = ALQ_ENOTRUN;

    alqi_domain_lock(d);
    now = atomic_load_explicit(&d->slot[slot], memory_order_relaxed);
    if (now != NULL && alqi_profile_stop(now))
        st = ALQ_OK;
    if (now != NULL)
        alqi_domain_slot_set_locked(d, slot, NULL);
    alqi_domain_unlock(d);
    return st;
}

/* As slot_stop, for a profile whose slot may hold another one by now. */
static enum alq_status
slot_stop_of(struct alqi_memprof_domain *d, struct alq_profile *p)
{
    if (!alqi_profile_stop(p))
        return ALQ_ENOTRUN;
    alqi_domain_lock(d);
    if (atomic_load_explicit(&d->slot[p->slot], memory_order_relaxed) == p)
        alqi_domain_slot_set_locked(d, p->slot, NULL);
    alqi_domain_unlock(d);
    return ALQ_OK;
}

/* Runs the thread's deferred alloc callbacks; true: one failed. */
static bool
due_allocs_fail(struct alqi_memprof_thread *t)
{
    int before = t->failure;
    bool failed;

    t->failure = 0;
    alqi_pending_run_allocs(t);
    failed = t->failure != 0;
    if (before != 0)
        t->failure = before; /* flush reports the first */
    return failed;
}

/* Stops p, or what the slot holds when p is NULL. */
static enum alq_status
stop(struct alqi_memprof_domain *d, struct alqi_memprof_thread *t,
     unsigned slot, struct alq_profile *p)
{
    uint32_t was = t->mode;
    bool failed;
    enum alq_status st;

    if (was == ALQI_MEMPROF_INSIDE)
        return ALQ_EINVAL; /* from a signal handler */
    alqi_memprof_enter(t);
    failed = was == ALQI_MEMPROF_IDLE && due_allocs_fail(t);
    if (slot == ALQI_MEMPROF_SLOT_TREE)
        st = alqi_tree_stop(t, p);
    else
        st = p == NULL ? slot_stop(d, slot) : slot_stop_of(d, p);
    alqi_thread_leave(t, was);
    if (st == ALQ_OK && slot != ALQI_MEMPROF_SLOT_TREE)
        triggers_stale(d);
    return st == ALQ_OK && failed ? ALQ_ECALLBACK : st;
}

enum alq_status
alqi_memprof_stop(struct alqi_memprof_domain *domain,
                  struct alqi_memprof_thread *thread,
                  enum alqi_memprof_slot slot)
{
    return stop(domain, thread, slot, NULL);
}

enum alq_status
alqi_memprof_profile_stop(struct alqi_memprof_thread *thread,
                          struct alq_profile *profile)
{
    if (profile == NULL)
        return ALQ_EINVAL;
    if (thread == NULL)
        return alqi_profile_stop(profile) ? ALQ_OK : ALQ_ENOTRUN;
    return stop(thread->domain, thread, profile->slot, profile);
}

enum alq_status
alqi_memprof_discard(struct alqi_memprof_thread *thread,
                     struct alq_profile *profile)
{
    uint32_t status = ALQI_PROFILE_STOPPED, was;

    if (profile == NULL ||
        (thread != NULL && thread->mode == ALQI_MEMPROF_INSIDE))
        return ALQ_EINVAL;
    if (!atomic_compare_exchange_strong_explicit(
            &profile->status, &status, ALQI_PROFILE_DISCARDED,
            memory_order_acq_rel, memory_order_acquire))
        return status == ALQI_PROFILE_SAMPLING ? ALQ_ERUNNING : ALQ_EGONE;
    alqi_profiles_note_discard();
    if (thread == NULL)
        return ALQ_OK;
    was = alqi_memprof_enter(thread);
    /* Within a callback the releases wait on `due` until it has ended. */
    alqi_pending_release_chain(thread, alqi_index_sweep(profile));
    alqi_pending_release_chain(thread,
                               alqi_scan_sweep(thread->domain, profile));
    alqi_thread_leave(thread, was);
    return ALQ_OK;
}

enum alq_status
alqi_memprof_flush(struct alqi_memprof_thread *thread, int *code)
{
    int failure;

    if (thread->mode != ALQI_MEMPROF_IDLE)
        return ALQ_OK;
    alqi_memprof_enter(thread);
    alqi_pending_run_all(thread);
    alqi_thread_leave(thread, ALQI_MEMPROF_IDLE);
    failure = thread->failure;
    if (failure == 0)
        return ALQ_OK;
    thread->failure = 0;
    if (code != NULL)
        *code = failure;
    return ALQ_ECALLBACK;
}

enum alq_status
alqi_memprof_each(struct alqi_memprof_thread *thread,
                  struct alq_profile *profile,
                  int (*visit)(void *arg, const struct alq_allocation *a,
                               uintptr_t data),
                  void *arg)
{
    if (profile == NULL || visit == NULL || thread->mode != ALQI_MEMPROF_IDLE)
        return ALQ_EINVAL;
    if (alqi_profile_status(profile) == ALQI_PROFILE_DISCARDED)
        return ALQ_EGONE;
    alqi_memprof_enter(thread);
    alqi_orphans_adopt(thread->domain);
    if (alqi_index_each(profile, visit, arg) == 0)
        alqi_scan_each(thread->domain, profile, visit, arg);
    alqi_thread_leave(thread, ALQI_MEMPROF_IDLE);
    return ALQ_OK;
}
