/* observe_test.c -- <aliquot/observe.h>: laws between what is heard, counted
 * and walked */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "observe_kit.h"
#include "heap/stat_pause.h"
#include "heap/state.h"
#include "heap/major_sweep.h"
#include "heap/stop.h"

/* ---- listeners ---------------------------------------------------------- */

static bool
is_of_heap(enum alq_event_kind kind)
{
    return kind >= ALQ_EVENT_CYCLE && kind <= ALQ_EVENT_SWEEP;
}

/* Sums over the ends of a kind. */
struct sums {
    uint64_t n;
    uint64_t a;
    uint64_t b;
    uint64_t ns;
};

/* They nest, times do not go back, all but pauses lie in a pause. */
static void
check_intervals(struct sums sums[ALQ_EVENT_KINDS])
{
    const struct alq_event *open[TRACKS][20];
    unsigned n_open[TRACKS] = {0};
    uint64_t last_ns[TRACKS] = {0};
    size_t i;

    memset(sums, 0, ALQ_EVENT_KINDS * sizeof *sums);
    for (i = 0; i < heard.n; i++) {
        const struct alq_event *e = &heard.events[i];
        unsigned t = track_of(e);

        assert_true(t < TRACKS);
        assert_int_equal(t == 0, is_of_heap(e->kind));
        assert_true(e->time_ns >= last_ns[t]);
        last_ns[t] = e->time_ns;
        if (t != 0 && e->kind != ALQ_EVENT_PAUSE)
            assert_true(n_open[t] > 0);
        if (e->point == ALQ_EVENT_BEGIN) {
            assert_true(n_open[t] < 20);
            assert_int_equal(e->kind == ALQ_EVENT_PAUSE,
                             t == 1 && n_open[t] == 0);
            open[t][n_open[t]++] = e;
        } else if (e->point == ALQ_EVENT_END && n_open[t] > 0) {
            const struct alq_event *begin = open[t][--n_open[t]];

            assert_int_equal(begin->kind, e->kind);
            sums[e->kind].n++;
            sums[e->kind].a += e->values[0];
            sums[e->kind].b += e->values[1];
            sums[e->kind].ns += e->time_ns - begin->time_ns;
        } else if (e->point == ALQ_EVENT_END) {
            assert_int_equal(t, 0); /* its phase began before */
        }
    }
    assert_int_equal(n_open[1], 0);
}

static void
events_agree_with_counts(void **state)
{
    static struct sums sums[ALQ_EVENT_KINDS];
    struct alq_gc_counts before = counts(), after;
    struct alq_pauses pauses;

    (void)state;
    assert_int_equal(alq_pauses_reset(domain), ALQ_OK);
    listen(0);
    churn(100000);
    assert_int_equal(alq_gc_major(domain), ALQ_OK);
    churn(30000);
    assert_int_equal(alq_gc_full_major(domain), ALQ_OK);
    assert_int_equal(alq_gc_minor(domain), ALQ_OK);
    assert_int_equal(alq_gc_major_slice(domain, 1000), ALQ_OK);
    listen_no_more();
    after = counts();
    check_intervals(sums);
    assert_true(sums[ALQ_EVENT_MINOR].n >=
                after.minor_collections - before.minor_collections);
    assert_true(after.minor_collections > before.minor_collections + 50);
    assert_true(sums[ALQ_EVENT_MINOR].a ==
                after.promoted_words - before.promoted_words);
    assert_true(sums[ALQ_EVENT_SLICE].n == after.slices - before.slices);
    assert_true(sums[ALQ_EVENT_SLICE].n > 10);
    assert_true(sums[ALQ_EVENT_MARK].n ==
                after.major_cycles - before.major_cycles);
    assert_true(sums[ALQ_EVENT_MARK].a ==
                after.marked_words - before.marked_words);
    assert_true(sums[ALQ_EVENT_MAJOR].a == 4 && sums[ALQ_EVENT_MAJOR].n == 4);
    assert_true(sums[ALQ_EVENT_SWEEP].n > 2 && sums[ALQ_EVENT_CYCLE].n > 1);

    /* The histogram is made of the same readings of the clock. */
    assert_int_equal(alq_pauses_get(domain, &pauses), ALQ_OK);
    assert_true(pauses.count == sums[ALQ_EVENT_PAUSE].n);
    assert_true(pauses.sum_ns == sums[ALQ_EVENT_PAUSE].ns);
}

