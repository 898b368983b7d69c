/* symbol_file_test.c -- which files are found, refused, and what is said
 *
 * The variants of one program are made with objcopy and strip, as packagers
 * make them, in a directory of their own. */
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/base.h"
#include "stack/symbol.h"
#include "stack/symbol_elf.h"
#include "stack/symbol_elf_names.h"
#include "base/skip.h"

static char dir[PATH_MAX / 2];
static uint8_t plain_id[ALQI_SYMBOL_ID_BYTES_MAX];
static size_t plain_id_bytes;
static uint64_t inner_address; /* in aliased(), an inlined call */

__attribute__((format(printf, 1, 2))) static void
run(const char *format, ...)
{
    char command[4 * PATH_MAX];
    va_list args;
    int n = snprintf(command, sizeof command, "cd '%s' && ", dir);

    va_start(args, format);
    vsnprintf(command + n, sizeof command - (size_t)n, format, args);
    va_end(args);
    if (system(command) != 0)
        fail_msg("failed: %s", command);
}

static char *
in_dir(char *path, const char *name)
{
    int n = snprintf(path, PATH_MAX, "%s/%s", dir, name);

    assert_in_range(n, 1, PATH_MAX - 1);
    return path;
}

/* An address of aliased() with at least three frames in the whole program. */
static uint64_t
inner_find(void)
{
    struct alqi_symbol_table *table = alqi_symbol_table_new(false);
    struct alqi_symbol_module *m =
        alqi_symbol_module_open(table, FIXTURE_DIR "/plain", NULL, 0);
    const struct alqi_symbol_frame *f;
    struct alqi_symbol_elf *elf;
    const struct alqi_symbol_section *s;
    uint64_t a, found = 0;

    assert_null(alqi_symbol_elf_open(&elf, FIXTURE_DIR "/plain"));
    s = alqi_symbol_elf_find(elf, ".text");
    for (a = s->address; found == 0 && a < s->address + s->memory_bytes; a++) {
        if (alqi_symbol_resolve(m, a, &f) >= 3 &&
            strcmp(f[0].function, "aliased") == 0)
            found = a;
    }
    plain_id_bytes = elf->build_id_bytes;
    memcpy(plain_id, elf->build_id, plain_id_bytes);
    alqi_symbol_elf_drop(elf);
    alqi_symbol_table_drop(table);
    return found;
}

static int
files_make(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "%s/symbol_file_XXXXXX", FIXTURE_DIR);
    if (mkdtemp(dir) == NULL)
        return -1;
    inner_address = inner_find();
    if (inner_address == 0 || plain_id_bytes == 0)
        return -1;
    run("cp %s/plain whole", FIXTURE_DIR);
    run("objcopy --only-keep-debug whole plain.debug");
    run("objcopy --strip-debug whole nodebug");
    run("strip -o stripped whole");
    run("strip -o linked whole && "
        "objcopy --add-gnu-debuglink=plain.debug linked");
    setenv("ALIQUOT_DEBUG_PATH", dir, 1);
    return 0;
}

static int
files_remove(void **state)
{
    (void)state;
    if (dir[0] != '\0')
        run("rm -rf '%s'", dir);
    return 0;
}

struct seen {
    size_t count;
    char function[256], inner[256], file[256], note[600];
    unsigned line;
};

static struct seen
look(const char *name, const uint8_t *id, size_t id_bytes)
{
    char path[PATH_MAX];
    struct alqi_symbol_table *table = alqi_symbol_table_new(false);
    struct alqi_symbol_module *m =
        alqi_symbol_module_open(table, in_dir(path, name), id, id_bytes);
    const struct alqi_symbol_frame *f;
    struct seen s = {0};
    const char *note;

    s.count = alqi_symbol_resolve(m, inner_address, &f);
    assert_true(s.count >= 1);
    snprintf(s.function, sizeof s.function, "%s", f[0].function);
    snprintf(s.inner, sizeof s.inner, "%s", f[s.count - 1].function);
    snprintf(s.file, sizeof s.file, "%s", f[s.count - 1].file);
    s.line = f[s.count - 1].line;
    note = alqi_symbol_module_note(m);
    if (note != NULL) {
        snprintf(s.note, sizeof s.note, "%s", note);
        assert_null(strchr(note, '\n'));
        assert_non_null(strstr(note, path));
    }
    alqi_symbol_table_drop(table);
    return s;
}

static void
check_whole(const struct seen *s)
{
    assert_true(s->count >= 3);
    assert_string_equal(s->function, "aliased");
    assert_true(strncmp(s->inner, "chain_", 6) == 0);
    assert_non_null(strstr(s->file, "chain.h"));
    assert_true(s->line > 0);
}

