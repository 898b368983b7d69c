/* domains_test.c -- several domains and threads, each call and scenario by
 * itself (rows C of spec statmemprof 6.3, with their numbers) */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "domains_kit.h"
#include "value_kit.h"

static uint64_t
cycles(struct alq_domain *of)
{
    struct alq_gc_counts c;

    CHECK(alq_gc_counters(of, &c) == ALQ_OK);
    return c.major_cycles;
}

static uint64_t
heap_bytes(struct alq_domain *of)
{
    struct alq_gc_counts c;

    CHECK(alq_gc_counters(of, &c) == ALQ_OK);
    return c.heap_bytes;
}

static alq_value
give_back(struct alq_domain *on, alq_value arg, void *data)
{
    (void)on;
    (void)data;
    return arg;
}

/* ---- calls -------------------------------------------------------------- */

static void
bad_arguments_are_refused(void **state)
{
    struct alq_domain_config wild = {1, 0, 0, 0, 0};
    struct alq_child *child = NULL;
    struct alq_thread *thread = NULL;
    alq_value v;
    int pid;

    (void)state;
    assert_int_equal(alq_domain_spawn(NULL, burn, ALQ_UNIT, NULL, NULL, &child),
                     ALQ_EINVAL);
    assert_int_equal(alq_domain_spawn(d, NULL, ALQ_UNIT, NULL, NULL, &child),
                     ALQ_EINVAL);
    assert_int_equal(alq_domain_spawn(d, burn, ALQ_UNIT, NULL, NULL, NULL),
                     ALQ_EINVAL);
    assert_int_equal(alq_domain_spawn(d, burn, ALQ_UNIT, NULL, &wild, &child),
                     ALQ_EINVAL);
    assert_int_equal(alq_domain_join(d, NULL, &v), ALQ_EINVAL);
    assert_int_equal(alq_thread_attach(NULL, &thread), ALQ_EINVAL);
    assert_int_equal(alq_thread_attach(d, NULL), ALQ_EINVAL);
    assert_int_equal(alq_thread_attach(d, &thread), ALQ_EBUSY);
    assert_int_equal(alq_thread_detach(NULL), ALQ_EINVAL);
    assert_int_equal(alq_thread_yield(NULL), ALQ_EINVAL);
    assert_int_equal(alq_blocking_end(NULL), ALQ_EINVAL);
    assert_int_equal(alq_fork(NULL, &pid), ALQ_EINVAL);
    assert_int_equal(alq_fork(d, NULL), ALQ_EINVAL);
    assert_null(alq_blocking_begin(NULL));
    assert_null(child);
    assert_null(thread);
    assert_int_equal(alq_domain_id(NULL), 0);
    alq_child_drop(NULL);
}

static void *
misuse(void *arg)
{
    struct alq_child *child = NULL;
    int pid;

    (void)arg;
    CHECK(alq_domain_self() == NULL);
    CHECK(alq_gc_minor(d) == ALQ_ESTATE);
    CHECK(alq_gc_full_major(d) == ALQ_ESTATE);
    CHECK(alq_blocking_begin(d) == NULL);
    CHECK(alq_thread_yield(d) == ALQ_ESTATE);
    CHECK(alq_domain_spawn(d, burn, ALQ_UNIT, NULL, NULL, &child) ==
          ALQ_ESTATE);
    CHECK(alq_domain_drop(d) == ALQ_ESTATE);
    CHECK(alq_fork(d, &pid) == ALQ_ESTATE);
    return NULL;
}

static void
foreign_threads_are_refused(void **state)
{
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, misuse, NULL), 0);
    pthread_join(thread, NULL);
    assert_ptr_equal(alq_domain_self(), d);
}

static alq_value
join_self(struct alq_domain *on, alq_value arg, void *data)
{
    struct alq_child **child = data;
    alq_value v;

    (void)arg;
    while (__atomic_load_n(child, __ATOMIC_ACQUIRE) == NULL)
        alq_poll(on);
    return alq_from_int(alq_domain_join(on, *child, &v) == ALQ_ESTATE);
}

