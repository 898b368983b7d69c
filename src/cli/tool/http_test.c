/* http_test.c -- who gets an answer, and which; raw requests over the socket */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/base.h"
#include "cli/tool/http.h"

enum { REPLY_BYTES = 1 << 16, FOREVER_MS = 600000, POSTED_MOST = 1 << 20 };

static char page[] = "<p>page";

/* Says back what it was asked. */
static void
answer_echo(void *arg, const struct alqi_cli_http_request *request,
            struct alqi_cli_http_answer *answer)
{
    const char *value = alqi_cli_http_value(request, "k");

    atomic_fetch_add((_Atomic unsigned *)arg, 1);
    if (strcmp(request->path, "/page") == 0)
        *answer =
            (struct alqi_cli_http_answer){.status = 200,
                                          .type = "text/html; charset=utf-8",
                                          .policy = "default-src 'self'",
                                          .save_as = "page.html",
                                          .body = page,
                                          .n_bytes = strlen(page),
                                          .is_static = true};
    else if (strcmp(request->path, "/wait") == 0)
        alqi_cli_http_say(answer, 200, "%s",
                          alqi_cli_http_pause(request, FOREVER_MS) ? "all"
                                                                   : "short");
    else if (strcmp(request->path, "/busy") == 0) {
        alqi_cli_http_say(answer, 503, "busy");
        answer->retry_after_s = 7;
    } else if (strcmp(request->path, "/none") != 0)
        alqi_cli_http_say(answer, 200, "path=%s query=%s k=%s", request->path,
                          request->query, value != NULL ? value : "(none)");
}

static unsigned
port_of(const struct alqi_cli_http *http)
{
    unsigned port = 0;

    assert_int_equal(
        sscanf(alqi_cli_http_url(http), "http://127.0.0.1:%u/", &port), 1);
    return port;
}

static int
dial(const struct alqi_cli_http *http)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port_of(http)),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

/* All that comes until the server closes; the status, or 0 for nothing. */
static unsigned
receive(int fd, char *reply)
{
    unsigned status = 0;
    size_t n = 0;
    ssize_t got;

    while ((got = read(fd, reply + n, REPLY_BYTES - 1 - n)) > 0)
        n += (size_t)got;
    reply[n] = '\0';
    close(fd);
    sscanf(reply, "HTTP/1.1 %u", &status);
    return status;
}

/* Sends text with "PORT" written out. */
static unsigned
ask(const struct alqi_cli_http *http, const char *text, char *reply)
{
    int fd = dial(http);
    const char *mark = strstr(text, "PORT");

    if (mark != NULL)
        dprintf(fd, "%.*s%u%s", (int)(mark - text), text, port_of(http),
                mark + 4);
    else
        dprintf(fd, "%s", text);
    return receive(fd, reply);
}

/* A proper request for a path. */
static unsigned
get(const struct alqi_cli_http *http, const char *path, char *reply)
{
    int fd = dial(http);

    dprintf(fd,
            "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n"
            "\r\n",
            path, port_of(http));
    return receive(fd, reply);
}

