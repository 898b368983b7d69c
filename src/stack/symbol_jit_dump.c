/* symbol_jit_dump.c -- the records of a jitdump
 *
 * A header, then records: LOAD (code made at an address), MOVE (it is elsewhere
 * from now on), DEBUG_INFO (lines of the LOAD that follows), CLOSE (the last
 * one); others are passed over. Layout as the
 * kernel's tools/perf/Documentation/jitdump-specification.txt has it, in the
 * byte order of the machine; a file of another order is refused as a whole.
 *
 * A record is taken in when its fixed part and its name are there, lines when
 * all of them are and the caller has room for them. The code itself is
 * passed over, whether it has been written yet or not. */
#include <string.h>

#include "stack/symbol_jit.h"
#include "stack/symbol_jit_pieces.h"

enum {
    MAGIC = 0x4A695444,
    HEADER_BYTES = 40,
    FLAG_OTHER_CLOCK = 1, /* times are of the processor's counter */
    PREFIX_BYTES = 16,    /* id, total size, time */
    LOAD_BYTES = 56,      /* with the prefix, up to the name */
    MOVE_BYTES = 64,
    LINES_BYTES = 32, /* with the prefix: address, number of lines */
    LINE_BYTES = 16   /* address, line, column; then the name */
};

enum { RECORD_LOAD = 0, RECORD_MOVE = 1, RECORD_LINES = 2, RECORD_CLOSE = 3 };

/* In the place of a file's name: it is that of the line before. */
static const char SAME_FILE[] = "\xff";

