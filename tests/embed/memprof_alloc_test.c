/* memprof_alloc_test.c -- what is sampled: every path of the heap's allocation,
 * counted exactly at rate 1 and statistically below (spec statmemprof 6.1)
 *
 * Statistical tests have a fixed seed and a false-alarm rate of at most 1e-11
 * each (memprof_kit.h). */
#include <math.h>

#include "base/test_seed.h"
#include "memprof_kit.h"

/* Builds that check much, or are slow, do less. */
enum { FEWER = ALQI_TEST_ROUNDS(1, 20, 200) };

static struct probe probe;

static int
open_all(void **state)
{
    probe_open(&probe, 1 << 20);
    return domains_setup(state);
}

static int
close_all(void **state)
{
    probe_close(&probe);
    return domains_teardown(state);
}

static int
drop(struct probe *p, enum event event, const struct alq_allocation *a,
     struct record *r)
{
    (void)p;
    (void)event;
    (void)a;
    (void)r;
    return ALQ_TRACK_DROP;
}

static uint64_t
direct_words(void)
{
    struct alq_gc_counts c;

    CHECK(alq_gc_counters(d, &c) == ALQ_OK);
    return c.direct_words;
}

/* ---- A1: at rate 1 every word is counted ----------------------------------
 */

static void
refs(void)
{
    ALQ_FRAME(d, f, at);

    f.at = ALQ_UNIT;
    for (unsigned i = 0; i < 100; i++) {
        alq_value v = alq_alloc_small(d, 1, 0);

        alq_init_small(v, 0, f.at);
        f.at = v;
    }
}

static void
arrays(unsigned wosize)
{
    for (unsigned i = 0; i < 50; i++)
        CHECK(!alq_is_null(alq_alloc(d, wosize, 0)));
}

static void
arrays_of_10(void)
{
    arrays(10);
}

static void
arrays_of_256(void)
{
    arrays(256);
}

static void
arrays_of_1000(void)
{
    arrays(1000);
}

static void
texts(void)
{
    for (unsigned i = 0; i < 50; i++) {
        CHECK(!alq_is_null(alq_alloc_string(d, i * 100)));
        CHECK(!alq_is_null(alq_string_copy(d, "twelve bytes", 12)));
        CHECK(!alq_is_null(alq_alloc_double(d, 0.5)));
        CHECK(!alq_is_null(alq_alloc_double_array(d, i * 10 + 1)));
    }
}

static void
several(void)
{
    alq_value out[SEVEN];

    for (unsigned i = 0; i < 50; i++)
        CHECK(seven(d, out));
}

static void
customs(void)
{
    static const struct alq_custom_ops ops = {.name = "plain"};

    for (unsigned i = 0; i < 50; i++) {
        CHECK(!alq_is_null(alq_alloc_custom(d, &ops, 8 * (i + 1))));
        CHECK(!alq_is_null(alq_alloc_custom_ratio(d, &ops, 8, 1, 1000)));
    }
}

static void *small_message, *large_message;
static size_t small_bytes, large_bytes;

static void
unmarshal_small(void)
{
    unmarshalled(d, small_message, small_bytes);
}

static void
unmarshal_large(void)
{
    unmarshalled(d, large_message, large_bytes);
}

static void
a1_alloc_counts(void **state)
{
    static void (*const parts[])(void) = {
        refs,    arrays_of_10, arrays_of_256,   arrays_of_1000,  texts,
        several, customs,      unmarshal_small, unmarshal_large,
    };
    struct alq_profile *profile;

    (void)state;
    small_message = message(d, 20, &small_bytes);
    large_message = message(d, 2000, &large_bytes);
    probe.act = drop;
    profile = begin(d, &probe, 1.0);
    for (unsigned round = 0; round < 10; round++)
        for (unsigned i = 0; i < ALQI_COUNT_OF(parts); i++) {
            uint64_t minor = alq_gc_minor_words(d), direct = direct_words();

            probe_forget(&probe);
            parts[i]();
            minor = alq_gc_minor_words(d) - minor;
            direct = direct_words() - direct;
            settle(d);
            CHECK(probe.samples[0] == minor);
            CHECK(probe.samples[1] == direct);
            CHECK(minor + direct > 0);
        }
    end_profile(d, profile, &probe);
    free(small_message);
    free(large_message);
}

