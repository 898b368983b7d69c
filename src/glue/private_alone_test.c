/* private_alone_test.c -- minor collections by a domain alone, and what ends them
 *
 * A node says what it is: field 0 a number, field 1 its hash, then two links.
 * The board is an old block that all domains see. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "heap/state.h"
#include "glue/domains_help.h"

enum {
    NUMBER,
    HASH,
    LINKS,
    LINKS_END = LINKS + 2,
    PLACES = 16, /* of the board */
    KEPT = 12,
    PLAYERS = 3,
    STEPS = IS_HARD ? 500 : 400000,
    SEEDS = IS_HARD ? 3 : 4
};

/* ---- nodes -------------------------------------------------------------- */

static alq_value
hash_of(intptr_t number)
{
    return alq_from_int((intptr_t)(alqi_base_mix((uint64_t)number) >> 2));
}

static alq_value
node(struct alq_domain *on, intptr_t number, alq_value link)
{
    ALQ_FRAME(on, f, link);
    alq_value v;

    f.link = link;
    v = alq_alloc_small(on, LINKS_END, 0);
    CHECK(v != ALQ_NULL);
    alq_init_small(v, NUMBER, alq_from_int(number));
    alq_init_small(v, HASH, hash_of(number));
    alq_init_small(v, LINKS, f.link);
    alq_init_small(v, LINKS + 1, ALQ_UNIT);
    return v;
}

static void
check(alq_value v, int depth)
{
    unsigned i;

    if (!alq_is_block(v) || depth == 0)
        return;
    CHECK(alq_wosize(v) == LINKS_END && alq_tag(v) == 0);
    CHECK(alq_field(v, HASH) == hash_of(alq_to_int(alq_field(v, NUMBER))));
    for (i = LINKS; i < LINKS_END; i++)
        check(alq_field_acquire(v, i), depth - 1);
}

/* Several minor heaps, of which little lives. */
static void
waste(struct alq_domain *on)
{
    ALQ_FRAME(on, f, list);
    struct alq_gc_counts before, now;
    int i = 0;

    CHECK(alq_gc_counters(on, &before) == ALQ_OK);
    f.list = ALQ_UNIT;
    do {
        f.list = node(on, i, i % 64 == 0 ? ALQ_UNIT : f.list);
        if (i++ % 4096 == 0)
            check(f.list, 100);
        CHECK(alq_gc_counters(on, &now) == ALQ_OK);
    } while (now.minor_collections < before.minor_collections + 4);
}

static alq_value
board_new(void)
{
    ALQ_FRAME(d, f, board);
    unsigned i;

    f.board = alq_alloc(d, PLACES, 0);
    CHECK(f.board != ALQ_NULL);
    for (i = 0; i < PLACES; i++)
        alq_store(d, f.board, i, ALQ_UNIT);
    CHECK(alq_gc_minor(d) == ALQ_OK);
    return f.board;
}

static struct alqi_heap *
heap_of(struct alq_domain *on)
{
    return alqi_heap_domain(on)->heap;
}

static uint64_t
n_private(struct alq_domain *on)
{
    return __atomic_load_n(&heap_of(on)->n_private, __ATOMIC_RELAXED);
}

/* ---- turns -------------------------------------------------------------- */

struct play {
    const struct way *way;
    int turn;
    struct alq_global global;
    alq_value pinned; /* no root */
};

static void
turn_await(struct alq_domain *on, struct play *p, int turn)
{
    while (__atomic_load_n(&p->turn, __ATOMIC_ACQUIRE) != turn) {
        alq_poll(on);
        sched_yield();
    }
}

static void
turn_is(struct play *p, int turn)
{
    __atomic_store_n(&p->turn, turn, __ATOMIC_RELEASE);
}

/* Two: the first one may find something shown, and then opens minor heaps for
 * the next one of all. */
static void
be_private(void)
{
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_false(heap_of(d)->shown);
}

/* Turn 1, then polls until it is 4. */
static alq_value
poll_till_4(struct alq_domain *on, alq_value arg, void *data)
{
    turn_is(data, 1);
    turn_await(on, data, 4);
    return arg;
}

/* ---- nobody is stopped -------------------------------------------------- */

/* Polls until it is told to be deaf, then hears nothing until it is told so. */
static alq_value
be_deaf(struct alq_domain *on, alq_value arg, void *data)
{
    struct play *p = data;
    ALQ_FRAME(on, f, arg, mine);

    f.arg = arg;
    f.mine = node(on, 3, ALQ_UNIT);
    turn_is(p, 1);
    turn_await(on, p, 2);
    turn_is(p, 3);
    while (__atomic_load_n(&p->turn, __ATOMIC_ACQUIRE) != 4)
        sched_yield();
    check(f.mine, 1);
    return f.arg;
}

