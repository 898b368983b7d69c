/* ends.c -- a program that ends in each way
 *
 * ends HOW [THREADS]: it holds one block of 1000 bytes and loses one of 2000;
 * its library frees one of 3000 in a destructor (late.c), which only exit
 * runs.  HOW left: its first thread ends, and another one says "ready" and
 * waits for standard input to end. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

extern void *late_block;
extern const char *late_how;

void *volatile ends_held;
static volatile uintptr_t hidden;
static pthread_barrier_t barrier;

static NOINLINE void
lose(void)
{
    hidden = ~(uintptr_t)malloc(2000);
}

/* As far down as the profiler comes: the stack of a first thread that has ended
 * is looked through whole.  No call: the linker would keep registers below. */
static NOINLINE void
wipe_stack(void)
{
    volatile char room[256 << 10];

    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
}

static void *
thread_run(void *unused)
{
    void *volatile own = malloc(100);

    (void)unused;
    wipe_stack();
    pthread_barrier_wait(&barrier);
    for (;;)
        pause();
    return own;
}

/* Children that share the memory, or have a copy. */
static void
children(void)
{
    if (vfork() == 0)
        _exit(0);
    wait(NULL);
    if (fork() == 0)
        _exit(0);
    wait(NULL);
}

/* The first thread has ended before the others, which wait for input. */
static void *
left_run(void *first)
{
    char byte;

    pthread_join(*(pthread_t *)first, NULL);
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        continue;
    exit(7);
}

static void
leave(void)
{
    static pthread_t first, other;

    first = pthread_self();
    pthread_create(&other, NULL, left_run, &first);
    pthread_exit(NULL);
}

int
main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 0;
    const char *how = late_how = argc > 1 ? argv[1] : "";

    ends_held = malloc(1000);
    late_block = malloc(3000);
    lose();
    wipe_stack();
    hidden = 0;
    pthread_barrier_init(&barrier, NULL, (unsigned)n + 1);
    for (int i = 0; i < n; i++) {
        pthread_t thread;

        pthread_create(&thread, NULL, thread_run, NULL);
    }
    pthread_barrier_wait(&barrier);
    children();
    if (strcmp(how, "_exit") == 0)
        _exit(7);
    if (strcmp(how, "quick") == 0)
        quick_exit(7);
    if (strcmp(how, "left") == 0)
        leave();
    if (strcmp(how, "signal") == 0)
        raise(SIGTERM);
    return 7;
}
