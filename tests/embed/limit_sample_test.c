/* limit_sample_test.c -- limits and profiles that count by samples, on the same
 * allocations; numbers are the scenarios of spec memprof-limits 5 */
#include <math.h>

#include "memprof_kit.h"

#include "limit_kit.h"
#include "base/skip.h"

/* ---- blocks that are born in the major heap ------------------------------ */

/* As under an exact limit. */
static void
huge_block_is_refused_before_it_is_there_30(void **state)
{
    struct alq_limits l = limit_sampled(100000);
    struct alloc a = {2, 1000000, 0};
    struct alq_outcome out;

    (void)state;
    assert_int_equal(alq_limit_run(d, &l, make_blocks, &a, &out), ALQ_ELIMIT);
    assert_int_equal(out.cause, ALQ_LIMIT_SAMPLED);
    assert_int_equal(out.task, ALQ_ELIMIT); /* and not by a callback's code */
    assert_int_equal(a.made, 0);
    assert_int_equal(out.words, 0);
    assert_true(out.sampled_words >= 100000);
    assert_int_equal(alq_memprof_code(d), 0);
}

/* ---- sites --------------------------------------------------------------- */

/* A language whose stack this is. */
static struct {
    uintptr_t frames[12]; /* innermost first */
    size_t n;
} script;

static size_t
script_walk(void *arg, struct alq_domain *on, uintptr_t *frames,
            size_t max_frames)
{
    size_t n = script.n < max_frames ? script.n : max_frames;

    (void)arg;
    (void)on;
    memcpy(frames, script.frames, n * sizeof *frames);
    return n;
}

static const struct alq_stack_source source = {.walk = script_walk};

struct work {
    uint64_t rounds;
    struct alq_outcome inner;
};

static enum alq_status
work_at(struct alq_domain *on, uintptr_t frame, uint64_t n_pairs)
{
    struct alloc a = {n_pairs, 2, 0};

    script.frames[0] = frame;
    return make_pairs(on, &a);
}

/* Of 10 pairs 6 at 1, 3 at 2, 1 at 3. */
static enum alq_status
work(struct alq_domain *on, void *arg)
{
    const struct work *w = arg;
    enum alq_status status = ALQ_OK;

    for (uint64_t i = 0; i < w->rounds && status == ALQ_OK; i++) {
        status = work_at(on, 1, 6);
        if (status == ALQ_OK)
            status = work_at(on, 2, 3);
        if (status == ALQ_OK)
            status = work_at(on, 3, 1);
    }
    return status;
}

static struct alq_profile *
profile(double rate, unsigned frames)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_profile *p = NULL;

    c.rate = rate;
    c.callstack_frames = frames;
    assert_int_equal(alq_memprof_start(d, &c, &alq_tracker_null, &p), ALQ_OK);
    return p;
}

static void
end(struct alq_profile *p)
{
    assert_int_equal(alq_profile_stop(p), ALQ_OK);
    assert_int_equal(alq_memprof_discard(p), ALQ_OK);
    alq_profile_drop(p);
}

static void
speak(size_t n)
{
    for (size_t i = 0; i < n; i++)
        script.frames[i] = 100 + i;
    script.n = n;
    assert_int_equal(alq_stack_source_set(d, &source), ALQ_OK);
}

/* At rate 1 sites are exact, and what was refused is not among them. */
static void
outcome_tells_who_ate_the_memory(void **state)
{
    struct alq_limits l = limit_words(PAIR_WORDS * 1000);
    struct work w = {UINT64_MAX, {0}};
    struct alq_outcome out;
    struct alq_profile *p;

    (void)state;
    speak(12);
    p = profile(1, 5);
    assert_int_equal(alq_limit_run(d, &l, work, &w, &out), ALQ_ELIMIT);
    assert_int_equal(out.words, PAIR_WORDS * 1000);
    assert_int_equal(out.site_samples, PAIR_WORDS * 1000);
    assert_int_equal(out.site_words, PAIR_WORDS * 1000);
    assert_int_equal(out.n_sites, 3);
    for (unsigned i = 0; i < 3; i++) {
        const struct alq_limit_site *s = &out.sites[i];

        assert_int_equal(s->words, PAIR_WORDS * (i == 0   ? 600
                                                 : i == 1 ? 300
                                                          : 100));
        assert_int_equal(s->samples, s->words);
        assert_int_equal(s->n_frames, 5);
        assert_int_equal(s->frames[0], i + 1);
        assert_int_equal(s->frames[4], 104);
    }
    end(p);
    assert_int_equal(alq_limit_run(d, &l, work, &w, &out), ALQ_ELIMIT);
    assert_int_equal(out.site_samples, 0); /* none ran */
    assert_int_equal(out.n_sites, 0);
}

