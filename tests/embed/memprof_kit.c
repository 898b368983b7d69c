/* memprof_kit.c -- see memprof_kit.h */
#include <math.h>

#include "memprof_kit.h"

enum state { FREE, YOUNG, OLD, MOVED };

/* ---- the probe ------------------------------------------------------------
 */

static const char letters[EVENTS] = {'a', 'A', 'p', 'd', 'D', 'r'};

static void
note(struct probe *p, enum event event)
{
    atomic_fetch_add_explicit(&p->n[event], 1, memory_order_relaxed);
    if (!p->logs)
        return;
    pthread_mutex_lock(&p->lock);
    CHECK(p->n_log < sizeof p->log - 1);
    p->log[p->n_log++] = letters[event];
    p->log[p->n_log] = '\0';
    pthread_mutex_unlock(&p->lock);
}

static struct record *
record_new(struct probe *p)
{
    struct record *r;

    pthread_mutex_lock(&p->lock);
    r = p->free;
    if (r != NULL) {
        p->free = r->next_free;
    } else {
        CHECK(p->n_records < p->max_records);
        r = &p->records[p->n_records++];
    }
    pthread_mutex_unlock(&p->lock);
    return r;
}

static void
record_drop(struct probe *p, struct record *r)
{
    pthread_mutex_lock(&p->lock);
    r->next_free = p->free;
    p->free = r;
    pthread_mutex_unlock(&p->lock);
}

static int
say(struct probe *p, enum event event, const struct alq_allocation *alloc,
    struct record *r)
{
    int code =
        p->act != NULL ? p->act(p, event, alloc, r) : (int)ALQ_TRACK_KEEP;

    if (code < 0)
        atomic_fetch_add(&p->n_failures, 1);
    return code;
}

static int
on_alloc(struct probe *p, enum event event, const struct alq_allocation *a,
         uintptr_t *data)
{
    struct record *r;
    int code;

    CHECK(a->n_samples >= 1);
    CHECK(a->source <= ALQ_SOURCE_CUSTOM);
    CHECK(a->n_samples <= a->size_words + (a->source != ALQ_SOURCE_CUSTOM));
    CHECK(a->size_bytes == a->size_words * ALQ_WORD_BYTES);
    note(p, event);
    atomic_fetch_add(&p->samples[event == ALLOC_MAJOR], a->n_samples);
    atomic_fetch_add(&p->blocks_of[a->source], 1);
    atomic_fetch_add(&p->samples_of[a->source], a->n_samples);
    r = p->max_records != 0 ? record_new(p) : NULL;
    if (r != NULL) {
        r->n_samples = (uint32_t)a->n_samples;
        r->size_words = (uint32_t)a->size_words;
        r->source = (uint8_t)a->source;
        r->mark = 0;
        CHECK(atomic_exchange(&r->state, event == ALLOC_MINOR ? YOUNG : OLD) ==
              FREE);
    }
    code = say(p, event, a, r);
    if (r == NULL)
        return code < 0 ? code : (int)ALQ_TRACK_DROP;
    if (code != ALQ_TRACK_KEEP) {
        CHECK(atomic_exchange(&r->state, FREE) != FREE);
        record_drop(p, r);
        return code;
    }
    atomic_fetch_add(&p->open, 1);
    *data = (uintptr_t)(r - p->records) + 1;
    return ALQ_TRACK_KEEP;
}

static struct record *
record_of(struct probe *p, uintptr_t data)
{
    CHECK(data >= 1 && data <= p->max_records);
    return &p->records[data - 1];
}

/* The datum has been handed in; its block was in `state`. */
static struct record *
hand_in(struct probe *p, uintptr_t data, enum state *state)
{
    struct record *r = record_of(p, data);

    *state = (enum state)atomic_exchange(&r->state, FREE);
    CHECK(*state != FREE);
    CHECK(atomic_fetch_sub(&p->open, 1) > 0);
    return r;
}

static int
alloc_minor(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    return on_alloc(arg, ALLOC_MINOR, a, data);
}

static int
alloc_major(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    return on_alloc(arg, ALLOC_MAJOR, a, data);
}

static int
on_promote(void *arg, uintptr_t *data)
{
    struct probe *p = arg;
    struct record *r = record_of(p, *data);

    CHECK(atomic_exchange(&r->state, MOVED) == YOUNG);
    note(p, PROMOTE);
    return say(p, PROMOTE, NULL, r);
}

