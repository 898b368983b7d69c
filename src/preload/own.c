/* own.c -- blocks of an allocator that is linked into the program
 *                                                     [doc/design/patch.md]
 *
 * Each function of it begins with a jump to one of the hooks here
 * (own_patch.c), which calls the function as it was, and counts.
 *
 *   thread: outside --a hook--> within --the function returns--> outside
 *
 * .inv.nested  Within, nothing is counted: the functions call each other.  The
 *              countdown is parked.
 * .inv.thrown  An exception may leave a function, and so the thread within: a
 *              hook that is called from outside of that frame puts the
 *              countdown back. */
#include <errno.h>
#include <string.h>

#include "memprof/filter.h"
#include "preload/exact.h"
#include "preload/own.h"

#define FRAME __builtin_frame_address(0)

static inline bool
is_parked(void)
{
    return alqi_preload_hot.left_words > ALQI_PARKED / 2;
}

/* False: the thread is within, or not recorded. */
static inline bool
enter(const void *frame)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;

    if (ALQI_UNLIKELY(is_parked())) {
        if (hot->own_frame == NULL || frame < hot->own_frame)
            return false;
        hot->left_words = hot->own_left_words; /* .inv.thrown */
    }
    hot->own_frame = frame;
    hot->own_left_words = hot->left_words;
    hot->left_words = ALQI_PARKED;
    return true;
}

/* A request of another thread's to draw anew, which came meanwhile, stays. */
static inline void
leave(void)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;

    hot->left_words = ALQI_LIKELY(is_parked())
                          ? hot->own_left_words
                          : alqi_preload_with_rearm(hot->own_left_words);
    hot->own_frame = NULL;
}

/* Counts the words of a block, as malloc.c does; true, and nothing is counted:
 * the next sampled word is among them. */
static inline bool
is_sampled(size_t size)
{
    int64_t left =
        alqi_preload_hot.left_words - (int64_t)alqi_base_malloc_words(size);

    if (ALQI_UNLIKELY(left < 0))
        return true;
    alqi_preload_hot.left_words = left;
    return false;
}

static ALQI_NOINLINE void
sampled(uintptr_t block, size_t size)
{
    int saved = errno;

    alqi_preload_tried((void *)block, size);
    errno = saved;
}

static inline void
tried(uintptr_t block, size_t size)
{
    if (block != 0 && is_sampled(size))
        sampled(block, size);
}

/* ---- allocations --------------------------------------------------------- */

static inline uintptr_t
allocated(uintptr_t a, uintptr_t b, uintptr_t c,
          const struct alqi_preload_own_entry *e, size_t size,
          const void *frame)
{
    uintptr_t block;

    if (!enter(frame))
        return e->real(a, b, c);
    block = e->real(a, b, c);
    leave();
    tried(block, size);
    return block;
}

static uintptr_t
hook_size(uintptr_t a, uintptr_t b, uintptr_t c,
          const struct alqi_preload_own_entry *e)
{
    return allocated(a, b, c, e, a, FRAME);
}

static uintptr_t
hook_size_second(uintptr_t a, uintptr_t b, uintptr_t c,
                 const struct alqi_preload_own_entry *e)
{
    return allocated(a, b, c, e, b, FRAME);
}

static uintptr_t
hook_text(uintptr_t a, uintptr_t b, uintptr_t c,
          const struct alqi_preload_own_entry *e)
{
    size_t size = a != 0 ? strlen((const char *)a) + 1 : 0;

    return allocated(a, b, c, e, size, FRAME);
}

static uintptr_t
hook_text_part(uintptr_t a, uintptr_t b, uintptr_t c,
               const struct alqi_preload_own_entry *e)
{
    size_t size = a != 0 ? strnlen((const char *)a, b) + 1 : 0;

    return allocated(a, b, c, e, size, FRAME);
}

/* A product that overflows is of no block. */
static uintptr_t
hook_product(uintptr_t a, uintptr_t b, uintptr_t c,
             const struct alqi_preload_own_entry *e)
{
    return allocated(a, b, c, e, a * b, FRAME);
}

static uintptr_t
hook_status(uintptr_t a, uintptr_t b, uintptr_t c,
            const struct alqi_preload_own_entry *e)
{
    uintptr_t status;

    if (!enter(FRAME))
        return e->real(a, b, c);
    status = e->real(a, b, c);
    leave();
    if ((int)status == 0)
        tried(*(const uintptr_t *)a, c);
    return status;
}

/* ---- frees --------------------------------------------------------------- */

/* The block may be tracked; in the exact mode all frees come here, and what the
 * functions free themselves is no block. */
static ALQI_NOINLINE uintptr_t
free_slow(uintptr_t a, uintptr_t b, uintptr_t c,
          const struct alqi_preload_own_entry *e, const void *frame)
{
    bool is_exact = !alqi_preload_exact_is(ALQI_PRELOAD_EXACT_OFF), is_outer;
    uintptr_t result;

    if (!is_exact) {
        if (a != 0)
            alqi_preload_untrack((void *)a);
        return e->real(a, b, c);
    }
    if (a != 0 && !alqi_preload_is_within())
        alqi_preload_untrack((void *)a);
    is_outer = enter(frame);
    result = e->real(a, b, c);
    if (is_outer)
        leave();
    return result;
}

