/* stop_weak.pml -- a stop's beginning and end where memory is not ordered
 *                                                         [src/heap/stop.c]
 *
 * A leader stops a domain that polls when its limit is raised, or goes away and
 * comes back.  All words are seq_cst, but that sleepers look with acquire; what
 * they publish is not atomic.  The barrier within: stop_barrier_weak.pml.
 *
 *   leader   request := 1; limit := ones; until the state is PARKED, or is made
 *            HELD: arrived := 0, look at the state, sleep
 *            the first step, plain; go; works on the domain's data, plain;
 *            request := 0; PARKED -> RUNNING, HELD -> BLOCKING or RUNNING; over
 *   poll     limit := low; request; PARKED; arrived; sleep until go, then over
 *   leave    BLOCKING; request: arrived.  then BLOCKING -> RUNNING; or HELD ->
 *            HELD_WANTED and sleep until RUNNING; poll
 *
 * Checked: the leader sees what the domain has written, and the domain what the
 * leader has (.inv.own); nobody waits for ever.
 * Flaws:
 *   BUG_1  leave looks at the request with acquire   -> deadlock
 *   BUG_2  the leader looks at the state with acquire -> deadlock
 *   BUG_3  PARKED and BLOCKING are stored relaxed    -> the domain's data
 *   BUG_4  the sleeper's look at `go` is relaxed     -> the step before
 *   BUG_5  states are given back relaxed             -> the leader's data
 *   BUG_6  poll looks at the request with acquire    -> deadlock */

#define REQUEST 0
#define STATE 1
#define ARRIVED 2
#define LIMIT 3
#define GO 4
#define OVER 5
#define STEP 6
#define DATA 7
#define LOCATIONS 8
#define VALUES 7
#define THREADS 2
#define LEADER 0
#define DOMAIN 1

#include "weak.pml"

#define RUNNING 0
#define PARKED 1
#define BLOCKING 2
#define HELD 3
#define HELD_WANTED 4

#ifdef BUG_1
#define LEAVE_LOOKS ACQUIRE
#else
#define LEAVE_LOOKS SEQ_CST
#endif
#ifdef BUG_2
#define LEADER_LOOKS ACQUIRE
#else
#define LEADER_LOOKS SEQ_CST
#endif
#ifdef BUG_3
#define AWAY RELAXED
#else
#define AWAY SEQ_CST
#endif
#ifdef BUG_4
#define GO_LOOKS RELAXED
#else
#define GO_LOOKS ACQUIRE
#endif
#ifdef BUG_5
#define BACK RELAXED
#else
#define BACK SEQ_CST
#endif
#ifdef BUG_6
#define POLL_LOOKS ACQUIRE
#else
#define POLL_LOOKS SEQ_CST
#endif

bool ended; /* the leader has */

/* STATE `from` -> `to`, by compare and swap. */
inline change(t, from, to, order)
{
    atomic {
        won = newest_of(STATE) == from;
        if
        :: won -> exchange(t, STATE, to, order, order, n)
        :: else -> load(t, STATE, SEQ_CST, n)
        fi
    }
}

/* Sleeps until the word is `wanted`; a wake-up shows the newest one. */
inline sleep_until(t, x, wanted, order)
{
    do
    :: newest_of(x) == wanted ->
        load(t, x, order, n);
        if
        :: n == wanted -> break
        :: else
        fi
    od
}

proctype leader()
{
    byte k, n;
    bool won;

    store(LEADER, REQUEST, 1, SEQ_CST);
    store(LEADER, LIMIT, 1, SEQ_CST);
    do
    :: exchange(LEADER, ARRIVED, 0, SEQ_CST, SEQ_CST, n);
        load(LEADER, STATE, LEADER_LOOKS, n);
        if
        :: n == PARKED -> break
        :: n == BLOCKING ->
            change(LEADER, BLOCKING, HELD, SEQ_CST);
            if
            :: won -> break
            :: else
            fi
        :: else -> sleep_until(LEADER, ARRIVED, 1, ACQUIRE)
        fi
    od;
    load(LEADER, DATA, RELAXED, n);
    assert(n == 1);
    store(LEADER, STEP, 1, RELAXED);
    store(LEADER, GO, 1, SEQ_CST);
    store(LEADER, DATA, 2, RELAXED);
    store(LEADER, REQUEST, 0, SEQ_CST);
    load(LEADER, STATE, SEQ_CST, n);
    if
    :: n == PARKED -> store(LEADER, STATE, RUNNING, BACK)
    :: else ->
        change(LEADER, HELD, BLOCKING, BACK);
        if
        :: won
        :: else -> store(LEADER, STATE, RUNNING, BACK)
        fi
    fi;
    store(LEADER, OVER, 1, BACK);
    ended = true
}

inline poll()
{
    store(DOMAIN, LIMIT, 0, SEQ_CST);
    load(DOMAIN, REQUEST, POLL_LOOKS, n);
    if
    :: n == 1 ->
        store(DOMAIN, STATE, PARKED, AWAY);
        store(DOMAIN, ARRIVED, 1, SEQ_CST);
        sleep_until(DOMAIN, GO, 1, GO_LOOKS);
        load(DOMAIN, STEP, RELAXED, n);
        assert(n == 1);
        sleep_until(DOMAIN, OVER, 1, ACQUIRE);
        load(DOMAIN, DATA, RELAXED, n);
        assert(n == 2)
    :: else
    fi
}

inline leave()
{
    store(DOMAIN, STATE, BLOCKING, AWAY);
    load(DOMAIN, REQUEST, LEAVE_LOOKS, n);
    if
    :: n == 1 -> store(DOMAIN, ARRIVED, 1, SEQ_CST)
    :: else
    fi
}

inline come_back()
{
    do
    :: change(DOMAIN, BLOCKING, RUNNING, SEQ_CST);
        if
        :: won -> break
        :: else
        fi;
        change(DOMAIN, HELD, HELD_WANTED, SEQ_CST);
        if
        :: won -> sleep_until(DOMAIN, STATE, RUNNING, ACQUIRE); break
        :: else
        fi
    od;
    poll()
}

proctype domain()
{
    byte k, n;
    bool won;

    store(DOMAIN, DATA, 1, RELAXED);
    if
    :: poll()
    :: leave();
        if
        :: true
        :: true -> ended /* a long system call */
        fi;
        come_back()
    fi;
    do
    :: newest_of(LIMIT) == 1 -> poll()
    :: ended && newest_of(LIMIT) == 0 -> break
    od;
    load(DOMAIN, DATA, RELAXED, n);
    assert(n == 2)
}

init
{
    atomic {
        run leader();
        run domain()
    }
}
