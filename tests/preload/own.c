/* own.c -- a program with an allocator of its own, under a prefix or none
 *
 *   PREFIX   what its functions begin with: own_, je_, or nothing
 *   REFUSED  free begins with a call, which cannot be moved
 *   LOOPED   free begins with a loop, whose first instruction a jump would hide
 *
 * Its functions call each other, as those of real ones do; the program makes
 * 1000 blocks in each way and frees half of them.  Threads that have allocated
 * nothing reallocate and free. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define F(name) JOIN(PREFIX, name)
#define FUNCTION __attribute__((noinline, visibility("default")))

enum { N = 1000, HEADER = 16, THREADS = 3 };

void *F(malloc)(size_t n);
void F(free)(void *p);
void *F(calloc)(size_t n, size_t size);
void *F(realloc)(void *p, size_t n);
void *F(memalign)(size_t align, size_t n);
int F(posix_memalign)(void **out, size_t align, size_t n);

static char *at;
static size_t left;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned n_freed; /* atomic */

FUNCTION void *
F(memalign)(size_t align, size_t n)
{
    size_t whole = n + HEADER + align;
    uintptr_t p;

    pthread_mutex_lock(&lock);
    if (left < whole) {
        left = (size_t)1 << 26;
        at = mmap(NULL, left, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    p = ((uintptr_t)at + HEADER + align - 1) & ~(uintptr_t)(align - 1);
    memcpy((void *)(p - HEADER), &n, sizeof n);
    at += whole;
    left -= whole;
    pthread_mutex_unlock(&lock);
    return (void *)p;
}

FUNCTION void *
F(malloc)(size_t n)
{
    return F(memalign)(16, n);
}

__attribute__((noinline)) static void
count(void)
{
    __atomic_fetch_add(&n_freed, 1, __ATOMIC_RELAXED);
    __asm__ volatile("");
}

FUNCTION void
F(free)(void *p)
{
#ifdef REFUSED
    __asm__ volatile("call 1f\n1: pop %%rax" : : : "rax", "memory");
#endif
#ifdef LOOPED
    __asm__ volatile("xor %%eax, %%eax\n1: inc %%eax\n"
                     "cmp $3, %%eax\njne 1b"
                     :
                     :
                     : "rax", "cc");
#endif
    if (p != NULL)
        count();
}

FUNCTION void *
F(calloc)(size_t n, size_t size)
{
    return memset(F(malloc)(n * size), 0, n * size);
}

FUNCTION void *
F(realloc)(void *p, size_t n)
{
    void *q;
    size_t old;

    if (p == NULL)
        return F(malloc)(n);
    memcpy(&old, (char *)p - HEADER, sizeof old);
    q = F(malloc)(n);
    memcpy(q, p, old < n ? old : n);
    F(free)(p);
    return q;
}

FUNCTION int
F(posix_memalign)(void **out, size_t align, size_t n)
{
    *out = F(memalign)(align, n);
    return 0;
}

/* ---- the program ----------------------------------------------------------
 */

static void *block[N];

__attribute__((noinline)) static void
by_malloc(void)
{
    for (int i = 0; i < N; i++)
        block[i] = F(malloc)(100);
}

__attribute__((noinline)) static void *
by_realloc(void *unused)
{
    for (int i = 0; i < N; i++)
        block[i] = F(realloc)(block[i], 200);
    return unused;
}

__attribute__((noinline)) static void
by_calloc(void)
{
    for (int i = 0; i < N; i++)
        block[i] = F(calloc)(3, 100);
}

__attribute__((noinline)) static void
by_memalign(void)
{
    for (int i = 0; i < N; i++) {
        F(free)(block[i]);
        F(posix_memalign)(&block[i], 64, 400);
    }
}

static void *
free_half(void *unused)
{
    for (int i = 0; i < N; i += 2)
        F(free)(block[i]);
    return unused;
}

static void *
run(void *unused)
{
    void *mine[N];

    for (int i = 0; i < N; i++)
        mine[i] = F(malloc)(50);
    for (int i = 0; i < N; i++)
        F(free)(mine[i]);
    return unused;
}

static void
in_thread(void *(*call)(void *))
{
    pthread_t thread;

    pthread_create(&thread, NULL, call, NULL);
    pthread_join(thread, NULL);
}

int
main(void)
{
    pthread_t thread[THREADS];

    by_malloc();
    in_thread(by_realloc); /* those of by_malloc are gone, these stay */
    by_calloc();
    by_memalign(); /* those of by_calloc are gone */
    in_thread(free_half);
    F(free)(NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, run, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    printf("%u\n", n_freed);
    return 0;
}
