/* table.c -- hash tables: open addressing, linear probing
 *
 * What is hashed by what it holds (numbers, strings, symbols, and in tables of
 * `equal?` lists and vectors) stays in its place.  Anything else is hashed by
 * its address, which a collection changes.  So a table remembers at which count
 * of collections it was last laid out (scheme->moves, counted by a scanner that
 * the heap calls at each), and how many of its keys went by address; if there
 * are any, the first access after a collection lays it out anew.  That costs a
 * walk over the table a collection, for these tables only; a field for a hash
 * in each object would cost a word in each pair, for all programs. */
#include <math.h>
#include <string.h>

#include "scheme.h"

enum table_field {
    TABLE_PLACES, /* a vector of key, value; ABSENT: free */
    TABLE_COUNT,
    TABLE_USED,       /* places not free, of deleted keys, too */
    TABLE_BY_ADDRESS, /* keys */
    TABLE_MOVES,      /* when it was laid out */
    TABLE_IS_EQUAL,
    TABLE_FIELDS
};

enum { PLACES_FIRST = 8, HASH_DEPTH = 4, HASH_ITEMS = 16 };

#define DELETED UNDEFINED /* a key that was here */

static int64_t
number_in(alq_value table, enum table_field i)
{
    return to_fixnum(alq_field(table, i));
}

static void
number_set(struct scheme *s, alq_value table, enum table_field i, int64_t n)
{
    alq_store(s->d, table, i, from_fixnum(n));
}

/* ---- hashing ------------------------------------------------------------ */

static uint64_t
mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0x9E3779B97F4A7C15U;
    return x ^ x >> 29;
}

static uint64_t
hash_bytes(alq_value string)
{
    size_t i, n = alq_wosize(string);
    uint64_t hash = n;

    for (i = 0; i < n; i++)
        hash = mix(hash ^ alq_field(string, i));
    return hash;
}

static uint64_t
hash_key(alq_value key, bool is_deep, unsigned depth, bool *by_address)
{
    uint64_t hash = 0;
    size_t i;

    if (alq_is_int(key))
        return mix(key);
    if (alq_tag(key) == TAG_SYMBOL)
        return mix((uint64_t)alq_field(key, 1));
    if (alq_tag(key) == ALQ_TAG_DOUBLE)
        return hash_bytes(key);
    if (is_deep && is_string(key))
        return hash_bytes(key);
    if (is_deep && (is_pair(key) || alq_tag(key) == TAG_VECTOR)) {
        if (depth == HASH_DEPTH)
            return 1;
        for (i = 0; is_pair(key) && i < HASH_ITEMS; i++, key = cdr(key))
            hash =
                mix(hash + hash_key(car(key), is_deep, depth + 1, by_address));
        if (is_tag(key, TAG_VECTOR))
            for (; i < alq_wosize(key) && i < HASH_ITEMS; i++)
                hash = mix(hash + hash_key(alq_field(key, i), is_deep,
                                           depth + 1, by_address));
        return hash;
    }
    *by_address = true;
    return mix(key);
}

static bool
is_same(alq_value a, alq_value b, bool is_deep)
{
    return is_deep ? is_equal(a, b) : is_eqv(a, b);
}

/* Where the key is, or where it would go; by_address: it is hashed so. */
static size_t
place_find(alq_value table, alq_value key, bool *by_address)
{
    alq_value places = alq_field(table, TABLE_PLACES);
    bool is_deep = alq_field(table, TABLE_IS_EQUAL) == TRUE;
    size_t mask = alq_wosize(places) / 2 - 1, i, hole = SIZE_MAX;

    *by_address = false;
    i = hash_key(key, is_deep, 0, by_address) & mask;
    for (;; i = (i + 1) & mask) {
        alq_value at = alq_field(places, 2 * i);

        if (at == ABSENT)
            return hole != SIZE_MAX ? hole : i;
        if (at == DELETED)
            hole = hole != SIZE_MAX ? hole : i;
        else if (is_same(at, key, is_deep))
            return i;
    }
}

