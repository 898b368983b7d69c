/* control.c -- what is asked of the managed heap, and which thread does it
 *
 *                server's thread             a domain's thread
 *    NONE --start, rate: posts--> POSTED --its next allocation--> TAKEN
 *      ^                             | stop: taken back            |
 *      +-----------------------------+                             | done
 *      +--- server: answers; or, later, note ------ DONE <---------+
 *
 * A job outlives the request that posted it, if that was answered "starting".
 *
 * .inv.job    One job at a time; the server's thread posts, a domain takes.
 * .inv.reply  A request is answered with the outcome of its own job.  A start,
 *             a rate or a stop that finds an earlier job TAKEN waits until that
 *             is over; if it is not in time the request is refused, and has
 *             done nothing.
 * .inv.wait   The server waits for ANSWER_MS at most, and holds nothing then.
 * .inv.lock   `lock` is held for a few stores, and within it nothing of the
 *             heap's, the trace's or the program's is called.
 * .inv.graph  The job of a graph is POSTED within its request alone: if no
 *             domain has taken it in time, it is taken back, and refused.
 * .inv.all    A trace that was begun or resumed from outside samples every
 *             domain: each joins when it answers, and is asked whenever it
 *             begins. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <aliquot/gc.h>

#include "base/base.h"
#include "base/defaults.h"
#include "glue/control/control.h"
#include "glue/join/malloc_limiter.h"
#include "glue/join/profiler.h"
#include "glue/tracing/snapshot.h"
#include "glue/tracing/trace.h"
#include "heap/stop_handshake.h"
#include "plat/plat.h"
#include "wire/side.h"

#define OUT_DEFAULT "aliquot.%e.%p.heap.ctf"

enum {
    ALONE_LOOK_MS = 5000,
    ANSWER_MS = 1500,
    STEP_MS = 2,
    NAMES_MOST = 1000, /* of traces, one after the other */
    NOTE_BYTES = 400
};

enum job_state { NONE, POSTED, TAKEN, DONE };

/* What a request wants of a domain. */
struct job {
    bool begins;   /* a trace, if there is none */
    bool is_graph; /* instead: writes all blocks of the heap to `out` */
    double rate;   /* 0: as before, or the default */
    /* name of the trace; "": the standard one */
    char out[ALQI_REQUEST_OUT_BYTES];
};

static struct {
    /* of state, job, has_failed, why and the counters (.inv.lock) */
    struct alqi_plat_lock lock;
    /* moved as the head says */
    enum job_state state;
    struct job job;
    bool has_failed;       /* valid in DONE, with why */
    char why[NOTE_BYTES];  /* of has_failed; "" if it has not */
    char note[NOTE_BYTES]; /* of a job that nobody waited for */
    bool is_graph_done;    /* the last graph; the server's thread alone */
    /* of a start that gives none; 0: as before; the server's thread alone */
    double next_rate;
    /* of the first trace that a request begins; "": the standard name; written
     * before the server starts */
    char place[ALQI_TRACING_PATH_BYTES];
    /* as a domain saw them last; under the lock */
    uint64_t heap_bytes, minor_collections, major_collections;
} control = {.lock = ALQI_PLAT_LOCK(GLUE_JOB)};

/* ---- names --------------------------------------------------------------- */

/* A link that leads nowhere, too: what it is for is not ours. */
static bool
is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 || errno != ENOENT;
}

/* The absolute path of a name, by the working directory of now: the directory
 * may change, and the client has another one. */
static bool
absolute(const char *name, char *path, size_t n)
{
    char here[ALQI_TRACING_PATH_BYTES] = "";
    int k;

    if (name[0] != '/' && getcwd(here, sizeof here) == NULL)
        return false;
    k = snprintf(path, n, "%s%s%s", here, here[0] != '\0' ? "/" : "", name);
    return k > 0 && (size_t)k < n;
}

/* The standard name, with a number before its end where it is taken. */
static bool
name_find(const char *pattern, char *path, size_t n)
{
    char first[ALQI_TRACING_PATH_BYTES], name[ALQI_TRACING_PATH_BYTES + 16];
    size_t stem;

    if (!alqi_glue_trace_name(pattern, program_invocation_short_name, first,
                              sizeof first))
        return false;
    stem = strlen(first) - strlen(".ctf");
    snprintf(name, sizeof name, "%s", first);
    for (unsigned i = 1; i < NAMES_MOST && is_there(name); i++)
        snprintf(name, sizeof name, "%.*s.%u.ctf", (int)stem, first, i);
    return absolute(name, path, n);
}

