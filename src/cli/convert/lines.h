/* lines.h -- a text, line by line, and the hexadecimal numbers in a line */
#ifndef ALQI_CLI_CONVERT_LINES_H
#define ALQI_CLI_CONVERT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/ctf.h"

enum { ALQI_CLI_LINE_BYTES_MAX = 1 << 20 };

struct alqi_cli_lines {
    /* where bytes come from; the caller's */
    alqi_ctf_read_fn *read;
    void *read_arg;
    /* owned */
    char *buffer;
    size_t capacity;
    /* of buffer: the bytes that are not handed out yet */
    size_t begin, end;
    /* lines handed out so far */
    uint64_t number;
    /* there are no more bytes */
    bool is_over;
};

/* What is left of a line. */
struct alqi_cli_line {
    const char *at, *end;
};

void alqi_cli_lines_init(struct alqi_cli_lines *lines, alqi_ctf_read_fn *read,
                         void *read_arg);
void alqi_cli_lines_free(struct alqi_cli_lines *lines);

/* 1: *line is the next one, without its end, valid until the next call; 0: the
 * text is over; -1: *why says what is wrong. */
int alqi_cli_lines_next(struct alqi_cli_lines *lines,
                        struct alqi_cli_line *line, const char **why);

/* Takes a number of 1 to 16 digits and the blank behind it. */
bool alqi_cli_line_hex(struct alqi_cli_line *line, uint64_t *number);

#endif
