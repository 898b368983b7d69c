/* profile.h -- profiles, and the counters that threads have in them
 *
 * Status and references: profile.c.  The functions of clients are inline, as
 * each sample calls them. */
#ifndef ALQI_MEMPROF_PROFILE_H
#define ALQI_MEMPROF_PROFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <aliquot/memprof.h>

#include "base/base.h"
#include "memprof/engine.h"
#include "sample/sample.h"

enum alqi_profile_status {
    ALQI_PROFILE_SAMPLING,
    ALQI_PROFILE_STOPPED,
    ALQI_PROFILE_DISCARDED
};

/* References in one word: an entry counts ONE_ENTRY, every other holder
 * ONE_HOLDER, so making an entry costs one atomic operation. */
#define ALQI_PROFILE_ONE_ENTRY ((uint64_t)1)
#define ALQI_PROFILE_ONE_HOLDER ((uint64_t)1 << 40)
#define ALQI_PROFILE_ENTRIES (ALQI_PROFILE_ONE_HOLDER - 1)

/* The counters of one thread that samples for a profile.  The thread alone
 * writes them, so a sample needs no atomic operation; any thread reads them.
 * The cell holds a reference to the profile.  A profile with max_entries has no
 * cells, since the maximum is of all threads together. */
struct alqi_profile_cell {
    _Atomic(struct alqi_memprof_thread *) owner; /* NULL: free */
    _Atomic(uint64_t) sampled_blocks;
    _Atomic(uint64_t) sampled_words;
    /* Entries; references that the owner has taken in advance and not used. */
    _Atomic(uint64_t) credit;
} __attribute__((aligned(64)));

enum {
    ALQI_PROFILE_CELLS = 8, /* further threads use the profile's own counters */
    ALQI_PROFILE_CREDIT = ALQI_CHECKS >= 3 ? 1 : 64 /* entries at a time */
};

struct alq_profile {
    const void *engine; /* alqi_memprof_is_own; must be first */

    /* The parameters: written by its start, constant while it is
     * referenced. */
    struct alqi_sample_dist dist;
    struct alq_tracker tracker;
    const struct alqi_memprof_hooks *hooks; /* NULL: none */
    _Atomic(uint64_t) id; /* unique in the process, never 0 (.inv.stable) */
    uint64_t seed;        /* never 0 */
    uint64_t max_entries; /* alive at a time; 0: no limit */
    uint32_t callstack_frames; /* the most; UINT32_MAX: no limit */
    uint32_t flags;            /* ALQ_MEMPROF_*, ALQI_MEMPROF_OF_LIMITS */
    uint32_t slot; /* enum alqi_memprof_slot; a start with BESIDE chooses it
                      under the domain's lock */

    struct alq_profile *next_in_pool; /* without references; the pool's lock */

    /* The state: any thread changes it, by one atomic operation. */
    _Atomic(uint32_t) status;     /* enum alqi_profile_status */
    _Atomic(uint32_t) n_attached; /* slots, sets and creations (.inv.attached);
                                     the last to leave stops it */
    _Atomic(uint32_t) n_joined;   /* domains that joined it, ever */
    _Atomic(uint64_t) refs        /* ONE_ENTRY, ONE_HOLDER; 0: in the pool */
        __attribute__((aligned(64)));

    /* Counters of threads without a cell, and of what is lost; they only
     * grow. */
    _Atomic(uint64_t) sampled_blocks;
    _Atomic(uint64_t) sampled_words;
    _Atomic(uint64_t) dropped_nomem;  /* blocks; threads not covered */
    _Atomic(uint64_t) dropped_cap;    /* blocks, by max_entries */
    _Atomic(uint64_t) dropped_nested; /* blocks and frees, in signal handlers */
    _Atomic(uint64_t) callback_failures; /* calls */
    struct alqi_profile_cell cell[ALQI_PROFILE_CELLS];
};

/* ---- references --------------------------------------------------------- */

/* A sampling profile with the caller as its holder; NULL: no memory. */
struct alq_profile *alqi_profile_new(const struct alq_memprof_config *config,
                                     const struct alq_tracker *tracker,
                                     const struct alqi_sample_dist *dist,
                                     const struct alqi_memprof_hooks *hooks,
                                     unsigned slot);
void alqi_profile_hold(struct alq_profile *p);
/* Gives back so many references; without any the memory goes to the pool. */
void alqi_profile_release(struct alq_profile *p, uint64_t one);
/* Takes one entry's reference on the profile that had this id.  False: the
 * memory is another profile's by now, max_entries is reached, or it is not
 * sampling.  `p` may be stale (.inv.stable). */
bool alqi_profile_enter(struct alq_profile *p, uint64_t id);

/* Whether there is, or was, a profile at that address; in a process of one
 * thread, whoever held the lock. */
bool alqi_profile_is(const struct alq_profile *p);

/* ---- cells -------------------------------------------------------------- */

/* Takes a cell for the thread; NULL: all are taken, or the profile has none. */
struct alqi_profile_cell *alqi_profile_cell_take(struct alq_profile *p,
                                                 struct alqi_memprof_thread *t);
void alqi_profile_cell_leave(struct alq_profile *p,
                             struct alqi_profile_cell *cell);
