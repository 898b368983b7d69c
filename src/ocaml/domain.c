/* domain.c -- the domain behind Caml_state: its start, interrupts, blocking
 * sections
 *
 * A domain is interrupted by young_limit = all ones, by OCaml's code and by the
 * heap alike.  At the next poll or allocation its thread comes to
 * caml_handle_gc_interrupt, which serves the heap's requests and OCaml's flags;
 * the heap lowers the limit only when neither wants anything
 * (alqi_heap_host_wants).
 *
 * One domain so far: caml_domain_spawn fails with a message.
 *
 * Keeps .inv.head, .inv.enter of domain.h. */
#include <stdlib.h>

#include "heap/alloc.h"
#include "heap/alloc_limit.h"
#include "heap/domain.h"
#include "heap/domain_thread.h"
#include "heap/event.h"
#include "heap/major_cycle.h"
#include "heap/observe.h"
#include "ocaml/domain.h"
#include "ocaml/roots.h"
#include "ocaml/tables.h"

enum { MINOR_WORDS_MIN = 4096 };

__thread struct caml_domain_state *caml_state;
static struct alqi_domain *first;

ALQI_OCAML_API uintptr_t caml_minor_heaps_start, caml_minor_heaps_end;
ALQI_OCAML_API uintptr_t caml_num_domains_running; /* atomic */
ALQI_OCAML_API uintptr_t caml_minor_heap_max_wsz;
ALQI_OCAML_API uintptr_t caml_max_stack_wsize; /* atomic */
ALQI_OCAML_API uintptr_t caml_fiber_wsz;

/* ---- hooks that systhreads replaces ------------------------------------- */

static void
nothing(void)
{
}

ALQI_OCAML_API void (*caml_atfork_hook)(void) = nothing;
ALQI_OCAML_API void (*caml_domain_initialize_hook)(void) = nothing;
ALQI_OCAML_API void (*caml_domain_stop_hook)(void) = nothing;
ALQI_OCAML_API void (*caml_domain_external_interrupt_hook)(void) = nothing;

/* ---- into the heap and back --------------------------------------------- */

struct alqi_domain *
alqi_ocaml_enter(void)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);

    alqi_ocaml_tables_empty(d);
    return d;
}

void
alqi_ocaml_leave(struct alqi_domain *d)
{
    struct caml_domain_state *state = alqi_ocaml_state(d);
    const struct alq_gc_counts *counts = &d->sums.counts;

    state->young_start = (value *)d->young.start;
    state->young_end = (value *)d->young.end;
    state->minor_heap_wsz = d->young.plan_bytes / ALQ_WORD_BYTES;
    state->stat_minor_words = counts->minor_words;
    state->stat_promoted_words = counts->promoted_words;
    state->stat_major_words = counts->promoted_words + counts->direct_words;
    state->allocated_words = state->allocated_words_direct = 0;
}

ALQI_OCAML_API struct caml_domain_state *
caml_get_domain_state(void)
{
    return caml_state;
}

/* ---- start -------------------------------------------------------------- */

static void
state_init(struct caml_domain_state *state)
{
    state->id = state->unique_id = 0;
    state->minor_tables = alqi_ocaml_tables_new();
    state->dls_root = state->backtrace_last_exn = ALQI_OCAML_UNIT;
    state->stack_cache = caml_alloc_stack_cache();
    if (state->minor_tables == NULL || state->stack_cache == NULL)
        caml_fatal_error("no memory for the first domain");
    state->current_stack = caml_alloc_main_stack(caml_get_init_stack_wsize());
    if (state->current_stack == NULL)
        caml_fatal_error("no memory for the first domain's stack");
    state->trap_sp_off = 1;
    state->trap_barrier_block = -1;
}

static size_t
minor_words(void)
{
    size_t words = caml_params->init_minor_heap_wsz;

    if (words < MINOR_WORDS_MIN)
        return MINOR_WORDS_MIN;
    if (words > ALQI_HEAP_MINOR_BYTES_MAX / ALQ_WORD_BYTES)
        return ALQI_HEAP_MINOR_BYTES_MAX / ALQ_WORD_BYTES;
    return words;
}

void
alqi_ocaml_start(void)
{
    struct alq_domain_config config = {
        .minor_words = minor_words(),
        .space_overhead = (unsigned)caml_params->init_percent_free};
    uintptr_t most = caml_params->max_domains;
    struct caml_domain_state *state;

    config.domains_max = most < ALQI_HEAP_DOMAINS_MAX
                             ? (unsigned)most
                             : (unsigned)ALQI_HEAP_DOMAINS_MAX;
    if (alqi_heap_domain_start(&config, NULL, &first) != ALQ_OK)
        caml_fatal_error("no memory for the heap");
    if (!alqi_ocaml_roots_start(first))
        caml_fatal_error("no memory for the first domain");
    caml_state = state = alqi_ocaml_state(first);
    caml_minor_heaps_start = first->pub.young_base;
    caml_minor_heaps_end = first->pub.young_base + first->pub.young_bytes;
    state_init(state);
    alqi_ocaml_leave(first);
    __atomic_store_n(&caml_num_domains_running, 1, __ATOMIC_SEQ_CST);
    alqi_ocaml_global_add(&state->dls_root);
    alqi_ocaml_global_add(&state->backtrace_last_exn);
    if (caml_params->backtrace_enabled)
        caml_record_backtraces(1);
    caml_init_signal_handling();
}

/* A thread that systhreads has made belongs to the domain. */
ALQI_OCAML_API void
caml_init_domain_self(int id)
{
    (void)id;
    caml_state = alqi_ocaml_state(first);
}

