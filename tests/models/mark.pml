/* mark.pml -- marking for a domain that is away, and the end of marking
 *
 * Two domains mark six blocks in two pools; a mark stack holds CAP blocks, what
 * does not fit sets its pool's bit in the bitmap `overflowed`.  Domain 0 may go
 * away and come back, or go away for good, with work on its stack; domain 1
 * takes it off chunk by chunk.  Each deletes one edge at any time, through the
 * barrier.
 *
 *   0 -> 1, 3    1 -> 2    3 -> 4    roots: 0 (domain 0), 5 (domain 1)
 *
 *   todo     how many domains are not `done`.  Whoever holds a domain changes
 *            its `done`: 0 before a push, 1 when the stack is found empty
 *   take     BLOCKING -> HELD; own done := 0; move a chunk to the own stack; an
 *            empty stack there: its done := 1; HELD -> BLOCKING, or HELD_WANTED -> RUNNING
 *   overflow mark the block, then set the bit; recovery clears the bit by an
 *            exchange, then reads the marks
 *   end      todo = 0 and no bit: lead a stop, in it look at both once more
 *
 * A stop is coarse here (stop.pml has its steps): the leader goes on when the
 * other domain is at a safe point or away.
 * Checked: when marking ends all six are marked, as all were reachable when it
 * began, and no stack has anything (.inv.phase, .inv.snapshot); it does end (no
 * deadlock).
 * Flaws:
 *   BUG_1  taking a chunk leaves the taker `done`          -> .inv.phase
 *   BUG_2  the end is not tested again in a stop           -> .inv.phase
 *   BUG_3  the chunk is cut off after the domain was given back -> .inv.phase
 *   BUG_4  overflow sets the bit before it marks           -> .inv.phase
 *   BUG_5  no barrier                                      -> .inv.snapshot
 *   BUG_6  the barrier's push leaves its domain `done`     -> .inv.phase
 *   BUG_7  nobody takes work off a domain that is away     -> deadlock
 *   BUG_8  the end does not look at the bitmap             -> .inv.phase */

#define BLOCKS 6
#define NIL 7
#ifndef CAP
#define CAP 1
#endif

mtype = { RUNNING, PARKED, BLOCKING, HELD, HELD_WANTED };

mtype state[2] = RUNNING;
bool stop, ended;
byte left[BLOCKS] = NIL, right[BLOCKS] = NIL;
bool marked[BLOCKS];
byte stack[2];          /* set of blocks */
bool done[2];
byte todo = 2;
bool overflowed[2];         /* pools 0..2 and 3..5 */
byte holder[2];         /* ghost: who holds the domain's data, 1 + domain */

#ifndef BUG_8
#define quiet (todo == 0 && !overflowed[0] && !overflowed[1])
#else
#define quiet (todo == 0)
#endif
#define bit(o) (1 << (o))
#define other (1 - me)
#define has(d, o) ((stack[d] >> (o)) & 1)
#define height(d) (has(d, 0) + has(d, 1) + has(d, 2) + has(d, 3) + \
    has(d, 4) + has(d, 5))

inline check(d) { assert(holder[d] == me + 1) }

inline push(o)
{
    if
    :: height(me) < CAP ->
        check(me);
#ifndef BUG_6
        if
        :: done[me] -> done[me] = 0; todo++
        :: else
        fi;
#endif
        atomic { stack[me] = stack[me] | bit(o) }
    :: else -> overflowed[o / 3] = 1
    fi
}

/* Two domains may mark the same block: then both scan it. */
inline darken(o)
{
    if
    :: o != NIL && !marked[o] ->
#ifdef BUG_4
        if
        :: height(me) >= CAP -> overflowed[o / 3] = 1; marked[o] = 1
        :: else -> marked[o] = 1; push(o)
        fi
#else
        marked[o] = 1;
        push(o)
#endif
    :: else
    fi
}

inline scan(o)
{
    c = left[o];
    darken(c);
    c = right[o];
    darken(c);
    c = NIL
}

/* x := a block of a set that is not empty */
inline pick(x, set)
{
    assert(set != 0); /* nobody else takes from it */
    x = 0;
    do
    :: set & bit(x) -> break
    :: else -> x++
    od
}

inline slice()
{
    atomic {
        check(me);
        pick(o, stack[me]);
        stack[me] = stack[me] & ~bit(o)
    }
    scan(o);
    o = 0
}

