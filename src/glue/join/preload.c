/* preload.c -- the preload of this process, from a copy of libaliquot
 *
 * The preload exports one table of functions. A table of another version counts
 * as none: struct layouts may differ. */
#include <dlfcn.h>
#include <stdatomic.h>

#include "base/base.h"
#include "glue/join/preload.h"

/* The preload is looked for until it is found, since a program may load it
 * late. */
const struct alqi_preload_api *
alqi_glue_preload(void)
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
