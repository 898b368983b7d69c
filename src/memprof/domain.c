/* domain.c -- client slots, the sampling distribution, arming of threads
 *
 * The slots change under the domain's lock, and each change bumps `serial`.
 * When a thread draws a skip it compares serials; if they differ it *arms*: it
 * copies the slots and its thread trees into `armed`, and sets the trigger's
 * distribution to the highest of their rates.  Samples are thinned against the
 * armed distribution, because the skip was drawn from it; a profile that
 * started later is not armed and gets none of them.
 *
 *     serial changes --next draw--> arm: clients, distribution, seed --> draw
 *
 * Keeps .inv.armed, .inv.attached; .inv.rank for the domains' locks, which fork
 * takes as one group (doc/design/memprof.md). */
#include <string.h>

#include "memprof/domain.h"
#include "memprof/orphan.h"
#include "memprof/state.h"
#include "memprof/tree.h"

static struct {
    struct alqi_plat_lock lock;
    struct alqi_memprof_domain *first;
} domains = {.lock = ALQI_PLAT_LOCK(MEMPROF_DOMAINS)};

/* The list's lock keeps domains from being created and ended.  All other code
 * takes one domain's lock at a time, so fork may take them all. */
void
alqi_domains_lock_all(void)
{
    alqi_plat_lock(&domains.lock);
    for (struct alqi_memprof_domain *d = domains.first; d; d = d->next)
        alqi_plat_lock_group(&d->lock);
}

void
alqi_domains_unlock_all(void)
{
    for (struct alqi_memprof_domain *d = domains.first; d; d = d->next)
        alqi_plat_unlock(&d->lock);
    alqi_plat_unlock(&domains.lock);
}

/* In an unprepared child, for a thread that is not there: forgets its entries,
 * nodes and clients, as any of them may be half changed.  The heap may end the
 * thread later; it is on no list then. */
static void
thread_fork_reset(struct alqi_memprof_thread *t)
{
    struct alqi_entry_fifo none = {NULL, NULL};

    t->pending = none;
    t->deferred = none;
    t->due = none;
    t->new_entries = NULL;
    t->running = NULL;
    t->free_entries = NULL;
    t->n_free_entries = 0;
    t->n_delayed = 0;
    t->mode = ALQI_MEMPROF_IDLE;
    t->is_listed = false;
    t->armed.serial = t->armed.n_clients = 0;
    t->armed.is_single = t->armed.is_immediate = false;
    alqi_tree_fork_reset(t);
}

void
alqi_domains_fork_reset(struct alqi_memprof_thread *self)
{
    alqi_plat_lock_break(&domains.lock);
    for (struct alqi_memprof_domain *d = domains.first; d; d = d->next) {
        struct alqi_memprof_thread *t = d->threads, *next;

        alqi_plat_lock_break(&d->lock);
        d->pending = (struct alqi_entry_fifo){NULL, NULL};
        d->deferred = (struct alqi_entry_fifo){NULL, NULL};
        d->threads = NULL;
        for (; t != NULL; t = next) {
            next = t->next_in_domain;
            t->next_in_domain = t->prev_in_domain = NULL;
            if (t == self)
                d->threads = t;
            else
                thread_fork_reset(t);
        }
    }
}

/* ---- slots ----------------------------------------------------------------
 */

void
alqi_domain_slot_set_locked(struct alqi_memprof_domain *d, unsigned slot,
                            struct alq_profile *p)
{
    struct alq_profile *old =
        atomic_load_explicit(&d->slot[slot], memory_order_relaxed);

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_DOMAIN));
    if (p != NULL)
        alqi_profile_attach(p);
    atomic_store_explicit(&d->slot[slot], p, memory_order_release);
    atomic_fetch_add_explicit(&d->serial, 1, memory_order_release);
    if (old != NULL)
        alqi_profile_detach(old);
}

void
alqi_clients_leave(struct alqi_memprof_thread *t)
{
    struct alqi_memprof_armed *armed = &t->armed;

    for (unsigned i = 0; i < armed->n_clients; i++)
        if (armed->client[i].cell != NULL)
            alqi_profile_cell_leave(armed->client[i].profile,
                                    armed->client[i].cell);
    armed->n_clients = 0;
    armed->is_single = armed->is_immediate = false;
}

