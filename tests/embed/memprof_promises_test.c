/* memprof_promises_test.c -- what <aliquot/memprof.h> and <aliquot/callstack.h>
 * promise beside the events: seeds, caps, ages, a look that ends, finalisers,
 * failures told once, sources that change */
#include "memprof_kit.h"

static struct probe probe;
static struct alq_profile *profile;

static int
open_all(void **state)
{
    probe_open(&probe, 4096);
    profile = NULL;
    return domains_setup(state);
}

static int
close_all(void **state)
{
    probe_close(&probe);
    return domains_teardown(state);
}

/* ---- draws --------------------------------------------------------------- */

enum { DRAWS = IS_HARD ? 200 : 2000 };

/* Which of so many blocks are sampled. */
struct draws {
    unsigned at; /* the one that is being allocated */
    bool is_hit[DRAWS];
};

static _Thread_local struct draws *drawing;

static int
note_draw(struct probe *p, enum event event, const struct alq_allocation *a,
          struct record *r)
{
    (void)p;
    (void)event;
    (void)r;
    if (a != NULL && drawing != NULL)
        drawing->is_hit[drawing->at] = true;
    return ALQ_TRACK_DROP;
}

static void
draw(struct alq_domain *on, struct draws *to)
{
    memset(to, 0, sizeof *to);
    CHECK(alq_gc_minor(on) == ALQ_OK); /* there is room */
    drawing = to;
    for (to->at = 0; to->at < DRAWS; to->at++)
        CHECK(!alq_is_null(block(on, 3)));
    drawing = NULL;
}

/* Two that are drawn apart are equal with probability 0.55^DRAWS. */
static bool
are_equal(const struct draws *a, const struct draws *b)
{
    return memcmp(a->is_hit, b->is_hit, sizeof a->is_hit) == 0;
}

static void
draw_with(uint64_t seed, struct draws *to)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;

    c.rate = 0.1;
    c.seed = seed;
    probe.act = note_draw;
    profile = begin_with(d, &probe, &c);
    CHECK(alq_profile_seed(profile) != 0);
    CHECK(seed == 0 || alq_profile_seed(profile) == seed);
    draw(d, to);
    end_profile(d, profile, &probe);
}

static void
a_seed_says_what_is_sampled(void **state)
{
    static struct draws a, b, c, e;

    (void)state;
    draw_with(1234, &a);
    draw_with(1234, &b);
    CHECK(are_equal(&a, &b));
    draw_with(1235, &c);
    CHECK(!are_equal(&a, &c));
    draw_with(0, &c);
    draw_with(0, &e);
    CHECK(!are_equal(&c, &e));
}

static void *
draw_in_a_thread(void *to)
{
    struct alq_thread *self = NULL;

    CHECK(alq_thread_attach(d, &self) == ALQ_OK);
    draw(d, to);
    CHECK(alq_thread_detach(self) == ALQ_OK);
    return NULL;
}

static void
threads_do_not_replay_each_other(void **state)
{
    static struct draws of[3];

    (void)state;
    probe.act = note_draw;
    profile = begin(d, &probe, 0.1);
    for (unsigned i = 0; i < 2; i++) {
        pthread_t thread;
        ALQ_BLOCKING(d, blocks);

        CHECK(pthread_create(&thread, NULL, draw_in_a_thread, &of[i]) == 0);
        pthread_join(thread, NULL);
    }
    draw(d, &of[2]);
    for (unsigned i = 0; i < 3; i++)
        CHECK(!are_equal(&of[i], &of[(i + 1) % 3]));
    end_profile(d, profile, &probe);
}

struct joiner {
    struct gate gate;
    struct draws draws;
};

static alq_value
join_and_draw(struct alq_domain *on, alq_value arg, void *data)
{
    struct joiner *j = data;

    through_gate(on, arg, &j->gate);
    CHECK(alq_memprof_join(on, profile) == ALQ_OK);
    draw(on, &j->draws);
    return arg;
}

