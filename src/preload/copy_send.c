/* copy_send.c -- a copy that the process makes itself, and sends
 *
 *   process: RUNS --asked--> STANDS --the command has taken--> RUNS
 *                               '--TAKEN_MS, or it has gone--> RUNS, no copy
 *   copy:    made --> frames --> ANSWERS --the socket's end--> gone
 *                        '----------'--an answer takes SEND_S--> gone
 *
 * For a command that may not stop the process, or not read its memory: nothing
 * is asked of the system here but what any process may do to itself, and the
 * copy's rights stay those of the process.  Memory goes through the socket, by
 * send(2) of the very address, which fails where the memory cannot be read.
 *
 * .inv.send_tied  The socket's other end is the command's alone, and the copy
 *                 has nothing else open that another waits for: it ends when
 *                 the command does, or takes nothing for SEND_S.  The process
 *                 never waits for the copy.
 * .inv.send_bounded  The process stands for STILL_MS (still.c), TAKEN_MS and
 *                 the time that its pages' tables take to be copied, at most.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "plat/bare.h"
#include "plat/owned.h"
#include "preload/copy.h"
#include "preload/preload.h"
#include "preload/still.h"

enum { TAKEN_MS = 5000, SEND_S = 60, SIGSET_BYTES = 8, TABLE_WORDS = 512 };

#define PAGE_IS_THERE (UINT64_C(1) << 63)

struct sending {
    int fd;
    const struct alqi_preload_still *still;
    uint64_t since_ns;
    int32_t pid;  /* of the process */
    uintptr_t sp; /* of the caller */
    /* The copy's: tables of pages, its own and the process's; negative: the
     * system does not open them. */
    long pages, shared_pages;
};

/* ---- sending ------------------------------------------------------------- */

static _Noreturn void
over(void)
{
    alqi_plat_bare_exit(0);
}

/* No signal tells that the other end is closed.  As send(2), or -errno. */
static long
bytes_send(int fd, uintptr_t bytes, size_t n)
{
    const long arg[6] = {fd, (long)bytes, (long)n, MSG_NOSIGNAL};
    long sent;

    do
        sent = alqi_plat_call(SYS_sendto, arg);
    while (sent == -EINTR);
    return sent;
}

static void
send_all(const struct sending *s, const void *bytes, size_t n)
{
    for (uintptr_t at = (uintptr_t)bytes; n > 0;) {
        long sent = bytes_send(s->fd, at, n);

        if (sent <= 0)
            over();
        at += (uintptr_t)sent;
        n -= (size_t)sent;
    }
}

static void
frame_send(const struct sending *s, enum alqi_copy_kind kind, const void *bytes,
           size_t n)
{
    const struct alqi_copy_frame frame = {(uint32_t)kind, (uint32_t)n};

    send_all(s, &frame, sizeof frame);
    send_all(s, bytes, n);
}

/* The copy's, not on the stack, which is the program's: its words count as
 * roots where the stack is one that the program made. */
static union {
    char bytes[ALQI_COPY_FRAME_BYTES];
    uint64_t words[TABLE_WORDS];
} room;

/* Rows of a kind in the room, a frame full at a time. */
struct rows {
    const struct sending *to;
    enum alqi_copy_kind kind;
    size_t n_bytes;
};

static void
rows_flush(struct rows *r)
{
    if (r->n_bytes > 0)
        frame_send(r->to, r->kind, room.bytes, r->n_bytes);
    r->n_bytes = 0;
}

static void
row_put(struct rows *r, const void *row, size_t n)
{
    if (r->n_bytes + n > sizeof room.bytes)
        rows_flush(r);
    memcpy(room.bytes + r->n_bytes, row, n);
    r->n_bytes += n;
}

static void
block_send(void *rows, const void *block, uint32_t stream, uint64_t ordinal)
{
    const struct alqi_copy_block row = {
        .address = (uintptr_t)block, .ordinal = ordinal, .stream = stream};

    row_put(rows, &row, sizeof row);
}

static void
owned_send(void *rows, const void *pages, size_t bytes)
{
    const struct alqi_copy_range row = {(uintptr_t)pages, bytes};

    row_put(rows, &row, sizeof row);
}

static void
maps_send(struct sending *s)
{
    long fd = alqi_plat_bare_call3(SYS_openat, AT_FDCWD,
                                   (long)"/proc/self/maps", O_RDONLY);
    long n;

    while (fd >= 0 && (n = alqi_plat_bare_call3(SYS_read, fd, (long)room.bytes,
                                                sizeof room.bytes)) > 0)
        frame_send(s, ALQI_COPY_MAPS, room.bytes, (size_t)n);
    if (fd >= 0)
        alqi_plat_bare_call3(SYS_close, fd, 0, 0);
}

