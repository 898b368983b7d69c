/* push.c -- aliquot push: profiles of a trace, or of a program while it runs,
 * to an engine that stores them
 *
 * States: a trace is one window, pushed once. With --every, windows are pushed
 * until the program ends or a signal comes (rest_until), and the last one
 * afterwards. A window is read, made into a body by the engine's row, and
 * posted; a request that failed in a way that may pass is repeated, with longer
 * waits.
 *
 * Keeps .inv.once (doc/design/fleet.md): Until the engine has taken a window,
 *   it is part of the next one.
 * Keeps .inv.least: A window whose answer was lost is sent again. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/defaults.h"
#include "base/file_name.h"
#include "cli/tool/cli.h"
#include "cli/fleet/push.h"
#include "cli/live/control.h"
#include "cli/live/recorded.h"
#include "cli/tool/text.h"
#include "cli/tool/web_again.h"
#include "plat/plat.h"

enum {
    NS_PER_US = 1000,
    LOOK_MS = 500,
    STACKS_LEAST = 100,
    LABEL_BYTES = 1024
};

static const double TIMEOUT_US = 10e6;
static const uint64_t BYTES_MOST = 4 << 20;

static const struct alqi_cli_push_engine engines[] = {
    {"pyroscope", "/ingest", "application/octet-stream", false,
     alqi_cli_push_pyroscope, NULL},
    {"parca", "/api/profiles/writeraw", "application/json", false,
     alqi_cli_push_parca, NULL},
    {"otlp", "/v1development/profiles", "application/x-protobuf", true,
     alqi_cli_push_otlp, alqi_cli_push_otlp_objection},
};

struct push {
    /* NULL: --to is missing */
    const struct alqi_cli_push_engine *engine;
    const char *base; /* the address as it was given */
    char *url;        /* the engine's */
    char *public;     /* what of it may be printed */
    /* of the service; NULL: the program's */
    const char *name;
    struct alqi_cli_push_label labels[ALQI_CLI_LABELS_MOST];
    uint32_t n_labels;
    struct alqi_cli_web_headers headers;
    double every_us;   /* 0: once */
    double timeout_us; /* of one request */
    /* of a profile; 0: no bound */
    uint64_t max_stacks, max_bytes;
    struct alqi_cli_web *web;
    struct alqi_cli_reading reading;
    /* up to where the engine has it (.inv.once); wall_ns 0: nothing */
    struct alqi_cli_moment sent;
    /* whose recording it is; 0: a trace's */
    pid_t pid;
    struct alqi_cli_web_again again;
    bool is_followed; /* pushed again and again */
    /* once, as each window may be folded */
    bool has_said_folding;
    /* profiles taken; windows left to the next one */
    uint64_t n_pushed, n_delayed;
};

/* ---- options --------------------------------------------------------- */

/* Finds the engine's row by the word before '=', and checks the address. */
static bool
to_take(void *to, const char *verb, const char *value)
{
    struct push *p = to;
    size_t n = strcspn(value, "=");

    p->engine = NULL; /* that of an earlier --to does not count */
    for (size_t i = 0; i < ALQI_COUNT_OF(engines); i++)
        if (strlen(engines[i].name) == n &&
            memcmp(engines[i].name, value, n) == 0)
            p->engine = &engines[i];
    if (p->engine == NULL || value[n] != '=') {
        alqi_cli_usage(verb,
                       "%s: --to=%s: write pyroscope=URL, parca=URL "
                       "or otlp=URL",
                       verb, value);
        return false;
    }
    p->base = value + n + 1;
    if (alqi_cli_web_is_url(p->base))
        return true;
    alqi_cli_usage(verb,
                   "%s: --to=%s: an address begins with http:// or "
                   "https://",
                   verb, value);
    return false;
}

/* Keeps a copy, cut into name and value. What engines allow is checked when the
 * engine is known (label_fault). */
