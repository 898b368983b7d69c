/* space.c -- address space on Linux: mmap, mprotect, madvise
 *
 *   reserved --commit--> accessible --forbid--> no access, memory kept
 *                            ^  |                        |
 *                            |  +--empty--> accessible, zeros
 *                            +---------commit------------+
 *
 * A reservation is larger than asked for by `align`, and both ends are given
 * back.  Reserved pages cost no memory, and the system does not count them.
 *
 * The system knows whole pages only: `outwards` are those that a range touches,
 * `inwards` those that lie in it. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "plat/plat.h"
#include "plat/space.h"

enum { POPULATE_WRITE = 23 }; /* since Linux 5.14: older headers lack it */

/* A range of addresses. */
struct range {
    uintptr_t from, to;
};

static struct range
outwards(const void *start, size_t bytes)
{
    uintptr_t rest = alqi_plat_page_bytes_sigsafe() - 1;
    uintptr_t at = (uintptr_t)start;

    return (struct range){at & ~rest, (at + bytes + rest) & ~rest};
}

/* Empty: no page lies in it. */
static struct range
inwards(const void *start, size_t bytes)
{
    uintptr_t rest = alqi_plat_page_bytes_sigsafe() - 1;
    uintptr_t at = (uintptr_t)start;
    uintptr_t from = (at + rest) & ~rest, to = (at + bytes) & ~rest;

    return (struct range){from, to < from ? from : to};
}

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
    struct range r = outwards(start, bytes);
    int failed =
        mprotect((void *)r.from, r.to - r.from, PROT_READ | PROT_WRITE);

    errno = saved;
    return failed == 0;
}

bool
alqi_plat_space_forbid(void *start, size_t bytes)
{
    int saved = errno;
    struct range r = inwards(start, bytes);
    bool ok = r.from == r.to ||
              mprotect((void *)r.from, r.to - r.from, PROT_NONE) == 0;

    errno = saved;
    return ok;
}

void
alqi_plat_space_empty(void *start, size_t bytes)
{
    int saved = errno;
    struct range r = inwards(start, bytes);
    uintptr_t end = (uintptr_t)start + bytes;

    if (r.from == r.to) {
        memset(start, 0, bytes);
    } else {
        memset(start, 0, r.from - (uintptr_t)start);
        madvise((void *)r.from, r.to - r.from, MADV_DONTNEED);
        memset((void *)r.to, 0, end - r.to);
    }
    errno = saved;
}

void
alqi_plat_space_touch(void *start, size_t bytes)
{
    int saved = errno;
    struct range r = outwards(start, bytes);

    madvise((void *)r.from, r.to - r.from, POPULATE_WRITE);
    errno = saved;
}

bool
alqi_plat_space_huge(void *start, size_t bytes)
{
    int saved = errno;
    struct range r = outwards(start, bytes);
    int failed = madvise((void *)r.from, r.to - r.from, MADV_HUGEPAGE);

    errno = saved;
    return failed == 0;
}
