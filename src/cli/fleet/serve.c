/* serve.c -- aliquot serve: profiles and metrics of a recorded program, asked
 * for by HTTP
 *
 * Go's paths, so that what scrapes Go programs scrapes any. Each connection has
 * a thread; `turn` lets one at a time read the trace and make an answer, and is
 * given back while a window passes. The server ends by a signal, or when the
 * process ends, which a thread looks for (watch_run). */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/tool/http.h"
#include "cli/fleet/metrics.h"
#include "cli/fleet/reading.h"
#include "cli/live/control.h"
#include "cli/live/recorded.h"
#include "cli/tool/text.h"
#include "cli/tool/memory.h"

enum { SECONDS_MOST = 3600, READERS = 16, READER_BYTES = 64, WATCH_MS = 500 };

/* Whoever asks for delta_heap has a moment of his own. */
struct reader {
    char name[READER_BYTES];
    /* of the profile that it was given last */
    struct alqi_cli_moment moment;
};

struct serve {
    struct alqi_cli_http_config config;
    uint64_t port;        /* as it is asked for */
    pid_t pid;            /* whose recording it is; 0: a trace's */
    pthread_mutex_t turn; /* of all that follows */
    struct alqi_cli_reading reading;
    struct alqi_cli_metrics metrics;
    /* by first request; the one without a name is "" */
    struct reader readers[READERS];
    /* places used; a reader is never forgotten */
    unsigned n_readers;
};

/* ---- answers ------------------------------------------------------------- */

/* What pprof asks for places without a name: all names that can be found are in
 * the profile.  It looks itself for the others, and would stop at a 404. */
static const char symbol_page[] = "num_symbols: 0";

static const char index_page[] =
    "/debug/pprof/heap        all call stacks: allocated since recording "
    "began, in use now\n"
    "/debug/pprof/allocs      the same; shows what was allocated first\n"
    "        ?seconds=N       what changes within N seconds from now\n"
    "/debug/pprof/delta_heap  allocated since the last time, in use now\n"
    "        ?reader=NAME     since NAME's last time\n"
    "/metrics                 for Prometheus\n";

/* The trace as it is now; requires `turn`. False: it cannot be read, and that
 * is the answer. */
static bool
read_trace(struct serve *s, struct alqi_cli_http_answer *answer)
{
    if (alqi_cli_reading_update(&s->reading) < 0)
        return true;
    alqi_cli_http_say(answer, 503,
                      "%s cannot be read now; the server's "
                      "standard error has the reason",
                      s->reading.path);
    return false;
}

/* Makes the answer a profile; requires that the trace was read. */
static void
pprof_give(struct serve *s, enum alqi_cli_measure measure,
           const struct alqi_cli_moment *since, bool is_window,
           struct alqi_cli_http_answer *answer)
{
    answer->body = alqi_cli_reading_pprof(&s->reading, measure, since,
                                          is_window, &answer->n_bytes);
    answer->status = 200;
    answer->type = "application/octet-stream";
    answer->save_as = "profile.pb.gz";
}

/* False: it is given, and is no number of seconds. */
static bool
seconds_of(const struct alqi_cli_http_request *request, uint64_t *seconds)
{
    const char *text = alqi_cli_http_value(request, "seconds");

    *seconds = 0;
    return text == NULL ||
           (alqi_cli_parse_count(text, seconds) && *seconds <= SECONDS_MOST);
}

/* Answers with what changes within so many seconds. `turn` is given back while
 * the time passes, so nobody else waits. */
static void
window_give(struct serve *s, const struct alqi_cli_http_request *request,
            enum alqi_cli_measure measure, uint64_t seconds,
            struct alqi_cli_http_answer *answer)
{
    struct alqi_cli_moment then = {0};
    bool is_read = read_trace(s, answer);

    if (!is_read)
        return;
    alqi_cli_moment_take(&then, &s->reading.export.analysis,
                         alqi_cli_reading_taken_ns(&s->reading));
    pthread_mutex_unlock(&s->turn);
    is_read = alqi_cli_http_pause(request, (unsigned)seconds * 1000);
    pthread_mutex_lock(&s->turn);
    if (!is_read)
        alqi_cli_http_say(answer, 503, "the server has ended");
    else if (read_trace(s, answer)) {
        alqi_cli_moment_fit(&then, &s->reading.export.analysis);
        pprof_give(s, measure, &then, true, answer);
    }
    alqi_cli_moment_free(&then);
}

