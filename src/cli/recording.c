/* recording.c -- see recording.h
 *
 * .inv.merge  Events leave in order of time; a module is announced before any
 *             stack that has its addresses: its record is older, and ties go
 *             to the modules' stream. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/freeze.h"
#include "cli/recording.h"

/* ---- the recording ------------------------------------------------------- */

struct alqi_cli_recording {
    const uint8_t *bytes;
    size_t n_bytes;
    struct alqi_raw_header header;
    uint64_t moment_ns; /* 0: all of it */
};

static bool
header_check(const struct alqi_cli_recording *r, const char **why)
{
    const struct alqi_raw_header *h = &r->header;

    *why = NULL;
    if (memcmp(h->magic, ALQI_RAW_MAGIC, sizeof h->magic) != 0)
        *why = "it is not a recording";
    else if (h->header_bytes != ALQI_RAW_HEADER_BYTES ||
             h->chunk_bytes != ALQI_RAW_CHUNK_BYTES)
        *why = "it was made by another version of aliquot";
    else if (!(h->rate >= 0 && h->rate <= 1))
        *why = "its sampling rate is out of range";
    return *why == NULL;
}

/* What is written while it is read is read as it is now: each stream a little
 * later than the one before it, so all of them only up to before the first.
 * Ticks are known as nanoseconds to less than the margin. */
static bool
freeze(struct alqi_cli_recording *r, int fd)
{
    enum { MARGIN_NS = 200000 };
    struct timespec now;

    if (alqi_cli_recording_is_live(r)) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        r->moment_ns = (uint64_t)now.tv_sec * 1000000000 +
                       (uint64_t)now.tv_nsec - MARGIN_NS;
    }
    munmap((void *)r->bytes, r->n_bytes);
    r->bytes = alqi_cli_freeze(fd, &r->n_bytes);
    return r->bytes != NULL;
}

struct alqi_cli_recording *
alqi_cli_recording_open(const char *path, char *error, size_t error_bytes)
{
    struct alqi_cli_recording *r = calloc(1, sizeof *r);
    const char *why = "there is no memory";
    struct stat st;
    void *map;
    int fd = -1;

    if (r == NULL)
        goto fail;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        why = strerror(errno);
        goto fail;
    }
    why = "it is shorter than a recording's header";
    if (st.st_size < ALQI_RAW_HEADER_BYTES)
        goto fail;
    map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        why = strerror(errno);
        goto fail;
    }
    r->bytes = map;
    r->n_bytes = (size_t)st.st_size;
    memcpy(&r->header, map, sizeof r->header);
    if (!header_check(r, &why))
        goto fail;
    r->header.executable[sizeof r->header.executable - 1] = '\0';
    r->header.host[sizeof r->header.host - 1] = '\0';
    /* Whether it goes on or not: it may have gone on since it was mapped. */
    if ((r->header.flags & ALQI_RAW_IS_EXACT) != 0 && !freeze(r, fd)) {
        why = strerror(errno);
        goto fail;
    }
    close(fd);
    return r;

fail:
    snprintf(error, error_bytes, "%s", why);
    if (fd >= 0)
        close(fd);
    alqi_cli_recording_drop(r);
    return NULL;
}

void
alqi_cli_recording_drop(struct alqi_cli_recording *r)
{
    if (r == NULL)
        return;
    if (r->bytes != NULL)
        munmap((void *)r->bytes, r->n_bytes);
    free(r);
}

const struct alqi_raw_header *
alqi_cli_recording_header(const struct alqi_cli_recording *r)
{
    return &r->header;
}

double
alqi_cli_recording_most_rate(const struct alqi_cli_recording *r)
{
    uint64_t bits = atomic_load(&r->header.most_rate_bits);
    double most;

    memcpy(&most, &bits, sizeof most);
    return most > r->header.rate && most <= 1 ? most : r->header.rate;
}

