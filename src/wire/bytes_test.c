/* bytes_test.c -- vint widths at every border, cursors at every end; and the
 * move-to-front tables against a plain list */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "wire/bytes.h"
#include "wire/ctf_mtf.h"
#include "wire/ctf_packet.h"

static void
vint_borders(void **state)
{
    static const struct {
        int64_t value;
        size_t n_bytes;
    } rows[] = {
        {0, 1},
        {252, 1},
        {253, 3},
        {255, 3},
        {65535, 3},
        {65536, 5},
        {INT32_MAX, 5},
        {(int64_t)INT32_MAX + 1, 9},
        {UINT32_MAX, 9}, /* the 5-byte form is signed */
        {-1, 5},
        {INT32_MIN, 5},
        {(int64_t)INT32_MIN - 1, 9},
        {(INT64_C(1) << 62) - 1, 9},
        {INT64_MIN, 9},
    };

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(rows); i++)
        for (size_t room = 0; room <= 9; room++) {
            uint8_t *bytes = malloc(room + 1);
            struct alqi_wire_out out = {.at = bytes, .end = bytes + room};
            struct alqi_wire_in in = {.at = bytes};

            alqi_wire_out_vint(&out, rows[i].value);
            assert_int_equal(out.bad, room < rows[i].n_bytes);
            in.end = out.at;
            if (!out.bad) {
                assert_int_equal(out.at - bytes, rows[i].n_bytes);
                assert_true(alqi_wire_in_vint(&in) == rows[i].value);
                assert_false(in.bad);
                in.at = bytes;
                in.end--; /* one byte short: all of it is refused */
                alqi_wire_in_vint(&in);
                assert_true(in.bad);
            }
            free(bytes);
        }
}

static void
strings_need_their_end(void **state)
{
    const uint8_t bytes[] = {'a', 'b', 0, 'c'};
    struct alqi_wire_in in = {.at = bytes, .end = bytes + sizeof bytes};

    (void)state;
    assert_string_equal(alqi_wire_in_str(&in), "ab");
    assert_false(in.bad);
    assert_string_equal(alqi_wire_in_str(&in), "");
    assert_true(in.bad);
    assert_int_equal(alqi_wire_in_left(&in), 0);
}

/* The only time with these low bits in the 2^25 us from the packet's begin. */
static void
event_times(void **state)
{
    const uint64_t begins[] = {0, 1, ALQI_EVENT_TIME_MASK, 1700000031571268};
    const uint64_t deltas[] = {0, 1, 30000000, ALQI_EVENT_TIME_MASK};

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(begins); i++)
        for (size_t k = 0; k < ALQI_COUNT_OF(deltas); k++) {
            uint64_t time_us = begins[i] + deltas[k];
            uint32_t head = alqi_event_head(time_us, 116);

            assert_int_equal(head >> ALQI_EVENT_TIME_BITS, 116);
            assert_true(alqi_event_time_us(begins[i], head) == time_us);
        }
}

enum { NAMES = 40, STEPS = 20000 };

/* A file and its functions, by the definition: lists, newest first. */
struct model_file {
    const char *name;
    const char *functions[ALQI_MTF_SIZE + 1];
    uint32_t n_functions;
};

static void
function_step(struct model_file *m, struct alqi_mtf_file *file,
              const char *name)
{
    uint32_t i = 0;
    uint32_t found = alqi_mtf_function_find(file, name);

    while (i < m->n_functions && m->functions[i] != name)
        i++;
    assert_int_equal(found, i < m->n_functions ? i : ALQI_MTF_NEW);
    if (found == ALQI_MTF_NEW) {
        alqi_mtf_function_new(file, name);
        i = m->n_functions < ALQI_MTF_SIZE ? m->n_functions++
                                           : ALQI_MTF_SIZE - 1u;
    } else {
        assert_ptr_equal(alqi_mtf_function_use(file, found), name);
    }
    memmove(m->functions + 1, m->functions, i * sizeof m->functions[0]);
    m->functions[0] = name;
}

static void
tables_follow_the_definition(void **state)
{
    static const char names[NAMES][1];
    struct model_file *files = calloc(ALQI_MTF_SIZE + 1, sizeof *files);
    struct alqi_mtf *mtf = malloc(sizeof *mtf);
    uint32_t n_files = 0;
    int n_dropped = 0;

    (void)state;
    alqi_mtf_init(mtf);
    for (uint64_t step = 0; step < STEPS; step++) {
        const char *name = names[alqi_base_mix(step) % NAMES];
        uint32_t found = alqi_mtf_file_find(mtf, name);
        struct model_file at_front = {.name = name};
        struct alqi_mtf_file *file;
        uint32_t i = 0;

        while (i < n_files && files[i].name != name)
            i++;
        assert_int_equal(found, i < n_files ? i : ALQI_MTF_NEW);
        if (found == ALQI_MTF_NEW) {
            file = alqi_mtf_file_new(mtf, name, false);
            n_dropped += n_files == ALQI_MTF_SIZE;
            i = n_files < ALQI_MTF_SIZE ? n_files++ : ALQI_MTF_SIZE - 1u;
        } else {
            file = alqi_mtf_file_use(mtf, found);
            at_front = files[i];
        }
        memmove(files + 1, files, i * sizeof files[0]);
        files[0] = at_front;
        function_step(&files[0], file,
                      names[alqi_base_mix(~step) % (step % 2 ? NAMES : 3)]);
    }
    assert_true(n_dropped > 100);
    assert_null(alqi_mtf_file_use(mtf, ALQI_MTF_SIZE));
    free(files);
    free(mtf);
}

static void
empty_places_are_refused(void **state)
{
    struct alqi_mtf *mtf = malloc(sizeof *mtf);
    struct alqi_mtf_file *file;

    (void)state;
    alqi_mtf_init(mtf);
    assert_null(alqi_mtf_file_use(mtf, 0));
    file = alqi_mtf_file_new(mtf, "a", false);
    assert_null(alqi_mtf_file_use(mtf, 1));
    assert_null(alqi_mtf_function_use(file, 0));
    alqi_mtf_function_new(file, "f");
    assert_null(alqi_mtf_function_use(file, 1));
    /* .quirk.v1: a full table's newcomer inherits, in format 1 only. */
    for (int i = 1; i < ALQI_MTF_SIZE; i++)
        alqi_mtf_file_new(mtf, "b", true);
    file = alqi_mtf_file_new(mtf, "c", true);
    assert_string_equal(alqi_mtf_function_use(file, 0), "f");
    file = alqi_mtf_file_new(mtf, "d", false);
    assert_null(alqi_mtf_function_use(file, 0));
    free(mtf);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vint_borders),
        cmocka_unit_test(strings_need_their_end),
        cmocka_unit_test(event_times),
        cmocka_unit_test(tables_follow_the_definition),
        cmocka_unit_test(empty_places_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
