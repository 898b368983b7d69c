/* ctf_reader.c -- packets to events                     [spec memtrace 3 to 9,
 * 13]
 *
 *            packet_load                 event_read
 *   OPEN ------------------> packet held ----------> event, packet held
 *     |  end of input                      last event: back to OPEN
 *     +-------------> ENDED        any of them, on damage -> FAILED
 *
 * Held: one packet, and for each stream its cache, name tables, last stack and
 * last time; for all of them, the locations announced so far.  So memory grows
 * with what is distinct, never with the number of events.
 *
 * Keeps .inv.bound, .inv.time, .inv.resume, .inv.prefix, .inv.cut and
 * .inv.unkept (doc/design/wire.md).  What real readers refuse but does no harm
 * is passed over with a warning: the first of each kind in full, the number of
 * further ones at the end (.def.tolerate). */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "wire/ctf_stacks.h"
#include "wire/ctf_packet.h"
#include "wire/ctf_record.h"
#include "wire/side.h"

enum { STREAMS_MAX = 1024, FRAMES_BUDGET = 1 << 24 };
enum { PLACES_BYTES_MAX = 1 << 30, TEXT_BYTES = 256 };

enum state { OPEN, ENDED, FAILED };

enum warning {
    WARN_INFO,
    WARN_FOREIGN,
    WARN_TAIL,
    WARN_PACKET_TIME,
    WARN_EVENT_TIME,
    WARN_ID_BEGIN,
    WARN_ID_END,
    WARN_VERIFY,
    WARN_REDEFINED,
    WARN_UNANNOUNCED,
    WARN_PROMOTE,
    WARN_CLIPPED,
    WARNINGS
};

static const char *const warning_names[WARNINGS] = {
    [WARN_INFO] = "oddities of the trace-info event",
    [WARN_FOREIGN] = "packets of another process",
    [WARN_TAIL] = "damaged ends",
    [WARN_PACKET_TIME] = "packets that end before they begin",
    [WARN_EVENT_TIME] = "events outside their packet's time or out of order",
    [WARN_ID_BEGIN] = "packets whose first object id is not the next one",
    [WARN_ID_END] = "packets with a wrong count of allocations",
    [WARN_VERIFY] = "failed checks of the stack cache",
    [WARN_REDEFINED] = "locations announced again with another meaning",
    [WARN_UNANNOUNCED] = "stacks with codes that no location record explains",
    [WARN_PROMOTE] = "promotions of objects not yet allocated",
    [WARN_CLIPPED] = "stacks too deep to keep",
};

/* What a stream's events lean on. */
struct stream {
    uint16_t domain;
    struct alqi_ctf_code_cache cache;
    struct alqi_mtf mtf;
    struct alqi_ctf_stack stack;
    uint64_t last_us;      /* of its last event               */
    uint64_t next_id;      /* of its next allocation          */
    uint64_t collected_id; /* last; ALQI_SIDE_LAST: none yet */
};

struct alqi_ctf_reader {
    alqi_ctf_read_fn *read;
    void *read_arg;
    alqi_ctf_warn_fn *warn;
    void *warn_arg;
    enum state state;
    enum alq_status status; /* why FAILED; damage unless noted before */
    struct alqi_ctf_info info;

    struct alqi_wire_in in; /* what is left of the packet held */
    struct alqi_packet packet;
    struct stream *stream;  /* the packet's; NULL: no packet held */
    uint64_t packet_offset; /* where it begins */
    uint64_t good_offset;   /* .inv.resume */
    uint64_t n_events;

    struct stream *streams[STREAMS_MAX];
    uint32_t n_streams;
    uint32_t frames_budget; /* what all last stacks may still grow by */
    struct alqi_wire_locations locations;
    uint64_t n_warnings[WARNINGS];
    char error[TEXT_BYTES];
    struct alqi_ctf_entry scratch[ALQI_RECORD_ENTRIES_MAX];
    uint8_t bytes[ALQI_CTF_PACKET_BYTES_MAX];
};

