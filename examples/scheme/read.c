/* read.c -- text to data
 *
 * Lists nest as deep as DEPTH_MAX, so no text exhausts the C stack.  Each pair
 * that is read has a third field, the line where its list or its item began:
 * instructions get their lines from there, and so do errors. */
#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "scheme.h"

enum { TOKEN_MAX = 1000 };

static alq_value read_datum(struct scheme *s, struct reader *r);

/* The next character; of the next line, if need be.  Nobody waits for a domain
 * whose reader waits. */
static int
peek(struct scheme *s, struct reader *r)
{
    if (r->at == r->n) {
        ALQ_BLOCKING(s->d, blocking);
        ssize_t n;

        if (isatty(fileno(r->file)))
            fputs("> ", stdout);
        fflush(stdout);
        n = getline(&r->text, &r->size, r->file);
        r->n = n > 0 ? (size_t)n : 0;
        r->at = 0;
    }
    return r->n > 0 ? (unsigned char)r->text[r->at] : EOF;
}

static int
get(struct scheme *s, struct reader *r)
{
    int c = peek(s, r);

    r->at += c != EOF;
    r->line += c == '\n';
    return c;
}

static bool
is_delimiter(int c)
{
    return c == EOF || isspace(c) || strchr("()\";'`,", c) != NULL;
}

/* To the next datum, whose line is s->line then. */
static int
skip_blank(struct scheme *s, struct reader *r)
{
    int c;

    while (c = peek(s, r), c == ';' || (c != EOF && isspace(c)))
        if (c == ';')
            r->at = r->n - (r->text[r->n - 1] == '\n');
        else
            get(s, r);
    s->line = r->line;
    return c;
}

/* Onto the stack. */
static void
push(struct scheme *s, alq_value v)
{
    if (s->run.top == STACK_LIMIT(s))
        fail(s, ALQ_NULL, "a list or string that is too long");
    *s->run.top++ = v;
}

static alq_value
read_atom(struct scheme *s, struct reader *r)
{
    char token[TOKEN_MAX + 1], *name = token + 2;
    unsigned n = 0, code;
    alq_value v;

    do { /* of #\( all three characters */
        if (n == TOKEN_MAX)
            fail(s, ALQ_NULL, "a name or number of more than %d characters",
                 TOKEN_MAX);
        token[n++] = (char)get(s, r);
    } while (!is_delimiter(peek(s, r)) ||
             (n == 2 && memcmp(token, "#\\", 2) == 0 && peek(s, r) != EOF));
    token[n] = '\0';
    if (strcmp(token, "#t") == 0 || strcmp(token, "#f") == 0)
        return from_bool(token[1] == 't');
    if (token[0] == '#' && token[1] == '\\' && n > 2) {
        if (n > 3 && sscanf(name, "x%2x", &code) != 1) {
            if (strcmp(name, "space") != 0 && strcmp(name, "newline") != 0)
                fail(s, ALQ_NULL, "no such character: %s", token);
            code = name[0] == 's' ? ' ' : '\n';
        }
        return IMMEDIATE(IMM_CHAR, n > 3 ? code : (unsigned char)name[0]);
    }
    if (token[0] == '#' || strcmp(token, ".") == 0)
        fail(s, ALQ_NULL, "unknown: %s", token);
    v = number_of(s, token);
    return !is_false(v) ? v : intern(s, token, n);
}

