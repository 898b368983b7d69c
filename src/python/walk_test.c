/* walk_test.c -- frames of a made-up thread, laid out as versions have them
 *
 * Each word that is read lies where the headers of that version have it; the
 * numbers here are those of the headers, not the table's. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "python/layout.h"
#include "python/python.h"

enum {
    FRAMES = 5,
    FRAME_WORDS = 16,
    THREAD_WORDS = 32,
    OWNER_THREAD = 0,
    OWNER_GENERATOR = 1,
    OWNER_INTERPRETER = 3
};

/* Offsets in bytes. */
static const struct version {
    uint32_t version;
    uint32_t thread_id, thread_frame;             /* PyThreadState */
    uint32_t owner;                               /* _PyInterpreterFrame */
    uintptr_t tag;                                /* of a frame's code */
    uint32_t first_line, file, name, lines, code; /* PyCodeObject */
} versions[] = {
    {0x030d, 152, 72, 70, 0, 68, 112, 128, 136, 200},
    {0x030e, 152, 72, 74, 0, 68, 112, 128, 136, 208},
    {0x030e, 152, 72, 74, 1, 68, 112, 128, 136, 208}, /* borrowed */
};

/* The made-up thread: frame 0 is innermost; 2 and 4 are entry frames. */
static uintptr_t thread[THREAD_WORDS];
static uintptr_t frames[FRAMES][FRAME_WORDS];
static uintptr_t codes[FRAMES][64];

static void *
thread_of(void)
{
    return thread;
}

static void
put(void *at, uint32_t offset, uintptr_t word)
{
    memcpy((char *)at + offset, &word, sizeof word);
}

static void
make(const struct version *v, struct alqi_python *python)
{
    memset(thread, 0, sizeof thread);
    memset(frames, 0x5A, sizeof frames);
    memset(codes, 0, sizeof codes);
    put(thread, v->thread_id, (uintptr_t)pthread_self());
    put(thread, v->thread_frame, (uintptr_t)frames[0]);
    for (unsigned i = 0; i < FRAMES; i++) {
        put(frames[i], 0, (uintptr_t)codes[i] | v->tag);
        put(frames[i], 8, i + 1 < FRAMES ? (uintptr_t)frames[i + 1] : 0);
        put(frames[i], 56, (uintptr_t)codes[i] + v->code + 2 * i);
        *((char *)frames[i] + v->owner) = OWNER_THREAD;
    }
    *((char *)frames[1] + v->owner) = OWNER_GENERATOR;
    *((char *)frames[2] + v->owner) = OWNER_INTERPRETER;
    *((char *)frames[4] + v->owner) = OWNER_INTERPRETER;
    *python = (struct alqi_python){
        .layout = alqi_python_layout_of(v->version),
        .current_thread = thread_of,
        .own_thread = thread_of,
    };
    assert_non_null(python->layout);
}

/* The two frames of the inner run, then that of the outer one; each run has the
 * entry frame behind it as its mark. */
static void
a_thread_has_its_frames(void **state)
{
    static const unsigned expected[] = {0, 1, 3}, marks[] = {2, 2, 4};

    (void)state;
    for (size_t i = 0; i < 2 * ALQI_COUNT_OF(versions); i++) {
        const struct version *v = &versions[i / 2];
        struct alqi_python_frame found[FRAMES];
        struct alqi_python_reader reader;
        struct alqi_python python;

        make(v, &python);
        assert_int_equal(
            alqi_python_walk(&python, i % 2 == 0, &reader, found, FRAMES), 3);
        assert_int_equal(reader.is_trusted, i % 2 == 0);
        for (size_t k = 0; k < ALQI_COUNT_OF(expected); k++) {
            unsigned f = expected[k];

            assert_int_equal(found[k].code, (uintptr_t)codes[f]);
            assert_int_equal(found[k].instr,
                             (uintptr_t)codes[f] + v->code + 2 * f);
            assert_int_equal(found[k].entry_at, (uintptr_t)frames[marks[k]]);
        }
    }
}

/* Room for fewer: the run's mark is found all the same; another run is not
 * begun. */
static void
frames_end_where_the_room_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(versions); i++) {
        struct alqi_python_frame found[1];
        struct alqi_python_reader reader;
        struct alqi_python python;

        make(&versions[i], &python);
        assert_int_equal(alqi_python_walk(&python, true, &reader, found, 1), 1);
        assert_int_equal(found[0].code, (uintptr_t)codes[0]);
        assert_int_equal(found[0].entry_at, (uintptr_t)frames[2]);
    }
}

/* A code object is read where the version has its parts, and its line is that
 * of the instruction. */
static void
code_has_its_parts(void **state)
{
    static uintptr_t type[3]; /* of code, text and bytes */
    /* "f", and a table: line 7 for two instructions, then line 8 */
    static struct {
        uintptr_t n, type, size, hash, state;
        char data[16];
    } text = {1, (uintptr_t)&type[1], 1, 99, 1 << 2 | 1 << 5 | 1 << 6, "f"},
      bytes = {1, (uintptr_t)&type[2], 4, 0, 0, ""};
    static const uint8_t table[] = {0xD1, 0, 0xD8, 0};

    (void)state;
    /* Bytes begin where a text has its state. */
    memcpy(&bytes.state, table, sizeof table);
    for (size_t i = 0; i < ALQI_COUNT_OF(versions); i++) {
        const struct version *v = &versions[i];
        struct alqi_python_reader reader = {.is_trusted = true};
        struct alqi_python_code code;
        struct alqi_python python;
        char name[8], file[8];
        uintptr_t at = (uintptr_t)codes[0];
        int32_t first = 7;

        make(v, &python);
        python.code_type = (uintptr_t)&type[0];
        python.text_type = (uintptr_t)&type[1];
        python.bytes_type = (uintptr_t)&type[2];
        put(codes[0], 8, (uintptr_t)&type[0]);
        memcpy((char *)codes[0] + v->first_line, &first, sizeof first);
        put(codes[0], v->file, (uintptr_t)&text);
        put(codes[0], v->name, (uintptr_t)&text);
        put(codes[0], v->lines, (uintptr_t)&bytes);
        assert_true(alqi_python_code_read(&python, &reader, at, &code));
        assert_int_equal(code.first_line, 7);
        alqi_python_code_name(&python, &reader, at, name, sizeof name, file,
                              sizeof file);
        assert_string_equal(name, "f");
        assert_string_equal(file, "f");
        assert_int_equal(alqi_python_code_line(&python, &reader, at, &code,
                                               at + v->code + 2),
                         7);
        assert_int_equal(alqi_python_code_line(&python, &reader, at, &code,
                                               at + v->code + 4),
                         8);
    }
}

static void
other_versions_have_no_layout(void **state)
{
    (void)state;
    assert_null(alqi_python_layout_of(0));
    assert_null(alqi_python_layout_of(0x0307));
    assert_null(alqi_python_layout_of(0x030f));
    assert_null(alqi_python_layout_of(0x0400));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_has_its_frames),
        cmocka_unit_test(frames_end_where_the_room_does),
        cmocka_unit_test(code_has_its_parts),
        cmocka_unit_test(other_versions_have_no_layout),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
