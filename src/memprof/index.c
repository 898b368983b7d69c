/* index.c -- a notified heap's entries, by address
 *
 * 64 shards, each a chained hash table under a lock of its own.  The bucket
 * comes from a full mix of the address; the shard from the low bits of its slot
 * in the filter, so one lock guards the entries and their filter byte
 * (.inv.byte). Several entries of one address are those of several clients.
 *
 * An entry whose alloc callback is due or running (DEF, RUN) has two holders:
 * the thread on whose FIFO it is, and the index or a realloc that removed it.
 * The first holder that is done leaves a flag, the last one frees (.inv.two):
 *
 *     freed by the program   DEAD   -> the thread goes on to dealloc
 *     profile discarded      GONE   -> the thread frees
 *     callback says DROP while IN_REALLOC: GONE -> the realloc's end frees
 *
 * Keeps .inv.shard, .inv.two, .inv.byte, .inv.before (doc/design/memprof.md,
 * with the table of states; tests/models/block.pml is the model). */
#include "memprof/describe.h"
#include "memprof/filter.h"
#include "memprof/index.h"
#include "memprof/index_level.h"
#include "memprof/profile.h"

enum {
#if ALQI_CHECKS >= 3
    FIRST_BUCKETS = 1,
#else
    FIRST_BUCKETS = 16,
#endif
    GROWN_BUCKETS_MIN = 512, /* a page */
    GROW_FACTOR = 4
};

_Static_assert((ALQI_INDEX_SHARDS & (ALQI_INDEX_SHARDS - 1)) == 0, "a mask");

struct shard {
    struct alqi_plat_lock lock;
    uint32_t level;     /* of the filter (filter.c) */
    uint64_t n_buckets; /* 0: those of `first`, not set up yet */
    uint64_t n_entries;
    struct alqi_memprof_entry **buckets;
    struct alqi_memprof_entry *first[FIRST_BUCKETS];
} __attribute__((aligned(64)));

static struct shard shards[ALQI_INDEX_SHARDS] = {
    [0 ... ALQI_INDEX_SHARDS - 1] = {.lock = ALQI_PLAT_LOCK(MEMPROF_SHARD)}};

static inline uint64_t
hash_of(const void *block)
{
    return alqi_base_mix((uintptr_t)block);
}

static inline struct shard *
shard_of(const void *block)
{
    return &shards[alqi_memprof_filter_slot(block, ALQI_INDEX_SHARDS - 1)];
}

/* Gives the shard its first buckets at its first use, in the process or after
 * an unprepared fork. */
static inline struct shard *
shard_ready_locked(struct shard *s)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_SHARD));
    if (ALQI_UNLIKELY(s->n_buckets == 0)) {
        s->buckets = s->first;
        s->n_buckets = FIRST_BUCKETS;
    }
    return s;
}

static inline struct shard *
shard_lock(struct shard *s)
{
    alqi_plat_lock(&s->lock);
    return shard_ready_locked(s);
}

static inline void
shard_unlock(struct shard *s)
{
    alqi_plat_unlock(&s->lock);
}

static inline struct alqi_memprof_entry **
bucket_of(const struct shard *s, uint64_t hash)
{
    return &s->buckets[hash & (s->n_buckets - 1)];
}

static void
uncount_locked(struct shard *s, struct alqi_memprof_entry *e)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_SHARD));
    s->n_entries--;
    e->flags &= (uint16_t)~ALQI_ENTRY_INDEXED;
    alqi_filter_uncount(e->block, e->filter_lo, e->filter_hi);
}

/* Unlinks an entry that is INDEXED, and uncounts it in the filter. */
static void
unlink_locked(struct shard *s, uint64_t hash, struct alqi_memprof_entry *e)
{
    struct alqi_memprof_entry **at = bucket_of(s, hash);

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_SHARD));
    while (*at != e)
        at = &(*at)->chain;
    *at = e->chain;
    uncount_locked(s, e);
}

/* ---- growing ------------------------------------------------------------ */

/* Moves every chain to `buckets`, of which there are n, a power of two.  The
 * old buckets are left NULL, for the caller to unmap. */
static void
rehash_locked(struct shard *s, struct alqi_memprof_entry **buckets, uint64_t n)
{
    struct alqi_memprof_entry **old = s->buckets;
    uint64_t n_old = s->n_buckets;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_SHARD));
    s->buckets = buckets;
    s->n_buckets = n;
    for (uint64_t i = 0; i < n_old; i++) {
        struct alqi_memprof_entry *e = old[i], *next;

        for (; e != NULL; e = next) {
            struct alqi_memprof_entry **at = bucket_of(s, hash_of(e->block));

            next = e->chain;
            e->chain = *at;
            *at = e;
        }
        old[i] = NULL;
    }
}

