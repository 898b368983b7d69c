/* trace_test.c -- what is in a trace, against what was played
 *
 * Numbers in brackets are sections of spec memtrace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace_play.h"

/* ---- the file against what was played ----------------------------------- */

struct model {
    struct read_event *events;
    uintptr_t *leaves;
    size_t n;
    struct alq_trace_counts counts;
};

static struct read_event *
model_add(struct model *m, enum alqi_ctf_kind kind, const struct block *b)
{
    struct read_event *e = &m->events[m->n++];

    *e = (struct read_event){.kind = kind, .id = (uint64_t)(b - blocks)};
    return e;
}

static void
step_alloc(struct model *m)
{
    static const enum alq_source sources[] = {
        ALQ_SOURCE_NORMAL, ALQ_SOURCE_NORMAL, ALQ_SOURCE_MARSHAL,
        ALQ_SOURCE_CUSTOM};
    uintptr_t frames[FRAMES_MAX];
    size_t n = random_stack(frames);
    enum alq_source source = sources[rnd(4)];
    bool is_minor = rnd(3) > 0;
    uint64_t words = rnd(4) > 0 ? 1 + rnd(16) : rnd(100000);
    uint64_t n_samples = rnd(4) > 0 ? 1 : 1 + rnd(50);
    struct read_event *e = model_add(m, ALQI_CTF_ALLOC, &blocks[n_blocks]);

    e->length = (int64_t)words;
    e->n_samples = (int64_t)n_samples;
    e->source = source == ALQ_SOURCE_CUSTOM ? ALQI_CTF_EXTERNAL
                : is_minor                  ? ALQI_CTF_MINOR
                                            : ALQI_CTF_MAJOR;
    e->thread = (int64_t)self - 1;
    e->n_codes = n > 0 ? (uint32_t)n : 1;
    m->leaves[m->n - 1] = n > 0 ? frames[0] : 0;
    m->counts.allocations++;
    m->counts.n_samples += n_samples;
    assert_int_equal(play_alloc(is_minor, source, words, n_samples, frames, n),
                     ALQ_TRACK_KEEP);
}

static void
step_later(struct model *m)
{
    struct block *b = &blocks[rnd(n_blocks)];
    const struct read_event *born;

    if (!b->is_live)
        return;
    for (born = m->events;
         born->kind != ALQI_CTF_ALLOC || born->id != (uint64_t)(b - blocks);
         born++)
        continue;
    if (b->is_minor && rnd(2) == 0) {
        if (born->source == ALQI_CTF_MINOR) {
            m->counts.promotions++;
            model_add(m, ALQI_CTF_PROMOTE, b);
        }
        play_promote(b);
    } else {
        m->counts.collections++;
        model_add(m, ALQI_CTF_COLLECT, b);
        play_collect(b);
    }
}

static void
play(struct model *m, unsigned n_steps, unsigned n_domains)
{
    memset(m, 0, sizeof *m);
    m->events = calloc(n_steps, sizeof *m->events);
    m->leaves = calloc(n_steps, sizeof *m->leaves);
    assert_true(m->events != NULL && m->leaves != NULL);
    step_alloc(m); /* the first domain is the first */
    for (unsigned i = 1; i < n_steps; i++) {
        if (i < n_domains)
            self = i + 1;
        else
            self = 1 + rnd(n_domains);
        if (i < n_domains || rnd(2) == 0)
            step_alloc(m);
        else
            step_later(m);
    }
    self = 1;
}

static void
model_drop(struct model *m)
{
    free(m->events);
    free(m->leaves);
}

static void
compare_one(const struct read_trace *t, const struct read_event *got,
            const struct read_event *want, uintptr_t leaf)
{
    char name[32];

    assert_int_equal(got->kind, want->kind);
    if (want->kind != ALQI_CTF_ALLOC)
        return;
    assert_true(got->length == want->length);
    assert_true(got->n_samples == want->n_samples);
    assert_int_equal(got->source, want->source);
    assert_int_equal(got->n_codes, want->n_codes);
    assert_true(got->thread == want->thread);
    name_of(leaf, name);
    assert_string_equal(read_name(t, got->leaf),
                        leaf != 0 ? name : "[no stack]");
    if (leaf != 0) {
        assert_string_equal(read_entry(t, got->leaf)->file, "program.scm");
        assert_int_equal(read_entry(t, got->leaf)->line, leaf % 1000);
    }
}

