/* ending.c -- how the recording ends, and that the process waits with its end
 * until it has been looked through
 *
 *   runs --exit(), _exit(), quick_exit()--> EXITED     (a last look before)
 *        --exec, of the process itself----> EXECUTED --it failed--> runs
 *        --the recording alone is ended---> DETACHED   (once and for all)
 *        --a signal, a bare system call---> no flag: readers say killed
 *
 * Handlers and destructors that run later may still allocate: the last event
 * may come after the time of the end.
 *
 *   exit()'s handlers have run --> WAITS --the command--> LOOKED --> it ends
 *   _exit(), quick_exit() -------'   '--no command reads the pipe--> it ends
 *
 * It is asked for by `aliquot record --leaks` (leaks=1).  LOOKED comes when the
 * command follows the process to its end (doc/design/leaks.md), or has looked
 * through it; other threads run on meanwhile.  A command that may not look into
 * the process asks for a copy while it WAITS (copy_asked.c).
 *
 * .inv.own_end  A process waits once, whichever of these it calls first; a
 *               child that has no recording of its own yet, or shares the
 *               memory of its parent, does not wait with its parent's.
 *
 * .pair.ending  alqi_preload_ending() (release) -> the command, which maps the
 *               header: the recording up to now; and back: it has looked. */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/copy.h"
#include "preload/file.h"
#include "preload/limit.h"
#include "preload/preload.h"

enum { ROUND_NS = 1000000, ROUNDS_A_LOOK = 200 };

/* .inv.own_end, .pair.ending */
static bool
is_first_end(struct alqi_raw_header *header)
{
    uint32_t not = ALQI_RAW_ENDING_NOT;

    return header->pid == (uint32_t)syscall(SYS_getpid) &&
           atomic_compare_exchange_strong_explicit(
               &header->ending, &not, ALQI_RAW_ENDING_WAITS,
               memory_order_release, memory_order_relaxed);
}

/* .pair.ending */
void
alqi_preload_ending(void)
{
    const struct timespec round = {.tv_nsec = ROUND_NS};
    struct alqi_raw_header *header = alqi_preload_file_header();

    if (!alqi_preload_config.has_leaks ||
        alqi_plat_confinement_sigsafe() != ALQI_PLAT_FREE)
        return;
    if (!is_first_end(header) || !alqi_preload_recorder_notify())
        return;
    for (unsigned n = 1;
         atomic_load_explicit(&header->ending, memory_order_acquire) ==
         ALQI_RAW_ENDING_WAITS;
         n++) {
        alqi_preload_copy_look();
        nanosleep(&round, NULL);
        if (n % ROUNDS_A_LOOK == 0 && !alqi_preload_recorder_is_there())
            return;
    }
}

/* ---- how it ended -------------------------------------------------------- */

bool
alqi_preload_is_recorded(void)
{
    return alqi_plat_confinement_sigsafe() == ALQI_PLAT_FREE &&
           alqi_preload_file_header()->pid == (uint32_t)syscall(SYS_getpid);
}

static bool
is_detached(struct alqi_raw_header *header)
{
    uint32_t flags = atomic_load_explicit(&header->flags, memory_order_relaxed);

    return (flags & ALQI_RAW_DETACHED) != 0;
}

void
alqi_preload_ended(enum alqi_raw_flag how)
{
    struct alqi_raw_header *header = alqi_preload_file_header();

    if (is_detached(header))
        return;
    alqi_preload_poll_most();
    atomic_store_explicit(&header->ended_ns, alqi_plat_mono_ns_sigsafe(),
                          memory_order_relaxed);
    alqi_preload_flag(how);
}

void
alqi_preload_not_ended(enum alqi_raw_flag how)
{
    struct alqi_raw_header *header = alqi_preload_file_header();

    if (is_detached(header))
        return;
    alqi_preload_unflag(how);
    atomic_store_explicit(&header->ended_ns, 0, memory_order_relaxed);
}

/* ---- ends without a destructor ------------------------------------------- */

/* .inv.own_end */
static void
ending(void)
{
    alqi_preload_ending();
    if (alqi_preload_is_recorded())
        alqi_preload_ended(ALQI_RAW_EXITED);
}

static _Noreturn void
end_now(int status)
{
    ending();
    for (;;)
        syscall(SYS_exit_group, status);
}

ALQI_EXPORT _Noreturn void
_exit(int status)
{
    end_now(status);
}

ALQI_EXPORT _Noreturn void
_Exit(int status)
{
    end_now(status);
}

ALQI_EXPORT _Noreturn void
quick_exit(int status)
{
    void (*real)(int);

    ending();
    *(void **)&real = dlsym(RTLD_NEXT, "quick_exit");
    if (real != NULL)
        real(status);
    end_now(status);
}
