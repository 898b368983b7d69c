/* memprof_alone_test.c -- a profile of domains that collect alone
 *
 * Its data are young values of the domain that is called back, so each of a
 * domain's own collections has to find them, and to notice what died. */
#include "heap/state.h"
#include "memprof_kit.h"

static struct {
    _Atomic(uint64_t) n_allocs, n_moves, n_deaths, n_live;
} alone;

/* A young value of the domain that is called back: its size is the block's. */
static int
alone_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    struct alq_domain *on = alq_domain_self();
    alq_value v = alq_alloc_small(on, 2, 1);

    (void)arg;
    CHECK(!alq_is_null(v));
    alq_init_small(v, 0, alq_from_int((intptr_t)a->size_words));
    alq_init_small(v, 1, alq_from_int(-(intptr_t)a->size_words));
    *data = alq_bits(v);
    alone.n_allocs++;
    alone.n_live++;
    return ALQ_TRACK_KEEP;
}

static bool
is_whole(uintptr_t data)
{
    alq_value v = ALQ_VALUE(data);

    return alq_wosize(v) == 2 && alq_tag(v) == 1 &&
           alq_to_int(alq_field(v, 0)) > 0 &&
           alq_to_int(alq_field(v, 0)) == -alq_to_int(alq_field(v, 1));
}

static int
alone_promote(void *arg, uintptr_t *data)
{
    (void)arg;
    CHECK(is_whole(*data));
    alone.n_moves++;
    return ALQ_TRACK_KEEP;
}

static int
alone_dealloc(void *arg, uintptr_t data)
{
    (void)arg;
    CHECK(is_whole(data));
    alone.n_deaths++;
    alone.n_live--;
    return 0;
}

static void
alone_release(void *arg, uintptr_t data)
{
    (void)arg;
    CHECK(is_whole(data));
    alone.n_live--;
}

static uint64_t
n_collected_alone(void)
{
    return __atomic_load_n(&alqi_heap_domain(d)->heap->young.n_local_minors,
                           __ATOMIC_RELAXED);
}

enum { KEPT = 500, ROUNDS_ALONE = 400000 / LESS };

/* Lists of KEPT blocks, the last one of which lives. */
static alq_value
keep_some(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, list);

    (void)arg;
    (void)data;
    f.list = ALQ_UNIT;
    for (unsigned i = 0; i < ROUNDS_ALONE; i++) {
        alq_value v = alq_alloc_small(on, 3, 0);

        CHECK(!alq_is_null(v));
        alq_init_small(v, 0, alq_from_int(i));
        alq_init_small(v, 1, i % KEPT == 0 ? ALQ_UNIT : f.list);
        alq_init_small(v, 2, ALQ_UNIT);
        f.list = v;
    }
    return ALQ_UNIT;
}

static void
its_data_live_and_move(void **state)
{
    static const struct alq_tracker tracker = {
        alone_alloc,   alone_alloc,   alone_promote, alone_dealloc,
        alone_dealloc, alone_release, NULL,          ALQ_TRACKER_VALUES,
    };
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_domain_config small = {.minor_words = 4096};
    struct alq_child *children[2];
    struct alq_profile *profile;
    uint64_t before;

    (void)state;
    memset(&alone, 0, sizeof alone);
    c.rate = 0.05;
    CHECK(alq_memprof_start(d, &c, &tracker, &profile) == ALQ_OK);
    before = n_collected_alone();
    for (unsigned i = 0; i < 2; i++)
        CHECK(alq_domain_spawn(d, keep_some, ALQ_UNIT, NULL, &small,
                               &children[i]) == ALQ_OK);
    keep_some(d, ALQ_UNIT, NULL);
    for (unsigned i = 0; i < 2; i++)
        finish(d, children[i]);
    CHECK(IS_HARD || n_collected_alone() > before + 100 / LESS);
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    bury(d);
    CHECK(alone.n_allocs > 3 * ROUNDS_ALONE * 4 * 0.05 / 2);
    CHECK(alone.n_moves > 0 && alone.n_deaths > 0);
    CHECK(alone.n_deaths + alone.n_live <= alone.n_allocs);
    CHECK(alq_memprof_discard(profile) == ALQ_OK);
    bury(d);
    CHECK(alone.n_live == 0 && live_entries(profile) == 0);
    alq_profile_drop(profile);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(its_data_live_and_move, domains_setup,
                                        domains_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
