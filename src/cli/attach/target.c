/* target.c -- can this process be attached to?
 *
 * Each reason why not is one line, with what to do where something can be
 * done, before anything of the process is touched.  The order is that of what
 * is known first: the process, this user's rights, the program, its C library.
 */
#include "cli/attach/target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file_name.h"
#include "cli/tool/cli.h"
#include "cli/tool/proc.h"
#include "plat/inject.h"
#include "plat/program.h"

enum { BEGIN_ROUNDS = 50 }; /* of 10 ms */
#define OLD_LIBC "libc-2."

/* ---- what /proc says ----------------------------------------------------- */

static FILE *
proc_open(pid_t pid, const char *name)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

static void
status_line(struct alqi_cli_attach_target *t, const char *line)
{
    unsigned value;

    if (strncmp(line, "State:", 6) == 0)
        t->state = line[7];
    else if (sscanf(line, "TracerPid: %u", &value) == 1)
        t->tracer = (pid_t)value;
    else if (sscanf(line, "Uid: %*u %u", &value) == 1)
        t->uid = value;
    else if (sscanf(line, "Gid: %*u %u", &value) == 1)
        t->gid = value;
    else if (sscanf(line, "PPid: %u", &value) == 1)
        t->parent = (pid_t)value;
    else if (sscanf(line, "Seccomp: %u", &value) == 1)
        t->n_filters = value != 0; /* the next line counts, if it is there */
    else if (sscanf(line, "Seccomp_filters: %u", &value) == 1)
        t->n_filters = value;
    else if (strncmp(line, "x86_Thread_features:", 20) == 0)
        t->has_shadow = strstr(line, "shstk") != NULL;
}

static bool
status_read(struct alqi_cli_attach_target *t)
{
    FILE *file = proc_open(t->pid, "status");
    char line[1024];

    if (file == NULL)
        return false;
    t->inner_pid = alqi_cli_proc_inner_pid(t->pid);
    while (fgets(line, sizeof line, file) != NULL)
        status_line(t, line);
    fclose(file);
    return true;
}

/* A container begins with a filter, which lets libraries be loaded: its
 * processes have those of its first one, and that itself may have one.  Nor is
 * a filter the process's own that this command has, too. */
static bool
has_own_filter(const struct alqi_cli_attach_target *t)
{
    struct alqi_cli_attach_target other = {.pid = getpid()};

    if (t->n_filters == 0 ||
        (status_read(&other) && t->n_filters <= other.n_filters))
        return false;
    if (t->inner_pid == 1)
        return t->n_filters > 1;
    for (other = *t; other.inner_pid != 1;) {
        other = (struct alqi_cli_attach_target){.pid = other.parent};
        if (other.pid == 0 || !status_read(&other))
            return true; /* the first process is not to be seen from here */
    }
    return t->n_filters > other.n_filters;
}

static bool
mapping_add(struct alqi_cli_attach_target *t, size_t *room, const char *line)
{
    struct alqi_cli_mapping m = {0};
    char flags[8] = "";
    int at = 0;

    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %" SCNx64 " %*s %*s %n",
               &m.start, &m.end, flags, &m.offset, &at) < 4)
        return true;
    m.is_executable = flags[2] == 'x';
    m.is_writable = flags[1] == 'w';
    m.is_shared = flags[3] == 's';
    snprintf(m.path, sizeof m.path, "%.*s", (int)strcspn(line + at, "\n"),
             line + at);
    if (t->n_mappings == *room) {
        size_t more = *room == 0 ? 256 : 2 * *room;
        void *p = reallocarray(t->mappings, more, sizeof m);

        if (p == NULL)
            return false;
        t->mappings = p;
        *room = more;
    }
    t->mappings[t->n_mappings++] = m;
    return true;
}

/* Of the file, which is closed; NULL: there is none. */
static bool
map_read(struct alqi_cli_attach_target *t, FILE *file)
{
    char line[PATH_MAX + 128];
    size_t room = 0;
    bool ok = true;

    if (file == NULL)
        return false;
    alqi_cli_attach_target_drop(t);
    while (ok && fgets(line, sizeof line, file) != NULL)
        ok = mapping_add(t, &room, line);
    fclose(file);
    return ok && t->n_mappings > 0;
}

bool
alqi_cli_attach_target_map(struct alqi_cli_attach_target *t)
{
    return map_read(t, proc_open(alqi_cli_proc_living(t->pid), "maps"));
}

bool
alqi_cli_attach_target_map_text(struct alqi_cli_attach_target *t, char *text,
                                size_t n)
{
    return n > 0 && map_read(t, fmemopen(text, n, "r"));
}

void
alqi_cli_attach_target_drop(struct alqi_cli_attach_target *t)
{
    free(t->mappings);
    t->mappings = NULL;
    t->n_mappings = 0;
}