/* ---- A2, A5, A6, A17: arrays, and lists -----------------------------------
 */

struct row {
    unsigned lo, hi; /* fields */
    unsigned times;
    double rate;
};

static uint64_t
make_arrays(const struct row *r)
{
    uint64_t words = 0;

    for (unsigned n = r->lo; n <= r->hi; n++)
        for (unsigned i = 0; i < r->times; i++) {
            CHECK(!alq_is_null(alq_alloc(d, n, 0)));
            words += n + 1;
        }
    return words;
}

static void
a2_nosample_in_major(void **state)
{
    const struct row all = {300, 3000, 1, 0};
    struct alq_profile *profile = begin(d, &probe, 0.0);

    (void)state;
    make_arrays(&all);
    settle(d);
    CHECK(alq_memprof_is_sampling(d));
    CHECK(probe_allocs(&probe) == 0);
    end_profile(d, profile, &probe);
}

static unsigned size_lo, size_hi;
static enum alq_source source_wanted;

static int
check_size(struct probe *p, enum event event, const struct alq_allocation *a,
           struct record *r)
{
    (void)p;
    (void)r;
    if (a == NULL)
        return ALQ_TRACK_DROP;
    CHECK(a->size_words >= size_lo && a->size_words <= size_hi);
    CHECK(a->source == source_wanted);
    CHECK(event ==
          (size_lo > ALQ_SMALL_WOSIZE_MAX ? ALLOC_MAJOR : ALLOC_MINOR));
    return ALQ_TRACK_DROP;
}

/* Rows too short for a statement are left out; some remain in each build. */
static unsigned
check_rows(const struct row *rows, unsigned n)
{
    unsigned done = 0;

    probe.act = check_size;
    for (unsigned i = 0; i < n; i++) {
        struct row r = rows[i];
        struct alq_profile *profile;
        uint64_t words;

        if (r.times >= FEWER)
            r.times /= FEWER;
        else if (FEWER > 1)
            r.hi = r.lo + (r.hi - r.lo) / FEWER;
        size_lo = r.lo;
        size_hi = r.hi;
        source_wanted = ALQ_SOURCE_NORMAL;
        profile = begin(d, &probe, r.rate);
        probe_forget(&probe);
        words = make_arrays(&r);
        settle(d);
        if ((double)words * r.rate >= 100 &&
            (double)words * (1 - r.rate) >= 100) {
            check_binomial(probe_samples(&probe), words, r.rate);
            done++;
        }
        end_profile(d, profile, &probe);
    }
    return done;
}

static void
a5_distrib_in_major(void **state)
{
    static const struct row rows[] = {
        {300, 3000, 3, 1e-5}, {300, 3000, 3, 1e-4},  {300, 3000, 3, 1e-2},
        {300, 3000, 3, 0.9},  {300, 300, 20000, .1}, {300000, 300000, 30, .1},
    };

    (void)state;
    CHECK(check_rows(rows, ALQI_COUNT_OF(rows)) >= (FEWER > 20  ? 2
                                                    : FEWER > 1 ? 3
                                                                : 6));
}

static void
a6_distrib_in_minor(void **state)
{
    static const struct row rows[] = {
        {1, 250, 1000, 1e-5}, {1, 250, 100, 1e-3},     {1, 250, 100, 1e-2},
        {1, 250, 100, 0.9},   {250, 250, 100000, 0.1}, {1, 1, 10000000, 0.01},
    };

    (void)state;
    CHECK(check_rows(rows, ALQI_COUNT_OF(rows)) >= (FEWER > 20  ? 2
                                                    : FEWER > 1 ? 4
                                                                : 6));
}