/* Arms the thread for a profile that still samples.  The client's `thin` is the
 * profile's own rate until arm_locked divides it by the trigger's. */
static void
client_add(struct alqi_memprof_thread *t, struct alq_profile *p)
{
    struct alqi_memprof_armed *armed = &t->armed;
    struct alqi_memprof_client *c = &armed->client[armed->n_clients];

    if (p == NULL || alqi_profile_status(p) != ALQI_PROFILE_SAMPLING)
        return;
    armed->n_clients++;
    c->profile = p;
    c->id = atomic_load_explicit(&p->id, memory_order_relaxed);
    c->thin = p->dist;
    c->gate = p->hooks != NULL ? p->hooks->gate : NULL;
    c->cell = alqi_profile_cell_take(p, t);
}

/* Returns the profile whose samples limits are notified of, or NULL: those that
 * belong to limits, and the count of what is alive, are no choice. */
static const struct alq_profile *
highest_rate_of(const struct alqi_memprof_armed *armed)
{
    const struct alq_profile *highest_rate = NULL;

    for (unsigned i = 0; i < armed->n_clients; i++) {
        const struct alq_profile *p = armed->client[i].profile;

        if (p->slot > ALQI_MEMPROF_SLOT_LIVE && !alqi_profile_is_of_limits(p) &&
            (highest_rate == NULL || p->dist.rate > highest_rate->dist.rate))
            highest_rate = p;
    }
    return highest_rate;
}

/* Whether the client's alloc callback may run before there is an entry: it does
 * not defer, and no collection meets a datum that is a root meanwhile. */
static bool
is_immediate(const struct alqi_memprof_client *c)
{
    const struct alq_profile *p = c->profile;

    return c->cell != NULL && p->tracker.alloc_minor != NULL &&
           (p->tracker.flags &
            (ALQ_TRACKER_VALUES | ALQI_TRACKER_DATUM_LAST)) !=
               ALQ_TRACKER_VALUES &&
           !alqi_profile_defers(p);
}

/* Copies slots and thread trees into `armed`, with the serial that the lock
 * keeps from changing.  The trigger gets the highest rate, each client the
 * quotient of its own by that (.inv.armed). */
static void
arm_locked(const struct alqi_memprof_domain *d, struct alqi_memprof_thread *t)
{
    struct alqi_memprof_armed *armed = &t->armed;
    double most = 0.0;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_DOMAIN));
    armed->serial = atomic_load_explicit(&d->serial, memory_order_relaxed);
    alqi_clients_leave(t);
    for (unsigned i = 0; i < ALQI_MEMPROF_SLOTS; i++)
        client_add(t, atomic_load_explicit(&d->slot[i], memory_order_relaxed));
    alqi_tree_prune_locked(t);
    for (unsigned i = 0; i < t->trees.n; i++)
        client_add(t, t->trees.profile[i]);
    for (unsigned i = 0; i < armed->n_clients; i++)
        if (armed->client[i].thin.rate > most)
            most = armed->client[i].thin.rate;
    armed->highest_rate = highest_rate_of(armed);
    alqi_sample_dist_set(&armed->dist, most);
    for (unsigned i = 0; i < armed->n_clients; i++) {
        struct alqi_sample_dist *thin = &armed->client[i].thin;

        alqi_sample_dist_set(thin, most > 0 ? thin->rate / most : 0);
    }
    armed->samples_every_word = armed->dist.rate == 1.0;
    armed->is_single = armed->n_clients == 1 &&
                       armed->client[0].thin.rate == 1.0 &&
                       armed->client[0].gate == NULL;
    armed->is_immediate = armed->is_single && is_immediate(&armed->client[0]);
}

/* Returns the client whose seed decides the draws: one that is alone, or alone
 * beside a count of live bytes, for which any seed is as good.  NULL: none;
 * with several clients, starting one with the same seed again and again would
 * replay the draws of the others. */
