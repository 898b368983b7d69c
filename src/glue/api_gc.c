/* api_gc.c -- <aliquot/gc.h>: arguments checked, then down */
#include <aliquot/gc.h>

#include "heap/cycle.h"
#include "heap/thread.h"

static bool
may_collect(struct alq_domain *d, enum alq_status *why)
{
    *why = d == NULL ? ALQ_EINVAL : ALQ_ESTATE;
    return alqi_heap_thread_runs(d) && !alqi_heap_domain(d)->heap->is_lost;
}

enum alq_status
alq_gc_minor(struct alq_domain *d)
{
    enum alq_status status;

    if (!may_collect(d, &status))
        return status;
    alqi_heap_minor(alqi_heap_domain(d));
    return ALQ_OK;
}

enum alq_status
alq_gc_major_slice(struct alq_domain *d, uintptr_t work_words)
{
    enum alq_status status;

    if (!may_collect(d, &status))
        return status;
    alqi_heap_major_slice(alqi_heap_domain(d), work_words);
    return ALQ_OK;
}

enum alq_status
alq_gc_major(struct alq_domain *d)
{
    enum alq_status status;

    if (!may_collect(d, &status))
        return status;
    alqi_heap_major(alqi_heap_domain(d));
    return ALQ_OK;
}

enum alq_status
alq_gc_full_major(struct alq_domain *d)
{
    enum alq_status status;

    if (!may_collect(d, &status))
        return status;
    alqi_heap_full_major(alqi_heap_domain(d));
    return ALQ_OK;
}

enum alq_status
alq_gc_counters(const struct alq_domain *domain, struct alq_gc_counts *out)
{
    const struct alqi_domain *d = (const struct alqi_domain *)domain;

    if (d == NULL || out == NULL)
        return ALQ_EINVAL;
    *out = d->counts;
    out->heap_bytes = alqi_heap_bytes(d);
    out->minor_words +=
        (d->run_end - (uintptr_t)d->pub.young_ptr) / ALQ_WORD_BYTES;
    return ALQ_OK;
}
