/* text.h -- numbers as people read and write them
 *
 * Every result is a small value, so that several fit in one printf.  Sizes
 * are IEC, three significant digits; nothing depends on the locale. */
#ifndef ALQI_CLI_TOOL_TEXT_H
#define ALQI_CLI_TOOL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct alqi_cli_text {
    char text[40];
};

struct alqi_cli_text alqi_cli_text_bytes(double bytes);
/* "1.21 MiB/min ± 0.10": bytes a minute, and the error in the same unit;
 * without one where that is below 0. */
struct alqi_cli_text alqi_cli_text_growth(double bytes, double error);
struct alqi_cli_text alqi_cli_text_count(double count);
/* "20 kw": words, in powers of 1000. */
struct alqi_cli_text alqi_cli_text_words(double words);
struct alqi_cli_text alqi_cli_text_duration(double us);
struct alqi_cli_text alqi_cli_text_percent(double share);
/* "2026-11-21 10:02:44 UTC"; of 0 that it is unknown */
struct alqi_cli_text alqi_cli_text_time(uint64_t time_us);

/* "10ms", "1.5s", "3m", "2h"; units ns us ms s m h; false if it is neither. */
bool alqi_cli_parse_duration(const char *text, double *us);
bool alqi_cli_parse_count(const char *text, uint64_t *count);
/* "20kw", "1.5Mw", "300": words; units w kw Mw Gw; false if it is neither. */
bool alqi_cli_parse_words(const char *text, uint64_t *words);

/* Copies text from a trace so that it is safe to print and valid UTF-8:
 * control and format characters and broken sequences become '?', one for each
 * byte.  out is NUL-terminated
 * and at most capacity bytes; returns its length. */
size_t alqi_cli_clean(char *out, size_t capacity, const char *text);

/* The same for printf: a path, or what a process says; its first 1,200 bytes.
 */
struct alqi_cli_shown {
    char text[1200];
};
struct alqi_cli_shown alqi_cli_shown(const char *text);

/* Writes text of more lines than one so. */
void alqi_cli_put_clean(FILE *out, const char *text);

/* Columns of a UTF-8 text, one a code point. */
size_t alqi_cli_columns(const char *text);
/* Bytes of the longest prefix of text that fits in n columns. */
size_t alqi_cli_prefix_bytes(const char *text, size_t columns);

#endif
