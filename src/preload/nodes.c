/* nodes.c -- the table of call stacks of the exact mode
 *
 *   none --first stack--> table --five eighths full--> a table twice as large
 *     ^                      | forget: a module went, or a fork        | older
 *     +----------------------+                                         v
 *                                        still readable; unmapped by forget
 *   full: at the cap, or no memory; no node is added, none is lost
 *
 * Threads read a table without a lock; `lock` guards additions.  Keeps
 * .inv.node, .inv.fresh and .inv.hash of nodes.h. */

#include "preload/file.h"
#include "preload/nodes.h"
#include "preload/preload.h"
#include "preload/stream.h"
#include "wire/exact.h"

enum { BITS_MIN = 12, STREAM = ALQI_PRELOAD_STREAMS_MAX + 1 };

_Atomic(struct alqi_preload_nodes *) alqi_preload_nodes; /* .pair.nodes */

static struct {
    struct alqi_plat_lock lock; /* of all below, and of adding */
    uint64_t max_bytes;         /* cap of n_bytes; 0: none                  */
    uint64_t n_bytes;           /* of all tables, old ones too              */
    uint32_t last_id;           /* given out; 0 is none                     */
    uint32_t sequence;          /* of the chunk in the stream of nodes      */
    uint32_t n_modules;         /* of the recording, as the chunk has it    */
    _Atomic(bool) is_full;      /* stays set; read without the lock         */
    struct alqi_raw_chunk_header *chunk; /* NULL: none yet                  */
    struct alqi_exact_node_encoder encoder; /* of the chunk                 */
} nodes = {.lock = ALQI_PLAT_LOCK(PRELOAD_NODES)};

void
alqi_preload_nodes_start(uint64_t max_bytes)
{
    nodes.max_bytes = max_bytes;
}

static size_t
bytes_of(unsigned bits)
{
    return sizeof(struct alqi_preload_nodes) +
           (sizeof(struct alqi_preload_node) << bits);
}

/* An empty table of 2 to the power of `bits` slots.  NULL: beyond the cap, or
 * no memory; is_full stays set from then on. */
static struct alqi_preload_nodes *
table_new_locked(unsigned bits)
{
    size_t n_bytes = bytes_of(bits);
    struct alqi_preload_nodes *t = NULL;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_NODES));
    if (nodes.max_bytes == 0 || nodes.n_bytes + n_bytes <= nodes.max_bytes)
        t = alqi_plat_pages_map(n_bytes);
    if (t == NULL) {
        atomic_store_explicit(&nodes.is_full, true, memory_order_relaxed);
        return NULL;
    }
    nodes.n_bytes += n_bytes;
    t->shift = 64 - bits;
    t->last = ((uint64_t)1 << bits) - 1;
    return t;
}

/* Adds an entry, which readers may meet at once: its id is stored last.
 * Requires a free slot, and no other thread that adds. */
static void
table_insert(struct alqi_preload_nodes *t, uint64_t hash, uint32_t pc_low,
             uint32_t id)
{
    uint64_t i = hash >> t->shift;

    while (atomic_load_explicit(&t->entries[i].id, memory_order_relaxed) != 0)
        i = (i + 1) & t->last;
    t->entries[i].hash = hash;
    t->entries[i].pc_low = pc_low;
    atomic_store_explicit(&t->entries[i].id, id, memory_order_release);
    t->n++;
}

/* The old table stays: someone may be reading it.  All old ones together are
 * smaller than the new one. */
static struct alqi_preload_nodes *
table_grow_locked(struct alqi_preload_nodes *old)
{
    struct alqi_preload_nodes *t =
        table_new_locked(old != NULL ? 65 - old->shift : BITS_MIN);

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_NODES));
    if (t == NULL)
        return NULL;
    t->older = old;
    for (uint64_t i = 0; old != NULL && i <= old->last; i++)
        if (old->entries[i].id != 0)
            table_insert(t, old->entries[i].hash, old->entries[i].pc_low,
                         old->entries[i].id);
    atomic_store_explicit(&alqi_preload_nodes, t, memory_order_release);
    return t;
}

/* A table with room for one more: at most five eighths full. */
static struct alqi_preload_nodes *
table_ready_locked(void)
{
    struct alqi_preload_nodes *t =
        atomic_load_explicit(&alqi_preload_nodes, memory_order_relaxed);

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_NODES));
    if (t == NULL || t->n >= t->last / 8 * 5)
        return table_grow_locked(t);
    return t;
}

/* Leaves a full chunk and begins the next one; false: no space.  A new chunk
 * has no modules yet, so put_locked() writes their number again. */