static enum alq_status
work_in_two(struct alq_domain *on, void *arg)
{
    struct work *w = arg;
    struct alq_limits l = limit_words(PAIR_WORDS * 100);
    enum alq_status status = work_at(on, 7, 50);

    if (status == ALQ_OK &&
        alq_limit_run(on, &l, work, w, &w->inner) != ALQ_ELIMIT)
        return ALQ_ESTATE;
    return status;
}

static void
sites_of_inner_tasks_are_the_outer_one_s_too(void **state)
{
    struct work w = {UINT64_MAX, {0}};
    struct alq_profile *p;
    struct alq_outcome out;

    (void)state;
    speak(1);
    p = profile(1, 8);
    assert_int_equal(alq_limit_run(d, NULL, work_in_two, &w, &out), ALQ_OK);
    assert_int_equal(w.inner.n_sites, 3);
    assert_int_equal(w.inner.site_words, PAIR_WORDS * 100);
    assert_int_equal(out.n_sites, 4);
    assert_int_equal(out.site_words, PAIR_WORDS * 150);
    assert_int_equal(out.sites[0].frames[0], 1);
    assert_int_equal(out.sites[1].frames[0], 7);
    end(p);
}

/* Each interval is a whole number of words (scenario 2), and of two profiles
 * the one that samples more is told. */
static void
samples_stand_for_whole_intervals_2(void **state)
{
    static const double rates[] = {1.0 / 3, 1.0 / 93, 1.0 / 99};

    (void)state;
    speak(1);
    for (int i = 0; i < 3; i++) {
        struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
        struct work w = {(uint64_t)reps(100000, 3000, 300), {0}};
        struct alq_profile *p, *beside;
        struct alq_outcome out;
        uint64_t interval;

        c.rate = rates[i];
        assert_int_equal(
            alq_limit_memprof_start(d, &c, &alq_tracker_null, &p, &interval),
            ALQ_OK);
        c.rate = 1.0 / 1000;
        c.flags = ALQ_MEMPROF_BESIDE;
        assert_int_equal(alq_memprof_start(d, &c, &alq_tracker_null, &beside),
                         ALQ_OK);
        assert_int_equal(alq_limit_run(d, NULL, work, &w, &out), ALQ_OK);
        assert_true(out.site_samples > 0);
        assert_int_equal(out.site_words, out.site_samples * interval);
        for (unsigned s = 0; s < out.n_sites; s++)
            assert_int_equal(out.sites[s].words,
                             out.sites[s].samples * interval);
        end(p);
        end(beside);
    }
}

/* ---- a limit beside a profile -------------------------------------------- */

/* Samples that a user's profile is told of. */
static int
count(void *arg, const struct alq_allocation *alloc, uintptr_t *data)
{
    (void)data;
    *(uint64_t *)arg += alloc->n_samples;
    return ALQ_TRACK_DROP;
}

static struct alq_profile *
counting(double rate, uint64_t *n)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_tracker t = {.alloc_minor = count, .alloc_major = count};
    struct alq_profile *p = NULL;

    c.rate = rate;
    c.callstack_frames = 0;
    t.arg = n;
    *n = 0;
    assert_int_equal(alq_memprof_start(d, &c, &t, &p), ALQ_OK);
    return p;
}

static enum alq_status
half_masked(struct alq_domain *on, void *arg)
{
    struct alloc *a = arg;
    struct alloc masked = {a->n, 2, 0};
    int was = alq_mask_begin(on);
    enum alq_status status = make_pairs(on, &masked);

    alq_mask_end(on, was);
    return status == ALQ_OK ? make_pairs(on, a) : status;
}

