/* heap_stack_model_test.c -- conservative threads at random beside a model
 *
 * Each worker keeps a graph of blocks in an array on its stack, mostly by
 * pointers into them, and beside it what each block should hold: a walk through
 * both at once finds a block that was lost, moved or freed.  Workers are
 * threads of one domain or domains, some of them precise. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/base.h"
#include "base/test_effort.h"
#include "base/test_seed.h"
#include "value_kit.h"

enum {
    SLOTS = 60,
    FIELDS = 6, /* of a block, behind its number */
    OBJECTS = 1 << 14,
    WORKERS_MAX = 4,
    LARGE_MOST = 3000,
    IS_HARD = ALQI_CHECKS >= 3,
    CHECK_EVERY = ALQI_TEST_ROUNDS(5000, 200, 200),
    STEPS = ALQI_TEST_ROUNDS(400000, 30000, 6000),
    SEEDS = IS_HARD ? 2 : 4
};

enum kind { BLOCK, STRING, CUSTOM, KINDS };

struct object {
    enum kind kind;
    uint32_t fields[FIELDS]; /* numbers of objects; 0: an integer */
    alq_value at;            /* in this walk */
    uint32_t walk;
};

struct worker {
    struct alq_domain *d;
    uint64_t seed;
    bool is_precise;
    bool attaches;
    struct object *objects; /* from 1 on */
    uint32_t *free;
    uint32_t n_free;
    uint32_t walk;
    uint32_t *todo;
    uint32_t held[SLOTS]; /* what the slots should hold; 0: nothing */
    size_t offset[SLOTS]; /* and how far inside */
};

static uint64_t customs_live;

static uint32_t
rnd(struct worker *w, uint32_t n)
{
    w->seed += 0x9E3779B97F4A7C15u;
    return (uint32_t)(alqi_base_mix(w->seed) % n);
}

/* ---- blocks ------------------------------------------------------------- */

static void
custom_end(alq_value block)
{
    (void)block;
    __atomic_sub_fetch(&customs_live, 1, __ATOMIC_RELAXED);
}

static const struct alq_custom_ops custom_ops = {.name = "modelled",
                                                 .finalise = custom_end};

static uint32_t
number_of(alq_value v)
{
    if (alq_has_tag(v, ALQ_TAG_STRING))
        return *(uint32_t *)alq_string_chars(v);
    if (alq_has_tag(v, ALQ_TAG_CUSTOM))
        return *(uint32_t *)alq_custom_data(v);
    return (uint32_t)alq_to_int(alq_field(v, 0));
}

static alq_value
base(struct worker *w, const alq_value *slots, uint32_t i)
{
    return ALQ_VALUE(alq_bits(slots[i]) - w->offset[i]);
}

static size_t
bytes_of(alq_value v)
{
    return alq_wosize(v) * ALQ_WORD_BYTES;
}

/* Precise slots hold nothing but values. */
static void
slot_set(struct worker *w, alq_value *slots, uint32_t i, alq_value v,
         uint32_t number)
{
    w->offset[i] =
        w->is_precise || rnd(w, 3) == 0 ? 0 : rnd(w, (uint32_t)bytes_of(v) + 1);
    w->held[i] = number;
    slots[i] = ALQ_VALUE(alq_bits(v) + w->offset[i]);
}

static void
slot_drop(struct worker *w, alq_value *slots, uint32_t i)
{
    w->held[i] = 0;
    w->offset[i] = 0;
    slots[i] = ALQ_NULL;
}

/* ---- the walk ----------------------------------------------------------- */

static void
reach(struct worker *w, alq_value v, uint32_t number, uint32_t *n_todo)
{
    struct object *o = &w->objects[number];

    assert_true(alq_is_block(v));
    assert_int_equal(number_of(v), number);
    if (o->walk == w->walk) {
        assert_same(o->at, v);
        return;
    }
    o->walk = w->walk;
    o->at = v;
    w->todo[(*n_todo)++] = number;
}

static void
fields_reach(struct worker *w, const struct object *o, uint32_t *n_todo)
{
    unsigned i;

    for (i = 0; i < FIELDS && o->kind == BLOCK; i++)
        if (o->fields[i] != 0)
            reach(w, alq_field(o->at, 1 + i), o->fields[i], n_todo);
        else
            assert_false(alq_is_block(alq_field(o->at, 1 + i)));
}

static void
check(struct worker *w, const alq_value *slots)
{
    uint32_t i, n_todo = 0;

    w->walk++;
    for (i = 0; i < SLOTS; i++)
        if (w->held[i] != 0)
            reach(w, base(w, slots, i), w->held[i], &n_todo);
    while (n_todo > 0)
        fields_reach(w, &w->objects[w->todo[--n_todo]], &n_todo);
}

