/* python_small.c -- the small blocks of a Python interpreter
 *                                                    [doc/design/python.md]
 *
 * The interpreter serves requests of up to 512 bytes from arenas that it maps:
 * malloc sees none of them.  Before main() the two of its allocators that do so
 * are wrapped; what they hand on to malloc is left to malloc.
 *
 * .inv.small  A request is tried once: of up to SMALL_BYTES here, of more in
 *             malloc.  What realloc makes is tried here, whatever its size, and
 *             malloc is parked meanwhile: either size may be either's.
 * .inv.wrap_first  An interpreter that is opened later, or runs already, is not
 *             wrapped: threads may be in its allocators.
 *
 * PYTHONMALLOC, where the program's user sets it, replaces the wrapper as it
 * replaces the interpreter's own choice. */
#include <errno.h>

#include "memprof/filter.h"
#include "preload/exact.h"
#include "preload/limit_trigger.h"
#include "preload/python.h"
#include "stack/elf_module.h"

enum { SMALL_BYTES = 512, DOMAINS = 2 };

static struct alqi_python_allocator real[DOMAINS];
static const struct alqi_python *_Atomic wrapped; /* NULL: none is */

/* Served from an arena; the allocator hands 0 on to malloc. */
static inline bool
is_small(size_t size)
{
    return size - 1 < SMALL_BYTES;
}

/* Counts down the words of a block, as malloc.c does; true, and nothing is
 * counted: the next sampled word is among them. */
static inline bool
is_sampled(size_t size)
{
    int64_t left = alqi_preload_hot.left_words - (int64_t)((size + 15) >> 3);

    if (ALQI_UNLIKELY(left < 0))
        return true;
    alqi_preload_hot.left_words = left;
    return false;
}

/* The block was allocated and is not counted yet. */
static ALQI_NOINLINE void *
sampled(void *block, size_t size)
{
    if (block != NULL)
        alqi_preload_count(ALQI_RAW_PYTHON_SMALL, 1);
    return alqi_preload_tried(block, size);
}

static ALQI_NOINLINE void *
malloc_sampled(const struct alqi_python_allocator *a, size_t size)
{
    return sampled(a->malloc(a->ctx, size), size);
}

static void *
small_malloc(void *ctx, size_t size)
{
    const struct alqi_python_allocator *a = ctx;

    if (ALQI_UNLIKELY(is_small(size) && is_sampled(size)))
        return malloc_sampled(a, size);
    return a->malloc(a->ctx, size);
}

static ALQI_NOINLINE void *
calloc_sampled(const struct alqi_python_allocator *a, size_t n, size_t size)
{
    return sampled(a->calloc(a->ctx, n, size), n * size);
}

static void *
small_calloc(void *ctx, size_t n, size_t size)
{
    const struct alqi_python_allocator *a = ctx;
    size_t bytes;

    if (!__builtin_mul_overflow(n, size, &bytes) && is_small(bytes) &&
        is_sampled(bytes))
        return calloc_sampled(a, n, size);
    return a->calloc(a->ctx, n, size);
}

static ALQI_NOINLINE void
free_tracked(const struct alqi_python_allocator *a, void *block)
{
    if (block != NULL)
        alqi_preload_untrack(block);
    a->free(a->ctx, block);
}

static void
small_free(void *ctx, void *block)
{
    const struct alqi_python_allocator *a = ctx;

    if (ALQI_UNLIKELY(alqi_memprof_filter_hit(block)))
        free_tracked(a, block);
    else
        a->free(a->ctx, block);
}

/* Tries what realloc made; entries of the old block have moved. */
static ALQI_NOINLINE void *
tried_reborn(void *block, size_t size)
{
    const void *outer = alqi_preload_hot.reborn;

    if (block == NULL)
        return NULL;
    alqi_preload_hot.reborn = block;
    alqi_preload_tried(block, size);
    alqi_preload_hot.reborn = outer;
    return block;
}