/* It would take for ever if the other one had to come; as it does in hard
 * builds, where each safe point stops all by turns. */
static void
who_shows_nothing_stops_nobody(void **state)
{
    struct play p = {0};
    struct alq_child *child;
    uint64_t before;
    int i;

    (void)state;
    if (IS_HARD)
        skip();
    child = spawn(d, be_deaf, ALQ_UNIT, &p);
    turn_await(d, &p, 1);
    be_private();
    turn_is(&p, 2);
    turn_await(d, &p, 3);
    before = n_private(d);
    for (i = 0; i < 5; i++)
        waste(d);
    assert_true(n_private(d) >= before + 20);
    turn_is(&p, 4);
    finish(d, child);
}

/* ---- what is shown ------------------------------------------------------ */

struct way {
    const char *name;
    void (*show)(struct alq_domain *on, struct play *p, alq_value board,
                 alq_value v);
    alq_value (*take)(struct alq_domain *on, struct play *p, alq_value board);
};

static void
show_field(struct alq_domain *on, struct play *p, alq_value board, alq_value v)
{
    (void)p;
    alq_store(on, board, 3, v);
}

static alq_value
take_field(struct alq_domain *on, struct play *p, alq_value board)
{
    (void)on;
    (void)p;
    return alq_field(board, 3);
}

static void
show_exchange(struct alq_domain *on, struct play *p, alq_value board,
              alq_value v)
{
    alq_value before = ALQ_UNIT;

    (void)p;
    CHECK(alq_field_compare_exchange(on, board, 3, &before, v));
}

static void
show_global(struct alq_domain *on, struct play *p, alq_value board, alq_value v)
{
    (void)board;
    p->global.value = v;
    CHECK(alq_global_add(on, &p->global) == ALQ_OK);
}

static void
write_global(struct alq_domain *on, struct play *p, alq_value board,
             alq_value v)
{
    (void)on;
    (void)board;
    p->global.value = v;
}

static alq_value
take_global(struct alq_domain *on, struct play *p, alq_value board)
{
    alq_value v = p->global.value;

    (void)board;
    alq_global_remove(on, &p->global);
    return v;
}

static void
show_weak(struct alq_domain *on, struct play *p, alq_value board, alq_value v)
{
    (void)p;
    CHECK(alq_weak_set(on, alq_field(board, 0), 1, v) == ALQ_OK);
}

static alq_value
take_weak(struct alq_domain *on, struct play *p, alq_value board)
{
    (void)p;
    return alq_weak_get(on, alq_field(board, 0), 1);
}

static void
show_key(struct alq_domain *on, struct play *p, alq_value board, alq_value v)
{
    (void)p;
    CHECK(alq_ephe_set_key(on, alq_field(board, 1), 0, v) == ALQ_OK);
}

static alq_value
take_key(struct alq_domain *on, struct play *p, alq_value board)
{
    (void)p;
    return alq_ephe_get_key(on, alq_field(board, 1), 0);
}

static void
show_data(struct alq_domain *on, struct play *p, alq_value board, alq_value v)
{
    CHECK(alq_ephe_set_key(on, alq_field(board, 1), 0, board) == ALQ_OK);
    CHECK(alq_ephe_set_data(on, alq_field(board, 1), v) == ALQ_OK);
    (void)p;
}

static alq_value
take_data(struct alq_domain *on, struct play *p, alq_value board)
{
    (void)p;
    return alq_ephe_get_data(on, alq_field(board, 1));
}

/* In a young block of the taker's that it has shown: no barrier sees that. */
static void
show_in_young(struct alq_domain *on, struct play *p, alq_value board,
              alq_value v)
{
    (void)p;
    alq_store(on, alq_field(board, 4), LINKS, v);
}

static alq_value
take_from_young(struct alq_domain *on, struct play *p, alq_value board)
{
    (void)on;
    (void)p;
    return alq_field(alq_field(board, 4), LINKS);
}

static const struct way ways[] = {
    {"field", show_field, take_field},
    {"exchange", show_exchange, take_field},
    {"global", show_global, take_global},
    {"weak", show_weak, take_weak},
    {"ephemeron's key", show_key, take_key},
    {"ephemeron's data", show_data, take_data},
    {"young block of the other", show_in_young, take_from_young},
};

/* 1 -> it shows, 2 -> the other has taken, both collect, 3 -> it has changed
 * the block, 4 -> the other has seen that. */
