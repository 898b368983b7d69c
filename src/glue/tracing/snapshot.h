/* snapshot.h -- a snapshot of the heap with what the program is
 * [doc/design/heap-snapshot.md] */
#ifndef ALQI_GLUE_TRACING_SNAPSHOT_H
#define ALQI_GLUE_TRACING_SNAPSHOT_H

#include <stdbool.h>

#include <aliquot/status.h>

struct alqi_domain;

/* As alq_heap_snapshot, without its checks and its collection; *error is an
 * errno of ALQ_EIO. */
enum alq_status alqi_glue_snapshot_take(struct alqi_domain *d, int fd,
                                        bool in_stop, int *error);

#endif
