/* pprof_profile.c -- a trace, or a part of it, as pprof's message
 *
 * Phases: choose the types; make a row of each site (rows_make), sort the rows
 * by their largest share, fold the tail; make whole values; fill head and
 * samples. Values are apportioned, so that each sum is the total of `report
 * --json`; those of a part are rounded one by one, as differences have no
 * total.
 *
 * Engines refuse profiles with very many stacks. The stacks beyond the most
 * that may be are one, "[other]": those whose largest share of any of the
 * totals is smallest. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/apportion.h"
#include "cli/tool/cli.h"
#include "cli/export/export.h"
#include "cli/export/pprof_profile.h"
#include "cli/export/pprof_tables.h"
#include "cli/analysis/remarks.h"

enum {
    VALUES = ALQI_CLI_PPROF_VALUES,
    NS_PER_US = 1000,
    COMMENTS_MOST = 8 + ALQI_CLI_N_COUNTERS,
    COMMENT_BYTES = 4608
};

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
    /* largest share of any total; rows are sorted by it */
    double share;
    /* in the order of `kinds`, not rounded */
    double values[VALUES];
};

struct alqi_cli_pprof {
    struct alqi_cli_export *export;
    struct alqi_cli_pprof_profile message;
    /* sorted; the last may be the tail */
    struct row *rows;
    uint32_t n_rows;
    uint32_t n_folded; /* stacks in the tail */
    /* of a part, sums of absolute values */
    double totals[VALUES];
    unsigned types[VALUES]; /* which of them the profile has */
    unsigned n_types;
    int64_t *values;        /* of all samples */
    uint64_t *location_ids; /* of all samples */
    /* strings, of which message.n_comments are used */
    int64_t comments[COMMENTS_MOST];
};

/* ---- values ---------------------------------------------------------- */

/* The types that the profile has, in the order of `kinds`. */
static void
types_choose(struct alqi_cli_pprof *p)
{
    enum alqi_cli_pprof_types wanted = p->export->part.types;

    for (unsigned k = 0; k < VALUES; k++)
        if (wanted == ALQI_CLI_PPROF_ALL ||
            kinds[k].is_in_use == (wanted == ALQI_CLI_PPROF_IN_USE))
            p->types[p->n_types++] = k;
}

/* The four values of a sum, whatever types are chosen. */
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

/* Whether values are differences: not since before anything was there. */
static bool
is_difference(const struct alqi_cli_export *x)
{
    return x->part.since != NULL && x->part.since->n_rows > 0;
}

/* Takes off what the stack had at the beginning of the part. Values in use stay
 * as they are unless a window is asked for. */
static void
since_subtract(const struct alqi_cli_export *x,
               const struct alqi_cli_site *site, double *values)
{
    const double *then;

    if (!is_difference(x))
        return;
    then = alqi_cli_moment_values(x->part.since, &x->analysis, site);
    for (int k = 0; k < VALUES; k++)
        if (x->part.is_window || !kinds[k].is_in_use)
            values[k] -= then[k];
}

/* Whether all chosen values round to 0. */
static bool
is_nothing(const struct alqi_cli_pprof *p, const double *values)
{
    for (unsigned t = 0; t < p->n_types; t++)
        if (alqi_cli_whole(values[p->types[t]]) != 0)
            return false;
    return true;
}

/* In a part, stacks without any value are left out; in a whole profile they
 * stay, since they had blocks. */
static bool
is_part(const struct alqi_cli_pprof *p)
{
    return is_difference(p->export) ||
           p->export->part.types != ALQI_CLI_PPROF_ALL;
}

/* The largest share of the row in any of the totals. */
static double
share_of(const struct alqi_cli_pprof *p, const double *values)
{
    double share = 0;

    for (unsigned t = 0; t < p->n_types; t++) {
        unsigned k = p->types[t];

        if (p->totals[k] > 0 && fabs(values[k]) / p->totals[k] > share)
            share = fabs(values[k]) / p->totals[k];
    }
    return share;
}

/* The larger share first; the site's place breaks a tie. */
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
tail_fold(struct alqi_cli_pprof *p, uint32_t most)
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

/* The totals that shares are taken of. A part's total is the sum of its rows'
 * absolute values, as differences have either sign. */
static void
totals_make(struct alqi_cli_pprof *p)
{
    if (!is_difference(p->export)) {
        values_of(p->export, p->export->analysis.totals, p->totals);
        return;
    }
    for (uint32_t i = 0; i < p->n_rows; i++)
        for (int k = 0; k < VALUES; k++)
            p->totals[k] += fabs(p->rows[i].values[k]);
}