static bool
chunk_turn_locked(void)
{
    struct alqi_raw_chunk_header *chunk = alqi_preload_file_chunk_new(
        ALQI_RAW_NODES, STREAM, nodes.sequence, alqi_plat_mono_ns_sigsafe(),
        nodes.last_id + 1);

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_NODES));
    if (chunk == NULL)
        return false;
    if (nodes.chunk != NULL)
        alqi_preload_file_chunk_done(nodes.chunk);
    nodes.chunk = chunk;
    nodes.sequence++;
    nodes.encoder.at = (uint8_t *)(chunk + 1);
    nodes.encoder.end = (uint8_t *)chunk + ALQI_RAW_CHUNK_BYTES;
    nodes.encoder.last_pc = 0;
    nodes.n_modules = 0;
    return true;
}

/* wire/exact.h .inv.modules */
static bool
put_locked(uint32_t id, uint32_t parent, uintptr_t pc)
{
    uint32_t n_modules = alqi_preload_recorder_n_modules();

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_NODES));
    if (nodes.chunk == NULL)
        return false;
    if (n_modules != nodes.n_modules) {
        if (!alqi_exact_put_modules(&nodes.encoder, n_modules))
            return false;
        nodes.n_modules = n_modules;
    }
    return alqi_exact_put_node(&nodes.encoder, id, parent, pc);
}

/* Writes a node into the recording, in the next chunk if this one is full, and
 * commits it; false: no space. */
static bool
record_locked(uint32_t id, uint32_t parent, uintptr_t pc)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_NODES));
    if (!put_locked(id, parent, pc) &&
        (!chunk_turn_locked() || !put_locked(id, parent, pc)))
        return false;
    alqi_preload_file_commit(nodes.chunk, nodes.encoder.at);
    return true;
}

/* Adds a node to the recording, then to the table (.inv.node). 0: no space, no
 * table, or no id is left. */
static uint32_t
add_locked(uint32_t parent, uintptr_t pc, uint64_t hash)
{
    struct alqi_preload_nodes *t = table_ready_locked();

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_NODES));
    if (t == NULL || nodes.last_id == UINT32_MAX ||
        !record_locked(nodes.last_id + 1, parent, pc)) /* .inv.node */
        return 0;
    table_insert(t, hash, (uint32_t)pc, ++nodes.last_id);
    return nodes.last_id;
}

ALQI_COLD uint32_t
alqi_preload_nodes_add(const uintptr_t *frames, uint32_t n_frames,
                       const uint64_t *hashes, uint32_t *best)
{
    uint32_t id = 0;
    uint32_t was = alqi_preload_lock(&nodes.lock);

    *best = 0;
    for (uint32_t i = 0; i < n_frames; i++) {
        uintptr_t pc = frames[n_frames - 1 - i];

        id = alqi_preload_node(hashes[i], pc);
        if (id == 0)
            id = add_locked(*best, pc, hashes[i]);
        if (id == 0)
            break;
        *best = id;
    }
    alqi_preload_unlock(&nodes.lock, was);
    return id;
}

/* Unmaps a table and all older ones, which no thread reads any more. */
static void
tables_unmap_locked(struct alqi_preload_nodes *t)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_NODES));
    while (t != NULL) {
        struct alqi_preload_nodes *older = t->older;
        size_t n_bytes = bytes_of(64 - t->shift);

        alqi_plat_pages_unmap(t, n_bytes);
        nodes.n_bytes -= n_bytes;
        t = older;
    }
}

bool
alqi_preload_nodes_is_full(void)
{
    return atomic_load_explicit(&nodes.is_full, memory_order_relaxed);
}

/* The tables go back once nobody can be reading them; if someone may, for as
 * long as we care to wait, they stay, and count. */
void
alqi_preload_nodes_forget(void)
{
    struct alqi_preload_nodes *last;
    uint32_t was = alqi_preload_lock(&nodes.lock);

    last = atomic_exchange_explicit(&alqi_preload_nodes, NULL,
                                    memory_order_acq_rel);
    alqi_preload_unlock(&nodes.lock, was);
    if (last == NULL || !alqi_preload_threads_quiesce())
        return;
    was = alqi_preload_lock(&nodes.lock);
    tables_unmap_locked(last);
    alqi_preload_unlock(&nodes.lock, was);
}

/* Whatever another thread was at is the parent's to end. */
void
alqi_preload_nodes_fork_child(void)
{
    alqi_plat_lock_break(&nodes.lock);
    nodes.last_id = 0;
    nodes.sequence = 0;
    nodes.chunk = NULL;
    atomic_store_explicit(&alqi_preload_nodes, NULL, memory_order_relaxed);
}
