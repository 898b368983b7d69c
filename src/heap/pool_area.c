/* pool_area.c -- which pools are free, in use, or the system's
 *
 *   pool:  untouched (behind the frontier) -> in use -> free -> in use ...
 *          free -> returned (its memory is the system's) -> in use
 *
 * All of this changes under the area's lock, but for a pool's kind, which its
 * taker or giver writes.  Memory of returned and untouched pools is the
 * system's, and is not counted as the heap's.
 *
 * Keeps .inv.room: alqi_heap_area_ready makes pools accessible before they are
 *   promised, and no pool is made inaccessible again.
 * Keeps .inv.pools: The counters change together, under the lock.
 * Keeps .inv.kind: A pool's byte is set when it is taken, and cleared before it
 *   is free. */
#include "heap/pool_area.h"
#include "heap/pool_class.h"
#include "heap/pool_policy.h"
#include "plat/plat.h"
#include "plat/space.h"

#define MAJOR_BYTES_MOST ((uintptr_t)256 << 30)
#define MAJOR_BYTES_LEAST ((uintptr_t)64 << 20)

/* Tables of a domain (remembered fields, grey promotions), and a little for
 * all others. */
#define SPARE_BYTES (2 * ALQI_HEAP_MINOR_BYTES_MAX + ((uintptr_t)16 << 20))

enum {
    COMMIT_POOLS = 32, /* 1 MiB: a call to the system costs as much as
                          touching it */
    INCREMENT_PERCENT_MOST = 1000,
    HUGE_POOLS = 64 /* 2 MiB, a huge page */
};

/* 1 GiB: the first access to a huge page is a pause of a millisecond. */
#define HUGE_FROM_POOLS ((size_t)32768)

/* Bytes of the minor part beside a major part of `major_bytes`: if address
 * space is short, there is room for fewer domains. */
static uintptr_t
minor_part(uintptr_t major_bytes)
{
    uintptr_t all = ALQI_HEAP_DOMAINS_MAX * ALQI_HEAP_MINOR_BYTES_MAX;
    uintptr_t bytes = major_bytes / 4;

    if (bytes > all)
        return all;
    return bytes < ALQI_HEAP_MINOR_BYTES_MAX ? ALQI_HEAP_MINOR_BYTES_MAX
                                             : bytes;
}

/* Domains that the minor part has room for. */
unsigned
alqi_heap_area_slices(const struct alqi_heap_area *area)
{
    return (unsigned)(area->young_bytes / ALQI_HEAP_MINOR_BYTES_MAX);
}

/* Reserves address space: as much as there is, halving from the most.
 *
 * The spare bytes are reserved with it and released at once: they show that the
 * first domain's tables will find room, too. */
static bool
reserve(struct alqi_heap_area *area)
{
    uintptr_t major = MAJOR_BYTES_MOST;
    void *start;

    for (; major >= MAJOR_BYTES_LEAST; major /= 2) {
        start = alqi_plat_space_reserve(minor_part(major) + major + SPARE_BYTES,
                                        HUGE_POOLS * ALQI_HEAP_POOL_BYTES);
        if (start == NULL)
            continue;
        alqi_plat_space_release((char *)start + minor_part(major) + major,
                                SPARE_BYTES);
        area->young_base = (uintptr_t)start;
        area->young_bytes = minor_part(major);
        area->major_base = area->young_base + area->young_bytes;
        area->major_bytes = major;
        return true;
    }
    return false;
}

static size_t
n_pools(const struct alqi_heap_area *area)
{
    return area->major_bytes >> ALQI_HEAP_POOL_SHIFT;
}

/* Stops the program unless the counters agree (.inv.pools). */
static void
counts_check_locked(const struct alqi_heap_area *area)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_POOLS));
    ALQI_ASSERT(area->n_returned <= area->n_free);      /* .inv.pools */
    ALQI_ASSERT(area->n_free <= area->n_frontier);      /* .inv.pools */
    ALQI_ASSERT(area->n_frontier <= area->n_committed); /* .inv.pools */
    ALQI_ASSERT(area->n_committed <= n_pools(area));    /* .inv.pools */
}

/* Whether each slot of a pool for the class has header 0 (.inv.free). */
static bool
is_cleared(const struct alqi_heap_pool *pool, unsigned size_class)
{
    const alqi_heap_word *slot =
        (const alqi_heap_word *)pool + ALQI_HEAP_POOL_HEAD_WORDS;
    unsigned i;

    for (i = 0; i < alqi_heap_class_slots(size_class); i++)
        if (slot[(size_t)i * alqi_heap_class_words[size_class]] != 0)
            return false;
    return true;
}

/* Reserves the address space and maps the tables, a byte, an index and a count
 * for each pool; false: nothing stays mapped.  Pages of the tables that are
 * never touched cost nothing. */
