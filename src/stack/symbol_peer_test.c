/* symbol_peer_test.c -- every address of .text against addr2line -f -i -C
 *
 * Compared for each byte of .text of small -O2 -g programs: the number of
 * frames, each function name, file (after realpath) and line.
 *
 * Tolerated, and counted:
 *   suffix   a name differs only in what the compiler appended to a copy
 *            (.cold, .part.0, " [clone .constprop.0]"): addr2line names the
 *            outermost function by its ELF symbol where DWARF has no linkage
 *            name, we prefer the name in the source;
 *   outside  no symbol holds the address (padding between functions, start
 *            files without sizes): addr2line names the nearest symbol before
 *            it, we give "program+0x...";
 *   nowhere  addr2line has no function ("??") where we have an ELF symbol;
 *   symbol   the innermost of several has no linkage name: addr2line then
 *            calls it by the ELF symbol, which is the outermost one's name;
 *            or the outermost of several has none: addr2line then has its
 *            name without namespace, we have the ELF symbol;
 *   lto      addr2line takes file 0 of a DWARF 5 unit for the unit's own
 *            name, which is "<artificial>" after link-time optimisation.
 * Everything else is a failure.  `outside` and `nowhere` may be at most a
 * quarter of the section, the others are unlimited but printed. */
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "stack/symbol.h"
#include "stack/symbol_elf.h"
#include "stack/symbol_elf_names.h"
#include "base/skip.h"

enum { FRAMES_MAX = 64, TEXT_BYTES = 4096 };

struct peer_frame {
    char function[TEXT_BYTES];
    char file[PATH_MAX];
    unsigned line;
};

struct tally {
    unsigned addresses, frames, inlined, exact;
    unsigned suffix, outside, nowhere, symbol, lto;
    unsigned wrong;
};

static struct peer_frame peer[FRAMES_MAX];

static bool
line_read(FILE *f, char *text)
{
    if (fgets(text, TEXT_BYTES, f) == NULL)
        return false;
    text[strcspn(text, "\n")] = '\0';
    return true;
}

static void
place_read(struct peer_frame *p, char *text)
{
    char *discriminator = strstr(text, " (discriminator");
    char *colon;

    if (discriminator != NULL)
        *discriminator = '\0';
    colon = strrchr(text, ':');
    assert_non_null(colon);
    *colon = '\0';
    p->line = (unsigned)strtoul(colon + 1, NULL, 10);
    if (realpath(text, p->file) == NULL)
        strcpy(p->file, text);
}

/* addr2line -a prints the address before its frames; `next` holds the first
 * line of the next address. */
static unsigned
peer_read(FILE *f, char *next)
{
    unsigned n = 0;
    char text[TEXT_BYTES];

    while (line_read(f, next) && strncmp(next, "0x", 2) != 0) {
        assert_true(n < FRAMES_MAX);
        strcpy(peer[n].function, next);
        assert_true(line_read(f, text));
        place_read(&peer[n++], text);
    }
    return n;
}

static void
stem(char *out, const char *name)
{
    static const char *const marks[] = {" [clone",     ".cold",  ".part.",
                                        ".constprop.", ".isra.", ".lto_priv."};
    char *at;
    size_t i;

    assert_true(strlen(name) < TEXT_BYTES);
    strcpy(out, name);
    for (i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        at = strstr(out, marks[i]);
        if (at != NULL)
            *at = '\0';
    }
}

/* What ELF alone says about the addresses. */
static struct alqi_symbol_names names;
static struct alqi_symbol_files named; /* what `names` points into */
static struct alqi_symbol_demangler demangler;
static struct alqi_base_arena arena;

static bool
is_elf_symbol(uint64_t address, const char *function)
{
    const char *raw = alqi_symbol_names_find(&names, address);

    return raw != NULL &&
           strcmp(alqi_symbol_demangle(&demangler, &arena, raw), function) == 0;
}

/* "std::fold<int>(int)" has the stem of "fold<int>". */
static bool
has_stem(const char *ours, const char *theirs)
{
    char head[TEXT_BYTES];

    snprintf(head, sizeof head, "%.*s<", (int)strcspn(theirs, "<"), theirs);
    return strlen(head) > 2 && strstr(ours, head) != NULL;
}

