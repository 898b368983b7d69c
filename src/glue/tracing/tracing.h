/* tracing.h -- a trace in the making: the tracker that writes it
 *
 *   callbacks of the profile --> one stream, or one for each domain --> packets
 *
 *          start               stop, end of heap or process, failure
 *   (none) -------> under way -----------------------------------------> over
 *
 * A trace that is over stays where it is: a callback that another thread has
 * begun may look at it still, and finds that it is over.
 *
 * Keeps .inv.lock (doc/design/trace.md): All of a trace is under its lock but
 *   `is_over`, which callbacks look at first.  Frames are described outside.
 * Keeps .inv.child: The file's mark is looked at before the lock.
 * Keeps .inv.datum: Only a block that the file has as young may be promoted,
 *   once. */
#ifndef ALQI_GLUE_TRACING_TRACING_H
#define ALQI_GLUE_TRACING_TRACING_H

#include <stdatomic.h>

#include <aliquot/trace.h>

#include "base/map.h"
#include "glue/tracing/trace_file.h"
#include "glue/tracing/trace_names.h"
#include "plat/plat.h"
#include "wire/ctf.h"

enum {
    ALQI_TRACING_STREAMS_MAX = 128,
    ALQI_TRACING_RATES_MAX = 1000,
    ALQI_TRACING_PATH_BYTES = 4096
};

/* A profile that fills a trace: the argument of its tracker. */
struct alqi_tracing_source {
    struct alqi_tracing *tracing;
    unsigned rate; /* number of its rate */
};

struct alqi_tracing_stream {
    struct alqi_tracing *tracing;
    struct alqi_ctf_writer *writer;
    uintptr_t *last; /* the last stack written, outermost first */
    size_t n_last;
    size_t last_capacity;
    bool is_last_native;   /* whose frames `last` has */
    bool has_written;      /* a packet, within the event that is put now */
    uint64_t n_open;       /* events that are in no packet written yet */
    uint64_t open_ns;      /* since when there are any */
    uint64_t last_us;      /* time of its last event */
    uint64_t thread;       /* index, of the last allocation */
    unsigned rate;         /* number, of the last allocation */
    unsigned n_rates_told; /* rates that its side records have */
};

/* A trace; under its lock but for is_over (.inv.lock). is_malloc, format and
 * the paths stay as they are from the opening on. */
struct alqi_tracing {
    struct alqi_plat_lock lock;
    /* written under the lock, read without it (.inv.lock) */
    atomic_bool is_over;
    bool is_malloc;
    bool has_new_modules; /* since the last were told */
    /* 2: one stream; 3: one for each domain or thread */
    unsigned format;
    unsigned n_modules; /* told */
    struct alqi_glue_trace_file file;
    struct alqi_glue_trace_names names;
    struct alqi_ctf_info info;
    /* the moment of info.start_us, by the clock that never goes back */
    uint64_t start_mono_ns;
    uint64_t next_id;                     /* format 3: the streams' */
    uint64_t n_texts;                     /* side records with a text, so far */
    double rates[ALQI_TRACING_RATES_MAX]; /* samples a word; [0]: the trace's */
    unsigned n_rates;
    struct alqi_base_map threads; /* who -> index * 2 + 2, + 1 when told */
    /* NULL: not open */
    struct alqi_tracing_stream *streams[ALQI_TRACING_STREAMS_MAX];
    /* of all streams; bytes counts when it is over */
    struct alq_trace_counts counts;
    struct alq_memprof_counts sampled; /* the profile's, at the end */
    uint64_t mark_us; /* time of the last mark: none is earlier from there on */
    uint64_t n_marks, dropped_marks;
    char path[ALQI_TRACING_PATH_BYTES]; /* as it was given */
    /* absolute; "": not known */
    char full_path[ALQI_TRACING_PATH_BYTES];
};

/* The tracker of its profiles; arg: the source. */
extern const struct alq_tracker alqi_tracing_tracker;

/* A block as a trace that is under way knows it. */
struct alqi_tracing_object {
    unsigned stream;
    uint64_t id; /* in it */
};

/* Whether a block of this tracker and datum is in a trace under way, and there:
 * *out. */
bool alqi_tracing_knows(const struct alq_tracker *tracker, uintptr_t datum,
                        struct alqi_tracing_object *out);

/* Opens the file and its first stream.  0, or errno: ENOMEM too; EAGAIN:
 * another process writes the file.  `config` is right. */
int alqi_tracing_open(struct alqi_tracing *tracing,
                      const struct alq_trace_config *config, bool is_malloc);

/* The number of a rate; of the last one that there was room for, if there have
 * been too many. */
unsigned alqi_tracing_rate_locked(struct alqi_tracing *tracing, double rate);

/* Ends the tracing: writes what can be written, and closes the file. 0, or the
 * errno of the first failure. */
int alqi_tracing_close_locked(struct alqi_tracing *tracing);

/* 0, or errno. */
int alqi_tracing_flush_locked(struct alqi_tracing *tracing);

/* A phase begins; the name is as alqi_side_mark_name makes it.  ALQ_ETOOBIG:
 * there are too many; ALQ_EIO: the trace is over. */
enum alq_status alqi_tracing_mark_locked(struct alqi_tracing *tracing,
                                         const char *name);

/* A line of the trace's own, at this moment. */
enum alq_status alqi_tracing_line_locked(struct alqi_tracing *tracing,
                                         const char *line);

/* Writes what has waited for long, unless somebody is writing. */
void alqi_tracing_flush_old(struct alqi_tracing *tracing);

/* ---- for the tracker ---------------------------------------------------- */

/* From the wall clock's time at the start on, by one that never goes back
 * (.inv.apart of doc/design/marks.md). */
uint64_t alqi_tracing_time_us(const struct alqi_tracing *tracing,
                              uint64_t mono_ns);

enum alq_status alqi_tracing_stream_open(struct alqi_tracing *tracing,
                                         unsigned number);

/* What became of an event that was put into the stream.  It may be over then,
 * and its streams gone. */
void alqi_tracing_settle_locked(struct alqi_tracing_stream *stream,
                                enum alq_status status, uint64_t now_ns);

/* Prints on stderr, "aliquot: " first. */
void alqi_tracing_say(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

#endif