static void
refuses_what_is_not_for_it(void **state)
{
    static const struct {
        unsigned status;
        bool is_handled;
        const char *request;
    } rows[] = {
        {200, true, "GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"},
        {200, true, "GET / HTTP/1.1\r\nHost: localhost:PORT\r\n"},
        {200, true,
         "GET /?k=v HTTP/1.0\r\nHost: localhost:PORT\r\nContent-Length: 0\r\n"},
        {403, false, "GET / HTTP/1.0\r\n"},
        {403, false, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"},
        {403, false, "GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT0\r\n"},
        {403, false, "GET / HTTP/1.1\r\nHost: evil.example:PORT\r\n"},
        {403, false, "GET / HTTP/1.1\r\nHost: localhost.evil.example:PORT\r\n"},
        {405, false,
         "POST / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"
         "Content-Length: 0\r\n"},
        {405, false, "HEAD / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"},
        {405, false, "OPTIONS / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"},
        {405, false, "BREW / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"},
        {404, true, "GET /none HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"},
        {400, false, "GET / HTTP/1.1\r\n"},
        {400, false, "GET / HTTP/1.1\r\nHost 127.0.0.1:PORT\r\n"},
        {0, false, "\x16\x03\x01 PORT\r\n"},
    };
    _Atomic unsigned n_handled = 0;
    struct alqi_cli_http_config config = {
        .verb = "test", .answer = answer_echo, .arg = (void *)&n_handled};
    struct alqi_cli_http *http = alqi_cli_http_open(&config);
    char *reply = malloc(REPLY_BYTES), request[400];

    (void)state;
    assert_non_null(http);
    for (size_t i = 0; i < ALQI_COUNT_OF(rows); i++) {
        unsigned before = n_handled, status;

        snprintf(request, sizeof request, "%sConnection: close\r\n\r\n",
                 rows[i].request);
        status = ask(http, request, reply);
        if (status != rows[i].status && rows[i].status != 0)
            fail_msg("%s: %u, not %u", rows[i].request, status, rows[i].status);
        if (rows[i].status == 0)
            assert_true(status == 0 || status >= 400);
        if (n_handled - before != rows[i].is_handled)
            fail_msg("%s: the handler ran %u times", rows[i].request,
                     n_handled - before);
    }
    free(reply);
    alqi_cli_http_drop(http);
}

static void
takes_posts_where_told_to(void **state)
{
    _Atomic unsigned n_handled = 0;
    struct alqi_cli_http_config config = {.verb = "test",
                                          .takes_post = true,
                                          .answer = answer_echo,
                                          .arg = (void *)&n_handled};
    struct alqi_cli_http *http = alqi_cli_http_open(&config);
    char *reply = malloc(REPLY_BYTES), *body = malloc(POSTED_MOST + 2);

    static const size_t sizes[] = {0, 1, 70000, POSTED_MOST, POSTED_MOST + 1};

    (void)state;
    assert_non_null(http);
    memset(body, 'b', POSTED_MOST + 1);
    for (size_t i = 0; i < ALQI_COUNT_OF(sizes); i++) {
        size_t k = sizes[i];
        int fd = dial(http);
        unsigned before = n_handled;

        dprintf(fd,
                "POST /x HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Length: "
                "%zu\r\nConnection: close\r\n\r\n",
                port_of(http), k);
        for (size_t at = 0; at < k;) {
            ssize_t sent = send(fd, body + at, k - at, MSG_NOSIGNAL);

            if (sent <= 0)
                break; /* refused before it was all there */
            at += (size_t)sent;
        }
        if (k <= POSTED_MOST) {
            assert_int_equal(receive(fd, reply), 200);
            assert_non_null(strstr(reply, "path=/x query= k=(none)\n"));
            assert_int_equal(n_handled, before + 1);
        } else {
            unsigned status = receive(fd, reply);

            assert_true(status == 0 || status == 413);
            assert_int_equal(n_handled, before);
        }
    }
    assert_int_equal(ask(http,
                         "PUT / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"
                         "Connection: close\r\nContent-Length: 0\r\n\r\n",
                         reply),
                     405);
    assert_non_null(strstr(reply, "Allow: GET, POST\r\n"));
    assert_non_null(strstr(reply, "\r\n\r\nGET and POST only\n"));
    assert_int_equal(ask(http,
                         "POST / HTTP/1.1\r\nHost: evil:PORT\r\n"
                         "Connection: close\r\nContent-Length: 1\r\n\r\nx",
                         reply),
                     403);
    free(body);
    free(reply);
    alqi_cli_http_drop(http);
}

static void
refuses_other_sites_pages(void **state)
{
    static const struct {
        unsigned status;
        const char *origin;
    } rows[] = {
        {200, "http://127.0.0.1:PORT"},
        {200, "http://localhost:PORT"},
        {403, "http://evil.example"},
        {403, "https://127.0.0.1:PORT"},
        {403, "null"},
        {403, "http://127.0.0.1:PORT.evil"},
        {403, "http://127.0.0.1:1"},
        {403, ""},
    };
    _Atomic unsigned n_handled = 0;
    struct alqi_cli_http_config config = {
        .verb = "test", .answer = answer_echo, .arg = (void *)&n_handled};
    struct alqi_cli_http *http = alqi_cli_http_open(&config);
    char *reply = malloc(REPLY_BYTES), request[400];
    unsigned n_right = 0;

    (void)state;
    assert_non_null(http);
    for (size_t i = 0; i < ALQI_COUNT_OF(rows); i++) {
        unsigned status;

        snprintf(request, sizeof request,
                 "GET / HTTP/1.1\r\nOrigin: %s\r\nHost: 127.0.0.1:%u\r\n"
                 "Connection: close\r\n\r\n",
                 rows[i].origin, port_of(http));
        status = ask(http, request, reply);
        if (status != rows[i].status)
            fail_msg("%s: %u, not %u", rows[i].origin, status, rows[i].status);
        n_right += status == 200;
    }
    assert_int_equal(n_handled, n_right);
    free(reply);
    alqi_cli_http_drop(http);
}

static void
gives_what_the_handler_gives(void **state)
{
    _Atomic unsigned n_handled = 0;
    struct alqi_cli_http_config config = {
        .verb = "test", .answer = answer_echo, .arg = (void *)&n_handled};
    struct alqi_cli_http *http = alqi_cli_http_open(&config);
    char *reply = malloc(REPLY_BYTES);

    (void)state;
    assert_non_null(http);
    assert_int_equal(get(http, "/a%20b?x=%31&k=c%20d&k=e", reply), 200);
    assert_non_null(strstr(reply, "path=/a b query=x=%31&k=c%20d&k=e k=c d\n"));
    assert_non_null(strstr(reply, "text/plain; charset=utf-8\r\n"));
    assert_non_null(strstr(reply, "default-src 'none'"));
    assert_non_null(strstr(reply, "frame-ancestors 'none'"));
    assert_non_null(strstr(reply, "nosniff\r\n"));
    assert_non_null(strstr(reply, "no-referrer\r\n"));
    assert_non_null(strstr(reply, "no-store\r\n"));
    assert_non_null(strstr(reply, "Resource-Policy: same-origin\r\n"));

    assert_int_equal(get(http, "/page", reply), 200);
    assert_non_null(strstr(reply, "text/html; charset=utf-8\r\n"));
    assert_non_null(strstr(reply, "default-src 'self'\r\n"));
    assert_non_null(strstr(reply, "attachment; filename=\"page.html\"\r\n"));
    assert_non_null(strstr(reply, "\r\n\r\n<p>page"));

    assert_int_equal(get(http, "/busy", reply), 503);
    assert_non_null(strstr(reply, "Retry-After: 7\r\n"));
    free(reply);
    alqi_cli_http_drop(http);
}

static void
keeps_to_its_token(void **state)
{
    _Atomic unsigned n_handled = 0;
    struct alqi_cli_http_config config = {.verb = "test",
                                          .has_token = true,
                                          .answer = answer_echo,
                                          .arg = (void *)&n_handled};
    struct alqi_cli_http *http = alqi_cli_http_open(&config);
    struct alqi_cli_http *other = alqi_cli_http_open(&config);
    char *reply = malloc(REPLY_BYTES), path[100];
    const char *token;

    (void)state;
    assert_non_null(http);
    assert_non_null(other);
    token = strchr(alqi_cli_http_url(http) + strlen("http://"), '/');
    assert_int_equal(strlen(token), 34);
    assert_string_not_equal(
        token, strchr(alqi_cli_http_url(other) + strlen("http://"), '/'));

    assert_int_equal(get(http, "/", reply), 404);
    assert_int_equal(get(http, "/x", reply), 404);
    snprintf(path, sizeof path, "%.33s", token); /* the last '/' is missing */
    assert_int_equal(get(http, path, reply), 404);
    snprintf(path, sizeof path, "%s", token);
    path[20] ^= 1;
    assert_int_equal(get(http, path, reply), 404);
    assert_int_equal(n_handled, 0);

    snprintf(path, sizeof path, "%sx", token);
    assert_int_equal(get(http, path, reply), 200);
    assert_non_null(strstr(reply, "path=/x query= k=(none)\n"));
    assert_int_equal(n_handled, 1);
    free(reply);
    alqi_cli_http_drop(other);
    alqi_cli_http_drop(http);
}

/* The part of a server's address behind the port. */
static char *
token_of_new_server(const struct alqi_cli_http_config *config)
{
    struct alqi_cli_http *http = alqi_cli_http_open(config);
    char *token;

    assert_non_null(http);
    token = strdup(strchr(alqi_cli_http_url(http) + strlen("http://"), '/'));
    alqi_cli_http_drop(http);
    return token;
}

/* A link is good for the next server, too; not if others may know it. */
static void
keeps_its_users_token(void **state)
{
    struct alqi_cli_http_config config = {.verb = "test",
                                          .has_token = true,
                                          .is_token_kept = true,
                                          .answer = answer_echo};
    char home[] = "/tmp/aliquot-test-XXXXXX", file[100];
    char *first, *second, *third;
    struct stat st;

    (void)state;
    assert_non_null(mkdtemp(home));
    setenv("XDG_STATE_HOME", home, 1);
    snprintf(file, sizeof file, "%s/aliquot/token", home);
    first = token_of_new_server(&config);
    second = token_of_new_server(&config);
    assert_int_equal(strlen(first), 34);
    assert_string_equal(first, second);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);

    assert_int_equal(chmod(file, 0640), 0);
    third = token_of_new_server(&config);
    assert_string_not_equal(third, first);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    free(second);
    second = token_of_new_server(&config);
    assert_string_equal(second, third);

    setenv("XDG_STATE_HOME", "/dev/null", 1); /* where none can be kept */
    free(second);
    second = token_of_new_server(&config);
    assert_int_equal(strlen(second), 34);
    assert_string_not_equal(second, third);
    unsetenv("XDG_STATE_HOME");
    free(first);
    free(second);
    free(third);
    unlink(file);
    snprintf(file, sizeof file, "%s/aliquot", home);
    rmdir(file);
    rmdir(home);
}