static alq_value
show_it(struct alq_domain *on, alq_value arg, void *data)
{
    struct play *p = data;
    ALQ_FRAME(on, f, board, v);

    f.board = arg;
    turn_is(p, -2);
    turn_await(on, p, -1);
    f.v = node(on, 7, ALQ_UNIT);
    CHECK(alqi_heap_is_young(alqi_heap_domain(on), f.v) || IS_HARD);
    p->way->show(on, p, f.board, f.v);
    turn_is(p, 1);
    turn_await(on, p, 2);
    waste(on);
    alq_store(on, f.v, LINKS + 1, alq_from_int(42));
    turn_is(p, 3);
    turn_await(on, p, 4);
    return ALQ_UNIT;
}

static alq_value
board_for_ways(void)
{
    ALQ_FRAME(d, f, board, v);

    f.board = board_new();
    f.v = alq_weak_create(d, 4);
    CHECK(f.v != ALQ_NULL);
    alq_store(d, f.board, 0, f.v);
    f.v = alq_ephe_create(d, 1);
    CHECK(f.v != ALQ_NULL);
    alq_store(d, f.board, 1, f.v);
    return f.board;
}

static void
shown_one_way(const struct way *way)
{
    struct play p = {.way = way};
    ALQ_FRAME(d, f, board, v, own);
    struct alq_child *child;

    f.board = board_for_ways();
    child = spawn(d, show_it, f.board, &p);
    turn_await(d, &p, -2);
    be_private();
    if (way->show == show_in_young) {
        f.v = node(d, 9, ALQ_UNIT);
        alq_store(d, f.board, 4, f.v);
    }
    turn_is(&p, -1);
    turn_await(d, &p, 1);
    f.v = way->take(d, &p, f.board);
    assert_true(alq_is_block(f.v));
    f.own = node(d, 8, f.v);
    turn_is(&p, 2);
    waste(d);
    turn_await(d, &p, 3);
    check(f.own, 3);
    assert_int_equal(alq_field(f.own, LINKS), f.v);
    assert_int_equal(alq_field(f.v, NUMBER), alq_from_int(7));
    assert_int_equal(alq_field(f.v, LINKS + 1), alq_from_int(42));
    turn_is(&p, 4);
    finish(d, child);
}

static void
what_is_shown_is_collected_with_all(void **state)
{
    size_t i, k;

    (void)state;
    for (k = 0; k < 3; k++)
        for (i = 0; i < sizeof ways / sizeof *ways; i++)
            shown_one_way(&ways[i]);
}

/* It is there before, during and after: any domain may write it. */
static void
a_global_is_shown_as_long_as_it_is_there(void **state)
{
    static const struct way way = {"", write_global, take_global};
    struct play p = {.way = &way};
    ALQ_FRAME(d, f, v, own);
    struct alq_child *child;
    int i;

    (void)state;
    p.global.value = ALQ_UNIT;
    assert_int_equal(alq_global_add(d, &p.global), ALQ_OK);
    child = spawn(d, show_it, ALQ_UNIT, &p);
    turn_await(d, &p, -2);
    for (i = 0; i < 3; i++)
        assert_int_equal(alq_gc_minor(d), ALQ_OK);
    turn_is(&p, -1);
    turn_await(d, &p, 1);
    f.v = p.global.value;
    p.global.value = ALQ_UNIT;
    f.own = node(d, 8, f.v);
    turn_is(&p, 2);
    waste(d);
    turn_await(d, &p, 3);
    check(f.own, 3);
    assert_int_equal(alq_field(f.v, LINKS + 1), alq_from_int(42));
    turn_is(&p, 4);
    finish(d, child);
    alq_global_remove(d, &p.global);
}

/* ---- what is done in stops ---------------------------------------------- */

static int n_told;

static enum alq_status
tell(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)on;
    (void)v;
    (void)with;
    n_told++;
    return ALQ_OK;
}

/* Beside a domain that polls: deaths are told, weak references follow. */
static void
recent_ones_are_looked_after(void **state)
{
    struct play p = {0};
    struct alq_child *child = spawn(d, poll_till_4, ALQ_UNIT, &p);
    ALQ_FRAME(d, f, weak, v);

    (void)state;
    turn_await(d, &p, 1);
    be_private();
    n_told = 0;
    f.v = node(d, 1, ALQ_UNIT);
    assert_int_equal(alq_gc_finalise_last(d, f.v, tell, ALQ_UNIT), ALQ_OK);
    f.v = ALQ_UNIT;
    waste(d);
    alq_poll(d);
    assert_int_equal(n_told, 1);
    be_private();
    f.weak = alq_weak_create(d, 2);
    f.v = node(d, 2, ALQ_UNIT);
    assert_int_equal(alq_weak_set(d, f.weak, 0, f.v), ALQ_OK);
    waste(d);
    assert_int_equal(alq_weak_get(d, f.weak, 0), f.v);
    turn_is(&p, 4);
    finish(d, child);
}

