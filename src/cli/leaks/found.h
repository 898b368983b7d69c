/* found.h -- blocks by class and site                [doc/design/leaks.md] */
#ifndef ALQI_CLI_LEAKS_FOUND_H
#define ALQI_CLI_LEAKS_FOUND_H

#include "cli/analysis/analysis.h"
#include "cli/leaks/scan.h"

/* Blocks of one class and of one site. */
struct alqi_cli_leak_row {
    enum alqi_cli_leak_class class;
    /* of the site; the line is the largest block's */
    struct alqi_cli_frame frame;
    struct alqi_cli_sum sum;
    uint32_t largest; /* block: the one of the most bytes */
    uint32_t node;    /* its stack; of the analysis       */
};

struct alqi_cli_leak_found {
    struct alqi_cli_analysis analysis; /* of the trace, up to its end */
    struct alqi_cli_leak_row *rows; /* by class, the most bytes first; owned */
    uint32_t n_rows;
    struct alqi_cli_sum totals[ALQI_CLI_LEAK_CLASSES];
    /* blocks of the recording that are alive and were not found in the process
     */
    uint64_t n_elsewhere;
    /* by block: its stack's node + 1; 0: it is not in the recording; owned */
    uint32_t *nodes;
};

/* Reads the whole trace into the analysis. */
void alqi_cli_leak_found_read(struct alqi_cli_leak_found *found,
                              struct alqi_cli_input *input);
/* Puts the blocks of what was read together, as the scan classed them. */
void alqi_cli_leak_found_sum(struct alqi_cli_leak_found *found,
                             const struct alqi_cli_leak_scan *scan);
void alqi_cli_leak_found_free(struct alqi_cli_leak_found *found);

/* The frame after which a stack's site is named. */
struct alqi_cli_frame alqi_cli_leak_site(struct alqi_cli_leak_found *found,
                                         uint32_t node);

/* "lost", "indirect" ... in JSON and in the trace. */
const char *alqi_cli_leak_class_name(enum alqi_cli_leak_class class);

#endif
