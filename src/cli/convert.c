/* convert.c -- see convert.h
 *
 * .inv.code   A location code names one (module load, address) for the whole
 *             trace: address + reuse << 47, where reuse counts the modules
 *             that lay over that address before.
 * .inv.merge  Events leave in order of time; a module is announced before any
 *             stack that has its addresses (its record is older, and ties go
 *             to the modules' stream). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/map.h"
#include "cli/convert.h"
#include "wire/side.h"

enum {
    ADDRESS_BITS = 47,
    REUSE_MAX = (1 << 13) - 1,
    ENTRIES_MAX = 255,
    SIDE_LINE_BYTES = 4000
};

#define CODE_NO_MODULE ((uint64_t)1 << 61)
#define NO_THREAD UINT32_MAX

/* ---- the recording ---------------------------------------------------------
 */

struct alqi_cli_recording {
    const uint8_t *bytes;
    size_t n_bytes;
    struct alqi_raw_header header;
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

/* ---- streams
 * ------------------------------------------------------------------ */

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
    uint32_t thread;
    bool is_modules;
};

struct module {
    uint64_t start, end, bias;
    uint32_t reuse;
    struct alqi_symbol_module *symbols;
    char *path;
    char build_id[2 * 64 + 1];
    uint8_t id_bytes[64];
    uint32_t n_id_bytes;
};

