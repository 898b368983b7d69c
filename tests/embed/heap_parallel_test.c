/* heap_parallel_test.c -- several domains change one graph, beside a model
 *
 * A structure is determined by its key, which its root holds: whoever has a
 * value can tell whether it is whole.  Cells are old blocks that all domains
 * share.  `locked` ones are written under a lock, and the model knows the key
 * of each field; `wild` ones by anybody at any time, and read so, too.  Domains
 * end and begin; what they leave stays.  At the end nothing is left, and then
 * each custom block has been finalised once. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <aliquot/domain.h>
#include <aliquot/gc.h>
#include <aliquot/heap.h>
#include <aliquot/root.h>

#include "base/base.h"
#include "base/test_effort.h"
#include "base/test_seed.h"

enum {
    WORKERS_MAX = 8,
    CELLS = 24,
    FIELDS = 12, /* of a cell */
    SLOTS = 12,  /* of a worker */
    DEPTH_MAX = 6,
    STEPS = ALQI_TEST_ROUNDS(100000, 5000, 500),
    LIVES = 3 /* domains a worker has, one after another */
};

static struct alq_global table; /* of cells; the wild ones are behind */
static atomic_flag locks[CELLS];
static uint32_t keys[CELLS][FIELDS]; /* 0: an integer */
static atomic_uint n_finished;
static atomic_uint n_wrong;
static atomic_long customs_live;

/* A failed check of a thread is told by its first line. */
static atomic_int wrong_line;

#define MUST(e)                                                                \
    ((e) ? (void)0                                                             \
         : (void)(atomic_fetch_add(&n_wrong, 1) == 0 &&                        \
                  (atomic_store(&wrong_line, __LINE__), 0)))

struct worker {
    struct alq_domain *d;
    uint64_t seed;
    unsigned n_all;
    alq_value *slots; /* a frame's */
    uint32_t keys[SLOTS];
};

static uint32_t
rnd(struct worker *w, uint32_t n)
{
    w->seed += 0x9E3779B97F4A7C15u;
    return (uint32_t)(alqi_base_mix(w->seed) % n);
}

/* ---- structures --------------------------------------------------------- */

/* The lowest 3 bits of a key are the depth. */
static unsigned
depth_of(uint32_t key)
{
    return key & 7;
}

static uint32_t
hash(uint32_t key)
{
    return (uint32_t)(alqi_base_mix(key * 0x9E3779B97F4A7C15u) >> 33);
}

/* Never 0: that is no key. */
static uint32_t
child_key(uint32_t key, unsigned i)
{
    return (hash(key + i * 8u) & 0x3FFFFFF8u) | (depth_of(key) - 1) | 8u << 26;
}

static unsigned
n_children(uint32_t key)
{
    uint32_t h = hash(key);

    if (depth_of(key) == 0)
        return 0;
    return h % 97 == 0 ? 200 + h % 300 : 1 + h % 3; /* seldom a large block */
}

enum leaf { STRING, DOUBLE, CUSTOM, BARE };

static enum leaf
leaf_of(uint32_t key)
{
    uint32_t h = hash(key) % 16;

    return h == 0 ? CUSTOM : h < 4 ? STRING : h < 7 ? DOUBLE : BARE;
}

static void
custom_finalise(alq_value block)
{
    uint32_t *data = alq_custom_data(block);

    MUST(data[1] == ~data[0]);
    data[1] = 0; /* a second call would see it */
    atomic_fetch_sub(&customs_live, 1);
}

static const struct alq_custom_ops custom_ops = {.name = "parallel",
                                                 .finalise = custom_finalise};

static alq_value
make_custom(struct alq_domain *d, uint32_t key)
{
    alq_value v = alq_alloc_custom(d, &custom_ops, 8 + hash(key) % 40);
    uint32_t *data = alq_custom_data(v);

    data[0] = key;
    data[1] = ~key;
    atomic_fetch_add(&customs_live, 1);
    return v;
}

static alq_value
make_leaf(struct alq_domain *d, uint32_t key)
{
    alq_value v;

    switch (leaf_of(key)) {
    case STRING:
        return alq_string_copy(d, (const char *)&key, sizeof key);
    case DOUBLE:
        return alq_alloc_double(d, key);
    case CUSTOM:
        return make_custom(d, key);
    case BARE:
        break;
    }
    v = alq_alloc_small(d, 1, 7);
    alq_init_small(v, 0, alq_from_int(key));
    return v;
}

static alq_value
make(struct alq_domain *d, uint32_t key)
{
    ALQ_FRAME(d, f, block);
    unsigned i, n = n_children(key);
    alq_value v;

    if (n == 0)
        return make_leaf(d, key);
    f.block = alq_alloc(d, n + 1, key % 100);
    alq_init(d, f.block, 0, alq_from_int(key));
    for (i = 0; i < n; i++) {
        /* Large blocks have few children. */
        v = i < 4 ? make(d, child_key(key, i)) : alq_from_int(i);
        alq_init(d, f.block, i + 1, v);
    }
    return f.block;
}

