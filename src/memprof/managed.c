/* managed.c -- a scanned heap's allocations, sampled
 *
 * A managed request is sampled as a whole before there is memory:
 *
 *     request  draws decide every sub-block; new_entries get offsets for
 *              addresses; alloc callbacks run in program order
 *              ... the heap makes room (it may collect) ...
 *     done     offsets become addresses; entries go to young, old or a FIFO
 *     cancel   entries whose callback kept get a dealloc_minor
 *
 * A block that the runtime allocated itself is sampled when it exists; its
 * callbacks wait for a poll.
 *
 * Keeps .inv.bracket, .inv.drawn, .inv.once (doc/design/memprof.md). */
#include "memprof/callback.h"
#include "memprof/fifo.h"
#include "memprof/make.h"
#include "memprof/pending.h"
#include "memprof/pool.h"
#include "memprof/state.h"
#include "memprof/scan.h"
#include "memprof/scan_run.h"
#include "memprof/thread.h"

/* ---- requests ----------------------------------------------------------- */

/* Counts the samples among the words up to `end`, of which sample_at is the
 * first; sample_at is then the next one behind them. */
static inline uint64_t
samples_until(struct alqi_memprof_thread *t, uint64_t end, uint64_t *sample_at)
{
    uint64_t k = 0;

    if (t->armed.samples_every_word && *sample_at <= end) {
        k = end + 1 - *sample_at;
        *sample_at = end + 1;
    }
    for (; *sample_at <= end; k++)
        *sample_at += alqi_sample_skip_words(&t->rng, &t->armed.dist);
    return k;
}

enum {
    BIRTH_OF_REQUEST = ALQI_BIRTH_MINOR | ALQI_BIRTH_SCANNED |
                       ALQI_BIRTH_OFFSET |
                       ALQ_SOURCE_NORMAL << ALQI_BIRTH_SOURCE_SHIFT
};

/* Makes the entries of one block of the request, which has k samples and
 * `below` words of the request below it. */
static inline void
make_sub(struct alqi_memprof_thread *t, uint64_t words, uint64_t below,
         uint64_t k)
{
    const struct alqi_memprof_birth b = {(const void *)(uintptr_t)below,
                                         (words - 1) * ALQI_WORD_BYTES,
                                         BIRTH_OF_REQUEST};

    if (k != 0)
        alqi_make(t, &b, k);
}

/* Draws the samples of each block of the request, in program order: from the
 * highest address down.  sample_at counts the request's words from 1. */
static ALQI_NOINLINE void
make_subs(struct alqi_memprof_thread *t, const uint32_t *sub_words,
          unsigned n_subs, uint64_t sample_at)
{
    uint64_t total = 0, end = 0;

    for (unsigned i = 0; i < n_subs; i++)
        total += sub_words[i];
    ALQI_ASSERT(sample_at >= 1 && sample_at <= total);
    for (unsigned i = 0; i < n_subs; i++) {
        end += sub_words[i];
        make_sub(t, sub_words[i], total - end,
                 samples_until(t, end, &sample_at));
    }
    ALQI_ASSERT(end == total && sample_at > total);
    t->next_skip = sample_at - end; /* kept for the next trigger (.inv.drawn) */
}

/* Runs or defers the alloc callback; false: it failed.  An entry that is to be
 * freed is marked GONE. */
static bool
run_alloc(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e,
          const struct alqi_stack_frames *stack, int *code)
{
    struct alq_profile *p = e->profile;
    int before = t->failure;
    bool failed;

    if (p->flags & ALQ_MEMPROF_DEFER) {
        if (!alqi_make_deferred(t, e, stack))
            e->flags |= ALQI_ENTRY_GONE;
        return true;
    }
    if (alqi_profile_status(p) != ALQI_PROFILE_SAMPLING) {
        e->flags |= ALQI_ENTRY_GONE; /* a sibling's callback stopped it */
        return true;
    }
    t->failure = 0;
    if (alqi_callback_alloc(t, e, ALQI_CALLBACK_ALLOC_NEW, stack->pcs,
                            alqi_make_n_frames(p, stack), &e->data))
        e->flags |= ALQI_ENTRY_DATUM;
    else
        e->flags |= ALQI_ENTRY_GONE;
    failed = t->failure != 0;
    if (failed)
        *code = t->failure; /* reported by the allocation, not by a poll */
    t->failure = before;
    return !failed;
}