const uint8_t *
alqi_cli_recording_bytes(const struct alqi_cli_recording *r, size_t *n_bytes)
{
    *n_bytes = r->n_bytes;
    return r->bytes;
}

uint64_t
alqi_cli_recording_moment_ns(const struct alqi_cli_recording *r)
{
    return r->moment_ns != 0 ? r->moment_ns : UINT64_MAX;
}

bool
alqi_cli_recording_is_live(const struct alqi_cli_recording *r)
{
    char path[64], text[1024];
    const char *p;
    uint64_t ticks;
    FILE *f;
    size_t n;

    snprintf(path, sizeof path, "/proc/%u/stat", r->header.pid);
    f = fopen(path, "re");
    if (f == NULL)
        return false;
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    p = strrchr(text, ')');
    if (p == NULL || p[1] == '\0' || p[2] == 'Z')
        return false;
    for (unsigned field = 2; p != NULL && field < 22; field++)
        p = strchr(p + 1, ' ');
    ticks = p != NULL ? strtoull(p, NULL, 10) : 0;
    return ticks == r->header.process_start_ticks;
}

/* ---- streams ------------------------------------------------------------- */

struct chunk_ref {
    uint32_t stream;
    uint32_t sequence;
    uint32_t kind;
    uint64_t offset;
};

struct stream {
    const struct chunk_ref *chunk; /* the next one to open */
    const struct chunk_ref *last;  /* behind its last one  */
    struct alqi_raw_decoder decoder;
    struct alqi_raw_event event; /* the next one */
    int64_t thread;
    bool is_modules;
};

struct alqi_cli_merge {
    const struct alqi_cli_recording *recording;
    struct chunk_ref *chunks;
    size_t n_chunks;
    struct stream **heap; /* by time of the next event */
    size_t n_heap;
    bool is_started; /* the top of the heap was handed out */
    uint64_t n_damaged;
};

