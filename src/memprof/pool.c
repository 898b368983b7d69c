/* pool.c -- nodes of one cache line, at addresses that never change
 *
 * Slabs are mapped, never unmapped: a pointer to a node stays readable, and
 * the pool is as big as the most nodes that ever lived at once.
 *
 *   slab --carve--> thread's cache --batch--> pool's stack of batches
 *                        ^------------------------'
 *
 * A thread that frees more than it makes gives batches back, so producers and
 * consumers on different threads do not leak (.inv.bounded: a cache holds at
 * most CACHE_MAX nodes).  Free nodes are linked through their first word, a
 * batch's first node links to the next batch through its second. */
#include "memprof/state.h"

enum {
    NODE_BYTES = 64,
    SLAB_BYTES = 1 << 16,
#if ALQI_CHECKS >= 3
    CACHE_MAX = 1,
    BATCH = 1
#else
    CACHE_MAX = 32,
    BATCH = 16
#endif
};

struct node {
    struct node *next;
    struct node *next_batch;
};

struct slab {
    struct slab *next; /* one with nodes left to carve */
    uint32_t n_carved; /* this header is the first     */
};

static struct {
    struct alqi_memprof_lock lock;
    struct node *batches;
    struct slab *slabs;
} pool;

void
alqi_pool_lock(void)
{
    alqi_memprof_lock(&pool.lock, ALQI_RANK_POOL);
}

void
alqi_pool_unlock(void)
{
    alqi_memprof_unlock(&pool.lock, ALQI_RANK_POOL);
}

void
alqi_pool_forget(void)
{
    pool.lock = (struct alqi_memprof_lock){{0}};
    pool.batches = NULL;
    pool.slabs = NULL;
}

static struct node *
carve_locked(void)
{
    struct slab *s = pool.slabs;
    struct node *first = NULL;
    unsigned n = 0;

    if (s == NULL)
        return NULL;
    while (n < BATCH && s->n_carved < SLAB_BYTES / NODE_BYTES) {
        struct node *fresh =
            (struct node *)((char *)s + (size_t)s->n_carved++ * NODE_BYTES);

        fresh->next = first;
        first = fresh;
        n++;
    }
    if (s->n_carved == SLAB_BYTES / NODE_BYTES)
        pool.slabs = s->next;
    return first;
}

static struct node *
batch_get(void)
{
    struct node *b;

    alqi_pool_lock();
    b = pool.batches;
    if (b != NULL)
        pool.batches = b->next_batch;
    else
        b = carve_locked();
    alqi_pool_unlock();
    return b;
}

static ALQI_COLD struct node *
batch_get_slow(void)
{
    struct slab *s = alqi_plat_pages_map(SLAB_BYTES);

    if (s == NULL)
        return NULL;
    s->n_carved = 1;
    alqi_pool_lock();
    s->next = pool.slabs; /* two threads may both have come here: no harm */
    pool.slabs = s;
    alqi_pool_unlock();
    return batch_get();
}

static unsigned
length(const struct node *n)
{
    unsigned count = 0;

    for (; n != NULL; n = n->next)
        count++;
    return count;
}

void *
alqi_pool_get(struct alqi_memprof_thread *t)
{
    struct node *n = t->free_entries;

    if (ALQI_UNLIKELY(n == NULL)) {
        n = batch_get();
        if (n == NULL)
            n = batch_get_slow();
        if (n == NULL)
            return NULL;
        t->n_free_entries = length(n);
    }
    t->free_entries = n->next;
    t->n_free_entries--;
    return n;
}

static void
batch_put(struct node *first)
{
    alqi_pool_lock();
    first->next_batch = pool.batches;
    pool.batches = first;
    alqi_pool_unlock();
}

static ALQI_NOINLINE void
batch_give_back(struct alqi_memprof_thread *t)
{
    struct node *first = t->free_entries, *last = first;

    for (unsigned i = 1; i < BATCH; i++)
        last = last->next;
    t->free_entries = last->next;
    t->n_free_entries -= BATCH;
    last->next = NULL;
    batch_put(first);
}

void
alqi_pool_put(struct alqi_memprof_thread *t, void *node)
{
    struct node *n = node;

    n->next = t->free_entries;
    t->free_entries = n;
    if (++t->n_free_entries > CACHE_MAX)
        batch_give_back(t);
}

void
alqi_pool_drain(struct alqi_memprof_thread *t)
{
    struct node *n = t->free_entries;

    t->free_entries = NULL;
    t->n_free_entries = 0;
    if (n != NULL)
        batch_put(n);
}
