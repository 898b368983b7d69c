/* live_graph.c -- see live_graph.h */
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#include "heap/major_cycle.h"

#include "domains_kit.h"
#include "live_graph.h"

enum {
    SLOTS = 120,
    REFS = 4, /* fields of a block, places, keys; an ephemeron's [0]: data */
    OBJECTS = 1 << 18
};

enum kind { BLOCK, WEAK, EPHE };

struct object {
    enum kind kind;
    uint32_t ref[REFS]; /* numbers; 0: none */
    unsigned first_due;
    unsigned last_due;
    bool gone;
    uint32_t walk;  /* reached in */
    uint32_t asked; /* in which walk a weak place was looked at */
    bool is_full;   /* what that said */
    alq_value at;
};

static struct object objects[OBJECTS];
static uint32_t n_objects, walk, n_todo, n_ephes, n_calls, n_emptied;
static uint32_t todo[OBJECTS], ephes[OBJECTS];
static unsigned n_domains;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the model */

/* Roots of a domain. */
struct roots {
    alq_value slots[SLOTS];
    uint32_t held[SLOTS];
    alq_value *top;
    struct alq_range range;
};

static struct roots roots[GRAPH_DOMAINS];

static __thread struct alq_domain *graph_on;
static __thread struct roots *mine;
static __thread uint64_t seed;
static __thread bool runs_by_itself;

static uint32_t
rnd(uint32_t n)
{
    seed += 0x9E3779B97F4A7C15u;
    return (uint32_t)(alqi_base_mix(seed) % n);
}

static void
hold(unsigned i, alq_value v, uint32_t id)
{
    mine->slots[i] = v;
    mine->held[i] = id;
}

/* ---- one at a time ------------------------------------------------------ */

/* Whoever has the lock makes no call that may collect, so that the model and
 * the heap change together. */
static void
graph_lock(void)
{
    if (pthread_mutex_trylock(&lock) == 0)
        return;
    {
        ALQ_BLOCKING(graph_on, blocks);

        pthread_mutex_lock(&lock);
    }
}

static void
graph_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* ---- blocks ------------------------------------------------------------- */

static uint32_t
id_of(alq_value v)
{
    if (alq_weak_length(v) > 0)
        return (uint32_t)alq_to_int(alq_weak_get(graph_on, v, 0));
    if (alq_ephe_length(v) > 0)
        return (uint32_t)alq_to_int(alq_ephe_get_key(graph_on, v, 0));
    return (uint32_t)alq_to_int(alq_field(v, 0));
}

/* Of an ephemeron, ref 0 is the data. */
static bool
is_full(uint32_t id, unsigned i)
{
    alq_value v = objects[id].at;

    if (objects[id].kind == WEAK)
        return alq_weak_check(graph_on, v, i + 1);
    return i == 0 ? alq_ephe_check_data(graph_on, v)
                  : alq_ephe_check_key(graph_on, v, i);
}

static alq_value
get(enum kind kind, alq_value v, unsigned i)
{
    if (kind == BLOCK)
        return alq_field(v, i + 1);
    if (kind == WEAK)
        return alq_weak_get(graph_on, v, i + 1);
    return i == 0 ? alq_ephe_get_data(graph_on, v)
                  : alq_ephe_get_key(graph_on, v, i);
}

static void
set(enum kind kind, alq_value block, unsigned i, alq_value v)
{
    enum alq_status st = ALQ_OK;

    if (kind == BLOCK)
        alq_store(graph_on, block, i + 1, v == ALQ_NULL ? ALQ_UNIT : v);
    else if (kind == WEAK)
        st = alq_weak_set(graph_on, block, i + 1, v);
    else if (i == 0)
        st = alq_ephe_set_data(graph_on, block, v);
    else
        st = alq_ephe_set_key(graph_on, block, i, v);
    CHECK((st) == (ALQ_OK));
}

/* ---- the model ---------------------------------------------------------- */

static void
reach(uint32_t id, alq_value v)
{
    struct object *o = &objects[id];

    if (id == 0)
        return;
    CHECK(alq_is_block(v));
    CHECK((id_of(v)) == (id));
    CHECK(!o->gone);
    if (o->walk == walk) {
        CHECK((o->at) == (v));
        return;
    }
    o->walk = walk;
    o->at = v;
    todo[n_todo++] = id;
}

