/* follow.c -- see follow.h
 *
 *   recording --conversion, as it grows--------------> packets --\
 *   trace of ours, whole packets --frames get lines--> packets ---> reader -->
 *   any other trace, whole packets as they come ----------------/    analysis
 *
 * Keeps .inv.whole (doc/design/top.md): Where there is no whole packet the
 *   reader comes to the end of its input, and goes on when asked again.
 * Keeps .inv.last: Whether the writer is there is looked at before what it has
 *   written. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_name.h"
#include "cli/analysis/view_index.h"
#include "cli/tool/cli.h"
#include "cli/convert/convert.h"
#include "cli/live/follow.h"
#include "cli/convert/heap_trace.h"
#include "cli/read/input.h"
#include "cli/tool/proc.h"
#include "wire/ctf_packet.h"

enum {
    STEP_EVENTS = 4096,
    BLOCK_BYTES = 256 * 1024,
    PAUSE_SHARE = 10 /* of the time that reading it anew takes */
};

/* Bytes between from and to are to be read; capacity bytes are there. */
struct queue {
    uint8_t *bytes;
    size_t from, to, capacity;
};

struct alqi_cli_follow {
    char *path;
    pid_t pid;          /* of a recording's writer, as it is known here */
    struct queue queue; /* for the reader */
    /* anew whenever the file is read from its beginning */
    struct alqi_ctf_reader *reader;
    struct alqi_cli_analysis analysis;
    /* is_over: nothing more will be read */
    bool has_analysis, is_over;
    /* rows are valid while has_analysis, if the caller wants an index */
    bool is_indexed;
    struct alqi_cli_rows rows;
    const char *failed;    /* NULL, or why it ends */
    char damage[300];      /* "" or why nothing more is read */
    bool is_raw, is_exact; /* of a recording */
    /* NULL: it is a trace */
    struct alqi_cli_recording *recording;
    /* kept over recordings that are opened anew; NULL: of no use */
    struct alqi_symbol_table *symbols;
    struct alqi_cli_conversion *conversion;
    struct alqi_cli_convert_result result;
    uint64_t again_us; /* exact: not read anew before */
    /* of the file, recording or trace; -1: none */
    int fd;
    /* whole packets taken; the size when last looked at */
    uint64_t at_bytes, size_bytes;
    struct queue file;                         /* what was read of it */
    struct alqi_cli_heap_rewriting *rewriting; /* NULL: it goes as it is */
    struct alqi_cli_heap_result heap_result;
};

/* Ends the following for good, with a reason. */
static void
fail(struct alqi_cli_follow *f, const char *why)
{
    snprintf(f->damage, sizeof f->damage, "%s", why);
    f->is_over = true;
}

/* ---- packets ------------------------------------------------------------- */

/* Makes room for n bytes behind `to`; moves what is left to the front. */
static void
queue_room(struct queue *q, size_t n)
{
    if (q->from > 0) {
        memmove(q->bytes, q->bytes + q->from, q->to - q->from);
        q->to -= q->from;
        q->from = 0;
    }
    if (q->to + n <= q->capacity)
        return;
    q->capacity = 2 * (q->to + n);
    q->bytes = alqi_cli_realloc(q->bytes, q->capacity, 1);
}

/* The output of the conversion, or of the rewriting: a packet goes into the
 * queue. */
static bool
packet_put(void *arg, const void *bytes, size_t n)
{
    struct alqi_cli_follow *f = arg;

    queue_room(&f->queue, n);
    memcpy(f->queue.bytes + f->queue.to, bytes, n);
    f->queue.to += n;
    return true;
}

/* Reads the trace from at_bytes on; the descriptor's position does not
 * count. */
static ptrdiff_t
block_read(struct alqi_cli_follow *f, uint8_t *bytes, size_t n)
{
    ptrdiff_t got;

    do
        got = pread(f->fd, bytes, n, (off_t)f->at_bytes);
    while (got < 0 && errno == EINTR);
    return got;
}

