/* cxxname.c -- demangled names of C++ and Rust, cut to what tells them apart
 *
 * Parameters, return type and a trailing " const" are left out by counting
 * brackets from the end.  The rest is copied by put_span(), which calls itself
 * for each template argument and leaves out what std supplies.  A name whose
 * brackets do not match is no C++ and is returned whole.
 *
 * .inv.end  The end of a name is there, however little room there is: what is
 *           too long loses its middle. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "view/cxxname.h"

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
 * brackets, before no "operator" and no "const" of an enclosing function. */
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
        else if (depth == 0 && s[i] == ' ' && i + 1 < end &&
                 strncmp(s + i, " const::", 8) != 0)
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

/* Whether template arguments open at i. "operator<" and "operator<<" hold
 * brackets that open nothing, and so do "f.<locals>" of Python and gcc's
 * "<lambda(int)>". */
static bool
arguments_open(const char *s, size_t i)
{
    return s[i] == '<' && i > 0 && s[i - 1] != '.' &&
           strncmp(s + i, "<lambda(", 8) != 0 && !ends_with(s, i, "operator") &&
           !ends_with(s, i, "operator<");
}

/* Position behind the template arguments that open at i, 0 when none do or
 * nothing closes them before end. "->" closes nothing, nor what stands in round
 * brackets. */
static size_t
arguments_end(const char *s, size_t i, size_t end)
{
    int depth = 0, round = 0;

    if (!arguments_open(s, i))
        return 0;
    for (; i < end; i++) {
        if (s[i] == '(')
            round++;
        else if (s[i] == ')')
            round--;
        else if (round == 0 && s[i] == '<')
            depth++;
        else if (round == 0 && s[i] == '>' && s[i - 1] != '-' && --depth == 0)
            return i + 1;
    }
    return 0;
}

void
alqi_view_cxxname_bare(char *out, size_t capacity, const char *function)
{
    size_t begin, end;

    span(function, &begin, &end);
    snprintf(out, capacity, "%.*s", (int)(end - begin), function + begin);
}

/* ---- what is left out ------------------------------------------------- */

enum { HASH_DIGITS = 16, MARK_BYTES = 32, DEPTH_MOST = 8 };

struct writer {
    /* NUL-terminated when it is read */
    char *out;
    size_t used, capacity;
    /* template arguments that stand in so many others are written <...> */
    int depth_most;
    /* the deepest that there were */
    int deepest;
    /* brackets did not match, or the room was too small */
    bool has_failed;
};

/* A range of bytes in a name. */
struct piece {
    const char *text;
    size_t n;
};

static void
put(struct writer *w, const char *text, size_t n)
{
    if (n >= w->capacity - w->used) {
        w->has_failed = true;
        return;
    }
    memcpy(w->out + w->used, text, n);
    w->used += n;
}

static bool
is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

/* Whether the first n bytes of text begin with head. */
static size_t
begins_with(const char *text, size_t n, const char *head)
{
    size_t k = strlen(head);

    return n >= k && memcmp(text, head, k) == 0 ? k : 0;
}

static bool
is_hash(const char *text, size_t n)
{
    return n >= HASH_DIGITS && strspn(text, "0123456789abcdef") >= HASH_DIGITS;
}

/* The name without Rust's "::h" and 16 digits at its end. */
static size_t
without_hash(const char *s, size_t begin, size_t end)
{
    size_t n = HASH_DIGITS + 3;

    return end - begin > n && memcmp(s + end - n, "::h", 3) == 0 &&
                   is_hash(s + end - HASH_DIGITS, HASH_DIGITS)
               ? end - n
               : end;
}

/* Bytes of an inline namespace of a C++ library at i, 0 if there is none. */
static size_t
inline_bytes(const char *s, size_t i, size_t end)
{
    static const char *const names[] = {
        "__cxx11::", "__1::", "__ndk1::", "__8::", "_V2::"};
    size_t n = 0;

    if (!ends_with(s, i, "::"))
        return 0;
    for (size_t k = 0; k < ALQI_COUNT_OF(names) && n == 0; k++)
        n = begins_with(s + i, end - i, names[k]);
    return n;
}

/* Bytes of a mark behind a name: "[abi:cxx11]", and the hash of a crate,
 * "[0123456789abcdef]". */
static size_t
mark_bytes(const char *s, size_t i, size_t end)
{
    const char *close;

    if (s[i] != '[' || i == 0 || !is_of_name(s[i - 1]))
        return 0;
    close = memchr(s + i, ']', end - i < MARK_BYTES ? end - i : MARK_BYTES);
    if (close == NULL)
        return 0;
    if (begins_with(s + i, end - i, "[abi:") == 0 &&
        (close != s + i + 1 + HASH_DIGITS || !is_hash(s + i + 1, end - i - 1)))
        return 0;
    return (size_t)(close - s) + 1 - i;
}

