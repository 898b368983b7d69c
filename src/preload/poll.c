/* poll.c -- thread names and resident memory, polled by recording threads
 *
 * A thread that records an event polls when the last poll is POLL_NS ago, so
 * that an idle program is left alone and the profiler needs no thread.
 *
 *   waiting --poll_ns has passed, in any thread's event--> polled --> waiting
 *   waiting --what is alive reached a new height---------> looked --> waiting
 *
 * .inv.height The second kind of look comes before the event that ends the
 *             height, so that the blocks of it have been written to.  Of
 *             samples what is alive is known, and each look raises the height
 *             by a sixteenth: looks are as many as its logarithm.  An exact
 *             recording knows only what was allocated since the last look, so
 *             GROWN_NS lie between two of them, and more as it gets older.
 * .inv.most   The maximum of resident memory is the kernel's own: no look has
 *             to meet it.  It is read with each poll of POLL_NS, for a process
 *             that will be killed, and at the end.
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
    GROWN_NS = 1000000,  /* likewise, where the heap may have grown */
    POLLS_MOST = 4096,   /* of a recording twice as old: polls get rarer */
    GROWTH_PART = 16,    /* of what there was: a height that is new */
    GROWTH_BYTES_LEAST = 65536
};

static struct {
    _Atomic(uint64_t) due_ns;    /* the next look, for time alone */
    _Atomic(uint64_t) grown_ns;  /* the next one for growth, exact */
    _Atomic(uint64_t) rss_bytes; /* at the last one */
    /* In sampled blocks: now, and the most of any look. */
    _Atomic(int64_t) alive_bytes, height_bytes;
} looks;

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
 * the program may stand before them: a malloc must run neither.  -1: none. */
static int
proc_open(const char *path)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}

