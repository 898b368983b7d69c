/* real.c -- the program's own allocator, and the start of the recording
 *
 * RTLD_NEXT finds the allocator: the libc's, or a library such as jemalloc.
 * The first call of the malloc family in the process, or the library's
 * constructor if no call came before it, moves the process from UNBORN on: the
 * constructors of the libraries that the program links run earlier than ours,
 * and their allocations count.
 *
 *   UNBORN --one exchange--> BEGINNING --alqi_preload_begin--> UP, or OFF
 *
 * While BEGINNING, dlsym itself may allocate: calls are served from a boot
 * arena that is never freed.
 *
 * .inv.arena  Each block of the arena is in the pointer filter, so that free()
 *             finds the block on its slow path; none is the program's.
 *
 * doc/design/preload.md, "Start", has the table of states. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "memprof/filter.h"
#include "preload/preload.h"

enum { BOOT_BYTES = 1 << 16, BOOT_ALIGN = 16 };

static struct {
    _Atomic(size_t) used; /* .pair.alone */
    _Alignas(4096) char bytes[BOOT_BYTES];
} boot;

static _Atomic(int) has_begun; /* .inv.first; .pair.alone */

bool
alqi_preload_is_boot(const void *block)
{
    uintptr_t offset = (uintptr_t)block - (uintptr_t)boot.bytes;

    return offset < BOOT_BYTES;
}

size_t
alqi_preload_boot_size(const void *block)
{
    size_t size;

    memcpy(&size, (const char *)block - BOOT_ALIGN, sizeof size);
    return size;
}

/* The size stands in the 16 bytes before the block. */
static void *
boot_alloc(size_t align, size_t size)
{
    size_t at, start;

    if (align < BOOT_ALIGN)
        align = BOOT_ALIGN;
    if (size > BOOT_BYTES || align > BOOT_BYTES / 4)
        goto fail_room;
    at = atomic_fetch_add(&boot.used, size + 2 * align);
    start = (at + BOOT_ALIGN + align - 1) & ~(align - 1);
    if (start + size > BOOT_BYTES)
        goto fail_room;
    memcpy(boot.bytes + start - BOOT_ALIGN, &size, sizeof size);
    alqi_memprof_filter_add(boot.bytes + start);
    return boot.bytes + start;

fail_room:
    errno = ENOMEM;
    return NULL;
}

/* ---- stand-ins until the real functions are known ------------------------ */

static bool resolve(void *(*find)(const char *name));
static void *find_next(const char *name);

bool
alqi_preload_real_begin(void)
{
    int64_t left = alqi_preload_hot.left_words;

    /* Only the thread that begins can come here again (.inv.first). */
    if (atomic_exchange(&has_begun, 1) != 0)
        return false;
    alqi_preload_hot.left_words = ALQI_PARKED; /* nothing here is a trial */
    if (!resolve(find_next)) {
        alqi_preload_log("no allocator behind the preload: cannot go on");
        abort();
    }
    alqi_preload_begin();
    alqi_preload_hot.left_words = left;
    return true;
}

bool
alqi_preload_real_begin_late(void *(*find)(const char *name))
{
    return resolve(find) && !atomic_exchange(&has_begun, 1);
}

static void *
boot_malloc(size_t size)
{
    return alqi_preload_real_begin() ? alqi_preload_real.malloc(size)
                                     : boot_alloc(BOOT_ALIGN, size);
}

/* The stand-in of calloc, which dlsym may call while resolve() runs. */
static void *
boot_calloc(size_t n, size_t size)
{
    size_t bytes;

    if (alqi_preload_real_begin())
        return alqi_preload_real.calloc(n, size);
    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return boot_alloc(BOOT_ALIGN, bytes); /* the arena starts as zeros */
}

static void *
boot_memalign(size_t align, size_t size)
{
    return alqi_preload_real_begin() ? alqi_preload_real.memalign(align, size)
                                     : boot_alloc(align, size);
}

static void *
boot_aligned_alloc(size_t align, size_t size)
{
    return alqi_preload_real_begin()
               ? alqi_preload_real.aligned_alloc(align, size)
               : boot_alloc(align, size);
}

