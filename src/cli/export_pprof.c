/* export_pprof.c -- pprof's profile.proto, gzip-compressed
 *
 * The four values of Go's heap profiles for each call stack: all that was
 * allocated, and what is in use, which is what is alive at the end or, when
 * asked for, was at the peak.  Values are estimates already; no reader scales
 * them.  They are apportioned, so that each sum is the total of
 * `report --json`.
 *
 * Engines refuse profiles with very many stacks.  The stacks beyond the most
 * that may be are one, "[other]": those whose largest share of any of the four
 * totals is smallest. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/base.h"
#include "cli/apportion.h"
#include "cli/cli.h"
#include "cli/export.h"
#include "cli/pprof_tables.h"
#include "cli/remarks.h"
#include "cli/text.h"

enum {
    VALUES = 4,
    GZIP = 16, /* added to the window bits: gzip's header, not zlib's */
    CHUNK_BYTES = 65536,
    NS_PER_US = 1000,
    COMMENTS_MOST = 8 + ALQI_CLI_N_COUNTERS,
    COMMENT_BYTES = 4608
};

static const uint64_t ENGINE_BYTES_MOST = 4 << 20;

/* In Go's order; PEAK takes the place of LIVE when it is asked for. */
static const struct {
    const char *type, *unit;
    bool is_bytes, is_in_use;
} kinds[VALUES] = {
    {"alloc_objects", "count", false, false},
    {"alloc_space", "bytes", true, false},
    {"inuse_objects", "count", false, true},
    {"inuse_space", "bytes", true, true},
};

/* A site that is a sample of its own, or the tail of all others. */
struct row {
    const struct alqi_cli_site *site; /* NULL: the tail */
    double share;
    double values[VALUES];
    Pprof__Sample sample;
    Pprof__Label label;
};

struct profile {
    struct alqi_cli_export *export;
    struct alqi_cli_pprof_tables tables;
    struct row *rows;
    uint32_t n_rows;
    uint32_t n_folded; /* stacks in the tail */
    double totals[VALUES];
    int64_t *values;        /* of all samples */
    uint64_t *location_ids; /* of all samples */
    Pprof__Sample **samples;
    Pprof__Label **labels;
    int64_t comments[COMMENTS_MOST];
    size_t n_comments;
};

/* ---- values ---------------------------------------------------------- */

static void
values_of(const struct alqi_cli_export *x, const struct alqi_cli_sum *sums,
          double *values)
{
    enum alqi_cli_measure in_use =
        x->measure == ALQI_CLI_PEAK ? ALQI_CLI_PEAK : ALQI_CLI_LIVE;

    for (int k = 0; k < VALUES; k++) {
        const struct alqi_cli_sum *s =
            &sums[kinds[k].is_in_use ? in_use : ALQI_CLI_ALLOCATED];

        values[k] = kinds[k].is_bytes ? s->bytes : s->objects;
    }
}

static double
share_of(const struct profile *p, const double *values)
{
    double share = 0;

    for (int k = 0; k < VALUES; k++)
        if (p->totals[k] > 0 && values[k] / p->totals[k] > share)
            share = values[k] / p->totals[k];
    return share;
}

static int
by_share(const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;

    if (a->share != b->share)
        return a->share > b->share ? -1 : 1;
    return a->site < b->site ? -1 : a->site > b->site;
}

/* Rows from `most` - 1 on become one. */
static void
tail_fold(struct profile *p, uint32_t most)
{
    struct row *tail;

    if (most == 0 || p->n_rows <= most)
        return;
    tail = &p->rows[most - 1];
    tail->site = NULL;
    p->n_folded = p->n_rows - (most - 1);
    for (uint32_t i = most; i < p->n_rows; i++)
        for (int k = 0; k < VALUES; k++)
            tail->values[k] += p->rows[i].values[k];
    p->n_rows = most;
}

static void
rows_make(struct profile *p)
{
    const struct alqi_cli_export *x = p->export;
    const struct alqi_cli_analysis *a = &x->analysis;

    values_of(x, a->totals, p->totals);
    p->rows = alqi_cli_realloc(NULL, a->n_sites, sizeof *p->rows);
    for (uint32_t i = 0; i < a->n_sites; i++) {
        struct row *r = &p->rows[p->n_rows];

        if (a->sites[i].sums[ALQI_CLI_ALLOCATED].n_blocks == 0)
            continue;
        r->site = &a->sites[i];
        values_of(x, a->sites[i].sums, r->values);
        r->share = share_of(p, r->values);
        p->n_rows++;
    }
    qsort(p->rows, p->n_rows, sizeof *p->rows, by_share);
    tail_fold(p, x->max_stacks);
}