/* Objects that the model does not reach are free. */
static void
sweep(struct worker *w, const alq_value *slots)
{
    uint32_t i;

    check(w, slots);
    w->n_free = 0;
    for (i = 1; i < OBJECTS; i++)
        if (w->objects[i].walk != w->walk)
            w->free[w->n_free++] = i;
}

/* ---- steps -------------------------------------------------------------- */

static alq_value
block_new(struct worker *w, alq_value *slots, struct object *o, uint32_t number)
{
    uint32_t i, from, n = rnd(w, 40) == 0 ? rnd(w, LARGE_MOST) : 0;
    alq_value v = n > 0 ? alq_alloc(w->d, 1 + FIELDS + n, 0)
                        : alq_alloc_small(w->d, 1 + FIELDS, 0);

    assert_false(alq_is_null(v));
    for (i = 0; i < FIELDS; i++) {
        from = rnd(w, SLOTS);
        o->fields[i] = rnd(w, 3) == 0 ? w->held[from] : 0;
        if (n > 0)
            alq_init(w->d, v, 1 + i,
                     o->fields[i] != 0 ? base(w, slots, from) : ALQ_UNIT);
        else
            alq_init_small(v, 1 + i,
                           o->fields[i] != 0 ? base(w, slots, from) : ALQ_UNIT);
    }
    if (n > 0)
        alq_init(w->d, v, 0, alq_from_int(number));
    else
        alq_init_small(v, 0, alq_from_int(number));
    return v;
}

static void
make(struct worker *w, alq_value *slots)
{
    uint32_t number = w->free[--w->n_free], i = rnd(w, SLOTS);
    struct object *o = &w->objects[number];
    alq_value v;

    o->kind = rnd(w, 8) < 6 ? BLOCK : 1 + rnd(w, KINDS - 1);
    switch (o->kind) {
    case STRING:
        v = alq_alloc_string(w->d, 4 + rnd(w, 60));
        *(uint32_t *)alq_string_chars(v) = number;
        break;
    case CUSTOM:
        v = alq_alloc_custom(w->d, &custom_ops, 8 + rnd(w, 3000));
        __atomic_add_fetch(&customs_live, 1, __ATOMIC_RELAXED);
        *(uint32_t *)alq_custom_data(v) = number;
        break;
    default:
        v = block_new(w, slots, o, number);
    }
    slot_set(w, slots, i, v, number);
}

static void
store(struct worker *w, alq_value *slots)
{
    uint32_t to = rnd(w, SLOTS), from = rnd(w, SLOTS), i = rnd(w, FIELDS);
    struct object *o = &w->objects[w->held[to]];

    if (w->held[to] == 0 || o->kind != BLOCK)
        return;
    o->fields[i] = w->held[from];
    alq_store(w->d, base(w, slots, to), 1 + i,
              w->held[from] != 0 ? base(w, slots, from) : ALQ_UNIT);
}

static void
load(struct worker *w, alq_value *slots)
{
    uint32_t to = rnd(w, SLOTS), from = rnd(w, SLOTS), i = rnd(w, FIELDS);
    const struct object *o = &w->objects[w->held[from]];

    if (w->held[from] == 0 || o->kind != BLOCK || o->fields[i] == 0)
        return;
    slot_set(w, slots, to, alq_field(base(w, slots, from), 1 + i),
             o->fields[i]);
}

/* The section changes the slots, and puts them back. */
static void
block(struct worker *w, alq_value *slots)
{
    uintptr_t away[SLOTS];
    unsigned i;
    ALQ_BLOCKING(w->d, section);

    assert_non_null(section);
    for (i = 0; i < SLOTS && !w->is_precise; i++) {
        away[i] = ~alq_bits(slots[i]);
        slots[i] = ALQ_NULL;
    }
    if (rnd(w, 8) == 0)
        usleep(20);
    __asm__ volatile("" : : : "memory");
    for (i = 0; i < SLOTS && !w->is_precise; i++)
        slots[i] = ALQ_VALUE(~away[i]);
}

static void
collect(struct worker *w)
{
    switch (rnd(w, 12)) {
    case 0:
        assert_int_equal(alq_gc_major(w->d), ALQ_OK);
        break;
    case 1:
        assert_int_equal(alq_gc_compact(w->d), ALQ_OK);
        break;
    case 2:
    case 3:
        assert_int_equal(alq_gc_major_slice(w->d, 2000), ALQ_OK);
        break;
    default:
        assert_int_equal(alq_gc_minor(w->d), ALQ_OK);
    }
}

static void
step(struct worker *w, alq_value *slots)
{
    uint32_t what = rnd(w, 1000);

    if (w->n_free == 0)
        sweep(w, slots);
    if (what < 450)
        make(w, slots);
    else if (what < 700)
        store(w, slots);
    else if (what < 850)
        load(w, slots);
    else if (what < 985)
        slot_drop(w, slots, rnd(w, SLOTS));
    else if (what < 992)
        block(w, slots);
    else if (what < 996)
        alq_thread_yield(w->d);
    else if (what < 998 && w->attaches == IS_HARD)
        alq_poll(w->d);
    else
        collect(w);
}

