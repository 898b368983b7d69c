/* malloc.c -- the malloc family: one countdown in malloc, one load in free
 *
 * Every block stays where the program's allocator put it.  The fast paths end
 * in tail calls, so they have no frame of their own.
 *
 *   malloc: count the words down --countdown still >= 0--> the allocator
 *             '--below 0--> tripped: attach, draw anew, record, or refuse
 *   free:   filter byte 0 --> the allocator
 *             '--set--> untrack, then the allocator
 *
 * .inv.before  A tracked block is untracked before its address can be reused:
 *              entries leave the index before the real free or realloc.
 *
 * The values of the countdown are preload.h's (.inv.count). */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "memprof/filter.h"
#include "preload/exact.h"
#include "preload/got.h"
#include "preload/limit_trigger.h"
#include "preload/limit.h"
#include "preload/live.h"
#include "preload/preload.h"

__thread struct alqi_preload_hot alqi_preload_hot
    __attribute__((tls_model("initial-exec")));

/* Counts `words` down; true when the next sampled word is among them. */
static inline bool
count_down(uint64_t words)
{
    int64_t left = alqi_preload_hot.left_words - (int64_t)words;

    alqi_preload_hot.left_words = left;
    return ALQI_UNLIKELY(left < 0);
}

/* Passes a sampled block to the engine, whose next skip becomes the countdown.
 * words_after: words of the block after the sampled one.  Keeps errno. */
static void
sample(struct alqi_preload_thread *thread, void *block, size_t size_bytes,
       uint64_t words_after, const struct alqi_stack_regs *caller)
{
    int saved = errno;
    uint64_t skip_words;

    alqi_preload_hot.left_words = ALQI_PARKED;
    alqi_preload_got_look(ALQI_PRELOAD_GOT_LOOK_NS);
    skip_words = alqi_memprof_sampled(&thread->memprof, block, size_bytes,
                                      words_after, caller);
    alqi_preload_arm(thread, skip_words);
    if (alqi_preload_live_is_due())
        alqi_preload_limit_reached(thread);
    errno = saved;
}

/* Exact: each allocation is recorded; the engine's countdown runs beside. */
static ALQI_NOINLINE void
tripped_exact(struct alqi_preload_thread *thread, void *block,
              size_t size_bytes, uint64_t words,
              const struct alqi_stack_regs *caller)
{
    int *error = &errno, saved = *error;

    alqi_preload_exact_alloc(thread, block, size_bytes, caller);
    thread->engine_left_words -= (int64_t)words;
    if (ALQI_UNLIKELY(thread->engine_left_words < 0))
        sample(thread, block, size_bytes,
               (uint64_t)(-thread->engine_left_words) - 1, caller);
    else
        alqi_preload_unpark(thread, 0);
    *error = saved;
}

/* Words of this block behind the sampled one.  A handler that allocates while
 * the countdown of what it interrupted is below zero takes over that sample,
 * and draws: so there may be more behind than the block has, or none (left >=
 * 0), where the block is tried against the new gap. */
static inline uint64_t
words_after(int64_t left, uint64_t words)
{
    uint64_t n = (uint64_t)(-left);

    return (n < words ? n : words) - 1;
}

/* The countdown stood at the limit trigger, or at a sample before it. */
static ALQI_NOINLINE void
tripped_at_trigger(struct alqi_preload_thread *thread, void *block,
                   size_t size_bytes, uint64_t words,
                   const struct alqi_stack_regs *caller)
{
    bool was_rearm_due = alqi_preload_is_rearm_due(alqi_preload_hot.left_words);

    alqi_preload_limit_trigger_update(thread);
    if (block == NULL) { /* no trial, and not allocated */
        thread->limit_trigger.words -= words;
        thread->engine_left_words += (int64_t)words;
        alqi_preload_rest(thread, thread->engine_left_words, was_rearm_due);
        return;
    }
    if (was_rearm_due) {
        alqi_preload_rearm(thread);
        thread->engine_left_words -= (int64_t)words;
    }
    if (alqi_preload_exact_is(ALQI_PRELOAD_EXACT_ALL))
        alqi_preload_exact_alloc(thread, block, size_bytes, caller);
    if (thread->engine_left_words < 0)
        sample(thread, block, size_bytes,
               words_after(thread->engine_left_words, words), caller);
    else
        alqi_preload_rest(thread, thread->engine_left_words, false);
}

/* A thread that has ended allocates: another library's destructor comes after
 * ours.  In the exact mode the orphan's state writes it; else it is counted. */
