/* stack_probe.c -- ns per capture inside a real program
 *
 * Preloaded: captures the stack at every STACK_EVERY-th malloc by the method
 * STACK_METHOD (replay, walk, unw) and writes one line to stderr at exit:
 * captures, mean and median ns by the time stamp counter, mean frames.  What
 * reading the counter costs is measured at the start and subtracted. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plat/plat.h"
#include "stack/capture.h"

enum { FRAMES = 256, BUCKETS = 1 << 16, CLOCK_ROUNDS = 100000 };

#define IE __attribute__((tls_model("initial-exec")))

extern void *__libc_malloc(size_t bytes);
__attribute__((visibility("default"))) void *malloc(size_t bytes);

static __thread IE long left;
static __thread IE bool is_inside;
static __thread IE struct alqi_stack_cache *cache;
static __thread IE uintptr_t frames[FRAMES];
static long every;
static bool is_walk, is_ready;
static int (*unwind_backtrace)(void **, int);
static uint64_t n_captures, n_frames, ticks_sum, ticks_read;
static uint32_t histogram[BUCKETS]; /* of ticks / 8 */
static double ns_per_tick;

static inline uint64_t
ticks(void)
{
#if defined(__x86_64__)
    uint32_t lo, hi;

    __asm__ volatile("lfence; rdtsc; lfence" : "=a"(lo), "=d"(hi) : : "memory");
    return (uint64_t)hi << 32 | lo;
#else
    uint64_t t;

    __asm__ volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(t) : : "memory");
    return t;
#endif
}

static __attribute__((noinline)) int
capture_once(void)
{
    struct alqi_stack_regs here;

    if (unwind_backtrace != NULL)
        return unwind_backtrace((void **)frames, FRAMES);
    if (is_walk)
        cache->generation = 0;
    here = alqi_stack_regs_here();
    return (int)alqi_stack_capture(cache, &here, 0, 0, FRAMES).n_frames;
}

static __attribute__((noinline)) void
sample(void)
{
    uint64_t t, bucket;
    int n;

    left = every - 1;
    if (!is_ready || is_inside)
        return;
    is_inside = true;
    if (cache == NULL) {
        cache = alqi_plat_pages_map(alqi_stack_cache_bytes(FRAMES));
        alqi_stack_cache_init(cache, FRAMES);
    }
    t = ticks();
    n = capture_once();
    t = ticks() - t;
    t = t > ticks_read ? t - ticks_read : 0;
    bucket = t / 8;
    histogram[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    ticks_sum += t;
    n_captures++;
    n_frames += (uint64_t)n;
    is_inside = false;
}

void *
malloc(size_t bytes)
{
    if (__builtin_expect(--left < 0, 0))
        sample();
    return __libc_malloc(bytes);
}

static double
clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

__attribute__((constructor)) static void
begin(void)
{
    const char *method = getenv("STACK_METHOD");
    const char *n = getenv("STACK_EVERY");
    uint64_t t, best = UINT64_MAX, start = ticks();
    double ns = clock_ns();

    every = n != NULL ? atol(n) : 1000;
    if (method != NULL && strcmp(method, "unw") == 0) {
        void *u = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

        unwind_backtrace = (int (*)(void **, int))dlsym(u, "unw_backtrace");
    }
    is_walk = method != NULL && strcmp(method, "walk") == 0;
    for (int i = 0; i < CLOCK_ROUNDS; i++) {
        t = ticks();
        t = ticks() - t;
        if (t < best)
            best = t;
    }
    ticks_read = best;
    ns_per_tick = (clock_ns() - ns) / (double)(ticks() - start);
    is_ready = true;
}

__attribute__((destructor)) static void
end(void)
{
    uint64_t seen = 0;
    uint32_t b = 0;

    is_ready = false;
    while (b < BUCKETS - 1 && (seen += histogram[b]) * 2 < n_captures)
        b++;
    if (n_captures != 0)
        dprintf(
            2, "captures %lu mean_ns %.1f median_ns %.1f frames %.1f\n",
            n_captures, (double)ticks_sum * ns_per_tick / (double)n_captures,
            (8.0 * b + 4) * ns_per_tick, (double)n_frames / (double)n_captures);
}
