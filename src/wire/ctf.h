/* ctf.h -- memtrace's trace format, versions 1 to 3   [spec memtrace 2 to 12]
 *
 * Pure: bytes and numbers in, bytes and numbers out.  The reader takes its
 * bytes from a callback and holds one packet; the writer hands whole packets
 * to a callback.  Neither opens files.  Bad input is a result, not a crash. */
#ifndef ALQI_WIRE_CTF_H
#define ALQI_WIRE_CTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <aliquot/status.h>

enum {
    ALQI_CTF_PACKET_BYTES_MAX = 32768,
    ALQI_CTF_LINE_MAX = 1048575,
    ALQI_CTF_START_COLUMN_MAX = 255,
    ALQI_CTF_END_COLUMN_MAX = 1023
};

enum alqi_ctf_kind {
    ALQI_CTF_LOCATION,
    ALQI_CTF_ALLOC,
    ALQI_CTF_PROMOTE,
    ALQI_CTF_COLLECT
};

enum alqi_ctf_source {
    ALQI_CTF_MINOR = 0,
    ALQI_CTF_MAJOR = 1,
    ALQI_CTF_EXTERNAL = 2
};

struct alqi_ctf_info {
    uint16_t version; /* 1, 2 or 3 */
    uint8_t word_bits;
    double rate; /* samples per word of word_bits */
    uint64_t start_us;
    uint64_t pid;
    const char *executable;
    const char *host;
    const char *params;
    const char *context; /* "" in version 1 */
};

struct alqi_ctf_entry {
    const char *file;
    const char *function;
    int32_t line;
    int32_t start_column;
    int32_t end_column;
};

struct alqi_ctf_location {
    uint64_t code;
    uint32_t n_entries; /* outermost first, innermost inlined one last */
    const struct alqi_ctf_entry *entries;
};

struct alqi_ctf_event {
    enum alqi_ctf_kind kind;
    uint16_t domain;
    uint64_t time_us; /* since 1970 */
    uint64_t id;      /* of the object; not for locations */
    /* ALLOC */
    int64_t length; /* as coded: words of word_bits, without header */
    int64_t n_samples;
    enum alqi_ctf_source source;
    uint64_t n_shared;     /* as coded; may exceed n_codes (a cut stack) */
    const uint64_t *codes; /* outermost first; until the next event      */
    uint32_t n_codes;
    /* LOCATION */
    struct alqi_ctf_location location; /* until the reader is dropped */
};

/* ---- reader ---------------------------------------------------------- */

/* Reads up to n bytes; 0 at the end of input, -1 on error. */
typedef ptrdiff_t alqi_ctf_read_fn(void *arg, void *bytes, size_t n);

/* Receives each thing passed over without stopping (foreign pid, truncated
 * tail, failed verification ...), with the byte offset of its packet. */
typedef void alqi_ctf_warn_fn(void *arg, uint64_t offset_bytes,
                              const char *text);

struct alqi_ctf_reader;

/* Errors   ALQ_EFORMAT  not a trace, or its first packet is damaged
 *          ALQ_EIO      the callback failed
 *          ALQ_ENOMEM
 * On error alqi_ctf_reader_error(*out) still tells; drop *out in any case. */
ALQ_MUSTUSE enum alq_status alqi_ctf_reader_open(alqi_ctf_read_fn *read,
                                                 void *read_arg,
                                                 alqi_ctf_warn_fn *warn,
                                                 void *warn_arg,
                                                 struct alqi_ctf_reader **out);
void alqi_ctf_reader_drop(struct alqi_ctf_reader *reader);

const struct alqi_ctf_info *
alqi_ctf_reader_info(const struct alqi_ctf_reader *reader);

/* 1: *event is filled; 0: end of the trace; -1: damaged, see error(). */
int alqi_ctf_reader_next(struct alqi_ctf_reader *reader,
                         struct alqi_ctf_event *event);

/* NULL when the code was never announced. */
const struct alqi_ctf_location *
alqi_ctf_reader_location(const struct alqi_ctf_reader *reader, uint64_t code);

