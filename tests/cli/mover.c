/* mover.c -- a program that reallocates, maps, and names its threads
 *
 *   mover CASE
 *
 * Each case does what its function's comment says, and nothing else of size. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline))

enum { DOUBLINGS = 11, STEPS = 50, PAGE = 4096 };

static void *volatile kept;

static void
wait_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

/* 100 bytes, doubled eleven times, never freed; a realloc that fails. */
KEPT static void
doubled(void)
{
    char *p = malloc(100);

    for (int i = 1; i <= DOUBLINGS; i++)
        p = realloc(p, (size_t)100 << i);
    kept = realloc(p, (size_t)1 << 60);
    if (kept == NULL)
        kept = p;
}

/* From 1000 bytes to 51000 in steps, in no time; 30 ms later it is freed. */
KEPT static void
stepped(void)
{
    char *p = malloc(1000);

    for (size_t i = 1; i <= STEPS; i++)
        p = realloc(p, 1000 + 1000 * i);
    wait_ms(30);
    free(p);
}

/* A block of one thread that another one reallocates. */
static void *
handed_over(void *arg)
{
    kept = realloc(arg, 70000);
    return NULL;
}

static void
across(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, handed_over, malloc(7));
    pthread_join(thread, NULL);
}

/* 400,000 blocks of 16 bytes that become ones of 48, one after the other. */
KEPT static void
small(void)
{
    for (int i = 0; i < 400000; i++) {
        kept = malloc(16);
        kept = realloc(kept, 48);
        free(kept);
    }
}

/* Blocks grow, and others come and go between. */
KEPT static void
many(void)
{
    static char *blocks[1000];

    for (size_t round = 1; round <= 20; round++)
        for (size_t i = 0; i < 1000; i++) {
            blocks[i] = realloc(blocks[i], 64 * round);
            free(malloc(40));
        }
    kept = blocks[0];
}

/* A mapping of 1 MiB that becomes one of 3 MiB, one that is unmapped, one that
 * another is mapped over, and a block of malloc. */
KEPT static void
mapped(void)
{
    enum { MIB = 1 << 20, PROT = PROT_READ | PROT_WRITE };
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char *grown = mmap(NULL, MIB, PROT, flags, -1, 0);
    char *gone = mmap(NULL, 2 * MIB, PROT, flags, -1, 0);
    char *over = mmap(NULL, 4 * MIB, PROT, flags, -1, 0);

    kept = mremap(grown, MIB, 3 * MIB, MREMAP_MAYMOVE);
    munmap(gone, 2 * MIB);
    kept = mmap(over, 4 * MIB, PROT, flags | MAP_FIXED, -1, 0);
    kept = malloc(5000);
    kept = malloc(1 << 20); /* the allocator maps it: not counted twice */
}

/* 48 MiB, touched a little at a time, then freed. */
static void
touched(void)
{
    enum { BLOCKS = 48, BYTES = 1 << 20 };
    static char *blocks[BLOCKS];

    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BYTES);
        memset(blocks[i], 1, BYTES);
        wait_ms(12);
    }
    wait_ms(110);
    kept = malloc(10);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    wait_ms(110);
    kept = malloc(10);
}

struct job {
    const char *name;
    size_t n_bytes;
    int n_blocks;
};

static void *
work(void *arg)
{
    const struct job *job = arg;

    prctl(PR_SET_NAME, job->name);
    for (int i = 0; i < job->n_blocks; i++)
        kept = malloc(job->n_bytes);
    return NULL;
}

/* A name that comes after the first block, and another one later. */
static void *
renamed(void *arg)
{
    kept = malloc(3000);
    prctl(PR_SET_NAME, "in between");
    wait_ms(120);
    kept = malloc(3000);
    prctl(PR_SET_NAME, "at last");
    return arg;
}

static void
threads(void)
{
    static const struct job jobs[] = {
        {"small", 1000, 10}, {"large", 50000, 20}, {"small", 1000, 30}};
    pthread_t thread;

    for (int i = 0; i < 3; i++) {
        pthread_create(&thread, NULL, work, (void *)&jobs[i]);
        pthread_join(thread, NULL);
    }
    pthread_create(&thread, NULL, renamed, NULL);
    pthread_join(thread, NULL);
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"doubled", doubled}, {"stepped", stepped}, {"across", across},
                 {"many", many},       {"touched", touched}, {"mapped", mapped},
                 {"threads", threads}, {"small", small}};

    for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    fprintf(stderr, "usage: mover CASE\n");
    return 2;
}
