/* pprof.c -- <aliquot/pprof.h>: starting and ending; the tracker that counts
 *
 * A profile of the engine samples blocks; its tracker's callbacks add each
 * block to the row of its call stack, and subtract it when it dies (.inv.same).
 * Rows are in chunks that never move, found by a map from stack to row. A stack
 * that is new gets its names before its row, outside of the lock (.inv.lock).
 * States: counting, over (.inv.over). */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "base/defaults.h"
#include "glue/join/callstack.h"
#include "glue/join/native.h"
#include "glue/tracing/pprof.h"

enum {
    FRAMES_DEFAULT = 128,
    STACKS_DEFAULT = 16384,
    LOCATIONS = 64,
    /* A datum: row, whether a header word was sampled with it, bytes. */
    ROW_BITS = 20,
    HEADER_BITS = 1,
    BYTES_SHIFT = ROW_BITS + HEADER_BITS
};

#define STACKS_MOST ((UINT32_C(1) << ROW_BITS) - ALQI_PPROF_FIRST)
#define BYTES_MOST (UINT64_MAX >> BYTES_SHIFT)

/* .inv.over; those that are, and those that are not. */
static _Atomic(struct alq_pprof *) kept;

/* ---- what a block stands for -------------------------------------------- */

struct block {
    uint32_t row;
    bool has_header; /* of the managed heap's own, counted as bytes, too */
    uint64_t bytes;  /* with its header, if has_header */
};

/* Packs a block into its datum; block_of() is the inverse. */
static uintptr_t
datum_of(const struct block *b)
{
    return (uintptr_t)(b->bytes << BYTES_SHIFT |
                       (uint64_t)b->has_header << ROW_BITS | b->row);
}

static struct block
block_of(uintptr_t datum)
{
    return (struct block){
        .row = (uint32_t)datum & ((1u << ROW_BITS) - 1),
        .has_header = (datum >> ROW_BITS & 1) != 0,
        .bytes = datum >> BYTES_SHIFT,
    };
}

/* The chance that the block is sampled. */
static double
chance(const struct alq_pprof *p, const struct block *b)
{
    uint64_t words = alqi_base_malloc_words(b->bytes); /* one is a header */

    if (!p->is_malloc)
        words--;
    return words > 0 ? -expm1((double)words * p->log_miss) : 1;
}

/* Adds what the sampled block stands for: 1 / chance objects of its size, in
 * fixed point. */
static void
add(const struct alq_pprof *p, const struct block *b, uint64_t *objects,
    uint64_t *bytes)
{
    double weight = 1 / chance(p, b);

    *objects += (uint64_t)(weight * (1 << ALQI_PPROF_OBJECT_BITS) + 0.5);
    *bytes +=
        (uint64_t)(weight * (double)b->bytes * (1 << ALQI_PPROF_BYTE_BITS) +
                   0.5);
}

/* The block as it is counted; a managed one with its header. */
static struct block
block_met(const struct alq_pprof *p, const struct alq_allocation *a)
{
    struct block b = {.bytes = a->size_bytes};

    b.has_header = !p->is_malloc && a->source != ALQ_SOURCE_CUSTOM;
    if (b.has_header)
        b.bytes += ALQI_WORD_BYTES;
    if (b.bytes > BYTES_MOST)
        b.bytes = BYTES_MOST;
    return b;
}

/* ---- rows --------------------------------------------------------------- */

/* The rows of a chunk that is new have no stack; false: no memory. */
static bool
chunk_make_locked(struct alq_pprof *p, uint32_t row)
{
    struct alqi_pprof_row **chunk = &p->chunks[row / ALQI_PPROF_CHUNK];

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_PPROF));
    if (*chunk == NULL)
        *chunk = calloc(ALQI_PPROF_CHUNK, sizeof **chunk);
    return *chunk != NULL;
}

/* A new row; OTHER if there is none to be had. */
static uint32_t
row_add_locked(struct alq_pprof *p, uint32_t stack, bool is_native)
{
    uint32_t row = p->n_rows;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_PPROF));
    if (row >= p->max_rows || !chunk_make_locked(p, row) ||
        !alqi_base_map_put(&p->row_of_stack, (uint64_t)stack * 2 + is_native,
                           row))
        return ALQI_PPROF_OTHER;
    alqi_pprof_row_locked(p, row)->stack = stack;
    alqi_pprof_row_locked(p, row)->is_native = is_native;
    p->n_rows++;
    return row;
}

/* The row of a stack that has one. */
static bool
row_find_locked(const struct alq_pprof *p, uint32_t stack, bool is_native,
                uint32_t *row)
{
    uint64_t found;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_PPROF));
    if (!alqi_base_map_get(&p->row_of_stack, (uint64_t)stack * 2 + is_native,
                           &found))
        return false;
    *row = (uint32_t)found;
    return true;
}

/* Names a frame that has no name yet. Two threads may describe it at once: the
 * first name stays. */