/* ---- laying out --------------------------------------------------------- */

/* All into new places.  The count of collections is read behind the allocation,
 * the last one here that may move anything. */
static bool
lay_out(struct scheme *s, alq_value table, size_t n_places)
{
    int64_t n_by_address = 0;
    alq_value places, old;
    size_t i;
    ALQ_FRAME(s->d, f, table);

    f.table = table;
    places = scheme_block(s, 2 * n_places, TAG_VECTOR, ABSENT);
    if (places == ALQ_NULL)
        return false;
    old = alq_field(f.table, TABLE_PLACES);
    alq_store(s->d, f.table, TABLE_PLACES, places);
    number_set(s, f.table, TABLE_MOVES, (int64_t)s->moves);
    for (i = 0; i < alq_wosize(old); i += 2) {
        bool by_address;
        size_t at;

        if (alq_field(old, i) == ABSENT || alq_field(old, i) == DELETED)
            continue;
        at = 2 * place_find(f.table, alq_field(old, i), &by_address);
        alq_store(s->d, places, at, alq_field(old, i));
        alq_store(s->d, places, at + 1, alq_field(old, i + 1));
        n_by_address += by_address;
    }
    number_set(s, f.table, TABLE_USED, number_in(f.table, TABLE_COUNT));
    number_set(s, f.table, TABLE_BY_ADDRESS, n_by_address);
    return true;
}

/* args[0] is a table whose keys are where place_find looks. */
static bool
table_ready(struct scheme *s, const char *name, alq_value *args)
{
    if (!is_tag(args[0], TAG_TABLE)) {
        scheme_fail(s, args[0], "%s: not a hash table", name);
        return false;
    }
    if (number_in(args[0], TABLE_BY_ADDRESS) == 0 ||
        number_in(args[0], TABLE_MOVES) == (int64_t)s->moves)
        return true;
    return lay_out(s, args[0],
                   alq_wosize(alq_field(args[0], TABLE_PLACES)) / 2);
}

/* ---- built in ----------------------------------------------------------- */

static alq_value
table_new(struct scheme *s, alq_value is_deep)
{
    ALQ_FRAME(s->d, f, places);

    f.places = scheme_block(s, (size_t)2 * PLACES_FIRST, TAG_VECTOR, ABSENT);
    if (f.places == ALQ_NULL)
        return ALQ_NULL;
    return scheme_block_of(s, TAG_TABLE, f.places,
                           (alq_value[]){from_fixnum(0), from_fixnum(0),
                                         from_fixnum(0), from_fixnum(0),
                                         is_deep},
                           5);
}

PRIM(make_table)
{
    return table_new(s, TRUE);
}

PRIM(make_eqv_table)
{
    return table_new(s, FALSE);
}

/* (hash-table-ref/default table key default) */
PRIM(table_ref)
{
    alq_value places;
    bool by_address;
    size_t at;

    if (!table_ready(s, "hash-table-ref/default", args))
        return ALQ_NULL;
    at = 2 * place_find(args[0], args[1], &by_address);
    places = alq_field(args[0], TABLE_PLACES);
    if (alq_field(places, at) == ABSENT || alq_field(places, at) == DELETED)
        return args[2];
    return alq_field(places, at + 1);
}

