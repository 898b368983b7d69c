/* memtrace.c -- a malloc trace in words, for memtrace's own tools
 *
 * Our malloc traces count bytes (words of 8 bits); memtrace's tools take eight
 * bytes for a word whatever the header says.  Here each block has a length in
 * words, and as many samples as make the sum of all samples, over the rate, the
 * bytes that a report of the trace has.
 *
 * .def.coin   What is left over a whole number of words, or of samples, is
 *             rounded up as often as it is large: by a number that the block's
 *             own hashes to, so that every run writes the same file.
 * .prop.sum   So each sum is expected to be what it was.  A block that rounds
 *             to no sample is left out: others stand for it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/map.h"
#include "cli/tool/cli.h"
#include "cli/analysis/estimate.h"
#include "cli/export/memtrace.h"
#include "cli/read/names.h"
#include "cli/read/notes.h"

enum { WORD_BITS = 64, BYTE_BITS = 8 };

struct rewriting {
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_writer *writer;
    struct alqi_cli_names *names; /* of the notes */
    /* the stream and rate of what is read */
    struct alqi_cli_notes notes;
    struct alqi_cli_estimator estimator;
    uint16_t rate;                /* of the allocations that follow */
    struct alqi_base_map written; /* block -> its number here */
};

static bool
packet_write(void *arg, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, arg) == n;
}

/* The writer's question for a location that it has not written yet. A code that
 * was never announced becomes a location without frames. */
static void
location_find(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    const struct rewriting *w = arg;
    const struct alqi_ctf_location *l =
        alqi_ctf_reader_location(w->reader, code);

    *out = l != NULL ? *l : (struct alqi_ctf_location){.code = code};
}

/* .def.coin */
static uint64_t
rounded(double value, uint64_t id, uint64_t salt)
{
    double whole = floor(value);
    double coin = (double)(alqi_base_mix(id ^ salt << 56) >> 11) * 0x1p-53;

    return (uint64_t)whole + (coin < value - whole);
}

/* Writes a block, or leaves it out (.prop.sum), and remembers its new
 * number. */
static enum alq_status
alloc_write(struct rewriting *w, const struct alqi_ctf_event *e)
{
    uint64_t bytes = e->length > 0 ? (uint64_t)e->length : 0;
    struct alqi_cli_weight weight =
        alqi_cli_weigh(&w->estimator, w->rate, bytes);
    double samples = weight.bytes / ALQI_WORD_BYTES * w->estimator.lambda;
    uint64_t n_samples = rounded(samples, e->id, 1), number;
    enum alq_status status;

    if (n_samples == 0)
        return ALQ_OK;
    status = alqi_ctf_write_alloc(
        w->writer, e->time_us,
        rounded((double)bytes / ALQI_WORD_BYTES, e->id, 1), n_samples,
        e->source, e->codes, e->n_codes, &number);
    if (status == ALQ_OK && !alqi_base_map_put(&w->written, e->id, number))
        status = ALQ_ENOMEM;
    return status;
}

/* Looks up the rate that the notes tell now, for the allocations that
 * follow. */
static void
rate_look(struct rewriting *w)
{
    w->rate = alqi_cli_estimator_rate(&w->estimator, w->notes.rate_per_word);
}

/* Side records change what the notes know and are not written. Events of a
 * block that was left out are dropped, too. */
static enum alq_status
event_write(struct rewriting *w, const struct alqi_ctf_event *e)
{
    uint64_t number;

    if (e->domain != w->notes.domain) {
        alqi_cli_notes_stream(&w->notes, e->domain);
        rate_look(w);
    }
    switch (e->kind) {
    case ALQI_CTF_LOCATION:
        if (alqi_cli_notes_take(&w->notes, &e->location))
            rate_look(w);
        return ALQ_OK;
    case ALQI_CTF_ALLOC:
        return alloc_write(w, e);
    case ALQI_CTF_PROMOTE:
        return alqi_base_map_get(&w->written, e->id, &number)
                   ? alqi_ctf_write_promote(w->writer, e->time_us, number)
                   : ALQ_OK;
    default:
        return alqi_base_map_take(&w->written, e->id, &number)
                   ? alqi_ctf_write_collect(w->writer, e->time_us, number)
                   : ALQ_OK;
    }
}

/* The writer is closed on every way out; the first status counts. */
static enum alq_status
events_write(struct rewriting *w, struct alqi_cli_input *input)
{
    enum alq_status status = ALQ_OK, closed;
    struct alqi_ctf_event event;

    while (status == ALQ_OK && alqi_cli_input_next(input, &event))
        status = event_write(w, &event);
    closed = alqi_ctf_writer_close(w->writer);
    return status != ALQ_OK ? status : closed;
}

/* A write error is the output's to tell, so it counts as success here. */
int
alqi_cli_export_memtrace(struct alqi_cli_input *input, FILE *out)
{
    struct rewriting w = {.reader = alqi_cli_input_reader(input)};
    struct alqi_ctf_info info = *alqi_ctf_reader_info(w.reader);
    enum alq_status status;

    if (info.word_bits != BYTE_BITS)
        return alqi_cli_usage("export",
                              "export: %s counts in words already, as "
                              "memtrace's tools do: give it to them as it is",
                              alqi_cli_input_name(input));
    alqi_cli_estimator_init(&w.estimator, &info);
    info.version = 2;
    info.word_bits = WORD_BITS;
    info.rate = w.estimator.lambda;
    info.context = ""; /* nothing beside memtrace's own records */
    status = alqi_ctf_writer_open(&info, packet_write, out, location_find, &w,
                                  &w.writer);
    if (status == ALQ_OK) {
        w.names = alqi_cli_names_new();
        alqi_cli_notes_init(&w.notes, w.names);
        status = events_write(&w, input);
        alqi_cli_notes_free(&w.notes);
        alqi_cli_names_drop(w.names);
    }
    alqi_cli_estimator_free(&w.estimator);
    alqi_base_map_clear(&w.written);
    if (status == ALQ_OK || status == ALQ_EIO) /* which the output says */
        return ALQI_CLI_OK;
    return alqi_cli_unreadable("export: %s: %s", alqi_cli_input_name(input),
                               alq_status_text(status));
}
