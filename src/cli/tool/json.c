/* json.c -- see json.h */
#include <inttypes.h>
#include <jansson.h>

#include "cli/tool/json.h"
#include "cli/tool/text.h"

enum { TEXT_BYTES = 8192, US_PER_MS = 1000 };

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

void
alqi_cli_json_ms(FILE *out, uint64_t us)
{
    unsigned rest = (unsigned)(us % US_PER_MS);

    fprintf(out, "%" PRIu64, us / US_PER_MS);
    if (rest % 100 == 0 && rest > 0)
        fprintf(out, ".%u", rest / 100);
    else if (rest % 10 == 0 && rest > 0)
        fprintf(out, ".%02u", rest / 10);
    else if (rest > 0)
        fprintf(out, ".%03u", rest);
}