static bool
keys_live(const struct object *o)
{
    unsigned i;

    for (i = 1; i < REFS; i++)
        if (o->ref[i] != 0 && objects[o->ref[i]].walk != walk)
            return false;
    return true;
}

static void
reach_all(void)
{
    uint32_t i, k;
    bool again = true;

    walk++;
    n_todo = n_ephes = 0;
    for (k = 0; k < n_domains; k++)
        for (i = 0; i < SLOTS; i++)
            reach(roots[k].held[i], roots[k].slots[i]);
    while (again) {
        while (n_todo > 0) {
            struct object *o = &objects[todo[--n_todo]];

            if (o->kind == EPHE)
                ephes[n_ephes++] = (uint32_t)(o - objects);
            for (i = 0; o->kind == BLOCK && i < REFS; i++)
                reach(o->ref[i], alq_field(o->at, i + 1));
        }
        again = false;
        for (k = i = 0; i < n_ephes; i++) {
            struct object *o = &objects[ephes[i]];

            if (!keys_live(o)) {
                ephes[k++] = ephes[i];
                continue;
            }
            if (o->ref[0] != 0)
                reach(o->ref[0], alq_ephe_get_data(graph_on, o->at));
            again |= n_todo > 0;
        }
        n_ephes = k;
    }
}

/* A weak place or key, and what other places say. */
static void
check_place(uint32_t id, unsigned i)
{
    struct object *o = &objects[id], *to = &objects[o->ref[i]];
    bool full = is_full(id, i);

    if (to->walk == walk) {
        CHECK(full);
        CHECK((get(o->kind, o->at, i)) == (to->at));
        return;
    }
    if (to->asked == walk)
        CHECK((to->is_full) == (full));
    to->asked = walk;
    to->is_full = full;
    if (full) {
        CHECK(!to->gone);
        return;
    }
    CHECK((to->first_due) == (0));
    to->gone = true;
    n_emptied++;
    o->ref[i] = 0;
    if (o->kind == EPHE) {
        CHECK(!alq_ephe_check_data(graph_on, o->at));
        o->ref[0] = 0;
    }
}

static void
check_locked(void)
{
    uint32_t id;
    unsigned i;

    reach_all();
    for (id = 1; id <= n_objects; id++) {
        struct object *o = &objects[id];

        if (o->walk != walk || o->kind == BLOCK)
            continue;
        for (i = o->kind == EPHE; i < REFS; i++)
            if (o->ref[i] != 0)
                check_place(id, i);
        if (o->kind == EPHE && o->ref[0] != 0)
            CHECK(alq_ephe_check_data(graph_on, o->at));
    }
}

/* What an ephemeron or weak array has lost, before it is written. */
static void
look_again(uint32_t id, alq_value v)
{
    struct object *o = &objects[id];
    unsigned i;

    o->at = v;
    for (i = o->kind == EPHE; o->kind != BLOCK && i < REFS; i++)
        if (o->ref[i] != 0 && !is_full(id, i)) {
            objects[o->ref[i]].gone = true;
            o->ref[i] = 0;
            if (o->kind == EPHE)
                o->ref[0] = 0;
        }
}

/* ---- finalisers --------------------------------------------------------- */

static enum alq_status
first_call(struct alq_domain *domain, alq_value v, alq_value with)
{
    ALQ_FRAME(domain, f, v);
    uint32_t id = (uint32_t)alq_to_int(with);

    CHECK(domain == graph_on);
    f.v = v;
    graph_lock();
    n_calls++;
    CHECK(id_of(f.v) == id);
    CHECK(!objects[id].gone);
    CHECK(objects[id].first_due > 0);
    objects[id].first_due--;
    if (rnd(3) == 0)
        hold(rnd(SLOTS), f.v, id); /* it lives on */
    graph_unlock();
    if (rnd(20) == 0)
        CHECK(alq_gc_minor(domain) == ALQ_OK);
    return ALQ_OK;
}

static enum alq_status
last_call(struct alq_domain *domain, alq_value v, alq_value with)
{
    uint32_t id = (uint32_t)alq_to_int(with);

    graph_lock();
    n_calls++;
    CHECK(v == ALQ_UNIT);
    CHECK(objects[id].first_due == 0);
    CHECK(objects[id].last_due > 0);
    objects[id].last_due--;
    objects[id].gone = true;
    graph_unlock();
    if (rnd(20) == 0)
        CHECK(alq_gc_major_slice(domain, 100) == ALQ_OK);
    return ALQ_OK;
}