/* They were there before the heap was first observed. */
static void
domains_that_join_do_not_replay_each_other(void **state)
{
    static struct joiner joiners[2] = {{.gate = GATE}, {.gate = GATE}};
    static struct draws own;
    struct alq_child *child[2];

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        child[i] = spawn(d, join_and_draw, ALQ_UNIT, &joiners[i]);
        gate_await(&joiners[i].gate, 1);
    }
    probe.act = note_draw;
    profile = begin(d, &probe, 0.1);
    for (unsigned i = 0; i < 2; i++) {
        gate_open(&joiners[i].gate);
        finish(d, child[i]);
    }
    draw(d, &own);
    CHECK(!are_equal(&joiners[0].draws, &joiners[1].draws));
    CHECK(!are_equal(&joiners[0].draws, &own));
    CHECK(!are_equal(&joiners[1].draws, &own));
    end_profile(d, profile, &probe);
}

/* ---- the cap ------------------------------------------------------------- */

static void
the_cap_drops_and_counts(void **state)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_memprof_counts n;
    ALQ_FRAME(d, f, list);

    (void)state;
    c.rate = 1;
    c.max_entries = 8;
    profile = begin_with(d, &probe, &c);
    for (unsigned round = 1; round <= 2; round++) {
        f.list = ALQ_UNIT;
        for (unsigned i = 0; i < 20; i++)
            f.list = cons(d, ALQ_UNIT, f.list);
        settle(d);
        alq_profile_counts(profile, &n);
        CHECK(n.live_entries == 8 && probe_allocs(&probe) == 8 * round);
        CHECK(n.dropped_cap == 12 * round);
        CHECK(n.sampled_blocks == 8 * round);
        f.list = ALQ_UNIT;
        bury(d); /* and there is room again */
        CHECK(live_entries(profile) == 0);
    }
    end_profile(d, profile, &probe);
}

/* ---- a look -------------------------------------------------------------- */

static unsigned n_looks, last_look;
static uint32_t age_seen;

static int
look(void *arg, const struct alq_allocation *a, uintptr_t data)
{
    (void)arg;
    (void)data;
    age_seen = a->age;
    return ++n_looks == last_look;
}

static unsigned
looks_until(unsigned last)
{
    n_looks = 0;
    last_look = last;
    CHECK(alq_memprof_each(profile, look, NULL) == ALQ_OK);
    return n_looks;
}

static alq_value
keep_three(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, list);

    f.list = arg;
    for (unsigned i = 0; i < 3; i++)
        f.list = cons(on, ALQ_UNIT, f.list);
    return through_gate(on, ALQ_UNIT, data);
}

/* In whatever list or domain the block is. */
static void
a_look_ends_when_it_is_told_to(void **state)
{
    static struct gate gate = GATE;
    struct alq_child *child;
    ALQ_FRAME(d, f, list);

    (void)state;
    profile = begin(d, &probe, 1.0);
    child = spawn(d, keep_three, ALQ_UNIT, &gate);
    gate_await(&gate, 1);
    f.list = ALQ_UNIT;
    for (unsigned i = 0; i < 6; i++) {
        f.list = cons(d, ALQ_UNIT, f.list);
        if (i == 2)
            CHECK(alq_gc_minor(d) == ALQ_OK);
    }
    settle(d);
    CHECK(looks_until(0) == 9);
    for (unsigned last = 1; last <= 9; last++)
        CHECK(looks_until(last) == last);
    gate_open(&gate);
    finish(d, child);
    f.list = ALQ_UNIT;
    end_profile(d, profile, &probe);
}

/* ---- ages ---------------------------------------------------------------- */

static uint64_t
cycles(void)
{
    struct alq_gc_stats s;

    CHECK(alq_gc_quick_stat(d, &s) == ALQ_OK);
    return s.major_collections;
}

static int
see_age(struct probe *p, enum event event, const struct alq_allocation *a,
        struct record *r)
{
    (void)p;
    (void)r;
    if (a != NULL)
        age_seen = a->age;
    /* Not the moment for a look at what is tracked. */
    CHECK(alq_memprof_each(profile, look, NULL) ==
          (event == RELEASE ? ALQ_EGONE : ALQ_ESTATE));
    return ALQ_TRACK_KEEP;
}

static alq_value
make_one(struct alq_domain *on, alq_value arg, void *data)
{
    (void)arg;
    (void)data;
    return block(on, 3);
}

