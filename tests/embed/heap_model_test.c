/* heap_model_test.c -- the heap driven at random beside a model of it
 *
 * Objects of the model know what their fields hold.  Each block holds its
 * object's number, so that a walk from the roots through both at once finds a
 * value that was lost, changed, moved twice, or freed too early; and custom
 * blocks count themselves, which finds those that are freed too late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <aliquot/gc.h>
#include <aliquot/heap.h>
#include <aliquot/root.h>

#include "base/base.h"
#include "base/test_effort.h"
#include "base/test_seed.h"
#include "value_kit.h"

enum {
    SLOTS = 48, /* of each kind of root */
    KINDS = 5,
    PINS = 200,
    OBJECTS = 1 << 17,
    CHECK_EVERY = ALQI_TEST_ROUNDS(20000, 500, 500),
    STEPS = ALQI_TEST_ROUNDS(2000000, 40000, 30000)
};

enum kind { FREE, BLOCK, STRING, DOUBLES, CUSTOM };

/* Field 0 of a block is the object's number, which is no field here. */
struct object {
    enum kind kind;
    uint32_t n;       /* fields, bytes or doubles */
    uint32_t *fields; /* numbers of objects; 0: an integer, its own */
    alq_value at;     /* in this walk */
    uint32_t walk;
};

static struct object objects[OBJECTS];
static uint32_t free_objects[OBJECTS];
static uint32_t n_free;
static uint32_t walk;
static uint32_t todo[OBJECTS];
static uint64_t seed;
static uint64_t customs_live;

/* The roots, and what the model says they hold. */
static struct alq_domain *d;
static alq_value *frame_slots;
static alq_value range_slots[SLOTS];
static alq_value *range_top = range_slots + SLOTS;
static alq_value scanned_slots[SLOTS];
static struct alq_root *boxes[SLOTS];
static struct alq_global globals[SLOTS];
static uint32_t held[KINDS][SLOTS];

/* Blocks that are pinned, some of them twice. */
static struct {
    uint32_t object; /* 0: none */
    alq_value at;
} pins[PINS];
static bool with_pins;

static uint32_t
rnd(uint32_t n)
{
    seed += 0x9E3779B97F4A7C15u;
    return (uint32_t)(alqi_base_mix(seed) % n);
}

/* ---- roots -------------------------------------------------------------- */

static alq_value
root_get(unsigned kind, unsigned i)
{
    switch (kind) {
    case 0:
        return frame_slots[i];
    case 1:
        return range_slots[i];
    case 2:
        return alq_root_get(boxes[i]);
    case 3:
        return scanned_slots[i];
    default:
        return globals[i].value;
    }
}

static void
root_set(unsigned kind, unsigned i, alq_value v, uint32_t object)
{
    held[kind][i] = object;
    switch (kind) {
    case 0:
        frame_slots[i] = v;
        break;
    case 1:
        range_slots[i] = v;
        break;
    case 2:
        if (rnd(4) == 0) {
            alq_root_drop(d, boxes[i]);
            boxes[i] = alq_root_new(d, v);
            assert_non_null(boxes[i]);
        } else {
            alq_root_set(d, boxes[i], v);
        }
        break;
    case 3:
        scanned_slots[i] = v;
        break;
    default:
        globals[i].value = v;
    }
}

static void
scan(void *arg, void (*visit)(void *visit_arg, alq_value *slot),
     void *visit_arg)
{
    unsigned i;

    (void)arg;
    for (i = 0; i < SLOTS; i++)
        visit(visit_arg, &scanned_slots[i]);
}

/* ---- objects ------------------------------------------------------------ */

static void
custom_finalise(alq_value block)
{
    uint64_t *data = alq_custom_data(block);

    assert_int_equal(data[1], ~data[0]);
    data[1] = 0; /* a second call would see it */
    customs_live--;
}

static const struct alq_custom_ops custom_ops = {.name = "model",
                                                 .finalise = custom_finalise};

static uint32_t
object_new(enum kind kind, uint32_t n)
{
    uint32_t id;

    assert_true(n_free > 0);
    id = free_objects[--n_free];
    objects[id].kind = kind;
    objects[id].n = n;
    objects[id].fields =
        kind == BLOCK && n > 0 ? calloc(n, sizeof(uint32_t)) : NULL;
    return id;
}

