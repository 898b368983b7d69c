/* gc.c -- the module Gc, the start of the collector, and what the rest of the
 * runtime asks of it
 *
 * The seventeen figures of Gc.stat are the heap's (aliquot/gc.h).  Of the
 * controls, those that the heap has act; the others are kept and shown. */
#include <stdlib.h>

#include "glue/tracing/trace.h"
#include "heap/domain.h"
#include "heap/alloc.h"
#include "heap/major_cycle.h"
#include "heap/minor_quota.h"
#include "heap/param_control.h"
#include "heap/stat.h"
#include "ocaml/domain.h"
#include "ocaml/enter.h"
#include "ocaml/events.h"
#include "ocaml/interrupt.h"
#include "ocaml/limits.h"
#include "ocaml/roots.h"

enum { GC_FIELDS = 17, CONTROL_FIELDS = 11, FIBER_WORDS = 64 };

/* Read by the members that stay. */
ALQI_OCAML_API uintptr_t caml_major_cycles_completed;
ALQI_OCAML_API uintptr_t caml_minor_collections_count; /* atomic */
ALQI_OCAML_API uintptr_t caml_compactions_count;       /* atomic */
ALQI_OCAML_API uintptr_t caml_percent_free;

/* ---- start and end ------------------------------------------------------ */

ALQI_OCAML_API void
caml_init_gc(void)
{
    extern uintptr_t caml_max_stack_wsize, caml_fiber_wsz;

    caml_max_stack_wsize = caml_params->init_max_stack_wsz;
    caml_fiber_wsz = FIBER_WORDS;
    caml_percent_free = caml_params->init_percent_free;
    caml_custom_major_ratio = caml_params->init_custom_major_ratio;
    caml_custom_minor_ratio = caml_params->init_custom_minor_ratio;
    caml_custom_minor_max_bsz = caml_params->init_custom_minor_max_bsz;
    if (alqi_ocaml_is_native())
        caml_init_frame_descriptors();
    alqi_ocaml_start();
    caml_init_gc_stats(caml_params->max_domains);
}

/* At the runtime's shutdown: finalises every custom block that is left. */
ALQI_OCAML_API void
caml_finalise_heap(void)
{
    alqi_glue_trace_heap_ends();
    alqi_heap_domain_end(alqi_ocaml_enter());
}

/* ---- collecting --------------------------------------------------------- */

/* Runs a collection, then what it has made due; the result says what that
 * raises. */
static struct caml_result
collect(void (*collection)(struct alqi_domain *d))
{
    struct alqi_domain *d = alqi_ocaml_enter();

    collection(d);
    alqi_ocaml_limits_heap_poll(d);
    alqi_ocaml_leave(d);
    return caml_process_pending_actions_res();
}

/* What a finaliser has kept dies in a later cycle: three are enough. */
static struct caml_result
full_major(void (*last)(struct alqi_domain *d))
{
    struct caml_result result = collect(alqi_heap_major);

    if (!result.is_exception)
        result = collect(alqi_heap_major);
    if (!result.is_exception)
        result = collect(last);
    caml_state->stat_forced_major_collections++;
    alqi_ocaml_domain(caml_state)->sums.counts.forced_majors++;
    return result;
}

/* A call of the program is over: its event ends, and it may raise. */
static value
finish(unsigned event, struct caml_result result)
{
    caml_ev_end(event);
    if (result.is_exception)
        caml_raise(result.data);
    return ALQI_OCAML_UNIT;
}

ALQI_OCAML_API void
caml_minor_collection(void)
{
    struct alqi_domain *d = alqi_ocaml_enter();

    alqi_heap_minor(d);
    alqi_ocaml_leave(d);
}

ALQI_OCAML_API value
caml_gc_minor(value unit)
{
    (void)unit;
    caml_ev_begin(ALQI_OCAML_EV_EXPLICIT_GC_MINOR);
    return finish(ALQI_OCAML_EV_EXPLICIT_GC_MINOR, collect(alqi_heap_minor));
}

ALQI_OCAML_API value
caml_gc_major(value unit)
{
    (void)unit;
    caml_ev_begin(ALQI_OCAML_EV_EXPLICIT_GC_MAJOR);
    return finish(ALQI_OCAML_EV_EXPLICIT_GC_MAJOR, collect(alqi_heap_major));
}

ALQI_OCAML_API value
caml_gc_full_major(value unit)
{
    (void)unit;
    caml_ev_begin(ALQI_OCAML_EV_EXPLICIT_GC_FULL_MAJOR);
    return finish(ALQI_OCAML_EV_EXPLICIT_GC_FULL_MAJOR,
                  full_major(alqi_heap_major_swept));
}

ALQI_OCAML_API value
caml_gc_compaction(value unit)
{
    (void)unit;
    caml_ev_begin(ALQI_OCAML_EV_EXPLICIT_GC_COMPACT);
    return finish(ALQI_OCAML_EV_EXPLICIT_GC_COMPACT,
                  full_major(alqi_heap_compact));
}

