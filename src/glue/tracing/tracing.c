/* tracing.c -- a trace in the making: its streams, packets, flushing, end
 *
 * A trace opens its file and stream 0; further streams (format 3) open when a
 * domain, or a thread of malloc, first allocates. Events gather in a stream's
 * packet, which is written when it is full, when it is a second old, or at the
 * end. The first failure ends the trace: what was put so far is written if it
 * can be, and the reason is logged once. States and invariants stand in
 * tracing.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "glue/tracing/trace_side.h"
#include "glue/tracing/tracing.h"
#include "plat/process.h"
#include "wire/side.h"

enum { NS_PER_US = 1000 };

#define FLUSH_NS UINT64_C(1000000000)

/* One write, so that messages of several processes do not mix. */
void
alqi_tracing_say(const char *format, ...)
{
    char text[ALQI_TRACING_PATH_BYTES + 300];
    va_list args;
    int n = snprintf(text, sizeof text, "aliquot: "), k;

    va_start(args, format);
    k = vsnprintf(text + n, sizeof text - (size_t)n, format, args);
    va_end(args);
    if (k > 0)
        n += (size_t)k < sizeof text - (size_t)n
                 ? k
                 : (int)(sizeof text - (size_t)n) - 1;
    alqi_plat_say_sigsafe(text, (size_t)n);
}

/* ---- time --------------------------------------------------------------- */

uint64_t
alqi_tracing_time_us(const struct alqi_tracing *t, uint64_t mono_ns)
{
    uint64_t us = t->info.start_us + (mono_ns - t->start_mono_ns) / NS_PER_US;

    return us > t->mark_us ? us : t->mark_us;
}

/* Whether the stream has events that have waited for a second. */
static bool
is_old(const struct alqi_tracing_stream *s, uint64_t now_ns)
{
    return s->n_open > 0 && now_ns - s->open_ns >= FLUSH_NS;
}

/* ---- failures ----------------------------------------------------------- */

/* Says why, once; what has been put so far and can be written is. */
static void
fail_locked(struct alqi_tracing *t, enum alq_status status)
{
    int error = t->file.failed_errno;
    bool is_childs = alqi_glue_trace_file_is_childs(&t->file);

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    if (atomic_load(&t->is_over))
        return;
    if (!is_childs)
        alqi_tracing_say("cannot write %s: %s; the trace ends here\n", t->path,
                         error != 0 ? strerror(error)
                                    : alq_status_text(status));
    alqi_tracing_close_locked(t);
}

/* After each event. A packet that was written within the event took all before
 * it along, so the count begins anew. */
void
alqi_tracing_settle_locked(struct alqi_tracing_stream *s,
                           enum alq_status status, uint64_t now_ns)
{
    struct alqi_tracing *t = s->tracing;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    if (s->has_written && status != ALQ_EIO)
        s->n_open = 0;
    s->has_written = false;
    if (status != ALQ_OK) {
        t->counts.dropped++;
        fail_locked(t, status);
        return;
    }
    if (s->n_open++ == 0)
        s->open_ns = now_ns;
    else if (is_old(s, now_ns))
        (void)alqi_tracing_flush_locked(t);
}

/* ---- streams ------------------------------------------------------------ */

/* The writer's function: a whole packet. */
static bool
packet_write(void *arg, const void *bytes, size_t n)
{
    struct alqi_tracing_stream *s = arg;

    s->has_written = true;
    return alqi_glue_trace_file_write(&s->tracing->file, bytes, n);
}

/* Requires the lock, or that nobody has seen the trace. */
enum alq_status
alqi_tracing_stream_open(struct alqi_tracing *t, unsigned number)
{
    struct alqi_tracing_stream *s = calloc(1, sizeof *s);
    enum alq_status status;

    if (s == NULL)
        return ALQ_ENOMEM;
    s->tracing = t;
    s->thread = UINT64_MAX;
    status = alqi_ctf_writer_open_stream(
        &t->info, (uint16_t)number, t->format >= 3 ? &t->next_id : NULL,
        packet_write, s, alqi_glue_trace_names_lookup, &t->names, &s->writer);
    if (status != ALQ_OK) {
        free(s);
        return status;
    }
    s->has_written = false;
    t->streams[number] = s;
    return ALQ_OK;
}

/* The last event of the file has the greatest time: the stream that had the
 * latest event is written last. */
static struct alqi_tracing_stream *
oldest_take_locked(struct alqi_tracing *t)
{
    struct alqi_tracing_stream **best = NULL, *s;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    for (unsigned i = 0; i < ALQI_TRACING_STREAMS_MAX; i++)
        if (t->streams[i] != NULL &&
            (best == NULL || t->streams[i]->last_us < (*best)->last_us))
            best = &t->streams[i];
    if (best == NULL)
        return NULL;
    s = *best;
    *best = NULL;
    return s;
}

