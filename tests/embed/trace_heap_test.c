/* trace_heap_test.c -- traces of a real heap, beside what else is known of it
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/base.h"
#include "trace_read.h"

enum { LESS = ALQI_CHECKS >= 3 ? 20 : 1, DEPTH = 3000 };

static struct alq_domain *domain;
static char path[] = "/tmp/aliquot-trace-heap-XXXXXX";

/* ---- a program ---------------------------------------------------------- */

static _Atomic(unsigned) frame_line; /* of the next one's roots */

static alq_value
list_make(struct alq_domain *d, unsigned n)
{
    ALQ_FRAME(d, f, list);

    atomic_store(&frame_line, __LINE__ - 2);
    f.list = alq_from_int(0);
    for (unsigned i = 0; i < n; i++) {
        alq_value cell = alq_alloc_small(d, 2, 0);

        alq_init_small(cell, 0, alq_from_int((intptr_t)i));
        alq_init_small(cell, 1, f.list);
        f.list = cell;
    }
    return f.list;
}

static const struct alq_custom_ops custom_ops = {.name = "test"};

/* Lists of which every tenth lives on; large blocks, strings, custom ones. */
static void
churn(struct alq_domain *d, unsigned n)
{
    ALQ_FRAME(d, f, kept[8], other);

    for (unsigned i = 0; i < n; i++) {
        f.other = list_make(d, 50);
        if (i % 10 == 0)
            f.kept[i / 10 % 8] = f.other;
        f.other = alq_alloc_string(d, i % 100);
        if (i % 16 == 0)
            f.other = alq_alloc(d, 600, 0);
        if (i % 16 == 8)
            f.kept[7] = alq_alloc_custom_mem(d, &custom_ops, 16, 4000);
    }
}

static alq_value
churn_child(struct alq_domain *d, alq_value arg, void *data)
{
    (void)data;
    churn(d, (unsigned)alq_to_int(arg));
    return arg;
}

/* ---- another tracker ---------------------------------------------------- */

struct seen {
    uint64_t allocs, promotes, samples, customs;
};

static int
seen_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    struct seen *s = arg;

    __atomic_fetch_add(&s->allocs, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&s->samples, a->n_samples, __ATOMIC_RELAXED);
    *data = a->source == ALQ_SOURCE_CUSTOM;
    return ALQ_TRACK_KEEP;
}

static int
seen_promote(void *arg, uintptr_t *data)
{
    struct seen *s = arg;

    __atomic_fetch_add(*data ? &s->customs : &s->promotes, 1, __ATOMIC_RELAXED);
    return ALQ_TRACK_KEEP;
}

static struct alq_profile *
see(struct seen *s)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    const struct alq_tracker t = {.alloc_minor = seen_alloc,
                                  .alloc_major = seen_alloc,
                                  .promote = seen_promote,
                                  .arg = s};
    struct alq_profile *p;

    memset(s, 0, sizeof *s);
    c.rate = 1;
    c.callstack_frames = 0;
    assert_int_equal(alq_memprof_start(domain, &c, &t, &p), ALQ_OK);
    return p;
}

static void
see_no_more(struct alq_profile *p)
{
    assert_int_equal(alq_memprof_flush(domain, NULL), ALQ_OK);
    assert_int_equal(alq_profile_stop(p), ALQ_OK);
    assert_int_equal(alq_memprof_discard(p), ALQ_OK);
    alq_profile_drop(p);
}

/* ------------------------------------------------------------------------- */

static void
begin(double rate, unsigned format)
{
    struct alq_trace_config c = {
        .path = path, .rate = rate, .format = format, .seed = 9};

    assert_int_equal(alq_trace_start_with(domain, &c), ALQ_OK);
}

static void
end(struct read_trace *t)
{
    struct alq_trace_counts c;

    assert_int_equal(alq_memprof_flush(domain, NULL), ALQ_OK);
    assert_int_equal(alq_trace_stop(&c), ALQ_OK);
    assert_true(c.dropped == 0);
    read_trace(t, path, false);
    assert_true(t->n_allocs == c.allocations);
    assert_true(t->n_promotes == c.promotions);
    assert_true(t->n_collects == c.collections);
}

