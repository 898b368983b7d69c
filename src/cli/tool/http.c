/* http.c -- see http.h
 *
 * libmicrohttpd parses and sends; this file decides which requests are
 * answered.
 *
 * A request passes request_begins() (its line is kept), request_answer() once
 * or more often (a posted body comes in pieces), and request_ends(). A server
 * is open from alqi_cli_http_open() to alqi_cli_http_drop();
 * alqi_cli_http_wait() returns at a signal, at alqi_cli_http_stop(), or after
 * idle_s without a request.
 *
 * .inv.loopback  The socket is bound to 127.0.0.1 before libmicrohttpd sees it.
 * .inv.own       The handler runs only for a request whose Host is the
 *                server's, whose Origin is too if it has one, and whose path
 *                begins with the token if there is one.
 * .inv.user      With config.is_private a connection is taken only from this
 *                process's user and root, where the system tells whose it is;
 *                the token is what keeps others out.
 * .inv.place     A connection has a place of http_places.h while it is open,
 *                so none holds up others for long.
 * .inv.quiet     An answer tells a browser to keep it from other sites, from
 *                its cache, and from the next page's Referer, which would
 *                carry the token. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/tool/gzip.h"
#include "cli/tool/http.h"
#include "cli/tool/http_places.h"
#include "cli/tool/token.h"
#include "plat/peer.h"
#include "plat/plat.h"
#include "plat/process.h"

enum {
    POST_BYTES = 1 << 20,
    REQUEST_BYTES = 64 << 10, /* of a connection: its line, headers, answer's
                               * headers                                     */
    /* a client that takes nothing of its answer for so long is left */
    SILENT_S = 60,
    /* of connections that find no place; the kernel may allow less */
    BACKLOG = 4096,
    /* shorter answers are sent as they are */
    PACK_BYTES_MIN = 1024,
    /* how often a waiting server looks whether it is idle */
    TICK_MS = 500
};

#define NO_LOADS                                                               \
    "default-src 'none'; base-uri 'none'; form-action 'none'; "                \
    "frame-ancestors 'none'"

struct alqi_cli_http {
    struct alqi_cli_http_config config;
    struct MHD_Daemon *daemon; /* owns the socket */
    int stop_fd;               /* readable when the server ends */
    /* the bound one, where config.port may be 0 */
    uint16_t port;
    /* hexadecimal; "": the server has none */
    alqi_cli_token token;
    /* what is printed */
    char url[64 + sizeof(alqi_cli_token)];
    /* blocked in all threads, taken by alqi_cli_http_wait() */
    sigset_t signals;
    struct alqi_cli_http_places places;
    pthread_mutex_t says;     /* guards said */
    char said[512];           /* libmicrohttpd's last message; "": none */
    _Atomic uint64_t last_ns; /* end of the last request */
    _Atomic unsigned n_open;  /* requests being answered */
};

/* A request's line as it was sent, and what becomes of it. */
struct exchange {
    /* the handler's checks have passed once */
    bool is_admitted;
    /* bytes of the body so far */
    size_t n_posted;
    /* path and query, not decoded */
    char target[];
};

/* ---- who may ask --------------------------------------------------------- */

/* A header of the request; NULL without it. */
static const char *
header_of(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* HOST or HOST:PORT is this server's; a name other than localhost may have been
 * made to point here by whoever owns it. */
static bool
is_own_authority(const struct alqi_cli_http *http, const char *text)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost"};
    char own[32];

    for (size_t i = 0; i < ALQI_COUNT_OF(hosts); i++) {
        snprintf(own, sizeof own, "%s:%u", hosts[i], http->port);
        if (strcmp(text, own) == 0 ||
            (http->port == 80 && strcmp(text, hosts[i]) == 0))
            return true;
    }
    return false;
}

/* An Origin is a scheme and an authority; this server speaks http alone. */
static bool
is_own_origin(const struct alqi_cli_http *http, const char *text)
{
    static const char scheme[] = "http://";

    return strncmp(text, scheme, strlen(scheme)) == 0 &&
           is_own_authority(http, text + strlen(scheme));
}

/* The path behind "/TOKEN", or NULL.  Takes as long for a wrong token as for a
 * right one. */
static const char *
token_skip(const struct alqi_cli_http *http, const char *path)
{
    size_t n = strlen(http->token);
    unsigned char wrong = 0;

    if (!http->config.has_token)
        return path;
    if (strlen(path) < n + 2 || path[0] != '/' || path[n + 1] != '/')
        return NULL;
    for (size_t i = 0; i < n; i++)
        wrong |= (unsigned char)(path[i + 1] ^ http->token[i]);
    return wrong == 0 ? path + n + 1 : NULL;
}

