/* raw_test.c -- the codec of recordings: what goes in comes out, and nothing
 * else crashes it */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "wire/raw.h"
#include "wire/side.h"

enum { DEPTH = 40, EVENTS = 20000, HOSTILE_ROUNDS = 20000 };

static uint64_t rng_state = 1;

static uint64_t
rng(void)
{
    return alqi_base_mix(rng_state++);
}

static _Alignas(16) uint8_t chunk[ALQI_RAW_CHUNK_BYTES];

static void
encoder_open(struct alqi_raw_encoder *e, uint64_t now_ns)
{
    struct alqi_raw_chunk_header *h = (void *)chunk;

    memset(chunk, 0, sizeof chunk);
    h->magic = ALQI_RAW_CHUNK_MAGIC;
    h->kind = ALQI_RAW_EVENTS;
    h->stream = 7;
    h->start_ns = now_ns;
    h->first_ordinal = e->next_ordinal;
    e->at = chunk + sizeof *h;
    e->end = chunk + sizeof chunk;
    e->last_ns = now_ns;
    e->last_pc = 0;
    e->n_named = e->n_named_frames = 0;
}

static void
commit(const struct alqi_raw_encoder *e)
{
    struct alqi_raw_chunk_header *h = (void *)chunk;

    atomic_store(&h->used, (uint32_t)(e->at - chunk - sizeof *h));
}

/* Innermost first, as the encoder takes them. */
struct stack {
    uintptr_t frames[DEPTH];
    uint32_t n;
};

/* A stack that shares its outer part with the one before. */
static uint32_t
stack_vary(struct stack *s)
{
    uint32_t n_shared = (uint32_t)(rng() % (s->n + 1));
    uint32_t n = n_shared + (uint32_t)(rng() % (DEPTH - n_shared + 1));
    struct stack next = {.n = n};

    for (uint32_t i = 0; i < n - n_shared; i++)
        next.frames[i] = (uintptr_t)(rng() >> (rng() % 50 + 1));
    memcpy(next.frames + (n - n_shared), s->frames + (s->n - n_shared),
           n_shared * sizeof *s->frames);
    *s = next;
    return n_shared;
}

static void
expect_stack(const struct alqi_raw_decoder *d, const struct stack *s,
             uint32_t n_shared)
{
    assert_int_equal(d->n_frames, s->n);
    assert_int_equal(d->n_shared, n_shared);
    for (uint32_t i = 0; i < s->n; i++)
        assert_true(d->frames[i] == s->frames[s->n - 1 - i]);
}

/* Each event is read back at once, so one chunk tests both directions. */
static void
allocations_come_back(void **state)
{
    struct alqi_raw_encoder e = {.next_ordinal = 5};
    static struct alqi_raw_decoder d;
    static struct alqi_raw_event event;
    struct stack s = {.n = 0};
    uint64_t now_ns = 1000, n_turns = 0;

    (void)state;
    encoder_open(&e, now_ns);
    assert_true(alqi_raw_decoder_open(&d, chunk, sizeof chunk));
    for (unsigned i = 0; i < EVENTS; i++) {
        uint64_t size = rng() >> (rng() % 64), samples = rng() % 300 + 1;
        uint32_t n_shared = stack_vary(&s);

        now_ns += rng() >> (rng() % 40 + 20);
        if (!alqi_raw_put_alloc(&e, now_ns, size, samples, s.frames, s.n,
                                n_shared)) {
            encoder_open(&e, now_ns);
            assert_true(alqi_raw_decoder_open(&d, chunk, sizeof chunk));
            n_shared = 0;
            n_turns++;
            assert_true(alqi_raw_put_alloc(&e, now_ns, size, samples, s.frames,
                                           s.n, 0));
        }
        d.end = e.at;
        commit(&e);
        assert_int_equal(alqi_raw_next(&d, &event), 1);
        assert_int_equal(event.kind, ALQI_RAW_ALLOC);
        assert_true(event.time_ns == now_ns && event.size_bytes == size);
        assert_true(event.n_samples == samples && event.ordinal == 5 + i);
        expect_stack(&d, &s, n_shared);
        assert_int_equal(alqi_raw_next(&d, &event), 0);
    }
    assert_true(n_turns > 10);
}

