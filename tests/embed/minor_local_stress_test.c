/* minor_local_stress_test.c -- domains that share seldom or often, at random
 *
 * Each domain has trees of its own, of which it knows the sums, and allocates
 * all the time.  Which of three phases it is they know together: a quiet one,
 * in which nobody shows anything, so that each may collect alone; one in which
 * that is rare; one in which it is frequent.  What escapes are nodes in the
 * places of an old board: others take them, keep them, link trees and nodes of
 * their own, young ones too, to them, and show those again.
 *
 * A tree is not changed: field 0 its number, field 1 the sum of number and
 * children, then these.  A node's links are: they lead to trees, or to nodes of
 * a lower level, so there are no rings.  What is read is verified. */
#include <sched.h>
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

enum {
    STEPS = ALQI_TEST_ROUNDS(300000, 30000, 600), /* of a domain */
    PHASE = STEPS / 40, /* steps of the first domain, on average */
    SEEDS = 6,
    OTHERS_MAX = 3,
    PLACES = 300, /* more than a young block has */
    TREES = 24,
    TAKEN = 12,
    LEVELS = 4,
    LINKS = 3,
    TAG_TREE = 7,
    TAG_NODE = 8
};

enum phase { QUIET, RARE, FREQUENT, N_PHASES };

static int phase;   /* atomic */
static int is_over; /* atomic; the first domain has done its steps */

struct actor {
    struct alq_domain *on;
    uint64_t random;
    uint64_t sums[TREES]; /* of what it has in its frame, and nobody else */
    uint64_t n_escaped;
    uint64_t n_taken;
    struct alq_child *child;
    uint64_t child_sum;
};

/* What a domain has in its frame. */
struct slots {
    alq_value *board;
    alq_value *trees;
    alq_value *taken;
};

static uint64_t
next(struct actor *a)
{
    return alqi_base_mix(a->random++);
}

static uint64_t
below(struct actor *a, uint64_t n)
{
    return next(a) % n;
}

/* ---- trees -------------------------------------------------------------- */

static uint64_t
mixed(uint64_t sum, uint64_t n)
{
    return alqi_base_mix(sum ^ n) >> 2; /* fits an integer */
}

static uint64_t
bytes_sum(alq_value string)
{
    const char *chars = alq_string_chars(string);
    size_t i, n = alq_string_bytes(string);
    uint64_t sum = n;

    for (i = 0; i < n; i++)
        sum = sum * 31 + (unsigned char)chars[i];
    return mixed(sum, 1);
}

static uint64_t
double_sum(alq_value block)
{
    double x = alq_double(block, 0);
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return mixed(bits, 2);
}

/* Of anything but a node; what stands in a tree is not read but compared. */
static uint64_t
sum_of(alq_value v)
{
    uint64_t sum;
    uintptr_t i;

    if (!alq_is_block(v))
        return mixed(alq_bits(v), 3);
    if (alq_tag(v) == ALQ_TAG_STRING)
        return bytes_sum(v);
    if (alq_tag(v) == ALQ_TAG_DOUBLE)
        return double_sum(v);
    CHECK(alq_tag(v) == TAG_TREE && alq_wosize(v) >= 2);
    sum = (uint64_t)alq_to_int(alq_field(v, 0));
    for (i = 2; i < alq_wosize(v); i++)
        sum = mixed(sum, sum_of(alq_field(v, i)));
    CHECK(alq_to_int(alq_field(v, 1)) == (intptr_t)sum);
    return sum;
}

static alq_value
leaf_new(struct actor *a)
{
    char chars[80];
    size_t i, n = below(a, sizeof chars);
    alq_value v;

    switch (below(a, 3)) {
    case 0:
        for (i = 0; i < n; i++)
            chars[i] = (char)next(a);
        v = alq_string_copy(a->on, chars, n);
        break;
    case 1:
        v = alq_alloc_double(a->on, (double)next(a));
        break;
    default:
        return alq_from_int((intptr_t)(next(a) >> 2));
    }
    CHECK(!alq_is_null(v));
    return v;
}