/* ---- cycles ------------------------------------------------------------- */

enum { RING = 32768, TURNS = IS_HARD ? 200 : 3000000 };

/* A ring of nodes that are replaced; young ones are never in old ones. */
static alq_value
turn_over(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, list);
    int i;

    (void)arg;
    (void)data;
    f.list = ALQ_UNIT;
    for (i = 0; i < TURNS; i++)
        f.list = node(on, i, i % RING == 0 ? ALQ_UNIT : f.list);
    check(f.list, 100);
    return ALQ_UNIT;
}

/* Each promotes what would fill the heap of a cycle many times over. */
static void
cycles_go_on(void **state)
{
    struct alq_domain_config config = {.minor_words = 8192};
    struct alq_child *children[2];
    struct alq_gc_stats stats;
    uint64_t before;
    int i;

    (void)state;
    before = n_private(d);
    for (i = 0; i < 2; i++)
        assert_int_equal(alq_domain_spawn(d, turn_over, ALQ_UNIT, NULL, &config,
                                          &children[i]),
                         ALQ_OK);
    turn_over(d, ALQ_UNIT, NULL);
    for (i = 0; i < 2; i++)
        finish(d, children[i]);
    assert_int_equal(alq_gc_quick_stat(d, &stats), ALQ_OK);
    assert_true(IS_HARD || n_private(d) > before + 500);
    assert_true(IS_HARD || stats.major_collections >= 5);
}

/* ---- arguments and results ---------------------------------------------- */

static alq_value
be_quick(struct alq_domain *on, alq_value arg, void *data)
{
    (void)data;
    (void)arg;
    return tree(on, 6);
}

/* Neither is anywhere else for a while. */
static alq_value
keep_it(struct alq_domain *on, alq_value arg, void *data)
{
    struct play *p = data;
    ALQ_FRAME(on, f, arg, own);

    f.arg = arg;
    f.own = node(on, 6, f.arg);
    turn_is(p, 1);
    turn_await(on, p, 2);
    check(f.own, 3);
    CHECK(alq_field(alq_field(f.own, LINKS), NUMBER) == alq_from_int(5));
    return node(on, 4, f.own);
}

static void
arguments_and_results_are_shown(void **state)
{
    struct play p = {0};
    struct alq_child *child;
    ALQ_FRAME(d, f, v);
    int i;

    (void)state;
    finish(d, spawn(d, be_quick, ALQ_UNIT, NULL)); /* there are several slots */
    for (i = 0; i < (IS_HARD ? 3 : 30); i++) {
        p.turn = 0;
        be_private();
        f.v = node(d, 5, ALQ_UNIT);
        child = spawn(d, keep_it, f.v, &p);
        if (i % 2 == 0)
            turn_await(d, &p, 1);
        waste(d);
        turn_await(d, &p, 1);
        turn_is(&p, 2);
        waste(d);
        f.v = finish(d, child);
        check(f.v, 4);
        assert_int_equal(alq_field(f.v, NUMBER), alq_from_int(4));
    }
}

/* ---- pins --------------------------------------------------------------- */

static alq_value
pin_it(struct alq_domain *on, alq_value arg, void *data)
{
    struct play *p = data;
    ALQ_FRAME(on, f, v);
    alq_value at;

    turn_is(p, 1);
    turn_await(on, p, 2);
    f.v = at = node(on, 5, ALQ_UNIT);
    CHECK(alq_pin(on, f.v) == ALQ_OK);
    waste(on);
    CHECK(f.v == at);
    check(at, 1);
    CHECK(alq_unpin(on, f.v) == ALQ_OK);
    waste(on);
    check(f.v, 1);
    turn_is(p, 3);
    return arg;
}

static void
what_is_pinned_stays(void **state)
{
    struct play p = {0};
    struct alq_child *child = spawn(d, pin_it, ALQ_UNIT, &p);

    (void)state;
    turn_await(d, &p, 1);
    be_private();
    turn_is(&p, 2);
    turn_await(d, &p, 3);
    finish(d, child);
}

/* ---- at random ---------------------------------------------------------- */

struct player {
    uint64_t random;
    uint64_t id;
};

static uint64_t
below(struct player *me, uint64_t n)
{
    return alqi_base_mix(me->random++) % n;
}

