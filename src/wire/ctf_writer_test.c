/* ctf_writer_test.c -- golden traces re-encode to their own bytes; and the
 * rules that keep real readers from refusing what we write */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "wire/ctf_stacks.h"
#include "kits/wire/golden.h"
#include "wire/ctf_packet.h"
#include "wire/side.h"
#include "wire/ctf_verbatim.h"

static bool
take_packet(void *arg, const void *bytes, size_t n)
{
    assert_true(n <= ALQI_CTF_PACKET_BYTES_MAX);
    golden_append(arg, bytes, n);
    return true;
}

static void
no_warning(void *arg, uint64_t offset_bytes, const char *text)
{
    (void)arg;
    fail_msg("warning at byte %llu: %s", (unsigned long long)offset_bytes,
             text);
}

static struct alqi_ctf_reader *
open_source(struct golden_source *source)
{
    struct alqi_ctf_reader *reader;

    assert_int_equal(
        alqi_ctf_reader_open(golden_read, source, no_warning, NULL, &reader),
        ALQ_OK);
    return reader;
}

/* ---- re-encoding ----------------------------------------------------- */

struct copy_lookup {
    const struct alqi_ctf_reader *reader;
    unsigned long n_calls;
};

static void
look_up(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    struct copy_lookup *l = arg;
    const struct alqi_ctf_location *found =
        alqi_ctf_reader_location(l->reader, code);

    assert_non_null(found);
    *out = *found;
    l->n_calls++;
}

/* Turns the writer's last stack into the event's, code by code. */
static uint64_t
copy_in_place(struct alqi_ctf_writer *w, const struct alqi_ctf_event *e)
{
    uint32_t n_last, n_same = 0;
    uint64_t *codes = alqi_ctf_writer_stack(w, e->n_codes, &n_last);
    uint64_t id;

    assert_non_null(codes);
    while (n_same < n_last && n_same < e->n_codes &&
           codes[n_same] == e->codes[n_same])
        n_same++;
    for (uint32_t i = n_same; i < e->n_codes; i++)
        codes[i] = e->codes[i];
    assert_int_equal(
        alqi_ctf_write_alloc_in_place(w, e->time_us, (uint64_t)e->length,
                                      (uint64_t)e->n_samples, e->source,
                                      e->n_codes, n_same, &id),
        ALQ_OK);
    return id;
}

/* in_place_every: of so many allocations one goes the other way; 0: none. */
static void
copy_event(struct alqi_ctf_writer *w, const struct alqi_ctf_event *e,
           unsigned in_place_every)
{
    uint64_t id;

    switch (e->kind) {
    case ALQI_CTF_LOCATION:
        break;
    case ALQI_CTF_ALLOC:
        if (in_place_every > 0 && e->id % in_place_every == 0 &&
            e->n_codes > 0 && e->n_samples > 0)
            id = copy_in_place(w, e);
        else
            assert_int_equal(alqi_ctf_write_alloc_verbatim(
                                 w, e->time_us, (uint64_t)e->length,
                                 (uint64_t)e->n_samples, e->source, e->codes,
                                 e->n_codes, &id),
                             ALQ_OK);
        assert_true(id == e->id);
        break;
    case ALQI_CTF_PROMOTE:
        assert_int_equal(alqi_ctf_write_promote(w, e->time_us, e->id), ALQ_OK);
        break;
    case ALQI_CTF_COLLECT:
        assert_int_equal(alqi_ctf_write_collect(w, e->time_us, e->id), ALQ_OK);
        break;
    }
}

