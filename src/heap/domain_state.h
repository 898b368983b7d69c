/* domain_state.h -- threads of a domain, requests to it, and what it leaves
 * when it ends
 *
 * Without another word a field is written by the thread that runs the domain,
 * and read by it and by whoever holds the domain in a stop (.inv.own).
 *
 * .pair.held     let_go() -> hold_try(): the domain's data
 *                (tests/models/threads_weak.pml).
 * .pair.waiting  hold(): `waiting`, then `held` -> let_go(): `held`, then
 *                `waiting`.  Sequentially consistent, so one sees the other.
 * .pair.yield    let_another(): `yielding`, `turns`, then `held` -> hold(): the
 *                other way round.  `held` carries the two. */
#ifndef ALQI_HEAP_DOMAIN_STATE_H
#define ALQI_HEAP_DOMAIN_STATE_H

#include <aliquot/root.h>

#include "heap/large_state.h"
#include "heap/limit_trigger.h"
#include "heap/pool_state.h"
#include "heap/stat_state.h"
#include "heap/weak_state.h"
#include "heap/work_queue.h"

/* A thread of a domain: it runs the domain, waits to, or is in a blocking
 * section. */
struct alq_thread {
    struct alqi_domain *domain; /* set once */
    struct alq_frame *frames;   /* valid while it does not run the domain */
    enum alq_status status;     /* likewise */
    const struct alqi_heap_limit_trigger_hooks *limit_trigger; /* NULL: none */
    void *limit_trigger_arg;
    struct alqi_heap_stack *stack; /* its conservative scan; NULL: it has
                                    * precise roots alone */
    uint32_t limit_trigger_held; /* depth of calls in which the trigger is off;
                                  * the thread writes */
    uint32_t n_calls;         /* finalisers and alarms on its stack; the thread
                               * writes */
    struct alq_thread *next;  /* in the domain's list; NULL: the last */
    struct alq_thread **link; /* what points to it in that list */
    void *observer;           /* the client's own state of it: observe.h */
    uint32_t blocks;          /* atomic; 1: inside a blocking section */
    uintptr_t stack_end;      /* address; valid while has_left; hard builds look
                               * for stale variables up to it (root_stale.c) */
    bool has_left;            /* it is outside of the domain */
};

/* The threads of a domain: domain_thread.h.  The counters are atomic, and any
 * thread of the domain changes them; the thread that runs the domain writes
 * the rest. */
struct alqi_heap_threads {
    uint32_t held;              /* 1: a thread runs the domain; a futex;
                                 * .pair.held */
    uint32_t waiting;           /* threads that want to run it: .pair.waiting */
    uint32_t turns;             /* how often a thread got it; a futex;
                                 * .pair.yield */
    uint32_t yielding;          /* threads that wait for another turn:
                                 * .pair.yield */
    struct alq_thread *running; /* NULL: none */
    struct alq_thread *all;     /* the first of the list */
    struct alq_thread first;    /* the one that began the domain */
    bool is_spawned; /* the domain ends when its function returns; set once */
};

/* Requests to a domain.  Any thread sets one, then raises the limit; the
 * domain's thread takes it and serves it (.inv.limit, .pair.limit).  Atomic. */
struct alqi_heap_requests {
    bool want_minor;     /* a minor collection */
    bool want_slice;     /* a slice of major work */
    bool want_notice;    /* a call of the limit trigger's notice */
    bool want_handshake; /* a call of the handshake: stop_handshake.h */
};

/* What a domain that ended has left.  The list is a stack: pushed by compare
 * and swap, taken as a whole, in stops or by the heap's last user
 * (.inv.handed).  The ending domain writes, then the adopter. */
struct alqi_heap_orphan {
    struct alqi_heap_orphan *next;
    struct alqi_heap_lists lists[2][ALQI_HEAP_CLASSES];
    struct alqi_heap_large_lists large;
    struct alqi_heap_range *stack;      /* its mark stack */
    size_t n_stack;                     /* ranges in it */
    size_t stack_size;                  /* ranges that there is memory for */
    struct alqi_heap_orphan *inherited; /* mark stacks that the domain had
                                         * adopted and not begun */
    bool overflowed; /* pools or large blocks of it are to be read again */
    bool done;       /* with the phase's work; false: it counts in
                      * cycle.n_busy */
    struct alqi_heap_sums sums;
    struct alqi_heap_weak_list weak[ALQI_HEAP_WEAK_KINDS];
    bool weak_fields_lost; /* its remembered weak fields are not complete */
    struct alqi_heap_final *finals;
};

/* How long the heap lives. */
struct alqi_heap_life {
    unsigned n_users;   /* domains, and those about to start: .inv.users; under
                         * the lock of domain.c */
    bool has_begun;     /* atomic: the first domain is there */
    bool is_lost;       /* a forked process without the threads of the heap: all
                         * calls fail; set in the child, by its only thread */
    bool has_said_lost; /* a call on the lost heap has logged why it fails */
};

#endif