/* Words of the request below the entry's block, until it has an address. */
static uint64_t
words_below(const struct alqi_memprof_entry *e)
{
    return (uintptr_t)e->block;
}

/* Runs the alloc callbacks in program order; false: one has failed.  *stack is
 * the first block's stack.  It serves the other blocks as well, unless the
 * subject walks: a walk may give each block a stack of its own. */
static bool
run_allocs(struct alqi_memprof_thread *t, struct alqi_stack_frames *stack,
           const struct alqi_stack_regs *regs, int *code)
{
    bool walks = alqi_memprof_subject_walk(t->domain->subject) != NULL;

    for (struct alqi_memprof_entry *e = t->new_entries; e != NULL;
         e = e->chain) {
        if (walks && words_below(e) != t->words_below) {
            t->words_below = words_below(e);
            *stack = alqi_make_capture(t, regs);
        }
        if (!run_alloc(t, e, stack, code))
            return false;
    }
    return true;
}

/* Whether another profile has got the client's slot since the entry was made;
 * then the entry ends with its request. */
static inline bool
was_replaced(const struct alqi_memprof_thread *t,
             const struct alqi_memprof_entry *e)
{
    unsigned slot = e->profile->slot;
    struct alq_profile *now;

    if (slot >= ALQI_MEMPROF_SLOT_BESIDE)
        return false; /* no profile replaces it */
    now = atomic_load_explicit(&t->domain->slot[slot], memory_order_acquire);
    return now != NULL && now != e->profile;
}

/* Publishes an entry of a request, or ends it; `low` is NULL when there will be
 * no block. */
static void
finish(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e, char *low)
{
    bool dead = low == NULL || was_replaced(t, e);
    uint64_t below = words_below(e);

    if ((e->flags & ALQI_ENTRY_GONE) ||
        (dead && !(e->flags & ALQI_ENTRY_DATUM))) {
        alqi_entry_free(t, e); /* no datum: no callback is due */
        return;
    }
    if (dead) {
        e->flags |= ALQI_ENTRY_DEAD; /* .inv.bracket */
        alqi_pending_push(t, e);
        return;
    }
    e->birth &= (uint8_t)~ALQI_BIRTH_OFFSET;
    e->block = low + (below + 1) * ALQI_WORD_BYTES;
    if ((e->flags & ALQI_ENTRY_ALLOC_DUE) ||
        alqi_profile_status(e->profile) == ALQI_PROFILE_DISCARDED)
        alqi_pending_push(t, e);
    else
        alqi_scan_place(t->domain, e);
}

/* Empties `new_entries`: each entry is published above `low`, or ended. */
static void
finish_all(struct alqi_memprof_thread *t, char *low)
{
    struct alqi_memprof_entry *e;

    while ((e = t->new_entries) != NULL) {
        t->new_entries = e->chain;
        e->chain = NULL;
        finish(t, e, low);
    }
}

/* Returns 0, or the code of the callback that failed. */
static int
request_any(struct alqi_memprof_thread *t, const uint32_t *sub_words,
            unsigned n_subs, uint64_t sample_at,
            const struct alqi_stack_regs *regs)
{
    struct alqi_stack_frames stack;
    int code = 0;

    make_subs(t, sub_words, n_subs, sample_at);
    if (t->new_entries == NULL)
        return 0;
    t->words_below = words_below(t->new_entries);
    stack = alqi_make_capture(t, regs);
    if (run_allocs(t, &stack, regs, &code))
        alqi_make_notify_heap(t, &stack);
    else
        finish_all(t, NULL);
    return code;
}

