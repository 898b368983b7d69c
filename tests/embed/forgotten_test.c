/* forgotten_test.c -- hard: a root that was forgotten faults at its next use
 *
 * For each call that may collect, each in a process of its own: a variable
 * leads to a block and is no root, the call comes, the variable is used. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/base.h"

enum { IS_HARD = ALQI_CHECKS >= 3, NUMBER = 42 };

static struct alq_domain *d;
static const struct alq_custom_ops ops = {"forgotten", NULL};

/* ---- what is kept, and what is not -------------------------------------- */

/* A block that leads to a number by another one. */
static alq_value
make(void)
{
    ALQ_FRAME(d, f, inner);
    alq_value v;

    f.inner = alq_alloc(d, 1, 0);
    alq_init(d, f.inner, 0, alq_from_int(NUMBER));
    v = alq_alloc_small(d, 3, 0);
    alq_init_small(v, 0, f.inner);
    alq_init_small(v, 1, ALQ_UNIT);
    alq_init_small(v, 2, ALQ_UNIT);
    return v;
}

static ALQI_NOINLINE void
use(alq_value v)
{
    if (alq_to_int(alq_field(alq_field(v, 0), 0)) != NUMBER)
        abort();
}

/* ---- each call that may collect ----------------------------------------- */

static const uintptr_t headers[] = {ALQ_HEADER(1, 0), ALQ_HEADER(2, 0)};
static struct alq_global weak, ephe, key; /* each of the first holds the last */
static void *message;
static size_t message_bytes;

static void
small(void)
{
    alq_value v = alq_alloc_small(d, 1, 0);

    alq_init_small(v, 0, ALQ_UNIT);
}

static void
several(void)
{
    alq_value out[2];

    alq_alloc_several(d, 2, headers, out);
    alq_init_small(out[0], 0, ALQ_UNIT);
    alq_init_small(out[1], 0, ALQ_UNIT);
    alq_init_small(out[1], 1, ALQ_UNIT);
}

#define CALL(name, call)                                                       \
    static void name(void)                                                     \
    {                                                                          \
        (void)(call);                                                          \
    }
CALL(any, alq_alloc(d, 3, 0))
CALL(large, alq_alloc(d, 3000, 0))
CALL(string, alq_alloc_string(d, 30))
CALL(copy, alq_string_copy(d, "text", 4))
CALL(doubles, alq_alloc_double_array(d, 3))
CALL(a_double, alq_alloc_double(d, 1.5))
CALL(custom, alq_alloc_custom(d, &ops, 8))
CALL(custom_mem, alq_alloc_custom_mem(d, &ops, 8, 100))
CALL(custom_ratio, alq_alloc_custom_ratio(d, &ops, 8, 1, 100))
CALL(new_weak, alq_weak_create(d, 2))
CALL(new_ephe, alq_ephe_create(d, 2))
CALL(weak_copy, alq_weak_get_copy(d, weak.value, 0))
CALL(key_copy, alq_ephe_get_key_copy(d, ephe.value, 0))
CALL(data_copy, alq_ephe_get_data_copy(d, ephe.value))
CALL(minor, alq_gc_minor(d))
CALL(slice, alq_gc_major_slice(d, 0))
CALL(major, alq_gc_major(d))
CALL(full_major, alq_gc_full_major(d))
CALL(compact, alq_gc_compact(d))
CALL(yield, alq_thread_yield(d))

static void
poll(void)
{
    alq_poll(d);
}

static void
ephe_of_two(void)
{
    ALQ_FRAME(d, f, keys[2]);

    f.keys[0] = f.keys[1] = ALQ_UNIT;
    (void)alq_ephe_make(d, 2, f.keys, ALQ_UNIT);
}

static void
unmarshal(void)
{
    alq_value v;

    if (alq_unmarshal(d, message, message_bytes, NULL, NULL, &v) != ALQ_OK)
        _exit(5);
}

static void
blocking(void)
{
    ALQ_BLOCKING(d, blocks);
}

