/* state.h -- what the engine's files share              [doc/design/memprof.md]
 *
 * Nothing here is seen by a heap. */
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

/* References: each live entry counts 1, every other holder ONE_HOLDER, in one
 * word, so that new_entries an entry costs one atomic operation. */
#define ALQI_PROFILE_ONE_ENTRY ((uint64_t)1)
#define ALQI_PROFILE_ONE_HOLDER ((uint64_t)1 << 40)
#define ALQI_PROFILE_ENTRIES (ALQI_PROFILE_ONE_HOLDER - 1)

/* What one thread counts for a profile that samples it, in words that it alone
 * writes: a sample needs no atomic operation.  Who has a cell holds the
 * profile.  A profile with a cap has none, since that is of all threads. */
struct alqi_profile_cell {
    _Atomic(struct alqi_memprof_thread *) owner; /* NULL: free */
    _Atomic(uint64_t) sampled_blocks;
    _Atomic(uint64_t) sampled_words;
    _Atomic(uint64_t) credit; /* entries that refs counts, not made yet */
} __attribute__((aligned(64)));

enum {
    ALQI_PROFILE_CELLS = 8, /* threads beyond count in the profile itself */
    ALQI_PROFILE_CREDIT = ALQI_CHECKS >= 3 ? 1 : 64
};

struct alq_profile {
    const void *engine; /* first: engine.h */
    /* Constant while referenced. */
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
/* Takes one entry's reference on the profile that had this id, if it is that
 * profile still and its cap allows; the memory of profiles is never unmapped,
 * so `p` may be stale. */
bool alqi_profile_enter(struct alq_profile *p, uint64_t id);
/* NULL: there is none. */
struct alqi_profile_cell *alqi_profile_cell_take(struct alq_profile *p,
                                                 struct alqi_memprof_thread *t);
void alqi_profile_cell_leave(struct alq_profile *p,
                             struct alqi_profile_cell *cell);
/* More credit, how much there is then; and less. */
uint64_t alqi_profile_borrow(struct alq_profile *p,
                             struct alqi_profile_cell *cell);
void alqi_profile_repay(struct alq_profile *p, struct alqi_profile_cell *cell);
void alqi_profile_attach(struct alq_profile *p);
/* False: nobody is attached to it any more, or it is stopped. */
bool alqi_profile_attach_try(struct alq_profile *p);
void alqi_profile_detach(struct alq_profile *p);
/* Detaches a thread that an unprepared fork lost: no lock can be taken. */
void alqi_profile_detach_lost(struct alq_profile *p);
/* SAMPLING -> STOPPED; false: it was not sampling. */
bool alqi_profile_stop(struct alq_profile *p);
void alqi_profiles_lock(void);
void alqi_profiles_unlock(void);
/* An unprepared fork: entries are forgotten, and who is not `self`. */
void alqi_profiles_fork_reset(const struct alqi_memprof_thread *self);
/* Profiles that were discarded, ever. */
uint64_t alqi_profiles_discards(void);
void alqi_profiles_note_discard(void);
/* Whether any profile ever had ALQ_TRACKER_VALUES. */
bool alqi_profiles_have_values(void);

/* It waits for a flush; else, in a scanned heap, for a poll. */
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

/* Of a word that the calling thread alone writes. */
static inline void
alqi_profile_add(_Atomic(uint64_t) *counter, uint64_t n)
{
    atomic_store_explicit(
        counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
        memory_order_relaxed);
}

/* One more entry of a profile that has a cell. */
static inline void
alqi_cell_enter(struct alq_profile *p, struct alqi_profile_cell *cell)
{
    uint64_t credit = atomic_load_explicit(&cell->credit, memory_order_relaxed);

    if (ALQI_UNLIKELY(credit == 0))
        credit = alqi_profile_borrow(p, cell);
    atomic_store_explicit(&cell->credit, credit - 1, memory_order_relaxed);
}

/* One more entry for a client, or false: it does not sample any more, or may
 * have none. */
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

/* And one less. */
static inline void
alqi_cell_leave(struct alq_profile *p, struct alqi_profile_cell *cell)
{
    uint64_t credit =
        atomic_load_explicit(&cell->credit, memory_order_relaxed) + 1;

    atomic_store_explicit(&cell->credit, credit, memory_order_relaxed);
    if (ALQI_UNLIKELY(credit > (uint64_t)2 * ALQI_PROFILE_CREDIT))
        alqi_profile_repay(p, cell);
}

/* One entry of the profile is no more. */
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

/* A sample of k words for a client. */
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
    struct alqi_pool_node *next_batch; /* these two of a batch's first */
    uint32_t n_in_batch;
};

