/* observed_test.c -- the hooks of heap/observe.h, by a client that tracks
 * blocks
 *
 * The client samples blocks, follows them weakly through collections, and holds
 * some values of its own.  The program knows what lives: a number in field 0 of
 * each block says which one it is. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/test_seed.h"
#include "heap/observe.h"
#include "heap/state.h"

#define MUST(e)                                                                \
    ((e) ? (void)0 : alqi_base_fail(__FILE__, __LINE__, #e)) /* any thread */

/* Hard builds collect all the time. */
enum { STEPS = ALQI_HEAP_IS_HARD ? 300 : 3000 };

enum { TRACKED = 1 << 16, HELD = 32, SLOTS = 64, DOMAINS = 4, PENDING = 64 };

enum state { YOUNG, OLD, DEAD };

struct tracked {
    alq_value at;
    intptr_t id; /* field 0; -1: not read yet */
    enum state state;
    unsigned n_promoted;
    unsigned n_died;
};

/* Of a domain. */
struct part {
    struct alqi_domain *d;
    struct tracked all[TRACKED];
    size_t n;
    uint64_t seed;
    uint64_t gap; /* fixed; 0: by chance, of some 40 words */
    uintptr_t pending[PENDING];
    unsigned n_pending;
    uint64_t sample_at;     /* of the last request */
    enum alq_status answer; /* to the next one     */
    bool is_inside;         /* a hook that may allocate */
    bool allocates;         /* in a request */
    bool fills;             /* all memory, in it */
    bool refuses_start;
    struct alqi_domain *by; /* who began it */
    alq_value held[HELD];
    uint64_t n_requests, n_done, n_cancelled, n_direct, n_polls;
    uint64_t n_minor, n_major, n_weak, n_moved, n_starts, n_ends;
};

static struct part parts[DOMAINS];

static struct part *
part_of(const struct alqi_domain *d)
{
    MUST(d->slot < DOMAINS);
    return &parts[d->slot];
}

static uint64_t
chance(struct part *p)
{
    return p->seed = alqi_base_mix(p->seed + 0x9E3779B97F4A7C15u);
}

/* ---- the client: allocation --------------------------------------------- */

static uint64_t
draw(struct part *p)
{
    return p->gap != 0 ? p->gap : 1 + chance(p) % 80;
}

static uint64_t
skip_words(void *client, struct alqi_domain *d)
{
    MUST(client == parts);
    return part_of(d)->is_inside ? UINT64_MAX : draw(part_of(d));
}

static void
track(struct part *p, alq_value block, enum state state)
{
    MUST(p->n < TRACKED);
    p->all[p->n++] = (struct tracked){block, -1, state, 0, 0};
}

static void
fill(struct part *p)
{
    while (alq_status_of(&p->d->pub) == ALQ_OK) {
        alq_value b = alq_alloc(&p->d->pub, 200, 0);

        if (b != ALQ_NULL)
            alq_store(&p->d->pub, b, 1, p->held[0]);
        p->held[0] = b != ALQ_NULL ? b : p->held[0];
    }
    alq_status_clear(&p->d->pub);
}

static enum alq_status
request(void *client, struct alqi_domain *d, const uintptr_t *headers,
        unsigned n_blocks, uint64_t sample_at,
        const struct alqi_stack_regs *caller)
{
    struct part *p = part_of(d);
    uint64_t total = 0, end = 0;
    unsigned i;

    (void)client;
    (void)caller;
    p->n_requests++;
    p->sample_at = sample_at;
    if (p->answer != ALQ_OK)
        return p->answer;
    for (i = 0; i < n_blocks; i++)
        total += alqi_heap_words(headers[i]);
    MUST(sample_at >= 1 && sample_at <= total && p->n_pending == 0);
    for (i = 0; i < n_blocks; i++) {
        bool is_hit = false;

        end += alqi_heap_words(headers[i]);
        for (; sample_at <= end; is_hit = true)
            sample_at += draw(p);
        if (is_hit)
            p->pending[p->n_pending++] = total - end;
    }
    p->is_inside = true;
    if (p->allocates && chance(p) % 4 == 0)
        alq_alloc(&d->pub, 1 + chance(p) % 256, 0);
    if (p->allocates && chance(p) % 64 == 0)
        alq_gc_minor(&d->pub);
    if (p->fills)
        fill(p);
    p->is_inside = false;
    return ALQ_OK;
}

