/* json.h -- JSON as trees of jansson's, and JSON written piece by piece
 *
 * Tables of millions of numbers would be large as a tree in memory, so the
 * exporters print their structure themselves, with texts escaped here. */
#ifndef ALQI_CLI_TOOL_JSON_H
#define ALQI_CLI_TOOL_JSON_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* A text, in quotes, cleaned of what is not UTF-8 and cut at 8191 bytes. */
void alqi_cli_json_text(FILE *out, const char *text);

/* "," unless *n is 0; counts *n up. */
void alqi_cli_json_next(FILE *out, uint64_t *n);

/* ---- members of a tree --------------------------------------------------- */

/* A quantity, rounded; what no integer holds becomes the largest one. */
json_t *alqi_cli_json_whole(double x);
/* A text of a trace's header or of the command line, as valid UTF-8. */
json_t *alqi_cli_json_clean(const char *text);
/* Keys are the program's own, and not checked. The value's reference is
 * taken. */
void alqi_cli_json_set(json_t *object, const char *key, json_t *value);
void alqi_cli_json_put_whole(json_t *object, const char *key, double x);
/* A number of things: JSON's integers have 64 bits here. */
void alqi_cli_json_count(json_t *object, const char *key, uint64_t n);

#endif