/* What went wrong, with packet offset and event number; "" if nothing did. */
const char *alqi_ctf_reader_error(const struct alqi_ctf_reader *reader);

/* At the end of the input: it ends within a packet, or in zeros. */
bool alqi_ctf_reader_is_cut(const struct alqi_ctf_reader *reader);

/* Bytes consumed up to the end of the last good packet. */
uint64_t alqi_ctf_reader_offset_bytes(const struct alqi_ctf_reader *reader);

/* ---- writer ---------------------------------------------------------- */

/* Takes one packet; false ends the trace (ALQ_EIO from then on). */
typedef bool alqi_ctf_packet_fn(void *arg, const void *bytes, size_t n);

/* Fills *out (strings live until the writer is dropped) with what a code
 * expands to; called once for each code, before its first use. */
typedef void alqi_ctf_lookup_fn(void *arg, uint64_t code,
                                struct alqi_ctf_location *out);

struct alqi_ctf_writer;

/* info->version is 2 or 3.  Times are clamped so that they never go back. */
ALQ_MUSTUSE enum alq_status
alqi_ctf_writer_open(const struct alqi_ctf_info *info,
                     alqi_ctf_packet_fn *packet, void *packet_arg,
                     alqi_ctf_lookup_fn *lookup, void *lookup_arg,
                     struct alqi_ctf_writer **out);

/* One stream of several in a trace of format 3, with its own packets.  All
 * share *next_id, which the caller keeps and sets to 0 before the first; that
 * one, number 0, writes what info says of the trace.  Blocks are promoted and
 * collected in the stream that allocated them. */
ALQ_MUSTUSE enum alq_status
alqi_ctf_writer_open_stream(const struct alqi_ctf_info *info, uint16_t domain,
                            uint64_t *next_id, alqi_ctf_packet_fn *packet,
                            void *packet_arg, alqi_ctf_lookup_fn *lookup,
                            void *lookup_arg, struct alqi_ctf_writer **out);

/* *id receives the object's number.  codes: outermost first, none of them 0;
 * an empty stack is written as the placeholder code 1, "[no stack]". */
enum alq_status alqi_ctf_write_alloc(struct alqi_ctf_writer *writer,
                                     uint64_t time_us, uint64_t length,
                                     uint64_t n_samples,
                                     enum alqi_ctf_source source,
                                     const uint64_t *codes, uint32_t n_codes,
                                     uint64_t *id);

/* The same without a copy of the stack, for callers that know what two stacks
 * in turn share.  _stack gives the last allocation's codes, *n_last of them, in
 * room for n_codes, for the caller to change into the next one's; NULL: no
 * memory.  _in_place writes that one, of which codes[0, n_same) were not
 * changed; a call of alqi_ctf_write_alloc in between spoils them. */
uint64_t *alqi_ctf_writer_stack(struct alqi_ctf_writer *writer,
                                uint32_t n_codes, uint32_t *n_last);
enum alq_status alqi_ctf_write_alloc_in_place(struct alqi_ctf_writer *writer,
                                              uint64_t time_us, uint64_t length,
                                              uint64_t n_samples,
                                              enum alqi_ctf_source source,
                                              uint32_t n_codes, uint32_t n_same,
                                              uint64_t *id);

enum alq_status alqi_ctf_write_promote(struct alqi_ctf_writer *writer,
                                       uint64_t time_us, uint64_t id);
enum alq_status alqi_ctf_write_collect(struct alqi_ctf_writer *writer,
                                       uint64_t time_us, uint64_t id);

/* A location record that no stack refers to  [spec memtrace 19].  n_entries
 * may be 0.  Written in event order. */
enum alq_status alqi_ctf_write_side(struct alqi_ctf_writer *writer,
                                    uint64_t time_us,
                                    const struct alqi_ctf_location *location);

/* Closes the open packet; what is written before it is readable after it. */
enum alq_status alqi_ctf_writer_flush(struct alqi_ctf_writer *writer);
/* Flushes and frees; the status of the first failure, if any. */
enum alq_status alqi_ctf_writer_close(struct alqi_ctf_writer *writer);

#endif
