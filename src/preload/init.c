/* init.c -- bringing the profiler up, once, at the first call of malloc
 *
 * Keeps .inv.first (doc/design/preload.md): Begin runs once, on the process's
 *   first thread, parked (real.c); what it allocates is no trial.
 * Keeps .inv.late: The constructor does what can wait and must not run inside
 *   somebody's malloc: the server's thread, the signal. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "memprof/probes.h"
#include "preload/attach.h"
#include "preload/control.h"
#include "preload/exact.h"
#include "preload/exec.h"
#include "preload/limit_trigger.h"
#include "preload/file.h"
#include "preload/limit.h"
#include "preload/own.h"
#include "preload/preload.h"
#include "preload/python.h"

_Atomic(bool) alqi_preload_is_up; /* .pair.up */
_Atomic(bool) alqi_preload_is_off;
struct alqi_memprof_domain *alqi_preload_domain;

static int
own_pid(void)
{
    return alqi_plat_confinement_sigsafe() == ALQI_PLAT_FREE
               ? getpid()
               : (int)alqi_preload_file_header()->pid;
}

void
alqi_preload_log(const char *text)
{
    char line[1600];
    int n;

    if (alqi_preload_config.attacher_pid != 0)
        return; /* its stderr is not for a command that it knows nothing of */
    n = snprintf(line, sizeof line, "aliquot: %d: %s\n", own_pid(), text);

    if (n > 0)
        alqi_plat_say_sigsafe(line, (size_t)n < sizeof line ? (size_t)n
                                                            : sizeof line - 1);
}

static void
free_delayed(void *heap, void *block)
{
    (void)heap;
    if (!alqi_preload_exact_is(ALQI_PRELOAD_EXACT_OFF))
        alqi_preload_exact_free_late(block);
    alqi_preload_real.free(block);
}

static const struct alqi_memprof_limits limits = {
    .sampled = alqi_preload_limit_trigger_sampled,
};

static struct alqi_memprof_subject subject = {
    .free_delayed = free_delayed,
    .triggers_stale = alqi_preload_rearm_all,
};

/* From the first limit trigger on; without one a sample notifies no limit.
 *
 * .pair.limits  alqi_preload_limits_begin() (release) -> a sample, by
 *               alqi_memprof_subject_limits() (acquire): what the trigger
 *               needs. */
void
alqi_preload_limits_begin(void)
{
    __atomic_store_n(&subject.limits, &limits, __ATOMIC_RELEASE);
}

/* The program itself may define malloc: then ours is never called.  A program
 * that is not position-independent gives malloc the address of a stub of its
 * own; there its symbol is undefined, which tells the two apart. */
static bool
is_bypassed(void)
{
    void *malloc_in_use = dlsym(RTLD_DEFAULT, "malloc");
    const ElfW(Sym) *symbol = NULL;
    Dl_info winner, ours;

    if (malloc_in_use == NULL ||
        dladdr1(malloc_in_use, &winner, (void **)&symbol, RTLD_DL_SYMENT) ==
            0 ||
        dladdr((void *)&alqi_preload_is_up, &ours) == 0)
        return false;
    if (winner.dli_fbase == ours.dli_fbase ||
        (symbol != NULL && symbol->st_shndx == SHN_UNDEF))
        return false;
    return true;
}

static bool
is_startable(void)
{
    return alqi_preload_config.has_control || alqi_preload_config.signal != 0;
}

/* Starts the profile that fires the probes.  A failure is logged, and the rest
 * goes on. */
static void
probes_start(void)
{
    const struct alqi_preload_config *c = &alqi_preload_config;
    enum alq_status status =
        alqi_probes_start(alqi_preload_domain, c->probes_rate, c->seed);

    if (status != ALQ_OK)
        alqi_preload_log("no probes: no memory for the profiler's tables");
}

/* Logs where the recording is and how it becomes a trace: memtrace itself would
 * have written the trace there. */
static void
memtrace_log(void)
{
    char text[2200];
    const char *path = alqi_preload_file_path();

    snprintf(text, sizeof text,
             "MEMTRACE: recording to %s; then 'aliquot snapshot -f -o %s %s' "
             "makes it a memtrace trace",
             path, path, path);
    if (path[0] != '\0')
        alqi_preload_log(text);
}

/* A destructor, no handler of atexit: it would take one of the places in the
 * program's table, and a table that is full allocates. */
__attribute__((destructor)) static void
on_exit_mark(void)
{
    if (!alqi_preload_config.is_on && !is_startable())
        return;
    alqi_preload_poll_last();
    alqi_preload_recorder_drops();
    alqi_preload_ending();
    alqi_preload_ended(ALQI_RAW_EXITED);
}

