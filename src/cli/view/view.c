/* view.c -- aliquot view: a page about traces, served to this machine alone
 *
 * Phases: find the process if one is to be watched (live.c), open an index of
 * each trace, add it to the set, serve until a signal or idle_s without a
 * request. The page's files come from the program itself,
 * its data from /api/ by the engine of src/view. The server answers one request
 * after the other, so set and source need no lock. */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/tool/http.h"
#include "cli/tool/page.h"
#include "cli/tool/text.h"
#include "cli/view/live.h"
#include "cli/view/open.h"
#include "cli/view/snapshot.h"
#include "cli/view/source.h"
#include "view/answer.h"

enum { IDLE_DEFAULT_S = 3600, PORT_FIRST = 20480, PORTS = 8192 };

struct view {
    struct alqi_cli_control_target
        target;                      /* -p, --control: a process beside files */
    struct alqi_cli_view_live *live; /* NULL: none */
    /* port 0: any that is free; seconds, 0: never */
    uint64_t port, idle_s;
    /* the same each time for the same user and operands */
    uint16_t port_wish;
    bool is_quiet; /* starts no browser */
    /* --no-index: neither read nor left */
    bool has_no_index;
    struct alqi_cli_suppress suppress;

    struct alqi_cli_view_file *files;
    /* opened so far */
    uint32_t n_files;
    /* refers to the maps of files */
    struct alqi_view_set *set;
    /* the source file that was shown last */
    struct alqi_cli_view_source source;
    /* of a managed heap */
    struct alqi_cli_view_snapshot snapshot;
};

const struct alqi_cli_option alqi_cli_view_options[] = {
    {'p', "pid", "PID", NULL, "a running process, renewed each second",
     ALQI_CLI_TAKEN(alqi_cli_pid_take, offsetof(struct view, target.pid))},
    ALQI_CLI_CONTROL_ROW(struct view, target),
    {0, "port", "N", NULL, "port to listen on; default: any free port",
     ALQI_CLI_COUNT(struct view, port), .most = 65535,
     .wants = "write a whole number up to 65535"},
    {0, "no-open", NULL, NULL, "print the address, start no browser",
     ALQI_CLI_FLAG(struct view, is_quiet)},
    {0, "idle", "S", NULL, "exit after S idle seconds; default 3600, 0: never",
     ALQI_CLI_COUNT(struct view, idle_s), .most = 1000000,
     .wants = "write a whole number up to 1000000"},
    {0, "no-index", NULL, NULL,
     "neither use nor write an index beside the trace",
     ALQI_CLI_FLAG(struct view, has_no_index)},
    {0, "suppressions", "FILE", NULL, "show no leaks that FILE names",
     ALQI_CLI_TAKEN(alqi_cli_suppress_take, offsetof(struct view, suppress))},
    {0},
};

static bool
has_target(const struct view *v)
{
    return v->target.pid != 0 || v->target.control != NULL;
}

/* ---- answers ------------------------------------------------------------- */

/* The engine's status is that of HTTP; its text becomes the answer's, which
 * frees it. */
static void
answer_api(struct view *v, const char *name, const char *query,
           struct alqi_cli_http_answer *out)
{
    struct alqi_view_json json = {0};

    out->status = (unsigned)alqi_view_answer(v->set, name, query, &json);
    out->type = "application/json";
    out->body = json.text;
    out->n_bytes = json.n;
}

/* A name that is no file of the page leaves the answer empty: 404. The policy
 * lets the page load from this server alone. */
static void
answer_page(const struct view *v, const char *name,
            struct alqi_cli_http_answer *out)
{
    static const char policy[] =
        "default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src data:; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'";
    const char *index = alqi_cli_view_snapshot_index(&v->snapshot);
    struct alqi_cli_page_file file;

    if (!alqi_cli_page_find(name, &file))
        return;
    if (index != NULL && (name[0] == '\0' || strcmp(name, "index.html") == 0)) {
        file.bytes = index;
        file.n_bytes = strlen(index);
    }
    out->status = 200;
    out->type = file.type;
    out->policy = policy;
    out->body = (void *)(uintptr_t)file.bytes;
    out->n_bytes = file.n_bytes;
    out->is_static = true;
}

/* The server's handler; the path begins with '/'. */
static void
answer(void *arg, const struct alqi_cli_http_request *request,
       struct alqi_cli_http_answer *out)
{
    static const char api[] = "/api/";
    struct view *v = arg;

    if (strcmp(request->path, "/api/live") == 0)
        alqi_cli_view_live_answer(v->live, request, out);
    else if (alqi_cli_view_snapshot_answer(&v->snapshot, request, out))
        return;
    else if (strncmp(request->path, api, sizeof api - 1) == 0)
        answer_api(arg, request->path + sizeof api - 1, request->query, out);
    else
        answer_page(v, request->path + 1, out);
}

/* ---- the verb ------------------------------------------------------------ */

/* The browser gets a copy of the address, as posix_spawn wants what it could
 * change. The child is not waited for. */
static void
browser_open(const char *url)
{
    extern char **environ;
    char program[] = "xdg-open";
    char *argv[] = {program, strdup(url), NULL};
    pid_t pid;

    if (argv[1] != NULL &&
        posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0)
        alqi_cli_say("no browser was started: there is no xdg-open");
    free(argv[1]);
}