static void
only_what_is_wanted_is_heard(void **state)
{
    size_t i;

    (void)state;
    listen((uint64_t)1 << ALQ_EVENT_MINOR);
    churn(20000);
    listen_no_more();
    assert_true(heard.n > 2);
    for (i = 0; i < heard.n; i++)
        assert_int_equal(heard.events[i].kind, ALQ_EVENT_MINOR);
    heard.n = 0;
    churn(20000);
    assert_int_equal(heard.n, 0);
}

/* Blocks; debugging builds verify all of them at each collection. */
enum { GROWN = ALQI_CHECKS >= 3 ? 60000 : ALQI_CHECKS == 2 ? 200000 : 3000000 };

static void
growth_and_its_end_are_heard(void **state)
{
    const struct alq_event *e;
    size_t i, n = 0;
    uint64_t last = 0;

    (void)state;
    listen((uint64_t)1 << ALQ_EVENT_GROW);
    churn(1000);
    {
        ALQ_FRAME(domain, f, list);
        f.list = ALQ_UNIT;
        for (i = 0; i < GROWN; i++) {
            alq_value pair = alq_alloc_small(domain, 2, 0);

            assert_int_not_equal(pair, ALQ_NULL);
            alq_init_small(pair, 0, ALQ_UNIT);
            alq_init_small(pair, 1, f.list);
            f.list = pair;
        }
    }
    listen_no_more();
    for (i = 0; i < heard.n; i++) {
        e = &heard.events[i];
        assert_int_equal(e->point, ALQ_EVENT_MOMENT);
        assert_true(e->values[0] > e->values[1]);
        if (n++ > 0)
            assert_true(e->values[1] >= last);
        last = e->values[0];
    }
    assert_true(n > 0 && last >= GROWN * 3 * 8);

    listen((uint64_t)1 << ALQ_EVENT_SHRINK);
    alq_gc_full_major(domain);
    for (i = 0; i < 10000 && heard.n == 0; i++) {
        churn(2000);
        alq_gc_major_slice(domain, 100000);
    }
    listen_no_more();
    assert_true(heard.n > 0);
    assert_true(heard.events[0].values[0] < heard.events[0].values[1]);
}

static uint64_t n_finalised;

static void
finalised(alq_value block)
{
    (void)block;
    n_finalised++;
}

static void
finalisers_are_heard(void **state)
{
    static const struct alq_custom_ops ops = {.name = "counted",
                                              .finalise = finalised};
    uint64_t n = 0, before;
    size_t i;

    (void)state;
    assert_int_equal(alq_gc_minor(domain), ALQ_OK);
    before = n_finalised;
    listen((uint64_t)1 << ALQ_EVENT_FINALISE);
    for (i = 0; i < 100; i++)
        assert_int_not_equal(alq_alloc_custom(domain, &ops, 8), ALQ_NULL);
    assert_int_equal(alq_gc_minor(domain), ALQ_OK);
    listen_no_more();
    for (i = 0; i < heard.n; i++)
        n += heard.events[i].values[0];
    assert_int_equal(n_finalised - before, 100);
    assert_int_equal(n, 100);
}

