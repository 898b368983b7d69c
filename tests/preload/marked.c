/* marked.c -- phases whose blocks are known
 *
 *   marked N [wait]   N blocks of 100 bytes, all kept; "loaded": 2 N, and the
 *                     first N are freed; "work": 3 N, freed at once; "work"
 *                     again: N; a forked child, "child": 4 N.  With `wait` then
 *                     a line is printed and one read, and N blocks follow.
 *
 * Built with TRACE it has libaliquot, by which it traces its malloc, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <aliquot/control.h>
#ifdef TRACE
#include <aliquot/trace.h>
#endif

enum { BYTES = 100 };

static size_t n;

__attribute__((noinline)) static void *
take(void)
{
    void *block = malloc(BYTES);

    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

__attribute__((noinline)) static void
keep(size_t n_blocks)
{
    for (size_t i = 0; i < n_blocks; i++)
        take();
}

__attribute__((noinline)) static void
work(void)
{
    for (size_t i = 0; i < 3 * n; i++)
        free(take());
}

static void
wait_for_line(void)
{
    char line[16];

    printf("ready %ld\n", (long)getpid());
    fflush(stdout);
    if (read(STDIN_FILENO, line, sizeof line) >= 0)
        keep(n);
}

int
main(int argc, char **argv)
{
    void **first;

    if (argc < 2)
        return 2;
    n = strtoul(argv[1], NULL, 10);
    first = calloc(n, sizeof *first);
#ifdef TRACE
    if (first == NULL || alq_trace_start(NULL, "own.ctf", 1) != ALQ_OK)
        return 3;
#endif
    for (size_t i = 0; i < n; i++)
        first[i] = take();
    alq_mark("loaded");
    keep(2 * n);
    for (size_t i = 0; i < n; i++)
        free(first[i]);
    alq_mark("work");
    work();
    alq_mark("work");
    keep(n);
    if (fork() == 0) {
        alq_mark("child");
        keep(4 * n);
        _exit(0);
    }
    wait(NULL);
    if (argc > 2)
        wait_for_line();
#ifdef TRACE
    alq_trace_stop(NULL);
#endif
    return 0;
}