static bool
name_agrees(struct tally *t, const char *ours, const char *theirs)
{
    static char a[TEXT_BYTES], b[TEXT_BYTES];

    if (strcmp(ours, theirs) == 0)
        return true;
    stem(a, ours);
    stem(b, theirs);
    if (strcmp(a, b) != 0)
        return false;
    t->suffix++;
    return true;
}

static bool
place_agrees(struct tally *t, const struct alqi_symbol_frame *ours,
             const struct peer_frame *theirs)
{
    char real[PATH_MAX];

    if (ours->line != theirs->line)
        return false;
    if (ours->line == 0)
        return true;
    if (strstr(theirs->file, "<artificial>") != NULL) {
        t->lto++;
        return true;
    }
    if (realpath(ours->file, real) == NULL)
        strcpy(real, ours->file);
    return strcmp(real, theirs->file) == 0;
}

static void
compare(struct tally *t, uint64_t address,
        const struct alqi_symbol_frame *frames, size_t n, unsigned peers)
{
    const struct alqi_symbol_frame *ours;
    size_t i;

    t->addresses++;
    t->frames += (unsigned)n;
    t->inlined += (unsigned)n - 1;
    if (n == 1 && peers == 1 && place_agrees(t, &frames[0], &peer[0])) {
        if (strstr(frames[0].function, "+0x") != NULL) {
            t->outside++;
            return;
        }
        if (strcmp(peer[0].function, "??") == 0) {
            t->nowhere++;
            return;
        }
    }
    for (i = 0; i < n && n == peers; i++) {
        ours = &frames[n - 1 - i]; /* addr2line: innermost first */
        if (!place_agrees(t, ours, &peer[i]))
            break;
        if (name_agrees(t, ours->function, peer[i].function))
            continue;
        if (n == 1 || !((i == 0 && is_elf_symbol(address, peer[0].function)) ||
                        (i == n - 1 && is_elf_symbol(address, ours->function) &&
                         has_stem(ours->function, peer[i].function))))
            break;
        t->symbol++;
    }
    if (i == n) {
        t->exact++;
        return;
    }
    if (t->wrong++ > 10)
        return;
    print_message("0x%" PRIx64 ": %zu frames, addr2line %u\n", address, n,
                  peers);
    for (i = 0; i < n; i++)
        print_message("  ours   %s %s:%u\n", frames[n - 1 - i].function,
                      frames[n - 1 - i].file, frames[n - 1 - i].line);
    for (i = 0; i < peers; i++)
        print_message("  theirs %s %s:%u\n", peer[i].function, peer[i].file,
                      peer[i].line);
}

static void
text_find(const char *path, uint64_t *lo, uint64_t *hi)
{
    struct alqi_symbol_elf *elf;
    const struct alqi_symbol_section *s;

    assert_null(alqi_symbol_elf_open(&elf, path));
    s = alqi_symbol_elf_find(elf, ".text");
    assert_non_null(s);
    *lo = s->address;
    *hi = s->address + s->memory_bytes;
    alqi_symbol_elf_drop(elf);
}

/* A pipe of addr2line's answers for [lo, hi). */
static FILE *
peer_start(const char *path, uint64_t lo, uint64_t hi)
{
    char list[PATH_MAX], command[3 * PATH_MAX];
    FILE *f;

    assert_in_range(snprintf(list, sizeof list, "%s.addresses", path), 1,
                    sizeof list - 1);
    f = fopen(list, "w");
    assert_non_null(f);
    for (; lo < hi; lo++)
        fprintf(f, "%" PRIx64 "\n", lo);
    assert_int_equal(fclose(f), 0);
    snprintf(command, sizeof command, "addr2line -a -f -i -C -e '%s' <'%s'",
             path, list);
    f = popen(command, "r");
    assert_non_null(f);
    return f;
}

static void
names_load(const char *path)
{
    assert_null(alqi_symbol_elf_open(&named.program, path));
    alqi_symbol_names_load(&names, &named, &arena);
    assert_true(names.count > 0);
}

static void
names_drop(void)
{
    alqi_symbol_names_drop(&names);
    alqi_symbol_files_drop(&named);
    alqi_base_arena_drop(&arena);
}

