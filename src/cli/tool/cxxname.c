/* cxxname.c -- demangled names of C++ and Rust, cut to what tells them apart
 *
 * Parameters, return type and a trailing " const" are left out by counting
 * brackets from the end.  A name whose brackets do not match is no C++ and is
 * returned whole. */
#include <string.h>

#include "base/base.h"
#include "cli/tool/cxxname.h"
#include "cli/tool/text.h"

enum { NAME_BYTES = 512 };

/* Whether the first n bytes of text end with tail. */
static bool
ends_with(const char *text, size_t n, const char *tail)
{
    size_t k = strlen(tail);

    return n >= k && memcmp(text + n - k, tail, k) == 0;
}

/* Length without the parameter list.  "f.(fun)" of OCaml and "operator()"
 * have none. */
static size_t
without_parameters(const char *function)
{
    const char *clone = strstr(function, " [clone ");
    size_t n = strlen(function);
    size_t end = clone != NULL ? (size_t)(clone - function) : n;
    int depth = 0;

    if (ends_with(function, end, " const"))
        end -= 6;
    if (end == 0 || function[end - 1] != ')')
        return n;
    while (end-- > 0) {
        if (function[end] == ')')
            depth++;
        else if (function[end] == '(' && --depth == 0)
            break;
    }
    if (end == 0 || end == (size_t)-1 || function[end - 1] == '.' ||
        ends_with(function, end, "operator"))
        return n;
    return end;
}

/* Position behind the return type: after the last blank that stands in no
 * brackets and before no "operator". */
static size_t
behind_type(const char *s, size_t end)
{
    size_t begin = 0;
    int depth = 0;

    for (size_t i = 0; i < end; i++) {
        if (strchr("<({[", s[i]) != NULL)
            depth++;
        else if (strchr(">)}]", s[i]) != NULL)
            depth--;
        else if (depth == 0 && strncmp(s + i, "operator", 8) == 0)
            break;
        else if (depth == 0 && s[i] == ' ' && i + 1 < end)
            begin = i + 1;
    }
    return begin;
}

/* Where the qualified name stands in function: without the return type before
 * it and the parameters behind it. */
static void
span(const char *function, size_t *begin, size_t *end)
{
    *end = without_parameters(function);
    *begin = 0;
    if (*end != strlen(function)) /* so it is C++ or Rust */
        *begin = behind_type(function, *end);
}

/* Position behind the template arguments that open at i, 0 when none do or
 * nothing closes them before end. "operator<", "operator<<" and "operator->"
 * hold brackets that open or close nothing. */
static size_t
arguments_end(const char *s, size_t i, size_t end)
{
    int depth = 0;

    if (s[i] != '<' || i == 0 || ends_with(s, i, "operator") ||
        ends_with(s, i, "operator<"))
        return 0;
    for (; i < end; i++) {
        if (s[i] == '<')
            depth++;
        else if (s[i] == '>' && s[i - 1] != '-' && --depth == 0)
            return i + 1;
    }
    return 0;
}

/* Eight bytes stay free in out for one replacement and the NUL. Template
 * arguments are cut only from a name that is too long: they tell instances
 * apart. */
void
alqi_cli_cxxname_shorten(char *out, size_t capacity, const char *function,
                         size_t columns)
{
    size_t used = 0;
    size_t i;
    size_t end;
    bool is_long;

    span(function, &i, &end);
    is_long = alqi_cli_prefix_bytes(function + i, columns) < end - i;
    while (i < end && used + 8 < capacity) {
        size_t behind = is_long ? arguments_end(function, i, end) : 0;

        if (behind == 0) {
            out[used++] = function[i++];
            continue;
        }
        memcpy(out + used, "<…>", sizeof "<…>" - 1);
        used += sizeof "<…>" - 1;
        i = behind;
    }
    out[used] = '\0';
}

/* The qualified name without template arguments. */
static void
plain_name(const char *function, char *out, size_t capacity)
{
    size_t used = 0;
    size_t i;
    size_t end;

    span(function, &i, &end);
    while (i < end && used + 1 < capacity) {
        size_t behind = arguments_end(function, i, end);

        if (behind != 0)
            i = behind;
        else
            out[used++] = function[i++];
    }
    out[used] = '\0';
}

/* The two searches at the start reject almost every name, so that only names of
 * libstdc++ are cut into parts. */
bool
alqi_cli_cxxname_is_internal(const char *function)
{
    static const char *const classes[] = {
        "__gnu_cxx::", "std::allocator::", "std::allocator_traits::",
        "std::__new_allocator::", "std::__detail::"};
    char name[NAME_BYTES];

    if (strstr(function, "std::") == NULL &&
        strstr(function, "__gnu_cxx::") == NULL)
        return false;
    plain_name(function, name, sizeof name);
    for (size_t i = 0; i < ALQI_COUNT_OF(classes); i++)
        if (strncmp(name, classes[i], strlen(classes[i])) == 0)
            return true;
    if (strncmp(name, "std::", 5) != 0)
        return false;
    return strstr(name, "::_M_") != NULL || strstr(name, "::_S_") != NULL ||
           (name[5] == '_' && name[6] >= 'A' && name[6] <= 'Z');
}