struct conversion {
    const struct alqi_cli_recording *recording;
    struct alqi_symbol_table *symbols;
    struct alqi_ctf_writer *writer;
    struct alqi_cli_convert_result *result;
    struct chunk_ref *chunks;
    size_t n_chunks;
    struct stream **heap; /* by time of the next event */
    size_t n_heap;
    struct module *modules;
    size_t n_modules;
    struct alqi_base_map live;      /* stream, ordinal -> object id    */
    struct alqi_base_map early;     /* freed before it was seen        */
    struct alqi_base_map code_home; /* code -> module index            */
    uint32_t thread_in_stream;      /* of the trace, last announced    */
    uint64_t n_texts;
    uint64_t codes[ALQI_RAW_FRAMES_MAX];
    struct alqi_ctf_entry entries[ENTRIES_MAX];
    char unknown[64];
    bool is_out_of_memory;
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
chunks_index(struct conversion *c)
{
    const struct alqi_cli_recording *r = c->recording;
    size_t n = (r->n_bytes - ALQI_RAW_HEADER_BYTES) / ALQI_RAW_CHUNK_BYTES;

    c->chunks = calloc(n + 1, sizeof *c->chunks);
    if (c->chunks == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        uint64_t offset =
            ALQI_RAW_HEADER_BYTES + (uint64_t)i * ALQI_RAW_CHUNK_BYTES;
        struct alqi_raw_chunk_header h;

        memcpy(&h, r->bytes + offset, sizeof h);
        if (h.magic == 0) /* reserved, never used */
            continue;
        if (h.magic != ALQI_RAW_CHUNK_MAGIC) {
            c->result->n_damaged_chunks++;
            continue;
        }
        c->chunks[c->n_chunks++] =
            (struct chunk_ref){h.stream, h.sequence, h.kind, offset};
    }
    qsort(c->chunks, c->n_chunks, sizeof *c->chunks, chunk_order);
    return true;
}

/* Fills s->event; false at the end of the stream.  A damaged chunk is left at
 * the damage: the next one stands alone (wire/raw.h .inv.alone). */
static bool
stream_next(struct conversion *c, struct stream *s)
{
    for (;;) {
        int got = alqi_raw_next(&s->decoder, &s->event);

        if (got > 0)
            return true;
        if (got < 0)
            c->result->n_damaged_chunks++;
        if (s->chunk == s->last)
            return false;
        if (!alqi_raw_decoder_open(&s->decoder,
                                   c->recording->bytes + s->chunk->offset,
                                   ALQI_RAW_CHUNK_BYTES)) {
            s->decoder.at = s->decoder.end = NULL;
            c->result->n_damaged_chunks++;
        }
        s->chunk++;
    }
}

/* ---- the heap
 * ------------------------------------------------------------------- */

static bool
comes_before(const struct stream *a, const struct stream *b)
{
    if (a->event.time_ns != b->event.time_ns)
        return a->event.time_ns < b->event.time_ns;
    return a->is_modules && !b->is_modules;
}

static void
heap_sift_down(struct conversion *c, size_t i)
{
    for (;;) {
        size_t least = i, left = 2 * i + 1;
        struct stream *held = c->heap[i];

        for (size_t k = left; k < left + 2 && k < c->n_heap; k++)
            if (comes_before(c->heap[k], c->heap[least]))
                least = k;
        if (least == i)
            return;
        c->heap[i] = c->heap[least];
        c->heap[least] = held;
        i = least;
    }
}

static bool
streams_open(struct conversion *c)
{
    c->heap = calloc(c->n_chunks + 1, sizeof *c->heap);
    if (c->heap == NULL)
        return false;
    for (size_t i = 0; i < c->n_chunks;) {
        struct stream *s = calloc(1, sizeof *s);
        size_t k = i;

        if (s == NULL)
            return false;
        while (k < c->n_chunks && c->chunks[k].stream == c->chunks[i].stream)
            k++;
        s->chunk = &c->chunks[i];
        s->last = &c->chunks[k];
        s->is_modules = c->chunks[i].kind == ALQI_RAW_MODULES;
        s->thread = NO_THREAD;
        i = k;
        if (stream_next(c, s))
            c->heap[c->n_heap++] = s;
        else
            free(s);
    }
    for (size_t i = c->n_heap / 2; i-- > 0;)
        heap_sift_down(c, i);
    return true;
}

/* ---- side records
 * ---------------------------------------------------------------- */

static uint64_t
time_us_from(const struct conversion *c, uint64_t mono_ns)
{
    const struct alqi_raw_header *h = &c->recording->header;
    uint64_t since_ns =
        mono_ns > h->start_mono_ns ? mono_ns - h->start_mono_ns : 0;

    return (h->start_wall_ns + since_ns) / 1000;
}

static enum alq_status
side_text(struct conversion *c, uint64_t time_ns, const char *line)
{
    struct alqi_ctf_entry entry = {.file = "aliquot", .function = line};
    struct alqi_ctf_location location = {
        .code = ALQI_SIDE_PREFIX | ALQI_SIDE_TEXT | c->n_texts++,
        .n_entries = 1,
        .entries = &entry,
    };

    return alqi_ctf_write_side(c->writer, time_us_from(c, time_ns), &location);
}

static size_t
put_number(char *line, size_t n, const char *key, uint64_t value, bool is_hex)
{
    char text[32];

    snprintf(text, sizeof text, is_hex ? "%" PRIx64 : "%" PRIu64, value);
    return alqi_side_put(line, SIDE_LINE_BYTES, n, key, text);
}

static enum alq_status
side_thread(struct conversion *c, const struct alqi_raw_event *e)
{
    char line[SIDE_LINE_BYTES];
    size_t n = alqi_side_put(line, sizeof line, 0, NULL, "thread");

    n = put_number(line, n, "index", e->thread_index, false);
    n = put_number(line, n, "tid", e->tid, false);
    alqi_side_put(line, sizeof line, n, "name", e->name);
    return side_text(c, e->time_ns, line);
}

static enum alq_status
side_module(struct conversion *c, uint64_t time_ns, const struct module *m)
{
    char line[SIDE_LINE_BYTES];
    size_t n = alqi_side_put(line, sizeof line, 0, NULL, "module");

    n = put_number(line, n, "id", (uint64_t)(m - c->modules), false);
    n = put_number(line, n, "start", m->start, true);
    n = put_number(line, n, "end", m->end, true);
    n = put_number(line, n, "bias", m->bias, true);
    n = put_number(line, n, "reuse", m->reuse, false);
    n = alqi_side_put(line, sizeof line, n, "build_id", m->build_id);
    alqi_side_put(line, sizeof line, n, "path", m->path);
    return side_text(c, time_ns, line);
}

static enum alq_status
side_cmdline(struct conversion *c)
{
    const struct alqi_raw_header *h = &c->recording->header;
    size_t n_bytes = h->n_cmdline_bytes, at = 0;
    char line[SIDE_LINE_BYTES], key[16];
    size_t n = alqi_side_put(line, sizeof line, 0, NULL, "cmdline");

    if (n_bytes > sizeof h->cmdline)
        n_bytes = sizeof h->cmdline;
    for (unsigned i = 0; at < n_bytes; i++) {
        char word[ALQI_RAW_TEXT_BYTES_MAX + 1];
        size_t len = strnlen(h->cmdline + at, n_bytes - at);

        memcpy(word, h->cmdline + at, len);
        word[len] = '\0';
        snprintf(key, sizeof key, "arg%u", i);
        n = alqi_side_put(line, sizeof line, n, key, word);
        at += len + 1;
    }
    return side_text(c, h->start_mono_ns, line);
}

static enum alq_status
side_end(struct conversion *c, uint64_t time_ns, const char *ended)
{
    static const struct {
        enum alqi_raw_counter counter;
        const char *key;
    } fields[] = {
        {ALQI_RAW_SAMPLES, "samples"},
        {ALQI_RAW_FREES, "frees"},
        {ALQI_RAW_DROPPED_NESTED, "dropped_nested"},
        {ALQI_RAW_DROPPED_NOMEM, "dropped_nomem"},
        {ALQI_RAW_DROPPED_SPACE, "dropped_space"},
        {ALQI_RAW_DROPPED_CAP, "dropped_cap"},
        {ALQI_RAW_LOST_FREES, "lost_frees"},
        {ALQI_RAW_INCOMPLETE, "stacks_incomplete"},
        {ALQI_RAW_TRUNCATED, "stacks_truncated"},
        {ALQI_RAW_INHERITED_FREES, "inherited_frees"},
        {ALQI_RAW_DEEPBIND_DROPPED, "deepbind_dropped"},
    };
    const struct alqi_raw_header *h = &c->recording->header;
    char line[SIDE_LINE_BYTES];
    size_t n = alqi_side_put(line, sizeof line, 0, NULL, "end");

    for (size_t i = 0; i < ALQI_COUNT_OF(fields); i++)
        n = put_number(line, n, fields[i].key,
                       atomic_load(&h->counters[fields[i].counter]), false);
    n = put_number(line, n, "damaged_chunks", c->result->n_damaged_chunks,
                   false);
    n = put_number(line, n, "flags", atomic_load(&h->flags), false);
    alqi_side_put(line, sizeof line, n, "ended", ended);
    return side_text(c, time_ns, line);
}

/* ---- modules and codes
 * --------------------------------------------------------------- */

static bool
module_is(const struct module *m, const struct alqi_raw_event *e,
          const char *path)
{
    return m->start == e->start && m->end == e->end &&
           strcmp(m->path, path) == 0 && m->n_id_bytes == e->build_id_bytes &&
           memcmp(m->id_bytes, e->build_id, e->build_id_bytes) == 0;
}

static enum alq_status
module_add(struct conversion *c, const struct alqi_raw_event *e)
{
    const char *path =
        e->path[0] != '\0' ? e->path : c->recording->header.executable;
    struct module *more, *m;
    uint32_t reuse = 0;

    for (size_t i = c->n_modules; i-- > 0;) {
        m = &c->modules[i];
        if (m->end <= e->start || e->end <= m->start)
            continue;
        if (reuse == 0 && module_is(m, e, path))
            return ALQ_OK; /* the latest one here, met again */
        if (m->reuse >= reuse)
            reuse = m->reuse < REUSE_MAX ? m->reuse + 1 : REUSE_MAX;
    }
    more = realloc(c->modules, (c->n_modules + 1) * sizeof *more);
    if (more == NULL)
        return ALQ_ENOMEM;
    c->modules = more;
    m = &more[c->n_modules];
    *m = (struct module){.start = e->start,
                         .end = e->end,
                         .bias = e->bias,
                         .reuse = reuse,
                         .n_id_bytes = e->build_id_bytes};
    memcpy(m->id_bytes, e->build_id, e->build_id_bytes);
    for (uint32_t i = 0; i < e->build_id_bytes; i++)
        snprintf(m->build_id + 2 * i, 3, "%02x", e->build_id[i]);
    m->path = strdup(path);
    if (m->path == NULL)
        return ALQ_ENOMEM;
    m->symbols = alqi_symbol_module_open(c->symbols, m->path, m->id_bytes,
                                         m->n_id_bytes);
    c->n_modules++;
    return side_module(c, e->time_ns, m);
}

/* The latest module over the address; the newest ones are asked first, which
 * is what "latest" means.  Return addresses may be one past the end. */
static const struct module *
module_at(const struct conversion *c, uint64_t pc)
{
    for (size_t i = c->n_modules; i-- > 0;)
        if (pc - 1 - c->modules[i].start <
            c->modules[i].end - c->modules[i].start)
            return &c->modules[i];
    return NULL;
}

/* .inv.code */
static uint64_t
code_from(struct conversion *c, uint64_t pc)
{
    const struct module *m = module_at(c, pc);
    uint64_t address = pc & (((uint64_t)1 << ADDRESS_BITS) - 1);
    uint64_t code, home;

    if (m == NULL)
        return CODE_NO_MODULE | address;
    code = address | (uint64_t)m->reuse << ADDRESS_BITS;
    if (!alqi_base_map_get(&c->code_home, code, &home) &&
        !alqi_base_map_put(&c->code_home, code, (uint64_t)(m - c->modules)))
        c->is_out_of_memory = true;
    return code != 0 ? code : CODE_NO_MODULE;
}

static void
lookup_unknown(struct conversion *c, uint64_t code,
               struct alqi_ctf_location *out)
{
    uint64_t address = code & (((uint64_t)1 << ADDRESS_BITS) - 1);

