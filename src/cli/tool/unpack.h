/* unpack.h -- the bytes of a file, unpacked where it is compressed
 *
 * gzip and zstd are known by their first bytes; several members or frames
 * after each other are one.  Anything else comes as it is.  What was read
 * before a damage stays good: the damage is told when it is reached.
 *
 * Memory: two buffers and what the decoder needs, at most 128 MiB when a zstd
 * frame asks for that window.  A file that unpacks to more than any trace
 * could is refused where that shows. */
#ifndef ALQI_CLI_TOOL_UNPACK_H
#define ALQI_CLI_TOOL_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct alqi_cli_unpack;

/* The descriptor stays the caller's. */
struct alqi_cli_unpack *alqi_cli_unpack_new(int fd);
void alqi_cli_unpack_drop(struct alqi_cli_unpack *unpack);

/* Up to n bytes; 0 at the end or where the compressed data is damaged; -1 with
 * errno when the file cannot be read. */
ptrdiff_t alqi_cli_unpack_read(struct alqi_cli_unpack *unpack, void *bytes,
                               size_t n);

/* "" or what is wrong with the compressed data. */
const char *alqi_cli_unpack_damage(const struct alqi_cli_unpack *unpack);

/* After the first read. */
bool alqi_cli_unpack_is_packed(const struct alqi_cli_unpack *unpack);

/* Of the file, read so far. */
uint64_t alqi_cli_unpack_file_bytes(const struct alqi_cli_unpack *unpack);

/* Opens a file to be unpacked; "-" is standard input, and *path then says so.
 * directory_hint tells what to do when it is a directory.  size_bytes, where
 * it is not NULL, receives the size of a regular file, and is left alone for
 * any other.  -1, or the status to exit with, after a message; *fd may be open
 * then, too, else it is below 0. */
int alqi_cli_unpack_file(const char **path, const char *directory_hint, int *fd,
                         uint64_t *size_bytes);

#endif