enum { ALQI_POOL_CACHE_MAX = ALQI_CHECKS >= 3 ? 1 : 64 };

/* The thread has none left; false: no memory. */
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
    ALQI_NEXT_DEAD, /* the caller owns it; a dealloc is due */
    ALQI_NEXT_FREE, /* the caller owns it and frees it     */
    ALQI_NEXT_LEFT  /* another thread will free it         */
};

/* Chains are linked by `chain`, and belong to who gets them. */

/* Puts the batch, all of one block, in.  Entries found at that address are
 * stale: they come back, dead.  Those of the batch that are gone or whose
 * profile is discarded come back in *refused. */
struct alqi_memprof_entry *alqi_index_put(struct alqi_memprof_entry *batch,
                                          struct alqi_memprof_entry **refused);
/* The same of a batch of one; false: it takes more, nothing was done. */
bool alqi_index_put_simple(struct alqi_memprof_entry *entry);
/* Takes the block's entries out, dead.  Those whose alloc callback is due or
 * running are only marked: its thread goes on with them. */
struct alqi_memprof_entry *alqi_index_remove_dead(const void *block);
/* For a realloc: all come back, TAKEN, alive; then _put or _bury. */
struct alqi_memprof_entry *alqi_index_remove_for_realloc(const void *block);
enum alqi_index_next alqi_index_realloc_done(struct alqi_memprof_entry *e);
bool alqi_index_alloc_is_due(struct alqi_memprof_entry *e);
/* The turn of an entry on a FIFO: RUN, DEAD, FREE or LEFT. */
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

/* For each of a chain that has just been taken out of the index, by whom the
 * block is to be freed or moved. */
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

/* Entries of a scanned domain whose blocks are old: old.c. */
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
    /* Callbacks owed by threads that ended; anyone who flushes runs them.  In
     * a scanned heap also what collections have found, for polls. */
    struct alqi_entry_fifo pending;
    struct alqi_entry_fifo deferred; /* scanned: for flushes alone */
    _Atomic(bool) has_pending;
    uint64_t path; /* which domain of its family: of its threads' seeds */
    uint64_t n_children;
    bool heap_ended;     /* of a heap that has ended: adopts nothing any more */
    uint32_t cycle;      /* the heap's major cycle, of ALQI_CYCLE_MASK */
    uint64_t n_discards; /* those that `old` was last looked through for */
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
/* An unprepared fork: opens every lock, forgets every thread but `self`. */
void alqi_domains_fork_reset(struct alqi_memprof_thread *self);
/* Copies what samples the thread into it (alqi_memprof_thread.armed). */
void alqi_domain_arm(struct alqi_memprof_domain *d,
                     struct alqi_memprof_thread *t);
/* It is armed with nothing; a client that was may be gone now. */
void alqi_clients_leave(struct alqi_memprof_thread *t);
/* Replaces what a slot holds; `p` may be NULL.  Domain's lock held. */
void alqi_domain_slot_set_locked(struct alqi_memprof_domain *d, unsigned slot,
                                 struct alq_profile *p);

/* ---- tree.c ------------------------------------------------------------- */