static ALQI_NOINLINE void
tripped_ended(void *block, size_t size_bytes,
              const struct alqi_stack_regs *caller)
{
    struct alqi_preload_thread *orphan = NULL;
    int saved = errno;

    if (alqi_preload_exact_is(ALQI_PRELOAD_EXACT_ALL))
        orphan = alqi_preload_orphan_lock();
    if (orphan != NULL)
        alqi_preload_exact_alloc(orphan, block, size_bytes, caller);
    else if (alqi_preload_recorder_is_on())
        alqi_preload_count(ALQI_RAW_AFTER_END, 1);
    alqi_preload_orphan_unlock(orphan);
    alqi_preload_hot.left_words = 0;
    errno = saved;
}

/* The countdown passed zero in this allocation of `words`. */
static inline void *
tripped_by(const struct alqi_stack_regs *caller, void *block, size_t size_bytes,
           uint64_t words)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;
    struct alqi_preload_thread *thread = hot->thread;
    int64_t left = hot->left_words;

    if (ALQI_UNLIKELY(alqi_preload_is_fork_unprepared()))
        thread = alqi_preload_fork_child_unprepared();
    if (thread != NULL && thread->memprof.mode != ALQI_MEMPROF_IDLE) {
        alqi_preload_tripped_inside(words);
        return block;
    }
    if (thread != NULL && alqi_preload_limit_trigger_is_up(thread)) {
        if (thread->limit_trigger.is_asking)
            hot->left_words = ALQI_PARKED;
        else
            tripped_at_trigger(thread, block, size_bytes, words, caller);
        return block;
    }
    if (block == NULL) {
        /* A failed request is no trial.  A new draw keeps the sampling rate:
         * the rest of a geometric skip is distributed as a new skip is. */
        if (thread != NULL)
            alqi_preload_rearm(thread);
        else
            hot->left_words = 0;
        return NULL;
    }
    if (thread == NULL || alqi_preload_is_rearm_due(left)) {
        /* New thread, or new profiles: draw, then try these words. */
        if (thread == NULL)
            thread = alqi_preload_thread_attach();
        else
            alqi_preload_rearm(thread);
        if (thread == NULL && hot->is_ended)
            tripped_ended(block, size_bytes, caller);
        if (thread == NULL || !count_down(words))
            return block;
        left = hot->left_words;
    }
    if (alqi_preload_exact_is(ALQI_PRELOAD_EXACT_ALL))
        tripped_exact(thread, block, size_bytes, words, caller);
    else if (left < 0 || (count_down(words) && (left = hot->left_words) < 0))
        sample(thread, block, size_bytes, words_after(left, words), caller);
    return block;
}

/* Reached by tail calls, so that its caller is the program's; where the
 * compiler made none, our own frames are skipped. */
static ALQI_NOINLINE void *
tripped(void *block, size_t size_bytes, uint64_t words)
{
    struct alqi_stack_regs caller = alqi_stack_regs_of_caller();

    return tripped_by(&caller, block, size_bytes, words);
}

/* Counts the words of a block that the allocator has given already. */
static inline void *
tried(void *block, size_t size_bytes)
{
    uint64_t words;

    if (block == NULL)
        return NULL;
    words = alqi_base_malloc_words(size_bytes);
    return count_down(words) ? tripped(block, size_bytes, words) : block;
}

/* As tried(), for a mapping. */
void *
alqi_preload_tried(void *block, size_t size_bytes)
{
    struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    if (thread != NULL)
        alqi_preload_limit_trigger_pass(thread,
                                        alqi_base_malloc_words(size_bytes));
    return tried(block, size_bytes);
}

/* ---- requests ---------------------------------------------------------------
 *
 * Words are counted first: where the countdown has passed zero a limit
 * trigger may refuse them before anything is done, else the call ends in a jump
 * to the allocator. */

/* (size + 15) >> 3 is alqi_base_malloc_words(size) below SIZE_MAX - 15, and at
 * most 1 above: such requests fail. */
static inline uint64_t
words_asked(size_t size_bytes)
{
    return (size_bytes + 15) >> 3;
}

/* An allocator may come back to us through its other entry points. */
static inline int64_t
park(void)
{
    int64_t left = alqi_preload_hot.left_words;

    alqi_preload_hot.left_words = ALQI_PARKED;
    return left;
}

/* An allocation whose words have tripped: asks the limit trigger, and allocates
 * parked, so that the allocator's own calls are not counted again. */
static ALQI_NOINLINE void *
sized_slow(size_t size, void *(*const *real)(size_t))
{
    uint64_t words = words_asked(size);
    int64_t left;
    void *block;

    if (!alqi_preload_limit_trigger_asked(words))
        return NULL;
    left = park();
    block = (*real)(size);
    alqi_preload_hot.left_words = left;
    return tripped(block, size, words);
}

