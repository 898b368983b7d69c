/* asan_fork.c -- a fork waits until AddressSanitizer's locks are free
 *
 * The child of a fork has one thread.  If another thread of the parent was
 * inside AddressSanitizer's allocator at that moment, the allocator's lock
 * stays taken in the child, and the child hangs at its next block or at its
 * end.  gcc 12's library takes no locks before a fork.  So each test of a build
 * with that sanitizer has this handler: it lets the fork wait until all other
 * threads sleep, as a thread that sleeps is outside the allocator.  A thread
 * that works on (a test's polling loop) ends the waiting after a time limit. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rank.h"

enum { LOOK_US = 200, LOOKS = 500 };

/* An ended thread counts, as it is outside the allocator for good. */
static bool
thread_sleeps(const char *tid)
{
    char path[64], stat[256];
    const char *comm_end;
    ssize_t bytes;
    int fd;

    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true;
    bytes = read(fd, stat, sizeof stat - 1);
    close(fd);
    if (bytes <= 0)
        return true;
    stat[bytes] = 0;
    comm_end = strrchr(stat, ')');
    return comm_end != NULL && strchr("SZX", comm_end[2]) != NULL;
}

static bool
others_sleep(void)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *task;
    bool sleep = true;

    if (tasks == NULL)
        return true;
    while (sleep && (task = readdir(tasks)) != NULL)
        if (isdigit((unsigned char)task->d_name[0]) &&
            atoi(task->d_name) != gettid())
            sleep = thread_sleeps(task->d_name);
    closedir(tasks);
    return sleep;
}

static void
wait_for_others(void)
{
    for (int i = 0; i < LOOKS && !others_sleep(); i++)
        usleep(LOOK_US);
}

/* Registered before the other handlers, so it runs behind them: the other
 * threads then wait for what those hold. */
__attribute__((constructor(ALQI_FORK_SERVER))) static void
watch_forks(void)
{
    pthread_atfork(wait_for_others, NULL, NULL);
}