static void
recode(const char *name, unsigned in_place_every)
{
    struct golden_source source = {golden_trace(GOLDEN_DIR "/traces", name), 0};
    struct golden_bytes copy = {0};
    struct alqi_ctf_reader *reader = open_source(&source);
    struct copy_lookup lookup = {.reader = reader};
    struct alqi_ctf_writer *w;
    struct alqi_ctf_event event;
    unsigned long n_codes = 0;
    size_t same = 0;

    assert_int_equal(alqi_ctf_writer_open(alqi_ctf_reader_info(reader),
                                          take_packet, &copy, look_up, &lookup,
                                          &w),
                     ALQ_OK);
    while (alqi_ctf_reader_next(reader, &event) > 0) {
        copy_event(w, &event, in_place_every);
        n_codes += event.kind == ALQI_CTF_LOCATION;
    }
    assert_string_equal(alqi_ctf_reader_error(reader), "");
    assert_int_equal(alqi_ctf_writer_close(w), ALQ_OK);
    assert_true(lookup.n_calls > 0 && lookup.n_calls <= n_codes);
    while (same < copy.n && same < source.data.n &&
           copy.bytes[same] == source.data.bytes[same])
        same++;
    if (copy.n != source.data.n || same != copy.n)
        fail_msg("%s: %zu bytes for %zu, the first difference at %zu", name,
                 copy.n, source.data.n, same);
    alqi_ctf_reader_drop(reader);
    free(source.data.bytes);
    free(copy.bytes);
}

static void
golden_recoded(void **state)
{
    static const char *const names[] = {
        "bigarr-1e-2.v2",    "bigarr-1e-2.v3",       "bintree-1e-3.v2",
        "bintree-1e-3.v3",   "bintree-1e-4.v2",      "bintree-1e-4.v3",
        "deepexn-1e-2.v2",   "deepexn-1e-2.v3",      "leakcache-1e-3.v2",
        "leakcache-1e-3.v3", "synth-bytes.v2",       "synth-bytes.v3",
        "synth-edges.v2",    "synth-edges.v3",       "synth-evict.v2",
        "synth-evict.v3",    "upstream-ocamlopt.v2", "upstream-ocamlopt.v3",
        "wordcount-1e-3.v2", "wordcount-1e-3.v3",
    };

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(names); i++)
        for (unsigned every = 0; every < 4; every++)
            recode(names[i], every);
}

/* ---- cut stacks ------------------------------------------------------ */

/* synth-deep holds stacks that were cut, so its events do not tell what was
 * written; but it is a known sequence of stacks over 5000 codes. */
enum { DEEP_CODES = 5000, DEEP_PRIME = 37 };

static uint64_t
deep_code(uint32_t i)
{
    return 0x1000 + i * 16;
}

static void
deep_lookup(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    static char function[32];
    static struct alqi_ctf_entry entry = {.file = "deep.c",
                                          .function = function,
                                          .start_column = 0,
                                          .end_column = 1};
    uint32_t i = (uint32_t)(code - 0x1000) / 16;

    (void)arg;
    assert_true(i < DEEP_CODES);
    snprintf(function, sizeof function, "f%u", i / 10);
    entry.line = (int32_t)i + 1;
    out->n_entries = 1;
    out->entries = &entry;
}

static void
deep_stacks_are_cut(void **state)
{
    static const struct {
        bool is_zigzag;
        uint32_t n_frames;
        uint32_t n_more;
        uint32_t more[2];
    } stacks[] = {
        {false, 300, 0, {0}},  {false, 400, 0, {0}},  {false, 1000, 0, {0}},
        {false, 1200, 0, {0}}, {false, 1200, 1, {7}}, {false, 50, 0, {0}},
        {false, 1200, 0, {0}}, {true, 3000, 0, {0}},  {true, 3000, 2, {1, 2}},
        {false, 20, 0, {0}},   {true, 2500, 0, {0}},  {false, 3, 0, {0}},
    };
    struct golden_source source = {
        golden_trace(GOLDEN_DIR "/traces", "synth-deep.v2"), 0};
    struct alqi_ctf_reader *reader = open_source(&source);
    const struct alqi_ctf_info *info = alqi_ctf_reader_info(reader);
    struct golden_bytes copy = {0};
    struct alqi_ctf_writer *w;
    uint64_t codes[3002], id;

    (void)state;
    assert_int_equal(
        alqi_ctf_writer_open(info, take_packet, &copy, deep_lookup, NULL, &w),
        ALQ_OK);
    for (uint32_t i = 0; i < ALQI_COUNT_OF(stacks); i++) {
        uint32_t n = stacks[i].n_frames;

        for (uint32_t k = 0; k < n; k++)
            codes[k] = deep_code(
                stacks[i].is_zigzag ? k * DEEP_PRIME % (DEEP_CODES - 1) : k);
        for (uint32_t k = 0; k < stacks[i].n_more; k++)
            codes[n++] = deep_code(stacks[i].more[k]);
        assert_int_equal(alqi_ctf_write_alloc(w, info->start_us + 10 * (i + 1),
                                              2, 1, ALQI_CTF_MINOR, codes, n,
                                              &id),
                         ALQ_OK);
    }
    assert_int_equal(alqi_ctf_writer_close(w), ALQ_OK);
    assert_int_equal(copy.n, source.data.n);
    assert_memory_equal(copy.bytes, source.data.bytes, copy.n);
    alqi_ctf_reader_drop(reader);
    free(source.data.bytes);
    free(copy.bytes);
}

