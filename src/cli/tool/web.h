/* web.h -- requests to servers, by libcurl
 *
 * The library, with TLS and all it brings, would make each start of the command
 * three times as long: it is loaded when a request is to be sent, and need not
 * be there else.  http:// and https:// only; redirects are not followed. */
#ifndef ALQI_CLI_TOOL_WEB_H
#define ALQI_CLI_TOOL_WEB_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct alqi_cli_web;

/* Headers beside those of each request: "Name: value". */
struct alqi_cli_web_headers {
    /* of malloc, each */
    char **texts;
    uint32_t n;
};

/* Takes --header=TEXT, or --header=@FILE: a file of such lines, which the list
 * of processes does not show (alqi_cli_take_fn of cli.h). */
bool alqi_cli_web_header_take(void *headers, const char *verb,
                              const char *value);
void alqi_cli_web_headers_free(struct alqi_cli_web_headers *headers);

struct alqi_cli_web_request {
    const char *url;
    const char *type; /* Content-Type */
    const void *body; /* what is posted */
    size_t n_bytes;
    const sigset_t *ends; /* blocked signals that end it; or NULL */
    /* Never sent twice: libcurl sends once more what found a kept connection
     * closed, be it that the server had read it. */
    bool is_once;
};

enum { ALQI_CLI_WEB_TEXT_BYTES = 4096 };

struct alqi_cli_web_answer {
    unsigned status;        /* 0: there was none, and error says why */
    unsigned retry_after_s; /* 0: not said */
    bool is_broken;         /* no answer, though the request may have come */
    char error[256];        /* "" where there is an answer */
    char text[ALQI_CLI_WEB_TEXT_BYTES]; /* of the body, its beginning ... */
    size_t n_text;                      /* ... bytes, and a NUL */
};

/* NULL when there is no libcurl; that was said.  Headers are kept, not copied;
 * timeout_us is for all of a request. */
struct alqi_cli_web *alqi_cli_web_open(const char *verb, double timeout_us,
                                       const struct alqi_cli_web_headers *h);
void alqi_cli_web_drop(struct alqi_cli_web *web);

/* True when there is an answer, of whatever status. */
bool alqi_cli_web_post(struct alqi_cli_web *web,
                       const struct alqi_cli_web_request *request,
                       struct alqi_cli_web_answer *answer);

/* The first line of what a server says, fit to be printed. */
const char *alqi_cli_web_line(struct alqi_cli_web_answer *answer);

/* ---- addresses ------------------------------------------------------- */

/* Whether text is http:// or https:// and a host. */
bool alqi_cli_web_is_url(const char *text);

/* The address without a user and a password, to be printed; to be freed. */
char *alqi_cli_web_public(const char *url);

/* base, without slashes at its end, and path, unless base ends with it; to be
 * freed. */
char *alqi_cli_web_join(const char *base, const char *path);

/* text with what means something in a query written as %XX; to be freed. */
char *alqi_cli_web_escape(const char *text);

#endif
