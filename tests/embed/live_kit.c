/* live_kit.c -- for the tests of weak references and finalisers */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "live_kit.h"
#include "value_kit.h"

struct alq_domain *d;
char told[4096];

int
live_setup(void **state)
{
    (void)state;
    told[0] = '\0';
    return alq_domain_new(NULL, &d) != ALQ_OK;
}

int
live_teardown(void **state)
{
    (void)state;
    alq_domain_drop(d);
    return 0;
}

alq_value
cell(intptr_t n)
{
    alq_value v = alq_alloc_small(d, 1, 0);

    assert_false(alq_is_null(v));
    alq_init_small(v, 0, alq_from_int(n));
    return v;
}

/* A new cell in a place or field.  The block is read when the cell exists:
 * making it may move the block. */
void
weak_cell(alq_value *weak, size_t i, intptr_t n)
{
    alq_value v = cell(n);

    assert_int_equal(alq_weak_set(d, *weak, i, v), ALQ_OK);
}

void
store_cell(alq_value *block, size_t i, intptr_t n)
{
    alq_value v = cell(n);

    alq_store(d, *block, i, v);
}

void
tell(const char *what, intptr_t n)
{
    size_t at = strlen(told);

    assert_true(at + 40 < sizeof told);
    snprintf(told + at, sizeof told - at, "%s%ld ", what, (long)n);
}

enum alq_status
tell_first(struct alq_domain *domain, alq_value v, alq_value with)
{
    assert_ptr_equal(domain, d);
    assert_same(alq_field(v, 0), with);
    tell("f", alq_to_int(with));
    return ALQ_OK;
}

enum alq_status
tell_last(struct alq_domain *domain, alq_value v, alq_value with)
{
    assert_ptr_equal(domain, d);
    assert_same(v, ALQ_UNIT);
    tell("l", alq_to_int(with));
    return ALQ_OK;
}

void
full_major(void)
{
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
}

void
first(alq_value v, intptr_t n)
{
    assert_int_equal(alq_gc_finalise(d, v, tell_first, alq_from_int(n)),
                     ALQ_OK);
}

void
last(alq_value v, intptr_t n)
{
    assert_int_equal(alq_gc_finalise_last(d, v, tell_last, alq_from_int(n)),
                     ALQ_OK);
}

uint64_t
cycles(void)
{
    struct alq_gc_counts c;

    assert_int_equal(alq_gc_counters(d, &c), ALQ_OK);
    return c.major_cycles;
}

/* Slices until so many cycles more have ended. */
void
run_cycles(unsigned n)
{
    uint64_t end = cycles() + n;

    while (cycles() < end)
        assert_int_equal(alq_gc_major_slice(d, 1000), ALQ_OK);
}

enum alq_status
count_alarm(struct alq_domain *domain, void *arg)
{
    assert_ptr_equal(domain, d);
    ++*(unsigned *)arg;
    return ALQ_OK;
}
