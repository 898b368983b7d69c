/* snapshot.c -- stops the world, and has a copy of the process write the file
 *
 *   the caller               the world        the copy
 *   file's head              runs
 *   stop, roots gathered     stands
 *   clone            ------> runs             roots, samples, blocks, END
 *   waits, blocking          runs             ends
 *
 * The copy is cloned without what fork(3) does: no handler of the program or of
 * the libc runs.  It closes all descriptors but the file's, so that no
 * connection stays open for it.  A process whose memory is watched by a
 * sanitizer is not copied, and one that may have no child cannot be: then the
 * file is written in the stop, and END says so.
 *
 * .inv.copy_moves  A copy that gets nothing written for hung_ms does not hold
 *   its caller longer: it is killed.  It counts what it has written in a page
 *   that both have.
 *
 * Keeps .inv.one_moment: All is read between `begin` of one stop and its end,
 *   or in memory copied there.
 * Keeps .inv.copy_bare, .inv.no_child: What runs in the copy is copy_run(). */
#include <errno.h>

#include "heap/domain_thread.h"
#include "heap/snapshot.h"
#include "heap/snapshot_state.h"
#include "heap/stop.h"
#include "plat/bare.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define IS_WATCHED true
#else
#define IS_WATCHED false
#endif

/* alqi_dump_write_fn */
static bool
bytes_write(void *arg, const uint8_t *bytes, size_t n)
{
    struct alqi_heap_snapshot *s = arg;

    s->error = s->is_copy ? alqi_plat_bare_write(s->fd, bytes, n)
                          : alqi_plat_write_sigsafe(s->fd, bytes, n);
    atomic_fetch_add_explicit(s->n_written, 1, memory_order_relaxed);
    return s->error == 0;
}

/* All behind the file's head. */
static void
rest_write(struct alqi_heap_snapshot *s)
{
    alqi_heap_snapshot_roots_write(s);
    if (s->more->write != NULL)
        s->more->write(s->more->arg, &s->encoder);
    alqi_heap_snapshot_blocks_write_stw(s);
}

/* ---- the copy ----------------------------------------------------------- */

/* The exit status is an errno; 0. */
static _Noreturn void
copy_run(struct alqi_heap_snapshot *s)
{
    uint64_t stop_ns = alqi_plat_bare_mono_ns() - s->began_ns;

    s->is_copy = true;
    alqi_plat_bare_begin(s->fd);
    rest_write(s);
    alqi_dump_end(&s->encoder, stop_ns, true);
    alqi_plat_bare_exit(s->error);
}

/* Makes the copy, or sets in_stop. */
static void
copy_make(struct alqi_heap_snapshot *s)
{
    long pid = alqi_plat_bare_copy();

    if (pid == 0)
        copy_run(s);
    s->copy_pid = pid > 0 ? pid : 0;
    s->in_stop = pid < 0;
}

/* ---- the stop ----------------------------------------------------------- */

static void
begin(struct alqi_domain *leader)
{
    struct alqi_heap_snapshot *s = leader->stop_arg;

    alqi_heap_snapshot_roots_gather_stw(s);
    if (s->is_short)
        return;
    if (!s->in_stop)
        copy_make(s);
    if (s->in_stop) {
        rest_write(s);
        alqi_dump_end(&s->encoder, alqi_plat_mono_ns_sigsafe() - s->began_ns,
                      false);
    }
}

static const struct alqi_heap_stop_work *
last(struct alqi_domain *self)
{
    (void)self;
    return NULL;
}

static void
stop(struct alqi_heap_snapshot *s)
{
    static const struct alqi_heap_stop_work work = {.begin = begin,
                                                    .last = last};

    s->leader->stop_arg = s;
    do
        s->began_ns = alqi_plat_mono_ns_sigsafe();
    while (!alqi_heap_stop_try(s->leader, &work));
}

unsigned alqi_heap_snapshot_hung_ms = 60000;

/* .inv.copy_moves: true, once it is killed. */
static bool
copy_is_hung(const struct alqi_heap_snapshot *s)
{
    enum { LOOK_MS = 1000 };
    uint64_t now_ns, moved_ns = alqi_plat_mono_ns_sigsafe();
    uint32_t n_before = 0, n;

    while (!alqi_plat_bare_wait_ms(s->copy_pid, LOOK_MS)) {
        n = atomic_load_explicit(s->n_written, memory_order_relaxed);
        now_ns = alqi_plat_mono_ns_sigsafe();
        if (n != n_before)
            moved_ns = now_ns;
        n_before = n;
        if (now_ns - moved_ns >= alqi_heap_snapshot_hung_ms * UINT64_C(1000000))
            return alqi_plat_bare_kill(s->copy_pid);
    }
    return false;
}

/* The domain takes part in others' stops meanwhile, without its thread. */
static void
outcome_await(struct alqi_heap_snapshot *s)
{
    struct alq_thread *thread = alqi_heap_thread_leave(s->leader);

    bool is_hung = copy_is_hung(s);

    s->error = alqi_plat_bare_wait(s->copy_pid);
    if (s->error < 0)
        s->error = is_hung ? ETIMEDOUT : ECHILD;
    alqi_heap_thread_enter(thread);
}

static void
drop(struct alqi_heap_snapshot *s)
{
    struct alqi_heap_snapshot_chunk *chunk;

    while ((chunk = s->roots) != NULL) {
        s->roots = chunk->next;
        alqi_plat_pages_unmap(chunk, sizeof *chunk);
    }
    if (s->n_written != NULL)
        alqi_plat_bare_unmap((void *)s->n_written, sizeof *s->n_written);
    alqi_plat_pages_unmap(s, sizeof *s);
}

enum alq_status
alqi_heap_snapshot_take(struct alqi_domain *d, int fd, bool in_stop,
                        const struct alqi_heap_snapshot_more *more, int *error)
{
    struct alqi_heap_snapshot *s = alqi_plat_pages_map(sizeof *s);
    enum alq_status status = ALQ_ENOMEM;

    *error = 0;
    if (s == NULL)
        return ALQ_ENOMEM;
    s->leader = d;
    s->more = more;
    s->fd = fd;
    s->in_stop = in_stop || IS_WATCHED;
    s->n_written = alqi_plat_bare_map_shared(sizeof *s->n_written);
    if (s->n_written == NULL) {
        drop(s);
        return ALQ_ENOMEM;
    }
    alqi_dump_begin(&s->encoder, bytes_write, s);
    if (more->head != NULL)
        more->head(more->arg, &s->encoder);
    if (!s->encoder.has_failed)
        stop(s);
    if (s->copy_pid > 0)
        outcome_await(s);
    if (!s->is_short)
        status = s->error == 0 ? ALQ_OK : ALQ_EIO;
    *error = s->error;
    drop(s);
    return status;
}
