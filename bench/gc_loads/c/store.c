/* store.c -- one alq_store, idle and while marking */
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include <aliquot/aliquot.h>

enum { FIELDS = 64, BIG_WORDS = 2000000, STORES = 100000000, LOOKS = 1000 };

static double
cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void
stores_time(struct alq_domain *d, alq_value array, alq_value old,
            const char *what)
{
    double start = cpu_ns();

    for (unsigned i = 0; i < STORES; i++) {
        alq_store(d, array, i % FIELDS, old);
        __asm__ volatile("" ::: "memory");
    }
    printf("old<-old, %s: %.3f ns\n", what, (cpu_ns() - start) / STORES);
}

static void
fresh_time(struct alq_domain *d)
{
    ALQ_FRAME(d, f, array);
    double start;

    f.array = alq_alloc(d, FIELDS, 0);
    alq_gc_full_major(d);
    start = cpu_ns();
    for (unsigned i = 0; i < STORES / 4; i++) {
        alq_value block = alq_alloc_small(d, 2, 0);

        alq_init_small(block, 0, ALQ_UNIT);
        alq_init_small(block, 1, ALQ_UNIT);
        alq_store(d, f.array, i % FIELDS, block);
    }
    printf("old<-fresh, allocation included: %.3f ns\n",
           (cpu_ns() - start) / (STORES / 4));
}

static bool
is_marking(const struct alq_domain *d)
{
    return d->store_max == UINTPTR_MAX;
}

int
main(void)
{
    struct alq_domain *d;

    if (alq_domain_new(NULL, &d) != ALQ_OK)
        return 1;
    fresh_time(d);
    {
        ALQ_FRAME(d, f, array, old, big);
        f.array = alq_alloc(d, FIELDS, 0);
        f.old = alq_alloc(d, 1, 0);
        f.big = alq_alloc(d, BIG_WORDS, 0);
        alq_gc_full_major(d);
        if (is_marking(d))
            return 1;
        stores_time(d, f.array, f.old, "idle");
        for (int i = 0; i < LOOKS && !is_marking(d); i++)
            alq_gc_major_slice(d, 1);
        if (!is_marking(d))
            return 1;
        stores_time(d, f.array, f.old, "marking");
    }
    alq_domain_drop(d);
    return 0;
}
