/* ending.pml -- a domain ends while others stop the world, one takes its slot
 *
 * Two slots.  Thread A runs slot 0, allocates, ends; thread B runs slot 1 and
 * leads STOPS stops, or goes away and comes back; thread C starts a domain in
 * slot 0 as soon as that is vacant, takes part, and ends too.  What a domain
 * has are items: 0 pools and large blocks, 1 a finaliser table, 2 marking work
 * (A's); 3 a table, 5 marking work (B's); 4 a table (C's).  A stop must see
 * them all.
 *
 *   end      until the minor heap is empty: a minor collection (a stop, led or
 *              served), then the finalisers due, which may allocate
 *            RUNNING -> ENDING: store; from here on it does not arrive
 *            each table: push it on the orphans (compare and swap)
 *            marking: work on the stack is pushed, too, and keeps its count in
 *              `todo`; a domain not done without work: todo--
 *            ENDING -> VACANT; look at the request: wake the leader
 *   leader   waits for ENDING as it does for RUNNING; when all are here, before
 *              `go`, takes all orphans; n mark stacks among them: todo -= n,
 *              and the leader is not done any more (todo++ if it was)
 *   start    lock; VACANT -> STARTING; tables; RUNNING; unlock
 *
 * The stop is coarse (stop.pml has its steps).
 * Checked: in each stop every item is in exactly one table of a domain that
 * takes part (.inv.handed), nothing is young afterwards; marking ends only
 * without work (.inv.phase); a vacant slot has nothing; nothing is lost; no
 * deadlock.
 * Flaws:
 *   BUG_1  the leader does not wait for ENDING        -> .inv.handed
 *   BUG_2  VACANT before the hand-over                -> .inv.handed
 *   BUG_3  orphans are adopted after the shares       -> .inv.handed
 *   BUG_4  todo-- although work was handed over       -> .inv.phase
 *   BUG_5  ends after one collection, young or not    -> young blocks lost
 *   BUG_6  ending does not wake the leader            -> deadlock
 *   BUG_7  starting without the lock                  -> a stop without it
 *   BUG_8  two domains push by a load and a store     -> lost
 *   BUG_9  adopted work is counted once more          -> marking never ends */

#ifndef STOPS
#define STOPS 2
#endif
#define WORK (4 + 32) /* the bits of items 2 and 5 */
#define KEPT (1 + 2 + 8 + 16)

mtype = { VACANT, STARTING, RUNNING, PARKED, BLOCKING, HELD, ENDING };

mtype state[2] = VACANT;
bool lock, request, arrived;
byte table[2];          /* sets of items */
byte orphans;
byte counted;           /* orphaned mark stacks that count in `todo` */
bool young[2];
bool done[2] = 1;
byte todo;
byte made;              /* ghost: items there are */
bool marking = 1;
byte stops = STOPS;
byte ended;

#define other (1 - me)

/* ---- stops --------------------------------------------------------------- */

inline adopt()
{
    atomic {
        table[me] = table[me] | orphans;
        if
        :: counted > 0 ->
#ifndef BUG_9
            todo = todo + done[me] - counted;
#else
            todo = todo + done[me];
#endif
            done[me] = 0;
            counted = 0
        :: else
        fi;
        orphans = 0
    }
}

inline fn()
{
    atomic {
        assert(table[me] + (state[other] == VACANT -> 0 : table[other])
            == made);
        assert((table[0] & table[1]) == 0);
        young[me] = 0;
        young[other] = 0;
        if
        :: marking && todo == 0 ->
            assert(!((table[0] | table[1] | orphans) & WORK));
            marking = 0
        :: else
        fi
    }
    assert(state[other] != RUNNING && state[other] != STARTING)
}

inline lead()
{
    if
    :: atomic { !lock -> lock = 1 }
        atomic { request = 1; state[me] = PARKED }
        do
        :: arrived = 0;
            if
            :: atomic { state[other] == BLOCKING -> state[other] = HELD; break }
            :: state[other] == PARKED || state[other] == VACANT -> break
#ifdef BUG_1
            :: state[other] == ENDING -> break
            :: state[other] == RUNNING -> arrived
#else
            :: state[other] == RUNNING || state[other] == ENDING -> arrived
#endif
#ifdef BUG_7
            :: state[other] == STARTING -> break
#endif
            fi
        od;
#ifndef BUG_3
        adopt();
        fn();
#else
        fn();
        adopt();
#endif
        request = 0;
        atomic {
            if
            :: state[other] == PARKED -> state[other] = RUNNING
            :: state[other] == HELD -> state[other] = BLOCKING
            :: else
            fi;
            state[me] = RUNNING
        }
        lock = 0
    :: request -> serve()
    fi
}

