/* memprof.c -- Gc.Memprof: OCaml's callbacks over the profiler
 *
 * The profiler is joined to the heap as everywhere (glue/join).  Here are the
 * primitives of OCaml's module, a tracker whose callbacks call OCaml's
 * closures, and the profiler's state of each thread of systhreads, which takes
 * turns with the others'.
 *
 *   a block of OCaml's code  a request: callbacks run before it has memory
 *   a block of C code        exists when it is sampled: its callbacks, as those
 *                            of promotion and death, wait until OCaml's runtime
 *                            processes pending actions
 *                            (caml_memprof_run_callbacks_res)
 *
 * A callback that raises fails with FAILED; its exception waits in the thread
 * for the call that reports the failure.
 *
 * .inv.turn  The engine's state of the thread that runs is where the heap looks
 *            for it; that of each other thread is in its alqi_ocaml_thread. */
#include <stdlib.h>

#include "glue/join/profiler.h"
#include "heap/hosted.h"
#include "heap/observe_calls.h"
#include "ocaml/enter.h"
#include "ocaml/limits.h"
#include "ocaml/memprof.h"
#include "ocaml/roots.h"

enum { FAILED = -1 };       /* the code of a callback that raised */
enum { SMALL_WORDS = 256 }; /* the most that caml_alloc_small takes */

/* Fields of OCaml's tracker. */
enum { ALLOC_MINOR, ALLOC_MAJOR, PROMOTE, DEALLOC_MINOR, DEALLOC_MAJOR };

/* A profile: what OCaml's value of it points to, and the tracker's argument.
 * It is freed with that value, if the profile is discarded: a collection stops
 * the domains, and none stops between the engine's look at the profile's status
 * and the reading of `tracker`. */
struct profile {
    struct alq_profile *engine;
    value tracker; /* a root; ALQI_OCAML_UNIT: the profile is discarded */
};

/* ---- threads ------------------------------------------------------------- */

struct alqi_ocaml_thread *
alqi_ocaml_thread_new(void)
{
    struct alqi_ocaml_thread *th = calloc(1, sizeof *th);

    if (th == NULL)
        return NULL;
    th->failed = ALQI_OCAML_UNIT;
    alqi_ocaml_global_add(&th->failed);
    return th;
}

static bool
is_profiled(const struct alqi_domain *d)
{
    return alqi_glue_profiled_domain(d) != NULL;
}

static void
redraw(struct alqi_domain *d)
{
    if (is_profiled(d))
        alqi_heap_observe_redraw_sigsafe(d);
}

/* Systhreads calls this for a new thread; NULL: no memory. */
ALQI_OCAML_API void *
caml_memprof_new_thread(struct caml_domain_state *state)
{
    (void)state;
    return alqi_ocaml_thread_new();
}

/* The domain's first thread has its state since the domain began. */
ALQI_OCAML_API void *
caml_memprof_main_thread(struct caml_domain_state *state)
{
    alqi_ocaml_hook_is_next();
    return state->memprof;
}

/* The running thread's engine state leaves its place to another (.inv.turn). */
ALQI_OCAML_API void
caml_memprof_enter_thread(void *thread)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);
    struct alqi_ocaml_thread *from = caml_state->memprof, *to = thread;

    if (from == to)
        return;
    if (from != NULL)
        from->engine = d->threads.first.observer;
    d->threads.first.observer = to->engine;
    to->engine = NULL;
    alqi_ocaml_limits_switch(d, from != NULL ? &from->limits : NULL,
                             &to->limits);
    caml_state->memprof = to;
    redraw(d);
}

/* The thread's state ends; what callbacks it had in hand are dropped.  It may
 * be the running thread's, whose engine state is in its place (.inv.turn). */
ALQI_OCAML_API void
caml_memprof_delete_thread(void *thread)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);
    struct alqi_ocaml_thread *th = thread;
    struct alqi_glue_profiled *engine = th->engine;
    bool is_running = caml_state->memprof == th;

    if (is_running) {
        caml_state->memprof = NULL;
        engine = d->threads.first.observer;
        d->threads.first.observer = NULL;
    }
    if (engine != NULL) {
        /* A forked child lacks a thread that was in a callback: what it had in
         * hand is dropped, as no code of OCaml may run here. */
        if (!is_running && engine->engine.mode != ALQI_MEMPROF_IDLE)
            engine->engine.mode = ALQI_MEMPROF_INSIDE;
        alqi_glue_profiled_end(engine);
    }
    alqi_ocaml_global_remove(&th->failed);
    caml_stat_free(th->slots);
    free(th);
}

