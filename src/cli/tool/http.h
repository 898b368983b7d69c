/* http.h -- a small server for this machine alone: the viewer, the scrapers
 *
 * It listens on 127.0.0.1, answers GET and, unless told otherwise, nothing
 * else, and believes no request that a page of another site made a browser
 * send: Host, and Origin where there is one, are the server's own.  With a
 * token, the first segment of each path is a random word that only the printed
 * address has.
 *
 * One thread answers one request after the other; with is_parallel each
 * connection has its own, and the handler is called by several at a time.
 * Requests and connections are bounded, and so is the time that a client may be
 * silent: alqi_cli_http_wait() sees to that.  Answers are compressed for
 * clients that take gzip. */
#ifndef ALQI_CLI_TOOL_HTTP_H
#define ALQI_CLI_TOOL_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct alqi_cli_http;

/* What is asked; valid during the call. */
struct alqi_cli_http_request {
    const char *path;  /* after the token, decoded; begins with '/'      */
    const char *query; /* what stands behind '?', as it was sent; or ""  */
    bool is_post;
    struct alqi_cli_http *http;
    void *connection; /* the server's own */
};

/* The handler fills in what it gives.  All zero is 404. */
struct alqi_cli_http_answer {
    unsigned status;        /* 200, ...; 0 means 404                     */
    const char *type;       /* Content-Type; NULL: plain text, UTF-8     */
    const char *encoding;   /* Content-Encoding; NULL: none              */
    const char *policy;     /* Content-Security-Policy; NULL: nothing may
                             * be loaded                                 */
    const char *save_as;    /* a name to save it under; NULL: show it    */
    unsigned retry_after_s; /* 0: not said                               */
    void *body;             /* of malloc, and freed by the server, unless */
    bool is_static;         /* ... it outlives the server                */
    size_t n_bytes;
};

typedef void alqi_cli_http_fn(void *arg,
                              const struct alqi_cli_http_request *request,
                              struct alqi_cli_http_answer *answer);

struct alqi_cli_http_config {
    const char *verb;   /* stands in front of messages                    */
    uint16_t port;      /* 0: any that is free                            */
    uint16_t port_wish; /* tried first where port is 0; 0: none */
    bool has_token;     /* the address has a random word */
    bool is_token_kept; /* which is the user's, the same each time (token.h) */
    bool is_private;  /* connections of other users, but root's, are refused */
    bool is_parallel; /* each connection has a thread */
    bool takes_post;  /* what is posted, to 1 MiB, is thrown away */
    unsigned idle_s;  /* ends after so long without a request; 0: never  */
    /* called with arg for each request that is admitted */
    alqi_cli_http_fn *answer;
    void *arg;
};

enum alqi_cli_http_end {
    ALQI_CLI_HTTP_SIGNAL, /* SIGINT or SIGTERM */
    ALQI_CLI_HTTP_IDLE,
    ALQI_CLI_HTTP_STOPPED /* alqi_cli_http_stop() */
};

/* Begins to listen and to answer.  NULL when it cannot, and the reason was
 * said.  The calling thread, and all it starts later, have SIGINT and SIGTERM
 * blocked from now on: alqi_cli_http_wait() takes them. */
struct alqi_cli_http *
alqi_cli_http_open(const struct alqi_cli_http_config *config);

/* "http://127.0.0.1:PORT/" or "http://127.0.0.1:PORT/TOKEN/" */
const char *alqi_cli_http_url(const struct alqi_cli_http *http);

/* Waits until there is a reason to end, and says which. */
enum alqi_cli_http_end alqi_cli_http_wait(struct alqi_cli_http *http);

/* Makes wait return, from any thread. */
void alqi_cli_http_stop(struct alqi_cli_http *http);

/* Ends what is being answered, and the server.  http may be NULL. */
void alqi_cli_http_drop(struct alqi_cli_http *http);

/* ---- for handlers ---------------------------------------------------- */

/* The first value of a key of the query, decoded; NULL: it has none. */
const char *alqi_cli_http_value(const struct alqi_cli_http_request *request,
                                const char *key);

/* Waits; false when the server ends meanwhile, and so should the answer. */
bool alqi_cli_http_pause(const struct alqi_cli_http_request *request,
                         unsigned wait_ms);

/* Makes the answer a line of text with that status. */
void alqi_cli_http_say(struct alqi_cli_http_answer *answer, unsigned status,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
