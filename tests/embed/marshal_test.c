/* marshal_test.c -- values to bytes and back: graphs at random,
 * collections meanwhile, custom blocks, functions */
#include "marshal_kit.h"
#include "heap/observe.h"

static void
round_trip(uint32_t n)
{
    ALQ_FRAME(d, f, a, b);
    void *bytes, *again;
    size_t n_bytes, n_again, used;

    f.a = graph(n);
    if (rnd(2) == 0)
        assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_int_equal(alq_marshal_to_memory(d, f.a, NULL, &bytes, &n_bytes),
                     ALQ_OK);
    assert_int_equal(alq_unmarshal(d, bytes, n_bytes, NULL, &used, &f.b),
                     ALQ_OK);
    assert_int_equal(used, n_bytes);
    is_twin(f.a, f.b);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    is_twin(f.a, f.b);
    assert_int_equal(alq_marshal_to_memory(d, f.b, NULL, &again, &n_again),
                     ALQ_OK);
    assert_int_equal(n_again, n_bytes);
    assert_memory_equal(bytes, again, n_bytes);
    free(bytes);
    free(again);
}

static void
graphs_come_back(void **state)
{
    enum {
        SMALL = ALQI_TEST_ROUNDS(2000, 300, 60),
        LARGE = ALQI_TEST_ROUNDS(100000, 5000, 300)
    };
    unsigned i;

    (void)state;
    for (i = 0; i < SMALL; i++)
        round_trip(1 + rnd(i % 10 == 0 ? 400 : 30));
    round_trip(LARGE);
}

/* ---- collections meanwhile ---------------------------------------------- */

enum { LONG = ALQI_TEST_ROUNDS(1000000, 100000, 2000) };

/* n blocks, each in field `at` of the next. */
static alq_value
chain(uint32_t n, unsigned at)
{
    ALQ_FRAME(d, f, v, next);

    for (f.v = ALQ_UNIT; n > 0; n--) {
        f.next = alq_alloc(d, 2, 0);
        assert_true(f.next != ALQ_NULL);
        alq_init(d, f.next, 0, alq_from_int((intptr_t)n));
        alq_init(d, f.next, 1, alq_from_int((intptr_t)n));
        alq_init(d, f.next, at, f.v);
        f.v = f.next;
    }
    return f.v;
}

static void
chains_come_back_in_slices(void **state)
{
    struct alq_gc_counts before, after;
    unsigned at;
    void *bytes;
    size_t n;

    (void)state;
    for (at = 0; at < 2; at++) {
        ALQ_FRAME(d, f, a, b);
        f.a = chain(LONG, at);
        assert_int_equal(alq_marshal_to_memory(d, f.a, NULL, &bytes, &n),
                         ALQ_OK);
        assert_int_equal(alq_gc_counters(d, &before), ALQ_OK);
        assert_int_equal(alq_unmarshal(d, bytes, n, NULL, NULL, &f.b), ALQ_OK);
        assert_int_equal(alq_gc_counters(d, &after), ALQ_OK);
        is_twin(f.a, f.b);
        free(bytes);
        assert_true(after.slices > before.slices + 1);
        assert_true(after.direct_words - before.direct_words >= 3 * LONG);
        assert_int_equal(after.emergencies, before.emergencies);
    }
}

/* What is read and dropped again and again does not make the heap grow, and
 * what is in it is kept through all cycles. */
static void
garbage_is_collected(void **state)
{
    enum { ROUNDS = ALQI_TEST_ROUNDS(400, 40, 40) };
    ALQ_FRAME(d, f, a, b, c);
    struct alq_gc_counts first, last;
    void *bytes;
    size_t n;
    unsigned i;

    (void)state;
    f.a = graph(ALQI_CHECKS >= 3 ? 100 : 3000);
    assert_int_equal(alq_marshal_to_memory(d, f.a, NULL, &bytes, &n), ALQ_OK);
    assert_int_equal(alq_gc_counters(d, &first), ALQ_OK);
    for (i = 0; i < ROUNDS; i++) {
        assert_int_equal(alq_unmarshal(d, bytes, n, NULL, NULL, &f.b), ALQ_OK);
        if (i % 7 == 0)
            f.c = pair(f.b, f.a);
    }
    assert_int_equal(alq_gc_counters(d, &last), ALQ_OK);
    is_twin(f.a, f.b);
    is_twin(f.a, alq_field(f.c, 0));
    free(bytes);
    assert_true(last.major_cycles >= first.major_cycles + 3);
    assert_true(last.heap_bytes < 12 * first.heap_bytes + (16 << 20));
}

