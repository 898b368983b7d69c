/* control.h -- a running process, asked by its control socket
 *                                                    [src/preload/serve.c] */
#ifndef ALQI_CLI_CONTROL_H
#define ALQI_CLI_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { ALQI_CLI_REPLY_BYTES = 16384 };

struct alqi_cli_target {
    const char *verb;
    pid_t pid;           /* 0: not given                     */
    const char *control; /* the socket's name; NULL: by pid  */
};

/* -p and --control of a verb; false, and said, when the value is refused. */
bool alqi_cli_target_set(struct alqi_cli_target *target, int id,
                         const char *value);

/* Sends "command [key=value]..." (see wire/side.h) and leaves "ok key=..." in
 * reply.  -1 to go on, or the exit status; the reason is said. */
int alqi_cli_ask(const struct alqi_cli_target *target, const char *request,
                 char reply[ALQI_CLI_REPLY_BYTES]);

/* One line for people of such a reply. */
void alqi_cli_state_print(const struct alqi_cli_target *target,
                          const char *reply);

#endif
