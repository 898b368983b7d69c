/* memprof_model_test.c -- random programs beside a model of the entries
 *
 * Programs allocate in every way, drop, pass blocks between domains, collect,
 * spawn, end, start, stop and discard profiles, and their callbacks fail and do
 * all of that, too.  The model knows of each block that can be told of a
 * number, which stands in its field 0, and who holds it; and of each datum that
 * a callback has kept a record.  At each event:
 *
 *   alloc          the block is the one that is being allocated, or holds its
 *                  number
 *   promote        of a datum of alloc_minor that has seen no promote
 *   dealloc_minor  the same, and nobody holds the block or has seen it old
 *   dealloc_major  of a datum of alloc_major or promote; nobody holds the block
 *   release        of a datum that nothing else has seen
 *
 * So alloc, promote, dealloc come at most once and in order, and each datum is
 * handed back once.  When a domain is alone and has collected all, a datum is
 * there for each entry, and its block is held; at the end there is none.
 *
 * Seeded; a failure of any kind prints the ALQ_TEST_SEED with which that run
 * is the first one. */
#include <signal.h>
#include <unistd.h>

#include "base/test_seed.h"
#include "memprof_judge.h"

enum {
    RUNS = ALQI_TEST_ROUNDS(25, 10, 6),
    STEPS = ALQI_TEST_ROUNDS(80000, 25000, 20000)
};

enum { SLOTS = 24, SHARED = 16 };

static _Atomic(unsigned) n_profiles;
static _Atomic(uint32_t) n_ids, n_requests;
static struct alq_global shared;
static void *messages[2];
static size_t message_bytes[2];
static uint64_t run_seed;

