/* exact.c -- every allocation and every free as an event of its thread
 *
 *   OFF --start--> ALL --the node tables are full--> FREES
 *
 * The thread that finds the tables full moves ALL to FREES (give_over).  An
 * event goes into the thread's own chunk: no lock, and no shared cache line but
 * that of two flags, each of which is written once.  The codec is wire/exact.h,
 * the order of threads is its .inv.ticks.
 *
 * .inv.timed  When a second thread writes its first event, every other thread
 *             writes ticks from its next event on: the flag is set, then a
 *             process-wide barrier passes, then the second thread's event is
 *             made.
 * .pair.timed  alqi_preload_exact_confine(): is_timed, a barrier, is_barriered
 *             -> between(), by a relaxed load; part_open(): who finds
 *             is_barriered writes when each thread has seen is_timed.
 * .inv.path   path[i], i < n_path, is the hash of the outermost i + 1 frames of
 *             the capture cache's last capture, if `serial` is that capture's.
 * .inv.note   A capture's note is its stack's node under the recording's epoch:
 *             forgetting modules forgets the notes, a fork ends the epoch. */
#include <errno.h>

#include "memprof/filter.h"
#include "plat/ticks.h"
#include "preload/copy.h"
#include "preload/exact.h"
#include "preload/file.h"
#include "preload/nodes.h"
#include "preload/pool_name.h"
#include "preload/stream.h"
#include "wire/exact_put.h"

enum {
    STREAM_FIRST = 2 * ALQI_PRELOAD_STREAMS_MAX,
    CLOCK_FIRST_TICKS = 1 << 20,
    CLOCK_LAST_TICKS = 1 << 28,
    MARK_EVENTS = 6 /* put_between writes four at most */
};

/* A thread's part; pooled with the thread's state.  Its thread alone reads and
 * writes it. */
struct alqi_preload_exact {
    struct alqi_raw_chunk_header *chunk; /* NULL: none yet, or no space */
    uint32_t epoch;          /* of the recording that the chunk is in */
    uint32_t stream;         /* number of the part's stream in the recording */
    uint32_t sequence;       /* of the chunk within the stream, from 0 */
    bool is_announced;       /* the stream has the thread's name */
    char name[17];           /* as announced */
    uint64_t serial;         /* of the capture that path is of        */
    uint64_t clock_at_ticks; /* the next CLOCK is due                 */
    uint64_t clock_step_ticks;
    uint64_t new_bytes;    /* allocated since it last asked for a look     */
    uint64_t growth_bytes; /* as many are reason enough (poll.c .inv.height) */
    struct alqi_exact_encoder encoder;
    uint32_t n_path;
    uint64_t path[];
};

/* Threads see it when they draw again: .pair.generation. */
_Atomic(uint32_t) alqi_preload_exact_mode;

static struct {
    _Atomic(bool) is_timed;       /* .inv.timed, .pair.timed; set once in a
                                     recording */
    _Atomic(bool) is_barriered;   /* every thread has seen is_timed:
                                     .pair.timed */
    _Atomic(bool) wants_sampling; /* tables are full: start the profile;
                                     .pair.alone */
    _Atomic(uint32_t) n_streams;  /* of the recording, from 0; .pair.alone */
    uint32_t epoch;               /* forks so far, + 1 */
} exact;

/* ---- a thread's stream ----------------------------------------------------
 */

static struct alqi_preload_exact *
part_map(void)
{
    return alqi_plat_pages_map(sizeof(struct alqi_preload_exact) +
                               alqi_preload_config.depth_frames *
                                   sizeof(uint64_t));
}

void
alqi_preload_exact_confine(void)
{
    if (atomic_load(&exact.is_barriered))
        return;
    atomic_store(&exact.is_timed, true);
    alqi_plat_barrier_all();
    atomic_store(&exact.is_barriered, true);
}

