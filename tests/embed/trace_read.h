/* trace_read.h -- for tests: a trace read back, and judged by the format's
 * rules
 *
 * Beside what the reader itself refuses or passes over, of which there may be
 * nothing, these are the rules that the real tools assert (spec memtrace 13):
 * ids from 0 without gaps, or in chunks; blocks are promoted once, and only
 * from the minor heap; collected once; no stack is empty; every code of a stack
 * has been announced; each stream's time, and the last event's, is the
 * greatest. */
#ifndef ALQI_EMBED_TRACE_READ_H
#define ALQI_EMBED_TRACE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/ctf.h"

enum {
    READ_EVENTS_MAX = 1 << 20,
    READ_TEXTS_MAX = 8192,
    READ_STREAMS = 128,
    READ_TEXT_BYTES = 200
};

struct read_event {
    enum alqi_ctf_kind kind;
    uint16_t domain;
    uint64_t id;
    uint64_t time_us;
    int64_t length;
    int64_t n_samples;
    enum alqi_ctf_source source;
    uint32_t n_codes;
    uint64_t leaf;  /* innermost code */
    int64_t thread; /* of an allocation, as the side records say; -1 */
};

struct read_trace {
    uint16_t version;
    uint8_t word_bits;
    double rate;
    uint64_t pid;
    char executable[1024];
    char context[400];
    struct read_event *events; /* no location records */
    size_t n_events;
    uint64_t n_allocs, n_promotes, n_collects, n_samples;
    uint64_t n_warnings;         /* of a file that is cut, say */
    char *texts[READ_TEXTS_MAX]; /* side records */
    uint64_t texts_us[READ_TEXTS_MAX];
    size_t n_texts;
    struct alqi_ctf_reader *reader; /* for names, until _drop */
    void *file;
};

/* Fails the test where a rule is broken.  is_cut: warnings are allowed. */
void read_trace(struct read_trace *t, const char *path, bool is_cut);
void read_drop(struct read_trace *t);

/* What the code's innermost entry is called; fails where it has no record. */
const char *read_name(const struct read_trace *t, uint64_t code);
const struct alqi_ctf_entry *read_entry(const struct read_trace *t,
                                        uint64_t code);

/* The text that begins so; NULL. */
const char *read_text(const struct read_trace *t, const char *start);
uint64_t read_number(const char *text, const char *key);

#endif
