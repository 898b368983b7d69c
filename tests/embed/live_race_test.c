/* live_race_test.c -- a program sets what the collector is about to empty
 *
 * One domain cleans its ephemerons, whose keys are all dead, and another gives
 * them a key that lives, and data: these must stay (.inv.emptying, weak.h).
 *
 * On x86-64 the cleaner goes on by single steps (the processor traps after each
 * instruction), and between two of them does what the other domain would, to
 * the very ephemeron that it is at.  Elsewhere, and under the thread sanitizer,
 * the other domain does it, to any ephemeron. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "heap/major_cycle.h"
#include "heap/weak_access.h"

#include "domains_kit.h"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define HAS_STEPS 1
#else
#define HAS_STEPS 0
#endif

enum {
    EPHES = HAS_STEPS ? 100 : 3000,
    ROUNDS = IS_HARD ? 4 : 8,
    ROUNDS_MOST = 100, /* the setter may clean what it should meet */
    STEPS_MOST = 400,  /* between two sets */
    DATA = 7,
};

enum { RESTS, MARKS, CLEANS, ENDS };

static struct {
    int does;
    int seen; /* by the setter */
    struct alqi_domain *self;
    struct alqi_domain *setter;
    alq_value ephes;
    alq_value key; /* that lives */
    bool is_stepping;
    uint64_t random;
    unsigned steps;
    unsigned n_set;
    unsigned n_met; /* in the midst of being emptied */
} cleaner;

