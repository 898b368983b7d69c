/* limit_cost.c -- allocates under limits that are not reached, or without any
 *
 *   limit_cost pairs|trees N none|armed|sampled   for limit_cost.sh */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <aliquot/aliquot.h>

static enum alq_status
make_pairs(struct alq_domain *d, void *arg)
{
    for (long n = *(long *)arg; n > 0; n--) {
        alq_value v = alq_alloc_small(d, 2, 0);

        if (v == ALQ_NULL)
            return alq_status_of(d);
        alq_init_small(v, 0, ALQ_UNIT);
        alq_init_small(v, 1, ALQ_UNIT);
    }
    return ALQ_OK;
}

static alq_value
tree(struct alq_domain *d, int depth)
{
    ALQ_FRAME(d, f, left, right);
    alq_value v;

    if (depth == 0)
        return ALQ_UNIT;
    f.left = tree(d, depth - 1);
    f.right = tree(d, depth - 1);
    v = alq_alloc_small(d, 2, 0);
    if (v == ALQ_NULL)
        return v;
    alq_init_small(v, 0, f.left);
    alq_init_small(v, 1, f.right);
    return v;
}

/* The same number of blocks, in trees of 1,023. */
static enum alq_status
make_trees(struct alq_domain *d, void *arg)
{
    for (long n = *(long *)arg; n >= 1023; n -= 1023)
        if (tree(d, 10) == ALQ_NULL)
            return alq_status_of(d);
    return ALQ_OK;
}

static enum alq_status
under_limits(struct alq_domain *d, alq_task_fn *task, int is_sampled, long *n)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    enum alq_status status;

    l.words = UINT64_MAX / 2;
    l.time_ns = (uint64_t)3600 * 1000000000;
    l.heap_bytes = (uint64_t)1 << 40;
    l.token = alq_token_new();
    if (is_sampled)
        l.sampled_words = UINT64_MAX / 2;
    status = alq_limit_run(d, &l, task, n, NULL);
    alq_token_drop(l.token);
    return status;
}

int
main(int argc, char **argv)
{
    struct alq_domain *d;
    enum alq_status status;
    alq_task_fn *task;
    long n;

    if (argc != 4 || alq_domain_new(NULL, &d) != ALQ_OK)
        return 2;
    task = strcmp(argv[1], "pairs") == 0 ? make_pairs : make_trees;
    n = atol(argv[2]);
    status = strcmp(argv[3], "none") == 0
                 ? task(d, &n)
                 : under_limits(d, task, strcmp(argv[3], "sampled") == 0, &n);
    return status != ALQ_OK || alq_domain_drop(d) != ALQ_OK;
}
