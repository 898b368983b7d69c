/* plugin.c -- a module that is loaded after the attachment */
#include <stdlib.h>

void *plugin_allocate(size_t n);

__attribute__((noinline)) void *
plugin_allocate(size_t n)
{
    void *p = malloc(n);

    __asm__ volatile("" : "+r"(p));
    return p;
}