/* Rows of all sites that have blocks, sorted and folded. */
static void
rows_make(struct alqi_cli_pprof *p)
{
    const struct alqi_cli_export *x = p->export;
    const struct alqi_cli_analysis *a = &x->analysis;

    p->rows = alqi_cli_realloc(NULL, a->n_sites, sizeof *p->rows);
    for (uint32_t i = 0; i < a->n_sites; i++) {
        struct row *r = &p->rows[p->n_rows];

        if (a->sites[i].sums[ALQI_CLI_ALLOCATED].n_blocks == 0)
            continue;
        r->site = &a->sites[i];
        values_of(x, a->sites[i].sums, r->values);
        since_subtract(x, r->site, r->values);
        p->n_rows += !is_part(p) || !is_nothing(p, r->values);
    }
    totals_make(p);
    for (uint32_t i = 0; i < p->n_rows; i++)
        p->rows[i].share = share_of(p, p->rows[i].values);
    qsort(p->rows, p->n_rows, sizeof *p->rows, by_share);
    tail_fold(p, x->max_stacks);
}

/* Whole values, by sample and type. */
static void
values_make(struct alqi_cli_pprof *p)
{
    double *parts = alqi_cli_realloc(NULL, p->n_rows, sizeof *parts);
    int64_t *whole = alqi_cli_realloc(NULL, p->n_rows, sizeof *whole);

    p->values = alqi_cli_realloc(NULL, (size_t)p->n_rows * p->n_types,
                                 sizeof *p->values);
    for (unsigned t = 0; t < p->n_types; t++) {
        unsigned k = p->types[t];

        for (uint32_t i = 0; i < p->n_rows; i++)
            parts[i] = p->rows[i].values[k];
        if (!is_difference(p->export))
            alqi_cli_apportion(whole, parts, p->n_rows,
                               alqi_cli_whole(p->totals[k]));
        else
            for (uint32_t i = 0; i < p->n_rows; i++)
                whole[i] = alqi_cli_whole(parts[i]);
        for (uint32_t i = 0; i < p->n_rows; i++)
            p->values[i * p->n_types + t] = whole[i];
    }
    free(parts);
    free(whole);
}

/* ---- samples --------------------------------------------------------- */

/* How many identifiers the row's sample has; never 0, as readers want one. */
static size_t
n_locations(const struct alqi_cli_pprof *p, const struct row *r)
{
    uint32_t depth = r->site != NULL
                         ? p->export->analysis.stacks.nodes[r->site->node].depth
                         : 0;

    return depth > 0 ? depth : 1; /* a stand-in */
}

/* Fills n ids, innermost first, as the trie leads. */
static void
sample_locate(struct alqi_cli_pprof *p, const struct row *r, uint64_t *ids)
{
    const struct alqi_cli_node *nodes = p->export->analysis.stacks.nodes;
    uint32_t node = r->site != NULL ? r->site->node : 0;

    if (r->site == NULL)
        *ids = alqi_cli_pprof_stand_in(&p->message.tables, "[other]");
    else if (node == 0)
        *ids = alqi_cli_pprof_stand_in(&p->message.tables, "[no stack]");
    for (; node != 0; node = nodes[node].parent)
        *ids++ = alqi_cli_pprof_location(&p->message.tables, nodes[node].code);
}

/* The mean size of the blocks, where Go has the size: one label a stack, or
 * sizes would multiply the stacks. */
static void
sample_label(struct alqi_cli_pprof *p, const struct row *r,
             struct alqi_cli_pprof_sample *sample)
{
    const struct alqi_cli_sum *s;

    if (r->site == NULL)
        return;
    s = &r->site->sums[ALQI_CLI_ALLOCATED];
    p->message.mean_unit = alqi_cli_pprof_string(&p->message.tables, "bytes");
    sample->has_mean = true;
    sample->mean_bytes =
        alqi_cli_whole(s->objects > 0 ? s->bytes / s->objects : 0);
}

/* All identifiers stand in one array, so its size is counted first. */
static void
samples_make(struct alqi_cli_pprof *p)
{
    struct alqi_cli_pprof_profile *out = &p->message;
    size_t n = 0;

    for (uint32_t i = 0; i < p->n_rows; i++)
        n += n_locations(p, &p->rows[i]);
    p->location_ids = alqi_cli_realloc(NULL, n, sizeof *p->location_ids);
    out->samples = alqi_cli_realloc(NULL, p->n_rows, sizeof *out->samples);
    out->n_samples = p->n_rows;
    n = 0;
    for (uint32_t i = 0; i < p->n_rows; i++) {
        struct alqi_cli_pprof_sample *sample = &out->samples[i];

        *sample = (struct alqi_cli_pprof_sample){
            .locations = p->location_ids + n,
            .n_locations = n_locations(p, &p->rows[i]),
            .values = p->values + (size_t)i * p->n_types,
        };
        sample_locate(p, &p->rows[i], p->location_ids + n);
        sample_label(p, &p->rows[i], sample);
        n += sample->n_locations;
    }
}

/* ---- the head -------------------------------------------------------- */

/* Appends a comment. COMMENTS_MOST has room for all that comments_make() can
 * say. */