static bool
label_take(void *to, const char *verb, const char *value)
{
    struct push *p = to;
    size_t n = strcspn(value, "=");
    struct alqi_cli_push_label *l = &p->labels[p->n_labels];

    if (p->n_labels == ALQI_CLI_LABELS_MOST) {
        alqi_cli_usage(verb, "%s: --label: at most %d", verb,
                       ALQI_CLI_LABELS_MOST);
        return false;
    }
    if (n == 0 || value[n] == '\0' || strlen(value) > LABEL_BYTES) {
        alqi_cli_usage(verb, "%s: --label=%.60s: write NAME=VALUE", verb,
                       value);
        return false;
    }
    l->name = alqi_cli_copy(value);
    l->name[n] = '\0';
    l->value = l->name + n + 1;
    p->n_labels++;
    return true;
}

#define PUSH struct push
#define TIME_MOST 1e12
#define TIME_WANTED "write a number and a unit: ms s m h, "

const struct alqi_cli_option alqi_cli_push_options[] = {
    {'p', "pid", "PID", NULL, "the process",
     ALQI_CLI_TAKEN(alqi_cli_pid_take, offsetof(PUSH, pid))},
    {0, "to", "ENGINE=URL", NULL, "pyroscope=URL, parca=URL or otlp=URL",
     ALQI_CLI_TAKEN(to_take, 0)},
    {0, "name", "SERVICE", NULL, "the service's name; default: the program's",
     ALQI_CLI_TEXT(PUSH, name)},
    {0, "label", "NAME=VALUE", NULL, "add a label; may be repeated",
     ALQI_CLI_TAKEN(label_take, 0)},
    {0, "every", "T", NULL, "send each T, as 15s, until the program ends",
     ALQI_CLI_DURATION(PUSH, every_us), .least = 1e6, .most = TIME_MOST,
     .wants = TIME_WANTED "1 s at least"},
    {0, "header", "TEXT|@FILE", NULL,
     "a header of requests, 'Name: value', or a file of them",
     ALQI_CLI_TAKEN(alqi_cli_web_header_take, offsetof(PUSH, headers))},
    {0, "timeout", "T", NULL, "time for one request; default 10s",
     ALQI_CLI_DURATION(PUSH, timeout_us), .least = 1000, .most = TIME_MOST,
     .wants = TIME_WANTED "1 ms at least"},
    {0, "retries", "N", NULL, "how often a profile is sent again; default 5",
     ALQI_CLI_COUNT(PUSH, again.n_retries), .most = ALQI_CLI_RETRIES_MOST},
    {0, "max-stacks", "N", NULL,
     "merge the rest (default " ALQI_DEFAULT_TEXT(
         ALQI_CLI_PPROF_STACKS) "; 0: keep all)",
     ALQI_CLI_COUNT(PUSH, max_stacks), .most = UINT32_MAX},
    {0, "max-bytes", "N", NULL,
     "merge more if larger (default 4194304; 0: never)",
     ALQI_CLI_COUNT(PUSH, max_bytes), .most = 0x1.fffffffffffffp62},
    {0},
};

/* Why a label is refused, NULL: it is not. The rules are those that all three
 * engines have in common; Pyroscope reads a value up to ',' or '}'. */
static const char *
label_fault(const struct push *p, const struct alqi_cli_push_label *l)
{
    const char *c = l->name;
    char clean[LABEL_BYTES + 1];

    if (!isalpha((unsigned char)*c) && *c != '_')
        return "its name begins with a letter or '_'";
    for (; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && *c != '_' &&
            (*c != '.' || !p->engine->has_dots))
            return "its name has letters, digits and '_' alone";
    if (strncmp(l->name, "__", 2) == 0)
        return "names that begin with '__' are the engine's own";
    if (strcmp(l->name, "service_name") == 0 ||
        strcmp(l->name, "service.name") == 0 || strcmp(l->name, "job") == 0)
        return "--name says it";
    alqi_cli_clean(clean, sizeof clean, l->value);
    if (strcmp(clean, l->value) != 0)
        return "its value is not plain text";
    if (!p->engine->has_dots && strpbrk(l->value, "{},=\"") != NULL)
        return "its value may not have any of {},=\"";
    for (const struct alqi_cli_push_label *o = p->labels; o < l; o++)
        if (strcmp(o->name, l->name) == 0)
            return "it is given twice";
    return NULL;
}

