/* random stores of fresh objects into old ones.  args OLD STORES */
#include "shim.h"
typedef struct old {
    void *p, *q;
    word k;
} old;
typedef struct box {
    word v, w;
} box;
typedef struct seg {
    old *s[512];
} seg;
static long nold, nst;
static int
work(cx *c, void *arg)
{
    (void)arg;
    uint64_t seed = 99;
    long nseg = (nold + 511) / 512;
    FRAME(c, 2);
    R(0) = R(1) = NULL;
    void **tab = ALLOC(c, (size_t)nseg, 0);
    for (long i = 0; i < nseg; i++)
        tab[i] = NULL;
    R(0) = tab;
    for (long i = 0; i < nseg; i++) {
        seg *s = NEW(c, seg, 512);
        for (int k = 0; k < 512; k++)
            s->s[k] = NULL;
        STORE(c, R(0), (size_t)(nseg) * sizeof(word), (void **)R(0) + i, s);
        for (int k = 0; k < 512; k++) {
            old *o = NEW(c, old, 2);
            o->p = o->q = NULL;
            o->k = TAG(i * 512 + k);
            s = ((seg **)R(0))[i];
            STORE(c, s, sizeof *s, &s->s[k], o);
        }
    }
    uint64_t t0 = now_ns();
    word sum = 0;
    for (long i = 0; i < nst; i++) {
        box *b = ALLOC_LEAF(c, 2 * sizeof(word));
        b->v = (word)i;
        b->w = 0;
        long k = (long)(rnd(&seed) % (uint64_t)nold);
        old *o = ((seg **)R(0))[k / 512]->s[k % 512];
        if (o->p) {
            sum += ((box *)o->p)->v;
            DROP(o->p);
        }
        STORE(c, o, sizeof *o, &o->p, b);
    }
    LEAVE(c);
    printf("sum %llu\nsec %.3f\n", (unsigned long long)sum,
           (double)(now_ns() - t0) / 1e9);
    return 0;
}
int
main(int argc, char **argv)
{
    nold = arg_l(argc, argv, 1, 1000000);
    nst = arg_l(argc, argv, 2, 20000000);
    return run_with_heap(work, NULL);
}
