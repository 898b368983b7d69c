/* export.h -- formats that `aliquot export` writes
 *
 * A format is one row of the table in export.c and one file with its writer.
 * Adding one changes nothing else. */
#ifndef ALQI_CLI_EXPORT_H
#define ALQI_CLI_EXPORT_H

#include <stdio.h>

#include "cli/analysis.h"
#include "cli/groups.h"

#define ALQI_CLI_TIME_UNIT_CHOICES "ms B"
#define ALQI_CLI_WEIGHT_CHOICES "bytes objects samples"

enum { ALQI_CLI_PROGRAM_BYTES = 4096 };

enum alqi_cli_weight_kind {
    ALQI_CLI_WEIGHT_BYTES,
    ALQI_CLI_WEIGHT_OBJECTS,
    ALQI_CLI_WEIGHT_SAMPLES
};

enum alqi_cli_time_unit {
    ALQI_CLI_TIME_MS,
    ALQI_CLI_TIME_BYTES /* allocated so far */
};

struct alqi_cli_export {
    struct alqi_cli_input *input;
    struct alqi_cli_analysis analysis;
    enum alqi_cli_measure measure;
    bool has_measure; /* the user chose it */
    enum alqi_cli_grouping grouping;
    enum alqi_cli_weight_kind weight;
    enum alqi_cli_time_unit time_unit;
    bool folds_recursion;
    uint32_t max_stacks;                  /* pprof; 0: all */
    char program[ALQI_CLI_PROGRAM_BYTES]; /* its command, or its file */
};

struct alqi_cli_export_format {
    const char *name;
    const char *suffix;
    void (*write)(struct alqi_cli_export *export, FILE *out);
    bool needs_blocks; /* analysis.options.blocks is there */
};

void alqi_cli_export_folded(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_csv(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_pprof(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_speedscope(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_firefox(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_dhat(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_massif(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_callgrind(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_html(struct alqi_cli_export *export, FILE *out);

#endif
