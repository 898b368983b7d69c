/* forward.c -- the least an interposed malloc can cost: jumps
 *
 * Preloaded as a peer in `malloc`: what is above it is the profiler's. */
#include <dlfcn.h>
#include <stdlib.h>

static void *resolving_malloc(size_t n);
static void *resolving_calloc(size_t n, size_t size);
static void *resolving_realloc(void *p, size_t n);
static void resolving_free(void *p);

static void *(*next_malloc)(size_t) = resolving_malloc;
static void *(*next_calloc)(size_t, size_t) = resolving_calloc;
static void *(*next_realloc)(void *, size_t) = resolving_realloc;
static void (*next_free)(void *) = resolving_free;

static void *
next(const char *name)
{
    void *p = dlsym(RTLD_NEXT, name);

    if (p == NULL)
        abort();
    return p;
}

static void
resolve(void)
{
    next_malloc = (void *(*)(size_t))next("malloc");
    next_calloc = (void *(*)(size_t, size_t))next("calloc");
    next_realloc = (void *(*)(void *, size_t))next("realloc");
    next_free = (void (*)(void *))next("free");
}

static void *
resolving_malloc(size_t n)
{
    resolve();
    return next_malloc(n);
}

static void *
resolving_calloc(size_t n, size_t size)
{
    resolve();
    return next_calloc(n, size);
}

static void *
resolving_realloc(void *p, size_t n)
{
    resolve();
    return next_realloc(p, n);
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

__attribute__((visibility("default"))) void *
calloc(size_t n, size_t size)
{
    return next_calloc(n, size);
}

__attribute__((visibility("default"))) void *
realloc(void *p, size_t n)
{
    return next_realloc(p, n);
}

__attribute__((visibility("default"))) void
free(void *p)
{
    next_free(p);
}
