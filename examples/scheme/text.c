/* text.c -- strings, symbols, characters
 *
 * A string is bytes, and a character is a byte: UTF-8 goes through unharmed,
 * but counts as several.  Strings of the heap move: a C function copies what it
 * needs over an allocation, or reads args[i] again behind it. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "scheme.h"

/* Some argument is no string. */
static bool
are_strings(struct scheme *s, const char *name, const alq_value *args,
            unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++)
        if (!is_string(args[i])) {
            scheme_fail(s, args[i], "%s: not a string", name);
            return false;
        }
    return true;
}

/* Arguments i and i + 1, where they are given, as a part of `bytes`. */
static bool
part_of(struct scheme *s, const alq_value *args, unsigned n, unsigned i,
        size_t bytes, size_t part[2])
{
    part[0] = 0;
    part[1] = bytes;
    for (unsigned k = 0; k < 2 && i + k < n; k++) {
        if (!is_fixnum(args[i + k]) ||
            (uint64_t)to_fixnum(args[i + k]) > bytes) {
            scheme_fail(s, args[i + k], "no index of a string of %zu", bytes);
            return false;
        }
        part[k] = (size_t)to_fixnum(args[i + k]);
    }
    if (part[0] <= part[1])
        return true;
    scheme_fail(s, args[i], "a part that ends before it begins");
    return false;
}

static alq_value
string_new(struct scheme *s, size_t bytes)
{
    alq_value string = alq_alloc_string(s->d, bytes);

    return string == ALQ_NULL ? scheme_fail_memory(s) : string;
}

PRIM(make_string)
{
    char fill = ' ';
    alq_value string;

    if (!is_fixnum(args[0]) || to_fixnum(args[0]) < 0)
        return scheme_fail(s, args[0], "make-string: not a length");
    if (n == 2 && is_immediate(args[1], IMM_CHAR))
        fill = (char)immediate_of(args[1]);
    string = string_new(s, (size_t)to_fixnum(args[0]));
    if (string != ALQ_NULL)
        memset(alq_string_chars(string), fill, (size_t)to_fixnum(args[0]));
    return string;
}

PRIM(string_length)
{
    if (!are_strings(s, "string-length", args, n))
        return ALQ_NULL;
    return from_fixnum((int64_t)alq_string_bytes(args[0]));
}

static bool
is_string_index(struct scheme *s, alq_value *args)
{
    if (!are_strings(s, "string-ref", args, 1))
        return false;
    if (is_fixnum(args[1]) &&
        (uint64_t)to_fixnum(args[1]) < alq_string_bytes(args[0]))
        return true;
    scheme_fail(s, args[1], "no index of a string of %zu",
                alq_string_bytes(args[0]));
    return false;
}

PRIM(string_ref)
{
    if (!is_string_index(s, args))
        return ALQ_NULL;
    return IMMEDIATE(
        IMM_CHAR, (unsigned char)alq_string_chars(args[0])[to_fixnum(args[1])]);
}

PRIM(string_set)
{
    if (!is_string_index(s, args))
        return ALQ_NULL;
    if (!is_immediate(args[2], IMM_CHAR))
        return scheme_fail(s, args[2], "string-set!: not a character");
    alq_string_chars(args[0])[to_fixnum(args[1])] = (char)immediate_of(args[2]);
    return UNSPECIFIED;
}

PRIM(string_append)
{
    size_t bytes = 0, at = 0;
    alq_value string;
    unsigned i;

    if (!are_strings(s, "string-append", args, n))
        return ALQ_NULL;
    for (i = 0; i < n; i++)
        bytes += alq_string_bytes(args[i]);
    string = string_new(s, bytes);
    if (string == ALQ_NULL)
        return string;
    for (i = 0; i < n; i++) { /* args[i] as they are now */
        memcpy(alq_string_chars(string) + at, alq_string_chars(args[i]),
               alq_string_bytes(args[i]));
        at += alq_string_bytes(args[i]);
    }
    return string;
}

PRIM(substring)
{
    size_t part[2];
    alq_value string;

    if (!are_strings(s, "substring", args, 1) ||
        !part_of(s, args, n, 1, alq_string_bytes(args[0]), part))
        return ALQ_NULL;
    string = string_new(s, part[1] - part[0]);
    if (string != ALQ_NULL)
        memcpy(alq_string_chars(string), alq_string_chars(args[0]) + part[0],
               part[1] - part[0]);
    return string;
}

static int
compare(alq_value a, alq_value b)
{
    size_t m = alq_string_bytes(a), n = alq_string_bytes(b);
    int order = memcmp(alq_string_chars(a), alq_string_chars(b), m < n ? m : n);

    return order != 0 ? order : (m > n) - (m < n);
}

PRIM(string_is_equal)
{
    if (!are_strings(s, "string=?", args, n))
        return ALQ_NULL;
    return from_bool(compare(args[0], args[1]) == 0);
}

PRIM(string_is_less)
{
    if (!are_strings(s, "string<?", args, n))
        return ALQ_NULL;
    return from_bool(compare(args[0], args[1]) < 0);
}