/* As sized_slow(), with an alignment. */
static ALQI_NOINLINE void *
aligned_slow(size_t align, size_t size, void *(*const *real)(size_t, size_t))
{
    uint64_t words = words_asked(size);
    int64_t left;
    void *block;

    if (!alqi_preload_limit_trigger_asked(words))
        return NULL;
    left = park();
    block = (*real)(align, size);
    alqi_preload_hot.left_words = left;
    return tripped(block, size, words);
}

/* As sized_slow(), for calloc. bytes: n * size, or SIZE_MAX if that overflows.
 */
static ALQI_NOINLINE void *
calloc_slow(size_t n, size_t size, size_t bytes)
{
    uint64_t words = words_asked(bytes);
    int64_t left;
    void *block;

    if (!alqi_preload_limit_trigger_asked(words))
        return NULL;
    left = park();
    block = alqi_preload_real.calloc(n, size);
    alqi_preload_hot.left_words = left;
    return tripped(block, bytes, words);
}

static ALQI_NOINLINE int
tripped_status(void *block, size_t size_bytes, uint64_t words)
{
    struct alqi_stack_regs caller = alqi_stack_regs_of_caller();

    tripped_by(&caller, block, size_bytes, words);
    return 0;
}

/* As sized_slow(), for posix_memalign, which returns a status and keeps errno.
 */
static ALQI_NOINLINE int
memalign_slow(void **out, size_t align, size_t size)
{
    uint64_t words = words_asked(size);
    int saved = errno, status;
    int64_t left;

    if (!alqi_preload_limit_trigger_asked(words)) {
        errno = saved;
        return ENOMEM;
    }
    left = park();
    status = alqi_preload_real.posix_memalign(out, align, size);
    alqi_preload_hot.left_words = left;
    if (status == 0)
        return tripped_status(*out, size, words);
    tripped(NULL, size, words);
    return status;
}

/* The functions that programs live on are each in one line of the cache. */
#define FAST ALQI_EXPORT __attribute__((aligned(64)))

FAST void *
malloc(size_t size)
{
    if (count_down(words_asked(size)))
        return sized_slow(size, &alqi_preload_real.malloc);
    return alqi_preload_real.malloc(size);
}

FAST void *
calloc(size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes))
        bytes = SIZE_MAX;
    if (count_down(words_asked(bytes)))
        return calloc_slow(n, size, bytes);
    return alqi_preload_real.calloc(n, size);
}

/* ---- free ------------------------------------------------------------------
 */

/* Whether the caller may go on and free the block. */
static bool
untrack(void *block)
{
    struct alqi_preload_thread *thread = alqi_preload_hot.thread;
    int saved = errno;
    bool may_free;

    if (ALQI_UNLIKELY(alqi_preload_is_fork_unprepared()))
        thread = alqi_preload_fork_child_unprepared();
    if (ALQI_LIKELY(thread != NULL)) {
        int64_t left = alqi_preload_park(thread);

        may_free = alqi_memprof_freeing(&thread->memprof, block);
        alqi_preload_unpark(thread, left);
    } else {
        thread = alqi_preload_orphan_lock();
        may_free =
            thread == NULL || alqi_memprof_freeing(&thread->memprof, block);
        alqi_preload_orphan_unlock(thread);
    }
    errno = saved;
    return may_free;
}

static void
entry_end(struct alqi_preload_thread *thread, void *block)
{
    bool ok;
    struct alqi_memprof_entry *taken =
        alqi_memprof_realloc_begin(&thread->memprof, block, &ok);

    if (taken != NULL)
        alqi_memprof_realloc_done(&thread->memprof, taken);
}

/* By the orphan's state where the thread has none: it has allocated nothing, or
 * is ending. */
void
alqi_preload_untrack(void *block)
{
    struct alqi_preload_thread *thread = alqi_preload_hot.thread;
    int saved = errno;

    if (ALQI_UNLIKELY(alqi_preload_is_fork_unprepared()))
        thread = alqi_preload_fork_child_unprepared();
    if (!alqi_preload_exact_is(ALQI_PRELOAD_EXACT_OFF))
        alqi_preload_exact_free(block);
    if (ALQI_LIKELY(thread != NULL)) {
        int64_t left = alqi_preload_park(thread);

        entry_end(thread, block);
        alqi_preload_unpark(thread, left);
    } else {
        thread = alqi_preload_orphan_lock();
        if (thread != NULL)
            entry_end(thread, block);
        alqi_preload_orphan_unlock(thread);
    }
    errno = saved;
}

