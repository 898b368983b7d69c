/* thread.c -- a thread's profiler state: attach, arm, re-arm, end
 *
 * State of a thread:
 *
 *    NEW --first trip--> ATTACHED --last key destructor--> ENDED
 *     ^                     |                                |
 *     +--- (no memory: stays NEW, tries again) --------------+ frees go
 *                                                    through the orphan
 *
 * .inv.list  The list holds exactly the states whose `hot` is set; a pooled
 *            state is on no list and its `hot` is NULL.
 * .inv.bypass While a thread holds a lock of the preload's outside the engine,
 *            `is_orphan_held` sends the frees of its signal handlers past the
 *            profiler: a handler must not wait for a lock that its own thread
 *            holds.  Such a handler does not attach the thread, and its forks
 *            are as _Fork.
 * .inv.rearm After rearm_all returns, every attached thread has drawn its
 *            sampling interval from the present profiles, or will before its
 *            next sample.
 *
 * rearm_all writes another thread's countdown, which that thread changes with
 * plain instructions.  The caller raises `generation`, passes a barrier of all
 * threads, stores a re-arm request, and passes a second barrier, which ends
 * every read-modify-write that was under way; a request that such an
 * instruction overwrote is stored again.  A thread that arms itself stores the
 * countdown first and reads the generation after: either the thread sees the
 * new generation and draws again, or its store came before the barrier and the
 * request overwrites it.
 *
 * .pair.generation  alqi_preload_rearm_all(): the generation, a barrier, the
 *            countdowns -> alqi_preload_arm() and others that store one: the
 *            countdown, then the generation.  The barrier is a fence in each
 *            thread, so that there the compiler's is enough
 *            (tests/models/quiesce_weak.pml).
 * .pair.quiesce  quiesce(): barrier, mode, barrier -> each thread: the mode by
 *            plain stores, in front of and behind all that it does in the
 *            engine (the same model). */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "preload/exact.h"
#include "preload/limit_trigger.h"
#include "preload/preload.h"

enum { REARM_ROUNDS_MAX = 64, EXIT_ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS - 1 };

static struct {
    struct alqi_plat_lock lock;       /* of all below                       */
    struct alqi_preload_thread *list; /* attached threads: .inv.list        */
    struct alqi_preload_thread *pool; /* states without a thread            */
    uint32_t n_threads_ever;          /* attached so far, the orphan's too  */
    uint32_t last_mark;               /* of threads_quiesce                 */
    uint32_t n_ending;                /* off the list, not yet in the pool  */
    _Atomic(uint32_t) generation;     /* of the profiles; read without lock:
                                       * .pair.generation */
} threads = {.lock = ALQI_PLAT_LOCK(PRELOAD_THREADS)};

static struct {
    struct alqi_plat_lock lock;        /* of the state                      */
    struct alqi_preload_thread *state; /* NULL before start-up, and where
                                          there was no memory for it        */
} orphan = {.lock = ALQI_PLAT_LOCK(PRELOAD_ORPHAN)};

static pthread_key_t exit_key;
static bool has_exit_key;

/* ---- memory ----------------------------------------------------------------
 */

static uint32_t
depth_frames(void)
{
    uint32_t depth = alqi_preload_config.depth_frames;

    return depth != 0 ? depth : 1;
}

/* Maps a state, its capture cache and its frames as one piece of zeros, which
 * is never unmapped: the pool keeps it. */
static struct alqi_preload_thread *
state_map(void)
{
    size_t head = (sizeof(struct alqi_preload_thread) + 63) & ~(size_t)63;
    size_t memo = (alqi_stack_cache_bytes(depth_frames()) + 63) & ~(size_t)63;
    char *p =
        alqi_plat_pages_map(head + memo + depth_frames() * sizeof(uintptr_t));
    struct alqi_preload_thread *thread = (void *)p;

    if (p == NULL)
        return NULL;
    thread->memprof.cache = (void *)(p + head);
    thread->memprof.frames = (void *)(p + head + memo);
    return thread;
}

