/* ctf_dump_test.c -- every golden trace dumps to exactly the real tool's text
 *
 * The texts are compared byte for byte where they are kept, and by SHA-256
 * in any case (one has 558 MB and only its sum is kept). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "wire/ctf_dump.h"
#include "kits/wire/golden.h"

enum { TRACES = 26 };

struct sink {
    struct golden_sha256 sha;
    struct golden_bytes text; /* the first KEPT_BYTES */
};

enum { KEPT_BYTES = 64 << 20 };

static bool
take(void *arg, const char *text, size_t n)
{
    struct sink *s = arg;

    golden_sha256_add(&s->sha, text, n);
    if (s->text.n + n <= KEPT_BYTES)
        golden_append(&s->text, text, n);
    return true;
}

static void
on_warning(void *arg, uint64_t offset_bytes, const char *text)
{
    (void)arg;
    fail_msg("warning at byte %llu: %s", (unsigned long long)offset_bytes,
             text);
}

static void
dump_all(const char *name, struct sink *sink, unsigned long counts[4])
{
    struct golden_source source = {golden_trace(GOLDEN_DIR "/traces", name), 0};
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event event;
    int got;

    assert_int_equal(
        alqi_ctf_reader_open(golden_read, &source, on_warning, NULL, &reader),
        ALQ_OK);
    golden_append(&sink->text, "", 0);
    golden_sha256_init(&sink->sha);
    while ((got = alqi_ctf_reader_next(reader, &event)) > 0) {
        counts[event.kind]++;
        assert_true(alqi_ctf_dump_event(reader, &event, take, sink));
    }
    if (got < 0)
        fail_msg("%s: %s", name, alqi_ctf_reader_error(reader));
    assert_true(alqi_ctf_reader_offset_bytes(reader) == source.data.n);
    alqi_ctf_reader_drop(reader);
    free(source.data.bytes);
}

/* NAME.vN.dump.txt.xz, or NAME.dump.txt.xz for both versions. */
static bool
text_load(const char *name, struct golden_bytes *text)
{
    static const char dir[] = GOLDEN_DIR "/dumps";
    char path[4096];

    snprintf(path, sizeof path, "%s/%s.dump.txt.xz", dir, name);
    if (access(path, R_OK) != 0)
        snprintf(path, sizeof path, "%s/%.*s.dump.txt.xz", dir,
                 (int)strlen(name) - 3, name);
    if (access(path, R_OK) != 0)
        return false;
    *text = golden_load(path);
    return true;
}

static void
sum_check(const char *name, struct sink *sink, char *sums)
{
    char hex[65];
    char line[256];
    char *place;

    golden_sha256_end(&sink->sha, hex);
    snprintf(line, sizeof line, " %s.dump.txt\n", name);
    place = strstr(sums, line);
    if (place == NULL) {
        snprintf(line, sizeof line, " %.*s.dump.txt\n", (int)strlen(name) - 3,
                 name);
        place = strstr(sums, line);
    }
    assert_non_null(place);
    assert_true(place - sums >= 64);
    if (place[-1] == ' ')
        place--;
    assert_memory_equal(place - 64, hex, 64);
}

static void
golden_dumps(void **state)
{
    struct golden_bytes list = golden_load(GOLDEN_DIR "/counts.tsv");
    struct golden_bytes sums =
        golden_load(GOLDEN_DIR "/dumps/SHA256SUMS.uncompressed");
    char *rest;
    char *row;
    int n_traces = 0;
    int n_texts = 0;

    (void)state;
    golden_append(&list, "", 1);
    golden_append(&sums, "", 1);
    row = strtok_r((char *)list.bytes, "\n", &rest); /* column names */
    while ((row = strtok_r(NULL, "\n", &rest)) != NULL) {
        unsigned long n_bytes, a, p, c, l, n[4] = {0};
        struct sink sink = {0};
        struct golden_bytes text;
        char name[128];

        assert_int_equal(sscanf(row, "%127s %lu %lu %lu %lu %lu", name,
                                &n_bytes, &a, &p, &c, &l),
                         6);
        dump_all(name, &sink, n);
        assert_int_equal(n[ALQI_CTF_ALLOC], a);
        assert_int_equal(n[ALQI_CTF_PROMOTE], p);
        assert_int_equal(n[ALQI_CTF_COLLECT], c);
        assert_int_equal(n[ALQI_CTF_LOCATION], l);
        if (text_load(name, &text)) {
            assert_int_equal(text.n, sink.text.n);
            assert_memory_equal(text.bytes, sink.text.bytes, text.n);
            free(text.bytes);
            n_texts++;
        }
        sum_check(name, &sink, (char *)sums.bytes);
        free(sink.text.bytes);
        n_traces++;
    }
    assert_int_equal(n_traces, TRACES);
    assert_int_equal(n_texts, TRACES - 1);
    free(list.bytes);
    free(sums.bytes);
}

static void
sha256_of_known_texts(void **state)
{
    struct golden_sha256 s;
    char hex[65];

    (void)state;
    golden_sha256_init(&s);
    golden_sha256_end(&s, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb924"
                             "27ae41e4649b934ca495991b7852b855");
    golden_sha256_init(&s);
    golden_sha256_add(&s, "a", 1);
    golden_sha256_add(&s, "bc", 2);
    golden_sha256_end(&s, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223"
                             "b00361a396177a9cb410ff61f20015ad");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_of_known_texts),
        cmocka_unit_test(golden_dumps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
