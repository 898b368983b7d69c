/* state.h -- what the engine's files share              [doc/design/memprof.md]
 *
 * A section per file, in the order of dependence: profiles, pool, index and
 * filter, domains, thread trees, threads, collections, callbacks, orphans,
 * FIFOs. No heap includes it. */
#ifndef ALQI_MEMPROF_STATE_H
#define ALQI_MEMPROF_STATE_H

#include <stdatomic.h>

#include "memprof/engine.h"
#include "memprof/entry.h"

/* ---- profile.c ---------------------------------------------------------- */

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
 * writes them, so a sample needs no atomic operation; it holds a reference to
 * the profile.  A profile with max_entries has no cells, since the maximum is
 * of all threads together. */
struct alqi_profile_cell {
    _Atomic(struct alqi_memprof_thread *) owner; /* NULL: free */
    _Atomic(uint64_t) sampled_blocks;
    _Atomic(uint64_t) sampled_words;
    _Atomic(uint64_t) credit; /* references taken in advance, in entries */
} __attribute__((aligned(64)));

enum {
    ALQI_PROFILE_CELLS = 8, /* further threads use the profile's own counters */
    ALQI_PROFILE_CREDIT = ALQI_CHECKS >= 3 ? 1 : 64
};

struct alq_profile {
    const void *engine; /* alqi_memprof_is_own; must be first */
    /* Constant while the profile is referenced. */
    struct alqi_sample_dist dist;
    struct alq_tracker tracker;
    const struct alqi_memprof_hooks *hooks; /* may be NULL */
    _Atomic(uint64_t) id;                   /* unique in the process, never 0 */
    uint64_t seed;
    uint64_t max_entries;
    uint32_t callstack_frames; /* UINT32_MAX: no limit          */
    uint32_t flags;            /* ALQ_MEMPROF_*                */
    uint32_t slot;             /* of the domain, or ..._SLOT_TREE */
    struct alq_profile *next_in_pool;

    _Atomic(uint32_t) status;
    _Atomic(uint32_t) n_attached; /* domains or threads; the last to leave
                                     stops it                              */
    _Atomic(uint32_t) n_joined;   /* domains that joined it, ever */
    _Atomic(uint64_t) refs __attribute__((aligned(64)));
    _Atomic(uint64_t) sampled_blocks;
    _Atomic(uint64_t) sampled_words;
    _Atomic(uint64_t) dropped_nomem;
    _Atomic(uint64_t) dropped_cap;
    _Atomic(uint64_t) dropped_nested;
    _Atomic(uint64_t) callback_failures;
    struct alqi_profile_cell cell[ALQI_PROFILE_CELLS];
};

struct alq_profile *alqi_profile_new(const struct alq_memprof_config *config,
                                     const struct alq_tracker *tracker,
                                     const struct alqi_sample_dist *dist,
                                     const struct alqi_memprof_hooks *hooks,
                                     unsigned slot);
void alqi_profile_hold(struct alq_profile *p);
void alqi_profile_release(struct alq_profile *p, uint64_t one);
/* Takes one entry's reference on the profile that had this id.  False: the
 * memory is another profile's by now, max_entries is reached, or it is not
 * sampling.  `p` may be stale (.inv.stable). */
bool alqi_profile_enter(struct alq_profile *p, uint64_t id);
/* NULL: all cells are taken, or the profile has none. */
struct alqi_profile_cell *alqi_profile_cell_take(struct alq_profile *p,
                                                 struct alqi_memprof_thread *t);
void alqi_profile_cell_leave(struct alq_profile *p,
                             struct alqi_profile_cell *cell);
/* Takes more references in advance, returns how many are there then; and gives
 * them back. */
uint64_t alqi_profile_borrow(struct alq_profile *p,
                             struct alqi_profile_cell *cell);
