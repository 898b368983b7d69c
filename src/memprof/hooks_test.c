/* hooks_test.c -- profiles with a gate, and when a block leaves its address */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "memprof/filter.h"
#include "kits/memprof/counting_tracker.h"

static volatile unsigned short gate;

/* What came, in order: a(lloc), l(eaves), s(tays), d(ealloc). */
static char came[64];
static const void *leaving;
static uint64_t staying_bytes;

static void
note(char what)
{
    size_t n = strlen(came);

    assert_true(n + 1 < sizeof came);
    came[n] = what;
}

static int
on_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    note('a');
    return counting_alloc(arg, a, data);
}

static int
on_dealloc(void *arg, uintptr_t data)
{
    note('d');
    return counting_tracker.dealloc_major(arg, data);
}

static void
on_freeing(void *arg, const void *block)
{
    if (arg != &counted)
        return;
    leaving = block;
    note('l');
}

static void
on_free_undone(void *arg, const void *block, uint64_t size_bytes)
{
    assert_ptr_equal(arg, &counted);
    assert_ptr_equal(block, leaving);
    staying_bytes = size_bytes;
    note('s');
}

static const struct alqi_memprof_hooks hooks = {
    .gate = &gate,
    .freeing = on_freeing,
    .free_undone = on_free_undone,
};

static struct alq_profile *
begin_hooked(double rate, struct counted *to)
{
    struct alq_memprof_config c = at_rate(rate);
    struct alq_tracker t = counting_tracker;
    struct alq_profile *p = NULL;

    t.arg = to;
    if (to == &counted) {
        t.alloc_major = on_alloc;
        t.dealloc_major = on_dealloc;
    }
    c.callstack_frames = 0;
    assert_int_equal(alqi_memprof_start_hooked(heap.domain, &self.t,
                                               ALQI_MEMPROF_SLOT_PROBES, &c, &t,
                                               &hooks, &p),
                     ALQ_OK);
    memset(came, 0, sizeof came);
    return p;
}

static void
end_hooked(struct alq_profile *p)
{
    assert_int_equal(
        alqi_memprof_stop(heap.domain, &self.t, ALQI_MEMPROF_SLOT_PROBES),
        ALQ_OK);
    alqi_memprof_profile_drop(p);
}

static void
a_shut_gate_leaves_nothing_behind(void **state)
{
    struct alq_profile *p = begin_hooked(1.0, &counted);
    struct alq_memprof_counts c;
    void *block;

    (void)state;
    gate = 0;
    block = fake_malloc(&self, 100);
    assert_false(alqi_memprof_filter_may_hold(block));
    fake_free(&self, block);
    alqi_memprof_counts(p, &c);
    assert_int_equal(c.sampled_blocks, 0);
    assert_string_equal(came, "");
    end_hooked(p);
}

static void
what_was_met_at_a_shut_gate_stays_unknown(void **state)
{
    struct alq_profile *p = begin_hooked(1.0, &counted);
    void *before, *within;

    (void)state;
    gate = 0;
    before = fake_malloc(&self, 100);
    gate = 1;
    within = fake_malloc(&self, 100);
    gate = 0;
    fake_free(&self, before);
    assert_string_equal(came, "a");
    fake_free(&self, within);
    assert_ptr_equal(leaving, within);
    assert_string_equal(came, "ald");
    end_hooked(p);
}

static void
a_block_leaves_before_its_realloc(void **state)
{
    struct alq_profile *p = begin_hooked(1.0, &counted);
    void *block;

    (void)state;
    gate = 1;
    block = fake_malloc(&self, 100);
    assert_null(fake_realloc(&self, block, 200, true));
    assert_string_equal(came, "als");
    assert_int_equal(staying_bytes, 100);
    block = fake_realloc(&self, block, 200, false);
    assert_string_equal(came, "alslda");
    fake_free(&self, block);
    assert_string_equal(came, "alsldald");
    end_hooked(p);
}

/* Its address comes again, and nobody had told of its end. */
static void
who_died_untold_leaves_before_the_next_comes(void **state)
{
    const struct alqi_stack_regs regs = {1, 2, 3, false};
    struct alq_profile *p = begin_hooked(1.0, &counted);
    void *block;

    (void)state;
    gate = 1;
    block = fake_malloc(&self, 100);
    alqi_memprof_sampled(&self.t, block, 60, 0, &regs);
    assert_string_equal(came, "alad");
    fake_free(&self, block);
    assert_string_equal(came, "aladld");
    end_hooked(p);
}

/* A free that came INSIDE waits; the block leaves before it is freed. */
static void
a_delayed_free_is_told_before_it_is_done(void **state)
{
    struct alq_profile *p = begin_hooked(1.0, &counted);
    void *block;
    uint32_t was;

    (void)state;
    gate = 1;
    block = fake_malloc(&self, 100);
    was = alqi_memprof_enter(&self.t);
    fake_free(&self, block);
    assert_string_equal(came, "a");
    assert_int_equal(heap.delayed_freed, 0);
    alqi_memprof_leave(&self.t, was);
    assert_int_equal(heap.delayed_freed, 1);
    assert_string_equal(came, "ald");
    end_hooked(p);
}

/* 8 standard errors of a binomial: below 2e-15, and below 1e-11 with the skew
 * that 20,000 expected hits leave. */
static void
a_gate_beside_another_client_keeps_both_distribution(void **state)
{
    static struct counted other;
    struct alq_profile *p = begin(0.05), *q;
    double words, sd;

    (void)state;
    memset(&other, 0, sizeof other);
    other.alloc_code = ALQ_TRACK_KEEP;
    q = begin_hooked(0.02, &other);
    self.words = 0;
    gate = 0;
    for (unsigned i = 0; i < 200000; i++)
        fake_free(&self, fake_malloc(&self, i % 512));
    words = (double)self.words;
    assert_int_equal(other.allocs, 0);
    sd = sqrt(words * 0.05 * 0.95);
    assert_true(fabs((double)counted.samples - words * 0.05) < 8 * sd);
    self.words = 0;
    gate = 1;
    for (unsigned i = 0; i < 200000; i++)
        fake_free(&self, fake_malloc(&self, i % 512));
    words = (double)self.words;
    sd = sqrt(words * 0.02 * 0.98);
    assert_true(fabs((double)other.samples - words * 0.02) < 8 * sd);
    end_hooked(q);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    alqi_memprof_profile_drop(p);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_all, close_all)
    const struct CMUnitTest tests[] = {
        TEST(a_shut_gate_leaves_nothing_behind),
        TEST(what_was_met_at_a_shut_gate_stays_unknown),
        TEST(a_block_leaves_before_its_realloc),
        TEST(who_died_untold_leaves_before_the_next_comes),
        TEST(a_delayed_free_is_told_before_it_is_done),
        TEST(a_gate_beside_another_client_keeps_both_distribution),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
