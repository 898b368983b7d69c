/* symbol_jit_map.c -- the lines of a perf map
 *
 * "START SIZE NAME", the numbers hexadecimal, with "0x" before them or not; the
 * name is the rest of the line. A line is taken in when its end is there. */
#include <string.h>

#include "stack/symbol_jit.h"
#include "stack/symbol_jit_pieces.h"

/* The hexadecimal number at *at, which moves behind it and the blanks that
 * follow; false: there is none. */
static bool
hex_take(const char **at, const char *end, uint64_t *out)
{
    uint64_t value = 0;
    unsigned n_digits = 0;

    if (end - *at > 2 && (*at)[0] == '0' && ((*at)[1] | ' ') == 'x')
        *at += 2;
    for (; *at < end; ++*at, n_digits++) {
        char c = **at;
        int digit = c >= '0' && c <= '9' ? c - '0'
                    : (c | ' ') >= 'a' && (c | ' ') <= 'f'
                        ? (c | ' ') - 'a' + 10
                        : -1;

        if (digit < 0)
            break;
        value = value << 4 | (uint64_t)digit;
    }
    if (n_digits == 0 || n_digits > 16 || *at == end || **at != ' ')
        return false;
    while (*at < end && **at == ' ')
        ++*at;
    *out = value;
    return true;
}

static void
line_take(struct alqi_symbol_jit *jit, const char *at, const char *end)
{
    uint64_t start, n_code_bytes;

    if (end > at && end[-1] == '\r')
        end--;
    if (at == end)
        return;
    if (hex_take(&at, end, &start) && hex_take(&at, end, &n_code_bytes) &&
        at < end)
        (void)alqi_symbol_jit_add(jit, start, n_code_bytes, 0, at,
                                  (size_t)(end - at));
    else
        jit->n_odd++;
}

size_t
alqi_symbol_jit_take_map(struct alqi_symbol_jit *jit, const char *bytes,
                         size_t n_bytes, bool is_full)
{
    const char *at = bytes, *end = bytes + n_bytes, *line_end;

    while (at < end &&
           (line_end = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        if (jit->is_inside_line)
            jit->is_inside_line = false;
        else
            line_take(jit, at, line_end);
        at = line_end + 1;
    }
    if (!is_full || at > bytes)
        return (size_t)(at - bytes);
    jit->n_over += !jit->is_inside_line;
    jit->is_inside_line = true;
    return n_bytes;
}
