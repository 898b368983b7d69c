/* control.c -- start, stop, discard, flush, each */
#include "memprof/state.h"

static void
triggers_stale(struct alqi_memprof_domain *d)
{
    if (d->subject->triggers_stale != NULL)
        d->subject->triggers_stale(d->heap);
}

/* Puts p into the slot; false when the slot is sampling and may not be taken
 * over. */
static bool
slot_claim(struct alqi_memprof_domain *d, unsigned slot, struct alq_profile *p,
           bool strict)
{
    struct alq_profile *now;
    bool busy;

    alqi_domain_lock(d);
    now = atomic_load_explicit(&d->slot[slot], memory_order_relaxed);
    busy = strict && now != NULL &&
           alqi_profile_status(now) == ALQI_PROFILE_SAMPLING;
    if (!busy)
        alqi_domain_slot_set_locked(d, slot, p);
    alqi_domain_unlock(d);
    return !busy;
}

enum alq_status
alqi_memprof_start(struct alqi_memprof_domain *domain,
                   struct alqi_memprof_thread *thread,
                   enum alqi_memprof_slot slot,
                   const struct alq_memprof_config *config,
                   const struct alq_tracker *tracker, struct alq_profile **out)
{
    const struct alq_memprof_config standard = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alqi_sample_law law;
    struct alq_profile *p;
    enum alq_status st = ALQ_OK;
    uint32_t was = ALQI_MEMPROF_IDLE;

    if (config == NULL)
        config = &standard;
    if (tracker == NULL || out == NULL ||
        !alqi_sample_law_set(&law, config->rate))
        return ALQ_EINVAL;
    if (thread != NULL && thread->mode == ALQI_MEMPROF_INSIDE)
        return ALQ_EINVAL; /* from a signal handler */
    if (thread != NULL)
        was = alqi_thread_enter(thread);
    p = alqi_profile_new(config, tracker, &law, slot);
    if (p == NULL) {
        st = ALQ_ENOMEM;
    } else if (!slot_claim(domain, slot, p,
                           config->flags & ALQ_MEMPROF_STRICT)) {
        alqi_memprof_profile_drop(p);
        st = ALQ_EBUSY;
    } else {
        *out = p;
    }
    if (thread != NULL)
        alqi_thread_leave(thread, was);
    if (st == ALQ_OK)
        triggers_stale(domain);
    return st;
}

/* SAMPLING -> STOPPED for everyone who shares it, and out of this slot. */
static enum alq_status
slot_stop(struct alqi_memprof_domain *d, unsigned slot)
{
    uint32_t expected = ALQI_PROFILE_SAMPLING;
    struct alq_profile *now;
    enum alq_status st = ALQ_ENOTRUN;

    alqi_domain_lock(d);
    now = atomic_load_explicit(&d->slot[slot], memory_order_relaxed);
    if (now != NULL && atomic_compare_exchange_strong_explicit(
                           &now->status, &expected, ALQI_PROFILE_STOPPED,
                           memory_order_acq_rel, memory_order_acquire))
        st = ALQ_OK;
    if (now != NULL)
        alqi_domain_slot_set_locked(d, slot, NULL);
    alqi_domain_unlock(d);
    return st;
}

enum alq_status
alqi_memprof_stop(struct alqi_memprof_domain *domain,
                  struct alqi_memprof_thread *thread,
                  enum alqi_memprof_slot slot)
{
    uint32_t was = thread->mode;
    bool failed = false;
    enum alq_status st;

    if (was == ALQI_MEMPROF_INSIDE)
        return ALQ_EINVAL; /* from a signal handler */
    alqi_thread_enter(thread);
    if (was == ALQI_MEMPROF_IDLE) {
        int before = thread->failure;

        thread->failure = 0;
        alqi_pending_run_allocs(thread);
        failed = thread->failure != 0;
        if (before != 0)
            thread->failure = before; /* flush reports the first */
    }
    st = slot_stop(domain, slot);
    alqi_thread_leave(thread, was);
    if (st == ALQ_OK)
        triggers_stale(domain);
    if (st == ALQ_OK && failed)
        st = ALQ_ECALLBACK;
    return st;
}

enum alq_status
alqi_memprof_discard(struct alqi_memprof_thread *thread,
                     struct alq_profile *profile)
{
    uint32_t status = ALQI_PROFILE_STOPPED, was = thread->mode;

    if (profile == NULL || was == ALQI_MEMPROF_INSIDE)
        return ALQ_EINVAL;
    if (!atomic_compare_exchange_strong_explicit(
            &profile->status, &status, ALQI_PROFILE_DISCARDED,
            memory_order_acq_rel, memory_order_acquire))
        return status == ALQI_PROFILE_SAMPLING ? ALQ_ERUNNING : ALQ_EGONE;
    alqi_thread_enter(thread);
    /* Inside a callback the releases wait until it has ended. */
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
    alqi_thread_enter(thread);
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
    alqi_thread_enter(thread);
    if (alqi_index_each(profile, visit, arg) == 0)
        alqi_scan_each(thread->domain, profile, visit, arg);
    alqi_thread_leave(thread, ALQI_MEMPROF_IDLE);
    return ALQ_OK;
}
