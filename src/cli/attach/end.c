/* end.c -- a process is followed to the point where all of its code has run
 *
 *   thread: RUNS --stop of its end--> STANDS --for HOLD_US others run--> GONE
 *                '--it is no more to be seen--> GONE
 *   process: followed --all stand, some do--> AT ITS END --leave--> ends
 *                     '--none is left, exec, time, wanted--> as it was
 *
 * The memory of a process goes with its last thread, so the last one that
 * stands keeps it.  A thread that ends alone is held no longer than HOLD_US,
 * for another one may wait for it.
 *
 * .inv.no_wait  No process waits for ever: to be followed has a bound, and ends
 *               when another process waits to be looked at, since this one may
 *               wait for that.  If the command is killed, the system lets all
 *               threads go. */
#include "cli/attach/end.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/tool/cli.h"
#include "cli/tool/proc.h"

enum { END_US = 60000000, HOLD_US = 50000, ROUND_US = 200 };

struct thread {
    enum { RUNS, STANDS, GONE } state;
    uint64_t since_us; /* it stands */
    struct alqi_plat_stopped stopped;
};

struct ending {
    struct alqi_cli_core *core;
    struct thread *threads;
    size_t n_threads;
    bool has_executed;
    bool is_refused; /* a thread cannot be watched */
};

/* ---- threads ------------------------------------------------------------- */

static bool
is_known(const struct ending *e, pid_t tid)
{
    for (size_t i = 0; i < e->n_threads; i++)
        if (e->threads[i].stopped.tid == tid)
            return true;
    return false;
}

static void
thread_add(struct ending *e, pid_t tid)
{
    int error = is_known(e, tid) ? ESRCH : alqi_plat_thread_watch(tid);

    if (error != 0) {
        e->is_refused |= error != ESRCH && !alqi_cli_proc_is_over(tid);
        return;
    }
    e->threads =
        alqi_cli_realloc(e->threads, e->n_threads + 1, sizeof *e->threads);
    e->threads[e->n_threads++] = (struct thread){.stopped = {.tid = tid}};
}

static void
threads_find(struct ending *e)
{
    struct dirent *entry;
    char path[64];
    DIR *directory;

    snprintf(path, sizeof path, "/proc/%d/task", (int)e->core->target.pid);
    directory = opendir(path);
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.')
            thread_add(e, (pid_t)atoi(entry->d_name));
    if (directory != NULL)
        closedir(directory);
}

/* A thread that has gone is to be waited for by whoever traces it; the end of
 * a child of this process is told to others. */
static void
gone_wait(const struct alqi_cli_core *core, pid_t tid)
{
    if (tid != core->target.pid || core->target.parent != getpid())
        waitpid(tid, NULL, __WALL | WNOHANG);
}

static void
thread_look(struct ending *e, struct thread *t)
{
    pid_t tid = t->stopped.tid;

    switch (alqi_plat_thread_look(tid, &t->stopped)) {
    case ALQI_PLAT_THREAD_ENDS:
        t->state = STANDS;
        t->since_us = alqi_cli_mono_us();
        break;
    case ALQI_PLAT_THREAD_EXECS:
        e->has_executed = true;
        break;
    case ALQI_PLAT_THREAD_RUNS:
        if (!alqi_cli_proc_is_over(tid))
            break;
        t->state = GONE;
        gone_wait(e->core, tid);
        break;
    }
}

/* How many threads are in that state. */
static size_t
count(const struct ending *e, int state)
{
    size_t n = 0;

    for (size_t i = 0; i < e->n_threads; i++)
        n += (int)e->threads[i].state == state;
    return n;
}

/* Those that ended alone. */
static void
held_go(struct ending *e)
{
    for (size_t i = 0; i < e->n_threads; i++) {
        struct thread *t = &e->threads[i];

        if (t->state != STANDS || alqi_cli_mono_us() - t->since_us < HOLD_US)
            continue;
        alqi_plat_thread_unwatch(t->stopped.tid);
        t->state = GONE;
    }
}

/* ---- the process --------------------------------------------------------- */

/* True: it is at its end.  .inv.no_wait */
static bool
end_wait(struct ending *e, const struct alqi_cli_end_watch *watch)
{
    const struct timespec round = {.tv_nsec = ROUND_US * 1000L};
    uint64_t until_us = alqi_cli_mono_us() + END_US;

    while (!e->has_executed && alqi_cli_mono_us() < until_us) {
        threads_find(e);
        for (size_t i = 0; i < e->n_threads; i++)
            if (e->threads[i].state == RUNS)
                thread_look(e, &e->threads[i]);
        if (count(e, RUNS) == 0)
            return count(e, STANDS) > 0;
        if (watch->is_wanted(watch->arg))
            return false;
        held_go(e);
        nanosleep(&round, NULL);
    }
    return false;
}

/* The core becomes that of the process. */
static bool
core_move(struct ending *e)
{
    struct alqi_cli_core *core = e->core;
    size_t n = 0;

    if (!alqi_cli_attach_target_map(&core->target))
        return false;
    alqi_cli_core_kill(core);
    core->threads =
        alqi_cli_realloc(core->threads, e->n_threads, sizeof *core->threads);
    for (size_t i = 0; i < e->n_threads; i++)
        if (e->threads[i].state == STANDS)
            core->threads[n++] = e->threads[i].stopped;
    core->n_threads = n;
    core->pid = core->threads[0].tid; /* the first one may have ended */
    core->is_end = true;
    return true;
}

bool
alqi_cli_end_reach(struct alqi_cli_core *core,
                   const struct alqi_cli_end_watch *watch)
{
    struct ending e = {.core = core};
    bool ok;

    threads_find(&e);
    ok = !e.is_refused && e.n_threads > 0;
    if (ok)
        watch->go(watch->arg);
    ok = ok && end_wait(&e, watch) && core_move(&e);
    for (size_t i = 0; !ok && i < e.n_threads; i++)
        if (e.threads[i].state != GONE)
            alqi_plat_thread_unwatch(e.threads[i].stopped.tid);
    free(e.threads);
    return ok;
}

void
alqi_cli_end_leave(struct alqi_cli_core *core)
{
    if (!core->is_end)
        return;
    for (size_t i = 0; i < core->n_threads; i++) {
        alqi_plat_thread_unwatch(core->threads[i].tid);
        gone_wait(core, core->threads[i].tid);
    }
    core->is_end = false;
    core->pid = 0;
}
