/* snapshot_test.c -- <aliquot/snapshot.h>: random graphs of all forms, against
 * what the program knows
 *
 * A graph is made twice, on the heap and in a model.  The file has addresses,
 * the model numbers: from roots whose slots are known both are walked side by
 * side, which gives each number its address.  So the blocks may move. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "domains_kit.h"
#include "snapshot_kit.h"

enum {
    NODES = IS_HARD ? 300 : 3000,
    EDGES_MAX = 12,
    LARGE_FIELDS = 5000,
    GLOBALS = 20,
    BOXED = 20,
    SLOTS = 20,
    SHOWN = 10,
    PINNED = 10
};

enum form { BLOCK, STRING, DOUBLE, DOUBLES, CUSTOM, OTHER, WEAK, EPHE, FORMS };

static const struct alq_custom_ops ops = {.name = "test.custom"},
                                   other_ops = {.name = NULL};

/* What the file must say of a block. */
static struct node {
    enum form form;
    unsigned tag;
    uintptr_t wosize; /* 0: not looked at */
    unsigned n_edges;
    unsigned edges[EDGES_MAX]; /* in the order of fields */
    uint64_t address;          /* in the file; 0: not met */
} nodes[NODES];

static alq_value slots[NODES], *top = slots, held[SLOTS], *held_top = held;
static struct alq_range all = {.base = slots, .top = &top};
static struct alq_range range = {.base = held, .top = &held_top};
static struct alq_global globals[GLOBALS];
static struct alq_root *boxed[BOXED];
static alq_value shown[SHOWN], pinned[PINNED];
static unsigned global_of[GLOBALS], boxed_of[BOXED], held_of[SLOTS],
    shown_of[SHOWN], pinned_of[PINNED];
static uint64_t seed;

static unsigned
rnd(unsigned n)
{
    seed = alqi_base_mix(seed + 1);
    return (unsigned)(alqi_base_mix(seed) % n);
}

/* ---- the graph ---------------------------------------------------------- */

static alq_value
node_alloc(struct node *n)
{
    uintptr_t size = rnd(40) == 0 ? LARGE_FIELDS + rnd(100) : 1 + rnd(20);

    n->form = (enum form)(rnd(3) == 0 ? rnd(FORMS) : BLOCK);
    n->wosize = 0;
    n->tag = ALQ_TAG_CUSTOM;
    switch (n->form) {
    case BLOCK:
        n->tag = rnd(246);
        n->wosize = size < 2 ? 2 : size;
        return alq_alloc(d, n->wosize, n->tag);
    case STRING:
        n->tag = ALQ_TAG_STRING;
        n->wosize = size;
        return alq_alloc_string(d, size * 8 - 1);
    case DOUBLE:
        n->tag = ALQ_TAG_DOUBLE;
        n->wosize = 1;
        return alq_alloc_double(d, 0.5);
    case DOUBLES:
        n->tag = ALQ_TAG_DOUBLE_ARRAY;
        n->wosize = size;
        return alq_alloc_double_array(d, size);
    case CUSTOM:
        return alq_alloc_custom(d, &ops, size * 8);
    case OTHER:
        return alq_alloc_custom(d, &other_ops, size * 8);
    case WEAK:
        return alq_weak_create(d, 1 + rnd(5));
    default:
        return alq_ephe_create(d, 1 + rnd(5));
    }
}

static void
edge_add(struct node *n, unsigned to)
{
    n->edges[n->n_edges++] = to;
}

