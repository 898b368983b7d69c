/* gzip.h -- bytes in memory, compressed as gzip */
#ifndef ALQI_CLI_TOOL_GZIP_H
#define ALQI_CLI_TOOL_GZIP_H

#include <stddef.h>

/* The compressed bytes, of malloc, *n_packed of them; NULL: no memory. */
void *alqi_cli_gzip(const void *bytes, size_t n, size_t *n_packed);

#endif