/* Writes what is left; what cannot be written counts as dropped. */
static void
stream_close_locked(struct alqi_tracing *t, struct alqi_tracing_stream *s)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    if (alqi_ctf_writer_flush(s->writer) == ALQ_EIO)
        t->counts.dropped += s->n_open;
    (void)alqi_ctf_writer_close(s->writer);
    free(s->last);
    free(s);
}

/* Streams without events have nothing to write. A failure ends the trace, and
 * the streams are gone then. */
int
alqi_tracing_flush_locked(struct alqi_tracing *t)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    for (unsigned i = 0; i < ALQI_TRACING_STREAMS_MAX; i++) {
        struct alqi_tracing_stream *s = t->streams[i];
        enum alq_status status;

        if (s == NULL || s->n_open == 0)
            continue;
        status = alqi_ctf_writer_flush(s->writer);
        s->has_written = false;
        if (status != ALQ_OK) {
            fail_locked(t, status);
            break;
        }
        s->n_open = 0;
    }
    return t->file.failed_errno;
}

/* Called at the end of pauses; a lock that is held means that somebody
 * writes. */
void
alqi_tracing_flush_old(struct alqi_tracing *t)
{
    uint64_t now_ns;
    bool is_due = false;

    if (atomic_load_explicit(&t->is_over, memory_order_acquire) ||
        alqi_glue_trace_file_is_childs(&t->file) ||
        !alqi_plat_lock_try(&t->lock))
        return;
    now_ns = alqi_plat_mono_ns_sigsafe();
    for (unsigned i = 0; i < ALQI_TRACING_STREAMS_MAX; i++)
        is_due |= t->streams[i] != NULL && is_old(t->streams[i], now_ns);
    if (is_due)
        alqi_tracing_flush_locked(t);
    alqi_plat_unlock(&t->lock);
}

/* Rates are compared by < and >: they are kept as they were given. */
unsigned
alqi_tracing_rate_locked(struct alqi_tracing *t, double rate)
{
    unsigned i = 0;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    while (i < t->n_rates && (t->rates[i] < rate || t->rates[i] > rate))
        i++;
    if (i == ALQI_TRACING_RATES_MAX)
        return i - 1;
    t->rates[i] = rate;
    if (i == t->n_rates)
        t->n_rates++;
    return i;
}

/* A record with a text, in the first stream, which is open. */
static enum alq_status
text_put_locked(struct alqi_tracing *t, uint64_t now_ns, uint64_t us,
                enum alq_status (*write)(const struct alqi_side_writer *side,
                                         const char *text),
                const char *text)
{
    struct alqi_tracing_stream *s = t->streams[0];
    const struct alqi_side_writer side = {s->writer, &t->n_texts, us};
    enum alq_status status;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    s->last_us = us;
    status = write(&side, text);
    alqi_tracing_settle_locked(s, status, now_ns);
    return status;
}

/* .inv.apart: all that came before has an earlier time. */
enum alq_status
alqi_tracing_mark_locked(struct alqi_tracing *t, const char *name)
{
    uint64_t now_ns = alqi_plat_mono_ns_sigsafe();

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    if (t->streams[0] == NULL)
        return ALQ_EIO;
    if (t->n_marks == ALQI_SIDE_MARKS_MAX) {
        t->dropped_marks++;
        return ALQ_ETOOBIG;
    }
    t->n_marks++;
    t->mark_us = alqi_tracing_time_us(t, now_ns) + 1;
    return text_put_locked(t, now_ns, t->mark_us, alqi_side_write_phase, name);
}

enum alq_status
alqi_tracing_line_locked(struct alqi_tracing *t, const char *line)
{
    uint64_t now_ns = alqi_plat_mono_ns_sigsafe();

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    if (t->streams[0] == NULL)
        return ALQ_EIO;
    return text_put_locked(t, now_ns, alqi_tracing_time_us(t, now_ns),
                           alqi_side_write_line, line);
}

/* ---- opening and closing ------------------------------------------------ */

/* The command line goes into the file at once, for readers of a trace that is
 * under way. */
static enum alq_status
head_write(struct alqi_tracing *t)
{
    struct alqi_tracing_stream *s = t->streams[0];
    struct alqi_side_writer side = {s->writer, &t->n_texts, t->info.start_us};
    enum alq_status status = alqi_glue_trace_side_cmdline(&side);

    return status == ALQ_OK ? alqi_ctf_writer_flush(s->writer) : status;
}

/* Makes the header's facts and opens stream 0. The texts are on this function's
 * stack, so later streams have none. */
