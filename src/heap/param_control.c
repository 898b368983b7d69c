/* param_control.c -- struct alq_gc_control: reading and changing what is in
 * force
 *
 * A change is made in a stop, so a running domain reads the values without
 * synchronisation.  Values go through the ranges of param.c.  The size of a
 * minor heap is a domain's, the rest the heap's: so it is changed after the
 * stop, by a minor collection. */
#include "heap/pool_area.h"
#include "heap/param_control.h"
#include "heap/major_cycle.h"
#include "heap/minor_size.h"
#include "heap/major_pace.h"
#include "heap/param.h"
#include "heap/log.h"
#include "heap/stop.h"
#include "plat/stack.h"

enum { STACK_LEAST_WORDS = 512 };

/* Copies parameters to the parts that have their own: the area may not look at
 * the heap. */
static void
tell(struct alqi_heap *heap)
{
    heap->area.increment = heap->tuning.control.major_heap_increment;
    heap->area.force_huge = heap->tuning.force_huge != 0;
}

/* Sets the parameters of a new heap: defaults, then the program's
 * configuration, then ALIQUOTPARAM, which wins.  False: no memory for the
 * heap's first size. */
bool
alqi_heap_control_start(struct alqi_heap *heap,
                        const struct alq_domain_config *config)
{
    struct alqi_heap_tuning *t = &heap->tuning;
    char text[300];

    alqi_heap_param_defaults(t);
    if (config->space_overhead != 0)
        t->control.space_overhead = config->space_overhead;
    if (config->domains_max != 0)
        t->domains_max = config->domains_max;
    alqi_heap_param_limit(t);
    alqi_heap_param_environment(t);
    tell(heap);
    alqi_heap_param_write(t, text, sizeof text);
    ALQI_HEAP_LOG(heap, ALQ_GC_LOG_START, "the heap begins with %s", text);
    ALQI_HEAP_LOG(heap, ALQ_GC_LOG_RESERVE,
                  "%zu MiB of addresses reserved for minor heaps, %zu MiB for "
                  "the major heap",
                  (size_t)heap->area.young_bytes >> 20,
                  (size_t)heap->area.major_bytes >> 20);
    return alqi_heap_area_ready(
        &heap->area, ((size_t)t->initial_words + ALQI_HEAP_POOL_WORDS - 1) /
                         ALQI_HEAP_POOL_WORDS);
}

/* Bytes of a new domain's minor heap: ALIQUOTPARAM wins over the configuration;
 * 0: minor_size.h chooses. */
uintptr_t
alqi_heap_control_minor_bytes(const struct alqi_heap *heap,
                              const struct alq_domain_config *config)
{
    struct alqi_heap_tuning t = heap->tuning;

    if (!t.has_minor_words)
        t.control.minor_heap_size = (intptr_t)config->minor_words;
    alqi_heap_param_limit(&t);
    return (uintptr_t)t.control.minor_heap_size * ALQ_WORD_BYTES;
}

/* The values in force.  The size of the minor heap that is reported is noted:
 * minor_set() has to know it. */
void
alqi_heap_control_get(struct alqi_domain *d, struct alq_gc_control *out)
{
    d->sizes.reported_bytes = alqi_heap_minor_size_bytes(d);
    *out = d->heap->tuning.control;
    out->minor_heap_size = (intptr_t)(d->sizes.reported_bytes / ALQ_WORD_BYTES);
}

/* ---- changes ------------------------------------------------------------ */

static const char *const names[] = {
    "minor_heap_size",      "major_heap_increment",
    "space_overhead",       "verbose",
    "max_overhead",         "stack_limit",
    "allocation_policy",    "window_size",
    "custom_major_ratio",   "custom_minor_ratio",
    "custom_minor_max_size"};

_Static_assert(sizeof(struct alq_gc_control) ==
                   ALQI_COUNT_OF(names) * sizeof(intptr_t),
               "a name for each value");

/* Logs each value that differs, if the new verbosity asks for that.  The struct
 * is read as an array, which the assertion above makes sure of. */
