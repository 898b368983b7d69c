/* waits.c -- threads that wait in the system in each way, and what they see
 *
 * Says "ready" and waits for its standard input to end.  Each wait is made once
 * and must come back by what it waits for alone: by the main thread, at the
 * end.  Then signals of the C library's own still work, and "N wrong" is
 * said. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LONG_S = 1000000 };

static int pipe_fds[2], sockets[2];
static sem_t semaphore;
static int semaphores;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static atomic_bool is_over;
static atomic_int n_waiting, n_wrong;

static void
take(int signal)
{
    (void)signal;
}

static struct timespec
in_long(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += LONG_S;
    return t;
}

static void
wait_poll(void)
{
    struct pollfd p = {.fd = pipe_fds[0], .events = POLLIN};

    n_wrong += poll(&p, 1, LONG_S) != 1;
}

static void
wait_select(void)
{
    struct timeval most = {.tv_sec = LONG_S};
    fd_set set;

    FD_ZERO(&set);
    FD_SET(pipe_fds[0], &set);
    n_wrong += select(pipe_fds[0] + 1, &set, NULL, NULL, &most) != 1;
}

static void
wait_epoll(void)
{
    struct epoll_event e = {.events = EPOLLIN};
    int fd = epoll_create1(0);

    epoll_ctl(fd, EPOLL_CTL_ADD, pipe_fds[0], &e);
    n_wrong += epoll_wait(fd, &e, 1, -1) != 1;
    close(fd);
}

static void
wait_semaphore(void)
{
    struct timespec most = in_long();

    n_wrong += sem_timedwait(&semaphore, &most) != 0;
}

static void
wait_semop(void)
{
    struct sembuf down = {0, -1, 0};

    n_wrong += semop(semaphores, &down, 1) != 0;
}

static void
wait_condition(void)
{
    struct timespec most = in_long();

    pthread_mutex_lock(&mutex);
    while (!is_over)
        n_wrong += pthread_cond_timedwait(&condition, &mutex, &most) != 0;
    pthread_mutex_unlock(&mutex);
}

/* Until a signal of the program's. */
static void
wait_pause(void)
{
    pause();
    n_wrong += !is_over;
}

static void
wait_sleep(void)
{
    n_wrong += sleep(LONG_S) == 0 || !is_over;
}

static void
wait_suspend(void)
{
    sigset_t none;

    sigemptyset(&none);
    sigsuspend(&none);
    n_wrong += !is_over;
}

/* With all signals blocked, as far as the C library lets that be. */
static void
wait_signal(void)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    n_wrong += sigwaitinfo(&all, NULL) != SIGUSR1 || !is_over;
}

/* On another stack for signals. */
static void
wait_read(void)
{
    stack_t other = {.ss_sp = malloc(65536), .ss_size = 65536};
    char byte;

    sigaltstack(&other, NULL);
    n_wrong += read(pipe_fds[0], &byte, 1) != 1;
}

/* With a timeout, after which no call is made again by the system. */
static void
wait_receive(void)
{
    struct timeval most = {.tv_sec = LONG_S};
    char byte;

    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    n_wrong += recv(sockets[0], &byte, 1, 0) != 1;
}

static void
compute(void)
{
    while (!is_over)
        continue;
}

static void (*const waits[])(void) = {
    wait_poll,      wait_select,  wait_epoll, wait_semaphore, wait_semop,
    wait_condition, wait_pause,   wait_sleep, wait_suspend,   wait_signal,
    wait_read,      wait_receive, compute,
};

enum { N_WAITS = sizeof waits / sizeof *waits };
static pthread_t threads[N_WAITS];
static _Atomic(pid_t) tids[N_WAITS];

static void *
thread_run(void *number)
{
    size_t i = (size_t)number;

    tids[i] = (pid_t)syscall(SYS_gettid);
    n_waiting++;
    waits[i]();
    return NULL;
}

/* All but the one that computes. */
static void
sleep_await(void)
{
    char path[64], text[512], *at;
    FILE *file;

    for (size_t i = 0; i + 1 < N_WAITS; i++)
        do {
            snprintf(path, sizeof path, "/proc/self/task/%d/stat",
                     (int)tids[i]);
            file = fopen(path, "re");
            text[fread(text, 1, sizeof text - 1, file)] = '\0';
            fclose(file);
            at = strrchr(text, ')');
        } while (at[2] != 'S');
}

static void
all_wake(void)
{
    struct sembuf up = {0, 1, 0};

    is_over = true;
    for (size_t i = 0; i < N_WAITS; i++)
        if (waits[i] == wait_pause || waits[i] == wait_sleep ||
            waits[i] == wait_suspend || waits[i] == wait_signal)
            pthread_kill(threads[i], SIGUSR1);
    sem_post(&semaphore);
    semop(semaphores, &up, 1);
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    (void)!write(sockets[1], "0", 1);
    (void)!write(pipe_fds[1], "0123456789", 10);
}

static void *
cancelled_run(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* The C library's signal for all threads, and that for one. */
static void
own_signals_check(void)
{
    pthread_t thread;
    void *result = NULL;

    pthread_create(&thread, NULL, cancelled_run, NULL);
    n_wrong += setuid(getuid()) != 0;
    pthread_cancel(thread);
    pthread_join(thread, &result);
    n_wrong += result != PTHREAD_CANCELED;
}

int
main(void)
{
    struct sigaction action = {.sa_handler = take};
    char byte;

    if (pipe(pipe_fds) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        return 2;
    sigaction(SIGUSR1, &action, NULL);
    sem_init(&semaphore, 0, 0);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    for (size_t i = 0; i < N_WAITS; i++)
        pthread_create(&threads[i], NULL, thread_run, (void *)i);
    while (n_waiting < N_WAITS)
        sched_yield();
    sleep_await();
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        continue;
    all_wake();
    for (size_t i = 0; i < N_WAITS; i++)
        pthread_join(threads[i], NULL);
    own_signals_check();
    semctl(semaphores, 0, IPC_RMID);
    printf("%d wrong\n", (int)n_wrong);
    return n_wrong != 0;
}
