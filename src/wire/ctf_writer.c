/* ctf_writer.c -- events to packets           [spec memtrace 6 to 8, 10 and 13]
 *
 * One stream; several of a trace share only their ids.  Writes the same bytes
 * as the real writer for the same events, and nothing that any real reader
 * refuses.
 *
 *   open --event--> open --close--> closed: freed
 *            \--callback or memory fails--> failed: `status` stays, nothing
 *                                           is written any more
 *
 * Held: one packet, the records waiting for it, the cache, the last stack, and
 * each distinct location once, because a code that fell out of the cache is
 * announced again.  Nothing grows with the number of events.
 *
 * Keeps .inv.late, .inv.frame, .inv.ids, .inv.once, .inv.whole and .inv.plain;
 * .inv.before with the builder. */
#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "wire/ctf_builder.h"
#include "wire/side.h"
#include "wire/ctf_verbatim.h"

enum { NO_STACK_CODE = 1, SHORT_FRESH_MAX = 255 };
#define NUMBER_MAX ((UINT64_C(1) << 62) - 1)

/* A stream's writer; its caller serialises the calls. */
struct alqi_ctf_writer {
    enum alq_status status; /* the first failure; nothing is written after */
    alqi_ctf_lookup_fn *lookup;
    void *lookup_arg;
    uint8_t *event_start; /* in the open packet: an event is taken back to it */
    uint64_t *last_codes; /* the last stack, whole, outermost first */
    uint32_t n_last_codes;
    uint32_t last_capacity;
    uint64_t collected_id; /* last; ALQI_SIDE_LAST: none yet */
    struct alqi_wire_locations locations;
    struct alqi_mtf mtf;
    struct alqi_ctf_stack_writer cache;
    struct alqi_ctf_builder builder;
};

/* ---- opening and closing --------------------------------------------- */

/* Whether the trace's description can be written. */
static bool
info_fits(const struct alqi_ctf_info *info)
{
    size_t n_bytes = ALQI_PACKET_HEADER_BYTES_V3 + 4 + 8 + 1 + 8;

    if (info->version < 2 || info->version > 3 || info->word_bits == 0)
        return false;
    if (!isfinite(info->rate) || !(info->rate > 0) || info->rate > 1)
        return false;
    if (info->executable == NULL || info->host == NULL ||
        info->params == NULL || info->context == NULL)
        return false;
    n_bytes += strlen(info->executable) + strlen(info->host) +
               strlen(info->params) + strlen(info->context) + 4;
    return n_bytes <= ALQI_CTF_PACKET_BYTES_MAX;
}

static void
writer_free(struct alqi_ctf_writer *w)
{
    alqi_ctf_builder_free(&w->builder);
    alqi_wire_locations_drop(&w->locations);
    free(w->last_codes);
    free(w);
}

enum alq_status
alqi_ctf_writer_open(const struct alqi_ctf_info *info,
                     alqi_ctf_packet_fn *packet, void *packet_arg,
                     alqi_ctf_lookup_fn *lookup, void *lookup_arg,
                     struct alqi_ctf_writer **out)
{
    return alqi_ctf_writer_open_stream(info, 0, NULL, packet, packet_arg,
                                       lookup, lookup_arg, out);
}

enum alq_status
alqi_ctf_writer_open_stream(const struct alqi_ctf_info *info, uint16_t domain,
                            uint64_t *next_id, alqi_ctf_packet_fn *packet,
                            void *packet_arg, alqi_ctf_lookup_fn *lookup,
                            void *lookup_arg, struct alqi_ctf_writer **out)
{
    struct alqi_ctf_writer *w;

    if (!info_fits(info) || (next_id != NULL && info->version < 3) ||
        (domain == 0) != (next_id == NULL || *next_id == 0))
        return ALQ_EINVAL;
    w = calloc(1, sizeof *w);
    if (w == NULL)
        return ALQ_ENOMEM;
    w->lookup = lookup;
    w->lookup_arg = lookup_arg;
    w->collected_id = ALQI_SIDE_LAST;
    alqi_wire_locations_init(&w->locations, alqi_base_mix((uintptr_t)w),
                             SIZE_MAX);
    alqi_mtf_init(&w->mtf);
    w->builder.packet = packet;
    w->builder.packet_arg = packet_arg;
    w->builder.cache = &w->cache.cache;
    w->builder.mtf = &w->mtf;
    w->builder.domain = domain;
    w->builder.next_chunk = next_id;
    if (!alqi_ctf_builder_open(&w->builder, info)) {
        writer_free(w);
        return ALQ_EIO;
    }
    *out = w;
    return ALQ_OK;
}

