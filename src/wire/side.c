/* side.c -- lines of "key=value", percent-encoded
 *
 * A value that does not fit is left out as a whole; a value that is read is
 * cut to fit. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/side.h"

enum { NUMBER_BYTES = 64 };

static bool
is_unescaped(unsigned char c)
{
    return c > ' ' && c != '%' && c != '=' && c != 0x7F;
}

/* Writes the encoding of c; its length, 1 or 3. */
static size_t
char_encode(unsigned char c, char out[3])
{
    static const char digits[] = "0123456789ABCDEF";

    if (is_unescaped(c)) {
        out[0] = (char)c;
        return 1;
    }
    out[0] = '%';
    out[1] = digits[c >> 4];
    out[2] = digits[c & 15];
    return 3;
}

size_t
alqi_side_put(char *line, size_t capacity, size_t n_used, const char *key,
              const char *value)
{
    size_t n = n_used;
    size_t key_bytes = key == NULL ? 0 : strlen(key) + 1;
    bool has_space = n_used > 0;

    if (n_used >= capacity || key_bytes + has_space >= capacity - n_used)
        return n_used;
    if (has_space)
        line[n++] = ' ';
    if (key != NULL) {
        memcpy(line + n, key, key_bytes - 1);
        n += key_bytes;
        line[n - 1] = '=';
    }
    for (; *value != '\0'; value++) {
        char code[3];
        size_t k = char_encode((unsigned char)*value, code);

        if (k >= capacity - n) {
            line[n_used] = '\0';
            return n_used;
        }
        memcpy(line + n, code, k);
        n += k;
    }
    line[n] = '\0';
    return n;
}

bool
alqi_side_cut(char *out, size_t capacity, const char *text)
{
    size_t n = strnlen(text, capacity);

    if (n == capacity)
        for (n--; n > 0 && (text[n] & 0xC0) == 0x80;)
            n--;
    memcpy(out, text, n);
    out[n] = '\0';
    return n > 0;
}

bool
alqi_side_mark_name(char out[ALQI_SIDE_MARK_BYTES], const char *name)
{
    return alqi_side_cut(out, ALQI_SIDE_MARK_BYTES, name);
}

void
alqi_side_text(struct alqi_side_line *line, const char *key, const char *value)
{
    line->n = alqi_side_put(line->text, line->capacity, line->n, key, value);
}

void
alqi_side_number(struct alqi_side_line *line, const char *key, uint64_t value)
{
    char text[NUMBER_BYTES];

    snprintf(text, sizeof text, "%" PRIu64, value);
    alqi_side_text(line, key, text);
}

void
alqi_side_hex(struct alqi_side_line *line, const char *key, uint64_t value)
{
    char text[NUMBER_BYTES];

    snprintf(text, sizeof text, "%" PRIx64, value);
    alqi_side_text(line, key, text);
}

void
alqi_side_real(struct alqi_side_line *line, const char *key, double value)
{
    char text[NUMBER_BYTES];

    snprintf(text, sizeof text, "%.17g", value);
    alqi_side_text(line, key, text);
}

static int
digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

/* Decodes [at, end); what is no encoding stands for itself. */
static void
value_decode(const char *at, const char *end, char *out, size_t capacity)
{
    size_t n = 0;

    for (; at < end && n + 1 < capacity; n++) {
        int high = end - at > 2 && *at == '%' ? digit_value(at[1]) : -1;
        int low = high >= 0 ? digit_value(at[2]) : -1;

        out[n] = low >= 0 ? (char)(high << 4 | low) : *at;
        at += low >= 0 ? 3 : 1;
    }
    if (capacity > 0)
        out[n] = '\0';
}

bool
alqi_side_get(const char *line, const char *key, char *out, size_t capacity)
{
    size_t key_bytes = key == NULL ? 0 : strlen(key);
    const char *end;

    for (const char *at = line;; at = end + 1) {
        end = at + strcspn(at, " ");
        if (key == NULL) {
            value_decode(at, end, out, capacity);
            return end > at;
        }
        if (at != line && strncmp(at, key, key_bytes) == 0 &&
            at[key_bytes] == '=') {
            value_decode(at + key_bytes + 1, end, out, capacity);
            return true;
        }
        if (*end == '\0')
            return false;
    }
}

uint64_t
alqi_side_get_number(const char *line, const char *key, int base)
{
    char text[NUMBER_BYTES];

    return alqi_side_get(line, key, text, sizeof text)
               ? strtoull(text, NULL, base)
               : 0;
}

double
alqi_side_get_real(const char *line, const char *key)
{
    char text[NUMBER_BYTES];

    return alqi_side_get(line, key, text, sizeof text) ? strtod(text, NULL) : 0;
}
