/* library.c -- what OCaml's library `aliquot` calls besides limits.c: the
 * collector's figures that the module Gc lacks, traces, the planner of limits
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <aliquot/gc.h>
#include <aliquot/limit.h>
#include <aliquot/trace.h>

#include "ocaml/enter.h"
#include "ocaml/primitives.h"

/* ---- the collector ---------------------------------------------------------
 */

value
alqi_ocaml_get_bucket(value n)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);
    intptr_t work;

    if (alq_gc_get_bucket(&d->pub, alqi_ocaml_int_of(n), &work) != ALQ_OK)
        caml_invalid_argument("Aliquot.Heap.get_bucket");
    return alqi_ocaml_int(work);
}

value
alqi_ocaml_get_credit(value unit)
{
    (void)unit;
    return alqi_ocaml_int(
        alq_gc_get_credit(&alqi_ocaml_domain(caml_state)->pub));
}

value
alqi_ocaml_huge_fallback_count(value unit)
{
    (void)unit;
    return alqi_ocaml_count(
        alq_gc_huge_fallback_count(&alqi_ocaml_domain(caml_state)->pub));
}

/* ---- traces -------------------------------------------------------------- */

/* Fields of the library's request. */
enum { PATH, RATE, FRAMES, FORMAT, CONTEXT };

/* Raises what a call of traces has returned, unless that is ALQ_OK. */
static void
status_raise(const char *call, enum alq_status status, int error)
{
    const char *why = status == ALQ_EIO       ? strerror(error)
                      : status == ALQ_EBUSY   ? "a trace is under way"
                      : status == ALQ_ENOTRUN ? "there is no trace"
                                              : "not possible here";

    if (status == ALQ_OK)
        return;
    if (status == ALQ_EINVAL)
        caml_invalid_argument(call);
    if (status == ALQ_ENOMEM)
        caml_raise_out_of_memory();
    if (status == ALQ_EIO)
        caml_raise_sys_error(caml_alloc_sprintf("%s: %s", call, why));
    caml_failwith_value(caml_alloc_sprintf("%s: %s", call, why));
}

/* Texts are copied: the values may move. */
value
alqi_ocaml_trace_start(value request)
{
    value context = alq_field(request, CONTEXT);
    intptr_t frames = alqi_ocaml_int_of(alq_field(request, FRAMES));
    char *path = strdup((const char *)alq_field(request, PATH));
    char *text = context == ALQI_OCAML_NONE
                     ? NULL
                     : strdup((const char *)alq_field(context, 0));
    const struct alq_trace_config config = {
        .path = path,
        .rate = *(const double *)alq_field(request, RATE),
        .callstack_frames = frames < 0 ? SIZE_MAX : (size_t)frames,
        .format = (unsigned)alqi_ocaml_int_of(alq_field(request, FORMAT)),
        .context = text};
    struct alqi_domain *d = alqi_ocaml_enter();
    bool is_copied =
        path != NULL && (text != NULL || context == ALQI_OCAML_NONE);
    enum alq_status status =
        is_copied ? alq_trace_start_with(&d->pub, &config) : ALQ_ENOMEM;
    int error = errno;

    alqi_ocaml_leave(d);
    free(path);
    free(text);
    status_raise("Aliquot.Trace.start", status, error);
    return ALQI_OCAML_UNIT;
}

/* Makes an Aliquot.Trace.counts, in the order of its fields in aliquot.ml. */
static value
counts_new(const struct alq_trace_counts *c)
{
    value v = caml_alloc_small(6, 0);

    alq_init_small(v, 0, alqi_ocaml_count(c->allocations));
    alq_init_small(v, 1, alqi_ocaml_count(c->promotions));
    alq_init_small(v, 2, alqi_ocaml_count(c->collections));
    alq_init_small(v, 3, alqi_ocaml_count(c->n_samples));
    alq_init_small(v, 4, alqi_ocaml_count(c->dropped));
    alq_init_small(v, 5, alqi_ocaml_count(c->bytes));
    return v;
}

value
alqi_ocaml_trace_stop(value unit)
{
    struct alq_trace_counts counts;
    struct alqi_domain *d = alqi_ocaml_enter();
    enum alq_status status = alq_trace_stop(&counts);
    int error = errno;

    (void)unit;
    alqi_ocaml_leave(d);
    status_raise("Aliquot.Trace.stop", status, error);
    return counts_new(&counts);
}

value
alqi_ocaml_trace_flush(value unit)
{
    enum alq_status status = alq_trace_flush();

    status_raise("Aliquot.Trace.flush", status, errno);
    return unit;
}

value
alqi_ocaml_trace_count(value unit)
{
    struct alq_trace_counts counts;

    (void)unit;
    status_raise("Aliquot.Trace.count", alq_trace_count(&counts), errno);
    return counts_new(&counts);
}

/* ---- the planner: {words; interval; probability} ------------------------- */

static uint64_t
plan_number(value request, unsigned field)
{
    intptr_t n = alqi_ocaml_int_of(alq_field(request, field));

    return n < 0 ? 0 : (uint64_t)n;
}

static value
plan(uint64_t (*law)(uint64_t words, uint64_t interval, double probability),
     value r)
{
    return alqi_ocaml_count(law(plan_number(r, 0), plan_number(r, 1),
                                *(const double *)alq_field(r, 2)));
}

value
alqi_ocaml_safe_words(value request)
{
    return plan(alq_limit_safe_words, request);
}

value
alqi_ocaml_stop_words(value request)
{
    return plan(alq_limit_stop_words, request);
}

value
alqi_ocaml_limit_for(value request)
{
    return plan(alq_limit_for, request);
}
