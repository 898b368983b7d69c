/* bare.c -- see bare.h */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "plat/bare.h"

enum {
    DESCRIPTORS_MOST = 1 << 20,
    SIGNALS_BYTES = 8 /* the kernel's set */
};

static void *
map(size_t bytes, int flags)
{
    const long arg[6] = {0, (long)bytes, PROT_READ | PROT_WRITE,
                         flags | MAP_ANONYMOUS, -1};
    long at = alqi_plat_call(SYS_mmap, arg);

    return at > 0 ? (void *)at : NULL;
}

void *
alqi_plat_bare_map(size_t bytes)
{
    return map(bytes, MAP_PRIVATE);
}

void *
alqi_plat_bare_map_shared(size_t bytes)
{
    return map(bytes, MAP_SHARED);
}

void
alqi_plat_bare_unmap(void *pages, size_t bytes)
{
    alqi_plat_bare_call3(SYS_munmap, (long)pages, (long)bytes, 0);
}

/* [from, to] */
static long
range_close(unsigned from, unsigned to)
{
    return alqi_plat_bare_call3(SYS_close_range, from, to, 0);
}

/* Before Linux 5.9 one by one. */
static void
close_but(int fd)
{
    struct rlimit most = {0};
    const long arg[6] = {0, RLIMIT_NOFILE, 0, (long)&most};

    if ((fd <= 0 || range_close(0, (unsigned)fd - 1) == 0) &&
        range_close((unsigned)fd + 1, UINT32_MAX) == 0)
        return;
    alqi_plat_call(SYS_prlimit64, arg);
    if (most.rlim_cur > DESCRIPTORS_MOST)
        most.rlim_cur = DESCRIPTORS_MOST;
    for (long i = 0; i < (long)most.rlim_cur; i++)
        if (i != fd)
            alqi_plat_bare_call3(SYS_close, i, 0, 0);
}

int
alqi_plat_bare_write(int fd, const void *bytes, size_t n_bytes)
{
    const char *at = bytes;

    while (n_bytes > 0) {
        long n = alqi_plat_bare_call3(SYS_write, fd, (long)at, (long)n_bytes);

        if (n >= 0) {
            at += n;
            n_bytes -= (size_t)n;
        } else if (n != -EINTR) {
            return (int)-n;
        }
    }
    return 0;
}

long
alqi_plat_bare_copy(void)
{
    const uint64_t all = UINT64_MAX;
    uint64_t before = 0;
    const long block[6] = {SIG_SETMASK, (long)&all, (long)&before,
                           SIGNALS_BYTES};
    const long restore[6] = {SIG_SETMASK, (long)&before, 0, SIGNALS_BYTES};
    const long without_signal[6] = {0};
    long pid;

    alqi_plat_call(SYS_rt_sigprocmask, block);
    pid = alqi_plat_call(SYS_clone, without_signal);
    if (pid != 0)
        alqi_plat_call(SYS_rt_sigprocmask, restore);
    return pid;
}

void
alqi_plat_bare_begin(int fd)
{
    close_but(fd);
    alqi_plat_bare_call3(SYS_chdir, (long)"/", 0, 0);
    alqi_plat_bare_call3(SYS_prctl, PR_SET_NAME, (long)"aliquot-copy", 0);
}

_Noreturn void
alqi_plat_bare_exit(int status)
{
    for (;;)
        alqi_plat_bare_call3(SYS_exit_group, status, 0, 0);
}

int
alqi_plat_bare_wait(long pid)
{
    int status = 0;
    const long wait[6] = {pid, (long)&status, __WCLONE};
    long ended;

    do
        ended = alqi_plat_call(SYS_wait4, wait);
    while (ended == -EINTR);
    return ended == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool
alqi_plat_bare_wait_ms(long pid, long ms)
{
    const struct timespec most = {.tv_sec = ms / 1000,
                                  .tv_nsec = ms % 1000 * 1000000};
    struct pollfd p = {.events = POLLIN};
    const long arg[6] = {(long)&p, 1, (long)&most, 0, SIGNALS_BYTES};
    long fd = alqi_plat_bare_call3(SYS_pidfd_open, pid, 0, 0), n;

    if (fd < 0)
        return true;
    p.fd = (int)fd;
    n = alqi_plat_call(SYS_ppoll, arg);
    alqi_plat_bare_call3(SYS_close, fd, 0, 0);
    return n > 0;
}

bool
alqi_plat_bare_kill(long pid)
{
    alqi_plat_bare_call3(SYS_kill, pid, SIGKILL, 0);
    return true;
}

uint64_t
alqi_plat_bare_mono_ns(void)
{
    struct timespec now = {0};

    alqi_plat_bare_call3(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