static void
print_seed(int signal_number)
{
    char text[80];
    int n = snprintf(text, sizeof text, "ALQ_TEST_SEED=%llu\n",
                     (unsigned long long)run_seed - 1);

    (void)!write(2, text, (size_t)n);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void
clear(enum alq_status st)
{
    CHECK(st == ALQ_OK || st == ALQ_ECALLBACK);
    alq_status_clear(me->on);
}

/* ---- profiles -------------------------------------------------------------
 */

static void
start(void)
{
    static const double rates[] = {1, 1, 0.4, 0.05, 0.01, 0};
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    unsigned n = atomic_fetch_add(&n_profiles, 1);
    struct model_profile *m = &profiles[n % PROFILES];
    struct alq_tracker t;
    struct alq_profile *p = NULL;
    enum alq_status st;

    if (n >= PROFILES) {
        atomic_fetch_sub(&n_profiles, 1);
        return;
    }
    m->values = one_in(2);
    t = judge_of(m);
    c.rate = rates[rnd(ALQI_COUNT_OF(rates))];
    c.callstack_frames = rnd(20);
    c.seed = rnd(1000) + 1;
    c.max_entries = one_in(6) ? 50 : 0;
    c.flags = one_in(2)   ? ALQ_MEMPROF_STRICT
              : one_in(4) ? ALQ_MEMPROF_BESIDE
                          : 0;
    if (one_in(5))
        c.flags |= ALQ_MEMPROF_DEFER;
    st = alq_memprof_start(me->on, &c, &t, &p);
    CHECK(st == ALQ_OK || st == ALQ_EBUSY);
    if (st != ALQ_OK)
        return;
    if (me->in_callback && me->n_request != 0)
        atomic_store(&started_in[me->request], true);
    m->p = p;
    atomic_store(&m->users, 1);
    atomic_fetch_add(&seen.starts, 1);
}

/* One whose handle may be used until hand_back; NULL: no such luck. */
static struct model_profile *
borrow(void)
{
    unsigned n = atomic_load(&n_profiles);
    struct model_profile *m;
    int users;

    if (n == 0)
        return NULL;
    n = n < PROFILES ? n : PROFILES;
    m = &profiles[n - 1 - rnd(n < 6 ? n : 6)];
    users = atomic_load(&m->users);
    while (users > 0)
        if (atomic_compare_exchange_weak(&m->users, &users, users + 1))
            return m;
    return NULL;
}

static void
hand_back(struct model_profile *m)
{
    struct alq_profile *p = m->p;

    if (atomic_fetch_sub(&m->users, 1) == 1)
        alq_profile_drop(p);
}

static void
stop(void)
{
    struct model_profile *m = one_in(2) ? borrow() : NULL;
    enum alq_status st =
        m != NULL ? alq_profile_stop(m->p) : alq_memprof_stop(me->on);

    CHECK(st == ALQ_OK || st == ALQ_ENOTRUN || st == ALQ_ECALLBACK);
    atomic_fetch_add(&seen.stops, st == ALQ_OK);
    if (m != NULL)
        hand_back(m);
}

/* What is discarded is no longer handed out. */
static void
discard(void)
{
    struct model_profile *m = borrow();
    enum alq_status st;

    if (m == NULL)
        return;
    st = alq_memprof_discard(m->p);
    CHECK(st == ALQ_OK || st == ALQ_ERUNNING || st == ALQ_EGONE);
    if (st == ALQ_OK) {
        atomic_fetch_add(&seen.discards, 1);
        hand_back(m); /* its own */
    }
    hand_back(m);
}

static int
visit(void *arg, const struct alq_allocation *a, uintptr_t data)
{
    struct model_profile *m = arg;
    uint32_t k = record_of(m, data);

    CHECK(a->n_samples >= 1);
    CHECK(records[k].profile == m - profiles);
    CHECK(atomic_load(&records[k].state) != FREE);
    atomic_fetch_add(&seen.visited, 1);
    return 0;
}

static void
each(void)
{
    struct model_profile *m = me->in_callback ? NULL : borrow();
    enum alq_status st;

    if (m == NULL)
        return;
    st = alq_memprof_each(m->p, visit, m);
    CHECK(st == ALQ_OK || st == ALQ_EGONE);
    hand_back(m);
}

/* ---- allocation -----------------------------------------------------------
 */

static uint32_t
next_id(void)
{
    uint32_t id;

    do
        id = (atomic_fetch_add(&n_ids, 1) + 1) % IDS;
    while (id == 0 || (atomic_load(&held[id]) & ~SEEN_OLD) != 0);
    atomic_store(&held[id], 0);
    return id;
}

static void
hold(alq_value *slot, alq_value v)
{
    uint32_t id = alq_is_block(*slot) ? id_of(*slot) : 0;

    if (id != 0)
        CHECK((atomic_fetch_sub(&held[id], 1) & ~SEEN_OLD) > 0);
    *slot = v;
    id = alq_is_block(v) ? id_of(v) : 0;
    if (id != 0)
        atomic_fetch_add(&held[id], 1);
}

static void
keep_or_not(alq_value *slots, alq_value v)
{
    if (alq_is_null(v)) {
        CHECK(alq_status_of(me->on) == ALQ_ECALLBACK);
        alq_status_clear(me->on);
    } else if (one_in(2)) {
        hold(&slots[rnd(SLOTS)], v);
    }
}

static void
expect(unsigned i, uint32_t id, uint32_t wosize)
{
    if (i == 0) {
        me->request = atomic_fetch_add(&n_requests, 1) % (REQUESTS - 1) + 1;
        atomic_store(&started_in[me->request], false);
    }
    me->request_id[i] = id;
    me->request_wosize[i] = wosize;
    me->n_request = i + 1;
}

static void
one_block(alq_value *slots)
{
    uint32_t id = next_id(), wosize = 1 + (uint32_t)rnd(18);
    alq_value v;

    expect(0, id, wosize);
    v = alq_alloc_small(me->on, wosize, 0);
    me->n_request = 0;
    for (unsigned i = 0; !alq_is_null(v) && i < wosize; i++)
        alq_init_small(v, i, i == 0 ? alq_from_int(id) : ALQ_UNIT);
    keep_or_not(slots, v);
}

static void
any_block(alq_value *slots)
{
    uint32_t id = next_id(), wosize = 1 + (uint32_t)rnd(one_in(20) ? 600 : 256);
    alq_value v;

    expect(0, id, wosize);
    v = alq_alloc(me->on, wosize, 0);
    me->n_request = 0;
    if (!alq_is_null(v))
        alq_store(me->on, v, 0, alq_from_int(id));
    keep_or_not(slots, v);
}

static void
four_blocks(alq_value *slots)
{
    static const uint32_t wosizes[] = {4, 1, 7, 2};
    uintptr_t headers[4];
    alq_value out[4] = {ALQ_NULL, ALQ_NULL, ALQ_NULL, ALQ_NULL};
    uint32_t ids[4];

    for (unsigned i = 0; i < 4; i++) {
        ids[i] = next_id();
        expect(i, ids[i], wosizes[i]);
        headers[i] = ALQ_HEADER(wosizes[i], 0);
    }
    if (!alq_alloc_several(me->on, 4, headers, out)) {
        me->n_request = 0;
        keep_or_not(slots, ALQ_NULL);
        return;
    }
    me->n_request = 0;
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned k = 0; k < wosizes[i]; k++)
            alq_init_small(out[i], k, k == 0 ? alq_from_int(ids[i]) : ALQ_UNIT);
        if (one_in(3))
            hold(&slots[rnd(SLOTS)], out[i]);
    }
}

