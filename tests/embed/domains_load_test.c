/* domains_load_test.c -- C1 and C15 of spec statmemprof 6.3: minor heaps that
 * change their size while domains come and go; a lock-free queue; and what
 * little address space does */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "domains_kit.h"
#include "value_kit.h"

/* ---- C1 ----------------------------------------------------------------- */

static void
resize(struct alq_domain *on, unsigned i)
{
    static const intptr_t words[] = {4096,  65536, 1 << 20, 8192,
                                     12288, 0,     1 << 18};
    struct alq_gc_control c;

    CHECK(alq_gc_get(on, &c) == ALQ_OK);
    c.minor_heap_size = words[i % ALQI_COUNT_OF(words)];
    CHECK(alq_gc_set(on, &c) == ALQ_OK);
    CHECK(alq_gc_get(on, &c) == ALQ_OK);
    CHECK(c.minor_heap_size >= 4096);
}

static alq_value
resize_spawn_burn(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, kept);
    unsigned i, k = (unsigned)alq_to_int(arg);

    (void)data;
    f.kept = tree(on, 9);
    for (i = 0; i < (IS_HARD ? 2 : 40); i++) {
        struct alq_child *child = NULL;

        resize(on, i + k);
        CHECK(alq_domain_spawn(on, burn, alq_from_int(i), NULL, NULL, &child) ==
              ALQ_OK);
        tree(on, 8);
        resize(on, 3 * i + k);
        if (i % 3 == 0)
            CHECK(alq_gc_minor(on) == ALQ_OK);
        if (i % 5 == k % 5)
            CHECK(alq_gc_major(on) == ALQ_OK);
        CHECK(alq_is_same(finish(on, child), alq_from_int(i)));
        CHECK(tree_size(f.kept) == 511);
    }
    return arg;
}

static void
minor_heaps_are_resized_while_domains_come_and_go(void **state)
{
    enum { N = 3 };
    struct alq_child *children[N];
    int i;

    (void)state;
    for (i = 0; i < N; i++)
        children[i] = spawn(d, resize_spawn_burn, alq_from_int(i), NULL);
    assert_same(resize_spawn_burn(d, alq_from_int(N), NULL), alq_from_int(N));
    for (i = 0; i < N; i++)
        assert_same(finish(d, children[i]), alq_from_int(i));
}

/* ---- C15: the queue of Michael and Scott -------------------------------- */

/* ends: 0 the first cell, which is empty, 1 a cell near the last; a cell: 0 an
 * item, 1 the next cell or ALQ_UNIT.  Cells are not used again while somebody
 * holds them, so there is no ABA. */
static struct alq_global ends;

enum { FIRST, LAST };
enum { ITEM, NEXT };

static void
queue_put(struct alq_domain *on, alq_value item)
{
    ALQ_FRAME(on, f, cell, last, next);

    f.cell = item; /* a root in this call */
    f.next = alq_alloc_small(on, 2, 0);
    CHECK(!alq_is_null(f.next));
    alq_init_small(f.next, ITEM, f.cell);
    alq_init_small(f.next, NEXT, ALQ_UNIT);
    f.cell = f.next;
    for (;;) {
        f.last = alq_field_acquire(ends.value, LAST);
        f.next = alq_field_acquire(f.last, NEXT);
        if (alq_is_same(f.next, ALQ_UNIT)) {
            if (alq_field_compare_exchange(on, f.last, NEXT, &f.next, f.cell))
                break;
        } else { /* help who was here before */
            alq_value last = f.last;

            alq_field_compare_exchange(on, ends.value, LAST, &last, f.next);
        }
        alq_poll(on);
    }
    f.next = f.last;
    alq_field_compare_exchange(on, ends.value, LAST, &f.next, f.cell);
}

/* ALQ_UNIT: it is empty. */
static alq_value
queue_take(struct alq_domain *on)
{
    ALQ_FRAME(on, f, first, last, next);

    for (;;) {
        f.first = alq_field_acquire(ends.value, FIRST);
        f.last = alq_field_acquire(ends.value, LAST);
        f.next = alq_field_acquire(f.first, NEXT);
        if (alq_is_same(f.next, ALQ_UNIT))
            return ALQ_UNIT;
        if (alq_is_same(f.first, f.last))
            alq_field_compare_exchange(on, ends.value, LAST, &f.last, f.next);
        else if (alq_field_compare_exchange(on, ends.value, FIRST, &f.first,
                                            f.next))
            return alq_field(f.next, ITEM);
        alq_poll(on);
    }
}

enum { MAKERS = 2, TAKERS = 2, ITEMS = 40000 / SLOW };

static intptr_t n_taken; /* atomic */

/* Item i of maker m: a block with m, i and something to collect. */
static alq_value
make(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, item, more);
    intptr_t i;

    (void)data;
    for (i = 0; i < ITEMS; i++) {
        f.more = tree(on, 2);
        f.item = alq_alloc_small(on, 3, 0);
        CHECK(!alq_is_null(f.item));
        alq_init_small(f.item, 0, arg);
        alq_init_small(f.item, 1, alq_from_int(i));
        alq_init_small(f.item, 2, f.more);
        queue_put(on, f.item);
    }
    return arg;
}

