/* hander.c -- threads that hand their blocks to one another, for a while
 *
 *   hander THREADS MILLISECONDS
 *
 * Each thread makes blocks, some larger by realloc, and puts them into places
 * that all share; what was there before it frees. Then it sleeps a little: what
 * counts is how long it goes on. Now and then one loads a module and has it
 * allocate, so that modules come and go meanwhile. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PLACES = 512, LOADED_EVERY = 1024, TURN = 64, DEEP = 24 };

static void *_Atomic places[PLACES];
static uint64_t end_ns;

static uint64_t
now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t
next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Blocks of many stacks. */
__attribute__((noinline)) static void *
make(uint64_t r, unsigned depth)
{
    void *p = depth > 0 ? make(r, depth - 1) : malloc(r % 900 + 1);

    __asm__ volatile("" : "+r"(p));
    return p;
}

static void
module_use(void)
{
    void *module = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    void *(*open)(const char *, const char *);
    int (*close)(void *);

    if (module == NULL)
        return;
    *(void **)&open = dlsym(module, "gzopen");
    *(void **)&close = dlsym(module, "gzclose");
    if (open != NULL && close != NULL)
        close(open("/dev/null", "rb"));
    dlclose(module);
}

static void *
hand(void *arg)
{
    uint64_t state = (uint64_t)(uintptr_t)arg * 0x9e3779b97f4a7c15 + 1;

    for (uint64_t n = 0; n % TURN != 0 || now_ns() < end_ns; n++) {
        uint64_t r = next(&state);
        void *p = make(r, r >> 32 & (DEEP - 1));

        if (r >> 60 == 0)
            p = realloc(p, r % 5000 + 1);
        free(atomic_exchange(&places[r >> 40 & (PLACES - 1)], p));
        if (n % LOADED_EVERY == 0)
            module_use();
        if (n % TURN == 0)
            nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return NULL;
}

int
main(int argc, char **argv)
{
    long n = argc > 2 ? atol(argv[1]) : 1;
    pthread_t threads[64];

    end_ns = now_ns() + (argc > 2 ? strtoull(argv[2], NULL, 10) : 1000) *
                            UINT64_C(1000000);
    for (long i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, hand, (void *)(i + 1));
    for (long i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