static alq_value
nothing(struct alq_domain *on, alq_value arg, void *data)
{
    (void)on;
    (void)data;
    return arg;
}

static void
spawn(void)
{
    struct alq_child *child;

    if (alq_domain_spawn(d, nothing, ALQ_UNIT, NULL, NULL, &child) != ALQ_OK)
        _exit(5);
}

static _Atomic(int) is_joining;

/* One that runs until it is joined, and a while longer, so that the join
 * waits. */
static alq_value
wait_a_while(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_BLOCKING(on, blocks);

    (void)data;
    while (!atomic_load(&is_joining))
        usleep(100);
    usleep(20000);
    return arg;
}

static struct alq_child *waiting;

static void
join(void)
{
    atomic_store(&is_joining, 1);
    if (alq_domain_join(d, waiting, NULL) != ALQ_OK)
        _exit(5);
}

#define ROW(name)                                                              \
    {                                                                          \
#name, name                                                            \
    }
static const struct {
    const char *name;
    void (*call)(void);
} calls[] = {
    ROW(small),     ROW(several),     ROW(any),          ROW(large),
    ROW(string),    ROW(copy),        ROW(doubles),      ROW(a_double),
    ROW(custom),    ROW(custom_mem),  ROW(custom_ratio), ROW(new_weak),
    ROW(new_ephe),  ROW(ephe_of_two), ROW(weak_copy),    ROW(key_copy),
    ROW(data_copy), ROW(unmarshal),   ROW(poll),         ROW(minor),
    ROW(slice),     ROW(major),       ROW(full_major),   ROW(compact),
    ROW(yield),     ROW(blocking),    ROW(spawn),        ROW(join),
};

/* ---- each kind of variable ---------------------------------------------- */

typedef void call_fn(void);

static void
young_local(call_fn *call)
{
    alq_value v = make();

    call();
    use(v);
}

/* Of a block that a root holds, whose root is not asked again. */
static void
old_local(call_fn *call)
{
    ALQ_FRAME(d, f, root);
    alq_value v;

    f.root = make();
    if (alq_gc_full_major(d) != ALQ_OK)
        _exit(5);
    v = f.root;
    call();
    use(v);
}

/* Read from a field of an old block: no root leads to it directly. */
static void
field_local(call_fn *call)
{
    ALQ_FRAME(d, f, root);
    alq_value inner;

    f.root = make();
    if (alq_gc_full_major(d) != ALQ_OK)
        _exit(5);
    inner = alq_field(f.root, 0);
    call();
    if (alq_to_int(alq_field(inner, 0)) != NUMBER)
        abort();
}

static void
interior_local(call_fn *call)
{
    ALQ_FRAME(d, f, text);
    const volatile char *chars;

    f.text = alq_string_copy(d, "0123456789", 10);
    if (alq_gc_full_major(d) != ALQ_OK)
        _exit(5);
    chars = alq_string_chars(f.text) + 4;
    call();
    if (*chars != '4')
        abort();
}

/* In a structure of the stack, whose address is known elsewhere. */
static alq_value *volatile elsewhere;

static void
in_a_structure(call_fn *call)
{
    struct {
        int kind;
        alq_value value;
    } s = {1, make()};

    elsewhere = &s.value;
    call();
    use(*elsewhere);
}

static alq_value kept_in_static;

static void
in_a_static(call_fn *call)
{
    kept_in_static = make();
    call();
    if (call == spawn || call == yield || call == blocking || call == join)
        small(); /* they collect in other threads alone */
    use(kept_in_static);
}

static void
in_malloc(call_fn *call)
{
    alq_value *box = malloc(sizeof *box);

    *box = make();
    call();
    if (call == spawn || call == yield || call == blocking || call == join)
        small();
    use(*box);
}

/* A slot of a frame that has ended. */
static alq_value *
slot_of_an_ended_frame(void)
{
    ALQ_FRAME(d, f, root);

    f.root = make();
    kept_in_static = f.root;
    return &kept_in_static;
}

static void
after_the_frame(call_fn *call)
{
    alq_value v = *slot_of_an_ended_frame();

    call();
    use(v);
}

