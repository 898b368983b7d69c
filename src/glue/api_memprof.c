/* api_memprof.c -- <aliquot/memprof.h> for the malloc heap
 *
 * Arguments are checked here, in the order of the header's error lists, so that
 * a wrong call gets the same answer with and without a preload. */
#include <dlfcn.h>
#include <stdatomic.h>

#include <aliquot/memprof.h>

#include "base/base.h"
#include "memprof/preload_api.h"

const struct alq_tracker alq_tracker_null;

/* NULL: no preload, or one of another version.  Looked for until found, since
 * a program may load it late. */
static const struct alqi_preload_api *
preload(void)
{
    static _Atomic(const struct alqi_preload_api *) found;
    const struct alqi_preload_api *api =
        atomic_load_explicit(&found, memory_order_acquire);

    if (ALQI_LIKELY(api != NULL))
        return api;
    api = dlsym(RTLD_DEFAULT, ALQI_PRELOAD_API_NAME);
    if (api == NULL || api->version != ALQI_PRELOAD_API_VERSION ||
        api->bytes < sizeof *api)
        return NULL;
    atomic_store_explicit(&found, api, memory_order_release);
    return api;
}

/* Not a domain: its address alone means something. */
static char thread_tree;

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

static bool
is_of_malloc(const struct alq_domain *domain)
{
    return domain == NULL || is_tree(domain);
}

static bool
is_config_right(const struct alq_memprof_config *config)
{
    const unsigned known =
        ALQ_MEMPROF_STRICT | ALQ_MEMPROF_DEFER | ALQ_MEMPROF_BESIDE;

    return config == NULL || (config->rate >= 0.0 && config->rate <= 1.0 &&
                              (config->flags & ~known) == 0);
}

enum alq_status
alq_memprof_start(struct alq_domain *domain,
                  const struct alq_memprof_config *config,
                  const struct alq_tracker *tracker, struct alq_profile **out)
{
    const struct alqi_preload_api *api;

    if (!is_of_malloc(domain) || !is_config_right(config) || tracker == NULL ||
        out == NULL)
        return ALQ_EINVAL;
    api = preload();
    if (api == NULL)
        return ALQ_ENOHEAP;
    return is_tree(domain) ? api->tree_start(config, tracker, out)
                           : api->start(config, tracker, out);
}

enum alq_status
alq_memprof_stop(struct alq_domain *domain)
{
    const struct alqi_preload_api *api;

    if (!is_of_malloc(domain))
        return ALQ_EINVAL;
    api = preload();
    if (api == NULL)
        return ALQ_ENOHEAP;
    return is_tree(domain) ? api->tree_stop() : api->stop();
}

enum alq_status
alq_profile_stop(struct alq_profile *profile)
{
    const struct alqi_preload_api *api;

    if (profile == NULL)
        return ALQ_EINVAL;
    api = preload();
    return api != NULL ? api->profile_stop(profile) : ALQ_ENOHEAP;
}

enum alq_status
alq_memprof_discard(struct alq_profile *profile)
{
    const struct alqi_preload_api *api;

    if (profile == NULL)
        return ALQ_EINVAL;
    api = preload();
    return api != NULL ? api->discard(profile) : ALQ_EINVAL;
}

enum alq_status
alq_memprof_flush(struct alq_domain *domain, int *code)
{
    const struct alqi_preload_api *api;

    if (!is_of_malloc(domain))
        return ALQ_EINVAL;
    api = preload();
    return api != NULL ? api->flush(code) : ALQ_ENOHEAP;
}

int
alq_memprof_is_sampling(struct alq_domain *domain)
{
    const struct alqi_preload_api *api =
        is_of_malloc(domain) ? preload() : NULL;

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
    api = preload();
    return api != NULL ? api->each(profile, visit, arg) : ALQ_EINVAL;
}

void
alq_profile_counts(const struct alq_profile *profile,
                   struct alq_memprof_counts *out)
{
    const struct alqi_preload_api *api = preload();

    if (api != NULL)
        api->counts(profile, out);
    else
        *out = (struct alq_memprof_counts){0};
}

uint64_t
alq_profile_seed(const struct alq_profile *profile)
{
    const struct alqi_preload_api *api = preload();

    return api != NULL ? api->seed(profile) : 0;
}

void
alq_profile_drop(struct alq_profile *profile)
{
    const struct alqi_preload_api *api = profile != NULL ? preload() : NULL;

    if (api != NULL)
        api->drop(profile);
}
