/* ctf_babeltrace_test.c -- babeltrace2 reads traces by the metadata we ship
 *
 * A second opinion on the layout: every event of golden traces, and of traces
 * from our writer with side records, shows up under its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/base.h"
#include "kits/wire/golden.h"
#include "wire/side.h"
#include "base/skip.h"

struct names {
    unsigned long n_infos;
    unsigned long n_kinds[4]; /* by enum alqi_ctf_kind */
};

static bool
is_missing(void)
{
    if (system("command -v babeltrace2 >/dev/null 2>&1") == 0)
        return false;
    return true;
}

static void
file_put(const char *path, const struct golden_bytes *bytes)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes->bytes, 1, bytes->n, f), bytes->n);
    assert_int_equal(fclose(f), 0);
}

static void
line_count(const char *line, struct names *names)
{
    static const char *const texts[] = {
        [ALQI_CTF_LOCATION] = ") location: ",
        [ALQI_CTF_ALLOC] = ") alloc",
        [ALQI_CTF_PROMOTE] = ") promote: ",
        [ALQI_CTF_COLLECT] = ") collect: ",
    };

    names->n_infos += strstr(line, ") trace_info: ") != NULL;
    for (size_t i = 0; i < ALQI_COUNT_OF(texts); i++)
        names->n_kinds[i] += strstr(line, texts[i]) != NULL;
}

/* What babeltrace2 sees in the trace; fails the test if it complains. */
static struct names
names_seen(const struct golden_bytes *trace, int version)
{
    char dir[] = "/tmp/alq-babeltrace-XXXXXX";
    char path[200], *line = NULL;
    size_t line_capacity = 0;
    struct golden_bytes metadata;
    struct names names = {0};
    FILE *f;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/trace", dir);
    file_put(path, trace);
    snprintf(path, sizeof path, METADATA_DIR "/memtrace-v%d.tsdl", version);
    metadata = golden_load(path);
    snprintf(path, sizeof path, "%s/metadata", dir);
    file_put(path, &metadata);
    free(metadata.bytes);

    snprintf(path, sizeof path, "babeltrace2 '%s'", dir);
    f = popen(path, "r");
    assert_non_null(f);
    while (getline(&line, &line_capacity, f) >= 0)
        line_count(line, &names);
    free(line);
    if (pclose(f) != 0)
        fail_msg("babeltrace2 failed");
    snprintf(path, sizeof path, "rm -r '%s'", dir);
    assert_int_equal(system(path), 0);
    return names;
}

static void
names_check(const char *name, const struct golden_bytes *trace, int version)
{
    struct names names = names_seen(trace, version);
    struct golden_source source = {*trace, 0};
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event event;
    unsigned long wanted[4] = {0};

    assert_int_equal(
        alqi_ctf_reader_open(golden_read, &source, NULL, NULL, &reader),
        ALQ_OK);
    while (alqi_ctf_reader_next(reader, &event) > 0)
        wanted[event.kind]++;
    alqi_ctf_reader_drop(reader);
    assert_int_equal(names.n_infos, 1);
    for (size_t i = 0; i < ALQI_COUNT_OF(wanted); i++)
        if (names.n_kinds[i] != wanted[i])
            fail_msg("%s: %lu events of kind %zu, not %lu", name,
                     names.n_kinds[i], i, wanted[i]);
    assert_true(wanted[ALQI_CTF_ALLOC] > 0);
}

static void
golden_traces(void **state)
{
    static const struct {
        const char *name;
        int version;
    } traces[] = {
        {"upstream-lists_and_sets.v1", 1},
        {"synth-bytes.v2", 2},
        {"synth-deep.v3", 3},
        {"extra-side-records.v2", 2},
        {"wordcount-1e-3.v2", 2},
        {"wordcount-1e-3.v3", 3},
        {"upstream-ocamlopt.v2", 2},
        {"upstream-ocamlopt.v3", 3},
    };

    (void)state;
    if (is_missing())
        ALQI_SKIP("no babeltrace2");
    for (size_t i = 0; i < ALQI_COUNT_OF(traces); i++) {
        struct golden_bytes trace =
            golden_trace(GOLDEN_DIR "/traces", traces[i].name);

        names_check(traces[i].name, &trace, traces[i].version);
        free(trace.bytes);
    }
}

/* ---- ours ------------------------------------------------------------ */

static bool
take_packet(void *arg, const void *bytes, size_t n)
{
    golden_append(arg, bytes, n);
    return true;
}

static void
look_up(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    static char function[32];
    static const struct alqi_ctf_entry entries[] = {
        {"outer.c", "outer", 10, 2, 30},
        {"inner.h", function, 2000000, -1, 5000},
    };

    (void)arg;
    snprintf(function, sizeof function, "f%llu", (unsigned long long)code);
    out->n_entries = code % 3;
    out->entries = entries + 2 - out->n_entries;
}

static void
ours_write(struct alqi_ctf_writer *w, uint64_t start_us)
{
    uint64_t codes[30], id;

    for (uint64_t i = 0; i < 3000; i++) {
        uint64_t time_us = start_us + i * 20000;
        char text[40];
        struct alqi_ctf_entry note = {.file = "aliquot", .function = text};
        struct alqi_ctf_location side = {
            .code = ALQI_SIDE_PREFIX | ALQI_SIDE_TEXT | i,
            .n_entries = 1,
            .entries = &note,
        };

        for (uint64_t k = 0; k < 30; k++)
            codes[k] = 2 + alqi_base_mix(i / (30 - k)) % 2000;
        assert_int_equal(alqi_ctf_write_alloc(w, time_us, i * i * i, 1 + i % 3,
                                              ALQI_CTF_EXTERNAL, codes,
                                              (uint32_t)(i % 31), &id),
                         ALQ_OK);
        if (i % 3 == 0)
            assert_int_equal(
                alqi_ctf_write_collect(w, time_us, i - i % 7 * i / 8), ALQ_OK);
        snprintf(text, sizeof text, "note i=%llu", (unsigned long long)i);
        if (i % 50 == 0)
            assert_int_equal(alqi_ctf_write_side(w, time_us, &side), ALQ_OK);
    }
}

static void
our_traces(void **state)
{
    (void)state;
    if (is_missing())
        ALQI_SKIP("no babeltrace2");
    for (uint16_t version = 2; version <= 3; version++) {
        struct alqi_ctf_info info = {
            .version = version,
            .word_bits = 8,
            .rate = 1e-5,
            .start_us = 1700000000000000,
            .pid = 4242,
            .executable = "/bin/prog",
            .host = "host",
            .params = "rate=1e-5",
            .context = "aliquot=1",
        };
        struct golden_bytes trace = {0};
        struct alqi_ctf_writer *w;

        assert_int_equal(
            alqi_ctf_writer_open(&info, take_packet, &trace, look_up, NULL, &w),
            ALQ_OK);
        ours_write(w, info.start_us);
        assert_int_equal(alqi_ctf_writer_close(w), ALQ_OK);
        names_check("ours", &trace, version);
        free(trace.bytes);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_traces),
        cmocka_unit_test(our_traces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
