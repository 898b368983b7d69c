/* deliver.c -- when a reached frame makes calls fail, and how its task is left
 *
 *     reached --mask ends, grace is over--> delivering: allocations and polls
 *             fail with ALQ_ELIMIT, or unwind by longjmp to the frame
 *     delivering --delivery--> quiet until quiet_until, by the frame's policy
 *
 * Also derives what the heap reads (trigger_words, asks_each_time) from the
 * frames.
 *
 * Keeps .inv.refuse, .inv.where, .inv.leave (doc/design/limit.md). */
#include "base/base.h"
#include "limit/internal.h"

/* ---- what the heap looks at --------------------------------------------- */

/* Returns the innermost frame that is reached and not masked; NULL: none.  A
 * frame opened under a mask is itself free of it; those around it are not. */
static const struct alqi_limit_frame *
delivering(const struct alqi_limit_thread *t)
{
    const struct alqi_limit_frame *f = t->innermost;

    if (t->n_reached == 0 || t->masked != 0)
        return NULL;
    while (f != NULL && f->cause == ALQ_LIMIT_NOT)
        f = f->masked == 0 ? f->outer : NULL;
    return f;
}

void
alqi_limit_update_trigger(struct alqi_limit_thread *t)
{
    const struct alqi_limit_frame *f = t->innermost;
    uint64_t trigger = NONE;
    bool asks_each_time = false, delivers = delivering(t) != NULL;

    for (; f != NULL; f = f->outer) {
        if (f->cause != ALQ_LIMIT_NOT)
            continue;
        if (f->words.is_own && f->words.end < trigger)
            trigger = f->words.end;
        asks_each_time |= alqi_limit_is_noticed(f, ALQI_LIMIT_BY_ASKING);
    }
    if (t->counts_samples && t->sampled_at - 1 < trigger)
        trigger = t->sampled_at - 1;
    if (delivers && t->quiet_until < trigger)
        trigger = t->quiet_until;
    asks_each_time |= delivers && t->quiet_until <= alqi_limit_words_now(t);
    if (trigger == t->trigger_words && asks_each_time == t->asks_each_time &&
        t->is_interrupted == (t->n_reached > 0))
        return;
    t->trigger_words = trigger;
    t->asks_each_time = asks_each_time;
    t->is_interrupted = t->n_reached > 0;
    t->subject->trigger_changed(t->heap);
}

/* ---- delivery ----------------------------------------------------------- */

/* Words until the next delivery after this one. */
static uint64_t
quiet_words(struct alqi_limit_thread *t, const struct alqi_limit_frame *f)
{
    struct alqi_sample_dist dist;

    switch (f->policy) {
    case ALQ_LIMIT_GRACE:
        return f->grace_words;
    case ALQ_LIMIT_NEXT_SAMPLE:
        alqi_sample_dist_set(&dist, 1.0 / ALQ_LIMIT_INTERVAL_WORDS);
        return alqi_sample_skip_words(alqi_limit_rng(t), &dist);
    default:
        return 0;
    }
}

/* Whether all frames up to the reached one may be left by longjmp. */
static bool
unwinds(const struct alqi_limit_thread *t, const struct alqi_limit_frame *to)
{
    const struct alqi_limit_frame *f = t->innermost;

    if (t->foreign > to->foreign)
        return false;
    for (; f != to; f = f->outer)
        if (f->leave == NULL)
            return false;
    return to->leave != NULL && (t->subject->may_unwind == NULL ||
                                 t->subject->may_unwind(t->heap, to));
}

/* Drops the frames within `to`, innermost first: longjmp will leave them
 * without a close.  After `unwound` their memory may be reused. */
static void
close_inner(struct alqi_limit_thread *t, const struct alqi_limit_frame *to)
{
    struct alqi_limit_frame *f;

    while ((f = t->innermost) != to) {
        alqi_limit_drop(f);
        if (t->subject->unwound != NULL)
            t->subject->unwound(f);
    }
}

/* Leaves the task by longjmp to its frame, with clean-ups, roots, masks and
 * barriers as they were when it was opened.  Does not return. */
static void
unwind(struct alqi_limit_thread *t, const struct alqi_limit_frame *to)
{
    alqi_limit_cleanup(t, to->cleanups);
    close_inner(t, to);
    t->subject->root_restore(t->heap, to->mark);
    t->masked = to->masked;
    t->foreign = to->foreign;
    longjmp(*to->leave, 1);
}

/* Whether on_limit lets the task go on this time.  It runs masked: it may
 * allocate. */
static bool
is_excused(struct alqi_limit_thread *t, const struct alqi_limit_frame *f)
{
    enum alq_status status;
    uint32_t was;

    if (f->on_limit == NULL)
        return false;
    was = alqi_limit_mask(t);
    status = f->on_limit(t->domain, f->on_limit_arg, f->cause);
    t->masked = was;
    alqi_limit_update_trigger(t);
    return status == ALQ_OK;
}

/* Whether `words` more are within the grace; 0: a poll, which is in front of
 * its end.  So what asks_each_time asks for is never passed over. */
static bool
is_quiet(const struct alqi_limit_thread *t, uint64_t now, uint64_t words)
{
    return now < t->quiet_until && words <= t->quiet_until - now;
}

enum alq_status
alqi_limit_deliver(struct alqi_limit_thread *t, uint64_t words)
{
    const struct alqi_limit_frame *f = delivering(t);
    uint64_t now, quiet;

    if (f == NULL)
        return ALQ_OK;
    now = alqi_limit_words_now(t);
    if (is_quiet(t, now, words))
        return ALQ_OK;
    quiet = quiet_words(t, f);
    t->quiet_until = quiet == 0 ? 0 : quiet < NONE - now ? now + quiet : NONE;
    alqi_limit_update_trigger(t);
    if (is_excused(t, f))
        return ALQ_OK;
    if (unwinds(t, f))
        unwind(t, f);
    return ALQ_ELIMIT;
}

enum alq_status
alqi_limit_permit(struct alqi_limit_thread *t, uint64_t words)
{
    enum alq_status status;
    uint64_t now;

    if (t->innermost == NULL)
        return ALQ_OK;
    t->polls++;
    alqi_limit_check(t);
    now = alqi_limit_words_now(t);
    if (words > 0 && t->masked == 0)
        for (struct alqi_limit_frame *f = t->innermost; f != NULL; f = f->outer)
            if (f->words.is_own &&
                (now >= f->words.end || words > f->words.end - now))
                alqi_limit_frame_reach(f, ALQ_LIMIT_WORDS);
    alqi_limit_update_trigger(t);
    status = alqi_limit_deliver(t, words);
    return status == ALQ_OK ? alqi_limit_samples_charge(t, words) : status;
}

void
alqi_limit_unmask(struct alqi_limit_thread *t, uint32_t was)
{
    t->masked = was;
    if (was == 0 && t->innermost != NULL)
        t->subject->wake_sigsafe(t->heap); /* no collection is allowed here */
}