static void
changes_say(intptr_t verbose, const struct alq_gc_control *before,
            const struct alq_gc_control *after)
{
    const intptr_t *from = &before->minor_heap_size;
    const intptr_t *to = &after->minor_heap_size;
    size_t i;

    if ((verbose & ALQ_GC_LOG_PARAMS) == 0)
        return;
    for (i = 0; i < ALQI_COUNT_OF(names); i++)
        if (from[i] != to[i])
            alqi_heap_log_slow("%s: %jd, was %jd", names[i], (intmax_t)to[i],
                               (intmax_t)from[i]);
}

/* The least limit of the stack: what is in use, and some words, so that the
 * caller itself does not run into it. */
static intptr_t
stack_least_words(void)
{
    uintptr_t used, all;

    alqi_plat_stack(&used, &all);
    return (intptr_t)(used / ALQ_WORD_BYTES) + STACK_LEAST_WORDS;
}

/* Makes the values that are asked for those in force.  By the leader of a stop:
 * then no domain reads them.  Each domain's pace spreads what waits over the
 * new window. */
static void
apply(struct alqi_domain *leader)
{
    struct alqi_heap_tuning *t = &leader->heap->tuning;
    struct alqi_heap_tuning *asked = leader->stop_arg;
    unsigned i;

    changes_say(asked->control.verbose, &t->control, &asked->control);
    *t = *asked;
    tell(leader->heap);
    for (i = 0; i < leader->heap->n_slots; i++)
        if (alqi_heap_is_there(leader->heap->domains[i]))
            alqi_heap_pace_window(leader->heap->domains[i]);
}

static const struct alqi_heap_stop_work *
done(struct alqi_domain *self)
{
    (void)self;
    return NULL;
}

static const struct alqi_heap_stop_work apply_work = {.begin = apply,
                                                      .last = done};

/* Changes the size of the domain's minor heap; false: no memory.  If the
 * program sets the value that alq_gc_get reported, and minor_size.h had chosen
 * that, minor_size.h goes on choosing. */
static bool
minor_set(struct alqi_domain *d, uintptr_t bytes)
{
    if (d->sizes.fixed_bytes == 0 && bytes == d->sizes.reported_bytes)
        bytes = 0;
    if (bytes == d->sizes.fixed_bytes)
        return true;
    ALQI_HEAP_LOG(d->heap, ALQ_GC_LOG_PARAMS,
                  "minor_heap_size: %ju, was %ju (domain %u; 0: chosen)",
                  (uintmax_t)bytes / ALQ_WORD_BYTES,
                  (uintmax_t)d->sizes.fixed_bytes / ALQ_WORD_BYTES, d->slot);
    return alqi_heap_minor_set(d, bytes / ALQ_WORD_BYTES);
}

/* Changes the values in force; false: no memory for the minor heap, and all
 * others are changed.
 *
 * Another allocation policy changes the order in which pools are filled.  So
 * the heap is collected and compacted, as OCaml 4 does, and the new order
 * begins with few free slots. */
bool
alqi_heap_control_set(struct alqi_domain *d,
                      const struct alq_gc_control *control)
{
    struct alqi_heap_tuning t = d->heap->tuning;
    intptr_t policy = t.control.allocation_policy, minor_words;

    t.control = *control;
    alqi_heap_param_limit(&t);
    if (t.control.stack_limit < stack_least_words())
        t.control.stack_limit = stack_least_words();
    minor_words = t.control.minor_heap_size;
    t.control.minor_heap_size = d->heap->tuning.control.minor_heap_size;
    d->stop_arg = &t;
    while (!alqi_heap_stop_try(d, &apply_work))
        continue;
    if (t.control.allocation_policy != policy) {
        d->sums.counts.forced_majors++;
        alqi_heap_major(d);
        alqi_heap_compact(d);
    }
    return minor_set(d, (uintptr_t)minor_words * ALQ_WORD_BYTES);
}
