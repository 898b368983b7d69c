/* live_model_test.c -- weak arrays, ephemerons and finalisers at random beside
 * a model of them (live_graph.h): in one domain, and in several that come and
 * go */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/test_effort.h"
#include "base/test_seed.h"
#include "domains_kit.h"
#include "live_graph.h"

enum {
    CHECK_EVERY = ALQI_TEST_ROUNDS(500, 100, 100),
    STEPS = ALQI_TEST_ROUNDS(400000, 20000, 4000),
    LIVES = 3, /* of domains, one after another, in each place */
    LIFE_STEPS = STEPS / 8
};

static struct alq_domain_config config = {.minor_words = 4096,
                                          .space_overhead = 1};

static void
at_random(void **state)
{
    uint64_t run;
    unsigned i;

    (void)state;
    for (run = 1; run <= 4; run++) {
        graph_reset(1);
        assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
        graph_enter(d, 0, run, run % 2 == 0);
        for (i = 0; i < STEPS; i++) {
            graph_step();
            if (i % CHECK_EVERY == 0)
                graph_check();
        }
        graph_settle();
        assert_true(graph_calls() > STEPS / 100);
        assert_true(graph_emptied() > STEPS / 100);
        assert_int_equal(alq_status_of(d), ALQ_OK);
        alq_domain_drop(d);
    }
}

/* ---- several domains ---------------------------------------------------- */

struct life {
    unsigned place;
    uint64_t seed;
    bool by_itself;
};

static void
steps(unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        graph_step();
        if (i % CHECK_EVERY == 0)
            graph_check();
    }
}

static alq_value
live(struct alq_domain *on, alq_value arg, void *data)
{
    const struct life *life = data;

    (void)arg;
    graph_enter(on, life->place, life->seed + alqi_base_test_seed(),
                life->by_itself);
    steps(LIFE_STEPS);
    graph_leave();
    CHECK(alq_status_of(on) == ALQ_OK);
    return ALQ_UNIT;
}

/* The test's domain is in place 0, and outlives the others. */
static void
in_several(unsigned n, uint64_t seed)
{
    struct alq_child *children[GRAPH_DOMAINS];
    struct life lives[GRAPH_DOMAINS];
    unsigned life, i;

    graph_reset(n);
    assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
    graph_enter(d, 0, seed + alqi_base_test_seed(), false);
    for (life = 0; life < LIVES; life++) {
        for (i = 1; i < n; i++) {
            lives[i] = (struct life){i, seed + 100 * life + 10 * i, i == 2};
            children[i] = spawn(d, live, ALQ_UNIT, &lives[i]);
        }
        steps(LIFE_STEPS);
        for (i = 1; i < n; i++)
            finish(d, children[i]);
    }
    graph_settle();
    graph_drop();
    graph_settle();
    assert_true(graph_calls() > LIVES * LIFE_STEPS / 100);
    assert_true(graph_emptied() > LIVES * LIFE_STEPS / 100);
    assert_int_equal(alq_status_of(d), ALQ_OK);
    alq_domain_drop(d);
}

static void
in_several_domains(void **state)
{
    uint64_t run;

    (void)state;
    for (run = 1; run <= 6; run++)
        in_several(2 + run % 3, 1000 * run);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_random),
        cmocka_unit_test(in_several_domains),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
