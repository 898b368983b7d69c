/* heap_trace.c -- the trace of a managed heap, copied with better names
 *
 * [heap_trace.h] The events go through unchanged, from a reader to a writer.
 * Only names change: module records are noted in codes, and an address in a
 * module with debug information is resolved from its file (lookup). All other
 * names are those that the process wrote.
 *
 * Phases: open -> step, again and again -> end (an end record, if the process
 * left none) -> close. The writer asks lookup for names while the reader still
 * lives, so both live until close. */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/convert/codes.h"
#include "cli/convert/heap_trace.h"
#include "cli/convert/reach.h"
#include "wire/code.h"
#include "wire/side.h"
#include "wire/side_write.h"

/* Bounds: a side record's text, the bits of an address (as in codes.c), and
 * rate numbers that a trace may use. */
enum { RATES_MOST = 65535 };

/* Numbers of texts of ours: the process's own are counted from 0. */
#define OWN_TEXTS (ALQI_SIDE_NUMBER_MASK / 2)

struct alqi_cli_heap_rewriting {
    /* the old trace; owned; also answers for its own names */
    struct alqi_ctf_reader *reader;
    /* the new trace; owned; NULL until it is open */
    struct alqi_ctf_writer *writer;
    /* modules of the process; owned */
    struct alqi_cli_codes *codes;
    /* scratch of module_take; a member because it is large */
    struct alqi_raw_event module;
    /* time of the last event, for the end record */
    uint64_t last_us;
    /* samples per word of 8 bytes, of the next allocation */
    double lambda;
    /* samples per word, by the trace's rate number; owned */
    double *rates;
    uint32_t n_rates;
    /* the process wrote its end record */
    bool has_end;
    /* a trace of malloc, where lengths are bytes, not words */
    bool is_bytes;
    /* of blocks that live at the end; NULL: not known, or written already */
    const struct alqi_cli_reaches *reaches;
    /* what they tell, by id; UNTOLD once the block died; owned */
    struct alqi_cli_told *told;
    size_t n_told;
    /* the caller's counts */
    struct alqi_cli_heap_result *result;
};

/* Reads from a FILE (alqi_ctf_read_fn). */
static ptrdiff_t
read_bytes(void *arg, void *bytes, size_t n)
{
    size_t k = fread(bytes, 1, n, arg);

    return k == 0 && ferror((FILE *)arg) ? -1 : (ptrdiff_t)k;
}

/* Drops a reader's warning: a process that was killed leaves its last packet
 * cut. */
static void
warned(void *arg, uint64_t offset_bytes, const char *text)
{
    (void)arg;
    (void)offset_bytes;
    (void)text;
}

/* ---- the head ----------------------------------------------------------- */

bool
alqi_cli_heap_trace_head(const char *path, struct alqi_cli_heap_head *head,
                         char *error, size_t error_bytes)
{
    struct alqi_ctf_reader *reader = NULL;
    FILE *in = fopen(path, "rb");
    enum alq_status status;

    if (in == NULL) {
        snprintf(error, error_bytes, "it cannot be opened");
        return false;
    }
    status = alqi_ctf_reader_open(read_bytes, in, warned, NULL, &reader);
    if (status == ALQ_OK) {
        const struct alqi_ctf_info *info = alqi_ctf_reader_info(reader);

        head->pid = info->pid;
        head->version = info->version;
        snprintf(head->executable, sizeof head->executable, "%s",
                 info->executable);
    } else {
        snprintf(error, error_bytes, "%s",
                 reader != NULL ? alqi_ctf_reader_error(reader)
                                : alq_status_text(status));
    }
    alqi_ctf_reader_drop(reader);
    fclose(in);
    return status == ALQ_OK;
}

/* The writing process holds a lock on its trace for as long as it lives. */
bool
alqi_cli_heap_trace_is_live(const char *path)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    bool is_live;

    if (fd < 0)
        return false;
    is_live = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return is_live;
}

/* ---- side records ------------------------------------------------------- */

/* Turns digit pairs into bytes, at most capacity; returns how many. An odd
 * last digit is left out. */
static uint32_t
bytes_from_hex(const char *text, uint8_t *bytes, size_t capacity)
{
    uint32_t n = 0;
    unsigned value;

    for (; n < capacity && sscanf(text, "%2x", &value) == 1 && text[1] != '\0';
         text += 2)
        bytes[n++] = (uint8_t)value;
    return n;
}

