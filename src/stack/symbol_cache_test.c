/* symbol_cache_test.c -- the cache of symbols: same answers, nothing trusted
 *
 * Programs of tests/symbol, and variants of one as packagers make them, are
 * resolved without a cache, with an empty one, and with what that left. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <zlib.h>

#include "base/base.h"
#include "stack/symbol.h"
#include "stack/symbol_elf.h"

enum { STEP = 7 };

static char dir[PATH_MAX / 2];   /* all this test makes */
static char cache[PATH_MAX - 1]; /* "dir/cache" */

/* The linker lets allocations come here (--wrap): the one numbered `fails_at`
 * fails, from 1 on. */
static uint64_t allocations, fails_at;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);

static bool
allocation_fails(void)
{
    if (++allocations != fails_at)
        return false;
    errno = ENOMEM;
    return true;
}

void *
__wrap_malloc(size_t bytes)
{
    return allocation_fails() ? NULL : __real_malloc(bytes);
}

void *
__wrap_calloc(size_t n, size_t bytes)
{
    return allocation_fails() ? NULL : __real_calloc(n, bytes);
}

void *
__wrap_realloc(void *block, size_t bytes)
{
    return allocation_fails() ? NULL : __real_realloc(block, bytes);
}

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

static const char *
in_dir(const char *name)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* What a table says of a program. */
struct seen {
    char *text; /* of all frames, and the note */
    bool is_loaded;
};

static void
seen_drop(struct seen *s)
{
    free(s->text);
    s->text = NULL;
}

static void
frames_print(FILE *out, uint64_t address, const struct alqi_symbol_frame *f,
             size_t n)
{
    fprintf(out, "%llx", (unsigned long long)address);
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %s %s:%u:%u", f[i].function, f[i].file, f[i].line,
                f[i].column);
    fputc('\n', out);
}

/* Resolves each step-th address of .text of `path`, from `first` on. */
static struct seen
look(const char *path, unsigned first, unsigned step)
{
    struct alqi_symbol_table *table = alqi_symbol_table_new(true);
    struct alqi_symbol_module *m =
        alqi_symbol_module_open(table, path, NULL, 0);
    const struct alqi_symbol_section *s;
    const struct alqi_symbol_frame *f;
    struct seen seen = {0};
    struct alqi_symbol_elf *elf;
    const char *note;
    size_t bytes;
    FILE *out = open_memstream(&seen.text, &bytes);
    uint64_t a;

    assert_non_null(out);
    assert_null(alqi_symbol_elf_open(&elf, path));
    s = alqi_symbol_elf_find(elf, ".text");
    assert_non_null(s);
    for (a = s->address + first; a < s->address + s->memory_bytes; a += step) {
        size_t n = alqi_symbol_resolve(m, a, &f);

        frames_print(out, a, f, n);
    }
    seen.is_loaded = alqi_symbol_module_is_loaded(m);
    note = alqi_symbol_module_note(m);
    fprintf(out, "%s\n", note != NULL ? note : "");
    assert_int_equal(fclose(out), 0);
    alqi_symbol_elf_drop(elf);
    alqi_symbol_table_drop(table);
    return seen;
}

/* Fills the cache, and checks nothing: memory may run out, and a child must not
 * go on with the tests. */
static void
look_quietly(const char *path, unsigned first)
{
    struct alqi_symbol_table *table = alqi_symbol_table_new(true);
    const struct alqi_symbol_frame *f;
    const struct alqi_symbol_section *s;
    struct alqi_symbol_module *m;
    struct alqi_symbol_elf *elf;

    if (table == NULL)
        return;
    m = alqi_symbol_module_open(table, path, NULL, 0);
    if (alqi_symbol_elf_open(&elf, path) == NULL) {
        s = alqi_symbol_elf_find(elf, ".text");
        for (uint64_t a = first; s != NULL && a < s->memory_bytes; a += STEP)
            alqi_symbol_resolve(m, s->address + a, &f);
        alqi_symbol_elf_drop(elf);
    }
    alqi_symbol_table_drop(table);
}

