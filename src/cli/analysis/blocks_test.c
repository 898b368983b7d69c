/* blocks_test.c -- blocks that are joined to be fewer keep the sums */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "cli/analysis/blocks.h"

enum { N_SITES = 3, N_MAX = 1000, EPOCH = 7, SPAN_US = 50000 };

static const uint64_t present[ALQI_VIEW_COLOURS] = {EPOCH, EPOCH + 1, 3};

/* Of bits at random: the present one of that colour, an earlier one, or none.
 */
static uint64_t
moment_of(uint64_t bits, int colour)
{
    return (bits & 1) != 0   ? present[colour]
           : (bits & 2) != 0 ? present[colour] - 1
                             : 0;
}

/* What must not change: sums by site of all blocks, of those that are alive at
 * the end, what they have of the peak. */
struct sums {
    double all[N_SITES], alive[N_SITES], peak[N_SITES], objects[N_SITES];
};

static void
sums_add(struct sums *s, const struct alqi_cli_block *b)
{
    s->all[b->site] += b->bytes;
    s->objects[b->site] += b->objects;
    if (b->is_left)
        s->alive[b->site] += b->bytes;
    s->peak[b->site] += alqi_cli_block_peak_bytes(b, present);
}

/* Bytes are whole, so that sums do not depend on their order. */
static struct alqi_cli_block
draw(uint64_t *seed)
{
    uint64_t r = *seed = alqi_base_mix(*seed + 0x9E3779B97F4A7C15u);
    uint64_t born = r % SPAN_US;

    return (struct alqi_cli_block){
        .born_us = born,
        .died_us = r >> 60 == 0 ? ALQI_CLI_ALIVE : born + (r >> 20) % 1000,
        .moments = {moment_of(r >> 58, 0), moment_of(r >> 56, 1),
                    moment_of(r >> 54, 2)},
        .colour_bytes = (double)(r >> 24 & 4095),
        .bytes = (double)(r >> 32 & 4095),
        .objects = 1,
        .site = (uint32_t)(r >> 8) % N_SITES,
        .thread = (uint16_t)(r >> 16 & 1),
        .is_left = r >> 61 == 0, /* half of them where it ended early */
    };
}

static struct sums
sums_of(const struct alqi_cli_blocks *b)
{
    struct sums s = {0};

    for (uint32_t i = 0; i < b->n_blocks; i++)
        sums_add(&s, &b->blocks[i]);
    return s;
}

static void
sums_survive(void **state)
{
    struct alqi_cli_blocks b;
    struct sums wanted = {0};
    struct sums got;
    uint64_t seed = 1 + alqi_base_test_seed();

    (void)state;
    alqi_cli_blocks_init(&b, N_MAX);
    for (int i = 0; i < 40 * N_MAX; i++) {
        struct alqi_cli_block x = draw(&seed);

        sums_add(&wanted, &x);
        alqi_cli_blocks_take(&b, &x, present);
        assert_true(b.n_blocks <= N_MAX);
    }
    got = sums_of(&b);
    assert_memory_equal(&got, &wanted, sizeof got);
    assert_true(b.n_taken == 40 * N_MAX);
    assert_true(b.step_us > 1);
    for (uint32_t i = 0; i < b.n_blocks; i++)
        assert_true(b.blocks[i].born_us % b.step_us == 0);
    alqi_cli_blocks_free(&b);
}

/* Up to the limit nothing is touched. */
static void
few_blocks_stay_as_they_are(void **state)
{
    struct alqi_cli_blocks b;
    uint64_t seed = 1 + alqi_base_test_seed();

    (void)state;
    alqi_cli_blocks_init(&b, N_MAX);
    for (int i = 0; i < N_MAX; i++) {
        struct alqi_cli_block x = draw(&seed);

        alqi_cli_blocks_take(&b, &x, present);
        assert_true(b.blocks[i].born_us == x.born_us &&
                    b.blocks[i].died_us == x.died_us);
    }
    assert_true(b.step_us == 1 && b.n_blocks == N_MAX);
    alqi_cli_blocks_free(&b);
}

/* More stacks than blocks may be: nothing can be joined, nothing is lost. */
static void
what_cannot_be_joined_is_kept(void **state)
{
    struct alqi_cli_blocks b;

    (void)state;
    alqi_cli_blocks_init(&b, 8);
    for (uint32_t i = 0; i < 100; i++) {
        struct alqi_cli_block x = {.born_us = i,
                                   .died_us = i + 5,
                                   .bytes = 1,
                                   .objects = 1,
                                   .site = i};

        alqi_cli_blocks_take(&b, &x, present);
    }
    assert_true(b.n_blocks == 100);
    alqi_cli_blocks_free(&b);
}

/* In the order of events no block dies before it is born, what is alive is
 * never negative, and every block is born. */
static void
events_are_in_order(void **state)
{
    struct alqi_cli_blocks b;
    struct alqi_cli_block_event *events;
    bool is_alive[N_MAX] = {false};
    uint64_t seed = 5 + alqi_base_test_seed();
    uint32_t n;
    uint32_t n_births = 0;
    uint32_t n_at_one_time = 0;

    (void)state;
    alqi_cli_blocks_init(&b, N_MAX);
    for (int i = 0; i < 3 * N_MAX; i++) {
        struct alqi_cli_block x = draw(&seed);

        alqi_cli_blocks_take(&b, &x, present);
    }
    events = alqi_cli_blocks_events(&b, &n);
    for (uint32_t i = 0; i < n; i++) {
        bool is_birth = ALQI_CLI_IS_BIRTH(&events[i]);

        assert_true(i == 0 || events[i - 1].us <= events[i].us);
        n_at_one_time += i > 0 && events[i - 1].us == events[i].us;
        assert_true(is_alive[events[i].block] == !is_birth);
        is_alive[events[i].block] = is_birth;
        n_births += is_birth;
    }
    assert_true(n_births == b.n_blocks);
    assert_true(n_at_one_time > N_MAX / 4); /* else the order says little */
    for (uint32_t i = 0; i < b.n_blocks; i++)
        assert_true(is_alive[i] == (b.blocks[i].died_us == ALQI_CLI_ALIVE));
    free(events);
    alqi_cli_blocks_free(&b);
}

/* Of many looks at resident memory evenly spaced ones stay. */
static void
resident_is_thinned(void **state)
{
    struct alqi_cli_blocks b;

    (void)state;
    alqi_cli_blocks_init(&b, N_MAX);
    for (uint64_t i = 0; i < 5 * ALQI_CLI_RESIDENT_MAX; i++)
        alqi_cli_blocks_take_resident(&b, i, 10 * i);
    assert_true(b.resident_every == 8);
    assert_true(b.n_resident == 5 * ALQI_CLI_RESIDENT_MAX / 8);
    for (uint32_t i = 0; i < b.n_resident; i++)
        assert_true(b.resident[i].us == 8 * i && b.resident[i].bytes == 80 * i);
    alqi_cli_blocks_free(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_survive),
        cmocka_unit_test(few_blocks_stay_as_they_are),
        cmocka_unit_test(what_cannot_be_joined_is_kept),
        cmocka_unit_test(events_are_in_order),
        cmocka_unit_test(resident_is_thinned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
