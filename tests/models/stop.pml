/* stop.pml -- stopping the world: who may touch a domain's data, and when
 *
 * Two threads run domains in slots 0 and 1, a third one starts a domain in
 * whatever slot is free, RUNNING, or BLOCKING for a thread that comes to it later.  The first does OPS things of its own choice, the
 * others one: go away (a system call) and come back, lead a stop, do a slice
 * for a domain that is away, or just compute until interrupted; in the end it
 * goes away for good or ends.  STOPS stops and SLICES slices in all, any thread
 * leading or taking.  Every statement is one step; what stands in an `atomic`
 * is one atomic operation of the program, with ghosts.  A sleep is a guard: a
 * wake-up that is lost shows as a deadlock.  All loops are bounded, so a run
 * without deadlock ends.
 *
 *   VACANT -> STARTING -> RUNNING <-> BLOCKING <-> HELD -> HELD_WANTED -> RUNNING
 *                         RUNNING <-> PARKED      RUNNING -> ENDING -> VACANT
 *
 * Checked:
 *   .inv.stop    from `go` to the clearing of the request nobody mutates
 *   .inv.own     never two users of one domain's data
 *   .inv.share   every domain's share is done once a stop
 *   .inv.back    a domain whose owner waits for it is not taken once more
 *   no deadlock: every stop ends, everybody gets on
 * Flaws, each leaving out one step:
 *   BUG_1  going away does not look at the request           -> deadlock
 *   BUG_2  coming back does not look at the request          -> deadlock
 *   BUG_3  the leader raises no limit                        -> deadlock
 *   BUG_4  coming back is a store, no compare and swap       -> .inv.share
 *   BUG_5  domains are given back, then the request cleared  -> deadlock
 *   BUG_6  leaving without waiting for all shares            -> .inv.stop
 *   BUG_7  a HELD_WANTED domain is given back as BLOCKING             -> .inv.back
 *   BUG_8  arriving before what was taken is given back      -> deadlock
 *   BUG_9  starting without the lock                         -> deadlock
 *   BUG_10 the lock is freed before the states are RUNNING       -> .inv.share
 *   BUG_11 shares are claimed without an exchange            -> .inv.share
 *   BUG_12 ending does not wake the leader                   -> deadlock
 *   BUG_13 after a stop the limit is stored without a look   -> deadlock */

#define DOMAINS 3
#ifndef OPS
#define OPS 2
#endif
#ifndef STOPS
#define STOPS 2
#endif
#ifndef SLICES
#define SLICES 1
#endif

mtype = { VACANT, STARTING, RUNNING, PARKED, BLOCKING, HELD, HELD_WANTED, ENDING };

mtype state[DOMAINS] = VACANT;
bool raised[DOMAINS];   /* young_limit is all ones                          */
bool lock;              /* of the leader, a starting domain                 */
bool request;           /* a stop is asked for                              */
byte seq, go, over;     /* number of the stop; of the last begun; ended     */
bool arrived;           /* what the leader sleeps on: cleared by it alone   */
byte inside;            /* participants who have not finished               */
byte next;              /* counter that hands out shares                    */
bool claimed[DOMAINS];  /* shares                                           */

/* ghosts */
bool used[DOMAINS];     /* somebody works on the domain's data              */
bool stopped;
byte shares[DOMAINS];   /* done in this stop                                */
bool wants[DOMAINS];    /* its owner sleeps until it is given back          */
byte stops_left = STOPS, slices_left = SLICES;

inline use(d)
{
    atomic { assert(!used[d]); used[d] = 1 }
    used[d] = 0
}

inline mutate(d)
{
    assert(!stopped && !used[d])
}

/* ---- a stop, seen by a participant --------------------------------------- */

