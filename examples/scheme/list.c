/* list.c -- pairs, vectors, records, what is equal
 *
 * Arguments stand on the machine's stack, which is a root: args[i] is read
 * again after each call that may collect, and never kept in a variable over
 * one. */
#include <stdlib.h>
#include <string.h>

#include "scheme.h"

/* ---- equality ----------------------------------------------------------- */

bool
is_eqv(alq_value a, alq_value b)
{
    if (a == b)
        return true;
    return is_tag(a, ALQ_TAG_DOUBLE) && is_tag(b, ALQ_TAG_DOUBLE) &&
           memcmp((const void *)a, (const void *)b, sizeof(double)) == 0;
}

/* Deeper than that nothing is equal: see the manual of Scheme's `equal?` for
 * rings, which need not end there. */
static bool
is_equal_to(alq_value a, alq_value b, unsigned depth)
{
    uintptr_t i;

    for (; is_pair(a) && is_pair(b); a = cdr(a), b = cdr(b))
        if (depth == DEPTH_MAX || !is_equal_to(car(a), car(b), depth + 1))
            return false;
    if (is_eqv(a, b))
        return true;
    if (alq_is_int(a) || alq_is_int(b) || alq_tag(a) != alq_tag(b) ||
        alq_wosize(a) != alq_wosize(b))
        return false;
    if (is_string(a))
        return memcmp((const void *)a, (const void *)b,
                      alq_wosize(a) * ALQ_WORD_BYTES) == 0;
    if (alq_tag(a) != TAG_VECTOR || depth == DEPTH_MAX)
        return false;
    for (i = 0; i < alq_wosize(a); i++)
        if (!is_equal_to(alq_field(a, i), alq_field(b, i), depth + 1))
            return false;
    return true;
}

bool
is_equal(alq_value a, alq_value b)
{
    return is_equal_to(a, b, 0);
}

PRIM(is_eq)
{
    return from_bool(args[0] == args[1]);
}

PRIM(is_eqv)
{
    return from_bool(is_eqv(args[0], args[1]));
}

PRIM(is_equal)
{
    return from_bool(is_equal(args[0], args[1]));
}

/* ---- kinds -------------------------------------------------------------- */