static const struct alqi_memprof_client *
only_client(const struct alqi_memprof_armed *armed)
{
    const struct alqi_memprof_client *c = armed->client;
    unsigned n = armed->n_clients;

    if (n > 1 && c->profile->slot == ALQI_MEMPROF_SLOT_COUNT) {
        c++;
        n--;
    }
    return n == 1 ? c : NULL;
}

void
alqi_domain_arm(struct alqi_memprof_domain *d, struct alqi_memprof_thread *t)
{
    const struct alqi_memprof_client *only = NULL;
    uint64_t seed = 0;

    alqi_domain_lock(d);
    arm_locked(d, t);
    only = only_client(&t->armed);
    if (only != NULL)
        seed = only->profile->seed;
    alqi_domain_unlock(d);
    t->residual = t->next_skip = 0; /* of the old distribution */
    if (only != NULL && only->id != t->seeded_by) {
        t->seeded_by = only->id;
        alqi_sample_seed(&t->rng, seed + alqi_base_mix(d->path + t->ordinal));
    }
}

bool
alqi_memprof_is_sampling(const struct alqi_memprof_domain *domain,
                         enum alqi_memprof_slot slot)
{
    /* The profile may be dropped here; its memory stays mapped
     * (.inv.stable). */
    struct alq_profile *p =
        atomic_load_explicit(&domain->slot[slot], memory_order_acquire);

    return p != NULL && alqi_profile_status(p) == ALQI_PROFILE_SAMPLING;
}

/* ---- beginning and end ------------------------------------------------------
 */

/* A new domain samples for its parent's profiles, attached to each.  Its `path`
 * comes from the parent's and its number among the children, so one seed
 * repeats the draws of a program that creates domains in the same order. */
static void
inherit(struct alqi_memprof_domain *d, struct alqi_memprof_domain *parent)
{
    alqi_domain_lock(parent);
    for (unsigned i = 0; i < ALQI_MEMPROF_SLOTS; i++) {
        struct alq_profile *p =
            atomic_load_explicit(&parent->slot[i], memory_order_relaxed);

        if (p != NULL)
            alqi_profile_attach(p);
        atomic_store_explicit(&d->slot[i], p, memory_order_relaxed);
    }
    d->path = alqi_base_mix(parent->path + alqi_base_mix(++parent->n_children));
    alqi_domain_unlock(parent);
}

struct alqi_memprof_domain *
alqi_memprof_domain_new(const struct alqi_memprof_subject *subject, void *heap,
                        struct alqi_memprof_domain *parent)
{
    struct alqi_memprof_domain *d = alqi_plat_pages_map(sizeof *d);

    if (d == NULL)
        return NULL;
    alqi_plat_lock_init(&d->lock, ALQI_RANK_MEMPROF_DOMAIN);
    d->subject = subject;
    d->heap = heap;
    d->serial = 1; /* a new thread's is 0, so it arms first */
    if (parent != NULL)
        inherit(d, parent);
    alqi_plat_lock(&domains.lock);
    d->next = domains.first;
    if (d->next != NULL)
        d->next->prev = d;
    domains.first = d;
    alqi_plat_unlock(&domains.lock);
    return d;
}

/* Takes an ending domain off the list that fork goes through, before its memory
 * is unmapped. */
static void
unlist(struct alqi_memprof_domain *d)
{
    alqi_plat_lock(&domains.lock);
    if (d->next != NULL)
        d->next->prev = d->prev;
    if (d->prev != NULL)
        d->prev->next = d->next;
    else
        domains.first = d->next;
    alqi_plat_unlock(&domains.lock);
}

void
alqi_memprof_domain_end(struct alqi_memprof_domain *domain)
{
    ALQI_ASSERT(domain->threads == NULL);
    unlist(domain);
    alqi_domain_lock(domain);
    for (unsigned i = 0; i < ALQI_MEMPROF_SLOTS; i++)
        alqi_domain_slot_set_locked(domain, i, NULL);
    alqi_domain_unlock(domain);
    alqi_orphans_add(domain);
    alqi_plat_pages_unmap(domain, sizeof *domain);
}
