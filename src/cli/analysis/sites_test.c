/* sites_test.c -- tallies say what sums would */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "cli/analysis/enter.h"

enum { SITES = 5, BLOCKS = 4000 };

/* What two analyses have that differ in is_exact alone. */
struct both {
    struct alqi_cli_estimator estimator;
    struct alqi_cli_open_sites exact, sampled;
    uint64_t seed;
};

static uint64_t
draw(struct both *b, uint64_t n)
{
    b->seed = alqi_base_mix(b->seed + 1);
    return b->seed % n;
}

static void
both_begin(struct both *b)
{
    static const struct alqi_ctf_info info = {.word_bits = 8, .rate = 1};

    memset(b, 0, sizeof *b);
    b->seed = 3 + alqi_base_test_seed();
    alqi_cli_estimator_init(&b->estimator, &info);
    for (uint32_t i = 0; i < SITES; i++) {
        struct alqi_cli_open_site site = {.node = i, .thread = (uint16_t)i};

        assert_int_equal(alqi_cli_sites_add(&b->exact, &site, true), i);
        assert_int_equal(alqi_cli_sites_add(&b->sampled, &site, false), i);
    }
}

static void
both_end(struct both *b)
{
    alqi_cli_sites_free(&b->exact);
    alqi_cli_sites_free(&b->sampled);
    alqi_cli_estimator_free(&b->estimator);
}

/* A later peak of all colours. */
static void
peak_begin(struct both *b)
{
    for (int k = 0; k < ALQI_VIEW_COLOURS; k++) {
        b->exact.epochs[k]++;
        b->sampled.epochs[k]++;
    }
}

static void
renumber(struct both *b)
{
    static const uint32_t fresh[ALQI_VIEW_COLOURS] = {3, 3, 3};

    alqi_cli_sites_renumber(&b->exact, fresh);
    alqi_cli_sites_renumber(&b->sampled, fresh);
}

/* A chain with a link of one block goes. */
static void
chain_enter(struct both *b, const struct alqi_cli_life *life, double life_us,
            enum alqi_cli_part part)
{
    struct alqi_cli_chain *chain = alqi_cli_chain_new(0);
    struct alqi_cli_weight w =
        alqi_cli_weigh(&b->estimator, life->rate, life->length);
    struct alqi_cli_link *link =
        alqi_cli_chain_leave(chain, life->site, &w, life->n_samples);

    if (draw(b, 2) == 0)
        alqi_cli_enter_colours(&b->estimator, b->exact.epochs, &link->at_peak,
                               7, life, 0, ALQI_VIEW_ALL_COLOURS);
    alqi_cli_enter_links(&b->exact, chain, life_us, part);
    alqi_cli_enter_links(&b->sampled, chain, life_us, part);
    alqi_cli_chain_free(chain);
}

/* The same block dies in both, as `is_exact` has it. */
static void
block_enter(struct both *b, uint64_t id, bool is_exact)
{
    struct alqi_cli_life life = {.length = draw(b, 5000),
                                 .n_samples = draw(b, 9),
                                 .site = (uint32_t)draw(b, SITES)};
    struct alqi_cli_weight w =
        alqi_cli_weigh(&b->estimator, life.rate, life.length);
    double life_us = (double)draw(b, 100000);
    unsigned colours = draw(b, 2) == 0 ? ALQI_VIEW_ALL_COLOURS : 0;
    enum alqi_cli_part part = draw(b, 2) == 0 ? ALQI_CLI_LONG : ALQI_CLI_BRIEF;

    alqi_cli_enter_peak(&b->estimator, &b->exact, id, &life, life_us, colours,
                        is_exact);
    alqi_cli_enter_peak(&b->estimator, &b->sampled, id, &life, life_us, colours,
                        false);
    alqi_cli_enter_part(&b->exact, &life, &w, life_us, part, is_exact);
    alqi_cli_enter_part(&b->sampled, &life, &w, life_us, part, false);
    if (draw(b, 10) == 0)
        chain_enter(b, &life, life_us, part);
}

static void
assert_same_sum(const struct alqi_cli_sum *x, const struct alqi_cli_sum *y)
{
    assert_true(x->bytes == y->bytes && x->objects == y->objects);
    assert_true(x->bytes_var == y->bytes_var &&
                x->bytes_third == y->bytes_third);
    assert_true(x->objects_var == y->objects_var &&
                x->objects_third == y->objects_third);
    assert_true(x->seen_bytes == y->seen_bytes &&
                x->seen_objects == y->seen_objects);
    assert_true(x->life_us == y->life_us && x->null_var == y->null_var);
    assert_true(x->largest_bytes == y->largest_bytes);
    assert_int_equal(x->n_blocks, y->n_blocks);
    assert_int_equal(x->n_samples, y->n_samples);
    assert_int_equal(x->is_peak, y->is_peak);
}

static void
assert_same(struct both *b)
{
    struct alqi_cli_site *exact = alqi_cli_sites_new(&b->exact);
    struct alqi_cli_site *sampled = alqi_cli_sites_new(&b->sampled);

    for (uint32_t i = 0; i < SITES; i++) {
        alqi_cli_sites_measure(&b->exact, i, &exact[i]);
        alqi_cli_sites_measure(&b->sampled, i, &sampled[i]);
        assert_true(exact[i].sums[ALQI_CLI_PEAK].n_blocks > 0);
        for (int m = 0; m < ALQI_CLI_N_MEASURES; m++)
            assert_same_sum(&exact[i].sums[m], &sampled[i].sums[m]);
    }
    free(exact);
    free(sampled);
}

/* Blocks die between peaks; sums are compared while the trace goes on, as for a
 * snapshot. */
static void
tallies_say_what_sums_say(void **state)
{
    struct both b;

    (void)state;
    both_begin(&b);
    for (uint64_t id = 0; id < BLOCKS; id++) {
        if (id % 500 == 100)
            peak_begin(&b);
        if (id % 700 == 300)
            renumber(&b);
        block_enter(&b, id, true);
        if (id % 1000 == 999)
            assert_same(&b);
    }
    both_end(&b);
}

/* The first rate that leaves blocks out comes at any time: before the first
 * peak, between peaks, before the first block. */
static void
a_site_goes_over_as_it_is(void **state)
{
    (void)state;
    for (uint64_t from = 0; from <= 1000; from += 100) {
        struct both b;

        both_begin(&b);
        for (uint64_t id = 0; id < 1200; id++) {
            if (id == from)
                alqi_cli_sites_sample(&b.exact);
            if (id % 500 == 150)
                peak_begin(&b);
            block_enter(&b, id, id < from);
        }
        assert_same(&b);
        both_end(&b);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tallies_say_what_sums_say),
        cmocka_unit_test(a_site_goes_over_as_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
