/* sent.c -- the command's end of the socket of wire/copy.h
 *
 * .inv.sent_whole  What the copy did not send is not there.  Once it has not
 *                  answered, it is broken for good, and what was made of its
 *                  answers is no result (alqi_cli_core_is_there). */
#include "cli/attach/sent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/tool/cli.h"

enum { WAIT_S = 90 }; /* longer than the copy takes for an answer (SEND_S) */

struct alqi_cli_sent {
    int fd; /* owned */
    bool is_broken;
};

struct alqi_cli_sent *
alqi_cli_sent_open(int fd)
{
    const struct timeval wait = {.tv_sec = WAIT_S};
    struct alqi_cli_sent *s = alqi_cli_zeros(1, sizeof *s);

    s->fd = fd;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    return s;
}

bool
alqi_cli_sent_bytes(struct alqi_cli_sent *s, void *to, size_t n)
{
    char *at = to;

    while (n > 0 && !s->is_broken) {
        ssize_t got = recv(s->fd, at, n, 0);

        if (got > 0) {
            at += got;
            n -= (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            s->is_broken = true;
        }
    }
    return !s->is_broken;
}

bool
alqi_cli_sent_write(struct alqi_cli_sent *s, const void *bytes, size_t n)
{
    if (!s->is_broken && send(s->fd, bytes, n, MSG_NOSIGNAL) != (ssize_t)n)
        s->is_broken = true;
    return !s->is_broken;
}

bool
alqi_cli_sent_line(struct alqi_cli_sent *s, char *line, size_t n)
{
    for (size_t i = 0; i + 1 < n && alqi_cli_sent_bytes(s, line + i, 1); i++)
        if (line[i] == '\n') {
            line[i] = '\0';
            return true;
        }
    return false;
}

/* So many bytes or words, and how many of them there are. */
static uint64_t
ask(struct alqi_cli_sent *s, enum alqi_copy_question_kind kind, uint64_t from,
    uint64_t n, void *to, size_t n_bytes)
{
    const struct alqi_copy_question question = {from, n, (uint32_t)kind, 0};
    uint64_t valid = 0;

    if (alqi_cli_sent_write(s, &question, sizeof question) &&
        alqi_cli_sent_bytes(s, to, n_bytes) &&
        alqi_cli_sent_bytes(s, &valid, sizeof valid))
        return valid < n ? valid : n;
    return 0;
}

size_t
alqi_cli_sent_read(struct alqi_cli_sent *s, uintptr_t from, void *to,
                   size_t n_bytes)
{
    return ask(s, ALQI_COPY_READ, from, n_bytes, to, n_bytes);
}

size_t
alqi_cli_sent_pages(struct alqi_cli_sent *s, bool is_shared, uint64_t first,
                    uint64_t *words, size_t n)
{
    return ask(s, is_shared ? ALQI_COPY_SHARED_PAGES : ALQI_COPY_PAGES, first,
               n, words, n * sizeof *words);
}

bool
alqi_cli_sent_is_there(const struct alqi_cli_sent *s)
{
    return !s->is_broken;
}

void
alqi_cli_sent_drop(struct alqi_cli_sent *s)
{
    if (s == NULL)
        return;
    close(s->fd);
    free(s);
}
