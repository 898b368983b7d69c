/* exec.c -- programs that the program executes [doc/design/preload]
 *
 * The recorded process itself is followed over exec: the next image finds in
 * its environment the variables that this image found and took out.  Children
 * are followed where the environment is kept (`follow`).  A program that cannot
 * be recorded gets no variable of ours that would disturb it, and is noted.
 *
 *             | can be recorded       | cannot, harmless | cannot, disturbed
 *   itself    | our variables, added  | as it is, noted  | as it is, noted
 *   child     | as it is              | as it is         | as it is
 *   child,    | as it is: they are    | as it is, noted  | without our
 *   followed  | there                 |                  | variables, noted
 *
 * .inv.child   The caller may be between vfork and exec, or a forked child of a
 *              process of many threads: no malloc, no lock, all memory on the
 *              stack, and no memory stays changed but flags of the recording.
 *
 * What the C library executes by itself (system, popen) does not come here. */
#include <alloca.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plat/program.h"
#include "preload/exec.h"
#include "preload/file.h"
#include "preload/preload.h"

typedef int execve_fn(const char *, char *const *, char *const *);
typedef int spawn_fn(pid_t *, const char *, const posix_spawn_file_actions_t *,
                     const posix_spawnattr_t *, char *const *, char *const *);

static struct {
    execve_fn *execve, *execvpe;
    int (*fexecve)(int, char *const *, char *const *);
    int (*execveat)(int, const char *, char *const *, char *const *, int);
    spawn_fn *posix_spawn, *posix_spawnp;
} real;

static pid_t self; /* the process of this image */

/* Finds the real functions, execve last: run() takes it for a sign that all of
 * them are known. */
static void
real_resolve(void)
{
    real.execvpe = (execve_fn *)dlsym(RTLD_NEXT, "execvpe");
    *(void **)&real.fexecve = dlsym(RTLD_NEXT, "fexecve");
    *(void **)&real.execveat = dlsym(RTLD_NEXT, "execveat");
    real.posix_spawn = (spawn_fn *)dlsym(RTLD_NEXT, "posix_spawn");
    real.posix_spawnp = (spawn_fn *)dlsym(RTLD_NEXT, "posix_spawnp");
    real.execve = (execve_fn *)dlsym(RTLD_NEXT, "execve"); /* last */
}

void
alqi_preload_exec_start(void)
{
    real_resolve();
    self = getpid();
}

/* ---- the environment ----------------------------------------------------- */

static bool
is_variable(const char *text, const char *name)
{
    size_t n = strlen(name);

    return strncmp(text, name, n) == 0 && text[n] == '=';
}

/* The environment with room for two more, and for a longer LD_PRELOAD. */
struct room {
    char **vars;
    char *list;
};

static size_t
vars_count(char *const *envp)
{
    size_t n = 0;

    while (envp != NULL && envp[n] != NULL)
        n++;
    return n;
}

static char **
var_find(char *const *envp, const char *name)
{
    for (; envp != NULL && *envp != NULL; envp++)
        if (is_variable(*envp, name))
            return (char **)envp;
    return NULL;
}

/* All but ALIQUOT; the number of them. */
static size_t
others_copy(char **vars, char *const *envp)
{
    size_t n = 0;

    for (; envp != NULL && *envp != NULL; envp++)
        if (!is_variable(*envp, "ALIQUOT"))
            vars[n++] = *envp;
    vars[n] = NULL;
    return n;
}

/* With our variables.  LD_PRELOAD is left alone where it was not changed, and
 * stands where it stood. */
static void
vars_add(struct room *room, char *const *envp)
{
    const char *own = alqi_preload_config_own_entry();
    size_t n = others_copy(room->vars, envp);
    char **at = var_find(room->vars, "LD_PRELOAD");
    const char *list = at != NULL ? strchr(*at, '=') + 1 : "";

    if (own[0] != '\0') {
        stpcpy(stpcpy(stpcpy(stpcpy(room->list, "LD_PRELOAD="), own),
                      *list != '\0' ? ":" : ""),
               list);
        if (at == NULL)
            at = room->vars + n++;
        *at = room->list;
    }
    room->vars[n++] = alqi_preload_config_passed();
    room->vars[n] = NULL;
}

/* Without them. */
static void
vars_remove(struct room *room, char *const *envp)
{
    char **at;

    (void)others_copy(room->vars, envp);
    at = var_find(room->vars, "LD_PRELOAD");
    if (at == NULL)
        return;
    *at = strcpy(room->list, *at);
    alqi_preload_config_entry_remove(room->vars);
}

