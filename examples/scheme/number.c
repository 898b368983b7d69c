/* number.c -- integers of 62 bits and doubles
 *
 * An integer that does not fit becomes a double: there are no big ones. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scheme.h"

bool
is_number(alq_value v)
{
    return is_fixnum(v) || is_tag(v, ALQ_TAG_DOUBLE);
}

double
to_double(alq_value number)
{
    return is_fixnum(number) ? (double)to_fixnum(number)
                             : alq_double(number, 0);
}

static alq_value
from_integer(struct scheme *s, int64_t n)
{
    return n >= FIXNUM_MIN && n <= FIXNUM_MAX ? from_fixnum(n)
                                              : scheme_double(s, (double)n);
}

/* Of digits alone, with a sign at most: is it an integer? */
static bool
is_digits(const char *text, int radix)
{
    const char *digits = "0123456789abcdef";

    if (*text == '+' || *text == '-')
        text++;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        const char *at = strchr(digits, *text | (*text >= 'A' ? 0x20 : 0));

        if (at == NULL || at - digits >= radix)
            return false;
    }
    return true;
}

/* What is written as a double: digits with a dot or an exponent.  strtod alone
 * would take "inf", "0x1p3" and "-". */
static bool
is_decimal(const char *text)
{
    return text[strspn(text, "+-.0123456789eE")] == '\0' &&
           strpbrk(text, "0123456789") != NULL && *text != 'e' && *text != 'E';
}

/* FALSE: the text is no number. */
alq_value
scheme_number(struct scheme *s, const char *text, int radix)
{
    char *end;
    double x;

    if (is_digits(text, radix)) {
        long long n;

        errno = 0;
        n = strtoll(text, &end, radix);
        if (errno == 0)
            return from_integer(s, n);
        if (radix != 10)
            return FALSE;
    }
    if (strcmp(text, "+inf.0") == 0 || strcmp(text, "-inf.0") == 0)
        return scheme_double(s, text[0] == '-' ? -INFINITY : INFINITY);
    if (strcmp(text, "+nan.0") == 0)
        return scheme_double(s, (double)NAN);
    if (radix != 10 || !is_decimal(text))
        return FALSE;
    x = strtod(text, &end);
    return *end == '\0' ? scheme_double(s, x) : FALSE;
}

/* ---- arithmetic --------------------------------------------------------- */

static alq_value
no_number(struct scheme *s, const char *name, alq_value a, alq_value b)
{
    return scheme_fail(s, is_number(a) ? b : a, "%s: not a number", name);
}

alq_value
scheme_arith(struct scheme *s, int op, alq_value a, alq_value b)
{
    int64_t n;
    double x, y;

    if (!is_number(a) || !is_number(b))
        return no_number(s, (char[]){(char)op, 0}, a, b);
    if (is_fixnum(a) && is_fixnum(b)) {
        int64_t i = to_fixnum(a), j = to_fixnum(b);

        if (op == '+')
            return from_integer(s, i + j);
        if (op == '-')
            return from_integer(s, i - j);
        if (!__builtin_mul_overflow(i, j, &n))
            return from_integer(s, n);
    }
    x = to_double(a);
    y = to_double(b);
    return scheme_double(s, op == '+' ? x + y : op == '-' ? x - y : x * y);
}

int
scheme_compare(struct scheme *s, int op, alq_value a, alq_value b)
{
    double x, y;

    if (!is_number(a) || !is_number(b)) {
        no_number(s, op == 'l' ? "<=" : (char[]){(char)op, 0}, a, b);
        return -1;
    }
    if (is_fixnum(a) && is_fixnum(b)) {
        int64_t i = to_fixnum(a), j = to_fixnum(b);

        return op == '<' ? i < j : op == 'l' ? i <= j : i == j;
    }
    x = to_double(a);
    y = to_double(b);
    return op == '<' ? x < y : op == 'l' ? x <= y : x == y;
}

static alq_value
fold(struct scheme *s, int op, alq_value *args, unsigned n)
{
    unsigned i;

    if (n == 1 && op == '-')
        return scheme_arith(s, op, from_fixnum(0), args[0]);
    if (n == 0)
        return from_fixnum(op == '*');
    if (n == 1)
        return scheme_arith(s, op, args[0], from_fixnum(op == '*'));
    for (i = 1; i < n; i++) {
        args[0] = scheme_arith(s, op, args[0], args[i]);
        if (args[0] == ALQ_NULL) {
            args[0] = FALSE; /* stays a root */
            return ALQ_NULL;
        }
    }
    return args[0];
}

PRIM(add)
{
    return fold(s, '+', args, n);
}

PRIM(sub)
{
    return fold(s, '-', args, n);
}

PRIM(mul)
{
    return fold(s, '*', args, n);
}

