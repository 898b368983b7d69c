/* json.c -- texts and commas of JSON that is written piece by piece
 *
 * jansson escapes each text, after it was cleaned: the output is valid UTF-8
 * whatever a trace holds.  The caller keeps the structure right. */
#include <jansson.h>

#include "cli/tool/json.h"
#include "cli/tool/text.h"

enum { TEXT_BYTES = 8192 };

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
