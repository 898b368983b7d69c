/* pool.c -- nodes of one size at addresses that never change
 *
 * Entries and saved stacks are nodes.  Slabs are mapped and never unmapped, so
 * a pointer to a node stays readable (.inv.stable), and the pool is as large as
 * the most nodes that ever lived at once.
 *
 *     slab --carve--> thread's cache --batch of half--> pool's free list
 *                          ^--------------------------------'
 *
 * .inv.bounded  A thread's cache holds at most ALQI_POOL_CACHE_MAX nodes: a
 *               thread that frees more than it makes gives batches back, so a
 *               producer and a consumer on two threads leak nothing.
 *
 * .inv.alone_nodes  All slabs stand in a list that only grows, so that a
 * process with one thread left finds each node, whatever the others were about
 * when they went.
 *
 * A free node's first word links the cache, a batch's first node has the link
 * to the next batch in its second word. */
#include "memprof/entry.h"
#include "memprof/pool.h"

enum {
    NODE_BYTES = sizeof(struct alqi_memprof_entry),
    SLAB_BYTES = 1 << 16,
    BATCH = (ALQI_POOL_CACHE_MAX + 1) / 2
};

struct slab {
    struct slab *next;  /* one with nodes left to carve */
    struct slab *older; /* the one mapped before        */
    uint32_t n_carved;  /* this header is the first     */
};

static struct {
    struct alqi_plat_lock lock;
    struct alqi_pool_node *batches;
    struct slab *slabs;
    struct slab *newest; /* of all: .inv.alone_nodes */
} pool = {.lock = ALQI_PLAT_LOCK(MEMPROF_POOL)};

static struct alqi_pool_node *
node_at(char *first, uint32_t i)
{
    return (struct alqi_pool_node *)(first + (size_t)i * NODE_BYTES);
}

void
alqi_pool_lock(void)
{
    alqi_plat_lock(&pool.lock);
}

void
alqi_pool_unlock(void)
{
    alqi_plat_unlock(&pool.lock);
}

void
alqi_pool_fork_reset(void)
{
    alqi_plat_lock_break(&pool.lock);
    pool.batches = NULL;
    pool.slabs = NULL;
    pool.newest = NULL;
}

void
alqi_pool_each_alone(void (*visit)(void *arg, const void *node), void *arg)
{
    for (struct slab *s = pool.newest; s != NULL; s = s->older)
        for (uint32_t i = 1; i < s->n_carved; i++)
            visit(arg, node_at((char *)s, i));
}

/* In address order, so that lists of entries lie in address order, too. */
static struct alqi_pool_node *
carve_locked(void)
{
    struct slab *s = pool.slabs;
    uint32_t n, left;
    char *first;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_POOL));
    if (s == NULL)
        return NULL;
    left = SLAB_BYTES / NODE_BYTES - s->n_carved;
    n = left < BATCH ? left : BATCH;
    first = (char *)s + (size_t)s->n_carved * NODE_BYTES;
    for (uint32_t i = 0; i < n; i++)
        node_at(first, i)->next = i + 1 < n ? node_at(first, i + 1) : NULL;
    node_at(first, 0)->n_in_batch = n;
    s->n_carved += n;
    if (n == left)
        pool.slabs = s->next;
    return node_at(first, 0);
}

/* Takes a batch that a thread gave back, or else carves one; NULL: no slab has
 * a node left. */
static struct alqi_pool_node *
batch_get_locked(void)
{
    struct alqi_pool_node *b = pool.batches;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_POOL));
    if (b == NULL)
        return carve_locked();
    pool.batches = b->next_batch;
    return b;
}

/* batch_get_locked, for a caller without the lock. */
static struct alqi_pool_node *
batch_get(void)
{
    struct alqi_pool_node *b;

    alqi_pool_lock();
    b = batch_get_locked();
    alqi_pool_unlock();
    return b;
}

/* Two threads may both map a slab; the pool keeps both.  Each takes its batch
 * under the same lock, before others can have carved the slab. */
static ALQI_COLD struct alqi_pool_node *
batch_get_slow(void)
{
    struct slab *s = alqi_plat_pages_map(SLAB_BYTES);
    struct alqi_pool_node *b;

    if (s == NULL)
        return NULL;
    s->n_carved = 1;
    alqi_pool_lock();
    s->next = pool.slabs;
    pool.slabs = s;
    s->older = pool.newest;
    pool.newest = s;
    b = batch_get_locked();
    alqi_pool_unlock();
    return b;
}

bool
alqi_pool_fill(struct alqi_memprof_thread *t)
{
    struct alqi_pool_node *n = batch_get();

    if (n == NULL)
        n = batch_get_slow();
    if (n == NULL)
        return false;
    t->free_entries = n;
    t->n_free_entries = n->n_in_batch;
    return true;
}

void *
alqi_pool_get_slow(struct alqi_memprof_thread *t)
{
    if (!alqi_pool_fill(t))
        return NULL;
    return alqi_pool_get(t);
}

static void
batch_put(struct alqi_pool_node *first, uint32_t n)
{
    first->n_in_batch = n;
    alqi_pool_lock();
    first->next_batch = pool.batches;
    pool.batches = first;
    alqi_pool_unlock();
}

void
alqi_pool_give_back(struct alqi_memprof_thread *t)
{
    struct alqi_pool_node *first = t->free_entries, *last = first;

    for (unsigned i = 1; i < BATCH; i++)
        last = last->next;
    t->free_entries = last->next;
    t->n_free_entries -= BATCH;
    last->next = NULL;
    batch_put(first, BATCH);
}

void
alqi_pool_drain(struct alqi_memprof_thread *t)
{
    if (t->free_entries != NULL)
        batch_put(t->free_entries, t->n_free_entries);
    t->free_entries = NULL;
    t->n_free_entries = 0;
}
