/* live_steps_test.c -- weak references at each moment of a cycle
 *
 * The collector works by slices of one word, without minor collections between
 * them; after each number of slices the test does, once, what a program may do,
 * and looks after each later one whether all that it sees agrees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "heap/major_cycle.h"

#include "live_kit.h"

enum {
    EPHE,     /* old key -> data */
    WEAK,     /* [0]: old key, [1]: what only that holds */
    NEW_KEY,  /* lives          */
    OTHER,    /* an ephemeron: new key -> none */
    BEFORE,   /* ephemerons in the list before EPHE, for the passes */
    BEHIND,   /* and behind it */
    USED,     /* by the test at hand */
    USED_TOO, /* likewise            */
    ROOTS
};
enum { AROUND = ALQI_CHECKS >= 3 ? 2 : 6, WEAK_LENGTH = 2 };

static alq_value at[ROOTS], *top = at + ROOTS;
static struct alq_range range = {at, &top, NULL, NULL};

static int
steps_setup(void **state)
{
    memset(at, 0, sizeof at);
    return live_setup(state) || alq_range_add(d, &range) != ALQ_OK;
}

/* ---- what is there ------------------------------------------------------ */

static alq_value
pair(alq_value first_field, intptr_t n)
{
    ALQ_FRAME(d, f, v, first_field);

    f.first_field = first_field;
    f.v = alq_alloc_small(d, 2, 0);
    alq_init_small(f.v, 0, alq_from_int(n));
    alq_init_small(f.v, 1, f.first_field);
    return f.v;
}

static void
pair_check(alq_value v, intptr_t n)
{
    assert_true(alq_is_block(v));
    assert_int_equal(alq_wosize(v), 2);
    assert_int_equal(alq_to_int(alq_field(v, 0)), n);
    if (alq_is_block(alq_field(v, 1)))
        assert_int_equal(alq_to_int(alq_field(alq_field(v, 1), 0)), n + 1);
}

static void
around(unsigned root, alq_value key)
{
    ALQ_FRAME(d, f, key, data);
    alq_value ephe;
    unsigned i;

    f.key = key;
    at[root] = alq_alloc(d, AROUND, 0);
    for (i = 0; i < AROUND; i++) {
        f.data = cell((intptr_t)i);
        ephe = alq_ephe_make(d, 1, &f.key, f.data);
        alq_store(d, at[root], i, ephe);
    }
}

/* All of it old, and the old key dead. */
static void
scene(void)
{
    ALQ_FRAME(d, f, key, data);

    memset(at, 0, sizeof at);
    told[0] = '\0';
    at[NEW_KEY] = cell(5);
    f.key = pair(ALQ_UNIT, 20);
    store_cell(&f.key, 1, 21);
    around(BEFORE, f.key);
    f.data = pair(ALQ_UNIT, 30);
    store_cell(&f.data, 1, 31);
    at[EPHE] = alq_ephe_make(d, 1, &f.key, f.data);
    around(BEHIND, f.key);
    at[WEAK] = alq_weak_create(d, WEAK_LENGTH);
    alq_weak_set(d, at[WEAK], 0, f.key);
    alq_weak_set(d, at[WEAK], 1, alq_field(f.key, 1));
    at[OTHER] = alq_ephe_create(d, 1);
    alq_ephe_set_key(d, at[OTHER], 0, at[NEW_KEY]);
    f.data = ALQ_NULL;
    full_major();
}

/* ---- moments ------------------------------------------------------------ */

struct use {
    void (*begin)(void); /* before the old key dies; may be NULL */
    void (*now)(void);
    void (*agree)(void); /* after each slice from then on */
    void (*end)(void);   /* two cycles later              */
};

/* `now` may have made something young: the next marking, as this one did, waits
 * for a minor collection. */
static void
to_the_end(const struct use *use, uint64_t cycle)
{
    while (cycles() == cycle) {
        alqi_heap_slice(alqi_heap_domain(d), 1);
        use->agree();
    }
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    use->agree();
    while (cycles() < cycle + 3) {
        assert_int_equal(alq_gc_major_slice(d, 50), ALQ_OK);
        use->agree();
    }
    use->end();
}

static bool
is_cycle_over(uint64_t cycle)
{
    return cycles() > cycle &&
           alqi_heap_domain(d)->heap->cycle.phase != ALQI_HEAP_SWEEP;
}

