/* stream.h -- sequences of chunks that threads write   [doc/design/preload.md]
 *
 * .inv.stream  A stream is used by the one thread whose state names it, or is
 *              in the pool. */
#ifndef ALQI_PRELOAD_STREAM_H
#define ALQI_PRELOAD_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/file.h"
#include "preload/preload.h"
#include "wire/raw.h"

enum { ALQI_PRELOAD_STREAMS_MAX = 1 << 16 };

struct alqi_preload_stream {
    /* All fields: its thread's (.inv.stream). */
    struct alqi_raw_encoder encoder;     /* of the chunk                     */
    struct alqi_raw_chunk_header *chunk; /* filling; NULL: none yet          */
    struct alqi_preload_stream *next;    /* in the pool                      */
    uint32_t index;                      /* number in the recording          */
    uint32_t sequence;                   /* of the next chunk, from 0        */
    enum alqi_raw_chunk_kind kind;       /* of its chunks; constant          */
    bool has_stack; /* the chunk has an allocation to share frames with      */
    uint64_t notes; /* base of the notes of stacks that are numbered in the
                       chunk; no other chunk of the process has it           */
};

/* Makes the recording if there is none yet; false: no file can be made. */
bool alqi_preload_stream_file(void);

/* Makes the recording if there is none yet, at that rate and named by the
 * pattern `out`, of at most 1023 bytes, or NULL: as configured.  False: no file
 * can be made. */
bool alqi_preload_stream_file_of(double rate, const char *out);
bool alqi_preload_stream_has_file(void);

/* A fresh chunk for the stream; the old one, if any, is full. */
bool alqi_preload_stream_turn(struct alqi_preload_stream *stream,
                              uint64_t now_ns);

/* The thread's stream with room for an event, its thread announced; NULL when
 * there is no space. */
struct alqi_preload_stream *
alqi_preload_stream_ready_slow(struct alqi_preload_thread *thread,
                               uint64_t now_ns);

static inline struct alqi_preload_stream *
alqi_preload_stream_ready(struct alqi_preload_thread *thread, uint64_t now_ns)
{
    struct alqi_preload_stream *s = thread->stream;

    return ALQI_LIKELY(s != NULL && s->chunk != NULL && thread->is_announced)
               ? s
               : alqi_preload_stream_ready_slow(thread, now_ns);
}

/* Writes the thread's name when the stream has not got it or another. */
bool alqi_preload_stream_announce(struct alqi_preload_thread *thread,
                                  uint64_t now_ns);

/* The thread ends: its stream goes to the pool. */
void alqi_preload_stream_give(struct alqi_preload_thread *thread);

/* No stream gets an event from now on but from threads that are inside the
 * engine. */
void alqi_preload_streams_end(void);

/* All threads have been outside the engine since streams_end(): each stream
 * goes to the pool, for another recording, and the file is unmapped. */
void alqi_preload_streams_close(void);

/* Starts a stream over; none of its chunks is mapped any more. */
void alqi_preload_stream_renew(struct alqi_preload_stream *stream);

/* In a forked child: all streams are the parent's. */
void alqi_preload_streams_fork_child(void);

static inline void
alqi_preload_stream_commit(struct alqi_preload_stream *s)
{
    alqi_preload_file_commit(s->chunk, s->encoder.at);
}

#endif
