/* ctf_faults_test.c -- what we make of faulty traces
 *
 * The table is ours; the real readers' outcomes are in expected.tsv.  Where
 * the newest real reader reads a trace, we print the same text.  Where it
 * gives up, we read on if that harms nobody, and say what was wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "wire/ctf_dump.h"
#include "kits/wire/golden.h"

#define FAULTS GOLDEN_DIR "/faults"

enum outcome { READ, DAMAGED };

static const struct fault {
    const char *name;
    enum outcome outcome;
    int n_lines;         /* dumped, up to the damage */
    const char *warning; /* a part of the first one */
    const char *error;   /* a part of it */
} faults[] = {
    {"v2-ok", READ, 1, NULL, NULL},
    {"v2-empty-packet", READ, 1, NULL, NULL},
    {"v2-time-backwards-inside-packet", READ, 2, "is outside its packet", NULL},
    {"v2-event-after-t-end", READ, 1, "is outside its packet", NULL},
    {"v2-packet-t-begin-previous-t-end-but-no-event-there", READ, 2, NULL,
     NULL},
    {"v2-t-begin-t-end", READ, 1, "ends before it begins", NULL},
    {"v2-location-after-use-same-packet", READ, 1, "code without location",
     NULL},
    {"v2-location-inside-event-packet-before-use", READ, 1, NULL, NULL},
    {"v2-location-with-same-id-other-name", READ, 1, "another meaning", NULL},
    {"v2-code-0-as-hit-without-location", READ, 1, "code without location",
     NULL},
    {"v2-code-bit-63-only-vs-0", READ, 1, NULL, NULL},
    {"v2-code-bit-62-only", READ, 1, NULL, NULL},
    {"v2-packet-of-32708-bytes", READ, 2040, NULL, NULL},
    {"v2-packet-of-33028-bytes", DAMAGED, 0, NULL, "not in 66..32768"},
    {"v2-last-packet-cut-short", READ, 1, "cut short", NULL},
    {"v2-cut-inside-last-header", READ, 1, "cut short", NULL},
    {"v2-id-gap-between-packets", READ, 2, "are numbered from", NULL},
    {"v2-id-restarts", READ, 2, "are numbered from", NULL},
    {"v2-vint-254-with-0x80000001", READ, 1, NULL, NULL},
    {"v2-overlong-vint-253-for-3", READ, 1, NULL, NULL},
    {"v2-collect-delta-1", READ, 2, NULL, NULL},
    {"v2-collect-twice", READ, 3, NULL, NULL},
    {"v2-promote-of-a-major-object", READ, 2, NULL, NULL},
    {"v2-promote-after-collect", READ, 3, NULL, NULL},
    {"v2-version-4", DAMAGED, 0, NULL, "version of the format"},
    {"v2-info-v2-packets-v3", READ, 1, NULL, NULL},
    {"v2-unknown-event-5", DAMAGED, 0, NULL, "unknown code 5"},
    {"v2-unknown-event-117", DAMAGED, 0, NULL, "unknown code 117"},
    {"v2-nsamples-0", READ, 1, NULL, NULL},
    {"v2-empty-stack", READ, 1, NULL, NULL},
    {"v2-verifier-right", READ, 2, NULL, NULL},
    {"v2-verifier-ix-20000", READ, 1, "stack cache is not", NULL},
    {"v2-packet-size-4-bits-over", READ, 1, NULL, NULL},
    {"v2-nul-in-info", READ, 1, NULL, NULL},
    {"v2-rate-0", READ, 1, "sample rate is 0", NULL},
    {"v2-second-trace-info", DAMAGED, 0, NULL, "second trace begins"},
    {"v2-span-of-40-s-in-one-packet", READ, 1, NULL, NULL},
    {"v2-two-info-packets-back-to-back-concatenated-traces", DAMAGED, 1,
     "are numbered from", "second trace begins"},
    {"v3-empty-packet", READ, 1, NULL, NULL},
    {"v3-flush-duration-99", READ, 1, NULL, NULL},
    {"v3-event-after-t-end", READ, 1, "is outside its packet", NULL},
    {"v3-packet-begins-before-last-event", READ, 2, NULL, NULL},
    {"v3-t-begin-t-end", READ, 1, "ends before it begins", NULL},
    {"v3-missing-location", READ, 1, "code without location", NULL},
    {"v3-location-inside-event-packet-before-use", READ, 1, NULL, NULL},
    {"v3-location-with-same-id-repeated-equal", READ, 1, NULL, NULL},
    {"v3-code-0-as-hit-without-location", READ, 1, "code without location",
     NULL},
    {"v3-code-0-with-location", READ, 1, NULL, NULL},
    {"v3-code-bit-62-only", READ, 1, NULL, NULL},
    {"v3-two-codes-equal-in-63-bits", READ, 1, "another meaning", NULL},
    {"v3-packet-of-33028-bytes", DAMAGED, 0, NULL, "not in 68..32768"},
    {"v3-wrong-pid-packet-between", READ, 1, "of process 8", NULL},
    {"v3-cut-inside-last-header", READ, 1, "cut short", NULL},
    {"v3-trailing-zeros", READ, 1, "zeros instead", NULL},
    {"v3-id-restarts", READ, 2, NULL, NULL},
    {"v3-id-end-wrong", READ, 1, "ends with object", NULL},
    {"v3-overlong-vint-253-for-3", READ, 1, NULL, NULL},
    {"v3-promote-delta-1", READ, 2, "not yet allocated", NULL},
    {"v3-collect-twice", READ, 3, NULL, NULL},
    {"v3-promote-twice", READ, 3, NULL, NULL},
    {"v3-promote-after-collect", READ, 3, NULL, NULL},
    {"v3-collect-of-an-unknown-id", READ, 2, NULL, NULL},
    {"v3-info-v2-packets-v3", READ, 1, NULL, NULL},
    {"v3-source-3", DAMAGED, 0, NULL, "source 3"},
    {"v3-unknown-event-117", DAMAGED, 0, NULL, "unknown code 117"},
    {"v3-length-0-long-form", READ, 1, NULL, NULL},
    {"v3-empty-stack", READ, 1, NULL, NULL},
    {"v3-verifier-wrong", READ, 2, "stack cache is not", NULL},
    {"v3-verifier-ix-20000", READ, 1, "stack cache is not", NULL},
    {"v3-common-previous-stack", READ, 2, NULL, NULL},
    {"v3-nul-in-info", READ, 1, NULL, NULL},
    {"v3-word-size-8", READ, 1, NULL, NULL},
    {"v3-second-trace-info", DAMAGED, 0, NULL, "second trace begins"},
    {"v3-span-of-33-s-in-one-packet", READ, 1, NULL, NULL},
    {"v3-two-info-packets-back-to-back-concatenated-traces", DAMAGED, 1,
     "is outside its packet", "second trace begins"},
    {"v3-domain-65535", READ, 1, NULL, NULL},
    {"v3-cross-domain-collect-before-alloc-in-file", READ, 3, NULL, NULL},
};

