/* attach.c -- calls for threads of a process: load, begin, end
 *
 *   open --load--> library there --begin--> it records --end--> idle library
 *
 * Each call has two arguments, a text and dlopen's mode, which the library's
 * own functions have no use for.  It goes to the first thread that is found at
 * a safe point (safe.c); then that thread is on its own, and this side looks
 * from outside whether the call has come back: the library's mark for dlopen,
 * its count of calls for the others (wire/attach.h). */
#include "cli/attach/attach.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file_name.h"
#include "base/pattern.h"
#include "cli/attach/library.h"
#include "cli/attach/safe.h"
#include "cli/tool/cli.h"
#include "cli/tool/proc.h"
#include "plat/inject.h"
#include "wire/side.h"

enum {
    FIND_US = 10000000,   /* for a thread at a safe point  */
    RETURN_US = 10000000, /* for a call to come back       */
    END_US = 5000000,     /* for threads to leave the profiler */
    ROUND_NS = 1000000,
    SETTINGS_BYTES = 4096
};

struct alqi_cli_attach {
    const char *verb;
    const char *library; /* the file here */
    struct alqi_cli_attach_target target;
    struct alqi_cli_modules *modules;
    char library_name[PATH_MAX]; /* as the process knows it */
    char copy[PATH_MAX];         /* the file made for it, here; "": none */
    uintptr_t come_back;
    uintptr_t told; /* addresses in the library; 0: it is not there */
    uintptr_t begin;
    uintptr_t end;
    uintptr_t mark; /* 0: an older library has none */
};

static void
wait_a_round(void)
{
    const struct timespec a_while = {.tv_nsec = ROUND_NS};

    nanosleep(&a_while, NULL);
}

static bool
is_gone(const struct alqi_cli_attach *a)
{
    struct alqi_cli_proc proc;

    return !alqi_cli_proc_read(a->target.pid, &proc);
}

static bool
say_gone(const struct alqi_cli_attach *a)
{
    return alqi_cli_refuse("%s: process %d has ended, or executed another "
                           "program",
                           a->verb, (int)a->target.pid);
}

/* ---- a thread at a safe point -------------------------------------------- */

/* What came of one thread. */
enum given { GIVEN, NOT_SAFE, FAILED };

static enum given
thread_try(struct alqi_cli_attach *a, pid_t tid, uintptr_t function,
           const char *argument, int *error)
{
    struct alqi_plat_stopped thread;

    *error = alqi_plat_thread_stop(tid, &thread);
    if (*error == ESRCH || *error == EBUSY)
        return NOT_SAFE;
    if (*error != 0)
        return FAILED;
    if (!alqi_cli_is_safe(a->modules, &a->target, &thread)) {
        alqi_plat_thread_go(&thread);
        return NOT_SAFE;
    }
    *error = alqi_plat_thread_call(&thread, function, argument, RTLD_NOW,
                                   a->come_back);
    if (*error == 0)
        return GIVEN;
    alqi_plat_thread_go(&thread);
    /* The rest of its stack is not mapped yet. */
    return *error == EFAULT ? NOT_SAFE : FAILED;
}

