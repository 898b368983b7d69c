/* input.h -- a trace to read: a file, or "-" for standard input
 *
 * Everything that can be wrong with the input is said here, once, with the
 * place and what to do; verbs only pass the exit status on.  What was read
 * before the damage stays usable. */
#ifndef ALQI_CLI_READ_INPUT_H
#define ALQI_CLI_READ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/ctf.h"

struct alqi_cli_input;

/* True for the first bytes of a raw recording. */
bool alqi_cli_input_is_raw(const void *bytes, size_t n);

/* Opens path and reads its header.  Returns -1 to go on, with *out to be
 * dropped, or the exit status; the reason has been said.  With warn NULL the
 * reader's warnings go to stderr. */
int alqi_cli_input_open(const char *path, alqi_ctf_warn_fn *warn,
                        void *warn_arg, struct alqi_cli_input **out);
/* The same for what fd holds, which is the input's from now on.  status is that
 * of its making: what finish() returns when nothing else is wrong. */
int alqi_cli_input_open_fd(int fd, const char *name, int status,
                           struct alqi_cli_input **out);
/* Closes the input; NULL is allowed. */
void alqi_cli_input_drop(struct alqi_cli_input *input);

/* For those who have read to the end: what was read, from its first byte, the
 * trace made of it if it was a recording.  To be closed; -1 with errno. */
int alqi_cli_input_again(struct alqi_cli_input *input);

/* From now on the reader's warnings go there. */
void alqi_cli_input_warn(struct alqi_cli_input *input, alqi_ctf_warn_fn *warn,
                         void *warn_arg);

const char *alqi_cli_input_name(const struct alqi_cli_input *input);
/* The reader of the trace, with its header read; the input's. */
struct alqi_ctf_reader *alqi_cli_input_reader(struct alqi_cli_input *input);

/* False at the end of the trace or of its readable part. */
bool alqi_cli_input_next(struct alqi_cli_input *input,
                         struct alqi_ctf_event *event);

/* Says, once, that the trace is damaged, if it is.  Returns the status to
 * exit with: ALQI_CLI_OK or ALQI_CLI_UNREADABLE. */
int alqi_cli_input_finish(struct alqi_cli_input *input);

/* "" or what is wrong. */
const char *alqi_cli_input_damage(const struct alqi_cli_input *input);
uint64_t alqi_cli_input_n_warnings(const struct alqi_cli_input *input);

#endif
