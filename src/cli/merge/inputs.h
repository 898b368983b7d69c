/* inputs.h -- one input from one trace or from several
 *
 * Several are read as the trace that `aliquot merge` would make of them. */
#ifndef ALQI_CLI_MERGE_INPUTS_H
#define ALQI_CLI_MERGE_INPUTS_H

#include "cli/read/input.h"
#include "cli/read/paths.h"

/* As alqi_cli_input_open, of one file or of all paths together. */
int alqi_cli_inputs_open(const struct alqi_cli_paths *paths,
                         struct alqi_cli_input **out);

#endif
