/* memprof_forms_test.c -- each form of allocation is sampled as what it is, and
 * where it is (spec statmemprof 6.1 A8)
 *
 * A form is a function of its own, called along one chain.  At rate 1 its
 * blocks are told of in order, with their size, source and heap of birth; the
 * stack begins in the function and has the chain's return addresses, which are
 * known. Below, each site has its share of the samples. */
#include <unwind.h>

#include "memprof_kit.h"

enum { FRAMES = 10, CHAIN = 3 };

static const struct alq_custom_ops ops = {.name = "form"};
static void *small_message, *large_message;
static size_t small_bytes, large_bytes;
static uintptr_t returns[CHAIN]; /* of the form, and of its callers */

/* ---- forms ----------------------------------------------------------------
 */

#define NOTE_RETURN(i)                                                         \
    returns[i] =                                                               \
        (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0))

/* `call` is no tail call. */
#define FORM(name, call)                                                       \
    static __attribute__((noinline)) void name(void)                           \
    {                                                                          \
        NOTE_RETURN(0);                                                        \
        CHECK(call);                                                           \
        __asm__ volatile("" : : : "memory");                                   \
    }

static bool
three(void)
{
    static const uintptr_t headers[] = {ALQ_HEADER(4, 0), ALQ_HEADER(3, 0),
                                        ALQ_HEADER(2, 0)};
    alq_value out[3];

    if (!alq_alloc_several(d, 3, headers, out))
        return false;
    for (unsigned b = 0; b < 3; b++)
        for (unsigned w = 0; w < 4 - b; w++)
            alq_init_small(out[b], w, ALQ_UNIT);
    return true;
}

static bool
pair_of(alq_value v)
{
    for (unsigned w = 0; w < 2; w++)
        alq_init_small(v, w, ALQ_UNIT);
    return true;
}

static bool
is_read(const void *bytes, size_t n)
{
    alq_value v;

    return alq_unmarshal(d, bytes, n, NULL, NULL, &v) == ALQ_OK;
}

static size_t read_at;

static enum alq_status
read_next(void *arg, void *bytes, size_t n)
{
    memcpy(bytes, (const char *)arg + read_at, n);
    read_at += n;
    return ALQ_OK;
}

static bool
is_read_by(void *message)
{
    alq_value v;

    read_at = 0;
    return alq_unmarshal_read(d, read_next, message, NULL, &v) == ALQ_OK;
}

FORM(form_small, pair_of(alq_alloc_small(d, 2, 0)))
FORM(form_several, three())
FORM(form_double, !alq_is_null(alq_alloc_double(d, 0.5)))
FORM(form_filled, !alq_is_null(alq_alloc(d, 10, 0)))
FORM(form_largest_small, !alq_is_null(alq_alloc(d, 256, 0)))
FORM(form_large, !alq_is_null(alq_alloc(d, 257, 0)))
FORM(form_string, !alq_is_null(alq_alloc_string(d, 100)))
FORM(form_copy, !alq_is_null(alq_string_copy(d, "twelve bytes", 12)))
FORM(form_doubles, !alq_is_null(alq_alloc_double_array(d, 7)))
FORM(form_custom, !alq_is_null(alq_alloc_custom(d, &ops, 24)))
FORM(form_ratio, !alq_is_null(alq_alloc_custom_ratio(d, &ops, 8, 1, 1000)))
FORM(form_outside, !alq_is_null(alq_alloc_custom_mem(d, &ops, 8, 255)))
FORM(form_outside_old, !alq_is_null(alq_alloc_custom_mem(d, &ops, 8, 100001)))
FORM(form_read, is_read(small_message, small_bytes))
FORM(form_read_large, is_read(large_message, large_bytes))
FORM(form_read_by, is_read_by(small_message))

static __attribute__((noinline)) void
inner(void (*form)(void))
{
    NOTE_RETURN(1);
    form();
    __asm__ volatile("" : : : "memory");
}

static __attribute__((noinline)) void
outer(void (*form)(void))
{
    NOTE_RETURN(2);
    inner(form);
    __asm__ volatile("" : : : "memory");
}

