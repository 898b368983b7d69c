/* spawn.c -- a new thread takes over its creator's profiles
 *
 * Where no thread tree covers the creator, creating a thread costs one test
 * more.  Otherwise the new thread begins here: it takes over what its creator
 * left in a record, and jumps to its own beginning, so that neither its stack
 * nor its backtraces show a frame of ours.  Attributes pass untouched.
 *
 *   creator: record, attached to the profiles --> on the list
 *   new thread: attaches, takes them over -----> the record is free
 *   creator, when there is no thread: lets go -> the record is free
 *
 * .inv.spawns  The list holds the records whose profiles are in no thread's
 *              hands yet.  It changes under `lock`, which fork takes, so that
 *              the child, where no such thread will ever begin, lets go of
 *              them.  Its holder is parked and INSIDE (fork.c, .inv.window).
 *
 * clone() is left alone: nothing tells when such a thread ends. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "preload/preload.h"

enum { SLAB_BYTES = 4096 };

/* How a thread is to begin, small enough for two registers. */
struct beginning {
    union {
        void *(*posix)(void *);
        int (*c11)(void *);
    };
    void *arg;
};

struct spawned {
    struct spawned *next;            /* in the list, or in the pool */
    struct spawned *prev;            /* in the list */
    struct beginning beginning;      /* the program's function and argument */
    struct alqi_memprof_trees trees; /* profiles that the thread takes over */
};

static struct {
    struct alqi_plat_lock lock;
    struct spawned *list; /* .inv.spawns */
    struct spawned *pool; /* free records */
} spawns = {.lock = ALQI_PLAT_LOCK(PRELOAD_SPAWNS)};

/* ---- the real ones ------------------------------------------------------- */

typedef int posix_create_fn(pthread_t *, const pthread_attr_t *,
                            void *(*)(void *), void *);
typedef int c11_create_fn(thrd_t *, thrd_start_t, void *);

/* The real function `name`, looked up once.  Threads that look it up at the
 * same time store the same address. */
static void *
real(void *_Atomic *known, const char *name)
{
    void *fn = atomic_load_explicit(known, memory_order_relaxed);

    if (ALQI_UNLIKELY(fn == NULL)) {
        fn = dlsym(RTLD_NEXT, name);
        atomic_store_explicit(known, fn, memory_order_relaxed);
    }
    return fn;
}

static posix_create_fn *
real_posix(void)
{
    static void *_Atomic known;

    return (posix_create_fn *)real(&known, "pthread_create");
}

int
alqi_preload_thread_create(pthread_t *thread, const pthread_attr_t *attr,
                           void *(*run)(void *), void *arg)
{
    posix_create_fn *create = real_posix();

    return create != NULL ? create(thread, attr, run, arg) : ENOSYS;
}

static c11_create_fn *
real_c11(void)
{
    static void *_Atomic known;

    return (c11_create_fn *)real(&known, "thrd_create");
}

/* ---- records ------------------------------------------------------------- */

/* The caller is parked; `thread` is NULL where there was no memory for it. */
static uint32_t
spawns_lock(struct alqi_preload_thread *thread)
{
    uint32_t was = ALQI_MEMPROF_IDLE;

    if (thread != NULL) {
        was = thread->memprof.mode;
        thread->memprof.mode = ALQI_MEMPROF_INSIDE;
        atomic_signal_fence(memory_order_seq_cst); /* .pair.handler */
    }
    alqi_plat_lock(&spawns.lock);
    return was;
}

static void
spawns_unlock(struct alqi_preload_thread *thread, uint32_t was)
{
    alqi_plat_unlock(&spawns.lock);
    atomic_signal_fence(memory_order_seq_cst); /* .pair.handler */
    if (thread != NULL)
        thread->memprof.mode = was;
}

static void
pool_add_locked(struct spawned *b)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_SPAWNS));
    b->next = spawns.pool;
    spawns.pool = b;
}

/* Adds a page of records to the pool, for good; false: no memory.  Called as
 * spawns_lock() requires. */
static bool
pool_grow(struct alqi_preload_thread *thread)
{
    struct spawned *slab = alqi_plat_pages_map(SLAB_BYTES);
    uint32_t was;

    if (slab == NULL)
        return false;
    was = spawns_lock(thread);
    for (unsigned i = 0; i < SLAB_BYTES / sizeof *slab; i++)
        pool_add_locked(&slab[i]);
    spawns_unlock(thread, was);
    return true;
}

/* Puts a record with the creator's profiles on the list; NULL: the pool is
 * empty. */
static struct spawned *
list_new_locked(const struct alqi_preload_thread *creator)
{
    struct spawned *b = spawns.pool;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_SPAWNS));
    if (b == NULL)
        return NULL;
    spawns.pool = b->next;
    alqi_memprof_trees_copy(&creator->memprof, &b->trees);
    b->prev = NULL;
    b->next = spawns.list;
    if (b->next != NULL)
        b->next->prev = b;
    spawns.list = b;
    return b;
}

/* Moves a record from the list to the pool.  Its profiles have been adopted, or
 * dropped. */
