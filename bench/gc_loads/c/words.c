/* string building + counting: synthesise tokens with a skewed distribution,
   allocate each as a fresh string, count in a chained table, join every 16
   tokens into a sentence.  args VOCAB TOKENS */
#include "shim.h"
typedef struct str {
    word len;
    char b[];
} str;
typedef struct ent {
    struct ent *next;
    str *key;
    word count;
} ent;
static long vocab, ntok;
static str *
str_new(cx *c, size_t n)
{
    str *s = ALLOC_LEAF(c, sizeof(word) + n);
    s->len = n;
    return s;
}
static word
hash(const str *s)
{
    word h = 1469598103934665603ull;
    for (word i = 0; i < s->len; i++)
        h = (h ^ (unsigned char)s->b[i]) * 1099511628211ull;
    return h;
}
enum { NB = 1 << 16 };
typedef struct seg {
    ent *s[512];
} seg;
static int
work(cx *c, void *arg)
{
    (void)arg;
    uint64_t seed = 5;
    char buf[32];
    FRAME(c, 19); /* 0 table, 1 token, 2 sentence, 3.. parts */
    for (int i = 0; i < 19; i++)
        R(i) = NULL;
    void **tab = ALLOC(c, NB / 512, 0);
    for (int i = 0; i < NB / 512; i++)
        tab[i] = NULL;
    R(0) = tab;
    for (int i = 0; i < NB / 512; i++) {
        seg *s = NEW(c, seg, 512);
        for (int k = 0; k < 512; k++)
            s->s[k] = NULL;
        STORE(c, R(0), (NB / 512) * sizeof(word), (void **)R(0) + i, s);
    }
    word sum = 0, distinct = 0;
    uint64_t t0 = now_ns();
    for (long i = 0; i < ntok; i++) {
        uint64_t a = rnd(&seed) % (uint64_t)vocab, b = rnd(&seed) % (a + 1);
        uint64_t id = rnd(&seed) % (b + 1);
        int n = 0;
        for (uint64_t x = id * 2654435761u + 12345; n < 4 + (int)(id % 9);
             x = x * 6364136223846793005ull + 1442695040888963407ull)
            buf[n++] = (char)('a' + (x >> 33) % 26);
        str *s = str_new(c, (size_t)n);
        memcpy(s->b, buf, (size_t)n);
        R(1) = s;
        word h = hash(s) % NB;
        ent *e = ((seg **)R(0))[h / 512]->s[h % 512];
        while (e &&
               !(e->key->len == s->len && !memcmp(e->key->b, s->b, s->len)))
            e = e->next;
        int fresh = !e;
        if (e)
            e->count += TAG(1) - TAG(0);
        else {
            e = NEW(c, ent, 2);
            seg *g = ((seg **)R(0))[h / 512];
            e->next = g->s[h % 512];
            e->key = R(1);
            e->count = TAG(1);
            STORE(c, g, sizeof *g, &g->s[h % 512], e);
            distinct++;
        }
        R(3 + (i & 15)) = R(1);
        (void)fresh;
#ifdef MANUAL
        /* the table keeps its own copy so that parts can be freed uniformly */
        if (fresh) {
            str *k = str_new(c, (size_t)n);
            memcpy(k->b, buf, (size_t)n);
            e->key = k;
        }
#endif
        if ((i & 15) == 15) {
            word len = 0;
            for (int k = 0; k < 16; k++)
                len += ((str *)R(3 + k))->len + 1;
            str *j = str_new(c, len);
            word o = 0;
            for (int k = 0; k < 16; k++) {
                str *p = R(3 + k);
                memcpy(j->b + o, p->b, p->len);
                o += p->len;
                j->b[o++] = ' ';
                DROP(p);
            }
            sum += hash(j);
            DROP(j);
        }
    }
    LEAVE(c);
    printf("distinct %llu sum %llx\nsec %.3f\n", (unsigned long long)distinct,
           (unsigned long long)sum, (double)(now_ns() - t0) / 1e9);
    return 0;
}
int
main(int argc, char **argv)
{
    vocab = arg_l(argc, argv, 1, 200000);
    ntok = arg_l(argc, argv, 2, 10000000);
    return run_with_heap(work, NULL);
}