/* ---- what is told ---------------------------------------------------------
 */

enum { IN_SMALL = 20, IN_LARGE = 2000 }; /* pairs of the messages */

struct told {
    enum event event;
    enum alq_source source;
    unsigned size_words, times;
};

static const struct form {
    void (*form)(void);
    struct told told[3]; /* in this order; times 0: no more */
} forms[] = {
    {form_small, {{ALLOC_MINOR, ALQ_SOURCE_NORMAL, 2, 1}}},
    {form_several,
     {{ALLOC_MINOR, ALQ_SOURCE_NORMAL, 4, 1},
      {ALLOC_MINOR, ALQ_SOURCE_NORMAL, 3, 1},
      {ALLOC_MINOR, ALQ_SOURCE_NORMAL, 2, 1}}},
    {form_double, {{ALLOC_MINOR, ALQ_SOURCE_NORMAL, 1, 1}}},
    {form_filled, {{ALLOC_MINOR, ALQ_SOURCE_NORMAL, 10, 1}}},
    {form_largest_small, {{ALLOC_MINOR, ALQ_SOURCE_NORMAL, 256, 1}}},
    {form_large, {{ALLOC_MAJOR, ALQ_SOURCE_NORMAL, 257, 1}}},
    {form_string, {{ALLOC_MINOR, ALQ_SOURCE_NORMAL, 13, 1}}},
    {form_copy, {{ALLOC_MINOR, ALQ_SOURCE_NORMAL, 2, 1}}},
    {form_doubles, {{ALLOC_MINOR, ALQ_SOURCE_NORMAL, 7, 1}}},
    {form_custom, {{ALLOC_MINOR, ALQ_SOURCE_NORMAL, 4, 1}}},
    {form_ratio, {{ALLOC_MINOR, ALQ_SOURCE_NORMAL, 2, 1}}},
    {form_outside,
     {{ALLOC_MINOR, ALQ_SOURCE_NORMAL, 2, 1},
      {ALLOC_MINOR, ALQ_SOURCE_CUSTOM, 32, 1}}},
    {form_outside_old,
     {{ALLOC_MAJOR, ALQ_SOURCE_NORMAL, 2, 1},
      {ALLOC_MAJOR, ALQ_SOURCE_CUSTOM, 12501, 1}}},
    {form_read, {{ALLOC_MINOR, ALQ_SOURCE_MARSHAL, 2, IN_SMALL}}},
    {form_read_large, {{ALLOC_MAJOR, ALQ_SOURCE_MARSHAL, 2, IN_LARGE}}},
    {form_read_by, {{ALLOC_MINOR, ALQ_SOURCE_MARSHAL, 2, IN_SMALL}}},
};

static const struct form *now;
static unsigned n_told;

/* The told[] of the i-th event; NULL: it is one too many. */
static const struct told *
told_of(const struct form *f, unsigned i)
{
    for (unsigned t = 0; t < ALQI_COUNT_OF(f->told); t++) {
        if (i < f->told[t].times)
            return &f->told[t];
        i -= f->told[t].times;
    }
    return NULL;
}

static uintptr_t
function_of(uintptr_t return_address)
{
    return (uintptr_t)_Unwind_FindEnclosingFunction(
        (void *)(return_address - 1));
}

static void
check_stack(const struct alq_callstack *s)
{
    unsigned lead = 0;

    /* three() and its like may be frames, or be inlined. */
    while (lead < s->n_frames &&
           function_of(s->frames[lead]) != (uintptr_t)now->form)
        lead++;
    CHECK(lead <= 1);
    CHECK(s->n_frames == FRAMES);
    for (unsigned i = 0; i < CHAIN; i++)
        CHECK(s->frames[lead + 1 + i] == returns[i]);
}

static int
check_told(struct probe *p, enum event event, const struct alq_allocation *a,
           struct record *r)
{
    const struct told *t = told_of(now, n_told++);

