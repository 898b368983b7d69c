/* read.c -- text to data
 *
 * Lists nest as deep as DEPTH_MAX, so no text exhausts the C stack.  Each pair
 * that is read has a third field, which says where its list or its item began:
 * error messages and scheme_places get their lines from there. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "scheme.h"

enum { TOKEN_MAX = 65536 };

/* A token, or the bytes of a string.  Outside the heap. */
struct text {
    char *bytes;
    size_t n;
    size_t size;
};

struct reader {
    struct scheme *s;
    struct port *port;
    struct text text;
    unsigned depth;
    uint64_t start; /* of the outermost datum */
};

static uint64_t
here(const struct reader *r)
{
    return place_make(r->port->file_number, r->port->line, r->port->column);
}

static bool
text_put(struct reader *r, int c)
{
    struct text *t = &r->text;

    if (t->n + 1 >= t->size) {
        size_t size = t->size == 0 ? 64 : 2 * t->size;
        char *bytes = scheme_memory(r->s, t->bytes, size);

        if (bytes == NULL)
            return false;
        t->bytes = bytes;
        t->size = size;
    }
    t->bytes[t->n++] = (char)c;
    t->bytes[t->n] = '\0';
    return true;
}

static bool
is_delimiter(int c)
{
    return c == EOF || isspace(c) || strchr("()\";'`,", c) != NULL;
}

/* ---- what stands between data ------------------------------------------- */

static alq_value read_datum(struct reader *r);

static bool
skip_block_comment(struct reader *r, uint64_t place)
{
    unsigned depth = 1;

    while (depth > 0) {
        int c = port_get(r->port);

        if (c == EOF) {
            scheme_fail_at(r->s, place, ALQ_NULL,
                           "the comment that begins here has no end: |#");
            return false;
        }
        if (c == '|' && port_peek(r->port) == '#') {
            port_get(r->port);
            depth--;
        } else if (c == '#' && port_peek(r->port) == '|') {
            port_get(r->port);
            depth++;
        }
    }
    return true;
}

static void
skip_line(struct reader *r)
{
    int c;

    do {
        c = port_get(r->port);
    } while (c != '\n' && c != EOF);
}

static void
skip_blank(struct reader *r)
{
    for (;;) {
        int c = port_peek(r->port);

        if (c == ';')
            skip_line(r);
        else if (c != EOF && isspace(c))
            port_get(r->port);
        else
            return;
    }
}

/* ---- atoms -------------------------------------------------------------- */

static bool
read_token(struct reader *r, uint64_t place)
{
    while (!is_delimiter(port_peek(r->port))) {
        if (r->text.n == TOKEN_MAX) {
            scheme_fail_at(r->s, place, ALQ_NULL,
                           "a name or number of more than %d characters",
                           TOKEN_MAX);
            return false;
        }
        if (!text_put(r, port_get(r->port)))
            return false;
    }
    return true;
}

static alq_value
read_atom(struct reader *r, uint64_t place)
{
    alq_value number;

    if (!read_token(r, place))
        return ALQ_NULL;
    if (strcmp(r->text.bytes, ".") == 0)
        return scheme_fail_at(r->s, place, ALQ_NULL, "a dot out of place");
    number = scheme_number(r->s, r->text.bytes, 10);
    if (number != FALSE)
        return number;
    return scheme_intern(r->s, r->text.bytes, r->text.n);
}

