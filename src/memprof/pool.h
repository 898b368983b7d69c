/* pool.h -- nodes for entries and saved stacks, from a cache of the thread
 *
 * A thread takes and puts nodes without a lock, INSIDE; batches go between
 * caches and the pool (pool.c). */
#ifndef ALQI_MEMPROF_POOL_H
#define ALQI_MEMPROF_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "memprof/engine.h"

/* A free node.  In a thread's cache the thread alone uses it; in the pool the
 * pool's lock guards it. */
struct alqi_pool_node {
    struct alqi_pool_node *next; /* in its cache or batch; NULL: the last */
    /* Valid in the first node of a batch in the pool. */
    struct alqi_pool_node *next_batch;
    uint32_t n_in_batch; /* nodes, the first included */
};

/* Nodes that a thread's cache holds at most (.inv.bounded). */
enum { ALQI_POOL_CACHE_MAX = ALQI_CHECKS >= 3 ? 1 : 64 };

/* Fills the thread's empty cache; false: no memory. */
bool alqi_pool_fill(struct alqi_memprof_thread *t);
/* As _get, with an empty cache. */
void *alqi_pool_get_slow(struct alqi_memprof_thread *t);
/* Gives half of a cache that is over its size to the pool. */
void alqi_pool_give_back(struct alqi_memprof_thread *t);

/* Takes a node, whose contents are left over; NULL: no memory. */
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

/* Puts a node into the thread's cache, whichever thread it came from. */
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
/* The pool's lock, around a prepared fork. */
void alqi_pool_lock(void);
void alqi_pool_unlock(void);
/* Visits every node, free ones too, in a process of one thread, whoever held
 * the lock (.inv.alone_nodes). */
void alqi_pool_each_alone(void (*visit)(void *arg, const void *node),
                          void *arg);
/* An unprepared fork: loses the free nodes that no cache has. */
void alqi_pool_fork_reset(void);

#endif
