/* heap_stack_test.c -- conservative threads: what words hold, and what they do
 * not */
#include <pthread.h>
#include <string.h>

#include "heap/pool_area.h"
#include "heap/root_stack.h"

#include "heap_stack_kit.h" /* its variables are shadowed above */

/* ---- arguments ---------------------------------------------------------- */

static void *
foreign(void *arg)
{
    (void)arg;
    assert_int_equal(alq_thread_conservative(d, NULL), ALQ_ESTATE);
    assert_int_equal(alq_thread_precise(d), ALQ_ESTATE);
    return NULL;
}

static void
arguments(void **state)
{
    pthread_t thread;
    char here;

    (void)state;
    assert_int_equal(alq_thread_conservative(NULL, NULL), ALQ_EINVAL);
    assert_int_equal(alq_thread_precise(NULL), ALQ_EINVAL);
    assert_int_equal(alq_thread_conservative(d, (void *)8), ALQ_EINVAL);
    assert_int_equal(alq_thread_conservative(d, &here), ALQ_OK);
    assert_int_equal(alq_thread_precise(d), ALQ_OK);
    assert_int_equal(alq_thread_precise(d), ALQ_OK);
    assert_int_equal(alq_thread_conservative(d, &here), ALQ_OK);
    assert_int_equal(alq_thread_conservative(d, NULL), ALQ_OK);
    pthread_create(&thread, NULL, foreign, NULL);
    pthread_join(thread, NULL);
}

/* ---- where blocks are --------------------------------------------------- */

static void
nothing_on_the_stack_moves(void **state)
{
    alq_value at[64];
    uintptr_t before[64];
    unsigned i;

    (void)state;
    for (i = 0; i < 64; i++) {
        at[i] = i % 4 == 3 ? alq_alloc(d, LARGE, 0)
                           : pair(d, alq_from_int(i), ALQ_UNIT);
        if (i % 4 == 3)
            alq_init(d, at[i], 0, alq_from_int(i));
        if (i % 8 == 1) {
            alq_gc_minor(d);
            litter(d);
        }
        before[i] = ~at[i];
    }
    for (i = 0; i < 3; i++) {
        unsigned k;

        collect(d);
        for (k = 0; k < 64; k++) {
            assert_int_equal(at[k], ~before[k]);
            assert_int_equal(alq_to_int(alq_field(at[k], 0)), k);
        }
    }
}

/* ---- interior pointers, and those behind the end ------------------------ */

/* What the words hold that stand where this call finds them. */
static ALQI_NOINLINE void
held_by(volatile uintptr_t *words, size_t offset)
{
    unsigned i, round;

    for (i = 0; i < HIDDEN; i++)
        words[i] = ~hidden[i] + offset;
    wipe();
    for (round = 0; round < 2; round++) {
        collect(d);
        assert_int_equal(n_finalised, 0);
        for (i = 0; i < HIDDEN; i++) {
            alq_value v = words[i] - offset;

            assert_ptr_equal(alq_custom_ops_of(v), &held_ops);
            assert_int_equal(((uint32_t *)alq_custom_data(v))[1], i);
            v = 0;
        }
    }
    for (i = 0; i < HIDDEN; i++)
        words[i] = 0;
}

/* `bytes` of custom data; old: before a word leads to it. */
static void
interior(size_t bytes)
{
    size_t end = ALQ_WORD_BYTES + bytes;
    size_t offsets[] = {0, 1, 7, 8, end / 2, end - 1, end};
    volatile uintptr_t words[HIDDEN];
    unsigned i;

    for (i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        hidden_make(bytes);
        held_by(words, offsets[i]);
    }
    wipe();
    collect(d);
    assert_true(n_finalised >= HIDDEN - 2); /* some word may be left */
    assert_int_equal(n_inside, 0);
}

static void
interior_of_young(void **state)
{
    (void)state;
    interior(8);
    interior(40);
    interior(1000);
}

static void
interior_of_large(void **state)
{
    (void)state;
    interior(4096);
    interior(100000);
    interior(9 << 20);
}

