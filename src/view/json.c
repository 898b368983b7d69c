/* json.c -- JSON text in bounded room
 *
 * [json.h] Commas follow from one flag: open and key clear it, values and
 * close set it. After a failure nothing is written, so callers look at
 * has_failed once, at the end. Angle brackets and & are escaped, so that no
 * answer is ever taken for a page. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/json.h"

enum { CAPACITY_FIRST = 4096, ESCAPE_BYTES = 6 };

static const double WHOLE_MOST = 9e18;

/* Appends n bytes, or fails. */
static void
put(struct alqi_view_json *j, const char *bytes, size_t n)
{
    if (j->has_failed)
        return;
    if (n > j->most - j->n) {
        j->has_failed = true;
        return;
    }
    if (n > j->capacity - j->n) {
        size_t capacity = j->capacity == 0 ? CAPACITY_FIRST : j->capacity;
        char *text;

        while (capacity - j->n < n)
            capacity *= 2;
        text = realloc(j->text, capacity);
        if (text == NULL) {
            j->has_failed = true;
            return;
        }
        j->text = text;
        j->capacity = capacity;
    }
    memcpy(j->text + j->n, bytes, n);
    j->n += n;
}

/* Writes the comma in front of a value, if one is due. */
static void
comma(struct alqi_view_json *j)
{
    if (j->needs_comma)
        put(j, ",", 1);
    j->needs_comma = true;
}

void
alqi_view_json_open(struct alqi_view_json *j, char bracket)
{
    comma(j);
    put(j, &bracket, 1);
    j->needs_comma = false;
}

void
alqi_view_json_close(struct alqi_view_json *j, char bracket)
{
    put(j, &bracket, 1);
    j->needs_comma = true;
}

/* The character needs no escape. */
static bool
is_plain(char c)
{
    return (unsigned char)c >= 0x20 && c != 0x7F && c != '"' && c != '\\' &&
           c != '<' && c != '>' && c != '&';
}

/* Writes a text in quotes. */
static void
put_quoted(struct alqi_view_json *j, const char *text)
{
    char escape[ESCAPE_BYTES + 1];

    put(j, "\"", 1);
    while (*text != '\0') {
        size_t n = 0;

        while (text[n] != '\0' && is_plain(text[n]))
            n++;
        put(j, text, n);
        text += n;
        if (*text == '\0')
            break;
        snprintf(escape, sizeof escape, "\\u%04x", (unsigned char)*text++);
        put(j, escape, ESCAPE_BYTES);
    }
    put(j, "\"", 1);
}

/* As put_quoted writes it. */
size_t
alqi_view_json_bytes(const char *text)
{
    size_t n = 2;

    for (; *text != '\0'; text++)
        n += is_plain(*text) ? 1 : ESCAPE_BYTES;
    return n;
}

void
alqi_view_json_key(struct alqi_view_json *j, const char *key)
{
    comma(j);
    put_quoted(j, key);
    put(j, ":", 1);
    j->needs_comma = false;
}

void
alqi_view_json_text(struct alqi_view_json *j, const char *text)
{
    comma(j);
    put_quoted(j, text);
}

/* Writes a value as it is. */
static void
put_word(struct alqi_view_json *j, const char *word)
{
    comma(j);
    put(j, word, strlen(word));
}

void
alqi_view_json_int(struct alqi_view_json *j, int64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRId64, value);
    put_word(j, text);
}

int64_t
alqi_view_json_rounded(double value)
{
    if (!(fabs(value) < WHOLE_MOST))
        value = value < 0 ? -WHOLE_MOST : WHOLE_MOST;
    return llround(value);
}

void
alqi_view_json_whole(struct alqi_view_json *j, double value)
{
    alqi_view_json_int(j, alqi_view_json_rounded(value));
}

void
alqi_view_json_real(struct alqi_view_json *j, double value)
{
    char text[40];

    if (!isfinite(value)) {
        alqi_view_json_null(j);
        return;
    }
    snprintf(text, sizeof text, "%.17g", value);
    put_word(j, text);
}

void
alqi_view_json_bool(struct alqi_view_json *j, bool value)
{
    put_word(j, value ? "true" : "false");
}

void
alqi_view_json_null(struct alqi_view_json *j)
{
    put_word(j, "null");
}

void
alqi_view_json_key_int(struct alqi_view_json *j, const char *key, int64_t value)
{
    alqi_view_json_key(j, key);
    alqi_view_json_int(j, value);
}

void
alqi_view_json_key_text(struct alqi_view_json *j, const char *key,
                        const char *text)
{
    alqi_view_json_key(j, key);
    alqi_view_json_text(j, text);
}
