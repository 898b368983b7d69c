/* minor_promote_test.c -- several participants empty minor heaps
 *                                                  (.inv.claim, .inv.owned)
 *
 * Plain threads stand for domains, each with a minor heap and allocation
 * buffers of its own. Blocks lead to others of the same minor heap, or of any,
 * now seldom, now so often that participants meet at every block; some shares
 * are done by another participant.  A model of the young blocks says afterwards
 * which are reachable and what each copy holds. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/test_effort.h"
#include "base/test_seed.h"
#include "heap/pool_area.h"
#include "heap/pool_class.h"
#include "heap/domain.h"
#include "heap/minor.h"
#include "heap/minor_own.h"
#include "heap/minor_promote.h"
#include "plat/space.h"

enum {
    PARTS_MAX = 8,
    ROOTS = 3000, /* so many that some are offered to others */
    MINOR_WORDS = 32768,
    BLOCKS_MAX = PARTS_MAX * MINOR_WORDS / 2,
    ROUNDS = ALQI_TEST_ROUNDS(60, 20, 60)
};

struct block {
    alq_value young;
    uintptr_t header;
    uint32_t first_field; /* in fields[] */
    bool reached;
};

static struct alqi_domain *d; /* part 0 */
static struct alqi_domain *parts[PARTS_MAX];
static unsigned share_by[PARTS_MAX];
static uint32_t first_block[PARTS_MAX + 1];
static uint32_t strangers; /* of 1000 values, those that lead anywhere */
static alq_value own_roots[PARTS_MAX][ROOTS];
static alq_value both_roots[ROOTS]; /* as a field in two remembered sets */
static uint32_t own_targets[PARTS_MAX][ROOTS], both_targets[ROOTS];
static alqi_heap_word *own_slots[PARTS_MAX][ROOTS], *both_slots[ROOTS];
static pthread_barrier_t at_start;

static struct block blocks[BLOCKS_MAX];
static uint32_t n_blocks;
static uint32_t
    fields[PARTS_MAX * MINOR_WORDS]; /* a block's number + 1; 0: an integer */
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

static void
blocks_alloc(struct alqi_domain *p)
{
    uintptr_t low = p->young.end, header;

    for (;;) {
        header = some_header();
        if (low - p->young.start < alqi_heap_words(header) * ALQ_WORD_BYTES)
            break;
        low -= alqi_heap_words(header) * ALQ_WORD_BYTES;
        *(alqi_heap_word *)low = header;
        blocks[n_blocks++] =
            (struct block){low + ALQ_WORD_BYTES, header, n_fields, false};
        n_fields += (uint32_t)(header >> ALQ_WOSIZE_SHIFT);
    }
    p->pub.young_ptr = (char *)low;
}

static uint32_t
some_block(unsigned part)
{
    uint32_t first = first_block[part], n = first_block[part + 1] - first;

    return rnd(1000) < strangers ? rnd(n_blocks) : first + rnd(n);
}

/* Later ones, too: there are cycles. */
static void
fields_make(struct block *b, unsigned part)
{
    uintptr_t i;

    for (i = 0; i < b->header >> ALQ_WOSIZE_SHIFT; i++) {
        uint32_t *field = &fields[b->first_field + i];

        *field = rnd(3) == 0 ? 1 + some_block(part) : 0;
        ((alqi_heap_word *)b->young)[i] =
            *field == 0 || !alqi_heap_is_scannable(b->header)
                ? alq_from_int((intptr_t)(b - blocks) + (intptr_t)i)
                : blocks[*field - 1].young;
    }
}

static void
blocks_make(unsigned n)
{
    unsigned p;
    uint32_t b;

    n_blocks = n_fields = 0;
    for (p = 0; p < n; p++) {
        first_block[p] = n_blocks;
        blocks_alloc(parts[p]);
    }
    first_block[n] = n_blocks;
    for (p = 0; p < n; p++)
        for (b = first_block[p]; b < first_block[p + 1]; b++)
            fields_make(&blocks[b], p);
}

static void
roots_make(unsigned part, alq_value *roots, uint32_t *targets,
           alqi_heap_word **slots)
{
    unsigned i;

    for (i = 0; i < ROOTS; i++) {
        targets[i] = some_block(part);
        roots[i] = blocks[targets[i]].young;
        slots[i] = &roots[i];
    }
}

/* ---- participants ------------------------------------------------------- */

/* Enough of a domain, and known to the heap as one. */
static struct alqi_domain *
part_new(unsigned slot, size_t grey_size)
{
    struct alqi_domain *p = calloc(1, sizeof *p);

    assert_non_null(p);
    p->heap = d->heap;
    p->slot = slot;
    p->pub.young_base = d->pub.young_base;
    p->pub.young_bytes = d->pub.young_bytes;
    p->alloc_colour = d->alloc_colour;
    p->sizes.base = d->sizes.base + slot * ALQI_HEAP_MINOR_BYTES_MAX;
    p->sizes.max_bytes = d->sizes.max_bytes;
    p->young.start = p->sizes.base;
    p->young.end = p->sizes.base + (d->young.end - d->young.start);
    assert_true(
        alqi_plat_space_commit((void *)p->sizes.base, p->sizes.max_bytes));
    p->copy.grey = calloc(grey_size, sizeof *p->copy.grey);
    assert_non_null(p->copy.grey);
    p->copy.grey_size = grey_size;
    d->heap->domains[slot] = p;
    return p;
}

