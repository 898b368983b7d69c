/* code.c -- names, files and lines of code objects
 *
 * A table of lines, up to 3.10, is pairs of bytes: so many bytes of code, and a
 * signed number of lines.  Up to 3.9 a pair is a step to where another line
 * begins; in 3.10 it is a range and how much higher its line is, -128 where it
 * has none.  From 3.11 on it is a run of entries, each for one to eight
 * instructions: the first byte has the high bit set, a kind in the next four
 * and the number of instructions, less one, in the last three.  The kinds:
 *
 *      0 .. 9     on the same line        10 .. 12  so many lines on, less 10
 *      13, 14     a signed difference follows, 6 bits a byte
 *      15         no line
 *
 * What else an entry says are columns; the next entry begins at the next byte
 * with the high bit. */
#include "python/layout.h"
#include "python/read.h"

enum {
    LINES_BYTES_MAX = 1 << 24,
    TEXT_MAX = 1024, /* characters that are looked at */
    KIND_ONE = 10,
    KIND_LONG_LESS = 13,
    KIND_NONE = 15,
    RANGE_NONE = -128,
    UNIT_BYTES = 2,
    WINDOW_BYTES = 128
};

/* ---- lines --------------------------------------------------------------- */

/* Bytes of a table, some at a time. */
struct window {
    alqi_python_get_fn *get;
    void *arg;
    size_t at, end;      /* in the table */
    size_t first, n_had; /* what `byte` has of it */
    uint8_t byte[WINDOW_BYTES];
};

/* The next byte, which is not taken; -1: there is none. */
static int
look(struct window *w)
{
    if (w->at >= w->end)
        return -1;
    if (w->at - w->first >= w->n_had) {
        w->first = w->at;
        w->n_had =
            w->end - w->at < WINDOW_BYTES ? w->end - w->at : WINDOW_BYTES;
        if (!w->get(w->arg, w->first, w->byte, w->n_had)) {
            w->n_had = 0;
            w->end = w->at;
            return -1;
        }
    }
    return w->byte[w->at - w->first];
}

