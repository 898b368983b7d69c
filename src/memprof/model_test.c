/* model_test.c -- a scanned heap driven at random, each event judged
 *
 * The judge before what became of each object (mock_heap.h), and holds a token
 * for each block a callback has kept.  It checks, at every event, the state
 * table of spec statmemprof 2.1: alloc, promote, dealloc at most once and in
 * order; promote only of what was promoted, dealloc only of what is dead, the
 * right kind of each; every datum handed in once; data that are values found
 * where the moving heap has put them.  At the end everything is closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/test_effort.h"
#include "base/test_seed.h"
#include "kits/memprof/mock_heap.h"

enum {
    SEEDS = ALQI_TEST_ROUNDS(40, 15, 15),
    OPS = 3000,
    PROFILES = 200,
    TOKENS = 1 << 18
};

struct judge_profile {
    struct alq_profile *p;
    bool values;
    bool discarded;
    uint64_t open; /* tokens issued and not handed in */
};

enum { FREE, KEPT, CLOSED };

struct token {
    uint32_t object;
    uint8_t state;
    bool minor; /* born so */
    bool promote_ran;
    uint32_t request; /* in whose callbacks it was issued; 0 none */
    struct judge_profile *of;
};

static struct judge_profile profiles[PROFILES];
static unsigned n_profiles;
static struct token tokens[TOKENS];
static uint64_t n_tokens;
static uint64_t seed;
static struct mock_thread *now; /* who runs the present operation */
static bool in_callback;
static uint32_t n_requests;
static bool started_in[OPS + 1]; /* a profile started in its callbacks */
static struct {
    uint64_t allocs, promotes, minors, majors, releases, synthetic;
} seen;

static uint64_t
rnd(uint64_t n)
{
    seed += 0x9E3779B97F4A7C15u;
    return alqi_base_mix(seed) % n;
}

static void try_start(bool values);
static void try_stop(void);
static void try_discard(void);

/* ---- callbacks ---------------------------------------------------------- */

/* Whatever a callback may do. */
static void
meddle(void)
{
    switch (rnd(40)) {
    case 0:
        mock_minor();
        break;
    case 1:
        mock_major_cycle();
        break;
    case 2:
        mock_compact();
        break;
    case 3:
        try_stop();
        break;
    case 4:
        try_stop();
        try_start(rnd(2));
        break;
    case 5:
        try_discard();
        break;
    case 6:
        mock_small(now, 3); /* suspended: not sampled */
        break;
    case 7:
        assert_int_equal(alqi_memprof_poll(&now->t, NULL), ALQ_OK);
        break;
    default:
        break;
    }
}

static void
enter(void)
{
    assert_false(in_callback);
    in_callback = true;
    meddle();
}

static int
leave(int code)
{
    meddle();
    in_callback = false;
    return code;
}

static uint32_t
object_of(const struct alq_allocation *a)
{
    if (a->size_words > 1000)
        return (uint32_t)(a->size_words - 1000);
    for (unsigned i = 0; i < mock.n_subs; i++)
        if (mock.object[mock.request[i]].words == a->size_words + 1)
            return mock.request[i];
    fail_msg("an alloc callback for no block");
    return 0;
}

static uint32_t
request_now(const struct alq_allocation *a)
{
    return a->size_words > 1000 ? 0 : n_requests;
}

static int
on_alloc(struct judge_profile *j, const struct alq_allocation *a,
         uintptr_t *data, bool minor)
{
    uint32_t n = object_of(a);
    int code = rnd(10) != 0 ? ALQ_TRACK_KEEP : rnd(3) != 0 ? 0 : -4;

    if (a->block != NULL)
        assert_ptr_equal(mock_at((uintptr_t)a->block), &mock.object[n]);
    enter();
    seen.allocs++;
    assert_false(a->callstack.n_frames > 20);
    assert_true(a->n_samples >= 1);
    if (code == ALQ_TRACK_KEEP) {
        uint64_t k = ++n_tokens;

        assert_true(k < TOKENS);
        tokens[k] = (struct token){n, KEPT, minor, false, request_now(a), j};
        j->open++;
        *data = j->values ? mock.object[mock_datum(now, k)].address : k;
    }
    return leave(code);
}

static struct token *
token_of(struct judge_profile *j, uintptr_t data)
{
    uint64_t k = data;

    if (j->values) {
        struct mock_object *o = mock_at(data);

        assert_non_null(o); /* else it was not scanned, or not updated */
        assert_false(o->dead);
        k = o->token;
    }
    assert_true(k >= 1 && k <= n_tokens);
    assert_ptr_equal(tokens[k].of, j);
    assert_int_equal(tokens[k].state, KEPT);
    return &tokens[k];
}

static void
hand_in(struct judge_profile *j, struct token *t)
{
    t->state = CLOSED;
    j->open--;
}

