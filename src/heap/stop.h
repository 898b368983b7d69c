/* stop.h -- states of domains, and stops of the world
 * [doc/design/heap.md]
 *
 * A stop goes through steps.  A step's work is cut into shares, one a domain
 * and one for what is the heap's own; participants claim them.  A participant
 * is a domain whose thread is parked in the stop: `self`.
 *
 * .inv.own    A domain's data are touched by its holder: its thread in
 *             RUNNING, the taker in HELD and HELD_WANTED, in a stop the
 *             claimer of its share.
 * .inv.stop   While a step runs no domain is RUNNING.
 * .inv.share  Each share of a step is done once.
 * .inv.back   A domain that its thread waits for is not taken once more.
 * .inv.states A domain's state changes by these steps alone:
 *             VACANT -> STARTING -> RUNNING or BLOCKING, RUNNING -> PARKED,
 *             BLOCKING or ENDING, PARKED -> RUNNING, BLOCKING -> HELD or
 *             RUNNING, HELD -> HELD_WANTED or BLOCKING, HELD_WANTED -> RUNNING,
 *             ENDING or STARTING -> VACANT. */
#ifndef ALQI_HEAP_STOP_H
#define ALQI_HEAP_STOP_H

#include "heap/state.h"

struct alqi_heap_stop_work {
    /* By the leader, when all have arrived or are taken.  Only of the first
     * step.  May be NULL. */
    void (*begin)(struct alqi_domain *leader);
    /* Once for each domain that is not vacant, and once with of = NULL for what
     * is the heap's own.  May be NULL. */
    void (*share)(struct alqi_domain *self, struct alqi_domain *of);
    /* Once by each participant that may take shares, when none is left to
     * claim.  May be NULL. */
    void (*each)(struct alqi_domain *self);
    /* By one, when all are through; returns the next step, NULL: it is over. */
    const struct alqi_heap_stop_work *(*last)(struct alqi_domain *self);
    /* Only stop.n_workers participants take shares, the leader among them: set
     * by `begin`. */
    bool is_limited;
};

/* Stops the world and goes through the steps.  False: not run, since another
 * domain leads a stop, in which this one took part, or a domain starts.  The
 * caller looks whether its reason still stands, and tries again. */
bool alqi_heap_stop_try(struct alqi_domain *d,
                        const struct alqi_heap_stop_work *first);

/* Safepoint poll: sets the limit, takes part in a stop that is requested. */
void alqi_heap_stop_poll(struct alqi_domain *d);

/* A section in which nothing is collected, so that blocks stay where they are:
 * what a function has whose name ends in _nogc.  A poll in it ends the program
 * (.inv.rank).  `end` gets what `begin` returned: sections nest. */
static inline bool
alqi_heap_nogc_begin(void)
{
    bool is_inner = alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_NOGC);

    alqi_base_rank_push_group_sigsafe(ALQI_RANK_HEAP_NOGC);
    return is_inner;
}

static inline void
alqi_heap_nogc_end(bool is_inner)
{
    if (!is_inner)
        alqi_base_rank_pop_sigsafe(ALQI_RANK_HEAP_NOGC);
}

/* RUNNING -> BLOCKING, and back, on the domain's thread. */
void alqi_heap_stop_leave(struct alqi_domain *d);
void alqi_heap_stop_come_back(struct alqi_domain *d);

/* BLOCKING -> HELD, for a slice, by the thread of a domain that is RUNNING. */
bool alqi_heap_stop_take(struct alqi_domain *of);
/* Whether the domain is held, by a slice or a stop. */
static inline bool
alqi_heap_stop_is_held(const struct alqi_domain *of)
{
    uint32_t state = __atomic_load_n(&of->state, __ATOMIC_RELAXED);

    return state == ALQI_HEAP_HELD || state == ALQI_HEAP_HELD_WANTED;
}
/* Back before the taker arrives, goes away or ends. */
void alqi_heap_stop_give_back(struct alqi_domain *of);
static inline bool
alqi_heap_stop_is_wanted(const struct alqi_domain *of)
{
    return __atomic_load_n(&of->state, __ATOMIC_RELAXED) ==
           ALQI_HEAP_HELD_WANTED;
}

/* The lock that keeps stops out while a domain starts.  `d`, NULL for a thread
 * that runs none, takes part in stops that come first. */
void alqi_heap_stop_lock(struct alqi_heap *heap, struct alqi_domain *d);
void alqi_heap_stop_unlock(struct alqi_heap *heap);

/* RUNNING -> ENDING, then, with all handed over, ENDING -> VACANT. */
void alqi_heap_stop_ending(struct alqi_domain *d);
void alqi_heap_stop_vacate(struct alqi_domain *d);

#endif