/* Position behind the round bracket that closes the one at i; end if none
 * does. */
static size_t
round_end(const char *s, size_t i, size_t end)
{
    int depth = 0;

    for (; i < end; i++) {
        if (s[i] == '(')
            depth++;
        else if (s[i] == ')' && --depth == 0)
            return i + 1;
    }
    return end;
}

/* Bytes of the parameters at i of what encloses the rest: of a function in
 * whose name a class or a lambda stands, or of the lambda. What is in brackets
 * up to *seen was looked at before. */
static size_t
parameter_bytes(const char *s, size_t i, size_t end, size_t *seen)
{
    size_t behind;

    if (s[i] != '(' || i == 0 || i < *seen || ends_with(s, i, "operator") ||
        (!is_of_name(s[i - 1]) && strchr(">'", s[i - 1]) == NULL))
        return 0;
    behind = *seen = round_end(s, i, end);
    if (begins_with(s + behind, end - behind, " const::") != 0)
        return behind - i + strlen(" const");
    return begins_with(s + behind, end - behind, "::") != 0 ||
                   ends_with(s, i, "lambda")
               ? behind - i
               : 0;
}

/* ---- template arguments ----------------------------------------------- */

/* Templates of std, with the number of arguments that have no default. */
static const struct {
    const char *name;
    int n;
} templates[] = {
    {"vector", 1},
    {"list", 1},
    {"forward_list", 1},
    {"deque", 1},
    {"set", 1},
    {"multiset", 1},
    {"unordered_set", 1},
    {"unique_ptr", 1},
    {"unordered_multiset", 1},
    {"map", 2},
    {"multimap", 2},
    {"unordered_map", 2},
    {"promise", 1},
    {"unordered_multimap", 2},
};

/* How many arguments of the template whose name ends at n have no default;
 * INT_MAX unless it is one of std. */
static int
n_needed(const char *s, size_t n)
{
    size_t at = n, space;

    while (at > 0 && is_of_name(s[at - 1]))
        at--;
    for (space = at;
         space > 0 && (is_of_name(s[space - 1]) || s[space - 1] == ':');)
        space--;
    if (begins_with(s + space, at - space, "std::") == 0)
        return INT_MAX;
    if (begins_with(s + at, n - at, "basic_") != 0)
        return 1;
    for (size_t k = 0; k < ALQI_COUNT_OF(templates); k++)
        if (begins_with(s + at, n - at, templates[k].name) == n - at)
            return templates[k].n;
    return INT_MAX;
}

/* Whether std supplies the argument to a template of which `first` is the
 * first: an allocator, or what its name says of the first. */
static bool
is_default(struct piece p, struct piece first)
{
    static const char *const heads[] = {"char_traits<", "less<", "hash<",
                                        "equal_to<", "default_delete<"};
    size_t n = begins_with(p.text, p.n, "std::");

    n += inline_bytes(p.text, n, p.n);
    p.text += n;
    p.n -= n;
    if (n == 0 || p.n == 0 || p.text[p.n - 1] != '>')
        return false;
    if (begins_with(p.text, p.n, "allocator<") != 0)
        return true;
    for (size_t k = 0; k < ALQI_COUNT_OF(heads); k++) {
        n = begins_with(p.text, p.n, heads[k]);
        if (n != 0 && p.n - n > first.n)
            return memcmp(p.text + n, first.text, first.n) == 0 &&
                   strspn(p.text + n + first.n, " >") >= p.n - n - first.n;
    }
    return false;
}

/* The next argument of those that end at `end`, without blanks around it, and
 * *at behind its comma. */
static struct piece
argument_next(const char *s, size_t *at, size_t end)
{
    size_t i = *at, begin;
    int depth = 0;

    while (i < end && s[i] == ' ')
        i++;
    begin = i;
    for (; i < end && (depth != 0 || s[i] != ','); i++) {
        if (strchr("<({[", s[i]) != NULL)
            depth++;
        else if (strchr(">)}]", s[i]) != NULL && (i == 0 || s[i - 1] != '-'))
            depth--;
    }
    *at = i + 1;
    while (i > begin && s[i - 1] == ' ')
        i--;
    return (struct piece){s + begin, i - begin};
}

/* Bytes of the arguments up to the last one that std does not supply. */
static size_t
arguments_kept(const char *s, size_t n, int needed)
{
    struct piece first = {NULL, 0};
    size_t kept = 0;
    int k = 0;

    for (size_t at = 0; at < n; k++) {
        struct piece p = argument_next(s, &at, n);

        if (k == 0)
            first = p;
        if (k < needed || !is_default(p, first))
            kept = (size_t)(p.text - s) + p.n;
    }
    return kept;
}

