/* gc.c -- <aliquot/gc.h>: collecting, counting, control of the collector
 *
 * Each call checks its arguments, then may_collect(), and goes down to
 * src/heap. A call that collects runs the finalisers that became due, last:
 * they may allocate and collect again, and the first status other than ALQ_OK
 * is the call's. Nothing is kept here. */
#include <aliquot/gc.h>

#include "heap/final_run.h"
#include "heap/param_control.h"
#include "heap/major_cycle.h"
#include "heap/event.h"
#include "heap/major_pace.h"
#include "heap/param.h"
#include "heap/minor_quota.h"
#include "heap/stat.h"
#include "heap/domain_thread.h"
#include "plat/stack.h"

/* Bytes of the stack that alq_gc_stack_check() leaves to what runs after it has
 * said that the stack is full. */
enum { STACK_KEPT_BYTES = 131072 };

/* ---- collecting --------------------------------------------------------- */

/* Whether the calling thread runs the domain and is in no callback of the
 * collector; *why is the status if not. */
static bool
may_collect(struct alq_domain *d, enum alq_status *why)
{
    *why = d == NULL ? ALQ_EINVAL : ALQ_ESTATE;
    return alqi_heap_thread_runs(d) &&
           !alqi_heap_domain(d)->heap->life.is_lost &&
           !alqi_heap_event_is_inside(alqi_heap_domain(d));
}

enum alq_status
alq_gc_minor(struct alq_domain *d)
{
    enum alq_status status;

    if (!may_collect(d, &status))
        return status;
    alqi_heap_minor(alqi_heap_domain(d));
    return alqi_heap_final_run(alqi_heap_domain(d));
}

enum alq_status
alq_gc_major_slice(struct alq_domain *d, uintptr_t n_words)
{
    enum alq_status status;

    if (!may_collect(d, &status))
        return status;
    alqi_heap_major_slice(alqi_heap_domain(d), n_words);
    return alqi_heap_final_run(alqi_heap_domain(d));
}

enum alq_status
alq_gc_major(struct alq_domain *d)
{
    enum alq_status status;

    if (!may_collect(d, &status))
        return status;
    alqi_heap_major(alqi_heap_domain(d));
    return alqi_heap_final_run(alqi_heap_domain(d));
}

/* Cycles until no finaliser can bring up more garbage: a cycle under way does
 * not find what died since it began; the next does. What a finaliser was called
 * with dies in the third, which is `last`. */
static enum alq_status
full_major(struct alqi_domain *d, void (*last)(struct alqi_domain *d))
{
    enum { CYCLES = 3 };
    enum alq_status st = ALQ_OK;
    unsigned i;

    d->sums.counts.forced_majors++;
    for (i = 1; i < CYCLES && st == ALQ_OK; i++) {
        alqi_heap_major(d);
        st = alqi_heap_final_run(d);
    }
    if (st != ALQ_OK)
        return st;
    last(d);
    return alqi_heap_final_run(d);
}

enum alq_status
alq_gc_full_major(struct alq_domain *d)
{
    enum alq_status status;

    if (!may_collect(d, &status))
        return status;
    return full_major(alqi_heap_domain(d), alqi_heap_major_swept);
}

enum alq_status
alq_gc_compact(struct alq_domain *d)
{
    enum alq_status status;

    if (!may_collect(d, &status))
        return status;
    return full_major(alqi_heap_domain(d), alqi_heap_compact);
}

/* ---- counters ----------------------------------------------------------- */

static const struct alqi_domain *
domain_of(const struct alq_domain *d)
{
    return (const struct alqi_domain *)d;
}

enum alq_status
alq_gc_counters(const struct alq_domain *d, struct alq_gc_counts *out)
{
    if (d == NULL || out == NULL)
        return ALQ_EINVAL;
    alqi_heap_stat_counts(domain_of(d), out);
    return ALQ_OK;
}

/* Words of the domain alone. */
uint64_t
alq_gc_minor_words(const struct alq_domain *d)
{
    struct alq_gc_counts counts = {0};

    if (d != NULL)
        alqi_heap_stat_counts(domain_of(d), &counts);
    return counts.minor_words;
}

uint64_t
alq_gc_allocated_bytes(const struct alq_domain *d)
{
    struct alq_gc_counts counts = {0};

    if (d != NULL)
        alqi_heap_stat_counts(domain_of(d), &counts);
    return (counts.minor_words + counts.direct_words) * ALQ_WORD_BYTES;
}

/* Words up to the next collection, were nothing else due. */
size_t
alq_gc_get_minor_free(const struct alq_domain *d)
{
    if (d == NULL)
        return 0;
    return alqi_heap_quota_room_bytes(domain_of(d)) / ALQ_WORD_BYTES;
}

/* ---- statistics --------------------------------------------------------- */

