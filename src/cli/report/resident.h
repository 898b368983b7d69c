/* resident.h -- the words on resident memory, for report and info */
#ifndef ALQI_CLI_REPORT_RESIDENT_H
#define ALQI_CLI_REPORT_RESIDENT_H

#include <stdbool.h>

#include "cli/analysis/analysis.h"

/* Below the line of a trace made of several. */
#define ALQI_CLI_RESIDENT_SHARED                                               \
    "the sum of all processes: pages that they share count in each"

struct alqi_cli_resident_text {
    /* the maximum, without blanks before it */
    char most[160];
    /* at the heap's peak, or that no look is near it */
    char at_peak[128];
};

/* False: the trace tells nothing of it. */
bool alqi_cli_resident_text(const struct alqi_cli_analysis *analysis,
                            struct alqi_cli_resident_text *out);

/* A look met the maximum, as far as anybody knows, and one the heap's peak:
 * what blocks explain of it can be said. */
bool alqi_cli_resident_is_met(const struct alqi_cli_analysis *analysis);

#endif
