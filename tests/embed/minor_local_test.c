/* minor_local_test.c -- what domains keep while each collects by itself
 *
 * By public calls alone.  A domain may collect its minor heap without the
 * others when they cannot know a block of it: so each way to make one known is
 * tried, and after each both domains allocate, together and one after the
 * other, and must still hold the same block. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "domains_kit.h"
#include "minor_local_kit.h"
#include "base/skip.h"
#include "value_kit.h"

enum {
    ROUNDS = ALQI_TEST_ROUNDS(12, 4, 2), /* of each way to show */
    MINOR_WORDS = 8192,
    GIVE_UP_S = 600
};

/* Marking would ask for a stop: with this it is never due. */
static void
begin_anew(size_t minor_words)
{
    struct alq_domain_config config = {minor_words, 1000000, 0, 0, 0};

    assert_int_equal(alq_domain_drop(d), ALQ_OK);
    assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
}

static struct alq_child *
spawn_sized(alq_domain_fn *fn, alq_value arg, void *data, size_t minor_words)
{
    struct alq_domain_config config = {minor_words, 0, 0, 0, 0};
    struct alq_child *child = NULL;

    CHECK(alq_domain_spawn(d, fn, arg, data, &config, &child) == ALQ_OK);
    return child;
}

/* ---- pairs -------------------------------------------------------------- */

struct pair {
    const struct way *way;
    struct alq_child *child; /* of a third one */
    int n_met;               /* by both; atomic */
    int blocks;              /* who waits: otherwise polls */
    int rounds;
};

struct side {
    struct alq_domain *on;
    struct pair *pair;
    int n_met;
    int is_a;
};

static void
meet(struct side *s)
{
    int *n = &s->pair->n_met, all = 2 * ++s->n_met;

    __atomic_add_fetch(n, 1, __ATOMIC_ACQ_REL);
    if (s->pair->blocks) {
        ALQ_BLOCKING(s->on, blocks);

        while (__atomic_load_n(n, __ATOMIC_ACQUIRE) < all)
            sched_yield();
    }
    while (__atomic_load_n(n, __ATOMIC_ACQUIRE) < all) {
        alq_poll(s->on);
        sched_yield();
    }
}

/* In frames, and in young blocks of its own that are promoted. */
static alq_value
keep(struct alq_domain *on, alq_value v)
{
    ALQ_FRAME(on, f, v, list, at);
    int i;

    f.v = v;
    f.list = ALQ_UNIT;
    for (i = 0; i < 4; i++) {
        f.list = item_new(on, f.v, f.list);
        churn(on, i % 2 == 0 ? 1 : 2);
    }
    for (f.at = f.list; i > 0; i--, f.at = alq_field(f.at, 1))
        CHECK(alq_is_same(alq_field(f.at, 0), f.v));
    return f.v;
}

/* Both allocate: at once, or the one while the other waits. */
static alq_value
keep_both(struct side *s, alq_value v, int round)
{
    ALQ_FRAME(s->on, f, v);

    f.v = v;
    if (round % 3 == 0) {
        f.v = keep(s->on, f.v);
        meet(s);
        return f.v;
    }
    if (s->is_a == (round % 3 == 1))
        f.v = keep(s->on, f.v);
    meet(s);
    if (s->is_a != (round % 3 == 1))
        f.v = keep(s->on, f.v);
    meet(s);
    return f.v;
}

/* One block for both: by address, and what one writes the other reads. */
static alq_value
same_check(struct side *s, alq_value v, intptr_t id)
{
    ALQ_FRAME(s->on, f, v, table);

    f.v = v;
    f.table = alq_field(v, TABLE);
    thing_check(f.v, id);
    alq_store(s->on, f.table, s->is_a ? BY_A : BY_B, f.v);
    if (s->is_a)
        alq_store(s->on, f.v, COUNT, alq_from_int(id + 1));
    meet(s);
    CHECK(alq_is_same(alq_field(f.table, BY_A), f.v) &&
          alq_is_same(alq_field(f.table, BY_B), f.v));
    CHECK(alq_to_int(alq_field(f.v, COUNT)) == id + 1);
    meet(s);
    if (!s->is_a)
        alq_store(s->on, f.v, COUNT, alq_from_int(id + 2));
    alq_store(s->on, f.table, s->is_a ? BY_A : BY_B, ALQ_UNIT);
    meet(s);
    CHECK(alq_to_int(alq_field(f.v, COUNT)) == id + 2);
    return f.v;
}

