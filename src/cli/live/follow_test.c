/* Files that grow while they are followed, against the same files read whole.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "cli/tool/cli.h"
#include "cli/live/follow.h"
#include "cli/analysis/view_index.h"
#include "cli/read/input.h"
#include "cli/tool/proc.h"
#include "view/answer.h"
#include "wire/raw.h"

enum { ENOUGH_US = 1 << 30, N_SUMS = 7 };

static uint64_t rng_state = 1;

static uint64_t
rng(void)
{
    return alqi_base_mix(rng_state++);
}

static const char *
file_name_of(pid_t pid)
{
    static char name[64];

    snprintf(name, sizeof name, "follow_test.%d", (int)pid);
    return name;
}

static const char *
file_name(void)
{
    return file_name_of(getpid());
}

/* ---- who writes ---------------------------------------------------------- */

/* A process that is there, and holds a lock on the file as tracers do. */
static pid_t
writer_start(void)
{
    int ends[2];
    pid_t pid;
    char c;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int fd = open(file_name_of(getppid()), O_RDWR | O_CREAT, 0600);

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (fcntl(fd, F_SETLK, &lock) == 0)
            (void)!write(ends[1], "x", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], &c, 1), 1);
    close(ends[0]);
    close(ends[1]);
    return pid;
}

static void
writer_end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ---- two ways to read ---------------------------------------------------- */

static void
assert_same_sum(const struct alqi_cli_sum *a, const struct alqi_cli_sum *b,
                bool has_samples)
{
    assert_true(a->bytes == b->bytes && a->bytes_var == b->bytes_var);
    assert_true(a->objects == b->objects && a->life_us == b->life_us);
    assert_true(a->n_blocks == b->n_blocks);
    if (has_samples)
        assert_true(a->n_samples == b->n_samples);
}

static void
assert_same(const struct alqi_cli_analysis *a,
            const struct alqi_cli_analysis *b, bool has_samples)
{
    assert_true(a->n_allocs == b->n_allocs && a->n_frees == b->n_frees);
    assert_true(a->n_promotes == b->n_promotes);
    assert_true(a->n_strange == b->n_strange);
    assert_true(a->most_bytes == b->most_bytes &&
                alqi_cli_peak_us(a) == alqi_cli_peak_us(b));
    assert_true(a->live_bytes == b->live_bytes);
    assert_true(a->moves.made.n_blocks == b->moves.made.n_blocks);
    assert_true(a->moves.n_links == b->moves.n_links);
    assert_true(a->moves.made.bytes == b->moves.made.bytes);
    assert_int_equal(a->n_sites, b->n_sites);
    for (int m = 0; m < ALQI_CLI_N_MEASURES; m++) {
        if (m == ALQI_CLI_TEMPORARY)
            continue; /* an option says what that is */
        assert_same_sum(&a->totals[m], &b->totals[m], has_samples);
        for (uint32_t i = 0; i < a->n_sites; i++)
            assert_same_sum(&a->sites[i].sums[m], &b->sites[i].sums[m],
                            has_samples);
    }
}

static void
warning_pass(void *arg, uint64_t offset_bytes, const char *text)
{
    (void)arg;
    (void)offset_bytes;
    (void)text;
}

/* Answers of the page that together have every column of an index. */
static const char *const questions[][2] = {
    {"timeline", "n=100"},      {"tree", "live=peak&min=0"},
    {"tree", "live=end&min=0"}, {"sites", "group=line"},
    {"functions", "freed=.."},  {"heat", ""},
    {"samples", "limit=1000"},  {"samples", "limit=1000&order=life"},
};

/* The answer, to be freed. */
static char *
answer_of(struct alqi_view_set *set, size_t question)
{
    struct alqi_view_json json = {0};
    char *text;

    assert_int_equal(alqi_view_answer(set, questions[question][0],
                                      questions[question][1], &json),
                     200);
    text = strndup(json.text, json.n);
    free(json.text);
    return text;
}

/* Whether a page over the file as it is followed answers as one over the whole
 * of it does. Function numbers are in the answers. */