/* ---- what is executed ---------------------------------------------------- */

struct call {
    int (*run)(const struct call *call, char *const *envp);
    const char *file;
    char *const *argv;
    char *const *envp;
    bool is_searched; /* in PATH */
    bool is_spawn;
    int fd, flags;
    pid_t *pid;
    const posix_spawn_file_actions_t *actions;
    const posix_spawnattr_t *attr;
};

/* The path of the program to run: as exec finds it, or c->file as it was given.
 */
static const char *
file_find(const struct call *c, char path[ALQI_PLAT_PROGRAM_PATH])
{
    const char *dirs = getenv("PATH");
    struct stat st;

    if (!c->is_searched || strchr(c->file, '/') != NULL)
        return c->file;
    for (dirs = dirs != NULL ? dirs : "/bin:/usr/bin"; *dirs != '\0';) {
        size_t n = strcspn(dirs, ":");

        if ((size_t)snprintf(path, ALQI_PLAT_PROGRAM_PATH, "%.*s%s%s", (int)n,
                             dirs, n != 0 ? "/" : "./",
                             c->file) < ALQI_PLAT_PROGRAM_PATH &&
            stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
            access(path, X_OK) == 0)
            return path;
        dirs += n + (dirs[n] == ':');
    }
    return c->file;
}

/* For aliquot record, which says it. */
static void
unrecorded_note(enum alqi_plat_program program, const char *file)
{
    char line[ALQI_PLAT_PROGRAM_PATH + 100];
    const char *path = alqi_preload_config_notes();
    int fd, n;

    if (path[0] == '\0')
        return;
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
              0600);
    if (fd < 0)
        return;
    n = snprintf(line, sizeof line, "%d %s\n", (int)program, file);
    if (n > 0 && (size_t)n < sizeof line)
        (void)!write(fd, line, (size_t)n);
    close(fd);
}

static bool
is_disturbed(enum alqi_plat_program program)
{
    return program == ALQI_PLAT_PROGRAM_WIDTH ||
           program == ALQI_PLAT_PROGRAM_MACHINE ||
           program == ALQI_PLAT_PROGRAM_LIBC;
}

/* Runs a program with the environment that the table above gives it, and notes
 * one that cannot be recorded.  The variables lie on this frame's stack
 * (.inv.child).  Returns where the exec fails, or was a spawn. */
static ALQI_NOINLINE int
run_followed(const struct call *c, bool is_self)
{
    char path[ALQI_PLAT_PROGRAM_PATH], script[ALQI_PLAT_PROGRAM_PATH];
    const char *file = file_find(c, path);
    enum alqi_plat_program program = alqi_plat_program_look(file, script);
    char **list = var_find(c->envp, "LD_PRELOAD");
    bool is_kept = alqi_preload_config_is_kept();
    struct room room;

    room.vars = alloca((vars_count(c->envp) + 3) * sizeof *room.vars);
    room.list = alloca(strlen(alqi_preload_config_own_entry()) +
                       (list != NULL ? strlen(*list) : 0) + 20);
    room.vars[0] = NULL;
    if (program != ALQI_PLAT_PROGRAM_OK)
        unrecorded_note(program, script[0] != '\0' ? script : file);
    if (is_kept && is_disturbed(program))
        vars_remove(&room, c->envp);
    else if (is_self && !is_kept && program == ALQI_PLAT_PROGRAM_OK)
        vars_add(&room, c->envp);
    else
        return c->run(c, c->envp);
    return c->run(c, room.vars);
}

/* Where neither this image nor its children are followed, or no file may be
 * looked at, the environment passes untouched. */
static int
run_any(const struct call *c)
{
    bool is_self = !c->is_spawn && self != 0 && getpid() == self;

    if (real.execve == NULL)
        real_resolve();
    if (!alqi_preload_config.is_on || c->file == NULL ||
        alqi_plat_confinement_sigsafe() != ALQI_PLAT_FREE ||
        (!is_self && !alqi_preload_config_is_kept()) ||
        alqi_preload_config_passed()[0] == '\0')
        return c->run(c, c->envp);
    return run_followed(c, is_self);
}

/* Runs a program.  A recording of this process, be it a forked child's, ends
 * with that unless it fails. */
static int
run(const struct call *c)
{
    bool is_recorded = !c->is_spawn && alqi_preload_is_recorded();
    int result;

    if (is_recorded)
        alqi_preload_ended(ALQI_RAW_EXECUTED);
    result = run_any(c);
    if (is_recorded)
        alqi_preload_not_ended(ALQI_RAW_EXECUTED);
    return result;
}