static void
a_domain_cannot_join_itself(void **state)
{
    struct alq_child *child, *seen = NULL;

    (void)state;
    child = spawn(d, join_self, ALQ_UNIT, &seen);
    __atomic_store_n(&seen, child, __ATOMIC_RELEASE);
    assert_int_equal(alq_to_int(finish(d, child)), 1);
}

/* C13 */
static alq_value
own_id(struct alq_domain *on, alq_value arg, void *data)
{
    (void)arg;
    (void)data;
    CHECK(alq_domain_self() == on);
    return alq_from_int((intptr_t)alq_domain_id(on));
}

static void
ids_are_unique(void **state)
{
    enum { N = 50 };
    struct alq_child *children[N];
    uint64_t ids[N];
    int i, j;

    (void)state;
    for (i = 0; i < N; i++)
        children[i] = spawn(d, own_id, ALQ_UNIT, NULL);
    for (i = 0; i < N; i++) {
        ids[i] = (uint64_t)alq_to_int(finish(d, children[i]));
        assert_int_not_equal(ids[i], alq_domain_id(d));
        for (j = 0; j < i; j++)
            assert_int_not_equal(ids[i], ids[j]);
    }
}

static uint64_t
minors(struct alq_domain *of)
{
    struct alq_gc_counts c;

    CHECK(alq_gc_counters(of, &c) == ALQ_OK);
    return c.minor_collections;
}

static void
waste(size_t words)
{
    size_t i;

    for (i = 0; i < words / 8; i++)
        assert_false(alq_is_null(alq_alloc_small(d, 7, ALQ_TAG_ABSTRACT)));
}

/* All are collected together, as anybody may read the global: not before what
 * they have together is used, nor later. */
static void
a_minor_heap_takes_what_others_leave(void **state)
{
    struct gate gate = GATE;
    struct alq_child *child = spawn(d, through_gate, ALQ_UNIT, &gate);
    struct alq_global global = {.value = ALQ_UNIT};
    struct alq_gc_control control;
    uint64_t n;
    int i;

    (void)state;
    gate_await(&gate, 1);
    assert_int_equal(alq_global_add(d, &global), ALQ_OK);
    for (i = 0; i < 3; i++) {
        assert_int_equal(alq_gc_minor(d), ALQ_OK);
        assert_int_equal(alq_gc_get(d, &control), ALQ_OK);
        n = minors(d);
        assert_true(IS_HARD || alq_gc_get_minor_free(d) ==
                                   (size_t)control.minor_heap_size * 15 / 8);
        waste((size_t)control.minor_heap_size * 7 / 4);
        assert_true(minors(d) == n || IS_HARD);
        waste((size_t)control.minor_heap_size / 4);
        assert_true(minors(d) == n + 1 || IS_HARD);
    }
    alq_global_remove(d, &global);
    gate_open(&gate);
    finish(d, child);
}

/* ---- spawning ----------------------------------------------------------- */

/* C9: argument and result, young and old and out of the heap. */
static void
values_come_and_go(void **state)
{
    static const uintptr_t still[2] = {3 << 8 | 1 << ALQ_WOSIZE_SHIFT, 85};
    ALQ_FRAME(d, f, v, back);
    int i;

    (void)state;
    for (i = 0; i < 10; i++) {
        f.v = tree(d, 6);
        if (i % 2 == 1)
            assert_int_equal(alq_gc_minor(d), ALQ_OK);
        f.back = finish(d, spawn(d, i % 3 == 0 ? burn : give_back, f.v, NULL));
        assert_same(f.back, f.v);
        assert_int_equal(tree_size(f.back), 63);
    }
    f.back = finish(d, spawn(d, burn, ALQ_VALUE(&still[1]), NULL));
    assert_same(f.back, ALQ_VALUE(&still[1]));
    assert_int_equal(alq_to_int(alq_field(f.back, 0)), 42);
}

static alq_value
make_tree(struct alq_domain *on, alq_value arg, void *data)
{
    (void)data;
    return tree(on, (int)alq_to_int(arg));
}

/* C14 */
static void
values_outlive_their_domain(void **state)
{
    ALQ_FRAME(d, f, v);
    int i;

    (void)state;
    for (i = 0; i < 20; i++) {
        f.v = finish(d, spawn(d, make_tree, alq_from_int(10), NULL));
        assert_int_equal(tree_size(f.v), 1023);
        if (i % 3 == 0)
            assert_int_equal(alq_gc_full_major(d), ALQ_OK);
        assert_int_equal(tree_size(f.v), 1023);
    }
}

