/* domain.c -- the domain behind Caml_state: its start, interrupts, blocking
 * sections
 *
 * A domain is interrupted by young_limit = all ones, by OCaml's code and by the
 * heap alike.  At the next poll or allocation its thread comes to
 * caml_handle_gc_interrupt, which serves the heap's requests and OCaml's flags;
 * the heap lowers the limit only when neither wants anything
 * (alqi_heap_host_wants).
 *
 * A spawned domain: made by its parent (BLOCKING) -> its thread enters, fills
 * Caml_state, runs the function -> leaves its result -> ends.
 *
 * Keeps .inv.head of head.h and .inv.enter of enter.h. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap/alloc.h"
#include "heap/alloc_limit.h"
#include "heap/domain.h"
#include "heap/domain_spawn.h"
#include "heap/domain_thread.h"
#include "heap/event.h"
#include "heap/major_cycle.h"
#include "heap/observe.h"
#include "heap/stop.h"
#include "ocaml/domain.h"
#include "ocaml/enter.h"
#include "ocaml/events.h"
#include "ocaml/interrupt.h"
#include "ocaml/limits.h"
#include "ocaml/memprof.h"
#include "ocaml/roots.h"
#include "ocaml/tables.h"
#include "ocaml/trace.h"

enum {
    MINOR_WORDS_MIN = 4096,
    MINOR_WORDS_USUAL = 1 << 18 /* where OCAMLRUNPARAM says nothing */
};

__thread struct caml_domain_state *caml_state;
/* The thread's Caml_state while the thread is in a blocking section, where
 * caml_state is NULL; acquiring the domain takes it back. */
static __thread struct caml_domain_state *blocked_state;
static struct alqi_domain *first_domain; /* the program's; slot 0 */

ALQI_OCAML_API uintptr_t caml_minor_heaps_start, caml_minor_heaps_end;
/* Domains, atomic.  While it is 1, members of OCaml's library that stay change
 * headers without atomic operations.  So a domain is counted from before its
 * thread begins until its thread has left the heap for good. */
ALQI_OCAML_API uintptr_t caml_num_domains_running;
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

ALQI_OCAML_API struct caml_domain_state *
caml_get_domain_state(void)
{
    return caml_state;
}

/* ---- start and end ------------------------------------------------------- */

static uintptr_t last_unique_id; /* atomic; the first domain's is 0 */

/* Makes what a domain needs memory for, before it begins; NULL: there is none.
 * Returns its stack.  The struct may have served a domain that has ended: then
 * its tables and the stacks that its fibers had serve this one, too.  Requires
 * a Caml_state, any. */
static void *
state_reserve(struct caml_domain_state *state)
{
    state->current_stack = NULL; /* it has no roots yet: roots.c */
    if (state->minor_tables == NULL)
        state->minor_tables = alqi_ocaml_tables_new();
    if (state->stack_cache == NULL)
        state->stack_cache = caml_alloc_stack_cache();
    if (state->memprof == NULL)
        state->memprof = alqi_ocaml_thread_new();
    if (state->minor_tables == NULL || state->stack_cache == NULL ||
        state->memprof == NULL)
        return NULL;
    return caml_alloc_main_stack(caml_get_init_stack_wsize());
}

/* The parts of Caml_state that a domain's own thread fills. */
static void
state_init(struct caml_domain_state *state, struct alqi_domain *d,
           uintptr_t unique_id, void *stack)
{
    size_t from = offsetof(struct caml_domain_state, young_start);
    struct caml_minor_tables *tables = state->minor_tables;
    void *stack_cache = state->stack_cache, *memprof = state->memprof;

    memset((char *)state + from, 0, sizeof *state - from);
    caml_state = state;
    state->id = d->slot;
    state->unique_id = (intptr_t)unique_id;
    state->minor_tables = tables;
    state->dls_root = state->backtrace_last_exn = ALQI_OCAML_UNIT;
    state->stack_cache = stack_cache;
    state->memprof = memprof;
    state->trap_sp_off = 1;
    state->trap_barrier_block = -1;
    state->current_stack = stack;
    alqi_ocaml_leave(d);
    if (caml_params->backtrace_enabled)
        caml_record_backtraces(1);
}

/* Gives back what state_init and OCaml's code have made. */
static void
state_end(struct caml_domain_state *state)
{
    if (state->memprof != NULL) /* systhreads has not ended it */
        caml_memprof_delete_thread(state->memprof);
    caml_free_intern_state();
    caml_free_extern_state();
    caml_free_stack(state->current_stack);
    state->current_stack = NULL; /* it has no roots any more: roots.c */
    caml_free_backtrace_buffer(state->backtrace_buffer);
    caml_free_gc_regs_buckets(state->gc_regs_buckets);
}

