/* freeze.h -- a recording that is being written, held still
 *
 * An exact recording names blocks by address: what one stream says is read
 * right only beside what the others said until then. */
#ifndef ALQI_CLI_CONVERT_FREEZE_H
#define ALQI_CLI_CONVERT_FREEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Maps the file: each exact stream, or with holds_all each of any kind, as it
 * was at one moment of the call.  NULL, with errno, when it cannot; *n_bytes is
 * alqi_cli_recorded_bytes, no less than before the call. */
uint8_t *alqi_cli_freeze(int fd, bool holds_all, size_t *n_bytes);

/* A file's bytes up to the end of the last chunk that its header counts: behind
 * it are holes, which on a full disk may not even be read.  -1, with errno. */
off_t alqi_cli_recorded_bytes(int fd);

#endif
