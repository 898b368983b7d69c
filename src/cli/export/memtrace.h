/* memtrace.h -- see memtrace.c */
#ifndef ALQI_CLI_EXPORT_MEMTRACE_H
#define ALQI_CLI_EXPORT_MEMTRACE_H

#include <stdio.h>

#include "cli/read/input.h"

/* The rest of the input; the status to exit with, which was said. */
int alqi_cli_export_memtrace(struct alqi_cli_input *input, FILE *out);

#endif
