/* profile.c -- profiles: parameters, status, references, counters
 *
 *   SAMPLING --stop, or the last that it samples leaves--> STOPPED
 *   STOPPED --discard--> DISCARDED
 *
 * Each step is one compare-and-swap, so of two racing callers one gets the
 * error code.  A decision reads the status once.
 *
 * A profile is referenced by its user, by each domain slot and each thread
 * (tree.c) that holds it and by each entry.  Its memory returns to a pool and
 * is never unmapped: .inv.stable  a stale pointer still points at a profile,
 * and its id tells whether it is the one meant (alqi_profile_enter). */
#include "memprof/state.h"

enum { SLAB_BYTES = 1 << 14 };

static struct {
    struct alqi_memprof_lock lock;
    struct alq_profile *free;
    struct profile_slab *slabs;
    uint64_t n_made;
} profiles;

struct profile_slab {
    struct profile_slab *next;
    struct alq_profile profile[] __attribute__((aligned(64)));
};

enum {
    PER_SLAB =
        (SLAB_BYTES - sizeof(struct profile_slab)) / sizeof(struct alq_profile)
};

void
alqi_profiles_lock(void)
{
    alqi_memprof_lock(&profiles.lock, ALQI_RANK_PROFILES);
}

void
alqi_profiles_unlock(void)
{
    alqi_memprof_unlock(&profiles.lock, ALQI_RANK_PROFILES);
}

static bool
add_slab(void)
{
    struct profile_slab *s = alqi_plat_pages_map(SLAB_BYTES);

    if (s == NULL)
        return false;
    alqi_profiles_lock();
    s->next = profiles.slabs;
    profiles.slabs = s;
    for (unsigned i = 0; i < PER_SLAB; i++) {
        s->profile[i].next_in_pool = profiles.free;
        profiles.free = &s->profile[i];
    }
    alqi_profiles_unlock();
    return true;
}

static struct alq_profile *
pool_get(void)
{
    struct alq_profile *p;

    alqi_profiles_lock();
    p = profiles.free;
    if (p != NULL) {
        profiles.free = p->next_in_pool;
        atomic_store_explicit(&p->id, ++profiles.n_made, memory_order_relaxed);
    }
    alqi_profiles_unlock();
    return p;
}

static void
zero(_Atomic(uint64_t) *counter)
{
    atomic_store_explicit(counter, 0, memory_order_relaxed);
}

struct alq_profile *
alqi_profile_new(const struct alq_memprof_config *config,
                 const struct alq_tracker *tracker,
                 const struct alqi_sample_law *law,
                 const struct alqi_memprof_hooks *hooks, unsigned slot)
{
    struct alq_profile *p = pool_get();
    size_t frames = config->callstack_frames;

    while (p == NULL) {
        if (!add_slab())
            return NULL;
        p = pool_get();
    }
    p->law = *law;
    p->tracker = *tracker;
    p->hooks = hooks;
    p->seed = config->seed;
    while (p->seed == 0)
        p->seed = alqi_plat_entropy();
    p->max_entries = config->max_entries;
    p->callstack_frames = frames < ALQI_STACK_FRAMES_MAX
                              ? (uint32_t)frames
                              : (uint32_t)ALQI_STACK_FRAMES_MAX;
    p->flags = config->flags;
    p->slot = slot;
    zero(&p->sampled_blocks);
    zero(&p->extra_words);
    zero(&p->dropped_nomem);
    zero(&p->dropped_cap);
    zero(&p->dropped_nested);
    zero(&p->callback_failures);
    atomic_store_explicit(&p->status, ALQI_PROFILE_SAMPLING,
                          memory_order_relaxed);
    atomic_store_explicit(&p->n_attached, 0, memory_order_relaxed);
    /* Publishes all of the above to who enters by a stale pointer. */
    atomic_store_explicit(&p->refs, ALQI_PROFILE_ONE_HOLDER,
                          memory_order_release);
    return p;
}

void
alqi_profile_hold(struct alq_profile *p)
{
    atomic_fetch_add_explicit(&p->refs, ALQI_PROFILE_ONE_HOLDER,
                              memory_order_relaxed);
}

