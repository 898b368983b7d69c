/* marshal_short_test.c -- writing and reading messages when memory is short
 *
 * Each call for memory is refused, once and for good.  A message that could
 * not be written or read leaves nothing but garbage behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/base.h"
#include "base/test_effort.h"
#include "refuse.h"
#include "value_kit.h"

enum { ROWS = ALQI_TEST_ROUNDS(3000, 300, 100) };

/* ---- a value ------------------------------------------------------------ */

/* Deep in its first fields, with strings and an array that is large. */
static alq_value
value_make(struct alq_domain *d)
{
    ALQ_FRAME(d, f, v, row, text);
    intptr_t i;

    f.v = alq_alloc(d, 600, 0);
    for (i = 0; i < ROWS && !alq_is_null(f.v); i++) {
        f.text = alq_alloc_string(d, (size_t)i % 50);
        f.row = alq_alloc(d, 3, 1);
        assert_true(!alq_is_null(f.row) && !alq_is_null(f.text));
        memset(alq_string_chars(f.text), 's', (size_t)i % 50);
        alq_init(d, f.row, 0, f.v);
        alq_init(d, f.row, 1, f.text);
        alq_init(d, f.row, 2, alq_from_int(i));
        f.v = f.row;
    }
    return f.v;
}

static void
value_check(alq_value v)
{
    intptr_t i;

    for (i = ROWS; i-- > 0; v = alq_field(v, 0)) {
        assert_int_equal(alq_wosize(v), 3);
        assert_int_equal(alq_to_int(alq_field(v, 2)), i);
        assert_int_equal(alq_string_bytes(alq_field(v, 1)), i % 50);
    }
    assert_int_equal(alq_wosize(v), 600);
    assert_same(alq_field(v, 599), ALQ_UNIT);
}

static enum alq_status
bytes_take(void *arg, const void *bytes, size_t n)
{
    (void)bytes;
    *(size_t *)arg += n;
    return ALQ_OK;
}

struct source {
    const char *bytes;
    size_t n;
};

static enum alq_status
bytes_give(void *arg, void *bytes, size_t n)
{
    struct source *s = arg;

    assert_true(n <= s->n);
    memcpy(bytes, s->bytes, n);
    s->bytes += n;
    s->n -= n;
    return ALQ_OK;
}

/* ---- the sweep ---------------------------------------------------------- */

static const struct alq_domain_config config = {
    .minor_words = 4096, .space_overhead = 50, .reserve_bytes = 65536};

/* Twice written and twice read, from call `from` on with memory refused. */
struct results {
    enum alq_status write[2];
    enum alq_status read[2];
};

static void
run(uint64_t from, uint64_t n, struct alq_domain *d, alq_value v,
    const char *bytes, size_t n_bytes, struct results *out)
{
    ALQ_FRAME(d, f, v, back[2]);
    struct source source = {bytes, n_bytes};
    size_t size, taken = 0;
    void *memory = NULL;
    int i;

    f.v = v;
    refuse_begin(from, n);
    out->write[0] = alq_marshal_to_memory(d, f.v, NULL, &memory, &size);
    out->write[1] = alq_marshal_write(d, f.v, NULL, bytes_take, &taken);
    out->read[0] = alq_unmarshal(d, bytes, n_bytes, NULL, NULL, &f.back[0]);
    out->read[1] = alq_unmarshal_read(d, bytes_give, &source, NULL, &f.back[1]);
    refuse.armed = false;
    if (out->write[0] == ALQ_OK) {
        assert_int_equal(size, n_bytes);
        assert_memory_equal(memory, bytes, n_bytes);
        free(memory);
    }
    assert_int_equal(taken, out->write[1] == ALQ_OK ? n_bytes : 0);
    for (i = 0; i < 2; i++)
        if (out->read[i] == ALQ_OK)
            value_check(f.back[i]);
        else
            assert_true(alq_is_null(f.back[i]));
    value_check(f.v);
}

static unsigned n_hurt[4];

