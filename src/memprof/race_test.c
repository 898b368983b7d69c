/* race_test.c -- threads that do everything at once, against a ledger
 *
 * The ledger is ledger.h's.  In the end every profile is discarded and each
 * ledger balances.  Blocks change threads through shared cells, so that
 * callbacks, reallocs and frees of one block meet on several threads.  Run
 * under TSan, too. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/test_effort.h"
#include "base/test_seed.h"
#include "memprof/filter.h"
#include "kits/memprof/ledger.h"

enum {
    THREADS = 4,
    OPS = ALQI_TEST_ROUNDS(300000, 100000, 100000),
    CELLS = 64,
    PROFILES = 512,
    OWN_BLOCKS = 32
};

static struct ledger ledgers[PROFILES];
static _Atomic(uint32_t) n_ledgers;
static _Atomic(void *) cells[CELLS];
static struct fake_heap heap;

static uint64_t
next(uint64_t *seed)
{
    return alqi_base_mix(*seed += 0x9E3779B97F4A7C15u);
}

static void
try_start(struct fake_thread *f, uint64_t r)
{
    static const double rates[] = {1.0, 0.3, 0.05, 1e-3};
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_tracker t;
    uint32_t n = atomic_fetch_add(&n_ledgers, 1);
    struct ledger *l;

    if (n >= PROFILES) {
        atomic_fetch_sub(&n_ledgers, 1);
        return;
    }
    l = &ledgers[n];
    c.rate = rates[r % 4];
    c.callstack_frames = r / 4 % 50;
    c.flags =
        (r & 256 ? ALQ_MEMPROF_STRICT : 0) | (r & 512 ? ALQ_MEMPROF_DEFER : 0);
    c.max_entries = r & 1024 ? 50 : 0;
    t = ledger_tracker(l);
    if (alqi_memprof_start(heap.domain, &f->t,
                           r & 2048 ? ALQI_MEMPROF_SLOT_USER
                                    : ALQI_MEMPROF_SLOT_COUNT,
                           &c, &t, &l->profile) == ALQ_OK)
        atomic_store(&l->is_open, true);
}

static void
control(struct fake_thread *f, uint64_t r)
{
    uint32_t n = atomic_load(&n_ledgers);
    struct ledger *l = &ledgers[n > 8 ? n - 1 - (r >> 32) % 8 : 0];
    struct alq_memprof_counts counts;

    switch (r % 6) {
    case 0:
        try_start(f, r >> 8);
        break;
    case 1:
        (void)alqi_memprof_stop(heap.domain, &f->t,
                                r & 256 ? ALQI_MEMPROF_SLOT_USER
                                        : ALQI_MEMPROF_SLOT_COUNT);
        break;
    case 2:
        if (n > 0 && atomic_load(&l->is_open))
            (void)alqi_memprof_discard(&f->t, l->profile);
        break;
    case 3:
        if (atomic_load(&l->is_open))
            alqi_memprof_counts(l->profile, &counts);
        break;
    default:
        (void)alqi_memprof_flush(&f->t, NULL);
    }
}

static void
block_op(struct fake_thread *f, void **own, uint64_t r)
{
    void **mine = &own[(r >> 8) % OWN_BLOCKS];
    size_t bytes = (r >> 16) % 300 + 1;

    switch (r % 5) {
    case 0:
    case 1: /* malloc, free, and hand one over */
        if (*mine == NULL) {
            *mine = fake_malloc(f, bytes);
            break;
        }
        *mine = atomic_exchange(&cells[(r >> 32) % CELLS], *mine);
        if (*mine != NULL && r & 1024)
            break;
        __attribute__((fallthrough));
    case 2:
        if (*mine != NULL)
            fake_free(f, *mine);
        *mine = NULL;
        break;
    default:
        if (*mine != NULL) {
            void *fresh = fake_realloc(f, *mine, bytes, r & 4096);

            if (fresh != NULL)
                *mine = fresh;
        }
    }
}

static void *
work(void *arg)
{
    uint64_t seed = (uintptr_t)arg + alqi_base_test_seed();
    struct fake_thread *f = calloc(1, sizeof *f);
    void *own[OWN_BLOCKS] = {0};

    fake_thread_open(f, &heap, seed);
    for (unsigned i = 0; i < OPS; i++) {
        uint64_t r = next(&seed);

        if (r % 500 != 0) {
            block_op(f, own, r >> 8);
        } else if (r / 500 % 20 != 0) {
            control(f, next(&seed));
        } else {
            fake_thread_close(f);
            fake_thread_open(f, &heap, seed);
        }
    }
    for (unsigned i = 0; i < OWN_BLOCKS; i++)
        if (own[i] != NULL)
            fake_free(f, own[i]);
    fake_thread_close(f);
    free(f);
    return NULL;
}

static void
run_threads(void *(*body)(void *))
{
    pthread_t id[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&id[i], NULL, body, (void *)(i + 1)),
                         0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(id[i], NULL), 0);
}

static void
finish(struct fake_thread *f)
{
    for (unsigned i = 0; i < CELLS; i++) {
        void *b = atomic_exchange(&cells[i], NULL);

        if (b != NULL)
            fake_free(f, b);
    }
    (void)alqi_memprof_stop(heap.domain, &f->t, ALQI_MEMPROF_SLOT_USER);
    (void)alqi_memprof_stop(heap.domain, &f->t, ALQI_MEMPROF_SLOT_COUNT);
    (void)alqi_memprof_flush(&f->t, NULL);
}