/* Whether the server answers such requests at all. */
static bool
is_method(const struct alqi_cli_http *http, const char *method)
{
    return strcmp(method, MHD_HTTP_METHOD_GET) == 0 ||
           (http->config.takes_post &&
            strcmp(method, MHD_HTTP_METHOD_POST) == 0);
}

/* True when the request may be answered; else the answer is the refusal. */
static bool
admit(const struct alqi_cli_http *http, struct MHD_Connection *c,
      const char *method, const char *url, const char **path,
      struct alqi_cli_http_answer *answer)
{
    const char *host = header_of(c, MHD_HTTP_HEADER_HOST);
    const char *origin = header_of(c, MHD_HTTP_HEADER_ORIGIN);

    *path = token_skip(http, url);
    if (host == NULL || !is_own_authority(http, host))
        alqi_cli_http_say(answer, 403, "this server answers as 127.0.0.1:%u",
                          http->port);
    else if (origin != NULL && !is_own_origin(http, origin))
        alqi_cli_http_say(answer, 403, "pages of other sites may not ask");
    else if (!is_method(http, method))
        alqi_cli_http_say(answer, 405, "%s only",
                          http->config.takes_post ? "GET and POST" : "GET");
    else if (*path == NULL)
        alqi_cli_http_say(answer, 404,
                          "not here: the address that was printed is longer");
    else
        return true;
    return false;
}

/* libmicrohttpd asks for each connection, before anything is read of it. */
static enum MHD_Result
client_admit(void *arg, const struct sockaddr *address, socklen_t n)
{
    const struct alqi_cli_http *http = arg;
    const struct sockaddr_in server = {.sin_family = AF_INET,
                                       .sin_port = htons(http->port),
                                       .sin_addr.s_addr =
                                           htonl(INADDR_LOOPBACK)};
    uid_t uid = 0;

    if (!http->config.is_private || n < sizeof server)
        return MHD_YES;
    switch (alqi_plat_peer_uid(
        (const struct sockaddr_in *)(const void *)address, &server, &uid)) {
    case ALQI_PLAT_PEER_KNOWN:
        return uid == geteuid() || uid == 0 ? MHD_YES : MHD_NO;
    case ALQI_PLAT_PEER_GONE:
        return MHD_NO;
    default:
        return MHD_YES;
    }
}

/* ---- places -------------------------------------------------------------- */

static struct alqi_cli_http_place *
place_of(struct MHD_Connection *c)
{
    return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
        ->socket_context;
}

/* libmicrohttpd calls it when a connection begins, and before it closes one. */
static void
connection_notify(void *arg, struct MHD_Connection *c, void **context,
                  enum MHD_ConnectionNotificationCode what)
{
    struct alqi_cli_http *http = arg;

    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        *context = alqi_cli_http_place_take(
            &http->places,
            MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)
                ->connect_fd);
    else if (*context != NULL)
        alqi_cli_http_place_leave(&http->places, *context);
}

/* ---- an answer ----------------------------------------------------------- */

/* The text ends with a newline, for people who ask by curl. Without memory the
 * answer has no body. */
void
alqi_cli_http_say(struct alqi_cli_http_answer *answer, unsigned status,
                  const char *format, ...)
{
    va_list args;
    char *text;
    int n;

    va_start(args, format);
    n = vasprintf(&text, format, args);
    va_end(args);
    memset(answer, 0, sizeof *answer);
    answer->status = status;
    if (n < 0)
        return;
    answer->body = alqi_cli_realloc(text, (size_t)n + 2, 1);
    memcpy((char *)answer->body + n, "\n", 2);
    answer->n_bytes = (size_t)n + 1;
}

/* Each answer is kept from other sites, caches and referers (.inv.quiet). */
static void
headers_add(struct MHD_Response *r, const struct alqi_cli_http_answer *a,
            bool takes_post)
{
    char text[300];

    MHD_add_response_header(r, "Content-Type",
                            a->type != NULL ? a->type
                                            : "text/plain; charset=utf-8");
    MHD_add_response_header(r, "Content-Security-Policy",
                            a->policy != NULL ? a->policy : NO_LOADS);
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
    MHD_add_response_header(r, "Cross-Origin-Opener-Policy", "same-origin");
    MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(r, "Cache-Control", "no-store");
    MHD_add_response_header(r, "Vary", "Accept-Encoding");
    if (a->status == 405)
        MHD_add_response_header(r, "Allow", takes_post ? "GET, POST" : "GET");
    if (a->encoding != NULL)
        MHD_add_response_header(r, "Content-Encoding", a->encoding);
    if (a->save_as != NULL) {
        snprintf(text, sizeof text, "attachment; filename=\"%s\"", a->save_as);
        MHD_add_response_header(r, "Content-Disposition", text);
    }
    if (a->retry_after_s != 0) {
        snprintf(text, sizeof text, "%u", a->retry_after_s);
        MHD_add_response_header(r, "Retry-After", text);
    }
}

