/* hazard.c -- programs that are hard on a recorder; see hazards.sh */
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile sink;

__attribute__((noinline)) void keep_one(size_t n);

__attribute__((noinline)) void
keep_one(size_t n)
{
    sink = malloc(n);
    __asm__ volatile("");
}

static int
churn(void)
{
    for (int i = 0; i < 200000; i++)
        free(malloc((size_t)i % 500));
    return 0;
}

/* Allocates until there is no more, frees, and goes on. */
static int
eat(void)
{
    static void *blocks[100000];
    int n = 0;

    while (n < 100000 && (blocks[n] = malloc(20000)) != NULL)
        n++;
    for (int i = 0; i < n; i++)
        free(blocks[i]);
    printf("eaten %s\n", n > 100 && n < 100000 ? "all" : "wrong");
    return n > 100 && churn() == 0 ? 0 : 1;
}

static int
fsize(void)
{
    struct rlimit limit = {100000, 100000};

    setrlimit(RLIMIT_FSIZE, &limit);
    return churn();
}

static int
closeall(void)
{
    for (int fd = 3; fd < 4096; fd++)
        close(fd);
    for (int i = 0; i < 3000; i++)
        keep_one(1000);
    return churn();
}

/* Every descriptor from 3 on becomes one of the program's own file. */
static int
hijack(void)
{
    int own = open("own", O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct rlimit limit;
    struct stat st;

    if (own < 0 || write(own, "mine", 4) != 4)
        return 1;
    getrlimit(RLIMIT_NOFILE, &limit);
    for (rlim_t fd = 3; fd < limit.rlim_cur && fd < 4096; fd++)
        if ((int)fd != own)
            dup2(own, (int)fd);
    for (int i = 0; i < 3000; i++)
        keep_one(1000);
    churn();
    if (fstat(own, &st) != 0 || st.st_size != 4)
        return 1;
    printf("file intact\n");
    return 0;
}

static int
rawfork(void)
{
    pid_t pid;

    keep_one(100000);
    pid = _Fork();
    if (pid == 0) {
        keep_one(700000);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    keep_one(100000);
    return 0;
}

/* The child's first call is no malloc; the parent makes none after the fork. */
static int
rawrealloc(void)
{
    pid_t pid;

    keep_one(100000);
    pid = _Fork();
    if (pid == 0) {
        sink = realloc(sink, 700000);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    _exit(0);
}

static int
rawfree(void)
{
    pid_t pid;

    keep_one(100000);
    pid = _Fork();
    if (pid == 0) {
        free(sink);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    _exit(0);
}

static int
rawunmap(void)
{
    void *p = mmap(NULL, 100000, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pid_t pid = _Fork();

    if (pid == 0) {
        munmap(p, 100000);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    pid = _Fork();
    if (pid == 0) {
        mremap(p, 100000, 200000, MREMAP_MAYMOVE);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    _exit(0);
}

/* Fork handlers that allocate and free, registered before the profiler's own
 * and so run while it holds its locks: see early.c. */
static int
forkhandlers(void)
{
    int n_bad = 0;

    for (int i = 0; i < 200; i++) {
        pid_t pid;
        int status;

        keep_one(500);
        pid = fork();
        if (pid == 0) {
            keep_one(700);
            _exit(0);
        }
        waitpid(pid, &status, 0);
        n_bad += status != 0;
    }
    return n_bad != 0;
}

/* No more mappings: the allocator lives on what it kept, the profiler's tables
 * cannot grow. */
static int
nomem(void)
{
    static void *blocks[40], *kept[20000];
    struct rlimit none = {4096, 4096};
    int n_bad = 0;

    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    for (int i = 0; i < 40; i++)
        blocks[i] = malloc(100000);
    for (int i = 0; i < 40; i++)
        free(blocks[i]);
    setrlimit(RLIMIT_AS, &none);
    for (int i = 0; i < 20000; i++)
        n_bad += (kept[i] = malloc(32)) == NULL;
    for (int i = 0; i < 20000; i++)
        free(kept[i]);
    return n_bad != 0;
}

static _Atomic(int) is_over;

static void *
churner(void *arg)
{
    while (!is_over)
        churn();
    return arg;
}

static int
forkstorm(void)
{
    pthread_t threads[3];
    int n_bad = 0;

    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, churner, NULL);
    for (int i = 0; i < 100; i++) {
        pid_t pid = i % 2 ? fork() : _Fork();
        int status;

        if (pid == 0) {
            /* After _Fork the allocator's locks may be held by nobody. */
            if (i % 2)
                churn();
            _exit(0);
        }
        waitpid(pid, &status, 0);
        n_bad += status != 0;
    }
    is_over = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return n_bad != 0;
}

static pthread_key_t keys[3];

static void
destructor(void *arg)
{
    keep_one(1000);
    free(malloc(100));
    free(arg);
}

static void *
with_destructors(void *arg)
{
    for (int i = 0; i < 3; i++)
        pthread_setspecific(keys[i], malloc(500));
    return arg;
}

static int
destructors(void)
{
    for (int i = 0; i < 3; i++)
        pthread_key_create(&keys[i], destructor);
    for (int i = 0; i < 100; i++) {
        pthread_t thread;

        pthread_create(&thread, NULL, with_destructors, NULL);
        pthread_join(thread, NULL);
    }
    return 0;
}

static void *volatile in_handler[64];

/* Legal over an allocator that is async-signal-safe: see safe_malloc.c. */
static void
on_alarm(int signal)
{
    static unsigned n;
    unsigned k = n++ % 64;

    (void)signal;
    free(in_handler[k]);
    in_handler[k] = malloc(100);
}

static int
handlers(void)
{
    static void *volatile slots[256];
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval timer = {{0, 200}, {0, 200}}, off = {0};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (unsigned i = 0; i < 400000; i++) {
        free(slots[i % 256]);
        slots[i % 256] = malloc(i % 300);
    }
    setitimer(ITIMER_REAL, &off, NULL);
    keep_one(1000);
    return 0;
}

static int
reuse(const char *dir)
{
    static const char *const names[] = {"reuse_first", "reuse_second"};
    uintptr_t address[2];

    for (int i = 0; i < 2; i++) {
        char path[4096];
        void *handle;
        void *(*function)(size_t);

        snprintf(path, sizeof path, "%s/lib%s.so", dir, names[i]);
        handle = dlopen(path, RTLD_NOW);
        if (handle == NULL)
            return 1;
        function = (void *(*)(size_t))dlsym(handle, names[i]);
        address[i] = (uintptr_t)function;
        for (int k = 0; k < 10; k++)
            sink = function(1000);
        dlclose(handle);
    }
    if (address[0] == address[1])
        printf("same address\n");
    return 0;
}

static int
linger(void)
{
    for (int i = 0; i < 1000; i++)
        keep_one(1000);
    printf("lingering\n");
    fflush(stdout);
    sleep(10000); /* it is ended */
    return 0;
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } cases[] = {
        {"churn", churn},
        {"eat", eat},
        {"fsize", fsize},
        {"closeall", closeall},
        {"hijack", hijack},
        {"rawfork", rawfork},
        {"rawrealloc", rawrealloc},
        {"rawfree", rawfree},
        {"rawunmap", rawunmap},
        {"forkstorm", forkstorm},
        {"destructors", destructors},
        {"handlers", handlers},
        {"linger", linger},
        {"forkhandlers", forkhandlers},
        {"nomem", nomem},
    };

    if (argc > 2 && strcmp(argv[1], "reuse") == 0)
        return reuse(argv[2]);
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            return cases[i].run();
    fprintf(stderr, "hazard: no such case\n");
    return 2;
}