static void __attribute__((format(printf, 2, 3)))
comment(struct alqi_cli_pprof *p, const char *format, ...)
{
    char text[COMMENT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    p->comments[p->message.n_comments++] =
        alqi_cli_pprof_string(&p->message.tables, text);
}

static void
remark(void *arg, const char *text)
{
    comment(arg, "%s", text);
}

/* The command, the tool, what in use means, sampling, and each remark of the
 * report. */
static void
comments_make(struct alqi_cli_pprof *p)
{
    const struct alqi_cli_analysis *a = &p->export->analysis;
    uint32_t command = a->notes.cmdline;
    char text[COMMENT_BYTES];

    if (command != ALQI_CLI_NO_NAME)
        comment(p, "%s", alqi_cli_names_text(a->names, command));
    comment(p, "aliquot " ALQI_VERSION "; in use means %s",
            p->export->measure == ALQI_CLI_PEAK ? "alive at the peak"
            : p->export->part.taken_ns != 0     ? "alive when it was read"
                                                : "alive when the trace ends");
    alqi_cli_remark_sampling(a, text, sizeof text);
    comment(p, "%s", text);
    if (p->n_folded > 0)
        comment(p, "[other] stands for %u stacks", p->n_folded);
    alqi_cli_remarks(a,
                     p->export->input != NULL
                         ? alqi_cli_input_damage(p->export->input)
                         : p->export->damage,
                     remark, p);
}

static struct alqi_cli_pprof_type
type_make(struct alqi_cli_pprof *p, const char *name, const char *unit)
{
    struct alqi_cli_pprof_type type;

    type.type = alqi_cli_pprof_string(&p->message.tables, name);
    type.unit = alqi_cli_pprof_string(&p->message.tables, unit);
    return type;
}

/* The part's length; 0 for values in use. Engines take a duration for a sign
 * that values are differences. */
static int64_t
duration_ns(const struct alqi_cli_export *x)
{
    const struct alqi_cli_moment *since = x->part.since;
    uint64_t from_ns = x->analysis.info->start_us * NS_PER_US;

    if (since == NULL || x->part.types == ALQI_CLI_PPROF_IN_USE)
        return 0;
    if (since->wall_ns != 0)
        from_ns = since->wall_ns;
    return (int64_t)(x->part.taken_ns - from_ns);
}

/* Times, period, comments, and the type that readers show first. */
static void
head_fill(struct alqi_cli_pprof *p)
{
    struct alqi_cli_pprof_profile *out = &p->message;
    const struct alqi_cli_export *x = p->export;
    const struct alqi_cli_analysis *a = &x->analysis;
    bool is_alloc = (x->has_measure && x->measure == ALQI_CLI_ALLOCATED) ||
                    x->part.types == ALQI_CLI_PPROF_ALLOCATED;

    out->time_ns = (int64_t)(a->info->start_us * NS_PER_US);
    out->duration_ns = (int64_t)(a->end_us * NS_PER_US);
    if (x->part.taken_ns != 0) {
        out->time_ns = (int64_t)x->part.taken_ns;
        out->duration_ns = duration_ns(x);
    }
    out->period =
        a->estimator.has_rate ? alqi_cli_whole(a->estimator.interval_bytes) : 0;
    out->default_type = alqi_cli_pprof_string(
        &p->message.tables, is_alloc ? "alloc_space" : "inuse_space");
    comments_make(p);
    out->comments = p->comments;
}

/* ---- the whole ------------------------------------------------------- */

/* The tables are filled as samples ask for places; the mappings' claims need
 * all locations, so they come last. */
struct alqi_cli_pprof *
alqi_cli_pprof_new(struct alqi_cli_export *export)
{
    struct alqi_cli_pprof *p = alqi_cli_zeros(1, sizeof *p);
    struct alqi_cli_pprof_profile *out = &p->message;

    p->export = export;
    types_choose(p);
    alqi_cli_pprof_tables_init(&out->tables, &export->analysis);
    rows_make(p);
    values_make(p);
    for (unsigned t = 0; t < p->n_types; t++)
        out->types[t] =
            type_make(p, kinds[p->types[t]].type, kinds[p->types[t]].unit);
    out->n_types = p->n_types;
    out->period_type = type_make(p, "space", "bytes");
    head_fill(p);
    samples_make(p);
    alqi_cli_pprof_tables_finish(&out->tables);
    return p;
}

void
alqi_cli_pprof_drop(struct alqi_cli_pprof *p)
{
    if (p == NULL)
        return;
    alqi_cli_pprof_tables_free(&p->message.tables);
    free(p->rows);
    free(p->values);
    free(p->location_ids);
    free(p->message.samples);
    free(p);
}

const struct alqi_cli_pprof_profile *
alqi_cli_pprof_message(const struct alqi_cli_pprof *p)
{
    return &p->message;
}

uint32_t
alqi_cli_pprof_folded(const struct alqi_cli_pprof *p, double *share)
{
    unsigned k = p->types[1]; /* bytes */

    *share = 0;
    if (p->n_folded > 0 && p->totals[k] > 0)
        *share = p->rows[p->n_rows - 1].values[k] / p->totals[k];
    return p->n_folded;
}
