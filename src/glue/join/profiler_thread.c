/* profiler_thread.c -- an engine thread for each thread of the heap
 *
 * It is made when the thread first needs it: when it draws a trigger in a
 * domain that is sampled, when it allocates there, when it runs callbacks that
 * others owe.  Without memory for it the thread is not sampled; it tries again.
 */
#include "glue/join/profiler.h"

enum { FRAMES_MAX = ALQI_STACK_FRAMES_MAX };

static size_t
round_up(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* One mapping has all parts: the struct, the stack cache, the layouts, the
 * frames; each begins on a cache line. */
struct alqi_glue_profiled *
alqi_glue_profiled_new(struct alqi_memprof_domain *domain, bool captures)
{
    size_t head = round_up(sizeof(struct alqi_glue_profiled));
    size_t memo = captures ? round_up(alqi_stack_cache_bytes(FRAMES_MAX)) : 0;
    size_t few = captures ? round_up(sizeof(struct alqi_stack_layouts)) : 0;
    size_t bytes = head + memo + few + FRAMES_MAX * sizeof(uintptr_t);
    char *pages = alqi_plat_pages_map(bytes);
    struct alqi_glue_profiled *t = (void *)pages;
    struct alqi_stack_cache *m = NULL;

    if (t == NULL)
        return NULL;
    t->bytes = bytes;
    if (captures) {
        m = (void *)(pages + head);
        alqi_stack_cache_init(m, FRAMES_MAX);
    }
    alqi_memprof_thread_init(&t->engine, domain, m,
                             (uintptr_t *)(void *)(pages + head + memo + few),
                             0);
    if (captures)
        t->engine.layouts = (void *)(pages + head + memo);
    return t;
}

void
alqi_glue_profiled_end(struct alqi_glue_profiled *t)
{
    alqi_memprof_thread_end(&t->engine);
    alqi_plat_pages_unmap(t, t->bytes);
}

/* NULL where the domain has no engine domain, or without memory. */
struct alqi_glue_profiled *
alqi_glue_profiled_get(struct alqi_domain *d)
{
    struct alqi_memprof_domain *domain = alqi_glue_profiled_domain(d);
    struct alqi_glue_profiled *t = alqi_glue_profiled_running(d);

    if (t != NULL || domain == NULL || d->threads.running == NULL)
        return t;
    t = alqi_glue_profiled_new(domain, true);
    d->threads.running->observer = t;
    return t;
}