/* ---- warnings -------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static ALQI_COLD void
warn(struct alqi_ctf_reader *r, enum warning kind, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list args;

    if (r->n_warnings[kind]++ > 0 || r->warn == NULL)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->warn(r->warn_arg, r->packet_offset, text);
}

/* Says how many further warnings of each kind there were. */
static ALQI_COLD void
warn_rest(struct alqi_ctf_reader *r)
{
    char text[TEXT_BYTES];

    for (int kind = 0; kind < WARNINGS && r->warn != NULL; kind++) {
        if (r->n_warnings[kind] < 2)
            continue;
        snprintf(text, sizeof text, "%llu more %s",
                 (unsigned long long)r->n_warnings[kind] - 1,
                 warning_names[kind]);
        r->n_warnings[kind] = 1;
        r->warn(r->warn_arg, r->packet_offset, text);
    }
}

/* Ends the reading; always -1, so that callers can return it. */
__attribute__((format(printf, 2, 3))) static ALQI_COLD int
fail(struct alqi_ctf_reader *r, const char *format, ...)
{
    int n = snprintf(
        r->error, sizeof r->error, "packet at byte %llu, event %llu: ",
        (unsigned long long)r->packet_offset, (unsigned long long)r->n_events);
    va_list args;

    va_start(args, format);
    vsnprintf(r->error + n, sizeof r->error - (size_t)n, format, args);
    va_end(args);
    r->state = FAILED;
    if (r->status == ALQ_OK)
        r->status = ALQ_EFORMAT;
    r->stream = NULL;
    warn_rest(r);
    return -1;
}

static ALQI_COLD int
fail_io(struct alqi_ctf_reader *r)
{
    r->status = ALQ_EIO;
    return fail(r, "the input cannot be read");
}

static ALQI_COLD int
fail_memory(struct alqi_ctf_reader *r, const char *what)
{
    r->status = ALQ_ENOMEM;
    return fail(r, "no memory for %s", what);
}

/* The input is over, as it should be. */
static int
end(struct alqi_ctf_reader *r)
{
    r->state = ENDED;
    warn_rest(r);
    return 0;
}

/* ---- packets --------------------------------------------------------- */

/* Bytes read, fewer than n at the end of input only; -1 on error. */
static ptrdiff_t
read_full(struct alqi_ctf_reader *r, uint8_t *bytes, size_t n)
{
    size_t have = 0;

    while (have < n) {
        ptrdiff_t got = r->read(r->read_arg, bytes + have, n - have);

        if (got < 0)
            return -1;
        if (got == 0)
            break;
        ALQI_ASSERT((size_t)got <= n - have);
        have += (size_t)got;
    }
    return (ptrdiff_t)have;
}

static bool
is_all_zero(const uint8_t *bytes, size_t n)
{
    while (n > 0 && bytes[n - 1] == 0)
        n--;
    return n == 0;
}

/* The input ends within a packet. */
static int
tail(struct alqi_ctf_reader *r, ptrdiff_t got)
{
    warn(r, WARN_TAIL, "the last packet is cut short: its %td bytes are lost",
         got);
    return end(r);
}

/* Reads one packet into r->bytes: 1, 0 at the end of input, or -1. */
static int
packet_fetch(struct alqi_ctf_reader *r)
{
    uint32_t head = ALQI_PACKET_HEADER_BYTES;
    ptrdiff_t got = read_full(r, r->bytes, head);
    ptrdiff_t more = 0;
    const char *wrong;

    if (got == (ptrdiff_t)head) {
        head = alqi_packet_header_bytes(r->bytes[28]);
        more = read_full(r, r->bytes + got, head - (size_t)got);
    }
    if (got < 0 || more < 0)
        return fail_io(r);
    got += more;
    if (got == 0)
        return 0;
    if (r->good_offset > 0 && is_all_zero(r->bytes, (size_t)got)) {
        warn(r, WARN_TAIL, "zeros instead of a packet: the trace ends here");
        return end(r);
    }
    if (got < (ptrdiff_t)head)
        return tail(r, got);
    r->in = (struct alqi_wire_in){.at = r->bytes, .end = r->bytes + head};
    wrong = alqi_packet_read(&r->in, &r->packet);
    if (wrong != NULL)
        return fail(r, "%s", wrong);
    if (r->packet.n_bytes < head ||
        r->packet.n_bytes > ALQI_CTF_PACKET_BYTES_MAX)
        return fail(r, "a packet of %u bytes: not in %u..%u", r->packet.n_bytes,
                    head, (unsigned)ALQI_CTF_PACKET_BYTES_MAX);
    more = read_full(r, r->bytes + got, r->packet.n_bytes - head);
    if (more < 0)
        return fail_io(r);
    if (got + more < (ptrdiff_t)r->packet.n_bytes)
        return tail(r, got + more);
    r->in.end = r->bytes + r->packet.n_bytes;
    return 1;
}