PRIM(table_set)
{
    size_t n_places, at;
    alq_value places, was;
    bool by_address;

    if (!table_ready(s, "hash-table-set!", args))
        return ALQ_NULL;
    n_places = alq_wosize(alq_field(args[0], TABLE_PLACES)) / 2;
    if ((size_t)number_in(args[0], TABLE_USED) * 4 >= n_places * 3 &&
        !lay_out(s, args[0],
                 (size_t)number_in(args[0], TABLE_COUNT) * 2 >= n_places
                     ? 2 * n_places
                     : n_places))
        return ALQ_NULL;
    at = place_find(args[0], args[1], &by_address);
    places = alq_field(args[0], TABLE_PLACES);
    was = alq_field(places, 2 * at);
    if (was == ABSENT || was == DELETED) {
        number_set(s, args[0], TABLE_COUNT,
                   number_in(args[0], TABLE_COUNT) + 1);
        number_set(s, args[0], TABLE_USED,
                   number_in(args[0], TABLE_USED) + (was == ABSENT));
        if (by_address && number_in(args[0], TABLE_BY_ADDRESS) == 0)
            number_set(s, args[0], TABLE_MOVES, (int64_t)s->moves);
        number_set(s, args[0], TABLE_BY_ADDRESS,
                   number_in(args[0], TABLE_BY_ADDRESS) + by_address);
        alq_store(s->d, places, 2 * at, args[1]);
    }
    alq_store(s->d, places, 2 * at + 1, args[2]);
    return UNSPECIFIED;
}

PRIM(table_delete)
{
    alq_value places;
    bool by_address;
    size_t at;

    if (!table_ready(s, "hash-table-delete!", args))
        return ALQ_NULL;
    at = 2 * place_find(args[0], args[1], &by_address);
    places = alq_field(args[0], TABLE_PLACES);
    if (alq_field(places, at) == ABSENT || alq_field(places, at) == DELETED)
        return UNSPECIFIED;
    alq_store(s->d, places, at, DELETED);
    alq_store(s->d, places, at + 1, FALSE);
    number_set(s, args[0], TABLE_COUNT, number_in(args[0], TABLE_COUNT) - 1);
    number_set(s, args[0], TABLE_BY_ADDRESS,
               number_in(args[0], TABLE_BY_ADDRESS) - by_address);
    return UNSPECIFIED;
}

PRIM(table_count)
{
    if (!is_tag(args[0], TAG_TABLE))
        return scheme_fail(s, args[0], "hash-table-count: not a hash table");
    return alq_field(args[0], TABLE_COUNT);
}

PRIM(is_table)
{
    return from_bool(is_tag(args[0], TAG_TABLE));
}

/* Pairs of key and value, in no order. */
PRIM(table_to_list)
{
    size_t i;
    ALQ_FRAME(s->d, f, places, list, pair);

    if (!is_tag(args[0], TAG_TABLE))
        return scheme_fail(s, args[0], "hash-table->alist: not a hash table");
    f.list = NIL;
    f.places = alq_field(args[0], TABLE_PLACES);
    for (i = 0; i < alq_wosize(f.places); i += 2) {
        alq_value key = alq_field(f.places, i);

        if (key == ABSENT || key == DELETED)
            continue;
        f.pair = scheme_cons(s, key, alq_field(f.places, i + 1));
        if (f.pair == ALQ_NULL)
            return ALQ_NULL;
        f.list = scheme_cons(s, f.pair, f.list);
        if (f.list == ALQ_NULL)
            return ALQ_NULL;
    }
    return f.list;
}

static const struct prim prims[] = {
    {"make-hash-table", prim_make_table, 0, 0, OP_NONE},
    {"make-eqv-hash-table", prim_make_eqv_table, 0, 0, OP_NONE},
    {"hash-table-ref/default", prim_table_ref, 3, 3, OP_NONE},
    {"hash-table-set!", prim_table_set, 3, 3, OP_NONE},
    {"hash-table-delete!", prim_table_delete, 2, 2, OP_NONE},
    {"hash-table-count", prim_table_count, 1, 1, OP_NONE},
    {"hash-table?", prim_is_table, 1, 1, OP_NONE},
    {"hash-table->alist", prim_table_to_list, 1, 1, OP_NONE},
};

void
table_start(struct scheme *s)
{
    scheme_prims_add(s, prims, sizeof prims / sizeof prims[0]);
}