static void
indexes_compare(struct alqi_cli_follow *f, struct alqi_cli_input *in)
{
    static const unsigned char key[ALQI_VIEW_KEY_BYTES];
    char *followed = NULL, *whole = NULL;
    size_t n_followed = 0, n_whole = 0;
    struct alqi_view_set *sets[] = {alqi_view_set_new(), alqi_view_set_new()};
    FILE *out = open_memstream(&whole, &n_whole);

    assert_null(alqi_cli_view_index_write(in, "", key, NULL, out));
    assert_null(alqi_cli_follow_index(f, &followed, &n_followed));
    assert_null(alqi_view_set_add(sets[0], whole, n_whole));
    assert_null(alqi_view_set_add(sets[1], followed, n_followed));
    for (size_t q = 0; q < ALQI_COUNT_OF(questions); q++) {
        char *expected = answer_of(sets[0], q), *got = answer_of(sets[1], q);

        assert_string_equal(got, expected);
        free(expected);
        free(got);
    }
    alqi_view_set_drop(sets[0]);
    alqi_view_set_drop(sets[1]);
    fclose(out);
    free(whole);
    free(followed);
}

/* The file as it is now, by one pass; then by the picture, twice; then their
 * indexes, which hold samples. */
static void
compare(struct alqi_cli_follow *f, bool has_samples)
{
    static const struct alqi_cli_analysis_options options;
    struct alqi_cli_analysis whole, picture;
    struct alqi_cli_input *in;

    assert_int_equal(alqi_cli_input_open(file_name(), warning_pass, NULL, &in),
                     -1);
    alqi_cli_analysis_run(&whole, in, &options);
    for (int i = 0; i < 2; i++) {
        alqi_cli_analysis_picture(alqi_cli_follow_analysis(f), &picture);
        assert_same(&whole, &picture, has_samples);
        alqi_cli_analysis_picture_free(&picture);
    }
    alqi_cli_analysis_free(&whole);
    alqi_cli_input_drop(in);
    assert_int_equal(alqi_cli_input_open(file_name(), warning_pass, NULL, &in),
                     -1);
    if (has_samples)
        indexes_compare(f, in);
    alqi_cli_input_drop(in);
}

/* ---- a trace that grows -------------------------------------------------- */

struct bytes {
    uint8_t *at;
    size_t n, capacity;
};

static bool
packet_put(void *arg, const void *bytes, size_t n)
{
    struct bytes *b = arg;

    if (b->n + n > b->capacity) {
        b->capacity = 2 * (b->n + n);
        b->at = realloc(b->at, b->capacity);
        assert_non_null(b->at);
    }
    memcpy(b->at + b->n, bytes, n);
    b->n += n;
    return true;
}

static void
lookup(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    static struct alqi_ctf_entry entry;
    static char name[32];

    (void)arg;
    snprintf(name, sizeof name, "f%llu", (unsigned long long)code);
    entry = (struct alqi_ctf_entry){.file = "x.c", .function = name, .line = 1};
    *out = (struct alqi_ctf_location){code, 1, &entry};
}