/* Adds ALQI_PROFILE_CREDIT references to the cell's credit and returns the
 * credit; _repay gives as many back. */
uint64_t alqi_profile_borrow(struct alq_profile *p,
                             struct alqi_profile_cell *cell);
void alqi_profile_repay(struct alq_profile *p, struct alqi_profile_cell *cell);

/* ---- status ------------------------------------------------------------- */

/* The caller is one more that samples for it, and holds it. */
void alqi_profile_attach(struct alq_profile *p);
/* As _attach; false: no holder is attached any more, or it is stopped
 * (.inv.attached). */
bool alqi_profile_attach_try(struct alq_profile *p);
/* Ends an attachment; the last one stops the profile. */
void alqi_profile_detach(struct alq_profile *p);
/* Detaches a thread that an unprepared fork ended: no lock can be taken. */
void alqi_profile_detach_lost(struct alq_profile *p);
/* SAMPLING -> STOPPED; false: it was not sampling. */
bool alqi_profile_stop(struct alq_profile *p);

/* ---- all profiles ------------------------------------------------------- */

/* The pool's lock, around a prepared fork. */
void alqi_profiles_lock(void);
void alqi_profiles_unlock(void);
/* An unprepared fork: drops all entries, and the cells of all threads but
 * `self`. */
void alqi_profiles_fork_reset(const struct alqi_memprof_thread *self);
/* How many profiles were discarded so far. */
uint64_t alqi_profiles_discards(void);
void alqi_profiles_note_discard(void);
/* Whether any profile ever had ALQ_TRACKER_VALUES. */
bool alqi_profiles_have_values(void);

/* Whether callbacks wait for a flush; if not, in a scanned heap, for a poll. */
static inline bool
alqi_profile_defers(const struct alq_profile *p)
{
    return p->flags & ALQ_MEMPROF_DEFER;
}

static inline bool
alqi_profile_is_of_limits(const struct alq_profile *p)
{
    return (p->flags & ALQI_MEMPROF_OF_LIMITS) != 0;
}

static inline uint64_t
alqi_profile_entries(const struct alq_profile *p)
{
    return atomic_load_explicit(&p->refs, memory_order_relaxed) &
           ALQI_PROFILE_ENTRIES;
}

static inline enum alqi_profile_status
alqi_profile_status(const struct alq_profile *p)
{
    return (enum alqi_profile_status)atomic_load_explicit(&p->status,
                                                          memory_order_acquire);
}

static inline void
alqi_profile_count(_Atomic(uint64_t) *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Adds to a word that the calling thread alone writes. */
static inline void
alqi_profile_add(_Atomic(uint64_t) *counter, uint64_t n)
{
    atomic_store_explicit(
        counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
        memory_order_relaxed);
}

/* Counts one more entry of a profile that has a cell. */
static inline void
alqi_cell_enter(struct alq_profile *p, struct alqi_profile_cell *cell)
{
    uint64_t credit = atomic_load_explicit(&cell->credit, memory_order_relaxed);

    if (ALQI_UNLIKELY(credit == 0))
        credit = alqi_profile_borrow(p, cell);
    atomic_store_explicit(&cell->credit, credit - 1, memory_order_relaxed);
}

/* Counts one more entry for a client.  False: it samples no more, or
 * max_entries is reached. */
static inline bool
alqi_client_enter(const struct alqi_memprof_client *c)
{
    struct alqi_profile_cell *cell = c->cell;

    if (ALQI_UNLIKELY(cell == NULL))
        return alqi_profile_enter(c->profile, c->id);
    if (ALQI_UNLIKELY(alqi_profile_status(c->profile) != ALQI_PROFILE_SAMPLING))
        return false;
    alqi_cell_enter(c->profile, cell);
    return true;
}

/* Counts one entry less. */
static inline void
alqi_cell_leave(struct alq_profile *p, struct alqi_profile_cell *cell)
{
    uint64_t credit =
        atomic_load_explicit(&cell->credit, memory_order_relaxed) + 1;

    atomic_store_explicit(&cell->credit, credit, memory_order_relaxed);
    if (ALQI_UNLIKELY(credit > (uint64_t)2 * ALQI_PROFILE_CREDIT))
        alqi_profile_repay(p, cell);
}

/* Gives the reference of one entry of the profile back. */
static inline void
alqi_client_leave(struct alqi_memprof_thread *t, struct alq_profile *p)
{
    for (unsigned i = 0; i < t->armed.n_clients; i++) {
        struct alqi_profile_cell *cell = t->armed.client[i].cell;

        if (t->armed.client[i].profile != p || cell == NULL)
            continue;
        alqi_cell_leave(p, cell);
        return;
    }
    alqi_profile_release(p, ALQI_PROFILE_ONE_ENTRY);
}

/* Counts a block with k samples for a client. */
static inline void
alqi_client_count(const struct alqi_memprof_client *c, uint64_t k)
{
    if (ALQI_LIKELY(c->cell != NULL)) {
        alqi_profile_add(&c->cell->sampled_blocks, 1);
        alqi_profile_add(&c->cell->sampled_words, k);
    } else {
        alqi_profile_count(&c->profile->sampled_blocks, 1);
        alqi_profile_count(&c->profile->sampled_words, k);
    }
}

#endif
