/* input_raw.h -- a raw recording, read as the trace it would become */
#ifndef ALQI_CLI_READ_INPUT_RAW_H
#define ALQI_CLI_READ_INPUT_RAW_H

/* Converts the recording at path into a nameless temporary file.  Returns its
 * descriptor, at the beginning, or -1; the reason has been said. */
int alqi_cli_input_raw_open(const char *path);

#endif
