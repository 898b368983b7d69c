/* hammer.c -- threads that allocate and free without end, with short rests
 *
 * usage: hammer THREADS.  Each keeps a ring of blocks that are on its stack
 * alone, and hands blocks to the next thread; all are held, at any moment.
 * Ends when its standard input does, with the number of blocks that were not
 * as they were left. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RING = 200, THREADS_MOST = 256, REST_EVERY = 64, REST_US = 2000 };

static pthread_barrier_t filled; /* all rings are; main() says so */
static void *_Atomic hands[THREADS_MOST];
static _Atomic(int) is_over;
static _Atomic(long) n_wrong;
static unsigned n_threads;

static void *
block_make(unsigned seed)
{
    size_t bytes = 16 + seed % 500;
    unsigned char *block = malloc(bytes);

    memset(block, (int)(bytes & 0x7F), bytes);
    return block;
}

/* The first and the last byte are what they were. */
static void
block_free(unsigned char *block)
{
    if (block == NULL)
        return;
    if (block[0] != block[15])
        atomic_fetch_add(&n_wrong, 1);
    free(block);
}

static void *
run(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg, x = me * 7919 + 1;
    void *ring[RING];

    for (unsigned i = 0; i < RING; i++)
        ring[i] = block_make(x + i);
    pthread_barrier_wait(&filled);
    for (unsigned n = 1; !atomic_load(&is_over); n++) {
        unsigned at;

        if (n % REST_EVERY == 0)
            usleep(REST_US);

        x = x * 1664525 + 1013904223;
        at = (x >> 16) % RING;
        block_free(ring[at]);
        ring[at] = block_make(x >> 8);
        if (at == 0)
            block_free(atomic_exchange(&hands[(me + 1) % n_threads],
                                       block_make(x >> 9)));
    }
    for (unsigned i = 0; i < RING; i++)
        block_free(ring[i]);
    return NULL;
}

int
main(int argc, char **argv)
{
    pthread_t threads[THREADS_MOST];
    char byte;

    n_threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    pthread_barrier_init(&filled, NULL, n_threads + 1);
    for (unsigned i = 0; i < n_threads; i++)
        pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i);
    pthread_barrier_wait(&filled);
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        continue;
    atomic_store(&is_over, 1);
    for (unsigned i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    printf("%ld wrong\n", atomic_load(&n_wrong));
    return atomic_load(&n_wrong) != 0;
}