/* 0: unknown. */
static uint64_t
rss_read(void)
{
    char text[128]; /* pages: size resident shared ... */
    const char *at = text;
    int saved = errno, fd = proc_open("/proc/self/statm");
    long n;

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

/* A number that follows a key in a text which comes in pieces. */
struct field {
    const char *key;
    size_t n_matched; /* of the key */
    uint64_t value;
    bool is_begun, is_over;
};

/* No key of ours begins anew within itself. */
static void
field_take(struct field *f, char c)
{
    bool is_digit = c >= '0' && c <= '9';

    if (f->key[f->n_matched] != '\0') {
        f->n_matched =
            f->key[f->n_matched] == c ? f->n_matched + 1 : f->key[0] == c;
        return;
    }
    if (is_digit)
        f->value = 10 * f->value + (uint64_t)(c - '0');
    f->is_over = f->is_begun && !is_digit;
    f->is_begun = is_digit;
}

/* What the kernel says of this image's memory; getrusage would tell of those
 * before it, too.  0: unknown. */
static uint64_t
most_read(void)
{
    struct field f = {.key = "\nVmHWM:"};
    int saved = errno, fd = proc_open("/proc/self/status");
    char text[256];
    long n = 1;

    while (fd >= 0 && !f.is_over && n > 0) {
        n = syscall(SYS_read, fd, text, sizeof text);
        for (long i = 0; i < n && !f.is_over; i++)
            field_take(&f, text[i]);
    }
    if (fd >= 0)
        syscall(SYS_close, fd);
    errno = saved;
    return f.is_over ? f.value * 1024 : 0;
}

void
alqi_preload_poll_most(void)
{
    _Atomic(uint64_t) *most = &alqi_preload_file_header()->most_rss_bytes;
    uint64_t bytes;

    if (alqi_preload_config.has_no_rss || !may_poll())
        return;
    bytes = most_read();
    if (bytes > atomic_load_explicit(most, memory_order_relaxed))
        atomic_store_explicit(most, bytes, memory_order_relaxed);
}

static uint64_t
gap_ns(uint64_t now_ns, uint64_t least_ns)
{
    uint64_t start_ns = alqi_preload_file_header()->start_mono_ns;
    uint64_t gap = (now_ns - start_ns) / POLLS_MOST;

    return gap > least_ns ? gap : least_ns;
}

/* Looks, and postpones the next ones. */
static uint64_t
look(uint64_t now_ns)
{
    uint64_t bytes = rss_read();
    int64_t alive =
        atomic_load_explicit(&looks.alive_bytes, memory_order_relaxed);

    atomic_store_explicit(&looks.rss_bytes, bytes, memory_order_relaxed);
    if (alive > atomic_load_explicit(&looks.height_bytes, memory_order_relaxed))
        atomic_store_explicit(&looks.height_bytes, alive, memory_order_relaxed);
    atomic_store_explicit(&looks.grown_ns, now_ns + gap_ns(now_ns, GROWN_NS),
                          memory_order_relaxed);
    return bytes;
}

/* Whether this thread is the one that looks (.inv.poll). */
static bool
is_taken(_Atomic(uint64_t) *due_ns, uint64_t now_ns, uint64_t least_ns)
{
    uint64_t due = atomic_load_explicit(due_ns, memory_order_relaxed);

    return now_ns >= due && !alqi_preload_config.has_no_rss && may_poll() &&
           atomic_compare_exchange_strong_explicit(
               due_ns, &due, now_ns + gap_ns(now_ns, least_ns),
               memory_order_relaxed, memory_order_relaxed);
}

uint64_t
alqi_preload_poll_rss(uint64_t now_ns, bool is_grown)
{
    if (is_taken(&looks.due_ns, now_ns, POLL_NS)) {
        alqi_preload_poll_most();
        return look(now_ns);
    }
    return is_grown && is_taken(&looks.grown_ns, now_ns, GROWN_NS)
               ? look(now_ns)
               : 0;
}

uint64_t
alqi_preload_poll_growth_bytes(void)
{
    uint64_t part =
        atomic_load_explicit(&looks.rss_bytes, memory_order_relaxed) /
        GROWTH_PART;

    return part > GROWTH_BYTES_LEAST ? part : GROWTH_BYTES_LEAST;
}

/* Writes resident memory.  What finds no space is lost. */
static void
rss_put(struct alqi_preload_stream *s, uint64_t now_ns, uint64_t rss_bytes)
{
    if (rss_bytes == 0)
        return;
    if (!alqi_raw_put_rss(&s->encoder, now_ns, rss_bytes) &&
        (!alqi_preload_stream_turn(s, now_ns) ||
         !alqi_raw_put_rss(&s->encoder, now_ns, rss_bytes)))
        return;
    alqi_preload_stream_commit(s);
}

/* .inv.height: two threads that come at once both look. */
static ALQI_COLD void
height_look(struct alqi_preload_stream *s, uint64_t now_ns)
{
    if (!alqi_preload_config.has_no_rss && may_poll())
        rss_put(s, now_ns, look(now_ns));
}

void
alqi_preload_poll_height(struct alqi_preload_thread *thread, uint64_t now_ns)
{
    int64_t alive =
        atomic_load_explicit(&looks.alive_bytes, memory_order_relaxed);
    int64_t height =
        atomic_load_explicit(&looks.height_bytes, memory_order_relaxed);

    if (ALQI_UNLIKELY(alive > height + height / GROWTH_PART))
        height_look(thread->stream, now_ns);
}

void
alqi_preload_poll_alive(int64_t bytes)
{
    atomic_fetch_add_explicit(&looks.alive_bytes, bytes, memory_order_relaxed);
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
    rss_put(thread->stream, now_ns, alqi_preload_poll_rss(now_ns, false));
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
    atomic_store_explicit(&looks.due_ns, 0, memory_order_relaxed);
    if (alqi_preload_stream_has_file())
        alqi_preload_poll_slow(thread, alqi_plat_mono_ns_sigsafe());
    alqi_memprof_leave(&thread->memprof, was);
}

/* The height is the parent's recording's; the first event of this one looks. */
void
alqi_preload_poll_fork_child(bool is_prepared)
{
    if (!is_prepared)
        atomic_store_explicit(&looks.alive_bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&looks.height_bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&looks.grown_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&looks.due_ns, 0, memory_order_relaxed);
}

void
alqi_preload_poll_renew(void)
{
    alqi_preload_poll_fork_child(false);
}
