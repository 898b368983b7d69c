/* Ellis/Kovac/Boehm shape: long-lived tree + double array, then trees built
   top-down (stores into older objects) and bottom-up.  args DEPTH THREADS */
#include "shim.h"
typedef struct node {
    struct node *l, *r;
    int i, j;
} node;
static int maxd, nthreads;
static long
tree_size(int d)
{
    return (1L << (d + 1)) - 1;
}
static node *
leaf(cx *c)
{
    node *n = NEW(c, node, 2);
    n->l = n->r = NULL;
    n->i = n->j = 0;
    return n;
}
static void
populate(cx *c, int d, node *t)
{
    if (d <= 0)
        return;
    FRAME(c, 2);
    R(1) = NULL;
    R(0) = t;
    node *l = leaf(c);
    R(1) = l;
    node *r = leaf(c);
    t = R(0);
    STORE(c, t, sizeof *t, &t->l, R(1));
    STORE(c, t, sizeof *t, &t->r, r);
    populate(c, d - 1, ((node *)R(0))->l);
    populate(c, d - 1, ((node *)R(0))->r);
    LEAVE(c);
}
static node *
make(cx *c, int d)
{
    if (d <= 0)
        return leaf(c);
    FRAME(c, 2);
    R(0) = R(1) = NULL;
    R(0) = make(c, d - 1);
    R(1) = make(c, d - 1);
    node *n = NEW(c, node, 2);
    n->l = R(0);
    n->r = R(1);
    n->i = n->j = 0;
    LEAVE(c);
    return n;
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
static int
part(cx *c, void *arg)
{
    (void)arg;
    FRAME(c, 3);
    R(0) = R(1) = R(2) = NULL;
    R(0) = leaf(c);
    populate(c, maxd, R(0));
    double *a = ALLOC_LEAF(c, 500000 * sizeof(double));
    R(1) = a;
    for (int i = 1; i < 250000; i++)
        a[i] = 1.0 / i;
    for (int d = 4; d <= maxd; d += 2) {
        long it = 2 * tree_size(maxd + 2) / tree_size(d);
        for (long i = 0; i < it; i++) {
            node *t = leaf(c);
            R(2) = t;
            populate(c, d, t);
            drop(R(2));
            R(2) = NULL;
        }
        for (long i = 0; i < it; i++)
            drop(make(c, d));
    }
    a = (double *)R(1);
    if (a[1000] != 1.0 / 1000)
        abort();
    __asm__ volatile(""
                     :
                     : "r"(R(0))
                     : "memory"); /* keep the tree live to here */
    drop(R(0));
    DROP(R(1));
    LEAVE(c);
    return 0;
}
static int
work(cx *c, void *arg)
{
    (void)arg;
    pthread_t th[64];
    struct job j[64];
    for (int i = 1; i < nthreads; i++) {
        j[i] = (struct job){part, NULL, i};
        pthread_create(&th[i], NULL, run_thread, &j[i]);
    }
    part(c, NULL);
    for (int i = 1; i < nthreads; i++)
        join_blocking(c, th[i]);
    puts("ok");
    return 0;
}
int
main(int argc, char **argv)
{
    maxd = (int)arg_l(argc, argv, 1, 16);
    nthreads = (int)arg_l(argc, argv, 2, 1);
    return run_with_heap(work, NULL);
}
