/* frame.c -- frames are opened and closed
 *
 *     closed --open--> open --reach--> reached --close, drop--> closed
 *                      open ------------close, drop----------> closed
 *
 * An open reads the thread's counters and sets absolute ends; a close compares
 * once more, fills the outcome, and restores what the frame found: masks,
 * barriers, counting of samples, the trigger.
 *
 * Keeps .inv.nest, .inv.oneway, .inv.account (doc/design/limit.md). */
#include "base/base.h"
#include "limit/internal.h"
#include "plat/plat.h"

void
alqi_limit_thread_init(struct alqi_limit_thread *t,
                       const struct alqi_limit_subject *subject, void *heap)
{
    t->subject = subject;
    t->heap = heap;
    t->domain = NULL;
    t->innermost = NULL;
    t->cleanups = NULL;
    t->masked = 0;
    t->foreign = 0;
    t->n_reached = 0;
    t->sampled_words = 0;
    t->polls = 0;
    t->quiet_until = 0;
    t->trigger_words = NONE;
    t->asks_each_time = false;
    t->is_interrupted = false;
    t->counts_samples = false; /* sampled_at is not read until then */
    t->is_seeded = false;      /* nor rng */
}

static inline bool
is_number(uint64_t limit)
{
    return limit <= ALQ_LIMIT_MAX || limit == NONE;
}

static bool
are_numbers(const struct alq_limits *l)
{
    return is_number(l->words) && is_number(l->sampled_words) &&
           is_number(l->live_words) && is_number(l->heap_bytes) &&
           is_number(l->time_ns) && is_number(l->cpu_ns) && is_number(l->polls);
}

bool
alqi_limit_is_right(const struct alq_limits *limits)
{
    return limits == NULL ||
           ((unsigned)limits->policy <= ALQ_LIMIT_GRACE &&
            (limits->flags &
             ~(unsigned)(ALQ_LIMIT_UNWINDS | ALQ_LIMIT_GARBAGE_COUNTS)) == 0 &&
            are_numbers(limits));
}

/* Every member is named, so the compiler stores each once, in place: a literal
 * that leaves some out is cleared as a whole first, which takes longer than the
 * rest. */
static void
begin(struct alqi_limit_frame *f, struct alqi_limit_thread *t,
      const struct alq_limits *l, bool reports)
{
    static const struct alqi_limit_frame none = {
        .end_words = NONE, .end_sampled = NONE, .end_polls = NONE};
    const struct alqi_limit_frame *around =
        t->innermost != NULL ? t->innermost : &none;
    /* Within a mask the ends of the masked task do not count (4.3.7). */
    const struct alqi_limit_frame *outer = t->masked == 0 ? around : &none;
    bool is_timed = reports || l->time_ns != NONE || l->cpu_ns != NONE;
    uint64_t words = alqi_limit_words_now(t);
    uint64_t ns = is_timed ? alqi_plat_mono_ns_sigsafe() : 0;
    uint64_t cpu_ns = l->cpu_ns != NONE ? alqi_limit_cpu_ns() : 0;

    *f = (struct alqi_limit_frame){
        .outer = t->innermost,
        .thread = t,
        .cause = ALQ_LIMIT_NOT,
        .token = l->token != NULL ? alq_token_keep(l->token) : NULL,
        .policy = l->policy,
        .flags = l->flags,
        .grace_words = l->grace_words,
        .on_limit = l->on_limit,
        .on_limit_arg = l->on_limit_arg,
        .heap_bytes = l->heap_bytes,
        .start_words = words,
        .end_words = alqi_limit_end_of(words, l->words, outer->end_words),
        .start_sampled = t->sampled_words,
        .end_sampled = alqi_limit_end_of(t->sampled_words, l->sampled_words,
                                         outer->end_sampled),
        .reached_sampled = 0,
        .end_polls = alqi_limit_end_of(t->polls, l->polls, outer->end_polls),
        .start_ns = ns,
        .end_ns = alqi_limit_end_of(ns, l->time_ns, NONE),
        .start_cpu_ns = cpu_ns,
        .end_cpu_ns = alqi_limit_end_of(cpu_ns, l->cpu_ns, NONE),
        .has_words = l->words != NONE,
        .has_sampled = l->sampled_words != NONE,
        .has_polls = l->polls != NONE,
        .outer_counts = t->counts_samples,
        .has_live = l->live_words != NONE,
        .live_words = l->live_words,
        .account = NULL,
        .live_check_at = 0,
        .no_shrink_until = 0,
        .reports = reports || around->reports,
        .sites = {.samples = 0, .words = 0, .slots = NULL, .n = 0, .size = 0},
        .alarm = 0,
        .n_forks = 0,
        .alarm_ns = NONE,
        .cleanups = t->cleanups,
        .masked = t->masked,
        .foreign = t->foreign,
        .mark = t->subject->root_mark(t->heap),
        .leave = NULL,
        .task = 0,
    };
}