/* ---- custom blocks ------------------------------------------------------ */
static void
kinds_of_a_program_come_back(void **state)
{
    static const char data[] =
        "\xA0\x18test.box\0\0\0\0\x03\0\0\0\0\0\0\0\x03\x02\x3A\x3B\x04\x01";
    const struct alq_unmarshal_options options = {.kinds = kinds};
    ALQ_FRAME(d, f, a, b);
    struct hand m;
    unsigned i;

    (void)state;
    n_finalised = 0;
    f.a = box("AB");
    f.a = pair(f.a, f.a);
    BYTES(f.a, 0, data, 2, 6);
    m = hand(data, sizeof data - 1, 2, 6);
    for (i = 0; i < 1000; i++) {
        assert_int_equal(alq_unmarshal(d, m.bytes, m.n, &options, NULL, &f.b),
                         ALQ_OK);
        is_twin(f.a, f.b);
    }
    f.b = ALQ_NULL;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(n_finalised, 1000);
    assert_int_equal(alq_unmarshal(d, m.bytes, m.n, NULL, NULL, &f.b),
                     ALQ_ENOTSUP);
    refuse_box = true;
    assert_int_equal(alq_unmarshal(d, m.bytes, m.n, &options, NULL, &f.b),
                     ALQ_EIO);
    refuse_box = false;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(n_finalised, 1001); /* the one that was refused */
}

/* ---- who observes ------------------------------------------------------- */

struct client {
    uint64_t words;
    unsigned young;
    unsigned old;
    unsigned others; /* what it hears besides */
};

static uint64_t
each_word(void *client, struct alqi_domain *of)
{
    (void)client;
    (void)of;
    return 1;
}

static enum alq_status
hear_request(void *client, struct alqi_domain *of, const uintptr_t *headers,
             unsigned n_blocks, uint64_t sample_at,
             const struct alqi_stack_regs *caller)
{
    (void)of;
    (void)headers;
    (void)n_blocks;
    (void)sample_at;
    (void)caller;
    ((struct client *)client)->others++;
    return ALQ_OK;
}

static uint64_t
hear_done(void *client, struct alqi_domain *of, uintptr_t low)
{
    (void)low;
    return each_word(client, of);
}

static void
hear_direct(void *client, struct alqi_domain *of, alq_value block,
            uintptr_t header)
{
    (void)of;
    (void)block;
    (void)header;
    ((struct client *)client)->others++;
}

static enum alq_status
hear_poll(void *client, struct alqi_domain *of)
{
    (void)of;
    ((struct client *)client)->others++;
    return ALQ_OK;
}

static void
hear_unmarshal(void *client, struct alqi_domain *of, alq_value block,
               uintptr_t header)
{
    struct client *c = client;

    c->words += (header >> ALQ_WOSIZE_SHIFT) + 1;
    if (alq_is_young(d, block))
        c->young++;
    else
        c->old++;
    /* Its callbacks wait for the end. */
    alqi_heap_observe_wake_sigsafe(of);
}

static const struct alqi_heap_hooks hooks = {.skip_words = each_word,
                                             .request = hear_request,
                                             .request_done = hear_done,
                                             .direct = hear_direct,
                                             .poll = hear_poll,
                                             .unmarshal = hear_unmarshal};

static struct client
observed(uint32_t n)
{
    ALQ_FRAME(d, f, v);
    struct client c = {0};
    struct alq_marshal_header h;
    void *bytes;
    size_t n_bytes;

    f.v = chain(n, 1);
    assert_int_equal(alq_marshal_to_memory(d, f.v, NULL, &bytes, &n_bytes),
                     ALQ_OK);
    assert_int_equal(alq_marshal_header_read(bytes, n_bytes, &h), ALQ_OK);
    assert_int_equal(
        alqi_heap_observe_start((struct alqi_domain *)d, &hooks, &c), ALQ_OK);
    assert_int_equal(alq_unmarshal(d, bytes, n_bytes, NULL, NULL, &f.v),
                     ALQ_OK);
    assert_int_equal(c.others, 0);
    alq_poll(d);
    assert_int_equal(c.others, 1); /* poll */
    f.v = pair(ALQ_UNIT, ALQ_UNIT);
    assert_int_equal(c.others, 2); /* request */
    alqi_heap_observe_stop((struct alqi_domain *)d);
    assert_int_equal(c.words, h.heap_words);
    assert_int_equal(c.young + c.old, n);
    free(bytes);
    return c;
}

