/* memprof_domains_test.c -- profiles, domains and threads: who inherits, who
 * stops, who calls back when another has ended (spec statmemprof 1.11, 1.12,
 * 6.1, 6.4) */
#include <sched.h>
#include <unistd.h>

#include "base/test_seed.h"
#include "memprof_kit.h"

static struct probe probe;
static struct alq_profile *profile;

static int
open_all(void **state)
{
    probe_open(&probe, 1 << 20);
    profile = NULL;
    return domains_setup(state);
}

static int
close_all(void **state)
{
    probe_close(&probe);
    return domains_teardown(state);
}

/* ---- a flag that domains wait for, collecting meanwhile -------------------
 */

static void
await(struct alq_domain *on, _Atomic(int) *flag, int n)
{
    while (atomic_load(flag) < n) {
        struct alq_thread *self = alq_blocking_begin(on);

        sched_yield();
        CHECK(alq_blocking_end(self) == ALQ_OK);
    }
}

/* ---- A7: callbacks that block ---------------------------------------------
 */

enum { TURNS = 50000 / LESS };

static int pipes[2][2];
static _Thread_local unsigned parity;
static _Atomic(uint64_t) told[2];

static int
exchange_bytes(struct probe *p, enum event event,
               const struct alq_allocation *a, struct record *r)
{
    char byte = 'x';
    struct alq_thread *self;

    (void)p;
    (void)event;
    (void)r;
    if (a == NULL)
        return ALQ_TRACK_DROP;
    CHECK(a->size_words % 2 == parity); /* in the thread that allocated */
    told[parity]++;
    self = alq_blocking_begin(alq_domain_self());
    CHECK(self != NULL);
    CHECK(write(pipes[1 - parity][1], &byte, 1) == 1);
    CHECK(read(pipes[parity][0], &byte, 1) == 1);
    CHECK(alq_blocking_end(self) == ALQ_OK);
    CHECK((told[0] > told[1] ? told[0] - told[1] : told[1] - told[0]) <= 1);
    return ALQ_TRACK_DROP;
}

static void
take_turns(unsigned mine)
{
    parity = mine;
    for (unsigned i = 0; i < TURNS; i++)
        CHECK(!alq_is_null(block(d, 2 + mine + 2 * (i % 5))));
}

static void *
other_thread(void *arg)
{
    struct alq_thread *self = NULL;

    (void)arg;
    CHECK(alq_thread_attach(d, &self) == ALQ_OK);
    take_turns(1);
    CHECK(alq_thread_detach(self) == ALQ_OK);
    return NULL;
}

static void
a7_blocking_in_callback(void **state)
{
    pthread_t thread;

    (void)state;
    told[0] = told[1] = 0;
    CHECK(pipe(pipes[0]) == 0 && pipe(pipes[1]) == 0);
    probe.act = exchange_bytes;
    profile = begin(d, &probe, 1.0);
    CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0);
    take_turns(0);
    {
        ALQ_BLOCKING(d, blocks);
        pthread_join(thread, NULL);
    }
    CHECK(told[0] == TURNS && told[1] == TURNS);
    end_profile(d, profile, &probe);
    for (unsigned i = 0; i < 4; i++)
        close(pipes[i / 2][i % 2]);
}

/* ---- A20: moved while its callback blocks ---------------------------------
 */

static _Atomic(int) begins, promoting, may_finish, is_done;
static char told_of[200];

static void
tell(const char *what)
{
    CHECK(strlen(told_of) + strlen(what) < sizeof told_of);
    strcat(told_of, what);
}

static int
block_in_promote(struct probe *p, enum event event,
                 const struct alq_allocation *a, struct record *r)
{
    (void)p;
    (void)a;
    switch (event) {
    case ALLOC_MINOR:
        tell("minor,");
        break;
    case ALLOC_MAJOR:
        r->mark = 1;
        tell("major,");
        break;
    case PROMOTE:
        tell("promoting,");
        promoting = 1;
        await(d, &may_finish, 1);
        tell("promoted,");
        break;
    case DEALLOC_MAJOR:
        tell(r->mark ? "major died," : "promoted died,");
        break;
    default:
        CHECK(!"another event");
    }
    return ALQ_TRACK_KEEP;
}