static void
object_free(uint32_t id)
{
    free(objects[id].fields);
    objects[id].fields = NULL;
    objects[id].kind = FREE;
    free_objects[n_free++] = id;
}

static char
string_byte(uint32_t id, uint32_t i)
{
    return (char)(id * 31 + i * 7);
}

/* Does the block hold what the object says?  Not looking at its fields. */
static void
same(uint32_t id, alq_value v)
{
    struct object *o = &objects[id];
    uint32_t i;

    switch (o->kind) {
    case BLOCK:
        assert_int_equal(alq_wosize(v), o->n + 1);
        assert_int_equal(alq_tag(v), id % 200);
        assert_int_equal(alq_to_int(alq_field(v, 0)), id);
        break;
    case STRING:
        assert_int_equal(alq_tag(v), ALQ_TAG_STRING);
        assert_int_equal(alq_string_bytes(v), o->n);
        for (i = 0; i < o->n; i++)
            if (alq_string_chars(v)[i] != string_byte(id, i))
                fail_msg("byte %u of string %u", i, id);
        break;
    case DOUBLES:
        assert_int_equal(alq_tag(v), ALQ_TAG_DOUBLE_ARRAY);
        assert_int_equal(alq_wosize(v), o->n);
        for (i = 0; i < o->n; i++)
            assert_true(alq_double(v, i) == (double)id + i);
        break;
    case CUSTOM:
        assert_ptr_equal(alq_custom_ops_of(v), &custom_ops);
        assert_int_equal(*(uint64_t *)alq_custom_data(v), id);
        break;
    default:
        fail_msg("object %u is free in the model", id);
    }
}

/* ---- the walk ----------------------------------------------------------- */

static uint32_t n_todo;

static void
reach(uint32_t id, alq_value v)
{
    struct object *o = &objects[id];

    if (id == 0) {
        assert_true(!alq_is_block(v));
        return;
    }
    assert_true(alq_is_block(v));
    if (o->walk == walk) {
        assert_same(o->at, v); /* shared here, shared there */
        return;
    }
    o->walk = walk;
    o->at = v;
    same(id, v);
    todo[n_todo++] = id;
}

/* Compares everything; what the model does not reach is free in it.  Returns
 * how many custom blocks are reachable. */
static uint64_t
check(void)
{
    uint64_t n_customs = 0;
    unsigned kind, i;
    uint32_t id, f;

    walk++;
    n_todo = 0;
    for (kind = 0; kind < KINDS; kind++)
        for (i = 0; i < SLOTS; i++)
            reach(held[kind][i], root_get(kind, i));
    for (i = 0; i < PINS; i++)
        if (pins[i].object != 0)
            reach(pins[i].object, pins[i].at);
    while (n_todo > 0) {
        id = todo[--n_todo];
        if (objects[id].kind == BLOCK)
            for (f = 0; f < objects[id].n; f++)
                reach(objects[id].fields[f], alq_field(objects[id].at, f + 1));
    }
    for (id = 1; id < OBJECTS; id++)
        if (objects[id].kind != FREE && objects[id].walk != walk)
            object_free(id);
        else if (objects[id].kind == CUSTOM)
            n_customs++;
    return n_customs;
}

/* ---- steps -------------------------------------------------------------- */

/* A value that the program can reach: some root's, or what it leads to. */
static uint32_t
pick(alq_value *v)
{
    unsigned kind = rnd(KINDS), i = rnd(SLOTS), depth = rnd(6);
    uint32_t id = held[kind][i], f;

    *v = root_get(kind, i);
    while (depth-- > 0 && id != 0 && objects[id].kind == BLOCK &&
           objects[id].n > 0) {
        f = rnd(objects[id].n);
        if (objects[id].fields[f] == 0)
            break;
        id = objects[id].fields[f];
        *v = alq_field(*v, f + 1);
    }
    if (id == 0)
        *v = alq_from_int(rnd(1000));
    return id;
}

static uint32_t
size(void)
{
    switch (rnd(200)) {
    case 0:
        return rnd(3000);
    case 1:
    case 2:
        return rnd(300);
    case 3:
    case 4:
    case 5:
        return rnd(60);
    default:
        return rnd(9);
    }
}

