/* calls_short_test.c -- domains, weak references, finalisers, observers, roots
 * and messages, while each call for memory fails in turn
 *
 * Nothing but ALQ_ENOMEM comes of it; what was registered is called, what was
 * begun can be ended, and afterwards all works.  Allocation itself and the Gc
 * module are gc_short_test's and heap_short_test's. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/base.h"
#include "refuse.h"

/* On any thread. */
#define CHECK(e) ((e) ? (void)0 : alqi_base_fail(__FILE__, __LINE__, #e))

static struct alq_domain *d;
static unsigned n_short;      /* calls that said ALQ_ENOMEM */
static unsigned n_registered; /* finalisers                 */
static unsigned n_finalised;
static unsigned n_rung;
static FILE *nowhere;

static bool
is_done(enum alq_status status)
{
    CHECK(status == ALQ_OK || status == ALQ_ENOMEM);
    n_short += status == ALQ_ENOMEM;
    return status == ALQ_OK;
}

/* A value, or no memory. */
static bool
is_made(alq_value v)
{
    if (!alq_is_null(v)) {
        CHECK(alq_status_of(d) == ALQ_OK);
        return true;
    }
    CHECK(alq_status_of(d) == ALQ_ENOMEM);
    alq_status_clear(d);
    n_short++;
    return false;
}

/* A list of n cells, or as many as there is memory for. */
static alq_value
list(struct alq_domain *on, unsigned n)
{
    ALQ_FRAME(on, f, list);
    alq_value cell;

    f.list = ALQ_UNIT;
    for (; n > 0; n--) {
        cell = alq_alloc(on, 2, 0);
        if (alq_is_null(cell)) {
            CHECK(alq_status_of(on) == ALQ_ENOMEM);
            alq_status_clear(on);
            break;
        }
        alq_init(on, cell, 0, alq_from_int(7));
        alq_init(on, cell, 1, f.list);
        f.list = cell;
    }
    return f.list;
}

static void
list_check(alq_value v)
{
    for (; !alq_is_same(v, ALQ_UNIT); v = alq_field(v, 1))
        CHECK(alq_is_same(alq_field(v, 0), alq_from_int(7)));
}

/* ---- domains and threads ------------------------------------------------ */

static alq_value
child(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, arg, list);

    (void)data;
    f.arg = arg;
    f.list = list(on, 300);
    list_check(f.arg);
    list_check(f.list);
    return f.list;
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*fn)(void *), void *arg);

int
__wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                      void *(*fn)(void *), void *arg)
{
    return refuse_one() ? 11 /* EAGAIN */
                        : __real_pthread_create(thread, attr, fn, arg);
}

static void *
visit(void *arg)
{
    struct alq_thread *thread = NULL;

    (void)arg;
    if (is_done(alq_thread_attach(d, &thread))) {
        list_check(list(d, 50));
        CHECK(alq_thread_detach(thread) == ALQ_OK);
    }
    return NULL;
}

static void
domains(void)
{
    ALQ_FRAME(d, f, list, result);
    struct alq_child *c = NULL;
    pthread_t thread;
    int i;

    for (i = 0; i < 3; i++) {
        f.list = list(d, 20);
        if (is_done(alq_domain_spawn(d, child, f.list, NULL, NULL, &c))) {
            CHECK(alq_domain_join(d, c, &f.result) == ALQ_OK);
            list_check(f.result);
            alq_child_drop(c);
        }
        list_check(f.list);
    }
    CHECK(__real_pthread_create(&thread, NULL, visit, NULL) == 0);
    {
        ALQ_BLOCKING(d, blocks);
        pthread_join(thread, NULL);
    }
}

/* ---- weak references, finalisers ---------------------------------------- */