static void *
promoter(void *arg)
{
    struct alq_thread *self = NULL;

    (void)arg;
    CHECK(alq_thread_attach(d, &self) == ALQ_OK);
    await(d, &begins, 1);
    {
        ALQ_FRAME(d, f, ref);

        f.ref = block(d, 1);
        CHECK(alq_gc_minor(d) == ALQ_OK);
        settle(d); /* blocks in the promote callback */
    }
    is_done = 1;
    CHECK(alq_thread_detach(self) == ALQ_OK);
    return NULL;
}

static void
a20_moved_while_blocking(void **state)
{
    pthread_t thread;
    ALQ_FRAME(d, f, big);

    (void)state;
    told_of[0] = '\0';
    begins = promoting = may_finish = is_done = 0;
    probe.act = block_in_promote;
    profile = begin(d, &probe, 1.0);
    CHECK(pthread_create(&thread, NULL, promoter, NULL) == 0);
    f.big = alq_alloc(d, 1000, 0);
    settle(d);
    begins = 1;
    await(d, &promoting, 1);
    f.big = ALQ_UNIT;
    CHECK(alq_gc_full_major(d) == ALQ_OK);
    settle(d);
    may_finish = 1;
    await(d, &is_done, 1);
    {
        ALQ_BLOCKING(d, blocks);
        pthread_join(thread, NULL);
    }
    bury(d);
    CHECK(strcmp(told_of, "major,minor,promoting,major died,promoted,"
                          "promoted died,") == 0);
    end_profile(d, profile, &probe);
}

/* ---- A23: a callback that ends its thread ---------------------------------
 */

/* It fails, and the thread, which hears of that, ends: a callback may not
 * detach its thread. */
static int
end_thread(struct probe *p, enum event event, const struct alq_allocation *a,
           struct record *r)
{
    (void)p;
    (void)event;
    (void)r;
    if (a == NULL || parity == 0)
        return ALQ_TRACK_KEEP;
    CHECK(alq_thread_detach(alq_thread_self(d)) == ALQ_ESTATE);
    return -3;
}

static void *
ends_in_a_callback(void *arg)
{
    struct alq_thread *self = NULL;

    (void)arg;
    parity = 1;
    CHECK(alq_thread_attach(d, &self) == ALQ_OK);
    CHECK(alq_is_null(block(d, 3)));
    CHECK(alq_status_of(d) == ALQ_ECALLBACK);
    CHECK(alq_memprof_code(d) == -3);
    CHECK(alq_thread_detach(self) == ALQ_OK);
    return told;
}

static void
a23_thread_exit_in_callback(void **state)
{
    (void)state;
    parity = 0;
    probe.act = end_thread;
    profile = begin(d, &probe, 1.0);
    for (unsigned i = 0; i < 10; i++) {
        pthread_t thread;
        void *result = NULL;

        CHECK(pthread_create(&thread, NULL, ends_in_a_callback, NULL) == 0);
        {
            ALQ_BLOCKING(d, blocks);
            pthread_join(thread, &result);
        }
        CHECK(result == told);
        CHECK(!alq_is_null(block(d, 3))); /* it goes on in the others */
    }
    CHECK(probe_allocs(&probe) == 20);
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    end_profile(d, profile, &probe);
}

/* ---- T1, T2: threads of a domain ------------------------------------------
 */

static int
tell_parity(struct probe *p, enum event event, const struct alq_allocation *a,
            struct record *r)
{
    (void)p;
    (void)event;
    (void)r;
    if (a != NULL)
        CHECK(a->size_words % 2 == parity);
    return ALQ_TRACK_KEEP;
}

static void *
owes_and_ends(void *arg)
{
    struct alq_thread *self = NULL;

    (void)arg;
    parity = 1;
    CHECK(alq_thread_attach(d, &self) == ALQ_OK);
    CHECK(!alq_is_null(block(d, 3))); /* never told of: T2 */
    CHECK(alq_thread_detach(self) == ALQ_OK);
    return NULL;
}

