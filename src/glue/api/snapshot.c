/* snapshot.c -- <aliquot/snapshot.h>
 *
 * Arguments are checked, then down.  Nothing is kept here. */
#include <errno.h>

#include <aliquot/gc.h>
#include <aliquot/snapshot.h>

#include "glue/tracing/snapshot.h"
#include "heap/domain_thread.h"
#include "heap/event.h"
#include "heap/tag_name.h"

enum { TAG_MAX = 245, FLAGS = ALQ_SNAPSHOT_STOP | ALQ_SNAPSHOT_COLLECT };

enum alq_status
alq_heap_snapshot(struct alq_domain *d, int fd, unsigned flags)
{
    enum alq_status status = ALQ_OK;
    int error;

    if (d == NULL || fd < 0 || (flags & ~(unsigned)FLAGS) != 0)
        return ALQ_EINVAL;
    if (!alqi_heap_thread_runs(d) || alqi_heap_domain(d)->heap->life.is_lost ||
        alqi_heap_event_is_inside(alqi_heap_domain(d)))
        return ALQ_ESTATE;
    if (flags & ALQ_SNAPSHOT_COLLECT)
        status = alq_gc_full_major(d);
    if (status != ALQ_OK)
        return status;
    status = alqi_glue_snapshot_take(alqi_heap_domain(d), fd,
                                     flags & ALQ_SNAPSHOT_STOP,
                                     alqi_glue_snapshot_now_us(), &error);
    if (status == ALQ_EIO)
        errno = error;
    return status;
}

enum alq_status
alq_tag_name_set(unsigned tag, const char *name)
{
    if (tag > TAG_MAX)
        return ALQ_EINVAL;
    alqi_heap_tag_name_set(tag, name);
    return ALQ_OK;
}
