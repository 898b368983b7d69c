/* major_sweep.c -- sweeps pools and large blocks, and refills allocation
 * buffers
 *
 * A pool is unswept, then available, full, or free and given back to the area.
 * A pool that a buffer allocates from is in no list.  Promotion that needs a
 * buffer sweeps pools of that class first, so that garbage of the last cycle is
 * used again before a fresh pool is.
 *
 * Keeps .inv.own: Lists are those of the domain whose holder calls.
 * Keeps .inv.swept: All is unswept when SWEEP begins, and swept when a domain
 *   is done.
 * Keeps .inv.lab: A buffer's pool is in no list.
 * Keeps .inv.counted: A buffer that is opened while marking makes its pool one
 *   of has_born; a used up one leaves no free slot. */
#include <limits.h>

#include "heap/pool_area.h"
#include "heap/pool_class.h"
#include "heap/large.h"
#include "heap/major_mark.h"
#include "heap/pool_policy.h"
#include "heap/pool.h"
#include "heap/major_balance.h"
#include "heap/major_sweep.h"

/* Unswept pools that one refill looks at before it takes a fresh pool: what
 * they hold is live, so the heap is rather too small than badly swept. */
enum { REFILL_SWEEPS_MAX = 2 };

/* Pools that are there for domains without any. */
enum { GIVE_POOLS = 64 };

#define NOT_COUNTED UINT_MAX

static void
push(struct alqi_heap_pool **list, struct alqi_heap_pool *pool)
{
    pool->next = *list;
    *list = pool;
}

static struct alqi_heap_pool *
pop(struct alqi_heap_pool **list)
{
    struct alqi_heap_pool *pool = *list;

    if (pool != NULL)
        *list = pool->next;
    return pool;
}

static struct alqi_heap_pool *
pop_unswept(struct alqi_heap_lists *lists)
{
    struct alqi_heap_pool *pool = pop(&lists->unswept);

    return pool != NULL ? pool : pop(&lists->unswept_full);
}

/* Makes all pools and large blocks of the domain unswept, in the stop in which
 * the colours rotate.
 *
 * Buffers are closed, since the pool of one has garbage like others.  Their
 * free ranges need no return: sweeping the pool finds the free slots again.
 * Requires that promotion has left nothing to scan in a buffer. */
void
alqi_heap_sweep_begin_stw(struct alqi_domain *d)
{
    unsigned kind, c;

    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    ALQI_ASSERT(d->heap->cycle.phase == ALQI_HEAP_SWEEP); /* .inv.swept */
    for (kind = 0; kind < 2; kind++)
        for (c = 0; c < ALQI_HEAP_CLASSES; c++) {
            struct alqi_heap_lists *lists = &d->sweep.lists[kind][c];
            struct alqi_heap_lab *lab = &d->copy.labs[kind][c];

            ALQI_ASSERT(lists->unswept == NULL &&
                        lists->unswept_full == NULL); /* .inv.swept */
            ALQI_ASSERT(lab->scan == lab->next);      /* .inv.lab */
            lists->unswept = lists->avail;
            lists->unswept_full = lists->full;
            lists->avail = lists->full = NULL;
            if (lab->pool != NULL)
                push(&lists->unswept, lab->pool);
            *lab = (struct alqi_heap_lab){0};
        }
    ALQI_ASSERT(d->large.unswept == NULL); /* .inv.swept */
    d->large.unswept = d->large.all;
    d->large.all = NULL;
    d->sweep.kind = 0;
    d->sweep.size_class = 0;
    d->sweep.found_words = 0;
}

/* Dead blocks of an unswept pool, as marking has counted; NOT_COUNTED: it has
 * not.  The count begins anew. */
static unsigned
count_dead(struct alqi_domain *d, struct alqi_heap_pool *pool, unsigned c)
{
    unsigned n_blocks = alqi_heap_class_slots(c) - pool->n_free;
    unsigned n_marked;

    if (!alqi_heap_has_one_domain(d->heap))
        return NOT_COUNTED;
    n_marked = alqi_heap_area_marked_take(&d->heap->area, pool);
    if (pool->has_born)
        return NOT_COUNTED;
    ALQI_ASSERT(n_marked <= n_blocks); /* .inv.counted */
    if (ALQI_CHECKS >= 2)
        ALQI_ASSERT(alqi_heap_pool_count_dead(pool, c,
                                              d->heap->cycle.colours.garbage) ==
                    n_blocks - n_marked); /* .inv.counted */
    return n_blocks - n_marked;
}

/* Puts a swept pool where it belongs.  An empty one goes back to the area, for
 * any class and any domain.  found_words is what compaction is judged by. */
static void
list_swept(struct alqi_domain *d, struct alqi_heap_pool *pool, unsigned c,
           unsigned kind)
{
    ALQI_ASSERT(pool->n_free <= alqi_heap_class_slots(c)); /* .inv.free */
    if (pool->n_free == alqi_heap_class_slots(c))
        alqi_heap_area_give(&d->heap->area, pool);
    else if (pool->n_free > 0) {
        d->sweep.found_words +=
            (uint64_t)pool->n_free * alqi_heap_class_words[c];
        alqi_heap_policy_add(&d->sweep.lists[kind][c], pool);
    } else
        push(&d->sweep.lists[kind][c].full, pool);
}

