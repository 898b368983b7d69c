/* early.c -- fork handlers that allocate and free, in a library whose
 * constructor runs before the profiler's: it stands behind the profiler in
 * LD_PRELOAD, and such lists are set up from the end. */
#include <pthread.h>
#include <stdlib.h>

static void *volatile kept[64];
static unsigned n_kept;

static void
churn(void)
{
    for (int i = 0; i < 20; i++) {
        unsigned k = n_kept++ % 64;

        free(kept[k]);
        kept[k] = malloc(100 + k);
    }
}

__attribute__((constructor)) static void
start(void)
{
    pthread_atfork(churn, churn, churn);
    churn();
}