/* The stream of a domain, made when it is new; NULL: the reading has failed. */
static struct stream *
stream_get(struct alqi_ctf_reader *r, uint16_t domain)
{
    struct stream *s;

    for (uint32_t i = 0; i < r->n_streams; i++)
        if (r->streams[i]->domain == domain)
            return r->streams[i];
    if (r->n_streams == STREAMS_MAX) {
        fail(r, "more than %d streams", (int)STREAMS_MAX);
        return NULL;
    }
    s = calloc(1, sizeof *s);
    if (s == NULL || !alqi_ctf_stack_init(&s->stack)) {
        free(s);
        fail_memory(r, "more streams");
        return NULL;
    }
    alqi_mtf_init(&s->mtf);
    s->domain = domain;
    s->collected_id = ALQI_SIDE_LAST;
    r->streams[r->n_streams++] = s;
    return s;
}

/* Warns of what the header says that does not fit. */
static void
packet_check(struct alqi_ctf_reader *r, const struct stream *s)
{
    const struct alqi_packet *p = &r->packet;
    uint32_t i = p->verify_index;

    if (p->begin_us > p->end_us)
        warn(r, WARN_PACKET_TIME, "the packet ends before it begins");
    if (p->version <= 2 && p->id_begin != s->next_id)
        warn(r, WARN_ID_BEGIN,
             "objects are numbered from %llu, but %llu comes next",
             (unsigned long long)p->id_begin, (unsigned long long)s->next_id);
    if (i == ALQI_PACKET_NO_VERIFY)
        return;
    if (i >= ALQI_CTF_CACHE_SLOTS || s->cache.next[i] != p->verify_next ||
        s->cache.slot[i] != p->verify_slot)
        warn(r, WARN_VERIFY,
             "the stack cache is not what the writer had: "
             "stacks from here on may be wrong");
}

/* The packet's events have all been delivered. */
static void
packet_done(struct alqi_ctf_reader *r)
{
    if (r->stream->next_id != r->packet.id_end)
        warn(r, WARN_ID_END, "the packet ends with object %llu, not %llu",
             (unsigned long long)r->stream->next_id,
             (unsigned long long)r->packet.id_end);
    r->good_offset = r->packet_offset + r->packet.n_bytes;
    r->stream = NULL;
}

/* Makes the next packet of this process the one held: 1, 0 or -1. */
static ALQI_NOINLINE int
packet_load(struct alqi_ctf_reader *r)
{
    int got;

    r->packet_offset = r->good_offset;
    while ((got = packet_fetch(r)) > 0) {
        struct stream *s;

        if (r->packet.pid != r->info.pid) {
            warn(r, WARN_FOREIGN,
                 "the packet is of process %llu, the trace of %llu",
                 (unsigned long long)r->packet.pid,
                 (unsigned long long)r->info.pid);
            r->good_offset += r->packet.n_bytes;
            r->packet_offset = r->good_offset;
            continue;
        }
        s = stream_get(r, r->packet.domain);
        if (s == NULL)
            return -1;
        packet_check(r, s);
        s->next_id = r->packet.id_begin;
        r->stream = s;
        return 1;
    }
    if (got == 0)
        warn_rest(r);
    return got;
}

