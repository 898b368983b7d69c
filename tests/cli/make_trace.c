/* make_trace.c -- writes a trace of any size for the tests of the command
 *
 *   make_trace EVENTS LIVE RATE [LATER]... > FILE
 *
 * A malloc trace of about EVENTS allocations and frees, of which at most LIVE
 * are alive at one time, by two threads, with side records; RATE is that of
 * the header, for each byte (0.125 means that every block was recorded).  With
 * LATER rates, for each word, allocations change to each in turn and back.
 * With MAKE_TRACE_QUOTES=N in the environment functions' names have N quotes.
 * With MAKE_TRACE_CONTEXT there the trace has that context, with MAKE_TRACE_PID
 * it is of that process.
 * With MAKE_TRACE_MOVES there blocks are by realloc, linked where both are
 * known; if it is "reborn" they say so themselves, and some others do.
 * With HOSTILE_NAMES there names are such as might break a format.
 * With HOSTILE_TEXTS every text has what a terminal would obey.
 * Everything follows from a fixed seed. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "wire/ctf.h"
#include "wire/side.h"

enum {
    DEPTH_MOST = 24,
    FANOUT = 3,
    CHOICES = 4, /* outer levels that differ: few stacks, many blocks */
    BYTES_MOST = 4096,
    TEXT_BYTES = 512,
    MODULE_START = 0x400000
};

static uint64_t seed = 42;
static uint64_t now_us = 1700000000000000;
static uint64_t n_texts;
static char padding[256];

static uint64_t
draw(uint64_t below)
{
    seed = alqi_base_mix(seed + 0x9E3779B97F4A7C15u);
    return seed % below;
}

static bool
packet(void *arg, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, arg) == n;
}

/* Each looks like a piece of some format that exporters write. */
static const char *const hostile_names[] = {
    "a\"b\\c\", \"d\": [",
    "(1)",
    "(7) x",
    "fn=(2) q",
    "calls=5 0",
    "n3: 55 0x0: fake (a.c:1)",
    "f (in g) (h.c:7)",
    "#1 {lambda}",
    "a;b 77",
    "two\nlines\ttab\x7f",
    "\xff\xfe\xc3",
    "</script><b>",
    "\xe2\x82\xac \xf0\x9f\x98\x80",
    "   ",
    "%s%n%d",
};

/* Bytes and characters that move the cursor, or turn the writing round. */
#define HOSTILE                                                                \
    "\033[2J\033]0;t\a\b\r\xc2\x9b" /* controls, C1 */                         \
    "\xe2\x80\xae\xe2\x81\xa6"      /* U+202E, U+2066 */                       \
    "\xc2\xad\xe2\x80\x8b\xef\xbb\xbf\xf3\xa0\x81\x81\xe2\x80\xa8"

/* The text, with all of that. */
static const char *
hostile(const char *plain)
{
    static char texts[16][300];
    static unsigned n;
    char *out = texts[n++ % ALQI_COUNT_OF(texts)];

    if (getenv("HOSTILE_TEXTS") == NULL)
        return plain;
    snprintf(out, sizeof texts[0], "%s" HOSTILE "x", plain);
    return out;
}

/* Codes are MODULE_START + 16 * (level * FANOUT + choice) + 8. */
static void
lookup(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    static char functions[2][64 + sizeof padding];
    static struct alqi_ctf_entry entries[2];
    unsigned k = (unsigned)(code - MODULE_START) / 16;

    (void)arg;
    snprintf(functions[0], sizeof functions[0], "level%u_f%u%s(int)",
             k / FANOUT, k % FANOUT, padding);
    snprintf(functions[1], sizeof functions[1], "inlined%u%s", k, padding);
    if (getenv("HOSTILE_NAMES") != NULL)
        snprintf(functions[0], sizeof functions[0], "%s",
                 hostile_names[k % ALQI_COUNT_OF(hostile_names)]);
    for (int i = 0; i < 2; i++)
        entries[i] = (struct alqi_ctf_entry){
            .file = hostile("/src/tree.c"),
            .function = hostile(functions[i]),
            .line = (int)(10 * k) + i + 1,
        };
    out->code = code;
    out->n_entries = k % 5 == 0 ? 2 : 1;
    out->entries = entries;
}

static void
text(struct alqi_ctf_writer *w, const char *const *words)
{
    char line[TEXT_BYTES];
    size_t n = alqi_side_put(line, sizeof line, 0, NULL, words[0]);
    struct alqi_ctf_entry entry = {.file = "", .function = line, .line = 1};
    struct alqi_ctf_location location = {
        .code = ALQI_SIDE_PREFIX | ALQI_SIDE_TEXT | n_texts++,
        .n_entries = 1,
        .entries = &entry,
    };

    for (size_t i = 1; words[i] != NULL; i += 2)
        n = alqi_side_put(line, sizeof line, n, words[i],
                          strchr("acnp", words[i][0]) != NULL
                              ? hostile(words[i + 1])
                              : words[i + 1]);
    if (alqi_ctf_write_side(w, now_us, &location) != ALQ_OK)
        exit(1);
}

static void
number(struct alqi_ctf_writer *w, uint64_t kind, uint64_t index)
{
    struct alqi_ctf_location location = {.code =
                                             ALQI_SIDE_PREFIX | kind | index};

    if (alqi_ctf_write_side(w, now_us, &location) != ALQ_OK)
        exit(1);
}

