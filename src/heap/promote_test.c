/* promote_test.c -- several participants empty one minor heap   (.inv.claim)
 *
 * Plain threads, each with runs of its own, start from roots that they share in
 * part, so that they meet at every block.  A model of the young blocks says
 * afterwards which are reachable and what each copy holds. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "heap/area.h"
#include "heap/class.h"
#include "heap/domain.h"
#include "heap/minor.h"
#include "heap/promote.h"

enum {
    PARTS_MAX = 8,
    ROOTS = 3000, /* so many that some are offered to others */
    BLOCKS_MAX = 1 << 17,
    MINOR_WORDS = 131072,
    ROUNDS = 60
};

struct block {
    alq_value young;
    uintptr_t header;
    uint32_t first_field; /* in fields[] */
    bool reached;
};

static struct alqi_domain *d; /* whose minor heap it is; part 0 */
static struct alqi_domain *parts[PARTS_MAX];
static alq_value own_roots[PARTS_MAX][ROOTS];
static alq_value both_roots[ROOTS]; /* as a field in two remembered sets */
static uint32_t own_targets[PARTS_MAX][ROOTS], both_targets[ROOTS];
static alqi_heap_word *own_slots[PARTS_MAX][ROOTS], *both_slots[ROOTS];
static pthread_barrier_t at_start;

static struct block blocks[BLOCKS_MAX];
static uint32_t n_blocks;
static uint32_t fields[MINOR_WORDS]; /* a block's number + 1; 0: an integer */
static uint32_t n_fields;
static uint32_t todo[BLOCKS_MAX];
static uint64_t seed;

static uint32_t
rnd(uint32_t n)
{
    seed += 0x9E3779B97F4A7C15u;
    return (uint32_t)(alqi_base_mix(seed) % n);
}

/* ---- the young blocks --------------------------------------------------- */

static uintptr_t
some_header(void)
{
    uintptr_t n = 1 + rnd(rnd(100) == 0 ? ALQ_SMALL_WOSIZE_MAX : 7);

    return ALQ_HEADER(n, rnd(10) == 0 ? ALQ_TAG_STRING : rnd(5));
}

/* Fields lead to any of the blocks, later ones, too: there are cycles. */
static void
blocks_make(void)
{
    uintptr_t low = d->run_end, header, i;
    uint32_t b;

    n_blocks = n_fields = 0;
    while (n_blocks < BLOCKS_MAX) {
        header = some_header();
        if (low - d->run_start < alqi_heap_words(header) * ALQ_WORD_BYTES)
            break;
        low -= alqi_heap_words(header) * ALQ_WORD_BYTES;
        *(alqi_heap_word *)low = header;
        blocks[n_blocks++] =
            (struct block){low + ALQ_WORD_BYTES, header, n_fields, false};
        n_fields += (uint32_t)(header >> ALQ_WOSIZE_SHIFT);
    }
    d->pub.young_ptr = (char *)low;
    for (b = 0; b < n_blocks; b++)
        for (i = 0; i < blocks[b].header >> ALQ_WOSIZE_SHIFT; i++) {
            uint32_t *field = &fields[blocks[b].first_field + i];

            *field = rnd(3) == 0 ? 1 + rnd(n_blocks) : 0;
            ((alqi_heap_word *)blocks[b].young)[i] =
                *field == 0 || !alqi_heap_is_scannable(blocks[b].header)
                    ? alq_from_int(b + i)
                    : blocks[*field - 1].young;
        }
}

static void
roots_make(alq_value *roots, uint32_t *targets, alqi_heap_word **slots)
{
    unsigned i;

    for (i = 0; i < ROOTS; i++) {
        targets[i] = rnd(n_blocks);
        roots[i] = blocks[targets[i]].young;
        slots[i] = &roots[i];
    }
}

/* ---- participants ------------------------------------------------------- */

static struct alqi_domain *
part_new(size_t pending_size)
{
    struct alqi_domain *p = calloc(1, sizeof *p);

    assert_non_null(p);
    p->heap = d->heap;
    p->pub.young_base = d->pub.young_base;
    p->pub.young_bytes = d->pub.young_bytes;
    p->alloc_colour = d->alloc_colour;
    p->pending = calloc(pending_size, sizeof *p->pending);
    assert_non_null(p->pending);
    p->pending_size = pending_size;
    return p;
}

static void *
part_run(void *arg)
{
    size_t i = (size_t)arg;
    struct alqi_domain *self = parts[i];

    pthread_barrier_wait(&at_start);
    alqi_heap_promote_each(self, both_slots, ROOTS);
    alqi_heap_promote_each(self, own_slots[i], ROOTS);
    alqi_heap_minor_drain(self);
    return NULL;
}

static void
run_all(unsigned n)
{
    pthread_t threads[PARTS_MAX];
    size_t i;

    assert_int_equal(pthread_barrier_init(&at_start, NULL, n), 0);
    for (i = 1; i < n; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, part_run, (void *)i),
                         0);
    part_run(NULL);
    for (i = 1; i < n; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&at_start);
}

