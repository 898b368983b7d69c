/* gctrace_test.c -- events of the collector: put, then get, is the identity */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "wire/gctrace.h"

enum { N = 2000 };

static uint64_t seed = 11;

/* Numbers of each length. */
static uint64_t
number(void)
{
    seed = alqi_base_mix(seed + 1);
    return alqi_base_mix(seed) >> (seed % 64);
}

static struct alqi_gctrace_event
some_event(uint64_t time_ns)
{
    struct alqi_gctrace_event e = {0};

    e.kind = (uint8_t)number();
    e.point = (uint8_t)(number() % 3);
    e.time_ns = time_ns;
    if (number() % 4 > 0)
        e.values[0] = number();
    if (number() % 2 > 0)
        e.values[1] = number();
    return e;
}

static void
same(const struct alqi_gctrace_event *a, const struct alqi_gctrace_event *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->point, b->point);
    assert_true(a->time_ns == b->time_ns);
    assert_memory_equal(a->values, b->values, sizeof a->values);
}

static void
events_come_back(void **state)
{
    static struct alqi_gctrace_event events[N];
    static uint8_t bytes[N * ALQI_GCTRACE_EVENT_BYTES_MAX];
    struct alqi_gctrace_encoder e = {bytes, bytes + sizeof bytes, 1000};
    struct alqi_gctrace_decoder d = {bytes, NULL, NULL, 1000};
    struct alqi_gctrace_event got;
    uint64_t ns = 1000;
    int i;

    (void)state;
    for (i = 0; i < N; i++) {
        ns += number() >> 12; /* their sum stays below 2^64 */
        events[i] = some_event(ns);
        assert_true(alqi_gctrace_put_event(&e, &events[i]));
    }
    d.end = e.at;
    for (i = 0; i < N; i++) {
        assert_int_equal(alqi_gctrace_next(&d, &got), 1);
        same(&got, &events[i]);
    }
    assert_int_equal(alqi_gctrace_next(&d, &got), 0);
}

static void
a_clock_that_goes_back_is_held(void **state)
{
    uint8_t bytes[200];
    struct alqi_gctrace_encoder e = {bytes, bytes + sizeof bytes, 1000};
    struct alqi_gctrace_decoder d = {bytes, NULL, NULL, 1000};
    struct alqi_gctrace_event event = {ALQ_EVENT_MINOR, 0, 900, {0}};

    (void)state;
    assert_true(alqi_gctrace_put_event(&e, &event));
    event.time_ns = 1100;
    assert_true(alqi_gctrace_put_event(&e, &event));
    d.end = e.at;
    assert_int_equal(alqi_gctrace_next(&d, &event), 1);
    assert_true(event.time_ns == 1000);
    assert_int_equal(alqi_gctrace_next(&d, &event), 1);
    assert_true(event.time_ns == 1100);
}

static void
nothing_is_written_when_full(void **state)
{
    uint8_t bytes[ALQI_GCTRACE_EVENT_BYTES_MAX + 1];
    struct alqi_gctrace_event event = {
        255, ALQ_EVENT_END, UINT64_MAX, {UINT64_MAX, UINT64_MAX}};
    size_t n;

    (void)state;
    for (n = 0; n <= sizeof bytes; n++) {
        struct alqi_gctrace_encoder e = {bytes, bytes + n, 0};

        memset(bytes, 0xAA, sizeof bytes);
        assert_int_equal(alqi_gctrace_put_event(&e, &event),
                         n >= ALQI_GCTRACE_EVENT_BYTES_MAX);
        assert_true(e.at <= e.end);
        if (n < ALQI_GCTRACE_EVENT_BYTES_MAX) {
            assert_ptr_equal(e.at, bytes);
            assert_int_equal(bytes[0], 0xAA);
        }
        assert_int_equal(bytes[sizeof bytes - 1], 0xAA);
    }
}

static void
headers_come_back(void **state)
{
    struct alqi_gctrace_header h = {7, UINT64_MAX - 3, 12345}, h2;
    struct alqi_gctrace_chunk c = {ALQI_GCTRACE_TRACKS_MAX - 1,
                                   ALQI_GCTRACE_CHUNK_BYTES_MAX, 9, 1 << 30};
    struct alqi_gctrace_chunk c2;
    uint8_t bytes[ALQI_GCTRACE_HEADER_BYTES];

    (void)state;
    alqi_gctrace_put_header(bytes, &h);
    assert_null(alqi_gctrace_get_header(bytes, &h2));
    assert_true(h.pid == h2.pid && h.wall_ns == h2.wall_ns &&
                h.mono_ns == h2.mono_ns);
    bytes[8]++; /* the length */
    assert_non_null(alqi_gctrace_get_header(bytes, &h2));
    bytes[0]++;
    assert_non_null(alqi_gctrace_get_header(bytes, &h2));

    alqi_gctrace_put_chunk(bytes, &c);
    assert_null(alqi_gctrace_get_chunk(bytes, &c2));
    assert_true(c.track == c2.track && c.n_bytes == c2.n_bytes &&
                c.n_lost == c2.n_lost && c.start_ns == c2.start_ns);
    c.n_bytes++;
    alqi_gctrace_put_chunk(bytes, &c);
    assert_non_null(alqi_gctrace_get_chunk(bytes, &c2));
    c.n_bytes--;
    c.track++;
    alqi_gctrace_put_chunk(bytes, &c);
    assert_non_null(alqi_gctrace_get_chunk(bytes, &c2));
}

/* Refused, and so again. */
static void
refused(const uint8_t *bytes, size_t n, const char *part)
{
    struct alqi_gctrace_decoder d = {bytes, bytes + n, NULL, 10};
    struct alqi_gctrace_event event;

    assert_int_equal(alqi_gctrace_next(&d, &event), -1);
    assert_non_null(strstr(d.error, part));
    assert_int_equal(alqi_gctrace_next(&d, &event), -1);
}

static void
bad_events_are_refused(void **state)
{
    static const uint8_t point[] = {1, 3, 0};
    static const uint8_t values[] = {1, 0 | 3 << 2, 0, 1, 1, 1};
    static const uint8_t cut[] = {1, 0 | 2 << 2, 5, 1, 0x80};
    static const uint8_t lone[] = {1};
    static const uint8_t large[] = {1,    0,    0xFF, 0xFF, 0xFF, 0xFF,
                                    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2};
    static const uint8_t late[] = {1,    0,    0xFF, 0xFF, 0xFF, 0xFF,
                                   0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1};

    (void)state;
    refused(point, sizeof point, "neither a beginning");
    refused(values, sizeof values, "more values");
    refused(cut, sizeof cut, "over the end");
    refused(lone, sizeof lone, "over the end");
    refused(large, sizeof large, "more than 64 bits");
    refused(late, sizeof late, "beyond all times");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_back),
        cmocka_unit_test(a_clock_that_goes_back_is_held),
        cmocka_unit_test(nothing_is_written_when_full),
        cmocka_unit_test(headers_come_back),
        cmocka_unit_test(bad_events_are_refused),
    };

    seed += alqi_base_test_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
