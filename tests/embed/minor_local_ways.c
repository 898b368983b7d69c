/* minor_local_ways.c -- the ways to make a young block known to another domain
 */
#include "minor_local_kit.h"

static struct alq_global global;

static void
show_store(struct alq_domain *on, alq_value table, alq_value v)
{
    alq_store(on, table, PLACE, v);
}

alq_value
take_place(struct alq_domain *on, alq_value table)
{
    (void)on;
    return alq_field_acquire(table, PLACE);
}

void
hide_place(struct alq_domain *on, alq_value table)
{
    alq_store(on, table, PLACE, ALQ_UNIT);
}

static void
show_exchange(struct alq_domain *on, alq_value table, alq_value v)
{
    CHECK(alq_is_same(alq_field_exchange(on, table, PLACE, v), ALQ_UNIT));
}

static void
show_compare(struct alq_domain *on, alq_value table, alq_value v)
{
    alq_value expected = ALQ_UNIT;

    CHECK(alq_field_compare_exchange(on, table, PLACE, &expected, v));
}

/* Through an old block that is known already. */
static void
show_box(struct alq_domain *on, alq_value table, alq_value v)
{
    alq_store(on, alq_field(table, BOX), 2, v);
}

static alq_value
take_box(struct alq_domain *on, alq_value table)
{
    (void)on;
    return alq_field_acquire(alq_field(table, BOX), 2);
}

static void
hide_box(struct alq_domain *on, alq_value table)
{
    alq_store(on, alq_field(table, BOX), 2, ALQ_UNIT);
}

/* A block that is born in the major heap is known by a store of an old one. */
static void
show_init(struct alq_domain *on, alq_value table, alq_value v)
{
    ALQ_FRAME(on, f, table, v);
    alq_value large;

    f.table = table;
    f.v = v;
    large = alq_alloc(on, ALQ_SMALL_WOSIZE_MAX + 10, 0);
    CHECK(!alq_is_null(large));
    alq_init(on, large, 9, f.v);
    alq_store(on, f.table, PLACE, large);
}

static alq_value
take_init(struct alq_domain *on, alq_value table)
{
    return alq_field_acquire(take_place(on, table), 9);
}

/* Young itself, and what leads to it. */
static void
show_deep(struct alq_domain *on, alq_value table, alq_value v)
{
    ALQ_FRAME(on, f, table);

    f.table = table;
    v = item_new(on, v, ALQ_UNIT);
    alq_store(on, f.table, PLACE, item_new(on, v, ALQ_UNIT));
}

static alq_value
take_deep(struct alq_domain *on, alq_value table)
{
    return alq_field(alq_field(take_place(on, table), 0), 0);
}

static void
show_global(struct alq_domain *on, alq_value table, alq_value v)
{
    (void)table;
    global.value = v;
    CHECK(alq_global_add(on, &global) == ALQ_OK);
}

static void
prepare_global(struct alq_domain *on)
{
    global.value = ALQ_UNIT;
    CHECK(alq_global_add(on, &global) == ALQ_OK);
}

static void
show_in_global(struct alq_domain *on, alq_value table, alq_value v)
{
    (void)on;
    (void)table;
    global.value = v;
}

static alq_value
take_global(struct alq_domain *on, alq_value table)
{
    (void)on;
    (void)table;
    return global.value;
}

static void
hide_global(struct alq_domain *on, alq_value table)
{
    (void)table;
    alq_global_remove(on, &global);
}

static void
show_weak(struct alq_domain *on, alq_value table, alq_value v)
{
    CHECK(alq_weak_set(on, alq_field(table, WEAK), 1, v) == ALQ_OK);
}

static void
show_weak_fill(struct alq_domain *on, alq_value table, alq_value v)
{
    CHECK(alq_weak_fill(on, alq_field(table, WEAK), 0, 3, v) == ALQ_OK);
}

/* Out of a young array, which nobody else knows. */
static void
show_weak_blit(struct alq_domain *on, alq_value table, alq_value v)
{
    ALQ_FRAME(on, f, table, v);
    alq_value young;

    f.table = table;
    f.v = v;
    young = alq_weak_create(on, 2);
    CHECK(!alq_is_null(young));
    CHECK(alq_weak_set(on, young, 0, f.v) == ALQ_OK);
    CHECK(alq_weak_blit(on, young, 0, alq_field(f.table, WEAK), 1, 1) ==
          ALQ_OK);
}

static alq_value
take_weak(struct alq_domain *on, alq_value table)
{
    return alq_weak_get(on, alq_field(table, WEAK), 1);
}