/* heap and allocs differ only in which value tools show first. */
static void
profile_answer(struct serve *s, const struct alqi_cli_http_request *request,
               enum alqi_cli_measure measure,
               struct alqi_cli_http_answer *answer)
{
    const char *debug = alqi_cli_http_value(request, "debug");
    uint64_t seconds;

    if (debug != NULL && strcmp(debug, "0") != 0)
        alqi_cli_http_say(answer, 400,
                          "debug=%.20s: text is not given; go "
                          "tool pprof makes it of the profile",
                          debug);
    else if (!seconds_of(request, &seconds))
        alqi_cli_http_say(answer, 400, "seconds: a whole number, to %d",
                          SECONDS_MOST);
    else if (seconds > 0)
        window_give(s, request, measure, seconds, answer);
    else if (read_trace(s, answer))
        pprof_give(s, measure, NULL, false, answer);
}

/* NULL: there are too many. */
static struct reader *
reader_of(struct serve *s, const char *name)
{
    struct reader *r;

    for (unsigned i = 0; i < s->n_readers; i++)
        if (strcmp(s->readers[i].name, name) == 0)
            return &s->readers[i];
    if (s->n_readers == READERS)
        return NULL;
    r = &s->readers[s->n_readers++];
    strcpy(r->name, name);
    return r;
}

/* A profile since the reader's last one. The moment moves when the profile is
 * made, so an answer that is lost on its way is lost for the reader. */
static void
delta_answer(struct serve *s, const struct alqi_cli_http_request *request,
             struct alqi_cli_http_answer *answer)
{
    const char *name = alqi_cli_http_value(request, "reader");
    struct reader *reader;

    if (name == NULL)
        name = "";
    if (strlen(name) >= READER_BYTES) {
        alqi_cli_http_say(answer, 400, "reader: a name of at most %d bytes",
                          READER_BYTES - 1);
        return;
    }
    reader = reader_of(s, name);
    if (reader == NULL) {
        alqi_cli_http_say(answer, 429, "there are %d readers already", READERS);
        return;
    }
    if (!read_trace(s, answer))
        return;
    alqi_cli_moment_fit(&reader->moment, &s->reading.export.analysis);
    pprof_give(s, ALQI_CLI_LIVE, &reader->moment, false, answer);
    alqi_cli_moment_take(&reader->moment, &s->reading.export.analysis,
                         alqi_cli_reading_taken_ns(&s->reading));
}

/* The body is freed by the server. */
static void
metrics_answer(struct serve *s, struct alqi_cli_http_answer *answer)
{
    char *text = NULL;
    FILE *out;

    if (!read_trace(s, answer))
        return;
    out = alqi_cli_memory_open(&text, &answer->n_bytes);
    alqi_cli_metrics_write(&s->metrics, &s->reading, out);
    alqi_cli_memory_close(out, "the metrics");
    answer->status = 200;
    answer->type = "text/plain; version=0.0.4; charset=utf-8";
    answer->body = text;
}

/* Finds the answer by the path; requires `turn`. POST is taken for the page of
 * symbols alone, as pprof posts there. */
static void
answer_in_turn(struct serve *s, const struct alqi_cli_http_request *request,
               struct alqi_cli_http_answer *answer)
{
    if (strcmp(request->path, "/debug/pprof/symbol") == 0)
        alqi_cli_http_say(answer, 200, "%s", symbol_page);
    else if (request->is_post)
        alqi_cli_http_say(answer, 405, "GET only");
    else if (strcmp(request->path, "/debug/pprof/heap") == 0)
        profile_answer(s, request, ALQI_CLI_LIVE, answer);
    else if (strcmp(request->path, "/debug/pprof/allocs") == 0)
        profile_answer(s, request, ALQI_CLI_ALLOCATED, answer);
    else if (strcmp(request->path, "/debug/pprof/delta_heap") == 0)
        delta_answer(s, request, answer);
    else if (strcmp(request->path, "/metrics") == 0)
        metrics_answer(s, answer);
    else if (strcmp(request->path, "/") == 0 ||
             strcmp(request->path, "/debug/pprof/") == 0)
        alqi_cli_http_say(answer, 200, "%s", index_page);
    else
        alqi_cli_http_say(answer, 404, "there is no %.200s; there are:\n%s",
                          request->path, index_page);
}