/* Makes a raw module event of a module record: codes.h takes those. */
static enum alq_status
module_take(struct alqi_cli_heap_rewriting *w, const char *line)
{
    struct alqi_raw_event *e = &w->module;
    const struct alqi_cli_module *module;
    char id[2 * sizeof e->build_id + 1] = "";

    memset(e, 0, sizeof *e);
    e->kind = ALQI_RAW_MODULE;
    e->start = alqi_side_get_number(line, "start", 16);
    e->end = alqi_side_get_number(line, "end", 16);
    e->bias = alqi_side_get_number(line, "bias", 16);
    alqi_side_get(line, "path", e->path, sizeof e->path);
    alqi_side_get(line, "build_id", id, sizeof id);
    e->build_id_bytes = bytes_from_hex(id, e->build_id, sizeof e->build_id);
    return alqi_cli_codes_module(w->codes, e, &module) ? ALQ_OK : ALQ_ENOMEM;
}

/* Notes a rate by its number. Numbers in a gap get the current rate. */
static enum alq_status
rate_take(struct alqi_cli_heap_rewriting *w, const char *line)
{
    char value[40];
    uint64_t i = UINT64_MAX;
    double *grown;

    if (alqi_side_get(line, "index", value, sizeof value))
        i = strtoull(value, NULL, 10);
    if (i >= RATES_MOST ||
        !alqi_side_get(line, "per_word", value, sizeof value))
        return ALQ_OK;
    if (i >= w->n_rates) {
        grown = reallocarray(w->rates, i + 1, sizeof *grown);
        if (grown == NULL)
            return ALQ_ENOMEM;
        for (; w->n_rates <= i; w->n_rates++)
            grown[w->n_rates] = w->lambda;
        w->rates = grown;
    }
    w->rates[i] = strtod(value, NULL);
    return ALQ_OK;
}

/* A RATE mark sets the rate of the allocations that follow. */
static void
rate_switch(struct alqi_cli_heap_rewriting *w, uint64_t code)
{
    uint64_t i = code & ALQI_SIDE_NUMBER_MASK;

    if ((code & ALQI_SIDE_KIND_MASK) == ALQI_SIDE_RATE && i < w->n_rates)
        w->lambda = w->rates[i];
}

/* ---- who holds what is left ---------------------------------------------- */

static int
told_compare(const void *left, const void *right)
{
    const struct alqi_cli_told *a = left, *b = right;

    return a->id < b->id ? -1 : a->id > b->id;
}

/* All streams of a trace number their objects together: by ids. */
static enum alq_status
told_make(struct alqi_cli_heap_rewriting *w, const struct alqi_cli_reaches *r)
{
    w->told = malloc((r->n + 1) * sizeof *w->told);
    if (w->told == NULL)
        return ALQ_ENOMEM;
    for (size_t i = 0; i < r->n; i++)
        w->told[i] = (struct alqi_cli_told){.id = r->at[i].number,
                                            .holder = r->at[i].holder,
                                            .reach = r->at[i].reach};
    w->n_told = r->n;
    if (r->n > 0)
        qsort(w->told, r->n, sizeof *w->told, told_compare);
    w->reaches = r;
    return ALQ_OK;
}

/* It died behind the look (wire/reach.h, .inv.told). */
static void
told_forget(struct alqi_cli_heap_rewriting *w, uint64_t id)
{
    const struct alqi_cli_told key = {.id = id};
    struct alqi_cli_told *told =
        w->n_told == 0
            ? NULL
            : bsearch(&key, w->told, w->n_told, sizeof key, told_compare);

    if (told != NULL)
        told->reach = ALQI_VIEW_UNTOLD;
}

/* Before the end record, once. */
static enum alq_status
told_write(struct alqi_cli_heap_rewriting *w)
{
    const struct alqi_cli_reaches *r = w->reaches;
    uint64_t number = OWN_TEXTS;
    const struct alqi_side_writer side = {w->writer, &number, w->last_us};
    size_t n = 0;

    if (r == NULL)
        return ALQ_OK;
    w->reaches = NULL;
    for (size_t i = 0; i < w->n_told; i++)
        if (w->told[i].reach != ALQI_VIEW_UNTOLD)
            w->told[n++] = w->told[i];
    w->n_told = 0;
    return alqi_cli_told_write(r, w->told, n, &side);
}

/* ---- side records ------------------------------------------------------- */

static enum alq_status
end_take(struct alqi_cli_heap_rewriting *w, const char *line)
{
    char value[32];

    w->has_end = true;
    if (alqi_side_get(line, "dropped_space", value, sizeof value))
        w->result->n_dropped = strtoull(value, NULL, 10);
    return told_write(w);
}

/* Takes what concerns this file from a line.  *stays: it is to be copied; a
 * snapshot that lay beside the old trace does not lie beside the new one. */