/* Returns how many moments there were. */
static unsigned
at_each_moment(const struct use *use)
{
    unsigned moment, i;
    uint64_t cycle;
    bool over;

    for (moment = 0;; moment++) {
        scene();
        if (use->begin != NULL)
            use->begin();
        cycle = cycles();
        for (i = 0; i <= moment && !is_cycle_over(cycle); i++)
            alqi_heap_slice(alqi_heap_domain(d), 1);
        over = is_cycle_over(cycle);
        use->now();
        use->agree();
        to_the_end(use, cycle);
        if (over)
            return moment;
    }
}

static void
run(const struct use *use)
{
    assert_true(at_each_moment(use) > 20);
}

static void
nothing(void)
{
}

/* Whoever died died everywhere. */
static void
all_agree(void)
{
    assert_int_equal(alq_weak_check(d, at[WEAK], 0),
                     alq_weak_check(d, at[WEAK], 1));
}

/* ---- ephemerons --------------------------------------------------------- */

static bool was_full;

/* A key that lives takes the place of the dead one: as long as the data were
 * there, they are. */
static void
set_key(void)
{
    was_full = alq_ephe_check_data(d, at[EPHE]);
    assert_int_equal(alq_ephe_set_key(d, at[EPHE], 0, at[NEW_KEY]), ALQ_OK);
}

static void
blit_key(void)
{
    was_full = alq_ephe_check_data(d, at[EPHE]);
    assert_int_equal(alq_ephe_blit_key(d, at[OTHER], 0, at[EPHE], 0, 1),
                     ALQ_OK);
}

static void
unset_key(void)
{
    was_full = alq_ephe_check_data(d, at[EPHE]);
    assert_int_equal(alq_ephe_unset_key(d, at[EPHE], 0), ALQ_OK);
}

static void
data_as_before(void)
{
    all_agree();
    assert_int_equal(alq_ephe_check_data(d, at[EPHE]), was_full);
}

static void
data_whole(void)
{
    if (was_full)
        pair_check(alq_ephe_get_data(d, at[EPHE]), 30);
    assert_int_equal(alq_weak_check(d, at[WEAK], 0), 0);
}

static void
another_key(void **state)
{
    static const struct use uses[] = {
        {NULL, set_key, data_as_before, data_whole},
        {NULL, blit_key, data_as_before, data_whole},
        {NULL, unset_key, data_as_before, data_whole},
    };
    unsigned i;

    (void)state;
    for (i = 0; i < ALQI_COUNT_OF(uses); i++)
        run(&uses[i]);
}

/* Data set when the key is dead, and after the key was set. */
static void
set_data_again(void)
{
    alq_ephe_set_key(d, at[EPHE], 0, at[NEW_KEY]);
    alq_ephe_set_data(d, at[EPHE], alq_from_int(7));
}

static void
data_are_new(void)
{
    all_agree();
    assert_int_equal(alq_ephe_get_data(d, at[EPHE]), alq_from_int(7));
}

/* The dead key, while it is seen, gets new data: they may die with it. */
static void
set_data_alone(void)
{
    alq_ephe_set_data(d, at[EPHE], at[NEW_KEY]);
}

static void
data_new_or_gone(void)
{
    alq_value data = alq_ephe_get_data(d, at[EPHE]);

    all_agree();
    assert_true(data == at[NEW_KEY] || data == ALQ_NULL);
    assert_true(data == at[NEW_KEY] || !alq_ephe_check_key(d, at[EPHE], 0));
}

static void
other_data(void **state)
{
    static const struct use uses[] = {
        {NULL, set_data_again, data_are_new, nothing},
        {NULL, set_data_alone, data_new_or_gone, nothing},
    };
    unsigned i;

    (void)state;
    for (i = 0; i < ALQI_COUNT_OF(uses); i++)
        run(&uses[i]);
}

/* A copy of an ephemeron is as full as it is. */
static void
blit_ephe(void)
{
    alq_ephe_blit_key(d, at[EPHE], 0, at[OTHER], 0, 1);
    alq_ephe_blit_data(d, at[EPHE], at[OTHER]);
}

static void
ephes_agree(void)
{
    all_agree();
    assert_int_equal(alq_ephe_check_key(d, at[EPHE], 0),
                     alq_ephe_check_key(d, at[OTHER], 0));
    assert_int_equal(alq_ephe_check_data(d, at[EPHE]),
                     alq_ephe_check_data(d, at[OTHER]));
    assert_int_equal(alq_ephe_get_data(d, at[EPHE]),
                     alq_ephe_get_data(d, at[OTHER]));
}

