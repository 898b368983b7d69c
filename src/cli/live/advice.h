/* advice.h -- why nothing of a process is to be had, and what works */
#ifndef ALQI_CLI_LIVE_ADVICE_H
#define ALQI_CLI_LIVE_ADVICE_H

#include <sys/types.h>

/* Of a process whose map can be read, and whose recording was not found, or of
 * which nobody answers a request: `recording` is the file that it writes all
 * the same, or NULL.  Says one line, in which each command that
 * is named works for this process.  Returns the status to exit with. */
int alqi_cli_advise(const char *verb, pid_t pid, const char *recording);

#endif