/* ---- our own traces -------------------------------------------------- */

static struct alqi_ctf_info
some_info(uint16_t version)
{
    return (struct alqi_ctf_info){
        .version = version,
        .word_bits = 8,
        .rate = 1e-5,
        .start_us = 1700000000000000,
        .pid = 4242,
        .executable = "prog",
        .host = "host",
        .params = "",
        .context = "",
    };
}

/* Names of a code that anybody can tell from the code. */
static void
plain_lookup(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    static struct alqi_ctf_entry entries[2];
    static char file[32];
    static char function[32];

    (void)arg;
    snprintf(file, sizeof file, "file%llu.c", (unsigned long long)code % 50);
    snprintf(function, sizeof function, "f%llu", (unsigned long long)code);
    entries[0] = (struct alqi_ctf_entry){"outer.c", "outer", 1, 2, 3};
    entries[1] = (struct alqi_ctf_entry){file, function, 7, 0, 0};
    out->n_entries = code % 3;
    out->entries = entries + 2 - out->n_entries;
}

static struct alqi_ctf_writer *
open_writer(struct golden_bytes *into, uint16_t version)
{
    struct alqi_ctf_info info = some_info(version);
    struct alqi_ctf_writer *w;

    assert_int_equal(
        alqi_ctf_writer_open(&info, take_packet, into, plain_lookup, NULL, &w),
        ALQ_OK);
    return w;
}

static void
check_location(const struct alqi_ctf_location *l, uint64_t code)
{
    struct alqi_ctf_location wanted;

    plain_lookup(NULL, code, &wanted);
    assert_non_null(l);
    assert_int_equal(l->n_entries, wanted.n_entries);
    for (uint32_t i = 0; i < l->n_entries; i++) {
        assert_string_equal(l->entries[i].file, wanted.entries[i].file);
        assert_string_equal(l->entries[i].function, wanted.entries[i].function);
        assert_int_equal(l->entries[i].line, wanted.entries[i].line);
    }
}

/* One run of random stacks with side records between them: what is read is
 * what was written, in order. */
enum { RUN_EVENTS = 20000, RUN_FRAMES_MAX = 40, RUN_CODES = 30000 };

struct run_event {
    uint64_t side; /* code of a side record; 0: an allocation */
    char text[40];
    uint64_t codes[RUN_FRAMES_MAX];
    uint32_t n_codes;
};

static void
run_fill(struct run_event *e, const struct run_event *last, uint32_t i)
{
    e->n_codes = last == NULL ? 0 : alqi_base_test_below(last->n_codes + 1);
    if (e->n_codes > 0)
        memcpy(e->codes, last->codes, e->n_codes * sizeof e->codes[0]);
    while (e->n_codes < 1 + alqi_base_test_below(RUN_FRAMES_MAX))
        e->codes[e->n_codes++] = 2 + alqi_base_test_below(RUN_CODES);
    e->text[0] = '\0';
    e->side = 0;
    if (alqi_base_test_below(20) == 0) {
        e->side = ALQI_SIDE_PREFIX | ALQI_SIDE_TEXT | i;
        snprintf(e->text, sizeof e->text, "note n=%u", i);
    } else if (alqi_base_test_below(20) == 0) {
        e->side = ALQI_SIDE_PREFIX | ALQI_SIDE_THREAD | alqi_base_test_below(9);
    }
}

