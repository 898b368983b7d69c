/* pattern.h -- names of files with parts that the program fills in
 *
 * In a pattern a percent sign and a letter stand for a text, and two percent
 * signs for one. */
#ifndef ALQI_BASE_PATTERN_H
#define ALQI_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* What a letter stands for. */
struct alqi_base_pattern_part {
    char letter;
    /* NULL: the letter stands for nothing */
    const char *text;
};

/* Writes the pattern with the texts of its letters, ended by a NUL. A percent
 * sign before anything else stays. False: it does not fit, and is cut off. */
bool alqi_base_pattern_expand_sigsafe(
    char *out, size_t capacity, const char *pattern,
    const struct alqi_base_pattern_part *parts, size_t n_parts);

/* Writes n bytes of a path as the pattern of that path, ended by a NUL; the
 * pattern has room for twice as many. Returns the pattern's end. */
char *alqi_base_pattern_quote(char *pattern, const char *path, size_t n);

/* The first percent sign before none of the letters and no other percent sign;
 * NULL: there is none. */
const char *alqi_base_pattern_stray(const char *pattern, const char *letters);

#endif
