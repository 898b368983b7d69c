/* profiler_heap.c -- the hooks of heap/observe.h, by the engine of memprof
 *
 * The heap is observed from the first start of a profile on, till it ends: a
 * program that starts none pays nothing. Each of its domains has an engine
 * domain from then on, whether it is sampled or not, since it may adopt what
 * another has tracked. An engine thread is made when a thread of the heap first
 * needs one (profiler_thread.c).
 *
 * Hooks answer with the engine's call of the same meaning; heap/observe.h says
 * which is called when.  Of the process there is one observed heap,
 * `profiler`, under its lock. Keeps .inv.inside of doc/design/join.md. */
#include <dlfcn.h>
#include <pthread.h>

#include "glue/join/callstack.h"
#include "glue/join/limiter.h"
#include "glue/join/malloc_limiter.h"
#include "glue/join/profiler.h"
#include "heap/alloc.h"
#include "heap/hosted.h"
#include "heap/observe_calls.h"
#include "plat/plat.h"

/* Registers of the caller, where its stack begins. */
#define HERE(regs) const struct alqi_stack_regs regs = alqi_stack_regs_here()

/* ---- what the engine asks ----------------------------------------------- */

static bool
is_young(void *heap, const void *block)
{
    return alqi_heap_is_young(heap, (alq_value)block);
}

/* Where a young block is after promotion; NULL: it is dead. */
static const void *
minor_forward(void *heap, const void *block)
{
    if (!alqi_heap_is_young(heap, (alq_value)block))
        return block;
    return (const void *)alqi_heap_observe_forward(heap, (alq_value)block);
}

static bool
is_marked(void *heap, const void *block)
{
    return alqi_heap_observe_is_marked(heap, (alq_value)block);
}

static void
owes(void *heap)
{
    alqi_heap_observe_wake_sigsafe(heap);
}

static void
triggers_stale(void *heap)
{
    alqi_heap_observe_redraw_sigsafe(heap);
}

static bool
walk(void *heap, uint64_t words_below, uintptr_t *frames, size_t max_frames,
     size_t *n_frames)
{
    if (ALQI_HOSTS_OCAML)
        return alqi_heap_host_walk(heap, words_below, frames, max_frames,
                                   n_frames);
    return alqi_glue_callstack_walk(heap, frames, max_frames, n_frames);
}

static void
heap_sampled(void *heap, uint64_t n_samples, double interval_words,
             const uintptr_t *frames, size_t n_frames)
{
    struct alqi_glue_limiter *l = alqi_glue_limiter_of(heap);

    if (ALQI_UNLIKELY(l != NULL))
        alqi_limit_profile_sampled(&l->t, frames, n_frames, n_samples,
                                   (double)n_samples * interval_words);
}

/* A callback begins: what it asks of malloc is not charged to the task whose
 * allocation was sampled. */
static bool
begins(void *heap)
{
    (void)heap;
    return alqi_glue_malloc_limiter_hold();
}

static void
ends(void *heap, bool was)
{
    (void)heap;
    alqi_glue_malloc_limiter_release(was);
}

static const struct alqi_memprof_limits limits = {
    .sampled = heap_sampled,
    .begins = begins,
    .ends = ends,
};

/* What the engine asks of a domain. */
static struct alqi_memprof_subject subject = {
    .is_young = is_young,
    .minor_forward = minor_forward,
    .is_marked = is_marked,
    .request_poll = owes,
    .triggers_stale = triggers_stale,
};

void
alqi_glue_profiler_walks(void)
{
    __atomic_store_n(&subject.walk, walk, __ATOMIC_RELEASE);
}

void
alqi_glue_profiler_limits(void)
{
    __atomic_store_n(&subject.limits, &limits, __ATOMIC_RELEASE);
}

/* ---- triggers ----------------------------------------------------------- */

/* Whether any profile samples the domain. */
static bool
is_sampled(const struct alqi_memprof_domain *domain)
{
    for (int slot = 0; slot < ALQI_MEMPROF_SLOTS; slot++)
        if (alqi_memprof_is_sampling(domain, (enum alqi_memprof_slot)slot))
            return true;
    return false;
}

/* The engine thread of the thread that runs the domain, made if the domain is
 * sampled; NULL: there is none. */
