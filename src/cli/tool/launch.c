/* launch.c -- see launch.h: a program that is run, and mirrored
 *
 *   starting --exec succeeds--> running --it ends--> ended: late ^C counted
 *       `-----exec fails------> its errno comes by a pipe that exec closes
 *
 * While the program runs, signals that would end this process are passed on to
 * it.  After its end they are ignored while its trace is made; the second ^C
 * ends this process (late_text).  The handlers read and write only what is
 * sig_atomic_t or atomic here. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/tool/launch.h"
#include "plat/plat.h"
#include "plat/process.h"

enum { LOOK_MS = 100, STOPPING_INTERRUPTS = 2 };

static volatile sig_atomic_t child_pid;    /* 0: it has ended; -1: none */
static volatile sig_atomic_t n_interrupts; /* since it has */
static const char *_Atomic late_text;

/* ---- signals ------------------------------------------------------------ */

/* Whether the signal would end this process though it is meant for the
 * program. */
static bool
is_passed_on(int signal)
{
    switch (signal) {
    case SIGKILL:
    case SIGSTOP:
    case SIGTSTP: /* stops them both */
    case SIGTTIN:
    case SIGTTOU:
    case SIGCHLD:
    case SIGURG:
    case SIGPIPE: /* of what this process writes: errors are looked at */
    case SIGXFSZ:
    case SIGSEGV: /* of what it does wrong */
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGSYS:
        return false;
    default:
        return signal < SIGSYS || signal >= SIGRTMIN;
    }
}

/* A key of the terminal has sent it to the program, too. */
static bool
is_of_terminal(int signal, const siginfo_t *info)
{
    return info->si_code == SI_KERNEL &&
           (signal == SIGINT || signal == SIGQUIT || signal == SIGWINCH);
}

/* A ^C after the program's end: the first one is answered by late_text, the
 * second one ends this process, as its user wants no traces. */
static void
interrupted_late(int signal)
{
    const char *text = late_text;
    sigset_t one;
    ssize_t n;

    if ((signal != SIGINT && signal != SIGQUIT) || text == NULL)
        return;
    if (++n_interrupts < STOPPING_INTERRUPTS) {
        n = write(STDERR_FILENO, text, strlen(text));
        (void)n; /* there is nobody to tell */
        return;
    }
    sigemptyset(&one);
    sigaddset(&one, signal);
    sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    raise(signal);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
}

/* The handler of all signals that are passed on. A key of the terminal reaches
 * the whole process group, so such a signal is not sent twice. errno is kept,
 * as the handler may interrupt any call. */
static void
pass_on(int signal, siginfo_t *info, void *context)
{
    int saved = errno;

    (void)context;
    if (child_pid == 0)
        interrupted_late(signal);
    else if (child_pid > 0 && !is_of_terminal(signal, info))
        kill((pid_t)child_pid, signal);
    errno = saved;
}

static struct sigaction xfsz_before = {.sa_handler = SIG_DFL};

/* The former disposition is kept for the program that is started later. */
void
alqi_cli_launch_ignore_xfsz(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGXFSZ, &ignore, &xfsz_before);
}

/* Passes signals on from now until this process ends: what it does after the
 * program is part of the same command. `before` gets the former
 * dispositions. */
static void
signals_set(struct sigaction *before)
{
    struct sigaction pass = {.sa_sigaction = pass_on,
                             .sa_flags = SA_RESTART | SA_SIGINFO};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction standard = {.sa_handler = SIG_DFL};

    for (int i = 1; i <= SIGRTMAX; i++)
        if (is_passed_on(i))
            sigaction(i, &pass, &before[i]);
    sigaction(SIGPIPE, &ignore, &before[SIGPIPE]);
    before[SIGXFSZ] = xfsz_before;
    /* Where it is ignored nobody is told how the program ended. */
    sigaction(SIGCHLD, &standard, &before[SIGCHLD]);
}

