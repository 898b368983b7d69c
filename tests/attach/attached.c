/* attached.c -- a program that is attached to while it allocates
 *
 *   attached THREADS [PLUGIN]
 *
 * Each thread allocates, writes, reads back and frees blocks, and ends the
 * program with status 1 where a block does not hold what was written.  Each
 * line of standard input is a command, answered by one line:
 *
 *   where     the files of the modules to which malloc and free are bound
 *   work      what the threads have done since it was last asked
 *   fork      a child allocates, and ends
 *   plugin    opens PLUGIN; a thread calls its function from then on
 *   exec      goes on as another program
 *   signals   a handler allocates every millisecond, on a thread that does not,
 *             and whose errno stays
 *   end       verifies all, and ends with status 0 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT = 256, BYTES_MOST = 2000 };

void *allocate_here(size_t n);
void *(*plugin_allocate)(size_t n);

static _Atomic(long) n_done;
static _Atomic(int) is_ending;

__attribute__((noinline)) void *
allocate_here(size_t n)
{
    void *p = malloc(n);

    __asm__ volatile("" : "+r"(p));
    return p;
}

static void
check(const unsigned char *p, size_t n, unsigned char wanted)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != wanted) {
            fprintf(stderr, "byte %zu of %zu: %d, not %d\n", i, n, p[i],
                    wanted);
            _exit(1);
        }
}

static void
turn(unsigned char **kept, size_t *sizes, unsigned random)
{
    unsigned k = (random >> 8) % KEPT;

    if (kept[k] != NULL) {
        check(kept[k], sizes[k], (unsigned char)k);
        free(kept[k]);
    }
    sizes[k] = (random >> 16) % BYTES_MOST + 1;
    kept[k] = allocate_here(sizes[k]);
    memset(kept[k], (int)k, sizes[k]);
    if ((random >> 20) % 16 == 0) {
        size_t more = 2 * sizes[k];

        kept[k] = realloc(kept[k], more);
        check(kept[k], sizes[k], (unsigned char)k);
        memset(kept[k], (int)k, more);
        sizes[k] = more;
    }
    atomic_fetch_add_explicit(&n_done, 1, memory_order_relaxed);
}

static void *
work(void *arg)
{
    unsigned random = (unsigned)(size_t)arg * 77 + 1;
    unsigned char *kept[KEPT] = {NULL};
    size_t sizes[KEPT] = {0};

    while (!atomic_load_explicit(&is_ending, memory_order_relaxed)) {
        random = random * 1664525 + 1013904223;
        turn(kept, sizes, random);
    }
    for (int k = 0; k < KEPT; k++)
        if (kept[k] != NULL)
            check(kept[k], sizes[k], (unsigned char)k);
    return NULL;
}

static void *
plugin_work(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_ending)) {
        free(plugin_allocate(1000));
        usleep(10);
    }
    return NULL;
}

/* The word through which this module calls, not what the name means. */
static const char *
module_of(void *address)
{
    Dl_info info;
    const char *slash;

    if (dladdr(address, &info) == 0)
        return "?";
    slash = strrchr(info.dli_fname, '/');
    return slash != NULL ? slash + 1 : info.dli_fname;
}

#define BOUND(name)                                                            \
    ({                                                                         \
        void *word;                                                            \
                                                                               \
        __asm__ volatile("movq " #name "@GOTPCREL(%%rip), %0" : "=r"(word));   \
        word;                                                                  \
    })

static void *
spin(void *arg)
{
    volatile unsigned n = 0;

    (void)arg;
    errno = 4711;
    while (!atomic_load_explicit(&is_ending, memory_order_relaxed)) {
        n++;
        if (errno != 4711) {
            fprintf(stderr, "errno is %d\n", errno);
            _exit(1);
        }
    }
    return NULL;
}

static void
on_alarm(int signal)
{
    (void)signal;
    free(allocate_here(100)); /* this thread is never inside malloc */
}

static void *
alarmed(void *arg)
{
    struct itimerval each = {{0, 1000}, {0, 1000}};
    sigset_t set;

    signal(SIGALRM, on_alarm);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    setitimer(ITIMER_REAL, &each, NULL);
    return spin(arg);
}

static void
thread_start(void *(*run)(void *), size_t number)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run, (void *)number) != 0)
        _exit(2);
    pthread_detach(thread);
}

static int
child_status(void)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        for (int i = 0; i < 10000; i++)
            free(allocate_here(1000));
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return status;
}

static void
plugin_open(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW);

    if (handle == NULL)
        _exit(3);
    *(void **)&plugin_allocate = dlsym(handle, "plugin_allocate");
    thread_start(plugin_work, 0);
}

static void
command(const char *line, const char *plugin)
{
    if (strcmp(line, "where\n") == 0)
        printf("%s %s\n", module_of(BOUND(malloc)), module_of(BOUND(free)));
    else if (strcmp(line, "work\n") == 0)
        printf("%ld\n", atomic_exchange(&n_done, 0));
    else if (strcmp(line, "fork\n") == 0)
        printf("%d\n", child_status());
    else if (strcmp(line, "plugin\n") == 0)
        plugin_open(plugin), printf("opened\n");
    else if (strcmp(line, "signals\n") == 0)
        thread_start(alarmed, 0), printf("they come\n");
    else if (strcmp(line, "exec\n") == 0)
        execlp("sleep", "sleep", "2", NULL);
    else if (strcmp(line, "end\n") == 0)
        exit(0);
    fflush(stdout);
}

int
main(int argc, char **argv)
{
    size_t n_threads = argc > 1 ? (size_t)atoi(argv[1]) : 1;
    sigset_t set;
    char line[64];

    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (size_t i = 0; i < n_threads; i++)
        thread_start(work, i);
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL)
        command(line, argc > 2 ? argv[2] : "");
    return 0;
}
