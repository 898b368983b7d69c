/* leaker.c -- an unmodified program that takes too much
 *
 * usage: leaker leak|churn|threads|forks|hands|waits N
 *
 * leak     N rows of 1000 bytes are kept, each beside a block that is not
 * churn    as many, but none is kept
 * threads  as leak, by four threads together
 * forks    a child leaks, then the parent keeps ten rows, and waits for it
 * hands    as leak, and says so when SIGUSR1 comes
 * waits    as leak, when its standard input says so
 *
 * Ends with status 7, its last line "kept ROWS". */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROW_BYTES = 1000, SCRATCH_BYTES = 3000, THREADS = 4 };

static _Atomic long n_kept;
static volatile sig_atomic_t n_signals;

static __attribute__((noinline)) void *
keep_row(void)
{
    char *row = malloc(ROW_BYTES);

    row[0] = 1;
    n_kept++;
    return row;
}

static __attribute__((noinline)) void
scratch(void)
{
    free(malloc(SCRATCH_BYTES));
}

static void
leak(long n)
{
    for (long i = 0; i < n; i++) {
        void *volatile row = keep_row();

        (void)row;
        scratch();
    }
}

static void
churn(long n)
{
    for (long i = 0; i < n; i++)
        scratch();
}

static void *
leak_some(void *arg)
{
    leak(*(long *)arg / THREADS);
    return NULL;
}

static void
threads(long n)
{
    pthread_t id[THREADS];

    for (int i = 0; i < THREADS; i++)
        pthread_create(&id[i], NULL, leak_some, &n);
    for (int i = 0; i < THREADS; i++)
        pthread_join(id[i], NULL);
}

static void
forks(long n)
{
    pid_t pid;
    int status = 0;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        leak(n);
        _exit(0);
    }
    leak(10);
    waitpid(pid, &status, 0);
    printf("child %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void
on_signal(int signal)
{
    (void)signal;
    n_signals++;
}

/* The signal comes when the report is made. */
static void
hands(long n)
{
    signal(SIGUSR1, on_signal);
    leak(n);
    for (int i = 0; i < 45000 && n_signals == 0; i++)
        usleep(20000);
    printf("signals %d\n", (int)n_signals);
}

static void
waits(long n)
{
    printf("ready\n");
    fflush(stdout);
    getchar();
    leak(n);
}

int
main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "leak";
    long n = argc > 2 ? atol(argv[2]) : 100000;

    if (strcmp(what, "leak") == 0)
        leak(n);
    else if (strcmp(what, "churn") == 0)
        churn(n);
    else if (strcmp(what, "threads") == 0)
        threads(n);
    else if (strcmp(what, "forks") == 0)
        forks(n);
    else if (strcmp(what, "hands") == 0)
        hands(n);
    else if (strcmp(what, "waits") == 0)
        waits(n);
    else
        return 1;
    printf("kept %ld\n", (long)n_kept);
    return 7;
}
