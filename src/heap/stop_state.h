/* stop_state.h -- the states of a domain, and of a stop of the world: stop.h
 *
 * .pair.state    state_set(), state_change() -> state_of(): all that the holder
 *                of the domain did before (tests/models/stop_weak.pml).
 * .pair.request  ask(): the request, then the states -> look_for_leader(),
 *                serve(): the state, then the request.  Sequentially
 *                consistent, so one of the two sees the other.
 * .pair.arrived  wake_leader(): the state, then `arrived` -> collect(): clears
 *                it, then the state; likewise.
 * .pair.lock     lock_free() -> lock_try(): what the last holder did.
 * .pair.go       alqi_heap_stop_try() -> serve(): who takes part, the first
 *                step, its shares.
 * .pair.turn     barrier(), the last to arrive -> the others: the next step and
 *                its shares.  By `waiting` the last one sees what all have
 *                done (tests/models/stop_barrier_weak.pml).
 * .pair.over     take_part() -> the last to leave, by `inside`: what the others
 *                did.  end_stop() -> take_part(), by `over`: the states. */
#ifndef ALQI_HEAP_STOP_STATE_H
#define ALQI_HEAP_STOP_STATE_H

#include <stdint.h>

struct alqi_domain;
struct alqi_heap_stop_work;

/* A domain's state, which says which thread may touch the collector's data of
 * the domain (.inv.own). */
enum alqi_heap_domain_state {
    ALQI_HEAP_VACANT,      /* the slot has no domain */
    ALQI_HEAP_STARTING,    /* the holder of the lock of stops sets it up */
    ALQI_HEAP_RUNNING,     /* the thread that runs it, no other */
    ALQI_HEAP_PARKED,      /* at a safepoint, in a stop: the claimer of its
                            * share */
    ALQI_HEAP_BLOCKING,    /* no thread */
    ALQI_HEAP_HELD,        /* its taker, or in a stop the claimer */
    ALQI_HEAP_HELD_WANTED, /* as HELD; its thread sleeps until it is RUNNING */
    ALQI_HEAP_ENDING       /* its thread, which hands everything over */
};

/* Words that threads sleep on are futexes; all are atomic. */
struct alqi_heap_stop {
    uint32_t lock;      /* held by the leader, or by the starter of a domain:
                         * 0 free, 1 held, 2 held and somebody may sleep;
                         * .pair.lock */
    uint32_t request;   /* 1: a stop is requested (.pair.request) */
    uint32_t seq;       /* number of the stop that was requested last;
                         * raised before the request: .pair.request */
    uint32_t go;        /* number of the stop that began last: .pair.go */
    uint32_t over;      /* number of the stop that ended last: .pair.over */
    uint32_t arrived;   /* the leader sleeps on it, and alone clears it:
                         * .pair.arrived */
    uint32_t n_inside;  /* participants of this stop */
    uint32_t n_workers; /* of them, those with shares of limited steps */
    uint32_t workers;   /* participants that have asked to be workers */
    uint32_t inside;    /* participants that have not left: .pair.over */
    uint32_t next;      /* the share that is handed out next: .pair.alone */
    uint32_t claimed;   /* 1: the heap's own share is claimed: .pair.alone */
    uint32_t waiting;   /* participants at the barrier: .pair.turn */
    uint32_t turn;      /* number of steps that have ended: .pair.turn */
    struct alqi_domain *leader;
    const struct alqi_heap_stop_work *step; /* NULL: the last has ended */
};

#endif