/* Of up to 3^depth leaves; now and then one that is born old. */
static alq_value
tree_new(struct actor *a, unsigned depth)
{
    ALQ_FRAME(a->on, f, children[3]);
    uintptr_t i, n = below(a, 4), wosize;
    uint64_t sum = next(a) >> 2, number = sum;
    alq_value v;

    for (i = 0; i < n; i++)
        f.children[i] = depth == 0 || below(a, 3) == 0 ? leaf_new(a)
                                                       : tree_new(a, depth - 1);
    wosize = below(a, 500) == 0 ? ALQ_SMALL_WOSIZE_MAX + 50 : n + 2;
    v = alq_alloc(a->on, wosize, TAG_TREE);
    CHECK(!alq_is_null(v));
    for (i = 2; i < wosize; i++) {
        if (i < n + 2)
            alq_init(a->on, v, i, f.children[i - 2]);
        sum = mixed(sum, sum_of(alq_field(v, i)));
    }
    alq_init(a->on, v, 0, alq_from_int((intptr_t)number));
    alq_init(a->on, v, 1, alq_from_int((intptr_t)sum));
    return v;
}

/* ---- nodes -------------------------------------------------------------- */

/* Fields: number, its hash, level, links. */
static alq_value
node_new(struct actor *a, unsigned level)
{
    uint64_t number = next(a) >> 2;
    unsigned i;
    alq_value v = alq_alloc_small(a->on, 3 + LINKS, TAG_NODE);

    CHECK(!alq_is_null(v));
    alq_init_small(v, 0, alq_from_int((intptr_t)number));
    alq_init_small(v, 1, alq_from_int((intptr_t)mixed(number, level)));
    alq_init_small(v, 2, alq_from_int(level));
    for (i = 0; i < LINKS; i++)
        alq_init_small(v, 3 + i, ALQ_UNIT);
    return v;
}

/* Of anything: what a node may lead to is of a lower level. */
static unsigned
level_of(alq_value v)
{
    if (!alq_is_block(v) || alq_tag(v) != TAG_NODE)
        return 0;
    return (unsigned)alq_to_int(alq_field(v, 2));
}

/* All that it leads to; others may change links meanwhile. */
static void
verify(alq_value v)
{
    unsigned i, level;

    if (!alq_is_block(v) || alq_tag(v) != TAG_NODE) {
        sum_of(v);
        return;
    }
    level = level_of(v);
    CHECK(alq_wosize(v) == 3 + LINKS && level >= 1 && level <= LEVELS);
    CHECK(alq_to_int(alq_field(v, 1)) ==
          (intptr_t)mixed((uint64_t)alq_to_int(alq_field(v, 0)), level));
    for (i = 0; i < LINKS; i++) {
        alq_value link = alq_field_acquire(v, 3 + i);

        CHECK(level_of(link) < level);
        verify(link);
    }
}

/* ---- what domains do ---------------------------------------------------- */

static void
renew(struct actor *a, struct slots *s)
{
    unsigned i = (unsigned)below(a, TREES);

    CHECK(sum_of(s->trees[i]) == a->sums[i]);
    s->trees[i] = tree_new(a, below(a, 16) == 0 ? 4 : 1);
    a->sums[i] = sum_of(s->trees[i]);
}

/* Something of its own, which it shows now, or what it has taken. */
static alq_value
some(struct actor *a, struct slots *s)
{
    unsigned i = (unsigned)below(a, TREES);

    if (below(a, 2) == 0)
        return s->taken[below(a, TAKEN)];
    if (below(a, 2) == 0)
        return tree_new(a, 1);
    CHECK(sum_of(s->trees[i]) == a->sums[i]);
    return s->trees[i];
}