static uint64_t
one(uint64_t from, uint64_t n)
{
    struct alq_domain *d;
    struct results r;
    void *bytes;
    size_t n_bytes;
    uint64_t seen;
    enum alq_status all[4];
    int i;

    assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
    {
        ALQ_FRAME(d, f, v, back);
        f.v = value_make(d);
        assert_int_equal(alq_marshal_to_memory(d, f.v, NULL, &bytes, &n_bytes),
                         ALQ_OK);
        run(from, n, d, f.v, bytes, n_bytes, &r);
        seen = refuse.calls;
        memcpy(all, &r, sizeof all);
        for (i = 0; i < 4; i++) {
            assert_true(all[i] == ALQ_OK || all[i] == ALQ_ENOMEM);
            n_hurt[i] += all[i] != ALQ_OK;
        }
        /* Only reading takes memory of the heap. */
        if (r.read[0] != ALQ_OK || r.read[1] != ALQ_OK)
            assert_int_equal(alq_status_of(d), ALQ_ENOMEM);
        alq_status_clear(d);
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
        assert_int_equal(alq_unmarshal(d, bytes, n_bytes, NULL, NULL, &f.back),
                         ALQ_OK);
        value_check(f.back);
        value_check(f.v);
        free(bytes);
    }
    alq_domain_drop(d);
    return seen;
}

static void
each_call_fails_once_and_for_good(void **state)
{
    static const uint64_t lengths[] = {1, UINT64_MAX / 2};
    uint64_t all = one(0, 0), k;
    size_t i;

    (void)state;
    for (i = 0; i < 4; i++)
        assert_int_equal(n_hurt[i], 0);
    assert_true(all > 20);
    for (i = 0; i < ALQI_COUNT_OF(lengths); i++)
        for (k = 1; k <= all; k++)
            one(k, lengths[i]);
    for (i = 0; i < 4; i++)
        assert_true(n_hurt[i] > 2); /* each was met by some */
}

/* ---- the limit ---------------------------------------------------------- */

/* Values are read until the heap is full; what was read is whole, and there is
 * room again when it is dropped. */
static unsigned
fill(struct alq_domain *d, alq_value *list, const void *bytes, size_t n_bytes)
{
    ALQ_FRAME(d, f, v, cell);
    unsigned n;

    for (n = 0;; n++) {
        if (alq_unmarshal(d, bytes, n_bytes, NULL, NULL, &f.v) != ALQ_OK)
            break;
        f.cell = alq_alloc(d, 2, 0);
        if (alq_is_null(f.cell))
            break;
        alq_init(d, f.cell, 0, f.v);
        alq_init(d, f.cell, 1, *list);
        *list = f.cell;
        assert_true(n < 1000000);
    }
    assert_int_equal(alq_status_of(d), ALQ_ENOMEM);
    return n;
}

static void
the_limit_is_respected(void **state)
{
    struct alq_domain_config limited = config;
    struct alq_domain *d;
    struct alq_gc_counts c;
    void *bytes;
    size_t n_bytes;
    unsigned n, again;
    alq_value v;

    (void)state;
    limited.limit_bytes = 8 << 20;
    assert_int_equal(alq_domain_new(&limited, &d), ALQ_OK);
    {
        ALQ_FRAME(d, f, list);
        assert_int_equal(
            alq_marshal_to_memory(d, value_make(d), NULL, &bytes, &n_bytes),
            ALQ_OK);
        f.list = ALQ_UNIT;
        n = fill(d, &f.list, bytes, n_bytes);
        assert_true(n > 10);
        assert_int_equal(alq_gc_counters(d, &c), ALQ_OK);
        assert_in_range(c.heap_bytes, 5 << 20, 8 << 20);
        for (v = f.list, again = 0; alq_is_block(v); v = alq_field(v, 1)) {
            value_check(alq_field(v, 0));
            again++;
        }
        assert_int_equal(again, n);
        f.list = ALQ_UNIT;
        alq_status_clear(d);
        again = fill(d, &f.list, bytes, n_bytes);
        assert_in_range(again, n - n / 4, n + n / 4);
    }
    free(bytes);
    alq_domain_drop(d);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_fails_once_and_for_good),
        cmocka_unit_test(the_limit_is_respected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