/* It has answers, wherever the environment says that the cache is. */
static void
check_answers(const char *path)
{
    struct seen s = look(path, 0, STEP);

    assert_non_null(strstr(s.text, "aliased"));
    seen_drop(&s);
}

static void
cache_clear(void)
{
    run("rm -rf cache");
    setenv("ALIQUOT_CACHE", cache, 1);
}

static struct seen
look_without(const char *path)
{
    struct seen s;

    setenv("ALIQUOT_CACHE", "", 1);
    s = look(path, 0, STEP);
    setenv("ALIQUOT_CACHE", cache, 1);
    return s;
}

/* The program's answers now are those it has without a cache; whether it had
 * to be loaded for them. */
static bool
check_same(const char *path)
{
    struct seen without = look_without(path), now = look(path, 0, STEP);
    bool is_loaded = now.is_loaded;

    assert_true(without.is_loaded);
    assert_string_equal(without.text, now.text);
    seen_drop(&without);
    seen_drop(&now);
    return is_loaded;
}

static unsigned
files_count(void)
{
    struct dirent *entry;
    DIR *list = opendir(cache);
    unsigned n = 0;

    while (list != NULL && (entry = readdir(list)) != NULL)
        n += entry->d_name[0] != '.';
    if (list != NULL)
        closedir(list);
    return n;
}

/* The path of the only file of the cache. */
static const char *
file_of(void)
{
    static char path[PATH_MAX + NAME_MAX + 2];
    struct dirent *entry;
    DIR *list = opendir(cache);

    assert_non_null(list);
    assert_int_equal(files_count(), 1);
    while ((entry = readdir(list)) != NULL)
        if (entry->d_name[0] != '.')
            snprintf(path, sizeof path, "%s/%s", cache, entry->d_name);
    closedir(list);
    return path;
}

static int
files_make(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "%s/symbol_cache_XXXXXX", FIXTURE_DIR);
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(cache, sizeof cache, "%s/cache", dir);
    unsetenv("DEBUGINFOD_URLS");
    run("cp %s/plain whole", FIXTURE_DIR);
    run("objcopy --only-keep-debug whole plain.debug");
    run("strip -o stripped whole");
    run("objcopy --strip-debug whole nodebug");
    run("strip -o linked whole && mkdir .debug && "
        "cp plain.debug .debug/linked.debug && "
        "cp plain.debug linked.debug && "
        "objcopy --add-gnu-debuglink=linked.debug linked");
    run("objcopy --compress-debug-sections=zlib whole packed");
    run("objcopy --remove-section=.note.gnu.build-id whole nameless");
    return 0;
}

static int
files_remove(void **state)
{
    (void)state;
    if (dir[0] != '\0')
        run("chmod -R u+rwx . && rm -rf '%s'", dir);
    return 0;
}

/* ---- same answers -------------------------------------------------------- */

static void
same_cold_and_warm(void **state)
{
    static const char *const made[] = {"whole", "stripped", "nodebug", "linked",
                                       "packed"};
    static const char *const fixtures[] = {"dwarf4", "dwarf2", "dropped", "lto",
                                           "cpp",    "clang4", "clang5"};
    char path[PATH_MAX];

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(made); i++) {
        cache_clear();
        assert_true(check_same(in_dir(made[i])));
        assert_false(check_same(in_dir(made[i])));
    }
    for (size_t i = 0; i < ALQI_COUNT_OF(fixtures); i++) {
        snprintf(path, sizeof path, "%s/%s", FIXTURE_DIR, fixtures[i]);
        if (access(path, R_OK) != 0)
            continue; /* no such compiler */
        cache_clear();
        assert_true(check_same(path));
        assert_false(check_same(path));
        assert_int_equal(files_count(), 1);
    }
}

/* All addresses that were asked for, by any command, are there. */
static void
answers_add_up(void **state)
{
    struct seen s;

    (void)state;
    cache_clear();
    for (unsigned i = 0; i < 2 * STEP; i++) {
        s = look(in_dir("whole"), i % STEP, STEP);
        assert_int_equal(s.is_loaded, i < STEP);
        seen_drop(&s);
    }
    s = look(in_dir("whole"), 0, 1);
    assert_false(s.is_loaded);
    seen_drop(&s);
    assert_int_equal(files_count(), 1);
}