static uint64_t
alloc(struct alqi_ctf_writer *w)
{
    static uint64_t codes[DEPTH_MOST];
    uint32_t from = (uint32_t)draw(DEPTH_MOST);
    uint32_t n = from + 1 + (uint32_t)draw(DEPTH_MOST - from);
    uint64_t id;

    for (uint32_t i = 0; i < n; i++)
        if (codes[i] == 0 || i >= from)
            codes[i] = MODULE_START + 8 +
                       16 * ((uint64_t)i * FANOUT +
                             (i < CHOICES ? draw(FANOUT) : i % FANOUT));
    if (alqi_ctf_write_alloc(w, now_us, 1 + draw(BYTES_MOST), 1,
                             ALQI_CTF_EXTERNAL, codes, n, &id) != ALQ_OK)
        exit(1);
    return id;
}

static void
events(struct alqi_ctf_writer *w, uint64_t n_events, uint64_t n_live,
       unsigned n_rates)
{
    uint64_t *live = malloc((n_live + 1) * sizeof *live);
    const char *moves = getenv("MAKE_TRACE_MOVES");
    bool is_reborn = moves != NULL && strcmp(moves, "reborn") == 0;
    uint64_t n = 0;

    for (uint64_t i = 0; live != NULL && i < n_events; i++) {
        now_us += draw(30);
        if (i % 1000 == 0)
            number(w, ALQI_SIDE_THREAD, i / 1000 % 2);
        /* The last number is no line's: the trace's own rate. */
        if (n_rates > 0 && i % 700 == 699)
            number(w, ALQI_SIDE_RATE, i / 700 % (n_rates + 1));
        if (n < n_live && draw(100) < 52) {
            if (is_reborn && i % 7 == 0)
                number(w, ALQI_SIDE_MOVED, ALQI_SIDE_REBORN);
            live[n++] = alloc(w);
        } else if (n > 0) {
            uint64_t k = draw(n);

            if (alqi_ctf_write_collect(w, now_us, live[k]) != ALQ_OK)
                exit(1);
            if (moves != NULL && i % 5 == 0) {
                if (is_reborn)
                    number(w, ALQI_SIDE_MOVED, ALQI_SIDE_REBORN);
                number(w, ALQI_SIDE_MOVED, live[k]);
                live[k] = alloc(w);
            } else {
                live[k] = live[--n];
            }
        }
    }
    free(live);
}

static void
side_records(struct alqi_ctf_writer *w)
{
    text(w, (const char *const[]){"cmdline", "arg0", "./a program", "arg1",
                                  "--name=50%", NULL});
    text(w, (const char *const[]){"thread", "index", "0", "tid", "100", "name",
                                  "main", NULL});
    text(w, (const char *const[]){"thread", "index", "1", "tid", "101", "name",
                                  "worker", NULL});
    text(w,
         (const char *const[]){"module", "id", "0", "start", "400000", "end",
                               "400240", "bias", "0", "reuse", "0", "build_id",
                               "abcdef01", "path", "/bin/tree", NULL});
    text(w,
         (const char *const[]){"module", "id", "1", "start", "400240", "end",
                               "500000", "bias", "0", "reuse", "0", "build_id",
                               "", "path", "/lib/libdeep.so.1", NULL});
}

int
main(int argc, char **argv)
{
    const char *quotes = getenv("MAKE_TRACE_QUOTES");
    const char *context = getenv("MAKE_TRACE_CONTEXT");
    const char *pid = getenv("MAKE_TRACE_PID");
    struct alqi_ctf_info info = {
        .version = 2,
        .word_bits = 8,
        .start_us = now_us,
        .pid = pid != NULL ? strtoul(pid, NULL, 10) : 4711,
        .executable = hostile("/bin/tree"),
        .host = hostile("test"),
        .params = hostile("seed=42"),
        .context = hostile(context != NULL ? context : "")};
    struct alqi_ctf_writer *w;
    bool is_whole;

    if (argc < 4) {
        fprintf(stderr, "usage: make_trace EVENTS LIVE RATE [LATER]...\n");
        return 2;
    }
    if (quotes != NULL)
        memset(padding, '\'', strtoull(quotes, NULL, 10) % sizeof padding);
    info.rate = strtod(argv[3], NULL);
    if (alqi_ctf_writer_open(&info, packet, stdout, lookup, NULL, &w) != ALQ_OK)
        return 1;
    side_records(w);
    for (int i = 4; i < argc; i++) {
        char index[16];

        snprintf(index, sizeof index, "%d", i - 4);
        text(w, (const char *const[]){"rate", "index", index, "per_word",
                                      argv[i], NULL});
    }
    events(w, strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10),
           (unsigned)argc - 4);
    is_whole = info.rate == 0.125 && argc == 4; /* every block was recorded */
    text(w, (const char *const[]){
                "end", "samples", "1", "frees", "1", "dropped_nested",
                is_whole ? "0" : "3", "dropped_nomem", "0", "dropped_space",
                is_whole ? "0" : "7", "dropped_cap", "0", "stacks_truncated",
                "2", "ended", "killed", NULL});
    return alqi_ctf_writer_close(w) == ALQ_OK && fflush(stdout) == 0 ? 0 : 1;
}
