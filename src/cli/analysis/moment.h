/* moment.h -- what each call stack had when a trace was read
 *
 * Where the same trace is read again its call stacks may get other numbers:
 * they are told apart by the codes of their frames, which stay (codes.h), and
 * whose hash of 128 bits stands for them. */
#ifndef ALQI_CLI_ANALYSIS_MOMENT_H
#define ALQI_CLI_ANALYSIS_MOMENT_H

#include "base/map.h"
#include "cli/analysis/analysis.h"

enum { ALQI_CLI_MOMENT_VALUES = 4 };

/* What one stack had. */
struct alqi_cli_moment_row {
    uint64_t check; /* the hash's other half */
    /* alloc_objects, alloc_space, inuse_objects, inuse_space, as pprof names
     * them */
    double values[ALQI_CLI_MOMENT_VALUES];
};

/* All zeros is the moment before anything was allocated. */
struct alqi_cli_moment {
    /* a stack's hash -> index in rows */
    struct alqi_base_map row_of_hash;
    /* owned */
    struct alqi_cli_moment_row *rows;
    uint32_t n_rows;
    /* when it was taken; the caller's clock */
    uint64_t wall_ns;
    /* of the recording: its start and its process */
    uint64_t start_us, pid;
};

/* Replaces the moment by what the trace has now. */
void alqi_cli_moment_take(struct alqi_cli_moment *moment,
                          const struct alqi_cli_analysis *analysis,
                          uint64_t wall_ns);
void alqi_cli_moment_free(struct alqi_cli_moment *moment);

/* A moment of another recording is forgotten: all that this one has came after
 * it.  Called when a trace was read again, before the moment is used. */
void alqi_cli_moment_fit(struct alqi_cli_moment *moment,
                         const struct alqi_cli_analysis *analysis);

/* The values of a site's stack then; all 0 if it was not there. */
const double *alqi_cli_moment_values(const struct alqi_cli_moment *moment,
                                     const struct alqi_cli_analysis *analysis,
                                     const struct alqi_cli_site *site);

#endif