/* Sets the frame's alarm; false: there is no timer thread. */
static bool
set_alarm(struct alqi_limit_frame *f)
{
    uint64_t cpu =
        f->end_cpu_ns == NONE ? NONE : f->end_cpu_ns - f->start_cpu_ns;

    if (f->thread->subject->polls_often)
        return true;
    f->alarm_ns = alqi_limit_end_of(f->start_ns, cpu, f->end_ns);
    return f->alarm_ns == NONE || alqi_limit_timer_add(f);
}

/* False: no memory. */
static bool
open_account(struct alqi_limit_frame *f, uint64_t seed)
{
    struct alqi_limit_thread *t = f->thread;
    struct alqi_limit_account *outer =
        f->outer != NULL ? f->outer->account : NULL;

    if (!f->has_live) {
        f->account = outer != NULL ? alqi_limit_account_keep(outer) : NULL;
        return true;
    }
    f->account = alqi_limit_account_new(outer);
    if (f->account == NULL)
        return false;
    if (t->subject->charge_begin(
            t->heap, alqi_limit_live_interval(f->live_words), seed) == ALQ_OK)
        return true;
    alqi_limit_account_drop(f->account);
    return false;
}

static void
close_account(struct alqi_limit_frame *f)
{
    if (f->has_live)
        f->thread->subject->charge_end(f->thread->heap);
    alqi_limit_account_drop(f->account);
}

enum alq_status
alqi_limit_open(struct alqi_limit_thread *t, struct alqi_limit_frame *f,
                const struct alq_limits *limits, bool reports)
{
    static const struct alq_limits none = ALQ_LIMITS_NONE;

    limits = limits != NULL ? limits : &none;
    begin(f, t, limits, reports);
    if (!open_account(f, limits->seed))
        goto fail_account;
    if (!set_alarm(f))
        goto fail_alarm;
    if (limits->seed != 0)
        alqi_limit_seed(t, limits->seed);
    alqi_limit_samples_count(t, f->has_sampled || f->outer_counts);
    t->innermost = f;
    t->masked = 0;
    if (f->token != NULL && alq_token_is_set(f->token))
        alqi_limit_frame_reach(f, ALQ_LIMIT_TOKEN);
    if (f->heap_bytes != NONE) /* the heap may be over it already */
        t->subject->wake_sigsafe(t->heap);
    alqi_limit_update_trigger(t);
    return f->cause == ALQ_LIMIT_NOT ? ALQ_OK : ALQ_ELIMIT;

fail_alarm:
    close_account(f);
fail_account:
    alq_token_drop(f->token);
    return ALQ_ENOMEM;
}

/* Most frames have no sample, and nothing to do here. */
static void
close_sites(struct alqi_limit_frame *f)
{
    if (f->sites.samples == 0)
        return;
    if (f->outer != NULL && f->outer->reports)
        alqi_limit_sites_move(&f->outer->sites, &f->sites);
    else
        alqi_limit_sites_drop(&f->sites);
}

static void
fill_outcome(const struct alqi_limit_frame *f, enum alq_status task,
             struct alq_outcome *out)
{
    const struct alqi_limit_thread *t = f->thread;

    *out = (struct alq_outcome){
        .cause = f->cause,
        .task = task,
        .words = alqi_limit_words_now(t) - f->start_words,
        .sampled_words = alqi_limit_most(t->sampled_words, f->reached_sampled) -
                         f->start_sampled,
        .live_words = f->has_live ? alqi_limit_account_words(f->account) : 0,
        .heap_bytes = t->subject->heap_bytes(t->heap),
        .time_ns = alqi_plat_mono_ns_sigsafe() - f->start_ns,
        .cpu_ns =
            f->end_cpu_ns != NONE ? alqi_limit_cpu_ns() - f->start_cpu_ns : 0,
    };
    alqi_limit_sites_report(&f->sites, out);
}

void
alqi_limit_drop(struct alqi_limit_frame *f)
{
    struct alqi_limit_thread *t = f->thread;

    ALQI_ASSERT(t->innermost == f);
    alqi_limit_timer_remove(f);
    close_sites(f);
    t->n_reached -= f->cause != ALQ_LIMIT_NOT;
    t->innermost = f->outer;
    alqi_limit_samples_count(t, f->outer_counts);
    t->masked = f->masked;
    t->foreign = f->foreign;
    t->quiet_until = 0;
    close_account(f);
    alq_token_drop(f->token);
    alqi_limit_update_trigger(t);
}

bool
alqi_limit_close(struct alqi_limit_frame *f, enum alq_status task,
                 struct alq_outcome *out)
{
    bool is_reached;

    if (alqi_limit_words_now(f->thread) == f->start_words)
        f->heap_bytes = NONE; /* this task has not filled the heap */
    alqi_limit_check_frames(f->thread);
    is_reached = f->cause != ALQ_LIMIT_NOT;
    if (out != NULL)
        fill_outcome(f, task, out);
    alqi_limit_drop(f);
    return is_reached;
}