static void *
tells_and_ends(void *arg)
{
    struct alq_thread *self = NULL;

    (void)arg;
    parity = 1;
    CHECK(alq_thread_attach(d, &self) == ALQ_OK);
    CHECK(!alq_is_null(block(d, 3)));
    settle(d);
    CHECK(alq_thread_detach(self) == ALQ_OK);
    return NULL;
}

static void
run_thread(void *(*fn)(void *))
{
    pthread_t thread;
    ALQ_BLOCKING(d, blocks);

    CHECK(pthread_create(&thread, NULL, fn, NULL) == 0);
    pthread_join(thread, NULL);
}

static void
t2_alloc_callbacks_are_their_threads(void **state)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;

    (void)state;
    parity = 0;
    c.rate = 1.0;
    c.flags = ALQ_MEMPROF_DEFER;
    probe.act = tell_parity;
    profile = begin_with(d, &probe, &c);
    run_thread(owes_and_ends);
    CHECK(!alq_is_null(block(d, 4)));
    settle(d);
    CHECK(probe_allocs(&probe) == 1);
    run_thread(tells_and_ends);
    CHECK(probe_allocs(&probe) == 2);
    CHECK(alq_gc_minor(d) == ALQ_OK);
    settle(d); /* T3: later callbacks in any thread of the domain */
    CHECK(probe.n[DEALLOC_MINOR] == 2);
    CHECK(live_entries(profile) == 0);
    end_profile(d, profile, &probe);
}

/* ---- X1: the only holder of another domain's young block ------------------
 */

enum { PASSED = 400 };

static struct alq_global cell;
static _Atomic(int) n_given, n_taken;

static alq_value
take_blocks(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, kept, v);

    (void)arg;
    (void)data;
    f.kept = alq_alloc(on, PASSED, 0);
    for (int i = 0; i < PASSED; i++) {
        await(on, &n_given, i + 1);
        f.v = alq_field_exchange(on, cell.value, 0, ALQ_UNIT);
        CHECK(alq_is_block(f.v) &&
              alq_is_same(alq_field(f.v, 0), alq_from_int(i)));
        alq_store(on, f.kept, (unsigned)i, f.v);
        n_taken = i + 1;
    }
    await(on, &n_taken, PASSED + 1);
    return f.kept;
}

static void
x1_held_by_another_domain_alone(void **state)
{
    struct alq_child *child;
    ALQ_FRAME(d, f, kept, v);

    (void)state;
    n_given = n_taken = 0;
    f.v = alq_alloc(d, 300, 0);
    cell.value = f.v;
    CHECK(alq_global_add(d, &cell) == ALQ_OK);
    child = spawn(d, take_blocks, ALQ_UNIT, NULL);
    profile = begin(d, &probe, 1.0); /* of this domain alone */
    for (int i = 0; i < PASSED; i++) {
        alq_value v = block(d, 3);

        CHECK(!alq_is_null(v));
        alq_store(d, v, 0, alq_from_int(i));
        alq_store(d, cell.value, 0, v);
        n_given = i + 1;
        await(d, &n_taken, i + 1);
        if (i % 4 == 0)
            CHECK(alq_gc_minor(d) == ALQ_OK);
    }
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    CHECK(alq_gc_minor(d) == ALQ_OK);
    settle(d);
    CHECK(probe.n[ALLOC_MINOR] == PASSED);
    CHECK(probe.n[DEALLOC_MINOR] == 0);
    CHECK(probe.n[PROMOTE] == PASSED);
    n_taken = PASSED + 1;
    f.kept = finish(d, child);
    bury(d);
    CHECK(probe.n[DEALLOC_MAJOR] == 0);
    f.kept = f.v = ALQ_UNIT;
    alq_global_remove(d, &cell);
    bury(d);
    CHECK(probe.n[DEALLOC_MAJOR] == PASSED);
    end_profile(d, profile, &probe);
}

/* ---- X4: stopped by another domain, with the trigger armed ----------------
 */

static alq_value
stop_there(struct alq_domain *on, alq_value arg, void *data)
{
    (void)data;
    CHECK(alq_memprof_is_sampling(on));
    CHECK(!alq_is_null(block(on, 3)));
    CHECK(alq_memprof_stop(on) == ALQ_OK);
    CHECK(alq_memprof_stop(on) == ALQ_ENOTRUN);
    return arg;
}