void alqi_profile_repay(struct alq_profile *p, struct alqi_profile_cell *cell);
void alqi_profile_attach(struct alq_profile *p);
/* False: no holder is attached any more, or it is stopped (.inv.attached). */
bool alqi_profile_attach_try(struct alq_profile *p);
void alqi_profile_detach(struct alq_profile *p);
/* Detaches a thread that an unprepared fork ended: no lock can be taken. */
void alqi_profile_detach_lost(struct alq_profile *p);
/* SAMPLING -> STOPPED; false: it was not sampling. */
bool alqi_profile_stop(struct alq_profile *p);
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

/* Its callbacks wait for a flush; if not, in a scanned heap, for a poll. */
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

/* ---- pool.c ------------------------------------------------------------- */

struct alqi_pool_node {
    struct alqi_pool_node *next;
    struct alqi_pool_node
        *next_batch; /* this and the next field: of a batch's first node */
    uint32_t n_in_batch;
};

enum { ALQI_POOL_CACHE_MAX = ALQI_CHECKS >= 3 ? 1 : 64 };

/* Fills the thread's empty cache; false: no memory. */
bool alqi_pool_fill(struct alqi_memprof_thread *t);
void *alqi_pool_get_slow(struct alqi_memprof_thread *t);
void alqi_pool_give_back(struct alqi_memprof_thread *t);

/* NULL: no memory. */
static inline void *
alqi_pool_get(struct alqi_memprof_thread *t)
{
    struct alqi_pool_node *n = t->free_entries;

    if (ALQI_UNLIKELY(n == NULL))
        return alqi_pool_get_slow(t);
    t->free_entries = n->next;
    t->n_free_entries--;
    return n;
}

static inline void
alqi_pool_put(struct alqi_memprof_thread *t, void *node)
{
    struct alqi_pool_node *n = node;

    n->next = t->free_entries;
    t->free_entries = n;
    if (ALQI_UNLIKELY(++t->n_free_entries > ALQI_POOL_CACHE_MAX))
        alqi_pool_give_back(t);
}

/* Gives the thread's whole cache back. */
void alqi_pool_drain(struct alqi_memprof_thread *t);
void alqi_pool_lock(void);
void alqi_pool_unlock(void);
void alqi_pool_fork_reset(void);

/* ---- index.c, filter.c (notified heaps) --------------------------------- */

enum { ALQI_INDEX_SHARDS = 64 };

enum alqi_index_next {
    ALQI_NEXT_RUN,  /* alloc: run the callback             */
    ALQI_NEXT_KEEP, /* it lives on where it is             */
    ALQI_NEXT_DEAD, /* the caller holds it; a dealloc is due */
    ALQI_NEXT_FREE, /* the caller holds it and frees it */
    ALQI_NEXT_LEFT  /* its other holder frees it (.inv.two) */
};

/* Chains are linked by `chain`; the caller that gets one holds its entries. */

/* Puts the batch, all of one block, in.  Returns entries found at that address:
 * they are stale, and dead now.  Entries of the batch that are gone or whose
 * profile is discarded come back in *refused. */
struct alqi_memprof_entry *alqi_index_put(struct alqi_memprof_entry *batch,
                                          struct alqi_memprof_entry **refused);
/* The same for a batch of one, on the fast path; false: it needs _put, nothing
 * was done. */
bool alqi_index_put_simple(struct alqi_memprof_entry *entry);
/* Takes the block's entries out, dead.  An entry whose alloc callback is due or
 * running is only marked: its thread goes on with it. */
struct alqi_memprof_entry *alqi_index_remove_dead(const void *block);
/* For a realloc: returns all entries, IN_REALLOC, alive; then _put or
 * _realloc_done. */
struct alqi_memprof_entry *alqi_index_remove_for_realloc(const void *block);
enum alqi_index_next alqi_index_realloc_done(struct alqi_memprof_entry *e);
bool alqi_index_alloc_is_due(struct alqi_memprof_entry *e);
/* Begins the deferred callback of an entry on a FIFO: RUN, DEAD, FREE or
 * LEFT. */
enum alqi_index_next alqi_index_begin_deferred(struct alqi_memprof_entry *e);
/* The alloc callback of an indexed entry has run: KEEP, DEAD, FREE or LEFT. */
enum alqi_index_next alqi_index_alloc_ran(struct alqi_memprof_entry *e,
                                          bool keep, uintptr_t data);
