/* engine.c -- what a sampled event costs in the engine alone
 *
 * One client at ratio 1, no stack, callbacks that do nothing: sampling and
 * indexing a block, finding and burying it again, and drawing a gap.  Prints
 * the median and the least of ROUNDS rounds; `live` blocks stay tracked
 * meanwhile.  --tsv: program, metric, nanoseconds. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memprof/engine.h"
#include "memprof/filter.h"

enum { ROUNDS = 41, BATCH = 2000, BLOCK_STRIDE = 528 };

static const struct alqi_stack_regs no_regs;

/* The engine is linked without a stack: no client here asks for one. */
struct alqi_stack_result
alqi_stack_capture(struct alqi_stack_cache *cache,
                   const struct alqi_stack_regs *start, uintptr_t skip_lo,
                   uintptr_t skip_hi, uint32_t max_frames)
{
    (void)cache;
    (void)start;
    (void)skip_lo;
    (void)skip_hi;
    (void)max_frames;
    abort();
}

static int
on_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    (void)arg;
    *data = a->n_samples;
    return ALQ_TRACK_KEEP;
}

static int
on_dealloc(void *arg, uintptr_t data)
{
    (void)arg;
    return data == 0 ? -1 : 0;
}

static double
now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int
by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void
report(bool tsv, const char *metric, uint64_t live, double *ns)
{
    qsort(ns, ROUNDS, sizeof ns[0], by_value);
    if (tsv)
        printf("engine\t%s, %" PRIu64 " live\t%.1f\n", metric, live,
               ns[ROUNDS / 2]);
    else
        printf("%-22s %8" PRIu64 " live  median %6.1f ns  least %6.1f ns\n",
               metric, live, ns[ROUNDS / 2], ns[0]);
}

/* Addresses as an allocator would give them, touched by nobody. */
static void *
block_at(uint64_t i)
{
    return (void *)(uintptr_t)(((uint64_t)1 << 40) + i * BLOCK_STRIDE);
}

static void
run(struct alqi_memprof_thread *t, bool tsv, uint64_t live)
{
    double sampled[ROUNDS], freed[ROUNDS], missed[ROUNDS], gap[ROUNDS];
    uint64_t sink = 0;

    for (uint64_t i = 0; i < live; i++)
        alqi_memprof_sampled(t, block_at(BATCH + i), 512, 0, &no_regs);
    for (unsigned r = 0; r < ROUNDS; r++) {
        double at = now_ns();

        for (uint64_t i = 0; i < BATCH; i++)
            sink += alqi_memprof_sampled(t, block_at(i * 7919 % BATCH), 512, 0,
                                         &no_regs);
        sampled[r] = (now_ns() - at) / BATCH;
        at = now_ns();
        for (uint64_t i = 0; i < BATCH; i++)
            sink += alqi_memprof_freeing(t, block_at(i));
        freed[r] = (now_ns() - at) / BATCH;
        at = now_ns();
        for (uint64_t i = 0; i < BATCH; i++)
            sink += alqi_memprof_freeing(t, block_at(i));
        missed[r] = (now_ns() - at) / BATCH;
        at = now_ns();
        for (uint64_t i = 0; i < BATCH; i++)
            sink += alqi_memprof_skip_words(t);
        gap[r] = (now_ns() - at) / BATCH;
    }
    report(tsv, "sampled", live, sampled);
    report(tsv, "freeing, tracked", live, freed);
    report(tsv, "freeing, false hit", live, missed);
    report(tsv, "gap", live, gap);
    for (uint64_t i = 0; i < live; i++)
        alqi_memprof_freeing(t, block_at(BATCH + i));
    if (sink == 0)
        puts("");
}

int
main(int argc, char **argv)
{
    static const struct alqi_memprof_subject subject;
    const struct alq_tracker tracker = {.alloc_major = on_alloc,
                                        .dealloc_major = on_dealloc};
    const struct alq_memprof_config config = {.rate = 1e-4, .seed = 1};
    static struct alqi_memprof_thread thread;
    struct alqi_memprof_domain *domain;
    struct alq_profile *profile;
    bool tsv = argc > 1 && strcmp(argv[1], "--tsv") == 0;

    domain = alqi_memprof_domain_new(&subject, NULL, NULL);
    if (domain == NULL)
        return 1;
    alqi_memprof_thread_init(&thread, domain, NULL, NULL, 1);
    if (alqi_memprof_start(domain, &thread, ALQI_MEMPROF_SLOT_USER, &config,
                           &tracker, &profile) != ALQ_OK)
        return 1;
    alqi_memprof_skip_words(&thread);
    run(&thread, tsv, 0);
    run(&thread, tsv, 3000);
    run(&thread, tsv, 300000);
    alqi_memprof_stop(domain, &thread, ALQI_MEMPROF_SLOT_USER);
    alqi_memprof_profile_drop(profile);
    alqi_memprof_thread_end(&thread);
    alqi_memprof_domain_end(domain);
    return 0;
}
