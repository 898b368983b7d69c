/* profiler.h -- the profiler joined to the managed heap  [doc/design/join.md]
 */
#ifndef ALQI_GLUE_JOIN_PROFILER_H
#define ALQI_GLUE_JOIN_PROFILER_H

#include "heap/state.h"
#include "memprof/scan.h"

/* The engine's state of a thread of the heap, in struct alq_thread.observer. */
struct alqi_glue_profiled {
    /* of the thread that it was made for; touched by that thread */
    struct alqi_memprof_thread engine;
    size_t bytes; /* of the mapping that this is in */
    int code;     /* of the callback that failed last, as the thread was told */
};

/* ---- profiler_thread.c -------------------------------------------------- */

/* A new engine thread of that domain; `captures` false: it captures no stacks.
 * NULL: no memory. */
struct alqi_glue_profiled *
alqi_glue_profiled_new(struct alqi_memprof_domain *domain, bool captures);
void alqi_glue_profiled_end(struct alqi_glue_profiled *t);

/* The engine's state of a domain; NULL: nobody profiles this heap. */
static inline struct alqi_memprof_domain *
alqi_glue_profiled_domain(const struct alqi_domain *d)
{
    return __atomic_load_n(&d->observed.client, __ATOMIC_ACQUIRE);
}

/* The engine's state of the thread that runs the domain; NULL: no thread runs
 * it, or the thread has none. */
static inline struct alqi_glue_profiled *
alqi_glue_profiled_running(const struct alqi_domain *d)
{
    const struct alq_thread *thread = d->threads.running;

    return ALQI_LIKELY(thread != NULL) ? thread->observer : NULL;
}

/* The engine's state of the thread that runs the domain, made if the thread has
 * none; NULL: no thread runs it, or no memory. */
struct alqi_glue_profiled *alqi_glue_profiled_get(struct alqi_domain *d);

/* Whether the thread that runs the domain is in a callback: it may not leave
 * the domain. */
static inline bool
alqi_glue_profiled_is_inside(const struct alqi_domain *d)
{
    const struct alqi_glue_profiled *t = alqi_glue_profiled_running(d);

    return t != NULL && t->engine.mode != ALQI_MEMPROF_IDLE;
}

/* ---- profiler_heap.c ---------------------------------------------------- */

/* The heap is observed from now on; ALQ_ENOMEM; ALQ_EBUSY: by another. */
enum alq_status alqi_glue_profiler_start(struct alqi_domain *d);

/* From now on the program may have call stacks of its own (callstack.h). */
void alqi_glue_profiler_walks(void);

/* From now on tasks of the program may have limits. */
void alqi_glue_profiler_limits(void);

/* ---- profiler_calls.c: the calls of memprof.h for a managed heap, whose
 * arguments are checked, but for what the comments there say of domains ------
 */

enum alq_status alqi_glue_memprof_start(struct alqi_domain *d,
                                        const struct alq_memprof_config *config,
                                        const struct alq_tracker *tracker,
                                        struct alq_profile **out);
/* A profile of our own, in place of the one in this slot, if there is; and none
 * any more. */
enum alq_status
alqi_glue_profiler_sample(struct alqi_domain *d, enum alqi_memprof_slot slot,
                          const struct alq_memprof_config *config,
                          const struct alq_tracker *tracker);
void alqi_glue_profiler_rest(struct alqi_domain *d,
                             enum alqi_memprof_slot slot);
bool alqi_glue_profiler_samples(const struct alqi_domain *d,
                                enum alqi_memprof_slot slot);
enum alq_status alqi_glue_memprof_join(struct alqi_domain *d,
                                       struct alq_profile *profile);
enum alq_status alqi_glue_memprof_stop(struct alqi_domain *d);
enum alq_status alqi_glue_memprof_flush(struct alqi_domain *d, int *code);
bool alqi_glue_memprof_is_sampling(const struct alqi_domain *d);
int alqi_glue_memprof_code(const struct alqi_domain *d);
enum alq_status alqi_glue_profile_stop(struct alq_profile *profile);
enum alq_status alqi_glue_profile_discard(struct alq_profile *profile);
enum alq_status alqi_glue_profile_each(
    struct alq_profile *profile,
    int (*visit)(void *arg, const struct alq_allocation *alloc, uintptr_t data),
    void *arg);

#endif