/* The stand-in of posix_memalign, which returns a status. */
static int
boot_posix_memalign(void **out, size_t align, size_t size)
{
    void *p;

    if (alqi_preload_real_begin())
        return alqi_preload_real.posix_memalign(out, align, size);
    p = boot_alloc(align, size);
    if (p == NULL)
        return ENOMEM;
    *out = p;
    return 0;
}

/* The stand-in of realloc.  A block that comes while resolve() runs is of the
 * arena. */
static void *
boot_realloc(void *block, size_t size)
{
    void *p;

    if (alqi_preload_real_begin())
        return alqi_preload_real.realloc(block, size);
    p = boot_alloc(BOOT_ALIGN, size);
    if (p != NULL && block != NULL) {
        size_t old = alqi_preload_boot_size(block);

        memcpy(p, block, old < size ? old : size);
    }
    return p;
}

static void
boot_free(void *block)
{
    /* A block of the arena never comes here: the filter caught it. */
    if (block != NULL && alqi_preload_real_begin())
        alqi_preload_real.free(block);
}

static size_t
page_bytes(void)
{
    return alqi_plat_page_bytes_sigsafe();
}

/* A size that is too large stays so. */
static size_t
round_to_pages(size_t size)
{
    size_t n = (size + page_bytes() - 1) & ~(page_bytes() - 1);

    return n < size ? size : n;
}

static void *
boot_valloc(size_t size)
{
    return boot_memalign(page_bytes(), size);
}

static void *
boot_pvalloc(size_t size)
{
    return alqi_preload_real_begin()
               ? alqi_preload_real.pvalloc(size)
               : boot_alloc(page_bytes(), round_to_pages(size));
}

static size_t
boot_usable_size(void *block)
{
    return alqi_preload_real_begin()
               ? alqi_preload_real.malloc_usable_size(block)
               : 0;
}

static int
boot_dlclose(void *handle)
{
    return alqi_preload_real_begin() ? alqi_preload_real.dlclose(handle) : -1;
}

struct alqi_preload_real alqi_preload_real = {
    .malloc = boot_malloc,
    .calloc = boot_calloc,
    .realloc = boot_realloc,
    .free = boot_free,
    .memalign = boot_memalign,
    .aligned_alloc = boot_aligned_alloc,
    .posix_memalign = boot_posix_memalign,
    .valloc = boot_valloc,
    .pvalloc = boot_pvalloc,
    .malloc_usable_size = boot_usable_size,
    .dlclose = boot_dlclose,
};

/* ---- resolution ---------------------------------------------------------- */

/* An allocator library may lack the rarer entry points; then they are made
 * from memalign, which all have. */
static void *
valloc_by_memalign(size_t size)
{
    return alqi_preload_real.memalign(page_bytes(), size);
}

static void *
pvalloc_by_memalign(size_t size)
{
    return alqi_preload_real.memalign(page_bytes(), round_to_pages(size));
}

static void *
found_or(void *found, void *otherwise)
{
    return found != NULL ? found : otherwise;
}

static void *
find_next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* Finds the functions of the program's allocator and replaces all stand-ins at
 * once.  False where one is missing that cannot be made from another. */
static bool
resolve(void *(*find)(const char *name))
{
    struct alqi_preload_real r;

    *(void **)&r.malloc = find("malloc");
    *(void **)&r.calloc = find("calloc");
    *(void **)&r.realloc = find("realloc");
    *(void **)&r.free = find("free");
    *(void **)&r.memalign = find("memalign");
    *(void **)&r.aligned_alloc =
        found_or(find("aligned_alloc"), *(void **)&r.memalign);
    *(void **)&r.posix_memalign = find("posix_memalign");
    *(void **)&r.valloc = found_or(find("valloc"), (void *)valloc_by_memalign);
    *(void **)&r.pvalloc =
        found_or(find("pvalloc"), (void *)pvalloc_by_memalign);
    *(void **)&r.malloc_usable_size = find("malloc_usable_size");
    *(void **)&r.dlclose = found_or(find("dlclose"), (void *)boot_dlclose);
    if (r.malloc == NULL || r.free == NULL || r.calloc == NULL ||
        r.realloc == NULL || r.memalign == NULL || r.posix_memalign == NULL ||
        r.malloc_usable_size == NULL)
        return false;
    alqi_preload_real = r;
    return true;
}