static void
values_make(struct profile *p)
{
    double *parts = alqi_cli_realloc(NULL, p->n_rows, sizeof *parts);
    int64_t *whole = alqi_cli_realloc(NULL, p->n_rows, sizeof *whole);

    p->values =
        alqi_cli_realloc(NULL, (size_t)p->n_rows * VALUES, sizeof *p->values);
    for (int k = 0; k < VALUES; k++) {
        for (uint32_t i = 0; i < p->n_rows; i++)
            parts[i] = p->rows[i].values[k];
        alqi_cli_apportion(whole, parts, p->n_rows,
                           alqi_cli_whole(p->totals[k]));
        for (uint32_t i = 0; i < p->n_rows; i++)
            p->values[i * VALUES + (size_t)k] = whole[i];
    }
    free(parts);
    free(whole);
}

/* ---- samples --------------------------------------------------------- */

static size_t
n_locations(const struct profile *p, const struct row *r)
{
    uint32_t depth = r->site != NULL
                         ? p->export->analysis.stacks.nodes[r->site->node].depth
                         : 0;

    return depth > 0 ? depth : 1; /* a stand-in */
}

/* Innermost first, as the trie leads. */
static void
sample_locate(struct profile *p, struct row *r, uint64_t *ids)
{
    const struct alqi_cli_node *nodes = p->export->analysis.stacks.nodes;
    uint32_t node = r->site != NULL ? r->site->node : 0;

    r->sample.n_location_id = n_locations(p, r);
    r->sample.location_id = ids;
    if (r->site == NULL)
        *ids = alqi_cli_pprof_stand_in(&p->tables, "[other]");
    else if (node == 0)
        *ids = alqi_cli_pprof_stand_in(&p->tables, "[no stack]");
    for (; node != 0; node = nodes[node].parent)
        *ids++ = alqi_cli_pprof_location(&p->tables, nodes[node].code);
}

/* The mean size of the blocks, where Go has the size: one label a stack, or
 * sizes would multiply the stacks. */
static void
sample_label(struct profile *p, struct row *r, Pprof__Label **at)
{
    const struct alqi_cli_sum *s;
    double mean;

    if (r->site == NULL)
        return;
    s = &r->site->sums[ALQI_CLI_ALLOCATED];
    mean = s->objects > 0 ? s->bytes / s->objects : 0;
    pprof__label__init(&r->label);
    r->label.key = alqi_cli_pprof_string(&p->tables, "bytes");
    r->label.num = alqi_cli_whole(mean);
    r->label.num_unit = r->label.key;
    *at = &r->label;
    r->sample.n_label = 1;
    r->sample.label = at;
}

static void
samples_make(struct profile *p)
{
    size_t n = 0;

    for (uint32_t i = 0; i < p->n_rows; i++)
        n += n_locations(p, &p->rows[i]);
    p->location_ids = alqi_cli_realloc(NULL, n, sizeof *p->location_ids);
    p->samples = alqi_cli_realloc(NULL, p->n_rows, sizeof(void *));
    p->labels = alqi_cli_realloc(NULL, p->n_rows, sizeof(void *));
    n = 0;
    for (uint32_t i = 0; i < p->n_rows; i++) {
        struct row *r = &p->rows[i];

        pprof__sample__init(&r->sample);
        sample_locate(p, r, p->location_ids + n);
        sample_label(p, r, &p->labels[i]);
        r->sample.n_value = VALUES;
        r->sample.value = p->values + (size_t)i * VALUES;
        p->samples[i] = &r->sample;
        n += r->sample.n_location_id;
    }
}

/* ---- the head -------------------------------------------------------- */

