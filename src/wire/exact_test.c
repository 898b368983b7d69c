/* exact_test.c -- the exact codec: what goes in comes out, and nothing else
 * crashes it */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "wire/exact.h"

enum { CHUNK = ALQI_RAW_CHUNK_BYTES, EVENTS = 20000 };

static uint64_t seed;

static uint64_t
next(void)
{
    return alqi_base_mix(seed += 0x9E3779B97F4A7C15u);
}

static _Alignas(8) uint8_t bytes[CHUNK];
static struct alqi_exact_encoder encoder;
static struct alqi_exact_decoder decoder;
static struct alqi_exact_event wanted[EVENTS];

static struct alqi_raw_chunk_header *
chunk_new(enum alqi_raw_chunk_kind kind, uint64_t first)
{
    struct alqi_raw_chunk_header *h = (void *)bytes;

    memset(bytes, 0, sizeof bytes);
    h->magic = ALQI_RAW_CHUNK_MAGIC;
    h->kind = kind;
    h->start_ns = 1000;
    h->first_ordinal = first;
    return h;
}

static uint64_t
address_random(bool is_fine)
{
    uint64_t base = next() % 8 == 0 ? (uint64_t)0x7F1234560000 : 0x555555600000;

    return base +
           ((next() >> (next() % 40 + 24)) & ~(uint64_t)(is_fine ? 0 : 15));
}

/* One event of any kind, into the encoder and *out. */
static bool
event_random(struct alqi_exact_event *out, uint64_t ticks, bool is_fine)
{
    memset(out, 0, sizeof *out);
    switch (next() % 20) {
    case 0:
        out->kind = ALQI_EXACT_MOVED;
        return alqi_exact_put_control(&encoder, ALQI_EXACT_MOVED, 0);
    case 1:
        out->kind = ALQI_EXACT_SAMPLES;
        out->value = next() >> (next() % 64);
        return alqi_exact_put_control(&encoder, ALQI_EXACT_SAMPLES, out->value);
    case 2:
        out->kind = ALQI_EXACT_THREAD;
        out->thread_index = (uint32_t)next();
        out->tid = (uint32_t)next();
        strcpy(out->name, "worker-17");
        /* its TIME comes first and is told of on its own */
        return alqi_exact_put_thread(&encoder, 0, out->thread_index, out->tid,
                                     out->name);
    case 10:
        out->kind = ALQI_EXACT_CLOCK;
        out->value = 1000 + (next() >> 20);
        return alqi_exact_put_clock(&encoder, ticks, out->value);
    case 3:
        out->kind = ALQI_EXACT_RATE;
        out->rate = (double)(next() % 1000) / 1000;
        return alqi_exact_put_rate(&encoder, out->rate);
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
        out->kind = ALQI_EXACT_FREE;
        out->address = address_random(is_fine);
        return alqi_exact_put_free(&encoder, ticks, out->address);
    default:
        out->kind = ALQI_EXACT_ALLOC;
        out->address = address_random(is_fine);
        out->size_bytes = next() % 4 == 0 ? next() >> (next() % 64) : 32;
        out->node = next() % 16 == 0 ? (uint32_t)(next() >> 34)
                                     : (uint32_t)(next() % 40);
        return alqi_exact_put_alloc(&encoder, ticks, out->address,
                                    out->size_bytes, out->node);
    }
}

static void
event_check(const struct alqi_exact_event *a, const struct alqi_exact_event *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->node, b->node);
    assert_int_equal(a->address, b->address);
    assert_int_equal(a->size_bytes, b->size_bytes);
    assert_int_equal(a->value, b->value);
    assert_true(a->rate == b->rate);
    assert_int_equal(a->tid, b->tid);
    assert_int_equal(a->thread_index, b->thread_index);
    assert_string_equal(a->name, b->name);
}