static void
expect_alloc(struct alqi_raw_decoder *d, uint64_t size, const struct stack *s,
             uint32_t n_shared)
{
    static struct alqi_raw_event event;

    assert_int_equal(alqi_raw_next(d, &event), 1);
    assert_int_equal(event.kind, ALQI_RAW_ALLOC);
    assert_int_equal(event.size_bytes, size);
    assert_int_equal(event.n_samples, 2);
    expect_stack(d, s, n_shared);
}

static void
stacks_with_a_number_come_again(void **state)
{
    struct alqi_raw_encoder e = {0};
    static struct alqi_raw_decoder d;
    static struct alqi_raw_event event;
    const struct stack a = {{0x41, 0x42, 0x49}, 3}, b = {{0x77, 0x42, 0x49}, 3};

    (void)state;
    encoder_open(&e, 1);
    assert_true(alqi_raw_put_named(&e, 1, 10, 2, a.frames, a.n, 0));
    assert_true(alqi_raw_put_named(&e, 2, 11, 2, b.frames, b.n, 2));
    assert_true(alqi_raw_put_again(&e, 3, 12, 2, 0, a.frames[0]));
    assert_true(alqi_raw_put_again(&e, 4, 13, 2, 0, a.frames[0]));
    assert_true(alqi_raw_put_alloc(&e, 5, 14, 2, b.frames, b.n, 2));
    assert_true(alqi_raw_put_again(&e, 6, 15, 2, 1, b.frames[0]));
    assert_true(alqi_raw_put_free(&e, 7, true, 7, 2));
    commit(&e);
    assert_true(alqi_raw_decoder_open(&d, chunk, sizeof chunk));
    expect_alloc(&d, 10, &a, 0);
    expect_alloc(&d, 11, &b, 2);
    expect_alloc(&d, 12, &a, 2);
    expect_alloc(&d, 13, &a, 3);
    expect_alloc(&d, 14, &b, 2);
    expect_alloc(&d, 15, &b, 3);
    assert_int_equal(alqi_raw_next(&d, &event), 1);
    assert_true(event.kind == ALQI_RAW_FREE_OWN && event.ordinal == 2);
    assert_int_equal(alqi_raw_next(&d, &event), 0);
}

/* As many as a chunk may have, and what is beyond is damage. */
static void
numbers_are_bounded(void **state)
{
    static struct alqi_raw_decoder d;
    static struct alqi_raw_event event;
    static uintptr_t frames[ALQI_RAW_FRAMES_MAX];

    (void)state;
    for (uint32_t n = 2; n < ALQI_RAW_NAMED_FRAMES; n *= 8) {
        struct alqi_raw_encoder e = {0};
        uint32_t n_named = 0;

        encoder_open(&e, 1);
        for (; alqi_raw_may_name(&e, n); n_named++)
            assert_true(alqi_raw_put_named(&e, 1, 8, 2, frames, n,
                                           n_named == 0 ? 0 : n));
        assert_true(n_named == ALQI_RAW_NAMED_MAX ||
                    (n_named + 1) * n > ALQI_RAW_NAMED_FRAMES);
        commit(&e);
        assert_true(alqi_raw_decoder_open(&d, chunk, sizeof chunk));
        for (uint32_t i = 0; i < n_named; i++)
            assert_int_equal(alqi_raw_next(&d, &event), 1);
        assert_int_equal(alqi_raw_next(&d, &event), 0);
        e.n_named = e.n_named_frames = 0; /* a writer that has lost count */
        assert_true(alqi_raw_put_named(&e, 2, 8, 2, frames, n, n));
        commit(&e);
        d.end = e.at;
        assert_int_equal(alqi_raw_next(&d, &event), -1);
        assert_non_null(d.error);
    }
}

static void
number_that_there_is_not_is_damage(void **state)
{
    struct alqi_raw_encoder e = {0};
    static struct alqi_raw_decoder d;
    static struct alqi_raw_event event;
    const uintptr_t frame = 0x1234;

    (void)state;
    encoder_open(&e, 1);
    assert_true(alqi_raw_put_named(&e, 1, 8, 1, &frame, 1, 0));
    e.n_named = 2;
    assert_true(alqi_raw_put_again(&e, 2, 8, 1, 1, frame));
    commit(&e);
    assert_true(alqi_raw_decoder_open(&d, chunk, sizeof chunk));
    assert_int_equal(alqi_raw_next(&d, &event), 1);
    assert_int_equal(alqi_raw_next(&d, &event), -1);
    assert_non_null(d.error);
}

