/* heap_held.c -- what it takes to find who holds the blocks of a trace
 *
 *   heap_held FILE   a snapshot, as bench/heapgraph_file makes it
 *
 * Prints the blocks that the trace has, the steps of their ways, processor
 * time, and the highest resident memory of the process. */
#include <stdio.h>
#include <sys/resource.h>

#include "cli/convert/heap_held.h"

int
main(int argc, char **argv)
{
    struct alqi_cli_reaches held;
    struct rusage usage;

    if (argc != 2 || !alqi_cli_heap_held(argv[1], &held))
        return 1;
    getrusage(RUSAGE_SELF, &usage);
    printf("%zu blocks of the trace, %u steps: %.2f s CPU, %ld MiB\n", held.n,
           (unsigned)held.n_steps,
           (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
           usage.ru_maxrss / 1024);
    alqi_cli_reaches_free(&held);
    return 0;
}