struct line {
    struct alq_child **children;
    int n;
};

static alq_value
join_all(struct alq_domain *on, alq_value arg, void *data)
{
    struct line *line = data;
    int i, twice;

    for (twice = 0; twice < 2; twice++)
        for (i = 0; i < line->n; i++)
            CHECK(tree_size(join(on, line->children[i])) == 31);
    return arg;
}

/* C8 */
static void
many_are_joined_by_several_twice(void **state)
{
    static const int sizes[] = {14, 100};
    struct alq_child *children[100], *joiners[3];
    struct line line = {children, 0};
    unsigned k;
    int i;

    (void)state;
    for (k = 0; k < ALQI_COUNT_OF(sizes); k++) {
        line.n = sizes[k];
        for (i = 0; i < line.n; i++)
            children[i] = spawn(d, make_tree, alq_from_int(5), NULL);
        for (i = 0; i < 3; i++)
            joiners[i] = spawn(d, join_all, alq_from_int(i), &line);
        for (i = 0; i < 3; i++)
            assert_int_equal(alq_to_int(finish(d, joiners[i])), i);
        for (i = 0; i < line.n; i++)
            alq_child_drop(children[i]);
    }
}

static void
a_child_may_be_forgotten(void **state)
{
    int i;

    (void)state;
    for (i = 0; i < 20; i++) {
        struct alq_child *child = spawn(d, make_tree, alq_from_int(5), NULL);

        if (i % 2 == 0)
            alq_poll(d);
        alq_child_drop(child);
    }
}

/* C3 */
static void
slots_are_used_again(void **state)
{
    int i, n = IS_HARD ? 10 : 200;

    (void)state;
    for (i = 0; i < n; i++)
        assert_same(finish(d, spawn(d, burn, ALQ_UNIT, NULL)), ALQ_UNIT);
}

static alq_value
spawn_burn(struct alq_domain *on, alq_value arg, void *data)
{
    struct alq_domain_config config = {4096, 0, 0, 0, 0};
    int i, n = IS_HARD ? 1 : 5;

    for (i = 0; i < n; i++) {
        struct alq_child *child = NULL;

        config.minor_words = (size_t)(4096 << i);
        CHECK(alq_domain_spawn(on, burn, arg, data, &config, &child) == ALQ_OK);
        burn(on, arg, data);
        finish(on, child);
    }
    return arg;
}

/* C2; C1 is in domains_load_test.c, as is C15, and C5 in misuse_test.c */
static void
domains_spawn_and_burn_at_once(void **state)
{
    enum { N = 4 };
    struct alq_child *children[N];
    int i;

    (void)state;
    for (i = 0; i < N; i++)
        children[i] = spawn(d, spawn_burn, ALQ_UNIT, NULL);
    burn(d, ALQ_UNIT, NULL);
    for (i = 0; i < N; i++)
        finish(d, children[i]);
}

/* ---- how many ----------------------------------------------------------- */

/* C12: with a limit of 128, all of them at once, and not one more. */
static void
there_may_be_128_domains(void **state)
{
    enum { N = 127 };
    struct gate gate = GATE;
    struct alq_child *children[N], *more = NULL;
    int i;

    (void)state;
    for (i = 0; i < N; i++)
        children[i] = spawn(d, through_gate, tree(d, 4), &gate);
    gate_await(&gate, N);
    assert_int_equal(alq_domain_spawn(d, burn, ALQ_UNIT, NULL, NULL, &more),
                     ALQ_EBUSY);
    assert_null(more);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    gate_open(&gate);
    for (i = 0; i < N; i++)
        assert_int_equal(tree_size(finish(d, children[i])), 15);
    finish(d, spawn(d, give_back, ALQ_UNIT, NULL));
}