/* A stream of the present recording. */
static void
part_open(struct alqi_preload_exact *x)
{
    uint32_t n = atomic_fetch_add(&exact.n_streams, 1);

    if (n > 0) /* .inv.timed */
        alqi_preload_exact_confine();
    x->chunk = NULL;
    x->sequence = 0;
    x->stream = STREAM_FIRST + n;
    x->epoch = exact.epoch;
    x->clock_step_ticks = CLOCK_FIRST_TICKS;
    x->new_bytes = 0;
    x->growth_bytes = alqi_preload_poll_growth_bytes();
    x->is_announced = false;
    x->name[0] = '\0';
    x->serial = 0;
    if (alqi_preload_exact_is(ALQI_PRELOAD_EXACT_ALL))
        alqi_preload_flag(
            ALQI_RAW_IS_EXACT); /* a forked child's has none yet */
}

/* Leaves a full chunk and begins the next one of the part's stream.  False: no
 * space in the recording, and the part keeps the chunk that it has. */
static ALQI_COLD bool
turn(struct alqi_preload_exact *x)
{
    uint64_t now_ns = alqi_plat_mono_ns_sigsafe();
    uint64_t ticks = alqi_plat_ticks_sigsafe();
    struct alqi_raw_chunk_header *chunk;

    chunk = alqi_preload_file_chunk_new(ALQI_RAW_EXACT, x->stream, x->sequence,
                                        now_ns, ticks >> ALQI_EXACT_TICK_SHIFT);
    if (chunk == NULL)
        return false;
    if (x->chunk != NULL)
        alqi_preload_file_chunk_done(x->chunk);
    x->chunk = chunk;
    x->sequence++;
    x->clock_at_ticks = ticks + x->clock_step_ticks;
    alqi_exact_begin(&x->encoder, x->chunk, ALQI_RAW_CHUNK_BYTES,
                     atomic_load(&exact.is_timed));
    return true;
}

/* Writes the thread's name as it stands in x->name.  If there is no space,
 * is_announced stays as it was. */
static void
announce(struct alqi_preload_thread *thread, struct alqi_preload_exact *x)
{
    uint64_t ticks = alqi_plat_ticks_sigsafe();

    if (!alqi_exact_put_thread(&x->encoder, ticks, thread->index, thread->tid,
                               x->name) &&
        (!turn(x) || !alqi_exact_put_thread(&x->encoder, ticks, thread->index,
                                            thread->tid, x->name)))
        return;
    alqi_preload_file_commit(x->chunk, x->encoder.at);
    x->is_announced = true;
}

/* Makes what the part lacks: the recording, the part, a stream of this epoch, a
 * chunk, the thread's name.  NULL: one of these could not be made, and the next
 * event tries again. */
static ALQI_COLD struct alqi_preload_exact *
ready_slow(struct alqi_preload_thread *thread)
{
    struct alqi_preload_exact *x = thread->exact;
    int saved = errno;
    bool has_file = alqi_preload_stream_file();

    errno = saved;
    if (!has_file)
        return NULL;
    if (x == NULL)
        x = thread->exact = part_map();
    if (x == NULL)
        return NULL;
    if (x->epoch != exact.epoch)
        part_open(x);
    if (x->chunk == NULL && !turn(x))
        return NULL;
    if (!x->is_announced) {
        (void)alqi_preload_poll_name(x->name);
        announce(thread, x);
    }
    return x->is_announced ? x : NULL;
}

/* The calling thread's part with a chunk to write to, or NULL: no space. */
static inline struct alqi_preload_exact *
ready(struct alqi_preload_thread *thread)
{
    struct alqi_preload_exact *x = thread->exact;

    if (ALQI_LIKELY(x != NULL && x->is_announced && x->epoch == exact.epoch))
        return x;
    return ready_slow(thread);
}

/* The heap may have grown, and the last CLOCK is as far away as the first two
 * are: the line through them has to be one. */