/* Not kept: nothing that names the file, or files that are not in the key. */
static void
some_are_not_kept(void **state)
{
    char path[PATH_MAX];

    (void)state;
    cache_clear();
    assert_true(check_same(in_dir("nameless")));
    assert_true(check_same(in_dir("nameless")));
    snprintf(path, sizeof path, "%s/split", FIXTURE_DIR);
    assert_true(check_same(path));
    assert_true(check_same(path));
    assert_int_equal(files_count(), 0);
}

/* What is unpacked only then is damaged: each command says so. */
static void
damage_is_not_kept(void **state)
{
    const struct alqi_symbol_section *s;
    struct alqi_symbol_elf *elf;
    struct seen seen;
    long offset;
    FILE *f;

    (void)state;
    cache_clear();
    run("cp packed broken");
    assert_null(alqi_symbol_elf_open(&elf, in_dir("broken")));
    s = alqi_symbol_elf_find(elf, ".debug_info");
    assert_non_null(s);
    offset = (long)(s->bytes - elf->bytes) + (long)s->size_bytes / 2;
    alqi_symbol_elf_drop(elf);
    f = fopen(in_dir("broken"), "r+");
    assert_non_null(f);
    assert_int_equal(fseek(f, offset, SEEK_SET), 0);
    assert_true(fputs("damage", f) >= 0);
    assert_int_equal(fclose(f), 0);
    for (int i = 0; i < 2; i++) {
        seen = look(in_dir("broken"), 0, STEP);
        assert_non_null(strstr(seen.text, "debug sections are damaged"));
        seen_drop(&seen);
    }
    assert_int_equal(files_count(), 0);
}

/* ---- keys ---------------------------------------------------------------- */

static void
debug_file_comes_and_goes(void **state)
{
    (void)state;
    cache_clear();
    run("mv linked.debug away && mv .debug/linked.debug away2");
    assert_true(check_same(in_dir("linked")));
    assert_false(check_same(in_dir("linked")));
    run("cp away linked.debug"); /* installed later */
    assert_true(check_same(in_dir("linked")));
    assert_false(check_same(in_dir("linked")));
    run("cp -p linked.debug other && mv other linked.debug"); /* replaced */
    assert_true(check_same(in_dir("linked")));
    run("touch -d '2020-01-01' linked.debug");
    assert_true(check_same(in_dir("linked")));
    run("mv linked.debug away && mv away2 .debug/linked.debug"); /* elsewhere */
    assert_true(check_same(in_dir("linked")));
    run("mv .debug/linked.debug away2"); /* removed */
    assert_false(check_same(in_dir("linked")));
    run("mv away linked.debug && mv away2 .debug/linked.debug");
}

/* A frame without a name has that of its file. */
static void
name_counts(void **state)
{
    (void)state;
    cache_clear();
    assert_true(check_same(in_dir("stripped")));
    run("ln stripped twin");
    assert_true(check_same(in_dir("twin")));
    assert_false(check_same(in_dir("twin")));
    assert_false(check_same(in_dir("stripped")));
}

/* ---- damaged and hostile files ------------------------------------------- */

/* Of the file's header, as symbol_cache.c lays it out. */
enum {
    AT_FILE_BYTES = 8,
    AT_CHECKSUM = 12,
    AT_ADDRESSES = 16,
    AT_FRAMES = 20,
    AT_TEXT_BYTES = 24,
    AT_KEY = 32
};

struct file {
    uint8_t *bytes;
    size_t n;
};

static struct file
file_load(const char *path)
{
    struct stat st;
    struct file file;
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    file.n = (size_t)st.st_size;
    file.bytes = malloc(file.n + 16);
    assert_non_null(file.bytes);
    assert_int_equal(fread(file.bytes, 1, file.n, f), file.n);
    fclose(f);
    return file;
}

