/* churn_test.c -- by how much the peak may lie above what was found of it
 *
 * Nothing is drawn: the sums of the sets are compared with those made of a list
 * of blocks, and the share with the formula where it is easy. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/analysis/churn.h"

static void
near(double got, double wanted)
{
    if (!(fabs(got - wanted) <= 1e-9 * fabs(wanted))) {
        print_message("%.12g is not %.12g\n", got, wanted);
        fail();
    }
}

/* n blocks of one size and chance, live at the moments of these colours. */
static void
gone(struct alqi_cli_churn *c, unsigned colours, int n, double p)
{
    struct alqi_cli_weight w = alqi_cli_weight(100, p);
    struct alqi_cli_weight in_colour =
        alqi_cli_weight(100, alqi_view_colour_chance(p));

    while (n-- > 0)
        alqi_cli_churn_gone(c, colours, &w, &in_colour);
}

/* c standard deviations above the mean, three ways (.def.lack). */
static void
a_height_of_the_sample_tells_that_of_the_heap(void **state)
{
    const double p = 0.4, q = alqi_view_colour_chance(p), height = 2.7;
    struct alqi_cli_churn c = {0};
    double t = 100 * 100 / p, v = t * (1 - p) / p, in_colour = t * (1 - q) / q;
    double found = t / sqrt(t + in_colour);

    (void)state;
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        gone(&c, 1u << k, 50, p);
    near(alqi_cli_churn_lack(&c, height * (sqrt(t + v) - found)),
         height * (sqrt(t) - found));
    assert_true(alqi_cli_churn_lack(&c, 0) == 0);
    assert_true(alqi_cli_churn_lack(&c, -5) == 0);
}

/* Half of the height is the heap's where all blocks stay; where half of those
 * at either moment do, half of that is, of what churn leaves (.def.grow).
 * Blocks that are at no moment tell nothing. */
static void
blocks_that_stay_share_in_the_height(void **state)
{
    struct alqi_cli_churn c = {0};
    double churn;

    (void)state;
    gone(&c, 0, 50, 0.4);
    assert_true(alqi_cli_churn_lack(&c, 1000) == 0);
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        gone(&c, 1u << k, 50, 0.4);
    churn = alqi_cli_churn_lack(&c, 1000);
    assert_true(churn > 100 && churn < 900);
    gone(&c, ALQI_VIEW_ALL_COLOURS, 50, 0.4);
    near(alqi_cli_churn_lack(&c, 1000), churn + (1000 - churn) / 4);
    c = (struct alqi_cli_churn){0};
    gone(&c, ALQI_VIEW_ALL_COLOURS, 50, 0.4);
    near(alqi_cli_churn_lack(&c, 1000), 500);
}

/* A later moment of a colour takes it out of the sets (.inv.moments). */
static void
a_later_moment_forgets_the_one_before(void **state)
{
    struct alqi_cli_churn c = {0}, wanted = {0};

    (void)state;
    gone(&c, 3, 10, 0.4);
    gone(&c, 6, 20, 0.01);
    gone(&c, 1, 30, 0.2);
    alqi_cli_churn_moment(&c, 2);
    gone(&wanted, 1, 10, 0.4);
    gone(&wanted, 4, 20, 0.01);
    gone(&wanted, 1, 30, 0.2);
    for (unsigned m = 0; m <= ALQI_VIEW_ALL_COLOURS; m++) {
        near(c.sums[m].own, wanted.sums[m].own);
        near(c.sums[m].sampled, wanted.sums[m].sampled);
        near(c.sums[m].colour, wanted.sums[m].colour);
    }
    alqi_cli_churn_moment(&c, ALQI_VIEW_ALL_COLOURS);
    assert_true(alqi_cli_churn_lack(&c, 1000) == 0);
}

/* Nearly all blocks are seen: nothing is missed. Nearly none is: what the
 * sample shows is its own noise. */
static void
at_both_ends_there_is_nothing_to_add(void **state)
{
    (void)state;
    for (int is_seen = 0; is_seen < 2; is_seen++) {
        struct alqi_cli_churn c = {0};

        for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
            gone(&c, 1u << k, 50, is_seen ? 1 - 1e-9 : 1e-6);
        assert_true(alqi_cli_churn_lack(&c, is_seen ? 1e-6 : 1000) < 2);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_height_of_the_sample_tells_that_of_the_heap),
        cmocka_unit_test(blocks_that_stay_share_in_the_height),
        cmocka_unit_test(a_later_moment_forgets_the_one_before),
        cmocka_unit_test(at_both_ends_there_is_nothing_to_add),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
