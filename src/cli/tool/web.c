/* web.c -- requests over HTTP, by a libcurl that is loaded when it is needed
 *
 * A web is open from web_open(), which loads the library and makes one handle,
 * to web_drop(); requests follow each other on that handle.  Its functions are
 * reached by the table of struct curl alone, so that the command starts without
 * the library. */
#include <ctype.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/tool/text.h"
#include "cli/tool/web.h"

enum { US_PER_MS = 1000, CONNECT_MS = 5000, HEADERS_MOST = 64 };

/* What is used of the library. */
struct curl {
    CURLcode (*global_init)(long flags);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *handle);
    CURLcode (*easy_setopt)(CURL *handle, CURLoption option, ...);
    CURLcode (*easy_perform)(CURL *handle);
    CURLcode (*easy_getinfo)(CURL *handle, CURLINFO info, ...);
    const char *(*easy_strerror)(CURLcode code);
    struct curl_slist *(*slist_append)(struct curl_slist *list,
                                       const char *text);
    void (*slist_free_all)(struct curl_slist *list);
};

struct alqi_cli_web {
    struct curl curl;
    /* keeps the connection between requests */
    CURL *handle;
    /* the caller's; must outlive the web */
    const struct alqi_cli_web_headers *headers;
    /* libcurl's words on the last request; "" without any */
    char error[CURL_ERROR_SIZE];
};

/* ---- the library ----------------------------------------------------- */

/* Fills the table of calls. The library is never closed: libcurl may have
 * started threads and handlers. memcpy() writes the pointers, as C has no cast
 * from an object to a function. */
static bool
library_load(struct curl *c)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    const struct {
        const char *name;
        void *to;
    } calls[] = {
        {"curl_global_init", &c->global_init},
        {"curl_easy_init", &c->easy_init},
        {"curl_easy_cleanup", &c->easy_cleanup},
        {"curl_easy_setopt", &c->easy_setopt},
        {"curl_easy_perform", &c->easy_perform},
        {"curl_easy_getinfo", &c->easy_getinfo},
        {"curl_easy_strerror", &c->easy_strerror},
        {"curl_slist_append", &c->slist_append},
        {"curl_slist_free_all", &c->slist_free_all},
    };
    void *library = NULL;

    for (size_t i = 0; library == NULL && i < ALQI_COUNT_OF(names); i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library != NULL && i < ALQI_COUNT_OF(calls); i++) {
        void *call = dlsym(library, calls[i].name);

        if (call == NULL)
            return false;
        memcpy(calls[i].to, &call, sizeof call);
    }
    return library != NULL;
}

/* NOSIGNAL: libcurl would else use alarm() to bound the search for names. */
struct alqi_cli_web *
alqi_cli_web_open(const char *verb, double timeout_us,
                  const struct alqi_cli_web_headers *headers)
{
    struct alqi_cli_web *web = alqi_cli_zeros(1, sizeof *web);
    const struct curl *c = &web->curl;
    long timeout_ms = (long)(timeout_us / US_PER_MS);

    web->headers = headers;
    if (!library_load(&web->curl) ||
        c->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
        (web->handle = c->easy_init()) == NULL) {
        alqi_cli_say("%s: libcurl was not found: install libcurl4", verb);
        free(web);
        return NULL;
    }
    c->easy_setopt(web->handle, CURLOPT_PROTOCOLS_STR, "http,https");
    c->easy_setopt(web->handle, CURLOPT_NOSIGNAL, 1L);
    c->easy_setopt(web->handle, CURLOPT_USERAGENT, "aliquot/" ALQI_VERSION);
    c->easy_setopt(web->handle, CURLOPT_TIMEOUT_MS, timeout_ms);
    c->easy_setopt(web->handle, CURLOPT_CONNECTTIMEOUT_MS,
                   timeout_ms < CONNECT_MS ? timeout_ms : (long)CONNECT_MS);
    c->easy_setopt(web->handle, CURLOPT_ERRORBUFFER, web->error);
    return web;
}

void
alqi_cli_web_drop(struct alqi_cli_web *web)
{
    if (web == NULL)
        return;
    web->curl.easy_cleanup(web->handle);
    free(web);
}

/* ---- a request ------------------------------------------------------- */

/* libcurl's write function: keeps the beginning of the body and drops the rest.
 * It reports all as taken, as less would make libcurl fail the request. */
