/* stop_barrier_weak.pml -- the barrier between two steps of a stop where memory
 * is not ordered                                             [src/heap/stop.c]
 *
 * What decides a stop (state, request, go, over, claimed) is sequentially
 * consistent, so stop.pml's steps are all there is to it.  The barrier is not:
 *
 *   turn read, relaxed; waiting + 1, acquire and release
 *   not the last  sleep until turn is another one: acquire
 *   the last      waiting := 0; the next step, and its shares not claimed:
 *                 plain; turn + 1: release
 *
 * Checked: behind the barrier each has the next step; before it, its last one
 * sees what all have done; nobody waits for ever.
 * Flaws:
 *   BUG_1  turn is stored relaxed               -> the step before
 *   BUG_2  the sleeper's load is relaxed        -> the step before
 *   BUG_3  waiting + 1 only acquires            -> what was done is not seen
 *   BUG_4  waiting is cleared behind turn + 1   -> nobody is the last */

#define PARTS 2
#define ROUNDS 2

#define TURN 0
#define WAITING 1
#define STEP 2
#define DID(t) (3 + (t)) /* what a participant has done, by steps */
#define LOCATIONS (3 + PARTS)
#define VALUES 8
#define THREADS PARTS

#include "weak.pml"

#define ADD (n + 1)

inline last()
{
    other = 0;
    do
    :: other < PARTS ->
        load(t, DID(other), RELAXED, n);
        assert(n == step + 1);
        other++
    :: else -> break
    od;
#ifndef BUG_4
    store(t, WAITING, 0, RELAXED);
#endif
    store(t, STEP, step + 1, RELAXED);
#ifdef BUG_1
    store(t, TURN, turn + 1, RELAXED);
#else
    store(t, TURN, turn + 1, RELEASE);
#endif
#ifdef BUG_4
    store(t, WAITING, 0, RELAXED)
#endif
}

proctype part(byte t)
{
    byte k, n, turn, step, is, other;

    do
    :: step < ROUNDS ->
        load(t, STEP, RELAXED, n);
        assert(n == step);
        store(t, DID(t), step + 1, RELAXED);
        load(t, TURN, RELAXED, turn);
#ifdef BUG_3
        exchange(t, WAITING, ADD, ACQUIRE, RELAXED, n);
#else
        exchange(t, WAITING, ADD, ACQUIRE, RELEASE, n);
#endif
        if
        :: n + 1 == PARTS -> last()
        :: else ->
            do
            :: newest_of(TURN) != turn -> /* asleep until then */
#ifdef BUG_2
                load(t, TURN, RELAXED, is);
#else
                load(t, TURN, ACQUIRE, is);
#endif
                if
                :: is != turn -> break
                :: else
                fi
            od
        fi;
        step++
    :: else -> break
    od
}

init
{
    atomic {
        run part(0);
        run part(1)
    }
}