static int
dealloc_minor(void *arg, uintptr_t data)
{
    struct probe *p = arg;
    enum state state;
    struct record *r = hand_in(p, data, &state);
    int code;

    CHECK(state == YOUNG);
    note(p, DEALLOC_MINOR);
    code = say(p, DEALLOC_MINOR, NULL, r);
    record_drop(p, r);
    return code < 0 ? code : 0;
}

static int
dealloc_major(void *arg, uintptr_t data)
{
    struct probe *p = arg;
    enum state state;
    struct record *r = hand_in(p, data, &state);
    int code;

    CHECK(state == OLD || state == MOVED);
    note(p, DEALLOC_MAJOR);
    code = say(p, DEALLOC_MAJOR, NULL, r);
    record_drop(p, r);
    return code < 0 ? code : 0;
}

static void
on_release(void *arg, uintptr_t data)
{
    struct probe *p = arg;
    enum state state;
    struct record *r = hand_in(p, data, &state);

    note(p, RELEASE);
    (void)say(p, RELEASE, NULL, r);
    record_drop(p, r);
}

void
probe_open(struct probe *p, size_t max_records)
{
    memset(p, 0, sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    p->max_records = max_records;
    p->records = calloc(max_records + 1, sizeof *p->records);
    CHECK(p->records != NULL);
}

void
probe_close(struct probe *p)
{
    CHECK(p->open == 0);
    free(p->records);
    p->records = NULL;
    pthread_mutex_destroy(&p->lock);
}

void
probe_forget(struct probe *p)
{
    for (unsigned i = 0; i < EVENTS; i++)
        p->n[i] = 0;
    for (unsigned i = 0; i < 4; i++)
        p->blocks_of[i] = p->samples_of[i] = 0;
    p->samples[0] = p->samples[1] = 0;
    p->n_failures = 0;
    p->n_log = 0;
    p->log[0] = '\0';
}

uint64_t
probe_allocs(const struct probe *p)
{
    return p->n[ALLOC_MINOR] + p->n[ALLOC_MAJOR];
}

uint64_t
probe_samples(const struct probe *p)
{
    return p->samples[0] + p->samples[1];
}

/* ---- profiles -------------------------------------------------------------
 */

static struct alq_tracker
tracker_of(struct probe *p)
{
    return (struct alq_tracker){
        .alloc_minor = alloc_minor,
        .alloc_major = alloc_major,
        .promote = on_promote,
        .dealloc_minor = dealloc_minor,
        .dealloc_major = dealloc_major,
        .release = on_release,
        .arg = p,
    };
}

struct alq_profile *
begin_with(struct alq_domain *on, struct probe *p,
           const struct alq_memprof_config *config)
{
    struct alq_tracker t = tracker_of(p);
    struct alq_profile *profile = NULL;

    CHECK(alq_memprof_start(on, config, &t, &profile) == ALQ_OK);
    CHECK(profile != NULL);
    return profile;
}

enum alq_status
try_begin(struct alq_domain *on, struct probe *p, double rate, unsigned flags,
          struct alq_profile **out)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_tracker t = tracker_of(p);

    c.rate = rate;
    c.seed = SEED;
    c.flags = flags;
    return alq_memprof_start(on, &c, &t, out);
}

struct alq_profile *
begin(struct alq_domain *on, struct probe *p, double rate)
{
    struct alq_profile *profile = NULL;

    CHECK(try_begin(on, p, rate, ALQ_MEMPROF_STRICT, &profile) == ALQ_OK);
    return profile;
}

void
end_profile(struct alq_domain *on, struct alq_profile *profile, struct probe *p)
{
    enum alq_status st = alq_profile_stop(profile);

    CHECK(st == ALQ_OK || st == ALQ_ENOTRUN);
    st = alq_memprof_discard(profile);
    CHECK(st == ALQ_OK || st == ALQ_EGONE);
    /* What is in no list of this domain's is let go when it is next met. */
    CHECK(alq_gc_full_major(on) == ALQ_OK);
    settle(on);
    CHECK(live_entries(profile) == 0);
    CHECK(p->open == 0);
    alq_profile_drop(profile);
}