static void
run_write(struct alqi_ctf_writer *w, const struct run_event *e, uint32_t i)
{
    struct alqi_ctf_entry entry = {.file = "side", .function = e->text};
    struct alqi_ctf_location location = {
        .code = e->side,
        .n_entries = e->text[0] != '\0',
        .entries = &entry,
    };
    uint64_t id;

    if (e->side != 0)
        assert_int_equal(
            alqi_ctf_write_side(w, some_info(2).start_us + i * 9, &location),
            ALQ_OK);
    else
        assert_int_equal(alqi_ctf_write_alloc(w, some_info(2).start_us + i * 9,
                                              i, 1, ALQI_CTF_EXTERNAL, e->codes,
                                              e->n_codes, &id),
                         ALQ_OK);
}

static void
run_check(const struct alqi_ctf_reader *reader, const struct alqi_ctf_event *e,
          const struct run_event *wanted)
{
    if (wanted->side != 0) {
        assert_int_equal(e->kind, ALQI_CTF_LOCATION);
        assert_true(e->location.code == wanted->side);
        assert_int_equal(e->location.n_entries, wanted->text[0] != '\0');
        if (e->location.n_entries > 0)
            assert_string_equal(e->location.entries[0].function, wanted->text);
        return;
    }
    assert_int_equal(e->kind, ALQI_CTF_ALLOC);
    assert_int_equal(e->n_codes, wanted->n_codes);
    assert_memory_equal(e->codes, wanted->codes, e->n_codes * sizeof(uint64_t));
    for (uint32_t k = 0; k < e->n_codes; k++)
        check_location(alqi_ctf_reader_location(reader, e->codes[k]),
                       e->codes[k]);
}

static void
run_once(uint16_t version)
{
    struct run_event *run = malloc(RUN_EVENTS * sizeof *run);
    struct golden_source source = {{0}, 0};
    struct alqi_ctf_writer *w = open_writer(&source.data, version);
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event event;
    uint32_t n_seen = 0;
    uint64_t last_us = 0;

    for (uint32_t i = 0; i < RUN_EVENTS; i++) {
        run_fill(&run[i], i > 0 ? &run[i - 1] : NULL, i);
        run_write(w, &run[i], i);
        if (alqi_base_test_below(500) == 0)
            assert_int_equal(alqi_ctf_writer_flush(w), ALQ_OK);
    }
    assert_int_equal(alqi_ctf_writer_close(w), ALQ_OK);
    reader = open_source(&source);
    while (alqi_ctf_reader_next(reader, &event) > 0) {
        assert_true(event.time_us >= last_us);
        last_us = event.time_us;
        if (event.kind == ALQI_CTF_LOCATION &&
            !alqi_side_is(event.location.code))
            continue;
        assert_true(event.time_us == some_info(2).start_us + n_seen * 9);
        run_check(reader, &event, &run[n_seen++]);
    }
    assert_string_equal(alqi_ctf_reader_error(reader), "");
    assert_int_equal(n_seen, RUN_EVENTS);
    alqi_ctf_reader_drop(reader);
    free(source.data.bytes);
    free(run);
}

static void
random_runs(void **state)
{
    (void)state;
    alqi_base_test_begin(1);
    run_once(2);
    run_once(3);
}