static void
weak(void)
{
    ALQ_FRAME(d, f, held, weak, ephe, keys[2], copy);
    unsigned i;

    f.held = list(d, 3);
    for (i = 0; i < 3; i++) {
        f.weak = alq_weak_create(d, i == 0 ? 2 : 600);
        if (is_made(f.weak)) {
            CHECK(alq_weak_set(d, f.weak, 0, f.held) == ALQ_OK);
            CHECK(alq_weak_fill(d, f.weak, 1, 1, f.held) == ALQ_OK);
            CHECK(alq_weak_blit(d, f.weak, 0, f.weak, 1, 1) == ALQ_OK);
            f.copy = alq_weak_get_copy(d, f.weak, 0);
            if (!alq_is_same(f.held, ALQ_UNIT) && is_made(f.copy))
                CHECK(alq_is_same(alq_field(f.copy, 0), alq_from_int(7)));
            CHECK(alq_is_same(alq_weak_get(d, f.weak, 1), f.held));
        }
        f.keys[0] = f.keys[1] = f.held;
        f.ephe = alq_ephe_make(d, 2, f.keys, list(d, 2));
        if (is_made(f.ephe)) {
            CHECK(alq_is_same(alq_ephe_query(d, f.ephe, 2, f.keys),
                              alq_ephe_get_data(d, f.ephe)));
            f.copy = alq_ephe_get_key_copy(d, f.ephe, 1);
            if (!alq_is_same(f.held, ALQ_UNIT))
                is_made(f.copy);
        }
        is_made(alq_ephe_create(d, 300));
        CHECK(alq_gc_major(d) != ALQ_ESTATE);
        if (!alq_is_null(f.weak))
            CHECK(alq_is_same(alq_weak_get(d, f.weak, 0), f.held));
    }
}

static enum alq_status
finalised(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)on;
    (void)v;
    CHECK(alq_is_same(with, alq_from_int(3)));
    n_finalised++;
    return ALQ_OK;
}

static enum alq_status
rings(struct alq_domain *on, void *arg)
{
    (void)on;
    ++*(unsigned *)arg;
    return ALQ_OK;
}

static void
finalisers(void)
{
    struct alq_alarm *alarms[3] = {NULL};
    ALQ_FRAME(d, f, block);
    unsigned i;

    for (i = 0; i < 3; i++)
        is_done(alq_gc_create_alarm(d, rings, &n_rung, &alarms[i]));
    for (i = 0; i < 200; i++) {
        f.block = alq_alloc(d, 2, 0);
        if (!is_made(f.block))
            continue;
        n_registered += is_done(
            i % 2 == 0
                ? alq_gc_finalise(d, f.block, finalised, alq_from_int(3))
                : alq_gc_finalise_last(d, f.block, finalised, alq_from_int(3)));
        if (i % 50 == 49)
            is_done(alq_gc_minor(d));
    }
    is_done(alq_gc_full_major(d));
    for (i = 0; i < 3; i++)
        alq_gc_delete_alarm(&alarms[i]);
}

/* ---- observers ---------------------------------------------------------- */

static void
hear(void *arg, const struct alq_event *event)
{
    (void)event;
    ++*(unsigned *)arg;
}

static int
count_row(void *arg, const struct alq_census_row *row)
{
    *(uint64_t *)arg += row->blocks;
    return 0;
}

static void
observers(void)
{
    static const struct alq_custom_ops kinds[] = {{"a"}, {"b"}, {"c"}};
    char path[] = "/tmp/aliquot-short-XXXXXX";
    unsigned n_heard = 0, i;
    struct alq_listener listener = {hear, &n_heard, 0};
    uint64_t blocks = 0;
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    close(fd);
    unlink(path);
    CHECK(alq_listener_add(d, &listener) == ALQ_OK); /* no memory */
    is_done(alq_gc_minor(d));
    if (is_done(alq_gc_trace_start(d, path))) {
        is_done(alq_gc_major(d));
        CHECK(alq_gc_trace_stop(d, NULL) == ALQ_OK);
        unlink(path);
    }
    for (i = 0; i < 18; i++) /* two of each kind and size */
        is_made(alq_alloc_custom(d, &kinds[i % 3], 8 << i / 3 % 3));
    if (is_done(alq_census_take(d, count_row, &blocks)))
        CHECK(blocks > 0);
    is_done(alq_census_print(d, nowhere));
    CHECK(alq_listener_remove(d, &listener) == ALQ_OK);
    CHECK(n_heard > 0);
}

/* ---- roots, messages, compaction ---------------------------------------- */