/* The characters may move while the symbol is made: it gets a copy. */
PRIM(string_to_symbol)
{
    char *copy;
    size_t bytes;
    alq_value symbol;

    if (!are_strings(s, "string->symbol", args, n))
        return ALQ_NULL;
    bytes = alq_string_bytes(args[0]);
    copy = scheme_memory(s, NULL, bytes + 1);
    if (copy == NULL)
        return ALQ_NULL;
    memcpy(copy, alq_string_chars(args[0]), bytes);
    symbol = scheme_intern(s, copy, bytes);
    free(copy);
    return symbol;
}

PRIM(symbol_to_string)
{
    if (!is_tag(args[0], TAG_SYMBOL))
        return scheme_fail(s, args[0], "symbol->string: not a symbol");
    args[0] = alq_field(args[0], 0);
    return prim_substring(s, args, 1);
}

PRIM(string_to_list)
{
    size_t part[2];
    ALQ_FRAME(s->d, f, list);

    if (!are_strings(s, "string->list", args, 1) ||
        !part_of(s, args, n, 1, alq_string_bytes(args[0]), part))
        return ALQ_NULL;
    f.list = NIL;
    while (part[1]-- > part[0] && f.list != ALQ_NULL)
        f.list = scheme_cons(
            s,
            IMMEDIATE(IMM_CHAR,
                      (unsigned char)alq_string_chars(args[0])[part[1]]),
            f.list);
    return f.list;
}

PRIM(list_to_string)
{
    size_t bytes = 0;
    alq_value list, string;

    for (list = args[0]; is_pair(list); list = cdr(list), bytes++)
        if (!is_immediate(car(list), IMM_CHAR))
            return scheme_fail(s, car(list), "list->string: not a character");
    string = string_new(s, bytes);
    if (string == ALQ_NULL)
        return string;
    for (bytes = 0, list = args[0]; is_pair(list); list = cdr(list))
        alq_string_chars(string)[bytes++] = (char)immediate_of(car(list));
    return string;
}

/* ---- characters --------------------------------------------------------- */

#define CHAR_PRIM(name, result)                                                \
    PRIM(char_##name)                                                          \
    {                                                                          \
        int c = (int)immediate_of(args[0]);                                    \
        int other = (int)immediate_of(args[n - 1]);                            \
                                                                               \
        (void)other;                                                           \
        if (!is_immediate(args[0], IMM_CHAR) ||                                \
            !is_immediate(args[n - 1], IMM_CHAR))                              \
            return scheme_fail(s, args[0], "not a character");                 \
        return result;                                                         \
    }
CHAR_PRIM(to_integer, from_fixnum(c))
CHAR_PRIM(is_equal, from_bool(c == other))
CHAR_PRIM(is_less, from_bool(c < other))
CHAR_PRIM(is_alphabetic, from_bool(isalpha(c)))
CHAR_PRIM(is_numeric, from_bool(isdigit(c)))
CHAR_PRIM(is_whitespace, from_bool(isspace(c)))
CHAR_PRIM(upcase, IMMEDIATE(IMM_CHAR, toupper(c)))
CHAR_PRIM(downcase, IMMEDIATE(IMM_CHAR, tolower(c)))

PRIM(integer_to_char)
{
    if (!is_fixnum(args[0]) || (uint64_t)to_fixnum(args[0]) > 255)
        return scheme_fail(s, args[0], "integer->char: not from 0 to 255");
    return IMMEDIATE(IMM_CHAR, to_fixnum(args[0]));
}

static const struct prim prims[] = {
    {"make-string", prim_make_string, 1, 2, OP_NONE},
    {"string-length", prim_string_length, 1, 1, OP_NONE},
    {"string-ref", prim_string_ref, 2, 2, OP_NONE},
    {"string-set!", prim_string_set, 3, 3, OP_NONE},
    {"string-append", prim_string_append, 0, ANY, OP_NONE},
    {"substring", prim_substring, 2, 3, OP_NONE},
    {"string-copy", prim_substring, 1, 3, OP_NONE},
    {"string=?", prim_string_is_equal, 2, 2, OP_NONE},
    {"string<?", prim_string_is_less, 2, 2, OP_NONE},
    {"string->symbol", prim_string_to_symbol, 1, 1, OP_NONE},
    {"symbol->string", prim_symbol_to_string, 1, 1, OP_NONE},
    {"string->list", prim_string_to_list, 1, 3, OP_NONE},
    {"list->string", prim_list_to_string, 1, 1, OP_NONE},
    {"char->integer", prim_char_to_integer, 1, 1, OP_NONE},
    {"integer->char", prim_integer_to_char, 1, 1, OP_NONE},
    {"char=?", prim_char_is_equal, 2, 2, OP_NONE},
    {"char<?", prim_char_is_less, 2, 2, OP_NONE},
    {"char-alphabetic?", prim_char_is_alphabetic, 1, 1, OP_NONE},
    {"char-numeric?", prim_char_is_numeric, 1, 1, OP_NONE},
    {"char-whitespace?", prim_char_is_whitespace, 1, 1, OP_NONE},
    {"char-upcase", prim_char_upcase, 1, 1, OP_NONE},
    {"char-downcase", prim_char_downcase, 1, 1, OP_NONE},
};

void
text_start(struct scheme *s)
{
    scheme_prims_add(s, prims, sizeof prims / sizeof prims[0]);
}
