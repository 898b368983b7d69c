/* binary trees: args DEPTH THREADS */
#include "shim.h"
typedef struct node {
    struct node *l, *r;
} node;
static node *
make(cx *c, int d)
{
    if (d == 0) {
        node *n = NEW(c, node, 2);
        n->l = n->r = NULL;
        return n;
    }
    FRAME(c, 2);
    R(0) = R(1) = NULL;
    R(0) = make(c, d - 1);
    R(1) = make(c, d - 1);
    node *n = NEW(c, node, 2);
    n->l = R(0);
    n->r = R(1);
    LEAVE(c);
    return n;
}
static long
check(node *n)
{
    return n->l ? 1 + check(n->l) + check(n->r) : 1;
}
static void
drop(node *n)
{
#ifdef MANUAL
    if (n->l) {
        drop(n->l);
        drop(n->r);
    }
    DROP(n);
#else
    (void)n;
#endif
}
static int maxd, nthreads;
static long sums[64];
static int
part(cx *c, void *arg)
{
    (void)arg;
    long s = 0;
    for (int d = 4; d <= maxd; d += 2) {
        long it = (1L << (maxd - d + 4)) / nthreads;
        for (long i = 0; i < it; i++) {
            node *t = make(c, d);
            s += check(t);
            drop(t);
        }
    }
    sums[c->tid] = s;
    return 0;
}
static int
work(cx *c, void *arg)
{
    (void)arg;
    node *s = make(c, maxd + 1);
    printf("stretch %ld\n", check(s));
    drop(s);
    FRAME(c, 1);
    R(0) = NULL;
    R(0) = make(c, maxd);
    pthread_t th[64];
    struct job j[64];
    for (int i = 1; i < nthreads; i++) {
        j[i] = (struct job){part, NULL, i};
        pthread_create(&th[i], NULL, run_thread, &j[i]);
    }
    part(c, NULL);
    for (int i = 1; i < nthreads; i++)
        join_blocking(c, th[i]);
    long t = 0;
    for (int i = 0; i < nthreads; i++)
        t += sums[i];
    printf("short %ld long %ld\n", t, check(R(0)));
    drop(R(0));
    LEAVE(c);
    return 0;
}
int
main(int argc, char **argv)
{
    maxd = (int)arg_l(argc, argv, 1, 18);
    nthreads = (int)arg_l(argc, argv, 2, 1);
    return run_with_heap(work, NULL);
}