/* Makes the engine's domain, whose stacks leave out the frames of this library.
 * False: no memory. */
static bool
engine_start(void)
{
    struct dl_find_object own;

    if (_dl_find_object(&subject, &own) == 0) {
        subject.skip_lo = (uintptr_t)own.dlfo_map_start;
        subject.skip_hi = (uintptr_t)own.dlfo_map_end;
    }
    alqi_preload_domain = alqi_memprof_domain_new(&subject, NULL, NULL);
    return alqi_preload_domain != NULL;
}

/* The orphan's state does what needs one: the thread attaches at its first
 * allocation, as any thread does. */
static void
recording_start(void)
{
    bool is_hopeless = is_bypassed();
    struct alqi_preload_thread *orphan = alqi_preload_orphan_lock();

    if (orphan == NULL) {
        alqi_preload_log("not recording: no memory for the profiler's tables");
        return;
    }
    alqi_preload_limit_start(); /* first: the recorder's seed is the last */
    alqi_preload_recorder_start();
    alqi_preload_orphan_unlock(orphan);
    if (is_hopeless)
        alqi_preload_flag(ALQI_RAW_OWN_MALLOC);
    if (alqi_preload_config.is_memtrace)
        memtrace_log();
}

/* Before main(): nothing of the program's runs yet. */
static void
own_start(void)
{
    bool is_seen;

    if (!alqi_preload_config.is_on && !is_startable())
        return;
    is_seen = alqi_preload_own_start();
    if (!is_bypassed())
        return;
    if (is_seen)
        alqi_preload_unflag(ALQI_RAW_OWN_MALLOC);
    else
        alqi_preload_log("this program brings its own malloc: nothing of it "
                         "can be recorded");
}

/* Off for good: the one cost left is each thread's first allocation. */
static void
switch_off(void)
{
    atomic_store_explicit(&alqi_preload_is_off, true, memory_order_relaxed);
}

/* The libc's constructor sets environ; functions of .preinit_array, and a
 * library that asks to be the first, come before.  The same array lies where
 * the system put it: argc, argv, NULL, envp. */
static char **
environment(void)
{
    extern void *__libc_stack_end;
    char **argv = (char **)__libc_stack_end + 1;

    if (environ != NULL)
        return environ;
    return argv + *(const long *)__libc_stack_end + 1;
}

/* False: no memory. */
static bool
engine_up(void)
{
    if (!engine_start())
        return false;
    alqi_preload_fork_install();
    alqi_preload_threads_start();
    atomic_store_explicit(&alqi_preload_is_up, true, memory_order_release);
    return true;
}

bool
alqi_preload_begin_late(void)
{
    int64_t left = alqi_preload_hot.left_words;
    bool ok;

    alqi_preload_hot.left_words = ALQI_PARKED;
    ok = engine_up();
    alqi_preload_hot.left_words = left;
    return ok;
}

void
alqi_preload_begin(void)
{
    const struct alqi_preload_config *c = &alqi_preload_config;
    int saved = errno;

    if (getauxval(AT_SECURE) != 0) {
        alqi_preload_log(
            "not recording: the program has more privileges than its "
            "user");
        switch_off();
        return;
    }
    alqi_preload_config_read(environment());
    if (c->is_off && !is_startable() && !c->has_probes) {
        switch_off();
        return;
    }
    if (c->reserve_bytes != 0 &&
        !alqi_plat_pages_reserve(c->reserve_bytes, true)) {
        alqi_preload_log("not recording: no memory to reserve");
        switch_off();
        return;
    }
    if (!engine_up()) {
        alqi_preload_log("not recording: no memory for the profiler's tables");
        switch_off();
        return;
    }
    if (c->has_probes)
        probes_start();
    if (c->is_on)
        recording_start();
    errno = saved;
}

/* Starts what needs a process that is set up.  An allocation of an earlier
 * constructor may have begun the rest. */
__attribute__((constructor)) static void
start(void)
{
    int saved = errno;

    if (alqi_preload_is_late()) {
        alqi_preload_attach_idle();
        return;
    }
    alqi_preload_real_begin();
    if (atomic_load_explicit(&alqi_preload_is_up, memory_order_relaxed)) {
        alqi_preload_exec_start();
        alqi_preload_python_small_start();
        own_start();
        alqi_preload_signal_install();
        if (alqi_preload_config.has_control)
            alqi_preload_serve("");
        if (alqi_preload_config.reserve_bytes != 0)
            alqi_preload_confine(ALQI_PLAT_FEW_CALLS);
    }
    errno = saved;
}
