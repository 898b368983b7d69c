/* records.c -- the records of a trace that are not events of blocks
 *
 * [conversion.h] What has no place in the memtrace format goes into side
 * records (wire/side.h): the command line, threads, modules, rates, resident
 * bytes, links of reallocs, the end. Both sources of a conversion write them
 * here, at times of the recording. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/convert/conversion.h"
#include "cli/convert/convert.h"
#include "wire/side.h"

/* The longest text of a side record, with its NUL. */
enum { SIDE_LINE_BYTES = 4000 };

/* ---- texts --------------------------------------------------------------- */

/* Trace time of a monotonic time: wall clock of the start plus the time since,
 * rounded down to the step. Times before the start count as the start. */
static ALQI_NOINLINE uint64_t
time_us_divide(const struct alqi_cli_conversion *c, uint64_t mono_ns)
{
    const struct alqi_raw_header *h = c->header;
    uint64_t since_ns =
        mono_ns > h->start_mono_ns ? mono_ns - h->start_mono_ns : 0;

    return h->start_wall_ns / 1000 +
           since_ns / 1000 / c->time_step_us * c->time_step_us;
}

/* As time_us_divide. Consecutive events often share one time, so the last
 * result is kept. */
uint64_t
alqi_cli_conversion_time_us(struct alqi_cli_conversion *c, uint64_t mono_ns)
{
    if (mono_ns != c->last_ns) {
        c->last_ns = mono_ns;
        c->last_us = time_us_divide(c, mono_ns);
    }
    return c->last_us;
}

/* Writes one text record: a location that no stack uses. */
static enum alq_status
side_text(struct alqi_cli_conversion *c, uint64_t time_ns, const char *line)
{
    struct alqi_ctf_entry entry = {.file = "aliquot", .function = line};
    struct alqi_ctf_location location = {
        .code = ALQI_SIDE_PREFIX | ALQI_SIDE_TEXT | c->n_texts++,
        .n_entries = 1,
        .entries = &entry,
    };

    return alqi_ctf_write_side(
        c->writer, alqi_cli_conversion_time_us(c, time_ns), &location);
}

/* Appends key=value to the line of n bytes; returns its new length. */
static size_t
put_number(char *line, size_t n, const char *key, uint64_t value, bool is_hex)
{
    char text[32];

    snprintf(text, sizeof text, is_hex ? "%" PRIx64 : "%" PRIu64, value);
    return alqi_side_put(line, SIDE_LINE_BYTES, n, key, text);
}

enum alq_status
alqi_cli_conversion_thread(struct alqi_cli_conversion *c, uint32_t index,
                           uint32_t tid, const char *name, uint64_t time_ns)
{
    char line[SIDE_LINE_BYTES];
    size_t n = alqi_side_put(line, sizeof line, 0, NULL, "thread");

    n = put_number(line, n, "index", index, false);
    n = put_number(line, n, "tid", tid, false);
    alqi_side_put(line, sizeof line, n, "name", name);
    return side_text(c, time_ns, line);
}

enum alq_status
alqi_cli_conversion_rss(struct alqi_cli_conversion *c, uint64_t bytes,
                        uint64_t time_ns)
{
    char line[SIDE_LINE_BYTES];
    size_t n = alqi_side_put(line, sizeof line, 0, NULL, "rss");

    put_number(line, n, "bytes", bytes, false);
    return side_text(c, time_ns, line);
}

/* A module, for readers that name frames by address. */
static enum alq_status
side_module(struct alqi_cli_conversion *c, uint64_t time_ns,
            const struct alqi_cli_module *m)
{
    char line[SIDE_LINE_BYTES];
    size_t n = alqi_side_put(line, sizeof line, 0, NULL, "module");

    n = put_number(line, n, "id", m->id, false);
    n = put_number(line, n, "start", m->start, true);
    n = put_number(line, n, "end", m->end, true);
    n = put_number(line, n, "bias", m->bias, true);
    n = put_number(line, n, "reuse", m->reuse, false);
    n = alqi_side_put(line, sizeof line, n, "build_id", m->build_id);
    alqi_side_put(line, sizeof line, n, "path", m->path);
    return side_text(c, time_ns, line);
}

