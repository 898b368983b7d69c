/* managed.c -- a scanned heap's allocations, sampled
 *
 * A managed request is sampled as a whole: one walk of the draws decides every
 * sub-block (S6), then the alloc callbacks run in program order, and only then
 * does the heap make the memory.  Until that the entries are on `making`, with
 * offsets for addresses.
 *
 * .inv.bracket  A sub-block whose alloc callback has kept either becomes a
 *               block or gives a dealloc_minor: when a later callback fails,
 *               when the heap has no room, and when its profile was replaced
 *               meanwhile (X3, P8). */
#include "memprof/scan.h"
#include "memprof/state.h"

/* ---- requests ----------------------------------------------------------- */

static void
make_subs(struct alqi_memprof_thread *t, const uint32_t *sub_words,
          unsigned n_subs, uint64_t hit_at)
{
    uint64_t total = 0, end = 0;

    for (unsigned i = 0; i < n_subs; i++)
        total += sub_words[i];
    ALQI_ASSERT(hit_at >= 1 && hit_at <= total);
    for (unsigned i = 0; i < n_subs; i++) {
        struct alqi_memprof_birth b = {0};
        uint64_t k = 0;

        end += sub_words[i];
        for (; hit_at <= end; k++)
            hit_at += alqi_sample_gap_words(&t->rng, &t->armed.law);
        if (k == 0)
            continue;
        b.block = (const void *)(uintptr_t)(total - end);
        b.size_bytes = (uint64_t)(sub_words[i] - 1) * ALQI_WORD_BYTES;
        b.source = ALQ_SOURCE_NORMAL;
        b.birth = ALQI_BIRTH_MINOR | ALQI_BIRTH_SCANNED | ALQI_BIRTH_OFFSET;
        alqi_make(t, &b, k);
    }
}

/* False: the callback failed.  An entry that is to go is marked GONE. */
static bool
tell(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e,
     uint32_t n_frames, int *code)
{
    struct alq_profile *p = e->profile;
    int before = t->failure;
    bool failed;

    if (p->flags & ALQ_MEMPROF_DEFER) {
        if (!alqi_make_deferred(t, e, n_frames))
            e->flags |= ALQI_ENTRY_GONE;
        return true;
    }
    if (alqi_profile_status(p) != ALQI_PROFILE_SAMPLING) {
        e->flags |= ALQI_ENTRY_GONE; /* a sibling's callback stopped it */
        return true;
    }
    if (n_frames > p->callstack_frames)
        n_frames = p->callstack_frames;
    t->failure = 0;
    if (alqi_callback_alloc(t, e, ALQI_CALLBACK_ALLOC_NEW, t->last.frames,
                            n_frames, &e->data))
        e->flags |= ALQI_ENTRY_DATUM;
    else
        e->flags |= ALQI_ENTRY_GONE;
    failed = t->failure != 0;
    if (failed)
        *code = t->failure; /* surfaces from the allocation, not from a poll */
    t->failure = before;
    return !failed;
}

static bool
tell_all(struct alqi_memprof_thread *t, uint32_t n_frames, int *code)
{
    for (struct alqi_memprof_entry *e = t->making; e != NULL; e = e->chain)
        if (!tell(t, e, n_frames, code))
            return false;
    return true;
}

static bool
was_replaced(const struct alqi_memprof_thread *t,
             const struct alqi_memprof_entry *e)
{
    unsigned slot = e->profile->slot;
    struct alq_profile *now;

    if (slot >= ALQI_MEMPROF_SLOT_BESIDE)
        return false; /* nothing takes its place */
    now = atomic_load_explicit(&t->domain->slot[slot], memory_order_acquire);
    return now != NULL && now != e->profile;
}

/* Ends an entry of a request, or hands it over: `low` is NULL when there will
 * be no block. */
static void
settle(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e, char *low)
{
    bool dead = low == NULL || was_replaced(t, e);
    uintptr_t header = (uintptr_t)e->block;

    if ((e->flags & ALQI_ENTRY_GONE) ||
        (dead && !(e->flags & ALQI_ENTRY_DATUM))) {
        alqi_entry_free(t, e); /* no datum: nobody is to hear of it */
        return;
    }
    if (dead) {
        e->flags |= ALQI_ENTRY_DEAD; /* .inv.bracket */
        alqi_fifo_push(&t->pending, e);
        return;
    }
    e->birth &= (uint8_t)~ALQI_BIRTH_OFFSET;
    e->block = low + (header + 1) * ALQI_WORD_BYTES;
    if ((e->flags & ALQI_ENTRY_ALLOC_DUE) ||
        alqi_profile_status(e->profile) == ALQI_PROFILE_DISCARDED)
        alqi_fifo_push(&t->pending, e);
    else
        alqi_scan_place(t->domain, e);
}

