/* made.c -- makes code as it runs, allocates through it, and lists it
 *
 * usage: made HOW...
 *
 *   plain     list nothing
 *   map       list the code in /tmp/perf-PID.map
 *   map0x     the same, the numbers with 0x
 *   lean      as map; the code has no frame pointer, but moves the stack
 * pointer before its only call and back behind it, as that of CPython link the
 * same, but the map is a symbolic link to a file of that name with .real behind
 *   other     the same, and give the map to another user (as root)
 *   dump      list it in jit-PID.dump here, and map that
 *   tmpdump   list it in /tmp/jit-PID.dump, and map nothing
 *   touch     map memory of its own and write to it, and list nothing
 *   wait      at the end, wait for a line on standard input
 *
 * The code has frame pointers and no tables, as that of node does: `outer`
 * calls `inner`, which calls malloc, SIZE bytes each time. With a dump there is
 * more: `inner` is made again at its place as `second`, and `outer` moves. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    SIZE = 10000,
    TOUCHED_BYTES = 48 << 20,
    BLOCKS = 10,
    CODE_BYTES = 64, /* as it is listed */
    PLACE_BYTES = 4096,
    PLACES = 3
};

/* Calls its first argument with the others. */
static const uint8_t code[] = {
#if defined(__x86_64__)
    0x55, 0x48, 0x89, 0xe5,                         /* push, mov rbp    */
    0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7,             /* rax=rdi, rdi=rsi */
    0x48, 0x89, 0xd6, 0x48, 0x89, 0xca, 0xff, 0xd0, /* ..., call rax    */
    0x5d, 0xc3,
#else
    0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, /* stp x29, x30; mov x29 */
    0xf0, 0x03, 0x00, 0xaa, 0xe0, 0x03, 0x01, 0xaa, 0xe1, 0x03,
    0x02, 0xaa, 0xe2, 0x03, 0x03, 0xaa, 0x00, 0x02, 0x3f, 0xd6, /* blr x16 */
    0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6,
#endif
};

#if defined(__x86_64__)
static const uint8_t lean_code[] = {
    0x48, 0x83, 0xec, 0x08,                         /* sub $8, %rsp     */
    0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7,             /* rax=rdi, rdi=rsi */
    0x48, 0x89, 0xd6, 0x48, 0x89, 0xca, 0xff, 0xd0, /* ..., call rax    */
    0x48, 0x83, 0xc4, 0x08, 0xc3,                   /* add, ret         */
};
#else
#define lean_code code
#endif

typedef void *made_fn(void *next, void *after, size_t n, size_t unused);

static uint8_t *places;
static FILE *list;
static unsigned n_listed; /* in a dump */

static uint8_t *
place(unsigned index)
{
    return places + index * PLACE_BYTES;
}

