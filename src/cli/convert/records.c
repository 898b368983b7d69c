/* records.c -- the records of a trace that are not events of blocks
 *
 * [conversion.h] What has no place in the memtrace format goes into side
 * records (wire/side.h): the command line, threads, modules, rates, resident
 * bytes, links of reallocs, the end. Both sources of a conversion write them
 * here, at times of the recording. */
#include <string.h>

#include "base/base.h"
#include "cli/convert/conversion.h"
#include "cli/convert/convert.h"
#include "wire/side.h"
#include "wire/side_write.h"

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

struct alqi_side_writer
alqi_cli_conversion_side(struct alqi_cli_conversion *c, uint64_t time_ns)
{
    return (struct alqi_side_writer){c->writer, &c->n_texts,
                                     alqi_cli_conversion_time_us(c, time_ns)};
}

enum alq_status
alqi_cli_conversion_thread(struct alqi_cli_conversion *c, uint32_t index,
                           uint32_t tid, const char *name, uint64_t time_ns)
{
    struct alqi_side_writer side = alqi_cli_conversion_side(c, time_ns);

    return alqi_side_write_thread(&side, index, tid, ALQI_SIDE_NO_PROCESS,
                                  name);
}

enum alq_status
alqi_cli_conversion_rss(struct alqi_cli_conversion *c, uint64_t bytes,
                        uint64_t time_ns)
{
    struct alqi_side_writer side = alqi_cli_conversion_side(c, time_ns);
    char text[ALQI_SIDE_LINE_BYTES];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);

    alqi_side_text(&line, NULL, "rss");
    alqi_side_number(&line, "bytes", bytes);
    return alqi_side_write_line(&side, text);
}

/* Keeps .inv.apart (doc/design/marks.md): what came before has an earlier time,
 * and what comes after gets this one at least (wire.md .inv.late). */
enum alq_status
alqi_cli_conversion_mark(struct alqi_cli_conversion *c, const char *name,
                         uint64_t time_ns)
{
    struct alqi_side_writer side = alqi_cli_conversion_side(c, time_ns);

    if (side.time_us < c->mark_us)
        side.time_us = c->mark_us;
    side.time_us += c->time_step_us;
    c->mark_us = side.time_us;
    return alqi_side_write_phase(&side, name);
}

/* A module, for readers that name frames by address. */
static enum alq_status
side_module(struct alqi_cli_conversion *c, uint64_t time_ns,
            const struct alqi_cli_module *m)
{
    struct alqi_side_writer side = alqi_cli_conversion_side(c, time_ns);
    struct alqi_side_module record = {m->id,    m->start,    m->end, m->bias,
                                      m->reuse, m->build_id, m->path};

    return alqi_side_write_module(&side, &record);
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

/* What is said of the files that name code made at run time. */
static enum alq_status
side_jit(struct alqi_cli_conversion *c, uint64_t time_ns)
{
    struct alqi_side_writer side = alqi_cli_conversion_side(c, time_ns);
    enum alq_status status = ALQ_OK;
    char text[ALQI_SIDE_LINE_BYTES];
    const char *note;

    for (unsigned i = 0;
         status == ALQ_OK && (note = alqi_cli_jit_note(c->jit, i)) != NULL;
         i++) {
        struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);

        alqi_side_text(&line, NULL, "jit");
        alqi_side_text(&line, "note", note);
        status = alqi_side_write_line(&side, text);
    }
    return status;
}

/* Symbols are opened as frames are resolved, so the notes are complete only at
 * the end. */
enum alq_status
alqi_cli_conversion_symbols(struct alqi_cli_conversion *c, uint64_t time_ns)
{
    struct alqi_side_writer side = alqi_cli_conversion_side(c, time_ns);
    enum alq_status status = ALQ_OK;
    const struct alqi_cli_module *m;
    const char *note;

    for (uint32_t id = 0; status == ALQ_OK &&
                          (m = alqi_cli_codes_module_at(c->codes, id)) != NULL;
         id++) {
        note = alqi_symbol_module_note(m->symbols);
        if (note != NULL)
            status = alqi_side_write_symbols(&side, m->id, note);
    }
    return status == ALQ_OK ? side_jit(c, time_ns) : status;
}

/* The header holds the words with their NULs,
 * and may be cut inside the last one. */