static enum alq_status
streams_begin(struct alqi_tracing *t, const struct alq_trace_config *config)
{
    char executable[1024] = "", host[256] = "", params[200], context[400];
    enum alq_status status;
    int n;

    alqi_plat_executable_sigsafe(executable, sizeof executable);
    (void)gethostname(host, sizeof host - 1);
    n = snprintf(params, sizeof params, "rate=%.17g", config->rate);
    if (config->callstack_frames != SIZE_MAX)
        snprintf(params + n, sizeof params - (size_t)n, ",depth=%zu",
                 config->callstack_frames);
    snprintf(context, sizeof context,
             "aliquot=%s source=%s header_words=1%s%.*s", ALQI_VERSION,
             t->is_malloc ? "malloc" : "heap",
             config->context != NULL ? " " : "", 300,
             config->context != NULL ? config->context : "");
    t->info = (struct alqi_ctf_info){
        .version = (uint16_t)t->format,
        .word_bits = t->is_malloc ? 8 : 64,
        .rate = t->is_malloc ? config->rate / ALQI_WORD_BYTES : config->rate,
        .start_us = alqi_plat_wall_ns_sigsafe() / NS_PER_US,
        .pid = (uint64_t)getpid(),
        .executable = executable,
        .host = host,
        .params = params,
        .context = context,
    };
    t->rates[0] = config->rate;
    t->n_rates = 1;
    t->start_mono_ns = alqi_plat_mono_ns_sigsafe();
    status = alqi_tracing_stream_open(t, 0);
    /* Further streams write none of the texts, but look how long they are. */
    t->info.executable = t->info.host = t->info.params = t->info.context = "";
    return status == ALQ_OK ? head_write(t) : status;
}

/* The working directory of now; "" if it cannot be told. */
static void
full_path_make(struct alqi_tracing *t)
{
    char here[ALQI_TRACING_PATH_BYTES] = "";
    size_t n;

    if (t->path[0] != '/' && getcwd(here, sizeof here) == NULL)
        return;
    n = strlen(here);
    if (n + 1 + strlen(t->path) >= sizeof t->full_path)
        return;
    memcpy(t->full_path, here, n);
    if (n > 0)
        t->full_path[n++] = '/';
    strcpy(t->full_path + n, t->path);
}

/* On failure nothing is left open; the errno is also the file's, so that the
 * end logs nothing. */
int
alqi_tracing_open(struct alqi_tracing *t, const struct alq_trace_config *config,
                  bool is_malloc)
{
    size_t n = strlen(config->path);
    enum alq_status status;
    int error;

    if (n >= sizeof t->path)
        return ENAMETOOLONG;
    alqi_plat_lock_init(&t->lock, ALQI_RANK_GLUE_TRACING);
    memcpy(t->path, config->path, n + 1);
    full_path_make(t);
    t->is_malloc = is_malloc;
    t->format = config->format >= 3 ? 3 : 2;
    error = alqi_glue_trace_file_open(&t->file, config->path);
    if (error != 0)
        return error;
    alqi_glue_trace_names_init(&t->names);
    status = streams_begin(t, config);
    if (status == ALQ_OK)
        return 0;
    error = t->file.failed_errno != 0 ? t->file.failed_errno : ENOMEM;
    alqi_plat_lock(&t->lock);
    t->file.failed_errno = error; /* it has been told of: not to be said */
    alqi_tracing_close_locked(t);
    alqi_plat_unlock(&t->lock);
    return error;
}

/* The record of counts, as the last event of stream 0. */
static void
end_write_locked(struct alqi_tracing *t)
{
    struct alqi_tracing_stream *s = t->streams[0];
    struct alqi_side_writer side;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    if (s == NULL)
        return;
    side = (struct alqi_side_writer){
        s->writer, &t->n_texts,
        alqi_tracing_time_us(t, alqi_plat_mono_ns_sigsafe())};
    s->last_us = side.time_us;
    (void)alqi_glue_trace_side_end(&side, &t->counts, &t->sampled,
                                   t->dropped_marks);
}

/* The first call closes; is_over is set before, so that callbacks turn back. */
int
alqi_tracing_close_locked(struct alqi_tracing *t)
{
    struct alqi_tracing_stream *s;
    int error;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    if (atomic_exchange(&t->is_over, true))
        return t->file.failed_errno;
    if (t->file.failed_errno == 0)
        end_write_locked(t);
    while ((s = oldest_take_locked(t)) != NULL)
        stream_close_locked(t, s);
    error = alqi_glue_trace_file_close(&t->file);
    t->counts.bytes = t->file.n_bytes;
    alqi_glue_trace_names_free(&t->names);
    alqi_base_map_clear(&t->threads);
    return error;
}