/* The port that is wished for, unless another has it. */
static void
takes_the_port_it_wishes(void **state)
{
    struct alqi_cli_http_config config = {.verb = "test",
                                          .answer = answer_echo};
    struct alqi_cli_http *any = alqi_cli_http_open(&config), *other;
    char url[100];

    (void)state;
    assert_non_null(any);
    snprintf(url, sizeof url, "%s", alqi_cli_http_url(any));
    config.port_wish =
        (uint16_t)strtoul(url + strlen("http://127.0.0.1:"), NULL, 10);
    other = alqi_cli_http_open(&config);
    assert_non_null(other);
    assert_string_not_equal(alqi_cli_http_url(other), url);
    alqi_cli_http_drop(other);
    alqi_cli_http_drop(any);
    other = alqi_cli_http_open(&config);
    assert_non_null(other);
    assert_string_equal(alqi_cli_http_url(other), url);
    alqi_cli_http_drop(other);
}

static void
bounds_a_request(void **state)
{
    enum { LONG_BYTES = 200000 };
    _Atomic unsigned n_handled = 0;
    struct alqi_cli_http_config config = {
        .verb = "test", .answer = answer_echo, .arg = (void *)&n_handled};
    struct alqi_cli_http *http = alqi_cli_http_open(&config);
    char *reply = malloc(REPLY_BYTES), *path = malloc(LONG_BYTES + 1);
    unsigned status;

    (void)state;
    assert_non_null(http);
    memset(path, 'a', LONG_BYTES);
    path[0] = '/';
    path[LONG_BYTES] = '\0';
    status = get(http, path, reply);
    assert_true(status == 0 || (status >= 400 && status < 500));
    assert_int_equal(n_handled, 0);
    path[20000] = '\0'; /* long, but within what is promised */
    path[1] = '?';
    assert_int_equal(get(http, path, reply), 200);
    free(path);
    free(reply);
    alqi_cli_http_drop(http);
}