/* At rate 1 every block is in the trace, and every event of it. */
static void
at_rate_1_it_has_everything(void **state)
{
    struct alq_profile *profile;
    struct read_trace t;
    struct seen seen;

    (void)state;
    begin(1, 2);
    profile = see(&seen);
    churn(domain, 400 / LESS);
    alq_gc_minor(domain);
    churn(domain, 400 / LESS);
    see_no_more(profile);
    end(&t);
    assert_true(t.n_allocs == seen.allocs);
    assert_true(t.n_samples == seen.samples);
    assert_true(t.n_promotes == seen.promotes);
    assert_true(seen.promotes > 0 && seen.customs > 0);
    assert_true(t.n_collects > 0);
    for (size_t i = 0; i < t.n_events; i++) {
        const struct read_event *e = &t.events[i];

        if (e->kind != ALQI_CTF_ALLOC)
            continue;
        if (e->source != ALQI_CTF_EXTERNAL) /* every word, and the header */
            assert_true(e->n_samples == e->length + 1);
        assert_int_equal(e->thread, 0);
    }
    read_drop(&t);
}

static void
domains_at_once(unsigned format)
{
    struct alq_child *child[3];
    struct alq_profile *profile;
    struct read_trace t;
    struct seen seen;
    uint64_t by_thread[4] = {0};

    begin(1, format);
    profile = see(&seen);
    for (int i = 0; i < 3; i++)
        assert_int_equal(alq_domain_spawn(domain, churn_child,
                                          alq_from_int(300 / LESS), NULL, NULL,
                                          &child[i]),
                         ALQ_OK);
    churn(domain, 300 / LESS);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(alq_domain_join(domain, child[i], NULL), ALQ_OK);
        alq_child_drop(child[i]);
    }
    see_no_more(profile);
    end(&t);
    assert_int_equal(t.version, format);
    assert_true(t.n_allocs == seen.allocs);
    assert_true(t.n_promotes == seen.promotes);
    for (size_t i = 0; i < t.n_events; i++)
        if (t.events[i].kind == ALQI_CTF_ALLOC) {
            assert_in_range(t.events[i].thread, 0, 3);
            by_thread[t.events[i].thread]++;
            if (format == 3)
                assert_int_equal(t.events[i].thread, t.events[i].domain);
        }
    for (int i = 0; i < 4; i++)
        assert_true(by_thread[i] > 5000 / LESS);
    read_drop(&t);
}

static void
all_domains_are_in_one_file(void **state)
{
    (void)state;
    domains_at_once(2);
    domains_at_once(3);
}

/* ---- stacks ------------------------------------------------------------- */

static alq_value
recurse(struct alq_domain *d, unsigned depth)
{
    ALQ_FRAME(d, f, v);

    f.v = depth > 1 ? recurse(d, depth - 1) : list_make(d, 20);
    return f.v;
}

/* Of the first domain, which has the only ones. */
static void
sites_set(bool is_set)
{
    assert_int_equal(
        alq_stack_source_set(domain, is_set ? &alq_stack_sites : NULL), ALQ_OK);
}

static void
root_frames_are_a_call_stack(void **state)
{
    struct read_trace t;
    unsigned n_deep = 0;

    (void)state;
    sites_set(true);
    begin(1, 2);
    recurse(domain, DEPTH / LESS);
    end(&t);
    for (size_t i = 0; i < t.n_events; i++) {
        const struct read_event *e = &t.events[i];

        if (e->kind != ALQI_CTF_ALLOC || e->n_codes != DEPTH / LESS + 1)
            continue;
        n_deep++;
        assert_string_equal(read_name(&t, e->leaf), "list_make");
        assert_non_null(strstr(read_entry(&t, e->leaf)->file, "_test.c"));
        assert_int_equal(read_entry(&t, e->leaf)->line, frame_line);
    }
    assert_int_equal(n_deep, 20);
    read_drop(&t);
    sites_set(false);
}

static void
the_machines_frames_have_names(void **state)
{
    struct read_trace t;
    unsigned n = 0;

    (void)state;
    begin(1, 2);
    list_make(domain, 100);
    end(&t);
    for (size_t i = 0; i < t.n_events; i++)
        n += t.events[i].kind == ALQI_CTF_ALLOC &&
             t.events[i].n_codes >= 3; /* this, cmocka, main */
    assert_true(n >= 100);
    read_drop(&t);
}

static alq_value
tries_to_set(struct alq_domain *d, alq_value arg, void *data)
{
    (void)data;
    assert_int_equal(alq_stack_source_set(d, &alq_stack_sites), ALQ_EBUSY);
    assert_int_equal(alq_stack_source_set(domain, NULL), ALQ_ESTATE);
    return arg;
}