static bool
is_look_due(const struct alqi_preload_exact *x, uint64_t ticks)
{
    return x->new_bytes > x->growth_bytes &&
           ticks + x->clock_step_ticks >= x->clock_at_ticks + CLOCK_FIRST_TICKS;
}

/* What may stand between two events. */
static ALQI_COLD void
put_between(struct alqi_preload_thread *thread, uint64_t ticks)
{
    struct alqi_preload_exact *x = thread->exact;
    bool is_grown = is_look_due(x, ticks);
    uint64_t now_ns, rss_bytes;

    if (!x->encoder.state.is_timed && atomic_load(&exact.is_timed))
        alqi_exact_put_control(&x->encoder, ALQI_EXACT_TIMED, 0);
    if (ticks < x->clock_at_ticks && !is_grown)
        return;
    now_ns = alqi_plat_mono_ns_sigsafe();
    alqi_exact_put_clock(&x->encoder, ticks, now_ns);
    if (alqi_plat_confinement_sigsafe() == ALQI_PLAT_FREE)
        alqi_preload_copy_look();
    rss_bytes = alqi_preload_poll_rss(now_ns, is_grown);
    if (rss_bytes != 0)
        alqi_exact_put_control(&x->encoder, ALQI_EXACT_RSS, rss_bytes);
    if (is_grown) {
        x->new_bytes = 0;
        x->growth_bytes = alqi_preload_poll_growth_bytes();
    }
    if (alqi_preload_poll_name(x->name))
        alqi_exact_put_thread(&x->encoder, ticks, thread->index, thread->tid,
                              x->name);
    if (ticks >= x->clock_at_ticks && x->clock_step_ticks < CLOCK_LAST_TICKS)
        x->clock_step_ticks *= 2;
    x->clock_at_ticks = ticks + x->clock_step_ticks;
}

/* Writes what is due before an event at `ticks`: the switch to ticks, the
 * clock, resident memory, another name. */
static inline void
between(struct alqi_preload_thread *thread, uint64_t ticks)
{
    const struct alqi_preload_exact *x = thread->exact;

    if (ALQI_UNLIKELY(
            ticks >= x->clock_at_ticks || x->new_bytes > x->growth_bytes ||
            x->encoder.state.is_timed !=
                atomic_load_explicit(&exact.is_timed, memory_order_relaxed)))
        put_between(thread, ticks);
}

/* ---- stacks ----------------------------------------------------------------
 */

/* Tables are at their cap: from here allocations are sampled, while frees go
 * on being written, since any may be of a block that was recorded. */
static ALQI_COLD void
give_over(void)
{
    uint32_t all = ALQI_PRELOAD_EXACT_ALL;

    if (atomic_compare_exchange_strong(&alqi_preload_exact_mode, &all,
                                       ALQI_PRELOAD_EXACT_FREES))
        atomic_store(&exact.wants_sampling, true);
}

/* The block that fills the tables keeps what its stack has in them. */
static ALQI_COLD uint32_t
node_new(const struct alqi_preload_exact *x, const struct alqi_stack_result *r,
         bool *ok)
{
    uint32_t best;
    uint32_t node =
        alqi_preload_nodes_add(r->frames, r->n_frames, x->path, &best);

    if (node != 0)
        return node;
    *ok = alqi_preload_nodes_is_full();
    if (!*ok)
        return 0;
    alqi_preload_count(ALQI_RAW_TRUNCATED, 1);
    give_over();
    return best;
}

/* .inv.path: the rest of the path. */
static inline void
path_hash(struct alqi_preload_exact *x, const struct alqi_stack_result *r)
{
    const uintptr_t *frame = r->frames + (r->n_frames - x->n_path);
    uint64_t hash = x->n_path > 0 ? x->path[x->n_path - 1] : 0;

    for (uint32_t i = x->n_path; i < r->n_frames; i++)
        x->path[i] = hash = alqi_preload_path_hash(hash, *--frame, i);
    x->n_path = r->n_frames;
}

