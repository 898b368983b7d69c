/* ctf_limits_test.c -- traces made to take too much, and one that still grows
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "base/base.h"
#include "wire/ctf_stacks.h"
#include "kits/wire/golden.h"
#include "wire/ctf_packet.h"

/* Sanitizers keep freed blocks: peaks mean nothing there. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||           \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

enum { STREAMS_MAX = 1024, FRAMES_ALL_MAX = 1 << 24, ROOT_CODE = 5 };

static struct alqi_ctf_info
some_info(void)
{
    return (struct alqi_ctf_info){
        .version = 3,
        .word_bits = 64,
        .rate = 0.01,
        .executable = "",
        .host = "",
        .params = "",
        .context = "",
    };
}

/* Appends the bytes after the header as a packet of this domain. */
static void
packet_add(struct golden_bytes *trace, uint16_t domain, uint64_t n_allocs,
           struct alqi_wire_out *out, uint8_t *bytes)
{
    struct alqi_wire_out head = {
        .at = bytes,
        .end = bytes + ALQI_PACKET_HEADER_BYTES_V3,
    };
    struct alqi_packet packet = {
        .n_bytes = (uint32_t)(out->at - bytes),
        .version = 3,
        .domain = domain,
        .verify_index = ALQI_PACKET_NO_VERIFY,
        .id_end = n_allocs,
    };

    assert_false(out->bad);
    alqi_packet_write(&head, &packet);
    golden_append(trace, bytes, packet.n_bytes);
}

static struct alqi_wire_out
packet_start(uint8_t bytes[ALQI_CTF_PACKET_BYTES_MAX])
{
    return (struct alqi_wire_out){
        .at = bytes + ALQI_PACKET_HEADER_BYTES_V3,
        .end = bytes + ALQI_CTF_PACKET_BYTES_MAX,
    };
}

static void
info_add(struct golden_bytes *trace)
{
    uint8_t bytes[ALQI_CTF_PACKET_BYTES_MAX];
    struct alqi_wire_out out = packet_start(bytes);
    struct alqi_ctf_info info = some_info();

    alqi_wire_out_u32(&out, alqi_event_head(0, ALQI_EVENT_INFO));
    alqi_packet_info_write(&out, &info);
    packet_add(trace, 0, 0, &out, bytes);
}

static void
take_warning(void *arg, uint64_t offset_bytes, const char *text)
{
    struct golden_bytes *all = arg;

    (void)offset_bytes;
    golden_append(all, text, strlen(text));
    golden_append(all, "\n", 1);
}

/* A packet that names one code, then itself as its own follower for as many
 * frames as fit. */
static void
bomb_add(struct golden_bytes *trace, uint16_t domain)
{
    uint8_t bytes[ALQI_CTF_PACKET_BYTES_MAX];
    struct alqi_wire_out out = packet_start(bytes);
    struct alqi_wire_out count;
    uint16_t n_words = 1;

    alqi_wire_out_u32(&out, alqi_event_head(0, ALQI_EVENT_LOCATION));
    alqi_wire_out_u64(&out, ROOT_CODE);
    alqi_wire_out_u8(&out, 0);
    alqi_wire_out_u32(&out, alqi_event_head(0, ALQI_EVENT_ALLOC));
    alqi_wire_out_vint(&out, 100);
    alqi_wire_out_vint(&out, 1);
    alqi_wire_out_u8(&out, 0);
    alqi_wire_out_vint(&out, 0);
    count = out;
    alqi_wire_out_u16(&out, 0);
    alqi_wire_out_u16(&out, 0 << 2 | 3); /* slot 0 */
    alqi_wire_out_u64(&out, ROOT_CODE);
    for (; alqi_wire_out_left(&out) >= 3; n_words++) {
        alqi_wire_out_u16(&out, 0 << 2 | 2);
        alqi_wire_out_u8(&out, 255);
    }
    alqi_wire_out_u16(&count, n_words);
    packet_add(trace, domain, 1, &out, bytes);
}

