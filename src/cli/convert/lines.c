/* lines.c -- see lines.h
 *
 * A line lies whole in the buffer, which grows to the longest one. */
#include <stdlib.h>
#include <string.h>

#include "cli/convert/lines.h"
#include "cli/tool/cli.h"

enum { BUFFER_BYTES = 64 * 1024, DIGITS_MAX = 16 };

void
alqi_cli_lines_init(struct alqi_cli_lines *l, alqi_ctf_read_fn *read,
                    void *read_arg)
{
    *l = (struct alqi_cli_lines){
        .read = read,
        .read_arg = read_arg,
        .buffer = alqi_cli_realloc(NULL, BUFFER_BYTES, 1),
        .capacity = BUFFER_BYTES,
    };
}

void
alqi_cli_lines_free(struct alqi_cli_lines *l)
{
    free(l->buffer);
}

/* Makes room behind the bytes that are there, and reads. */
static void
fill(struct alqi_cli_lines *l)
{
    ptrdiff_t n;

    memmove(l->buffer, l->buffer + l->begin, l->end - l->begin);
    l->end -= l->begin;
    l->begin = 0;
    if (l->end == l->capacity) {
        l->capacity *= 2;
        l->buffer = alqi_cli_realloc(l->buffer, l->capacity, 1);
    }
    n = l->read(l->read_arg, l->buffer + l->end, l->capacity - l->end);
    if (n > 0)
        l->end += (size_t)n;
    else
        l->is_over = true;
}

int
alqi_cli_lines_next(struct alqi_cli_lines *l, struct alqi_cli_line *line,
                    const char **why)
{
    size_t looked = 0;
    char *end;

    while ((end = memchr(l->buffer + l->begin + looked, '\n',
                         l->end - l->begin - looked)) == NULL) {
        looked = l->end - l->begin;
        *why = looked > ALQI_CLI_LINE_BYTES_MAX ? "it is too long"
                                                : "its end is missing";
        if (l->is_over || looked > ALQI_CLI_LINE_BYTES_MAX)
            return looked == 0 ? 0 : -1;
        fill(l);
    }
    *line = (struct alqi_cli_line){l->buffer + l->begin, end};
    l->begin = (size_t)(end + 1 - l->buffer);
    l->number++;
    return 1;
}

/* The value of a digit, or 16. */
static unsigned
digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

bool
alqi_cli_line_hex(struct alqi_cli_line *line, uint64_t *number)
{
    const char *at = line->at;
    uint64_t value = 0;
    unsigned d;

    while (at < line->end && (d = digit(*at)) < 16) {
        value = value << 4 | d;
        at++;
    }
    if (at == line->at || at - line->at > DIGITS_MAX ||
        (at < line->end && *at != ' '))
        return false;
    line->at = at + (at < line->end);
    *number = value;
    return true;
}
