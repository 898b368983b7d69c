/* limits.c -- limits on tasks of OCaml's code
 *
 * A task is a closure that alqi_ocaml_run calls in a frame of
 * <aliquot/limit.h>.  When a limit is reached OCaml's exception `reached` is
 * raised:
 *
 *   an allocation of OCaml's code   asks before it has memory, and raises
 *   pending actions, polls          alqi_ocaml_limits_poll asks, and raises
 *   an allocation of C code         is counted; the next of the others asks
 *
 * The threads of systhreads are one to the heap.  Each has its own limits, as
 * alq_limit_run keeps them by the system's thread; what the heap knows of them
 * is handed over when another one runs (alqi_ocaml_limits_switch).
 *
 * .inv.handlers  OCaml's runtime calls handlers of signals between
 *                caml_handle_gc_interrupt and caml_memprof_run_callbacks_res,
 *                and an exception may leave them.  So a mask that the first
 *                begins holds for what is called from there, and ends when
 *                code of the same level of calls, or of an outer one, asks:
 *                c_stack, in bytecode external_raise, is lower in calls from
 *                C code to OCaml's.
 * .inv.poptrap   The interpreter repeats POPTRAP, where a `try` ends, while
 *                young_limit is above young_ptr.  So a poll there that refuses
 *                nothing leaves the limit low, whatever stays: a signal that
 *                the thread blocks, limits that want to be asked each time,
 *                the callback of a profile, in which they are not. */
#include <aliquot/limit.h>

#include "heap/alloc_limit.h"
#include "ocaml/enter.h"
#include "ocaml/interrupt.h"
#include "ocaml/limits.h"
#include "ocaml/primitives.h"
#include "ocaml/roots.h"

/* The library's exception by which tasks are left, a root.  ALQI_OCAML_UNIT:
 * the library is not in the program, and there are no tasks. */
static value reached = ALQI_OCAML_UNIT;

/* ---- of the thread that runs --------------------------------------------- */

/* NULL: it is ending. */
static struct alqi_ocaml_limits *
limits_of(struct alqi_domain *d)
{
    struct alqi_ocaml_thread *th = alqi_ocaml_thread_of(alqi_ocaml_state(d));

    return th != NULL ? &th->limits : NULL;
}

void
alqi_ocaml_limits_switch(struct alqi_domain *d, struct alqi_ocaml_limits *from,
                         struct alqi_ocaml_limits *to)
{
    struct alq_thread *running = d->threads.running;

    if (running->limit_trigger == NULL && to->trigger == NULL)
        return;
    alqi_heap_limit_trigger_leave(d);
    if (from != NULL) {
        from->trigger = running->limit_trigger;
        from->trigger_arg = running->limit_trigger_arg;
    }
    running->limit_trigger = to->trigger;
    running->limit_trigger_arg = to->trigger_arg;
    to->trigger = NULL;
    alqi_heap_limit_trigger_enter(d);
}

/* ---- handlers of signals ------------------------------------------------- */

static uintptr_t
level_of(const struct caml_domain_state *state)
{
    return (uintptr_t)(state->c_stack != NULL ? state->c_stack
                                              : state->external_raise);
}

/* Ends the mask of handlers that have returned, or were left. */
static void
handlers_settle(struct alqi_domain *d)
{
    struct alqi_ocaml_limits *l = limits_of(d);

    if (l == NULL || l->handlers_level == 0 ||
        level_of(alqi_ocaml_state(d)) < l->handlers_level)
        return;
    l->handlers_level = 0;
    alq_mask_end(&d->pub, 0);
}

void
alqi_ocaml_limits_handlers_slow(struct alqi_domain *d)
{
    struct alqi_ocaml_limits *l = limits_of(d);

    handlers_settle(d);
    if (l == NULL || alq_mask_begin(&d->pub) != 0)
        return; /* masked already */
    l->handlers_level = level_of(alqi_ocaml_state(d));
}

/* ---- asking -------------------------------------------------------------- */