static void
the_file_has_what_happened(void **state)
{
    const char *path = path_of("all");
    struct alq_trace_counts counts;
    struct read_trace t;
    struct model m;
    struct stat st;

    (void)state;
    source_set(describe);
    begin(path, 0);
    play(&m, 20000, 3);
    assert_int_equal(alq_trace_stop(&counts), ALQ_OK);
    assert_int_equal(n_running, 0);
    assert_null(listener);
    assert_true(counts.dropped == 0);
    assert_int_equal(stat(path, &st), 0);
    assert_true(counts.bytes == (uint64_t)st.st_size);

    read_trace(&t, path, false);
    assert_int_equal(t.version, 2);
    assert_int_equal(t.word_bits, 64);
    assert_true(t.rate == 0.01);
    assert_int_equal(t.pid, getpid());
    assert_non_null(strstr(t.context, " played"));
    assert_non_null(strstr(t.executable, "trace"));
    assert_true(t.n_events == m.n);
    for (size_t i = 0; i < m.n; i++) {
        assert_true(t.events[i].id == m.events[i].id);
        compare_one(&t, &t.events[i], &m.events[i], m.leaves[i]);
    }
    compare_counts(&t, &m.counts);
    compare_counts(&t, &counts);
    assert_true(m.counts.promotions > 100 && m.counts.collections > 1000);
    assert_non_null(read_text(&t, "thread index=2 "));
    assert_non_null(strstr(read_text(&t, "thread index=2 "), "domain%203"));
    assert_non_null(read_text(&t, "cmdline arg0="));
    assert_true(read_number(read_text(&t, "end"), "samples") ==
                m.counts.allocations);
    assert_true(read_number(read_text(&t, "end"), "dropped_cap") == 11);
    read_drop(&t);
    model_drop(&m);
}

/* Each domain's events are a stream, in their order; ids tell which. */
static void
each_domain_may_have_a_stream(void **state)
{
    enum { DOMAINS = 5 };
    static uint64_t id_of[BLOCKS_MAX]; /* in the file, by block */
    const char *path = path_of("streams");
    size_t at[DOMAINS] = {0}, k;
    struct alq_trace_counts counts;
    struct read_trace t;
    struct model m;

    (void)state;
    source_set(describe);
    begin(path, 3);
    play(&m, 20000, DOMAINS);
    assert_int_equal(alq_trace_stop(&counts), ALQ_OK);
    read_trace(&t, path, false);
    assert_int_equal(t.version, 3);
    assert_true(t.n_events == m.n);
    compare_counts(&t, &counts);
    for (size_t i = 0; i < m.n; i++) {
        const struct read_event *want = &m.events[i];
        unsigned d = 0;

        if (want->kind == ALQI_CTF_ALLOC)
            d = (unsigned)want->thread;
        else
            for (k = 0; k < i; k++)
                if (m.events[k].kind == ALQI_CTF_ALLOC &&
                    m.events[k].id == want->id) {
                    d = (unsigned)m.events[k].thread;
                    break;
                }
        while (t.events[at[d]].domain != d)
            at[d]++;
        assert_true(at[d] < t.n_events);
        if (want->kind == ALQI_CTF_ALLOC)
            id_of[want->id] = t.events[at[d]].id;
        assert_true(t.events[at[d]].id == id_of[want->id]);
        compare_one(&t, &t.events[at[d]], want, m.leaves[i]);
        at[d]++;
        if (i > 2000)
            break; /* the rest is alike, and the search above is slow */
    }
    read_drop(&t);
    model_drop(&m);
}

/* ---- names -------------------------------------------------------------- */

static char long_name[6000];

static size_t
describe_badly(void *arg, uintptr_t frame, struct alq_location *out, size_t max)
{
    (void)arg;
    memset(out, 0, max * sizeof *out);
    switch (frame % 8) {
    case 0:
        return 0;
    case 1:
        return 1; /* nothing is known */
    case 2:
        out[0] = (struct alq_location){long_name, long_name, UINT32_MAX,
                                       UINT32_MAX, UINT32_MAX};
        return 1;
    case 3:
        for (size_t i = 0; i < max; i++)
            out[i] = out[i > 0 ? 1 : 0] =
                (struct alq_location){long_name, "f", 1, 1, 1};
        return SIZE_MAX; /* more than there is room for */
    case 4:
        out[0] = (struct alq_location){"", "", 0, 0, 0};
        return 1;
    case 5:
        out[0] =
            (struct alq_location){"a\nb\x1b[2J%s%n\xff\xfe", "\t", 1, 9, 2};
        return 1;
    default:
        out[0] = (struct alq_location){"same", "same", 1, 1, 1};
        return 1;
    }
}