enum alq_status
alqi_cli_conversion_cmdline(struct alqi_cli_conversion *c)
{
    const struct alqi_raw_header *h = c->header;
    struct alqi_side_writer side =
        alqi_cli_conversion_side(c, h->start_mono_ns);
    size_t n_bytes = h->n_cmdline_bytes;

    return alqi_side_write_cmdline(
        &side, h->cmdline,
        n_bytes < sizeof h->cmdline ? n_bytes : sizeof h->cmdline);
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
        {ALQI_RAW_PYTHON_FRAMES, "python_stacks"},
        {ALQI_RAW_PYTHON_SMALL, "python_small"},
        {ALQI_RAW_PATCHED, "patched"},
    };
    const uint32_t flags = atomic_load(&c->header->flags);
    const struct {
        const char *key;
        uint64_t value;
    } more[] = {
        {"damaged_chunks", n_damaged},
        {"unseen_frees", c->result->n_unseen_frees},
        {"unknown_frees", c->result->n_unknown_frees},
        {"own_malloc", (flags & ALQI_RAW_OWN_MALLOC) != 0},
        {"late_starts", (flags & ALQI_RAW_LATE) != 0},
        {"pauses", (flags & ALQI_RAW_PAUSED) != 0},
        {"dropped_marks", atomic_load(&c->header->dropped_marks)},
        {"unlooked", alqi_cli_recording_is_unlooked(c->recording)},
        {"flags", flags},
        {"rss_most", alqi_cli_recording_most_rss(c->recording)},
        {"signal", (uint64_t)alqi_cli_recording_signal(c->recording)},
    };
    struct alqi_side_writer side = alqi_cli_conversion_side(c, time_ns);
    char text[ALQI_SIDE_LINE_BYTES];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);

    alqi_side_text(&line, NULL, "end");
    for (size_t i = 0; i < ALQI_COUNT_OF(fields); i++)
        alqi_side_number(&line, fields[i].key,
                         count_at_end(c, fields[i].counter));
    for (size_t i = 0; i < ALQI_COUNT_OF(more); i++)
        alqi_side_number(&line, more[i].key, more[i].value);
    alqi_side_text(&line, "ended", ended);
    return alqi_side_write_line(&side, text);
}

/* ---- what comes before an allocation ------------------------------------- */

static enum alq_status
mark(struct alqi_cli_conversion *c, uint64_t kind, uint64_t number,
     uint64_t time_ns)
{
    struct alqi_side_writer side = alqi_cli_conversion_side(c, time_ns);

    return alqi_side_write_mark(&side, kind, number);
}

/* The allocations that follow are another thread's. A stream without a thread
 * keeps the announced one. */
static enum alq_status
thread_switch(struct alqi_cli_conversion *c, int64_t thread, uint64_t time_ns)
{
    if (thread == c->thread || thread == ALQI_CLI_NO_THREAD)
        return ALQ_OK;
    c->thread = thread;
    return mark(c, ALQI_SIDE_THREAD, (uint64_t)thread, time_ns);
}

/* *index is the number of a rate in the trace. A rate met for the first time
 * is numbered and announced. */
static enum alq_status
rate_index(struct alqi_cli_conversion *c, double rate, uint64_t time_ns,
           uint64_t *index)
{
    struct alqi_side_writer side = alqi_cli_conversion_side(c, time_ns);
    uint64_t bits;

    memcpy(&bits, &rate, sizeof bits);
    if (alqi_base_map_get(&c->rates, bits, index))
        return ALQ_OK;
    *index = c->rates.n_used;
    if (!alqi_base_map_put(&c->rates, bits, *index))
        return ALQ_ENOMEM;
    return alqi_side_write_rate(&side, *index, rate);
}

/* The allocations that follow were sampled at another rate. */
static enum alq_status
rate_switch(struct alqi_cli_conversion *c, double rate, uint64_t time_ns)
{
    enum alq_status status;
    uint64_t index;

    if (rate == c->rate)
        return ALQ_OK;
    status = rate_index(c, rate, time_ns, &index);
    if (status != ALQ_OK)
        return status;
    c->rate = rate;
    return mark(c, ALQI_SIDE_RATE, index, time_ns);
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
    return mark(c, ALQI_SIDE_MOVED, number, time_ns);
}