/* Tries each thread of the process once. */
static enum given
threads_try(struct alqi_cli_attach *a, uintptr_t function, const char *argument,
            int *error)
{
    enum given given = NOT_SAFE;
    struct dirent *entry;
    char path[64];
    DIR *directory;

    snprintf(path, sizeof path, "/proc/%d/task", (int)a->target.pid);
    directory = opendir(path);
    if (directory == NULL)
        return NOT_SAFE;
    while (given == NOT_SAFE && (entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.')
            given = thread_try(a, (pid_t)atoi(entry->d_name), function,
                               argument, error);
    closedir(directory);
    return given;
}

/* Gives some thread the call.  False: the reason has been said. */
static bool
call_give(struct alqi_cli_attach *a, uintptr_t function, const char *argument)
{
    uint64_t until_us = alqi_cli_mono_us() + FIND_US;
    enum given given;
    int error = 0;

    do {
        if (!alqi_cli_attach_target_map(&a->target) || is_gone(a))
            return say_gone(a);
        given = threads_try(a, function, argument, &error);
        if (given == NOT_SAFE)
            wait_a_round();
    } while (given == NOT_SAFE && alqi_cli_mono_us() < until_us);
    if (given == GIVEN)
        return true;
    if (given == FAILED)
        return alqi_cli_refuse("%s: process %d: cannot stop a thread: %s",
                               a->verb, (int)a->target.pid, strerror(error));
    return alqi_cli_refuse(
        "%s: process %d: none of its threads came to a point in %d s where it "
        "can load the profiler (all are in the C library, in the dynamic "
        "linker, or in code that cannot be unwound); try again",
        a->verb, (int)a->target.pid, FIND_US / 1000000);
}

/* ---- what the library tells ---------------------------------------------- */

/* Reads the structure.  A state that is none is ABSENT: the library may be
 * mapped in part. */
static bool
told_read(const struct alqi_cli_attach *a, struct alqi_attach_told *told)
{
    if (a->told == 0 ||
        !alqi_plat_memory_read(a->target.pid, a->told, told, sizeof *told))
        return false;
    told->text[sizeof told->text - 1] = '\0'; /* whatever is there */
    if (told->state != ALQI_ATTACH_IDLE &&
        told->state != ALQI_ATTACH_ATTACHED &&
        told->state != ALQI_ATTACH_ENDING)
        told->state = ALQI_ATTACH_ABSENT;
    return true;
}

/* Gives a thread a call of the library, and waits until it has come back.
 * False: the reason has been said. */
static bool
library_call(struct alqi_cli_attach *a, uintptr_t function,
             const char *argument, struct alqi_attach_told *told)
{
    uint32_t n_before;
    uint64_t until_us;

    if (!told_read(a, told))
        return say_gone(a);
    n_before = told->n_calls;
    if (!call_give(a, function, argument))
        return false;
    until_us = alqi_cli_mono_us() + RETURN_US;
    while (told_read(a, told)) {
        /* Once more: the words of one reading may be older than its first. */
        if (told->n_calls != n_before)
            return told_read(a, told) || say_gone(a);
        if (alqi_cli_mono_us() > until_us)
            return alqi_cli_refuse(
                "%s: process %d: the call of a thread has not come back in %d "
                "s (is the process starved, or attached to by another "
                "command?)",
                a->verb, (int)a->target.pid, RETURN_US / 1000000);
        wait_a_round();
    }
    return say_gone(a);
}

/* ---- the library --------------------------------------------------------- */

static bool
modules_read(struct alqi_cli_attach *a)
{
    alqi_cli_modules_drop(a->modules);
    a->modules = alqi_cli_modules_open(&a->target, a->library, a->library_name);
    return a->modules != NULL && alqi_cli_modules_attach(a->modules);
}

static bool
modules_open(struct alqi_cli_attach *a)
{
    return modules_read(a) ||
           alqi_cli_refuse("%s: process %d: its modules cannot be read",
                           a->verb, (int)a->target.pid);
}

/* Finds what the loaded library exports. */
static bool
library_find(struct alqi_cli_attach *a)
{
    const char *file = alqi_base_file_name(a->library_name);

    if (!modules_read(a))
        return false;
    a->told = alqi_cli_modules_symbol(a->modules, file, ALQI_ATTACH_TOLD);
    a->begin = alqi_cli_modules_symbol(a->modules, file, ALQI_ATTACH_BEGIN);
    a->end = alqi_cli_modules_symbol(a->modules, file, ALQI_ATTACH_END);
    a->mark = alqi_cli_modules_symbol(a->modules, file, ALQI_ATTACH_MARK);
    return a->told != 0 && a->begin != 0 && a->end != 0;
}

static bool
file_copy(const char *from, int to)
{
    char piece[65536];
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;

    while (fd >= 0 && (n = read(fd, piece, sizeof piece)) > 0)
        if (write(to, piece, (size_t)n) != n) {
            n = -1;
            break;
        }
    if (fd >= 0)
        close(fd);
    return n == 0;
}

/* The process sees other files: the library is copied to where it can open it.
 * False: the reason has been said. */
static bool
library_place(struct alqi_cli_attach *a)
{
    char there[PATH_MAX + 64];
    struct stat own, its;
    int fd;

    snprintf(a->library_name, sizeof a->library_name, "%s", a->library);
    snprintf(there, sizeof there, "/proc/%d/root%s", (int)a->target.pid,
             a->library);
    if (stat(a->library, &own) == 0 && stat(there, &its) == 0 &&
        own.st_dev == its.st_dev && own.st_ino == its.st_ino)
        return true;
    snprintf(a->copy, sizeof a->copy, "%s/tmp/libaliquot-preload.XXXXXX.so",
             a->target.root);
    fd = mkstemps(a->copy, 3);
    if (fd >= 0 && file_copy(a->library, fd) && fchmod(fd, 0755) == 0) {
        close(fd);
        snprintf(a->library_name, sizeof a->library_name, "%s",
                 a->copy + strlen(a->target.root));
        return true;
    }
    alqi_cli_say("%s: process %d sees other files than this command, and the "
                 "profiler cannot be copied to %s: %s",
                 a->verb, (int)a->target.pid, a->copy, strerror(errno));
    if (fd >= 0) {
        close(fd);
        unlink(a->copy);
    }
    a->copy[0] = '\0';
    return false;
}

/* dlopen has come back, or is about to, once the library's constructor has
 * left its mark. */
static bool
library_wait(struct alqi_cli_attach *a)
{
    uint64_t until_us = alqi_cli_mono_us() + RETURN_US;
    const char *file = alqi_base_file_name(a->library_name);
    struct alqi_attach_told told;

    while (alqi_cli_attach_target_map(&a->target)) {
        if (alqi_cli_attach_target_find(&a->target, file) != NULL &&
            a->told == 0)
            library_find(a);
        if (told_read(a, &told) && told.state != ALQI_ATTACH_ABSENT)
            return true;
        if (alqi_cli_mono_us() > until_us)
            return alqi_cli_refuse(
                "%s: process %d did not load %s in %d s: its dynamic linker "
                "refused it (is the file readable there, is the file system "
                "mounted noexec?), or the process does not run",
                a->verb, (int)a->target.pid, a->library_name,
                RETURN_US / 1000000);
        wait_a_round();
    }
    return say_gone(a);
}

static bool
library_is_there(struct alqi_cli_attach *a)
{
    const char *name = alqi_cli_library_name(&a->target);

    if (name != NULL)
        snprintf(a->library_name, sizeof a->library_name, "%s", name);
    return name != NULL;
}

static bool
library_load(struct alqi_cli_attach *a)
{
    uintptr_t dlopen_there;
    bool ok;

    if (a->told != 0)
        return true;
    dlopen_there = alqi_cli_modules_symbol(a->modules, "libc.so.6", "dlopen");
    if (dlopen_there == 0)
        return alqi_cli_refuse("%s: process %d has a C library older than "
                               "glibc 2.34: start it with 'aliquot record'",
                               a->verb, (int)a->target.pid);
    if (!library_place(a) || !modules_open(a))
        return false;
    ok = call_give(a, dlopen_there, a->library_name) && library_wait(a);
    if (a->copy[0] != '\0')
        unlink(a->copy);
    return ok;
}

/* ---- open, begin, end ---------------------------------------------------- */

static bool
come_back_find(struct alqi_cli_attach *a)
{
    a->come_back = alqi_cli_come_back(a->verb, &a->target);
    return a->come_back != 0;
}

static bool
program_check(struct alqi_cli_attach *a)
{
    struct alqi_attach_told told;

    if (library_is_there(a) && library_find(a)) {
        if (!told_read(a, &told))
            return say_gone(a);
        if (told.state == ALQI_ATTACH_ABSENT)
            return alqi_cli_refuse(
                "%s: process %d has the profiler from its start, and cannot "
                "be given it twice: 'aliquot status -p %d' says whether it is "
                "recorded, and what can be done",
                a->verb, (int)a->target.pid, (int)a->target.pid);
        return true;
    }
    if (!modules_open(a))
        return false;
    if (alqi_cli_modules_program_defines(a->modules, "malloc"))
        return alqi_cli_refuse("%s: process %d brings its own malloc (%s): "
                               "nothing of it would be seen",
                               a->verb, (int)a->target.pid,
                               a->target.executable);
    return true;
}

struct alqi_cli_attach *
alqi_cli_attach_open(const char *verb, pid_t pid, const char *library)
{
    struct alqi_cli_attach *a = calloc(1, sizeof *a);

    if (a == NULL)
        return NULL;
    a->verb = verb;
    a->library = library;
    if (alqi_cli_attach_target_look(verb, pid, &a->target) &&
        come_back_find(a) && program_check(a))
        return a;
    alqi_cli_attach_drop(a);
    return NULL;
}

void
alqi_cli_attach_drop(struct alqi_cli_attach *a)
{
    if (a == NULL)
        return;
    alqi_cli_modules_drop(a->modules);
    alqi_cli_attach_target_drop(&a->target);
    free(a);
}

bool
alqi_cli_attach_is_late(pid_t pid)
{
    struct alqi_cli_attach *a = calloc(1, sizeof *a);
    struct alqi_attach_told told;
    bool is_late = false;

    if (a == NULL)
        return false;
    a->target.pid = pid;
    if (alqi_cli_attach_target_map(&a->target)) {
        alqi_cli_attach_target_files(&a->target);
        is_late = library_is_there(a) && library_find(a) &&
                  told_read(a, &told) && told.state != ALQI_ATTACH_ABSENT;
    }
    alqi_cli_attach_drop(a);
    return is_late;
}

bool
alqi_cli_attach_told(const struct alqi_cli_attach *a,
                     struct alqi_attach_told *told)
{
    return told_read(a, told);
}

const struct alqi_cli_attach_target *
alqi_cli_attach_target_of(const struct alqi_cli_attach *a)
{
    return &a->target;
}

/* A number that was given to another program is no recorder's. */
pid_t
alqi_cli_attach_recorder(const struct alqi_attach_told *told)
{
    struct alqi_cli_proc proc;

    if (told->attacher_pid == 0 || told->attacher_pid == ALQI_ATTACH_NOBODY ||
        !alqi_cli_proc_read((pid_t)told->attacher_pid, &proc) ||
        strcmp(proc.command, "aliquot") != 0)
        return 0;
    return (pid_t)told->attacher_pid;
}

/* A recording that was left to itself, or that another command makes still, is
 * left alone. */
static bool
others_check(const struct alqi_cli_attach *a)
{
    struct alqi_attach_told told;

    if (!told_read(a, &told) || told.state != ALQI_ATTACH_ATTACHED)
        return true;
    if (told.attacher_pid == ALQI_ATTACH_NOBODY)
        return alqi_cli_refuse("%s: process %d is recorded to %s: 'aliquot "
                               "stop -p %d' ends that",
                               a->verb, (int)a->target.pid, told.text,
                               (int)a->target.pid);
    return alqi_cli_attach_recorder(&told) == 0 ||
           alqi_cli_refuse("%s: process %d is recorded by process %u, to %s",
                           a->verb, (int)a->target.pid,
                           (unsigned)told.attacher_pid, told.text);
}

/* The text of ALIQUOT for the library.  False: the path is too long. */
static bool
settings_make(const struct alqi_cli_attach *a,
              const struct alqi_cli_attach_settings *s,
              const struct alqi_cli_attach_place *place,
              char out[SETTINGS_BYTES])
{
    static const char name[] = "/%e.%p.%n.alqraw";
    char pattern[2 * sizeof place->there + sizeof name] = "";

    if (s->output == NULL) {
        alqi_base_pattern_quote(pattern, place->there, strlen(place->there));
        strcat(pattern, name);
    }
    if (snprintf(out, SETTINGS_BYTES,
                 "rate=%.17g,depth=%" PRIu64 ",seed=%" PRIu64
                 ",rss=%d,python=%d,native=%d,attacher=%d,watch=%d,out=%s",
                 s->rate, s->depth, s->seed, !s->has_no_rss, !s->has_no_python,
                 s->has_native, s->is_left ? ALQI_ATTACH_NOBODY : (int)getpid(),
                 !s->is_left && a->target.inner_pid == a->target.pid,
                 s->output != NULL ? s->output : pattern) < SETTINGS_BYTES)
        return true;
    return alqi_cli_refuse("%s: %s: the path is too long", a->verb,
                           s->output != NULL ? s->output : place->there);
}

bool
alqi_cli_attach_begin(struct alqi_cli_attach *a,
                      const struct alqi_cli_attach_settings *settings,
                      const struct alqi_cli_attach_place *place,
                      struct alqi_attach_told *told)
{
    uint64_t until_us = alqi_cli_mono_us() + END_US;
    char text[SETTINGS_BYTES];

    if (!settings_make(a, settings, place, text) || !library_load(a) ||
        !others_check(a))
        return false;
    do {
        if (!library_call(a, a->begin, text, told))
            return false;
    } while (!told->is_ok && told->state == ALQI_ATTACH_ENDING &&
             alqi_cli_mono_us() < until_us);
    return told->is_ok || alqi_cli_refuse("%s: process %d: %s", a->verb,
                                          (int)a->target.pid, told->text);
}

bool
alqi_cli_attach_end(struct alqi_cli_attach *a)
{
    uint64_t until_us = alqi_cli_mono_us() + END_US;
    struct alqi_attach_told told;

    do {
        if (!library_call(a, a->end, "", &told))
            return false;
    } while (!told.is_ok && alqi_cli_mono_us() < until_us);
    return told.is_ok ||
           alqi_cli_refuse("%s: process %d: the recording is ended, but stays "
                           "mapped there: %s",
                           a->verb, (int)a->target.pid, told.text);
}

bool
alqi_cli_attach_mark(struct alqi_cli_attach *a, const char *name)
{
    struct alqi_attach_told told;

    if (a->mark == 0)
        return alqi_cli_refuse("%s: process %d has a profiler that knows no "
                               "marks yet",
                               a->verb, (int)a->target.pid);
    if (!library_call(a, a->mark, name, &told))
        return false;
    if (told.is_ok)
        return true;
    if (told.state != ALQI_ATTACH_ATTACHED)
        return alqi_cli_refuse("%s: process %d is not recorded: 'aliquot start "
                               "-p %d' begins",
                               a->verb, (int)a->target.pid, (int)a->target.pid);
    return alqi_cli_refuse("%s: the recording of process %d takes no more "
                           "marks: it has %d, or no room",
                           a->verb, (int)a->target.pid, ALQI_SIDE_MARKS_MAX);
}