/* 0: the heap chooses, beginning with that size (minor_size.c).  A size that
 * the program asks for is kept. */
static size_t
minor_words(void)
{
    size_t words = caml_params->init_minor_heap_wsz;

    if (words == MINOR_WORDS_USUAL)
        return 0;
    if (words < MINOR_WORDS_MIN)
        return MINOR_WORDS_MIN;
    if (words > ALQI_HEAP_MINOR_BYTES_MAX / ALQ_WORD_BYTES)
        return ALQI_HEAP_MINOR_BYTES_MAX / ALQ_WORD_BYTES;
    return words;
}

/* Returns the configuration by OCAMLRUNPARAM, within the heap's ranges. */
static struct alq_domain_config
config(void)
{
    uintptr_t most = caml_params->max_domains;

    return (struct alq_domain_config){
        .minor_words = minor_words(),
        .space_overhead = (unsigned)caml_params->init_percent_free,
        .domains_max = most < ALQI_HEAP_DOMAINS_MAX
                           ? (unsigned)most
                           : (unsigned)ALQI_HEAP_DOMAINS_MAX};
}

void
alqi_ocaml_start(void)
{
    struct alq_domain_config c = config();
    void *stack;

    if (alqi_heap_domain_start(&c, NULL, &first_domain) != ALQ_OK)
        caml_fatal_error("no memory for the heap");
    caml_minor_heaps_start = first_domain->pub.young_base;
    caml_minor_heaps_end =
        first_domain->pub.young_base + first_domain->pub.young_bytes;
    first_domain->heap->tuning.verify |= caml_params->verify_heap != 0;
    caml_state = alqi_ocaml_state(first_domain);
    stack = state_reserve(caml_state);
    if (stack == NULL)
        caml_fatal_error("no memory for the first domain's stack");
    state_init(caml_state, first_domain, 0, stack);
    caml_num_domains_running = 1;
    alqi_ocaml_events_start(first_domain->heap);
    caml_init_signal_handling();
    alqi_ocaml_trace_begin(first_domain);
}

static struct alqi_domain *
domain_of(int id)
{
    return first_domain->heap->domains[id];
}

/* A thread that systhreads has made belongs to the domain. */
ALQI_OCAML_API void
caml_init_domain_self(int id)
{
    caml_state = blocked_state = alqi_ocaml_state(domain_of(id));
}

/* ---- interrupts --------------------------------------------------------- */

/* Set while the thread is giving its domain up.  Before a blocking section
 * OCaml's code lowers the limit, and begins anew if it is not low afterwards,
 * as a signal has come.  What else OCaml wants, and signals that are masked,
 * wait until the section is over: raising the limit for them would begin anew
 * for ever. */
static __thread struct leaving {
    bool is_under_way;
    bool was_raised;  /* the limit, when it began */
    bool had_signals; /* there were signals then */
} leaving;

static bool
wants_to_stay(void)
{
    return leaving.was_raised ||
           (!leaving.had_signals && caml_check_pending_signals());
}

bool
alqi_heap_host_wants(const struct alqi_domain *d)
{
    const struct caml_domain_state *state =
        (const struct caml_domain_state *)(const void *)d;

    if (leaving.is_under_way)
        return wants_to_stay();
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
    unsigned n;

    if (first_domain == NULL)
        return;
    n = __atomic_load_n(&first_domain->heap->n_slots, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < n; i++)
        alqi_heap_alloc_limit_raise(domain_of((int)i));
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

/* Serves what needs no code of OCaml: the heap's requests, then flags.  Signals
 * and the rest are the caller's: the limit is low when this returns unless the
 * heap wants something again, since a signal that is masked stays pending. What
 * the caller may not run is looked at when it returns to OCaml's code. */
static void
requests_serve(void)
{
    struct alqi_domain *d = alqi_ocaml_enter();
    struct caml_domain_state *state = alqi_ocaml_state(d);
    bool is_minor = take(&state->requested_minor_gc);
    bool is_global = take(&state->requested_global_major_slice);

    if (take(&state->requested_major_slice) || is_global) {
        caml_ev_begin(ALQI_OCAML_EV_MAJOR);
        alqi_heap_major_slice(d, 0); /* empties the minor heaps, too */
        caml_ev_end(ALQI_OCAML_EV_MAJOR);
    } else if (is_minor) {
        alqi_heap_minor(d);
    }
    alqi_ocaml_limits_heap_poll(d);
    __atomic_store_n(&d->pub.young_limit, (char *)alqi_heap_alloc_limit_of(d),
                     __ATOMIC_SEQ_CST);
    if (alqi_heap_alloc_limit_is_heap_asked(d))
        alqi_heap_alloc_limit_raise(d);
    if (alqi_heap_host_wants(d) || alqi_heap_alloc_limit_is_permit_asked(d))
        caml_set_action_pending(state);
    alqi_ocaml_leave(d);
}

void
alqi_ocaml_interrupts_serve(void)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);

    requests_serve();
    if (alqi_heap_alloc_limit_is_permit_asked(d))
        alqi_heap_alloc_limit_raise(d);
}

