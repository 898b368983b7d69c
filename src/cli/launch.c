#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/launch.h"

/* The terminal sends these to the program itself: wait for what it does. */
static const int ignored[] = {SIGINT, SIGQUIT};
static const int passed_on[] = {SIGTERM, SIGHUP,  SIGUSR1, SIGUSR2,
                                SIGCONT, SIGALRM, SIGWINCH};

enum { LOOK_MS = 100 };

static volatile sig_atomic_t child_pid;

static void
pass_on(int signal)
{
    int saved = errno;

    if (child_pid > 0)
        kill((pid_t)child_pid, signal);
    errno = saved;
}

static void
signals_set(struct sigaction *before)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction pass = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    size_t n = 0;

    for (size_t i = 0; i < ALQI_COUNT_OF(ignored); i++)
        sigaction(ignored[i], &ignore, &before[n++]);
    for (size_t i = 0; i < ALQI_COUNT_OF(passed_on); i++)
        sigaction(passed_on[i], &pass, &before[n++]);
}

/* The program starts with the dispositions this command was given. */
static void
signals_restore(const struct sigaction *before)
{
    size_t n = 0;

    for (size_t i = 0; i < ALQI_COUNT_OF(ignored); i++)
        sigaction(ignored[i], &before[n++], NULL);
    for (size_t i = 0; i < ALQI_COUNT_OF(passed_on); i++)
        sigaction(passed_on[i], &before[n++], NULL);
}

static bool
environment_set(const struct alqi_cli_launch *launch)
{
    const char *others = getenv("LD_PRELOAD");
    char *list;
    int status;

    if (launch->preload == NULL)
        return true;
    if (asprintf(&list, "%s%s%s", launch->preload,
                 others != NULL && *others != '\0' ? ":" : "",
                 others != NULL ? others : "") < 0)
        return false;
    status = setenv("LD_PRELOAD", list, 1);
    free(list);
    return status == 0 && setenv("ALIQUOT", launch->settings, 1) == 0;
}

static _Noreturn void
child_run(const struct alqi_cli_launch *launch, int report_fd)
{
    int error = ENOMEM;
    ssize_t n;

    if (environment_set(launch)) {
        execvp(launch->argv[0], launch->argv);
        error = errno;
    }
    n = write(report_fd, &error, sizeof error);
    (void)n; /* the parent takes a closed pipe for success */
    _exit(127);
}

/* Sleeps until the descriptor can be read, or the program has ended; a kernel
 * without pidfd_open does not tell that, so not for long. */
static bool
becomes_readable(int fd, int process_fd)
{
    struct pollfd p[] = {{.fd = fd, .events = POLLIN},
                         {.fd = process_fd, .events = POLLIN}};

    while (poll(p, 2, process_fd >= 0 ? -1 : LOOK_MS) < 0 && errno == EINTR)
        continue;
    return (p[0].revents & POLLIN) != 0;
}

/* Until the program has ended. */
static void
watch(const struct alqi_cli_launch *launch, pid_t pid)
{
    int process_fd = pidfd_open(pid, 0);
    siginfo_t ended = {0};

    do
        if (becomes_readable(launch->watch_fd, process_fd))
            launch->watched(launch->arg, pid);
    while (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0);
    if (process_fd >= 0)
        close(process_fd);
}

static int
child_wait(const struct alqi_cli_launch *launch, pid_t pid)
{
    int status;

    if (launch->watched != NULL)
        watch(launch, pid);

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

bool
alqi_cli_launch(const struct alqi_cli_launch *launch,
                struct alqi_cli_launched *out)
{
    struct sigaction before[ALQI_COUNT_OF(ignored) + ALQI_COUNT_OF(passed_on)];
    sigset_t all, mask;
    int fds[2];

    *out = (struct alqi_cli_launched){0};
    if (pipe2(fds, O_CLOEXEC) != 0) {
        alqi_cli_say("cannot make a pipe: %s", strerror(errno));
        return false;
    }
    fflush(NULL);
    sigfillset(&all); /* no signal between fork and the new dispositions */
    sigprocmask(SIG_SETMASK, &all, &mask);
    signals_set(before);
    out->pid = fork();
    if (out->pid == 0) {
        signals_restore(before);
        sigprocmask(SIG_SETMASK, &mask, NULL);
        child_run(launch, fds[1]);
    }
    child_pid = out->pid;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(fds[1]);
    if (out->pid < 0) {
        alqi_cli_say("cannot make a process: %s", strerror(errno));
        close(fds[0]);
        signals_restore(before);
        return false;
    }
    if (read(fds[0], &out->exec_errno, sizeof out->exec_errno) !=
        (ssize_t)sizeof out->exec_errno)
        out->exec_errno = 0;
    close(fds[0]);
    out->wait_status = child_wait(launch, out->pid);
    child_pid = 0;
    signals_restore(before);
    return true;
}

int
alqi_cli_launch_mirror(int wait_status)
{
    struct rlimit no_core = {0, 0};
    sigset_t one;
    int signal;

    if (WIFEXITED(wait_status))
        return WEXITSTATUS(wait_status);
    signal = WTERMSIG(wait_status);
    setrlimit(RLIMIT_CORE, &no_core); /* the program's core is enough */
    fflush(NULL);
    sigemptyset(&one);
    sigaddset(&one, signal);
    sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(signal);
    return 128 + signal; /* a signal that does not kill, after all */
}

bool
alqi_cli_preload_find(char *path, size_t capacity)
{
    static const char *const places[] = {"../lib", "../lib/aliquot", ".",
                                         ALQI_INSTALL_PRELOAD_DIR};
    const char *given = getenv("ALIQUOT_PRELOAD_PATH");
    char self[PATH_MAX], try[2 * PATH_MAX], full[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    const char *dir;

    self[n > 0 ? n : 0] = '\0';
    dir = dirname(self);
    for (size_t i = 0; i <= ALQI_COUNT_OF(places); i++) {
        if (i == 0 && given == NULL)
            continue;
        if (i == 0)
            snprintf(try, sizeof try, "%s", given);
        else
            snprintf(try, sizeof try, "%s%s%s/libaliquot-preload.so",
                     places[i - 1][0] == '/' ? "" : dir,
                     places[i - 1][0] == '/' ? "" : "/", places[i - 1]);
        if (realpath(try, full) == NULL || strlen(full) >= capacity)
            continue;
        strcpy(path, full);
        if (strpbrk(full, " :") == NULL)
            return true;
        alqi_cli_say("%s: LD_PRELOAD cannot hold a path with a blank or a "
                     "colon; move it, and set ALIQUOT_PRELOAD_PATH",
                     full);
        return false;
    }
    alqi_cli_say("libaliquot-preload.so is not beside %s, nor in %s; set "
                 "ALIQUOT_PRELOAD_PATH to its path",
                 dir, ALQI_INSTALL_PRELOAD_DIR);
    return false;
}
