/* tables_test.c -- the analysis's tables of objects, stacks, texts, wrappers */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "cli/analysis/groups.h"
#include "cli/read/names.h"
#include "cli/read/objects.h"
#include "cli/analysis/stacks.h"

/* Some lengths, samples, times and rates need more bits than an object has, or
 * all of them. */
static struct alqi_cli_birth
birth_of(uint64_t id)
{
    return (struct alqi_cli_birth){
        .time_us = id % 11 == 0   ? id << 44
                   : id % 13 == 0 ? (UINT64_C(1) << 48) - 1
                                  : id * 11,
        .length = id % 5 == 0   ? id << 40
                  : id % 7 == 0 ? UINT32_MAX
                                : id * 3,
        .n_samples = id % 17 == 0   ? id << 30
                     : id % 19 == 0 ? UINT16_MAX
                                    : id / 8,
        .epoch = (uint32_t)id,
        .rate = (uint16_t)(id % 23 == 0 ? UINT8_MAX + id % 2 : id % 9),
    };
}

/* Against a plain array, with numbers that collide and wrap around. */
static void
objects_agree_with_an_array(void **state)
{
    enum { IDS = 60000, STEPS = 400000 };
    static bool alive[IDS];
    struct alqi_cli_objects o;
    struct alqi_cli_life life;
    uint64_t seed = 7 + alqi_base_test_seed();
    size_t n = 0;
    size_t n_most = 0;
    size_t at = 0;

    (void)state;
    alqi_cli_objects_init(&o);
    for (int i = 0; i < STEPS; i++) {
        uint64_t id;
        struct alqi_cli_object *found;

        seed = alqi_base_mix(seed + 1);
        id = seed % IDS;
        found = alqi_cli_objects_find(&o, id);
        assert_int_equal(found != NULL, alive[id]);
        if (alive[id]) {
            assert_null(
                alqi_cli_objects_add(&o, id, birth_of(id))); /* may grow */
            assert_true(alqi_cli_objects_take(&o, id, &life));
            assert_true(life.length == birth_of(id).length);
            assert_true(life.n_samples == birth_of(id).n_samples);
            assert_true(life.time_us == birth_of(id).time_us);
            assert_int_equal(life.rate, birth_of(id).rate);
            assert_int_equal(life.site, id + 1);
            assert_int_equal(life.epoch, id);
            assert_false(alqi_cli_objects_take(&o, id, &life));
            n--;
        } else {
            found = alqi_cli_objects_add(&o, id, birth_of(id));
            assert_non_null(found);
            assert_int_equal(found->site, 0);
            found->site = (uint32_t)id + 1;
            n++;
        }
        alive[id] = !alive[id];
        n_most = n > n_most ? n : n_most;
        assert_true(o.n_alive == n);
    }
    assert_true(n_most > 16384); /* the table grew on the way */
    for (uint64_t id = 0; id < IDS; id++)
        assert_int_equal(alqi_cli_objects_find(&o, id) != NULL, alive[id]);
    for (uint64_t id; alqi_cli_objects_next(&o, &at, &id) != NULL; n--)
        assert_true(alive[id]);
    assert_int_equal(n, 0);
    for (uint64_t id = 0; id < IDS; id++)
        assert_int_equal(alqi_cli_objects_take(&o, id, &life), alive[id]);
    assert_int_equal(o.n_alive + o.n_old, 0);
    assert_int_equal(o.wide.n_used, 0);
    alqi_cli_objects_free(&o);
}

static void
equal_stacks_are_one_node(void **state)
{
    enum { STACKS = 5000, DEPTH = 30 };
    struct alqi_cli_stacks s;
    uint64_t codes[DEPTH];
    uint64_t back[DEPTH];
    uint32_t nodes[STACKS];
    uint32_t n_last = 0;

    (void)state;
    alqi_cli_stacks_init(&s);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < STACKS; i++) {
            uint32_t n = i % DEPTH;
            uint32_t same = 0;
            uint32_t node;

            for (uint32_t k = 0; k < n; k++) {
                uint64_t code = 0x400000 + (alqi_base_mix(i / 7 * 31 + k) & 3);

                /* What is known to be the same may be less than is. */
                if (same == k && k < n_last && codes[k] == code && k != 20)
                    same++;
                codes[k] = code;
            }
            n_last = n;
            node = alqi_cli_stacks_next(&s, codes, n, same);
            assert_int_equal(s.nodes[node].depth, n);
            alqi_cli_stacks_codes(&s, node, back);
            assert_memory_equal(codes, back, n * sizeof *codes);
            if (round == 0)
                nodes[i] = node;
            else
                assert_int_equal(node, nodes[i]);
        }
    assert_true(s.n_nodes > 1024); /* the table grew on the way */
    for (uint32_t i = 1; i < s.n_nodes; i++)
        assert_true(s.nodes[i].parent < i);
    assert_int_equal(alqi_cli_stacks_add(&s, NULL, 0), 0);
    alqi_cli_stacks_free(&s);
}

