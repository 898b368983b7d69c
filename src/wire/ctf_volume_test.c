/* ctf_volume_test.c -- long traces need no more memory than short ones
 *
 * A writer feeds a reader packet by packet.  After the first part, in which
 * every location has been seen, neither side may grow.  Each allocation has a
 * side record of its own, as links between blocks are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "base/base.h"
#include "kits/wire/golden.h"
#include "wire/side.h"

enum { EVENTS = 1000000, WARM_EVENTS = 400000, GROWTH_KIB_MAX = 1024 };
enum { FRAMES_MAX = 12, CODES = 30000 };

struct feed {
    struct alqi_ctf_writer *writer;
    struct golden_bytes packet; /* not yet read */
    size_t at;
    uint64_t n_written;
    uint64_t codes[FRAMES_MAX];
};

static bool
take_packet(void *arg, const void *bytes, size_t n)
{
    struct feed *feed = arg;

    golden_append(&feed->packet, bytes, n);
    return true;
}

static void
look_up(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    static char function[32];
    static const struct alqi_ctf_entry entry = {"a.c", function, 1, 2, 3};

    (void)arg;
    snprintf(function, sizeof function, "f%u", (unsigned)code);
    out->n_entries = 1;
    out->entries = &entry;
}

/* Also makes the reader's check: the innermost code tells the id. */
static uint64_t
code_from(uint64_t id)
{
    return 2 + alqi_base_mix(id) % CODES;
}

static void
feed_event(struct feed *feed)
{
    uint64_t i = feed->n_written / 2;
    uint64_t time_us = 1700000000000000 + i;
    uint32_t n = 2 + (uint32_t)(alqi_base_mix(~i) % (FRAMES_MAX - 1));
    struct alqi_ctf_location moved = {0};
    uint64_t id;

    if (feed->n_written++ % 2 == 1) {
        assert_int_equal(alqi_ctf_write_collect(feed->writer, time_us, i / 2),
                         ALQ_OK);
        return;
    }
    moved.code = ALQI_SIDE_PREFIX | ALQI_SIDE_MOVED | i;
    assert_int_equal(alqi_ctf_write_side(feed->writer, time_us, &moved),
                     ALQ_OK);
    for (uint32_t k = 0; k + 1 < n; k++)
        feed->codes[k] = 2 + k * 7 + (i >> k) % 5;
    feed->codes[n - 1] = code_from(i);
    assert_int_equal(alqi_ctf_write_alloc(feed->writer, time_us, i % 100, 1,
                                          ALQI_CTF_EXTERNAL, feed->codes, n,
                                          &id),
                     ALQ_OK);
    assert_true(id == i);
}

static ptrdiff_t
read_feed(void *arg, void *bytes, size_t n)
{
    struct feed *feed = arg;
    size_t left = feed->packet.n - feed->at;

    if (left == 0) {
        feed->packet.n = 0;
        feed->at = 0;
        while (feed->packet.n == 0 && feed->n_written < EVENTS)
            feed_event(feed);
        if (feed->packet.n == 0)
            assert_int_equal(alqi_ctf_writer_flush(feed->writer), ALQ_OK);
        left = feed->packet.n;
    }
    n = n < left ? n : left;
    if (n > 0)
        memcpy(bytes, feed->packet.bytes + feed->at, n);
    feed->at += n;
    return (ptrdiff_t)n;
}

static long
peak_kib(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

static void
memory_stays(void **state)
{
    struct alqi_ctf_info info = {
        .version = 2,
        .word_bits = 8,
        .rate = 1e-5,
        .start_us = 1700000000000000,
        .executable = "",
        .host = "",
        .params = "",
        .context = "",
    };
    struct feed feed = {0};
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event event;
    uint64_t n_events = 0, n_moved = 0;
    long warm_kib = 0;

    (void)state;
    assert_int_equal(alqi_ctf_writer_open(&info, take_packet, &feed, look_up,
                                          NULL, &feed.writer),
                     ALQ_OK);
    /* Enough draws for every code to come up, cached or pushed out. */
    while (feed.n_written / 2 < WARM_EVENTS / 2)
        feed_event(&feed);
    assert_int_equal(
        alqi_ctf_reader_open(read_feed, &feed, NULL, NULL, &reader), ALQ_OK);
    while (alqi_ctf_reader_next(reader, &event) > 0) {
        if (event.kind == ALQI_CTF_LOCATION) {
            n_moved += alqi_side_is(event.location.code);
            continue;
        }
        if (++n_events == WARM_EVENTS)
            warm_kib = peak_kib();
        if (event.kind == ALQI_CTF_ALLOC)
            assert_true(event.codes[event.n_codes - 1] == code_from(event.id));
    }
    assert_string_equal(alqi_ctf_reader_error(reader), "");
    assert_int_equal(n_events, EVENTS);
    assert_int_equal(n_moved, EVENTS / 2);
    if (peak_kib() - warm_kib > GROWTH_KIB_MAX)
        fail_msg("%ld KiB more after %d events", peak_kib() - warm_kib, EVENTS);
    alqi_ctf_reader_drop(reader);
    assert_int_equal(alqi_ctf_writer_close(feed.writer), ALQ_OK);
    free(feed.packet.bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_stays)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
