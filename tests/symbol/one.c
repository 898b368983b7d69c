/* A program for symbol_peer_test: nested inlining, static and cold parts. */
#include <stdio.h>
#include <stdlib.h>
#include "chain.h"

static __attribute__((noinline)) unsigned
not_inlined(unsigned x)
{
    if (x == 12345) {
        fprintf(stderr, "never\n");
        abort();
    }
    return chain_middle(x, 3) + 1;
}

static inline unsigned
top(unsigned x)
{
    unsigned a = chain_middle(x, 5);
    unsigned b = chain_middle(a, x & 3);

    return a ^ b ^ other_unit(b);
}

unsigned aliased(unsigned x);
__attribute__((noinline)) unsigned
aliased(unsigned x)
{
    return top(x) - not_inlined(x);
}
unsigned _aliased_too(unsigned x) __attribute__((alias("aliased")));

static int
compare(const void *a, const void *b)
{
    const unsigned *x = a, *y = b;

    return chain_leaf(*x) < chain_leaf(*y) ? -1 : *x > *y;
}

int
main(int argc, char **argv)
{
    unsigned list[64];

    (void)argv;
    for (unsigned i = 0; i < 64; i++)
        list[i] = aliased(i + (unsigned)argc) + other_unit_twice(i);
    qsort(list, 64, sizeof list[0], compare);
    printf("%u\n", list[7]);
    return 0;
}
