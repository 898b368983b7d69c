/* print.c -- data to text; allocates nothing, so nothing here moves
 *
 * Deeper than DEPTH_MAX, and where a list comes back to itself, "..." stands.
 */
#include <math.h>
#include <string.h>

#include "scheme.h"

const struct char_name char_names[] = {
    {"space", ' '},   {"newline", '\n'}, {"tab", '\t'},      {"return", '\r'},
    {"null", 0},      {"nul", 0},        {"delete", 127},    {"escape", 27},
    {"backspace", 8}, {"alarm", 7},      {"linefeed", '\n'}, {NULL, 0},
};

struct writer {
    struct port *port;
    bool is_display;
    unsigned depth;
};

static void
put(struct writer *w, const char *text)
{
    port_put(w->port, text, strlen(text));
}

/* The shortest that reads back as the same; always with a dot or an e. */
static void
write_double(struct writer *w, double x)
{
    char text[40];
    int digits;

    if (isnan(x) || isinf(x)) {
        put(w, isnan(x) ? "+nan.0" : x > 0 ? "+inf.0" : "-inf.0");
        return;
    }
    for (digits = 15; digits <= 17; digits++) {
        double back;

        snprintf(text, sizeof text, "%.*g", digits, x);
        if (sscanf(text, "%lf", &back) == 1 && back == x)
            break;
    }
    put(w, text);
    if (strpbrk(text, ".e") == NULL)
        put(w, ".0");
}

static void
write_char(struct writer *w, unsigned c)
{
    const struct char_name *known;
    char byte = (char)c;

    if (w->is_display) {
        port_put(w->port, &byte, 1);
        return;
    }
    for (known = char_names; known->name != NULL; known++)
        if (known->character == c) {
            port_print(w->port, "#\\%s", known->name);
            return;
        }
    port_print(w->port, c < 32 || c > 126 ? "#\\x%x" : "#\\%c", c);
}

static void
write_string(struct writer *w, alq_value string)
{
    const char *chars = alq_string_chars(string);
    size_t i, n = alq_string_bytes(string);

    if (w->is_display) {
        port_put(w->port, chars, n);
        return;
    }
    put(w, "\"");
    for (i = 0; i < n; i++) {
        unsigned char c = (unsigned char)chars[i];

        if (c == '"' || c == '\\')
            port_print(w->port, "\\%c", c);
        else if (c == '\n')
            put(w, "\\n");
        else if (c < 32 || c == 127)
            port_print(w->port, "\\x%x;", c);
        else
            port_put(w->port, chars + i, 1);
    }
    put(w, "\"");
}

static void write_any(struct writer *w, alq_value v);

/* `slow` goes half as fast and is met where the list is a ring. */
static void
write_list(struct writer *w, alq_value list)
{
    alq_value slow = list;
    bool is_odd = false;

    put(w, "(");
    write_any(w, car(list));
    for (list = cdr(list); is_pair(list); list = cdr(list)) {
        put(w, " ");
        if (list == slow) {
            put(w, "...");
            list = NIL;
            break;
        }
        write_any(w, car(list));
        if (is_odd)
            slow = cdr(slow);
        is_odd = !is_odd;
    }
    if (list != NIL) {
        put(w, " . ");
        write_any(w, list);
    }
    put(w, ")");
}

static void
write_fields(struct writer *w, const char *head, alq_value block, size_t first)
{
    size_t i, n = alq_wosize(block);

    put(w, head);
    for (i = first; i < n; i++) {
        if (i > first)
            put(w, " ");
        write_any(w, alq_field(block, i));
    }
    put(w, ")");
}

static void
write_immediate(struct writer *w, alq_value v)
{
    static const char *const constants[] = {
        "#f",     "#t",           "()",       "#<unspecified>",
        "#<eof>", "#<undefined>", "#<absent>"};

    if (is_fixnum(v))
        port_print(w->port, "%lld", (long long)to_fixnum(v));
    else if (is_immediate(v, IMM_CHAR))
        write_char(w, immediate_of(v));
    else if (is_immediate(v, IMM_CONSTANT))
        put(w, constants[immediate_of(v)]);
    else
        put(w, is_immediate(v, IMM_PRIM) ? "#<procedure>" : "#<syntax>");
}

static void
write_block(struct writer *w, alq_value v)
{
    switch (alq_tag(v)) {
    case TAG_PAIR:
        write_list(w, v);
        break;
    case TAG_SYMBOL:
        port_put(w->port, alq_string_chars(alq_field(v, 0)),
                 alq_string_bytes(alq_field(v, 0)));
        break;
    case TAG_VECTOR:
        write_fields(w, "#(", v, 0);
        break;
    case TAG_CLOSURE:
        port_print(w->port, "#<procedure %s>", closure_code(v)->name);
        break;
    case TAG_RECORD:
        put(w, "#<");
        write_any(w, alq_field(v, 0));
        write_fields(w, " (", v, 1);
        put(w, ">");
        break;
    case TAG_CONDITION:
        put(w, "#<condition ");
        write_any(w, alq_field(v, 0));
        put(w, ">");
        break;
    case ALQ_TAG_STRING:
        write_string(w, v);
        break;
    case ALQ_TAG_DOUBLE:
        write_double(w, alq_double(v, 0));
        break;
    default:
        put(w, alq_tag(v) == TAG_TABLE    ? "#<hash-table>"
               : alq_tag(v) == TAG_CONT   ? "#<continuation>"
               : alq_tag(v) == TAG_VALUES ? "#<values>"
               : to_port(v) != NULL       ? "#<port>"
                                          : "#<object>");
    }
}

static void
write_any(struct writer *w, alq_value v)
{
    if (w->depth == DEPTH_MAX) {
        put(w, "...");
        return;
    }
    w->depth++;
    if (alq_is_int(v))
        write_immediate(w, v);
    else
        write_block(w, v);
    w->depth--;
}

void
scheme_write(struct port *port, alq_value v, bool is_display)
{
    struct writer w = {.port = port, .is_display = is_display};

    write_any(&w, v);
}
