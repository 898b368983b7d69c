/* churn.c -- threads that allocate, reallocate and free, and know every figure
 *
 * usage: churn THREADS ROUNDS SEED
 * Blocks are handed from thread to thread and freed by any of them.  Prints
 * what a recording must say: blocks and bytes allocated, blocks and bytes live
 * at the end, reallocations.  What it uses itself it has from mmap. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SHELF = 4096, THREADS_MAX = 64 };

struct held {
    void *block;
    size_t size;
};

struct figures {
    uint64_t blocks, bytes, live_blocks, live_bytes, moves;
};

/* A slot is taken and filled by exchanging its pointer to a held. */
static _Atomic(struct held *) shelf[SHELF];

struct worker {
    pthread_t thread;
    uint64_t state;
    unsigned rounds;
    struct figures f;
    struct held *pool;
    unsigned n_pool;
};

static uint64_t
next(struct worker *w)
{
    uint64_t x = w->state += 0x9E3779B97F4A7C15u;

    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static size_t
size_random(struct worker *w)
{
    uint64_t r = next(w);

    return r % 64 == 0 ? (r >> 32) % 100000 : 1 + (r >> 32) % 400;
}

__attribute__((noinline)) static void *
make_block(struct worker *w, size_t size)
{
    void *p = next(w) % 4 == 0 ? calloc(1, size) : malloc(size);

    w->f.blocks++;
    w->f.bytes += size;
    w->f.live_blocks++;
    w->f.live_bytes += size;
    return p;
}

__attribute__((noinline)) static void
grow_block(struct worker *w, struct held *h)
{
    size_t size = size_random(w);

    h->block = realloc(h->block, size);
    w->f.blocks++;
    w->f.bytes += size;
    w->f.live_bytes += size - h->size;
    w->f.moves++;
    h->size = size;
}

__attribute__((noinline)) static void
drop_block(struct worker *w, struct held *h)
{
    free(h->block);
    w->f.live_blocks--;
    w->f.live_bytes -= h->size;
}

static void *
work(void *arg)
{
    struct worker *w = arg;

    for (unsigned i = 0; i < w->rounds; i++) {
        _Atomic(struct held *) *slot = &shelf[next(w) % SHELF];
        struct held *h = atomic_exchange(slot, NULL), *none = NULL;

        if (h == NULL) {
            h = &w->pool[w->n_pool++];
            h->size = size_random(w);
            h->block = make_block(w, h->size);
        } else if (next(w) % 3 == 0) {
            grow_block(w, h);
        } else {
            drop_block(w, h);
            continue;
        }
        if (!atomic_compare_exchange_strong(slot, &none, h))
            drop_block(w, h);
    }
    return NULL;
}

int
main(int argc, char **argv)
{
    static struct worker workers[THREADS_MAX];
    unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;
    uint64_t seed = argc > 3 ? (uint64_t)atoll(argv[3]) : 1;
    struct figures f = {0};

    if (n == 0 || n > THREADS_MAX)
        return 2;
    for (unsigned i = 0; i < n; i++) {
        struct worker *w = &workers[i];

        w->state = seed * 1000 + i;
        w->rounds = rounds;
        w->pool = mmap(NULL, rounds * sizeof *w->pool, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (w->pool == MAP_FAILED)
            return 1;
    }
    /* One thread: in main's own, as a program that never makes another. */
    for (unsigned i = 1; i < n; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    work(&workers[0]);
    for (unsigned i = 1; i < n; i++)
        pthread_join(workers[i].thread, NULL);
    for (unsigned i = 0; i < n; i++) {
        f.blocks += workers[i].f.blocks;
        f.bytes += workers[i].f.bytes;
        f.live_blocks += workers[i].f.live_blocks;
        f.live_bytes += workers[i].f.live_bytes;
        f.moves += workers[i].f.moves;
    }
    dprintf(1, "%llu %llu %llu %llu %llu\n", (unsigned long long)f.blocks,
            (unsigned long long)f.bytes, (unsigned long long)f.live_blocks,
            (unsigned long long)f.live_bytes, (unsigned long long)f.moves);
    return 0;
}