enum alq_status
alqi_cli_conversion_module(struct alqi_cli_conversion *c,
                           const struct alqi_raw_event *e)
{
    const struct alqi_cli_module *module;

    if (!alqi_cli_codes_module(c->codes, e, &module))
        return ALQ_ENOMEM;
    return module != NULL ? side_module(c, e->time_ns, module) : ALQ_OK;
}

/* Symbols are opened as frames are resolved, so the notes are complete only at
 * the end. */
enum alq_status
alqi_cli_conversion_symbols(struct alqi_cli_conversion *c, uint64_t time_ns)
{
    enum alq_status status = ALQ_OK;
    const struct alqi_cli_module *m;

    for (uint32_t id = 0; status == ALQ_OK; id++) {
        char line[SIDE_LINE_BYTES];
        const char *note;
        size_t n;

        m = alqi_cli_codes_module_at(c->codes, id);
        if (m == NULL)
            break;
        note = alqi_symbol_module_note(m->symbols);
        if (note == NULL)
            continue;
        n = alqi_side_put(line, sizeof line, 0, NULL, "symbols");
        n = put_number(line, n, "id", m->id, false);
        alqi_side_put(line, sizeof line, n, "note", note);
        status = side_text(c, time_ns, line);
    }
    return status;
}

/* The header holds the words with their NULs,
 * and may be cut inside the last one. */
enum alq_status
alqi_cli_conversion_cmdline(struct alqi_cli_conversion *c)
{
    const struct alqi_raw_header *h = c->header;
    size_t n_bytes = h->n_cmdline_bytes, at = 0;
    char line[SIDE_LINE_BYTES], key[16];
    size_t n = alqi_side_put(line, sizeof line, 0, NULL, "cmdline");

    if (n_bytes > sizeof h->cmdline)
        n_bytes = sizeof h->cmdline;
    for (unsigned i = 0; at < n_bytes; i++) {
        char word[ALQI_RAW_TEXT_BYTES_MAX + 1];
        size_t len = strnlen(h->cmdline + at, n_bytes - at);

        memcpy(word, h->cmdline + at, len);
        word[len] = '\0';
        snprintf(key, sizeof key, "arg%u", i);
        n = alqi_side_put(line, sizeof line, n, key, word);
        at += len + 1;
    }
    return side_text(c, h->start_mono_ns, line);
}

/* A counter of the end record. The recorder does not count events in exact
 * mode, to save time, so the conversion's own counts stand in. */
static uint64_t
count_at_end(const struct alqi_cli_conversion *c, enum alqi_raw_counter counter)
{
    if (c->exact != NULL && counter == ALQI_RAW_SAMPLES)
        return c->result->n_allocs;
    if (c->exact != NULL && counter == ALQI_RAW_FREES)
        return c->result->n_frees;
    return atomic_load(&c->header->counters[counter]);
}

/* Readers take a trace without this record for one that was cut short. */
enum alq_status
alqi_cli_conversion_ended(struct alqi_cli_conversion *c, uint64_t time_ns,
                          uint64_t n_damaged, const char *ended)
{
    static const struct {
        enum alqi_raw_counter counter;
        const char *key;
    } fields[] = {
        {ALQI_RAW_SAMPLES, "samples"},
        {ALQI_RAW_FREES, "frees"},
        {ALQI_RAW_DROPPED_NESTED, "dropped_nested"},
        {ALQI_RAW_DROPPED_NOMEM, "dropped_nomem"},
        {ALQI_RAW_DROPPED_SPACE, "dropped_space"},
        {ALQI_RAW_DROPPED_CAP, "dropped_cap"},
        {ALQI_RAW_LOST_FREES, "lost_frees"},
        {ALQI_RAW_INCOMPLETE, "stacks_incomplete"},
        {ALQI_RAW_TRUNCATED, "stacks_truncated"},
        {ALQI_RAW_INHERITED_FREES, "inherited_frees"},
        {ALQI_RAW_DEEPBIND_DROPPED, "deepbind_dropped"},
        {ALQI_RAW_AFTER_END, "after_end"},
        {ALQI_RAW_WITHIN, "within"},
    };
    uint32_t flags = atomic_load(&c->header->flags);
    char line[SIDE_LINE_BYTES];
    size_t n = alqi_side_put(line, sizeof line, 0, NULL, "end");

    for (size_t i = 0; i < ALQI_COUNT_OF(fields); i++)
        n = put_number(line, n, fields[i].key,
                       count_at_end(c, fields[i].counter), false);
    n = put_number(line, n, "damaged_chunks", n_damaged, false);
    n = put_number(line, n, "unseen_frees", c->result->n_unseen_frees, false);
    n = put_number(line, n, "unknown_frees", c->result->n_unknown_frees, false);
    n = put_number(line, n, "own_malloc", (flags & ALQI_RAW_OWN_MALLOC) != 0,
                   false);
    n = put_number(line, n, "late_starts", (flags & ALQI_RAW_LATE) != 0, false);
    n = put_number(line, n, "pauses", (flags & ALQI_RAW_PAUSED) != 0, false);
    n = put_number(line, n, "flags", flags, false);
    alqi_side_put(line, sizeof line, n, "ended", ended);
    return side_text(c, time_ns, line);
}