/* Bytes of the packet that begins there; 0: it is not whole.  What is no packet
 * is the reader's to judge. */
static size_t
packet_bytes(const uint8_t *at, size_t n)
{
    struct alqi_wire_in in = {.at = at, .end = at + n};
    struct alqi_packet packet;

    if (n < ALQI_PACKET_HEADER_BYTES_V3)
        return 0;
    if (alqi_packet_read(&in, &packet) != NULL ||
        packet.n_bytes < ALQI_PACKET_HEADER_BYTES_V3 ||
        packet.n_bytes > ALQI_CTF_PACKET_BYTES_MAX)
        return n;
    return packet.n_bytes <= n ? packet.n_bytes : 0;
}

/* Takes as many packets of the trace as are whole in the next block. */
static void
packets_take(struct alqi_cli_follow *f)
{
    struct queue *q = &f->file;
    size_t n = 0, one;
    ptrdiff_t got;

    queue_room(q, BLOCK_BYTES);
    got = block_read(f, q->bytes + q->to, BLOCK_BYTES);
    if (got <= 0)
        return;
    while ((one = packet_bytes(q->bytes + q->to + n, (size_t)got - n)) > 0)
        n += one;
    q->to += n;
    f->at_bytes += n;
}

/* Moves up to n bytes out of the queue; 0 is the reader's end of input
 * (.inv.whole). */
static ptrdiff_t
queue_take(struct queue *q, void *bytes, size_t n)
{
    if (n > q->to - q->from)
        n = q->to - q->from;
    if (n > 0)
        memcpy(bytes, q->bytes + q->from, n);
    q->from += n;
    return (ptrdiff_t)n;
}

/* The reader's, or the rewriting's, input: a trace's whole packets. */
static ptrdiff_t
file_read(void *arg, void *bytes, size_t n)
{
    struct alqi_cli_follow *f = arg;

    if (f->file.from == f->file.to)
        packets_take(f);
    return queue_take(&f->file, bytes, n);
}

/* The reader's input: packets that were made here. */
static ptrdiff_t
packets_read(void *arg, void *bytes, size_t n)
{
    struct alqi_cli_follow *f = arg;

    return queue_take(&f->queue, bytes, n);
}

/* Oddities are aliquot check's business. */
static void
warning_pass(void *arg, uint64_t offset_bytes, const char *text)
{
    (void)arg;
    (void)offset_bytes;
    (void)text;
}

/* ---- events -------------------------------------------------------------- */

/* Opens reader and analysis on the queue, or on the file itself. */
static bool
analysis_open(struct alqi_cli_follow *f)
{
    struct alqi_cli_analysis_options options = {.watch = NULL};
    alqi_ctf_read_fn *read =
        f->is_raw || f->rewriting != NULL ? packets_read : file_read;

    if (alqi_ctf_reader_open(read, f, warning_pass, NULL, &f->reader) != ALQ_OK)
        return false;
    if (f->is_indexed)
        alqi_cli_rows_begin(&f->rows, &f->analysis, &options);
    alqi_cli_analysis_begin(&f->analysis, f->reader, &options);
    f->has_analysis = true;
    return true;
}

/* Forgets all that was read. */
static void
analysis_close(struct alqi_cli_follow *f)
{
    if (f->has_analysis)
        alqi_cli_analysis_free(&f->analysis);
    alqi_cli_rows_free(&f->rows);
    f->has_analysis = false;
    alqi_ctf_reader_drop(f->reader);
    f->reader = NULL;
    f->queue.from = f->queue.to = 0;
}

/* False: no whole packet is left. */
static bool
events_take(struct alqi_cli_follow *f, unsigned n_most)
{
    struct alqi_ctf_event event;
    int got = 1;

    for (unsigned i = 0; i < n_most; i++) {
        got = alqi_ctf_reader_next(f->reader, &event);
        if (got <= 0)
            break;
        alqi_cli_analysis_take(&f->analysis, &event);
    }
    if (got < 0)
        fail(f, alqi_ctf_reader_error(f->reader));
    return got > 0;
}

