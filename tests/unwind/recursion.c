/* recursion.c -- a recursion of many frames that allocates on its way down
 *
 * usage: recursion heap|malloc|preload DEPTH EVERY
 *
 * At every EVERY-th level, and at each of the last LAST, a block is allocated:
 * on a managed heap, of malloc, or of malloc under a profile (preload).  Where
 * it profiles itself, at rate 1, it prints
 *
 *   N blocks, N samples, from N to N frames
 *
 * and else the blocks.  A level has one frame. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <aliquot/aliquot.h>

enum { LAST = 20 };
#define STACK_BYTES ((size_t)1 << 30)

static struct alq_domain *domain;
static unsigned long depth, every, n_blocks, n_samples;
static size_t least = SIZE_MAX, most;

static int
on_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    (void)arg;
    (void)data;
    n_samples++;
    if (a->callstack.n_frames < least)
        least = a->callstack.n_frames;
    if (a->callstack.n_frames > most)
        most = a->callstack.n_frames;
    return ALQ_TRACK_DROP;
}

static void
allocate(void)
{
    void *volatile block;

    n_blocks++;
    if (domain != NULL) {
        if (alq_alloc_small(domain, 3, 0) == ALQ_NULL)
            abort();
        return;
    }
    block = malloc(40);
    free(block);
}

static __attribute__((noinline)) unsigned long
descend(unsigned long level)
{
    unsigned long below = 0;

    if (level % every == 0 || depth - level < LAST)
        allocate();
    if (level < depth)
        below = descend(level + 1);
    __asm__ volatile("" : "+r"(below)); /* no loop of it */
    return below + 1;
}

static void *
run(void *mode)
{
    struct alq_memprof_config config = ALQ_MEMPROF_CONFIG_DEFAULT;
    const struct alq_tracker tracker = {.alloc_minor = on_alloc,
                                        .alloc_major = on_alloc};
    struct alq_profile *profile = NULL;

    config.rate = 1;
    if (strcmp(mode, "heap") == 0 && alq_domain_new(NULL, &domain) != ALQ_OK)
        abort();
    if (strcmp(mode, "malloc") != 0 &&
        alq_memprof_start(domain, &config, &tracker, &profile) != ALQ_OK)
        abort();
    if (descend(1) != depth)
        abort();
    if (profile != NULL && alq_profile_stop(profile) != ALQ_OK)
        abort();
    if (domain != NULL)
        alq_domain_drop(domain);
    return profile;
}

int
main(int argc, char **argv)
{
    pthread_attr_t attr;
    pthread_t thread;
    void *profile;

    if (argc != 4)
        return 2;
    depth = strtoul(argv[2], NULL, 10);
    every = strtoul(argv[3], NULL, 10);
    if (pthread_attr_init(&attr) != 0 ||
        pthread_attr_setstacksize(&attr, STACK_BYTES) != 0 ||
        pthread_create(&thread, &attr, run, argv[1]) != 0 ||
        pthread_join(thread, &profile) != 0)
        return 1;
    if (profile == NULL)
        printf("%lu blocks\n", n_blocks);
    else
        printf("%lu blocks, %lu samples, from %zu to %zu frames\n", n_blocks,
               n_samples, least, most);
    return 0;
}
