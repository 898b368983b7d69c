/* heap_stack_threads_test.c -- conservative threads: programs that root
 * nothing, in several domains, in several threads of one, in blocking sections
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap_stack_kit.h"
#include "value_kit.h"

static void
programs(void **state)
{
    (void)state;
    program(d, ROUNDS);
    assert_true(held_blocks() > 0);
}

/* ---- blocking sections -------------------------------------------------- */

static uint32_t turn; /* who goes on */

static void
turn_give(uint32_t to)
{
    __atomic_store_n(&turn, to, __ATOMIC_SEQ_CST);
}

static void
turn_await(uint32_t is)
{
    while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != is)
        usleep(100);
}

static alq_value
collects_in_turn(struct alq_domain *self, alq_value arg, void *data)
{
    (void)data;
    turn_await(1);
    collect(self);
    turn_give(2);
    return arg;
}

/* In the section the program uses the place of a local for something else, as
 * compilers do. */
static void
words_in_a_blocking_section(void **state)
{
    volatile alq_value v[2];
    struct alq_child *child;
    uintptr_t away[2];
    unsigned i;

    (void)state;
    for (i = 0; i < 20; i++) {
        turn_give(0);
        v[0] = pair(d, alq_from_int(5), pair(d, alq_from_int(6), ALQ_UNIT));
        v[1] = alq_alloc_custom(d, &held_ops, 8);
        *(uint32_t *)alq_custom_data(v[1]) = ++generation;
        n_finalised = 0;
        assert_int_equal(
            alq_domain_spawn(d, collects_in_turn, ALQ_UNIT, NULL, NULL, &child),
            ALQ_OK);
        away[0] = ~alq_bits(v[0]);
        away[1] = ~alq_bits(v[1]);
        {
            ALQ_BLOCKING(d, section);

            assert_non_null(section);
            v[0] = v[1] = ALQ_NULL;
            turn_give(1);
            turn_await(2);
            v[0] = ALQ_VALUE(~away[0]);
            v[1] = ALQ_VALUE(~away[1]);
        }
        assert_int_equal(n_finalised, 0);
        assert_int_equal(alq_to_int(alq_field(v[0], 0)), 5);
        assert_int_equal(alq_to_int(alq_field(alq_field(v[0], 1), 0)), 6);
        assert_ptr_equal(alq_custom_ops_of(v[1]), &held_ops);
        assert_int_equal(alq_domain_join(d, child, NULL), ALQ_OK);
        alq_child_drop(child);
    }
}

/* ---- several domains, several threads ----------------------------------- */

/* Roots of this one move. */
static alq_value
precise_program(struct alq_domain *self, alq_value arg, void *data)
{
    unsigned i, n_moved = 0;
    ALQ_FRAME(self, f, shared, list);

    (void)data;
    f.shared = arg;
    for (i = 0; i < ROUNDS; i++) {
        uintptr_t before;

        f.list = pair(self, alq_from_int(i), ALQ_UNIT);
        alq_store(self, f.list, 1, alq_field_acquire(f.shared, 1));
        alq_store(self, f.shared, 0, f.list);
        before = ~alq_bits(f.list);
        assert_int_equal(alq_gc_minor(self), ALQ_OK);
        n_moved += alq_bits(f.list) != ~before;
        assert_int_equal(alq_to_int(alq_field(f.list, 0)), i);
    }
    assert_true(n_moved > 0);
    return alq_from_int(n_moved);
}

static alq_value
conservative_program(struct alq_domain *self, alq_value arg, void *data)
{
    unsigned i;

    (void)data;
    assert_int_equal(alq_thread_conservative(self, NULL), ALQ_OK);
    for (i = 0; i < ROUNDS; i++) {
        alq_value mine = pair(self, alq_from_int(i), ALQ_UNIT);
        alq_value theirs = alq_field_acquire(arg, 0);
        intptr_t first =
            alq_is_block(theirs) ? alq_to_int(alq_field(theirs, 0)) : 0;

        alq_store(self, arg, 1, mine);
        assert_int_equal(alq_gc_minor(self), ALQ_OK);
        assert_int_equal(alq_to_int(alq_field(mine, 0)), i);
        if (alq_is_block(theirs))
            assert_int_equal(alq_to_int(alq_field(theirs, 0)), first);
    }
    program(self, ROUNDS / 4);
    return arg;
}

