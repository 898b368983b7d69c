/* capture.c -- captures the call stack of a sampled block
 *
 * One capture serves all clients of a block, as deep as the deepest wants it.
 * The ways, in this order:
 *
 *   walk     the subject's own: frames of the program that the heap runs
 *   layout   a managed heap's fast capture (stack/capture_layout.h, in make.h)
 *   cache    the unwinder with the thread's capture cache
 *   deep     the unwinder again, for a stack deeper than the cache's capacity
 *
 * A managed heap gets all frames: each deep frame costs 8 bytes and some 10 ns.
 * For malloc the cache's capacity is the depth that the user asked for.
 *
 * Keeps .inv.walk; defines
 *
 * .inv.lead  Each round of capture_from_inside wants more frames than the one
 *            before, up to the cache's capacity; the round that wanted the
 *            capacity is the last. */
#include "memprof/make.h"

enum { WALKED_FRAMES_FIRST = 4096 / sizeof(uintptr_t) };

/* Doubles `walked`; false: it has `most` frames already, or there is no
 * memory. */
static bool
walked_grow(struct alqi_memprof_thread *t, size_t most)
{
    size_t n = t->walked_frames * 2;
    uintptr_t *more;

    if (t->walked_frames >= most)
        return false;
    if (n == 0)
        n = WALKED_FRAMES_FIRST;
    more = alqi_plat_pages_map(n * sizeof *more);
    if (more == NULL)
        return false;
    alqi_make_walked_free(t);
    t->walked = more;
    t->walked_frames = n;
    return true;
}

void
alqi_make_walked_free(struct alqi_memprof_thread *t)
{
    if (t->walked != NULL)
        alqi_plat_pages_unmap(t->walked, t->walked_frames * sizeof *t->walked);
    t->walked = NULL;
    t->walked_frames = 0;
}

/* Asks the subject's walk; false: the walk has no answer. */
static ALQI_NOINLINE bool
walk(struct alqi_memprof_thread *t, alqi_memprof_walk_fn *walk_fn, size_t most)
{
    const struct alqi_memprof_domain *d = t->domain;
    size_t n = 0, room;

    if (t->walked_frames == 0)
        walked_grow(t, most);
    do {
        room = t->walked_frames < most ? t->walked_frames : most;
        if (!walk_fn(d->heap, t->words_below, t->walked, room, &n))
            return false;
        ALQI_ASSERT(n <= room);
    } while (n == room && walked_grow(t, most));
    t->last = (struct alqi_stack_result){
        .frames = t->walked,
        .n_frames = (uint32_t)n,
        .truncated = n == room && room < most,
    };
    return true;
}

static bool
is_own(const struct alqi_memprof_subject *s, uintptr_t pc)
{
    return pc - s->skip_lo < s->skip_hi - s->skip_lo;
}

enum {
    OWN_FRAMES = 16,   /* the heap's own, expected above the program's */
    REFUSED_MOST = 255 /* captures without a try by layout */
};

void
alqi_make_layout_refused(struct alqi_memprof_thread *t)
{
    t->n_refused = t->refused;
    t->refused = t->refused < REFUSED_MOST ? t->refused * 2 + 1 : REFUSED_MOST;
}

/* Captures from a pc in the heap's own text.  Passing skip_lo, skip_hi would
 * drop the frames that the cache compares, so the heap's frames come off
 * afterwards. */
static struct alqi_stack_result
capture_from_inside(struct alqi_memprof_thread *t,
                    const struct alqi_stack_regs *regs, uint32_t most)
{
    const struct alqi_memprof_subject *subject = t->domain->subject;
    uint32_t lead = OWN_FRAMES, capacity = t->cache->capacity, want, own;
    struct alqi_stack_result r;

    for (;; lead = own + OWN_FRAMES) {
        want = most < capacity - lead ? most + lead : capacity;
        r = alqi_stack_capture(t->cache, regs, 0, 0, want);
        for (own = 0; own < r.n_frames && is_own(subject, r.frames[own] - 1);)
            own++;
        if (!r.truncated || r.n_frames - own >= most || want == capacity ||
            own + OWN_FRAMES >= capacity)
            break;
    }
    r.frames += own;
    r.n_frames -= own;
    if (r.n_same_outer > r.n_frames)
        r.n_same_outer = r.n_frames; /* some of them came off */
    if (r.n_frames > most) {
        r.n_frames = most;
        r.truncated = true;
        r.n_same_outer = 0;
        r.note = NULL;
    }
    return r;
}