/* Whether a client takes gzip: it names it, and not with a quality of 0. */
static bool
takes_gzip(struct MHD_Connection *c)
{
    const char *text = header_of(c, MHD_HTTP_HEADER_ACCEPT_ENCODING);
    const char *gzip = text != NULL ? strstr(text, "gzip") : NULL;
    const char *quality;

    if (gzip == NULL || strncmp(gzip, "gzip;q=", 7) != 0)
        return gzip != NULL;
    quality = gzip + 7;
    quality += strspn(quality, "0.");
    return *quality >= '1' && *quality <= '9';
}

/* Compresses the body where that helps.  Without memory it stays as it is. */
static void
answer_pack(struct MHD_Connection *c, struct alqi_cli_http_answer *a)
{
    size_t n;
    void *packed;

    if (a->encoding != NULL || a->n_bytes < PACK_BYTES_MIN || !takes_gzip(c))
        return;
    packed = alqi_cli_gzip(a->body, a->n_bytes, &n);
    if (packed == NULL)
        return;
    if (!a->is_static)
        free(a->body);
    a->body = packed;
    a->n_bytes = n;
    a->is_static = false;
    a->encoding = "gzip";
}

/* Queues the answer and gives its body to libmicrohttpd, which frees it unless
 * it is static. An answer that the handler left empty is 404. */
static enum MHD_Result
answer_send(struct alqi_cli_http *http, struct MHD_Connection *c,
            struct alqi_cli_http_answer *a)
{
    struct MHD_Response *r;
    enum MHD_Result result;

    if (a->status == 0)
        alqi_cli_http_say(a, 404, "not here");
    answer_pack(c, a);
    r = MHD_create_response_from_buffer(a->n_bytes, a->body,
                                        a->is_static ? MHD_RESPMEM_PERSISTENT
                                                     : MHD_RESPMEM_MUST_FREE);
    if (r == NULL) {
        if (!a->is_static)
            free(a->body);
        return MHD_NO;
    }
    headers_add(r, a, http->config.takes_post);
    if (alqi_cli_http_places_are_scarce(&http->places))
        MHD_add_response_header(r, "Connection", "close");
    result = MHD_queue_response(c, a->status, r);
    MHD_destroy_response(r);
    return result;
}

/* Keeps the request's line as it was sent, and counts the request as open.
 * libmicrohttpd decodes paths in place and keeps no query as it was sent. */
static void *
request_begins(void *arg, const char *target, struct MHD_Connection *c)
{
    struct alqi_cli_http *http = arg;
    struct exchange *x = malloc(sizeof *x + strlen(target) + 1);

    (void)c;
    if (x == NULL)
        return NULL; /* the request is refused */
    *x = (struct exchange){0};
    strcpy(x->target, target);
    atomic_fetch_add(&http->n_open, 1);
    return x;
}

/* Frees what request_begins() made. last_ns is set before n_open falls: the
 * idle test may not see an idle server with an old time. */
static void
request_ends(void *arg, struct MHD_Connection *c, void **context,
             enum MHD_RequestTerminationCode why)
{
    struct alqi_cli_http *http = arg;
    struct alqi_cli_http_place *place = place_of(c);

    (void)why;
    if (place != NULL)
        alqi_cli_http_place_end(&http->places, place);
    if (*context == NULL)
        return;
    free(*context);
    *context = NULL;
    atomic_store(&http->last_ns, alqi_plat_mono_ns_sigsafe());
    atomic_fetch_sub(&http->n_open, 1);
}

/* Takes a piece of a posted body and drops it. libmicrohttpd calls once without
 * any piece, then for each piece, then once to be answered. True: there is more
 * to come. */
static bool
post_take(struct exchange *x, bool is_first, size_t *n_upload,
          struct alqi_cli_http_answer *answer)
{
    size_t n = *n_upload;

    if (is_first)
        return true;
    *n_upload = 0;
    x->n_posted += n;
    if (n != 0 && x->n_posted <= POST_BYTES)
        return true;
    if (x->n_posted > POST_BYTES)
        alqi_cli_http_say(answer, 413, "at most %d bytes", POST_BYTES);
    return false;
}

