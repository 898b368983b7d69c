/* text.c -- numbers to text and back, and text of traces made safe to print
 *
 * All functions are pure.  What is read is a number with one of the units that
 * are listed here, and nothing behind it.  Cleaned text has no character that a
 * terminal obeys: each byte of such becomes '?', so no length grows. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "cli/tool/text.h"

/* Digits after the point that make three significant ones; a whole number has
 * none. The bounds are where rounding would make a fourth digit. */
static int
digits_after_point(double x)
{
    if (x == floor(x))
        return 0;
    if (x < 9.995)
        return 2;
    return x < 99.95 ? 1 : 0;
}

/* Divides x by base until it is below `most`, or there is no larger unit; the
 * first unit is of x itself. */
static struct alqi_cli_text
scaled(double x, double base, double most, const char *const *units, size_t n)
{
    struct alqi_cli_text t;
    size_t i = 0;

    for (; x >= most && i + 1 < n; i++)
        x /= base;
    snprintf(t.text, sizeof t.text, "%.*f%s", digits_after_point(x), x,
             units[i]);
    return t;
}

/* 1023.5 rounds to 1024, which is one of the next unit. */
struct alqi_cli_text
alqi_cli_text_bytes(double bytes)
{
    static const char *const units[] = {" B",   " KiB", " MiB", " GiB",
                                        " TiB", " PiB", " EiB"};

    if (bytes < 1023.5)
        bytes = bytes < 0 ? 0 : nearbyint(bytes);
    return scaled(bytes, 1024, 1023.5, units, ALQI_COUNT_OF(units));
}

/* The unit, and the digits after the point, are those of the bytes. */
struct alqi_cli_text
alqi_cli_text_growth(double bytes, double error)
{
    struct alqi_cli_text t = alqi_cli_text_bytes(bytes);
    size_t n = strlen(t.text);
    const char *point = strchr(t.text, '.');
    int digits = point != NULL ? (int)strcspn(point + 1, " ") : 0;

    for (; bytes >= 1023.5; bytes /= 1024)
        error /= 1024;
    if (error < 0)
        snprintf(t.text + n, sizeof t.text - n, "/min");
    else
        snprintf(t.text + n, sizeof t.text - n, "/min ± %.*f", digits, error);
    return t;
}

/* Up to four digits stand as they are. */
struct alqi_cli_text
alqi_cli_text_count(double count)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};

    if (count < 9999.5)
        return scaled(count < 0 ? 0 : nearbyint(count), 1000, 9999.5, units, 1);
    return scaled(count, 1000, 999.5, units, ALQI_COUNT_OF(units));
}

/* Powers of 1000, as limits are written; below 1000 the number may have
 * decimals. */
struct alqi_cli_text
alqi_cli_text_words(double words)
{
    static const char *const units[] = {" w",  " kw", " Mw",
                                        " Gw", " Tw", " Pw"};

    return scaled(words, 1000, 999.5, units, ALQI_COUNT_OF(units));
}

/* Below a minute one unit with three digits; above, two units that are whole
 * numbers. */
struct alqi_cli_text
alqi_cli_text_duration(double us)
{
    struct alqi_cli_text t;
    double s = us / 1e6;
    uint64_t whole = s > 0 && s < 1e15 ? (uint64_t)(s + 0.5) : 0;
    unsigned days = (unsigned)(whole / 86400);

    if (us < 999.5)
        snprintf(t.text, sizeof t.text, "%.0f µs", us < 0 ? 0 : us);
    else if (us < 999.5e3)
        snprintf(t.text, sizeof t.text, "%.*f ms", digits_after_point(us / 1e3),
                 us / 1e3);
    else if (s < 59.95)
        snprintf(t.text, sizeof t.text, "%.*f s", digits_after_point(s), s);
    else if (whole < 3600)
        snprintf(t.text, sizeof t.text, "%um%02us", (unsigned)(whole / 60),
                 (unsigned)(whole % 60));
    else if (days == 0)
        snprintf(t.text, sizeof t.text, "%uh%02um", (unsigned)(whole / 3600),
                 (unsigned)(whole / 60 % 60));
    else
        snprintf(t.text, sizeof t.text, "%ud%02uh", days,
                 (unsigned)(whole / 3600 % 24));
    return t;
}

/* A share with one decimal; 100 without. */
struct alqi_cli_text
alqi_cli_text_percent(double share)
{
    struct alqi_cli_text t;
    double x = share * 100;

    snprintf(t.text, sizeof t.text, "%.*f%%", x < 99.95 ? 1 : 0, x);
    return t;
}

/* A damaged trace may hold any time: one that has no date is written as
 * seconds. */