/* Writes std::string where std::basic_string<char> would be, and so on. True:
 * it has. */
static bool
put_basic(struct writer *w, const char *s, size_t n)
{
    static const char head[] = "basic_";
    size_t at = w->used;
    bool is_wide = n == strlen("wchar_t") && memcmp(s, "wchar_t", n) == 0;

    while (at > 0 && is_of_name(w->out[at - 1]))
        at--;
    if (begins_with(w->out + at, w->used - at, head) == 0 ||
        (!is_wide && (n != strlen("char") || memcmp(s, "char", n) != 0)))
        return false;
    n = strlen(head) - is_wide;
    memmove(w->out + at + is_wide, w->out + at + strlen(head),
            w->used - at - strlen(head));
    if (is_wide)
        w->out[at] = 'w';
    w->used -= n;
    return true;
}

static void put_span(struct writer *w, struct piece p, int depth);

/* Writes the arguments s[begin..end), brackets included. */
static void
put_arguments(struct writer *w, const char *s, size_t begin, size_t end,
              int depth)
{
    int needed = n_needed(s, begin);
    const char *inside = s + begin + 1;
    size_t n = arguments_kept(inside, end - begin - 2, needed);

    if (needed == 1 && put_basic(w, inside, n))
        return;
    if (depth > w->deepest)
        w->deepest = depth;
    if (depth >= w->depth_most) {
        put(w, "<…>", strlen("<…>"));
        return;
    }
    put(w, "<", 1);
    for (size_t at = 0; at < n;) {
        if (at > 0)
            put(w, ", ", 2);
        put_span(w, argument_next(inside, &at, n), depth + 1);
    }
    put(w, ">", 1);
}

/* Writes a name, or an argument inside of so many. Where arguments are not
 * closed the rest is no C++, and is not searched again and again. */
static void
put_span(struct writer *w, struct piece p, int depth)
{
    const char *s = p.text;
    size_t i = 0, seen = 0, left_out;
    bool is_odd = false;

    while (i < p.n && !w->has_failed) {
        size_t behind = is_odd ? 0 : arguments_end(s, i, p.n);

        left_out = inline_bytes(s, i, p.n) + mark_bytes(s, i, p.n) +
                   parameter_bytes(s, i, p.n, &seen);
        is_odd = is_odd || (behind == 0 && arguments_open(s, i));
        if (behind != 0)
            put_arguments(w, s, i, behind, depth);
        else if (left_out == 0)
            put(w, s + i, 1);
        i = behind != 0 ? behind : i + (left_out != 0 ? left_out : 1);
    }
}

/* ---- long names ------------------------------------------------------- */

/* The number of bytes up to n that end a letter of UTF-8. */
static size_t
whole_letters(const char *text, size_t n)
{
    while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
        n--;
    return n;
}

/* The text with a mark in its middle if it does not fit. */
static void
copy_ends(char *out, size_t capacity, const char *text, size_t n)
{
    size_t room = capacity - 1 - strlen("…"), head, tail;

    if (n < capacity || capacity <= 2 * sizeof "…") {
        snprintf(out, capacity, "%.*s", (int)n, text);
        return;
    }
    head = whole_letters(text, room / 2);
    for (tail = n - (room - head); ((unsigned char)text[tail] & 0xC0) == 0x80;)
        tail++;
    snprintf(out, capacity, "%.*s…%.*s", (int)head, text, (int)(n - tail),
             text + tail);
}

static size_t
columns_of(const char *text, size_t n)
{
    size_t columns = 0;

    for (size_t i = 0; i < n; i++)
        columns += ((unsigned char)text[i] & 0xC0) != 0x80;
    return columns;
}

/* Inner arguments are cut before outer ones: as many as there is room for stay,
 * since they tell instances apart. */
void
alqi_view_cxxname_shorten(char *out, size_t capacity, const char *function,
                          size_t columns)
{
    struct writer w = {.out = out, .capacity = capacity};
    size_t begin, end;

    span(function, &begin, &end);
    end = without_hash(function, begin, end);
    for (int depth = DEPTH_MOST; depth >= 0; depth = w.depth_most - 1) {
        w.used = 0;
        w.has_failed = false;
        w.deepest = -1;
        w.depth_most = depth;
        put_span(&w, (struct piece){function + begin, end - begin}, 0);
        if (w.deepest < depth)
            w.depth_most = w.deepest < 0 ? 0 : w.deepest + 1;
        if (!w.has_failed && columns_of(out, w.used) <= columns)
            break;
    }
    out[w.used] = '\0';
    if (w.has_failed)
        copy_ends(out, capacity, function + begin, end - begin);
}

/* ---- what users never call -------------------------------------------- */

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
alqi_view_cxxname_is_internal(const char *function)
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
