/* layout_lib.c -- two frames of a library, and words that need relocation */
#include <stdlib.h>

void *layout_outer(size_t bytes);
extern void *const layout_words[];

static __attribute__((noinline)) void *
inner(size_t bytes)
{
    char *volatile p = malloc(bytes);

    return p;
}

void *const layout_words[] = {(void *)inner, (void *)layout_outer,
                              (void *)layout_words};

void *
layout_outer(size_t bytes)
{
    void *volatile p = inner(bytes);

    return p;
}