struct alqi_cli_text
alqi_cli_text_time(uint64_t time_us)
{
    struct alqi_cli_text t;
    time_t s = (time_t)(time_us / 1000000);
    struct tm tm;

    if (time_us == 0)
        snprintf(t.text, sizeof t.text, "time unknown");
    else if (gmtime_r(&s, &tm) == NULL ||
             strftime(t.text, sizeof t.text, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
        snprintf(t.text, sizeof t.text, "%.3f s after 1970",
                 (double)time_us / 1e6);
    return t;
}

/* The unit is required: a bare number would be taken for seconds by some and
 * microseconds by others. */
bool
alqi_cli_parse_duration(const char *text, double *us)
{
    static const struct {
        const char *name;
        double us;
    } units[] = {{"ns", 1e-3}, {"us", 1},   {"µs", 1},  {"ms", 1e3},
                 {"s", 1e6},   {"m", 60e6}, {"h", 36e8}};
    char *end;
    double x = strtod(text, &end);

    if (end == text || !isfinite(x) || x < 0)
        return false;
    for (size_t i = 0; i < ALQI_COUNT_OF(units); i++)
        if (strcmp(end, units[i].name) == 0) {
            *us = x * units[i].us;
            return true;
        }
    return false;
}

/* Digits alone; strtoull() would take blanks and a sign, and turn a number that
 * is too large into the largest. */
bool
alqi_cli_parse_count(const char *text, uint64_t *count)
{
    char *end;
    unsigned long long x;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    x = strtoull(text, &end, 10);
    if (*end != '\0' || errno != 0)
        return false;
    *count = x;
    return true;
}

/* False for a number that is not whole after its unit is applied, or that does
 * not fit. */
bool
alqi_cli_parse_words(const char *text, uint64_t *words)
{
    static const char units[] = "kMG";
    double scale = 1;
    const char *unit;
    char *end;
    double x;

    if ((text[0] < '0' || text[0] > '9') && text[0] != '.')
        return false;
    x = strtod(text, &end);
    unit = *end != '\0' ? strchr(units, *end) : NULL;
    if (unit != NULL) {
        for (const char *u = units; u <= unit; u++)
            scale *= 1000;
        end++;
    }
    if (*end == 'w')
        end++;
    x *= scale;
    if (*end != '\0' || !(x < 0x1p63) || x != floor(x))
        return false;
    *words = (uint64_t)x;
    return true;
}

/* Characters that are not seen and change how others are: controls, surrogates,
 * and all of Unicode 15's format characters (Cf) and separators of lines, to
 * which belongs what turns the direction of writing. */
static bool
is_obeyed(uint32_t c)
{
    static const uint32_t ranges[][2] = {
        {0x80, 0x9F},       {0xAD, 0xAD},       {0x600, 0x605},
        {0x61C, 0x61C},     {0x6DD, 0x6DD},     {0x70F, 0x70F},
        {0x890, 0x891},     {0x8E2, 0x8E2},     {0x180E, 0x180E},
        {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
        {0xD800, 0xDFFF},   {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},
        {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F},
        {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
    };

    for (size_t i = 0; i < ALQI_COUNT_OF(ranges); i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}

/* Bytes of the well-formed UTF-8 sequence at s, 0 if there is none, or it may
 * not be shown. */
static size_t
sequence_bytes(const unsigned char *s)
{
    size_t n;
    uint32_t c;

    if (s[0] < 0x80)
        return s[0] >= 0x20 && s[0] != 0x7F ? 1 : 0;
    if (s[0] < 0xC2 || s[0] > 0xF4)
        return 0;
    n = s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    c = s[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3Fu);
    }
    if ((n == 3 && c < 0x800) || (n == 4 && c < 0x10000) || c > 0x10FFFF)
        return 0;
    return is_obeyed(c) ? 0 : n;
}

/* What would not fit whole is left out: a cut sequence would be no text. */
size_t
alqi_cli_clean(char *out, size_t capacity, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t used = 0;

    while (*s != '\0') {
        size_t n = sequence_bytes(s);

        if (used + (n == 0 ? 1 : n) >= capacity)
            break;
        if (n == 0) {
            out[used++] = '?';
            s++;
            continue;
        }
        memcpy(out + used, s, n);
        used += n;
        s += n;
    }
    out[used] = '\0';
    return used;
}

struct alqi_cli_shown
alqi_cli_shown(const char *text)
{
    struct alqi_cli_shown shown;

    alqi_cli_clean(shown.text, sizeof shown.text, text);
    return shown;
}

/* Newlines are kept, all else is cleaned. A long line is cleaned piece by
 * piece, cut between characters. */
void
alqi_cli_put_clean(FILE *out, const char *text)
{
    while (*text != '\0') {
        char clean[1024];
        size_t n = strcspn(text, "\n"), whole = 0;

        /* Of a line longer than the room, as many sequences as fit. */
        while (whole < n && whole < sizeof clean - 8) {
            size_t k = sequence_bytes((const unsigned char *)text + whole);

            whole += k == 0 ? 1 : k;
        }
        memcpy(clean, text, whole);
        clean[whole] = '\0';
        text += whole;
        fputs(alqi_cli_shown(clean).text, out);
        if (*text == '\n')
            fputc(*text++, out);
    }
}

/* Each byte that does not continue a UTF-8 sequence begins a column. */
size_t
alqi_cli_columns(const char *text)
{
    size_t n = 0;

    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

/* The prefix ends before the character that is one too many, after all bytes of
 * the one before. */
size_t
alqi_cli_prefix_bytes(const char *text, size_t columns)
{
    size_t i = 0;

    for (; text[i] != '\0'; i++)
        if (((unsigned char)text[i] & 0xC0) != 0x80 && columns-- == 0)
            break;
    return i;
}