/* Weak references that are emptied: within the marking, at its end. */
static void
weak_references_are_heard(void **state)
{
    enum { N = 100, DEAD = 60 };
    ALQ_FRAME(domain, f, weak, held, v);
    uint64_t n_emptied = 0, n_marks = 0, n_ephes = 0;
    bool in_mark = false, in_ephe = false;
    size_t i;

    (void)state;
    f.weak = alq_weak_create(domain, N);
    f.held = alq_alloc(domain, N, 0);
    for (i = 0; i < N; i++) {
        f.v = alq_alloc(domain, 1, 0);
        alq_weak_set(domain, f.weak, i, f.v);
        alq_store(domain, f.held, i, f.v);
    }
    f.v = ALQ_NULL;
    assert_int_equal(alq_gc_full_major(domain), ALQ_OK);
    for (i = 0; i < DEAD; i++)
        alq_store(domain, f.held, i, ALQ_UNIT);
    listen((uint64_t)1 << ALQ_EVENT_MARK | (uint64_t)1 << ALQ_EVENT_EPHE);
    assert_int_equal(alq_gc_full_major(domain), ALQ_OK);
    listen_no_more();
    for (i = 0; i < heard.n; i++) {
        const struct alq_event *e = &heard.events[i];
        bool begins = e->point == ALQ_EVENT_BEGIN;

        assert_int_equal(e->domain, ALQ_EVENT_HEAP);
        if (e->kind == ALQ_EVENT_MARK) {
            assert_int_equal(in_mark, !begins);
            assert_false(in_ephe);
            in_mark = begins;
            n_marks += begins;
            continue;
        }
        assert_true(in_mark);
        assert_int_equal(in_ephe, !begins);
        in_ephe = begins;
        n_ephes += begins;
        n_emptied += begins ? 0 : e->values[0];
    }
    assert_false(in_mark);
    assert_true(n_marks >= 2);
    assert_int_equal(n_ephes, n_marks);
    assert_int_equal(n_emptied, DEAD);
}

static enum alq_status
count_call(struct alq_domain *d, alq_value v, alq_value with)
{
    (void)d;
    (void)v;
    (void)with;
    n_finalised++;
    return ALQ_OK;
}

static enum alq_status
count_alarm(struct alq_domain *d, void *arg)
{
    (void)d;
    (void)arg;
    n_finalised++;
    return ALQ_OK;
}

/* Functions of the program: between pauses. */
static void
calls_are_heard(void **state)
{
    struct alq_alarm *alarm;
    uint64_t n = 0, begin = n_finalised, before;
    unsigned depth = 0;
    size_t i;

    (void)state;
    assert_int_equal(alq_gc_create_alarm(domain, count_alarm, NULL, &alarm),
                     ALQ_OK);
    for (i = 0; i < 20; i++) {
        alq_value v = alq_alloc(domain, 1, 0);

        assert_int_equal(
            i % 2 ? alq_gc_finalise(domain, v, count_call, ALQ_UNIT)
                  : alq_gc_finalise_last(domain, v, count_call, ALQ_UNIT),
            ALQ_OK);
    }
    before = n_finalised; /* hard builds have called some */
    listen((uint64_t)1 << ALQ_EVENT_FINALISE | (uint64_t)1 << ALQ_EVENT_PAUSE);
    assert_int_equal(alq_gc_full_major(domain), ALQ_OK);
    listen_no_more();
    alq_gc_delete_alarm(&alarm);
    for (i = 0; i < heard.n; i++) {
        const struct alq_event *e = &heard.events[i];

        if (e->kind == ALQ_EVENT_PAUSE)
            depth += e->point == ALQ_EVENT_BEGIN ? 1 : -1u;
        else if (e->point == ALQ_EVENT_END)
            n += e->values[0];
        if (e->kind == ALQ_EVENT_FINALISE)
            assert_int_equal(depth, 0);
    }
    assert_true(n_finalised - begin > 20 && n > 0);
    assert_int_equal(n, n_finalised - before);
}

static int n_refused;