static void __attribute__((format(printf, 2, 3)))
comment(struct profile *p, const char *format, ...)
{
    char text[COMMENT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    p->comments[p->n_comments++] = alqi_cli_pprof_string(&p->tables, text);
}

static void
remark(void *arg, const char *text)
{
    comment(arg, "%s", text);
}

static void
comments_make(struct profile *p)
{
    const struct alqi_cli_analysis *a = &p->export->analysis;
    uint32_t command = a->notes.cmdline;
    char text[COMMENT_BYTES];

    if (command != ALQI_CLI_NO_NAME)
        comment(p, "%s", alqi_cli_names_text(a->names, command));
    comment(p, "aliquot " ALQI_VERSION "; in use means %s",
            p->export->measure == ALQI_CLI_PEAK ? "alive at the peak"
                                                : "alive when the trace ends");
    alqi_cli_remark_sampling(a, text, sizeof text);
    comment(p, "%s", text);
    if (p->n_folded > 0)
        comment(p, "[other] stands for %u stacks", p->n_folded);
    alqi_cli_remarks(a, alqi_cli_input_damage(p->export->input), remark, p);
}

static void
type_fill(struct profile *p, Pprof__ValueType *type, const char *name,
          const char *unit)
{
    pprof__value_type__init(type);
    type->type = alqi_cli_pprof_string(&p->tables, name);
    type->unit = alqi_cli_pprof_string(&p->tables, unit);
}

static void
head_fill(struct profile *p, Pprof__Profile *out)
{
    const struct alqi_cli_export *x = p->export;
    const struct alqi_cli_analysis *a = &x->analysis;
    bool is_alloc = x->has_measure && x->measure == ALQI_CLI_ALLOCATED;

    out->time_nanos = (int64_t)(a->info->start_us * NS_PER_US);
    out->duration_nanos = (int64_t)(a->end_us * NS_PER_US);
    out->period =
        a->estimator.has_rate ? alqi_cli_whole(a->estimator.interval_bytes) : 0;
    out->default_sample_type = alqi_cli_pprof_string(
        &p->tables, is_alloc ? "alloc_space" : "inuse_space");
    comments_make(p);
    out->n_comment = p->n_comments;
    out->comment = p->comments;
}

/* ---- the file -------------------------------------------------------- */

/* protobuf-c appends to it what becomes the file. */
struct gzip {
    ProtobufCBuffer base;
    z_stream z;
    FILE *out;
};

static void
gzip_push(struct gzip *g, int flush)
{
    static uint8_t chunk[CHUNK_BYTES];

    do {
        g->z.next_out = chunk;
        g->z.avail_out = sizeof chunk;
        deflate(&g->z, flush);
        fwrite(chunk, 1, sizeof chunk - g->z.avail_out, g->out);
    } while (g->z.avail_out == 0);
}

static void
gzip_append(ProtobufCBuffer *buffer, size_t n, const uint8_t *bytes)
{
    struct gzip *g = (struct gzip *)buffer;

    while (n > 0) {
        g->z.next_in = (uint8_t *)bytes;
        g->z.avail_in = n < CHUNK_BYTES ? (uInt)n : CHUNK_BYTES;
        bytes += g->z.avail_in;
        n -= g->z.avail_in;
        gzip_push(g, Z_NO_FLUSH);
    }
}

static void
file_write(const Pprof__Profile *profile, FILE *out)
{
    struct gzip g = {.base = {gzip_append}, .out = out};

    if (deflateInit2(&g.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP,
                     MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        alqi_cli_say("out of memory to compress the profile");
        exit(ALQI_CLI_UNREADABLE);
    }
    protobuf_c_message_pack_to_buffer(&profile->base, &g.base);
    gzip_push(&g, Z_FINISH);
    deflateEnd(&g.z);
}

static void
limits_say(const struct profile *p, const Pprof__Profile *out)
{
    uint64_t bytes = pprof__profile__get_packed_size(out);
    const double *tail = p->n_rows > 0 ? p->rows[p->n_rows - 1].values : NULL;

    if (p->n_folded > 0)
        alqi_cli_say("%u of %u stacks are folded into [other], which has %s of "
                     "what was allocated; --max-stacks=0 keeps all",
                     p->n_folded, p->n_rows - 1 + p->n_folded,
                     alqi_cli_text_percent(tail[1] / p->totals[1]).text);
    if (bytes > ENGINE_BYTES_MOST)
        alqi_cli_say("the profile is %s before compression: pprof reads it, "
                     "Pyroscope refuses more than 4 MiB unless told otherwise; "
                     "--max-stacks=N makes it smaller",
                     alqi_cli_text_bytes((double)bytes).text);
}

void
alqi_cli_export_pprof(struct alqi_cli_export *export, FILE *out)
{
    struct profile p = {.export = export};
    Pprof__Profile profile = PPROF__PROFILE__INIT;
    Pprof__ValueType types[VALUES], period;
    Pprof__ValueType *type[VALUES];

    alqi_cli_pprof_tables_init(&p.tables, &export->analysis);
    rows_make(&p);
    values_make(&p);
    for (int k = 0; k < VALUES; k++) {
        type_fill(&p, &types[k], kinds[k].type, kinds[k].unit);
        type[k] = &types[k];
    }
    type_fill(&p, &period, "space", "bytes");
    profile.n_sample_type = VALUES;
    profile.sample_type = type;
    profile.period_type = &period;
    head_fill(&p, &profile);
    samples_make(&p);
    profile.n_sample = p.n_rows;
    profile.sample = p.samples;
    alqi_cli_pprof_tables_put(&p.tables, &profile);
    limits_say(&p, &profile);
    file_write(&profile, out);
    alqi_cli_pprof_tables_free(&p.tables);
    free(p.rows);
    free(p.values);
    free(p.location_ids);
    free(p.samples);
    free(p.labels);
}