/* ---- events ---------------------------------------------------------- */

/* A time that cannot be, brought to the nearest that can. */
static ALQI_COLD uint64_t
time_clamp(struct alqi_ctf_reader *r, uint64_t time_us)
{
    const struct alqi_packet *p = &r->packet;

    warn(r, WARN_EVENT_TIME,
         "event %llu is outside its packet's time or before the last one",
         (unsigned long long)r->n_events);
    if (time_us > p->end_us)
        time_us = p->end_us > p->begin_us ? p->end_us : p->begin_us;
    return time_us < r->stream->last_us ? r->stream->last_us : time_us;
}

/* A location record: announced, known already, or a side record. */
static int
location_read(struct alqi_ctf_reader *r, struct alqi_ctf_event *event)
{
    struct alqi_ctf_location got;
    const struct alqi_ctf_location *known;

    switch (alqi_record_read(&r->in, &r->stream->mtf, &r->locations,
                             r->packet.version == 1, r->scratch, &got)) {
    case ALQI_RECORD_OK:
        break;
    case ALQI_RECORD_SHORT:
        return fail(r, "a location record runs past its packet");
    case ALQI_RECORD_INDEX:
        return fail(r, "a location record names an empty table entry");
    case ALQI_RECORD_NOMEM:
        return fail_memory(r, "more names");
    }
    event->kind = ALQI_CTF_LOCATION;
    if (got.n_entries == 0 && alqi_side_is(got.code)) {
        if (got.code == ALQI_SIDE_MOVED_LAST)
            got.code = ALQI_SIDE_PREFIX | ALQI_SIDE_MOVED |
                       (r->stream->collected_id & ALQI_SIDE_NUMBER_MASK);
        event->location = got; /* as many as there are events: not kept */
        return 1;
    }
    known = alqi_wire_locations_find(&r->locations, got.code);
    if (known == NULL) {
        known = alqi_wire_locations_add(&r->locations, &got);
        if (known == NULL)
            return fail_memory(r, "more locations");
    } else if (!alqi_wire_locations_equal(known, &got)) {
        warn(r, WARN_REDEFINED,
             "code 0x%llx is announced again with another meaning; "
             "the first one stays",
             (unsigned long long)got.code);
    }
    event->location = *known;
    return 1;
}

/* Warns of what decoding a stack met. */
static ALQI_COLD void
stack_warn(struct alqi_ctf_reader *r,
           const struct alqi_ctf_stack_oddities *seen)
{
    if (seen->is_clipped)
        warn(r, WARN_CLIPPED,
             "the stack of object %llu is too deep: its inner end is left out",
             (unsigned long long)r->stream->next_id);
    if (seen->is_unannounced)
        warn(r, WARN_UNANNOUNCED,
             "the stack of object %llu has a code without location record",
             (unsigned long long)r->stream->next_id);
}

/* The common end of both allocation events: shared, count, words. */
static int
stack_read(struct alqi_ctf_reader *r, bool is_short,
           struct alqi_ctf_event *event)
{
    struct stream *s = r->stream;
    struct alqi_ctf_stack_oddities seen = {0};
    int64_t shared = alqi_wire_in_vint(&r->in);
    uint32_t n_words =
        is_short ? alqi_wire_in_u8(&r->in) : alqi_wire_in_u16(&r->in);

    if (shared < 0)
        return fail(r, "a stack shares %lld frames", (long long)shared);
    alqi_ctf_stack_decode(&s->cache, &r->in, (uint64_t)shared, n_words,
                          &r->locations, &s->stack, &r->frames_budget, &seen);
    if (r->in.bad)
        return fail(r, "an allocation runs past its packet");
    if (ALQI_UNLIKELY(seen.is_clipped || seen.is_unannounced))
        stack_warn(r, &seen);
    event->kind = ALQI_CTF_ALLOC;
    event->n_shared = (uint64_t)shared;
    event->codes = s->stack.codes;
    event->n_codes = s->stack.n_codes;
    event->id = s->next_id++;
    return 1;
}