/* Leads to others from some of its fields; what is weak is no edge. */
static void
node_fill(unsigned i)
{
    struct node *n = &nodes[i];
    uintptr_t field = 0;

    n->n_edges = 0;
    for (unsigned k = rnd(EDGES_MAX); n->form == BLOCK && k > 0; k--) {
        unsigned to = rnd(NODES);

        if (field == n->wosize)
            break;
        alq_store(d, slots[i], field++,
                  rnd(4) == 0 ? alq_from_int(7) : slots[to]);
        if (alq_is_block(alq_field(slots[i], field - 1)))
            edge_add(n, to);
    }
    if (n->form == WEAK)
        CHECK(alq_weak_set(d, slots[i], 0, slots[rnd(NODES)]) == ALQ_OK);
    if (n->form == EPHE) {
        unsigned to = rnd(NODES);

        /* A key that lives as long as the ephemeron. */
        CHECK(alq_ephe_set_key(d, slots[i], 0, slots[i]) == ALQ_OK);
        CHECK(alq_ephe_set_data(d, slots[i], slots[to]) == ALQ_OK);
        edge_add(n, to);
    }
}

static void
graph_make(void)
{
    for (unsigned i = 0; i < NODES; i++) {
        slots[i] = node_alloc(&nodes[i]);
        CHECK(alq_is_block(slots[i]));
        top = &slots[i + 1];
        if (rnd(NODES / 4) == 0)
            CHECK(alq_gc_minor(d) == ALQ_OK);
    }
    for (unsigned i = 0; i < NODES; i++)
        node_fill(i);
}

/* ---- roots -------------------------------------------------------------- */

static void
show(void *arg, void (*visit)(void *visit_arg, alq_value *slot), void *to)
{
    (void)arg;
    for (unsigned i = 0; i < SHOWN; i++)
        visit(to, &shown[i]);
}

static struct alq_scanner scanner = {.scan = show};

/* Every other place of `held` has a name. */
static const char *
place_name(const struct alq_range *of, size_t index)
{
    static char names[SLOTS][16];

    CHECK(of->base == held && index < SLOTS);
    snprintf(names[index], sizeof names[index], "%zu", index);
    return index % 2 == 0 ? names[index] : NULL;
}

static bool
is_named_as_place(const struct shot_root *r, unsigned index)
{
    char name[32];

    snprintf(name, sizeof name, index % 2 == 0 ? "held %u" : "held", index);
    return strcmp(r->name, name) == 0;
}

static void
roots_make(void)
{
    for (unsigned i = 0; i < GLOBALS; i++) {
        globals[i].value = slots[global_of[i] = rnd(NODES)];
        CHECK(alq_global_add(d, &globals[i]) == ALQ_OK);
    }
    for (unsigned i = 0; i < BOXED; i++)
        boxed[i] = alq_root_new(d, slots[boxed_of[i] = rnd(NODES)]);
    for (unsigned i = 0; i < SLOTS; i++)
        held[i] = slots[held_of[i] = rnd(NODES)];
    held_top = held + SLOTS;
    for (unsigned i = 0; i < SHOWN; i++)
        shown[i] = slots[shown_of[i] = rnd(NODES)];
    CHECK(alq_range_add(d, &range) == ALQ_OK);
    CHECK(alq_range_name(d, &range, NULL, place_name) == ALQ_EINVAL);
    CHECK(alq_range_name(d, &range, "held", place_name) == ALQ_OK);
    CHECK(alq_scanner_add(d, &scanner) == ALQ_OK);
    for (unsigned i = 0; i < PINNED; i++) {
        do
            pinned_of[i] = rnd(NODES);
        while (nodes[pinned_of[i]].form >= WEAK);
        pinned[i] = slots[pinned_of[i]];
        CHECK(alq_pin(d, pinned[i]) == ALQ_OK);
    }
}

static void
roots_end(void)
{
    for (unsigned i = 0; i < GLOBALS; i++)
        alq_global_remove(d, &globals[i]);
    for (unsigned i = 0; i < BOXED; i++)
        alq_root_drop(d, boxed[i]);
    alq_range_remove(d, &range);
    alq_scanner_remove(d, &scanner);
    for (unsigned i = 0; i < PINNED; i++)
        CHECK(alq_unpin(d, pinned[i]) == ALQ_OK);
}

/* ---- side by side ------------------------------------------------------- */

static unsigned todo[NODES];
static size_t n_todo, n_met;

