/* json.c -- texts and commas of JSON that is written piece by piece
 *
 * jansson escapes each text, after it was cleaned: the output is valid UTF-8
 * whatever a trace holds.  The caller keeps the structure right. */
#include <jansson.h>
#include <math.h>

#include "cli/tool/json.h"
#include "cli/tool/text.h"

enum { TEXT_BYTES = 8192 };

/* Below INT64_MAX, and exact as a double. */
static const double WHOLE_MOST = 9e18;

/* jansson returns NULL for a text that is no valid UTF-8, so the text is
 * cleaned first. */
void
alqi_cli_json_text(FILE *out, const char *text)
{
    char clean[TEXT_BYTES];
    json_t *value;

    alqi_cli_clean(clean, sizeof clean, text);
    value = json_string(clean);
    json_dumpf(value, out, JSON_ENCODE_ANY);
    json_decref(value);
}

void
alqi_cli_json_next(FILE *out, uint64_t *n)
{
    if ((*n)++ > 0)
        fputc(',', out);
}

/* ---- members of a tree --------------------------------------------------- */

json_t *
alqi_cli_json_whole(double x)
{
    return json_integer(fabs(x) < WHOLE_MOST ? llround(x) : INT64_MAX);
}

json_t *
alqi_cli_json_clean(const char *text)
{
    char out[TEXT_BYTES];

    alqi_cli_clean(out, sizeof out, text);
    return json_string(out);
}

void
alqi_cli_json_set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new_nocheck(object, key, value);
}

void
alqi_cli_json_put_whole(json_t *object, const char *key, double x)
{
    alqi_cli_json_set(object, key, alqi_cli_json_whole(x));
}

void
alqi_cli_json_count(json_t *object, const char *key, uint64_t n)
{
    alqi_cli_json_set(object, key, json_integer((json_int_t)n));
}
