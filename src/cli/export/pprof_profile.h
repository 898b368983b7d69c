/* pprof_profile.h -- a trace, or what it has since a moment, as pprof's message
 *
 * The values of Go's heap profiles for each call stack: what was allocated, and
 * what is in use, which is what is alive at the end or, when asked for, was at
 * the peak.  Values are estimates already; no reader scales them. */
#ifndef ALQI_CLI_EXPORT_PPROF_PROFILE_H
#define ALQI_CLI_EXPORT_PPROF_PROFILE_H

#include "cli/export/export.h"
#include "cli/export/pprof_tables.h"

enum { ALQI_CLI_PPROF_VALUES = 4 };

struct alqi_cli_pprof_type {
    int64_t type; /* string */
    int64_t unit; /* string */
};

struct alqi_cli_pprof_sample {
    const uint64_t *locations; /* identifiers, innermost first */
    size_t n_locations;
    const int64_t *values; /* one of each type */
    bool has_mean;         /* not so for [other] */
    int64_t mean_bytes;    /* of the stack's blocks */
};

/* The message, in profile.proto's terms. */
struct alqi_cli_pprof_profile {
    struct alqi_cli_pprof_tables tables;
    struct alqi_cli_pprof_type types[ALQI_CLI_PPROF_VALUES];
    unsigned n_types;
    struct alqi_cli_pprof_sample *samples;
    uint32_t n_samples;
    int64_t mean_unit;   /* string: "bytes", the key and unit of mean_bytes */
    int64_t time_ns;     /* since 1970 */
    int64_t duration_ns; /* 0: values are no differences */
    struct alqi_cli_pprof_type period_type;
    /* mean bytes between samples; 0: not known */
    int64_t period;
    int64_t *comments; /* strings */
    size_t n_comments;
    int64_t default_type; /* string */
};

struct alqi_cli_pprof;

/* By export's measure, max_stacks and part. */
struct alqi_cli_pprof *alqi_cli_pprof_new(struct alqi_cli_export *export);
void alqi_cli_pprof_drop(struct alqi_cli_pprof *pprof);

/* Valid as long as pprof. */
const struct alqi_cli_pprof_profile *
alqi_cli_pprof_message(const struct alqi_cli_pprof *pprof);

/* The message as a file: gzip-compressed.  Returns its bytes before that. */
uint64_t alqi_cli_pprof_write(const struct alqi_cli_pprof *pprof, FILE *out);

/* How many stacks "[other]" stands for, and its share of the bytes. */
uint32_t alqi_cli_pprof_folded(const struct alqi_cli_pprof *pprof,
                               double *share);

#endif