static void
file_save(const char *path, const uint8_t *bytes, size_t n)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static uint32_t
u32_at(const struct file *f, size_t at)
{
    uint32_t value;

    memcpy(&value, f->bytes + at, sizeof value);
    return value;
}

/* Refused: the answers are right, the module was loaded, and the file is whole
 * again. */
static void
check_refused(const char *path, const struct file *good, const uint8_t *bytes,
              size_t n)
{
    struct file again;

    file_save(path, bytes, n);
    assert_true(check_same(in_dir("whole")));
    again = file_load(path);
    assert_int_equal(again.n, good->n);
    assert_memory_equal(again.bytes, good->bytes, good->n);
    free(again.bytes);
}

static struct file
file_good(const char **path)
{
    cache_clear();
    assert_true(check_same(in_dir("whole")));
    *path = file_of();
    return file_load(*path);
}

static void
damage_is_refused(void **state)
{
    const char *path;
    struct file good = file_good(&path);
    uint8_t *bytes = malloc(good.n + 1);

    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < good.n; i += 1 + good.n / 29) {
        memcpy(bytes, good.bytes, good.n);
        bytes[i] ^= 1;
        check_refused(path, &good, bytes, good.n);
        check_refused(path, &good, good.bytes, i);
    }
    memcpy(bytes, good.bytes, good.n);
    bytes[good.n] = 0;
    check_refused(path, &good, bytes, good.n + 1);
    free(bytes);
    free(good.bytes);
}

/* One number of the file is another, and the checksum is right. */
static void
check_forged(const char *path, const struct file *good, size_t at,
             uint32_t value)
{
    uint8_t *bytes = malloc(good->n);
    uint32_t sum;

    assert_non_null(bytes);
    assert_true(at + sizeof value <= good->n);
    memcpy(bytes, good->bytes, good->n);
    memcpy(bytes + at, &value, sizeof value);
    sum = (uint32_t)crc32_z(crc32_z(0, NULL, 0), bytes + AT_ADDRESSES,
                            good->n - AT_ADDRESSES);
    memcpy(bytes + AT_CHECKSUM, &sum, sizeof sum);
    check_refused(path, good, bytes, good->n);
    free(bytes);
}

static void
forged_file_is_refused(void **state)
{
    const char *path;
    struct file good = file_good(&path);
    uint32_t n = u32_at(&good, AT_ADDRESSES),
             n_frames = u32_at(&good, AT_FRAMES),
             n_text_bytes = u32_at(&good, AT_TEXT_BYTES);
    size_t texts = good.n - n_text_bytes;
    size_t frames = texts - 16 * (size_t)n_frames;
    size_t firsts = frames - 4 * ((size_t)n + 1);
    size_t addresses = firsts - 8 * (size_t)n;

    (void)state;
    assert_true(n > 10);
    /* the layout is as it is thought to be: what is not changed is taken */
    assert_int_equal(u32_at(&good, firsts), 0);
    assert_int_equal(u32_at(&good, firsts + 4 * (size_t)n), n_frames);
    check_forged(path, &good, AT_FILE_BYTES, (uint32_t)good.n + 8);
    check_forged(path, &good, AT_ADDRESSES, 0);
    check_forged(path, &good, AT_ADDRESSES, n + 1);
    check_forged(path, &good, AT_ADDRESSES, UINT32_MAX);
    check_forged(path, &good, AT_FRAMES, UINT32_MAX);
    check_forged(path, &good, AT_TEXT_BYTES, 0);
    check_forged(path, &good, AT_TEXT_BYTES, UINT32_MAX);
    check_forged(path, &good, AT_KEY, u32_at(&good, AT_KEY) + 1);
    check_forged(path, &good, addresses + 8, UINT32_MAX);
    check_forged(path, &good, addresses + 4, 1);
    check_forged(path, &good, firsts, 1);
    check_forged(path, &good, firsts + 4, 0);
    check_forged(path, &good, firsts + 4, UINT32_MAX);
    check_forged(path, &good, firsts + 4, n_frames);
    check_forged(path, &good, firsts + 4 * (size_t)n, n_frames + 1);
    check_forged(path, &good, frames, n_text_bytes);
    check_forged(path, &good, frames, UINT32_MAX);
    check_forged(path, &good, frames, n_text_bytes - 1); /* no name */
    check_forged(path, &good, frames + 4, n_text_bytes);
    check_forged(path, &good, good.n - 4, 0x41414141); /* no end */
    free(good.bytes);
}

