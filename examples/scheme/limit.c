/* limit.c -- Scheme code under limits, and what a profiler sees of it */
#include <math.h>

#include "scheme.h"

/* ---- limits ------------------------------------------------------------- */

/* What a procedure in args[0] does with the list args[1]; args[0] becomes its
 * value, if it comes back. */
struct task {
    struct scheme *s;
    alq_value *args;
    bool is_back;
};

/* ROOT_TARGET says what the procedure was left for: FALSE is a limit. */
static enum alq_status
task(struct alq_domain *d, void *arg)
{
    struct task *t = arg;

    t->is_back = run_above(t->s, t->args[0], t->args[1], 0, t->args);
    return t->is_back || !is_false(t->s->stack[ROOT_TARGET]) ? ALQ_OK
                                                             : ALQ_ELIMIT;
}

/* From a vector: numbers, or #f for those that there are not. */
static struct alq_limits
limits_of(struct scheme *s, alq_value vector)
{
    struct alq_limits limits = ALQ_LIMITS_NONE;
    uint64_t *members[] = {&limits.words,      &limits.live_words,
                           &limits.heap_bytes, &limits.time_ns,
                           &limits.cpu_ns,     &limits.polls};
    unsigned i;

    for (i = 0; i < sizeof members / sizeof members[0]; i++) {
        alq_value v =
            alq_field(vector, vector_index(s, vector, from_fixnum(i)));
        double x = !is_false(v) ? to_double(s, v) : INFINITY;

        *members[i] = x < 0x1p63 ? (uint64_t)x : ALQ_LIMIT_NONE;
    }
    return limits;
}

/* (%limited procedure args limits form?): its value; %failed when a limit of
 * these is reached.  form?: what calls is the session, and is not shown. */
PRIM(limited, "%limited", "alva")
{
    struct alq_limits limits = limits_of(s, args[2]);
    struct task t = {s, args, false};
    unsigned session = s->session;
    enum alq_status status;

    s->n_trace = frames(s, s->trace, TRACE_MAX); /* if it returns too late */
    alq_store(s->d, s->stack[ROOT_STATUS], CONDITION_FRAME,
              from_fixnum(here(s)));
    if (!is_false(args[3]))
        s->session = s->run.level;
    status = alq_limit_run(s->d, &limits, task, &t, &s->outcome);
    s->session = session;
    if (status != ALQ_OK && status != ALQ_ELIMIT)
        fail(s, ALQ_NULL, "with-limits: %s", alq_status_text(status));
    if (status == ALQ_ELIMIT && s->outcome.cause != ALQ_LIMIT_NOT)
        return FAILED;
    if (status == ALQ_ELIMIT || !t.is_back)
        throw_on(s);
    return args[0];
}

/* (%outcome): of the last limits which was reached, as a number; words
 * allocated, bytes of the heap, nanoseconds. */
PRIM(outcome, "%outcome", "")
{
    const struct alq_outcome *out = &s->outcome;
    alq_value facts[] = {from_fixnum(out->cause), from_fixnum(out->words),
                         from_fixnum(out->heap_bytes),
                         from_fixnum(out->time_ns)};

    return list_of(s, facts, 4);
}

/* Of a stack the innermost frame that is not the prelude's. */
static uintptr_t
culprit(const struct scheme *s, const struct alq_limit_site *site)
{
    unsigned i = 0;

    while (i + 1 < site->n_frames && FRAME_FILE(site->frames[i]) == s->prelude)
        i++;
    return site->n_frames > 0 ? site->frames[i] : 0;
}

/* Fewer samples say nothing. */
enum { SAMPLES_MIN = 20 };

/* (%sites): a list of per cent of the words and frames: where the last limits'
 * task allocated, the most first.  Without a profile there are none. */
PRIM(sites, "%sites", "")
{
    const struct alq_outcome *out = &s->outcome;
    unsigned i = out->site_samples < SAMPLES_MIN ? 0 : out->n_sites;
    ALQ_FRAME(s->d, f, list, pair);

    for (f.list = NIL; i > 0; i--) {
        const struct alq_limit_site *site = &out->sites[i - 1];

        f.pair = PAIR(s, from_fixnum(100 * site->words / (out->site_words | 1)),
                      from_fixnum(culprit(s, site)));
        f.list = PAIR(s, f.pair, f.list);
    }
    return f.list;
}

/* ---- what a profiler sees: procedures, by file and line ----------------- */

static _Thread_local struct scheme *running;

/* Called where a block is allocated: reads memory only. */
static size_t
walk(void *arg, struct alq_domain *d, uintptr_t *out, size_t max)
{
    size_t n = running != NULL ? frames(running, out, (unsigned)max) : 0;

    if (running != NULL && n == 0 && max > 0) /* it reads, or compiles */
        out[n++] = FRAME(0, running->file) | running->line;
    return n;
}

/* The code may be gone: a frame says the same for ever. */
static size_t
describe(void *arg, uintptr_t frame, struct alq_location *out, size_t max)
{
    *out = (struct alq_location){.function = name_of(FRAME_NAME(frame)),
                                 .file = name_of(FRAME_FILE(frame)),
                                 .line = FRAME_LINE(frame)};
    return 1;
}

bool
profile_start(struct alq_domain *d)
{
    static const struct alq_stack_source source = {walk, describe, NULL};

    return alq_stack_source_set(d, &source) == ALQ_OK;
}

void
profile_thread(struct scheme *s)
{
    running = s;
}

/* A session's: one sample in 10,000 words, of which outcomes have the sites. */
struct alq_profile *
sites_start(struct alq_domain *d)
{
    const struct alq_memprof_config config = {1e-4, ALQ_LIMIT_SITE_FRAMES, 0, 0,
                                              ALQ_MEMPROF_BESIDE};
    struct alq_profile *profile;

    return alq_memprof_start(d, &config, &alq_tracker_null, &profile) == ALQ_OK
               ? profile
               : NULL;
}

void
sites_stop(struct alq_profile *profile)
{
    if (profile != NULL) {
        alq_profile_stop(profile);
        alq_memprof_discard(profile);
        alq_profile_drop(profile);
    }
}
