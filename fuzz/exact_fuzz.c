/* exact_fuzz.c -- the decoders of the exact mode's chunks on any bytes
 *
 * The first byte picks the kind of chunk; the rest stands behind its header.
 * Events that decode are encoded again, and must come back as they were. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/exact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Alignas(8) uint8_t again[ALQI_RAW_CHUNK_BYTES];
static struct alqi_exact_encoder encoder;
static struct alqi_exact_decoder decoder, second;

#define check(is_true) check_at((is_true), __LINE__)

static void
check_at(bool is_true, int line)
{
    if (is_true)
        return;
    fprintf(stderr, "line %d\n", line);
    abort();
}

static uint8_t *
chunk_from(const uint8_t *data, size_t size, enum alqi_raw_chunk_kind kind)
{
    struct alqi_raw_chunk_header header = {
        .magic = ALQI_RAW_CHUNK_MAGIC,
        .kind = kind,
        .start_ns = 1000,
        .first_ordinal = 5,
        .used = UINT32_MAX, /* more than there is */
    };
    uint8_t *chunk = malloc(sizeof header + size);

    check(chunk != NULL);
    memcpy(chunk, &header, sizeof header);
    if (size > 0)
        memcpy(chunk + sizeof header, data, size);
    return chunk;
}

static void
check_event(const struct alqi_exact_event *e)
{
    check(e->kind <= ALQI_EXACT_FREE);
    switch (e->kind) {
    case ALQI_EXACT_ALLOC:
    case ALQI_EXACT_FREE:
        check(e->address < (uint64_t)1 << 48);
        break;
    case ALQI_EXACT_THREAD:
        check(strnlen(e->name, sizeof e->name) < sizeof e->name);
        break;
    case ALQI_EXACT_RATE:
        check(e->rate >= 0 && e->rate <= 1);
        break;
    case ALQI_EXACT_TIMED:
    case ALQI_EXACT_SHIFT:
        check(false); /* never handed out */
        break;
    default:
        break;
    }
}

/* Encodes allocations and frees in a timed chunk; false when it is full. */
static bool
put_again(const struct alqi_exact_event *e, uint64_t ticks)
{
    ticks <<= ALQI_EXACT_TICK_SHIFT;
    if (e->kind == ALQI_EXACT_ALLOC)
        return alqi_exact_put_alloc(&encoder, ticks, e->address, e->size_bytes,
                                    e->node);
    if (e->kind == ALQI_EXACT_FREE)
        return alqi_exact_put_free(&encoder, ticks, e->address);
    return true;
}

static void
events(const uint8_t *data, size_t size)
{
    uint8_t *chunk = chunk_from(data, size, ALQI_RAW_EXACT);
    struct alqi_raw_chunk_header *h = (void *)again;
    struct alqi_exact_event e;
    uint64_t ticks = 5;
    bool has_room = true;
    int got;

    *h = (struct alqi_raw_chunk_header){.magic = ALQI_RAW_CHUNK_MAGIC,
                                        .kind = ALQI_RAW_EXACT,
                                        .first_ordinal = ticks};
    alqi_exact_begin(&encoder, h, sizeof again, true);
    check(alqi_exact_decoder_open(&decoder, chunk, sizeof *h + size));
    while ((got = alqi_exact_next(&decoder, &e)) > 0) {
        check_event(&e);
        has_room = has_room && put_again(&e, ++ticks);
        if (!has_room ||
            (e.kind != ALQI_EXACT_ALLOC && e.kind != ALQI_EXACT_FREE))
            continue;
        h->used = (uint32_t)(encoder.at - (uint8_t *)(h + 1));
    }
    check((got < 0) == (decoder.error != NULL));
    /* Side by side: the decoder of the bytes, and of what was made of them. */
    check(alqi_exact_decoder_open(&decoder, chunk, sizeof *h + size));
    check(alqi_exact_decoder_open(&second, again, sizeof again));
    for (struct alqi_exact_event f; alqi_exact_next(&second, &f) > 0;) {
        do
            check(alqi_exact_next(&decoder, &e) > 0);
        while (e.kind != ALQI_EXACT_ALLOC && e.kind != ALQI_EXACT_FREE);
        check(e.kind == f.kind && e.address == f.address);
        check(e.kind == ALQI_EXACT_FREE ||
              (e.size_bytes == f.size_bytes && e.node == f.node));
    }
    check(second.error == NULL);
    free(chunk);
}

static void
nodes(const uint8_t *data, size_t size)
{
    uint8_t *chunk = chunk_from(data, size, ALQI_RAW_NODES);
    struct alqi_exact_node_decoder d;
    uint32_t id, parent, next = 5;
    uint64_t pc;
    int got;

    check(alqi_exact_node_decoder_open(
        &d, chunk, sizeof(struct alqi_raw_chunk_header) + size));
    while ((got = alqi_exact_node_next(&d, &id, &parent, &pc)) > 0)
        check(id == next++ && parent < id);
    check((got < 0) == (d.error != NULL));
    free(chunk);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && (data[0] & 1) != 0)
        nodes(data + 1, size - 1);
    else if (size > 0)
        events(data + 1, size - 1);
    return 0;
}