static struct alqi_glue_profiled *
sampled(struct alqi_domain *d)
{
    struct alqi_glue_profiled *t = alqi_glue_profiled_running(d);
    const struct alqi_memprof_domain *domain;

    if (ALQI_LIKELY(t != NULL))
        return t;
    domain = alqi_glue_profiled_domain(d);
    return domain != NULL && is_sampled(domain) ? alqi_glue_profiled_get(d)
                                                : NULL;
}

/* Asks for a poll if the thread or its domain owes callbacks. In a callback a
 * poll would do nothing, so none is asked for. */
static inline void
wake_if_owed(struct alqi_domain *d, const struct alqi_glue_profiled *t)
{
    if (ALQI_UNLIKELY(alqi_memprof_has_pending(&t->engine)) &&
        t->engine.mode == ALQI_MEMPROF_IDLE)
        alqi_heap_observe_wake_sigsafe(d);
}

/* Whenever a thread may have come out of a callback, or begun to run the
 * domain, a trigger is drawn. */
static uint64_t
skip_words(void *client, struct alqi_domain *d)
{
    struct alqi_glue_profiled *t = sampled(d);

    (void)client;
    if (t == NULL)
        return UINT64_MAX;
    wake_if_owed(d, t);
    return alqi_memprof_skip_words(&t->engine);
}

/* ---- allocation --------------------------------------------------------- */

/* Asks the engine for several blocks, or for a block whose caller is not known:
 * the stack then begins here. */
static int
request_slow(struct alqi_glue_profiled *t, const uintptr_t *headers,
             unsigned n_blocks, uint64_t sample_at,
             const struct alqi_stack_regs *caller)
{
    uint32_t words[ALQI_HEAP_CLASS_WORDS_MAX / 2 + 1];
    HERE(regs);

    if (caller == NULL)
        caller = &regs;
    if (n_blocks == 1)
        return alqi_memprof_request_one(&t->engine,
                                        (uint32_t)alqi_heap_words(headers[0]),
                                        sample_at, caller);
    ALQI_ASSERT(n_blocks <= ALQI_COUNT_OF(words));
    for (unsigned i = 0; i < n_blocks; i++)
        words[i] = (uint32_t)alqi_heap_words(headers[i]);
    return alqi_memprof_request(&t->engine, words, n_blocks, sample_at, caller);
}

/* The status for a callback's code, which is kept for the thread; 0: no
 * callback has failed. */
static enum alq_status
answer(struct alqi_glue_profiled *t, int code)
{
    if (ALQI_LIKELY(code == 0))
        return ALQ_OK;
    t->code = code;
    return ALQ_ECALLBACK;
}

/* The engine's part before a block has memory: it may run callbacks. */
static enum alq_status
request(void *client, struct alqi_domain *d, const uintptr_t *headers,
        unsigned n_blocks, uint64_t sample_at,
        const struct alqi_stack_regs *caller)
{
    struct alqi_glue_profiled *t = alqi_glue_profiled_running(d);

    (void)client;
    if (t == NULL)
        return ALQ_OK; /* drawn for a thread that has ended */
    return answer(t, request_slow(t, headers, n_blocks, sample_at, caller));
}

/* Tells the engine where the blocks are; returns the words up to the next
 * sample. */
static uint64_t
request_done(void *client, struct alqi_domain *d, uintptr_t low)
{
    struct alqi_glue_profiled *t = alqi_glue_profiled_running(d);

    if (ALQI_UNLIKELY(t == NULL))
        return skip_words(client, d);
    return alqi_memprof_request_done(&t->engine, (void *)low);
}

/* A sample's way in one piece: the callback first, then the block, unless the
 * callback has changed what the fast path relies on. */