/* Got from a weak reference. */
static void
from_a_weak_array(call_fn *call)
{
    ALQ_FRAME(d, f, array, kept);
    alq_value v;

    f.kept = make();
    f.array = alq_weak_create(d, 1);
    if (alq_weak_set(d, f.array, 0, f.kept) != ALQ_OK)
        _exit(5);
    f.kept = ALQ_UNIT;
    v = alq_weak_get(d, f.array, 0);
    if (alq_is_null(v))
        _exit(6);
    call();
    use(v);
}

/* Two allocations as arguments: the first one is in a register meanwhile. */
static ALQI_NOINLINE alq_value
pair(alq_value a, alq_value b)
{
    use(a);
    use(b);
    return a;
}

static alq_value
make_after(call_fn *call)
{
    call();
    return make();
}

static void
as_an_argument(call_fn *call)
{
    pair(make_after(call), make_after(call));
}

/* A function's own argument, a root of its caller. */
static ALQI_NOINLINE void
callee(alq_value v, call_fn *call)
{
    call();
    use(v);
}

static void
the_callers_root(call_fn *call)
{
    ALQ_FRAME(d, f, root);

    f.root = make();
    callee(f.root, call);
}

static call_fn *in_finaliser;

static enum alq_status
uses_later(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)on;
    (void)with;
    in_finaliser();
    use(v);
    return ALQ_OK;
}

static void
a_finalisers_value(call_fn *call)
{
    in_finaliser = call;
    if (alq_gc_finalise(d, make(), uses_later, ALQ_UNIT) != ALQ_OK)
        _exit(5);
    (void)alq_gc_full_major(d);
}

/* Far up in the stack, when many calls have come in between. */
static ALQI_NOINLINE void
deep(call_fn *call, unsigned depth)
{
    volatile char room[512];

    room[0] = (char)depth;
    if (depth > 0)
        deep(call, depth - 1);
    else
        call();
    room[1] = room[0];
}

static void
far_up(call_fn *call)
{
    ALQ_FRAME(d, f, root);
    alq_value v;

    f.root = make();
    if (alq_gc_full_major(d) != ALQ_OK)
        _exit(5);
    v = f.root;
    deep(call, 200);
    use(v);
}

static const struct {
    const char *name;
    void (*forgets)(call_fn *call);
} places[] = {
    ROW(young_local),    ROW(old_local),        ROW(field_local),
    ROW(interior_local), ROW(in_a_structure),   ROW(in_a_static),
    ROW(in_malloc),      ROW(after_the_frame),  ROW(from_a_weak_array),
    ROW(as_an_argument), ROW(the_callers_root), ROW(a_finalisers_value),
    ROW(far_up),
};

/* ---- in a process of its own -------------------------------------------- */

static void
prepare(void)
{
    weak.value = ephe.value = key.value = ALQ_UNIT;
    if (alq_global_add(d, &weak) != ALQ_OK ||
        alq_global_add(d, &ephe) != ALQ_OK || alq_global_add(d, &key) != ALQ_OK)
        _exit(5);
    key.value = make();
    weak.value = alq_weak_create(d, 1);
    ephe.value = alq_ephe_create(d, 1);
    if (alq_weak_set(d, weak.value, 0, key.value) != ALQ_OK ||
        alq_ephe_set_key(d, ephe.value, 0, key.value) != ALQ_OK ||
        alq_ephe_set_data(d, ephe.value, key.value) != ALQ_OK ||
        alq_marshal_to_memory(d, key.value, NULL, &message, &message_bytes) !=
            ALQ_OK ||
        alq_domain_spawn(d, wait_a_while, ALQ_UNIT, NULL, NULL, &waiting) !=
            ALQ_OK)
        _exit(5);
}

