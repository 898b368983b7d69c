/* pprof.c -- pprof's profile.proto, gzip-compressed
 *
 * pprof_profile.c makes the message as tables; here it becomes bytes (wire's
 * protobuf writer) and a file. Fields are written in the order of their
 * numbers. Without memory for the message the command ends with an error. */
#include <stdlib.h>

#include "cli/tool/cli.h"
#include "cli/export/export.h"
#include "cli/export/pprof_profile.h"
#include "cli/tool/gzip.h"
#include "cli/tool/text.h"
#include "wire/pb_profile.h"

static const uint64_t ENGINE_BYTES_MOST = 4 << 20;

/* ---- the message ----------------------------------------------------- */

/* One sample: its places, its values, and the mean size as a label. */
static void
sample_put(struct alqi_pb *pb, const struct alqi_cli_pprof_profile *p,
           const struct alqi_cli_pprof_sample *s)
{
    size_t mark = alqi_pb_begin(pb, ALQI_PB_PROFILE_SAMPLE);

    alqi_pb_uints(pb, ALQI_PB_SAMPLE_LOCATION, s->locations, s->n_locations);
    alqi_pb_ints(pb, ALQI_PB_SAMPLE_VALUE, s->values, p->n_types);
    if (s->has_mean)
        alqi_pb_label(pb, (uint64_t)p->mean_unit, s->mean_bytes,
                      (uint64_t)p->mean_unit);
    alqi_pb_end(pb, mark);
}

/* A location and its lines; one without lines is looked up by the reader. */
static void
location_put(struct alqi_pb *pb, uint64_t id,
             const struct alqi_cli_pprof_tables *t)
{
    const struct alqi_cli_pprof_location *l = &t->locations[id - 1];
    size_t mark = alqi_pb_location(pb, id, l->mapping, l->address);

    for (uint32_t i = l->first_line; i < l->first_line + l->n_lines; i++)
        alqi_pb_line(pb, t->lines[i].function, (uint64_t)t->lines[i].line);
    alqi_pb_end(pb, mark);
}

/* Mappings, locations, functions and strings: the order of their numbers in the
 * message. Identifiers count from 1. */
static void
tables_put(struct alqi_pb *pb, const struct alqi_cli_pprof_tables *t)
{
    for (uint32_t i = 0; i < t->n_mappings; i++) {
        struct alqi_pb_mapping m = t->mappings[i];

        m.id = i + 1;
        alqi_pb_mapping(pb, &m);
    }
    for (uint32_t i = 0; i < t->n_locations; i++)
        location_put(pb, i + 1, t);
    for (uint32_t i = 0; i < t->functions.n; i++) {
        struct alqi_cli_pprof_function f = alqi_cli_pprof_function(t, i);

        alqi_pb_function(pb, i + 1, f.name, f.file);
    }
    for (uint32_t i = 0; i < t->strings.n; i++)
        alqi_pb_text(pb, ALQI_PB_PROFILE_STRING, alqi_cli_pprof_text(t, i));
}

/* The whole message. */
static void
profile_put(struct alqi_pb *pb, const struct alqi_cli_pprof_profile *p)
{
    for (unsigned t = 0; t < p->n_types; t++)
        alqi_pb_value_type(pb, ALQI_PB_PROFILE_SAMPLE_TYPE,
                           (uint64_t)p->types[t].type,
                           (uint64_t)p->types[t].unit);
    for (uint32_t i = 0; i < p->n_samples; i++)
        sample_put(pb, p, &p->samples[i]);
    tables_put(pb, &p->tables);
    alqi_pb_int(pb, ALQI_PB_PROFILE_TIME_NS, p->time_ns);
    alqi_pb_int(pb, ALQI_PB_PROFILE_DURATION_NS, p->duration_ns);
    alqi_pb_value_type(pb, ALQI_PB_PROFILE_PERIOD_TYPE,
                       (uint64_t)p->period_type.type,
                       (uint64_t)p->period_type.unit);
    alqi_pb_int(pb, ALQI_PB_PROFILE_PERIOD, p->period);
    alqi_pb_ints(pb, ALQI_PB_PROFILE_COMMENT, p->comments, p->n_comments);
    alqi_pb_int(pb, ALQI_PB_PROFILE_DEFAULT_TYPE, p->default_type);
}

/* ---- the file -------------------------------------------------------- */

/* False: no memory to compress. */
static bool
gzip_put(const struct alqi_pb *pb, FILE *out)
{
    size_t n;
    void *packed = alqi_cli_gzip(pb->bytes, pb->n, &n);

    if (packed == NULL)
        return false;
    fwrite(packed, 1, n, out);
    free(packed);
    return true;
}

/* Returns the bytes before compression: engines limit those. */
uint64_t
alqi_cli_pprof_write(const struct alqi_cli_pprof *p, FILE *out)
{
    struct alqi_pb pb = {0};
    uint64_t n;

    profile_put(&pb, alqi_cli_pprof_message(p));
    if (pb.is_short || !gzip_put(&pb, out))
        alqi_cli_die("out of memory to write the profile");
    n = pb.n;
    alqi_pb_free(&pb);
    return n;
}

/* What was cut to keep the profile small, and what engines refuse. */
static void
limits_say(const struct alqi_cli_pprof *p, uint64_t bytes)
{
    uint32_t n_samples = alqi_cli_pprof_message(p)->n_samples;
    double share;
    uint32_t n_folded = alqi_cli_pprof_folded(p, &share);

    if (n_folded > 0)
        alqi_cli_say("%u of %u stacks are merged into [other], which has %s of "
                     "what was allocated; --max-stacks=0 keeps all",
                     n_folded, n_samples - 1 + n_folded,
                     alqi_cli_text_percent(share).text);
    if (bytes > ENGINE_BYTES_MOST)
        alqi_cli_say("the profile is %s before compression: pprof reads it, "
                     "Pyroscope refuses more than 4 MiB unless told otherwise; "
                     "--max-stacks=N makes it smaller",
                     alqi_cli_text_bytes((double)bytes).text);
}

void
alqi_cli_export_pprof(struct alqi_cli_export *export, FILE *out)
{
    struct alqi_cli_pprof *p = alqi_cli_pprof_new(export);
    uint64_t bytes = alqi_cli_pprof_write(p, out);

    if (!export->part.is_quiet)
        limits_say(p, bytes);
    alqi_cli_pprof_drop(p);
}