/* The same, into a young one. */
static void
blit_young_ephe(void)
{
    at[OTHER] = alq_ephe_create(d, 1);
    blit_ephe();
}

static void
copies_of_ephemerons(void **state)
{
    static const struct use uses[] = {
        {NULL, blit_ephe, ephes_agree, nothing},
        {NULL, blit_young_ephe, ephes_agree, nothing},
    };
    unsigned i;

    (void)state;
    for (i = 0; i < ALQI_COUNT_OF(uses); i++)
        run(&uses[i]);
}

/* The key is found, and held: it lives on, and the data with it. */
static void
get_key(void)
{
    at[USED] = alq_ephe_get_key(d, at[EPHE], 0);
    was_full = at[USED] != ALQ_NULL;
}

static void
get_weak(void)
{
    at[USED] = alq_weak_get(d, at[WEAK], 0);
    was_full = at[USED] != ALQ_NULL;
}

static void
key_lives_on(void)
{
    assert_int_equal(alq_ephe_check_data(d, at[EPHE]), was_full);
    assert_int_equal(alq_ephe_check_key(d, at[EPHE], 0), was_full);
    assert_int_equal(alq_weak_check(d, at[WEAK], 0), was_full);
    assert_int_equal(alq_weak_check(d, at[WEAK], 1), was_full);
}

static void
key_whole(void)
{
    if (!was_full)
        return;
    pair_check(at[USED], 20);
    pair_check(alq_ephe_get_data(d, at[EPHE]), 30);
    assert_int_equal(alq_weak_get(d, at[WEAK], 0), at[USED]);
    assert_int_equal(alq_weak_get(d, at[WEAK], 1), alq_field(at[USED], 1));
}

/* The data are copied, which keeps what they lead to and not themselves. */
static void
copy_data(void)
{
    at[USED] = alq_ephe_get_data_copy(d, at[EPHE]);
}

static void
copy_whole(void)
{
    if (at[USED] != ALQ_NULL)
        pair_check(at[USED], 30);
    assert_int_equal(alq_ephe_check_data(d, at[EPHE]), 0);
}

static void
found_again(void **state)
{
    static const struct use uses[] = {
        {NULL, get_key, key_lives_on, key_whole},
        {NULL, get_weak, key_lives_on, key_whole},
        {NULL, copy_data, all_agree, copy_whole},
    };
    unsigned i;

    (void)state;
    for (i = 0; i < ALQI_COUNT_OF(uses); i++)
        run(&uses[i]);
}

/* ---- weak arrays -------------------------------------------------------- */

/* A young array gets what an old one has; it is young until the cycle's end,
 * or becomes old at once. */
static void
blit_weak(void)
{
    at[USED] = alq_weak_create(d, WEAK_LENGTH);
    alq_weak_blit(d, at[WEAK], 0, at[USED], 0, WEAK_LENGTH);
}

static void
blit_weak_old(void)
{
    blit_weak();
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
}

/* A young one, before the cleaning and in the midst of it old. */
static void
blit_weak_long(void)
{
    at[USED] = alq_weak_create(d, 200);
    alq_weak_blit(d, at[WEAK], 0, at[USED], 0, WEAK_LENGTH);
    alq_weak_blit(d, at[WEAK], 0, at[USED], 198, WEAK_LENGTH);
    at[USED_TOO] = alq_weak_create(d, 3000); /* large: not young */
    alq_weak_blit(d, at[WEAK], 0, at[USED_TOO], 2998, WEAK_LENGTH);
}

static void
weak_agree(void)
{
    unsigned i;

    all_agree();
    for (i = 0; i < WEAK_LENGTH; i++)
        assert_int_equal(alq_weak_check(d, at[WEAK], i),
                         alq_weak_check(d, at[USED], i));
}

static void
weak_long_agree(void)
{
    unsigned i;

    weak_agree();
    for (i = 0; i < WEAK_LENGTH; i++) {
        assert_int_equal(alq_weak_check(d, at[WEAK], i),
                         alq_weak_check(d, at[USED], 198 + i));
        assert_int_equal(alq_weak_check(d, at[WEAK], i),
                         alq_weak_check(d, at[USED_TOO], 2998 + i));
    }
}

/* Looking would empty what is dead: not before the cycle has ended. */
static uint64_t blit_cycle;

static void
blit_weak_unseen(void)
{
    blit_weak();
    blit_cycle = cycles();
}

static void
weak_agree_later(void)
{
    if (cycles() > blit_cycle)
        weak_agree();
}