/* A signed number: the sign is the lowest bit. */
static int64_t
signed_take(struct window *w)
{
    uint64_t value = 0;
    int b;

    for (unsigned shift = 0; shift < 36; shift += 6) {
        b = look(w);
        if (b < 0 || (b & 0x80) != 0)
            break;
        w->at++;
        value |= (uint64_t)(b & 0x3F) << shift;
        if ((b & 0x40) == 0)
            break;
    }
    return (value & 1) != 0 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* What a line is told as; 0: it is none. */
static uint32_t
line_told(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t
line_of_entries(struct window *w, int64_t line, int64_t unit)
{
    int64_t covered = 0;
    int b;

    while ((b = look(w)) >= 0) {
        unsigned kind = (unsigned)b >> 3 & 15;

        w->at++;
        if (kind == KIND_LONG_LESS || kind == KIND_LONG_LESS + 1)
            line += signed_take(w);
        else if (kind >= KIND_ONE && kind < KIND_LONG_LESS)
            line += kind - KIND_ONE;
        covered += (b & 7) + 1;
        if (unit < covered)
            return kind != KIND_NONE ? line_told(line) : 0;
        while ((b = look(w)) >= 0 && (b & 0x80) == 0)
            w->at++;
    }
    return 0;
}

/* A pair of bytes; false: there is none. */
static bool
pair_take(struct window *w, int64_t *code_bytes, int64_t *n_lines)
{
    int first = look(w), second;

    if (first < 0)
        return false;
    w->at++;
    second = look(w);
    if (second < 0)
        return false;
    w->at++;
    *code_bytes = first;
    *n_lines = (int8_t)second;
    return true;
}

static uint32_t
line_of_ranges(struct window *w, int64_t line, int64_t unit)
{
    int64_t covered = 0, code_bytes, n_lines;

    while (pair_take(w, &code_bytes, &n_lines)) {
        covered += code_bytes;
        if (n_lines != RANGE_NONE)
            line += n_lines;
        if (unit * UNIT_BYTES < covered)
            return n_lines != RANGE_NONE ? line_told(line) : 0;
    }
    return 0;
}

/* The last line goes to the end of the code. */
static uint32_t
line_of_steps(struct window *w, int64_t line, int64_t unit)
{
    int64_t begun = 0, code_bytes, n_lines;
    size_t end = w->end;

    while (pair_take(w, &code_bytes, &n_lines)) {
        begun += code_bytes;
        if (begun > unit * UNIT_BYTES)
            return line_told(line);
        line += n_lines;
    }
    return w->at == end ? line_told(line) : 0; /* 0: it could not be read */
}

uint32_t
alqi_python_line(unsigned lines, alqi_python_get_fn *get, void *arg,
                 size_t n_bytes, int32_t first_line, int64_t unit)
{
    struct window w = {.get = get, .arg = arg, .end = n_bytes};

    if (unit < 0)
        return line_told(first_line);
    if (lines == ALQI_PYTHON_LINES_STEPS)
        return line_of_steps(&w, first_line, unit);
    if (lines == ALQI_PYTHON_LINES_RANGES)
        return line_of_ranges(&w, first_line, unit);
    return line_of_entries(&w, first_line, unit);
}

struct table {
    struct alqi_python_reader *reader;
    uintptr_t data;
};

static bool
table_get(void *arg, size_t from, void *to, size_t n)
{
    const struct table *t = arg;

    return alqi_python_read(t->reader, t->data + from, to, n);
}

uint32_t
alqi_python_code_line(const struct alqi_python *python,
                      struct alqi_python_reader *r, uintptr_t at,
                      const struct alqi_python_code *code, uintptr_t instr)
{
    const struct alqi_python_layout *l = python->layout;
    struct table table = {r, code->lines + l->bytes_data};
    intptr_t units = (intptr_t)(instr - (at + l->code_units)) / UNIT_BYTES;
    uintptr_t n;

    if (!alqi_python_is_a(r, code->lines, l->bytes_data, l->type,
                          python->bytes_type))
        return 0;
    n = alqi_python_load(code->lines, l->size);
    if (n > LINES_BYTES_MAX)
        return 0;
    return alqi_python_line(l->lines, table_get, &table, n, code->first_line,
                            units);
}

/* ---- texts --------------------------------------------------------------- */

static uint32_t
character(const void *characters, size_t i, unsigned kind)
{
    if (kind == 1)
        return ((const uint8_t *)characters)[i];
    return kind == 2 ? ((const uint16_t *)characters)[i]
                     : ((const uint32_t *)characters)[i];
}

/* A character's UTF-8; its bytes.  What is no character has a stand-in. */
static size_t
utf8_put(uint32_t c, char out[4])
{
    if (c >= 0x110000 || (c >= 0xD800 && c < 0xE000))
        c = '?';
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

size_t
alqi_python_utf8(const void *characters, size_t n, unsigned kind, char *out,
                 size_t capacity)
{
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t c = character(characters, i, kind);
        char bytes[4];
        size_t n_bytes = utf8_put(c == 0 ? '?' : c, bytes);

        if (n_bytes >= capacity - used)
            break;
        memcpy(out + used, bytes, n_bytes);
        used += n_bytes;
    }
    out[used] = '\0';
    return used;
}

/* The text of an object, of whose end a longer one keeps nothing; "?" where it
 * cannot be read.  state: bits 0 and 1 interned, 2 to 4 kind, 5 compact, 6
 * ascii. */
static void
text_read(const struct alqi_python *python, struct alqi_python_reader *r,
          uintptr_t at, char *out, size_t capacity)
{
    const struct alqi_python_layout *l = python->layout;
    uint32_t characters[TEXT_MAX];
    uint32_t state;
    uintptr_t n;
    unsigned kind;

    strcpy(out, "?");
    if (!alqi_python_is_a(r, at, l->text_ascii_data, l->type,
                          python->text_type))
        return;
    n = alqi_python_load(at, l->size);
    state = (uint32_t)alqi_python_load(at, l->text_state);
    kind = state >> 2 & 7;
    if ((kind != 1 && kind != 2 && kind != 4) || (state >> 5 & 1) == 0)
        return;
    if (n > TEXT_MAX)
        n = TEXT_MAX;
    at += (state >> 6 & 1) != 0 ? l->text_ascii_data : l->text_data;
    if (alqi_python_read(r, at, characters, n * kind))
        alqi_python_utf8(characters, n, kind, out, capacity);
}

/* ---- code objects -------------------------------------------------------- */

/* A hash of a text object: its own, or of its length and ends before it has
 * one.  0: it cannot be read. */
static uint64_t
text_hash(const struct alqi_python *python, struct alqi_python_reader *r,
          uintptr_t at)
{
    const struct alqi_python_layout *l = python->layout;
    uint64_t ends[2] = {0, 0}, hash;
    uint32_t state;
    size_t n, n_end;

    if (!alqi_python_is_a(r, at, l->text_ascii_data, l->type,
                          python->text_type))
        return 0;
    n = alqi_python_load(at, l->size);
    hash = alqi_python_load(at, l->size + sizeof hash);
    if (ALQI_LIKELY(hash != UINT64_MAX))
        return hash ^ n;
    state = (uint32_t)alqi_python_load(at, l->text_state);
    n *= state >> 2 & 7;
    n_end = n < sizeof ends[0] ? n : sizeof ends[0];
    at += (state >> 6 & 1) != 0 ? l->text_ascii_data : l->text_data;
    if (!alqi_python_read(r, at, &ends[0], n_end) ||
        !alqi_python_read(r, at + n - n_end, &ends[1], n_end))
        return 0;
    return alqi_base_mix(ends[0] ^ alqi_base_mix(ends[1] ^ n));
}

bool
alqi_python_code_read(const struct alqi_python *python,
                      struct alqi_python_reader *r, uintptr_t at,
                      struct alqi_python_code *out)
{
    const struct alqi_python_layout *l = python->layout;
    uintptr_t file;

    if (!alqi_python_is_a(r, at, l->code_bytes, l->type, python->code_type))
        return false;
    out->name = alqi_python_load(at, l->code_name);
    out->lines = alqi_python_load(at, l->code_lines);
    out->first_line = *(const int32_t *)(at + l->code_first_line);
    file = alqi_python_load(at, l->code_file);
    if (file != r->file)
        r->file_hash = text_hash(python, r, r->file = file);
    out->texts = text_hash(python, r, out->name) * 31 + r->file_hash;
    return true;
}

void
alqi_python_code_name(const struct alqi_python *python,
                      struct alqi_python_reader *r, uintptr_t at, char *name,
                      size_t name_bytes, char *file, size_t file_bytes)
{
    const struct alqi_python_layout *l = python->layout;
    uintptr_t text;

    strcpy(name, "?");
    strcpy(file, "?");
    if (alqi_python_word(r, at + l->code_name, &text))
        text_read(python, r, text, name, name_bytes);
    if (alqi_python_word(r, at + l->code_file, &text))
        text_read(python, r, text, file, file_bytes);
}
