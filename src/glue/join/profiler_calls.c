/* profiler_calls.c -- the calls of <aliquot/memprof.h> for a managed heap
 *
 * Whoever calls for a domain runs it.  Calls that are given a profile work from
 * any thread: one that runs no domain only changes the profile's status, which
 * each domain sees when it next looks. */
#include "glue/join/profiler.h"
#include "heap/stop.h"
#include "heap/domain_thread.h"

static bool
is_run(const struct alqi_domain *d)
{
    return alqi_heap_thread_domain() == d && !d->heap->life.is_lost;
}

/* Draws the triggers anew: callbacks may have run, or the rates have
 * changed. */
static void
settle(struct alqi_domain *d)
{
    alqi_heap_observe_redraw_sigsafe(d);
}

/* Takes the failure that is kept for the next flush, before a stop that may
 * have one of its own; failure_tell() puts it back. */
static int
failure_hold(struct alqi_glue_profiled *t)
{
    int before = t->engine.failure;

    t->engine.failure = 0;
    return before;
}

/* Ends what failure_hold() began: a failure of the stop is the stop's, an
 * earlier one waits for the next flush. */
static void
failure_tell(struct alqi_glue_profiled *t, enum alq_status status, int before)
{
    if (status == ALQ_ECALLBACK) {
        t->code = t->engine.failure;
        t->engine.failure = 0;
    }
    if (before != 0)
        t->engine.failure = before;
}

static bool
is_in_callback(const struct alqi_glue_profiled *t)
{
    return t->engine.mode == ALQI_MEMPROF_CALLBACK;
}

/* ---- of a domain -------------------------------------------------------- */

/* Starts a profile in a slot. The heap is observed from the first one on. */
static enum alq_status
start(struct alqi_domain *d, enum alqi_memprof_slot slot,
      const struct alq_memprof_config *config,
      const struct alq_tracker *tracker, struct alq_profile **out)
{
    struct alqi_glue_profiled *t;
    enum alq_status status;

    if (!is_run(d))
        return ALQ_ESTATE;
    status = alqi_glue_profiler_start(d);
    if (status != ALQ_OK)
        return status;
    t = alqi_glue_profiled_get(d);
    if (t == NULL)
        return ALQ_ENOMEM;
    return alqi_memprof_start(alqi_glue_profiled_domain(d), &t->engine, slot,
                              config, tracker, out);
}

enum alq_status
alqi_glue_memprof_start(struct alqi_domain *d,
                        const struct alq_memprof_config *config,
                        const struct alq_tracker *tracker,
                        struct alq_profile **out)
{
    return start(d, ALQI_MEMPROF_SLOT_USER, config, tracker, out);
}

/* Starts a profile that nobody holds: its slot is enough to stop it. */
enum alq_status
alqi_glue_profiler_sample(struct alqi_domain *d, enum alqi_memprof_slot slot,
                          const struct alq_memprof_config *config,
                          const struct alq_tracker *tracker)
{
    struct alq_profile *profile;
    enum alq_status status = start(d, slot, config, tracker, &profile);

    if (status == ALQ_OK)
        alqi_memprof_profile_drop(profile);
    return status;
}

/* Stops the slot's profile. Without memory for the thread's state it goes on: a
 * later stop ends it. */
void
alqi_glue_profiler_rest(struct alqi_domain *d, enum alqi_memprof_slot slot)
{
    struct alqi_glue_profiled *t = alqi_glue_profiled_get(d);

    if (t != NULL)
        (void)alqi_memprof_stop(alqi_glue_profiled_domain(d), &t->engine, slot);
}

bool
alqi_glue_profiler_samples(const struct alqi_domain *d,
                           enum alqi_memprof_slot slot)
{
    const struct alqi_memprof_domain *domain = alqi_glue_profiled_domain(d);

    return domain != NULL && alqi_memprof_is_sampling(domain, slot);
}

/* The domain is sampled by the profile from now on. */
enum alq_status
alqi_glue_memprof_join(struct alqi_domain *d, struct alq_profile *profile)
{
    if (!is_run(d))
        return ALQ_ESTATE;
    if (alqi_glue_profiled_domain(d) == NULL)
        return ALQ_ENOTRUN; /* no domain of this heap samples */
    if (alqi_glue_profiled_get(d) == NULL)
        return ALQ_ENOMEM;
    return alqi_memprof_join(alqi_glue_profiled_domain(d), profile);
}

/* Callbacks of the profile run here, so a failure is told by the stop. */
enum alq_status
alqi_glue_memprof_stop(struct alqi_domain *d)
{
    struct alqi_glue_profiled *t;
    enum alq_status status;
    int before;

    if (!is_run(d))
        return ALQ_ESTATE;
    if (!alqi_glue_memprof_is_sampling(d))
        return ALQ_ENOTRUN;
    t = alqi_glue_profiled_get(d);
    if (t == NULL)
        return ALQ_ENOMEM;
    before = failure_hold(t);
    status = alqi_memprof_stop(alqi_glue_profiled_domain(d), &t->engine,
                               ALQI_MEMPROF_SLOT_USER);
    failure_tell(t, status, before);
    settle(d);
    return status;
}

