/* old_glibc.c -- what glibc 2.31 lacks of what is called here
 *
 * Linked only into the portable program and preload (cmake/portable.cmake),
 * which are linked with the C library as it was at 2.31.  A call of something
 * newer does not link until it is here.  Keeps .inv.newer (doc/design/plat.md).
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "plat/old_find_object.h"

/* ---- 2.35: by the linker's --wrap ---------------------------------------- */

extern int __real__dl_find_object(void *, struct dl_find_object *)
    __attribute__((weak));
int __wrap__dl_find_object(void *address, struct dl_find_object *out);

int
__wrap__dl_find_object(void *address, struct dl_find_object *out)
{
    return __real__dl_find_object != NULL
               ? __real__dl_find_object(address, out)
               : alqi_plat_old_find_object(address, out);
}

/* ---- 2.33: until then inline functions of the headers -------------------- */

int
stat(const char *restrict path, struct stat *restrict out)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, out, 0);
}

int
lstat(const char *restrict path, struct stat *restrict out)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, out,
                        AT_SYMLINK_NOFOLLOW);
}

int
fstatat(int dir, const char *restrict path, struct stat *restrict out,
        int flags)
{
    return (int)syscall(SYS_newfstatat, dir, path, out, flags);
}

int
fstat(int fd, struct stat *out)
{
    return (int)syscall(SYS_fstat, fd, out);
}

int stat64(const char *restrict, struct stat64 *restrict)
    __attribute__((alias("stat")));
int lstat64(const char *restrict, struct stat64 *restrict)
    __attribute__((alias("lstat")));
int fstatat64(int, const char *restrict, struct stat64 *restrict, int)
    __attribute__((alias("fstatat")));
int fstat64(int, struct stat64 *) __attribute__((alias("fstat")));

/* ---- 2.36 ---------------------------------------------------------------- */

int
pidfd_open(pid_t pid, unsigned flags)
{
    return (int)syscall(SYS_pidfd_open, pid, flags);
}

/* ---- 2.32: from the tables of before ------------------------------------- */

extern const char *const _sys_errlist[];
extern const int _sys_nerr;
extern const char *const _sys_siglist[NSIG];

const char *
strerrordesc_np(int error)
{
    return error >= 0 && error < _sys_nerr ? _sys_errlist[error] : NULL;
}

const char *
sigdescr_np(int signal)
{
    return signal > 0 && signal < NSIG ? _sys_siglist[signal] : NULL;
}

const char *
sigabbrev_np(int signal)
{
    static const char names[][8] = {
        [SIGHUP] = "HUP",       [SIGINT] = "INT",       [SIGQUIT] = "QUIT",
        [SIGILL] = "ILL",       [SIGTRAP] = "TRAP",     [SIGABRT] = "ABRT",
        [SIGBUS] = "BUS",       [SIGFPE] = "FPE",       [SIGKILL] = "KILL",
        [SIGUSR1] = "USR1",     [SIGSEGV] = "SEGV",     [SIGUSR2] = "USR2",
        [SIGPIPE] = "PIPE",     [SIGALRM] = "ALRM",     [SIGTERM] = "TERM",
        [SIGSTKFLT] = "STKFLT", [SIGCHLD] = "CHLD",     [SIGCONT] = "CONT",
        [SIGSTOP] = "STOP",     [SIGTSTP] = "TSTP",     [SIGTTIN] = "TTIN",
        [SIGTTOU] = "TTOU",     [SIGURG] = "URG",       [SIGXCPU] = "XCPU",
        [SIGXFSZ] = "XFSZ",     [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF",
        [SIGWINCH] = "WINCH",   [SIGIO] = "POLL",       [SIGPWR] = "PWR",
        [SIGSYS] = "SYS",
    };

    if (signal <= 0 || signal >= (int)ALQI_COUNT_OF(names) ||
        names[signal][0] == '\0')
        return NULL;
    return names[signal];
}