static void
step_block(void)
{
    uint32_t n = size(), id = object_new(BLOCK, n), f;
    bool small = n < ALQ_SMALL_WOSIZE_MAX && rnd(2);
    alq_value block, v;

    block = small ? alq_alloc_small(d, n + 1, id % 200)
                  : alq_alloc(d, n + 1, id % 200);
    assert_false(alq_is_null(block));
    alq_init_small(block, 0, alq_from_int(id));
    for (f = 0; f < n; f++) {
        v = alq_from_int(f);
        if (n < 20 || rnd(16) == 0)
            objects[id].fields[f] = pick(&v);
        if (small)
            alq_init_small(block, f + 1, v);
        else
            alq_init(d, block, f + 1, v);
    }
    root_set(rnd(KINDS), rnd(SLOTS), block, id);
}

static void
step_bytes(void)
{
    uint32_t n = size(), id, i;
    alq_value v;

    if (rnd(2)) {
        id = object_new(STRING, n);
        v = alq_alloc_string(d, n);
        assert_false(alq_is_null(v));
        for (i = 0; i < n; i++)
            alq_string_chars(v)[i] = string_byte(id, i);
    } else {
        id = object_new(DOUBLES, n + 1);
        v = alq_alloc_double_array(d, n + 1);
        assert_false(alq_is_null(v));
        for (i = 0; i <= n; i++)
            alq_double_set(v, i, (double)id + i);
    }
    root_set(rnd(KINDS), rnd(SLOTS), v, id);
}

static void
step_custom(void)
{
    uint32_t id = object_new(CUSTOM, 0);
    alq_value v = alq_alloc_custom(d, &custom_ops, 16 + size() * 8);
    uint64_t *data;

    assert_false(alq_is_null(v));
    data = alq_custom_data(v);
    assert_int_equal(data[0] | data[1], 0);
    data[0] = id;
    data[1] = ~(uint64_t)id;
    customs_live++;
    root_set(rnd(KINDS), rnd(SLOTS), v, id);
}

/* Two at once: a pair that leads to a new double. */
static void
step_several(void)
{
    uint32_t pair = object_new(BLOCK, 1), doubles = object_new(DOUBLES, 1);
    uintptr_t headers[2];
    alq_value out[2];

    headers[0] = ALQ_HEADER(2, pair % 200);
    headers[1] = ALQ_HEADER(1, ALQ_TAG_DOUBLE_ARRAY);
    assert_true(alq_alloc_several(d, 2, headers, out));
    alq_double_set(out[1], 0, doubles);
    alq_init_small(out[0], 0, alq_from_int(pair));
    alq_init_small(out[0], 1, out[1]);
    objects[pair].fields[0] = doubles;
    root_set(rnd(KINDS), rnd(SLOTS), out[0], pair);
}

static void
step_store(void)
{
    alq_value block, v;
    uint32_t id = pick(&block), f;

    if (id == 0 || objects[id].kind != BLOCK || objects[id].n == 0)
        return;
    f = rnd(objects[id].n);
    objects[id].fields[f] = pick(&v);
    alq_store(d, block, f + 1, v);
}

static void
step_drop(void)
{
    root_set(rnd(KINDS), rnd(SLOTS), rnd(2) ? ALQ_NULL : ALQ_UNIT, 0);
}

static void
step_move(void)
{
    alq_value v;
    uint32_t id = pick(&v);

    root_set(rnd(KINDS), rnd(SLOTS), v, id);
}

/* What is pinned is in no other root, often. */
static void
step_pin(void)
{
    unsigned i = rnd(PINS);
    alq_value v;
    uint32_t id;

    if (pins[i].object != 0) {
        root_set(rnd(KINDS), rnd(SLOTS), pins[i].at, pins[i].object);
        assert_int_equal(alq_unpin(d, pins[i].at), ALQ_OK);
        pins[i].object = 0;
        return;
    }
    id = pick(&v);
    if (id == 0)
        return;
    assert_int_equal(alq_pin(d, v), ALQ_OK);
    pins[i].object = id;
    pins[i].at = v;
}

static void
unpin_all(void)
{
    unsigned i;

    for (i = 0; i < PINS; i++)
        if (pins[i].object != 0)
            assert_int_equal(alq_unpin(d, pins[i].at), ALQ_OK);
    memset(pins, 0, sizeof pins);
}