static void
threads_send(struct rows *r)
{
    const struct sending *s = r->to;
    struct alqi_copy_thread row;
    uint32_t at = 0;

    alqi_preload_still_caller(s->still, &row);
    row.sp = s->sp;
    row_put(r, &row, sizeof row);
    while (alqi_preload_still_thread(s->still, &at, &row))
        row_put(r, &row, sizeof row);
    rows_flush(r);
}

static void
frames_send(struct sending *s)
{
    const struct alqi_copy_head head = {
        .still_ns = alqi_plat_bare_mono_ns() - s->since_ns,
        .pid = (int32_t)alqi_plat_bare_call3(SYS_getpid, 0, 0, 0),
        .n_unknown = alqi_preload_still_unknown(s->still)};
    struct rows rows = {.to = s, .kind = ALQI_COPY_THREADS};

    frame_send(s, ALQI_COPY_HEAD, &head, sizeof head);
    maps_send(s);
    threads_send(&rows);
    rows.kind = ALQI_COPY_BLOCKS;
    alqi_preload_recorder_each_alone(block_send, &rows);
    rows_flush(&rows);
    rows.kind = ALQI_COPY_OWNED;
    alqi_plat_owned_each(owned_send, &rows);
    rows_flush(&rows);
    frame_send(s, ALQI_COPY_READY, NULL, 0);
}

/* ---- answers ------------------------------------------------------------- */

/* What is promised, and is not there. */
static void
zeros_send(const struct sending *s, uint64_t n)
{
    static const char zeros[4096];

    for (; n > sizeof zeros; n -= sizeof zeros)
        send_all(s, zeros, sizeof zeros);
    send_all(s, zeros, n);
}

/* Sends the memory from `from` on, up to what cannot be read; how much that
 * was.  The system refuses a whole piece for a page of it, so then it goes page
 * by page. */
static uint64_t
memory_send(const struct sending *s, uint64_t from, uint64_t n)
{
    size_t page = alqi_plat_page_bytes_sigsafe();
    uint64_t at = from, end = from + n;
    bool is_slow = false;

    while (at < end) {
        uint64_t piece = is_slow ? page - at % page : end - at;
        long sent = bytes_send(s->fd, at, piece < end - at ? piece : end - at);

        if (sent > 0)
            at += (uint64_t)sent;
        else if (sent == -EFAULT && is_slow)
            break;
        else if (sent == -EFAULT)
            is_slow = true;
        else
            over();
    }
    return at - from;
}

/* Where the process's table cannot be opened: to read what was never touched
 * would make it, so what the system has in memory is taken to be there. */
static void
shared_guess(uint64_t first, size_t n)
{
    size_t page = alqi_plat_page_bytes_sigsafe();
    unsigned char is_there[TABLE_WORDS];
    bool ok = alqi_plat_bare_call3(SYS_mincore, (long)(first * page),
                                   (long)(n * page), (long)is_there) == 0;

    for (size_t i = 0; i < n; i++)
        room.words[i] = !ok || (is_there[i] & 1) != 0 ? PAGE_IS_THERE : 0;
}

static void
table_read(const struct sending *s, bool is_shared, uint64_t first, size_t n)
{
    const long arg[6] = {is_shared ? s->shared_pages : s->pages,
                         (long)room.words, (long)(n * 8), (long)(first * 8)};

    if (arg[0] >= 0 && alqi_plat_call(SYS_pread64, arg) == arg[2])
        return;
    if (is_shared)
        shared_guess(first, n);
    else
        for (size_t i = 0; i < n; i++)
            room.words[i] = PAGE_IS_THERE;
}

static void
table_send(const struct sending *s, bool is_shared, uint64_t first, uint64_t n)
{
    for (uint64_t k; n > 0; n -= k, first += k) {
        k = n < TABLE_WORDS ? n : TABLE_WORDS;
        table_read(s, is_shared, first, k);
        send_all(s, room.words, k * 8);
    }
}

/* .inv.send_tied: SIGALRM ends the copy, and no other signal is let in. */
static void
answer_bound(long seconds)
{
    const struct itimerval bound = {.it_value = {.tv_sec = seconds}};

    alqi_plat_bare_call3(SYS_setitimer, ITIMER_REAL, (long)&bound, 0);
}

static void
question_answer(const struct sending *s, const struct alqi_copy_question *q)
{
    uint64_t valid = q->n;

    answer_bound(SEND_S);
    if (q->kind == ALQI_COPY_READ) {
        valid = memory_send(s, q->from, q->n);
        zeros_send(s, q->n - valid);
    } else {
        table_send(s, q->kind == ALQI_COPY_SHARED_PAGES, q->from, q->n);
    }
    send_all(s, &valid, sizeof valid);
    answer_bound(0);
}