static void
list_remove_locked(struct spawned *b)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_SPAWNS));
    if (b->next != NULL)
        b->next->prev = b->prev;
    if (b->prev != NULL)
        b->prev->next = b->next;
    else
        spawns.list = b->next;
    pool_add_locked(b);
}

/* ---- in the creator ------------------------------------------------------ */

static ALQI_COLD void
count_lost(struct alqi_preload_thread *creator)
{
    struct alqi_memprof_trees trees;

    alqi_memprof_trees_copy(&creator->memprof, &trees);
    alqi_memprof_trees_drop(&creator->memprof, &trees, true);
}

/* The record for a thread that `creator`, the caller, is about to create.
 * NULL: the thread takes over nothing; where that is for want of memory, it is
 * counted. */
static ALQI_NOINLINE struct spawned *
spawn_of(struct alqi_preload_thread *creator, struct beginning beginning)
{
    struct spawned *b;
    int64_t left;
    uint32_t was;

    if (ALQI_UNLIKELY(alqi_preload_is_fork_unprepared()))
        alqi_preload_fork_child_unprepared();
    if (creator->memprof.mode == ALQI_MEMPROF_INSIDE)
        return NULL; /* a handler, which may not create threads */
    left = alqi_preload_park(creator);
    do {
        was = spawns_lock(creator);
        b = list_new_locked(creator);
        spawns_unlock(creator, was);
    } while (b == NULL && pool_grow(creator));
    if (b == NULL)
        count_lost(creator);
    else
        b->beginning = beginning;
    alqi_preload_unpark(creator, left);
    return b;
}

/* NULL: the new thread has nothing to take over. */
static inline struct spawned *
birth(struct beginning beginning)
{
    struct alqi_preload_thread *creator = alqi_preload_hot.thread;

    if (ALQI_LIKELY(creator == NULL || creator->memprof.trees.n == 0))
        return NULL;
    return spawn_of(creator, beginning);
}

static void
spawn_end(struct alqi_preload_thread *thread, struct spawned *b)
{
    uint32_t was = spawns_lock(thread);

    list_remove_locked(b);
    spawns_unlock(thread, was);
}

/* No thread was created: the creator lets go of the record and its profiles. */
static void
spawn_failed(struct spawned *b)
{
    struct alqi_preload_thread *creator = alqi_preload_hot.thread;
    int64_t left = alqi_preload_park(creator);

    alqi_memprof_trees_drop(&creator->memprof, &b->trees, false);
    spawn_end(creator, b);
    alqi_preload_unpark(creator, left);
}

/* ---- in the new thread --------------------------------------------------- */

/* Runs first in the new thread: takes over what the record has, frees the
 * record, and returns the thread's beginning.  A thread without a state takes
 * over nothing, which is counted. */
static ALQI_NOINLINE struct beginning
take_over(struct spawned *b)
{
    struct beginning beginning = b->beginning;
    struct alqi_preload_thread *thread = alqi_preload_thread_attach();

    if (thread == NULL) {
        alqi_memprof_trees_drop(NULL, &b->trees, true);
        spawn_end(NULL, b);
    } else {
        int64_t left = alqi_preload_park(thread);

        alqi_memprof_trees_adopt(&thread->memprof, &b->trees);
        spawn_end(thread, b);
        alqi_preload_redraw(thread);
        alqi_preload_unpark(thread, left);
    }
    return beginning;
}

static void *
begin_posix(void *record)
{
    struct beginning b = take_over(record);

    return b.posix(b.arg);
}

static int
begin_c11(void *record)
{
    struct beginning b = take_over(record);

    return b.c11(b.arg);
}

/* ---- the calls ----------------------------------------------------------- */

ALQI_EXPORT int
pthread_create(pthread_t *id, const pthread_attr_t *attributes,
               void *(*start)(void *), void *arg)
{
    struct spawned *b = birth((struct beginning){.posix = start, .arg = arg});
    int status;

    if (ALQI_LIKELY(b == NULL))
        return real_posix()(id, attributes, start, arg);
    status = real_posix()(id, attributes, begin_posix, b);
    if (status != 0)
        spawn_failed(b);
    return status;
}

ALQI_EXPORT int
thrd_create(thrd_t *id, thrd_start_t start, void *arg)
{
    struct spawned *b = birth((struct beginning){.c11 = start, .arg = arg});
    int status;

    if (ALQI_LIKELY(b == NULL))
        return real_c11()(id, start, arg);
    status = real_c11()(id, begin_c11, b);
    if (status != thrd_success)
        spawn_failed(b);
    return status;
}

/* ---- fork ---------------------------------------------------------------- */

void
alqi_preload_spawn_fork_prepare(void)
{
    alqi_plat_lock(&spawns.lock);
}

void
alqi_preload_spawn_fork_parent(void)
{
    alqi_plat_unlock(&spawns.lock);
}

void
alqi_preload_spawn_fork_child(void)
{
    struct spawned *b;

    while ((b = spawns.list) != NULL) {
        alqi_memprof_trees_drop(NULL, &b->trees, false);
        list_remove_locked(b);
    }
    alqi_plat_lock_break(&spawns.lock);
}