/* Of all domains, the second one after no block had escaped. */
static void
collect_twice(struct alq_domain *on)
{
    CHECK(alq_gc_minor(on) == ALQ_OK);
    CHECK(alq_gc_minor(on) == ALQ_OK);
}

/* Nothing young is known to both; then each collects as it likes. */
static void
be_apart(struct side *s)
{
    meet(s);
    if (s->is_a)
        collect_twice(s->on);
    meet(s);
    churn(s->on, 2);
    meet(s);
}

/* ---- what escapes ------------------------------------------------------ */

/* Hidden at once, so that frames and own blocks alone lead to it, or at last;
 * by A or by B. */
static alq_value
show_side(struct side *s, alq_value table)
{
    const struct way *way = s->pair->way;
    ALQ_FRAME(s->on, f, table, v);
    int round;

    f.table = table;
    for (round = 0; round < s->pair->rounds; round++) {
        int hides = (round / 2 % 2 == 0) == s->is_a;

        if (s->is_a && way->prepare != NULL)
            way->prepare(s->on);
        be_apart(s);
        if (s->is_a) {
            f.v = thing_new(s->on, f.table, round);
            way->show(s->on, f.table, f.v);
        }
        meet(s);
        if (!s->is_a)
            f.v = way->take(s->on, f.table);
        meet(s);
        if (hides && round % 2 == 0)
            way->hide(s->on, f.table);
        f.v = keep_both(s, f.v, round);
        if (hides && round % 2 == 1)
            way->hide(s->on, f.table);
        f.v = same_check(s, f.v, round);
        f.v = ALQ_UNIT;
    }
    meet(s);
    return f.table;
}

static alq_value
see(struct alq_domain *on, alq_value arg, void *data)
{
    struct side s = {on, data, 0, 0};

    return show_side(&s, arg);
}

static void
what_escapes_is_collected_with_all(void **state)
{
    ALQ_FRAME(d, f, table);
    unsigned i;

    (void)state;
    for (i = 0; i < 2 * N_WAYS; i++) {
        struct pair pair = {&ways[i / 2], NULL, 0, i % 2 == 1, ROUNDS};
        struct side s = {d, &pair, 0, 1};
        struct alq_child *child;

        print_message("%s\n", pair.way->name);
        f.table = table_new();
        child = spawn_sized(see, f.table, &pair, MINOR_WORDS);
        show_side(&s, f.table);
        finish(d, child);
    }
}

/* ---- arguments and results ---------------------------------------------- */

static alq_value
see_argument(struct alq_domain *on, alq_value arg, void *data)
{
    struct side s = {on, data, 0, 0};
    ALQ_FRAME(on, f, v);
    int round = s.pair->rounds;

    f.v = arg;
    f.v = keep_both(&s, f.v, round);
    return same_check(&s, f.v, round);
}

/* The argument is young, and so is the result. */
static void
an_argument_escapes(void **state)
{
    ALQ_FRAME(d, f, table, v, back);
    int round;

    (void)state;
    f.table = table_new();
    for (round = 0; round < ROUNDS; round++) {
        struct pair pair = {NULL, NULL, 0, round % 2, round};
        struct side s = {d, &pair, 0, 1};
        struct alq_child *child;

        collect_twice(d);
        f.v = thing_new(d, f.table, round);
        child = spawn_sized(see_argument, f.v, &pair, MINOR_WORDS);
        f.v = keep_both(&s, f.v, round);
        f.v = same_check(&s, f.v, round);
        churn(d, 1);
        f.back = finish(d, child);
        assert_same(f.back, f.v);
    }
}

static alq_value
make_result(struct alq_domain *on, alq_value arg, void *data)
{
    struct pair *pair = data;
    ALQ_FRAME(on, f, table);

    f.table = arg;
    churn(on, 2);
    return thing_new(on, f.table, pair->rounds);
}