static void
names_may_be_anything(void **state)
{
    static const uintptr_t odd[] = {0,
                                    1,
                                    2,
                                    3,
                                    4,
                                    5,
                                    6,
                                    7,
                                    UINTPTR_MAX,
                                    UINTPTR_MAX - 5,
                                    (uintptr_t)1 << 63,
                                    (uintptr_t)0x2A << 58,
                                    (uintptr_t)0x2A << 58 | 2,
                                    (uintptr_t)1 << 60,
                                    (uintptr_t)1 << 61,
                                    10,
                                    18,
                                    11,
                                    19};
    const char *path = path_of("names");
    struct read_trace t;
    const char *name;

    (void)state;
    for (size_t i = 0; i + 1 < sizeof long_name; i += 2)
        memcpy(long_name + i, "\xC3\xA9", 2);
    memcpy(long_name, "first", 5);
    memcpy(long_name + sizeof long_name - 6, "last", 5);
    source_set(describe_badly);
    begin(path, 0);
    for (size_t i = 0; i < ALQI_COUNT_OF(odd); i++)
        play_alloc(true, ALQ_SOURCE_NORMAL, 1, 1, &odd[i], 1);
    play_alloc(true, ALQ_SOURCE_NORMAL, 1, 1, odd, ALQI_COUNT_OF(odd));
    assert_int_equal(alq_trace_stop(NULL), ALQ_OK);
    read_trace(&t, path, false);
    assert_int_equal(t.n_allocs, ALQI_COUNT_OF(odd) + 1);
    for (size_t i = 0; i < ALQI_COUNT_OF(odd); i++)
        for (size_t k = 0; k < i; k++) /* each word a code of its own */
            assert_true(t.events[i].leaf != t.events[k].leaf);
    assert_string_equal(read_name(&t, t.events[0].leaf), "[unknown]+0x0");
    assert_string_equal(read_name(&t, t.events[1].leaf), "[unknown]");
    name = read_name(&t, t.events[2].leaf);
    assert_in_range(strlen(name), 900, 1000);
    assert_memory_equal(name, "first", 5);
    assert_string_equal(name + strlen(name) - 4, "last");
    assert_non_null(strstr(name, "..."));
    for (size_t i = 0; name[i] != '\0'; i++) /* no character is cut */
        if ((unsigned char)name[i] == 0xC3)
            assert_int_equal((unsigned char)name[i + 1], 0xA9);
    assert_int_equal(read_entry(&t, t.events[2].leaf)->line, 1048575);
    assert_string_equal(read_name(&t, t.events[5].leaf),
                        "a\nb\x1b[2J%s%n\xff\xfe");
    read_drop(&t);
}

static __attribute__((noinline)) void
a_static_function(void)
{
    __asm__ volatile("" ::: "memory");
}

static void
native_frames_have_functions(void **state)
{
    uintptr_t frames[] = {(uintptr_t)&a_static_function + 1,
                          (uintptr_t)&fopen + 1, 0x10, (uintptr_t)&frames,
                          UINTPTR_MAX};
    const char *path = path_of("native"), *module;
    char value[4096];
    struct read_trace t;

    (void)state;
    source_set(NULL);
    begin(path, 0);
    for (size_t i = 0; i < ALQI_COUNT_OF(frames); i++)
        play_alloc(true, ALQ_SOURCE_NORMAL, 1, 1, &frames[i], 1);
    assert_int_equal(alq_trace_stop(NULL), ALQ_OK);
    read_trace(&t, path, false);
    assert_string_equal(read_name(&t, t.events[0].leaf), "a_static_function");
    assert_true(t.events[0].leaf == frames[0]); /* the code is the address */
    assert_non_null(strstr(read_name(&t, t.events[1].leaf), "fopen"));
    assert_string_equal(read_name(&t, t.events[2].leaf), "[unknown]+0x10");
    module = read_text(&t, "module ");
    assert_non_null(module);
    assert_true(realpath("/proc/self/exe", value) != NULL);
    assert_non_null(strstr(module, value));
    read_drop(&t);
    source_set(describe);
}

/* ---- marks -------------------------------------------------------------- */

/* Which mark of a trace is text number i of it; 0: none. */
static unsigned
mark_of(const struct read_trace *t, size_t i)
{
    return strncmp(t->texts[i], "mark name=", 10) == 0
               ? (unsigned)atoi(t->texts[i] + 10)
               : 0;
}

