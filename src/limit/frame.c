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
#define IS_NUMBER(member, ...) is_number(l->member) &&
    return ALQI_LIMIT_KINDS(IS_NUMBER) true;
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

/* The clock is read for a frame that needs it. */
static inline uint64_t
start_ns(const struct alq_limits *l, bool reports)
{
    return reports || l->time_ns != NONE || l->cpu_ns != NONE
               ? alqi_plat_mono_ns_sigsafe()
               : 0;
}

/* Every member is named, so the compiler stores each once, in place: a literal
 * that leaves some out is cleared as a whole first, which takes longer than the
 * rest. */
static void
begin(struct alqi_limit_frame *f, struct alqi_limit_thread *t,
      const struct alq_limits *l, bool reports)
{
#define ENDLESS(member, ...) .member.end = NONE,
    static const struct alqi_limit_frame none = {ALQI_LIMIT_KINDS(ENDLESS)};
    const struct alqi_limit_frame *around =
        t->innermost != NULL ? t->innermost : &none;
    /* Within a mask the ends of the masked task do not count (4.3.7). */
    const struct alqi_limit_frame *outer = t->masked == 0 ? around : &none;

#define OPEN(member, cause, start, outer_end, ...)                             \
    .member = alqi_limit_budget(start, l->member, outer_end),
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
        .reached_sampled = 0,
        .outer_counts = t->counts_samples,
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
        ALQI_LIMIT_KINDS(OPEN)};
}

/* Sets the frame's alarm; false: there is no timer thread. */
static bool
set_alarm(struct alqi_limit_frame *f)
{
    uint64_t cpu =
        f->cpu_ns.end == NONE ? NONE : f->cpu_ns.end - f->cpu_ns.start;

    if (f->thread->subject->polls_often)
        return true;
    f->alarm_ns = alqi_limit_end_of(f->time_ns.start, cpu, f->time_ns.end);
    return f->alarm_ns == NONE || alqi_limit_timer_add(f);
}

/* False: no memory. */
static bool
open_account(struct alqi_limit_frame *f, uint64_t seed)
{
    struct alqi_limit_thread *t = f->thread;
    struct alqi_limit_account *outer =
        f->outer != NULL ? f->outer->account : NULL;

    if (!f->live_words.is_own) {
        f->account = outer != NULL ? alqi_limit_account_keep(outer) : NULL;
        return true;
    }
    f->account = alqi_limit_account_new(outer);
    if (f->account == NULL)
        return false;
    if (t->subject->charge_begin(t->heap,
                                 alqi_limit_live_interval(f->live_words.end),
                                 seed) == ALQ_OK)
        return true;
    alqi_limit_account_drop(f->account);
    return false;
}

static void
close_account(struct alqi_limit_frame *f)
{
    if (f->live_words.is_own)
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
    alqi_limit_samples_count(t, f->sampled_words.is_own || f->outer_counts);
    t->innermost = f;
    t->masked = 0;
    if (f->token != NULL && alq_token_is_set(f->token))
        alqi_limit_frame_reach(f, ALQ_LIMIT_TOKEN);
    if (f->heap_bytes.is_own) /* the heap may be over it already */
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

/* Fills every member: what each kind of limit has used, by its row in kinds.h,
 * then the sites. */
static void
fill_outcome(const struct alqi_limit_frame *f, enum alq_status task,
             struct alq_outcome *out)
{
    const struct alqi_limit_thread *t = f->thread;

#define USED(member, value) .member = (value),
    *out = (struct alq_outcome){
        .cause = f->cause, .task = task, ALQI_LIMIT_USES(USED) /* each number */
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

    if (alqi_limit_words_now(f->thread) == f->words.start)
        f->heap_bytes.is_own = false; /* this task has not filled the heap */
    alqi_limit_check_frames(f->thread);
    is_reached = f->cause != ALQ_LIMIT_NOT;
    if (out != NULL)
        fill_outcome(f, task, out);
    alqi_limit_drop(f);
    return is_reached;
}
