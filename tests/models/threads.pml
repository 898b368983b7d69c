/* threads.pml -- several threads take turns to run one domain
 *
 * THREADS threads want the domain, OPS + 1 times each: they run it, then leave it
 * for a system call or yield to another.  A leader, of some other domain, stops
 * the world STOPS times.  Here a sleeper is asleep until somebody wakes it, as
 * futexes are, so that a wake-up which is left out shows.
 *
 *   enter    held := 1 by compare and swap; if it fails: waiting++, and try
 *            again before each sleep; waiting--; turns++ and wake who yields;
 *            RUNNING: it was passed on; else BLOCKING -> RUNNING, or HELD -> HELD_WANTED and
 *            sleep; look at the request
 *   leave    nobody waits: RUNNING -> BLOCKING, look at the request.  else it stays RUNNING
 *            held := 0, look at `waiting`, wake one
 *   yield    yielding++; remember `turns`; leave; sleep until that has changed;
 *            yielding--; enter
 *
 * Checked: one thread at a time runs it, none in a stop but by arriving; a
 * domain that stays RUNNING gets a thread: the stops end, everybody gets on (no
 * deadlock).
 * Flaws:
 *   BUG_1  leaving wakes nobody                          -> deadlock
 *   BUG_2  it stays RUNNING although nobody waits            -> deadlock
 *   BUG_3  held := 0, then BLOCKING                          -> two users
 *   BUG_4  who waits counts itself after its last try    -> deadlock
 *   BUG_5  yielding is counted after `turns` was read and left -> deadlock */

#ifndef THREADS
#define THREADS 3
#endif
#ifndef OPS
#define OPS 1
#endif
#ifndef STOPS
#define STOPS 1
#endif

mtype = { RUNNING, PARKED, BLOCKING, HELD, HELD_WANTED };

mtype state = BLOCKING;
bool held, request, raised, arrived, leader_asleep;
byte waiting, yielding, turns;
bool asleep_held[THREADS], asleep_turns[THREADS];

/* ghosts */
byte runs;              /* threads that run the domain */
bool stopped;

inline wake_held()
{
    atomic {
        k = 0;
        do
        :: k < THREADS && !asleep_held[k] -> k++
        :: else -> break
        od;
        if
        :: k < THREADS -> asleep_held[k] = 0
        :: else
        fi;
        k = 0
    }
}

inline wake_turns()
{
    atomic {
        k = 0;
        do
        :: k < THREADS -> asleep_turns[k] = 0; k++
        :: else -> break
        od;
        k = 0
    }
}

inline hold()
{
    if
    :: atomic { !held -> held = 1 }
    :: else ->
#ifndef BUG_4
        waiting++;
        do
        :: atomic { !held -> held = 1; break }
        :: atomic { held -> asleep_held[me] = 1 }
            !asleep_held[me]
        od;
#else
        do
        :: atomic { !held -> held = 1; waiting++; break }
        :: held ->
            asleep_held[me] = 1;
            waiting++;
            !asleep_held[me];
            waiting--
        od;
#endif
        waiting--
    fi;
    turns++;
    if
    :: yielding > 0 -> wake_turns()
    :: else
    fi
}

inline serve()
{
    state = PARKED;
    arrived = 1;
    leader_asleep = 0;
    state == RUNNING
}

inline poll()
{
    do
    :: raised = 0;
        if
        :: request -> serve()
        :: else -> break
        fi
    od
}

inline enter()
{
    hold();
    if
    :: state == RUNNING -> poll()
    :: else ->
        do
        :: atomic { state == BLOCKING -> state = RUNNING; break }
        :: atomic { state == HELD -> state = HELD_WANTED }
            state == RUNNING;
            break
        od;
        poll()
    fi;
    atomic { assert(runs == 0 && !stopped); runs++ }
}

inline look_for_leader()
{
    if
    :: request -> arrived = 1; leader_asleep = 0
    :: else
    fi
}

inline leave()
{
    atomic { assert(state == RUNNING); runs-- }
#ifdef BUG_3
    held = 0;
#endif
#ifndef BUG_2
    if
    :: waiting == 0 -> state = BLOCKING; look_for_leader()
    :: else
    fi;
#endif
#ifndef BUG_3
    held = 0;
#endif
#ifndef BUG_1
    if
    :: waiting > 0 -> wake_held()
    :: else
    fi
#endif
}

inline yield()
{
    if
    :: waiting > 0 ->
#ifndef BUG_5
        yielding++;
        seen = turns;
        leave();
#else
        seen = turns;
        leave();
#endif
        do
        :: atomic { turns == seen -> asleep_turns[me] = 1 }
#ifdef BUG_5
            yielding++;
#endif
            !asleep_turns[me];
#ifdef BUG_5
            yielding--
#endif
        :: turns != seen -> break
        od;
#ifndef BUG_5
        yielding--;
#endif
        seen = 0;
        enter()
    :: else
    fi
}

proctype thread(byte me)
{
    byte ops = OPS, k, seen;

    enter();
    do
    :: ops > 0 ->
        ops--;
        if
        :: leave(); enter()
        :: yield()
        fi;
        /* compute; a stop that is under way has to interrupt it */
        assert(runs == 1 && !stopped);
        if
        :: raised -> runs--; poll(); runs++
        :: else
        fi
    :: else -> break
    od;
    /* it is done when a stop that runs is over */
    if
    :: raised -> runs--; poll(); runs++
    :: else
    fi;
    leave()
}

proctype leader()
{
    byte stops = STOPS;

    do
    :: stops > 0 ->
        stops--;
        request = 1;
        if
        :: state == RUNNING -> raised = 1
        :: else
        fi;
        do
        :: arrived = 0;
            if
            :: atomic { state == BLOCKING -> state = HELD; break }
            :: state == PARKED -> break
            :: state == RUNNING ->
                atomic { !arrived -> leader_asleep = 1 } unless { arrived };
                !leader_asleep || arrived
            fi
        od;
        atomic { stopped = 1; assert(runs == 0) }
        stopped = 0;
        request = 0;
        atomic {
            if
            :: state == PARKED -> state = RUNNING
            :: state == HELD -> state = BLOCKING
            :: state == HELD_WANTED -> state = RUNNING
            fi
        }
    :: else -> break
    od
}

init
{
    byte i;

    atomic {
        run leader();
        do
        :: i < THREADS -> run thread(i); i++
        :: else -> break
        od
    }
    _nr_pr == 1;
    assert(state == BLOCKING && !held && waiting == 0 && yielding == 0)
}
