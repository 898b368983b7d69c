/* convert.c -- a raw recording into a memtrace trace, event by event
 *
 * [cli/convert/convert.h] A conversion merges two sources by time: the sampled
 * streams (recording_merge.c) and the exact part (convert_exact.c). Before a
 * sampled event is written, the exact part writes all that happened up to its
 * time (merged_take).
 *
 * Phases: open (header, command line) -> step, as often as there are events ->
 * end (late symbols, counts) -> close. A live recording comes back from "no
 * more" to step with more.
 *
 * A sampled block is known by stream and ordinal. live maps it to the object
 * id of the trace until its free. If the free is merged first, early holds the
 * key until the allocation comes. Records of another kind are records.c's. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/map.h"
#include "cli/convert/codes.h"
#include "cli/convert/conversion.h"
#include "cli/convert/convert.h"
#include "wire/side.h"

/* No object id of a trace. */
static const uint64_t NO_OBJECT = UINT64_MAX;

/* ---- events -------------------------------------------------------------- */

/* Damaged chunks of both sources so far. */
static uint64_t
n_damaged(const struct alqi_cli_conversion *c)
{
    return alqi_cli_merge_n_damaged(c->merge) +
           alqi_cli_exact_writer_n_damaged(c->exact);
}

/* The sample count that a tool which knows one rate should read: scaled from
 * the allocation's rate to the trace's (wire/side.h RATE). At least 1. */
static uint64_t
samples_scaled(const struct alqi_cli_conversion *c, uint64_t n_samples)
{
    double scaled = (double)n_samples * (c->most_rate / c->rate);

    if (c->rate == c->most_rate || !(scaled < 0x1p53))
        return n_samples;
    return scaled < 1 ? 1 : (uint64_t)(scaled + 0.5);
}

/* Adds the block's estimated bytes to the result: its size over the
 * probability that a block of its size is sampled at least once. */
static void
estimate_add(struct alqi_cli_conversion *c, uint64_t size_bytes)
{
    double rate = c->rate;
    double words = (double)alqi_base_malloc_words(size_bytes);
    double p = rate < 1 ? -expm1(words * log1p(-rate)) : 1;

    if (p > 0)
        c->result->allocated_bytes += (double)size_bytes / p;
}

/* Writes the end of a sampled block. *freed is its object, or NO_OBJECT if the
 * block is not there; the key then waits in early, in case the allocation
 * follows. */
static enum alq_status
free_write(struct alqi_cli_conversion *c, uint64_t time_ns, uint64_t key,
           uint64_t *freed)
{
    uint64_t id;

    *freed = NO_OBJECT;
    if (!alqi_base_map_take(&c->live, key, &id)) {
        /* A free can be seen before its allocation only when clocks tie, or
         * when the allocation's chunk is damaged. */
        c->result->n_orphan_frees++;
        return alqi_base_map_put(&c->early, key, 1) ? ALQ_OK : ALQ_ENOMEM;
    }
    *freed = id;
    c->result->n_frees++;
    alqi_cli_conversion_size_drop(c, id);
    return alqi_ctf_write_collect(c->writer,
                                  alqi_cli_conversion_time_us(c, time_ns), id);
}

/* The old block of a realloc ends, and the next allocation continues it. */
static enum alq_status
move_write(struct alqi_cli_conversion *c, const struct alqi_raw_event *e)
{
    uint64_t freed;
    enum alq_status status = free_write(
        c, e->time_ns, alqi_cli_conversion_key(e->from_stream, e->from_ordinal),
        &freed);

    if (status != ALQ_OK || freed == NO_OBJECT)
        return status;
    return alqi_cli_conversion_moved(c, freed, e->time_ns);
}

/* c->stack becomes the frames as codes, outermost first; a mapping has one
 * more, innermost, and so has a block of a pool. False: there is no memory. */
static bool
stack_fill(struct alqi_cli_conversion *c, const struct alqi_cli_merged *m,
           uint32_t *n_codes)
{
    for (uint32_t i = 0; i < m->n_frames; i++) {
        c->stack[i] =
            alqi_cli_codes_from(c->codes, m->frames[i], m->event->time_ns);
        if (c->stack[i] == 0)
            return false;
    }
    *n_codes = m->n_frames;
    if (m->event->is_mapping)
        c->stack[(*n_codes)++] = ALQI_CLI_CODE_MAPPING;
    if (m->event->pool != 0)
        c->stack[(*n_codes)++] = alqi_cli_code_of_pool(m->event->pool);
    return true;
}