enum alq_status
alqi_ctf_writer_flush(struct alqi_ctf_writer *writer)
{
    if (writer->builder.is_failed)
        return writer->status = ALQ_EIO;
    if (!alqi_ctf_builder_is_empty(&writer->builder) &&
        !alqi_ctf_builder_close(&writer->builder, writer->builder.last_us))
        return writer->status = ALQ_EIO;
    return writer->status;
}

enum alq_status
alqi_ctf_writer_close(struct alqi_ctf_writer *writer)
{
    enum alq_status first = writer->status;
    enum alq_status status = alqi_ctf_writer_flush(writer);

    writer_free(writer);
    return first != ALQ_OK ? first : status;
}

/* ---- events ---------------------------------------------------------- */

/* As alqi_wire_out_vint, where event_begin has made sure of the room. */
static inline void
vint_put(struct alqi_wire_out *out, uint64_t v)
{
    ALQI_ASSERT(alqi_wire_out_left(out) > sizeof v);
    if (ALQI_LIKELY(v <= 252))
        *out->at++ = (uint8_t)v;
    else
        alqi_wire_out_vint(out, (int64_t)v);
}

/* Room and header for an event; writer->builder.last_us is its time then. */
static inline enum alq_status
event_begin(struct alqi_ctf_writer *w, uint64_t time_us, uint32_t code)
{
    if (time_us < w->builder.last_us)
        time_us = w->builder.last_us; /* .inv.time */
    if (!alqi_ctf_builder_ready(&w->builder, time_us))
        return w->status = ALQ_EIO;
    w->builder.last_us = time_us;
    w->event_start = w->builder.events.at;
    alqi_wire_out_u32(&w->builder.events, alqi_event_head(time_us, code));
    return ALQ_OK;
}

/* The location as it is kept for its code, with interned names; NULL: no
 * memory. */
static const struct alqi_ctf_location *
place_keep(struct alqi_ctf_writer *w, const struct alqi_ctf_location *given)
{
    struct alqi_ctf_entry entries[ALQI_RECORD_ENTRIES_MAX];
    struct alqi_ctf_location unknown;
    struct alqi_ctf_location kept;

    given = alqi_record_fitting(given, &unknown);
    kept = *given;
    kept.entries = entries;
    for (uint32_t i = 0; i < given->n_entries; i++) {
        struct alqi_ctf_entry *e = &entries[i];

        *e = given->entries[i];
        e->file = alqi_wire_locations_name(&w->locations, e->file);
        e->function = alqi_wire_locations_name(&w->locations, e->function);
        if (e->file == NULL || e->function == NULL)
            return NULL;
    }
    return alqi_wire_locations_add(&w->locations, &kept);
}

/* Makes the location record of a code wait, looked up if the code is new
 * (.inv.once); false: no memory. */
static bool
announce(void *arg, uint64_t code)
{
    struct alqi_ctf_writer *w = arg;
    const struct alqi_ctf_location *known =
        alqi_wire_locations_find(&w->locations, code);

    if (known == NULL) {
        struct alqi_ctf_location given = {0};

        w->lookup(w->lookup_arg, code, &given);
        given.code = code;
        known = place_keep(w, &given);
    }
    return known != NULL && alqi_ctf_builder_location(&w->builder, known);
}

/* Announces the placeholder of an empty stack (.inv.frame). */
static const uint64_t *
no_stack(struct alqi_ctf_writer *w)
{
    static const uint64_t code = NO_STACK_CODE;
    static const struct alqi_ctf_entry entry = {
        .file = "",
        .function = "[no stack]",
    };
    static const struct alqi_ctf_location place = {
        .code = NO_STACK_CODE,
        .n_entries = 1,
        .entries = &entry,
    };

    if (alqi_wire_locations_find(&w->locations, code) == NULL &&
        place_keep(w, &place) == NULL)
        return NULL;
    return &code;
}

/* Frames in common with the last stack. */
static uint32_t
shared_count(const struct alqi_ctf_writer *w, const uint64_t *codes,
             uint32_t n_codes)
{
    uint32_t max = n_codes < w->n_last_codes ? n_codes : w->n_last_codes;
    uint32_t n = 0;

    while (n < max && codes[n] == w->last_codes[n])
        n++;
    return n;
}