/* By whichever domain it is tracked. */
static void
an_age_is_in_cycles_of_the_heap(void **state)
{
    uint64_t before;
    ALQ_FRAME(d, f, v);

    (void)state;
    CHECK(alq_gc_major(d) == ALQ_OK);
    probe.act = see_age;
    profile = begin(d, &probe, 1.0);
    for (unsigned i = 0; i < 9; i++) /* before there is the other domain */
        CHECK(alq_gc_major(d) == ALQ_OK);
    before = cycles();
    age_seen = 77;
    f.v = finish(d, spawn(d, make_one, ALQ_UNIT, NULL));
    CHECK(age_seen == 0);
    CHECK(looks_until(0) == 1);
    CHECK(age_seen <= cycles() - before);
    CHECK(IS_HARD || age_seen == 0);
    for (unsigned i = 0; i < 3; i++)
        CHECK(alq_gc_major(d) == ALQ_OK);
    CHECK(looks_until(0) == 1);
    CHECK(age_seen >= 3 && age_seen <= cycles() - before);
    f.v = ALQ_UNIT;
    end_profile(d, profile, &probe);
}

static void
a_late_callback_tells_the_age(void **state)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;

    (void)state;
    c.rate = 1;
    c.flags = ALQ_MEMPROF_DEFER;
    probe.act = see_age;
    profile = begin_with(d, &probe, &c);
    CHECK(!alq_is_null(block(d, 3)));
    for (unsigned i = 0; i < 3; i++)
        CHECK(alq_gc_major(d) == ALQ_OK);
    age_seen = 0;
    settle(d);
    CHECK(age_seen >= 3);
    end_profile(d, profile, &probe);
}

/* ---- a discard ----------------------------------------------------------- */

static void *
stop_and_discard(void *arg)
{
    (void)arg;
    CHECK(alq_profile_stop(profile) == ALQ_OK);
    CHECK(alq_memprof_discard(profile) == ALQ_OK);
    return NULL;
}

/* By a thread that runs no domain: data of what lives on, young or old, are
 * released when they are next met. */
static void
what_a_stranger_discards_is_released(void **state)
{
    pthread_t thread;
    ALQ_FRAME(d, f, old, young);

    (void)state;
    profile = begin(d, &probe, 1.0);
    f.old = block(d, 3);
    CHECK(alq_gc_full_major(d) == ALQ_OK);
    settle(d);
    f.young = block(d, 4);
    CHECK(probe.n[PROMOTE] >= 1 && live_entries(profile) == 2);
    CHECK(pthread_create(&thread, NULL, stop_and_discard, NULL) == 0);
    pthread_join(thread, NULL);
    CHECK(alq_gc_full_major(d) == ALQ_OK);
    settle(d);
    CHECK(probe.n[RELEASE] == 2 && live_entries(profile) == 0);
    CHECK(probe.n[DEALLOC_MINOR] + probe.n[DEALLOC_MAJOR] == 0);
    end_profile(d, profile, &probe);
}

/* ---- finalisers ---------------------------------------------------------- */

static struct alq_global risen;
static unsigned n_finalised;

static enum alq_status
rise(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)on;
    (void)with;
    n_finalised++;
    risen.value = v;
    return ALQ_OK;
}

/* E4, E5: a block is dead when nothing brings it back any more; one that has a
 * finaliser never dies young. */
static void
what_a_finaliser_brings_back_is_not_dead(void **state)
{
    ALQ_FRAME(d, f, v);

    (void)state;
    n_finalised = 0;
    risen.value = ALQ_UNIT;
    CHECK(alq_global_add(d, &risen) == ALQ_OK);
    profile = begin(d, &probe, 1.0);
    probe.logs = true;
    f.v = block(d, 3);
    CHECK(alq_gc_finalise(d, f.v, rise, ALQ_UNIT) == ALQ_OK);
    f.v = ALQ_UNIT;
    CHECK(alq_gc_minor(d) == ALQ_OK);
    settle(d);
    CHECK(strcmp(probe.log, "ap") == 0);
    bury(d);
    CHECK(n_finalised == 1 && alq_is_block(risen.value));
    CHECK(strcmp(probe.log, "ap") == 0);
    bury(d);
    CHECK(strcmp(probe.log, "ap") == 0);
    risen.value = ALQ_UNIT;
    bury(d);
    CHECK(n_finalised == 1);
    CHECK(strcmp(probe.log, "apD") == 0);
    alq_global_remove(d, &risen);
    end_profile(d, profile, &probe);
}

/* ---- order --------------------------------------------------------------- */