/* ---- a recording --------------------------------------------------------- */

/* Ends the conversion before its recording. */
static void
recording_close(struct alqi_cli_follow *f)
{
    (void)alqi_cli_conversion_close(f->conversion);
    f->conversion = NULL;
    alqi_cli_recording_drop(f->recording);
    f->recording = NULL;
}

/* True: the following has ended, and the reason is kept. */
static bool
conversion_failed(struct alqi_cli_follow *f, enum alq_status status)
{
    if (status == ALQ_OK)
        return false;
    fail(f, alq_status_text(status));
    return true;
}

/* Opens the recording from its beginning; the former one is closed only when
 * this one is open. The file is reached by its descriptor, as its name may be
 * gone. */
static bool
recording_open(struct alqi_cli_follow *f, char *why, size_t n_why)
{
    enum alq_status status = ALQ_ENOMEM;
    struct alqi_cli_recording *recording;
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", f->fd);
    recording = alqi_cli_recording_open(path, why, n_why);
    if (recording == NULL)
        return false;
    analysis_close(f);
    recording_close(f);
    f->recording = recording;
    f->is_exact =
        (atomic_load(&alqi_cli_recording_header(f->recording)->flags) &
         ALQI_RAW_IS_EXACT) != 0;
    if (f->pid == 0)
        f->pid = (pid_t)alqi_cli_recording_header(f->recording)->pid;
    if (f->symbols == NULL)
        f->symbols = alqi_symbol_table_new(true);
    if (f->symbols != NULL)
        status =
            alqi_cli_conversion_open(f->recording, 0, f->symbols, packet_put, f,
                                     &f->result, &f->conversion);
    if (status == ALQ_OK)
        status = alqi_cli_conversion_flush(f->conversion);
    if (status == ALQ_OK && analysis_open(f))
        return true;
    snprintf(why, n_why, "%s", alq_status_text(status));
    return false;
}

/* Converts until until_us; false: there is more. */
static bool
recording_take(struct alqi_cli_follow *f, uint64_t until_us)
{
    bool is_more = true;

    while (is_more && !f->is_over && alqi_cli_mono_us() < until_us) {
        if (conversion_failed(f, alqi_cli_conversion_step(
                                     f->conversion, STEP_EVENTS, &is_more)))
            return true;
        if (!is_more &&
            conversion_failed(f, alqi_cli_conversion_flush(f->conversion)))
            return true;
        while (events_take(f, STEP_EVENTS))
            continue;
    }
    return !is_more;
}

static bool
writer_is_there(const struct alqi_cli_follow *f)
{
    return alqi_cli_recording_is_live_as(f->recording, f->pid);
}

/* Reads an exact recording anew: the conversion knows what there was when the
 * recording was opened. A pause follows in proportion to the time that it
 * took. */
static enum alqi_cli_follow_state
exact_read(struct alqi_cli_follow *f)
{
    uint64_t before_us = alqi_cli_mono_us();
    char why[256];
    bool is_live = writer_is_there(f); /* .inv.last */

    if (is_live && before_us < f->again_us)
        return ALQI_CLI_FOLLOW_LEVEL;
    if (!recording_open(f, why, sizeof why)) {
        fail(f, why);
        if (f->has_analysis) /* of what was read before */
            return ALQI_CLI_FOLLOW_OVER;
        alqi_cli_die("%s: %s", f->path, why);
    }
    (void)recording_take(f, UINT64_MAX);
    f->again_us =
        alqi_cli_mono_us() + PAUSE_SHARE * (alqi_cli_mono_us() - before_us);
    f->is_over |= !is_live;
    return f->is_over ? ALQI_CLI_FOLLOW_OVER : ALQI_CLI_FOLLOW_LEVEL;
}