static void
frame_name(struct alq_pprof *p, const struct alq_stack_source *source,
           uintptr_t frame)
{
    struct alq_location locations[LOCATIONS];
    bool is_met;
    size_t n;

    alqi_plat_lock(&p->lock);
    is_met =
        p->is_over || alqi_glue_trace_names_code(&p->names, false, frame) != 0;
    alqi_plat_unlock(&p->lock);
    if (is_met)
        return;
    n = alqi_glue_callstack_describe(source, frame, locations, LOCATIONS);
    alqi_plat_lock(&p->lock);
    if (!p->is_over && alqi_glue_trace_names_code(&p->names, false, frame) == 0)
        (void)alqi_glue_trace_names_add(&p->names, false, frame, locations, n);
    alqi_plat_unlock(&p->lock);
}

/* The stack's number; 0: it has none, or is not to have a row. */
static uint32_t
stack_number_locked(struct alq_pprof *p, const struct alq_callstack *c,
                    bool is_native)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_PPROF));
    if (p->is_over)
        return 0;
    if (p->n_rows >= p->max_rows)
        return alqi_stack_table_find(p->stacks[is_native], c->frames,
                                     c->n_frames);
    return alqi_stack_table_add(p->stacks[is_native], c->frames, c->n_frames);
}

/* The stack's number. Frames of a stack that is new get their names, outside of
 * the lock. */
static uint32_t
stack_meet(struct alq_pprof *p, const struct alq_callstack *c,
           const struct alq_stack_source *source)
{
    bool is_native = source == NULL, is_known;
    uint32_t row, stack;

    alqi_plat_lock(&p->lock);
    stack = stack_number_locked(p, c, is_native);
    is_known = stack == 0 || row_find_locked(p, stack, is_native, &row);
    alqi_plat_unlock(&p->lock);
    if (is_known || is_native)
        return stack;
    for (size_t i = 0; i < c->n_frames; i++)
        frame_name(p, source, c->frames[i]);
    return stack;
}

/* The row that an allocation counts in. */
static uint32_t
row_of_locked(struct alq_pprof *p, const struct alq_callstack *c,
              uint32_t stack, bool is_native)
{
    uint32_t row;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_PPROF));
    if (c->n_frames == 0)
        return ALQI_PPROF_NO_STACK;
    if (stack == 0)
        return ALQI_PPROF_OTHER;
    return row_find_locked(p, stack, is_native, &row)
               ? row
               : row_add_locked(p, stack, is_native);
}

/* ---- the tracker -------------------------------------------------------- */

bool
alqi_pprof_is_here(const struct alq_pprof *p)
{
    return p->pid == getpid();
}

/* Called by any thread. Counts the block and keeps its row in the datum. */
static int
on_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    struct alq_pprof *p = arg;
    const struct alq_stack_source *source;
    struct alqi_pprof_sums *sums;
    struct block b;
    uint32_t stack;

    if (!alqi_pprof_is_here(p))
        return ALQ_TRACK_DROP;
    b = block_met(p, a);
    source = p->is_malloc ? NULL : alqi_glue_callstack_source();
    stack = stack_meet(p, &a->callstack, source);
    alqi_plat_lock(&p->lock);
    if (!p->is_over) {
        b.row = row_of_locked(p, &a->callstack, stack, source == NULL);
        sums = &alqi_pprof_row_locked(p, b.row)->sums;
        add(p, &b, &sums->alloc_objects, &sums->alloc_bytes);
    }
    alqi_plat_unlock(&p->lock);
    *data = datum_of(&b);
    return ALQ_TRACK_KEEP;
}

static int
on_promote(void *arg, uintptr_t *data)
{
    (void)data;
    return alqi_pprof_is_here(arg) ? ALQ_TRACK_KEEP : ALQ_TRACK_DROP;
}

/* Takes the block off, as it was put on. */
static int
on_dealloc(void *arg, uintptr_t data)
{
    struct alq_pprof *p = arg;
    struct block b = block_of(data);
    struct alqi_pprof_sums *sums;

    if (!alqi_pprof_is_here(p))
        return 0;
    alqi_plat_lock(&p->lock);
    if (!p->is_over) {
        sums = &alqi_pprof_row_locked(p, b.row)->sums;
        add(p, &b, &sums->freed_objects, &sums->freed_bytes);
    }
    alqi_plat_unlock(&p->lock);
    return 0;
}

/* The heap has ended, and the block with it. */
static void
on_release(void *arg, uintptr_t data)
{
    (void)on_dealloc(arg, data);
}

bool
alqi_pprof_stack_of(const struct alq_tracker *tracker, uintptr_t datum,
                    struct alqi_pprof_stack *out)
{
    struct alq_pprof *p = tracker->arg;
    bool is_there;

    if (tracker->dealloc_major != on_dealloc)
        return false;
    out->row = block_of(datum).row;
    alqi_plat_lock(&p->lock);
    is_there = !p->is_over && out->row >= ALQI_PPROF_FIRST;
    if (is_there) {
        const struct alqi_pprof_row *row = alqi_pprof_row_locked(p, out->row);

        out->pprof = p;
        out->stack = row->stack;
        out->is_native = row->is_native;
    }
    alqi_plat_unlock(&p->lock);
    return is_there;
}

