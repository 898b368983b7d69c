/* rate.c -- see rate.h */
#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/rate.h"

bool
alqi_cli_bytes_parse(const char *text, double *bytes)
{
    char *end;
    double v = strtod(text, &end);

    if (end == text || !isfinite(v))
        return false;
    switch (*end) {
    case 'G':
    case 'g':
        v *= 1024;
        __attribute__((fallthrough));
    case 'M':
    case 'm':
        v *= 1024;
        __attribute__((fallthrough));
    case 'K':
    case 'k':
        v *= 1024;
        end++;
        if (*end == 'i')
            end++;
        break;
    }
    if (*end == 'B')
        end++;
    *bytes = v;
    return *end == '\0';
}

bool
alqi_cli_interval_set(const char *verb, const char *value, double *rate)
{
    double bytes;

    if (!alqi_cli_bytes_parse(value, &bytes) || bytes < ALQI_WORD_BYTES) {
        alqi_cli_say("%s: --interval %s: a size from 8 on, such as 64K", verb,
                     value);
        return false;
    }
    *rate = ALQI_WORD_BYTES / bytes;
    return true;
}

bool
alqi_cli_rate_set(const char *verb, const char *value, double *rate)
{
    char *end;
    double v = strtod(value, &end);

    if (*end != '\0' || end == value || !(v > 0 && v <= 1)) {
        alqi_cli_say("%s: --rate %s: above 0, and 1 at most", verb, value);
        return false;
    }
    *rate = v;
    return true;
}
