/* raw_fuzz.c -- the decoder of the preload's recordings on any bytes
 *
 * The input is what stands behind a chunk's header. */
#include <stdlib.h>
#include <string.h>

#include "wire/raw.h"
#include "wire/side.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool is_true)
{
    if (!is_true)
        abort();
}

static void
check_event(const struct alqi_raw_decoder *d, const struct alqi_raw_event *e)
{
    uint64_t sum = 0;

    check(e->kind == ALQI_RAW_ALLOC || !(e->is_moved || e->is_mapping));
    check(e->pool <= ALQI_RAW_PYTHON_NUMBER_MAX);
    check(d->n_frames <= ALQI_RAW_FRAMES_MAX && d->n_shared <= d->n_frames);
    for (uint32_t i = 0; i < d->n_frames; i++)
        sum += d->frames[i];
    __asm__ volatile("" : : "r"(sum));
    switch (e->kind) {
    case ALQI_RAW_THREAD:
        check(strnlen(e->name, sizeof e->name) < sizeof e->name);
        break;
    case ALQI_RAW_MODULE:
        check(strnlen(e->path, sizeof e->path) < sizeof e->path);
        check(e->build_id_bytes <= sizeof e->build_id && e->start <= e->end);
        break;
    case ALQI_RAW_CODE:
        check(strnlen(e->path, sizeof e->path) < sizeof e->path);
        check(strnlen(e->function, sizeof e->function) < sizeof e->function);
        check(e->number <= ALQI_RAW_PYTHON_NUMBER_MAX);
        break;
    case ALQI_RAW_MARK:
        check(e->number <= ALQI_SIDE_MARKS_MAX && e->function[0] != '\0' &&
              strnlen(e->function, ALQI_SIDE_MARK_BYTES) <
                  ALQI_SIDE_MARK_BYTES);
        break;
    case ALQI_RAW_FREE_OWN:
        check(e->ordinal < d->next_ordinal);
        break;
    case ALQI_RAW_RATE:
        check(e->rate > 0 && e->rate <= 1);
        break;
    case ALQI_RAW_MOVED_OWN:
    case ALQI_RAW_MOVED_OTHER:
    case ALQI_RAW_MAPPED:
    case ALQI_RAW_REBORN:
    case ALQI_RAW_POOLED:
        check(false); /* they come as part of an allocation */
        break;
    case ALQI_RAW_ALLOC_NAMED:
    case ALQI_RAW_ALLOC_AGAIN:
        check(false); /* they come out as ALLOC */
        break;
    case ALQI_RAW_ALLOC:
    case ALQI_RAW_FREE_OTHER:
    case ALQI_RAW_RSS:
        break;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct alqi_raw_decoder decoder;
    static struct alqi_raw_event event;
    struct alqi_raw_chunk_header header = {
        .magic = ALQI_RAW_CHUNK_MAGIC,
        .kind = ALQI_RAW_EVENTS,
        .start_ns = 1000,
        .used = UINT32_MAX, /* more than there is */
    };
    uint64_t last_ns = 0;
    uint8_t *chunk = malloc(sizeof header + size);
    int got;

    check(chunk != NULL);
    memcpy(chunk, &header, sizeof header);
    if (size > 0)
        memcpy(chunk + sizeof header, data, size);
    check(alqi_raw_decoder_open(&decoder, chunk, sizeof header + size));
    while ((got = alqi_raw_next(&decoder, &event)) > 0) {
        check(event.time_ns >= last_ns);
        last_ns = event.time_ns;
        check_event(&decoder, &event);
    }
    check((got < 0) == (decoder.error != NULL));
    free(chunk);
    return 0;
}