void
alqi_profile_release(struct alq_profile *p, uint64_t one)
{
    uint64_t before =
        atomic_fetch_sub_explicit(&p->refs, one, memory_order_acq_rel);

    ALQI_ASSERT(before >= one);
    if (before != one)
        return;
    alqi_profiles_lock();
    p->next_in_pool = profiles.free;
    profiles.free = p;
    alqi_profiles_unlock();
}

bool
alqi_profile_enter(struct alq_profile *p, uint64_t id)
{
    uint64_t refs = atomic_load_explicit(&p->refs, memory_order_relaxed);
    bool full;

    do {
        if (refs == 0)
            return false; /* in the pool */
    } while (!atomic_compare_exchange_weak_explicit(
        &p->refs, &refs, refs + ALQI_PROFILE_ONE_ENTRY, memory_order_acquire,
        memory_order_relaxed));
    if (ALQI_UNLIKELY(atomic_load_explicit(&p->id, memory_order_relaxed) !=
                      id)) {
        alqi_profile_release(p, ALQI_PROFILE_ONE_ENTRY);
        return false;
    }
    full =
        p->max_entries != 0 && (refs & ALQI_PROFILE_ENTRIES) >= p->max_entries;
    if (full || alqi_profile_status(p) != ALQI_PROFILE_SAMPLING) {
        if (full)
            alqi_profile_count(&p->dropped_cap, 1);
        alqi_profile_release(p, ALQI_PROFILE_ONE_ENTRY);
        return false;
    }
    return true;
}

void
alqi_profile_attach(struct alq_profile *p)
{
    alqi_profile_hold(p);
    atomic_fetch_add_explicit(&p->n_attached, 1, memory_order_relaxed);
}

bool
alqi_profile_stop(struct alq_profile *p)
{
    uint32_t expected = ALQI_PROFILE_SAMPLING;

    return atomic_compare_exchange_strong_explicit(
        &p->status, &expected, ALQI_PROFILE_STOPPED, memory_order_acq_rel,
        memory_order_acquire);
}

/* A profile that nothing can be sampled for any more stops itself. */
static void
leave(struct alq_profile *p)
{
    if (atomic_fetch_sub_explicit(&p->n_attached, 1, memory_order_acq_rel) == 1)
        alqi_profile_stop(p);
}

void
alqi_profile_detach(struct alq_profile *p)
{
    leave(p);
    alqi_profile_release(p, ALQI_PROFILE_ONE_HOLDER);
}

void
alqi_profile_detach_lost(struct alq_profile *p)
{
    leave(p);
    /* A profile that nobody else holds stays out of the pool: one is lost. */
    atomic_fetch_sub_explicit(&p->refs, ALQI_PROFILE_ONE_HOLDER,
                              memory_order_relaxed);
}

void
alqi_profiles_forget_entries(void)
{
    profiles.lock = (struct alqi_memprof_lock){{0}};
    for (struct profile_slab *s = profiles.slabs; s != NULL; s = s->next)
        for (unsigned i = 0; i < PER_SLAB; i++)
            atomic_fetch_and_explicit(&s->profile[i].refs,
                                      ~ALQI_PROFILE_ENTRIES,
                                      memory_order_relaxed);
}

/* ---- what its users ask of it ----------------------------------------------
 */

void
alqi_memprof_counts(const struct alq_profile *profile,
                    struct alq_memprof_counts *out)
{
    struct alq_profile *p = (struct alq_profile *)(uintptr_t)profile;

    out->sampled_blocks = atomic_load(&p->sampled_blocks);
    out->sampled_words = out->sampled_blocks + atomic_load(&p->extra_words);
    out->live_entries = atomic_load(&p->refs) & ALQI_PROFILE_ENTRIES;
    out->dropped_nomem = atomic_load(&p->dropped_nomem);
    out->dropped_cap = atomic_load(&p->dropped_cap);
    out->dropped_nested = atomic_load(&p->dropped_nested);
    out->callback_failures = atomic_load(&p->callback_failures);
}

uint64_t
alqi_memprof_seed(const struct alq_profile *profile)
{
    return profile->seed;
}

void
alqi_memprof_profile_drop(struct alq_profile *profile)
{
    if (profile != NULL)
        alqi_profile_release(profile, ALQI_PROFILE_ONE_HOLDER);
}
