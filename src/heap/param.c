/* param.c -- the heap's parameters: a table of letters, ranges and defaults
 *
 * A row a parameter: its place in struct alqi_heap_tuning, its default and its
 * range.  Text is read setting by setting; a number out of its range is brought
 * into it, with a warning, and what cannot be read is left out, with a warning.
 * Pure, but for alqi_heap_param_environment(), which reads ALIQUOTPARAM. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/param.h"
#include "heap/log.h"
#include "heap/major_smooth.h"

#define K ((intptr_t)1 << 10)
#define M ((intptr_t)1 << 20)
/* Hard: so many collections, one a chunk, an old place stays forbidden. */
#define MINOR_LEAST (ALQI_HEAP_IS_HARD ? 256 * K : 4 * K)
#define MINOR_FIRST                                                            \
    (ALQI_HEAP_IS_HARD ? 256 * K : 0) /* minor_size.h chooses                  \
                                       */
#define ANY ((intptr_t)1 << 48)       /* more words than there are addresses */

/* A parameter: its place in the struct, its default, and its range, ends
 * included. */
struct row {
    char letter;
    uint16_t at; /* in struct alqi_heap_tuning */
    intptr_t first;
    intptr_t least;
    intptr_t most;
};

#define AT(member) (uint16_t) offsetof(struct alqi_heap_tuning, member)

/* Letters are OCaml's where it has the parameter, others are ours:
 * aliquot-gc(7).  Sizes are words.  The first row's default is 0 but in hard
 * builds: then minor_size.h chooses. */
static const struct row rows[] = {
    {'s', AT(control.minor_heap_size), MINOR_FIRST, MINOR_LEAST, 4 * M},
    {'i', AT(control.major_heap_increment), 15, 0, ANY},
    {'o', AT(control.space_overhead), 120, 1, 1000000},
    {'O', AT(control.max_overhead), 500, 0, 1000000},
    {'a', AT(control.allocation_policy), 0, 0, ALQ_GC_BEST_FIT},
    {'w', AT(control.window_size), 1, 1, ALQI_HEAP_WINDOW_MAX},
    {'l', AT(control.stack_limit), 128 * M, 512, ANY},
    {'M', AT(control.custom_major_ratio), 44, 1, 1000000},
    {'m', AT(control.custom_minor_ratio), 100, 1, 1000000},
    {'n', AT(control.custom_minor_max_size), 70000, 0, ANY},
    {'v', AT(control.verbose), 0, 0, UINT32_MAX},
    {'h', AT(initial_words), 0, 0, ANY},
    {'d', AT(domains_max), ALQI_HEAP_DOMAINS_MAX, 1, ALQI_HEAP_DOMAINS_MAX},
    {'H', AT(force_huge), 0, 0, 1},
    {'V', AT(verify), 0, 0, 1},
    {'c', AT(cleans_up), 0, 0, 1},
    {'W', AT(warns), 0, 0, 1},
    {'e', AT(record_log2), 12, 9, 13}, /* a chunk: wire/gctrace.h */
};

/* OCaml's parameters that have no effect here, as aliquot-gc(7) says: there are
 * no exceptions, parsers, byte code and hash tables. */
static const char idle_letters[] = "bpRt";

/* The parameter that the row describes, in t. */
static intptr_t *
value_of(struct alqi_heap_tuning *t, const struct row *row)
{
    return (intptr_t *)((char *)t + row->at);
}

void
alqi_heap_param_defaults(struct alqi_heap_tuning *t)
{
    size_t i;

    memset(t, 0, sizeof *t);
    for (i = 0; i < ALQI_COUNT_OF(rows); i++)
        *value_of(t, &rows[i]) = rows[i].first;
}

/* The value within the row's range.  If the default is 0, 0 is allowed below
 * the range, too: it leaves the choice to the heap. */
static intptr_t
limited(const struct row *row, intptr_t v)
{
    if (v == 0 && row->first == 0)
        return 0;
    return v < row->least ? row->least : v > row->most ? row->most : v;
}

/* Brings all parameters into their ranges; the size of minor heaps becomes
 * whole chunks. */
void
alqi_heap_param_limit(struct alqi_heap_tuning *t)
{
    const intptr_t step = ALQI_HEAP_CHUNK_BYTES / ALQ_WORD_BYTES;
    size_t i;

    for (i = 0; i < ALQI_COUNT_OF(rows); i++)
        *value_of(t, &rows[i]) = limited(&rows[i], *value_of(t, &rows[i]));
    t->control.minor_heap_size =
        (t->control.minor_heap_size + step - 1) / step * step;
}