/* marks.md .inv.apart: of the blocks, which have the numbers of the phase that
 * they are of as their lengths, those before a mark have earlier times. */
static void
marks_are_apart(const struct read_trace *t, unsigned n_marks)
{
    unsigned n = 0;

    for (size_t i = 0; i < t->n_texts; i++) {
        unsigned mark = mark_of(t, i);

        if (mark == 0)
            continue;
        assert_int_equal(mark, ++n);
        for (size_t k = 0; k < t->n_events; k++)
            assert_int_equal(t->events[k].time_us >= t->texts_us[i],
                             t->events[k].length > mark);
    }
    assert_int_equal(n, n_marks);
}

static void
marks_lie_between_what_happened(void **state)
{
    enum { MARKS = 50 };
    const char *path = path_of("marks");

    (void)state;
    assert_int_equal(alq_trace_mark("early"), ALQ_ENOTRUN);
    assert_int_equal(alq_trace_mark(""), ALQ_EINVAL);
    assert_int_equal(alq_trace_mark(NULL), ALQ_EINVAL);
    source_set(describe);
    for (unsigned format = 2; format <= 3; format++) {
        const uintptr_t frame = 0x5000;
        struct read_trace t;
        char name[16];

        begin(path, format);
        for (unsigned phase = 1; phase <= MARKS + 1; phase++) {
            for (self = 1; self <= 3; self++)
                play_alloc(true, ALQ_SOURCE_NORMAL, phase, 1, &frame, 1);
            self = 1;
            snprintf(name, sizeof name, "%u", phase);
            if (phase <= MARKS)
                alq_mark(name);
        }
        assert_int_equal(alq_trace_stop(NULL), ALQ_OK);
        read_trace(&t, path, false);
        assert_true(t.n_events == 3 * (MARKS + 1));
        marks_are_apart(&t, MARKS);
        assert_true(read_number(read_text(&t, "end"), "dropped_marks") == 0);
        read_drop(&t);
    }
}

static void
marks_are_so_many(void **state)
{
    const char *path = path_of("marks");
    struct read_trace t;

    (void)state;
    begin(path, 0);
    for (unsigned i = 0; i < 4096 - 100; i++)
        assert_int_equal(alq_trace_mark("m"), ALQ_OK);
    for (unsigned i = 0; i < 107; i++)
        assert_int_equal(alq_trace_mark("m"), i < 100 ? ALQ_OK : ALQ_ETOOBIG);
    assert_int_equal(alq_trace_stop(NULL), ALQ_OK);
    read_trace(&t, path, false);
    assert_true(read_number(read_text(&t, "end"), "dropped_marks") == 7);
    read_drop(&t);
}

/* ---- depth -------------------------------------------------------------- */

static void
stacks_may_be_deep(void **state)
{
    enum { DEEP = 200000, DISTINCT = 30000 };
    const char *path = path_of("deep");
    uintptr_t *frames = malloc(DEEP * sizeof *frames);
    struct read_trace t;

    (void)state;
    assert_non_null(frames);
    source_set(describe);
    begin(path, 0);
    for (size_t i = 0; i < DEEP; i++)
        frames[i] = 0x5000 + i % 7;
    play_alloc(true, ALQ_SOURCE_NORMAL, 1, 1, frames, DEEP);
    frames[0]++;
    play_alloc(true, ALQ_SOURCE_NORMAL, 1, 1, frames, DEEP);
    for (size_t i = 0; i < DISTINCT; i++)
        frames[i] = 0x100000 + i * 8;
    play_alloc(true, ALQ_SOURCE_NORMAL, 1, 1, frames, DISTINCT);
    play_one();
    assert_int_equal(alq_trace_stop(NULL), ALQ_OK);
    read_trace(&t, path, false);
    assert_int_equal(t.events[0].n_codes, DEEP);
    assert_int_equal(t.events[1].n_codes, DEEP);
    assert_string_equal(read_name(&t, t.events[1].leaf), "function 5001");
    assert_true(t.events[2].n_codes >= 400); /* [8]: cut at 4 KiB of words */
    assert_int_equal(t.events[3].n_codes, 4);
    read_drop(&t);
    free(frames);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_lie_between_what_happened),
        cmocka_unit_test(marks_are_so_many),
        cmocka_unit_test(the_file_has_what_happened),
        cmocka_unit_test(each_domain_may_have_a_stream),
        cmocka_unit_test(names_may_be_anything),
        cmocka_unit_test(native_frames_have_functions),
        cmocka_unit_test(stacks_may_be_deep),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