static alq_value
sample(void *client, struct alqi_domain *d, uintptr_t header,
       const struct alqi_stack_regs *caller)
{
    struct alqi_glue_profiled *t = alqi_glue_profiled_running(d);
    size_t words = alqi_heap_words(header);
    uint64_t sample_at;
    uintptr_t low;
    int code;

    (void)client;
    if (ALQI_UNLIKELY(t == NULL))
        return alqi_heap_alloc_sample_any(d, header, caller);
    sample_at = alqi_heap_observed_sample_take(d);
    code = alqi_memprof_request_one(&t->engine, (uint32_t)words, sample_at,
                                    caller);
    if (ALQI_UNLIKELY(code != 0 ||
                      !alqi_heap_observed_is_undisturbed(d, words)))
        return alqi_heap_alloc_sample_asked(d, header, answer(t, code));
    low = (uintptr_t)d->pub.young_ptr - words * ALQ_WORD_BYTES;
    d->pub.young_ptr = (char *)low;
    alqi_heap_observed_sample_end(
        d, alqi_memprof_request_done(&t->engine, (void *)low));
    *(alqi_heap_word *)low = header;
    return (alq_value)(low + ALQ_WORD_BYTES);
}

static void
request_cancel(void *client, struct alqi_domain *d)
{
    struct alqi_glue_profiled *t = alqi_glue_profiled_running(d);

    (void)client;
    if (t == NULL)
        return;
    alqi_memprof_request_cancel(&t->engine);
}

/* A block that exists already: sampled by its words, its callbacks wait for a
 * poll. */
static void
block(struct alqi_domain *d, const struct alqi_memprof_block *b,
      const struct alqi_stack_regs *regs)
{
    struct alqi_glue_profiled *t = sampled(d);

    if (t == NULL)
        return;
    alqi_memprof_block(&t->engine, b, regs);
    wake_if_owed(d, t);
}

/* A block that was born in the major heap. Its header is not counted as the
 * program's. */
static void
direct(void *client, struct alqi_domain *d, alq_value at, uintptr_t header)
{
    const struct alqi_memprof_block b = {
        (const void *)at, alqi_heap_words(header), alqi_heap_words(header) - 1,
        ALQ_SOURCE_NORMAL, false};
    HERE(regs);

    (void)client;
    block(d, &b, &regs);
}

/* A block of a message, young or not. */
static void
unmarshal(void *client, struct alqi_domain *d, alq_value at, uintptr_t header)
{
    const struct alqi_memprof_block b = {
        (const void *)at, alqi_heap_words(header), alqi_heap_words(header) - 1,
        ALQ_SOURCE_MARSHAL, alqi_heap_is_young(d, at)};
    HERE(regs);

    (void)client;
    block(d, &b, &regs);
}

/* What a custom block owns outside of the heap, in words. */
static void
custom(void *client, struct alqi_domain *d, alq_value at, size_t bytes)
{
    size_t words = bytes / ALQ_WORD_BYTES + (bytes % ALQ_WORD_BYTES != 0);
    const struct alqi_memprof_block b = {(const void *)at, words, words,
                                         ALQ_SOURCE_CUSTOM,
                                         alqi_heap_is_young(d, at)};
    HERE(regs);

    (void)client;
    block(d, &b, &regs);
}

/* Runs the callbacks that the thread, or its domain, owes. */
static enum alq_status
poll(void *client, struct alqi_domain *d)
{
    struct alqi_glue_profiled *t = alqi_glue_profiled_get(d);

    (void)client;
    if (t == NULL)
        return ALQ_OK; /* tries again after the next collection */
    return alqi_memprof_poll(&t->engine, &t->code);
}

/* ---- collections -------------------------------------------------------- */

static void
scan(void *client, struct alqi_domain *d, bool young_only,
     alqi_heap_observe_visit_fn *visit, void *arg)
{
    struct alqi_memprof_domain *domain = alqi_glue_profiled_domain(d);

    (void)client;
    if (domain != NULL)
        alqi_memprof_scan(domain, young_only, visit, arg);
}

/* Tells the engine of a collection; deaths that it found are callbacks for the
 * next poll. */
static void
after(struct alqi_domain *d, void (*note)(struct alqi_memprof_domain *))
{
    struct alqi_memprof_domain *domain = alqi_glue_profiled_domain(d);

    if (domain == NULL)
        return;
    note(domain);
    if (alqi_memprof_domain_has_pending(domain))
        alqi_heap_observe_wake_sigsafe(d);
}

static void
after_minor(void *client, struct alqi_domain *d)
{
    (void)client;
    after(d, alqi_memprof_after_minor);
}

static void
after_major(void *client, struct alqi_domain *d)
{
    (void)client;
    after(d, alqi_memprof_after_major);
}

struct weak_visit {
    alqi_heap_observe_visit_fn *visit;
    void *arg;
};

