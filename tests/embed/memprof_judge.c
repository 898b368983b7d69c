/* memprof_judge.c -- see memprof_judge.h */
#include "memprof_judge.h"

struct kept records[RECORDS + 1];
uint32_t n_records;
static uint32_t free_record;
struct model_profile profiles[PROFILES];
_Atomic(uint8_t) held[IDS];
_Atomic(bool) started_in[REQUESTS];
_Thread_local struct actor *me;
struct seen seen;
void (*meddle)(void);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t
rnd(uint64_t n)
{
    me->seed += 0x9E3779B97F4A7C15u;
    return alqi_base_mix(me->seed) % n;
}

/* Whether something of which one in n happens does. */
bool
one_in(uint64_t n)
{
    return rnd(n) == 0;
}

/* ---- records --------------------------------------------------------------
 */

static uint32_t
record_new(uint32_t id, unsigned profile, enum kept_state state)
{
    uint32_t k;

    pthread_mutex_lock(&lock);
    k = free_record;
    if (k != 0) {
        free_record = records[k].next_free;
    } else {
        k = ++n_records;
        CHECK(k < RECORDS);
    }
    pthread_mutex_unlock(&lock);
    records[k].id = id;
    records[k].request = 0;
    records[k].profile = profile;
    CHECK(atomic_exchange(&records[k].state, state) == FREE);
    atomic_fetch_add(&profiles[profile].open, 1);
    return k;
}

static void
record_end(uint32_t k, unsigned profile, enum kept_state *was)
{
    *was = (enum kept_state)atomic_exchange(&records[k].state, FREE);
    CHECK(*was != FREE && records[k].profile == profile);
    CHECK(atomic_fetch_sub(&profiles[profile].open, 1) > 0);
    pthread_mutex_lock(&lock);
    records[k].next_free = free_record;
    free_record = k;
    pthread_mutex_unlock(&lock);
}

/* Nobody holds the block: it may be told of as dead.  So may one that lives, if
 * a profile was started while it was being made (P8). */
static void
check_dead(uint32_t id, bool minor, uint32_t request)
{
    uint8_t h;

    if (minor && request != 0 && atomic_load(&started_in[request])) {
        atomic_fetch_add(&seen.synthetic, 1);
        return;
    }
    h = id != 0 ? atomic_load(&held[id]) : 0;

    CHECK((h & ~SEEN_OLD) == 0);
    CHECK(!minor || (h & SEEN_OLD) == 0);
}

/* ---- data: a number, or a block that holds it -----------------------------
 */

static uintptr_t
datum_of(const struct model_profile *m, uint32_t k)
{
    alq_value v;

    if (!m->values)
        return k;
    do { /* memory is not short */
        v = alq_alloc_small(me->on, 2, 0);
    } while (alq_is_null(v));
    alq_init_small(v, 0, alq_from_int(k));
    alq_init_small(v, 1, alq_from_int(~(intptr_t)k));
    return alq_bits(v);
}

uint32_t
record_of(const struct model_profile *m, uintptr_t data)
{
    if (m->values) {
        alq_value v = ALQ_VALUE(data);

        CHECK(alq_has_tag(v, 0) && alq_wosize(v) == 2);
        CHECK(alq_to_int(alq_field(v, 1)) == ~alq_to_int(alq_field(v, 0)));
        data = (uintptr_t)alq_to_int(alq_field(v, 0));
    }
    CHECK(data >= 1 && data <= RECORDS);
    return (uint32_t)data;
}

/* ---- callbacks ------------------------------------------------------------
 */

static void
enter(enum event event)
{
    CHECK(me != NULL && !me->in_callback);
    CHECK(alq_domain_self() == me->on);
    atomic_fetch_add(&seen.events[event], 1);
    me->in_callback = true;
    meddle();
}

static int
leave(int code)
{
    meddle();
    me->in_callback = false;
    if (code < 0)
        atomic_fetch_add(&seen.failures, 1);
    return code;
}