static char order[16];

static int
note_death(struct probe *p, enum event event, const struct alq_allocation *a,
           struct record *r)
{
    (void)p;
    (void)r;
    if (a == NULL && event != PROMOTE)
        strcat(order, "D");
    return ALQ_TRACK_KEEP;
}

static enum alq_status
note_final(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)on;
    (void)v;
    (void)with;
    strcat(order, "F");
    return ALQ_OK;
}

/* K6; of an old block, and of a young one. */
static void
callbacks_come_before_finalisers(void **state)
{
    (void)state;
    probe.act = note_death;
    for (unsigned i = 0; i < 2; i++) {
        ALQ_FRAME(d, f, tracked, finalised);

        order[0] = '\0';
        f.finalised = block(d, 3);
        CHECK(alq_gc_finalise(d, f.finalised, note_final, ALQ_UNIT) == ALQ_OK);
        profile = begin(d, &probe, 1.0);
        f.tracked = block(d, 3);
        CHECK(alq_memprof_stop(d) == ALQ_OK);
        if (i == 0)
            CHECK(alq_gc_full_major(d) == ALQ_OK);
        f.tracked = f.finalised = ALQ_UNIT;
        bury(d);
        CHECK(strcmp(order, "DF") == 0);
        end_profile(d, profile, &probe);
    }
}

/* ---- threads that are there ---------------------------------------------- */

struct step {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n;
};