static void
other_events_come_back(void **state)
{
    struct alqi_raw_encoder e = {.next_ordinal = 100};
    static struct alqi_raw_decoder d;
    static struct alqi_raw_event event;
    const uint8_t id[20] = {1, 2, 3, 255};

    (void)state;
    encoder_open(&e, 50);
    assert_true(alqi_raw_put_thread(&e, 60, 3, 4711, "worker"));
    assert_true(alqi_raw_put_free(&e, 55, true, 7, 98)); /* clock went back */
    assert_true(alqi_raw_put_free(&e, 70, false, 9, 1234567));
    assert_true(alqi_raw_put_rate(&e, 75, 1.0 / 3));
    assert_true(alqi_raw_put_module(&e, 80, 0x1000, 0x9000, 0xfffffffffffff000,
                                    "/lib/x.so", id, sizeof id));
    commit(&e);
    assert_true(alqi_raw_decoder_open(&d, chunk, sizeof chunk));
    assert_int_equal(alqi_raw_next(&d, &event), 1);
    assert_int_equal(event.kind, ALQI_RAW_THREAD);
    assert_int_equal(event.thread_index, 3);
    assert_int_equal(event.tid, 4711);
    assert_string_equal(event.name, "worker");
    assert_int_equal(alqi_raw_next(&d, &event), 1);
    assert_int_equal(event.kind, ALQI_RAW_FREE_OWN);
    assert_true(event.time_ns == 60 && event.ordinal == 98);
    assert_int_equal(event.stream, 7);
    assert_int_equal(alqi_raw_next(&d, &event), 1);
    assert_int_equal(event.kind, ALQI_RAW_FREE_OTHER);
    assert_true(event.stream == 9 && event.ordinal == 1234567);
    assert_int_equal(alqi_raw_next(&d, &event), 1);
    assert_int_equal(event.kind, ALQI_RAW_RATE);
    assert_true(event.rate == 1.0 / 3 && d.rate == 1.0 / 3);
    assert_int_equal(alqi_raw_next(&d, &event), 1);
    assert_int_equal(event.kind, ALQI_RAW_MODULE);
    assert_true(event.bias == 0xfffffffffffff000 && event.end == 0x9000);
    assert_string_equal(event.path, "/lib/x.so");
    assert_int_equal(event.build_id_bytes, sizeof id);
    assert_memory_equal(event.build_id, id, sizeof id);
    assert_int_equal(alqi_raw_next(&d, &event), 0);
}

/* .inv.alone: a rate holds for its chunk, and no further. */
static void
rates_hold_for_a_chunk(void **state)
{
    static const double rates[] = {1, 0.5, 1e-5, 0x1p-1022};
    static const double wrong[] = {0, -1, 1.5, (double)NAN};
    struct alqi_raw_encoder e = {0};
    static struct alqi_raw_decoder d;
    static struct alqi_raw_event event;

    (void)state;
    encoder_open(&e, 0);
    assert_true(alqi_raw_put_alloc(&e, 1, 8, 1, NULL, 0, 0));
    for (size_t i = 0; i < ALQI_COUNT_OF(rates); i++) {
        assert_true(alqi_raw_put_rate(&e, 2, rates[i]));
        assert_true(e.rate == rates[i]);
        assert_true(alqi_raw_put_alloc(&e, 2, 8, 1, NULL, 0, 0));
    }
    commit(&e);
    assert_true(alqi_raw_decoder_open(&d, chunk, sizeof chunk));
    assert_int_equal(alqi_raw_next(&d, &event), 1);
    assert_true(event.kind == ALQI_RAW_ALLOC && event.rate == 0);
    for (size_t i = 0; i < ALQI_COUNT_OF(rates); i++) {
        assert_int_equal(alqi_raw_next(&d, &event), 1);
        assert_true(event.kind == ALQI_RAW_RATE && event.rate == rates[i]);
        assert_int_equal(alqi_raw_next(&d, &event), 1);
        assert_true(event.kind == ALQI_RAW_ALLOC && event.rate == rates[i]);
    }
    for (size_t i = 0; i < ALQI_COUNT_OF(wrong); i++) {
        encoder_open(&e, 0);
        assert_true(alqi_raw_put_rate(&e, 1, wrong[i]));
        commit(&e);
        assert_true(alqi_raw_decoder_open(&d, chunk, sizeof chunk));
        assert_true(d.rate == 0);
        assert_int_equal(alqi_raw_next(&d, &event), -1);
    }
}