/* Its alloc callback will never run: FREE, DEAD (had run) or LEFT. */
enum alqi_index_next alqi_index_cancel_deferred(struct alqi_memprof_entry *e);
/* Takes out every entry of a discarded profile. */
struct alqi_memprof_entry *alqi_index_sweep(const struct alq_profile *p);
int alqi_index_each(const struct alq_profile *p,
                    int (*visit)(void *arg, const struct alq_allocation *a,
                                 uintptr_t data),
                    void *arg);
/* From now on entries are counted at `level` too. */
void alqi_index_count_at(unsigned level);
void alqi_index_lock_all(void);
void alqi_index_unlock_all(void);
void alqi_index_fork_reset(void);

/* Called with no lock held after puts; `in_shard` entries sit in one shard. */
void alqi_filter_grow_if_full(uint64_t in_shard);
void alqi_filter_lock(void);
void alqi_filter_unlock(void);
void alqi_filter_fork_reset(void);

/* Calls the hook `freeing` for a chain that has just been taken out of the
 * index by the thread that will free or move the block. */
static inline void
alqi_entries_notify_freeing(const struct alqi_memprof_entry *chain)
{
    for (; chain != NULL; chain = chain->chain) {
        const struct alq_profile *p = chain->profile;

        if (p->hooks != NULL)
            p->hooks->freeing(p->tracker.arg, chain->block);
    }
}

/* ---- domain.c ----------------------------------------------------------- */

enum { ALQI_CYCLE_MASK = (1 << 24) - 1 };

enum { ALQI_OLD_AHEAD = 8 };

/* The entries of a scanned domain whose blocks are old (old.c). */
struct alqi_memprof_old {
    struct alqi_memprof_entry *head;
    struct alqi_memprof_entry *tail;
    uint32_t n;
    struct alqi_memprof_entry *window[ALQI_OLD_AHEAD];
};

struct alqi_memprof_domain {
    const struct alqi_memprof_subject *subject;
    void *heap;
    struct alqi_plat_lock lock;
    _Atomic(uint64_t) serial; /* from 1; a change makes threads re-arm */
    _Atomic(struct alq_profile *) slot[ALQI_MEMPROF_SLOTS];
    struct alqi_memprof_thread *threads;
    uint32_t n_threads_ever;
    /* Callbacks of threads that have ended; the next flush runs them.  In a
     * scanned heap also what collections have found, for polls. */
    struct alqi_entry_fifo pending;
    struct alqi_entry_fifo deferred; /* scanned: waits for a flush */
    _Atomic(bool) has_pending;
    uint64_t
        path; /* its place among parents and children; of its threads' seeds */
    uint64_t n_children;
    bool heap_ended;     /* its heap has ended: it adopts no orphans any more */
    uint32_t cycle;      /* the heap's major cycle, in ALQI_CYCLE_MASK */
    uint64_t n_discards; /* alqi_profiles_discards() when `old` was last looked
                            through */
    struct alqi_memprof_domain *next;
    struct alqi_memprof_domain *prev;

    /* Scanned heaps only; touched by the domain's running thread, or by the
     * collector on its behalf while it is stopped. */
    struct alqi_entry_fifo young; /* block or datum may be young */
    struct alqi_memprof_old old;
};

void alqi_domain_lock(struct alqi_memprof_domain *d);
void alqi_domain_unlock(struct alqi_memprof_domain *d);
void alqi_domains_lock_all(void);
void alqi_domains_unlock_all(void);
/* An unprepared fork: resets every lock and every thread but `self`. */
void alqi_domains_fork_reset(struct alqi_memprof_thread *self);
/* Copies what samples the thread into its `armed`. */
void alqi_domain_arm(struct alqi_memprof_domain *d,
                     struct alqi_memprof_thread *t);
/* Disarms the thread: its clients may be gone afterwards. */
void alqi_clients_leave(struct alqi_memprof_thread *t);
/* Replaces what a slot holds; `p` may be NULL.  Domain's lock held. */
void alqi_domain_slot_set_locked(struct alqi_memprof_domain *d, unsigned slot,
                                 struct alq_profile *p);

