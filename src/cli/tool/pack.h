/* pack.h -- files that are compressed as they are written
 *
 * zstd frames of at most 16 MiB of unpacked bytes, each with a checksum.  Of a
 * writer that is killed, what the stream and one block hold is lost, 192 KiB
 * unpacked at most, and of one that writes steadily no more than a second's. */
#ifndef ALQI_CLI_TOOL_PACK_H
#define ALQI_CLI_TOOL_PACK_H

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