static enum alq_status
line_take(struct alqi_cli_heap_rewriting *w, const char *line, bool *stays)
{
    char word[16];

    *stays = true;
    if (!alqi_side_get(line, NULL, word, sizeof word))
        return ALQ_OK;
    *stays = strcmp(word, "snapshot") != 0;
    if (strcmp(word, "module") == 0)
        return module_take(w, line);
    if (strcmp(word, "rate") == 0)
        return rate_take(w, line);
    if (strcmp(word, "end") == 0)
        return end_take(w, line);
    return ALQ_OK;
}

static enum alq_status
side_take(struct alqi_cli_heap_rewriting *w, const struct alqi_ctf_event *e)
{
    const struct alqi_ctf_location *l = &e->location;
    enum alq_status status = ALQ_OK;
    bool stays = true;

    if (l->n_entries > 0)
        status = line_take(w, l->entries[0].function, &stays);
    rate_switch(w, l->code);
    return status == ALQ_OK && stays
               ? alqi_ctf_write_side(w->writer, e->time_us, l)
               : status;
}

/* Writes an end record for a process that wrote none. Its number is the last
 * possible one, so it meets no record of the process. */
static enum alq_status
end_write(struct alqi_cli_heap_rewriting *w, const char *ended)
{
    uint64_t number = ALQI_SIDE_NUMBER_MASK;
    struct alqi_side_writer side = {w->writer, &number, w->last_us};
    char text[ALQI_SIDE_LINE_BYTES];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);

    alqi_side_text(&line, NULL, "end");
    alqi_side_number(&line, "samples", w->result->n_allocs);
    alqi_side_text(&line, "ended", ended);
    return alqi_side_write_line(&side, text);
}

/* ---- events ------------------------------------------------------------- */

/* Names for the writer (alqi_ctf_lookup_fn). A code may be an address
 * (wire/code.h). If it lies in a module whose symbols name it, those names win;
 * "module+0x.." is no better than what the process wrote. If neither is known,
 * *out stays as the writer set it. */
static void
lookup(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    struct alqi_cli_heap_rewriting *w = arg;
    const struct alqi_ctf_location *given =
        alqi_ctf_reader_location(w->reader, code);
    bool is_address = alqi_code_has_room(code);

    if (is_address && alqi_cli_codes_from(w->codes, code, 0) == code) {
        alqi_cli_codes_lookup(w->codes, code, out);
        /* module+offset: what the process knew is no less */
        if (out->n_entries > 0 &&
            strstr(out->entries[0].function, "+0x") == NULL)
            return;
    }
    if (given != NULL)
        *out = *given;
}

/* Adds the estimated bytes of a sampled allocation. A heap block counts one
 * header word more than its length. */
static void
estimate_add(struct alqi_cli_heap_rewriting *w, const struct alqi_ctf_event *e)
{
    double length = (double)e->length;
    double words = w->is_bytes
                       ? (double)alqi_base_malloc_words((uint64_t)e->length)
                       : length + 1;
    double bytes = w->is_bytes ? length : words * ALQI_WORD_BYTES;
    double p = w->lambda < 1 ? -expm1(words * log1p(-w->lambda)) : 1;

    if (p > 0)
        w->result->allocated_bytes += bytes / p;
}

static enum alq_status
alloc_take(struct alqi_cli_heap_rewriting *w, const struct alqi_ctf_event *e)
{
    uint64_t id;

    w->result->n_allocs++;
    estimate_add(w, e);
    return alqi_ctf_write_alloc(w->writer, e->time_us, (uint64_t)e->length,
                                (uint64_t)e->n_samples, e->source, e->codes,
                                e->n_codes, &id);
}

/* Copies one event. Plain locations are left out: the writer makes its own
 * through lookup. */
static enum alq_status
event_take(struct alqi_cli_heap_rewriting *w, const struct alqi_ctf_event *e)
{
    w->last_us = e->time_us;
    switch (e->kind) {
    case ALQI_CTF_LOCATION:
        return alqi_side_is(e->location.code) ? side_take(w, e) : ALQ_OK;
    case ALQI_CTF_ALLOC:
        return alloc_take(w, e);
    case ALQI_CTF_PROMOTE:
        w->result->n_promotes++;
        return alqi_ctf_write_promote(w->writer, e->time_us, e->id);
    case ALQI_CTF_COLLECT:
        told_forget(w, e->id);
        return alqi_ctf_write_collect(w->writer, e->time_us, e->id);
    }
    return ALQ_EFORMAT;
}

/* ---- in steps ----------------------------------------------------------- */

/* Opens the new trace with the old one's header, so rates and word size
 * stay. */