/* The model's block has this address in the file, and no other. */
static void
meet(unsigned i, uint64_t address)
{
    struct node *n = &nodes[i];

    if (n->address == 0) {
        n->address = address;
        todo[n_todo++] = i;
        n_met++;
    }
    CHECK(n->address == address);
}

static const char *
kind_of(const struct node *n)
{
    static const char *const names[] = {
        [STRING] = "string",        [DOUBLE] = "double",
        [DOUBLES] = "double array", [CUSTOM] = "test.custom",
        [OTHER] = "custom",
    };

    if (n->form == BLOCK)
        return n->tag == 17 ? "seventeen" : "";
    return names[n->form];
}

static void
compare(const struct shot *shot, const struct node *n)
{
    const struct shot_block *b = shot_find(shot, n->address);

    CHECK(b != NULL && b->tag == n->tag);
    CHECK(n->wosize == 0 || b->wosize == n->wosize);
    CHECK(b->n_edges == n->n_edges);
    for (unsigned i = 0; i < n->n_edges; i++)
        meet(n->edges[i], shot->edges[b->first_edge + i]);
    if (n->form < WEAK)
        CHECK(strcmp(shot_kind(shot, b), kind_of(n)) == 0);
    else
        CHECK(shot_kind(shot, b)[0] != '\0');
}

static bool
slot_is(const struct shot_root *r, unsigned kind, const void *slot)
{
    return r->kind == kind && r->slot == (uintptr_t)slot;
}

/* The model's blocks that the roots of the file lead to, by where they are. */
static unsigned
root_meet(const struct shot_root *r, unsigned *n_shown)
{
    unsigned i;

    for (i = 0; i < GLOBALS; i++)
        if (slot_is(r, ALQI_DUMP_ROOT_GLOBAL, &globals[i]))
            return meet(global_of[i], r->block), 1;
    for (i = 0; i < BOXED; i++)
        if (slot_is(r, ALQI_DUMP_ROOT_BOXED, boxed[i]))
            return meet(boxed_of[i], r->block), 1;
    for (i = 0; i < SLOTS; i++)
        if (slot_is(r, ALQI_DUMP_ROOT_RANGE, &held[i]) &&
            is_named_as_place(r, i))
            return meet(held_of[i], r->block), 1;
    if (slot_is(r, ALQI_DUMP_ROOT_SCANNER, (void *)(uintptr_t)show))
        return meet(shown_of[(*n_shown)++], r->block), 1;
    for (i = 0; r->kind == ALQI_DUMP_ROOT_PIN && i < PINNED; i++)
        if (alq_bits(pinned[i]) == r->block)
            return meet(pinned_of[i], r->block), 1;
    return 0;
}

/* Each root of the model is in the file, and what it leads to is as it is in
 * the model; returns how many blocks those are. */
static size_t
agree(const struct shot *shot)
{
    unsigned n_roots = 0, n_shown = 0, n_pins = PINNED;

    n_met = n_todo = 0;
    for (unsigned i = 0; i < NODES; i++)
        nodes[i].address = 0;
    for (unsigned i = 0; i < PINNED; i++)
        for (unsigned k = 0; k < i; k++)
            if (pinned_of[k] == pinned_of[i]) {
                n_pins--; /* pinned twice, one root */
                break;
            }
    for (size_t i = 0; i < shot->n_roots; i++)
        n_roots += root_meet(&shot->roots[i], &n_shown);
    CHECK(n_roots == GLOBALS + BOXED + SLOTS + SHOWN + n_pins);
    while (n_todo > 0)
        compare(shot, &nodes[todo[--n_todo]]);
    return n_met;
}

/* ---- tests -------------------------------------------------------------- */

static int
graph_setup(void **state)
{
    if (domains_setup(state) != 0)
        return -1;
    top = slots;
    held_top = held;
    return alq_tag_name_set(17, "seventeen") != ALQ_OK ||
           alq_range_add(d, &all) != ALQ_OK;
}

static void
graph_begin(uint64_t number)
{
    seed = number + alqi_base_test_seed();
    graph_make();
    roots_make();
    alq_range_remove(d, &all);
}

