/* memtrace.c -- a trace for memtrace's own tools: in words, or less of it
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
 *             to no sample is left out: others stand for it.
 * .def.share  Of --subsample each sample is left in with that chance, by
 * itself, and the rate is as much lower: a trace as if it had been recorded so.
 * A trace that counts in words has what it had else.
 *
 * With --strip-names equal names are equal numbers, and nothing tells whose
 * trace it is, or of when. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/base.h"
#include "base/map.h"
#include "cli/tool/cli.h"
#include "cli/analysis/estimate.h"
#include "cli/export/export.h"
#include "cli/read/names.h"
#include "cli/read/notes.h"

enum {
    WORD_BITS = 64,
    BYTE_BITS = 8,
    /* more coins are thrown as one: the mean number, rounded */
    COINS_MAX = 1 << 14,
    ENTRIES_MAX = 255
};

struct rewriting {
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_writer *writer;
    struct alqi_cli_names *names; /* of the notes */
    /* the stream and rate of what is read */
    struct alqi_cli_notes notes;
    struct alqi_cli_estimator estimator;
    uint16_t rate;                /* of the allocations that follow */
    struct alqi_base_map written; /* block -> its number here */
    bool is_in_words;             /* what is read */
    double share;                 /* .def.share; 1: all */
    bool strips_names;
    /* taken off all times: the start if names are stripped, else 0 */
    uint64_t origin_us;
    /* of strips_names: the new names, and those of the last location */
    struct alqi_base_arena stripped;
    struct alqi_ctf_entry entries[ENTRIES_MAX];
};

static bool
packet_write(void *arg, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, arg) == n;
}

/* A number in the place of a name; that of no name is none. */
static const char *
stripped(struct rewriting *w, const char *letter, const char *name)
{
    uint32_t number = alqi_cli_names_intern(w->names, name);
    const char *text = "";

    if (number != ALQI_CLI_NO_NAME)
        text =
            alqi_base_arena_printf(&w->stripped, "%s%" PRIu32, letter, number);
    return text != NULL ? text : "";
}

static void
location_strip(struct rewriting *w, struct alqi_ctf_location *l)
{
    if (l->n_entries > ENTRIES_MAX)
        l->n_entries = ENTRIES_MAX;
    for (uint32_t i = 0; i < l->n_entries; i++) {
        w->entries[i] = l->entries[i];
        w->entries[i].file = stripped(w, "file", l->entries[i].file);
        w->entries[i].function = stripped(w, "f", l->entries[i].function);
    }
    l->entries = w->entries;
}

/* The writer's question for a location that it has not written yet. A code that
 * was never announced becomes a location without frames. */
static void
location_find(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    struct rewriting *w = arg;
    const struct alqi_ctf_location *l =
        alqi_ctf_reader_location(w->reader, code);

    *out = l != NULL ? *l : (struct alqi_ctf_location){.code = code};
    if (w->strips_names)
        location_strip(w, out);
}

/* .def.coin */
static uint64_t
rounded(double value, uint64_t id, uint64_t salt)
{
    double whole = floor(value);
    double coin = (double)(alqi_base_mix(id ^ salt << 56) >> 11) * 0x1p-53;

    return (uint64_t)whole + (coin < value - whole);
}

/* .def.share */
static uint64_t
shared(const struct rewriting *w, uint64_t n_samples, uint64_t id)
{
    uint64_t n = 0;

    if (w->share >= 1)
        return n_samples;
    if (n_samples > COINS_MAX)
        return rounded((double)n_samples * w->share, id, 2);
    for (uint64_t i = 0; i < n_samples; i++)
        n += rounded(w->share, alqi_base_mix(id) ^ i, 3);
    return n;
}

/* The block's samples in words, before a share is taken of them. */
static uint64_t
samples_of(struct rewriting *w, const struct alqi_ctf_event *e, uint64_t length)
{
    struct alqi_cli_weight weight;

    if (w->is_in_words)
        return e->n_samples > 0 ? (uint64_t)e->n_samples : 0;
    weight = alqi_cli_weigh(&w->estimator, w->rate, length);
    return rounded(weight.bytes / ALQI_WORD_BYTES * w->estimator.lambda, e->id,
                   1);
}

/* Writes a block, or leaves it out (.prop.sum), and remembers its new
 * number. */
static enum alq_status
alloc_write(struct rewriting *w, const struct alqi_ctf_event *e)
{
    uint64_t length = e->length > 0 ? (uint64_t)e->length : 0;
    uint64_t n_samples = shared(w, samples_of(w, e, length), e->id), number;
    enum alq_status status;

    if (n_samples == 0)
        return ALQ_OK;
    if (!w->is_in_words)
        length = rounded((double)length / ALQI_WORD_BYTES, e->id, 1);
    status = alqi_ctf_write_alloc(w->writer, e->time_us - w->origin_us, length,
                                  n_samples, e->source, e->codes, e->n_codes,
                                  &number);
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
                   ? alqi_ctf_write_promote(w->writer,
                                            e->time_us - w->origin_us, number)
                   : ALQ_OK;
    default:
        return alqi_base_map_take(&w->written, e->id, &number)
                   ? alqi_ctf_write_collect(w->writer,
                                            e->time_us - w->origin_us, number)
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

/* The header of what is written: nothing beside memtrace's own records, and the
 * rate of a word. */
static struct alqi_ctf_info
info_make(const struct rewriting *w)
{
    struct alqi_ctf_info info = *alqi_ctf_reader_info(w->reader);

    info.version = 2;
    info.rate = (w->is_in_words ? info.rate : w->estimator.lambda) * w->share;
    if (!w->is_in_words) {
        info.word_bits = WORD_BITS;
        info.context = "";
    }
    if (w->strips_names) {
        info.executable = info.host = info.params = info.context = "";
        info.pid = 0;
        info.start_us -= w->origin_us;
    }
    return info;
}

/* A write error is the output's to tell, so it counts as success here. */
int
alqi_cli_export_memtrace(const struct alqi_cli_export *export,
                         struct alqi_cli_input *input, FILE *out)
{
    static struct rewriting w;
    struct alqi_ctf_info info;
    enum alq_status status;

    w.reader = alqi_cli_input_reader(input);
    w.is_in_words = alqi_ctf_reader_info(w.reader)->word_bits != BYTE_BITS;
    w.share = export->share > 0 ? export->share : 1;
    w.strips_names = export->strips_names;
    if (w.strips_names)
        w.origin_us = alqi_ctf_reader_info(w.reader)->start_us;
    if (w.is_in_words && w.share >= 1 && !w.strips_names)
        return alqi_cli_usage("export",
                              "export: %s counts in words already, as "
                              "memtrace's tools do: give it to them as it is",
                              alqi_cli_input_name(input));
    alqi_cli_estimator_init(&w.estimator, alqi_ctf_reader_info(w.reader));
    info = info_make(&w);
    status = alqi_ctf_writer_open(&info, packet_write, out, location_find, &w,
                                  &w.writer);
    if (status == ALQ_OK) {
        w.names = alqi_cli_names_new();
        alqi_cli_notes_init(&w.notes, w.names);
        status = events_write(&w, input);
        alqi_cli_notes_free(&w.notes);
        alqi_cli_names_drop(w.names);
    }
    alqi_base_arena_drop(&w.stripped);
    alqi_cli_estimator_free(&w.estimator);
    alqi_base_map_clear(&w.written);
    if (status == ALQ_OK || status == ALQ_EIO) /* which the output says */
        return ALQI_CLI_OK;
    return alqi_cli_unreadable("export: %s: %s", alqi_cli_input_name(input),
                               alq_status_text(status));
}