static void
settle_all(struct alqi_memprof_thread *t, char *low)
{
    struct alqi_memprof_entry *e;

    while ((e = t->making) != NULL) {
        t->making = e->chain;
        e->chain = NULL;
        settle(t, e, low);
    }
}

enum alq_status
alqi_memprof_request(struct alqi_memprof_thread *thread,
                     const uint32_t *sub_words, unsigned n_subs,
                     uint64_t hit_at, const struct alqi_stack_regs *regs,
                     int *code)
{
    bool failed = false;

    if (thread->mode != ALQI_MEMPROF_IDLE)
        return ALQ_OK; /* suspended: a trigger that was left armed */
    ALQI_ASSERT(thread->making == NULL);
    alqi_memprof_enter(thread);
    make_subs(thread, sub_words, n_subs, hit_at);
    if (thread->making != NULL)
        failed = !tell_all(thread, alqi_make_capture(thread, regs), code);
    if (failed)
        settle_all(thread, NULL);
    alqi_thread_leave(thread, ALQI_MEMPROF_IDLE);
    return failed ? ALQ_ECALLBACK : ALQ_OK;
}

void
alqi_memprof_request_done(struct alqi_memprof_thread *thread, void *low)
{
    if (thread->making == NULL)
        return;
    alqi_memprof_enter(thread);
    settle_all(thread, low);
    alqi_thread_leave(thread, ALQI_MEMPROF_IDLE);
}

void
alqi_memprof_request_cancel(struct alqi_memprof_thread *thread)
{
    if (thread->making == NULL)
        return;
    alqi_memprof_enter(thread);
    settle_all(thread, NULL);
    alqi_thread_leave(thread, ALQI_MEMPROF_IDLE);
}

/* ---- blocks of the runtime ---------------------------------------------- */

static void
make_block(struct alqi_memprof_thread *t, const struct alqi_memprof_block *b,
           uint64_t k, const struct alqi_stack_regs *regs)
{
    struct alqi_memprof_birth birth = {0};
    struct alqi_memprof_entry *e, *next;
    uint32_t n_frames;

    ALQI_ASSERT(t->making == NULL);
    birth.block = b->block;
    birth.size_bytes = b->size_words * ALQI_WORD_BYTES;
    birth.source = (uint8_t)b->source;
    birth.birth = ALQI_BIRTH_SCANNED | (b->minor ? ALQI_BIRTH_MINOR : 0);
    if (!alqi_make(t, &birth, k))
        return;
    n_frames = alqi_make_capture(t, regs);
    e = t->making;
    t->making = NULL;
    for (; e != NULL; e = next) {
        next = e->chain;
        e->chain = NULL;
        if (alqi_make_deferred(t, e, n_frames))
            alqi_fifo_push(&t->pending, e);
        else
            alqi_entry_free(t, e);
    }
}

void
alqi_memprof_small(struct alqi_memprof_thread *thread,
                   const struct alqi_memprof_block *b, uint64_t words_after,
                   const struct alqi_stack_regs *regs)
{
    uint64_t k, gap; /* the heap draws the next gap itself */

    if (thread->mode != ALQI_MEMPROF_IDLE)
        return;
    alqi_memprof_enter(thread);
    k = alqi_thread_hits(thread, words_after, &gap);
    make_block(thread, b, k, regs);
    alqi_thread_leave(thread, ALQI_MEMPROF_IDLE);
}

void
alqi_memprof_block_slow(struct alqi_memprof_thread *thread,
                        const struct alqi_memprof_block *b,
                        const struct alqi_stack_regs *regs)
{
    uint64_t k = 0;

    /* Words of a suspended thread are no trials (S12). */
    if (thread->mode != ALQI_MEMPROF_IDLE || b->words_tried == 0)
        return;
    alqi_memprof_enter(thread);
    if (thread->residual == 0) /* not drawn yet on this thread */
        thread->residual = alqi_thread_draw(thread);
    for (; thread->residual <= b->words_tried; k++)
        thread->residual +=
            alqi_sample_gap_words(&thread->rng, &thread->armed.law);
    thread->residual -= b->words_tried;
    if (k != 0)
        make_block(thread, b, k, regs);
    alqi_thread_leave(thread, ALQI_MEMPROF_IDLE);
}