static alq_value
see_result(struct alq_domain *on, alq_value arg, void *data)
{
    struct side s = {on, data, 0, 0};
    ALQ_FRAME(on, f, arg, v);
    int round = s.pair->rounds;

    f.arg = arg;
    meet(&s);
    churn(on, 1);
    f.v = join(on, s.pair->child);
    f.v = keep_both(&s, f.v, round);
    return same_check(&s, f.v, round);
}

/* Two join a third one, whose result is young when it returns. */
static void
a_result_escapes(void **state)
{
    ALQ_FRAME(d, f, table, v);
    int round;

    (void)state;
    f.table = table_new();
    for (round = 0; round < ROUNDS; round++) {
        struct pair pair = {NULL, NULL, 0, round % 2, round};
        struct side s = {d, &pair, 0, 1};
        struct alq_child *child;
        alq_value other;

        child = spawn_sized(see_result, ALQ_UNIT, &pair, MINOR_WORDS);
        pair.child = spawn_sized(make_result, f.table, &pair, MINOR_WORDS);
        meet(&s);
        collect_twice(d);
        f.v = join(d, pair.child);
        f.v = keep_both(&s, f.v, round);
        f.v = same_check(&s, f.v, round);
        other = finish(d, child); /* it may move f.v */
        assert_same(other, f.v);
        alq_child_drop(pair.child);
    }
}

/* ---- chains ------------------------------------------------------------- */

/* B shows X, A stores a young Y in X, B reads it.  Every other time A forgets
 * all of it meanwhile, and Y escapes to it anew. */
static void
chain_round(struct side *s, alq_value table, int round)
{
    ALQ_FRAME(s->on, f, table, x, y);
    int forgets = s->is_a && round % 2 == 1;

    f.table = table;
    be_apart(s);
    if (!s->is_a) {
        f.x = thing_new(s->on, f.table, round);
        alq_store(s->on, f.table, PLACE, f.x);
    }
    meet(s);
    if (s->is_a) {
        f.y = thing_new(s->on, f.table, round + 1000);
        f.x = take_place(s->on, f.table);
        alq_store(s->on, f.x, LINK, f.y);
        hide_place(s->on, f.table);
    }
    if (forgets)
        f.x = f.y = ALQ_UNIT;
    meet(s);
    if (!s->is_a && round % 4 < 2)
        f.y = alq_field_acquire(f.x, LINK);
    f.y = keep_both(s, forgets || alq_is_null(f.y) ? ALQ_UNIT : f.y, round / 2);
    if (!s->is_a) {
        CHECK(alq_is_same(f.y, ALQ_UNIT) ||
              alq_is_same(alq_field_acquire(f.x, LINK), f.y));
        f.y = alq_field_acquire(f.x, LINK);
        thing_check(f.x, round);
        alq_store(s->on, f.table, PLACE, f.y);
    }
    meet(s);
    if (s->is_a)
        f.y = take_place(s->on, f.table);
    same_check(s, f.y, round + 1000);
}

static alq_value
chain_side(struct side *s, alq_value table)
{
    ALQ_FRAME(s->on, f, table);
    int round;

    f.table = table;
    for (round = 0; round < s->pair->rounds; round++) {
        chain_round(s, f.table, round);
        meet(s);
        if (s->is_a)
            hide_place(s->on, f.table);
    }
    meet(s);
    return f.table;
}

/* Young blocks of the two by turns: each links one of its own to the last one
 * of the other.  Then A has the last one, B the first. */
static alq_value
to_and_fro_side(struct side *s, alq_value table)
{
    enum { LENGTH = 20 };
    ALQ_FRAME(s->on, f, table, first, v, last);
    int i, round;

    f.table = table;
    for (round = 0; round < s->pair->rounds; round++) {
        be_apart(s);
        for (i = 0; i < LENGTH; i++) {
            if (s->is_a == i % 2) {
                f.v = thing_new(s->on, f.table, i);
                f.last = take_place(s->on, f.table);
                if (i > 0)
                    alq_store(s->on, f.last, LINK, f.v);
                alq_store(s->on, f.table, PLACE, f.v);
            }
            if (i == 0 && !s->is_a)
                f.first = f.v;
            meet(s);
        }
        f.v = s->is_a ? take_place(s->on, f.table) : f.first;
        f.last = f.first = ALQ_UNIT;
        meet(s);
        if (s->is_a)
            hide_place(s->on, f.table);
        f.v = keep_both(s, f.v, round);
        for (i = 0; !s->is_a && i < LENGTH - 1; i++) {
            thing_check(f.v, i);
            f.v = alq_field_acquire(f.v, LINK);
        }
        same_check(s, f.v, LENGTH - 1);
    }
    meet(s);
    return f.table;
}