inline recover_pool(p)
{
    if
    :: atomic { overflowed[p] -> overflowed[p] = 0 } /* exchange */
        o = p * 3;
        do
        :: o < p * 3 + 3 ->
            if
            :: marked[o] -> scan(o)
            :: else
            fi;
            o++
        :: else -> o = 0; break
        od
    :: else
    fi
}

inline note_empty(d)
{
    check(d);
    if
    :: stack[d] == 0 && !done[d] -> done[d] = 1; todo--
    :: else
    fi
}

/* Takes what was copied off the other's stack. */
inline cut_off()
{
    atomic {
        if
        :: stack[other] & bit(o) ->
            stack[other] = stack[other] & ~bit(o)
        :: else
        fi;
        o = 0
    }
}

inline take()
{
    if
    :: atomic {
            state[other] == BLOCKING ->
            state[other] = HELD;
            holder[other] = me + 1
        }
        do
        :: state[other] == HELD && stack[other] != 0 && height(me) < CAP ->
#ifndef BUG_1
            if
            :: done[me] -> done[me] = 0; todo++
            :: else
            fi;
#endif
            atomic {
                check(other);
                pick(o, stack[other]);
                stack[me] = stack[me] | bit(o)
            }
#ifdef BUG_3
            break
#endif
            cut_off()
        :: else -> break
        od;
        note_empty(other);
        atomic {
            holder[other] = 0;
            if
            :: state[other] == HELD -> state[other] = BLOCKING
            :: state[other] == HELD_WANTED ->
                state[other] = RUNNING;
                holder[other] = other + 1
            fi
        }
#ifdef BUG_3
        cut_off()
#endif
    :: else
    fi
}

inline delete(place)
{
    c = place;
#ifndef BUG_5
    darken(c);
#endif
    place = NIL;
    c = NIL
}

inline safe_point()
{
    if
    :: stop -> state[me] = PARKED; !stop; state[me] = RUNNING
    :: else
    fi
}

inline finish()
{
    atomic {
        if
        :: quiet -> ended = 1
        :: else
        fi
    }
}

inline end_phase()
{
#ifdef BUG_2
    finish()
#else
    if
    :: atomic { !stop -> stop = 1 }
        if
        :: atomic { state[other] == BLOCKING -> state[other] = HELD }
            finish();
            atomic {
                if
                :: state[other] == HELD -> state[other] = BLOCKING
                :: else -> state[other] = RUNNING; holder[other] = other + 1
                fi;
                stop = 0
            }
        :: state[other] == PARKED ->
            finish();
            stop = 0;
            state[other] != PARKED
        fi
    :: stop -> safe_point()
    fi
#endif
}

inline leave() { atomic { holder[me] = 0; state[me] = BLOCKING } }

inline come_back()
{
    if
    :: atomic { state[me] == BLOCKING -> state[me] = RUNNING; holder[me] = me + 1 }
    :: atomic { state[me] == HELD -> state[me] = HELD_WANTED }
        state[me] == RUNNING
    fi
}

proctype domain(byte me)
{
    byte o, c = NIL;
    bool deleted, been_away = (me == 1);

    do
    :: ended -> break
    :: !ended && stop -> safe_point()
    :: !ended && stack[me] != 0 -> slice()
    :: !ended && overflowed[0] -> recover_pool(0)
    :: !ended && overflowed[1] -> recover_pool(1)
    :: !ended && stack[me] == 0 && !done[me] -> note_empty(me)
    :: !ended && quiet -> end_phase()
#ifndef BUG_7
    :: !ended && me == 1 && stack[1] == 0 && state[0] == BLOCKING && !done[0] ->
        take()
#endif
    :: !ended && !deleted ->
        deleted = 1;
        if
        :: me == 0 -> delete(left[1])
        :: me == 1 -> delete(left[3])
        fi
    :: !ended && !been_away -> leave(); been_away = 1; come_back()
    :: me == 0 && !stop -> leave(); break /* for good */
    od
}

init
{
    byte i;

    atomic {
        left[0] = 1; right[0] = 3;
        left[1] = 2; left[3] = 4;
        marked[0] = 1; stack[0] = bit(0);
        marked[5] = 1; stack[1] = bit(5);
        holder[0] = 1; holder[1] = 2;
        run domain(0);
        run domain(1)
    }
    ended;
    atomic {
        do
        :: i < BLOCKS -> assert(marked[i]); i++
        :: else -> break
        od;
        assert(stack[0] == 0 && stack[1] == 0)
    }
}
