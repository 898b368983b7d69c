/* api_memprof_test.c -- the public calls, without and then with a preload
 *
 * The table is this program's own (exported under the preload's name), so each
 * call is seen to arrive with its arguments. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "memprof/preload_api.h"

static const void *got[3];
static uintptr_t something;

#define A_PROFILE ((struct alq_profile *)(void *)&something)
#define A_DOMAIN ((struct alq_domain *)(void *)&something)

static enum alq_status
start(const struct alq_memprof_config *config,
      const struct alq_tracker *tracker, struct alq_profile **out)
{
    got[0] = config;
    got[1] = tracker;
    got[2] = out;
    return ALQ_EBUSY;
}

static enum alq_status
stop(void)
{
    return ALQ_ENOTRUN;
}

static enum alq_status
discard(struct alq_profile *profile)
{
    got[0] = profile;
    return ALQ_EGONE;
}

static enum alq_status
flush(int *code)
{
    *code = -7;
    return ALQ_ECALLBACK;
}

static int
is_sampling(void)
{
    return 1;
}

static enum alq_status
each(struct alq_profile *profile,
     int (*visit)(void *arg, const struct alq_allocation *alloc,
                  uintptr_t data),
     void *arg)
{
    got[0] = profile;
    return (enum alq_status)visit(arg, NULL, 5);
}

static void
counts(const struct alq_profile *profile, struct alq_memprof_counts *out)
{
    got[0] = profile;
    out->live_entries = 11;
}

static uint64_t
seed(const struct alq_profile *profile)
{
    got[0] = profile;
    return 12;
}

static void
drop(struct alq_profile *profile)
{
    got[0] = profile;
}

static enum alq_status
tree_start(const struct alq_memprof_config *config,
           const struct alq_tracker *tracker, struct alq_profile **out)
{
    (void)start(config, tracker, out);
    return ALQ_ENOMEM;
}

static enum alq_status
tree_stop(void)
{
    return ALQ_ECALLBACK;
}

static int
tree_is_sampling(void)
{
    return 2;
}

static enum alq_status
profile_stop(struct alq_profile *profile)
{
    got[0] = profile;
    return ALQ_ENOTRUN;
}

__attribute__((visibility("default"))) struct alqi_preload_api alq_preload_api;

static int
visit_one(void *arg, const struct alq_allocation *alloc, uintptr_t data)
{
    assert_null(alloc);
    assert_int_equal(data, 5);
    assert_ptr_equal(arg, got);
    return ALQ_EGONE;
}

static void
wrong_arguments_are_told_first(void **state)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    const double bad[] = {-0.5, 1.5, (double)NAN, (double)INFINITY};
    struct alq_tracker t = alq_tracker_null;
    struct alq_profile *p = NULL;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        c.rate = bad[i];
        assert_int_equal(alq_memprof_start(NULL, &c, &alq_tracker_null, &p),
                         ALQ_EINVAL);
    }
    c.rate = 0.5;
    c.flags = 8;
    assert_int_equal(alq_memprof_start(NULL, &c, &alq_tracker_null, &p),
                     ALQ_EINVAL);
    assert_int_equal(
        alq_memprof_start(alq_thread_tree(), &c, &alq_tracker_null, &p),
        ALQ_EINVAL);
    assert_int_equal(alq_profile_stop(NULL), ALQ_EINVAL);
    t.flags = ALQ_TRACKER_VALUES << 1;
    assert_int_equal(alq_memprof_start(NULL, NULL, &t, &p), ALQ_EINVAL);
    assert_int_equal(alq_memprof_replace(NULL, NULL, &t, &p), ALQ_EINVAL);
    assert_int_equal(alq_memprof_start(A_DOMAIN, NULL, &t, &p), ALQ_EINVAL);
    assert_int_equal(alq_memprof_start(NULL, NULL, NULL, &p), ALQ_EINVAL);
    assert_int_equal(alq_memprof_start(NULL, NULL, &alq_tracker_null, NULL),
                     ALQ_EINVAL);
    assert_int_equal(alq_memprof_start(A_DOMAIN, NULL, &alq_tracker_null, &p),
                     ALQ_ESTATE);
    assert_int_equal(alq_memprof_stop(A_DOMAIN), ALQ_ESTATE);
    assert_int_equal(alq_memprof_flush(A_DOMAIN, NULL), ALQ_ESTATE);
    assert_int_equal(alq_memprof_join(NULL, A_PROFILE), ALQ_EINVAL);
    assert_int_equal(alq_memprof_join(alq_thread_tree(), A_PROFILE),
                     ALQ_EINVAL);
    assert_int_equal(alq_memprof_join(A_DOMAIN, NULL), ALQ_EINVAL);
    assert_int_equal(alq_memprof_join(A_DOMAIN, A_PROFILE), ALQ_EINVAL);
    assert_int_equal(alq_memprof_code(NULL), 0);
    assert_int_equal(alq_memprof_discard(NULL), ALQ_EINVAL);
    assert_int_equal(alq_memprof_each(NULL, visit_one, NULL), ALQ_EINVAL);
    assert_int_equal(alq_memprof_each(A_PROFILE, NULL, NULL), ALQ_EINVAL);
    assert_null(p);
}

static void
without_a_preload_there_is_no_heap(void **state)
{
    struct alq_profile *p = NULL;

    wrong_arguments_are_told_first(state);
    assert_int_equal(alq_memprof_start(NULL, NULL, &alq_tracker_null, &p),
                     ALQ_ENOHEAP);
    assert_null(p);
    assert_int_equal(alq_memprof_stop(NULL), ALQ_ENOHEAP);
    assert_int_equal(alq_memprof_flush(NULL, NULL), ALQ_ENOHEAP);
    assert_int_equal(alq_memprof_is_sampling(NULL), 0);
    assert_int_equal(
        alq_memprof_start(alq_thread_tree(), NULL, &alq_tracker_null, &p),
        ALQ_ENOHEAP);
    assert_int_equal(alq_memprof_stop(alq_thread_tree()), ALQ_ENOHEAP);
    assert_int_equal(alq_memprof_flush(alq_thread_tree(), NULL), ALQ_ENOHEAP);
    assert_int_equal(alq_memprof_is_sampling(alq_thread_tree()), 0);
    assert_int_equal(alq_profile_stop(A_PROFILE), ALQ_ENOHEAP);
    alq_profile_drop(NULL);
}

static void
a_preload_of_another_version_is_none(void **state)
{
    alq_preload_api.version = ALQI_PRELOAD_API_VERSION + 1;
    alq_preload_api.bytes = sizeof alq_preload_api;
    without_a_preload_there_is_no_heap(state);
    alq_preload_api.version = ALQI_PRELOAD_API_VERSION;
    alq_preload_api.bytes = sizeof alq_preload_api - 1;
    without_a_preload_there_is_no_heap(state);
}

static void
each_call_reaches_the_preload(void **state)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_memprof_counts n;
    struct alq_profile *p = NULL;
    int code = 0;

    alq_preload_api = (struct alqi_preload_api){
        ALQI_PRELOAD_API_VERSION,
        sizeof alq_preload_api,
        start,
        stop,
        discard,
        flush,
        is_sampling,
        each,
        counts,
        seed,
        drop,
        tree_start,
        tree_stop,
        tree_is_sampling,
        profile_stop,
    };
    wrong_arguments_are_told_first(state);
    assert_int_equal(alq_memprof_start(NULL, &c, &alq_tracker_null, &p),
                     ALQ_EBUSY);
    assert_ptr_equal(got[0], &c);
    assert_ptr_equal(got[1], &alq_tracker_null);
    assert_ptr_equal(got[2], &p);
    assert_int_equal(alq_memprof_stop(NULL), ALQ_ENOTRUN);
    assert_int_equal(alq_memprof_discard(A_PROFILE), ALQ_EGONE);
    assert_ptr_equal(got[0], A_PROFILE);
    assert_int_equal(alq_memprof_flush(NULL, &code), ALQ_ECALLBACK);
    assert_int_equal(code, -7);
    assert_int_equal(alq_memprof_is_sampling(NULL), 1);
    assert_int_equal(alq_memprof_each(A_PROFILE, visit_one, got), ALQ_EGONE);
    alq_profile_counts(A_PROFILE, &n);
    assert_int_equal(n.live_entries, 11);
    assert_int_equal(alq_profile_seed(A_PROFILE), 12);
    got[0] = NULL;
    alq_profile_drop(A_PROFILE);
    assert_ptr_equal(got[0], A_PROFILE);
}

static void
a_thread_tree_is_told_from_the_heap(void **state)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_domain *tree = alq_thread_tree();
    struct alq_profile *p = NULL;
    int code = 0;

    (void)state;
    c.flags |= ALQ_MEMPROF_BESIDE | ALQ_MEMPROF_DEFER;
    assert_int_equal(alq_memprof_start(tree, &c, &alq_tracker_null, &p),
                     ALQ_ENOMEM);
    assert_ptr_equal(got[0], &c);
    assert_ptr_equal(got[2], &p);
    assert_int_equal(alq_memprof_stop(tree), ALQ_ECALLBACK);
    assert_int_equal(alq_memprof_flush(tree, &code), ALQ_ECALLBACK);
    assert_int_equal(alq_memprof_is_sampling(tree), 2);
    got[0] = NULL;
    assert_int_equal(alq_profile_stop(A_PROFILE), ALQ_ENOTRUN);
    assert_ptr_equal(got[0], A_PROFILE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_preload_there_is_no_heap),
        cmocka_unit_test(a_preload_of_another_version_is_none),
        cmocka_unit_test(each_call_reaches_the_preload),
        cmocka_unit_test(a_thread_tree_is_told_from_the_heap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
