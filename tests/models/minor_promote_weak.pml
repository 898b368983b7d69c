/* minor_promote_weak.pml -- minor_promote.pml's claim where memory is not
 * ordered
 *
 * Two workers of a minor collection meet the same young block.  Its header goes
 * live -> IN_PROGRESS -> 0; the winner writes the new place over field 0.
 *
 *   winner   compare and swap, relaxed; field 0 := new place, plain;
 *            header := 0, release
 *   loser    header, acquire; 0: field 0, plain
 *
 * What the winner wrote into the copy the loser may read, too: it carries the
 * copy to a third (its work queue is a lock), or goes there itself after the
 * stop.
 * Flaws:
 *   BUG_1  header := 0 is relaxed           -> the old field 0
 *   BUG_2  the loser's load is relaxed      -> the old field 0
 *   BUG_3  the claim is a load and a store  -> copied twice */

#define HEADER 0
#define FIELD 1
#define COPY 2 /* a word of the copy */
#define LOCATIONS 3
#define VALUES 5
#define THREADS 2

#include "weak.pml"

#define OLD 0     /* field 0, as the program left it */
#define LIVE 7
#define IN_PROGRESS 1
#define MOVED 0
#define PLACE 9
#define WORD 5

byte copies;

proctype worker(byte t)
{
    byte k, h, n;

    load(t, HEADER, RELAXED, h); /* or ACQUIRE: the last look decides */
    if
    :: h == LIVE ->
#ifdef BUG_3
        atomic { h = LIVE; append(t, HEADER, IN_PROGRESS, RELAXED, false) }
#else
        atomic {
            h = newest_of(HEADER);
            view[t].at[HEADER] = memory[HEADER].newest;
            if
            :: h == LIVE -> append(t, HEADER, IN_PROGRESS, RELAXED, true)
            :: else
            fi
        }
#endif
    :: else -> h = MOVED
    fi;
    if
    :: h == LIVE ->
        copies++;
        assert(copies == 1); /* .inv.claim */
        store(t, COPY, WORD, RELAXED);
        store(t, FIELD, PLACE, RELAXED);
#ifdef BUG_1
        store(t, HEADER, MOVED, RELAXED)
#else
        store(t, HEADER, MOVED, RELEASE)
#endif
    :: else ->
        do
        :: 
#ifdef BUG_2
            load(t, HEADER, RELAXED, h);
#else
            load(t, HEADER, ACQUIRE, h);
#endif
            if
            :: h == MOVED -> break
            :: else
            fi
        od;
        load(t, FIELD, RELAXED, n);
        assert(n == PLACE);
        load(t, COPY, RELAXED, n);
        assert(n == WORD)
    fi
}

init
{
    atomic {
        memory[HEADER].is[0].value = LIVE;
        memory[FIELD].is[0].value = OLD;
        run worker(0);
        run worker(1)
    }
}