static void
x4_stop_by_another_domain(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 300 / LESS; round++) {
        uint64_t samples;
        struct alq_child *child;

        profile = begin(d, &probe, 0.05);
        child = spawn(d, stop_there, ALQ_UNIT, NULL);
        for (unsigned i = 0; i < round; i++)
            CHECK(!alq_is_null(block(d, 1 + i % 20)));
        finish(d, child);
        samples = probe_samples(&probe);
        for (unsigned i = 0; i < 300; i++)
            CHECK(!alq_is_null(block(d, 1 + i % 20)));
        CHECK(!alq_is_null(alq_alloc(d, 1000, 0)));
        settle(d);
        CHECK(probe_samples(&probe) == samples); /* D3 */
        CHECK(alq_memprof_stop(d) == ALQ_ENOTRUN);
        end_profile(d, profile, &probe);
    }
}

/* ---- X5: the last domain of a profile ends --------------------------------
 */

static alq_value
start_there(struct alq_domain *on, alq_value arg, void *data)
{
    struct alq_profile **out = data;

    *out = begin(on, &probe, 1.0);
    CHECK(!alq_is_null(block(on, 3)));
    settle(on);
    return arg;
}

static void
x5_implicit_stop(void **state)
{
    struct alq_profile *p = NULL;

    (void)state;
    finish(d, spawn(d, start_there, ALQ_UNIT, &p));
    CHECK(!alq_memprof_is_sampling(d));
    CHECK(probe_allocs(&probe) == 1);
    CHECK(alq_profile_stop(p) == ALQ_ENOTRUN); /* it is stopped */
    bury(d);
    CHECK(probe.n[DEALLOC_MINOR] == 1); /* and not discarded */
    CHECK(alq_memprof_discard(p) == ALQ_OK);
    CHECK(alq_memprof_discard(p) == ALQ_EGONE);
    alq_profile_drop(p);
}

/* ---- X9: a child goes its own way -----------------------------------------
 */

static struct probe childs;

static alq_value
restart_there(struct alq_domain *on, alq_value arg, void *data)
{
    struct alq_profile **out = data;

    CHECK(!alq_is_null(block(on, 3)));
    CHECK(alq_memprof_stop(on) == ALQ_OK);
    *out = begin(on, &childs, 1.0);
    for (unsigned i = 0; i < 100; i++)
        CHECK(!alq_is_null(block(on, 3)));
    begins = 1;
    await(on, &is_done, 1);
    CHECK(alq_memprof_stop(on) == ALQ_OK);
    return arg;
}

static void
x9_a_child_restarts(void **state)
{
    struct alq_profile *own = NULL;
    struct alq_child *child;
    uint64_t before;

    (void)state;
    begins = is_done = 0;
    probe_open(&childs, 1000);
    profile = begin(d, &probe, 1.0);
    CHECK(!alq_is_null(block(d, 3)));
    child = spawn(d, restart_there, ALQ_UNIT, &own);
    await(d, &begins, 1);
    before = probe_allocs(&probe);
    CHECK(before >= 2);
    for (unsigned i = 0; i < 1000; i++)
        CHECK(!alq_is_null(block(d, 3)));
    settle(d);
    CHECK(probe_allocs(&probe) == before);
    CHECK(probe_allocs(&childs) == 100);
    CHECK(alq_memprof_stop(d) == ALQ_ENOTRUN);
    is_done = 1;
    finish(d, child);
    bury(d);
    CHECK(childs.n[DEALLOC_MINOR] == 100);
    end_profile(d, own, &childs);
    end_profile(d, profile, &probe);
    probe_close(&childs);
}

/* ---- different domains, different profiles --------------------------------
 */