/* ---- interrupts --------------------------------------------------------- */

bool
alqi_heap_host_wants(const struct alqi_domain *d)
{
    const struct caml_domain_state *state =
        (const struct caml_domain_state *)(const void *)d;

    return state->requested_minor_gc || state->requested_major_slice ||
           state->requested_global_major_slice ||
           __atomic_load_n(&state->requested_external_interrupt,
                           __ATOMIC_SEQ_CST) ||
           caml_check_pending_signals();
}

ALQI_OCAML_API void
caml_interrupt_self(void)
{
    alqi_heap_alloc_limit_raise(alqi_ocaml_domain(caml_state));
}

ALQI_OCAML_API void
caml_interrupt_all_signal_safe(void)
{
    if (first != NULL)
        alqi_heap_alloc_limit_raise(first);
}

/* Code that returns to OCaml with actions pending polls at once. */
ALQI_OCAML_API void
caml_update_young_limit_after_c_call(struct caml_domain_state *state)
{
    if (state->action_pending)
        alqi_heap_alloc_limit_raise(alqi_ocaml_domain(state));
}

static bool
take(uintptr_t *flag)
{
    bool was = *flag != 0;

    *flag = 0;
    return was;
}

/* What needs no code of OCaml: requests of the heap, then those flags.  Signals
 * and the rest are the caller's, so the limit is low when this returns unless
 * the heap wants something again. */
ALQI_OCAML_API void
caml_handle_gc_interrupt(void)
{
    struct alqi_domain *d = alqi_ocaml_enter();
    struct caml_domain_state *state = alqi_ocaml_state(d);

    if (take(&state->requested_minor_gc))
        alqi_heap_minor(d);
    if (take(&state->requested_global_major_slice) |
        take(&state->requested_major_slice))
        alqi_heap_major_slice(d, 0);
    (void)alqi_heap_poll(d);
    __atomic_store_n(&d->pub.young_limit, (char *)alqi_heap_alloc_limit_of(d),
                     __ATOMIC_SEQ_CST);
    if (alqi_heap_alloc_limit_is_stop_asked(d))
        alqi_heap_alloc_limit_raise(d);
    alqi_ocaml_leave(d);
}

ALQI_OCAML_API void
caml_process_external_interrupt(void)
{
    if (__atomic_load_n(&caml_state->requested_external_interrupt,
                        __ATOMIC_ACQUIRE))
        caml_domain_external_interrupt_hook();
}

/* ---- blocking sections -------------------------------------------------- */

/* To the heap the threads of systhreads are one: each saves its own state when
 * it leaves.  A forked child runs its domain already. */
ALQI_OCAML_API void
caml_acquire_domain_lock(void)
{
    struct alqi_domain *d = first;

    if (!alqi_heap_thread_runs(&d->pub))
        alqi_heap_thread_enter(&d->threads.first);
    caml_state = alqi_ocaml_state(d);
    alqi_ocaml_leave(d);
}

ALQI_OCAML_API void
caml_release_domain_lock(void)
{
    struct alqi_domain *d = alqi_ocaml_enter();

    caml_state = NULL;
    (void)alqi_heap_thread_leave(d);
}

ALQI_OCAML_API void
caml_reset_domain_lock(void)
{
}

/* OCaml's domains have a second thread that takes part in stops while the first
 * one blocks.  Here a stop does the work of blocking domains. */
ALQI_OCAML_API void
caml_bt_enter_ocaml(void)
{
}

ALQI_OCAML_API void
caml_bt_exit_ocaml(void)
{
}

ALQI_OCAML_API int
caml_bt_is_in_blocking_section(void)
{
    return 0;
}

ALQI_OCAML_API int
caml_bt_is_self(void)
{
    return 0;
}

/* ---- stops -------------------------------------------------------------- */

/* OCaml's own stops, for its runtime events.  With one domain the caller is
 * alone, and each barrier is passed at once. */
ALQI_OCAML_API int
caml_try_run_on_all_domains(
    void (*run)(struct caml_domain_state *, void *, int,
                struct caml_domain_state **),
    void *data, void (*before)(struct caml_domain_state *))
{
    struct caml_domain_state *all[1] = {caml_state};

    if (before != NULL)
        before(caml_state);
    run(caml_state, data, 1, all);
    return 1;
}

ALQI_OCAML_API uintptr_t
caml_global_barrier_and_check_final(int n)
{
    (void)n;
    return 1;
}

ALQI_OCAML_API void
caml_global_barrier_release_as_final(uintptr_t status)
{
    (void)status;
}

ALQI_OCAML_API intptr_t
caml_domain_is_multicore(void)
{
    return 0;
}

ALQI_OCAML_API int
caml_domain_terminating(struct caml_domain_state *state)
{
    (void)state;
    return 0;
}

/* ---- Domain ------------------------------------------------------------- */

ALQI_OCAML_API value
caml_domain_spawn(value callback, value sync)
{
    (void)callback;
    (void)sync;
    caml_failwith("the runtime variant aliquot has one domain so far");
}

ALQI_OCAML_API value
caml_ml_domain_id(value unit)
{
    (void)unit;
    return alqi_ocaml_int(caml_state->unique_id);
}

ALQI_OCAML_API value
caml_ml_domain_index(value unit)
{
    (void)unit;
    return alqi_ocaml_int(caml_state->id);
}

ALQI_OCAML_API value
caml_ml_domain_cpu_relax(value unit)
{
    caml_handle_gc_interrupt();
    return unit;
}

ALQI_OCAML_API value
caml_recommended_domain_count(value unit)
{
    (void)unit;
    return alqi_ocaml_int(1);
}