static void
step_set(struct step *s, int n)
{
    pthread_mutex_lock(&s->lock);
    s->n = n;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void
step_await(struct step *s, int n)
{
    ALQ_BLOCKING(d, blocks);

    pthread_mutex_lock(&s->lock);
    while (s->n < n)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static struct step step = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
                           0};
static struct probe others;

static void *
allocate_in_steps(void *arg)
{
    struct alq_thread *self = NULL;
    struct alq_profile **own = arg;

    CHECK(alq_thread_attach(d, &self) == ALQ_OK);
    CHECK(!alq_is_null(block(d, 3)));
    step_set(&step, 1);
    step_await(&step, 2); /* it has been started by the other thread */
    CHECK(alq_memprof_is_sampling(d));
    for (unsigned i = 0; i < 10; i++)
        CHECK(!alq_is_null(block(d, 3)));
    step_set(&step, 3);
    step_await(&step, 4); /* and stopped */
    for (unsigned i = 0; i < 100; i++)
        CHECK(!alq_is_null(block(d, 3)));
    CHECK(alq_memprof_stop(d) == ALQ_ENOTRUN);
    *own = begin(d, &others, 1.0);
    CHECK(alq_thread_detach(self) == ALQ_OK);
    return NULL;
}

/* T4: a start and a stop are of all threads of the domain. */
static void
a_start_covers_the_domains_other_threads(void **state)
{
    struct alq_profile *own = NULL;
    pthread_t thread;

    (void)state;
    probe_open(&others, 100);
    step.n = 0;
    CHECK(pthread_create(&thread, NULL, allocate_in_steps, &own) == 0);
    step_await(&step, 1);
    profile = begin(d, &probe, 1.0);
    step_set(&step, 2);
    step_await(&step, 3);
    CHECK(probe_allocs(&probe) == 10);
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    step_set(&step, 4);
    {
        ALQ_BLOCKING(d, blocks);

        pthread_join(thread, NULL);
    }
    CHECK(alq_memprof_is_sampling(d));
    CHECK(!alq_is_null(block(d, 3)));
    CHECK(probe_allocs(&probe) == 10 && probe_allocs(&others) == 1);
    end_profile(d, own, &others);
    end_profile(d, profile, &probe);
    probe_close(&others);
}

/* ---- a profile that replaces itself -------------------------------------- */

static struct alq_profile *next;

static int
restart(struct probe *p, enum event event, const struct alq_allocation *a,
        struct record *r)
{
    (void)p;
    (void)event;
    (void)r;
    if (a != NULL && a->size_words == 4) {
        CHECK(alq_memprof_stop(d) == ALQ_OK);
        next = begin(d, &others, 1.0);
    }
    return ALQ_TRACK_KEEP;
}

/* P8, of a request of one block, whose way is another one: it is nobody's. */
static void
a_block_whose_callback_restarts_is_untracked(void **state)
{
    ALQ_FRAME(d, f, v);

    (void)state;
    probe_open(&others, 100);
    probe.act = restart;
    profile = begin(d, &probe, 1.0);
    CHECK(!alq_is_null(block(d, 3)));
    f.v = block(d, 4);
    CHECK(!alq_is_null(f.v));
    alq_poll(d);
    CHECK(probe_allocs(&probe) == 2 && probe_allocs(&others) == 0);
    CHECK(probe.n[DEALLOC_MINOR] >= 1 && probe.n[PROMOTE] == 0);
    CHECK(alq_gc_minor(d) == ALQ_OK);
    settle(d);
    CHECK(probe.n[DEALLOC_MINOR] == 2 && probe.n[PROMOTE] == 0);
    CHECK(!alq_is_null(block(d, 3)) && probe_allocs(&others) == 1);
    end_profile(d, next, &others);
    end_profile(d, profile, &probe);
    probe_close(&others);
}

/* ---- failures ------------------------------------------------------------ */

static int
fail_all(struct probe *p, enum event event, const struct alq_allocation *a,
         struct record *r)
{
    (void)event;
    (void)r;
    return a != NULL ? -(int)probe_allocs(p) - 10 : (int)ALQ_TRACK_KEEP;
}

static int
fail_young(struct probe *p, enum event event, const struct alq_allocation *a,
           struct record *r)
{
    (void)p;
    (void)a;
    (void)r;
    return event == ALLOC_MINOR || event == DEALLOC_MAJOR ? -9
                                                          : (int)ALQ_TRACK_KEEP;
}

static void
failures_are_counted(void **state)
{
    struct alq_memprof_counts n;

    (void)state;
    profile = begin(d, &probe, 1.0);
    CHECK(!alq_is_null(block(d, 3))); /* the next takes the usual way */
    probe.act = fail_young;
    CHECK(alq_is_null(block(d, 3)));
    CHECK(alq_status_of(d) == ALQ_ECALLBACK && alq_memprof_code(d) == -9);
    alq_status_clear(d);
    alq_profile_counts(profile, &n);
    CHECK(n.callback_failures == 1);
    CHECK(!alq_is_null(alq_alloc(d, 300, 0)));
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    CHECK(alq_gc_full_major(d) == ALQ_ECALLBACK);
    alq_status_clear(d);
    settle(d);
    alq_profile_counts(profile, &n);
    CHECK(n.callback_failures == 2);
    end_profile(d, profile, &probe);
}

/* The call that ran the callback has told of it. */
static void
a_failure_in_a_stop_is_told_once(void **state)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;

    (void)state;
    c.rate = 1;
    c.flags = ALQ_MEMPROF_DEFER;
    probe.act = fail_all;
    for (unsigned by_profile = 0; by_profile < 2; by_profile++) {
        probe_forget(&probe);
        profile = begin_with(d, &probe, &c);
        CHECK(!alq_is_null(block(d, 3)));
        CHECK(!alq_is_null(block(d, 3)));
        CHECK((by_profile ? alq_profile_stop(profile) : alq_memprof_stop(d)) ==
              ALQ_ECALLBACK);
        CHECK(alq_memprof_code(d) == -11);
        CHECK(alq_memprof_flush(d, NULL) == ALQ_OK);
        CHECK(alq_memprof_code(d) == -11);
        end_profile(d, profile, &probe);
    }
}

/* A stop of what does not sample says that, and a flush the rest. */
static void
a_failure_that_no_stop_tells_of_waits(void **state)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_profile *stopped = begin(d, &probe, 1.0);
    int code = 0;

    (void)state;
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    c.rate = 1;
    c.flags = ALQ_MEMPROF_DEFER;
    probe.act = fail_all;
    profile = begin_with(d, &probe, &c);
    for (unsigned i = 0; i < 2; i++) {
        CHECK(!alq_is_null(block(d, 3)));
        CHECK(alq_profile_stop(stopped) == ALQ_ENOTRUN);
    }
    CHECK(!alq_is_null(block(d, 3)));
    CHECK(alq_memprof_stop(d) == ALQ_ECALLBACK);
    CHECK(alq_memprof_code(d) == -13);
    CHECK(alq_memprof_flush(d, &code) == ALQ_ECALLBACK && code == -11);
    CHECK(alq_memprof_flush(d, &code) == ALQ_OK);
    end_profile(d, stopped, &probe);
    end_profile(d, profile, &probe);
}