/* ---- reading ------------------------------------------------------------ */

/* The row of a letter; NULL: there is none. */
static const struct row *
find(char letter)
{
    size_t i;

    for (i = 0; i < ALQI_COUNT_OF(rows); i++)
        if (rows[i].letter == letter)
            return &rows[i];
    return NULL;
}

/* The digit's value; 16: it is none. */
static int
digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 16;
}

/* The product, or the greatest number if that is greater. */
static intptr_t
times(intptr_t v, intptr_t by)
{
    return v > INTPTR_MAX / by ? INTPTR_MAX : v * by;
}

/* The factor that a letter behind a number stands for; 1: it is none. */
static intptr_t
unit_of(char c)
{
    switch (c) {
    case 'k':
        return K;
    case 'M':
        return M;
    case 'G':
        return K * M;
    default:
        return 1;
    }
}

/* Reads the number in [at, end), decimal or hexadecimal, with a unit; false: it
 * is none.  A number that is too great is the greatest one, so that its range
 * applies. */
static bool
number(const char *at, const char *end, intptr_t *out)
{
    int base = 10;
    intptr_t v = 0, unit;

    if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
        base = 16;
        at += 2;
    }
    if (at == end || digit_of(*at) >= base)
        return false;
    for (; at < end && digit_of(*at) < base; at++) {
        v = times(v, base);
        if (v > INTPTR_MAX - digit_of(*at))
            v = INTPTR_MAX;
        else
            v += digit_of(*at);
    }
    unit = at < end ? unit_of(*at) : 1;
    if (unit > 1)
        at++;
    *out = times(v, unit);
    return at == end;
}

/* Reads one setting, letter=number, or a letter alone for 1.  The setting is
 * left out, with a warning, if the letter is unknown or the number is none;
 * letters that OCaml has, and that have nothing to do here, are left out
 * without one. */
static void
setting_read(struct alqi_heap_tuning *t, const char *at, const char *end,
             alqi_heap_param_warn_fn *warn)
{
    const struct row *row = find(*at);
    intptr_t v = 1;
    char why[80];

    if (row == NULL) {
        if (strchr(idle_letters, *at) == NULL)
            warn(at, (size_t)(end - at), "no such parameter, ignored");
        return;
    }
    if (end - at > 1 && (at[1] != '=' || !number(at + 2, end, &v))) {
        warn(at, (size_t)(end - at),
             "not letter=number, with k, M or G behind it; ignored");
        return;
    }
    *value_of(t, row) = limited(row, v);
    t->has_minor_words |= row->letter == 's';
    if (limited(row, v) != v) {
        snprintf(why, sizeof why, "out of range, %jd is used",
                 (intmax_t)limited(row, v));
        warn(at, (size_t)(end - at), why);
    }
}

/* Reads settings with commas between them; empty ones are skipped.  Later
 * settings replace earlier ones. */
void
alqi_heap_param_read(struct alqi_heap_tuning *t, const char *text,
                     alqi_heap_param_warn_fn *warn)
{
    while (*text != '\0') {
        const char *end = text + strcspn(text, ",");

        if (end > text)
            setting_read(t, text, end, warn);
        text = *end == ',' ? end + 1 : end;
    }
    alqi_heap_param_limit(t);
}

static void
warn_aloud(const char *setting, size_t n, const char *why)
{
    alqi_heap_log_slow("ALIQUOTPARAM: '%.*s': %s", (int)(n < 100 ? n : 100),
                       setting, why);
}

/* Reads ALIQUOTPARAM, unless the process has more rights than its user. */
void
alqi_heap_param_environment(struct alqi_heap_tuning *t)
{
    const char *text = secure_getenv("ALIQUOTPARAM");

    if (text != NULL)
        alqi_heap_param_read(t, text, warn_aloud);
}

/* ---- writing ------------------------------------------------------------ */

/* Writes all parameters as alqi_heap_param_read() reads them.  Returns the
 * length that the text has without the bound; less than `size` is written. */
size_t
alqi_heap_param_write(const struct alqi_heap_tuning *t, char *text, size_t size)
{
    struct alqi_heap_tuning copy = *t;
    size_t i, n = 0;

    for (i = 0; i < ALQI_COUNT_OF(rows); i++)
        n += (size_t)snprintf(n < size ? text + n : NULL,
                              n < size ? size - n : 0, "%s%c=%jd",
                              i == 0 ? "" : ",", rows[i].letter,
                              (intmax_t)*value_of(&copy, &rows[i]));
    return n;
}
