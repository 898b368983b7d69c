/* make.c -- from samples to entries: the rare cases of make.h
 *
 * Several clients, thinning, gates, a stale `armed`, refusals, deferred alloc
 * callbacks, and the notification of the heap's limits.
 *
 * Keeps .inv.armed: a client that was stopped or replaced since the skip was
 * drawn gets no sample (doc/design/memprof.md). */
#include "memprof/make.h"
#include "memprof/profile.h"
#include "memprof/stash.h"
#include "memprof/tree.h"

/* Whether a profile that was armed still samples the thread.  Its memory may be
 * another profile's by now; alqi_profile_enter compares the id. */
static ALQI_COLD bool
samples_still(const struct alqi_memprof_thread *t, const struct alq_profile *p)
{
    const struct alqi_memprof_domain *d = t->domain;

    for (unsigned i = 0; i < ALQI_MEMPROF_SLOTS; i++)
        if (atomic_load_explicit(&d->slot[i], memory_order_acquire) == p)
            return true;
    return alqi_tree_has(t, p);
}

/* The client was stopped by another domain, which cannot change this thread's
 * `armed`: makes the thread arm anew. */
void
alqi_make_refused(struct alqi_memprof_thread *t,
                  const struct alqi_memprof_client *c)
{
    if (alqi_profile_status(c->profile) != ALQI_PROFILE_SAMPLING ||
        atomic_load_explicit(&c->profile->id, memory_order_relaxed) != c->id)
        t->armed.serial = 0;
}

void
alqi_make_no_memory(struct alqi_memprof_thread *t, struct alq_profile *p)
{
    alqi_profile_count(&p->dropped_nomem, 1);
    alqi_client_leave(t, p);
}

/* Charges the samples that signal handlers have lost to each client that
 * samples still; entering keeps its profile meanwhile. */
static ALQI_COLD void
count_nested(struct alqi_memprof_thread *t)
{
    for (unsigned i = 0; i < t->armed.n_clients; i++) {
        const struct alqi_memprof_client *c = &t->armed.client[i];

        if (!alqi_client_enter(c))
            continue;
        alqi_profile_count(&c->profile->dropped_nested, t->dropped_nested);
        alqi_client_leave(t, c->profile);
    }
    t->dropped_nested = 0;
}

static bool
is_shut(const struct alqi_memprof_client *c)
{
    return c->gate != NULL && *c->gate == 0;
}

/* Returns how many of the k samples are the client's; 0: it samples no more. */
static uint64_t
share(struct alqi_memprof_thread *t, const struct alqi_memprof_client *c,
      uint64_t k, bool stale)
{
    if (ALQI_UNLIKELY(stale) && !samples_still(t, c->profile))
        return 0; /* replaced or stopped since the skip was drawn */
    if (ALQI_LIKELY(c->thin.rate == 1.0))
        return k;
    return alqi_sample_binomial(&t->rng, &c->thin, k);
}

bool
alqi_make_for_all(struct alqi_memprof_thread *t,
                  const struct alqi_memprof_birth *birth, uint64_t k)
{
    bool stale = atomic_load_explicit(&t->domain->serial,
                                      memory_order_relaxed) != t->armed.serial;
    struct alqi_memprof_entry **at = &t->new_entries;

    while (*at != NULL)
        at = &(*at)->chain;
    for (unsigned i = 0; i < t->armed.n_clients; i++) {
        const struct alqi_memprof_client *c = &t->armed.client[i];
        uint64_t mine = is_shut(c) ? 0 : share(t, c, k, stale);

        if (mine == 0)
            continue;
        *at = alqi_make_one(t, c, mine, birth);
        if (*at != NULL)
            at = &(*at)->chain;
    }
    if (ALQI_UNLIKELY(t->dropped_nested != 0))
        count_nested(t);
    return t->new_entries != NULL;
}

bool
alqi_make_deferred(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e,
                   const struct alqi_stack_frames *stack)
{
    struct alq_profile *p = e->profile;

    if (!alqi_stash_make(t, e, stack->pcs, alqi_make_n_frames(p, stack))) {
        alqi_profile_count(&p->dropped_nomem, 1);
        return false;
    }
    e->flags |= ALQI_ENTRY_ALLOC_DUE;
    return true;
}

void
alqi_make_notify_heap(const struct alqi_memprof_thread *t,
                      const struct alqi_stack_frames *stack)
{
    const struct alqi_memprof_limits *limits =
        alqi_memprof_subject_limits(t->domain->subject);

    if (limits == NULL)
        return;
    for (const struct alqi_memprof_entry *e = t->new_entries; e; e = e->chain) {
        const struct alq_profile *p = e->profile;

        if (p == t->armed.highest_rate)
            limits->sampled(t->domain->heap, e->n_samples, 1 / p->dist.rate,
                            stack->pcs, alqi_make_n_frames(p, stack));
    }
}