/* Puts p among the thread's own, by its flags; false: busy. */
bool alqi_tree_claim(struct alqi_memprof_thread *t, struct alq_profile *p);
/* Stops p, or the thread's own when p is NULL. */
enum alq_status alqi_tree_stop(struct alqi_memprof_thread *t,
                               struct alq_profile *p);
bool alqi_tree_has(const struct alqi_memprof_thread *t,
                   const struct alq_profile *p);
/* Lets go of those that are stopped. */
void alqi_tree_prune_locked(struct alqi_memprof_thread *t);
void alqi_tree_leave_all(struct alqi_memprof_thread *t);
void alqi_tree_fork_reset(struct alqi_memprof_thread *t);

/* ---- thread.c ----------------------------------------------------------- */

/* Back from alqi_memprof_enter; handles delayed frees and runs what is due. */
void alqi_thread_leave(struct alqi_memprof_thread *t, uint32_t was);
/* What samples it has changed since it was armed. */
static inline bool
alqi_thread_is_stale(const struct alqi_memprof_thread *t)
{
    return atomic_load_explicit(&t->domain->serial, memory_order_acquire) !=
           t->armed.serial;
}

/* The skip that was next_skip already, which is as good as any other; 0: none
 * was, or for something else. */
static inline uint64_t
alqi_thread_take_skip(struct alqi_memprof_thread *t)
{
    uint64_t skip = t->next_skip;

    t->next_skip = 0;
    return ALQI_LIKELY(!alqi_thread_is_stale(t)) ? skip : 0;
}

/* Draws the next skip, after re-arming when the slots have changed. */
uint64_t alqi_thread_draw_skip(struct alqi_memprof_thread *t);

/* Hits among a tripped block's words, of which `words_after` come after the
 * one that tripped; *skip: from the block's end to the next hit, 0 when that is
 * yet to be next_skip. */
uint64_t alqi_thread_samples(struct alqi_memprof_thread *t,
                             uint64_t words_after, uint64_t *skip);
/* In a handler that interrupted the engine: false, the block waits. */
bool alqi_thread_delay_free(struct alqi_memprof_thread *t, void *block);
/* ---- scan.c ------------------------------------------------------------- */

/* The turn of a scanned heap's entry on a FIFO. */
void alqi_scan_run(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e);
/* To the list where its block and datum belong. */
void alqi_scan_place(struct alqi_memprof_domain *d,
                     struct alqi_memprof_entry *e);
/* Takes a discarded profile's entries off the lists, by `chain`. */
struct alqi_memprof_entry *alqi_scan_sweep(struct alqi_memprof_domain *d,
                                           const struct alq_profile *p);
int alqi_scan_each(struct alqi_memprof_domain *d, const struct alq_profile *p,
                   int (*visit)(void *arg, const struct alq_allocation *a,
                                uintptr_t data),
                   void *arg);
/* What `visit` of alq_memprof_each is told of an entry. */
int alqi_entry_visit(const struct alqi_memprof_entry *e, uint64_t cycle,
                     int (*visit)(void *arg, const struct alq_allocation *a,
                                  uintptr_t data),
                     void *arg);

/* ---- old.c -------------------------------------------------------------- */

void alqi_old_add(struct alqi_memprof_old *l, struct alqi_memprof_entry *e);
void alqi_old_append(struct alqi_memprof_old *to,
                     struct alqi_memprof_old *from);
struct alqi_memprof_entry *alqi_old_pop(struct alqi_memprof_old *l);
/* Each entry whose block is unmarked leaves, and is told. */
void alqi_old_remove_dead(struct alqi_memprof_domain *d,
                          void (*removed)(void *arg,
                                          struct alqi_memprof_entry *e),
                          void *arg);
/* The same, and those of profiles that are discarded. */
void alqi_old_remove_ended(struct alqi_memprof_domain *d,
                           void (*removed)(void *arg,
                                           struct alqi_memprof_entry *e),
                           void *arg);