static void
a17_lists_in_minor(void **state)
{
    static const struct row rows[] = {
        /* length of the list, in `lo`; lists, in `times` */
        {10, 0, 10000, 0.1},   {100, 0, 10000, 0.1}, {100000, 0, 10, 0.1},
        {1000000, 0, 1, 0.01}, {100000, 0, 10, 0.9}, {100000, 0, 100, 1e-4},
        {100000, 0, 10, 0.5},
    };
    unsigned done = 0;

    (void)state;
    size_lo = size_hi = 2;
    source_wanted = ALQ_SOURCE_NORMAL;
    probe.act = check_size;
    for (unsigned i = 0; i < ALQI_COUNT_OF(rows); i++) {
        const struct row *r = &rows[i];
        uint64_t cells = 0, most = (uint64_t)r->lo * r->times / FEWER;
        struct alq_profile *profile = begin(d, &probe, r->rate);
        ALQ_FRAME(d, f, list);

        probe_forget(&probe);
        for (f.list = ALQ_UNIT; cells < most; cells++) {
            if (cells % r->lo == 0)
                f.list = ALQ_UNIT;
            f.list = cons(d, ALQ_UNIT, f.list);
        }
        f.list = ALQ_UNIT;
        settle(d);
        if ((double)cells * 3 * r->rate >= 100) {
            check_binomial(probe_samples(&probe), cells * 3, r->rate);
            done++;
        }
        end_profile(d, profile, &probe);
    }
    CHECK(done >= 3);
}

/* ---- sizes beside each other ----------------------------------------------
 */

enum { SIZES = 40 };

static struct {
    uint64_t samples[SIZES + 1], blocks[SIZES + 1];
} by_size;

static int
count_sizes(struct probe *p, enum event event, const struct alq_allocation *a,
            struct record *r)
{
    (void)p;
    (void)event;
    (void)r;
    if (a != NULL && a->size_words <= SIZES) {
        by_size.samples[a->size_words] += a->n_samples;
        by_size.blocks[a->size_words]++;
    }
    return ALQ_TRACK_DROP;
}

/* Each size has its share of samples, and of sampled blocks. */
static void
sizes_have_their_shares(void **state)
{
    static const double rates[] = {0.02, 0.3};
    static uint64_t made[SIZES + 1];
    static double hits[2 * SIZES], means[2 * SIZES], vars[2 * SIZES];

    (void)state;
    probe.act = count_sizes;
    for (unsigned i = FEWER > 20; i < 2; i++) {
        double rate = rates[i];
        struct alq_profile *profile = begin(d, &probe, rate);
        uint64_t n = FEWER > 20 ? 100000 : FEWER > 1 ? 700000 : 5000000;
        uint64_t seed = 1 + alqi_base_test_seed();

        memset(made, 0, sizeof made);
        memset(&by_size, 0, sizeof by_size);
        for (uint64_t k = 0; k < n; k++) {
            unsigned wosize = 1 + (seed = alqi_base_mix(seed + 1)) % SIZES;

            CHECK(!alq_is_null(block(d, wosize)));
            made[wosize]++;
        }
        for (unsigned w = 1; w <= SIZES; w++) {
            double blocks = (double)made[w], words = blocks * (w + 1);
            double any = 1 - pow(1 - rate, w + 1);

            hits[w - 1] = (double)by_size.samples[w];
            means[w - 1] = words * rate;
            vars[w - 1] = words * rate * (1 - rate);
            hits[SIZES + w - 1] = (double)by_size.blocks[w];
            means[SIZES + w - 1] = blocks * any;
            vars[SIZES + w - 1] = blocks * any * (1 - any);
        }
        check_chi_square(hits, means, vars, SIZES);
        if (i == 0) /* else nearly all of the larger ones are hit */
            check_chi_square(hits + SIZES, means + SIZES, vars + SIZES, SIZES);
        end_profile(d, profile, &probe);
    }
}

