/* late.c -- a library that does things as its program ends, after the
 * profiler's destructor */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void *late_block;
const char *late_how = "";

static volatile sig_atomic_t n_signals;

static void
on_signal(int signal)
{
    (void)signal;
    n_signals++;
}

static void *
thread_end(void *unused)
{
    return unused;
}

/* Threads come and go, signals arrive, children run. */
static void
busy(void)
{
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < 100; i++) {
        pthread_t thread;

        raise(SIGUSR1);
        kill(getpid(), SIGUSR1);
        if (pthread_create(&thread, NULL, thread_end, NULL) == 0)
            pthread_join(thread, NULL);
    }
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();

        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    }
    if (n_signals != 200)
        _exit(99);
}

__attribute__((destructor)) static void
late(void)
{
    free(late_block);
    if (strcmp(late_how, "busy") == 0)
        busy();
    if (strcmp(late_how, "exec") == 0)
        execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
    if (strcmp(late_how, "killed") == 0)
        kill(getpid(), SIGKILL);
}