static int
graph_teardown(void **state)
{
    roots_end();
    return domains_teardown(state);
}

static void
random_graphs_are_in_the_file(void **state)
{
    (void)state;
    graph_begin(1);
    for (unsigned round = 0; round < 20; round++) {
        struct shot *shot =
            shot_take(d, round % 2 == 0 ? 0 : ALQ_SNAPSHOT_STOP);

        agree(shot);
        shot_drop(shot);
        /* Anywhere in a cycle. */
        CHECK(alq_gc_major_slice(d, rnd(20000)) == ALQ_OK);
    }
}

/* After collections what is not reachable is not there: young blocks, old ones,
 * large ones, those that only weak references lead to. */
static void
collected_first_there_is_no_garbage(void **state)
{
    struct shot *shot;
    size_t n;

    (void)state;
    graph_begin(2);
    shot = shot_take(d, ALQ_SNAPSHOT_COLLECT);
    n = agree(shot);
    assert_true(n < NODES); /* some is garbage */
    assert_int_equal(shot->n_blocks, n);
    assert_int_equal(shot_reach_all(shot), n);
    shot_drop(shot);
}

static int
by_address(const void *a, const void *b)
{
    const struct shot_block *x = a, *y = b;

    return (x->address > y->address) - (x->address < y->address);
}

static void
with_a_copy_and_without_the_graph_is_the_same(void **state)
{
    struct shot *copied, *stopped;

    (void)state;
    graph_begin(3);
    copied = shot_take(d, 0);
    stopped = shot_take(d, ALQ_SNAPSHOT_STOP);
    assert_int_equal(copied->n_blocks, stopped->n_blocks);
    assert_int_equal(copied->n_edges, stopped->n_edges);
    assert_int_equal(copied->n_roots, stopped->n_roots);
    if (!IS_HARD) { /* there blocks move in between */
        assert_memory_equal(copied->edges, stopped->edges,
                            copied->n_edges * sizeof *copied->edges);
        for (size_t i = 0; i < copied->n_blocks; i++)
            assert_int_equal(
                by_address(&copied->blocks[i], &stopped->blocks[i]), 0);
        assert_memory_equal(copied->roots, stopped->roots,
                            copied->n_roots * sizeof *copied->roots);
    }
    shot_drop(copied);
    shot_drop(stopped);
}

/* Others hold a tree each in a frame, and stand in a blocking section. */
static void
domains_in_blocking_sections_have_their_roots(void **state)
{
    enum { CHILDREN = 3, DEPTH = IS_HARD ? 4 : 10 };
    static struct gate gate = GATE;
    struct alq_child *children[CHILDREN];
    size_t n_frames = 0;
    struct shot *shot;

    (void)state;
    graph_begin(4);
    for (int i = 0; i < CHILDREN; i++) {
        ALQ_FRAME(d, f, tree);

        f.tree = tree(d, DEPTH);
        children[i] = spawn(d, through_gate, f.tree, &gate);
    }
    gate_await(&gate, CHILDREN);
    shot = shot_take(d, 0);
    agree(shot);
    for (size_t i = 0; i < shot->n_roots; i++)
        if (strncmp(shot->roots[i].name, "through_gate:", 13) == 0) {
            assert_int_equal(shot->roots[i].kind, ALQI_DUMP_ROOT_FRAME);
            assert_true(shot->roots[i].domain != alq_domain_id(d));
            assert_int_equal(shot_reach(shot, shot->roots[i].block),
                             (1 << DEPTH) - 1);
            n_frames++;
        }
    assert_int_equal(n_frames, CHILDREN);
    shot_drop(shot);
    gate_open(&gate);
    for (int i = 0; i < CHILDREN; i++)
        finish(d, children[i]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, graph_setup, graph_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(random_graphs_are_in_the_file),
        TEST(collected_first_there_is_no_garbage),
        TEST(with_a_copy_and_without_the_graph_is_the_same),
        TEST(domains_in_blocking_sections_have_their_roots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