/* ---- A9: combined ---------------------------------------------------------
 */

enum { OWN_FRAMES = 4 };
static uintptr_t stack_of[8][16];
static size_t stack_frames[8];

static int
keep_four(struct probe *p, enum event event, const struct alq_allocation *a,
          struct record *r)
{
    (void)p;
    if (a == NULL) {
        CHECK(event != PROMOTE || r->size_words == 3);
        return ALQ_TRACK_KEEP;
    }
    CHECK(event == ALLOC_MINOR && a->size_words >= 2 && a->size_words <= 4);
    CHECK(a->callstack.n_frames <= 16);
    if (stack_frames[a->size_words] == 0) {
        stack_frames[a->size_words] = a->callstack.n_frames;
        memcpy(stack_of[a->size_words], a->callstack.frames,
               a->callstack.n_frames * sizeof(uintptr_t));
    }
    /* The innermost are the library's, which is linked in. */
    CHECK(stack_frames[a->size_words] == a->callstack.n_frames &&
          a->callstack.n_frames > OWN_FRAMES);
    CHECK(memcmp(stack_of[a->size_words] + OWN_FRAMES,
                 a->callstack.frames + OWN_FRAMES,
                 (a->callstack.n_frames - OWN_FRAMES) * sizeof(uintptr_t)) ==
          0);
    r->mark = (uint32_t)a->n_samples;
    by_size.samples[a->size_words] += a->n_samples;
    return ALQ_TRACK_KEEP;
}

static void
a9_comballoc_counts(void **state)
{
    static const double rates[] = {0.42, 0.01, 0.83};
    static const uintptr_t headers[] = {ALQ_HEADER(4, 0), ALQ_HEADER(3, 0),
                                        ALQ_HEADER(2, 0)};
    enum { TIMES = FEWER > 20 ? 1000 : FEWER > 1 ? 25000 : 100000 };

    (void)state;
    probe.act = keep_four;
    for (unsigned i = 0; i < ALQI_COUNT_OF(rates); i++) {
        struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
        struct alq_profile *profile;
        ALQ_FRAME(d, f, kept);

        if (TIMES * 3 * rates[i] < 100)
            continue;
        c.rate = rates[i];
        c.seed = SEED;
        c.callstack_frames = 16;
        memset(&by_size, 0, sizeof by_size);
        memset(stack_frames, 0, sizeof stack_frames);
        probe_forget(&probe);
        f.kept = alq_alloc(d, TIMES, 0);
        profile = begin_with(d, &probe, &c);
        for (unsigned k = 0; k < TIMES; k++) {
            alq_value out[3];

            CHECK(alq_alloc_several(d, 3, headers, out));
            for (unsigned b = 0; b < 3; b++)
                for (unsigned w = 0; w < 4 - b; w++)
                    alq_init_small(out[b], w, ALQ_UNIT);
            alq_store(d, f.kept, k, out[1]);
        }
        CHECK(alq_memprof_stop(d) == ALQ_OK);
        CHECK(alq_gc_minor(d) == ALQ_OK);
        settle(d);
        for (unsigned w = 2; w <= 4; w++)
            check_binomial(by_size.samples[w], (uint64_t)TIMES * (w + 1),
                           rates[i]);
        CHECK(probe.n[PROMOTE] > TIMES / 100);
        CHECK(probe.n[DEALLOC_MINOR] + probe.n[PROMOTE] ==
              probe.n[ALLOC_MINOR]);
        f.kept = ALQ_UNIT;
        end_profile(d, profile, &probe);
    }
}

/* ---- A11: memory outside of the heap --------------------------------------
 */

static uint64_t custom_promoted;