/* Between the cleaning of what is old and that of what is young, too. */
static void
promote_unseen(void)
{
    static unsigned turn;
    struct alqi_domain *self = alqi_heap_domain(d);

    if (self->heap->cycle.phase == ALQI_HEAP_MARK &&
        self->heap->weak_phase.step == ALQI_HEAP_WEAK_PHASE_CLEAN &&
        ++turn % 5 == 0)
        assert_int_equal(alq_gc_minor(d), ALQ_OK);
    weak_agree_later();
}

static void
weak_empty(void)
{
    assert_int_equal(alq_weak_get(d, at[USED], 0), ALQ_NULL);
    assert_int_equal(alq_weak_get(d, at[USED], 1), ALQ_NULL);
}

static void
copies_of_weak_arrays(void **state)
{
    static const struct use uses[] = {
        {NULL, blit_weak, weak_agree, weak_empty},
        {NULL, blit_weak_old, weak_agree, weak_empty},
        {NULL, blit_weak_long, weak_long_agree, weak_empty},
        {NULL, blit_weak_unseen, weak_agree_later, weak_empty},
        {NULL, blit_weak_unseen, promote_unseen, weak_empty},
    };
    unsigned i;

    (void)state;
    for (i = 0; i < ALQI_COUNT_OF(uses); i++)
        run(&uses[i]);
}

/* ---- finalisers --------------------------------------------------------- */

enum { FINALISED = 3 };

/* Each value leads to the one before it, and nothing to the last. */
static void
finalised_scene(void)
{
    ALQ_FRAME(d, f, value);
    unsigned i;

    for (i = 1; i <= FINALISED; i++) {
        alq_value v = alq_alloc(d, 2, 0);

        alq_init(d, v, 0, alq_from_int(i));
        alq_init(d, v, 1, f.value == ALQ_NULL ? ALQ_UNIT : f.value);
        f.value = v;
        first(f.value, i);
        last(f.value, i);
    }
    at[USED] = alq_weak_create(d, 1);
    alq_weak_set(d, at[USED], 0, f.value);
    at[USED_TOO] = f.value;
    f.value = ALQ_NULL;
    full_major();
    at[USED_TOO] = ALQ_NULL;
    assert_string_equal(told, "");
}

static void
finalised_get(void)
{
    at[USED_TOO] = alq_weak_get(d, at[USED], 0);
    was_full = at[USED_TOO] != ALQ_NULL;
    alq_poll(d);
}

static void
finalised_agree(void)
{
    alq_poll(d);
    if (was_full)
        assert_int_equal(alq_weak_get(d, at[USED], 0), at[USED_TOO]);
}

/* Whatever has been told: once each, in order, the first kind first; what the
 * program found again is whole, and not told to be dead for good. */
static void
finalised_end(void)
{
    alq_value v = at[USED_TOO];
    intptr_t i;

    for (i = FINALISED; v != ALQ_NULL && i > 0; i--, v = alq_field(v, 1))
        assert_int_equal(alq_to_int(alq_field(v, 0)), i);
    if (was_full)
        assert_null(strchr(told, 'l'));
    at[USED_TOO] = v = ALQ_NULL;
    was_full = false;
    full_major();
    full_major();
    assert_string_equal(told, "f3 f2 f1 l3 l2 l1 ");
}

/* Others are registered, some of which die young. */
static void
finalised_more(void)
{
    was_full = false;
    first(cell(8), 8);
    last(cell(9), 9);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_non_null(strstr(told, "l9 "));
}

static void
finalised_more_end(void)
{
    static const char *const each[] = {"f1 ", "f2 ", "f3 ", "f8 ",
                                       "l1 ", "l2 ", "l3 ", "l9 "};
    unsigned i;

    full_major();
    full_major();
    assert_int_equal(strlen(told), ALQI_COUNT_OF(each) * 3);
    for (i = 0; i < ALQI_COUNT_OF(each); i++)
        assert_non_null(strstr(told, each[i]));
    assert_true(strstr(told, "f3 ") < strstr(told, "f2 "));
    assert_true(strstr(told, "f2 ") < strstr(told, "f1 "));
    assert_true(strstr(told, "f1 ") < strstr(told, "l3 "));
    assert_true(strstr(told, "l3 ") < strstr(told, "l2 "));
    assert_true(strstr(told, "l2 ") < strstr(told, "l1 "));
}

static void
finalised_values(void **state)
{
    static const struct use uses[] = {
        {finalised_scene, finalised_get, finalised_agree, finalised_end},
        {finalised_scene, finalised_more, finalised_agree, finalised_more_end},
    };
    unsigned i;

    (void)state;
    for (i = 0; i < ALQI_COUNT_OF(uses); i++)
        run(&uses[i]);
}

