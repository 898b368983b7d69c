/* memory.c -- see memory.h
 *
 * A stream of fopencookie(). stdio gathers small writes, so memory_write() gets
 * whole buffers. A stream is open until it is closed; after a write without
 * memory it stays open, and its text has what came before.
 *
 * The command does not end within memory_write(): exit() writes out all
 * streams, and would come back here. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/tool/memory.h"

enum { CAPACITY_LEAST = 4096 };

struct memory {
    char **text;     /* the caller's; of capacity bytes */
    size_t *n_bytes; /* the caller's; the 0 is not counted */
    size_t capacity;
};

/* The cookie's write: 0 makes stdio set the error of the stream. */
static ssize_t
memory_write(void *arg, const char *bytes, size_t n)
{
    struct memory *m = arg;
    size_t needed = *m->n_bytes + n + 1;

    if (needed > m->capacity) {
        size_t capacity = 2 * m->capacity > needed ? 2 * m->capacity : needed;
        char *grown = realloc(*m->text, capacity);

        if (grown == NULL)
            return 0;
        *m->text = grown;
        m->capacity = capacity;
    }
    memcpy(*m->text + *m->n_bytes, bytes, n);
    *m->n_bytes += n;
    (*m->text)[*m->n_bytes] = '\0';
    return (ssize_t)n;
}

/* The cookie's close. The text stays the caller's. */
static int
memory_free(void *arg)
{
    free(arg);
    return 0;
}

FILE *
alqi_cli_memory_open(char **text, size_t *n_bytes)
{
    static const cookie_io_functions_t io = {
        .write = memory_write,
        .close = memory_free,
    };
    struct memory *m = alqi_cli_realloc(NULL, 1, sizeof *m);
    FILE *out = fopencookie(m, "w", io);

    *n_bytes = 0;
    *text = alqi_cli_realloc(NULL, CAPACITY_LEAST, 1);
    **text = '\0';
    *m = (struct memory){text, n_bytes, CAPACITY_LEAST};
    if (out != NULL)
        return out;
    alqi_cli_die("out of memory for a stream");
}

void
alqi_cli_memory_close(FILE *out, const char *what)
{
    bool is_whole = fflush(out) == 0 && ferror(out) == 0;

    fclose(out);
    if (is_whole)
        return;
    alqi_cli_die("out of memory for %s", what);
}