/* The node of a captured stack, added if it is new; 0 and *ok as in
 * node_here().  Leaves the path of the whole stack (.inv.path). */
static uint32_t
node_find(struct alqi_preload_exact *x, const struct alqi_stack_result *r,
          bool *ok)
{
    uint32_t node = 0;

    path_hash(x, r);
    if (ALQI_LIKELY(r->n_frames > 0))
        node = alqi_preload_node(x->path[r->n_frames - 1], r->frames[0]);
    if (ALQI_UNLIKELY(node == 0 && r->n_frames > 0))
        node = node_new(x, r, ok);
    if (ALQI_UNLIKELY(r->incomplete))
        alqi_preload_count(ALQI_RAW_INCOMPLETE, 1);
    if (ALQI_UNLIKELY(r->truncated))
        alqi_preload_count(ALQI_RAW_TRUNCATED, 1);
    return node;
}

/* The node of the calling thread's stack; 0 when it has no frames, or when
 * there is no space in the file for a new one, which *ok tells apart.  A stack
 * that was captured before has its node noted (.inv.note). */
static inline uint32_t
node_here(struct alqi_preload_thread *thread, struct alqi_preload_exact *x,
          const struct alqi_stack_regs *regs, bool *ok)
{
    struct alqi_memprof_thread *m = &thread->memprof;
    bool is_next = x->serial == m->cache->serial;
    struct alqi_stack_result r = alqi_memprof_capture(m, regs);
    uint64_t epoch = (uint64_t)exact.epoch << 32;
    uint32_t node;

    x->serial = m->cache->serial;
    if (!is_next)
        x->n_path = 0;
    else if (x->n_path > r.n_same_outer)
        x->n_path = r.n_same_outer;
    *ok = true;
    if (ALQI_LIKELY(r.note != NULL && *r.note >> 32 == exact.epoch))
        return (uint32_t)*r.note;
    node = node_find(x, &r, ok);
    if (r.note != NULL && node != 0)
        *r.note = epoch | node;
    return node;
}

/* ---- allocations -----------------------------------------------------------
 */

/* Writes an allocation into the chunk that there is; false: the chunk is full.
 */
static inline bool
alloc_try(const struct alqi_preload_thread *thread, uint64_t ticks,
          const void *block, size_t size_bytes, uint32_t node)
{
    struct alqi_preload_exact *x = thread->exact;

    if (ALQI_UNLIKELY(alqi_preload_hot.mapping == block) &&
        !alqi_exact_put_control(&x->encoder, ALQI_EXACT_MAPPING, 0))
        return false;
    if (ALQI_UNLIKELY(thread->pool != 0) &&
        !alqi_exact_put_control(&x->encoder, ALQI_EXACT_POOL, thread->pool))
        return false;
    return alqi_exact_put_alloc_here(&x->encoder, ticks, (uintptr_t)block,
                                     size_bytes, node);
}

/* Writes an allocation, in the next chunk if this one is full; false: no space.
 * The caller commits. */
static inline bool
alloc_put(struct alqi_preload_thread *thread, uint64_t ticks, const void *block,
          size_t size_bytes, uint32_t node)
{
    struct alqi_preload_exact *x = thread->exact;

    between(thread, ticks);
    x->new_bytes += size_bytes;
    return ALQI_LIKELY(alloc_try(thread, ticks, block, size_bytes, node)) ||
           (turn(x) && alloc_try(thread, ticks, block, size_bytes, node));
}

/* Records a block of the calling thread, which is INSIDE. A block without space
 * in the recording is counted as dropped. */
