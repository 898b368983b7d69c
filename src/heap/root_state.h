/* root_state.h -- boxed roots, and the root set of a domain and of the heap
 *
 * .inv.boxes  A boxed root that is free holds an odd word or 0, the link of the
 *             free list.  A page whose may_be_young is 0 has no root that leads
 *             to a young block. */
#ifndef ALQI_HEAP_ROOT_STATE_H
#define ALQI_HEAP_ROOT_STATE_H

#include <aliquot/root.h>

#include "base/base.h"

struct alqi_heap_transfer_root;

enum { ALQI_HEAP_BOXES = ALQI_CHECKS >= 1 ? 501 : 510 };

/* A page of boxed roots.  A free one holds the address of the next free one,
 * + 1. */
struct alqi_heap_boxes {
    struct alqi_heap_boxes *next; /* of the same domain; NULL: the last */
    uintptr_t may_be_young; /* 1: some root may hold a young value; 0: minor
                             * collections leave the page out */
#if ALQI_CHECKS >= 1
    const struct alqi_heap_roots *owner; /* the domain's, to find misuse */
    uint64_t used[8]; /* a bit for each root that is not free */
#endif
    struct alq_root roots[ALQI_HEAP_BOXES];
};

/* A domain's; its holder writes.  Frames are with its threads. */
struct alqi_heap_roots {
    struct alq_range *ranges;      /* list: arrays of values of the program */
    struct alq_scanner *scanners;  /* list: functions that visit values */
    struct alqi_heap_boxes *boxes; /* list of pages */
    uintptr_t free_box; /* the first free root's address + 1; 0: none */
};

/* The heap's, under the lock of root.c; collections read it in stops. */
struct alqi_heap_roots_common {
    struct alq_global *globals; /* list; no barrier guards these */
    struct alqi_heap_transfer_root *transfer; /* arguments and results of
                                               * spawned domains */
};

#endif