/* ---- tree.c ------------------------------------------------------------- */

/* Puts p into the thread's set, by p's flags; false: busy. */
bool alqi_tree_claim(struct alqi_memprof_thread *t, struct alq_profile *p);
/* Stops p, or the thread's own when p is NULL. */
enum alq_status alqi_tree_stop(struct alqi_memprof_thread *t,
                               struct alq_profile *p);
bool alqi_tree_has(const struct alqi_memprof_thread *t,
                   const struct alq_profile *p);
/* Detaches from the profiles that are stopped. */
void alqi_tree_prune_locked(struct alqi_memprof_thread *t);
void alqi_tree_leave_all(struct alqi_memprof_thread *t);
void alqi_tree_fork_reset(struct alqi_memprof_thread *t);

/* ---- thread.c ----------------------------------------------------------- */

/* Leaves the engine: finishes delayed frees, runs what is due, restores the
 * mode. */
void alqi_thread_leave(struct alqi_memprof_thread *t, uint32_t was);
/* Whether the clients have changed since it armed. */
static inline bool
alqi_thread_is_stale(const struct alqi_memprof_thread *t)
{
    return atomic_load_explicit(&t->domain->serial, memory_order_acquire) !=
           t->armed.serial;
}

/* Takes the skip that was drawn and not used; 0: there is none, or it is from
 * another distribution (.inv.drawn). */
static inline uint64_t
alqi_thread_take_skip(struct alqi_memprof_thread *t)
{
    uint64_t skip = t->next_skip;

    t->next_skip = 0;
    return ALQI_LIKELY(!alqi_thread_is_stale(t)) ? skip : 0;
}

/* Draws the next skip; arms first if the clients have changed. */
uint64_t alqi_thread_draw_skip(struct alqi_memprof_thread *t);

/* Draws the samples of a block in which a skip has ended: `words_after` of its
 * words come after the sampled one.  *skip: from the block's end to the next
 * sample; 0: it is yet to be drawn. */
uint64_t alqi_thread_samples(struct alqi_memprof_thread *t,
                             uint64_t words_after, uint64_t *skip);
/* In a handler that interrupted the engine; false: the block must not be freed
 * now. */
bool alqi_thread_delay_free(struct alqi_memprof_thread *t, void *block);
/* ---- scan.c ------------------------------------------------------------- */

/* Runs the callbacks that are due for a scanned heap's entry. */
void alqi_scan_run(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e);
/* Puts the entry on the list where its block and datum belong. */
void alqi_scan_place(struct alqi_memprof_domain *d,
                     struct alqi_memprof_entry *e);
/* Takes a discarded profile's entries off the lists, by `chain`. */
struct alqi_memprof_entry *alqi_scan_sweep(struct alqi_memprof_domain *d,
                                           const struct alq_profile *p);
int alqi_scan_each(struct alqi_memprof_domain *d, const struct alq_profile *p,
                   int (*visit)(void *arg, const struct alq_allocation *a,
                                uintptr_t data),
                   void *arg);
/* Describes the entry to `visit` of alq_memprof_each. */
int alqi_entry_visit(const struct alqi_memprof_entry *e, uint64_t cycle,
                     int (*visit)(void *arg, const struct alq_allocation *a,
                                  uintptr_t data),
                     void *arg);

/* ---- old.c -------------------------------------------------------------- */

void alqi_old_add(struct alqi_memprof_old *l, struct alqi_memprof_entry *e);
void alqi_old_append(struct alqi_memprof_old *to,
                     struct alqi_memprof_old *from);
struct alqi_memprof_entry *alqi_old_pop(struct alqi_memprof_old *l);
/* Removes each entry whose block is unmarked, and calls `removed`. */
void alqi_old_remove_dead(struct alqi_memprof_domain *d,
                          void (*removed)(void *arg,
                                          struct alqi_memprof_entry *e),
                          void *arg);