/* The program starts with the dispositions this command was given. */
static void
signals_restore(const struct sigaction *before)
{
    for (int i = 1; i <= SIGRTMAX; i++)
        if (is_passed_on(i))
            sigaction(i, &before[i], NULL);
    sigaction(SIGPIPE, &before[SIGPIPE], NULL);
    sigaction(SIGXFSZ, &before[SIGXFSZ], NULL);
    sigaction(SIGCHLD, &before[SIGCHLD], NULL);
}

/* ---- the program -------------------------------------------------------- */

/* Puts the preload in front of LD_PRELOAD, and its settings into ALIQUOT. Runs
 * in the child. False: there is no memory. */
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

/* Becomes the program. If exec fails, errno goes through the pipe, which a
 * successful exec closes. */
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

/* Calls the watcher whenever its descriptor can be read, until the program has
 * ended. */
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

/* Waits for the program's end and fills in how it was. The process is left a
 * zombie until child_pid is 0: its number cannot belong to another process
 * while a handler may still signal it. */
static void
child_wait(const struct alqi_cli_launch *launch, struct alqi_cli_launched *out)
{
    struct rusage usage = {0};
    siginfo_t ended;

    if (launch->watched != NULL)
        watch(launch, out->pid);
    while (waitid(P_PID, (id_t)out->pid, &ended, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR)
        continue;
    out->ended_ns = alqi_plat_mono_ns_sigsafe();
    child_pid = 0; /* its number may be another's from here on */
    while (wait4(out->pid, &out->wait_status, 0, &usage) < 0 && errno == EINTR)
        continue;
    out->most_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
}

/* All signals are blocked around fork(): else one could arrive in the child
 * with this process's handlers, or in the parent before child_pid is known. */
bool
alqi_cli_launch(const struct alqi_cli_launch *launch,
                struct alqi_cli_launched *out)
{
    struct sigaction before[NSIG];
    sigset_t all, mask;
    int fds[2];

    *out = (struct alqi_cli_launched){0};
    if (pipe2(fds, O_CLOEXEC) != 0)
        return alqi_cli_refuse("cannot make a pipe: %s", strerror(errno));
    fflush(NULL);
    late_text = launch->late_text;
    sigfillset(&all); /* no signal between fork and the new dispositions */
    sigprocmask(SIG_SETMASK, &all, &mask);
    signals_set(before);
    if (before[SIGINT].sa_handler == SIG_IGN)
        late_text = NULL; /* in the background: no ^C is meant for it */
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
    if (launch->began != NULL && out->exec_errno == 0)
        launch->began(launch->arg, out->pid);
    child_wait(launch, out);
    return true;
}

/* Makes the same signal end this process, without a second core file. Returns
 * only for a signal that does not end it. */
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

/* The path of this command; in a root without /proc, by how it was called. */
static void
self_find(char self[PATH_MAX])
{
    const char *called = (const char *)getauxval(AT_EXECFN);

    alqi_plat_executable_sigsafe(self, PATH_MAX);
    if (self[0] == '\0' && called != NULL && realpath(called, self) == NULL)
        self[0] = '\0';
}

/* ALIQUOT_PRELOAD_PATH is tried before the places beside this command.
 * LD_PRELOAD separates by blanks and colons and knows no quotes, so a path with
 * one is refused. */
bool
alqi_cli_preload_find(char *path, size_t capacity)
{
    static const char *const places[] = {"../lib", "../lib/aliquot", ".",
                                         ALQI_INSTALL_PRELOAD_DIR};
    const char *given = getenv("ALIQUOT_PRELOAD_PATH");
    char self[PATH_MAX], try[2 * PATH_MAX], full[PATH_MAX];
    const char *dir;

    self_find(self);
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
        return alqi_cli_refuse(
            "%s: LD_PRELOAD cannot hold a path with a blank or a "
            "colon; move it, and set ALIQUOT_PRELOAD_PATH",
            full);
    }
    return alqi_cli_refuse(
        "libaliquot-preload.so is not beside %s, nor in %s; set "
        "ALIQUOT_PRELOAD_PATH to its path",
        dir, ALQI_INSTALL_PRELOAD_DIR);
}
