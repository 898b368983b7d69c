/* say.c -- messages on stderr, and memory that ends the command when it lacks
 *
 * A message may quote a path or a text of a trace, so it is cleaned before it
 * reaches the terminal. Messages go to stderr, or between two calls of
 * alqi_cli_say_into() to a buffer of the caller, which keeps the last one. Such
 * pairs of calls nest: the innermost buffer gets the message. The buffers are
 * global: one thread at a time redirects. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/intern.h"
#include "base/map.h"
#include "cli/tool/cli.h"
#include "cli/tool/text.h"

/* The least places that a table by number gets. */
enum { WIDEN_LEAST = 8 };

/* Buffers that nest. */
enum { HEARD_MOST = 4 };

/* Where messages go, the innermost last; without any, to stderr. */
static struct {
    char *text;
    size_t n_text;
} heard[HEARD_MOST];
static unsigned n_heard;

/* Writes one message to the buffer of alqi_cli_say_into(), or to stderr. stdout
 * is flushed first, so that a message stands behind the output that led to
 * it. */
static void
say_line(const char *format, va_list args)
{
    char *text = NULL;

    if (n_heard > 0) {
        vsnprintf(heard[n_heard - 1].text, heard[n_heard - 1].n_text, format,
                  args);
        return;
    }
    fflush(stdout);
    fputs("aliquot: ", stderr);
    if (vasprintf(&text, format, args) >= 0)
        alqi_cli_put_clean(stderr, text);
    free(text);
    fputc('\n', stderr);
}

void
alqi_cli_say_into(char *text, size_t n_text)
{
    if (text == NULL) {
        n_heard--;
        return;
    }
    ALQI_ASSERT(n_heard < HEARD_MOST);
    heard[n_heard].text = text;
    heard[n_heard++].n_text = n_text;
    text[0] = '\0';
}

void
alqi_cli_say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say_line(format, args);
    va_end(args);
}

int
alqi_cli_unreadable(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say_line(format, args);
    va_end(args);
    return ALQI_CLI_UNREADABLE;
}

int
alqi_cli_finding(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say_line(format, args);
    va_end(args);
    return ALQI_CLI_FINDING;
}

bool
alqi_cli_refuse(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say_line(format, args);
    va_end(args);
    return false;
}

_Noreturn void
alqi_cli_die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say_line(format, args);
    va_end(args);
    exit(ALQI_CLI_UNREADABLE);
}

/* The `verb` may be NULL: the mistake was made before a verb was known. */
int
alqi_cli_usage(const char *verb, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say_line(format, args);
    va_end(args);
    if (verb != NULL)
        fprintf(stderr, "Try 'aliquot %s --help'.\n", verb);
    else
        fprintf(stderr, "Try 'aliquot help'.\n");
    return ALQI_CLI_USAGE;
}

void *
alqi_cli_realloc(void *block, size_t n, size_t each_bytes)
{
    void *grown = reallocarray(block, n == 0 ? 1 : n, each_bytes);

    if (grown != NULL)
        return grown;
    alqi_cli_die("out of memory for %zu entries of %zu bytes", n, each_bytes);
}

void *
alqi_cli_zeros(size_t n, size_t each_bytes)
{
    return memset(alqi_cli_realloc(NULL, n, each_bytes), 0, n * each_bytes);
}

/* The capacity is not stored: it is n rounded up to a power of two, so an array
 * is full when n is one. */
void *
alqi_cli_grow(void *array, uint32_t n, size_t each_bytes)
{
    if ((n & (n - 1)) != 0)
        return array;
    return alqi_cli_realloc(array, n == 0 ? 1 : 2 * (size_t)n, each_bytes);
}

/* Twice the index and some: numbers mostly come in order. */
void *
alqi_cli_duplicate(const void *array, size_t n, size_t each_bytes)
{
    void *same = alqi_cli_realloc(NULL, n, each_bytes);

    if (n > 0)
        memcpy(same, array, n * each_bytes);
    return same;
}

void *
alqi_cli_widen(void *table, uint32_t *n, uint32_t index, size_t each_bytes)
{
    uint32_t wider = 2 * index + WIDEN_LEAST;

    if (index < *n)
        return table;
    table = alqi_cli_realloc(table, wider, each_bytes);
    memset((char *)table + *n * each_bytes, 0, (wider - *n) * each_bytes);
    *n = wider;
    return table;
}

char *
alqi_cli_copy(const char *text)
{
    return strcpy(alqi_cli_realloc(NULL, strlen(text) + 1, 1), text);
}

uint32_t
alqi_cli_intern(struct alqi_base_intern *table, const uint32_t *row)
{
    uint32_t number = alqi_base_intern(table, row);

    if (number != ALQI_BASE_INTERN_NONE)
        return number;
    alqi_cli_die("out of memory for %u rows", table->n);
}

uint64_t *
alqi_cli_map_at(struct alqi_base_map *map, uint64_t key, bool *is_new)
{
    uint64_t *value = alqi_base_map_at(map, key, is_new);

    if (value != NULL)
        return value;
    alqi_cli_die("out of memory for %zu numbers", map->n_used);
}

void
alqi_cli_map_put(struct alqi_base_map *map, uint64_t key, uint64_t value)
{
    bool is_new;

    *alqi_cli_map_at(map, key, &is_new) = value;
}