static void
domains_sample_for_different_profiles(void **state)
{
    struct alq_profile *own = NULL;

    (void)state;
    probe_open(&childs, 1000);
    begins = is_done = 0;
    is_done = 1;
    {
        struct alq_child *child;

        profile = begin(d, &probe, 1.0);
        child = spawn(d, restart_there, ALQ_UNIT, &own);
        finish(d, child);
        end_profile(d, profile, &probe);
    }
    profile = begin(d, &probe, 1.0);
    CHECK(!alq_is_null(block(d, 3)));
    CHECK(alq_memprof_is_sampling(d));
    end_profile(d, own, &childs);
    CHECK(alq_memprof_is_sampling(d)); /* the other's end is nothing to it */
    end_profile(d, profile, &probe);
    probe_close(&childs);
}

/* ---- X10: spawned in a callback -------------------------------------------
 */

static struct alq_child *spawned;

static alq_value
allocate_there(struct alq_domain *on, alq_value arg, void *data)
{
    (void)data;
    CHECK(alq_memprof_is_sampling(on));
    for (unsigned i = 0; i < 10; i++)
        CHECK(!alq_is_null(block(on, 7)));
    settle(on);
    return arg;
}

static int
spawn_in_callback(struct probe *p, enum event event,
                  const struct alq_allocation *a, struct record *r)
{
    (void)p;
    (void)event;
    (void)r;
    if (a != NULL && a->size_words == 3 && spawned == NULL)
        spawned = spawn(d, allocate_there, ALQ_UNIT, NULL);
    return ALQ_TRACK_KEEP;
}

static void
x10_spawn_in_callback(void **state)
{
    (void)state;
    spawned = NULL;
    probe.act = spawn_in_callback;
    profile = begin(d, &probe, 1.0);
    CHECK(!alq_is_null(block(d, 3)));
    CHECK(spawned != NULL);
    finish(d, spawned);
    CHECK(probe_allocs(&probe) == 11);
    end_profile(d, profile, &probe);
}

/* ---- X11: adopted ---------------------------------------------------------
 */

static alq_value
leave_a_block(struct alq_domain *on, alq_value arg, void *data)
{
    alq_value v = block(on, 3);

    (void)arg;
    (void)data;
    settle(on);
    return v;
}

static void
x11_blocks_of_a_domain_that_ended(void **state)
{
    ALQ_FRAME(d, f, v);

    (void)state;
    profile = begin(d, &probe, 1.0);
    f.v = finish(d, spawn(d, leave_a_block, ALQ_UNIT, NULL));
    CHECK(alq_is_block(f.v));
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    CHECK(alq_gc_minor(d) == ALQ_OK);
    settle(d);
    CHECK(probe_allocs(&probe) == 1 && probe.n[PROMOTE] == 1);
    CHECK(probe.n[DEALLOC_MAJOR] == 0);
    f.v = ALQ_UNIT;
    bury(d);
    CHECK(probe.n[DEALLOC_MAJOR] == 1);
    end_profile(d, profile, &probe);
}

/* ---- X15: stopped at any moment of another's work -------------------------
 */

static _Atomic(int) round_of;
static void *pairs;
static size_t pairs_bytes;

static int
sometimes_fail(struct probe *p, enum event event,
               const struct alq_allocation *a, struct record *r)
{
    (void)r;
    if (a != NULL && (p->n[event] & 15) == 9)
        return -7;
    return (p->n[event] & 7) == 5 ? ALQ_TRACK_DROP : ALQ_TRACK_KEEP;
}

static alq_value
allocate_meanwhile(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, kept);

    (void)data;
    begins = 1;
    while (atomic_load(&is_done) == 0) {
        alq_value all[SEVEN], v = ALQ_NULL;

        if (seven(on, all))
            f.kept = cons(on, all[3], ALQ_UNIT);
        (void)alq_alloc(on, 300, 0);
        (void)alq_unmarshal(on, pairs, pairs_bytes, NULL, NULL, &v);
        (void)alq_memprof_flush(on, NULL);
        alq_status_clear(on);
        if ((atomic_fetch_add(&round_of, 1) & 31) == 0)
            (void)alq_gc_minor(on);
    }
    alq_status_clear(on);
    return arg;
}

