/* charger.c -- see charger.h
 *
 * A task that needs a shorter interval replaces the profile, for all tasks of
 * the domain and until the last of them has ended: what was sampled by the
 * former one is tracked all the same. */
#include "glue/join/charger.h"
#include "glue/join/limited.h"
#include "glue/join/profiler.h"
#include "heap/domain_thread.h"

/* The charges of each domain, by its slot; touched by the thread that runs the
 * domain. n_tasks counts frames with a limit of live words; interval_words is
 * the shortest that any of them asked for, valid while n_tasks is not 0. */
static struct {
    unsigned n_tasks;
    uint64_t interval_words;
} charged[ALQI_HEAP_DOMAINS_MAX];

/* ---- blocks ------------------------------------------------------------- */

/* Charges the block to the task that allocates; without one, or without memory,
 * the block is not tracked. */
static int
on_alloc(void *arg, const struct alq_allocation *alloc, uintptr_t *data)
{
    struct alqi_domain *d = alqi_heap_thread_domain();
    struct alqi_glue_limiter *l = d != NULL ? alqi_glue_limiter_of(d) : NULL;
    struct alqi_limit_charge *c;

    if (l == NULL)
        return ALQ_TRACK_DROP;
    c = alqi_limit_charge(&l->t, alloc->n_samples * (uintptr_t)arg);
    *data = (uintptr_t)c;
    return c != NULL ? ALQ_TRACK_KEEP : ALQ_TRACK_DROP;
}

static int
on_promote(void *arg, uintptr_t *data)
{
    (void)arg;
    (void)data;
    return ALQ_TRACK_KEEP;
}

/* Takes the block off the accounts of its task and of those around it. */
static int
on_death(void *arg, uintptr_t data)
{
    (void)arg;
    alqi_limit_charge_end((struct alqi_limit_charge *)data);
    return 0;
}

static void
on_release(void *arg, uintptr_t data)
{
    (void)on_death(arg, data);
}

/* ---- tasks -------------------------------------------------------------- */

/* Starts, or replaces, the domain's profile of live words. */
static enum alq_status
sample(struct alqi_domain *d, uint64_t interval_words, uint64_t seed)
{
    const struct alq_memprof_config config = {.rate =
                                                  1.0 / (double)interval_words,
                                              .seed = seed,
                                              .flags = ALQI_MEMPROF_OF_LIMITS};
    const struct alq_tracker tracker = {
        .alloc_minor = on_alloc,
        .alloc_major = on_alloc,
        .promote = on_promote,
        .dealloc_minor = on_death,
        .dealloc_major = on_death,
        .release = on_release,
        .arg = (void *)(uintptr_t)interval_words,
    };

    return alqi_glue_profiler_sample(d, ALQI_MEMPROF_SLOT_LIVE, &config,
                                     &tracker);
}

/* An interval is never made longer while tasks run: their accounts would lose
 * accuracy. A seed begins anew, as tests want the same samples. */
enum alq_status
alqi_glue_charger_begin(struct alqi_domain *d, uint64_t interval_words,
                        uint64_t seed)
{
    enum alq_status status = ALQ_OK;
    bool is_first = charged[d->slot].n_tasks == 0;

    if (!is_first && charged[d->slot].interval_words < interval_words)
        interval_words = charged[d->slot].interval_words;
    if (is_first || seed != 0 ||
        charged[d->slot].interval_words > interval_words)
        status = sample(d, interval_words, seed);
    if (status != ALQ_OK)
        return status;
    charged[d->slot].interval_words = interval_words;
    charged[d->slot].n_tasks++;
    return ALQ_OK;
}

/* Runs the callbacks of deaths that collections have found. */
void
alqi_glue_charger_settle(struct alqi_domain *d)
{
    struct alqi_glue_profiled *t = alqi_glue_profiled_running(d);

    if (t != NULL)
        alqi_memprof_limits_run(&t->engine);
}

void
alqi_glue_charger_end(struct alqi_domain *d)
{
    if (--charged[d->slot].n_tasks == 0)
        alqi_glue_profiler_rest(d, ALQI_MEMPROF_SLOT_LIVE);
}
