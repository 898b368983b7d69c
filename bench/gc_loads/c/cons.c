/* allocation micro: N dead two-field cells; args N */
#include "shim.h"
typedef struct cons {
    word a;
    void *d;
} cons; /* d is never a heap pointer here */
static long n;

static int
work(cx *c, void *arg)
{
    cx own = *c; /* nobody else's: in registers */

    (void)arg;
    c = &own;
    uint64_t t0 = now_ns();
    for (long i = 0; i < n; i++) {
#ifdef CONS_LEAF
        cons *p = ALLOC_LEAF(c, 2 * sizeof(word));
#else
        cons *p = ALLOC(c, 2, 0);
#endif
        p->a = TAG(1);
        p->d = NULL;
        __asm__ volatile("" : : "m"(*p)); /* not optimised away */
        DROP(p);
    }
    uint64_t e = now_ns() - t0;
    printf("ns/alloc %.3f\n", (double)e / (double)n);
    return 0;
}
int
main(int argc, char **argv)
{
    n = arg_l(argc, argv, 1, 100000000);
    return run_with_heap(work, NULL);
}