/* The block is tracked, or shares its filter byte with one that is: as
 * malloc.c's realloc_tracked. */
static ALQI_NOINLINE void *
realloc_tracked(const struct alqi_python_allocator *a, void *block, size_t size)
{
    struct alqi_preload_thread *thread = alqi_preload_hot.thread;
    struct alqi_preload_moving outer;
    int64_t left;
    struct alqi_memprof_entry *taken;
    int saved;
    bool ok;
    void *p;

    if (ALQI_UNLIKELY(alqi_preload_is_fork_unprepared()))
        thread = alqi_preload_fork_child_unprepared();
    if (thread == NULL) /* its first call */
        thread = alqi_preload_thread_attach();
    if (thread == NULL) { /* one life ends, another may begin */
        alqi_preload_untrack(block);
        return a->realloc(a->ctx, block, size);
    }
    left = alqi_preload_park(thread);
    taken = alqi_memprof_realloc_begin(&thread->memprof, block, &ok);
    p = a->realloc(a->ctx, block, size);
    saved = errno;
    alqi_preload_hot.left_words = ALQI_PARKED;
    outer = alqi_preload_recorder_moving(thread, taken, p);
    if (p == NULL)
        alqi_memprof_realloc_failed(&thread->memprof, taken);
    else
        alqi_memprof_realloc_done(&thread->memprof, taken);
    alqi_preload_unpark(thread, left);
    tried_reborn(p, size);
    alqi_preload_recorder_moved(thread, outer);
    errno = saved;
    return p;
}

/* A request of another thread's to draw anew, which comes while malloc is
 * parked, stays. */
static void *
small_realloc(void *ctx, void *block, size_t size)
{
    const struct alqi_python_allocator *a = ctx;
    struct alqi_preload_hot *hot = &alqi_preload_hot;
    int64_t left = hot->left_words;
    void *p;

    if (block == NULL)
        return small_malloc(ctx, size);
    if (ALQI_UNLIKELY(alqi_memprof_filter_hit(block)))
        return realloc_tracked(a, block, size);
    hot->left_words = ALQI_PARKED;
    p = a->realloc(a->ctx, block, size);
    hot->left_words = ALQI_LIKELY(hot->left_words > ALQI_PARKED / 2)
                          ? left
                          : alqi_preload_with_rearm(left);
    return is_sampled(size) ? tried_reborn(p, size) : p;
}

static void
wrap(const struct alqi_python *python)
{
    static const int domains[DOMAINS] = {ALQI_PYTHON_MEM, ALQI_PYTHON_OBJ};

    for (unsigned i = 0; i < DOMAINS; i++) {
        struct alqi_python_allocator ours = {
            &real[i], small_malloc, small_calloc, small_realloc, small_free};

        python->get_allocator(domains[i], &real[i]);
        python->set_allocator(domains[i], &ours);
    }
    atomic_store_explicit(&wrapped, python, memory_order_relaxed);
}

bool
alqi_preload_python_small_maps(const void *code)
{
    const struct alqi_python *python =
        atomic_load_explicit(&wrapped, memory_order_relaxed);

    return python != NULL && (uintptr_t)code - python->text_start <
                                 python->text_end - python->text_start;
}

static void
look(const struct alqi_stack_mapping *mapping)
{
    alqi_preload_python_module(mapping->start);
}

/* Not where every block is recorded, and so every free: a block of the
 * interpreter's that malloc served would be freed twice.  Not for probes alone,
 * which a whole machine may have and nobody listen to. */
void
alqi_preload_python_small_start(void)
{
    const struct alqi_preload_config *c = &alqi_preload_config;
    const struct alqi_python *python;

    if (c->has_no_python || c->is_exact ||
        (!c->is_on && !c->has_control && c->signal == 0))
        return;
    alqi_stack_modules_each(look);
    python = atomic_load_explicit(&alqi_preload_python, memory_order_acquire);
    if (python != NULL && !python->is_initialized())
        wrap(python);
}
