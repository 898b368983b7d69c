/* process.c -- see process.h: /proc, prctl(2), eventfd(2)
 *
 * No state: a call is one system call, or a few. */
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plat/process.h"

/* Whether the kernel executed the dynamic linker (ld.so PROGRAM): it was not
 * loaded for a program that asks for it. */
static bool
is_linker_executed(void)
{
    const ElfW(Phdr) *p = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    unsigned long n = getauxval(AT_PHNUM);

    if (getauxval(AT_BASE) != 0 || p == NULL)
        return false;
    while (n > 0 && p->p_type != PT_INTERP)
        p++, n--;
    return n > 0;
}

/* The program as the linker was given it, from the directory of the start.
 * False: it is not there, as after a change of the directory. */
static bool
linker_program(char *path, size_t n)
{
    const char *name = (const char *)getauxval(AT_EXECFN);
    size_t at = 0;

    if (name == NULL || strchr(name, '/') == NULL)
        return false;
    if (name[0] != '/') {
        if (getcwd(path, n) == NULL)
            return false;
        at = strlen(path);
        path[at++] = '/';
    }
    if (at + strlen(name) >= n)
        return false;
    strcpy(path + at, name);
    return access(path, F_OK) == 0;
}

void
alqi_plat_executable_sigsafe(char *path, size_t n)
{
    ssize_t got;

    if (is_linker_executed() && linker_program(path, n))
        return;
    got = readlink("/proc/self/exe", path, n - 1);
    path[got > 0 ? got : 0] = '\0';
}

void
alqi_plat_thread_name(const char *name)
{
    prctl(PR_SET_NAME, name);
}

/* Linux has a priority of each thread. */
void
alqi_plat_thread_nice(int by)
{
    id_t self = (id_t)syscall(SYS_gettid);

    (void)setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + by);
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

bool
alqi_plat_is_alone(void)
{
    char text[2048];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return strstr(text, "\nThreads:\t1\n") != NULL;
}
