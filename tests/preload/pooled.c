/* pooled.c -- blocks of pools whose number and bytes are known
 *
 *   pooled N   N blocks of 100 bytes into the pool "first", of which a third is
 *              freed, by a thread that has allocated nothing; all of 200 bytes
 *              into "second", which is reset; chunks come from malloc and mmap
 *              and go back; threads share a pool; a forked child goes on with
 *              it
 *
 * Prints "yes" if the recorder is there. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <aliquot/pool.h>

enum { THREADS = 4 };

static struct alq_pool first = ALQ_POOL("first");
static struct alq_pool second = ALQ_POOL("second");
static struct alq_pool shared = ALQ_POOL("shared");
static struct alq_pool child = ALQ_POOL("child");

static size_t n;

__attribute__((noinline)) static void
take(struct alq_pool *pool, char *chunk, size_t bytes)
{
    for (size_t i = 0; i < n; i++)
        alq_pool_allocated(pool, chunk + i * bytes, bytes);
}

__attribute__((noinline)) static char *
chunk_take(size_t bytes)
{
    char *p;

    alq_pool_chunk_begin();
    alq_pool_chunk_begin();
    p = malloc(bytes / 2);
    p = realloc(p, bytes);
    alq_pool_chunk_end();
    alq_pool_chunk_end();
    return p;
}

__attribute__((noinline)) static void
chunk_give(char *chunk)
{
    alq_pool_chunk_begin();
    free(chunk);
    alq_pool_chunk_end();
}

static void *
free_third(void *chunk)
{
    for (size_t i = 0; i < n; i += 3)
        alq_pool_freed(&first, (char *)chunk + i * 100);
    return NULL;
}

static void *
run(void *chunk)
{
    take(&shared, chunk, 50);
    for (size_t i = 0; i < n; i++)
        alq_pool_freed(&shared, (char *)chunk + i * 50);
    take(&shared, chunk, 50);
    return NULL;
}

static void
threads(void)
{
    pthread_t thread[THREADS];
    char *chunk[THREADS];

    for (int i = 0; i < THREADS; i++) {
        chunk[i] = chunk_take(n * 50);
        pthread_create(&thread[i], NULL, run, chunk[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    alq_pool_reset(&shared);
    for (int i = 0; i < THREADS; i++)
        chunk_give(chunk[i]);
}

static void
mapped(void)
{
    char *chunk;

    alq_pool_chunk_begin();
    chunk = mmap(NULL, n * 200, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    alq_pool_chunk_end();
    take(&second, chunk, 200);
    alq_pool_reset(&second);
    take(&second, chunk, 200); /* the same places */
    alq_pool_allocated(&second, NULL, 200);
    alq_pool_reset(&second);
    alq_pool_reset(&second);
    alq_pool_chunk_begin();
    munmap(chunk, n * 200);
    alq_pool_chunk_end();
}

/* The parent's blocks go, and there are new ones. */
static void
forked(char *chunk)
{
    pid_t pid = fork();

    if (pid == 0) {
        alq_pool_reset(&first);
        take(&child, chunk, 100);
        exit(0);
    }
    waitpid(pid, NULL, 0);
}

int
main(int argc, char **argv)
{
    pthread_t thread;
    char *chunk;

    n = argc > 1 ? (size_t)atol(argv[1]) : 1000;
    printf("%s\n", alq_pool_recorder() != NULL ? "yes" : "no");
    fflush(stdout);
    chunk = chunk_take(n * 100);
    take(&first, chunk, 100);
    pthread_create(&thread, NULL, free_third, chunk);
    pthread_join(thread, NULL);
    mapped();
    threads();
    forked(chunk);
    return 0; /* two thirds of `first` stay */
}