/* Room for the last stack; false: no memory. */
static bool
last_room(struct alqi_ctf_writer *w, uint32_t n_codes)
{
    size_t capacity = w->last_capacity == 0 ? 256 : w->last_capacity;
    uint64_t *grown;

    if (n_codes <= w->last_capacity)
        return true;
    while (capacity < n_codes)
        capacity *= 2;
    if (capacity > UINT32_MAX)
        capacity = UINT32_MAX;
    grown = realloc(w->last_codes, capacity * sizeof *grown);
    if (grown == NULL)
        return false;
    w->last_codes = grown;
    w->last_capacity = (uint32_t)capacity;
    return true;
}

/* The event's fields up to the count of words. */
static inline enum alq_status
alloc_begin(struct alqi_ctf_writer *w, uint64_t time_us, uint64_t length,
            uint64_t n_samples, enum alqi_ctf_source source, bool is_short,
            uint32_t shared)
{
    struct alqi_wire_out *out = &w->builder.events;
    uint32_t code = is_short ? ALQI_EVENT_SHORT + (uint32_t)length
                             : (uint32_t)ALQI_EVENT_ALLOC;
    enum alq_status status = event_begin(w, time_us, code);

    if (status != ALQ_OK)
        return status;
    if (!is_short) {
        vint_put(out, length);
        vint_put(out, n_samples);
        alqi_wire_out_u8(out, (uint8_t)source);
    }
    vint_put(out, shared);
    return ALQ_OK;
}

/* The count of words, and the words.  Without memory for a location the event
 * is taken back, and the writer ends there: its cache is ahead of the file. */
static enum alq_status
stack_put(struct alqi_ctf_writer *w, bool is_short, const uint64_t *codes,
          uint32_t n_codes)
{
    struct alqi_wire_out *out = &w->builder.events;
    struct alqi_wire_out count = *out;
    int32_t n_words;

    out->at += is_short ? 1 : 2;
    n_words = alqi_ctf_stack_encode(&w->cache, out, codes, n_codes,
                                    w->builder.next_id, announce, w);
    if (n_words < 0) {
        out->at = w->event_start;
        return w->status = ALQ_ENOMEM;
    }
    ALQI_ASSERT(!out->bad);
    if (is_short)
        alqi_wire_out_u8(&count, (uint8_t)n_words);
    else
        alqi_wire_out_u16(&count, (uint16_t)n_words);
    return ALQ_OK;
}

static bool
are_codes_valid(const uint64_t *codes, uint32_t n_codes)
{
    for (uint32_t i = 0; i < n_codes; i++)
        if (codes[i] << 1 == 0)
            return false;
    return true;
}

/* Of codes[0, n_codes), the first `shared` are the last stack's. */
static inline enum alq_status
alloc_write(struct alqi_ctf_writer *w, uint64_t time_us, uint64_t length,
            uint64_t n_samples, enum alqi_ctf_source source,
            const uint64_t *codes, uint32_t n_codes, uint32_t shared,
            uint64_t *id)
{
    uint32_t n_fresh = n_codes - shared;
    bool is_short = length >= 1 && length <= ALQI_EVENT_SHORT_WORDS_MAX &&
                    source == ALQI_CTF_MINOR && n_samples == 1 &&
                    n_fresh <= SHORT_FRESH_MAX;
    enum alq_status status;

    if (w->status != ALQ_OK)
        return w->status;
    if (length > NUMBER_MAX || n_samples > NUMBER_MAX ||
        (uint32_t)source > ALQI_CTF_EXTERNAL ||
        !are_codes_valid(codes + shared, n_fresh))
        return ALQ_EINVAL;
    status =
        alloc_begin(w, time_us, length, n_samples, source, is_short, shared);
    if (status == ALQ_OK)
        status = stack_put(w, is_short, codes + shared, n_fresh);
    if (status == ALQ_OK)
        *id = w->builder.next_id++;
    return status;
}

enum alq_status
alqi_ctf_write_alloc_verbatim(struct alqi_ctf_writer *writer, uint64_t time_us,
                              uint64_t length, uint64_t n_samples,
                              enum alqi_ctf_source source,
                              const uint64_t *codes, uint32_t n_codes,
                              uint64_t *id)
{
    uint32_t shared = shared_count(writer, codes, n_codes);
    enum alq_status status;

    if (writer->status == ALQ_OK && !last_room(writer, n_codes))
        return ALQ_ENOMEM;
    status = alloc_write(writer, time_us, length, n_samples, source, codes,
                         n_codes, shared, id);
    if (status != ALQ_OK)
        return status;
    if (n_codes > shared)
        memcpy(writer->last_codes + shared, codes + shared,
               (n_codes - shared) * sizeof *codes);
    writer->n_last_codes = n_codes;
    return ALQ_OK;
}

