/* dump_decode.h -- a heap snapshot's records, read [doc/design/heap-snapshot]
 *
 * Pure, over bytes that are all there (a mapped file).  States of a decoder:
 *
 *   between records -> in a RUN -> between records
 *                   -> over (END was read), or failed (error is set)
 *   in a RUN: between blocks -> within a block's edges -> between blocks
 *
 * .inv.dump_within  at <= end, and no text or block that was handed out lies
 *                   beyond it.
 * .inv.dump_again   the same bytes give the same records up to the same error:
 *                   who reads a damaged file twice sees the same blocks.
 *
 * Blocks and edges are inline: a reader goes through tens of millions. */
#ifndef ALQI_WIRE_DUMP_DECODE_H
#define ALQI_WIRE_DUMP_DECODE_H

#include "wire/dump.h"
#include "wire/varint.h"

/* A text of the file: not terminated, of any bytes. */
struct alqi_dump_text {
    const char *bytes;
    size_t n;
};

struct alqi_dump_record {
    enum alqi_dump_kind kind;
    /* PROGRAM: pid, wall us.  MODULE: start, end, bias.  KIND: number.
     * SITE: number, frames.  ROOT: kind, domain, slot, block.
     * SAMPLE: block, site, samples, bits of the rate.  TRACED: block,
     * stream, object.  RUN: address of the first header.  END: as in dump.h. */
    uint64_t numbers[7];
    /* PROGRAM: command.  MODULE: path, build-id.  KIND, ROOT: name. */
    struct alqi_dump_text texts[2];
    const uint8_t *frames, *frames_end; /* SITE: for alqi_dump_next_frame */
};

struct alqi_dump_site_frame {
    uint64_t address;
    struct alqi_dump_text function, file;
    uint64_t line;
};

/* A block of a RUN; address is that of its first field. */
struct alqi_dump_block_read {
    uint64_t address, wosize, kind_plus_1;
    unsigned tag;
};

struct alqi_dump_decoder {
    const uint8_t *begin, *at, *end;
    const char *error;    /* NULL, or what is wrong ... */
    uint64_t error_bytes; /* ... and where: of the file's bytes */
    bool is_over;         /* END was read */
    bool is_in_run;       /* more blocks of the RUN may come */
    bool has_edges;       /* more edges of the last block may come */
    uint64_t run_end;     /* address behind the last block */
    uint64_t block;       /* address of the last block */
};

/* False: the bytes are no snapshot; error is set. */
bool alqi_dump_decode(struct alqi_dump_decoder *d, const uint8_t *bytes,
                      size_t n);

/* 1: *record is the next one; 0: the file is over; -1: error is set.  What is
 * left of a RUN is skipped. */
int alqi_dump_next(struct alqi_dump_decoder *d,
                   struct alqi_dump_record *record);

/* The next frame of a SITE: innermost first; of numbers[1] frames. */
void alqi_dump_next_frame(struct alqi_dump_record *site,
                          struct alqi_dump_site_frame *frame);

/* Sets the error, and where the decoder is. */
void alqi_dump_fail(struct alqi_dump_decoder *d, const char *error);

static inline bool
alqi_dump_refuse(struct alqi_dump_decoder *d, const char *error)
{
    alqi_dump_fail(d, error);
    return false;
}

/* A number of one byte is by far the most frequent one. */
static inline bool
alqi_dump_number(struct alqi_dump_decoder *d, uint64_t *number)
{
    bool is_there = d->at < d->end;
    const char *why;

    if (is_there && *d->at < 0x80) {
        *number = *d->at++;
        return true;
    }
    why = alqi_wire_varint_get(&d->at, d->end, number);
    if (why == NULL)
        return true;
    return alqi_dump_refuse(d,
                            d->at == d->end && !(is_there && d->at[-1] < 0x80)
                                ? "the file ends within a record"
                                : why);
}

/* The next edge of the last block: address of the target.  False: there is no
 * more, or error is set. */
static inline bool
alqi_dump_next_edge(struct alqi_dump_decoder *d, uint64_t *target)
{
    uint64_t number;

    if (!d->has_edges || !alqi_dump_number(d, &number))
        return false;
    d->has_edges = number != 0;
    *target = d->block + (uint64_t)alqi_wire_unzigzag(number - 1) * 8;
    return d->has_edges;
}

/* Whether the last block has an edge that was not read. */
static inline bool
alqi_dump_has_edge(const struct alqi_dump_decoder *d)
{
    return d->has_edges && d->at < d->end && *d->at != 0;
}

/* Edges of the last block that were not read. */
static inline bool
alqi_dump_skip_edges(struct alqi_dump_decoder *d)
{
    uint64_t target;

    while (alqi_dump_next_edge(d, &target))
        ;
    return d->error == NULL;
}

/* The next block of the RUN; false: there is none left, or error is set. */
static inline bool
alqi_dump_next_block(struct alqi_dump_decoder *d,
                     struct alqi_dump_block_read *block)
{
    uint64_t gap, head, room;

    if (!d->is_in_run || !alqi_dump_skip_edges(d) ||
        !alqi_dump_number(d, &head))
        return false;
    d->is_in_run = head != 0;
    if (head == 0 || !alqi_dump_number(d, &gap) ||
        !alqi_dump_number(d, &block->kind_plus_1))
        return false;
    room = (UINT64_MAX - d->run_end) / 8; /* words up to the end of all */
    block->wosize = head >> 8;
    block->tag = head & 0xFF;
    if (gap >= room || block->wosize >= room - gap)
        return alqi_dump_refuse(d, "a block lies beyond the last address");
    if (block->wosize == 0)
        return alqi_dump_refuse(d, "a block has no words");
    block->address = d->run_end + (gap + 1) * 8;
    d->block = block->address;
    d->run_end = block->address + block->wosize * 8;
    d->has_edges = true;
    return true;
}

#endif