static uint64_t
request_done(void *client, struct alqi_domain *d, uintptr_t low)
{
    struct part *p = part_of(d);

    p->n_done++;
    while (p->n_pending > 0)
        track(p, low + (p->pending[--p->n_pending] + 1) * ALQ_WORD_BYTES,
              YOUNG);
    return skip_words(client, d);
}

static void
request_cancel(void *client, struct alqi_domain *d)
{
    (void)client;
    part_of(d)->n_cancelled++;
    part_of(d)->n_pending = 0;
}

static void
direct(void *client, struct alqi_domain *d, alq_value block, uintptr_t header)
{
    (void)client;
    MUST(alqi_heap_words(header) > ALQI_HEAP_CLASS_WORDS_MAX);
    part_of(d)->n_direct++;
    track(part_of(d), block, OLD);
}

static enum alq_status
poll(void *client, struct alqi_domain *d)
{
    (void)client;
    part_of(d)->n_polls++;
    part_of(d)->is_inside = true;
    alq_alloc(&d->pub, 5, 0);
    part_of(d)->is_inside = false;
    return part_of(d)->answer;
}

/* ---- the client: collections -------------------------------------------- */

static void
identify(struct tracked *t)
{
    intptr_t id = alq_to_int(alq_field(t->at, 0));

    MUST(t->id == -1 || t->id == id);
    t->id = id;
}

static void
after_minor(void *client, struct alqi_domain *d)
{
    struct part *p = part_of(d);
    size_t i;

    (void)client;
    p->n_minor++;
    for (i = 0; i < p->n; i++) {
        struct tracked *t = &p->all[i];
        alq_value now;

        if (t->state != YOUNG)
            continue;
        MUST(alqi_heap_is_young(d, t->at));
        now = alqi_heap_observe_forward(d, t->at);
        if (now != ALQ_NULL) {
            MUST(!alqi_heap_is_young(d, now));
            t->at = now;
            t->state = OLD;
            t->n_promoted++;
        } else {
            t->state = DEAD;
            t->n_died++;
        }
        identify(t);
    }
}

static void
after_major(void *client, struct alqi_domain *d)
{
    struct part *p = part_of(d);
    size_t i;

    (void)client;
    p->n_major++;
    for (i = 0; i < p->n; i++) {
        struct tracked *t = &p->all[i];

        if (t->state != OLD)
            continue;
        identify(t);
        if (alqi_heap_observe_is_marked(d, t->at))
            continue;
        t->state = DEAD;
        t->n_died++;
    }
}

static void
scan(void *client, struct alqi_domain *d, bool young_only,
     alqi_heap_observe_visit_fn *visit, void *arg)
{
    unsigned i;

    (void)client;
    (void)young_only;
    for (i = 0; i < HELD; i++)
        visit(arg, &part_of(d)->held[i]);
}

static void
weak(void *client, struct alqi_domain *d, alqi_heap_observe_visit_fn *visit,
     void *arg)
{
    struct part *p = part_of(d);
    size_t i;

    (void)client;
    p->n_weak++;
    for (i = 0; i < p->n; i++) {
        alq_value before = p->all[i].at;

        MUST(p->all[i].state != YOUNG);
        if (p->all[i].state != OLD)
            continue;
        visit(arg, &p->all[i].at);
        identify(&p->all[i]);
        p->n_moved += p->all[i].at != before;
    }
}

static bool
domain_start(void *client, struct alqi_domain *d, struct alqi_domain *by)
{
    struct part *p = part_of(d);

    (void)client;
    p->by = by;
    if (p->refuses_start)
        return false;
    p->n_starts++;
    p->d = d;
    p->n = 0;
    memset(p->held, 0, sizeof p->held);
    return true;
}

static void
domain_end(void *client, struct alqi_domain *d)
{
    struct part *p = part_of(d);
    size_t i;

    (void)client;
    p->n_ends++;
    for (i = 0; i < p->n; i++)
        MUST(p->all[i].state != YOUNG);
}

