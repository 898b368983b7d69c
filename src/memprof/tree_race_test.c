/* tree_race_test.c -- threads that create threads while profiles come and go
 *
 * Each thread does, by chance: starts a tree's profile in place of its own or
 * beside it, creates a thread that takes its profiles over, stops its own or
 * any recent one, discards, counts, flushes; and all the while allocates and
 * frees blocks that change threads.  In the end no thread is left, so every
 * profile has stopped, and each ledger balances.  Run under TSan, too. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/test_seed.h"
#include "kits/memprof/ledger.h"

enum {
    ROOTS = 3,
    OPS = 4000,
    DEPTH_MAX = 4,
    CREATED_MAX = 3, /* by one thread */
    CELLS = 64,
    PROFILES = 1000
};

struct life {
    struct alqi_memprof_trees trees;
    uint64_t seed;
    unsigned depth;
    unsigned n_created;
    pthread_t created[CREATED_MAX];
    struct fake_thread f;
};

static struct ledger ledgers[PROFILES];
static _Atomic(uint32_t) n_ledgers, n_threads, n_inherited, n_stopped;
static _Atomic(void *) cells[CELLS];
static struct fake_heap heap;

static uint64_t
next(uint64_t *seed)
{
    return alqi_base_mix(*seed += 0x9E3779B97F4A7C15u);
}

static void
try_start(struct life *life, uint64_t r)
{
    static const double rates[] = {1.0, 0.3, 0.05, 1e-3};
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    uint32_t n = atomic_fetch_add(&n_ledgers, 1);
    struct alq_tracker t;
    struct ledger *l;

    if (n >= PROFILES) {
        atomic_fetch_sub(&n_ledgers, 1);
        return;
    }
    l = &ledgers[n];
    t = ledger_tracker(l);
    c.rate = rates[r % 4];
    c.callstack_frames = r / 4 % 20;
    c.flags = (r & 128 ? ALQ_MEMPROF_STRICT : 0) |
              (r & 256 ? ALQ_MEMPROF_DEFER : 0) |
              (r & 512 ? ALQ_MEMPROF_BESIDE : 0);
    if ((r & 0x1C00 ? fake_tree_start : fake_start)(&life->f, &c, &t,
                                                    &l->profile) == ALQ_OK)
        atomic_store(&l->is_open, true);
}

static void *live(void *arg);

static void
try_create(struct life *life, uint64_t r)
{
    struct life *child;

    if (life->depth == DEPTH_MAX || life->n_created == CREATED_MAX)
        return;
    child = calloc(1, sizeof *child);
    child->seed = r;
    child->depth = life->depth + 1;
    if (alqi_memprof_trees_copy(&life->f.t, &child->trees))
        n_inherited++;
    if (r & 1024) { /* as if the system had refused */
        alqi_memprof_trees_drop(&life->f.t, &child->trees, r & 2048);
        free(child);
        return;
    }
    if (pthread_create(&life->created[life->n_created++], NULL, live, child))
        abort();
}

static void
control(struct life *life, uint64_t r)
{
    uint32_t n = atomic_load(&n_ledgers);
    struct ledger *l = &ledgers[n > 8 ? n - 1 - (r >> 32) % 8 : 0];
    bool is_open = atomic_load(&l->is_open);
    struct alq_memprof_counts counts;

    switch (r % 16) {
    case 0:
        try_start(life, r >> 8);
        break;
    case 1:
    case 2:
    case 3:
    case 4:
        try_create(life, r >> 8);
        break;
    case 5:
        n_stopped += fake_tree_stop(&life->f) == ALQ_OK;
        break;
    case 6:
    case 7:
        if (is_open)
            n_stopped +=
                alqi_memprof_profile_stop(&life->f.t, l->profile) == ALQ_OK;
        break;
    case 8:
    case 9:
        if (is_open)
            (void)alqi_memprof_discard(&life->f.t, l->profile);
        break;
    default:
        if (is_open)
            alqi_memprof_counts(l->profile, &counts);
        (void)alqi_memprof_flush(&life->f.t, NULL);
    }
}

static void
block_op(struct life *life, uint64_t r)
{
    void *block = NULL;

    if (r & 1)
        block = fake_malloc(&life->f, (r >> 8) % 300);
    block = atomic_exchange(&cells[(r >> 32) % CELLS], block);
    if (block != NULL)
        fake_free(&life->f, block);
}

static void *
live(void *arg)
{
    struct life *life = arg;

    n_threads++;
    fake_thread_open_in(&life->f, &heap, life->seed | 1, &life->trees);
    for (unsigned i = 0; i < OPS; i++) {
        uint64_t r = next(&life->seed);

        if (r % 100 == 0)
            control(life, next(&life->seed));
        else
            block_op(life, r >> 8);
    }
    (void)alqi_memprof_flush(&life->f.t, NULL);
    if (life->seed & 1) /* before those it created, or after */
        fake_thread_close(&life->f);
    for (unsigned i = 0; i < life->n_created; i++)
        pthread_join(life->created[i], NULL);
    if (!(life->seed & 1))
        fake_thread_close(&life->f);
    free(life);
    return NULL;
}

static void
run_roots(void)
{
    pthread_t id[ROOTS];

    for (uintptr_t i = 0; i < ROOTS; i++) {
        struct life *root = calloc(1, sizeof *root);

        root->seed = i + 1 + alqi_base_test_seed();
        assert_int_equal(pthread_create(&id[i], NULL, live, root), 0);
    }
    for (unsigned i = 0; i < ROOTS; i++)
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
    /* Those of the domain itself do not end with a thread. */
    (void)alqi_memprof_stop(heap.domain, &f->t, ALQI_MEMPROF_SLOT_USER);
    for (unsigned i = ALQI_MEMPROF_SLOT_BESIDE; i < ALQI_MEMPROF_SLOTS; i++)
        (void)alqi_memprof_stop(heap.domain, &f->t, i);
    (void)alqi_memprof_flush(&f->t, NULL);
}

static void
every_tree_ends_and_balances(void **state)
{
    struct fake_thread *f = calloc(1, sizeof *f);
    uint64_t issued = 0;

    (void)state;
    fake_heap_open(&heap);
    fake_thread_open(f, &heap, 99);
    run_roots();
    finish(f);
    for (unsigned i = 0; i < PROFILES; i++) {
        issued += ledgers[i].n_issued;
        if (ledgers[i].is_open) /* .inv.attached */
            assert_int_equal(
                alqi_memprof_profile_stop(&f->t, ledgers[i].profile),
                ALQ_ENOTRUN);
        ledger_check(f, &ledgers[i]);
    }
    assert_true(issued > 10000); /* else nothing was tested */
    assert_true(n_threads > 20 && n_inherited > 20 && n_stopped > 20);
    fake_thread_close(f);
    fake_heap_close(&heap);
    free(f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tree_ends_and_balances),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
