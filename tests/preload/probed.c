/* probed.c -- a program whose blocks are known, for who listens to probes
 *
 *   probed steps          one of each call; SIGUSR1 asks the listener to
 *                         listen, SIGUSR2 to stop
 *   probed load THREADS BLOCKS
 *                         each thread allocates so many blocks of mixed sizes
 *                         and frees all but every tenth; SIGUSR1 first
 *   probed wait THREADS BLOCKS
 *                         the same after a line of standard input; another
 *                         line ends it
 *
 * What it does it writes to standard output, without allocating: lines
 * "PID begins", "PID malloc BLOCK SIZE", "PID free BLOCK", and at the end of a
 * load "bytes BYTES blocks BLOCKS freed BLOCKS".  Sizes end in 7 (hex), so that
 * the C library's own blocks can be told apart. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS_MAX = 8 };

static void *volatile hidden; /* no block is optimised away */

static void
say(const char *what, const void *block, size_t size)
{
    char line[120];
    int n = snprintf(line, sizeof line, "%d %s %lx %zu\n", (int)getpid(), what,
                     (unsigned long)(uintptr_t)block, size);

    if (write(1, line, (size_t)n) != n)
        _exit(9);
}

static void *
made(void *block, size_t size)
{
    if (block == NULL)
        _exit(8);
    hidden = block;
    say("malloc", block, size);
    return block;
}

static void
gone(void *block)
{
    say("free", block, 0);
    free(block);
}

static void
listener(int signal)
{
    kill(getpid(), signal);
}

/* ---- steps --------------------------------------------------------------- */

static void *
thread_steps(void *kept)
{
    void *a = made(malloc(0x1007), 0x1007);

    gone(kept);
    gone(a);
    return made(malloc(0x1017), 0x1017);
}

static void
child_steps(void *inherited)
{
    void *a;

    say("begins", NULL, 0);
    free(inherited); /* the parent's alloc: nobody is told */
    a = made(malloc(0x2007), 0x2007);
    gone(a);
    made(malloc(0x2017), 0x2017);
    _exit(0);
}

static void
in_child(pid_t (*make)(void), void *inherited)
{
    pid_t pid = make();

    if (pid == 0)
        child_steps(inherited);
    if (pid < 0 || waitpid(pid, NULL, 0) != pid)
        _exit(7);
}

static void
steps(void)
{
    void *before = malloc(0x117), *also = malloc(0x127), *a, *b, *c, *p;
    pthread_t thread;

    hidden = before;
    hidden = also;
    listener(SIGUSR1);
    free(before); /* allocated untold */
    a = made(malloc(0x407), 0x407);
    b = made(calloc(3, 0x9d), 3 * 0x9d);
    if (posix_memalign(&c, 256, 0x807) != 0)
        _exit(8);
    made(c, 0x807);
    gone(made(aligned_alloc(64, 0x807), 0x807));

    say("free", a, 0); /* grows: one life ends, one begins */
    p = realloc(a, 0x40007);
    a = made(p, 0x40007);
    say("free", a, 0); /* fails: told of as free and malloc again */
    p = realloc(a, SIZE_MAX / 4);
    if (p != NULL)
        _exit(6);
    say("malloc", a, 0x40007);
    say("free", b, 0); /* realloc(p, 0) frees */
    p = realloc(b, 0);
    if (p != NULL)
        _exit(5);

    pthread_create(&thread, NULL, thread_steps, c);
    pthread_join(thread, &p);
    gone(p);

    b = made(malloc(0x507), 0x507);
    in_child(fork, b);
    in_child(_Fork, b);
    gone(b);

    listener(SIGUSR2);
    free(a); /* nobody hears it */
    a = malloc(0x607);
    hidden = a;
    listener(SIGUSR1);
    free(a); /* its alloc did not fire */
    free(also);
    gone(made(malloc(0x707), 0x707));
    made(malloc(0x717), 0x717);
}

/* ---- load ---------------------------------------------------------------- */

static struct load {
    pthread_t thread;
    uint64_t state; /* of its sizes */
    long n_blocks, n_freed;
    uint64_t bytes;
} loads[THREADS_MAX];

static long n_blocks_each;

/* 7 to 2 KiB, one in 500 up to 1 MiB. */
static size_t
size_next(struct load *l)
{
    uint64_t r;

    l->state = l->state * 6364136223846793005u + 1442695040888963407u;
    r = l->state >> 33;
    return (((r >> 12) % 500 == 0 ? r % 65536 : r % 128) << 4) + 7;
}

static void *
load_run(void *arg)
{
    struct load *l = arg;

    for (long i = 0; i < n_blocks_each; i++) {
        size_t size = size_next(l);
        void *block = malloc(size);

        if (block == NULL)
            _exit(8);
        hidden = block;
        l->bytes += size;
        l->n_blocks++;
        if (i % 10 != 0 || size > 4096) {
            free(block);
            l->n_freed++;
        }
    }
    return NULL;
}

static void
load(int n_threads)
{
    struct load sum = {0};
    char line[100];
    int n;

    for (int i = 0; i < n_threads; i++) {
        loads[i].state = (uint64_t)i + 1;
        pthread_create(&loads[i].thread, NULL, load_run, &loads[i]);
    }
    for (int i = 0; i < n_threads; i++) {
        pthread_join(loads[i].thread, NULL);
        sum.bytes += loads[i].bytes;
        sum.n_blocks += loads[i].n_blocks;
        sum.n_freed += loads[i].n_freed;
    }
    n = snprintf(line, sizeof line, "bytes %llu blocks %ld freed %ld\n",
                 (unsigned long long)sum.bytes, sum.n_blocks, sum.n_freed);
    if (write(1, line, (size_t)n) != n)
        _exit(9);
}

static void
line_wait(void)
{
    char c;

    while (read(0, &c, 1) == 1 && c != '\n')
        continue;
}

int
main(int argc, char **argv)
{
    int n_threads = argc > 3 ? atoi(argv[2]) : 1;

    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    if (argc > 3)
        n_blocks_each = atol(argv[3]);
    if (argc < 2 || n_threads < 1 || n_threads > THREADS_MAX)
        return 2;
    say("begins", NULL, 0);
    if (strcmp(argv[1], "steps") == 0) {
        steps();
    } else if (strcmp(argv[1], "wait") == 0) {
        line_wait();
        load(n_threads);
        line_wait();
    } else {
        listener(SIGUSR1);
        load(n_threads);
    }
    return 0;
}