static void
program_check(const char *path)
{
    struct alqi_symbol_table *table = alqi_symbol_table_new(false);
    struct alqi_symbol_module *module =
        alqi_symbol_module_open(table, path, NULL, 0);
    const struct alqi_symbol_frame *frames;
    struct tally t = {0};
    char next[TEXT_BYTES];
    uint64_t lo, hi, a;
    size_t n;
    FILE *f;

    text_find(path, &lo, &hi);
    names_load(path);
    assert_null(alqi_symbol_module_note(module));
    f = peer_start(path, lo, hi);
    assert_true(line_read(f, next));
    for (a = lo; a < hi; a++) {
        assert_int_equal(strtoull(next, NULL, 16), a);
        n = alqi_symbol_resolve(module, a, &frames);
        compare(&t, a, frames, n, peer_read(f, next));
    }
    assert_int_equal(pclose(f), 0);
    alqi_symbol_table_drop(table);
    names_drop();
    print_message("%u addresses, %u inlined frames; agree %u; tolerated: "
                  "suffix %u, outside %u, nowhere %u, symbol %u, lto %u; "
                  "wrong %u\n",
                  t.addresses, t.inlined, t.exact, t.suffix, t.outside,
                  t.nowhere, t.symbol, t.lto, t.wrong);
    assert_int_equal(t.wrong, 0);
    assert_true(4 * (t.outside + t.nowhere) <= t.addresses);
    assert_true(t.inlined > t.addresses / 10);
}

static bool
fixture_path(char *path, const char *name)
{
    snprintf(path, PATH_MAX, FIXTURE_DIR "/%s", name);
    return access(path, R_OK) == 0;
}

static void
agrees(void **state)
{
    char path[PATH_MAX];

    if (!fixture_path(path, *state)) {
        ALQI_SKIP("no compiler for the fixture");
    }
    program_check(path);
}

/* Where addr2line 2.40 is no referee, one of our answers judges the other:
 * it does not read .dwo files, and it misses inlined calls whose ranges are
 * numbers in .debug_rnglists (DWARF 5 of clang).  The code is the same. */
static void
two_alike(const char *one, const char *other)
{
    struct alqi_symbol_table *table = alqi_symbol_table_new(false);
    struct alqi_symbol_module *module[2];
    const struct alqi_symbol_frame *f[2];
    const char *const name[2] = {one, other};
    char path[PATH_MAX];
    uint64_t lo = 0, hi = 0, a;
    unsigned inlined = 0, k;
    size_t n, i;

    for (k = 0; k < 2; k++) {
        if (!fixture_path(path, name[k]))
            ALQI_SKIP("no compiler for the fixture");
        module[k] = alqi_symbol_module_open(table, path, NULL, 0);
        assert_true(lo == 0 || hi > lo);
        text_find(path, &lo, &hi);
    }
    for (a = lo; a < hi; a++) {
        n = alqi_symbol_resolve(module[0], a, &f[0]);
        assert_int_equal(alqi_symbol_resolve(module[1], a, &f[1]), n);
        inlined += n > 1;
        for (i = 0; i < n && f[0][i].line > 0; i++) {
            if (strstr(f[0][i].function, "+0x") == NULL) /* has file names */
                assert_string_equal(f[0][i].function, f[1][i].function);
            assert_string_equal(f[0][i].file, f[1][i].file);
            assert_int_equal(f[0][i].line, f[1][i].line);
            assert_int_equal(f[0][i].column, f[1][i].column);
        }
    }
    assert_true(inlined > 100);
    alqi_symbol_table_drop(table);
}

static void
split_is_like_plain(void **state)
{
    (void)state;
    two_alike("plain", "split");
}

static void
clang5_is_like_clang4(void **state)
{
    (void)state;
    two_alike("clang4", "clang5");
}

#define PROGRAM(name)                                                          \
    {                                                                          \
        "agrees_on_" name, agrees, NULL, NULL, (void *)(uintptr_t)name         \
    }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PROGRAM("plain"),
        PROGRAM("dwarf2"),
        PROGRAM("dwarf4"),
        PROGRAM("dropped"),
        PROGRAM("lto"),
        PROGRAM("clang4"),
        PROGRAM("cpp"),
        cmocka_unit_test(split_is_like_plain),
        cmocka_unit_test(clang5_is_like_clang4),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