/* ---- the calls ----------------------------------------------------------- */

static int
run_execve(const struct call *c, char *const *envp)
{
    return real.execve(c->file, c->argv, envp);
}

static int
run_execvpe(const struct call *c, char *const *envp)
{
    return real.execvpe(c->file, c->argv, envp);
}

static int
run_fexecve(const struct call *c, char *const *envp)
{
    return real.fexecve(c->fd, c->argv, envp);
}

/* c->file is what was looked at, which is not always what was given. */
static int
run_execveat(const struct call *c, char *const *envp)
{
    return real.execveat(c->fd, (const char *)c->attr, c->argv, envp, c->flags);
}

static int
run_spawn(const struct call *c, char *const *envp)
{
    return (c->is_searched ? real.posix_spawnp : real.posix_spawn)(
        c->pid, c->file, c->actions, c->attr, c->argv, envp);
}

ALQI_EXPORT int
execve(const char *file, char *const argv[], char *const envp[])
{
    return run(&(struct call){run_execve, file, argv, envp});
}

ALQI_EXPORT int
execv(const char *file, char *const argv[])
{
    return run(&(struct call){run_execve, file, argv, environ});
}

ALQI_EXPORT int
execvpe(const char *file, char *const argv[], char *const envp[])
{
    return run(&(struct call){run_execvpe, file, argv, envp, true});
}

ALQI_EXPORT int
execvp(const char *file, char *const argv[])
{
    return run(&(struct call){run_execvpe, file, argv, environ, true});
}

ALQI_EXPORT int
fexecve(int fd, char *const argv[], char *const envp[])
{
    char file[40];

    snprintf(file, sizeof file, "/proc/self/fd/%d", fd);
    return run(&(struct call){run_fexecve, file, argv, envp, false, false, fd});
}

ALQI_EXPORT int
execveat(int fd, const char *path, char *const argv[], char *const envp[],
         int flags)
{
    char file[ALQI_PLAT_PROGRAM_PATH];
    bool is_at = path[0] != '/' && fd != AT_FDCWD;

    snprintf(file, sizeof file, "/proc/self/fd/%d%s%s", fd,
             path[0] != '\0' ? "/" : "", path);
    return run(&(struct call){run_execveat, is_at ? file : path, argv, envp,
                              false, false, fd, flags, NULL, NULL,
                              (const void *)path});
}

ALQI_EXPORT int
posix_spawn(pid_t *pid, const char *file,
            const posix_spawn_file_actions_t *actions,
            const posix_spawnattr_t *attr, char *const argv[],
            char *const envp[])
{
    return run(&(struct call){run_spawn, file, argv, envp, false, true, 0, 0,
                              pid, actions, attr});
}

ALQI_EXPORT int
posix_spawnp(pid_t *pid, const char *file,
             const posix_spawn_file_actions_t *actions,
             const posix_spawnattr_t *attr, char *const argv[],
             char *const envp[])
{
    return run(&(struct call){run_spawn, file, argv, envp, true, true, 0, 0,
                              pid, actions, attr});
}

/* ---- with their arguments in a row --------------------------------------- */

/* The number of arguments, `first` counted and the NULL not.  Leaves `from`
 * where it is. */
static size_t
args_count(va_list from)
{
    va_list args;
    size_t n = 1;

    va_copy(args, from);
    while (va_arg(args, char *) != NULL)
        n++;
    va_end(args);
    return n;
}

/* Up to the NULL, which is read, too. */
static void
args_take(char **argv, const char *first, va_list args)
{
    *argv = (char *)first;
    while (*argv++ != NULL)
        *argv = va_arg(args, char *);
}

#define ARGS_TAKE(argv, first, args)                                           \
    do {                                                                       \
        va_start(args, first);                                                 \
        (argv) = alloca((args_count(args) + 1) * sizeof *(argv));              \
        args_take(argv, first, args);                                          \
    } while (false)

ALQI_EXPORT int
execl(const char *file, const char *first, ...)
{
    char **argv;
    va_list args;

    ARGS_TAKE(argv, first, args);
    va_end(args);
    return execv(file, argv);
}

ALQI_EXPORT int
execlp(const char *file, const char *first, ...)
{
    char **argv;
    va_list args;

    ARGS_TAKE(argv, first, args);
    va_end(args);
    return execvp(file, argv);
}

ALQI_EXPORT int
execle(const char *file, const char *first, ...)
{
    char **argv, **envp;
    va_list args;

    ARGS_TAKE(argv, first, args);
    envp = va_arg(args, char **);
    va_end(args);
    return execve(file, argv, envp);
}
