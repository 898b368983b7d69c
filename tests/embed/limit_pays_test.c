/* limit_pays_test.c -- a task pays for what it allocates itself, to the word,
 * whatever the call is by which it allocates */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memprof_kit.h"

#include "limit_kit.h"

static void
outside_free(alq_value block)
{
    (void)block;
}

static const struct alq_custom_ops kind = {.finalise = outside_free};

/* Values of the program's own, which outlive its tasks. */
static struct alq_root *kept;

/* ---- each way to allocate ------------------------------------------------ */

static struct {
    void *bytes;
    size_t n;
} message_small, message_large;

static alq_value
read_message(struct alq_domain *on, const void *bytes, size_t n)
{
    alq_value v;

    return alq_unmarshal(on, bytes, n, NULL, NULL, &v) == ALQ_OK ? v : ALQ_NULL;
}

static enum alq_status
read_bytes(void *arg, void *to, size_t n)
{
    const char **at = arg;

    memcpy(to, *at, n);
    *at += n;
    return ALQ_OK;
}

static alq_value
by_small(struct alq_domain *on)
{
    alq_value v = alq_alloc_small(on, 2, 0);

    if (alq_is_null(v))
        return v;
    alq_init_small(v, 0, ALQ_UNIT);
    alq_init_small(v, 1, ALQ_UNIT);
    return v;
}

static alq_value
by_several(struct alq_domain *on)
{
    const uintptr_t headers[3] = {ALQ_HEADER(1, 0), ALQ_HEADER(7, 0),
                                  ALQ_HEADER(3, 0)};
    alq_value v[3];

    if (!alq_alloc_several(on, 3, headers, v))
        return ALQ_NULL;
    for (int b = 0; b < 3; b++)
        for (uintptr_t i = 0; i < headers[b] >> ALQ_WOSIZE_SHIFT; i++)
            alq_init_small(v[b], i, ALQ_UNIT);
    return v[0];
}

static alq_value
by_alloc(struct alq_domain *on)
{
    return alq_alloc(on, 40, 0);
}

static alq_value
by_alloc_direct(struct alq_domain *on)
{
    return alq_alloc(on, 700, 0);
}

static alq_value
by_string(struct alq_domain *on)
{
    return alq_alloc_string(on, 100);
}

static alq_value
by_string_direct(struct alq_domain *on)
{
    return alq_alloc_string(on, 5000);
}

static alq_value
by_copy(struct alq_domain *on)
{
    return alq_string_copy(on, "some bytes of a string", 23);
}

static alq_value
by_doubles(struct alq_domain *on)
{
    return alq_alloc_double_array(on, 20);
}

static alq_value
by_double(struct alq_domain *on)
{
    return alq_alloc_double(on, 1.5);
}

static alq_value
by_custom(struct alq_domain *on)
{
    return alq_alloc_custom(on, &kind, 24);
}

static alq_value
by_custom_direct(struct alq_domain *on)
{
    return alq_alloc_custom(on, &kind, 4000);
}

static alq_value
by_custom_mem(struct alq_domain *on)
{
    return alq_alloc_custom_mem(on, &kind, 16, 100);
}

/* Born old, as what it holds is much. */
static alq_value
by_custom_mem_old(struct alq_domain *on)
{
    return alq_alloc_custom_mem(on, &kind, 16, 100000);
}

static alq_value
by_custom_ratio(struct alq_domain *on)
{
    return alq_alloc_custom_ratio(on, &kind, 16, 1, 1000000);
}

static alq_value
by_weak(struct alq_domain *on)
{
    return alq_weak_create(on, 30);
}

static alq_value
by_ephemeron(struct alq_domain *on)
{
    return alq_ephe_create(on, 3);
}

static alq_value
by_message_small(struct alq_domain *on)
{
    return read_message(on, message_small.bytes, message_small.n);
}

static alq_value
by_message_large(struct alq_domain *on)
{
    return read_message(on, message_large.bytes, message_large.n);
}

static alq_value
by_message_read(struct alq_domain *on)
{
    const char *at = message_large.bytes;
    alq_value v;

    return alq_unmarshal_read(on, read_bytes, &at, NULL, &v) == ALQ_OK
               ? v
               : ALQ_NULL;
}