/* -1, or the status to exit with at the first label that no engine takes. */
static int
labels_check(const struct push *p)
{
    for (uint32_t i = 0; i < p->n_labels; i++) {
        const char *fault = label_fault(p, &p->labels[i]);

        if (fault != NULL)
            return alqi_cli_usage("push", "push: --label=%s=%.60s: %s",
                                  p->labels[i].name, p->labels[i].value, fault);
    }
    return -1;
}

/* The program's name, of what engines take in one. */
static const char *
service_name(const struct push *p)
{
    static char name[ALQI_CLI_NAME_BYTES];
    const char *path = p->reading.export.analysis.info->executable;

    snprintf(name, sizeof name, "%s",
             p->name != NULL ? p->name : alqi_base_file_name(path));
    for (char *c = name; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("._-/", *c) == NULL)
            *c = '_';
    return name[0] != '\0' ? name : "unnamed";
}

/* ---- waiting --------------------------------------------------------- */

/* Whether the process that is recorded is gone; its number may not be signalled
 * by us, which counts as there. */
static bool
has_ended(const struct push *p)
{
    return p->pid != 0 && kill(p->pid, 0) != 0 && errno == ESRCH;
}

/* Waits until that moment of the monotonic clock. False: the pushing ends, by a
 * signal or with the process. */
static bool
rest_until(struct push *p, uint64_t mono_ns)
{
    for (;;) {
        uint64_t now_ns = alqi_plat_mono_ns_sigsafe();
        uint64_t left_ms = now_ns < mono_ns ? (mono_ns - now_ns) / 1000000 : 0;

        if (p->again.is_ending || has_ended(p))
            return false;
        if (left_ms == 0)
            return true;
        alqi_cli_web_again_rest(&p->again,
                                left_ms < LOOK_MS ? left_ms : LOOK_MS);
    }
}

/* ---- one window ------------------------------------------------------ */

/* What a row's `make` has allocated. */
static void
body_free(struct alqi_cli_push_body *body)
{
    free(body->bytes);
    free(body->query);
    memset(body, 0, sizeof *body);
}

/* How many stacks to try next: as many as would fit if all were of one size,
 * less a tenth, and half at most. */
static uint32_t
fewer(const struct push *p, const struct alqi_cli_push_body *body)
{
    double share = 0.9 * (double)p->max_bytes / (double)body->n_profile_bytes;
    uint32_t most = (uint32_t)(body->most_stacks * (share < 0.5 ? share : 0.5));

    return most > STACKS_LEAST ? most : STACKS_LEAST;
}

/* Makes a window's body. A profile that is too large is made again with fewer
 * stacks, down to STACKS_LEAST. False: the window has nothing to tell. */
static bool
body_make(struct push *p, const struct alqi_cli_push_window *w,
          struct alqi_cli_push_body *body)
{
    uint32_t most = (uint32_t)p->max_stacks;
    bool is_any;

    for (;;) {
        w->export->max_stacks = most;
        memset(body, 0, sizeof *body);
        is_any = p->engine->make(w, body);
        if (p->max_bytes == 0 || body->n_profile_bytes <= p->max_bytes ||
            body->most_stacks <= STACKS_LEAST)
            return is_any;
        most = fewer(p, body);
        if (!p->has_said_folding)
            alqi_cli_say(
                "push: a profile of %s is above --max-bytes: stacks "
                "are merged into [other]",
                alqi_cli_text_bytes((double)body->n_profile_bytes).text);
        p->has_said_folding = true;
        body_free(body);
    }
}

/* What the server answered or why there was no answer, and what follows. */
static void
say_answer(const struct push *p, struct alqi_cli_web_answer *a,
           const char *what)
{
    if (a->status == 0)
        alqi_cli_say("push: %s: %s; %s", p->public, a->error, what);
    else
        alqi_cli_say("push: %s answers %u%s%s; %s", p->public, a->status,
                     a->n_text > 0 ? ": " : "", alqi_cli_web_line(a), what);
}

