/* recorded.h -- where the recording of a running process is */
#ifndef ALQI_CLI_LIVE_RECORDED_H
#define ALQI_CLI_LIVE_RECORDED_H

#include <stddef.h>
#include <sys/types.h>

/* Finds the file that the process records to among what it has mapped: no
 * control socket is needed, but the right to look into it is.  Returns -1 to go
 * on with the path, as it is seen here, or the exit status; the reason was
 * said. */
int alqi_cli_recorded(const char *verb, pid_t pid, char *path, size_t n);

/* What an operand names: digits alone are a process, whose recording is found,
 * all else is a path as it is; *pid is 0 then.  Returns as above. */
int alqi_cli_recorded_operand(const char *verb, const char *operand, pid_t *pid,
                              char *path, size_t n);

#endif