typedef alq_value form_fn(struct alq_domain *on);

static form_fn *const forms[] = {
    by_small,          by_several,       by_alloc,         by_alloc_direct,
    by_string,         by_string_direct, by_copy,          by_doubles,
    by_double,         by_custom,        by_custom_direct, by_custom_mem,
    by_custom_mem_old, by_custom_ratio,  by_weak,          by_ephemeron,
    by_message_small,  by_message_large, by_message_read,
};

enum { FORMS = ALQI_COUNT_OF(forms), MESSAGES = 3 };

/* ---- an exact limit ------------------------------------------------------ */

static enum alq_status
once(struct alq_domain *on, void *form)
{
    return alq_is_null((*(form_fn *const *)form)(on)) ? alq_status_of(on)
                                                      : ALQ_OK;
}

static uint64_t
cost_words(size_t form)
{
    struct alq_outcome out;

    assert_int_equal(
        alq_limit_run(d, NULL, once, (void *)(uintptr_t)&forms[form], &out),
        ALQ_OK);
    return out.words;
}

struct mix {
    uint64_t state; /* of the choice            */
    size_t n_forms; /* of them                  */
    size_t refused; /* the form that was        */
};

/* Forms at random, until one is refused. */
static enum alq_status
mixed(struct alq_domain *on, void *arg)
{
    struct mix *m = arg;

    do {
        m->state = alqi_base_mix(m->state + 1);
        m->refused = m->state % m->n_forms;
    } while (!alq_is_null(forms[m->refused](on)));
    return alq_status_of(on);
}

/* Never a word more, and never one less: what was refused would have passed
 * it.  Deterministic. */
static void
limit_in_words_is_exact_for_each_form(void **state)
{
    uint64_t costs[FORMS];

    (void)state;
    for (size_t i = 0; i < FORMS; i++)
        costs[i] = cost_words(i);
    for (unsigned run = 0; run < (unsigned)reps(2000, 200, 20); run++) {
        struct mix m = {run, FORMS, 0};
        struct alq_limits l =
            limit_words(alqi_base_mix(run) % (IS_HARD ? 3000 : 60000));
        struct alq_outcome out;

        assert_int_equal(alq_limit_run(d, &l, mixed, &m, &out), ALQ_ELIMIT);
        assert_int_equal(out.cause, ALQ_LIMIT_WORDS);
        assert_true(out.words <= l.words);
        assert_true(out.words + costs[m.refused] > l.words);
        assert_int_equal(alq_status_of(d), ALQ_OK);
    }
}

static void
form_is_let_through_or_refused_to_the_word(void **state)
{
    (void)state;
    for (size_t i = 0; i < FORMS; i++) {
        void *form = (void *)(uintptr_t)&forms[i];
        uint64_t cost = cost_words(i);
        struct alq_limits l = limit_words(cost);
        struct alq_outcome out;

        assert_int_equal(alq_limit_run(d, &l, once, form, &out), ALQ_OK);
        assert_int_equal(out.words, cost);
        l = limit_words(cost - 1);
        assert_int_equal(alq_limit_run(d, &l, once, form, &out), ALQ_ELIMIT);
        assert_int_equal(out.words, 0);
    }
}

/* Before its memory is taken, or its bytes are read. */
static enum alq_status
read_nothing(void *arg, void *to, size_t n)
{
    struct {
        const char *at;
        size_t left;
    } *from = arg;

    assert_true(n <= from->left);
    memcpy(to, from->at, n);
    from->at += n;
    from->left -= n;
    return ALQ_OK;
}

static enum alq_status
read_whole(struct alq_domain *on, void *arg)
{
    alq_value v;

    (void)arg;
    return alq_unmarshal(on, message_large.bytes, message_large.n, NULL, NULL,
                         &v);
}

static enum alq_status
read_by_function(struct alq_domain *on, void *arg)
{
    struct {
        const char *at;
        size_t left;
    } from = {message_large.bytes, ALQ_MARSHAL_HEADER_BYTES};
    alq_value v;

    (void)arg;
    return alq_unmarshal_read(on, read_nothing, &from, NULL, &v);
}