/* The blocks are old before; they do not move from then on. */
static ALQI_NOINLINE void
grow_old(void)
{
    struct alq_root *roots[HIDDEN];
    unsigned i;

    for (i = 0; i < HIDDEN; i++)
        roots[i] = alq_root_new(d, ~hidden[i]);
    assert_int_equal(alq_thread_precise(d), ALQ_OK);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    for (i = 0; i < HIDDEN; i++) {
        assert_false(alq_is_young(d, alq_root_get(roots[i])));
        hidden[i] = ~alq_root_get(roots[i]);
    }
    assert_int_equal(alq_thread_conservative(d, NULL), ALQ_OK);
    for (i = 0; i < HIDDEN; i++) {
        assert_int_equal(hidden[i], ~alq_root_get(roots[i]));
        alq_root_drop(d, roots[i]);
    }
}

static void
interior_of_old(void **state)
{
    static const size_t sizes[] = {8, 40, 1000};
    volatile uintptr_t words[HIDDEN];
    unsigned i, k;

    (void)state;
    for (i = 0; i < 3; i++) {
        size_t end = ALQ_WORD_BYTES + sizes[i];
        size_t offsets[] = {0, 1, 12, end / 2, end - 1, end};

        for (k = 0; k < sizeof offsets / sizeof *offsets; k++) {
            hidden_make(sizes[i]);
            grow_old();
            held_by(words, offsets[k]);
        }
    }
}

/* ---- registers ---------------------------------------------------------- */

#if defined(__x86_64__)
#define REGISTERS 6
/* Loads the words, turned over, into the registers that calls preserve. */
__asm__(".text\n"
        ".type with_registers, @function\n"
        "with_registers:\n"
        "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n"
        "push %r15\n sub $8, %rsp\n"
        "mov (%rdi), %rbx\n not %rbx\n mov 8(%rdi), %rbp\n not %rbp\n"
        "mov 16(%rdi), %r12\n not %r12\n mov 24(%rdi), %r13\n not %r13\n"
        "mov 32(%rdi), %r14\n not %r14\n mov 40(%rdi), %r15\n not %r15\n"
        "call *%rsi\n"
        "add $8, %rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n"
        "pop %rbp\n pop %rbx\n ret\n"
        ".size with_registers, . - with_registers\n");
#elif defined(__aarch64__)
#define REGISTERS 6
__asm__(".text\n"
        ".type with_registers, %function\n"
        "with_registers:\n"
        "stp x29, x30, [sp, #-96]!\n stp x19, x20, [sp, #16]\n"
        "stp x21, x22, [sp, #32]\n stp x27, x28, [sp, #48]\n"
        "ldp x19, x20, [x0]\n mvn x19, x19\n mvn x20, x20\n"
        "ldp x21, x22, [x0, #16]\n mvn x21, x21\n mvn x22, x22\n"
        "ldp x27, x28, [x0, #32]\n mvn x27, x27\n mvn x28, x28\n"
        "blr x1\n"
        "ldp x19, x20, [sp, #16]\n ldp x21, x22, [sp, #32]\n"
        "ldp x27, x28, [sp, #48]\n ldp x29, x30, [sp], #96\n ret\n"
        ".size with_registers, . - with_registers\n");
#endif

void with_registers(const uintptr_t *turned_over, void (*fn)(void));

static void
collect_here(void)
{
    wipe();
    collect(d);
    assert_int_equal(n_finalised, 0);
}

static void
registers(void **state)
{
    unsigned i;

    (void)state;
    hidden_make(24);
    wipe();
    with_registers(hidden, collect_here);
    for (i = 0; i < REGISTERS; i++)
        assert_int_equal(hidden_number(i), i);
    wipe();
    collect(d);
    assert_true(n_finalised >= HIDDEN - 2);
}

/* On their way here functions of the library save most of them on the stack:
 * this one is in the copy alone. */