void
alqi_ocaml_limits_heap_poll(struct alqi_domain *d)
{
    struct alq_thread *running = d->threads.running;

    running->limit_trigger_held++;
    (void)alqi_heap_poll(d);
    running->limit_trigger_held--;
}

/* Asks for what C code holds outside of the heap. */
static enum alq_status
outside_ask(struct alqi_domain *d)
{
    struct alqi_ocaml_limits *l = limits_of(d);
    enum alq_status status;
    uint64_t samples, words;

    if (l == NULL || l->outside_words == 0)
        return ALQ_OK;
    words = l->outside_words;
    l->outside_words = 0;
    status =
        alqi_heap_limit_trigger_external(d, words * ALQ_WORD_BYTES, &samples);
    if (status == ALQ_OK)
        alqi_heap_limit_trigger_external_made(d, samples);
    return status;
}

/* Whether the interpreter runs pending actions because of a POPTRAP.  If C code
 * or an allocation runs them the word is anything, so it is asked whether it is
 * a place in code; the worst that it can be taken for is that of a POPTRAP.
 * OCaml's table of code dies of all ones, which is the integer -1. */
static bool
is_at_poptrap(const struct caml_domain_state *state)
{
    const value *sp;
    const char *code;

    if (alqi_ocaml_is_native())
        return false;
    sp = *(value *const *)state->current_stack;
    code = (const char *)sp[ALQI_OCAML_NEXT_CODE];
    return (uintptr_t)code % sizeof(int32_t) == 0 &&
           caml_find_code_fragment_by_pc(code) != NULL &&
           caml_is_instruction(*(const int32_t *)(const void *)code,
                               ALQI_OCAML_POPTRAP);
}

/* Lowers the limit for a POPTRAP, unless there is something new: `is_new`, or a
 * request of the host where it wanted nothing before.  Where the limits want to
 * be asked each time the next allocation asks, and the next C code that
 * returns. */
static void
limit_lower(struct alqi_domain *d, bool is_new, bool wanted)
{
    char *limit = (char *)alqi_heap_alloc_limit_of(d);

    if (d->limit_trigger.hooks != NULL && d->limit_trigger.asks) {
        limit = d->pub.young_ptr;
        caml_set_action_pending(alqi_ocaml_state(d));
    }
    __atomic_store_n(&d->pub.young_limit, limit, __ATOMIC_SEQ_CST);
    if (is_new || alqi_heap_alloc_limit_is_heap_asked(d) ||
        __atomic_load_n(&d->requests.want_notice, __ATOMIC_SEQ_CST) ||
        (!wanted && alqi_heap_host_wants(d)))
        alqi_heap_alloc_limit_raise(d);
}

struct caml_result
alqi_ocaml_limits_poll(void)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);
    enum alq_status status;
    bool is_new, wanted;

    if (!alqi_ocaml_limits_are_open(d))
        return ALQI_OCAML_RESULT_UNIT;
    alqi_ocaml_enter();
    wanted = alqi_heap_host_wants(d);
    is_new = __atomic_load_n(&d->pub.young_limit, __ATOMIC_SEQ_CST) ==
             (char *)UINTPTR_MAX;
    handlers_settle(d); /* raises the limit */
    status = outside_ask(d);
    if (status == ALQ_OK)
        status = alqi_heap_limit_trigger_check(d, 0);
    if (status == ALQ_OK && is_at_poptrap(alqi_ocaml_state(d)))
        limit_lower(d, is_new, wanted);
    else
        alqi_heap_alloc_limit_reset(d);
    alqi_ocaml_leave(d);
    if (status == ALQ_OK)
        return ALQI_OCAML_RESULT_UNIT;
    alqi_ocaml_raise_ready();
    return (struct caml_result){.is_exception = 1, .data = reached};
}

void
alqi_ocaml_limits_ready_slow(struct alqi_domain *d)
{
    handlers_settle(d);
}

void
alqi_ocaml_limits_small_slow(struct alqi_domain *d)
{
    if (alqi_heap_limit_trigger_reached(d) > d->limit_trigger.at_words)
        alqi_heap_limit_trigger_wake_sigsafe(d);
}

