/* shim.h -- one source of each workload, several heaps
 *
 * A workload is written once against this; one SHIM_* macro picks the heap:
 * SHIM_ALQ, SHIM_MALLOC (with free; also under a preloaded allocator),
 * SHIM_BDW. An object is so many pointers, then raw words.  A pointer that
 * lives across an allocation stands in a FRAME.  A raw word of an object that
 * has pointers is a TAG, since one heap keeps integers as OCaml does. */
#ifndef SHIM_H
#define SHIM_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef uintptr_t word;

/* What a thread of the workload runs on. */
typedef struct cx {
    int tid;
    struct alq_domain *d;
} cx;

typedef int (*work_fn)(cx *, void *);

struct job {
    work_fn f;
    void *arg;
    int tid;
};

/* Of each heap: ALLOC(c, pointers, raw bytes), ALLOC_LEAF(c, bytes), STORE,
 * DROP: free() where memory is manual; run_with_heap for the main thread,
 * run_thread for others, join_blocking to wait for them. */
#if defined(SHIM_ALQ)
#include "shim_alq.h"
#elif defined(SHIM_MALLOC)
#include "shim_malloc.h"
#elif defined(SHIM_BDW)
#include "shim_bdw.h"
#else
#error "pick a SHIM_*"
#endif

#define NEW(c, T, np) ((T *)ALLOC((c), (np), sizeof(T) - (np) * sizeof(word)))

/* ---- time ---------------------------------------------------------------- */

static inline uint64_t
now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Latencies, 16 buckets for each power of two. */
struct hist {
    uint64_t bucket[64 * 16];
    uint64_t n;
    uint64_t max;
};

static inline void
hist_add(struct hist *h, uint64_t v)
{
    unsigned i = (unsigned)v, log;

    if (v >= 16) {
        log = 63 - (unsigned)__builtin_clzll(v);
        i = (log - 3) * 16 + ((v >> (log - 4)) & 15);
    }
    h->bucket[i]++;
    h->n++;
    if (v > h->max)
        h->max = v;
}

static inline double
hist_us(const struct hist *h, double share)
{
    uint64_t want = (uint64_t)((double)h->n * share), sum = 0;
    unsigned i;

    for (i = 0; i < 64 * 16; i++) {
        sum += h->bucket[i];
        if (sum > want)
            return (double)(i < 16 ? i
                                   : (uint64_t)(16 + i % 16) << (i / 16 - 1)) /
                   1e3;
    }
    return (double)h->max / 1e3;
}

static inline void
hist_print(const char *what, const struct hist *h)
{
    printf("lat_us %s n=%llu p50=%.2f p99=%.2f p99.9=%.2f p99.99=%.2f "
           "max=%.1f\n",
           what, (unsigned long long)h->n, hist_us(h, .5), hist_us(h, .99),
           hist_us(h, .999), hist_us(h, .9999), (double)h->max / 1e3);
}

/* ---- chance, arguments --------------------------------------------------- */

/* xorshift64*, 53 bits */
static inline uint64_t
rnd(uint64_t *state)
{
    uint64_t x = *state;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return (x * 0x2545F4914F6CDD1Dull) >> 11;
}

static inline long
arg_l(int argc, char **argv, int i, long otherwise)
{
    return argc > i ? atol(argv[i]) : otherwise;
}

#endif