/* At rate 1 the profile sees each word that the task got, masked ones too, and
 * none of the block that a sample of the limit's has refused. */
static void
sample_that_stops_a_task_is_no_one_else_s_26(void **state)
{
    uint64_t told = 0;
    struct alq_profile *p;

    (void)state;
    p = counting(1, &told);
    for (int run = 0; run < reps(50, 5, 1); run++) {
        struct alq_limits l = limit_sampled(30000);
        struct alloc a = {(uint64_t)reps(1000000, 1000000, 300), 2, 0};
        struct alq_outcome out;
        enum alq_status status;

        told = 0;
        status =
            alq_limit_run(d, &l, run % 2 ? half_masked : make_pairs, &a, &out);
        assert_int_equal(status, IS_HARD ? ALQ_OK : ALQ_ELIMIT);
        assert_int_equal(told, out.words);
    }
    end(p);
}

/* What the limit has sampled it has sampled beside a profile, too; and each has
 * all of its samples: fuel, which asks at each of them, takes none away. */
static void
each_has_all_of_its_samples_26(void **state)
{
    struct alq_limits l = limit_sampled(ALQ_LIMIT_MAX);
    struct alloc a = {(uint64_t)reps(10000000, 1000000, 300), 2, 0};
    struct alq_outcome alone, out;
    struct alq_profile *p;
    uint64_t told = 0;

    (void)state;
    l.seed = 26;
    assert_int_equal(alq_limit_run(d, &l, make_pairs, &a, &alone), ALQ_OK);
    l.polls = ALQ_LIMIT_MAX;
    p = counting(1.0 / ALQ_LIMIT_INTERVAL_WORDS, &told);
    assert_int_equal(alq_limit_run(d, &l, make_pairs, &a, &out), ALQ_OK);
    end(p);
    assert_int_equal(out.words, alone.words);
    assert_int_equal(out.sampled_words, alone.sampled_words);
    if (!IS_HARD) {
        check_binomial(told, out.words, 1.0 / ALQ_LIMIT_INTERVAL_WORDS);
        check_binomial(out.sampled_words / ALQ_LIMIT_INTERVAL_WORDS, out.words,
                       1.0 / ALQ_LIMIT_INTERVAL_WORDS);
    }
}

/* ---- what is discarded ----------------------------------------------------
 */

struct lives {
    uint64_t n_born, n_dead, n_released;
};

static int
born(void *arg, const struct alq_allocation *alloc, uintptr_t *data)
{
    struct lives *l = arg;

    (void)alloc;
    (void)data;
    l->n_born++;
    return ALQ_TRACK_KEEP;
}

static int
stays(void *arg, uintptr_t *data)
{
    (void)arg;
    (void)data;
    return ALQ_TRACK_KEEP;
}

static int
dies(void *arg, uintptr_t data)
{
    struct lives *l = arg;

    (void)data;
    l->n_dead++;
    return 0;
}

static void
let_go(void *arg, uintptr_t data)
{
    struct lives *l = arg;

    (void)data;
    l->n_released++;
}

/* Deterministic, at rate 1. */
static void
nothing_is_called_after_a_discard_28(void **state)
{
    struct lives lives = {0}, then;
    const struct alq_tracker t = {born, born,   stays,  dies,
                                  dies, let_go, &lives, 0};
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_profile *p;
    struct alloc a = {100, 2, 0};
    ALQ_FRAME(d, f, list);

    (void)state;
    c.rate = 1;
    assert_int_equal(alq_limit_memprof_start(d, &c, &t, &p, NULL), ALQ_OK);
    f.list = ALQ_UNIT;
    for (int i = 0; i < 100; i++) {
        alq_value cell = alq_alloc(d, 2, 0);

        alq_init(d, cell, 0, f.list);
        f.list = cell;
    }
    assert_int_equal(make_pairs(d, &a), ALQ_OK);
    assert_int_equal(alq_limit_memprof_discard(p), ALQ_ERUNNING);
    assert_int_equal(alq_limit_memprof_stop(d), ALQ_OK);
    assert_int_equal(make_pairs(d, &a), ALQ_OK); /* not sampled */
    assert_int_equal(lives.n_born, 200);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(lives.n_dead, 100); /* stopped, it is still told */
    assert_int_equal(alq_limit_memprof_discard(p), ALQ_OK);
    assert_int_equal(lives.n_dead + lives.n_released, 200);
    then = lives;
    f.list = ALQ_UNIT;
    for (int i = 0; i < 3; i++)
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(make_pairs(d, &a), ALQ_OK);
    assert_memory_equal(&lives, &then, sizeof then);
    assert_int_equal(alq_limit_memprof_discard(p), ALQ_EGONE);
    alq_profile_drop(p);
}

