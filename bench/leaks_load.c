/* leaks_load.c -- N blocks, half of them in lists that are held, half lost in
 * pairs; or MIB of memory that leads nowhere
 *
 * usage: leaks_load BLOCKS MIB [wait]; says "ready", then waits for its input
 * to end if it is told to
 *        leaks_load BLOCKS MIB fork; says for how many ms the system copies the
 * process, five times. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LISTS = 1024, BLOCK_BYTES = 48 };

struct block {
    struct block *next;
    uint64_t rest[BLOCK_BYTES / 8 - 1];
};

static struct block *lists[LISTS];
static uint64_t *filled;

static struct block *
block_make(struct block *next)
{
    struct block *b = calloc(1, sizeof *b);

    b->next = next;
    return b;
}

static void
blocks_make(uint64_t n)
{
    for (uint64_t i = 0; i + 4 <= n; i += 4) {
        struct block **list = &lists[i / 4 * 7919 % LISTS];

        *list = block_make(block_make(*list));
        block_make(block_make(NULL)); /* lost, and what it leads to */
    }
}

/* Words that are no addresses. */
static void
memory_fill(size_t n_bytes)
{
    filled = malloc(n_bytes);
    for (size_t i = 0; i < n_bytes / 8; i++)
        filled[i] = i * UINT64_C(0x9E3779B97F4A7C15);
}

static void
forks_time(void)
{
    struct timespec from, to;

    for (int i = 0; i < 5; i++) {
        long pid;

        clock_gettime(CLOCK_MONOTONIC, &from);
        pid = syscall(SYS_clone, 0, 0, 0, 0, 0);
        if (pid == 0)
            _exit(0);
        clock_gettime(CLOCK_MONOTONIC, &to);
        waitpid((pid_t)pid, NULL, __WALL);
        printf("%.3f\n", (double)(to.tv_sec - from.tv_sec) * 1e3 +
                             (double)(to.tv_nsec - from.tv_nsec) / 1e6);
    }
}

int
main(int argc, char **argv)
{
    char byte;

    if (argc < 3)
        return 2;
    blocks_make(strtoull(argv[1], NULL, 10));
    memory_fill((size_t)strtoull(argv[2], NULL, 10) << 20);
    if (argc > 3 && strcmp(argv[3], "fork") == 0) {
        forks_time();
        return 0;
    }
    puts("ready");
    fflush(stdout);
    while (argc > 3 && read(0, &byte, 1) > 0)
        continue;
    return 0;
}
