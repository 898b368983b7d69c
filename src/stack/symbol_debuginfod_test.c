/* symbol_debuginfod_test.c -- debug files from a server on the loopback
 *
 * Needs Debian's debuginfod; without it only the silent server is tested,
 * and that only where its client library is. */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "stack/symbol.h"
#include "stack/symbol_elf.h"
#include "stack/symbol_debuginfod.h"
#include "base/skip.h"

static char dir[PATH_MAX / 4];

static void
run(const char *command)
{
    char text[PATH_MAX];

    snprintf(text, sizeof text, "cd '%s' && %s", dir, command);
    assert_int_equal(system(text), 0);
}

enum { PATIENCE_S = 600 };

static int64_t
now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A socket that listens on a free port of the loopback. */
static int
listen_somewhere(int *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t bytes = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &bytes), 0);
    assert_int_equal(listen(fd, 4), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

static void
urls_set(int port)
{
    char url[64];

    snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    setenv("DEBUGINFOD_URLS", url, 1);
}

static bool
accepts(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_there;

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_there = connect(fd, (struct sockaddr *)&a, sizeof a) == 0;
    close(fd);
    return is_there;
}

static int
dir_make(void **state)
{
    char cache[PATH_MAX];

    (void)state;
    snprintf(dir, sizeof dir, "%s/symbol_net_XXXXXX", FIXTURE_DIR);
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(cache, sizeof cache, "%s/cache", dir);
    setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
    setenv("HOME", dir, 1);
    setenv("ALIQUOT_CACHE", "", 1);
    run("mkdir served && cp " FIXTURE_DIR "/plain whole && "
        "objcopy --only-keep-debug whole served/plain.debug && "
        "strip -o stripped whole");
    return 0;
}

static int
dir_remove(void **state)
{
    char text[PATH_MAX];

    (void)state;
    snprintf(text, sizeof text, "rm -rf '%s'", dir);
    return system(text);
}

static bool
has_client(void)
{
    struct alqi_symbol_debuginfod net;
    uint8_t id[20] = {1};
    bool has_library;

    setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
    alqi_symbol_debuginfod_init(&net, true);
    assert_int_equal(alqi_symbol_debuginfod_fetch(&net, id, sizeof id), -1);
    has_library = net.library != NULL;
    alqi_symbol_debuginfod_drop(&net);
    return has_library;
}

static pid_t
server_start(int *port)
{
    char number[16], served[PATH_MAX];
    pid_t pid;
    int i;

    close(listen_somewhere(port)); /* very likely still free */
    snprintf(number, sizeof number, "%d", *port);
    snprintf(served, sizeof served, "%s/served", dir);
    pid = fork();
    if (pid == 0) {
        freopen("/dev/null", "w", stdout);
        freopen("/dev/null", "w", stderr);
        execl("/usr/bin/debuginfod", "debuginfod", "-d", ":memory:", "-p",
              number, "-F", served, (char *)NULL);
        _exit(127);
    }
    for (i = 0; i < PATIENCE_S * 20 && !accepts(*port); i++)
        usleep(50000);
    return pid;
}

/* The server first has to look through its folder: several tries. */
static size_t
frames_from_server(char *note, size_t note_bytes)
{
    char path[PATH_MAX];
    struct alqi_symbol_elf *elf;
    const struct alqi_symbol_frame *f;
    uint64_t lo, hi, a;
    size_t best = 0, n;
    int i;

    snprintf(path, sizeof path, "%s/stripped", dir);
    assert_null(alqi_symbol_elf_open(&elf, path));
    lo = elf->text_lo;
    hi = elf->text_hi;
    alqi_symbol_elf_drop(elf);
    for (i = 0; i < PATIENCE_S * 10 && best == 0; i++) {
        struct alqi_symbol_table *table = alqi_symbol_table_new(true);
        struct alqi_symbol_module *m =
            alqi_symbol_module_open(table, path, NULL, 0);
        const char *said = alqi_symbol_module_note(m);

        snprintf(note, note_bytes, "%s", said != NULL ? said : "");
        for (a = lo; said == NULL && a < hi; a++) {
            n = alqi_symbol_resolve(m, a, &f);
            best = n > best ? n : best;
        }
        alqi_symbol_table_drop(table);
        if (best == 0) {
            run("rm -rf cache"); /* it remembers what is not there */
            usleep(100000);
        }
    }
    return best;
}

static void
server_has_it(void **state)
{
    char note[600];
    size_t frames;
    pid_t pid;
    int port, status;

    (void)state;
    if (access("/usr/bin/debuginfod", X_OK) != 0) {
        ALQI_SKIP("no /usr/bin/debuginfod");
    }
    pid = server_start(&port);
    urls_set(port);
    frames = frames_from_server(note, sizeof note);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    assert_string_equal(note, "");
    assert_true(frames >= 3);
}

static void
silent_server(void **state)
{
    struct alqi_symbol_debuginfod net;
    uint8_t id[20] = {9, 8, 7};
    int port, fd = listen_somewhere(&port);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int64_t start_ms;

    (void)state;
    if (!has_client()) {
        ALQI_SKIP("no libdebuginfod");
    }
    urls_set(port);
    setenv("DEBUGINFOD_TIMEOUT", "86400", 1); /* the client's own */
    alqi_symbol_debuginfod_init(&net, true);
    net.limit_ms = 300;
    start_ms = now_ms();
    assert_int_equal(alqi_symbol_debuginfod_fetch(&net, id, sizeof id), -1);
    assert_true(now_ms() - start_ms >= 300);
    assert_true(net.has_given_up);
    while (poll(&p, 1, 0) == 1)
        close(accept(fd, NULL, NULL));
    assert_int_equal(alqi_symbol_debuginfod_fetch(&net, id, sizeof id), -1);
    assert_int_equal(poll(&p, 1, 0), 0); /* nobody was asked */
    alqi_symbol_debuginfod_drop(&net);
    close(fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_has_it),
        cmocka_unit_test(silent_server),
    };

    return cmocka_run_group_tests(tests, dir_make, dir_remove);
}
