/* marshal_domains_test.c -- several domains write and read messages, some of
 * the same value, while another collects */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "domains_kit.h"

enum {
    DEPTH = ALQI_CHECKS >= 3 ? 5 : 12,
    ROUNDS = ALQI_CHECKS >= 2 ? 5 : 40,
    CHILDREN = 3
};

struct message {
    void *bytes;
    size_t n;
};

static struct message
message_of(struct alq_domain *on, alq_value v)
{
    struct message m;

    CHECK(alq_marshal_to_memory(on, v, NULL, &m.bytes, &m.n) == ALQ_OK);
    return m;
}

static void
expect(struct alq_domain *on, alq_value v, const struct message *expected)
{
    struct message m = message_of(on, v);

    CHECK(m.n == expected->n && memcmp(m.bytes, expected->bytes, m.n) == 0);
    free(m.bytes);
}

/* arg is a tree that all domains write at the same time. */
static alq_value
again_and_again(struct alq_domain *on, alq_value arg, void *data)
{
    const struct message *expected = data;
    ALQ_FRAME(on, f, shared, own);
    int i;

    f.shared = arg;
    for (i = 0; i < ROUNDS; i++) {
        CHECK(alq_unmarshal(on, expected->bytes, expected->n, NULL, NULL,
                            &f.own) == ALQ_OK);
        CHECK(tree_size(f.own) == (1L << DEPTH) - 1);
        expect(on, f.own, expected);
        expect(on, f.shared, expected);
        alq_poll(on);
    }
    return f.own;
}

static void
domains_write_and_read_together(void **state)
{
    struct alq_child *children[CHILDREN];
    struct alq_gc_counts before, after;
    struct message m;
    ALQ_FRAME(d, f, shared, got[CHILDREN]);
    int i;

    (void)state;
    f.shared = tree(d, DEPTH);
    m = message_of(d, f.shared);
    assert_int_equal(alq_gc_counters(d, &before), ALQ_OK);
    for (i = 0; i < CHILDREN; i++)
        children[i] = spawn(d, again_and_again, f.shared, &m);
    for (i = 0; i < ROUNDS; i++) {
        burn(d, ALQ_UNIT, NULL);
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    }
    for (i = 0; i < CHILDREN; i++)
        f.got[i] = finish(d, children[i]);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    for (i = 0; i < CHILDREN; i++)
        expect(d, f.got[i], &m);
    expect(d, f.shared, &m);
    assert_int_equal(alq_gc_counters(d, &after), ALQ_OK);
    assert_true(after.major_cycles >= before.major_cycles + ROUNDS);
    free(m.bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(domains_write_and_read_together,
                                        domains_setup, domains_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
