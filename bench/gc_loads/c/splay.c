/* splay tree with a payload tree per node; each operation inserts a fresh key
   and removes a random neighbour, so the live size is steady.  args NODES OPS
 */
#include "shim.h"
typedef struct pay {
    struct pay *l, *r;
} pay;
typedef struct sn {
    struct sn *l, *r;
    void *pay;
    word key;
} sn;
static void *
payload(cx *c, int d, word key)
{
    if (d == 0) {
        /* leaf: ten numbers, tagged in the pointer-free kind */
        word *a = ALLOC_LEAF(c, 11 * sizeof(word));
        for (int i = 0; i < 10; i++)
            a[i] = (word)i;
        a[10] = key;
        return a;
    }
    FRAME(c, 2);
    R(0) = R(1) = NULL;
    R(0) = payload(c, d - 1, key);
    R(1) = payload(c, d - 1, key);
    pay *p = NEW(c, pay, 2);
    p->l = R(0);
    p->r = R(1);
    LEAVE(c);
    return p;
}
static void
drop_payload(void *v, int d)
{
#ifdef MANUAL
    if (d) {
        pay *p = v;
        drop_payload(p->l, d - 1);
        drop_payload(p->r, d - 1);
    }
    DROP(v);
#else
    (void)v;
    (void)d;
#endif
}
enum { PD = 3 };
#define SET(o, f, v) STORE(c, (o), sizeof(sn), &(o)->f, (v))
/* top-down splay; allocates nothing except the scratch header made by the
 * caller */
static sn *
splay(cx *c, sn *t, word key, sn *scratch)
{
    if (!t)
        return t;
    sn *l = scratch, *r = scratch, *y;
    SET(scratch, l, NULL);
    SET(scratch, r, NULL);
    for (;;) {
        if (key < t->key) {
            if (!t->l)
                break;
            if (key < t->l->key) {
                y = t->l;
                SET(t, l, y->r);
                SET(y, r, t);
                t = y;
                if (!t->l)
                    break;
            }
            SET(r, l, t);
            r = t;
            t = t->l;
        } else if (key > t->key) {
            if (!t->r)
                break;
            if (key > t->r->key) {
                y = t->r;
                SET(t, r, y->l);
                SET(y, l, t);
                t = y;
                if (!t->r)
                    break;
            }
            SET(l, r, t);
            l = t;
            t = t->r;
        } else
            break;
    }
    SET(l, r, t->l);
    SET(r, l, t->r);
    SET(t, l, scratch->r);
    SET(t, r, scratch->l);
    return t;
}
static long nnodes, nops;
/* R(0) root, R(1) scratch, R(2) payload */
#define ROOT ((sn *)R(0))
#define SCR ((sn *)R(1))
static int
work(cx *c, void *arg)
{
    (void)arg;
    static struct hist h;
    uint64_t seed = 42;
    FRAME(c, 3);
    R(0) = R(1) = R(2) = NULL;
    sn *n = NEW(c, sn, 3);
    n->l = n->r = NULL;
    n->pay = NULL;
    n->key = TAG(0);
    R(1) = n;
    uint64_t t0 = now_ns(), t1 = t0;
    for (long i = 0; i < nnodes + nops; i++) {
        word key = TAG(rnd(&seed));
        R(2) = payload(c, PD, key);
        n = NEW(c, sn, 3);
        n->key = key;
        n->l = n->r = NULL;
        n->pay = R(2);
        R(2) = NULL;
        if (ROOT) {
            sn *t = splay(c, ROOT, key, SCR);
            if (t->key == key)
                abort();
            if (t->key < key) {
                n->l = t;
                n->r = t->r;
                SET(t, r, NULL);
            } else {
                n->r = t;
                n->l = t->l;
                SET(t, l, NULL);
            }
        }
        R(0) = n;
        if (i >= nnodes) {
            sn *t = splay(c, ROOT, TAG(rnd(&seed)), SCR), *u;
            if (!t->l)
                u = t->r;
            else {
                u = splay(c, t->l, t->key, SCR);
                SET(u, r, t->r);
            }
            drop_payload(t->pay, PD);
            DROP(t);
            R(0) = u;
        }
        if ((i & 15) == 15) {
            uint64_t e = now_ns();
            if (i >= nnodes)
                hist_add(&h, e - t1);
            t1 = e;
        }
    }
    word x = ROOT->key;
    LEAVE(c);
    printf("root %llu\n", (unsigned long long)UNTAG(x));
    hist_print("splay16", &h);
    printf("sec %.3f\n", (double)(now_ns() - t0) / 1e9);
    return 0;
}
int
main(int argc, char **argv)
{
    nnodes = arg_l(argc, argv, 1, 20000);
    nops = arg_l(argc, argv, 2, 500000);
    return run_with_heap(work, NULL);
}