/* ---- the usual request --------------------------------------------------
 *
 * One block, one client, told at once: the entry need not be there before it is
 * known whether the client keeps it.  It does what request_any would.
 */

/* Whether alqi_make would take its fast path, and a node is at hand. */
static inline bool
is_immediate(struct alqi_memprof_thread *t)
{
    return t->armed.is_immediate &&
           (t->free_entries != NULL || alqi_pool_fill(t)) &&
           t->armed.serial ==
               atomic_load_explicit(&t->domain->serial, memory_order_relaxed) &&
           alqi_profile_status(t->armed.client[0].profile) ==
               ALQI_PROFILE_SAMPLING;
}

/* Samples a request of one block whose client is told at once, and makes the
 * entry only if the callback keeps.  Requires is_immediate and the mode INSIDE.
 * Returns 0, or the code of the callback that failed. */
static inline __attribute__((always_inline)) int
request_immediate(struct alqi_memprof_thread *t,
                  const struct alqi_memprof_limits *limits, uint64_t words,
                  uint64_t sample_at, const struct alqi_stack_regs *regs)
{
    const struct alqi_memprof_client *c = &t->armed.client[0];
    const struct alqi_memprof_birth birth = {
        NULL, (words - 1) * ALQI_WORD_BYTES, BIRTH_OF_REQUEST};
    struct alq_profile *p = c->profile;
    struct alqi_profile_cell *cell = c->cell;
    struct alqi_stack_frames stack;
    struct alq_allocation a;
    uintptr_t data = 0;
    int kept;

    a.n_samples = samples_until(t, words, &sample_at);
    t->next_skip = sample_at - words;
    t->words_below = 0;
    alqi_profile_add(&cell->sampled_blocks, 1);
    alqi_profile_add(&cell->sampled_words, a.n_samples);
    stack = alqi_make_capture_most(t, regs, p->callstack_frames);
    a.size_words = words - 1;
    a.size_bytes = birth.size_bytes;
    a.source = ALQ_SOURCE_NORMAL;
    a.callstack.frames = stack.pcs;
    a.callstack.n_frames = stack.n;
    a.block = NULL;
    a.age = 0;
    kept = alqi_callback_bare(t, limits, p->tracker.alloc_minor, p->tracker.arg,
                              &a, &data);
    if (kept > 0) {
        struct alqi_memprof_entry *e = alqi_pool_get(t);

        ALQI_ASSERT(e != NULL); /* no callback takes nodes */
        alqi_entry_fill(t, e, p, a.n_samples, &birth, ALQI_ENTRY_DATUM, data);
        alqi_cell_enter(p, cell);
        t->new_entries = e;
    } else if (ALQI_UNLIKELY(kept < 0)) {
        alqi_profile_count(&p->callback_failures, 1);
        return kept;
    }
    if (limits != NULL && p == t->armed.highest_rate)
        limits->sampled(t->domain->heap, a.n_samples, 1 / p->dist.rate,
                        stack.pcs, stack.n);
    return 0;
}

/* request_immediate in a heap that has limits: out of line, so that the other
 * heaps' path calls none of their functions. */
static ALQI_NOINLINE int
request_limited(struct alqi_memprof_thread *t,
                const struct alqi_memprof_limits *limits, uint32_t words,
                uint64_t sample_at, const struct alqi_stack_regs *regs)
{
    int code;

    alqi_memprof_enter(t);
    code = request_immediate(t, limits, words, sample_at, regs);
    alqi_memprof_leave(t, ALQI_MEMPROF_IDLE);
    return code;
}