static void
copied_registers(void **state)
{
#if defined(__x86_64__) /* the others are not written here */
    struct alq_thread *self = alq_thread_self(d);
    unsigned i;

    (void)state;
    hidden_make(24);
    wipe();
    for (i = 0; i < HIDDEN; i++)
        self->stack->registers[ALQI_PLAT_REGISTERS - 1 - i] = ~hidden[i];
    collect_here();
    for (i = 0; i < HIDDEN; i++)
        assert_int_equal(hidden_number(i), i);
    for (i = 0; i < HIDDEN; i++)
        self->stack->registers[ALQI_PLAT_REGISTERS - 1 - i] = 0;
#else
    (void)state;
#endif
}

static uintptr_t copy[ALQI_PLAT_REGISTERS];
static uintptr_t sp;

static void
copy_here(void)
{
    sp = alqi_plat_registers(copy);
}

static void
registers_are_copied(void **state)
{
    uintptr_t words[REGISTERS];
    unsigned i, k, n = 0;
    char here;

    (void)state;
    for (i = 0; i < REGISTERS; i++)
        words[i] = ~(uintptr_t)(1000 + i);
    with_registers(words, copy_here);
    for (i = 0; i < REGISTERS; i++) /* but for what copy_here itself uses */
        for (k = 0; k < ALQI_PLAT_REGISTERS; k++)
            n += copy[k] == 1000 + i;
    assert_true(n >= REGISTERS - 1);
    assert_true(sp < (uintptr_t)&here && sp > (uintptr_t)&here - 65536);
}

/* ---- compaction --------------------------------------------------------- */

enum { CELLS = 40000, EACH = 40 };

/* A list of cells, most of which die; words lead to some that live. */
static void
compaction(void **state)
{
    alq_value held[CELLS / EACH / 200];
    uintptr_t before[CELLS / EACH / 200];
    alq_value list = ALQ_UNIT, all = ALQ_UNIT, at;
    struct alq_gc_counts c;
    unsigned i, n = 0;

    (void)state;
    for (i = 0; i < CELLS / (IS_HARD ? 20 : 1); i++) {
        all = pair(d, alq_from_int(i), all);
        if (i % EACH == 0)
            list = pair(d, all, list);
    }
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    for (i = 0, at = list; alq_is_block(at); at = alq_field(at, 1), i++) {
        alq_store(d, alq_field(at, 0), 1, ALQ_UNIT);
        if (i % 200 == 0 && n < CELLS / EACH / 200) {
            held[n] = alq_field(at, 0);
            before[n] = ~held[n];
            n++;
        }
    }
    all = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    while (n-- > 0) {
        assert_int_equal(held[n], ~before[n]);
        assert_int_equal(alq_to_int(alq_field(held[n], 0)) % EACH, 0);
    }
    assert_int_equal(alq_gc_counters(d, &c), ALQ_OK);
    assert_true(IS_HARD || c.compacted_words > CELLS / EACH);
    for (at = list; alq_is_block(at); at = alq_field(at, 1))
        assert_int_equal(alq_to_int(alq_field(alq_field(at, 0), 0)) % EACH, 0);
}

/* ---- words that lead to nothing ----------------------------------------- */

static uint64_t seed;

static uint64_t
rnd(uint64_t n)
{
    seed += 0x9E3779B97F4A7C15u;
    return alqi_base_mix(seed) % n;
}

static ALQI_NOINLINE void
any_words(volatile uintptr_t *words, unsigned n)
{
    const struct alqi_heap *heap = alqi_heap_domain(d)->heap;
    const struct alqi_heap_area *area = &heap->area;
    unsigned i;

    for (i = 0; i < n; i++) {
        switch (rnd(6)) {
        case 0: /* the slice of this domain */
            words[i] = area->young_base + rnd(1 << 16);
            break;
        case 1: /* of any */
            words[i] = area->young_base + rnd(area->young_bytes + 1);
            break;
        case 2: /* pools that are used, or were */
            words[i] = area->major_base + rnd(64 * ALQI_HEAP_POOL_BYTES);
            break;
        case 3:
            words[i] = area->major_base + rnd(area->major_bytes + 1);
            break;
        case 4: /* large blocks, and around them */
            words[i] =
                heap->large.index.least +
                rnd(heap->large.index.most - heap->large.index.least + 1);
            break;
        default:
            words[i] = alqi_base_mix(seed);
        }
        if (rnd(4) != 0)
            words[i] &= ~(uintptr_t)7;
    }
}