static void
domains(void **state)
{
    alq_value shared = pair(d, ALQ_UNIT, ALQ_UNIT), result;
    struct alq_child *child[4];
    unsigned i;

    (void)state;
    for (i = 0; i < 4; i++)
        assert_int_equal(alq_domain_spawn(d,
                                          i % 2 == 0 ? precise_program
                                                     : conservative_program,
                                          shared, NULL, NULL, &child[i]),
                         ALQ_OK);
    program(d, ROUNDS / 4);
    for (i = 0; i < 4; i++) {
        assert_int_equal(alq_domain_join(d, child[i], &result), ALQ_OK);
        if (i % 2 != 0)
            assert_same(result, shared);
        alq_child_drop(child[i]);
    }
}

enum { THREADS = 3 };

static unsigned n_threads_done;

static void *
thread_program(void *arg)
{
    struct alq_thread *thread;
    unsigned i;

    assert_int_equal(alq_thread_attach(d, &thread), ALQ_OK);
    if (arg == NULL)
        assert_int_equal(alq_thread_conservative(d, NULL), ALQ_OK);
    for (i = 0; i < ROUNDS && arg == NULL; i++) {
        alq_value list = pair(d, alq_from_int(i), ALQ_UNIT), waits = list;

        list = pair(d, alq_from_int(i + 1), list);
        if (i % 3 == 0) {
            ALQ_BLOCKING(d, section);

            assert_non_null(section);
            usleep(50);
        }
        alq_thread_yield(d);
        assert_int_equal(alq_to_int(alq_field(alq_field(list, 1), 0)), i);
        assert_int_equal(alq_to_int(alq_field(waits, 0)), i);
    }
    if (arg == NULL)
        program(d, ROUNDS / 8);
    __atomic_add_fetch(&n_threads_done, 1, __ATOMIC_SEQ_CST);
    assert_int_equal(alq_thread_detach(thread), ALQ_OK);
    return NULL;
}

/* One of them is precise. */
static void
threads(void **state)
{
    pthread_t thread[THREADS];
    unsigned i;

    (void)state;
    n_threads_done = 0;
    for (i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, thread_program,
                       i == 1 ? &thread : NULL);
    while (__atomic_load_n(&n_threads_done, __ATOMIC_SEQ_CST) < THREADS) {
        alq_value v = pair(d, alq_from_int(8), ALQ_UNIT);

        litter(d);
        alq_thread_yield(d);
        assert_int_equal(alq_to_int(alq_field(v, 0)), 8);
    }
    {
        ALQ_BLOCKING(d, section);

        assert_non_null(section);
        for (i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
    }
}

/* ---- ends --------------------------------------------------------------- */

static alq_value
ends(struct alq_domain *self, alq_value arg, void *data)
{
    alq_value v;

    (void)data;
    assert_int_equal(alq_thread_conservative(self, NULL), ALQ_OK);
    v = pair(self, arg, ALQ_UNIT);
    assert_int_equal(alq_to_int(alq_field(arg, 0)), 12);
    return pair(self, v, arg);
}

static void
a_domain_ends(void **state)
{
    alq_value arg = pair(d, alq_from_int(12), ALQ_UNIT), result;
    struct alq_child *child;
    unsigned i;

    (void)state;
    for (i = 0; i < 20; i++) {
        assert_int_equal(alq_domain_spawn(d, ends, arg, NULL, NULL, &child),
                         ALQ_OK);
        assert_int_equal(alq_domain_join(d, child, &result), ALQ_OK);
        alq_child_drop(child);
        litter(d);
        assert_same(alq_field(result, 1), arg);
        assert_same(alq_field(alq_field(result, 0), 0), arg);
    }
}

static void
forks(void **state)
{
    alq_value v = tree(d, 6);
    int pid = -1, status = 0;

    (void)state;
    assert_int_equal(alq_fork(d, &pid), ALQ_OK);
    if (pid == 0) {
        collect(d);
        _exit(leaves(v) == 64 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(leaves(v), 64);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(programs),      TEST(words_in_a_blocking_section),
        TEST(domains),       TEST(threads),
        TEST(a_domain_ends), TEST(forks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