static void
check_leaf(alq_value v, uint32_t key)
{
    switch (leaf_of(key)) {
    case STRING:
        MUST(alq_tag(v) == ALQ_TAG_STRING && alq_string_bytes(v) == 4);
        MUST(*(const uint32_t *)alq_string_chars(v) == key);
        return;
    case DOUBLE:
        MUST(alq_tag(v) == ALQ_TAG_DOUBLE && alq_double(v, 0) == key);
        return;
    case CUSTOM:
        MUST(alq_custom_ops_of(v) == &custom_ops);
        MUST(*(const uint32_t *)alq_custom_data(v) == key);
        return;
    case BARE:
        MUST(alq_wosize(v) == 1 &&
             alq_is_same(alq_field(v, 0), alq_from_int(key)));
    }
}

/* Does not collect. */
static void
check(alq_value v, uint32_t key)
{
    unsigned i, n = n_children(key);

    MUST(alq_is_block(v));
    if (n_wrong > 0)
        return;
    if (n == 0) {
        check_leaf(v, key);
        return;
    }
    MUST(alq_wosize(v) == n + 1 && alq_tag(v) == key % 100);
    MUST(alq_is_same(alq_field(v, 0), alq_from_int(key)));
    for (i = 0; i < n && n_wrong == 0; i++)
        if (i < 4)
            check(alq_field(v, i + 1), child_key(key, i));
        else
            MUST(alq_is_same(alq_field(v, i + 1), alq_from_int(i)));
}

/* ---- cells -------------------------------------------------------------- */

static alq_value
cell(unsigned c)
{
    return alq_field(table.value, c);
}

/* Only tried: who waits would have to let collections go on. */
static bool
cell_lock(unsigned c)
{
    return !atomic_flag_test_and_set(&locks[c]);
}

static void
cell_unlock(unsigned c)
{
    atomic_flag_clear(&locks[c]);
}

static alq_value
field_read(unsigned c, unsigned i)
{
    return alq_field_acquire(cell(c), (uintptr_t)i);
}

/* ---- steps -------------------------------------------------------------- */

static uint32_t
new_key(struct worker *w)
{
    return (rnd(w, 1u << 27) << 3 & 0x3FFFFFF8u) | 8u << 26 |
           rnd(w, DEPTH_MAX + 1);
}

static void
step_make(struct worker *w)
{
    unsigned s = rnd(w, SLOTS);
    uint32_t key = new_key(w);
    alq_value v = make(w->d, key);

    w->slots[s] = v;
    w->keys[s] = key;
}

static void
step_put(struct worker *w)
{
    unsigned c = rnd(w, CELLS), i = rnd(w, FIELDS), s = rnd(w, SLOTS);

    if (!cell_lock(c))
        return;
    alq_store(w->d, cell(c), i,
              w->keys[s] == 0 ? alq_from_int(i) : w->slots[s]);
    keys[c][i] = w->keys[s];
    cell_unlock(c);
}

static void
step_get(struct worker *w)
{
    unsigned c = rnd(w, CELLS), i = rnd(w, FIELDS), s = rnd(w, SLOTS);

    if (!cell_lock(c))
        return;
    w->slots[s] = field_read(c, i);
    w->keys[s] = keys[c][i];
    cell_unlock(c);
}

/* A new structure goes straight to a cell, whose lock is held while others
 * collect. */
static void
step_make_there(struct worker *w)
{
    unsigned c = rnd(w, CELLS), i = rnd(w, FIELDS);
    uint32_t key = new_key(w);
    alq_value v;

    if (!cell_lock(c))
        return;
    v = make(w->d, key);
    alq_store(w->d, cell(c), i, v);
    keys[c][i] = key;
    cell_unlock(c);
}

static uint32_t
key_in(alq_value v)
{
    return (uint32_t)alq_to_int(alq_field(v, 0));
}

/* Only structures with children tell their key. */
static void
step_wild(struct worker *w)
{
    unsigned c = CELLS + rnd(w, CELLS), i = rnd(w, FIELDS), s = rnd(w, SLOTS);
    alq_value v;

    if (rnd(w, 2)) {
        if (w->keys[s] != 0 && depth_of(w->keys[s]) > 0)
            alq_store(w->d, cell(c), i, w->slots[s]);
        return;
    }
    v = field_read(c, i);
    if (!alq_is_block(v))
        return;
    w->slots[s] = v;
    w->keys[s] = key_in(v);
    check(v, w->keys[s]);
}

static void
step_check(struct worker *w)
{
    unsigned s = rnd(w, SLOTS);

    if (w->keys[s] != 0)
        check(w->slots[s], w->keys[s]);
    else
        MUST(!alq_is_block(w->slots[s]));
}

static void
step_drop(struct worker *w)
{
    unsigned s = rnd(w, SLOTS);

    w->slots[s] = ALQ_NULL;
    w->keys[s] = 0;
}