/* Writes a sampled allocation, with the records that must stand before it:
 * thread, rate, link to an old block. If its free came first, the block ends
 * at once. */
static enum alq_status
alloc_write(struct alqi_cli_conversion *c, const struct alqi_cli_merged *m)
{
    const struct alqi_raw_event *e = m->event;
    uint64_t key = alqi_cli_conversion_key(e->stream, e->ordinal);
    uint64_t time_us = alqi_cli_conversion_time_us(c, e->time_ns), id, freed;
    enum alq_status status = alqi_cli_conversion_switch(
        c, m->thread, e->rate > 0 ? e->rate : c->header->rate, e->time_ns);
    uint32_t n_codes;

    if (status == ALQ_OK && e->is_reborn)
        status = alqi_cli_conversion_moved(c, ALQI_SIDE_REBORN, e->time_ns);
    if (status == ALQ_OK && e->is_moved)
        status = move_write(c, e);
    if (status != ALQ_OK)
        return status;
    if (!stack_fill(c, m, &n_codes))
        return ALQ_ENOMEM;
    c->is_last_exact = false;
    status = alqi_ctf_write_alloc(
        c->writer, time_us, e->size_bytes, samples_scaled(c, e->n_samples),
        e->is_mapping ? ALQI_CTF_MAJOR : ALQI_CTF_EXTERNAL, c->stack, n_codes,
        &id);
    if (status != ALQ_OK)
        return status;
    c->result->n_allocs++;
    estimate_add(c, e->size_bytes);
    if (alqi_base_map_take(&c->early, key, &freed)) {
        c->result->n_orphan_frees--;
        c->result->n_frees++;
        return alqi_ctf_write_collect(c->writer, time_us, id);
    }
    return alqi_base_map_put(&c->live, key, id) &&
                   alqi_cli_conversion_size_put(c, id, e->size_bytes)
               ? ALQ_OK
               : ALQ_ENOMEM;
}

/* Takes a module event of the streams. The exact part may have announced the
 * module ahead of time, when a node needed it. */
static enum alq_status
module_write(struct alqi_cli_conversion *c, const struct alqi_raw_event *e)
{
    if (c->exact != NULL && alqi_cli_exact_knows_module(c->exact))
        return ALQ_OK;
    c->n_modules += c->exact == NULL;
    return alqi_cli_conversion_module(c, e);
}

/* Writes one event of the sampled streams. The merge decodes prefixes into the
 * allocation that they belong to, so here they are an error. */
static enum alq_status
event_write(struct alqi_cli_conversion *c, const struct alqi_cli_merged *m)
{
    uint64_t freed;

    switch (m->event->kind) {
    case ALQI_RAW_THREAD:
        return alqi_cli_conversion_thread(c, m->event->thread_index,
                                          m->event->tid, m->event->name,
                                          m->event->time_ns);
    case ALQI_RAW_ALLOC:
        return alloc_write(c, m);
    case ALQI_RAW_FREE_OWN:
    case ALQI_RAW_FREE_OTHER:
        return free_write(
            c, m->event->time_ns,
            alqi_cli_conversion_key(m->event->stream, m->event->ordinal),
            &freed);
    case ALQI_RAW_MODULE:
        return module_write(c, m->event);
    case ALQI_RAW_CODE:
        return alqi_cli_codes_python(c->codes, m->event) ? ALQ_OK : ALQ_ENOMEM;
    case ALQI_RAW_RATE: /* each allocation tells its own */
        return ALQ_OK;
    case ALQI_RAW_RSS:
        return alqi_cli_conversion_rss(c, m->event->rss_bytes,
                                       m->event->time_ns);
    case ALQI_RAW_MARK:
        return m->event->number == 0 || c->exact == NULL
                   ? alqi_cli_conversion_mark(c, m->event->function,
                                              m->event->time_ns)
                   : ALQ_OK; /* the exact part says where */
    case ALQI_RAW_MOVED_OWN:
    case ALQI_RAW_MOVED_OTHER:
    case ALQI_RAW_MAPPED:
    case ALQI_RAW_REBORN:
    case ALQI_RAW_POOLED:
        break; /* they come as part of an allocation */
    case ALQI_RAW_ALLOC_NAMED:
    case ALQI_RAW_ALLOC_AGAIN:
        break; /* as ALLOC */
    }
    return ALQ_EFORMAT;
}

/* Writes what the exact part has up to a time, or with UINT64_MAX all of it. */
static enum alq_status
exact_take(struct alqi_cli_conversion *c, uint64_t until_ns, uint64_t *n_left)
{
    return c->exact != NULL
               ? alqi_cli_exact_write(c, until_ns, n_left, &c->last_event_ns)
               : ALQ_OK;
}