/* Sweeps an unswept pool that is in no list.
 *
 * Where nothing is dead the free ranges are right as they are.  Where all is,
 * and nothing may have a finaliser, the whole pool becomes free.  Neither needs
 * a look at its blocks, which would come from memory: of what a program builds
 * and drops as a whole most pools are the one or the other. */
static void
sweep_pool(struct alqi_domain *d, struct alqi_heap_pool *pool, unsigned c,
           unsigned kind)
{
    unsigned n_blocks = alqi_heap_class_slots(c) - pool->n_free;
    unsigned n_dead = count_dead(d, pool, c);

    ALQI_ASSERT(d->heap->cycle.phase == ALQI_HEAP_SWEEP); /* .inv.swept */
    ALQI_ASSERT(alqi_heap_area_class(&d->heap->area, (uintptr_t)pool) ==
                c); /* .inv.kind */
    d->sums.counts.swept_words += ALQI_HEAP_POOL_WORDS;
    pool->has_born = false;
    if (n_dead > 0 && n_dead == n_blocks && kind == 0) {
        if (ALQI_CHECKS >= 2)
            alqi_heap_pool_poison_all(pool, c);
        alqi_heap_area_give_unread(&d->heap->area, pool);
        return;
    }
    if (n_dead > 0)
        alqi_heap_pool_sweep(pool, c, d->heap->cycle.colours.garbage);
    list_swept(d, pool, c, kind);
}

/* The next unswept pool, from where the sweeper stands on; NULL: none is left.
 * The sweeper never goes back: nothing adds unswept pools during a sweep but
 * those in the queue. */
static struct alqi_heap_pool *
next_pool(struct alqi_domain *d)
{
    for (; d->sweep.kind < 2; d->sweep.kind++, d->sweep.size_class = 0)
        for (; d->sweep.size_class < ALQI_HEAP_CLASSES; d->sweep.size_class++) {
            struct alqi_heap_pool *pool = pop_unswept(
                &d->sweep.lists[d->sweep.kind][d->sweep.size_class]);

            if (pool != NULL)
                return pool;
        }
    return NULL;
}

/* Gives unswept pools away while another domain has nothing to sweep.  Live
 * blocks of these pools become the other domain's. */
static void
give_pools(struct alqi_domain *d)
{
    struct alqi_heap_queue *queue = &d->heap->balance.queue;
    struct alqi_heap_pool *pool;
    struct alqi_heap_range range = {0, 0};

    ALQI_ASSERT(d->heap->cycle.phase == ALQI_HEAP_SWEEP); /* .inv.given */
    while (alqi_heap_queue_n(queue) < GIVE_POOLS &&
           (pool = next_pool(d)) != NULL) {
        range.start = (uintptr_t)pool;
        alqi_heap_queue_put(queue, &range, 1);
    }
}

/* Takes an unswept pool that another domain gave away.  The domain becomes busy
 * before it takes one (.inv.todo). */
static struct alqi_heap_pool *
take_pool(struct alqi_domain *d)
{
    struct alqi_heap_range range;

    if (!alqi_heap_balance_is_there(d->heap))
        return NULL;
    alqi_heap_mark_undone(d);
    if (alqi_heap_queue_take(&d->heap->balance.queue, &range, 1) == 0)
        return NULL;
    ALQI_ASSERT(!d->done); /* .inv.todo: the phase waits for it */
    /* .inv.given: it is a pool in use, no grey range. */
    ALQI_ASSERT(range.end == 0 &&
                alqi_heap_area_kind(&d->heap->area, range.start) != 0);
    return (struct alqi_heap_pool *)range.start;
}

/* Sweeps one pool, an own one or one given away; 0 words: no pool is left. */
static size_t
sweep_next_pool(struct alqi_domain *d)
{
    const struct alqi_heap_area *area = &d->heap->area;
    struct alqi_heap_pool *pool = next_pool(d);

    if (pool == NULL)
        pool = take_pool(d);
    if (pool == NULL)
        return 0;
    sweep_pool(d, pool, alqi_heap_area_class(area, (uintptr_t)pool),
               alqi_heap_area_is_no_scan(area, (uintptr_t)pool));
    return ALQI_HEAP_POOL_WORDS;
}

/* Sweeps about budget_words; less are done only if nothing is left.  Pools come
 * first, then the large blocks. */
size_t
alqi_heap_sweep(struct alqi_domain *d, size_t budget_words)
{
    size_t done = 0, step;

    if (alqi_heap_balance_is_asked(d->heap))
        give_pools(d);
    while (done < budget_words) {
        step = sweep_next_pool(d);
        if (step == 0)
            step = alqi_heap_large_sweep_one(d);
        if (step == 0)
            break;
        done += step;
    }
    ALQI_ASSERT(done >= budget_words ||
                d->large.unswept == NULL); /* .inv.swept */
    return done;
}

