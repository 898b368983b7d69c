/* sent.h -- a copy that the process made itself, read through a socket
 *                                                    [doc/design/leaks.md] */
#ifndef ALQI_CLI_ATTACH_SENT_H
#define ALQI_CLI_ATTACH_SENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/copy.h"

struct alqi_cli_sent;

/* fd is taken. */
struct alqi_cli_sent *alqi_cli_sent_open(int fd);
void alqi_cli_sent_drop(struct alqi_cli_sent *sent);

/* All of them, or false: the other end is closed, or does not answer. */
bool alqi_cli_sent_bytes(struct alqi_cli_sent *sent, void *to, size_t n);
bool alqi_cli_sent_line(struct alqi_cli_sent *sent, char *line, size_t n);
bool alqi_cli_sent_write(struct alqi_cli_sent *sent, const void *bytes,
                         size_t n);

/* The memory's bytes from `from` on that are there, up to n_bytes. */
size_t alqi_cli_sent_read(struct alqi_cli_sent *sent, uintptr_t from, void *to,
                          size_t n_bytes);
/* n words of a table of pages, of the copy or of what the process shares, from
 * that page on; how many there are: n, or 0. */
size_t alqi_cli_sent_pages(struct alqi_cli_sent *sent, bool is_shared,
                           uint64_t first, uint64_t *words, size_t n);
/* It has answered so far. */
bool alqi_cli_sent_is_there(const struct alqi_cli_sent *sent);

#endif