/* OCaml's runtime has callbacks kept off while it prints an exception. */
ALQI_OCAML_API void
caml_memprof_update_suspended(bool is_suspended)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);
    struct alqi_ocaml_thread *th = alqi_ocaml_thread_of(caml_state);
    struct alqi_glue_profiled *t =
        is_profiled(d) ? alqi_glue_profiled_get(d) : NULL;

    if (th == NULL || t == NULL || th->is_suspended == is_suspended)
        return;
    if (is_suspended)
        th->was = alqi_memprof_suspend(&t->engine);
    else
        alqi_memprof_resume(&t->engine, th->was);
    th->is_suspended = is_suspended;
    alqi_heap_observe_redraw_sigsafe(d);
}

/* ---- failures ------------------------------------------------------------ */

static value
failed_take(void)
{
    struct alqi_ocaml_thread *th = alqi_ocaml_thread_of(caml_state);
    value exn = th->failed;

    th->failed = ALQI_OCAML_UNIT;
    return exn;
}

void
alqi_ocaml_failed_raise(void)
{
    value exn = failed_take();

    if (exn == ALQI_OCAML_UNIT)
        caml_raise_out_of_memory();
    caml_raise(exn);
}

static int
failed_keep(value exn)
{
    struct alqi_ocaml_thread *th = alqi_ocaml_thread_of(caml_state);

    if (th->failed == ALQI_OCAML_UNIT)
        alqi_ocaml_global_set(&th->failed, exn);
    return FAILED;
}

/* ---- callbacks ----------------------------------------------------------- */

/* The tracker, ALQI_OCAML_UNIT if another domain has just discarded the
 * profile. It is read once, before anything that may collect: the finaliser of
 * the profile's value may free `p` then. */
static value
tracker_of(const struct profile *p)
{
    return __atomic_load_n(&p->tracker, __ATOMIC_ACQUIRE);
}

/* Calls a closure of the tracker.  The heap is left for the call and entered
 * again (.inv.enter). */
static struct caml_result
call(value tracker, int field, value argument)
{
    struct caml_result result;

    alqi_ocaml_leave(alqi_ocaml_domain(caml_state));
    result = caml_callback_res(alq_field(tracker, (size_t)field), argument);
    alqi_ocaml_enter();
    return result;
}

/* Calls a closure that returns an option: Some is the block's new datum. */
static int
call_option(value tracker, int field, value argument, uintptr_t *data)
{
    struct caml_result result = call(tracker, field, argument);

    if (result.is_exception)
        return failed_keep(result.data);
    if (!alq_is_block(result.data))
        return ALQ_TRACK_DROP;
    *data = alq_field(result.data, 0);
    return ALQ_TRACK_KEEP;
}

static value
source_of(enum alq_source source)
{
    return alqi_ocaml_int(source == ALQ_SOURCE_MARSHAL  ? 1
                          : source == ALQ_SOURCE_CUSTOM ? 2
                                                        : 0);
}

/* The frames are integers already: callstack.c. */
static value
callstack_new(const struct alq_callstack *stack)
{
    size_t n = stack->n_frames;
    value array =
        n > 0 && n <= SMALL_WORDS ? caml_alloc_small(n, 0) : caml_alloc(n, 0);

    for (size_t i = 0; i < n; i++)
        alq_init_small(array, i, stack->frames[i]);
    return array;
}

/* OCaml's record of an allocation.  The stack is copied before anything else
 * may use the room it is in. */
static value
allocation_new(const struct alq_allocation *a)
{
    struct alqi_ocaml_local callstack;
    value record;

    alqi_ocaml_local_push(&callstack, callstack_new(&a->callstack));
    record = caml_alloc_small(4, 0);
    alq_init_small(record, 0, alqi_ocaml_int((intptr_t)a->n_samples));
    alq_init_small(record, 1, alqi_ocaml_int((intptr_t)a->size_words));
    alq_init_small(record, 2, source_of(a->source));
    alq_init_small(record, 3, alqi_ocaml_local_pop(&callstack));
    return record;
}

/* Code of OCaml may not run before a spawned domain has its local storage,
 * which OCaml's Domain makes first of all: callbacks use it, as Random does. */
static bool
is_begun(void)
{
    return caml_state->unique_id == 0 ||
           caml_state->dls_root != ALQI_OCAML_UNIT;
}

/* Tells the tracker of a block.  The datum is written last, when nothing that
 * may collect comes any more (ALQI_TRACKER_DATUM_LAST). */