static void
roots(void)
{
    enum { N = 600 }; /* more than a page */
    static struct alq_root *all[N];
    unsigned i;

    for (i = 0; i < N; i++) {
        alq_value v = alq_alloc(d, 1, 0);

        all[i] = NULL;
        if (!is_made(v))
            continue;
        all[i] = alq_root_new(d, v);
        n_short += all[i] == NULL;
        if (all[i] != NULL && i % 40 == 0 && is_done(alq_pin(d, v)))
            CHECK(alq_unpin(d, alq_root_get(all[i])) == ALQ_OK);
    }
    is_done(alq_gc_minor(d));
    for (i = 0; i < N; i++)
        if (all[i] != NULL) {
            CHECK(alq_is_same(alq_field(alq_root_get(all[i]), 0), ALQ_UNIT));
            alq_root_drop(d, all[i]);
        }
}

struct bytes {
    const char *at;
    size_t left;
};

static enum alq_status
read_bytes(void *arg, void *to, size_t n)
{
    struct bytes *from = arg;

    CHECK(n <= from->left);
    memcpy(to, from->at, n);
    from->at += n;
    from->left -= n;
    return ALQ_OK;
}

static void
messages(void)
{
    ALQ_FRAME(d, f, v, back);
    void *memory = NULL;
    uint64_t size = 0;
    size_t n = 0;

    f.v = list(d, 1200);
    if (!is_done(alq_marshal_size(d, f.v, NULL, &size)) ||
        !is_done(alq_marshal_to_memory(d, f.v, NULL, &memory, &n)))
        return;
    CHECK(n == size);
    if (is_done(alq_unmarshal(d, memory, n, NULL, NULL, &f.back)))
        list_check(f.back);
    alq_status_clear(d);
    {
        struct bytes from = {memory, n};

        if (is_done(alq_unmarshal_read(d, read_bytes, &from, NULL, &f.back)))
            list_check(f.back);
        alq_status_clear(d);
    }
    list_check(f.v);
    free(memory);
}

static void
compaction(void)
{
    ALQ_FRAME(d, f, list);

    f.list = list(d, 2000);
    is_done(alq_gc_compact(d));
    list_check(f.list);
}

/* ---- the sweep ---------------------------------------------------------- */

static void (*const parts[])(void) = {domains, weak,     finalisers, observers,
                                      roots,   messages, compaction};

/* One run of a part in which calls from `from` on fail; how many there were. */
static uint64_t
run(unsigned part, uint64_t from, uint64_t n)
{
    struct alq_domain_config config = {8192, 50, 0, 65536, 0};
    uint64_t calls;

    n_registered = n_finalised = 0;
    CHECK(alq_domain_new(&config, &d) == ALQ_OK);
    refuse_begin(from, n);
    parts[part]();
    refuse.armed = false;
    calls = refuse.calls;
    alq_status_clear(d);
    from = n_short;
    parts[part](); /* as if nothing had happened */
    CHECK(n_short == from);
    CHECK(alq_gc_full_major(d) == ALQ_OK);
    CHECK(n_finalised == n_registered);
    CHECK(alq_domain_drop(d) == ALQ_OK);
    return calls;
}

static void
each_call_fails_once_and_for_good(void **state)
{
    static const uint64_t lengths[] = {1, UINT64_MAX / 2};
    uint64_t all, k;
    unsigned part, before;
    size_t i;

    (void)state;
    for (part = 0; part < ALQI_COUNT_OF(parts); part++) {
        all = run(part, 0, 0);
        before = n_short;
        for (i = 0; i < ALQI_COUNT_OF(lengths); i++)
            for (k = 1; k <= all; k++)
                run(part, k, lengths[i]);
        print_message("part %u: %ju calls, %u refused\n", part, (uintmax_t)all,
                      n_short - before);
        assert_true(all > 0);
        assert_true(n_short > before ||
                    parts[part] == compaction); /* it needs none */
    }
    assert_true(n_rung > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_fails_once_and_for_good),
    };

    unsetenv("ALIQUOTPARAM");
    nowhere = fopen("/dev/null", "w");
    return nowhere == NULL || cmocka_run_group_tests(tests, NULL, NULL);
}