/* ---- whose it is, and where ---------------------------------------------- */

static void
others_files_are_not_trusted(void **state)
{
    const char *path;
    struct file good = file_good(&path);

    (void)state;
    assert_int_equal(chmod(path, 0620), 0);
    assert_true(check_same(in_dir("whole"))); /* and written anew */
    assert_false(check_same(in_dir("whole")));
    run("chmod 770 cache");
    assert_true(check_same(in_dir("whole")));
    assert_true(check_same(in_dir("whole")));
    run("chmod 700 cache");
    assert_false(check_same(in_dir("whole")));
    if (geteuid() == 0) { /* as root finds a user's home under sudo */
        run("chown 12345 cache");
        assert_true(check_same(in_dir("whole")));
        run("chown 0 cache && chown 12345 cache/*");
        assert_true(check_same(in_dir("whole")));
    }
    free(good.bytes);
}

static void
link_is_not_followed(void **state)
{
    const char *path;
    struct file good = file_good(&path);

    (void)state;
    run("mv '%s' elsewhere && ln -s ../elsewhere '%s'", path, path);
    assert_true(check_same(in_dir("whole")));
    run("test ! -L '%s' && cmp '%s' elsewhere && rm elsewhere", path, path);
    free(good.bytes);
}

static void
check_mode(const char *path, mode_t mode)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, mode);
}

static void
environment_says_where(void **state)
{
    (void)state;
    cache_clear();
    assert_true(check_same(in_dir("whole")));
    check_mode(cache, 0700);
    check_mode(file_of(), 0600);

    run("mkdir home");
    setenv("HOME", in_dir("home"), 1);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("ALIQUOT_CACHE");
    for (int i = 0; i < 2; i++) {
        struct seen s = look(in_dir("whole"), 0, STEP);

        assert_int_equal(s.is_loaded, i == 0);
        seen_drop(&s);
    }
    run("ls home/.cache/aliquot/symbols/*.symbols >ls");
    check_mode(in_dir("home/.cache/aliquot/symbols"), 0700);
    setenv("XDG_CACHE_HOME", in_dir("xdg"), 1);
    for (int i = 0; i < 2; i++) {
        struct seen s = look(in_dir("whole"), 0, STEP);

        assert_int_equal(s.is_loaded, i == 0);
        seen_drop(&s);
    }
    run("ls xdg/aliquot/symbols/*.symbols >ls");
    if (geteuid() == 0) { /* nothing is made in another user's home */
        run("rm -rf home/.cache && chown 12345 home");
        unsetenv("XDG_CACHE_HOME");
        check_answers(in_dir("whole"));
        run("test ! -e home/.cache");
    }
    run("rm -rf home xdg");
    cache_clear();
}

/* No directory, none that can be made, no room. */
static void
works_without(void **state)
{
    (void)state;
    cache_clear();
    run(": >cache");
    assert_true(check_same(in_dir("whole")));
    assert_true(check_same(in_dir("whole")));
    run("rm cache");
    setenv("ALIQUOT_CACHE", "/proc/self/none", 1);
    check_answers(in_dir("whole"));
    unsetenv("ALIQUOT_CACHE");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    check_answers(in_dir("whole"));
    setenv("HOME", "/proc", 1);
    check_answers(in_dir("whole"));
    cache_clear();
    /* a disk that is full in the middle of the file: SIGXFSZ is ignored */
    if (fork() == 0) {
        struct rlimit limit = {1000, 1000};

        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        look_quietly(in_dir("whole"), 0);
        _exit(0);
    }
    assert_true(wait(NULL) > 0);
    assert_int_equal(files_count(), 0);
    assert_true(check_same(in_dir("whole")));
    assert_false(check_same(in_dir("whole")));
}

