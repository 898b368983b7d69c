/* steady.c -- for tests: a program that allocates when it is told to
 *
 * A line on standard input is a command; when it is done, "ok" is printed.
 *   keep N SIZE    N blocks, kept
 *   brief N SIZE   N blocks, each freed at once
 *   drop           frees all that is kept
 *   exit
 * Nothing else in it allocates meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_MAX = 100000 };

static void *kept[KEPT_MAX];
static int n_kept;

__attribute__((noinline)) static void
keep_blocks(int n, size_t size)
{
    for (int i = 0; i < n && n_kept < KEPT_MAX; i++)
        kept[n_kept++] = malloc(size);
}

__attribute__((noinline)) static void
brief_blocks(int n, size_t size)
{
    for (int i = 0; i < n; i++) {
        void *volatile block = malloc(size);

        free(block);
    }
}

__attribute__((noinline)) static void
drop_blocks(void)
{
    while (n_kept > 0)
        free(kept[--n_kept]);
}

int
main(void)
{
    static char in[4096], out[4096], line[100], command[20];
    unsigned long size;
    int n;

    setvbuf(stdin, in, _IOFBF, sizeof in);
    setvbuf(stdout, out, _IOLBF, sizeof out);
    puts("ok");
    while (fgets(line, sizeof line, stdin) != NULL) {
        n = 0;
        size = 0;
        if (sscanf(line, "%19s %d %lu", command, &n, &size) < 1)
            continue;
        if (strcmp(command, "keep") == 0)
            keep_blocks(n, size);
        else if (strcmp(command, "brief") == 0)
            brief_blocks(n, size);
        else if (strcmp(command, "drop") == 0)
            drop_blocks();
        else if (strcmp(command, "exit") == 0)
            break;
        puts("ok");
    }
    return 0;
}