static void
check_number(const struct seen *s, const char *name)
{
    char want[256];

    snprintf(want, sizeof want, "%s+0x%" PRIx64, name, inner_address);
    assert_int_equal(s->count, 1);
    assert_string_equal(s->function, want);
    assert_string_equal(s->file, name);
    assert_int_equal(s->line, 0);
}

static void
whole_program(void **state)
{
    struct seen s = look("whole", plain_id, plain_id_bytes);

    (void)state;
    check_whole(&s);
    assert_string_equal(s.note, "");
}

static void
no_debug_has_functions(void **state)
{
    struct seen s = look("nodebug", NULL, 0);

    (void)state;
    assert_int_equal(s.count, 1);
    assert_string_equal(s.function, "aliased"); /* not _aliased_too */
    assert_string_equal(s.file, "nodebug");
    assert_non_null(strstr(s.note, "no source lines and no inlined calls"));
}

static void
stripped_has_numbers(void **state)
{
    struct seen s = look("stripped", NULL, 0);

    (void)state;
    check_number(&s, "stripped");
    assert_non_null(strstr(s.note, "exported functions only"));
}

static void
debuglink_is_followed(void **state)
{
    struct seen s = look("linked", NULL, 0);

    (void)state;
    check_whole(&s);
    assert_string_equal(s.note, "");
    run("mkdir -p .debug && mv plain.debug .debug/");
    s = look("linked", NULL, 0);
    check_whole(&s);
    run("mv .debug/plain.debug . && rmdir .debug");
}

/* Without build-ids the checksum decides. */
static void
debuglink_checksum(void **state)
{
    struct seen s;

    (void)state;
    run("objcopy --remove-section=.note.gnu.build-id whole nameless && "
        "objcopy --only-keep-debug nameless nameless.debug 2>&1 && "
        "strip nameless && "
        "objcopy --add-gnu-debuglink=nameless.debug nameless");
    s = look("nameless", NULL, 0);
    check_whole(&s);
    run("printf x >>nameless.debug");
    s = look("nameless", NULL, 0);
    check_number(&s, "nameless");
    s = look("nameless", plain_id, plain_id_bytes);
    assert_non_null(strstr(s.note, "has another build-id"));
}