/* ---- steps -------------------------------------------------------------- */

static uint32_t
pick(alq_value *v)
{
    const struct roots *from = rnd(3) ? mine : &roots[rnd(n_domains)];
    unsigned i = rnd(SLOTS), depth = rnd(6), f;
    uint32_t id = from->held[i];

    *v = id == 0 ? ALQ_NULL : from->slots[i];
    while (depth-- > 0 && id != 0) {
        f = rnd(REFS);
        if (objects[id].kind != BLOCK || objects[id].ref[f] == 0)
            break;
        id = objects[id].ref[f];
        *v = alq_field(*v, f + 1);
    }
    return id;
}

static alq_value
block_new(enum kind kind)
{
    bool is_large = rnd(50) == 0;

    if (kind == BLOCK)
        return alq_alloc(graph_on, is_large ? 400 : REFS + 1, 0);
    if (kind == WEAK)
        return alq_weak_create(graph_on, is_large ? 400 : REFS + 1);
    return alq_ephe_create(graph_on, REFS);
}

static void
step_new(void)
{
    enum kind kind = (enum kind)rnd(3);
    ALQ_FRAME(graph_on, f, v);
    struct object *o;
    alq_value to;
    uint32_t id;
    unsigned i;

    f.v = block_new(kind);
    CHECK(f.v != ALQ_NULL);
    graph_lock();
    id = ++n_objects;
    o = &objects[id];
    CHECK(id < OBJECTS - 1);
    memset(o, 0, sizeof *o);
    o->kind = kind;
    if (kind == BLOCK)
        alq_init(graph_on, f.v, 0, alq_from_int(id));
    else if (kind == WEAK)
        alq_weak_set(graph_on, f.v, 0, alq_from_int(id));
    else
        alq_ephe_set_key(graph_on, f.v, 0, alq_from_int(id));
    for (i = 0; i < REFS; i++) {
        o->ref[i] = rnd(3) ? pick(&to) : 0;
        if (o->ref[i] != 0)
            set(kind, f.v, i, to);
    }
    hold(rnd(SLOTS), f.v, id);
    graph_unlock();
}

static void
step_set(void)
{
    alq_value v, to;
    uint32_t id = pick(&v), with = pick(&to);
    unsigned i = rnd(REFS);

    if (id == 0)
        return;
    look_again(id, v);
    objects[id].ref[i] = with;
    set(objects[id].kind, v, i, to);
}

static void
step_get(void)
{
    alq_value v, got;
    uint32_t id = pick(&v);
    unsigned i = rnd(REFS);

    if (id == 0 || objects[id].kind == BLOCK)
        return;
    look_again(id, v);
    got = get(objects[id].kind, v, i);
    CHECK((got == ALQ_NULL) == (objects[id].ref[i] == 0));
    if (got == ALQ_NULL)
        return;
    CHECK((id_of(got)) == (objects[id].ref[i]));
    hold(rnd(SLOTS), got, objects[id].ref[i]);
}

/* From one weak array or ephemeron to another, perhaps the same. */
static void
step_blit(void)
{
    alq_value a, b;
    uint32_t from = pick(&a), to = pick(&b), moved[REFS];
    unsigned i, j, n;
    struct object *o = &objects[to];

    if (from == 0 || to == 0 || o->kind == BLOCK ||
        objects[from].kind != o->kind)
        return;
    look_again(from, a);
    look_again(to, b);
    i = 1 + rnd(REFS - 1);
    j = 1 + rnd(REFS - 1);
    n = rnd(REFS - (i > j ? i : j) + 1);
    memcpy(moved, &objects[from].ref[i], n * sizeof moved[0]);
    memcpy(&o->ref[j], moved, n * sizeof moved[0]);
    if (o->kind == WEAK) {
        CHECK((alq_weak_blit(graph_on, a, i + 1, b, j + 1, n)) == (ALQ_OK));
        return;
    }
    CHECK((alq_ephe_blit_key(graph_on, a, i, b, j, n)) == (ALQ_OK));
    if (rnd(2)) {
        o->ref[0] = objects[from].ref[0];
        CHECK((alq_ephe_blit_data(graph_on, a, b)) == (ALQ_OK));
    }
}

