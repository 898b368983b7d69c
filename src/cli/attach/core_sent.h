/* core_sent.h -- a core of a copy that the process made itself
 *                                                    [doc/design/leaks.md] */
#ifndef ALQI_CLI_ATTACH_CORE_SENT_H
#define ALQI_CLI_ATTACH_CORE_SENT_H

#include "cli/attach/core.h"

/* As alqi_cli_core_take, of a process that has been asked for a copy and
 * answers through fd, which is taken. */
bool alqi_cli_core_take_sent(const char *verb, pid_t pid, int fd,
                             bool (*still)(void *arg), void *arg,
                             struct alqi_cli_core *core);

#endif
