/* core.c -- all threads are stopped, one of them copies the process
 *
 *   look --all threads stop--> still --one is given the call--> copied
 *        --the others go--> the process runs; the copy is read
 *
 * .inv.moment  The caller takes what it needs beside the memory, such as the
 *              recording's length, while all threads stand still: times would
 *              not do, for a recording's are off by as long as a thread was
 *              off its processor.
 * .inv.tied    The copy is traced by this command, and the system kills it when
 *              its tracer ends, for whatever reason.  Until then it lives for
 *              some seconds only (preload/copy.c).
 *
 * A thread that waits in the system and cannot be stopped (state D) is waited
 * for before any other is stopped. */
#include "cli/attach/core.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file_name.h"
#include "cli/attach/library.h"
#include "cli/attach/safe.h"
#include "cli/attach/sent.h"
#include "cli/tool/cli.h"
#include "cli/tool/proc.h"

enum {
    STILL_US = 10000000,  /* for threads that can be stopped */
    RETURN_US = 10000000, /* for the call to come back       */
    LIST_US = 60000000,   /* for the copy to list its blocks */
    ROUND_US = 200,
    AGAIN_US = 20000, /* before all are stopped once more */
    /* of stack that the call needs, with the frame that it is given */
    STACK_BYTES = 32 << 10
};

/* What is known of the process before it is stopped. */
struct taking {
    const char *verb;
    struct alqi_cli_core *core;
    uintptr_t told, make; /* addresses in the preload */
    uintptr_t come_back;
    bool (*still)(void *arg);
    void *arg;
    /* the thread that was given the call is on its own */
    size_t given;
};

static void
wait_us(unsigned us)
{
    const struct timespec a_while = {.tv_nsec = us * 1000L};

    nanosleep(&a_while, NULL);
}

static bool
refuse(const struct taking *t, const char *why)
{
    return alqi_cli_refuse("%s: process %d: %s", t->verb,
                           (int)t->core->target.pid, why);
}

/* ---- before -------------------------------------------------------------- */

/* Finds the preload's function. */
static bool
library_find(struct taking *t)
{
    struct alqi_cli_attach_target *target = &t->core->target;
    const char *name = alqi_cli_library_name(target);
    struct alqi_cli_modules *modules;

    if (name == NULL)
        return alqi_cli_refuse("%s: process %d is not recorded: 'aliquot "
                               "start -p %d' begins",
                               t->verb, (int)target->pid, (int)target->pid);
    modules = alqi_cli_modules_open(target, name, name);
    if (modules == NULL)
        return refuse(t, "its modules cannot be read");
    t->told = alqi_cli_modules_symbol(modules, alqi_base_file_name(name),
                                      ALQI_COPY_TOLD);
    t->make = alqi_cli_modules_symbol(modules, alqi_base_file_name(name),
                                      ALQI_COPY_MAKE);
    alqi_cli_modules_drop(modules);
    return (t->told != 0 && t->make != 0) ||
           refuse(t, "its profiler is of another version of aliquot");
}

/* ---- still --------------------------------------------------------------- */

typedef bool thread_fn(struct taking *t, pid_t tid);