static void
domains_max_is_obeyed(void **state)
{
    struct alq_domain_config one = {0, 0, 0, 0, 1};
    struct alq_domain_config wild = {0, 0, 0, 0, 129};
    struct alq_child *child = NULL;

    (void)state;
    alq_domain_drop(d);
    assert_int_equal(alq_domain_new(&wild, &d), ALQ_EINVAL);
    assert_int_equal(alq_domain_new(&one, &d), ALQ_OK);
    assert_int_equal(alq_domain_spawn(d, burn, ALQ_UNIT, NULL, NULL, &child),
                     ALQ_EBUSY);
    assert_null(child);
}

/* ---- memory runs out ---------------------------------------------------- */

enum { LIMIT_BYTES = 12 << 20, RESERVE_BYTES = 1 << 20 };

/* Fills the heap with a list, whole or of large blocks, until that fails, a few
 * times over; once all are there, who need memory to begin. */
static alq_value
fill(struct alq_domain *on, alq_value arg, void *data)
{
    intptr_t i, n, rounds;
    ALQ_FRAME(on, f, list, next);

    while (!__atomic_load_n((int *)data, __ATOMIC_RELAXED))
        alq_poll(on);
    for (rounds = 0; rounds < ALQI_TEST_ROUNDS(6, 2, 1); rounds++) {
        for (n = 0; n < 3000000 / (IS_HARD ? 100 : 1); n++) {
            f.next = alq_alloc(on, (alq_is_same(arg, ALQ_UNIT)) ? 2 : 3000, 0);
            if (alq_is_null(f.next))
                break;
            alq_init(on, f.next, 0, alq_from_int(n));
            alq_init(on, f.next, 1, f.list);
            f.list = f.next;
            /* Another one's status may stand. */
            CHECK(heap_bytes(on) <= LIMIT_BYTES + RESERVE_BYTES);
        }
        CHECK(IS_HARD || alq_status_of(on) == ALQ_ENOMEM);
        for (i = n, f.next = f.list; i-- > 0; f.next = alq_field(f.next, 1))
            CHECK(alq_to_int(alq_field(f.next, 0)) == i);
        CHECK(alq_is_null(f.next));
        f.list = ALQ_NULL;
        alq_status_clear(on);
        {
            ALQ_BLOCKING(on, blocks);
            sched_yield();
        }
        CHECK(alq_gc_full_major(on) == ALQ_OK);
    }
    return arg;
}

static void
memory_runs_out_for_all(void **state)
{
    enum { N = 4 };
    struct alq_domain_config config = {8192, 0, LIMIT_BYTES, RESERVE_BYTES, 0};
    struct alq_child *children[N] = {NULL};
    int i, are_there = 0;

    (void)state;
    alq_domain_drop(d);
    assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
    for (i = 0; i < N; i++)
        assert_int_equal(alq_domain_spawn(d, fill, alq_from_int(i % 2),
                                          &are_there, &config, &children[i]),
                         ALQ_OK);
    __atomic_store_n(&are_there, 1, __ATOMIC_RELAXED);
    for (i = 0; i < N; i++)
        finish(d, children[i]);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_true(heap_bytes(d) < LIMIT_BYTES / 4);
}

/* ---- blocking ----------------------------------------------------------- */

struct pipes {
    int to_child[2];
    int to_parent[2];
};

/* Has a tree that is needed and one that is not, and blocks in read(). */
static alq_value
block_in_read(struct alq_domain *on, alq_value arg, void *data)
{
    struct pipes *pipes = data;
    ALQ_FRAME(on, f, kept, dead);
    char c = 'x';

    (void)arg;
    f.kept = tree(on, IS_HARD ? 6 : 12);
    f.dead = tree(on, IS_HARD ? 6 : 16);
    CHECK(alq_gc_minor(on) == ALQ_OK); /* both are in its pools */
    f.dead = ALQ_NULL;
    {
        ALQ_BLOCKING(on, blocks);

        CHECK(alq_domain_self() == NULL);
        CHECK(write(pipes->to_parent[1], &c, 1) == 1);
        CHECK(read(pipes->to_child[0], &c, 1) == 1);
    }
    CHECK(alq_domain_self() == on);
    CHECK(tree_size(f.kept) == (IS_HARD ? 63 : 4095));
    return ALQ_UNIT;
}

static void
read_one(int fd)
{
    char c;
    ALQ_BLOCKING(d, blocks);

    assert_int_equal(read(fd, &c, 1), 1);
}

