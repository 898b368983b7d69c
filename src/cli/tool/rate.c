/* rate.c -- sizes, intervals and rates, read from what people write
 *
 * A rate is kept in samples per word; an interval of N bytes is the rate
 * ALQI_WORD_BYTES / N.  strtod's hexadecimal digits, "inf", "nan" and leading
 * blanks are refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/tool/rate.h"

/* Once in a terabyte: who writes more has mistaken the unit. */
#define INTERVAL_BYTES_MOST 0x1p40

/* As strtod(), but without hexadecimal digits, "inf", "nan" and leading blanks,
 * which nobody means. */
static bool
number_read(const char *text, double *v, char **end)
{
    const char *digits = text + (*text == '-' || *text == '+');

    *v = strtod(text, end);
    return ((*digits >= '0' && *digits <= '9') || *digits == '.') &&
           digits[strspn(digits, "0")] != 'x' &&
           digits[strspn(digits, "0")] != 'X' && *end != text && isfinite(*v);
}

/* A unit falls through to each smaller one, so G multiplies three times. "KiB",
 * "KB" and "K" mean the same. */
bool
alqi_cli_bytes_parse(const char *text, double *bytes)
{
    char *end;
    double v;

    if (!number_read(text, &v, &end))
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

/* *to becomes a rate: an interval of N bytes is one sample in N /
 * ALQI_WORD_BYTES words. */
bool
alqi_cli_interval_take(void *to, const char *verb, const char *value)
{
    double *rate = to;
    double bytes;

    if (!alqi_cli_bytes_parse(value, &bytes) || bytes < ALQI_WORD_BYTES ||
        bytes > INTERVAL_BYTES_MOST)
        return alqi_cli_refuse(
            "%s: --interval %s: a size from 8 to 1024G, such as 64K", verb,
            value);
    *rate = ALQI_WORD_BYTES / bytes;
    return true;
}

/* *rate is written only on success. */
bool
alqi_cli_rate_parse(const char *text, double *rate)
{
    char *end;
    double v;

    if (!number_read(text, &v, &end) || *end != '\0' || !(v > 0 && v <= 1))
        return false;
    *rate = v;
    return true;
}

bool
alqi_cli_rate_take(void *rate, const char *verb, const char *value)
{
    if (alqi_cli_rate_parse(value, rate))
        return true;
    return alqi_cli_refuse("%s: --rate %s: a number above 0, and 1 at most",
                           verb, value);
}
