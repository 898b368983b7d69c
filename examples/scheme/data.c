/* data.c -- what is built in: pairs, vectors, strings, numbers
 *
 * Integers have 62 bits.  One that does not fit becomes a double: there are no
 * big ones. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scheme.h"

/* ---- pairs and vectors -------------------------------------------------- */

alq_value
cons(struct scheme *s, unsigned tag, alq_value head, alq_value tail,
     alq_value number)
{
    alq_value block;
    ALQ_FRAME(s->d, f, head, tail); /* two roots, until the scope ends */

    f.head = head;
    f.tail = tail; /* the next line may move what both point to */
    block = alq_alloc_small(s->d, alq_is_null(number) ? 2 : 3, tag);
    made(s, block);
    alq_init_small(block, 0, f.head);
    alq_init_small(block, 1, f.tail);
    if (!alq_is_null(number))
        alq_init_small(block, 2, number);
    return block;
}

/* `slow` goes half as fast and is met where the list is a ring. */
int64_t
list_length(alq_value list)
{
    alq_value slow = list;
    int64_t n = 0;

    for (; is_pair(list) && (n == 0 || !alq_is_same(list, slow)); n++) {
        list = cdr(list);
        slow = (n & 1) != 0 ? cdr(slow) : slow;
    }
    return is_nil(list) ? n : -1;
}

VALUE_PRIM(macro, "%macro", "f", cons(s, TAG_MACRO, args[0], NIL, ALQ_NULL))

/* set-car!, set-cdr! */
PRIM(set_pair, "set-car! set-cdr!", "pa")
{
    alq_store(s->d, args[0], self->name[5] == 'd', args[1]);
    return UNSPECIFIED;
}

/* items: on the machine's stack, or integers. */
alq_value
list_of(struct scheme *s, const alq_value *items, unsigned n)
{
    ALQ_FRAME(s->d, f, list);

    for (f.list = NIL; n > 0; n--)
        f.list = PAIR(s, items[n - 1], f.list);
    return f.list;
}

VALUE_PRIM(list, "list", "*", list_of(s, args, n))

VALUE_PRIM(length, "length", "l", from_fixnum(list_length(args[0])))

/* A copy of the list args[0] in front of args[1].  The frame's values are read
 * from it again after each allocation. */
static alq_value
append_two(struct scheme *s, alq_value *args)
{
    ALQ_FRAME(s->d, f, first, last, pair);

    f.first = args[1];
    for (; is_pair(args[0]); args[0] = cdr(args[0])) {
        f.pair = PAIR(s, car(args[0]), args[1]);
        if (alq_is_null(f.last))
            f.first = f.pair;
        else
            alq_store(s->d, f.last, 1, f.pair);
        f.last = f.pair;
    }
    if (!is_nil(args[0]))
        fail(s, args[0], "append: not a list");
    return f.first;
}

PRIM(append, "append", "*")
{
    for (; n > 1; n--)
        args[n - 2] = append_two(s, args + n - 2);
    return n == 0 ? NIL : args[0];
}

alq_value
vector_new(struct scheme *s, int64_t size, const alq_value *from, int step)
{
    alq_value v;
    int64_t i;

    if (size < 0)
        fail(s, from_fixnum(size), "make-vector: not a length");
    v = made(s, alq_alloc(s->d, (uintptr_t)size, TAG_VECTOR));
    for (i = 0; i < size; i++, from += step)
        alq_init(s->d, v, (uintptr_t)i, *from); /* the block may be old */
    return v;
}

VALUE_PRIM(vector, "vector", "*", vector_new(s, n, args, 1))
VALUE_PRIM(make_vector, "make-vector", "iA",
           vector_new(s, to_fixnum(args[0]),
                      n > 1 ? &args[1] : (alq_value[]){FALSE}, 0))

static uintptr_t
need_index(struct scheme *s, alq_value i, uintptr_t size, const char *of)
{
    if (!is_fixnum(i) || (uint64_t)to_fixnum(i) >= size)
        fail(s, i, "no index of a %s of %zu", of, size);
    return (uintptr_t)to_fixnum(i);
}

uintptr_t
vector_index(struct scheme *s, alq_value vector, alq_value i)
{
    if (!is_tag(vector, TAG_VECTOR))
        fail(s, vector, "not a vector");
    return need_index(s, i, alq_wosize(vector), "vector");
}

VALUE_PRIM(vector_length, "vector-length", "v",
           from_fixnum((int64_t)alq_wosize(args[0])))