/* ---- for promotion ------------------------------------------------------ */

/* Finds a pool with free slots; NULL: no memory.
 *
 * It sweeps at most REFILL_SWEEPS_MAX pools for that, since each may turn out
 * to be full, and a program waits.  Then the allocation policy chooses among
 * the available ones; a fresh pool is the last resort. */
static struct alqi_heap_pool *
find_pool(struct alqi_domain *d, unsigned c, unsigned kind)
{
    struct alqi_heap_lists *lists = &d->sweep.lists[kind][c];
    struct alqi_heap_pool *pool;
    unsigned n;

    for (n = 0; lists->avail == NULL && n < REFILL_SWEEPS_MAX; n++) {
        pool = pop_unswept(lists);
        if (pool == NULL)
            break;
        sweep_pool(d, pool, c, kind);
    }
    alqi_heap_policy_order(d->heap, lists);
    pool = pop(&lists->avail);
    if (pool == NULL) {
        pool = alqi_heap_area_take(&d->heap->area, c, kind);
        if (pool == NULL)
            return NULL;
        alqi_heap_pool_fresh(pool, c);
    }
    pool->has_born = d->heap->cycle.phase == ALQI_HEAP_MARK; /* .inv.counted */
    return pool;
}

/* Gives the buffer the next range of free slots; false: no memory.  Requires
 * that the buffer is used up.  A pool without a further range is full, whatever
 * died in it since: the next sweep finds that. */
bool
alqi_heap_sweep_refill(struct alqi_domain *d, unsigned size_class, bool no_scan)
{
    struct alqi_heap_lab *lab = &d->copy.labs[no_scan][size_class];
    struct alqi_heap_range range;

    ALQI_ASSERT(lab->next == lab->end); /* .inv.lab */
    while (lab->pool == NULL ||
           !alqi_heap_pool_range_take(lab->pool, size_class, &range)) {
        if (lab->pool != NULL) {
            lab->pool->n_free = 0;
            push(&d->sweep.lists[no_scan][size_class].full, lab->pool);
        }
        lab->pool = find_pool(d, size_class, no_scan);
        if (lab->pool == NULL)
            return false;
    }
    /* .inv.kind: blocks of this class and kind go to a pool of theirs. */
    ALQI_ASSERT(alqi_heap_area_class(&d->heap->area, range.start) ==
                size_class);
    ALQI_ASSERT(alqi_heap_area_is_no_scan(&d->heap->area, range.start) ==
                no_scan);
    lab->next = lab->scan = lab->counted = range.start;
    lab->end = range.end;
    return true;
}

/* ---- all of it ---------------------------------------------------------- */

/* Visits each block of the pool, live or garbage; a free slot has header 0. */
static void
pool_blocks(struct alqi_domain *d, struct alqi_heap_pool *pool,
            void (*visit)(struct alqi_domain *d, alq_value block,
                          uintptr_t header))
{
    unsigned c = alqi_heap_area_class(&d->heap->area, (uintptr_t)pool);
    alqi_heap_word *slot = alqi_heap_pool_slots(pool);
    unsigned i;

    for (i = 0; i < alqi_heap_class_slots(c); i++) {
        if (*slot != 0)
            visit(d, (alq_value)(slot + 1), *slot);
        slot += alqi_heap_class_words[c];
    }
}

static void
large_blocks(struct alqi_domain *d, struct alqi_heap_large *large,
             void (*visit)(struct alqi_domain *d, alq_value block,
                           uintptr_t header))
{
    for (; large != NULL; large = large->next)
        visit(d, alqi_heap_large_block(large), large->header);
}

/* Visits the blocks of all pools whose blocks have no fields to scan.  In a
 * stop. */
void
alqi_heap_sweep_leaves(struct alqi_domain *d,
                       void (*visit)(struct alqi_domain *d, alq_value block,
                                     uintptr_t header))
{
    const struct alqi_heap_area *area = &d->heap->area;
    size_t i;

    for (i = 0; i < area->n_frontier; i++)
        if (area->kinds[i] & ALQI_HEAP_KIND_NO_SCAN)
            pool_blocks(d, alqi_heap_area_pool(area, i), visit);
}

/* Visits all blocks of the major heap, garbage included: pools of all domains
 * are read, and their lists of large blocks. */
void
alqi_heap_sweep_blocks_stw(struct alqi_domain *d,
                           void (*visit)(struct alqi_domain *d, alq_value block,
                                         uintptr_t header))
{
    const struct alqi_heap_area *area = &d->heap->area;
    size_t i;

    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    for (i = 0; i < area->n_frontier; i++)
        if (area->kinds[i] != 0)
            pool_blocks(d, alqi_heap_area_pool(area, i), visit);
    for (i = 0; i < d->heap->n_slots; i++) {
        large_blocks(d, d->heap->domains[i]->large.all, visit);
        large_blocks(d, d->heap->domains[i]->large.unswept, visit);
    }
}
