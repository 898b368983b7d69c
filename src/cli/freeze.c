/* freeze.c -- see freeze.h
 *
 * .inv.first  The chunk that is filled again is the first of its stream in the
 *             file; all others of the stream are what it was before, written
 *             before it begins anew.
 * .inv.whole  So the file, looked at after the copy of that chunk was taken,
 *             has every chunk of the stream before it. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/map.h"
#include "cli/freeze.h"
#include "wire/raw.h"

enum {
    TRIES = 1000,
    PAYLOAD = ALQI_RAW_CHUNK_BYTES - ALQI_RAW_CHUNK_HEADER_BYTES
};

struct held {
    struct alqi_raw_chunk_header header;
    uint8_t payload[PAYLOAD];
};

struct freezer {
    struct alqi_base_map streams; /* stream -> its place in held */
    struct held **held;
    size_t *slots; /* of each */
    size_t n, capacity;
};

static size_t
n_slots(size_t n_bytes)
{
    return n_bytes < ALQI_RAW_HEADER_BYTES
               ? 0
               : (n_bytes - ALQI_RAW_HEADER_BYTES) / ALQI_RAW_CHUNK_BYTES;
}

static uint8_t *
slot_at(uint8_t *bytes, size_t slot)
{
    return bytes + ALQI_RAW_HEADER_BYTES + slot * ALQI_RAW_CHUNK_BYTES;
}

/* What was read before is read before what comes.  TSan knows no fences, and
 * sees nothing of another process anyway. */
static void
loads_are_done(void)
{
#ifdef __SANITIZE_THREAD__
    atomic_signal_fence(memory_order_acquire);
#else
    atomic_thread_fence(memory_order_acquire);
#endif
}

/* The writer sets `used` to 0 before it changes anything else. */
static void
chunk_hold(const uint8_t *chunk, struct held *h)
{
    const struct alqi_raw_chunk_header *live = (const void *)chunk;

    for (unsigned i = 0; i < TRIES; i++) {
        uint32_t used = atomic_load_explicit(&live->used, memory_order_acquire);

        memcpy(&h->header, live, sizeof h->header);
        if (used > PAYLOAD)
            used = PAYLOAD;
        memcpy(h->payload, chunk + sizeof h->header, used);
        atomic_store_explicit(&h->header.used, used, memory_order_relaxed);
        loads_are_done();
        if (atomic_load_explicit(&live->used, memory_order_relaxed) >= used &&
            *(const volatile uint32_t *)&live->sequence == h->header.sequence)
            return;
    }
    atomic_store_explicit(&h->header.used, 0, memory_order_relaxed);
}

static bool
room(struct freezer *f)
{
    size_t capacity = f->capacity * 2 + 16;
    struct held **held;
    size_t *slots;

    if (f->n < f->capacity)
        return true;
    held = realloc(f->held, capacity * sizeof(struct held *));
    if (held != NULL)
        f->held = held;
    slots = realloc(f->slots, capacity * sizeof *slots);
    if (slots != NULL)
        f->slots = slots;
    if (held == NULL || slots == NULL)
        return false;
    f->capacity = capacity;
    return true;
}

static bool
stream_hold(struct freezer *f, const uint8_t *chunk, uint32_t stream,
            size_t slot)
{
    struct held *h;

    if (!room(f))
        return false;
    h = malloc(sizeof *h);
    if (h == NULL)
        return false;
    f->held[f->n] = h;
    f->slots[f->n] = slot;
    chunk_hold(chunk, h);
    return alqi_base_map_put(&f->streams, stream, f->n++);
}

static bool
is_exact(const struct alqi_raw_chunk_header *h)
{
    return h->magic == ALQI_RAW_CHUNK_MAGIC && h->kind == ALQI_RAW_EXACT;
}

/* .inv.first */
static bool
streams_hold(struct freezer *f, uint8_t *bytes, size_t n_bytes)
{
    size_t n = n_slots(n_bytes);
    uint64_t at;

    for (size_t i = 0; i < n; i++) {
        struct alqi_raw_chunk_header h;

        memcpy(&h, slot_at(bytes, i), sizeof h);
        if (is_exact(&h) && !alqi_base_map_get(&f->streams, h.stream, &at) &&
            !stream_hold(f, slot_at(bytes, i), h.stream, i))
            return false;
    }
    return true;
}

/* In the caller's own copy of the pages. */
static void
streams_put(const struct freezer *f, uint8_t *bytes, size_t n_bytes)
{
    size_t n = n_slots(n_bytes);

    for (size_t i = 0; i < n; i++) {
        struct alqi_raw_chunk_header *h = (void *)slot_at(bytes, i);
        const struct held *held;
        uint64_t at;

        if (!is_exact(h))
            continue;
        if (!alqi_base_map_get(&f->streams, h->stream, &at)) {
            h->magic = 0; /* later than the moment */
            continue;
        }
        held = f->held[at];
        if (f->slots[at] == i)
            memcpy(h, held, sizeof held->header + held->header.used);
        else if (h->sequence > held->header.sequence)
            h->magic = 0;
    }
}

static void
freezer_clear(struct freezer *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->held[i]);
    free(f->held);
    free(f->slots);
    alqi_base_map_clear(&f->streams);
}

static uint8_t *
file_map(int fd, size_t *n_bytes, int protection, int flags)
{
    struct stat st;
    void *p;

    if (fstat(fd, &st) != 0)
        return NULL;
    *n_bytes = (size_t)st.st_size;
    p = mmap(NULL, *n_bytes, protection, flags, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

uint8_t *
alqi_cli_freeze(int fd, size_t *n_bytes)
{
    uint8_t *bytes = file_map(fd, n_bytes, PROT_READ, MAP_SHARED);
    struct freezer f = {0};
    bool ok = bytes != NULL && streams_hold(&f, bytes, *n_bytes);

    if (bytes != NULL)
        munmap(bytes, *n_bytes);
    bytes = NULL;
    if (ok) /* .inv.whole */
        bytes = file_map(fd, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    if (bytes != NULL)
        streams_put(&f, bytes, *n_bytes);
    freezer_clear(&f);
    return bytes;
}