static void
late_times_are_clamped(void **state)
{
    struct golden_source source = {{0}, 0};
    struct alqi_ctf_writer *w = open_writer(&source.data, 2);
    uint64_t start = some_info(2).start_us;
    const uint64_t times[] = {start - 5, start + 10, start + 3, start + 10};
    const uint64_t wanted[] = {start, start + 10, start + 10, start + 10};
    const uint64_t code = 9;
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event event;
    uint64_t id;
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(times); i++)
        assert_int_equal(alqi_ctf_write_alloc(w, times[i], 1, 1,
                                              ALQI_CTF_EXTERNAL, &code, 1, &id),
                         ALQ_OK);
    assert_int_equal(alqi_ctf_writer_close(w), ALQ_OK);
    reader = open_source(&source);
    while (alqi_ctf_reader_next(reader, &event) > 0)
        if (event.kind == ALQI_CTF_ALLOC)
            assert_true(event.time_us == wanted[n++]);
    assert_int_equal(n, ALQI_COUNT_OF(wanted));
    alqi_ctf_reader_drop(reader);
    free(source.data.bytes);
}

static void
empty_stack_gets_a_frame(void **state)
{
    struct golden_source source = {{0}, 0};
    struct alqi_ctf_writer *w = open_writer(&source.data, 2);
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event event;
    uint64_t id;

    (void)state;
    assert_int_equal(
        alqi_ctf_write_alloc(w, 0, 1, 1, ALQI_CTF_MINOR, NULL, 0, &id), ALQ_OK);
    assert_int_equal(alqi_ctf_writer_close(w), ALQ_OK);
    reader = open_source(&source);
    assert_int_equal(alqi_ctf_reader_next(reader, &event), 1);
    assert_int_equal(event.kind, ALQI_CTF_LOCATION);
    assert_string_equal(event.location.entries[0].function, "[no stack]");
    assert_int_equal(alqi_ctf_reader_next(reader, &event), 1);
    assert_int_equal(event.n_codes, 1);
    assert_true(event.codes[0] == event.location.code || event.codes[0] == 1);
    assert_int_equal(alqi_ctf_reader_next(reader, &event), 0);
    alqi_ctf_reader_drop(reader);
    free(source.data.bytes);
}

static void
bad_arguments(void **state)
{
    struct golden_bytes into = {0};
    struct alqi_ctf_writer *w = open_writer(&into, 2);
    const uint64_t bad[] = {5, 0};
    const uint64_t bad63[] = {UINT64_C(1) << 63};
    struct alqi_ctf_info info = some_info(1);
    struct alqi_ctf_writer *none = NULL;
    char *long_text = malloc(40000);
    uint64_t id = 77;
    size_t n_before = into.n;

    (void)state;
    assert_int_equal(
        alqi_ctf_write_alloc(w, 0, 1, 1, ALQI_CTF_MINOR, bad, 2, &id),
        ALQ_EINVAL);
    assert_int_equal(
        alqi_ctf_write_alloc(w, 0, 1, 1, ALQI_CTF_MINOR, bad63, 1, &id),
        ALQ_EINVAL);
    assert_int_equal(
        alqi_ctf_write_alloc(w, 0, 1, 0, ALQI_CTF_MINOR, bad, 1, &id),
        ALQ_EINVAL);
    assert_int_equal(alqi_ctf_write_alloc(w, 0, UINT64_C(1) << 62, 1,
                                          ALQI_CTF_MINOR, bad, 1, &id),
                     ALQ_EINVAL);
    assert_int_equal(alqi_ctf_write_collect(w, 0, 0), ALQ_EINVAL);
    assert_int_equal(alqi_ctf_write_promote(w, 0, 0), ALQ_EINVAL);
    assert_true(id == 77);
    assert_int_equal(alqi_ctf_writer_close(w), ALQ_OK);
    assert_int_equal(into.n, n_before); /* no event, no packet */

    memset(long_text, 'x', 39999);
    long_text[39999] = '\0';
    assert_int_equal(alqi_ctf_writer_open(&info, take_packet, &into,
                                          plain_lookup, NULL, &none),
                     ALQ_EINVAL);
    info.version = 2;
    info.context = long_text;
    assert_int_equal(alqi_ctf_writer_open(&info, take_packet, &into,
                                          plain_lookup, NULL, &none),
                     ALQ_EINVAL);
    assert_null(none);
    free(long_text);
    free(into.bytes);
}

