/* pattern.c -- names of files with parts that the program fills in
 *
 * [pattern.h] */
#include <string.h>

#include "base/pattern.h"

/* The text of the letter; NULL: it stands for nothing. */
static const char *
text_of(char letter, const struct alqi_base_pattern_part *parts, size_t n_parts)
{
    if (letter == '%')
        return "%";
    for (size_t i = 0; i < n_parts; i++)
        if (parts[i].letter == letter)
            return parts[i].text;
    return NULL;
}

bool
alqi_base_pattern_expand_sigsafe(char *out, size_t capacity,
                                 const char *pattern,
                                 const struct alqi_base_pattern_part *parts,
                                 size_t n_parts)
{
    size_t left = capacity - 1;
    bool is_whole = true;

    for (const char *p = pattern; *p != '\0' && is_whole; p++) {
        const char *text = p[0] == '%' ? text_of(p[1], parts, n_parts) : NULL;
        size_t n = text != NULL ? strlen(text) : 1;

        is_whole = n <= left;
        if (n > left)
            n = left;
        memcpy(out, text != NULL ? text : p, n);
        out += n;
        left -= n;
        p += text != NULL;
    }
    *out = '\0';
    return is_whole;
}

const char *
alqi_base_pattern_stray(const char *pattern, const char *letters)
{
    for (const char *p = pattern; (p = strchr(p, '%')) != NULL; p += 2)
        if (p[1] == '\0' || (p[1] != '%' && strchr(letters, p[1]) == NULL))
            return p;
    return NULL;
}

char *
alqi_base_pattern_quote(char *pattern, const char *path, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (path[i] == '%')
            *pattern++ = '%';
        *pattern++ = path[i];
    }
    *pattern = '\0';
    return pattern;
}
