/* asked.h -- a process is asked for a copy in its recording's header
 *                                                    [doc/design/leaks.md] */
#ifndef ALQI_CLI_ATTACH_ASKED_H
#define ALQI_CLI_ATTACH_ASKED_H

#include <sys/types.h>

#include "wire/raw.h"

/* The connection through which the process answers (sent.h); -1: it has not
 * connected within wait_ms.  The header is mapped from the recording, shared,
 * to be written. */
int alqi_cli_asked_connect(struct alqi_raw_header *header, pid_t pid,
                           int wait_ms);
/* The same by the recording's path; -1 also where it cannot be written. */
int alqi_cli_asked_connect_path(const char *recording, pid_t pid, int wait_ms);

#endif