/* C4, C6: collections are complete while another domain blocks, and what is
 * dead there is freed. */
static void
a_blocked_domain_holds_up_nothing(void **state)
{
    struct pipes pipes;
    struct alq_child *child;
    uint64_t before, bytes;
    int i;

    (void)state;
    assert_int_equal(pipe(pipes.to_child), 0);
    assert_int_equal(pipe(pipes.to_parent), 0);
    child = spawn(d, block_in_read, ALQ_UNIT, &pipes);
    read_one(pipes.to_parent[0]);
    bytes = heap_bytes(d);
    before = cycles(d);
    for (i = 0; i < 10; i++)
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_true(cycles(d) - before >= 20);
    if (!IS_HARD)
        assert_true(bytes - heap_bytes(d) > 60000 * 3 * ALQ_WORD_BYTES);
    assert_int_equal(write(pipes.to_child[1], "y", 1), 1);
    finish(d, child);
    for (i = 0; i < 2; i++) {
        close(pipes.to_child[i]);
        close(pipes.to_parent[i]);
    }
}

/* C4: also by slices alone, which do the work of the domain that is away. */
static void
cycles_progress_while_another_blocks(void **state)
{
    struct pipes pipes;
    struct alq_child *child;
    uint64_t before;
    int i, n = 100000;

    (void)state;
    assert_int_equal(pipe(pipes.to_child), 0);
    assert_int_equal(pipe(pipes.to_parent), 0);
    child = spawn(d, block_in_read, ALQ_UNIT, &pipes);
    read_one(pipes.to_parent[0]);
    before = cycles(d);
    for (i = 0; i < n && cycles(d) < before + 5; i++)
        assert_int_equal(alq_gc_major_slice(d, 10000), ALQ_OK);
    assert_true(cycles(d) >= before + 5);
    assert_int_equal(write(pipes.to_child[1], "y", 1), 1);
    finish(d, child);
    for (i = 0; i < 2; i++) {
        close(pipes.to_child[i]);
        close(pipes.to_parent[i]);
    }
}

/* C7 */
static alq_value
poll_until(struct alq_domain *on, alq_value arg, void *data)
{
    int *stop = data;

    while (!__atomic_load_n(stop, __ATOMIC_RELAXED))
        alq_poll(on);
    return arg;
}

static void
a_loop_that_polls_is_stopped(void **state)
{
    int i, stop = 0;
    struct alq_child *child;

    (void)state;
    child = spawn(d, poll_until, ALQ_UNIT, &stop);
    for (i = 0; i < 100; i++)
        assert_int_equal(alq_gc_minor(d), ALQ_OK);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    finish(d, child);
}

struct polling {
    int stop;
    unsigned n_polls;
};

static alq_value
hold_and_poll(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, kept);
    struct polling *p = data;

    f.kept = tree(on, IS_HARD ? 6 : 16);
    while (!__atomic_load_n(&p->stop, __ATOMIC_RELAXED)) {
        alq_poll(on);
        __atomic_fetch_add(&p->n_polls, 1, __ATOMIC_RELAXED);
    }
    return arg;
}

/* However busy the processor is: twice, so that one began meanwhile. */
static void
await_polls(const struct polling *p)
{
    unsigned n = __atomic_load_n(&p->n_polls, __ATOMIC_RELAXED);
    ALQ_BLOCKING(d, blocks);

    while (__atomic_load_n(&p->n_polls, __ATOMIC_RELAXED) - n < 2)
        usleep(100);
}

/* What it holds is marked, though it never allocates, nor another one young:
 * it is asked.  (Else no cycle ends, and nothing is freed.) */
static void
a_loop_that_polls_does_its_share(void **state)
{
    enum { BLOCKS = IS_HARD ? 2000 : 200000, WORDS = 300, A_WHILE = 500 };
    struct alq_child *child;
    struct polling polling = {0};
    uint64_t before;
    int i;

    (void)state;
    child = spawn(d, hold_and_poll, ALQ_UNIT, &polling);
    before = cycles(d);
    for (i = 0; i < BLOCKS && cycles(d) < before + 5; i++) {
        assert_false(alq_is_null(alq_alloc(d, WORDS, ALQ_TAG_ABSTRACT)));
        if (i % A_WHILE == 0)
            await_polls(&polling);
    }
    assert_true(cycles(d) >= before + 5);
    __atomic_store_n(&polling.stop, 1, __ATOMIC_RELAXED);
    finish(d, child);
}