static int
count_customs(struct probe *p, enum event event, const struct alq_allocation *a,
              struct record *r)
{
    (void)p;
    if (a != NULL) {
        if (a->source == ALQ_SOURCE_CUSTOM) {
            CHECK(event == ALLOC_MINOR && a->size_words == 32);
            return ALQ_TRACK_KEEP;
        }
        return ALQ_TRACK_DROP;
    }
    if (event == PROMOTE)
        custom_promoted += r->n_samples;
    return ALQ_TRACK_KEEP;
}

static void
a11_custom(void **state)
{
    static const struct alq_custom_ops ops = {.name = "outside"};
    static const double rates[] = {0.01, 0.5, 0.17};
    enum { TIMES = 100000 / (FEWER > 20 ? 100 : FEWER > 1 ? 10 : 1) };

    (void)state;
    probe.act = count_customs;
    for (unsigned i = 0; i < ALQI_COUNT_OF(rates); i++) {
        struct alq_profile *profile;
        ALQ_FRAME(d, f, kept);

        f.kept = alq_alloc(d, TIMES / 10, 0);
        custom_promoted = 0;
        probe_forget(&probe);
        profile = begin(d, &probe, rates[i]);
        for (unsigned k = 0; k < TIMES; k++) {
            alq_value v = alq_alloc_custom_mem(d, &ops, 8, 256);

            CHECK(!alq_is_null(v));
            if (k % 10 == 0)
                alq_store(d, f.kept, k / 10, v);
        }
        CHECK(alq_memprof_stop(d) == ALQ_OK);
        CHECK(alq_gc_minor(d) == ALQ_OK);
        settle(d);
        check_binomial(probe.samples_of[ALQ_SOURCE_CUSTOM],
                       (uint64_t)TIMES * 32, rates[i]);
        if (TIMES / 10 * 32 * rates[i] >= 100)
            check_binomial(custom_promoted, (uint64_t)TIMES / 10 * 32,
                           rates[i]);
        CHECK(probe.blocks_of[ALQ_SOURCE_CUSTOM] ==
              probe.n[PROMOTE] + probe.n[DEALLOC_MINOR]);
        f.kept = ALQ_UNIT;
        end_profile(d, profile, &probe);
    }
}

/* A1 of 1.4: the block and its memory; a large one is born old. */
static void
a_custom_block_is_told_of_twice(void **state)
{
    static const struct alq_custom_ops ops = {.name = "outside"};
    struct alq_profile *profile = begin(d, &probe, 1.0);
    uint64_t words = alq_gc_minor_words(d);
    ALQ_FRAME(d, f, v);

    (void)state;
    probe.logs = true;
    f.v = alq_alloc_custom_mem(d, &ops, 16, 256);
    settle(d);
    words = alq_gc_minor_words(d) - words;
    CHECK(strcmp(probe.log, "aa") == 0);
    CHECK(probe.samples_of[ALQ_SOURCE_NORMAL] == words);
    CHECK(probe.samples_of[ALQ_SOURCE_CUSTOM] == 32);
    f.v = ALQ_UNIT;
    CHECK(alq_gc_minor(d) == ALQ_OK);
    settle(d);
    CHECK(strcmp(probe.log, "aadd") == 0);
    probe_forget(&probe);
    f.v = alq_alloc_custom_mem(d, &ops, 16, 100001);
    settle(d);
    CHECK(strcmp(probe.log, "AA") == 0);
    CHECK(probe.samples_of[ALQ_SOURCE_CUSTOM] == 12501);
    f.v = alq_alloc_custom_ratio(d, &ops, 16, 1, 100); /* A2: no memory */
    settle(d);
    CHECK(probe.samples_of[ALQ_SOURCE_CUSTOM] == 12501);
    f.v = ALQ_UNIT;
    end_profile(d, profile, &probe);
}

/* ---- A16: unmarshalled ----------------------------------------------------
 */

