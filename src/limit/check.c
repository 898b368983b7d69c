/* check.c -- looks at every limit of every frame, and marks those reached
 *
 *     open --alqi_limit_frame_reach, one cause--> reached
 *
 * A cheap limit is compared.  Over a limit on live words or on the heap's size
 * the task pays for collections first: reached only if what is left is still
 * over.
 *
 * Keeps .inv.oneway, .inv.pays, .inv.flag (doc/design/limit.md). */
#include "base/base.h"
#include "limit/internal.h"
#include "plat/plat.h"

/* A task allocates this share of what it is allowed between two full
 * collections that it causes: of its live words; of the heap, when the last
 * collection left less than that. */
enum { RECHECK_SHARE = 8, SHRINK_SHARE = 16 };

void
alqi_limit_frame_reach(struct alqi_limit_frame *f, enum alq_limit_cause cause)
{
    if (f->cause != ALQ_LIMIT_NOT)
        return;
    f->cause = cause;
    f->thread->n_reached++;
    f->thread->quiet_until = 0; /* the grace was another frame's */
}

/* Collects and gives memory back.  If less than a share of the limit is free
 * then, the task allocates as much before it causes the next one. */
static void
shrink(struct alqi_limit_frame *f)
{
    struct alqi_limit_thread *t = f->thread;
    uint64_t part = f->heap_bytes.end / SHRINK_SHARE;

    t->subject->collect(t->heap, ALQI_LIMIT_SHRINK);
    if (t->subject->heap_bytes(t->heap) > f->heap_bytes.end - part)
        f->no_shrink_until = alqi_limit_end_of(alqi_limit_words_now(t),
                                               part / sizeof(uintptr_t), NONE);
}

/* Whether the heap is over its size, and still so without garbage. */
static bool
is_heap_over(struct alqi_limit_frame *f)
{
    struct alqi_limit_thread *t = f->thread;

    if (t->subject->heap_bytes(t->heap) <= f->heap_bytes.end)
        return false;
    if ((f->flags & ALQ_LIMIT_GARBAGE_COUNTS) != 0 ||
        alqi_limit_words_now(t) < f->no_shrink_until)
        return true;
    shrink(f);
    return t->subject->heap_bytes(t->heap) > f->heap_bytes.end;
}

/* Reached at the first sample if the limit is 0. */
static bool
has_too_much(const struct alqi_limit_frame *f)
{
    uint64_t words = alqi_limit_account_words(f->account);

    return words > 0 && words >= f->live_words.end;
}

/* Whether the task is over its live words, and still so when the dead are taken
 * off. */
static bool
is_live_over(struct alqi_limit_frame *f)
{
    struct alqi_limit_thread *t = f->thread;

    if (alqi_limit_words_now(t) < f->live_check_at || !has_too_much(f))
        return false;
    if ((f->flags & ALQ_LIMIT_GARBAGE_COUNTS) != 0)
        return true;
    t->subject->collect(t->heap, ALQI_LIMIT_YOUNG);
    if (!has_too_much(f))
        return false;
    t->subject->collect(t->heap, ALQI_LIMIT_ALL);
    if (has_too_much(f))
        return true;
    f->live_check_at = alqi_limit_end_of(
        alqi_limit_words_now(t), f->live_words.end / RECHECK_SHARE, NONE);
    return false;
}

/* Sets the alarm anew: the processor time that is left takes at least as much
 * time. */
static void
alarm_again(struct alqi_limit_frame *f, uint64_t now, uint64_t cpu)
{
    alqi_limit_timer_remove(f);
    f->alarm_ns = now + (f->cpu_ns.end - cpu);
    if (f->time_ns.end < f->alarm_ns)
        f->alarm_ns = f->time_ns.end;
    alqi_limit_timer_add(f);
}

static bool
is_time_over(struct alqi_limit_frame *f)
{
    if (alqi_plat_mono_ns_sigsafe() >= f->time_ns.end)
        return true;
    alqi_limit_timer_renew(f);
    return false;
}

/* Whether the processor time is used up.  If the alarm came before that, since
 * the thread did not run all the time, the alarm is set anew. */
static bool
is_cpu_over(struct alqi_limit_frame *f)
{
    uint64_t cpu = alqi_limit_cpu_ns(), now;

    if (cpu >= f->cpu_ns.end)
        return true;
    alqi_limit_timer_renew(f);
    now = alqi_plat_mono_ns_sigsafe();
    if (now >= f->alarm_ns)
        alarm_again(f, now, cpu);
    return false;
}

/* The rows in their order; the first that is over is the cause. */
static void
check_frame(struct alqi_limit_frame *f)
{
    const struct alqi_limit_thread *t = f->thread;

    if (f->cause != ALQ_LIMIT_NOT)
        return;
    if (f->token != NULL && alq_token_is_set(f->token)) {
        alqi_limit_frame_reach(f, ALQ_LIMIT_TOKEN);
        return;
    }
#define CHECK_KIND(member, cause, start, outer_end, notice, is_over)           \
    if (f->member.is_own && (is_over)) {                                       \
        alqi_limit_frame_reach(f, ALQ_LIMIT_##cause);                          \
        return;                                                                \
    }
    ALQI_LIMIT_KINDS(CHECK_KIND)
}

void
alqi_limit_check_frames(struct alqi_limit_thread *t)
{
    uint64_t n = 0;

    if (t->counts_samples)
        n = alqi_limit_samples_until(t, alqi_limit_words_now(t));
    if (n > 0)
        alqi_limit_sampled(t, n, ALQ_LIMIT_INTERVAL_WORDS);
    for (struct alqi_limit_frame *f = t->innermost; f != NULL; f = f->outer)
        check_frame(f);
}

void
alqi_limit_check(struct alqi_limit_thread *t)
{
    alqi_limit_check_frames(t);
    alqi_limit_update_trigger(t);
}

struct alqi_limit_charge *
alqi_limit_charge(struct alqi_limit_thread *t, uint64_t words)
{
    struct alqi_limit_frame *f = t->innermost;
    struct alqi_limit_charge *c = NULL;

    if (f != NULL && f->account != NULL)
        c = alqi_limit_charge_new(f->account, words);
    for (; f != NULL; f = f->outer)
        if (f->live_words.is_own && f->cause == ALQ_LIMIT_NOT &&
            has_too_much(f))
            t->subject->wake_sigsafe(t->heap);
    return c;
}

void
alqi_limit_profile_sampled(struct alqi_limit_thread *t, const uintptr_t *frames,
                           size_t n_frames, uint64_t samples, double words)
{
    struct alqi_limit_frame *f = t->innermost;

    if (f != NULL && f->reports)
        alqi_limit_sites_add(&f->sites, frames, n_frames, samples, words);
}