const struct alqi_cli_mapping *
alqi_cli_attach_target_find(const struct alqi_cli_attach_target *t,
                            const char *name)
{
    for (size_t i = 0; i < t->n_mappings; i++)
        if (strcmp(alqi_base_file_name(t->mappings[i].path), name) == 0)
            return &t->mappings[i];
    return NULL;
}

const struct alqi_cli_mapping *
alqi_cli_attach_target_at(const struct alqi_cli_attach_target *t,
                          uintptr_t address)
{
    size_t low = 0, high = t->n_mappings; /* the system lists them in order */

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (address >= t->mappings[middle].end)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->n_mappings && address >= t->mappings[low].start
               ? &t->mappings[low]
               : NULL;
}

static bool
is_same_namespace(pid_t one, pid_t other)
{
    struct stat a, b;
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)one);
    if (stat(path, &a) != 0)
        return false;
    snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)other);
    return stat(path, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

pid_t
alqi_cli_attach_target_other(const struct alqi_cli_attach_target *t,
                             pid_t inner_pid)
{
    struct alqi_cli_attach_target other = {0};
    struct dirent *entry;
    pid_t found = 0;
    DIR *directory;

    if (t->inner_pid == t->pid)
        return inner_pid;
    directory = opendir("/proc");
    while (directory != NULL && found == 0 &&
           (entry = readdir(directory)) != NULL) {
        other.pid = (pid_t)atoi(entry->d_name);
        if (other.pid > 0 && status_read(&other) &&
            other.inner_pid == inner_pid &&
            is_same_namespace(t->pid, other.pid))
            found = other.pid;
    }
    if (directory != NULL)
        closedir(directory);
    return found;
}

void
alqi_cli_attach_target_files(struct alqi_cli_attach_target *t)
{
    char path[64];
    struct stat own, its;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/exe", (int)t->pid);
    n = readlink(path, t->executable, sizeof t->executable - 1);
    t->is_kernel_thread = n < 0 && errno == ENOENT;
    t->executable[n > 0 ? n : 0] = '\0';
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)t->pid);
    t->is_other_mount = stat("/proc/self/ns/mnt", &own) == 0 &&
                        stat(path, &its) == 0 && own.st_ino != its.st_ino;
    snprintf(path, sizeof path, "/proc/%d/root", (int)t->pid);
    if (!t->is_other_mount && stat("/", &own) == 0 && stat(path, &its) == 0)
        t->is_other_mount =
            own.st_ino != its.st_ino || own.st_dev != its.st_dev; /* chroot */
    if (t->is_other_mount)
        snprintf(t->root, sizeof t->root, "/proc/%d/root", (int)t->pid);
}

/* ---- reasons why not ----------------------------------------------------- */

#define REFUSE(...) refuse(verb, t->pid, __VA_ARGS__)