static int
check_unmarshalled(struct probe *p, enum event event,
                   const struct alq_allocation *a, struct record *r)
{
    (void)p;
    (void)event;
    (void)r;
    if (a != NULL) {
        CHECK(a->source == ALQ_SOURCE_MARSHAL);
        CHECK(a->size_words == 1 || a->size_words == 2);
    }
    return ALQ_TRACK_DROP;
}

/* A4 of 1.4: which heap the objects of a message are born in. */
static void
a16_intern_heaps(void **state)
{
    size_t bytes;
    void *small = message(d, 20, &bytes);
    struct alq_profile *profile;

    (void)state;
    probe.act = check_unmarshalled;
    profile = begin(d, &probe, 1.0);
    unmarshalled(d, small, bytes);
    settle(d);
    CHECK(probe.n[ALLOC_MINOR] == 20 && probe.n[ALLOC_MAJOR] == 0);
    CHECK(probe_samples(&probe) == 60);
    free(small);
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    small = message(d, 2000, &bytes);
    end_profile(d, profile, &probe);
    probe_forget(&probe);
    profile = begin(d, &probe, 1.0);
    unmarshalled(d, small, bytes);
    settle(d);
    CHECK(probe.n[ALLOC_MINOR] == 0 && probe.n[ALLOC_MAJOR] == 2000);
    CHECK(probe_samples(&probe) == 6000);
    free(small);
    end_profile(d, profile, &probe);
}

static void
a16_intern_distrib(void **state)
{
    static const struct {
        unsigned pairs, times;
        double rate;
    } rows[] = {
        {10, 20000, 0.01}, {80, 20000, 1e-3},  {1000, 1000, 1e-3},
        {1000, 100, 0.9},  {100000, 10, 0.01},
    };

    (void)state;
    probe.act = check_unmarshalled;
    for (unsigned i = 0; i < ALQI_COUNT_OF(rows); i++) {
        unsigned pairs = rows[i].pairs, times = rows[i].times;
        struct alq_profile *profile;
        size_t bytes;
        void *m;

        if (times >= FEWER)
            times /= FEWER;
        else
            pairs /= FEWER / times;
        m = message(d, pairs, &bytes);
        probe_forget(&probe);
        profile = begin(d, &probe, rows[i].rate);
        for (unsigned k = 0; k < times; k++)
            unmarshalled(d, m, bytes);
        settle(d);
        if (pairs * times * 3 * rows[i].rate >= 100)
            check_binomial(probe_samples(&probe), (uint64_t)pairs * times * 3,
                           rows[i].rate);
        else
            CHECK(FEWER > 1);
        free(m);
        end_profile(d, profile, &probe);
    }
}

/* ---- A3: arrays live and die ----------------------------------------------
 */

static void
a3_counts_in_major(void **state)
{
    (void)state;
    for (unsigned variant = 0; variant < 2; variant++) {
        const unsigned lo = variant == 0 ? 300 : 20,
                       hi = lo + 2700 / (FEWER > 1 ? 10 : 1);
        struct alq_profile *profile;
        uint64_t allocs;
        ALQ_FRAME(d, f, all);

        f.all = alq_alloc(d, hi, 0);
        probe_forget(&probe);
        profile = begin(d, &probe, 0.01);
        for (unsigned n = lo; n < hi; n++)
            alq_store(d, f.all, n, alq_alloc(d, n, 0));
        if (variant == 1)
            CHECK(alq_gc_minor(d) == ALQ_OK);
        bury(d);
        allocs = probe_allocs(&probe);
        CHECK(allocs > 100 / (FEWER > 1 ? 10 : 1));
        CHECK((probe.n[ALLOC_MINOR] > 0) == (variant == 1));
        CHECK(probe.n[DEALLOC_MINOR] + probe.n[DEALLOC_MAJOR] == 0);
        CHECK(probe.n[PROMOTE] == probe.n[ALLOC_MINOR]);
        CHECK(alq_memprof_stop(d) == ALQ_OK);
        f.all = ALQ_UNIT;
        if (variant == 1)
            CHECK(alq_gc_minor(d) == ALQ_OK);
        bury(d);
        CHECK(probe.n[DEALLOC_MINOR] == 0);
        CHECK(probe.n[DEALLOC_MAJOR] == allocs);
        end_profile(d, profile, &probe);
    }
}