/* Makes a state ready for a new thread, whatever thread had it before. */
static void
state_open(struct alqi_preload_thread *thread)
{
    struct alqi_stack_cache *memo = thread->memprof.cache;
    uintptr_t *frames = thread->memprof.frames;

    alqi_stack_cache_init(memo, depth_frames());
    memset(&thread->memprof, 0, sizeof thread->memprof);
    alqi_memprof_thread_init(&thread->memprof, alqi_preload_domain, memo,
                             frames, 0);
    thread->limit_trigger = (struct alqi_preload_limit_trigger){0};
    thread->is_announced = false;
    thread->exit_rounds = 0;
    thread->memo_serial = 0;
    thread->tid = alqi_plat_tid_sigsafe();
}

/* ---- list ---------------------------------------------------------------- */

static void
list_insert_locked(struct alqi_preload_thread *thread)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_THREADS));
    thread->prev = NULL;
    thread->next = threads.list;
    if (threads.list != NULL)
        threads.list->prev = thread;
    threads.list = thread;
}

/* Takes a state off the list (.inv.list). */
static void
list_remove_locked(struct alqi_preload_thread *thread)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_THREADS));
    if (thread->prev != NULL)
        thread->prev->next = thread->next;
    else
        threads.list = thread->next;
    if (thread->next != NULL)
        thread->next->prev = thread->prev;
    thread->next = thread->prev = NULL;
}

/* A state from the pool, or a new one, with a number that no other thread has
 * had; NULL: no memory. */
static struct alqi_preload_thread *
state_take(void)
{
    struct alqi_preload_thread *thread;
    uint32_t index;

    alqi_plat_lock(&threads.lock);
    thread = threads.pool;
    if (thread != NULL)
        threads.pool = thread->next;
    index = threads.n_threads_ever++;
    alqi_plat_unlock(&threads.lock);
    if (thread == NULL)
        thread = state_map();
    if (thread != NULL)
        thread->index = index;
    return thread;
}

/* ---- the countdown ------------------------------------------------------- */

static int64_t
left_from_gap(uint64_t skip_words)
{
    return skip_words >= (uint64_t)ALQI_PARKED ? ALQI_PARKED
                                               : (int64_t)skip_words - 1;
}

/* Exact: every allocation trips, the engine's countdown is kept beside. */
static void
left_store(struct alqi_preload_thread *thread, int64_t left)
{
    bool is_exact = alqi_preload_exact_is(ALQI_PRELOAD_EXACT_ALL);

    if (ALQI_UNLIKELY(is_exact || alqi_preload_limit_trigger_is_up(thread))) {
        thread->engine_left_words = left;
        left = is_exact ? 0 : alqi_preload_limit_trigger_left(thread, left);
        thread->limit_trigger.from = left;
    }
    alqi_preload_hot.left_words = left;
}

static uint32_t
generation_now(void)
{
    return atomic_load_explicit(&threads.generation, memory_order_acquire);
}

/* Counts that a handler or a callback has allocated, once or more often. */
static inline void
within_count(void)
{
    if (alqi_preload_recorder_has_all())
        alqi_preload_count(ALQI_RAW_WITHIN, 1);
}

/* What was allocated while the countdown was parked has moved it. */
static inline void
parked_check(void)
{
    int64_t left = alqi_preload_hot.left_words;

    if (ALQI_UNLIKELY(left != ALQI_PARKED && left > ALQI_PARKED / 2))
        within_count();
}

void
alqi_preload_arm(struct alqi_preload_thread *thread, uint64_t skip_words)
{
    parked_check();
    left_store(thread, left_from_gap(skip_words));
    /* .pair.generation */
    atomic_signal_fence(memory_order_seq_cst);
    if (ALQI_UNLIKELY(generation_now() != thread->seen_generation))
        alqi_preload_rearm(thread);
    alqi_preload_pending_poll();
}

void
alqi_preload_rest(struct alqi_preload_thread *thread, int64_t left,
                  bool was_rearm_due)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;

    left_store(thread, left);
    /* .pair.generation */
    atomic_signal_fence(memory_order_seq_cst);
    if (ALQI_UNLIKELY(was_rearm_due ||
                      generation_now() != thread->seen_generation))
        hot->left_words = alqi_preload_with_rearm(hot->left_words);
    alqi_preload_pending_poll();
}

void
alqi_preload_tripped_inside(uint64_t words)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;

    /* Not parked: a thread that went in without parking puts nothing back, or
     * the profiles have changed meanwhile.  The words are put back, and its
     * next allocation outside draws again. */
    hot->left_words = alqi_preload_with_rearm(hot->left_words + (int64_t)words);
    within_count();
}