/* The same, and the entries of discarded profiles. */
void alqi_old_remove_ended(struct alqi_memprof_domain *d,
                           void (*removed)(void *arg,
                                           struct alqi_memprof_entry *e),
                           void *arg);
/* Removes the entries of this profile. */
void alqi_old_remove_of(struct alqi_memprof_old *l, const struct alq_profile *p,
                        void (*removed)(void *arg,
                                        struct alqi_memprof_entry *e),
                        void *arg);

/* ---- verify.c ----------------------------------------------------------- */

/* In dbg and hard builds: checks a domain that no thread works at. */
void alqi_scan_verify(const struct alqi_memprof_domain *d);

/* ---- callback.c ------------------------------------------------------------
 */

/* Frees the node and its saved stack, and gives the profile's reference
 * back. */
void alqi_entry_free(struct alqi_memprof_thread *t,
                     struct alqi_memprof_entry *e);
/* The caller is the only holder: passes a datum to `release`, then _free. */
void alqi_entry_release(struct alqi_memprof_thread *t,
                        struct alqi_memprof_entry *e);
/* True: keep, with *data as its datum. */
bool alqi_callback_alloc(struct alqi_memprof_thread *t,
                         struct alqi_memprof_entry *e,
                         enum alqi_callback_kind kind, const uintptr_t *frames,
                         size_t n_frames, uintptr_t *data);

/* Around each callback, where limits want it. */
static inline void
alqi_callback_begins(struct alqi_memprof_thread *t)
{
    t->limits = alqi_memprof_subject_limits(t->domain->subject);
    if (ALQI_UNLIKELY(t->limits != NULL) && t->limits->begins != NULL)
        t->began = t->limits->begins(t->domain->heap);
}

static inline void
alqi_callback_ends(const struct alqi_memprof_thread *t)
{
    if (ALQI_UNLIKELY(t->limits != NULL) && t->limits->ends != NULL)
        t->limits->ends(t->domain->heap, t->began);
}

/* A callback of an entry begins, and has ended; in between `running` is the
 * entry. */
static inline __attribute__((always_inline)) void
alqi_callback_enter(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e,
                    enum alqi_callback_kind kind)
{
    ALQI_ASSERT(t->mode == ALQI_MEMPROF_INSIDE && t->running == NULL);
    t->running = e;
    t->running_kind = kind;
    atomic_signal_fence(memory_order_seq_cst);
    t->mode = ALQI_MEMPROF_CALLBACK;
    atomic_signal_fence(memory_order_seq_cst);
}

static inline __attribute__((always_inline)) void
alqi_callback_leave(struct alqi_memprof_thread *t)
{
    atomic_signal_fence(memory_order_seq_cst);
    t->mode = ALQI_MEMPROF_INSIDE;
    atomic_signal_fence(memory_order_seq_cst);
    t->running = NULL;
}

/* Records the code of a failure: a flush reports the first one. */
void alqi_callback_failed(struct alqi_memprof_thread *t, struct alq_profile *p,
                          int code);

/* Runs a callback that has no entry, under these limits; returns its code. */
static inline __attribute__((always_inline)) int
alqi_callback_bare(struct alqi_memprof_thread *t,
                   const struct alqi_memprof_limits *limits,
                   int (*fn)(void *, const struct alq_allocation *,
                             uintptr_t *),
                   void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    bool began = false;
    int code;

    ALQI_ASSERT(t->mode == ALQI_MEMPROF_INSIDE && t->running == NULL);
    if (limits != NULL && limits->begins != NULL)
        began = limits->begins(t->domain->heap);
    atomic_signal_fence(memory_order_seq_cst);
    t->mode = ALQI_MEMPROF_CALLBACK;
    atomic_signal_fence(memory_order_seq_cst);
    code = fn(arg, a, data);
    atomic_signal_fence(memory_order_seq_cst);
    t->mode = ALQI_MEMPROF_INSIDE;
    atomic_signal_fence(memory_order_seq_cst);
    if (limits != NULL && limits->ends != NULL)
        limits->ends(t->domain->heap, began);
    return code;
}