void
alqi_ocaml_limits_outside(struct alqi_domain *d, size_t words)
{
    struct alqi_ocaml_limits *l = limits_of(d);

    if (!alqi_ocaml_limits_are_open(d) || l == NULL)
        return;
    l->outside_words += words;
    alqi_heap_limit_trigger_wake_sigsafe(d);
}

void
alqi_ocaml_limits_raise(void)
{
    caml_raise(reached);
}

/* ---- tasks --------------------------------------------------------------- */

/* Fields of the library's request, and numbers that say "none". */
enum {
    TASK,
    WORDS,
    SAMPLED_WORDS,
    LIVE_WORDS,
    HEAP_BYTES,
    TIME_NS,
    CPU_NS,
    POLLS,
    TOKEN,
    AGAIN,
    AGAIN_WORDS,
    FLAGS,
    SEED
};

struct task {
    struct alqi_ocaml_local request;
    struct alqi_ocaml_local result; /* what it returned, or its exception */
    bool is_called;
    bool is_exception;
};

/* In a custom block, behind its operations. */
static struct alq_token *
token_of(value v)
{
    return ((struct alq_token **)v)[1];
}

static uint64_t
number(value request, unsigned field)
{
    intptr_t n = alqi_ocaml_int_of(alq_field(request, field));

    return n < 0 ? ALQ_LIMIT_NONE : (uint64_t)n;
}

/* Reads a request of Aliquot.Limits.  Allocates nothing; the token belongs to
 * the request, which must stay a root while it is used. */
static struct alq_limits
limits_read(value r)
{
    value token = alq_field(r, TOKEN);

    return (struct alq_limits){
        .words = number(r, WORDS),
        .sampled_words = number(r, SAMPLED_WORDS),
        .live_words = number(r, LIVE_WORDS),
        .heap_bytes = number(r, HEAP_BYTES),
        .time_ns = number(r, TIME_NS),
        .cpu_ns = number(r, CPU_NS),
        .polls = number(r, POLLS),
        .token =
            token == ALQI_OCAML_NONE ? NULL : token_of(alq_field(token, 0)),
        .policy = (enum alq_limit_policy)number(r, AGAIN),
        .grace_words = number(r, AGAIN_WORDS),
        .flags = (unsigned)number(r, FLAGS),
        .seed = number(r, SEED),
    };
}

/* The task: its closure.  What it has outside is asked for while its frame is
 * open. */
static enum alq_status
task_call(struct alq_domain *pub, void *arg)
{
    struct alqi_domain *d = alqi_heap_domain(pub);
    struct task *t = arg;
    struct caml_result result;

    t->is_called = true;
    alqi_ocaml_leave(d);
    result =
        caml_callback_res(alq_field(t->request.value, TASK), ALQI_OCAML_UNIT);
    alqi_ocaml_enter();
    t->result.value = result.data;
    t->is_exception = result.is_exception != 0;
    handlers_settle(d);
    (void)outside_ask(d);
    return t->is_exception ? ALQ_ECALLBACK : ALQ_OK;
}

/* Where native code saves its registers: Caml_state lists what is free.  A
 * place is lost when an exception leaves the allocation that took it.  When a
 * task has ended nobody uses those that were free when it began. */
enum { SAVED_MAX = 4 };
struct saved {
    value *places[SAVED_MAX];
    unsigned n;
};

static void
saved_note(struct saved *s)
{
    alqi_ocaml_raise_ready();
    s->n = 0;
    for (value *p = caml_state->gc_regs_buckets; p != NULL && s->n < SAVED_MAX;
         p = (value *)p[0])
        s->places[s->n++] = p;
}

static bool
is_free(const value *place)
{
    const value *p = caml_state->gc_regs_buckets;

    while (p != NULL && p != place)
        p = (const value *)p[0];
    return p != NULL;
}

static void
saved_recover(const struct saved *s)
{
    for (unsigned i = 0; i < s->n; i++)
        if (!is_free(s->places[i])) {
            s->places[i][0] = (value)caml_state->gc_regs_buckets;
            caml_state->gc_regs_buckets = s->places[i];
        }
}

