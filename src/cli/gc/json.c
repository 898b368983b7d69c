/* json.c -- the collector's events in the Trace Event Format
 *
 * A track of the recording is a thread there: spans as pairs of "B" and "E",
 * moments as "i", the bytes of the heap as counters "C".  Times are
 * microseconds since the recording began. */
#include <inttypes.h>

#include "cli/tool/json.h"
#include "cli/gc/gc_trace.h"

/* State of one output. */
struct json {
    FILE *out;
    /* objects written: a comma stands before all but the first */
    uint64_t n;
    /* of the recorded process */
    uint32_t pid;
    /* CLOCK_MONOTONIC of the recording's start: time 0 */
    uint64_t start_ns;
    /* by track: its name has been written */
    bool has_name[ALQI_GCTRACE_TRACKS_MAX];
};

/* Opens an object of phase ph; the caller closes it. */
static void
object(struct json *j, const char *ph, uint32_t track)
{
    fputs(j->n++ > 0 ? ",\n" : "\n", j->out);
    fprintf(j->out, "{\"ph\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, ph,
            j->pid, track);
}

/* Microseconds with three digits behind the point; times before the start are
 * 0. */
static void
time_of(struct json *j, uint64_t ns)
{
    uint64_t since = ns > j->start_ns ? ns - j->start_ns : 0;

    fprintf(j->out, ",\"ts\":%" PRIu64 ".%03u", since / 1000,
            (unsigned)(since % 1000));
}

/* Names a track before its first event. The viewer sorts tracks by index: the
 * heap's comes first. */
static void
name_track(struct json *j, uint32_t track)
{
    char text[32];

    if (j->has_name[track])
        return;
    j->has_name[track] = true;
    object(j, "M", track);
    fputs(",\"name\":\"thread_name\",\"args\":{\"name\":", j->out);
    alqi_cli_json_text(j->out,
                       alqi_cli_gc_track_text(text, sizeof text, track));
    fputs("}}", j->out);
    object(j, "M", track);
    fprintf(j->out,
            ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%" PRIu32
            "}}",
            track);
}

static void
name_kind(struct json *j, unsigned kind)
{
    char text[32];

    fputs(",\"cat\":\"gc\",\"name\":", j->out);
    alqi_cli_json_text(j->out, alqi_cli_gc_kind_text(text, sizeof text, kind));
}

/* Writes the event's values that have names, and closes the object. */
static void
args(struct json *j, const struct alqi_gctrace_event *e)
{
    uint64_t n = 0;
    unsigned i;

    fputs(",\"args\":{", j->out);
    for (i = 0; i < ALQ_EVENT_VALUES; i++) {
        const char *name = alq_event_value_text(e->kind, e->point, i);

        if (name == NULL)
            continue;
        alqi_cli_json_next(j->out, &n);
        fprintf(j->out, "\"%s\":%" PRIu64, name, e->values[i]);
    }
    fputs("}}", j->out);
}

/* A span begins. */
static void
begin(void *arg, uint32_t track, const struct alqi_gctrace_event *e)
{
    struct json *j = arg;

    name_track(j, track);
    object(j, "B", track);
    time_of(j, e->time_ns);
    name_kind(j, e->kind);
    args(j, e);
}

/* The heap's bytes at the end of a pause, as a counter. */
static void
counters(struct json *j, uint32_t track, const struct alqi_gctrace_event *end)
{
    uint64_t used = end->values[0], ready = end->values[1];

    object(j, "C", track);
    time_of(j, end->time_ns);
    fprintf(j->out,
            ",\"name\":\"heap bytes\",\"args\":{\"in use\":%" PRIu64
            ",\"free\":%" PRIu64 "}}",
            used, ready > used ? ready - used : 0);
}

/* A span ends. */
static void
end(void *arg, uint32_t track, const struct alqi_cli_gc_span *span)
{
    struct json *j = arg;

    object(j, "E", track);
    time_of(j, span->end.time_ns);
    name_kind(j, span->begin.kind);
    if (span->is_cut) {
        fputs(",\"args\":{\"cut\":true}}", j->out);
        return;
    }
    args(j, &span->end);
    if (span->begin.kind == ALQ_EVENT_PAUSE)
        counters(j, track, &span->end);
}

/* An event without length. */
static void
moment(void *arg, uint32_t track, const struct alqi_gctrace_event *e)
{
    struct json *j = arg;

    name_track(j, track);
    object(j, "i", track);
    time_of(j, e->time_ns);
    name_kind(j, e->kind);
    fputs(",\"s\":\"t\"", j->out);
    args(j, e);
}

int
alqi_cli_gc_json(struct alqi_cli_gc_events *events, FILE *out)
{
    const struct alqi_gctrace_header *h = alqi_cli_gc_header(events);
    struct json j = {.out = out, .pid = h->pid, .start_ns = h->mono_ns};
    struct alqi_cli_gc_hear hear = {begin, end, moment, &j};
    struct alqi_cli_gc_totals totals;
    int status;

    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", out);
    object(&j, "M", ALQI_GCTRACE_HEAP);
    fputs(",\"name\":\"process_name\",\"args\":{\"name\":\"aliquot heap\"}}",
          out);
    status = alqi_cli_gc_read(events, &hear, &totals);
    fprintf(out,
            "\n],\"otherData\":{\"start_us\":%" PRIu64 ",\"events\":%" PRIu64
            ",\"lost_events\":%" PRIu64 ",\"unbegun_ends\":%" PRIu64
            ",\"cut_spans\":%" PRIu64 "}}\n",
            h->wall_ns / 1000, totals.n_events, totals.n_lost, totals.n_unbegun,
            totals.n_cut);
    return status;
}