static void
bytes_block(alq_value *slots)
{
    static const struct alq_custom_ops ops = {.name = "model"};

    switch (rnd(4)) {
    case 0:
        keep_or_not(slots, alq_alloc_string(me->on, rnd(300)));
        break;
    case 1:
        keep_or_not(slots, alq_alloc_double_array(me->on, 1 + rnd(400)));
        break;
    case 2:
        keep_or_not(slots, alq_alloc_custom_mem(me->on, &ops, 8 * rnd(4),
                                                rnd(one_in(9) ? 90000 : 900)));
        break;
    default:
        keep_or_not(slots, alq_alloc_double(me->on, 0.5));
    }
}

static void
from_message(alq_value *slots)
{
    unsigned i = one_in(10);
    alq_value v = ALQ_NULL;
    enum alq_status st =
        alq_unmarshal(me->on, messages[i], message_bytes[i], NULL, NULL, &v);

    clear(st);
    if (st == ALQ_OK)
        hold(&slots[rnd(SLOTS)], v);
}

static void
drop_some(alq_value *slots)
{
    if (one_in(100)) {
        for (unsigned i = 0; i < SLOTS; i++)
            hold(&slots[i], ALQ_UNIT);
        return;
    }
    hold(&slots[rnd(SLOTS)], ALQ_UNIT);
}

/* Whether what is held has been seen old. */
static void
look(alq_value *slots)
{
    alq_value v = slots[rnd(SLOTS)];
    uint32_t id = alq_is_block(v) ? id_of(v) : 0;

    if (id != 0) {
        CHECK((atomic_load(&held[id]) & ~SEEN_OLD) > 0);
        if (!alq_is_young(me->on, v))
            atomic_fetch_or(&held[id], SEEN_OLD);
    }
}

/* Another domain gets what stood in a slot, and this one what stood there. */
static void
pass(alq_value *slots)
{
    alq_value *slot = &slots[rnd(SLOTS)];

    *slot = alq_field_exchange(me->on, shared.value, rnd(SHARED), *slot);
}

static void
allocate(alq_value *slots)
{
    uint64_t what = rnd(1000);

    if (what < 700)
        one_block(slots);
    else if (what < 900)
        four_blocks(slots);
    else if (what < 960)
        any_block(slots);
    else if (what < 990)
        bytes_block(slots);
    else
        from_message(slots);
}

/* ---- collections ----------------------------------------------------------
 */

static void
collect(uint64_t what)
{
    if (what < 60)
        clear(alq_gc_minor(me->on));
    else if (what < 90)
        clear(alq_gc_major_slice(me->on, rnd(2000)));
    else if (what < 97)
        clear(alq_gc_major(me->on));
    else if (what < 99)
        clear(alq_gc_full_major(me->on));
    else
        clear(alq_gc_compact(me->on));
}

/* Alone, with all told: each entry has its record, whose block is held. */
static void
check_entries(void)
{
    unsigned n = atomic_load(&n_profiles);

    clear(alq_gc_full_major(me->on));
    for (unsigned i = 0; i < 4; i++) /* callbacks may have dropped more */
        clear(alq_memprof_flush(me->on, NULL));
    clear(alq_gc_full_major(me->on));
    for (unsigned i = 0; i < 4; i++)
        clear(alq_memprof_flush(me->on, NULL));
    for (uint32_t k = 1; k <= n_records; k++)
        if (atomic_load(&records[k].state) != FREE && records[k].id != 0)
            CHECK((held[records[k].id] & ~SEEN_OLD) > 0);
    for (unsigned i = n > 8 ? n - 8 : 0; i < n && i < PROFILES; i++) {
        struct alq_memprof_counts c;

        if (atomic_load(&profiles[i].users) == 0)
            continue;
        alq_profile_counts(profiles[i].p, &c);
        CHECK(c.live_entries == profiles[i].open);
    }
    atomic_fetch_add(&seen.checks, 1);
}