static int
alloc(const struct profile *p, int field, const struct alq_allocation *a,
      uintptr_t *data)
{
    struct alqi_ocaml_local tracker;
    value allocation, t = tracker_of(p);

    if (t == ALQI_OCAML_UNIT || !is_begun())
        return ALQ_TRACK_DROP;
    alqi_ocaml_local_push(&tracker, t);
    allocation = allocation_new(a);
    return call_option(alqi_ocaml_local_pop(&tracker), field, allocation, data);
}

static int
alloc_minor(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    return alloc(arg, ALLOC_MINOR, a, data);
}

static int
alloc_major(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    return alloc(arg, ALLOC_MAJOR, a, data);
}

static int
promote(void *arg, uintptr_t *data)
{
    value tracker = tracker_of(arg);

    if (tracker == ALQI_OCAML_UNIT)
        return ALQ_TRACK_DROP;
    return call_option(tracker, PROMOTE, *data, data);
}

static int
dealloc(value tracker, int field, value data)
{
    struct caml_result result;

    if (tracker == ALQI_OCAML_UNIT)
        return 0;
    result = call(tracker, field, data);
    return result.is_exception ? failed_keep(result.data) : 0;
}

static int
dealloc_minor(void *arg, uintptr_t data)
{
    return dealloc(tracker_of(arg), DEALLOC_MINOR, data);
}

static int
dealloc_major(void *arg, uintptr_t data)
{
    return dealloc(tracker_of(arg), DEALLOC_MAJOR, data);
}

/* ---- what waits ---------------------------------------------------------- */

void
alqi_heap_host_owes(struct alqi_domain *d)
{
    caml_set_action_pending(alqi_ocaml_state(d));
}

/* Whether callbacks wait for the domain or its thread, and can run.  Within a
 * callback none can; the heap asks again when that callback has ended. */
static bool
is_owed(const struct alqi_domain *d)
{
    const struct alqi_glue_profiled *t = alqi_glue_profiled_running(d);

    return is_profiled(d) &&
           (t == NULL || t->engine.mode == ALQI_MEMPROF_IDLE) &&
           (alqi_memprof_domain_has_pending(alqi_glue_profiled_domain(d)) ||
            (t != NULL && alqi_memprof_has_pending(&t->engine)));
}

/* Runs the callbacks of limits, then those of profiles; the runtime calls this
 * where OCaml's code may run.  Draws the trigger anew only if callbacks ran:
 * the runtime calls this for each allocation that has come to the trigger,
 * whose sample must not be lost.  Callbacks that a failure has left wait for
 * the next call, which is asked for. */
ALQI_OCAML_API struct caml_result
caml_memprof_run_callbacks_res(void)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);
    struct caml_result limits = alqi_ocaml_limits_poll();
    struct alqi_glue_profiled *t;
    enum alq_status status;

    if (limits.is_exception || !is_owed(d) || !is_begun())
        return limits;
    alqi_ocaml_enter();
    t = alqi_glue_profiled_get(d);
    status = t == NULL ? ALQ_OK : alqi_memprof_poll(&t->engine, &t->code);
    redraw(d);
    alqi_ocaml_leave(d);
    if (status != ALQ_ECALLBACK)
        return ALQI_OCAML_RESULT_UNIT;
    caml_set_action_pending(caml_state);
    return (struct caml_result){.is_exception = 1, .data = failed_take()};
}

/* ---- blocks of C code ---------------------------------------------------- */

void
alqi_ocaml_sampled(struct alqi_domain *d, uintptr_t low, size_t words,
                   uint64_t sample_at)
{
    const struct alqi_memprof_block b = {(const void *)(low + ALQ_WORD_BYTES),
                                         words, words - 1, ALQ_SOURCE_NORMAL,
                                         true};
    const struct alqi_stack_regs regs = alqi_stack_regs_here();
    struct alqi_glue_profiled *t =
        is_profiled(d) ? alqi_glue_profiled_get(d) : NULL;

    if (t == NULL)
        return;
    alqi_memprof_small(&t->engine, &b, words - sample_at, &regs);
    if (alqi_memprof_has_pending(&t->engine))
        alqi_heap_observe_wake_sigsafe(d);
}

/* C code of OCaml's runtime calls this for blocks of a message, and for the
 * memory that a custom block owns. */
ALQI_OCAML_API void
caml_memprof_sample_block(value block, size_t words, size_t sampled_words,
                          int source)
{
    enum { MARSHAL = 1, CUSTOM = 2 };
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);

    (void)sampled_words;
    if (source == CUSTOM)
        alqi_ocaml_limits_outside(d, words);
    if (!is_profiled(d))
        return;
    if (source == CUSTOM)
        alqi_heap_observed_custom(d, block, words * ALQ_WORD_BYTES);
    else if (source == MARSHAL)
        alqi_heap_observed_unmarshal(d, block, ALQ_HEADER(words, 0));
    else
        alqi_heap_observed_direct(d, block, ALQ_HEADER(words, 0));
}