static void
weak_one(void *arg, const void **at)
{
    const struct weak_visit *w = arg;
    alq_value v = (alq_value)*at;

    w->visit(w->arg, &v);
    *at = (const void *)v;
}

/* The compactor moves blocks that the engine tracks without holding them. */
static void
weak(void *client, struct alqi_domain *d, alqi_heap_observe_visit_fn *visit,
     void *arg)
{
    struct alqi_memprof_domain *domain = alqi_glue_profiled_domain(d);
    struct weak_visit w = {visit, arg};

    (void)client;
    if (domain != NULL)
        alqi_memprof_blocks(domain, weak_one, &w);
}

/* ---- domains, threads, the heap ------------------------------------------ */

/* Makes the domain's engine domain, a child of that of the domain that spawns
 * it. */
static bool
domain_start(void *client, struct alqi_domain *d, struct alqi_domain *by)
{
    struct alqi_memprof_domain *domain = alqi_memprof_domain_new(
        &subject, d, by != NULL ? alqi_glue_profiled_domain(by) : NULL);

    (void)client;
    if (domain != NULL)
        alqi_memprof_cycle_set(domain, d->heap->cycle.n);
    __atomic_store_n(&d->observed.client, domain, __ATOMIC_RELEASE);
    return domain != NULL;
}

/* The thread leaves its domain: its engine thread ends (.inv.inside). */
static void
thread_end(void *client, struct alqi_domain *d, struct alq_thread *thread)
{
    struct alqi_glue_profiled *t = thread->observer;

    (void)client;
    /* .inv.inside */
    ALQI_ASSERT(t == NULL || thread != d->threads.running ||
                t->engine.mode == ALQI_MEMPROF_IDLE);
    thread->observer = NULL;
    if (t != NULL)
        alqi_glue_profiled_end(t);
}

/* Threads that are left end with their domain; their entries become orphans. */
static void
domain_end(void *client, struct alqi_domain *d)
{
    struct alqi_memprof_domain *domain = alqi_glue_profiled_domain(d);
    struct alq_thread *thread;

    for (thread = d->threads.all; thread != NULL; thread = thread->next)
        thread_end(client, d, thread);
    __atomic_store_n(&d->observed.client, NULL, __ATOMIC_RELEASE);
    if (domain != NULL)
        alqi_memprof_domain_end(domain);
}

/* The engine's domain and thread that take what an ended heap has left, after
 * all domains of the heap have ended.
 *
 * Keeps .inv.last (doc/design/join.md): Entries that no domain has are of
 * `heap`, but between its end and the taking of what it left, under the lock.
 * So no domain adopts an entry of another heap. */
static struct {
    struct alqi_plat_lock lock;
    struct alqi_heap *heap;          /* that is observed; NULL: none   */
    struct alqi_glue_profiled *last; /* made when it was started */
    bool is_used;                    /* atomic: a heap was observed ever */
} profiler = {.lock = ALQI_PLAT_LOCK(GLUE_PROFILER)};

static bool
is_young_never(void *heap, const void *at)
{
    (void)heap;
    (void)at;
    return false;
}

static const struct alqi_memprof_subject gone = {.is_young = is_young_never};

/* Ends the engine's part of a heap: entries that are left are released, by
 * callbacks. */
static void
last_end(struct alqi_glue_profiled *t)
{
    struct alqi_memprof_domain *domain;

    if (t == NULL)
        return;
    domain = t->engine.domain;
    alqi_memprof_heap_end(&t->engine);
    alqi_glue_profiled_end(t);
    alqi_memprof_domain_end(domain);
}

/* An engine domain and thread that no heap has; NULL: no memory. They are made
 * at the start, as the end cannot fail. */
static struct alqi_glue_profiled *
last_new(void)
{
    struct alqi_memprof_domain *domain =
        alqi_memprof_domain_new(&gone, NULL, NULL);
    struct alqi_glue_profiled *t;

    if (domain == NULL)
        return NULL;
    t = alqi_glue_profiled_new(domain, false);
    if (t == NULL)
        alqi_memprof_domain_end(domain);
    return t;
}

/* Takes the entries that are left, under the lock (.inv.last), and releases
 * them outside of it. */