static int
chunk_order(const void *a, const void *b)
{
    const struct chunk_ref *x = a, *y = b;

    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static bool
chunks_index(struct alqi_cli_merge *m)
{
    const struct alqi_cli_recording *r = m->recording;
    size_t n = (r->n_bytes - ALQI_RAW_HEADER_BYTES) / ALQI_RAW_CHUNK_BYTES;

    m->chunks = calloc(n + 1, sizeof *m->chunks);
    if (m->chunks == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        uint64_t offset =
            ALQI_RAW_HEADER_BYTES + (uint64_t)i * ALQI_RAW_CHUNK_BYTES;
        struct alqi_raw_chunk_header h;

        memcpy(&h, r->bytes + offset, sizeof h);
        if (h.magic == 0) /* reserved, never used */
            continue;
        if (h.magic != ALQI_RAW_CHUNK_MAGIC) {
            m->n_damaged++;
            continue;
        }
        if (h.kind == ALQI_RAW_EXACT || h.kind == ALQI_RAW_NODES)
            continue; /* exact.c */
        m->chunks[m->n_chunks++] =
            (struct chunk_ref){h.stream, h.sequence, h.kind, offset};
    }
    qsort(m->chunks, m->n_chunks, sizeof *m->chunks, chunk_order);
    return true;
}

static bool
is_possible(const struct alqi_raw_event *e)
{
    return e->kind != ALQI_RAW_ALLOC ||
           (alqi_cli_recording_is_size(e->size_bytes) && e->n_samples > 0 &&
            e->n_samples <= e->size_bytes / ALQI_WORD_BYTES + 2);
}

/* Fills s->event; false at the end of the stream.  A damaged chunk is left at
 * the damage: the next one stands alone (wire/raw.h .inv.alone). */
static bool
stream_next(struct alqi_cli_merge *m, struct stream *s)
{
    for (;;) {
        int got = alqi_raw_next(&s->decoder, &s->event);

        if (got > 0 && is_possible(&s->event)) {
            if (s->event.kind == ALQI_RAW_THREAD)
                s->thread = s->event.thread_index;
            return true;
        }
        if (got != 0)
            m->n_damaged++;
        if (got > 0)
            continue;
        if (s->chunk == s->last)
            return false;
        if (!alqi_raw_decoder_open(&s->decoder,
                                   m->recording->bytes + s->chunk->offset,
                                   ALQI_RAW_CHUNK_BYTES)) {
            s->decoder.at = s->decoder.end = NULL;
            m->n_damaged++;
        }
        s->chunk++;
    }
}

/* ---- the heap ------------------------------------------------------------ */

static bool
comes_before(const struct stream *a, const struct stream *b)
{
    if (a->event.time_ns != b->event.time_ns)
        return a->event.time_ns < b->event.time_ns;
    return a->is_modules && !b->is_modules;
}

static void
heap_sift_down(struct alqi_cli_merge *m, size_t i)
{
    for (;;) {
        size_t least = i, left = 2 * i + 1;
        struct stream *held = m->heap[i];

        for (size_t k = left; k < left + 2 && k < m->n_heap; k++)
            if (comes_before(m->heap[k], m->heap[least]))
                least = k;
        if (least == i)
            return;
        m->heap[i] = m->heap[least];
        m->heap[least] = held;
        i = least;
    }
}

static bool
streams_open(struct alqi_cli_merge *m)
{
    m->heap = calloc(m->n_chunks + 1, sizeof *m->heap);
    if (m->heap == NULL)
        return false;
    for (size_t i = 0; i < m->n_chunks;) {
        struct stream *s = calloc(1, sizeof *s);
        size_t k = i;

        if (s == NULL)
            return false;
        while (k < m->n_chunks && m->chunks[k].stream == m->chunks[i].stream)
            k++;
        s->chunk = &m->chunks[i];
        s->last = &m->chunks[k];
        s->is_modules = m->chunks[i].kind == ALQI_RAW_MODULES;
        s->thread = ALQI_CLI_NO_THREAD;
        i = k;
        if (stream_next(m, s))
            m->heap[m->n_heap++] = s;
        else
            free(s);
    }
    for (size_t i = m->n_heap / 2; i-- > 0;)
        heap_sift_down(m, i);
    return true;
}

/* ---- the merge ----------------------------------------------------------- */

struct alqi_cli_merge *
alqi_cli_merge_open(const struct alqi_cli_recording *recording)
{
    struct alqi_cli_merge *m = calloc(1, sizeof *m);

    if (m == NULL)
        return NULL;
    m->recording = recording;
    if (!chunks_index(m) || !streams_open(m)) {
        alqi_cli_merge_drop(m);
        return NULL;
    }
    return m;
}

void
alqi_cli_merge_drop(struct alqi_cli_merge *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->n_heap; i++)
        free(m->heap[i]);
    free(m->heap);
    free(m->chunks);
    free(m);
}

/* Moves on from the event that was handed out last. */
static void
merge_advance(struct alqi_cli_merge *m)
{
    if (!m->is_started) {
        m->is_started = true;
        return;
    }
    if (!stream_next(m, m->heap[0])) {
        free(m->heap[0]);
        m->heap[0] = m->heap[--m->n_heap];
    }
    if (m->n_heap > 0)
        heap_sift_down(m, 0);
}

bool
alqi_cli_merge_next(struct alqi_cli_merge *m, struct alqi_cli_merged *out)
{
    struct stream *s;

    if (m->n_heap > 0)
        merge_advance(m);
    if (m->n_heap == 0)
        return false;
    s = m->heap[0];
    out->event = &s->event;
    out->frames = s->decoder.frames;
    out->n_frames = s->decoder.n_frames;
    out->thread = s->thread;
    return true;
}

uint64_t
alqi_cli_merge_n_damaged(const struct alqi_cli_merge *m)
{
    return m->n_damaged;
}