/* ---- A6: lives in the minor heap ------------------------------------------
 */

static bool promotes_are_over;

static int
collect_in_callbacks(struct probe *p, enum event event,
                     const struct alq_allocation *a, struct record *r)
{
    (void)a;
    if (r != NULL && a != NULL)
        r->mark = event == ALLOC_MINOR ? 42 : 17;
    switch (event) {
    case ALLOC_MINOR:
        if (p->n[ALLOC_MINOR] % 100 == 0)
            CHECK(alq_gc_minor(d) == ALQ_OK);
        break;
    case PROMOTE:
        CHECK(!promotes_are_over && r->mark == 42);
        r->mark = 17;
        if (p->n[PROMOTE] % 1097 == 0)
            CHECK(alq_gc_minor(d) == ALQ_OK);
        break;
    case DEALLOC_MINOR:
        CHECK(r->mark == 42);
        break;
    case DEALLOC_MAJOR:
        CHECK(r->mark == 17);
        break;
    default:
        break;
    }
    return ALQ_TRACK_KEEP;
}

static void
a6_counts_in_minor(void **state)
{
    const unsigned times = 200 / (FEWER > 1 ? 20 : 1);
    struct alq_profile *profile = begin(d, &probe, 0.01);
    ALQ_FRAME(d, f, all);
    uint64_t allocs;

    (void)state;
    promotes_are_over = false;
    probe.act = collect_in_callbacks;
    f.all = alq_alloc(d, 250 * times, 0);
    for (unsigned i = 0; i < times; i++)
        for (unsigned n = 1; n <= 250; n++) {
            alq_value v = alq_alloc(d, n, 0);

            CHECK(!alq_is_null(v));
            if (i % 2 != 0)
                alq_store(d, f.all, i * 250 + n - 1, v);
        }
    CHECK(alq_gc_minor(d) == ALQ_OK);
    settle(d);
    allocs = probe.n[ALLOC_MINOR];
    CHECK(probe.n[PROMOTE] + probe.n[DEALLOC_MINOR] == allocs);
    CHECK(probe.n[PROMOTE] > 20 && probe.n[DEALLOC_MINOR] > 20);
    CHECK(probe.n[DEALLOC_MAJOR] == 0);
    promotes_are_over = true;
    f.all = ALQ_UNIT;
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    bury(d);
    CHECK(probe.n[DEALLOC_MAJOR] == probe.n[PROMOTE] + probe.n[ALLOC_MAJOR]);
    end_profile(d, profile, &probe);
}

/* ---- A18, X18: the minor heap's edge --------------------------------------
 */

static uint64_t edge_seed;

static int
allocate_in_callbacks(struct probe *p, enum event event,
                      const struct alq_allocation *a, struct record *r)
{
    (void)p;
    (void)r;
    if (a != NULL && event == ALLOC_MINOR) {
        edge_seed = alqi_base_mix(edge_seed + 1);
        for (unsigned n = (unsigned)(edge_seed % 500); n > 0; n--)
            CHECK(!alq_is_null(block(d, 1)));
    }
    return ALQ_TRACK_KEEP;
}

