/* cxxname_test.c -- names of C++ and Rust lose what nobody reads, never their
 * end */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "view/cxxname.h"

#define STRING                                                                 \
    "std::__cxx11::basic_string<char, std::char_traits<char>, "                \
    "std::allocator<char> >"

struct example {
    const char *in, *out;
};

static void
check(const struct example *rows, size_t n)
{
    char out[256];

    for (size_t i = 0; i < n; i++) {
        alqi_view_cxxname_shorten(out, sizeof out, rows[i].in,
                                  ALQI_VIEW_NAME_COLUMNS);
        assert_string_equal(out, rows[i].out);
    }
}

static void
types_of_functions_are_left_out(void **state)
{
    static const struct example rows[] = {
        {"main", "main"},
        {"load(char const*, int)", "load"},
        {"ns::C::get(int) const", "ns::C::get"},
        {"C::operator()(int)", "C::operator()"},
        {"C::operator()", "C::operator()"},
        {"f(void (*)(int))", "f"},
        {"void f<int>(int)", "f<int>"},
        {"(anonymous namespace)::g(int)", "(anonymous namespace)::g"},
        {"a::f(int, (anonymous namespace)::T)::Local::get() const",
         "a::f::Local::get"},
        {"C::get() const::Local::f()", "C::get::Local::f"},
        {"main::{lambda(int, int)#1}::operator()(int) const",
         "main::{lambda#1}::operator()"},
        {"call<main()::<lambda(int)>&>(int)", "call<main::<lambda>&>"},
        {"run(int)::'lambda'(auto)::operator()(int)",
         "run::'lambda'::operator()"},
        {"C::operator unsigned long() const", "C::operator unsigned long"},
        {"operator new(unsigned long)", "operator new"},
        {"h(int) [clone .cold]", "h"},
    };

    (void)state;
    check(rows, ALQI_COUNT_OF(rows));
}

static void
arguments_that_std_supplies_are_left_out(void **state)
{
    static const struct example rows[] = {
        {STRING "::_M_create(unsigned long&, unsigned long)",
         "std::string::_M_create"},
        {STRING "::basic_string(" STRING " const&)",
         "std::string::basic_string"},
        {"std::map<" STRING ", int, std::less<" STRING " >, "
         "std::allocator<std::pair<" STRING " const, int> > >"
         "::operator[](" STRING " const&)",
         "std::map<std::string, int>::operator[]"},
        {"std::__1::vector<int, std::__1::allocator<int>>::push_back[abi:v1]"
         "(int&&)",
         "std::vector<int>::push_back"},
        {"std::unique_ptr<T, std::default_delete<T> >::get() const",
         "std::unique_ptr<T>::get"},
        {"std::basic_ofstream<wchar_t, std::char_traits<wchar_t> >::open(int)",
         "std::wofstream::open"},
        /* these are no defaults */
        {"std::set<int, std::less<void>, p >::f(int)",
         "std::set<int, std::less<void>, p>::f"},
        {"pair<int, std::allocator<int> >::f()",
         "pair<int, std::allocator<int>>::f"},
        {"std::pair<int, std::less<int> >::f()",
         "std::pair<int, std::less<int>>::f"},
    };

    (void)state;
    check(rows, ALQI_COUNT_OF(rows));
}

static void
arguments_of_long_names_are_cut_inner_ones_first(void **state)
{
    static const struct example rows[] = {
        {"std::map<int, int>::at(int)", "std::map<int, int>::at"},
        {"std::vector<std::pair<int, std::string>, std::allocator<int> >::"
         "push_back(int&&)",
         "std::vector<std::pair<…>>::push_back"},
        {"std::vector<a_long_name_of_a_class_of_the_program>::push_back(int)",
         "std::vector<…>::push_back"},
        {"std::ostream& std::operator<< <std::char_traits<char>, int>(int)",
         "std::operator<< <…>"},
        {"void sort<bool (*)(int, int), &(anonymous namespace)::compare>(int)",
         "sort<…>"},
    };

    (void)state;
    check(rows, ALQI_COUNT_OF(rows));
}

static void
rust_loses_its_hashes(void **state)
{
    static const struct example rows[] = {
        {"<alloc::vec::Vec<T> as core::iter::Extend>::extend",
         "<alloc::vec::Vec<…> as core::iter::Extend>::extend"},
        {"app::run::h0123456789abcdef", "app::run"},
        {"app::run::h0123456789abcdeg", "app::run::h0123456789abcdeg"},
        {"app[0123456789abcdef]::run::{closure#0}", "app::run::{closure#0}"},
        {"alloc::raw_vec::RawVec<T>::grow::{{closure}}",
         "alloc::raw_vec::RawVec<…>::grow::{{closure}}"},
    };

    (void)state;
    check(rows, ALQI_COUNT_OF(rows));
}

static void
other_names_come_out_whole(void **state)
{
    static const char *const names[] = {
        "Format.make_padding.(fun)",
        "Stdlib.List.(@)",
        "a_rather_long_function_of_python.<locals>.<listcomp>",
        "<module>",
        "libstdc++.so.6.0.30+0xabcd",
        "[unknown]",
        "a_name_with_an_unclosed_bracket<int, int, int",
        "f(",
        ")",
        "",
    };
    char out[256];

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(names); i++) {
        alqi_view_cxxname_shorten(out, sizeof out, names[i],
                                  ALQI_VIEW_NAME_COLUMNS);
        assert_string_equal(out, names[i]);
    }
}

/* .inv.end */
static void
what_is_too_long_keeps_its_end(void **state)
{
    char name[4000], out[64];

    (void)state;
    memset(name, 'n', sizeof name);
    memcpy(name + sizeof name - sizeof "é::end(int)", "é::end(int)",
           sizeof "é::end(int)");
    for (size_t capacity = 20; capacity <= sizeof out; capacity++) {
        memset(out, '!', sizeof out);
        alqi_view_cxxname_shorten(out, capacity, name, ALQI_VIEW_NAME_COLUMNS);
        assert_true(strlen(out) < capacity && strlen(out) + 4 > capacity);
        assert_true(strncmp(out, "nnn", 3) == 0);
        assert_non_null(strstr(out, "…"));
        assert_string_equal(out + strlen(out) - 5, "::end");
    }
}

/* Brackets without end are searched once, however many there are: else the
 * second name would take hours. */
static void
hostile_names_take_little_time(void **state)
{
    static const char *const parts[] = {"a<", "a(", "a[", "a<(", "<>", "a<b,"};
    enum { BYTES = 1 << 20 };
    char *name = malloc(BYTES + 8), out[512];

    (void)state;
    for (size_t k = 0; k < ALQI_COUNT_OF(parts); k++) {
        size_t n = strlen(parts[k]);

        for (size_t i = 0; i < BYTES; i += n)
            memcpy(name + i, parts[k], n + 1);
        alqi_view_cxxname_shorten(out, sizeof out, name,
                                  ALQI_VIEW_NAME_COLUMNS);
        assert_true(strlen(out) < sizeof out);
    }
    free(name);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_of_functions_are_left_out),
        cmocka_unit_test(arguments_that_std_supplies_are_left_out),
        cmocka_unit_test(arguments_of_long_names_are_cut_inner_ones_first),
        cmocka_unit_test(rust_loses_its_hashes),
        cmocka_unit_test(other_names_come_out_whole),
        cmocka_unit_test(what_is_too_long_keeps_its_end),
        cmocka_unit_test(hostile_names_take_little_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