/* Those of this profile. */
void alqi_old_remove_of(struct alqi_memprof_old *l, const struct alq_profile *p,
                        void (*removed)(void *arg,
                                        struct alqi_memprof_entry *e),
                        void *arg);

/* ---- verify.c ----------------------------------------------------------- */

/* In dbg and hard builds, of a domain that nobody works at. */
void alqi_scan_verify(const struct alqi_memprof_domain *d);

/* ---- callback.c ------------------------------------------------------------
 */

/* Frees the node and its stash, and gives the profile's reference back. */
void alqi_entry_free(struct alqi_memprof_thread *t,
                     struct alqi_memprof_entry *e);
/* The entry is nobody else's: a datum goes to `release`, then _free. */
void alqi_entry_release(struct alqi_memprof_thread *t,
                        struct alqi_memprof_entry *e);
/* True: keep, with *data as its datum. */
bool alqi_callback_alloc(struct alqi_memprof_thread *t,
                         struct alqi_memprof_entry *e,
                         enum alqi_callback_kind kind, const uintptr_t *frames,
                         size_t n_frames, uintptr_t *data);

/* Around each, where limits want it. */
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

/* The callback of an entry begins, and has ended: in between `running` names
 * it, if it has one. */
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

/* Its code is a failure's: the first one that is not yet told of counts. */
void alqi_callback_failed(struct alqi_memprof_thread *t, struct alq_profile *p,
                          int code);

/* A callback of no entry, under these limits: what it returns. */
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

/* What an ending domain still tracks or owes goes to the next that looks. */
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
/* The entry is dead and nobody else's: its last callback is due, now or, under
 * ALQ_MEMPROF_DEFER, at a flush. */
void alqi_pending_dead(struct alqi_memprof_thread *t,
                       struct alqi_memprof_entry *e);
/* A whole chain of them. */
void alqi_pending_dead_chain(struct alqi_memprof_thread *t,
                             struct alqi_memprof_entry *chain);
/* Its datum must go to release; it is nobody else's. */
void alqi_pending_release_chain(struct alqi_memprof_thread *t,
                                struct alqi_memprof_entry *chain);
/* Runs what is due at once.  Mode INSIDE, not within a callback. */
void alqi_pending_run_due(struct alqi_memprof_thread *t);
/* Runs the thread's deferred alloc callbacks only. */
void alqi_pending_run_allocs(struct alqi_memprof_thread *t);
void alqi_pending_run_all(struct alqi_memprof_thread *t);
/* A scanned heap's: what waits for no flush, until a callback fails. */
void alqi_pending_run_polled(struct alqi_memprof_thread *t);
void alqi_pending_run_limits(struct alqi_memprof_thread *t);
/* A scanned heap's entry owes this thread's callback. */
void alqi_pending_push(struct alqi_memprof_thread *t,
                       struct alqi_memprof_entry *e);
/* Owed by the domain, whose lock is held. */
void alqi_pending_give_locked(struct alqi_memprof_domain *d,
                              struct alqi_entry_fifo *prompt,
                              struct alqi_entry_fifo *deferred);
/* Copies a stack into nodes; false: no memory. */
bool alqi_stash_make(struct alqi_memprof_thread *t,
                     struct alqi_memprof_entry *e, const uintptr_t *frames,
                     size_t n_frames);
/* Takes it back for its callback: in t->frames, or, if it is deeper than they
 * are, in pages of its own, until _told. */
const uintptr_t *alqi_stash_take(struct alqi_memprof_thread *t,
                                 struct alqi_memprof_entry *e,
                                 size_t *n_frames);
void alqi_stash_release(struct alqi_memprof_thread *t, const uintptr_t *frames,
                        size_t n_frames);
void alqi_stash_free(struct alqi_memprof_thread *t,
                     struct alqi_memprof_entry *e);
/* Everything the thread owes, at its end. */
void alqi_pending_hand_over(struct alqi_memprof_thread *t);

#endif