/* libmicrohttpd's handler. Admits the request anew at each call, as
 * libmicrohttpd does not remember a refusal, and calls the configured handler
 * once the body is through. */
static enum MHD_Result
request_answer(void *arg, struct MHD_Connection *c, const char *url,
               const char *method, const char *version, const char *upload,
               size_t *n_upload, void **context)
{
    struct alqi_cli_http *http = arg;
    struct exchange *x = *context;
    struct alqi_cli_http_answer answer = {0};
    struct alqi_cli_http_request request = {.http = http, .connection = c};
    struct alqi_cli_http_place *place = place_of(c);
    const char *mark;
    bool is_first, is_own;

    (void)version;
    (void)upload;
    if (x == NULL)
        return MHD_NO;
    is_first = !x->is_admitted;
    is_own = admit(http, c, method, url, &request.path, &answer);
    if (is_own) {
        x->is_admitted = true;
        mark = strchr(x->target, '?');
        request.query = mark != NULL ? mark + 1 : "";
        request.is_post = strcmp(method, MHD_HTTP_METHOD_POST) == 0;
        if (request.is_post && post_take(x, is_first, n_upload, &answer))
            return MHD_YES;
    }
    if (place != NULL)
        alqi_cli_http_place_begin(&http->places, place, is_own);
    if (answer.status == 0)
        http->config.answer(http->config.arg, &request, &answer);
    return answer_send(http, c, &answer);
}

/* ---- the server ---------------------------------------------------------- */

/* A client can make libmicrohttpd say the same for ever: it is said once until
 * something else is. */
static void
daemon_says(void *arg, const char *format, va_list args)
{
    struct alqi_cli_http *http = arg;
    char text[sizeof http->said];

    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    pthread_mutex_lock(&http->says);
    if (strcmp(text, http->said) != 0)
        alqi_cli_say("%s: %s", http->config.verb, text);
    strcpy(http->said, text);
    pthread_mutex_unlock(&http->says);
}

/* A socket that listens on a port of this machine alone (.inv.loopback), 0 is
 * any; -1: none, and errno says why. */