ALQI_OCAML_API value
caml_gc_major_slice(value n)
{
    struct alqi_domain *d = alqi_ocaml_enter();
    intptr_t words = alqi_ocaml_int_of(n);

    caml_ev_begin(ALQI_OCAML_EV_EXPLICIT_GC_MAJOR_SLICE);
    alqi_heap_major_slice(d, words > 0 ? (size_t)words : 0);
    alqi_ocaml_leave(d);
    finish(ALQI_OCAML_EV_EXPLICIT_GC_MAJOR_SLICE,
           caml_process_pending_actions_res());
    return alqi_ocaml_int(0);
}

/* ---- counters ----------------------------------------------------------- */

ALQI_OCAML_API double
caml_gc_minor_words_unboxed(void)
{
    return (double)alqi_heap_stat_minor_words(alqi_ocaml_domain(caml_state));
}

ALQI_OCAML_API value
caml_gc_minor_words(value unit)
{
    (void)unit;
    return caml_copy_double(caml_gc_minor_words_unboxed());
}

/* A tuple of three numbers or more: each is kept in a root while the next is
 * made. */
static value
tuple_of(const double *numbers, unsigned n_doubles, const uint64_t *counts,
         unsigned n)
{
    struct alqi_ocaml_local tuple;
    unsigned i;

    alqi_ocaml_local_push(&tuple, caml_alloc_tuple(n));
    for (i = 0; i < n; i++) {
        value v = i < n_doubles ? caml_copy_double(numbers[i])
                                : alqi_ocaml_int((intptr_t)counts[i]);

        caml_modify((value *)tuple.value + i, v);
    }
    return alqi_ocaml_local_pop(&tuple);
}

ALQI_OCAML_API value
caml_gc_counters(value unit)
{
    struct alq_gc_counts counts;
    double numbers[3];

    (void)unit;
    alqi_heap_stat_counts(alqi_ocaml_domain(caml_state), &counts);
    numbers[0] = (double)counts.minor_words;
    numbers[1] = (double)counts.promoted_words;
    numbers[2] = (double)(counts.promoted_words + counts.direct_words);
    return tuple_of(numbers, 3, NULL, 3);
}

/* Makes a Gc.stat, whose first three fields are floats; `counts` has the
 * others, by their places in the record. */
static value
stat_of(const struct alq_gc_stats *s)
{
    const double numbers[3] = {(double)s->minor_words,
                               (double)s->promoted_words,
                               (double)s->major_words};
    const uint64_t counts[GC_FIELDS] = {0,
                                        0,
                                        0,
                                        s->minor_collections,
                                        s->major_collections,
                                        s->heap_words,
                                        s->heap_chunks,
                                        s->live_words,
                                        s->live_blocks,
                                        s->free_words,
                                        s->free_blocks,
                                        s->largest_free,
                                        s->fragments,
                                        s->compactions,
                                        s->top_heap_words,
                                        s->stack_size,
                                        s->forced_major_collections};

    return tuple_of(numbers, 3, counts, GC_FIELDS);
}

ALQI_OCAML_API value
caml_gc_quick_stat(value unit)
{
    struct alqi_domain *d = alqi_ocaml_enter();
    struct alq_gc_stats s;

    (void)unit;
    alqi_heap_stat_quick(d, &s);
    alqi_ocaml_leave(d);
    return stat_of(&s);
}

ALQI_OCAML_API value
caml_gc_stat(value unit)
{
    struct alqi_domain *d;
    struct alq_gc_stats s;

    (void)unit;
    caml_ev_begin(ALQI_OCAML_EV_EXPLICIT_GC_STAT);
    finish(ALQI_OCAML_EV_EXPLICIT_GC_STAT, full_major(alqi_heap_major_swept));
    d = alqi_ocaml_enter();
    alqi_heap_stat(d, &s);
    alqi_ocaml_leave(d);
    return stat_of(&s);
}

ALQI_OCAML_API value
caml_get_minor_free(value unit)
{
    (void)unit;
    return alqi_ocaml_int(
        (intptr_t)(alqi_heap_quota_room_bytes(alqi_ocaml_domain(caml_state)) /
                   ALQ_WORD_BYTES));
}

/* ---- controls ----------------------------------------------------------- */

ALQI_OCAML_API value
caml_gc_get(value unit)
{
    extern uintptr_t caml_max_stack_wsize;
    struct alq_gc_control c;
    uint64_t fields[CONTROL_FIELDS];

    (void)unit;
    alqi_heap_control_get(alqi_ocaml_domain(caml_state), &c);
    fields[0] = (uint64_t)c.minor_heap_size;
    fields[1] = (uint64_t)c.major_heap_increment;
    fields[2] = (uint64_t)c.space_overhead;
    fields[3] = __atomic_load_n(&caml_verb_gc, __ATOMIC_RELAXED);
    fields[4] = (uint64_t)c.max_overhead;
    fields[5] = caml_max_stack_wsize;
    fields[6] = (uint64_t)c.allocation_policy;
    fields[7] = (uint64_t)c.window_size;
    fields[8] = (uint64_t)c.custom_major_ratio;
    fields[9] = (uint64_t)c.custom_minor_ratio;
    fields[10] = (uint64_t)c.custom_minor_max_size;
    return tuple_of(NULL, 0, fields, CONTROL_FIELDS);
}