/* An allocation in its long form. */
static int
alloc_read(struct alqi_ctf_reader *r, struct alqi_ctf_event *event)
{
    uint32_t source;

    event->length = alqi_wire_in_vint(&r->in);
    event->n_samples = alqi_wire_in_vint(&r->in);
    source = alqi_wire_in_u8(&r->in);
    if (source > ALQI_CTF_EXTERNAL)
        return fail(r, "an allocation of source %u", source);
    event->source = (enum alqi_ctf_source)source;
    return stack_read(r, false, event);
}

/* A promotion or a collection. */
static int
later_read(struct alqi_ctf_reader *r, enum alqi_ctf_kind kind,
           struct alqi_ctf_event *event)
{
    int64_t distance = alqi_wire_in_vint(&r->in);

    if (r->in.bad)
        return fail(r, "an event runs past its packet");
    if (distance < 0 && kind == ALQI_CTF_PROMOTE)
        warn(r, WARN_PROMOTE, "an object not yet allocated is promoted");
    event->kind = kind;
    event->id = r->stream->next_id - 1 - (uint64_t)distance;
    if (kind == ALQI_CTF_COLLECT)
        r->stream->collected_id = event->id;
    return 1;
}

/* The next event of the packet held: 1, or -1. */
static int
event_read(struct alqi_ctf_reader *r, struct alqi_ctf_event *event)
{
    uint32_t head = alqi_wire_in_u32(&r->in);
    uint32_t code = head >> ALQI_EVENT_TIME_BITS;
    uint64_t time_us = alqi_event_time_us(r->packet.begin_us, head);

    if (ALQI_UNLIKELY(r->in.bad))
        return fail(r, "an event header runs past its packet");
    if (ALQI_UNLIKELY(time_us > r->packet.end_us ||
                      time_us < r->stream->last_us))
        time_us = time_clamp(r, time_us);
    r->stream->last_us = time_us;
    event->domain = r->packet.domain;
    event->time_us = time_us;
    if (code > ALQI_EVENT_SHORT &&
        code <= ALQI_EVENT_SHORT + ALQI_EVENT_SHORT_WORDS_MAX) {
        event->length = code - ALQI_EVENT_SHORT;
        event->n_samples = 1;
        event->source = ALQI_CTF_MINOR;
        return stack_read(r, true, event);
    }
    switch (code) {
    case ALQI_EVENT_LOCATION:
        return location_read(r, event);
    case ALQI_EVENT_ALLOC:
        return alloc_read(r, event);
    case ALQI_EVENT_PROMOTE:
        return later_read(r, ALQI_CTF_PROMOTE, event);
    case ALQI_EVENT_COLLECT:
        return later_read(r, ALQI_CTF_COLLECT, event);
    case ALQI_EVENT_INFO:
        return fail(r, "a second trace begins here");
    default:
        return fail(r, "an event of unknown code %u", code);
    }
}

int
alqi_ctf_reader_next(struct alqi_ctf_reader *reader,
                     struct alqi_ctf_event *event)
{
    int got;

    if (reader->state != OPEN)
        return reader->state == ENDED ? 0 : -1;
    while (reader->stream == NULL) {
        got = packet_load(reader);
        if (got <= 0)
            return got;
        if (reader->in.at == reader->in.end)
            packet_done(reader);
    }
    got = event_read(reader, event);
    if (got < 0)
        return got;
    reader->n_events++;
    if (reader->in.at == reader->in.end)
        packet_done(reader);
    return got;
}

/* ---- opening --------------------------------------------------------- */

/* Interns the strings of the first packet, which point into it. */
static bool
info_keep(struct alqi_ctf_reader *r)
{
    struct alqi_ctf_info *info = &r->info;

    info->executable =
        alqi_wire_locations_name(&r->locations, info->executable);
    info->host = alqi_wire_locations_name(&r->locations, info->host);
    info->params = alqi_wire_locations_name(&r->locations, info->params);
    info->context = alqi_wire_locations_name(&r->locations, info->context);
    return info->executable != NULL && info->host != NULL &&
           info->params != NULL && info->context != NULL;
}

