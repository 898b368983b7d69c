/* memory.h -- a stream whose bytes stay in memory
 *
 * open_memstream() does not tell when memory ends: neither ferror() nor
 * fclose() fails, and the text is cut. These do. */
#ifndef ALQI_CLI_TOOL_MEMORY_H
#define ALQI_CLI_TOOL_MEMORY_H

#include <stddef.h>
#include <stdio.h>

/* As open_memstream(): *text, to be freed, and *n_bytes are valid after
 * fflush() and after the close; a 0 follows the text.  Ends the command when
 * there is no memory.  The stream cannot be moved within.  A write without
 * memory sets ferror(). */
FILE *alqi_cli_memory_open(char **text, size_t *n_bytes);

/* Closes it.  Ends the command with a message when a write had no memory. */
void alqi_cli_memory_close(FILE *out, const char *what);

#endif