static void
equal_texts_have_one_number(void **state)
{
    enum { TEXTS = 2000 };
    struct alqi_cli_names *names = alqi_cli_names_new();
    uint32_t numbers[TEXTS];
    char text[32];

    (void)state;
    assert_int_equal(alqi_cli_names_intern(names, ""), ALQI_CLI_NO_NAME);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < TEXTS; i++) {
            snprintf(text, sizeof text, "function_%d", i);
            if (round == 0)
                numbers[i] = alqi_cli_names_intern(names, text);
            assert_int_equal(alqi_cli_names_intern(names, text), numbers[i]);
            assert_string_equal(alqi_cli_names_text(names, numbers[i]), text);
        }
    assert_int_equal(alqi_cli_names_intern(names, "a\tb"),
                     alqi_cli_names_intern(names, "a?b"));
    alqi_cli_names_drop(names);
}

static void
wrappers_are_only_wrappers(void **state)
{
    (void)state;
    assert_true(alqi_cli_is_wrapper("malloc"));
    assert_true(alqi_cli_is_wrapper("operator new[](unsigned long)"));
    assert_true(
        alqi_cli_is_wrapper("std::allocator<int>::allocate(unsigned long)"));
    assert_true(alqi_cli_is_wrapper("__gnu_cxx::new_allocator<int>::allocate"));
    assert_true(alqi_cli_is_wrapper("zmalloc_usable"));
    assert_true(alqi_cli_is_wrapper("CRYPTO_zalloc"));
    assert_true(alqi_cli_is_wrapper(
        "llvm::User::operator new(unsigned long, unsigned int)"));
    assert_false(
        alqi_cli_is_wrapper("call(void* (*)(A::operator newer), int)"));
    assert_false(alqi_cli_is_wrapper("malloc_table_fill"));
    assert_true(alqi_cli_is_wrapper("std::_Vector_base<int, "
                                    "std::allocator<int> >::_M_allocate"));
    assert_false(alqi_cli_is_wrapper("mine::_M_allocate"));
    assert_true(alqi_cli_is_wrapper("alq_alloc_small"));
    assert_true(alqi_cli_is_wrapper("alq_alloc_double"));
    assert_false(alqi_cli_is_wrapper("alq_limit_run"));
    assert_true(alqi_cli_is_wrapper("<alloc::alloc::Global>::alloc_impl"));
    assert_true(alqi_cli_is_wrapper(
        "<alloc::alloc::Global as core::alloc::Allocator>::allocate"));
    assert_true(
        alqi_cli_is_wrapper("alloc::alloc::Global::alloc_impl_runtime"));
    assert_true(alqi_cli_is_wrapper(
        "<u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem"));
    assert_true(alqi_cli_is_wrapper("<T as core::convert::Into<U>>::into"));
    assert_true(alqi_cli_is_wrapper(
        "<mine::Counting as core::alloc::global::GlobalAlloc>::alloc"));
    assert_false(
        alqi_cli_is_wrapper("<mine::Tree as core::clone::Clone>::clone"));
    assert_false(alqi_cli_is_wrapper("mine::core::make"));
    assert_false(alqi_cli_is_wrapper("core::Engine::load(int)"));
    assert_false(alqi_cli_is_wrapper("core::Engine::size() const"));
    assert_false(alqi_cli_is_wrapper("pool_get"));
    alqi_cli_wrappers_add("pool_get,arena_get");
    assert_true(alqi_cli_is_wrapper("pool_get"));
    assert_true(alqi_cli_is_wrapper("arena_get"));
    assert_false(alqi_cli_is_wrapper("pool"));
    assert_true(alqi_cli_is_wrapper(
        "void std::__cxx11::basic_string<char>::_M_construct<char*>(char*)"));
    assert_true(alqi_cli_is_wrapper(
        "std::_Rb_tree_node<int>* std::_Rb_tree<int, int>::f(int)"));
    assert_false(alqi_cli_is_wrapper("std::vector<int>::push_back(int)"));
    assert_false(alqi_cli_is_wrapper("std::vector<int>::push_back"));
    assert_false(alqi_cli_is_wrapper(
        "std::_Rb_tree_node<int>* mine::find<std::_Rb_tree<int> >(int)"));
    assert_false(alqi_cli_is_wrapper("std::__cxx11::to_string(int)"));
    assert_false(alqi_cli_is_wrapper(""));
}

/* w: a wrapper, x: without symbols, f: a function; outermost first. */
static void
the_site_is_outside_of_wrappers(void **state)
{
    static const struct {
        const char *stack;
        uint32_t naming;
    } rows[] = {
        {"f", 0},  {"ff", 1},   {"ffw", 1}, {"ffww", 1},  {"ffwx", 1},
        {"fx", 1}, {"fwxf", 3}, {"fxw", 1}, {"fwxxw", 0}, {"x", 0},
        {"w", 0},  {"ww", 1},   {"wx", 1},  {"fxwxx", 1}, {"fwfx", 3},
    };

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(rows); i++) {
        struct alqi_cli_frame frames[8] = {0};
        uint32_t n = (uint32_t)strlen(rows[i].stack);

        for (uint32_t k = 0; k < n; k++) {
            frames[k].is_wrapper = rows[i].stack[k] == 'w';
            frames[k].is_nameless = rows[i].stack[k] == 'x';
        }
        assert_int_equal(alqi_cli_naming_frame(frames, n), rows[i].naming);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_agree_with_an_array),
        cmocka_unit_test(equal_stacks_are_one_node),
        cmocka_unit_test(equal_texts_have_one_number),
        cmocka_unit_test(wrappers_are_only_wrappers),
        cmocka_unit_test(the_site_is_outside_of_wrappers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
