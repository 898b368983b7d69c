/* jit.h -- the code that a recorded process made as it ran, and its names
 *
 * Found as the recording is converted: /tmp/perf-PID.map, and jit-PID.dump in
 * /tmp or where the process mapped it, in the mount namespace of the process
 * while it lives, else in this one. A file counts only if it is a regular one
 * of the process's user, reached by no symbolic link; what is refused is said.
 */
#ifndef ALQI_CLI_CONVERT_JIT_H
#define ALQI_CLI_CONVERT_JIT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/convert/recording.h"
#include "stack/symbol.h"

struct alqi_cli_jit;

/* NULL when there is no memory. The recording outlives it. */
struct alqi_cli_jit *
alqi_cli_jit_new(const struct alqi_cli_recording *recording);
void alqi_cli_jit_drop(struct alqi_cli_jit *jit);

/* Takes in what the files have got since the last time. */
void alqi_cli_jit_read(struct alqi_cli_jit *jit);

/* Whether such a file was found, of use or not. */
bool alqi_cli_jit_has_any(const struct alqi_cli_jit *jit);

/* Finds the piece of code over an address (a return address less 1) at a time
 * of CLOCK_MONOTONIC. *piece tells it from all others. */
bool alqi_cli_jit_find(const struct alqi_cli_jit *jit, uint64_t address,
                       uint64_t time_ns, uint64_t *piece);
/* Its name, and the line at that address; valid as long as jit. */
void alqi_cli_jit_frame(struct alqi_cli_jit *jit, uint64_t piece,
                        uint64_t address, struct alqi_symbol_frame *frame);

/* What is said of the files, one after the other; NULL behind the last. Valid
 * until the next call. */
const char *alqi_cli_jit_note(struct alqi_cli_jit *jit, unsigned index);

#endif