static void *
wait_asked(void *arg)
{
    static char reply[REPLY_BYTES];

    get(arg, "/wait", reply);
    return reply;
}

/* A handler that waits holds up nobody, and ends with the server. */
static void
answers_beside_one_that_waits(void **state)
{
    _Atomic unsigned n_handled = 0;
    struct alqi_cli_http_config config = {.verb = "test",
                                          .is_parallel = true,
                                          .answer = answer_echo,
                                          .arg = (void *)&n_handled};
    struct alqi_cli_http *http = alqi_cli_http_open(&config);
    char *reply = malloc(REPLY_BYTES);
    pthread_t thread;

    (void)state;
    assert_non_null(http);
    assert_int_equal(pthread_create(&thread, NULL, wait_asked, http), 0);
    while (n_handled == 0)
        usleep(1000);
    assert_int_equal(get(http, "/", reply), 200);
    alqi_cli_http_drop(http);
    pthread_join(thread, NULL);
    free(reply);
}

static void
ends_for_a_reason(void **state)
{
    _Atomic unsigned n_handled = 0;
    struct alqi_cli_http_config config = {.verb = "test",
                                          .idle_s = 1,
                                          .answer = answer_echo,
                                          .arg = (void *)&n_handled};
    struct alqi_cli_http *http = alqi_cli_http_open(&config);
    char *reply = malloc(REPLY_BYTES);

    (void)state;
    assert_non_null(http);
    assert_int_equal(get(http, "/", reply), 200);
    assert_int_equal(ask(http, "GET\r\n\r\n", reply) < 500, true);
    assert_int_equal(alqi_cli_http_wait(http), ALQI_CLI_HTTP_IDLE);
    alqi_cli_http_drop(http);

    config.idle_s = 0;
    for (int i = 0; i < 2; i++) {
        http = alqi_cli_http_open(&config);
        assert_non_null(http);
        kill(getpid(), i == 0 ? SIGINT : SIGTERM);
        assert_int_equal(alqi_cli_http_wait(http), ALQI_CLI_HTTP_SIGNAL);
        alqi_cli_http_drop(http);
    }
    http = alqi_cli_http_open(&config);
    assert_non_null(http);
    alqi_cli_http_stop(http);
    assert_int_equal(alqi_cli_http_wait(http), ALQI_CLI_HTTP_STOPPED);
    alqi_cli_http_drop(http);
    free(reply);
}