static void
message_is_refused_before_anything_of_it_is_made(void **state)
{
    struct alq_limits l = limit_words(1000);
    alq_task_fn *const reads[] = {read_whole, read_by_function};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct alq_outcome out;
        struct alq_gc_counts before, after;

        alq_gc_counters(d, &before);
        assert_int_equal(alq_limit_run(d, &l, reads[i], NULL, &out),
                         ALQ_ELIMIT);
        alq_gc_counters(d, &after);
        assert_int_equal(out.cause, ALQ_LIMIT_WORDS);
        assert_int_equal(out.task, ALQ_ELIMIT);
        assert_int_equal(out.words, 0);
        assert_int_equal(after.heap_bytes, before.heap_bytes);
        assert_int_equal(alq_status_of(d), ALQ_OK);
    }
}

/* ---- each pays for its own ------------------------------------------------
 */

enum { HEAVY_WORDS = 1000000, REQUESTS = 2000, HEAVY_EACH = 10 };

static enum alq_status
keep(struct alq_domain *on, alq_value v)
{
    if (alq_is_null(v))
        return alq_status_of(on);
    alq_root_set(on, kept, v);
    return ALQ_OK;
}

static void
let_go(void)
{
    alq_root_set(d, kept, ALQ_UNIT);
}

/* One block of so many words, or as much outside of the heap, or a message; it
 * outlives the task. */
static enum alq_status
heavy_block(struct alq_domain *on, void *arg)
{
    alq_value v = alq_alloc_string(on, HEAVY_WORDS * 8);

    (void)arg;
    return keep(on, v);
}

static enum alq_status
heavy_outside(struct alq_domain *on, void *arg)
{
    alq_value v = alq_alloc_custom_mem(on, &kind, 8, HEAVY_WORDS * 8);

    (void)arg;
    return keep(on, v);
}

static enum alq_status
heavy_message(struct alq_domain *on, void *arg)
{
    alq_value v;
    enum alq_status status =
        alq_unmarshal(on, message_large.bytes, message_large.n, NULL, NULL, &v);

    (void)arg;
    return status == ALQ_OK ? keep(on, v) : status;
}

/* A request that does next to nothing. */
static enum alq_status
innocent(struct alq_domain *on, void *arg)
{
    struct alloc a = {5, 2, 0};

    (void)arg;
    return make_pairs(on, &a);
}

/* A heavy one of ten; of the innocent ones, each of 15 words, none has a sample
 * as it is: the limit is of 20 samples or more. */
static void
serve(const struct alq_limits *l, alq_task_fn *heavy,
      enum alq_limit_cause cause)
{
    unsigned n = (unsigned)reps(REQUESTS, 200, 20);

    for (unsigned i = 0; i < n; i++) {
        bool is_heavy = i % HEAVY_EACH == 3;
        struct alq_outcome out;
        enum alq_status status =
            alq_limit_run(d, l, is_heavy ? heavy : innocent, NULL, &out);

        assert_int_equal(status, is_heavy ? ALQ_ELIMIT : ALQ_OK);
        assert_int_equal(out.cause, is_heavy ? cause : ALQ_LIMIT_NOT);
        let_go();
    }
}

static alq_task_fn *const heavies[] = {heavy_block, heavy_outside,
                                       heavy_message};

/* The message of hard builds is small. */
enum { N_HEAVY = ALQI_COUNT_OF(heavies) - IS_HARD };

/* 200,000 of 1,000,000 words or more: 600,000 of the message.  The chance that
 * one heavy request has fewer than 20 of 60 samples is 4e-10; fixed seed. */
static void
task_pays_for_its_samples_before_it_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_HEAVY; i++) {
        struct alq_limits l = limit_sampled(200000);

        l.seed = 16 + i;
        serve(&l, heavies[i], ALQ_LIMIT_SAMPLED);
    }
}

static void
task_pays_for_what_lives_before_it_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_HEAVY; i++) {
        struct alq_limits l = ALQ_LIMITS_NONE;

        l.live_words = 200000;
        serve(&l, heavies[i], ALQ_LIMIT_LIVE);
    }
}