static size_t
body_take(char *bytes, size_t each, size_t n, void *arg)
{
    struct alqi_cli_web_answer *a = arg;
    size_t room = sizeof a->text - 1 - a->n_text, all = each * n;
    size_t k = all < room ? all : room;

    memcpy(a->text + a->n_text, bytes, k);
    a->n_text += k;
    a->text[a->n_text] = '\0';
    return all;
}

/* libcurl's progress function, about once a second: another value than 0 ends
 * the request. */
static int
ends_look(void *arg, curl_off_t to, curl_off_t n, curl_off_t up, curl_off_t m)
{
    const sigset_t *ends = arg;
    sigset_t pending;

    (void)to;
    (void)n;
    (void)up;
    (void)m;
    sigpending(&pending);
    sigandset(&pending, &pending, ends);
    return !sigisemptyset(&pending);
}

/* Headers of one request, to be freed. An empty "Expect:" keeps libcurl from
 * waiting a second for "100 Continue" before a large body. */
static struct curl_slist *
headers_make(const struct alqi_cli_web *web, const char *type)
{
    struct curl_slist *list = web->curl.slist_append(NULL, "Expect:");
    char *line;

    if (asprintf(&line, "Content-Type: %s", type) < 0)
        return list;
    list = web->curl.slist_append(list, line);
    free(line);
    for (uint32_t i = 0; i < web->headers->n; i++)
        list = web->curl.slist_append(list, web->headers->texts[i]);
    return list;
}

/* Whether the request may have reached the server although no answer came: to
 * send it again may be to send it twice. */
static bool
is_broken(CURLcode code)
{
    return code == CURLE_OPERATION_TIMEDOUT || code == CURLE_RECV_ERROR ||
           code == CURLE_ABORTED_BY_CALLBACK || code == CURLE_GOT_NOTHING ||
           code == CURLE_PARTIAL_FILE || code == CURLE_SEND_ERROR;
}

/* A failed request fills a->error and a->is_broken; a request with an answer
 * fills a->status. A Retry-After of more than a day is ignored. */
bool
alqi_cli_web_post(struct alqi_cli_web *web,
                  const struct alqi_cli_web_request *r,
                  struct alqi_cli_web_answer *a)
{
    const struct curl *c = &web->curl;
    struct curl_slist *headers = headers_make(web, r->type);
    curl_off_t retry_after_s = 0;
    long status = 0;
    CURLcode code;

    memset(a, 0, sizeof *a);
    web->error[0] = '\0';
    c->easy_setopt(web->handle, CURLOPT_URL, r->url);
    c->easy_setopt(web->handle, CURLOPT_HTTPHEADER, headers);
    c->easy_setopt(web->handle, CURLOPT_POST, 1L);
    c->easy_setopt(web->handle, CURLOPT_POSTFIELDS, r->body);
    c->easy_setopt(web->handle, CURLOPT_POSTFIELDSIZE_LARGE,
                   (curl_off_t)r->n_bytes);
    c->easy_setopt(web->handle, CURLOPT_WRITEFUNCTION, body_take);
    c->easy_setopt(web->handle, CURLOPT_WRITEDATA, (void *)a);
    c->easy_setopt(web->handle, CURLOPT_FRESH_CONNECT, r->is_once ? 1L : 0L);
    c->easy_setopt(web->handle, CURLOPT_NOPROGRESS, r->ends == NULL ? 1L : 0L);
    c->easy_setopt(web->handle, CURLOPT_XFERINFOFUNCTION, ends_look);
    c->easy_setopt(web->handle, CURLOPT_XFERINFODATA,
                   (void *)(uintptr_t)r->ends);
    code = c->easy_perform(web->handle);
    c->slist_free_all(headers);
    if (code != CURLE_OK) {
        a->is_broken = is_broken(code);
        snprintf(a->error, sizeof a->error, "%s",
                 web->error[0] != '\0' ? web->error : c->easy_strerror(code));
        return false;
    }
    c->easy_getinfo(web->handle, CURLINFO_RESPONSE_CODE, &status);
    c->easy_getinfo(web->handle, CURLINFO_RETRY_AFTER, &retry_after_s);
    a->status = (unsigned)status;
    a->retry_after_s = retry_after_s > 0 && retry_after_s < 86400
                           ? (unsigned)retry_after_s
                           : 0;
    return true;
}

/* Cuts answer->text at its first line; the result is overwritten by the next
 * call. */
const char *
alqi_cli_web_line(struct alqi_cli_web_answer *a)
{
    static char line[400];

    if (a->n_text == 0)
        return "";
    a->text[strcspn(a->text, "\r\n")] = '\0';
    alqi_cli_clean(line, sizeof line, a->text);
    return line;
}