/* ---- strings ------------------------------------------------------------ */

alq_value
text(struct scheme *s, const char *chars)
{
    return made(s, alq_string_copy(s->d, chars, strlen(chars)));
}

PRIM(make_string, "make-string", "iC")
{
    int64_t bytes = to_fixnum(args[0]);
    alq_value string;

    if (bytes < 0)
        fail(s, args[0], "make-string: not a length");
    string = made(s, alq_alloc_string(s->d, (size_t)bytes));
    memset(alq_string_chars(string), n > 1 ? (int)immediate_of(args[1]) : ' ',
           (size_t)bytes);
    return string;
}

VALUE_PRIM(string_length, "string-length", "s",
           from_fixnum((int64_t)alq_string_bytes(args[0])))

PRIM(string_ref, "string-ref", "sa")
{
    size_t i = need_index(s, args[1], alq_string_bytes(args[0]), "string");

    return IMMEDIATE(IMM_CHAR, (unsigned char)alq_string_chars(args[0])[i]);
}

PRIM(substring, "substring", "sii")
{
    int64_t from = to_fixnum(args[1]), to = to_fixnum(args[2]);
    alq_value string;

    if (from < 0 || from > to || to > (int64_t)alq_string_bytes(args[0]))
        fail(s, args[0], "substring: not from %lld to %lld of", (long long)from,
             (long long)to);
    string = made(s, alq_alloc_string(s->d, (size_t)(to - from)));
    memcpy(alq_string_chars(string), alq_string_chars(args[0]) + from,
           (size_t)(to - from));
    return string;
}

PRIM(string_append, "string-append", "*")
{
    size_t bytes = 0, at = 0;
    alq_value string;
    unsigned i;

    for (i = 0; i < n; i++) {
        if (!is_tag(args[i], ALQ_TAG_STRING))
            fail(s, args[i], "string-append: not a string");
        bytes += alq_string_bytes(args[i]);
    }
    string = made(s, alq_alloc_string(s->d, bytes));
    for (i = 0; i < n; at += alq_string_bytes(args[i++]))
        memcpy(alq_string_chars(string) + at, alq_string_chars(args[i]),
               alq_string_bytes(args[i]));
    return string;
}

PRIM(string_to_list, "string->list", "s")
{
    size_t i;
    ALQ_FRAME(s->d, f, list);

    f.list = NIL;
    for (i = alq_string_bytes(args[0]); i > 0; i--) {
        unsigned char c = (unsigned char)alq_string_chars(args[0])[i - 1];

        f.list = PAIR(s, IMMEDIATE(IMM_CHAR, c), f.list);
    }
    return f.list;
}

alq_value
string_of(struct scheme *s, const alq_value *chars, size_t n)
{
    alq_value string = made(s, alq_alloc_string(s->d, n));
    size_t i;

    for (i = 0; i < n; i++) {
        if (!is_immediate(chars[i], IMM_CHAR))
            fail(s, chars[i], "string: not a character");
        alq_string_chars(string)[i] = (char)immediate_of(chars[i]);
    }
    return string;
}

VALUE_PRIM(string, "string", "*", string_of(s, args, n))
VALUE_PRIM(symbol_to_string, "symbol->string", "y",
           text(s, name_of(immediate_of(args[0]))))
VALUE_PRIM(string_to_symbol, "string->symbol", "s",
           intern(s, alq_string_chars(args[0]), alq_string_bytes(args[0])))
VALUE_PRIM(char_to_integer, "char->integer", "c",
           from_fixnum(immediate_of(args[0])))

PRIM(integer_to_char, "integer->char", "i")
{
    if (to_fixnum(args[0]) < 0 || to_fixnum(args[0]) > 255)
        fail(s, args[0], "integer->char: not from 0 to 255");
    return IMMEDIATE(IMM_CHAR, to_fixnum(args[0]));
}

/* ---- kinds, equality and hashes ----------------------------------------- */

VALUE_PRIM(is, "%is?", "ac",
           from_bool(is_kind(args[0], (int)immediate_of(args[1]))))

static bool
is_eqv(alq_value a, alq_value b)
{
    return alq_is_same(a, b) ||
           (is_tag(a, ALQ_TAG_DOUBLE) && is_tag(b, ALQ_TAG_DOUBLE) &&
            alq_is_same(alq_field(a, 0), alq_field(b, 0)));
}