/* Refuses the k-th packet and all after it. */
struct refusal {
    int n_left;
    int n_after;
};

static bool
refuse(void *arg, const void *bytes, size_t n)
{
    struct refusal *r = arg;

    (void)bytes;
    (void)n;
    if (r->n_left-- > 0)
        return true;
    r->n_after++;
    return false;
}

static void
a_refused_packet_ends_the_trace(void **state)
{
    struct alqi_ctf_info info = some_info(2);
    int n_refused = 0;

    (void)state;
    for (int k = 0; k < 30; k++) {
        struct refusal r = {.n_left = k};
        enum alq_status status = ALQ_OK;
        struct alqi_ctf_writer *w = NULL;
        uint64_t id;

        if (alqi_ctf_writer_open(&info, refuse, &r, plain_lookup, NULL, &w) !=
            ALQ_OK) {
            assert_int_equal(k, 0);
            continue;
        }
        for (uint64_t i = 0; i < 30000 && status == ALQ_OK; i++)
            status = alqi_ctf_write_alloc(w, i, i, 1, ALQI_CTF_EXTERNAL,
                                          (uint64_t[]){2 + i % 40000}, 1, &id);
        n_refused += status == ALQ_EIO;
        if (status == ALQ_EIO)
            assert_int_equal(alqi_ctf_write_collect(w, 0, 0), ALQ_EIO);
        assert_int_equal(alqi_ctf_writer_close(w), status);
        assert_int_equal(r.n_after, status == ALQ_EIO);
    }
    assert_true(n_refused > 10);
}

/* The real writer's slots, from its description. */
static bool
announce_all(void *arg, uint64_t code)
{
    (void)arg;
    (void)code;
    return true;
}

static void
slots_of_known_codes(void **state)
{
    static const struct {
        uint64_t code;
        uint32_t h1, h2;
    } vectors[] = {
        {1, 4870, 126},
        {0x401000, 1606, 15797},
        {0x7f0000001000, 11846, 12115},
        {(UINT64_C(1) << 62) - 1, 11513, 16257},
        {(uint64_t)-5, 8413, 15749},
    };
    struct alqi_ctf_stack_writer *w = malloc(sizeof *w);

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(vectors); i++) {
        uint8_t bytes[16];
        struct alqi_wire_out out = {.at = bytes, .end = bytes + sizeof bytes};

        memset(w, 0, sizeof *w);
        assert_int_equal(alqi_ctf_stack_encode(w, &out, &vectors[i].code, 1, 3,
                                               announce_all, NULL),
                         1);
        assert_true(w->cache.slot[vectors[i].h2] == vectors[i].code);
        assert_int_equal(bytes[0] | bytes[1] << 8, vectors[i].h2 << 2 | 3);
        /* A younger h2 leaves h1 as the slot to take. */
        memset(w, 0, sizeof *w);
        w->date[vectors[i].h2] = 1;
        out.at = bytes;
        alqi_ctf_stack_encode(w, &out, &vectors[i].code, 1, 3, announce_all,
                              NULL);
        assert_true(w->cache.slot[vectors[i].h1] == vectors[i].code);
    }
    free(w);
}

/* Records of every length about the ceiling, as stack frames and aside. */
static void
long_names(void **state)
{
    struct golden_source source = {{0}, 0};
    struct alqi_ctf_writer *w = open_writer(&source.data, 2);
    char name[4200];
    struct alqi_ctf_entry entry = {.file = "", .function = name};
    struct alqi_ctf_location side = {.n_entries = 1, .entries = &entry};
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event event;
    int n_whole = 0;
    int n_unknown = 0;

    (void)state;
    memset(name, 'n', sizeof name);
    for (int n = 4199; n > 4000; n--) {
        name[n] = '\0';
        side.code = ALQI_SIDE_PREFIX | ALQI_SIDE_TEXT | (uint64_t)n;
        assert_int_equal(alqi_ctf_write_side(w, 0, &side), ALQ_OK);
    }
    assert_int_equal(alqi_ctf_writer_close(w), ALQ_OK);
    reader = open_source(&source);
    while (alqi_ctf_reader_next(reader, &event) > 0) {
        const char *got = event.location.entries[0].function;

        if (strcmp(got, "??") == 0) {
            n_unknown++;
        } else {
            assert_int_equal(strlen(got),
                             event.location.code & ALQI_SIDE_NUMBER_MASK);
            n_whole++;
        }
    }
    /* 9 + 6 + 1 + length + 1 <= 4096 */
    assert_int_equal(n_whole, 4079 - 4000);
    assert_int_equal(n_unknown, 4199 - 4079);
    alqi_ctf_reader_drop(reader);
    free(source.data.bytes);
}

