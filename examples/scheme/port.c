/* port.c -- ports: files and strings, in custom blocks with a finaliser
 *
 * The block holds a pointer to a struct port from malloc.  C functions may keep
 * that pointer over a call that collects, as long as the block stands in a
 * root: the block moves, the struct does not.  A port that nobody can reach is
 * closed when the collector finds it. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "scheme.h"

static void
port_close(struct port *port)
{
    if (port->file != NULL && !port->is_standard)
        fclose(port->file);
    port->file = NULL;
    free(port->bytes);
    port->bytes = NULL;
    port->n_bytes = port->size = port->at = 0;
}

/* In a collection: frees, and calls the heap in no way. */
static void
port_finalise(alq_value block)
{
    struct port *port = *(struct port **)alq_custom_data(block);

    if (port == NULL)
        return;
    port_close(port);
    free(port);
}

static const struct alq_custom_ops port_ops = {.name = "port",
                                               .finalise = port_finalise};

struct port *
to_port(alq_value v)
{
    if (!is_tag(v, ALQ_TAG_CUSTOM) || alq_custom_ops_of(v) != &port_ops)
        return NULL;
    return *(struct port **)alq_custom_data(v);
}

/* The block first: when it is there nothing can be lost, since its finaliser
 * frees what has been put into it. */
alq_value
scheme_port(struct scheme *s, FILE *file, const char *text, size_t bytes,
            bool is_input)
{
    alq_value block = alq_alloc_custom_mem(
        s->d, &port_ops, sizeof(struct port *),
        sizeof(struct port) + bytes + (file != NULL ? (size_t)BUFSIZ : 0));
    struct port *port;

    if (block == ALQ_NULL)
        return scheme_fail_memory(s);
    port = calloc(1, sizeof *port);
    if (port == NULL)
        return scheme_fail_memory(s);
    *(struct port **)alq_custom_data(block) = port;
    *port = (struct port){.file = file,
                          .is_input = is_input,
                          .is_standard = file == stdin || file == stdout,
                          .line = 1,
                          .column = 1};
    if (text != NULL) {
        port->bytes = malloc(bytes + 1);
        if (port->bytes == NULL)
            return scheme_fail_memory(s);
        memcpy(port->bytes, text, bytes);
        port->n_bytes = bytes;
    }
    return block;
}

/* ---- reading and writing ------------------------------------------------ */

int
port_peek(struct port *port)
{
    int c;

    if (port->file == NULL)
        return port->at < port->n_bytes ? (unsigned char)port->bytes[port->at]
                                        : EOF;
    c = getc(port->file);
    if (c != EOF)
        ungetc(c, port->file);
    return c;
}

int
port_get(struct port *port)
{
    int c = port->file != NULL ? getc(port->file) : port_peek(port);

    if (c == EOF)
        return c;
    port->at++;
    port->column++;
    if (c == '\n') {
        port->line++;
        port->column = 1;
    }
    return c;
}

/* A string that cannot grow keeps what it has. */
void
port_put(struct port *port, const char *bytes, size_t n)
{
    if (port->file != NULL) {
        fwrite(bytes, 1, n, port->file);
        return;
    }
    if (port->n_bytes + n > port->size) {
        size_t size = 2 * (port->n_bytes + n) + 64;
        char *more = realloc(port->bytes, size);

        if (more == NULL)
            return;
        port->bytes = more;
        port->size = size;
    }
    memcpy(port->bytes + port->n_bytes, bytes, n);
    port->n_bytes += n;
}

void
port_print(struct port *port, const char *format, ...)
{
    char text[200];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    port_put(port, text, strlen(text));
}

/* ---- built in ----------------------------------------------------------- */

/* Argument i, or the standard output; NULL and an error when it is no port of
 * that kind. */
static struct port *
port_arg(struct scheme *s, alq_value *args, unsigned n, unsigned i,
         bool is_input)
{
    struct port *port = to_port(i < n ? args[i] : s->output.value);

    if (port != NULL && port->is_input == is_input)
        return port;
    scheme_fail(s, args[i], "no %s port", is_input ? "input" : "output");
    return NULL;
}

PRIM(display)
{
    struct port *port = port_arg(s, args, n, 1, false);

    if (port == NULL)
        return ALQ_NULL;
    scheme_write(port, args[0], true);
    return UNSPECIFIED;
}

PRIM(write)
{
    struct port *port = port_arg(s, args, n, 1, false);

    if (port == NULL)
        return ALQ_NULL;
    scheme_write(port, args[0], false);
    return UNSPECIFIED;
}

PRIM(newline)
{
    struct port *port = port_arg(s, args, n, 0, false);

    if (port == NULL)
        return ALQ_NULL;
    port_put(port, "\n", 1);
    return UNSPECIFIED;
}

