/* pprof_write.c -- <aliquot/pprof.h>: the sums as they are, as profile.proto
 *
 * Sums are copied first, a chunk at a time, and the rest is done at leisure.
 * A message is written as soon as something needs it, in front of what refers
 * to it; tables have what the profile's stacks need and nothing else. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "glue/join/native.h"
#include "glue/tracing/pprof.h"
#include "glue/tracing/pprof_out.h"
#include "wire/pb_profile.h"

enum { VALUES = 4, FLUSH_BYTES = 32768, BUILD_ID_BYTES_MOST = 64 };

/* The first strings of each profile. */
static const char *const strings[] = {
    "",      "alloc_objects", "count",       "alloc_space",
    "bytes", "inuse_objects", "inuse_space", "space"};

enum {
    S_EMPTY,
    S_ALLOC_OBJECTS,
    S_COUNT,
    S_ALLOC_SPACE,
    S_BYTES,
    S_INUSE_OBJECTS,
    S_INUSE_SPACE,
    S_SPACE
};

/* ---- moments ------------------------------------------------------------ */

struct alq_pprof_since {
    const struct alq_pprof *pprof;
    struct alqi_pprof_sums *sums; /* of its rows, in their order */
    uint32_t n;
    /* when the first sums were copied */
    uint64_t mono_ns;
};

static void
moment_free(struct alq_pprof_since *m)
{
    free(m->sums);
    m->sums = NULL;
}

/* Copies the sums of all rows. Rows of one chunk are of one moment; chunks may
 * differ by what came in between. */
static bool
moment_take(struct alq_pprof *p, struct alq_pprof_since *m)
{
    uint32_t n;

    alqi_plat_lock(&p->lock);
    n = p->n_rows;
    alqi_plat_unlock(&p->lock);
    m->pprof = p;
    m->n = n;
    m->mono_ns = alqi_plat_mono_ns_sigsafe();
    m->sums = malloc(n * sizeof *m->sums);
    if (m->sums == NULL)
        return false;
    for (uint32_t from = 0; from < n; from += ALQI_PPROF_CHUNK) {
        uint32_t end =
            from + ALQI_PPROF_CHUNK < n ? from + ALQI_PPROF_CHUNK : n;

        alqi_plat_lock(&p->lock);
        for (uint32_t i = from; i < end; i++)
            m->sums[i] = alqi_pprof_row_locked(p, i)->sums;
        alqi_plat_unlock(&p->lock);
    }
    return true;
}

/* The moment belongs to its profile and may outlive it only to be dropped. */
enum alq_status
alq_pprof_since_new(struct alq_pprof *p, struct alq_pprof_since **out)
{
    struct alq_pprof_since *m;

    if (p == NULL || out == NULL)
        return ALQ_EINVAL;
    if (!alqi_pprof_is_here(p))
        return ALQ_ENOTRUN;
    m = malloc(sizeof *m);
    if (m == NULL || !moment_take(p, m)) {
        free(m);
        return ALQ_ENOMEM;
    }
    *out = m;
    return ALQ_OK;
}

void
alq_pprof_since_drop(struct alq_pprof_since *m)
{
    if (m == NULL)
        return;
    moment_free(m);
    free(m);
}

/* ---- values ------------------------------------------------------------- */

/* a - b, which has that many bits behind its point, rounded to a whole
 * number. */
static int64_t
whole(uint64_t a, uint64_t b, unsigned bits)
{
    return ((int64_t)(a - b) + (1 << (bits - 1))) >> bits;
}

/* The row's values since `then`, or since the beginning if it is NULL. */
static void
values_of(const struct alqi_pprof_sums *now, const struct alqi_pprof_sums *then,
          enum alq_pprof_kind kind, int64_t values[VALUES])
{
    static const struct alqi_pprof_sums nothing;
    const struct alqi_pprof_sums *live = then;