/* Pages are mapped and unmapped without the lock (.inv.nolock); without memory
 * the chains grow longer, which costs time only. */
static ALQI_COLD void
shard_grow(struct shard *s, uint64_t from)
{
    uint64_t n = from * GROW_FACTOR;
    struct alqi_memprof_entry **fresh, **old = NULL;

    if (n < GROWN_BUCKETS_MIN)
        n = GROWN_BUCKETS_MIN;
    fresh = alqi_plat_pages_map(n * sizeof(fresh[0]));
    if (fresh == NULL)
        return;
    alqi_plat_lock(&s->lock);
    if (s->n_buckets == from) {
        old = s->buckets;
        rehash_locked(s, fresh, n);
        fresh = NULL;
    }
    shard_unlock(s);
    if (fresh != NULL) /* another thread was faster */
        alqi_plat_pages_unmap(fresh, n * sizeof(fresh[0]));
    if (old != NULL && old != s->first)
        alqi_plat_pages_unmap(old, from * sizeof(old[0]));
}

/* ---- putting in and taking out ---------------------------------------------
 */

/* Puts the entry into its chain.  The filter counts it from the level in force
 * up to the shard's, so that a growth under way neither misses it nor counts it
 * twice (filter.c). */
static void
link_locked(struct shard *s, uint64_t hash, struct alqi_memprof_entry *e)
{
    struct alqi_memprof_entry **at = bucket_of(s, hash);
    unsigned level = alqi_filter_level();

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_SHARD));
    e->filter_lo = (uint8_t)level;
    e->filter_hi = (uint8_t)(s->level > level ? s->level : level);
    alqi_filter_count(e->block, e->filter_lo, e->filter_hi);
    e->flags |= ALQI_ENTRY_INDEXED;
    e->chain = *at;
    *at = e;
    s->n_entries++;
}

/* Unlinks the block's entries and marks them; returns those that have no other
 * holder. */
static struct alqi_memprof_entry *
remove_locked(struct shard *s, uint64_t hash, const void *block, bool dead)
{
    struct alqi_memprof_entry **at = bucket_of(s, hash), *e, *out = NULL;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_SHARD));
    while ((e = *at) != NULL) {
        if (e->block != block) {
            at = &e->chain;
            continue;
        }
        *at = e->chain;
        uncount_locked(s, e);
        e->flags |= dead ? ALQI_ENTRY_DEAD : ALQI_ENTRY_IN_REALLOC;
        if (dead && (e->flags & (ALQI_ENTRY_ALLOC_DUE | ALQI_ENTRY_RUNNING)))
            continue; /* .inv.two: its thread finds DEAD */
        e->chain = out;
        out = e;
    }
    return out;
}

struct alqi_memprof_entry *
alqi_index_remove_dead(const void *block)
{
    uint64_t hash = hash_of(block);
    struct shard *s = shard_lock(shard_of(block));
    struct alqi_memprof_entry *out = remove_locked(s, hash, block, true);

    shard_unlock(s);
    return out;
}

struct alqi_memprof_entry *
alqi_index_remove_for_realloc(const void *block)
{
    uint64_t hash = hash_of(block);
    struct shard *s = shard_lock(shard_of(block));
    struct alqi_memprof_entry *out = remove_locked(s, hash, block, false);

    shard_unlock(s);
    return out;
}

/* Whether a member of a batch may be indexed.  If not, *refuse says whether the
 * caller is to free it; otherwise its thread will. */
static bool
admit_locked(struct alqi_memprof_entry *e, bool *refuse)
{
    bool held = e->flags & (ALQI_ENTRY_ALLOC_DUE | ALQI_ENTRY_RUNNING);

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_SHARD));
    e->flags &= (uint16_t)~ALQI_ENTRY_IN_REALLOC;
    *refuse = true;
    if (e->flags & ALQI_ENTRY_GONE)
        return false;
    if (alqi_profile_status(e->profile) != ALQI_PROFILE_DISCARDED)
        return true;
    e->flags |= ALQI_ENTRY_GONE;
    *refuse = !held; /* .inv.two */
    return false;
}

/* Whether the entry only has to be linked, provided that its profile is not
 * discarded. */
static inline bool
is_simple(const struct alqi_memprof_entry *e)
{
    enum {
        LOOKED_AT = ALQI_ENTRY_IN_REALLOC | ALQI_ENTRY_GONE |
                    ALQI_ENTRY_ALLOC_DUE | ALQI_ENTRY_RUNNING
    };

    return e->chain == NULL && (e->flags & LOOKED_AT) == 0;
}