static uintptr_t
hook_free(uintptr_t a, uintptr_t b, uintptr_t c,
          const struct alqi_preload_own_entry *e)
{
    if (ALQI_UNLIKELY(alqi_memprof_filter_hit((const void *)a)))
        return free_slow(a, b, c, e, FRAME);
    return e->real(a, b, c);
}

/* ---- realloc ------------------------------------------------------------- */

static ALQI_NOINLINE void
sampled_reborn(uintptr_t block, size_t size)
{
    const void *outer = alqi_preload_hot.reborn;

    alqi_preload_hot.reborn = (const void *)block;
    sampled(block, size);
    alqi_preload_hot.reborn = outer;
}

/* As malloc.c's realloc_exact. */
static uintptr_t
realloc_exact(struct alqi_preload_thread *thread, uintptr_t a, uintptr_t b,
              uintptr_t c, const struct alqi_preload_own_entry *e)
{
    struct alqi_preload_exact_moving moving =
        alqi_preload_exact_moves(thread, (const void *)a);
    uintptr_t block = e->real(a, b, c);
    int saved = errno;

    alqi_preload_exact_moved(moving, (const void *)block, b);
    leave();
    if (block != 0)
        sampled_reborn(block, b);
    errno = saved;
    return block;
}

/* As malloc.c's realloc_tracked. */
static uintptr_t
realloc_tracked(struct alqi_preload_thread *thread, uintptr_t a, uintptr_t b,
                uintptr_t c, const struct alqi_preload_own_entry *e)
{
    struct alqi_preload_moving outer;
    struct alqi_memprof_entry *taken;
    uintptr_t block;
    int saved;
    bool ok;

    taken = alqi_memprof_realloc_begin(&thread->memprof, (void *)a, &ok);
    block = e->real(a, b, c);
    saved = errno;
    outer = alqi_preload_recorder_moving(thread, taken, (const void *)block);
    if (block == 0 && b != 0)
        alqi_memprof_realloc_failed(&thread->memprof, taken);
    else
        alqi_memprof_realloc_done(&thread->memprof, taken);
    leave();
    if (block != 0 && is_sampled(b))
        sampled_reborn(block, b);
    alqi_preload_recorder_moved(thread, outer);
    errno = saved;
    return block;
}

/* The thread's state, made if this is its first call, to move a block by: it
 * stays within.  NULL: it can get none. */
static struct alqi_preload_thread *
state_within(void)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;
    struct alqi_preload_thread *thread = hot->thread;

    if (ALQI_UNLIKELY(alqi_preload_is_fork_unprepared()))
        thread = alqi_preload_fork_child_unprepared();
    if (ALQI_LIKELY(thread != NULL))
        return thread;
    thread = alqi_preload_thread_attach();
    if (!is_parked()) { /* it has a countdown now */
        hot->own_left_words = hot->left_words;
        hot->left_words = ALQI_PARKED;
    }
    return thread;
}

/* The thread is within; its block may be tracked. */
static ALQI_NOINLINE uintptr_t
realloc_slow(uintptr_t a, uintptr_t b, uintptr_t c,
             const struct alqi_preload_own_entry *e)
{
    struct alqi_preload_thread *thread = state_within();
    uintptr_t block;

    if (!alqi_preload_exact_is(ALQI_PRELOAD_EXACT_OFF))
        return realloc_exact(thread, a, b, c, e);
    if (thread != NULL)
        return realloc_tracked(thread, a, b, c, e);
    alqi_preload_untrack((void *)a); /* one life ends, another may begin */
    block = e->real(a, b, c);
    leave();
    tried(block, b);
    return block;
}

static uintptr_t
hook_realloc(uintptr_t a, uintptr_t b, uintptr_t c,
             const struct alqi_preload_own_entry *e)
{
    uintptr_t block;

    if (a == 0)
        return allocated(a, b, c, e, b, FRAME);
    if (!enter(FRAME))
        return e->real(a, b, c);
    if (ALQI_UNLIKELY(alqi_memprof_filter_hit((const void *)a)))
        return realloc_slow(a, b, c, e);
    block = e->real(a, b, c);
    leave();
    if (block != 0 && is_sampled(b))
        sampled_reborn(block, b);
    return block;
}

alqi_preload_own_hook *const alqi_preload_own_hooks[ALQI_OWN_KINDS] = {
    [ALQI_OWN_SIZE] = hook_size,
    [ALQI_OWN_SIZE_SECOND] = hook_size_second,
    [ALQI_OWN_PRODUCT] = hook_product,
    [ALQI_OWN_STATUS] = hook_status,
    [ALQI_OWN_TEXT] = hook_text,
    [ALQI_OWN_TEXT_PART] = hook_text_part,
    [ALQI_OWN_REALLOC] = hook_realloc,
    [ALQI_OWN_FREE] = hook_free,
};
