/* samples: blocks of two fields, dead at once, DEPTH calls deep; args N DEPTH
 *
 * At rate 1 each is a sample, so the difference to a run without a profile is
 * what N samples cost. */
#include "shim.h"

static long n, depth;

static __attribute__((noinline)) int
blocks(cx *c)
{
    for (long i = 0; i < n; i++) {
        word *p = ALLOC(c, 2, 0);

        p[0] = p[1] = TAG(1);
        __asm__ volatile("" : : "r"(p) : "memory");
    }
    return 0;
}

static __attribute__((noinline)) int
deeper(cx *c, long k)
{
    int status = k > 0 ? deeper(c, k - 1) : blocks(c);

    __asm__ volatile("" : "+r"(status)); /* no tail call */
    return status;
}

static int
work(cx *c, void *arg)
{
    (void)arg;
    return deeper(c, depth);
}

int
main(int argc, char **argv)
{
    n = arg_l(argc, argv, 1, 1000000);
    depth = arg_l(argc, argv, 2, 20);
    return run_with_heap(work, NULL);
}