/* Within a handler of a signal the mask is that of the task around it. */
static enum alq_status
task_run(struct alqi_domain *d, struct task *t, struct alq_outcome *out)
{
    const struct alq_limits limits = limits_read(t->request.value);
    struct alqi_ocaml_limits *l = limits_of(d);
    struct saved saved;
    enum alq_status status;
    uintptr_t was;

    if (l == NULL)
        return ALQ_ENOMEM; /* there was none for the thread's own */
    was = l->handlers_level;
    saved_note(&saved);
    l->handlers_level = 0;
    status = alq_limit_run(&d->pub, &limits, task_call, t, out);
    l->handlers_level = was;
    saved_recover(&saved);
    return status;
}

static void
refused_raise(enum alq_status status)
{
    if (status == ALQ_EINVAL)
        caml_invalid_argument("Aliquot.Limits.run");
    if (status == ALQ_ENOMEM)
        caml_raise_out_of_memory();
    caml_failwith("Aliquot.Limits.run: not possible here");
}

/* ---- outcomes ------------------------------------------------------------ */

/* {callstack; samples; words} */
static value
site_new(const struct alq_limit_site *site)
{
    struct alqi_ocaml_local callstack;
    value v;

    alqi_ocaml_local_push(&callstack, caml_alloc(site->n_frames, 0));
    for (unsigned i = 0; i < site->n_frames; i++)
        alq_init_small(callstack.value, i, site->frames[i] | 1);
    v = caml_alloc_small(3, 0);
    alq_init_small(v, 0, alqi_ocaml_local_pop(&callstack));
    alq_init_small(v, 1, alqi_ocaml_count(site->samples));
    alq_init_small(v, 2, alqi_ocaml_count(site->words));
    return v;
}

/* Makes the outcome's array of sites.  A site is made before the array is
 * looked at: making it may move the array. */
static value
sites_new(const struct alq_outcome *out)
{
    struct alqi_ocaml_local sites;

    alqi_ocaml_local_push(&sites, caml_alloc(out->n_sites, 0));
    for (unsigned i = 0; i < out->n_sites; i++) {
        value site = site_new(&out->sites[i]);

        caml_modify((value *)sites.value + i, site);
    }
    return alqi_ocaml_local_pop(&sites);
}

/* Ok v or Error e. */
static value
result_new(bool is_error, value v)
{
    struct alqi_ocaml_local content;
    value result;

    alqi_ocaml_local_push(&content, v);
    result = caml_alloc_small(1, is_error ? 1 : 0);
    alq_init_small(result, 0, alqi_ocaml_local_pop(&content));
    return result;
}

/* The index into `causes` of aliquot.ml; the compiler wants a row of each. */
static int
cause_index(enum alq_limit_cause cause)
{
    switch (cause) {
    case ALQ_LIMIT_NOT:
        return 0;
    case ALQ_LIMIT_WORDS:
        return 1;
    case ALQ_LIMIT_SAMPLED:
        return 2;
    case ALQ_LIMIT_HEAP:
        return 3;
    case ALQ_LIMIT_TIME:
        return 4;
    case ALQ_LIMIT_CPU:
        return 5;
    case ALQ_LIMIT_POLLS:
        return 6;
    case ALQ_LIMIT_TOKEN:
        return 7;
    case ALQ_LIMIT_LIVE:
        return 8;
    }
    return 0;
}

/* The library's answer: {result; cause; words; ...; sites}. */
static value
answer_new(const struct alq_outcome *out, value result)
{
    struct alqi_ocaml_local r, sites;
    value v;

    alqi_ocaml_local_push(&r, result);
    alqi_ocaml_local_push(&sites, sites_new(out));
    v = caml_alloc_small(11, 0);
    alq_init_small(v, 10, alqi_ocaml_local_pop(&sites));
    alq_init_small(v, 0, alqi_ocaml_local_pop(&r));
    alq_init_small(v, 1, alqi_ocaml_int(cause_index(out->cause)));
    alq_init_small(v, 2, alqi_ocaml_count(out->words));
    alq_init_small(v, 3, alqi_ocaml_count(out->sampled_words));
    alq_init_small(v, 4, alqi_ocaml_count(out->live_words));
    alq_init_small(v, 5, alqi_ocaml_count(out->heap_bytes));
    alq_init_small(v, 6, alqi_ocaml_count(out->time_ns));
    alq_init_small(v, 7, alqi_ocaml_count(out->cpu_ns));
    alq_init_small(v, 8, alqi_ocaml_count(out->site_samples));
    alq_init_small(v, 9, alqi_ocaml_count(out->site_words));
    return v;
}