/* Judges what the first packet says of the trace. */
static int
info_check(struct alqi_ctf_reader *r)
{
    const struct alqi_ctf_info *info = &r->info;

    if (r->in.bad)
        return fail(r, "the trace-info event runs past its packet");
    if (!isfinite(info->rate) || info->rate < 0)
        return fail(r, "a sample rate that is no number from 0 to 1");
    if (info->rate <= 0 || info->rate > 1)
        warn(r, WARN_INFO, "the sample rate is %g", info->rate);
    if (info->word_bits != 8 && info->word_bits != 32 && info->word_bits != 64)
        warn(r, WARN_INFO, "words have %u bits", info->word_bits);
    if (r->in.at != r->in.end)
        warn(r, WARN_INFO, "bytes follow the trace-info event");
    if (info->pid != r->packet.pid)
        warn(r, WARN_INFO, "the first packet is of process %llu, not %llu",
             (unsigned long long)r->packet.pid, (unsigned long long)info->pid);
    return 1;
}

/* Reads the first packet: 1, or -1. */
static int
info_read(struct alqi_ctf_reader *r)
{
    int got = packet_fetch(r);
    uint32_t head;

    if (got < 0)
        return got;
    if (got == 0)
        return fail(r, r->n_warnings[WARN_TAIL] == 0
                           ? "the input is empty"
                           : "the input ends within the first packet");
    head = alqi_wire_in_u32(&r->in);
    if (r->in.bad || head >> ALQI_EVENT_TIME_BITS != ALQI_EVENT_INFO)
        return fail(r, "the first packet does not tell what is traced");
    r->info.start_us = r->packet.begin_us;
    alqi_packet_info_read(&r->in, r->packet.version, &r->info);
    if (info_check(r) < 0)
        return -1;
    if (!info_keep(r))
        return fail_memory(r, "the trace's description");
    r->good_offset = r->packet.n_bytes;
    return 1;
}

enum alq_status
alqi_ctf_reader_open(alqi_ctf_read_fn *read, void *read_arg,
                     alqi_ctf_warn_fn *warn_fn, void *warn_arg,
                     struct alqi_ctf_reader **out)
{
    struct alqi_ctf_reader *r = calloc(1, sizeof *r);

    *out = r;
    if (r == NULL)
        return ALQ_ENOMEM;
    r->read = read;
    r->read_arg = read_arg;
    r->warn = warn_fn;
    r->warn_arg = warn_arg;
    r->frames_budget = FRAMES_BUDGET;
    /* The address differs from run to run: enough against made-up codes. */
    alqi_wire_locations_init(&r->locations, alqi_base_mix((uintptr_t)r),
                             PLACES_BYTES_MAX);
    return info_read(r) > 0 ? ALQ_OK : r->status;
}

void
alqi_ctf_reader_drop(struct alqi_ctf_reader *reader)
{
    if (reader == NULL)
        return;
    for (uint32_t i = 0; i < reader->n_streams; i++) {
        free(reader->streams[i]->stack.codes);
        free(reader->streams[i]);
    }
    alqi_wire_locations_drop(&reader->locations);
    free(reader);
}

const struct alqi_ctf_info *
alqi_ctf_reader_info(const struct alqi_ctf_reader *reader)
{
    return &reader->info;
}

const struct alqi_ctf_location *
alqi_ctf_reader_location(const struct alqi_ctf_reader *reader, uint64_t code)
{
    return alqi_wire_locations_find(&reader->locations, code);
}

const char *
alqi_ctf_reader_error(const struct alqi_ctf_reader *reader)
{
    return reader == NULL ? "no memory" : reader->error;
}

bool
alqi_ctf_reader_is_cut(const struct alqi_ctf_reader *reader)
{
    return reader != NULL && reader->n_warnings[WARN_TAIL] > 0;
}

uint64_t
alqi_ctf_reader_offset_bytes(const struct alqi_ctf_reader *reader)
{
    return reader->good_offset;
}