static alq_value
from_char(int c)
{
    return c == EOF ? END_OF_FILE : IMMEDIATE(IMM_CHAR, (unsigned)c);
}

PRIM(read_char)
{
    struct port *port = port_arg(s, args, n, 0, true);

    return port == NULL ? ALQ_NULL : from_char(port_get(port));
}

PRIM(peek_char)
{
    struct port *port = port_arg(s, args, n, 0, true);

    return port == NULL ? ALQ_NULL : from_char(port_peek(port));
}

PRIM(read)
{
    struct port *port = port_arg(s, args, n, 0, true);

    return port == NULL ? ALQ_NULL : scheme_read(s, port);
}

PRIM(read_line)
{
    struct port *port = port_arg(s, args, n, 0, true);
    struct port line = {.line = 1};
    alq_value string;
    int c;

    if (port == NULL)
        return ALQ_NULL;
    c = port_get(port);
    if (c == EOF)
        return END_OF_FILE;
    for (; c != EOF && c != '\n'; c = port_get(port))
        port_put(&line, &(char){(char)c}, 1);
    string =
        scheme_string(s, line.bytes == NULL ? "" : line.bytes, line.n_bytes);
    free(line.bytes);
    return string;
}

PRIM(open_output_string)
{
    return scheme_port(s, NULL, NULL, 0, false);
}

PRIM(get_output_string)
{
    struct port *port = port_arg(s, args, n, 0, false);

    if (port == NULL)
        return ALQ_NULL;
    return scheme_string(s, port->bytes == NULL ? "" : port->bytes,
                         port->n_bytes);
}

/* The bytes are copied out of the heap first: scheme_port may collect. */
PRIM(open_input_string)
{
    size_t bytes;
    char *copy;
    alq_value port;

    if (!is_string(args[0]))
        return scheme_fail(s, args[0], "open-input-string: no string");
    bytes = alq_string_bytes(args[0]);
    copy = scheme_memory(s, NULL, bytes + 1);
    if (copy == NULL)
        return ALQ_NULL;
    memcpy(copy, alq_string_chars(args[0]), bytes);
    port = scheme_port(s, NULL, copy, bytes, true);
    free(copy);
    return port;
}

static alq_value
open_file(struct scheme *s, alq_value name, bool is_input)
{
    FILE *file;
    alq_value port;

    if (!is_string(name))
        return scheme_fail(s, name, "the name of a file is a string, not");
    file = fopen(alq_string_chars(name), is_input ? "r" : "w");
    if (file == NULL)
        return scheme_fail(s, name, "%s", strerror(errno));
    port = scheme_port(s, file, NULL, 0, is_input);
    if (port == ALQ_NULL)
        fclose(file);
    return port;
}

PRIM(open_input_file)
{
    alq_value port = open_file(s, args[0], true);

    if (port != ALQ_NULL)
        to_port(port)->file_number =
            scheme_file_add(s, alq_string_chars(args[0]));
    return port;
}

PRIM(open_output_file)
{
    return open_file(s, args[0], false);
}

PRIM(close_port)
{
    struct port *port = to_port(args[0]);

    if (port == NULL)
        return scheme_fail(s, args[0], "close-port: no port");
    if (!port->is_standard)
        port_close(port);
    return UNSPECIFIED;
}

PRIM(is_eof)
{
    return from_bool(args[0] == END_OF_FILE);
}

static const struct prim prims[] = {
    {"display", prim_display, 1, 2, OP_NONE},
    {"write", prim_write, 1, 2, OP_NONE},
    {"newline", prim_newline, 0, 1, OP_NONE},
    {"read-char", prim_read_char, 1, 1, OP_NONE},
    {"peek-char", prim_peek_char, 1, 1, OP_NONE},
    {"read-line", prim_read_line, 1, 1, OP_NONE},
    {"read", prim_read, 1, 1, OP_NONE},
    {"open-output-string", prim_open_output_string, 0, 0, OP_NONE},
    {"get-output-string", prim_get_output_string, 1, 1, OP_NONE},
    {"open-input-string", prim_open_input_string, 1, 1, OP_NONE},
    {"open-input-file", prim_open_input_file, 1, 1, OP_NONE},
    {"open-output-file", prim_open_output_file, 1, 1, OP_NONE},
    {"close-port", prim_close_port, 1, 1, OP_NONE},
    {"eof-object?", prim_is_eof, 1, 1, OP_NONE},
};

void
port_start(struct scheme *s)
{
    alq_value port = scheme_port(s, stdout, NULL, 0, false);

    if (port != ALQ_NULL)
        s->output.value = port;
    scheme_prims_add(s, prims, sizeof prims / sizeof prims[0]);
}