    snprintf(c->unknown, sizeof c->unknown, "[unknown]+0x%" PRIx64, address);
    c->entries[0] =
        (struct alqi_ctf_entry){.file = "[unknown]", .function = c->unknown};
    *out = (struct alqi_ctf_location){code, 1, c->entries};
}

static void
lookup(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    struct conversion *c = arg;
    const struct alqi_symbol_frame *frames;
    const struct module *m;
    uint64_t home, address;
    size_t n;

    if (!alqi_base_map_get(&c->code_home, code, &home)) {
        lookup_unknown(c, code, out);
        return;
    }
    m = &c->modules[home];
    address = code & (((uint64_t)1 << ADDRESS_BITS) - 1);
    n = alqi_symbol_resolve(m->symbols, address - 1 - m->bias, &frames);
    if (n > ENTRIES_MAX) { /* the outermost ones say least */
        frames += n - ENTRIES_MAX;
        n = ENTRIES_MAX;
    }
    for (size_t i = 0; i < n; i++)
        c->entries[i] = (struct alqi_ctf_entry){
            .file = frames[i].file,
            .function = frames[i].function,
            .line = (int32_t)frames[i].line,
            .start_column = (int32_t)frames[i].column,
            .end_column = (int32_t)frames[i].column,
        };
    *out = (struct alqi_ctf_location){code, (uint32_t)n, c->entries};
}

/* ---- events
 * ------------------------------------------------------------------------------
 */

static uint64_t
key_of(const struct alqi_raw_event *e)
{
    return (uint64_t)e->stream << 40 ^ e->ordinal;
}

/* The allocations that follow are another thread's. */
static enum alq_status
thread_switch(struct conversion *c, const struct stream *s, uint64_t time_ns)
{
    struct alqi_ctf_location location = {
        .code = ALQI_SIDE_PREFIX | ALQI_SIDE_THREAD | s->thread,
    };

    if (s->thread == c->thread_in_stream || s->thread == NO_THREAD)
        return ALQ_OK;
    c->thread_in_stream = s->thread;
    return alqi_ctf_write_side(c->writer, time_us_from(c, time_ns), &location);
}

static void
estimate_add(struct conversion *c, uint64_t size_bytes)
{
    double rate = c->recording->header.rate;
    double words = (double)alqi_base_malloc_words(size_bytes);
    double p = rate < 1 ? -expm1(words * log1p(-rate)) : 1;

    if (p > 0)
        c->result->allocated_bytes += (double)size_bytes / p;
}

static enum alq_status
alloc_write(struct conversion *c, struct stream *s)
{
    const struct alqi_raw_event *e = &s->event;
    const struct alqi_raw_decoder *d = &s->decoder;
    uint64_t time_us = time_us_from(c, e->time_ns), id, freed;
    enum alq_status status = thread_switch(c, s, e->time_ns);

    if (status != ALQ_OK)
        return status;
    for (uint32_t i = 0; i < d->n_frames; i++)
        c->codes[i] = code_from(c, d->frames[i]);
    status =
        alqi_ctf_write_alloc(c->writer, time_us, e->size_bytes, e->n_samples,
                             ALQI_CTF_EXTERNAL, c->codes, d->n_frames, &id);
    if (status != ALQ_OK)
        return status;
    c->result->n_allocs++;
    estimate_add(c, e->size_bytes);
    if (alqi_base_map_take(&c->early, key_of(e), &freed)) {
        c->result->n_orphan_frees--;
        c->result->n_frees++;
        return alqi_ctf_write_collect(c->writer, time_us, id);
    }
    return alqi_base_map_put(&c->live, key_of(e), id) ? ALQ_OK : ALQ_ENOMEM;
}

static enum alq_status
free_write(struct conversion *c, const struct alqi_raw_event *e)
{
    uint64_t id;

    if (!alqi_base_map_take(&c->live, key_of(e), &id)) {
        /* A free can be seen before its allocation only when clocks tie, or
         * when the allocation's chunk is damaged. */
        c->result->n_orphan_frees++;
        return alqi_base_map_put(&c->early, key_of(e), 1) ? ALQ_OK : ALQ_ENOMEM;
    }
    c->result->n_frees++;
    return alqi_ctf_write_collect(c->writer, time_us_from(c, e->time_ns), id);
}

static enum alq_status
event_write(struct conversion *c, struct stream *s)
{
    switch (s->event.kind) {
    case ALQI_RAW_THREAD:
        s->thread = s->event.thread_index;
        return side_thread(c, &s->event);
    case ALQI_RAW_ALLOC:
        return alloc_write(c, s);
    case ALQI_RAW_FREE_OWN:
    case ALQI_RAW_FREE_OTHER:
        return free_write(c, &s->event);
    case ALQI_RAW_MODULE:
        return module_add(c, &s->event);
    }
    return ALQ_EFORMAT;
}

static enum alq_status
events_write(struct conversion *c, const char *ended)
{
    uint64_t last_ns = c->recording->header.start_mono_ns;
    enum alq_status status = side_cmdline(c);

    while (status == ALQ_OK && c->n_heap > 0) {
        struct stream *s = c->heap[0];

        last_ns = s->event.time_ns;
        status = event_write(c, s);
        if (!stream_next(c, s)) {
            free(s);
            c->heap[0] = c->heap[--c->n_heap];
        }
        if (c->n_heap > 0)
            heap_sift_down(c, 0);
    }
    if (status == ALQ_OK && c->is_out_of_memory)
        status = ALQ_ENOMEM;
    return status == ALQ_OK ? side_end(c, last_ns, ended) : status;
}

static enum alq_status
writer_open(struct conversion *c, alqi_ctf_packet_fn *packet, void *packet_arg)
{
    const struct alqi_raw_header *h = &c->recording->header;
    char context[200], params[100];
    struct alqi_ctf_info info = {
        .version = 2,
        .word_bits = 8,
        .rate = h->rate / ALQI_WORD_BYTES,
        .start_us = h->start_wall_ns / 1000,
        .pid = h->pid,
        .executable = h->executable,
        .host = h->host,
        .params = params,
        .context = context,
    };

    snprintf(params, sizeof params, "rate=%.17g,depth=%u,seed=%" PRIu64,
             h->rate, h->depth_frames, h->seed);
    snprintf(context, sizeof context,
             "aliquot=%s source=malloc header_words=1 parent=%u%s",
             ALQI_VERSION, h->parent_pid,
             atomic_load(&h->flags) & ALQI_RAW_FORKED ? " forked=1" : "");
    return alqi_ctf_writer_open(&info, packet, packet_arg, lookup, c,
                                &c->writer);
}

static void
conversion_free(struct conversion *c)
{
    for (size_t i = 0; i < c->n_heap; i++)
        free(c->heap[i]);
    for (size_t i = 0; i < c->n_modules; i++)
        free(c->modules[i].path);
    free(c->heap);
    free(c->chunks);
    free(c->modules);
    alqi_base_map_clear(&c->live);
    alqi_base_map_clear(&c->early);
    alqi_base_map_clear(&c->code_home);
    free(c);
}

enum alq_status
alqi_cli_convert(const struct alqi_cli_recording *recording, const char *ended,
                 struct alqi_symbol_table *symbols, alqi_ctf_packet_fn *packet,
                 void *packet_arg, struct alqi_cli_convert_result *result)
{
    struct conversion *c = calloc(1, sizeof *c);
    enum alq_status status = ALQ_ENOMEM, closed;

    *result = (struct alqi_cli_convert_result){0};
    if (c == NULL)
        return ALQ_ENOMEM;
    c->recording = recording;
    c->symbols = symbols;
    c->result = result;
    c->thread_in_stream = NO_THREAD;
    if (!chunks_index(c) || !streams_open(c))
        goto out;
    status = writer_open(c, packet, packet_arg);
    if (status != ALQ_OK)
        goto out;
    status = events_write(c, ended);
    closed = alqi_ctf_writer_close(c->writer);
    if (status == ALQ_OK)
        status = closed;
out:
    conversion_free(c);
    return status;
}