    if (then == NULL)
        then = &nothing;
    if (live == NULL || kind == ALQ_PPROF_DELTA_HEAP)
        live = &nothing;
    values[0] =
        whole(now->alloc_objects, then->alloc_objects, ALQI_PPROF_OBJECT_BITS);
    values[1] =
        whole(now->alloc_bytes, then->alloc_bytes, ALQI_PPROF_BYTE_BITS);
    values[2] =
        whole(now->alloc_objects - live->alloc_objects,
              now->freed_objects - live->freed_objects, ALQI_PPROF_OBJECT_BITS);
    values[3] =
        whole(now->alloc_bytes - live->alloc_bytes,
              now->freed_bytes - live->freed_bytes, ALQI_PPROF_BYTE_BITS);
}

/* ---- a profile in the making -------------------------------------------- */

/* One profile in the making; one thread's. A table's map gives the number of
 * what was written, so each thing is written once. */
struct writer {
    struct alq_pprof *pprof;
    struct alqi_pb pb;
    struct alqi_pprof_out *out;
    bool is_short; /* of memory */
    /* written so far */
    uint64_t n_strings, n_functions, n_locations, n_mappings;
    struct alqi_base_map strings;      /* address of a kept name -> index  */
    struct alqi_base_map functions;    /* name, file -> id                 */
    struct alqi_base_map locations[2]; /* frame -> id, by is_native        */
    struct alqi_base_map mappings;     /* module's number -> id            */
    /* of the row that is written, and their identifiers */
    uintptr_t *frames;
    uint64_t *ids;
    size_t capacity; /* of both */
};

/* Hands the bytes on if there are so many. To be called between two fields of
 * the profile. */
static void
flush(struct writer *w, size_t least)
{
    if (w->pb.n < least)
        return;
    alqi_pprof_out_put(w->out, w->pb.bytes, w->pb.n);
    w->pb.n = 0;
}

/* The place of a key's number, which is 0 for a new key. Without memory it is a
 * place that nobody reads. */
static uint64_t *
entry_of(struct writer *w, struct alqi_base_map *map, uint64_t key)
{
    static uint64_t nowhere;
    bool is_new;
    uint64_t *at = alqi_base_map_at(map, key, &is_new);

    if (at != NULL)
        return at;
    w->is_short = true;
    nowhere = 0;
    return &nowhere;
}

/* Appends a string; its index is how many there were. */
static uint64_t
string_put(struct writer *w, const char *text)
{
    alqi_pb_text(&w->pb, ALQI_PB_PROFILE_STRING, text);
    return w->n_strings++;
}

/* The index of a kept name, written if it is new. Equal names have one address,
 * which is the key. */
static uint64_t
string_of(struct writer *w, const char *kept)
{
    uint64_t *index;

    if (kept[0] == '\0')
        return S_EMPTY;
    index = entry_of(w, &w->strings, (uintptr_t)kept);
    if (*index == 0)
        *index = string_put(w, kept);
    return *index;
}

/* The identifier of a function, whose message is written if it is new. */
static uint64_t
function_of(struct writer *w, uint64_t name, uint64_t file)
{
    uint64_t *id = entry_of(w, &w->functions, name << 32 | file);

    if (*id != 0)
        return *id;
    *id = ++w->n_functions;
    alqi_pb_function(&w->pb, *id, name, file);
    return *id;
}

/* ---- mappings ----------------------------------------------------------- */

static uint64_t
build_id_put(struct writer *w, const struct alqi_glue_module *m)
{
    char text[2 * BUILD_ID_BYTES_MOST + 1] = "";

    for (size_t i = 0; i < m->build_id_bytes && i < BUILD_ID_BYTES_MOST; i++)
        snprintf(text + 2 * i, 3, "%02x", m->build_id[i]);
    return text[0] != '\0' ? string_put(w, text) : S_EMPTY;
}

/* The identifier of a module, whose message is written if it is new. */
static uint64_t
mapping_of(struct writer *w, const struct alqi_glue_module *m)
{
    uint64_t *id = entry_of(w, &w->mappings, m->number);
    struct alqi_pb_mapping message = {
        .start = m->text_start,
        .limit = m->text_end,
        .offset = m->text_offset,
    };

    if (*id != 0)
        return *id;
    message.id = *id = ++w->n_mappings;
    message.file = string_put(w, m->path);
    message.build_id = build_id_put(w, m);
    alqi_pb_mapping(&w->pb, &message);
    return *id;
}