static void
a_client_hears_of_each_block(void **state)
{
    (void)state;
    assert_int_equal(observed(20).young, 20);
    assert_int_equal(observed(85).young, 85); /* 255 words */
    assert_int_equal(observed(86).old, 86);
    assert_int_equal(observed(2000).old, 2000);
}

/* ---- functions ---------------------------------------------------------- */

struct stream {
    unsigned char *bytes;
    size_t n;
    size_t at;
    size_t calls;
    size_t fail_at; /* of calls */
};

static enum alq_status
stream_write(void *arg, const void *bytes, size_t n)
{
    struct stream *s = arg;

    if (s->calls++ == s->fail_at)
        return ALQ_EIO;
    s->bytes = realloc(s->bytes, s->n + n);
    assert_non_null(s->bytes);
    memcpy(s->bytes + s->n, bytes, n);
    s->n += n;
    return ALQ_OK;
}

/* Collects, which it may. */
static enum alq_status
stream_read(void *arg, void *bytes, size_t n)
{
    struct stream *s = arg;

    if (s->calls++ == s->fail_at || n > s->n - s->at)
        return ALQ_EIO;
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    memcpy(bytes, s->bytes + s->at, n);
    s->at += n;
    return ALQ_OK;
}

static void
functions_write_and_read(void **state)
{
    ALQ_FRAME(d, f, a, b, text);
    struct stream s = {.fail_at = SIZE_MAX};
    size_t n_calls, i;

    (void)state;
    f.a = graph(200);
    f.text = alq_alloc_string(d, 3 << 20);
    memset(alq_string_chars(f.text), 'x', 3 << 20);
    f.a = pair(f.a, f.text);
    assert_int_equal(alq_marshal_write(d, f.a, NULL, stream_write, &s), ALQ_OK);
    assert_int_equal(alq_marshal_write(d, f.text, NULL, stream_write, &s),
                     ALQ_OK);
    s.calls = 0;
    assert_int_equal(alq_unmarshal_read(d, stream_read, &s, NULL, &f.b),
                     ALQ_OK);
    is_twin(f.a, f.b);
    n_calls = s.calls;
    assert_int_equal(alq_unmarshal_read(d, stream_read, &s, NULL, &f.b),
                     ALQ_OK);
    is_twin(f.text, f.b);
    assert_int_equal(s.at, s.n);
    assert_int_equal(alq_unmarshal_read(d, stream_read, &s, NULL, &f.b),
                     ALQ_EIO);
    for (i = 0; i < n_calls; i++) {
        s.at = s.calls = 0;
        s.fail_at = i;
        assert_int_equal(alq_unmarshal_read(d, stream_read, &s, NULL, &f.b),
                         ALQ_EIO);
        assert_true(f.b == ALQ_NULL);
    }
    s.calls = 0;
    s.fail_at = 1;
    assert_int_equal(alq_marshal_write(d, f.a, NULL, stream_write, &s),
                     ALQ_EIO);
    free(s.bytes);
}

/* A header that claims 2^62 bytes costs what comes, and no more. */
static void
a_claim_costs_nothing(void **state)
{
    struct hand m = {.n = 0};
    struct stream s = {.bytes = m.bytes, .n = 100, .fail_at = SIZE_MAX};
    alq_value v;

    (void)state;
    number(&m, 0x8495A6BF, 4);
    number(&m, 0, 4);
    number(&m, (uint64_t)1 << 62, 8);
    number(&m, 1, 8);
    number(&m, 1, 8);
    assert_int_equal(alq_unmarshal_read(d, stream_read, &s, NULL, &v), ALQ_EIO);
    assert_int_equal(s.calls, 3);
    m.bytes[3] = 0xBD;
    s.at = 0;
    assert_int_equal(alq_unmarshal_read(d, stream_read, &s, NULL, &v),
                     ALQ_ENOTSUP);
    m.bytes[3] = 0xBC;
    s.at = 0;
    assert_int_equal(alq_unmarshal_read(d, stream_read, &s, NULL, &v),
                     ALQ_EFORMAT);
    assert_int_equal(alq_unmarshal_read(d, NULL, &s, NULL, &v), ALQ_EINVAL);
    assert_int_equal(alq_unmarshal(d, NULL, 0, NULL, NULL, &v), ALQ_EINVAL);
    assert_int_equal(alq_unmarshal(d, m.bytes, 9, NULL, NULL, NULL),
                     ALQ_EINVAL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(graphs_come_back),
        TEST(chains_come_back_in_slices),
        TEST(garbage_is_collected),
        TEST(kinds_of_a_program_come_back),
        TEST(a_client_hears_of_each_block),
        TEST(functions_write_and_read),
        TEST(a_claim_costs_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