static void
step_finalise(void)
{
    alq_value v;
    uint32_t id = pick(&v);

    if (id == 0)
        return;
    if (rnd(2)) {
        objects[id].first_due++;
        CHECK((alq_gc_finalise(graph_on, v, first_call, alq_from_int(id))) ==
              (ALQ_OK));
    } else {
        objects[id].last_due++;
        CHECK((alq_gc_finalise_last(graph_on, v, last_call,
                                    alq_from_int(id))) == (ALQ_OK));
    }
}

/* The minor heap fills up, so that slices come in the midst of it. */
static void
step_garbage(void)
{
    unsigned i, n = rnd(60);

    for (i = 0; i < n; i++)
        CHECK((alq_alloc(graph_on, rnd(20), 0)) != (ALQ_NULL));
}

/* Also without the minor collection that a call would begin with. */
static void
step_slice(void)
{
    size_t n = 1 + rnd(rnd(3) ? 12 : 200);

    if (rnd(2))
        alqi_heap_slice(alqi_heap_domain(graph_on), n);
    else
        CHECK(alq_gc_major_slice(graph_on, n) == ALQ_OK);
}

/* Others do this domain's work. */
static void
step_away(void)
{
    ALQ_BLOCKING(graph_on, blocks);

    sched_yield();
}

static void
step_hold(bool drop)
{
    alq_value v;
    uint32_t id = pick(&v);

    hold(rnd(SLOTS), drop ? ALQ_UNIT : v, drop ? 0 : id);
}

static void
use_locked(uint32_t which)
{
    graph_lock();
    if (which < 450)
        step_set();
    else if (which < 550)
        step_get();
    else if (which < 620)
        step_blit();
    else if (which < 660)
        step_finalise();
    else
        step_hold(which >= 760);
    graph_unlock();
}

void
graph_step(void)
{
    uint32_t which = rnd(1000);

    if (which < 250)
        step_new();
    else if (which < 860)
        use_locked(which);
    else if (which < 870 && n_domains > 1)
        step_away();
    else if (which < 975 && runs_by_itself)
        step_garbage();
    else if (which < 975)
        step_slice();
    else if (runs_by_itself && rnd(50) != 0)
        return;
    else if (which < 990)
        CHECK(alq_gc_minor(graph_on) == ALQ_OK);
    else if (which < 998)
        CHECK(alq_gc_major(graph_on) == ALQ_OK);
    else if (n_domains == 1)
        graph_settle();
}

/* ---- the whole ---------------------------------------------------------- */

void
graph_check(void)
{
    graph_lock();
    check_locked();
    graph_unlock();
}

void
graph_settle(void)
{
    uint32_t before, id;
    unsigned i;

    do {
        before = n_calls;
        CHECK((rnd(2) ? alq_gc_full_major(graph_on)
                      : alq_gc_compact(graph_on)) == ALQ_OK);
    } while (n_calls != before);
    graph_check();
    for (id = 1; id <= n_objects; id++) {
        struct object *o = &objects[id];

        if (o->walk != walk) {
            CHECK(o->first_due + o->last_due == 0);
            o->gone = true;
            continue;
        }
        for (i = 0; o->kind != BLOCK && i < REFS; i++)
            CHECK(o->ref[i] == 0 || objects[o->ref[i]].walk == walk);
    }
}

void
graph_reset(unsigned domains)
{
    n_domains = domains;
    n_objects = walk = n_calls = n_emptied = 0;
    memset(roots, 0, sizeof roots);
    memset(objects, 0, sizeof objects);
}

void
graph_enter(struct alq_domain *on, unsigned i, uint64_t with_seed,
            bool by_itself)
{
    graph_on = on;
    seed = with_seed;
    runs_by_itself = by_itself;
    mine = &roots[i];
    mine->top = mine->slots + SLOTS;
    mine->range = (struct alq_range){mine->slots, &mine->top, NULL, NULL};
    CHECK(alq_range_add(on, &mine->range) == ALQ_OK);
}

void
graph_drop(void)
{
    graph_lock();
    memset(mine->slots, 0, sizeof mine->slots);
    memset(mine->held, 0, sizeof mine->held);
    graph_unlock();
}

void
graph_leave(void)
{
    graph_drop();
    alq_range_remove(graph_on, &mine->range);
}

uint32_t
graph_calls(void)
{
    return n_calls;
}

uint32_t
graph_emptied(void)
{
    return n_emptied;
}