/* False: it went on as if nothing had been forgotten. */
static bool
is_caught(void (*forgets)(call_fn *call), call_fn *call)
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        alarm(900);
        signal(SIGSEGV, SIG_DFL); /* cmocka's goes on */
        signal(SIGBUS, SIG_DFL);
        signal(SIGABRT, SIG_DFL);
        if (alq_domain_new(NULL, &d) != ALQ_OK)
            _exit(5);
        prepare();
        forgets(call);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGALRM)
        return true;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("status 0x%x", (unsigned)status);
    return false;
}

static void
each_is_caught(void **state)
{
    unsigned p, c, n_missed = 0;

    (void)state;
    if (!IS_HARD)
        return;
    for (p = 0; p < ALQI_COUNT_OF(places); p++)
        for (c = 0; c < ALQI_COUNT_OF(calls); c++)
            if (!is_caught(places[p].forgets, calls[c].call)) {
                print_message("%s across %s is not caught\n", places[p].name,
                              calls[c].name);
                n_missed++;
            }
    assert_int_equal(n_missed, 0);
}

/* ---- what dies, and what moves ------------------------------------------ */

/* Old, and dead. */
static void
dead_in_a_static(call_fn *call)
{
    {
        ALQ_FRAME(d, f, root);

        f.root = make();
        if (alq_gc_full_major(d) != ALQ_OK)
            _exit(5);
        kept_in_static = f.root;
    }
    call();
    use(kept_in_static);
}

/* Old, alive, and moved by compaction: of pools that are half empty those
 * blocks whose roots say so. */
static void
moved_in_a_static(call_fn *call)
{
    enum { N = 4000 };
    static alq_value before[N];
    ALQ_FRAME(d, f, table);
    unsigned i;

    f.table = alq_alloc(d, N, 0);
    for (i = 0; i < N; i++)
        alq_store(d, f.table, i, make());
    if (alq_gc_full_major(d) != ALQ_OK)
        _exit(5);
    for (i = 0; i < N; i++)
        if (i % 5 != 0)
            alq_store(d, f.table, i, ALQ_UNIT);
        else
            before[i] = alq_field(f.table, i);
    call();
    for (i = 0; i < N; i += 5)
        if (!alq_is_same(before[i], alq_field(f.table, i))) {
            use(before[i]);
            _exit(0);
        }
    _exit(7);
}

static void
what_is_gone_is_spoilt(void **state)
{
    (void)state;
    if (!IS_HARD)
        return;
    assert_true(is_caught(dead_in_a_static, full_major));
    assert_true(is_caught(dead_in_a_static, compact));
    assert_true(is_caught(moved_in_a_static, compact));
}

/* ---- what is kept ------------------------------------------------------- */

/* All kinds of roots, over all calls. */
static void
rooted(call_fn *call)
{
    ALQ_FRAME(d, f, root, text);
    alq_value on_stack[2] = {ALQ_UNIT, ALQ_UNIT}, *top = on_stack + 2;
    struct alq_range range = {.base = on_stack, .top = &top};
    struct alq_global global = {ALQ_UNIT, NULL, NULL};
    alq_value pinned = make();
    struct alq_root *box = alq_root_new(d, pinned);

    if (alq_pin(d, pinned) != ALQ_OK || alq_range_add(d, &range) != ALQ_OK ||
        alq_global_add(d, &global) != ALQ_OK)
        _exit(5);
    f.root = make();
    on_stack[0] = make();
    on_stack[1] = make();
    global.value = make();
    call();
    use(f.root);
    use(on_stack[0]);
    use(on_stack[1]);
    use(global.value);
    use(pinned);
    use(alq_root_get(box));
    alq_global_remove(d, &global);
    alq_range_remove(d, &range);
    (void)alq_unpin(d, pinned);
}

static void
what_is_rooted_is_kept(void **state)
{
    unsigned c;

    (void)state;
    for (c = 0; c < ALQI_COUNT_OF(calls); c++)
        if (is_caught(rooted, calls[c].call))
            fail_msg("roots are lost across %s", calls[c].name);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_caught),
        cmocka_unit_test(what_is_gone_is_spoilt),
        cmocka_unit_test(what_is_rooted_is_kept),
    };

    unsetenv("ALIQUOTPARAM");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
