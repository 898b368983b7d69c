/* large live heap + steady churn: SLOTS chains of 1..8 cells; each request
   replaces 16 random chains and walks a 100-cell temporary list.
   args SLOTS REQUESTS */
#include "shim.h"
typedef struct cell {
    struct cell *next;
    word a, b, d;
} cell;
typedef struct seg {
    cell *s[512];
} seg; /* slot table in segments */
static long nslots, nreq;
static void
drop(cell *p)
{
#ifdef MANUAL
    while (p) {
        cell *q = p->next;
        DROP(p);
        p = q;
    }
#else
    (void)p;
#endif
}
static cell *
chain(cx *c, int n, word v)
{
    FRAME(c, 1);
    R(0) = NULL;
    for (int i = 0; i < n; i++) {
        cell *p = NEW(c, cell, 1);
        p->next = R(0);
        p->a = TAG(v);
        p->b = TAG(i);
        p->d = TAG(0);
        R(0) = p;
    }
    cell *p = R(0);
    LEAVE(c);
    return p;
}
static int
work(cx *c, void *arg)
{
    (void)arg;
    static struct hist h;
    uint64_t seed = 7;
    long nseg = (nslots + 511) / 512;
    FRAME(c, 1);
    R(0) = NULL;
    void **tab = ALLOC(c, (size_t)nseg, 0);
    for (long i = 0; i < nseg; i++)
        tab[i] = NULL;
    R(0) = tab;
    for (long i = 0; i < nseg; i++) {
        seg *s = NEW(c, seg, 512);
        for (int k = 0; k < 512; k++)
            s->s[k] = NULL;
        STORE(c, R(0), (size_t)(nseg) * sizeof(word), (void **)R(0) + i, s);
    }
#define SEG(i) ((seg *)((void **)R(0))[(i) / 512])
    for (long i = 0; i < nslots; i++) {
        cell *p = chain(c, 1 + (int)(rnd(&seed) & 7), (word)i);
        seg *s = SEG(i);
        STORE(c, s, sizeof *s, &s->s[i % 512], p);
    }
    uint64_t t0 = now_ns(), t = t0;
    word sum = 0;
    for (long q = 0; q < nreq; q++) {
        for (int k = 0; k < 16; k++) {
            long i = (long)(rnd(&seed) % (uint64_t)nslots);
            cell *p = chain(c, 1 + (int)(rnd(&seed) & 7), (word)i);
            seg *s = SEG(i);
            drop(s->s[i % 512]);
            STORE(c, s, sizeof *s, &s->s[i % 512], p);
        }
        cell *tmp = chain(c, 100, (word)q);
        for (cell *p = tmp; p; p = p->next)
            sum += UNTAG(p->b);
        drop(tmp);
        uint64_t e = now_ns();
        hist_add(&h, e - t);
        t = e;
    }
    LEAVE(c);
    printf("sum %llu\n", (unsigned long long)sum);
    hist_print("churn", &h);
    printf("sec %.3f\n", (double)(now_ns() - t0) / 1e9);
    return 0;
}
int
main(int argc, char **argv)
{
    nslots = arg_l(argc, argv, 1, 1000000);
    nreq = arg_l(argc, argv, 2, 400000);
    return run_with_heap(work, NULL);
}