/* ---- sharing ------------------------------------------------------------ */

static struct alq_global shared;

static void
shared_set(alq_value v)
{
    shared.value = v;
    assert_int_equal(alq_global_add(d, &shared), ALQ_OK);
}

enum { PINGS = 100000 / SLOW };

/* Waits for the cell to hold a block of number n. */
static alq_value
take(struct alq_domain *on, uintptr_t cell, intptr_t n)
{
    alq_value v;
    unsigned spins = 0;

    for (;;) {
        v = alq_field_acquire(shared.value, cell);
        if (alq_is_block(v) && alq_to_int(alq_field(v, 0)) == n)
            return v;
        alq_poll(on);
        if (++spins % 64 == 0)
            sched_yield();
    }
}

static void
put(struct alq_domain *on, uintptr_t cell, intptr_t n)
{
    alq_value v = alq_alloc_small(on, 1, 0);

    CHECK(!alq_is_null(v));
    alq_init_small(v, 0, alq_from_int(n));
    alq_store(on, shared.value, cell, v);
}

static alq_value
pong(struct alq_domain *on, alq_value arg, void *data)
{
    intptr_t i;

    (void)data;
    for (i = 0; i < PINGS; i++) {
        CHECK(alq_is_block(take(on, 0, i)));
        put(on, 1, i);
    }
    return arg;
}

/* C10 */
static void
young_blocks_are_handed_to_and_fro(void **state)
{
    struct alq_child *child;
    intptr_t i;

    (void)state;
    shared_set(alq_alloc(d, 2, 0));
    child = spawn(d, pong, ALQ_UNIT, NULL);
    for (i = 0; i < PINGS; i++) {
        put(d, 0, i);
        take(d, 1, i);
    }
    finish(d, child);
    alq_global_remove(d, &shared);
}

enum { CELLS = 256, ADDERS = 4, ADDS = 100000 / SLOW };

static alq_value
add(struct alq_domain *on, alq_value arg, void *data)
{
    alq_value old, v;
    uintptr_t cell;
    int i;

    (void)data;
    for (i = 0; i < ADDS; i++) {
        cell = (uintptr_t)i % CELLS;
        alq_field_fetch_add(alq_field(shared.value, 0), cell, 1);
        if (i % 16 != 0)
            continue;
        /* Replaces a block by one that holds one more. */
        do {
            v = alq_alloc_small(on, 1, 0); /* may collect: before the load */
            CHECK(!alq_is_null(v));
            old = alq_field_acquire(alq_field(shared.value, 1), cell);
            alq_init_small(v, 0,
                           alq_from_int(alq_to_int(alq_field(old, 0)) + 1));
        } while (!alq_field_compare_exchange(on, alq_field(shared.value, 1),
                                             cell, &old, v));
    }
    return arg;
}

static alq_value
cells_new(alq_value with)
{
    ALQ_FRAME(d, f, with, cells);
    uintptr_t i;

    f.with = with;
    f.cells = alq_alloc(d, CELLS, 0);
    for (i = 0; i < CELLS; i++)
        alq_init(d, f.cells, i, f.with);
    return f.cells;
}

/* C11 */
static void
atomic_fields_lose_nothing(void **state)
{
    struct alq_child *children[ADDERS];
    intptr_t sums[2] = {0, 0};
    uintptr_t i;
    alq_value v;

    (void)state;
    shared_set(alq_alloc(d, 2, 0));
    v = cells_new(alq_from_int(0));
    alq_store(d, shared.value, 0, v);
    v = alq_alloc_small(d, 1, 0);
    alq_init_small(v, 0, alq_from_int(0));
    v = cells_new(v);
    alq_store(d, shared.value, 1, v);
    for (i = 0; i < ADDERS; i++)
        children[i] = spawn(d, add, ALQ_UNIT, NULL);
    for (i = 0; i < ADDERS; i++)
        finish(d, children[i]);
    for (i = 0; i < CELLS; i++) {
        sums[0] += alq_to_int(alq_field(alq_field(shared.value, 0), i));
        v = alq_field(alq_field(shared.value, 1), i);
        sums[1] += alq_to_int(alq_field(v, 0));
    }
    assert_int_equal(sums[0], ADDERS * ADDS);
    assert_int_equal(sums[1], ADDERS * ((ADDS + 15) / 16));
    alq_global_remove(d, &shared);
}

