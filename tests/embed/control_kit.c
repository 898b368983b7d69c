/* control_kit.c -- a client of a control socket: connects, says a line, hears
 * the answer */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "control_kit.h"
#include "domains_kit.h"

int
control_connect(const char *name)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t n = strlen(name);

    CHECK(fd >= 0);
    memcpy(a.sun_path + 1, name + 1, n - 1);
    if (connect(fd, (const void *)&a,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) == 0)
        return fd;
    close(fd);
    return -1;
}

void
control_say(int fd, const char *request)
{
    char line[100];
    int n = snprintf(line, sizeof line, "aliquot/1 %s\n", request);

    (void)!send(fd, line, (size_t)n, MSG_NOSIGNAL);
}

bool
control_hear(int fd, char *answer)
{
    size_t n = 0;

    while (n < CONTROL_ANSWER_BYTES - 1) {
        ssize_t got = read(fd, answer + n, CONTROL_ANSWER_BYTES - 1 - n);

        if (got <= 0)
            break;
        n += (size_t)got;
    }
    answer[n] = '\0';
    return n > 0 && answer[n - 1] == '\n';
}

bool
control_ask(const char *name, const char *request, char *answer)
{
    int fd = control_connect(name);
    bool is_heard;

    if (fd < 0)
        return false;
    control_say(fd, request);
    is_heard = control_hear(fd, answer);
    close(fd);
    return is_heard;
}