static intptr_t
field_of(value control, unsigned i)
{
    intptr_t n = alqi_ocaml_int_of(alq_field(control, i));

    return n < 0 ? 0 : n;
}

ALQI_OCAML_API value
caml_gc_set(value control)
{
    struct alqi_domain *d = alqi_ocaml_enter();
    struct alq_gc_control c;
    bool is_set;

    caml_ev_begin(ALQI_OCAML_EV_EXPLICIT_GC_SET);
    alqi_heap_control_get(d, &c);
    if (c.minor_heap_size != field_of(control, 0))
        caml_ev_counter(ALQI_OCAML_EV_C_FORCE_MINOR_SET_MINOR_HEAP_SIZE, 1);
    c.minor_heap_size = field_of(control, 0);
    c.major_heap_increment = field_of(control, 1);
    c.space_overhead = field_of(control, 2);
    c.max_overhead = field_of(control, 4);
    c.window_size = field_of(control, 7);
    if (alq_wosize(control) >= CONTROL_FIELDS) {
        c.custom_major_ratio = field_of(control, 8);
        c.custom_minor_ratio = field_of(control, 9);
        c.custom_minor_max_size = field_of(control, 10);
        __atomic_store_n(&caml_custom_major_ratio,
                         (uintptr_t)c.custom_major_ratio, __ATOMIC_RELAXED);
        __atomic_store_n(&caml_custom_minor_ratio,
                         (uintptr_t)c.custom_minor_ratio, __ATOMIC_RELAXED);
        __atomic_store_n(&caml_custom_minor_max_bsz,
                         (uintptr_t)c.custom_minor_max_size, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&caml_verb_gc, (uintptr_t)field_of(control, 3),
                     __ATOMIC_RELAXED);
    caml_change_max_stack_size((uintptr_t)field_of(control, 5));
    is_set = alqi_heap_control_set(d, &c);
    caml_percent_free = (uintptr_t)c.space_overhead;
    alqi_ocaml_leave(d);
    caml_ev_end(ALQI_OCAML_EV_EXPLICIT_GC_SET);
    if (!is_set)
        caml_raise_out_of_memory();
    return ALQI_OCAML_UNIT;
}

/* ---- what the rest of the runtime asks ---------------------------------- */

ALQI_OCAML_API uintptr_t
caml_heap_size(void *heap)
{
    (void)heap;
    return alqi_heap_stat_words(alqi_ocaml_domain(caml_state)->heap) *
           ALQ_WORD_BYTES;
}

ALQI_OCAML_API uintptr_t
caml_top_heap_words(void *heap)
{
    struct alq_gc_stats s;

    (void)heap;
    alqi_heap_stat_quick(alqi_ocaml_domain(caml_state), &s);
    return s.top_heap_words;
}

/* Samples of statistics: gc_stats.c adds them up for Gc.quick_stat, which is
 * ours. */
ALQI_OCAML_API void
caml_collect_heap_stats_sample(void *heap, void *sample)
{
    (void)heap;
    (void)sample;
}

ALQI_OCAML_API void
caml_accum_orphan_heap_stats(void *sum)
{
    (void)sum;
}

ALQI_OCAML_API value
caml_runtime_variant(value unit)
{
    (void)unit;
    return caml_copy_string("_aliquot");
}

ALQI_OCAML_API value
caml_runtime_parameters(value unit)
{
    extern uintptr_t caml_max_stack_wsize;

    (void)unit;
    return caml_alloc_sprintf(
        "b=%d,c=%lu,e=%lu,l=%lu,M=%lu,m=%lu,n=%lu,o=%lu,p=%d,s=%lu,t=%lu,"
        "v=%lu,V=%lu,W=%lu",
        (int)caml_state->backtrace_active, caml_params->cleanup_on_exit,
        caml_params->runtime_events_log_wsize, caml_max_stack_wsize,
        caml_custom_major_ratio, caml_custom_minor_ratio,
        caml_custom_minor_max_bsz, caml_percent_free,
        (int)caml_state->parser_trace,
        (unsigned long)caml_state->minor_heap_wsz, caml_params->trace_level,
        caml_verb_gc, caml_params->verify_heap, caml_runtime_warnings);
}

ALQI_OCAML_API value
caml_ml_enable_runtime_warnings(value on)
{
    caml_runtime_warnings = on == ALQI_OCAML_TRUE;
    return ALQI_OCAML_UNIT;
}

ALQI_OCAML_API value
caml_ml_runtime_warnings_enabled(value unit)
{
    (void)unit;
    return alqi_ocaml_bool(caml_runtime_warnings != 0);
}
