/* deep.c -- more different call stacks than the exact mode's tables may hold
 *
 * usage: deep DEPTH BLOCKS
 * Each block is allocated through another path of calls; all are freed but
 * those of main's last loop.  Prints blocks and bytes allocated. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *volatile kept[64];

static void *descend(uint64_t path, unsigned depth, size_t size);

#define STEP(name)                                                             \
    __attribute__((noinline)) static void *name(uint64_t path, unsigned depth, \
                                                size_t size)                   \
    {                                                                          \
        void *p = descend(path >> 1, depth - 1, size);                         \
        __asm__ volatile("" ::: "memory");                                     \
        return p;                                                              \
    }

STEP(left)
STEP(right)

__attribute__((noinline)) static void *
descend(uint64_t path, unsigned depth, size_t size)
{
    void *p = depth == 0        ? malloc(size)
              : (path & 1) != 0 ? left(path, depth, size)
                                : right(path, depth, size);

    __asm__ volatile("" ::: "memory");
    return p;
}

int
main(int argc, char **argv)
{
    unsigned depth = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
    unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;
    uint64_t blocks = 0, bytes = 0;

    for (unsigned i = 0; i < n; i++) {
        void *p = descend(i * UINT64_C(0x9E3779B97F4A7C15) >> 20, depth, 1000);

        blocks++;
        bytes += 1000;
        if (kept[i % 64] != NULL)
            free(kept[i % 64]);
        kept[i % 64] = p;
    }
    for (unsigned i = 0; i < 64; i++)
        free(kept[i]);
    for (unsigned i = 0; i < 64; i++) {
        kept[i] = malloc(2000);
        blocks++;
        bytes += 2000;
    }
    dprintf(1, "%llu %llu\n", (unsigned long long)blocks,
            (unsigned long long)bytes);
    return 0;
}