PRIM(div)
{
    alq_value a = n == 1 ? from_fixnum(1) : args[0], b = args[n - 1];

    if (!is_number(a) || !is_number(b))
        return no_number(s, "/", a, b);
    if (is_fixnum(b) && to_fixnum(b) == 0)
        return scheme_fail(s, a, "/: division by zero of");
    if (is_fixnum(a) && is_fixnum(b) && to_fixnum(a) % to_fixnum(b) == 0)
        return from_integer(s, to_fixnum(a) / to_fixnum(b));
    return scheme_double(s, to_double(a) / to_double(b));
}

/* ---- comparison --------------------------------------------------------- */

/* Of all neighbours. */
static alq_value
chain(struct scheme *s, int op, bool is_swapped, alq_value *args, unsigned n)
{
    unsigned i;

    for (i = 0; i + 1 < n; i++) {
        int is =
            scheme_compare(s, op, args[i + is_swapped], args[i + !is_swapped]);

        if (is <= 0)
            return is < 0 ? ALQ_NULL : FALSE;
    }
    return TRUE;
}

PRIM(less)
{
    return chain(s, '<', false, args, n);
}

PRIM(more)
{
    return chain(s, '<', true, args, n);
}

PRIM(at_most)
{
    return chain(s, 'l', false, args, n);
}

PRIM(at_least)
{
    return chain(s, 'l', true, args, n);
}

PRIM(equal)
{
    return chain(s, '=', false, args, n);
}

/* ---- integers ----------------------------------------------------------- */

/* Doubles that are whole numbers count, too, and give doubles. */
static alq_value
divide(struct scheme *s, const char *name, int what, alq_value *args)
{
    double x, y, r;

    if (!is_number(args[0]) || !is_number(args[1]))
        return no_number(s, name, args[0], args[1]);
    y = to_double(args[1]);
    if (!(y < 0 || y > 0))
        return scheme_fail(s, args[0], "%s: division by zero of", name);
    if (is_fixnum(args[0]) && is_fixnum(args[1])) {
        int64_t a = to_fixnum(args[0]), b = to_fixnum(args[1]);
        int64_t rest = a % b;

        if (what == 'q')
            return from_integer(s, a / b);
        if (what == 'm' && rest != 0 && (rest < 0) != (b < 0))
            rest += b;
        return from_fixnum(rest);
    }
    x = to_double(args[0]);
    if (floor(x) < x || floor(y) < y)
        return scheme_fail(s, floor(x) < x ? args[0] : args[1],
                           "%s: not a whole number", name);
    r = fmod(x, y);
    if (what == 'q')
        return scheme_double(s, trunc(x / y));
    if (what == 'm' && (r < 0 || r > 0) && (r < 0) != (y < 0))
        r += y;
    return scheme_double(s, r);
}

PRIM(quotient)
{
    return divide(s, "quotient", 'q', args);
}

PRIM(remainder)
{
    return divide(s, "remainder", 'r', args);
}

PRIM(modulo)
{
    return divide(s, "modulo", 'm', args);
}

PRIM(bitwise_and)
{
    if (!is_fixnum(args[0]) || !is_fixnum(args[1]))
        return no_number(s, "bitwise-and", args[0], args[1]);
    return args[0] & args[1];
}

PRIM(bitwise_xor)
{
    if (!is_fixnum(args[0]) || !is_fixnum(args[1]))
        return no_number(s, "bitwise-xor", args[0], args[1]);
    return (args[0] ^ args[1]) | 1;
}

/* ---- functions of doubles ----------------------------------------------- */

/* A whole result is an integer when `to_integer` says so and it fits. */
static alq_value
map_double(struct scheme *s, alq_value *args, double (*f)(double),
           bool to_integer)
{
    double x;

    if (!is_number(args[0]))
        return scheme_fail(s, args[0], "not a number");
    x = f(to_double(args[0]));
    if (to_integer && is_fixnum(args[0]) && floor(x) >= x && fabs(x) < 1e18)
        return from_fixnum((int64_t)x);
    return scheme_double(s, x);
}

/* For integers the result is exact where it is whole. */
#define DOUBLE_PRIM(name, f, to_integer)                                       \
    PRIM(name)                                                                 \
    {                                                                          \
        return map_double(s, args, f, to_integer);                             \
    }
DOUBLE_PRIM(sqrt, sqrt, true)
DOUBLE_PRIM(exp, exp, false)
DOUBLE_PRIM(log, log, false)
DOUBLE_PRIM(sin, sin, false)
DOUBLE_PRIM(cos, cos, false)
DOUBLE_PRIM(floor, floor, true)
DOUBLE_PRIM(ceiling, ceil, true)
DOUBLE_PRIM(truncate, trunc, true)
DOUBLE_PRIM(round, rint, true)

PRIM(atan)
{
    if (n == 1)
        return map_double(s, args, atan, false);
    if (!is_number(args[0]) || !is_number(args[1]))
        return no_number(s, "atan", args[0], args[1]);
    return scheme_double(s, atan2(to_double(args[0]), to_double(args[1])));
}

PRIM(inexact)
{
    if (!is_number(args[0]))
        return scheme_fail(s, args[0], "inexact: not a number");
    return scheme_double(s, to_double(args[0]));
}