static alq_value
see_chain(struct alq_domain *on, alq_value arg, void *data)
{
    struct side s = {on, data, 0, 0};

    return chain_side(&s, arg);
}

static alq_value
see_to_and_fro(struct alq_domain *on, alq_value arg, void *data)
{
    struct side s = {on, data, 0, 0};

    return to_and_fro_side(&s, arg);
}

static void
chains_of_young_blocks_escape(void **state)
{
    ALQ_FRAME(d, f, table);
    int i;

    (void)state;
    for (i = 0; i < 4; i++) {
        struct pair pair = {NULL, NULL, 0, i % 2, i < 2 ? 2 * ROUNDS : ROUNDS};
        struct side s = {d, &pair, 0, 1};
        struct alq_child *child;

        f.table = table_new();
        child = spawn_sized(i < 2 ? see_chain : see_to_and_fro, f.table, &pair,
                            MINOR_WORDS);
        if (i < 2)
            chain_side(&s, f.table);
        else
            to_and_fro_side(&s, f.table);
        finish(d, child);
    }
}

/* ---- roots -------------------------------------------------------------- */

/* A thread of the domain that blocks, with values in its frame. */
static void *
stand_by(void *arg)
{
    struct gate *gate = arg;
    struct alq_thread *thread = NULL;

    CHECK(alq_thread_attach(d, &thread) == ALQ_OK);
    {
        ALQ_FRAME(d, f, tree, text);

        f.text = text_new(d, 77);
        f.tree = tree(d, 5);
        through_gate(d, ALQ_UNIT, gate);
        CHECK(tree_size(f.tree) == 31);
        text_check(f.text, 77);
    }
    CHECK(alq_thread_detach(thread) == ALQ_OK);
    return NULL;
}

struct scanned {
    alq_value values[4];
};

static void
scan(void *arg, void (*visit)(void *visit_arg, alq_value *slot),
     void *visit_arg)
{
    struct scanned *scanned = arg;
    unsigned i;

    for (i = 0; i < ALQI_COUNT_OF(scanned->values); i++)
        visit(visit_arg, &scanned->values[i]);
}

/* Roots of all kinds but globals and pins, renewed between collections. */
static void
roots_churn(int times)
{
    struct scanned scanned = {{ALQ_UNIT, ALQ_UNIT, ALQ_UNIT, ALQ_UNIT}};
    struct alq_scanner scanner = {.scan = scan, .arg = &scanned};
    alq_value values[4] = {ALQ_UNIT, ALQ_UNIT, ALQ_UNIT, ALQ_UNIT};
    alq_value *top = values;
    struct alq_range range = {.base = values, .top = &top};
    struct alq_root *root = alq_root_new(d, ALQ_UNIT);
    int i, k;

    assert_non_null(root);
    assert_int_equal(alq_range_add(d, &range), ALQ_OK);
    assert_int_equal(alq_scanner_add(d, &scanner), ALQ_OK);
    for (i = 0; i < times; i++) {
        for (k = 0, top = values; k < 4; k++) {
            scanned.values[k] = text_new(d, i + k);
            values[k] = text_new(d, i - k);
            top = values + k + 1;
        }
        alq_root_set(d, root, tree(d, 4));
        churn(d, 2);
        for (k = 0; k < 4; k++) {
            text_check(scanned.values[k], i + k);
            text_check(values[k], i - k);
        }
        assert_int_equal(tree_size(alq_root_get(root)), 15);
    }
    alq_scanner_remove(d, &scanner);
    alq_range_remove(d, &range);
    alq_root_drop(d, root);
}

static void
thread_join(pthread_t thread)
{
    ALQ_BLOCKING(d, blocks);

    pthread_join(thread, NULL);
}