/* By turns: thousands of steps without, and with some. */
static bool
is_social(struct player *me, int step)
{
    return step / (STEPS / 8) % 2 == 1 && below(me, 50) == 0;
}

static void
share(struct alq_domain *on, struct player *me, alq_value board,
      alq_value *mine)
{
    alq_value taken, place = below(me, PLACES);

    switch (below(me, 4)) {
    case 0:
        alq_store(on, board, place, *mine);
        break;
    case 1:
        taken = alq_field_acquire(board, place);
        check(taken, 3);
        if (alq_is_block(taken))
            *mine = taken;
        break;
    case 2: /* what others may know now knows what is mine */
        taken = alq_field_acquire(board, place);
        if (alq_is_block(taken))
            alq_store(on, taken, LINKS + below(me, 2), *mine);
        break;
    default:
        taken = alq_field_acquire(board, place);
        if (alq_is_block(taken))
            alq_field_exchange(on, taken, LINKS + below(me, 2), ALQ_UNIT);
    }
}

static alq_value
play_on(struct alq_domain *on, alq_value arg, void *data)
{
    struct player *me = data;
    ALQ_FRAME(on, f, board, kept[KEPT]);
    int i;

    f.board = arg;
    for (i = 0; i < KEPT; i++)
        f.kept[i] = ALQ_UNIT;
    for (i = 0; i < STEPS; i++) {
        uint64_t k = below(me, KEPT);

        f.kept[k] =
            node(on, (intptr_t)(me->id << 32 | (uint64_t)i),
                 below(me, 8) == 0 ? ALQ_UNIT : f.kept[below(me, KEPT)]);
        if (below(me, 4096) == 0)
            f.kept[k] = ALQ_UNIT;
        if (is_social(me, i))
            share(on, me, f.board, &f.kept[k]);
        if (i % 64 == 0)
            check(f.kept[below(me, KEPT)], 8);
    }
    for (i = 0; i < KEPT; i++)
        check(f.kept[i], 100);
    return f.kept[0];
}

static void
run(uint64_t seed)
{
    struct alq_domain_config config = {.minor_words = 8192};
    struct alq_child *children[PLAYERS];
    struct player players[PLAYERS + 1];
    ALQ_FRAME(d, f, board);
    uint64_t i;

    f.board = board_new();
    for (i = 0; i <= PLAYERS; i++)
        players[i] = (struct player){seed << 40 | i << 32, i};
    for (i = 0; i < PLAYERS; i++)
        assert_int_equal(alq_domain_spawn(d, play_on, f.board, &players[i],
                                          &config, &children[i]),
                         ALQ_OK);
    check(play_on(d, f.board, &players[PLAYERS]), 100);
    for (i = 0; i < PLAYERS; i++)
        check(finish(d, children[i]), 100);
    for (i = 0; i < PLACES; i++)
        check(alq_field(f.board, i), 100);
}

static void
at_random(void **state)
{
    uint64_t seed, before = n_private(d);

    (void)state;
    for (seed = 1; seed <= SEEDS; seed++)
        run(seed);
    assert_true(n_private(d) > before + (IS_HARD ? 10 : 100));
}

/* ---- they come and go --------------------------------------------------- */

static alq_value
come_and_go(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, mine);
    int i;

    (void)data;
    f.mine = node(on, 1, ALQ_UNIT);
    for (i = 0; i < (IS_HARD ? 3 : 30); i++) {
        CHECK(tree_size(finish(on, spawn(on, be_quick, f.mine, NULL))) == 63);
        if (!IS_HARD)
            waste(on);
        check(f.mine, 1);
    }
    return arg;
}

static void
domains_come_and_go(void **state)
{
    struct alq_child *children[2];
    int i;

    (void)state;
    for (i = 0; i < 2; i++)
        children[i] = spawn(d, come_and_go, ALQ_UNIT, NULL);
    come_and_go(d, ALQ_UNIT, NULL);
    for (i = 0; i < 2; i++)
        finish(d, children[i]);
}

#define TEST(t)                                                                \
    cmocka_unit_test_setup_teardown(t, domains_setup, domains_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_shows_nothing_stops_nobody),
        TEST(what_is_shown_is_collected_with_all),
        TEST(a_global_is_shown_as_long_as_it_is_there),
        TEST(recent_ones_are_looked_after),
        TEST(cycles_go_on),
        TEST(arguments_and_results_are_shown),
        TEST(what_is_pinned_stays),
        TEST(at_random),
        TEST(domains_come_and_go),
    };

    return cmocka_run_group_tests_name("private_alone", tests, NULL, NULL);
}
