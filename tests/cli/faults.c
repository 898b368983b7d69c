/* faults.c -- preloaded: calls of the C library fail as without memory
 *
 * NO_FDOPEN: fdopen() fails always. LARGEST_BLOCK: no block of more bytes is
 * had. glibc's own calls of malloc come here, too, those of fdopen() do not. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t n_bytes);
void *__libc_realloc(void *block, size_t n_bytes);

static int
is_had(size_t n_bytes)
{
    const char *largest = getenv("LARGEST_BLOCK");

    if (largest == NULL || n_bytes <= strtoull(largest, NULL, 10))
        return 1;
    errno = ENOMEM;
    return 0;
}

void *
malloc(size_t n_bytes)
{
    return is_had(n_bytes) ? __libc_malloc(n_bytes) : NULL;
}

void *
realloc(void *block, size_t n_bytes)
{
    return is_had(n_bytes) ? __libc_realloc(block, n_bytes) : NULL;
}

/* glibc's own would not come here. The product cannot overflow: the command
 * asks for no such sizes. */
void *
reallocarray(void *block, size_t n, size_t each_bytes)
{
    return realloc(block, n * each_bytes);
}

FILE *
fdopen(int fd, const char *mode)
{
    static FILE *(*real)(int, const char *);

    if (getenv("NO_FDOPEN") != NULL) {
        errno = ENOMEM;
        return NULL;
    }
    if (real == NULL)
        real = (FILE * (*)(int, const char *)) dlsym(RTLD_NEXT, "fdopen");
    return real(fd, mode);
}
