/* sent.h -- a copy that the process made itself, read through a socket
 *                                                    [doc/design/leaks.md] */
#ifndef ALQI_CLI_ATTACH_SENT_H
#define ALQI_CLI_ATTACH_SENT_H

#include "cli/attach/core.h"

/* As alqi_cli_core_take, of a process that has been asked for a copy and
 * answers through fd, which is taken. */
bool alqi_cli_core_take_sent(const char *verb, pid_t pid, int fd,
                             bool (*still)(void *arg), void *arg,
                             struct alqi_cli_core *core);

size_t alqi_cli_sent_read(struct alqi_cli_sent *sent, uintptr_t from, void *to,
                          size_t n_bytes);
/* n words of a table of pages, of the copy or of what the process shares, from
 * that page on; how many there are: n, or 0. */
size_t alqi_cli_sent_pages(struct alqi_cli_sent *sent, bool is_shared,
                           uint64_t first, uint64_t *words, size_t n);
/* The copy answers still. */
bool alqi_cli_sent_is_there(const struct alqi_cli_sent *sent);
void alqi_cli_sent_drop(struct alqi_cli_sent *sent);

#endif
