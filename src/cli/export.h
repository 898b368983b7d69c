/* export.h -- formats that `aliquot export` writes
 *
 * A format is one row of the table in export.c and one file with its writer.
 * Adding one changes nothing else. */
#ifndef ALQI_CLI_EXPORT_H
#define ALQI_CLI_EXPORT_H

#include <stdio.h>

#include "cli/analysis.h"
#include "cli/groups.h"

#define ALQI_CLI_WEIGHT_CHOICES "bytes objects samples"

enum alqi_cli_weight_kind {
    ALQI_CLI_WEIGHT_BYTES,
    ALQI_CLI_WEIGHT_OBJECTS,
    ALQI_CLI_WEIGHT_SAMPLES
};

struct alqi_cli_export {
    struct alqi_cli_analysis analysis;
    enum alqi_cli_measure measure;
    bool has_measure; /* the user chose it */
    enum alqi_cli_grouping grouping;
    enum alqi_cli_weight_kind weight;
    bool folds_recursion;
    uint32_t max_stacks; /* pprof; 0: all */
};

struct alqi_cli_export_format {
    const char *name;
    const char *suffix;
    void (*write)(struct alqi_cli_export *export, FILE *out);
};

void alqi_cli_export_folded(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_csv(struct alqi_cli_export *export, FILE *out);
void alqi_cli_export_pprof(struct alqi_cli_export *export, FILE *out);

#endif