/* Behind a backslash in a string. */
static int
read_escape(struct scheme *s, struct reader *r)
{
    int c = get(s, r), code = 0, n = 0;

    if (c != 'x')
        return c == 'n' ? '\n' : c == 't' ? '\t' : c;
    for (; c = get(s, r), isxdigit(c) && n < 2; n++)
        code = code * 16 + (isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
    if (n == 0 || c != ';')
        fail(s, ALQ_NULL, "a string's \\x has one or two digits and a ;");
    return code;
}

/* Behind the opening quote. */
static alq_value
read_string(struct scheme *s, struct reader *r)
{
    alq_value *first = s->run.top;
    int c;

    while (c = get(s, r), c != '"') {
        if (c == '\\')
            c = read_escape(s, r);
        if (c == EOF)
            fail(s, ALQ_NULL, "the string that begins here has no end");
        push(s, IMMEDIATE(IMM_CHAR, c));
    }
    *first = string_of(s, first, (size_t)(s->run.top - first));
    s->run.top = first;
    return *first;
}

/* A pair that knows its line. */
static alq_value
pair_at(struct scheme *s, unsigned line, alq_value head, alq_value tail)
{
    return cons(s, TAG_PAIR, head, tail, from_fixnum(line));
}

/* Behind the opening parenthesis. */
static alq_value
read_list(struct scheme *s, struct reader *r)
{
    unsigned begin = s->line;
    int c;
    ALQ_FRAME(s->d, f, first, last, item);

    for (f.first = NIL; c = skip_blank(s, r), c != ')'; f.last = f.item) {
        unsigned line = is_nil(f.first) ? begin : s->line;
        bool is_dot =
            c == '.' && !is_nil(f.first) && is_delimiter(r->text[r->at + 1]);

        if (c == EOF) {
            s->line = begin;
            fail(s, ALQ_NULL, "the list that begins here has no end");
        }
        r->at += is_dot;
        f.item = read_datum(s, r);
        if (!is_dot)
            f.item = pair_at(s, line, f.item, NIL);
        if (is_nil(f.first))
            f.first = f.item;
        else
            alq_store(s->d, f.last, 1, f.item);
        if (is_dot && skip_blank(s, r) != ')')
            fail(s, ALQ_NULL, "more than one datum behind a dot");
    }
    get(s, r);
    return f.first;
}

/* Behind #( */
static alq_value
read_vector(struct scheme *s, struct reader *r)
{
    alq_value *first = s->run.top, v;
    unsigned begin = s->line;
    int c;

    while (c = skip_blank(s, r), c != ')') {
        if (c == EOF) {
            s->line = begin;
            fail(s, ALQ_NULL, "the vector that begins here has no end");
        }
        push(s, read_datum(s, r));
    }
    get(s, r);
    v = vector_new(s, s->run.top - first, first, 1);
    s->run.top = first;
    return v;
}

/* 'x and the like: (quote x). */
static alq_value
read_quoted(struct scheme *s, struct reader *r, const char *name)
{
    unsigned line = s->line;
    alq_value list = pair_at(s, line, read_datum(s, r), NIL);

    return pair_at(s, line, symbol(s, name), list);
}

static alq_value
read_datum(struct scheme *s, struct reader *r)
{
    int c = skip_blank(s, r);
    alq_value v;

    if (++r->depth > DEPTH_MAX)
        fail(s, ALQ_NULL, "data nested more than %d deep", DEPTH_MAX);
    if (c == EOF)
        fail(s, ALQ_NULL, "the text ends too early");
    if (memchr("()'`,\"", c, 6) != NULL)
        get(s, r);
    if (c == '#' && r->text[r->at + 1] == '(') {
        r->at += 2;
        v = read_vector(s, r);
        r->depth--;
        return v;
    }
    if (c == ')')
        fail(s, ALQ_NULL, "a ) that closes nothing");
    if (c == ',' && peek(s, r) == '@')
        c = get(s, r);
    v = c == '('    ? read_list(s, r)
        : c == '"'  ? read_string(s, r)
        : c == '\'' ? read_quoted(s, r, "quote")
        : c == '`'  ? read_quoted(s, r, "quasiquote")
        : c == ','  ? read_quoted(s, r, "unquote")
        : c == '@'  ? read_quoted(s, r, "unquote-splicing")
                    : read_atom(s, r);
    r->depth--;
    return v;
}

alq_value
read_form(struct scheme *s)
{
    struct reader *r = &s->reader;
    alq_value v;
    unsigned line;

    if (r->depth != 0 && r->at < r->n) /* what is behind an error */
        r->at = r->n - (r->text[r->n - 1] == '\n');
    r->depth = 0;
    if (skip_blank(s, r) == EOF)
        return END_OF_FILE;
    line = s->line;
    v = read_datum(s, r);
    s->line = line;
    return v;
}
