/* mmap.c -- anonymous mappings as blocks, when asked for (mmap=1)
 *
 * A private anonymous mapping is tried like a request of its length, and is
 * freed when the page at its start is unmapped or mapped over; what is cut from
 * its middle or end is not followed.  mremap is its realloc.
 *
 * .inv.once  Memory is not counted twice: the C library's own mappings (of
 *            malloc, of thread stacks) do not pass here, and what the module
 *            of the program's malloc maps is passed over, as is what a Python
 *            maps whose small blocks are tried, and what pools map.
 * .inv.own   What this library maps for itself is not the program's: it is
 *            neither tried nor counted as dropped.
 *
 * Off, each call is a few tests and the system call. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memprof/filter.h"
#include "preload/exact.h"
#include "preload/preload.h"
#include "preload/python.h"

/* The system call itself: no resolution, so these work at any time. */
static void *
map_call(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, at, n, protection, flags, fd, offset);
}

static bool
is_of_module(const void *caller, void *code)
{
    struct dl_find_object module;

    return _dl_find_object(code, &module) == 0 &&
           caller >= module.dlfo_map_start && caller < module.dlfo_map_end;
}

/* .inv.once */
static bool
is_of_allocator(const void *caller)
{
    return is_of_module(caller, (void *)alqi_preload_real.malloc) ||
           alqi_preload_python_small_maps(caller);
}

/* .inv.own */
static bool
is_tracked(const void *caller)
{
    return alqi_preload_config.is_tracking_mmap && !alqi_preload_is_within() &&
           !is_of_module(caller, (void *)is_of_module);
}

static bool
is_block(const void *mapped, int flags, const void *caller)
{
    return mapped != MAP_FAILED &&
           (flags & (MAP_ANONYMOUS | MAP_PRIVATE | MAP_NORESERVE)) ==
               (MAP_ANONYMOUS | MAP_PRIVATE) &&
           !is_of_allocator(caller);
}

/* Handlers may map memory, too. */
static void
try_mapping(void *mapped, size_t n)
{
    const void *outer = alqi_preload_hot.mapping;

    alqi_preload_hot.mapping = mapped;
    alqi_preload_tried(mapped, n);
    alqi_preload_hot.mapping = outer;
}

/* As malloc.c's tripped_reborn. */
static void
try_remapped(void *mapped, size_t n)
{
    const void *outer = alqi_preload_hot.reborn;

    alqi_preload_hot.reborn = mapped;
    try_mapping(mapped, n);
    alqi_preload_hot.reborn = outer;
}

/* Before the call: the address may be another thread's right after it. */
static void
untrack_mapping(void *at)
{
    if (alqi_preload_config.is_tracking_mmap && alqi_memprof_filter_hit(at))
        alqi_preload_untrack(at);
}

/* As map_call; a file that is mapped as code may list such code (jit.c). */
static void *
map_noted(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    void *p = map_call(at, n, protection, flags, fd, offset);

    if (ALQI_UNLIKELY((protection & PROT_EXEC) != 0 &&
                      (flags & MAP_ANONYMOUS) == 0) &&
        p != MAP_FAILED)
        alqi_preload_jit_mapped(fd);
    return p;
}

/* A mapping whose caller is tracked.  MAP_FIXED may replace a mapping at `at`,
 * which is untracked first. */
static ALQI_NOINLINE void *
map_tracked(void *at, size_t n, int protection, int flags, int fd, off_t offset,
            const void *caller)
{
    void *p;

    if ((flags & MAP_FIXED) != 0)
        untrack_mapping(at);
    p = map_noted(at, n, protection, flags, fd, offset);
    if (is_block(p, flags, caller))
        try_mapping(p, n);
    return p;
}

ALQI_EXPORT void *
mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    if (!is_tracked(__builtin_return_address(0)))
        return map_noted(at, n, protection, flags, fd, offset);
    return map_tracked(at, n, protection, flags, fd, offset,
                       __builtin_return_address(0));
}

ALQI_EXPORT void *
mmap64(void *at, size_t n, int protection, int flags, int fd, off64_t offset)
{
    if (!is_tracked(__builtin_return_address(0)))
        return map_noted(at, n, protection, flags, fd, (off_t)offset);
    return map_tracked(at, n, protection, flags, fd, (off_t)offset,
                       __builtin_return_address(0));
}

ALQI_EXPORT int
munmap(void *at, size_t n)
{
    if (is_tracked(__builtin_return_address(0)))
        untrack_mapping(at);
    return (int)syscall(SYS_munmap, at, n);
}

/* As malloc.c's realloc_exact. */
static ALQI_NOINLINE void *
remap_exact(struct alqi_preload_thread *thread, void *at, size_t old_n,
            size_t new_n, int flags, void *target)
{
    struct alqi_preload_exact_moving moving =
        alqi_preload_exact_moves(thread, at);
    void *p = (void *)syscall(SYS_mremap, at, old_n, new_n, flags, target);
    int saved = errno;

    alqi_preload_exact_moved(moving, p != MAP_FAILED ? p : NULL, new_n);
    if (p != MAP_FAILED)
        try_remapped(p, new_n);
    errno = saved;
    return p;
}

/* As malloc.c's realloc_tracked. */
static ALQI_NOINLINE void *
remap_tracked(struct alqi_preload_thread *thread, void *at, size_t old_n,
              size_t new_n, int flags, void *target)
{
    int64_t left = alqi_preload_park(thread);
    struct alqi_preload_moving outer;
    struct alqi_memprof_entry *taken;
    int saved;
    bool ok;
    void *p;

    taken = alqi_memprof_realloc_begin(&thread->memprof, at, &ok);
    p = (void *)syscall(SYS_mremap, at, old_n, new_n, flags, target);
    saved = errno;
    if (p == MAP_FAILED || taken == NULL) {
        alqi_memprof_realloc_failed(&thread->memprof, taken);
        alqi_preload_unpark(thread, left);
        errno = saved;
        return p;
    }
    outer = alqi_preload_recorder_moving(thread, taken, p);
    alqi_memprof_realloc_done(&thread->memprof, taken);
    alqi_preload_unpark(thread, left);
    try_remapped(p, new_n);
    alqi_preload_recorder_moved(thread, outer);
    errno = saved;
    return p;
}

ALQI_EXPORT void *
mremap(void *at, size_t old_n, size_t new_n, int flags, ...)
{
    struct alqi_preload_thread *thread = alqi_preload_hot.thread;
    void *target = NULL;

    if ((flags & MREMAP_FIXED) != 0) {
        va_list more;

        va_start(more, flags);
        target = va_arg(more, void *);
        va_end(more);
        untrack_mapping(target);
    }
    if (!is_tracked(__builtin_return_address(0)) || thread == NULL ||
        !alqi_memprof_filter_hit(at))
        return (void *)syscall(SYS_mremap, at, old_n, new_n, flags, target);
    if (ALQI_UNLIKELY(alqi_preload_is_fork_unprepared()))
        thread = alqi_preload_fork_child_unprepared();
    if (alqi_preload_exact_is(ALQI_PRELOAD_EXACT_OFF))
        return remap_tracked(thread, at, old_n, new_n, flags, target);
    return remap_exact(thread, at, old_n, new_n, flags, target);
}
