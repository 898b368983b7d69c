/* copy_asked.c -- a command asks for a copy in the recording's header
 *
 *   NOT --the command listens, and writes 1--> ASKED
 *   ASKED --a thread that looks takes it back--> connects, sends --> NOT
 *         '--the command has waited long enough--> NOT
 *
 * So a process without a control socket can be asked, and one that waits with
 * its end.  Threads look when they poll (poll.c, exact.c), in the middle of a
 * malloc.
 *
 * .inv.asked_own   A process answers for its own recording: not for its
 *                  parent's, before it has one.
 * .inv.asked_bare  All of it is system calls by the instruction, with all
 *                  signals blocked: nothing of the program runs in between.
 * .pair.copy_asked  The command -> alqi_preload_copy_look(): it listens. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "plat/bare.h"
#include "preload/copy.h"
#include "preload/file.h"
#include "preload/preload.h"
#include "wire/request.h"
#include "wire/side.h"

enum { SIGSET_BYTES = 8, TEXT_BYTES = 300 };

/* The kernel says whose the other end is: root's, or this user's. */
static bool
is_allowed(long fd)
{
    struct ucred peer = {.uid = UINT32_MAX};
    socklen_t n = sizeof peer;
    const long arg[6] = {fd, SOL_SOCKET, SO_PEERCRED, (long)&peer, (long)&n};

    return alqi_plat_call(SYS_getsockopt, arg) == 0 &&
           (peer.uid == 0 ||
            (long)peer.uid == alqi_plat_bare_call3(SYS_geteuid, 0, 0, 0));
}

/* -errno where nobody listens. */
static long
command_connect(const struct alqi_raw_header *header)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int n = snprintf(address.sun_path, sizeof address.sun_path,
                     ALQI_RAW_COPY_SOCKET, header->pid,
                     (unsigned long long)header->start_mono_ns);
    long fd = alqi_plat_bare_call3(SYS_socket, AF_UNIX,
                                   SOCK_STREAM | SOCK_CLOEXEC, 0);
    long error;

    address.sun_path[0] = '\0'; /* for the '@' */
    if (fd < 0)
        return fd;
    error =
        alqi_plat_bare_call3(SYS_connect, fd, (long)&address,
                             (long)offsetof(struct sockaddr_un, sun_path) + n);
    if (error == 0)
        return fd;
    alqi_plat_bare_call3(SYS_close, fd, 0, 0);
    return error;
}

static void
refusal_send(long fd, const char *why)
{
    char answer[3 * TEXT_BYTES] = ALQI_REQUEST_GREETING " error";
    long arg[6] = {fd, (long)answer, 0, MSG_NOSIGNAL};
    size_t n =
        alqi_side_put(answer, sizeof answer - 1, strlen(answer), "text", why);

    answer[n++] = '\n';
    arg[2] = (long)n;
    alqi_plat_call(SYS_sendto, arg);
}

/* .inv.asked_bare */
static void
copy_send(const struct alqi_raw_header *header)
{
    const uint64_t all = UINT64_MAX;
    uint64_t before = 0;
    const long block[6] = {SIG_SETMASK, (long)&all, (long)&before,
                           SIGSET_BYTES};
    const long restore[6] = {SIG_SETMASK, (long)&before, 0, SIGSET_BYTES};
    char text[TEXT_BYTES];
    long fd;

    alqi_plat_call(SYS_rt_sigprocmask, block);
    fd = command_connect(header);
    if (fd >= 0) {
        if (is_allowed(fd) &&
            !alqi_preload_copy_send((int)fd, text, sizeof text))
            refusal_send(fd, text);
        alqi_plat_bare_call3(SYS_close, fd, 0, 0);
    }
    alqi_plat_call(SYS_rt_sigprocmask, restore);
}

/* .pair.copy_asked, .inv.asked_own */
void
alqi_preload_copy_look(void)
{
    struct alqi_raw_header *header = alqi_preload_file_header();
    int saved = errno;

    if (ALQI_LIKELY(atomic_load_explicit(&header->copy_asked,
                                         memory_order_relaxed) == 0) ||
        header->pid != (uint32_t)alqi_plat_bare_call3(SYS_getpid, 0, 0, 0))
        return;
    if (atomic_exchange(&header->copy_asked, 0) != 0)
        copy_send(header);
    errno = saved;
}