int
alqi_memprof_request(struct alqi_memprof_thread *thread,
                     const uint32_t *sub_words, unsigned n_subs,
                     uint64_t sample_at, const struct alqi_stack_regs *regs)
{
    int code;

    if (thread->mode != ALQI_MEMPROF_IDLE)
        return 0; /* suspended: a trigger that was left armed */
    ALQI_ASSERT(thread->new_entries == NULL);
    alqi_memprof_enter(thread);
    code = request_any(thread, sub_words, n_subs, sample_at, regs);
    alqi_memprof_leave(thread, ALQI_MEMPROF_IDLE);
    return code;
}

static ALQI_NOINLINE int
request_words(struct alqi_memprof_thread *t, uint32_t words, uint64_t sample_at,
              const struct alqi_stack_regs *regs)
{
    return alqi_memprof_request(t, &words, 1, sample_at, regs);
}

int
alqi_memprof_request_one(struct alqi_memprof_thread *thread, uint32_t words,
                         uint64_t sample_at, const struct alqi_stack_regs *regs)
{
    const struct alqi_memprof_limits *limits;
    int code;

    if (ALQI_UNLIKELY(thread->mode != ALQI_MEMPROF_IDLE ||
                      !is_immediate(thread)))
        return request_words(thread, words, sample_at, regs);
    ALQI_ASSERT(thread->new_entries == NULL);
    limits = alqi_memprof_subject_limits(thread->domain->subject);
    if (ALQI_UNLIKELY(limits != NULL))
        return request_limited(thread, limits, words, sample_at, regs);
    alqi_memprof_enter(thread);
    code = request_immediate(thread, NULL, words, sample_at, regs);
    alqi_memprof_leave(thread, ALQI_MEMPROF_IDLE);
    return code;
}

/* Whether there is no entry, or one whose callback kept and of which nothing is
 * due. */
static inline bool
is_simple(const struct alqi_memprof_thread *t,
          const struct alqi_memprof_entry *e)
{
    return e == NULL ||
           (e->chain == NULL &&
            e->flags == (ALQI_ENTRY_YOUNG | ALQI_ENTRY_DATUM) &&
            !was_replaced(t, e) && /* the thread may have armed anew */
            alqi_profile_status(e->profile) != ALQI_PROFILE_DISCARDED);
}

/* Whether no profile has started or stopped meanwhile and no callback is
 * due. */
static inline bool
is_quiet(const struct alqi_memprof_thread *t)
{
    return !alqi_thread_is_stale(t) && t->pending.head == NULL &&
           !atomic_load_explicit(&t->domain->has_pending, memory_order_relaxed);
}

/* alqi_memprof_request_done where several entries or a callback wait, or the
 * skip must be drawn anew. */
static ALQI_NOINLINE uint64_t
done_slow(struct alqi_memprof_thread *t, void *low)
{
    struct alqi_memprof_domain *d = t->domain;

    if (t->new_entries != NULL) {
        alqi_memprof_enter(t);
        finish_all(t, low);
        alqi_memprof_leave(t, ALQI_MEMPROF_IDLE);
    }
    if (t->pending.head != NULL ||
        atomic_load_explicit(&d->has_pending, memory_order_relaxed))
        d->subject->request_poll(d->heap);
    return alqi_memprof_skip_words(t);
}

uint64_t
alqi_memprof_request_done(struct alqi_memprof_thread *thread, void *low)
{
    struct alqi_memprof_entry *e = thread->new_entries;
    uint64_t skip = thread->next_skip;

    if (ALQI_UNLIKELY(skip == 0 || !is_quiet(thread) || !is_simple(thread, e)))
        return done_slow(thread, low);
    thread->next_skip = 0;
    if (e != NULL) {
        thread->new_entries = NULL;
        e->birth &= (uint8_t)~ALQI_BIRTH_OFFSET;
        e->block = (char *)low + ((uintptr_t)e->block + 1) * ALQI_WORD_BYTES;
        alqi_fifo_push(&thread->domain->young, e);
    }
    return skip;
}

