/* input_raw.h -- what is no trace, read as the trace it would become */
#ifndef ALQI_CLI_READ_INPUT_RAW_H
#define ALQI_CLI_READ_INPUT_RAW_H

#include "cli/convert/heaptrack.h"

/* Converts the recording at path into a nameless temporary file.  Returns its
 * descriptor, at the beginning, or -1; the reason has been said. */
int alqi_cli_input_raw_open(const char *path);

/* The same of a data file of heaptrack, whose bytes come from read; path is
 * for messages. */
int alqi_cli_input_heaptrack_open(const char *path, alqi_ctf_read_fn *read,
                                  void *read_arg,
                                  struct alqi_cli_heaptrack_result *result);

#endif