/* Serves the heap and OCaml's flags; the callers then run handlers of signals.
 * Leaves the limit low: a blocking section begins only if it is. */
ALQI_OCAML_API void
caml_handle_gc_interrupt(void)
{
    alqi_ocaml_limits_handlers(alqi_ocaml_domain(caml_state));
    requests_serve();
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
    struct alqi_domain *d = alqi_ocaml_domain(blocked_state);

    if (!alqi_heap_thread_runs(&d->pub))
        alqi_heap_thread_enter(&d->threads.first);
    caml_state = alqi_ocaml_state(d);
    alqi_ocaml_leave(d);
}

ALQI_OCAML_API void
caml_release_domain_lock(void)
{
    struct alqi_domain *d = alqi_ocaml_enter();

    leaving.had_signals = caml_check_pending_signals();
    leaving.was_raised =
        __atomic_load_n(&d->pub.young_limit, __ATOMIC_SEQ_CST) ==
        (char *)UINTPTR_MAX;
    leaving.is_under_way = true;
    blocked_state = caml_state;
    caml_state = NULL;
    (void)alqi_heap_thread_leave(d);
    leaving.is_under_way = false;
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

/* What a stop of OCaml's own does. */
struct own_stop {
    void (*run)(struct caml_domain_state *, void *, int,
                struct caml_domain_state **);
    void (*before)(struct caml_domain_state *);
    void *data;
};

static void
own_stop_begin(struct alqi_domain *leader)
{
    const struct own_stop *stop = leader->stop_arg;
    struct caml_domain_state *all[1] = {caml_state};

    if (stop->before != NULL)
        stop->before(caml_state);
    stop->run(caml_state, stop->data, 1, all);
}

static const struct alqi_heap_stop_work *
own_stop_last(struct alqi_domain *self)
{
    (void)self;
    return NULL;
}

/* OCaml's own stops, for its runtime events: the caller alone runs, and passes
 * each barrier at once, while the others are stopped: one that is writing an
 * event has written it when the ring goes. */
ALQI_OCAML_API int
caml_try_run_on_all_domains(void (*run)(struct caml_domain_state *, void *, int,
                                        struct caml_domain_state **),
                            void *data,
                            void (*before)(struct caml_domain_state *))
{
    static const struct alqi_heap_stop_work work = {.begin = own_stop_begin,
                                                    .last = own_stop_last};
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);
    struct own_stop stop = {run, before, data};

    d->stop_arg = &stop;
    return alqi_heap_stop_try(d, &work);
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

/* Whether the program has ever spawned a domain, even one that has ended: then
 * Unix.fork is refused. */
ALQI_OCAML_API intptr_t
caml_domain_is_multicore(void)
{
    return __atomic_load_n(&last_unique_id, __ATOMIC_SEQ_CST) > 0;
}

ALQI_OCAML_API int
caml_domain_terminating(struct caml_domain_state *state)
{
    return __atomic_load_n(&alqi_ocaml_domain(state)->state,
                           __ATOMIC_RELAXED) == ALQI_HEAP_ENDING;
}

/* ---- Domain ------------------------------------------------------------- */

/* A domain that is about to begin: made by its parent, freed by its thread. */
struct spawned {
    struct alqi_domain *domain;
    void *stack; /* its first one, until it begins */
    uintptr_t unique_id;
    value function; /* both are global roots */
    value sync;     /* OCaml's Domain: state, mutex, condition */
};

static void
spawned_free(struct spawned *s)
{
    alqi_ocaml_global_remove(&s->function);
    alqi_ocaml_global_remove(&s->sync);
    free(s);
}

/* Stores Finished (Ok v) or Finished (Error e) where Domain.join looks, and
 * wakes those that wait; they go on when the mutex is free. */
static void
finish(struct spawned *s, struct caml_result result)
{
    struct alqi_ocaml_local v;

    alqi_ocaml_local_push(&v, result.data);
    for (unsigned tag = result.is_exception ? 1 : 0, i = 0; i < 2; i++) {
        value block = caml_alloc_small(1, tag);

        alq_init_small(block, 0, v.value);
        v.value = block;
        tag = 0;
    }
    caml_ml_mutex_lock(alq_field(s->sync, 1));
    caml_modify((value *)s->sync, alqi_ocaml_local_pop(&v));
    caml_ml_condition_broadcast(alq_field(s->sync, 2));
}

/* The thread of a spawned domain.  The result's mutex stays locked until the
 * domain has ended, so that Domain.join returns only then; it is found before
 * the domain's end, as the value must not be read afterwards. */
static void *
spawned_run(void *arg)
{
    struct spawned *s = arg;
    struct alqi_domain *d = s->domain;
    void *signal_stack = caml_init_signal_stack();
    value function;
    void *mutex;

    if (signal_stack == NULL)
        caml_fatal_error("no memory for a domain's signal stack");
    alqi_heap_thread_enter(&d->threads.first);
    state_init(alqi_ocaml_state(d), d, s->unique_id, s->stack);
    caml_ev_lifecycle(ALQI_OCAML_EV_DOMAIN_SPAWN, getpid());
    caml_domain_initialize_hook();
    function = s->function;
    s->function = ALQI_OCAML_UNIT;
    finish(s, caml_callback_res(function, ALQI_OCAML_UNIT));
    while (caml_final_do_calls_res().is_exception)
        continue; /* nobody is left to catch it */
    mutex = (void *)alq_field(alq_field(s->sync, 1), 1);
    caml_domain_stop_hook();
    caml_ev_lifecycle(ALQI_OCAML_EV_DOMAIN_TERMINATE, getpid());
    state_end(alqi_ocaml_state(d));
    alqi_heap_domain_end(alqi_ocaml_enter());
    caml_state = NULL;
    __atomic_sub_fetch(&caml_num_domains_running, 1, __ATOMIC_SEQ_CST);
    caml_mutex_unlock(mutex);
    spawned_free(s);
    caml_free_signal_stack(signal_stack);
    return NULL;
}

/* Makes the record that the parent passes to the thread; raises Out_of_memory.
 * Its two values are roots until spawned_free. */
static struct spawned *
spawned_new(value function, value sync)
{
    struct spawned *s = calloc(1, sizeof *s);

    if (s == NULL)
        caml_raise_out_of_memory();
    s->function = function;
    s->sync = sync;
    alqi_ocaml_global_add(&s->function);
    alqi_ocaml_global_add(&s->sync);
    return s;
}

/* Makes the domain and what it needs, by the parent; else why not. */
static const char *
spawned_reserve(struct spawned *s, struct alqi_domain *by)
{
    struct alq_domain_config c = config();

    if (alqi_heap_domain_start(&c, by, &s->domain) != ALQ_OK)
        return "failed to allocate domain";
    s->stack = state_reserve(alqi_ocaml_state(s->domain));
    if (s->stack != NULL)
        return NULL;
    alqi_heap_spawn_undo(by, s->domain);
    return "failed to allocate domain";
}

/* Starts the thread that runs the domain; else the domain is undone. */
static const char *
spawned_start(struct spawned *s, struct alqi_domain *by)
{
    pthread_t thread;

    __atomic_add_fetch(&caml_num_domains_running, 1, __ATOMIC_SEQ_CST);
    if (pthread_create(&thread, NULL, spawned_run, s) == 0) {
        pthread_detach(thread);
        return NULL;
    }
    caml_free_stack(s->stack);
    alqi_heap_spawn_undo(by, s->domain);
    __atomic_sub_fetch(&caml_num_domains_running, 1, __ATOMIC_SEQ_CST);
    return "failed to create domain thread";
}

ALQI_OCAML_API value
caml_domain_spawn(value function, value sync)
{
    struct spawned *s;
    struct alqi_domain *d;
    const char *failure;
    uintptr_t unique_id;

    if (&caml_debugger_in_use != NULL && caml_debugger_in_use)
        caml_fatal_error(
            "ocamldebug does not support spawning multiple domains");
    s = spawned_new(function, sync);
    unique_id = s->unique_id =
        __atomic_add_fetch(&last_unique_id, 1, __ATOMIC_SEQ_CST);
    d = alqi_ocaml_enter();
    failure = spawned_reserve(s, d);
    if (failure == NULL)
        failure = spawned_start(s, d);
    alqi_ocaml_leave(d);
    if (failure != NULL) {
        spawned_free(s);
        caml_failwith(failure);
    }
    return alqi_ocaml_int((intptr_t)unique_id);
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
    alqi_ocaml_interrupts_serve();
    return unit;
}

/* Processors that the program may use, and no more than domains. */
ALQI_OCAML_API value
caml_recommended_domain_count(value unit)
{
    intptr_t n = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;

    (void)unit;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = CPU_COUNT(&set);
    if (n > first_domain->heap->tuning.domains_max)
        n = first_domain->heap->tuning.domains_max;
    return alqi_ocaml_int(n < 1 ? 1 : n);
}
