/* ephe.c -- ephemerons: what one costs in a major cycle
 *
 *   ephe flat|fwd|rev|mix|scatter|deep N
 *
 * flat: N keys that live.  The others are chains, the data of ephemeron i being
 * the key of i + 1, of which key 0 alone is rooted; made in that order, in
 * reverse, or (mix) in no order.  scatter: the keys lie in no order, either.
 * deep: as mix, and a key lies DEEP blocks behind the datum of the one before.
 *
 * Prints the ns an ephemeron and cycle and, below it, what memory alone costs:
 * as many nodes of an ephemeron's and its key's size, in no order, read one
 * after the other in array order with prefetch, and as a chain, each read only
 * after the one before has arrived. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <aliquot/aliquot.h>

enum { ROUNDS = 5, DEEP = 3, NODE_WORDS = 6, AHEAD = 16 };

static double
now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* 0 to n - 1 in an order drawn at random; with is_mixed false, as they are. */
static size_t *
order(size_t n, bool is_mixed)
{
    size_t *at = malloc(n * sizeof *at), i, j, swapped;
    uint64_t seed = 88172645463325252u;

    if (at == NULL)
        exit(1);
    for (i = 0; i < n; i++)
        at[i] = i;
    for (i = n - 1; is_mixed && i > 0; i--) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        j = seed % (i + 1);
        swapped = at[i];
        at[i] = at[j];
        at[j] = swapped;
    }
    return at;
}

/* ---- memory alone ------------------------------------------------------- */

static volatile size_t sink;

static void
memory(size_t n)
{
    size_t *at = order(n, true), *nodes, i, next, sum = 0;
    double began, fetched;
    unsigned round;

    nodes = malloc(n * NODE_WORDS * sizeof *nodes);
    if (nodes == NULL)
        exit(1);
    for (i = 0; i < n; i++)
        nodes[at[i] * NODE_WORDS] = at[(i + 1) % n] * NODE_WORDS;
    began = now_ns();
    for (round = 0; round < ROUNDS; round++)
        for (i = 0; i < n; i++) {
            if (i + AHEAD < n)
                __builtin_prefetch(&nodes[at[i + AHEAD] * NODE_WORDS]);
            sum += nodes[at[i] * NODE_WORDS];
        }
    fetched = now_ns() - began;
    began = now_ns();
    for (round = 0, next = 0; round < ROUNDS; round++)
        for (i = 0; i < n; i++)
            next = nodes[next];
    printf("memory n=%zu: %.1f ns a node fetched ahead, %.1f in a chain\n", n,
           fetched / (double)n / ROUNDS,
           (now_ns() - began) / (double)n / ROUNDS);
    sink = sum + next;
    free(nodes);
    free(at);
}

/* ---- ephemerons --------------------------------------------------------- */

static alq_value
cell(struct alq_domain *d, alq_value content)
{
    ALQ_FRAME(d, f, content);
    alq_value v;

    f.content = content;
    v = alq_alloc_small(d, 1, 0);
    alq_init_small(v, 0, f.content);
    return v;
}

/* Makes the ephemerons with these keys, in the order given. */
static void
make(struct alq_domain *d, alq_value *ephes, const alq_value *keys,
     const char *kind, size_t n)
{
    ALQ_FRAME(d, f, key, data, ephe);
    size_t *made =
        order(n, strcmp(kind, "mix") == 0 || strcmp(kind, "scatter") == 0 ||
                     strcmp(kind, "deep") == 0);
    size_t i, at;
    unsigned j;

    for (i = 0; i < n; i++) {
        at = strcmp(kind, "rev") == 0 ? n - 1 - i : made[i];
        f.data = strcmp(kind, "flat") == 0 ? cell(d, alq_from_int((intptr_t)i))
                                           : alq_field(*keys, at + 1);
        for (j = 0; strcmp(kind, "deep") == 0 && j < DEEP; j++)
            f.data = cell(d, f.data);
        f.key = alq_field(*keys, at);
        f.ephe = alq_ephe_make(d, 1, &f.key, f.data);
        alq_store(d, *ephes, at, f.ephe);
    }
    free(made);
}

static void
ephemerons(struct alq_domain *d, const char *kind, size_t n)
{
    ALQ_FRAME(d, f, keys, ephes, root, v);
    size_t *placed = order(n + 1, strcmp(kind, "scatter") == 0);
    struct alq_gc_counts a, b;
    size_t i, alive = 0;
    double ns;

    f.keys = alq_alloc(d, n + 1, 0);
    f.ephes = alq_alloc(d, n, 0);
    for (i = 0; i <= n; i++) {
        f.v = cell(d, alq_from_int((intptr_t)i));
        alq_store(d, f.keys, placed[i], f.v);
    }
    alq_gc_minor(d); /* the keys lie as they were made */
    make(d, &f.ephes, &f.keys, kind, n);
    f.root = alq_field(f.keys, 0);
    if (strcmp(kind, "flat") != 0)
        f.keys = f.v = ALQ_NULL;
    alq_gc_full_major(d);
    alq_gc_counters(d, &a);
    ns = now_ns();
    for (i = 0; i < ROUNDS; i++)
        alq_gc_full_major(d);
    ns = now_ns() - ns;
    alq_gc_counters(d, &b);
    for (i = 0; i < n; i++)
        alive += (size_t)alq_ephe_check_data(d, alq_field(f.ephes, i));
    printf("%s n=%zu: %.1f ns an ephemeron and cycle (%ju cycles, %zu "
           "alive)\n",
           kind, n, ns / (double)n / (double)(b.major_cycles - a.major_cycles),
           (uintmax_t)(b.major_cycles - a.major_cycles), alive);
    free(placed);
}

int
main(int argc, char **argv)
{
    static const char *const kinds[] = {"flat", "fwd",     "rev",
                                        "mix",  "scatter", "deep"};
    size_t i, n = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    struct alq_domain *d;

    for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (argc == 3 && strcmp(argv[1], kinds[i]) == 0)
            break;
    if (i == sizeof kinds / sizeof kinds[0] || n < 2) {
        fprintf(stderr, "usage: ephe flat|fwd|rev|mix|scatter|deep N\n");
        return 2;
    }
    if (alq_domain_new(NULL, &d) != ALQ_OK)
        return 1;
    ephemerons(d, kinds[i], n);
    alq_domain_drop(d);
    memory(n);
    return 0;
}