/* The absolute path of a new trace: the request's, the place that was given, or
 * the standard one. */
static bool
path_make(const struct job *job, char *path, size_t n)
{
    char name[ALQI_TRACING_PATH_BYTES];

    if (job->out[0] != '\0')
        return alqi_glue_trace_name(job->out, program_invocation_short_name,
                                    name, sizeof name) &&
               absolute(name, path, n);
    if (control.place[0] != '\0' && !is_there(control.place))
        return absolute(control.place, path, n);
    return name_find(OUT_DEFAULT, path, n);
}

/* ---- the job, by a domain's thread ----------------------------------------
 */

/* Begins a trace, if the job wants one. NULL, or why not. */
static const char *
trace_begin(struct alq_domain *d, const struct job *job)
{
    static char path[ALQI_TRACING_PATH_BYTES]; /* .inv.job */
    struct alq_trace_config config = {
        .path = path,
        .rate = job->rate > 0 ? job->rate : ALQI_DEFAULT_RATE,
    };
    enum alq_status status;

    if (!job->begins)
        return "the trace has ended";
    if (!path_make(job, path, sizeof path))
        return "the trace's name is too long";
    if (is_there(path))
        return "there is a file of the trace's name already";
    errno = 0;
    status = alq_trace_start_with(d, &config);
    if (status == ALQ_OK)
        alqi_glue_trace_widen();
    return status == ALQ_OK ? NULL : alqi_glue_trace_why(status, errno);
}

/* Writes the graph of all blocks.  NULL, or why not; then there is no file. */
static const char *
graph_write(struct alqi_domain *d, const struct job *job)
{
    static char why[NOTE_BYTES]; /* .inv.job */
    int fd = open(job->out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY,
                  0600);
    enum alq_status status;
    int error;

    if (fd < 0) {
        snprintf(why, sizeof why, "cannot create %.300s: %s", job->out,
                 strerror(errno));
        return why;
    }
    status = alqi_glue_snapshot_take(d, fd, false, alqi_glue_snapshot_now_us(),
                                     &error);
    if (close(fd) != 0 && status == ALQ_OK) {
        status = ALQ_EIO;
        error = errno;
    }
    if (status == ALQ_OK)
        return NULL;
    unlink(job->out);
    snprintf(why, sizeof why, "cannot write %.300s: %s", job->out,
             alqi_glue_trace_why(status, error));
    return why;
}

/* NULL, or why not.  *is_busy: it is to be tried again. */
static const char *
job_do(struct alq_domain *d, const struct job *job, bool *is_busy)
{
    static struct alqi_glue_trace_look look; /* .inv.job */
    enum alq_status status;

    *is_busy = false;
    if (job->is_graph)
        return graph_write(alqi_heap_domain(d), job);
    if (!alqi_glue_trace_look(&look))
        return trace_begin(d, job);
    if (look.is_malloc)
        return "the trace under way is of malloc, not of the managed heap";
    if (job->out[0] != '\0')
        return "there is a trace already, and a start goes on with it";
    status = alqi_glue_trace_resume(d, job->rate, is_busy);
    if (status == ALQ_ENOTRUN)
        *is_busy = true; /* it has ended since we looked */
    return status == ALQ_OK ? NULL : alq_status_text(status);
}

/* POSTED -> TAKEN; false: there is no job. */
static bool
job_take(struct job *job)
{
    bool is_taken;

    alqi_plat_lock(&control.lock);
    is_taken = control.state == POSTED;
    if (is_taken) {
        control.state = TAKEN;
        *job = control.job;
    }
    alqi_plat_unlock(&control.lock);
    return is_taken;
}

/* TAKEN -> DONE, with what has failed. */
static void
job_done(const char *why)
{
    alqi_plat_lock(&control.lock);
    control.state = DONE;
    control.has_failed = why != NULL;
    snprintf(control.why, sizeof control.why, "%s", why != NULL ? why : "");
    alqi_plat_unlock(&control.lock);
}

/* TAKEN -> POSTED: another thread is changing the trace's profiles. */
static void
job_put_back(void)
{
    alqi_plat_lock(&control.lock);
    control.state = POSTED;
    alqi_plat_unlock(&control.lock);
}