static long
peak_kib(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

static void
deep_stacks_stay_bounded(void **state)
{
    enum { BOMBS = 30 }; /* each of 2.7 million frames */
    struct golden_source source = {{0}, 0};
    struct golden_bytes warnings = {0};
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event event;
    uint64_t n_frames = 0;
    uint64_t n_allocs = 0;
    long before_kib = peak_kib();

    (void)state;
    info_add(&source.data);
    for (uint16_t i = 0; i < BOMBS; i++)
        bomb_add(&source.data, i);
    assert_int_equal(alqi_ctf_reader_open(golden_read, &source, take_warning,
                                          &warnings, &reader),
                     ALQ_OK);
    while (alqi_ctf_reader_next(reader, &event) > 0) {
        if (event.kind != ALQI_CTF_ALLOC)
            continue;
        if (n_allocs++ == 0)
            assert_int_equal(event.n_codes, ALQI_CTF_CACHE_FRAMES_MAX);
        assert_true(event.codes[event.n_codes - 1] == ROOT_CODE);
        n_frames += event.n_codes;
    }
    assert_string_equal(alqi_ctf_reader_error(reader), "");
    assert_int_equal(n_allocs, BOMBS);
    assert_true(n_frames > FRAMES_ALL_MAX / 2);
    assert_true(n_frames <= FRAMES_ALL_MAX + BOMBS * 256);
    /* Growing a stack may hold its old and new form for a moment. */
    if (!IS_SANITIZED)
        assert_true(peak_kib() - before_kib <
                    (FRAMES_ALL_MAX + 2 * ALQI_CTF_CACHE_FRAMES_MAX) / 128 +
                        65536);
    golden_append(&warnings, "", 1);
    assert_non_null(strstr((char *)warnings.bytes, "too deep"));
    assert_non_null(strstr((char *)warnings.bytes, "29 more stacks"));
    alqi_ctf_reader_drop(reader);
    free(source.data.bytes);
    free(warnings.bytes);
}

static void
streams_stay_bounded(void **state)
{
    struct golden_source source = {{0}, 0};
    uint8_t bytes[ALQI_CTF_PACKET_BYTES_MAX];
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event event;
    int got;
    int n = 0;

    (void)state;
    info_add(&source.data);
    for (uint16_t i = 0; i <= STREAMS_MAX; i++) {
        struct alqi_wire_out out = packet_start(bytes);

        alqi_wire_out_u32(&out, alqi_event_head(0, ALQI_EVENT_COLLECT));
        alqi_wire_out_vint(&out, 0);
        packet_add(&source.data, (uint16_t)(i * 61), 0, &out, bytes);
    }
    assert_int_equal(
        alqi_ctf_reader_open(golden_read, &source, NULL, NULL, &reader),
        ALQ_OK);
    while ((got = alqi_ctf_reader_next(reader, &event)) > 0)
        assert_int_equal(event.domain, (uint16_t)(n++ * 61));
    assert_int_equal(got, -1);
    assert_int_equal(n, STREAMS_MAX);
    assert_non_null(strstr(alqi_ctf_reader_error(reader), "1024 streams"));
    alqi_ctf_reader_drop(reader);
    free(source.data.bytes);
}

/* A file that grows by whole packets reads on after each 0. */
static void
a_growing_trace(void **state)
{
    struct golden_bytes whole =
        golden_trace(GOLDEN_DIR "/traces", "wordcount-1e-3.v2");
    struct golden_source source = {whole, 0};
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event event;
    unsigned long n_events = 0;
    int n_ends = 0;

    (void)state;
    source.data.n = 0;
    for (size_t at = 0; at < whole.n;) {
        uint32_t n_bits;
        int got;

        memcpy(&n_bits, whole.bytes + at + 4, sizeof n_bits);
        at += n_bits / 8;
        source.data.n = at;
        if (n_ends++ == 0)
            assert_int_equal(
                alqi_ctf_reader_open(golden_read, &source, NULL, NULL, &reader),
                ALQ_OK);
        while ((got = alqi_ctf_reader_next(reader, &event)) > 0)
            n_events++;
        assert_int_equal(got, 0);
        assert_true(alqi_ctf_reader_offset_bytes(reader) == at);
    }
    assert_int_equal(n_ends, 7);
    assert_int_equal(n_events, 4731 + 782 + 4457 + 89); /* counts.tsv */
    alqi_ctf_reader_drop(reader);
    free(whole.bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deep_stacks_stay_bounded),
        cmocka_unit_test(streams_stay_bounded),
        cmocka_unit_test(a_growing_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