/* A new node, or what it has taken, in a place. */
static void
show(struct actor *a, struct slots *s)
{
    ALQ_FRAME(a->on, f, v, link);
    uintptr_t place = below(a, PLACES);
    alq_value old;

    f.v = node_new(a, 1 + (unsigned)below(a, LEVELS));
    f.link = some(a, s);
    if (level_of(f.link) < level_of(f.v))
        alq_store(a->on, f.v, 3 + below(a, LINKS), f.link);
    switch (below(a, 4)) {
    case 0:
        verify(alq_field_exchange(a->on, *s->board, place, f.v));
        break;
    case 1:
        old = alq_field_acquire(*s->board, place);
        alq_field_compare_exchange(a->on, *s->board, place, &old, f.v);
        break;
    default:
        alq_store(a->on, *s->board, place, f.v);
    }
    a->n_escaped++;
}

static void
take(struct actor *a, struct slots *s)
{
    alq_value v = alq_field_acquire(*s->board, below(a, PLACES));

    verify(v);
    s->taken[below(a, TAKEN)] = v;
    a->n_taken++;
}

/* A young block of its own in a node that others may have. */
static void
relink(struct actor *a, struct slots *s)
{
    ALQ_FRAME(a->on, f, link);
    alq_value v;

    f.link = below(a, 4) == 0 ? ALQ_UNIT : some(a, s);
    v = s->taken[below(a, TAKEN)];
    if (level_of(v) > level_of(f.link))
        alq_store(a->on, v, 3 + below(a, LINKS), f.link);
}

static void
block(struct actor *a)
{
    ALQ_BLOCKING(a->on, blocks);

    sched_yield();
}

static void
share(struct actor *a, struct slots *s)
{
    switch (below(a, 8)) {
    case 0:
    case 1:
        show(a, s);
        break;
    case 2:
    case 3:
        take(a, s);
        break;
    case 4:
        relink(a, s);
        break;
    case 5:
        s->taken[below(a, TAKEN)] = ALQ_UNIT;
        break;
    case 6:
        verify(s->taken[below(a, TAKEN)]);
        break;
    default:
        alq_store(a->on, *s->board, below(a, PLACES), ALQ_UNIT);
    }
}

/* ---- children ----------------------------------------------------------- */

/* Allocates, and returns a young tree, of which the parent knows the sum. */
static alq_value
short_life(struct alq_domain *on, alq_value arg, void *data)
{
    struct actor a = {.on = on, .random = *(uint64_t *)data}, same;
    ALQ_FRAME(on, f, arg, v);
    int i, n = STEPS / 50;

    f.arg = arg;
    for (i = 0; i < n; i++) {
        f.v = tree_new(&a, 1);
        alq_poll(on);
    }
    same = a;
    f.v = tree_new(&same, 3);
    CHECK(sum_of(f.arg) != 0);
    *(uint64_t *)data = sum_of(f.v);
    return f.v;
}

static void
child_begin_or_end(struct actor *a, struct slots *s)
{
    struct alq_domain_config config = {4096, 0, 0, 0, 0};
    alq_value v;
    unsigned i = (unsigned)below(a, TREES);

    if (a->child == NULL) {
        a->child_sum = next(a);
        CHECK(alq_domain_spawn(a->on, short_life, s->trees[i], &a->child_sum,
                               &config, &a->child) == ALQ_OK);
        return;
    }
    CHECK(alq_domain_join(a->on, a->child, &v) == ALQ_OK);
    alq_child_drop(a->child);
    a->child = NULL;
    CHECK(sum_of(v) == a->child_sum);
    s->trees[i] = v;
    a->sums[i] = a->child_sum;
}

/* ---- a domain ----------------------------------------------------------- */

static void
step(struct actor *a, struct slots *s)
{
    static const unsigned rates[N_PHASES] = {0, 2000, 8}; /* one of so many */
    unsigned rate = rates[__atomic_load_n(&phase, __ATOMIC_RELAXED)];

    renew(a, s);
    if (rate != 0 && below(a, rate) == 0)
        share(a, s);
    if (below(a, 1000) == 0)
        block(a);
    if (below(a, STEPS / 8) == 0)
        child_begin_or_end(a, s);
    if (below(a, STEPS) == 0)
        CHECK((below(a, 2) == 0 ? alq_gc_full_major(a->on)
                                : alq_gc_minor(a->on)) == ALQ_OK);
}

