/* trace_side.c -- what a trace tells beside its events
 *
 * A record with text is a line of key=value (wire/side.h) under a running
 * number; one without text is a number in its code. Records are put into the
 * writer's packet as events are, in order, before what they are about. No state
 * but the caller's number of texts. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "glue/tracing/trace_side.h"
#include "wire/side.h"

enum { LINE_BYTES = 4000 };

/* Puts a line as the text of a new record. */
static enum alq_status
text_put(const struct alqi_glue_trace_side *side, const char *line)
{
    struct alqi_ctf_entry entry = {.file = "aliquot", .function = line};
    struct alqi_ctf_location location = {
        .code = ALQI_SIDE_PREFIX | ALQI_SIDE_TEXT | (*side->n_texts)++,
        .n_entries = 1,
        .entries = &entry,
    };

    return alqi_ctf_write_side(side->writer, side->time_us, &location);
}

/* Appends a number to a line; returns the line's length. */
static size_t
number_put(char *line, size_t n, const char *key, uint64_t value, bool is_hex)
{
    char text[32];

    snprintf(text, sizeof text, is_hex ? "%" PRIx64 : "%" PRIu64, value);
    return alqi_side_put(line, LINE_BYTES, n, key, text);
}

/* The words of /proc/self/cmdline, each behind its NUL; their bytes. */
static size_t
cmdline_read(char *words, size_t capacity)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = 0;

    if (fd >= 0) {
        n = read(fd, words, capacity - 1);
        close(fd);
    }
    words[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* A command line that is longer than the room is cut at a word. */
enum alq_status
alqi_glue_trace_side_cmdline(const struct alqi_glue_trace_side *side)
{
    char line[LINE_BYTES], words[LINE_BYTES], key[24];
    size_t n = alqi_side_put(line, sizeof line, 0, NULL, "cmdline");
    size_t n_words = cmdline_read(words, sizeof words), at = 0;

    for (unsigned i = 0; at < n_words; i++) {
        snprintf(key, sizeof key, "arg%u", i);
        n = alqi_side_put(line, sizeof line, n, key, words + at);
        at += strlen(words + at) + 1;
    }
    return text_put(side, line);
}

/* What a reader needs to find the module's file and the place of an address in
 * it. */
enum alq_status
alqi_glue_trace_side_module(const struct alqi_glue_trace_side *side,
                            const struct alqi_glue_module *m)
{
    char line[LINE_BYTES], id[2 * 64 + 1] = "";
    size_t n = alqi_side_put(line, sizeof line, 0, NULL, "module");

    for (size_t i = 0; i < m->build_id_bytes && i < 64; i++)
        snprintf(id + 2 * i, 3, "%02x", m->build_id[i]);
    n = number_put(line, n, "id", m->number, false);
    n = number_put(line, n, "start", m->start, true);
    n = number_put(line, n, "end", m->end, true);
    n = number_put(line, n, "bias", m->bias, true);
    n = number_put(line, n, "reuse", 0, false);
    n = alqi_side_put(line, sizeof line, n, "build_id", id);
    alqi_side_put(line, sizeof line, n, "path", m->path);
    return text_put(side, line);
}

/* An empty name is left to the reader. */
enum alq_status
alqi_glue_trace_side_thread(const struct alqi_glue_trace_side *side,
                            uint64_t index, uint64_t tid, const char *name)
{
    char line[LINE_BYTES];
    size_t n = alqi_side_put(line, sizeof line, 0, NULL, "thread");

    n = number_put(line, n, "index", index, false);
    n = number_put(line, n, "tid", tid, false);
    alqi_side_put(line, sizeof line, n, "name", name);
    return text_put(side, line);
}

/* Puts a record that is only a number. */
static enum alq_status
number_tell(const struct alqi_glue_trace_side *side, uint64_t kind,
            uint64_t number)
{
    struct alqi_ctf_location location = {
        .code = ALQI_SIDE_PREFIX | kind | number,
    };

    return alqi_ctf_write_side(side->writer, side->time_us, &location);
}

enum alq_status
alqi_glue_trace_side_switch(const struct alqi_glue_trace_side *side,
                            uint64_t index)
{
    return number_tell(side, ALQI_SIDE_THREAD, index);
}

/* Samples a word, with digits that tell it apart from any other. */
enum alq_status
alqi_glue_trace_side_rate(const struct alqi_glue_trace_side *side,
                          unsigned number, double per_word)
{
    char line[LINE_BYTES], value[40];
    size_t n = alqi_side_put(line, sizeof line, 0, NULL, "rate");

    n = number_put(line, n, "index", number, false);
    snprintf(value, sizeof value, "%.17g", per_word);
    alqi_side_put(line, sizeof line, n, "per_word", value);
    return text_put(side, line);
}

enum alq_status
alqi_glue_trace_side_rate_switch(const struct alqi_glue_trace_side *side,
                                 unsigned number)
{
    return number_tell(side, ALQI_SIDE_RATE, number);
}

/* The counts of the recording; its readers know by it that the trace is
 * whole. */
enum alq_status
alqi_glue_trace_side_end(const struct alqi_glue_trace_side *side,
                         const struct alq_trace_counts *c,
                         const struct alq_memprof_counts *sampled)
{
    const struct {
        const char *key;
        uint64_t value;
    } fields[] = {
        {"samples", c->allocations},
        {"frees", c->collections},
        {"promotions", c->promotions},
        {"dropped_nested", sampled->dropped_nested},
        {"dropped_nomem", sampled->dropped_nomem},
        {"dropped_space", c->dropped},
        {"dropped_cap", sampled->dropped_cap},
    };
    char line[LINE_BYTES];
    size_t n = alqi_side_put(line, sizeof line, 0, NULL, "end");

    for (size_t i = 0; i < ALQI_COUNT_OF(fields); i++)
        n = number_put(line, n, fields[i].key, fields[i].value, false);
    alqi_side_put(line, sizeof line, n, "ended", "exit");
    return text_put(side, line);
}