void
alqi_memprof_request_cancel(struct alqi_memprof_thread *thread)
{
    if (thread->new_entries == NULL)
        return;
    alqi_memprof_enter(thread);
    finish_all(thread, NULL);
    alqi_thread_leave(thread, ALQI_MEMPROF_IDLE);
}

/* ---- blocks of the runtime ---------------------------------------------- */

/* The callback of a limits' profile runs at once and gets no stack: it runs
 * no code of the program, and the task that allocated the block is to be
 * charged. */
static void
run_limits_alloc(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    if (alqi_callback_alloc(t, e, ALQI_CALLBACK_ALLOC_NEW, NULL, 0, &e->data)) {
        e->flags |= ALQI_ENTRY_DATUM;
        alqi_scan_place(t->domain, e);
    } else {
        alqi_entry_free(t, e);
    }
}

/* Makes the entries of a block that exists, with k samples.  Callbacks of
 * limits run now, the others at a poll; without memory to save its stack an
 * entry is dropped. */
static void
make_block(struct alqi_memprof_thread *t, const struct alqi_memprof_block *b,
           uint64_t k, const struct alqi_stack_regs *regs)
{
    const struct alqi_memprof_birth birth = {
        b->block, b->size_words * ALQI_WORD_BYTES,
        (uint8_t)(ALQI_BIRTH_SCANNED | (b->minor ? ALQI_BIRTH_MINOR : 0) |
                  b->source << ALQI_BIRTH_SOURCE_SHIFT)};
    struct alqi_memprof_entry *e, *next;
    struct alqi_stack_frames stack;

    ALQI_ASSERT(t->new_entries == NULL);
    if (!alqi_make(t, &birth, k))
        return;
    t->words_below = 0;
    stack = alqi_make_capture(t, regs);
    alqi_make_notify_heap(t, &stack);
    e = t->new_entries;
    t->new_entries = NULL;
    for (; e != NULL; e = next) {
        next = e->chain;
        e->chain = NULL;
        if (alqi_profile_is_of_limits(e->profile))
            run_limits_alloc(t, e);
        else if (alqi_make_deferred(t, e, &stack))
            alqi_pending_push(t, e);
        else
            alqi_entry_free(t, e);
    }
}

void
alqi_memprof_small(struct alqi_memprof_thread *thread,
                   const struct alqi_memprof_block *b, uint64_t words_after,
                   const struct alqi_stack_regs *regs)
{
    uint64_t k, skip; /* the heap draws its next skip itself */

    if (thread->mode != ALQI_MEMPROF_IDLE)
        return;
    alqi_memprof_enter(thread);
    k = alqi_thread_samples(thread, words_after, &skip);
    make_block(thread, b, k, regs);
    alqi_thread_leave(thread, ALQI_MEMPROF_IDLE);
}

/* A skip that was drawn before a profile started or stopped is void, however
 * long it is (.inv.armed). */
void
alqi_memprof_block(struct alqi_memprof_thread *thread,
                   const struct alqi_memprof_block *b,
                   const struct alqi_stack_regs *regs)
{
    uint64_t k;

    /* Words of a suspended thread are no trials. */
    if (thread->mode != ALQI_MEMPROF_IDLE || b->words_tried == 0)
        return;
    if (ALQI_LIKELY(thread->residual > b->words_tried &&
                    !alqi_thread_is_stale(thread))) {
        thread->residual -= b->words_tried;
        return;
    }
    alqi_memprof_enter(thread);
    if (thread->residual == 0 || alqi_thread_is_stale(thread))
        thread->residual = alqi_thread_draw_skip(thread);
    if (thread->residual > b->words_tried) {
        thread->residual -= b->words_tried;
    } else {
        k = alqi_thread_samples(thread, b->words_tried - thread->residual,
                                &thread->residual);
        make_block(thread, b, k, regs);
    }
    alqi_thread_leave(thread, ALQI_MEMPROF_IDLE);
}
