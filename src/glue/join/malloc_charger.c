/* malloc_charger.c -- blocks of malloc on the accounts of tasks that live words
 * are limited for
 *
 * As charger.c, but the profile is of the thread alone, so that others pay
 * nothing: it samples beside those of its thread tree.  Its entries outlast it,
 * and so do the charges that are their data. */
#include "glue/join/malloc_limiter.h"
#include "memprof/engine.h"

/* Charges the block to the thread's task; a thread without one drops it. */
static int
on_alloc(void *interval, const struct alq_allocation *a, uintptr_t *data)
{
    struct alqi_glue_malloc_limiter *l = alqi_glue_malloc_limiter_of();
    struct alqi_limit_charge *c;

    if (l == NULL) /* a thread that the task has made */
        return ALQ_TRACK_DROP;
    c = alqi_limit_charge(&l->t, a->n_samples * (uintptr_t)interval);
    *data = (uintptr_t)c;
    return c != NULL ? ALQ_TRACK_KEEP : ALQ_TRACK_DROP;
}

static void
on_release(void *interval, uintptr_t data)
{
    (void)interval;
    alqi_limit_charge_end((struct alqi_limit_charge *)data);
}

static int
on_dealloc(void *interval, uintptr_t data)
{
    on_release(interval, data);
    return 0;
}

/* Stops the profile, if there is one; its entries go on until their blocks are
 * freed. */
static void
rest(struct alqi_glue_malloc_limiter *l)
{
    if (l->charges == NULL)
        return;
    (void)l->api->profile_stop(l->charges);
    l->api->drop(l->charges);
    l->charges = NULL;
}

/* Starts a profile with that interval, then stops the former one: nothing is
 * missed in between. */
static enum alq_status
sample(struct alqi_glue_malloc_limiter *l, uint64_t interval_words,
       uint64_t seed)
{
    const struct alq_memprof_config config = {
        .rate = 1.0 / (double)interval_words,
        .seed = seed,
        .flags = ALQ_MEMPROF_BESIDE | ALQI_MEMPROF_OF_LIMITS,
    };
    const struct alq_tracker tracker = {
        .alloc_major = on_alloc,
        .dealloc_major = on_dealloc,
        .release = on_release,
        .arg = (void *)(uintptr_t)interval_words,
    };
    struct alq_profile *profile;
    enum alq_status status = l->api->tree_start(&config, &tracker, &profile);

    if (status != ALQ_OK)
        return status;
    rest(l);
    l->charges = profile;
    l->charge_interval_words = interval_words;
    return ALQ_OK;
}

/* As alqi_glue_charger_begin(), for the calling thread. */
enum alq_status
alqi_glue_malloc_charge_begin(void *limiter, uint64_t interval_words,
                              uint64_t seed)
{
    struct alqi_glue_malloc_limiter *l = limiter;
    enum alq_status status = ALQ_OK;
    bool is_first = l->n_charging == 0;

    if (!is_first && l->charge_interval_words < interval_words)
        interval_words = l->charge_interval_words;
    if (is_first || seed != 0 || interval_words < l->charge_interval_words)
        status = sample(l, interval_words, seed);
    l->n_charging += status == ALQ_OK;
    return status;
}

void
alqi_glue_malloc_charge_end(void *limiter)
{
    struct alqi_glue_malloc_limiter *l = limiter;

    if (--l->n_charging == 0)
        rest(l);
}