static void
says_when_its_port_is_taken(void **state)
{
    _Atomic unsigned n_handled = 0;
    struct alqi_cli_http_config config = {
        .verb = "test", .answer = answer_echo, .arg = (void *)&n_handled};
    struct alqi_cli_http *http = alqi_cli_http_open(&config);
    struct alqi_cli_http_config same = config;

    (void)state;
    assert_non_null(http);
    same.port = (uint16_t)port_of(http);
    assert_null(alqi_cli_http_open(&same));
    alqi_cli_http_drop(http);
    http = alqi_cli_http_open(&same); /* free again at once */
    assert_non_null(http);
    assert_int_equal(port_of(http), same.port);
    alqi_cli_http_drop(http);
}

/* ---- many clients, and silent ones ----------------------------------------
 */

static _Atomic unsigned n_served; /* requests that the handler got */

/* A server of the tests below. */
static struct alqi_cli_http_config
echoing(void)
{
    n_served = 0;
    return (struct alqi_cli_http_config){.verb = "test",
                                         .is_private = true,
                                         .answer = answer_echo,
                                         .arg = (void *)&n_served};
}

static void *
wait_for_end(void *arg)
{
    return (void *)(uintptr_t)alqi_cli_http_wait(arg);
}

/* A server whose main thread waits, as a command's does. */
static struct alqi_cli_http *
serve_begin(const struct alqi_cli_http_config *config, pthread_t *thread)
{
    struct alqi_cli_http *http = alqi_cli_http_open(config);

    assert_non_null(http);
    assert_int_equal(pthread_create(thread, NULL, wait_for_end, http), 0);
    return http;
}