/* The other domain blocks meanwhile, and so does a thread of this one. */
static void
roots_of_each_kind_are_found(void **state)
{
    struct gate others = GATE, own = GATE;
    struct alq_child *child = spawn(d, through_gate, ALQ_UNIT, &others);
    pthread_t thread;

    (void)state;
    gate_await(&others, 1);
    assert_int_equal(pthread_create(&thread, NULL, stand_by, &own), 0);
    gate_await(&own, 1);
    roots_churn(IS_HARD ? 2 : 10);
    gate_open(&own);
    thread_join(thread);
    gate_open(&others);
    finish(d, child);
}

/* ---- nobody is stopped -------------------------------------------------- */

struct deaf {
    int is_ready;
    int is_told;
    int is_deaf;
    int may_hear;
    int gave_up;
};

static int
get(int *flag)
{
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void
set(int *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

static void
await(struct alq_domain *on, int *flag)
{
    while (!get(flag)) {
        alq_poll(on);
        sched_yield();
    }
}

static time_t
seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Has young blocks of its own, and no safe point until it may hear: nothing of
 * it moves, and it takes part in nothing. */
static alq_value
be_deaf(struct alq_domain *on, alq_value arg, void *data)
{
    struct deaf *deaf = data;
    ALQ_FRAME(on, f, arg, mine);
    time_t end;
    uint64_t before;
    alq_value at;

    f.arg = arg;
    f.mine = tree(on, 6);
    set(&deaf->is_ready);
    await(on, &deaf->is_told);
    f.mine = tree(on, 6);
    at = f.mine;
    before = minors(on);
    end = seconds() + GIVE_UP_S;
    set(&deaf->is_deaf);
    while (!get(&deaf->may_hear) && !get(&deaf->gave_up)) {
        if (seconds() > end)
            set(&deaf->gave_up);
        sched_yield();
    }
    CHECK(alq_is_same(f.mine, at) && minors(on) == before);
    CHECK(tree_size(f.mine) == 63);
    churn(on, 1);
    CHECK(tree_size(f.mine) == 63);
    return f.arg;
}

/* All have polled in a collection, or two, when they become deaf: so nothing
 * escapes, not even what they were spawned with. */
static void
deaf_begin(struct deaf *deaf, struct alq_child **children, int n)
{
    int i;

    for (i = 0; i < n; i++) {
        deaf[i] = (struct deaf){0};
        children[i] = spawn(d, be_deaf, ALQ_UNIT, &deaf[i]);
    }
    for (i = 0; i < n; i++)
        await(d, &deaf[i].is_ready);
    collect_twice(d);
    for (i = 0; i < n; i++)
        set(&deaf[i].is_told);
    for (i = 0; i < n; i++)
        await(d, &deaf[i].is_deaf);
}

static void
deaf_end(struct deaf *deaf, struct alq_child **children, int n)
{
    int i, gave_up = 0;

    for (i = 0; i < n; i++) {
        gave_up |= get(&deaf[i].gave_up);
        set(&deaf[i].may_hear);
    }
    for (i = 0; i < n; i++)
        finish(d, children[i]);
    if (!gave_up)
        return;
    alq_frames_set(d, NULL); /* fail_msg jumps out of them */
    fail_msg("a collection waited for a domain that shows nothing");
}

static void
skip_if_hard(void)
{
    if (!IS_HARD)
        return;
    ALQI_SKIP("a safe point of a hard build may stop all");
}

static void
a_domain_that_shows_nothing_stops_nobody(void **state)
{
    static const size_t sizes[] = {0, 4096, 65536};
    struct alq_child *children[3];
    struct deaf deaf[3];
    unsigned i;
    uint64_t n;

    (void)state;
    skip_if_hard();
    for (i = 0; i < ALQI_COUNT_OF(sizes); i++) {
        begin_anew(sizes[i]);
        deaf_begin(deaf, children, (int)i + 1);
        n = minors(d);
        churn(d, 20);
        assert_true(minors(d) >= n + 20);
        deaf_end(deaf, children, (int)i + 1);
    }
}

static void
roots_of_each_kind_are_found_alone(void **state)
{
    struct gate own = GATE;
    struct alq_child *child;
    struct deaf deaf;
    pthread_t thread;

    (void)state;
    skip_if_hard();
    begin_anew(0);
    assert_int_equal(pthread_create(&thread, NULL, stand_by, &own), 0);
    gate_await(&own, 1);
    deaf_begin(&deaf, &child, 1);
    roots_churn(10);
    gate_open(&own);
    thread_join(thread);
    deaf_end(&deaf, &child, 1);
}

/* Each way once, and an argument. */
static alq_value
show_all_ways(void)
{
    ALQ_FRAME(d, f, table, v);
    unsigned i;

    f.table = table_new();
    for (i = 0; i < N_WAYS; i++) {
        if (ways[i].prepare != NULL)
            ways[i].prepare(d);
        f.v = thing_new(d, f.table, i);
        ways[i].show(d, f.table, f.v);
        f.v = ways[i].take(d, f.table);
        ways[i].hide(d, f.table);
        thing_check(f.v, i);
    }
    return finish(d, spawn(d, burn, f.v, NULL));
}

/* Then all is collected, and nothing has escaped any more. */
static void
escaped_and_deaf(void)
{
    struct deaf deaf;
    struct alq_child *child;
    ALQ_FRAME(d, f, v);

    f.v = show_all_ways();
    deaf_begin(&deaf, &child, 1);
    churn(d, 20);
    thing_check(f.v, N_WAYS - 1);
    deaf_end(&deaf, &child, 1);
}

static void
what_has_escaped_is_old_then(void **state)
{
    (void)state;
    skip_if_hard();
    begin_anew(0);
    escaped_and_deaf();
}

/* ---- domains come and go ------------------------------------------------ */

static alq_value
churn_until(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, arg);
    uint64_t before = minors(on);

    f.arg = arg;
    do
        churn(on, 1);
    while (!get(data));
    CHECK(minors(on) > before);
    return f.arg;
}

/* Its result is young, leads to its argument, and is a list by its link. */
static alq_value
add_thing(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, arg, v);

    (void)data;
    f.arg = arg;
    churn(on, 1);
    f.v = thing_new(on, ALQ_UNIT, alq_to_int(alq_field(f.arg, ID)) + 1);
    alq_store(on, f.v, LINK, f.arg);
    return f.v;
}