/* A stack: cell 0 of `shared`; cell 1 counts what was popped, 2 their sum. */
enum { WORKERS = 2, TASKS = 100000 / SLOW };

static void
push(struct alq_domain *on, intptr_t n)
{
    alq_value top, item;

    do {
        item = alq_alloc_small(on, 2, 0);
        CHECK(!alq_is_null(item));
        top = alq_field_acquire(shared.value, 0);
        alq_init_small(item, 0, alq_from_int(n));
        alq_init_small(item, 1, top);
    } while (!alq_field_compare_exchange(on, shared.value, 0, &top, item));
}

/* -1: there is none.  No safe point between load and exchange: no ABA. */
static intptr_t
pop(struct alq_domain *on)
{
    alq_value top = alq_field_acquire(shared.value, 0);

    alq_poll(on);
    top = alq_field_acquire(shared.value, 0);
    while (alq_is_block(top))
        if (alq_field_compare_exchange(on, shared.value, 0, &top,
                                       alq_field(top, 1)))
            return alq_to_int(alq_field(top, 0));
    return -1;
}

static alq_value
work(struct alq_domain *on, alq_value arg, void *data)
{
    intptr_t n;

    (void)data;
    while (alq_to_int(alq_field_acquire(shared.value, 1)) < TASKS) {
        n = pop(on);
        if (n < 0) {
            sched_yield();
            continue;
        }
        if (n % 2 == 0) { /* suspended once, then run */
            push(on, n + 1);
            continue;
        }
        alq_field_fetch_add(shared.value, 2, n);
        alq_field_fetch_add(shared.value, 1, 1);
    }
    return arg;
}

/* C16 */
static void
tasks_of_a_shared_queue_are_run_once(void **state)
{
    struct alq_child *children[WORKERS];
    intptr_t i, sum = 0;

    (void)state;
    shared_set(alq_alloc(d, 3, 0));
    alq_store(d, shared.value, 1, alq_from_int(0));
    alq_store(d, shared.value, 2, alq_from_int(0));
    for (i = 0; i < WORKERS; i++)
        children[i] = spawn(d, work, ALQ_UNIT, NULL);
    for (i = 0; i < TASKS; i++) {
        push(d, 2 * i);
        sum += 2 * i + 1;
    }
    for (i = 0; i < WORKERS; i++)
        finish(d, children[i]);
    assert_int_equal(alq_to_int(alq_field(shared.value, 1)), TASKS);
    assert_int_equal(alq_to_int(alq_field(shared.value, 2)), sum);
    alq_global_remove(d, &shared);
}

int
main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, domains_setup, domains_teardown)
    const struct CMUnitTest tests[] = {
        TEST(bad_arguments_are_refused),
        TEST(foreign_threads_are_refused),
        TEST(a_domain_cannot_join_itself),
        TEST(ids_are_unique),
        TEST(a_minor_heap_takes_what_others_leave),
        TEST(values_come_and_go),
        TEST(values_outlive_their_domain),
        TEST(many_are_joined_by_several_twice),
        TEST(a_child_may_be_forgotten),
        TEST(slots_are_used_again),
        TEST(domains_spawn_and_burn_at_once),
        TEST(there_may_be_128_domains),
        TEST(domains_max_is_obeyed),
        TEST(memory_runs_out_for_all),
        TEST(a_blocked_domain_holds_up_nothing),
        TEST(cycles_progress_while_another_blocks),
        TEST(a_loop_that_polls_is_stopped),
        TEST(a_loop_that_polls_does_its_share),
        TEST(young_blocks_are_handed_to_and_fro),
        TEST(atomic_fields_lose_nothing),
        TEST(tasks_of_a_shared_queue_are_run_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