static void
record(struct alqi_preload_thread *thread, const void *block, size_t size_bytes,
       const struct alqi_stack_regs *regs)
{
    uint64_t ticks = alqi_plat_ticks_sigsafe();
    struct alqi_preload_exact *x = ready(thread);
    uint32_t node;
    bool ok;

    if (ALQI_UNLIKELY(x == NULL)) {
        alqi_preload_count(ALQI_RAW_DROPPED_SPACE, 1);
        return;
    }
    thread->pool = alqi_preload_pool_number(block);
    if (ALQI_UNLIKELY(thread->pool != 0))
        ticks = alqi_plat_ticks_sigsafe(); /* pool_name.c .inv.named */
    node = node_here(thread, x, regs, &ok);
    if (ALQI_LIKELY(ok && alloc_put(thread, ticks, block, size_bytes, node)))
        alqi_preload_file_commit(x->chunk, x->encoder.at);
    else
        alqi_preload_count(ALQI_RAW_DROPPED_SPACE, 1);
}

void
alqi_preload_exact_alloc(struct alqi_preload_thread *thread, const void *block,
                         size_t size_bytes, const struct alqi_stack_regs *regs)
{
    uint32_t was = alqi_memprof_enter(&thread->memprof);

    record(thread, block, size_bytes, regs);
    alqi_memprof_leave(&thread->memprof, was);
    if (ALQI_UNLIKELY(atomic_load_explicit(&exact.wants_sampling,
                                           memory_order_relaxed)) &&
        atomic_exchange(&exact.wants_sampling, false))
        alqi_preload_recorder_take_over();
}

/* ---- frees -----------------------------------------------------------------
 */

/* Writes a free, in the next chunk if this one is full; false: no space.  The
 * caller commits. */
static inline bool
free_put(struct alqi_preload_thread *thread, uint64_t ticks, const void *block)
{
    struct alqi_preload_exact *x = thread->exact;

    between(thread, ticks);
    return ALQI_LIKELY(alqi_exact_put_free_here(&x->encoder, ticks,
                                                (uintptr_t)block)) ||
           (turn(x) &&
            alqi_exact_put_free(&x->encoder, ticks, (uintptr_t)block));
}

/* Records a free on the state of the calling thread, which is INSIDE, or on the
 * locked orphan.  False: no space, counted as a lost free. */
static inline bool
free_record(struct alqi_preload_thread *thread, const void *block)
{
    uint64_t ticks = alqi_plat_ticks_sigsafe();
    struct alqi_preload_exact *x = ready(thread);

    if (ALQI_UNLIKELY(x == NULL || !free_put(thread, ticks, block))) {
        alqi_preload_count(ALQI_RAW_LOST_FREES, 1);
        return false;
    }
    alqi_preload_file_commit(x->chunk, x->encoder.at);
    return true;
}

/* A thread that has no state yet, or none any more. */
static ALQI_COLD void
free_of_stranger(const void *block)
{
    struct alqi_preload_thread *thread = alqi_preload_thread_attach();

    if (thread != NULL) {
        alqi_preload_exact_free(block);
        return;
    }
    if (alqi_preload_hot.left_words > ALQI_PARKED / 2)
        return; /* the server's: its blocks are not the program's */
    thread = alqi_preload_orphan_lock();
    if (thread != NULL)
        free_record(thread, block);
    else
        alqi_preload_count(ALQI_RAW_LOST_FREES, 1);
    alqi_preload_orphan_unlock(thread);
}

void
alqi_preload_exact_free(const void *block)
{
    struct alqi_preload_thread *thread = alqi_preload_hot.thread;
    uint32_t was;

    if (ALQI_UNLIKELY(thread == NULL)) {
        free_of_stranger(block);
        return;
    }
    if (ALQI_UNLIKELY(thread->memprof.mode == ALQI_MEMPROF_INSIDE)) {
        alqi_preload_count(ALQI_RAW_LOST_FREES, 1);
        return;
    }
    was = alqi_memprof_enter(&thread->memprof);
    free_record(thread, block);
    alqi_memprof_leave(&thread->memprof, was);
}

