/* steps.pml -- the steps of a stop: shares, and the barrier between two steps
 *
 * PARTS participants of one stop (stop.pml) go through STEPS steps in the order
 * that the last one out of each decides.  The first step is limited to WORKERS
 * of them, the others wait for it at the barrier.  Every statement is one step;
 * what stands in an `atomic` is one atomic operation of the program, with
 * ghosts.  A sleep is a guard, with the word as it was when it was last read.
 *
 *   shares   own: claimed := 1 by exchange; then the heap's; then those that
 *            the counter hands out
 *   barrier  turn is read; waiting++; not the last: sleep while turn is that.
 *            the last: waiting := 0; the step's `last`, the next step; claims
 *            and counter as at the beginning; turn++ (release), wake
 *   over     inside--; the last one ends the stop
 *
 * Checked: each share, and the heap's, is done once in each step, all of them
 * before the step's `last` runs (.inv.share); `last` runs alone, once a step;
 * nobody is in a share of another step; no deadlock.
 * Flaws:
 *   BUG_1  turn is read after waiting++                   -> deadlock
 *   BUG_2  who waits is counted by a load and a store     -> deadlock
 *   BUG_3  waiting := 0 after turn++                      -> deadlock
 *   BUG_4  who is no worker does not wait                 -> `last` too early
 *   BUG_5  the heap's share is claimed by a load          -> done twice
 *   BUG_6  the next step is set after turn++              -> deadlock */

#ifndef PARTS
#define PARTS 3
#endif
#define STEPS 2
#define WORKERS 2
#define HEAP PARTS /* the share that is nobody's */

byte step = 1;          /* 0: none is left */
byte waiting, turn, next, workers;
byte inside = PARTS;
bool claimed[PARTS + 1];

/* ghosts */
byte times[PARTS + 1];  /* done in this step */
byte in_shares;
bool in_last;
byte n_last;
bool over;

inline do_share(i)
{
    atomic { assert(!in_last && step == mine); in_shares++; times[i]++ }
    assert(step == mine);
    in_shares--
}

inline claim(i)
{
#ifdef BUG_5
    if
    :: i == HEAP ->
        was = claimed[i];
        claimed[i] = 1
    :: else -> atomic { was = claimed[i]; claimed[i] = 1 }
    fi;
#else
    atomic { was = claimed[i]; claimed[i] = 1 }
#endif
    if
    :: !was -> do_share(i)
    :: else
    fi;
    was = 0
}

inline shares()
{
    claim(me);
    claim(HEAP);
    do
    :: atomic { next < PARTS -> i = next; next++ }
        claim(i)
    :: atomic { next >= PARTS -> next++; break }
    od;
    i = 0
}

inline reset()
{
    atomic {
        i = 0;
        do
        :: i <= PARTS -> claimed[i] = 0; i++
        :: else -> break
        od;
        i = 0;
        next = 0
    }
}

/* Ghosts: all has been done, once. */
inline last()
{
    atomic {
        assert(!in_last && in_shares == 0);
        in_last = 1;
        n_last++;
        i = 0;
        do
        :: i <= PARTS -> assert(times[i] == 1); times[i] = 0; i++
        :: else -> break
        od;
        i = 0
    }
    in_last = 0
}

inline step_next()
{
    step = (step == STEPS -> 0 : step + 1)
}

inline barrier()
{
#ifndef BUG_1
    seen = turn;
#endif
#ifdef BUG_2
    i = waiting;
    atomic { waiting = i + 1; i = 0; is_last = (waiting == PARTS) }
#else
    atomic { waiting++; is_last = (waiting == PARTS) }
#endif
#ifdef BUG_1
    seen = turn;
#endif
    if
    :: !is_last -> turn != seen
    :: is_last ->
#ifndef BUG_3
        waiting = 0;
#endif
        last();
#ifndef BUG_6
        step_next();
#endif
        reset();
        turn++;
#ifdef BUG_3
        waiting = 0;
#endif
#ifdef BUG_6
        step_next();
#endif
    fi;
    seen = 0;
    is_last = 0
}

proctype part(byte me)
{
    byte mine, i, seen, number;
    bool was, is_last, works;

    do
    :: step == 0 -> break
    :: atomic { step != 0 -> mine = step }
        works = 1;
        if
        :: mine == 1 && me != 0 -> /* the leader is one in any case */
            atomic { workers++; works = (workers < WORKERS) }
        :: else
        fi;
        if
        :: works -> shares()
        :: else
        fi;
#ifdef BUG_4
        if
        :: works -> barrier()
        :: !works -> atomic { waiting++; seen = turn }
            if
            :: waiting >= WORKERS -> last()
            :: else
            fi;
            turn != seen;
            seen = 0
        fi
#else
        barrier()
#endif
    od;
    atomic { inside--; is_last = (inside == 0) }
    if
    :: is_last -> over = 1
    :: else -> over
    fi
}

init
{
    byte k;

    atomic {
        do
        :: k < PARTS -> run part(k); k++
        :: else -> break
        od
    }
    _nr_pr == 1;
    assert(over && n_last == STEPS && step == 0)
}