/* What is said of an allocation comes out with it, and only with it. */
static void
prefixes_come_back(void **state)
{
    struct alqi_raw_encoder e = {.next_ordinal = 10};
    static struct alqi_raw_decoder d;
    static struct alqi_raw_event event;
    const uintptr_t frame = 0x1234;

    (void)state;
    encoder_open(&e, 50);
    assert_true(alqi_raw_put_moved(&e, 60, true, 7, 8));
    assert_true(alqi_raw_put_reborn(&e, 60));
    assert_true(alqi_raw_put_mapped(&e, 60));
    assert_true(alqi_raw_put_pooled(&e, 60, ALQI_RAW_POOL_FIRST + 5));
    assert_true(alqi_raw_put_alloc(&e, 60, 4096, 2, &frame, 1, 0));
    assert_true(alqi_raw_put_rss(&e, 61, (uint64_t)5 << 40));
    assert_true(alqi_raw_put_moved(&e, 70, false, 3, 99));
    assert_true(alqi_raw_put_alloc(&e, 70, 64, 1, &frame, 1, 1));
    assert_true(alqi_raw_put_reborn(&e, 75));
    assert_true(alqi_raw_put_alloc(&e, 75, 66, 1, &frame, 1, 1));
    assert_true(alqi_raw_put_alloc(&e, 80, 65, 1, &frame, 1, 1));
    commit(&e);
    assert_true(alqi_raw_decoder_open(&d, chunk, sizeof chunk));
    assert_int_equal(alqi_raw_next(&d, &event), 1);
    assert_int_equal(event.kind, ALQI_RAW_ALLOC);
    assert_true(event.is_moved && event.is_mapping && event.is_reborn);
    assert_int_equal(event.from_stream, 7);
    assert_int_equal(event.from_ordinal, 8);
    assert_int_equal(event.size_bytes, 4096);
    assert_int_equal(event.pool, ALQI_RAW_POOL_FIRST + 5);
    assert_int_equal(alqi_raw_next(&d, &event), 1);
    assert_int_equal(event.kind, ALQI_RAW_RSS);
    assert_true(event.rss_bytes == (uint64_t)5 << 40 && event.time_ns == 61);
    assert_int_equal(alqi_raw_next(&d, &event), 1);
    assert_int_equal(event.kind, ALQI_RAW_ALLOC);
    assert_true(event.is_moved && !event.is_mapping && !event.is_reborn);
    assert_int_equal(event.from_stream, 3);
    assert_int_equal(event.from_ordinal, 99);
    assert_int_equal(alqi_raw_next(&d, &event), 1);
    assert_true(!event.is_moved && !event.is_mapping && event.is_reborn);
    assert_int_equal(event.size_bytes, 66);
    assert_int_equal(event.pool, 0);
    assert_int_equal(alqi_raw_next(&d, &event), 1);
    assert_true(!event.is_moved && !event.is_mapping && !event.is_reborn);
    assert_int_equal(event.size_bytes, 65);
    assert_int_equal(alqi_raw_next(&d, &event), 0);
}

static void
prefix_without_allocation_is_damage(void **state)
{
    static struct alqi_raw_decoder d;
    static struct alqi_raw_event event;

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct alqi_raw_encoder e = {.next_ordinal = 10};

        encoder_open(&e, 50);
        assert_true(i < 2 ? alqi_raw_put_moved(&e, 60, true, 7, 8)
                          : alqi_raw_put_reborn(&e, 60));
        if (i % 2 == 1)
            assert_true(alqi_raw_put_rss(&e, 61, 4096));
        commit(&e);
        assert_true(alqi_raw_decoder_open(&d, chunk, sizeof chunk));
        assert_int_equal(alqi_raw_next(&d, &event), -1);
        assert_non_null(d.error);
    }
}

