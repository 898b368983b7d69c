/* Two-thread (or N-thread) malloc/free stress with a server-like size mix.
 *
 * usage: mtmalloc [OPS_PER_THREAD] [THREADS] [DEPTH] [CROSS_PERMILLE]
 *   defaults 4000000 2 16 50
 * Each thread owns 1024 slots; each op frees a random slot and fills it again
 * (larson style).  CROSS_PERMILLE of the blocks are handed to the next
 * thread's mailbox and freed there (xmalloc style).  The allocation is made
 * DEPTH calls deep through a small set of distinct functions so that stacks
 * look like a program's.  Prints ns per malloc+free pair and M pairs/s.
 * build: cc -O2 -pthread mtmalloc.c -o mtmalloc   (add -fno-omit-frame-pointer
 * as wanted)
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS 1024
#define BOX 256
static long ops = 4000000;
static int nthr = 2, depth = 16, cross = 50;
typedef struct {
    _Atomic(void *) box[BOX];
    char pad[64];
} mailbox;
static mailbox *boxes;

static inline uint64_t
rnd(uint64_t *s)
{
    uint64_t x = *s;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *s = x;
}
static size_t
pick(uint64_t r)
{
    unsigned k = r & 1023;
    if (k < 620)
        return 8 + ((r >> 10) & 63); /* 8..71      */
    if (k < 900)
        return 64 + ((r >> 10) & 255); /* 64..319    */
    if (k < 1000)
        return 256 + ((r >> 10) & 1023); /* 256..1279  */
    if (k < 1021)
        return 1024 + ((r >> 10) & 8191); /* 1K..9K     */
    return 16384 + ((r >> 10) & 32767);   /* 16K..48K   */
}
typedef void *(*fn)(int, size_t, uint64_t);
static void *f0(int, size_t, uint64_t), *f1(int, size_t, uint64_t),
    *f2(int, size_t, uint64_t), *f3(int, size_t, uint64_t);
static fn const tab[4] = {f0, f1, f2, f3};
#define BODY(K)                                                                \
    {                                                                          \
        if (d <= 0) {                                                          \
            char *p = malloc(n);                                               \
            if (p) {                                                           \
                p[0] = (char)K;                                                \
                p[n - 1] = 1;                                                  \
            }                                                                  \
            return p;                                                          \
        }                                                                      \
        void *p = tab[(h >> (2 * (d & 7))) & 3](d - 1, n, h);                  \
        __asm__ volatile("" : "+r"(p));                                        \
        return p;                                                              \
    }
static __attribute__((noinline)) void *
f0(int d, size_t n, uint64_t h) BODY(0) static
    __attribute__((noinline)) void *f1(int d, size_t n, uint64_t h)
        BODY(1) static
    __attribute__((noinline)) void *f2(int d, size_t n, uint64_t h)
        BODY(2) static
    __attribute__((noinline)) void *f3(int d, size_t n, uint64_t h) BODY(3)

        static void *worker(void *arg)
{
    int me = (int)(intptr_t)arg;
    uint64_t s = 0x9E3779B97F4A7C15ull * (me + 1);
    void **slot = calloc(SLOTS, sizeof *slot);
    mailbox *out = &boxes[(me + 1) % nthr];
    for (long i = 0; i < ops; i++) {
        uint64_t r = rnd(&s);
        unsigned k = (r >> 50) & (SLOTS - 1);
        void *old = slot[k];
        if (old && (int)((r >> 40) % 1000) < cross)
            old = atomic_exchange_explicit(&out->box[(r >> 32) & (BOX - 1)],
                                           old, memory_order_acq_rel);
        free(old);
        /* 64 distinct paths per depth, as a program with a few dozen hot
         * allocation sites */
        slot[k] = f0(depth, pick(r), (r >> 20) & 0x333);
    }
    for (int i = 0; i < SLOTS; i++)
        free(slot[i]);
    free(slot);
    return NULL;
}
int
main(int argc, char **argv)
{
    if (argc > 1)
        ops = atol(argv[1]);
    if (argc > 2)
        nthr = atoi(argv[2]);
    if (argc > 3)
        depth = atoi(argv[3]);
    if (argc > 4)
        cross = atoi(argv[4]);
    boxes = calloc(nthr, sizeof *boxes);
    pthread_t t[64];
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < nthr; i++)
        pthread_create(&t[i], NULL, worker, (void *)(intptr_t)i);
    for (int i = 0; i < nthr; i++)
        pthread_join(t[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &b);
#ifndef QUIET
    double ns = (b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec);
    fprintf(stderr, "mtmalloc: %.1f ns/pair/thread  %.2f Mpairs/s total\n",
            ns / ops, ops * (double)nthr / ns * 1e3);
#endif
    for (int i = 0; i < nthr; i++)
        for (int j = 0; j < BOX; j++)
            free(boxes[i].box[j]);
    free(boxes);
    return 0;
}
