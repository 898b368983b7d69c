/* seq.c -- allocates 1, 2, ... 1000 bytes, over and over, until ./stop is there
 *
 * Slowly, and the slower the more there is to read: the recording grows by an
 * amount that does not depend on its size while a reader goes through it.  At
 * a constant pace, a reader that is slower than this has twice as much to read
 * each time. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int
main(void)
{
    unsigned long rounds = 0;

    do {
        unsigned long ms = 10 + rounds++ / 10;
        const struct timespec a_while = {ms / 1000, ms % 1000 * 1000000};

        for (size_t i = 1; i <= 1000; i++)
            free(malloc(i));
        nanosleep(&a_while, NULL);
    } while (access("stop", F_OK) != 0);
    return 0;
}