static int
verdict(void)
{
    if (!one_in(12))
        return ALQ_TRACK_KEEP;
    return one_in(8) ? -1 - (int)rnd(100) : ALQ_TRACK_DROP;
}

uint32_t
id_of(alq_value v)
{
    if (alq_tag(v) != 0 || alq_wosize(v) < 1 || !alq_is_int(alq_field(v, 0)))
        return 0;
    return (uint32_t)alq_to_int(alq_field(v, 0)) % IDS;
}

/* The number of the block that is told of. */
static uint32_t
id_told(const struct alq_allocation *a, bool minor)
{
    if (a->block != NULL) {
        alq_value v = ALQ_VALUE(a->block);

        CHECK(a->source == ALQ_SOURCE_CUSTOM || alq_wosize(v) == a->size_words);
        return a->source == ALQ_SOURCE_NORMAL ? id_of(v) : 0;
    }
    if (!minor || a->source != ALQ_SOURCE_NORMAL)
        return 0; /* it has died by now */
    for (unsigned i = 0; i < me->n_request; i++)
        if (me->request_wosize[i] == a->size_words)
            return me->request_id[i];
    return 0;
}

static int
on_alloc(struct model_profile *m, const struct alq_allocation *a,
         uintptr_t *data, bool minor)
{
    uint32_t id = id_told(a, minor), k;
    int code = verdict();

    CHECK(a->n_samples >= 1);
    CHECK(a->n_samples <= a->size_words + (a->source != ALQ_SOURCE_CUSTOM));
    enter(minor ? ALLOC_MINOR : ALLOC_MAJOR);
    if (code == ALQ_TRACK_KEEP) {
        k = record_new(id, (unsigned)(m - profiles), minor ? YOUNG : OLD);
        if (minor && a->block == NULL && me->n_request != 0)
            records[k].request = me->request;
        *data = datum_of(m, k);
    }
    return leave(code);
}

static int
alloc_minor(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    return on_alloc(arg, a, data, true);
}

static int
alloc_major(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    return on_alloc(arg, a, data, false);
}

static int
on_promote(void *arg, uintptr_t *data)
{
    struct model_profile *m = arg;
    uint32_t k = record_of(m, *data);

    CHECK(records[k].profile == m - profiles);
    CHECK(atomic_exchange(&records[k].state, MOVED) == YOUNG);
    enter(PROMOTE);
    if (one_in(4))
        *data = datum_of(m, k);
    CHECK(record_of(m, *data) == k); /* moved, perhaps, and there */
    return leave(verdict());
}

static int
on_dealloc(struct model_profile *m, uintptr_t data, bool minor)
{
    uint32_t k = record_of(m, data);
    uint32_t id = records[k].id, request = records[k].request;
    enum kept_state was;

    record_end(k, (unsigned)(m - profiles), &was);
    CHECK(minor ? was == YOUNG : was == MOVED || was == OLD);
    check_dead(id, minor, request);
    enter(minor ? DEALLOC_MINOR : DEALLOC_MAJOR);
    return leave(one_in(50) ? -200 : 0);
}

static int
dealloc_minor(void *arg, uintptr_t data)
{
    return on_dealloc(arg, data, true);
}

static int
dealloc_major(void *arg, uintptr_t data)
{
    return on_dealloc(arg, data, false);
}

static void
on_release(void *arg, uintptr_t data)
{
    struct model_profile *m = arg;
    enum kept_state was;

    record_end(record_of(m, data), (unsigned)(m - profiles), &was);
    atomic_fetch_add(&seen.events[RELEASE], 1);
}

struct alq_tracker
judge_of(struct model_profile *m)
{
    return (struct alq_tracker){
        .alloc_minor = alloc_minor,
        .alloc_major = alloc_major,
        .promote = on_promote,
        .dealloc_minor = dealloc_minor,
        .dealloc_major = dealloc_major,
        .release = on_release,
        .arg = m,
        .flags = m->values ? ALQ_TRACKER_VALUES : 0,
    };
}
