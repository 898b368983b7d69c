/* minor_local_kit.c */
#include <stdio.h>
#include <string.h>

#include "minor_local_kit.h"

enum { LIST_MAX = 100, MORE_DEPTH = 3, MORE_SIZE = 7 };

uint64_t
minors(struct alq_domain *of)
{
    struct alq_gc_counts c;

    CHECK(alq_gc_counters(of, &c) == ALQ_OK);
    return c.minor_collections;
}

/* ---- things ------------------------------------------------------------- */

alq_value
text_new(struct alq_domain *on, intptr_t id)
{
    char chars[32];
    int n = snprintf(chars, sizeof chars, "thing %ld", (long)id);
    alq_value v = alq_string_copy(on, chars, (size_t)n);

    CHECK(!alq_is_null(v));
    return v;
}

void
text_check(alq_value v, intptr_t id)
{
    char chars[32];
    int n = snprintf(chars, sizeof chars, "thing %ld", (long)id);

    CHECK(alq_has_tag(v, ALQ_TAG_STRING));
    CHECK(alq_string_bytes(v) == (size_t)n);
    CHECK(memcmp(alq_string_chars(v), chars, (size_t)n) == 0);
}

alq_value
thing_new(struct alq_domain *on, alq_value table, intptr_t id)
{
    ALQ_FRAME(on, f, table, text, more);
    alq_value v;

    f.table = table;
    f.text = text_new(on, id);
    f.more = tree(on, MORE_DEPTH);
    v = alq_alloc_small(on, THING_WOSIZE, 7);
    CHECK(!alq_is_null(v));
    alq_init_small(v, ID, alq_from_int(id));
    alq_init_small(v, COUNT, alq_from_int(0));
    alq_init_small(v, TEXT, f.text);
    alq_init_small(v, MORE, f.more);
    alq_init_small(v, TABLE, f.table);
    alq_init_small(v, LINK, ALQ_UNIT);
    return v;
}

void
thing_check(alq_value v, intptr_t id)
{
    CHECK(alq_has_tag(v, 7) && alq_wosize(v) == THING_WOSIZE);
    CHECK(alq_to_int(alq_field(v, ID)) == id);
    text_check(alq_field(v, TEXT), id);
    CHECK(tree_size(alq_field(v, MORE)) == MORE_SIZE);
}

alq_value
table_new(void)
{
    ALQ_FRAME(d, f, table, v);

    f.table = alq_alloc(d, TABLE_WOSIZE, 0);
    CHECK(!alq_is_null(f.table));
    f.v = alq_weak_create(d, 4);
    alq_store(d, f.table, WEAK, f.v);
    f.v = alq_ephe_create(d, 1);
    alq_store(d, f.table, EPHE, f.v);
    f.v = alq_alloc(d, 4, 0);
    alq_store(d, f.table, BOX, f.v);
    CHECK(alq_gc_minor(d) == ALQ_OK);
    return f.table;
}

/* ---- allocation --------------------------------------------------------- */

alq_value
item_new(struct alq_domain *on, alq_value what, alq_value next)
{
    ALQ_FRAME(on, f, what, next);
    alq_value v;

    f.what = what;
    f.next = next;
    v = alq_alloc_small(on, 2, 0);
    CHECK(!alq_is_null(v));
    alq_init_small(v, 0, f.what);
    alq_init_small(v, 1, f.next);
    return v;
}

static void
list_check(alq_value list, intptr_t last, intptr_t n)
{
    for (; n > 0; n--, list = alq_field(list, 1))
        CHECK(alq_to_int(alq_field(list, 0)) == last--);
    CHECK(alq_is_same(list, ALQ_UNIT));
}

void
churn(struct alq_domain *on, uint64_t n)
{
    ALQ_FRAME(on, f, list, tree, text, number);
    uint64_t end = minors(on) + n;
    intptr_t i, length = 0;

    f.list = ALQ_UNIT;
    for (i = 0; minors(on) < end; i++) {
        int k;

        if (length == LIST_MAX) {
            f.list = ALQ_UNIT;
            length = 0;
        }
        f.list = item_new(on, alq_from_int(i), f.list);
        length++;
        f.tree = tree(on, 4);
        f.text = text_new(on, i);
        f.number = alq_alloc_double(on, (double)i);
        for (k = 0; k < (IS_HARD ? 1 : 64); k++)
            CHECK(!alq_is_null(alq_alloc_small(on, 15, ALQ_TAG_ABSTRACT)));
        list_check(f.list, i, length);
        CHECK(tree_size(f.tree) == 15);
        text_check(f.text, i);
        CHECK(alq_double(f.number, 0) == (double)i);
    }
}
