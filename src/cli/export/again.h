/* again.h -- a second pass over the trace that is exported */
#ifndef ALQI_CLI_EXPORT_AGAIN_H
#define ALQI_CLI_EXPORT_AGAIN_H

#include "cli/read/input.h"

/* Opens the input once more, by a descriptor of its own, for a second pass that
 * says no warnings again.  -1, or the exit status: it cannot be read twice,
 * "as" what needs that. */
int alqi_cli_export_again(struct alqi_cli_input *input, const char *what_needs,
                          struct alqi_cli_input **again);

#endif