/* ---- sources ------------------------------------------------------------- */

enum { LIMIT = 10, TOO_MANY = 100 };

static size_t
walk_one(void *arg, struct alq_domain *on, uintptr_t *frames, size_t max_frames)
{
    (void)on;
    CHECK(max_frames >= 1);
    frames[0] = (uintptr_t)arg;
    return 1;
}

static size_t
walk_too_many(void *arg, struct alq_domain *on, uintptr_t *frames,
              size_t max_frames)
{
    (void)on;
    for (size_t i = 0; i < max_frames; i++)
        frames[i] = (uintptr_t)arg;
    return max_frames + TOO_MANY;
}

static size_t
name_it(void *arg, uintptr_t frame, struct alq_location *locations,
        size_t max_locations)
{
    CHECK(max_locations > 0 && frame == (uintptr_t)arg);
    locations[0] = (struct alq_location){.function = arg};
    return 1;
}

static const char *name_seen;
static size_t frames_seen;

static int
see_stack(struct probe *p, enum event event, const struct alq_allocation *a,
          struct record *r)
{
    struct alq_location l = {0};

    (void)p;
    (void)event;
    (void)r;
    if (a == NULL)
        return ALQ_TRACK_DROP;
    frames_seen = a->callstack.n_frames;
    CHECK(alq_stack_describe(d, a->callstack.frames[0], &l, 1) == 1);
    name_seen = l.function;
    return ALQ_TRACK_DROP;
}

/* Stacks that wait are told while their source is there. */
static void
a_source_leaves_no_stack_behind(void **state)
{
    static char first[] = "first", second[] = "second";
    struct alq_stack_source s = {walk_one, name_it, first};

    (void)state;
    CHECK(alq_stack_source_set(d, &s) == ALQ_OK);
    probe.act = see_stack;
    profile = begin(d, &probe, 1.0);
    name_seen = NULL;
    CHECK(!alq_is_null(alq_alloc(d, 300, 0)));
    CHECK(IS_HARD || name_seen == NULL);
    s.arg = second;
    CHECK(alq_stack_source_set(d, &s) == ALQ_OK);
    CHECK(name_seen == first);
    CHECK(!alq_is_null(block(d, 3)));
    CHECK(name_seen == second && frames_seen == 1);
    CHECK(alq_stack_source_set(d, NULL) == ALQ_OK);
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    end_profile(d, profile, &probe);
}

static void
a_walk_that_says_too_much_is_cut(void **state)
{
    static char name[] = "name";
    const struct alq_stack_source s = {walk_too_many, name_it, name};
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;

    (void)state;
    CHECK(alq_stack_source_set(d, &s) == ALQ_OK);
    c.rate = 1;
    c.callstack_frames = LIMIT;
    probe.act = see_stack;
    profile = begin_with(d, &probe, &c);
    CHECK(!alq_is_null(block(d, 3)));
    CHECK(frames_seen == LIMIT);
    frames_seen = 0;
    CHECK(!alq_is_null(alq_alloc(d, 300, 0))); /* waits */
    settle(d);
    CHECK(frames_seen == LIMIT);
    CHECK(alq_stack_source_set(d, NULL) == ALQ_OK);
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    end_profile(d, profile, &probe);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_all, close_all)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_seed_says_what_is_sampled),
        TEST(threads_do_not_replay_each_other),
        TEST(domains_that_join_do_not_replay_each_other),
        TEST(the_cap_drops_and_counts),
        TEST(a_look_ends_when_it_is_told_to),
        TEST(an_age_is_in_cycles_of_the_heap),
        TEST(a_late_callback_tells_the_age),
        TEST(what_a_stranger_discards_is_released),
        TEST(what_a_finaliser_brings_back_is_not_dead),
        TEST(callbacks_come_before_finalisers),
        TEST(a_start_covers_the_domains_other_threads),
        TEST(a_block_whose_callback_restarts_is_untracked),
        TEST(failures_are_counted),
        TEST(a_failure_in_a_stop_is_told_once),
        TEST(a_failure_that_no_stop_tells_of_waits),
        TEST(a_source_leaves_no_stack_behind),
        TEST(a_walk_that_says_too_much_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