static int
alloc_minor(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    return on_alloc(arg, a, data, true);
}

static int
alloc_major(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    return on_alloc(arg, a, data, false);
}

static int
on_promote(void *arg, uintptr_t *data)
{
    struct judge_profile *j = arg;
    struct token *t = token_of(j, *data);
    int code = rnd(10) != 0 ? ALQ_TRACK_KEEP : rnd(3) != 0 ? 0 : -5;

    enter();
    seen.promotes++;
    assert_true(t->minor);
    assert_false(t->promote_ran);
    assert_true(mock.object[t->object].promoted);
    t->promote_ran = true;
    if (j->values && code == ALQ_TRACK_KEEP && rnd(2) != 0)
        *data = mock.object[mock_datum(now, (uint64_t)(t - tokens))].address;
    else if (!j->values)
        assert_ptr_equal(&tokens[*data], t);
    return leave(code);
}

static int
dealloc_minor(void *arg, uintptr_t data)
{
    struct judge_profile *j = arg;
    struct token *t = token_of(j, data);
    const struct mock_object *o = &mock.object[t->object];

    hand_in(j, t);
    enter();
    seen.minors++;
    assert_true(t->minor);
    assert_false(t->promote_ran);
    /* a request that failed, or whose profile was replaced: not its block's */
    if (o->exists && (!o->dead || o->promoted))
        assert_true(started_in[t->request]);
    seen.synthetic += !o->exists || started_in[t->request];
    return leave(rnd(20) != 0 ? 0 : -6);
}

static int
dealloc_major(void *arg, uintptr_t data)
{
    struct judge_profile *j = arg;
    struct token *t = token_of(j, data);

    hand_in(j, t);
    enter();
    seen.majors++;
    assert_true(!t->minor || t->promote_ran);
    assert_true(mock.object[t->object].dead);
    return leave(rnd(20) != 0 ? 0 : -7);
}

static void
on_release(void *arg, uintptr_t data)
{
    struct judge_profile *j = arg;

    hand_in(j, token_of(j, data));
    seen.releases++;
}

/* ---- control ------------------------------------------------------------ */

static void
try_start(bool values)
{
    static const double rates[] = {1.0, 1.0, 0.3, 0.02, 0.0};
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct judge_profile *j = &profiles[n_profiles];
    struct alq_tracker t = {
        .alloc_minor = alloc_minor,
        .alloc_major = alloc_major,
        .promote = on_promote,
        .dealloc_minor = dealloc_minor,
        .dealloc_major = dealloc_major,
        .release = on_release,
        .arg = j,
        .flags = values ? ALQ_TRACKER_VALUES : 0,
    };

    if (n_profiles == PROFILES)
        return;
    j->values = values;
    c.rate = rates[rnd(5)];
    c.callstack_frames = rnd(30);
    c.seed = seed | 1;
    c.flags = rnd(2) ? ALQ_MEMPROF_STRICT : 0;
    c.max_entries = rnd(8) == 0 ? 20 : 0;
    if (alqi_memprof_start(now->t.domain, &now->t,
                           rnd(4) ? ALQI_MEMPROF_SLOT_USER
                                  : ALQI_MEMPROF_SLOT_COUNT,
                           &c, &t, &j->p) != ALQ_OK)
        return;
    n_profiles++;
    if (in_callback && mock.n_subs != 0)
        started_in[n_requests] = true;
}

static void
try_stop(void)
{
    (void)alqi_memprof_stop(now->t.domain, &now->t,
                            rnd(2) ? ALQI_MEMPROF_SLOT_USER
                                   : ALQI_MEMPROF_SLOT_COUNT);
}

static void
try_discard(void)
{
    struct judge_profile *j;

    if (n_profiles == 0)
        return;
    j = &profiles[rnd(n_profiles)];
    if (alqi_memprof_discard(&now->t, j->p) == ALQ_OK)
        j->discarded = true;
}

static void
churn_threads(void)
{
    unsigned i = 1 + (unsigned)rnd(MOCK_THREADS - 1);
    unsigned d = (unsigned)rnd(MOCK_DOMAINS);
    bool busy = false;

    if (mock.thread[i].open) {
        mock_thread_close(i);
        return;
    }
    if (mock.domain[d].d == NULL)
        mock_domain_open(d, &mock.domain[now->domain]);
    if (rnd(2) != 0) {
        mock_thread_open(i, d, seed);
        return;
    }
    for (unsigned k = 0; k < MOCK_THREADS; k++)
        busy = busy || (mock.thread[k].open && mock.thread[k].domain == d);
    if (!busy && d != 0) {
        mock_minor();
        mock_domain_close(d);
    }
}

/* ---- the heap's own life ------------------------------------------------ */