void
alqi_preload_exact_free_late(const void *block)
{
    free_record(alqi_preload_current(), block);
}

/* ---- realloc ---------------------------------------------------------------
 */

struct alqi_preload_exact_moving
alqi_preload_exact_moves(struct alqi_preload_thread *thread, const void *block)
{
    struct alqi_preload_exact_moving m = {NULL, 0};

    if (thread == NULL || thread->memprof.mode == ALQI_MEMPROF_INSIDE) {
        alqi_preload_exact_free(block);
        return m;
    }
    m.was = alqi_memprof_enter(&thread->memprof);
    if (free_record(thread, block))
        m.thread = thread;
    else
        alqi_memprof_leave(&thread->memprof, m.was);
    return m;
}

static void
control_put(struct alqi_preload_exact *x, enum alqi_exact_control control)
{
    if (alqi_exact_put_control(&x->encoder, control, 0) ||
        (turn(x) && alqi_exact_put_control(&x->encoder, control, 0)))
        alqi_preload_file_commit(x->chunk, x->encoder.at);
}

void
alqi_preload_exact_moved(struct alqi_preload_exact_moving m, const void *moved,
                         size_t size_bytes)
{
    if (m.thread == NULL)
        return;
    if (moved == NULL && size_bytes != 0) /* realloc(p, 0) frees p */
        control_put(m.thread->exact, ALQI_EXACT_UNDO);
    else if (moved != NULL && m.was == ALQI_MEMPROF_IDLE &&
             alqi_preload_exact_is(ALQI_PRELOAD_EXACT_ALL))
        control_put(m.thread->exact, ALQI_EXACT_MOVED);
    alqi_memprof_leave(&m.thread->memprof, m.was);
}

/* ---- start, end, fork ------------------------------------------------------
 */

void
alqi_preload_exact_start(void)
{
    alqi_plat_ticks_start();
    alqi_preload_nodes_start(alqi_preload_config.max_memory_bytes);
    exact.epoch = 1;
    alqi_preload_flag(ALQI_RAW_IS_EXACT);
    atomic_store(&alqi_preload_exact_mode, ALQI_PRELOAD_EXACT_ALL);
    alqi_memprof_filter_stop_all();
    alqi_preload_rearm_all(NULL);
}

/* Room for what put_between writes, and for the mark. */
bool
alqi_preload_exact_mark_may(struct alqi_preload_thread *thread)
{
    struct alqi_preload_exact *x;

    if (!alqi_preload_exact_is(ALQI_PRELOAD_EXACT_ALL))
        return false;
    x = ready(thread);
    return x != NULL && (x->encoder.end - x->encoder.at >=
                             MARK_EVENTS * ALQI_EXACT_EVENT_BYTES_MAX ||
                         turn(x));
}

/* The clock before it has the time. */
void
alqi_preload_exact_mark(struct alqi_preload_thread *thread, uint32_t number)
{
    struct alqi_preload_exact *x = thread->exact;

    x->clock_at_ticks = 0;
    put_between(thread, alqi_plat_ticks_sigsafe());
    alqi_exact_put_control(&x->encoder, ALQI_EXACT_MARK, number);
    alqi_preload_file_commit(x->chunk, x->encoder.at);
}

/* Announces the thread's name once more: most threads get one after their first
 * allocation. */
void
alqi_preload_exact_thread_end(struct alqi_preload_thread *thread)
{
    struct alqi_preload_exact *x = thread->exact;

    if (x == NULL || x->epoch != exact.epoch || !x->is_announced)
        return;
    if (alqi_preload_poll_name(x->name))
        announce(thread, x);
    x->is_announced = false;
    x->serial = 0;
}

void
alqi_preload_exact_fork_child(void)
{
    exact.epoch++;
    atomic_store(&exact.n_streams, 0);
    atomic_store(&exact.is_timed, false);
    atomic_store(&exact.is_barriered, false);
    alqi_preload_nodes_fork_child();
}