void
alqi_preload_rearm(struct alqi_preload_thread *thread)
{
    uint32_t seen;

    if (thread->hot == NULL)
        return; /* the orphan has no countdown */
    if (thread->memprof.mode != ALQI_MEMPROF_IDLE) {
        /* A thread that comes back from the engine must see that the generation
         * has changed. */
        alqi_preload_hot.left_words =
            alqi_preload_with_rearm(alqi_preload_hot.left_words);
        return;
    }
    if (alqi_preload_is_server_owed())
        alqi_preload_serve(NULL);
    do {
        seen = generation_now();
        thread->seen_generation = seen;
        left_store(thread,
                   left_from_gap(alqi_memprof_skip_words(&thread->memprof)));
        /* .pair.generation */
        atomic_signal_fence(memory_order_seq_cst);
    } while (generation_now() != seen);
}

void
alqi_preload_redraw(struct alqi_preload_thread *thread)
{
    thread->seen_generation = generation_now() - 1;
}

int64_t
alqi_preload_park(struct alqi_preload_thread *thread)
{
    int64_t left;

    if (thread->hot == NULL)
        return 0;
    left = alqi_preload_hot.left_words;
    alqi_preload_hot.left_words = ALQI_PARKED;
    return left;
}

void
alqi_preload_unpark(struct alqi_preload_thread *thread, int64_t left)
{
    if (thread->hot == NULL)
        return;
    parked_check();
    alqi_preload_hot.left_words = left;
    /* .pair.generation */
    atomic_signal_fence(memory_order_seq_cst);
    if (ALQI_UNLIKELY(generation_now() != thread->seen_generation ||
                      alqi_preload_is_server_owed()))
        alqi_preload_hot.left_words = alqi_preload_with_rearm(left);
    alqi_preload_pending_poll();
}

/* Requests a re-arm in another thread's countdown, which its owner changes
 * without atomics.  A subtraction that comes meanwhile either stands in the
 * countdown with the request, or overwrites the request. */
static bool
rearm_request(struct alqi_preload_hot *hot)
{
    int64_t left = __atomic_load_n(&hot->left_words, __ATOMIC_RELAXED);

    if (alqi_preload_is_rearm_due(left))
        return false;
    __atomic_compare_exchange_n(&hot->left_words, &left,
                                alqi_preload_with_rearm(left), false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return true;
}

/* Requests a re-arm of each thread that has not seen the generation
 * (.inv.rearm).  True: no thread was left without a request. */
static bool
rearm_round_locked(uint32_t generation)
{
    bool is_done = true;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_THREADS));
    for (struct alqi_preload_thread *t = threads.list; t; t = t->next) {
        if (__atomic_load_n(&t->seen_generation, __ATOMIC_RELAXED) !=
                generation &&
            rearm_request(t->hot))
            is_done = false;
    }
    return is_done;
}

void
alqi_preload_rearm_all(void *heap)
{
    bool was_controlling = alqi_preload_hot.is_controlling;
    uint32_t generation;
    unsigned rounds = 0;

    (void)heap;
    alqi_preload_hot.is_controlling = true;
    generation = 1 + atomic_fetch_add_explicit(&threads.generation, 1,
                                               memory_order_seq_cst);
    alqi_plat_barrier_all();
    alqi_plat_lock(&threads.lock);
    while (!rearm_round_locked(generation) && ++rounds < REARM_ROUNDS_MAX)
        alqi_plat_barrier_all();
    alqi_plat_unlock(&threads.lock);
    alqi_preload_hot.is_controlling = was_controlling;
    alqi_preload_pending_poll();
}

/* ---- quiescence ----------------------------------------------------------
 */

/* .pair.quiesce */
static bool
is_outside(const struct alqi_preload_thread *thread, bool with_callbacks)
{
    uint32_t mode = __atomic_load_n(&thread->memprof.mode, __ATOMIC_ACQUIRE);

    return mode == ALQI_MEMPROF_IDLE ||
           (mode == ALQI_MEMPROF_CALLBACK && !with_callbacks);
}

/* Marks each thread that is outside the engine; true: all are marked. */
static bool
all_seen_outside_locked(uint32_t mark, bool with_callbacks)
{
    bool is_all = true;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_THREADS));
    for (struct alqi_preload_thread *t = threads.list; t; t = t->next) {
        if (t->quiet_mark != mark && is_outside(t, with_callbacks))
            t->quiet_mark = mark;
        is_all = is_all && t->quiet_mark == mark;
    }
    return is_all;
}