/* True: keep, with e->data as its datum. */
bool alqi_callback_promote(struct alqi_memprof_thread *t,
                           struct alqi_memprof_entry *e);
/* dealloc_minor or _major, or release when discarded; frees the node. */
void alqi_callback_dealloc(struct alqi_memprof_thread *t,
                           struct alqi_memprof_entry *e);
/* The callback that was running will not return: ends what was in hand. */
void alqi_callback_abandon(struct alqi_memprof_thread *t);

/* ---- orphan.c -------------------------------------------------------------
 */

/* An ending domain's entries and callbacks go to the next that adopts. */
void alqi_orphans_add(struct alqi_memprof_domain *d);
void alqi_orphans_adopt(struct alqi_memprof_domain *d);
void alqi_orphans_lock(void);
void alqi_orphans_unlock(void);
void alqi_orphans_fork_reset(void);

/* ---- pending.c -------------------------------------------------------------
 */

static inline void
alqi_fifo_push(struct alqi_entry_fifo *f, struct alqi_memprof_entry *e)
{
    e->next = NULL;
    if (f->tail != NULL)
        f->tail->next = e;
    else
        f->head = e;
    f->tail = e;
}

static inline struct alqi_memprof_entry *
alqi_fifo_pop(struct alqi_entry_fifo *f)
{
    struct alqi_memprof_entry *e = f->head;

    if (e == NULL)
        return NULL;
    f->head = e->next;
    if (f->head == NULL)
        f->tail = NULL;
    return e;
}

void alqi_fifo_append(struct alqi_entry_fifo *to, struct alqi_entry_fifo *from);
/* The entry is dead and the caller its only holder: its last callback is due,
 * now or, with ALQ_MEMPROF_DEFER, at a flush. */
void alqi_pending_dead(struct alqi_memprof_thread *t,
                       struct alqi_memprof_entry *e);
/* The same for a chain. */
void alqi_pending_dead_chain(struct alqi_memprof_thread *t,
                             struct alqi_memprof_entry *chain);
/* The data of the chain must go to release; the caller is its only holder. */
void alqi_pending_release_chain(struct alqi_memprof_thread *t,
                                struct alqi_memprof_entry *chain);
/* Runs what is due at once.  Mode INSIDE, not within a callback. */
void alqi_pending_run_due(struct alqi_memprof_thread *t);
/* Runs the thread's deferred alloc callbacks only. */
void alqi_pending_run_allocs(struct alqi_memprof_thread *t);
void alqi_pending_run_all(struct alqi_memprof_thread *t);
/* A scanned heap's callbacks that wait for no flush, until one fails. */
void alqi_pending_run_polled(struct alqi_memprof_thread *t);
void alqi_pending_run_limits(struct alqi_memprof_thread *t);
/* A scanned heap's entry has a callback due on this thread. */
void alqi_pending_push(struct alqi_memprof_thread *t,
                       struct alqi_memprof_entry *e);
/* The domain gets the callbacks; its lock is held. */
void alqi_pending_give_locked(struct alqi_memprof_domain *d,
                              struct alqi_entry_fifo *prompt,
                              struct alqi_entry_fifo *deferred);
/* Copies a stack into nodes; false: no memory. */
bool alqi_stash_make(struct alqi_memprof_thread *t,
                     struct alqi_memprof_entry *e, const uintptr_t *frames,
                     size_t n_frames);
/* Returns the saved stack for the callback, and frees its nodes: in t->frames,
 * or in pages of its own if it is deeper, until _release. */
const uintptr_t *alqi_stash_take(struct alqi_memprof_thread *t,
                                 struct alqi_memprof_entry *e,
                                 size_t *n_frames);
void alqi_stash_release(struct alqi_memprof_thread *t, const uintptr_t *frames,
                        size_t n_frames);
void alqi_stash_free(struct alqi_memprof_thread *t,
                     struct alqi_memprof_entry *e);
/* Passes the thread's pending callbacks to its domain, at the thread's end. */
void alqi_pending_hand_over(struct alqi_memprof_thread *t);

#endif
