/* index.h -- the entries of notified heaps, by address
 *
 * Any thread may call these; each takes the lock of one shard at a time.
 * Chains are linked by `chain`; the caller that gets one holds its entries. */
#ifndef ALQI_MEMPROF_INDEX_H
#define ALQI_MEMPROF_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <aliquot/memprof.h>

#include "memprof/engine.h"
#include "memprof/entry.h"
#include "memprof/profile.h"

/* What is next for an entry, decided under the lock of its shard. */
enum alqi_index_next {
    ALQI_NEXT_RUN,  /* alloc: run the callback             */
    ALQI_NEXT_KEEP, /* it lives on where it is             */
    ALQI_NEXT_DEAD, /* the caller holds it; a dealloc is due */
    ALQI_NEXT_FREE, /* the caller holds it and frees it */
    ALQI_NEXT_LEFT  /* its other holder frees it (.inv.two) */
};

/* Puts the batch, all of one block, in.  Returns entries found at that address:
 * they are stale, and dead now.  Entries of the batch that are gone or whose
 * profile is discarded come back in *refused. */
struct alqi_memprof_entry *alqi_index_put(struct alqi_memprof_entry *batch,
                                          struct alqi_memprof_entry **refused);
/* _put for a batch of one that needs nothing but a link: the fast path.  False:
 * _put is needed, nothing was done. */
bool alqi_index_put_simple(struct alqi_memprof_entry *entry);
/* Takes the block's entries out, dead.  An entry whose alloc callback is due or
 * running is only marked: its thread goes on with it. */
struct alqi_memprof_entry *alqi_index_remove_dead(const void *block);
/* For a realloc: returns all entries, IN_REALLOC, alive; then _put or
 * _realloc_done. */
struct alqi_memprof_entry *alqi_index_remove_for_realloc(const void *block);
/* The old block of an entry in a realloc is gone: DEAD, FREE or LEFT. */
enum alqi_index_next alqi_index_realloc_done(struct alqi_memprof_entry *e);
/* Whether the alloc callback of an entry on a FIFO is still due. */
bool alqi_index_alloc_is_due(struct alqi_memprof_entry *e);
/* Begins the deferred callback of an entry on a FIFO: RUN, DEAD, FREE or
 * LEFT. */
enum alqi_index_next alqi_index_begin_deferred(struct alqi_memprof_entry *e);
/* The alloc callback of an indexed entry has run: KEEP, DEAD, FREE or LEFT. */
enum alqi_index_next alqi_index_alloc_ran(struct alqi_memprof_entry *e,
                                          bool keep, uintptr_t data);
/* The alloc callback of the entry will never run: FREE, DEAD (it has run) or
 * LEFT. */
enum alqi_index_next alqi_index_cancel_deferred(struct alqi_memprof_entry *e);
/* Takes out every entry of a discarded profile. */
struct alqi_memprof_entry *alqi_index_sweep(const struct alq_profile *p);
/* Visits the entries of the profile that have a datum, each under its shard's
 * lock, until `visit` returns other than 0; returns that. */
int alqi_index_each(const struct alq_profile *p,
                    int (*visit)(void *arg, const struct alq_allocation *a,
                                 uintptr_t data),
                    void *arg);

/* The locks of all shards, around a prepared fork. */
void alqi_index_lock_all(void);
void alqi_index_unlock_all(void);
/* An unprepared fork: the index is empty. */
void alqi_index_fork_reset(void);

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

#endif