inline give_back(d)
{
    if
    :: state[d] == HELD -> state[d] = BLOCKING /* compare and swap */
#ifndef BUG_7
    :: state[d] == HELD_WANTED -> state[d] = RUNNING /* store, wake */
#else
    :: state[d] == HELD_WANTED -> state[d] = BLOCKING
#endif
    :: state[d] == PARKED -> state[d] = RUNNING
    :: else
    fi
}

inline clear_request()
{
    atomic { stopped = 0; request = 0 }
}

/* The last one out; nobody else looks at anything but `over`. */
inline end_stop()
{
    atomic {
        k = 0;
        do
        :: k < DOMAINS ->
            assert(shares[k] == (state[k] != VACANT && state[k] != STARTING));
            shares[k] = 0;
            k++
        :: else -> break
        od;
        k = 0
    }
#ifndef BUG_5
    clear_request();
#endif
#ifdef BUG_10
    lock = 0;
#endif
    do
    :: atomic { k < DOMAINS -> give_back(k); k++ }
    :: else -> break
    od;
#ifdef BUG_5
    clear_request();
#endif
#ifndef BUG_10
    lock = 0;
#endif
    over = mine
}

inline do_share(d)
{
    atomic { assert(stopped); assert(!used[d]); used[d] = 1; shares[d]++ }
    used[d] = 0
}

/* One exchange; the counter of run_fn moves with it, as it commutes. */
inline claim(d)
{
#ifndef BUG_11
    won = !claimed[d];
    claimed[d] = 1
#else
    won = !claimed[d]
#endif
}

inline finish_claim(d)
{
    if
    :: won ->
#ifdef BUG_11
        claimed[d] = 1;
#endif
        do_share(d);
        won = 0
    :: else
    fi
}

inline run_fn()
{
    atomic { claim(me) }
    finish_claim(me);
    do
    :: atomic {
            next < DOMAINS ->
            k = next;
            next++;
            claim(k)
        }
        finish_claim(k)
    :: atomic { next == DOMAINS -> k = 0; break }
    od;
#ifdef BUG_6
    mutate(me);
#endif
    atomic { inside--; won = (inside == 0) }
    if
    :: won -> won = 0; end_stop()
    :: else -> over == mine
    fi;
    atomic { k = 0; mine = 0 }
}

/* In RUNNING, with the request seen. */
inline serve()
{
    atomic { mine = seq; state[me] = PARKED }
    arrived = 1;
    go == mine;
    run_fn()
}

/* The owner's one function that stores the limit, then looks (limit.pml). */
inline poll()
{
    do
    :: raised[me] = 0;
        if
        :: request -> serve()
        :: else -> break
        fi
#ifdef BUG_13
        ;raised[me] = 0;
        break
#endif
    od
}

/* ---- a stop, seen by its leader ------------------------------------------ */

/* Until domain k has arrived, is taken, or is vacant. */
inline collect()
{
    do
    :: arrived = 0;
        atomic {
            seen = state[k];
            assert(seen != STARTING);
            if
            :: seen == BLOCKING -> /* compare and swap */
                assert(!wants[k]);
                state[k] = HELD
            :: else
            fi
        }
        if
        :: seen == BLOCKING || seen == PARKED -> claimed[k] = 0; break
        :: seen == VACANT -> claimed[k] = 1; break
        :: seen == RUNNING ->
            arrived /* raised, or back and about to look */
        :: else ->
            arrived /* HELD or HELD_WANTED by a slice, ENDING */
        fi
    od
}

inline lead()
{
    if
    :: atomic {
            !lock && stops_left > 0 ->
            lock = 1;
            stops_left--;
            seq++;
            mine = seq;
            claimed[me] = 0
        }
        /* The step of the lock and that of the request are two. */
        atomic { request = 1; state[me] = PARKED }
        do
        :: atomic {
                k < DOMAINS ->
#ifndef BUG_3
                raised[k] = raised[k] || (state[k] == RUNNING);
#endif
                k++
            }
        :: atomic { k == DOMAINS -> k = 0; break }
        od;
        do
        :: k < DOMAINS && k != me -> collect(); k++
        :: k == me -> k++
        :: k == DOMAINS -> break
        od;
        atomic {
            /* those that are PARKED run fn */
            k = 0;
            do
            :: k < DOMAINS -> inside = inside + (state[k] == PARKED); k++
            :: else -> break
            od;
            next = 0;
            seen = 0;
            k = 0;
            go = mine;
            stopped = 1
        }
        run_fn();
        poll()
    :: request -> poll() /* not run: the caller loops */
    :: stops_left == 0
    fi
}

