/* born.c -- blocks of before main: what the constructors of linked libraries
 * and the functions of .preinit_array allocate
 *
 *   born                prints blocks and bytes that born_block made
 *   born environment    how many variables of the profiler are left
 *   born ended          and what a thread allocates in its last destructors
 *   born handler        and what a signal's handler allocates, at any moment:
 * for an allocator that allows that (safe_malloc.c)
 *
 * LIBRARY: the library that it links, whose constructor runs before that of a
 * library that is preloaded, and with -z initfirst before the C library's. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

extern unsigned long born_blocks, born_bytes;
void *born_block(size_t size);
void born_some(void);

#ifdef LIBRARY

unsigned long born_blocks, born_bytes;
static void *kept[8];

void *
born_block(size_t size)
{
    born_blocks++;
    born_bytes += size;
    return malloc(size);
}

void
born_some(void)
{
    for (unsigned i = 0; i < 8; i++) {
        free(kept[i]);
        kept[i] = born_block(1000 + i);
    }
}

static void *
born_thread(void *arg)
{
    born_some();
    return arg;
}

__attribute__((constructor)) static void
construct(void)
{
    pthread_t thread;

    born_some();
    if (pthread_create(&thread, NULL, born_thread, NULL) == 0)
        pthread_join(thread, NULL);
}

__attribute__((destructor)) static void
destroy(void)
{
    born_some();
}

#else

static void
born_first(void)
{
    born_some();
}

__attribute__((section(".preinit_array"),
               used)) static void (*const first[])(void) = {born_first};

static int
of_profiler(void)
{
    int n = 0;

    for (char **at = environ; *at != NULL; at++)
        n += strncmp(*at, "ALIQUOT=", 8) == 0 ||
             strncmp(*at, "LD_PRELOAD=", 11) == 0;
    return n;
}

static pthread_key_t key;

/* As often as the system runs destructors: the profiler's is not the last. */
static void
on_end(void *arg)
{
    free(born_block(77));
    pthread_setspecific(key, arg);
}

static void *
end_late(void *arg)
{
    pthread_setspecific(key, arg);
    return NULL;
}

static void
thread_run(void)
{
    pthread_t thread;

    if (pthread_key_create(&key, on_end) == 0 &&
        pthread_create(&thread, NULL, end_late, &key) == 0)
        pthread_join(thread, NULL);
}

static unsigned long n_ticks;

void *born_block_of_handler(void);

void *
born_block_of_handler(void)
{
    n_ticks++;
    return malloc(55);
}

static void
on_tick(int signal)
{
    (void)signal;
    free(born_block_of_handler());
}

static void
tick(void)
{
    struct itimerval every = {{0, 100}, {0, 100}};
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < 300000; i++)
        free(born_block(100));
    every.it_value.tv_usec = 0;
    setitimer(ITIMER_REAL, &every, NULL);
    born_blocks += n_ticks;
    born_bytes += 55 * n_ticks;
}

int
main(int argc, char **argv)
{
    born_some();
    if (argc > 1 && strcmp(argv[1], "environment") == 0) {
        printf("%d\n", of_profiler());
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "ended") == 0)
        thread_run();
    else if (argc > 1)
        tick();
    /* The destructor's are to come. */
    printf("%lu %lu\n", born_blocks + 8, born_bytes + 8 * 1000 + 28);
    return 0;
}

#endif