/* Converts what is known, then looks what has come since, in the order of
 * .inv.last. */
static enum alqi_cli_follow_state
recording_read(struct alqi_cli_follow *f, uint64_t until_us)
{
    bool is_live;

    if (!recording_take(f, until_us))
        return ALQI_CLI_FOLLOW_BEHIND;
    is_live = writer_is_there(f); /* .inv.last */
    if (!f->is_over && !alqi_cli_recording_grow(f->recording, f->pid))
        fail(f, strerror(errno));
    if (!f->is_over)
        (void)conversion_failed(f, alqi_cli_conversion_more(f->conversion));
    if (!f->is_over && !recording_take(f, until_us))
        return ALQI_CLI_FOLLOW_BEHIND;
    f->is_over |= !is_live;
    return f->is_over ? ALQI_CLI_FOLLOW_OVER : ALQI_CLI_FOLLOW_LEVEL;
}

/* ---- a trace ------------------------------------------------------------- */

/* Our own have modules, whose debug information says more than the process
 * knew. */
static bool
is_ours(const struct alqi_ctf_info *info)
{
    return info->version == 2 && strncmp(info->context, "aliquot=", 8) == 0;
}

/* The trace from its beginning, rewritten: frames get lines of the source. */
static bool
rewriting_open(struct alqi_cli_follow *f)
{
    enum alq_status status = ALQ_ENOMEM;

    analysis_close(f);
    f->file.from = f->file.to = 0;
    f->at_bytes = 0;
    f->symbols = alqi_symbol_table_new(true);
    if (f->symbols != NULL)
        status =
            alqi_cli_heap_rewriting_open(file_read, f, f->symbols, packet_put,
                                         f, &f->heap_result, &f->rewriting);
    if (status == ALQ_OK)
        status = alqi_cli_heap_rewriting_flush(f->rewriting);
    return status == ALQ_OK && analysis_open(f);
}

/* Opens the trace as it is, and anew if it is one of ours. */
static bool
trace_open(struct alqi_cli_follow *f, char *why, size_t n_why)
{
    if (analysis_open(f) && (!is_ours(f->analysis.info) || rewriting_open(f)))
        return true;
    snprintf(why, n_why, "it is not a readable trace: %s",
             alqi_ctf_reader_error(f->reader));
    return false;
}

/* Whole packets of the file into the reader's; false: there may be more. */
static bool
trace_take(struct alqi_cli_follow *f)
{
    bool is_more = false;

    if (f->rewriting == NULL)
        return true;
    if (conversion_failed(f, alqi_cli_heap_rewriting_step(
                                 f->rewriting, STEP_EVENTS, &is_more)) ||
        (!is_more &&
         conversion_failed(f, alqi_cli_heap_rewriting_flush(f->rewriting))))
        return true;
    return !is_more;
}