static enum alq_status
writer_open(struct alqi_cli_heap_rewriting *w,
            struct alqi_symbol_table *symbols, alqi_ctf_packet_fn *packet,
            void *packet_arg)
{
    const struct alqi_ctf_info *info = alqi_ctf_reader_info(w->reader);

    w->is_bytes = info->word_bits == 8;
    w->lambda = w->is_bytes ? info->rate * ALQI_WORD_BYTES : info->rate;
    w->last_us = info->start_us;
    w->codes = alqi_cli_codes_new(symbols, info->executable);
    if (w->codes == NULL)
        return ALQ_ENOMEM;
    return alqi_ctf_writer_open(info, packet, packet_arg, lookup, w,
                                &w->writer);
}

/* On failure all is dropped and *out is NULL. */
enum alq_status
alqi_cli_heap_rewriting_open(alqi_ctf_read_fn *read, void *read_arg,
                             struct alqi_symbol_table *symbols,
                             alqi_ctf_packet_fn *packet, void *packet_arg,
                             struct alqi_cli_heap_result *result,
                             struct alqi_cli_heap_rewriting **out)
{
    struct alqi_cli_heap_rewriting *w = calloc(1, sizeof *w);
    enum alq_status status;

    *out = NULL;
    *result = (struct alqi_cli_heap_result){0};
    if (w == NULL)
        return ALQ_ENOMEM;
    w->result = result;
    status = alqi_ctf_reader_open(read, read_arg, warned, NULL, &w->reader);
    if (status == ALQ_OK)
        status = writer_open(w, symbols, packet, packet_arg);
    if (status == ALQ_OK)
        *out = w;
    else
        (void)alqi_cli_heap_rewriting_close(w);
    return status;
}

/* *is_more is false when the reader came to its end, which may be a packet
 * that is not whole yet. */
enum alq_status
alqi_cli_heap_rewriting_step(struct alqi_cli_heap_rewriting *w, uint64_t n_most,
                             bool *is_more)
{
    enum alq_status status = ALQ_OK;
    struct alqi_ctf_event e;
    int got = 1;

    for (uint64_t i = 0; status == ALQ_OK && i < n_most; i++) {
        got = alqi_ctf_reader_next(w->reader, &e);
        if (got <= 0)
            break;
        status = event_take(w, &e);
    }
    *is_more = got > 0;
    w->result->is_cut = !w->has_end;
    return status;
}

enum alq_status
alqi_cli_heap_rewriting_flush(struct alqi_cli_heap_rewriting *w)
{
    return alqi_ctf_writer_flush(w->writer);
}

const char *
alqi_cli_heap_rewriting_damage(const struct alqi_cli_heap_rewriting *w)
{
    return alqi_ctf_reader_error(w->reader);
}

static enum alq_status
rewriting_end(struct alqi_cli_heap_rewriting *w, const char *ended)
{
    enum alq_status status = told_write(w);

    return status == ALQ_OK && !w->has_end ? end_write(w, ended) : status;
}

enum alq_status
alqi_cli_heap_rewriting_close(struct alqi_cli_heap_rewriting *w)
{
    enum alq_status status = ALQ_OK;

    if (w == NULL)
        return ALQ_OK;
    if (w->writer != NULL)
        status = alqi_ctf_writer_close(w->writer);
    alqi_ctf_reader_drop(w->reader);
    alqi_cli_codes_drop(w->codes);
    free(w->rates);
    free(w->told);
    free(w);
    return status;
}

/* ---- at once ------------------------------------------------------------ */

enum alq_status
alqi_cli_heap_trace_write(const char *path, const char *ended,
                          const struct alqi_cli_reaches *reaches,
                          struct alqi_symbol_table *symbols,
                          alqi_ctf_packet_fn *packet, void *packet_arg,
                          struct alqi_cli_heap_result *result)
{
    struct alqi_cli_heap_rewriting *w;
    FILE *in = fopen(path, "rb");
    enum alq_status status, closed;
    bool is_more;

    *result = (struct alqi_cli_heap_result){0};
    if (in == NULL)
        return ALQ_EIO;
    status = alqi_cli_heap_rewriting_open(read_bytes, in, symbols, packet,
                                          packet_arg, result, &w);
    if (status == ALQ_OK && reaches != NULL)
        status = told_make(w, reaches);
    if (status == ALQ_OK)
        status = alqi_cli_heap_rewriting_step(w, UINT64_MAX, &is_more);
    if (status == ALQ_OK)
        status = rewriting_end(w, ended);
    closed = alqi_cli_heap_rewriting_close(w);
    fclose(in);
    return status == ALQ_OK ? closed : status;
}