/* Whether the caller may go on and free the block. */
static bool
untrack_exact(void *block)
{
    struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    if (ALQI_UNLIKELY(alqi_preload_is_fork_unprepared()))
        alqi_preload_fork_child_unprepared();
    if (alqi_preload_is_within())
        return true;
    /* A handler interrupted the recorder: the block waits (init.c). */
    if (thread != NULL && thread->memprof.mode == ALQI_MEMPROF_INSIDE)
        return untrack(block);
    alqi_preload_exact_free(block);
    return !alqi_memprof_filter_may_hold(block) || untrack(block);
}

static ALQI_NOINLINE void
free_slow(void *block)
{
    if (block == NULL || alqi_preload_is_boot(block))
        return;
    if (alqi_preload_exact_is(ALQI_PRELOAD_EXACT_OFF) ? untrack(block)
                                                      : untrack_exact(block))
        alqi_preload_real.free(block);
}

FAST void
free(void *block)
{
    if (ALQI_UNLIKELY(alqi_memprof_filter_hit(block)))
        free_slow(block);
    else
        alqi_preload_real.free(block);
}

/* ---- realloc ---------------------------------------------------------------
 */

/* Moves a block of the boot arena to the allocator.  The arena frees nothing.
 */
static void *
realloc_boot(void *block, size_t size)
{
    size_t old = alqi_preload_boot_size(block);
    void *p = malloc(size);

    if (p != NULL)
        memcpy(p, block, old < size ? old : size);
    return p;
}

/* The old block's entries are out of the index while the allocator works:
 * another thread may get the old address at any moment (.inv.before). */
static void *
realloc_tracked(struct alqi_preload_thread *thread, void *block, size_t size,
                struct alqi_preload_moving *outer)
{
    struct alqi_memprof_entry *taken;
    int64_t left = alqi_preload_park(thread);
    int saved;
    bool ok;
    void *p;

    taken = alqi_memprof_realloc_begin(&thread->memprof, block, &ok);
    p = alqi_preload_real.realloc(block, size);
    if (thread->hot !=
        NULL) /* what the allocator asked of us is no block more */
        alqi_preload_hot.left_words = ALQI_PARKED;
    saved = errno;
    *outer = alqi_preload_recorder_moving(thread, taken, p);
    /* realloc(p, 0) frees p and returns NULL; with any other size NULL means
     * that p lives on. */
    if (p == NULL && size != 0)
        alqi_memprof_realloc_failed(&thread->memprof, taken);
    else
        alqi_memprof_realloc_done(&thread->memprof, taken);
    errno = saved;
    alqi_preload_unpark(thread, left);
    return p;
}

/* One life: freed and allocated again, linked; or, if it failed, neither. */
static ALQI_NOINLINE void *
realloc_exact(void *block, size_t size)
{
    struct alqi_preload_thread *thread = alqi_preload_thread_attach();
    struct alqi_memprof_entry *taken = NULL;
    struct alqi_preload_exact_moving moving;
    int64_t left = thread != NULL ? alqi_preload_park(thread) : 0;
    bool ok;
    void *p;

    if (thread != NULL && alqi_memprof_filter_may_hold(block))
        taken = alqi_memprof_realloc_begin(&thread->memprof, block, &ok);
    moving = alqi_preload_exact_moves(thread, block);
    p = alqi_preload_real.realloc(block, size);
    if (thread != NULL) /* what the allocator asked of us is no block more */
        alqi_preload_hot.left_words = ALQI_PARKED;
    alqi_preload_exact_moved(moving, p, size);
    if (taken != NULL) {
        int saved = errno;

        if (p == NULL && size != 0)
            alqi_memprof_realloc_failed(&thread->memprof, taken);
        else
            alqi_memprof_realloc_done(&thread->memprof, taken);
        errno = saved;
    }
    if (thread != NULL)
        alqi_preload_unpark(thread, left);
    return p;
}

/* Whether realloc(block, size) frees the block. */
static inline bool
is_free(const void *block, size_t size)
{
    return block != NULL && size == 0;
}

/* As tripped, of a block that realloc made (recorder.c .inv.reborn); handlers
 * may reallocate meanwhile, too. */
static ALQI_NOINLINE void *
tripped_reborn(void *block, size_t size_bytes, uint64_t words)
{
    struct alqi_stack_regs caller = alqi_stack_regs_of_caller();
    const void *outer = alqi_preload_hot.reborn;

    alqi_preload_hot.reborn = block;
    tripped_by(&caller, block, size_bytes, words);
    alqi_preload_hot.reborn = outer;
    return block;
}

