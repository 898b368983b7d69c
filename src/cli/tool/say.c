/* say.c -- messages on stderr, which name what others wrote: cleaned */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/intern.h"
#include "cli/tool/cli.h"
#include "cli/tool/text.h"

/* NULL: stderr. */
static char *heard;
static size_t n_heard;

static void
say_line(const char *format, va_list args)
{
    char *text = NULL;

    if (heard != NULL) {
        vsnprintf(heard, n_heard, format, args);
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
    heard = text;
    n_heard = n_text;
    if (text != NULL && n_text > 0)
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
    alqi_cli_say("out of memory for %zu entries of %zu bytes", n, each_bytes);
    exit(ALQI_CLI_UNREADABLE);
}

void *
alqi_cli_grow(void *array, uint32_t n, size_t each_bytes)
{
    if ((n & (n - 1)) != 0)
        return array;
    return alqi_cli_realloc(array, n == 0 ? 1 : 2 * (size_t)n, each_bytes);
}

uint32_t
alqi_cli_intern(struct alqi_base_intern *table, const uint32_t *row)
{
    uint32_t number = alqi_base_intern(table, row);

    if (number != ALQI_BASE_INTERN_NONE)
        return number;
    alqi_cli_say("out of memory for %u rows", table->n);
    exit(ALQI_CLI_UNREADABLE);
}
