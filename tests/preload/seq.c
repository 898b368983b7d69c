/* seq.c -- allocates 1, 2, ... 1000 bytes, over and over, for SECONDS */
#include <stdlib.h>
#include <time.h>

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int
main(int argc, char **argv)
{
    const struct timespec a_while = {.tv_nsec = 500000};
    double end = now() + (argc > 1 ? atof(argv[1]) : 1);

    do {
        for (size_t i = 1; i <= 1000; i++)
            free(malloc(i));
        nanosleep(&a_while, NULL);
    } while (now() < end);
    return 0;
}
