/* snapshot.c -- see snapshot.h
 *
 * The file's head is written before the stop: which program, where its modules
 * are, what its tags are called. */
#include <unistd.h>

#include "glue/join/native.h"
#include "glue/tracing/snapshot.h"
#include "glue/tracing/snapshot_sites.h"
#include "glue/tracing/trace_side.h"
#include "heap/snapshot.h"
#include "heap/tag_name.h"

static void
modules_write(struct alqi_dump_encoder *e)
{
    const struct alqi_glue_module *m;

    alqi_glue_native_meet();
    for (unsigned i = 0; (m = alqi_glue_native_module(i)) != NULL; i++) {
        const struct alqi_dump_module module = {
            .start = m->start,
            .end = m->end,
            .bias = m->bias,
            .path = m->path,
            .build_id = m->build_id,
            .build_id_bytes = m->build_id_bytes,
        };

        alqi_dump_module(e, &module);
    }
}

/* What the head and the rest are written from. */
struct parts {
    struct alqi_glue_snapshot_sites sites;
    uint64_t wall_us;
};

static void
head_write(void *arg, struct alqi_dump_encoder *e)
{
    const struct parts *parts = arg;
    char command[ALQI_GLUE_CMDLINE_BYTES];
    size_t n = alqi_glue_trace_cmdline_read(command);
    const char *name;

    alqi_dump_program(e, (uint64_t)getpid(), parts->wall_us, command, n);
    modules_write(e);
    for (unsigned tag = 0; tag < ALQI_HEAP_TAGS; tag++)
        if ((name = alqi_heap_tag_name(tag)) != NULL)
            alqi_dump_kind_name(e, tag, name);
}

enum alq_status
alqi_glue_snapshot_take(struct alqi_domain *d, int fd, bool in_stop,
                        uint64_t wall_us, int *error)
{
    struct parts parts = {.wall_us = wall_us};
    const struct alqi_heap_snapshot_more more = {
        .head = head_write,
        .gather_stw = alqi_glue_snapshot_sites_gather_stw,
        .write = alqi_glue_snapshot_sites_write,
        .arg = &parts,
    };
    enum alq_status status =
        alqi_heap_snapshot_take(d, fd, in_stop, &more, error);

    alqi_glue_snapshot_sites_drop(&parts.sites);
    return status;
}
