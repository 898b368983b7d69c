/* profile.c -- profiles: parameters, status, references, counters
 *
 *     SAMPLING --stop, or the last that has it detaches--> STOPPED
 *     STOPPED --discard--> DISCARDED
 *
 * Each step is one compare-and-swap, so one of two racing callers gets the
 * error code.  A decision reads the status once.
 *
 * A profile is referenced by its user, by each domain slot and each thread
 * (tree.c) that has it, and by each entry.  Its memory returns to a pool and is
 * never unmapped; the id tells a stale pointer from the profile that was meant.
 *
 * Keeps .inv.stable, .inv.attached (doc/design/memprof.md). */
#include "memprof/profile.h"

enum { SLAB_BYTES = 1 << 14 };

const char alqi_memprof_engine = 0;

static struct {
    struct alqi_plat_lock lock;
    struct alq_profile *free;
    struct profile_slab *slabs;
    uint64_t n_made;
    _Atomic(bool) have_values;
    _Atomic(uint64_t) n_discards;
} profiles = {.lock = ALQI_PLAT_LOCK(MEMPROF_PROFILES)};

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
    alqi_plat_lock(&profiles.lock);
}

void
alqi_profiles_unlock(void)
{
    alqi_plat_unlock(&profiles.lock);
}

/* Maps a slab of free profiles; false: no memory.  Slabs stay mapped
 * (.inv.stable), and listed for an unprepared fork. */
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

/* Takes a free profile; NULL: there is none.  Its new id makes every pointer to
 * the memory's former profile a stale one (.inv.stable). */
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
                 const struct alqi_sample_dist *dist,
                 const struct alqi_memprof_hooks *hooks, unsigned slot)
{
    struct alq_profile *p = pool_get();
    size_t frames = config->callstack_frames;

    while (p == NULL) {
        if (!add_slab())
            return NULL;
        p = pool_get();
    }
    p->engine = &alqi_memprof_engine;
    p->dist = *dist;
    p->tracker = *tracker;
    if (tracker->flags & ALQ_TRACKER_VALUES)
        atomic_store_explicit(&profiles.have_values, true,
                              memory_order_relaxed);
    p->hooks = hooks;
    p->seed = config->seed;
    while (p->seed == 0)
        p->seed = alqi_plat_entropy();
    p->max_entries = config->max_entries;
    p->callstack_frames = frames < UINT32_MAX ? (uint32_t)frames : UINT32_MAX;
    p->flags = config->flags;
    p->slot = slot;
    zero(&p->sampled_blocks);
    zero(&p->sampled_words);
    zero(&p->dropped_nomem);
    zero(&p->dropped_cap);
    zero(&p->dropped_nested);
    zero(&p->callback_failures);
    for (unsigned i = 0; i < ALQI_PROFILE_CELLS; i++) {
        zero(&p->cell[i].sampled_blocks);
        zero(&p->cell[i].sampled_words);
    }
    atomic_store_explicit(&p->status, ALQI_PROFILE_SAMPLING,
                          memory_order_relaxed);
    atomic_store_explicit(&p->n_attached, 0, memory_order_relaxed);
    atomic_store_explicit(&p->n_joined, 0, memory_order_relaxed);
    /* Publishes the fields above to a thread that enters by a stale pointer. */
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
            return false; /* it is in the pool */
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

/* ---- cells -------------------------------------------------------------- */

struct alqi_profile_cell *
alqi_profile_cell_take(struct alq_profile *p, struct alqi_memprof_thread *t)
{
    for (unsigned i = 0; i < ALQI_PROFILE_CELLS && p->max_entries == 0; i++) {
        struct alqi_memprof_thread *nobody = NULL;

        /* pairs with the release store in _cell_leave */
        if (atomic_compare_exchange_strong_explicit(&p->cell[i].owner, &nobody,
                                                    t, memory_order_acquire,
                                                    memory_order_relaxed)) {
            alqi_profile_hold(p);
            return &p->cell[i];
        }
    }
    return NULL;
}

void
alqi_profile_cell_leave(struct alq_profile *p, struct alqi_profile_cell *cell)
{
    uint64_t credit = atomic_load_explicit(&cell->credit, memory_order_relaxed);

    zero(&cell->credit);
    atomic_store_explicit(&cell->owner, NULL, memory_order_release);
    alqi_profile_release(p, ALQI_PROFILE_ONE_HOLDER +
                                credit * ALQI_PROFILE_ONE_ENTRY);
}

uint64_t
alqi_profile_borrow(struct alq_profile *p, struct alqi_profile_cell *cell)
{
    /* Credit first: the reported number of entries is never too high. */
    alqi_profile_add(&cell->credit, ALQI_PROFILE_CREDIT);
    atomic_fetch_add_explicit(&p->refs, ALQI_PROFILE_CREDIT,
                              memory_order_release);
    return atomic_load_explicit(&cell->credit, memory_order_relaxed);
}

void
alqi_profile_repay(struct alq_profile *p, struct alqi_profile_cell *cell)
{
    alqi_profile_release(p, ALQI_PROFILE_CREDIT);
    alqi_profile_add(&cell->credit, (uint64_t)-ALQI_PROFILE_CREDIT);
}

/* ---- attachment --------------------------------------------------------- */

void
alqi_profile_attach(struct alq_profile *p)
{
    alqi_profile_hold(p);
    atomic_fetch_add_explicit(&p->n_attached, 1, memory_order_relaxed);
}

bool
alqi_profile_attach_try(struct alq_profile *p)
{
    uint32_t n = atomic_load_explicit(&p->n_attached, memory_order_relaxed);

    do {
        if (n == 0 || alqi_profile_status(p) != ALQI_PROFILE_SAMPLING)
            return false; /* .inv.attached */
    } while (!atomic_compare_exchange_weak_explicit(
        &p->n_attached, &n, n + 1, memory_order_relaxed, memory_order_relaxed));
    alqi_profile_hold(p);
    return true;
}

uint64_t
alqi_profiles_discards(void)
{
    return atomic_load_explicit(&profiles.n_discards, memory_order_acquire);
}

void
alqi_profiles_note_discard(void)
{
    atomic_fetch_add_explicit(&profiles.n_discards, 1, memory_order_release);
}

bool
alqi_profiles_have_values(void)
{
    return atomic_load_explicit(&profiles.have_values, memory_order_relaxed);
}

bool
alqi_profile_stop(struct alq_profile *p)
{
    uint32_t expected = ALQI_PROFILE_SAMPLING;

    return atomic_compare_exchange_strong_explicit(
        &p->status, &expected, ALQI_PROFILE_STOPPED, memory_order_acq_rel,
        memory_order_acquire);
}

/* The last holder that samples for the profile stops it. */
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
    /* a profile without another holder is lost to the pool */
    atomic_fetch_sub_explicit(&p->refs, ALQI_PROFILE_ONE_HOLDER,
                              memory_order_relaxed);
}

