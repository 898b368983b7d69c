/* state.h -- what the engine's files share              [doc/design/memprof.md]
 *
 * Nothing here is seen by a heap. */
#ifndef ALQI_MEMPROF_STATE_H
#define ALQI_MEMPROF_STATE_H

#include <stdatomic.h>

#include "memprof/engine.h"
#include "memprof/entry.h"
#include "memprof/locks.h"

/* ---- profile.c ---------------------------------------------------------- */

enum alqi_profile_status {
    ALQI_PROFILE_SAMPLING,
    ALQI_PROFILE_STOPPED,
    ALQI_PROFILE_DISCARDED
};

/* References: each live entry counts 1, every other holder ONE_HOLDER, in one
 * word, so that making an entry costs one atomic operation. */
#define ALQI_PROFILE_ONE_ENTRY ((uint64_t)1)
#define ALQI_PROFILE_ONE_HOLDER ((uint64_t)1 << 40)
#define ALQI_PROFILE_ENTRIES (ALQI_PROFILE_ONE_HOLDER - 1)

struct alq_profile {
    /* Constant while referenced. */
    struct alqi_sample_law law;
    struct alq_tracker tracker;
    const struct alqi_memprof_hooks *hooks; /* may be NULL */
    _Atomic(uint64_t) id;                   /* unique in the process, never 0 */
    uint64_t seed;
    uint64_t max_entries;
    uint32_t callstack_frames; /* cut to ALQI_STACK_FRAMES_MAX */
    uint32_t flags;            /* ALQ_MEMPROF_*                */
    uint32_t slot;             /* of the domain, or ..._SLOT_TREE */
    struct alq_profile *next_in_pool;

    _Atomic(uint32_t) status;
    _Atomic(uint32_t) n_attached; /* domains or threads; the last to leave
                                     stops it                              */
    _Atomic(uint64_t) refs __attribute__((aligned(64)));
    _Atomic(uint64_t) sampled_blocks;
    _Atomic(uint64_t) extra_words; /* sampled words - sampled blocks */
    _Atomic(uint64_t) dropped_nomem;
    _Atomic(uint64_t) dropped_cap;
    _Atomic(uint64_t) dropped_nested;
    _Atomic(uint64_t) callback_failures;
};

struct alq_profile *alqi_profile_new(const struct alq_memprof_config *config,
                                     const struct alq_tracker *tracker,
                                     const struct alqi_sample_law *law,
                                     const struct alqi_memprof_hooks *hooks,
                                     unsigned slot);
void alqi_profile_hold(struct alq_profile *p);
void alqi_profile_release(struct alq_profile *p, uint64_t one);
/* Takes one entry's reference on the profile that had this id, if it is that
 * profile still and its cap allows; the memory of profiles is never unmapped,
 * so `p` may be stale. */
bool alqi_profile_enter(struct alq_profile *p, uint64_t id);
void alqi_profile_attach(struct alq_profile *p);
void alqi_profile_detach(struct alq_profile *p);
/* Detaches a thread that an unprepared fork lost: no lock can be taken. */
void alqi_profile_detach_lost(struct alq_profile *p);
/* SAMPLING -> STOPPED; false: it was not sampling. */
bool alqi_profile_stop(struct alq_profile *p);
void alqi_profiles_lock(void);
void alqi_profiles_unlock(void);
void alqi_profiles_forget_entries(void);

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

/* ---- pool.c ------------------------------------------------------------- */

/* NULL: no memory. */
void *alqi_pool_get(struct alqi_memprof_thread *t);
void alqi_pool_put(struct alqi_memprof_thread *t, void *node);
/* Gives the thread's whole cache back. */
void alqi_pool_drain(struct alqi_memprof_thread *t);
void alqi_pool_lock(void);
void alqi_pool_unlock(void);
void alqi_pool_forget(void);

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
/* Takes the block's entries out, dead.  Those whose alloc callback is due or
 * running are only marked: its thread goes on with them. */
struct alqi_memprof_entry *alqi_index_take_dead(const void *block);
/* For a realloc: all come back, TAKEN, alive; then _put or _bury. */
struct alqi_memprof_entry *alqi_index_take(const void *block);
enum alqi_index_next alqi_index_bury(struct alqi_memprof_entry *e);
bool alqi_index_owes_alloc(struct alqi_memprof_entry *e);
/* The turn of an entry on a FIFO: RUN, DEAD, FREE or LEFT. */
enum alqi_index_next alqi_index_turn(struct alqi_memprof_entry *e);
/* The alloc callback of an indexed entry has run: KEEP, DEAD, FREE or LEFT. */
enum alqi_index_next alqi_index_alloc_ran(struct alqi_memprof_entry *e,
                                          bool keep, uintptr_t data);
/* Its alloc callback will never run: FREE, DEAD (had run) or LEFT. */
enum alqi_index_next alqi_index_give_up(struct alqi_memprof_entry *e);
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
void alqi_index_forget(void);

enum { ALQI_FILTER_LEVEL_MIN = 16, ALQI_FILTER_LEVEL_MAX = 24 };

/* log2 of the filter's bytes now. */
unsigned alqi_filter_level(void);
void alqi_filter_count(const void *block, unsigned lo, unsigned hi);
void alqi_filter_uncount(const void *block, unsigned lo, unsigned hi);
/* Called with no lock held after puts; `in_shard` entries sit in one shard. */
void alqi_filter_grow_if_full(uint64_t in_shard);
void alqi_filter_lock(void);
void alqi_filter_unlock(void);
void alqi_filter_forget(void);

/* For each of a chain that has just been taken out of the index, by whom the
 * block is to be freed or moved. */