/* Writes the waiting sampled event, after all exact events up to its time. If
 * n_left runs out before, the event waits for the next step. */
static enum alq_status
merged_take(struct alqi_cli_conversion *c, uint64_t *n_left)
{
    enum alq_status status;

    if (c->last_event_ns < c->merged.event->time_ns)
        c->last_event_ns = c->merged.event->time_ns;
    status = exact_take(c, c->last_event_ns, n_left);
    if (status != ALQ_OK || *n_left == 0)
        return status;
    --*n_left;
    c->has_merged = false;
    return event_write(c, &c->merged);
}

/* Once the sampled streams are used up, the rest is of the exact part.
 * *is_more says only that n_most was reached. */
enum alq_status
alqi_cli_conversion_step(struct alqi_cli_conversion *c, uint64_t n_most,
                         bool *is_more)
{
    enum alq_status status = ALQ_OK;
    uint64_t n_left = n_most;

    while (status == ALQ_OK && n_left > 0) {
        if (!c->has_merged)
            c->has_merged = alqi_cli_merge_next(c->merge, &c->merged);
        if (!c->has_merged)
            break;
        status = merged_take(c, &n_left);
    }
    if (status == ALQ_OK && n_left > 0)
        status = exact_take(c, UINT64_MAX, &n_left);
    *is_more = n_left == 0;
    c->result->n_damaged_chunks = n_damaged(c);
    return status;
}

enum alq_status
alqi_cli_conversion_flush(struct alqi_cli_conversion *c)
{
    return alqi_ctf_writer_flush(c->writer);
}

/* A recording may get its first exact chunk after it was opened, so the exact
 * part is looked for each time until it exists. */
enum alq_status
alqi_cli_conversion_more(struct alqi_cli_conversion *c)
{
    if (!alqi_cli_merge_more(c->merge))
        return ALQ_ENOMEM;
    alqi_cli_jit_read(c->jit);
    return c->exact != NULL ? alqi_cli_exact_writer_more(c)
                            : alqi_cli_exact_writer_open(c, c->recording);
}

bool
alqi_cli_conversion_has_times(const struct alqi_cli_conversion *c)
{
    return alqi_cli_exact_writer_has_clock(c->exact);
}

bool
alqi_cli_conversion_is_alike(const struct alqi_cli_conversion *c)
{
    return !(alqi_cli_recording_most_rate(c->recording) > c->most_rate) &&
           !alqi_cli_jit_has_any(c->jit);
}

void
alqi_cli_conversion_read_symbols(struct alqi_cli_conversion *c)
{
    alqi_cli_codes_read_ahead(c->codes);
}

double
alqi_cli_conversion_progress(const struct alqi_cli_conversion *c)
{
    return alqi_cli_merge_progress(c->merge);
}

/* The time of the end record: of the end, if it is known and can be one. */
static uint64_t
end_ns(const struct alqi_cli_conversion *c)
{
    const uint64_t most_ns = UINT64_C(1) << 55; /* a year */
    uint64_t ns = alqi_cli_recording_ended_ns(c->recording);

    return ns > c->last_event_ns && ns - c->last_event_ns < most_ns
               ? ns
               : c->last_event_ns;
}

/* The flush asks for the names of the last packet; only after it do the
 * modules know what their symbols lack. */
enum alq_status
alqi_cli_conversion_end(struct alqi_cli_conversion *c, const char *ended)
{
    enum alq_status status = ALQ_OK;

    if (c->exact != NULL)
        status = alqi_cli_exact_end(c, c->last_event_ns);
    if (status == ALQ_OK) /* names are asked for when their packet is closed */
        status = alqi_ctf_writer_flush(c->writer);
    if (status == ALQ_OK && c->reaches != NULL)
        status = alqi_cli_conversion_reach(c, c->last_event_ns);
    if (status == ALQ_OK)
        status = alqi_cli_conversion_symbols(c, c->last_event_ns);
    return status == ALQ_OK
               ? alqi_cli_conversion_ended(c, end_ns(c), n_damaged(c), ended)
               : status;
}

/* Opens the trace. word_bits 8 marks lengths in bytes, so the rate is one of
 * bytes; header_words=1 in the context says that a block counts one word more
 * than its size. */
