/* mmap.c -- anonymous mappings as blocks, when asked for (mmap=1)
 *
 * A private anonymous mapping is tried like a request of its length, and is
 * freed when the page at its start is unmapped; what is cut from its middle or
 * end is not followed.  The C library's own mappings (malloc's, thread stacks)
 * do not pass here.  Off, each call is one test and a jump. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memprof/filter.h"
#include "preload/preload.h"

/* The system call itself: no resolution, so these work at any time. */
static void *
map_call(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, at, n, protection, flags, fd, offset);
}

static bool
is_block(const void *mapped, int flags)
{
    return mapped != MAP_FAILED && alqi_preload_config.is_tracking_mmap &&
           (flags & (MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED |
                     MAP_NORESERVE)) == (MAP_ANONYMOUS | MAP_PRIVATE);
}

/* Before the call: the address may be another thread's right after it. */
static bool
untrack_mapping(void *at)
{
    if (!alqi_preload_config.is_tracking_mmap || !alqi_memprof_filter_hit(at))
        return false;
    alqi_preload_untrack(at);
    return true;
}

ALQI_EXPORT void *
mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    void *p = map_call(at, n, protection, flags, fd, offset);

    return is_block(p, flags) ? alqi_preload_tried(p, n) : p;
}

ALQI_EXPORT void *
mmap64(void *at, size_t n, int protection, int flags, int fd, off64_t offset)
{
    return mmap(at, n, protection, flags, fd, (off_t)offset);
}

ALQI_EXPORT int
munmap(void *at, size_t n)
{
    untrack_mapping(at);
    return (int)syscall(SYS_munmap, at, n);
}

ALQI_EXPORT void *
mremap(void *at, size_t old_n, size_t new_n, int flags, ...)
{
    void *target = NULL, *p;
    bool was_tracked;

    if ((flags & MREMAP_FIXED) != 0) {
        va_list more;

        va_start(more, flags);
        target = va_arg(more, void *);
        va_end(more);
    }
    was_tracked = untrack_mapping(at);
    p = (void *)syscall(SYS_mremap, at, old_n, new_n, flags, target);
    if (!was_tracked)
        return p;
    /* What was a block is tried again as one, moved, resized or neither. */
    if (p == MAP_FAILED)
        alqi_preload_tried(at, old_n);
    else
        alqi_preload_tried(p, new_n);
    return p;
}