void
settle(struct alq_domain *on)
{
    CHECK(alq_memprof_flush(on, NULL) == ALQ_OK);
}

void
bury(struct alq_domain *on)
{
    CHECK(alq_gc_full_major(on) == ALQ_OK);
    settle(on);
}

uint64_t
live_entries(const struct alq_profile *profile)
{
    struct alq_memprof_counts n;

    alq_profile_counts(profile, &n);
    return n.live_entries;
}

/* ---- blocks ---------------------------------------------------------------
 */

alq_value
block(struct alq_domain *on, unsigned wosize)
{
    alq_value v = alq_alloc_small(on, wosize, 0);

    if (alq_is_null(v))
        return v;
    for (unsigned i = 0; i < wosize; i++)
        alq_init_small(v, i, ALQ_UNIT);
    return v;
}

alq_value
cons(struct alq_domain *on, alq_value head, alq_value tail)
{
    ALQ_FRAME(on, f, head, tail);
    alq_value v;

    f.head = head;
    f.tail = tail;
    v = alq_alloc_small(on, 2, 0);
    if (alq_is_null(v))
        return v;
    alq_init_small(v, 0, f.head);
    alq_init_small(v, 1, f.tail);
    return v;
}

const unsigned seven_words[SEVEN] = {6, 5, 4, 6, 5, 4, 3};

int
seven(struct alq_domain *on, alq_value out[SEVEN])
{
    uintptr_t headers[SEVEN];

    for (unsigned i = 0; i < SEVEN; i++)
        headers[i] = ALQ_HEADER(seven_words[i] - 1, 0);
    if (!alq_alloc_several(on, SEVEN, headers, out))
        return 0;
    for (unsigned i = 0; i < SEVEN; i++)
        for (unsigned k = 0; k < seven_words[i] - 1; k++)
            alq_init_small(out[i], k, ALQ_UNIT);
    return 1;
}

alq_value
seven_kept(struct alq_domain *on)
{
    ALQ_FRAME(on, f, all[SEVEN]);
    alq_value v;

    if (!seven(on, f.all))
        return ALQ_NULL;
    v = alq_alloc_small(on, SEVEN, 0);
    if (alq_is_null(v))
        return v;
    for (unsigned i = 0; i < SEVEN; i++)
        alq_init_small(v, i, f.all[i]);
    return v;
}

void *
message(struct alq_domain *on, unsigned n, size_t *bytes)
{
    ALQ_FRAME(on, f, list);
    void *out = NULL;

    f.list = ALQ_UNIT;
    while (n-- > 0)
        f.list = cons(on, ALQ_UNIT, f.list);
    CHECK(alq_marshal_to_memory(on, f.list, NULL, &out, bytes) == ALQ_OK);
    return out;
}

alq_value
unmarshalled(struct alq_domain *on, const void *bytes, size_t n)
{
    alq_value v = ALQ_NULL;

    CHECK(alq_unmarshal(on, bytes, n, NULL, NULL, &v) == ALQ_OK);
    return v;
}

/* ---- statistics -----------------------------------------------------------
 */

void
check_binomial(uint64_t hits, uint64_t words, double rate)
{
    double mean = (double)words * rate, sd = sqrt(mean * (1 - rate));

    CHECK(mean >= 100);
    if (rate == 1.0) {
        CHECK(hits == words);
        return;
    }
    CHECK((double)words - mean >= 100);
    if (fabs((double)hits - mean) < 8 * sd)
        return;
    fprintf(stderr, "%llu hits of %llu words at %g: %g deviations\n",
            (unsigned long long)hits, (unsigned long long)words, rate,
            ((double)hits - mean) / sd);
    CHECK(!"the samples are not binomial");
}

void
check_chi_square(const double *hits, const double *means,
                 const double *variances, unsigned n)
{
    const double x = 26;
    double sum = 0, most = n + 2 * sqrt(n * x) + 2 * x;

    for (unsigned i = 0; i < n; i++) {
        CHECK(means[i] >= 500);
        sum += (hits[i] - means[i]) * (hits[i] - means[i]) / variances[i];
    }
    if (sum < 1.25 * most)
        return;
    fprintf(stderr, "chi square of %u counts: %g\n", n, sum);
    CHECK(!"the samples are not where they belong");
}