struct seen {
    struct golden_bytes text;
    char warning[256];
};

static bool
take_text(void *arg, const char *text, size_t n)
{
    struct seen *s = arg;

    golden_append(&s->text, text, n);
    return true;
}

static void
take_warning(void *arg, uint64_t offset_bytes, const char *text)
{
    struct seen *s = arg;

    (void)offset_bytes;
    if (s->warning[0] == '\0')
        snprintf(s->warning, sizeof s->warning, "%s", text);
}

static void
part_check(const char *name, const char *text, const char *part)
{
    if (part == NULL ? text[0] != '\0' : strstr(text, part) == NULL)
        fail_msg("%s: \"%s\" instead of \"%s\"", name, text,
                 part == NULL ? "" : part);
}

static int
line_count(const struct golden_bytes *text)
{
    int n = 0;

    for (size_t i = 0; i < text->n; i++)
        n += text->bytes[i] == '\n';
    return n;
}

/* Column i, counted from 0, of the row of this name. */
static void
expected_get(const char *table, const char *name, int i, char *out, size_t n)
{
    char start[256];
    const char *at;

    snprintf(start, sizeof start, "\n%s\t", name);
    at = strstr(table, start);
    assert_non_null(at);
    for (at++; i > 0; i--) {
        at = strchr(at, '\t');
        assert_non_null(at);
        at++;
    }
    snprintf(out, n, "%.*s", (int)strcspn(at, "\t\n"), at);
}