bool
alqi_heap_area_open(struct alqi_heap_area *area)
{
    alqi_plat_lock_init(&area->lock, ALQI_RANK_HEAP_POOLS);
    if (!reserve(area))
        return false;
    area->kinds = alqi_plat_pages_map(n_pools(area));
    if (area->kinds == NULL)
        goto fail_kinds;
    area->returned = alqi_plat_pages_map(n_pools(area) * sizeof(uint32_t));
    if (area->returned == NULL)
        goto fail_returned;
    area->n_marked = alqi_plat_pages_map(n_pools(area) * sizeof(uint16_t));
    if (area->n_marked == NULL)
        goto fail_marked;
    return true;

fail_marked:
    alqi_plat_pages_unmap(area->returned, n_pools(area) * sizeof(uint32_t));
fail_returned:
    alqi_plat_pages_unmap(area->kinds, n_pools(area));
fail_kinds:
    alqi_plat_space_release((void *)area->young_base,
                            area->young_bytes + area->major_bytes);
    return false;
}

void
alqi_heap_area_close(struct alqi_heap_area *area)
{
    alqi_plat_pages_unmap(area->n_marked, n_pools(area) * sizeof(uint16_t));
    alqi_plat_pages_unmap(area->returned, n_pools(area) * sizeof(uint32_t));
    alqi_plat_pages_unmap(area->kinds, n_pools(area));
    alqi_plat_space_release((void *)area->young_base,
                            area->young_bytes + area->major_bytes);
}

/* Asks the system for huge pages; false: the program insists, and there are
 * none.  A small heap does without, since the first access to one is a long
 * pause. */
static bool
ask_huge(struct alqi_heap_area *area, void *start, size_t bytes)
{
    if (!area->force_huge &&
        area->n_committed + (bytes >> ALQI_HEAP_POOL_SHIFT) < HUGE_FROM_POOLS)
        return true;
    if (alqi_plat_space_huge(start, bytes))
        return true;
    if (area->force_huge)
        return false;
    __atomic_fetch_add(&area->n_huge_fallbacks, 1, __ATOMIC_RELAXED);
    return true;
}

/* Makes the next n pools accessible; false: the system refuses, and nothing has
 * changed. */
static bool
commit(struct alqi_heap_area *area, size_t n)
{
    void *start = alqi_heap_area_pool(area, area->n_committed);
    size_t bytes = n << ALQI_HEAP_POOL_SHIFT;

    if (n > n_pools(area) - area->n_committed ||
        !alqi_plat_space_commit(start, bytes))
        return false;
    if (!ask_huge(area, start, bytes)) {
        alqi_plat_space_forbid(start, bytes);
        return false;
    }
    area->n_committed += n;
    counts_check_locked(area);
    return true;
}

/* Pools by which the accessible part grows at least, up to the end of a huge
 * page: `area->increment` is in words, or, up to 1000, in percent. */
static size_t
increment(const struct alqi_heap_area *area)
{
    size_t n = (size_t)area->increment, end;

    if (n > INCREMENT_PERCENT_MOST)
        n /= ALQI_HEAP_POOL_WORDS;
    else
        n = area->n_committed * n / 100;
    end = area->n_committed + (n < COMMIT_POOLS ? COMMIT_POOLS : n);
    end = (end + HUGE_POOLS - 1) / HUGE_POOLS * HUGE_POOLS;
    return end - area->n_committed;
}

/* Makes sure that n pools can be taken.  If growing by the whole increment
 * fails, just what is needed is tried. */
static bool
ready_locked(struct alqi_heap_area *area, size_t n)
{
    size_t ready = area->n_free + area->n_committed - area->n_frontier;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_POOLS));
    if (ready >= n)
        return true;
    n -= ready;
    return (n < increment(area) && commit(area, increment(area))) ||
           commit(area, n);
}

bool
alqi_heap_area_ready(struct alqi_heap_area *area, size_t n)
{
    bool ready;

    alqi_plat_lock(&area->lock);
    ready = ready_locked(area, n);
    alqi_plat_unlock(&area->lock);
    return ready;
}

/* Makes each slot's header of a free pool 0.  The pool may have had slots of
 * another class, whose first words may be anything. */
static void
clear_slots(struct alqi_heap_pool *pool, unsigned size_class)
{
    alqi_heap_word *slot = (alqi_heap_word *)pool + ALQI_HEAP_POOL_HEAD_WORDS;
    unsigned i;

    if (pool->cleared == size_class + 1)
        return;
    for (i = 0; i < alqi_heap_class_slots(size_class); i++) {
        *slot = 0;
        slot += alqi_heap_class_words[size_class];
    }
}

/* Free pools with memory. */
static size_t
have(const struct alqi_heap_area *area)
{
    return area->n_free - area->n_returned;
}