static void
debug_file_install(void)
{
    char hex[2 * ALQI_SYMBOL_ID_BYTES_MAX + 1] = "";
    size_t i;

    for (i = 0; i < plain_id_bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", plain_id[i]);
    run("mkdir -p .build-id/%.2s && cp plain.debug .build-id/%.2s/%s.debug",
        hex, hex, hex + 2);
}

static void
build_id_finds_debug_file(void **state)
{
    struct seen s;

    (void)state;
    debug_file_install();
    s = look("stripped", NULL, 0);
    check_whole(&s);
    assert_string_equal(s.note, "");
    run("rm -r .build-id");
}

static void
another_build_id(void **state)
{
    uint8_t id[20] = {1, 2, 3};
    struct seen s = look("whole", id, sizeof id);

    (void)state;
    check_number(&s, "whole"); /* its names would be wrong ones */
    assert_non_null(strstr(s.note, "has another build-id"));
    assert_non_null(strstr(s.note, "no functions and no source lines"));

    run("cp %s/dwarf4 replaced", FIXTURE_DIR);
    debug_file_install();
    s = look("replaced", plain_id, plain_id_bytes);
    check_whole(&s);
    assert_non_null(strstr(s.note, "its debug file was found by build-id"));
    run("rm -r .build-id");
}

static void
missing_file(void **state)
{
    struct seen s = look("gone", NULL, 0);

    (void)state;
    check_number(&s, "gone");
    assert_non_null(strstr(s.note, "cannot be opened"));
    debug_file_install();
    s = look("gone", plain_id, plain_id_bytes);
    check_whole(&s);
    assert_non_null(strstr(s.note, "its debug file was found by build-id"));
    run("rm -r .build-id");
}

static void
not_a_file(void **state)
{
    struct seen s;

    (void)state;
    run("mkfifo fifo && : >empty && printf '\\177ELFnonsense' >short && "
        "head -c 4000 /dev/zero >zeros");
    s = look("fifo", NULL, 0);
    assert_non_null(strstr(s.note, "is not a regular file"));
    s = look("empty", NULL, 0);
    assert_non_null(strstr(s.note, "is empty"));
    s = look("short", NULL, 0);
    assert_non_null(strstr(s.note, "is too short"));
    s = look("zeros", NULL, 0);
    assert_non_null(strstr(s.note, "is not an ELF file"));
    s = look(".", NULL, 0);
    assert_non_null(strstr(s.note, "is not a regular file"));
}

static void
packed_sections(void **state)
{
    static const char *const kinds[] = {"zlib", "zlib-gnu", "zstd"};
    struct seen s;
    size_t i;
    char command[PATH_MAX];

    (void)state;
    for (i = 0; i < ALQI_COUNT_OF(kinds); i++) {
        snprintf(command, sizeof command,
                 "cd '%s' && objcopy --compress-debug-sections=%s whole packed "
                 "2>/dev/null",
                 dir, kinds[i]);
        if (system(command) != 0) {
            print_message("objcopy does not know %s\n", kinds[i]);
            assert_int_not_equal(i, 0);
            continue;
        }
        s = look("packed", NULL, 0);
        check_whole(&s);
        assert_string_equal(s.note, "");
    }
}

/* The headers are fine, the packed bytes are not. */
static void
packed_damage_is_told(void **state)
{
    struct alqi_symbol_elf *elf;
    const struct alqi_symbol_section *s;
    char path[PATH_MAX];
    struct seen seen;
    long offset;
    FILE *f;

    (void)state;
    run("objcopy --compress-debug-sections=zlib whole packed");
    assert_null(alqi_symbol_elf_open(&elf, in_dir(path, "packed")));
    s = alqi_symbol_elf_find(elf, ".debug_info");
    assert_non_null(s);
    offset = (long)(s->bytes - elf->bytes) + (long)s->size_bytes / 2;
    alqi_symbol_elf_drop(elf);
    f = fopen(path, "r+");
    assert_non_null(f);
    assert_int_equal(fseek(f, offset, SEEK_SET), 0);
    assert_int_equal(fputs("damage", f) < 0, 0);
    assert_int_equal(fclose(f), 0);
    seen = look("packed", NULL, 0);
    assert_string_equal(seen.function, "aliased"); /* .symtab is intact */
    assert_non_null(strstr(seen.note, "debug sections are damaged"));
}

/* Fedora's way: an xz-packed symbol table for the stripped functions. */
static void
mini_debug_info(void **state)
{
    struct seen s;

    (void)state;
    run("objcopy -S --remove-section=.comment --keep-symbol=aliased "
        "whole mini && xz -k -f mini && strip -o minied whole && "
        "objcopy --add-section .gnu_debugdata=mini.xz minied");
    s = look("minied", NULL, 0);
    assert_int_equal(s.count, 1);
    assert_string_equal(s.function, "aliased");
    assert_non_null(strstr(s.note, "no source lines"));
    run("head -c 200 mini.xz >cut.xz && strip -o minied whole && "
        "objcopy --add-section .gnu_debugdata=cut.xz minied");
    s = look("minied", NULL, 0);
    check_number(&s, "minied");
}

/* dwz moves what two programs share into a third file. */
static void
shared_debug_file(void **state)
{
    struct seen s;

    (void)state;
    if (system("dwz --version >/dev/null 2>&1") != 0) {
        ALQI_SKIP("no dwz");
    }
    run("cp whole twin && cp whole dwzed && dwz -m shared dwzed twin");
    s = look("dwzed", NULL, 0);
    check_whole(&s);
    assert_string_equal(s.note, "");
    run("mv shared away");
    s = look("dwzed", NULL, 0);
    assert_non_null(strstr(s.note, "its dwz file is missing"));
    assert_string_equal(s.function, "aliased"); /* the ELF symbol */
    assert_true(s.line > 0);
}

/* Any prefix of the file gives an answer; short ones a note. */
static void
cut_anywhere(void **state)
{
    char path[PATH_MAX];
    struct stat st;
    struct seen s;
    off_t bytes;
    unsigned notes = 0, cuts = 0;

    (void)state;
    assert_int_equal(stat(in_dir(path, "whole"), &st), 0);
    run("cp whole cut");
    in_dir(path, "cut");
    for (bytes = st.st_size - 1; bytes > 0; bytes -= 1 + st.st_size / 97) {
        assert_int_equal(truncate(path, bytes), 0);
        s = look("cut", NULL, 0);
        notes += s.note[0] != '\0';
        cuts++;
    }
    assert_true(cuts > 90);
    assert_int_equal(notes, cuts);
}

static void
same_module_same_answer(void **state)
{
    struct alqi_symbol_table *table = alqi_symbol_table_new(false);
    struct alqi_symbol_module *m, *other;
    const struct alqi_symbol_frame *f, *g;
    char path[PATH_MAX];
    uint64_t a;

    (void)state;
    m = alqi_symbol_module_open(table, in_dir(path, "whole"), NULL, 0);
    assert_ptr_equal(alqi_symbol_module_open(table, path, NULL, 0), m);
    other = alqi_symbol_module_open(table, path, plain_id, plain_id_bytes);
    assert_ptr_not_equal(other, m);
    assert_true(alqi_symbol_resolve(m, inner_address, &f) >= 3);
    for (a = 0; a < 5000; a++)
        alqi_symbol_resolve(m, a, &g);
    assert_true(alqi_symbol_resolve(m, UINT64_MAX, &g) == 1);
    assert_true(alqi_symbol_resolve(m, inner_address, &g) >= 3);
    assert_ptr_equal(f, g);
    alqi_symbol_table_drop(table);
    alqi_symbol_table_drop(NULL);
}

static void
network_needs_both(void **state)
{
    struct alqi_symbol_debuginfod net;

    (void)state;
    unsetenv("DEBUGINFOD_URLS");
    alqi_symbol_debuginfod_init(&net, true);
    assert_false(net.is_allowed);
    setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
    alqi_symbol_debuginfod_init(&net, false);
    assert_false(net.is_allowed);
    assert_int_equal(
        alqi_symbol_debuginfod_fetch(&net, plain_id, plain_id_bytes), -1);
    assert_null(net.library); /* not even loaded */
    alqi_symbol_debuginfod_init(&net, true);
    assert_true(net.is_allowed);
    unsetenv("DEBUGINFOD_URLS");
}

static void
names_are_demangled(void **state)
{
    static const char *const names[][2] = {
        {"main", "main"},
        {"_ZN5outer4foldIiLi3EEET_RKSt6vectorIS1_SaIS1_EE",
         "int outer::fold<int, 3>(std::vector<int, std::allocator<int> > "
         "const&)"},
        {"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
         "core::fmt::Write::write_fmt"},
        {"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
        {"_Z", "_Z"},
        {"_Znonsense", "_Znonsense"},
        {"_R", "_R"},
    };
    struct alqi_symbol_demangler d = {0};
    struct alqi_base_arena arena = {0};
    size_t i;

    (void)state;
    for (i = 0; i < ALQI_COUNT_OF(names); i++) {
        assert_string_equal(alqi_symbol_demangle(&d, &arena, names[i][0]),
                            names[i][1]);
        assert_ptr_equal(alqi_symbol_demangle(&d, &arena, names[i][0]),
                         alqi_symbol_demangle(&d, &arena, names[i][0]));
    }
    alqi_symbol_demangler_drop(&d);
    alqi_base_arena_drop(&arena);
}

/* Each parameter refers to a pair of the one before: 2^n characters. */
static void
exploding_name_is_left_alone(void **state)
{
    struct alqi_symbol_demangler d = {0};
    struct alqi_base_arena arena = {0};
    char name[4096] = "_Z1f1AIiiE";
    size_t n = strlen(name);
    unsigned i;

    (void)state;
    for (i = 0; i < 30; i++) {
        /* S_ is A, S0_ is A<int, int>, then each one made here. */
        char seq = (char)(i < 10 ? '0' + i : 'A' + i - 10);

        n += (size_t)snprintf(name + n, sizeof name - n, "S_IS%c_S%c_E", seq,
                              seq);
    }
    assert_string_equal(alqi_symbol_demangle(&d, &arena, name), name);
    alqi_symbol_demangler_drop(&d);
    alqi_base_arena_drop(&arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_program),
        cmocka_unit_test(no_debug_has_functions),
        cmocka_unit_test(stripped_has_numbers),
        cmocka_unit_test(debuglink_is_followed),
        cmocka_unit_test(debuglink_checksum),
        cmocka_unit_test(build_id_finds_debug_file),
        cmocka_unit_test(another_build_id),
        cmocka_unit_test(missing_file),
        cmocka_unit_test(not_a_file),
        cmocka_unit_test(packed_sections),
        cmocka_unit_test(packed_damage_is_told),
        cmocka_unit_test(mini_debug_info),
        cmocka_unit_test(shared_debug_file),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(same_module_same_answer),
        cmocka_unit_test(network_needs_both),
        cmocka_unit_test(names_are_demangled),
        cmocka_unit_test(exploding_name_is_left_alone),
    };

    return cmocka_run_group_tests(tests, files_make, files_remove);
}
