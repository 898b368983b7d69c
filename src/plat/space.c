/* space.c -- address space on Linux: mmap, mprotect, madvise
 *
 *   reserved --commit--> accessible --forbid--> no access, memory kept
 *                            ^  |                        |
 *                            |  +--empty--> accessible, zeros
 *                            +---------commit------------+
 *
 * A reservation is larger than asked for by `align`, and both ends are given
 * back.  Reserved pages cost no memory, and the system does not count them. */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "plat/space.h"

enum { POPULATE_WRITE = 23 }; /* since Linux 5.14: older headers lack it */

static void
unmap(uintptr_t from, uintptr_t to)
{
    if (from < to)
        munmap((void *)from, to - from);
}

void *
alqi_plat_space_reserve(size_t bytes, size_t align)
{
    int saved = errno;
    void *p = mmap(NULL, bytes + align, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uintptr_t lo = (uintptr_t)p;
    uintptr_t start = (lo + align - 1) & ~(uintptr_t)(align - 1);

    if (p != MAP_FAILED) {
        unmap(lo, start);
        unmap(start + bytes, lo + bytes + align);
    }
    errno = saved;
    return p == MAP_FAILED ? NULL : (void *)start;
}

void
alqi_plat_space_release(void *start, size_t bytes)
{
    int saved = errno;

    munmap(start, bytes);
    errno = saved;
}

bool
alqi_plat_space_commit(void *start, size_t bytes)
{
    int saved = errno;
    int failed = mprotect(start, bytes, PROT_READ | PROT_WRITE);

    errno = saved;
    return failed == 0;
}

bool
alqi_plat_space_forbid(void *start, size_t bytes)
{
    int saved = errno;
    int failed = mprotect(start, bytes, PROT_NONE);

    errno = saved;
    return failed == 0;
}

void
alqi_plat_space_empty(void *start, size_t bytes)
{
    int saved = errno;

    madvise(start, bytes, MADV_DONTNEED);
    errno = saved;
}

void
alqi_plat_space_touch(void *start, size_t bytes)
{
    int saved = errno;

    madvise(start, bytes, POPULATE_WRITE);
    errno = saved;
}

bool
alqi_plat_space_huge(void *start, size_t bytes)
{
    int saved = errno;
    int failed = madvise(start, bytes, MADV_HUGEPAGE);

    errno = saved;
    return failed == 0;
}