static void
hide_weak(struct alq_domain *on, alq_value table)
{
    CHECK(alq_weak_fill(on, alq_field(table, WEAK), 0, 4, ALQ_NULL) == ALQ_OK);
}

static void
show_key(struct alq_domain *on, alq_value table, alq_value v)
{
    CHECK(alq_ephe_set_key(on, alq_field(table, EPHE), 0, v) == ALQ_OK);
}

static alq_value
take_key(struct alq_domain *on, alq_value table)
{
    return alq_ephe_get_key(on, alq_field(table, EPHE), 0);
}

static void
show_data(struct alq_domain *on, alq_value table, alq_value v)
{
    CHECK(alq_ephe_set_key(on, alq_field(table, EPHE), 0, table) == ALQ_OK);
    CHECK(alq_ephe_set_data(on, alq_field(table, EPHE), v) == ALQ_OK);
}

static alq_value
take_data(struct alq_domain *on, alq_value table)
{
    return alq_ephe_get_data(on, alq_field(table, EPHE));
}

/* Both: the data lead back to the key. */
static void
show_both(struct alq_domain *on, alq_value table, alq_value v)
{
    CHECK(alq_ephe_set_key(on, alq_field(table, EPHE), 0, v) == ALQ_OK);
    CHECK(alq_ephe_set_data(on, alq_field(table, EPHE), v) == ALQ_OK);
}

static alq_value
take_both(struct alq_domain *on, alq_value table)
{
    alq_value key = take_key(on, table), data;

    data = alq_ephe_query(on, alq_field(table, EPHE), 1, &key);
    CHECK(alq_is_same(data, key));
    return data;
}

static void
hide_ephe(struct alq_domain *on, alq_value table)
{
    alq_value ephe = alq_field(table, EPHE);

    CHECK(alq_ephe_unset_data(on, ephe) == ALQ_OK);
    CHECK(alq_ephe_unset_key(on, ephe, 0) == ALQ_OK);
}

/* An ephemeron that is young: the table leads to it, it to v. */
static void
show_young_ephe(struct alq_domain *on, alq_value table, alq_value v)
{
    ALQ_FRAME(on, f, table, v);
    alq_value ephe;

    f.table = table;
    f.v = v;
    ephe = alq_ephe_make(on, 1, &f.v, f.v);
    CHECK(!alq_is_null(ephe));
    alq_store(on, f.table, PLACE, ephe);
}

static alq_value
take_young_ephe(struct alq_domain *on, alq_value table)
{
    return alq_ephe_get_data(on, take_place(on, table));
}

/* The address as an integer: good as long as the block is pinned. */
static void
show_pin(struct alq_domain *on, alq_value table, alq_value v)
{
    CHECK(alq_pin(on, v) == ALQ_OK);
    alq_store(on, table, PLACE, alq_from_address(alq_fields(v)));
}

static alq_value
take_pin(struct alq_domain *on, alq_value table)
{
    return ALQ_VALUE(alq_to_address(take_place(on, table)));
}

static void
hide_pin(struct alq_domain *on, alq_value table)
{
    CHECK(alq_unpin(on, take_pin(on, table)) == ALQ_OK);
    alq_store(on, table, PLACE, ALQ_UNIT);
}

const struct way ways[N_WAYS] = {
    {"a field", show_store, take_place, hide_place, NULL},
    {"exchange", show_exchange, take_place, hide_place, NULL},
    {"compare and exchange", show_compare, take_place, hide_place, NULL},
    {"a known block's field", show_box, take_box, hide_box, NULL},
    {"a new large block", show_init, take_init, hide_place, NULL},
    {"a young list", show_deep, take_deep, hide_place, NULL},
    {"a new global", show_global, take_global, hide_global, NULL},
    {"an old global", show_in_global, take_global, hide_global, prepare_global},
    {"a weak array", show_weak, take_weak, hide_weak, NULL},
    {"a weak array, filled", show_weak_fill, take_weak, hide_weak, NULL},
    {"a weak array, copied to", show_weak_blit, take_weak, hide_weak, NULL},
    {"a key", show_key, take_key, hide_ephe, NULL},
    {"data", show_data, take_data, hide_ephe, NULL},
    {"key and data", show_both, take_both, hide_ephe, NULL},
    {"a young ephemeron", show_young_ephe, take_young_ephe, hide_place, NULL},
    {"a pin", show_pin, take_pin, hide_pin, NULL},
};