static void
noise(void **state)
{
    volatile uintptr_t words[2000];
    alq_value keep[8];
    unsigned i, k;

    (void)state;
    for (seed = 1; seed < 4; seed++)
        for (i = 0; i < ALQI_TEST_ROUNDS(40, 3, 3); i++) {
            for (k = 0; k < 8; k++)
                keep[k] = alq_alloc(d, LARGE << k % 4, 0);
            any_words(words, 2000);
            program(d, 2);
            assert_int_equal(alq_wosize(keep[i % 8]), LARGE << i % 4);
        }
}

/* ---- many blocks that stay ---------------------------------------------- */

enum { CROWD = IS_HARD ? 3000 : 6000, APART = IS_HARD ? 1 : 260 };

/* Whoever leads to them is old; they move once no word does any more. */
static ALQI_NOINLINE alq_value
crowd_list(volatile alq_value *v)
{
    alq_value list = ALQ_UNIT;
    unsigned i;

    for (i = 0; i < CROWD; i++)
        list = pair(d, v[i], list);
    for (i = 0; i < CROWD; i++)
        v[i] = 0;
    return list;
}

static void
crowd_list_check(alq_value list)
{
    unsigned i;

    for (i = CROWD; i-- > 0; list = alq_field(list, 1)) {
        alq_value at = alq_field(list, 0);

        if (i % 100 == 0)
            at = alq_field(at, 0);
        assert_int_equal(alq_to_int(alq_field(at, 0)), i);
    }
    assert_int_equal(list, ALQ_UNIT);
}

/* Room is short between them: blocks are born old for a while. */
static ALQI_NOINLINE alq_value
crowd(void)
{
    alq_value v[CROWD], headers[2] = {ALQ_HEADER(1, 0), ALQ_HEADER(2, 0)};
    alq_value several[2];
    struct alq_gc_counts before, after;
    unsigned i, k;

    assert_int_equal(alq_gc_counters(d, &before), ALQ_OK);
    for (i = 0; i < CROWD; i++) {
        v[i] = pair(d, alq_from_int(i), i > 0 ? v[i - 1] : ALQ_UNIT);
        for (k = 0; k < APART; k++)
            pair(d, alq_from_int(k), v[i]);
        if (i % 100 == 0) {
            assert_true(alq_alloc_several(d, 2, headers, several));
            alq_init_small(several[0], 0, several[1]);
            alq_init_small(several[1], 0, alq_from_int(i));
            alq_init_small(several[1], 1, v[i]);
            v[i] = several[0];
        }
        assert_int_equal(alq_status_of(d), ALQ_OK);
    }
    for (i = 0; i < CROWD; i++) {
        alq_value at = i % 100 == 0 ? alq_field(v[i], 0) : v[i];

        assert_int_equal(alq_to_int(alq_field(at, 0)), i);
        if (i % 100 != 0 && i > 0)
            assert_int_equal(alq_field(at, 1), v[i - 1]);
    }
    assert_int_equal(alq_gc_counters(d, &after), ALQ_OK);
    assert_true(after.direct_words > before.direct_words);
    assert_int_equal(after.emergencies, before.emergencies);
    return crowd_list(v);
}

static void
crowds(void **state)
{
    struct alq_gc_counts before, after;
    alq_value list = crowd();

    (void)state;
    wipe();
    collect(d);
    crowd_list_check(list);
    list = ALQ_UNIT;
    collect(d);
    assert_int_equal(alq_gc_counters(d, &before), ALQ_OK);
    litter(d);
    assert_int_equal(alq_gc_counters(d, &after), ALQ_OK);
    assert_int_equal(after.direct_words, before.direct_words);
    assert_true(after.heap_bytes < 16 << 20);
}

/* ---- weak references, finalisers ---------------------------------------- */