/* A chunk that is cut anywhere gives whole events, then an end or an error. */
static void
damage_is_an_error(void **state)
{
    struct alqi_raw_encoder e = {0};
    static struct alqi_raw_decoder d;
    static struct alqi_raw_event event;
    struct stack s = {.n = 0};
    unsigned n_errors = 0;

    (void)state;
    encoder_open(&e, 0);
    for (unsigned i = 0; i < 200; i++) {
        uint32_t n_shared = stack_vary(&s);

        assert_true(alqi_raw_put_alloc(&e, i, i, 1, s.frames, s.n, n_shared));
        assert_true(alqi_raw_put_free(&e, i, true, 7, i));
        assert_true(i % 50 != 0 || alqi_raw_put_rate(&e, i, 1.0 / (i + 2)));
    }
    commit(&e);
    for (unsigned round = 0; round < HOSTILE_ROUNDS; round++) {
        size_t used = (size_t)(e.at - chunk);
        size_t at = rng() % used;
        uint8_t kept = chunk[at];
        int got;

        chunk[at] = (uint8_t)rng();
        if (alqi_raw_decoder_open(&d, chunk, rng() % 4 ? used : at)) {
            while ((got = alqi_raw_next(&d, &event)) > 0)
                continue;
            n_errors += got < 0;
            if (got < 0)
                assert_non_null(d.error);
        }
        chunk[at] = kept;
    }
    assert_true(n_errors > HOSTILE_ROUNDS / 20);
}

/* A name comes back; one that is too long is cut, a number too large is
 * damage. */
static void
names_of_code_come_back(void **state)
{
    struct alqi_raw_encoder e = {0};
    static struct alqi_raw_decoder d;
    static struct alqi_raw_event event;
    char name[ALQI_RAW_NAME_BYTES_MAX + 50];

    (void)state;
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    encoder_open(&e, 50);
    assert_true(alqi_raw_put_code(&e, 60, 7, "A.f", "dir/a.py"));
    assert_true(
        alqi_raw_put_code(&e, 61, ALQI_RAW_PYTHON_NUMBER_MAX, name, name));
    commit(&e);
    assert_true(alqi_raw_decoder_open(&d, chunk, sizeof chunk));
    assert_int_equal(alqi_raw_next(&d, &event), 1);
    assert_int_equal(event.kind, ALQI_RAW_CODE);
    assert_int_equal(event.number, 7);
    assert_string_equal(event.function, "A.f");
    assert_string_equal(event.path, "dir/a.py");
    assert_int_equal(alqi_raw_next(&d, &event), 1);
    assert_int_equal(event.number, ALQI_RAW_PYTHON_NUMBER_MAX);
    assert_int_equal(strlen(event.function), ALQI_RAW_NAME_BYTES_MAX - 1);
    assert_int_equal(strlen(event.path), sizeof name - 1);
    assert_int_equal(alqi_raw_next(&d, &event), 0);
}

/* A mark comes back, with and without a number; without a name, or with a
 * number too large, it is damage. */
static void
marks_come_back(void **state)
{
    static const struct {
        uint32_t number;
        const char *name, *error;
    } rows[] = {
        {0, "loaded", NULL},
        {ALQI_SIDE_MARKS_MAX, "a b", NULL},
        {0, "", "a mark has no name"},
        {ALQI_SIDE_MARKS_MAX + 1, "x", "a mark has too large a number"}};
    static struct alqi_raw_decoder d;
    static struct alqi_raw_event event;

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(rows); i++) {
        struct alqi_raw_encoder e = {0};

        encoder_open(&e, 50);
        assert_true(alqi_raw_put_mark(&e, 60, rows[i].number, rows[i].name));
        commit(&e);
        assert_true(alqi_raw_decoder_open(&d, chunk, sizeof chunk));
        assert_int_equal(alqi_raw_next(&d, &event), rows[i].error ? -1 : 1);
        if (rows[i].error != NULL) {
            assert_string_equal(d.error, rows[i].error);
            continue;
        }
        assert_int_equal(event.kind, ALQI_RAW_MARK);
        assert_int_equal(event.number, rows[i].number);
        assert_true(event.time_ns == 60);
        assert_string_equal(event.function, rows[i].name);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_come_back),
        cmocka_unit_test(allocations_come_back),
        cmocka_unit_test(stacks_with_a_number_come_again),
        cmocka_unit_test(numbers_are_bounded),
        cmocka_unit_test(number_that_there_is_not_is_damage),
        cmocka_unit_test(other_events_come_back),
        cmocka_unit_test(rates_hold_for_a_chunk),
        cmocka_unit_test(prefixes_come_back),
        cmocka_unit_test(prefix_without_allocation_is_damage),
        cmocka_unit_test(names_of_code_come_back),
        cmocka_unit_test(damage_is_an_error),
    };

    rng_state += alqi_base_test_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