/* The server's handler, called by several threads. */
static void
answer(void *arg, const struct alqi_cli_http_request *request,
       struct alqi_cli_http_answer *out)
{
    struct serve *s = arg;

    pthread_mutex_lock(&s->turn);
    answer_in_turn(s, request, out);
    pthread_mutex_unlock(&s->turn);
}

/* ---- the verb ------------------------------------------------------------ */

const struct alqi_cli_option alqi_cli_serve_options[] = {
    {'p', "pid", "PID", NULL, "the process",
     ALQI_CLI_TAKEN(alqi_cli_pid_take, offsetof(struct serve, pid))},
    {0, "port", "N", NULL, "port to listen on; default: any free port",
     ALQI_CLI_COUNT(struct serve, port), .most = UINT16_MAX,
     .wants = "a number from 0 to 65535"},
    {0, "token", NULL, NULL,
     "put a random word into the address, as a password",
     ALQI_CLI_FLAG(struct serve, config.has_token)},
    {0},
};

struct watch {
    struct alqi_cli_http *http;
    pid_t pid; /* whose end ends the server */
    /* the server has ended: the thread returns; written by its maker */
    _Atomic(int) is_over;
    /* of the process; written by the thread */
    _Atomic(int) has_seen_end;
};

/* Ends the server when the process does. */
static void *
watch_run(void *arg)
{
    struct watch *w = arg;
    struct timespec pause = {.tv_nsec = WATCH_MS * 1000000L};

    while (!w->is_over) {
        if (kill(w->pid, 0) != 0 && errno == ESRCH) {
            w->has_seen_end = 1;
            alqi_cli_http_stop(w->http);
            break;
        }
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Waits for a signal or the process's end. The thread is joined before w leaves
 * the stack. */
static void
wait_for_end(struct alqi_cli_http *http, pid_t pid)
{
    struct watch w = {.http = http, .pid = pid};
    pthread_t thread;
    bool is_watched =
        pid != 0 && pthread_create(&thread, NULL, watch_run, &w) == 0;

    alqi_cli_http_wait(http);
    w.is_over = 1;
    if (is_watched)
        pthread_join(thread, NULL);
    if (w.has_seen_end)
        alqi_cli_say("serve: process %d has ended", (int)pid);
}

/* Reads the trace before the port is opened, so that a wrong operand is told at
 * once. */
static int
serve(struct serve *s, pid_t pid)
{
    struct alqi_cli_http *http;
    int rc = alqi_cli_reading_update(&s->reading);

    if (rc >= 0)
        return rc;
    http = alqi_cli_http_open(&s->config);
    if (http == NULL)
        return ALQI_CLI_UNREADABLE;
    printf("%s\n", alqi_cli_http_url(http));
    fflush(stdout);
    wait_for_end(http, pid);
    alqi_cli_http_drop(http);
    return ALQI_CLI_OK;
}

/* The operand is found before the port is opened; the path must outlive the
 * reading. */
int
alqi_cli_serve(int argc, char **argv)
{
    struct serve s = {
        .config = {.verb = "serve", .is_parallel = true, .takes_post = true},
        .turn = PTHREAD_MUTEX_INITIALIZER};
    char path[PATH_MAX + 64];
    int first;
    int rc = alqi_cli_parse("serve", argc, argv, &s, &first);

    if (rc < 0)
        rc = alqi_cli_recorded_operand("serve", argc, argv, first, &s.pid, path,
                                       sizeof path);
    if (rc >= 0)
        return rc;
    alqi_cli_reading_init(&s.reading, path, s.pid);
    s.config.port = (uint16_t)s.port;
    s.config.answer = answer;
    s.config.arg = &s;
    rc = serve(&s, s.pid);
    alqi_cli_reading_free(&s.reading);
    for (unsigned i = 0; i < s.n_readers; i++)
        alqi_cli_moment_free(&s.readers[i].moment);
    return rc;
}