static void
a18_minor_heap_edge(void **state)
{
    enum { ROUNDS = 10000 / (FEWER > 20 ? 100 : FEWER > 1 ? 10 : 1) };
    struct alq_gc_control c;
    struct alq_profile *profile;
    ALQ_FRAME(d, f, all, fifty, pair);

    (void)state;
    CHECK(alq_gc_get(d, &c) == ALQ_OK);
    c.minor_heap_size = 4096;
    CHECK(alq_gc_set(d, &c) == ALQ_OK);
    f.all = alq_alloc(d, 2 * ROUNDS, 0);
    probe.act = allocate_in_callbacks;
    profile = begin(d, &probe, 1.0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        f.fifty = block(d, 50);
        f.pair = cons(d, ALQ_UNIT, f.fifty);
        alq_store(d, f.all, 2 * i, f.fifty);
        alq_store(d, f.all, 2 * i + 1, f.pair);
    }
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    CHECK(alq_gc_minor(d) == ALQ_OK);
    settle(d);
    CHECK(probe.n[ALLOC_MINOR] == 2 * ROUNDS);
    CHECK(probe.n[PROMOTE] == 2 * ROUNDS);
    CHECK(probe.n[DEALLOC_MINOR] == 0);
    f.all = f.fifty = f.pair = ALQ_UNIT;
    end_profile(d, profile, &probe);
}

static void
x18_resize_while_sampling(void **state)
{
    enum { ROUNDS = FEWER > 20 ? 30 : 300 };
    struct alq_profile *profile;
    uint64_t words;

    (void)state;
    probe.act = drop;
    profile = begin(d, &probe, 0.5);
    words = alq_gc_minor_words(d);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct alq_gc_control c;

        CHECK(alq_gc_get(d, &c) == ALQ_OK);
        c.minor_heap_size = 4096 << (i % 7);
        CHECK(alq_gc_set(d, &c) == ALQ_OK);
        for (unsigned k = 0; k < 1000; k++)
            CHECK(!alq_is_null(block(d, 1 + k % 30)));
    }
    words = alq_gc_minor_words(d) - words;
    settle(d);
    check_binomial(probe_samples(&probe), words, 0.5);
    end_profile(d, profile, &probe);
}

/* ---- several profiles, each at its own rate -------------------------------
 */

static void
profiles_beside_each_other_sample_each_at_its_rate(void **state)
{
    static const double rates[] = {0.3, 0.02, 0.3};
    static struct probe probes[3];
    struct alq_profile *profiles[3];
    uint64_t words, direct;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        probe_open(&probes[i], 0);
        CHECK(try_begin(d, &probes[i], rates[i], i ? ALQ_MEMPROF_BESIDE : 0,
                        &profiles[i]) == ALQ_OK);
    }
    words = alq_gc_minor_words(d);
    direct = direct_words();
    for (unsigned i = 0; i < 200000 / FEWER; i++) {
        CHECK(!alq_is_null(block(d, 1 + i % 60)));
        if (i % 100 == 0)
            CHECK(!alq_is_null(alq_alloc(d, 300, 0)));
    }
    words = alq_gc_minor_words(d) - words;
    direct = direct_words() - direct;
    settle(d);
    for (unsigned i = 0; i < 3; i++) {
        check_binomial(probes[i].samples[0], words, rates[i]);
        if ((double)direct * rates[i] >= 100)
            check_binomial(probes[i].samples[1], direct, rates[i]);
        end_profile(d, profiles[i], &probes[i]);
        probe_close(&probes[i]);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_all, close_all)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a1_alloc_counts),
        TEST(a2_nosample_in_major),
        TEST(a3_counts_in_major),
        TEST(a5_distrib_in_major),
        TEST(a6_distrib_in_minor),
        TEST(a6_counts_in_minor),
        TEST(a9_comballoc_counts),
        TEST(a11_custom),
        TEST(a_custom_block_is_told_of_twice),
        TEST(a16_intern_heaps),
        TEST(a16_intern_distrib),
        TEST(a17_lists_in_minor),
        TEST(a18_minor_heap_edge),
        TEST(x18_resize_while_sampling),
        TEST(sizes_have_their_shares),
        TEST(profiles_beside_each_other_sample_each_at_its_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