/* A thread that enters the engine after the first barrier sees all that the
 * caller stored before.  Behind the second one the caller sees all that a
 * thread did before it left, which is a plain store (.pair.quiesce). */
static bool
quiesce(bool with_callbacks)
{
    enum { ROUNDS = 10 };
    const struct timespec a_while = {.tv_nsec = 1000000};
    bool is_quiet = false;
    uint32_t mark = 0;

    if (!alqi_plat_barrier_all())
        return false;
    for (unsigned i = 0; i < ROUNDS && !is_quiet; i++) {
        if (i > 0)
            nanosleep(&a_while, NULL);
        alqi_preload_hot.is_orphan_held = true; /* .inv.bypass */
        alqi_plat_lock(&orphan.lock);
        alqi_plat_lock(&threads.lock);
        if (i == 0)
            mark = ++threads.last_mark;
        is_quiet = all_seen_outside_locked(mark, with_callbacks) &&
                   !(with_callbacks && threads.n_ending > 0);
        alqi_plat_unlock(&threads.lock);
        alqi_plat_unlock(&orphan.lock);
        alqi_preload_hot.is_orphan_held = false;
    }
    return is_quiet && alqi_plat_barrier_all();
}

bool
alqi_preload_threads_quiesce(void)
{
    return quiesce(false);
}

bool
alqi_preload_threads_quiesce_callbacks(void)
{
    return quiesce(true);
}

/* ---- attach and end ------------------------------------------------------ */

struct alqi_preload_thread *
alqi_preload_thread_attach(void)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;
    struct alqi_preload_thread *thread;
    int saved = errno;

    if (hot->thread != NULL)
        return hot->thread;
    if (hot->is_orphan_held && !hot->is_ended) {
        hot->left_words = 0; /* .inv.bypass; ask again */
        return NULL;
    }
    if (hot->is_ended)
        return NULL; /* as it is: 0, or PARKED where it is the server's */
    hot->left_words = ALQI_PARKED;
    if (!atomic_load_explicit(&alqi_preload_is_up, memory_order_acquire)) {
        if (!atomic_load_explicit(&alqi_preload_is_off, memory_order_relaxed))
            hot->left_words = 0; /* ask again at the next allocation */
        return NULL;
    }
    hot->is_orphan_held = true; /* .inv.bypass */
    thread = state_take();
    if (thread == NULL) {
        hot->is_orphan_held = false;
        alqi_preload_count(ALQI_RAW_DROPPED_NOMEM, 1);
        hot->left_words = 1 << 20; /* ask again after 8 MiB */
        errno = saved;
        return NULL;
    }
    thread->hot = hot;
    state_open(thread);
    alqi_plat_lock(&threads.lock);
    list_insert_locked(thread);
    alqi_plat_unlock(&threads.lock);
    hot->thread = thread; /* first: a handler must not attach it again */
    hot->is_orphan_held = false;
    if (has_exit_key)
        pthread_setspecific(exit_key, thread);
    alqi_preload_rearm(thread);
    errno = saved;
    return thread;
}

/* Ends a thread: its entries go to the orphan, its state to the pool.  Signal
 * handlers find the thread parked, then without a state. */
static void
thread_end(struct alqi_preload_thread *thread)
{
    struct alqi_preload_hot *hot = thread->hot;
    bool is_last;

    hot->left_words = ALQI_PARKED;
    hot->is_ended = true;
    hot->is_orphan_held = true; /* .inv.bypass */
    hot->thread = NULL;
    alqi_plat_lock(&threads.lock);
    list_remove_locked(thread);
    threads.n_ending++;
    alqi_plat_unlock(&threads.lock);
    alqi_memprof_thread_end(&thread->memprof);
    alqi_preload_recorder_thread_end(thread);
    alqi_preload_exact_thread_end(thread);
    thread->hot = NULL;
    alqi_plat_lock(&threads.lock);
    thread->next = threads.pool;
    threads.pool = thread;
    threads.n_ending--;
    is_last = threads.list == NULL;
    alqi_plat_unlock(&threads.lock);
    hot->left_words = 0; /* each trips, to be told (malloc.c) */
    hot->is_orphan_held = false;
    if (is_last)
        alqi_plat_socket_wake(&alqi_preload_server.socket);
    alqi_preload_pending_poll();
}