/* And the heap's limit is looked at. */
static void
task_that_has_filled_the_heap_is_told(void **state)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    (void)state;
    l.heap_bytes = HEAVY_WORDS * 8;
    serve(&l, heavy_block, ALQ_LIMIT_HEAP);
}

/* What the outer task has allocated the inner one does not pay, and the other
 * way round it does. */
static enum alq_status
heavy_then_innocent(struct alq_domain *on, void *arg)
{
    struct alq_limits l = limit_sampled(200000);
    enum alq_status status = heavy_block(on, NULL);

    (void)arg;
    if (status == ALQ_OK)
        status = alq_limit_run(on, &l, innocent, NULL, NULL);
    let_go();
    return status;
}

static void
inner_task_pays_nothing_of_the_outer_one_s(void **state)
{
    struct alq_limits l = limit_sampled(ALQ_LIMIT_MAX);

    (void)state;
    for (int i = 0; i < 20; i++)
        assert_int_equal(alq_limit_run(d, &l, heavy_then_innocent, NULL, NULL),
                         ALQ_OK);
}

/* A block that is refused is not paid for: ten times 1,000,000 words are asked
 * for within a limit of 5,000,000, and none is had. */
static enum alq_status
refused_often(struct alq_domain *on, void *arg)
{
    struct alq_limits l = limit_sampled(200000);
    enum alq_status status = ALQ_ELIMIT;

    (void)arg;
    for (int i = 0; i < 10 && status == ALQ_ELIMIT; i++)
        status = alq_limit_run(on, &l, heavy_block, NULL, NULL);
    return status == ALQ_ELIMIT ? innocent(on, NULL) : ALQ_EINVAL;
}

static void
what_is_refused_is_not_paid_for(void **state)
{
    struct alq_limits l = limit_sampled(5000000);

    (void)state;
    assert_int_equal(alq_limit_run(d, &l, refused_often, NULL, NULL), ALQ_OK);
}

/* ---- a task again ---------------------------------------------------------
 */

/* Of the same seed each run stops at the same block, wherever the minor heap
 * stands, and whatever profile runs beside.  Different seeds do not. */
static void
seed_replays_a_task_in_one_process(void **state)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_profile *p = NULL;
    uint64_t first = 0, n_other = 0;

    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        struct alq_limits l = limit_sampled(IS_HARD ? 1000 : 100000);
        struct mix m = {7, FORMS - MESSAGES, 0};
        struct alloc before = {i * 977, 2, 0};
        struct alq_outcome out;

        assert_int_equal(make_pairs(d, &before), ALQ_OK);
        if (i == 20) {
            c.rate = 0.01;
            assert_int_equal(alq_memprof_start(d, &c, &alq_tracker_null, &p),
                             ALQ_OK);
        }
        l.seed = i % 4 == 3 ? 100 + i : 42;
        assert_int_equal(alq_limit_run(d, &l, mixed, &m, &out), ALQ_ELIMIT);
        first = i == 0 ? out.words : first;
        if (i % 4 == 3)
            n_other += out.words != first;
        else
            assert_int_equal(out.words, first);
    }
    assert_true(n_other > 0);
    assert_int_equal(alq_profile_stop(p), ALQ_OK);
    alq_profile_drop(p);
}

/* ---- one block of a size without end --------------------------------------
 */

struct drawn {
    uint64_t n;
    double z[2000];
    uint64_t words;
    double rate;
};

static int
draw(void *arg, const struct alq_allocation *alloc, uintptr_t *data)
{
    struct drawn *drawn = arg;
    double mean = (double)drawn->words * drawn->rate;

    (void)data;
    if (alloc->size_words < 100000)
        return ALQ_TRACK_DROP; /* not one of these */
    drawn->z[drawn->n++] =
        ((double)alloc->n_samples - mean) / sqrt(mean * (1 - drawn->rate));
    return ALQ_TRACK_DROP;
}

/* Where a normal variate lies, in 8 parts of the same probability: the counts
 * have means of 1e5 and more, so the binomial law is within 1e-3 of it. */