/* As tried(), for a block that realloc made. */
static inline void *
tried_reborn(void *block, size_t size_bytes)
{
    uint64_t words;

    if (block == NULL)
        return NULL;
    words = alqi_base_malloc_words(size_bytes);
    return count_down(words) ? tripped_reborn(block, size_bytes, words) : block;
}

/* As realloc_plain(), when the words have tripped the countdown. */
static ALQI_NOINLINE void *
realloc_counted(void *block, size_t size)
{
    uint64_t words = words_asked(size);
    int64_t left;
    void *p;

    if (!is_free(block, size) && !alqi_preload_limit_trigger_asked(words))
        return NULL;
    left = park();
    p = alqi_preload_real.realloc(block, size);
    alqi_preload_hot.left_words = left;
    return block != NULL ? tripped_reborn(p, size, words)
                         : tripped(p, size, words);
}

/* No block, or one that is not tracked. */
static inline void *
realloc_plain(void *block, size_t size)
{
    if (count_down(words_asked(size)))
        return realloc_counted(block, size);
    return alqi_preload_real.realloc(block, size);
}

/* Reallocates a block whose filter byte is set: it is tracked, of the arena, or
 * shares the byte with such a block.  Entries move on the thread's state, or on
 * the orphan's where the thread has none and can get none. */
static ALQI_NOINLINE void *
realloc_slow(void *block, size_t size)
{
    struct alqi_preload_thread *thread = alqi_preload_hot.thread;
    struct alqi_preload_moving outer;
    void *p;

    if (block == NULL) /* its slot is a neighbour's, too */
        return realloc_plain(block, size);
    if (alqi_preload_is_boot(block))
        return realloc_boot(block, size);
    if (alqi_preload_is_within() &&
        !alqi_preload_exact_is(ALQI_PRELOAD_EXACT_OFF))
        return alqi_preload_real.realloc(block, size);
    if (!is_free(block, size) &&
        !alqi_preload_limit_trigger_may(words_asked(size)))
        return NULL;
    if (ALQI_UNLIKELY(alqi_preload_is_fork_unprepared()))
        thread = alqi_preload_fork_child_unprepared();
    if (!alqi_preload_exact_is(ALQI_PRELOAD_EXACT_OFF))
        return tried_reborn(realloc_exact(block, size), size);
    if (thread == NULL) /* its first call: attached now, it can link */
        thread = alqi_preload_thread_attach();
    if (thread != NULL) {
        p = tried_reborn(realloc_tracked(thread, block, size, &outer), size);
        alqi_preload_recorder_moved(thread, outer);
        return p;
    }
    thread = alqi_preload_orphan_lock();
    if (thread == NULL)
        return alqi_preload_real.realloc(block, size);
    p = realloc_tracked(thread, block, size, &outer);
    alqi_preload_recorder_moved(thread, outer);
    alqi_preload_orphan_unlock(thread);
    return tried_reborn(p, size);
}

FAST void *
realloc(void *block, size_t size)
{
    if (ALQI_UNLIKELY(alqi_memprof_filter_hit(block)))
        return realloc_slow(block, size);
    return realloc_plain(block, size);
}

ALQI_EXPORT void *
reallocarray(void *block, size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, bytes);
}

/* ---- aligned ---------------------------------------------------------------
 */

ALQI_EXPORT int
posix_memalign(void **out, size_t align, size_t size)
{
    if (count_down(words_asked(size)))
        return memalign_slow(out, align, size);
    return alqi_preload_real.posix_memalign(out, align, size);
}

ALQI_EXPORT void *
aligned_alloc(size_t align, size_t size)
{
    if (count_down(words_asked(size)))
        return aligned_slow(align, size, &alqi_preload_real.aligned_alloc);
    return alqi_preload_real.aligned_alloc(align, size);
}

ALQI_EXPORT void *
memalign(size_t align, size_t size)
{
    if (count_down(words_asked(size)))
        return aligned_slow(align, size, &alqi_preload_real.memalign);
    return alqi_preload_real.memalign(align, size);
}

ALQI_EXPORT void *
valloc(size_t size)
{
    if (count_down(words_asked(size)))
        return sized_slow(size, &alqi_preload_real.valloc);
    return alqi_preload_real.valloc(size);
}

ALQI_EXPORT void *
pvalloc(size_t size)
{
    if (count_down(words_asked(size)))
        return sized_slow(size, &alqi_preload_real.pvalloc);
    return alqi_preload_real.pvalloc(size);
}

ALQI_EXPORT size_t
malloc_usable_size(void *block)
{
    if (block != NULL && alqi_preload_is_boot(block))
        return alqi_preload_boot_size(block);
    return alqi_preload_real.malloc_usable_size(block);
}
