/* rule_test.c -- each broken rule stops the program, and the line says which
 *
 * Compiled twice: as a program that asks for no checks, which the library's own
 * builds with checks stop all the same, and with ALQ_CHECKS, which any does. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/base.h"

enum {
    IS_CHECKED = ALQI_CHECKS >= 1,
    IS_HARD = ALQI_CHECKS >= 3, /* each allocation takes its slow part, which
                                   has a status for its arguments */
    ASKS = ALQ_CHECKS
};

static struct alq_domain *volatile d; /* no compiler knows that it is NULL */
static volatile uintptr_t wild;       /* what no compiler knows */
static const struct alq_custom_ops ops = {"rule", NULL};

/* ---- a program that breaks a rule --------------------------------------- */

struct rule {
    void (*breaks)(void);
    const char *function; /* that the line names */
    const char *rule;     /* what it says, a part */
    const char *advice;
    int asks; /* seen only where the program asks for checks */
};

static struct alq_domain *
started(void)
{
    struct alq_domain *new = NULL;

    if (alq_domain_new(NULL, &new) != ALQ_OK)
        _exit(2);
    return new;
}

static void
in_child(const struct rule *r, int err)
{
    alarm(900);
    dup2(err, STDERR_FILENO);
    d = started();
    r->breaks();
    _exit(3);
}

/* Where the heap's structures are checked, too, a block that is none may be
 * seen there before the library comes to look at its header. */
static bool
is_seen_by_verifier(const struct rule *r, const char *line)
{
    return ALQI_CHECKS == 2 && strcmp(r->function, "alq_alloc_small") == 0 &&
           strstr(line, "heap/verify.c") != NULL;
}