inline serve()
{
    state[me] = PARKED;
    arrived = 1;
    state[me] == RUNNING
}

inline poll()
{
    if
    :: request -> serve()
    :: else
    fi
}

inline wake_leader()
{
    if
    :: request -> arrived = 1
    :: else
    fi
}

/* ---- a domain's life ----------------------------------------------------- */

/* Marking in a slice. */
inline mark()
{
    if
    :: table[me] & WORK ->
        atomic {
            made = made - (table[me] & WORK);
            table[me] = table[me] & ~WORK
        }
    :: else
    fi
}

inline note_empty()
{
    if
    :: !done[me] && !(table[me] & WORK) -> atomic { done[me] = 1; todo-- }
    :: else
    fi
}

inline start(item)
{
#ifndef BUG_7
    atomic { state[me] == VACANT && !lock -> lock = 1 }
    if
    :: state[me] == VACANT
    fi;
#else
    state[me] == VACANT;
#endif
    state[me] = STARTING;
    assert(table[me] == 0);
    atomic { table[me] = item; made = made | item; young[me] = 0; done[me] = 1 }
    state[me] = RUNNING;
#ifndef BUG_7
    lock = 0
#endif
}

inline push(item)
{
    if
    :: table[me] & (item) ->
#ifndef BUG_8
        atomic {
            orphans = orphans | (table[me] & (item));
            table[me] = table[me] & ~(item);
            counted = counted + ((item) == WORK)
        }
#else
        seen = orphans;
        atomic {
            orphans = seen | (table[me] & (item));
            table[me] = table[me] & ~(item);
            counted = counted + ((item) == WORK)
        }
#endif
    :: else
    fi
}

inline end()
{
    do
    :: young[me] ->
        lead();
        if
        :: mutated < 2 -> young[me] = 1; mutated++ /* a finaliser allocates */
        :: true
        fi
#ifdef BUG_5
        ;break
#endif
    :: !young[me] -> break
    od;
#ifdef BUG_2
    state[me] = VACANT;
#else
    state[me] = ENDING;
#endif
    assert(!young[me]);
    if
    :: !done[me] && !(table[me] & WORK) -> todo--
#ifdef BUG_4
    :: !done[me] && (table[me] & WORK) -> todo--
#endif
    :: else
    fi;
    done[me] = 1;
    push(KEPT);
    push(WORK);
#ifndef BUG_2
    state[me] = VACANT;
#endif
#ifndef BUG_6
    wake_leader();
#endif
    ended++
}

proctype A(byte me)
{
    byte mutated, seen;

    if
    :: young[me] = 1; mutated++
    :: true -> mark()
    :: true -> mark(); note_empty()
    :: true
    fi;
    poll();
    end()
}

proctype B(byte me)
{
    byte mutated = 2, seen;

    do
    :: stops > 0 -> stops--; lead()
    :: stops > 0 -> young[me] = 1; poll(); lead(); stops--
    :: stops > 0 ->
        state[me] = BLOCKING;
        wake_leader();
        atomic { state[me] == BLOCKING -> state[me] = RUNNING };
        poll();
        stops--
    :: request -> serve()
    :: table[me] & WORK -> mark()
    :: !done[me] && !(table[me] & WORK) -> note_empty()
    :: stops == 0 && !request -> break
    od;
    if
    :: state[me] = BLOCKING; wake_leader()
    :: end()
    fi
}

proctype C(byte me)
{
    byte mutated, seen;

    start(16);
    if
    :: young[me] = 1; mutated++
    :: true
    fi;
    poll();
    end()
}

init
{
    atomic {
        state[0] = RUNNING;
        state[1] = RUNNING;
        table[0] = 1 + 2 + 4;
        table[1] = 8 + 32;
        made = 47;
        done[0] = 0;
        done[1] = 0;
        todo = 2;
        run A(0);
        run B(1);
        run C(0)
    }
    _nr_pr == 1;
    assert(!lock && !request);
    assert(table[0] + table[1] + orphans == made);
    assert(state[0] == VACANT && table[0] == 0);
    assert(state[1] == BLOCKING || table[1] == 0);
    /* Every piece of work left is counted, and nothing else. */
    assert(todo == counted + !done[1])
}