PRIM(exact)
{
    double x;

    if (is_fixnum(args[0]))
        return args[0];
    x = is_number(args[0]) ? to_double(args[0]) : (double)NAN;
    if (!(fabs(x) < (double)FIXNUM_MAX) || floor(x) < x)
        return scheme_fail(s, args[0], "exact: there is no such integer");
    return from_fixnum((int64_t)x);
}

/* ---- kinds and texts ---------------------------------------------------- */

PRIM(is_number)
{
    return from_bool(is_number(args[0]));
}

PRIM(is_integer)
{
    return from_bool(is_fixnum(args[0]) ||
                     (is_number(args[0]) && isfinite(to_double(args[0])) &&
                      floor(to_double(args[0])) >= to_double(args[0])));
}

PRIM(is_exact)
{
    return from_bool(is_fixnum(args[0]));
}

PRIM(number_to_string)
{
    char text[80];
    struct port port = {.line = 1};
    alq_value string;
    int64_t radix = n == 2 && is_fixnum(args[1]) ? to_fixnum(args[1]) : 10;

    if (!is_number(args[0]))
        return scheme_fail(s, args[0], "number->string: not a number");
    if (is_fixnum(args[0]) && radix >= 2 && radix <= 16) {
        uint64_t rest = (uint64_t)llabs(to_fixnum(args[0]));
        char *at = text + sizeof text;

        do {
            *--at = "0123456789abcdef"[rest % (uint64_t)radix];
            rest /= (uint64_t)radix;
        } while (rest > 0);
        if (to_fixnum(args[0]) < 0)
            *--at = '-';
        return scheme_string(s, at, (size_t)(text + sizeof text - at));
    }
    scheme_write(&port, args[0], false);
    string = scheme_string(s, port.bytes, port.n_bytes);
    free(port.bytes);
    return string;
}

PRIM(string_to_number)
{
    char text[400];
    int radix = n == 2 && is_fixnum(args[1]) ? (int)to_fixnum(args[1]) : 10;

    if (!is_string(args[0]) || radix < 2 || radix > 16)
        return scheme_fail(s, args[0], "string->number: not a string");
    if (alq_string_bytes(args[0]) >= sizeof text)
        return FALSE;
    memcpy(text, alq_string_chars(args[0]), alq_string_bytes(args[0]) + 1);
    return scheme_number(s, text, radix);
}

static const struct prim prims[] = {
    {"+", prim_add, 0, ANY, OP_ADD},
    {"-", prim_sub, 1, ANY, OP_SUB},
    {"*", prim_mul, 0, ANY, OP_MUL},
    {"/", prim_div, 1, 2, OP_NONE},
    {"<", prim_less, 1, ANY, OP_IF_LESS},
    {">", prim_more, 1, ANY, OP_IF_MORE_INT},
    {"<=", prim_at_most, 1, ANY, OP_IF_AT_MOST},
    {">=", prim_at_least, 1, ANY, OP_IF_AT_LEAST_INT},
    {"=", prim_equal, 1, ANY, OP_IF_EQUAL},
    {"quotient", prim_quotient, 2, 2, OP_NONE},
    {"remainder", prim_remainder, 2, 2, OP_NONE},
    {"modulo", prim_modulo, 2, 2, OP_NONE},
    {"bitwise-and", prim_bitwise_and, 2, 2, OP_NONE},
    {"bitwise-xor", prim_bitwise_xor, 2, 2, OP_NONE},
    {"sqrt", prim_sqrt, 1, 1, OP_NONE},
    {"exp", prim_exp, 1, 1, OP_NONE},
    {"log", prim_log, 1, 1, OP_NONE},
    {"sin", prim_sin, 1, 1, OP_NONE},
    {"cos", prim_cos, 1, 1, OP_NONE},
    {"atan", prim_atan, 1, 2, OP_NONE},
    {"floor", prim_floor, 1, 1, OP_NONE},
    {"ceiling", prim_ceiling, 1, 1, OP_NONE},
    {"truncate", prim_truncate, 1, 1, OP_NONE},
    {"round", prim_round, 1, 1, OP_NONE},
    {"inexact", prim_inexact, 1, 1, OP_NONE},
    {"exact->inexact", prim_inexact, 1, 1, OP_NONE},
    {"exact", prim_exact, 1, 1, OP_NONE},
    {"inexact->exact", prim_exact, 1, 1, OP_NONE},
    {"number?", prim_is_number, 1, 1, OP_NONE},
    {"real?", prim_is_number, 1, 1, OP_NONE},
    {"integer?", prim_is_integer, 1, 1, OP_NONE},
    {"exact?", prim_is_exact, 1, 1, OP_NONE},
    {"number->string", prim_number_to_string, 1, 2, OP_NONE},
    {"string->number", prim_string_to_number, 1, 2, OP_NONE},
};

void
number_start(struct scheme *s)
{
    scheme_prims_add(s, prims, sizeof prims / sizeof prims[0]);
}
