/* dump_encode.c -- records of a heap's snapshot into a buffer, and on to a file
 *
 * An encoder is BETWEEN records, or in a RUN: then `block` is the block whose
 * edges come.  What is no block or edge closes the RUN first.
 *
 * It runs in a copy of a process (heap/snapshot.h): it allocates nothing, takes
 * no lock, and calls the writing function alone.
 *
 * Keeps .inv.dump_order: A RUN goes from low addresses to high ones, without a
 *   gap where blocks of another RUN may lie. */
#include <string.h>

#include "wire/dump.h"
#include "wire/varint.h"

/* A gap as long as a pool begins a new RUN, so that no RUN goes around the
 * blocks of another one: pools, and minor heaps, lie at multiples of it. */
enum { RUN_GAP_BYTES = 32768, WORD_BYTES = 8 };

/* ---- the buffer --------------------------------------------------------- */

static void
flush(struct alqi_dump_encoder *e)
{
    size_t n = (size_t)(e->at - e->buffer);

    if (n > 0 && !e->has_failed)
        e->has_failed = !e->write(e->arg, e->buffer, n);
    e->at = e->buffer;
}

/* Makes room for so many numbers. */
static inline void
reserve(struct alqi_dump_encoder *e, size_t numbers)
{
    if (e->buffer + sizeof e->buffer - e->at <
        (ptrdiff_t)(numbers * ALQI_WIRE_VARINT_BYTES_MAX))
        flush(e);
}

static void
put(struct alqi_dump_encoder *e, uint64_t number)
{
    reserve(e, 1);
    e->at = alqi_wire_varint_put(e->at, number);
}

static void
put_bytes(struct alqi_dump_encoder *e, const void *bytes, size_t n)
{
    const uint8_t *from = bytes;

    put(e, n);
    while (n > 0) {
        size_t room = (size_t)(e->buffer + sizeof e->buffer - e->at);
        size_t part = n < room ? n : room;

        memcpy(e->at, from, part);
        e->at += part;
        from += part;
        n -= part;
        if (n > 0)
            flush(e);
    }
}

static void
put_text(struct alqi_dump_encoder *e, const char *text)
{
    put_bytes(e, text, text != NULL ? strlen(text) : 0);
}

/* Closes the RUN, if one is open: no more edges, no more blocks. */
static void
close_run(struct alqi_dump_encoder *e)
{
    if (e->block == 0)
        return;
    put(e, 0);
    put(e, 0);
    e->block = 0;
}

/* Begins a record. */
static void
open_record(struct alqi_dump_encoder *e, enum alqi_dump_kind kind)
{
    close_run(e);
    put(e, kind); /* below 128: a byte */
}

/* ---- records ------------------------------------------------------------ */

void
alqi_dump_begin(struct alqi_dump_encoder *e, alqi_dump_write_fn *write,
                void *arg)
{
    memset(e, 0, offsetof(struct alqi_dump_encoder, buffer));
    e->write = write;
    e->arg = arg;
    memcpy(e->buffer, ALQI_DUMP_MAGIC, sizeof ALQI_DUMP_MAGIC - 1);
    e->at = e->buffer + sizeof ALQI_DUMP_MAGIC - 1;
}

void
alqi_dump_program(struct alqi_dump_encoder *e, uint64_t pid, uint64_t wall_us,
                  const char *command, size_t command_bytes)
{
    open_record(e, ALQI_DUMP_PROGRAM);
    put(e, pid);
    put(e, wall_us);
    put_bytes(e, command, command_bytes);
}

void
alqi_dump_module(struct alqi_dump_encoder *e,
                 const struct alqi_dump_module *module)
{
    open_record(e, ALQI_DUMP_MODULE);
    put(e, module->start);
    put(e, module->end);
    put(e, module->bias);
    put_text(e, module->path);
    put_bytes(e, module->build_id, module->build_id_bytes);
}

void
alqi_dump_kind_name(struct alqi_dump_encoder *e, uint64_t number,
                    const char *name)
{
    open_record(e, ALQI_DUMP_KIND);
    put(e, number);
    put_text(e, name);
}

void
alqi_dump_site(struct alqi_dump_encoder *e, uint64_t number,
               const struct alqi_dump_frame *frames, size_t n_frames)
{
    size_t i;

    open_record(e, ALQI_DUMP_SITE);
    put(e, number);
    put(e, n_frames);
    for (i = 0; i < n_frames; i++) {
        put(e, frames[i].address);
        put_text(e, frames[i].function);
        put_text(e, frames[i].file);
        put(e, frames[i].line);
    }
}

void
alqi_dump_root(struct alqi_dump_encoder *e, enum alqi_dump_root kind,
               uint64_t domain, uint64_t slot, const char *name, uint64_t block)
{
    open_record(e, ALQI_DUMP_ROOT);
    put(e, kind);
    put(e, domain);
    put(e, slot);
    put_text(e, name);
    put(e, block);
    e->n_roots++;
}

void
alqi_dump_sample(struct alqi_dump_encoder *e, uint64_t block, uint64_t site,
                 uint64_t samples, double rate)
{
    uint64_t bits;

    memcpy(&bits, &rate, sizeof bits);
    open_record(e, ALQI_DUMP_SAMPLE);
    put(e, block);
    put(e, site);
    put(e, samples);
    put(e, bits);
    e->n_samples++;
}

void
alqi_dump_traced(struct alqi_dump_encoder *e, uint64_t block, uint64_t stream,
                 uint64_t object)
{
    open_record(e, ALQI_DUMP_TRACED);
    put(e, block);
    put(e, stream);
    put(e, object);
}

/* ---- blocks ------------------------------------------------------------- */

/* Begins a RUN at the header, unless the open one reaches it. */
static void
run_to(struct alqi_dump_encoder *e, uint64_t header)
{
    if (e->block != 0 && header >= e->run_end &&
        header - e->run_end < RUN_GAP_BYTES) {
        put(e, 0); /* no more edges */
        return;
    }
    open_record(e, ALQI_DUMP_RUN);
    put(e, header);
    e->run_end = header;
}

void
alqi_dump_block(struct alqi_dump_encoder *e, uint64_t block, uint64_t wosize,
                unsigned tag, uint64_t kind_plus_1)
{
    uint64_t header = block - WORD_BYTES;

    run_to(e, header);
    reserve(e, 3);
    e->at = alqi_wire_varint_put(e->at, wosize << 8 | tag);
    e->at = alqi_wire_varint_put(e->at, (header - e->run_end) / WORD_BYTES);
    e->at = alqi_wire_varint_put(e->at, kind_plus_1);
    e->block = block;
    e->run_end = block + wosize * WORD_BYTES;
    e->n_blocks++;
    e->n_words += wosize + 1;
}

void
alqi_dump_edge(struct alqi_dump_encoder *e, uint64_t target)
{
    int64_t words = (int64_t)(target - e->block) / WORD_BYTES;

    put(e, 1 + alqi_wire_zigzag(words));
    e->n_edges++;
}

bool
alqi_dump_end(struct alqi_dump_encoder *e, uint64_t stop_ns, bool is_copied)
{
    open_record(e, ALQI_DUMP_END);
    put(e, e->n_blocks);
    put(e, e->n_words);
    put(e, e->n_edges);
    put(e, e->n_roots);
    put(e, e->n_samples);
    put(e, stop_ns);
    put(e, is_copied ? 1 : 0);
    flush(e);
    return !e->has_failed;
}