/* Adds a text to a hash of texts. */
static uint64_t
hash_add(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = alqi_base_mix(hash ^ (unsigned char)*text);
    return alqi_base_mix(hash + 1);
}

/* A port for what is shown, so that a link to it is good once more when it is
 * shown again; below those that the system gives out. */
static uint16_t
port_of(const struct view *v, char **operands, int n)
{
    uint64_t hash = alqi_base_mix(getuid() + (uint64_t)v->target.pid);

    if (v->target.control != NULL)
        hash = hash_add(hash, v->target.control);
    for (int i = 0; i < n; i++) {
        char *whole = realpath(operands[i], NULL);

        hash = hash_add(hash, whole != NULL ? whole : operands[i]);
        free(whole);
    }
    return (uint16_t)(PORT_FIRST + hash % PORTS);
}

/* Prints the address before it waits, as programs read it. A browser is started
 * only where there is a screen. */
static int
serve(struct view *v)
{
    struct alqi_cli_http_config config = {
        .verb = "view",
        .port = (uint16_t)v->port,
        .port_wish = v->port_wish,
        .has_token = true,
        .is_token_kept = true,
        .is_private = true,
        .takes_post = v->live != NULL,
        .idle_s = (unsigned)v->idle_s,
        .answer = answer,
        .arg = v,
    };
    struct alqi_cli_http *http = alqi_cli_http_open(&config);

    if (http == NULL)
        return ALQI_CLI_UNREADABLE;
    printf("%s\n", alqi_cli_http_url(http));
    fflush(stdout);
    if (!v->is_quiet &&
        (getenv("DISPLAY") != NULL || getenv("WAYLAND_DISPLAY") != NULL))
        browser_open(alqi_cli_http_url(http));
    if (alqi_cli_http_wait(http) == ALQI_CLI_HTTP_IDLE)
        alqi_cli_say("view: no request for %llu s: the server ends",
                     (unsigned long long)v->idle_s);
    alqi_cli_http_drop(http);
    return ALQI_CLI_OK;
}

/* Opens the process and all operands. -1, or the status to exit with;
 * v->n_files says how many are to be closed either way. */
static int
files_open(struct view *v, int argc, char **argv, int first)
{
    int rc = -1;

    if (first == argc && !has_target(v))
        return alqi_cli_usage("view",
                              "view: which trace? Name a file, several, "
                              "a directory, or a process by -p PID");
    if (has_target(v) && v->suppress.is_given)
        return alqi_cli_usage("view", "view: --suppressions is for traces, not "
                                      "for a process that runs");
    if (argc - first > ALQI_VIEW_TRACES_MAX)
        return alqi_cli_usage("view", "view: more than %d traces",
                              ALQI_VIEW_TRACES_MAX);
    v->files = alqi_cli_realloc(NULL, (size_t)(argc - first), sizeof *v->files);
    v->set = alqi_view_set_new();
    if (v->set == NULL)
        alqi_cli_die("view: out of memory");
    alqi_view_set_lines(v->set, alqi_cli_view_lines, &v->source);
    if (has_target(v))
        rc = alqi_cli_view_live_open(&v->target, v->set, &v->live);
    if (rc >= 0)
        return rc;
    for (int i = first; i < argc; i++) {
        struct alqi_cli_view_file *file = &v->files[v->n_files];
        const char *error;

        if (alqi_cli_heap_answers_is(argv[i])) {
            rc = alqi_cli_view_snapshot_open(&v->snapshot, argv[i]);
            if (rc >= 0)
                return rc;
            continue;
        }
        rc = alqi_cli_view_open(file, argv[i], !v->has_no_index,
                                v->suppress.is_given ? &v->suppress : NULL);

        if (rc >= 0)
            return rc;
        v->n_files++;
        error = alqi_view_set_add(v->set, file->bytes, file->n_bytes);
        if (error == NULL)
            continue;
        return alqi_cli_unreadable("the index of %s cannot be used: %s",
                                   argv[i], error);
    }
    alqi_cli_view_snapshot_begin(&v->snapshot,
                                 v->n_files == 0 && !has_target(v));
    return -1;
}

/* The set refers to the files' maps and the process's indexes, so it is dropped
 * first. */
int
alqi_cli_view(int argc, char **argv)
{
    struct view v = {.idle_s = IDLE_DEFAULT_S, .target = {.verb = "view"}};
    int first;
    int rc = alqi_cli_parse("view", argc, argv, &v, &first);

    if (rc < 0)
        rc = files_open(&v, argc, argv, first);
    v.port_wish = rc < 0 ? port_of(&v, argv + first, argc - first) : 0;
    if (rc < 0)
        rc = serve(&v);
    alqi_view_set_drop(v.set);
    alqi_cli_view_live_drop(v.live);
    for (uint32_t i = 0; i < v.n_files; i++)
        alqi_cli_view_close(&v.files[i]);
    alqi_cli_view_snapshot_close(&v.snapshot);
    free(v.files);
    alqi_cli_suppress_free(&v.suppress);
    free(v.source.text);
    return rc;
}