/* Along lists it loops; a loop over data polls, and so it has a frame. */
static bool
is_equal(struct scheme *s, alq_value a, alq_value b, unsigned depth)
{
    ALQ_FRAME(s->d, f, a, b);

    for (f.a = a, f.b = b;; f.a = cdr(f.a), f.b = cdr(f.b)) {
        uintptr_t i, n = alq_is_int(f.a) ? 0 : alq_wosize(f.a);

        if (is_eqv(f.a, f.b))
            return true;
        if (alq_is_int(f.a) || !is_tag(f.b, alq_tag(f.a)) ||
            (!is_pair(f.a) && alq_wosize(f.b) != n))
            return false;
        if (is_tag(f.a, ALQ_TAG_STRING))
            return memcmp(alq_string_chars(f.a), alq_string_chars(f.b),
                          n * ALQ_WORD_BYTES) == 0;
        if (!is_pair(f.a) && !is_tag(f.a, TAG_VECTOR))
            return false;
        poll_here(s);
        if (depth == DEPTH_MAX)
            fail(s, ALQ_NULL, "equal?: data nested too deep");
        n = is_pair(f.a) ? 1 : n;
        for (i = 0; i < n; i++)
            if (!is_equal(s, alq_field(f.a, i), alq_field(f.b, i), depth + 1))
                return false;
        if (!is_pair(f.a))
            return true;
    }
}

VALUE_PRIM(eqv, "eqv?", "aa", from_bool(is_eqv(args[0], args[1])))
VALUE_PRIM(equal, "equal?", "aa", from_bool(is_equal(s, args[0], args[1], 0)))

#define HASH_FACTOR 0x9E3779B97F4A7C15U

/* Of what a value holds: its address would change when it moves. */
static uint64_t
hash(alq_value v, unsigned depth)
{
    uint64_t h = alq_is_int(v) ? alq_bits(v) * HASH_FACTOR : 1;
    uintptr_t i, n = 0;

    if (is_tag(v, TAG_PAIR) || is_tag(v, TAG_VECTOR))
        n = depth > 3 ? 0 : alq_wosize(v) < 2 ? alq_wosize(v) : 2;
    else if (is_tag(v, ALQ_TAG_STRING) || is_tag(v, ALQ_TAG_DOUBLE))
        n = alq_wosize(v);
    for (i = 0; i < n; i++) {
        h ^= alq_tag(v) < ALQ_TAG_NO_SCAN ? hash(alq_field(v, i), depth + 1)
                                          : alq_bits(alq_field(v, i));
        h = (h ^ h >> 32) * HASH_FACTOR;
    }
    return h ^ h >> 32;
}

/* (%chain chains key): where in a vector the list is that has the key. */
VALUE_PRIM(chain, "%chain", "va",
           from_fixnum((int64_t)(hash(args[1], 0) %
                                 (alq_wosize(args[0]) + !alq_wosize(args[0])))))

/* (%entry table key): the pair of key and value, or #f. */
PRIM(entry, "%entry", "va")
{
    alq_value chains = alq_wosize(args[0]) == 3 ? alq_field(args[0], 2) : FALSE;
    ALQ_FRAME(s->d, f, chain);

    if (!is_tag(chains, TAG_VECTOR) || alq_wosize(chains) == 0)
        fail(s, args[0], "not a hash table");
    f.chain = alq_field(chains, hash(args[1], 0) % alq_wosize(chains));
    for (; is_pair(f.chain) && is_pair(car(f.chain)); f.chain = cdr(f.chain))
        if (is_equal(s, args[1], car(car(f.chain)), 0))
            return car(f.chain);
    return FALSE;
}

/* ---- numbers ------------------------------------------------------------ */

#define INTEGERS ((int64_t)1 << 61)

static inline double
as_double(struct scheme *s, alq_value v)
{
    if (is_fixnum(v))
        return (double)to_fixnum(v);
    if (!is_tag(v, ALQ_TAG_DOUBLE))
        fail(s, v, "not a number");
    return alq_double(v, 0);
}

double
to_double(struct scheme *s, alq_value v)
{
    return as_double(s, v);
}

static alq_value
from_double(struct scheme *s, double x)
{
    return made(s, alq_alloc_double(s->d, x));
}

static alq_value
from_integer(struct scheme *s, int64_t n)
{
    return n >= -INTEGERS && n < INTEGERS ? from_fixnum(n)
                                          : from_double(s, (double)n);
}