/* The character behind a backslash; -1 for none (a line's end), -2 bad. */
static int
read_escape(struct reader *r)
{
    static const char from[] = "ntra0\\\"", to[] = "\n\t\r\a\0\\\"";
    int c = port_get(r->port);
    const char *known = c == EOF ? NULL : memchr(from, c, sizeof from - 1);
    int code = 0;

    if (c == '\n') {
        while (port_peek(r->port) == ' ' || port_peek(r->port) == '\t')
            port_get(r->port);
        return -1;
    }
    if (known != NULL)
        return (unsigned char)to[known - from];
    if (c != 'x')
        return -2;
    for (c = port_get(r->port); isxdigit(c) && code < 256;
         c = port_get(r->port))
        code = code * 16 + (isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
    return c == ';' && code < 256 ? code : -2;
}

static alq_value
read_string(struct reader *r, uint64_t place)
{
    uint64_t bad = 0;

    r->text.n = 0;
    if (!text_put(r, 0)) /* so that there are bytes */
        return ALQ_NULL;
    r->text.n = 0;
    for (;;) { /* to its end, even if it is no good */
        uint64_t at = here(r);
        int c = port_get(r->port);

        if (c == EOF)
            return scheme_fail_at(r->s, place, ALQ_NULL,
                                  "the string that begins here has no end");
        if (c == '"' && bad != 0)
            return scheme_fail_at(r->s, bad, ALQ_NULL,
                                  "an unknown escape in a string");
        if (c == '"')
            return scheme_string(r->s, r->text.bytes, r->text.n);
        if (c == '\\') {
            c = read_escape(r);
            bad = c == -2 && bad == 0 ? at : bad;
        }
        if (c >= 0 && !text_put(r, c))
            return ALQ_NULL;
    }
}

static alq_value
read_char(struct reader *r, uint64_t place)
{
    const struct char_name *known;
    const char *text;
    int c = port_get(r->port);

    if (c == EOF)
        return scheme_fail_at(r->s, place, ALQ_NULL, "no character behind #\\");
    r->text.n = 0;
    if (!text_put(r, c) || !read_token(r, place))
        return ALQ_NULL;
    text = r->text.bytes;
    if (r->text.n == 1)
        return IMMEDIATE(IMM_CHAR, (unsigned char)text[0]);
    for (known = char_names; known->name != NULL; known++)
        if (strcasecmp(known->name, text) == 0)
            return IMMEDIATE(IMM_CHAR, known->character);
    if (text[0] == 'x' && r->text.n <= 3) {
        char *end;
        unsigned long code = strtoul(text + 1, &end, 16);

        if (*end == '\0')
            return IMMEDIATE(IMM_CHAR, code);
    }
    return scheme_fail_at(r->s, place, ALQ_NULL, "no such character: #\\%.40s",
                          text);
}

/* ---- lists -------------------------------------------------------------- */

static alq_value
pair_here(struct reader *r, alq_value a, alq_value b, uint64_t place)
{
    return scheme_block_of(r->s, TAG_PAIR, a,
                           (alq_value[]){b, from_fixnum((int64_t)place)}, 2);
}

static alq_value
unclosed(struct reader *r, uint64_t place)
{
    return scheme_fail_at(r->s, place, ALQ_NULL,
                          "the list that begins here has no end");
}

/* Behind a dot: the last cdr, and the bracket. */
static bool
read_tail(struct reader *r, alq_value last)
{
    uint64_t place = here(r);
    alq_value tail;
    ALQ_FRAME(r->s->d, f, last);

    f.last = last;
    tail = read_datum(r);
    if (tail == ALQ_NULL)
        return false;
    if (tail == END_OF_FILE || tail == ABSENT) {
        unclosed(r, r->start);
        return false;
    }
    alq_store(r->s->d, f.last, 1, tail);
    skip_blank(r);
    if (port_get(r->port) == ')')
        return true;
    scheme_fail_at(r->s, place, ALQ_NULL, "more than one datum behind a dot");
    return false;
}

static bool
is_dot(struct reader *r, alq_value item)
{
    return item == UNDEFINED && r->text.n == 1 && r->text.bytes[0] == '.';
}

/* A datum of a list, or UNDEFINED for a dot alone. */
static alq_value
read_item(struct reader *r)
{
    if (port_peek(r->port) == '.') {
        uint64_t place = here(r);

        r->text.n = 0;
        if (!read_token(r, place))
            return ALQ_NULL;
        if (r->text.n == 1)
            return UNDEFINED;
        alq_value number = scheme_number(r->s, r->text.bytes, 10);

        return number != FALSE ? number
                               : scheme_intern(r->s, r->text.bytes, r->text.n);
    }
    return read_datum(r);
}

static alq_value
read_list(struct reader *r, uint64_t place)
{
    ALQ_FRAME(r->s->d, f, first, last, item);

    f.first = NIL;
    for (;;) {
        uint64_t at;

        skip_blank(r);
        at = here(r);
        if (port_peek(r->port) == ')') {
            port_get(r->port);
            return f.first;
        }
        f.item = read_item(r);
        if (f.item == ALQ_NULL)
            return ALQ_NULL;
        if (f.item == END_OF_FILE)
            return unclosed(r, place);
        if (f.item == ABSENT) /* a comment of a datum */
            continue;
        if (is_dot(r, f.item)) {
            if (f.first == NIL)
                return scheme_fail_at(r->s, at, ALQ_NULL,
                                      "a dot without a datum before it");
            return read_tail(r, f.last) ? f.first : ALQ_NULL;
        }
        f.item = pair_here(r, f.item, NIL, f.first == NIL ? place : at);
        if (f.item == ALQ_NULL)
            return ALQ_NULL;
        if (f.first == NIL)
            f.first = f.item;
        else
            alq_store(r->s->d, f.last, 1, f.item);
        f.last = f.item;
    }
}

static alq_value
read_vector(struct reader *r, uint64_t place)
{
    size_t n = 0;
    alq_value list, vector;
    ALQ_FRAME(r->s->d, f, list);

    f.list = read_list(r, place);
    if (f.list == ALQ_NULL)
        return ALQ_NULL;
    for (list = f.list; is_pair(list); list = cdr(list))
        n++;
    vector = scheme_block(r->s, n, TAG_VECTOR, FALSE);
    if (vector == ALQ_NULL)
        return vector;
    for (n = 0, list = f.list; is_pair(list); list = cdr(list), n++)
        alq_init(r->s->d, vector, n, car(list));
    return vector;
}

/* 'datum is (quote datum), and so on. */
static alq_value
read_quoted(struct reader *r, const char *name, uint64_t place)
{
    ALQ_FRAME(r->s->d, f, datum, name);

    f.datum = read_datum(r);
    if (f.datum == ALQ_NULL)
        return ALQ_NULL;
    if (f.datum == END_OF_FILE || f.datum == ABSENT)
        return scheme_fail_at(r->s, place, ALQ_NULL, "nothing behind a quote");
    f.name = scheme_intern(r->s, name, strlen(name));
    if (f.name == ALQ_NULL)
        return ALQ_NULL;
    f.datum = pair_here(r, f.datum, NIL, place);
    if (f.datum == ALQ_NULL)
        return ALQ_NULL;
    return pair_here(r, f.name, f.datum, place);
}

/* ---- any datum ---------------------------------------------------------- */

static alq_value
read_radix(struct reader *r, uint64_t place, int radix)
{
    alq_value number;

    r->text.n = 0;
    port_get(r->port);
    if (!text_put(r, ' ') || !read_token(r, place))
        return ALQ_NULL;
    number = scheme_number(r->s, r->text.bytes + 1, radix);
    if (number != FALSE)
        return number;
    return scheme_fail_at(r->s, place, ALQ_NULL,
                          "not a number in base %d:%.40s", radix,
                          r->text.bytes);
}

static alq_value
read_hash_name(struct reader *r, uint64_t place)
{
    static const struct {
        const char *name;
        alq_value value;
    } known[] = {{"t", TRUE}, {"true", TRUE}, {"f", FALSE}, {"false", FALSE}};
    unsigned i;

    r->text.n = 0;
    if (!text_put(r, ' ') || !read_token(r, place))
        return ALQ_NULL;
    for (i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, r->text.bytes + 1) == 0)
            return known[i].value;
    return scheme_fail_at(r->s, place, ALQ_NULL, "unknown: #%.40s",
                          r->text.bytes + 1);
}