/* A task that was left by an exception of its own is left by it here, too. */
value
alqi_ocaml_run(value request)
{
    struct task t = {.is_called = false, .is_exception = true};
    struct caml_result pending;
    struct alq_outcome out;
    enum alq_status status;
    struct alqi_domain *d;
    value v;

    alqi_ocaml_local_push(&t.request, request);
    pending = alqi_ocaml_limits_poll();
    if (pending.is_exception)
        caml_raise(pending.data); /* takes local roots off */
    alqi_ocaml_local_push(&t.result, reached);
    d = alqi_ocaml_enter();
    status = task_run(d, &t, &out);
    alqi_ocaml_leave(d);
    v = alqi_ocaml_local_pop(&t.result);
    alqi_ocaml_local_pop(&t.request);
    if (status != ALQ_ELIMIT && !t.is_called)
        refused_raise(status);
    if (status != ALQ_ELIMIT && t.is_exception)
        caml_raise(v);
    if (status == ALQ_ELIMIT && !t.is_exception)
        v = reached;
    return answer_new(&out, result_new(status == ALQ_ELIMIT, v));
}

/* Tells the exception that tasks are left by. */
value
alqi_ocaml_exception(value exn)
{
    if (reached == ALQI_OCAML_UNIT)
        alqi_ocaml_global_add(&reached);
    alqi_ocaml_global_set(&reached, exn);
    return ALQI_OCAML_UNIT;
}

/* ---- of the task that runs ----------------------------------------------- */

value
alqi_ocaml_is_interrupted(value unit)
{
    (void)unit;
    return alqi_ocaml_bool(alqi_ocaml_domain(caml_state)->pub.is_interrupted !=
                           0);
}

/* Whether it was masked before. */
value
alqi_ocaml_mask(value unit)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);

    (void)unit;
    handlers_settle(d);
    return alqi_ocaml_bool(alq_mask_begin(&d->pub) != 0);
}

value
alqi_ocaml_unmask(value was)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);

    alq_mask_end(&d->pub, was == ALQI_OCAML_TRUE);
    return ALQI_OCAML_UNIT;
}

value
alqi_ocaml_is_masked(value unit)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);

    (void)unit;
    handlers_settle(d);
    return alqi_ocaml_bool(alq_is_masked(&d->pub));
}

/* ---- tokens -------------------------------------------------------------- */

static void
token_finalise(value v)
{
    alq_token_drop(token_of(v));
}

value
alqi_ocaml_token_new(value unit)
{
    static const struct caml_custom_operations operations = {
        .identifier = "aliquot.token", .finalize = token_finalise};
    value v = caml_alloc_custom(&operations, sizeof(struct alq_token *), 0, 1);
    struct alq_token *token = alq_token_new();

    (void)unit;
    ((struct alq_token **)v)[1] = token;
    if (token == NULL)
        caml_raise_out_of_memory();
    return v;
}

value
alqi_ocaml_token_set(value v)
{
    alq_token_set(token_of(v));
    return ALQI_OCAML_UNIT;
}

value
alqi_ocaml_token_is_set(value v)
{
    return alqi_ocaml_bool(alq_token_is_set(token_of(v)) != 0);
}

/* ---- the library --------------------------------------------------------- */

/* Here, since a weak symbol links no member of an archive, and each program has
 * this one. */
#define ENTRY(name, ...) .name = alqi_ocaml_##name,
ALQI_OCAML_API const struct aliquot_primitives aliquot_primitives = {
    ALQI_OCAML_PRIMITIVES(ENTRY)};