/* ---- many at once, too many ---------------------------------------------- */

/* The last one wins; the file is whole at any time. */
static void
writers_at_once(void **state)
{
    enum { WRITERS = 6 };
    struct seen without = look_without(in_dir("whole")), s;
    int status;

    (void)state;
    cache_clear();
    for (unsigned i = 0; i < WRITERS; i++) {
        if (fork() == 0) {
            for (unsigned k = 0; k < 20; k++)
                look_quietly(in_dir("whole"), (i + k) % STEP);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    s = look(in_dir("whole"), 0, STEP);
    assert_string_equal(s.text, without.text);
    seen_drop(&s);
    assert_false(check_same(in_dir("whole")));
    assert_int_equal(files_count(), 1);
    seen_drop(&without);
}

static void
old_files_go(void **state)
{
    (void)state;
    cache_clear();
    run("mkdir -m 700 cache && cd cache && for i in $(seq 100 399); do "
        "truncate -s 1M $i.symbols && touch -d \"2020-01-01 0:0:0 $i minutes\" "
        "$i.symbols; done; : >left.new; touch -d 2020-01-01 left.new; "
        ": >going.new; : >foreign");
    assert_true(check_same(in_dir("whole")));
    /* 300 MiB and a little: until 192 are left */
    run("cd cache && test ! -e left.new && test -e going.new && "
        "test -e foreign && test ! -e 208.symbols && test -e 209.symbols && "
        "test -e 399.symbols");
    assert_int_equal(files_count(), 191 + 3);
    assert_false(check_same(in_dir("whole")));
    cache_clear();
    run("mkdir -m 700 cache && cd cache && seq -f %%05.0f.symbols 1 4100 | "
        "xargs touch -d 2020-01-01");
    assert_true(check_same(in_dir("whole")));
    assert_int_equal(files_count(), 3072);
    assert_false(check_same(in_dir("whole")));
}

/* A file that is used is the last to go. */
static void
use_counts(void **state)
{
    struct stat st;

    (void)state;
    cache_clear();
    assert_true(check_same(in_dir("whole")));
    run("touch -d 2020-01-01 cache/*");
    assert_false(check_same(in_dir("whole")));
    assert_int_equal(stat(file_of(), &st), 0);
    assert_true(time(NULL) - st.st_mtim.tv_sec < 24 * 3600);
}

/* What one allocation that fails leaves out is not left out for ever. */
static void
short_memory_is_not_kept(void **state)
{
    const char *path = access(FIXTURE_DIR "/cpp", R_OK) == 0
                           ? FIXTURE_DIR "/cpp"
                           : FIXTURE_DIR "/plain";
    struct seen without = look_without(path), now;
    uint64_t n, k, failed = 0;

    (void)state;
    cache_clear();
    allocations = 0;
    look_quietly(path, 0);
    n = allocations;
    for (k = 1; k <= n; k += 1 + n / 199) {
        cache_clear();
        allocations = 0;
        fails_at = k;
        look_quietly(path, 0);
        failed += allocations >= k;
        fails_at = 0;
        now = look(path, 0, STEP);
        assert_string_equal(without.text, now.text);
        seen_drop(&now);
    }
    assert_true(failed > 20);
    seen_drop(&without);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_cold_and_warm),
        cmocka_unit_test(answers_add_up),
        cmocka_unit_test(some_are_not_kept),
        cmocka_unit_test(damage_is_not_kept),
        cmocka_unit_test(debug_file_comes_and_goes),
        cmocka_unit_test(name_counts),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(forged_file_is_refused),
        cmocka_unit_test(others_files_are_not_trusted),
        cmocka_unit_test(link_is_not_followed),
        cmocka_unit_test(environment_says_where),
        cmocka_unit_test(works_without),
        cmocka_unit_test(writers_at_once),
        cmocka_unit_test(old_files_go),
        cmocka_unit_test(use_counts),
        cmocka_unit_test(short_memory_is_not_kept),
    };

    return cmocka_run_group_tests(tests, files_make, files_remove);
}