/* Behind a #.  ABSENT: it was a comment. */
static alq_value
read_hash(struct reader *r, uint64_t place)
{
    switch (port_peek(r->port)) {
    case '(':
        port_get(r->port);
        return read_vector(r, place);
    case '\\':
        port_get(r->port);
        return read_char(r, place);
    case '|':
        port_get(r->port);
        return skip_block_comment(r, place) ? ABSENT : ALQ_NULL;
    case ';':
        port_get(r->port);
        return read_datum(r) == ALQ_NULL ? ALQ_NULL : ABSENT;
    case '!':
        if (r->port->line == 1 && r->port->column == 2) {
            skip_line(r);
            return ABSENT;
        }
        return read_hash_name(r, place);
    case 'x':
        return read_radix(r, place, 16);
    case 'b':
        return read_radix(r, place, 2);
    case 'o':
        return read_radix(r, place, 8);
    default:
        return read_hash_name(r, place);
    }
}

static alq_value
read_by_first(struct reader *r, uint64_t place)
{
    int c = port_peek(r->port);

    r->text.n = 0;
    if (c == EOF)
        return END_OF_FILE;
    if (strchr("()'`,\"#", c) == NULL)
        return read_atom(r, place);
    port_get(r->port);
    switch (c) {
    case '(':
        return read_list(r, place);
    case ')':
        return scheme_fail_at(r->s, place, ALQ_NULL, "a ) that closes nothing");
    case '\'':
        return read_quoted(r, "quote", place);
    case '`':
        return read_quoted(r, "quasiquote", place);
    case '"':
        return read_string(r, place);
    case '#':
        return read_hash(r, place);
    default:
        if (port_peek(r->port) != '@')
            return read_quoted(r, "unquote", place);
        port_get(r->port);
        return read_quoted(r, "unquote-splicing", place);
    }
}

/* Inside a list a comment (#| or #;) is ABSENT only at the place of an item,
 * so it is skipped here wherever else it stands. */
static alq_value
read_datum(struct reader *r)
{
    alq_value v;

    do {
        skip_blank(r);
        if (r->depth == DEPTH_MAX)
            return scheme_fail_at(r->s, here(r), ALQ_NULL,
                                  "data nested more than %d deep", DEPTH_MAX);
        r->depth++;
        v = read_by_first(r, here(r));
        r->depth--;
    } while (v == ABSENT && port_peek(r->port) != ')');
    return v;
}

/* The next datum, or END_OF_FILE. */
alq_value
scheme_read(struct scheme *s, struct port *port)
{
    struct reader r = {.s = s, .port = port};
    alq_value v;

    skip_blank(&r);
    r.start = s->read_place = here(&r);
    do {
        v = read_datum(&r);
    } while (v == ABSENT);
    free(r.text.bytes);
    return v;
}