/* strtod alone would take "inf", "0x1p3" and "-", too. */
alq_value
number_of(struct scheme *s, const char *text)
{
    char *end;
    long long n;
    double x;

    if (text[strspn(text, "+-.0123456789eE")] != '\0' ||
        strpbrk(text, "0123456789") == NULL || strchr("eE", text[0]) != NULL)
        return FALSE;
    errno = 0;
    n = strtoll(text, &end, 10);
    if (errno == 0 && *end == '\0')
        return from_integer(s, n);
    x = strtod(text, &end);
    return *end == '\0' ? from_double(s, x) : FALSE;
}

/* (number->string x base): of a double the shortest that reads back as the
 * same; always with a dot or an e. */
PRIM(to_string, "number->string", "nI")
{
    double x = to_double(s, args[0]);
    int digits = 15;
    char chars[40];

    if (is_fixnum(args[0])) {
        snprintf(chars, sizeof chars, n > 1 ? "%llx" : "%lld",
                 (long long)to_fixnum(args[0]));
        return text(s, chars);
    }
    if (isnan(x) || isinf(x))
        return text(s, isnan(x) ? "+nan.0" : x > 0 ? "+inf.0" : "-inf.0");
    do
        snprintf(chars, sizeof chars - 1, "%.*g", digits, x);
    while (++digits <= 17 &&
           (strtod(chars, NULL) < x || strtod(chars, NULL) > x));
    return text(s, strpbrk(chars, ".e") == NULL ? strcat(chars, ".") : chars);
}

/* ---- arithmetic --------------------------------------------------------- */

alq_value
arith(struct scheme *s, enum op op, alq_value a, alq_value b)
{
    int64_t i = to_fixnum(a), j = to_fixnum(b);
    double x, y;

    if (is_fixnum(a) && is_fixnum(b) &&
        (op != OP_MUL || !__builtin_mul_overflow(i, j, &i)))
        return from_integer(s, op == OP_ADD ? i + j : op == OP_SUB ? i - j : i);
    x = as_double(s, a);
    y = as_double(s, b);
    return from_double(s, op == OP_ADD ? x + y : op == OP_SUB ? x - y : x * y);
}

/* Less, equal or more than 0; not a number is none of these. */
double
compare(struct scheme *s, alq_value a, alq_value b)
{
    double x = as_double(s, a), y = as_double(s, b);

    return x < y ? -1 : x > y ? 1 : x - y;
}

PRIM(divide, "/", "nN")
{
    alq_value a = n == 1 ? from_fixnum(1) : args[0], b = args[n - 1];

    if (alq_is_same(b, from_fixnum(0)))
        fail(s, a, "/: division by zero of");
    if (is_fixnum(a) && is_fixnum(b) && to_fixnum(a) % to_fixnum(b) == 0)
        return from_integer(s, to_fixnum(a) / to_fixnum(b));
    return from_double(s, as_double(s, a) / as_double(s, b));
}

/* quotient, remainder, modulo */
PRIM(divide_whole, "quotient remainder modulo", "ii")
{
    int64_t a = to_fixnum(args[0]), b = to_fixnum(args[1]);

    if (b == 0)
        fail(s, args[0], "%s: division by zero of", self->name);
    if (self->name[0] == 'q')
        return from_integer(s, a / b);
    a %= b;
    return from_fixnum(
        self->name[0] == 'm' && a != 0 && (a < 0) != (b < 0) ? a + b : a);
}

/* (%math x i): of sqrt, floor and round an integer for one, if it is. */
PRIM(math, "%math", "ni")
{
    static double (*const functions[])(double) = {sqrt, floor, rint, exp,
                                                  log,  sin,   cos,  atan};
    int64_t i = to_fixnum(args[1]) & 7;
    double x = functions[i](as_double(s, args[0]));

    return i < 3 && is_fixnum(args[0]) && trunc(x) >= x
               ? from_integer(s, (int64_t)x)
               : from_double(s, x);
}

PRIM(exact, "exact", "n")
{
    double x = as_double(s, args[0]);

    if (is_fixnum(args[0]))
        return args[0];
    if (!(fabs(x) < 0x1p61) || trunc(x) < x || trunc(x) > x)
        fail(s, args[0], "exact: there is no such integer");
    return from_fixnum(x);
}

VALUE_PRIM(inexact, "inexact", "n", from_double(s, to_double(s, args[0])))
VALUE_PRIM(string_to_number, "string->number", "s",
           number_of(s, alq_string_chars(args[0])))