enum alq_status
alqi_ctf_write_alloc(struct alqi_ctf_writer *writer, uint64_t time_us,
                     uint64_t length, uint64_t n_samples,
                     enum alqi_ctf_source source, const uint64_t *codes,
                     uint32_t n_codes, uint64_t *id)
{
    if (n_samples == 0)
        return ALQ_EINVAL;
    if (n_codes == 0) {
        codes = no_stack(writer); /* .inv.frame */
        if (codes == NULL)
            return ALQ_ENOMEM;
        n_codes = 1;
    }
    return alqi_ctf_write_alloc_verbatim(writer, time_us, length, n_samples,
                                         source, codes, n_codes, id);
}

uint64_t *
alqi_ctf_writer_stack(struct alqi_ctf_writer *writer, uint32_t n_codes,
                      uint32_t *n_last)
{
    *n_last = writer->n_last_codes;
    return last_room(writer, n_codes > 0 ? n_codes : 1) ? writer->last_codes
                                                        : NULL;
}

enum alq_status
alqi_ctf_write_alloc_in_place(struct alqi_ctf_writer *writer, uint64_t time_us,
                              uint64_t length, uint64_t n_samples,
                              enum alqi_ctf_source source, uint32_t n_codes,
                              uint32_t n_same, uint64_t *id)
{
    enum alq_status status;

    ALQI_ASSERT(n_same <= writer->n_last_codes && n_same <= n_codes);
    ALQI_ASSERT(n_codes <= writer->last_capacity);
    if (ALQI_UNLIKELY(n_codes == 0 || n_samples == 0))
        return alqi_ctf_write_alloc(writer, time_us, length, n_samples, source,
                                    NULL, n_codes, id);
    writer->n_last_codes = n_same; /* if it fails, this is what stands */
    status = alloc_write(writer, time_us, length, n_samples, source,
                         writer->last_codes, n_codes, n_same, id);
    if (status == ALQ_OK)
        writer->n_last_codes = n_codes;
    return status;
}

/* A promotion or a collection. */
static enum alq_status
later_put(struct alqi_ctf_writer *w, uint64_t time_us, uint32_t code,
          uint64_t id)
{
    enum alq_status status;

    if (w->status != ALQ_OK)
        return w->status;
    if (id >= w->builder.next_id)
        return ALQ_EINVAL;
    status = event_begin(w, time_us, code);
    if (status == ALQ_OK)
        vint_put(&w->builder.events, w->builder.next_id - 1 - id);
    return status;
}

enum alq_status
alqi_ctf_write_promote(struct alqi_ctf_writer *writer, uint64_t time_us,
                       uint64_t id)
{
    return later_put(writer, time_us, ALQI_EVENT_PROMOTE, id);
}

enum alq_status
alqi_ctf_write_collect(struct alqi_ctf_writer *writer, uint64_t time_us,
                       uint64_t id)
{
    enum alq_status status = later_put(writer, time_us, ALQI_EVENT_COLLECT, id);

    if (status == ALQ_OK)
        writer->collected_id = id;
    return status;
}

/* wire/side.h, MOVED */
static bool
is_of_collected(const struct alqi_ctf_writer *w,
                const struct alqi_ctf_location *location)
{
    return location->n_entries == 0 &&
           location->code ==
               (ALQI_SIDE_PREFIX | ALQI_SIDE_MOVED | w->collected_id);
}

enum alq_status
alqi_ctf_write_side(struct alqi_ctf_writer *writer, uint64_t time_us,
                    const struct alqi_ctf_location *location)
{
    static const struct alqi_ctf_location moved = {.code =
                                                       ALQI_SIDE_MOVED_LAST};
    struct alqi_ctf_location unknown;
    enum alq_status status;

    if (writer->status != ALQ_OK)
        return writer->status;
    if (location->code << 1 == 0)
        return ALQ_EINVAL;
    location = is_of_collected(writer, location)
                   ? &moved
                   : alqi_record_fitting(location, &unknown);
    status = event_begin(writer, time_us, ALQI_EVENT_LOCATION);
    if (status != ALQ_OK)
        return status;
    alqi_record_write_plain(&writer->builder.events, location);
    writer->builder.n_side_entries += location->n_entries;
    return ALQ_OK;
}