/* A heap that was never profiled owes nothing. */
enum alq_status
alqi_glue_memprof_flush(struct alqi_domain *d, int *code)
{
    struct alqi_glue_profiled *t;
    enum alq_status status;

    if (!is_run(d))
        return ALQ_ESTATE;
    t = alqi_glue_profiled_get(d);
    if (t == NULL)
        return alqi_glue_profiled_domain(d) == NULL ? ALQ_OK : ALQ_ENOMEM;
    status = alqi_memprof_flush(&t->engine, &t->code);
    if (status == ALQ_ECALLBACK && code != NULL)
        *code = t->code;
    settle(d);
    return status;
}

bool
alqi_glue_memprof_is_sampling(const struct alqi_domain *d)
{
    return alqi_glue_profiler_samples(d, ALQI_MEMPROF_SLOT_USER);
}

int
alqi_glue_memprof_code(const struct alqi_domain *d)
{
    const struct alqi_glue_profiled *t = alqi_glue_profiled_running(d);

    return t != NULL ? t->code : 0;
}

/* ---- of a profile ------------------------------------------------------- */

/* The domain that the calling thread runs, and its state there; NULL: it runs
 * none that is profiled, or there is no memory. */
static struct alqi_glue_profiled *
caller(struct alqi_domain **d)
{
    *d = alqi_heap_thread_domain();
    if (*d == NULL || (*d)->heap->life.is_lost)
        return NULL;
    return alqi_glue_profiled_get(*d);
}

/* A thread that runs no domain has no callbacks to run: only the profile's
 * status changes. */
enum alq_status
alqi_glue_profile_stop(struct alq_profile *profile)
{
    struct alqi_domain *d;
    struct alqi_glue_profiled *t = caller(&d);
    enum alq_status status;
    int before;

    if (t == NULL)
        return alqi_memprof_profile_stop(NULL, profile);
    before = failure_hold(t);
    status = alqi_memprof_profile_stop(&t->engine, profile);
    failure_tell(t, status, before);
    settle(d);
    return status;
}

/* From any thread, in a callback too; what the engine owes `release` is done
 * now or later. */
enum alq_status
alqi_glue_profile_discard(struct alq_profile *profile)
{
    struct alqi_domain *d;
    struct alqi_glue_profiled *t = caller(&d);
    enum alq_status status;

    if (t == NULL)
        return alqi_memprof_discard(NULL, profile);
    status = alqi_memprof_discard(&t->engine, profile);
    settle(d);
    return status;
}

/* ---- a look at what is tracked ------------------------------------------ */

struct look {
    struct alq_profile *profile;
    int (*visit)(void *arg, const struct alq_allocation *alloc, uintptr_t data);
    void *arg;
};

/* Visits the entries of all domains. The world is stopped, and no collection is
 * half done. */
static void
look_begin(struct alqi_domain *leader)
{
    const struct look *l = leader->stop_arg;
    struct alqi_heap *heap = leader->heap;
    int stop = 0;

    alqi_memprof_adopt(alqi_glue_profiled_domain(leader));
    for (unsigned i = 0; i < heap->n_slots && stop == 0; i++) {
        struct alqi_memprof_domain *of =
            alqi_glue_profiled_domain(heap->domains[i]);

        if (of != NULL)
            stop = alqi_memprof_each_of(of, l->profile, l->visit, l->arg);
    }
}

static const struct alqi_heap_stop_work *
look_last(struct alqi_domain *self)
{
    (void)self;
    return NULL;
}

/* The world stops for the visit; not from within a callback, whose entry is
 * being changed. */
enum alq_status
alqi_glue_profile_each(struct alq_profile *profile,
                       int (*visit)(void *arg,
                                    const struct alq_allocation *alloc,
                                    uintptr_t data),
                       void *arg)
{
    static const struct alqi_heap_stop_work work = {.begin = look_begin,
                                                    .last = look_last};
    struct look l = {profile, visit, arg};
    struct alqi_domain *d = alqi_heap_thread_domain();
    const struct alqi_glue_profiled *t;

    if (d == NULL || d->heap->life.is_lost)
        return ALQ_ESTATE;
    if (alqi_memprof_is_discarded(profile))
        return ALQ_EGONE;
    t = alqi_glue_profiled_running(d);
    if (t != NULL && is_in_callback(t))
        return ALQ_ESTATE;
    if (alqi_glue_profiled_domain(d) == NULL)
        return ALQ_OK; /* of a heap that has ended */
    d->stop_arg = &l;
    while (!alqi_heap_stop_try(d, &work))
        continue;
    return ALQ_OK;
}
