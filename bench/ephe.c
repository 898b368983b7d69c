/* ephe.c -- ephemerons: what one costs in a major cycle
 *
 *   ephe chain-fwd|chain-rev|chain-mix|flat N
 *
 * chain: the data of ephemeron i are the key of i + 1, only key 0 is rooted;
 * made in that order, in reverse, or in no order.  flat: N keys that live. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <aliquot/aliquot.h>

enum { ROUNDS = 5 };

static double
now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static alq_value
cell(struct alq_domain *d, size_t i)
{
    alq_value v = alq_alloc_small(d, 1, 0);

    alq_init_small(v, 0, alq_from_int((intptr_t)i));
    return v;
}

/* Which ephemeron is made as the i-th. */
static size_t
place(const char *order, size_t i, size_t n)
{
    if (strcmp(order, "chain-rev") == 0)
        return n - 1 - i;
    if (strcmp(order, "chain-mix") == 0)
        return i * 1000003 % n; /* a prime */
    return i;
}

static void
make(struct alq_domain *d, alq_value *ephes, const alq_value *keys,
     const char *order, size_t n)
{
    ALQ_FRAME(d, f, key, data, ephe);
    size_t i, at;

    for (i = 0; i < n; i++) {
        at = place(order, i, n);
        f.data =
            strcmp(order, "flat") == 0 ? cell(d, i) : alq_field(*keys, at + 1);
        f.key = alq_field(*keys, at);
        f.ephe = alq_ephe_make(d, 1, &f.key, f.data);
        alq_store(d, *ephes, at, f.ephe);
    }
}

int
main(int argc, char **argv)
{
    const char *order = argc > 2 ? argv[1] : "";
    size_t i, alive = 0, n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    struct alq_gc_counts a, b;
    struct alq_domain *d;
    double began;

    if (n < 2 || (strcmp(order, "flat") != 0 &&
                  strncmp(order, "chain-", strlen("chain-")) != 0)) {
        fprintf(stderr, "usage: ephe chain-fwd|chain-rev|chain-mix|flat N\n");
        return 2;
    }
    if (alq_domain_new(NULL, &d) != ALQ_OK)
        return 1;
    {
        ALQ_FRAME(d, f, keys, ephes, root, v);

        f.keys = alq_alloc(d, n + 1, 0);
        f.ephes = alq_alloc(d, n, 0);
        for (i = 0; i <= n; i++) {
            f.v = cell(d, i);
            alq_store(d, f.keys, i, f.v);
        }
        make(d, &f.ephes, &f.keys, order, n);
        f.root = alq_field(f.keys, 0);
        if (strcmp(order, "flat") != 0)
            f.keys = f.v = ALQ_NULL;
        alq_gc_full_major(d);
        alq_gc_counters(d, &a);
        began = now_ns();
        for (i = 0; i < ROUNDS; i++)
            alq_gc_full_major(d);
        began = now_ns() - began;
        alq_gc_counters(d, &b);
        for (i = 0; i < n; i++)
            alive += (size_t)alq_ephe_check_data(d, alq_field(f.ephes, i));
        printf("%s n=%zu: %.1f ns an ephemeron and cycle (%ju cycles, %zu "
               "alive)\n",
               order, n,
               began / (double)n / (double)(b.major_cycles - a.major_cycles),
               (uintmax_t)(b.major_cycles - a.major_cycles), alive);
    }
    alq_domain_drop(d);
    return 0;
}
