#include <stdio.h>
#include <string.h>

#include "heap_stack_kit.h"

enum { LITTER = IS_HARD ? 300 : 10000 };

struct alq_domain *d;

int
set_up(void **state)
{
    struct alq_domain_config config = {4096, 80, 0, 0, 0};

    (void)state;
    if (alq_domain_new(&config, &d) != ALQ_OK)
        return 1;
    return alq_thread_conservative(d, NULL) != ALQ_OK;
}

int
tear_down(void **state)
{
    (void)state;
    return alq_domain_drop(d) != ALQ_OK;
}

/* ---- values without roots ----------------------------------------------- */

ALQI_NOINLINE alq_value
pair(struct alq_domain *self, alq_value a, alq_value b)
{
    alq_value v = alq_alloc_small(self, 2, 0);

    assert_false(alq_is_null(v));
    alq_init_small(v, 0, a);
    alq_init_small(v, 1, b);
    return v;
}

void
litter(struct alq_domain *self)
{
    unsigned i;

    for (i = 0; i < LITTER; i++)
        pair(self, alq_from_int(i), ALQ_UNIT);
}

ALQI_NOINLINE void
collect(struct alq_domain *self)
{
    litter(self);
    assert_int_equal(alq_gc_minor(self), ALQ_OK);
    litter(self);
    assert_int_equal(alq_gc_full_major(self), ALQ_OK);
    assert_int_equal(alq_gc_compact(self), ALQ_OK);
}

uint64_t
held_blocks(void)
{
    struct alq_gc_counts c;

    assert_int_equal(alq_gc_counters(d, &c), ALQ_OK);
    return c.held_blocks;
}

/* What calls have left behind below the caller's frame. */
ALQI_NOINLINE void
wipe(void)
{
    volatile char bytes[16384];

    memset((char *)bytes, 0, sizeof bytes);
}

unsigned n_finalised; /* of this generation */
uint32_t generation;
unsigned n_inside;

static void
finalise(alq_value block)
{
    n_inside += alq_thread_precise(d) == ALQ_OK ||
                alq_thread_conservative(d, NULL) == ALQ_OK;
    if (*(uint32_t *)alq_custom_data(block) == generation)
        __atomic_add_fetch(&n_finalised, 1, __ATOMIC_RELAXED);
}

const struct alq_custom_ops held_ops = {.name = "held", .finalise = finalise};

/* Custom blocks whose data are the generation and their numbers, hidden. */
uintptr_t hidden[HIDDEN];

ALQI_NOINLINE void
hidden_make(size_t bytes)
{
    volatile alq_value v[HIDDEN];
    unsigned i;

    n_finalised = 0;
    generation++;
    for (i = 0; i < HIDDEN; i++) {
        v[i] = alq_alloc_custom(d, &held_ops, bytes);
        ((uint32_t *)alq_custom_data(v[i]))[0] = generation;
        ((uint32_t *)alq_custom_data(v[i]))[1] = i;
        hidden[i] = ~alq_bits(v[i]);
    }
}

uint32_t
hidden_number(unsigned i)
{
    return ((uint32_t *)alq_custom_data(ALQ_VALUE(~hidden[i])))[1];
}

/* ---- programs ----------------------------------------------------------- */

alq_value
tree(struct alq_domain *self, unsigned depth)
{
    alq_value left;

    if (depth == 0)
        return alq_from_int(1);
    left = tree(self, depth - 1);
    return pair(self, left, tree(self, depth - 1));
}

intptr_t
leaves(alq_value v)
{
    return alq_is_block(v) ? leaves(alq_field(v, 0)) + leaves(alq_field(v, 1))
                           : alq_to_int(v);
}

/* A sorted tree that is never changed: (left, key, right). */
static alq_value
insert(struct alq_domain *self, alq_value t, intptr_t key)
{
    alq_value v, left = alq_is_block(t) ? alq_field(t, 0) : ALQ_UNIT;
    alq_value right = alq_is_block(t) ? alq_field(t, 2) : ALQ_UNIT;
    intptr_t here = alq_is_block(t) ? alq_to_int(alq_field(t, 1)) : key;

    if (key < here)
        left = insert(self, left, key);
    else if (key > here)
        right = insert(self, right, key);
    v = alq_alloc_small(self, 3, 0);
    alq_init_small(v, 0, left);
    alq_init_small(v, 1, alq_from_int(here));
    alq_init_small(v, 2, right);
    return v;
}

static intptr_t
sum(alq_value t)
{
    return alq_is_block(t)
               ? sum(alq_field(t, 0)) + alq_to_int(alq_field(t, 1)) +
                     sum(alq_field(t, 2))
               : 0;
}

/* A table of lists of (name, number), stored into while it is old. */
enum { BUCKETS = 512, NAMES = IS_HARD ? 100 : 3000 };

static alq_value
name_of(struct alq_domain *self, unsigned i)
{
    char text[32];

    return alq_string_copy(self, text,
                           (size_t)snprintf(text, sizeof text, "name %u", i));
}

static void
table_fill(struct alq_domain *self, alq_value table)
{
    unsigned i;

    for (i = 0; i < NAMES; i++) {
        alq_value entry = pair(self, name_of(self, i), alq_from_int(i));

        alq_store(self, table, i % BUCKETS,
                  pair(self, entry, alq_field(table, i % BUCKETS)));
    }
}

static unsigned
table_check(alq_value table)
{
    unsigned i, n = 0;
    char text[32];

    for (i = 0; i < BUCKETS; i++) {
        alq_value list = alq_field(table, i);

        for (; alq_is_block(list); list = alq_field(list, 1), n++) {
            alq_value entry = alq_field(list, 0);

            snprintf(text, sizeof text, "name %jd",
                     (intmax_t)alq_to_int(alq_field(entry, 1)));
            assert_string_equal(alq_string_chars(alq_field(entry, 0)), text);
        }
    }
    return n;
}

void
program(struct alq_domain *self, unsigned rounds)
{
    alq_value table = alq_alloc(self, BUCKETS, 0), map = ALQ_UNIT, big;
    unsigned depth = IS_HARD ? 6 : 12;
    alq_value long_lived = tree(self, depth);
    intptr_t expected = 0;
    unsigned i;

    for (i = 0; i < rounds; i++) {
        big = tree(self, depth);
        map = insert(self, map, (intptr_t)(i * 7919 % 1000));
        expected += (intptr_t)(i * 7919 % 1000);
        if (i % 16 == 0)
            assert_int_equal(alq_gc_full_major(self), ALQ_OK);
        if (i % 32 == 8)
            assert_int_equal(alq_gc_compact(self), ALQ_OK);
        assert_int_equal(leaves(big), 1 << depth);
        assert_int_equal(sum(map), expected);
    }
    table_fill(self, table);
    assert_int_equal(leaves(long_lived), 1 << depth);
    collect(self);
    assert_int_equal(table_check(table), NAMES);
    assert_int_equal(leaves(long_lived), 1 << depth);
    assert_int_equal(sum(map), expected);
}
