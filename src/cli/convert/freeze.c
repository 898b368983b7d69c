/* freeze.c -- maps a recording so that its exact streams stand still
 *
 * [freeze.h] The mapping is private. A store to each exact chunk copies its
 * page, so what the writer adds later does not show. Chunks of other kinds
 * stay shared with the file and may grow, unless all are to be held.
 *
 * .inv.newest A stream's next chunk is made behind all that are there, and
 *             when the one before it has its last event.
 * .inv.behind So where `used` is read from the last chunk to the first, each
 *             chunk is whole if a later one of its stream was seen. */
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/convert/freeze.h"
#include "wire/raw.h"

/* Stops a chunk where it is. The store makes the page the caller's own. Bytes
 * that the writer adds behind `used` while the page is copied change
 * nothing. */
static void
chunk_hold(struct alqi_raw_chunk_header *chunk)
{
    uint32_t used = atomic_load_explicit(&chunk->used, memory_order_acquire);

    atomic_store_explicit(&chunk->used, used, memory_order_relaxed);
}

/* Holds all chunks of the exact mode, or all there are, from the last to the
 * first (.inv.behind). */
static void
chunks_hold(uint8_t *bytes, size_t n_bytes, bool holds_all)
{
    size_t before = alqi_raw_header_bytes((const void *)bytes);
    size_t n = n_bytes < before ? 0 : (n_bytes - before) / ALQI_RAW_CHUNK_BYTES;

    while (n-- > 0) {
        struct alqi_raw_chunk_header *chunk =
            (void *)(bytes + before + n * ALQI_RAW_CHUNK_BYTES);

        if (chunk->magic == ALQI_RAW_CHUNK_MAGIC &&
            (holds_all || chunk->kind == ALQI_RAW_EXACT))
            chunk_hold(chunk);
    }
}

/* A header that cannot be read yet counts no chunks, so the file's size
 * stands. */
off_t
alqi_cli_recorded_bytes(int fd)
{
    struct alqi_raw_header h;
    struct stat st;
    off_t end;

    if (fstat(fd, &st) != 0)
        return -1;
    if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h)
        return st.st_size;
    end = (off_t)alqi_raw_header_bytes(&h) +
          (off_t)atomic_load(&h.n_chunks) * ALQI_RAW_CHUNK_BYTES;
    return end < st.st_size ? end : st.st_size;
}

uint8_t *
alqi_cli_freeze(int fd, bool holds_all, size_t *n_bytes)
{
    off_t size_bytes = alqi_cli_recorded_bytes(fd);
    void *p;

    if (size_bytes < 0)
        return NULL;
    *n_bytes = (size_t)size_bytes;
    p = mmap(NULL, *n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return NULL;
    chunks_hold(p, *n_bytes, holds_all);
    return p;
}
