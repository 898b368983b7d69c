/* callers.c -- one function for each way into the malloc family
 *
 * callers.sh asks that the innermost frame of each block is the function here
 * that asked for it.  Prints "FUNCTION BYTES", which tells the blocks apart. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { KIB = 1024, BASE_KIB = 256, ALIGN = 4096 };

static void *volatile sink;

/* One row a way: name, expression of the block, its size in KiB beyond BASE.
 * The sizes differ, and pass no allocator's cache. */
#define WAYS(X)                                                                \
    X(by_malloc, malloc(n), 1)                                                 \
    X(by_calloc, calloc(1, n), 2)                                              \
    X(by_realloc, realloc(NULL, n), 3)                                         \
    X(by_realloc_grown, realloc(malloc(1), n), 4)                              \
    X(by_reallocarray, reallocarray(NULL, 1, n), 5)                            \
    X(by_posix_memalign, posix_memalign(&p, ALIGN, n) == 0 ? p : NULL, 6)      \
    X(by_aligned_alloc, aligned_alloc(ALIGN, n), 8)                            \
    X(by_memalign, memalign(ALIGN, n), 9)                                      \
    X(by_valloc, valloc(n), 10)                                                \
    X(by_pvalloc, pvalloc(n), 12)                                              \
    X(by_mmap, mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 16)

#define WAY(name, block, kib)                                                  \
    static NOINLINE void name(size_t n)                                        \
    {                                                                          \
        void *p = NULL;                                                        \
        sink = p;                                                              \
        sink = (block);                                                        \
        __asm__ volatile("" : : "r"(p) : "memory");                            \
    }
WAYS(WAY)

static NOINLINE void
by_mremap(size_t n)
{
    void *p = mmap(NULL, ALIGN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    sink = mremap(p, ALIGN, n, MREMAP_MAYMOVE);
    __asm__ volatile("" : : : "memory");
}

int
main(void)
{
#define RUN(name, block, kib)                                                  \
    name((BASE_KIB + (kib)) * (size_t)KIB);                                    \
    printf("%s %d\n", #name, (BASE_KIB + (kib)) * KIB);
    WAYS(RUN)
    RUN(by_mremap, , 20)
    return 0;
}