static void
call_back_in(void *arg, const struct alq_event *event)
{
    static struct alq_listener other;

    (void)event;
    other = (struct alq_listener){call_back_in, NULL, 0};
    if (alq_listener_add(domain, &other) == ALQ_EBUSY &&
        alq_listener_remove(domain, arg) == ALQ_EBUSY)
        n_refused++;
}

static void
misuse_is_refused(void **state)
{
    static struct alq_listener many[ALQ_LISTENERS_MAX + 1];
    struct alq_listener none = {NULL, NULL, 0}, self;
    struct alq_pauses p;
    int i;

    (void)state;
    assert_int_equal(alq_listener_add(NULL, &many[0]), ALQ_EINVAL);
    assert_int_equal(alq_listener_add(domain, NULL), ALQ_EINVAL);
    assert_int_equal(alq_listener_add(domain, &none), ALQ_EINVAL);
    assert_int_equal(alq_listener_remove(domain, NULL), ALQ_EINVAL);
    assert_int_equal(alq_listener_remove(domain, &none), ALQ_EINVAL);
    heard.n = 0;
    for (i = 0; i <= ALQ_LISTENERS_MAX; i++) {
        many[i] = (struct alq_listener){hear, &heard, 0};
        assert_int_equal(alq_listener_add(domain, &many[i]),
                         i < ALQ_LISTENERS_MAX ? ALQ_OK : ALQ_EBUSY);
    }
    assert_int_equal(alq_listener_add(domain, &many[3]), ALQ_EBUSY);
    assert_int_equal(alq_gc_minor(domain), ALQ_OK);
    assert_int_equal(heard.n % ALQ_LISTENERS_MAX, 0);
    assert_true(heard.n > 0);
    for (i = 0; i < ALQ_LISTENERS_MAX; i++)
        assert_int_equal(alq_listener_remove(domain, &many[i]), ALQ_OK);
    assert_int_equal(alq_listener_remove(domain, &many[0]), ALQ_EINVAL);

    self = (struct alq_listener){call_back_in, &self, 0};
    n_refused = 0;
    assert_int_equal(alq_listener_add(domain, &self), ALQ_OK);
    assert_int_equal(alq_gc_minor(domain), ALQ_OK);
    assert_int_equal(alq_listener_remove(domain, &self), ALQ_OK);
    assert_true(n_refused > 0);

    assert_int_equal(alq_pauses_get(NULL, &p), ALQ_EINVAL);
    assert_int_equal(alq_pauses_get(domain, NULL), ALQ_EINVAL);
    assert_int_equal(alq_pauses_get_all(domain, NULL), ALQ_EINVAL);
    assert_int_equal(alq_pauses_reset(NULL), ALQ_EINVAL);
    assert_int_equal(alq_pauses_print(NULL, stdout), ALQ_EINVAL);
    assert_int_equal(alq_census_take(domain, NULL, NULL), ALQ_EINVAL);
    assert_int_equal(alq_census_print(NULL, stdout), ALQ_EINVAL);
    assert_int_equal(alq_census_print(domain, NULL), ALQ_EINVAL);
}

/* Every number that has a name has one at its place alone. */
static void
each_event_has_its_texts(void **state)
{
    unsigned kind, point, i;

    (void)state;
    for (kind = 0; kind < ALQ_EVENT_KINDS; kind++) {
        assert_true(strlen(alq_event_text(kind)) > 0);
        for (i = 0; i < kind; i++)
            assert_string_not_equal(alq_event_text(i), alq_event_text(kind));
        for (point = 0; point <= ALQ_EVENT_MOMENT; point++)
            for (i = 1; i < ALQ_EVENT_VALUES; i++)
                assert_false(alq_event_value_text(kind, point, i - 1) == NULL &&
                             alq_event_value_text(kind, point, i) != NULL);
        assert_null(alq_event_value_text(kind, 3, 0));
        assert_null(alq_event_value_text(kind, 0, ALQ_EVENT_VALUES));
    }
    assert_string_equal(alq_event_text(ALQ_EVENT_KINDS), "unknown");
    assert_null(alq_event_value_text(ALQ_EVENT_KINDS, 0, 0));
}

