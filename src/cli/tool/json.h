/* json.h -- JSON written piece by piece
 *
 * Tables of millions of numbers would be large as a tree in memory, so the
 * exporters print their structure themselves, with texts escaped here. */
#ifndef ALQI_CLI_TOOL_JSON_H
#define ALQI_CLI_TOOL_JSON_H

#include <stdint.h>
#include <stdio.h>

/* A text, in quotes, cleaned of what is not UTF-8 and cut at 8191 bytes. */
void alqi_cli_json_text(FILE *out, const char *text);

/* "," unless *n is 0; counts *n up. */
void alqi_cli_json_next(FILE *out, uint64_t *n);

#endif