static void
steps(struct worker *w, alq_value *slots, unsigned n)
{
    unsigned i;

    memset(w->held, 0, sizeof w->held);
    memset(w->offset, 0, sizeof w->offset);
    for (i = 0; i < n; i++) {
        step(w, slots);
        if (i % CHECK_EVERY == 0)
            check(w, slots);
    }
    check(w, slots);
}

static ALQI_NOINLINE void
live_precise(struct worker *w, unsigned n)
{
    ALQ_FRAME(w->d, f, slots[SLOTS]);

    steps(w, f.slots, n);
}

static ALQI_NOINLINE void
live(struct worker *w, unsigned n)
{
    alq_value slots[SLOTS] = {0};

    steps(w, slots, n);
}

/* ---- workers ------------------------------------------------------------ */

static void
model_open(struct worker *w)
{
    uint32_t i;

    w->objects = calloc(OBJECTS, sizeof *w->objects);
    w->free = calloc(OBJECTS, sizeof *w->free);
    w->todo = calloc(OBJECTS, sizeof *w->todo);
    assert_true(w->objects != NULL && w->free != NULL && w->todo != NULL);
    for (i = 1; i < OBJECTS; i++)
        w->free[w->n_free++] = i;
}

static void
model_close(struct worker *w)
{
    free(w->objects);
    free(w->free);
    free(w->todo);
}

static void
work(struct worker *w, unsigned n)
{
    model_open(w);
    if (w->is_precise)
        live_precise(w, n);
    else {
        assert_int_equal(alq_thread_conservative(w->d, NULL), ALQ_OK);
        live(w, n);
    }
    model_close(w);
}

static alq_value
domain_work(struct alq_domain *d, alq_value arg, void *data)
{
    struct worker *w = data;

    (void)arg;
    w->d = d;
    work(w, STEPS / 3);
    return ALQ_UNIT;
}

static void *
thread_work(void *data)
{
    struct worker *w = data;
    struct alq_thread *thread;

    assert_int_equal(alq_thread_attach(w->d, &thread), ALQ_OK);
    work(w, STEPS / 8);
    assert_int_equal(alq_thread_detach(thread), ALQ_OK);
    return NULL;
}

static void
run(uint64_t seed, unsigned n_domains, unsigned n_threads)
{
    static const struct alq_domain_config config = {4096, 60, 0, 0, 0};
    struct worker workers[WORKERS_MAX] = {0};
    struct alq_child *child[WORKERS_MAX];
    pthread_t thread[WORKERS_MAX];
    struct alq_gc_counts c;
    struct alq_domain *d;
    unsigned i;

    customs_live = 0;
    assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
    for (i = 0; i < n_domains + n_threads; i++)
        workers[i] =
            (struct worker){.d = d,
                            .seed = (seed + alqi_base_test_seed()) * 100 + i,
                            .is_precise = i % 3 == 2,
                            .attaches = i >= n_domains};
    for (i = 1; i < n_domains; i++)
        assert_int_equal(alq_domain_spawn(d, domain_work, ALQ_UNIT, &workers[i],
                                          NULL, &child[i]),
                         ALQ_OK);
    for (i = n_domains; i < n_domains + n_threads; i++)
        assert_int_equal(
            pthread_create(&thread[i], NULL, thread_work, &workers[i]), 0);
    work(&workers[0], STEPS / (n_domains + n_threads));
    for (i = 1; i < n_domains; i++) {
        assert_int_equal(alq_domain_join(d, child[i], NULL), ALQ_OK);
        alq_child_drop(child[i]);
    }
    {
        ALQ_BLOCKING(d, section);

        assert_non_null(section);
        for (i = n_domains; i < n_domains + n_threads; i++)
            pthread_join(thread[i], NULL);
    }
    assert_int_equal(alq_gc_counters(d, &c), ALQ_OK);
    assert_true(c.held_blocks > 0 && c.major_cycles > 0);
    assert_int_equal(alq_thread_precise(d), ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    if (customs_live > 0) /* nothing is held any more */
        fail_msg("%ju custom blocks live, seed %ju", (uintmax_t)customs_live,
                 (uintmax_t)seed);
    assert_int_equal(alq_domain_drop(d), ALQ_OK);
}

static void
one_thread(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= SEEDS; seed++)
        run(seed, 1, 0);
}

static void
domains(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= SEEDS; seed++)
        run(seed, 3, 0);
}

static void
threads_of_a_domain(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= SEEDS; seed++)
        run(seed, 1, 3);
}

static void
both(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= SEEDS; seed++)
        run(seed, 2, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread),
        cmocka_unit_test(domains),
        cmocka_unit_test(threads_of_a_domain),
        cmocka_unit_test(both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