static void
check_normal(const struct drawn *drawn)
{
    static const double ends[7] = {-1.1503494, -0.6744898, -0.3186394, 0,
                                   0.3186394,  0.6744898,  1.1503494};
    double sum = 0, n = (double)drawn->n;
    unsigned counts[8] = {0};

    for (uint64_t i = 0; i < drawn->n; i++) {
        unsigned part = 0;

        while (part < 7 && drawn->z[i] > ends[part])
            part++;
        counts[part]++;
    }
    for (unsigned i = 0; i < 8; i++)
        sum += (counts[i] - n / 8) * (counts[i] - n / 8) / (n / 8);
    /* Chi-square of 7 above 72: 6e-13. */
    assert_true(sum < 72);
}

/* The time of each is that of one draw: by words, or by samples, these would
 * take hours.  The seed is fixed. */
static void
law_of_a_huge_block(double rate, size_t bytes, alq_value (*make)(size_t bytes))
{
    struct drawn drawn = {.words = bytes / 8, .rate = rate};
    const struct alq_tracker t = {
        .alloc_minor = draw, .alloc_major = draw, .arg = &drawn};
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_profile *p;
    unsigned n = (unsigned)reps(2000, 200, 200);

    c.rate = rate;
    c.callstack_frames = 0;
    c.seed = 16;
    assert_int_equal(alq_memprof_start(d, &c, &t, &p), ALQ_OK);
    for (unsigned i = 0; i < n; i++)
        assert_true(!alq_is_null(make(bytes)));
    assert_int_equal(alq_memprof_flush(d, NULL), ALQ_OK);
    assert_int_equal(drawn.n, n);
    check_normal(&drawn);
    assert_int_equal(alq_profile_stop(p), ALQ_OK);
    alq_profile_drop(p);
}

static alq_value
make_outside(size_t bytes)
{
    return alq_alloc_custom_mem(d, &kind, 8, bytes);
}

static alq_value
make_inside(size_t bytes)
{
    return alq_alloc_string(d, bytes - 9);
}

static void
memory_outside_is_one_draw(void **state)
{
    (void)state;
    law_of_a_huge_block(1e-3, (size_t)1 << 40, make_outside);
    law_of_a_huge_block(0.5, (size_t)1 << 34, make_outside);
    law_of_a_huge_block(0.99, (size_t)1 << 34, make_outside);
}

static void
direct_block_is_one_draw(void **state)
{
    (void)state;
    law_of_a_huge_block(0.5, 1 << 22, make_inside);
}

/* A limit counts as quickly. */
static enum alq_status
outside_once(struct alq_domain *on, void *arg)
{
    return alq_is_null(alq_alloc_custom_mem(on, &kind, 8, *(size_t *)arg))
               ? alq_status_of(on)
               : ALQ_OK;
}

static void
limit_counts_memory_outside_by_one_draw(void **state)
{
    size_t bytes = (size_t)1 << 55;
    double mean = (double)bytes / 8;
    struct alq_limits l = limit_sampled(ALQ_LIMIT_MAX);

    (void)state;
    for (int i = 0; i < 100; i++) {
        struct alq_outcome out;

        assert_int_equal(alq_limit_run(d, &l, outside_once, &bytes, &out),
                         ALQ_OK);
        /* 8 standard deviations: 1e-15. */
        assert_true(fabs((double)out.sampled_words - mean) <
                    8 * sqrt(mean * ALQ_LIMIT_INTERVAL_WORDS));
    }
}

/* ---- */

/* A list of so many pairs. */
static void
message_make(size_t pairs, void **bytes, size_t *n)
{
    ALQ_FRAME(d, f, list);

    f.list = ALQ_UNIT;
    for (size_t i = 0; i < pairs; i++) {
        alq_value v = alq_alloc(d, 2, 0);

        assert_true(!alq_is_null(v));
        alq_init(d, v, 0, alq_from_int(1));
        alq_init(d, v, 1, f.list);
        f.list = v;
    }
    assert_int_equal(alq_marshal_to_memory(d, f.list, NULL, bytes, n), ALQ_OK);
}

static int
setup(void **state)
{
    if (domains_setup(state) != 0)
        return 1;
    kept = alq_root_new(d, ALQ_UNIT);
    message_make(20, &message_small.bytes, &message_small.n);
    message_make(IS_HARD ? 1000 : 200000, &message_large.bytes,
                 &message_large.n);
    return kept == NULL;
}

