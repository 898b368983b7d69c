/* reuse.c -- one library under two names: the second takes the first's place */
#include <stdlib.h>

void *NAME(size_t n);

void *
NAME(size_t n)
{
    char *p = malloc(n);

    p[0] = 1;
    return p;
}