static bool
question_read(const struct sending *s, struct alqi_copy_question *q)
{
    char *at = (char *)q;
    long n;

    for (size_t left = sizeof *q; left > 0; left -= (size_t)n, at += n) {
        n = alqi_plat_bare_call3(SYS_read, s->fd, (long)at, (long)left);
        if (n == -EINTR)
            n = 0;
        else if (n <= 0)
            return false;
    }
    return true;
}

/* ---- the copy ------------------------------------------------------------ */

static void
number_put(char **at, uint32_t number)
{
    if (number >= 10)
        number_put(at, number / 10);
    *(*at)++ = (char)('0' + number % 10);
}

/* The system opens them to who may read the process. */
static void
tables_open(struct sending *s)
{
    char path[40] = "/proc/", *at = path + strlen(path);

    number_put(&at, (uint32_t)s->pid);
    memcpy(at, "/pagemap", sizeof "/pagemap");
    s->pages = alqi_plat_bare_call3(SYS_openat, AT_FDCWD,
                                    (long)"/proc/self/pagemap", O_RDONLY);
    s->shared_pages =
        alqi_plat_bare_call3(SYS_openat, AT_FDCWD, (long)path, O_RDONLY);
}

/* The one signal that ends it is as it is by default, and let in. */
static void
alarm_let_in(void)
{
    const uint64_t alarm = UINT64_C(1) << (SIGALRM - 1);
    const uint64_t by_default[4] = {0};
    const long set[6] = {SIGALRM, (long)by_default, 0, SIGSET_BYTES};
    const long let[6] = {SIG_UNBLOCK, (long)&alarm, 0, SIGSET_BYTES};

    alqi_plat_call(SYS_rt_sigaction, set);
    alqi_plat_call(SYS_rt_sigprocmask, let);
}

static void
copy_run(void *arg)
{
    struct sending *s = arg;
    struct alqi_copy_question q;

    alqi_plat_bare_begin(s->fd);
    alqi_plat_bare_call3(SYS_fcntl, s->fd, F_SETFL, 0); /* it waits */
    alarm_let_in();
    tables_open(s);
    answer_bound(SEND_S);
    frames_send(s);
    alqi_preload_copy_wipe();
    answer_bound(0);
    while (question_read(s, &q))
        question_answer(s, &q);
    over();
}

/* ---- the process --------------------------------------------------------- */

/* The command has taken what it needs beside the memory. */
static bool
taken_wait(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    const struct timespec most = {.tv_sec = TAKEN_MS / 1000};
    const long arg[6] = {(long)&p, 1, (long)&most, 0, SIGSET_BYTES};
    char byte = 0;

    return alqi_plat_call(SYS_ppoll, arg) > 0 &&
           alqi_plat_bare_call3(SYS_read, fd, (long)&byte, 1) == 1 &&
           byte == ALQI_COPY_TAKEN;
}

/* The command is told so, or why it has none: -errno for its number. */
static void
no_copy_say(const struct sending *s, long error)
{
    const struct alqi_copy_head head = {.pid = (int32_t)error};
    const struct alqi_copy_frame frame = {ALQI_COPY_HEAD, sizeof head};

    if (bytes_send(s->fd, (uintptr_t)&frame, sizeof frame) == sizeof frame)
        bytes_send(s->fd, (uintptr_t)&head, sizeof head);
}

/* What the caller's functions keep in registers is on the stack above sp. */
static ALQI_NOINLINE long
stand_copy(struct sending *s)
{
    static const char still[] = "aliquot/1 ok state=still\n";

    s->sp = (uintptr_t)__builtin_frame_address(0) - 64;
    bytes_send(s->fd, (uintptr_t)still, sizeof still - 1);
    if (!taken_wait(s->fd))
        return -ETIMEDOUT;
    return alqi_preload_copy_clone(copy_run, s);
}

bool
alqi_preload_copy_send(int fd, char *text, size_t n)
{
    struct sending s = {.fd = fd,
                        .since_ns = alqi_plat_bare_mono_ns(),
                        .pid =
                            (int32_t)alqi_plat_bare_call3(SYS_getpid, 0, 0, 0)};
    struct alqi_preload_still *still;
    int error = alqi_preload_still_begin(&still);
    long pid;

    if (error != 0) {
        snprintf(text, n, "its threads cannot be brought to stand still: %s",
                 error == ESRCH   ? "its /proc is of another container"
                 : error == EBUSY ? "another command is about it; try again"
                                  : strerrordesc_np(error));
        return false;
    }
    s.still = still;
    __builtin_unwind_init();
    pid = stand_copy(&s);
    alqi_preload_still_end(still);
    if (pid < 0)
        no_copy_say(&s, pid);
    return true;
}
