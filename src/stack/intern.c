/* intern.c -- nodes in chunks, found through a table of slots
 *
 * Nodes lie in chunks, each twice as long as the one before, so none moves.  A
 * look-up hashes the stack from its outermost frame inwards and walks the
 * slots; an addition does the same frame by frame under the lock, and makes
 * the nodes that are missing.
 *
 * Keeps .inv.node, .inv.caller, .inv.half. */
#include <stdatomic.h>
#include <stdbool.h>

#include "base/base.h"
#include "plat/plat.h"
#include "stack/intern.h"

/* Nodes lie in chunks, each twice as long as the one before. */
enum {
    CHUNK_FIRST_BITS = 8,
    CHUNKS = 32 - CHUNK_FIRST_BITS,
    SLOTS_FIRST = 512
};

#define NODES_MAX (UINT32_MAX - ((uint32_t)1 << CHUNK_FIRST_BITS))

/* A stack: its innermost frame, and the stack without it. */
struct node {
    uintptr_t frame;
    uint32_t caller; /* 0: none */
    uint32_t hash;   /* of the path */
};

_Static_assert(sizeof(struct node) == 16, "four to a cache line");

struct slots {
    uint32_t last;           /* their number - 1 */
    struct slots *outgrown;  /* the table before; NULL: none */
    _Atomic(uint32_t) ids[]; /* 0: free */
};

struct alqi_stack_table {
    struct alqi_plat_lock lock; /* of additions */
    _Atomic(uint32_t) n;        /* nodes: 1 to n */
    _Atomic(struct slots *) slots;
    _Atomic(size_t) bytes;
    _Atomic(struct node *) chunks[CHUNKS];
};

/* ---- memory ------------------------------------------------------------- */

/* The chunk that a node lies in. */
static unsigned
chunk_of(uint32_t id)
{
    uint32_t at = id + ((uint32_t)1 << CHUNK_FIRST_BITS);

    return 31 - (unsigned)__builtin_clz(at) - CHUNK_FIRST_BITS;
}

static size_t
chunk_nodes(unsigned chunk)
{
    return (size_t)1 << (chunk + CHUNK_FIRST_BITS);
}

static struct node *
node_at(const struct alqi_stack_table *t, uint32_t id)
{
    unsigned c = chunk_of(id);
    struct node *chunk =
        atomic_load_explicit(&t->chunks[c], memory_order_acquire);

    return &chunk[id + ((uint32_t)1 << CHUNK_FIRST_BITS) - chunk_nodes(c)];
}

static size_t
slots_bytes(size_t n)
{
    return sizeof(struct slots) + n * sizeof(uint32_t);
}

/* An empty table of n slots, a power of two, counted in the memory of t; NULL:
 * no memory. */
static struct slots *
slots_new(struct alqi_stack_table *t, size_t n)
{
    struct slots *s = alqi_plat_pages_map(slots_bytes(n));

    if (s == NULL)
        return NULL;
    s->last = (uint32_t)(n - 1);
    atomic_fetch_add_explicit(&t->bytes, slots_bytes(n), memory_order_relaxed);
    return s;
}

struct alqi_stack_table *
alqi_stack_table_new(void)
{
    struct alqi_stack_table *t = alqi_plat_pages_map(sizeof *t);
    struct slots *s;

    if (t == NULL)
        return NULL;
    alqi_plat_lock_init(&t->lock, ALQI_RANK_STACK_INTERN);
    atomic_init(&t->bytes, sizeof *t);
    s = slots_new(t, SLOTS_FIRST);
    if (s == NULL) {
        alqi_plat_pages_unmap(t, sizeof *t);
        return NULL;
    }
    atomic_init(&t->slots, s);
    return t;
}

void
alqi_stack_table_drop(struct alqi_stack_table *t)
{
    struct slots *s, *older;

    if (t == NULL)
        return;
    for (s = atomic_load(&t->slots); s != NULL; s = older) {
        older = s->outgrown;
        alqi_plat_pages_unmap(s, slots_bytes((size_t)s->last + 1));
    }
    for (unsigned c = 0; c < CHUNKS; c++) {
        struct node *chunk = atomic_load(&t->chunks[c]);

        if (chunk != NULL)
            alqi_plat_pages_unmap(chunk, chunk_nodes(c) * sizeof *chunk);
    }
    alqi_plat_pages_unmap(t, sizeof *t);
}

size_t
alqi_stack_table_bytes(const struct alqi_stack_table *t)
{
    return atomic_load_explicit(&t->bytes, memory_order_relaxed);
}

/* ---- looking up --------------------------------------------------------- */

/* A path's hash from its caller's, 0 being the empty path's: the sum of its
 * frames' hashes, each of frame and depth, so that those of several frames are
 * worked out side by side. */
static inline uint64_t
path_hash(uint64_t caller, uintptr_t frame, size_t depth)
{
    uint64_t h =
        (frame ^ (uint64_t)depth << 48 ^ depth) * UINT64_C(0x9E3779B97F4A7C15);

    return caller + (h ^ h >> 32) * UINT64_C(0xD6E8FEB86659FD93);
}

/* What a node keeps of its path's hash. */
static inline uint32_t
hash_fold(uint64_t path)
{
    return (uint32_t)(path >> 32) ^ (uint32_t)path;
}

/* Whether the stack of node `id` is these frames. */
static bool
is_path(const struct alqi_stack_table *t, uint32_t id, const uintptr_t *frames,
        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct node *node;

        if (id == 0)
            return false;
        node = node_at(t, id);
        if (node->frame != frames[i])
            return false;
        id = node->caller;
    }
    return id == 0;
}

