/* observed_piece_test.c -- the trigger where minor heaps begin as a piece
 *
 * Of several domains that collect in stops each may take more of what is young
 * (heap/minor_quota.h); a global keeps them from collecting alone.  The law is
 * asked for each piece, and what it says counts from the first word that it has
 * not been asked for. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/base.h"
#include "heap/observe.h"
#include "heap/state.h"

enum { BLOCKS = ALQI_HEAP_IS_HARD ? 500 : 40000 };

static struct alq_domain *domain;
static struct alqi_domain *d;
static struct alq_global global;
static uint64_t gap = 1, n_requests, last_sample_at, n_minor, seed;

static uint64_t
skip_words(void *client, struct alqi_domain *of)
{
    (void)client;
    return of == d ? gap : UINT64_MAX;
}

static enum alq_status
request(void *client, struct alqi_domain *of, const uintptr_t *headers,
        unsigned n_blocks, uint64_t sample_at,
        const struct alqi_stack_regs *caller)
{
    (void)client;
    (void)of;
    (void)headers;
    (void)n_blocks;
    (void)caller;
    n_requests++;
    last_sample_at = sample_at;
    return ALQ_OK;
}

static uint64_t
request_done(void *client, struct alqi_domain *of, uintptr_t low)
{
    (void)low;
    return skip_words(client, of);
}

static void
request_cancel(void *client, struct alqi_domain *of)
{
    (void)client;
    (void)of;
}

static void
after_minor(void *client, struct alqi_domain *of)
{
    (void)client;
    n_minor += of == d;
}

static const struct alqi_heap_hooks hooks = {
    .skip_words = skip_words,
    .request = request,
    .request_done = request_done,
    .request_cancel = request_cancel,
    .after_minor = after_minor,
};

static void *
come_and_go(void *arg)
{
    struct alq_domain *other;

    (void)arg;
    if (alq_domain_new(NULL, &other) != ALQ_OK ||
        alq_domain_drop(other) != ALQ_OK)
        alqi_base_fail(__FILE__, __LINE__, "a domain comes and goes");
    return NULL;
}

/* From then on there may be others. */
static int
setup(void **state)
{
    pthread_t thread;

    (void)state;
    if (alq_domain_new(NULL, &domain) != ALQ_OK)
        return 1;
    d = alqi_heap_domain(domain);
    if (pthread_create(&thread, NULL, come_and_go, NULL) != 0)
        return 1;
    while (pthread_tryjoin_np(thread, NULL) != 0)
        alq_poll(domain);
    return alq_global_add(domain, &global) != ALQ_OK ||
           alqi_heap_observe_start(d, &hooks, NULL) != ALQ_OK;
}

static int
teardown(void **state)
{
    (void)state;
    alqi_heap_observe_stop(d);
    alq_global_remove(domain, &global);
    alq_domain_drop(domain);
    return 0;
}

/* One block; *left: words until the next hit.  Whether another piece was
 * taken: it is drawn from there, unless the hit is before. */
static bool
block_check(uint64_t *left)
{
    uint64_t words = 2 + (seed = alqi_base_mix(seed + 1)) % 30;
    uint64_t requests = n_requests, minor = n_minor;
    uintptr_t start = d->young.start;
    uint64_t room = ((uintptr_t)domain->young_ptr - start) / ALQ_WORD_BYTES;
    bool is_hit, has_grown;

    assert_int_not_equal(alq_alloc_small(domain, words - 1, 252), ALQ_NULL);
    has_grown = n_minor == minor && d->young.start != start;
    if (ALQI_HEAP_IS_HARD && n_minor != minor) { /* also behind the request */
        *left = n_requests > requests ? gap : gap - words;
        return false;
    }
    if (n_minor != minor)
        *left = gap;
    else if (has_grown && *left > room)
        *left = room + gap;
    is_hit = *left <= words;
    assert_int_equal(n_requests - requests, is_hit);
    if (is_hit)
        assert_true(last_sample_at == *left);
    *left = is_hit ? gap : *left - words;
    return has_grown;
}

static void
the_trigger_is_exact_in_each(void **state)
{
    static const uint64_t gaps[] = {1, 3, 999, 20000, 32768, 50000, 1000000};
    unsigned i, n_grown = 0;
    size_t k;

    (void)state;
    for (k = 0; k < sizeof gaps / sizeof *gaps; k++) {
        uint64_t left = gap = gaps[k];

        assert_int_equal(alq_gc_minor(domain), ALQ_OK); /* draws */
        for (i = 0; i < BLOCKS; i++)
            n_grown += block_check(&left);
    }
    assert_true(n_requests > BLOCKS);
    assert_true(ALQI_HEAP_IS_HARD || n_grown > 100);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_trigger_is_exact_in_each, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