static void
part_drop(struct alqi_domain *p)
{
    d->heap->domains[p->slot] = NULL;
    free(p->copy.grey);
    free(p);
}

static void *
part_run(void *arg)
{
    size_t i = (size_t)arg;
    struct alqi_domain *self = parts[i];
    unsigned n = d->heap->young.workers.n, k;

    pthread_barrier_wait(&at_start);
    alqi_base_rank_push_sigsafe(ALQI_RANK_HEAP_STOP); /* as in a stop */
    for (k = 0; k < n; k++)
        if (share_by[k] == i) {
            if (n > 1)
                alqi_heap_own_claim(self, parts[k]);
            alqi_heap_promote_each(self, own_slots[k], ROOTS);
        }
    if (strangers > 0 || n == 1)
        alqi_heap_promote_each(self, both_slots, ROOTS);
    alqi_heap_minor_drain_stw(self);
    alqi_base_rank_pop_sigsafe(ALQI_RANK_HEAP_STOP);
    return NULL;
}

static void
run_all(unsigned n)
{
    pthread_t threads[PARTS_MAX];
    size_t i;

    alqi_base_rank_push_sigsafe(ALQI_RANK_HEAP_STOP);
    alqi_heap_minor_prepare_stw(d, n);
    alqi_base_rank_pop_sigsafe(ALQI_RANK_HEAP_STOP);
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
        if (strangers > 0 || n == 1)
            reach(both_targets[i]);
    for (p = 0; p < n; p++)
        for (i = 0; i < ROOTS; i++)
            reach(own_targets[p][i]);
    walk();
    for (i = 0; i < ROOTS; i++)
        if (strangers > 0 || n == 1)
            assert_int_equal(both_roots[i], now_of(both_targets[i]));
    for (p = 0; p < n; p++) {
        promoted += parts[p]->sums.counts.promoted_words;
        for (i = 0; i < ROOTS; i++)
            assert_int_equal(own_roots[p][i], now_of(own_targets[p][i]));
    }
    assert_int_equal(check_blocks(), promoted); /* each one once */
    assert_int_equal(alqi_heap_queue_n(&d->heap->young.workers.queue), 0);
}

/* ---- rounds ------------------------------------------------------------- */

static void
parts_make(unsigned n, size_t grey_size)
{
    struct alqi_heap *heap = d->heap;
    unsigned p;

    parts[0] = d;
    d->copy.grey_size = grey_size;
    for (p = 1; p < n; p++)
        parts[p] = part_new(p, grey_size);
    heap->n_slots = n;
    assert_true(alqi_heap_queue_ready(&heap->young.workers.queue,
                                      n * d->sizes.max_bytes / 16 +
                                          ALQI_HEAP_WORKERS_PLACES));
    assert_true(alqi_heap_area_ready(
        &heap->area, n * (alqi_heap_minor_need(d->young.end - d->young.start) +
                          ALQI_HEAP_WORKER_POOLS)));
    for (p = 0; p < n; p++)
        share_by[p] = rnd(4) == 0 ? rnd(n) : p;
}

static void
parts_drop(unsigned n)
{
    unsigned p;

    alqi_heap_own_end(d);
    d->pub.young_ptr = (char *)d->young.end;
    d->heap->n_slots = 1;
    for (p = 1; p < n; p++)
        part_drop(parts[p]);
}

static void
round_of(unsigned n, size_t grey_size)
{
    struct alq_domain_config config = {.minor_words = MINOR_WORDS};
    unsigned p;

    assert_int_equal(alqi_heap_domain_start(&config, NULL, &d), ALQ_OK);
    parts_make(n, grey_size);
    blocks_make(n);
    roots_make(0, both_roots, both_targets, both_slots);
    for (p = 0; p < n; p++)
        roots_make(p, own_roots[p], own_targets[p], own_slots[p]);
    d->heap->stop.request = 1; /* as in a stop */
    run_all(n);
    d->heap->stop.request = 0;
    check(n);
    parts_drop(n);
    alqi_heap_domain_end(d);
}

static void
one_is_enough(void **state)
{
    (void)state;
    seed = 1 + alqi_base_test_seed();
    round_of(1, 1); /* gives nearly all to the queue, and gets it back */
    round_of(1, 4096);
}

static const uint32_t some_strangers[] = {0, 1, 30, 1000};

static void
two_share_the_work(void **state)
{
    unsigned i;

    (void)state;
    for (i = 0; i < ROUNDS; i++) {
        seed = 100 + i + alqi_base_test_seed();
        strangers = some_strangers[i % 4];
        round_of(2, i % 3 ? 4096 : 1 + i);
    }
}

static void
many_share_the_work(void **state)
{
    unsigned i;

    (void)state;
    for (i = 0; i < ROUNDS; i++) {
        seed = 1000 + i + alqi_base_test_seed();
        strangers = some_strangers[i % 4];
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