/* Calls it for each thread until it says false; true: it never did. */
static bool
threads_each(struct taking *t, thread_fn *each)
{
    struct dirent *entry;
    bool ok = true;
    char path[64];
    DIR *directory;

    snprintf(path, sizeof path, "/proc/%d/task", (int)t->core->target.pid);
    directory = opendir(path);
    if (directory == NULL)
        return false;
    while (ok && (entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.')
            ok = each(t, (pid_t)atoi(entry->d_name));
    closedir(directory);
    return ok;
}

static bool
can_stop(struct taking *t, pid_t tid)
{
    struct alqi_cli_proc proc;

    (void)t;
    return !alqi_cli_proc_read(tid, &proc) || proc.state != 'D';
}

static bool
is_stopped(const struct alqi_cli_core *core, pid_t tid)
{
    for (size_t i = 0; i < core->n_threads; i++)
        if (core->threads[i].tid == tid)
            return true;
    return false;
}

/* Asks a thread that has not been asked.  One that ends meanwhile is none. */
static bool
thread_ask(struct taking *t, pid_t tid)
{
    struct alqi_cli_core *core = t->core;
    int error;

    if (is_stopped(core, tid))
        return true;
    error = alqi_plat_thread_stop_ask(tid);
    if (error != 0)
        return error == ESRCH;
    core->threads = alqi_cli_realloc(core->threads, core->n_threads + 1,
                                     sizeof *core->threads);
    core->threads[core->n_threads++] = (struct alqi_plat_stopped){.tid = tid};
    return true;
}

/* Waits for the threads from `first` on, which were asked.  False: one did not
 * stop; the others have. */
static bool
threads_wait(struct taking *t, size_t first)
{
    struct alqi_cli_core *core = t->core;
    size_t n = first;
    bool ok = true;

    for (size_t i = first; i < core->n_threads; i++) {
        int error =
            alqi_plat_thread_stop_wait(core->threads[i].tid, &core->threads[n]);

        if (error == 0)
            n++;
        else
            ok = ok && error == ESRCH;
    }
    core->n_threads = n;
    return ok;
}

/* Lets all go but the one that was given the call. */
static void
threads_go(struct taking *t)
{
    for (size_t i = 0; i < t->core->n_threads; i++)
        if (i != t->given)
            alqi_plat_thread_go(&t->core->threads[i]);
}

/* Once more while threads come: those that are stopped make none. */
static bool
threads_stop_once(struct taking *t)
{
    struct alqi_cli_core *core = t->core;
    bool ok = threads_each(t, can_stop);
    size_t n_before;

    if (!ok)
        return false;
    do {
        n_before = core->n_threads;
        ok = threads_each(t, thread_ask);
        ok = threads_wait(t, n_before) && ok;
    } while (ok && core->n_threads > n_before);
    if (ok && core->n_threads > 0)
        return true;
    threads_go(t);
    core->n_threads = 0;
    return false;
}

static bool
threads_stop(struct taking *t)
{
    uint64_t until_us = alqi_cli_mono_us() + STILL_US;

    while (!threads_stop_once(t)) {
        if (kill(t->core->target.pid, 0) != 0 && errno == ESRCH)
            return refuse(t, "it has ended");
        if (alqi_cli_mono_us() > until_us)
            return refuse(t, "its threads cannot all be stopped: one waits in "
                             "the system (state D), or gets signals without "
                             "end; try again");
        wait_us(AGAIN_US); /* meanwhile it runs */
    }
    return true;
}

/* ---- the copy ------------------------------------------------------------ */

/* Any thread can make the copy (preload/copy.c, .inv.bare) that has the room
 * for it; the main stack grows. */
static bool
can_call(const struct alqi_cli_core *core,
         const struct alqi_plat_stopped *thread)
{
    const struct alqi_cli_mapping *stack =
        alqi_cli_attach_target_at(&core->target, thread->sp);

    return !thread->is_in_sequence && stack != NULL &&
           (thread->sp - stack->start >= STACK_BYTES ||
            strcmp(stack->path, "[stack]") == 0);
}

/* Gives some thread the call. */
static bool
call_give(struct taking *t)
{
    struct alqi_cli_core *core = t->core;
    int error = EAGAIN;
    char reader[24];

    snprintf(reader, sizeof reader, "%d",
             core->target.inner_pid == core->target.pid ? (int)getpid() : 0);
    for (size_t i = 0; i < core->n_threads; i++) {
        if (!can_call(core, &core->threads[i]))
            continue;
        error = alqi_plat_thread_call(&core->threads[i], t->make, reader, 0,
                                      t->come_back);
        if (error == 0) {
            t->given = i;
            return true;
        }
    }
    return alqi_cli_refuse("%s: process %d: no thread can be given a call: %s",
                           t->verb, (int)core->target.pid, strerror(error));
}

static bool
told_read(const struct taking *t, pid_t pid, struct alqi_copy_told *told)
{
    return alqi_plat_memory_read(pid, t->told, told, sizeof *told);
}

/* Waits for the call of n_before + 1. */
static bool
call_wait(const struct taking *t, uint32_t n_before,
          struct alqi_copy_told *told)
{
    uint64_t until_us = alqi_cli_mono_us() + RETURN_US;

    while (told_read(t, t->core->target.pid, told)) {
        if (told->n_calls != n_before)
            return told->error == 0 ||
                   alqi_cli_refuse("%s: process %d cannot be copied: %s",
                                   t->verb, (int)t->core->target.pid,
                                   strerror(told->error));
        if (alqi_cli_mono_us() > until_us)
            return refuse(t, "the call of a thread has not come back");
        wait_us(ROUND_US);
    }
    return refuse(t, "it has ended");
}

/* From still to copied: .inv.moment. */
static bool
copy_make(struct taking *t, struct alqi_copy_told *told)
{
    struct alqi_cli_core *core = t->core;

    if (!alqi_cli_attach_target_map(&core->target) ||
        !told_read(t, core->target.pid, told))
        return refuse(t, "it has ended");
    return t->still(t->arg) && call_give(t) &&
           call_wait(t, told->n_calls, told);
}

static bool
still_copy(struct taking *t, struct alqi_copy_told *told)
{
    uint64_t since_ns = alqi_plat_mono_ns_sigsafe();
    bool ok;

    if (!threads_stop(t))
        return false;
    ok = copy_make(t, told);
    threads_go(t);
    t->core->stopped_ns = alqi_plat_mono_ns_sigsafe() - since_ns;
    return ok;
}

/* .inv.tied */
static bool
copy_tie(struct taking *t, int inner_pid)
{
    struct alqi_cli_core *core = t->core;
    uint32_t is_tied = 1;
    int error;

    core->pid = alqi_cli_attach_target_other(&core->target, inner_pid);
    if (core->pid == 0)
        return refuse(t, "its copy is not to be seen from here");
    error = alqi_plat_tie(core->pid);
    if (error == 0 &&
        alqi_plat_memory_write(
            core->pid, t->told + offsetof(struct alqi_copy_told, is_tied),
            &is_tied, sizeof is_tied))
        return true;
    core->pid = 0;
    return alqi_cli_refuse("%s: the copy of process %d cannot be read: %s",
                           t->verb, (int)core->target.pid, strerror(error));
}

/* Rows of the copy's, to be freed; NULL: there are none, or *ok is false. */
static void *
rows_read(const struct alqi_cli_core *core, uint64_t at, uint64_t n,
          size_t row_bytes, bool *ok)
{
    void *rows = calloc(n, row_bytes);

    if (n > 0 && rows == NULL)
        alqi_cli_die("there is no memory");
    if (n > 0 &&
        alqi_cli_core_read(core, at, rows, n * row_bytes) != n * row_bytes)
        *ok = false;
    return rows;
}

/* Waits for the copy's lists, and reads them. */
static bool
lists_read(struct taking *t)
{
    uint64_t until_us = alqi_cli_mono_us() + LIST_US;
    struct alqi_cli_core *core = t->core;
    struct alqi_copy_told told;
    bool ok = true;

    for (;;) {
        if (!told_read(t, core->pid, &told) || alqi_cli_mono_us() > until_us)
            return refuse(t, "its copy has ended");
        if (told.is_listed)
            break;
        wait_us(ROUND_US);
    }
    core->n_blocks = told.n_blocks;
    core->blocks =
        rows_read(core, told.blocks, told.n_blocks, sizeof *core->blocks, &ok);
    core->n_owned = told.n_owned;
    core->owned =
        rows_read(core, told.owned, told.n_owned, sizeof *core->owned, &ok);
    return ok || refuse(t, "its copy had no memory for its lists");
}

/* ---- the core ------------------------------------------------------------ */

bool
alqi_cli_core_take(const char *verb, pid_t pid, bool (*still)(void *arg),
                   void *arg, struct alqi_cli_core *core)
{
    struct taking t = {.verb = verb,
                       .core = core,
                       .still = still,
                       .arg = arg,
                       .given = SIZE_MAX};
    struct alqi_copy_told told;

    *core = (struct alqi_cli_core){0};
    if (!alqi_cli_attach_target_look(verb, pid, &core->target))
        return false;
    t.come_back = alqi_cli_come_back(verb, &core->target);
    if (t.come_back != 0 && library_find(&t) && still_copy(&t, &told) &&
        copy_tie(&t, told.pid) && lists_read(&t))
        return true;
    alqi_cli_core_drop(core);
    return false;
}

/* One that does not answer; others end by themselves when the socket is closed.
 * Its number may be another's by now. */
static void
sent_kill(const struct alqi_cli_core *core)
{
    struct alqi_cli_proc proc;

    if (core->sent != NULL && !alqi_cli_sent_is_there(core->sent) &&
        core->sent_pid > 0 && alqi_cli_proc_read(core->sent_pid, &proc) &&
        strcmp(proc.command, "aliquot-copy") == 0)
        kill(core->sent_pid, SIGKILL);
}

void
alqi_cli_core_kill(struct alqi_cli_core *core)
{
    sent_kill(core);
    if (core->pid == 0)
        return;
    kill(core->pid, SIGKILL);
    waitpid(core->pid, NULL, __WALL);
    core->pid = 0;
}

void
alqi_cli_core_drop(struct alqi_cli_core *core)
{
    alqi_cli_core_kill(core);
    alqi_cli_sent_drop(core->sent);
    alqi_cli_attach_target_drop(&core->target);
    free(core->threads);
    free(core->blocks);
    free(core->owned);
    *core = (struct alqi_cli_core){0};
}

/* The system stops at the first page that is not there. */
size_t
alqi_cli_core_read(const struct alqi_cli_core *core, uintptr_t from, void *to,
                   size_t n_bytes)
{
    struct iovec local = {to, n_bytes}, remote = {(void *)from, n_bytes};
    ssize_t n;

    if (core->sent != NULL)
        return alqi_cli_sent_read(core->sent, from, to, n_bytes);
    n = process_vm_readv(core->pid, &local, 1, &remote, 1, 0);
    return n > 0 ? (size_t)n : 0;
}

bool
alqi_cli_core_is_there(const struct alqi_cli_core *core)
{
    struct alqi_cli_proc proc;

    if (core->sent != NULL)
        return alqi_cli_sent_is_there(core->sent);
    return core->is_end ? !alqi_cli_proc_is_over(core->pid)
                        : alqi_cli_proc_read(core->pid, &proc);
}
