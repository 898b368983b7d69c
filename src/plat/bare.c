/* bare.c -- see bare.h */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "plat/bare.h"

enum { DESCRIPTORS_MOST = 1 << 20 };

void *
alqi_plat_bare_map(size_t bytes)
{
    const long arg[6] = {0, (long)bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1};
    long at = alqi_plat_call(SYS_mmap, arg);

    return at > 0 ? (void *)at : NULL;
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

void
alqi_plat_bare_close_but(int fd)
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

uint64_t
alqi_plat_bare_mono_ns(void)
{
    struct timespec now = {0};

    alqi_plat_bare_call3(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