    (void)p;
    (void)r;
    CHECK(a != NULL && t != NULL);
    CHECK(event == t->event);
    CHECK(a->source == t->source);
    CHECK(a->size_words == t->size_words);
    CHECK(a->n_samples == t->size_words + (t->source != ALQ_SOURCE_CUSTOM));
    check_stack(&a->callstack);
    return ALQ_TRACK_DROP;
}

/* ---- tests ----------------------------------------------------------------
 */

static struct probe probe;

static int
open_all(void **state)
{
    int failed = domains_setup(state);

    probe_open(&probe, 16);
    small_message = message(d, IN_SMALL, &small_bytes);
    large_message = message(d, IN_LARGE, &large_bytes);
    return failed;
}

static int
close_all(void **state)
{
    free(small_message);
    free(large_message);
    probe_close(&probe);
    return domains_teardown(state);
}

/* Deep enough for a whole stack of FRAMES. */
static __attribute__((noinline)) void
deeper(unsigned n, void (*form)(void))
{
    if (n > 0)
        deeper(n - 1, form);
    else
        outer(form);
    __asm__ volatile("" : : : "memory");
}

static void
a8_callstacks(void **state)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_profile *profile;

    (void)state;
    c.rate = 1.0;
    c.seed = SEED;
    c.callstack_frames = FRAMES;
    probe.act = check_told;
    profile = begin_with(d, &probe, &c);
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < ALQI_COUNT_OF(forms); i++) {
            now = &forms[i];
            n_told = 0;
            deeper(FRAMES, now->form);
            settle(d);
            CHECK(told_of(now, n_told) == NULL && n_told > 0);
        }
    end_profile(d, profile, &probe);
}

/* ---- shares of sites ------------------------------------------------------
 */

#define SITE(name, wosize)                                                     \
    static __attribute__((noinline)) void name(void)                           \
    {                                                                          \
        CHECK(!alq_is_null(alq_alloc(d, wosize, 0)));                          \
        __asm__ volatile("" : : : "memory");                                   \
    }

SITE(site_1, 1)
SITE(site_2, 2)
SITE(site_5, 5)
SITE(site_30, 30)
SITE(site_200, 200)
SITE(site_300, 300)

static const struct site {
    void (*site)(void);
    unsigned words, times; /* of a block, with its header; a round */
} sites[] = {
    {site_1, 2, 9},   {site_2, 3, 5},     {site_5, 6, 3},
    {site_30, 31, 1}, {site_200, 201, 1}, {site_300, 301, 1},
};

static double hits[ALQI_COUNT_OF(sites)];

static int
count_site(struct probe *p, enum event event, const struct alq_allocation *a,
           struct record *r)
{
    unsigned i = 0;

    (void)p;
    (void)event;
    (void)r;
    CHECK(a != NULL && a->callstack.n_frames == 1);
    while (i < ALQI_COUNT_OF(sites) &&
           function_of(a->callstack.frames[0]) != (uintptr_t)sites[i].site)
        i++;
    CHECK(i < ALQI_COUNT_OF(sites));
    CHECK(a->size_words + 1 == sites[i].words);
    hits[i] += (double)a->n_samples;
    return ALQ_TRACK_DROP;
}

static void
sites_have_their_shares(void **state)
{
    enum { ROUNDS = 2500 };
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    double means[ALQI_COUNT_OF(sites)], variances[ALQI_COUNT_OF(sites)];
    struct alq_profile *profile;

    (void)state;
    c.rate = 0.1;
    c.seed = SEED;
    c.callstack_frames = 1;
    probe.act = count_site;
    memset(hits, 0, sizeof hits);
    profile = begin_with(d, &probe, &c);
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < ALQI_COUNT_OF(sites); i++)
            for (unsigned k = 0; k < sites[i].times; k++)
                sites[i].site();
    settle(d);
    end_profile(d, profile, &probe);
    for (unsigned i = 0; i < ALQI_COUNT_OF(sites); i++) {
        means[i] = c.rate * ROUNDS * sites[i].times * sites[i].words;
        variances[i] = means[i] * (1 - c.rate);
    }
    check_chi_square(hits, means, variances, ALQI_COUNT_OF(sites));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_all, close_all)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a8_callstacks),
        TEST(sites_have_their_shares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
