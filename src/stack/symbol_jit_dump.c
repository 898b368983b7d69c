/* symbol_jit_dump.c -- the records of a jitdump
 *
 * A header, then records: LOAD (code made at an address), MOVE (it is elsewhere
 * from now on), CLOSE (the last one); others are passed over. Layout as the
 * kernel's tools/perf/Documentation/jitdump-specification.txt has it, in the
 * byte order of the machine; a file of another order is refused as a whole.
 *
 * A record is taken in when its fixed part and its name are there. The code
 * itself is passed over, whether it has been written yet or not. */
#include <string.h>

#include "stack/symbol_jit.h"
#include "stack/symbol_jit_pieces.h"

enum {
    MAGIC = 0x4A695444,
    HEADER_BYTES = 40,
    FLAG_OTHER_CLOCK = 1, /* times are of the processor's counter */
    PREFIX_BYTES = 16,    /* id, total size, time */
    LOAD_BYTES = 56,      /* with the prefix, up to the name */
    MOVE_BYTES = 64
};

enum { RECORD_LOAD = 0, RECORD_MOVE = 1, RECORD_CLOSE = 3 };

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
    if (alqi_symbol_jit_add(jit, u64_at(at + 32), u64_at(at + 40), time_ns,
                            (const char *)name, (size_t)(end - name)) &&
        !alqi_base_map_put(&jit->piece_of, u64_at(at + 48), jit->n_pieces - 1))
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
    (void)alqi_symbol_jit_add(jit, u64_at(at + 40), u64_at(at + 48), time_ns,
                              text, strlen(text));
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
    if (id > RECORD_MOVE)
        return record_bytes;
    if (record_bytes < (id == RECORD_LOAD ? LOAD_BYTES + 1 : MOVE_BYTES)) {
        jit->n_odd++;
        return record_bytes;
    }
    if (n_bytes > record_bytes)
        n_bytes = record_bytes;
    if (n_bytes < (id == RECORD_LOAD ? LOAD_BYTES : MOVE_BYTES))
        return 0;
    if (id == RECORD_MOVE)
        move_take(jit, at, time_ns);
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