static void
step_collect(void)
{
    switch (rnd(40)) {
    case 0:
        assert_int_equal(alq_gc_major(d), ALQ_OK);
        break;
    case 1:
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
        assert_int_equal(check(), customs_live); /* all the others are dead */
        break;
    case 2:
        assert_int_equal(alq_gc_compact(d), ALQ_OK);
        assert_int_equal(check(), customs_live);
        break;
    case 3:
    case 4:
    case 5:
        assert_int_equal(alq_gc_minor(d), ALQ_OK);
        break;
    default:
        assert_int_equal(alq_gc_major_slice(d, 1 + rnd(2000)), ALQ_OK);
    }
}

static void
step(void)
{
    uint32_t which = rnd(1000);

    if (with_pins && rnd(100) == 0)
        step_pin();
    if (which < 300)
        step_block();
    else if (which < 360)
        step_bytes();
    else if (which < 380)
        step_custom();
    else if (which < 420)
        step_several();
    else if (which < 850)
        step_store();
    else if (which < 950)
        step_move();
    else if (which < 992)
        step_drop();
    else
        step_collect();
}

/* ---- runs --------------------------------------------------------------- */

static void
start(const struct alq_domain_config *config)
{
    static struct alq_range range = {range_slots, &range_top, NULL, NULL};
    static struct alq_scanner scanner = {scan, NULL, NULL, NULL};
    unsigned i;

    memset(held, 0, sizeof held);
    memset(objects, 0, sizeof objects);
    memset(range_slots, 0, sizeof range_slots);
    memset(scanned_slots, 0, sizeof scanned_slots);
    memset(globals, 0, sizeof globals);
    for (n_free = 0; n_free < OBJECTS - 1; n_free++)
        free_objects[n_free] = OBJECTS - 1 - n_free;
    customs_live = 0;
    assert_int_equal(alq_domain_new(config, &d), ALQ_OK);
    assert_int_equal(alq_range_add(d, &range), ALQ_OK);
    assert_int_equal(alq_scanner_add(d, &scanner), ALQ_OK);
    for (i = 0; i < SLOTS; i++) {
        assert_int_equal(alq_global_add(d, &globals[i]), ALQ_OK);
        boxes[i] = alq_root_new(d, ALQ_NULL);
        assert_non_null(boxes[i]);
    }
}

static void
run(const struct alq_domain_config *config, uint64_t run_seed, unsigned steps)
{
    struct alq_gc_counts counts;
    unsigned i;

    seed = run_seed + alqi_base_test_seed();
    start(config);
    {
        ALQ_FRAME(d, f, slots[SLOTS]);
        frame_slots = f.slots;
        for (i = 0; i < steps; i++) {
            step();
            if (i % CHECK_EVERY == 0)
                check();
        }
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
        assert_int_equal(check(), customs_live);
        unpin_all();
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
        assert_int_equal(check(), customs_live);
    }
    assert_int_equal(alq_status_of(d), ALQ_OK);
    assert_int_equal(alq_gc_counters(d, &counts), ALQ_OK);
    assert_true(counts.minor_collections > 10);
    assert_true(counts.major_cycles > (steps < STEPS ? 0 : 3));
    assert_true(counts.promoted_words > 1000);
    alq_domain_drop(d);
    assert_int_equal(customs_live, 0);
    for (i = 1; i < OBJECTS; i++)
        free(objects[i].fields);
}

static void
small_minor_heap(void **state)
{
    struct alq_domain_config config = {4096, 80, 0, 0, 0};

    (void)state;
    run(&config, 1, STEPS);
}

static void
usual_minor_heap(void **state)
{
    (void)state;
    run(NULL, 2, STEPS);
}

static void
many_seeds(void **state)
{
    struct alq_domain_config config = {8192, 200, 0, 0, 0};
    uint64_t s;

    (void)state;
    for (s = 100; s < 110; s++)
        run(&config, s, STEPS / 10);
}

static void
pinned(void **state)
{
    struct alq_domain_config config = {4096, 80, 0, 0, 0};
    uint64_t s;

    (void)state;
    with_pins = true;
    for (s = 200; s < 204; s++)
        run(s % 2 ? NULL : &config, s, STEPS / 8);
    with_pins = false;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_minor_heap),
        cmocka_unit_test(usual_minor_heap),
        cmocka_unit_test(many_seeds),
        cmocka_unit_test(pinned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