/* ---- domains --------------------------------------------------------------
 */

static void program(struct alq_domain *on, uint64_t seed, uint64_t steps,
                    bool is_root);

struct errand {
    uint64_t seed, steps;
};

static alq_value
child_program(struct alq_domain *on, alq_value arg, void *data)
{
    struct errand *e = data;

    program(on, e->seed, e->steps, false);
    free(e);
    return arg;
}

static struct errand *
errand_new(uint64_t steps)
{
    struct errand *e = malloc(sizeof *e);

    CHECK(e != NULL);
    e->seed = rnd(UINT64_MAX);
    e->steps = steps;
    return e;
}

static void
spawn_or_join(void)
{
    unsigned i = (unsigned)rnd(CHILDREN);

    if (!me->is_root)
        return;
    if (me->children[i] != NULL) {
        finish(me->on, me->children[i]);
        me->children[i] = NULL;
        return;
    }
    me->children[i] = spawn(me->on, child_program, ALQ_UNIT,
                            errand_new(100 + rnd(STEPS / 100)));
    atomic_fetch_add(&seen.spawned, 1);
}

static void
join_all(void)
{
    for (unsigned i = 0; i < CHILDREN; i++)
        if (me->children[i] != NULL) {
            finish(me->on, me->children[i]);
            me->children[i] = NULL;
        }
}

struct visitor {
    struct alq_domain *on;
    struct errand *errand;
};

static void *
visit_domain(void *arg)
{
    struct visitor *v = arg;
    struct alq_thread *self = NULL;

    CHECK(alq_thread_attach(v->on, &self) == ALQ_OK);
    program(v->on, v->errand->seed, v->errand->steps, false);
    CHECK(alq_thread_detach(self) == ALQ_OK);
    free(v->errand);
    return NULL;
}

/* Another thread of the domain, while this one waits. */
static void
another_thread(void)
{
    struct visitor v = {me->on, errand_new(rnd(300))};
    pthread_t thread;
    ALQ_BLOCKING(me->on, blocks);

    CHECK(pthread_create(&thread, NULL, visit_domain, &v) == 0);
    pthread_join(thread, NULL);
}

static void
block_a_while(void)
{
    ALQ_BLOCKING(me->on, blocks);
}

/* ---- what programs, and callbacks, do -------------------------------------
 */

/* In a callback: most do nothing. */
static void
do_meddle(void)
{
    struct actor *self = me;
    unsigned n_request = self->n_request;

    if (!one_in(100))
        return;
    switch (rnd(8)) {
    case 0:
        collect(rnd(100));
        break;
    case 1:
        start();
        break;
    case 2:
        stop();
        break;
    case 3:
        stop();
        discard();
        break;
    case 4:
        stop();
        start();
        break;
    case 5:
        CHECK(alq_memprof_flush(self->on, NULL) == ALQ_OK);
        break;
    case 6:
        block_a_while();
        break;
    default:
        for (unsigned i = 0; i < 100; i++)
            CHECK(!alq_is_null(block(self->on, 9)));
    }
    self->n_request = n_request;
}

static void
rare_step(void)
{
    uint64_t what = rnd(1000);

    if (what < 400)
        collect(rnd(100));
    else if (what < 520)
        start();
    else if (what < 600)
        stop();
    else if (what < 700)
        discard();
    else if (what < 800)
        clear(alq_memprof_flush(me->on, NULL));
    else if (what < 900)
        each();
    else if (what < 940)
        block_a_while();
    else if (what < 970)
        another_thread();
    else
        spawn_or_join();
}