/* Notes the fewest free pools with memory since alqi_heap_area_idle: so many
 * were needed by nobody. */
static void
least_update(struct alqi_heap_area *area)
{
    if (have(area) < area->n_least)
        area->n_least = have(area);
}

/* The least number of free pools with memory since the last call: so many may
 * be returned to the system. */
size_t
alqi_heap_area_idle(struct alqi_heap_area *area)
{
    size_t least;

    alqi_plat_lock(&area->lock);
    least = area->n_least;
    area->n_least = have(area);
    alqi_plat_unlock(&area->lock);
    return least;
}

/* Takes a pool: one with memory, else a returned one, else an untouched one.
 * *is_fresh: its memory comes anew from the system, all zeros. */
static struct alqi_heap_pool *
take_locked(struct alqi_heap_area *area, bool *is_fresh)
{
    struct alqi_heap_pool *pool = area->free;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_POOLS));
    *is_fresh = pool == NULL;
    if (pool != NULL) {
        area->free = pool->next;
        area->n_free--;
    } else if (area->n_returned > 0) {
        __atomic_store_n(&area->n_returned, area->n_returned - 1,
                         __ATOMIC_RELAXED);
        pool = alqi_heap_area_pool(area, area->returned[area->n_returned]);
        area->n_free--;
    } else {
        if (!ready_locked(area, 1))
            return NULL;
        pool = alqi_heap_area_pool(area, area->n_frontier);
        __atomic_store_n(&area->n_frontier, area->n_frontier + 1,
                         __ATOMIC_RELAXED);
    }
    least_update(area);
    __atomic_store_n(&area->n_used, area->n_frontier - area->n_free,
                     __ATOMIC_RELAXED);
    counts_check_locked(area);
    return pool;
}

/* Sets the pool's byte.  Other domains read it without the lock, for any
 * address. */
static void
kind_set(struct alqi_heap_area *area, struct alqi_heap_pool *pool, uint8_t kind)
{
    __atomic_store_n(&area->kinds[alqi_heap_area_index(area, (uintptr_t)pool)],
                     kind, __ATOMIC_RELAXED);
}

/* A pool for the class.  Outside of the lock its memory is touched or cleared:
 * no other domain knows the pool yet. */
struct alqi_heap_pool *
alqi_heap_area_take(struct alqi_heap_area *area, unsigned size_class,
                    bool no_scan)
{
    struct alqi_heap_pool *pool;
    bool is_fresh;

    alqi_plat_lock(&area->lock);
    pool = take_locked(area, &is_fresh);
    alqi_plat_unlock(&area->lock);
    if (pool == NULL)
        return NULL;
    if (is_fresh) /* one call is cheaper than a fault for each page */
        alqi_plat_space_touch(pool, ALQI_HEAP_POOL_BYTES);
    else
        clear_slots(pool, size_class);
    ALQI_ASSERT(alqi_heap_area_kind(area, (uintptr_t)pool) ==
                0); /* .inv.kind */
    if (ALQI_CHECKS >= 2)
        ALQI_ASSERT(is_cleared(pool, size_class)); /* .inv.free */
    kind_set(
        area, pool,
        (uint8_t)((size_class + 1) | (no_scan ? ALQI_HEAP_KIND_NO_SCAN : 0)));
    pool->next = NULL;
    pool->held_in = 0;
    pool->has_born = false;
    return pool;
}

/* Makes the pool free.  cleared: as in struct alqi_heap_pool. */
static void
give(struct alqi_heap_area *area, struct alqi_heap_pool *pool, uint32_t cleared)
{
    ALQI_ASSERT(alqi_heap_area_kind(area, (uintptr_t)pool) !=
                0); /* .inv.kind */
    pool->cleared = cleared;
    kind_set(area, pool, 0);
    alqi_plat_lock(&area->lock);
    pool->next = area->free;
    area->free = pool;
    area->n_free++;
    __atomic_store_n(&area->n_used, area->n_frontier - area->n_free,
                     __ATOMIC_RELAXED);
    counts_check_locked(area);
    alqi_plat_unlock(&area->lock);
}

/* Its class is noted: if the same class takes the pool next, no slot has to be
 * cleared. */
void
alqi_heap_area_give(struct alqi_heap_area *area, struct alqi_heap_pool *pool)
{
    unsigned c = alqi_heap_area_class(area, (uintptr_t)pool);

    if (ALQI_CHECKS >= 2)
        ALQI_ASSERT(is_cleared(pool, c)); /* .inv.free */
    give(area, pool, c + 1);
}

/* Who takes the pool next clears its slots, and has their lines in the cache
 * when it fills them. */
void
alqi_heap_area_give_unread(struct alqi_heap_area *area,
                           struct alqi_heap_pool *pool)
{
    give(area, pool, 0);
}