/* ---- Gc.Memprof ---------------------------------------------------------- */

/* Where OCaml's value of a profile has its pointer: behind the custom block's
 * operations. */
static struct profile **
profile_at(value v)
{
    return (struct profile **)v + 1;
}

/* A profile that is not discarded goes on without its value. */
static void
profile_finalise(value v)
{
    struct profile *p = *profile_at(v);

    if (p == NULL)
        return;
    alq_profile_drop(p->engine);
    p->engine = NULL;
    if (p->tracker == ALQI_OCAML_UNIT) {
        alqi_ocaml_global_remove(&p->tracker);
        free(p);
    }
}

static const struct caml_custom_operations profile_operations = {
    .identifier = "aliquot.memprof.profile",
    .finalize = profile_finalise,
};

static struct profile *
profile_new(value tracker)
{
    struct profile *p = calloc(1, sizeof *p);

    if (p == NULL)
        caml_raise_out_of_memory();
    p->tracker = tracker;
    alqi_ocaml_global_add(&p->tracker);
    return p;
}

/* Starts the engine's profile for the domain; p->engine is set if this is
 * ALQ_OK. */
static enum alq_status
profile_start(struct profile *p, double rate, size_t frames)
{
    const struct alq_memprof_config config = {
        .rate = rate, .callstack_frames = frames, .flags = ALQ_MEMPROF_STRICT};
    const struct alq_tracker tracker = {.alloc_minor = alloc_minor,
                                        .alloc_major = alloc_major,
                                        .promote = promote,
                                        .dealloc_minor = dealloc_minor,
                                        .dealloc_major = dealloc_major,
                                        .arg = p,
                                        .flags = ALQ_TRACKER_VALUES |
                                                 ALQI_TRACKER_DATUM_LAST};
    struct alqi_domain *d = alqi_ocaml_enter();
    enum alq_status status;

    alqi_glue_profiler_walks();
    status = alqi_glue_memprof_start(d, &config, &tracker, &p->engine);
    alqi_ocaml_leave(d);
    return status;
}

/* OCaml's value exists before the profile starts, as that cannot be undone. */
ALQI_OCAML_API value
caml_memprof_start(value rate, value depth, value tracker)
{
    double r = *(const double *)rate;
    intptr_t frames = alqi_ocaml_int_of(depth);
    struct alqi_ocaml_local v;
    enum alq_status status;
    struct profile *p;

    if (frames < 0 || !(r >= 0.0 && r <= 1.0))
        caml_invalid_argument("Gc.Memprof.start");
    p = profile_new(tracker);
    alqi_ocaml_local_push(
        &v, caml_alloc_custom(&profile_operations, sizeof p, 0, 1));
    *profile_at(v.value) = NULL;
    status = profile_start(p, r, (size_t)frames);
    if (status != ALQ_OK) {
        alqi_ocaml_local_pop(&v);
        alqi_ocaml_global_remove(&p->tracker);
        free(p);
        if (status == ALQ_EBUSY)
            caml_failwith("Gc.Memprof.start: already started.");
        caml_raise_out_of_memory();
    }
    *profile_at(v.value) = p;
    return alqi_ocaml_local_pop(&v);
}

ALQI_OCAML_API value
caml_memprof_stop(value unit)
{
    struct alqi_domain *d = alqi_ocaml_enter();
    enum alq_status status = alqi_glue_memprof_stop(d);

    alqi_ocaml_leave(d);
    if (status == ALQ_ECALLBACK)
        alqi_ocaml_failed_raise();
    if (status == ALQ_ENOMEM)
        caml_raise_out_of_memory();
    if (status != ALQ_OK)
        caml_failwith("Gc.Memprof.stop: no profile running.");
    return unit;
}

ALQI_OCAML_API value
caml_memprof_discard(value profile)
{
    struct profile *p = *profile_at(profile);
    struct alqi_domain *d = alqi_ocaml_enter();
    enum alq_status status = alqi_glue_profile_discard(p->engine);

    alqi_ocaml_leave(d);
    if (status == ALQ_ERUNNING)
        caml_failwith("Gc.Memprof.discard: profile not stopped.");
    if (status == ALQ_EGONE)
        caml_failwith("Gc.Memprof.discard: profile already discarded.");
    __atomic_store_n(&p->tracker, ALQI_OCAML_UNIT, __ATOMIC_RELEASE);
    return ALQI_OCAML_UNIT;
}