/* ---- slices ------------------------------------------------------------- */

/* No step is done at once, however many there are of what it looks at. */
static unsigned slices_in[ALQI_HEAP_WEAK_PHASE_DONE + 1];

static enum alq_status
count_finalised(struct alq_domain *domain, alq_value v, alq_value with)
{
    (void)domain;
    (void)v;
    ++*(unsigned *)alq_to_int(with);
    return ALQ_OK;
}

static void
steps_are_cut(void **state)
{
    enum { N = ALQI_CHECKS >= 3 ? 1000 : 4000, SLICE_WORDS = 50, SLICES = 20 };
    struct alqi_domain *self = alqi_heap_domain(d);
    unsigned i, n_calls = 0;
    uint64_t cycle;

    (void)state;
    memset(slices_in, 0, sizeof slices_in);
    at[USED] = alq_alloc(d, N, 0);
    at[USED_TOO] = alq_weak_create(d, N);
    for (i = 0; i < N; i++) {
        alq_value with = alq_from_int((intptr_t)&n_calls);
        alq_value v = cell((intptr_t)i);

        alq_store(d, at[USED], i, v);
        alq_weak_set(d, at[USED_TOO], i, v);
        assert_int_equal(alq_gc_finalise(d, v, count_finalised, with), ALQ_OK);
        assert_int_equal(alq_gc_finalise_last(d, v, count_finalised, with),
                         ALQ_OK);
        assert_int_equal(
            alq_gc_finalise_last(d, at[USED], count_finalised, with), ALQ_OK);
    }
    full_major();
    at[USED] = ALQ_NULL; /* but what leads to it is kept for a cycle */
    for (cycle = cycles() + 2; cycles() < cycle;) {
        if (self->heap->cycle.phase == ALQI_HEAP_MARK)
            slices_in[self->heap->weak_phase.step]++;
        alqi_heap_slice(self, SLICE_WORDS);
        if (self->heap->cycle.phase != ALQI_HEAP_MARK)
            assert_int_equal(alq_gc_minor(d), ALQ_OK);
    }
    assert_true(slices_in[ALQI_HEAP_WEAK_PHASE_MARK] > SLICES);
    assert_true(slices_in[ALQI_HEAP_WEAK_PHASE_FIND] > SLICES);
    assert_true(slices_in[ALQI_HEAP_WEAK_PHASE_RESURRECT] > SLICES / 2);
    assert_true(slices_in[ALQI_HEAP_WEAK_PHASE_CLEAN] > SLICES);
    full_major();
    assert_int_equal(n_calls, 3 * N);
}

/* Young arrays are not cleaned at once, either: no minor collection comes. */
static void
young_arrays_are_cut(void **state)
{
    enum { ARRAYS = ALQI_CHECKS >= 3 ? 20 : 100, PLACES = 200 };
    struct alqi_domain *self = alqi_heap_domain(d);
    ALQ_FRAME(d, f, weak);
    unsigned i, n_slices = 0;
    uint64_t minors;

    (void)state;
    scene();
    while (self->heap->cycle.phase != ALQI_HEAP_MARK)
        alqi_heap_slice(self, 1);
    minors = self->heap->young.n_minors;
    for (i = 0; i < ARRAYS; i++) {
        f.weak = alq_weak_create(d, PLACES);
        alq_weak_blit(d, at[WEAK], 0, f.weak, PLACES - WEAK_LENGTH,
                      WEAK_LENGTH);
    }
    while (self->heap->cycle.phase == ALQI_HEAP_MARK) {
        n_slices += self->heap->weak_phase.step == ALQI_HEAP_WEAK_PHASE_CLEAN;
        alqi_heap_slice(self, PLACES);
    }
    assert_true(self->heap->young.n_minors > minors || n_slices > ARRAYS / 2);
    assert_int_equal(alq_weak_check(d, at[WEAK], 0), 0);
    assert_int_equal(alq_weak_check(d, f.weak, PLACES - 2), 0);
}

#define STEPS(test)                                                            \
    cmocka_unit_test_setup_teardown(test, steps_setup, live_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        STEPS(another_key),           STEPS(other_data),
        STEPS(copies_of_ephemerons),  STEPS(found_again),
        STEPS(copies_of_weak_arrays), STEPS(finalised_values),
        STEPS(steps_are_cut),         STEPS(young_arrays_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