/* ---- starting and ending ------------------------------------------------ */

/* Requires the lock, or that nobody else has seen the struct. */
static void
tables_free(struct alq_pprof *p)
{
    uint32_t n_chunks = p->max_rows / ALQI_PPROF_CHUNK + 1;

    for (uint32_t i = 0; p->chunks != NULL && i < n_chunks; i++)
        free(p->chunks[i]);
    free(p->chunks);
    p->chunks = NULL;
    alqi_base_map_clear(&p->row_of_stack);
    for (unsigned i = 0; i < ALQI_COUNT_OF(p->stacks); i++)
        if (p->stacks[i] != NULL)
            alqi_stack_table_drop(p->stacks[i]);
    alqi_glue_trace_names_free(&p->names);
}

/* Makes empty tables and the first chunk of rows; false: no memory, and nothing
 * is left. */
static bool
tables_make(struct alq_pprof *p)
{
    bool has_rows;

    alqi_glue_trace_names_init(&p->names);
    p->chunks = calloc(p->max_rows / ALQI_PPROF_CHUNK + 1, sizeof *p->chunks);
    p->n_rows = ALQI_PPROF_FIRST;
    for (unsigned i = 0; i < ALQI_COUNT_OF(p->stacks); i++)
        p->stacks[i] = alqi_stack_table_new();
    alqi_plat_lock(&p->lock);
    has_rows = p->chunks != NULL && chunk_make_locked(p, 0);
    alqi_plat_unlock(&p->lock);
    if (has_rows && p->stacks[0] != NULL && p->stacks[1] != NULL)
        return true;
    tables_free(p);
    return false;
}

static bool
is_config(const struct alq_pprof_config *c)
{
    return c->rate >= 0 && c->rate <= 1 && c->max_stacks <= STACKS_MOST;
}

/* Starts the engine's profile beside others; callbacks may come before it
 * returns. */
static enum alq_status
profile_start(struct alq_pprof *p, struct alq_domain *domain,
              const struct alq_pprof_config *config)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_tracker tracker = {
        .alloc_minor = on_alloc,
        .alloc_major = on_alloc,
        .promote = on_promote,
        .dealloc_minor = on_dealloc,
        .dealloc_major = on_dealloc,
        .release = on_release,
        .arg = p,
    };

    c.rate = p->rate;
    c.callstack_frames = config->callstack_frames != 0
                             ? config->callstack_frames
                             : FRAMES_DEFAULT;
    c.seed = config->seed;
    c.flags = ALQ_MEMPROF_BESIDE;
    return alq_memprof_start(domain, &c, &tracker, &p->profile);
}

/* Puts the struct on the list of those that stay (.inv.over): a leak checker
 * finds it there. */
static void
keep(struct alq_pprof *p)
{
    p->older = atomic_load(&kept);
    while (!atomic_compare_exchange_weak(&kept, &p->older, p))
        continue;
}

/* The modules are met now: one may be gone when the profile is written. */
enum alq_status
alq_pprof_start(struct alq_domain *domain,
                const struct alq_pprof_config *config, struct alq_pprof **out)
{
    struct alq_pprof_config c = {0};
    struct alq_pprof *p;
    enum alq_status status;

    if (config != NULL)
        c = *config;
    if (out == NULL || !is_config(&c))
        return ALQ_EINVAL;
    p = calloc(1, sizeof *p);
    if (p == NULL)
        return ALQ_ENOMEM;
    alqi_plat_lock_init(&p->lock, ALQI_RANK_GLUE_PPROF);
    p->is_malloc = domain == NULL || domain == alq_thread_tree();
    p->pid = getpid();
    p->rate = c.rate > 0 ? c.rate : ALQI_DEFAULT_RATE;
    p->log_miss = log1p(-p->rate);
    p->max_rows =
        (c.max_stacks != 0 ? c.max_stacks : STACKS_DEFAULT) + ALQI_PPROF_FIRST;
    p->start_mono_ns = alqi_plat_mono_ns_sigsafe();
    alqi_glue_native_meet();
    if (!tables_make(p)) {
        free(p);
        return ALQ_ENOMEM;
    }
    status = profile_start(p, domain, &c);
    if (status != ALQ_OK) { /* no callback has seen it */
        tables_free(p);
        free(p);
        return status;
    }
    keep(p);
    *out = p;
    return ALQ_OK;
}

/* Stops the profile and frees the tables. A forked child frees nothing: the
 * lock may be held for ever. */
void
alq_pprof_drop(struct alq_pprof *p)
{
    if (p == NULL)
        return;
    (void)alq_profile_stop(p->profile);
    (void)alq_memprof_discard(p->profile);
    alq_profile_drop(p->profile);
    if (!alqi_pprof_is_here(p))
        return;
    alqi_plat_lock(&p->lock);
    p->is_over = true;
    tables_free(p);
    alqi_plat_unlock(&p->lock);
}
