/* recorded.h -- where the recording of a running process is */
#ifndef ALQI_CLI_LIVE_RECORDED_H
#define ALQI_CLI_LIVE_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Finds the file that the process records to among what it has mapped: no
 * control socket is needed, but the right to look into it is.  Returns -1 to go
 * on with the path, as it is seen here, or the exit status; the reason was
 * said. */
int alqi_cli_recorded(const char *verb, pid_t pid, char *path, size_t n);

/* The same, and nothing is said.  False: there is none, or it is not to be
 * found. */
bool alqi_cli_recorded_quietly(pid_t pid, char *path, size_t n);

/* What a command line names: the process that -p has left in *pid, or an
 * operand.  One of digits alone is a process, too, whose recording is found;
 * all else is a path as it is, and *pid is 0 then.  Returns as above. */
int alqi_cli_recorded_operand(const char *verb, int argc, char **argv,
                              int first, pid_t *pid, char *path, size_t n);

#endif