static void
step_collect(struct worker *w)
{
    switch (rnd(w, 60)) {
    case 0:
        MUST(alq_gc_full_major(w->d) == ALQ_OK);
        break;
    case 6:
        MUST(alq_gc_compact(w->d) == ALQ_OK);
        break;
    case 1:
    case 2:
        MUST(alq_gc_major(w->d) == ALQ_OK);
        break;
    case 3:
    case 4:
    case 5:
        MUST(alq_gc_minor(w->d) == ALQ_OK);
        break;
    default:
        MUST(alq_gc_major_slice(w->d, 1 + rnd(w, 3000)) == ALQ_OK);
    }
}

static void
step(struct worker *w)
{
    uint32_t which = rnd(w, 1000);

    if (which < 300)
        step_make(w);
    else if (which < 450)
        step_put(w);
    else if (which < 600)
        step_get(w);
    else if (which < 700)
        step_make_there(w);
    else if (which < 850)
        step_wild(w);
    else if (which < 920)
        step_check(w);
    else if (which < 990)
        step_drop(w);
    else
        step_collect(w);
}

/* ---- runs --------------------------------------------------------------- */

static void
live(struct worker *w, unsigned steps)
{
    ALQ_FRAME(w->d, f, slots[SLOTS]);
    unsigned i;

    w->slots = f.slots;
    for (i = 0; i < SLOTS; i++)
        w->keys[i] = 0;
    for (i = 0; i < steps && n_wrong == 0; i++)
        step(w);
    for (i = 0; i < SLOTS; i++)
        if (w->keys[i] != 0)
            check(f.slots[i], w->keys[i]);
    w->slots = NULL;
}

static const struct alq_domain_config config = {.minor_words = 8192,
                                                .space_overhead = 80};

static void *
worker_run(void *arg)
{
    struct worker *w = arg;
    unsigned i;

    for (i = 0; i < LIVES && n_wrong == 0; i++) {
        MUST(alq_domain_new(&config, &w->d) == ALQ_OK);
        if (n_wrong > 0)
            break;
        live(w, STEPS / LIVES / w->n_all * 2);
        MUST(alq_status_of(w->d) == ALQ_OK);
        alq_domain_drop(w->d);
    }
    atomic_fetch_add(&n_finished, 1);
    return NULL;
}

static void
table_make(struct alq_domain *d)
{
    unsigned c;
    alq_value v;

    table.value = ALQ_NULL; /* not what the last heap had there */
    assert_int_equal(alq_global_add(d, &table), ALQ_OK);
    table.value = alq_alloc(d, 2 * CELLS, 0);
    for (c = 0; c < 2 * CELLS; c++) {
        v = alq_alloc(d, FIELDS, 1);
        alq_init(d, table.value, c, v);
    }
    for (c = 0; c < CELLS; c++) {
        unsigned i;

        atomic_flag_clear(&locks[c]);
        for (i = 0; i < FIELDS; i++)
            keys[c][i] = 0;
    }
}

static void
table_check(void)
{
    unsigned c, i;

    for (c = 0; c < CELLS; c++)
        for (i = 0; i < FIELDS; i++)
            if (keys[c][i] != 0)
                check(alq_field(cell(c), i), keys[c][i]);
            else
                MUST(!alq_is_block(alq_field(cell(c), i)));
    for (c = CELLS; c < 2 * CELLS; c++)
        for (i = 0; i < FIELDS; i++)
            if (alq_is_block(alq_field(cell(c), i)))
                check(alq_field(cell(c), i), key_in(alq_field(cell(c), i)));
}

static void
threads_run(struct worker *workers, unsigned n)
{
    pthread_t threads[WORKERS_MAX];
    unsigned i;

    for (i = 1; i < n; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, worker_run, &workers[i]), 0);
    live(&workers[0], STEPS / n * 2);
    while (n_finished < n - 1) { /* a domain that allocates nothing */
        alq_poll(workers[0].d);
        sched_yield();
    }
    for (i = 1; i < n; i++)
        pthread_join(threads[i], NULL);
}

static void
run(unsigned n, uint64_t seed)
{
    static struct worker workers[WORKERS_MAX];
    struct alq_gc_counts counts;
    struct alq_domain *d;
    unsigned i;

    n_finished = n_wrong = 0;
    assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
    table_make(d);
    for (i = 0; i < n; i++)
        workers[i] =
            (struct worker){.d = d,
                            .seed = (seed + alqi_base_test_seed()) * 1000 + i,
                            .n_all = n};
    threads_run(workers, n);
    table_check();
    if (n_wrong > 0)
        fail_msg("%u checks failed, the first in line %d; seed %llu, %u "
                 "domains",
                 n_wrong, wrong_line, (unsigned long long)seed, n);
    assert_int_equal(alq_gc_counters(d, &counts), ALQ_OK);
    assert_true(counts.minor_collections > 10);
    assert_true(counts.major_cycles > 0);
    alq_global_remove(d, &table);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(customs_live, 0);
    alq_domain_drop(d);
}

static void
two_domains(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= 4; seed++)
        run(2, seed);
}

static void
more_domains(void **state)
{
    (void)state;
    run(3, 11);
    run(5, 12);
    run(WORKERS_MAX, 13);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_domains),
        cmocka_unit_test(more_domains),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