/* The usual put: one entry, nothing at its address, no growth. */
bool
alqi_index_put_simple(struct alqi_memprof_entry *e)
{
    struct shard *s = shard_of(e->block);
    uint64_t n_entries;

    if (ALQI_UNLIKELY(!is_simple(e)))
        return false;
    shard_lock(s);
    if (ALQI_UNLIKELY(alqi_memprof_filter_may_hold(e->block) ||
                      s->n_entries >= s->n_buckets ||
                      alqi_profile_status(e->profile) ==
                          ALQI_PROFILE_DISCARDED)) {
        shard_unlock(s);
        return false;
    }
    link_locked(s, hash_of(e->block), e);
    n_entries = s->n_entries;
    shard_unlock(s);
    alqi_filter_grow_if_full(n_entries);
    return true;
}

struct alqi_memprof_entry *
alqi_index_put(struct alqi_memprof_entry *batch,
               struct alqi_memprof_entry **refused)
{
    uint64_t hash = hash_of(batch->block), n_entries, n_buckets;
    struct shard *s = shard_lock(shard_of(batch->block));
    struct alqi_memprof_entry *stale, *e, *next;

    stale = alqi_memprof_filter_may_hold(batch->block)
                ? remove_locked(s, hash, batch->block, true)
                : NULL;
    *refused = NULL;
    for (e = batch; e != NULL; e = next) {
        bool refuse;

        next = e->chain;
        if (admit_locked(e, &refuse)) {
            link_locked(s, hash, e);
        } else if (refuse) {
            e->chain = *refused;
            *refused = e;
        }
    }
    n_entries = s->n_entries;
    n_buckets = s->n_buckets;
    shard_unlock(s);
    if (ALQI_UNLIKELY(n_entries > n_buckets))
        shard_grow(s, n_buckets);
    alqi_filter_grow_if_full(n_entries);
    return stale;
}

enum alqi_index_next
alqi_index_realloc_done(struct alqi_memprof_entry *e)
{
    struct shard *s = shard_lock(shard_of(e->block));
    enum alqi_index_next next = ALQI_NEXT_DEAD;

    e->flags &= (uint16_t)~ALQI_ENTRY_IN_REALLOC;
    e->flags |= ALQI_ENTRY_DEAD;
    if (e->flags & ALQI_ENTRY_GONE)
        next = ALQI_NEXT_FREE;
    else if (e->flags & (ALQI_ENTRY_ALLOC_DUE | ALQI_ENTRY_RUNNING))
        next = ALQI_NEXT_LEFT;
    shard_unlock(s);
    return next;
}

/* ---- deferred alloc callbacks ------------------------------------------- */

/* The thread on whose FIFO the entry is has no more to do with it. */
static enum alqi_index_next
end_locked(struct shard *s, uint64_t hash, struct alqi_memprof_entry *e)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_SHARD));
    e->flags &= (uint16_t) ~(ALQI_ENTRY_ALLOC_DUE | ALQI_ENTRY_RUNNING);
    if (e->flags & ALQI_ENTRY_IN_REALLOC) {
        e->flags |= ALQI_ENTRY_GONE; /* .inv.two */
        return ALQI_NEXT_LEFT;
    }
    if (e->flags & ALQI_ENTRY_INDEXED)
        unlink_locked(s, hash, e);
    return ALQI_NEXT_FREE;
}

bool
alqi_index_alloc_is_due(struct alqi_memprof_entry *e)
{
    struct shard *s = shard_lock(shard_of(e->block));
    bool is_due = e->flags & ALQI_ENTRY_ALLOC_DUE;

    shard_unlock(s);
    return is_due;
}

enum alqi_index_next
alqi_index_begin_deferred(struct alqi_memprof_entry *e)
{
    uint64_t hash = hash_of(e->block);
    struct shard *s = shard_lock(shard_of(e->block));
    enum alqi_index_next next = ALQI_NEXT_RUN;

    if (!(e->flags & ALQI_ENTRY_ALLOC_DUE)) {
        next = ALQI_NEXT_DEAD;
    } else if ((e->flags & ALQI_ENTRY_GONE) ||
               alqi_profile_status(e->profile) != ALQI_PROFILE_SAMPLING) {
        next = end_locked(s, hash, e);
    } else {
        e->flags &= (uint16_t)~ALQI_ENTRY_ALLOC_DUE;
        e->flags |= ALQI_ENTRY_RUNNING;
    }
    shard_unlock(s);
    return next;
}

