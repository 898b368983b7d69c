/* Awkward but legal programs for a malloc profiler, each with a known answer.
 *
 * build: cc -O1 -g -fno-builtin -pthread torture.c -o torture -ldl
 *        cc -O1 -g -fno-builtin -pthread -static torture.c -o torture_static
 *        cc -O1 -g -fno-builtin -shared -fPIC -DPLUGIN torture.c -o plugin.so
 * usage: torture CASE      every case leaks on purpose and prints "expect BYTES
 * CALLS" on stderr: the bytes and blocks from the leak_* functions that are
 * never freed.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef PLUGIN
__attribute__((noinline)) void *
leak_plugin(size_t n)
{
    char *p = malloc(n);
    p[0] = 1;
    return p;
}
#else
static void *volatile sink[16];
#define KEEP(p) (sink[0] = (p))
__attribute__((noinline)) void
leak_one(size_t n)
{
    KEEP(malloc(n));
    __asm__ volatile("");
}
__attribute__((noinline)) void
leak_aligned(void)
{
    void *p;
    KEEP(memalign(256, 100000));
    KEEP(pvalloc(100000));
    KEEP(valloc(100000));
    KEEP(aligned_alloc(64, 128000));
    if (!posix_memalign(&p, 128, 100000))
        KEEP(p);
    KEEP(reallocarray(NULL, 1000, 100));
    KEEP(calloc(1000, 100));
    KEEP(strdup("a string of 26 characters."));
}
static void *
thr(void *a)
{
    leak_one((size_t)a);
    return NULL;
}
static void *cross_in;
static void *
freer(void *a)
{
    (void)a;
    free(cross_in);
    return NULL;
}
static ucontext_t mainc, co;
static void
cofn(void)
{
    for (int i = 0; i < 100; i++) {
        leak_one(1000);
        swapcontext(&co, &mainc);
    }
}
static void
expect(long b, long n)
{
    fprintf(stderr, "expect %ld %ld\n", b, n);
}
static void
on_sig(int s)
{
    (void)s;
    static const char m[] = "signal\n";
    if (write(2, m, 7)) {
    }
}

int
main(int argc, char **argv)
{
    const char *c = argc > 1 ? argv[1] : "";
    if (!strcmp(c, "plain")) {
        for (int i = 0; i < 1000; i++)
            leak_one(1000);
        for (int i = 0; i < 1000; i++)
            free(malloc(500));
        expect(1000000, 1000);
    } else if (!strcmp(c, "aligned")) {
        leak_aligned();
        expect(728027, 8);
    } else if (!strcmp(c, "realloc")) {
        char *p = malloc(10);
        for (int i = 1; i <= 1000; i++)
            p = realloc(p, i * 1000);
        KEEP(p);
        expect(1000000, 1);
    } else if (!strcmp(c, "realloc0")) {
        void *p = malloc(100000);
        p = realloc(p, 0);
        KEEP(p);
        free(NULL);
        KEEP(realloc(NULL, 5000));
        expect(5000, 1);
    } else if (!strcmp(c, "fork")) {
        leak_one(100000);
        pid_t k = fork();
        if (!k) {
            leak_one(700000);
            exit(0);
        }
        waitpid(k, 0, 0);
        leak_one(100000);
        expect(200000, 2);
    } else if (!strcmp(c, "forkexec")) {
        leak_one(100000);
        pid_t k = fork();
        if (!k) {
            execl("/proc/self/exe", "torture", "plain", (char *)0);
            _exit(1);
        }
        waitpid(k, 0, 0);
        expect(100000, 1);
    } else if (!strcmp(c, "exec")) {
        leak_one(100000);
        execl("/proc/self/exe", "torture", "plain", (char *)0);
    } else if (!strcmp(c, "vfork")) {
        leak_one(100000);
        pid_t k = vfork();
        if (!k) {
            execlp("true", "true", (char *)0);
            _exit(1);
        }
        waitpid(k, 0, 0);
        leak_one(100000);
        expect(200000, 2);
    } else if (!strcmp(c, "_exit")) {
        for (int i = 0; i < 1000; i++)
            leak_one(1000);
        expect(1000000, 1000);
        _exit(0);
    } else if (!strcmp(c, "sigkill")) {
        for (int i = 0; i < 1000; i++)
            leak_one(1000);
        expect(1000000, 1000);
        raise(SIGKILL);
    } else if (!strcmp(c, "abort")) {
        for (int i = 0; i < 1000; i++)
            leak_one(1000);
        expect(1000000, 1000);
        abort();
    } else if (!strcmp(c, "threads")) {
        for (int i = 0; i < 3000; i++) {
            pthread_t t;
            pthread_create(&t, 0, thr, (void *)1000);
            pthread_join(t, 0);
        }
        expect(3000000, 3000);
    } else if (!strcmp(c, "smallstack")) {
        pthread_attr_t a;
        pthread_attr_init(&a);
        pthread_attr_setstacksize(&a, 16384);
        pthread_t t;
        for (int i = 0; i < 100; i++) {
            pthread_create(&t, &a, thr, (void *)1000);
            pthread_join(t, 0);
        }
        expect(100000, 100);
    } else if (!strcmp(c, "cross")) {
        for (int i = 0; i < 200; i++) {
            pthread_t t;
            cross_in = malloc(5000);
            pthread_create(&t, 0, freer, 0);
            pthread_join(t, 0);
        }
        leak_one(1000);
        expect(1000, 1);
    } else if (!strcmp(c, "coroutine")) {
        char *st = malloc(65536);
        getcontext(&co);
        co.uc_stack.ss_sp = st;
        co.uc_stack.ss_size = 65536;
        co.uc_link = &mainc;
        makecontext(&co, cofn, 0);
        for (int i = 0; i < 100; i++)
            swapcontext(&mainc, &co);
        expect(100000, 100);
    } else if (!strcmp(c, "sigstorm")) {
        struct sigaction s = {.sa_handler = on_sig};
        sigaction(SIGALRM, &s, 0);
        ualarm(1000, 1000);
        for (int i = 0; i < 3000000; i++)
            free(malloc(i & 1023));
        ualarm(0, 0);
        leak_one(1000);
        expect(1000, 1);
    } else if (!strcmp(c, "dlclose")) {
        void *h = dlopen(argc > 2 ? argv[2] : "./plugin.so", RTLD_NOW);
        void *(*f)(size_t) = (void *(*)(size_t))dlsym(h, "leak_plugin");
        for (int i = 0; i < 100; i++)
            KEEP(f(1000));
        dlclose(h);
        leak_one(1000);
        expect(101000, 101);
    } else if (!strcmp(c, "deepbind")) {
        void *h = dlopen(argc > 2 ? argv[2] : "./plugin.so",
                         RTLD_NOW | RTLD_DEEPBIND);
        void *(*f)(size_t) = (void *(*)(size_t))dlsym(h, "leak_plugin");
        for (int i = 0; i < 100; i++)
            KEEP(f(1000));
        expect(100000, 100);
    } else if (!strcmp(c, "usable")) {
        long bad = 0;
        for (int i = 1; i < 100000; i++) {
            char *p = malloc(i % 5000 + 1);
            size_t u = malloc_usable_size(p);
            if (u < (size_t)(i % 5000 + 1))
                bad++;
            memset(p, 7, u);
            free(p);
        }
        expect(0, bad);
    } else if (!strcmp(c, "huge")) {
        void *p = malloc((size_t)PTRDIFF_MAX);
        void *q = calloc((size_t)1 << 33, (size_t)1 << 33);
        expect(0, (p || q) ? -1 : 0);
    } else {
        fprintf(stderr,
                "cases: plain aligned realloc realloc0 fork forkexec exec "
                "vfork _exit sigkill abort threads smallstack cross coroutine "
                "sigstorm dlclose deepbind usable huge\n");
        return 2;
    }
    return 0;
}
#endif