enum sent { SENT, LATER, REFUSED };

/* Posts a body until it is taken, refused, or the retries are used up. A signal
 * ends the waits but not the request, which is sent once more. */
static enum sent
body_send(struct push *p, const struct alqi_cli_push_body *body)
{
    struct alqi_cli_web_request request = {
        .type = p->engine->type, .body = body->bytes, .n_bytes = body->n_bytes};
    struct alqi_cli_web_answer answer;
    enum sent sent = LATER;
    char *url = NULL;

    if (asprintf(&url, "%s%s", p->url, body->query != NULL ? body->query : "") <
        0)
        return REFUSED;
    request.url = url;
    for (uint64_t round = 0; sent == LATER; round++) {
        alqi_cli_web_post(p->web, &request, &answer);
        if (answer.status >= 200 && answer.status < 300) {
            const char *objection = p->engine->objection != NULL
                                        ? p->engine->objection(&answer)
                                        : NULL;

            if (objection != NULL)
                alqi_cli_say("push: %s: %s", p->public, objection);
            sent = SENT;
        } else if (!alqi_cli_web_is_passing(&answer)) {
            say_answer(p, &answer, "it is not sent again");
            sent = REFUSED;
        } else if (!alqi_cli_web_again_wait(&p->again, round, &answer)) {
            say_answer(p, &answer,
                       p->is_followed ? "the next profile has it, too"
                                      : "given up");
            break;
        }
    }
    free(url);
    return sent;
}

/* The window from what was sent last to what is read. Engines refuse a window
 * without a duration, so it has a microsecond at least. */
static struct alqi_cli_push_window
window_of(struct push *p)
{
    struct alqi_cli_export *x = &p->reading.export;
    const struct alqi_cli_analysis *a = &x->analysis;
    uint64_t from_ns =
        p->sent.wall_ns != 0 ? p->sent.wall_ns : a->info->start_us * NS_PER_US;
    uint64_t until_ns = alqi_cli_reading_taken_ns(&p->reading);

    if (until_ns <= from_ns) /* the program has ended, and done nothing since */
        until_ns = from_ns + NS_PER_US;
    x->measure = ALQI_CLI_LIVE;
    x->has_measure = true;
    x->part = (struct alqi_cli_export_part){
        .since = &p->sent,
        .taken_ns = until_ns,
        .is_quiet = true,
    };
    return (struct alqi_cli_push_window){
        .service = service_name(p),
        .labels = p->labels,
        .n_labels = p->n_labels,
        .from_ns = from_ns,
        .until_ns = until_ns,
        .export = x,
    };
}

/* Reads what is new and pushes all that is not sent yet (.inv.once). -1 to go
 * on, or the status to exit with. */
static int
window_push(struct push *p)
{
    struct alqi_cli_push_window w;
    struct alqi_cli_push_body body;
    enum sent sent;
    int rc = alqi_cli_reading_update(&p->reading);

    if (rc >= 0)
        return rc;
    alqi_cli_moment_fit(&p->sent, &p->reading.export.analysis);
    w = window_of(p);
    sent = body_make(p, &w, &body) ? body_send(p, &body) : SENT;
    p->n_pushed += sent == SENT && body.n_stacks > 0;
    p->n_delayed += sent == LATER;
    body_free(&body);
    if (sent == SENT)
        alqi_cli_moment_take(&p->sent, &p->reading.export.analysis, w.until_ns);
    if (sent == REFUSED)
        return ALQI_CLI_FINDING;
    return sent == SENT || p->is_followed ? -1 : ALQI_CLI_FINDING;
}

/* ---- the verb -------------------------------------------------------- */

/* Windows keep their times, however long a request takes; a window that was
 * missed is not made up, as the next one holds it. */
