/* seq.c -- allocates 1, 2, ... 1000 bytes, over and over, until ./stop is
 * there; slowly, so that a reader keeps up */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int
main(void)
{
    const struct timespec a_while = {.tv_nsec = 10000000};

    do {
        for (size_t i = 1; i <= 1000; i++)
            free(malloc(i));
        nanosleep(&a_while, NULL);
    } while (access("stop", F_OK) != 0);
    return 0;
}