/* ---- what must hold ----------------------------------------------------- */

static uint32_t n_todo;

static void
reach(uint32_t b)
{
    if (blocks[b].reached)
        return;
    blocks[b].reached = true;
    todo[n_todo++] = b;
}

static alq_value
now_of(uint32_t b)
{
    assert_int_equal(alqi_heap_header(blocks[b].young), 0);
    return *(alqi_heap_word *)blocks[b].young;
}

static void
check_copy(const struct block *b, alq_value copy)
{
    uintptr_t i;

    assert_true(alqi_heap_area_has(&d->heap->area, copy));
    assert_int_equal(alqi_heap_header(copy), b->header | d->alloc_colour);
    for (i = 0; i < b->header >> ALQ_WOSIZE_SHIFT; i++) {
        uint32_t target = fields[b->first_field + i];
        alq_value v = ((alqi_heap_word *)copy)[i];

        if (target == 0 || !alqi_heap_is_scannable(b->header))
            assert_int_equal(
                v, alq_from_int((intptr_t)(b - blocks) + (intptr_t)i));
        else
            assert_int_equal(v, now_of(target - 1));
    }
}

static void
walk(void)
{
    uintptr_t i;

    while (n_todo > 0) {
        const struct block *b = &blocks[todo[--n_todo]];

        if (!alqi_heap_is_scannable(b->header))
            continue;
        for (i = 0; i < b->header >> ALQ_WOSIZE_SHIFT; i++)
            if (fields[b->first_field + i] != 0)
                reach(fields[b->first_field + i] - 1);
    }
}

static uint64_t
check_blocks(void)
{
    uint64_t words = 0;
    uint32_t b;

    for (b = 0; b < n_blocks; b++) {
        if (!blocks[b].reached) {
            assert_int_equal(alqi_heap_header(blocks[b].young),
                             blocks[b].header);
            continue;
        }
        check_copy(&blocks[b], now_of(b));
        words += alqi_heap_class_words[alqi_heap_class_of(
            alqi_heap_words(blocks[b].header))];
    }
    return words;
}

static void
check(unsigned n)
{
    uint64_t promoted = 0;
    unsigned p, i;

    n_todo = 0;
    for (i = 0; i < ROOTS; i++)
        reach(both_targets[i]);
    for (p = 0; p < n; p++)
        for (i = 0; i < ROOTS; i++)
            reach(own_targets[p][i]);
    walk();
    for (i = 0; i < ROOTS; i++)
        assert_int_equal(both_roots[i], now_of(both_targets[i]));
    for (p = 0; p < n; p++) {
        promoted += parts[p]->counts.promoted_words;
        for (i = 0; i < ROOTS; i++)
            assert_int_equal(own_roots[p][i], now_of(own_targets[p][i]));
    }
    assert_int_equal(check_blocks(), promoted); /* each one once */
    assert_int_equal(alqi_heap_bag_n(&d->heap->crew.bag), 0);
}

/* ---- rounds ------------------------------------------------------------- */

static void
round_of(unsigned n, size_t pending_size)
{
    struct alq_domain_config config = {.minor_words = MINOR_WORDS};
    unsigned p;

    assert_int_equal(alqi_heap_domain_start(&config, NULL, &d), ALQ_OK);
    parts[0] = d;
    d->pending_size = pending_size;
    for (p = 1; p < n; p++)
        parts[p] = part_new(pending_size);
    blocks_make();
    roots_make(both_roots, both_targets, both_slots);
    for (p = 0; p < n; p++)
        roots_make(own_roots[p], own_targets[p], own_slots[p]);
    assert_true(alqi_heap_area_ready(
        &d->heap->area, alqi_heap_minor_need(d->run_end - d->run_start) +
                            (n - 1) * alqi_heap_minor_need(0)));
    alqi_heap_minor_prepare(d, n);
    run_all(n);
    check(n);
    for (p = 1; p < n; p++) {
        free(parts[p]->pending);
        free(parts[p]);
    }
    d->pub.young_ptr = (char *)d->run_end;
    alqi_heap_domain_end(d);
}

static void
one_is_enough(void **state)
{
    (void)state;
    seed = 1;
    round_of(1, 1); /* gives nearly all to the bag, and gets it back */
    round_of(1, 4096);
}

static void
two_share_the_work(void **state)
{
    unsigned i;

    (void)state;
    for (i = 0; i < ROUNDS; i++) {
        seed = 100 + i;
        round_of(2, i % 2 ? 4096 : 1 + i);
    }
}

static void
many_share_the_work(void **state)
{
    unsigned i;

    (void)state;
    for (i = 0; i < ROUNDS; i++) {
        seed = 1000 + i;
        round_of(2 + i % (PARTS_MAX - 1), 1 + i % 7);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_is_enough),
        cmocka_unit_test(two_share_the_work),
        cmocka_unit_test(many_share_the_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