static int
follow(struct push *p)
{
    uint64_t every_ns = (uint64_t)(p->every_us * NS_PER_US);
    uint64_t next_ns = alqi_plat_mono_ns_sigsafe() + every_ns;
    int rc = -1;

    while (rc < 0 && rest_until(p, next_ns)) {
        uint64_t now_ns = alqi_plat_mono_ns_sigsafe();

        next_ns += every_ns;
        if (next_ns < now_ns) /* one window took longer than it is */
            next_ns = now_ns + every_ns;
        rc = window_push(p);
    }
    if (rc >= 0)
        return rc;
    p->is_followed = false; /* there is no next one */
    return window_push(p);
}

/* Pushes the first window, then follows a recording that grows; prints what was
 * sent. A trace that is finished cannot be followed. */
static int
push_all(struct push *p)
{
    int rc;

    p->is_followed = p->every_us > 0;
    rc = window_push(p);
    if (rc < 0 && p->is_followed && !p->reading.is_growing)
        rc = alqi_cli_usage("push",
                            "push: --every: nothing is being recorded "
                            "to %s",
                            p->reading.path);
    if (rc < 0 && p->is_followed)
        rc = follow(p);
    if (rc > ALQI_CLI_FINDING && p->n_pushed == 0)
        return rc;
    printf("%" PRIu64 " profile%s sent to %s", p->n_pushed,
           p->n_pushed == 1 ? "" : "s", p->public);
    if (p->again.n_repeated > 0)
        printf("; %" PRIu64 " requests repeated", p->again.n_repeated);
    if (p->n_delayed > 0 && p->every_us > 0)
        printf("; %" PRIu64 " times it could not be sent in time",
               p->n_delayed);
    putchar('\n');
    return rc < 0 ? ALQI_CLI_OK : rc;
}

/* Opens what a push needs, and frees it. The reading takes hold of path. */
static int
run(struct push *p, const char *path)
{
    int rc;

    p->web = alqi_cli_web_open("push", p->timeout_us, &p->headers);
    if (p->web == NULL)
        return ALQI_CLI_UNREADABLE;
    p->url = alqi_cli_web_join(p->base, p->engine->path);
    p->public = alqi_cli_web_public(p->url);
    alqi_cli_reading_init(&p->reading, path, p->pid);
    alqi_cli_web_again_begin(&p->again);
    rc = push_all(p);
    alqi_cli_reading_free(&p->reading);
    alqi_cli_moment_free(&p->sent);
    alqi_cli_web_drop(p->web);
    free(p->url);
    free(p->public);
    return rc;
}

/* -1 to go on with all that is asked for. */
static int
arguments_check(const struct push *p)
{
    if (p->engine == NULL)
        return alqi_cli_usage("push", "push: where to? Write --to=ENGINE=URL");
    return labels_check(p);
}

/* The recording of a process goes when that ends; what it has last is told all
 * the same.  It is left open. */
static int
file_hold(const struct push *p, char *path, size_t n)
{
    int fd = p->pid != 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (p->pid == 0)
        return -1;
    if (fd < 0)
        return alqi_cli_unreadable("push: cannot open %s: %s", path,
                                   strerror(errno));
    snprintf(path, n, "/proc/self/fd/%d", fd);
    return -1;
}

/* Labels and headers are freed on every way out; the held descriptor goes with
 * the process. */
int
alqi_cli_push(int argc, char **argv)
{
    struct push p = {.timeout_us = TIMEOUT_US,
                     .again.n_retries = ALQI_CLI_RETRIES,
                     .max_stacks = ALQI_CLI_PPROF_STACKS,
                     .max_bytes = BYTES_MOST};
    char path[PATH_MAX + 64];
    int first;
    int rc = alqi_cli_parse("push", argc, argv, &p, &first);

    if (rc < 0)
        rc = arguments_check(&p);
    if (rc < 0)
        rc = alqi_cli_recorded_operand("push", argc, argv, first, &p.pid, path,
                                       sizeof path);
    if (rc < 0)
        rc = file_hold(&p, path, sizeof path);
    if (rc < 0)
        rc = run(&p, path);
    for (uint32_t i = 0; i < p.n_labels; i++)
        free(p.labels[i].name);
    alqi_cli_web_headers_free(&p.headers);
    return rc;
}