/* True: there was one, and it is done. */
static bool
job_serve(struct alqi_domain *d)
{
    struct job job;
    const char *why;
    bool is_busy;

    if (!job_take(&job))
        return false;
    why = job_do(&d->pub, &job, &is_busy);
    if (is_busy) {
        job_put_back();
        return false;
    }
    job_done(why);
    return true;
}

/* Copies counters that only a domain's thread may read. */
static void
counters_take(struct alq_domain *d)
{
    struct alq_gc_stats stats;

    if (alq_gc_quick_stat(d, &stats) != ALQ_OK)
        return;
    alqi_plat_lock(&control.lock);
    control.heap_bytes = stats.heap_words * ALQ_WORD_BYTES;
    control.minor_collections = stats.minor_collections;
    control.major_collections = stats.major_collections;
    alqi_plat_unlock(&control.lock);
}

/* A domain's thread serves what is asked: opens a forked child's server, copies
 * counters, does the job or joins the trace. */
static void
answer(struct alqi_domain *d)
{
    if (ALQI_UNLIKELY(alqi_control_state(&alqi_glue_control_server) ==
                      ALQI_CONTROL_OWED))
        (void)alqi_control_open(&alqi_glue_control_server, NULL);
    counters_take(&d->pub);
    if (job_serve(d)) {
        alqi_heap_handshake_request_all_sigsafe(); /* .inv.all */
    } else if (!alqi_glue_trace_join(&d->pub)) {
        alqi_heap_handshake_request_sigsafe(d);
    }
}

/* Called where a domain's thread serves handshakes. In a callback it is put
 * off. */
void
alqi_glue_control_answer(struct alqi_domain *d)
{
    bool was;

    if (alqi_glue_profiled_is_inside(d)) {
        /* The request is served when the callback has returned. */
        alqi_heap_handshake_request_sigsafe(d);
        return;
    }
    /* A task of malloc's may be left where it allocates. */
    was = alqi_glue_malloc_limiter_hold();
    answer(d);
    alqi_glue_malloc_limiter_release(was);
}

/* ---- the job, by the server's thread ---------------------------------------
 */

static void
step_wait(void)
{
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000};

    nanosleep(&step, NULL);
}

static bool
is_late(uint64_t since_ns)
{
    return atomic_load(&alqi_glue_control_server.is_closing) ||
           alqi_plat_mono_ns_sigsafe() - since_ns >
               (uint64_t)ANSWER_MS * 1000000;
}

static void
say_busy(char *said)
{
    snprintf(said, NOTE_BYTES,
             "the trace is being changed at this moment; ask again");
}

/* DONE -> NONE, with the job's outcome. False: it is not done. */
static bool
outcome_take(bool *has_failed, char *why, size_t n)
{
    bool is_done;

    alqi_plat_lock(&control.lock);
    is_done = control.state == DONE;
    if (is_done) {
        control.state = NONE;
        *has_failed = control.has_failed;
        snprintf(why, n, "%s", control.why);
        control.is_graph_done = control.job.is_graph && !control.has_failed;
    }
    alqi_plat_unlock(&control.lock);
    return is_done;
}

/* A job that nobody waited for. */
static void
note_take(void)
{
    char why[NOTE_BYTES];
    bool has_failed;

    if (outcome_take(&has_failed, why, sizeof why) && has_failed)
        memcpy(control.note, why, sizeof control.note);
}

static void
job_make_locked(const struct alqi_request *r)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_JOB));
    control.job.begins = r->command == ALQI_REQUEST_START;
    control.job.is_graph = r->is_graph;
    control.job.rate = r->rate > 0 ? r->rate : control.next_rate;
    if (!r->is_graph)
        control.next_rate = 0;
    memcpy(control.job.out, r->out, sizeof control.job.out);
}

/* NONE, POSTED or DONE -> POSTED with a job of r; without r, POSTED -> NONE.
 * False: a domain has TAKEN the job. */
static bool
job_replace(const struct alqi_request *r)
{
    bool is_free;

    alqi_plat_lock(&control.lock);
    is_free = control.state != TAKEN;
    if (is_free && r != NULL) {
        job_make_locked(r);
        control.state = POSTED;
    } else if (control.state == POSTED) {
        control.state = NONE;
    }
    alqi_plat_unlock(&control.lock);
    return is_free;
}

/* job_replace, as soon as no job is TAKEN; false: not in time, and *said is why
 * (.inv.reply). */