static void
verify_all(struct actor *a, struct slots *s)
{
    unsigned i;

    for (i = 0; i < TREES; i++)
        CHECK(sum_of(s->trees[i]) == a->sums[i]);
    for (i = 0; i < TAKEN; i++)
        verify(s->taken[i]);
    for (i = 0; i < PLACES; i++)
        verify(alq_field_acquire(*s->board, i));
}

/* The first one goes its steps, and says which phase it is; the others go as
 * long as it does, a quarter of them at least. */
static void
act(struct actor *a, alq_value board, int is_first)
{
    ALQ_FRAME(a->on, f, board, trees[TREES], taken[TAKEN]);
    struct slots s = {&f.board, f.trees, f.taken};
    struct alq_gc_counts counts;
    int i;

    f.board = board;
    for (i = 0; i < TREES; i++)
        a->sums[i] = sum_of(f.trees[i]);
    for (i = 0; i < (is_first ? STEPS : STEPS / 4) ||
                (!is_first && !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE));
         i++) {
        if (is_first && below(a, PHASE) == 0)
            __atomic_store_n(&phase, (phase + 1) % N_PHASES, __ATOMIC_RELAXED);
        step(a, &s);
        if (i % 1024 == 0)
            verify_all(a, &s);
    }
    if (is_first)
        __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    if (a->child != NULL)
        child_begin_or_end(a, &s);
    verify_all(a, &s);
    CHECK(alq_gc_counters(a->on, &counts) == ALQ_OK);
    CHECK(counts.minor_collections > 1);
}

static alq_value
act_beside(struct alq_domain *on, alq_value arg, void *data)
{
    struct actor a = {.on = on, .random = *(uint64_t *)data};
    ALQ_FRAME(on, f, board);

    f.board = arg;
    act(&a, f.board, 0);
    return alq_from_int((intptr_t)a.n_taken);
}

/* With 1 to OTHERS_MAX others. */
static void
one_run(uint64_t seed, unsigned n_others)
{
    struct actor a = {.random = alqi_base_mix(seed)};
    struct alq_domain_config config = {4096 << below(&a, 4), 0, 0, 0, 0};
    struct alq_child *children[OTHERS_MAX];
    uint64_t seeds[OTHERS_MAX], n_taken = 0;
    unsigned i;

    assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
    a.on = d;
    phase = QUIET;
    is_over = 0;
    {
        ALQ_FRAME(d, f, board);

        f.board = alq_alloc(d, PLACES, 0);
        assert_false(alq_is_null(f.board));
        for (i = 0; i < n_others; i++) {
            seeds[i] = next(&a);
            config.minor_words = 4096 << below(&a, 4);
            children[i] = NULL;
            assert_int_equal(alq_domain_spawn(d, act_beside, f.board, &seeds[i],
                                              &config, &children[i]),
                             ALQ_OK);
        }
        act(&a, f.board, 1);
        for (i = 0; i < n_others; i++)
            n_taken += (uint64_t)alq_to_int(finish(d, children[i]));
        assert_true(IS_HARD || (a.n_escaped > 10 && a.n_taken + n_taken > 10));
    }
    assert_int_equal(alq_domain_drop(d), ALQ_OK);
}

static void
domains_share_seldom_or_often(void **state)
{
    uint64_t seed = 20261123 + alqi_base_test_seed();
    unsigned i;

    (void)state;
    for (i = 0; i < SEEDS; i++) {
        unsigned n_others = 1 + i % OTHERS_MAX;

        print_message("seed %llu, %u domains\n", (unsigned long long)(seed + i),
                      n_others + 1);
        one_run(seed + i, n_others);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(domains_share_seldom_or_often),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
