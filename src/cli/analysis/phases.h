/* phases.h -- what each phase allocated, kept, and had at most
 *                                                     [doc/design/marks.md]
 *
 * From an index in memory: that of a filter or of the leaks, or one that is
 * made for it. */
#ifndef ALQI_CLI_ANALYSIS_PHASES_H
#define ALQI_CLI_ANALYSIS_PHASES_H

#include "cli/analysis/filter.h"

/* A phase; its sums are of the blocks that pass the filter, if there is one. */
struct alqi_cli_phase {
    /* the index's */
    const char *name;
    /* the how-many-eth of its name, of how many */
    uint32_t number, n_same;
    /* since the trace's start; ends where the next one begins */
    uint64_t begin_us, end_us;
    /* allocated in it; of that, never freed; alive at its end, of all */
    struct alqi_cli_sum allocated, kept, live;
    /* of all, at its highest point, and when that was */
    struct alqi_cli_sum peak;
    uint64_t peak_us;
};

/* All zeros: not asked for. */
struct alqi_cli_phases {
    /* where neither a filter nor the leaks have rows */
    struct alqi_cli_rows rows;
    /* owned */
    struct alqi_cli_phase *phases;
    uint32_t n;
    /* a filter that leaves a heap out has none */
    bool has_peak;
};

/* Prepares the options of an analysis that is to be run and has no rows. */
void alqi_cli_phases_begin(struct alqi_cli_phases *phases,
                           struct alqi_cli_analysis *analysis,
                           struct alqi_cli_analysis_options *options);
/* When the analysis has ended.  x: rows that are there already, or NULL.  Ends
 * the command without memory. */
void alqi_cli_phases_make(struct alqi_cli_phases *phases,
                          const struct alqi_view_index *x,
                          const struct alqi_cli_filter *filter,
                          struct alqi_cli_input *input);
void alqi_cli_phases_free(struct alqi_cli_phases *phases);

/* Its name, with the number behind it if several have the name. */
void alqi_cli_phase_name(const struct alqi_cli_phase *phase, char *out,
                         size_t capacity);

#endif