static void
event_put(struct alqi_ctf_writer *w, uint64_t now_us, uint64_t *alive,
          size_t *n_alive)
{
    uint64_t codes[6];
    uint32_t n = 1 + (uint32_t)(rng() % 6);
    size_t k;

    if (*n_alive > 0 && rng() % 2 == 0) {
        k = rng() % *n_alive;
        assert_int_equal(alqi_ctf_write_collect(w, now_us, alive[k]), ALQ_OK);
        alive[k] = alive[--*n_alive];
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        codes[i] = 10 + rng() % 5;
    assert_int_equal(alqi_ctf_write_alloc(w, now_us, 1 + rng() % 1000, 1,
                                          ALQI_CTF_MINOR, codes, n,
                                          &alive[(*n_alive)++]),
                     ALQ_OK);
}

static void
trace_make(struct bytes *bytes, const char *context)
{
    enum { EVENTS = 20000 };
    static uint64_t alive[EVENTS];
    const struct alqi_ctf_info info = {
        .version = 2,
        .word_bits = 64,
        .rate = 1e-3,
        .start_us = 1000000,
        .pid = (uint64_t)getpid(),
        .executable = "x",
        .host = "h",
        .params = "",
        .context = context,
    };
    struct alqi_ctf_writer *w;
    size_t n_alive = 0;

    assert_int_equal(
        alqi_ctf_writer_open(&info, packet_put, bytes, lookup, NULL, &w),
        ALQ_OK);
    for (uint64_t i = 0; i < EVENTS; i++) {
        event_put(w, 1000000 + 10 * i, alive, &n_alive);
        if (rng() % 300 == 0)
            assert_int_equal(alqi_ctf_writer_flush(w), ALQ_OK);
    }
    assert_int_equal(alqi_ctf_writer_close(w), ALQ_OK);
}

/* Bytes that come in any pieces, most of them within packets. */
static void
follow_trace(const char *context)
{
    struct alqi_cli_follow *f = NULL;
    struct bytes bytes = {0};
    int fd = open(file_name(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    pid_t writer = writer_start();
    unsigned n_rounds = 0;
    char why[200];

    trace_make(&bytes, context);
    for (size_t at = 0, n = 600; at < bytes.n; n = rng() % 3000) {
        n = n > bytes.n - at ? bytes.n - at : n;
        assert_int_equal(write(fd, bytes.at + at, n), (ssize_t)n);
        at += n;
        if (f == NULL)
            f = alqi_cli_follow_open(file_name(), 0, true, why, sizeof why);
        assert_non_null(f);
        assert_int_equal(alqi_cli_follow_read(f, ENOUGH_US),
                         ALQI_CLI_FOLLOW_LEVEL);
        if (++n_rounds % 10 == 0 || at == bytes.n)
            compare(f, true);
    }
    assert_true(n_rounds > 50);
    writer_end(writer);
    assert_int_equal(alqi_cli_follow_read(f, ENOUGH_US), ALQI_CLI_FOLLOW_OVER);
    compare(f, true);
    assert_string_equal(alqi_cli_follow_damage(f), "");
    alqi_cli_follow_drop(f);
    free(bytes.at);
    close(fd);
    unlink(file_name());
}

static void
a_trace_is_followed(void **state)
{
    (void)state;
    follow_trace("");
}

/* Frames are looked up, and it is written anew, on the way. */
static void
a_trace_of_ours_is_followed(void **state)
{
    (void)state;
    follow_trace("aliquot=0 source=heap");
}

/* No time at all: a little is read all the same, and in the end everything. */
static void
slices_come_to_the_end(void **state)
{
    struct bytes bytes = {0};
    int fd = open(file_name(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct alqi_cli_follow *f;
    unsigned n_slices = 0;
    char why[200];

    (void)state;
    trace_make(&bytes, "");
    assert_int_equal(write(fd, bytes.at, bytes.n), (ssize_t)bytes.n);
    f = alqi_cli_follow_open(file_name(), 0, true, why, sizeof why);
    assert_non_null(f);
    while (alqi_cli_follow_read(f, 0) == ALQI_CLI_FOLLOW_BEHIND) {
        assert_true(alqi_cli_follow_progress(f) <= 1);
        n_slices++;
    }
    assert_true(n_slices > 1);
    assert_int_equal(alqi_cli_follow_read(f, 0), ALQI_CLI_FOLLOW_OVER);
    compare(f, true);
    alqi_cli_follow_drop(f);
    free(bytes.at);
    close(fd);
    unlink(file_name());
}

static void
damage_is_told(void **state)
{
    struct bytes bytes = {0};
    int fd = open(file_name(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct alqi_cli_follow *f;
    char why[200];

    (void)state;
    trace_make(&bytes, "");
    memset(bytes.at + bytes.n / 2, 0xA5, 40000); /* more than a packet has */
    assert_int_equal(write(fd, bytes.at, bytes.n), (ssize_t)bytes.n);
    f = alqi_cli_follow_open(file_name(), 0, true, why, sizeof why);
    assert_non_null(f);
    assert_int_equal(alqi_cli_follow_read(f, ENOUGH_US), ALQI_CLI_FOLLOW_OVER);
    assert_string_not_equal(alqi_cli_follow_damage(f), "");
    alqi_cli_follow_drop(f);
    assert_int_equal(ftruncate(fd, 10), 0);
    assert_null(alqi_cli_follow_open(file_name(), 0, true, why, sizeof why));
    assert_non_null(strstr(why, "not a readable trace"));
    free(bytes.at);
    close(fd);
    unlink(file_name());
}

/* ---- a recording that grows ---------------------------------------------- */

enum { STREAMS = 3, ALIVE = 4000, DEPTH = 6, NAMED = 100 };

struct stream {
    uint32_t index, sequence;
    struct alqi_raw_chunk_header *chunk;
    struct alqi_raw_encoder encoder;
    uintptr_t frames[DEPTH];
    uint32_t n_frames; /* of the chunk's last allocation */
    struct {
        uintptr_t frames[DEPTH];
        uint32_t n_frames;
    } named[NAMED]; /* by their numbers in the chunk */
    bool is_announced;
};

struct block {
    uint32_t stream;
    uint64_t ordinal;
};

struct recording {
    int fd;
    struct alqi_raw_header *header;
    struct stream streams[STREAMS];
    struct block alive[ALIVE];
    size_t n_alive;
    uint64_t now_ns;
    double rate;
    uint64_t n_allocs;
};

static void *
place_map(int fd, off_t at, size_t n)
{
    void *map = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);

    assert_true(map != MAP_FAILED);
    return map;
}

static void
recording_make(struct recording *r, pid_t writer)
{
    struct alqi_cli_proc proc;

    memset(r, 0, sizeof *r);
    assert_true(alqi_cli_proc_read(writer, &proc));
    r->fd = open(file_name(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(ftruncate(r->fd, ALQI_RAW_HEADER_BYTES), 0);
    r->header = place_map(r->fd, 0, ALQI_RAW_HEADER_BYTES);
    memcpy(r->header->magic, ALQI_RAW_MAGIC, sizeof r->header->magic);
    r->header->header_bytes = ALQI_RAW_HEADER_BYTES;
    r->header->chunk_bytes = ALQI_RAW_CHUNK_BYTES;
    r->header->pid = (uint32_t)writer;
    r->header->process_start_ticks = proc.start_ticks;
    r->header->start_wall_ns = 1000000000;
    r->header->start_mono_ns = r->now_ns = 5000000;
    /* This clock is not the machine's: a reader of it while it is written takes
     * its last event, not now, for the end. */
    r->header->ended_ns = r->now_ns;
    r->header->rate = r->rate = 0.01;
    strcpy(r->header->executable, "/nowhere/program");
    for (uint32_t i = 0; i < STREAMS; i++)
        r->streams[i].index = i;
}

static void
chunk_new(struct recording *r, struct stream *s)
{
    uint32_t n = r->header->n_chunks;
    off_t at = ALQI_RAW_HEADER_BYTES + (off_t)n * ALQI_RAW_CHUNK_BYTES;
    struct alqi_raw_chunk_header *c;

    /* Room for more than one: places without a chunk yet are passed over. */
    assert_int_equal(ftruncate(r->fd, at + 2 * ALQI_RAW_CHUNK_BYTES), 0);
    c = place_map(r->fd, at, ALQI_RAW_CHUNK_BYTES);
    c->kind = ALQI_RAW_EVENTS;
    c->stream = s->index;
    c->sequence = s->sequence++;
    c->start_ns = r->now_ns;
    c->first_ordinal = s->encoder.next_ordinal;
    c->magic = ALQI_RAW_CHUNK_MAGIC;
    r->header->n_chunks = n + 1;
    if (s->chunk != NULL)
        munmap(s->chunk, ALQI_RAW_CHUNK_BYTES);
    s->chunk = c;
    s->n_frames = 0;
    s->encoder.at = (uint8_t *)(c + 1);
    s->encoder.end = (uint8_t *)c + ALQI_RAW_CHUNK_BYTES;
    s->encoder.last_ns = r->now_ns;
    s->encoder.last_pc = 0;
    s->encoder.rate = r->header->rate;
    s->encoder.n_named = s->encoder.n_named_frames = 0;
}

static void
commit(struct stream *s)
{
    atomic_store(&s->chunk->used,
                 (uint32_t)(s->encoder.at - (uint8_t *)(s->chunk + 1)));
}

/* Innermost first; the outer ones may be those of the last one. */
static uint32_t
stack_vary(struct stream *s)
{
    uint32_t n_shared = (uint32_t)(rng() % (s->n_frames + 1));
    uint32_t n = n_shared + (uint32_t)(rng() % (DEPTH - n_shared + 1));
    uintptr_t frames[DEPTH];

    for (uint32_t i = 0; i < n - n_shared; i++)
        frames[i] = 0x1000 + 16 * (rng() % 20);
    memcpy(frames + (n - n_shared), s->frames + (s->n_frames - n_shared),
           n_shared * sizeof *frames);
    memcpy(s->frames, frames, sizeof frames);
    s->n_frames = n;
    return n_shared;
}

/* An allocation with a stack of its own, which may get a number, or with one
 * that has one. */
static bool
stack_put(struct recording *r, struct stream *s)
{
    struct alqi_raw_encoder *e = &s->encoder;
    uint64_t size_bytes = 100 + rng() % 5000;
    uint32_t n_shared, number = e->n_named;

    if (number > 0 && rng() % 3 == 0) {
        number = (uint32_t)(rng() % number);
        s->n_frames = s->named[number].n_frames;
        memcpy(s->frames, s->named[number].frames, sizeof s->frames);
        return alqi_raw_put_again(e, r->now_ns, size_bytes, 1, number,
                                  s->n_frames > 0 ? s->frames[0] : 0);
    }
    n_shared = stack_vary(s);
    if (number == NAMED || rng() % 3 != 0)
        return alqi_raw_put_alloc(e, r->now_ns, size_bytes, 1, s->frames,
                                  s->n_frames, n_shared);
    assert_true(alqi_raw_may_name(e, s->n_frames));
    s->named[number].n_frames = s->n_frames;
    memcpy(s->named[number].frames, s->frames, sizeof s->frames);
    return alqi_raw_put_named(e, r->now_ns, size_bytes, 1, s->frames,
                              s->n_frames, n_shared);
}

static bool
alloc_put(struct recording *r, struct stream *s)
{
    struct alqi_raw_encoder *e = &s->encoder;
    uint64_t ordinal = e->next_ordinal;
    bool is_moved = r->n_alive > 0 && rng() % 8 == 0;
    size_t k = is_moved ? rng() % r->n_alive : 0;

    if ((e->rate != r->rate && !alqi_raw_put_rate(e, r->now_ns, r->rate)) ||
        (rng() % 4 == 0 && !alqi_raw_put_reborn(e, r->now_ns)) ||
        (is_moved &&
         !alqi_raw_put_moved(e, r->now_ns, r->alive[k].stream == s->index,
                             r->alive[k].stream, r->alive[k].ordinal)) ||
        !stack_put(r, s))
        return false;
    if (is_moved)
        r->alive[k] = r->alive[--r->n_alive];
    r->alive[r->n_alive++] = (struct block){s->index, ordinal};
    r->n_allocs++;
    return true;
}

static bool
free_put(struct recording *r, struct stream *s)
{
    size_t k = rng() % r->n_alive;

    if (!alqi_raw_put_free(&s->encoder, r->now_ns,
                           r->alive[k].stream == s->index, r->alive[k].stream,
                           r->alive[k].ordinal))
        return false;
    r->alive[k] = r->alive[--r->n_alive];
    return true;
}

/* False: no room, and nothing is put. */
static bool
one_put(struct recording *r, struct stream *s)
{
    if (!s->is_announced) {
        s->is_announced = true;
        return alqi_raw_put_thread(&s->encoder, r->now_ns, s->index,
                                   100 + s->index, "worker");
    }
    if (rng() % 50 == 0)
        return alqi_raw_put_rss(&s->encoder, r->now_ns, rng() % 1000000);
    return r->n_alive == 0 || (r->n_alive < ALIVE && rng() % 16 > 7)
               ? alloc_put(r, s)
               : free_put(r, s);
}

static void
step(struct recording *r)
{
    struct stream *s = &r->streams[rng() % STREAMS];
    uint8_t *at = s->encoder.at;

    r->now_ns += 1 + rng() % 5000;
    if (s->chunk == NULL)
        chunk_new(r, s);
    else if (s->encoder.end - at < ALQI_RAW_EVENT_BYTES_MAX / 200)
        chunk_new(r, s);
    assert_true(one_put(r, s));
    commit(s);
}

static void
recording_free(struct recording *r)
{
    for (int i = 0; i < STREAMS; i++)
        if (r->streams[i].chunk != NULL)
            munmap(r->streams[i].chunk, ALQI_RAW_CHUNK_BYTES);
    munmap(r->header, ALQI_RAW_HEADER_BYTES);
    close(r->fd);
    unlink(file_name());
}

static void
a_recording_is_followed(void **state)
{
    static struct recording r;
    pid_t writer = writer_start();
    struct alqi_cli_follow *f;
    char why[200];

    (void)state;
    recording_make(&r, writer);
    f = alqi_cli_follow_open(file_name(), 0, true, why, sizeof why);
    assert_non_null(f);
    for (unsigned round = 0; round < 300; round++) {
        for (unsigned n = (unsigned)(rng() % 1000); n > 0; n--)
            step(&r);
        r.rate = 0.01 / (1 + round / 100); /* coarser and coarser */
        assert_int_equal(alqi_cli_follow_read(f, ENOUGH_US),
                         ALQI_CLI_FOLLOW_LEVEL);
        if (round % 10 == 0)
            compare(f, true);
    }
    assert_true(r.header->n_chunks > 2 * STREAMS);
    for (unsigned n = 0; n < 500; n++)
        step(&r); /* the last it did before it ended */
    writer_end(writer);
    assert_int_equal(alqi_cli_follow_read(f, ENOUGH_US), ALQI_CLI_FOLLOW_OVER);
    compare(f, true);
    assert_true(alqi_cli_follow_analysis(f)->n_allocs == r.n_allocs);
    alqi_cli_follow_drop(f);
    recording_free(&r);
}

/* The trace that is made of it in the end begins at a finer rate. */
static void
a_finer_rate_changes_no_estimate(void **state)
{
    static struct recording r;
    pid_t writer = writer_start();
    struct alqi_cli_follow *f;
    uint64_t bits;
    char why[200];

    (void)state;
    recording_make(&r, writer);
    f = alqi_cli_follow_open(file_name(), writer, true, why, sizeof why);
    assert_non_null(f);
    for (unsigned round = 0; round < 20; round++) {
        r.rate = 0.01 * (1 + round);
        memcpy(&bits, &r.rate, sizeof bits);
        atomic_store(&r.header->most_rate_bits, bits);
        for (unsigned n = 0; n < 500; n++)
            step(&r);
        assert_int_equal(alqi_cli_follow_read(f, ENOUGH_US),
                         ALQI_CLI_FOLLOW_LEVEL);
        compare(f, round == 0);
    }
    alqi_cli_follow_drop(f);
    writer_end(writer);
    recording_free(&r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_is_followed),
        cmocka_unit_test(a_trace_of_ours_is_followed),
        cmocka_unit_test(slices_come_to_the_end),
        cmocka_unit_test(damage_is_told),
        cmocka_unit_test(a_recording_is_followed),
        cmocka_unit_test(a_finer_rate_changes_no_estimate),
    };

    rng_state += alqi_base_test_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