/* ---- headers --------------------------------------------------------- */

/* "Name: value", of one line. */
static bool
is_header(const char *text)
{
    size_t n = strcspn(text, ":");

    if (n == 0 || text[n] != ':')
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '-' &&
            text[i] != '_')
            return false;
    for (const char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' && *c != '\t')
            return false;
    return true;
}

/* Copies one header into the list; false, and said, when it is none or there
 * are too many. */
static bool
header_keep(struct alqi_cli_web_headers *h, const char *verb, const char *text)
{
    if (!is_header(text)) {
        alqi_cli_usage(verb, "%s: --header: write 'Name: value'", verb);
        return false;
    }
    if (h->n == HEADERS_MOST) {
        alqi_cli_usage(verb, "%s: --header: at most %d", verb, HEADERS_MOST);
        return false;
    }
    h->texts = alqi_cli_grow(h->texts, h->n, sizeof *h->texts);
    h->texts[h->n++] = alqi_cli_copy(text);
    return true;
}

/* Keeps each line of a file as a header; empty lines are skipped. False, and
 * said, at the first that is none. */
static bool
headers_read(struct alqi_cli_web_headers *h, const char *verb, const char *path)
{
    char *line = NULL;
    size_t capacity = 0;
    bool is_right = true;
    FILE *f = fopen(path, "re");

    if (f == NULL)
        return alqi_cli_refuse("%s: --header=@%s: %s", verb, path,
                               strerror(errno));
    while (is_right && getline(&line, &capacity, f) > 0) {
        line[strcspn(line, "\r\n")] = '\0';
        is_right = line[0] == '\0' || header_keep(h, verb, line);
    }
    free(line);
    fclose(f);
    return is_right;
}

bool
alqi_cli_web_header_take(void *to, const char *verb, const char *value)
{
    struct alqi_cli_web_headers *h = to;

    return value[0] == '@' ? headers_read(h, verb, value + 1)
                           : header_keep(h, verb, value);
}

void
alqi_cli_web_headers_free(struct alqi_cli_web_headers *h)
{
    for (uint32_t i = 0; i < h->n; i++)
        free(h->texts[i]);
    free(h->texts);
    *h = (struct alqi_cli_web_headers){0};
}

/* ---- addresses ------------------------------------------------------- */

/* Bytes of http:// or https:// at the beginning; 0: neither. */
static size_t
scheme_bytes(const char *text)
{
    return strncmp(text, "http://", 7) == 0    ? 7
           : strncmp(text, "https://", 8) == 0 ? 8
                                               : 0;
}

/* Blanks and controls are refused: they would end the request's line. */
bool
alqi_cli_web_is_url(const char *text)
{
    size_t n = scheme_bytes(text);

    if (n == 0 || text[n] == '\0' || text[n] == '/')
        return false;
    for (const char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7F)
            return false;
    return true;
}

/* What stands before '@' in the host's part is a user and a password. */
char *
alqi_cli_web_public(const char *url)
{
    size_t scheme = scheme_bytes(url);
    size_t host = strcspn(url + scheme, "/?#");
    const char *at = memrchr(url + scheme, '@', host);
    char *text = alqi_cli_realloc(NULL, strlen(url) + 1, 1);

    memcpy(text, url, scheme);
    strcpy(text + scheme, at != NULL ? at + 1 : url + scheme);
    return text;
}

/* A base that ends with the path was given whole. */
char *
alqi_cli_web_join(const char *base, const char *path)
{
    size_t n = strlen(base), k = strlen(path);
    char *url = alqi_cli_realloc(NULL, n + k + 1, 1);

    while (n > 0 && base[n - 1] == '/')
        n--;
    memcpy(url, base, n);
    if (n >= k && memcmp(base + n - k, path, k) == 0)
        k = 0;
    memcpy(url + n, path, k);
    url[n + k] = '\0';
    return url;
}

/* Letters, digits and "-._~" stay; three bytes for any other. */
char *
alqi_cli_web_escape(const char *text)
{
    char *out = alqi_cli_realloc(NULL, 3 * strlen(text) + 1, 1);
    char *to = out;

    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++)
        if (isalnum(*c) || strchr("-._~", *c) != NULL)
            *to++ = (char)*c;
        else
            to += sprintf(to, "%%%02X", *c);
    *to = '\0';
    return out;
}