static int
teardown(void **state)
{
    free(message_small.bytes);
    free(message_large.bytes);
    alq_root_drop(d, kept);
    return domains_teardown(state);
}

/* ---- a block that is not made -------------------------------------------- */

/* In bytes: more than the heap may have; and, in words, what the block would
 * hold outside.  The words of the block itself are few beside those. */
enum { HEAP_MOST = 16 << 20, TOO_LARGE = 4 * HEAP_MOST };
#define OUTSIDE_BYTES ((size_t)8 << 30)
#define FEW_WORDS ((uint64_t)OUTSIDE_BYTES / 8 / 10)

static enum alq_status
ask_for_too_much(struct alq_domain *on, void *arg)
{
    (void)arg;
    CHECK(
        alq_is_null(alq_alloc_custom_mem(on, &kind, TOO_LARGE, OUTSIDE_BYTES)));
    CHECK(alq_status_of(on) == ALQ_ENOMEM);
    alq_status_clear(on);
    return ALQ_OK;
}

/* The heap has no room for the block, so nobody holds its memory outside.  The
 * test has a heap of its own. */
static void
memory_outside_of_no_block_is_not_paid_for(void **state)
{
    struct alq_domain_config c = {.limit_bytes = HEAP_MOST};
    struct alq_limits l = limit_sampled((uint64_t)1 << 50);
    struct alq_outcome out;

    (void)state;
    assert_int_equal(alq_domain_new(&c, &d), ALQ_OK);
    l.seed = 1;
    assert_int_equal(alq_limit_run(d, &l, ask_for_too_much, NULL, &out),
                     ALQ_OK);
    assert_true(out.sampled_words < FEW_WORDS);
    assert_int_equal(alq_domain_drop(d), ALQ_OK);
}

/* The inner task may have the memory outside, but not the block. */
static enum alq_status
ask_for_more_than_allowed(struct alq_domain *on, void *arg)
{
    (void)arg;
    CHECK(
        alq_is_null(alq_alloc_custom_mem(on, &kind, TOO_LARGE, OUTSIDE_BYTES)));
    return ALQ_OK;
}

static enum alq_status
run_inner(struct alq_domain *on, void *arg)
{
    struct alq_outcome out;

    CHECK(alq_limit_run(on, arg, ask_for_more_than_allowed, NULL, &out) ==
          ALQ_ELIMIT);
    CHECK(out.cause == ALQ_LIMIT_WORDS);
    alq_status_clear(on);
    return ALQ_OK;
}

/* Neither does a task around pay, whether the call fails or does not return. */
static void
memory_outside_of_a_refused_block_is_not_paid_for(void **state)
{
    static const unsigned flags[] = {0, ALQ_LIMIT_UNWINDS};

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(flags); i++) {
        struct alq_limits outer = limit_sampled((uint64_t)1 << 50);
        struct alq_limits inner = limit_words(1000);
        struct alq_outcome out;

        outer.seed = 1;
        inner.flags = flags[i];
        assert_int_equal(alq_limit_run(d, &outer, run_inner, &inner, &out),
                         ALQ_OK);
        assert_true(out.sampled_words < FEW_WORDS);
    }
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(form_is_let_through_or_refused_to_the_word),
        TEST(limit_in_words_is_exact_for_each_form),
        TEST(message_is_refused_before_anything_of_it_is_made),
        TEST(task_pays_for_its_samples_before_it_ends),
        TEST(task_pays_for_what_lives_before_it_ends),
        TEST(task_that_has_filled_the_heap_is_told),
        TEST(inner_task_pays_nothing_of_the_outer_one_s),
        TEST(what_is_refused_is_not_paid_for),
        TEST(seed_replays_a_task_in_one_process),
        TEST(memory_outside_is_one_draw),
        TEST(direct_block_is_one_draw),
        TEST(limit_counts_memory_outside_by_one_draw),
        cmocka_unit_test(memory_outside_of_no_block_is_not_paid_for),
        TEST(memory_outside_of_a_refused_block_is_not_paid_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