static ALQI_NOINLINE void
weak_fill(alq_value weak, alq_value ephe, alq_value kept)
{
    assert_int_equal(alq_weak_set(d, weak, 0, kept), ALQ_OK);
    assert_int_equal(
        alq_weak_set(d, weak, 1, pair(d, alq_from_int(1), ALQ_UNIT)), ALQ_OK);
    assert_int_equal(alq_ephe_set_key(d, ephe, 0, kept), ALQ_OK);
    assert_int_equal(
        alq_ephe_set_data(d, ephe, pair(d, alq_from_int(2), ALQ_UNIT)), ALQ_OK);
}

static void
weak_references(void **state)
{
    alq_value weak[100], ephe[100], kept;
    unsigned i, n_dead = 0;

    (void)state;
    kept = pair(d, alq_from_int(7), ALQ_UNIT);
    for (i = 0; i < 100; i++) {
        weak[i] = alq_weak_create(d, 2);
        ephe[i] = alq_ephe_create(d, 1);
        weak_fill(weak[i], ephe[i], kept);
    }
    wipe();
    collect(d);
    for (i = 0; i < 100; i++) {
        assert_int_equal(alq_weak_get(d, weak[i], 0), kept);
        assert_int_equal(
            alq_to_int(alq_field(alq_ephe_get_data(d, ephe[i]), 0)), 2);
        n_dead += !alq_weak_check(d, weak[i], 1);
    }
    assert_true(n_dead > 90);
}

/* Weak blocks that are older than the thread's choice, and young. */
static void
weak_before(void **state)
{
    ALQ_FRAME(d, f, weak, v);

    (void)state;
    assert_int_equal(alq_thread_precise(d), ALQ_OK);
    f.v = pair(d, alq_from_int(3), ALQ_UNIT);
    f.weak = alq_weak_create(d, 1);
    assert_int_equal(alq_weak_set(d, f.weak, 0, f.v), ALQ_OK);
    assert_int_equal(alq_thread_conservative(d, NULL), ALQ_OK);
    assert_false(!IS_HARD && alq_is_young(d, f.weak));
    collect(d);
    assert_int_equal(alq_weak_get(d, f.weak, 0), f.v);
}

static unsigned n_called;

static enum alq_status
called(struct alq_domain *self, alq_value v, alq_value with)
{
    alq_value list = pair(self, v, with);

    litter(self);
    assert_int_equal(alq_to_int(alq_field(alq_field(list, 0), 0)), 4);
    n_called++;
    return ALQ_OK;
}

static ALQI_NOINLINE void
finalised_make(void)
{
    unsigned i;

    for (i = 0; i < 50; i++)
        assert_int_equal(alq_gc_finalise(d, pair(d, alq_from_int(4), ALQ_UNIT),
                                         called, ALQ_UNIT),
                         ALQ_OK);
}

static void
finalisers(void **state)
{
    (void)state;
    n_called = 0;
    finalised_make();
    wipe();
    collect(d);
    collect(d);
    assert_true(n_called > 45);
}

/* ---- beginnings and ends ------------------------------------------------ */

static void
precise_again(void **state)
{
    ALQ_FRAME(d, f, v);
    uintptr_t before;

    (void)state;
    f.v = pair(d, alq_from_int(3), ALQ_UNIT);
    before = ~f.v;
    collect(d);
    assert_int_equal(f.v, ~before);
    assert_int_equal(alq_thread_precise(d), ALQ_OK);
    collect(d);
    assert_int_not_equal(f.v, ~before);
    assert_int_equal(alq_to_int(alq_field(f.v, 0)), 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(arguments),
        TEST(nothing_on_the_stack_moves),
        TEST(interior_of_young),
        TEST(interior_of_old),
        TEST(interior_of_large),
        TEST(registers_are_copied),
        TEST(registers),
        TEST(copied_registers),
        TEST(compaction),
        TEST(noise),
        TEST(crowds),
        TEST(weak_references),
        TEST(weak_before),
        TEST(finalisers),
        TEST(precise_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