static int
listen_at(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, error, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* A socket that listens, with http->port set to its port; -1: none, and the
 * reason was said. */
static int
socket_listen(struct alqi_cli_http *http)
{
    const struct alqi_cli_http_config *c = &http->config;
    struct sockaddr_in a;
    socklen_t n = sizeof a;
    int fd = c->port == 0 && c->port_wish != 0 ? listen_at(c->port_wish) : -1;

    if (fd < 0)
        fd = listen_at(c->port);
    if (fd >= 0 && getsockname(fd, (struct sockaddr *)&a, &n) == 0) {
        http->port = ntohs(a.sin_port);
        return fd;
    }
    if (errno == EADDRINUSE)
        alqi_cli_say("%s: port %u is taken; choose another, or let --port be "
                     "0",
                     c->verb, c->port);
    else
        alqi_cli_say("%s: cannot listen on 127.0.0.1, port %u: %s", c->verb,
                     c->port, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Makes the random word of the address, unless the server has none. False:
 * there were no random numbers, and that was said. */
static bool
token_make(struct alqi_cli_http *http)
{
    const struct alqi_cli_http_config *c = &http->config;

    if (!c->has_token || (c->is_token_kept ? alqi_cli_token_of_user(http->token)
                                           : alqi_cli_token_new(http->token)))
        return true;
    return alqi_cli_refuse("%s: no random numbers: %s", c->verb,
                           strerror(errno));
}

/* The server's threads must not take the signals that wait() is for.  One that
 * is ignored, as in a shell's background, stays so. */
static void
signals_block(struct alqi_cli_http *http)
{
    static const int ends[] = {SIGINT, SIGTERM};
    struct sigaction now;

    sigemptyset(&http->signals);
    for (size_t i = 0; i < ALQI_COUNT_OF(ends); i++)
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&http->signals, ends[i]);
    pthread_sigmask(SIG_BLOCK, &http->signals, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* Starts libmicrohttpd on fd, which becomes its own. False: the reason was
 * said, and fd is still the caller's. */
static bool
daemon_start(struct alqi_cli_http *http, int fd)
{
    unsigned flags =
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ERROR_LOG | MHD_USE_ITC;

    /* With poll() a thread that accepts for others closes what finds no place;
     * with select() it waits. */
    flags |=
        http->config.is_parallel ? MHD_USE_THREAD_PER_CONNECTION : MHD_USE_AUTO;
    http->daemon = MHD_start_daemon(
        flags, 0, client_admit, http, request_answer, http,
        MHD_OPTION_EXTERNAL_LOGGER, daemon_says, http, MHD_OPTION_LISTEN_SOCKET,
        fd, MHD_OPTION_URI_LOG_CALLBACK, request_begins, http,
        MHD_OPTION_NOTIFY_COMPLETED, request_ends, http,
        MHD_OPTION_NOTIFY_CONNECTION, connection_notify, http,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)ALQI_CLI_HTTP_PLACES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENT_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (http->daemon == NULL)
        return alqi_cli_refuse("%s: the server does not start: %s",
                               http->config.verb,
                               errno != 0 ? strerror(errno) : "no thread");
    return true;
}

/* The signals are blocked before libmicrohttpd makes its threads, which inherit
 * that. */
struct alqi_cli_http *
alqi_cli_http_open(const struct alqi_cli_http_config *config)
{
    struct alqi_cli_http *http = alqi_cli_zeros(1, sizeof *http);
    int fd;

    http->config = *config;
    alqi_cli_http_places_init(&http->places);
    pthread_mutex_init(&http->says, NULL);
    http->last_ns = alqi_plat_mono_ns_sigsafe();
    if (!token_make(http))
        goto fail_token;
    http->stop_fd = alqi_plat_event_open();
    if (http->stop_fd < 0)
        goto fail_event;
    fd = socket_listen(http);
    if (fd < 0)
        goto fail_listen;
    snprintf(http->url, sizeof http->url, "http://127.0.0.1:%u/%s%s",
             http->port, http->token, config->has_token ? "/" : "");
    signals_block(http);
    if (!daemon_start(http, fd))
        goto fail_start;
    return http;

fail_start:
    close(fd);
fail_listen:
    close(http->stop_fd);
fail_event:
fail_token:
    free(http);
    return NULL;
}

const char *
alqi_cli_http_url(const struct alqi_cli_http *http)
{
    return http->url;
}

void
alqi_cli_http_stop(struct alqi_cli_http *http)
{
    uint64_t one = 1;

    if (write(http->stop_fd, &one, sizeof one) != sizeof one)
        alqi_cli_say("%s: cannot stop: %s", http->config.verb, strerror(errno));
}

/* Whether alqi_cli_http_stop() was called, after wait_ms at most. The event
 * stays readable, so each waiting thread sees it. */
static bool
is_stopping(const struct alqi_cli_http *http, int wait_ms)
{
    struct pollfd p = {.fd = http->stop_fd, .events = POLLIN};

    return poll(&p, 1, wait_ms) > 0;
}

/* Whether no request is open and none has ended for idle_s seconds. n_open is
 * read first, as request_ends() writes it last: a request that is not seen open
 * has its end in last_ns (tests/models/idle.pml). */
static bool
is_idle(const struct alqi_cli_http *http)
{
    uint64_t last_ns;

    if (http->config.idle_s == 0 || atomic_load(&http->n_open) != 0)
        return false;
    last_ns = atomic_load(&http->last_ns);
    return alqi_plat_mono_ns_sigsafe() - last_ns >
           http->config.idle_s * UINT64_C(1000000000);
}

/* Looks every TICK_MS: neither an idle server nor a silent client is an event.
 */
enum alqi_cli_http_end
alqi_cli_http_wait(struct alqi_cli_http *http)
{
    static const struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};

    for (;;) {
        if (sigtimedwait(&http->signals, NULL, &tick) > 0)
            return ALQI_CLI_HTTP_SIGNAL;
        alqi_cli_http_places_expire(&http->places);
        if (is_stopping(http, 0))
            return ALQI_CLI_HTTP_STOPPED;
        if (is_idle(http))
            return ALQI_CLI_HTTP_IDLE;
    }
}

void
alqi_cli_http_drop(struct alqi_cli_http *http)
{
    if (http == NULL)
        return;
    alqi_cli_http_stop(http);
    MHD_stop_daemon(http->daemon); /* closes the socket, too */
    close(http->stop_fd);
    free(http);
}

/* ---- for handlers -------------------------------------------------------- */

const char *
alqi_cli_http_value(const struct alqi_cli_http_request *request,
                    const char *key)
{
    return MHD_lookup_connection_value(request->connection,
                                       MHD_GET_ARGUMENT_KIND, key);
}

bool
alqi_cli_http_pause(const struct alqi_cli_http_request *request,
                    unsigned wait_ms)
{
    return !is_stopping(request->http, (int)wait_ms);
}
