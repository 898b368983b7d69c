/* control.c -- programs for control.sh
 *
 *   control idle             what a profiler may have left: descriptors,
 *                            threads, signal handlers, mappings
 *   control spin THREADS     allocates until ./stop is there; prints the bytes
 *   control keep N           N blocks of 1000 bytes, freed once ./free is there
 *   control fork             a child that allocates; prints its pid
 *   control exec PROGRAM...  becomes that
 *   control last             main() ends, then the only other thread
 *
 * Each prints "ready PID" when it can be asked. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = 512, STEPS = 2000, PAUSE_US = 500, BLOCK_BYTES = 1000 };

static _Atomic(unsigned long) total_bytes;

static void
ready(void)
{
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
}

static int
is_there(const char *name)
{
    return access(name, F_OK) == 0;
}

/* ---- idle ---------------------------------------------------------------- */

static int
entries(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;

    while (d != NULL && readdir(d) != NULL)
        n++;
    if (d != NULL)
        closedir(d);
    return n;
}

static void
lines(const char *path, const char *what, const char *but)
{
    FILE *f = fopen(path, "r");
    char line[4096];
    int n = 0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "Sig", 3) == 0 && line[3] != 'Q')
            fputs(line, stdout);
        n += strstr(line, but) == NULL && strstr(line, "libnothing") == NULL;
    }
    if (f != NULL)
        fclose(f);
    if (what != NULL)
        printf("%s %d\n", what, n);
}

static int
idle(void)
{
    for (int i = 0; i < 1000; i++)
        free(malloc(1000));
    printf("descriptors %d\n", entries("/proc/self/fd"));
    printf("threads %d\n", entries("/proc/self/task"));
    lines("/proc/self/status", NULL, "-");
    lines("/proc/self/maps", "mappings", "preload");
    return 0;
}

/* ---- spin ---------------------------------------------------------------- */

static void
churn(unsigned seed, void **slots)
{
    unsigned long bytes = 0;

    for (int i = 0; i < STEPS; i++) {
        size_t n, at;

        seed = seed * 1664525 + 1013904223;
        n = 1 + (seed >> 8) % 2000;
        at = (seed >> 20) % SLOTS;
        free(slots[at]);
        slots[at] = malloc(n);
        bytes += n;
    }
    atomic_fetch_add(&total_bytes, bytes);
}

static void *
spin_thread(void *arg)
{
    unsigned seed = (unsigned)(size_t)arg;
    void *slots[SLOTS] = {0};

    while (!is_there("stop")) {
        churn(seed++, slots);
        usleep(PAUSE_US);
    }
    for (int i = 0; i < SLOTS; i++)
        free(slots[i]);
    return NULL;
}

static int
spin(int n)
{
    pthread_t threads[64];

    for (int i = 0; i < n && i < 64; i++)
        pthread_create(&threads[i], NULL, spin_thread,
                       (void *)(size_t)(1000000 * i));
    ready();
    for (int i = 0; i < n && i < 64; i++)
        pthread_join(threads[i], NULL);
    printf("bytes %lu\n", atomic_load(&total_bytes));
    return 0;
}

/* ---- the others ------------------------------------------------------------
 */

static int
keep(int n)
{
    void **blocks = calloc((size_t)n, sizeof *blocks);

    ready();
    while (!is_there("begin"))
        usleep(PAUSE_US);
    for (int i = 0; i < n; i++)
        blocks[i] = malloc(BLOCK_BYTES);
    puts("kept");
    fflush(stdout);
    while (!is_there("free"))
        usleep(PAUSE_US);
    for (int i = 0; i < n; i++)
        free(blocks[i]);
    free(blocks);
    puts("freed");
    fflush(stdout);
    while (!is_there("stop"))
        usleep(PAUSE_US);
    return 7;
}

static int
fork_one(void)
{
    void *slots[SLOTS] = {0};
    int status;

    if (fork() == 0) {
        churn(1, slots);
        ready();
        while (!is_there("stop")) {
            churn(1, slots);
            usleep(PAUSE_US);
        }
        _exit(3);
    }
    wait(&status);
    return WEXITSTATUS(status);
}

static void *
last_thread(void *arg)
{
    (void)arg;
    free(malloc(100));
    usleep(20000);
    return NULL;
}

static void
last(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, last_thread, NULL);
    pthread_exit(NULL);
}

int
main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "idle") == 0)
        return idle();
    if (strcmp(what, "spin") == 0)
        return spin(atoi(argv[2]));
    if (strcmp(what, "keep") == 0)
        return keep(atoi(argv[2]));
    if (strcmp(what, "fork") == 0)
        return fork_one();
    if (strcmp(what, "exec") == 0)
        execv(argv[2], argv + 2);
    if (strcmp(what, "last") == 0)
        last();
    return 2;
}
