/* snapshot.h -- a snapshot of the heap with what the program is
 * [doc/design/heap-snapshot.md] */
#ifndef ALQI_GLUE_TRACING_SNAPSHOT_H
#define ALQI_GLUE_TRACING_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include <aliquot/status.h>

#include "plat/plat.h"

struct alqi_domain;

/* As alq_heap_snapshot, without its checks and its collection; *error is an
 * errno of ALQ_EIO.  wall_us: when it is taken, as the file tells it. */
enum alq_status alqi_glue_snapshot_take(struct alqi_domain *d, int fd,
                                        bool in_stop, uint64_t wall_us,
                                        int *error);
static inline uint64_t
alqi_glue_snapshot_now_us(void)
{
    return alqi_plat_wall_ns_sigsafe() / 1000;
}

#endif
