/* root_state.h -- boxed roots, and the root set of a domain and of the heap */
#ifndef ALQI_HEAP_ROOT_STATE_H
#define ALQI_HEAP_ROOT_STATE_H

#include <aliquot/root.h>

#include "base/base.h"

struct alqi_heap_transfer_root;

enum { ALQI_HEAP_BOXES = ALQI_CHECKS >= 1 ? 501 : 510 };

/* A page of boxed roots.  A free one holds the address of the next free one,
 * + 1. */
struct alqi_heap_boxes {
    struct alqi_heap_boxes *next;
    uintptr_t may_be_young; /* 1: some root may hold a young value           */
#if ALQI_CHECKS >= 1
    const struct alqi_heap_roots *owner;
    uint64_t used[8]; /* a bit for each root that is not free                */
#endif
    struct alq_root roots[ALQI_HEAP_BOXES];
};

/* A domain's; its holder writes.  Frames are with its threads. */
struct alqi_heap_roots {
    struct alq_range *ranges;
    struct alq_scanner *scanners;
    struct alqi_heap_boxes *boxes;
    uintptr_t free_box; /* 0, or the address of a free root + 1              */
};

/* The heap's; root.c has their lock. */
struct alqi_heap_roots_common {
    struct alq_global *globals;
    struct alqi_heap_transfer_root *transfer; /* arguments and results of
                                               * spawned domains             */
};

#endif
