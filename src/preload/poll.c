/* poll.c -- thread names and resident memory, polled by recording threads
 *
 * A thread that records an event polls when the last poll is POLL_NS ago, so
 * that an idle program is left alone and the profiler needs no thread.
 *
 *   waiting --poll_ns has passed, in any thread's event--> polled --> waiting
 *
 * .inv.watch  Where a command attached (attach.c) and has gone, sampling stops
 *             at the next poll: nobody reads the recording, which would grow.
 * .inv.poll   One thread polls resident memory for all: the thread whose
 *             exchange moves the next time. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/copy.h"
#include "preload/file.h"
#include "preload/stream.h"

enum {
    POLL_NS = 100000000, /* between two polls of memory, at first */
    POLLS_MOST = 4096    /* of a recording twice as old: polls get rarer */
};

static _Atomic(uint64_t) rss_due_ns;
static _Atomic(bool) is_abandoned; /* and its stop is asked for; .pair.alone */

static bool
may_poll(void)
{
    return alqi_plat_confinement_sigsafe() == ALQI_PLAT_FREE;
}

bool
alqi_preload_poll_name(char name[17])
{
    char now[17] = "";

    if (!may_poll())
        return false;
    prctl(PR_GET_NAME, now);
    if (strcmp(now, name) == 0)
        return false;
    strcpy(name, now);
    return true;
}

/* The number at *at, which moves behind it and the blank that follows. */
static uint64_t
number_read(const char **at)
{
    uint64_t value = 0;

    for (; **at >= '0' && **at <= '9'; ++*at)
        value = 10 * value + (uint64_t)(**at - '0');
    *at += **at == ' ';
    return value;
}

/* The libc's open, read and close are cancellation points, and a library of
 * the program may stand before them: a malloc must run neither.  0: unknown. */
static uint64_t
rss_read(void)
{
    char text[128]; /* pages: size resident shared ... */
    const char *at = text;
    int saved = errno;
    long fd, n;

    fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC,
                 0);
    if (fd < 0) {
        errno = saved;
        return 0;
    }
    n = syscall(SYS_read, fd, text, sizeof text - 1);
    syscall(SYS_close, fd);
    errno = saved;
    text[n > 0 ? n : 0] = '\0';
    number_read(&at);
    return number_read(&at) * getauxval(AT_PAGESZ);
}

static uint64_t
gap_ns(uint64_t now_ns)
{
    uint64_t start_ns = alqi_preload_file_header()->start_mono_ns;
    uint64_t gap = (now_ns - start_ns) / POLLS_MOST;

    return gap > POLL_NS ? gap : POLL_NS;
}

uint64_t
alqi_preload_poll_rss(uint64_t now_ns)
{
    uint64_t due_ns = atomic_load_explicit(&rss_due_ns, memory_order_relaxed);

    if (now_ns < due_ns || alqi_preload_config.has_no_rss || !may_poll() ||
        !atomic_compare_exchange_strong_explicit(
            &rss_due_ns, &due_ns, now_ns + gap_ns(now_ns), memory_order_relaxed,
            memory_order_relaxed))
        return 0;
    return rss_read();
}

/* Writes the resident memory if a reading is due.  One that finds no space is
 * lost. */
static void
rss_put(struct alqi_preload_stream *s, uint64_t now_ns)
{
    uint64_t rss_bytes = alqi_preload_poll_rss(now_ns);

    if (rss_bytes == 0)
        return;
    if (!alqi_raw_put_rss(&s->encoder, now_ns, rss_bytes) &&
        (!alqi_preload_stream_turn(s, now_ns) ||
         !alqi_raw_put_rss(&s->encoder, now_ns, rss_bytes)))
        return;
    alqi_preload_stream_commit(s);
}

/* .inv.watch: the stop waits until the thread has left the profiler
 * (control.c). */
static void
attacher_look(void)
{
    const struct alqi_preload_config *c = &alqi_preload_config;
    int saved = errno;

    if (c->is_watching && may_poll() &&
        syscall(SYS_kill, (pid_t)c->attacher_pid, 0) != 0 && errno == ESRCH &&
        !atomic_exchange(&is_abandoned, true))
        atomic_fetch_add(&alqi_preload_pending, 1);
    errno = saved;
}

void
alqi_preload_poll_attached(void)
{
    atomic_store(&is_abandoned, false);
}

void
alqi_preload_poll_slow(struct alqi_preload_thread *thread, uint64_t now_ns)
{
    thread->poll_ns = now_ns + POLL_NS;
    attacher_look();
    if (may_poll())
        alqi_preload_copy_look();
    alqi_preload_stream_announce(thread, now_ns);
    rss_put(thread->stream, now_ns);
}

void
alqi_preload_poll_last(void)
{
    struct alqi_preload_thread *thread = alqi_preload_hot.thread;
    uint32_t was;

    if (thread == NULL || thread->stream == NULL ||
        thread->stream->chunk == NULL ||
        thread->memprof.mode != ALQI_MEMPROF_IDLE)
        return;
    was = alqi_memprof_enter(&thread->memprof);
    alqi_preload_poll_fork_child();
    if (alqi_preload_stream_has_file())
        alqi_preload_poll_slow(thread, alqi_plat_mono_ns_sigsafe());
    alqi_memprof_leave(&thread->memprof, was);
}

void
alqi_preload_poll_fork_child(void)
{
    atomic_store_explicit(&rss_due_ns, 0, memory_order_relaxed);
}