static void
domains_end_and_begin_meanwhile(void **state)
{
    enum { OTHERS = 2, LENGTH = IS_HARD ? 4 : 60 };
    struct alq_child *children[OTHERS];
    ALQ_FRAME(d, f, list, at);
    int i, is_over = 0;

    (void)state;
    for (i = 0; i < OTHERS; i++)
        children[i] =
            spawn_sized(churn_until, alq_from_int(i), &is_over, MINOR_WORDS);
    f.list = thing_new(d, ALQ_UNIT, 0);
    for (i = 1; i < LENGTH; i++) {
        f.list = finish(d, spawn_sized(add_thing, f.list, NULL, MINOR_WORDS));
        thing_check(f.list, i);
        if (i % 2 == 0)
            churn(d, 1);
    }
    set(&is_over);
    for (i = 0; i < OTHERS; i++)
        assert_int_equal(alq_to_int(finish(d, children[i])), i);
    for (i = LENGTH, f.at = f.list; i-- > 0; f.at = alq_field(f.at, LINK))
        thing_check(f.at, i);
    assert_same(f.at, ALQ_UNIT);
}

/* Small minor heaps: the pairs' rounds are many collections. */
static int
setup(void **state)
{
    struct alq_domain_config config = {MINOR_WORDS, 0, 0, 0, 0};

    (void)state;
    return alq_domain_new(&config, &d) != ALQ_OK;
}

int
main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, setup, domains_teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_escapes_is_collected_with_all),
        TEST(an_argument_escapes),
        TEST(a_result_escapes),
        TEST(chains_of_young_blocks_escape),
        TEST(roots_of_each_kind_are_found),
        TEST(domains_end_and_begin_meanwhile),
        TEST(a_domain_that_shows_nothing_stops_nobody),
        TEST(roots_of_each_kind_are_found_alone),
        TEST(what_has_escaped_is_old_then),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