static bool
job_replace_in_time(const struct alqi_request *r, uint64_t since_ns, char *said)
{
    while (!job_replace(r)) {
        if (is_late(since_ns)) {
            say_busy(said);
            return false;
        }
        step_wait();
    }
    return true;
}

/* Without an outcome in time the answer is the state as it is: "starting". */
static bool
job_post_and_wait(const struct alqi_request *r, char *why)
{
    uint64_t since_ns = alqi_plat_mono_ns_sigsafe();
    bool has_failed = false;

    note_take();
    if (!job_replace_in_time(r, since_ns, why))
        return false;
    control.note[0] = '\0';
    control.is_graph_done = false;
    alqi_heap_handshake_request_all_sigsafe();
    while (!outcome_take(&has_failed, why, NOTE_BYTES) && !is_late(since_ns))
        step_wait();
    return !has_failed;
}

/* POSTED -> NONE; false: it was not POSTED. */
static bool
job_take_back(void)
{
    bool was_posted;

    alqi_plat_lock(&control.lock);
    was_posted = control.state == POSTED;
    if (was_posted)
        control.state = NONE;
    alqi_plat_unlock(&control.lock);
    return was_posted;
}

/* Whether a job of that kind is POSTED or TAKEN; *rate then is the job's, if it
 * has one. */
static bool
job_is_waiting(bool is_graph, double *rate)
{
    bool is_waiting;

    alqi_plat_lock(&control.lock);
    is_waiting = (control.state == POSTED || control.state == TAKEN) &&
                 control.job.is_graph == is_graph;
    if (is_waiting && control.job.rate > 0)
        *rate = control.job.rate;
    alqi_plat_unlock(&control.lock);
    return is_waiting;
}

/* ---- what is said ---------------------------------------------------------
 */

/* The state in the words of the protocol. */
static const char *
state_word(const struct alqi_glue_trace_look *look, bool is_traced,
           bool is_waiting)
{
    if (is_waiting && !(is_traced && look->is_sampling))
        return "starting";
    if (!is_traced)
        return "off";
    return look->is_sampling ? "sampling" : "stopped";
}

/* Appends the counters, under the lock. */
static void
put_counters(struct alqi_side_line *line)
{
    alqi_plat_lock(&control.lock);
    alqi_side_number(line, "heap_bytes", control.heap_bytes);
    alqi_side_number(line, "minor_collections", control.minor_collections);
    alqi_side_number(line, "major_collections", control.major_collections);
    alqi_plat_unlock(&control.lock);
}

/* Writes the state as the protocol has it. The counters are as old as the last
 * answer of a domain. */
static void
state_say(char *said)
{
    static struct alqi_glue_trace_look look; /* the server's alone */
    bool is_traced = alqi_glue_trace_look(&look) && !look.is_malloc;
    double rate = is_traced && (look.is_sampling || control.next_rate <= 0)
                      ? look.rate
                      : control.next_rate;
    bool is_waiting = job_is_waiting(false, &rate);
    bool is_writing = job_is_waiting(true, &rate);
    struct alqi_side_line line = {said, ALQI_CONTROL_TEXT_BYTES, 0};

    note_take();
    said[0] = '\0';
    alqi_side_text(&line, "state", state_word(&look, is_traced, is_waiting));
    alqi_side_real(&line, "rate", rate > 0 ? rate : ALQI_DEFAULT_RATE);
    put_counters(&line);
    if (is_writing || control.is_graph_done)
        alqi_side_text(&line, "graph", is_writing ? "writing" : "done");
    if (control.note[0] != '\0')
        alqi_side_text(&line, "note", control.note);
    if (!is_traced)
        return;
    alqi_side_number(&line, "samples", look.counts.allocations);
    alqi_side_number(&line, "frees", look.counts.collections);
    alqi_side_number(&line, "dropped_nested", look.sampled.dropped_nested);
    alqi_side_number(&line, "dropped_nomem", look.sampled.dropped_nomem);
    alqi_side_number(&line, "dropped_space", look.counts.dropped);
    alqi_side_number(&line, "dropped_cap", look.sampled.dropped_cap);
    alqi_side_text(&line, "file", look.path);
}

/* ---- requests -------------------------------------------------------------
 */

/* Takes the job back, or waits for it; then the trace is stopped.  A domain may
 * be changing the trace's profiles: for a moment. */