#define KIND_PRIM(name, test)                                                  \
    PRIM(is_##name)                                                            \
    {                                                                          \
        alq_value v = args[0];                                                 \
                                                                               \
        return from_bool(test);                                                \
    }
KIND_PRIM(pair, is_pair(v))
KIND_PRIM(null, v == NIL)
KIND_PRIM(symbol, is_tag(v, TAG_SYMBOL))
KIND_PRIM(string, is_string(v))
KIND_PRIM(char, is_immediate(v, IMM_CHAR))
KIND_PRIM(boolean, v == TRUE || v == FALSE)
KIND_PRIM(vector, is_tag(v, TAG_VECTOR))
KIND_PRIM(procedure, is_tag(v, TAG_CLOSURE) || is_tag(v, TAG_CONT) ||
                         is_immediate(v, IMM_PRIM))
KIND_PRIM(condition, is_tag(v, TAG_CONDITION))
KIND_PRIM(values, is_tag(v, TAG_VALUES))
KIND_PRIM(not, v == FALSE)

/* ---- pairs -------------------------------------------------------------- */

PRIM(cons)
{
    return scheme_cons(s, args[0], args[1]);
}

/* a of "car", ad of "cadr" and so on, from the right. */
static alq_value
walk(struct scheme *s, alq_value v, const char *path)
{
    alq_value all = v;
    size_t i;

    for (i = strlen(path); i-- > 0;) {
        if (!is_pair(v))
            return scheme_fail(s, all, "c%sr: not a pair", path);
        v = path[i] == 'a' ? car(v) : cdr(v);
    }
    return v;
}

#define WALK_PRIM(path)                                                        \
    PRIM(c##path##r)                                                           \
    {                                                                          \
        return walk(s, args[0], #path);                                        \
    }
WALK_PRIM(a)
WALK_PRIM(d)
WALK_PRIM(ad)

static alq_value
set_field(struct scheme *s, alq_value *args, unsigned i)
{
    if (!is_pair(args[0]))
        return scheme_fail(s, args[0], "set-c%cr!: not a pair", "ad"[i]);
    alq_store(s->d, args[0], i, args[1]);
    return UNSPECIFIED;
}

PRIM(set_car)
{
    return set_field(s, args, 0);
}

PRIM(set_cdr)
{
    return set_field(s, args, 1);
}

PRIM(list)
{
    ALQ_FRAME(s->d, f, list);

    f.list = NIL;
    while (n-- > 0 && f.list != ALQ_NULL)
        f.list = scheme_cons(s, args[n], f.list);
    return f.list;
}

/* The length, -1 for what is no list, a ring too. */
static int64_t
length(alq_value list)
{
    alq_value slow = list;
    int64_t n = 0;

    for (; is_pair(list); list = cdr(list)) {
        if (list == slow && n > 0)
            return -1;
        if (n++ % 2 == 1)
            slow = cdr(slow);
    }
    return list == NIL ? n : -1;
}

PRIM(length)
{
    int64_t count = length(args[0]);

    if (count < 0)
        return scheme_fail(s, args[0], "length: not a list");
    return from_fixnum(count);
}

PRIM(is_list)
{
    return from_bool(length(args[0]) >= 0);
}

/* A copy of the list `from` in front of `tail`.  All three stand in a frame,
 * and are read from it again after each allocation. */
static alq_value
append_two(struct scheme *s, alq_value from, alq_value tail)
{
    ALQ_FRAME(s->d, f, from, first, last, pair);

    f.first = tail;
    f.last = ALQ_NULL;
    for (f.from = from; is_pair(f.from); f.from = cdr(f.from)) {
        f.pair = scheme_cons(s, car(f.from),
                             f.last == ALQ_NULL ? f.first : cdr(f.last));
        if (f.pair == ALQ_NULL)
            return ALQ_NULL;
        if (f.last == ALQ_NULL)
            f.first = f.pair;
        else
            alq_store(s->d, f.last, 1, f.pair);
        f.last = f.pair;
    }
    return f.first;
}

PRIM(append)
{
    if (n == 0)
        return NIL;
    while (--n > 0) {
        alq_value v;

        if (length(args[n - 1]) < 0)
            return scheme_fail(s, args[n - 1], "append: not a list");
        v = append_two(s, args[n - 1], args[n]);
        if (v == ALQ_NULL)
            return v;
        args[n - 1] = v;
    }
    return args[0];
}

PRIM(reverse)
{
    ALQ_FRAME(s->d, f, list);

    if (length(args[0]) < 0)
        return scheme_fail(s, args[0], "reverse: not a list");
    for (f.list = NIL; args[0] != NIL && f.list != ALQ_NULL;
         args[0] = cdr(args[0]))
        f.list = scheme_cons(s, car(args[0]), f.list);
    return f.list;
}

static alq_value
find(struct scheme *s, alq_value *args, bool (*is)(alq_value, alq_value),
     bool is_assoc)
{
    alq_value list;

    for (list = args[1]; is_pair(list); list = cdr(list)) {
        alq_value item = car(list);

        if (!is_assoc && is(args[0], item))
            return list;
        if (is_assoc && !is_pair(item))
            return scheme_fail(s, item, "assoc: an item that is no pair");
        if (is_assoc && is(args[0], car(item)))
            return item;
    }
    return FALSE;
}

static bool
is_eq(alq_value a, alq_value b)
{
    return a == b;
}

#define FIND_PRIM(name, is, is_assoc)                                          \
    PRIM(name)                                                                 \
    {                                                                          \
        return find(s, args, is, is_assoc);                                    \
    }
FIND_PRIM(memq, is_eq, false)
FIND_PRIM(memv, is_eqv, false)
FIND_PRIM(member, is_equal, false)
FIND_PRIM(assq, is_eq, true)
FIND_PRIM(assv, is_eqv, true)
FIND_PRIM(assoc, is_equal, true)

/* ---- vectors ------------------------------------------------------------ */

static bool
is_index(alq_value v, uintptr_t n)
{
    return is_fixnum(v) && (uint64_t)to_fixnum(v) < n;
}

PRIM(make_vector)
{
    if (!is_fixnum(args[0]) || to_fixnum(args[0]) < 0)
        return scheme_fail(s, args[0], "make-vector: not a length");
    return scheme_block(s, (size_t)to_fixnum(args[0]), TAG_VECTOR,
                        n == 2 ? args[1] : FALSE);
}

/* alq_alloc fills with ALQ_UNIT, so alq_init may write over it in any order. */
PRIM(vector)
{
    alq_value vector = alq_alloc(s->d, n, TAG_VECTOR);
    unsigned i;

    if (vector == ALQ_NULL)
        return scheme_fail_memory(s);
    for (i = 0; i < n; i++)
        alq_init(s->d, vector, i, args[i]);
    return vector;
}

static alq_value
no_element(struct scheme *s, const char *name, alq_value *args)
{
    if (!is_tag(args[0], TAG_VECTOR))
        return scheme_fail(s, args[0], "%s: not a vector", name);
    return scheme_fail(s, args[1], "%s: no index of a vector of %zu", name,
                       (size_t)alq_wosize(args[0]));
}

PRIM(vector_ref)
{
    if (!is_tag(args[0], TAG_VECTOR) || !is_index(args[1], alq_wosize(args[0])))
        return no_element(s, "vector-ref", args);
    return alq_field(args[0], (uintptr_t)to_fixnum(args[1]));
}

PRIM(vector_set)
{
    if (!is_tag(args[0], TAG_VECTOR) || !is_index(args[1], alq_wosize(args[0])))
        return no_element(s, "vector-set!", args);
    alq_store(s->d, args[0], (uintptr_t)to_fixnum(args[1]), args[2]);
    return UNSPECIFIED;
}

PRIM(vector_length)
{
    if (!is_tag(args[0], TAG_VECTOR))
        return scheme_fail(s, args[0], "vector-length: not a vector");
    return from_fixnum((int64_t)alq_wosize(args[0]));
}

PRIM(vector_fill)
{
    uintptr_t i;

    if (!is_tag(args[0], TAG_VECTOR))
        return scheme_fail(s, args[0], "vector-fill!: not a vector");
    for (i = 0; i < alq_wosize(args[0]); i++)
        alq_store(s->d, args[0], i, args[1]);
    return UNSPECIFIED;
}

/* ---- records, conditions, values ---------------------------------------- */

PRIM(record)
{
    alq_value record = alq_alloc(s->d, n, TAG_RECORD);
    unsigned i;

    if (record == ALQ_NULL)
        return scheme_fail_memory(s);
    for (i = 0; i < n; i++)
        alq_init(s->d, record, i, args[i]);
    return record;
}

static bool
is_record(alq_value v, alq_value type)
{
    return is_tag(v, TAG_RECORD) && alq_wosize(v) > 0 &&
           alq_field(v, 0) == type;
}

PRIM(is_record)
{
    return from_bool(is_record(args[0], args[1]));
}

/* (%record-ref record type index): the type is checked. */
PRIM(record_ref)
{
    if (!is_record(args[0], args[1]) || !is_index(args[2], alq_wosize(args[0])))
        return scheme_fail(s, args[0], "not a record of this type");
    return alq_field(args[0], (uintptr_t)to_fixnum(args[2]));
}

PRIM(record_set)
{
    if (!is_record(args[0], args[1]) || !is_index(args[2], alq_wosize(args[0])))
        return scheme_fail(s, args[0], "not a record of this type");
    alq_store(s->d, args[0], (uintptr_t)to_fixnum(args[2]), args[3]);
    return UNSPECIFIED;
}

/* (error message irritant ...) */
PRIM(error)
{
    ALQ_FRAME(s->d, f, irritants);

    f.irritants = prim_list(s, args + 1, n - 1);
    if (f.irritants == ALQ_NULL)
        return ALQ_NULL;
    scheme_fail(s, ALQ_NULL, " ");
    if (!is_tag(s->error.value, TAG_CONDITION) ||
        s->error.value == s->memory_error.value)
        return ALQ_NULL;
    alq_store(s->d, s->error.value, 0, args[0]);
    alq_store(s->d, s->error.value, 1, f.irritants);
    return ALQ_NULL;
}

PRIM(raise)
{
    s->error.value = args[0];
    return ALQ_NULL;
}

/* (%condition-ref condition index) */
PRIM(condition_ref)
{
    if (!is_tag(args[0], TAG_CONDITION) || !is_index(args[1], 2))
        return scheme_fail(s, args[0], "not an error object");
    return alq_field(args[0], (uintptr_t)to_fixnum(args[1]));
}

PRIM(values)
{
    alq_value values;
    unsigned i;

    if (n == 1)
        return args[0];
    values = alq_alloc(s->d, n, TAG_VALUES);
    if (values == ALQ_NULL)
        return scheme_fail_memory(s);
    for (i = 0; i < n; i++)
        alq_init(s->d, values, i, args[i]);
    return values;
}

/* Elements of a vector or of several values, as a list. */
PRIM(fields_to_list)
{
    uintptr_t i;
    ALQ_FRAME(s->d, f, list);

    if (!is_tag(args[0], TAG_VECTOR) && !is_tag(args[0], TAG_VALUES))
        return scheme_fail(s, args[0], "vector->list: not a vector");
    f.list = NIL;
    for (i = alq_wosize(args[0]); i-- > 0 && f.list != ALQ_NULL;)
        f.list = scheme_cons(s, alq_field(args[0], i), f.list);
    return f.list;
}

/* ---- the machine's ------------------------------------------------------ */

PRIM(handlers)
{
    return s->handlers.value;
}

PRIM(set_handlers)
{
    s->handlers.value = args[0];
    return UNSPECIFIED;
}

PRIM(macro)
{
    return scheme_block(s, 1, TAG_MACRO, args[0]);
}

PRIM(collect)
{
    return alq_gc_full_major(s->d) == ALQ_OK ? UNSPECIFIED : ALQ_NULL;
}

PRIM(heap_bytes)
{
    struct alq_gc_counts counts;

    if (alq_gc_counters(s->d, &counts) != ALQ_OK)
        return scheme_fail(s, ALQ_NULL, "heap-bytes: no heap");
    return from_fixnum((int64_t)counts.heap_bytes);
}

PRIM(exit)
{
    bool is_bad = n == 1 && args[0] == FALSE;
    int status =
        n == 1 && is_fixnum(args[0]) ? (int)to_fixnum(args[0]) : is_bad;

    scheme_drop(s);
    exit(status);
}

static const struct prim prims[] = {
    {"eq?", prim_is_eq, 2, 2, OP_IF_EQ},
    {"eqv?", prim_is_eqv, 2, 2, OP_NONE},
    {"equal?", prim_is_equal, 2, 2, OP_NONE},
    {"pair?", prim_is_pair, 1, 1, OP_IF_PAIR},
    {"null?", prim_is_null, 1, 1, OP_IF_NULL},
    {"not", prim_is_not, 1, 1, OP_IF},
    {"symbol?", prim_is_symbol, 1, 1, OP_NONE},
    {"string?", prim_is_string, 1, 1, OP_NONE},
    {"char?", prim_is_char, 1, 1, OP_NONE},
    {"boolean?", prim_is_boolean, 1, 1, OP_NONE},
    {"vector?", prim_is_vector, 1, 1, OP_NONE},
    {"procedure?", prim_is_procedure, 1, 1, OP_NONE},
    {"error-object?", prim_is_condition, 1, 1, OP_NONE},
    {"%values?", prim_is_values, 1, 1, OP_NONE},
    {"cons", prim_cons, 2, 2, OP_CONS},
    {"car", prim_car, 1, 1, OP_CAR},
    {"cdr", prim_cdr, 1, 1, OP_CDR},
    {"cadr", prim_cadr, 1, 1, OP_NONE},
    {"set-car!", prim_set_car, 2, 2, OP_NONE},
    {"set-cdr!", prim_set_cdr, 2, 2, OP_NONE},
    {"list", prim_list, 0, ANY, OP_NONE},
    {"length", prim_length, 1, 1, OP_NONE},
    {"list?", prim_is_list, 1, 1, OP_NONE},
    {"append", prim_append, 0, ANY, OP_NONE},
    {"reverse", prim_reverse, 1, 1, OP_NONE},
    {"memq", prim_memq, 2, 2, OP_NONE},
    {"memv", prim_memv, 2, 2, OP_NONE},
    {"member", prim_member, 2, 2, OP_NONE},
    {"assq", prim_assq, 2, 2, OP_NONE},
    {"assv", prim_assv, 2, 2, OP_NONE},
    {"assoc", prim_assoc, 2, 2, OP_NONE},
    {"make-vector", prim_make_vector, 1, 2, OP_NONE},
    {"vector", prim_vector, 0, ANY, OP_NONE},
    {"vector-ref", prim_vector_ref, 2, 2, OP_VECTOR_REF},
    {"vector-set!", prim_vector_set, 3, 3, OP_VECTOR_SET},
    {"vector-length", prim_vector_length, 1, 1, OP_NONE},
    {"vector-fill!", prim_vector_fill, 2, 2, OP_NONE},
    {"vector->list", prim_fields_to_list, 1, 1, OP_NONE},
    {"%record", prim_record, 1, ANY, OP_NONE},
    {"%record?", prim_is_record, 2, 2, OP_NONE},
    {"%record-ref", prim_record_ref, 3, 3, OP_NONE},
    {"%record-set!", prim_record_set, 4, 4, OP_NONE},
    {"error", prim_error, 1, ANY, OP_NONE},
    {"raise", prim_raise, 1, 1, OP_NONE},
    {"%condition-ref", prim_condition_ref, 2, 2, OP_NONE},
    {"values", prim_values, 0, ANY, OP_NONE},
    {"%handlers", prim_handlers, 0, 0, OP_NONE},
    {"%set-handlers!", prim_set_handlers, 1, 1, OP_NONE},
    {"%macro", prim_macro, 1, 1, OP_NONE},
    {"collect-garbage", prim_collect, 0, 0, OP_NONE},
    {"heap-bytes", prim_heap_bytes, 0, 0, OP_NONE},
    {"exit", prim_exit, 0, 1, OP_NONE},
};

void
list_start(struct scheme *s)
{
    scheme_prims_add(s, prims, sizeof prims / sizeof prims[0]);
}