/* ---- locations ---------------------------------------------------------- */

/* A return address less one lies in the call. */
static void
native_put(struct writer *w, uint64_t id, uintptr_t frame)
{
    const struct alqi_glue_module *m = alqi_glue_native_module_at(frame);
    bool is_text =
        m != NULL && frame - 1 >= m->text_start && frame - 1 < m->text_end;
    uint64_t mapping = is_text ? mapping_of(w, m) : 0;

    alqi_pb_end(&w->pb, alqi_pb_location(&w->pb, id, mapping, frame - 1));
}

/* The names of a frame of a stack source; they stay where they are. False:
 * there was no memory for them. */
static bool
names_of(struct writer *w, uintptr_t frame, struct alqi_ctf_location *out)
{
    struct alq_pprof *p = w->pprof;
    uint64_t code;

    alqi_plat_lock(&p->lock);
    code = alqi_glue_trace_names_code(&p->names, false, frame);
    if (code != 0)
        alqi_glue_trace_names_lookup(&p->names, code, out);
    alqi_plat_unlock(&p->lock);
    return code != 0;
}

/* A location of names. Its functions are written first, as messages do not
 * nest. */
static void
named_put(struct writer *w, uint64_t id, const struct alqi_ctf_entry *entries,
          uint32_t n)
{
    uint64_t *functions = malloc((n + 1) * sizeof *functions);
    size_t mark;

    if (functions == NULL) {
        w->is_short = true;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        functions[i] = function_of(w, string_of(w, entries[i].function),
                                   string_of(w, entries[i].file));
    mark = alqi_pb_location(&w->pb, id, 0, 0);
    for (uint32_t i = n; i-- > 0;)
        alqi_pb_line(&w->pb, functions[i], (uint64_t)entries[i].line);
    alqi_pb_end(&w->pb, mark);
    free(functions);
}

/* A place that is only a name. */
static uint64_t
stand_in(struct writer *w, const char *name)
{
    uint64_t function = function_of(w, string_put(w, name), S_EMPTY);
    uint64_t id = ++w->n_locations;
    size_t mark = alqi_pb_location(&w->pb, id, 0, 0);

    alqi_pb_line(&w->pb, function, 0);
    alqi_pb_end(&w->pb, mark);
    return id;
}

/* The identifier of a frame, whose location is written if it is new. The number
 * is set before anything else is entered: the entry may move. */
static uint64_t
location_of(struct writer *w, uintptr_t frame, bool is_native)
{
    uint64_t *id = entry_of(w, &w->locations[is_native], frame);
    struct alqi_ctf_location names;

    if (*id != 0)
        return *id;
    if (!is_native && !names_of(w, frame, &names)) {
        *id = stand_in(w, "[no name]"); /* there was no memory for it */
        return *id;
    }
    *id = ++w->n_locations;
    if (is_native)
        native_put(w, *id, frame);
    else
        named_put(w, *id, names.entries, names.n_entries);
    return *id;
}

/* ---- samples ------------------------------------------------------------ */

/* Makes room for n frames and n identifiers; false: no memory. */
static bool
frames_fit(struct writer *w, size_t n)
{
    uintptr_t *frames;
    uint64_t *ids;

    if (n <= w->capacity)
        return true;
    frames = realloc(w->frames, n * sizeof *frames);
    if (frames != NULL)
        w->frames = frames;
    ids = realloc(w->ids, n * sizeof *ids);
    if (ids != NULL)
        w->ids = ids;
    if (frames == NULL || ids == NULL) {
        w->is_short = true;
        return false;
    }
    w->capacity = n;
    return true;
}

/* The row's stack does not change, so the lock is needed for reading the row
 * alone. */
static size_t
stack_locate(struct writer *w, uint32_t row)
{
    struct alqi_pprof_row r;
    size_t n;

    if (row < ALQI_PPROF_FIRST) {
        w->ids[0] =
            stand_in(w, row == ALQI_PPROF_OTHER ? "[other]" : "[no stack]");
        return 1;
    }
    alqi_plat_lock(&w->pprof->lock);
    r = *alqi_pprof_row_locked(w->pprof, row);
    alqi_plat_unlock(&w->pprof->lock);
    n = alqi_stack_table_get(w->pprof->stacks[r.is_native], r.stack, NULL, 0);
    if (!frames_fit(w, n))
        return 0;
    alqi_stack_table_get(w->pprof->stacks[r.is_native], r.stack, w->frames, n);
    for (size_t i = 0; i < n; i++)
        w->ids[i] = location_of(w, w->frames[i], r.is_native);
    return n;
}

/* A row without any value is left out. */
static void
sample_put(struct writer *w, uint32_t row, const int64_t values[VALUES])
{
    size_t n, mark;

    if ((values[0] | values[1] | values[2] | values[3]) == 0)
        return;
    n = stack_locate(w, row);
    mark = alqi_pb_begin(&w->pb, ALQI_PB_PROFILE_SAMPLE);
    alqi_pb_uints(&w->pb, ALQI_PB_SAMPLE_LOCATION, w->ids, n);
    alqi_pb_ints(&w->pb, ALQI_PB_SAMPLE_VALUE, values, VALUES);
    alqi_pb_end(&w->pb, mark);
    flush(w, FLUSH_BYTES);
}

/* Ends early where memory or the descriptor has failed. */
static void
samples_put(struct writer *w, enum alq_pprof_kind kind,
            const struct alq_pprof_since *since,
            const struct alq_pprof_since *now)
{
    int64_t values[VALUES];

    for (uint32_t i = 0;
         i < now->n && !w->is_short && !w->pb.is_short && w->out->error == 0;
         i++) {
        values_of(&now->sums[i],
                  since != NULL && i < since->n ? &since->sums[i] : NULL, kind,
                  values);
        sample_put(w, i, values);
    }
}

/* ---- the head ----------------------------------------------------------- */

static void
comment_put(struct writer *w, const char *text)
{
    uint64_t index = string_put(w, text);

    alqi_pb_uints(&w->pb, ALQI_PB_PROFILE_COMMENT, &index, 1);
}

/* How it was sampled, and what is missing. */
static void
comments_put(struct writer *w, const struct alq_pprof_since *now)
{
    const struct alq_pprof *p = w->pprof;
    struct alq_memprof_counts counts;
    uint64_t dropped;
    char text[200];

    snprintf(text, sizeof text,
             "aliquot " ALQI_VERSION
             "; one sample in %.0f bytes of the %s heap, counted for %.0f s",
             ALQI_WORD_BYTES / p->rate, p->is_malloc ? "malloc" : "managed",
             (double)(now->mono_ns - p->start_mono_ns) / 1e9);
    comment_put(w, text);
    alq_profile_counts(p->profile, &counts);
    dropped = counts.dropped_nomem + counts.dropped_cap + counts.dropped_nested;
    if (dropped > 0) {
        snprintf(text, sizeof text, "%llu samples dropped",
                 (unsigned long long)dropped);
        comment_put(w, text);
    }
    if (now->sums[ALQI_PPROF_OTHER].alloc_objects > 0) {
        snprintf(text, sizeof text,
                 "[other]: stacks beyond the first %u, or without memory",
                 p->max_rows - ALQI_PPROF_FIRST);
        comment_put(w, text);
    }
}

/* The first strings, then the head's fields: their order in the message is
 * free. */
static void
head_put(struct writer *w, enum alq_pprof_kind kind,
         const struct alq_pprof_since *since, const struct alq_pprof_since *now)
{
    const struct alqi_glue_module *program = alqi_glue_native_module(0);

    for (unsigned i = 0; i < ALQI_COUNT_OF(strings); i++)
        string_put(w, strings[i]);
    alqi_pb_value_type(&w->pb, ALQI_PB_PROFILE_SAMPLE_TYPE, S_ALLOC_OBJECTS,
                       S_COUNT);
    alqi_pb_value_type(&w->pb, ALQI_PB_PROFILE_SAMPLE_TYPE, S_ALLOC_SPACE,
                       S_BYTES);
    alqi_pb_value_type(&w->pb, ALQI_PB_PROFILE_SAMPLE_TYPE, S_INUSE_OBJECTS,
                       S_COUNT);
    alqi_pb_value_type(&w->pb, ALQI_PB_PROFILE_SAMPLE_TYPE, S_INUSE_SPACE,
                       S_BYTES);
    alqi_pb_value_type(&w->pb, ALQI_PB_PROFILE_PERIOD_TYPE, S_SPACE, S_BYTES);
    alqi_pb_uint(&w->pb, ALQI_PB_PROFILE_PERIOD,
                 (uint64_t)(ALQI_WORD_BYTES / w->pprof->rate + 0.5));
    alqi_pb_uint(&w->pb, ALQI_PB_PROFILE_TIME_NS, alqi_plat_wall_ns_sigsafe());
    if (since != NULL) /* a duration says that values are differences */
        alqi_pb_uint(&w->pb, ALQI_PB_PROFILE_DURATION_NS,
                     now->mono_ns - since->mono_ns);
    alqi_pb_uint(&w->pb, ALQI_PB_PROFILE_DEFAULT_TYPE,
                 kind == ALQ_PPROF_ALLOCS ? S_ALLOC_SPACE : S_INUSE_SPACE);
    comments_put(w, now);
    if (program != NULL) /* the first mapping is the program's */
        mapping_of(w, program);
}

/* ---- the whole ---------------------------------------------------------- */

static void
writer_free(struct writer *w)
{
    alqi_pb_free(&w->pb);
    alqi_base_map_clear(&w->strings);
    alqi_base_map_clear(&w->functions);
    alqi_base_map_clear(&w->locations[0]);
    alqi_base_map_clear(&w->locations[1]);
    alqi_base_map_clear(&w->mappings);
    free(w->frames);
    free(w->ids);
    free(w->out);
}

/* Writes the whole profile to fd. ALQ_EIO with errno, or ALQ_ENOMEM: the file
 * is then cut short. */
static enum alq_status
profile_put(struct writer *w, int fd, enum alq_pprof_kind kind,
            const struct alq_pprof_since *since,
            const struct alq_pprof_since *now)
{
    int error;

    w->out = malloc(sizeof *w->out);
    if (w->out == NULL || !frames_fit(w, 1))
        return ALQ_ENOMEM;
    alqi_pprof_out_begin(w->out, fd);
    head_put(w, kind, since, now);
    samples_put(w, kind, since, now);
    flush(w, 0);
    if (w->is_short || w->pb.is_short)
        return ALQ_ENOMEM;
    error = alqi_pprof_out_end(w->out);
    if (error == 0)
        return ALQ_OK;
    errno = error;
    return ALQ_EIO;
}

/* `since` moves on to this write only if all was written. */
enum alq_status
alq_pprof_write(struct alq_pprof *p, int fd, enum alq_pprof_kind kind,
                struct alq_pprof_since *since)
{
    struct writer w = {.pprof = p};
    struct alq_pprof_since now;
    enum alq_status status;
    int error;

    if (p == NULL || (unsigned)kind > ALQ_PPROF_DELTA_HEAP ||
        (kind == ALQ_PPROF_DELTA_HEAP && since == NULL) ||
        (since != NULL && since->pprof != p))
        return ALQ_EINVAL;
    if (!alqi_pprof_is_here(p))
        return ALQ_ENOTRUN;
    if (!moment_take(p, &now))
        return ALQ_ENOMEM;
    alqi_glue_native_meet();
    status = profile_put(&w, fd, kind, since, &now);
    error = errno;
    writer_free(&w);
    if (status == ALQ_OK && since != NULL) {
        moment_free(since);
        *since = now;
    } else {
        moment_free(&now);
    }
    errno = error;
    return status;
}