static bool
pause_trace(char *said)
{
    uint64_t since_ns = alqi_plat_mono_ns_sigsafe();
    enum alq_status status;

    if (!job_replace_in_time(NULL, since_ns, said))
        return false;
    while ((status = alqi_glue_trace_pause()) == ALQ_EBUSY &&
           !is_late(since_ns))
        step_wait();
    if (status == ALQ_OK || status == ALQ_ENOTRUN)
        return true;
    say_busy(said);
    return false;
}

/* The rate of the start that is POSTED, or of the next one.  False: a start is
 * TAKEN, or has just been DONE. */
static bool
rate_keep(double rate)
{
    bool is_kept;

    alqi_plat_lock(&control.lock);
    is_kept = control.state == NONE || control.state == POSTED;
    if (control.state == POSTED)
        control.job.rate = rate;
    else if (is_kept)
        control.next_rate = rate;
    alqi_plat_unlock(&control.lock);
    return is_kept;
}

/* A trace that samples changes now, any other when it is started; one that is
 * being started, behind that (.inv.reply). */
static bool
rate_change(const struct alqi_request *r, char *said)
{
    static struct alqi_glue_trace_look look; /* the server's alone */
    uint64_t since_ns = alqi_plat_mono_ns_sigsafe();

    do {
        note_take();
        if (alqi_glue_trace_look(&look) && look.is_sampling)
            return job_post_and_wait(r, said);
        if (rate_keep(r->rate))
            return true;
        step_wait();
    } while (!is_late(since_ns));
    say_busy(said);
    return false;
}

/* .inv.graph */
static bool
graph_ask(const struct alqi_request *r, char *said)
{
    if (!job_post_and_wait(r, said))
        return false;
    if (!job_take_back())
        return true;
    snprintf(said, NOTE_BYTES,
             "no domain of the heap allocates at this moment; ask again");
    return false;
}

static bool
mark(const char *name, char *said)
{
    enum alq_status status = alq_trace_mark(name);

    if (status == ALQ_OK)
        return true;
    snprintf(said, NOTE_BYTES, "%s",
             status == ALQ_ENOTRUN ? "there is no trace that a mark could be in"
             : status == ALQ_ETOOBIG
                 ? "the trace has as many marks as it may have"
                 : alq_status_text(status));
    return false;
}

/* Does a request and leaves the answer in said; false: it is a refusal. */
static bool
execute(const struct alqi_request *r, char *said)
{
    bool is_so = true;

    switch (r->command) {
    case ALQI_REQUEST_START:
        is_so = job_post_and_wait(r, said);
        break;
    case ALQI_REQUEST_RATE:
        is_so = rate_change(r, said);
        break;
    case ALQI_REQUEST_STOP:
        is_so = pause_trace(said);
        break;
    case ALQI_REQUEST_SNAPSHOT:
        if (r->is_graph) {
            is_so = graph_ask(r, said);
            break;
        }
        (void)alq_trace_flush();
        alqi_heap_handshake_request_all_sigsafe();
        break;
    case ALQI_REQUEST_MARK:
        is_so = mark(r->out, said);
        break;
    case ALQI_REQUEST_COPY:
        snprintf(said, NOTE_BYTES,
                 "of a managed heap there is no copy, but a snapshot");
        return false;
    case ALQI_REQUEST_STATUS:
        /* The counters that the next status reports. */
        alqi_heap_handshake_request_all_sigsafe();
        break;
    }
    if (is_so)
        state_say(said);
    return is_so;
}

static bool
socket_name(const char *pattern, char name[ALQI_CONTROL_NAME_BYTES])
{
    return alqi_glue_trace_name(pattern, NULL, name, ALQI_CONTROL_NAME_BYTES);
}

static int
look_ms(void)
{
    return ALONE_LOOK_MS;
}

static const struct alqi_control_hooks hooks = {
    .execute = execute,
    .name = socket_name,
    .look_ms = look_ms,
    .thread_create = pthread_create,
};

struct alqi_control_server alqi_glue_control_server =
    ALQI_CONTROL_SERVER(&hooks, GLUE_SERVER);

void
alqi_glue_control_place(const char *path)
{
    snprintf(control.place, sizeof control.place, "%s", path);
}

/* ---- fork -----------------------------------------------------------------
 */

void
alqi_glue_control_before_fork(void)
{
    alqi_plat_lock(&control.lock);
}

void
alqi_glue_control_after_fork(bool is_child)
{
    if (is_child) {
        control.state = NONE;
        control.note[0] = '\0';
        control.place[0] = '\0'; /* the parent's */
    }
    alqi_plat_unlock(&control.lock);
}