static void
a_source_is_set_at_the_beginning(void **state)
{
    static const struct alq_stack_source none;
    struct alq_child *child;

    (void)state;
    assert_int_equal(alq_stack_source_set(NULL, NULL), ALQ_EINVAL);
    assert_int_equal(alq_stack_source_set(domain, &none), ALQ_EINVAL);
    assert_int_equal(alq_domain_spawn(domain, tries_to_set, alq_from_int(0),
                                      NULL, NULL, &child),
                     ALQ_OK);
    assert_int_equal(alq_domain_join(domain, child, NULL), ALQ_OK);
    alq_child_drop(child);
}

/* ---- a snapshot by stack ------------------------------------------------ */

static struct alq_stacks *stacks;

static int
number_stack(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    (void)arg;
    *data = alq_stacks_add(stacks, &a->callstack);
    return ALQ_TRACK_KEEP;
}

static int
keep(void *arg, uintptr_t *data)
{
    (void)arg;
    (void)data;
    return ALQ_TRACK_KEEP;
}

struct site {
    const char *function;
    uint64_t n_blocks;
};

static int
count_site(void *arg, const struct alq_allocation *a, uintptr_t data)
{
    struct alq_location l = {0};
    struct site *site = arg;
    uintptr_t frame = 0;

    (void)a;
    if (alq_stacks_get(stacks, (uint32_t)data, &frame, 1) > 0 &&
        alq_stack_describe(domain, frame, &l, 1) == 1 &&
        strcmp(l.function, site->function) == 0)
        site->n_blocks++;
    return 0;
}

/* Each live sample is an entry of 64 bytes, and its datum a stack's number. */
static void
what_lives_is_told_by_site(void **state)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    const struct alq_tracker t = {.alloc_minor = number_stack,
                                  .alloc_major = number_stack,
                                  .promote = keep};
    struct site site = {"list_make", 0};
    struct alq_profile *p;
    size_t bytes;
    ALQ_FRAME(domain, f, list);

    (void)state;
    sites_set(true);
    assert_int_equal(alq_stacks_new(&stacks), ALQ_OK);
    c.rate = 1;
    assert_int_equal(alq_memprof_start(domain, &c, &t, &p), ALQ_OK);
    list_make(domain, 100); /* garbage */
    bytes = alq_stacks_bytes(stacks);
    f.list = list_make(domain, 1000);
    assert_true(alq_stacks_bytes(stacks) == bytes); /* one stack, two nodes */
    alq_gc_full_major(domain);
    assert_int_equal(alq_memprof_each(p, count_site, &site), ALQ_OK);
    assert_int_equal(site.n_blocks, 1000);
    assert_int_equal(alq_profile_stop(p), ALQ_OK);
    assert_int_equal(alq_memprof_discard(p), ALQ_OK);
    alq_profile_drop(p);
    alq_stacks_drop(stacks);
    assert_int_equal(alq_stacks_new(NULL), ALQ_EINVAL);
    sites_set(false);
}

/* ---- the heap's end ----------------------------------------------------- */

static void
the_heap_takes_its_trace_along(void **state)
{
    struct read_trace t;

    (void)state;
    sites_set(true); /* of this heap alone */
    for (int i = 0; i < 3; i++) {
        begin(0.1, i % 2 == 0 ? 2 : 3);
        churn(domain, 100 / LESS);
        assert_int_equal(alq_domain_drop(domain), ALQ_OK);
        assert_int_equal(alq_trace_stop(NULL), ALQ_ENOTRUN);
        read_trace(&t, path, false);
        assert_true(t.n_allocs > 0);
        assert_non_null(read_text(&t, "end"));
        assert_true((read_text(&t, "module ") == NULL) == (i == 0));
        read_drop(&t);
        assert_int_equal(alq_domain_new(NULL, &domain), ALQ_OK);
    }
}

static int
setup(void **state)
{
    struct alq_domain_config c = {.minor_words = 4096};
    int fd = mkstemp(path);

    (void)state;
    close(fd);
    return fd < 0 || alq_domain_new(&c, &domain) != ALQ_OK;
}

static int
teardown(void **state)
{
    (void)state;
    unlink(path);
    return alq_domain_drop(domain) != ALQ_OK;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_rate_1_it_has_everything),
        cmocka_unit_test(all_domains_are_in_one_file),
        cmocka_unit_test(root_frames_are_a_call_stack),
        cmocka_unit_test(the_machines_frames_have_names),
        cmocka_unit_test(a_source_is_set_at_the_beginning),
        cmocka_unit_test(what_lives_is_told_by_site),
        cmocka_unit_test(the_heap_takes_its_trace_along),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
