/* own_malloc.c -- a program that brings its own allocator */
#include <stddef.h>
#include <string.h>

static char arena[1 << 20];
static size_t used;

void *malloc(size_t n);
void free(void *p);
void *calloc(size_t n, size_t size);
void *realloc(void *p, size_t n);

void *
malloc(size_t n)
{
    void *p = arena + used + 16;

    memcpy((char *)p - 16, &n, sizeof n);
    used += (n + 31) & ~(size_t)15;
    return used < sizeof arena ? p : NULL;
}

void
free(void *p)
{
    (void)p;
}

void *
calloc(size_t n, size_t size)
{
    return malloc(n * size);
}

void *
realloc(void *p, size_t n)
{
    void *q = malloc(n);

    if (p != NULL && q != NULL) {
        size_t old;

        memcpy(&old, (char *)p - 16, sizeof old);
        memcpy(q, p, old < n ? old : n);
    }
    return q;
}

int
main(void)
{
    static void *volatile sink;

    for (int i = 0; i < 1000; i++)
        sink = malloc(100);
    return sink == NULL;
}
