/* runs.c -- a program of which runs_test.py knows how much memory it touched,
 * how long it ran, and how it ended
 *
 * runs CASE: each case says what it does.  A touch reaches each page. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIECES = 64, PIECE_BYTES = 1 << 20 };

static void *volatile kept;

/* The kernel's maximum, for the test: the program's last word. */
static void
most_print(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    printf("%ld\n", usage.ru_maxrss);
    fflush(stdout);
}

/* Many blocks, all of them touched, then freed. */
static void
pieces(void)
{
    static char *p[PIECES];

    for (int i = 0; i < PIECES; i++)
        memset(p[i] = malloc(PIECE_BYTES), 1, PIECE_BYTES);
    for (int i = 0; i < PIECES; i++)
        free(p[i]);
}

/* One block; is_touched: all of it. */
static void
block(int is_touched)
{
    char *p = malloc((size_t)PIECES * PIECE_BYTES);

    kept = p;
    if (is_touched)
        memset(p, 1, (size_t)PIECES * PIECE_BYTES);
    free(p);
}

/* Pages that no block has, between a block and another. */
static void
pages(void)
{
    size_t bytes = (size_t)PIECES * PIECE_BYTES;
    char *p;

    kept = malloc(100);
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
             -1, 0);
    memset(p, 1, bytes);
    munmap(p, bytes);
    kept = malloc(100);
}

/* A block, and nothing for that many milliseconds. */
static void
idle(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};

    kept = malloc(100000);
    while (nanosleep(&left, &left) != 0)
        continue;
}

/* Ends in one of the ways; does not return. */
static void
end(const char *how)
{
    kept = malloc(100000);
    if (strcmp(how, "_exit") == 0)
        _exit(3);
    if (strcmp(how, "_Exit") == 0)
        _Exit(3);
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(3);
    if (strcmp(how, "exec") == 0)
        execl("/bin/true", "true", (char *)NULL);
    if (strcmp(how, "killed") == 0)
        raise(SIGKILL);
    if (strcmp(how, "failed_exec") == 0)
        execl("/nonexistent/program", "program", (char *)NULL);
    if (strcmp(how, "bare") == 0)
        syscall(SYS_exit_group, 3);
    exit(3);
}

/* In a child each. */
static void
children(int n, char **how)
{
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid == 0)
            end(how[i]);
        waitpid(pid, NULL, 0);
    }
    kept = malloc(100000);
}

int
main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "end") == 0)
        end(argv[2]);
    if (strcmp(what, "children") == 0)
        children(argc - 2, argv + 2);
    if (strcmp(what, "pieces") == 0)
        pieces();
    if (strcmp(what, "touched") == 0)
        block(1);
    if (strcmp(what, "untouched") == 0)
        block(0);
    if (strcmp(what, "pages") == 0)
        pages();
    if (strcmp(what, "idle") == 0)
        idle(argc > 2 ? atol(argv[2]) : 300);
    most_print();
    return 0;
}