/* ---- away and back ------------------------------------------------------- */

inline leave()
{
    state[me] = BLOCKING; /* sequentially consistent: looks afterwards */
#ifndef BUG_1
    if
    :: request -> arrived = 1
    :: else
    fi
#endif
}

inline come_back()
{
#ifndef BUG_4
    if
    :: atomic { state[me] == BLOCKING -> state[me] = RUNNING }
    :: atomic { state[me] == HELD -> state[me] = HELD_WANTED; wants[me] = 1 }
        if
        :: atomic { state[me] == RUNNING -> wants[me] = 0 }
        :: atomic { state[me] == BLOCKING -> state[me] = RUNNING; wants[me] = 0 }
        fi
    fi;
#else
    state[me] = RUNNING;
#endif
#ifndef BUG_2
    poll()
#endif
}

inline slice_for()
{
    if
    :: atomic {
            slices_left > 0 && state[other] == BLOCKING ->
            assert(!wants[other]);
            state[other] = HELD;
            slices_left--
        }
        use(other);
#ifdef BUG_8
        poll();
#endif
        /* No wake-up: the leader has to wait for the taker, too. */
        atomic { give_back(other) }
    :: else
    fi
}

/* ---- a domain's thread --------------------------------------------------- */

inline start()
{
#ifndef BUG_9
    atomic { !lock -> lock = 1 }
#endif
    atomic {
        me = 0;
        do
        :: me < DOMAINS && state[me] != VACANT -> me++
        :: else -> break
        od;
        assert(me < DOMAINS);
        state[me] = STARTING
    }
    use(me);
    if
    :: raised[me] = 0;
        state[me] = RUNNING
    :: raised[me] = 0;
        state[me] = BLOCKING; /* started by another's thread: its own comes */
        awaited = 1
    :: state[me] = VACANT; /* no memory */
        failed = 1
    fi;
#ifndef BUG_9
    lock = 0;
#endif
    if
    :: awaited -> awaited = 0; come_back()
    :: else
    fi
}

proctype domain(byte me; bool starts)
{
    byte ops = (me == 0 && !starts -> OPS : 1), k, mine, other;
    mtype seen;
    bool won, failed, awaited;

    if
    :: starts -> start()
    :: else
    fi;
    do
    :: failed -> goto over_and_out
    :: !failed && ops > 0 ->
        ops--;
        if
        :: true
        :: leave(); come_back()
        :: stops_left > 0 -> lead()
        :: slices_left > 0 ->
            if
            :: other = (me + 1) % DOMAINS
            :: other = (me + 2) % DOMAINS
            fi;
            slice_for();
            other = 0
        fi;
        /* compute; a stop that is under way has to interrupt it */
        mutate(me);
        raised[me] || !lock;
        if
        :: raised[me] -> poll()
        :: else
        fi
    :: else -> break
    od;
    if
    :: leave() /* for good */
    :: state[me] = ENDING;
        use(me); /* hand-over: ending.pml */
        state[me] = VACANT;
#ifndef BUG_12
        if
        :: request -> arrived = 1
        :: else
        fi
#endif
    fi;
over_and_out:
    skip
}

init
{
    atomic {
        state[0] = RUNNING;
        state[1] = RUNNING;
        run domain(0, 0);
        run domain(1, 0);
        run domain(0, 1)
    }
    _nr_pr == 1;
    assert(!lock && !request && seq == over)
}