/* Items of each maker come in their order, whoever takes them. */
static alq_value
take(struct alq_domain *on, alq_value arg, void *data)
{
    intptr_t last[MAKERS] = {-1, -1}, i;
    alq_value item;
    uintptr_t m;

    (void)data;
    while (__atomic_load_n(&n_taken, __ATOMIC_ACQUIRE) < MAKERS * ITEMS) {
        item = queue_take(on);
        if (alq_is_same(item, ALQ_UNIT)) {
            ALQ_BLOCKING(on, blocks);
            sched_yield();
            continue;
        }
        m = (uintptr_t)alq_to_int(alq_field(item, 0));
        i = alq_to_int(alq_field(item, 1));
        CHECK(m < MAKERS && i > last[m] && i < ITEMS);
        CHECK(tree_size(alq_field(item, 2)) == 3);
        last[m] = i;
        __atomic_add_fetch(&n_taken, 1, __ATOMIC_ACQ_REL);
    }
    return arg;
}

static void
a_lock_free_queue_loses_nothing(void **state)
{
    struct alq_child *children[MAKERS + TAKERS];
    alq_value cell;
    int i;

    (void)state;
    n_taken = 0;
    ends = (struct alq_global){.value = ALQ_UNIT};
    assert_int_equal(alq_global_add(d, &ends), ALQ_OK);
    ends.value = alq_alloc(d, 2, 0);
    cell = alq_alloc(d, 2, 0);
    alq_store(d, ends.value, FIRST, cell);
    alq_store(d, ends.value, LAST, cell);
    for (i = 0; i < MAKERS + TAKERS; i++)
        children[i] = spawn(d, i < MAKERS ? make : take, alq_from_int(i), NULL);
    for (i = 0; i < MAKERS + TAKERS; i++)
        finish(d, children[i]);
    assert_int_equal(n_taken, MAKERS * ITEMS);
    assert_same(queue_take(d), ALQ_UNIT);
    alq_global_remove(d, &ends);
}

/* ---- address space ------------------------------------------------------ */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { HAS_SHADOW = 1 }; /* which takes more address space than any limit */
#else
enum { HAS_SHADOW = 0 };
#endif

static int is_over; /* atomic */

static alq_value
stay(struct alq_domain *domain, alq_value arg, void *data)
{
    (void)data;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
        alq_poll(domain);
    return arg;
}

static rlim_t
address_space_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* It is memory that is lacking, not that the program asked for few. */
static void
little_address_space_is_no_memory(void **state)
{
    struct alq_child *children[128];
    enum alq_status status = ALQ_OK;
    struct rlimit was, little;
    struct alq_gc_stats before, after;
    unsigned n = 0;

    (void)state;
    if (HAS_SHADOW)
        return;
    alq_domain_drop(d);
    assert_int_equal(getrlimit(RLIMIT_AS, &was), 0);
    little.rlim_cur = address_space_bytes() + ((rlim_t)1 << 30);
    little.rlim_max = was.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
    status = alq_domain_new(NULL, &d);
    assert_int_equal(setrlimit(RLIMIT_AS, &was), 0);
    assert_int_equal(status, ALQ_OK);
    while (n < 128 && (status = alq_domain_spawn(d, stay, ALQ_UNIT, NULL, NULL,
                                                 &children[n])) == ALQ_OK)
        n++;
    assert_true(n < 127);
    assert_int_equal(alq_gc_quick_stat(d, &before), ALQ_OK);
    assert_int_equal(
        alq_domain_spawn(d, stay, ALQ_UNIT, NULL, NULL, &children[n]), status);
    assert_int_equal(alq_gc_quick_stat(d, &after), ALQ_OK);
    assert_true(after.major_collections ==
                before.major_collections); /* it would bring nothing */
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    while (n > 0)
        finish(d, children[--n]);
    assert_int_equal(status, ALQ_ENOMEM);
}

/* With all that limits need. */
static enum alq_status
limited(struct alq_domain *on, void *arg)
{
    (void)arg;
    for (int i = 0; i < 20000 / SLOW; i++)
        if (alq_is_null(alq_alloc(on, 100, 0)))
            return alq_status_of(on);
    return ALQ_OK;
}

/* What the header says is enough, and so is whatever is more. */
static void
address_space_that_is_enough_is_enough(void **state)
{
    static const rlim_t mib[] = {192, 224, 256, 300, 340, 370, 420, 600, 700};
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct rlimit was, little;

    (void)state;
    if (HAS_SHADOW)
        skip();
    l.words = l.sampled_words = l.live_words = 100000000;
    l.time_ns = (uint64_t)3600 * 1000000000;
    assert_int_equal(alq_domain_drop(d), ALQ_OK);
    assert_int_equal(getrlimit(RLIMIT_AS, &was), 0);
    for (size_t i = 0; i < ALQI_COUNT_OF(mib); i++) {
        little = was;
        little.rlim_cur = address_space_bytes() + (mib[i] << 20);
        assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
        assert_int_equal(alq_domain_new(NULL, &d), ALQ_OK);
        assert_int_equal(alq_limit_run(d, &l, limited, NULL, NULL), ALQ_OK);
        assert_int_equal(alq_domain_drop(d), ALQ_OK);
        assert_int_equal(setrlimit(RLIMIT_AS, &was), 0);
    }
    assert_int_equal(alq_domain_new(NULL, &d), ALQ_OK);
}

int
main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, domains_setup, domains_teardown)
    const struct CMUnitTest tests[] = {
        TEST(minor_heaps_are_resized_while_domains_come_and_go),
        TEST(a_lock_free_queue_loses_nothing),
        TEST(little_address_space_is_no_memory),
        TEST(address_space_that_is_enough_is_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
