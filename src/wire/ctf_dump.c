/* ctf_dump.c -- events as the text of memtrace's dump tool
 *
 * Lines of deep stacks are long and traces have millions of them, so numbers
 * are formatted here and handed over in pieces of a few KiB.  When the taker
 * says stop, the rest of the line is formatted and thrown away. */
#include <string.h>

#include "wire/ctf_dump.h"

enum { PIECE_BYTES = 8192, NUMBER_BYTES = 20 };

/* A line in the making; `piece` is handed over when it is full. */
struct line {
    alqi_ctf_text_fn *put;
    void *put_arg;
    bool is_stopped;
    size_t n;
    char piece[PIECE_BYTES];
};

static void
line_flush(struct line *l)
{
    if (!l->is_stopped && l->n > 0)
        l->is_stopped = !l->put(l->put_arg, l->piece, l->n);
    l->n = 0;
}

/* Appends a text of any length. */
static void
text_put(struct line *l, const char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        size_t n = PIECE_BYTES - l->n;

        n = n < left ? n : left;
        memcpy(l->piece + l->n, text, n);
        l->n += n;
        text += n;
        left -= n;
        if (l->n == PIECE_BYTES)
            line_flush(l);
    }
}

static void
char_put(struct line *l, char c)
{
    l->piece[l->n++] = c;
    if (l->n == PIECE_BYTES)
        line_flush(l);
}

/* At least `width` characters; pad '0' goes behind the sign, ' ' before. */
static void
number_put(struct line *l, int64_t v, int width, char pad)
{
    uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;
    char digits[NUMBER_BYTES];
    int n = 0;

    do
        digits[n++] = (char)('0' + u % 10);
    while ((u /= 10) != 0);
    width -= n + (v < 0);
    for (; width > 0 && pad == ' '; width--)
        char_put(l, ' ');
    if (v < 0)
        char_put(l, '-');
    for (; width > 0; width--)
        char_put(l, '0');
    while (n > 0)
        char_put(l, digits[--n]);
}

/* " function@file:line:start-end". */
static void
entry_put(struct line *l, const struct alqi_ctf_entry *e)
{
    char_put(l, ' ');
    text_put(l, e->function);
    char_put(l, '@');
    text_put(l, e->file);
    char_put(l, ':');
    number_put(l, e->line, 0, ' ');
    char_put(l, ':');
    number_put(l, e->start_column, 0, ' ');
    char_put(l, '-');
    number_put(l, e->end_column, 0, ' ');
}

/* The entries of a code, or $code without any. */
static void
code_put(struct line *l, const struct alqi_ctf_reader *reader, uint64_t code)
{
    const struct alqi_ctf_location *loc =
        alqi_ctf_reader_location(reader, code);

    for (uint32_t i = 0; loc != NULL && i < loc->n_entries; i++)
        entry_put(l, &loc->entries[i]);
    if (loc == NULL || loc->n_entries == 0) {
        text_put(l, " $");
        /* Codes are integers of 63 bits to the tools. */
        number_put(l, (int64_t)(code << 1) >> 1, 0, ' ');
    }
}

/* What follows time and id of an allocation. */
static void
alloc_put(struct line *l, const struct alqi_ctf_reader *reader,
          const struct alqi_ctf_event *event)
{
    static const char *const names[] = {
        [ALQI_CTF_MINOR] = " alloc ",
        [ALQI_CTF_MAJOR] = " alloc_major ",
        [ALQI_CTF_EXTERNAL] = " alloc_ext ",
    };

    text_put(l, names[event->source]);
    number_put(l, event->n_samples, 0, ' ');
    text_put(l, " len=");
    number_put(l, event->length, 0, ' ');
    text_put(l, " dom=");
    number_put(l, event->domain, 0, ' ');
    text_put(l, "  "); /* the second one stands for a plus sign */
    number_put(l, (int64_t)event->n_shared, 3, ' ');
    char_put(l, ':');
    for (uint32_t i = 0; i < event->n_codes; i++)
        code_put(l, reader, event->codes[i]);
}

bool
alqi_ctf_dump_event(const struct alqi_ctf_reader *reader,
                    const struct alqi_ctf_event *event, alqi_ctf_text_fn *put,
                    void *put_arg)
{
    struct line l;

    if (event->kind == ALQI_CTF_LOCATION)
        return true;
    l.put = put;
    l.put_arg = put_arg;
    l.is_stopped = false;
    l.n = 0;
    number_put(
        &l, (int64_t)(event->time_us - alqi_ctf_reader_info(reader)->start_us),
        10, '0');
    char_put(&l, ' ');
    number_put(&l, (int64_t)event->id, 10, '0');
    if (event->kind == ALQI_CTF_ALLOC)
        alloc_put(&l, reader, event);
    else
        text_put(&l, event->kind == ALQI_CTF_PROMOTE ? " promote" : " collect");
    char_put(&l, '\n');
    line_flush(&l);
    return !l.is_stopped;
}