static void
serve_end(struct alqi_cli_http *http, pthread_t thread)
{
    void *end;

    alqi_cli_http_stop(http);
    pthread_join(thread, &end);
    assert_int_equal((uintptr_t)end, ALQI_CLI_HTTP_STOPPED);
    alqi_cli_http_drop(http);
}

/* Nothing within so many seconds is a failed read. */
static void
patience_set(int fd, int s)
{
    struct timeval t = {.tv_sec = s};

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t), 0);
}

static void
files_allow(unsigned n)
{
    struct rlimit l;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
    if (l.rlim_cur >= n)
        return;
    l.rlim_cur = n;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
}

/* More of them than there are places.  A minute, as it was, is what a client of
 * half of the time would not wait for. */
static void
half_sent_heads_hold_up_nobody(void **state)
{
    enum { N = 300, PATIENCE_S = 30 };
    static int fds[N];
    struct alqi_cli_http_config config = echoing();
    char *reply = malloc(REPLY_BYTES);
    pthread_t thread;

    (void)state;
    files_allow(1000);
    for (int is_parallel = 0; is_parallel < 2; is_parallel++) {
        struct alqi_cli_http *http;
        int fd;

        config.is_parallel = is_parallel;
        http = serve_begin(&config, &thread);
        for (int i = 0; i < N; i++) {
            fds[i] = dial(http);
            dprintf(fds[i], "GET / HTTP/1.1\r\nHost: ");
        }
        fd = dial(http);
        patience_set(fd, PATIENCE_S);
        dprintf(fd,
                "GET / HTTP/1.1\r\nHost: localhost:%u\r\n"
                "Connection: close\r\n\r\n",
                port_of(http));
        assert_int_equal(receive(fd, reply), 200);
        for (int i = 0; i < N; i++)
            close(fds[i]);
        serve_end(http, thread);
    }
    assert_int_equal(n_served, 2);
    free(reply);
}

/* A byte now and then is no request. */
static void
head_that_drips_is_ended(void **state)
{
    struct alqi_cli_http_config config = echoing();
    pthread_t thread;
    struct alqi_cli_http *http = serve_begin(&config, &thread);
    int fd = dial(http), n = 0;
    char byte;

    (void)state;
    dprintf(fd, "GET / HTTP/1.1\r\nX: ");
    while (n < 600 && send(fd, "x", 1, MSG_NOSIGNAL) == 1 &&
           recv(fd, &byte, 1, MSG_DONTWAIT) < 0) {
        usleep(100000);
        n++;
    }
    assert_true(n > 10 && n < 600);
    close(fd);
    serve_end(http, thread);
    assert_int_equal(n_served, 0);
}