/* ---- many at once ------------------------------------------------------- */

/* Returns the pools of a list, in the order of addresses, that are neighbours
 * from the first on; the first that is none, or NULL.
 *
 * Neighbours go back by one call, which takes half the time of one for each.
 * The links are read before: they are in the memory that goes. */
static struct alqi_heap_pool *
return_neighbours(struct alqi_heap_area *area, struct alqi_heap_pool *first)
{
    struct alqi_heap_pool *pool = first, *last;
    size_t n = 0;

    do {
        last = pool;
        pool = pool->next;
        area->returned[area->n_returned + n] =
            (uint32_t)alqi_heap_area_index(area, (uintptr_t)last);
        n++;
    } while ((uintptr_t)pool == (uintptr_t)last + ALQI_HEAP_POOL_BYTES);
    alqi_plat_space_empty(first, n * ALQI_HEAP_POOL_BYTES);
    __atomic_store_n(&area->n_returned, area->n_returned + n, __ATOMIC_RELAXED);
    return pool;
}

/* The last free pool that stays, of n_retained; those behind it, of the highest
 * addresses, are surplus.  NULL: none stays. */
static struct alqi_heap_pool *
last_retained(const struct alqi_heap_area *area, size_t n_retained)
{
    struct alqi_heap_pool *pool = area->free;

    if (n_retained == 0)
        return NULL;
    while (--n_retained > 0)
        pool = pool->next;
    return pool;
}

/* Returns all surplus pools, which are those of the highest addresses.  The
 * free list is sorted by addresses for that, and stays so. */
static size_t
return_surplus_locked(struct alqi_heap_area *area)
{
    struct alqi_heap_lists sorted = {0};
    struct alqi_heap_pool *retained, *pool;
    size_t n = area->n_surplus, there = have(area);

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_POOLS));
    if (n > there)
        n = there;
    area->n_surplus = 0;
    if (n == 0)
        return 0;
    sorted.avail = area->free;
    alqi_heap_policy_sort(&sorted, ALQ_GC_FIRST_FIT);
    area->free = sorted.avail;
    retained = last_retained(area, there - n);
    pool = retained == NULL ? area->free : retained->next;
    if (retained == NULL)
        area->free = NULL;
    else
        retained->next = NULL;
    while (pool != NULL)
        pool = return_neighbours(area, pool);
    least_update(area);
    counts_check_locked(area);
    return n;
}

size_t
alqi_heap_area_return_surplus(struct alqi_heap_area *area)
{
    size_t n;

    alqi_plat_lock(&area->lock);
    n = return_surplus_locked(area);
    alqi_plat_unlock(&area->lock);
    return n;
}

/* Returns the first pools of the free list that are neighbours, at most n_most,
 * by one call; how many.
 *
 * Sweeping goes by addresses, up or down, and so does the list that it makes.
 * The lock is held over the call: a pool on its way is neither free nor
 * returned, and the counters must not show that. */
static size_t
return_first_locked(struct alqi_heap_area *area, size_t n_most)
{
    uintptr_t start = (uintptr_t)area->free, end = start;
    size_t n;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_POOLS));
    for (n = 0; n < n_most && area->free != NULL; n++) {
        uintptr_t at = (uintptr_t)area->free;

        if (at != end && at != start - ALQI_HEAP_POOL_BYTES)
            break;
        start = at < start ? at : start;
        end = at < end ? end : at + ALQI_HEAP_POOL_BYTES;
        area->returned[area->n_returned + n] =
            (uint32_t)alqi_heap_area_index(area, at);
        area->free = area->free->next;
    }
    if (n > 0)
        alqi_plat_space_empty((void *)start, end - start);
    __atomic_store_n(&area->n_returned, area->n_returned + n, __ATOMIC_RELAXED);
    least_update(area);
    counts_check_locked(area);
    return n;
}

/* Returns some of the surplus.  If no free pool with memory is left, the
 * surplus is gone. */
static size_t
return_some(struct alqi_heap_area *area, size_t n_most)
{
    size_t n;

    alqi_plat_lock(&area->lock);
    if (n_most > area->n_surplus)
        n_most = area->n_surplus;
    n = return_first_locked(area, n_most);
    __atomic_store_n(&area->n_surplus, n == 0 ? 0 : area->n_surplus - n,
                     __ATOMIC_RELAXED);
    alqi_plat_unlock(&area->lock);
    return n;
}

/* Returns at most n_most surplus pools, giving the lock up between two runs of
 * neighbours, so that others may take pools meanwhile. */
size_t
alqi_heap_area_return(struct alqi_heap_area *area, size_t n_most)
{
    size_t n = 0, more;

    while (n < n_most && (more = return_some(area, n_most - n)) > 0)
        n += more;
    return n;
}