static void
program(struct alq_domain *on, uint64_t seed, uint64_t steps, bool is_root)
{
    struct actor self = {.on = on, .seed = seed, .is_root = is_root};
    struct actor *before = me;
    ALQ_FRAME(on, f, slots[SLOTS]);

    me = &self;
    for (unsigned i = 0; i < SLOTS; i++)
        f.slots[i] = ALQ_UNIT;
    for (uint64_t i = 0; i < steps; i++) {
        uint64_t what = rnd(1024);

        if (what < 4)
            rare_step();
        else if (what < 250)
            drop_some(f.slots);
        else if (what < 280)
            pass(f.slots);
        else if (what < 330)
            look(f.slots);
        else if (what < 340)
            alq_poll(on);
        else
            allocate(f.slots);
        if (is_root && i % (STEPS / 8) == STEPS / 8 - 1) {
            join_all();
            check_entries();
        }
    }
    join_all();
    for (unsigned i = 0; i < SLOTS; i++)
        hold(&f.slots[i], ALQ_UNIT);
    atomic_fetch_add(&seen.steps, steps);
    alq_status_clear(on);
    me = before;
}

/* ---- runs -----------------------------------------------------------------
 */

static void
end_all_profiles(struct alq_domain *on, struct actor *self)
{
    bool by_discard = self->seed % 2;
    unsigned n = atomic_load(&n_profiles);

    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < n && i < PROFILES; i++)
            if (atomic_load(&profiles[i].users) > 0) {
                (void)alq_profile_stop(profiles[i].p);
                if (by_discard)
                    (void)alq_memprof_discard(profiles[i].p);
            }
        (void)alq_memprof_stop(on);
        clear(alq_gc_full_major(on)); /* callbacks may start more */
        clear(alq_memprof_flush(on, NULL));
        n = atomic_load(&n_profiles);
    }
}

static void
run_one(uint64_t seed)
{
    static const unsigned minor_words[] = {4096, 8192, 32768, 0};
    struct alq_domain_config config = {.minor_words = minor_words[seed % 4]};
    struct alq_domain *on = NULL;
    struct actor self;
    unsigned n;

    run_seed = seed;
    memset(profiles, 0, sizeof profiles);
    n_profiles = 0;
    CHECK(alq_domain_new(&config, &on) == ALQ_OK);
    shared.value = alq_alloc(on, 300, 0);
    CHECK(alq_global_add(on, &shared) == ALQ_OK);
    messages[0] = message(on, 6, &message_bytes[0]);
    messages[1] = message(on, 300, &message_bytes[1]);
    program(on, alqi_base_mix(seed), STEPS, true);
    self = (struct actor){.on = on, .seed = seed};
    me = &self;
    for (unsigned i = 0; i < SHARED; i++) {
        alq_value v = alq_field_exchange(on, shared.value, i, ALQ_UNIT);

        hold(&v, ALQ_UNIT);
    }
    self.in_callback = false;
    end_all_profiles(on, &self);
    alq_global_remove(on, &shared);
    clear(alq_gc_full_major(on));
    clear(alq_memprof_flush(on, NULL));
    n = n_profiles < PROFILES ? n_profiles : PROFILES;
    for (unsigned i = 0; i < n; i++) {
        struct alq_memprof_counts c = {0};

        CHECK(profiles[i].open == 0);
        if (profiles[i].users == 0)
            continue;
        alq_profile_counts(profiles[i].p, &c);
        CHECK(c.live_entries == 0);
        alq_profile_drop(profiles[i].p);
    }
    me = NULL;
    CHECK(alq_domain_drop(on) == ALQ_OK);
    free(messages[0]);
    free(messages[1]);
}

static void
random_programs_keep_to_the_model(void **state)
{
    uint64_t first = alqi_base_test_seed() + 1;

    (void)state;
    meddle = do_meddle;
    signal(SIGABRT, print_seed);
    signal(SIGSEGV, print_seed);
    signal(SIGBUS, print_seed);
    for (uint64_t run = 0; run < RUNS; run++)
        run_one(first + run);
    /* else it was no test */
    CHECK(seen.steps >= (uint64_t)RUNS * STEPS);
    for (unsigned i = 0; i < EVENTS; i++)
        CHECK(seen.events[i] > (uint64_t)RUNS * STEPS / 10000);
    CHECK(seen.checks >= RUNS * 8);
    CHECK(seen.starts > RUNS && seen.stops > RUNS && seen.discards > RUNS);
    CHECK(seen.spawned > 0 && seen.failures > RUNS && seen.visited > RUNS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_keep_to_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