static void
thousand_at_once_are_answered(void **state)
{
    enum { N = 1000, PATIENCE_S = 30 };
    static int fds[N];
    struct alqi_cli_http_config config = echoing();
    pthread_t thread;
    struct alqi_cli_http *http = serve_begin(&config, &thread);
    char *reply = malloc(REPLY_BYTES);

    (void)state;
    files_allow(2 * N);
    for (int i = 0; i < N; i++) {
        fds[i] = dial(http);
        patience_set(fds[i], PATIENCE_S);
        dprintf(fds[i],
                "GET / HTTP/1.1\r\nHost: localhost:%u\r\n"
                "Connection: close\r\n\r\n",
                port_of(http));
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(receive(fds[i], reply), 200);
    assert_int_equal(n_served, N);
    free(reply);
    serve_end(http, thread);
}

/* Whether a process of that user is answered. */
static bool
is_answered_as(const struct alqi_cli_http *http, uid_t uid)
{
    char byte;
    int status, fd;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (setuid(uid) != 0)
            _exit(2);
        fd = dial(http);
        patience_set(fd, 30);
        dprintf(fd, "GET / HTTP/1.1\r\nHost: localhost:%u\r\n\r\n",
                port_of(http));
        _exit(read(fd, &byte, 1) == 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 0;
}

static void
private_server_refuses_other_users(void **state)
{
    enum { NOBODY = 65534 };
    struct alqi_cli_http_config config = echoing();

    (void)state;
    if (geteuid() != 0)
        skip();
    for (int is_private = 0; is_private < 2; is_private++) {
        struct alqi_cli_http *http;

        config.is_private = is_private;
        http = alqi_cli_http_open(&config);
        assert_non_null(http);
        assert_true(is_answered_as(http, 0));
        assert_int_equal(is_answered_as(http, NOBODY), !is_private);
        alqi_cli_http_drop(http);
    }
    assert_int_equal(n_served, 3);
}

static void
long_answers_are_compressed_for_those_who_ask(void **state)
{
    static const struct {
        const char *accept, *path;
        bool is_packed;
    } rows[] = {
        {"", "long", false},
        {"Accept-Encoding: gzip, deflate, br\r\n", "long", true},
        {"Accept-Encoding: br;q=1.0, gzip;q=0.8\r\n", "long", true},
        {"Accept-Encoding: br\r\n", "long", false},
        {"Accept-Encoding: gzip;q=0\r\n", "long", false},
        {"Accept-Encoding: gzip\r\n", "short", false},
    };
    struct alqi_cli_http_config config = echoing();
    struct alqi_cli_http *http = alqi_cli_http_open(&config);
    char *reply = malloc(REPLY_BYTES), *wanted = malloc(REPLY_BYTES);
    uint8_t *text = malloc(REPLY_BYTES);

    (void)state;
    assert_non_null(http);
    snprintf(wanted, REPLY_BYTES, "path=/%04000d query= k=(none)\n", 7);
    for (size_t i = 0; i < ALQI_COUNT_OF(rows); i++) {
        bool is_long = strcmp(rows[i].path, "long") == 0;
        int fd = dial(http);
        z_stream z = {.next_out = text, .avail_out = REPLY_BYTES - 1};

        dprintf(fd,
                "GET /%0*d HTTP/1.1\r\nHost: localhost:%u\r\n%s"
                "Connection: close\r\n\r\n",
                is_long ? 4000 : 4, 7, port_of(http), rows[i].accept);
        z.avail_in = REPLY_BYTES - 1;
        assert_int_equal(receive(fd, reply), 200);
        assert_non_null(strstr(reply, "Vary: Accept-Encoding\r\n"));
        assert_int_equal(strstr(reply, "Content-Encoding: gzip\r\n") != NULL,
                         rows[i].is_packed);
        z.next_in = (uint8_t *)strstr(reply, "\r\n\r\n") + 4;
        if (rows[i].is_packed) {
            assert_int_equal(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
            assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
            inflateEnd(&z);
            *z.next_out = '\0';
            assert_string_equal((char *)text, wanted);
        } else if (is_long) {
            assert_string_equal((char *)z.next_in, wanted);
        }
    }
    free(text);
    free(wanted);
    free(reply);
    alqi_cli_http_drop(http);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_is_not_for_it),
        cmocka_unit_test(takes_posts_where_told_to),
        cmocka_unit_test(refuses_other_sites_pages),
        cmocka_unit_test(gives_what_the_handler_gives),
        cmocka_unit_test(keeps_to_its_token),
        cmocka_unit_test(keeps_its_users_token),
        cmocka_unit_test(takes_the_port_it_wishes),
        cmocka_unit_test(bounds_a_request),
        cmocka_unit_test(answers_beside_one_that_waits),
        cmocka_unit_test(ends_for_a_reason),
        cmocka_unit_test(says_when_its_port_is_taken),
        cmocka_unit_test(half_sent_heads_hold_up_nobody),
        cmocka_unit_test(head_that_drips_is_ended),
        cmocka_unit_test(thousand_at_once_are_answered),
        cmocka_unit_test(private_server_refuses_other_users),
        cmocka_unit_test(long_answers_are_compressed_for_those_who_ask),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
