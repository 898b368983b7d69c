/* live: N blocks of two fields that live and are tracked; args N CYCLES
 *
 * Prints the resident KiB when they are all there, and the longest pause and
 * the time of CYCLES major cycles. */
#include "shim.h"
#include <aliquot/observe.h>

static long n, cycles;

static long
resident_kib(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long all = 0, pages = 0;

    if (f == NULL || fscanf(f, "%ld %ld", &all, &pages) != 2)
        exit(1);
    fclose(f);
    return pages * 4;
}

static int
work(cx *c, void *arg)
{
    struct alq_pauses pauses;
    uint64_t start;

    (void)arg;
    FRAME(c, 1);
    R(0) = ALLOC(c, (size_t)n, 0);
    for (long i = 0; i < n; i++) {
        word *p = ALLOC(c, 2, 0);

        p[0] = p[1] = TAG(1);
        STORE(c, R(0), (size_t)n * 8, (word *)R(0) + i, p);
    }
    alq_gc_full_major(c->d);
    printf("resident KiB %ld\n", resident_kib());
    alq_pauses_reset(c->d);
    start = now_ns();
    for (long i = 0; i < cycles; i++)
        alq_gc_major(c->d);
    printf("cycle ns %.0f\n", (double)(now_ns() - start) / (double)cycles);
    alq_pauses_get(c->d, &pauses);
    printf("longest ns %llu\n", (unsigned long long)pauses.max_ns);
    LEAVE(c);
    return 0;
}

int
main(int argc, char **argv)
{
    n = arg_l(argc, argv, 1, 1000000);
    cycles = arg_l(argc, argv, 2, 10);
    return run_with_heap(work, NULL);
}