/* Captures up to `most` frames of a stack that is deeper than the cache;
 * without memory `last` stays what the cache has. */
static ALQI_NOINLINE void
capture_deep(struct alqi_memprof_thread *t, const struct alqi_stack_regs *regs,
             uint32_t most)
{
    const struct alqi_memprof_subject *subject = t->domain->subject;
    size_t room;

    while (t->walked_frames <= t->cache->capacity)
        if (!walked_grow(t, most))
            return;
    do {
        room = t->walked_frames < most ? t->walked_frames : most;
        t->last = alqi_stack_capture_deep(t->cache, regs, subject->skip_lo,
                                          subject->skip_hi, t->walked,
                                          (uint32_t)room);
    } while (t->last.truncated && walked_grow(t, most));
}

/* Unwinds into `last`: with the cache, then deep if the stack passes the
 * cache's capacity.  A thread without a cache gets no frames. */
static void
capture_any(struct alqi_memprof_thread *t, const struct alqi_stack_regs *regs,
            uint32_t most)
{
    const struct alqi_memprof_subject *subject = t->domain->subject;
    uint32_t kept = most;

    t->last.n_frames = 0;
    if (t->cache == NULL)
        return;
    if (kept > t->cache->capacity)
        kept = t->cache->capacity;
    if (t->layouts != NULL && is_own(subject, regs->pc - regs->is_return))
        t->last = capture_from_inside(t, regs, kept);
    else
        t->last = alqi_stack_capture(t->cache, regs, subject->skip_lo,
                                     subject->skip_hi, kept);
    if (t->layouts != NULL && t->last.truncated && kept < most)
        capture_deep(t, regs, most);
}

struct alqi_stack_frames
alqi_make_capture(struct alqi_memprof_thread *t,
                  const struct alqi_stack_regs *regs)
{
    const struct alqi_memprof_subject *subject = t->domain->subject;
    uint32_t most = 0;

    if (ALQI_LIKELY(t->new_entries->chain == NULL && t->layouts == NULL &&
                    t->cache != NULL &&
                    t->new_entries->profile->callstack_frames != 0 &&
                    alqi_memprof_subject_walk(subject) == NULL)) {
        /* The usual sample of malloc: one client, which records stacks as
         * deltas. */
        most = t->new_entries->profile->callstack_frames;
        t->last = alqi_stack_capture(
            t->cache, regs, subject->skip_lo, subject->skip_hi,
            most < t->cache->capacity ? most : t->cache->capacity);
        return (struct alqi_stack_frames){t->last.frames, t->last.n_frames};
    }
    for (struct alqi_memprof_entry *e = t->new_entries; e != NULL; e = e->chain)
        if (e->profile->callstack_frames > most)
            most = e->profile->callstack_frames;
    return alqi_make_capture_most(t, regs, most);
}

struct alqi_stack_frames
alqi_make_capture_slow(struct alqi_memprof_thread *t,
                       const struct alqi_stack_regs *regs, uint32_t most)
{
    alqi_memprof_walk_fn *walk_fn =
        alqi_memprof_subject_walk(t->domain->subject);

    if (most == 0)
        return (struct alqi_stack_frames){NULL, 0};
    if (walk_fn == NULL || !walk(t, walk_fn, most))
        capture_any(t, regs, most);
    return (struct alqi_stack_frames){t->last.frames, t->last.n_frames};
}

struct alqi_stack_result
alqi_memprof_capture(struct alqi_memprof_thread *thread,
                     const struct alqi_stack_regs *regs)
{
    const struct alqi_memprof_subject *subject = thread->domain->subject;

    return alqi_stack_capture(thread->cache, regs, subject->skip_lo,
                              subject->skip_hi, thread->cache->capacity);
}