static void
heap_end(void *client)
{
    struct alqi_glue_profiled *last = NULL;

    alqi_plat_lock(&profiler.lock);
    if (profiler.heap == client) {
        last = profiler.last;
        profiler.last = NULL;
        profiler.heap = NULL;
        alqi_memprof_adopt(last->engine.domain);
    }
    alqi_plat_unlock(&profiler.lock);
    last_end(last);
}

static const struct alqi_heap_hooks hooks = {
    .skip_words = skip_words,
    .request = request,
    .request_done = request_done,
    .sample = sample,
    .request_cancel = request_cancel,
    .direct = direct,
    .unmarshal = unmarshal,
    .custom = custom,
    .poll = poll,
    .scan = scan,
    .after_minor = after_minor,
    .after_major = after_major,
    .weak = weak,
    .domain_start = domain_start,
    .domain_end = domain_end,
    .thread_end = thread_end,
    .heap_end = heap_end,
};

/* ---- forks -------------------------------------------------------------- */

/* Whether the fork that the thread makes has taken the locks. */
static __thread bool has_locks __attribute__((tls_model("initial-exec")));

/* A process that never had a profile takes none: a handler may fork that
 * interrupts the capture of a stack, under a lock that comes later. */
static void
before_fork(void)
{
    has_locks = __atomic_load_n(&profiler.is_used, __ATOMIC_ACQUIRE);
    if (!has_locks)
        return;
    alqi_plat_lock(&profiler.lock);
    alqi_memprof_fork_prepare();
}

static void
after_fork_parent(void)
{
    if (!has_locks)
        return;
    alqi_memprof_fork_parent();
    alqi_plat_unlock(&profiler.lock);
}

/* The child has the forking thread alone: the engine and the stack capture
 * forget what other threads held, then the lock is given back. */
static void
after_fork_child(void)
{
    if (!has_locks)
        return;
    alqi_memprof_fork_child();
    alqi_stack_after_fork_child();
    alqi_plat_unlock(&profiler.lock);
}

__attribute__((constructor(ALQI_FORK_PROFILER))) static void
forks_watch(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* ---- starting ----------------------------------------------------------- */

/* `last` is for this heap's end, unless the heap is observed already.  Returns
 * the state that is to be ended. */
static struct alqi_glue_profiled *
take_over(struct alqi_heap *heap, struct alqi_glue_profiled *last)
{
    struct alqi_glue_profiled *before = last;

    __atomic_store_n(&profiler.is_used, true, __ATOMIC_RELEASE);
    alqi_plat_lock(&profiler.lock);
    if (profiler.heap != heap) {
        before = profiler.last;
        profiler.heap = heap;
        profiler.last = last;
        if (before != NULL)
            alqi_memprof_adopt(before->engine.domain);
    }
    alqi_plat_unlock(&profiler.lock);
    return before;
}

/* The archive's text has a section of its own, as src/glue/CMakeLists.txt has
 * it; whatever it is linked into. */
extern const char __start_aliquot_text[] __attribute__((weak));
extern const char __stop_aliquot_text[] __attribute__((weak));

/* Frames of the library are the heap's own. */
__attribute__((constructor)) static void
find_own_text(void)
{
#ifdef ALQI_IS_SHARED
    struct dl_find_object own;

    if (_dl_find_object(&subject, &own) == 0) {
        subject.skip_lo = (uintptr_t)own.dlfo_map_start;
        subject.skip_hi = (uintptr_t)own.dlfo_map_end;
    }
#else
    subject.skip_lo = (uintptr_t)__start_aliquot_text;
    subject.skip_hi = (uintptr_t)__stop_aliquot_text;
#endif
}

/* Two domains may start at once: the heap takes one observer, and both calls
 * succeed. */
enum alq_status
alqi_glue_profiler_start(struct alqi_domain *d)
{
    struct alqi_glue_profiled *last;
    enum alq_status status;

    if (alqi_glue_profiled_domain(d) != NULL)
        return ALQ_OK;
    last = last_new();
    if (last == NULL)
        return ALQ_ENOMEM;
    last_end(take_over(d->heap, last));
    status = alqi_heap_observe_start(d, &hooks, d->heap);
    if (status == ALQ_EBUSY && d->heap->observer.hooks == &hooks)
        return ALQ_OK; /* another domain has been faster */
    return status;
}
