/* forward.c -- the least an interposed malloc can cost: two jumps
 *
 * Preloaded as a peer in `malloc`: what is above it is the profiler's. */
#include <dlfcn.h>
#include <stdlib.h>

static void *resolving_malloc(size_t n);
static void resolving_free(void *p);

static void *(*next_malloc)(size_t) = resolving_malloc;
static void (*next_free)(void *) = resolving_free;

static void
resolve(void)
{
    void *m = dlsym(RTLD_NEXT, "malloc"), *f = dlsym(RTLD_NEXT, "free");

    if (m == NULL || f == NULL)
        abort();
    next_malloc = (void *(*)(size_t))m;
    next_free = (void (*)(void *))f;
}

static void *
resolving_malloc(size_t n)
{
    resolve();
    return next_malloc(n);
}

static void
resolving_free(void *p)
{
    resolve();
    next_free(p);
}

__attribute__((visibility("default"))) void *
malloc(size_t n)
{
    return next_malloc(n);
}

__attribute__((visibility("default"))) void
free(void *p)
{
    next_free(p);
}
