/* process.c -- see process.h: /proc, prctl(2), eventfd(2)
 *
 * No state: each call is one system call. */
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "plat/process.h"

void
alqi_plat_executable_sigsafe(char *path, size_t n)
{
    ssize_t got = readlink("/proc/self/exe", path, n - 1);

    path[got > 0 ? got : 0] = '\0';
}

void
alqi_plat_thread_name(const char *name)
{
    prctl(PR_SET_NAME, name);
}

int
alqi_plat_event_open(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void
alqi_plat_event_raise_sigsafe(int fd)
{
    static const uint64_t one = 1;
    ssize_t n = write(fd, &one, sizeof one);

    (void)n; /* it can only be full, which is as readable */
}