static void
allocate(void)
{
    static const enum alq_source sources[] = {
        ALQ_SOURCE_NORMAL, ALQ_SOURCE_MARSHAL, ALQ_SOURCE_CUSTOM};
    uint32_t sub_words[MOCK_SUBS];
    unsigned n_subs = 1 + (unsigned)rnd(MOCK_SUBS);
    int code = 0;

    switch (rnd(4)) {
    case 0:
        for (unsigned i = 0; i < n_subs; i++)
            sub_words[i] = 2 + i + (uint32_t)MOCK_SUBS * (uint32_t)rnd(4);
        for (unsigned i = 0; i < n_subs; i++) /* distinct */
            sub_words[i] = sub_words[i] / MOCK_SUBS * MOCK_SUBS + i + 2;
        n_requests++;
        if (mock_request(now, sub_words, n_subs, &code) == 0)
            assert_int_equal(code, -4);
        break;
    case 1:
        mock_small(now, 2 + (uint32_t)rnd(20));
        break;
    case 2:
        mock_major(now, 2 + (uint32_t)rnd(300), sources[rnd(2)]);
        break;
    default:
        mock_custom(now, mock_small(now, 3), 1 + (uint32_t)rnd(100));
    }
}

static void
drop_some(void)
{
    uint32_t n = mock.n_objects;

    for (unsigned i = 0; i < 10 && n != 0; i++) {
        uint32_t back = (uint32_t)rnd(n < 300 ? n : 300);

        mock.object[n - back].rooted = false;
    }
}

static void
step(void)
{
    do
        now = &mock.thread[rnd(MOCK_THREADS)];
    while (!now->open);
    switch (rnd(40)) {
    case 0:
        mock_minor();
        break;
    case 1:
        mock_major_cycle();
        break;
    case 2:
        mock_compact();
        break;
    case 3:
    case 4:
        try_start(rnd(2));
        break;
    case 5:
        try_stop();
        break;
    case 6:
        try_discard();
        break;
    case 7:
        churn_threads();
        break;
    case 8:
    case 9:
    case 10:
        (void)alqi_memprof_poll(&now->t, NULL);
        break;
    case 11:
    case 12:
    case 13:
        drop_some();
        break;
    default:
        allocate();
    }
}

static void
poll_all(void)
{
    for (unsigned i = 0; i < MOCK_THREADS; i++)
        if (mock.thread[i].open) {
            now = &mock.thread[i];
            while (alqi_memprof_poll(&now->t, NULL) != ALQ_OK)
                continue;
        }
}

static void
close_everything(void)
{
    for (uint32_t n = 1; n <= mock.n_objects; n++)
        mock.object[n].rooted = false;
    for (unsigned i = 1; i < MOCK_THREADS; i++)
        if (mock.thread[i].open) {
            now = &mock.thread[i];
            mock_thread_close(i);
        }
    for (unsigned i = 1; i < MOCK_DOMAINS; i++)
        if (mock.domain[i].d != NULL)
            mock_domain_close(i);
    now = &mock.thread[0];
    for (unsigned slot = 0; slot < ALQI_MEMPROF_SLOTS; slot++)
        (void)alqi_memprof_stop(now->t.domain, &now->t, slot);
    /* callbacks may start a profile again: once more at the end */
    for (unsigned i = 0; i < 6; i++) {
        mock_minor();
        poll_all();
        mock_major_cycle();
        poll_all();
    }
    for (unsigned slot = 0; slot < ALQI_MEMPROF_SLOTS; slot++)
        (void)alqi_memprof_stop(now->t.domain, &now->t, slot);
}

static void
judge(uint64_t run)
{
    for (unsigned i = 0; i < n_profiles; i++) {
        struct alq_memprof_counts n;

        alqi_memprof_counts(profiles[i].p, &n);
        if (n.live_entries != 0 || profiles[i].open != 0)
            fail_msg("seed %d, profile %u: %d live, %d open", (int)run, i,
                     (int)n.live_entries, (int)profiles[i].open);
        alqi_memprof_profile_drop(profiles[i].p);
    }
}

static void
each_event_fits_the_state_table(void **state)
{
    (void)state;
    for (uint64_t run = 1; run <= SEEDS; run++) {
        seed = (run << 32) + alqi_base_test_seed();
        n_profiles = 0;
        n_tokens = 0;
        n_requests = 0;
        memset(started_in, 0, sizeof started_in);
        memset(profiles, 0, sizeof profiles);
        mock_open();
        for (unsigned i = 0; i < OPS; i++)
            step();
        close_everything();
        judge(run);
        mock_close();
    }
    /* else the walk was no test */
    assert_true(seen.allocs > 10000);
    assert_true(seen.promotes > 1000);
    assert_true(seen.minors > 1000);
    assert_true(seen.majors > 1000);
    assert_true(seen.releases > 100);
    assert_true(seen.synthetic > 10);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_event_fits_the_state_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