static int
load(int *at)
{
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static void
store(int *at, int n)
{
    __atomic_store_n(at, n, __ATOMIC_RELEASE);
}

static uint64_t
below(uint64_t n)
{
    cleaner.random = alqi_base_mix(cleaner.random + 1);
    return cleaner.random % n;
}

/* Below the public calls, which a thread may use with its own domain alone. */
static void
set(struct alqi_domain *on, alq_value ephe)
{
    alqi_heap_weak_set(on, ephe, ALQI_HEAP_EPHE,
                       alqi_heap_weak_keys(ALQI_HEAP_EPHE), cleaner.key);
    alqi_heap_weak_set(on, ephe, ALQI_HEAP_EPHE, ALQI_HEAP_EPHE_DATA,
                       alq_from_int(DATA));
    CHECK(alqi_heap_weak_get(on, ephe, ALQI_HEAP_EPHE, ALQI_HEAP_EPHE_DATA) ==
          alq_from_int(DATA));
    cleaner.n_set++;
}

/* ---- the cleaner, step by step ------------------------------------------ */

#if HAS_STEPS
/* The ephemeron that it is at; ALQ_NULL: none. */
static alq_value
cleaned_now(const struct alqi_domain *of)
{
    const struct alqi_heap_weak_cleaner *c = &of->weak_phase.weak.cleaner;

    if (c->chunk == NULL || c->stage != ALQI_HEAP_EPHE ||
        c->from >= c->chunk->n)
        return ALQ_NULL;
    return c->chunk->blocks[c->from];
}

/* The setter, which does nothing meanwhile, would wait for the cleaner. */
static void
set_now(void)
{
    alq_value ephe = cleaned_now(cleaner.self);

    if (ephe == ALQ_NULL)
        return;
    if (alqi_heap_weak_read(ephe, alqi_heap_weak_keys(ALQI_HEAP_EPHE)) ==
        ALQI_HEAP_WEAK_EMPTYING)
        cleaner.n_met++;
    else
        set(cleaner.setter, ephe);
}

static void
step(int signal, siginfo_t *info, void *context)
{
    greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
    enum { TRAP = 0x100 };

    (void)signal;
    (void)info;
    *flags = cleaner.is_stepping ? *flags | TRAP : *flags & ~TRAP;
    if (!cleaner.is_stepping || cleaner.steps-- > 0)
        return;
    cleaner.steps = (unsigned)below(STEPS_MOST);
    set_now();
}

static void
clean(struct alqi_domain *self)
{
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    struct sigaction before;

    assert_int_equal(sigaction(SIGTRAP, &action, &before), 0);
    cleaner.is_stepping = true;
    raise(SIGTRAP);
    alqi_heap_weak_clean(self, SIZE_MAX);
    cleaner.is_stepping = false;
    raise(SIGTRAP);
    assert_int_equal(sigaction(SIGTRAP, &before, NULL), 0);
}

static void
set_meanwhile(struct alq_domain *on)
{
    (void)on;
}
#else
static void
clean(struct alqi_domain *self)
{
    while (alqi_heap_weak_clean(self, 100) > 0)
        continue;
}

static void
set_meanwhile(struct alq_domain *on)
{
    set(alqi_heap_domain(on), alq_field(cleaner.ephes, below(EPHES)));
}
#endif

/* ---- the setter --------------------------------------------------------- */

/* It takes part in the marking, and in stops but while the other cleans. */
static alq_value
setter(struct alq_domain *on, alq_value arg, void *data)
{
    int does;

    (void)arg;
    (void)data;
    cleaner.setter = alqi_heap_domain(on);
    while ((does = load(&cleaner.does)) != ENDS) {
        if (does != CLEANS)
            alq_poll(on);
        if (does == MARKS)
            alqi_heap_slice(alqi_heap_domain(on), 64);
        store(&cleaner.seen, does);
        if (does == CLEANS)
            set_meanwhile(on);
        if (does != CLEANS || HAS_STEPS)
            sched_yield();
    }
    return ALQ_UNIT;
}

/* For some time; the setter may be in a stop that waits for this domain. */
static bool
is_seen(int does)
{
    unsigned i;

    for (i = 0; i < 1000 && load(&cleaner.seen) != does; i++)
        sched_yield();
    return load(&cleaner.seen) == does;
}

/* The setter's stops go on without this domain, which asks for none: it would
 * wait for one that has seen that it polls no more. */
static void
wait_seen(int does)
{
    ALQ_BLOCKING(d, away);

    while (!is_seen(does))
        continue;
}

/* ---- rounds ------------------------------------------------------------- */

/* Keys that nobody holds, but old: they die in the next cycle. */
static void
fill(alq_value *arg)
{
    ALQ_FRAME(d, f, keys);
    size_t i;

    f.keys = alq_alloc(d, EPHES, 0);
    for (i = 0; i < EPHES; i++) {
        alq_value ephe, key = alq_alloc_small(d, 1, 0);

        alq_init_small(key, 0, alq_from_int((intptr_t)i));
        alq_store(d, f.keys, i, key);
        ephe = alq_field(alq_field(*arg, 0), i);
        assert_int_equal(alq_ephe_set_key(d, ephe, 0, key), ALQ_OK);
        assert_int_equal(alq_ephe_set_data(d, ephe, alq_from_int(DATA)),
                         ALQ_OK);
    }
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
}

static bool
is_cleaning(const struct alqi_domain *self)
{
    return self->heap->cycle.phase == ALQI_HEAP_MARK &&
           self->heap->weak_phase.step == ALQI_HEAP_WEAK_PHASE_CLEAN;
}

/* Whoever has the key that lives has the data. */
static void
check(alq_value arg)
{
    size_t i;

    for (i = 0; i < EPHES; i++) {
        alq_value ephe = alq_field(alq_field(arg, 0), i);
        bool is_set = alq_ephe_get_key(d, ephe, 0) == alq_field(arg, 1);

        assert_int_equal(alq_ephe_get_data(d, ephe),
                         is_set ? alq_from_int(DATA) : ALQ_NULL);
        assert_int_equal(alq_ephe_check_key(d, ephe, 0), is_set);
    }
}

static void
one_round(alq_value *arg)
{
    struct alqi_domain *self = alqi_heap_domain(d);

    fill(arg);
    store(&cleaner.does, MARKS);
    while (!is_cleaning(self)) {
        alqi_heap_slice(self, 64);
        if (self->heap->cycle.phase != ALQI_HEAP_MARK)
            assert_int_equal(alq_gc_minor(d), ALQ_OK);
    }
    cleaner.ephes = alq_field(*arg, 0);
    cleaner.key = alq_field(*arg, 1);
    store(&cleaner.does, CLEANS);
    if (!is_seen(CLEANS))
        wait_seen(CLEANS);
    clean(self);
    store(&cleaner.does, RESTS);
    assert_int_equal(alq_gc_minor(d), ALQ_OK); /* the setter polls */
    check(*arg);
}

static bool
has_met(void)
{
    return cleaner.n_set > ROUNDS && (!HAS_STEPS || cleaner.n_met > 0);
}

static void
sets_stay(void **state)
{
    ALQ_FRAME(d, f, arg, ephes, key);
    struct alq_child *child;
    size_t i;

    (void)state;
    memset(&cleaner, 0, sizeof cleaner);
    cleaner.self = alqi_heap_domain(d);
    f.arg = alq_alloc(d, 2, 0);
    f.ephes = alq_alloc(d, EPHES, 0);
    for (i = 0; i < EPHES; i++) {
        f.key = alq_ephe_create(d, 1);
        alq_store(d, f.ephes, i, f.key);
    }
    f.key = alq_alloc(d, 1, 0);
    alq_store(d, f.arg, 0, f.ephes);
    alq_store(d, f.arg, 1, f.key);
    child = spawn(d, setter, f.arg, NULL);
    for (i = 0; i < ROUNDS || (i < ROUNDS_MOST && !has_met()); i++)
        one_round(&f.arg);
    store(&cleaner.does, ENDS);
    finish(d, child);
    assert_true(has_met());
}

#define TEST(test)                                                             \
    cmocka_unit_test_setup_teardown(test, domains_setup, domains_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {TEST(sets_stay)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
