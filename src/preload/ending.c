/* ending.c -- the process waits with its end until it has been looked through
 *
 *   exit()'s handlers have run --> WAITS --the command--> LOOKED --> it ends
 *   _exit(), quick_exit() -------'   |--no command reads the pipe--> it ends
 *                                    '--ASKED: sends a copy--> WAITS
 *
 * It is asked for by `aliquot record --leaks` (leaks=1).  LOOKED comes when the
 * command follows the process to its end (doc/design/leaks.md), or has looked
 * through it; other threads run on meanwhile.  ASKED comes from a command that
 * may not look into the process (copy_send.c).
 *
 * .inv.own_end  A process waits once, whichever of these it calls first; a
 *               child that has no recording of its own yet, or shares the
 *               memory of its parent, does not wait with its parent's.
 *
 * .pair.ending  alqi_preload_ending() (release) -> the command, which maps the
 *               header: the recording up to now; and back: it has looked. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "plat/socket.h"
#include "preload/control.h"
#include "preload/copy.h"
#include "preload/file.h"
#include "preload/limit.h"
#include "preload/preload.h"
#include "wire/request.h"

enum { ROUND_NS = 1000000, ROUNDS_A_LOOK = 200, WRITE_NS = 1000000000 };

/* Once for each time that the command asks.  .pair.ending */
static void
copy_send(struct alqi_raw_header *header)
{
    uint32_t asked = ALQI_RAW_ENDING_ASKED;
    char text[ALQI_PRELOAD_REPLY_BYTES];
    sigset_t all, mask;
    int fd;

    if (!atomic_compare_exchange_strong(&header->ending, &asked,
                                        ALQI_RAW_ENDING_WAITS))
        return;
    snprintf(text, sizeof text, ALQI_RAW_ENDING_SOCKET, header->pid,
             (unsigned long long)header->start_mono_ns);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    fd = alqi_plat_socket_connect(text);
    if (fd >= 0) {
        if (alqi_plat_client_is_allowed(fd) &&
            !alqi_preload_copy_send(fd, text, sizeof text)) {
            char reply[ALQI_REQUEST_ANSWER_BYTES];

            alqi_request_answer(reply, false, text);
            alqi_plat_client_write(fd, reply, alqi_plat_mono_ns_sigsafe() + WRITE_NS);
        }
        close(fd);
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

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
    uint32_t now;

    if (!alqi_preload_config.has_leaks ||
        alqi_plat_confinement_sigsafe() != ALQI_PLAT_FREE)
        return;
    if (!is_first_end(header) || !alqi_preload_recorder_notify())
        return;
    for (unsigned n = 1;
         (now = atomic_load_explicit(&header->ending, memory_order_acquire)) !=
         ALQI_RAW_ENDING_LOOKED;
         n++) {
        if (now == ALQI_RAW_ENDING_ASKED)
            copy_send(header);
        nanosleep(&round, NULL);
        if (n % ROUNDS_A_LOOK == 0 && !alqi_preload_recorder_is_there())
            return;
    }
}

/* ---- ends without a destructor ------------------------------------------- */

static _Noreturn void
end_now(int status)
{
    alqi_preload_ending();
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

    alqi_preload_ending();
    *(void **)&real = dlsym(RTLD_NEXT, "quick_exit");
    if (real != NULL)
        real(status);
    end_now(status);
}