static void
every_ledger_balances(void **state)
{
    struct fake_thread *f = calloc(1, sizeof *f);
    uint64_t issued = 0, released = 0;

    (void)state;
    fake_heap_open(&heap);
    fake_thread_open(f, &heap, 99);
    run_threads(work);
    finish(f);
    for (unsigned i = 0; i < PROFILES; i++) {
        issued += ledgers[i].n_issued;
        released += ledgers[i].releases;
        ledger_check(f, &ledgers[i]);
    }
    assert_true(issued > 1000); /* else nothing was tested */
    assert_true(released > 10);
    fake_thread_close(f);
    fake_heap_close(&heap);
    free(f);
}

/* ---- exactness ---------------------------------------------------------- */

static _Atomic(uint64_t) words_sampled, words_allocated, freed;

static int
count_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    (void)arg;
    (void)data;
    atomic_fetch_add(&words_sampled, a->n_samples);
    return ALQ_TRACK_KEEP;
}

static int
count_dealloc(void *arg, uintptr_t data)
{
    (void)arg;
    (void)data;
    atomic_fetch_add(&freed, 1);
    return 0;
}

static void *
produce(void *arg)
{
    uint64_t seed = (uintptr_t)arg + alqi_base_test_seed();
    struct fake_thread *f = calloc(1, sizeof *f);

    fake_thread_open(f, &heap, seed);
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t r = next(&seed);
        void *b = fake_malloc(f, r % 500);

        b = atomic_exchange(&cells[(r >> 32) % CELLS], b);
        if (b != NULL)
            fake_free(f, b);
    }
    atomic_fetch_add(&words_allocated, f->words);
    fake_thread_close(f);
    free(f);
    return NULL;
}

static void
rate_one_is_exact_on_all_threads(void **state) /* [A7] */
{
    const struct alq_tracker t = {.alloc_major = count_alloc,
                                  .dealloc_major = count_dealloc};
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct fake_thread *f = calloc(1, sizeof *f);
    struct alq_memprof_counts n;
    struct alq_profile *p;

    (void)state;
    fake_heap_open(&heap);
    fake_thread_open(f, &heap, 99);
    c.rate = 1.0;
    words_sampled = words_allocated = freed = 0;
    assert_int_equal(fake_start(f, &c, &t, &p), ALQ_OK);
    run_threads(produce);
    finish(f);
    assert_int_equal(words_sampled, words_allocated);
    assert_int_equal(freed, THREADS * 20000);
    alqi_memprof_counts(p, &n);
    assert_int_equal(n.sampled_blocks, THREADS * 20000);
    assert_int_equal(n.sampled_words, words_allocated);
    assert_int_equal(n.live_entries, 0);
    alqi_memprof_profile_drop(p);
    fake_thread_close(f);
    fake_heap_close(&heap);
    free(f);
}

/* ---- growth ----------------------------------------------------------------
 */

enum { GROWTH_BLOCKS = 30000, GROWTH_LAG = 20000 };

static _Atomic(void *) handed[THREADS][GROWTH_BLOCKS];

static void
take_and_free(struct fake_thread *f, unsigned from, unsigned i)
{
    void *b;

    while ((b = atomic_load(&handed[from][i])) == NULL)
        sched_yield();
    fake_free(f, b);
}

/* Each thread frees, far behind, what another one has allocated. */
static void *
pass_on(void *arg)
{
    unsigned self = (unsigned)(uintptr_t)arg - 1, from = (self + 1) % THREADS;
    struct fake_thread *f = calloc(1, sizeof *f);

    fake_thread_open(f, &heap, self + 1);
    for (unsigned i = 0; i < GROWTH_BLOCKS; i++) {
        atomic_store(&handed[self][i], fake_malloc(f, i % 64));
        if (i >= GROWTH_LAG)
            take_and_free(f, from, i - GROWTH_LAG);
    }
    for (unsigned i = GROWTH_BLOCKS - GROWTH_LAG; i < GROWTH_BLOCKS; i++)
        take_and_free(f, from, i);
    fake_thread_close(f);
    free(f);
    return NULL;
}

static void
a_growing_filter_misses_no_free(void **state) /* .inv.zero */
{
    const struct alq_tracker t = {.alloc_major = count_alloc,
                                  .dealloc_major = count_dealloc};
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct fake_thread *f = calloc(1, sizeof *f);
    uintptr_t before = alqi_memprof_filter_mask;
    struct alq_memprof_counts n;
    struct alq_profile *p;

    (void)state;
    fake_heap_open(&heap);
    fake_thread_open(f, &heap, 99);
    c.rate = 1.0;
    freed = 0;
    assert_int_equal(fake_start(f, &c, &t, &p), ALQ_OK);
    run_threads(pass_on);
    assert_int_equal(freed, THREADS * GROWTH_BLOCKS);
    alqi_memprof_counts(p, &n);
    assert_int_equal(n.live_entries, 0);
    assert_true(alqi_memprof_filter_mask > before); /* else nothing grew */
    assert_int_equal(fake_stop(f), ALQ_OK);
    alqi_memprof_profile_drop(p);
    fake_thread_close(f);
    fake_heap_close(&heap);
    free(f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_growing_filter_misses_no_free),
        cmocka_unit_test(every_ledger_balances),
        cmocka_unit_test(rate_one_is_exact_on_all_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
