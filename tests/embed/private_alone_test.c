/* private_alone_test.c -- what goes on while domains collect alone
 *
 * A node says what it is: field 0 a number, field 1 its hash, then two links.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "heap/state.h"
#include "domains_kit.h"

enum { NUMBER, HASH, LINKS, LINKS_END = LINKS + 2 };

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

static struct alqi_heap *
heap_of(struct alq_domain *on)
{
    return alqi_heap_domain(on)->heap;
}

static uint64_t
n_local_minors(struct alq_domain *on)
{
    return __atomic_load_n(&heap_of(on)->young.n_local_minors,
                           __ATOMIC_RELAXED);
}

/* ---- turns -------------------------------------------------------------- */

struct play {
    int turn;
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
    assert_false(heap_of(d)->young.has_escaped);
}

/* Turn 1, then polls until it is 4. */
static alq_value
poll_till_4(struct alq_domain *on, alq_value arg, void *data)
{
    turn_is(data, 1);
    turn_await(on, data, 4);
    return arg;
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
    before = n_local_minors(d);
    for (i = 0; i < 2; i++)
        assert_int_equal(alq_domain_spawn(d, turn_over, ALQ_UNIT, NULL, &config,
                                          &children[i]),
                         ALQ_OK);
    turn_over(d, ALQ_UNIT, NULL);
    for (i = 0; i < 2; i++)
        finish(d, children[i]);
    assert_int_equal(alq_gc_quick_stat(d, &stats), ALQ_OK);
    assert_true(IS_HARD || n_local_minors(d) > before + 500);
    assert_true(IS_HARD || stats.major_collections >= 5);
}

#define TEST(t)                                                                \
    cmocka_unit_test_setup_teardown(t, domains_setup, domains_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(recent_ones_are_looked_after),
        TEST(cycles_go_on),
    };

    return cmocka_run_group_tests_name("private_alone", tests, NULL, NULL);
}