static void
x15_stopped_at_any_moment(void **state)
{
    uint64_t seed = SEED + alqi_base_test_seed();

    (void)state;
    pairs = message(d, 5, &pairs_bytes);
    probe.act = sometimes_fail;
    /* On a busy machine a round may stop before the child has a sample. */
    for (unsigned i = 0; i < 400 / LESS || probe_allocs(&probe) <= 400 / LESS;
         i++) {
        struct alq_child *child;

        begins = is_done = 0;
        profile = begin(d, &probe, 0.3);
        child = spawn(d, allocate_meanwhile, ALQ_UNIT, NULL);
        await(d, &begins, 1);
        seed = alqi_base_mix(seed + 1);
        for (uint64_t k = seed % 3000; k > 0; k--)
            alq_poll(d);
        CHECK(alq_profile_stop(profile) == ALQ_OK);
        if (i % 2 == 0)
            CHECK(alq_memprof_discard(profile) == ALQ_OK);
        for (uint64_t k = seed % 1000; k > 0; k--)
            alq_poll(d);
        is_done = 1;
        finish(d, child);
        (void)alq_memprof_flush(d, NULL); /* the child's failures */
        (void)alq_gc_full_major(d);
        (void)alq_memprof_flush(d, NULL);
        alq_status_clear(d);
        end_profile(d, profile, &probe);
    }
    free(pairs);
}

/* ---- X17: domains come and go ---------------------------------------------
 */

enum { CHURN = 1000 / LESS, AT_ONCE = 3, SURVIVORS = 64 };

static alq_value
live_briefly(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, shared, v);
    uint64_t n = (uint64_t)(uintptr_t)data;

    f.shared = arg;
    for (unsigned i = 0; i < 40; i++) {
        f.v = alq_alloc(on, i % 10 == 0 ? 300 : 1 + i % 7, 0);
        CHECK(!alq_is_null(f.v));
        if (i % 5 == 0)
            alq_store(on, f.shared, (n + i) % SURVIVORS, f.v);
    }
    if (n % 7 == 0)
        CHECK(alq_gc_major_slice(on, 1000) == ALQ_OK);
    return ALQ_UNIT;
}

static void
x17_domains_come_and_go(void **state)
{
    ALQ_FRAME(d, f, shared);
    struct alq_child *children[AT_ONCE] = {NULL};
    uint64_t open;

    (void)state;
    f.shared = alq_alloc(d, SURVIVORS + 300, 0);
    profile = begin(d, &probe, 1.0);
    for (unsigned i = 0; i < CHURN; i++) {
        if (children[i % AT_ONCE] != NULL)
            finish(d, children[i % AT_ONCE]);
        children[i % AT_ONCE] =
            spawn(d, live_briefly, f.shared, (void *)(uintptr_t)i);
        if (i % 50 == 0)
            CHECK(alq_gc_major(d) == ALQ_OK);
    }
    for (unsigned i = 0; i < AT_ONCE; i++)
        finish(d, children[i]);
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    bury(d);
    open = probe.open;
    CHECK(open > 0 && open <= SURVIVORS);
    CHECK(live_entries(profile) == open);
    CHECK(probe_allocs(&probe) >= CHURN * 30);
    /* A child may end with alloc callbacks that it owes, of what was born old:
     * those are not told of (T2). */
    f.shared = ALQ_UNIT;
    bury(d);
    CHECK(probe.open == 0);
    CHECK(probe.n[DEALLOC_MINOR] + probe.n[DEALLOC_MAJOR] ==
          probe_allocs(&probe));
    CHECK(live_entries(profile) == 0); /* the list of orphans is empty */
    end_profile(d, profile, &probe);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_all, close_all)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a7_blocking_in_callback),
        TEST(a20_moved_while_blocking),
        TEST(a23_thread_exit_in_callback),
        TEST(t2_alloc_callbacks_are_their_threads),
        TEST(x1_held_by_another_domain_alone),
        TEST(x4_stop_by_another_domain),
        TEST(x5_implicit_stop),
        TEST(x9_a_child_restarts),
        TEST(domains_sample_for_different_profiles),
        TEST(x10_spawn_in_callback),
        TEST(x11_blocks_of_a_domain_that_ended),
        TEST(x15_stopped_at_any_moment),
        TEST(x17_domains_come_and_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