/* The node of a whole stack; 0: it is not there. */
static uint32_t
path_find(const struct alqi_stack_table *t, uint32_t hash,
          const uintptr_t *frames, size_t n)
{
    const struct slots *s =
        atomic_load_explicit(&t->slots, memory_order_acquire);
    uint32_t i = hash & s->last, id;

    for (;; i = (i + 1) & s->last) {
        id = atomic_load_explicit(&s->ids[i], memory_order_acquire);
        if (id == 0)
            return 0;
        if (node_at(t, id)->hash == hash && is_path(t, id, frames, n))
            return id;
    }
}

/* The node of this frame below that caller. */
static uint32_t
callee_find_locked(const struct alqi_stack_table *t, uint32_t hash,
                   uint32_t caller, uintptr_t frame)
{
    const struct slots *s = atomic_load(&t->slots);
    uint32_t i = hash & s->last, id;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_STACK_INTERN));
    for (;; i = (i + 1) & s->last) {
        const struct node *node;

        id = atomic_load_explicit(&s->ids[i], memory_order_relaxed);
        if (id == 0)
            return 0;
        node = node_at(t, id);
        if (node->frame == frame && node->caller == caller)
            return id;
    }
}

/* ---- adding ------------------------------------------------------------- */

/* Publishes a node that is whole. */
static void
slot_set(struct slots *s, uint32_t hash, uint32_t id)
{
    uint32_t i = hash & s->last;

    while (atomic_load_explicit(&s->ids[i], memory_order_relaxed) != 0)
        i = (i + 1) & s->last;
    atomic_store_explicit(&s->ids[i], id, memory_order_release);
}

/* Keeps .inv.half for one node more; false: no memory. */
static bool
slots_fit_locked(struct alqi_stack_table *t, uint32_t n)
{
    struct slots *old = atomic_load(&t->slots), *s;
    size_t n_slots = (size_t)old->last + 1;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_STACK_INTERN));
    if (((size_t)n + 1) * 2 <= n_slots)
        return true;
    s = slots_new(t, n_slots * 2);
    if (s == NULL)
        return false;
    for (uint32_t id = 1; id <= n; id++)
        slot_set(s, node_at(t, id)->hash, id);
    s->outgrown = old;
    atomic_store_explicit(&t->slots, s, memory_order_release);
    return true;
}

/* Makes sure that the node's chunk exists; false: no memory. */
static bool
chunk_fit_locked(struct alqi_stack_table *t, uint32_t id)
{
    unsigned c = chunk_of(id);
    size_t bytes = chunk_nodes(c) * sizeof(struct node);
    struct node *chunk;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_STACK_INTERN));
    if (atomic_load(&t->chunks[c]) != NULL)
        return true;
    chunk = alqi_plat_pages_map(bytes);
    if (chunk == NULL)
        return false;
    atomic_fetch_add_explicit(&t->bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&t->chunks[c], chunk, memory_order_release);
    return true;
}

/* Adds a node and publishes it; 0: no memory, or too many nodes. */
static uint32_t
node_add_locked(struct alqi_stack_table *t, uint32_t hash, uint32_t caller,
                uintptr_t frame)
{
    uint32_t n = atomic_load(&t->n);
    struct node *node;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_STACK_INTERN));
    if (n >= NODES_MAX / 2 || !slots_fit_locked(t, n) ||
        !chunk_fit_locked(t, n + 1))
        return 0;
    node = node_at(t, n + 1);
    node->frame = frame;
    node->caller = caller;
    node->hash = hash;
    atomic_store_explicit(&t->n, n + 1, memory_order_release);
    slot_set(atomic_load(&t->slots), hash, n + 1);
    return n + 1;
}

/* The node of a stack, with those that lead to it; 0: no memory. */
static uint32_t
path_add_locked(struct alqi_stack_table *t, const uintptr_t *frames, size_t n)
{
    uint64_t path = 0;
    uint32_t id = 0;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_STACK_INTERN));
    for (size_t depth = 0; depth < n; depth++) {
        uintptr_t frame = frames[n - 1 - depth];
        uint32_t hash, found;

        path = path_hash(path, frame, depth);
        hash = hash_fold(path);
        found = callee_find_locked(t, hash, id, frame);
        if (found == 0)
            found = node_add_locked(t, hash, id, frame);
        if (found == 0)
            return 0;
        id = found;
    }
    return id;
}

uint32_t
alqi_stack_table_find(const struct alqi_stack_table *t, const uintptr_t *frames,
                      size_t n_frames)
{
    uint64_t path = 0;

    if (n_frames == 0)
        return 0;
    for (size_t depth = 0; depth < n_frames; depth++)
        path = path_hash(path, frames[n_frames - 1 - depth], depth);
    return path_find(t, hash_fold(path), frames, n_frames);
}

uint32_t
alqi_stack_table_add(struct alqi_stack_table *t, const uintptr_t *frames,
                     size_t n_frames)
{
    uint32_t id = alqi_stack_table_find(t, frames, n_frames);

    if (ALQI_LIKELY(id != 0) || n_frames == 0)
        return id;
    alqi_plat_lock(&t->lock);
    id = path_add_locked(t, frames, n_frames);
    alqi_plat_unlock(&t->lock);
    return id;
}

size_t
alqi_stack_table_get(const struct alqi_stack_table *t, uint32_t id,
                     uintptr_t *frames, size_t max_frames)
{
    size_t n = 0;

    if (id > atomic_load_explicit(&t->n, memory_order_acquire))
        return 0;
    for (; id != 0; n++) {
        const struct node *node = node_at(t, id);

        if (n < max_frames)
            frames[n] = node->frame;
        ALQI_ASSERT(node->caller < id); /* .inv.caller */
        id = node->caller;
    }
    return n;
}