enum alqi_index_next
alqi_index_alloc_ran(struct alqi_memprof_entry *e, bool keep, uintptr_t data)
{
    uint64_t hash = hash_of(e->block);
    struct shard *s = shard_lock(shard_of(e->block));
    enum alqi_index_next next = ALQI_NEXT_KEEP;

    e->flags &= (uint16_t)~ALQI_ENTRY_RUNNING;
    if (keep) {
        e->data = data;
        e->flags |= ALQI_ENTRY_DATUM;
    }
    if ((e->flags & ALQI_ENTRY_GONE) && !(e->flags & ALQI_ENTRY_IN_REALLOC))
        next = ALQI_NEXT_FREE;
    else if (!keep)
        next = end_locked(s, hash, e);
    else if (e->flags & ALQI_ENTRY_DEAD)
        next = ALQI_NEXT_DEAD;
    shard_unlock(s);
    return next;
}

enum alqi_index_next
alqi_index_cancel_deferred(struct alqi_memprof_entry *e)
{
    uint64_t hash = hash_of(e->block);
    struct shard *s = shard_lock(shard_of(e->block));
    enum alqi_index_next next = ALQI_NEXT_DEAD;

    if (e->flags & (ALQI_ENTRY_ALLOC_DUE | ALQI_ENTRY_RUNNING))
        next = end_locked(s, hash, e);
    shard_unlock(s);
    return next;
}

/* ---- all of them -------------------------------------------------------- */

struct alqi_memprof_entry *
alqi_index_sweep(const struct alq_profile *p)
{
    struct alqi_memprof_entry *out = NULL;

    for (uint64_t i = 0; i < ALQI_INDEX_SHARDS; i++) {
        struct shard *s = shard_lock(&shards[i]);

        for (uint64_t b = 0; b < s->n_buckets; b++) {
            struct alqi_memprof_entry **at = &s->buckets[b], *e;

            while ((e = *at) != NULL) {
                if (e->profile != p) {
                    at = &e->chain;
                    continue;
                }
                *at = e->chain;
                uncount_locked(s, e);
                e->flags |= ALQI_ENTRY_GONE;
                if (e->flags & (ALQI_ENTRY_ALLOC_DUE | ALQI_ENTRY_RUNNING))
                    continue; /* .inv.two */
                e->chain = out;
                out = e;
            }
        }
        shard_unlock(s);
    }
    return out;
}

int
alqi_index_each(const struct alq_profile *p,
                int (*visit)(void *arg, const struct alq_allocation *a,
                             uintptr_t data),
                void *arg)
{
    int stop = 0;

    for (uint64_t i = 0; i < ALQI_INDEX_SHARDS && !stop; i++) {
        struct shard *s = shard_lock(&shards[i]);

        for (uint64_t b = 0; b < s->n_buckets && !stop; b++)
            for (const struct alqi_memprof_entry *e = s->buckets[b];
                 e != NULL && !stop; e = e->chain)
                if (e->profile == p && (e->flags & ALQI_ENTRY_DATUM))
                    stop = alqi_entry_visit(e, 0, visit, arg);
        shard_unlock(s);
    }
    return stop;
}

void
alqi_index_count_at(unsigned level)
{
    for (uint64_t i = 0; i < ALQI_INDEX_SHARDS; i++) {
        struct shard *s = shard_lock(&shards[i]);

        s->level = level;
        for (uint64_t b = 0; b < s->n_buckets; b++) {
            struct alqi_memprof_entry *e = s->buckets[b];

            for (; e != NULL; e = e->chain) {
                if (e->filter_hi >= level)
                    continue; /* counted by a growth that a fork interrupted */
                alqi_filter_count(e->block, level, level);
                e->filter_hi = (uint8_t)level;
            }
        }
        shard_unlock(s);
    }
}

/* Counts at every level, because growing does not find these addresses. */
void
alqi_memprof_filter_add(const void *block)
{
    struct shard *s = shard_lock(shard_of(block));

    alqi_filter_count(block, ALQI_FILTER_LEVEL_MIN, ALQI_FILTER_LEVEL_MAX);
    shard_unlock(s);
}

void
alqi_index_lock_all(void)
{
    for (uint64_t i = 0; i < ALQI_INDEX_SHARDS; i++) {
        alqi_plat_lock_group(&shards[i].lock);
        shard_ready_locked(&shards[i]);
    }
}

void
alqi_index_unlock_all(void)
{
    for (unsigned i = ALQI_INDEX_SHARDS; i-- > 0;)
        shard_unlock(&shards[i]);
}

void
alqi_index_fork_reset(void)
{
    /* A table may have been half grown at the fork: starts with empty ones. */
    for (unsigned i = 0; i < ALQI_INDEX_SHARDS; i++)
        shards[i] = (struct shard){.lock = ALQI_PLAT_LOCK(MEMPROF_SHARD),
                                   .level = shards[i].level};
}