/* ---- the law of a profile --------------------------------------------------
 */

enum { SIZES = 5, PROFILE_INTERVAL = 1000 };

static const size_t sizes[SIZES] = {1, 2, 10, 256, 100000};

struct drawn {
    uint64_t blocks[SIZES], words[SIZES], all_words;
};

static int
draw(void *arg, const struct alq_allocation *alloc, uintptr_t *data)
{
    struct drawn *drawn = arg;

    (void)data;
    for (int i = 0; i < SIZES; i++)
        if (alloc->size_words == sizes[i]) {
            drawn->blocks[i]++;
            drawn->words[i] += alloc->n_samples;
            drawn->all_words += alloc->n_samples;
        }
    return ALQ_TRACK_DROP;
}

/* Fifths of 1,000,000,000 words at rate 1e-3: the total, of 1,000,000 samples,
 * within 8 standard deviations, that is 0.8 %; of a site with a share of f
 * within 0.8 % / sqrt(f), 1e-14 each.  Blocks that are sampled at all, by
 * chance 1 - (1 - p)^(w + 1) each: chi-square of 5, 7e-12. */
static void
law_of_a_profile_29(void **state)
{
    uint64_t words = (uint64_t)reps(1000000000, 20000000, 0), all = 0;
    double rate = 1.0 / PROFILE_INTERVAL, hits[SIZES], means[SIZES],
           variances[SIZES];
    struct drawn drawn = {{0}, {0}, 0};
    const struct alq_tracker t = {
        .alloc_minor = draw, .alloc_major = draw, .arg = &drawn};
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_profile *p;

    (void)state;
    if (IS_HARD)
        ALQI_SKIP("a hard build collects at every safe point");
    c.rate = rate;
    c.callstack_frames = 0;
    assert_int_equal(alq_limit_memprof_start(d, &c, &t, &p, NULL), ALQ_OK);
    for (int i = 0; i < SIZES; i++) {
        struct alloc a = {words / SIZES / (sizes[i] + 1), sizes[i], 0};
        double n = (double)a.n;
        double chance = -expm1((double)(sizes[i] + 1) * log1p(-rate));

        assert_int_equal(make_blocks(d, &a), ALQ_OK);
        assert_int_equal(alq_memprof_flush(d, NULL), ALQ_OK);
        all += a.n * (sizes[i] + 1);
        check_binomial(drawn.words[i], a.n * (sizes[i] + 1), rate);
        hits[i] = (double)drawn.blocks[i];
        means[i] = n * chance;
        variances[i] = n * chance * (1 - chance);
    }
    check_binomial(drawn.all_words, all, rate);
    assert_true(means[SIZES - 1] - hits[SIZES - 1] < 1);
    check_chi_square(hits, means, variances, SIZES - 1);
    end(p);
}

int
main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, domains_setup, domains_teardown)
    const struct CMUnitTest tests[] = {
        TEST(huge_block_is_refused_before_it_is_there_30),
        TEST(outcome_tells_who_ate_the_memory),
        TEST(sites_of_inner_tasks_are_the_outer_one_s_too),
        TEST(samples_stand_for_whole_intervals_2),
        TEST(sample_that_stops_a_task_is_no_one_else_s_26),
        TEST(each_has_all_of_its_samples_26),
        TEST(nothing_is_called_after_a_discard_28),
        TEST(law_of_a_profile_29),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