static void
is_stopped(const struct rule *r)
{
    char line[400] = "", expected[400];
    ssize_t n, room = sizeof line - 1, at = 0;
    int out[2], status;
    pid_t child;

    assert_int_equal(pipe(out), 0);
    child = fork();
    if (child == 0)
        in_child(r, out[1]);
    assert_true(child > 0);
    close(out[1]);
    while ((n = read(out[0], line + at, (size_t)(room - at))) > 0)
        at += n;
    close(out[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    snprintf(expected, sizeof expected, "aliquot: %s: ", r->function);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT ||
        (!is_seen_by_verifier(r, line) &&
         (strncmp(line, expected, strlen(expected)) != 0 ||
          strstr(line, r->rule) == NULL || strstr(line, r->advice) == NULL)))
        fail_msg("%s, %s: status 0x%x, says '%s'", r->function, r->rule,
                 (unsigned)status, line);
}

/* ---- without a domain, or the thread that runs it ----------------------- */

static void *
on_thread(void *breaks)
{
    ((void (*)(void))(uintptr_t)breaks)();
    return NULL;
}

/* While the domain's own thread blocks, as it must to wait. */
static void
unattached(void (*breaks)(void))
{
    ALQ_BLOCKING(d, blocks);
    pthread_t thread;

    if (pthread_create(&thread, NULL, on_thread, (void *)(uintptr_t)breaks) ==
        0)
        pthread_join(thread, NULL);
}

#define WAYS(NAME, call)                                                       \
    static void NAME(void)                                                     \
    {                                                                          \
        call;                                                                  \
    }                                                                          \
    static void NAME##_unattached(void)                                        \
    {                                                                          \
        unattached(NAME);                                                      \
    }                                                                          \
    static void NAME##_blocking(void)                                          \
    {                                                                          \
        ALQ_BLOCKING(d, blocks);                                               \
        NAME();                                                                \
    }                                                                          \
    static void NAME##_after_drop(void)                                        \
    {                                                                          \
        struct alq_domain *was = d;                                            \
        if (alq_domain_drop(d) == ALQ_OK) {                                    \
            d = was;                                                           \
            NAME();                                                            \
        }                                                                      \
    }                                                                          \
    static void NAME##_null(void)                                              \
    {                                                                          \
        d = NULL;                                                              \
        NAME();                                                                \
    }

static const uintptr_t headers[] = {ALQ_HEADER(1, 0), ALQ_HEADER(2, 0)};
static alq_value out_blocks[2], any;
static struct alq_root *root;
static struct alq_range range;
static struct alq_scanner scanner;
static struct alq_global global;

WAYS(small, any = alq_alloc_small(d, wild + 2, 0))
WAYS(small_slow, any = alq_alloc_small_slow(d, headers[0]))
WAYS(several, alq_alloc_several(d, 2, headers, out_blocks))
WAYS(several_slow, alq_alloc_several_slow(d, 2, headers, out_blocks))
WAYS(any_size, any = alq_alloc(d, 3, 0))
WAYS(large, any = alq_alloc(d, 3000, 0))
WAYS(string, any = alq_alloc_string(d, 10))
WAYS(copy, any = alq_string_copy(d, "x", 1))
WAYS(doubles, any = alq_alloc_double_array(d, 3))
WAYS(a_double, any = alq_alloc_double(d, 1.5))
WAYS(custom, any = alq_alloc_custom(d, &ops, 8))
WAYS(custom_mem, any = alq_alloc_custom_mem(d, &ops, 8, 8))
WAYS(custom_ratio, any = alq_alloc_custom_ratio(d, &ops, 8, 1, 8))
WAYS(weak, any = alq_weak_create(d, 3))
WAYS(ephe, any = alq_ephe_create(d, 3))
WAYS(poll, alq_poll(d))
WAYS(poll_slow, alq_poll_slow(d))
WAYS(new_root, root = alq_root_new(d, ALQ_UNIT))

#define NAMED(name, function)                                                  \
    {name##_unattached, function, "does not run the domain",                   \
     "alq_thread_attach", 0},                                                  \
        {name##_blocking, function, "in a blocking section",                   \
         "alq_blocking_end", 0},                                               \
    {                                                                          \
        name##_after_drop, function, "the domain has ended",                   \
            "alq_domain_drop", 0                                               \
    }

#define INLINE(name, function)                                                 \
    NAMED(name, ASKS ? function : function "_slow"),                           \
    {                                                                          \
        name##_null, function, "the domain is NULL", "alq_domain_new", 1       \
    }
#define CALL(name, function)                                                   \
    NAMED(name, function),                                                     \
    {                                                                          \
        name##_null, function, "the domain is NULL", "alq_domain_new", 0       \
    }

/* ---- stores ------------------------------------------------------------- */

static alq_value old_block, young_block;

/* Both are held by a pin, so that breaking the rule is all that is wrong. */
static void
blocks_make(void)
{
    any = alq_alloc(d, 2000, 0);
    old_block = any;
    young_block = alq_alloc(d, 2, 0);
    if (alq_pin(d, old_block) != ALQ_OK || alq_pin(d, young_block) != ALQ_OK)
        _exit(4);
}

static void
store_old(void)
{
    alq_store(d, old_block, 7, young_block);
}

static void
store_young(void)
{
    alq_store(d, young_block, 1, ALQ_UNIT);
}

static void
init_old(void)
{
    alq_init(d, old_block, 7, young_block);
}

static void
exchange(void)
{
    any = alq_field_exchange(d, old_block, 7, young_block);
}

#define STORE(name)                                                            \
    static void name##_unattached(void)                                        \
    {                                                                          \
        blocks_make();                                                         \
        unattached(name);                                                      \
    }                                                                          \
    static void name##_blocking(void)                                          \
    {                                                                          \
        blocks_make();                                                         \
        ALQ_BLOCKING(d, blocks);                                               \
        name();                                                                \
    }
STORE(store_old)
STORE(store_young)
STORE(init_old)
STORE(exchange)

#define STORES(name, function, asks)                                           \
    {name##_unattached, function, "does not run the domain",                   \
     "alq_thread_attach", asks},                                               \
    {                                                                          \
        name##_blocking, function, "in a blocking section",                    \
            "alq_blocking_end", asks                                           \
    }

/* ---- roots -------------------------------------------------------------- */

static void
drop_twice(void)
{
    root = alq_root_new(d, ALQ_UNIT);
    alq_root_drop(d, root);
    alq_root_drop(d, root);
}

/* Others have come and gone in between. */
static void
drop_twice_later(void)
{
    struct alq_root *others[2000];
    unsigned i;

    for (i = 0; i < ALQI_COUNT_OF(others); i++)
        others[i] = alq_root_new(d, ALQ_UNIT);
    alq_root_drop(d, others[77]);
    alq_root_drop(d, others[1077]);
    root = alq_root_new(d, ALQ_UNIT); /* others[1077] again */
    alq_root_drop(d, others[77]);
}

static void
set_after_drop(void)
{
    root = alq_root_new(d, ALQ_UNIT);
    alq_root_drop(d, root);
    alq_root_set(d, root, ALQ_UNIT);
}

static alq_value
drop_anothers(struct alq_domain *on, alq_value arg, void *data)
{
    (void)data;
    alq_root_drop(on, root);
    return arg;
}

static void
drop_in_another_domain(void)
{
    struct alq_child *child;

    root = alq_root_new(d, ALQ_UNIT);
    if (alq_domain_spawn(d, drop_anothers, ALQ_UNIT, NULL, NULL, &child) ==
        ALQ_OK)
        alq_domain_join(d, child, NULL);
}

/* ---- sizes and tags ----------------------------------------------------- */

/* They live, and so a collection meets them. */
static void
no_fields(void)
{
    ALQ_FRAME(d, f, block);

    f.block = alq_alloc_small(d, wild, 1);
    (void)alq_gc_minor(d);
}

static void
too_many_fields(void)
{
    ALQ_FRAME(d, f, block);

    f.block = alq_alloc_small(d, wild + 257, ALQ_TAG_ABSTRACT);
    (void)alq_gc_minor(d);
}

static void
a_tag_of_256(void)
{
    ALQ_FRAME(d, f, block);

    f.block = alq_alloc_small(d, 2, (unsigned)wild + 256);
    alq_init_small(f.block, 0, ALQ_UNIT);
    alq_init_small(f.block, 1, ALQ_UNIT);
    (void)alq_gc_minor(d);
}

/* Not ASKS: a status says so (heap_api_test.c). */
static void
several_of_none(void)
{
    const uintptr_t none[] = {ALQ_HEADER(1, 0), ALQ_HEADER(wild, 0)};

    alq_alloc_several(d, 2, none, out_blocks);
}

/* ---- all of them -------------------------------------------------------- */

static void
roots_added_unattached(void)
{
    scanner.scan = NULL;
    range.base = NULL;
    unattached(new_root);
}

static void
range_unattached_do(void)
{
    (void)alq_range_add(d, &range);
}

static void
range_unattached(void)
{
    unattached(range_unattached_do);
}

static void
global_unattached_do(void)
{
    (void)alq_global_add(d, &global);
}

static void
global_unattached(void)
{
    unattached(global_unattached_do);
}

static const struct rule rules[] = {
    INLINE(small, "alq_alloc_small"),
    INLINE(several, "alq_alloc_several"),
    INLINE(poll, "alq_poll"),
    CALL(small_slow, "alq_alloc_small_slow"),
    CALL(several_slow, "alq_alloc_several_slow"),
    CALL(poll_slow, "alq_poll_slow"),
    CALL(any_size, "alq_alloc"),
    CALL(large, "alq_alloc"),
    CALL(string, "alq_alloc_string"),
    CALL(copy, "alq_string_copy"),
    CALL(doubles, "alq_alloc_double_array"),
    CALL(custom, "alq_alloc_custom"),
    CALL(custom_mem, "alq_alloc_custom_mem"),
    CALL(custom_ratio, "alq_alloc_custom_ratio"),
    CALL(weak, "alq_weak_create"),
    CALL(ephe, "alq_ephe_create"),
    CALL(new_root, "alq_root_new"),
    NAMED(a_double, ASKS ? "alq_alloc_small" : "alq_alloc_small_slow"),
    {a_double_null, "alq_alloc_small", "is NULL", "alq_domain_new", 1},
    STORES(store_old, ASKS ? "alq_store" : "alq_store_slow", 0),
    STORES(store_young, "alq_store", 1),
    STORES(init_old, ASKS ? "alq_init" : "alq_init_slow", 0),
    STORES(exchange, "alq_field_exchange", 0),
    {drop_twice, "alq_root_drop", "was dropped", "drop each root once", 0},
    {drop_twice_later, "alq_root_drop", "was dropped", "once", 0},
    {set_after_drop, "alq_root_set", "was dropped", "only before", 0},
    {drop_in_another_domain, "alq_root_drop", "another domain's", "", 0},
    {roots_added_unattached, "alq_root_new", "does not run", "attach", 0},
    {range_unattached, "alq_range_add", "does not run", "attach", 0},
    {global_unattached, "alq_global_add", "does not run", "attach", 0},
    {no_fields, "alq_alloc_small", "1 to 256 fields", "alq_alloc", IS_HARD},
    {too_many_fields, "alq_alloc_small", "1 to 256 fields", "alq_alloc",
     IS_HARD},
    {a_tag_of_256, "alq_alloc_small", "at most 255", "in a field", IS_HARD},
    {several_of_none, "alq_alloc_several", "1 to 256", "alq_alloc", 1},
};

static void
broken_rules_stop_the_program(void **state)
{
    unsigned i, n = 0;

    (void)state;
    for (i = 0; i < ALQI_COUNT_OF(rules); i++)
        if (rules[i].asks ? ASKS : IS_CHECKED) {
            is_stopped(&rules[i]);
            n++;
        }
    assert_true(n > 4 || !(IS_CHECKED || ASKS));
}

/* What a program may do that looks like it: none of the rules is broken. */
static void
kept_rules_do_not(void **state)
{
    struct alq_thread *self;
    unsigned i;

    (void)state;
    d = started();
    {
        ALQ_FRAME(d, f, v);

        for (i = 0; i < 300; i++) {
            f.v = alq_alloc_small(d, wild + 2, (unsigned)wild + 3);
            alq_init_small(f.v, 0, ALQ_UNIT);
            alq_init_small(f.v, 1, ALQ_UNIT);
            {
                ALQ_BLOCKING(d, blocks);
            }
            alq_store(d, f.v, 0, ALQ_UNIT);
            assert_int_equal(alq_thread_yield(d), ALQ_OK);
            root = alq_root_new(d, f.v);
            alq_root_set(d, root, ALQ_UNIT);
            alq_root_drop(d, root);
        }
        alq_root_drop(d, NULL);
        alq_root_drop(NULL, NULL);
    }
    self = alq_thread_self(d);
    assert_ptr_equal(alq_blocking_begin(d), self);
    assert_int_equal(alq_blocking_end(self), ALQ_OK);
    alq_check_domain(d, "a test");
    alq_check_small(d, 256, 255, "a test");
    assert_int_equal(alq_domain_drop(d), ALQ_OK);
    d = started();
    assert_false(alq_is_null(alq_alloc(d, 1, 0)));
    assert_int_equal(alq_domain_drop(d), ALQ_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_rules_stop_the_program),
        cmocka_unit_test(kept_rules_do_not),
    };

    unsetenv("ALIQUOTPARAM");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