static void
round_trip(uint64_t a_seed, bool is_timed, bool is_fine)
{
    struct alqi_raw_chunk_header *h = chunk_new(ALQI_RAW_EXACT, 77);
    uint64_t ticks = 77 << ALQI_EXACT_TICK_SHIFT, before;
    struct alqi_exact_event got;
    size_t n = 0, i = 0;
    int rc;

    seed = a_seed + alqi_base_test_seed();
    alqi_exact_begin(&encoder, h, CHUNK, is_timed);
    while (n < EVENTS && event_random(&wanted[n], ticks, is_fine)) {
        wanted[n++].ticks = ticks >> ALQI_EXACT_TICK_SHIFT;
        ticks += next() >> (next() % 50 + 14);
    }
    assert_true(n > 2000);
    h->used = (uint32_t)(encoder.at - (uint8_t *)(h + 1));
    assert_true(alqi_exact_decoder_open(&decoder, bytes, CHUNK));
    before = 0;
    for (;;) {
        memset(&got, 0, sizeof got);
        rc = alqi_exact_next(&decoder, &got);
        if (rc <= 0)
            break;
        assert_true(got.ticks >= before);
        before = got.ticks;
        if (got.kind == ALQI_EXACT_TIME)
            continue;
        assert_true(i < n);
        event_check(&got, &wanted[i]);
        if (is_timed && got.kind >= ALQI_EXACT_ALLOC)
            assert_int_equal(got.ticks, wanted[i].ticks);
        if (!is_timed && got.kind >= ALQI_EXACT_ALLOC)
            assert_true(wanted[i].ticks - got.ticks < ALQI_EXACT_TIME_STEP);
        i++;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(i, n);
}

static void
test_round_trip(void **state)
{
    (void)state;
    for (uint64_t s = 1; s <= 40; s++)
        round_trip(s, s & 1, s & 2);
}

/* Cut and altered bytes end in -1 or 0, within the chunk. */
static void
test_damage(void **state)
{
    struct alqi_exact_event got;

    (void)state;
    for (uint64_t s = 1; s <= 200; s++) {
        round_trip(s % 4 + 1, s & 1, s & 2);
        seed = s + alqi_base_test_seed();
        for (int k = 0; k < 50; k++)
            bytes[sizeof(struct alqi_raw_chunk_header) + next() % 5000] =
                (uint8_t)next();
        assert_true(alqi_exact_decoder_open(&decoder, bytes, CHUNK));
        for (int i = 0; i < CHUNK + 1; i++) {
            int rc = alqi_exact_next(&decoder, &got);

            assert_true(decoder.at <= decoder.end);
            if (rc < 0)
                assert_non_null(decoder.error);
            if (rc <= 0)
                break;
            assert_true(i < CHUNK);
        }
    }
}

static void
test_not_a_chunk(void **state)
{
    (void)state;
    chunk_new(ALQI_RAW_EVENTS, 0);
    assert_false(alqi_exact_decoder_open(&decoder, bytes, CHUNK));
    assert_non_null(decoder.error);
    chunk_new(ALQI_RAW_EXACT, 0)->magic = 1;
    assert_false(alqi_exact_decoder_open(&decoder, bytes, CHUNK));
    chunk_new(ALQI_RAW_EXACT, 0);
    assert_false(alqi_exact_decoder_open(&decoder, bytes, 8));
}

/* A loop of a few call sites costs three bytes an allocation and two a free
 * at most (spec malloc-profilers 5b item 7: four). */
static void
test_a_loop_is_small(void **state)
{
    struct alqi_raw_chunk_header *h = chunk_new(ALQI_RAW_EXACT, 0);
    size_t n = 0;

    (void)state;
    seed = 5;
    alqi_exact_begin(&encoder, h, CHUNK, false);
    for (uint32_t node = 1 + 1000;; node = node % 7 + 1001) {
        uint64_t address = 0x555555600000 + (node * 48 + next() % 64 * 16);

        if (!alqi_exact_put_alloc(&encoder, 0, address, node % 64, node) ||
            !alqi_exact_put_free(&encoder, 0, address))
            break;
        n += 2;
    }
    assert_true((size_t)(encoder.at - bytes) <= n * 5 / 2);
}

static void
test_nodes(void **state)
{
    struct alqi_raw_chunk_header *h = chunk_new(ALQI_RAW_NODES, 9);
    struct alqi_exact_node_encoder nodes = {
        .at = (uint8_t *)(h + 1),
        .end = bytes + CHUNK,
    };
    struct alqi_exact_node_decoder back;
    uint32_t n = 0, id, parent;
    uint64_t pc;
    int rc;

    (void)state;
    seed = 3;
    for (uint32_t i = 9;; i++, n++) {
        parent = (uint32_t)(next() % i);
        pc = 0x7F0000000000 + next() % 100000;
        if (!alqi_exact_put_node(&nodes, i, parent, pc))
            break;
    }
    h->used = (uint32_t)(nodes.at - (uint8_t *)(h + 1));
    seed = 3;
    assert_true(alqi_exact_node_decoder_open(&back, bytes, CHUNK));
    for (uint32_t i = 9;
         (rc = alqi_exact_node_next(&back, &id, &parent, &pc)) > 0; i++, n--) {
        assert_int_equal(id, i);
        assert_int_equal(parent, next() % i);
        assert_int_equal(pc, 0x7F0000000000 + next() % 100000);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(n, 0);
    h->first_ordinal = 0;
    assert_false(alqi_exact_node_decoder_open(&back, bytes, CHUNK));
    h->first_ordinal = 1; /* now the first node's parent lies before 0 */
    bytes[sizeof *h] = 2;
    assert_true(alqi_exact_node_decoder_open(&back, bytes, CHUNK));
    assert_int_equal(alqi_exact_node_next(&back, &id, &parent, &pc), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_not_a_chunk),
        cmocka_unit_test(test_a_loop_is_small),
        cmocka_unit_test(test_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