static enum alq_status
writer_open(struct alqi_cli_conversion *c, alqi_ctf_packet_fn *packet,
            void *packet_arg)
{
    const struct alqi_raw_header *h = c->header;
    char context[200], params[100];
    struct alqi_ctf_info info = {
        .version = 2,
        .word_bits = 8,
        .rate = c->most_rate / ALQI_WORD_BYTES,
        .start_us = h->start_wall_ns / 1000,
        .pid = h->pid,
        .executable = h->executable,
        .host = h->host,
        .params = params,
        .context = context,
    };

    snprintf(params, sizeof params, "rate=%.17g,depth=%u,seed=%" PRIu64,
             h->rate, h->depth_frames, h->seed);
    snprintf(context, sizeof context,
             "aliquot=%s source=malloc header_words=1 parent=%u%s",
             ALQI_VERSION, h->parent_pid,
             atomic_load(&h->flags) & ALQI_RAW_FORKED ? " forked=1" : "");
    return alqi_ctf_writer_open(&info, packet, packet_arg,
                                alqi_cli_codes_lookup, c->codes, &c->writer);
}

enum alq_status
alqi_cli_conversion_close(struct alqi_cli_conversion *c)
{
    enum alq_status status = ALQ_OK;

    if (c == NULL)
        return ALQ_OK;
    if (c->writer != NULL)
        status = alqi_ctf_writer_close(c->writer);
    alqi_cli_merge_drop(c->merge);
    alqi_cli_codes_drop(c->codes);
    alqi_cli_jit_drop(c->jit);
    alqi_base_map_clear(&c->live);
    alqi_base_map_clear(&c->early);
    alqi_base_map_clear(&c->sizes);
    alqi_base_map_clear(&c->rates);
    alqi_cli_exact_writer_drop(c->exact);
    free(c);
    return status;
}

/* On failure everything made so far is dropped, and *out is NULL. */
enum alq_status
alqi_cli_conversion_open(const struct alqi_cli_recording *recording,
                         uint64_t time_step_us,
                         struct alqi_symbol_table *symbols,
                         alqi_ctf_packet_fn *packet, void *packet_arg,
                         struct alqi_cli_convert_result *result,
                         struct alqi_cli_conversion **out)
{
    struct alqi_cli_conversion *c = calloc(1, sizeof *c);
    enum alq_status status = ALQ_ENOMEM;

    *out = NULL;
    *result = (struct alqi_cli_convert_result){0};
    if (c == NULL)
        return ALQ_ENOMEM;
    c->header = alqi_cli_recording_header(recording);
    c->recording = recording;
    c->result = result;
    c->time_step_us = time_step_us > 1 ? time_step_us : 1;
    c->last_ns = c->header->start_mono_ns;
    c->last_us = c->header->start_wall_ns / 1000;
    c->last_event_ns = c->header->start_mono_ns;
    c->thread = ALQI_CLI_NO_THREAD;
    c->most_rate = c->rate = alqi_cli_recording_most_rate(recording);
    c->merge = alqi_cli_merge_open(recording);
    c->codes = alqi_cli_codes_new(symbols, c->header->executable);
    c->jit = alqi_cli_jit_new(recording);
    if (c->merge != NULL && c->codes != NULL && c->jit != NULL) {
        alqi_cli_jit_read(c->jit);
        alqi_cli_codes_use_jit(c->codes, c->jit);
        status = alqi_cli_exact_writer_open(c, recording);
    }
    if (status == ALQ_OK)
        status = writer_open(c, packet, packet_arg);
    if (status == ALQ_OK)
        status = alqi_cli_conversion_cmdline(c);
    if (status == ALQ_OK)
        *out = c;
    else
        (void)alqi_cli_conversion_close(c);
    return status;
}

enum alq_status
alqi_cli_convert(const struct alqi_cli_recording *recording, const char *ended,
                 uint64_t time_step_us, const struct alqi_cli_reaches *reaches,
                 struct alqi_symbol_table *symbols, alqi_ctf_packet_fn *packet,
                 void *packet_arg, struct alqi_cli_convert_result *result)
{
    struct alqi_cli_conversion *c;
    bool is_more;
    enum alq_status closed,
        status = alqi_cli_conversion_open(recording, time_step_us, symbols,
                                          packet, packet_arg, result, &c);

    if (status != ALQ_OK)
        return status;
    c->reaches = reaches;
    status = alqi_cli_conversion_step(c, UINT64_MAX, &is_more);
    if (status == ALQ_OK)
        status = alqi_cli_conversion_end(c, ended);
    result->n_damaged_chunks = n_damaged(c);
    closed = alqi_cli_conversion_close(c);
    return status == ALQ_OK ? closed : status;
}
