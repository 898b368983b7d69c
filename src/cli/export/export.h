/* export.h -- formats that `aliquot export` writes
 *
 * A format is one row of the table in export.c and one file with its writer.
 * Adding one changes nothing else. */
#ifndef ALQI_CLI_EXPORT_EXPORT_H
#define ALQI_CLI_EXPORT_EXPORT_H

#include <stdio.h>

#include "cli/analysis/analysis.h"
#include "cli/analysis/groups.h"
#include "cli/analysis/moment.h"
#include "cli/analysis/view_index.h"

#define ALQI_CLI_TIME_UNIT_CHOICES "ms B"
#define ALQI_CLI_WEIGHT_CHOICES "bytes objects samples"

enum { ALQI_CLI_PROGRAM_BYTES = 4096 };

/* Stacks of a pprof profile: the most that Pyroscope takes by default. */
#define ALQI_CLI_PPROF_STACKS 16000

enum alqi_cli_pprof_types {
    ALQI_CLI_PPROF_ALL,
    ALQI_CLI_PPROF_ALLOCATED,
    ALQI_CLI_PPROF_IN_USE
};

/* A profile of a part of a trace, as those who ask again and again want it. */
struct alqi_cli_export_part {
    const struct alqi_cli_moment *since; /* NULL: the trace's beginning */
    bool is_window; /* what is in use is a difference, too */
    /* which values the profile has */
    enum alqi_cli_pprof_types types;
    uint64_t taken_ns; /* the profile's time; 0: the trace's beginning */
    bool is_quiet;     /* what is cut is told in the profile alone */
};

enum alqi_cli_weight_kind {
    ALQI_CLI_WEIGHT_BYTES,
    ALQI_CLI_WEIGHT_OBJECTS,
    ALQI_CLI_WEIGHT_SAMPLES
};

enum alqi_cli_time_unit {
    ALQI_CLI_TIME_MS,
    ALQI_CLI_TIME_BYTES /* allocated so far */
};

struct alqi_cli_page_index;

/* What a writer gets: the analysis, and the options that concern formats. The
 * input is NULL where a trace is followed (fleet/reading.c). */
struct alqi_cli_export {
    struct alqi_cli_input *input; /* or NULL, and ... */
    const char *damage;           /* ... "" or what is wrong with the trace */
    /* complete when a writer is called */
    struct alqi_cli_analysis analysis;
    /* by which blocks are weighted */
    enum alqi_cli_measure measure;
    bool has_measure;                     /* the user chose it */
    enum alqi_cli_grouping grouping;      /* csv and html */
    enum alqi_cli_weight_kind weight;     /* folded */
    enum alqi_cli_time_unit time_unit;    /* massif */
    bool folds_recursion;                 /* folded */
    double share;                         /* memtrace; of the samples; 0: all */
    bool strips_names;                    /* memtrace */
    uint32_t max_stacks;                  /* pprof; 0: all */
    uint64_t max_samples;                 /* html; 0: all */
    struct alqi_cli_page_index *index;    /* html */
    struct alqi_cli_rows rows;            /* databases */
    struct alqi_cli_export_part part;     /* pprof */
    char program[ALQI_CLI_PROGRAM_BYTES]; /* its command, or its file */
};

/* A row of the table in export.c. */
struct alqi_cli_export_format {
    const char *name;
    /* of OUT, without that of a compression */
    const char *suffix;
    void (*write)(struct alqi_cli_export *export, FILE *out);
    bool needs_blocks; /* analysis.options.blocks is there */
    bool needs_index;  /* index is */
    /* Instead of write: events to events, without an analysis. */
    int (*rewrite)(const struct alqi_cli_export *export,
                   struct alqi_cli_input *input, FILE *out);
};

/* The rest of the input; the status to exit with, which was said. */
int alqi_cli_export_memtrace(const struct alqi_cli_export *export,
                             struct alqi_cli_input *input, FILE *out);

void alqi_cli_export_folded(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_csv(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_pprof(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_speedscope(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_dhat(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_massif(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_callgrind(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_html(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_page(struct alqi_cli_export *export, FILE *out);

#endif