/* Walks the heap, so it stops the world; alq_gc_quick_stat() does not. */
enum alq_status
alq_gc_stat(struct alq_domain *d, struct alq_gc_stats *out)
{
    enum alq_status status;

    if (d == NULL || out == NULL)
        return ALQ_EINVAL;
    if (!may_collect(d, &status))
        return status;
    alqi_heap_stat(alqi_heap_domain(d), out);
    return ALQ_OK;
}

enum alq_status
alq_gc_quick_stat(struct alq_domain *d, struct alq_gc_stats *out)
{
    enum alq_status status;

    if (d == NULL || out == NULL)
        return ALQ_EINVAL;
    if (!may_collect(d, &status))
        return status;
    alqi_heap_stat_quick(alqi_heap_domain(d), out);
    return ALQ_OK;
}

/* Statistics are taken before anything is printed. */
enum alq_status
alq_gc_print_stat(struct alq_domain *d, FILE *out)
{
    struct alq_gc_stats s;
    enum alq_status status;

    if (d == NULL || out == NULL)
        return ALQ_EINVAL;
    if (!may_collect(d, &status))
        return status;
    alqi_heap_stat(alqi_heap_domain(d), &s);
    return alqi_heap_stat_print(&s, out) ? ALQ_OK : ALQ_EIO;
}

/* ---- control ------------------------------------------------------------ */

enum alq_status
alq_gc_get(struct alq_domain *d, struct alq_gc_control *out)
{
    if (d == NULL || out == NULL)
        return ALQ_EINVAL;
    alqi_heap_control_get(alqi_heap_domain(d), out);
    return ALQ_OK;
}

/* Whether each setting is within its range; the heap bounds what is too
 * large. */
static bool
is_control_right(const struct alq_gc_control *c)
{
    return c->minor_heap_size >= 0 && c->major_heap_increment >= 0 &&
           c->space_overhead >= 0 && c->verbose >= 0 && c->max_overhead >= 0 &&
           c->stack_limit >= 0 && c->allocation_policy >= ALQ_GC_NEXT_FIT &&
           c->allocation_policy <= ALQ_GC_BEST_FIT && c->window_size >= 0 &&
           c->custom_major_ratio >= 0 && c->custom_minor_ratio >= 0 &&
           c->custom_minor_max_size >= 0;
}

enum alq_status
alq_gc_set(struct alq_domain *d, const struct alq_gc_control *control)
{
    enum alq_status status;

    if (d == NULL || control == NULL || !is_control_right(control))
        return ALQ_EINVAL;
    if (!may_collect(d, &status))
        return status;
    return alqi_heap_control_set(alqi_heap_domain(d), control) ? ALQ_OK
                                                               : ALQ_ENOMEM;
}

/* The minor heap's size is the domain's own, as it may differ from that of the
 * heap's parameters. */
size_t
alq_gc_params(const struct alq_domain *d, char *text, size_t size)
{
    struct alqi_heap_tuning t;

    if (d == NULL)
        return 0;
    t = domain_of(d)->heap->tuning;
    t.control.minor_heap_size =
        (intptr_t)(domain_of(d)->sizes.fixed_bytes / ALQ_WORD_BYTES);
    return alqi_heap_param_write(&t, text, text == NULL ? 0 : size);
}

/* all is 0 where the stack's bounds are not known: only the limit counts
 * then. */
enum alq_status
alq_gc_stack_check(const struct alq_domain *d)
{
    uintptr_t used, all, most;

    if (d == NULL)
        return ALQ_EINVAL;
    alqi_plat_stack(&used, &all);
    most = (uintptr_t)domain_of(d)->heap->tuning.control.stack_limit *
           ALQ_WORD_BYTES;
    if (used > most || used + STACK_KEPT_BYTES > all)
        return all == 0 ? ALQ_OK : ALQ_ESTACK;
    return ALQ_OK;
}

/* ---- smoothing ---------------------------------------------------------- */

enum { MILLION = 1000000 };

/* Beyond the largest window all buckets are empty. */
enum alq_status
alq_gc_get_bucket(const struct alq_domain *d, intptr_t n, intptr_t *out)
{
    if (d == NULL || out == NULL || n < 0)
        return ALQ_EINVAL;
    *out = n >= ALQI_HEAP_WINDOW_MAX
               ? 0
               : (intptr_t)(MILLION *
                            alqi_heap_pace_bucket(domain_of(d), (unsigned)n));
    return ALQ_OK;
}

intptr_t
alq_gc_get_credit(const struct alq_domain *d)
{
    return d == NULL
               ? 0
               : (intptr_t)(MILLION * alqi_heap_pace_credit(domain_of(d)));
}

uint64_t
alq_gc_huge_fallback_count(const struct alq_domain *d)
{
    return d == NULL
               ? 0
               : __atomic_load_n(&domain_of(d)->heap->area.n_huge_fallbacks,
                                 __ATOMIC_RELAXED);
}