static uint64_t
now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void
die(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- lists --------------------------------------------------------------- */

static void
map_open(const char *how)
{
    char path[64], real[80];

    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    snprintf(real, sizeof real, "%s.real", path);
    if (strcmp(how, "link") == 0 && symlink(real, path) != 0)
        die(path);
    list = fopen(strcmp(how, "link") == 0 ? real : path, "w");
    if (list == NULL)
        die(path);
    setvbuf(list, NULL, _IOLBF, 4096);
    if (strcmp(how, "other") == 0 && fchown(fileno(list), 1, 1) != 0)
        die("chown");
}

/* An older entry over both comes first. */
static void
map_list(const char *how)
{
    const char *hex = strcmp(how, "map0x") == 0 ? "0x" : "";

    map_open(how);
    fprintf(list, "%s%" PRIxPTR " %s%x Old:both\n", hex, (uintptr_t)places, hex,
            PLACES * PLACE_BYTES);
    fprintf(list, "%s%" PRIxPTR " %s%x outer with a blank\n", hex,
            (uintptr_t)place(0), hex, CODE_BYTES);
    fprintf(list, "%s%" PRIxPTR " %s%x JS:*inner /made/it.js:7:3\n", hex,
            (uintptr_t)place(1), hex, CODE_BYTES);
    fprintf(list, "not a line of a map\n");
}

static void
put32(uint32_t value)
{
    fwrite(&value, sizeof value, 1, list);
}

static void
put64(uint64_t value)
{
    fwrite(&value, sizeof value, 1, list);
}

/* Of the library's buffer, which would be allocated, nothing is used. */
static void
dump_open(const char *how)
{
    static char buffer[4096];
    char path[64];

    snprintf(path, sizeof path, "%sjit-%d.dump",
             strcmp(how, "dump") == 0 ? "" : "/tmp/", (int)getpid());
    list = fopen(path, "w+");
    if (list == NULL)
        die(path);
    setvbuf(list, buffer, _IOFBF, sizeof buffer);
    put32(0x4A695444);
    put32(1);
    put32(40);
    put32(0);
    put32(0);
    put32((uint32_t)getpid());
    put64(now_ns());
    put64(0);
    fflush(list);
    if (strcmp(how, "dump") == 0 &&
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(list), 0) ==
            MAP_FAILED)
        die("mmap");
}

static void
dump_load(unsigned at, const char *name)
{
    put32(0);
    put32((uint32_t)(56 + strlen(name) + 1 + sizeof code));
    put64(now_ns());
    put64(0);
    put64((uintptr_t)place(at));
    put64((uintptr_t)place(at));
    put64(sizeof code);
    put64(n_listed++);
    fwrite(name, 1, strlen(name) + 1, list);
    fwrite(code, 1, sizeof code, list);
    fflush(list);
}

static void
dump_move(unsigned index, unsigned from, unsigned to)
{
    put32(1);
    put32(64);
    put64(now_ns());
    put64(0);
    put64((uintptr_t)place(to));
    put64((uintptr_t)place(from));
    put64((uintptr_t)place(to));
    put64(sizeof code);
    put64(index);
    fflush(list);
}

static void
dump_close(void)
{
    put32(3);
    put32(16);
    put64(now_ns());
    fflush(list);
}

/* ---- the code ------------------------------------------------------------ */

static void
code_make(unsigned at, bool is_lean)
{
    if (is_lean)
        memcpy(place(at), lean_code, sizeof lean_code);
    else
        memcpy(place(at), code, sizeof code);
    __builtin___clear_cache((char *)place(at), (char *)place(at + 1));
}

/* The blocks stay. */
static void
run(unsigned outer, unsigned inner)
{
    made_fn *made;
    uint8_t *at = place(outer);

    memcpy(&made, &at, sizeof made);
    for (unsigned i = 0; i < BLOCKS; i++)
        if (made(place(inner), (void *)(uintptr_t)malloc, SIZE, 0) == NULL)
            die("malloc");
}

static void
run_dumped(const char *how)
{
    dump_open(how);
    dump_load(0, "outer");
    dump_load(1, "first");
    run(0, 1);
    dump_load(1, "second");
    dump_move(0, 0, 2);
    run(2, 1);
    dump_close();
}

static void
memory_touch(void)
{
    char *memory = mmap(NULL, TOUCHED_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        die("mmap");
    memset(memory, 1, TOUCHED_BYTES);
}

int
main(int argc, char **argv)
{
    places =
        mmap(NULL, PLACES * PLACE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (places == MAP_FAILED)
        die("mmap");
    for (unsigned i = 0; i < PLACES; i++)
        code_make(i, argc > 1 && strcmp(argv[1], "lean") == 0);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "wait") == 0)
            (void)getchar();
        else if (strstr(argv[i], "dump") != NULL)
            run_dumped(argv[i]);
        else {
            if (strcmp(argv[i], "touch") == 0)
                memory_touch();
            else if (strcmp(argv[i], "plain") != 0)
                map_list(argv[i]);
            run(0, 1);
        }
    }
    return 0;
}