/* Whether the trace's writer is there: it holds a lock on the file. */
static bool
tracer_is_there(const struct alqi_cli_follow *f)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

    return fcntl(f->fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* Reads on until no whole packet is left or the time is over. */
static enum alqi_cli_follow_state
trace_read(struct alqi_cli_follow *f, uint64_t until_us)
{
    bool is_there = tracer_is_there(f); /* .inv.last */
    struct stat st;

    if (fstat(f->fd, &st) == 0)
        f->size_bytes = (uint64_t)st.st_size;
    for (;;) {
        bool is_level = trace_take(f);

        is_level &= !events_take(f, STEP_EVENTS);
        if (is_level || f->is_over)
            break;
        if (alqi_cli_mono_us() >= until_us)
            return ALQI_CLI_FOLLOW_BEHIND;
    }
    if (f->rewriting != NULL &&
        alqi_cli_heap_rewriting_damage(f->rewriting)[0] != '\0')
        fail(f, alqi_cli_heap_rewriting_damage(f->rewriting));
    f->is_over |= !is_there;
    return f->is_over ? ALQI_CLI_FOLLOW_OVER : ALQI_CLI_FOLLOW_LEVEL;
}

/* ---- all of it ----------------------------------------------------------- */

/* Opens the file by its first bytes. False: why has the reason, and what was
 * opened is dropped by the caller. */
static bool
open_any(struct alqi_cli_follow *f, char *why, size_t n_why)
{
    char magic[8];
    ssize_t n;

    f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    n = f->fd >= 0 ? pread(f->fd, magic, sizeof magic, 0) : -1;
    if (n < 0) {
        snprintf(why, n_why, "%s", strerror(errno));
        return false;
    }
    f->is_raw = alqi_cli_input_is_raw(magic, (size_t)n);
    return f->is_raw ? recording_open(f, why, n_why)
                     : trace_open(f, why, n_why);
}

/* NULL with a reason; a file that is too short yet is no trace, either. */
struct alqi_cli_follow *
alqi_cli_follow_open(const char *path, pid_t pid, bool is_indexed, char *why,
                     size_t n_why)
{
    struct alqi_cli_follow *f = alqi_cli_zeros(1, sizeof *f);

    f->path = strdup(path);
    f->pid = pid;
    f->is_indexed = is_indexed;
    f->fd = -1;
    if (f->path != NULL && open_any(f, why, n_why))
        return f;
    alqi_cli_follow_drop(f);
    return NULL;
}

/* Frees what was opened, in whatever state: parts that were not made are
 * NULL. */
void
alqi_cli_follow_drop(struct alqi_cli_follow *f)
{
    if (f == NULL)
        return;
    analysis_close(f);
    recording_close(f);
    (void)alqi_cli_heap_rewriting_close(f->rewriting);
    alqi_symbol_table_drop(f->symbols);
    if (f->fd >= 0)
        close(f->fd);
    free(f->queue.bytes);
    free(f->file.bytes);
    free(f->path);
    free(f);
}

/* The three kinds differ in what makes them grow; each returns as follow.h
 * says. */
enum alqi_cli_follow_state
alqi_cli_follow_read(struct alqi_cli_follow *f, uint64_t budget_us)
{
    uint64_t until_us = alqi_cli_mono_us() + budget_us;

    if (f->is_over)
        return ALQI_CLI_FOLLOW_OVER;
    if (f->is_exact)
        return exact_read(f);
    return f->is_raw ? recording_read(f, until_us) : trace_read(f, until_us);
}

struct alqi_cli_analysis *
alqi_cli_follow_analysis(struct alqi_cli_follow *f)
{
    return &f->analysis;
}

/* The end record's word, as long as there is no such record. */
static const char *
ended_word(const struct alqi_cli_follow *f)
{
    if (!f->is_over)
        return "running";
    return f->recording != NULL ? alqi_cli_recording_ended(f->recording)
                                : "killed";
}

const char *
alqi_cli_follow_index(struct alqi_cli_follow *f, char **bytes, size_t *n_bytes)
{
    struct alqi_cli_view_label label = {
        .name = alqi_base_file_name(f->path),
        .damage = f->damage,
        .ended = ended_word(f),
    };

    return alqi_cli_rows_picture(&f->rows, &label, bytes, n_bytes);
}

const char *
alqi_cli_follow_damage(const struct alqi_cli_follow *f)
{
    return f->damage;
}

double
alqi_cli_follow_progress(const struct alqi_cli_follow *f)
{
    if (f->is_raw || f->size_bytes == 0)
        return alqi_cli_conversion_progress(f->conversion);
    return (double)f->at_bytes / (double)f->size_bytes;
}

int
alqi_cli_follow_fd(const struct alqi_cli_follow *f)
{
    return f->fd;
}

pid_t
alqi_cli_follow_pid(const struct alqi_cli_follow *f)
{
    return (pid_t)f->analysis.info->pid;
}

bool
alqi_cli_follow_is_heap(const struct alqi_cli_follow *f)
{
    return !f->analysis.estimator.is_bytes;
}
