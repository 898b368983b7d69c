/* dl.c -- dlopen and dlclose, as far as a profiler must see them
 *
 * .inv.dlopen  dlopen reads its caller's address (RUNPATH, namespace), so ours
 *              ends in a tail call and the loader sees the program's return
 *              address; every build compiles this file with tail calls.
 * .inv.deep    RTLD_DEEPBIND is dropped, and that is logged once: it would hide
 *              the preload, and so all allocations, from the opened library.
 * .inv.closed  After dlclose another module may take the addresses: the caches
 *              of every address are forgotten (doc/design/stack.md). */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include "preload/nodes.h"
#include "preload/preload.h"
#include "preload/python.h"

static void *(*_Atomic real_dlopen)(const char *, int); /* .pair.alone */

/* The mode without RTLD_DEEPBIND (.inv.deep).  Looks up the real dlopen, too,
 * so that ours is left with nothing but a tail call (.inv.dlopen). */
static ALQI_NOINLINE int
mode_without_deepbind(int mode)
{
    static _Atomic(bool) has_logged; /* .pair.alone */

    if (ALQI_UNLIKELY(
            atomic_load_explicit(&real_dlopen, memory_order_relaxed) == NULL))
        atomic_store(&real_dlopen,
                     (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen"));
    if ((mode & RTLD_DEEPBIND) == 0)
        return mode;
    alqi_preload_count(ALQI_RAW_DEEPBIND_DROPPED, 1);
    if (alqi_preload_config.is_on && !atomic_exchange(&has_logged, true))
        alqi_preload_log("RTLD_DEEPBIND is dropped from dlopen, or what the "
                         "library allocates would not be seen");
    return mode & ~RTLD_DEEPBIND;
}

ALQI_EXPORT void *
dlopen(const char *path, int mode)
{
    int kept = mode_without_deepbind(mode);

    return real_dlopen(path, kept);
}

static int
removals_read(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(unsigned long long *)arg = info->dlpi_subs;
    return 1;
}

static unsigned long long
removals(void)
{
    unsigned long long n = 0;

    dl_iterate_phdr(removals_read, &n);
    return n;
}

ALQI_EXPORT int
dlclose(void *handle)
{
    unsigned long long before = removals();
    int result = alqi_preload_real.dlclose(handle);

    if (removals() != before) {
        uint32_t was;

        alqi_preload_hot.is_controlling = true;
        was = alqi_preload_bypass_begin(); /* forget takes a lock */
        alqi_preload_python_forget();
        alqi_stack_forget();
        alqi_preload_bypass_end(was);
        alqi_preload_nodes_forget();
        alqi_preload_hot.is_controlling = false;
        alqi_preload_pending_poll();
    }
    return result;
}