static uint32_t
u32_at(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t
u64_at(const uint8_t *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

/* Nothing more of the file makes sense, or is wanted. */
static size_t
stop(struct alqi_symbol_jit *jit, size_t n_bytes, bool is_odd)
{
    jit->n_odd += is_odd;
    jit->is_over = true;
    return n_bytes;
}

/* The file's header: magic, version, its size, ..., flags; 0: it is not there
 * yet. */
static size_t
header_take(struct alqi_symbol_jit *jit, const uint8_t *at, size_t n_bytes)
{
    uint32_t size_bytes;

    if (n_bytes < HEADER_BYTES)
        return 0;
    size_bytes = u32_at(at + 8);
    if (u32_at(at) != MAGIC || size_bytes < HEADER_BYTES)
        return stop(jit, n_bytes, true);
    jit->has_header = true;
    jit->has_times = (u64_at(at + 32) & FLAG_OTHER_CLOCK) == 0;
    return size_bytes;
}

/* One line; false: it makes no sense. */
static bool
line_take(struct alqi_symbol_jit *jit, const uint8_t **at, const uint8_t *end)
{
    const char *file = (const char *)*at + LINE_BYTES, *stop;
    bool is_ok;

    if (end - *at <= LINE_BYTES)
        return false;
    stop = memchr(file, '\0', (size_t)(end - *at) - LINE_BYTES);
    if (stop == NULL)
        return false;
    is_ok = alqi_symbol_jit_line_add(jit, u64_at(*at), u32_at(*at + 8),
                                     strcmp(file, SAME_FILE) == 0 ? NULL : file,
                                     (size_t)(stop - file));
    *at = (const uint8_t *)stop + 1;
    return is_ok;
}

/* DEBUG_INFO: the address of the code, then lines. If one makes no sense, all
 * are left out, and nothing is said of it: node 20 writes names of files that
 * it has freed. */
static void
lines_take(struct alqi_symbol_jit *jit, const uint8_t *at, size_t n_bytes)
{
    const uint8_t *end = at + n_bytes;
    uint64_t n = u64_at(at + 24);

    alqi_symbol_jit_lines_begin(jit, u64_at(at + 16));
    at += LINES_BYTES;
    while (n > 0 && line_take(jit, &at, end))
        n--;
    if (n > 0 || at != end)
        alqi_symbol_jit_lines_drop(jit);
}

/* LOAD: pid, tid, vma, address, size, index, name, code. False: the name is not
 * there as a whole. */
static bool
load_take(struct alqi_symbol_jit *jit, const uint8_t *at, size_t n_bytes,
          uint64_t time_ns)
{
    const uint8_t *name = at + LOAD_BYTES;
    const uint8_t *end = memchr(name, '\0', n_bytes - LOAD_BYTES);

    if (end == NULL)
        return false;
    if (!alqi_symbol_jit_add(jit, u64_at(at + 32), u64_at(at + 40), time_ns,
                             (const char *)name, (size_t)(end - name)))
        return true;
    alqi_symbol_jit_lines_take(jit, u64_at(at + 32),
                               &jit->pieces[jit->n_pieces - 1]);
    if (!alqi_base_map_put(&jit->piece_of, u64_at(at + 48), jit->n_pieces - 1))
        jit->n_over++;
    return true;
}

/* MOVE: pid, tid, vma, old address, new address, size, index of the LOAD. */
static void
move_take(struct alqi_symbol_jit *jit, const uint8_t *at, uint64_t time_ns)
{
    const char *text;
    uint64_t piece;

    if (!alqi_base_map_get(&jit->piece_of, u64_at(at + 56), &piece)) {
        jit->n_odd++;
        return;
    }
    text = jit->pieces[piece].text;
    if (!alqi_symbol_jit_add(jit, u64_at(at + 40), u64_at(at + 48), time_ns,
                             text, strlen(text)))
        return;
    jit->pieces[jit->n_pieces - 1].first_line = jit->pieces[piece].first_line;
    jit->pieces[jit->n_pieces - 1].n_lines = jit->pieces[piece].n_lines;
}

/* The fixed part of a record that is taken in. */
static size_t
least_bytes(uint32_t id)
{
    static const size_t least[] = {[RECORD_LOAD] = LOAD_BYTES,
                                   [RECORD_MOVE] = MOVE_BYTES,
                                   [RECORD_LINES] = LINES_BYTES};

    return least[id];
}

/* The next record; 0: it is not there yet. */
static size_t
record_take(struct alqi_symbol_jit *jit, const uint8_t *at, size_t n_bytes,
            bool is_full)
{
    uint32_t id, record_bytes;
    uint64_t time_ns;

    if (n_bytes < PREFIX_BYTES)
        return 0;
    id = u32_at(at);
    record_bytes = u32_at(at + 4);
    time_ns = jit->has_times ? u64_at(at + 8) : 0;
    if (id == RECORD_CLOSE || record_bytes < PREFIX_BYTES)
        return stop(jit, n_bytes, id != RECORD_CLOSE);
    if (id > RECORD_LINES)
        return record_bytes;
    if (record_bytes < least_bytes(id) + (id == RECORD_LOAD)) {
        jit->n_odd++;
        return record_bytes;
    }
    if (n_bytes > record_bytes)
        n_bytes = record_bytes;
    if (n_bytes < least_bytes(id) ||
        (id == RECORD_LINES && n_bytes < record_bytes && !is_full))
        return 0;
    if (id == RECORD_MOVE)
        move_take(jit, at, time_ns);
    else if (id == RECORD_LINES)
        lines_take(jit, at, n_bytes);
    else if (!load_take(jit, at, n_bytes, time_ns)) {
        if (n_bytes < record_bytes && !is_full)
            return 0;
        jit->n_odd++;
    }
    return record_bytes;
}

size_t
alqi_symbol_jit_take_dump(struct alqi_symbol_jit *jit, const uint8_t *bytes,
                          size_t n_bytes, bool is_full)
{
    size_t done = 0, n;

    while (done < n_bytes) {
        if (jit->is_over)
            return n_bytes;
        n = jit->has_header ? record_take(jit, bytes + done, n_bytes - done,
                                          is_full && done == 0)
                            : header_take(jit, bytes, n_bytes);
        if (n == 0)
            break;
        done += n;
    }
    return done;
}