static bool refuse(const char *verb, pid_t pid, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool
refuse(const char *verb, pid_t pid, const char *format, ...)
{
    char why[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return alqi_cli_refuse("%s: process %d %s", verb, (int)pid, why);
}

static bool
state_check(const char *verb, const struct alqi_cli_attach_target *t)
{
    if (t->state == 'Z' || t->state == 'X')
        return REFUSE("has ended");
    if (t->is_kernel_thread)
        return REFUSE("is a thread of the kernel");
    if (t->state == 'T')
        return REFUSE("is stopped: continue it first (kill -CONT %d)",
                      (int)t->pid);
    if (t->tracer != 0)
        return REFUSE("is traced by process %d: end that first",
                      (int)t->tracer);
    return true;
}

/* A filter of this command's own answers for each process alike: the calls here
 * are of none that is traced, and of no memory. */
static bool
is_filtered(pid_t pid)
{
    struct iovec local = {NULL, 0}, remote = {NULL, 0};

    errno = 0;
    if (ptrace(PTRACE_DETACH, pid, NULL, NULL) != 0 && errno != ESRCH)
        return true;
    return process_vm_readv(pid, &local, 1, &remote, 1, 0) < 0 &&
           errno != ESRCH;
}

/* The system asks the same of who opens the memory as of who attaches. */
static bool
rights_check(const char *verb, const struct alqi_cli_attach_target *t)
{
    char path[64], scope[8] = "0";
    int fd, error;
    FILE *file;

    if (is_filtered(t->pid))
        return REFUSE("cannot be looked into: this command runs under a filter "
                      "(seccomp) that forbids %s: run it outside of the "
                      "container",
                      "ptrace and process_vm_readv");
    snprintf(path, sizeof path, "/proc/%d/mem", (int)t->pid);
    fd = open(path, O_RDWR | O_CLOEXEC);
    error = errno;
    if (fd >= 0) {
        close(fd);
        return true;
    }
    if (t->uid != geteuid() && geteuid() != 0)
        return REFUSE("belongs to another user (%u): run this as that user, "
                      "or as root",
                      (unsigned)t->uid);
    file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (file != NULL) {
        if (fgets(scope, sizeof scope, file) == NULL)
            scope[0] = '0';
        fclose(file);
    }
    if (scope[0] == '1')
        return REFUSE("is no child of this command, and the system lets a user "
                      "attach to those alone: run this as root, or 'sysctl "
                      "kernel.yama.ptrace_scope=0'");
    if (scope[0] > '1')
        return REFUSE("cannot be attached to by users (ptrace_scope %c): run "
                      "this as root%s",
                      scope[0],
                      scope[0] == '3' ? "; with 3 not even root may" : "");
    return REFUSE("cannot be attached to: %s (it may have more privileges than "
                  "its user, or forbid it)",
                  strerror(error));
}

static bool
confinement_check(const char *verb, const struct alqi_cli_attach_target *t)
{
    if (t->has_own_filter)
        return REFUSE(
            "has a filter of its own for system calls (seccomp), which may "
            "forbid it to load the profiler: start it with "
            "'aliquot record'");
    if (t->has_shadow)
        return REFUSE("has shadow stacks, which let no call in: start it with "
                      "'aliquot record'");
    return true;
}

/* The release of a C library whose dlopen is elsewhere: until 2.33 its file has
 * that in its name, as in libc-2.31.so.  NULL: it is none. */
static const char *
old_c_library(const struct alqi_cli_attach_target *t)
{
    for (size_t i = 0; i < t->n_mappings; i++) {
        const char *name = alqi_base_file_name(t->mappings[i].path);

        if (strncmp(name, OLD_LIBC, strlen(OLD_LIBC)) == 0)
            return name + strlen("libc-");
    }
    return NULL;
}

/* A process that has begun just now gets it in a moment. */
static bool
has_c_library(struct alqi_cli_attach_target *t)
{
    const struct timespec a_while = {.tv_nsec = 10000000};

    for (unsigned i = 0; i < BEGIN_ROUNDS; i++) {
        if (alqi_cli_attach_target_find(t, "libc.so.6") != NULL ||
            old_c_library(t) != NULL)
            return true;
        nanosleep(&a_while, NULL);
        if (!alqi_cli_attach_target_map(t))
            break;
    }
    return false;
}

static bool
program_check(const char *verb, struct alqi_cli_attach_target *t)
{
    char path[64], interpreter[ALQI_PLAT_PROGRAM_PATH];
    enum alqi_plat_program kind;
    const char *old;

    snprintf(path, sizeof path, "/proc/%d/exe", (int)t->pid);
    kind = alqi_plat_program_look(path, interpreter);
    if (kind != ALQI_PLAT_PROGRAM_OK && kind != ALQI_PLAT_PROGRAM_PRIVILEGED)
        return REFUSE("is %s (%s): the profiler is built for this machine's "
                      "64-bit programs with glibc only",
                      alqi_plat_program_text(kind), t->executable);
    if (!has_c_library(t))
        return REFUSE("has no C library of glibc loaded (%s): nothing to "
                      "attach to",
                      t->executable);
    old = old_c_library(t);
    if (old != NULL)
        return REFUSE("runs on glibc %.*s, and attaching needs 2.34 or later: "
                      "start it with 'aliquot record'",
                      (int)strcspn(old, "s") - 1, old);
    return true;
}

bool
alqi_cli_attach_target_look(const char *verb, pid_t pid,
                            struct alqi_cli_attach_target *t)
{
    *t = (struct alqi_cli_attach_target){.pid = pid};
    if (!alqi_plat_can_inject())
        return REFUSE("cannot be attached to on this processor");
    if (!status_read(t))
        return alqi_cli_refuse("%s: no process %d", verb, (int)pid);
    t->has_own_filter = has_own_filter(t);
    errno = 0;
    alqi_cli_attach_target_files(t);
    if (!state_check(verb, t) || !rights_check(verb, t) ||
        !confinement_check(verb, t))
        return false;
    if (!alqi_cli_attach_target_map(t))
        return REFUSE("has ended");
    if (program_check(verb, t))
        return true;
    alqi_cli_attach_target_drop(t);
    return false;
}

/* ---- where the command may not ------------------------------------------- */

void
alqi_cli_attach_target_name(struct alqi_cli_attach_target *t, pid_t pid)
{
    *t = (struct alqi_cli_attach_target){.pid = pid};
    (void)status_read(t);
    alqi_cli_attach_target_files(t);
}

bool
alqi_cli_attach_target_is_refused(pid_t pid)
{
    struct alqi_cli_attach_target t = {.pid = pid};
    char path[64];
    int fd;

    if (!status_read(&t))
        return false;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return !has_own_filter(&t) &&
           (fd < 0 || t.tracer != 0 || t.has_shadow || is_filtered(pid));
}

bool
alqi_cli_attach_target_has_map(pid_t pid)
{
    FILE *file = proc_open(alqi_cli_proc_living(pid), "maps");
    bool has = file != NULL && fgetc(file) != EOF;

    if (file != NULL)
        fclose(file);
    return has;
}
