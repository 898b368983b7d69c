#include <pthread.h>

#include <aliquot/aliquot.h>

#include "domains_kit.h"

struct alq_domain *d;

int
domains_setup(void **state)
{
    (void)state;
    return alq_domain_new(NULL, &d) != ALQ_OK;
}

int
domains_teardown(void **state)
{
    (void)state;
    return alq_domain_drop(d) != ALQ_OK;
}

/* ---- trees -------------------------------------------------------------- */

alq_value
tree(struct alq_domain *on, int depth)
{
    ALQ_FRAME(on, f, left, right);
    alq_value v;

    if (depth == 0)
        return ALQ_UNIT;
    f.left = tree(on, depth - 1);
    f.right = tree(on, depth - 1);
    v = alq_alloc_small(on, 2, 0);
    CHECK(!alq_is_null(v));
    alq_init_small(v, 0, f.left);
    alq_init_small(v, 1, f.right);
    return v;
}

long
tree_size(alq_value v)
{
    if (!alq_is_block(v))
        return 0;
    return 1 + tree_size(alq_field(v, 0)) + tree_size(alq_field(v, 1));
}

/* Minor and major collections while something lives. */
alq_value
burn(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, arg, kept);
    int i, n = IS_HARD ? 2 : 20;

    (void)data;
    f.arg = arg;
    for (i = 0; i < n; i++) {
        f.kept = tree(on, IS_HARD ? 5 : 10);
        if (i % 5 == 1)
            CHECK(alq_gc_minor(on) == ALQ_OK);
        if (i % 7 == 3)
            CHECK(alq_gc_full_major(on) == ALQ_OK);
        if (i % 7 == 5)
            CHECK(alq_gc_major(on) == ALQ_OK);
        CHECK(tree_size(f.kept) == (IS_HARD ? 31 : 1023));
    }
    return f.arg;
}

struct alq_child *
spawn(struct alq_domain *by, alq_domain_fn *fn, alq_value arg, void *data)
{
    struct alq_child *child = NULL;

    CHECK(alq_domain_spawn(by, fn, arg, data, NULL, &child) == ALQ_OK);
    return child;
}

alq_value
join(struct alq_domain *by, struct alq_child *child)
{
    alq_value v = ALQ_NULL;

    CHECK(alq_domain_join(by, child, &v) == ALQ_OK);
    return v;
}

alq_value
finish(struct alq_domain *by, struct alq_child *child)
{
    alq_value v = join(by, child);

    alq_child_drop(child);
    return v;
}

/* ---- a gate ------------------------------------------------------------- */

alq_value
through_gate(struct alq_domain *on, alq_value arg, void *data)
{
    struct gate *gate = data;
    ALQ_FRAME(on, f, arg);

    f.arg = arg;
    {
        ALQ_BLOCKING(on, blocks);

        pthread_mutex_lock(&gate->lock);
        gate->n_in++;
        pthread_cond_broadcast(&gate->changed);
        while (!gate->open)
            pthread_cond_wait(&gate->changed, &gate->lock);
        pthread_mutex_unlock(&gate->lock);
    }
    return f.arg;
}

void
gate_await(struct gate *gate, int n)
{
    ALQ_BLOCKING(d, blocks);

    pthread_mutex_lock(&gate->lock);
    while (gate->n_in < n)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

void
gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->open = 1;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}
