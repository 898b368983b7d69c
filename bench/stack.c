/* stack.c -- ns per capture of a call stack, against two peers
 *
 * usage: stack [--tsv] [ROUNDS]
 *
 * The stack is made of four mutually calling functions chosen by a path of
 * 64, so that captures differ from one to the next; or ("recursion") of one
 * function that calls itself from two places, chosen at random, so that stacks
 * never come again.  What the calls alone
 * cost is measured in the same round and subtracted.  Medians of ROUNDS.
 *
 *   replay   alqi_stack_capture as it is used
 *   walk     the same with its cache forgotten before each capture
 *   layout   alqi_stack_layout_capture, as samples of a heap use it
 *   peers    unw_backtrace of libunwind, backtrace() of glibc
 *
 * --tsv prints rows: program metric ours peer peer_value ratio */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "stack/capture.h"
#include "stack/capture_layout.h"

enum { FRAMES = 256, ROUNDS = 15, N_METHODS = 6, N_OURS = 3 };

static struct alqi_stack_cache *cache;
static struct alqi_stack_layouts layouts;
static uintptr_t frames[FRAMES];
static int (*unwind_backtrace)(void **, int);
static int (*capture_by)(void);
static int n_seen;

static int
by_nothing(void)
{
    return 0;
}

static __attribute__((noinline)) int
by_replay(void)
{
    struct alqi_stack_regs here = alqi_stack_regs_here();

    return (int)alqi_stack_capture(cache, &here, 0, 0, FRAMES).n_frames;
}

static __attribute__((noinline)) int
by_walk(void)
{
    struct alqi_stack_regs here = alqi_stack_regs_here();

    cache->generation = 0; /* no rule was ever of this one */
    return (int)alqi_stack_capture(cache, &here, 0, 0, FRAMES).n_frames;
}

static __attribute__((noinline)) int
by_layout(void)
{
    struct alqi_stack_regs here = alqi_stack_regs_here();
    struct alqi_stack_frames f = alqi_stack_layout_capture(
        &layouts, cache, &here, 0, 0, ALQI_STACK_LAYOUT_FRAMES_MAX);

    if (f.pcs != NULL)
        return (int)f.n;
    /* as memprof does; decodes the rules that the layout lacked */
    return (int)alqi_stack_capture(cache, &here, 0, 0, FRAMES).n_frames;
}

static int
by_libunwind(void)
{
    return unwind_backtrace((void **)frames, FRAMES);
}

static int
by_glibc(void)
{
    return backtrace((void **)frames, FRAMES);
}

struct method {
    const char *name;
    int (*capture)(void);
    unsigned long share; /* of the iterations: slow ones make fewer */
};

static struct method methods[N_METHODS] = {{"none", by_nothing, 1},
                                           {"replay", by_replay, 1},
                                           {"walk", by_walk, 1},
                                           {"layout", by_layout, 1},
                                           {"unw_backtrace", by_libunwind, 1},
                                           {"backtrace()", by_glibc, 16}};

typedef int node(unsigned depth, uint64_t path);
static node node0, node1, node2, node3;
static node *const nodes[4] = {node0, node1, node2, node3};

#define NODE(name, bytes)                                                      \
    static __attribute__((noinline)) int name(unsigned depth, uint64_t path)   \
    {                                                                          \
        volatile char pad[bytes];                                              \
        int r;                                                                 \
                                                                               \
        pad[0] = (char)depth;                                                  \
        if (depth == 0)                                                        \
            return capture_by() + (pad[0] != 0);                               \
        r = nodes[(path >> (2 * (depth & 7))) & 3](depth - 1, path);           \
        __asm__ volatile("" : "+r"(r));                                        \
        return r;                                                              \
    }
NODE(node0, 16)
NODE(node1, 48)
NODE(node2, 80)
NODE(node3, 112)

/* Two call sites in one function: 2^depth stacks that lie alike. */
static __attribute__((noinline)) int
recurse(unsigned depth, uint64_t path)
{
    volatile char pad[32];
    int r;

    pad[0] = (char)depth;
    if (depth == 0)
        return capture_by() + (pad[0] != 0);
    if ((path >> (depth & 63) & 1) != 0)
        r = recurse(depth - 1, path);
    else
        r = recurse(depth - 1, path) + 1;
    __asm__ volatile("" : "+r"(r));
    return r;
}

static uint64_t
now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double
round_ns(const struct method *m, node *first, unsigned depth, unsigned long n)
{
    uint64_t x = 88172645463325252u, start;

    capture_by = m->capture;
    n /= m->share;
    start = now_ns();
    for (unsigned long i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        n_seen = first(depth, first == recurse ? x : x & 0x333);
    }
    return (double)(now_ns() - start) / (double)n;
}

static int
by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void
measure(const char *name, node *first, unsigned depth, unsigned rounds,
        bool is_tsv)
{
    double ns[N_METHODS][256], median[N_METHODS];
    int seen[N_METHODS];

    for (unsigned k = 0; k < rounds; k++) {
        for (unsigned m = 0; m < N_METHODS; m++) {
            ns[m][k] = round_ns(&methods[m], first, depth, 20000);
            seen[m] = n_seen;
        }
        for (unsigned m = N_METHODS; m-- > 0;)
            ns[m][k] -= ns[0][k];
    }
    for (unsigned m = 1; m < N_METHODS; m++) {
        qsort(ns[m], rounds, sizeof ns[m][0], by_value);
        median[m] = ns[m][rounds / 2];
        if (!is_tsv)
            printf("%s%-2u  %-14s %8.1f ns  %3d frames  %6.2f ns a frame\n",
                   name, depth, methods[m].name, median[m], seen[m],
                   median[m] / seen[m]);
    }
    for (unsigned ours = 1; is_tsv && ours <= N_OURS; ours++)
        for (unsigned m = N_OURS + 1; m < N_METHODS; m++)
            printf("%s%u\t%s_ns\t%.1f\t%s\t%.1f\t%.4f\n", name, depth,
                   methods[ours].name, median[ours], methods[m].name, median[m],
                   median[ours] / median[m]);
}

int
main(int argc, char **argv)
{
    bool is_tsv = argc > 1 && strcmp(argv[1], "--tsv") == 0;
    unsigned rounds = ROUNDS;
    void *unwind = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

    if (argc > 1 + is_tsv)
        rounds = (unsigned)atoi(argv[1 + is_tsv]);
    if (rounds < 1 || rounds > 255)
        return fprintf(stderr, "stack: rounds are 1 to 255\n"), 2;
    if (unwind != NULL)
        unwind_backtrace =
            (int (*)(void **, int))dlsym(unwind, "unw_backtrace");
    if (unwind_backtrace == NULL)
        return fprintf(stderr, "stack: no libunwind.so.8 to compare with\n"), 1;
    cache = malloc(alqi_stack_cache_bytes(FRAMES));
    if (cache == NULL)
        return 1;
    alqi_stack_cache_init(cache, FRAMES);
    if (is_tsv)
        printf("program\tmetric\tours\tpeer\tpeer_value\tratio\n");
    measure("depth", node0, 15, rounds, is_tsv); /* about 20 frames */
    measure("depth", node0, 55, rounds, is_tsv);
    measure("recursion", recurse, 15, rounds, is_tsv);
    measure("recursion", recurse, 40, rounds, is_tsv);
    return 0;
}
