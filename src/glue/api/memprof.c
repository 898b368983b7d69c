/* memprof.c -- <aliquot/memprof.h>: to the preload's engine or our own
 *
 * Arguments are checked here, in the order of the header's error lists, so that
 * a wrong call gets the same answer with and without a preload.
 *
 * A domain says which heap is meant, and so which engine; a profile names its
 * engine in its first word. */
#include <aliquot/memprof.h>

#include "glue/join/preload.h"
#include "glue/join/profiler.h"

const struct alq_tracker alq_tracker_null;

/* Not a domain: its address alone means something. */
static char thread_tree;

/* The address of a variable stands for the calling thread and those it
 * makes. */
struct alq_domain *
alq_thread_tree(void)
{
    return (struct alq_domain *)(void *)&thread_tree;
}

static bool
is_tree(const struct alq_domain *domain)
{
    return (const void *)domain == &thread_tree;
}

/* Whether the call is for the preload. */
static bool
is_of_malloc(const struct alq_domain *domain)
{
    return domain == NULL || is_tree(domain);
}

/* NULL is the default configuration. */
static bool
is_config_right(const struct alq_memprof_config *config)
{
    const unsigned known =
        ALQ_MEMPROF_STRICT | ALQ_MEMPROF_DEFER | ALQ_MEMPROF_BESIDE;

    return config == NULL || (config->rate >= 0.0 && config->rate <= 1.0 &&
                              (config->flags & ~known) == 0);
}

static bool
is_tracker_right(const struct alq_tracker *tracker)
{
    return tracker != NULL &&
           (tracker->flags & ~(unsigned)ALQ_TRACKER_VALUES) == 0;
}

/* The heap's engine, or the preload's: of the whole process or of a thread
 * tree. */
enum alq_status
alq_memprof_start(struct alq_domain *domain,
                  const struct alq_memprof_config *config,
                  const struct alq_tracker *tracker, struct alq_profile **out)
{
    const struct alqi_preload_api *api;

    if (!is_config_right(config) || !is_tracker_right(tracker) || out == NULL)
        return ALQ_EINVAL;
    if (!is_of_malloc(domain))
        return alqi_glue_memprof_start(alqi_heap_domain(domain), config,
                                       tracker, out);
    api = alqi_glue_preload();
    if (api == NULL)
        return ALQ_ENOHEAP;
    return is_tree(domain) ? api->tree_start(config, tracker, out)
                           : api->start(config, tracker, out);
}

/* As the start without STRICT: a profile that samples the domain is no reason
 * to refuse. A profile beside others replaces none. */
enum alq_status
alq_memprof_replace(struct alq_domain *domain,
                    const struct alq_memprof_config *config,
                    const struct alq_tracker *tracker, struct alq_profile **out)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;

    if (config != NULL)
        c = *config;
    if (c.flags & ALQ_MEMPROF_BESIDE)
        return ALQ_EINVAL;
    c.flags &= ~(unsigned)ALQ_MEMPROF_STRICT;
    return alq_memprof_start(domain, &c, tracker, out);
}

/* The profile of that heap which is not beside others. */
enum alq_status
alq_memprof_stop(struct alq_domain *domain)
{
    const struct alqi_preload_api *api;

    if (!is_of_malloc(domain))
        return alqi_glue_memprof_stop(alqi_heap_domain(domain));
    api = alqi_glue_preload();
    if (api == NULL)
        return ALQ_ENOHEAP;
    return is_tree(domain) ? api->tree_stop() : api->stop();
}

/* From any thread: the profile knows its engine. */
enum alq_status
alq_profile_stop(struct alq_profile *profile)
{
    const struct alqi_preload_api *api;

    if (profile == NULL)
        return ALQ_EINVAL;
    if (alqi_memprof_is_own(profile))
        return alqi_glue_profile_stop(profile);
    api = alqi_glue_preload();
    return api != NULL ? api->profile_stop(profile) : ALQ_ENOHEAP;
}

/* ALQ_EINVAL without a preload: the profile is of none that is there. */
enum alq_status
alq_memprof_discard(struct alq_profile *profile)
{
    const struct alqi_preload_api *api;

    if (profile == NULL)
        return ALQ_EINVAL;
    if (alqi_memprof_is_own(profile))
        return alqi_glue_profile_discard(profile);
    api = alqi_glue_preload();
    return api != NULL ? api->discard(profile) : ALQ_EINVAL;
}

enum alq_status
alq_memprof_flush(struct alq_domain *domain, int *code)
{
    const struct alqi_preload_api *api;

    if (!is_of_malloc(domain))
        return alqi_glue_memprof_flush(alqi_heap_domain(domain), code);
    api = alqi_glue_preload();
    return api != NULL ? api->flush(code) : ALQ_ENOHEAP;
}

/* malloc has no domains that could join. */
enum alq_status
alq_memprof_join(struct alq_domain *domain, struct alq_profile *profile)
{
    if (is_of_malloc(domain) || profile == NULL ||
        !alqi_memprof_is_own(profile))
        return ALQ_EINVAL;
    return alqi_glue_memprof_join(alqi_heap_domain(domain), profile);
}

int
alq_memprof_code(struct alq_domain *domain)
{
    return is_of_malloc(domain)
               ? 0
               : alqi_glue_memprof_code(alqi_heap_domain(domain));
}

int
alq_memprof_is_sampling(struct alq_domain *domain)
{
    const struct alqi_preload_api *api;

    if (!is_of_malloc(domain))
        return alqi_glue_memprof_is_sampling(alqi_heap_domain(domain));
    api = alqi_glue_preload();
    if (api == NULL)
        return 0;
    return is_tree(domain) ? api->tree_is_sampling() : api->is_sampling();
}

enum alq_status
alq_memprof_each(struct alq_profile *profile,
                 int (*visit)(void *arg, const struct alq_allocation *alloc,
                              uintptr_t data),
                 void *arg)
{
    const struct alqi_preload_api *api;

    if (profile == NULL || visit == NULL)
        return ALQ_EINVAL;
    if (alqi_memprof_is_own(profile))
        return alqi_glue_profile_each(profile, visit, arg);
    api = alqi_glue_preload();
    return api != NULL ? api->each(profile, visit, arg) : ALQ_EINVAL;
}

/* A profile of a preload that is not there any more has counted nothing. */
void
alq_profile_counts(const struct alq_profile *profile,
                   struct alq_memprof_counts *out)
{
    const struct alqi_preload_api *api;

    if (alqi_memprof_is_own(profile)) {
        alqi_memprof_counts(profile, out);
        return;
    }
    api = alqi_glue_preload();
    if (api != NULL)
        api->counts(profile, out);
    else
        *out = (struct alq_memprof_counts){0};
}

uint64_t
alq_profile_seed(const struct alq_profile *profile)
{
    const struct alqi_preload_api *api;

    if (alqi_memprof_is_own(profile))
        return alqi_memprof_seed(profile);
    api = alqi_glue_preload();
    return api != NULL ? api->seed(profile) : 0;
}

/* Without its preload there is nothing left to free. */
void
alq_profile_drop(struct alq_profile *profile)
{
    const struct alqi_preload_api *api;

    if (profile == NULL)
        return;
    if (alqi_memprof_is_own(profile)) {
        alqi_memprof_profile_drop(profile);
        return;
    }
    api = alqi_glue_preload();
    if (api != NULL)
        api->drop(profile);
}
