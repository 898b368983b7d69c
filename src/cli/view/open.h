/* open.h -- traces with their indexes, opened for answers */
#ifndef ALQI_CLI_VIEW_OPEN_H
#define ALQI_CLI_VIEW_OPEN_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/analysis/suppress.h"
#include "cli/read/paths.h"

/* An index, mapped. */
struct alqi_cli_view_file {
    const char *operand; /* as named */
    void *bytes;         /* NULL: not open */
    size_t n_bytes;
};

/* Opens the index of an operand: the one that lies beside the trace, in the
 * cache, or a new one.  keeps: a new one is left there for the next time; one
 * with suppressions, which may be NULL, is new and never kept.
 * -1 to go on, or the exit status; the reason has been said. */
int alqi_cli_view_open(struct alqi_cli_view_file *file, const char *operand,
                       bool keeps, struct alqi_cli_suppress *suppress);
void alqi_cli_view_close(struct alqi_cli_view_file *file);

#endif