static void
fault_check(const struct fault *f, const char *expected)
{
    struct golden_source source = {golden_trace(FAULTS, f->name), 0};
    struct seen seen = {0};
    struct golden_sha256 sha;
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event event;
    char hex[65], real[32];
    int got = -1;

    if (alqi_ctf_reader_open(golden_read, &source, take_warning, &seen,
                             &reader) == ALQ_OK)
        while ((got = alqi_ctf_reader_next(reader, &event)) > 0)
            alqi_ctf_dump_event(reader, &event, take_text, &seen);
    if ((got < 0) != (f->outcome == DAMAGED))
        fail_msg("%s: result %d", f->name, got);
    assert_int_equal(alqi_ctf_reader_next(reader, &event), got);
    part_check(f->name, alqi_ctf_reader_error(reader), f->error);
    part_check(f->name, seen.warning, f->warning);
    if (line_count(&seen.text) != f->n_lines)
        fail_msg("%s: %d lines", f->name, line_count(&seen.text));

    golden_sha256_init(&sha);
    golden_sha256_add(&sha, seen.text.bytes, seen.text.n);
    golden_sha256_end(&sha, hex);
    expected_get(expected, f->name, 5, real, sizeof real);
    if (strcmp(real, "0") == 0) {
        assert_int_equal(f->outcome, READ);
        expected_get(expected, f->name, 11, real, sizeof real);
        assert_memory_equal(hex, real, 16);
    }
    alqi_ctf_reader_drop(reader);
    free(source.data.bytes);
    free(seen.text.bytes);
}

static void
every_fault(void **state)
{
    struct golden_bytes expected = golden_load(FAULTS "/expected.tsv");
    int n_rows;

    (void)state;
    n_rows = line_count(&expected) - 1;
    golden_append(&expected, "", 1);
    for (size_t i = 0; i < ALQI_COUNT_OF(faults); i++)
        fault_check(&faults[i], (char *)expected.bytes);
    assert_int_equal(ALQI_COUNT_OF(faults), n_rows);
    free(expected.bytes);
}

/* Any prefix of a trace reads up to its last whole packet. */
static void
every_prefix(void **state)
{
    struct golden_bytes whole =
        golden_trace(GOLDEN_DIR "/traces", "synth-bytes.v2");
    int n_ended = 0;

    (void)state;
    for (size_t n = 0; n <= whole.n; n++) {
        struct golden_source source = {whole, 0};
        struct alqi_ctf_reader *reader;
        struct alqi_ctf_event event;
        enum alq_status status;
        int got;

        source.data.n = n;
        status =
            alqi_ctf_reader_open(golden_read, &source, NULL, NULL, &reader);
        if (status == ALQ_OK) {
            while ((got = alqi_ctf_reader_next(reader, &event)) > 0)
                ;
            assert_int_equal(got, 0);
            assert_true(alqi_ctf_reader_offset_bytes(reader) <= n);
            n_ended++;
        } else {
            assert_int_equal(status, ALQ_EFORMAT);
            assert_true(n < 122); /* the first packet's bytes */
            assert_string_not_equal(alqi_ctf_reader_error(reader), "");
        }
        alqi_ctf_reader_drop(reader);
    }
    assert_int_equal(n_ended, whole.n - 122 + 1);
    free(whole.bytes);
}

static ptrdiff_t
no_input(void *arg, void *bytes, size_t n)
{
    (void)arg;
    (void)bytes;
    (void)n;
    return -1;
}

static void
unreadable_input(void **state)
{
    struct alqi_ctf_reader *reader;

    (void)state;
    assert_int_equal(alqi_ctf_reader_open(no_input, NULL, NULL, NULL, &reader),
                     ALQ_EIO);
    assert_non_null(strstr(alqi_ctf_reader_error(reader), "cannot be read"));
    alqi_ctf_reader_drop(reader);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault),
        cmocka_unit_test(every_prefix),
        cmocka_unit_test(unreadable_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