static inline void
alqi_entries_leave(const struct alqi_memprof_entry *chain)
{
    for (; chain != NULL; chain = chain->chain) {
        const struct alq_profile *p = chain->profile;

        if (p->hooks != NULL)
            p->hooks->leaves(p->tracker.arg, chain->block);
    }
}

/* ---- domain.c ----------------------------------------------------------- */

/* Of a scanned domain: by `next` and `prev`; an entry's IN_OLD says which. */
struct alqi_memprof_list {
    struct alqi_memprof_entry *head;
    struct alqi_memprof_entry *tail;
};

struct alqi_memprof_domain {
    const struct alqi_memprof_subject *subject;
    void *heap;
    struct alqi_memprof_lock lock;
    _Atomic(uint64_t) serial; /* from 1; a change makes threads re-arm */
    _Atomic(struct alq_profile *) slot[ALQI_MEMPROF_SLOTS];
    struct alqi_memprof_thread *threads;
    uint32_t n_threads_ever;
    /* Callbacks owed by threads that ended; anyone who flushes runs them. */
    struct alqi_memprof_pending pending;
    _Atomic(bool) has_pending;
    struct alqi_memprof_domain *next;
    struct alqi_memprof_domain *prev;

    /* Scanned heaps only; touched by the domain's running thread, or by the
     * collector on its behalf while it is stopped. */
    struct alqi_memprof_list young; /* block or datum may be young */
    struct alqi_memprof_list old;
};

void alqi_domain_lock(struct alqi_memprof_domain *d);
void alqi_domain_unlock(struct alqi_memprof_domain *d);
void alqi_domains_lock_all(void);
void alqi_domains_unlock_all(void);
/* An unprepared fork: opens every lock, forgets every thread but `self`. */
void alqi_domains_forget(struct alqi_memprof_thread *self);
/* Copies what samples the thread into it (alqi_memprof_thread.armed). */
void alqi_domain_arm(struct alqi_memprof_domain *d,
                     struct alqi_memprof_thread *t);
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
void alqi_tree_forget(struct alqi_memprof_thread *t);

/* ---- thread.c ----------------------------------------------------------- */

/* Back from alqi_memprof_enter; handles late frees and runs what is due. */
void alqi_thread_leave(struct alqi_memprof_thread *t, uint32_t was);
/* Draws the next gap, after re-arming when the slots have changed. */
uint64_t alqi_thread_draw(struct alqi_memprof_thread *t);

/* Hits among a tripped block's words, of which `words_after` come after the
 * one that tripped; *gap: from the block's end to the next hit, 0 when that is
 * yet to be drawn. */
uint64_t alqi_thread_hits(struct alqi_memprof_thread *t, uint64_t words_after,
                          uint64_t *gap);
/* In a handler that interrupted the engine: false, the block waits. */
bool alqi_thread_late_push(struct alqi_memprof_thread *t, void *block);
/* ---- make.c ------------------------------------------------------------- */

/* What is known of a block before it is tracked. */
struct alqi_memprof_birth {
    const void *block;
    uint64_t size_bytes;
    uint8_t source;
    uint8_t birth; /* ALQI_BIRTH_* */
};

/* Adds an entry to `making` for each client that has any of the k hits; false
 * when nothing is being made. */
bool alqi_make(struct alqi_memprof_thread *t,
               const struct alqi_memprof_birth *birth, uint64_t k);
/* The stack, as deep as any of `making` wants it, into t->last. */
uint32_t alqi_make_capture(struct alqi_memprof_thread *t,
                           const struct alqi_stack_regs *regs);
/* Stashes the stack and marks the callback due; false: no memory. */
bool alqi_make_deferred(struct alqi_memprof_thread *t,
                        struct alqi_memprof_entry *e, uint32_t n_frames);

/* ---- scan.c ------------------------------------------------------------- */

/* The turn of a scanned heap's entry on a FIFO. */
void alqi_scan_turn(struct alqi_memprof_thread *t,
                    struct alqi_memprof_entry *e);
/* To the list where its block and datum belong. */
void alqi_scan_place(struct alqi_memprof_domain *d,
                     struct alqi_memprof_entry *e);
/* Takes a discarded profile's entries off the lists, by `chain`. */
struct alqi_memprof_entry *alqi_scan_sweep(struct alqi_memprof_domain *d,
                                           const struct alq_profile *p);
void alqi_scan_each(struct alqi_memprof_domain *d, const struct alq_profile *p,
                    int (*visit)(void *arg, const struct alq_allocation *a,
                                 uintptr_t data),
                    void *arg);
void alqi_list_append(struct alqi_memprof_list *to,
                      struct alqi_memprof_list *from);
/* What `visit` of alq_memprof_each is told of an entry. */
int alqi_entry_visit(const struct alqi_memprof_entry *e,
                     int (*visit)(void *arg, const struct alq_allocation *a,
                                  uintptr_t data),
                     void *arg);

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
void alqi_orphans_forget(void);

/* ---- pending.c -------------------------------------------------------------
 */

void alqi_fifo_push(struct alqi_memprof_pending *f,
                    struct alqi_memprof_entry *e);
struct alqi_memprof_entry *alqi_fifo_pop(struct alqi_memprof_pending *f);
void alqi_fifo_append(struct alqi_memprof_pending *to,
                      struct alqi_memprof_pending *from);
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
/* Copies a stack into nodes; false: no memory. */
bool alqi_stash_make(struct alqi_memprof_thread *t,
                     struct alqi_memprof_entry *e, const uintptr_t *frames,
                     size_t n_frames);
size_t alqi_stash_copy(const struct alqi_memprof_entry *e, uintptr_t *frames);
void alqi_stash_free(struct alqi_memprof_thread *t,
                     struct alqi_memprof_entry *e);
/* Everything the thread owes, at its end. */
void alqi_pending_hand_over(struct alqi_memprof_thread *t);

#endif
