/* query.c -- the query of a URL, split and decoded
 *
 * [query.h] The text is copied once; keys and values are decoded in the copy.
 * Whoever asks for a key marks it as used, and in the end a key that is not
 * used is an error: a misspelt condition must not be ignored. Only the first
 * error is kept. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/query.h"

/* Characters of a text that an error repeats. */
enum { SHOWN = 60 };

void
alqi_view_query_fail(struct alqi_view_query *q, const char *format, ...)
{
    va_list args;

    if (q->error[0] != '\0')
        return;
    va_start(args, format);
    vsnprintf(q->error, sizeof q->error, format, args);
    va_end(args);
}

/* The value of a hexadecimal digit; -1: it is none. */
static int
hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes %xx and + in place. False: a bad escape, or a zero byte. */
static bool
decode(char *text)
{
    char *to = text;

    for (; *text != '\0'; text++) {
        if (*text == '%') {
            int high = hex(text[1]), low = high < 0 ? -1 : hex(text[2]);

            if (low < 0 || (high == 0 && low == 0))
                return false;
            *to++ = (char)(high << 4 | low);
            text += 2;
        } else {
            *to++ = *text == '+' ? ' ' : *text;
        }
    }
    *to = '\0';
    return true;
}

/* Adds KEY=VALUE; an empty text is nothing. False: an error. */
static bool
pair_add(struct alqi_view_query *q, char *text)
{
    char *equals = strchr(text, '=');
    struct alqi_view_pair *pair;

    if (text[0] == '\0')
        return true;
    if (q->n_pairs == ALQI_VIEW_PAIRS_MAX) {
        alqi_view_query_fail(q, "more than %d conditions", ALQI_VIEW_PAIRS_MAX);
        return false;
    }
    if (equals == NULL) {
        alqi_view_query_fail(q, "'%.*s' has no value: write KEY=VALUE", SHOWN,
                             text);
        return false;
    }
    *equals = '\0';
    pair = &q->pairs[q->n_pairs++];
    *pair = (struct alqi_view_pair){text, equals + 1, false};
    if (decode(text) && decode(equals + 1))
        return true;
    alqi_view_query_fail(q, "%.*s: a %% is no code of a byte", SHOWN, text);
    return false;
}

bool
alqi_view_query_parse(struct alqi_view_query *q, const char *text)
{
    char *at;

    q->n_pairs = 0;
    q->error[0] = '\0';
    q->text = malloc(strlen(text) + 1);
    if (q->text == NULL) {
        alqi_view_query_fail(q, "there is no memory for the query");
        return false;
    }
    strcpy(q->text, text);
    at = q->text;
    while (at != NULL) {
        char *next = strchr(at, '&');

        if (next != NULL)
            *next++ = '\0';
        if (!pair_add(q, at))
            return false;
        at = next;
    }
    return true;
}

void
alqi_view_query_free(struct alqi_view_query *q)
{
    free(q->text);
    q->text = NULL;
}

const char *
alqi_view_query_get(struct alqi_view_query *q, const char *key)
{
    const char *value = NULL;

    for (uint32_t i = 0; i < q->n_pairs; i++) {
        if (strcmp(q->pairs[i].key, key) != 0)
            continue;
        if (value != NULL)
            alqi_view_query_fail(q, "%s stands twice", key);
        value = q->pairs[i].value;
        q->pairs[i].is_used = true;
    }
    return value;
}

bool
alqi_view_number_parse(const char **text, uint64_t *value)
{
    const char *at = *text;
    uint64_t n = 0;

    for (; *at >= '0' && *at <= '9'; at++) {
        if (n > (INT64_MAX - 9) / 10)
            return false;
        n = 10 * n + (uint64_t)(*at - '0');
    }
    if (at == *text)
        return false;
    *text = at;
    *value = n;
    return true;
}

uint64_t
alqi_view_query_number(struct alqi_view_query *q, const char *key,
                       uint64_t least, uint64_t most, uint64_t otherwise)
{
    const char *value = alqi_view_query_get(q, key), *at = value;
    uint64_t n;

    if (value == NULL)
        return otherwise;
    if (alqi_view_number_parse(&at, &n) && *at == '\0' && n >= least &&
        n <= most)
        return n;
    alqi_view_query_fail(q,
                         "%s=%.*s: a whole number from %" PRIu64 " to %" PRIu64,
                         key, SHOWN, value, least, most);
    return otherwise;
}

/* The first choice is the default. */
unsigned
alqi_view_query_choice(struct alqi_view_query *q, const char *key,
                       const char *choices)
{
    const char *value = alqi_view_query_get(q, key), *at = choices;
    size_t n = value != NULL ? strlen(value) : 0;

    if (value == NULL)
        return 0;
    for (unsigned i = 0;; i++) {
        size_t length = strcspn(at, " ");

        if (length == n && memcmp(at, value, n) == 0)
            return i;
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    alqi_view_query_fail(q, "%s=%.*s: one of: %s", key, SHOWN, value, choices);
    return 0;
}

bool
alqi_view_query_done(struct alqi_view_query *q)
{
    for (uint32_t i = 0; i < q->n_pairs; i++)
        if (!q->pairs[i].is_used)
            alqi_view_query_fail(q, "%.*s: no such key; see aliquot-view(1)",
                                 SHOWN, q->pairs[i].key);
    return q->error[0] == '\0';
}
