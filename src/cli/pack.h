/* pack.h -- files that are compressed as they are written
 *
 * zstd frames of FRAME bytes each, so that a reader checks the sums of what it
 * has read so far; what a killed writer loses is less than one block, 128 KiB
 * of the unpacked bytes, and never more than a second's. */
#ifndef ALQI_CLI_PACK_H
#define ALQI_CLI_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Whether a file of this name is to be compressed: it ends in ".zst". */
bool alqi_cli_pack_is_meant(const char *path);

/* The length of path without what tells the compression. */
size_t alqi_cli_pack_stem(const char *path);

/* As fdopen(fd, "w"): a stream that compresses if the name says so, and closes
 * fd; NULL with errno. */
FILE *alqi_cli_pack_fdopen(int fd, const char *path);

#endif
