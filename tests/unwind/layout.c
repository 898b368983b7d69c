/* layout.c -- a program of one request, made from a library */
#include <stdlib.h>

enum { LAYOUT_BYTES = 424242 };

extern void *layout_outer(size_t bytes);

static __attribute__((noinline)) void *
step(size_t bytes)
{
    void *volatile p = layout_outer(bytes);

    return p;
}

static void *(*const steps[])(size_t) = {step, layout_outer};

int
main(int argc, char **argv)
{
    (void)argv;
    return steps[argc > 8](LAYOUT_BYTES) == NULL;
}