/* ---- listeners that come and go ----------------------------------------- */

struct visitor {
    struct alq_listener listener;
    uint32_t alive; /* atomic */
    uint32_t n;     /* atomic */
};

static uint32_t is_over; /* atomic */

static void
visit(void *arg, const struct alq_event *event)
{
    struct visitor *v = arg;

    (void)event;
    if (!__atomic_load_n(&v->alive, __ATOMIC_RELAXED))
        abort(); /* it was removed */
    __atomic_fetch_add(&v->n, 1, __ATOMIC_RELAXED);
}

static void *
come_and_go(void *arg)
{
    uint64_t *n_heard = arg;

    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        struct visitor v = {{visit, &v, 0}, 1, 0};
        int i;

        if (alq_listener_add(domain, &v.listener) != ALQ_OK)
            abort();
        for (i = 0; i < 1000; i++)
            __asm__ volatile("" : : : "memory");
        if (alq_listener_remove(domain, &v.listener) != ALQ_OK)
            abort();
        v.alive = 0;
        __atomic_fetch_add(n_heard, v.n, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void
listeners_come_and_go(void **state)
{
    pthread_t threads[3];
    uint64_t n_heard = 0;
    int i, round;

    (void)state;
    is_over = 0;
    for (i = 0; i < 3; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, come_and_go, &n_heard), 0);
    for (round = 0; round < 3000; round++) {
        assert_int_equal(alq_gc_minor(domain), ALQ_OK);
        if (round % 100 == 0)
            sched_yield();
    }
    for (; round < 1000000 && __atomic_load_n(&n_heard, __ATOMIC_RELAXED) == 0;
         round++)
        assert_int_equal(alq_gc_minor(domain), ALQ_OK);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_true(n_heard > 0);
}

/* ---- pauses ------------------------------------------------------------- */

static void
buckets_follow_each_other(void **state)
{
    unsigned i;

    (void)state;
    for (i = 0; i < ALQ_PAUSE_BUCKETS; i++) {
        uint64_t low = alq_pauses_bucket_ns(i);
        uint64_t high = alq_pauses_bucket_ns(i + 1);

        assert_true(low < high);
        assert_true(low < 16 || (high - low) * 16 <= low);
        assert_int_equal(alqi_heap_pauses_bucket(low), i);
        assert_int_equal(alqi_heap_pauses_bucket(high - 1), i);
    }
    assert_true(alq_pauses_bucket_ns(ALQ_PAUSE_BUCKETS) > 3600000000000u);
    assert_int_equal(alqi_heap_pauses_bucket(UINT64_MAX),
                     ALQ_PAUSE_BUCKETS - 1);
}

static int
by_number(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static void
percentiles_are_close(void **state)
{
    enum { N = 10000 };
    static uint64_t ns[N];
    static struct alq_pauses p, half, merged;
    uint64_t sum = 0;
    int i;

    (void)state;
    memset(&p, 0, sizeof p);
    assert_int_equal(alq_pauses_percentile_ns(&p, 50), 0);
    for (i = 0; i < N; i++) {
        ns[i] = alqi_base_mix((uint64_t)i + 9) >> (24 + i % 32);
        sum += ns[i];
        alqi_heap_pauses_add(&p, ns[i]);
        if (i == N / 2 - 1)
            half = p;
    }
    qsort(ns, N, sizeof *ns, by_number);
    assert_true(p.count == N && p.sum_ns == sum);
    assert_true(p.min_ns == ns[0] && p.max_ns == ns[N - 1]);
    for (i = 1; i <= N; i++) {
        uint64_t got = alq_pauses_percentile_ns(&p, 100.0 * i / N);

        assert_true(got >= ns[i - 1]);
        assert_true((double)got <= 1.0625 * (double)ns[i - 1] ||
                    got - ns[i - 1] <= 1);
    }
    assert_true(alq_pauses_percentile_ns(&p, -5) >= ns[0]);
    assert_true(alq_pauses_percentile_ns(&p, 500) == ns[N - 1]);
    merged = half;
    alqi_heap_pauses_merge(&merged, &half);
    assert_true(merged.count == N && merged.sum_ns == 2 * half.sum_ns);
    assert_true(merged.min_ns == half.min_ns && merged.max_ns == half.max_ns);
}

/* All that was written, as a string to be freed. */
static char *
text_of(FILE *file)
{
    long n = ftell(file);
    char *text = calloc(1, (size_t)n + 1);

    assert_non_null(text);
    rewind(file);
    assert_int_equal(fread(text, 1, (size_t)n, file), n);
    fclose(file);
    return text;
}

static void
pauses_print_and_reset(void **state)
{
    static struct alq_pauses p, all;
    FILE *file = tmpfile(), *full = fopen("/dev/full", "w");
    char *text;

    (void)state;
    assert_non_null(file);
    assert_non_null(full);
    churn(50000);
    assert_int_equal(alq_pauses_get(domain, &p), ALQ_OK);
    assert_int_equal(alq_pauses_get_all(domain, &all), ALQ_OK);
    assert_memory_equal(&p, &all, sizeof p);
    assert_true(p.count > 20 && p.min_ns > 0 && p.min_ns <= p.max_ns);
    assert_true(p.sum_ns >= p.max_ns);
    assert_int_equal(alq_pauses_print(&p, file), ALQ_OK);
    text = text_of(file);
    assert_non_null(strstr(text, " pauses, "));
    assert_non_null(strstr(text, ", p99.9 "));
    free(text);
    setvbuf(full, NULL, _IONBF, 0);
    assert_int_equal(alq_pauses_print(&p, full), ALQ_EIO);
    fclose(full);
    assert_int_equal(alq_pauses_reset(domain), ALQ_OK);
    assert_int_equal(alq_pauses_get(domain, &p), ALQ_OK);
    assert_true(p.count == 0 && p.sum_ns == 0 && p.max_ns == 0);
    assert_int_equal(alq_gc_minor(domain), ALQ_OK);
    assert_int_equal(alq_pauses_get_all(domain, &p), ALQ_OK);
    assert_true(p.count == 1 && p.sum_ns == p.max_ns && p.min_ns == p.max_ns);
}

/* ---- census ------------------------------------------------------------- */

struct tally {
    uint64_t blocks;
    uint64_t words;
    uint64_t places[3];
};

static void
tally_major(struct alqi_domain *self, alq_value block, uintptr_t header)
{
    struct tally *t = (struct tally *)self->events.census;

    (void)block;
    if (alqi_heap_colour(header) == self->heap->cycle.colours.garbage)
        return;
    t->blocks++;
    t->words += alqi_heap_words(header);
}

static const struct alqi_heap_stop_work *
walk_major(struct alqi_domain *self)
{
    alqi_heap_sweep_blocks_stw(self, tally_major);
    return NULL;
}

static const struct alqi_heap_stop_work walk_step = {.last = walk_major};

/* By the walk that the verifier makes. */
static struct tally
walk(void)
{
    struct alqi_domain *self = alqi_heap_domain(domain);
    struct tally t = {0};
    char *at = domain->young_ptr;

    while (at < (char *)self->young.end) {
        t.blocks++;
        t.words += alqi_heap_words(*(uintptr_t *)at);
        at += alqi_heap_words(*(uintptr_t *)at) * 8;
    }
    self->events.census = (void *)&t;
    while (!alqi_heap_stop_try(self, &walk_step))
        continue;
    self->events.census = NULL;
    return t;
}

static struct alq_census_row last_row;

static int
tally_row(void *arg, const struct alq_census_row *row)
{
    struct tally *t = arg;

    if (t->blocks > 0) { /* in the order that is promised */
        assert_true(last_row.place <= row->place);
        if (last_row.place == row->place) {
            assert_true(last_row.tag <= row->tag);
            if (last_row.tag == row->tag)
                assert_true(strcmp(last_row.name, row->name) <= 0);
            if (last_row.tag == row->tag && last_row.ops == row->ops)
                assert_true(last_row.words_max < row->words_max);
        }
    }
    last_row = *row;
    assert_true(row->blocks > 0 && row->words >= 2 * row->blocks);
    assert_true(row->words <= row->words_max * row->blocks);
    assert_true(row->slot_words >= row->words);
    assert_int_equal(row->ops != NULL, row->tag == ALQ_TAG_CUSTOM);
    t->blocks += row->blocks;
    t->words += row->words;
    t->places[row->place] += row->words;
    return 0;
}

static struct tally
census(void)
{
    struct tally t = {0};

    assert_int_equal(alq_census_take(domain, tally_row, &t), ALQ_OK);
    return t;
}

static void
census_is_what_a_walk_finds(void **state)
{
    struct tally a, b;
    int i;

    (void)state;
    for (i = 0; i < 40; i++) {
        churn((unsigned)i * 211);
        a = census();
        b = walk();
        assert_true(a.blocks == b.blocks && a.words == b.words);
        assert_true(a.words == a.places[0] + a.places[1] + a.places[2]);
        if (i % 7 == 3)
            alq_gc_major_slice(domain, 3000);
        if (i % 11 == 5)
            alq_gc_full_major(domain);
    }
    assert_true(a.blocks > 0);
}

static int
find_row(void *arg, const struct alq_census_row *row)
{
    struct alq_census_row *wanted = arg;

    if (row->place != wanted->place || row->tag != wanted->tag ||
        row->ops != wanted->ops)
        return 0;
    wanted->name = row->name;
    wanted->blocks += row->blocks;
    wanted->words += row->words;
    wanted->slot_words += row->slot_words;
    return 0;
}

static void
expect(enum alq_census_place place, unsigned tag,
       const struct alq_custom_ops *ops, const char *name, uint64_t blocks,
       uint64_t words)
{
    struct alq_census_row row = {.place = place, .tag = tag, .ops = ops};

    assert_int_equal(alq_census_take(domain, find_row, &row), ALQ_OK);
    assert_true(row.blocks == blocks);
    assert_true(row.words == words);
    if (blocks > 0)
        assert_string_equal(row.name, name);
}

static const struct alq_custom_ops handles = {.name = "file handle"};
static const struct alq_custom_ops others = {.name = "file handle"};
static const struct alq_custom_ops nameless = {.name = NULL};

static void
census_knows_what_lives(void **state)
{
    ALQ_FRAME(domain, f, all);
    char line[400];
    FILE *file = tmpfile();
    char *text;
    unsigned i, n = 0;

    (void)state;
    alq_gc_full_major(domain);
    assert_true(census().words == 0);
    f.all = alq_alloc(domain, 400, 7); /* large */
    for (i = 0; i < 100; i++) {
        alq_store(domain, f.all, n++, alq_alloc(domain, 3, 9));
        alq_store(domain, f.all, n++, alq_alloc_double(domain, i));
        alq_alloc_string(domain, 20); /* dead */
    }
    for (i = 0; i < 30; i++) {
        alq_store(domain, f.all, n++, alq_alloc_custom(domain, &handles, 8));
        alq_store(domain, f.all, n++, alq_alloc_custom(domain, &others, 80));
        alq_store(domain, f.all, n++, alq_alloc_custom(domain, &nameless, 0));
    }
    alq_store(domain, f.all, n++, alq_alloc_string(domain, 100000));
    if (!ALQI_HEAP_IS_HARD) {
        expect(ALQ_CENSUS_YOUNG, 9, NULL, "block", 100, 400);
        expect(ALQ_CENSUS_YOUNG, ALQ_TAG_STRING, NULL, "string", 100, 400);
    }
    alq_gc_full_major(domain);
    expect(ALQ_CENSUS_YOUNG, 9, NULL, "", 0, 0);
    expect(ALQ_CENSUS_OLD, 9, NULL, "block", 100, 400);
    expect(ALQ_CENSUS_OLD, ALQ_TAG_DOUBLE, NULL, "double", 100, 200);
    expect(ALQ_CENSUS_OLD, ALQ_TAG_STRING, NULL, "", 0, 0);
    expect(ALQ_CENSUS_LARGE, ALQ_TAG_STRING, NULL, "string", 1, 12502);
    expect(ALQ_CENSUS_LARGE, 7, NULL, "block", 1, 401);
    expect(ALQ_CENSUS_OLD, ALQ_TAG_CUSTOM, &handles, "file handle", 30, 90);
    expect(ALQ_CENSUS_OLD, ALQ_TAG_CUSTOM, &others, "file handle", 30, 360);
    expect(ALQ_CENSUS_OLD, ALQ_TAG_CUSTOM, &nameless, "custom", 30, 60);
    assert_true(census().words == 400 + 200 + 12502 + 401 + 90 + 360 + 60);

    assert_non_null(file);
    assert_int_equal(alq_census_print(domain, file), ALQ_OK);
    text = text_of(file);
    snprintf(line, sizeof line, "%12u %14u %5.1f%% %14u %14u %14u  %3u  %s\n",
             60u, 450u, 100.0 * 450 / 13973 - 0, 0u, 450u, 0u, 255u,
             "file handle");
    assert_non_null(strstr(text, line));
    assert_non_null(strstr(text, "  255  custom\n"));
    free(text);
}

/* A slot of 10 words is the smallest for 9; a young block has none. */
static void
census_knows_what_blocks_take_up(void **state)
{
    struct alq_census_row row = {.place = ALQ_CENSUS_OLD, .tag = 9};
    ALQ_FRAME(domain, f, all);
    unsigned i;

    (void)state;
    f.all = alq_alloc(domain, 100, 0);
    for (i = 0; i < 100; i++)
        alq_store(domain, f.all, i, alq_alloc(domain, 8, 9));
    alq_gc_full_major(domain);
    assert_int_equal(alq_census_take(domain, find_row, &row), ALQ_OK);
    assert_true(row.words == 900 && row.slot_words == 1000);
    alq_alloc(domain, 8, 9);
    row = (struct alq_census_row){.place = ALQ_CENSUS_YOUNG, .tag = 9};
    assert_int_equal(alq_census_take(domain, find_row, &row), ALQ_OK);
    assert_true(row.words == row.slot_words);
}

static int
stop_at_first(void *arg, const struct alq_census_row *row)
{
    (void)row;
    ++*(int *)arg;
    return 1;
}

static void
a_row_may_end_the_census(void **state)
{
    int n = 0;

    (void)state;
    churn(1000);
    assert_int_equal(alq_census_take(domain, stop_at_first, &n), ALQ_OK);
    assert_int_equal(n, 1);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(events_agree_with_counts),
        TEST(only_what_is_wanted_is_heard),
        TEST(growth_and_its_end_are_heard),
        TEST(finalisers_are_heard),
        TEST(weak_references_are_heard),
        TEST(calls_are_heard),
        TEST(misuse_is_refused),
        cmocka_unit_test(each_event_has_its_texts),
        TEST(listeners_come_and_go),
        cmocka_unit_test(buckets_follow_each_other),
        cmocka_unit_test(percentiles_are_close),
        TEST(pauses_print_and_reset),
        TEST(census_is_what_a_walk_finds),
        TEST(census_knows_what_lives),
        TEST(census_knows_what_blocks_take_up),
        TEST(a_row_may_end_the_census),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