static unsigned n_heap_ends, n_thread_ends;

static void
thread_end(void *client, struct alqi_domain *d, struct alq_thread *thread)
{
    MUST(client == parts && d->threads.running == thread);
    n_thread_ends++;
}

static void
heap_end(void *client)
{
    MUST(client == parts);
    n_heap_ends++;
}

static const struct alqi_heap_hooks hooks = {
    .skip_words = skip_words,
    .request = request,
    .request_done = request_done,
    .request_cancel = request_cancel,
    .direct = direct,
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

/* ---- the program -------------------------------------------------------- */

/* Each block: its number, and another block or the unit. */
struct program {
    struct alq_domain *d;
    struct part *part;
    struct alq_range range;
    alq_value slots[SLOTS];
    alq_value *top;
    intptr_t next_id;
    uint64_t seed;
};

static void
program_begin(struct program *g, struct alq_domain *d)
{
    unsigned i;

    g->d = d;
    g->part = part_of(alqi_heap_domain(d));
    for (i = 0; i < SLOTS; i++)
        g->slots[i] = ALQ_UNIT;
    g->range.base = g->slots;
    g->top = g->slots + SLOTS;
    g->range.top = (alq_value *const *)&g->top;
    MUST(alq_range_add(d, &g->range) == ALQ_OK);
}

static alq_value
make(struct program *g, uintptr_t words, alq_value child)
{
    ALQ_FRAME(g->d, f, child);
    alq_value b;

    f.child = child;
    b = alq_alloc(g->d, words, 0);
    MUST(b != ALQ_NULL);
    alq_init(g->d, b, 0, alq_from_int(g->next_id++));
    alq_init(g->d, b, 1, f.child);
    return b;
}

static void
step(struct program *g)
{
    uint64_t r = g->seed = alqi_base_mix(g->seed + 77);
    unsigned i = r % SLOTS;
    uintptr_t words = r >> 8 & 255 ? 2 + (r >> 16) % 12 : 300;

    if (r >> 40 & 1)
        g->slots[i] = make(g, words, make(g, 2, ALQ_UNIT));
    else if (r >> 41 & 1 && alq_is_block(g->slots[i]))
        alq_store(g->d, g->slots[i], 1, make(g, words, ALQ_UNIT));
    else if (r >> 42 & 1)
        g->slots[i] = ALQ_UNIT;
    else
        g->part->held[i % HELD] = make(g, words, ALQ_UNIT);
}

/* Where each block is that lives, by its number. */
static void
live(alq_value v, alq_value *places)
{
    while (alq_is_block(v)) {
        places[alq_to_int(alq_field(v, 0))] = v;
        v = alq_field(v, 1);
    }
}

/* After full collections: the client knows exactly that. */
static void
check(struct program *g, size_t *n_alive, size_t *n_dead)
{
    alq_value *places = calloc((size_t)g->next_id, sizeof *places);
    size_t i;

    MUST(places != NULL);
    MUST((g->next_id % 2 == 0 ? alq_gc_full_major(g->d)
                              : alq_gc_compact(g->d)) == ALQ_OK);
    for (i = 0; i < SLOTS; i++)
        live(g->slots[i], places);
    for (i = 0; i < HELD; i++)
        live(g->part->held[i], places);
    for (i = 0; i < g->part->n; i++) {
        const struct tracked *t = &g->part->all[i];
        bool lives = places[t->id] != ALQ_NULL;

        MUST(t->id >= 0 && t->id < g->next_id && t->n_promoted <= 1);
        MUST(t->state == (lives ? OLD : DEAD) && t->n_died == !lives);
        if (lives)
            MUST(t->at == places[t->id]);
        *n_alive += lives;
        *n_dead += !lives;
    }
    free(places);
}

static void
program_run(struct program *g, unsigned rounds, size_t *n_alive, size_t *n_dead)
{
    unsigned i, r;

    for (r = 0; r < rounds; r++) {
        for (i = 0; i < STEPS; i++)
            step(g);
        check(g, n_alive, n_dead);
        g->part->n = 0; /* not to run out of room */
    }
    alq_range_remove(g->d, &g->range);
}

/* ---- tests -------------------------------------------------------------- */

static struct alq_domain *domain;

static int
setup(void **state)
{
    struct alq_domain_config config = {.minor_words = 8192};

    (void)state;
    memset(parts, 0, sizeof parts);
    parts[0].seed = 7 + alqi_base_test_seed();
    if (alq_domain_new(&config, &domain) != ALQ_OK)
        return 1;
    parts[0].d = alqi_heap_domain(domain);
    n_heap_ends = n_thread_ends = 0;
    return alqi_heap_observe_start(parts[0].d, &hooks, parts) != ALQ_OK;
}

static int
teardown(void **state)
{
    (void)state;
    if (parts[0].d->heap->observer.hooks != NULL)
        alqi_heap_observe_stop(parts[0].d);
    alq_domain_drop(domain);
    return n_heap_ends != 0;
}

static void
each_fate_is_known_exactly(void **state)
{
    static struct program g;
    struct part *p = &parts[0];
    size_t n_alive = 0, n_dead = 0;

    (void)state;
    memset(&g, 0, sizeof g);
    p->allocates = true;
    program_begin(&g, domain);
    program_run(&g, 10, &n_alive, &n_dead);
    assert_true(n_alive > 50 && n_dead > STEPS / 3);
    assert_true(p->n_requests == p->n_done && p->n_cancelled == 0);
    assert_true(p->n_direct > 0 && p->n_minor > 50 && p->n_major > 15);
}

static void *
run_domain(void *arg)
{
    struct program *g = arg;
    struct alq_domain_config config = {.minor_words = 8192};
    size_t n_alive = 0, n_dead = 0;

    MUST(alq_domain_new(&config, &g->d) == ALQ_OK);
    part_of(alqi_heap_domain(g->d))->allocates = true;
    program_begin(g, g->d);
    program_run(g, 4, &n_alive, &n_dead);
    MUST(n_alive > 10 && n_dead > STEPS / 15);
    MUST(alq_domain_drop(g->d) == ALQ_OK);
    return NULL;
}

static void
so_it_is_in_several_domains(void **state)
{
    static struct program g[DOMAINS];
    pthread_t threads[DOMAINS];
    size_t n_alive = 0, n_dead = 0;
    uint64_t n_starts = 0, n_ends = 0;
    unsigned i;

    (void)state;
    memset(g, 0, sizeof g);
    for (i = 1; i < DOMAINS; i++) {
        g[i].seed = parts[i].seed = i * 1000 + alqi_base_test_seed();
        assert_int_equal(pthread_create(&threads[i], NULL, run_domain, &g[i]),
                         0);
    }
    program_begin(&g[0], domain);
    program_run(&g[0], 4, &n_alive, &n_dead);
    for (i = 1; i < DOMAINS; i++)
        while (pthread_tryjoin_np(threads[i], NULL) != 0)
            alq_poll(domain);
    for (i = 0; i < DOMAINS; i++) {
        n_starts += parts[i].n_starts;
        n_ends += parts[i].n_ends;
    }
    assert_int_equal(n_starts, DOMAINS); /* one was there before */
    assert_int_equal(n_ends, DOMAINS - 1);
    assert_true(n_alive > 10 && n_dead > STEPS / 15);
}

/* The trigger is where the law puts it, to the word. */
static void
the_trigger_is_exact(void **state)
{
    static const uint64_t gaps[] = {1, 2, 3, 7, 50, 999, 5000, 1000000};
    struct part *p = &parts[0];
    uint64_t n_hits = 0;
    size_t k;
    unsigned i;

    (void)state;
    for (k = 0; k < sizeof gaps / sizeof *gaps; k++) {
        uint64_t left = p->gap = gaps[k];

        alq_gc_minor(domain); /* draws */
        for (i = 0; i < 20000; i++) {
            uint64_t wosize = 1 + chance(p) % 30, n = p->n_requests;
            uint64_t n_minor = p->n_minor;
            bool is_hit;

            assert_int_not_equal(alq_alloc_small(domain, wosize, 252),
                                 ALQ_NULL);
            p->n = 0; /* it has no number */
            if (ALQI_HEAP_IS_HARD && p->n_minor != n_minor) { /* before it, or
                                                       behind its request */
                bool was_hit = p->n_requests > n;

                left = was_hit ? gaps[k] : gaps[k] - (wosize + 1);
                n_hits += was_hit;
                continue;
            }
            if (p->n_minor != n_minor)
                left = gaps[k]; /* drawn anew before it */
            is_hit = left <= wosize + 1;
            assert_int_equal(p->n_requests - n, is_hit);
            if (is_hit)
                assert_true(p->sample_at == left);
            left = is_hit ? gaps[k] : left - (wosize + 1);
            n_hits += is_hit;
        }
    }
    assert_true(n_hits > 50000);
}

static void
blocks_of_a_request_are_told_apart(void **state)
{
    static const uintptr_t headers[] = {ALQ_HEADER(3, 252), ALQ_HEADER(1, 252),
                                        ALQ_HEADER(20, 252)};
    struct part *p = &parts[0];
    alq_value out[3];
    unsigned i;

    (void)state;
    p->gap = 1;
    alq_gc_minor(domain);
    assert_int_equal(alq_alloc_several(domain, 3, headers, out), 1);
    assert_int_equal(p->n, 3);
    for (i = 0; i < 3; i++) /* told from the last one on */
        assert_true(p->all[2 - i].at == out[i]);
    p->gap = 5; /* of 4, 2 and 21 words: the second and the third */
    p->n = 0;
    alq_gc_minor(domain);
    assert_int_equal(alq_alloc_several(domain, 3, headers, out), 1);
    assert_int_equal(p->n, 2);
    assert_true(p->all[1].at == out[1] && p->all[0].at == out[2]);
    p->n = 0;
}

static void
a_request_may_be_refused(void **state)
{
    struct part *p = &parts[0];

    (void)state;
    p->gap = 1;
    alq_gc_minor(domain);
    p->answer = ALQ_ECALLBACK;
    assert_int_equal(alq_alloc_small(domain, 3, 252), ALQ_NULL);
    assert_int_equal(alq_status_of(domain), ALQ_ECALLBACK);
    assert_true(p->n_requests == 1 && p->n_done == 0 && p->n_cancelled == 0);
    alq_status_clear(domain);
    p->answer = ALQ_OK;
    assert_int_not_equal(alq_alloc_small(domain, 3, 252), ALQ_NULL);
    assert_true(p->n_requests == 2 && p->n_done == 1);
    p->n = 0;
}

static void
a_request_may_come_to_nothing(void **state)
{
    struct alq_domain_config config = {.minor_words = 8192,
                                       .limit_bytes = 4 << 20};
    struct part *p = &parts[0];

    assert_int_equal(teardown(state), 0);
    memset(parts, 0, sizeof parts);
    assert_int_equal(alq_domain_new(&config, &domain), ALQ_OK);
    p->d = alqi_heap_domain(domain);
    p->gap = UINT64_MAX;
    assert_int_equal(alqi_heap_observe_start(p->d, &hooks, parts), ALQ_OK);
    assert_int_equal(alqi_heap_observe_start(p->d, &hooks, parts), ALQ_EBUSY);
    p->gap = 1;
    alq_gc_minor(domain);
    p->fills = true;
    assert_int_equal(alq_alloc_small(domain, 3, 252), ALQ_NULL);
    assert_int_equal(alq_status_of(domain), ALQ_ENOMEM);
    assert_true(p->n_requests == 1 && p->n_done == 0 && p->n_cancelled == 1);
    p->fills = false;
    p->held[0] = ALQ_NULL;
    alq_status_clear(domain);
    assert_int_equal(alq_gc_full_major(domain), ALQ_OK);
    assert_int_not_equal(alq_alloc_small(domain, 3, 252), ALQ_NULL);
    assert_int_equal(p->n_done, 1);
    p->n = 0;
}

static void
on_signal(int number)
{
    (void)number;
    alqi_heap_observe_wake_sigsafe(parts[0].d);
}

static void
what_is_asked_for_is_done(void **state)
{
    struct part *p = &parts[0];

    (void)state;
    p->gap = UINT64_MAX;
    alq_gc_minor(domain);
    assert_int_not_equal(alq_alloc_small(domain, 3, 252), ALQ_NULL);
    assert_int_equal(p->n_requests, 0);
    p->gap = 1; /* known from the next draw on */
    alqi_heap_observe_redraw_sigsafe(p->d);
    assert_int_not_equal(alq_alloc_small(domain, 3, 252), ALQ_NULL);
    assert_int_equal(p->n_requests, 1);
    p->gap = UINT64_MAX;
    alqi_heap_observe_redraw_sigsafe(p->d);

    assert_int_equal(p->n_polls, 0);
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    alq_poll(domain);
    assert_int_equal(p->n_polls, 1);
    alq_poll(domain);
    assert_int_equal(p->n_polls, 1);
    raise(SIGUSR1);
    assert_int_not_equal(alq_alloc_small(domain, 3, 252), ALQ_NULL);
    assert_int_equal(p->n_polls, 2);
    assert_int_equal(p->n_requests, 1);
    p->n = 0;

    alqi_heap_observe_stop(p->d);
    raise(SIGUSR1);
    alq_poll(domain);
    assert_int_equal(p->n_polls, 2);
}

/* ---- threads, domains, the heap ----------------------------------------- */

/* A poll that fails is told by whoever polls, once. */
static void
a_poll_may_fail(void **state)
{
    struct part *p = &parts[0];

    (void)state;
    p->gap = UINT64_MAX;
    p->answer = ALQ_ECALLBACK;
    alqi_heap_observe_wake_sigsafe(p->d);
    assert_int_equal(alq_alloc_small(domain, 3, 252), ALQ_NULL);
    assert_int_equal(alq_status_of(domain), ALQ_ECALLBACK);
    alq_status_clear(domain);
    assert_int_not_equal(alq_alloc_small(domain, 3, 252), ALQ_NULL);
    alqi_heap_observe_wake_sigsafe(p->d);
    alq_poll(domain);
    assert_int_equal(alq_status_of(domain), ALQ_ECALLBACK);
    alq_status_clear(domain);
    alqi_heap_observe_wake_sigsafe(p->d);
    assert_int_equal(alq_gc_minor(domain), ALQ_ECALLBACK);
    assert_int_equal(alq_gc_minor(domain), ALQ_OK);
    alqi_heap_observe_wake_sigsafe(p->d);
    assert_int_equal(alq_alloc(domain, 1000, 252), ALQ_NULL);
    alq_status_clear(domain);
    assert_int_equal(p->n_polls, 4);
    p->answer = ALQ_OK;
    p->n = 0;
}

static void *
run_thread(void *arg)
{
    struct alq_thread *thread;

    (void)arg;
    MUST(alq_thread_attach(domain, &thread) == ALQ_OK);
    parts[0].gap = 1;
    MUST(alq_alloc_small(domain, 3, 252) != ALQ_NULL);
    MUST(parts[0].n_requests == 1); /* it has drawn for itself */
    parts[0].gap = UINT64_MAX;
    MUST(alq_alloc_small(domain, 3, 252) != ALQ_NULL);
    parts[0].gap = 1;
    MUST(alq_thread_detach(thread) == ALQ_OK);
    return NULL;
}

/* Who begins to run the domain draws for itself; who goes on does not. */
static void
threads_have_triggers_of_their_own(void **state)
{
    struct part *p = &parts[0];
    struct alq_thread *self;
    pthread_t thread;

    (void)state;
    if (ALQI_HEAP_IS_HARD)
        return; /* each allocation draws anew */
    p->gap = UINT64_MAX;
    alq_gc_minor(domain);
    self = alq_blocking_begin(domain);
    p->gap = 1; /* not for this thread, whose trigger stands */
    assert_int_equal(alq_blocking_end(self), ALQ_OK);
    assert_int_not_equal(alq_alloc_small(domain, 3, 252), ALQ_NULL);
    assert_int_equal(p->n_requests, 0);
    self = alq_blocking_begin(domain);
    assert_int_equal(pthread_create(&thread, NULL, run_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(alq_blocking_end(self), ALQ_OK);
    assert_int_equal(n_thread_ends, 1);
    assert_int_not_equal(alq_alloc_small(domain, 3, 252), ALQ_NULL);
    assert_int_equal(p->n_requests, 3); /* the thread's first two; then this */
    p->n = 0;
}

static alq_value
no_work(struct alq_domain *d, alq_value arg, void *data)
{
    (void)d;
    (void)data;
    return arg;
}

static void
a_child_has_a_parent(void **state)
{
    struct alq_child *child;

    (void)state;
    parts[1].seed = 1 + alqi_base_test_seed();
    parts[1].refuses_start = true;
    assert_int_equal(
        alq_domain_spawn(domain, no_work, ALQ_UNIT, NULL, NULL, &child),
        ALQ_ENOMEM);
    parts[1].refuses_start = false;
    assert_int_equal(
        alq_domain_spawn(domain, no_work, ALQ_UNIT, NULL, NULL, &child),
        ALQ_OK);
    assert_ptr_equal(parts[1].by, parts[0].d);
    assert_int_equal(alq_domain_join(domain, child, NULL), ALQ_OK);
    alq_child_drop(child);
    assert_int_equal(parts[1].n_ends, 1);
}

static void
the_heap_ends_once(void **state)
{
    struct alq_domain_config config = {.minor_words = 8192};

    (void)state;
    parts[0].gap = UINT64_MAX;
    assert_int_equal(alq_domain_drop(domain), ALQ_OK);
    assert_int_equal(parts[0].n_ends, 1);
    assert_int_equal(n_heap_ends, 1);
    n_heap_ends = 0;
    assert_int_equal(alq_domain_new(&config, &domain), ALQ_OK);
    parts[0].d = alqi_heap_domain(domain);
}

/* ---- memory outside ----------------------------------------------------- */

static struct {
    unsigned n;
    size_t bytes;
    alq_value block;
} outside;

static void
custom(void *client, struct alqi_domain *d, alq_value block, size_t bytes)
{
    MUST(client == parts && d == alqi_heap_domain(domain));
    MUST(alq_has_tag(block, ALQ_TAG_CUSTOM)); /* it is whole */
    MUST(*(uint64_t *)alq_custom_data(block) == 0);
    outside.n++;
    outside.bytes += bytes;
    outside.block = block;
}

/* Of each custom block that holds some, young or old, once; and of no other. */
static void
memory_outside_is_told(void **state)
{
    static const struct alqi_heap_hooks only = {.custom = custom};
    static const struct alq_custom_ops ops = {"ops"};
    alq_value v;

    (void)state;
    alqi_heap_observe_stop(parts[0].d);
    assert_int_equal(alqi_heap_observe_start(parts[0].d, &only, parts), ALQ_OK);
    memset(&outside, 0, sizeof outside);
    v = alq_alloc_custom_mem(domain, &ops, 8, 100);
    assert_true(outside.n == 1 && outside.bytes == 100 && outside.block == v);
    v = alq_alloc_custom_mem(domain, &ops, 8, 1000000); /* born old */
    assert_false(alq_is_young(domain, v));
    assert_true(outside.n == 2 && outside.bytes == 1000100 &&
                outside.block == v);
    v = alq_alloc_custom_mem(domain, &ops, 9000, 5); /* a large one */
    assert_true(outside.n == 3 && outside.bytes == 1000105 &&
                outside.block == v);
    alq_alloc_custom_mem(domain, &ops, 8, 0);
    alq_alloc_custom(domain, &ops, 8);
    alq_alloc_custom_ratio(domain, &ops, 8, 1, 10); /* is no memory */
    assert_int_equal(alq_alloc_custom_mem(domain, NULL, 8, 7), ALQ_NULL);
    assert_int_equal(outside.n, 3);
    alqi_heap_observe_stop(parts[0].d);
    alq_status_clear(domain);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(each_fate_is_known_exactly),
        TEST(so_it_is_in_several_domains),
        TEST(the_trigger_is_exact),
        TEST(blocks_of_a_request_are_told_apart),
        TEST(a_request_may_be_refused),
        TEST(a_request_may_come_to_nothing),
        TEST(what_is_asked_for_is_done),
        TEST(a_poll_may_fail),
        TEST(threads_have_triggers_of_their_own),
        TEST(a_child_has_a_parent),
        TEST(the_heap_ends_once),
        TEST(memory_outside_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