/* ---- what comes before an allocation ------------------------------------- */

/* The allocations that follow are another thread's. A stream without a thread
 * keeps the announced one. */
static enum alq_status
thread_switch(struct alqi_cli_conversion *c, int64_t thread, uint64_t time_ns)
{
    struct alqi_ctf_location location = {
        .code = ALQI_SIDE_PREFIX | ALQI_SIDE_THREAD | (uint64_t)thread,
    };

    if (thread == c->thread || thread == ALQI_CLI_NO_THREAD)
        return ALQ_OK;
    c->thread = thread;
    return alqi_ctf_write_side(
        c->writer, alqi_cli_conversion_time_us(c, time_ns), &location);
}

/* *index is the number of a rate in the trace. A rate met for the first time
 * is numbered and announced. */
static enum alq_status
rate_index(struct alqi_cli_conversion *c, double rate, uint64_t time_ns,
           uint64_t *index)
{
    char line[SIDE_LINE_BYTES], value[32];
    uint64_t bits;
    size_t n;

    memcpy(&bits, &rate, sizeof bits);
    if (alqi_base_map_get(&c->rates, bits, index))
        return ALQ_OK;
    *index = c->rates.n_used;
    if (!alqi_base_map_put(&c->rates, bits, *index))
        return ALQ_ENOMEM;
    n = alqi_side_put(line, sizeof line, 0, NULL, "rate");
    n = put_number(line, n, "index", *index, false);
    snprintf(value, sizeof value, "%.17g", rate);
    alqi_side_put(line, sizeof line, n, "per_word", value);
    return side_text(c, time_ns, line);
}

/* The allocations that follow were sampled at another rate. */
static enum alq_status
rate_switch(struct alqi_cli_conversion *c, double rate, uint64_t time_ns)
{
    struct alqi_ctf_location location = {0};
    enum alq_status status;
    uint64_t index;

    if (rate == c->rate)
        return ALQ_OK;
    status = rate_index(c, rate, time_ns, &index);
    if (status != ALQ_OK)
        return status;
    c->rate = rate;
    location.code = ALQI_SIDE_PREFIX | ALQI_SIDE_RATE | index;
    return alqi_ctf_write_side(
        c->writer, alqi_cli_conversion_time_us(c, time_ns), &location);
}

enum alq_status
alqi_cli_conversion_switch(struct alqi_cli_conversion *c, int64_t thread,
                           double rate, uint64_t time_ns)
{
    enum alq_status status = thread_switch(c, thread, time_ns);

    return status == ALQ_OK ? rate_switch(c, rate, time_ns) : status;
}

enum alq_status
alqi_cli_conversion_moved(struct alqi_cli_conversion *c, uint64_t number,
                          uint64_t time_ns)
{
    struct alqi_ctf_location location = {
        .code = ALQI_SIDE_PREFIX | ALQI_SIDE_MOVED | number,
    };

    return alqi_ctf_write_side(
        c->writer, alqi_cli_conversion_time_us(c, time_ns), &location);
}
