/* mark.c -- the program's phases in the recording        [doc/design/marks.md]
 *
 * A mark is an event of a stream of its own, of the kind of modules: at one
 * time it comes before what other streams have.  In the exact mode it has a
 * number, which stands in the stream of the thread that set it, too.
 *
 *   no mark --the first--> marks --ALQI_SIDE_MARKS_MAX--> full: marks are
 *   counted as dropped, until the recording ends
 *
 * .inv.phase  All of this file is used within an operation of control.c
 *             (.inv.orphan): one thread at a time, never while a recording is
 *             ended or a process forks. */
#include "preload/mark.h"

#include "preload/exact.h"
#include "preload/file.h"
#include "preload/stream.h"
#include "wire/side.h"

static struct alqi_preload_stream stream = {
    .kind = ALQI_RAW_MODULES,
    .index = ALQI_PRELOAD_STREAMS_MAX + 3,
};

/* in this recording */
static uint32_t n_marks;

void
alqi_preload_mark_drop(void)
{
    atomic_fetch_add_explicit(&alqi_preload_file_header()->dropped_marks, 1,
                              memory_order_relaxed);
}

/* There is a recording. In a forked child whose parent samples a mark makes it,
 * as a sample does. */
static bool
has_recording(void)
{
    return alqi_preload_stream_has_file() ||
           ((alqi_preload_recorder_is_on() ||
             !alqi_preload_exact_is(ALQI_PRELOAD_EXACT_OFF)) &&
            alqi_preload_stream_file());
}

static bool
put(const char *name, uint32_t number)
{
    uint64_t now_ns = alqi_plat_mono_ns_sigsafe();

    if (stream.chunk == NULL && !alqi_preload_stream_turn(&stream, now_ns))
        return false;
    if (!alqi_raw_put_mark(&stream.encoder, now_ns, number, name) &&
        (!alqi_preload_stream_turn(&stream, now_ns) ||
         !alqi_raw_put_mark(&stream.encoder, now_ns, number, name)))
        return false;
    alqi_preload_stream_commit(&stream);
    return true;
}

/* In the exact mode times are coarse: the calling thread's own stream says
 * where the mark is, once the name that it means is there. */
enum alq_status
alqi_preload_mark(const char *name)
{
    struct alqi_preload_thread *thread = alqi_preload_hot.thread;
    char text[ALQI_SIDE_MARK_BYTES];
    bool is_exact;

    if (!alqi_side_mark_name(text, name))
        return ALQ_EINVAL;
    if (!has_recording())
        return ALQ_ENOTRUN;
    is_exact = thread != NULL && alqi_preload_exact_mark_may(thread);
    if (n_marks == ALQI_SIDE_MARKS_MAX ||
        !put(text, is_exact ? n_marks + 1 : 0)) {
        alqi_preload_mark_drop();
        return n_marks == ALQI_SIDE_MARKS_MAX ? ALQ_ETOOBIG : ALQ_EIO;
    }
    n_marks++;
    if (is_exact)
        alqi_preload_exact_mark(thread, n_marks);
    return ALQ_OK;
}

void
alqi_preload_mark_close(void)
{
    n_marks = 0;
    alqi_preload_stream_renew(&stream);
}

void
alqi_preload_mark_fork_child(void)
{
    stream.chunk = NULL; /* the parent's */
    alqi_preload_mark_close();
}