/* ---- several streams --------------------------------------------------- */

enum { STREAMS = 3, STREAM_ALLOCS = 25000 };

static void
stream_place(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    static const struct alqi_ctf_entry entry = {"f.c", "f", 1, 0, 0};

    (void)arg;
    *out = (struct alqi_ctf_location){code, 1, &entry};
}

/* Blocks of all streams have different numbers, also where a stream has used
 * up its first ones; each is freed in the stream that made it. */
static void
streams_share_ids(void **state)
{
    static uint8_t is_used[STREAMS * STREAM_ALLOCS + 65536];
    struct alqi_ctf_info info = {.version = 3,
                                 .word_bits = 8,
                                 .rate = 0.01,
                                 .start_us = 1000,
                                 .pid = 7,
                                 .executable = "",
                                 .host = "",
                                 .params = "",
                                 .context = ""};
    struct golden_source bytes = {0};
    struct alqi_ctf_writer *w[STREAMS];
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event e;
    uint64_t next_id = 0, id, n_allocs = 0, n_frees = 0;

    (void)state;
    info.version = 2;
    assert_int_equal(alqi_ctf_writer_open_stream(&info, 0, &next_id,
                                                 take_packet, &bytes.data,
                                                 stream_place, NULL, &w[0]),
                     ALQ_EINVAL);
    info.version = 3;
    assert_int_equal(alqi_ctf_writer_open_stream(&info, 1, &next_id,
                                                 take_packet, &bytes.data,
                                                 stream_place, NULL, &w[0]),
                     ALQ_EINVAL);
    for (uint16_t s = 0; s < STREAMS; s++)
        assert_int_equal(alqi_ctf_writer_open_stream(&info, s, &next_id,
                                                     take_packet, &bytes.data,
                                                     stream_place, NULL, &w[s]),
                         ALQ_OK);
    for (uint64_t i = 0; i < STREAM_ALLOCS; i++)
        for (uint16_t s = 0; s < STREAMS; s++) {
            uint64_t code = 100 + s;

            assert_int_equal(alqi_ctf_write_alloc(w[s], 1000 + i, 8, 1,
                                                  ALQI_CTF_EXTERNAL, &code, 1,
                                                  &id),
                             ALQ_OK);
            assert_true(id < sizeof is_used && !is_used[id]);
            is_used[id] = (uint8_t)(s + 1);
            if (i % 3 == s)
                assert_int_equal(alqi_ctf_write_collect(w[s], 1000 + i, id),
                                 ALQ_OK);
        }
    for (uint16_t s = 0; s < STREAMS; s++)
        assert_int_equal(alqi_ctf_writer_close(w[s]), ALQ_OK);
    reader = open_source(&bytes);
    while (alqi_ctf_reader_next(reader, &e) > 0) {
        if (e.kind == ALQI_CTF_LOCATION)
            continue;
        assert_int_equal(is_used[e.id], e.domain + 1);
        if (e.kind == ALQI_CTF_ALLOC)
            assert_true(e.codes[0] == 100u + e.domain);
        n_allocs += e.kind == ALQI_CTF_ALLOC;
        n_frees += e.kind == ALQI_CTF_COLLECT;
    }
    assert_string_equal(alqi_ctf_reader_error(reader), "");
    assert_int_equal(n_allocs, STREAMS * STREAM_ALLOCS);
    assert_int_equal(n_frees, STREAM_ALLOCS);
    alqi_ctf_reader_drop(reader);
    free(bytes.data.bytes);
}