/* In an unprepared child: no entry and no other thread is left, so their
 * references go.  Those of the user, the slots and `self` stay. */
static void
fork_reset(struct alq_profile *p, const struct alqi_memprof_thread *self)
{
    atomic_fetch_and_explicit(&p->refs, ~ALQI_PROFILE_ENTRIES,
                              memory_order_relaxed);
    for (unsigned i = 0; i < ALQI_PROFILE_CELLS; i++) {
        struct alqi_profile_cell *cell = &p->cell[i];

        zero(&cell->credit);
        if (cell->owner == NULL || cell->owner == self)
            continue;
        atomic_store(&cell->owner, NULL);
        atomic_fetch_sub(&p->refs, ALQI_PROFILE_ONE_HOLDER);
    }
}

void
alqi_profiles_fork_reset(const struct alqi_memprof_thread *self)
{
    alqi_plat_lock_break(&profiles.lock);
    for (struct profile_slab *s = profiles.slabs; s != NULL; s = s->next)
        for (unsigned i = 0; i < PER_SLAB; i++)
            fork_reset(&s->profile[i], self);
}

bool
alqi_profile_is(const struct alq_profile *p)
{
    for (struct profile_slab *s = profiles.slabs; s != NULL; s = s->next) {
        uintptr_t at = (uintptr_t)p - (uintptr_t)s->profile;

        if (at < PER_SLAB * sizeof *p && at % sizeof *p == 0)
            return true;
    }
    return false;
}

/* ---- what its users ask of it ----------------------------------------------
 */

void
alqi_memprof_counts(const struct alq_profile *profile,
                    struct alq_memprof_counts *out)
{
    struct alq_profile *p = (struct alq_profile *)(uintptr_t)profile;

    uint64_t blocks = atomic_load(&p->sampled_blocks), credit = 0;
    uint64_t words = atomic_load(&p->sampled_words), entries;

    entries = alqi_profile_entries(p);
    atomic_thread_fence(memory_order_acquire);
    for (unsigned i = 0; i < ALQI_PROFILE_CELLS; i++) {
        blocks += atomic_load(&p->cell[i].sampled_blocks);
        words += atomic_load(&p->cell[i].sampled_words);
        credit += atomic_load(&p->cell[i].credit);
    }
    out->sampled_blocks = blocks;
    out->sampled_words = words;
    out->live_entries = entries > credit ? entries - credit : 0;
    out->dropped_nomem = atomic_load(&p->dropped_nomem);
    out->dropped_cap = atomic_load(&p->dropped_cap);
    out->dropped_nested = atomic_load(&p->dropped_nested);
    out->callback_failures = atomic_load(&p->callback_failures);
}

bool
alqi_memprof_is_discarded(const struct alq_profile *profile)
{
    return alqi_profile_status(profile) == ALQI_PROFILE_DISCARDED;
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