/* Other destructors may still allocate: stay attached for as many rounds as
 * the system runs, but the last. */
static void
on_thread_exit(void *arg)
{
    struct alqi_preload_thread *thread = arg;

    alqi_preload_limit_trigger_drop(thread);
    if (++thread->exit_rounds < EXIT_ROUNDS &&
        pthread_setspecific(exit_key, thread) == 0)
        return;
    thread_end(thread);
}

bool
alqi_preload_threads_any(void)
{
    bool any;

    alqi_plat_lock(&threads.lock);
    any = threads.list != NULL;
    alqi_plat_unlock(&threads.lock);
    return any;
}

void
alqi_preload_threads_start(void)
{
    has_exit_key = pthread_key_create(&exit_key, on_thread_exit) == 0;
    orphan.state = state_take();
    if (orphan.state != NULL)
        state_open(orphan.state);
}

/* ---- the orphan ---------------------------------------------------------- */

struct alqi_preload_thread *
alqi_preload_orphan_lock(void)
{
    if (alqi_preload_hot.is_orphan_held) /* a signal came inside */
        return NULL;
    alqi_preload_hot.is_orphan_held = true;
    alqi_plat_lock(&orphan.lock);
    if (orphan.state == NULL) { /* before start-up, or no memory then */
        alqi_plat_unlock(&orphan.lock);
        alqi_preload_hot.is_orphan_held = false;
    }
    return orphan.state;
}

void
alqi_preload_orphan_unlock(struct alqi_preload_thread *state)
{
    if (state == NULL)
        return;
    alqi_plat_unlock(&orphan.lock);
    alqi_preload_hot.is_orphan_held = false;
}

struct alqi_preload_thread *
alqi_preload_current(void)
{
    struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    return thread != NULL ? thread : orphan.state;
}

uint32_t
alqi_preload_bypass_begin(void)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;
    bool was_held = hot->is_orphan_held;

    if (hot->thread == NULL) {
        hot->is_orphan_held = true; /* .inv.bypass */
        return was_held;
    }
    return hot->thread->memprof.mode == ALQI_MEMPROF_INSIDE
               ? (uint32_t)ALQI_MEMPROF_INSIDE
               : alqi_memprof_enter(&hot->thread->memprof);
}

void
alqi_preload_bypass_end(uint32_t was)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;

    if (hot->thread == NULL)
        hot->is_orphan_held = was != 0;
    else if (was != ALQI_MEMPROF_INSIDE)
        alqi_memprof_leave(&hot->thread->memprof, was);
}

void
alqi_preload_threads_each(void (*visit)(struct alqi_preload_thread *thread))
{
    alqi_plat_lock(&threads.lock);
    for (struct alqi_preload_thread *t = threads.list; t; t = t->next)
        visit(t);
    if (orphan.state != NULL)
        visit(orphan.state);
    alqi_plat_unlock(&threads.lock);
}

/* ---- fork ---------------------------------------------------------------- */

void
alqi_preload_threads_fork_prepare(void)
{
    alqi_plat_lock(&orphan.lock);
    alqi_plat_lock(&threads.lock);
}

void
alqi_preload_threads_fork_parent(void)
{
    alqi_plat_unlock(&threads.lock);
    alqi_plat_unlock(&orphan.lock);
}

/* Only the calling thread is here: the others' states are free again. */
void
alqi_preload_threads_fork_child(bool is_prepared)
{
    struct alqi_preload_thread *self = alqi_preload_hot.thread, *t, *next;

    for (t = threads.list; t != NULL; t = next) {
        next = t->next;
        if (t == self)
            continue;
        if (is_prepared)
            alqi_memprof_thread_end(&t->memprof);
        t->stream = NULL;
        t->hot = NULL;
        t->next = threads.pool;
        threads.pool = t;
    }
    threads.list = self;
    threads.n_ending = 0;
    if (self != NULL) {
        self->next = self->prev = NULL;
        self->stream = NULL;
        self->is_announced = false;
        self->tid = alqi_plat_tid_sigsafe();
    }
    if (orphan.state != NULL)
        orphan.state->stream = NULL;
    alqi_plat_lock_break(&threads.lock);
    alqi_plat_lock_break(&orphan.lock);
}