/* ---- moved blocks ----------------------------------------------------- */

enum { MOVES = 5 };

/* Object i is collected by the stream, then a record says that `moved` did. */
static void
move_write(struct alqi_ctf_writer *w, uint64_t i, uint64_t moved)
{
    struct alqi_ctf_location side = {.code = ALQI_SIDE_PREFIX |
                                             ALQI_SIDE_MOVED | moved};

    assert_int_equal(alqi_ctf_write_collect(w, 1000 + i, i), ALQ_OK);
    assert_int_equal(alqi_ctf_write_side(w, 1000 + i, &side), ALQ_OK);
}

static size_t
count_of(const struct golden_bytes *data, uint64_t code)
{
    size_t n = 0;

    for (size_t i = 0; i + sizeof code <= data->n; i++)
        n += memcmp(data->bytes + i, &code, sizeof code) == 0;
    return n;
}

/* What was collected last is named by no id in the file, by its id outside;
 * any other by its id; each stream has its own last.  REBORN is no id. */
static void
moved_blocks_need_no_id(void **state)
{
    const uint64_t moved[MOVES] = {0, 1, 0, 3, ALQI_SIDE_REBORN},
                   base = ALQI_SIDE_PREFIX;
    struct alqi_ctf_info info = {
        .version = 3, .word_bits = 8, .rate = 1, .start_us = 1000};
    struct golden_source bytes = {{0}, 0};
    struct alqi_ctf_writer *w[2];
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event e;
    uint64_t next_id = 0, id, n = 0;
    const uint64_t code = 9;

    (void)state;
    info.executable = info.host = info.params = info.context = "";
    for (uint16_t s = 0; s < 2; s++)
        assert_int_equal(alqi_ctf_writer_open_stream(&info, s, &next_id,
                                                     take_packet, &bytes.data,
                                                     stream_place, NULL, &w[s]),
                         ALQ_OK);
    for (uint32_t i = 0; i < MOVES; i++)
        assert_int_equal(alqi_ctf_write_alloc(w[0], 1000, 1, 1,
                                              ALQI_CTF_EXTERNAL, &code, 1, &id),
                         ALQ_OK);
    for (uint32_t i = 0; i < MOVES; i++) {
        move_write(w[i % 2], i, moved[i]);
        assert_int_equal(alqi_ctf_writer_flush(w[i % 2]), ALQ_OK);
    }
    for (uint16_t s = 0; s < 2; s++)
        assert_int_equal(alqi_ctf_writer_close(w[s]), ALQ_OK);
    assert_int_equal(count_of(&bytes.data, base | ALQI_SIDE_MOVED_LAST), 3);
    assert_int_equal(count_of(&bytes.data, base | ALQI_SIDE_MOVED), 1);
    assert_int_equal(
        count_of(&bytes.data, base | ALQI_SIDE_MOVED | ALQI_SIDE_REBORN), 1);
    reader = open_source(&bytes);
    while (alqi_ctf_reader_next(reader, &e) > 0)
        if (e.kind == ALQI_CTF_LOCATION && alqi_side_is(e.location.code))
            assert_true(e.location.code == (base | moved[n++]));
    assert_string_equal(alqi_ctf_reader_error(reader), "");
    assert_int_equal(n, MOVES);
    alqi_ctf_reader_drop(reader);
    free(bytes.data.bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_of_known_codes),
        cmocka_unit_test(golden_recoded),
        cmocka_unit_test(deep_stacks_are_cut),
        cmocka_unit_test(random_runs),
        cmocka_unit_test(late_times_are_clamped),
        cmocka_unit_test(empty_stack_gets_a_frame),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(a_refused_packet_ends_the_trace),
        cmocka_unit_test(long_names),
        cmocka_unit_test(streams_share_ids),
        cmocka_unit_test(moved_blocks_need_no_id),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
