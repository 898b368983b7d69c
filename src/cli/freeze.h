/* freeze.h -- a recording that is being written, held still
 *
 * A thread in the exact mode fills one chunk again and again, and writes each
 * filling to a place of its own (preload/file.h).  Read while that goes on,
 * the chunk would change under the reader. */
#ifndef ALQI_CLI_FREEZE_H
#define ALQI_CLI_FREEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maps the file: each exact stream as it was at one moment of the call, and
 * no stream that began after.  NULL, with errno, when it cannot; *n_bytes is
 * the file's size, no less than before the call. */
uint8_t *alqi_cli_freeze(int fd, size_t *n_bytes);

#endif
